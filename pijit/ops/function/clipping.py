"""Values kept within limits, by element or by norm."""

from __future__ import annotations

from typing import overload, TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import one_operator
from pijit.ops.function.elementwise import (cast, equal, isfinite, isnan, _like, maximum, minimum, _need_tensor, sqrt,
                                            square)
from pijit.ops.function.joining import stack
from pijit.ops.function.norms import norm
from pijit.ops.function.reduction import sum
from pijit.ops.function.shapes import ravel
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
@one_operator
def clamp(input: Tensor, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
    """Elements limited to [min, max].

    Bounds that are numbers leave the dtype as it is. An element at a bound has the whole gradient.

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


@one_operator
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


def clamp_(input: Tensor, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
    """Limits the elements to [min, max], in place.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        min (Tensor or number, optional): the lower bound. Default: None.
        max (Tensor or number, optional): the upper bound. Default: None.

    Returns:
        input. Bool, ints and floats keep their dtype; not for complex.

    Example:
        >>> print(ops.clamp_(Tensor([1.0, 5.0]), 2.0, 4.0))
        [2. 4.]
    """
    return input.clamp_(min, max)
