"""Primitives on images: boxes, colours, sizes, pieces."""

from __future__ import annotations

import builtins

import numpy as np

from pijit import _check, dtype as mstype, random as _random
from pijit._C import Tensor
from pijit.ops import function as F
from pijit.ops.function import boxes as B, image as _image, patches as _patches
from pijit.ops.function.sampling import resize_bicubic
from pijit.ops.primitive import primitive
from pijit.ops.primitive_arguments import _ints, _ints_of, _plane


@primitive
def Col2Im(x, output_size, /, kernel_size, dilation=1, padding=0, stride=1):
    """Columns summed into the images they were taken from."""
    return F.col2im(x, output_size, kernel_size, dilation, padding, stride)


@primitive
def ResizeNearestNeighbor(input_x, /, size, align_corners=False, half_pixel_centers=False):
    """[N, C, H, W] in another size, each element that of the nearest place."""
    return F.resize_nearest(input_x, size, align_corners, half_pixel_centers)


@primitive
def ResizeBilinearV2(image, size, /, align_corners=False, half_pixel_centers=False):
    """[N, C, H, W] in another size, linear between places."""
    return F.resize_bilinear(image, size if isinstance(size, (tuple, list)) else _ints_of(size), align_corners,
                             half_pixel_centers)


@primitive
def ResizeBilinear(x, /, size, align_corners=False, half_pixel_centers=False):
    """[N, C, H, W] in another size, linear between places."""
    return F.resize_bilinear(x, size, align_corners, half_pixel_centers)


@primitive
def ResizeNearestNeighborV2(x, size, /, align_corners=False, half_pixel_centers=False):
    """[N, C, H, W] in another size, each element that of the nearest place."""
    return F.resize_nearest(x, _ints_of(size), align_corners, half_pixel_centers)


@primitive
def AffineGrid(theta, output_size, /, align_corners=False):
    """Sampling grids of affine maps."""
    return F.affine_grid(theta, _ints_of(output_size), align_corners)


@primitive
def GridSampler2D(input_x, grid, /, interpolation_mode="bilinear", padding_mode="zeros", align_corners=False):
    """[N, C, H, W] at the places of a grid."""
    return F.grid_sample(input_x, grid, interpolation_mode, padding_mode, align_corners)


@primitive
def GridSampler3D(input_x, grid, /, interpolation_mode="bilinear", padding_mode="zeros", align_corners=False):
    """[N, C, D, H, W] at the places of a grid."""
    return F.grid_sample(input_x, grid, interpolation_mode, padding_mode, align_corners)


@primitive
def IOU(anchor_boxes, gt_boxes, /, mode="iou"):
    """Shares of overlap of boxes."""
    return F.iou(anchor_boxes, gt_boxes, mode)


@primitive
def BoundingBoxEncode(anchor_box, groundtruth_box, /, means=(0.0, 0.0, 0.0, 0.0), stds=(1.0, 1.0, 1.0, 1.0)):
    """Shifts and log scales from anchor boxes to true ones."""
    return F.bounding_box_encode(anchor_box, groundtruth_box, means, stds)


@primitive
def BoundingBoxDecode(anchor_box, deltas, /, max_shape, means=(0.0, 0.0, 0.0, 0.0), stds=(1.0, 1.0, 1.0, 1.0),
                      wh_ratio_clip=0.016):
    """Boxes from anchor boxes and shifts."""
    return F.bounding_box_decode(anchor_box, deltas, max_shape, means, stds, wh_ratio_clip)


@primitive
def CheckValid(bboxes, img_metas, /):
    """Which boxes lie inside an image."""
    return F.check_valid(bboxes, img_metas)


def _number(x):
    return x.item() if isinstance(x, Tensor) else x


def _method(name, *attributes):
    if attributes[0] not in B._METHODS:
        raise _check.refused(name, "method", _check.one_of(*B._METHODS), attributes[0])


@primitive(check=_method)
def CropAndResize(x, boxes, box_index, crop_size, /, method="bilinear", extrapolation_value=0.0):
    """Boxes [n, 4] cut out of images [N, H, W, C] and resized."""
    return F.crop_and_resize(x, boxes, box_index, tuple(_ints(crop_size)), method, extrapolation_value)


@primitive
def ROIAlign(features, rois, /, pooled_height, pooled_width, spatial_scale, sample_num=2, roi_end_mode=1):
    """Regions [n, 5] of (image, x1, y1, x2, y2) of features [N, C, H, W], pooled.

    The result is [n, C, pooled_height, pooled_width]."""
    return F.cast(B.roi_align(features, rois, pooled_height, pooled_width, spatial_scale, sample_num, roi_end_mode),
                  features.dtype)


