"""Operations on images: ndarrays [height, width], [height, width, channels] (mostly uint8 or float32), and PIL images.

What is given as a PIL image is computed by Pillow, and most often stays one; ndarrays are computed by image.py. Sizes
are (height, width)."""

from __future__ import annotations

from typing import TYPE_CHECKING


import numpy as np

from pijit.dataset import check, seeds
from pijit.dataset.transforms.transforms import TensorOperation, array, cast, numpy_type
from pijit.dataset.vision import image as im
from pijit.dataset.vision.utils import (Border, ConvertMode, Inter, SliceMode, decode)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Self
    from pijit._types import DTypeLike, Size

_LARGE = 16777216


def is_pil(v: Any) -> bool:
    """Whether v is a PIL image."""
    return hasattr(v, "getbands")


def _pillow(*modules):
    import importlib
    return [importlib.import_module(f"PIL.{m}")
            for m in modules] if len(modules) > 1 else importlib.import_module(f"PIL.{modules[0]}")


class ImageOperation(TensorOperation):
    """Base of operations on one image. Kinds define `_array(v)` for ndarrays, and `_pil(image)` where Pillow does
    it."""

    _colour = None  # True: needs three channels

    def device(self, device_target: str = "CPU") -> Self:
        """Returns the operation itself: all run on the CPU. ValueError for a target that is neither "CPU" nor
        "Ascend"."""
        check.choice(type(self).__name__, "device_target", device_target, ("CPU", "Ascend"))
        return self

    def _run(self, v):
        if is_pil(v):
            return self._pil(v)
        name = type(self).__name__
        if v.dtype.kind not in "biuf":
            raise RuntimeError(f"[{name}] the input must be an image, but holds {v.dtype}. Use Decode first.")
        if v.ndim not in (2, 3):
            raise RuntimeError(f"[{name}] the input must be an image [height, width] or [height, width, channels], but "
                               "has the "
                               f"shape {v.shape}. You may need to perform Decode first.")
        if self._colour and (v.ndim != 3 or v.shape[2] != 3):
            raise RuntimeError(f"[{name}] the input must be an image [height, width, 3], but has the shape {v.shape}.")
        return self._array(v)

    def _array(self, v):
        raise NotImplementedError

    def _pil(self, image):
        return self._array(np.asarray(image))


def _only_pil(op, v):
    if not is_pil(v):
        raise TypeError(f"[{op}] img should be PIL image. Got {type(v)}. Use Decode(to_pil=True) for encoded data or "
                        "ToPIL() for "
                        "decoded data.")
    return v


# --- arguments --------------------------------------------------------------------------------------------------------


def _size(op, size, name="size"):
    """A size as (height, width): an int means a square."""
    check.instance(op, name, size, (int, list, tuple))
    if isinstance(size, (list, tuple)):
        if len(size) != 2:
            raise ValueError(f"[{op}] {name} must be an int or (height, width), but got {check.shown(size)}.")
        return tuple(check.integer(op, f"{name}[{i}]", s, 1, _LARGE) for i, s in enumerate(size))
    return (check.integer(op, name, size, 1, _LARGE),) * 2


def _prob(op, prob):
    return check.real(op, "prob", prob, 0, 1)


def _inter(op, value, name="interpolation", allowed=None):
    check.instance(op, name, value, Inter)
    if allowed and value not in allowed:
        raise RuntimeError(f"[{op}] {name} {value.name} is not supported here; there are "
                           f"{', '.join(a.name for a in allowed)}.")
    return value


def _fill(op, value, name="fill_value"):
    """A fill value: an int, or a tuple of three."""
    check.instance(op, name, value, (int, tuple))
    if isinstance(value, tuple):
        if len(value) not in (1, 3):
            raise TypeError(f"[{op}] {name} must be an int or a tuple of three, but got {check.shown(value)}.")
        return tuple(check.integer(op, f"{name}[{i}]", v, 0, 255) for i, v in enumerate(value))
    return check.integer(op, name, value, 0, 255)


def _padding(op, padding):
    """(left, top, right, bottom)."""
    check.instance(op, "padding", padding, (int, tuple, list))
    values = [padding] if check.is_int(padding) else list(padding)
    values = [check.integer(op, "padding", p, 0, check.INT32_MAX) for p in values]
    if len(values) == 1:
        return values * 4
    if len(values) == 2:
        return [values[0], values[1], values[0], values[1]]
    if len(values) == 4:
        return values
    raise ValueError(f"[{op}] The size of the padding list or tuple should be 2 or 4, but is {len(values)}.")


