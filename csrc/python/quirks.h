// What old versions of CPython and its library do otherwise, in a way that programs see.
#pragma once
#include <Python.h>

#include <string>

namespace pijit {

// deque.remove() of what is not there moves the items all the same, once around.
constexpr bool kFailedRemoveMoves = PY_VERSION_HEX < 0x030A0000;
// A complex and a real number are added, and so on, by the real one's rules.
constexpr bool kMixedComplexNumbers = PY_VERSION_HEX >= 0x030E0000;
// Products and quotients of complex numbers are looked at again where both parts are NaN.
constexpr bool kComplexRecoversInfinities = PY_VERSION_HEX >= 0x030E0000;
// math.pow(0.0, -math.inf) raises ValueError.
constexpr bool kPowOfZeroRaises = PY_VERSION_HEX < 0x030B0000;
// Comparisons of numbers count as calls where recursion is limited.
constexpr bool kComparisonsAreCalls = PY_VERSION_HEX < 0x030B0000;

// A class's flag: nobody may set its attributes. Before, no class made of a spec could have it.
#if PY_VERSION_HEX >= 0x030A0000
constexpr unsigned long kImmutableType = Py_TPFLAGS_IMMUTABLETYPE;
#else
constexpr unsigned long kImmutableType = 0;
#endif

// What TypeError says where __iter__ of the one type gave something of the other.
inline std::string no_iterator(PyTypeObject* of, PyTypeObject* given) {
#if PY_VERSION_HEX >= 0x030F0000
  PyObject* text = PyUnicode_FromFormat("%N.__iter__() must return an iterator, not %N", of, given);
#else
  PyObject* text =
      PyUnicode_FromFormat("iter() returned non-iterator of type '%.200s'", given->tp_name);
#endif
  const char* c = text ? PyUnicode_AsUTF8(text) : nullptr;
  std::string s = c ? c : "";
  if (!c) PyErr_Clear();
  Py_XDECREF(text);
  return s;
}

}  // namespace pijit
