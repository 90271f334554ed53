#include "python/interpreter.h"

#include "python/shown_frames.h"

#include <algorithm>

namespace pijit {
namespace py = pybind11;

namespace {

#if PY_VERSION_HEX >= 0x030B0000
// Null: the frame still runs.
_PyInterpreterFrame* ended(const py::object& frame) {
  _PyInterpreterFrame* f = reinterpret_cast<PyFrameObject*>(frame.ptr())->f_frame;
  return f->owner == FRAME_OWNED_BY_FRAME_OBJECT ? f : nullptr;
}
// Free variables come with the function.
int own_variables(const _PyInterpreterFrame* f) {
  const PyCodeObject* code = frames::code_of(f);
  return std::min(code->co_nlocalsplus - code->co_nfreevars, frames::size_of(f));
}
#else
_PyInterpreterFrame* ended(const py::object& frame) {
  auto* f = reinterpret_cast<PyFrameObject*>(frame.ptr());
  return frames::has_ended(f) ? f : nullptr;
}
int own_variables(const _PyInterpreterFrame* f) {
  return frames::num_slots(f->f_code) - frames::num_free(f->f_code);
}
#endif
// Puts them there, and gives those that were.
std::vector<py::object> exchanged(_PyInterpreterFrame* f, std::span<const py::object> slots) {
  std::vector<py::object> before;
  for (int k = 0; k < own_variables(f); ++k) {
    PyObject* now = static_cast<size_t>(k) < slots.size() ? slots[k].ptr() : nullptr;
    before.push_back(py::reinterpret_steal<py::object>(frames::exchange(f, k, Py_XNewRef(now))));
  }
  return before;
}

}  // namespace

namespace {
bool is_dead(const py::object& frame) { return Py_REFCNT(frame.ptr()) == 1; }
}  // namespace

bool ShownFrames::any_lives() const {
  return !std::all_of(frames_.begin(), frames_.end(), is_dead);
}

void ShownFrames::forget_dead() {
  size_t n = 0;
  for (size_t k = 0; k < frames_.size(); ++k) {
    if (is_dead(frames_[k])) continue;
    raised_at_[n] = raised_at_[k];
    std::swap(frames_[n++], frames_[k]);
  }
  frames_.resize(n);
  raised_at_.resize(n);
}

void ShownFrames::add(py::object frame) {
  forget_dead();
  _PyInterpreterFrame* f = ended(frame);
  if (!f || std::any_of(frames_.begin(), frames_.end(), [&](auto& o) { return o.is(frame); }))
    return;
  const auto before = exchanged(f, {});
  frames_.push_back(std::move(frame));
  raised_at_.push_back(-1);
}

void ShownFrames::add_raised(const py::object& exception, PyObject* code, int at) {
  const auto trace = py::reinterpret_steal<py::object>(PyException_GetTraceback(exception.ptr()));
  if (!trace) return;
  auto* frame = reinterpret_cast<PyTracebackObject*>(trace.ptr())->tb_frame;
  const auto of =
      py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  if (of.ptr() != code) return;
  add(py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(frame)));
  if (!frames_.empty() && frames_.back().ptr() == reinterpret_cast<PyObject*>(frame))
    raised_at_.back() = at;
}

void ShownFrames::move(const py::object& exception, PyObject* frame, int shift) {
  auto trace = py::reinterpret_steal<py::object>(PyException_GetTraceback(exception.ptr()));
  while (trace) {
    auto* entry = reinterpret_cast<PyTracebackObject*>(trace.ptr());
    for (size_t k = 0; k < frames_.size(); ++k) {
      if (frames_[k].ptr() != reinterpret_cast<PyObject*>(entry->tb_frame) || raised_at_[k] < 0)
        continue;
      entry->tb_lasti = 2 * (raised_at_[k] + shift);
      entry->tb_frame = reinterpret_cast<PyFrameObject*>(Py_NewRef(frame));
      Py_DECREF(frames_[k].ptr());
      // what it called names it as its caller, and would keep its variables
      if (auto* next = entry->tb_next;
          next && reinterpret_cast<PyObject*>(next->tb_frame->f_back) == frames_[k].ptr()) {
        next->tb_frame->f_back = reinterpret_cast<PyFrameObject*>(Py_NewRef(frame));
        Py_DECREF(frames_[k].ptr());
      }
      break;
    }
    trace = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(entry->tb_next));
  }
  forget_dead();  // with their variables
}

void ShownFrames::show(std::span<const py::object> slots) {
  forget_dead();
  std::vector<std::vector<py::object>> before;  // may run code as it dies
  for (auto& frame : frames_)
    if (_PyInterpreterFrame* f = ended(frame)) before.push_back(exchanged(f, slots));
}

void ShownFrames::hide() { show({}); }

void ShownFrames::end_as(const py::object& frame) {
  std::vector<py::object> slots;
  if (_PyInterpreterFrame* f = ended(frame))
    for (int k = 0; k < own_variables(f); ++k)
      slots.push_back(py::reinterpret_borrow<py::object>(frames::slot(f, k)));
  show(slots);
  frames_.clear();
  raised_at_.clear();
}

py::object frame_object_here(bool make) {
#if PY_VERSION_HEX >= 0x030B0000
  PyThreadState* t = PyThreadState_Get();
  if (make) {
    auto* f = PyThreadState_GetFrame(t);
    return py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(f));
  }
  const _PyInterpreterFrame* f = current_frame(t);
  return py::reinterpret_borrow<py::object>(
      reinterpret_cast<PyObject*>(f ? f->frame_obj : nullptr));
#else
  static_cast<void>(make);  // each frame is an object
  return py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
#endif
}

}  // namespace pijit
