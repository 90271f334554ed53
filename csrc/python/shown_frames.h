// The frames in which pieces of one call ran, as far as tracebacks or others keep their frame
// objects: each shows the variables that the call has now, as its one frame would.
#pragma once
#include <pybind11/pytypes.h>

#include <span>
#include <vector>

namespace pijit {

class ShownFrames {
 public:
  bool empty() const { return frames_.empty(); }
  bool any_lives() const;  // somebody else holds one
  // A frame object whose frame has ended: it lets go of what its variables hold.
  void add(pybind11::object frame);
  // That of a traceback's first entry, where it is one of `code`, raised at the function's code
  // unit `at`.
  void add_raised(const pybind11::object& exception, PyObject* code, int at);
  // Entries of the exception's traceback name another frame from now on, in which the call goes on
  // to its end: its code begins with `shift` units of its own.
  void move(const pybind11::object& exception, PyObject* frame, int shift);
  // Others hold these frame objects: they get the variables, all but the free ones.
  void show(std::span<const pybind11::object> slots);
  // They lose them again. Gives what they held.
  void hide();
  // From now on they show what a frame holds that has ended, and are not looked after any more.
  void end_as(const pybind11::object& frame);

 private:
  void forget_dead();
  std::vector<pybind11::object> frames_;
  std::vector<int> raised_at_;  // per frame; -1: unknown
};

// The frame object of the Python frame that calls us; null: there is none yet and `make` is false.
pybind11::object frame_object_here(bool make);

}  // namespace pijit
