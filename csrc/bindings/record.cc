// Recordings, as lists.
#include "runtime/record.h"

#include <map>
#include <set>

#include "base/progress.h"
#include "bindings/bindings.h"
#include "dispatch/report.h"
#include "objects/caller.h"
#include "python/code.h"
#include "python/compat.h"
#include "runtime/packed.h"

namespace pijit {
namespace {

// What shows progress in a notebook, and the threads that may run meanwhile: those of its kernel.
// Others could change what a capture has seen already, so where there are any, it is not called.
struct Watcher {
  py::object show;
  std::set<unsigned long> threads;
};
Watcher& watcher() {
  static auto* w = new Watcher;
  return *w;
}

// Places of ops that Python calls one by one, by code and instruction; these codes live meanwhile.
struct Caller {
  py::object code;
  MetadataRef metadata;
};
std::map<std::pair<PyObject*, int>, Caller>& known_callers() {
  static auto* m = new std::map<std::pair<PyObject*, int>, Caller>;
  return *m;
}

// The line of the user's code that runs.
MetadataRef caller() {
  auto f = py::reinterpret_steal<py::object>(
      reinterpret_cast<PyObject*>(PyThreadState_GetFrame(PyThreadState_Get())));
  auto frame = [&] { return reinterpret_cast<PyFrameObject*>(f.ptr()); };
  while (f && is_of_library(frame()))
    f = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetBack(frame())));
  if (!f) return nullptr;
  auto code =
      py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame())));
  auto [it, fresh] = known_callers().try_emplace({code.ptr(), PyFrame_GetLasti(frame())}, Caller{});
  if (fresh) {
    auto* co = reinterpret_cast<PyCodeObject*>(code.ptr());
    const auto globals = py::reinterpret_steal<py::object>(PyFrame_GetGlobals(frame()));
    Metadata s{text_of(qualname_of(code.ptr(), globals.ptr())), "single ops"};
    s.places.push_back(str_cat(text_of(co->co_filename), ":", PyFrame_GetLineNumber(frame())));
    it->second = {code, std::make_shared<const Metadata>(std::move(s))};
  }
  return it->second.metadata;
}

void show_progress(const Progress& p) {
  PyThreadState* t = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
  for (; t; t = PyThreadState_Next(t))
    if (!watcher().threads.count(t->thread_id)) return;
  PyObject *type, *value, *traceback;  // of an error on its way
  PyErr_Fetch(&type, &value, &traceback);
  try {
    watcher().show(p.what, p.doing, p.done, p.of, p.seconds, p.over);
  } catch (py::error_already_set& e) {
    e.discard_as_unraisable("pijit's progress");
  }
  PyErr_Restore(type, value, traceback);
}

}  // namespace

void init_record(py::module_& m) {
  caller_metadata = caller;
  using Args = std::vector<py::object>;
  define(
      m, "record_start", {},
      [](const Args&) {
        const Recording r = start_recording();
        return py::make_tuple(r.begin, r.allocations, r.allocated_bytes, r.outer_peak);
      },
      "Begins a recording, and gives what record_stop takes.");
  define(
      m, "recording", {}, [](const Args&) { return py::bool_(recording()); },
      "Whether a recording is under way.");
  define(
      m, "set_clock", {{"ns"}},
      [](const Args& a) {
        const int64_t ns = a[0].is_none() ? kRealTime : integer("set_clock", "ns", a[0]);
        OP_CHECK(ns >= kRealTime, kValue, "[set_clock] ns must be at least 0, got ", ns);
        return set_clock(ns), py::none();
      },
      "For tests: the time that all measurements see from now on, in ns; None: the real one.");
  define(
      m, "record_stop", {{"recording"}},
      [](const Args& a) {
        const auto t = argument<py::tuple>("record_stop", "recording", a[0]);
        OP_CHECK(t.size() == 4, kValue, "[record_stop] recording must come from record_start");
        OP_CHECK(recording(), kRuntime, "[record_stop] no recording is under way");
        auto at = [&](size_t k) { return integer("record_stop", "an item of recording", t[k]); };
        const Recording begun{at(0), static_cast<uint64_t>(at(1)), static_cast<uint64_t>(at(2)),
                              static_cast<size_t>(at(3))};
        const int64_t end = clock_ns();
        const Recorded r = stop_recording(begun);
        if (!recording()) known_callers().clear();
        static const char* const kinds[] = {"kernel", "call",    "guards",   "graph",    "outcome",
                                            "python", "capture", "optimise", "generate", "op"};
        std::map<const Metadata*, size_t> number;
        py::list events, metadata;
        for (auto& [thread, e] : r.events) {
          py::object index = py::none();
          if (e.metadata) {
            const auto [it, fresh] = number.emplace(e.metadata.get(), number.size());
            if (fresh) metadata.append(described(*e.metadata));
            index = py::int_(it->second);
          }
          events.append(py::make_tuple(kinds[e.kind], thread, e.begin, e.end, index, e.memory));
        }
        py::dict d;
        d["events"] = events;
        d["metadata"] = metadata;
        d["begin"] = t[0];
        d["end"] = end;
        d["allocations"] = r.allocations;
        d["allocated_bytes"] = r.allocated_bytes;
        d["peak_bytes"] = r.peak_bytes;
        d["packed_bytes"] = packed_bytes();
        d["dropped"] = r.dropped;
        return d;
      },
      "Ends a recording: events (kind, thread, begin and end in ns, index into the metadata "
      "or None, bytes of arrays at the end), metadata, allocations.");
  define(
      m, "set_progress", {{"show"}, {"threads"}},
      [](const Args& a) {
        std::set<unsigned long> threads;
        for (auto t : argument<py::list>("set_progress", "threads", a[1]))
          threads.insert(
              static_cast<unsigned long>(integer("set_progress", "an item of threads", t)));
        OP_CHECK(a[0].is_none() || PyCallable_Check(a[0].ptr()), kType,
                 "[set_progress] show must be a function or None, got ",
                 Py_TYPE(a[0].ptr())->tp_name);
        watcher() = {a[0], std::move(threads)};
        progress_hook = a[0].is_none() ? nullptr : show_progress;
        return py::none();
      },
      "What long captures and compiles call: show(what, doing, done, of, seconds, over), while no "
      "threads but these exist.");
}

}  // namespace pijit