def _degrees(op, degrees):
    """(minimum, maximum) of an angle: a number d means (-d, d)."""
    if check.is_real(degrees):
        if degrees < 0:
            raise ValueError(f"[{op}] a single number of degrees must not be negative, but got {degrees}.")
        return -float(degrees), float(degrees)
    return check.pair(op, "degrees", degrees)


def _mean_std(op, mean, std):
    for name, values, low in (("mean", mean, False), ("std", std, True)):
        check.instance(op, name, values, (list, tuple))
        for i, v in enumerate(values):
            check.real(op, f"{name}[{i}]", v, 0, 255, open_low=low)
    if len(mean) != len(std):
        raise ValueError(f"[{op}] Length of mean and std must be equal, but are {len(mean)} and {len(std)}.")
    if not mean:
        raise ValueError(f"[{op}] mean and std must not be empty.")
    return np.array(mean, np.float32), np.array(std, np.float32)


# --- values, types and layout -----------------------------------------------------------------------------------------


class Decode(ImageOperation):
    """The image of an image file's bytes (uint8 with one axis, or bytes), as RGB.

    Args: to_pil: gives a PIL image instead of uint8 [height, width, 3].
    Raises TypeError for arrays that are no bytes, RuntimeError for bytes that are no image."""

    def __init__(self, to_pil: bool = False) -> None:
        self.to_pil: bool = check.boolean("Decode", "to_pil", to_pil)

    def _run(self, v):
        if is_pil(v):
            raise TypeError("[Decode] the input is a PIL image, which is decoded already.")
        v = array("Decode", v)
        if v.dtype.kind == "S" and v.size == 1:  # as MindDataset has them
            data = v.tobytes()
        else:
            if v.ndim != 1:
                raise TypeError("[Decode] The number of array dimensions of the encoded image should be 1, but got "
                                f"{v.ndim}.")
            if v.dtype != np.uint8:
                raise TypeError(f"[Decode] the type of the encoded image should be uint8, but got {v.dtype}.")
            data = v.tobytes()
        image = decode(data)
        return image if self.to_pil else np.array(image)


class Rescale(ImageOperation):
    """image * rescale + shift, in float32. Args: rescale, shift: numbers."""

    def __init__(self, rescale: float, shift: float) -> None:
        self.rescale: float = check.real("Rescale", "rescale", rescale)
        self.shift: float = check.real("Rescale", "shift", shift)

    def _array(self, v):
        return self._batched(v)

    def _batched(self, rows):
        out = np.multiply(rows, np.float32(self.rescale), dtype=np.float32, casting="unsafe")
        if self.shift:
            out += np.float32(self.shift)
        return out


class Normalize(ImageOperation):
    """(image − mean) / std for each channel, in float32.

    Args:
        mean, std: lists of one number, or one for each channel; mean in [0, 255], std in (0, 255].
        is_hwc: channels are the last axis; otherwise the first.
    Raises TypeError and ValueError for other arguments, RuntimeError where there are other numbers of channels."""

    mean: Any
    std: Any

    def __init__(self, mean: Sequence[float], std: Sequence[float], is_hwc: bool = True) -> None:
        self.mean, self.std = _mean_std("Normalize", mean, std)
        self.is_hwc: bool = check.boolean("Normalize", "is_hwc", is_hwc)

    def _array(self, v):
        out = self._each(v, v.ndim == 3, 0)
        if out is None:
            count = 1 if v.ndim == 2 else v.shape[2 if self.is_hwc else 0]
            raise RuntimeError("[Normalize] number of channels does not match the size of mean and std vectors, got "
                               f"channels: {count}, "
                               f"size of mean: {len(self.mean)}.")
        return out

    def _batched(self, rows):
        return self._each(rows, rows.ndim == 4, 1) if rows.ndim in (3, 4) else None

    def _each(self, v, has_channels, axis):
        mean, std = self.mean, self.std
        if len(mean) == 1:
            mean, std = mean[0], std[0]
        elif not has_channels or v.shape[-1 if self.is_hwc else axis] != len(mean):
            return None
        elif not self.is_hwc:
            mean, std = mean[:, None, None], std[:, None, None]
        shape = v.shape
        if len(self.mean) > 1 and self.is_hwc:
            # pixels and channels on one axis: NumPy's inner loops are long then
            mean, std = np.tile(mean, shape[-2]), np.tile(std, shape[-2])
            v = v.reshape(shape[:-2] + (-1,))
        out = np.subtract(v, mean, dtype=np.float32, casting="unsafe")
        out /= std
        return out.reshape(shape)


