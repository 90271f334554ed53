"""Layers as functions: convolution, pooling, normalisation, activations."""

import builtins

from pijit._C import ops as _ops
from pijit.ops.function.elementwise import abs, cast, relu6, rsqrt, sigmoid, softplus_, stop_gradient, tanh
from pijit.ops.function.reduce import mean
from pijit.ops.function.selection import clamp
from pijit.ops.function.shapes import _ints, expand_dims, reshape, split, squeeze


def _pair(x):
    return (x, x) if isinstance(x, int) else tuple(x)


def conv2d(input, weight, bias=None, stride=1, pad_mode="valid", padding=0, dilation=1, groups=1):
    """2-d convolution. input [N, C, H, W], weight [O, C / groups, kh, kw]."""
    stride, dilation = _pair(stride), _pair(dilation)
    return _ops["conv2d"](input, weight, bias, stride, _conv_pad(input.shape[2:], weight.shape[2:], stride, dilation, pad_mode, padding), dilation, groups)


def _conv_pad(size, kernel, stride, dilation, mode, padding):
    if mode == "valid":
        return (0, 0, 0, 0)
    if mode == "same":
        out = []
        for n, k, s, d in zip(size, kernel, stride, dilation):
            total = builtins.max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0)
            out += [total // 2, total - total // 2]
        return tuple(out)
    if mode != "pad":
        raise ValueError(f"For 'conv2d', 'pad_mode' must be 'valid', 'same' or 'pad', but got {mode!r}.")
    if isinstance(padding, int):
        return (padding,) * 4
    p = tuple(padding)
    return (p[0], p[0], p[1], p[1]) if len(p) == 2 else p


def conv1d(input, weight, bias=None, stride=1, pad_mode="valid", padding=0, dilation=1, groups=1):
    """1-d convolution. input [N, C, L], weight [O, C / groups, k]."""
    stride, dilation = _ints(stride)[0], _ints(dilation)[0]
    p = padding if isinstance(padding, int) else tuple(padding)[0]
    pad = _conv_pad((1, input.shape[2]), (1, weight.shape[2]), (1, stride), (1, dilation), pad_mode, (0, 0, p, p))
    y = _ops["conv2d"](expand_dims(input, 2), expand_dims(weight, 2), bias, (1, stride), pad, (1, dilation), groups)
    return squeeze(y, 2)


def _pool_pad(size, kernel, stride, mode, padding):
    mode = mode.lower()
    if mode == "same":
        return _conv_pad(size, kernel, stride, (1, 1), "same", 0)
    if mode == "pad":
        p = _pair(padding)
        return (p[0], p[0], p[1], p[1])
    return (0, 0, 0, 0)


def max_pool2d(x, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False, pad_mode="pad"):
    """Maxima of windows. x [N, C, H, W]."""
    if return_indices or ceil_mode or dilation not in (1, (1, 1)):
        raise ValueError("For 'max_pool2d', return_indices, ceil_mode and dilation are not supported.")
    k = _pair(kernel_size)
    s = k if stride is None else _pair(stride)
    return _ops["max_pool2d"](x, k, s, _pool_pad(x.shape[2:], k, s, pad_mode, padding))


def avg_pool2d(input_x, kernel_size=1, stride=1, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=0, pad_mode="pad"):
    """Means of windows. input_x [N, C, H, W]."""
    if ceil_mode or divisor_override:
        raise ValueError("For 'avg_pool2d', ceil_mode and divisor_override are not supported.")
    k, s = _pair(kernel_size), _pair(stride)
    return _ops["avg_pool2d"](input_x, k, s, _pool_pad(input_x.shape[2:], k, s, pad_mode, padding), count_include_pad)


def adaptive_avg_pool2d(input, output_size):
    """Means of windows so that the output has the given size, which must divide the input's."""
    oh, ow = _pair(output_size)
    h, w = input.shape[2:]
    oh, ow = h if oh is None else oh, w if ow is None else ow
    if h % oh or w % ow:
        raise ValueError(f"For 'adaptive_avg_pool2d', the output size {(oh, ow)} must divide the input size {(h, w)}.")
    k = (h // oh, w // ow)
    return _ops["avg_pool2d"](input, k, k)


def batch_norm(input_x, running_mean, running_var, weight, bias, training=False, momentum=0.1, eps=1e-5):
    """Batch normalisation over all axes but 1 (Ioffe & Szegedy 2015). In training the running statistics
    are updated: running = (1 - momentum) * running + momentum * batch, with the unbiased variance."""
    shape = (1, -1) + (1,) * (input_x.ndim - 2)
    if training:
        axes = (0,) + tuple(builtins.range(2, input_x.ndim))
        n = input_x.size // builtins.max(input_x.shape[1], 1)
        m = mean(input_x, axes, True)
        d = input_x - m
        v = mean(d * d, axes, True)
        unbiased = stop_gradient(v) * (n / builtins.max(n - 1, 1))
        running_mean._assign(running_mean * (1.0 - momentum) + reshape(stop_gradient(m), (-1,)) * momentum)
        running_var._assign(running_var * (1.0 - momentum) + reshape(unbiased, (-1,)) * momentum)
    else:
        d = input_x - reshape(running_mean, shape)
        v = reshape(running_var, shape)
    y = d * rsqrt(v + eps)
    if weight is not None:
        y = y * reshape(weight, shape)
    if bias is not None:
        y = y + reshape(bias, shape)
    return y


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    """Layer normalisation over the last dimensions (Ba et al. 2016)."""
    begin = input.ndim - len(normalized_shape)
    if begin < 0 or tuple(input.shape[begin:]) != tuple(normalized_shape):
        raise ValueError(f"For 'layer_norm', the last dimensions of {input.shape} must be {tuple(normalized_shape)}.")
    return _ops["layer_norm"](input, weight, bias, begin, float(eps))


def softmax(input, axis=-1, *, dtype=None):
    """exp(x) / sum(exp(x)) along one axis."""
    return _ops["softmax"](input if dtype is None else cast(input, dtype), axis)


def log_softmax(logits, axis=-1):
    """The logarithm of softmax."""
    return _ops["log_softmax"](logits, axis)


def gelu(input, approximate="none"):
    """x * Phi(x); approximate='tanh' uses Hendrycks & Gimpel's formula."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"For 'gelu', 'approximate' must be 'none' or 'tanh', but got {approximate!r}.")
    return _ops["gelu"](input, approximate)


def leaky_relu(input, alpha=0.2):
    """x where x > 0, else alpha * x."""
    return _ops["leaky_relu"](input, alpha)


def elu(input_x, alpha=1.0):
    """x where x > 0, else alpha * (exp(x) - 1)."""
    return _ops["elu"](input_x, alpha)


def selu(input_x):
    """Self-normalising ELU (Klambauer et al. 2017)."""
    return _ops["elu"](input_x, 1.67326324) * 1.05070098


def prelu(x, weight):
    """x where x > 0, else weight * x, a weight per channel."""
    w = reshape(weight, (1, -1) + (1,) * (x.ndim - 2)) if x.ndim > 1 else weight
    return _ops["select"](x > 0, x, x * w)


def softplus(input, beta=1, threshold=20):
    """log(1 + exp(beta * x)) / beta."""
    return softplus_(input * beta) / beta if beta != 1 else softplus_(input)


def logsigmoid(x):
    """log(sigmoid(x))."""
    return -softplus_(-x)


def mish(x):
    """x * tanh(softplus(x))."""
    return x * tanh(softplus_(x))


def softsign(x):
    """x / (1 + |x|)."""
    return x / (1.0 + abs(x))


def tanhshrink(input):
    """x - tanh(x)."""
    return input - tanh(input)


def hardsigmoid(input):
    """relu6(x + 3) / 6."""
    return relu6(input + 3.0) / 6.0


def hardswish(input):
    """x * relu6(x + 3) / 6."""
    return input * relu6(input + 3.0) / 6.0


def hardtanh(input, min_val=-1.0, max_val=1.0):
    """Limited to [min_val, max_val]."""
    return clamp(input, min_val, max_val)


def glu(x, axis=-1):
    """a * sigmoid(b) for the halves a, b of one axis."""
    a, b = split(x, x.shape[axis] // 2, axis)
    return a * sigmoid(b)


def bias_add(input_x, bias):
    """A bias per channel (axis 1)."""
    return input_x + reshape(bias, (1, -1) + (1,) * (input_x.ndim - 2))


def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False):
    """Rows of weight by index."""
    return _ops["gather"](weight, input, 0)
