"""Elements in other places: sequences reversed, space and depth exchanged, images resized, borders mirrored, boxes."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING

from pijit import _C, _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import as_update, one_operator
from pijit.ops.function.creation import arange, full
from pijit.ops.function.elementwise import cast, exp, floor, log, maximum, minimum, _need_tensor, select
from pijit.ops.function.parameter import _changed
from pijit.ops.function.shapes import _axis, concat, expand_dims, moveaxis, narrow, reshape, _same_shape, stack, _within
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any
    from pijit._types import Axis, Number, Shape, Size


@_named(method=True)
def reverse_sequence(x: Tensor, seq_lengths: Tensor, seq_dim: int, batch_dim: int = 0) -> Tensor:
    """The first seq_lengths[b] elements along seq_dim in reverse order, for each b along batch_dim.

    Args:
        x (Tensor): the input, of 2 dimensions or more and any dtype.
        seq_lengths (Tensor): how many elements to reverse.
        seq_dim (int): the axis of elements.
        batch_dim (int, optional): the axis of examples. Default: 0.

    Returns:
        Tensor of x's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if the shape of `seq_lengths` does not fit.

    Example:
        >>> print(ops.reverse_sequence(Tensor([[1, 2, 3]]), Tensor([2], ms.int32), 1))
        [[2 1 3]]
    """
    _within("reverse_sequence", seq_dim, x.ndim)
    _within("reverse_sequence", batch_dim, x.ndim)
    s, b = _axis(seq_dim, x.ndim), _axis(batch_dim, x.ndim)
    if s == b:
        raise _check.refused("reverse_sequence", "'seq_dim' and 'batch_dim'", _check.value("differ"),
                             _check.several(seq_dim, batch_dim))
    if seq_lengths.ndim != 1 or seq_lengths.shape[0] != x.shape[b]:
        raise _check.refused("reverse_sequence", "seq_lengths", _check.shape((x.shape[b],)), seq_lengths.shape)
    lengths = reshape(cast(seq_lengths, mstype.int64), tuple([-1 if k == b else 1 for k in builtins.range(x.ndim)]))
    at = reshape(arange(x.shape[s]), tuple([-1 if k == s else 1 for k in builtins.range(x.ndim)]))
    return _ops["gather_d"](x, _ops["broadcast_to"](select(at < lengths, lengths - 1 - at, at), x.shape), s)


def depth_to_space(x: Tensor, block_size: int) -> Tensor:
    """[N, C b b, H, W] as [N, C, H b, W b]: blocks of depth become blocks of the plane.

    Args:
        x (Tensor): the input, of 4 dimensions and any dtype.
        block_size (int): the size of blocks.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> ops.function.depth_to_space(ops.ones((1, 4, 1, 1)), 2).shape
        (1, 1, 2, 2)
    """
    n, c, h, w = x.shape
    if c % (block_size * block_size):
        raise _check.refused("DepthToSpace", "the number of channels",
                             _check.multiple(f"block_size squared, {block_size * block_size}"), c)
    x = reshape(x, (n, block_size, block_size, c // (block_size * block_size), h, w))
    return reshape(_ops["transpose"](x, (0, 3, 4, 1, 5, 2)),
                   (n, c // (block_size * block_size), h * block_size, w * block_size))


def space_to_depth(x: Tensor, block_size: int) -> Tensor:
    """[N, C, H b, W b] as [N, C b b, H, W]: blocks of the plane become depth.

    Args:
        x (Tensor): the input, of 4 dimensions and any dtype.
        block_size (int): the size of blocks.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> ops.function.space_to_depth(ops.ones((1, 1, 2, 2)), 2).shape
        (1, 4, 1, 1)
    """
    n, c, h, w = x.shape
    if h % block_size or w % block_size:
        raise _check.refused("SpaceToDepth", "height and width",
                             _check.value(f"be multiples of block_size {block_size}"), _check.several(h, w))
    x = reshape(x, (n, c, h // block_size, block_size, w // block_size, block_size))
    return reshape(_ops["transpose"](x, (0, 3, 5, 1, 2, 4)),
                   (n, c * block_size * block_size, h // block_size, w // block_size))


def batch_to_space_nd(input_x: Tensor, block_shape: Sequence[int], crops: Sequence[Any]) -> Tensor:
    """Blocks of the batch moved to the plane [N, C, H, W], then its borders cropped.

    Args:
        input_x (Tensor): the input, of 4 dimensions and any dtype.
        block_shape (sequence of int): the size of blocks.
        crops (sequence): (before, behind) for each axis.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> ops.batch_to_space_nd(ops.ones((4, 1, 1, 1)), [2, 2], [[0, 0], [0, 0]]).shape
        (1, 1, 2, 2)
    """
    if isinstance(block_shape, int):
        block_shape = (block_shape,) * 2
    n, c, h, w = input_x.shape
    (a, b), ((top, bottom), (left, right)) = block_shape, crops
    if n % (a * b):
        raise _check.refused("batch_to_space_nd", "the batch", _check.multiple(f"the blocks' size {a * b}"), n)
    x = reshape(input_x, (a, b, n // (a * b), c, h, w))
    x = reshape(_ops["transpose"](x, (2, 3, 4, 0, 5, 1)), (n // (a * b), c, h * a, w * b))
    return x[:, :, top:h * a - bottom, left:w * b - right]


def space_to_batch_nd(input_x: Tensor, block_size: int, paddings: Tensor | Sequence[Any]) -> Tensor:
    """[N, C, H, W], or [N, ..., H, W], padded with zeros, then blocks of the plane moved to the batch.

    Args:
        input_x (Tensor): the input, of 3 dimensions or more and any dtype.
        block_size (int): the size of blocks.
        paddings (Tensor or sequence): (before, behind) for each axis.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input_x` is not a Tensor.

    Example:
        >>> ops.space_to_batch_nd(ops.ones((1, 1, 2, 2)), [2, 2], [[0, 0], [0, 0]]).shape
        (4, 1, 1, 1)
    """
    if isinstance(block_size, int):
        block_size = (block_size,) * 2
    (a, b), ((top, bottom), (left, right)) = block_size, paddings
    lead = (0,) * (input_x.ndim - 2)
    x = _ops["pad"](input_x, (*lead, top, left), (*lead, bottom, right), 0.0)
    n, *inner, h, w = x.shape
    if h % a or w % b:
        raise _check.refused("space_to_batch_nd", "the padded height and width",
                             _check.value(f"be multiples of the blocks' sizes {a} and {b}"), _check.several(h, w))
    x = reshape(x, (n, math.prod(inner), h // a, a, w // b, b))
    return reshape(_ops["transpose"](x, (3, 5, 0, 1, 2, 4)), (n * a * b, *inner, h // a, w // b))


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


def mirror_pad(input_x: Tensor, paddings: Tensor | Sequence[Any], mode: str) -> Tensor:
    """A border of mirrored elements, (before, behind) for each dimension: 'REFLECT' leaves the edge out, 'SYMMETRIC'
    repeats it.

    Args:
        input_x (Tensor): the input, of 1 dimension or more and any dtype.
        paddings (Tensor or sequence): (before, behind) for each axis.
        mode (str): which of the ways described above.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if the shape of `paddings` does not fit, or `mode` is not 'REFLECT' or 'SYMMETRIC'.

    Example:
        >>> print(ops.mirror_pad(Tensor([1, 2, 3]), Tensor([[1, 1]], ms.int32), "REFLECT"))
        [2 1 2 3 2]
    """
    if mode not in ("REFLECT", "SYMMETRIC"):
        raise _check.refused("mirror_pad", "mode", _check.one_of("REFLECT", "SYMMETRIC"), mode)
    pairs = paddings.asnumpy().tolist() if isinstance(paddings, Tensor) else paddings
    edge = 1 if mode == "REFLECT" else 0
    for axis, (before, behind) in enumerate(pairs):
        n = input_x.shape[axis]
        if builtins.max(before, behind) > n - edge or builtins.min(before, behind) < 0:
            raise _check.refused("mirror_pad", f"paddings of an axis of {n}", _check.within(0, n - edge),
                                 (before, behind))
        if before or behind:
            at = [*builtins.range(before - 1 + edge, edge - 1, -1), *builtins.range(n),
                  *builtins.range(n - 1 - edge, n - 1 - edge - behind, -1)]
            input_x = _ops["gather"](input_x, Tensor(at, mstype.int64), axis)
    return input_x


def matrix_band_part(x: Tensor, lower: int, upper: int) -> Tensor:
    """The diagonals of [..., m, n] from `lower` below to `upper` above the main one, zeros elsewhere; a negative number
    keeps all there.

    Args:
        x (Tensor): the input, of 2 dimensions or more and any dtype.
        lower (int): how many diagonals below.
        upper (int): how many diagonals above.

    Returns:
        Tensor of x's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.matrix_band_part(Tensor([[1, 2], [3, 4]]), 0, 0))
        [[1 0]
         [0 4]]
    """
    m, n = x.shape[-2:]
    gap = expand_dims(arange(m), 1) - arange(n)
    keep = full((m, n), True, dtype=mstype.bool_)
    if isinstance(lower, Tensor) or lower >= 0:
        keep = keep & ((gap <= lower) | (lower < 0) if isinstance(lower, Tensor) else gap <= lower)
    if isinstance(upper, Tensor) or upper >= 0:
        keep = keep & ((-gap <= upper) | (upper < 0) if isinstance(upper, Tensor) else -gap <= upper)
    return select(keep, x, full(x.shape, 0, dtype=x.dtype))


@_named(method=True)
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """input with src along a diagonal of two dimensions.

    Args:
        input (Tensor): the input, of 2 dimensions or more and any dtype.
        src (Tensor): what to put there.
        offset (int, optional): which diagonal: 0 the main one, above it positive. Default: 0.
        dim1 (int, optional): the first of the two axes. Default: 0.
        dim2 (int, optional): the second of the two axes. Default: 1.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: if the shape of `src` does not fit.

    Example:
        >>> print(ops.diagonal_scatter(ops.zeros((2, 2)), ops.ones(2)))
        [[1. 0.]
         [0. 1.]]
    """
    from pijit.ops.function.stacking import diagonal
    a, b = _axis(dim1, input.ndim), _axis(dim2, input.ndim)
    x = moveaxis(input, (a, b), (-2, -1))
    m, n = x.shape[-2:]
    wanted = diagonal(x, offset, -2, -1).shape
    if tuple(src.shape) != tuple(wanted):
        raise _check.refused("diagonal_scatter", "src", _check.value(f"have the diagonal's shape {tuple(wanted)}"),
                             src.shape)
    rows, columns = expand_dims(arange(m), 1), arange(n)
    on = columns - rows == offset
    at = minimum(maximum(rows + builtins.min(offset, 0), 0), builtins.max(src.shape[-1] - 1, 0)) + columns * 0
    wide = _ops["gather"](src, reshape(at, (-1,)), src.ndim - 1)
    wide = reshape(wide, (*src.shape[:-1], m, n))
    return moveaxis(select(on, wide, x), (-2, -1), (a, b))


def unravel_index(indices: Tensor, dims: Tensor) -> Tensor:
    """The coordinates [rank, n] of flat indices in a tensor of shape `dims`.

    Args:
        indices (Tensor): where: ints.
        dims (Tensor): the shape.

    Returns:
        Tensor [rank, n]. Ints and floats keep their dtype; not for bool and complex.

    Raises:
        TypeError: if `indices` is not a Tensor.

    Example:
        >>> print(ops.function.unravel_index(Tensor([3], ms.int32), Tensor([2, 2], ms.int32)))
        [[1]
         [1]]
    """
    _need_tensor("unravel_index", "indices", indices)
    sizes = dims.asnumpy().tolist() if isinstance(dims, Tensor) else list(dims)
    parts, rest = [], indices
    for n in sizes[::-1]:
        parts.append(rest % n)
        rest = rest // n
    return stack(parts[::-1], 0)


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
    from pijit.ops.function.image import fold
    n, c, k, patches = input_x.shape
    size = tuple(output_size.asnumpy().tolist()) if isinstance(output_size, Tensor) else output_size
    return fold(reshape(input_x, (n, c * k, patches)), size, kernel_size, dilation, padding_value, stride)


def padding(x: Tensor, pad_dim_size: int = 8) -> Tensor:
    """The last dimension, of 1, extended by zeros to pad_dim_size.

    Args:
        x (Tensor): the input, of 2 dimensions or more and any dtype.
        pad_dim_size (int, optional): the size of the last dimension. Default: 8.

    Returns:
        Tensor [..., pad_dim_size]. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.padding(Tensor([[1.0]]), 3))
        [[1. 0. 0.]]
    """
    if x.shape[-1] != 1 or x.ndim < 2:
        raise _check.refused("padding", "the input", _check.value("have at least 2 dimensions and the last must be 1"),
                             x.shape)
    if pad_dim_size <= 0:
        raise _check.refused("padding", "pad_dim_size", _check.above(0), pad_dim_size)
    return _ops["pad"](x, (0,) * x.ndim, (0,) * (x.ndim - 1) + (pad_dim_size - 1,), 0)


def _need_boxes(op, **boxes):
    """Raises TypeError where an argument is no Tensor, ValueError where its shape isn't [n, 4]."""
    for name, x in boxes.items():
        _need_tensor(op, name, x)
        if x.ndim != 2 or x.shape[1] != 4:
            raise _check.refused(op, name, _check.shape("[n, 4]"), x.shape)


@one_operator
def iou(anchor_boxes: Tensor, gt_boxes: Tensor, mode: str = "iou") -> Tensor:
    """[m, n] shares of overlap of boxes [n, 4] with boxes [m, 4] of (x0, y0, x1, y1): of their union, or ('iof') of the
    boxes gt_boxes.

    Args:
        anchor_boxes (Tensor): [n, 4].
        gt_boxes (Tensor): [m, 4].
        mode (str, optional): 'iou' or 'iof'. Default: 'iou'.

    Returns:
        Tensor [m, n]. Floats keep their dtype; ints give float32; not for bool and complex.

    Raises:
        TypeError: if `anchor_boxes` is not a Tensor.
        ValueError: if the shape of `gt_boxes` does not fit.
        KeyError: if `mode` is not 'iou' or 'iof'.

    Example:
        >>> print(ops.iou(Tensor([[0.0, 0.0, 1.0, 1.0]]), Tensor([[0.0, 0.0, 1.0, 1.0]])))
        [[1.]]
    """
    if mode not in ("iou", "iof"):
        raise _check.refused("iou", "mode", _check.one_of("iou", "iof"), mode, KeyError)
    _need_boxes("iou", anchor_boxes=anchor_boxes, gt_boxes=gt_boxes)

    def area(b):
        return (b[:, 2] - b[:, 0] + 1) * (b[:, 3] - b[:, 1] + 1)
    a, g = expand_dims(anchor_boxes, 0), expand_dims(gt_boxes, 1)
    width = maximum(minimum(a[..., 2], g[..., 2]) - maximum(a[..., 0], g[..., 0]) + 1, 0)
    height = maximum(minimum(a[..., 3], g[..., 3]) - maximum(a[..., 1], g[..., 1]) + 1, 0)
    both = width * height
    whole = expand_dims(area(gt_boxes), 1)
    return both / (whole if mode == "iof" else whole + area(anchor_boxes) - both)


@one_operator
def bounding_box_encode(anchor_box: Tensor, groundtruth_box: Tensor, means: Sequence[float] = (0.0, 0.0, 0.0, 0.0),
                        stds: Sequence[float] = (1.0, 1.0, 1.0, 1.0)) -> Tensor:
    """The shifts and log scales [n, 4] from anchor boxes to true ones (Girshick et al. 2014).

    Args:
        anchor_box (Tensor): [n, 4] corners (x0, y0, x1, y1).
        groundtruth_box (Tensor): [n, 4].
        means (tuple of float, optional): the mean of each of the four shifts. Default: (0.0, 0.0, 0.0, 0.0).
        stds (tuple of float, optional): the deviation of each of the four shifts. Default: (1.0, 1.0, 1.0, 1.0).

    Returns:
        float32 Tensor [n, 4]. Floats and complex keep their dtype; ints give float32; not for bool.

    Raises:
        TypeError: if `anchor_box` is not a Tensor.
        ValueError: if the shape of `groundtruth_box` does not fit.

    Example:
        >>> print(ops.bounding_box_encode(Tensor([[0.0, 0.0, 1.0, 1.0]]), Tensor([[0.0, 0.0, 1.0, 1.0]])))
        [[0. 0. 0. 0.]]
    """
    _need_boxes("bounding_box_encode", anchor_box=anchor_box, groundtruth_box=groundtruth_box)
    _same_shape("bounding_box_encode", anchor_box=anchor_box, groundtruth_box=groundtruth_box)

    def measures(b):
        w, h = b[:, 2] - b[:, 0] + 1, b[:, 3] - b[:, 1] + 1
        return (b[:, 0] + b[:, 2]) * 0.5, (b[:, 1] + b[:, 3]) * 0.5, w, h
    ax, ay, aw, ah = measures(anchor_box)
    gx, gy, gw, gh = measures(groundtruth_box)
    deltas = stack([(gx - ax) / aw, (gy - ay) / ah, log(gw / aw), log(gh / ah)], 1)
    return (deltas - Tensor(means, deltas.dtype)) / Tensor(stds, deltas.dtype)


@one_operator
def bounding_box_decode(anchor_box: Tensor, deltas: Tensor, max_shape: Shape,
                        means: Sequence[float] = (0.0, 0.0, 0.0, 0.0), stds: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
                        wh_ratio_clip: float = 0.016) -> Tensor:
    """Boxes [n, 4] from anchor boxes and shifts, kept inside an image of max_shape (height, width).

    Args:
        anchor_box (Tensor): [n, 4] corners (x0, y0, x1, y1).
        deltas (Tensor): [n, 4].
        max_shape (tuple of int): (height, width).
        means (tuple of float, optional): the mean of each of the four shifts. Default: (0.0, 0.0, 0.0, 0.0).
        stds (tuple of float, optional): the deviation of each of the four shifts. Default: (1.0, 1.0, 1.0, 1.0).
        wh_ratio_clip (float, optional): the greatest change of sizes. Default: 0.016.

    Returns:
        Tensor [n, 4]. Floats keep their dtype; ints give float32; not for bool and complex.

    Raises:
        TypeError: if `anchor_box` is not a Tensor.
        ValueError: if the shape of `deltas` does not fit.

    Example:
        >>> print(ops.bounding_box_decode(Tensor([[0.0, 0.0, 1.0, 1.0]]), Tensor([[0.0, 0.0, 0.0, 0.0]]), (5, 5)))
        [[0. 0. 1. 1.]]
    """
    d = deltas * Tensor(stds, deltas.dtype) + Tensor(means, deltas.dtype)
    most = builtins.abs(math.log(wh_ratio_clip))
    dw, dh = (minimum(maximum(v, -most), most) for v in (d[:, 2], d[:, 3]))
    w, h = anchor_box[:, 2] - anchor_box[:, 0] + 1, anchor_box[:, 3] - anchor_box[:, 1] + 1
    x = (anchor_box[:, 0] + anchor_box[:, 2]) * 0.5 + d[:, 0] * w
    y = (anchor_box[:, 1] + anchor_box[:, 3]) * 0.5 + d[:, 1] * h
    w, h = w * exp(dw), h * exp(dh)

    def inside(v, n):
        return minimum(maximum(v, 0.0), float(n))
    return stack([inside(x - w * 0.5 + 0.5, max_shape[1]), inside(y - h * 0.5 + 0.5, max_shape[0]),
                  inside(x + w * 0.5 - 0.5, max_shape[1]), inside(y + h * 0.5 - 0.5, max_shape[0])], 1)


@one_operator
def check_valid(bboxes: Tensor, img_metas: Tensor) -> Tensor:
    """Which boxes [n, 4] lie inside the image that img_metas (height, width, ratio) describes.

    Args:
        bboxes (Tensor): the boxes.
        img_metas (Tensor): (height, width, ratio).

    Returns:
        bool Tensor [n]. Bool stays; ints and floats give bool; not for complex.

    Raises:
        TypeError: if `bboxes` is not a Tensor.
        ValueError: if the shape of `img_metas` does not fit.

    Example:
        >>> print(ops.check_valid(Tensor([[0.0, 0.0, 1.0, 1.0]]), Tensor([5.0, 5.0, 1.0])))
        [ True]
    """
    _need_boxes("check_valid", bboxes=bboxes)
    if img_metas.shape != (3,):
        raise _check.refused("check_valid", "img_metas", _check.shape("(3,)"), img_metas.shape)
    h, w = img_metas[0] * img_metas[2], img_metas[1] * img_metas[2]
    return (bboxes[:, 0] >= 0) & (bboxes[:, 1] >= 0) & (bboxes[:, 2] <= w - 1) & (bboxes[:, 3] <= h - 1)


def split_by_sizes(x: Tensor, sizes: Shape, axis: int) -> tuple[Tensor, ...]:
    """Pieces of the given sizes along an axis; one of them may be -1, for what is left.

    Args:
        x (Tensor): the input, of 1 dimension or more and any dtype.
        sizes (tuple of int): the size of each piece.
        axis (int): the axis; -1 is the last one.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Raises:
        IndexError: if `axis` is out of range.

    Example:
        >>> for part in ops.function.split_by_sizes(Tensor([1, 2, 3]), (1, -1), 0):
        ...     print(part)
        [1]
        [2 3]
    """
    n = x.shape[axis]
    if builtins.any(s == -1 for s in sizes):
        rest = n - builtins.sum([s for s in sizes if s != -1])
        sizes = [rest if s == -1 else s for s in sizes]
    if builtins.sum(sizes) != n or builtins.min(sizes) < 0:
        raise _check.refused("SplitV", "size_splits", _check.value(f"add up to {n}"), sizes)
    out, at = [], 0
    for s in sizes:
        out.append(narrow(x, axis, at, s))
        at += s
    return tuple(out)


_SCATTER = """A Parameter with {what} changed by updates ({mode}), in place.

    Args:
        input_x (Parameter): what is changed.
        indices (Tensor): {where}.
        updates (Tensor): of input_x's dtype, a slice for each of the indices.{more}

    Returns:
        Tensor: the new value.

    Raises:
        IndexError: where an index is out of range.
        ValueError: where the shape of `updates` doesn't fit.

    Example:
        >>> x = ms.Parameter(Tensor([1.0, 2.0, 3.0]), name="x")
        >>> print(ops.{name}(x, Tensor({at}, ms.int32), Tensor([10.0, 20.0])))
        {value}
    """


def _scattered(mode):
    def update(input_x, indices, updates):
        if _C.compute_dtype() is not None:
            return as_update(update, input_x, indices, updates)
        return _changed(input_x, _ops["scatter_nd"](input_x, reshape(indices, (*indices.shape, 1)), updates, mode))
    update.__name__ = update.__qualname__ = f"scatter_{mode}"
    update.__doc__ = _SCATTER.format(what="rows named by indices", mode=mode, where="ints, any shape",
                                     name=f"scatter_{mode}", at="[0, 2]", more="",
                                     value={"add": "[11.  2. 23.]", "div": "[0.1  2.   0.15]", "max": "[10.  2. 20.]",
                                            "min": "[1. 2. 3.]",
                                            "mul": "[10.  2. 60.]", "update": "[10.  2. 20.]"}[mode])
    return update


def _scattered_nd(mode):
    def update(input_x, indices, updates, use_locking=False):
        if _C.compute_dtype() is not None:
            return as_update(update, input_x, indices, updates)
        return _changed(input_x, _ops["scatter_nd"](input_x, indices, updates, mode))
    update.__name__ = update.__qualname__ = f"scatter_nd_{mode}"
    update.__doc__ = _SCATTER.format(what="elements or slices at coordinates", mode=mode,
                                     where="[..., k] ints: coordinates along the first k axes",
                                     name=f"scatter_nd_{mode}", at="[[0], [2]]",
                                     more="\n        use_locking (bool, optional): kept for its name. Default: False.",
                                     value={"add": "[11.  2. 23.]", "div": "[0.1  2.   0.15]", "max": "[10.  2. 20.]",
                                            "min": "[1. 2. 3.]",
                                            "mul": "[10.  2. 60.]", "sub": "[ -9.   2. -17.]",
                                            "update": "[10.  2. 20.]"}[mode])
    return update


scatter_update: Callable[..., Tensor]
scatter_mul: Callable[..., Tensor]
scatter_min: Callable[..., Tensor]
scatter_max: Callable[..., Tensor]
scatter_div: Callable[..., Tensor]
scatter_add: Callable[..., Tensor]
scatter_add, scatter_div, scatter_max, scatter_min, scatter_mul, scatter_update = (_scattered(m)
                                                                                   for m in ("add", "div", "max", "min",
                                                                                             "mul", "update"))
scatter_nd_update: Callable[..., Tensor]
scatter_nd_sub: Callable[..., Tensor]
scatter_nd_mul: Callable[..., Tensor]
scatter_nd_min: Callable[..., Tensor]
scatter_nd_max: Callable[..., Tensor]
scatter_nd_div: Callable[..., Tensor]
scatter_nd_add: Callable[..., Tensor]
scatter_nd_add, scatter_nd_div, scatter_nd_max, scatter_nd_min, scatter_nd_mul, scatter_nd_sub, scatter_nd_update = (
    _scattered_nd(m) for m in ("add", "div", "max", "min", "mul", "sub", "update"))


def invert_permutation(x: Shape) -> tuple[int, ...]:
    """The tuple of ints that takes a permutation back. ValueError where x is none.

    Args:
        x (tuple of int): the numbers 0 to n - 1 in some order.

    Returns:
        tuple of ints.

    Example:
        >>> ops.function.invert_permutation((2, 0, 1))
        (1, 2, 0)
    """
    if sorted(x) != list(builtins.range(len(x))):
        raise _check.refused("InvertPermutation", "x", _check.value(f"be a permutation of 0 to {len(x) - 1}"), x)
    out = [0] * len(x)
    for i, v in enumerate(x):
        out[v] = i
    return tuple(out)


@_named(method=True, mint=True)
def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False,
                       dim: Axis | None = None) -> Any:
    """Values without their immediate repetitions (slices along `dim`); on request each element's place among them, and
    how often each stood.

    Their number depends on the data: not part of a graph.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        return_inverse (bool, optional): whether to give each element's place. Default: False.
        return_counts (bool, optional): whether to give how often. Default: False.

    Returns:
        Tensor, or a tuple with what was asked for. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.unique_consecutive(Tensor([1, 1, 2, 1])))
        [1 2 1]
    """
    _need_tensor("unique_consecutive", "input", input)
    import numpy as np
    a = input.asnumpy()
    x = a.ravel() if dim is None else np.moveaxis(a, dim, 0)
    n = x.shape[0]
    new = np.ones(n, bool)
    if n > 1:
        new[1:] = (x[1:] != x[:-1]).reshape(n - 1, -1).any(1)
    values = x[new] if dim is None else np.moveaxis(x[new], 0, dim)
    out = [Tensor(np.ascontiguousarray(values), input.dtype)]
    if return_inverse:
        place = np.cumsum(new).astype(np.int64) - 1
        out.append(Tensor(place.reshape(a.shape) if dim is None else place))
    if return_counts:
        out.append(Tensor(np.diff(np.append(np.flatnonzero(new), n)).astype(np.int64)))
    return out[0] if len(out) == 1 else tuple(out)


@_named(method=True)
def unique_with_pad(x: Tensor, pad_num: Number) -> tuple[Tensor, Tensor]:
    """(the distinct values of a vector in the order of their first appearance, then pad_num; each element's place among
    them).

    Args:
        x (Tensor): the input, of 1 dimension and any dtype.
        pad_num (number): what fills the rest.

    Returns:
        (Tensor, Tensor). Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> print(ops.unique_with_pad(Tensor([1, 2, 1]), 0)[0])
        [1 2 0]
    """
    _need_tensor("unique_with_pad", "x", x)
    from pijit.ops.function.sort import unique
    values, place = unique(x)
    rest = full((x.shape[0] - values.shape[0],), pad_num, dtype=x.dtype)
    return concat([values, rest], 0), place
