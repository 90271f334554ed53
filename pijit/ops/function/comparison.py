"""Tests and comparisons composed of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import dtype as mstype
from pijit._C import Tensor
from pijit.ops.function.clipping import _is_tensor
from pijit.ops.function.elementwise import (abs, cast, equal, isfinite, isinf, isnan, less_equal, logical_and,
                                            logical_or, _need_tensor)
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from pijit._types import TensorLike


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
def approximate_equal(x: Tensor, y: TensorLike, tolerance: float = 1e-5) -> Tensor:
    """Where |x - y| < tolerance.

    Args:
        x (Tensor): the input, of any shape and bool, int or float dtype.
        y (Tensor or number): the second operand.
        tolerance (float, optional): the tolerance. Default: 1e-05.

    Returns:
        bool Tensor. Ints and floats give bool; not for bool and complex.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if the shape of `y` does not fit.

    Example:
        >>> print(ops.approximate_equal(Tensor([1.0, 2.0]), Tensor([1.0, 2.1])))
        [ True False]
    """
    return abs(x - y) < tolerance


@_named(mint=True)
def isclose(input: Tensor, other: TensorLike, rtol: float = 1e-05, atol: float = 1e-08,
            equal_nan: bool = False) -> Tensor:
    """|input - other| <= atol + rtol * |other|.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        other (Tensor or number): the second operand.
        rtol (float, optional): the relative tolerance. Default: 1e-05.
        atol (float, optional): the absolute tolerance. Default: 1e-08.
        equal_nan (bool, optional): whether NaN equals NaN. Default: False.

    Returns:
        bool Tensor of the common shape. Bool stays; ints and floats give bool; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `other` does not fit.

    Example:
        >>> print(ops.isclose(Tensor([1.0, 2.0]), Tensor([1.0, 2.1])))
        [ True False]
    """
    _need_tensor("isclose", "input", input)
    if input.dtype == mstype.bool_:
        input = cast(input, mstype.int32)
    if _is_tensor(other) and other.dtype == mstype.bool_:
        other = cast(other, mstype.int32)
    close = logical_or(equal(input, other),
                       logical_and(less_equal(abs(input - other), atol + rtol * abs(other)), isfinite(other)))
    return logical_or(close, logical_and(isnan(input), isnan(other))) if equal_nan else close


def isnan_ext(tensor: Tensor) -> Tensor:
    """As isnan.

    Args:
        tensor (Tensor): the input, of any shape and any dtype.

    Returns:
        bool Tensor. Bool stays; ints, floats and complex give bool.

    Raises:
        TypeError: if `tensor` is not a Tensor.

    Example:
        >>> print(ops.isnan_ext(Tensor([1.0, float("nan")])))
        [False  True]
    """
    return isnan(tensor)
