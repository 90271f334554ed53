"""Layers as functions: convolution, pooling, normalisation, activations."""

import builtins

from pijit._C import ops as _ops
from pijit.ops.function.creation import arange, ones
from pijit.ops.function.elementwise import abs, cast, isnan, logical_and, logical_not, logical_or, relu6, sigmoid, softplus_, stop_gradient, tanh
from pijit.ops.function.reduce import mean
from pijit.ops.function.selection import clamp
from pijit.ops.function.shapes import _ints, expand_dims, reshape, split, squeeze


def _pair(x):
    return (x, x) if isinstance(x, int) else tuple(x)


def _format(name, value):
    known = ("NCHW", "NHWC")
    if value not in known:
        raise ValueError(f"For '{name}', 'data_format' must be one of {list(known)}, but got {value!r}.")
    if value != "NCHW":
        raise ValueError(f"For '{name}', the data_format {value!r} is not supported on the CPU.")


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


def _windows(name, size, kernel, stride, pad, dilation, ceil_mode):
    """Output sizes and the padding (top, bottom, left, right) that windows over them need."""
    out, full = [], []
    for i in (0, 1):
        low, high = pad[2 * i], pad[2 * i + 1]
        span = dilation[i] * (kernel[i] - 1) + 1
        if 2 * builtins.max(low, high) > kernel[i]:
            raise ValueError(f"For '{name}', 'padding' must be at most half the kernel size {kernel[i]}, but got {builtins.max(low, high)}.")
        n = size[i] + low + high - span
        if n < 0:
            raise ValueError(f"For '{name}', the window of {span} is larger than the padded input of {size[i] + low + high}.")
        count = n // stride[i] + 1
        if ceil_mode and n % stride[i] and count * stride[i] < size[i] + low:
            count += 1  # one more window, which begins inside the input or the padding before it
        out.append(count)
        full += [low, builtins.max((count - 1) * stride[i] + span - size[i] - low, high)]
    return out, full


def max_pool2d(x, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False, pad_mode="pad"):
    """Maxima of windows of x [N, C, H, W]; with return_indices, also their places in the plane of H * W as int64."""
    k, d = _pair(kernel_size), _pair(dilation)
    s = k if stride is None else _pair(stride)
    pad = _pool_pad(x.shape[2:], k, s, pad_mode, padding)
    if not return_indices and not ceil_mode and d == (1, 1):
        return _ops["max_pool2d"](x, k, s, pad)
    h, w = x.shape[2:]
    (oh, ow), pad = _windows("max_pool2d", (h, w), k, s, pad, d, ceil_mode)
    padded = _ops["pad"](x, (0, 0, pad[0], pad[2]), (0, 0, pad[1], pad[3]), float("-inf"))
    best = at = None
    for i in builtins.range(k[0]):
        for j in builtins.range(k[1]):
            top, left = i * d[0], j * d[1]
            v = padded[:, :, top:top + (oh - 1) * s[0] + 1:s[0], left:left + (ow - 1) * s[1] + 1:s[1]]
            rows, columns = arange(oh) * s[0] + (top - pad[0]), arange(ow) * s[1] + (left - pad[2])
            place = expand_dims(rows, 1) * w + columns
            if best is None:
                best, at = v, place + _ops["cast"](v != v, place.dtype) * 0
                continue
            greater = logical_or(v > best, logical_and(isnan(v), logical_not(isnan(best))))
            best, at = _ops["select"](greater, v, best), _ops["select"](greater, place, at)
    return (best, at) if return_indices else best


def avg_pool2d(input_x, kernel_size=1, stride=1, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=0, pad_mode="pad"):
    """Means of windows of input_x [N, C, H, W], or their sums over divisor_override."""
    k, s = _pair(kernel_size), _pair(stride)
    pad = _pool_pad(input_x.shape[2:], k, s, pad_mode, padding)
    if not ceil_mode and not divisor_override:
        return _ops["avg_pool2d"](input_x, k, s, pad, count_include_pad)
    h, w = input_x.shape[2:]
    _, full = _windows("avg_pool2d", (h, w), k, s, pad, (1, 1), ceil_mode)

    def sums(x, low, high):
        x = _ops["pad"](x, (0, 0, *low), (0, 0, *high), 0.0)
        return _ops["avg_pool2d"](x, k, s, (0, 0, 0, 0), True) * float(k[0] * k[1])
    total = sums(input_x, (full[0], full[2]), (full[1], full[3]))
    if divisor_override:
        return total / float(divisor_override)
    if count_include_pad:  # but not what ceil_mode adds behind it
        counted = ones((1, 1, h + pad[0] + pad[1], w + pad[2] + pad[3]), input_x.dtype)
        return total / sums(counted, (0, 0), (full[1] - pad[1], full[3] - pad[3]))
    return total / sums(ones((1, 1, h, w), input_x.dtype), (full[0], full[2]), (full[1], full[3]))


