"""Files are CPython's."""
import os

import numpy as np
import pijit as ms
from pijit import ops

ARGS = (ms.Tensor(np.ones((3, 4), np.float32)),)


def breaks(x):
    y = ops.relu(x)
    with open(os.devnull) as f:
        return y * (len(f.read()) + 1)


with open(os.devnull) as settings:
    FACTOR = len(settings.read()) + 1


def mended(x):
    return ops.relu(x) * FACTOR
