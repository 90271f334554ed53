// Instructions: calls, imports, functions and context managers.
#include "base/error.h"
#include "capture/protocol/protocol.h"
#include "capture/tracer.h"
#include "capture/values.h"

namespace pijit {

void Tracer::push_callable(Frame& f, const V& callable) {
  if (!kNullAboveCallable) f.stack.push_back(null());
  f.stack.push_back(callable);
  if (kNullAboveCallable) f.stack.push_back(null());
}

V Tracer::pop_callable(Frame& f, V* self) {
  V above = f.pop(), below = f.pop();
  if (as<NullValue>(above)) return below;
  if (as<NullValue>(below)) return above;
  *self = above;
  return below;
}

int Tracer::step_calls(Frame& f, const Instr& in) {
  auto& st = f.stack;
  switch (in.op) {
    case Op::CALL:
    case Op::CALL_KW: {
      PyObject* names = in.op == Op::CALL ? in.obj : f.pop()->obj.ptr();  // a constant of the code
      auto args = f.popn(in.a);
      V self;
      V callee = in.b ? f.pop() : pop_callable(f, &self);
      if (self) args.insert(args.begin(), self);
      Kwargs kw;
      if (names) {
        const Py_ssize_t n = PyTuple_GET_SIZE(names);
        for (Py_ssize_t k = 0; k < n; ++k)
          kw.push_back({text_of(PyTuple_GET_ITEM(names, k)), args[args.size() - n + k]});
        args.resize(args.size() - n);
      }
      try {
        st.push_back(protocol::call(*this, callee, args, kw));
      } catch (const GraphBreak& b) {
        // where a `with` of a class in C calls for itself, that is what breaks, as in its
        // instruction
        const bool enters = f.pc > 0 && f.code->instrs[f.pc - 1].op == Op::LOAD_SPECIAL;
        if (enters && self && b.reason == Reason::kUnsupportedCall &&
            !protocol::user_method(*this, self, "__enter__"))
          give_up(Reason::kContextManager, self->type()->tp_name, self->type());
        throw;
      }
      break;
    }
    case Op::CALL_EX: {
      V kwargs = in.a ? f.pop() : nullptr, args = f.pop(), self;
      const V callee = in.b ? f.pop() : pop_callable(f, &self);
      if (kwargs && as<NullValue>(kwargs)) kwargs = nullptr;
      auto items = protocol::unpack(*this, args);
      if (!items) give_up(Reason::kUnsupportedIterable, "*args");
      Kwargs kw;
      if (kwargs) {
        kw = protocol::keywords_of(*this, kwargs);
      }
      st.push_back(protocol::call(*this, callee, *items, kw));
      break;
    }
    case Op::IMPORT_NAME: {
      const V from = f.pop(), level = f.pop();
      st.push_back(import_module(f, text_of(in.obj), from, as_int(*this, level).value_or(-1)));
      break;
    }
    case Op::IMPORT_FROM: st.push_back(protocol::attribute(*this, st.back(), in.obj)); break;
    case Op::MAKE_FUNCTION: {
      auto* fn = make<FunctionValue>();
      if (in.b) fn->qualname = f.pop()->obj;
      fn->code = f.pop()->obj;
      fn->globals = py::reinterpret_borrow<py::object>(f.globals);
      if (in.a & 8) fn->closure = f.pop();
      if (in.a & 4) fn->annotations = f.pop();
      if (in.a & 16) fn->annotate = f.pop();
      if (in.a & 2) fn->kwdefaults = f.pop();
      if (in.a & 1) fn->defaults = f.pop();
      st.push_back(fn);
      break;
    }
    case Op::LOAD_SPECIAL: {
      const V o = f.pop();
      const char* name = in.a ? "__exit__" : "__enter__";
      PyObject* method = protocol::user_method(*this, o, name);
      if (!method && o->asks_class()) {  // of a class in C: the call is what breaks
        PyObject* found = type_lookup(o->type(), interned(name));
        if (found && PyType_HasFeature(Py_TYPE(found), Py_TPFLAGS_METHOD_DESCRIPTOR))
          o->guard_methods(*this), method = found;
      }
      if (!method) give_up(Reason::kContextManager, o->type()->tp_name, o->type());
      if (PyType_HasFeature(Py_TYPE(method), Py_TPFLAGS_METHOD_DESCRIPTOR)) {
        st.push_back(wrap_static(method));
        st.push_back(o);
      } else {
        push_callable(f, protocol::bind(*this, wrap_static(method), o, o->type()));
      }
      break;
    }
    case Op::BEFORE_WITH: {
      V manager = f.pop();
      PyObject *enter = protocol::user_method(*this, manager, "__enter__"),
               *exit = protocol::user_method(*this, manager, "__exit__");
      if (!enter || !exit)
        give_up(Reason::kContextManager, manager->type()->tp_name, manager->type());
      st.push_back(protocol::bind(*this, wrap_static(exit), manager, manager->type()));
      st.push_back(protocol::call(*this, wrap_static(enter), {manager}, {}));
      break;
    }
    default: PIJIT_CHECK(false, "an instruction of another family");
  }
  return f.pc + 1;
}

}  // namespace pijit
