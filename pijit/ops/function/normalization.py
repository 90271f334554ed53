"""Normalisation by batch, layer, group, instance and root mean square."""

import builtins

from pijit import dtype as mstype
from pijit._C import ops as _ops
from pijit.ops.function.elementwise import _need_tensor, pow, rsqrt, square, stop_gradient
from pijit.ops.function.reduce import mean
from pijit.ops.function.shapes import reshape


def batch_norm(input_x, running_mean, running_var, weight, bias, training=False, momentum=0.1, eps=1e-5):
    """Batch normalisation over all axes but 1 (Ioffe & Szegedy 2015). In training the running statistics
    are updated: running = (1 - momentum) * running + momentum * batch, with the unbiased variance. Half precision is computed in float32."""
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
    scale, shift = (None if p is None else _ops["cast"](reshape(p, shape), mstype.float32) if half else reshape(p, shape) for p in (weight, bias))
    y = _ops["normalize"](x, m, v, scale, shift, float(eps))
    return _ops["cast"](y, input_x.dtype) if half else y


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Layer normalisation over the last dimensions (Ba et al. 2016)."""
    begin = input.ndim - len(normalized_shape)
    if begin < 0 or tuple(input.shape[begin:]) != tuple(normalized_shape):
        raise ValueError(f"For 'layer_norm', the last dimensions of {input.shape} must be {tuple(normalized_shape)}.")
    return _ops["layer_norm"](input, weight, bias, begin, float(eps))


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Normalisation over groups of channels of input [N, C, ...] (Wu & He 2018); weight and bias per channel."""
    n, c = input.shape[:2]
    if num_groups <= 0 or c % num_groups:
        raise ValueError(f"For 'group_norm', 'num_groups' must divide the {c} channels, but got {num_groups}.")
    y = reshape(_ops["layer_norm"](reshape(input, (n, num_groups, -1)), None, None, 2, float(eps)), input.shape)
    shape = (1, c) + (1,) * (input.ndim - 2)
    if weight is not None:
        y = y * reshape(weight, shape)
    return y if bias is None else y + reshape(bias, shape)


def rms_norm(x, gamma, epsilon=1e-6):
    """(x / rms(x) * gamma, 1 / rms(x)), rms over the axes that gamma has (Zhang & Sennrich 2019)."""
    axes = tuple(builtins.range(x.ndim - gamma.ndim, x.ndim))
    if tuple(x.shape[x.ndim - gamma.ndim:]) != tuple(gamma.shape):
        raise ValueError(f"For 'rms_norm', the last dimensions of {x.shape} must be those of gamma, {gamma.shape}.")
    scale = rsqrt(mean(square(x), axes, True) + epsilon)
    return x * scale * gamma, scale


def lrn(x, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5, norm_region="ACROSS_CHANNELS"):
    """x / (bias + alpha * sum of squares of the channels within depth_radius) ** beta (Krizhevsky et al. 2012). x [N, C, H, W]."""
    _need_tensor("lrn", "x", x)
    if norm_region != "ACROSS_CHANNELS":
        raise ValueError(f"For 'lrn', 'norm_region' must be 'ACROSS_CHANNELS', but got {norm_region!r}.")
    if x.ndim != 4:
        raise ValueError(f"For 'lrn', 'x' must have 4 dimensions, but got {x.ndim}.")
    channels = x.shape[1]
    squares = _ops["pad"](square(x), (0, depth_radius, 0, 0), (0, depth_radius, 0, 0), 0.0)
    total = squares[:, :channels]
    for k in builtins.range(1, 2 * depth_radius + 1):
        total = total + squares[:, k:k + channels]
    return x / pow(total * alpha + bias, beta)
