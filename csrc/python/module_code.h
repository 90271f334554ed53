// Code of modules.
#pragma once
#include "python/code.h"

namespace pijit {

// Decodes a module's code, whose names are its globals: from now on code_info knows it.
Code module_code_info(PyObject* code);

}  // namespace pijit
