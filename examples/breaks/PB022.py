"""A function of NumPy's runs in CPython, with what it knows then."""
import numpy as np
import pijit as ms
from pijit import ops

ARRAY = np.eye(3, dtype=np.float32)
ARGS = (ms.Tensor(np.ones((3, 3), np.float32)),)


def breaks(x):
    y = ops.relu(x)
    return y * float(np.linalg.det(ARRAY))


DETERMINANT = float(np.linalg.det(ARRAY))


def mended(x):
    return ops.relu(x) * DETERMINANT
