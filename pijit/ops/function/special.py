"""Special functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.ops.function.creation import arange
from pijit.ops.function.elementwise import cast
from pijit.ops.function.reduction import sum
from pijit.ops.function.shapes import expand_dims
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from pijit._types import TensorLike


def _bessel(fn, x):
    if not isinstance(x, Tensor) or not x.dtype.is_floating_point:
        raise _check.refused(f"bessel_{fn}", "the input", _check.value("be a Tensor of a floating dtype"),
                             x.dtype if isinstance(x, Tensor) else type(x).__name__, TypeError)
    return _ops["bessel"](x, fn)


def bessel_i0(x: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 0.

    Args:
        x (Tensor): the input, of any shape and float dtype.

    Returns:
        Tensor of x's shape and dtype. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.bessel_i0(Tensor([0.0, 1.0])))
        [1.       1.266066]
    """
    return _bessel("i0", x)


def bessel_i0e(x: Tensor) -> Tensor:
    """exp(-|x|) times the modified Bessel function of the first kind of order 0.

    Args:
        x (Tensor): the input, of any shape and float dtype.

    Returns:
        Tensor of x's shape and dtype. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.bessel_i0e(Tensor([0.0, 1.0])))
        [1.         0.46575963]
    """
    return _bessel("i0e", x)


def bessel_i1(x: Tensor) -> Tensor:
    """The modified Bessel function of the first kind of order 1.

    Args:
        x (Tensor): the input, of any shape and float dtype.

    Returns:
        Tensor of x's shape and dtype. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.bessel_i1(Tensor([0.0, 1.0])))
        [0.        0.5651591]
    """
    return _bessel("i1", x)


def bessel_i1e(x: Tensor) -> Tensor:
    """exp(-|x|) times the modified Bessel function of the first kind of order 1.

    Args:
        x (Tensor): the input, of any shape and float dtype.

    Returns:
        Tensor of x's shape and dtype. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.bessel_i1e(Tensor([0.0, 1.0])))
        [0.         0.20791042]
    """
    return _bessel("i1e", x)


def bessel_j0(x: Tensor) -> Tensor:
    """The Bessel function of the first kind of order 0.

    Args:
        x (Tensor): the input, of any shape and float dtype.

    Returns:
        Tensor of x's shape and dtype. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.bessel_j0(Tensor([0.0, 1.0])))
        [1.        0.7651977]
    """
    return _bessel("j0", x)


def bessel_j1(x: Tensor) -> Tensor:
    """The Bessel function of the first kind of order 1.

    Args:
        x (Tensor): the input, of any shape and float dtype.

    Returns:
        Tensor of x's shape and dtype. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.bessel_j1(Tensor([0.0, 1.0])))
        [0.        0.4400506]
    """
    return _bessel("j1", x)


def bessel_k0(x: Tensor) -> Tensor:
    """The modified Bessel function of the second kind of order 0.

    Args:
        x (Tensor): the input, of any shape and float dtype.

    Returns:
        Tensor of x's shape and dtype. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.bessel_k0(Tensor([1.0])))
        [0.42102447]
    """
    return _bessel("k0", x)


def bessel_k0e(x: Tensor) -> Tensor:
    """exp(x) times the modified Bessel function of the second kind of order 0.

    Args:
        x (Tensor): the input, of any shape and float dtype.

    Returns:
        Tensor of x's shape and dtype. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.bessel_k0e(Tensor([1.0])))
        [1.1444632]
    """
    return _bessel("k0e", x)


def bessel_k1(x: Tensor) -> Tensor:
    """The modified Bessel function of the second kind of order 1.

    Args:
        x (Tensor): the input, of any shape and float dtype.

    Returns:
        Tensor of x's shape and dtype. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.bessel_k1(Tensor([1.0])))
        [0.6019073]
    """
    return _bessel("k1", x)


def bessel_k1e(x: Tensor) -> Tensor:
    """exp(x) times the modified Bessel function of the second kind of order 1.

    Args:
        x (Tensor): the input, of any shape and float dtype.

    Returns:
        Tensor of x's shape and dtype. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.bessel_k1e(Tensor([1.0])))
        [1.6361537]
    """
    return _bessel("k1e", x)


def bessel_y0(x: Tensor) -> Tensor:
    """The Bessel function of the second kind of order 0.

    Args:
        x (Tensor): the input, of any shape and float dtype.

    Returns:
        Tensor of x's shape and dtype. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.bessel_y0(Tensor([1.0])))
        [0.08825697]
    """
    return _bessel("y0", x)


def bessel_y1(x: Tensor) -> Tensor:
    """The Bessel function of the second kind of order 1.

    Args:
        x (Tensor): the input, of any shape and float dtype.

    Returns:
        Tensor of x's shape and dtype. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.bessel_y1(Tensor([1.0])))
        [-0.7812128]
    """
    return _bessel("y1", x)


@_named(method=True)
def i0(input: Tensor) -> Tensor:
    """As bessel_i0.

    Args:
        input (Tensor): the input, of any shape and float dtype.

    Returns:
        Tensor of input's shape and dtype. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.i0(Tensor([0.0, 1.0])))
        [1.       1.266066]
    """
    return _bessel("i0", input)


