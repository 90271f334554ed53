// The Python objects that capture and bindings share, and conversion between them and C++.
#pragma once
#include "objects/data.h"
#include "objects/dtype.h"
#include "objects/errors.h"
#include "objects/index.h"
#include "objects/op_function.h"
#include "objects/operands.h"
#include "objects/tensor.h"

namespace pijit {

void init_objects(py::module_& m);

}  // namespace pijit
