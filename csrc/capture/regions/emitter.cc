#include "capture/regions/emitter.h"

#include <algorithm>
#include <cstddef>

#include "base/error.h"
#include "capture/regions/array_runs.h"

namespace pijit::regions {

namespace {

RegionPiece piece(const Av& a, std::vector<int>* values) {
  RegionPiece p;
  p.at = static_cast<int>(values->size());
  for (int k = 0; k < a.values(); ++k) values->push_back(a.v[k]);
  p.kind = number_kind_of(a);
  if (a.kind == K::kEntry || a.kind == K::kFree) p.at = a.index;
  if (a.kind == K::kRange || a.kind == K::kRangeIter) p.step = a.index;
  if (a.kind == K::kRow || a.kind == K::kPart || a.kind == K::kContent || a.kind == K::kTuple)
    p.source = a.index;
  p.same = a.same;
  p.reversed = a.reversed;
  p.object = a.kind == K::kObject || a.kind == K::kMade ? a.object : nullptr;
  for (auto& i : a.items) p.items.push_back(piece(i, values));
  return p;
}

}  // namespace

void Emitter::begin(int instr, int own_instr, const Frame& now) {
  const bool waits = std::any_of(now.stack.begin(), now.stack.end(),
                                 [](const Av& a) { return a.kind == K::kArray; });
  if (!waits) anchor_.reset();
  if (waits && !anchor_) anchor_ = {instr_, before_};
  instr_ = instr;
  own_instr_ = own_instr;
  exit_ = kNoExit;
  before_ = now.stack;
  now_ = &now;
}

int Emitter::emit(Op op, int a, int b, int c) {
  Type t = facts(op).type;
  if (t == Type::kSame) t = d.f.instrs[c].type;
  In in = ins(op, t, a, b, c);
  if (facts(op).effect == region::Effect::kCheck) in.exit = exit_here();
  return add(in);
}

int Emitter::choose(int condition, absl::FunctionRef<int()> yes, absl::FunctionRef<int()> no) {
  const int from = block, one = d.f.add_block(), other = d.f.add_block(), behind = d.f.add_block();
  d.f.blocks[from].condition = condition;
  d.f.blocks[from].next = {one, {}};
  d.f.blocks[from].otherwise = {other, {}};
  block = one;
  const int x = yes();
  d.f.blocks[block].next = {behind, {x}};
  block = other;
  const int y = no();
  d.f.blocks[block].next = {behind, {y}};
  block = behind;
  return d.f.add_param(behind, d.f.instrs[x].type);
}

int Emitter::call(region::CallOut fn, int a, int b, int c) {
  In in = ins(Op::kCallOut, Type::kI64, a, b, c);
  in.imm = reinterpret_cast<int64_t>(fn);
  return add(in);
}

void Emitter::changes(const char* what) {
  if (!may_store) leave(str_cat("a function ", what), "write the function's lines into the loop");
  if (anchor_) leave(str_cat("what stands between arrays ", what), "a line of its own");
  d.stores = true;
}

void Emitter::arrays_are_made() {
  anchor_.reset();
  before_ = now_->stack;
  exit_ = kNoExit;
}

void Emitter::hold(const Av& a, int more) {
  each_new_array(a, [&](const Av& array) {
    const int at = d.icon(offsetof(MadeArray, holders));
    const int n = emit(Op::kLoadI64, array.v[0], at);
    const int sum = add(ins(Op::kIAdd, Type::kI64, n, d.icon(more)));
    add(ins(Op::kStoreI64, Type::kNone, array.v[0], at, sum));
    if (more < 0) made_ = true;
  });
}

void Emitter::let_go_of_arrays(const std::vector<Av>& stack) {
  const bool in_use = std::any_of(stack.begin(), stack.end(), [](const Av& a) {
    return a.kind == K::kArray || has_new_arrays(a);
  });
  if (!made_ || in_use) return;
  made_ = false;
  call(regions::let_go_of_arrays, d.arena(), d.icon(0), d.icon(0));
}

int Emitter::call(region::Function1 fn, int x) {
  In in = ins(Op::kCall1, Type::kF64, x);
  in.imm = static_cast<int64_t>(fn);
  in.exit = exit_here();
  return add(in);
}

int Emitter::call(region::Function2 fn, int x, int y) {
  In in = ins(Op::kCall2, Type::kF64, x, y);
  in.imm = static_cast<int64_t>(fn);
  in.exit = exit_here();
  return add(in);
}

int Emitter::make_exit(int instr, const Frame& frame) {
  if (frame.callers.empty()) return make_exit(instr, frame.slots, frame.stack);
  return make_exit(own_instr_, frame.callers[0].slots, frame.callers[0].stack);
}
int Emitter::make_exit(int instr, const std::vector<Av>& slots, const std::vector<Av>& stack,
                       bool returns) {
  RegionExit e;
  region::Exit values;
  e.instr = instr;
  e.returns = returns;
  e.slots.reserve(slots.size());
  for (auto& a : slots)
    if (!returns || a.kind == K::kContent) e.slots.push_back(piece(a, &values.values));
  e.stack.reserve(stack.size());
  for (auto& a : stack) e.stack.push_back(piece(a, &values.values));
  values.returns = returns;
  d.r->exits.push_back(std::move(e));
  d.f.exits.push_back(std::move(values));
  return static_cast<int>(d.f.exits.size()) - 1;
}

int Emitter::exit_here() {
  if (exit_ != kNoExit) return exit_;
  if (anchor_ && now_->callers.empty())
    return exit_ = make_exit(anchor_->instr, now_->slots, anchor_->stack);
  if (now_->callers.empty()) return exit_ = make_exit(instr_, now_->slots, before_);
  return exit_ = make_exit(instr_, *now_);
}

}  // namespace pijit::regions
