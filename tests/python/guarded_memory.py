"""Arrays between pages that nobody may touch."""

import ctypes
import mmap

import numpy as np

LIBC, PAGE = ctypes.CDLL(None, use_errno=True), mmap.PAGESIZE
kept = []  # pages stay as they are


def guarded(a, front):
    """A copy of an array that begins, or ends, where such a page does."""
    pages = max(-(-a.nbytes // PAGE), 1)
    memory = mmap.mmap(-1, (pages + 2) * PAGE)
    kept.append(memory)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for page in (0, pages + 1):
        assert LIBC.mprotect(ctypes.c_void_p(base + page * PAGE), PAGE, 0) == 0
    at = base + (PAGE if front else PAGE * (pages + 1) - a.nbytes)
    b = np.frombuffer((ctypes.c_char * a.nbytes).from_address(at), a.dtype).reshape(a.shape)
    b[...] = a
    return b
