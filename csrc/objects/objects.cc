// The module's classes, its dtypes and ops.
#include "objects/objects.h"

#include "python/define.h"

namespace pijit {

void init_objects(py::module_& m) {
  auto enter = [&](const char* name, PyTypeObject* t) {
    m.attr(name) = py::handle(reinterpret_cast<PyObject*>(t));
  };
  enter("DType", make_dtype_type());
  enter("Tensor", make_tensor_type());
  enter("OpFunction", make_op_function_type());
  using Args = std::vector<py::object>;
  define(m, "dtype", {{"o"}}, [](const Args& a) {
    auto t = dtype_of(a[0].ptr());
    OP_CHECK(t, kType, "not a dtype: ", shown(a[0]));
    return py::reinterpret_borrow<py::object>(dtype_object(*t));
  });
  define(
      m, "compute_dtype", {}, [](const Args&) { return compute_dtype_object(); },
      "The dtype in which this thread's ops compute, or None: in their operands'.");
  define(
      m, "compute_in", {{"dtype"}},
      [](const Args& a) {
        compute_dtype = compute_dtype_of(a[0].ptr());
        return py::none();
      },
      "Makes this thread's ops compute in a floating dtype; None: in their operands'.");
  py::dict ops, others;
  for (auto& op : OpTable::get().all())
    if (!op->has(kRegion) && !op->has(kPhysical))
      ops[py::str(op->name)] = op_function(op.get(), op->name);
  m.attr("ops") = ops;
  py::dict views;  // the same ops, whose results are views of their operands
  for (auto n : {"reshape", "transpose", "slice", "diagonal", "broadcast_to", "stop_gradient"})
    views[n] = op_function(&OpTable::get().at(n), n, true);
  m.attr("views") = views;
  define(m, "op", {{"name"}}, [ops, others](const Args& a) {
    const std::string name = argument<std::string>("op", "name", a[0]);
    const py::dict& has = ops.contains(a[0]) ? ops : others;
    OP_CHECK(has.contains(a[0]), kValue, "[op] there is no op '", name, "'");
    return py::object(has[a[0]]);
  });
  define(
      m, "another_op", {{"name"}, {"op"}},
      [ops, others](const Args& a) {
        const std::string name = argument<std::string>("another_op", "name", a[0]);
        OP_CHECK(ops.contains(a[1]) && !ops.contains(a[0]), kValue, "[another_op] '", name,
                 "' is no other name of an op");
        if (!others.contains(a[0]))
          others[a[0]] =
              op_function(reinterpret_cast<OpFunctionObject*>(ops[a[1]].ptr())->op, name);
        return py::object(others[a[0]]);
      },
      "The function of an op under another name, by which its errors call it.");
}

}  // namespace pijit
