// The extension module: conversions only. Errors of the core become Python exceptions here.
#include "base/config.h"
#include "base/log.h"
#include "bindings/bindings.h"
#include "compile/compile.h"
#include "eager/nonzero.h"
#include "runtime/device.h"
#include "runtime/packed.h"
#include "runtime/plugin.h"
#include "runtime/program.h"
#include "runtime/queue.h"
#include "python/code.h"
#include "python/gil.h"
#include "python/hook.h"
#include "python/lru_cache.h"
#include "eager/tape.h"
#include "objects/objects.h"

namespace pijit {
namespace {

std::vector<ArrayRef> arrays(const char* function, const char* name, py::handle s) {
  std::vector<ArrayRef> r;
  for (auto h : argument<py::sequence>(function, name, s)) {
    OP_CHECK(is_tensor(h.ptr()), kType, "[", function, "] ", name, " must hold Tensors, got ",
             Py_TYPE(h.ptr())->tp_name);
    r.push_back(array_of(h.ptr()));
  }
  return r;
}
// Two lists that belong together: a value and what is given for it, of the same shape, or in a
// batch of `size`.
void check_pairs(const char* function, const std::vector<ArrayRef>& values,
                 const std::vector<ArrayRef>& given, std::optional<int64_t> size = {}) {
  OP_CHECK(values.size() == given.size(), kValue, "[", function, "] got ", given.size(),
           " Tensors for ", values.size());
  for (size_t k = 0; k < values.size(); ++k) {
    std::vector<int64_t> want(values[k]->type.shape.begin(), values[k]->type.shape.end());
    if (size) want.insert(want.begin(), *size);
    const Shape& got = given[k]->type.shape;
    OP_CHECK(std::equal(want.begin(), want.end(), got.begin(), got.end()), kValue, "[", function,
             "] Tensor ", k, " has shape ", got.str(), ", which does not fit ",
             values[k]->type.shape.str());
  }
}
py::object tensor(const ArrayRef& a) { return py::reinterpret_steal<py::object>(new_tensor(a)); }
py::list tensors(const std::vector<ArrayRef>& v) {
  py::list l;
  for (auto& a : v) l.append(a ? tensor(a) : py::object(py::none()));
  return l;
}

void init_tape(py::module_& m) {
  py::class_<Tape> tape(m, "Tape", "Records ops on watched tensors between start() and stop().");
  tape.def(py::init([](const py::args& args, const py::kwargs& kwargs) {
    const Parameters parameters{{"use", py::str("reverse")}};
    const std::string use =
        argument<std::string>("Tape", "use", bind_arguments("Tape", parameters, args, kwargs)[0]);
    OP_CHECK(use == "forward" || use == "batch" || use == "reverse", kValue,
             "[Tape] use must be 'reverse', 'forward' or 'batch', got '", use, "'");
    return std::make_unique<Tape>(use == "forward" ? Tape::kForward
                                  : use == "batch" ? Tape::kBatch
                                                   : Tape::kReverse);
  }));
  using Args = std::vector<py::object>;
  define_method(tape, "start", {}, [](Tape& t, const Args&) { return t.start(), py::none(); });
  define_method(tape, "stop", {}, [](Tape& t, const Args&) { return t.stop(), py::none(); });
  define_method(tape, "watch", {{"x"}}, [](Tape& t, const Args& a) {
    return t.watch(arrays("Tape.watch", "x", py::make_tuple(a[0]))[0]);
  });
  define_method(tape, "watches", {{"x"}}, [](Tape& t, const Args& a) {
    return is_tensor(a[0].ptr()) && t.watches(array_of(a[0].ptr()).get());
  });
  define_method(
      tape, "record_custom", {{"inputs"}, {"outputs"}, {"backward"}}, [](Tape& t, const Args& a) {
        constexpr const char* kName = "Tape.record_custom";
        auto fn = std::make_shared<py::function>(argument<py::function>(kName, "backward", a[2]));
        t.record_custom(arrays(kName, "inputs", a[0]), arrays(kName, "outputs", a[1]),
                        [fn](const std::vector<ArrayRef>& cts) {
                          std::vector<ArrayRef> r;
                          const py::object grads = (*fn)(tensors(cts));
                          for (auto h : argument<py::sequence>("bprop", "the result", grads)) {
                            OP_CHECK(h.is_none() || is_tensor(h.ptr()), kType,
                                     "a gradient of the user's own must be a Tensor or None, got ",
                                     Py_TYPE(h.ptr())->tp_name);
                            r.push_back(h.is_none() ? ArrayRef() : array_of(h.ptr()));
                          }
                          return r;
                        });
        return py::none();
      });
  define_method(tape, "hook", {{"x"}, {"function"}}, [](Tape& t, const Args& a) {
    auto fn = std::make_shared<py::function>(argument<py::function>("Tape.hook", "function", a[1]));
    t.hook(arrays("Tape.hook", "x", py::make_tuple(a[0]))[0], [fn](const ArrayRef& ct) {
      const py::object given = (*fn)(tensor(ct));
      OP_CHECK(is_tensor(given.ptr()), kRuntime, "a hook must return a Tensor or None, got ",
               Py_TYPE(given.ptr())->tp_name);
      return array_of(given.ptr());
    });
    return py::none();
  });
  define_method(tape, "batch", {{"examples"}, {"batches"}, {"outputs"}, {"size"}},
                [](Tape& t, const Args& a) {
                  constexpr const char* kName = "Tape.batch";
                  const auto examples = arrays(kName, "examples", a[0]);
                  const auto batches = arrays(kName, "batches", a[1]);
                  const auto size = argument<int64_t>(kName, "size", a[3]);
                  check_pairs(kName, examples, batches, size);
                  return tensors(t.batch(examples, batches, arrays(kName, "outputs", a[2]), size));
                });
  define_method(tape, "pushforward", {{"inputs"}, {"tangents"}, {"outputs"}},
                [](Tape& t, const Args& a) {
                  constexpr const char* kName = "Tape.pushforward";
                  const auto inputs = arrays(kName, "inputs", a[0]);
                  const auto tangents = arrays(kName, "tangents", a[1]);
                  check_pairs(kName, inputs, tangents);
                  return tensors(t.pushforward(inputs, tangents, arrays(kName, "outputs", a[2])));
                });
  define_method(tape, "gradient", {{"outputs"}, {"cotangents"}, {"wrt"}},
                [](Tape& t, const Args& a) {
                  constexpr const char* kName = "Tape.gradient";
                  const auto outputs = arrays(kName, "outputs", a[0]);
                  const auto cotangents = arrays(kName, "cotangents", a[1]);
                  check_pairs(kName, outputs, cotangents);
                  return tensors(t.gradient(outputs, cotangents, arrays(kName, "wrt", a[2])));
                });
  define(m, "active_tapes", {}, [](const Args&) {
    py::list l;
    for (Tape* t : Tape::active()) l.append(py::cast(t, py::return_value_policy::reference));
    return l;
  });
}

void init_config(py::module_& m) {
  using Args = std::vector<py::object>;
  define(m, "get_option", {{"name"}}, [](const Args& a) {
    return str_of(get_option(argument<std::string>("get_option", "name", a[0])));
  });
  define(m, "set_option", {{"name"}, {"value"}}, [](const Args& a) {
    set_option(argument<std::string>("set_option", "name", a[0]),
               argument<std::string>("set_option", "value", a[1]));
    return py::none();
  });
  define(m, "option_table", {}, [](const Args&) {
    py::list l;
    for (auto& o : option_table()) l.append(py::make_tuple(o.name, o.type, o.env, o.help));
    return l;
  });
  define(
      m, "allocated_bytes", {},
      [](const Args&) { return device(default_device()).allocated_bytes(); },
      "Bytes that values hold on the chosen device.");
  define(
      m, "reserved_bytes", {},
      [](const Args&) {
        const auto* queue = queue_of(default_device());
        return queue ? queue->reserved_bytes() : device(default_device()).allocated_bytes();
      },
      "Bytes that the chosen device took from the system.");
  define(
      m, "empty_cache", {},
      [](const Args&) {
        if (auto* queue = queue_of(default_device())) queue->give_back();
        drop_all_forms();
        Prologue::drop_all();
        return py::none();
      },
      "Gives memory of the chosen device that is kept for later back to the system, and forgets "
      "packed weights.");
  define(
      m, "packed_bytes", {}, [](const Args&) { return packed_bytes(); },
      "Bytes of weights that are kept in the layouts of kernels.");
  define(
      m, "channel_block", {},
      [](const Args&) { return device(default_device()).facts().channel_block; },
      "Channels per block in which convolutions compute; 0: they have one layout.");
  define(
      m, "devices", {},
      [](const Args&) {
        py::list l;
        for (auto& n : device_names()) l.append(n);
        return l;
      },
      "Names of the devices there are.");
  define(
      m, "find_device", {{"who"}, {"name"}},
      [](const Args& a) {
        find_device(argument<std::string>("find_device", "who", a[0]),
                    argument<std::string>("find_device", "name", a[1]));
        return py::none();
      },
      "Loads the device's plug-in if need be. RuntimeError, naming the devices there are, without "
      "it.");
  define(
      m, "set_device", {{"who"}, {"name"}},
      [](const Args& a) {
        set_default_device(find_device(argument<std::string>("set_device", "who", a[0]),
                                       argument<std::string>("set_device", "name", a[1])));
        return py::none();
      },
      "Chooses the device of values that no operand places. `who` begins error messages.");
}

// A point in a device's work, as Python holds it.
struct RecordedEvent {
  DeviceId device;
  std::unique_ptr<Event> event;
  static constexpr const char* kName = "pijit.Event";
  static RecordedEvent& of(const char* function, py::handle h) {
    OP_CHECK(PyCapsule_IsValid(h.ptr(), kName), kType, "[", function, "] expected an event");
    return *static_cast<RecordedEvent*>(PyCapsule_GetPointer(h.ptr(), kName));
  }
};
void init_events(py::module_& m) {
  using Args = std::vector<py::object>;
  define(
      m, "synchronize", {},
      [](const Args&) {
        const py::gil_scoped_release others_run;
        for (size_t d = 0; d < device_names().size(); ++d)
          device({static_cast<uint8_t>(d)}).synchronize();
        return py::none();
      },
      "Waits until all devices have done what they were given.");
  define(
      m, "record_event", {{"timed"}},
      [](const Args& a) {
        const DeviceId d = default_device();
        auto event = device(d).record(argument<bool>("record_event", "timed", a[0]));
        return py::capsule(
            new RecordedEvent{d, std::move(event)}, RecordedEvent::kName, [](PyObject* c) {
              delete static_cast<RecordedEvent*>(PyCapsule_GetPointer(c, RecordedEvent::kName));
            });
      },
      "An event behind what the chosen device was given so far.");
  define(
      m, "event_done", {{"event"}},
      [](const Args& a) { return py::bool_(RecordedEvent::of("event_done", a[0]).event->done()); },
      "Whether the device has come to the event.");
  define(
      m, "wait_for_event", {{"event"}},
      [](const Args& a) {
        Event& event = *RecordedEvent::of("wait_for_event", a[0]).event;
        const py::gil_scoped_release others_run;
        event.wait();
        return py::none();
      },
      "Waits until the device has come to the event.");
  define(
      m, "event_milliseconds", {{"earlier"}, {"later"}},
      [](const Args& a) {
        const auto &from = RecordedEvent::of("event_milliseconds", a[0]),
                   &to = RecordedEvent::of("event_milliseconds", a[1]);
        OP_CHECK(from.device == to.device, kRuntime,
                 "[event_milliseconds] the events are of two devices, ", name_of(from.device),
                 " and ", name_of(to.device));
        return py::float_(to.event->milliseconds_since(*from.event));
      },
      "Milliseconds between two events that were recorded with times.");
}

void init_graph(py::module_& m) {
  using Args = std::vector<py::object>;
  define(
      m, "nonzero", {{"x"}, {"columns"}},
      [](const Args& a) {
        const ArrayRef x = arrays("nonzero", "x", py::make_tuple(a[0]))[0];
        OP_CHECK(x->type.shape.rank() > 0, kValue, "[nonzero] x has no axes");
        return tensor(nonzero(x, argument<bool>("nonzero", "columns", a[1])));
      },
      "Coordinates of the elements that are not 0: int64 [n, rank], or [rank, n] by columns.");
  define(
      m, "graph_roundtrip", {{"text"}},
      [](const Args& a) {
        const std::string text = argument<std::string>("graph_roundtrip", "text", a[0]);
        return str_of(Graph::parse(text)->print());
      },
      "Parses a graph's text and prints it again.");
  define(
      m, "run_graph", {{"text"}, {"inputs"}},
      [](const Args& a) {
        auto p = compile(*Graph::parse(argument<std::string>("run_graph", "text", a[0])));
        auto in = arrays("run_graph", "inputs", a[1]);
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
  define(m, "op_table", {}, [](const Args&) {
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

// sys.path, as it is when a device's plug-in is loaded.
std::vector<std::string> import_folders() {
  const py::gil_scoped_acquire gil;
  std::vector<std::string> folders;
  const py::handle path = PySys_GetObject("path");
  if (!path || !py::isinstance<py::list>(path)) return folders;
  for (auto folder : py::reinterpret_borrow<py::list>(path))
    if (py::isinstance<py::str>(folder)) folders.push_back(folder.cast<std::string>());
  return folders;
}

}  // namespace

PYBIND11_MODULE(_C, m) {
  py::register_exception_translator([](std::exception_ptr p) {
    try {
      if (p) std::rethrow_exception(p);
    } catch (const OpError&) {
      raise_current_exception();
    } catch (const std::length_error&) {
      raise_current_exception();
    }
  });
  init_names();
  init_code();
  init_lru_cache();
  init_hook();
  init_objects(m);
  init_tape(m);
  init_config(m);
  init_log(m);
  init_graph(m);
  init_events(m);
  init_capture(m);
  init_record(m);
  init_collective(m);
  init_dlpack(m);
  init_gil();
  set_package_folders(import_folders);
  Py_AtExit([] {
    for (size_t d = 0; d < device_names().size(); ++d)
      if (auto* queue = queue_of({static_cast<uint8_t>(d)})) queue->finish();
  });
}

}  // namespace pijit