class NormalizePad(ImageOperation):
    """Normalize, with a channel of zeros added.

    Args: mean, std, is_hwc: as in Normalize. dtype: "float32" or "float16"."""

    def __init__(self, mean: Sequence[float], std: Sequence[float], dtype: str = "float32",
                 is_hwc: bool = True) -> None:
        self.normalize: Normalize = Normalize(mean, std, is_hwc)
        self.dtype: Any = np.dtype(check.choice("NormalizePad", "dtype", dtype, ("float32", "float16")))

    def _array(self, v):
        out = self.normalize._array(v).astype(self.dtype)
        out = out[:, :, None] if out.ndim == 2 and self.normalize.is_hwc else out[None] if out.ndim == 2 else out
        axis = 2 if self.normalize.is_hwc else 0
        return np.concatenate([out, np.zeros_like(np.take(out, [0], axis))], axis)


class HWC2CHW(ImageOperation):
    """Puts the channels first. An image without them stays."""

    def _array(self, v):
        return np.ascontiguousarray(v.transpose(2, 0, 1)) if v.ndim == 3 else v

    def _batched(self, rows):
        if rows.ndim == 4:
            if rows.shape[3] == 1 or rows.shape[1] == rows.shape[2] == 1:
                return rows.reshape(rows.shape[0], rows.shape[3], rows.shape[1], rows.shape[2])
            return np.ascontiguousarray(rows.transpose(0, 3, 1, 2))
        return rows if rows.ndim == 3 else None


class ToTensor(ImageOperation):
    """Channels first, and numbers in [0, 255] to [0, 1].

    Args: output_type: the dtype of the result, float32 unless given."""

    def __init__(self, output_type: DTypeLike = np.float32) -> None:
        self.output_type: Any = numpy_type("ToTensor", output_type)

    def _array(self, v):
        return self._batched((v if v.ndim == 3 else v[:, :, None])[None])[0]

    def _batched(self, rows):
        if rows.ndim == 3:
            rows = rows[..., None]
        elif rows.ndim != 4:
            return None
        rows = np.multiply(rows.transpose(0, 3, 1, 2), np.float32(1 / 255.0), dtype=np.float32, casting="unsafe",
                           order="C")
        return np.ascontiguousarray(cast(rows, self.output_type))


class ToType(TensorOperation):
    """Converts to another dtype. Args: data_type: a dtype of this library or of NumPy."""

    def __init__(self, data_type: DTypeLike) -> None:
        self.data_type: Any = numpy_type("ToType", data_type)

    def _run(self, v):
        return cast(array("ToType", v), self.data_type)

    def _batched(self, rows):
        return cast(rows, self.data_type)


class ToNumpy(TensorOperation):
    """A PIL image as an ndarray."""

    def _run(self, v):
        return np.array(v)


class ToPIL(TensorOperation):
    """A uint8 ndarray [height, width] or [height, width, channels] as a PIL image."""

    def _run(self, v):
        if is_pil(v):
            return v
        if v.ndim not in (2, 3) or v.ndim == 3 and v.shape[2] not in (1, 2, 3, 4):
            raise TypeError("[ToPIL] the input must be [height, width] or [height, width, 1 to 4 channels], but has "
                            f"the shape {v.shape}.")
        if v.dtype != np.uint8 and (v.ndim == 3 and v.shape[2] != 1):
            raise TypeError(f"[ToPIL] The input image type {v.dtype} is not supported when image shape is [H, W, 2], "
                            "[H, W, 3] or [H, W, 4].")
        try:
            return im.to_pil(v)
        except TypeError as e:
            raise TypeError(f"[ToPIL] an image of {v.dtype} cannot become a PIL image: {e}") from e


