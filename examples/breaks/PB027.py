"""Python's generator of random numbers changes its state."""
import random

import numpy as np
import pijit as ms
from pijit import ops

ARGS = (ms.Tensor(np.ones((3, 4), np.float32)),)
SAME = False  # random


def breaks(x):
    return ops.relu(x) * random.random()


def mended(x, scale=random.random()):
    return ops.relu(x) * scale
