"""A function of a C module that pijit does not know may do anything: CPython calls it."""
import zlib

import numpy as np
import pijit as ms
from pijit import ops

ARGS = (ms.Tensor(np.ones((3, 4), np.float32)),)
NAME = b"a name that does not change"


def breaks(x):
    y = ops.relu(x)
    return y * (zlib.crc32(NAME) % 7)


SEED = zlib.crc32(NAME) % 7


def mended(x):
    return ops.relu(x) * SEED
