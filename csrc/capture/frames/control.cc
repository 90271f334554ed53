// Instructions: jumps, loops, generators and returns.
#include "base/error.h"
#include "capture/protocol/protocol.h"
#include "capture/tracer.h"
#include "capture/values.h"

namespace pijit {

int Tracer::step_control(Frame& f, const Instr& in) {
  auto& st = f.stack;
  int next = f.pc + 1;
  switch (in.op) {
    case Op::JUMP: next = in.target; break;
    case Op::POP_JUMP: {
      V x = f.pop();
      bool jump;
      if (in.a >= 2) {
        const bool none = is_none(x);
        jump = none == (in.a == 2);
      } else {
        auto t = protocol::truth(*this, x);
        if (!t && undecided(x)) {
          const bool jumps = in.a == 1;
          branch_on_tensor(f, x, jumps ? in.target : next, jumps ? next : in.target);
          return f.pc;
        }
        if (!t)
          give_up(x->reason(Reason::kUnsupportedOperand),
                  str_cat("truth value of ", x->type()->tp_name));
        jump = *t == (in.a == 1);
      }
      if (jump) next = in.target;
      break;
    }
    case Op::JUMP_OR_POP: {
      auto t = protocol::truth(*this, st.back());
      if (!t && undecided(st.back())) {
        const V x = f.pop();
        const bool jumps = in.a == 1;
        branch_on_tensor(f, x, jumps ? in.target : next, jumps ? next : in.target, jumps);
        return f.pc;
      }
      if (!t) give_up(st.back()->reason(Reason::kUnsupportedOperand), "truth value");
      if (*t == (in.a == 1))
        next = in.target;
      else
        st.pop_back();
      break;
    }
    case Op::GET_ITER: {
      V x = f.pop();
      st.push_back(protocol::iter(*this, x));
      if (in.b) st.push_back(null());
      break;
    }
    case Op::FOR_ITER: {
      V it = st.end()[-1 - in.b], v;
      if (protocol::next(*this, it, &v)) {
        st.push_back(v);
        meet(f, v, it->serial);
      } else {
        st.resize(st.size() - static_cast<size_t>(1 + in.b - in.a));
        next = in.target;
      }
      break;
    }
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
      next = in.target;
      break;
    }
    case Op::END_SEND: st.erase(st.end() - 2 - in.b, st.end() - 1); break;
    case Op::RETURN_VALUE:
      return_value_ = f.pop();
      returned_ = true;
      return f.pc;
    default: PIJIT_CHECK(false, "an instruction of another family");
  }
  return next;
}

}  // namespace pijit
