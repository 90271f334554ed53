"""Boxes: cut out of images and resized, regions pooled, boxes compared and those that overlap suppressed."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import one_operator
from pijit.ops.function.creation import arange
from pijit.ops.function.elementwise import cast, exp, floor, log, maximum, minimum, _need_tensor
from pijit.ops.function.joining import stack
from pijit.ops.function.shapes import expand_dims, reshape, _same_shape

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._types import Shape

_METHODS = ("bilinear", "nearest", "bilinear_v2")


@one_operator
def crop_and_resize(image: Tensor, boxes: Tensor, box_indices: Any, crop_size: Any, method: str = "bilinear",
                    extrapolation_value: float = 0.0) -> Tensor:
    """Boxes cut out of images and resized to one size.

    image: [N, H, W, C]; boxes: [n, 4] float32 of (y1, x1, y2, x2), where 0 and 1 are the first and the last row or
        column; box_indices: [n], the image of each box; crop_size: (height, width). method: 'bilinear', 'nearest', or
        'bilinear_v2', which interpolates between the centres of the box's whole pixels. Places outside of the image get
        extrapolation_value. Returns [n, height, width, C] float32.
    Raises TypeError or ValueError for other kinds and shapes.

    Example:
        >>> ops.crop_and_resize(ops.ones((1, 4, 4, 1)), Tensor([[0.0, 0.0, 1.0, 1.0]]), Tensor([0], ms.int32),
        ...     (2, 2)).shape
        (1, 2, 2, 1)
    """
    for name, t in (("image", image), ("boxes", boxes), ("box_indices", box_indices)):
        if not isinstance(t, Tensor):
            raise _check.refused("crop_and_resize", name, _check.TENSOR, t)
    for name, t, rank in (("image", image, 4), ("boxes", boxes, 2), ("box_indices", box_indices, 1)):
        if t.ndim != rank:
            raise _check.refused("crop_and_resize", name, _check.dims(rank), t.ndim)
    if not isinstance(crop_size, tuple):
        raise _check.refused("crop_and_resize", "crop_size", _check.TUPLE, crop_size)
    if len(crop_size) != 2 or builtins.min(crop_size) <= 0:
        raise _check.refused("crop_and_resize", "crop_size", _check.value("be a height and a width greater than 0"),
                             crop_size)
    if boxes.shape[1] != 4 or boxes.shape[0] != box_indices.shape[0]:
        raise _check.expected("crop_and_resize", "boxes [n, 4] and box_indices [n]",
                              _check.several(boxes.shape, box_indices.shape))
    if method not in _METHODS:
        raise _check.refused("crop_and_resize", "method", _check.one_of(*_METHODS), method)
    x = _ops["gather"](cast(image, mstype.float32), box_indices, 0)
    inside = None
    for axis, size in ((1, crop_size[0]), (2, crop_size[1])):
        n = image.shape[axis]
        at = _box_places(boxes[:, axis - 1], boxes[:, axis + 1], n, size, method)
        here = (at >= 0) & (at <= n - 1)
        here = reshape(here, (-1, size, 1, 1) if axis == 1 else (-1, 1, size, 1))
        inside = here if inside is None else inside & here
        at = minimum(maximum(at, 0.0), float(n - 1))
        x = _between(x, at, axis, n, method)
    return _ops["select"](inside, x, float(extrapolation_value))


def _box_places(first, last, n, size, method):
    """Places [boxes, size] along an axis of n."""
    i = cast(arange(size), mstype.float32)
    first, last = expand_dims(first, 1), expand_dims(last, 1)
    if method == "bilinear_v2":
        low, high = (minimum(maximum(floor(v * float(n)), 0.0), float(n - 1)) for v in (first, last))
        count = high - low + 1
        return low + minimum(maximum((i + 0.5) * (count * (1.0 / size)) - 0.5, 0.0), count - 1)
    if size == 1:
        return (first + last) * (0.5 * (n - 1)) + i
    return first * float(n - 1) + i * ((last - first) * float(n - 1) / float(size - 1))


def _between(x, at, axis, n, method):
    """x's values at places [rows, size] along an axis: of row r those in x[r]."""
    def take(index):
        shape = list(x.shape)
        shape[axis] = at.shape[1]
        wide = reshape(cast(index, mstype.int64), tuple(n if k in (0, axis) else 1 for k, n in enumerate(shape)))
        return _ops["gather_d"](x, _ops["broadcast_to"](wide, tuple(shape)), axis)
    if method == "nearest":
        return take(floor(at + 0.5))
    low = floor(at)
    share = reshape(at - low,
                    tuple(s if k in (0, axis) else 1
                          for k, s in enumerate((*x.shape[:axis], at.shape[1], *x.shape[axis + 1:]))))
    first = take(low)
    return first + (take(minimum(low + 1, float(n - 1))) - first) * share


