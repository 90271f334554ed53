// Whose code runs: the user's, or the library's that the user's called.
#pragma once
#include <Python.h>

#include <string>
#include <string_view>

namespace pijit {

// Is it a name of this package's modules?
bool is_of_library(PyObject* module_name);  // null: no
bool is_of_library(PyFrameObject* frame);

// By which name the user called what failed: that of the Cell, else of the function that stands
// between the user's code and the op.
class CalledName {
 public:
  // Frames of the library, from the innermost to that which the user's code called.
  void add(std::string_view qualname);
  // "[gather_d] index 7 ..." as "[cross_entropy] index 7 ... (in gather_d)".
  std::string put_into(std::string_view text) const;

 private:
  std::string cell_, function_;
};

// The text of an error of an op, by the frames of this thread.
std::string in_callers_words(std::string_view text);

}  // namespace pijit