def _pair(name, a, b):
    """Both as tensors of one shape; raises TypeError unless both are float32 or float64."""
    for v in (a, b):
        if not isinstance(v, Tensor) or v.dtype not in (mstype.float32, mstype.float64):
            raise _check.refused(name, "both inputs", _check.value("be Tensors of float32 or float64"),
                                 v.dtype if isinstance(v, Tensor) else type(v).__name__, TypeError)
    if a.dtype != b.dtype:
        raise _check.refused(name, "the inputs", _check.value("be of one dtype"), _check.several(a.dtype, b.dtype),
                             TypeError)
    if a.shape != b.shape:
        zero = a * 0 + b * 0  # of the shape of both
        a, b = _ops["broadcast_to"](a, zero.shape), _ops["broadcast_to"](b, zero.shape)
    return a, b


@_named(method=True)
def igamma(input: Tensor, other: TensorLike) -> Tensor:
    """The regularised lower incomplete gamma function of order `input` at `other`; NaN where other < 0 or input <= 0.

    Args:
        input (Tensor): the input, of any shape and float dtype, that of the other operand.
        other (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Float32 and float64 keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.igamma(Tensor([1.0]), Tensor([1.0])))
        [0.6321205]
    """
    return _ops["igamma"](*_pair("igamma", input, other))


@_named(method=True)
def igammac(input: Tensor, other: TensorLike) -> Tensor:
    """The regularised upper incomplete gamma function, 1 - igamma(input, other).

    Args:
        input (Tensor): the input, of any shape and float dtype, that of the other operand.
        other (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Float32 and float64 keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.igammac(Tensor([1.0]), Tensor([1.0])))
        [0.36787945]
    """
    return _ops["igammac"](*_pair("igammac", input, other))


def zeta(input: TensorLike, other: Tensor) -> Tensor:
    """Hurwitz' zeta function: the sum of (k + other) ** -input over k = 0, 1, …; it has a gradient by `other`.

    Args:
        input (Tensor): the input, of any shape and float dtype, that of the other operand.
        other (Tensor): the shift.

    Returns:
        Tensor of the common shape. Float32 and float64 keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.zeta(Tensor([2.0]), Tensor([1.0])))
        [1.644934]
    """
    if not isinstance(input, Tensor) and not isinstance(other, Tensor):
        raise _check.refused("zeta", "at least one of the inputs", _check.TENSOR, input)
    if isinstance(input, (int, float)):
        input = Tensor(input, other.dtype)
    if isinstance(other, (int, float)):
        other = Tensor(other, input.dtype)
    return _ops["zeta"](*_pair("zeta", input, other))


def polygamma(n: Tensor, input: Tensor) -> Tensor:
    """The n-th derivative of digamma at `input`, for a 0-d integer tensor n; NaN where n < 0.

    Args:
        n (Tensor): which derivative: a 0-d int.
        input (Tensor): the input, of any shape and float dtype.

    Returns:
        Tensor of input's shape. Int32 and int64 give float32; not for bool, floats and complex.

    Raises:
        TypeError: if `n` is not int32 or int64 and `input` of a floating dtype.
        ValueError: if `n` does not have 0 dimensions.

    Example:
        >>> print(ops.polygamma(Tensor(1), Tensor([1.0])))
        [1.644934]
    """
    if not isinstance(n, Tensor) or not isinstance(input, Tensor):
        raise _check.refused("polygamma", "'n' and 'input'", _check.value("be Tensors"),
                             _check.several(_check.type_name(n), _check.type_name(input)), TypeError)
    if n.dtype not in (mstype.int32, mstype.int64) or not input.dtype.is_floating_point:
        raise _check.refused("polygamma", "n", _check.value("be int32 or int64 and 'input' of a floating dtype"),
                             _check.several(n.dtype, input.dtype), TypeError)
    if n.ndim:
        raise _check.refused("polygamma", "n", _check.dims(0), n.shape)
    return _ops["polygamma"](_ops["broadcast_to"](cast(n, input.dtype), input.shape), input)


def betainc(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """The regularised incomplete beta function at x in [0, 1], for a, b > 0: Tensors of float32 or float64, of one
    dtype, which broadcast.

    It has a gradient by x. Raises TypeError for other dtypes."""
    a, x = _pair("betainc", a, x)
    b, x = _pair("betainc", b, x)
    a, x = _pair("betainc", a, x)
    return _ops["betainc"](a, b, x)


@_named(method=True)
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """log of the multivariate gamma function of dimension p. ValueError where an element is at most (p - 1) / 2.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        p (int): the dimension.

    Returns:
        Tensor of input's shape. Floats keep their dtype; bool and ints give float32; not for complex.

    Example:
        >>> print(ops.mvlgamma(Tensor([3.0]), 2))
        [1.550195]
    """
    if not isinstance(p, int) or p < 1:
        raise _check.refused("mvlgamma", "p", _check.value("be an int of at least 1"), p)
    shift = expand_dims(input, -1) - arange(p, dtype=input.dtype) * 0.5
    return sum(_ops["lgamma"](shift), -1) + p * (p - 1) / 4 * math.log(math.pi)


__all__ = ["bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "bessel_j0", "bessel_j1", "bessel_k0", "bessel_k0e",
           "bessel_k1", "bessel_k1e", "bessel_y0", "bessel_y1", "i0", "igamma", "igammac", "mvlgamma", "polygamma",
           "zeta"]
