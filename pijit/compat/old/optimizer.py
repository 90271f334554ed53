"""Functions that optimizers of a program's own map over parameters and gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit.ops import composite, function as F
from pijit.sparse_tensor import RowTensor

if TYPE_CHECKING:
    from typing import Any
    from pijit.ops.composite import MultitypeFuncGraph

_apply_decay, _grad_scale = composite.MultitypeFuncGraph("apply_decay"), composite.MultitypeFuncGraph("grad_scale")
grad_scale: MultitypeFuncGraph
apply_decay: MultitypeFuncGraph
apply_decay, grad_scale = _apply_decay, _grad_scale


@_apply_decay.register("Tensor", "Bool", "Tensor", "Tensor")
def tensor_apply_decay(weight_decay: Any, if_apply: Any, weight: Any, gradient: Any) -> Any:
    """The gradient, with the weight's share where it has one."""
    return gradient + F.cast(weight * F.cast(weight_decay, weight.dtype), gradient.dtype) if if_apply else gradient


@_apply_decay.register("Number", "Bool", "Tensor", "Tensor")
def _(weight_decay, if_apply, weight, gradient):
    return gradient + F.cast(weight * weight_decay, gradient.dtype) if if_apply else gradient


@_grad_scale.register("Number", "Tensor")
def tensor_grad_scale(scale: Any, grad: Any) -> Any:
    """The gradient times the scale."""
    return grad if scale == 1.0 else grad * scale


@_grad_scale.register("Tensor", "Tensor")
def tensor_grad_scale_with_tensor(scale: Any, grad: Any) -> Any:
    """The gradient times the scale."""
    return grad * F.cast(scale, grad.dtype)


@_grad_scale.register("Tensor", "RowTensor")
def tensor_grad_scale_with_sparse(scale: Any, grad: Any) -> Any:
    """The gradient times the scale."""
    return RowTensor(grad.indices, grad.values * F.cast(scale, grad.values.dtype), grad.dense_shape)
