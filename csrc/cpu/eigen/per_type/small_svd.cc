// Singular values of small matrices, and of the last blocks that divide and conquer leaves.
#include "cpu/eigen/shared_parts.h"

PIJIT_SMALL_SVD(, PIJIT_SCALAR)
