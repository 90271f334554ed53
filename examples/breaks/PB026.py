"""Loggers take locks, look at frames and write."""
import logging

import numpy as np
import pijit as ms
from pijit import ops

ARGS = (ms.Tensor(np.ones((3, 4), np.float32)),)
log = logging.getLogger("steps")
log.addHandler(logging.NullHandler())


def breaks(x):
    y = ops.relu(x)
    log.warning("a step of %s", y.shape)
    return y * 2


def mended(x):
    return ops.relu(x) * 2  # the caller logs what it gets
