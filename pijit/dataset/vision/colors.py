"""Brightness, contrast, colours, sharpness, blur."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check, seeds
from pijit.dataset.transforms.transforms import TensorOperation
from pijit.dataset.vision import image as im
from pijit.dataset.vision.images import ImageOperation, _LARGE, _Maybe, _only_pil, _pillow, _prob

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._types import Size


class Invert(ImageOperation):
    """255 − image."""

    def _array(self, v):
        if v.ndim != 3:
            raise RuntimeError("[Invert] the input must be an image [height, width, channels], but has the shape "
                               f"{v.shape}.")
        return (255 - v).astype(v.dtype) if v.dtype.kind != "f" else (v.dtype.type(255) - v)

    def _pil(self, image):
        return _pillow("ImageOps").invert(image)


class Grayscale(TensorOperation):
    """A PIL image without colour. Args: num_output_channels: 1 or 3."""

    def __init__(self, num_output_channels: int = 1) -> None:
        check.integer("Grayscale", "num_output_channels", num_output_channels)
        if num_output_channels not in (1, 3):
            raise ValueError(f"[Grayscale] num_output_channels must be either 1 or 3, but got {num_output_channels}.")
        self.num_output_channels = num_output_channels

    def _run(self, v):
        v = _only_pil("Grayscale", v).convert("L")
        return v if self.num_output_channels == 1 else _pillow("Image").merge("RGB", [v] * 3)


class RandomGrayscale(TensorOperation):
    """Grayscale with as many channels as the PIL image has, with probability `prob`."""

    _random = True

    def __init__(self, prob: float = 0.1) -> None:
        self.prob: float = _prob("RandomGrayscale", prob)

    def _run(self, v):
        _only_pil("RandomGrayscale", v)
        if seeds.rng().random() >= self.prob:
            return v
        return Grayscale(1 if len(v.getbands()) == 1 else 3)._run(v)


def _blend(v, other, factor):
    """other + factor * (v − other), rounded and limited as Pillow's blend does it for uint8."""
    if v.dtype.kind == "f":
        return (other + (v - other) * v.dtype.type(factor)).astype(v.dtype)
    out = other * np.float32(1 - factor) + v.astype(np.float32) * np.float32(factor)
    return im.saturate(out, v.dtype)


class _Adjust(ImageOperation):
    """A factor on one property of an image."""

    _enhance = None

    def _pil(self, image):
        return getattr(_pillow("ImageEnhance"), self._enhance)(image).enhance(self.factor)

    def _array(self, v):
        return self._by(v, self.factor)


class AdjustBrightness(_Adjust):
    """Multiplies all pixels. Args: brightness_factor: a number ≥ 0; 1 changes nothing."""

    _enhance = "Brightness"

    def __init__(self, brightness_factor: Any) -> None:
        self.factor: float = check.real("AdjustBrightness", "brightness_factor", brightness_factor, 0, _LARGE)

    @staticmethod
    def _by(v, factor):
        return im.saturate(v.astype(np.float32) * np.float32(factor), v.dtype)


class AdjustContrast(_Adjust):
    """Moves pixels away from the mean of the image's luma. Args: contrast_factor: a number ≥ 0; 1 changes nothing."""

    _enhance, _colour = "Contrast", True

    def __init__(self, contrast_factor: Any) -> None:
        self.factor: float = check.real("AdjustContrast", "contrast_factor", contrast_factor, 0, _LARGE)

    @staticmethod
    def _by(v, factor):
        mean = im.gray(v).mean(dtype=np.float64)
        mean = np.float32(int(mean + 0.5)) if v.dtype.kind in "iu" else v.dtype.type(mean)
        return _blend(v, mean, factor)


class AdjustSaturation(_Adjust):
    """Moves pixels away from their luma.

    Args: saturation_factor: a number ≥ 0; 1 changes nothing, 0 leaves no colour."""

    _enhance, _colour = "Color", True

    def __init__(self, saturation_factor: Any) -> None:
        self.factor: float = check.real("AdjustSaturation", "saturation_factor", saturation_factor, 0, _LARGE)

    @staticmethod
    def _by(v, factor):
        g = im.gray(v)[..., None]
        return _blend(v, g if v.dtype.kind == "f" else g.astype(np.float32), factor)


