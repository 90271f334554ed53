"""CPython raises what it raises for a name without a value."""
import numpy as np
import pijit as ms
from pijit import ops

ARGS = (ms.Tensor(np.ones((3, 4), np.float32)), None)
RAISES = UnboundLocalError


def breaks(x, scale):
    if scale is not None:
        factor = scale
    return ops.relu(x) * factor


def mended(x, scale):
    factor = 1 if scale is None else scale
    return ops.relu(x) * factor
