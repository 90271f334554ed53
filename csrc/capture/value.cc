// What a kind of value does that says nothing of its own: the method that its class has in Python.
#include "capture/value.h"

#include <algorithm>
#include <utility>

#include "capture/context.h"
#include "capture/control_flow/merge.h"
#include "capture/protocol/protocol.h"
#include "capture/values/scalar.h"

namespace pijit {

void* Arena::room(size_t bytes) {
  constexpr size_t kBlock = 16384, kAlign = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
  bytes = (bytes + kAlign - 1) / kAlign * kAlign;
  if (bytes > static_cast<size_t>(end_ - next_)) {
    const size_t size = std::max(kBlock, bytes);
    next_ = blocks_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(size)).get();
    end_ = next_ + size;
  }
  return std::exchange(next_, next_ + bytes);
}

void check_arity(Context& c, const std::string& name, size_t least, size_t most, size_t given) {
  if (given < least || given > most) c.give_up(Reason::kUnsupportedCall, name);
}

std::optional<bool> Value::truth(Context& c) { return protocol::slot_truth(c, this); }

V Value::length(Context& c) {
  PyObject* f = protocol::user_method(c, this, "__len__");
  if (!f) c.give_up(Reason::kUnsupportedCall, "len()");
  const V r = protocol::call(c, c.wrap_static(f), {this}, {});
  if (varies(r) && PyLong_Check(r->obj.ptr())) return r;
  if (!is_known(r) || !PyLong_Check(r->obj.ptr()))
    c.give_up(Reason::kRaises, "__len__ gives no int");
  const Py_ssize_t n = PyLong_AsSsize_t(r->obj.ptr());
  if (n == -1 && PyErr_Occurred()) c.raise(py::error_already_set());
  if (n < 0) c.raise(PyExc_ValueError, {c.constant(py::str("__len__() should return >= 0"))});
  return c.constant_int(n);
}

V Value::getitem(Context& c, const V& index) {
  if (PyObject* f = protocol::user_method(c, this, "__getitem__"))
    return protocol::call(c, c.wrap_static(f), {this, index}, {});
  c.give_up(Reason::kUnsupportedOperand, str_cat("subscript of ", type()->tp_name), type());
}

void Value::setitem(Context& c, const V& index, const V& value) {
  PyObject* f = protocol::user_method(c, this, "__setitem__");
  if (!f)
    c.give_up(Reason::kUnsupportedOperand, str_cat("item assignment on ", type()->tp_name), type());
  protocol::call(c, c.wrap_static(f), {this, index, value}, {});
}

void Value::delitem(Context& c, const V& index) {
  PyObject* f = protocol::user_method(c, this, "__delitem__");
  if (!f)
    c.give_up(Reason::kUnsupportedOperand, str_cat("del of an item of ", type()->tp_name), type());
  protocol::call(c, c.wrap_static(f), {this, index}, {});
}

std::optional<bool> Value::contains(Context& c, const V& x) {
  const auto o = as_constant(c, x);
  if (!o || holds_nan(o->ptr())) return std::nullopt;  // NaN is in a container by its identity
  const auto box = as_constant(c, this);
  if (!box) return std::nullopt;
  const int r = PySequence_Contains(box->ptr(), o->ptr());
  if (r < 0) c.raise(py::error_already_set());
  return r == 1;
}

Operand Value::operand(Context& c, Scope&) {
  c.give_up(Reason::kUnsupportedOperand, str_cat(type()->tp_name, " as an operand of an op"),
            type());
}

V CaptureSlots::merge(Merge& m, const V&) { return m.differ(); }

V Value::iter(Context& c) { c.give_up(Reason::kUnsupportedIterable, type()->tp_name, type()); }

std::optional<V> Value::getattr(Context& c, PyObject* name) {
  c.give_up(Reason::kUnsupportedAttribute, text_of(name), type());
}

V Value::call(Context& c, std::vector<V> args, Kwargs kwargs) {
  return protocol::slot_call(c, this, std::move(args), std::move(kwargs));
}

V Value::call_descriptor(Context& c, PyObject* d, std::vector<V>& args, Kwargs& kwargs) {
  const std::string name = text_of(py::object(py::handle(d).attr("__name__")));
  PyTypeObject* const owner = reinterpret_cast<PyDescrObject*>(d)->d_type;
  // object.__eq__(1, 2), int.__repr__(True): not the method that the class has under this name
  if (type_lookup(type(), str_of(name).ptr()) != d) {
    if (!PyType_IsSubtype(type(), owner))
      c.give_up(Reason::kRaises, str_cat(name, " of a ", type()->tp_name));
    std::vector<V> all{this};
    all.insert(all.end(), args.begin(), args.end());
    return protocol::call_pure(c, share(d), all, kwargs, name);
  }
  if (auto r = method(c, name, args, kwargs)) return *r;
  c.give_up(Reason::kUnsupportedCall, str_cat(type()->tp_name, ".", name), type());
}

bool Value::next(Context& c, V* value) {
  c.give_up(Reason::kUnsupportedIterable, type()->tp_name, type());
}

void Value::setattr(Context& c, PyObject* name, const V& value) {
  c.give_up(Reason::kUnsupportedAttribute,
            str_cat("assignment to an attribute of ", type()->tp_name), type());
}

void Value::delattr(Context& c, PyObject*) {
  c.give_up(Reason::kUnsupportedAttribute,
            str_cat("deletion of an attribute of ", type()->tp_name));
}

void Value::store_attribute(Context& c, PyObject* name, const V& value) { setattr(c, name, value); }
void Value::drop_attribute(Context& c, PyObject* name) { delattr(c, name); }

std::optional<V> Value::text(Context& c, const char* name) {
  return protocol::slot_text(c, this, name);
}

}  // namespace pijit
