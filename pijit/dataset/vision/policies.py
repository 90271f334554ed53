"""Images mixed with each other, and policies that choose operations at random."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
import numpy as np

from pijit.dataset import check, seeds
from pijit.dataset.transforms.transforms import TensorOperation, _check_list, array, cast
from pijit.dataset.vision import image as im
from pijit.dataset.vision.utils import AutoAugmentPolicy, ImageBatchFormat, Inter
from pijit.dataset.vision.images import ImageOperation, _LARGE, _fill, _inter, _prob
from pijit.dataset.vision.geometry import _WARPS, _warp_inter
from pijit.dataset.vision.colors import (AdjustBrightness, AdjustContrast, AdjustSaturation, AutoContrast, Equalize,
                                         Invert, Posterize, Solarize, _sharpen)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._types import Size


class MixUpBatch(TensorOperation):
    """Blends each image of a batch with another one, and their one-hot labels. For after `batch`, on two columns.

    Args: alpha: of the beta distribution that the parts are drawn from, > 0."""

    _random, _arity = True, 2

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha: float = check.real("MixUpBatch", "alpha", alpha, 0, open_low=True)

    def _run(self, images, labels):
        images, labels = _image_batch("MixUpBatch", images, labels)
        r = seeds.rng()
        part = r.betavariate(self.alpha, self.alpha)
        order = r.sample(range(len(images)), len(images))
        mixed = images.astype(np.float32) * np.float32(part) + images[order].astype(np.float32) * np.float32(1 - part)
        labels = labels.astype(np.float32)
        return cast(mixed, images.dtype), labels * np.float32(part) + labels[order] * np.float32(1 - part)


def _image_batch(op, images, labels):
    images, labels = array(op, images), array(op, labels)
    if images.ndim != 4:
        raise RuntimeError(f"[{op}] images must be a batch with four axes, but have the shape {images.shape}. Use "
                           "batch first.")
    if labels.ndim not in (2, 3) or len(labels) != len(images):
        raise RuntimeError(f"[{op}] labels must be one-hot, [batch, classes] or [batch, n, classes], but have the "
                           f"shape {labels.shape} "
                           f"for images {images.shape}. Use OneHot first.")
    return images, labels


class CutMixBatch(TensorOperation):
    """Puts a part of another image into each image of a batch, and blends their one-hot labels.

    For after `batch`, on two columns.

    Args: image_batch_format: an ImageBatchFormat. alpha: of the beta distribution of the part's size, > 0. prob: in [0,
        1]."""

    _random, _arity = True, 2

    def __init__(self, image_batch_format: Any, alpha: float = 1.0, prob: float = 1.0) -> None:
        self.image_batch_format: Any = check.instance("CutMixBatch", "image_batch_format", image_batch_format,
                                                      ImageBatchFormat)
        self.alpha: float = check.real("CutMixBatch", "alpha", alpha, 0, open_low=True)
        self.prob: float = _prob("CutMixBatch", prob)

    def _run(self, images, labels):
        images, labels = _image_batch("CutMixBatch", images, labels)
        r = seeds.rng()
        out, mixed = images.copy(), labels.astype(np.float32)
        order = r.sample(range(len(images)), len(images))
        first = self.image_batch_format == ImageBatchFormat.NCHW
        h, w = images.shape[2:4] if first else images.shape[1:3]
        for i, other in enumerate(order):
            if r.random() >= self.prob:
                continue
            edge = math.sqrt(1 - r.betavariate(self.alpha, self.alpha))
            ch, cw, y, x = int(h * edge), int(w * edge), r.randrange(h), r.randrange(w)
            top, bottom = max(0, y - ch // 2), min(h, y + ch // 2)
            left, right = max(0, x - cw // 2), min(w, x + cw // 2)
            where = (slice(None), slice(top, bottom), slice(left, right)) if first else (slice(top, bottom),
                                                                                         slice(left, right))
            out[i][where] = images[other][where]
            kept = np.float32(1 - (bottom - top) * (right - left) / (h * w))
            mixed[i] = labels[i].astype(np.float32) * kept + labels[other].astype(np.float32) * (1 - kept)
        return out, mixed


class MixUp(TensorOperation):
    """Blends a batch of images with itself (is_single) or with the batch before, and their one-hot labels.

    Both as lists or arrays. Each image has a share of its own; batch_size=1 takes one share for all.

    Args: batch_size: the number of images. alpha: of the beta distribution, > 0. is_single: bool."""

    _random, _arity = True, 2

    def __init__(self, batch_size: int, alpha: Any, is_single: bool = True) -> None:
        self.batch_size: int = check.integer("MixUp", "batch_size", batch_size, 1, check.INT32_MAX)
        self.alpha: float = check.real("MixUp", "alpha", alpha, 0, open_low=True)
        self.is_single: bool = check.boolean("MixUp", "is_single", is_single)
        self._before = None
        self._builtin = is_single  # with another batch the order of calls matters

    def _run(self, images, labels):
        images, labels = array("MixUp", images), array("MixUp", labels)
        n = self.batch_size
        if images.ndim > 3 and n not in (1, len(images)) or self.is_single and len(images) < n:
            raise ValueError(f"[MixUp] there must be {n} images, but are {len(images)}.")
        if labels.ndim > 0 and len(labels) not in (1, len(images)) and n != 1:
            raise ValueError(f"[MixUp] there must be {n} labels, but are {len(labels)}.")
        r = seeds.rng()
        parts = np.array([r.betavariate(self.alpha, self.alpha) for _ in range(n)])
        part = parts.reshape((n, 1, 1, 1))
        if self.is_single:
            order = r.sample(range(n), n)
            other = images[order], labels[order]
        else:
            other = self._before or (images, labels)
            self._before = images, labels
        mixed = images * part + other[0] * (1 - part)
        part = parts.reshape((n,) + (1,) * (max(labels.ndim, 2) - 1))
        return mixed, labels * part + other[1] * (1 - part)


# --- random choices of operations -------------------------------------------------------------------------------------


class UniformAugment(ImageOperation):
    """Applies `num_ops` of the operations, chosen at random, each with probability 1/2.

    Args: transforms: a list of operations. num_ops: int ≥ 1."""

    _random = True

    def __init__(self, transforms: Sequence[Any], num_ops: int = 2) -> None:
        self.transforms: Any = _check_list("UniformAugment", "transforms", transforms)
        self.num_ops: int = check.integer("UniformAugment", "num_ops", num_ops, 1, _LARGE)
        if num_ops > len(transforms):
            raise ValueError(f"[UniformAugment] num_ops must not be more than there are transforms, but got {num_ops} "
                             f"for {len(transforms)}.")

    def _calls_user(self):
        return any(not getattr(t, "_builtin", False) for t in self.transforms)

    def _run(self, v):
        r = seeds.rng()
        chosen = [t for t in r.sample(self.transforms, self.num_ops) if r.random() < 0.5]
        for t in chosen:
            v = t(v)
        return v


class RandomSelectSubpolicy(ImageOperation):
    """Applies one of several lists of (operation, probability).

    Args: policy: a list of lists of tuples (operation, probability)."""

    _random = True

    def __init__(self, policy: Any) -> None:
        op = "RandomSelectSubpolicy"
        check.instance(op, "policy", policy, list)
        if not policy:
            raise ValueError(f"[{op}] policy can not be empty.")
        for i, sub in enumerate(policy):
            check.instance(op, f"policy[{i}]", sub, list)
            if not sub:
                raise ValueError(f"[{op}] policy[{i}] can not be empty.")
            for j, item in enumerate(sub):
                check.instance(op, f"policy[{i}][{j}]", item, tuple)
                if len(item) != 2 or not callable(item[0]):
                    raise TypeError(f"[{op}] policy[{i}][{j}] must be (operation, probability), but got "
                                    f"{check.shown(item)}.")
                check.real(op, f"the probability of policy[{i}][{j}]", item[1], 0, 1)
        self.policy = policy

    def _calls_user(self):
        return any(not getattr(t, "_builtin", False) for sub in self.policy for t, _ in sub)

    def _run(self, v):
        r = seeds.rng()
        for operation, prob in r.choice(self.policy):
            if r.random() < prob:
                v = operation(v)
        return v


def _augment(v, name, magnitude, inter, fill):
    """One of the operations of AutoAugment (Cubuk et al. 2019) with its magnitude."""
    if name == "Identity":
        return v
    h, w = v.shape[:2]
    if name in ("ShearX", "ShearY"):
        # by the corner and not the middle, as in the paper's code
        t = magnitude
        m = np.array([[1, -t, 0], [0, 1, 0]] if name == "ShearX" else [[1, 0, 0], [-t, 1, 0]], np.float64)
        return im.warp_affine(v, m, h, w, inter, fill)
    if name in ("TranslateX", "TranslateY"):
        shift = (int(magnitude), 0) if name == "TranslateX" else (0, int(magnitude))
        return im.warp_affine(v, np.array([[1, 0, shift[0]], [0, 1, shift[1]]], np.float64), h, w, inter, fill)
    if name == "Rotate":
        return im.rotate(v, magnitude, inter, False, None, fill)
    if name == "Brightness":
        return AdjustBrightness._by(v, 1 + magnitude)
    if name == "Color":
        return AdjustSaturation._by(v, 1 + magnitude)
    if name == "Contrast":
        return AdjustContrast._by(v, 1 + magnitude)
    if name == "Sharpness":
        return _sharpen(v, 1 + magnitude)
    if name == "Posterize":
        return Posterize(int(magnitude))._array(v)
    if name == "Solarize":
        return Solarize((magnitude, 255))._array(v)
    if name == "AutoContrast":
        return AutoContrast()._array(v)
    if name == "Equalize":
        return Equalize()._array(v)
    return Invert()._array(v)


_WITHOUT_MAGNITUDE = ("Identity", "AutoContrast", "Equalize", "Invert")
_SIGNED = ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness")


def _magnitudes(bins, h, w, wide=False):
    """Operations and the magnitudes of their bins; `wide` is the space of TrivialAugment Wide."""
    part = np.arange(bins) / max(1, bins - 1)
    shear, color, degrees = (0.99, 0.99, 135.0) if wide else (0.3, 0.9, 30.0)
    tx, ty = (32.0, 32.0) if wide else (150.0 / 331.0 * w, 150.0 / 331.0 * h)
    return {"ShearX": part * shear, "ShearY": part * shear, "TranslateX": part * tx, "TranslateY": part * ty,
            "Rotate": part * degrees, "Brightness": part * color, "Color": part * color, "Contrast": part * color,
            "Sharpness": part * color,
            "Posterize": 8 - np.rint(np.arange(bins) / max(1e-9, (bins - 1) / (6.0 if wide else 4.0))),
            "Solarize": 255.0 * (1 - part)}


class _Augment(ImageOperation):
    _random, _colour = True, True

    def __init__(self, interpolation: Any, fill_value: Any) -> None:
        op = type(self).__name__
        self.interpolation: Any = _inter(op, interpolation, allowed=_WARPS)
        self.fill_value: tuple[int, ...] | int = _fill(op, fill_value)

    def _apply(self, v, name, table, place, sign):
        if v.dtype != np.uint8:
            raise RuntimeError(f"[{type(self).__name__}] the input must be uint8, but is {v.dtype}.")
        magnitude = 0.0 if name in _WITHOUT_MAGNITUDE else float(table[name][place])
        if sign and name in _SIGNED:
            magnitude = -magnitude
        return _augment(v, name, magnitude, _warp_inter(self.interpolation), self.fill_value)


class RandAugment(_Augment):
    """Applies `num_ops` random operations of one strength (Cubuk et al. 2020).

    Args: num_ops: int ≥ 0. magnitude: int below num_magnitude_bins. num_magnitude_bins: int ≥ 2. interpolation,
        fill_value: as in
    Rotate."""

    def __init__(self, num_ops: int = 2, magnitude: int = 9, num_magnitude_bins: int = 31,
                 interpolation: Inter = Inter.NEAREST, fill_value: Size = 0) -> None:
        super().__init__(interpolation, fill_value)
        op = "RandAugment"
        self.num_ops: int = check.integer(op, "num_ops", num_ops, 0, _LARGE)
        self.num_magnitude_bins: int = check.integer(op, "num_magnitude_bins", num_magnitude_bins, 2, _LARGE)
        self.magnitude: int = check.integer(op, "magnitude", magnitude, 0, num_magnitude_bins - 1)

    def _array(self, v):
        table = _magnitudes(self.num_magnitude_bins, *v.shape[:2])
        names = ["Identity", *table, "AutoContrast", "Equalize"]
        r = seeds.rng()
        for _ in range(self.num_ops):
            v = self._apply(v, r.choice(names), table, self.magnitude, r.random() < 0.5)
        return v


class TrivialAugmentWide(_Augment):
    """Applies one random operation of random strength (Müller and Hutter 2021).

    Args: num_magnitude_bins: int ≥ 2. interpolation, fill_value: as in Rotate."""

    def __init__(self, num_magnitude_bins: int = 31, interpolation: Inter = Inter.NEAREST,
                 fill_value: Size = 0) -> None:
        super().__init__(interpolation, fill_value)
        self.num_magnitude_bins: int = check.integer("TrivialAugmentWide", "num_magnitude_bins", num_magnitude_bins, 2,
                                                     _LARGE)

    def _array(self, v):
        table = _magnitudes(self.num_magnitude_bins, *v.shape[:2], wide=True)
        names = ["Identity", *table, "AutoContrast", "Equalize"]
        r = seeds.rng()
        return self._apply(v, r.choice(names), table, r.randrange(self.num_magnitude_bins), r.random() < 0.5)


# the policies of AutoAugment (Cubuk et al. 2019): two (operation, probability, magnitude of ten bins) each
_POLICIES = {
    AutoAugmentPolicy.IMAGENET: """
        Posterize .4 8 Rotate .6 9|Solarize .6 5 AutoContrast .6 0|Equalize .8 0 Equalize .6 0|Posterize .6 7
        Posterize .6 6|Equalize .4 0 Solarize .2 4|Equalize .4 0 Rotate .8 8|Solarize .6 3 Equalize .6 0|Posterize .8
        5 Equalize 1 0|Rotate .2 3 Solarize .6 8|Equalize .6 0 Posterize .4 6|Rotate .8 8 Color .4 0|Rotate .4 9
        Equalize .6 0|Equalize 0 0 Equalize .8 0|Invert .6 0 Equalize 1 0|Color .6 4 Contrast 1 8|Rotate .8 8 Color 1
        2|Color .8 8 Solarize .8 7|Sharpness .4 7 Invert .6 0|ShearX .6 5 Equalize 1 0|Color .4 0 Equalize .6
        0|Equalize .4 0 Solarize .2 4|Solarize .6 5 AutoContrast .6 0|Invert .6 0 Equalize 1 0|Color .6 4 Contrast 1
        8|Equalize .8 0 Equalize .6 0""",
    AutoAugmentPolicy.CIFAR10: """
        Invert .1 0 Contrast .2 6|Rotate .7 2 TranslateX .3 9|Sharpness .8 1 Sharpness .9 3|ShearY .5 8 TranslateY .7
        9|AutoContrast .5 0 Equalize .9 0|ShearY .2 7 Posterize .3 7|Color .4 3 Brightness .6 7|Sharpness .3 9
        Brightness .7 9|Equalize .6 0 Equalize .5 0|Contrast .6 7 Sharpness .6 5|Color .7 7 TranslateX .5 8|Equalize
        .3 0 AutoContrast .4 0|TranslateY .4 3 Sharpness .2 6|Brightness .9 6 Color .2 8|Solarize .5 2 Invert 0
        0|Equalize .2 0 AutoContrast .6 0|Equalize .2 0 Equalize .6 0|Color .9 9 Equalize .6 0|AutoContrast .8 0
        Solarize .2 8|Brightness .1 3 Color .7 0|Solarize .4 5 AutoContrast .9 0|TranslateY .9 9 TranslateY .7
        9|AutoContrast .9 0 Solarize .8 3|Equalize .8 0 Invert .1 0|TranslateY .7 9 AutoContrast .9 0""",
    AutoAugmentPolicy.SVHN: """
        ShearX .9 4 Invert .2 0|ShearY .9 8 Invert .7 0|Equalize .6 0 Solarize .6 6|Invert .9 0 Equalize .6 0|Equalize
        .6 0 Rotate .9 3|ShearX .9 4 AutoContrast .8 0|ShearY .9 8 Invert .4 0|ShearY .9 5 Solarize .2 6|Invert .9 0
        AutoContrast .8 0|Equalize .6 0 Rotate .9 3|ShearX .9 4 Solarize .3 3|ShearY .8 8 Invert .7 0|Equalize .9 0
        TranslateY .6 6|Invert .9 0 Equalize .6 0|Contrast .3 3 Rotate .8 4|Invert .8 0 TranslateY 0 2|ShearY .7 6
        Solarize .4 8|Invert .6 0 Rotate .8 4|ShearY .3 7 TranslateX .9 3|ShearX .1 6 Invert .6 0|Solarize .7 2
        TranslateY .6 7|ShearY .8 4 Invert .8 0|ShearX .7 9 TranslateY .8 3|ShearY .8 5 AutoContrast .7 0|ShearX .7 2
        Invert .1 0""",
}


class AutoAugment(_Augment):
    """Applies one of the pairs of operations that were found to train well on some data (Cubuk et al. 2019).

    Args: policy: an AutoAugmentPolicy. interpolation, fill_value: as in Rotate."""

    def __init__(self, policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET, interpolation: Inter = Inter.NEAREST,
                 fill_value: Size = 0) -> None:
        super().__init__(interpolation, fill_value)
        self.policy: Any = check.instance("AutoAugment", "policy", policy, AutoAugmentPolicy)
        self._pairs = []
        for pair in _POLICIES[policy].split("|"):
            words = pair.split()
            self._pairs.append([(words[i], float(words[i + 1]), int(words[i + 2])) for i in (0, 3)])

    def _array(self, v):
        table = _magnitudes(10, *v.shape[:2])
        r = seeds.rng()
        for name, prob, place in r.choice(self._pairs):
            if r.random() < prob:
                v = self._apply(v, name, table, place, r.random() < 0.5)
        return v


# --- images with boxes ------------------------------------------------------------------------------------------------
