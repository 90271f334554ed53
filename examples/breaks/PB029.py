"""Code that is compiled from a text, or looks at the variables of its frame, needs that frame."""
import numpy as np
import pijit as ms
from pijit import ops

ARGS = (ms.Tensor(np.ones((3, 4), np.float32)),)


def breaks(x):
    y = ops.relu(x)
    return y * eval("1 + 1")


def mended(x):
    return ops.relu(x) * (1 + 1)
