// Instructions: jumps, loops, generators and returns.
#include "base/error.h"
#include "capture/protocol/protocol.h"
#include "capture/tracer.h"
#include "capture/values.h"

namespace pijit {

// The next place behind a jump that asks for a truth value, which may stay on the stack. Tensors
// decide it in the graph.
int Tracer::jump_by_truth(Frame& f, const Instr& in, bool keeps) {
  const int next = f.pc + 1;
  const V x = f.stack.back();
  const auto t = protocol::truth(*this, x);
  const bool jumps = in.a == 1;
  if (!t && undecided(x)) {
    f.pop();
    control_flow.branch(f, x, jumps ? in.target : next, jumps ? next : in.target,
                        keeps ? static_cast<int>(jumps) : -1);
    return f.pc;
  }
  if (!t)
    give_up(x->reason(Reason::kUnsupportedOperand), str_cat("truth value of ", x->type()->tp_name),
            x->type());
  if (!keeps || *t != jumps) f.pop();
  return *t == jumps ? in.target : next;
}

namespace {
// Does the loop whose FOR_ITER this is end in no other way? One of a generator ends where its
// caller does, and an exception may come from what a loop calls; where none is caught here, none is
// thought of.
bool ends_with_items(const CodeInfo& code, int pc, int end) {
  for (auto& h : code.handlers)
    if (h.begin <= pc && pc < h.end) return false;
  for (int k = pc + 1; k < end; ++k) {
    const Op op = code.instrs[k].op;
    if (op == Op::RETURN_VALUE || op == Op::RAISE || op == Op::YIELD_VALUE) return false;
    for (int to : successors(code, k))
      if (to >= end || (to >= 0 && to < pc)) return false;
  }
  return true;
}
}  // namespace

int Tracer::for_iter(Frame& f, const Instr& in) {
  auto& st = f.stack;
  const V it = st.end()[-1 - in.b];
  // it goes on to its last item, which is too far
  if (auto* i = as<IteratorValue>(it);
      i && i->outlasts(budget_) && ends_with_items(*f.code, f.pc, in.target))
    give_up(Reason::kBudget);
  inlined_turns_ = frames_.size() > 1 ? ++f.turns : 0;
  V v;
  if (protocol::next(*this, it, &v)) {
    st.push_back(v);
    meet(f, v, it->serial);
    return f.pc + 1;
  }
  st.resize(st.size() - static_cast<size_t>(1 + in.b - in.a));
  return in.target;
}

int Tracer::step_control(Frame& f, const Instr& in) {
  auto& st = f.stack;
  switch (in.op) {
    case Op::JUMP: return in.target;
    case Op::POP_JUMP: {
      if (in.a < 2) return jump_by_truth(f, in, false);
      const bool none = is_none(f.pop());
      return none == (in.a == 2) ? in.target : f.pc + 1;
    }
    case Op::JUMP_OR_POP: return jump_by_truth(f, in, true);
    case Op::GET_ITER: {
      V x = f.pop();
      st.push_back(protocol::iter(*this, x));
      if (in.b) st.push_back(null());
      break;
    }
    case Op::FOR_ITER: return for_iter(f, in);
    case Op::RETURN_VALUE:
      return_value_ = f.pop();
      returned_ = true;
      return f.pc;
    default: PIJIT_CHECK(false, "an instruction of another family");
  }
  return f.pc + 1;
}

int Tracer::step_generators(Frame& f, const Instr& in) {
  auto& st = f.stack;
  switch (in.op) {
    case Op::RETURN_GENERATOR: st.push_back(constant(py::none())); break;
    case Op::YIELD_VALUE:
      yielded_ = f.pop();
      st.push_back(constant(py::none()));
      break;
    case Op::GET_YIELD_FROM_ITER:
      if (!generator_of(st.back())) st.push_back(protocol::iter(*this, f.pop()));
      if (in.b) st.push_back(null());
      break;
    case Op::SEND: {
      const V sent = f.pop(), it = st.end()[-1 - in.b];
      V v;
      if (send(it, sent, &v)) {
        st.push_back(v);
        break;
      }
      st.resize(st.size() - static_cast<size_t>(1 + in.b - in.a));
      st.push_back(v ? v : constant(py::none()));
      return in.target;
    }
    case Op::END_SEND: st.erase(st.end() - 2 - in.b, st.end() - 1); break;
    default: PIJIT_CHECK(false, "an instruction of another family");
  }
  return f.pc + 1;
}

}  // namespace pijit
