#include "capture/values/constant.h"

#include "capture/context.h"
#include "capture/graph_numbers.h"
#include "capture/rebuilder.h"
#include "capture/values/iterator.h"
#include "capture/values/sequence.h"

namespace pijit {
namespace {

struct NumberRecipe final : Recipe {
  explicit NumberRecipe(int output) : output(output) {}
  py::object make(Runner& r) const override {
    const ArrayRef here = array_on(r.output(output), {});
    const Array& a = *here;
    if (a.type.dtype == DType::F64) return py::float_(*static_cast<const double*>(a.data));
    if (a.type.dtype == DType::Bool) return py::bool_(*static_cast<const bool*>(a.data));
    return py::int_(*static_cast<const int64_t*>(a.data));
  }
  std::string describe() const override { return str_cat("number ", output); }

  int output;
};

struct SizeRecipe final : Recipe {
  explicit SizeRecipe(int size) : size(size) {}
  py::object make(Runner& r) const override {
    const Number& x = r.size(size);
    if (x.index()) return py::float_(std::get<double>(x));
    return py::int_(std::get<int64_t>(x));
  }
  std::string describe() const override { return str_cat("size ", size); }

  int size;
};

}  // namespace

PyTypeObject* ConstantValue::type() const { return Py_TYPE(obj.ptr()); }

std::optional<py::object> ConstantValue::object(Context& c, Ask) {
  c.fix(this);
  return obj;
}

std::optional<bool> ConstantValue::truth(Context& c) {
  if (from_graph(this)) return std::nullopt;
  if (Context::unfixed(this)) {
    if (c.is_number(this)) {
      if (auto r = c.unfixed_relation(CompareOp::kNe, this, c.constant_int(0))) return r;
    } else if (V r = c.computed(original("truth"), {this})) {
      return c.truth(r);
    }
    c.fix(this);
  }
  if (obj.ptr() == Py_NotImplemented)  // which warns each time
    c.give_up(Reason::kUnsupportedOperand, "truth value of NotImplemented");
  return PyObject_IsTrue(obj.ptr()) == 1;
}

V ConstantValue::length(Context& c) {
  if (Context::sourced(this))
    if (V r = c.computed(original("len"), {this})) return r;
  if (kind != kConst) return Value::length(c);
  const Py_ssize_t n = PyObject_Size(obj.ptr());
  if (n < 0) c.raise(py::error_already_set());
  return c.constant_int(n);
}

V ConstantValue::getitem(Context& c, const V& index) {
  if (kind == kSize) return Value::getitem(c, index);
  if (Context::sourced(this) || Context::sourced(index))
    if (V r = c.computed(original("getitem"), {this, index})) return r;
  return c.python_operation("getitem", {this, index});
}

std::optional<bool> ConstantValue::contains(Context& c, const V& x) {
  if (Context::sourced(this) || (Context::sourced(x) && kind == kConst))
    if (const V r = c.computed(original("contains"), {this, x})) return c.truth(r);
  return Value::contains(c, x);
}

bool ConstantValue::iterable() const {
  return kind == kConst && (PyRange_Check(obj.ptr()) || PyUnicode_Check(obj.ptr()));
}

V ConstantValue::iter(Context& c) {
  if (kind == kConst && PyRange_Check(obj.ptr())) return c.make<RangeIterator>(obj);
  if (kind != kConst || !PyUnicode_Check(obj.ptr())) return Value::iter(c);
  std::vector<V> chars;
  for (auto x : py::cast<py::list>(py::list(obj)))
    chars.push_back(c.constant(py::reinterpret_borrow<py::object>(x)));
  return c.make<SequenceIterator>(c.tuple(chars), this);
}

std::optional<V> ConstantValue::getattr(Context& c, PyObject* name) {
  PyObject* found = type_lookup(type(), name);
  if (Context::sourced(this) && found && Py_TYPE(found) == &PyMethodDescr_Type)
    return c.bind(c.wrap_static(found), this, type());
  c.fix(this);
  if (!found) return std::nullopt;
  if (Py_TYPE(found) == &PyMethodDescr_Type || PyFunction_Check(found))
    return c.bind(c.wrap_static(found), this, type());
  PyObject* r = PyObject_GetAttr(obj.ptr(), name);
  if (!r) throw py::error_already_set();
  return c.wrap_static(py::reinterpret_steal<py::object>(r).ptr());
}

int ConstantValue::rebuild(Rebuilder& r) {
  if (kind == kConst) return r.make<ConstantRecipe>(this, obj);
  if (kind == kSize) return r.make<SizeRecipe>(this, r.size(expr));
  return r.make<NumberRecipe>(this, r.output(node));
}

}  // namespace pijit
