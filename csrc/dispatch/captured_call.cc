#include "dispatch/captured_call.h"

#include "entry/instance.h"
#include "entry/runner.h"
#include "objects/tensor.h"

namespace pijit {
namespace {

// Tensors in a result, in tuples, lists and dicts too, each with the output of the graph that it
// is.
void note_outputs(PyObject* o, const std::vector<ArrayRef>& outputs, py::list* places) {
  if (PyTuple_Check(o) || PyList_Check(o)) {
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(o); ++k)
      note_outputs(PySequence_Fast_GET_ITEM(o, k), outputs, places);
  } else if (PyDict_Check(o)) {
    Py_ssize_t at = 0;
    for (PyObject* value; PyDict_Next(o, &at, nullptr, &value);)
      note_outputs(value, outputs, places);
  } else if (is_tensor(o)) {
    for (size_t k = 0; k < outputs.size(); ++k)
      if (array_of(o).get() == outputs[k].get())
        return places->append(
            py::make_tuple(py::reinterpret_borrow<py::object>(o), static_cast<int>(k)));
  }
}

py::object described_run(Entry& e, const Instance& instance, const Values& values,
                         const CodeInfo& code) {
  py::dict d;
  py::list inputs, effects;
  for (int s : e.inputs) inputs.append(py::reinterpret_borrow<py::object>(values[s]));
  for (auto& x : e.effects)
    if (!x->of_views()) effects.append(str_of(x->describe()));
  py::list constraints;
  for (auto& c : describe_constraints(e, code)) constraints.append(str_of(c));
  d["constraints"] = constraints;
  d["graph"] = str_of(graph_text(e, code));
  d["inputs"] = inputs;
  d["effects"] = effects;
  if (!effects.empty()) return d;  // nothing runs that would change something
  Runner r(e, instance, values);
  r.compute(nullptr);
  std::vector<ArrayRef> outputs;  // before the result takes them
  if (instance.program)
    for (size_t k = 0; k < instance.program->outputs.size(); ++k)
      outputs.push_back(r.output(static_cast<int>(k)));
  const py::object& result = r.make(e.result);
  py::list places;
  note_outputs(result.ptr(), outputs, &places);
  d["result"] = result;
  d["places"] = places;
  return d;
}

}  // namespace

py::object captured_call(FunctionCache* s, PyObject* func, const CodeInfo& code,
                         std::span<PyObject* const> slots) {
  const auto point = s->points.find({0, 0});
  if (point == s->points.end()) return py::none();
  std::vector<PyObject*> state(slots.begin(), slots.end());
  state.push_back(Py_None);  // no exception is handled
  for (auto& e : point->second.entries) {
    Values values;
    int failed = -1;
    if (e->result < 0 || !check_guards(*e, func, state.data(), &values, &failed)) continue;
    if (const auto instance = instance_for(*e, values))
      return described_run(*e, *instance, values, code);
  }
  return py::none();
}

}  // namespace pijit
