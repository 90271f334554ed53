// The extension module: conversions only. Errors of the core become Python exceptions here.
#include <chrono>

#include "base/config.h"
#include "base/log.h"
#include "bindings/bindings.h"
#include "compile/compile.h"
#include "runtime/program.h"
#include "python/objects.h"

namespace pijit {
namespace {

std::vector<ArrayRef> arrays(const py::sequence& s) {
  std::vector<ArrayRef> r;
  for (auto h : s) {
    OP_CHECK(is_tensor(h.ptr()), kType, "expected tensors, got ", Py_TYPE(h.ptr())->tp_name);
    r.push_back(array_of(h.ptr()));
  }
  return r;
}
py::object tensor(const ArrayRef& a) { return py::reinterpret_steal<py::object>(new_tensor(a)); }
py::list tensors(const std::vector<ArrayRef>& v) {
  py::list l;
  for (auto& a : v) l.append(a ? tensor(a) : py::object(py::none()));
  return l;
}

void init_tape(py::module_& m) {
  py::class_<Tape>(m, "Tape", "Records ops on watched tensors between start() and stop().")
      .def(py::init([](const std::string& use) {
             return std::make_unique<Tape>(use == "forward" ? Tape::kForward
                                           : use == "batch" ? Tape::kBatch
                                                            : Tape::kReverse);
           }),
           py::arg("use") = "reverse")
      .def("start", &Tape::start)
      .def("stop", &Tape::stop)
      .def("watch", [](Tape& t, py::handle x) { t.watch(arrays(py::make_tuple(x))[0]); })
      .def("watches",
           [](const Tape& t, py::handle x) {
             return is_tensor(x.ptr()) && t.watches(array_of(x.ptr()).get());
           })
      .def("record_custom",
           [](Tape& t, const py::sequence& in, const py::sequence& out, py::function f) {
             auto fn = std::make_shared<py::function>(std::move(f));
             t.record_custom(arrays(in), arrays(out), [fn](const std::vector<ArrayRef>& cts) {
               std::vector<ArrayRef> r;
               for (auto h : py::cast<py::sequence>((*fn)(tensors(cts)))) {
                 OP_CHECK(h.is_none() || is_tensor(h.ptr()), kType,
                          "a gradient of the user's own must be a Tensor or None, got ",
                          Py_TYPE(h.ptr())->tp_name);
                 r.push_back(h.is_none() ? ArrayRef() : array_of(h.ptr()));
               }
               return r;
             });
           })
      .def("batch",
           [](const Tape& t, const py::sequence& examples, const py::sequence& batches,
              const py::sequence& outputs, int64_t size) {
             return tensors(t.batch(arrays(examples), arrays(batches), arrays(outputs), size));
           })
      .def("pushforward",
           [](const Tape& t, const py::sequence& inputs, const py::sequence& tangents,
              const py::sequence& outputs) {
             return tensors(t.pushforward(arrays(inputs), arrays(tangents), arrays(outputs)));
           })
      .def("gradient", [](const Tape& t, const py::sequence& outputs, const py::sequence& cts,
                          const py::sequence& wrt) {
        return tensors(t.gradient(arrays(outputs), arrays(cts), arrays(wrt)));
      });
  m.def("active_tapes", [] {
    py::list l;
    for (Tape* t : Tape::active()) l.append(py::cast(t, py::return_value_policy::reference));
    return l;
  });
}

void init_config(py::module_& m) {
  m.def("get_option", &get_option);
  m.def("set_option", &set_option);
  m.def("option_table", [] {
    py::list l;
    for (auto& o : option_table()) l.append(py::make_tuple(o.name, o.type, o.env, o.help));
    return l;
  });
  m.def("allocated_bytes", &allocated_bytes);
  m.def("max_threads", &max_threads);
  m.def("channel_block", &channel_block,
        "Channels per block in which convolutions compute; 0: they have one layout.");
}

void init_graph(py::module_& m) {
  m.def(
      "graph_roundtrip", [](const std::string& text) { return Graph::parse(text)->print(); },
      "Parses a graph's text and prints it again.");
  m.def(
      "run_graph",
      [](const std::string& text, const py::sequence& inputs) {
        auto p = compile(*Graph::parse(text));
        auto in = arrays(inputs);
        OP_CHECK(in.size() == p->num_inputs(), kType, "the graph takes ", p->num_inputs(),
                 " tensors, got ", in.size());
        std::vector<Array*> raw;
        for (size_t i = 0; i < in.size(); ++i) {
          OP_CHECK(in[i]->type == p->input_types[i], kType, "input ", i, " must be ",
                   p->input_types[i].str(), ", got ", in[i]->type.str());
          raw.push_back(in[i].get());
        }
        std::vector<ArrayRef> out(p->outputs.size());
        p->run(raw, nullptr, out.data());
        return tensors(out);
      },
      "Compiles a graph's text and runs it.");
  m.def("op_table", [] {
    py::list l;
    for (auto& op : OpTable::get().all()) {
      if (op->has(kRegion) || op->has(kPhysical)) continue;
      py::list in, at;
      for (auto& i : op->inputs) in.append(i.name);
      for (auto& a : op->attrs) at.append(a.name);
      py::dict d;
      d["name"] = op->name;
      d["inputs"] = in;
      d["attrs"] = at;
      d["elementwise"] = op->has(kElementwise);
      d["differentiable"] = static_cast<bool>(op->vjp);
      l.append(d);
    }
    return l;
  });
}

}  // namespace

PYBIND11_MODULE(_C, m) {
  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const OpError&) {
      raise_current_exception();
    }
  });
  init_objects(m);
  init_tape(m);
  init_config(m);
  init_graph(m);
  init_capture(m);
  loop_interrupt = [] {  // other threads get their turn, signals their handlers
    using Clock = std::chrono::steady_clock;
    // A thread that waits for the GIL asks for it after one switch interval, and only then does
    // letting go of it hand it over: whoever lets go earlier, takes it again before the other
    // wakes.
    static auto next = Clock::now();
    if (Clock::now() < next) return;
    { py::gil_scoped_release others; }
    const double interval =
        py::cast<double>(py::module_::import("sys").attr("getswitchinterval")());
    next = Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(2 * interval));
    if (PyErr_CheckSignals() < 0) throw py::error_already_set();
  };
}

}  // namespace pijit
