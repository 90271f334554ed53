"""The first import of a module executes it."""
import sys

import numpy as np
import pijit as ms
from pijit import ops

ARGS = (ms.Tensor(np.ones((3, 4), np.float32)),)
sys.modules.pop("colorsys", None)


def breaks(x):
    y = ops.relu(x)
    import colorsys
    return y * colorsys.rgb_to_hls(1, 1, 1)[1]


def mended(x, light=1.0):
    return ops.relu(x) * light
