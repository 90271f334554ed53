"""Elementwise arithmetic composed of others: sums, products, quotients, remainders, bits."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.ops.function.creation import ones_like, zeros_like
from pijit.ops.function.elementary import _float
from pijit.ops.function.elementwise import (abs, cast, equal, exp2, floor_div, fmod, greater_equal, isnan, less_equal,
                                            log, logical_and, logical_not, logical_or, maximum, minimum, _need_tensor,
                                            pow, select, trunc)
from pijit.ops.function.joining import stack
from pijit.ops.function.reduction import any, sum
from pijit.ops.function.shapes import _same_dtype, _same_shape
from pijit.ops.function.special import _pair
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pijit._types import TensorLike


@_named(method=True, primitive="Lerp", mint=True)
def lerp(input: Tensor, end: Tensor, weight: float | Tensor) -> Tensor:
    """input + weight * (end - input).

    Args:
        input (Tensor): the input, of any shape and any dtype, that of the other operands.
        end (Tensor): where weight is 1.
        weight (Tensor or float): the share of `end`.

    Returns:
        Tensor of the common shape. Floats and complex keep their dtype; ints give float32; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `end` does not fit.

    Example:
        >>> print(ops.lerp(Tensor([0.0, 2.0]), Tensor([4.0, 4.0]), 0.5))
        [2. 3.]
    """
    _same_dtype("lerp", input=input, end=end)
    return input + weight * (end - input)


@_named(primitive="AddN")
def addn(x: Sequence[Tensor]) -> Tensor:
    """The sum of several tensors of one shape.

    Args:
        x (list or tuple of Tensor): what to add.

    Returns:
        Tensor of their shape.

    Example:
        >>> print(ops.addn([Tensor([1.0]), Tensor([2.0]), Tensor([3.0])]))
        [6.]
    """
    r = x[0]
    for y in x[1:]:
        _same_shape("addn", x=r, y=y)
        _same_dtype("addn", x=r, y=y)
        r = r + y
    return r


@_named(method=True)
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: TensorLike = 1) -> Tensor:
    """input + value * tensor1 * tensor2.

    Args:
        input (Tensor): the input, of any shape and any dtype, that of the other operands.
        tensor1 (Tensor): the first factor.
        tensor2 (Tensor): the second factor.
        value (Tensor or number, optional): the value to put there. Default: 1.

    Returns:
        Tensor of the common shape. Ints, floats and complex keep their dtype; bool gives int64.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.addcmul(Tensor([1.0]), Tensor([2.0]), Tensor([3.0]), 2))
        [13.]
    """
    _same_dtype("addcmul", input=input, tensor1=tensor1, tensor2=tensor2)
    return input + tensor1 * tensor2 * value


@_named(method=True)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: TensorLike = 1) -> Tensor:
    """input + value * tensor1 / tensor2; of integers rounded towards 0.

    Args:
        input (Tensor): the input, of any shape and any dtype, that of the other operands.
        tensor1 (Tensor): the first factor.
        tensor2 (Tensor): the second factor.
        value (Tensor or number, optional): the value to put there. Default: 1.

    Returns:
        Tensor of the common shape. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.addcdiv(Tensor([1.0]), Tensor([6.0]), Tensor([3.0]), 2))
        [5.]
    """
    _same_dtype("addcdiv", input=input, tensor1=tensor1, tensor2=tensor2)
    result = input + tensor1 / tensor2 * value
    return result if input.dtype.is_floating_point else cast(result, input.dtype)


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
    # the first of equal operands, which has the whole gradient
    first = logical_or(isnan(other), greater_equal(input, other))
    return select(first, input, select(isnan(input), other, maximum(input, other)))


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
    first = logical_or(isnan(other), less_equal(input, other))
    return select(first, input, select(isnan(input), other, minimum(input, other)))


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


# --- numbers ---

def nextafter(input: Tensor, other: TensorLike) -> Tensor:
    """The next number from each element of input in the direction of other's; other where they are equal.

    Both are Tensors of float32 or float64, of one dtype, and broadcast. Raises TypeError for other dtypes; there is no
    gradient.

    Returns:
        Tensor. Float32 and float64 keep their dtype; not for bool, ints and complex.

    Example:
        >>> print(ops.nextafter(Tensor([1.0], ms.float64), Tensor([2.0], ms.float64)) > 1)
        [ True]
    """
    return _ops["nextafter"](*_pair("nextafter", input, other))


@_named(primitive="SquaredDifference")
def squared_difference(x: Tensor, y: TensorLike) -> Tensor:
    """(x - y) ** 2.

    Args:
        x (Tensor): the input, of any shape and any dtype.
        y (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Ints, floats and complex keep their dtype; not for bool.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if the shape of `y` does not fit.

    Example:
        >>> print(ops.function.squared_difference(Tensor([1.0, 2.0]), Tensor([3.0, 5.0])))
        [4. 9.]
    """
    d = x - y
    return d * d


@_named(primitive="DivNoNan")
def div_no_nan(x: Tensor, y: TensorLike) -> Tensor:
    """x / y, 0 where y is 0.

    Args:
        x (Tensor): the input, of any shape and any dtype.
        y (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if the shape of `y` does not fit.

    Example:
        >>> print(ops.function.div_no_nan(Tensor([1.0, 2.0]), Tensor([0.0, 4.0])))
        [0.  0.5]
    """
    zero = y == 0
    return select(zero, zeros_like(x / select(zero, ones_like(y), y)), x / select(zero, ones_like(y), y))


@_named(primitive="MulNoNan")
def mul_no_nan(x: Tensor, y: TensorLike) -> Tensor:
    """x * y, 0 where y is 0, whatever x is.

    Args:
        x (Tensor): the input, of any shape and any dtype.
        y (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if the shape of `y` does not fit.

    Example:
        >>> print(ops.function.mul_no_nan(Tensor([float("inf"), 2.0]), Tensor([0.0, 4.0])))
        [0. 8.]
    """
    return select(y == 0, zeros_like(x * y), x * y)


def _any_floating(*operands):
    """Whether one of the operands, Tensors and numbers, is floating."""
    return bool([x for x in operands if (x.dtype.is_floating_point if isinstance(x, Tensor) else isinstance(x, float))])


@_named(primitive="TruncateDiv")
def truncate_div(x: Tensor, y: TensorLike) -> Tensor:
    """x / y rounded towards 0.

    Args:
        x (Tensor): the input, of any shape and bool, int or float dtype.
        y (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Ints and floats keep their dtype; not for bool and complex.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if the shape of `y` does not fit.

    Example:
        >>> print(ops.truncate_div(Tensor([7, -7]), Tensor([2, 2])))
        [ 3 -3]
    """
    if _any_floating(x, y):
        return trunc(x / y)
    q = floor_div(x, y)
    return select((q * y != x) & (q < 0), q + 1, q)


@_named(primitive="TruncateMod")
def truncate_mod(x: Tensor, y: TensorLike) -> Tensor:
    """What truncate_div leaves, with the sign of x.

    Args:
        x (Tensor): the input, of any shape and bool, int or float dtype.
        y (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Ints and floats keep their dtype; not for bool and complex.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if the shape of `y` does not fit.

    Example:
        >>> print(ops.truncate_mod(Tensor([7, -7]), Tensor([2, 2])))
        [ 1 -1]
    """
    return fmod(x, y)


def _whole(name, *tensors):
    for x in tensors:
        if isinstance(x, Tensor) and x.dtype.is_floating_point:
            raise _check.refused(name, "the inputs", _check.value("hold ints"), x.dtype, TypeError)


@_named(method=True, primitive="Gcd", mint=True)
def gcd(input: Tensor, other: TensorLike) -> Tensor:
    """The greatest common divisors of ints, elementwise (Euclid).

    Args:
        input (Tensor): the input, of any shape and bool or int dtype.
        other (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Ints keep their dtype; not for bool, floats and complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `other` does not fit.

    Example:
        >>> print(ops.gcd(Tensor([12, 18]), Tensor([8, 27])))
        [4 9]
    """
    _whole("gcd", input, other)
    a, b = (abs(v) for v in (input, other))
    both = a + b
    _whole("gcd", both)  # a Python float makes it one of floats: Euclid would not come to an end
    shape, dtype = both.shape, both.dtype
    a, b = _ops["broadcast_to"](cast(a, dtype), shape), _ops["broadcast_to"](cast(b, dtype), shape)
    while any(b != 0):
        left = b == 0
        a, b = select(left, a, b), select(left, b, a % select(left, ones_like(b), b))
    return a


@_named(method=True, primitive="Lcm")
def lcm(input: Tensor, other: TensorLike) -> Tensor:
    """The least common multiples of ints, elementwise.

    Args:
        input (Tensor): the input, of any shape and bool or int dtype.
        other (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Ints keep their dtype; not for bool, floats and complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `other` does not fit.

    Example:
        >>> print(ops.lcm(Tensor([4, 6]), Tensor([6, 9])))
        [12 18]
    """
    g = gcd(input, other)
    return cast(abs(floor_div(input, select(g == 0, ones_like(g), g)) * other), g.dtype)


@_named(primitive="AccumulateNV2")
def accumulate_n(x: Sequence[Tensor]) -> Tensor:
    """The sum of tensors of one shape.

    Args:
        x (list or tuple of Tensor): what to add.

    Returns:
        Tensor of their shape.

    Example:
        >>> print(ops.accumulate_n([Tensor([1.0, 2.0]), Tensor([3.0, 4.0])]))
        [4. 6.]
    """
    return addn(x)


@_named(primitive="PopulationCount")
def population_count(input_x: Tensor) -> Tensor:
    """How many bits of each element, an int, are 1, as uint8.

    Args:
        input_x (Tensor): the input, of any shape and int dtype.

    Returns:
        uint8 Tensor of the same shape.

    Raises:
        TypeError: if `input_x` is not a Tensor.

    Example:
        >>> print(ops.population_count(Tensor([7, 8], ms.int16)))
        [3 1]
    """
    _need_tensor("population_count", "input_x", input_x)
    if input_x.dtype not in mstype.int_type + mstype.uint_type:
        raise _check.refused("population_count", "the input", _check.value("be of ints"), input_x.dtype, TypeError)
    bits = input_x.itemsize * 8
    if bits > 16:  # in words of 16 bits
        words = [cast((input_x >> k) & 0xFFFF, mstype.int32) for k in builtins.range(0, bits, 16)]
        return cast(sum(stack([cast(_bits(w), mstype.int32) for w in words]), 0, dtype=mstype.int32), mstype.uint8)
    return _bits(cast(input_x, mstype.int32) & (0xFFFF if bits == 16 else 0xFF))


def _bits(x):
    """How many of the lowest 16 bits of int32 are 1."""
    x = x - ((x >> 1) & 0x5555)
    x = (x & 0x3333) + ((x >> 2) & 0x3333)
    x = (x + (x >> 4)) & 0x0F0F
    return cast((x + (x >> 8)) & 0x1F, mstype.uint8)


def float_power_ext(input: Tensor, exponent: TensorLike) -> Tensor:
    """As float_power.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        exponent (Tensor or number): the exponent.

    Returns:
        float64 Tensor. Bool, ints and complex give float64.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.float_power_ext(Tensor([1, 2]), 2))
        [1. 4.]
    """
    return float_power(input, exponent)
