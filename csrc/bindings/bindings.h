#pragma once
#include "python/define.h"

namespace pijit {
void init_capture(pybind11::module_& m);
void init_collective(pybind11::module_& m);
void init_dlpack(pybind11::module_& m);
void init_log(pybind11::module_& m);
void init_record(pybind11::module_& m);
}  // namespace pijit
