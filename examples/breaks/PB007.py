"""CPython raises the exception, with the traceback that the plain function has."""
import numpy as np
import pijit as ms
from pijit import ops

ARGS = (ms.Tensor(np.ones((3, 4), np.float32)),)
RAISES = KeyError


def breaks(x, sizes={"small": 1}):
    y = ops.relu(x)
    return y * sizes["large"]


def mended(x, sizes={"small": 1}):
    y = ops.relu(x)
    return y * sizes.get("large", 2)
