// Break instructions, run on a real stack.
#include "capture/run.h"

namespace pijit {

namespace {

// Functions that look at their caller's frame or names.
bool needs_own_frame(const py::object& f) {
  if (!PyCFunction_Check(f.ptr())) return f.ptr() == reinterpret_cast<PyObject*>(&PySuper_Type);
  const std::string n = reinterpret_cast<PyCFunctionObject*>(f.ptr())->m_ml->ml_name;
  for (auto k : {"locals", "vars", "dir", "eval", "exec", "globals", "_getframe", "breakpoint",
                 "__build_class__"})
    if (n == k) return true;
  return false;
}
// The stub for a call at `pc`, whose frame stands for the function's own in tracebacks.
py::object& stub_at(const Front& front, int pc, int kind, const std::function<py::object()>& make) {
  py::object& stub = front.state.stubs[pc * 2 + kind];
  if (!stub) {
    stub = make();
    never_capture(PyFunction_GET_CODE(stub.ptr()));
  }
  return stub;
}
PyObject* call_stub(const py::object& stub, const py::object& callee,
                    const std::vector<py::object>& args) {
  std::vector<PyObject*> raw{callee.ptr()};
  for (auto& a : args) raw.push_back(a.ptr());
  PyObject* r = PyObject_Vectorcall(stub.ptr(), raw.data(), raw.size(), nullptr);
  if (!r) throw py::error_already_set();  // the stub's own frame is in the traceback
  return r;
}
PyObject* binary(const std::string& op, bool inplace, PyObject* x, PyObject* y) {
  struct Row {
    const char* name;
    binaryfunc plain, in_place;
  };
  static const Row rows[] = {{"add", PyNumber_Add, PyNumber_InPlaceAdd},
                             {"sub", PyNumber_Subtract, PyNumber_InPlaceSubtract},
                             {"mul", PyNumber_Multiply, PyNumber_InPlaceMultiply},
                             {"truediv", PyNumber_TrueDivide, PyNumber_InPlaceTrueDivide},
                             {"floordiv", PyNumber_FloorDivide, PyNumber_InPlaceFloorDivide},
                             {"mod", PyNumber_Remainder, PyNumber_InPlaceRemainder},
                             {"matmul", PyNumber_MatrixMultiply, PyNumber_InPlaceMatrixMultiply},
                             {"and", PyNumber_And, PyNumber_InPlaceAnd},
                             {"or", PyNumber_Or, PyNumber_InPlaceOr},
                             {"xor", PyNumber_Xor, PyNumber_InPlaceXor},
                             {"lshift", PyNumber_Lshift, PyNumber_InPlaceLshift},
                             {"rshift", PyNumber_Rshift, PyNumber_InPlaceRshift}};
  for (auto& r : rows)
    if (op == r.name) return (inplace ? r.in_place : r.plain)(x, y);
  return inplace ? PyNumber_InPlacePower(x, y, Py_None) : PyNumber_Power(x, y, Py_None);
}

}  // namespace

bool BreakStep::run(int pc) {
  const Instr& in = code_.instrs[pc];
  next = pc + 1;
  auto pop = [&] {
    py::object o = std::move(st_.back());
    st_.pop_back();
    return o;
  };
  auto push = [&](PyObject* o) {
    if (!o) fail(in);
    st_.push_back(py::reinterpret_steal<py::object>(o));
  };
  switch (in.op) {
    case Op::CALL: {
      std::vector<py::object> args(st_.end() - in.a, st_.end());
      st_.resize(st_.size() - in.a);
      py::object a = pop(), b = pop(), callee = a;
      if (b) callee = b, args.insert(args.begin(), a);
      if (needs_own_frame(callee)) {
        st_.push_back(b);
        st_.push_back(a);
        for (size_t k = b ? 1 : 0; k < args.size(); ++k) st_.push_back(args[k]);
        return false;
      }
      const py::object& stub = stub_at(front_, pc, b ? 1 : 0, [&] {
        return make_call_stub(front_.func, code_, pc, static_cast<int>(args.size()), in.obj, false,
                              false);
      });
      push(call_stub(stub, callee, args));
      return true;
    }
    case Op::CALL_EX: {
      py::object kw = in.a ? pop() : py::object(), args = pop(), callee = pop();
      if (needs_own_frame(callee)) {
        st_.push_back(callee);
        st_.push_back(args);
        if (in.a) st_.push_back(kw);
        return false;
      }
      if (!st_.empty() && !st_.back()) st_.pop_back();
      std::vector<py::object> all{args};
      if (in.a) all.push_back(kw);
      const py::object& stub = stub_at(front_, pc, 0, [&] {
        return make_call_stub(front_.func, code_, pc, static_cast<int>(all.size()), nullptr, true,
                              in.a);
      });
      push(call_stub(stub, callee, all));
      return true;
    }
    case Op::POP_JUMP: {
      py::object x = pop();
      bool jump;
      if (in.a >= 2) {
        jump = x.is_none() == (in.a == 2);
      } else {
        const int t = PyObject_IsTrue(x.ptr());
        if (t < 0) fail(in);
        jump = t == in.a;
      }
      if (jump) next = in.target;
      return true;
    }
    case Op::JUMP_OR_POP: {
      const int t = PyObject_IsTrue(st_.back().ptr());
      if (t < 0) fail(in);
      if (t == in.a)
        next = in.target;
      else
        st_.pop_back();
      return true;
    }
    case Op::GET_ITER: push(PyObject_GetIter(pop().ptr())); return true;
    case Op::FOR_ITER: {
      PyObject* x = (*Py_TYPE(st_.back().ptr())->tp_iternext)(st_.back().ptr());
      if (x) {
        push(x);
        return true;
      }
      if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_StopIteration)) fail(in);
        PyErr_Clear();
      }
      st_.pop_back();
      next = in.target;
      return true;
    }
    case Op::LOAD_ATTR: push(PyObject_GetAttr(pop().ptr(), in.obj)); return true;
    case Op::LOAD_METHOD: {
      py::object o = pop();
      PyObject* m = PyObject_GetAttr(o.ptr(), in.obj);
      if (!m) fail(in);
      st_.push_back({});
      push(m);
      return true;
    }
    case Op::STORE_ATTR: {
      py::object o = pop(), v = pop();
      if (PyObject_SetAttr(o.ptr(), in.obj, v.ptr()) < 0) fail(in);
      return true;
    }
    case Op::BINARY_SUBSCR: {
      py::object k = pop(), o = pop();
      push(PyObject_GetItem(o.ptr(), k.ptr()));
      return true;
    }
    case Op::STORE_SUBSCR: {
      py::object k = pop(), o = pop(), v = pop();
      if (PyObject_SetItem(o.ptr(), k.ptr(), v.ptr()) < 0) fail(in);
      return true;
    }
    case Op::DELETE_SUBSCR: {
      py::object k = pop(), o = pop();
      if (PyObject_DelItem(o.ptr(), k.ptr()) < 0) fail(in);
      return true;
    }
    case Op::UNARY: {
      py::object x = pop();
      const std::string n = text_of(in.obj);
      if (n == "not") {
        const int t = PyObject_IsTrue(x.ptr());
        if (t < 0) fail(in);
        push(PyBool_FromLong(!t));
      } else {
        push(n == "neg"   ? PyNumber_Negative(x.ptr())
             : n == "pos" ? PyNumber_Positive(x.ptr())
                          : PyNumber_Invert(x.ptr()));
      }
      return true;
    }
    case Op::BINARY: {
      py::object y = pop(), x = pop();
      push(binary(text_of(in.obj), in.a, x.ptr(), y.ptr()));
      return true;
    }
    case Op::COMPARE: {
      py::object y = pop(), x = pop();
      const std::string n = text_of(in.obj);
      static const char* names[] = {"lt", "le", "eq", "ne", "gt", "ge"};
      int k = 0;
      while (n != names[k]) ++k;
      push(PyObject_RichCompare(x.ptr(), y.ptr(), k));
      return true;
    }
    case Op::CONTAINS_OP: {
      py::object c = pop(), x = pop();
      const int r = PySequence_Contains(c.ptr(), x.ptr());
      if (r < 0) fail(in);
      push(PyBool_FromLong(r != in.a));
      return true;
    }
    case Op::IS_OP: {
      py::object y = pop(), x = pop();
      push(PyBool_FromLong((x.ptr() == y.ptr()) != static_cast<bool>(in.a)));
      return true;
    }
    default: return false;
  }
}

void BreakStep::fail(const Instr& in) {
  add_traceback(code_, in.line);
  throw py::error_already_set();
}

}  // namespace pijit
