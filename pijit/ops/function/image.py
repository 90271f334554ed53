"""Images: sizes changed, patches taken."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from pijit import _check
from pijit.compute_dtype import one_operator
from pijit import dtype as mstype
from pijit._C import Tensor, ops as _ops
from pijit.ops.function.convolution import _sizes
from pijit.ops.function.creation import arange, zeros
from pijit.ops.function.elementwise import cast, floor, minimum
from pijit.ops.function.pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from pijit.ops.function.sampling import resize_bicubic
from pijit.ops.function.shapes import _pair, reshape
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._types import Size


@_named(functional=True)
@one_operator
def interpolate(input: Tensor, size: Any = None, scale_factor: float | Sequence[float] | None = None,
                mode: str = "nearest", align_corners: bool | None = None,
                recompute_scale_factor: bool | None = None) -> Tensor:
    """input [N, C, ...] with the axes behind C changed in size: 'nearest', 'nearest-exact', 'linear' [N, C, L],
    'bilinear' [N, C, H, W], 'trilinear' [N, C, D, H, W], 'bicubic' [N, C, H, W] or 'area' (means).

    Args:
        scale_factor (float or tuple, optional): the factor of the sizes, in place of size. Default: None.
        mode (str, optional): how to get values between pixels. Default: 'nearest'.
        align_corners (bool, optional): whether the corners' centres stay where they are, instead of the edges.
            Default: None.
        recompute_scale_factor (bool, optional): whether the factor is computed again from the sizes. Default: None.

    Returns:
        Tensor [N, C, *size]. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if `mode` is not one of those named.

    Example:
        >>> print(ops.interpolate(Tensor([[[1.0, 2.0]]]), size=4))
        [[[1. 1. 2. 2.]]]
    """
    axes = input.ndim - 2
    linear = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}
    if mode not in ("nearest", "nearest-exact", "area", *linear):
        raise _check.refused("interpolate", "mode",
                             _check.value(f"be 'nearest', 'nearest-exact', 'area' or one of {list(linear)}"), mode)
    if not 1 <= axes <= 3 or linear.get(mode, axes) != axes:
        raise ValueError(f"For 'interpolate', mode {mode!r} does not serve an input of {input.ndim} dimensions.")
    if align_corners is not None and mode not in linear:
        raise ValueError(f"For 'interpolate', 'align_corners' has no meaning for mode {mode!r}.")
    if (size is None) == (scale_factor is None):
        raise _check.exactly_one("interpolate", "size", "scale_factor")
    factors = [None] * axes
    if size is None:
        factors = [float(f) for f in (scale_factor if isinstance(scale_factor, (tuple, list))
                                      else (scale_factor,) * axes)]
        sizes = [int(n * f) for n, f in zip(input.shape[2:], factors)]
        if recompute_scale_factor:
            factors = [None] * axes
    else:
        sizes = [int(n) for n in (size if isinstance(size, (tuple, list)) else (size,) * axes)]
    if len(sizes) != axes or builtins.min(sizes) <= 0:
        raise ValueError(f"For 'interpolate', the input has {axes} axes to change, of size > 0, but got {sizes}.")
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[axes - 1](input,
            sizes[0] if axes == 1 else tuple(sizes))
    if mode == "bicubic":
        if factors != [None] * axes:
            raise ValueError("For 'interpolate', 'scale_factor' in mode 'bicubic' takes recompute_scale_factor=True.")
        return resize_bicubic(input, tuple(sizes), bool(align_corners), not align_corners)
    if mode in linear:
        scales = [1.0 / f if f else 0.0 for f in factors] + [0.0] * (3 - axes)
        return _ops["resize_linear"](input, sizes, bool(align_corners), *scales)
    for axis, (m, f) in enumerate(zip(sizes, factors), 2):
        n = input.shape[axis]
        if m != n or f not in (None, 1.0):
            i = arange(m)
            if f:
                at = cast(floor((cast(i, mstype.float32) + (0.5 if mode == "nearest-exact" else 0.0)) * (1.0 / f)),
                          mstype.int64)
            else:  # in integers: float32 could fall short of the next place
                at = (2 * i + 1) * n // (2 * m) if mode == "nearest-exact" else i * n // m
            input = _ops["gather"](input, minimum(at, n - 1), axis)
    return input


upsample = interpolate


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
