// Global variables: LOAD_GLOBAL and STORE_GLOBAL, and attributes of modules.
#include "capture/context.h"
#include "capture/protocol/protocol.h"
#include "python/quiet_lookup.h"

namespace pijit::protocol {

V load_global(Context& c, PyObject* globals, PyObject* name) {
  if (!c.global_writes_.empty()) {
    auto w = c.global_writes_.find({globals, text_of(name)});
    if (w != c.global_writes_.end()) return w->second;
  }
  PyObject* v = c.found_in(globals, name);
  if (!v) v = c.found_in(builtins_of(globals), name);
  if (!v) c.give_up(Reason::kUnboundName, text_of(name));
  if (c.is_library(globals)) return c.wrap_static(v);
  const int n = c.add_source({Source::kConst, -1, 0, py::reinterpret_borrow<py::object>(name)});
  return c.wrap(v,
                c.add_source({Source::kGlobal, n, 0, py::reinterpret_borrow<py::object>(globals)}));
}

void set_global(Context& c, PyObject* globals, PyObject* name, const V& value) {
  if (c.arm_serial_ || c.mapped_serial_)
    c.give_up(Reason::kTensorValue, "a global set in a branch on a tensor or a mapped function");
  const std::pair<PyObject*, std::string> key{globals, py::cast<std::string>(py::handle(name))};
  auto old = c.global_writes_.find(key);
  if (old == c.global_writes_.end())
    c.undoable([&c, key] { c.global_writes_.erase(key); });
  else
    c.undoable([&c, key, o = old->second] { c.global_writes_[key] = o; });
  c.global_writes_[key] = value;
  c.log({Context::Note::kSetGlobal,
         nullptr,
         py::reinterpret_borrow<py::object>(name),
         py::reinterpret_borrow<py::object>(globals),
         {value}});
}

}  // namespace pijit::protocol
