"""A generator that was started lives on across a break: only CPython can go on with it."""
import numpy as np
import pijit as ms
from pijit import ops

ARGS = (ms.Tensor(np.ones((3, 4), np.float32)),)


def breaks(x):
    doubled = (k * 2 for k in [1, 2, 3])
    y = x * next(doubled)
    y = y[y > 0]  # a break of its own
    return y.sum() + next(doubled)


def mended(x):
    first, second, _ = [k * 2 for k in [1, 2, 3]]
    y = x * first
    return ops.where(y > 0, y, 0.0).sum() + second