class ConvertColor(ImageOperation):
    """Changes the order and number of channels. Args: convert_mode: a ConvertMode."""

    def __init__(self, convert_mode: ConvertMode) -> None:
        self.convert_mode: Any = check.instance("ConvertColor", "convert_mode", convert_mode, ConvertMode)

    def _array(self, v):
        m = self.convert_mode
        want = 1 if m in (8, 9) else 4 if m in (1, 3, 5, 10, 11) else 3
        have = 1 if v.ndim == 2 else v.shape[2]
        if have != want:
            raise RuntimeError(f"[ConvertColor] {m.name} needs {want} channels, but the input has the shape {v.shape}.")
        if m in (6, 7, 10, 11):
            return im.gray(v[..., 2::-1] if m in (6, 10) else v[..., :3])
        if m in (8, 9):
            v = v if v.ndim == 2 else v[:, :, 0]
            v = np.stack([v] * 3, -1)
        order = v[..., 2::-1] if m in (2, 3, 4, 5) else v[..., :3]
        if m in (0, 2, 5, 9):
            top = 255 if v.dtype == np.uint8 else 65535 if v.dtype == np.uint16 else 1
            alpha = v[..., 3:] if m == 5 else np.full(v.shape[:2] + (1,), top, v.dtype)
            order = np.concatenate([order, alpha], -1)
        return np.ascontiguousarray(order)


class RgbToBgr(ImageOperation):
    """Reverses the order of three channels. Args: is_hwc: channels are the last axis; otherwise the first."""

    def __init__(self, is_hwc: bool = True) -> None:
        self.is_hwc: bool = check.boolean("RgbToBgr", "is_hwc", is_hwc)

    def _array(self, v):
        return np.ascontiguousarray(v[..., ::-1] if self.is_hwc else v[::-1])


class _Hsv(TensorOperation):
    def __init__(self, is_hwc: bool = False) -> None:
        self.is_hwc: bool = check.boolean(type(self).__name__, "is_hwc", is_hwc)

    def _run(self, v):
        v = array(type(self).__name__, v)
        axis = -1 if self.is_hwc else -3
        if v.ndim not in (3, 4) or v.shape[axis] != 3:
            raise ValueError(f"[{type(self).__name__}] the input must be an image or a batch of images with three "
                             "channels, but has the "
                             f"shape {v.shape} with is_hwc={self.is_hwc}.")
        return np.ascontiguousarray(np.moveaxis(self._convert(np.moveaxis(v, axis, -1)), -1, axis))


class RgbToHsv(_Hsv):
    """RGB in [0, 1] to hue, saturation, value in [0, 1], in float64. Args: is_hwc: channels are the last axis."""

    _convert = staticmethod(im.rgb_to_hsv)


class HsvToRgb(_Hsv):
    """Hue, saturation, value in [0, 1] to RGB in [0, 1], in float64. Args: is_hwc: channels are the last axis."""

    _convert = staticmethod(im.hsv_to_rgb)


class LinearTransformation(TensorOperation):
    """(image flattened − mean_vector) @ transformation_matrix, in the image's shape.

    Args: transformation_matrix: an ndarray [n, n]. mean_vector: an ndarray [n]."""

    transformation_matrix: Any
    mean_vector: Any

    def __init__(self, transformation_matrix: Any, mean_vector: Any) -> None:
        op = "LinearTransformation"
        check.instance(op, "transformation_matrix", transformation_matrix, np.ndarray)
        check.instance(op, "mean_vector", mean_vector, np.ndarray)
        if transformation_matrix.ndim != 2 or transformation_matrix.shape[0] != transformation_matrix.shape[1]:
            raise ValueError(f"[{op}] transformation_matrix must be square, but has the shape "
                             f"{transformation_matrix.shape}.")
        if mean_vector.shape != transformation_matrix.shape[:1]:
            raise ValueError(f"[{op}] mean_vector must have the shape {transformation_matrix.shape[:1]}, but has "
                             f"{mean_vector.shape}.")
        self.transformation_matrix, self.mean_vector = transformation_matrix, mean_vector

    def _run(self, v):
        v = array("LinearTransformation", v)
        if v.size != len(self.mean_vector):
            raise ValueError(f"[LinearTransformation] the image has {v.size} numbers (shape {v.shape}), but the matrix "
                             "is for "
                             f"{len(self.mean_vector)}.")
        return np.dot(v.reshape(1, -1) - self.mean_vector, self.transformation_matrix).reshape(v.shape)


