"""Normalisation by batch, layer, group, instance and root mean square."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import one_operator
from pijit.ops.function.elementwise import cast, _in_dtype_of, _need_tensor, pow, rsqrt, square, stop_gradient
from pijit.ops.function.reduction import mean
from pijit.ops.function.shapes import reshape
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import Number, Shape


@_named(functional=True)
@one_operator
def batch_norm(input_x: Tensor, running_mean: Tensor, running_var: Tensor, weight: Tensor, bias: Tensor,
               training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """Batch normalisation over all axes but 1 (Ioffe & Szegedy 2015).

    In training the running statistics are updated: running = (1 - momentum) * running + momentum * batch, with the
    unbiased variance. Half precision is computed in float32.

    Args:
        input_x (Tensor): the input, of 2 dimensions or more and bool, int or float dtype.
        running_mean (Tensor or Parameter): the mean per channel.
        running_var (Tensor or Parameter): the variance per channel.
        weight (Tensor): the factor per channel.
        bias (Tensor): what to add per channel.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-05.

    Returns:
        Tensor of input_x's shape. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        ValueError: if the shape of `running_mean` does not fit, or the shape of `running_var` does not fit, or the
            shape of `weight` does not fit, or the shape of `bias` does not fit.

    Example:
        >>> print(ops.batch_norm(Tensor([[1.0], [3.0]]), Tensor([2.0]), Tensor([1.0]), Tensor([1.0]), Tensor([0.0])))
        [[-0.999995]
         [ 0.999995]]
    """
    shape = (1, -1) + (1,) * (input_x.ndim - 2)
    half = input_x.dtype in (mstype.float16, mstype.bfloat16)
    x = _ops["cast"](input_x, mstype.float32) if half else input_x
    if training:
        axes = (0,) + tuple(builtins.range(2, x.ndim))
        n = x.size // builtins.max(x.shape[1], 1)
        m = mean(x, axes, True)
        v = _ops["variance"](x, axes, True, 0)
        unbiased = stop_gradient(v) * (n / builtins.max(n - 1, 1))
        running_mean._assign(running_mean * (1.0 - momentum) + reshape(stop_gradient(m), (-1,)) * momentum)
        running_var._assign(running_var * (1.0 - momentum) + reshape(unbiased, (-1,)) * momentum)
    else:
        m, v = reshape(running_mean, shape), reshape(running_var, shape)
    scale, shift = (None if p is None else _ops["cast"](reshape(p, shape), mstype.float32) if half
                    else reshape(p, shape) for p in (weight, bias))
    y = _ops["normalize"](x, m, v, scale, shift, float(eps))
    return _ops["cast"](y, input_x.dtype) if half else y


@_named(functional=True)
def layer_norm(input: Tensor, normalized_shape: Shape, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:
    """Layer normalisation over the last dimensions (Ba et al. 2016).

    Args:
        input (Tensor): the input, of 1 dimension or more and float dtype.
        normalized_shape (tuple of int): the last dimensions.
        weight (Tensor, optional): the factor per element. Default: None.
        bias (Tensor, optional): what to add per element. Default: None.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-05.

    Returns:
        Tensor of input's shape. Floats keep their dtype; not for bool, ints and complex.

    Example:
        >>> print(ops.layer_norm(Tensor([[1.0, 3.0]]), (2,)))
        [[-0.999995  0.999995]]
    """
    begin = input.ndim - len(normalized_shape)
    if begin < 0 or tuple(input.shape[begin:]) != tuple(normalized_shape):
        raise _check.refused("layer_norm", "the last dimensions", _check.value(f"be {tuple(normalized_shape)}"),
                             input.shape)
    return _in_dtype_of(input, _ops["layer_norm"](input, weight, bias, begin, float(eps)))


@_named(functional=True)
def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:
    """Normalisation over groups of channels of input [N, C, ...] (Wu & He 2018); weight and bias per channel.

    Args:
        input (Tensor): the input [N, C, ...], of float dtype.
        num_groups (int): the number of groups.
        weight (Tensor, optional): a factor per class or element. Default: None.
        bias (Tensor, optional): what to add per channel. Default: None.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-05.

    Returns:
        Tensor of input's shape. Floats keep their dtype; not for bool, ints and complex.

    Example:
        >>> print(ops.group_norm(Tensor([[[1.0, 3.0], [2.0, 6.0]]]), 2))
        [[[-0.999995   0.999995 ]
          [-0.9999988  0.9999988]]]
    """
    n, c = input.shape[:2]
    if num_groups <= 0 or c % num_groups:
        raise _check.refused("group_norm", "num_groups", _check.value(f"divide the {c} channels"), num_groups)
    y = reshape(_ops["layer_norm"](reshape(input, (n, num_groups, -1)), None, None, 2, float(eps)), input.shape)
    shape = (1, c) + (1,) * (input.ndim - 2)
    if weight is not None:
        y = y * reshape(weight, shape)
    return _in_dtype_of(input, y if bias is None else y + reshape(bias, shape))


def rms_norm(x: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    """(x / rms(x) * gamma, 1 / rms(x)), rms over the axes that gamma has (Zhang & Sennrich 2019).

    Args:
        x (Tensor): the input, of 1 dimension or more and int, float or complex dtype.
        gamma (Tensor): the factor per element.
        epsilon (float, optional): a small number that keeps the result finite. Default: 1e-06.

    Returns:
        (Tensor, Tensor). Floats and complex keep their dtype; ints give float32; not for bool.

    Raises:
        ValueError: if the shape of `gamma` does not fit.

    Example:
        >>> print(ops.rms_norm(Tensor([[3.0, 3.0]]), ops.ones(2))[0])
        [[0.99999994 0.99999994]]
    """
    axes = tuple(builtins.range(x.ndim - gamma.ndim, x.ndim))
    if tuple(x.shape[x.ndim - gamma.ndim:]) != tuple(gamma.shape):
        raise _check.refused("rms_norm", "the last dimensions", _check.value(f"be those of gamma, {gamma.shape}"),
                             x.shape)
    scale = rsqrt(mean(square(x), axes, True) + epsilon)
    return x * scale * gamma, scale


def lrn(x: Tensor, depth_radius: int = 5, bias: float = 1.0, alpha: Number = 1.0, beta: Number = 0.5,
        norm_region: str = "ACROSS_CHANNELS") -> Tensor:
    """x / (bias + alpha * sum of squares of the channels within depth_radius) ** beta (Krizhevsky et al.

    2012). x [N, C, H, W].

    Args:
        x (Tensor): the input [N, C, H, W], of int, float or complex dtype.
        depth_radius (int, optional): how many channels to each side. Default: 5.
        bias (float, optional): what the sum is added to. Default: 1.0.
        alpha (number, optional): a factor. Default: 1.0.
        beta (number, optional): a factor. Default: 0.5.
        norm_region (str, optional): 'ACROSS_CHANNELS'. Default: 'ACROSS_CHANNELS'.

    Returns:
        Tensor of x's shape. Floats and complex keep their dtype; ints give float32; not for bool.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if `norm_region` is not 'ACROSS_CHANNELS', or `x` does not have 4 dimensions.

    Example:
        >>> print(ops.lrn(ops.ones((1, 1, 1, 2))))
        [[[[0.70710677 0.70710677]]]]
    """
    _need_tensor("lrn", "x", x)
    if norm_region != "ACROSS_CHANNELS":
        raise _check.refused("lrn", "norm_region", _check.one_of("ACROSS_CHANNELS"), norm_region)
    if x.ndim != 4:
        raise _check.refused("lrn", "x", _check.dims(4), x.ndim)
    channels = x.shape[1]
    squares = _ops["pad"](square(x), (0, depth_radius, 0, 0), (0, depth_radius, 0, 0), 0.0)
    total = squares[:, :channels]
    for k in builtins.range(1, 2 * depth_radius + 1):
        total = total + squares[:, k:k + channels]
    return x / pow(total * alpha + bias, beta)


@one_operator
def add_layer_norm(x1: Tensor, x2: Tensor, gamma: Any, beta: Any, epsilon: float = 1e-5,
                   additional_output: bool = False) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(layer normalisation of x1 + x2 over the last dimension, means, reciprocal standard deviations, x1 + x2).

    gamma, beta: [n]. The means and deviations are [..., 1] float32. Without additional_output the last result is zeros.

    Args:
        epsilon (float, optional): a small number that keeps the result finite. Default: 1e-05.

    Returns:
        (Tensor, Tensor, Tensor, Tensor). Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `x1` is not a Tensor.
        ValueError: if the shape of `x2` does not fit, or the shape of `gamma` does not fit, or the shape of `beta` does
            not fit.

    Example:
        >>> print(ops.add_layer_norm(Tensor([[1.0, 3.0]]), Tensor([[0.0, 0.0]]), ops.ones(2), ops.zeros(2))[0])
        [[-0.999995  0.999995]]
    """
    x = x1 + x2
    wide = cast(x, mstype.float32)
    m = mean(wide, -1, True)
    rstd = rsqrt(mean(square(wide - m), -1, True) + epsilon)
    return layer_norm(x, (x.shape[-1],), gamma, beta, epsilon), m, rstd, x if additional_output else x * 0


@one_operator
def add_rms_norm(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor, Tensor]:
    """(x over its root mean square times gamma, the reciprocal of that root, x) for x = x1 + x2; gamma: [n].

    Args:
        x1 (Tensor): the first operand.
        x2 (Tensor): the second operand.
        gamma (Tensor): the factor per element.
        epsilon (float, optional): a small number that keeps the result finite. Default: 1e-06.

    Returns:
        (Tensor, Tensor, Tensor). Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `x1` is not a Tensor.
        ValueError: if the shape of `x2` does not fit, or the shape of `gamma` does not fit.

    Example:
        >>> print(ops.add_rms_norm(Tensor([[1.0, 1.0]]), Tensor([[2.0, 2.0]]), ops.ones(2))[2])
        [[3. 3.]]
    """
    x = x1 + x2
    wide = cast(x, mstype.float32)
    rstd = rsqrt(mean(square(wide), -1, True) + epsilon)
    return cast(wide * rstd, x.dtype) * gamma, rstd, x
