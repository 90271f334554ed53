"""Images resized, and sampled at places that lie between pixels."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import one_operator
from pijit.ops.function.creation import arange
from pijit.ops.function.elementwise import abs, cast, floor, maximum, minimum, _need_tensor, round
from pijit.ops.function.joining import stack
from pijit.ops.function.linalg import matmul
from pijit.ops.function.pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from pijit.ops.function.shapes import expand_dims, reshape, swapaxes
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._types import Shape


@_named(functional=True)
@one_operator
def interpolate(input: Tensor, size: Any = None, scale_factor: float | Sequence[float] | None = None,
                mode: str = "nearest", align_corners: bool | None = None,
                recompute_scale_factor: bool | None = None) -> Tensor:
    """input [N, C, ...] with the axes behind C changed in size.

    By mode 'nearest', 'nearest-exact', 'linear' [N, C, L], 'bilinear' [N, C, H, W], 'trilinear' [N, C, D, H, W],
    'bicubic' [N, C, H, W] or 'area' (means).

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


def _plane(name, x, size):
    if not isinstance(size, (tuple, list)):
        raise _check.refused(name, "size", _check.SEQUENCE, size)
    if len(size) != 2:
        raise _check.refused(name, "size", _check.value("hold height and width"), size)
    if x.ndim != 4:
        raise _check.refused(name, "the input", _check.dims(4), x.ndim)


@one_operator
def resize_nearest(x: Tensor, size: Shape, align_corners: bool = False, half_pixel_centers: bool = False) -> Tensor:
    """[N, C, H, W] in another size, each element that of the nearest place.

    Args:
        x (Tensor): the input, of 4 dimensions and any dtype.
        size (tuple of int): the sizes of the result.
        align_corners (bool, optional): whether the corners' centres stay where they are, instead of the edges.
            Default: False.
        half_pixel_centers (bool, optional): whether places are those of the pixels' centres. Default: False.

    Returns:
        Tensor [N, C, h, w]. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.function.resize_nearest(Tensor([[[[1.0, 2.0]]]]), (1, 4)))
        [[[[1. 1. 2. 2.]]]]
    """
    _plane("ResizeNearestNeighbor", x, size)
    for axis, m in enumerate(size, 2):
        n = x.shape[axis]
        i = arange(m)  # in integers: exact
        if align_corners and m > 1:
            at = (2 * i * (n - 1) + (m - 1)) // (2 * (m - 1))
        else:
            at = (2 * i + 1) * n // (2 * m) if half_pixel_centers else i * n // m
        x = _ops["gather"](x, minimum(at, n - 1), axis)
    return x


@one_operator
def resize_bilinear(x: Tensor, size: Shape, align_corners: bool = False, half_pixel_centers: bool = False) -> Tensor:
    """[N, C, H, W] in another size, linear between places.

    Args:
        x (Tensor): the input, of 4 dimensions and int, float or complex dtype.
        size (tuple of int): the sizes of the result.
        align_corners (bool, optional): whether the corners' centres stay where they are, instead of the edges.
            Default: False.
        half_pixel_centers (bool, optional): whether places are those of the pixels' centres. Default: False.

    Returns:
        Tensor [N, C, h, w]. Ints, floats and complex keep their dtype; not for bool.

    Example:
        >>> print(ops.function.resize_bilinear(Tensor([[[[1.0, 2.0]]]]), (1, 4)))
        [[[[1.  1.5 2.  2. ]]]]
    """
    _plane("ResizeBilinear", x, size)
    for axis, m in enumerate(size, 2):
        n = x.shape[axis]
        i = cast(arange(m), mstype.float32)
        if align_corners:
            at = i * ((n - 1) / (m - 1) if m > 1 else 0.0)
        elif half_pixel_centers:
            at = maximum((i + 0.5) * (n / m) - 0.5, 0.0)
        else:
            at = i * (n / m)
        low = minimum(floor(at), float(n - 1))
        share = reshape(cast(at - low, x.dtype), (-1,) + (1,) * (3 - axis))
        low = cast(low, mstype.int64)
        first = _ops["gather"](x, low, axis)
        x = first + (_ops["gather"](x, minimum(low + 1, n - 1), axis) - first) * share
    return x


_MODES, _PADDINGS = ("bilinear", "nearest"), ("zeros", "border", "reflection")


