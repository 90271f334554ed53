// CPython's lock as the floors below know it (base/gil.h).
#pragma once

namespace pijit {

// Once, when the module is loaded.
void init_gil();

}  // namespace pijit
