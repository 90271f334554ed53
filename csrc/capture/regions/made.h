// Objects that a region's code makes: until it is left, they belong to an arena, so that its code
// counts no references. What dies in a list goes there, too.
#pragma once
#include <Python.h>

#include <cstdint>
#include <vector>

namespace pijit::regions {

struct Arena {
  Arena() = default;
  ~Arena() {
    for (PyObject* o : held) Py_DECREF(o);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Arguments of functions that have more than three.
  int64_t words[4] = {};
  // Bytes that may still be made until CPython makes the next one, which lets go of the dead ones.
  int64_t left = int64_t{8} << 20;
  std::vector<PyObject*> held;  // owned
};

}  // namespace pijit::regions
