"""Images in other sizes and colours, morphology and deformed windows."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import one_operator_each
from pijit.ops.function.creation import arange
from pijit.ops.function.elementwise import abs, cast, exp, floor, maximum, minimum, sin
from pijit.ops.function.joining import stack
from pijit.ops.function.shapes import expand_dims, reshape

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import Size


# --- colours ---

def rgb_to_hsv(images: Tensor) -> Tensor:
    """Hue, saturation and value, all in [0, 1], of red, green and blue along the last axis."""
    r, g, b = images[..., 0], images[..., 1], images[..., 2]
    v, low = maximum(maximum(r, g), b), minimum(minimum(r, g), b)
    span = v - low
    s = _ops["select"](v > 0, span / _ops["select"](v > 0, v, 1.0), 0.0)
    part = 1.0 / (6.0 * _ops["select"](span > 0, span, 1.0))
    h = _ops["select"](r == v, part * (g - b),
                       _ops["select"](g == v, part * (b - r) + 2.0 / 6.0, part * (r - g) + 4.0 / 6.0))
    h = _ops["select"](span > 0, h, 0.0)
    return stack([_ops["select"](h < 0, h + 1.0, h), s, v], -1)


def hsv_to_rgb(images: Tensor) -> Tensor:
    """Red, green and blue of hue, saturation and value along the last axis."""
    h, s, v = images[..., 0] * 6.0, images[..., 1], images[..., 2]
    c = s * v
    dr, dg, db = (minimum(maximum(d, 0.0), 1.0) for d in (abs(h - 3.0) - 1.0, 2.0 - abs(h - 2.0), 2.0 - abs(h - 4.0)))
    low = v - c
    return stack([low + c * dr, low + c * dg, low + c * db], -1)


def adjust_hue(images: Tensor, delta: Any) -> Tensor:
    """The hue turned by delta of a full circle: red, green and blue along the last axis."""
    hsv = rgb_to_hsv(images)
    h = hsv[..., 0] + delta
    return hsv_to_rgb(stack([h - floor(h), hsv[..., 1], hsv[..., 2]], -1))


def adjust_saturation(images: Tensor, scale: Any) -> Tensor:
    """The saturation times scale, kept in [0, 1]."""
    hsv = rgb_to_hsv(images)
    return hsv_to_rgb(stack([hsv[..., 0], minimum(maximum(hsv[..., 1] * scale, 0.0), 1.0), hsv[..., 2]], -1))


# --- sizes ---

def _by_weights(x, weights, axis):
    """x with one axis multiplied by weights [new, old]."""
    order = [k for k in builtins.range(x.ndim) if k != axis] + [axis]
    back = [order.index(k) for k in builtins.range(x.ndim)]
    y = _ops["matmul"](_ops["transpose"](x, tuple(order)), weights, False, True)
    return _ops["transpose"](y, tuple(back))


def resize_area(images: Tensor, size: Any, align_corners: bool = False) -> Tensor:
    """[N, H, W, C] in another size, each element the mean over the area it covers, as float32."""
    x = cast(images, mstype.float32)
    for axis, m in ((1, size[0]), (2, size[1])):
        n = x.shape[axis]
        scale = (n - 1) / (m - 1) if align_corners and m > 1 else n / m
        low = cast(expand_dims(arange(m), 1), mstype.float32) * scale
        i = cast(arange(n), mstype.float32)
        covered = maximum(minimum(low + scale, i + 1.0) - maximum(low, i), 0.0)
        last = cast(i == n - 1, mstype.float32)
        # what lies behind the end counts for the last
        covered = covered + last * maximum(low + scale - maximum(low, float(n)), 0.0)
        x = _by_weights(x, covered * (1.0 / scale), axis)
    return x


def resize_linear_1d(x: Tensor, size: Any, mode: str = "align_corners") -> Tensor:
    """[N, C, W] with another last size, linear between places."""
    n = x.shape[2]
    i = cast(arange(size), mstype.float32)
    if mode == "align_corners":
        at = i * ((n - 1) / (size - 1) if size > 1 else 0.0)
    else:
        at = maximum((i + 0.5) * (n / size) - 0.5, 0.0)
    low = minimum(floor(at), float(n - 1))
    first = _ops["gather"](x, cast(low, mstype.int64), 2)
    second = _ops["gather"](x, cast(minimum(low + 1.0, float(n - 1)), mstype.int64), 2)
    return first + (second - first) * cast(at - low, x.dtype)


def _lanczos(radius):
    def kernel(x):
        x = abs(x)
        safe = _ops["select"](x <= 1e-3, 1.0, x) * math.pi
        value = radius * sin(safe) * sin(safe / radius) / (safe * safe)
        return _ops["select"](x > radius, 0.0, _ops["select"](x <= 1e-3, 1.0, value))
    return radius, kernel


def _gaussian(x):
    x = abs(x)
    return _ops["select"](x >= 1.5, 0.0, exp(-x * x / (2.0 * 0.5 * 0.5)))


def _box(x):
    x = abs(x)
    return _ops["select"](x < 0.5, 1.0, _ops["select"](x == 0.5, 0.5, 0.0))


def _keys(x):
    x = abs(x)
    near, far = ((1.5 * x - 2.5) * x) * x + 1.0, ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0
    return _ops["select"](x >= 2.0, 0.0, _ops["select"](x >= 1.0, far, near))


def _mitchell(x):
    x = abs(x)
    near = (((7.0 * x - 12.0) * x) * x + 16.0 / 3.0) / 6.0
    far = (((-7.0 / 3.0 * x + 12.0) * x - 20.0) * x + 32.0 / 3.0) / 6.0
    return _ops["select"](x >= 2.0, 0.0, _ops["select"](x >= 1.0, far, near))


KERNELS: dict[str, Any] = {"lanczos1": _lanczos(1.0), "lanczos3": _lanczos(3.0), "lanczos5": _lanczos(5.0),
                           "gaussian": (1.5, _gaussian), "box": (0.5, _box),
                           "triangle": (1.0, lambda x: maximum(1.0 - abs(x), 0.0)), "keyscubic": (2.0, _keys),
                           "mitchellcubic": (2.0, _mitchell)}


def scale_and_translate(images: Tensor, size: Any, scale: Tensor, translation: Tensor, kernel_type: str = "lanczos3",
                        antialias: bool = True) -> Tensor:
    """[N, H, W, C] scaled and moved into images of `size` (height, width): output place y shows (y + 0.5 - translation)
    / scale.

    scale, translation: Tensors of 2. Elements are means weighted by the kernel, wider where antialias makes images
        smaller."""
    radius, kernel = KERNELS[kernel_type]
    x = cast(images, mstype.float32)
    for k, (axis, m) in enumerate(((1, size[0]), (2, size[1]))):
        n = x.shape[axis]
        inverse = 1.0 / scale[k]
        wide = maximum(inverse, 1.0) if antialias else inverse * 0.0 + 1.0
        centre = expand_dims((cast(arange(m), mstype.float32) + 0.5) * inverse - inverse * translation[k], 1)
        i = cast(arange(n), mstype.float32) + 0.5
        reach = radius * wide
        # the span that a kernel covers, in whole pixels
        near = (i - 0.5 >= _ops["ceil"](centre - reach - 0.5)) & (i - 0.5 <= floor(centre + reach - 0.5))
        weights = _ops["select"](near, kernel((i - centre) / wide), 0.0)
        total = _ops["reduce_sum"](weights, 1, True)
        share = _ops["select"](abs(total) >= 1000.0 * 1.1754944e-38, weights / _ops["select"](total == 0.0, 1.0, total),
                               0.0)
        share = _ops["select"]((centre >= 0.0) & (centre <= float(n)), share, 0.0)
        x = _by_weights(x, share, axis)
    return x


def upsample_nearest_3d(x: Tensor, size: Any) -> Tensor:
    """[N, C, D, H, W] in another size, each element that of the nearest place before."""
    for axis, m in enumerate(size, 2):
        x = _ops["gather"](x, arange(m) * x.shape[axis] // m, axis)
    return x


def upsample_trilinear_3d(x: Tensor, size: Any, align_corners: bool, factors: Any) -> Tensor:
    """[N, C, D, H, W] in another size, linear between places."""
    for axis, (m, factor) in enumerate(zip(size, factors), 2):
        n = x.shape[axis]
        i = cast(arange(m), mstype.float32)
        at = i * ((n - 1) / (m - 1) if m > 1
                  else 0.0) if align_corners else maximum((i + 0.5) * (1.0 / factor if factor else n / m) - 0.5, 0.0)
        low = minimum(floor(at), float(n - 1))
        first = _ops["gather"](x, cast(low, mstype.int64), axis)
        second = _ops["gather"](x, cast(minimum(low + 1.0, float(n - 1)), mstype.int64), axis)
        x = first + (second - first) * reshape(cast(at - low, x.dtype), (-1,) + (1,) * (4 - axis))
    return x


def dilation_2d(x: Tensor, filter: Any, stride: Size, rate: Any, padding: Size) -> Any:
    """Grey dilation: max over each window of x [N, C, H, W] + filter [C, kh, kw]."""
    kh, kw = filter.shape[1:]
    spans = ((kh - 1) * rate[0] + 1, (kw - 1) * rate[1] + 1)
    if padding == "SAME":
        low, high = [0, 0], [0, 0]
        for n, k, s in zip(x.shape[2:], spans, stride):
            room = builtins.max((-(-n // s) - 1) * s + k - n, 0)
            low.append(room // 2)
            high.append(room - room // 2)
        x = _ops["pad"](x, tuple(low), tuple(high), float("-inf"))
    out = [(m - k) // s + 1 for m, k, s in zip(x.shape[2:], spans, stride)]
    best = None
    for i in builtins.range(kh):
        for j in builtins.range(kw):
            at = [slice(p * r, p * r + (o - 1) * s + 1, s) for p, r, o, s in zip((i, j), rate, out, stride)]
            part = x[(slice(None), slice(None), *at)] + reshape(filter[:, i, j], (1, -1, 1, 1))
            best = part if best is None else maximum(best, part)
    return best


# --- deformed windows ---

def deformable_offsets(x: Tensor, offsets: Any, strides: Size, pads: Size, ksize: Size,
                       dilations: tuple[int, ...] = (1, 1), groups: int = 1, modulated: bool = True) -> Tensor:
    """The elements of the windows of x [N, C, H, W] at deformed places, side by side: [N, C, h kh, w kw].

    offsets [N, 3 groups kh kw, h, w]: for each element of a window how far it moves in x, then in y, then (modulated)
    its weight. Between pixels values are bilinear, outside of the image 0."""
    n, c, height, width = x.shape
    kh, kw = ksize
    h, w = offsets.shape[2:]
    parts = 3 if modulated else 2
    o = reshape(offsets, (n, parts, groups, kh, kw, h, w))
    base_y = reshape(arange(h) * strides[0] - pads[0], (1, 1, 1, 1, h, 1))
    base_y = base_y + reshape(arange(kh) * dilations[0], (1, 1, kh, 1, 1, 1))
    base_x = reshape(arange(w) * strides[1] - pads[2], (1, 1, 1, 1, 1, w))
    base_x = base_x + reshape(arange(kw) * dilations[1], (1, 1, 1, kw, 1, 1))
    at_x, at_y = cast(base_x, mstype.float32) + o[:, 0], cast(base_y, mstype.float32) + o[:, 1]
    low_x, low_y = floor(at_x), floor(at_y)
    flat = reshape(x, (n, groups, c // groups, height * width))
    count = kh * kw * h * w
    total = None
    for up_y in (0, 1):
        for up_x in (0, 1):
            i, j = low_y + float(up_y), low_x + float(up_x)
            share = (at_y - low_y if up_y else 1.0 - (at_y - low_y)) * (at_x - low_x if up_x else 1.0 - (at_x - low_x))
            inside = (i >= 0.0) & (i < float(height)) & (j >= 0.0) & (j < float(width))
            index = cast(minimum(maximum(i, 0.0), height - 1.0) * float(width) + minimum(maximum(j, 0.0), width - 1.0),
                         mstype.int64)
            index = _ops["broadcast_to"](reshape(index, (n, groups, 1, count)), (n, groups, c // groups, count))
            value = _ops["gather_d"](flat, index, 3)
            part = value * reshape(_ops["select"](inside, share, 0.0), (n, groups, 1, count))
            total = part if total is None else total + part
    if modulated:
        total = total * reshape(o[:, 2], (n, groups, 1, count))
    y = _ops["transpose"](reshape(total, (n, c, kh, kw, h, w)), (0, 1, 4, 2, 5, 3))
    return reshape(y, (n, c, h * kh, w * kw))


def deformable_conv2d(x: Tensor, weight: Tensor, offsets: Any, kernel_size: Size, strides: Size, padding: Size,
                      bias: Tensor | None = None, dilations: tuple[int, ...] = (1, 1, 1, 1), groups: int = 1,
                      deformable_groups: int = 1, modulated: bool = True) -> Tensor:
    """A 2-d convolution whose windows are deformed (Zhu et al. 2019).

    x: [N, C, H, W]; weight: [O, C / groups, kh, kw]; offsets: [N, 3 deformable_groups kh kw, h, w], how far each
        element of a window
    moves in x, then in y, then its weight. strides and dilations: (1, 1, vertical, horizontal); padding: (top, bottom,
    left, right). Returns [N, O, h, w]. Raises ValueError where shapes don't fit, TypeError for other kinds.

    Args:
        kernel_size (int or tuple): the size of windows.
        bias (Tensor, optional): what to add per channel. Default: None.
        modulated (bool, optional): whether offsets have weights. Default: True.

    Example:
        >>> ops.deformable_conv2d(ops.ones((1, 1, 3, 3)), ops.ones((1, 1, 2, 2)), ops.zeros((1, 12, 2, 2)), (2, 2), (1,
        ...     1, 1, 1), (0, 0, 0, 0)).shape
        (1, 1, 2, 2)
    """
    from pijit.ops.function.convolution import conv2d
    for name, value, count in (("kernel_size", kernel_size, 2), ("strides", strides, 4), ("padding", padding, 4),
                               ("dilations", dilations, 4)):
        if not isinstance(value, tuple):
            raise _check.refused("deformable_conv2d", name, _check.TUPLE, value)
        if len(value) != count:
            raise _check.refused("deformable_conv2d", name, _check.length(count, "ints"), value)
    if not modulated:
        raise _check.refused("deformable_conv2d", "modulated", _check.one_of(True), modulated)
    for name, t in (("x", x), ("weight", weight), ("offsets", offsets)):
        if not isinstance(t, Tensor):
            raise _check.refused("deformable_conv2d", name, _check.TENSOR, t)
        if t.ndim != 4:
            raise _check.refused("deformable_conv2d", name, _check.dims(4), t.ndim)
    out = [(n + a + b - d * (k - 1) - 1) // s + 1
           for n, a, b, d, k, s in zip(x.shape[2:], padding[::2], padding[1::2], dilations[2:], kernel_size,
                                       strides[2:])]
    wanted = (x.shape[0], 3 * deformable_groups * kernel_size[0] * kernel_size[1], *out)
    if tuple(offsets.shape) != wanted:
        raise _check.refused("deformable_conv2d", "offsets", _check.shape(wanted), offsets.shape)
    dtype = x.dtype  # places are float32
    windows = deformable_offsets(x, cast(offsets, mstype.float32) if dtype == mstype.float16 else offsets, strides[2:],
                                 padding, kernel_size, dilations[2:], deformable_groups)
    return conv2d(cast(windows, dtype), weight, bias, tuple(kernel_size), "valid", 0, 1, groups)


one_operator_each(globals())


__all__ = ["deformable_conv2d"]