@primitive
def NMSWithMask(bboxes, /, iou_threshold=0.5):
    """(boxes [n, 5] by descending score, their indices, which are kept)."""
    return B.nms_with_mask(bboxes, iou_threshold)


@primitive
def NonMaxSuppressionV3(boxes, scores, max_output_size, iou_threshold, score_threshold, /):
    """The indices (int32) of the best boxes [n, 4] that no better one overlaps with."""
    return B.non_max_suppression(boxes, scores,
                                 *(_number(v) for v in (max_output_size, iou_threshold, score_threshold)))


@primitive
def NonMaxSuppressionWithOverlaps(overlaps, scores, max_output_size, overlap_threshold, score_threshold, /):
    """The indices (int32) of the best boxes whose overlaps [n, n] with better ones are below the threshold."""
    return B.non_max_suppression_with_overlaps(overlaps, scores,
                                               *(_number(v) for v in (max_output_size, overlap_threshold,
                                                   score_threshold)))


@primitive
def CombinedNonMaxSuppression(boxes, scores, max_output_size_per_class, max_total_size, iou_threshold, score_threshold,
                              /, pad_per_class=False, clip_boxes=True):
    """(boxes [N, k, 4], scores [N, k], classes [N, k], how many count [N] int32) of the best boxes over all classes.

    boxes: [N, n, 1 or classes, 4]; scores: [N, n, classes]."""
    per_class, total = _number(max_output_size_per_class), _number(max_total_size)
    iou, least = _number(iou_threshold), _number(score_threshold)
    all_boxes, all_scores = boxes.asnumpy(), scores.asnumpy()
    classes = all_scores.shape[2]
    size = builtins.min(total, per_class * classes) if pad_per_class else total
    out = (np.zeros((len(all_boxes), size, 4), np.float32), np.zeros((len(all_boxes), size), np.float32),
           np.zeros((len(all_boxes), size), np.float32))
    counts = []
    for k, (b, s) in enumerate(zip(all_boxes, all_scores)):
        found = []
        for c in builtins.range(classes):
            own = b[:, c if b.shape[1] > 1 else 0]
            corners = np.concatenate([np.minimum(own[:, :2], own[:, 2:]), np.maximum(own[:, :2], own[:, 2:])], 1)
            share = B._area_shares(Tensor(corners))
            order = [i for i in (-s[:, c]).argsort(kind="stable").tolist() if s[i, c] > least]
            found += [(float(s[i, c]), c, own[i]) for i in B._kept(share, order, iou, per_class)]
        found.sort(key=lambda f: -f[0])
        counts.append(builtins.min(len(found), size))
        for j, (score, c, box) in enumerate(found[:size]):
            out[0][k, j], out[1][k, j], out[2][k, j] = np.clip(box, 0, 1) if clip_boxes else box, score, c
    return (*[Tensor(a) for a in out], Tensor(counts, mstype.int32))


@primitive
def RGBToHSV(images, /):
    """Hue, saturation and value of [..., 3]."""
    return _image.rgb_to_hsv(images)


@primitive
def HSVToRGB(x, /):
    """Red, green and blue of [..., 3]."""
    return _image.hsv_to_rgb(x)


@primitive
def AdjustHue(image, delta, /):
    """The hue of images [..., 3] turned by delta."""
    return _image.adjust_hue(image, delta)


@primitive
def AdjustSaturation(image, scale, /):
    """The saturation of images [..., 3] times scale."""
    return _image.adjust_saturation(image, scale)


@primitive
def ResizeArea(images, size, /, align_corners=False):
    """[N, H, W, C] in another size, by means over areas, as float32."""
    return _image.resize_area(images, _ints(size), align_corners)


def _transformation(name, mode):
    if mode not in ("align_corners", "half_pixel"):
        raise _check.refused(name, "coordinate_transformation_mode", _check.one_of("align_corners", "half_pixel"), mode)


@primitive(check=_transformation)
def ResizeLinear1D(x, size, /, coordinate_transformation_mode="align_corners"):
    """[N, C, W] with another last size, linear between places."""
    return _image.resize_linear_1d(x, _ints(size)[0], coordinate_transformation_mode)


def _kernel(name, kernel_type, antialias):
    if kernel_type not in _image.KERNELS:
        raise _check.refused(name, "kernel_type", _check.one_of(*_image.KERNELS), kernel_type)


@primitive(check=_kernel)
def ScaleAndTranslate(images, size, scale, translation, /, kernel_type="lanczos3", antialias=True):
    """[N, H, W, C] scaled and moved into images of another size."""
    return _image.scale_and_translate(images, _ints(size), scale, translation, kernel_type, antialias)


def _volume(name, x, output_size, scales):
    if (output_size is None) == (scales is None):
        raise _check.exactly_one(name, "output_size", "scales")
    return ((_ints(output_size), [None] * 3) if scales is None
            else ([int(n * s) for n, s in zip(x.shape[2:], scales)], list(scales)))


