#include "capture/values/bytearray.h"

#include "capture/context.h"
#include "capture/kinds.h"
#include "capture/rebuilder.h"
#include "capture/values/scalar.h"
#include "capture/protocol/protocol.h"

namespace pijit {
namespace {

const RegisteredKind kKindOfBytearray({[](PyTypeObject* t) { return t == &PyByteArray_Type; },
                                       empty_value<BytearrayValue>});
const RegisteredKind kKindOfArrayModule({[](PyTypeObject* t) { return t == array_type(); },
                                         empty_value<ArrayModuleValue>});

}  // namespace

std::optional<py::object> NumberArrayValue::object(Context& c, Ask what) {
  py::list l;
  for (auto& x : parts(c)) l.append(*as_constant(c, x, what));
  return made_of(l);
}

V NumberArrayValue::getitem(Context& c, const V& index) {
  if (V v = computed_item(c, index)) return v;
  const auto i = as_int(c, index);
  if (!i) c.give_up(Reason::kUnsupportedOperand, str_cat("subscript of ", type()->tp_name));
  const V v = at(c, *i);
  if (!v) c.raise(PyExc_IndexError, str_cat(type()->tp_name, " index out of range"));
  return v;
}

V NumberArrayValue::with_parts(Context& c, std::vector<V>) {
  c.give_up(Reason::kUnsupportedCall, str_cat("a copy of a ", type()->tp_name));
}

int NumberArrayValue::rebuild(Rebuilder& r) {
  r.context().give_up(Reason::kRebuild, type()->tp_name);
}

// As the array gives it back: its own rounding, its own errors.
V NumberArrayValue::coerced(Context& c, const V& x) {
  const auto o = as_constant(c, x);
  if (!o)
    c.give_up(x->reason(Reason::kUnsupportedOperand), str_cat("an item of a ", type()->tp_name));
  try {
    py::list one;
    one.append(*o);
    return c.constant(made_of(one)[py::int_(0)]);
  } catch (const py::error_already_set& e) {
    c.raise(e);
  }
}

// One array that takes another takes bytes, or asks what they are.
std::optional<V> NumberArrayValue::method(Context& c, const std::string& name, std::vector<V>& args,
                                          Kwargs& kwargs) {
  if (name == "__iadd__" || (name == "extend" && !args.empty() && as<NumberArrayValue>(args[0])))
    return std::nullopt;
  return GrowingSequence::method(c, name, args, kwargs);
}

void NumberArrayValue::log_extend(Context& c, const std::vector<V>& values) {
  if (values.size() == 1)
    log_call(c, "append", {values[0]});
  else
    log_call(c, "extend", {c.tuple(values)});
}

PyTypeObject* BytearrayValue::type() const { return &PyByteArray_Type; }

py::object BytearrayValue::made_of(const py::list& numbers) const {
  const auto cls =
      py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(&PyByteArray_Type));
  return cls(numbers);
}

PyTypeObject* array_type() { return library.array.type(); }

PyTypeObject* ArrayModuleValue::type() const { return array_type(); }

void ArrayModuleValue::from_outside(Context& c) {
  set_open(true);
  const V code = protocol::c_attribute(c, this, "typecode");
  fix(c, code);
  typecode = text_of(code->obj);
}

py::object ArrayModuleValue::made_of(const py::list& numbers) const {
  const auto cls = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(array_type()));
  return cls(typecode, numbers);
}

V ArrayModuleValue::coerced(Context& c, const V& x) {
  // doubles are kept as they are, also those that vary
  if (typecode == "d" && x->obj && PyFloat_CheckExact(x->obj.ptr()) && is_input(x)) return x;
  return NumberArrayValue::coerced(c, x);
}

}  // namespace pijit
