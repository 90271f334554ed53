"""Reductions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _C, _check, dtype as mstype
from pijit._C import ops as _ops
from pijit.compute_dtype import as_one, one_operator
from pijit.ops.function.creation import zeros
from pijit.ops.function.elementwise import (abs, cast, exp, isfinite, isnan, log, logical_not, _need_tensor,
                                            stop_gradient)
from pijit.ops.function.shapes import _axis, expand_dims, _ints, ravel, squeeze
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from pijit._C import DType, Tensor
    from pijit._types import Axis, Number


def _axes(axis):
    if axis is None:
        return ()
    return axis if isinstance(axis, int) else tuple(axis)


# What sums and products of these count in.
_SMALL = frozenset((mstype.bool_, mstype.int8, mstype.int16, mstype.int32, mstype.uint8))


def sum(input: Tensor, dim: Axis | None = None, keepdim: bool = False, *, dtype: DType | None = None) -> Tensor:
    """Sum over axes (all by default); bool and integers of up to 32 bits give int64.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        dim (int or tuple of int, optional): the axes; all by default. Default: None.
        keepdim (bool, optional): whether axes stay, as axes of 1. Default: False.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor without the axes, or with axes of 1. Floats and complex keep their dtype; bool gives int64.

    Raises:
        ValueError: if `dim` is out of range.

    Example:
        >>> print(ops.sum(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
        [4. 6.]
    """
    if dtype is not None:
        if _C.compute_dtype() is not None:
            return as_one(sum, input, dim, keepdim, dtype=dtype)
        input = cast(input, dtype)
    elif input.dtype in _SMALL:
        input = cast(input, mstype.int64)
    return _ops["reduce_sum"](input, _axes(dim), keepdim)


def _count(x, axis):
    if axis is None or axis == () or x.ndim == 0:
        return x.size
    n = 1
    for a in _ints(axis):
        n *= x.shape[a]
    return n


def mean(x: Tensor, axis: Axis | None = None, keep_dims: bool = False) -> Tensor:
    """Arithmetic mean over axes (all by default). Integers keep their dtype: the mean is rounded towards 0.

    Raises TypeError for bool, ValueError for an axis out of range or named twice.

    Args:
        x (Tensor): the input, of any shape and int, float or complex dtype.
        keep_dims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        Tensor without the axes, or with axes of 1. Ints, floats and complex keep their dtype; not for bool.

    Example:
        >>> print(ops.mean(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
        [2. 3.]
    """
    _need_tensor("mean", "x", x)
    if x.dtype.is_floating_point or x.dtype in mstype.complex_type:
        total = _ops["reduce_sum"](x, _axes(axis), keep_dims)
        n = _count(x, axis)
        return total / (float(n) if n else float("nan"))
    if x.dtype == mstype.bool_:
        raise TypeError("For 'mean', 'x' must be a number, but got Bool: cast it first, as in x.astype(ms.float32).")
    total = _ops["reduce_sum"](cast(x, mstype.int64), _axes(axis), keep_dims)
    n = _count(x, axis)
    if not n:
        raise _check.refused("mean", "'x' of integers", _check.value("have elements to divide by"), x.shape)
    quotient = _ops["floor_div"](abs(total), n)
    return cast(_ops["select"](total < 0, -quotient, quotient), x.dtype)


def prod(input: Tensor, axis: Axis | None = None, keep_dims: bool = False, dtype: DType | None = None) -> Tensor:
    """Product over axes; bool and integers of up to 32 bits give int64.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        axis (int or tuple of int, optional): the axes; all by default. Default: None.
        keep_dims (bool, optional): whether axes stay, as axes of 1. Default: False.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor without the axes, or with axes of 1. Floats and complex keep their dtype; bool gives int64.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.prod(Tensor([1.0, 2.0, 3.0])))
        6.0
    """
    if dtype is not None:
        if _C.compute_dtype() is not None:
            return as_one(prod, input, axis, keep_dims, dtype)
        input = cast(input, dtype)
    elif input.dtype in _SMALL:
        input = cast(input, mstype.int64)
    return _ops["reduce_prod"](input, _axes(axis), keep_dims)


def _taking_part(pair, x, initial, where, each=False):
    """x with `initial` where a condition doesn't hold; `initial` against each element on request."""
    if where is not None and where is not True:
        if initial is None:
            raise ValueError(f"For '{pair}', 'where' needs 'initial': what no element decides has no value.")
        x = _ops["select"](where, x, initial)
    return _ops[pair](x, initial) if each and initial is not None else x


def _extremum(pair, reduce, x, axis, keep, initial, where):
    x = _taking_part(pair, x, initial, where)
    r = _ops[reduce](x, _axes(axis), keep)
    return r if initial is None else _ops[pair](r, initial)


@_named(method=True)
def amax(input: Tensor, axis: Axis | None = None, keepdims: bool = False, *, initial: Number | None = None,
         where: Tensor | None = None) -> Tensor:
    """Maximum over axes, of elements where a condition holds, and of `initial`.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        axis (int or tuple of int, optional): the axes; all by default. Default: None.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.
        initial (number, optional): a value that takes part beside the elements. Default: None.
        where (Tensor, optional): bools: which elements take part. Default: None.

    Returns:
        Tensor without the axes, or with axes of 1. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.amax(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
        [3. 4.]
    """
    return _extremum("maximum", "reduce_max", input, axis, keepdims, initial, where)


@_named(method=True)
def amin(input: Tensor, axis: Axis | None = None, keepdims: bool = False, *, initial: Number | None = None,
         where: Tensor | None = None) -> Tensor:
    """Minimum over axes, of elements where a condition holds, and of `initial`.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        axis (int or tuple of int, optional): the axes; all by default. Default: None.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.
        initial (number, optional): a value that takes part beside the elements. Default: None.
        where (Tensor, optional): bools: which elements take part. Default: None.

    Returns:
        Tensor without the axes, or with axes of 1. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.amin(Tensor([[1.0, 2.0], [3.0, 4.0]]), 0))
        [1. 2.]
    """
    return _extremum("minimum", "reduce_min", input, axis, keepdims, initial, where)


def all(input: Tensor, axis: Axis | None = None, keep_dims: bool = False) -> Tensor:
    """Logical and over axes.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        axis (int or tuple of int, optional): the axes; all by default. Default: None.
        keep_dims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        bool Tensor without the axes, or with axes of 1.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.all(Tensor([True, False])))
        False
    """
    return _ops["reduce_all"](input, _axes(axis), keep_dims)


def any(input: Tensor, axis: Axis | None = None, keep_dims: bool = False) -> Tensor:
    """Logical or over axes; of uint8 as uint8, as MindSpore has it.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        axis (int or tuple of int, optional): the axes; all by default. Default: None.
        keep_dims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        bool Tensor without the axes, or with axes of 1.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.any(Tensor([True, False])))
        True
    """
    _need_tensor("any", "input", input)
    if input.dtype == mstype.uint8:
        return cast(_ops["reduce_any"](input, _axes(axis), keep_dims), mstype.uint8)
    return _ops["reduce_any"](input, _axes(axis), keep_dims)


def _of_element(x, axis, keep, where_from):
    """(the elements of one axis at the indices that `where_from` finds, these indices): a gradient goes to them
    alone."""
    if x.ndim == 0:
        return x, where_from(x, axis, keep)
    at = where_from(x, axis, True)
    values = _ops["gather_d"](x, at, axis)
    return (values, at) if keep else (squeeze(values, axis), squeeze(at, axis))


def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Index of the (first) maximum; over all elements when dim is None.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        dim (int, optional): the axis; all elements by default. Default: None.
        keepdim (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        int64 Tensor. Bool and floats give int64; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range.

    Example:
        >>> print(ops.argmax(Tensor([1.0, 3.0, 2.0])))
        1
    """
    return _arg(_ops["argmax"], input, dim, keepdim)


def argmin(input: Tensor, axis: Axis | None = None, keepdims: bool = False) -> Tensor:
    """Index of the (first) minimum as int32 (int64 for no dimensions, as MindSpore has it).

    Over all elements when axis is None.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        int32 Tensor. Bool and floats give int32; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.argmin(Tensor([1.0, 3.0, 2.0])))
        0
    """
    at = _arg(_ops["argmin"], input, axis, keepdims)
    return at if input.ndim == 0 else cast(at, mstype.int32)


def _least(input, axis, keepdims):
    return _arg(_ops["argmin"], input, axis, keepdims)


def _arg(op, x, axis, keep):
    if axis is None:
        return op(ravel(x), 0)
    if x.ndim == 0 and axis in (0, -1):
        return op(ravel(x), 0)
    r = op(x, axis)
    return expand_dims(r, _axis(axis, x.ndim)) if keep else r


def max(input: Tensor, axis: int | None = None, keepdims: bool = False, *, initial: Number | None = None,
        where: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """(values, indices) along one axis; over everything, the maximum and index 0, as MindSpore has it.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        axis (int, optional): the axis; all elements by default. Default: None.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.
        initial (number, optional): a value that takes part beside the elements. Default: None.
        where (Tensor, optional): bools: which elements take part. Default: None.

    Returns:
        (Tensor, int64 Tensor). Bool, ints and floats keep their dtype; not for complex.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> for part in ops.max(Tensor([1.0, 3.0, 2.0]), 0):
        ...     print(part)
        3.0
        1
    """
    if axis is None:
        return amax(input, initial=initial, where=where), zeros((), mstype.int64)
    if initial is None and where is None:
        return _of_element(input, axis, keepdims, argmax)
    return amax(input, axis, keepdims, initial=initial, where=where), argmax(
        _taking_part("maximum", input, initial, where, True), axis, keepdims)


def min(input: Tensor, axis: int | None = None, keepdims: bool = False, *, initial: Number | None = None,
        where: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """(values, indices) along one axis; over everything, the minimum and index 0.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        axis (int, optional): the axis; all elements by default. Default: None.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.
        initial (number, optional): a value that takes part beside the elements. Default: None.
        where (Tensor, optional): bools: which elements take part. Default: None.

    Returns:
        (Tensor, int64 Tensor). Bool, ints and floats keep their dtype; not for complex.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> for part in ops.min(Tensor([1.0, 3.0, 2.0]), 0):
        ...     print(part)
        1.0
        0
    """
    if axis is None:
        return amin(input, initial=initial, where=where), zeros((), mstype.int64)
    if initial is None and where is None:
        return _of_element(input, axis, keepdims, _least)
    return amin(input, axis, keepdims, initial=initial, where=where), _least(
        _taking_part("minimum", input, initial, where, True), axis, keepdims)


def logsumexp(input: Tensor, dim: Axis, keepdim: bool = False) -> Tensor:
    """log(sum(exp(x))), shifted by the maximum.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        dim (int or tuple of int): the axes.
        keepdim (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        Tensor without the axes, or with axes of 1. Floats keep their dtype; bool and ints give float32; not for
            complex.

    Raises:
        ValueError: if `dim` is out of range.

    Example:
        >>> print(ops.logsumexp(Tensor([0.0, 0.0]), 0))
        0.6931472
    """
    if input.ndim == 0 and dim in (0, -1):
        return input + 0.0
    m = stop_gradient(_ops["reduce_max"](input, _axes(dim), True))
    m = _ops["select"](isfinite(m), m, 0.0)
    s = log(_ops["reduce_sum"](exp(input - m), _axes(dim), True)) + m
    return s if keepdim else squeeze(s, dim)


def count_nonzero(x: Tensor, axis: Axis = (), keep_dims: bool = False, dtype: DType = mstype.int32) -> Tensor:
    """The number of elements that are not 0.

    Args:
        x (Tensor): the input, of any shape and any dtype.
        axis (int or tuple of int, optional): the axes; all by default. Default: ().
        keep_dims (bool, optional): whether axes stay, as axes of 1. Default: False.
        dtype (dtype, optional): the dtype of the result. Default: int32.

    Returns:
        Tensor of `dtype` without the axes, or with axes of 1. Bool, floats and complex give int32.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.count_nonzero(Tensor([0.0, 2.0, 3.0])))
        2
    """
    return _ops["reduce_sum"](cast(x != 0, dtype), _axes(axis), keep_dims)


@one_operator
def nansum(input: Tensor, axis: int | None = None, keepdims: bool = False, *, dtype: DType | None = None) -> Tensor:
    """Sum of the elements that are not NaN.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        axis (int, optional): the axis; -1 is the last one. Default: None.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor without the axes, or with axes of 1. Ints, floats and complex keep their dtype; bool gives int64.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.nansum(Tensor([1.0, float("nan")])))
        1.0
    """
    _need_tensor("nansum", "input", input)
    if dtype is None and not input.dtype.is_floating_point:
        dtype = mstype.int64 if input.dtype == mstype.bool_ else input.dtype
    return sum(_ops["select"](isnan(input), 0, input), axis, keepdims, dtype=dtype)


@_named(method=True)
@one_operator
def nanmean(input: Tensor, axis: int | None = None, keepdims: bool = False, *, dtype: DType | None = None) -> Tensor:
    """Mean of the elements that are not NaN.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        axis (int, optional): the axis; -1 is the last one. Default: None.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor without the axes, or with axes of 1. Floats keep their dtype; bool, ints and complex give float32.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.nanmean(Tensor([1.0, float("nan")])))
        1.0
    """
    x = input if dtype is None else cast(input, dtype)
    x = x if x.dtype.is_floating_point else cast(x, mstype.float32)
    count = _ops["reduce_sum"](cast(logical_not(isnan(x)), x.dtype), _axes(axis), keepdims)
    return nansum(x, axis, keepdims) / count


@_named(method=True)
def aminmax(input: Tensor, *, axis: int = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(minimum, maximum) along one axis, or of all elements if axis is None.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        axis (int, optional): the axis; -1 is the last one. Default: 0.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        (Tensor, Tensor). Bool, ints and floats keep their dtype; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> for part in ops.aminmax(Tensor([1.0, 3.0])):
        ...     print(part)
        1.0
        3.0
    """
    return amin(input, axis, keepdims), amax(input, axis, keepdims)


def reduce_sum(x: Tensor, axis: Axis = (), keep_dims: bool = False) -> Tensor:
    """Sum over axes (all by default), in x's dtype; of bools, whether any is true.

    Args:
        x (Tensor): the input, of any shape and any dtype.
        axis (int, optional): the axis; -1 is the last one. Default: ().
        keep_dims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        Tensor without the axes, or with axes of 1. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.reduce_sum(Tensor([1.0, 2.0])))
        3.0
    """
    _need_tensor("reduce_sum", "x", x)
    if x.dtype == mstype.bool_:
        return any(x, axis, keep_dims)
    return _ops["reduce_sum"](x, _axes(axis), keep_dims)


def reduce_mean(x: Tensor, axis: Axis = (), keep_dims: bool = False) -> Tensor:
    """Mean over axes (all by default).

    Args:
        x (Tensor): the input, of any shape and int, float or complex dtype.
        axis (int, optional): the axis; -1 is the last one. Default: ().
        keep_dims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        Tensor without the axes, or with axes of 1. Ints, floats and complex keep their dtype; not for bool.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.reduce_mean(Tensor([1.0, 2.0])))
        1.5
    """
    return mean(x, axis, keep_dims)


def reduce_max(x: Tensor, axis: Axis = (), keep_dims: bool = False) -> Tensor:
    """Maximum over axes (all by default).

    Args:
        x (Tensor): the input, of any shape and bool, int or float dtype.
        axis (int, optional): the axis; -1 is the last one. Default: ().
        keep_dims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        Tensor without the axes, or with axes of 1. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.reduce_max(Tensor([1.0, 2.0])))
        2.0
    """
    return _ops["reduce_max"](x, _axes(axis), keep_dims)


def reduce_min(x: Tensor, axis: Axis = (), keep_dims: bool = False) -> Tensor:
    """Minimum over axes (all by default).

    Args:
        x (Tensor): the input, of any shape and bool, int or float dtype.
        axis (int, optional): the axis; -1 is the last one. Default: ().
        keep_dims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        Tensor without the axes, or with axes of 1. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.reduce_min(Tensor([1.0, 2.0])))
        1.0
    """
    return _ops["reduce_min"](x, _axes(axis), keep_dims)
