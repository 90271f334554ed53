"""Calls are inlined to a depth that a recursion passes."""
import numpy as np
import pijit as ms
from pijit import ops

ARGS = (ms.Tensor(np.ones((3, 4), np.float32)),)


def halved(x, n):
    return x if n == 0 else halved(x * 0.5, n - 1)


def breaks(x):
    return ops.relu(halved(x, 100))


def mended(x):
    for _ in range(100):
        x = x * 0.5
    return ops.relu(x)
