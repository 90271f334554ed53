// What divide and conquer begins with.
#include "cpu/eigen/shared_parts.h"

PIJIT_BIDIAGONAL(, PIJIT_SCALAR)
