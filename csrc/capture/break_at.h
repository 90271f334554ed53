// What a break is at: a class, a callable, or a case that its place names.
#pragma once
#include <string>

#include "entry/entry.h"

namespace pijit {

class BreakAt {
 public:
  BreakAt() = default;
  BreakAt(PyObject* about) : about_(about) {}
  BreakAt(PyTypeObject* about) : about_(reinterpret_cast<PyObject*>(about)) {}
  BreakAt(Case of) : of_(of) {}

  // The case of the break, in code of this module.
  Case of(Reason r, const std::string& module) const;

 private:
  PyObject* about_ = nullptr;
  Case of_ = Case::kNone;
};

}  // namespace pijit
