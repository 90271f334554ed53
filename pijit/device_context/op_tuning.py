"""How kernels use the processor."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def threads_num(num: Any) -> None:
    """How many threads kernels of this thread run on from now on. TypeError for another kind, ValueError below 1."""
    if isinstance(num, bool) or not isinstance(num, int):
        raise TypeError(f"For 'threads_num', 'num' must be an int, but got {type(num).__name__}.")
    if num < 1:
        raise ValueError(f"For 'threads_num', 'num' must be at least 1, but got {num}.")
    ctypes.CDLL("libgomp.so.1").omp_set_num_threads(num)


__all__ = ["threads_num"]
