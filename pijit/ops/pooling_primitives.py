"""Primitives that pool."""

from __future__ import annotations

import builtins

import numpy as np

from pijit import _check, dtype as mstype, random as _random
from pijit._C import ops as _ops, Tensor
from pijit.ops import function as F
from pijit.ops.function.convolution import _conv_pad
from pijit.ops.function.pooling import _unpool
from pijit.ops.primitive import primitive
from pijit.ops.primitive_arguments import _ints, _plane


@primitive
def AdaptiveAvgPool2D(input_x, /, output_size):
    """Means of as many windows as asked for."""
    return F.adaptive_avg_pool2d(input_x, output_size)


@primitive
def AdaptiveAvgPool3D(input_x, /, output_size):
    """Means of as many windows as asked for."""
    return F.adaptive_avg_pool3d(input_x, output_size)


@primitive
def AdaptiveMaxPool2D(input_x, /, output_size):
    """(maxima of as many windows as asked for, their places)."""
    return F.adaptive_max_pool2d(input_x, output_size, True)


def _pad3d(x, kernel, strides, pad_mode, pad):
    kernel, strides = ((v,) * 3 if isinstance(v, int) else tuple(v)[-3:] for v in (kernel, strides))
    return kernel, strides, _conv_pad(x.shape[2:], kernel, strides, (1, 1, 1), pad_mode.lower(), pad)


def _pooled(x, kernel, strides, pad_mode, pad, ceil_mode, fill):
    kernel, strides, p = _pad3d(x, kernel, strides, pad_mode, pad)
    if p[0::2] == p[1::2]:
        return x, kernel, strides, tuple(p[0::2]), ceil_mode
    return _ops["pad"](x, (0, 0, *p[0::2]), (0, 0, *p[1::2]), fill), kernel, strides, (0, 0, 0), ceil_mode


@primitive
def MaxPool3D(x, /, kernel_size=1, strides=1, pad_mode="VALID", pad_list=0, ceil_mode=None, data_format="NCDHW"):
    """Maxima of windows of [N, C, D, H, W]."""
    x, kernel, stride, p, ceil = _pooled(x, kernel_size, strides, pad_mode, pad_list, bool(ceil_mode), float("-inf"))
    return F.max_pool3d(x, kernel, stride, p, ceil_mode=ceil)


@primitive
def AvgPool3D(x, /, kernel_size=1, strides=1, pad_mode="valid", pad=0, ceil_mode=False, count_include_pad=True,
              divisor_override=0, data_format="NCDHW"):
    """Means of windows of [N, C, D, H, W]."""
    kernel, stride, p = _pad3d(x, kernel_size, strides, pad_mode, pad)
    return F.avg_pool3d(x, kernel, stride, tuple(p[0::2]) if p[0::2] == p[1::2] else p, ceil_mode, count_include_pad,
                        divisor_override)


@primitive
def AdaptiveMaxPool3D(x, output_size, /):
    """(maxima so that the volume has the given sizes, their places as int32)."""
    return F.adaptive_max_pool3d(x, tuple(_ints(output_size)), True)


def _type(argmax_type):
    return mstype.int32 if argmax_type == mstype.int32 else mstype.int64


@primitive
def MaxPool3DWithArgmax(x, /, ksize, strides, pads, dilation=(1, 1, 1), ceil_mode=False, data_format="NCDHW",
                        argmax_type=mstype.int64):
    """(maxima of windows of [N, C, D, H, W], their places in the volume)."""
    y, at = F.max_pool3d(x, _plane(ksize, 3), _plane(strides, 3), _plane(pads, 3), _plane(dilation, 3), ceil_mode, True)
    return y, F.cast(at, _type(argmax_type))


@primitive
def MaxPoolWithArgmaxV2(x, /, kernel_size, strides=None, pads=0, dilation=(1, 1), ceil_mode=False,
                        argmax_type=mstype.int64):
    """(maxima of windows of [N, C, H, W], their places in the plane)."""
    k = _plane(kernel_size)
    y, at = F.max_pool2d(x, k, k if strides is None else _plane(strides), _plane(pads), _plane(dilation), True,
                         ceil_mode)
    return y, F.cast(at, _type(argmax_type))


def _unpooled(x, argmax, ksize, strides, pads, output_shape, count):
    k, p = _plane(ksize, count), _plane(pads, count)
    s = k if strides in (0, None) else _plane(strides, count)
    sizes = (list(output_shape)[-count:] if output_shape
             else [(n - 1) * step - 2 * q + w for n, step, q, w in zip(x.shape[2:], s, p, k)])
    return _unpool(f"MaxUnpool{count}D", x, argmax, count, sizes)


