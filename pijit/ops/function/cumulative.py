"""Running sums, products and extrema; differences of neighbours."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import one_operator
from pijit.ops.function.creation import arange, _filled
from pijit.ops.function.elementwise import (cast, exp, isnan, log, logical_and, logical_not, logical_or, _need_tensor,
                                            stop_gradient)
from pijit.ops.function.joining import concat
from pijit.ops.function.rearranging import flip
from pijit.ops.function.shapes import _axis, expand_dims, narrow, reshape, swapaxes
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from pijit._C import DType
    from pijit._types import TensorLike


def cumulative_logsumexp(x: Tensor, axis: int, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """log of the running sums of exp along an axis.

    Args:
        x (Tensor): the input, of 1 dimension or more and int or float dtype.
        axis (int): the axis; -1 is the last one.
        exclusive (bool, optional): whether an element itself is left out. Default: False.
        reverse (bool, optional): whether sums run from the end. Default: False.

    Returns:
        Tensor of x's shape. Floats keep their dtype; ints give float32; not for bool and complex.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.function.cumulative_logsumexp(Tensor([0.0, 0.0]), 0))
        [0.        0.6931472]
    """
    a = _axis(int(axis), x.ndim)
    if reverse:
        x = flip(x, (a,))
    y = logcumsumexp(x, a)
    if exclusive:
        first = _filled((*y.shape[:a], 1, *y.shape[a + 1:]), -3.4028234663852886e38, dtype=y.dtype)
        y = concat([first, narrow(y, a, 0, y.shape[a] - 1)], a)
    return flip(y, (a,)) if reverse else y


@one_operator
def cumsum(x: Tensor, axis: int, dtype: DType | None = None) -> Tensor:
    """Running sums.

    Args:
        x (Tensor): the input, of 1 dimension or more and int, float or complex dtype.
        axis (int): the axis; -1 is the last one.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor of x's shape and dtype. Ints, floats and complex keep their dtype; not for bool.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.cumsum(Tensor([1.0, 2.0, 3.0]), 0))
        [1. 3. 6.]
    """
    return _ops["cumsum"](x if dtype is None else cast(x, dtype), axis, False)


@_named(method=True)
@one_operator
def cumprod(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """Running products along one dimension.

    By log2(size) steps of pairwise products (Hillis and Steele, "Data parallel algorithms", CACM 1986). Raises
    ValueError for a dimension out of range.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        dim (int): the axis; -1 is the last one.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.cumprod(Tensor([1.0, 2.0, 3.0]), 0))
        [1. 2. 6.]
    """
    x = input if dtype is None else cast(input, dtype)
    rank = len(x.shape)
    if not -rank <= dim < rank:
        raise _check.refused("cumprod", "dim", _check.within(-rank, rank, "[)"), dim)
    dim = _axis(dim, rank)
    size, step = x.shape[dim], 1
    while step < size:
        before = [slice(None)] * rank
        low, high = list(before), list(before)
        low[dim], high[dim] = slice(0, step), slice(step, size)
        before[dim] = slice(0, size - step)
        x = _ops["concat"]([x[tuple(low)], x[tuple(high)] * x[tuple(before)]], axis=dim)
        step *= 2
    return x


def _running(x, axis, better):
    """(extrema up to each place of an axis, where they are): pairs at distances of 1, 2, 4, ... are joined (Hillis &
    Steele 1986)."""
    if not -x.ndim <= axis < x.ndim:
        raise _check.refused("cummax/cummin", "axis", _check.within(-x.ndim, x.ndim, "[)"), axis)
    a = _axis(axis, x.ndim)
    n = x.shape[a]
    at = reshape(arange(n), (-1,) + (1,) * (x.ndim - 1 - a))
    at = _ops["broadcast_to"](at, x.shape)
    step = 1
    while step < n:
        before_x, before_at = narrow(x, a, 0, n - step), narrow(at, a, 0, n - step)
        here_x, here_at = narrow(x, a, step, n - step), narrow(at, a, step, n - step)
        keep = better(before_x, here_x)
        x = _ops["concat"]([narrow(x, a, 0, step), _ops["select"](keep, before_x, here_x)], a)
        at = _ops["concat"]([narrow(at, a, 0, step), _ops["select"](keep, before_at, here_at)], a)
        step *= 2
    return x, at


@_named(method=True)
def cummax(input: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """(maxima up to each place, where they are as int64); of equal ones the last.

    Args:
        input (Tensor): the input, of 1 dimension or more and bool, int or float dtype.
        axis (int): the axis; -1 is the last one.

    Returns:
        (Tensor, int64 Tensor) of input's shape. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.cummax(Tensor([1.0, 3.0, 2.0]), 0)[0])
        [1. 3. 3.]
    """
    return _running(input, axis, lambda before,
                    here: logical_or(before > here, logical_and(isnan(before), logical_not(isnan(here)))))


@_named(method=True)
def cummin(input: Tensor, axis: int) -> tuple[Tensor, Tensor]:
    """(minima up to each place, where they are as int32); of equal ones the last.

    Args:
        input (Tensor): the input, of 1 dimension or more and bool, int or float dtype.
        axis (int): the axis; -1 is the last one.

    Returns:
        (Tensor, int32 Tensor) of input's shape. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.cummin(Tensor([3.0, 1.0, 2.0]), 0)[0])
        [3. 1. 1.]
    """
    y, at = _running(input, axis, lambda before,
                     here: logical_or(before < here, logical_and(isnan(before), logical_not(isnan(here)))))
    return y, cast(at, mstype.int32)


@_named(method=True)
def logcumsumexp(input: Tensor, axis: int) -> Tensor:
    """log of the sums of exp up to each place, without overflow.

    Args:
        input (Tensor): the input, of 1 dimension or more and int or float dtype.
        axis (int): the axis; -1 is the last one.

    Returns:
        Tensor of input's shape. Floats keep their dtype; ints give float32; not for bool and complex.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.logcumsumexp(Tensor([0.0, 0.0]), 0))
        [0.        0.6931472]
    """
    top = _running(stop_gradient(input), axis, lambda before, here: before > here)[0]
    a = _axis(axis, input.ndim)
    n = input.shape[a]
    # sums against each place's own maximum: [..., place, element]
    x, m = swapaxes(input, a, -1), swapaxes(top, a, -1)
    place = arange(n)
    below = expand_dims(place, 1) >= place
    gap = _ops["select"](below, expand_dims(x, -2) - expand_dims(m, -1), float("-inf"))
    return swapaxes(m + log(_ops["reduce_sum"](exp(gap), -1, False)), a, -1)


@_named(method=True, mint=True)
def diff(x: Tensor, n: int = 1, axis: int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
    """Differences of neighbours along an axis, n times.

    Args:
        x (Tensor): the input, of 1 dimension or more and any dtype.
        n (int, optional): how many. Default: 1.
        axis (int, optional): the axis; -1 is the last one. Default: -1.
        prepend (Tensor, optional): what to put in front first. Default: None.
        append (Tensor, optional): what to put behind first. Default: None.

    Returns:
        Tensor, shorter by n along the axis. Bool, ints, floats and complex keep their dtype.

    Raises:
        IndexError: if `axis` is out of range.

    Example:
        >>> print(ops.diff(Tensor([1, 4, 9])))
        [3 5]
    """
    parts = [p for p in (prepend, x, append) if p is not None]
    a = _axis(axis, x.ndim)
    if len(parts) > 1:
        x = _ops["concat"](parts, a)
    for _ in builtins.range(n):
        size = x.shape[a]
        if size == 0:
            break
        later, before = narrow(x, a, 1, size - 1), narrow(x, a, 0, size - 1)
        x = _ops["not_equal"](later, before) if x.dtype == mstype.bool_ else later - before
    return x


def trapz(y: TensorLike, x: Tensor | None = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """Integral along an axis by the trapezoidal rule, over places x or places dx apart.

    Args:
        y (Tensor or number): the second operand.
        x (Tensor, optional): the places. Default: None.
        dx (float, optional): the distance of places. Default: 1.0.
        dim (int, optional): the axis; -1 is the last one. Default: -1.

    Returns:
        Tensor without the dimension. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        TypeError: if `y` is not a Tensor.
        IndexError: if `dim` is out of range.

    Example:
        >>> print(ops.trapz(Tensor([1.0, 2.0, 3.0])))
        4.0
    """
    _need_tensor("trapz", "y", y)
    a = _axis(dim, y.ndim)
    n = y.shape[a]
    pairs = narrow(y, a, 1, n - 1) + narrow(y, a, 0, n - 1)
    if x is None:
        return _ops["reduce_sum"](pairs, a, False) * (dx / 2.0)
    if x.ndim == 1:
        x = reshape(x, (-1,) + (1,) * (y.ndim - 1 - a))
    return _ops["reduce_sum"](pairs * diff(x, 1, a), a, False) / 2.0


def diff_ext(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None,
             append: Tensor | None = None) -> Tensor:
    """As diff.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        n (int, optional): how many. Default: 1.
        dim (int, optional): the axis; -1 is the last one. Default: -1.
        prepend (Tensor, optional): what to put in front first. Default: None.
        append (Tensor, optional): what to put behind first. Default: None.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.
        IndexError: if `dim` is out of range.

    Example:
        >>> print(ops.diff_ext(Tensor([1, 4, 9])))
        [3 5]
    """
    _need_tensor("diff_ext", "input", input)
    return diff(input, n, dim, prepend, append)