class AdjustSharpness(ImageOperation):
    """Moves pixels away from their smoothed values. Args: sharpness_factor: a number ≥ 0; 1 changes nothing."""

    def __init__(self, sharpness_factor: Any) -> None:
        self.factor: float = check.real("AdjustSharpness", "sharpness_factor", sharpness_factor, 0, _LARGE)

    def _array(self, v):
        return _sharpen(v, self.factor)


def _sharpen(v, factor):
    """Blends with the mean of 3 x 3 pixels, of which the middle counts five times; edges stay."""
    if min(v.shape[:2]) < 3:
        return v.copy()
    wide = v.astype(np.float32)
    h, w = v.shape[:2]
    total = sum(wide[i:h - 2 + i, j:w - 2 + j] * (5 if i == j == 1 else 1) for i in range(3)
                for j in range(3)) / np.float32(13)
    smooth = v.copy()
    smooth[1:-1, 1:-1] = im.saturate(total, v.dtype)
    return _blend(v, smooth if v.dtype.kind == "f" else smooth.astype(np.float32), factor)


class AdjustHue(ImageOperation):
    """Turns the hue. Args: hue_factor: in [−0.5, 0.5], a part of the full circle."""

    _colour = True

    def __init__(self, hue_factor: Any) -> None:
        self.factor: float = check.real("AdjustHue", "hue_factor", hue_factor, -0.5, 0.5)

    def _array(self, v):
        return _turn_hue(v, self.factor)

    def _pil(self, image):
        if image.mode in ("L", "1", "I", "F"):
            return image
        h, s, value = image.convert("HSV").split()
        turned = (np.asarray(h).astype(np.int64) + int(self.factor * 255)) % 256
        h = im.to_pil(turned.astype(np.uint8))
        return _pillow("Image").merge("HSV", (h, s, value)).convert(image.mode)


def _turn_hue(v, factor):
    whole = v.dtype.kind in "iu"
    hsv = im.rgb_to_hsv(v.astype(np.float32) / (255 if whole else 1))
    hsv[..., 0] = (hsv[..., 0] + factor) % 1.0
    rgb = im.hsv_to_rgb(hsv)
    return im.saturate(rgb * 255, v.dtype) if whole else rgb.astype(v.dtype)


class AdjustGamma(ImageOperation):
    """255 · gain · (image / 255) ** gamma for uint8, gain · image ** gamma for floats.

    Args: gamma: ≥ 0. gain: a number."""

    def __init__(self, gamma: Any, gain: int = 1) -> None:
        self.gamma: float = check.real("AdjustGamma", "gamma", gamma, 0, _LARGE)
        self.gain: float = check.real("AdjustGamma", "gain", gain)

    def _array(self, v):
        if v.dtype == np.uint8:
            table = np.clip(np.floor((255 + 1 - 1e-3) * self.gain * (np.arange(256) / 255.0) ** self.gamma), 0,
                            255).astype(np.uint8)
            return table[v]
        if v.dtype.kind in "iu":
            return im.saturate(255 * self.gain * (v / 255.0) ** self.gamma, v.dtype)
        with np.errstate(invalid="ignore"):
            return np.clip(self.gain * v ** self.gamma, 0, 1).astype(v.dtype)

    def _pil(self, image):
        mode = image.mode
        table = [min(255, max(0, int((255 + 1 - 1e-3) * self.gain * (i / 255.0) ** self.gamma))) for i in range(256)]
        return image.convert("RGB").point(table * 3).convert(mode)


