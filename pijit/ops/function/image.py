"""Images: sizes changed, patches taken."""

import builtins

from pijit import dtype as mstype
from pijit._C import ops as _ops
from pijit.ops.function.conv import _sizes
from pijit.ops.function.creation import arange, zeros
from pijit.ops.function.elementwise import cast, floor, maximum, minimum
from pijit.ops.function.pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from pijit.ops.function.shapes import _pair, reshape


def _positions(n, size, factor, align_corners):
    """Where the outputs of an axis lie in the input, as float32."""
    i = cast(arange(size), mstype.float32)
    if align_corners:
        return i * (float(n - 1) / (size - 1) if size > 1 else 0.0)
    return maximum((i + 0.5) * (1.0 / factor if factor else n / size) - 0.5, 0.0)


def _linear(x, axis, size, factor, align_corners):
    n = x.shape[axis]
    at = _positions(n, size, factor, align_corners)
    low = minimum(floor(at), float(n - 1))
    shape = (-1,) + (1,) * (x.ndim - 1 - axis)
    share = reshape(cast(at - low, x.dtype), shape)
    low = cast(low, mstype.int64)
    return _ops["gather"](x, low, axis) * (1.0 - share) + _ops["gather"](x, minimum(low + 1, n - 1), axis) * share


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None):
    """input [N, C, ...] with the axes behind C changed in size: 'nearest', 'nearest-exact', 'linear' [N, C, L], 'bilinear' [N, C, H, W],
    'trilinear' [N, C, D, H, W] or 'area' (means)."""
    axes = input.ndim - 2
    linear = {"linear": 1, "bilinear": 2, "trilinear": 3}
    if mode not in ("nearest", "nearest-exact", "area", *linear):
        raise ValueError(f"For 'interpolate', 'mode' must be 'nearest', 'nearest-exact', 'area' or one of {list(linear)}, but got {mode!r}.")
    if not 1 <= axes <= 3 or linear.get(mode, axes) != axes:
        raise ValueError(f"For 'interpolate', mode {mode!r} does not serve an input of {input.ndim} dimensions.")
    if align_corners is not None and mode not in linear:
        raise ValueError(f"For 'interpolate', 'align_corners' has no meaning for mode {mode!r}.")
    if (size is None) == (scale_factor is None):
        raise ValueError("For 'interpolate', exactly one of 'size' and 'scale_factor' must be given.")
    factors = [None] * axes
    if size is None:
        factors = [float(f) for f in (scale_factor if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * axes)]
        sizes = [int(n * f) for n, f in zip(input.shape[2:], factors)]
        if recompute_scale_factor:
            factors = [None] * axes
    else:
        sizes = [int(n) for n in (size if isinstance(size, (tuple, list)) else (size,) * axes)]
    if len(sizes) != axes or builtins.min(sizes) <= 0:
        raise ValueError(f"For 'interpolate', the input has {axes} axes to change, of size > 0, but got {sizes}.")
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[axes - 1](input, sizes[0] if axes == 1 else tuple(sizes))
    for axis, (m, f) in enumerate(zip(sizes, factors), 2):
        n = input.shape[axis]
        if mode in linear:
            input = _linear(input, axis, m, f, align_corners)
        elif m != n or f not in (None, 1.0):
            i = arange(m)
            if f:
                at = cast(floor((cast(i, mstype.float32) + (0.5 if mode == "nearest-exact" else 0.0)) * (1.0 / f)), mstype.int64)
            else:  # in integers: float32 could fall short of the next place
                at = (2 * i + 1) * n // (2 * m) if mode == "nearest-exact" else i * n // m
            input = _ops["gather"](input, minimum(at, n - 1), axis)
    return input


upsample = interpolate


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Patches of input [N, C, H, W] as columns: [N, C kh kw, patches]."""
    if input.ndim != 4:
        raise ValueError(f"For 'unfold', the input must have 4 dimensions, but got {input.ndim}.")
    k, d, s, p = _pair(kernel_size), _pair(dilation), _pair(stride), _pair(padding)
    n, c, h, w = input.shape
    oh, ow = _sizes("unfold", (h, w), k, s, p, d)
    x = _ops["pad"](input, (0, 0, p[0], p[1]), (0, 0, p[0], p[1]), 0.0)
    parts = [x[:, :, i * d[0]:i * d[0] + (oh - 1) * s[0] + 1:s[0], j * d[1]:j * d[1] + (ow - 1) * s[1] + 1:s[1]]
             for i in builtins.range(k[0]) for j in builtins.range(k[1])]
    columns = _ops["concat"]([reshape(part, (n, c, 1, oh * ow)) for part in parts], 2)
    return reshape(columns, (n, c * k[0] * k[1], oh * ow))


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The adjoint of unfold: [N, C kh kw, patches] to [N, C, H, W], overlaps summed."""
    k, d, s, p, size = _pair(kernel_size), _pair(dilation), _pair(stride), _pair(padding), _pair(output_size)
    oh, ow = _sizes("fold", size, k, s, p, d)
    if input.ndim != 3 or input.shape[1] % (k[0] * k[1]) or input.shape[2] != oh * ow:
        raise ValueError(f"For 'fold', the input must be [N, C * {k[0] * k[1]}, {oh * ow}], but got {list(input.shape)}.")
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
        x = _ops["pad"](x, (0,) * (rank + 1), tuple(s - 1 if k == axis + 1 else 0 for k in builtins.range(rank + 1)), 0.0)
        x = reshape(x, (*lead, count * s, *rest))[(slice(None),) * axis + (slice(0, (count - 1) * s + 1),)]
        low = [0] * rank
        high = [0] * rank
        low[axis], high[axis] = f, n - f - x.shape[axis]
        x = _ops["pad"](x, tuple(low), tuple(high), 0.0)
    return x