@primitive
def UpsampleNearest3D(x, output_size, scales=None, /):
    """[N, C, D, H, W] in another size, each element that of the nearest place before."""
    return _image.upsample_nearest_3d(x, _volume("UpsampleNearest3D", x, output_size, scales)[0])


@primitive
def UpsampleTrilinear3D(x, output_size, scales=None, /, align_corners=False):
    """[N, C, D, H, W] in another size, linear between places."""
    size, factors = _volume("UpsampleTrilinear3D", x, output_size, scales)
    return _image.upsample_trilinear_3d(x, size, align_corners, factors)


def _padding(name, *attributes):
    if attributes[-1] not in ("SAME", "VALID", "same", "valid"):
        raise _check.refused(name, "the padding", _check.one_of("SAME", "VALID"), attributes[-1])


@primitive(check=_padding)
def ExtractVolumePatches(input_x, /, kernel_size, strides, padding):
    """[N, C, D, H, W] as [N, C kd kh kw, d, h, w]."""
    return _patches.extract_volume_patches(input_x, _plane(kernel_size, 3), _plane(strides, 3), padding.upper())


@primitive(check=_padding)
def ExtractImagePatches(images, /, ksizes, strides, rates, padding="valid"):
    """[N, C, H, W] as [N, kh kw C, h, w]."""
    return _patches.extract_image_patches(images, _plane(ksizes), _plane(strides), _plane(rates), padding.upper())


@primitive
def ExtractGlimpse(x, size, offsets, /, centered=True, normalized=True, uniform_noise=True, noise="uniform"):
    """Windows of `size` around places of images [N, H, W, C]; outside lies noise ('uniform', 'gaussian') or 'zero'."""
    make = None if noise == "zero" else _random.normal if noise == "gaussian" or not uniform_noise else _random.uniform
    return _patches.extract_glimpse(x, _ints(size), offsets, centered, normalized, make)


@primitive
def Im2Col(x, /, ksizes, strides=1, dilations=1, pads=0):
    """[N, C, H, W] as [N, C, kh kw, places]."""
    return _patches.im2col(x, _plane(ksizes), _plane(strides), _plane(dilations), _plane(pads))


@primitive
def SampleDistortedBoundingBoxV2(image_size, bounding_boxes, min_object_covered, /, seed=0, seed2=0,
                                 aspect_ratio_range=(0.75, 1.33),
                                 area_range=(0.05, 1.0), max_attempts=100, use_image_if_no_bounding_boxes=False):
    """(begin [3], size [3], box [1, 1, 4]) of a random part of an image.

    The part shows enough of one of the boxes (y1, x1, y2, x2)."""
    height, width = _ints(image_size)[:2]
    boxes = bounding_boxes.asnumpy().reshape(-1, 4)
    least = _number(min_object_covered)
    if not len(boxes):
        if not use_image_if_no_bounding_boxes:
            raise ValueError(
                "For 'SampleDistortedBoundingBoxV2', there are no bounding boxes, and "
                "'use_image_if_no_bounding_boxes' is False.")
        boxes = np.array([[0.0, 0.0, 1.0, 1.0]], np.float32)
    y, x, h, w = 0, 0, height, width
    for numbers in _random.uniform((max_attempts, 4)).asnumpy():
        ratio = aspect_ratio_range[0] + numbers[0] * (aspect_ratio_range[1] - aspect_ratio_range[0])
        area = (area_range[0] + numbers[1] * (area_range[1] - area_range[0])) * height * width
        rows, columns = round(float(np.sqrt(area / ratio))), round(float(np.sqrt(area * ratio)))
        if not (0 < rows <= height and 0 < columns <= width):
            continue
        top, left = int(numbers[2] * (height - rows + 1)), int(numbers[3] * (width - columns + 1))
        scaled = boxes * [height, width, height, width]
        side = np.minimum(scaled[:, 2:], [top + rows, left + columns]) - np.maximum(scaled[:, :2], [top, left])
        shown = np.maximum(side, 0).prod(1) / np.maximum((scaled[:, 2:] - scaled[:, :2]).prod(1), 1e-12)
        if (shown >= least).any():
            y, x, h, w = top, left, rows, columns
            break
    box = [[[y / height, x / width, (y + h) / height, (x + w) / width]]]
    return Tensor([y, x, 0], image_size.dtype), Tensor([h, w, -1], image_size.dtype), Tensor(box, mstype.float32)


@primitive
def ResizeBicubic(images, size, /, align_corners=False, half_pixel_centers=False):
    """Images resized by cubic convolution."""
    return resize_bicubic(images, size, align_corners, half_pixel_centers)


__all__ = [n for n, v in globals().items() if isinstance(v, type) and v.__module__ == __name__]
