"""What this machine reaches at best, measured once per process with kernels that do nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pijit import _C

if TYPE_CHECKING:
    from typing import Any


@dataclass
class Limits:
    """Bytes per second from memory and from caches (data of up to `cached_bytes`), operations per second of float32
    products."""

    memory: float
    cache: float
    cached_bytes: int
    flops: float

    def seconds(self, bytes_: Any, flops: Any) -> Any:
        """What a kernel of so many bytes and operations takes at least."""
        return max(bytes_ / (self.cache if bytes_ <= self.cached_bytes else self.memory), flops / self.flops)


_measured = None


def limits() -> Limits:
    """The Limits of this machine. The first call takes about half a second."""
    global _measured
    if _measured is None:
        _measured = _measure()
    return _measured


def _best(op, *args, calls):
    """Bytes and operations per second of the best of some runs."""
    op(*args)
    recording = _C.record_start()
    try:
        for _ in range(calls):
            op(*args)
    finally:
        recorded = _C.record_stop(recording)
    kernels = [e for e in recorded["events"] if e[0] == "kernel"]
    ns, s = min(e[3] - e[2] for e in kernels), recorded["metadata"][kernels[0][4]]
    return s["bytes"] / ns * 1e9, s["flops"] / ns * 1e9


def _measure():
    before = _C.pause_capture(True)  # eager ops only
    try:
        def rate(size, calls):
            return _best(_C.ops["neg"], _C.Tensor(np.ones(size // 8, np.float32)), calls=calls)[0]
        memory = rate(96 << 20, 6)
        cached_bytes, cache = 0, memory
        for size in (64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20):
            here = rate(size, 20)
            if here > 1.3 * memory:
                cached_bytes = size
            cache = max(cache, here)
        flops = 0.0
        for n in (256, 512, 1024):
            x = _C.Tensor(np.ones((n, n), np.float32))
            flops = max(flops, _best(_C.ops["matmul"], x, x, calls=8)[1])
    finally:
        _C.pause_capture(before)
    return Limits(memory, cache, cached_bytes, flops)
