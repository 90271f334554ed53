"""How kernels use the processor."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from pijit import _check

if TYPE_CHECKING:
    from typing import Any


def threads_num(num: Any) -> None:
    """How many threads kernels of this thread run on from now on. TypeError for another kind, ValueError below 1."""
    _check.need("threads_num", "num", num, _check.INT, _check.at_least(1))
    ctypes.CDLL("libgomp.so.1").omp_set_num_threads(num)


__all__ = ["threads_num"]
