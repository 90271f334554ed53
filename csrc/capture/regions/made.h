// Objects that a region's code makes: until it is left, they belong to an arena, so that its code
// counts no references. What dies in a list goes there, too.
#pragma once
#include <Python.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "region/array_loop.h"

namespace pijit::regions {

// An array, as code reads it.
struct MadeArray {
  static constexpr int kMostAxes = region::ArrayLoop::kMostAxes;
  MadeArray() = default;
  ~MadeArray() { Py_XDECREF(object); }
  MadeArray(const MadeArray&) = delete;
  MadeArray& operator=(const MadeArray&) = delete;

  int64_t holders = 0;  // variables
  char* data = nullptr;
  std::array<int64_t, kMostAxes> sizes{}, strides{};
  PyObject* object = nullptr;  // owned
  int rank = 0;
  char format = 0;
  int64_t bytes = 0;
  bool is_ours = false;  // another one of its size may have its memory
};

struct Arena {
  Arena() = default;
  ~Arena() {
    for (PyObject* o : held) Py_DECREF(o);
    Py_XDECREF(error);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Arguments of functions that have more than three.
  int64_t words[4] = {};
  // Bytes that may still be made until CPython makes the next one, which lets go of the dead ones.
  int64_t left = int64_t{8} << 20;
  std::vector<PyObject*> held;  // owned
  // Those that code may still read, and others, whose memory the next ones take.
  std::vector<std::unique_ptr<MadeArray>> arrays, spare;
  PyObject* error = nullptr;  // owned: what ends the call, from a handler of a signal
  int64_t began = 0;          // when NumPy was first called, in nanoseconds
};

}  // namespace pijit::regions
