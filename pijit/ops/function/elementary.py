"""Elementary functions composed of others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pijit import dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.ops.function.clipping import clamp
from pijit.ops.function.creation import zeros_like
from pijit.ops.function.elementwise import (abs, cast, equal, exp, exp2, isinf, log, log1p, log2, logical_or, maximum,
                                            _need_tensor, select, sigmoid, sign, sqrt, square, tanh)
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from pijit._types import TensorLike


def _float(x):
    return (x if not isinstance(x, Tensor) or x.dtype.is_floating_point or x.dtype in mstype.complex_type
            else cast(x, mstype.float32))


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


# --- in place ---

def tanh_(input: Tensor) -> Tensor:
    """tanh, in place.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        input. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.tanh_(Tensor([0.0, 1.0])))
        [0.        0.7615942]
    """
    _need_tensor("tanh_", "input", input)
    return input._assign(tanh(input))


def inplace_sigmoid(input: Tensor) -> Tensor:
    """The sigmoid, in place.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        input. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.inplace_sigmoid(Tensor([0.0])))
        [0.5]
    """
    _need_tensor("inplace_sigmoid", "input", input)
    return input._assign(sigmoid(input))


def erfinv_(input: Tensor) -> Tensor:
    """The inverse error function, in place.

    Args:
        input (Tensor): the input, of any shape and int or float dtype.

    Returns:
        input. Ints and floats keep their dtype; not for bool and complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.erfinv_(Tensor([0.5])))
        [0.4769363]
    """
    _need_tensor("erfinv_", "input", input)
    return input.erfinv_()