class AutoContrast(ImageOperation):
    """Spreads the values of each channel over all of [0, 255].

    Args: cutoff: the percentage of darkest and brightest pixels that is left out, in [0, 50). ignore: values that don't
        count."""

    def __init__(self, cutoff: float = 0.0, ignore: Any = None) -> None:
        self.cutoff: float = check.real(type(self).__name__, "cutoff", cutoff, 0, 50)
        if self.cutoff == 50:
            raise ValueError(f"[{type(self).__name__}] cutoff must be below 50.")
        if ignore is not None:
            check.instance(type(self).__name__, "ignore", ignore, (int, list, tuple))
            ignore = [ignore] if check.is_int(ignore) else list(ignore)
            for i in ignore:
                check.integer(type(self).__name__, "ignore", i, 0, 255)
        self.ignore = ignore

    def _array(self, v):
        if v.dtype != np.uint8:
            raise RuntimeError(f"[AutoContrast] the input must be uint8, but is {v.dtype}.")
        return _per_channel(v, self._channel)

    def _channel(self, c):
        hist = np.bincount(c.reshape(-1), minlength=256).astype(np.int64)
        if self.ignore:
            hist[self.ignore] = 0
        if self.cutoff:
            cut = int(hist.sum() * self.cutoff // 100)
            for order in (range(256), range(255, -1, -1)):
                left = cut
                for i in order:
                    if left > hist[i]:
                        left -= hist[i]
                        hist[i] = 0
                    else:
                        hist[i] -= left
                        break
        used = np.flatnonzero(hist)
        if not len(used) or used[0] >= used[-1]:
            return c
        low, high = int(used[0]), int(used[-1])
        scale = 255.0 / (high - low)
        table = np.clip((np.arange(256) * scale - low * scale).astype(np.int64), 0, 255).astype(np.uint8)
        return table[c]

    def _pil(self, image):
        return _pillow("ImageOps").autocontrast(image, self.cutoff, self.ignore)


def _per_channel(v, f):
    return f(v) if v.ndim == 2 else np.stack([f(v[:, :, i]) for i in range(v.shape[2])], -1)


class Equalize(ImageOperation):
    """Makes the histogram of each channel even."""

    def _array(self, v):
        if v.dtype != np.uint8:
            raise RuntimeError(f"[Equalize] the input must be uint8, but is {v.dtype}.")
        return _per_channel(v, self._channel)

    @staticmethod
    def _channel(c):
        hist = np.bincount(c.reshape(-1), minlength=256)
        first = int(np.argmax(hist > 0))
        if hist[first] == c.size:
            return c
        scale = np.float32(255.0) / np.float32(c.size - hist[first])
        hist[first] = 0
        return im.saturate(np.cumsum(hist).astype(np.float32) * scale, c.dtype)[c]

    def _pil(self, image):
        return _pillow("ImageOps").equalize(image)


class Posterize(ImageOperation):
    """Keeps the highest bits of each value. Args: bits: 0 to 8."""

    def __init__(self, bits: Any) -> None:
        self.bits: int = check.integer("Posterize", "bits", bits, 0, 8)

    def _array(self, v):
        if v.dtype != np.uint8:
            raise RuntimeError(f"[Posterize] the input must be uint8, but is {v.dtype}.")
        return v & np.uint8(256 - (1 << (8 - self.bits)) if self.bits else 0)


class Solarize(ImageOperation):
    """Inverts the values within a range. Args: threshold: (minimum, maximum), or a number for (number, 255)."""

    def __init__(self, threshold: Any) -> None:
        if check.is_real(threshold):
            threshold = (threshold, 255)
        check.instance("Solarize", "threshold", threshold, tuple)
        if len(threshold) != 2:
            raise ValueError("[Solarize] threshold must be a number or (minimum, maximum), but got "
                             f"{check.shown(threshold)}.")
        for t in threshold:
            check.real("Solarize", "threshold", t, 0, 255)
        if threshold[0] > threshold[1]:
            raise ValueError(f"[Solarize] threshold must be in order of (min, max), but got {check.shown(threshold)}.")
        self.threshold = threshold

    def _array(self, v):
        low, high = self.threshold
        return np.where((v >= low) & (v <= high), (255 - v).astype(v.dtype), v)


class GaussianBlur(ImageOperation):
    """Blurs with a bell curve.

    Args: kernel_size: an odd int, or (width, height). sigma: a number, or (x, y); None follows from the kernel's
        size."""

    def __init__(self, kernel_size: Size, sigma: float | Sequence[float] | None = None) -> None:
        op = "GaussianBlur"
        check.instance(op, "kernel_size", kernel_size, (int, list, tuple))
        kernel = [kernel_size] * 2 if check.is_int(kernel_size) else list(kernel_size)
        if len(kernel) != 2:
            raise TypeError(f"[{op}] kernel_size must be an int or two, but got {check.shown(kernel_size)}.")
        for k in kernel:
            check.integer(op, "kernel_size", k, 1, _LARGE)
            if k % 2 == 0:
                raise ValueError(f"[{op}] kernel_size must be odd, but got {k}.")
        self.kernel_size: list[Any] = kernel
        if sigma is None:
            sigma = (0.0, 0.0)
        elif check.is_real(sigma):
            sigma = (sigma, sigma)
        check.instance(op, "sigma", sigma, (list, tuple))
        if len(sigma) != 2:
            raise TypeError(f"[{op}] sigma must be a number or two, but got {check.shown(sigma)}.")
        self.sigma: list[float] = [check.real(op, "sigma", s, 0) for s in sigma]

    def _array(self, v):
        sigma = [s if s > 0 else 0.3 * ((k - 1) * 0.5 - 1) + 0.8 for s, k in zip(self.sigma, self.kernel_size)]
        return im.gaussian_blur(v, self.kernel_size, sigma)


class RandomColorAdjust(ImageOperation):
    """Brightness, contrast, saturation and hue by random factors, in random order.

    Args:
        brightness, contrast, saturation: (minimum, maximum), or a number x for (max(0, 1 − x), 1 + x).
        hue: (minimum, maximum) within [−0.5, 0.5], or a number x for (−x, x)."""

    brightness: tuple[float, ...]
    contrast: tuple[float, ...]
    saturation: tuple[float, ...]
    _random, _colour = True, True

    def __init__(self, brightness: float | Sequence[float] = (1, 1), contrast: float | Sequence[float] = (1, 1),
                 saturation: float | Sequence[float] = (1, 1), hue: float | Sequence[float] = (0, 0)) -> None:
        op = "RandomColorAdjust"

        def bounds(name, value):
            if check.is_real(value):
                if value < 0:
                    raise ValueError(f"[{op}] {name} must not be negative, but got {value}.")
                return max(0.0, 1.0 - value), 1.0 + value
            return check.pair(op, name, value, 0)
        self.brightness, self.contrast, self.saturation = (bounds(n, v) for n, v in (
            ("brightness", brightness), ("contrast", contrast), ("saturation", saturation)))
        if check.is_real(hue):
            check.real(op, "hue", hue, 0, 0.5)
            hue = (-hue, hue)
        self.hue: tuple[float, float] = check.pair(op, "hue", hue, -0.5, 0.5)

    def _steps(self):
        r = seeds.rng()
        steps = [(kind, r.uniform(*bounds)) for kind, bounds in (
            (AdjustBrightness, self.brightness), (AdjustContrast, self.contrast), (AdjustSaturation, self.saturation),
            (AdjustHue, self.hue))]
        r.shuffle(steps)
        return [kind(f) for kind, f in steps if f != (0 if kind is AdjustHue else 1)]

    def _array(self, v):
        for step in self._steps():
            v = step._array(v)
        return v

    def _pil(self, image):
        for step in self._steps():
            image = step._pil(image)
        return image


class RandomColor(ImageOperation):
    """AdjustSaturation by a random factor. Args: degrees: (minimum, maximum)."""

    _random = True
    _kind = AdjustSaturation

    def __init__(self, degrees: Sequence[float] = (0.1, 1.9)) -> None:
        self.degrees: tuple[float, float] = check.pair(type(self).__name__, "degrees", degrees, 0)

    def _array(self, v):
        if v.ndim != 3 or v.shape[2] != 3:
            raise RuntimeError(f"[{type(self).__name__}] the input must be an image [height, width, 3], but has the "
                               f"shape {v.shape}.")
        return AdjustSaturation._by(v, seeds.rng().uniform(*self.degrees))

    def _pil(self, image):
        return _pillow("ImageEnhance").Color(image).enhance(seeds.rng().uniform(*self.degrees))


class RandomSharpness(ImageOperation):
    """AdjustSharpness by a random factor. Args: degrees: (minimum, maximum)."""

    _random = True

    def __init__(self, degrees: Sequence[float] = (0.1, 1.9)) -> None:
        self.degrees: tuple[float, float] = check.pair("RandomSharpness", "degrees", degrees, 0)

    def _array(self, v):
        return _sharpen(v, seeds.rng().uniform(*self.degrees))

    def _pil(self, image):
        return _pillow("ImageEnhance").Sharpness(image).enhance(seeds.rng().uniform(*self.degrees))


class RandomAdjustSharpness(_Maybe):
    """AdjustSharpness with probability `prob`. Args: degree: the factor, ≥ 0. prob."""

    degree: float
    prob: float

    def __init__(self, degree: Any, prob: float = 0.5) -> None:
        self.degree, self.prob = check.real("RandomAdjustSharpness", "degree", degree,
                                            0), _prob("RandomAdjustSharpness", prob)

    def _some(self, v):
        return _sharpen(np.asarray(v), self.degree)


class RandomAutoContrast(_Maybe):
    """AutoContrast with probability `prob`. Args: cutoff, ignore: as in AutoContrast. prob."""

    prob: float

    def __init__(self, cutoff: float = 0.0, ignore: Any = None, prob: float = 0.5) -> None:
        self._operation, self.prob = AutoContrast(cutoff, ignore), _prob("RandomAutoContrast", prob)

    def _some(self, v):
        return self._operation._array(np.asarray(v))


class RandomEqualize(_Maybe):
    """Equalize with probability `prob`."""

    def __init__(self, prob: float = 0.5) -> None:
        self.prob: float = _prob("RandomEqualize", prob)

    def _some(self, v):
        return Equalize()._array(np.asarray(v))


class RandomInvert(_Maybe):
    """Invert with probability `prob`."""

    def __init__(self, prob: float = 0.5) -> None:
        self.prob: float = _prob("RandomInvert", prob)

    def _some(self, v):
        return Invert()._array(np.asarray(v))


class RandomPosterize(ImageOperation):
    """Posterize to a random number of bits. Args: bits: an int, or (minimum, maximum), 1 to 8."""

    _random = True

    def __init__(self, bits: Sequence[int] = (8, 8)) -> None:
        check.instance("RandomPosterize", "bits", bits, (int, list, tuple))
        bits = (bits, bits) if check.is_int(bits) else tuple(bits)
        if len(bits) != 2:
            raise TypeError(f"[RandomPosterize] bits must be an int or two, but got {check.shown(bits)}.")
        self.bits: list[int] = [check.integer("RandomPosterize", "bits", b, 1, 8) for b in bits]
        if bits[0] > bits[1]:
            raise ValueError(f"[RandomPosterize] bits must be (minimum, maximum), but got {check.shown(bits)}.")

    def _array(self, v):
        return Posterize(seeds.rng().randint(*self.bits))._array(v)


class RandomSolarize(ImageOperation):
    """Inverts the values within a random range. Args: threshold: (minimum, maximum) that the range is drawn from."""

    _random = True

    def __init__(self, threshold: Sequence[int] = (0, 255)) -> None:
        check.instance("RandomSolarize", "threshold", threshold, tuple)
        if len(threshold) != 2:
            raise ValueError("[RandomSolarize] threshold must be (minimum, maximum), but got "
                             f"{check.shown(threshold)}.")
        for t in threshold:
            check.integer("RandomSolarize", "threshold", t, 0, 255)
        if threshold[0] > threshold[1]:
            raise ValueError("[RandomSolarize] threshold must be in order of (min, max), but got "
                             f"{check.shown(threshold)}.")
        self.threshold = threshold

    def _array(self, v):
        r = seeds.rng()
        low, high = sorted((r.randint(*self.threshold), r.randint(*self.threshold)))
        if low == high:
            low, high = low, 255  # a single value stands for all above it
        return Solarize((low, high))._array(v)


class RandomLighting(ImageOperation):
    """Adds colour noise along the principal directions of ImageNet's colours. Args: alpha: its strength, ≥ 0."""

    _random, _colour = True, True

    def __init__(self, alpha: float = 0.05) -> None:
        self.alpha: float = check.real("RandomLighting", "alpha", alpha, 0)

    def _array(self, v):
        r = seeds.rng()
        values = np.array([55.46, 4.794, 1.148])
        vectors = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])
        shift = vectors @ (values * [r.gauss(0, self.alpha) if self.alpha else 0.0 for _ in range(3)])
        return im.saturate(v.astype(np.float32) + shift.astype(np.float32), v.dtype)

    def _pil(self, image):
        return im.to_pil(self._array(np.asarray(image)))


# --- batches of images and labels -------------------------------------------------------------------------------------
