#include "objects/index.h"

#include "objects/data.h"
#include "python/convert.h"

namespace pijit {

bool parse_index(PyObject* index, std::vector<IndexItem>* items,
                 const std::function<Val(PyObject*)>& tensor_val) {
  auto one = [&](PyObject* o) {
    IndexItem it{IndexItem::kInt};
    if (o == Py_None)
      it.kind = IndexItem::kNewAxis;
    else if (o == Py_Ellipsis)
      it.kind = IndexItem::kEllipsis;
    else if (PySlice_Check(o)) {
      it.kind = IndexItem::kSlice;
      auto* s = reinterpret_cast<PySliceObject*>(o);
      auto part = [&](PyObject* p) -> std::optional<Dim> {
        if (p == Py_None) return std::nullopt;
        if (auto d = symbolic_dim(p)) return d;
        PyObject* i = PyNumber_Index(p);
        if (!i) throw py::error_already_set();
        int overflow = 0;
        long long v = PyLong_AsLongLongAndOverflow(i, &overflow);
        Py_DECREF(i);
        if (overflow) v = overflow > 0 ? INT64_MAX / 2 : INT64_MIN / 2;
        return v;
      };
      it.start = part(s->start);
      it.stop = part(s->stop);
      it.step = part(s->step);
    } else if (PyBool_Check(o)) {
      OP_CHECK(
          o == Py_True, kIndex,
          "[getitem] of the bools only True is an index: it adds a dimension of 1, as None does");
      it.kind = IndexItem::kNewAxis;
    } else if (is_tensor(o) || PyList_Check(o) || PyTuple_Check(o) || is_ndarray(o)) {
      it.kind = IndexItem::kTensor;
      it.tensor = tensor_val(o);
      if (is_bool(it.tensor.dtype())) return false;
      OP_CHECK(is_int(it.tensor.dtype()), kIndex,
               "[getitem] index tensors must be integers or bool, got ", it.tensor.type().str());
    } else if (auto d = symbolic_dim(o)) {
      it.i = *d;
    } else if (PyIndex_Check(o)) {
      PyObject* i = PyNumber_Index(o);
      if (!i) throw py::error_already_set();
      const long long v = PyLong_AsLongLong(i);
      Py_DECREF(i);
      if (v == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        throw OpError(OpError::kIndex, "[getitem] index out of range");
      }
      it.i = v;
    } else {
      throw OpError(OpError::kIndex,
                    str_cat("[getitem] unsupported index of type ", Py_TYPE(o)->tp_name));
    }
    items->push_back(it);
    return true;
  };
  if (!PyTuple_Check(index)) return one(index);
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(index); ++k)
    if (!one(PyTuple_GET_ITEM(index, k))) return false;
  return true;
}

namespace {
// Boolean masks become index tensors of their true places.
py::tuple without_masks(py::handle index) {
  py::list out;
  auto expand = [&](py::handle h) {
    const auto places = true_places(h.ptr());
    if (!places) return out.append(h);
    for (auto x : *places) out.append(x);
  };
  if (PyTuple_Check(index.ptr()))
    for (auto h : index) expand(h);
  else
    expand(index);
  return py::tuple(out);
}
}  // namespace

void parse_eager_index(EagerBuilder& b, PyObject* index, DeviceId home,
                       std::vector<IndexItem>* items) {
  auto tensor_val = [&](PyObject* o) {
    const ArrayRef a = array_from(o, std::nullopt);
    return b.wrap(is_tensor(o) ? a : array_on(a, home));
  };
  if (parse_index(index, items, tensor_val)) return;
  items->clear();
  const py::tuple replaced = without_masks(index);
  parse_index(replaced.ptr(), items, tensor_val);
}

}  // namespace pijit
