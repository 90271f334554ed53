"""Operations on images that come with boxes around their objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check, seeds
from pijit.dataset.transforms.transforms import TensorOperation, array
from pijit.dataset.vision import image as im
from pijit.dataset.vision.utils import Border, Inter
from pijit.dataset.vision.images import Resize, _prob
from pijit.dataset.vision.geometry import RandomCrop, RandomResize, RandomResizedCrop

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any
    from pijit._types import Size


class _WithBoxes(TensorOperation):
    """An operation on an image and its boxes: rows (x, y, width, height, …) of numbers."""

    _random, _arity = True, 2

    def _run(self, image, boxes):
        op = type(self).__name__
        image, boxes = array(op, image), array(op, boxes)
        if image.ndim not in (2, 3):
            raise RuntimeError(f"[{op}] the image must have two or three axes, but has the shape {image.shape}.")
        if boxes.ndim != 2 or boxes.shape[1] < 4:
            raise RuntimeError(f"[{op}] boxes must be [n, 4 or more], but have the shape {boxes.shape}.")
        h, w = image.shape[:2]
        if len(boxes) and ((boxes[:, :4] < 0).any() or (boxes[:, 0] + boxes[:, 2] > w).any()
                           or (boxes[:, 1] + boxes[:, 3] > h).any()):
            raise RuntimeError(f"[{op}] a box is not within the image, which is {h} x {w}.")
        return self._both(image, boxes.copy())


def _cut_boxes(boxes, top, left, h, w):
    """Boxes within a part of the image; one without any box when there is none."""
    x0, y0 = np.maximum(boxes[:, 0], left), np.maximum(boxes[:, 1], top)
    x1, y1 = np.minimum(boxes[:, 0] + boxes[:, 2], left + w), np.minimum(boxes[:, 1] + boxes[:, 3], top + h)
    keep = (x1 > x0) & (y1 > y0)
    if not keep.any():
        return np.zeros((1, boxes.shape[1]), boxes.dtype)
    out = boxes[keep].copy()
    out[:, 0], out[:, 1] = (x0 - left)[keep], (y0 - top)[keep]
    out[:, 2], out[:, 3] = (x1 - x0)[keep], (y1 - y0)[keep]
    return out


def _scale_boxes(boxes, h, w, new_h, new_w):
    boxes = boxes.copy()
    for i, f in enumerate((new_w / w, new_h / h, new_w / w, new_h / h)):
        boxes[:, i] = (boxes[:, i] * f).astype(boxes.dtype)
    return boxes


class RandomHorizontalFlipWithBBox(_WithBoxes):
    """RandomHorizontalFlip of an image and its boxes."""

    def __init__(self, prob: float = 0.5) -> None:
        self.prob: float = _prob("RandomHorizontalFlipWithBBox", prob)

    def _both(self, image, boxes):
        if seeds.rng().random() >= self.prob:
            return image, boxes
        boxes[:, 0] = image.shape[1] - boxes[:, 0] - boxes[:, 2]
        return np.ascontiguousarray(image[:, ::-1]), boxes


class RandomVerticalFlipWithBBox(_WithBoxes):
    """RandomVerticalFlip of an image and its boxes."""

    def __init__(self, prob: float = 0.5) -> None:
        self.prob: float = _prob("RandomVerticalFlipWithBBox", prob)

    def _both(self, image, boxes):
        if seeds.rng().random() >= self.prob:
            return image, boxes
        boxes[:, 1] = image.shape[0] - boxes[:, 1] - boxes[:, 3]
        return np.ascontiguousarray(image[::-1]), boxes


class ResizeWithBBox(_WithBoxes):
    """Resize of an image and its boxes."""

    def __init__(self, size: Size, interpolation: Inter = Inter.BILINEAR) -> None:
        self._resize = Resize(size, interpolation)

    def _both(self, image, boxes):
        out = self._resize._array(image)
        return out, _scale_boxes(boxes, *image.shape[:2], *out.shape[:2])


class RandomResizeWithBBox(_WithBoxes):
    """RandomResize of an image and its boxes."""

    def __init__(self, size: Size) -> None:
        self._resize = RandomResize(size)

    def _both(self, image, boxes):
        out = self._resize._array(image)
        return out, _scale_boxes(boxes, *image.shape[:2], *out.shape[:2])


class RandomCropWithBBox(_WithBoxes):
    """RandomCrop of an image and its boxes."""

    def __init__(self, size: Size, padding: Size | None = None, pad_if_needed: bool = False, fill_value: Size = 0,
                 padding_mode: Border = Border.CONSTANT) -> None:
        self._crop = RandomCrop(size, padding, pad_if_needed, fill_value, padding_mode)

    def _both(self, image, boxes):
        c = self._crop
        h, w = c.size
        left, top, right, bottom = c.padding or (0, 0, 0, 0)
        if c.pad_if_needed:
            dy, dx = max(0, h - image.shape[0] - top - bottom), max(0, w - image.shape[1] - left - right)
            left, top, right, bottom = left + dx, top + dy, right + dx, bottom + dy
        image = im.pad(image, left, top, right, bottom, c.fill_value, c.padding_mode)
        boxes[:, 0] += boxes.dtype.type(left)
        boxes[:, 1] += boxes.dtype.type(top)
        if h > image.shape[0] or w > image.shape[1]:
            raise RuntimeError(f"[RandomCropWithBBox] crop size {c.size} is bigger than the image dimensions "
                               f"{image.shape[:2]}.")
        r = seeds.rng()
        y, x = r.randint(0, image.shape[0] - h), r.randint(0, image.shape[1] - w)
        return image[y:y + h, x:x + w].copy(), _cut_boxes(boxes, y, x, h, w)


class RandomResizedCropWithBBox(_WithBoxes):
    """RandomResizedCrop of an image and its boxes."""

    def __init__(self, size: Size, scale: Sequence[float] = (0.08, 1.0), ratio: Sequence[float] = (3.0 / 4, 4.0 / 3),
                 interpolation: Inter = Inter.BILINEAR, max_attempts: int = 10) -> None:
        self._crop = RandomResizedCrop(size, scale, ratio, interpolation, max_attempts)

    def _both(self, image, boxes):
        top, left, h, w = self._crop._box(*image.shape[:2])
        out = im.resize(image[top:top + h, left:left + w], *self._crop.size, self._crop.interpolation)
        return out, _scale_boxes(_cut_boxes(boxes, top, left, h, w), h, w, *self._crop.size)


class BoundingBoxAugment(_WithBoxes):
    """Applies an operation to the parts of an image within some of its boxes.

    Args: transform: an operation. ratio: how many of the boxes, in [0, 1]."""

    transform: Callable[..., Any]
    ratio: float

    def __init__(self, transform: Any, ratio: float = 0.3) -> None:
        if not callable(transform):
            raise TypeError(f"[BoundingBoxAugment] transform must be an operation, but got {check.shown(transform)}.")
        self.transform, self.ratio = transform, check.real("BoundingBoxAugment", "ratio", ratio, 0, 1)

    def _calls_user(self):
        return not getattr(self.transform, "_builtin", False)

    def _both(self, image, boxes):
        image = image.copy()
        for i in seeds.rng().sample(range(len(boxes)), int(len(boxes) * self.ratio)):
            x, y, w, h = (int(b) for b in boxes[i, :4])
            if w < 1 or h < 1:
                continue
            out = self.transform(image[y:y + h, x:x + w].copy())
            image[y:y + h, x:x + w] = im.resize(out, h, w, Inter.BILINEAR) if out.shape[:2] != (h, w) else out
        return image, boxes
