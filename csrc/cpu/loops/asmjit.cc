// Inner loops as machine code. One scalar IR node becomes a few instructions on 16 lanes (8 when a
// 64-bit type takes part); the tail runs once more under a mask. asmjit's compiler allocates
// registers.
#include "cpu/loops/asmjit.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>

#include "base/log.h"
#include "runtime/kernel.h"

// Debian's static asmjit is compiled for executables: its references to `stderr` cannot be linked
// into a shared object. The build renames that symbol in a copy of the archive to this one.
extern "C" {
__attribute__((visibility("hidden"))) FILE* pijit_stderr = nullptr;
__attribute__((constructor)) static void pijit_init_stderr() { pijit_stderr = stderr; }
// It is compiled with its self-checks too, one of which walks all registers whenever one is
// assigned: half the time of long loops. That inline function gives way to this one.
__attribute__((visibility("hidden"))) void pijit_no_verify() __asm__(
    "_ZN6asmjit8_abi_1_912RAAssignment6verifyEv");
void pijit_no_verify() {}
}

namespace pijit {

Code<LoopEmitter::Fn> LoopEmitter::emit() {
  return function<Fn>([&](x86::Compiler& cc) {
    asmjit::FuncNode* f =
        cc.addFunc(asmjit::FuncSignatureT<void, char* const*, int64_t, int64_t, const int64_t*>(
            asmjit::CallConvId::kHost));
    save_registers(f);
    isa_->begin(f);
    x86::Gp ptrs = cc.newIntPtr(), n = cc.newInt64(), passes = cc.newInt64(),
            steps = cc.newIntPtr();
    f->setArg(0, ptrs);
    f->setArg(1, n);
    f->setArg(2, passes);
    f->setArg(3, steps);
    emit(cc, ptrs, 0, n, passes, steps);
  });
}

void LoopEmitter::emit(x86::Compiler& cc, x86::Gp ptrs, size_t first, x86::Gp n, x86::Gp passes,
                       x86::Gp steps) {
  isa_->cc_ = &cc;
  isa_->i_ = cc.newInt64();
  for (size_t k = 0; k < pointers(); ++k) {
    isa_->p_.push_back(cc.newIntPtr());
    cc.mov(isa_->p_[k], x86::ptr(ptrs, static_cast<int>(8 * (first + k))));
  }
  find_needed();
  // Some constants stay in registers, the others in memory. Those that an instruction cannot take
  // from memory would be loaded each time: they come first.
  hoisted_.resize(body_.size());
  in_loop_.resize(body_.size(), true);
  std::vector<bool> loaded(body_.size());
  for (auto& n : body_)
    for (int operand : {n.a, n.b, n.c})
      if (operand >= 0 && body_[operand].op == SOp::kConst && !takes_memory(n, operand))
        loaded[operand] = true;
  int room = isa_->max_hoisted();
  for (bool first : {true, false})
    for (size_t id = 0; id < body_.size() && room > 0; ++id)
      if (body_[id].op == SOp::kConst && loaded[id] == first) {
        hoisted_[id] = isa_->constant(body_[id]);
        in_loop_[id] = false;
        --room;
      }
  if (!isa_->by_columns_) find_stages();
  isa_->by_columns_ ? columns(n, passes, steps) : rows(n, passes, steps);
}

// What is the same for all elements of a pass.
void LoopEmitter::load_scalars() {
  for (size_t id = 0; id < body_.size(); ++id) {
    const SNode& x = body_[id];
    if (x.op == SOp::kInput && s_.in_strides[x.imm] == 0)
      hoisted_[id] = isa_->broadcast(s_.body[id].dt, isa_->p_[x.imm]);
  }
}
void LoopEmitter::find_needed() {
  needed_.assign(body_.size(), false);
  for (auto& o : s_.out) needed_[o.node] = true;
  for (size_t id = body_.size(); id-- > 0;) {
    if (!needed_[id]) continue;
    for (int operand : operands(body_[id]))
      if (operand >= 0) needed_[operand] = true;
  }
}

// Do values wait for each other while the processor, which sees too little of the next vector, has
// nothing else to do? Then a vector takes as long as its longest path, by the latencies of
// arithmetic, and not as long as its instructions.
bool LoopEmitter::waits() const {
  int instructions = 0, longest = 0;
  std::vector<int> path(body_.size());
  for (size_t id = 0; id < body_.size(); ++id) {
    const SNode& n = body_[id];
    if (!needed_[id] || n.op == SOp::kInput || n.op == SOp::kConst) continue;
    ++instructions;
    for (int operand : operands(n))
      if (operand >= 0) path[id] = std::max(path[id], path[static_cast<size_t>(operand)]);
    path[id] += n.op == SOp::kDiv || n.op == SOp::kSqrt ? 13 : is_bool(n.dt) ? 2 : 4;
    longest = std::max(longest, path[id]);
  }
  const int vectors = std::max(1, isa_->window() / std::max(1, instructions));  // seen at once
  // Stages cost loads and stores, and more of them where sums hold registers meanwhile.
  const bool sums = std::any_of(s_.out.begin(), s_.out.end(),
                                [this](const LoopOutput& o) { return reduces_in_registers(o); });
  return 4 * longest > (sums ? 6 : 5) * instructions * vectors;
}

// Cuts a long body where few values are alive. A stage runs over a block of vectors before the next
// one does, so that several vectors are under way in it.
void LoopEmitter::find_stages() {
  stages_.clear();
  if (!waits()) return;
  for (auto& o : s_.out)
    if (half_lanes(o)) return;
  const size_t count = body_.size();
  auto reloaded = [&](size_t id) {
    return body_[id].op == SOp::kConst || body_[id].op == SOp::kInput;
  };
  std::vector<size_t> last_use(count);
  for (size_t id = 0; id < count; ++id)
    if (needed_[id])
      for (int operand : operands(body_[id]))
        if (operand >= 0) last_use[static_cast<size_t>(operand)] = id;
  for (auto& o : s_.out) last_use[static_cast<size_t>(o.node)] = count;
  std::vector<int> alive(count + 2);  // before each node
  for (size_t id = 0; id < count; ++id)
    if (needed_[id] && !reloaded(id)) {
      ++alive[id + 1];
      --alive[last_use[id] + 1];
    }
  for (size_t id = 1; id <= count; ++id) alive[id] += alive[id - 1];

  const int most = isa_->window() / 3, least = most / 3;
  size_t begin = 0, best = 0;
  int instructions = 0;
  for (size_t id = 0; id < count; ++id) {
    if (!needed_[id] || reloaded(id)) continue;
    if (instructions >= least && (best == begin || alive[id] <= alive[best])) best = id;
    // A value that is stored and loaded takes two instructions.
    if (instructions >= most && 8 * alive[best] <= instructions) {
      stages_.push_back({begin, best, {}});
      begin = id = best;
      instructions = 0;
    }
    ++instructions;
  }
  if (stages_.empty()) return;
  stages_.push_back({begin, count, {}});

  slot_.assign(count, -1);
  std::vector<size_t> free_from;  // of each slot: the stage that may store into it
  for (size_t s = 0; s + 1 < stages_.size(); ++s)
    for (size_t id = stages_[s].begin; id < stages_[s].end; ++id) {
      if (!needed_[id] || reloaded(id) || last_use[id] < stages_[s].end) continue;
      stages_[s].spills.push_back(static_cast<int>(id));
      size_t last = s + 1;  // the stage of its last use
      while (last + 1 < stages_.size() && last_use[id] >= stages_[last].end) ++last;
      size_t k = 0;
      while (k < free_from.size() && free_from[k] > s) ++k;
      if (k == free_from.size()) free_from.push_back(0);
      free_from[k] = last;
      slot_[id] = static_cast<int>(k);
    }
  const auto bytes = static_cast<uint32_t>(std::max<size_t>(1, free_from.size()) * kBlock * 64);
  slots_ = isa_->cc_->newIntPtr();
  slot_offset_ = isa_->cc_->newInt64();
  isa_->cc_->lea(slots_, isa_->cc_->newStack(bytes, 64));
}
void LoopEmitter::start_sums() {
  acc_.clear();
  for (auto& o : s_.out)
    acc_.push_back(reduces_in_registers(o)
                       ? isa_->accumulator(o.dt, combiner_identity(o.combine, o.dt))
                       : Reg{});
}
// As those of rows do, which go on with what is there.
void LoopEmitter::load_sums(bool tail) {
  for (size_t k = 0; k < s_.out.size(); ++k) {
    const auto& o = s_.out[k];
    if (o.combine == Combiner::kNone) continue;
    const int at = static_cast<int>(s_.in_types.size() + k);
    isa_->accumulate(acc_[k], isa_->load(at, o.dt, tail), o.dt, false);
  }
}
template <class F>
void LoopEmitter::each_vector(x86::Gp n, int halves, F f, bool from_start) {
  x86::Compiler& cc = *isa_->cc_;
  asmjit::Label loop = cc.newLabel(), tail = cc.newLabel(), done = cc.newLabel();
  x86::Gp limit = cc.newInt64();
  if (from_start) cc.xor_(isa_->i_, isa_->i_);
  cc.mov(limit, n);
  cc.sub(limit, halves * isa_->lanes_);
  cc.cmp(isa_->i_, limit);
  cc.jg(tail);
  cc.bind(loop);
  for (int half = 0; half < halves; ++half) {
    f(false, half);
    cc.add(isa_->i_, isa_->lanes_);
  }
  cc.cmp(isa_->i_, limit);
  cc.jle(loop);
  cc.bind(tail);
  for (int half = 0; half < halves && !s_.whole; ++half) {
    x86::Gp left = cc.newInt64();
    cc.mov(left, n);
    cc.sub(left, isa_->i_);
    cc.jle(done);
    if (half + 1 < halves) {
      x86::Gp all = cc.newInt64();
      cc.mov(all, isa_->lanes_);
      cc.cmp(left, all);
      cc.cmovg(left, all);
    }
    isa_->make_tail_mask(left);
    f(true, half);
    if (half + 1 < halves) cc.add(isa_->i_, isa_->lanes_);
  }
  cc.bind(done);
}

bool LoopEmitter::slide(x86::Gp n) {
  struct Group {
    std::vector<int> inputs, shifts;
    Reg now;
  };
  std::map<int, Group> groups;  // by the input that begins first
  for (size_t id = 0; id < body_.size(); ++id) {
    const SNode& x = body_[id];
    if (!needed_[id] || x.op != SOp::kInput || s_.slices.empty() || s_.slices[x.imm].of < 0)
      continue;
    Group& g = groups[s_.slices[x.imm].of];
    g.inputs.push_back(static_cast<int>(x.imm));
    g.shifts.push_back(s_.slices[x.imm].shift);
  }
  std::erase_if(groups, [](auto& g) { return g.second.inputs.size() < 2; });
  if (groups.empty()) return false;

  // The vector after the next one begins where every group has its last element at the earliest.
  int reach = InnerSpec::kMaxShift;
  for (auto& [of, g] : groups)
    reach = std::min(reach, *std::max_element(g.shifts.begin(), g.shifts.end()));
  x86::Compiler& cc = *isa_->cc_;
  asmjit::Label loop = cc.newLabel(), done = cc.newLabel();
  x86::Gp limit = cc.newInt64();
  cc.xor_(isa_->i_, isa_->i_);
  cc.mov(limit, n);
  cc.sub(limit, 2 * isa_->lanes_ - reach);
  cc.jl(done);
  for (auto& [of, g] : groups) g.now = isa_->load(of, s_.in_types[of], false);
  cc.bind(loop);
  slices_.assign(s_.in_types.size(), {});
  std::vector<Reg> next;
  for (auto& [of, g] : groups) {
    const DType t = s_.in_types[of];
    isa_->ahead_ = isa_->lanes_;
    next.push_back(isa_->load(of, t, false));
    isa_->ahead_ = 0;
    const auto parts = isa_->between(t, g.now, next.back(), g.shifts);
    for (size_t k = 0; k < parts.size(); ++k) slices_[g.inputs[k]] = parts[k];
  }
  body(false, 0);
  slices_.clear();
  size_t at = 0;
  for (auto& [of, g] : groups) isa_->accumulate(g.now, next[at++], s_.in_types[of], false);
  cc.add(isa_->i_, isa_->lanes_);
  cc.cmp(isa_->i_, limit);
  cc.jle(loop);
  cc.bind(done);
  return true;
}

void LoopEmitter::each_block(x86::Gp n) {
  x86::Compiler& cc = *isa_->cc_;
  asmjit::Label block = cc.newLabel(), tail = cc.newLabel(), done = cc.newLabel();
  x86::Gp limit = cc.newInt64(), first = cc.newInt64(), last = cc.newInt64();
  cc.xor_(isa_->i_, isa_->i_);
  cc.mov(limit, n);
  cc.sub(limit, isa_->lanes_);
  cc.jl(tail);
  cc.bind(block);
  cc.mov(first, isa_->i_);
  cc.lea(last, x86::ptr(first, (kBlock - 1) * isa_->lanes_));
  cc.cmp(last, limit);
  cc.cmovg(last, limit);
  for (auto& stage : stages_) {
    asmjit::Label loop = cc.newLabel();
    if (stage.begin > 0) cc.mov(isa_->i_, first);
    cc.xor_(slot_offset_, slot_offset_);
    cc.bind(loop);
    body(false, 0, stage);
    cc.add(isa_->i_, isa_->lanes_);
    cc.add(slot_offset_, 64);
    cc.cmp(isa_->i_, last);
    cc.jle(loop);
  }
  cc.cmp(isa_->i_, limit);
  cc.jle(block);
  cc.bind(tail);
  if (s_.whole) return;
  x86::Gp left = cc.newInt64();
  cc.mov(left, n);
  cc.sub(left, isa_->i_);
  cc.jle(done);
  isa_->make_tail_mask(left);
  body(true, 0);
  cc.bind(done);
}

int LoopEmitter::rows_together() const {
  constexpr int kPointers = 4, kShort = 10;  // more streams of memory than that are slower
  if (!s_.many || s_.form != LoopSpec::kRow) return 1;
  int sums = 0, pointers = 0, instructions = 0;
  for (auto& o : s_.out) reduces_in_registers(o) ? ++sums : ++pointers;
  for (auto stride : s_.in_strides) pointers += stride != 0;
  for (auto& n : s_.body) {
    if (n.op == SOp::kInput || n.op == SOp::kConst) continue;
    const bool out_of_line = n.op == SOp::kCall1 || n.op == SOp::kCall2 || n.op == SOp::kWide;
    instructions += out_of_line ? kShort + 1 : 1;
  }
  if (sums == 0 || instructions > kShort) return 1;
  for (int together : {4, 2})
    if (sums * together <= isa_->max_sums() && pointers * together <= kPointers) return together;
  return 1;
}

void LoopEmitter::rows(x86::Gp n, x86::Gp passes, x86::Gp steps) {
  x86::Compiler& cc = *isa_->cc_;
  const size_t ni = s_.in_types.size();
  asmjit::Label pass = cc.newLabel(), end = cc.newLabel();
  const bool two =
      std::any_of(s_.out.begin(), s_.out.end(), [&](const LoopOutput& o) { return half_lanes(o); });
  auto fold_sums = [&] {
    for (size_t k = 0; k < s_.out.size(); ++k)
      if (reduces_in_registers(s_.out[k]))
        isa_->fold(s_.out[k].combine, s_.out[k].dt, acc_[k], isa_->p_[ni + k]);
  };
  if (const int together = rows_together(); together > 1) {
    asmjit::Label many = cc.newLabel();
    cc.cmp(passes, together);
    cc.jl(pass);
    cc.bind(many);
    std::vector<Row> row(static_cast<size_t>(together));
    for (size_t r = 0; r < row.size(); ++r) {
      row[r].hoisted = hoisted_;
      for (size_t k = 0; k < isa_->p_.size(); ++k) {
        row[r].p.push_back(r ? cc.newIntPtr() : isa_->p_[k]);
        if (r == 0) continue;
        cc.mov(row[r].p[k], row[r - 1].p[k]);
        cc.add(row[r].p[k], x86::ptr(steps, static_cast<int>(8 * k)));
      }
      use(&row[r]);
      load_scalars();
      start_sums();
      use(&row[r]);
    }
    each_vector(n, two ? 2 : 1, [&](bool tail, int half) {
      for (auto& r : row) {
        use(&r);
        body(tail, half);
        use(&r);
      }
    });
    for (auto& r : row) {
      use(&r);
      fold_sums();
      use(&r);
    }
    for (size_t k = 0; k < isa_->p_.size(); ++k) {
      cc.mov(isa_->p_[k], row.back().p[k]);
      cc.add(isa_->p_[k], x86::ptr(steps, static_cast<int>(8 * k)));
    }
    cc.sub(passes, together);
    cc.cmp(passes, together);
    cc.jge(many);
    cc.test(passes, passes);
    cc.jle(end);
  }
  cc.bind(pass);
  load_scalars();
  start_sums();
  if (stages_.empty()) {
    const bool begun = !two && slide(n);
    each_vector(
        n, two ? 2 : 1, [&](bool tail, int half) { body(tail, half); }, !begun);
  } else {
    each_block(n);
  }
  fold_sums();
  cc.dec(passes);
  cc.jle(end);
  for (size_t k = 0; k < isa_->p_.size(); ++k)
    cc.add(isa_->p_[k], x86::ptr(steps, static_cast<int>(8 * k)));
  cc.jmp(pass);
  cc.bind(end);
}

// All passes over a vector of columns, then the next.
void LoopEmitter::columns(x86::Gp n, x86::Gp passes, x86::Gp steps) {
  x86::Compiler& cc = *isa_->cc_;
  const size_t ni = s_.in_types.size();
  std::vector<x86::Gp> back;  // from the last pass to the first
  for (size_t k = 0; k < isa_->p_.size(); ++k) {
    back.push_back(cc.newInt64());
    cc.mov(back[k], passes);
    cc.dec(back[k]);
    cc.imul(back[k], x86::ptr(steps, static_cast<int>(8 * k)));
  }
  each_vector(n, 1, [&](bool tail, int) {
    asmjit::Label pass = cc.newLabel(), last = cc.newLabel();
    x86::Gp left = cc.newInt64();
    start_sums();
    load_sums(tail);
    cc.mov(left, passes);
    cc.bind(pass);
    load_scalars();
    body(tail, 0);
    cc.dec(left);
    cc.jle(last);
    for (size_t k = 0; k < isa_->p_.size(); ++k)
      cc.add(isa_->p_[k], x86::ptr(steps, static_cast<int>(8 * k)));
    cc.jmp(pass);
    cc.bind(last);
    for (size_t k = 0; k < isa_->p_.size(); ++k) cc.sub(isa_->p_[k], back[k]);
    for (size_t k = 0; k < s_.out.size(); ++k)
      if (s_.out[k].combine != Combiner::kNone)
        isa_->store(static_cast<int>(ni + k), s_.out[k].dt, acc_[k], tail);
  });
}

// In its last place an instruction may read memory; commutative ones move a constant there.
bool LoopEmitter::takes_memory(const SNode& n, int operand) const {
  switch (n.op) {
    case SOp::kAdd:
    case SOp::kMul: return n.a != n.b;
    case SOp::kSub:
    case SOp::kDiv:
    case SOp::kMin:
    case SOp::kMax: return operand == n.b && n.a != n.b;
    case SOp::kFma: return operand == n.c && n.a != n.c && n.b != n.c;
    case SOp::kAnd:
    case SOp::kOr:
    case SOp::kXor: return operand == n.b && n.a != n.b && !is_bool(n.dt);
    default: return false;
  }
}

void LoopEmitter::body(bool tail, int half, const Stage& stage) {
  isa_->in_tail_ = tail;
  std::vector<Reg> r(body_.size());
  std::vector<bool> made(body_.size());
  auto make = [&](size_t id) {
    const SNode& n = body_[id];
    const DType stored = s_.body[id].dt;
    if (n.op == SOp::kConst)
      r[id] = !in_loop_[id]   ? hoisted_[id]
              : is_bool(n.dt) ? isa_->constant(n)
                              : isa_->constant_in_memory(n);
    else if (n.op == SOp::kInput && !slices_.empty() && slices_[n.imm].v.isValid())
      r[id] = slices_[n.imm];
    else if (n.op == SOp::kInput)
      r[id] = s_.in_strides[n.imm] == 0 ? hoisted_[id]
                                        : isa_->load(static_cast<int>(n.imm), stored, tail);
    else if (id < stage.begin)
      r[id] = isa_->fill(slot(static_cast<int>(id)), n.dt);
    else if (n.op == SOp::kCast && body_[n.a].dt == n.dt)
      r[id] = isa_->in_register(r[n.a], n.dt);
    else
      r[id] = isa_->compute(n, r);
    if (id >= stage.begin && n.op == SOp::kCast && VectorCode::narrow(stored) &&
        s_.body[n.a].dt != stored)
      r[id] = isa_->rounded(r[id], stored);
    made[id] = true;
  };
  auto want = [&](int id) {  // of an earlier stage
    if (id >= 0 && !made[static_cast<size_t>(id)]) make(static_cast<size_t>(id));
  };
  for (size_t id = stage.begin; id < stage.end; ++id) {
    if (!needed_[id]) continue;
    for (int operand : operands(body_[id])) want(operand);
    make(id);
  }
  for (int id : stage.spills) isa_->spill(slot(id), body_[static_cast<size_t>(id)].dt, r[id]);
  if (stage.end < body_.size()) return;
  for (auto& o : s_.out) want(o.node);
  const int ni = static_cast<int>(s_.in_types.size());
  for (size_t k = 0; k < s_.out.size(); ++k) {
    const auto& o = s_.out[k];
    const Reg x = isa_->in_register(r[o.node], body_[o.node].dt);
    const int at = ni + static_cast<int>(k);
    if (o.combine == Combiner::kNone) {
      isa_->store(at, o.dt, x, tail);
    } else if (isa_->by_columns_) {  // a column past the last one is not stored
      isa_->accumulate(acc_[k], isa_->combined(o.combine, o.dt, acc_[k], x), o.dt, false);
    } else if (s_.form == LoopSpec::kCol) {
      isa_->store(at, o.dt, isa_->combined(o.combine, o.dt, isa_->load(at, o.dt, tail), x), tail);
    } else {
      const Reg acc = half && half_lanes(o) ? Reg{acc_[k].hi} : acc_[k];
      isa_->accumulate(acc, isa_->combined(o.combine, o.dt, acc, x), o.dt, tail);
    }
  }
  for (size_t k = 0; k < s_.ahead.size(); ++k)
    isa_->cc_->prefetcht0(isa_->address(ni + static_cast<int>(s_.out.size() + k), s_.ahead[k]));
}

namespace {
class AsmLoop : public InnerLoop {
 public:
  AsmLoop(Code<LoopEmitter::Fn> code, bool whole) : code_(std::move(code)), whole_(whole) {}
  void run(char* const* ptrs, int64_t n, int64_t passes, const int64_t* steps) const override {
    PIJIT_CHECK(!whole_ || n % InnerSpec::kWhole == 0, "a pass of ", n,
                " elements by code for whole vectors");
    code_.get()(ptrs, n, passes, steps);
  }

