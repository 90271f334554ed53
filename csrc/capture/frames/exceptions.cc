// Exceptions that the captured code raises and handles itself. One that nobody handles is left to
// CPython: the graph ends before the instruction that raises it, which then runs with its own
// traceback.
#include <algorithm>

#include "capture/protocol/protocol.h"
#include "capture/tracer.h"
#include "capture/values.h"
#include "objects/caller.h"

namespace pijit {
PyObject* python_method(PyTypeObject* t, const char* name) {
  PyObject* f = type_lookup(t, interned(name));
  return f && (PyFunction_Check(f) || Py_TYPE(f) == jit_function_type) ? f : nullptr;
}

namespace {
bool is_exception_class(PyObject* o) { return PyExceptionClass_Check(o); }

}  // namespace

void Context::raise(const V& exception, const std::string& detail) {
  auto* e = as<ExceptionValue>(exception);
  if (!e->raised) {
    e->raised = true;
    undoable([e] { e->raised = false; });
  }
  throw Raised{exception, location(), detail};
}

void Context::raise(PyObject* cls, std::vector<V> args, const std::string& detail) {
  auto* v = make<ExceptionValue>();
  v->obj = share(cls);
  v->items = std::move(args);
  raise(v, detail);
}

void Context::raise(PyObject* cls, const std::string& detail) { raise(cls, {null()}, detail); }

void Context::raise(const py::error_already_set& e) {
  std::vector<V> args;
  for (auto x : py::cast<py::tuple>(e.value().attr("args"))) {
    const V v = wrap_static(x.ptr());
    if (!as_constant(*this, v)) give_up(Reason::kRaises, e.what());
    args.push_back(v);
  }
  raise(e.type().ptr(), args);
}

V Tracer::exception_from(const V& x) {
  if (as<ExceptionValue>(x)) return x;
  if (as<ObjectValue>(x) && is_exception_class(x->obj.ptr()))
    if (auto v = make_exception(*this, reinterpret_cast<PyTypeObject*>(x->obj.ptr()), {}))
      return *v;
  give_up(Reason::kRaises, x->type()->tp_name);
}

std::string Tracer::describe(const Raised& r) const {
  const PyTypeObject* t = reinterpret_cast<PyTypeObject*>(r.exception->obj.ptr());
  std::string text = t->tp_name;
  if (!r.detail.empty()) return text + ": " + r.detail;
  const auto& args = items_in(r.exception);
  if (args.size() == 1 && is_known(args[0])) text += ": " + shown(args[0]->obj, false);
  return text;
}

bool Tracer::advance(Frame& f) {
  try {
    try {
      step(f);
    } catch (const OpError& e) {
      if (e.kind == OpError::kRuntime) throw;  // perhaps of capture alone
      const auto varies = [&](uint32_t input) {
        const Shape& s = graph_->node(input).type.shape;
        return std::any_of(s.begin(), s.end(), [](const Dim& d) { return d.symbolic(); });
      };
      // its text may name sizes by their symbols: the interpreter raises it
      if (std::any_of(graph_->inputs().begin(), graph_->inputs().end(), varies)) throw;
      CalledName name;
      for (auto it = frames_.rbegin(); it != frames_.rend() && named_as_library((*it)->globals);
           ++it)
        name.add(text_of(qualname_of((*it)->code->code, (*it)->globals)));
      raise(python_exception_of(e), {constant(str_of(name.put_into(e.what())))});
    }
  } catch (const Raised& r) {
    if (!enter_handler(f, r.exception)) throw;
    return true;
  }
  return false;
}

bool Tracer::enter_handler(Frame& f, const V& exception) {
  const auto* h = f.code->handler_of(f.pc);
  if (!h || f.stack.size() < static_cast<size_t>(h->depth)) return false;
  f.stack.resize(static_cast<size_t>(h->depth));
  if (h->lasti) f.stack.push_back(constant(place_in_code(f.code->instrs[f.pc].at)));
  f.stack.push_back(exception);
  f.pc = h->target;
  return true;
}

bool Tracer::handles_exception(const Frame& f) const {
  auto raised = [](const V& v) {
    const auto* e = as<ExceptionValue>(v);
    return e && e->raised;
  };
  return raised(f.handled) || std::any_of(f.stack.begin(), f.stack.end(), raised) ||
         std::any_of(f.slots.begin(), f.slots.end(), raised);
}

// Whether a handler around the current instruction would see what print() may raise: an error of
// the system or of the value. It is raised when effects are applied, behind all handlers.
bool Tracer::handles_stream_errors(const Frame& f) const {
  const auto& code = f.code->instrs;
  auto may_match = [&](const Instr& in) {
    PyObject* c = in.op == Op::LOAD_GLOBAL ? found_in(f.globals, in.obj) : nullptr;
    if (!c && in.op == Op::LOAD_GLOBAL) c = found_in(builtins_of(f.globals), in.obj);
    if (!c || !is_exception_class(c)) return true;
    for (PyObject* error : {PyExc_OSError, PyExc_ValueError}) {
      auto *a = reinterpret_cast<PyTypeObject*>(c), *b = reinterpret_cast<PyTypeObject*>(error);
      const bool own_kind = PyType_IsSubtype(a, b) && !PyType_HasFeature(a, Py_TPFLAGS_HEAPTYPE);
      if (own_kind || PyType_IsSubtype(b, a)) return true;
    }
    return false;
  };
  for (auto* h = f.code->handler_of(f.pc); h;) {
    size_t at = static_cast<size_t>(h->target);
    if (!h->lasti) {  // else it only tidies up and raises again, or is that of `with`
      ++at;           // PUSH_EXC_INFO
      while (at + 2 < code.size() && code[at + 1].op == Op::CHECK_EXC_MATCH) {
        if (may_match(code[at]) || code[at + 2].op != Op::POP_JUMP) return true;
        at = static_cast<size_t>(code[at + 2].target);
      }
      if (code[at].op != Op::RERAISE) return true;
    } else if (at + 1 < code.size() && code[at + 1].op == Op::WITH_EXCEPT_START) {
      return true;
    }
    h = f.code->handler_of(static_cast<int>(at));
  }
  return false;
}

bool Tracer::exception_matches(const V& exception, const V& match) {
  if (as<TupleValue>(match)) {
    const std::vector<V> all = protocol::items_of(*this, match);
    for (auto& m : all)  // of all, before any
      if (!as<ObjectValue>(m) || !is_exception_class(m->obj.ptr()))
        give_up(Reason::kRaises, "catching what is no exception class");
    return std::any_of(all.begin(), all.end(),
                       [&](auto& m) { return exception_matches(exception, m); });
  }
  if (!as<ObjectValue>(match) || !is_exception_class(match->obj.ptr()))
    give_up(Reason::kRaises, "catching what is no exception class");
  return PyType_IsSubtype(exception->type(), reinterpret_cast<PyTypeObject*>(match->obj.ptr()));
}

int Tracer::step_exceptions(Frame& f, const Instr& in) {
  auto& st = f.stack;
  switch (in.op) {
    case Op::RAISE:
      if (in.a == 0) {
        if (as<ExceptionValue>(f.handled)) raise(f.handled);
        give_up(Reason::kRaises, "no exception to raise again");
      }
      if (in.a == 2) {  // the cause: seen by no handler
        const V cause = f.pop();
        const bool none = is_none(cause);
        if (!none && !as<ExceptionValue>(cause) &&
            !(as<ObjectValue>(cause) && (PyExceptionClass_Check(cause->obj.ptr()) ||
                                         PyExceptionInstance_Check(cause->obj.ptr()))))
          raise(PyExc_TypeError,
                {constant(py::str("exception causes must derive from BaseException"))});
      }
      raise(exception_from(f.pop()));
    case Op::PUSH_EXC_INFO: {
      const V e = f.pop();
      st.push_back(f.handled);
      st.push_back(e);
      f.handled = e;
      break;
    }
    case Op::CHECK_EXC_MATCH: {
      const V match = f.pop();
      st.push_back(constant(py::bool_(exception_matches(st.back(), match))));
      break;
    }
    case Op::POP_EXCEPT: f.handled = f.pop(); break;
    case Op::RERAISE: raise(exception_from(f.pop()));
    case Op::WITH_EXCEPT_START: {
      const V exit = st.at(st.size() - 4 - in.a), e = st.back();
      if (!as<ExceptionValue>(e)) give_up(Reason::kRaises, e->type()->tp_name);
      std::vector<V> args{wrap_static(e->obj.ptr()), e, null()};
      if (in.a > 0 && !as<NullValue>(st.at(st.size() - 4)))
        args.insert(args.begin(), st.at(st.size() - 4));
      st.push_back(protocol::call(*this, exit, args, {}));
      break;
    }
    default: PIJIT_CHECK(false, "an instruction of another family");
  }
  return f.pc + 1;
}

}  // namespace pijit
