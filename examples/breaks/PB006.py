"""What the next item is can't be known before it is asked for."""
import numpy as np
import pijit as ms
from pijit import ops

ARGS = (ms.Tensor(np.ones((3, 4), np.float32)),)


def breaks(x):
    items = iter([0, 1, 2].pop, 0)
    y = ops.relu(x)
    for k in items:
        y = y + k
    return y


def mended(x):
    y = ops.relu(x)
    for k in [2, 1]:
        y = y + k
    return y
