"""Medians, quantiles, variances, histograms and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import one_operator
from pijit.ops.function.creation import _filled
from pijit.ops.function.elementwise import cast, _need_tensor, select, sqrt
from pijit.ops.function.reduction import _axes, mean, sum
from pijit.ops.function.shapes import _axis, expand_dims, narrow, ravel, reshape, squeeze, swapaxes
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import Axis, TensorLike


@_named(method=True)
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each integer from 0 on is there, or the sums of their weights.

    Args:
        input (Tensor): the input, of 1 dimension and int or float dtype.
        weights (Tensor, optional): a weight per element. Default: None.
        minlength (int, optional): the least length of the result. Default: 0.

    Returns:
        Tensor: ints, or of weights's dtype. Ints give float32; floats are rounded towards 0; not for bool and complex.

    Example:
        >>> print(ops.bincount(Tensor([0, 1, 1, 3])))
        [1. 2. 0. 1.]
    """
    if input.ndim != 1:
        raise _check.refused("bincount", "the input", _check.dims(1), input.ndim)
    if minlength < 0:
        raise _check.refused("bincount", "minlength", _check.at_least(0), minlength)
    if input.dtype.is_floating_point:
        input = _ops["cast"](input, mstype.int64)
    size = max(int(_ops["reduce_max"](input, (), False)) + 1 if input.size else 0, minlength)
    if input.size and int(_ops["reduce_min"](input, (), False)) < 0:
        raise ValueError("For 'bincount', the elements must not be negative.")
    counts = _filled((input.size,), 1, dtype=mstype.float32) if weights is None else weights
    return _ops["index_add"](_filled((size,), 0, dtype=counts.dtype), input, counts, 0)


