"""One op each: arithmetic, comparison, logic, elementary functions."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from pijit import _check
from pijit import _C, dtype as mstype
from pijit._C import Tensor, ops as _ops, views as _views
from pijit.ops import table as _table

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import DType
    from pijit._types import Number, TensorLike

for _row in _table.OPS:
    globals().update({_n: _ops[_row.op] if _n == _row.op else _C.another_op(_n, _row.op) for _n in _row.functions})


_WIDE = frozenset((mstype.float64, mstype.complex128))


def _like(x, parts):
    """A list or tuple of parts, as x is one; a named tuple where x is one."""
    if hasattr(x, "_fields"):
        return type(x)(*parts)
    return parts if isinstance(x, list) else tuple(parts)


def _in_dtype_of(x, y):
    """y, computed from x and weights that may be wider: a float16 or bfloat16 x gives its own dtype, but in a Cell that
    computes in another."""
    narrow = y.dtype != x.dtype and x.dtype in (mstype.float16, mstype.bfloat16) and _C.compute_dtype() is None
    return _ops["cast"](y, x.dtype) if narrow else y


def _each(op, x):
    return _like(x, [_each(op, v) for v in x]) if isinstance(x, (tuple, list)) else op(x)


@_table.named(primitive="StopGradient")
def stop_gradient(value: Any) -> Any:
    """The value, or each of a tuple or list, as a constant to differentiation.

    Args:
        value (Tensor, or a tuple or list): the value.

    Returns:
        What was given, without a gradient.

    Example:
        >>> print(ops.grad(lambda x: x * ops.stop_gradient(x))(Tensor([3.0])))
        [3.]
    """
    return _each(lambda x: _views["stop_gradient"](x) if isinstance(x, Tensor) else x, value)


def identity(x: Tensor) -> Tensor:
    """The value itself, of whatever type.

    Args:
        x (Tensor): the input, of any shape and any dtype.

    Returns:
        What was given, the same object. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.identity(Tensor([1.0])))
        [1.]
    """
    return x


def _need_tensor(op, name, x):
    """Raises TypeError where x, argument `name` of function `op`, is no Tensor."""
    if not isinstance(x, Tensor):
        raise _check.refused(op, name, _check.TENSOR, x)


@_table.named(method="divide", mint="div divide")
def div(input: TensorLike, other: TensorLike, *, rounding_mode: str | None = None) -> Tensor:
    """input / other, rounded down ('floor') or towards 0 ('trunc') on request.

    Args:
        input (Tensor or number): the dividend.
        other (Tensor or number): the second operand.
        rounding_mode (str, optional): None, 'floor' or 'trunc'. Default: None.

    Returns:
        Tensor of the common shape: floating, of ints too, unless rounding_mode is given. Ints and floats keep their
            dtype; bool gives int64; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `rounding_mode` is not None, 'floor' or 'trunc'.

    Example:
        >>> print(ops.div(Tensor([7.0, -7.0]), 2, rounding_mode="floor"))
        [ 3. -4.]
    """
    if rounding_mode is None:
        return _ops["div"](input, other)
    if rounding_mode == "floor":
        return _ops["floor_div"](input, other)
    if rounding_mode != "trunc":
        raise _check.refused("div", "rounding_mode", _check.one_of(None, "floor", "trunc"), rounding_mode)
    q = _ops["trunc"](_ops["div"](input, other))
    floating = [x.dtype.is_floating_point if isinstance(x, Tensor) else isinstance(x, float) for x in (input, other)]
    return q if any(floating) else _ops["cast"](q, input.dtype if isinstance(input, Tensor) else other.dtype)


divide = div


@_table.named(method=True)
def true_divide(dividend: TensorLike, divisor: TensorLike) -> Tensor:
    """dividend / divisor.

    Args:
        dividend (Tensor or number): the dividend.
        divisor (Tensor or number): the divisor.

    Returns:
        Tensor of the common shape. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        TypeError: if `dividend` is not a Tensor.

    Example:
        >>> print(ops.true_divide(Tensor([1, 2]), 2))
        [0.5 1. ]
    """
    return _ops["div"](dividend, divisor)


@_table.named(method=True)
def subtract(input: Tensor, other: TensorLike, *, alpha: Number = 1) -> Tensor:
    """input - alpha * other; of two bools as int64.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        other (Tensor or number): the second operand.
        alpha (number, optional): the factor of other. Default: 1.

    Returns:
        Tensor of the common shape. Ints, floats and complex keep their dtype; bool gives int64.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `other` does not fit.

    Example:
        >>> print(ops.subtract(Tensor([3.0, 4.0]), Tensor([1.0, 1.0]), alpha=2))
        [1. 2.]
    """
    if isinstance(input, Tensor) and isinstance(other, Tensor) and input.dtype == other.dtype == mstype.bool_:
        input = _ops["cast"](input, mstype.int64)
    return _ops["sub"](input, other if alpha == 1 else other * alpha)


@_table.named(method=True, primitive="Rint", mint=True)
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    """To the nearest integer, ties to even; or to so many decimals.

    Args:
        input (Tensor): the input, of any shape and int or float dtype.
        decimals (int, optional): how many decimals stay. Default: 0.

    Returns:
        Tensor of input's shape and dtype. Ints and floats keep their dtype; not for bool and complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.round(Tensor([0.5, 1.5, 2.25])))
        [0. 2. 2.]
    """
    if decimals == 0:
        return _ops["round"](input)
    scale = 10.0 ** builtins.abs(decimals)
    return _ops["round"](input * scale) / scale if decimals > 0 else _ops["round"](input / scale) * scale


@_table.named(method=True, primitive="ReLU")
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0).

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        inplace (bool, optional): whether input takes the result. Default: False.

    Returns:
        Tensor of input's shape and dtype. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.relu(Tensor([-1.0, 2.0])))
        [0. 2.]
    """
    y = _ops["relu"](input)
    return input._assign(y) if inplace else y


@_table.named(method=True, primitive="Sinc", mint=True)
def sinc(input: Tensor) -> Tensor:
    """sin(pi x) / (pi x), 1 at 0; integers give float32.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        Tensor of input's shape. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.sinc(Tensor([0.0, 0.5])))
        [1.         0.63661975]
    """
    x = input * 3.141592653589793
    zero = x == 0
    safe = _ops["select"](zero, 1.0, x)
    return _ops["select"](zero, 1.0, _ops["sin"](safe) / safe)


@_table.named(primitive="Cast")
def cast(input: Tensor, dtype: DType) -> Tensor:
    """Elements converted to `dtype`; a tensor of this dtype itself.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        dtype (dtype): the dtype of the result.

    Returns:
        Tensor of input's shape. Bool, floats and complex give int32.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.cast(Tensor([1.7, -1.7]), ms.int32))
        [ 1 -1]
    """
    if isinstance(input, Tensor) and input.dtype == dtype:
        return input
    return _ops["cast"](input, dtype) if isinstance(input, Tensor) else _number(input, dtype)


def _number(value, dtype):
    """A 0-d tensor of a number: a float64 has all of its digits, where an operand of an operator has a float32's."""
    return Tensor(value, dtype) if type(value) in (float, complex) and dtype in _WIDE else _ops["cast"](value, dtype)
