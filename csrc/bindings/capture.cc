#include "bindings/bindings.h"
#include "dispatch/run.h"

namespace pijit {
void init_capture(py::module_& m) { init_jit(m); }
}  // namespace pijit