def affine_grid(theta, size, align_corners=False):
    """Sampling grids [N, H, W, 2] (or [N, D, H, W, 3]) in [-1, 1] of the affine maps theta [N, 2, 3] (or [N, 3, 4]), for grid_sample."""
    planes = len(size) - 2
    if planes not in (2, 3) or tuple(theta.shape) != (size[0], planes, planes + 1):
        raise ValueError(f"For 'affine_grid', 'theta' must be [N, 2, 3] for a size of 4 or [N, 3, 4] for one of 5, but got {list(theta.shape)} for {size}.")
    sizes = tuple(size[2:])
    total = 1
    for n in sizes:
        total *= n
    parts = []
    for k, n in enumerate(sizes[::-1]):  # x first
        i = cast(arange(n), theta.dtype)
        at = (i * (2.0 / (n - 1)) - 1.0 if n > 1 else i * 0.0) if align_corners else (i * 2.0 + 1.0) / n - 1.0
        at = reshape(at, tuple(-1 if d == planes - 1 - k else 1 for d in builtins.range(planes)))
        parts.append(reshape(_ops["broadcast_to"](at, sizes), (total, 1)))
    base = _ops["concat"]([*parts, parts[0] * 0.0 + 1.0], 1)
    points = _ops["matmul"](_ops["broadcast_to"](reshape(base, (1, total, planes + 1)), (size[0], total, planes + 1)), theta, False, True)
    return reshape(points, (size[0], *sizes, planes))


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    """input [N, C, H, W] (or [N, C, D, H, W]) at the places grid [N, ..., 2 (3)] says, x first, -1 and 1 being the borders.

    mode: 'bilinear' or 'nearest'; padding_mode, for places outside: 'zeros', 'border' or 'reflection'."""
    planes = input.ndim - 2
    if mode not in ("bilinear", "nearest"):
        raise ValueError(f"For 'grid_sample', 'mode' must be 'bilinear' or 'nearest', but got {mode!r}.")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(f"For 'grid_sample', 'padding_mode' must be 'zeros', 'border' or 'reflection', but got {padding_mode!r}.")
    if planes not in (2, 3) or grid.ndim != input.ndim or grid.shape[-1] != planes or grid.shape[0] != input.shape[0]:
        raise ValueError(f"For 'grid_sample', 'grid' must be [N, ..., {planes}] beside an input [N, C, ...] of 4 or 5 dimensions, but got {list(grid.shape)} and {list(input.shape)}.")
    n, c = input.shape[:2]
    sizes, out = tuple(input.shape[2:]), tuple(grid.shape[1:-1])
    total, count = 1, 1
    for s in sizes:
        total *= s
    for s in out:
        count *= s
    flat = reshape(input, (n, c, total))
    places = []
    for k, size in enumerate(sizes):
        g = reshape(grid[..., planes - 1 - k], (n, count))
        at = (g + 1.0) * ((size - 1) / 2.0) if align_corners else ((g + 1.0) * size - 1.0) * 0.5
        if padding_mode == "reflection":
            low, span = (0.0, float(size - 1)) if align_corners else (-0.5, float(size))
            if span > 0:
                at = _ops["abs"](at - low)
                turns = floor(at / span)
                rest = at - turns * span
                at = _ops["select"](_ops["equal"](turns - floor(turns * 0.5) * 2.0, 0.0), rest + low, span - rest + low)
            else:
                at = at * 0.0
        if padding_mode != "zeros":
            at = minimum(maximum(at, 0.0), float(size - 1))
        places.append(at)

    def taken(corner):
        """The elements at whole places, 0 outside."""
        index, inside = None, None
        for at, size in zip(corner, sizes):
            here = (at >= 0.0) & (at <= size - 1.0)
            inside = here if inside is None else inside & here
            i = cast(minimum(maximum(at, 0.0), float(size - 1)), mstype.int64)
            index = i if index is None else index * size + i
        index = _ops["broadcast_to"](reshape(index, (n, 1, count)), (n, c, count))
        return _ops["select"](reshape(inside, (n, 1, count)), _ops["gather_d"](flat, index, 2), 0.0)
    if mode == "nearest":
        y = taken([_ops["round"](at) for at in places])
    else:
        lows = [floor(at) for at in places]
        y = None
        for bits in builtins.range(2 ** planes):
            corner, weight = [], None
            for k in builtins.range(planes):
                up = bits >> (planes - 1 - k) & 1
                share = places[k] - lows[k]
                share = share if up else 1.0 - share
                corner.append(lows[k] + 1.0 if up else lows[k])
                weight = share if weight is None else weight * share
            part = taken(corner) * reshape(weight, (n, 1, count))
            y = part if y is None else y + part
    return reshape(y, (n, c, *out))
