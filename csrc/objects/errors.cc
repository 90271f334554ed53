#include "objects/errors.h"

#include <new>
#include <stdexcept>

#include "objects/caller.h"
#include "python/convert.h"

namespace pijit {

PyObject* python_exception_of(const OpError& e) {
  return e.kind == OpError::kValue   ? PyExc_ValueError
         : e.kind == OpError::kType  ? PyExc_TypeError
         : e.kind == OpError::kIndex ? PyExc_IndexError
                                     : PyExc_RuntimeError;
}

PyObject* raise_current_exception() {
  try {
    throw;
  } catch (py::error_already_set& e) {
    e.restore();
  } catch (const OpError& e) {
    PyObject* t = python_exception_of(e);
    PyErr_SetObject(t, str_of(in_callers_words(e.what())).ptr());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::length_error&) {  // of a container that no memory could hold
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetObject(PyExc_RuntimeError, str_of(e.what()).ptr());
  }
  return nullptr;
}

}  // namespace pijit
