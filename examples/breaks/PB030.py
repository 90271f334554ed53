"""A Tensor of numbers that the call computes is made by CPython."""
import numpy as np
import pijit as ms
from pijit import ops

WEIGHTS = np.ones(3, np.float64)
ARGS = (ms.Tensor(np.ones((4, 3), np.float32)), [1.0, "2", 3.0])


def breaks(x, w):
    y = ops.relu(x)
    return y * ms.Tensor([float(v) for v in w] + [WEIGHTS[0]])[:3]


def mended(x, w):
    return ops.relu(x) * ms.Tensor([1.0, 2.0, 3.0])
