"""Reductions and norms."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from pijit import _C, _check, dtype as mstype
from pijit._C import ops as _ops
from pijit.compute_dtype import as_one, one_operator
from pijit.ops.function.creation import arange, zeros
from pijit.ops.function.elementwise import (abs, cast, exp, isfinite, isnan, log, logical_and, logical_not, logical_or,
                                            _need_tensor, sqrt, stop_gradient)
from pijit.ops.function.shapes import _axis, expand_dims, _ints, narrow, ravel, reshape, squeeze, swapaxes
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from pijit._C import DType, Tensor
    from pijit._types import Axis, Number, TensorLike


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
    """Index of the (first) minimum as int32 (int64 for no dimensions, as MindSpore has it); over all elements when
    axis is None.

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


def var(input: Tensor, axis: Axis | None = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Variance over axes, with n - ddof as divisor; of complex numbers that of their distance from the mean, a real
    number.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        axis (int or tuple of int, optional): the axes; all by default. Default: None.
        ddof (int or bool, optional): what is subtracted from the number of elements in the divisor. Default: 0.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        Tensor without the axes, or with axes of 1. Floats keep their dtype; bool, ints and complex give float32.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.var(Tensor([1.0, 3.0])))
        1.0
    """
    if input.dtype in mstype.complex_type:  # of |x - mean|: a real number
        return var(_ops["real"](input), axis, ddof, keepdims) + var(_ops["imag"](input), axis, ddof, keepdims)
    if not input.dtype.is_floating_point:
        input = cast(input, mstype.float32)
    return _ops["variance"](input, _axes(axis), keepdims, int(ddof))


def std(input: Tensor, axis: Axis | None = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Standard deviation over axes.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        axis (int or tuple of int, optional): the axes; all by default. Default: None.
        ddof (int or bool, optional): what is subtracted from the number of elements in the divisor. Default: 0.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        Tensor without the axes, or with axes of 1. Floats keep their dtype; bool, ints and complex give float32.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.std(Tensor([1.0, 3.0])))
        1.0
    """
    return sqrt(var(input, axis, ddof, keepdims))


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
    """Running products along one dimension, in log2(size) steps of pairwise products (Hillis and Steele, "Data parallel
    algorithms", CACM 1986). Raises ValueError for a dimension out of range.

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


@_named(method=True)
@one_operator
def norm(A: Tensor, ord: Number | str | None = None, dim: Axis | None = None, keepdim: bool = False, *,
         dtype: DType | None = None) -> Tensor:
    """The norm of vectors (one dimension) or matrices (two): Euclidean and Frobenius by default.

    ord: for vectors any number, inf and -inf; for matrices 'fro', 1, -1, inf, -inf, and 2, -2 and 'nuc' of the singular
        values
    (the greatest, the least, their sum). Raises TypeError for a string as order of vectors, else ValueError.

    Args:
        A (Tensor): the matrices, along the last two axes.
        dim (int or tuple of int, optional): the axes. Default: None.
        keepdim (bool, optional): whether axes stay, as axes of 1. Default: False.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor. Floats and complex keep their dtype; bool and ints give float32.

    Example:
        >>> print(ops.norm(Tensor([3.0, 4.0])))
        5.0
    """
    if dtype is not None:
        A = cast(A, dtype)
    if A.dtype in mstype.complex_type and ord not in (2, -2, "nuc"):  # of lengths; the dtype stays, as in MindSpore
        return cast(norm(_ops["real"](abs(A)), ord, dim, keepdim), A.dtype)
    if ord is None:
        return sqrt(sum(A * A, dim, keepdim))
    dims = tuple(range(A.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if len(dims) == 1 and isinstance(ord, (int, float)):
        x = abs(A)
        if ord == float("inf"):
            return amax(x, dims, keepdim)
        if ord == -float("inf"):
            return amin(x, dims, keepdim)
        if ord == 0:
            return cast(sum(cast(A != 0, A.dtype), dims, keepdim), A.dtype)
        if ord == 2:
            return sqrt(sum(x * x, dims, keepdim))
        return sum(x, dims, keepdim) if ord == 1 else _ops["pow"](sum(_ops["pow"](x, float(ord)), dims, keepdim),
                                                                  1.0 / ord)
    if len(dims) == 2 and ord == "fro":
        return sqrt(sum(A * A, dims, keepdim))
    if len(dims) == 2 and ord in (1, -1, float("inf"), -float("inf")):
        rows, columns = _axis(dims[0], A.ndim), _axis(dims[1], A.ndim)
        along, over = (rows, columns) if ord in (1, -1) else (columns, rows)
        lines = sum(abs(A), along, True)
        r = amax(lines, over, True) if ord > 0 else amin(lines, over, True)
        return r if keepdim else squeeze(r, (rows, columns))
    if len(dims) == 2 and ord in (2, -2, "nuc"):
        rows, columns = _axis(dims[0], A.ndim), _axis(dims[1], A.ndim)
        if rows == columns:
            raise _check.refused("norm", "dim", _check.value("name two dimensions"), dim)
        m, n = A.shape[rows], A.shape[columns]
        x = _ops["transpose"](A, (*[k for k in range(A.ndim) if k not in (rows, columns)], rows, columns))
        half = x.dtype in (mstype.float16, mstype.bfloat16)
        s = _ops["svd"](cast(x, mstype.float32) if half else x)[..., m + n, :]
        r = sum(s, -1) if ord == "nuc" else s[..., 0] if ord == 2 else s[..., -1]
        r = cast(r, A.dtype) if half else r
        return reshape(r, tuple([1 if k in (rows, columns) else A.shape[k] for k in range(A.ndim)])) if keepdim else r
    if len(dims) == 1 and isinstance(ord, str):
        raise _check.refused("norm", "'ord' of vectors", _check.value("be a number"), ord, TypeError)
    raise ValueError(f"For 'norm', 'ord' {ord!r} of {len(dims)} dimensions is not supported: it must be a number for "
                     "one "
                     "dimension, and 'fro', 'nuc', 1, -1, 2, -2, inf or -inf for two.")


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


def std_mean(input: Tensor, axis: Axis | None = None, ddof: int = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(standard deviation, mean), of integers in float32.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        axis (int or tuple of int, optional): the axes; all by default. Default: None.
        ddof (int or bool, optional): what is subtracted from the number of elements in the divisor. Default: 0.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        (Tensor, Tensor). Floats keep their dtype; bool, ints and complex give float32.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> for part in ops.std_mean(Tensor([1.0, 3.0])):
        ...     print(part)
        1.0
        2.0
    """
    _need_tensor("std_mean", "input", input)
    input = (input
             if input.dtype.is_floating_point or input.dtype in mstype.complex_type else cast(input, mstype.float32))
    return std(input, axis, ddof, keepdims), mean(input, axis, keepdims)


