"""What attributes of primitives are taken for, and what is checked of them."""

from __future__ import annotations

from pijit._C import Tensor


def _ints(x):
    return x.asnumpy().ravel().tolist() if isinstance(x, Tensor) else list(x) if isinstance(x, (tuple, list)) else [x]


def _ints_of(x):
    """The numbers of a tensor, a number, or a sequence, as a tuple."""
    if isinstance(x, Tensor):
        x = x.asnumpy().tolist()
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _plane(x, count=2):
    """The sizes of the plane (or volume) in an int or a list that may name batch and channels too."""
    return (x,) * count if isinstance(x, int) else tuple(x)[-count:]