@one_operator
def roi_align(features: Any, rois: Any, height: int, width: int, scale: Any, samples: Any, end_mode: Any) -> Any:
    """Regions of interest pooled to [rois, C, height, width] by means of bilinear samples (He et al. 2017).

    features: [N, C, H, W]; rois: [n, 5] of (image, x1, y1, x2, y2). samples: per bin and axis; 0: as many as a bin has
        whole pixels. end_mode 1 counts the last pixel in, as MindSpore's older operator did."""
    n, c, h, w = features.shape
    image = cast(rois[:, 0], mstype.int64)
    begin, size = [], []
    for low, high in ((2, 4), (1, 3)):
        first, last = rois[:, low] * scale, (rois[:, high] + (1.0 if end_mode == 1 else 0.0)) * scale
        begin.append(first)
        size.append(last - first if end_mode == 1 else maximum(last - first, 1.0))
    if samples > 0:
        return _aligned(_ops["gather"](features, image, 0), begin, size, (height, width), (samples, samples))
    parts = []
    for r in builtins.range(rois.shape[0]):  # the number of samples is each region's own
        count = [builtins.max(int(s[r].item() / k), 1) for s, k in zip(size, (height, width))]
        one = [v[r:r + 1] for v in begin], [v[r:r + 1] for v in size]
        parts.append(_aligned(_ops["gather"](features, image[r:r + 1], 0), *one, (height, width), count))
    return _ops["concat"](parts, 0)


def _aligned(x, begin, size, bins, counts):
    for axis, first, whole, k, count in zip((2, 3), begin, size, bins, counts):
        n = x.shape[axis]
        i = (cast(arange(k * count), mstype.float32) + 0.5) * (1.0 / count)  # in bins
        at = expand_dims(first, 1) + expand_dims(whole, 1) * (1.0 / k) * i
        inside = (at >= -1.0) & (at <= float(n))
        at = minimum(maximum(at, 0.0), float(n - 1))
        x = _between(x, at, axis, n, "bilinear")
        keep = reshape(cast(inside, x.dtype), (-1, 1, k * count, 1) if axis == 2 else (-1, 1, 1, k * count))
        x = x * keep
        shape = (*x.shape[:axis], k, count, *x.shape[axis + 1:])
        x = _ops["reduce_sum"](reshape(x, shape), axis + 1, False) * (1.0 / count)
    return x


def _area_shares(boxes):
    """[n, n] shares of the boxes' (x0, y0, x1, y1) intersections in their unions, as nested lists."""
    a = boxes.asnumpy().astype("float32")
    import numpy as np
    low, high = np.maximum(a[:, None, :2], a[None, :, :2]), np.minimum(a[:, None, 2:4], a[None, :, 2:4])
    side = np.maximum(high - low, 0)
    both = side[..., 0] * side[..., 1]
    area = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
    with np.errstate(divide="ignore", invalid="ignore"):
        return both / (area[:, None] + area[None, :] - both)


def _kept(share, order, threshold, most=None):
    """The first of the boxes in an order, without those that overlap with an earlier one by more than the threshold."""
    kept = []
    for k in order:
        if most is not None and len(kept) == most:
            break
        if all(not share[k, j] > threshold for j in kept):
            kept.append(k)
    return kept


@one_operator
def nms_with_mask(bboxes: Any, iou_threshold: float) -> tuple[Tensor, Tensor, Tensor]:
    """(the boxes [n, 5] with their scores in descending order, 0 to n - 1 as int32, which of them no better one
    overlaps with)."""
    if bboxes.ndim != 2 or bboxes.shape[1] != 5:
        raise _check.refused("NMSWithMask", "bboxes", _check.shape("[n, 5]"), bboxes.shape)
    order = _ops["argsort"](bboxes[:, 4], 0, True)
    ranked = _ops["gather"](bboxes, order, 0)
    n = bboxes.shape[0]
    kept = _kept(_area_shares(ranked), builtins.range(n), iou_threshold)
    return ranked, arange(n, dtype=mstype.int32), Tensor([k in kept for k in builtins.range(n)], mstype.bool_)


@one_operator
def non_max_suppression(boxes: Tensor, scores: Tensor, most: Any, iou_threshold: float, score_threshold: Any) -> Tensor:
    """The places of the best boxes that don't overlap with a better one, as int32. boxes [n, 4] of two opposite
    corners."""
    low, high = minimum(boxes[:, :2], boxes[:, 2:]), maximum(boxes[:, :2], boxes[:, 2:])
    share = _area_shares(_ops["concat"]([low, high], 1))
    return _suppressed(share, scores, most, iou_threshold, score_threshold)


@one_operator
def non_max_suppression_with_overlaps(overlaps: Any, scores: Tensor, most: Any, overlap_threshold: Any,
                                      score_threshold: Any) -> Tensor:
    """The same for known overlaps [n, n]."""
    return _suppressed(overlaps.asnumpy(), scores, most, overlap_threshold, score_threshold)


def _suppressed(share, scores, most, threshold, score_threshold):
    values = scores.asnumpy()
    order = [k for k in (-values).argsort(kind="stable").tolist() if values[k] > score_threshold]
    return Tensor(_kept(share, order, threshold, most), mstype.int32)


def _need_boxes(op, **boxes):
    """Raises TypeError where an argument is no Tensor, ValueError where its shape isn't [n, 4]."""
    for name, x in boxes.items():
        _need_tensor(op, name, x)
        if x.ndim != 2 or x.shape[1] != 4:
            raise _check.refused(op, name, _check.shape("[n, 4]"), x.shape)


@one_operator
def iou(anchor_boxes: Tensor, gt_boxes: Tensor, mode: str = "iou") -> Tensor:
    """[m, n] shares of overlap of boxes [n, 4] with boxes [m, 4] of (x0, y0, x1, y1).

    Of their union, or ('iof') of the boxes gt_boxes.

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


__all__ = ["bounding_box_decode", "bounding_box_encode", "check_valid", "crop_and_resize", "iou"]
