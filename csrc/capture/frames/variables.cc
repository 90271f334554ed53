// Instructions: variables, cells, and the order of the stack.
#include "base/error.h"
#include "capture/protocol/protocol.h"
#include "capture/tracer.h"
#include "capture/values.h"

namespace pijit {

int Tracer::step_variables(Frame& f, const Instr& in) {
  auto& st = f.stack;
  switch (in.op) {
    case Op::NOP: break;
    case Op::LOAD_CONST: st.push_back(wrap_static(in.obj)); break;
    case Op::LOAD_FAST: {
      V v = f.slots[in.a];
      if (as<NullValue>(v)) give_up(Reason::kUnboundName, f.code->slot_names[in.a]);
      st.push_back(v);
      break;
    }
    case Op::LOAD_FAST_AND_CLEAR:
      st.push_back(f.slots[in.a]);
      f.slots[in.a] = null();
      break;
    case Op::STORE_FAST:
      lifetimes.let_go(f, in.a);
      f.slots[in.a] = f.pop();
      break;
    case Op::DELETE_FAST:
      lifetimes.let_go(f, in.a);
      if (as<NullValue>(f.slots[in.a])) give_up(Reason::kUnboundName, f.code->slot_names[in.a]);
      f.slots[in.a] = null();
      break;
    case Op::LOAD_GLOBAL: {
      V v = protocol::load_global(*this, f.globals, in.obj);
      if (in.a)
        push_callable(f, v);
      else
        st.push_back(v);
      break;
    }
    case Op::STORE_GLOBAL: protocol::set_global(*this, f.globals, in.obj, f.pop()); break;
    case Op::LOAD_CLOSURE:
    case Op::LOAD_DEREF: {
      auto* c = as<CellValue>(f.slots[in.a]);
      if (!c) give_up(Reason::kUnboundName, f.code->slot_names[in.a]);
      if (in.op == Op::LOAD_CLOSURE) {
        st.push_back(c);
        break;
      }
      if (!c->content) give_up(Reason::kUnboundName, f.code->slot_names[in.a]);
      st.push_back(c->content);
      break;
    }
    case Op::STORE_DEREF: {
      const V c = f.slots[in.a];
      set_cell(*this, c, f.pop());
      break;
    }
    case Op::MAKE_CELL: {
      auto* c = make<CellValue>();
      if (!as<NullValue>(f.slots[in.a])) c->content = f.slots[in.a];
      f.slots[in.a] = c;
      break;
    }
    case Op::COPY_FREE_VARS:
      for (int k = 0; k < in.a; ++k) {
        V& slot = f.slots[f.code->num_slots - in.a + k];
        if (auto* made = as<FunctionValue>(f.func)) {
          slot = item(*this, made->closure, k);
        } else {
          Py_ssize_t n;
          PyObject** c = closure_of(f.func->obj.ptr(), &n);
          const int src = frames_.size() == 1
                              ? add_source({Source::kClosure, -1, k, {}})
                              : add_source({Source::kFuncClosure, source_of(f.func), k, {}});
          slot = wrap(c[k], src);
        }
      }
      break;
    case Op::PUSH_NULL: st.push_back(null()); break;
    case Op::POP_TOP: st.resize(st.size() - 1 - static_cast<size_t>(in.a)); break;
    case Op::COPY: st.push_back(st[st.size() - in.a]); break;
    case Op::SWAP: std::swap(st.back(), st[st.size() - in.a]); break;
    default: PIJIT_CHECK(false, "an instruction of another family");
  }
  return f.pc + 1;
}

}  // namespace pijit
