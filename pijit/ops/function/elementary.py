"""Elementary functions composed of others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.ops.function.creation import zeros_like
from pijit.ops.function.elementwise import (abs, cast, equal, exp, exp2, isinf, isnan, log, log1p, log2, logical_and,
                                            logical_not, logical_or, maximum, minimum, _need_tensor, pow, select, sign,
                                            sqrt, square, trunc)
from pijit.ops.function.selection import clamp
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from pijit._types import TensorLike


def _float(x):
    return (x if not isinstance(x, Tensor) or x.dtype.is_floating_point or x.dtype in mstype.complex_type
            else cast(x, mstype.float32))


@_named(method=True)
def positive(input: Tensor) -> Tensor:
    """The input.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.positive(Tensor([1.0, -2.0])))
        [ 1. -2.]
    """
    return input


def isposinf(input: Tensor) -> Tensor:
    """Where elements are +inf.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.

    Returns:
        bool Tensor of input's shape. Bool stays; ints and floats give bool; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.isposinf(Tensor([1.0, float("inf")])))
        [False  True]
    """
    return logical_and(isinf(input), input > 0)


@_named(mint=True)
def isneginf(input: Tensor) -> Tensor:
    """Where elements are -inf.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.

    Returns:
        bool Tensor of input's shape. Bool stays; ints and floats give bool; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.isneginf(Tensor([1.0, float("-inf")])))
        [False  True]
    """
    return logical_and(isinf(input), input < 0)


@_named(method=True)
def deg2rad(x: Tensor) -> Tensor:
    """Degrees to radians.

    Args:
        x (Tensor): the input, of any shape and any dtype.

    Returns:
        Tensor of x's shape. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.deg2rad(Tensor([180.0, 90.0])))
        [3.1415927 1.5707964]
    """
    return x * (math.pi / 180.0)


@_named(method=True)
def rad2deg(x: Tensor) -> Tensor:
    """Radians to degrees.

    Args:
        x (Tensor): the input, of any shape and any dtype.

    Returns:
        Tensor of x's shape. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.rad2deg(Tensor([0.0, 3.1415927])))
        [  0. 180.]
    """
    return x * (180.0 / math.pi)


@_named(mint=True)
def frac(x: Tensor) -> Tensor:
    """The part after the point, with x's sign; 0 of integers, int64 of bools.

    Args:
        x (Tensor): the input, of any shape and bool, int or float dtype.

    Returns:
        Tensor of x's shape. Ints and floats keep their dtype; bool gives int64; not for complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.frac(Tensor([1.5, -0.25])))
        [ 0.5  -0.25]
    """
    _need_tensor("frac", "x", x)
    if x.dtype == mstype.bool_:
        x = cast(x, mstype.int64)
    return x - trunc(x)


@_named(method=True)
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)), x limited to [eps, 1 - eps] first.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        eps (float, optional): a small number that keeps the result finite. Default: None.

    Returns:
        Tensor of input's shape. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.logit(Tensor([0.5, 0.75])))
        [0.        1.0986123]
    """
    x = input if eps is None or eps < 0 else clamp(input, eps, 1.0 - eps)
    return log(x / (1.0 - x))


@_named(primitive="Xlogy", mint=True)
def xlogy(input: Tensor, other: TensorLike) -> Tensor:
    """input * log(other), 0 where input is 0 and other is not NaN.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        other (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `other` does not fit.

    Example:
        >>> print(ops.xlogy(Tensor([0.0, 2.0]), Tensor([0.0, 1.0])))
        [0. 0.]
    """
    input, other = _float(input), _float(other)
    zero = logical_and(equal(input, 0), logical_not(isnan(other) if isinstance(other, Tensor) else other != other))
    return select(zero, 0.0, input * log(select(zero, 1.0, other)))


@_named(method=True, primitive="Xdivy")
def xdivy(x: Tensor, y: TensorLike) -> Tensor:
    """x / y, 0 where x is 0.

    Args:
        x (Tensor): the input, of any shape and any dtype.
        y (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if the shape of `y` does not fit.

    Example:
        >>> print(ops.xdivy(Tensor([0.0, 2.0]), Tensor([0.0, 4.0])))
        [0.  0.5]
    """
    x = _float(x)
    zero = equal(x, 0)
    return select(zero, 0.0, x / (select(zero, 1.0, _float(y)) if isinstance(y, Tensor) else y))


@_named(method=True, primitive="Fmax")
def fmax(input: Tensor, other: TensorLike) -> Tensor:
    """Maximum; of a number and NaN, the number.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        other (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `other` does not fit.

    Example:
        >>> print(ops.fmax(Tensor([1.0, float("nan")]), Tensor([2.0, 3.0])))
        [2. 3.]
    """
    return select(isnan(other), input, select(isnan(input), other, maximum(input, other)))


@_named(method=True, primitive="Fmin")
def fmin(input: Tensor, other: TensorLike) -> Tensor:
    """Minimum; of a number and NaN, the number.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        other (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `other` does not fit.

    Example:
        >>> print(ops.fmin(Tensor([1.0, float("nan")]), Tensor([2.0, 3.0])))
        [1. 3.]
    """
    return select(isnan(other), input, select(isnan(input), other, minimum(input, other)))


