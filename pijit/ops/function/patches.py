"""Patches of images taken, and put together again."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import one_operator
from pijit.ops.function.convolution import _sizes
from pijit.ops.function.creation import arange, zeros
from pijit.ops.function.elementwise import cast, floor, maximum, minimum
from pijit.ops.function.joining import concat, stack
from pijit.ops.function.shapes import expand_dims, _pair, reshape
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import Number, Size


@_named(functional=True)
def unfold(input: Tensor, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1) -> Tensor:
    """Patches of input [N, C, H, W] as columns: [N, C kh kw, patches].

    Args:
        input (Tensor): the input [N, C, H, W], of any dtype.
        kernel_size (int or tuple): the size of windows.
        dilation (int or tuple, optional): the distance between the elements of a window. Default: 1.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        stride (int or tuple, optional): the distance between windows. Default: 1.

    Returns:
        Tensor [N, C kh kw, patches]. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> ops.unfold(ops.ones((1, 1, 3, 3)), 2).shape
        (1, 4, 4)
    """
    if input.ndim != 4:
        raise _check.refused("unfold", "the input", _check.dims(4), input.ndim)
    k, d, s, p = _pair(kernel_size), _pair(dilation), _pair(stride), _pair(padding)
    n, c, h, w = input.shape
    oh, ow = _sizes("unfold", (h, w), k, s, p, d)
    x = _ops["pad"](input, (0, 0, p[0], p[1]), (0, 0, p[0], p[1]), 0.0)
    parts = [x[:, :, i * d[0]:i * d[0] + (oh - 1) * s[0] + 1:s[0], j * d[1]:j * d[1] + (ow - 1) * s[1] + 1:s[1]]
             for i in builtins.range(k[0]) for j in builtins.range(k[1])]
    columns = _ops["concat"]([reshape(part, (n, c, 1, oh * ow)) for part in parts], 2)
    return reshape(columns, (n, c * k[0] * k[1], oh * ow))


@_named(functional=True)
def fold(input: Tensor, output_size: Size, kernel_size: Size, dilation: Size = 1, padding: Size = 0,
         stride: Size = 1) -> Tensor:
    """The adjoint of unfold: [N, C kh kw, patches] or [N, C, kh kw, patches] to [N, C, H, W], overlaps summed.
    output_size: ints, or a Tensor of them.

    Args:
        input (Tensor): the input, of 3 or 4 dimensions and any dtype.
        output_size (int or tuple): the size of the result.
        kernel_size (int or tuple): the size of windows.
        dilation (int or tuple, optional): the distance between the elements of a window. Default: 1.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        stride (int or tuple, optional): the distance between windows. Default: 1.

    Returns:
        Tensor [N, C, H, W]. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if the shape of `output_size` does not fit.

    Example:
        >>> print(ops.fold(ops.ones((1, 4, 4)), Tensor([3, 3], ms.int32), 2))
        [[[[1. 2. 1.]
           [2. 4. 2.]
           [1. 2. 1.]]]]
    """
    if isinstance(output_size, Tensor):
        output_size = tuple(output_size.asnumpy().tolist())
    if input.ndim == 4:
        input = reshape(input, (input.shape[0], input.shape[1] * input.shape[2], input.shape[3]))
    k, d, s, p, size = _pair(kernel_size), _pair(dilation), _pair(stride), _pair(padding), _pair(output_size)
    oh, ow = _sizes("fold", size, k, s, p, d)
    if input.ndim != 3 or input.shape[1] % (k[0] * k[1]) or input.shape[2] != oh * ow:
        raise _check.refused("fold", "the input", _check.value(f"be [N, C * {k[0] * k[1]}, {oh * ow}]"),
                             list(input.shape))
    n, c = input.shape[0], input.shape[1] // (k[0] * k[1])
    x = reshape(input, (n, c, k[0], k[1], oh, ow))
    total = zeros((n, c, size[0] + 2 * p[0], size[1] + 2 * p[1]), input.dtype)
    for i in builtins.range(k[0]):
        for j in builtins.range(k[1]):
            top, left = i * d[0], j * d[1]
            total = total + _spread(x[:, :, i, j], s, (top, left), total.shape[2:])
    return total[:, :, p[0]:p[0] + size[0], p[1]:p[1] + size[1]]


def _spread(x, stride, first, size):
    """x [N, C, H, W] at every stride-th place from `first` on of zeros [N, C, *size]."""
    for axis, (s, f, n) in enumerate(zip(stride, first, size), 2):
        count = x.shape[axis]
        lead, rest = tuple(x.shape[:axis]), tuple(x.shape[axis + 1:])
        rank = x.ndim
        x = reshape(x, (*lead, count, 1, *rest))
        x = _ops["pad"](x, (0,) * (rank + 1), tuple(s - 1 if k == axis + 1 else 0 for k in builtins.range(rank + 1)),
                        0.0)
        x = reshape(x, (*lead, count * s, *rest))[(slice(None),) * axis + (slice(0, (count - 1) * s + 1),)]
        low = [0] * rank
        high = [0] * rank
        low[axis], high[axis] = f, n - f - x.shape[axis]
        x = _ops["pad"](x, tuple(low), tuple(high), 0.0)
    return x


# --- pieces ---

@one_operator
def extract_volume_patches(x: Tensor, kernel: Size, stride: Size, padding: Size) -> Tensor:
    """[N, C, D, H, W] as [N, C kd kh kw, d, h, w]: the windows at each place."""
    if padding == "SAME":
        low, high = [0, 0], [0, 0]
        for n, k, s in zip(x.shape[2:], kernel, stride):
            room = builtins.max((-(-n // s) - 1) * s + k - n, 0)
            low.append(room // 2)
            high.append(room - room // 2)
        x = _ops["pad"](x, tuple(low), tuple(high), 0)
    n, c = x.shape[:2]
    out = [(m - k) // s + 1 for m, k, s in zip(x.shape[2:], kernel, stride)]
    if builtins.min(out) <= 0:
        raise _check.too_large("ExtractVolumePatches", f"the window {tuple(kernel)}",
                               f"the volume {tuple(x.shape[2:])}")
    parts = []
    for i in builtins.range(kernel[0]):
        for j in builtins.range(kernel[1]):
            for k in builtins.range(kernel[2]):
                at = [slice(p, p + (o - 1) * s + 1, s) for p, o, s in zip((i, j, k), out, stride)]
                parts.append(x[(slice(None), slice(None), *at)])
    return reshape(stack(parts, 1), (n, -1, *out))


@one_operator
def extract_image_patches(images: Tensor, kernel: Size, stride: Size, rate: Any, padding: Size) -> Tensor:
    """[N, C, H, W] as [N, kh kw C, h, w]: the windows at each place, whose elements are `rate` apart."""
    spans = [(k - 1) * r + 1 for k, r in zip(kernel, rate)]
    if padding == "SAME":
        low, high = [0, 0], [0, 0]
        for n, k, s in zip(images.shape[2:], spans, stride):
            room = builtins.max((-(-n // s) - 1) * s + k - n, 0)
            low.append(room // 2)
            high.append(room - room // 2)
        images = _ops["pad"](images, tuple(low), tuple(high), 0)
    out = [(m - k) // s + 1 for m, k, s in zip(images.shape[2:], spans, stride)]
    if builtins.min(out) <= 0:
        raise _check.too_large("ExtractImagePatches", f"the window {tuple(spans)}",
                               f"the images {tuple(images.shape[2:])}")
    parts = []
    for i in builtins.range(kernel[0]):
        for j in builtins.range(kernel[1]):
            at = [slice(p * r, p * r + (o - 1) * s + 1, s) for p, r, o, s in zip((i, j), rate, out, stride)]
            parts.append(images[(slice(None), slice(None), *at)])
    return concat(parts, 1)


@one_operator
def extract_glimpse(x: Tensor, size: Any, offsets: Any, centered: bool = True, normalized: bool = True,
                    noise: Any = None) -> Tensor:
    """Windows of `size` (height, width) around places `offsets` [N, 2] of (y, x) in images [N, H, W, C].

    centered: places count from the middle; normalized: 1 is half the image (centered), or the image. What lies outside
        is 0, or NumPy-like
    noise where `noise` makes it from a shape."""
    n, h, w, c = x.shape
    inside, out = None, x
    for axis, (m, whole) in ((1, (size[0], h)), (2, (size[1], w))):
        at = offsets[:, axis - 1]
        if normalized:
            at = at * float(whole)
        if centered:
            at = (at + float(whole)) * 0.5
        first = floor(at - m * 0.5)
        place = expand_dims(first, 1) + cast(arange(m), mstype.float32)
        here = (place >= 0.0) & (place <= float(whole - 1))
        here = reshape(here, (-1, m, 1, 1) if axis == 1 else (-1, 1, m, 1))
        inside = here if inside is None else inside & here
        index = cast(minimum(maximum(place, 0.0), float(whole - 1)), mstype.int64)
        shape = [*out.shape]
        shape[axis] = m
        wide = reshape(index, (n, m, 1, 1) if axis == 1 else (n, 1, m, 1))
        out = _ops["gather_d"](out, _ops["broadcast_to"](wide, tuple(shape)), axis)
    return _ops["select"](inside, out, 0.0 if noise is None else noise(out.shape))


@one_operator
def im2col(x: Tensor, kernel: Size, stride: Size, dilation: Size, pad: Size) -> Tensor:
    """[N, C, H, W] as [N, C, kh kw, places]."""
    y = unfold(x, kernel, dilation, pad, stride)
    n, c = x.shape[:2]
    return reshape(y, (n, c, kernel[0] * kernel[1], -1))


def col2im(input_x: Tensor, output_size: Size, kernel_size: Size, dilation: Size, padding_value: Number,
           stride: Size) -> Tensor:
    """Columns [N, C, kh kw, patches] summed into the images [N, C, H, W] they were taken from.

    Args:
        input_x (Tensor): the input, of 4 dimensions and any dtype.
        output_size (int or tuple): the size of the result.
        kernel_size (int or tuple): the size of windows.
        dilation (int or tuple): the distance between the elements of a window.
        padding_value (number): the value of the rest.
        stride (int or tuple): the distance between windows.

    Returns:
        Tensor [N, C, H, W]. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if the shape of `output_size` does not fit.

    Example:
        >>> print(ops.col2im(ops.ones((1, 1, 4, 4)), Tensor([3, 3], ms.int32), [2, 2], [1, 1], [0, 0], [1, 1]))
        [[[[1. 2. 1.]
           [2. 4. 2.]
           [1. 2. 1.]]]]
    """
    n, c, k, patches = input_x.shape
    size = tuple(output_size.asnumpy().tolist()) if isinstance(output_size, Tensor) else output_size
    return fold(reshape(input_x, (n, c * k, patches)), size, kernel_size, dilation, padding_value, stride)


__all__ = ["col2im", "fold", "unfold"]
