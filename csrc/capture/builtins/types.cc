// Built-in classes that are called: constructors.
#include "capture/protocol/protocol.h"
#include "capture/registry.h"
#include "capture/values.h"
#include "capture/views.h"
#include "objects/ndarray.h"

namespace pijit {
namespace {

[[noreturn]] void unsupported_class(Tracer& t, const Call& c) {
  const Reason usual = Reason::kUnsupportedCall;
  t.give_up(c.args.empty() ? usual : c.args[0]->reason(usual), c.name + "()");
}

PyTypeObject* called(const Call& c) { return reinterpret_cast<PyTypeObject*>(c.callable); }

V pure_class(Tracer& t, Call& c) {
  return protocol::call_pure(t, py::reinterpret_borrow<py::object>(c.callable), c.args, c.kwargs,
                             c.name);
}

V make_str(Tracer& t, Call& c) {
  if (c.args.size() != 1 || !c.kwargs.empty() || is_input(c.args[0])) return pure_class(t, c);
  if (is_known(c.args[0]) && PyUnicode_CheckExact(c.args[0]->obj.ptr())) return c.args[0];
  if (auto s = protocol::text(t, c.args[0], "__str__")) return *s;
  unsupported_class(t, c);
}

V make_bool(Tracer& t, Call& c) {
  if (c.args.empty()) return t.constant(py::bool_(false));
  const V& x = c.args[0];
  if (auto b = protocol::truth(t, x)) return t.constant(py::bool_(*b));
  const bool number = is_computed(x) || number_of(t, x, &PyFloat_Type);
  if (number) return graph_number(t, truth_val(t, x, false), DType::Bool);
  unsupported_class(t, c);
}

V make_number(Tracer& t, Call& c) {
  if (c.args.size() == 1 && c.kwargs.empty()) {
    const V& x = c.args[0];
    const PyTypeObject* type = x->type();
    if (numpy_is_followed() && called(c) != &PyComplex_Type &&
        (type == numpy_scalar_type(DType::C64) || type == numpy_scalar_type(DType::C128)))
      t.give_up(Reason::kUnsupportedCall, c.name, Case::kNumpyNumber);  // NumPy warns
    if (varies(x) && Py_TYPE(x->obj.ptr()) == called(c)) return x;
    if (varies(x) && called(c) == &PyFloat_Type)
      if (V r = scalar_arithmetic(t, BinaryOp::kTrueDiv, x, t.constant_int(1))) return r;
    const auto* a = as<NdarrayValue>(x);
    const bool element = (as<HostArrayValue>(x) && x->node().shape().rank() == 0) ||
                         (a && a->scalar && called(c) == &PyFloat_Type);
    if (V r = number_of(t, element ? V(t.tensor(x->node())) : x, called(c))) return r;
    if (as<TensorValue>(x)) t.give_up(Reason::kTensorValue, c.name, Case::kTensorToNumber);
    if (as<ObjectValue>(x) && x->src >= 0 && is_numpy_scalar(x->obj.ptr()) &&
        called(c) == &PyFloat_Type) {
      const auto r =
          py::reinterpret_steal<py::object>(PyObject_CallOneArg(c.callable, x->obj.ptr()));
      if (!r) {
        PyErr_Clear();
        t.give_up(Reason::kRaises, c.name);
      }
      Source s{Source::kComputed, -1, 0, py::reinterpret_borrow<py::object>(c.callable)};
      s.args = {x->src};
      return input_at(t, r.ptr(), t.add_source(std::move(s)));
    }
  }
  return pure_class(t, c);
}

V make_a_set(Tracer& t, Call& c) {
  return make_set(t, called(c), c.args.empty() ? nullptr : c.args[0]);
}

std::vector<V> all_of(Tracer& t, Call& c) {
  if (c.args.empty()) return {};
  auto items = protocol::unpack(t, c.args[0]);
  if (!items) unsupported_class(t, c);
  return std::move(*items);
}

V make_list(Tracer& t, Call& c) { return t.list(all_of(t, c)); }
V make_tuple(Tracer& t, Call& c) {
  if (c.args.size() == 1 && is_known(c.args[0])) {  // a number or a text
    const auto it = py::reinterpret_steal<py::object>(PyObject_GetIter(c.args[0]->obj.ptr()));
    if (!it) t.raise(py::error_already_set());
  }
  const bool same = !c.args.empty() && c.args[0]->type() == &PyTuple_Type;
  return same ? c.args[0] : t.tuple(all_of(t, c));
}

V make_dict(Tracer& t, Call& c) {
  auto* d = t.make<DictValue>();
  if (c.args.size() == 1) d->update(t, c.args[0]);
  for (auto& [k, v] : c.kwargs) protocol::setitem(t, d, t.constant(str_of(k)), v);
  return d;
}

V make_zip(Tracer& t, Call& c) {
  std::vector<V> iters;
  for (auto& x : c.args) iters.push_back(protocol::iter(t, x));
  return t.make<ZipIterator>(iters);
}

V make_map(Tracer& t, Call& c) {
  std::vector<V> iters;
  for (size_t k = 1; k < c.args.size(); ++k) iters.push_back(protocol::iter(t, c.args[k]));
  return t.make<MapIterator>(c.args[0], iters);
}

V make_enumerate(Tracer& t, Call& c) {
  if (c.args.size() + c.kwargs.size() > 2 || (!c.kwargs.empty() && c.kwargs[0].first != "start"))
    t.give_up(Reason::kRaises, "enumerate()");
  const V inner = protocol::iter(t, c.args[0]);
  const V start = c.args.size() > 1      ? c.args[1]
                  : c.kwargs.size() == 1 ? c.kwargs[0].second
                                         : t.constant_int(0);
  const auto i = as_int(t, start);
  if (!i) t.give_up(Reason::kUnsupportedOperand, "enumerate");
  return t.make<EnumerateIterator>(inner, *i);
}

V type_of(Tracer& t, Call& c) {
  PyTypeObject* cls = c.args[0]->type();
  if (!cls) unsupported_class(t, c);
  return t.wrap_static(reinterpret_cast<PyObject*>(cls));
}

V make_reversed(Tracer& t, Call& c) {
  const V& x = c.args[0];
  x->settle(t);
  if (is_known(x) && PyRange_Check(x->obj.ptr()))
    return protocol::iter(t, t.constant(x->obj[py::slice(py::none(), py::none(), py::int_(-1))]));
  if (PyObject* f = protocol::user_method(t, x, "__reversed__"))
    return protocol::call(t, t.wrap_static(f), {x}, {});
  if (is_sequence(x)) return t.make<ReversedIterator>(as<Container>(x));
  t.give_up(Reason::kUnsupportedIterable, str_cat("reversed() of a ", x->type()->tp_name));
}

// super() or super(cls, self): attribute lookups continue behind cls.
V make_super(Tracer& t, Call& c) {
  const Frame& f = *t.frames_.back();
  V cls, self;
  if (c.args.size() == 2) {
    cls = c.args[0], self = c.args[1];
  } else if (c.args.empty()) {
    for (int s = 0; s < f.code->num_slots; ++s)
      if (f.code->slot_names[s] == "__class__" && as<CellValue>(f.slots[s]))
        cls = as<CellValue>(f.slots[s])->content;
    if (!f.slots.empty())
      self = as<CellValue>(f.slots[0]) ? as<CellValue>(f.slots[0])->content : f.slots[0];
  }
  if (!cls || !self || !as<ObjectValue>(cls) || !PyType_Check(cls->obj.ptr()) ||
      (!as<ObjectValue>(self) && !as<InstanceValue>(self) && !as<ExceptionValue>(self) &&
       !is_dict(self)))
    unsupported_class(t, c);
  if (as<ObjectValue>(self)) t.guard_type(self);
  return t.make<SuperValue>(cls, self);
}

V make_slice(Tracer& t, Call& c) {
  const V none = t.constant(py::none());
  if (c.args.size() == 1) return t.make<SliceValue>(none, c.args[0], none);
  return t.make<SliceValue>(c.args[0], c.args[1], c.args.size() > 2 ? c.args[2] : none);
}

// Tensor(x): a new object with the value of a tensor or a number.
V make_tensor(Tracer& t, Call& c) {
  V data = !c.args.empty() ? c.args[0] : nullptr;
  V dtype = c.args.size() > 1 ? c.args[1] : nullptr;
  for (auto& [k, v] : c.kwargs) {
    if (k == "dtype")
      dtype = v;
    else if (k == "input_data")
      data = v;
    else
      t.give_up(Reason::kUnsupportedCall, "Tensor()", Case::kMakesTensor);
  }
  std::optional<DType> want;
  if (dtype && !is_none(dtype)) {
    const auto d = as_constant(t, dtype);
    if (!d || !(want = dtype_of(d->ptr())))
      t.give_up(Reason::kUnsupportedCall, "Tensor()", Case::kMakesTensor);
  }
  if (data && c.args.size() <= 2 && data->is_operand()) {
    const Operand o = operand_of(t, data);
    const DType own = o.kind == Operand::kPyFloat ? DType::F32 : o.dtype();
    if (as<TensorValue>(data) && want.value_or(own) == own)
      return view_of_all(t, data, materialize(t.scope_->graph(), o, own));
    return t.tensor(materialize(t.scope_->graph(), o, want.value_or(own)));
  }
  py::list positional;
  py::dict keywords;
  bool constants = data != nullptr;
  auto known = [&](const V& v) {
    auto o = as<ArrayValue>(v) ? v->obj : as_constant(t, v);
    constants &= o.has_value();
    return o.value_or(py::none());
  };
  for (auto& a : c.args) positional.append(known(a));
  for (auto& [k, v] : c.kwargs) keywords[str_of(k)] = known(v);
  if (!constants) t.give_up(Reason::kUnsupportedCall, "Tensor()", Case::kMakesTensor);
  // the tensor is made here, and each run gives a new one of its value
  const py::object made =
      py::reinterpret_borrow<py::object>(c.callable)(*py::tuple(positional), **keywords);
  return t.tapes.aliased(t.wrap(made.ptr(), t.add_source({Source::kConst, -1, 0, made})));
}

}  // namespace

void add_types(Registry& r) {
  auto add = [&](PyTypeObject* type, Arity arity, Known handler) {
    r.add(reinterpret_cast<PyObject*>(type), arity, handler);
  };
  add(&PyUnicode_Type, {0, 3, true}, make_str);
  add(&PyBool_Type, {0, 1}, make_bool);
  add(&PyLong_Type, {0, 2, true}, make_number);
  add(&PyFloat_Type, {0, 1}, make_number);
  add(&PyComplex_Type, {0, 2, true}, pure_class);
  add(&PyRange_Type, {1, 3}, pure_class);
  add(&PySet_Type, {0, 1}, make_a_set);
  add(&PyFrozenSet_Type, {0, 1}, make_a_set);
  add(&PyTuple_Type, {0, 1}, make_tuple);
  add(&PyList_Type, {0, 1}, make_list);
  add(&PyDict_Type, {0, 1, true}, make_dict);
  add(&PyZip_Type, {0, kAny}, make_zip);
  add(&PyMap_Type, {2, kAny}, make_map);
  add(&PyEnum_Type, {1, 2, true}, make_enumerate);
  add(&PyReversed_Type, {1, 1}, make_reversed);
  add(&PyType_Type, {1, 1}, type_of);
  add(&PySuper_Type, {0, 2}, make_super);
  add(&PySlice_Type, {1, 3}, make_slice);
  add(tensor_type, {0, kAny, true}, make_tensor);
}

}  // namespace pijit
