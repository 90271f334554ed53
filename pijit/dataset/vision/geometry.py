"""Images turned, sheared, seen in perspective, cropped at random, with parts erased."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING
import numpy as np

from pijit.dataset import check, seeds
from pijit.dataset.transforms.transforms import TensorOperation, array, cast
from pijit.dataset.vision import image as im
from pijit.dataset.vision.utils import Border, Inter
from pijit.dataset.vision.images import (Decode, ImageOperation, Resize, _LARGE, _Maybe, _degrees, _fill, _inter,
                                         _padding,
                                         _pil_inter, _prob, _size, is_pil)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._types import Size


def _center(op, center):
    if center is None:
        return None
    check.instance(op, "center", center, (tuple, list))
    if len(center) != 2:
        raise ValueError(f"[{op}] center must be (x, y), but got {check.shown(center)}.")
    return tuple(check.real(op, f"center[{i}]", c) for i, c in enumerate(center))


_WARPS = (Inter.NEAREST, Inter.BILINEAR, Inter.BICUBIC, Inter.AREA)


def _warp_inter(inter):
    return Inter.BILINEAR if inter == Inter.AREA else inter


class Rotate(ImageOperation):
    """Turns the image counter-clockwise.

    Args:
        degrees: a number. resample: an Inter: NEAREST, BILINEAR, BICUBIC or AREA.
        expand: makes the image large enough for all of it. center: (x, y), None for the middle.
        fill_value: an int in [0, 255] or three, for what is outside."""

    expand: bool
    center: tuple[float, ...] | None
    fill_value: tuple[int, ...] | int
    resample: Any

    def __init__(self, degrees: float | Sequence[float], resample: Inter = Inter.NEAREST, expand: bool = False,
                 center: Any = None, fill_value: Size = 0) -> None:
        op = "Rotate"
        self.degrees: float = check.real(op, "degrees", degrees)
        self.resample, self.expand = _inter(op, resample, "resample", _WARPS), check.boolean(op, "expand", expand)
        self.center, self.fill_value = _center(op, center), _fill(op, fill_value)

    def _array(self, v):
        return im.rotate(v, self.degrees, _warp_inter(self.resample), self.expand, self.center, self.fill_value)


class RandomRotation(ImageOperation):
    """Rotate by a random angle.

    Args: degrees: (minimum, maximum), or a number d for (−d, d). resample, expand, center, fill_value: as in Rotate."""

    expand: bool
    center: tuple[float, ...] | None
    fill_value: tuple[int, ...] | int
    resample: Any
    _random = True

    def __init__(self, degrees: float | Sequence[float], resample: Inter = Inter.NEAREST, expand: bool = False,
                 center: Any = None, fill_value: Size = 0) -> None:
        op = "RandomRotation"
        self.degrees: tuple[float, float] = _degrees(op, degrees)
        self.resample, self.expand = _inter(op, resample, "resample", _WARPS), check.boolean(op, "expand", expand)
        self.center, self.fill_value = _center(op, center), _fill(op, fill_value)

    def _array(self, v):
        angle = seeds.rng().uniform(*self.degrees)
        return im.rotate(v, angle, _warp_inter(self.resample), self.expand, self.center, self.fill_value)

    def _pil(self, image):
        angle = seeds.rng().uniform(*self.degrees)
        fill = self.fill_value
        if len(image.getbands()) == 1 and not check.is_int(fill):
            fill = fill[0]
        fill = (fill,) * len(image.getbands()) if check.is_int(fill) and len(image.getbands()) > 1 else fill
        return image.rotate(angle, _pil_inter("RandomRotation", self.resample), self.expand, self.center,
                            fillcolor=fill)


def _translate(op, value):
    check.instance(op, "translate", value, (list, tuple))
    if len(value) != 2:
        raise TypeError(f"[{op}] translate must be two numbers, but got {check.shown(value)}.")
    return [check.real(op, f"translate[{i}]", t, -1, 1) for i, t in enumerate(value)]


class Affine(ImageOperation):
    """Turns (clockwise), shifts, scales and shears the image around its middle.

    Args:
        degrees: a number. translate: (x, y) as parts of width and height, in [−1, 1]. scale: a number > 0.
        shear: degrees in x, or (x, y). resample: an Inter. fill_value: as in Rotate."""

    degrees: float
    translate: list[float]
    shear: tuple[float, ...]
    fill_value: tuple[int, ...] | int
    resample: Any

    def __init__(self, degrees: float, translate: Any, scale: Sequence[float], shear: Any,
                 resample: Inter = Inter.NEAREST, fill_value: Size = 0) -> None:
        op = "Affine"
        self.degrees, self.translate = check.real(op, "degrees", degrees), _translate(op, translate)
        self.scale: float = check.real(op, "scale", scale, 0, open_low=True)
        check.instance(op, "shear", shear, (int, float, list, tuple))
        self.shear = (float(shear), 0.0) if check.is_real(shear) else tuple(check.real(op, "shear", s) for s in shear)
        if len(self.shear) != 2:
            raise TypeError(f"[{op}] shear must be a number or two, but got {check.shown(shear)}.")
        self.resample, self.fill_value = _inter(op, resample, "resample", _WARPS), _fill(op, fill_value)

    def _array(self, v):
        h, w = v.shape[:2]
        shift = (self.translate[0] * w, self.translate[1] * h)
        return _affine(v, self.degrees, shift, self.scale, self.shear, self.resample, self.fill_value)


def _affine(v, degrees, shift, scale, shear, inter, fill):
    h, w = v.shape[:2]
    m = im.affine_matrix(((w - 1) / 2.0, (h - 1) / 2.0), degrees, shift, scale, shear)
    return im.warp_affine(v, m, h, w, _warp_inter(inter), fill)


class RandomAffine(ImageOperation):
    """Affine with random numbers.

    Args:
        degrees: (minimum, maximum), or a number d for (−d, d).
        translate: None, (x, y): largest shifts as parts of width and height, or (x minimum, x maximum, y minimum, y
            maximum).
        scale: None or (minimum, maximum). shear: None, a number s for (−s, s) in x, (minimum, maximum) in x, or four
            for x and y.
        resample, fill_value: as in Affine."""

    scale: tuple[float, float]
    fill_value: tuple[int, ...] | int
    resample: Any
    _random = True

    def __init__(self, degrees: float | Sequence[float], translate: Any = None, scale: Sequence[float] | None = None,
                 shear: Any = None, resample: Inter = Inter.NEAREST, fill_value: Size = 0) -> None:
        op = "RandomAffine"
        self.degrees: tuple[float, float] = _degrees(op, degrees)
        if translate is None:
            translate = (0.0, 0.0, 0.0, 0.0)
        else:
            check.instance(op, "translate", translate, (list, tuple))
            if len(translate) not in (2, 4):
                raise TypeError(f"[{op}] translate must have two or four numbers, but got {check.shown(translate)}.")
            translate = [check.real(op, f"translate[{i}]", t, -1, 1) for i, t in enumerate(translate)]
            if len(translate) == 2:
                translate = [-abs(translate[0]), abs(translate[0]), -abs(translate[1]), abs(translate[1])]
        self.translate = translate
        self.scale = (1.0, 1.0) if scale is None else check.pair(op, "scale", scale, 0, positive=True)
        if shear is None:
            shear = (0.0, 0.0, 0.0, 0.0)
        elif check.is_real(shear):
            if shear < 0:
                raise ValueError(f"[{op}] a single shear must not be negative, but got {shear}.")
            shear = (-shear, shear, 0.0, 0.0)
        else:
            check.instance(op, "shear", shear, (list, tuple))
            if len(shear) not in (2, 4):
                raise TypeError(f"[{op}] shear must be a number, two or four, but got {check.shown(shear)}.")
            shear = check.pair(op, "shear",
                               shear[:2]) + (check.pair(op, "shear", shear[2:]) if len(shear) == 4 else (0.0, 0.0))
        self.shear = shear
        self.resample, self.fill_value = _inter(op, resample, "resample", _WARPS), _fill(op, fill_value)

    def _array(self, v):
        r, (h, w) = seeds.rng(), v.shape[:2]
        t = self.translate
        shift = (round(r.uniform(t[0] * w, t[1] * w)), round(r.uniform(t[2] * h, t[3] * h)))
        shear = (r.uniform(*self.shear[:2]), r.uniform(*self.shear[2:]))
        return _affine(v, r.uniform(*self.degrees), shift, r.uniform(*self.scale), shear, self.resample,
                       self.fill_value)

    def _pil(self, image):
        return im.to_pil(self._array(np.asarray(image)))


def _points(op, name, points):
    check.instance(op, name, points, (list, tuple))
    if len(points) != 4:
        raise TypeError(f"[{op}] {name} must be four points, but got {check.shown(points)}.")
    for p in points:
        check.instance(op, f"{name}", p, (list, tuple))
        if len(p) != 2:
            raise TypeError(f"[{op}] {name} must be points (x, y), but got {check.shown(p)}.")
        for c in p:
            check.integer(op, name, c, -check.INT32_MAX, check.INT32_MAX)
    return [tuple(p) for p in points]


class Perspective(ImageOperation):
    """Takes four points of the image to four others.

    Args: start_points, end_points: lists of four [x, y] (ints). interpolation: an Inter. Raises RuntimeError for points
        on a line."""

    start_points: list[tuple[Any, ...]]
    end_points: list[tuple[Any, ...]]

    def __init__(self, start_points: Any, end_points: Any, interpolation: Inter = Inter.BILINEAR) -> None:
        op = "Perspective"
        self.start_points, self.end_points = _points(op, "start_points", start_points), _points(op, "end_points",
                                                                                                end_points)
        self.interpolation: Any = _inter(op, interpolation, allowed=_WARPS + (Inter.PILCUBIC,))

    def _matrix(self, start, end):
        try:
            return im.perspective_matrix(start, end)
        except np.linalg.LinAlgError as e:
            raise RuntimeError("[Perspective] the points lie on a line, so that there is no such perspective.") from e

    def _array(self, v):
        inter = Inter.BICUBIC if self.interpolation == Inter.PILCUBIC else _warp_inter(self.interpolation)
        return im.warp_perspective(v, self._matrix(self.start_points, self.end_points), *v.shape[:2], inter, 0)

    def _pil(self, image):
        m = self._matrix(self.end_points, self.start_points)
        from PIL import Image
        return image.transform(image.size, Image.Transform.PERSPECTIVE, m.reshape(-1)[:8].tolist(),
                               _pil_inter("Perspective", self.interpolation))


class RandomPerspective(_Maybe):
    """A random perspective with probability `prob`.

    Args: distortion_scale: in [0, 1]. prob. interpolation: an Inter."""

    prob: float
    interpolation: Any

    def __init__(self, distortion_scale: float = 0.5, prob: float = 0.5, interpolation: Inter = Inter.BICUBIC) -> None:
        op = "RandomPerspective"
        self.distortion_scale: float = check.real(op, "distortion_scale", distortion_scale, 0, 1)
        self.prob, self.interpolation = _prob(op, prob), _inter(op, interpolation)

    def _some(self, v):
        w, h = v.size if is_pil(v) else (v.shape[1], v.shape[0])
        r = seeds.rng()
        dx, dy = int(self.distortion_scale * (w // 2)), int(self.distortion_scale * (h // 2))
        end = [(r.randint(0, dx), r.randint(0, dy)), (r.randint(w - dx - 1, w - 1), r.randint(0, dy)),
               (r.randint(w - dx - 1, w - 1), r.randint(h - dy - 1, h - 1)),
               (r.randint(0, dx), r.randint(h - dy - 1, h - 1))]
        return Perspective([(0, 0), (w - 1, 0), (w - 1, h - 1), (0, h - 1)], end, self.interpolation)._run(v)


# --- random parts and sizes -------------------------------------------------------------------------------------------


class RandomCrop(ImageOperation):
    """A random part of the image.

    Args:
        size: (height, width) or an int for a square.
        padding, fill_value, padding_mode: a border put around the image first, as in Pad; None for none.
        pad_if_needed: puts a border around images that are too small.
    Raises RuntimeError for images that are too small."""

    _random = True

    def __init__(self, size: Size, padding: Size | None = None, pad_if_needed: bool = False, fill_value: Size = 0,
                 padding_mode: Border = Border.CONSTANT) -> None:
        op = "RandomCrop"
        self.size: tuple[int, ...] = _size(op, size)
        self.padding: list[int] | None = None if padding is None else _padding(op, padding)
        self.pad_if_needed: bool = check.boolean(op, "pad_if_needed", pad_if_needed)
        self.fill_value: tuple[int, ...] | int = _fill(op, fill_value)
        self.padding_mode: Any = check.instance(op, "padding_mode", padding_mode, Border)

    def _array(self, v):
        h, w = self.size
        if self.padding is not None:
            v = im.pad(v, *self.padding, self.fill_value, self.padding_mode)
        if self.pad_if_needed:
            dy, dx = max(0, h - v.shape[0]), max(0, w - v.shape[1])
            if dx or dy:
                v = im.pad(v, dx, dy, dx, dy, self.fill_value, self.padding_mode)
        if h > v.shape[0] or w > v.shape[1]:
            raise RuntimeError("[RandomCrop] invalid crop size, crop size is bigger than the image dimensions: "
                               f"{self.size} and "
                               f"{v.shape[:2]}. Use pad_if_needed=True.")
        r = seeds.rng()
        top, left = r.randint(0, v.shape[0] - h), r.randint(0, v.shape[1] - w)
        return v[top:top + h, left:left + w].copy()

    def _pil(self, image):
        if image.mode == "P":
            image = image.convert("RGB")
        return im.to_pil(self._array(np.asarray(image)))


class RandomResizedCrop(ImageOperation):
    """A random part of the image, of random size and proportions, resized.

    Args:
        size: (height, width) or an int for a square.
        scale: (minimum, maximum) of the part's area. ratio: (minimum, maximum) of width / height.
        interpolation: an Inter. max_attempts: how often a part is drawn before the middle is taken."""

    _random = True

    def __init__(self, size: Size, scale: Sequence[float] = (0.08, 1.0), ratio: Sequence[float] = (3.0 / 4, 4.0 / 3),
                 interpolation: Inter = Inter.BILINEAR, max_attempts: int = 10) -> None:
        op = type(self).__name__
        self.size: tuple[int, ...] = _size(op, size)
        self.scale: tuple[float, float] = check.pair(op, "scale", scale, 0)
        self.ratio: tuple[float, float] = check.pair(op, "ratio", ratio, 0, positive=True)
        if self.scale[1] <= 0:
            raise ValueError(f"[{op}] the maximum of scale must be above 0, but got {check.shown(scale)}.")
        self.interpolation: Any = _inter(op, interpolation)
        self.max_attempts: int = check.integer(op, "max_attempts", max_attempts, 1, _LARGE)

    def _box(self, h, w):
        """(top, left, height, width) of the part."""
        r = seeds.rng()
        low, high = math.log(self.ratio[0]), math.log(self.ratio[1])
        for _ in range(self.max_attempts):
            area = h * w * r.uniform(*self.scale)
            ratio = math.exp(r.uniform(low, high))
            pw, ph = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < pw <= w and 0 < ph <= h:
                return r.randint(0, h - ph), r.randint(0, w - pw), ph, pw
        have = w / h
        if have < self.ratio[0]:
            pw, ph = w, round(w / self.ratio[0])
        elif have > self.ratio[1]:
            pw, ph = round(h * self.ratio[1]), h
        else:
            pw, ph = w, h
        pw, ph = max(1, min(pw, w)), max(1, min(ph, h))
        return round((h - ph) / 2.0), round((w - pw) / 2.0), ph, pw

    def _array(self, v):
        top, left, h, w = self._box(*v.shape[:2])
        return im.resize(v[top:top + h, left:left + w], *self.size, self.interpolation)

    def _pil(self, image):
        top, left, h, w = self._box(image.size[1], image.size[0])
        return image.crop((left, top, left + w, top + h)).resize(self.size[::-1],
                                                                 _pil_inter("RandomResizedCrop", self.interpolation))


class RandomCropDecodeResize(RandomResizedCrop):
    """Decode and RandomResizedCrop in one."""

    def _run(self, v):
        return self._array(Decode()._run(v))


class RandomResize(ImageOperation):
    """Resize with a random interpolation. Args: size: as in Resize."""

    _random = True

    def __init__(self, size: Size) -> None:
        self._resizes = [Resize(size, i) for i in (Inter.NEAREST, Inter.BILINEAR, Inter.BICUBIC, Inter.AREA)]

    def _array(self, v):
        return seeds.rng().choice(self._resizes)._array(v)


class CutOut(ImageOperation):
    """Sets random squares of the image to 0.

    Args: length: their edge. num_patches: how many. is_hwc: channels are the last axis."""

    _random = True

    def __init__(self, length: Any, num_patches: int = 1, is_hwc: bool = True) -> None:
        self.length: int = check.integer("CutOut", "length", length, 1, _LARGE)
        self.num_patches: int = check.integer("CutOut", "num_patches", num_patches, 1, _LARGE)
        self.is_hwc: bool = check.boolean("CutOut", "is_hwc", is_hwc)

    def _array(self, v):
        v = v.copy()
        view = v if self.is_hwc or v.ndim == 2 else v.transpose(1, 2, 0)
        r = seeds.rng()
        for _ in range(self.num_patches):
            y = r.randint(0, view.shape[0] - 1) - self.length // 2
            x = r.randint(0, view.shape[1] - 1) - self.length // 2
            view[max(y, 0):max(y + self.length, 0), max(x, 0):max(x + self.length, 0)] = 0
        return v


class Erase(ImageOperation):
    """Sets a part of the image to a value.

    Args: top, left, height, width: the part. value: a number in [0, 255] or three. inplace: writes to the input."""

    top: int
    left: int
    height: int
    width: int
    value: Any
    inplace: bool

    def __init__(self, top: Any, left: Any, height: int, width: int, value: Any = 0.0, inplace: bool = False) -> None:
        op = "Erase"
        self.top, self.left = (check.integer(op, n, x, 0, check.INT32_MAX) for n, x in (("top", top), ("left", left)))
        self.height, self.width = (check.integer(op, n, x, 1, _LARGE)
                                   for n, x in (("height", height), ("width", width)))
        check.instance(op, "value", value, (int, float, tuple, list))
        if isinstance(value, (tuple, list)):
            if len(value) != 3:
                raise TypeError(f"[{op}] value must be a number or three, but got {check.shown(value)}.")
            value = tuple(check.real(op, "value", x, 0, 255) for x in value)
        else:
            value = check.real(op, "value", value, 0, 255)
        self.value, self.inplace = value, check.boolean(op, "inplace", inplace)

    def _array(self, v):
        if self.top + self.height > v.shape[0] or self.left + self.width > v.shape[1]:
            raise RuntimeError(f"[Erase] box size is too large for image erase: height {self.height} and width "
                               f"{self.width} at "
                               f"({self.top}, {self.left}) of an image of {v.shape[0]} x {v.shape[1]}.")
        out = v if self.inplace else v.copy()
        out[self.top:self.top + self.height, self.left:self.left + self.width] = \
            cast(np.asarray(im.fill_value(self.value, v.astype(np.float64))), v.dtype)
        return out


class RandomErasing(TensorOperation):
    """Sets a random part of an image [channels, height, width] to a value, with probability `prob`.

    Args:
        prob. scale: (minimum, maximum) of the part's area. ratio: (minimum, maximum) of its proportions.
        value: a number, three, or "random" for normal numbers. inplace: writes to the input. max_attempts: tries to
            draw a part."""

    scale: tuple[float, float]
    ratio: tuple[float, float]
    inplace: bool
    _random = True

    def __init__(self, prob: float = 0.5, scale: Sequence[float] = (0.02, 0.33), ratio: Sequence[float] = (0.3, 3.3),
                 value: Any = 0, inplace: bool = False, max_attempts: int = 10) -> None:
        op = "RandomErasing"
        self.prob: float = _prob(op, prob)
        self.scale, self.ratio = check.pair(op, "scale", scale, 0), check.pair(op, "ratio", ratio, 0, positive=True)
        check.instance(op, "value", value, (int, float, str, tuple, list))
        if isinstance(value, str) and value != "random":
            raise ValueError(f"[{op}] value must be a number, three, or 'random', but got {value!r}.")
        if isinstance(value, (tuple, list)):
            if len(value) != 3:
                raise ValueError(f"[{op}] value must be a number, three, or 'random', but got {check.shown(value)}.")
            value = tuple(check.real(op, "value", x, 0, 255) for x in value)
        self.value, self.inplace = value, check.boolean(op, "inplace", inplace)
        self.max_attempts: int = check.integer(op, "max_attempts", max_attempts, 1, _LARGE)

    def _run(self, v):
        v = array("RandomErasing", v)
        if v.ndim != 3:
            raise TypeError("[RandomErasing] the input must be an image [channels, height, width], but has the shape "
                            f"{v.shape}. Use "
                            "ToTensor first.")
        r = seeds.rng()
        if r.random() >= self.prob:
            return v
        c, h, w = v.shape
        for _ in range(self.max_attempts):
            area = h * w * r.uniform(*self.scale)
            ratio = math.exp(r.uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
            ph, pw = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
            if 0 < ph < h and 0 < pw < w:
                top, left = r.randint(0, h - ph), r.randint(0, w - pw)
                out = v if self.inplace else v.copy()
                if self.value == "random":
                    value = seeds.numpy_rng().standard_normal((c, ph, pw))
                else:
                    value = np.array(self.value)[:, None, None] if isinstance(self.value, tuple) else self.value
                out[:, top:top + ph, left:left + pw] = value
                return out
        return v


# --- colours ----------------------------------------------------------------------------------------------------------
