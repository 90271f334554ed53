#include "capture/break_at.h"

namespace pijit {
namespace {

// The module of a class, by what CPython's own reading of __module__ finds.
std::string module_of(PyTypeObject* t) {
  if (t->tp_flags & Py_TPFLAGS_HEAPTYPE) {
    PyObject* m = t->tp_dict ? PyDict_GetItemString(t->tp_dict, "__module__") : nullptr;
    return m && PyUnicode_CheckExact(m) ? text_of(m) : "";
  }
  const std::string name = t->tp_name;
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? "builtins" : name.substr(0, dot);
}

std::string name_in_module(PyTypeObject* t) {
  const std::string name = t->tp_name;
  return name.substr(name.rfind('.') + 1);
}

Case case_at(PyTypeObject* t) {
  if (PyObject* mro = t->tp_mro)
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(mro); ++k) {
      auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(mro, k));
      const std::string module = module_of(base);
      // NumPy's classes are those of its package, wherever they are made
      const std::string whole = module.substr(0, module.find('.'));
      if (const Case c = case_of(whole, name_in_module(base));
          c != Case::kNone && c != case_of(whole, ""))
        return c;
    }
  return case_of(module_of(t), "");
}

// Of a class, a function of C's, a descriptor or another callable; none of them is asked anything.
Case case_at(PyObject* about) {
  if (PyType_Check(about)) return case_at(reinterpret_cast<PyTypeObject*>(about));
  PyTypeObject* t = Py_TYPE(about);
  if (PyCFunction_Check(about)) {
    auto* f = reinterpret_cast<PyCFunctionObject*>(about);
    if (f->m_self && !PyModule_Check(f->m_self)) {
      PyObject* self = f->m_self;
      return case_at(PyType_Check(self) ? reinterpret_cast<PyTypeObject*>(self) : Py_TYPE(self));
    }
    const bool named = f->m_module && PyUnicode_CheckExact(f->m_module);
    return case_of(named ? text_of(f->m_module) : "", f->m_ml->ml_name);
  }
  if (t == &PyMethodDescr_Type || t == &PyWrapperDescr_Type || t == &PyGetSetDescr_Type ||
      t == &PyMemberDescr_Type || t == &PyClassMethodDescr_Type)
    return case_at(reinterpret_cast<PyDescrObject*>(about)->d_type);
  if (PyFunction_Check(about)) {
    PyObject* m = reinterpret_cast<PyFunctionObject*>(about)->func_module;
    return case_of(m && PyUnicode_CheckExact(m) ? text_of(m) : "", "");
  }
  return case_at(t);
}

}  // namespace

Case BreakAt::of(Reason r, const std::string& module) const {
  if (of_ != Case::kNone) return of_;
  switch (r) {
    case Reason::kUnsupportedOpcode:
    case Reason::kUnsupportedCall:
    case Reason::kUnsupportedAttribute:
    case Reason::kUnsupportedOperand:
    case Reason::kUnsupportedIterable:
    case Reason::kContextManager: break;
    default: return Case::kNone;  // its own hint says more
  }
  // logging.info(…) is logging, whatever breaks there
  if (const Case c = case_of(module, ""); c != Case::kNone) return c;
  return about_ ? case_at(about_) : Case::kNone;
}

}  // namespace pijit
