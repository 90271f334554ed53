"""A clock says something else at each call."""
import time

import numpy as np
import pijit as ms
from pijit import ops

ARGS = (ms.Tensor(np.ones((3, 4), np.float32)),)


def breaks(x):
    begin = time.perf_counter()
    y = ops.relu(x)
    return y * (time.perf_counter() >= begin)


def mended(x):
    return ops.relu(x) * True  # the caller asks the clock
