"""An item of an array of complex numbers is a number of NumPy's, with NumPy's arithmetic."""
import numpy as np
import pijit as ms
from pijit import ops

WEIGHTS = np.ones(3) * (1 + 2j)
ARGS = (ms.Tensor(np.ones((3, 4), np.float32)), WEIGHTS)


def breaks(x, w):
    total = 0
    for k in range(3):
        total = total + w[k] * 2
    return ops.relu(x) * float(total.imag)


TOTAL = float((WEIGHTS * 2).sum().imag)


def mended(x, w):
    return ops.relu(x) * TOTAL
