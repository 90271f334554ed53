"""Random numbers, from the generator state of pijit.random."""

from pijit import dtype as mstype
from pijit import random as _random
from pijit._C import ops as _ops
from pijit.ops.function.creation import zeros_like
from pijit.ops.function.elementwise import cast, floor, minimum


def rand(*size, dtype=None, seed=None):  # noqa: ARG001
    """Uniform in [0, 1)."""
    x = _random.uniform(_size(size))
    return x if dtype is None else cast(x, dtype)


def randn(*size, dtype=None, seed=None):  # noqa: ARG001
    """Standard normal."""
    x = _random.normal(_size(size))
    return x if dtype is None else cast(x, dtype)


def _size(size):
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else tuple(size)


def rand_like(input, seed=None, *, dtype=None):  # noqa: ARG001
    """Uniform in [0, 1), of the same shape."""
    return rand(*input.shape, dtype=input.dtype if dtype is None else dtype)


def randn_like(input, seed=None, *, dtype=None):  # noqa: ARG001
    """Standard normal, of the same shape."""
    return randn(*input.shape, dtype=input.dtype if dtype is None else dtype)


def standard_normal(shape, seed=None):  # noqa: ARG001
    """Standard normal."""
    return _random.normal(tuple(shape))


def uniform(shape, minval, maxval, seed=None, dtype=mstype.float32):  # noqa: ARG001
    """Uniform in [minval, maxval)."""
    return cast(_random.uniform(tuple(shape)) * (maxval - minval) + minval, dtype)


def normal(shape, mean, stddev, seed=None):  # noqa: ARG001
    """N(mean, stddev^2)."""
    return _random.normal(tuple(shape)) * stddev + mean


def randint(low, high, size, seed=None, *, dtype=None):  # noqa: ARG001
    """Integers in [low, high)."""
    x = floor(_random.uniform(tuple(size)) * float(high - low)) + float(low)
    return cast(minimum(x, float(high - 1)), mstype.int64 if dtype is None else dtype)


def dropout(input, p=0.5, training=True, seed=None):  # noqa: ARG001
    """Elements zeroed with probability p, the others scaled by 1 / (1 - p)."""
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"For 'dropout', 'p' must be in [0, 1], but got {p}.")
    if not training or p == 0:
        return input
    if p == 1:
        return zeros_like(input)

    keep = _random.uniform(input.shape) >= p
    return _ops["select"](keep, input * (1.0 / (1.0 - p)), 0.0)
