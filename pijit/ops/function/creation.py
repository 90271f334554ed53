"""Tensors from scratch."""

import builtins
import math

from pijit import dtype as mstype
from pijit._C import Tensor, ops as _ops
from pijit.ops.function.elementwise import _need_tensor, _number
from pijit.ops.function.shapes import _ints, expand_dims, moveaxis


def full(size, fill_value, *, dtype=None):
    """A tensor of `size` filled with one value."""
    if dtype is None:
        dtype = mstype.bool_ if isinstance(fill_value, bool) else mstype.int64 if isinstance(fill_value, int) else mstype.float32
    return _ops["broadcast_to"](_number(fill_value, dtype), _ints(size))


def fill(type, shape, value):
    """A tensor of `shape` and dtype `type` filled with `value`."""
    return full(shape, value, dtype=type)


def zeros(size, dtype=None):
    """Zeros."""
    return full(size, 0, dtype=mstype.float32 if dtype is None else dtype)


def ones(shape, dtype=None):
    """Ones."""
    return full(shape, 1, dtype=mstype.float32 if dtype is None else dtype)


def zeros_like(input, *, dtype=None):
    """Zeros of the same shape and dtype."""
    _need_tensor("zeros_like", "input", input)
    return full(input.shape, 0, dtype=input.dtype if dtype is None else dtype)


def ones_like(input, *, dtype=None):
    """Ones of the same shape and dtype. TypeError where input is no Tensor."""
    _need_tensor("ones_like", "input", input)
    return full(input.shape, 1, dtype=input.dtype if dtype is None else dtype)


def full_like(input, fill_value, *, dtype=None):
    """One value in the same shape and dtype."""
    return full(input.shape, fill_value, dtype=input.dtype if dtype is None else dtype)


def arange(start=0, end=None, step=1, *, dtype=None):
    """Values from start to end (not included) by step."""
    if end is None:
        start, end = 0, start
    if dtype is None:
        dtype = mstype.float32 if isinstance(start, float) or isinstance(end, float) or isinstance(step, float) else mstype.int64
    if step == 0:
        raise ValueError("For 'arange', 'step' must not be 0.")
    if isinstance(start, int) and isinstance(end, int) and isinstance(step, int):
        count = builtins.max(0, -((start - end) // step))
    else:
        count = builtins.max(0, math.ceil((end - start) / step))
    return _ops["arange"](start, step, count, dtype)


def range(start, end=None, step=1, maxlen=1000000):  # noqa: A001
    """Like arange, of at most maxlen values; of floating Tensors in their dtype."""
    dtype = [x.dtype for x in (start, end, step) if isinstance(x, Tensor)]
    if dtype:
        start, end, step = [x.item() if isinstance(x, Tensor) else x for x in (start, end, step)]
    if end is not None and (start > end if step > 0 else start < end):
        raise ValueError(f"For 'range', 'end' {end} can't be reached from 'start' {start} by steps of {step}.")
    r = arange(start, end, step, dtype=dtype[0] if dtype and dtype[0].is_floating_point else None)
    if r.size > maxlen:
        raise ValueError(f"For 'range', {r.size} values are more than 'maxlen' {maxlen}.")
    return r


def linspace(start, end, steps):
    """`steps` values from start to end, both included. ValueError for less than one."""
    if steps < 1:
        raise ValueError(f"For 'linspace', 'steps' must be at least 1, but got {steps}.")
    if steps == 1:
        if isinstance(start, Tensor):
            return _ops["reshape"](start if start.dtype.is_floating_point else _ops["cast"](start, mstype.float32), (1,))
        return full((1,), float(start))
    return _ops["arange"](0, 1, steps, mstype.float32) * ((end - start) / (steps - 1)) + start


def eye(n, m=None, dtype=None):
    """[n, m] (n by default) with ones on the diagonal, float32 by default. ValueError for sizes below 0."""
    m = n if m is None else m
    if n < 0 or m < 0:
        raise ValueError(f"For 'eye', sizes must be at least 0, but got {n} and {m}.")
    d = mstype.float32 if dtype is None else dtype
    return _ops["cast"](expand_dims(arange(n), 1) == arange(m), d)


def tril(input, diagonal=0):
    """The lower triangle; the rest is 0."""
    m, n = input.shape[-2:]
    keep = (expand_dims(arange(m), 1) + diagonal) >= arange(n)
    return _ops["select"](keep, input, zeros_like(input))


def triu(input, diagonal=0):
    """The upper triangle; the rest is 0."""
    m, n = input.shape[-2:]
    keep = (expand_dims(arange(m), 1) + diagonal) <= arange(n)
    return _ops["select"](keep, input, zeros_like(input))


def one_hot(indices, depth, on_value=1, off_value=0, axis=-1):
    """Rows with on_value at the index."""
    d = on_value.dtype if isinstance(on_value, Tensor) else mstype.float32 if isinstance(on_value, float) else mstype.int64
    if isinstance(on_value, Tensor) or isinstance(off_value, Tensor):
        hit = _ops["one_hot"](indices, depth, 1, 0, mstype.int32)
        x = _ops["select"](_ops["not_equal"](hit, 0), _ops["cast"](on_value, d), _ops["cast"](off_value, d))
    else:
        x = _ops["one_hot"](indices, depth, on_value, off_value, d)
    return x if axis == -1 or axis == indices.ndim else moveaxis(x, -1, axis)


def fills(x, value):
    """One value in x's shape and dtype."""
    return full(x.shape, value, dtype=x.dtype)
