"""A number of a Tensor must be known where Python computes with it."""
import numpy as np
import pijit as ms
from pijit import ops

ARGS = (ms.Tensor(np.ones((3, 4), np.float32)),)


def breaks(x):
    y = ops.relu(x)
    return [y] * int(y.sum())


def mended(x):
    y = ops.relu(x)
    return [y] * (x.shape[0] * x.shape[1])