def var_mean(input: Tensor, axis: Axis | None = None, ddof: int = 0, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(variance, mean), of integers in float32.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        axis (int or tuple of int, optional): the axes; all by default. Default: None.
        ddof (int or bool, optional): what is subtracted from the number of elements in the divisor. Default: 0.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        (Tensor, Tensor). Floats keep their dtype; bool, ints and complex give float32.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> for part in ops.var_mean(Tensor([1.0, 3.0])):
        ...     print(part)
        1.0
        2.0
    """
    input = (input
             if input.dtype.is_floating_point or input.dtype in mstype.complex_type else cast(input, mstype.float32))
    return var(input, axis, ddof, keepdims), mean(input, axis, keepdims)


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


@_named(method=True)
@one_operator
def cov(input: Tensor, *, correction: int = 1, fweights: Tensor | None = None,
        aweights: Tensor | None = None) -> Tensor:
    """Covariances of the rows of input [variables, observations].

    Args:
        input (Tensor): the input [variables, observations], of any dtype.
        correction (int, optional): what is subtracted from the number of observations. Default: 1.
        fweights (Tensor, optional): how often each observation counts: ints. Default: None.
        aweights (Tensor, optional): the weight of each observation. Default: None.

    Returns:
        Tensor [variables, variables]. Complex stays; bool and ints give float32.

    Example:
        >>> print(ops.cov(Tensor([[1.0, 2.0], [2.0, 4.0]])))
        [[0.5 1. ]
         [1.  2. ]]
    """
    if input.ndim > 2:
        raise _check.refused("cov", "input", _check.value("have at most 2 dimensions"), input.ndim)
    x = input if input.ndim == 2 else reshape(input, (1, -1))
    x = cast(x, mstype.float32) if x.dtype == mstype.float16 or not (x.dtype.is_floating_point
                                                                     or x.dtype in mstype.complex_type) else x
    w = None
    if fweights is not None:
        w = cast(fweights, x.dtype)
    if aweights is not None:
        w = cast(aweights, x.dtype) if w is None else w * cast(aweights, x.dtype)
    if w is None:
        total = float(x.shape[1])
        centre = mean(x, 1, True)
        rest = total - correction
        y = x - centre
        scaled = y
    else:
        total = _ops["reduce_sum"](w, (), False)
        centre = _ops["reduce_sum"](x * w, 1, True) / total
        rest = total - (correction if aweights is None
                        else correction * _ops["reduce_sum"](w * cast(aweights, x.dtype), (), False) / total)
        y = x - centre
        scaled = y * w
    out = _ops["matmul"](scaled, y, False, True) / rest
    return out if input.ndim == 2 else reshape(out, ())


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