@primitive
def MaxUnpool2D(x, argmax, /, ksize, strides=0, pads=0, output_shape=(), data_format="NCHW"):
    """[N, C, H, W] at its places in the planes that it was pooled from."""
    return _unpooled(x, argmax, ksize, strides, pads, output_shape, 2)


@primitive
def MaxUnpool3D(x, argmax, /, ksize, strides=0, pads=0, output_shape=(), data_format="NCDHW"):
    """[N, C, D, H, W] at its places in the volumes that it was pooled from."""
    return _unpooled(x, argmax, ksize, strides, pads, output_shape, 3)


def _fractions(name, pooling_ratio, *attributes):
    if not isinstance(pooling_ratio, (list, tuple)) or len(pooling_ratio) != 4:
        raise _check.refused(name, "pooling_ratio", _check.value("be a list of 4 floats"), pooling_ratio, TypeError)
    if pooling_ratio[0] != 1 or pooling_ratio[3] != 1 or builtins.min(pooling_ratio) < 1:
        raise _check.refused(name, "pooling_ratio", _check.value("be [1, at least 1, at least 1, 1]"), pooling_ratio)


def _cuts(n, ratio, pseudo_random):
    """Where the windows of an axis of n begin, and n: Graham 2014."""
    m = int(n / ratio)
    share = n / m
    if pseudo_random:
        k = int(share)
        u = _random.uniform((1,)).item() * builtins.min((k + 2) / share - 1, (n + 1 - k) / share - (m - 1))
        return [0] + [int(np.ceil(share * (i + u))) - 1 for i in builtins.range(1, m)] + [n]
    lengths = np.array([n // m + 1] * (n % m) + [n // m] * (m - n % m))
    order = _random.uniform((m,)).asnumpy().argsort()
    return [0, *np.cumsum(lengths[order]).tolist()]


def _fractional(x, ratio, pseudo_random, overlapping, reduce):
    """(x [N, H, W, C] pooled over random windows, the cuts of rows and columns)."""
    cuts = [_cuts(n, r, pseudo_random) for n, r in zip(x.shape[1:3], ratio[1:3])]
    for axis, cut in enumerate(cuts, 1):
        whole = x.shape[axis]
        parts = []
        for a, b in zip(cut, cut[1:]):
            part = F.narrow(x, axis, a, builtins.min(b + overlapping, whole) - a)
            parts.append(reduce(part, axis, True))
        x = _ops["concat"](parts, axis)
    return x, *(Tensor(c, mstype.int64) for c in cuts)


@primitive(check=_fractions)
def FractionalMaxPool(x, /, pooling_ratio, pseudo_random=False, overlapping=False, deterministic=False, seed=0,
                      seed2=0):
    """(maxima of random windows of [N, H, W, C], where their rows and their columns begin)."""
    return _fractional(x, pooling_ratio, pseudo_random, overlapping, F.amax)


@primitive(check=_fractions)
def FractionalAvgPool(x, /, pooling_ratio, pseudo_random=False, overlapping=False, deterministic=False, seed=0,
                      seed2=0):
    """(means of random windows of [N, H, W, C], where their rows and their columns begin)."""
    return _fractional(x, pooling_ratio, pseudo_random, overlapping, F.mean)


@primitive
def FractionalMaxPoolWithFixedKsize(input_x, random_samples, /, ksize, output_shape, data_format="NCHW"):
    """(maxima of windows of one size at random places of [N, C, H, W], their places in the plane)."""
    from pijit.ops.function.fractional import fractional_max
    return fractional_max("FractionalMaxPoolWithFixedKsize", input_x, _plane(ksize), _plane(output_shape),
                          random_samples)


@primitive
def FractionalMaxPool3DWithFixedKsize(x, random_samples, /, ksize, output_shape, data_format="NCDHW"):
    """(maxima of windows of one size at random places of [N, C, D, H, W], their places in the volume)."""
    from pijit.ops.function.fractional import fractional_max
    return fractional_max("FractionalMaxPool3DWithFixedKsize", x, _plane(ksize, 3), _plane(output_shape, 3),
                          random_samples)


__all__ = [n for n, v in globals().items() if isinstance(v, type) and v.__module__ == __name__]