 private:
  Code<LoopEmitter::Fn> code_;
  const bool whole_;
};
class AsmChain : public InnerChain {
 public:
  using Fn = void (*)(char* const*, const int64_t*);
  explicit AsmChain(Code<Fn> code) : code_(std::move(code)) {}
  void run(char* const* ptrs, const int64_t* shape) const override { code_.get()(ptrs, shape); }

 private:
  Code<Fn> code_;
};
}  // namespace

bool generates_code() {
  static const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                               __builtin_cpu_supports("f16c");
  return has_avx2 && config().backend != "reference" && config().isa != "none" &&
         executable_memory();
}

bool wide_types_halve_lanes() { return generates_code() && config().isa != "avx2" && has_avx512(); }

static std::unique_ptr<LoopEmitter> emitter_of(const InnerSpec& s) {
  if (!generates_code()) return nullptr;
  const bool avx512 = config().isa != "avx2" && has_avx512();
  std::unique_ptr<VectorCode> isa = avx512 ? avx512_code(s) : avx2_code(s);
  std::string why;
  if (isa->covers(&why)) return std::make_unique<LoopEmitter>(std::move(isa));
  PIJIT_LOG("dispatch", "loop: asmjit refuses: ", why);
  return nullptr;
}

std::shared_ptr<const InnerLoop> asmjit_inner_loop(const InnerSpec& s) {
  auto e = emitter_of(s);
  return e ? std::make_shared<AsmLoop>(e->emit(), s.whole) : nullptr;
}

std::shared_ptr<const InnerChain> asmjit_inner_chain(const std::vector<InnerSpec>& loops) {
  std::vector<std::unique_ptr<LoopEmitter>> emitters;
  for (auto& s : loops) {
    emitters.push_back(emitter_of(s));
    if (!emitters.back()) return nullptr;
  }
  return std::make_shared<AsmChain>(LoopEmitter::function<AsmChain::Fn>([&](x86::Compiler& cc) {
    asmjit::FuncNode* f = cc.addFunc(
        asmjit::FuncSignatureT<void, char* const*, const int64_t*>(asmjit::CallConvId::kHost));
    save_registers(f);
    x86::Gp ptrs = cc.newIntPtr(), shape = cc.newIntPtr();
    f->setArg(0, ptrs);
    f->setArg(1, shape);
    size_t pointer = 0, number = 0;
    for (auto& e : emitters) {
      e->begin_function(f);
      x86::Gp n = cc.newInt64(), passes = cc.newInt64(), steps = cc.newIntPtr();
      cc.mov(n, x86::ptr(shape, static_cast<int>(8 * number)));
      cc.mov(passes, x86::ptr(shape, static_cast<int>(8 * (number + 1))));
      cc.lea(steps, x86::ptr(shape, static_cast<int>(8 * (number + 2))));
      e->emit(cc, ptrs, pointer, n, passes, steps);
      pointer += e->pointers();
      number += 2 + e->pointers();
    }
  }));
}

}  // namespace pijit
