#pragma once
#include "runtime/array.h"

namespace pijit {

// Coordinates of the elements of x, of rank 1 or more, that are not 0, in order: int64 [n, rank],
// or [rank, n] by columns.
ArrayRef nonzero(const ArrayRef& x, bool columns);

}  // namespace pijit