# --- sizes ------------------------------------------------------------------------------------------------------------


def _shorter(h, w, size):
    """(height, width) with the shorter edge `size` and the same proportions."""
    return (size, max(1, int(size * w / h))) if h < w else (max(1, int(size * h / w)), size)


_PIL_INTER = {Inter.NEAREST: 0, Inter.ANTIALIAS: 1, Inter.BILINEAR: 2, Inter.BICUBIC: 3}


def _pil_inter(op, inter):
    if inter not in _PIL_INTER:
        raise TypeError(f"[{op}] interpolation {inter.name} is not supported for PIL images.")
    return _PIL_INTER[inter]


class Resize(ImageOperation):
    """The image at another size.

    Args:
        size: (height, width), or an int for the shorter edge, which keeps the proportions.
        interpolation: an Inter. ANTIALIAS is for PIL images, AREA and PILCUBIC for ndarrays."""

    def __init__(self, size: Size, interpolation: Inter = Inter.BILINEAR) -> None:
        self._shorter_edge = check.is_int(size)
        self.size: tuple[int, ...] = _size("Resize", size)
        self.interpolation: Any = _inter("Resize", interpolation)

    def _target(self, h, w):
        return _shorter(h, w, self.size[0]) if self._shorter_edge else self.size

    def _array(self, v):
        if self.interpolation == Inter.ANTIALIAS:
            raise TypeError("[Resize] interpolation ANTIALIAS is for PIL images; use ToPIL or Decode(to_pil=True) "
                            "first.")
        return im.resize(v, *self._target(*v.shape[:2]), self.interpolation)

    def _pil(self, image):
        h, w = self._target(image.size[1], image.size[0])
        return image.resize((w, h), _pil_inter("Resize", self.interpolation))


class ResizedCrop(ImageOperation):
    """A part of the image at another size.

    Args: top, left, height, width: the part. size: (height, width) or an int for a square. interpolation: an Inter."""

    top: int
    left: int
    height: int
    width: int
    size: tuple[int, ...]
    interpolation: Any

    def __init__(self, top: int, left: int, height: int, width: int, size: Size,
                 interpolation: Inter = Inter.BILINEAR) -> None:
        op = "ResizedCrop"
        self.top, self.left = (check.integer(op, n, x, 0, check.INT32_MAX) for n, x in (("top", top), ("left", left)))
        self.height, self.width = (check.integer(op, n, x, 1, _LARGE)
                                   for n, x in (("height", height), ("width", width)))
        self.size, self.interpolation = _size(op, size), _inter(op, interpolation)

    def _array(self, v):
        v = _part("ResizedCrop", v, self.top, self.left, self.height, self.width)
        return im.resize(v, *self.size, self.interpolation)

    def _pil(self, image):
        box = (self.left, self.top, self.left + self.width, self.top + self.height)
        return image.crop(box).resize(self.size[::-1], _pil_inter("ResizedCrop", self.interpolation))


def _part(op, v, top, left, height, width):
    if top + height > v.shape[0] or left + width > v.shape[1]:
        raise RuntimeError(f"[{op}] the part [{top}:{top + height}, {left}:{left + width}] exceeds the image, which is "
                           f"{v.shape[0]} x {v.shape[1]}.")
    return v[top:top + height, left:left + width].copy()


class Crop(ImageOperation):
    """A part of the image. Args: coordinates: (top, left). size: (height, width) or an int for a square."""

    def __init__(self, coordinates: Sequence[int], size: Size) -> None:
        check.instance("Crop", "coordinates", coordinates, (list, tuple))
        if len(coordinates) != 2:
            raise ValueError(f"[Crop] coordinates must be (top, left), but got {check.shown(coordinates)}.")
        self.coordinates: list[int] = [check.integer("Crop", f"coordinates[{i}]", c, 0, check.INT32_MAX)
                                       for i, c in enumerate(coordinates)]
        self.size: tuple[int, ...] = _size("Crop", size)

    def _array(self, v):
        return _part("Crop", v, *self.coordinates, *self.size)


