// Products of matrices by NumPy's loop, parts of them by threads.
#pragma once
#include <cstddef>

#include "runtime/foreign.h"

namespace pijit {

// With the sizes and steps that the loop takes. Threads share the result's rows or columns where
// that is worth it, and where the library behind the loop would use one thread.
void shared_product(const ForeignLoop& loop, char* const* operands, const std::ptrdiff_t* sizes,
                    const std::ptrdiff_t* steps);

}  // namespace pijit