def adaptive_avg_pool2d(input, output_size):
    """Means of windows so that the output has the given size: window i of n covers [floor(i h / n), ceil((i + 1) h / n))."""
    oh, ow = _pair(output_size)
    h, w = input.shape[-2:]
    oh, ow = h if oh is None else oh, w if ow is None else ow
    if input.ndim == 4 and h % oh == 0 and w % ow == 0:
        k = (h // oh, w // ow)
        return _ops["avg_pool2d"](input, k, k)

    def weights(n, size):
        i, x = expand_dims(arange(n), 1), arange(size)
        begin, end = i * size // n, ((i + 1) * size + (n - 1)) // n
        inside = cast(logical_and(x >= begin, x < end), input.dtype)
        return inside / cast(end - begin, input.dtype)
    return _ops["matmul"](_ops["matmul"](weights(oh, h), input, False, False), weights(ow, w), False, True)


def batch_norm(input_x, running_mean, running_var, weight, bias, training=False, momentum=0.1, eps=1e-5):
    """Batch normalisation over all axes but 1 (Ioffe & Szegedy 2015). In training the running statistics
    are updated: running = (1 - momentum) * running + momentum * batch, with the unbiased variance."""
    shape = (1, -1) + (1,) * (input_x.ndim - 2)
    if training:
        axes = (0,) + tuple(builtins.range(2, input_x.ndim))
        n = input_x.size // builtins.max(input_x.shape[1], 1)
        m = mean(input_x, axes, True)
        v = _ops["variance"](input_x, axes, True, 0)
        unbiased = stop_gradient(v) * (n / builtins.max(n - 1, 1))
        running_mean._assign(running_mean * (1.0 - momentum) + reshape(stop_gradient(m), (-1,)) * momentum)
        running_var._assign(running_var * (1.0 - momentum) + reshape(unbiased, (-1,)) * momentum)
    else:
        m, v = reshape(running_mean, shape), reshape(running_var, shape)
    return _ops["normalize"](input_x, m, v, None if weight is None else reshape(weight, shape), None if bias is None else reshape(bias, shape), float(eps))


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


def hardshrink(input, lambd=0.5):
    """x, but 0 where -lambd <= x <= lambd."""
    return _ops["select"]((input >= -lambd) & (input <= lambd), 0.0, input)


def softshrink(input, lambd=0.5):
    """x moved towards 0 by lambd, and 0 where -lambd <= x <= lambd."""
    return _ops["select"](input > lambd, input - lambd, _ops["select"](input < -lambd, input + lambd, input * 0.0))


def selu(input_x):
    """Self-normalising ELU (Klambauer et al. 2017)."""
    return _ops["elu"](input_x, 1.67326324) * 1.05070098


def prelu(input, weight):
    """input where input > 0, else weight * input, a weight per channel."""
    w = reshape(weight, (1, -1) + (1,) * (input.ndim - 2)) if input.ndim > 1 else weight
    return _ops["select"](input > 0, input, input * w)


def softplus(input, beta=1, threshold=20):
    """log(1 + exp(beta * x)) / beta; x where beta * x is above the threshold."""
    scaled = input if beta == 1 else input * beta
    y = softplus_(scaled)
    return _ops["select"](scaled > threshold, input, y if beta == 1 else y / beta)


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
    """Rows of weight by index; no gradient flows to the row of padding_idx."""
    if max_norm is not None or scale_grad_by_freq or norm_type != 2.0:
        raise ValueError("For 'embedding', 'max_norm', 'norm_type' and 'scale_grad_by_freq' are not supported.")
    if padding_idx is not None:
        n = weight.shape[0]
        if not -n <= padding_idx < n:
            raise ValueError(f"For 'embedding', 'padding_idx' must be in [{-n}, {n}), but got {padding_idx}.")
        row = expand_dims(arange(n) == padding_idx % n, 1)
        weight = _ops["select"](row, stop_gradient(weight), weight)
    return _ops["gather"](weight, input, 0)
