"""Selection by condition or order."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor, ops as _ops
from pijit.ops.function.elementwise import (_like, abs, cast, isfinite, isnan, less_equal, logical_and, logical_or,
                                            equal, maximum, minimum, _need_tensor, sqrt, square)
from pijit.ops.function.reduction import norm, sum
from pijit.ops.function.shapes import ravel, _same_shape, stack
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._types import Number, TensorLike


def _is_tensor(x):
    return isinstance(x, Tensor)


def _limited(name, input, min, max, at_least, at_most):
    if min is None and max is None:
        raise _check.at_least_one(name, "min", "max")
    _need_tensor(name, "input", input)
    result = input
    if min is not None:
        result = at_least(result, min)
    if max is not None:
        result = at_most(result, max)
    return result if result.dtype == input.dtype or _is_tensor(min) or _is_tensor(max) else cast(result, input.dtype)


@_named(method="clamp clip", mint=True)
def clamp(input: Tensor, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
    """Elements limited to [min, max]. Bounds that are numbers leave the dtype as it is. An element at a bound has the
    whole gradient.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        min (Tensor or number, optional): the lower bound. Default: None.
        max (Tensor or number, optional): the upper bound. Default: None.

    Returns:
        Tensor of input's shape and dtype. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.clamp(Tensor([1.0, 5.0]), 2.0, 4.0))
        [2. 4.]
    """
    return _limited("clamp", input, min, max, _ops["at_least"], _ops["at_most"])


clip = clamp


@overload
def clip_by_value(x: Tensor, clip_value_min: TensorLike | None = None,
                  clip_value_max: TensorLike | None = None) -> Tensor: ...
@overload
def clip_by_value(x: Sequence[Tensor], clip_value_min: TensorLike | None = None,
                  clip_value_max: TensorLike | None = None) -> tuple[Tensor, ...]: ...
def clip_by_value(x: Any, clip_value_min: TensorLike | None = None, clip_value_max: TensorLike | None = None) -> Any:
    """Elements limited to [clip_value_min, clip_value_max]; at a bound, the two share the gradient.

    Args:
        x (Tensor or list or tuple of Tensors): the input, of any shape and bool, int or float dtype.
        clip_value_min (Tensor or number, optional): the lower bound. Default: None.
        clip_value_max (Tensor or number, optional): the upper bound. Default: None.

    Returns:
        Tensor of x's shape and dtype, or a tuple of such. Bool, ints and floats keep their dtype; not for complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.clip_by_value(Tensor([1.0, 5.0]), 2.0, 4.0))
        [2. 4.]
    """
    if isinstance(x, (list, tuple)):
        return tuple([clip_by_value(part, clip_value_min, clip_value_max) for part in x])
    return _limited("clip_by_value", x, clip_value_min, clip_value_max, maximum, minimum)


def clip_by_norm(x: Tensor | Sequence[Tensor], max_norm: float, norm_type: Number = 2.0,
                 error_if_nonfinite: bool = False) -> Any:
    """Scaled down so that the norm is at most max_norm.

    Args:
        x (Tensor, or a list or tuple of them): what to scale.
        max_norm (float): the greatest norm.
        norm_type (number, optional): the order of the norm. Default: 2.0.
        error_if_nonfinite (bool, optional): whether an infinite norm is an error. Default: False.

    Returns:
        As x: a Tensor, or a list or tuple of them. Floats keep their dtype; bool and ints give float32; not for
            complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.clip_by_norm(Tensor([3.0, 4.0]), 1.0))
        [0.5999999  0.79999983]
    """
    if isinstance(x, (tuple, list)):
        parts = [x[k] for k in range(len(x))]
    else:
        parts = [x]
    total = norm(stack([norm(ravel(p), norm_type) for p in parts], 0), norm_type)
    if error_if_nonfinite and not bool(isfinite(total)):
        raise RuntimeError(f"For 'clip_by_norm', the norm of order {norm_type} is not finite.")
    scale = minimum(max_norm / (total + 1e-6), 1.0)
    parts = [p * scale for p in parts]
    return _like(x, parts) if isinstance(x, (tuple, list)) else parts[0]


def clip_by_global_norm(x: Sequence[Tensor], clip_norm: float = 1.0, use_norm: None = None) -> tuple[Tensor, ...]:
    """All scaled down together so that their joint norm is at most clip_norm.

    Args:
        x (list or tuple of Tensor): what to scale.
        clip_norm (float, optional): the greatest norm. Default: 1.0.
        use_norm (None, optional): kept for its name. Default: None.

    Returns:
        tuple of Tensors.

    Example:
        >>> for part in ops.clip_by_global_norm((Tensor([3.0]), Tensor([4.0])), 1.0):
        ...     print(part)
        [0.6]
        [0.8]
    """
    if use_norm is not None:
        raise ValueError("For 'clip_by_global_norm', only use_norm=None is supported.")
    total = sum(square(x[0]))
    for g in x[1:]:
        total = total + sum(square(g))
    n = sqrt(total)
    scale = clip_norm / maximum(n, clip_norm)
    return tuple([cast(g * scale, g.dtype) for g in x])


@_named(method=True, mint=True)
def nan_to_num(input: Tensor, nan: Number | None = None, posinf: Number | None = None,
               neginf: Number | None = None) -> Tensor:
    """NaN and infinities replaced: by 0 and by the greatest and least finite value, if not told otherwise.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        nan (number, optional): in place of NaN. Default: None.
        posinf (number, optional): in place of infinity. Default: None.
        neginf (number, optional): in place of minus infinity. Default: None.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.nan_to_num(Tensor([float("nan"), 1.0]), 0.0))
        [0. 1.]
    """
    _need_tensor("nan_to_num", "input", input)
    if not input.dtype.is_floating_point:
        return input
    low, high = mstype.finite_range(input.dtype)
    x = _ops["select"](isnan(input), 0.0 if nan is None else nan, input)
    x = _ops["select"](equal(x, float("inf")), high if posinf is None else posinf, x)
    return _ops["select"](equal(x, float("-inf")), low if neginf is None else neginf, x)


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


@_named(method=True, primitive="Lerp", mint=True)
def lerp(input: Tensor, end: Tensor, weight: float | Tensor) -> Tensor:
    """input + weight * (end - input).

    Args:
        input (Tensor): the input, of any shape and any dtype.
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
        r = r + y
    return r


@_named(method=True)
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: TensorLike = 1) -> Tensor:
    """input + value * tensor1 * tensor2.

    Args:
        input (Tensor): the input, of any shape and any dtype.
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
    return input + tensor1 * tensor2 * value


@_named(method=True)
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: TensorLike = 1) -> Tensor:
    """input + value * tensor1 / tensor2; of integers rounded towards 0.

    Args:
        input (Tensor): the input, of any shape and any dtype.
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
    result = input + tensor1 / tensor2 * value
    return result if input.dtype.is_floating_point else cast(result, input.dtype)