@one_operator
def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> Tensor:
    """input [N, C, H, W] sampled at grid [N, h, w, 2] of places (x, y).

    Or [N, C, D, H, W] at [N, d, h, w, 3] of (x, y, z).

    Places count from -1 to 1: from the middle of the first pixel to that of the last (align_corners), or from edge to
    edge. mode: 'bilinear' or 'nearest'; padding_mode: outside lie 'zeros', the 'border' pixels, or the 'reflection' of
    the image. NaN is the place outside at the end of an axis. Raises TypeError where the dtypes differ, ValueError for
    shapes and modes there are not.

    Returns:
        Tensor [N, C, h, w]. Floats keep their dtype; not for bool, ints and complex.

    Example:
        >>> print(ops.grid_sample(Tensor([[[[1.0, 2.0]]]]), ops.zeros((1, 1, 1, 2)), align_corners=True))
        [[[[1.5]]]]
    """
    _need_tensor("grid_sample", "input", input)
    _need_tensor("grid_sample", "grid", grid)
    if mode not in _MODES or padding_mode not in _PADDINGS:
        raise _check.refused("grid_sample", "mode",
                             _check.value(f"be one of {_MODES} and 'padding_mode' one of {_PADDINGS}"),
                             _check.several(mode, padding_mode))
    if input.dtype != grid.dtype or not input.dtype.is_floating_point:
        raise _check.refused("grid_sample", "'input' and 'grid'", _check.value("be of one floating dtype"),
                             _check.several(input.dtype, grid.dtype), TypeError)
    axes = input.ndim - 2
    if axes not in (2, 3) or grid.ndim != input.ndim or grid.shape[-1] != axes or grid.shape[0] != input.shape[0]:
        raise _check.expected("grid_sample",
                              "input [N, C, H, W] and grid [N, h, w, 2], or [N, C, D, H, W] and [N, d, h, w, 3]",
                              _check.several(input.shape, grid.shape))
    n, c = input.shape[:2]
    places = grid.shape[1:-1]
    count = 1
    for k in places:
        count *= k
    wide = mstype.float32 if input.dtype in (mstype.float16, mstype.bfloat16) else input.dtype
    x = cast(reshape(input, (n, c, -1)), wide)
    grid = cast(reshape(grid, (n, count, axes)), wide)
    total = None
    at = [_place(grid[..., axes - 1 - k], input.shape[2 + k], padding_mode, align_corners)
          for k in builtins.range(axes)]
    lows = [round(p) if mode == "nearest" else floor(p) for p in at]
    for corner in builtins.range(1 if mode == "nearest" else 2 ** axes):
        index, weight = 0, None
        for k in builtins.range(axes):
            size, up = input.shape[2 + k], (corner >> k) & 1
            i = lows[k] + up if up else lows[k]
            if mode == "bilinear":
                share = at[k] - lows[k] if up else 1.0 - (at[k] - lows[k])
                weight = share if weight is None else weight * share
            if padding_mode == "zeros":
                inside = cast((i >= 0) & (i < size), wide)
                weight = inside if weight is None else weight * inside
            index = index * size + cast(minimum(maximum(i, 0.0), float(size - 1)), mstype.int64)
        value = _ops["gather_d"](x, _ops["broadcast_to"](expand_dims(index, 1), (n, c, count)), 2)
        if weight is not None:
            value = value * expand_dims(weight, 1)
        total = value if total is None else total + value
    return cast(reshape(total, (n, c, *places)), input.dtype)


def _place(g, size, padding_mode, align_corners):
    """Places in [-1, 1] as numbers of pixels, within reach of them."""
    p = (g + 1) * (0.5 * (size - 1)) if align_corners else ((g + 1) * size - 1) * 0.5
    last = float(size - 1)
    if padding_mode == "zeros":
        return _ops["select"](p < last + 1, _ops["select"](p > -1, p, -1.0), last + 1)
    if padding_mode == "reflection":
        low, span = (0.0, last) if align_corners else (-0.5, float(size))
        if span == 0:
            return p * 0
        p = abs(p - low)
        turns = floor(p / span)
        rest = p - turns * span
        p = _ops["select"](turns == 2 * floor(turns * 0.5), rest, span - rest) + low
    return _ops["select"](p < last, _ops["select"](p > 0, p, 0.0), last)