@_named(method=True)
def signbit(input: Tensor) -> Tensor:
    """Where the sign is negative, that of -0.0 too. TypeError where input is no Tensor.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.

    Returns:
        bool Tensor of input's shape. Bool stays; ints and floats give bool; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.signbit(Tensor([-1.0, -0.0, 2.0])))
        [ True  True False]
    """
    _need_tensor("signbit", "input", input)
    return logical_or(input < 0, 1.0 / input < 0) if input.dtype.is_floating_point else input < 0


@_named(method=True)
def copysign(x: Tensor, other: TensorLike) -> Tensor:
    """The magnitude of x with other's sign.

    Args:
        x (Tensor): the input, of any shape and any dtype.
        other (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Floats keep their dtype; bool and ints give float32; not for complex.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if the shape of `other` does not fit.

    Example:
        >>> print(ops.copysign(Tensor([1.0, -2.0]), Tensor([-1.0, 1.0])))
        [-1.  2.]
    """
    x = _float(x)
    a = abs(x)
    negative = signbit(other) if isinstance(other, Tensor) else math.copysign(1.0, other) < 0
    if negative is True:
        return -a
    return a if negative is False else select(negative, -a, a)


@_named(method=True, primitive="Heaviside")
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 where negative, `values` at 0, 1 where positive. TypeError where input is no Tensor.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        values (Tensor): the result at 0.

    Returns:
        Tensor of the common shape. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.heaviside(Tensor([-1.0, 0.0, 2.0]), Tensor([0.5])))
        [0.  0.5 1. ]
    """
    _need_tensor("heaviside", "input", input)
    at_zero = values if isinstance(values, Tensor) and values.shape == input.shape else values + zeros_like(input)
    return select(equal(input, 0), at_zero, cast(input > 0, at_zero.dtype))


@_named(mint=True)
def logaddexp(input: Tensor, other: TensorLike) -> Tensor:
    """log(exp(input) + exp(other)) without overflow.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        other (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Floats keep their dtype; bool and ints give float32; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.logaddexp(Tensor([0.0]), Tensor([0.0])))
        [0.6931472]
    """
    m = maximum(input, other)
    safe = select(isinf(m), 0.0, m)
    return select(isinf(m), m, m + log(exp(input - safe) + exp(other - safe)))


@_named(method=True, mint=True)
def logaddexp2(input: Tensor, other: TensorLike) -> Tensor:
    """log2(2**input + 2**other) without overflow.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        other (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Floats keep their dtype; bool and ints give float32; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.logaddexp2(Tensor([1.0]), Tensor([1.0])))
        [2.]
    """
    m = maximum(input, other)
    safe = select(isinf(m), 0.0, m)
    return select(isinf(m), m, m + log2(exp2(input - safe) + exp2(other - safe)))


@_named(method=True, mint=True)
def float_power(input: TensorLike, exponent: TensorLike) -> Tensor:
    """input ** exponent in float64.

    Args:
        input (Tensor or number): the base.
        exponent (Tensor or number): the exponent.

    Returns:
        float64 Tensor of the common shape. Bool, ints and complex give float64.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.float_power(Tensor([1, 2, 3]), 2))
        [1. 4. 9.]
    """
    def double(x):
        return cast(x, mstype.float64) if isinstance(x, Tensor) else float(x)
    if not isinstance(input, Tensor) and not isinstance(exponent, Tensor):
        raise _check.refused("float_power", "'input' or 'exponent'", _check.TENSOR, input)
    return pow(double(input), double(exponent))


@_named(method=True)
def ldexp(x: Tensor, other: TensorLike) -> Tensor:
    """x * 2 ** other.

    Args:
        x (Tensor): the input, of any shape and any dtype.
        other (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Complex stays; bool and ints give float32.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if the shape of `other` does not fit.

    Example:
        >>> print(ops.ldexp(Tensor([1.0, 2.0]), Tensor([3, 1])))
        [8. 4.]
    """
    return x * exp2(_float(other))


@_named(method=True, primitive="Erfinv", mint=True)
def erfinv(input: Tensor) -> Tensor:
    """The inverse of erf in (-1, 1): Winitzki's estimate (2008) and three steps of Halley's method.

    Args:
        input (Tensor): the input, of any shape and int or float dtype.

    Returns:
        Tensor of input's shape. Floats keep their dtype; ints give float32; not for bool and complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.erfinv(Tensor([0.0, 0.5])))
        [0.        0.4769363]
    """
    x = input
    t = log1p(-square(x))
    a = 0.147
    b = 2.0 / (math.pi * a) + t / 2.0
    y = sign(x) * sqrt(sqrt(square(b) - t / a) - b)
    for _ in range(3):
        u = (_ops["erf"](y) - x) / (2.0 / math.sqrt(math.pi) * exp(-square(y)))
        y = y - u / (1.0 + y * u)
    edge = abs(x) >= 1
    return select(edge, select(equal(abs(x), 1), sign(x) * math.inf, math.nan), select(equal(x, 0), x, y))
