// CPython 3.12 and 3.13 count calls in C on their own, of which a thread may nest 1,500 and more.
// What a call of the evaluator takes of that, calls between Python functions do not: where one goes
// through C for our sake, it gets it back.
#pragma once
#include <Python.h>

namespace pijit {

#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030E0000
constexpr int kEvaluatorUnits = 2;
inline void add_c_recursion(PyThreadState* t, int units) { t->c_recursion_remaining += units; }

class AsPythonCall {
 public:
  AsPythonCall() : thread_(PyThreadState_Get()) { add_c_recursion(thread_, kEvaluatorUnits); }
  ~AsPythonCall() { add_c_recursion(thread_, -kEvaluatorUnits); }
  AsPythonCall(const AsPythonCall&) = delete;
  AsPythonCall& operator=(const AsPythonCall&) = delete;

 private:
  PyThreadState* thread_;
};
#else  // one limit for calls in Python and in C, or none but the C stack's addresses
constexpr int kEvaluatorUnits = 0;
inline void add_c_recursion(PyThreadState*, int) {}

struct AsPythonCall {
  AsPythonCall() {}  // NOLINT: no unused variable
};
#endif

}  // namespace pijit