class CenterCrop(ImageOperation):
    """The middle of the image, with zeros around it where it is smaller.

    Args: size: (height, width) or an int for a square."""

    def __init__(self, size: Size) -> None:
        self.size: tuple[int, ...] = _size("CenterCrop", size)

    def _array(self, v):
        h, w = self.size
        if h > v.shape[0] or w > v.shape[1]:
            dy, dx = max(0, h - v.shape[0]), max(0, w - v.shape[1])
            v = im.pad(v, dx // 2, dy // 2, dx - dx // 2, dy - dy // 2, 0, Border.CONSTANT)
        top, left = (v.shape[0] - h) // 2, (v.shape[1] - w) // 2
        return v[top:top + h, left:left + w].copy()

    def _pil(self, image):
        h, w = self.size
        image = _pil_pad(image, h, w)
        left, top = int(round((image.size[0] - w) / 2.0)), int(round((image.size[1] - h) / 2.0))
        return image.crop((left, top, left + w, top + h))


def _pil_pad(image, h, w):
    dy, dx = max(0, h - image.size[1]), max(0, w - image.size[0])
    return _pillow("ImageOps").expand(image, (dx // 2, dy // 2, dx - dx // 2, dy - dy // 2)) if dx or dy else image


class FiveCrop(TensorOperation):
    """The four corners and the middle of a PIL image, as five. Args: size: (height, width) or an int for a square."""

    def __init__(self, size: Size) -> None:
        self.size: tuple[int, ...] = _size("FiveCrop", size)

    def _run(self, v):
        return _five(type(self).__name__, _only_pil(type(self).__name__, v), self.size)


def _five(op, image, size):
    (h, w), (iw, ih) = size, image.size
    if h > ih or w > iw:
        raise ValueError(f"[{op}] Crop size {size} is larger than input image size {(ih, iw)}.")
    boxes = [(0, 0), (iw - w, 0), (0, ih - h), (iw - w, ih - h)]
    return tuple(image.crop((x, y, x + w, y + h)) for x, y in boxes) + (CenterCrop(size)._pil(image),)


class TenCrop(TensorOperation):
    """FiveCrop of a PIL image and of its mirror image, as ten.

    Args: size: (height, width) or an int for a square. use_vertical_flip: mirrors top and bottom."""

    def __init__(self, size: Size, use_vertical_flip: bool = False) -> None:
        self.size: tuple[int, ...] = _size("TenCrop", size)
        self.use_vertical_flip: bool = check.boolean("TenCrop", "use_vertical_flip", use_vertical_flip)

    def _run(self, v):
        _only_pil("TenCrop", v)
        flipped = _pillow("ImageOps").flip(v) if self.use_vertical_flip else _pillow("ImageOps").mirror(v)
        return _five("TenCrop", v, self.size) + _five("TenCrop", flipped, self.size)


class Pad(ImageOperation):
    """Puts a border around the image.

    Args:
        padding: an int for all sides, (left and right, top and bottom), or (left, top, right, bottom).
        fill_value: an int in [0, 255] or one for each of three channels, for Border.CONSTANT.
        padding_mode: a Border."""

    def __init__(self, padding: Size, fill_value: Size = 0, padding_mode: Border = Border.CONSTANT) -> None:
        self.padding: list[int] = _padding("Pad", padding)
        self.fill_value: tuple[int, ...] | int = _fill("Pad", fill_value)
        self.padding_mode: Any = check.instance("Pad", "padding_mode", padding_mode, Border)

    def _array(self, v):
        return im.pad(v, *self.padding, self.fill_value, self.padding_mode)

    def _pil(self, image):
        if image.mode == "P":
            image = image.convert("RGB")
        return im.to_pil(self._array(np.asarray(image)))


class PadToSize(ImageOperation):
    """Puts a border around the image so that it has a size.

    Args:
        size: (height, width) or an int for a square.
        offset: how much of the border is (above, on the left), or an int for both; None puts the image into the middle.
        fill_value, padding_mode: as in Pad."""

    def __init__(self, size: Size, offset: Any = None, fill_value: Size = 0,
                 padding_mode: Border = Border.CONSTANT) -> None:
        op = "PadToSize"
        self.size: tuple[int, ...] = _size(op, size)
        if offset is not None:
            check.instance(op, "offset", offset, (int, list, tuple))
            offset = [offset] if check.is_int(offset) else list(offset)
            if len(offset) > 2:
                raise ValueError(f"[{op}] offset must be an int or (top, left), but got {check.shown(offset)}.")
            offset = [check.integer(op, "offset", o, 0, check.INT32_MAX) for o in offset] or None
            offset = offset * 2 if offset is not None and len(offset) == 1 else offset
        self.offset = offset
        self.fill_value: tuple[int, ...] | int = _fill(op, fill_value)
        self.padding_mode: Any = check.instance(op, "padding_mode", padding_mode, Border)

    def _array(self, v):
        dy, dx = self.size[0] - v.shape[0], self.size[1] - v.shape[1]
        top, left = (dy // 2, dx // 2) if self.offset is None else self.offset
        if dy < top or dx < left:
            raise RuntimeError(f"[PadToSize] the image, {v.shape[0]} x {v.shape[1]}, with the offset {self.offset} "
                               "does not fit into "
                               f"{self.size}.")
        return im.pad(v, left, top, dx - left, dy - top, self.fill_value, self.padding_mode)


class SlicePatches(ImageOperation):
    """Cuts the image into num_height × num_width patches, each a column.

    Args: num_height, num_width: ints ≥ 1. slice_mode: a SliceMode. fill_value: an int in [0, 255], for
        SliceMode.PAD."""

    def __init__(self, num_height: int = 1, num_width: int = 1, slice_mode: SliceMode = SliceMode.PAD,
                 fill_value: Size = 0) -> None:
        op = "SlicePatches"
        self.num_height: int = check.integer(op, "num_height", num_height, 1, _LARGE)
        self.num_width: int = check.integer(op, "num_width", num_width, 1, _LARGE)
        self.slice_mode: Any = check.instance(op, "slice_mode", slice_mode, SliceMode)
        self.fill_value: int = check.integer(op, "fill_value", fill_value, 0, 255)

    def _array(self, v):
        h, w = v.shape[:2]
        if self.num_height > h or self.num_width > w:
            raise RuntimeError(f"[SlicePatches] an image of {h} x {w} cannot be cut into {self.num_height} x "
                               f"{self.num_width} patches.")
        if self.slice_mode == SliceMode.PAD:
            v = im.pad(v, 0, 0, -w % self.num_width, -h % self.num_height, self.fill_value, Border.CONSTANT)
        ph, pw = v.shape[0] // self.num_height, v.shape[1] // self.num_width
        out = tuple(v[y * ph:(y + 1) * ph, x * pw:(x + 1) * pw].copy() for y in range(self.num_height)
                    for x in range(self.num_width))
        return out if len(out) > 1 else out[0]


def _mirrored(v, axis):
    """v with its columns in the other order; a gather is faster than a strided copy for pixels of a few bytes."""
    return np.take(v, np.arange(v.shape[axis] - 1, -1, -1), axis)


# --- mirrors, turns and warps -----------------------------------------------------------------------------------------


class HorizontalFlip(ImageOperation):
    """Mirrors left and right."""

    def _array(self, v):
        return _mirrored(v, 1)

    def _batched(self, rows):
        return _mirrored(rows, 2) if rows.ndim in (3, 4) else None


class VerticalFlip(ImageOperation):
    """Mirrors top and bottom."""

    def _array(self, v):
        return np.ascontiguousarray(v[::-1])

    def _batched(self, rows):
        return np.ascontiguousarray(rows[:, ::-1]) if rows.ndim in (3, 4) else None


class _Maybe(ImageOperation):
    """Applies an operation with a probability."""

    _random = True

    def _some(self, v):
        raise NotImplementedError

    def _array(self, v):
        return self._some(v) if seeds.rng().random() < self.prob else v

    _pil = _array


class RandomHorizontalFlip(_Maybe):
    """Mirrors left and right with probability `prob`."""

    def __init__(self, prob: float = 0.5) -> None:
        self.prob: float = _prob("RandomHorizontalFlip", prob)

    def _some(self, v):
        return _pillow("ImageOps").mirror(v) if is_pil(v) else _mirrored(v, 1)


class RandomVerticalFlip(_Maybe):
    """Mirrors top and bottom with probability `prob`."""

    def __init__(self, prob: float = 0.5) -> None:
        self.prob: float = _prob("RandomVerticalFlip", prob)

    def _some(self, v):
        return _pillow("ImageOps").flip(v) if is_pil(v) else np.ascontiguousarray(v[::-1])
