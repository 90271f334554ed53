"""Python's own processes, by MindSpore's name. Tensors travel between them by their values, as arrays do."""

import multiprocessing as _processes
from multiprocessing import *  # noqa: F403

__all__ = list(_processes.__all__)
