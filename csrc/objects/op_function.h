// OpFunction: an op that Python calls.
#pragma once
#include <Python.h>

#include <string_view>

#include "graph/op.h"
#include "python/convert.h"

namespace pijit {

struct OpFunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  const OpDef* op;
  PyObject* name;  // interned: by which its errors call it
  bool views;      // its results are views of its first operand
};
extern PyTypeObject* op_function_type;
// An op under a name, by which its errors call it.
py::object op_function(const OpDef* op, std::string_view name, bool views = false);
PyTypeObject* make_op_function_type();

}  // namespace pijit
