// CPython's lock as the floors below know it (base/gil.h).
#pragma once

namespace pijit {

// Once, when the module is loaded.
void init_gil();

// As between two instructions: threads that have waited for the lock for long enough have it now.
void let_others_run();

}  // namespace pijit
