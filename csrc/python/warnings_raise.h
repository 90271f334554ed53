// Warnings of code that is done anew where it warns.
#pragma once
#include <Python.h>

namespace pijit {

// While it lives, what would warn in this thread raises the warning instead, without a trace in
// the registries that remember what was shown.
class WarningsRaise {
 public:
  WarningsRaise();
  ~WarningsRaise();
  WarningsRaise(const WarningsRaise&) = delete;
  WarningsRaise& operator=(const WarningsRaise&) = delete;

 private:
  PyObject* filters_;  // owned; null: there are none
};

}  // namespace pijit