@one_operator
def affine_grid(theta: Any, size: Any, align_corners: bool = False) -> Tensor:
    """The grid [N, H, W, 2] of grid_sample.

    For images of `size` (N, C, H, W) that theta [N, 2, 3] moves; [N, D, H, W, 3] for five sizes and theta [N, 3, 4].

    Args:
        align_corners (bool, optional): whether the corners' centres stay where they are, instead of the edges.
            Default: False.

    Returns:
        Tensor [N, H, W, 2] or [N, D, H, W, 3]. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        TypeError: if `theta` is not a Tensor, or `size` is not a tuple.

    Example:
        >>> print(ops.affine_grid(Tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2), True))
        [[[[-1.  0.]
           [ 1.  0.]]]]
    """
    _need_tensor("affine_grid", "theta", theta)
    if isinstance(size, Tensor):
        size = tuple(size.asnumpy().tolist())
    if not isinstance(size, tuple):
        raise _check.refused("affine_grid", "size", _check.TUPLE, size)
    axes = len(size) - 2
    if axes not in (2, 3) or tuple(theta.shape) != (size[0], axes, axes + 1):
        raise _check.expected("affine_grid",
                              "a size (N, C, H, W) and theta [N, 2, 3], or (N, C, D, H, W) and [N, 3, 4]",
                              _check.several(size, theta.shape))
    if builtins.min(size) <= 0:
        raise _check.refused("affine_grid", "the sizes", _check.above(0), size)
    columns = []
    for k in builtins.range(axes):
        axis = axes - 1 - k  # x counts the last axis
        m = size[2 + axis]
        i = cast(arange(m), theta.dtype)
        p = (i * (2.0 / (m - 1)) - 1 if m > 1 else i) if align_corners else (2 * i + 1) * (1.0 / m) - 1
        columns.append(_ops["broadcast_to"](reshape(p, (m,) + (1,) * (axes - 1 - axis)), tuple(size[2:])))
    base = stack(columns + [columns[0] * 0 + 1], -1)
    flat = reshape(base, (1, -1, axes + 1))
    return reshape(matmul(flat, swapaxes(theta, -1, -2)), (size[0], *size[2:], axes))


def _cubic(x, axis, size, align_corners, half_pixel_centers):
    """One axis resized by cubic convolution, as MindSpore has it: with half-pixel centres by Keys' kernel of -0.5,
    pixels outside left out; else of -0.75, the border pixel in their place. Places lie on a raster of 1024 per
    pixel."""
    n = x.shape[axis]
    wide = mstype.float32 if x.dtype in (mstype.float16, mstype.bfloat16) else x.dtype
    i = cast(arange(size), wide)
    if align_corners and size > 1:
        p = i * ((n - 1) / (size - 1))
    else:
        p = (i + 0.5) * (n / size) - 0.5 if half_pixel_centers else i * (n / size)
    a = -0.5 if half_pixel_centers else -0.75
    low = floor(p)
    share = round((p - low) * 1024.0) * (1.0 / 1024)
    weights, places = [], []
    for k in (-1, 0, 1, 2):
        d = abs(share - k)
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        w = near if k in (0, 1) else far
        at = low + k
        if half_pixel_centers:
            w = w * cast((at >= 0) & (at < n), wide)
        weights.append(w)
        places.append(cast(minimum(maximum(at, 0.0), float(n - 1)), mstype.int64))
    if half_pixel_centers:
        whole = weights[0] + weights[1] + weights[2] + weights[3]
        weights = [w / whole for w in weights]
    shape = (-1,) + (1,) * (x.ndim - 1 - axis)
    terms = [_ops["gather"](x, at, axis) * cast(reshape(w, shape), x.dtype) for w, at in zip(weights, places)]
    return ((terms[0] + terms[1]) + terms[2]) + terms[3]


@one_operator
def resize_bicubic(images: Tensor, size: Shape, align_corners: bool = False,
                   half_pixel_centers: bool = False) -> Tensor:
    """images [N, C, H, W] in another size (h, w), by cubic convolution.

    Args:
        images (Tensor): the images.
        size (tuple of int): the sizes of the result.
        align_corners (bool, optional): whether the corners' centres stay where they are, instead of the edges.
            Default: False.
        half_pixel_centers (bool, optional): whether places are those of the pixels' centres. Default: False.

    Returns:
        Tensor [N, C, h, w]. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `images` is not a Tensor.

    Example:
        >>> ops.function.resize_bicubic(ops.ones((1, 1, 2, 2)), (4, 4)).shape
        (1, 1, 4, 4)
    """
    _need_tensor("ResizeBicubic", "images", images)
    size = tuple(size.asnumpy().tolist()) if isinstance(size, Tensor) else tuple(size)
    if images.ndim != 4 or len(size) != 2 or builtins.min(size) <= 0:
        raise _check.expected("ResizeBicubic", "images [N, C, H, W] and two sizes greater than 0",
                              _check.several(images.shape, size))
    if not images.dtype.is_floating_point:
        raise _check.refused("ResizeBicubic", "the images", _check.FLOATING, images.dtype)
    if align_corners and half_pixel_centers:
        raise _check.at_most_one("ResizeBicubic", "align_corners", "half_pixel_centers")
    return _cubic(_cubic(images, 2, size[0], align_corners, half_pixel_centers), 3, size[1], align_corners,
                  half_pixel_centers)


__all__ = ["affine_grid", "grid_sample", "interpolate", "resize_bicubic", "resize_bilinear", "resize_nearest",
           "upsample"]
