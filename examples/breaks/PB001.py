"""A class is made by code that only its own frame can run."""
import numpy as np
import pijit as ms
from pijit import ops

ARGS = (ms.Tensor(np.ones((3, 4), np.float32)),)


def breaks(x):
    class Scales:
        first = 2
    return ops.relu(x) * Scales.first


class Scales:
    first = 2


def mended(x):
    return ops.relu(x) * Scales.first
