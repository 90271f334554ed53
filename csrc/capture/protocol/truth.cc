// Truth, as PyObject_IsTrue has it.
#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "capture/values.h"

namespace pijit::protocol {

std::optional<bool> truth(Context& c, const V& v) { return v->truth(c); }

// As PyObject_IsTrue goes: nb_bool of the type (of a class, its metaclass), then a length, then
// True.
std::optional<bool> slot_truth(Context& c, const V& v) {
  PyTypeObject* t = v->type();
  if (as<ObjectValue>(v) && static_object(v->obj.ptr()) &&
      PyType_HasFeature(t, Py_TPFLAGS_HEAPTYPE))
    c.guard_class(t);
  const auto nb_bool = t->tp_as_number ? t->tp_as_number->nb_bool : nullptr;
  const auto mp_length = t->tp_as_mapping ? t->tp_as_mapping->mp_length : nullptr;
  const auto sq_length = t->tp_as_sequence ? t->tp_as_sequence->sq_length : nullptr;
  if (!nb_bool && !mp_length && !sq_length) return true;
  if (PyObject* f = nb_bool ? user_method(c, v, "__bool__") : nullptr) {
    const V r = call(c, c.wrap_static(f), {v}, {});
    if (is_known(r) && PyBool_Check(r->obj.ptr())) return r->obj.ptr() == Py_True;
    if (as<TensorValue>(r)) c.give_up(Reason::kTensorValue, "__bool__");
    c.raise(PyExc_TypeError, "__bool__ should return bool");
  }
  if (!nb_bool && user_method(c, v, "__len__")) return truth(c, length(c, v));
  // numbers and text in the guise of an enum: the object never changes
  auto of = [&](PyTypeObject* base) {
    return PyType_IsSubtype(t, base) &&
           nb_bool == (base->tp_as_number ? base->tp_as_number->nb_bool : nullptr) &&
           mp_length == (base->tp_as_mapping ? base->tp_as_mapping->mp_length : nullptr) &&
           sq_length == (base->tp_as_sequence ? base->tp_as_sequence->sq_length : nullptr);
  };
  if (as<ObjectValue>(v) && static_object(v->obj.ptr()) &&
      (of(&PyLong_Type) || of(&PyFloat_Type) || of(&PyUnicode_Type) || of(&PyBytes_Type) ||
       of(&PyTuple_Type) || of(&PyFrozenSet_Type) || of(&PyComplex_Type)))
    return PyObject_IsTrue(v->obj.ptr()) == 1;
  return std::nullopt;
}

}  // namespace pijit::protocol
