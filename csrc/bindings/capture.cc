#include "bindings/bindings.h"
#include "capture/capture.h"

namespace pijit {
void init_capture(py::module_& m) { init_jit(m); }
}  // namespace pijit