@_named(method=True)
def nanmedian(input: Tensor, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(the lower median of what isn't NaN along an axis, its index as int64).

    Args:
        input (Tensor): the input, of 1 dimension or more and bool, int or float dtype.
        axis (int, optional): the axis; -1 is the last one. Default: -1.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        (Tensor, int64 Tensor). Bool, ints and floats keep their dtype; not for complex.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.nanmedian(Tensor([3.0, float("nan"), 1.0]))[0])
        1.0
    """
    a = _axis(axis, input.ndim)
    order = _ops["argsort"](input, a, False)  # NaN last
    count = sum(cast(input == input, mstype.int64), a, True)
    at = _ops["gather_d"](order, _ops["maximum"]((count - 1) // 2, 0), a)
    v = _ops["gather_d"](input, at, a)
    return (v, at) if keepdims else (_ops["reshape"](v, v.shape[:a] + v.shape[a + 1:]),
                                     _ops["reshape"](at, v.shape[:a] + v.shape[a + 1:]))


@_named(method=True)
def quantile(input: Tensor, q: Any, axis: Axis | None = None, keepdims: bool = False) -> Tensor:
    """Values below which a share q of the elements lies (interpolated): of all, or along an axis.

    NaN where one is among them.

    q is a number or a 1-d tensor in [0, 1]; several give a first axis of the result.

    Args:
        input (Tensor): the input, of any shape and int or float dtype.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        Tensor. Floats keep their dtype; ints give float32; not for bool and complex.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.quantile(Tensor([1.0, 2.0, 3.0]), 0.5))
        2.0
    """
    return _quantile("quantile", input, q, axis, keepdims, False)


@_named(method=True)
def nanquantile(input: Tensor, q: float | Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """As quantile, of the elements that aren't NaN.

    Args:
        input (Tensor): the input, of any shape and int or float dtype.
        q (float or Tensor): the share, in [0, 1].
        axis (int, optional): the axis; -1 is the last one. Default: None.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        Tensor. Floats keep their dtype; ints give float32; not for bool and complex.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.nanquantile(Tensor([1.0, float("nan"), 3.0]), 0.5))
        2.0
    """
    return _quantile("nanquantile", input, q, axis, keepdims, True)


def _quantile(name, input, q, axis, keepdims, skip):
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise _check.refused(name, "q", _check.within(0, 1), q)
        q = Tensor(q, input.dtype)
    x = reshape(input, (-1,)) if axis is None else swapaxes(input, axis, -1)
    order = _ops["argsort"](x, x.ndim - 1, False)
    s = _ops["gather_d"](x, order, x.ndim - 1)  # NaN last
    n = sum(cast(x == x, mstype.int64), -1, True)
    last = (n if skip else _filled(n.shape, x.shape[-1], dtype=mstype.int64)) - 1
    at = reshape(q, (-1,) + (1,) * x.ndim) * cast(_ops["maximum"](last, 0), q.dtype)
    low = _ops["floor"](at)
    share = cast(at - low, x.dtype)
    low = cast(low, mstype.int64)
    count = low.shape[0]
    wide = _ops["broadcast_to"](expand_dims(s, 0), (count, *s.shape))
    y = (_ops["gather_d"](wide, low, x.ndim) * (1.0 - share)
         + _ops["gather_d"](wide, _ops["minimum"](low + 1, _ops["maximum"](last, 0)), x.ndim) * share)
    missing = (n == 0) if skip else (n < x.shape[-1])
    y = select(missing, _filled(y.shape, float("nan"), dtype=y.dtype), y)  # [count, ..., 1]
    if axis is None:
        y = reshape(y, (count,) + ((1,) * input.ndim if keepdims else ()))
    else:
        y = swapaxes(y, _axis(axis, input.ndim) + 1,
                     y.ndim - 1) if keepdims else _ops["reshape"](_moved(y, axis, input.ndim),
                                                                  _left(y, axis, input.ndim))
    return _ops["reshape"](y, y.shape[1:]) if q.ndim == 0 else y


def _moved(y, axis, ndim):
    """y [count, ..., 1], whose axis was exchanged with the last, in the order of what is left."""
    a = _axis(axis, ndim) + 1
    return swapaxes(y, a, y.ndim - 1)


def _left(y, axis, ndim):
    shape = _moved(y, axis, ndim).shape
    a = _axis(axis, ndim) + 1
    return tuple(shape[:a]) + tuple(shape[a + 1:])


@_named(method=True, mint=True)
@one_operator
def histc(input: Tensor, bins: int = 100, min: TensorLike = 0.0, max: TensorLike = 0.0) -> Tensor:
    """How many elements lie in each of `bins` equal parts of [min, max].

    Of the elements' own range where both are equal.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        bins (int, optional): the number of parts. Default: 100.
        min (Tensor or number, optional): the lower bound. Default: 0.0.
        max (Tensor or number, optional): the upper bound. Default: 0.0.

    Returns:
        Tensor [bins]. Bool, ints and complex keep their dtype.

    Example:
        >>> print(ops.histc(Tensor([1.0, 2.0, 1.0]), 2, 0.0, 3.0))
        [2. 1.]
    """
    import numpy as np
    if bins <= 0:
        raise _check.refused("histc", "bins", _check.above(0), bins)
    if min > max:
        raise _check.refused("histc", "min", _check.at_most("'max'"), _check.several(min, max))
    a = input.asnumpy()
    if min == max and a.size:
        min, max = float(a.min()), float(a.max())
    if min == max:
        min, max = min - 1, max + 1
    return Tensor(np.histogram(a.astype(np.float64), bins, (min, max))[0],
                  mstype.float32 if input.dtype == mstype.float16 else input.dtype)


def var(input: Tensor, axis: Axis | None = None, ddof: int = 0, keepdims: bool = False) -> Tensor:
    """Variance over axes, with n - ddof as divisor.

    Of complex numbers that of their distance from the mean, a real number.

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


def median(input: Tensor, axis: int | None = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(the lower median along an axis, its index as int64); of all elements if axis is None.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        axis (int, optional): the axis; -1 is the last one. Default: -1.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        (Tensor, int64 Tensor). Bool, ints and floats keep their dtype; not for complex.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.median(Tensor([3.0, 1.0, 2.0]))[0])
        2.0
    """
    if input.ndim == 0 and axis in (0, -1):
        return _ops["identity"](input), Tensor(0, mstype.int64)
    x = ravel(input) if axis is None else input
    a = 0 if axis is None else _axis(axis, input.ndim)
    i = narrow(_ops["argsort"](x, a, False), a, (x.shape[a] - 1) // 2, 1)
    v = _ops["gather_d"](x, i, a)
    if axis is None:
        return squeeze(v, 0), squeeze(i, 0)
    return (v, i) if keepdims else (squeeze(v, a), squeeze(i, a))
