// Guards at work: what the full check (guard.cc) and the guard cache of its outcome
// (guard_cache.cc) share.
#pragma once
#include "entry/entry.h"

namespace pijit {

// The object of a source, of which those before it are in `values`; null: the path no longer
// exists. Borrowed from who holds it; what is made for the call goes to `held`.
PyObject* fetch(const Source& s, const Values& values, PyObject* func, PyObject* const* state,
                std::vector<py::object>* held);
bool check(const Guard& g, const Values& values);

// Whether what effects change is no other object that the entry knows.
bool apart(const Entry& e, const Values& values);

// While it lives, allocations run no garbage collector and so no code of the user.
class NoCollection {
 public:
  NoCollection() : was_on_(PyGC_Disable()) {}
  ~NoCollection() {
    if (was_on_) PyGC_Enable();
  }
  NoCollection(const NoCollection&) = delete;

 private:
  int was_on_;
};

}  // namespace pijit
