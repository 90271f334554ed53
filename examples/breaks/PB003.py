"""How a Tensor is printed in a text depends on its value."""
import numpy as np
import pijit as ms
from pijit import ops

ARGS = (ms.Tensor(np.ones((3, 4), np.float32)),)


def breaks(x):
    y = ops.relu(x).sum()
    text = f"{y}"
    return y * 2, text


def mended(x):
    return ops.relu(x).sum() * 2
