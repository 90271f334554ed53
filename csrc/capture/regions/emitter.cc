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
  if (a.kind == K::kCallee) {
    p.object = a.object;
    p.step = a.index;
    p.source = a.same;
    p.same = 0;
  }
  p.reversed = a.reversed;
  if (a.kind == K::kObject || a.kind == K::kMade) p.object = a.object;
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
  changed_ = false;
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

void Emitter::first_of(const std::vector<Way>& ways, absl::FunctionRef<void()> otherwise) {
  const int behind = d.f.add_block();
  for (const Way& w : ways) {
    const int next = d.f.add_block();
    for (const auto& condition : w.conditions) {
      const int holds = condition(), from = block;
      block = d.f.add_block();
      d.f.blocks[from].condition = holds;
      d.f.blocks[from].next = {block, {}};
      d.f.blocks[from].otherwise = {next, {}};
    }
    w.code();
    d.f.blocks[block].next = {behind, {}};
    block = next;
  }
  otherwise();
  d.f.blocks[block].next = {behind, {}};
  block = behind;
}

int Emitter::call(region::CallOut fn, int a, int b, int c) {
  In in = ins(Op::kCallOut, Type::kI64, a, b, c);
  in.imm = reinterpret_cast<int64_t>(fn);
  return add(in);
}

void Emitter::changes(const char* what) {
  if (!may_store) leave(str_cat("a function ", what), "write the function's lines into the loop");
  if (anchor_) leave(str_cat("what stands between arrays ", what), "a line of its own");
  note_change();
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
  return exit_from(instr, frame, frame.stack);
}

int Emitter::exit_from(int instr, const Frame& frame, const std::vector<Av>& stack) {
  if (frame.callers.empty()) return make_exit(instr, frame.slots, stack);
  const Frame::Caller& outermost = frame.callers[0];
  if (!frame.changed) return make_exit(outermost.at, outermost.slots, outermost.stack);
  // CPython calls what goes on with the rest of each function in its place
  Av callee;
  for (size_t k = frame.callers.size(); k-- > 0;) {
    const bool innermost = k + 1 == frame.callers.size();
    const std::vector<Av>& slots = innermost ? frame.slots : frame.callers[k + 1].slots;
    std::vector<Av> rest = innermost ? stack : frame.callers[k + 1].stack;
    if (!innermost) rest[frame.callers[k + 1].callable] = std::move(callee);
    callee = {};
    callee.kind = K::kCallee;
    callee.object = frame.callers[k].func;
    callee.index = innermost ? instr : frame.callers[k + 1].at;
    callee.same = static_cast<int>(slots.size());
    callee.items = slots;
    for (Av& a : callee.items)  // its closure has them
      if (a.kind == K::kFree) a = {};
    callee.items.insert(callee.items.end(), rest.begin(), rest.end());
  }
  std::vector<Av> whole = outermost.stack;
  whole[outermost.callable] = std::move(callee);
  return make_exit(outermost.at, outermost.slots, whole);
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
  if (anchor_) return exit_ = exit_from(anchor_->instr, *now_, anchor_->stack);
  return exit_ = exit_from(instr_, *now_, before_);
}

}  // namespace pijit::regions
