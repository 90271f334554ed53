"""Operations on images: ndarrays [height, width], [height, width, channels] (mostly uint8 or float32), and PIL images.

What is given as a PIL image is computed by Pillow, and most often stays one; ndarrays are computed by image.py. Sizes are
(height, width)."""

import math

import numpy as np

from pijit.dataset import check, seeds
from pijit.dataset.transforms.transforms import TensorOperation, _check_list, array, cast, not_random, numpy_type
from pijit.dataset.vision import image as im
from pijit.dataset.vision.utils import (AutoAugmentPolicy, Border, ConvertMode, ImageBatchFormat, Inter, SliceMode, decode)

_LARGE = 16777216


def is_pil(v):
    """Whether v is a PIL image."""
    return hasattr(v, "getbands")


def _pillow(*modules):
    import importlib
    return [importlib.import_module(f"PIL.{m}") for m in modules] if len(modules) > 1 else importlib.import_module(f"PIL.{modules[0]}")


class ImageOperation(TensorOperation):
    """Base of operations on one image. Kinds define `_array(v)` for ndarrays, and `_pil(image)` where Pillow does it."""

    _colour = None  # True: needs three channels

    def device(self, device_target="CPU"):
        """Returns the operation itself: all run on the CPU. ValueError for a target that is neither "CPU" nor "Ascend"."""
        check.choice(type(self).__name__, "device_target", device_target, ("CPU", "Ascend"))
        return self

    def _run(self, v):
        if is_pil(v):
            return self._pil(v)
        name = type(self).__name__
        if v.dtype.kind not in "biuf":
            raise RuntimeError(f"[{name}] the input must be an image, but holds {v.dtype}. Use Decode first.")
        if v.ndim not in (2, 3):
            raise RuntimeError(f"[{name}] the input must be an image [height, width] or [height, width, channels], but has the "
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
        raise TypeError(f"[{op}] img should be PIL image. Got {type(v)}. Use Decode(to_pil=True) for encoded data or ToPIL() for "
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
        raise RuntimeError(f"[{op}] {name} {value.name} is not supported here; there are {', '.join(a.name for a in allowed)}.")
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

    def __init__(self, to_pil=False):
        self.to_pil = check.boolean("Decode", "to_pil", to_pil)

    def _run(self, v):
        if is_pil(v):
            raise TypeError("[Decode] the input is a PIL image, which is decoded already.")
        v = array("Decode", v)
        if v.dtype.kind == "S" and v.ndim == 0:
            data = v.item()
        else:
            if v.ndim != 1:
                raise TypeError(f"[Decode] The number of array dimensions of the encoded image should be 1, but got {v.ndim}.")
            if v.dtype != np.uint8:
                raise TypeError(f"[Decode] the type of the encoded image should be uint8, but got {v.dtype}.")
            data = v.tobytes()
        image = decode(data)
        return image if self.to_pil else np.array(image)


class Rescale(ImageOperation):
    """image * rescale + shift, in float32. Args: rescale, shift: numbers."""

    def __init__(self, rescale, shift):
        self.rescale = check.real("Rescale", "rescale", rescale)
        self.shift = check.real("Rescale", "shift", shift)

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

    def __init__(self, mean, std, is_hwc=True):
        self.mean, self.std = _mean_std("Normalize", mean, std)
        self.is_hwc = check.boolean("Normalize", "is_hwc", is_hwc)

    def _array(self, v):
        out = self._each(v, v.ndim == 3, 0)
        if out is None:
            count = 1 if v.ndim == 2 else v.shape[2 if self.is_hwc else 0]
            raise RuntimeError(f"[Normalize] number of channels does not match the size of mean and std vectors, got channels: {count}, "
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
    """Normalize, with a channel of zeros added. Args: mean, std, is_hwc: as in Normalize. dtype: "float32" or "float16"."""

    def __init__(self, mean, std, dtype="float32", is_hwc=True):
        self.normalize = Normalize(mean, std, is_hwc)
        self.dtype = np.dtype(check.choice("NormalizePad", "dtype", dtype, ("float32", "float16")))

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

    def __init__(self, output_type=np.float32):
        self.output_type = numpy_type("ToTensor", output_type)

    def _array(self, v):
        return self._batched((v if v.ndim == 3 else v[:, :, None])[None])[0]

    def _batched(self, rows):
        if rows.ndim == 3:
            rows = rows[..., None]
        elif rows.ndim != 4:
            return None
        rows = np.multiply(rows.transpose(0, 3, 1, 2), np.float32(1 / 255.0), dtype=np.float32, casting="unsafe", order="C")
        return np.ascontiguousarray(cast(rows, self.output_type))


class ToType(TensorOperation):
    """Converts to another dtype. Args: data_type: a dtype of this library or of NumPy."""

    def __init__(self, data_type):
        self.data_type = numpy_type("ToType", data_type)

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
            raise TypeError(f"[ToPIL] the input must be [height, width] or [height, width, 1 to 4 channels], but has the shape {v.shape}.")
        if v.dtype != np.uint8 and (v.ndim == 3 and v.shape[2] != 1):
            raise TypeError(f"[ToPIL] The input image type {v.dtype} is not supported when image shape is [H, W, 2], [H, W, 3] or [H, W, 4].")
        try:
            return im.to_pil(v)
        except TypeError as e:
            raise TypeError(f"[ToPIL] an image of {v.dtype} cannot become a PIL image: {e}") from e


class ConvertColor(ImageOperation):
    """Changes the order and number of channels. Args: convert_mode: a ConvertMode."""

    def __init__(self, convert_mode):
        self.convert_mode = check.instance("ConvertColor", "convert_mode", convert_mode, ConvertMode)

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

    def __init__(self, is_hwc=True):
        self.is_hwc = check.boolean("RgbToBgr", "is_hwc", is_hwc)

    def _array(self, v):
        return np.ascontiguousarray(v[..., ::-1] if self.is_hwc else v[::-1])


class _Hsv(TensorOperation):
    def __init__(self, is_hwc=False):
        self.is_hwc = check.boolean(type(self).__name__, "is_hwc", is_hwc)

    def _run(self, v):
        v = array(type(self).__name__, v)
        axis = -1 if self.is_hwc else -3
        if v.ndim not in (3, 4) or v.shape[axis] != 3:
            raise ValueError(f"[{type(self).__name__}] the input must be an image or a batch of images with three channels, but has the "
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

    def __init__(self, transformation_matrix, mean_vector):
        op = "LinearTransformation"
        check.instance(op, "transformation_matrix", transformation_matrix, np.ndarray)
        check.instance(op, "mean_vector", mean_vector, np.ndarray)
        if transformation_matrix.ndim != 2 or transformation_matrix.shape[0] != transformation_matrix.shape[1]:
            raise ValueError(f"[{op}] transformation_matrix must be square, but has the shape {transformation_matrix.shape}.")
        if mean_vector.shape != transformation_matrix.shape[:1]:
            raise ValueError(f"[{op}] mean_vector must have the shape {transformation_matrix.shape[:1]}, but has {mean_vector.shape}.")
        self.transformation_matrix, self.mean_vector = transformation_matrix, mean_vector

    def _run(self, v):
        v = array("LinearTransformation", v)
        if v.size != len(self.mean_vector):
            raise ValueError(f"[LinearTransformation] the image has {v.size} numbers (shape {v.shape}), but the matrix is for "
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

    def __init__(self, size, interpolation=Inter.BILINEAR):
        self._shorter_edge = check.is_int(size)
        self.size = _size("Resize", size)
        self.interpolation = _inter("Resize", interpolation)

    def _target(self, h, w):
        return _shorter(h, w, self.size[0]) if self._shorter_edge else self.size

    def _array(self, v):
        if self.interpolation == Inter.ANTIALIAS:
            raise TypeError("[Resize] interpolation ANTIALIAS is for PIL images; use ToPIL or Decode(to_pil=True) first.")
        return im.resize(v, *self._target(*v.shape[:2]), self.interpolation)

    def _pil(self, image):
        h, w = self._target(image.size[1], image.size[0])
        return image.resize((w, h), _pil_inter("Resize", self.interpolation))


class ResizedCrop(ImageOperation):
    """A part of the image at another size.

    Args: top, left, height, width: the part. size: (height, width) or an int for a square. interpolation: an Inter."""

    def __init__(self, top, left, height, width, size, interpolation=Inter.BILINEAR):
        op = "ResizedCrop"
        self.top, self.left = (check.integer(op, n, x, 0, check.INT32_MAX) for n, x in (("top", top), ("left", left)))
        self.height, self.width = (check.integer(op, n, x, 1, _LARGE) for n, x in (("height", height), ("width", width)))
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

    def __init__(self, coordinates, size):
        check.instance("Crop", "coordinates", coordinates, (list, tuple))
        if len(coordinates) != 2:
            raise ValueError(f"[Crop] coordinates must be (top, left), but got {check.shown(coordinates)}.")
        self.coordinates = [check.integer("Crop", f"coordinates[{i}]", c, 0, check.INT32_MAX) for i, c in enumerate(coordinates)]
        self.size = _size("Crop", size)

    def _array(self, v):
        return _part("Crop", v, *self.coordinates, *self.size)


class CenterCrop(ImageOperation):
    """The middle of the image, with zeros around it where it is smaller. Args: size: (height, width) or an int for a square."""

    def __init__(self, size):
        self.size = _size("CenterCrop", size)

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

    def __init__(self, size):
        self.size = _size("FiveCrop", size)

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

    def __init__(self, size, use_vertical_flip=False):
        self.size = _size("TenCrop", size)
        self.use_vertical_flip = check.boolean("TenCrop", "use_vertical_flip", use_vertical_flip)

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

    def __init__(self, padding, fill_value=0, padding_mode=Border.CONSTANT):
        self.padding = _padding("Pad", padding)
        self.fill_value = _fill("Pad", fill_value)
        self.padding_mode = check.instance("Pad", "padding_mode", padding_mode, Border)

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

    def __init__(self, size, offset=None, fill_value=0, padding_mode=Border.CONSTANT):
        op = "PadToSize"
        self.size = _size(op, size)
        if offset is not None:
            check.instance(op, "offset", offset, (int, list, tuple))
            offset = [offset] if check.is_int(offset) else list(offset)
            if len(offset) > 2:
                raise ValueError(f"[{op}] offset must be an int or (top, left), but got {check.shown(offset)}.")
            offset = [check.integer(op, "offset", o, 0, check.INT32_MAX) for o in offset] or None
            offset = offset * 2 if offset is not None and len(offset) == 1 else offset
        self.offset = offset
        self.fill_value = _fill(op, fill_value)
        self.padding_mode = check.instance(op, "padding_mode", padding_mode, Border)

    def _array(self, v):
        dy, dx = self.size[0] - v.shape[0], self.size[1] - v.shape[1]
        top, left = (dy // 2, dx // 2) if self.offset is None else self.offset
        if dy < top or dx < left:
            raise RuntimeError(f"[PadToSize] the image, {v.shape[0]} x {v.shape[1]}, with the offset {self.offset} does not fit into "
                               f"{self.size}.")
        return im.pad(v, left, top, dx - left, dy - top, self.fill_value, self.padding_mode)


class SlicePatches(ImageOperation):
    """Cuts the image into num_height × num_width patches, each a column.

    Args: num_height, num_width: ints ≥ 1. slice_mode: a SliceMode. fill_value: an int in [0, 255], for SliceMode.PAD."""

    def __init__(self, num_height=1, num_width=1, slice_mode=SliceMode.PAD, fill_value=0):
        op = "SlicePatches"
        self.num_height = check.integer(op, "num_height", num_height, 1, _LARGE)
        self.num_width = check.integer(op, "num_width", num_width, 1, _LARGE)
        self.slice_mode = check.instance(op, "slice_mode", slice_mode, SliceMode)
        self.fill_value = check.integer(op, "fill_value", fill_value, 0, 255)

    def _array(self, v):
        h, w = v.shape[:2]
        if self.num_height > h or self.num_width > w:
            raise RuntimeError(f"[SlicePatches] an image of {h} x {w} cannot be cut into {self.num_height} x {self.num_width} patches.")
        if self.slice_mode == SliceMode.PAD:
            v = im.pad(v, 0, 0, -w % self.num_width, -h % self.num_height, self.fill_value, Border.CONSTANT)
        ph, pw = v.shape[0] // self.num_height, v.shape[1] // self.num_width
        out = tuple(v[y * ph:(y + 1) * ph, x * pw:(x + 1) * pw].copy() for y in range(self.num_height) for x in range(self.num_width))
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

    def __init__(self, prob=0.5):
        self.prob = _prob("RandomHorizontalFlip", prob)

    def _some(self, v):
        return _pillow("ImageOps").mirror(v) if is_pil(v) else _mirrored(v, 1)


class RandomVerticalFlip(_Maybe):
    """Mirrors top and bottom with probability `prob`."""

    def __init__(self, prob=0.5):
        self.prob = _prob("RandomVerticalFlip", prob)

    def _some(self, v):
        return _pillow("ImageOps").flip(v) if is_pil(v) else np.ascontiguousarray(v[::-1])


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

    def __init__(self, degrees, resample=Inter.NEAREST, expand=False, center=None, fill_value=0):
        op = "Rotate"
        self.degrees = check.real(op, "degrees", degrees)
        self.resample, self.expand = _inter(op, resample, "resample", _WARPS), check.boolean(op, "expand", expand)
        self.center, self.fill_value = _center(op, center), _fill(op, fill_value)

    def _array(self, v):
        return im.rotate(v, self.degrees, _warp_inter(self.resample), self.expand, self.center, self.fill_value)


class RandomRotation(ImageOperation):
    """Rotate by a random angle.

    Args: degrees: (minimum, maximum), or a number d for (−d, d). resample, expand, center, fill_value: as in Rotate."""

    _random = True

    def __init__(self, degrees, resample=Inter.NEAREST, expand=False, center=None, fill_value=0):
        op = "RandomRotation"
        self.degrees = _degrees(op, degrees)
        self.resample, self.expand = _inter(op, resample, "resample", _WARPS), check.boolean(op, "expand", expand)
        self.center, self.fill_value = _center(op, center), _fill(op, fill_value)

    def _array(self, v):
        angle = seeds.rng().uniform(*self.degrees)
        return im.rotate(v, angle, _warp_inter(self.resample), self.expand, self.center, self.fill_value)

    def _pil(self, image):
        angle = seeds.rng().uniform(*self.degrees)
        fill = self.fill_value if len(image.getbands()) > 1 else self.fill_value if check.is_int(self.fill_value) else self.fill_value[0]
        fill = (fill,) * len(image.getbands()) if check.is_int(fill) and len(image.getbands()) > 1 else fill
        return image.rotate(angle, _pil_inter("RandomRotation", self.resample), self.expand, self.center, fillcolor=fill)


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

    def __init__(self, degrees, translate, scale, shear, resample=Inter.NEAREST, fill_value=0):
        op = "Affine"
        self.degrees, self.translate = check.real(op, "degrees", degrees), _translate(op, translate)
        self.scale = check.real(op, "scale", scale, 0, open_low=True)
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
        translate: None, (x, y): largest shifts as parts of width and height, or (x minimum, x maximum, y minimum, y maximum).
        scale: None or (minimum, maximum). shear: None, a number s for (−s, s) in x, (minimum, maximum) in x, or four for x and y.
        resample, fill_value: as in Affine."""

    _random = True

    def __init__(self, degrees, translate=None, scale=None, shear=None, resample=Inter.NEAREST, fill_value=0):
        op = "RandomAffine"
        self.degrees = _degrees(op, degrees)
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
            shear = check.pair(op, "shear", shear[:2]) + (check.pair(op, "shear", shear[2:]) if len(shear) == 4 else (0.0, 0.0))
        self.shear = shear
        self.resample, self.fill_value = _inter(op, resample, "resample", _WARPS), _fill(op, fill_value)

    def _array(self, v):
        r, (h, w) = seeds.rng(), v.shape[:2]
        t = self.translate
        shift = (round(r.uniform(t[0] * w, t[1] * w)), round(r.uniform(t[2] * h, t[3] * h)))
        shear = (r.uniform(*self.shear[:2]), r.uniform(*self.shear[2:]))
        return _affine(v, r.uniform(*self.degrees), shift, r.uniform(*self.scale), shear, self.resample, self.fill_value)

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

    Args: start_points, end_points: lists of four [x, y] (ints). interpolation: an Inter. Raises RuntimeError for points on a line."""

    def __init__(self, start_points, end_points, interpolation=Inter.BILINEAR):
        op = "Perspective"
        self.start_points, self.end_points = _points(op, "start_points", start_points), _points(op, "end_points", end_points)
        self.interpolation = _inter(op, interpolation, allowed=_WARPS + (Inter.PILCUBIC,))

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
    """A random perspective with probability `prob`. Args: distortion_scale: in [0, 1]. prob. interpolation: an Inter."""

    def __init__(self, distortion_scale=0.5, prob=0.5, interpolation=Inter.BICUBIC):
        op = "RandomPerspective"
        self.distortion_scale = check.real(op, "distortion_scale", distortion_scale, 0, 1)
        self.prob, self.interpolation = _prob(op, prob), _inter(op, interpolation)

    def _some(self, v):
        w, h = v.size if is_pil(v) else (v.shape[1], v.shape[0])
        r = seeds.rng()
        dx, dy = int(self.distortion_scale * (w // 2)), int(self.distortion_scale * (h // 2))
        end = [(r.randint(0, dx), r.randint(0, dy)), (r.randint(w - dx - 1, w - 1), r.randint(0, dy)),
               (r.randint(w - dx - 1, w - 1), r.randint(h - dy - 1, h - 1)), (r.randint(0, dx), r.randint(h - dy - 1, h - 1))]
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

    def __init__(self, size, padding=None, pad_if_needed=False, fill_value=0, padding_mode=Border.CONSTANT):
        op = "RandomCrop"
        self.size = _size(op, size)
        self.padding = None if padding is None else _padding(op, padding)
        self.pad_if_needed = check.boolean(op, "pad_if_needed", pad_if_needed)
        self.fill_value = _fill(op, fill_value)
        self.padding_mode = check.instance(op, "padding_mode", padding_mode, Border)

    def _array(self, v):
        h, w = self.size
        if self.padding is not None:
            v = im.pad(v, *self.padding, self.fill_value, self.padding_mode)
        if self.pad_if_needed:
            dy, dx = max(0, h - v.shape[0]), max(0, w - v.shape[1])
            if dx or dy:
                v = im.pad(v, dx, dy, dx, dy, self.fill_value, self.padding_mode)
        if h > v.shape[0] or w > v.shape[1]:
            raise RuntimeError(f"[RandomCrop] invalid crop size, crop size is bigger than the image dimensions: {self.size} and "
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

    def __init__(self, size, scale=(0.08, 1.0), ratio=(3.0 / 4, 4.0 / 3), interpolation=Inter.BILINEAR, max_attempts=10):
        op = type(self).__name__
        self.size = _size(op, size)
        self.scale = check.pair(op, "scale", scale, 0)
        self.ratio = check.pair(op, "ratio", ratio, 0, positive=True)
        if self.scale[1] <= 0:
            raise ValueError(f"[{op}] the maximum of scale must be above 0, but got {check.shown(scale)}.")
        self.interpolation = _inter(op, interpolation)
        self.max_attempts = check.integer(op, "max_attempts", max_attempts, 1, _LARGE)

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
        return image.crop((left, top, left + w, top + h)).resize(self.size[::-1], _pil_inter("RandomResizedCrop", self.interpolation))


class RandomCropDecodeResize(RandomResizedCrop):
    """Decode and RandomResizedCrop in one."""

    def _run(self, v):
        return self._array(Decode()._run(v))


class RandomResize(ImageOperation):
    """Resize with a random interpolation. Args: size: as in Resize."""

    _random = True

    def __init__(self, size):
        self._resizes = [Resize(size, i) for i in (Inter.NEAREST, Inter.BILINEAR, Inter.BICUBIC, Inter.AREA)]

    def _array(self, v):
        return seeds.rng().choice(self._resizes)._array(v)


class CutOut(ImageOperation):
    """Sets random squares of the image to 0. Args: length: their edge. num_patches: how many. is_hwc: channels are the last axis."""

    _random = True

    def __init__(self, length, num_patches=1, is_hwc=True):
        self.length = check.integer("CutOut", "length", length, 1, _LARGE)
        self.num_patches = check.integer("CutOut", "num_patches", num_patches, 1, _LARGE)
        self.is_hwc = check.boolean("CutOut", "is_hwc", is_hwc)

    def _array(self, v):
        v = v.copy()
        view = v if self.is_hwc or v.ndim == 2 else v.transpose(1, 2, 0)
        r = seeds.rng()
        for _ in range(self.num_patches):
            y, x = r.randint(0, view.shape[0] - 1) - self.length // 2, r.randint(0, view.shape[1] - 1) - self.length // 2
            view[max(y, 0):max(y + self.length, 0), max(x, 0):max(x + self.length, 0)] = 0
        return v


class Erase(ImageOperation):
    """Sets a part of the image to a value.

    Args: top, left, height, width: the part. value: a number in [0, 255] or three. inplace: writes to the input."""

    def __init__(self, top, left, height, width, value=0.0, inplace=False):
        op = "Erase"
        self.top, self.left = (check.integer(op, n, x, 0, check.INT32_MAX) for n, x in (("top", top), ("left", left)))
        self.height, self.width = (check.integer(op, n, x, 1, _LARGE) for n, x in (("height", height), ("width", width)))
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
            raise RuntimeError(f"[Erase] box size is too large for image erase: height {self.height} and width {self.width} at "
                               f"({self.top}, {self.left}) of an image of {v.shape[0]} x {v.shape[1]}.")
        out = v if self.inplace else v.copy()
        out[self.top:self.top + self.height, self.left:self.left + self.width] = \
            cast(np.asarray(im.fill_value(self.value, v.astype(np.float64))), v.dtype)
        return out


class RandomErasing(TensorOperation):
    """Sets a random part of an image [channels, height, width] to a value, with probability `prob`.

    Args:
        prob. scale: (minimum, maximum) of the part's area. ratio: (minimum, maximum) of its proportions.
        value: a number, three, or "random" for normal numbers. inplace: writes to the input. max_attempts: tries to draw a part."""

    _random = True

    def __init__(self, prob=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, inplace=False, max_attempts=10):
        op = "RandomErasing"
        self.prob = _prob(op, prob)
        self.scale, self.ratio = check.pair(op, "scale", scale, 0), check.pair(op, "ratio", ratio, 0, positive=True)
        check.instance(op, "value", value, (int, float, str, tuple, list))
        if isinstance(value, str) and value != "random":
            raise ValueError(f"[{op}] value must be a number, three, or 'random', but got {value!r}.")
        if isinstance(value, (tuple, list)):
            if len(value) != 3:
                raise ValueError(f"[{op}] value must be a number, three, or 'random', but got {check.shown(value)}.")
            value = tuple(check.real(op, "value", x, 0, 255) for x in value)
        self.value, self.inplace = value, check.boolean(op, "inplace", inplace)
        self.max_attempts = check.integer(op, "max_attempts", max_attempts, 1, _LARGE)

    def _run(self, v):
        v = array("RandomErasing", v)
        if v.ndim != 3:
            raise TypeError(f"[RandomErasing] the input must be an image [channels, height, width], but has the shape {v.shape}. Use "
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


class Invert(ImageOperation):
    """255 − image."""

    def _array(self, v):
        if v.ndim != 3:
            raise RuntimeError(f"[Invert] the input must be an image [height, width, channels], but has the shape {v.shape}.")
        return (255 - v).astype(v.dtype) if v.dtype.kind != "f" else (v.dtype.type(255) - v)

    def _pil(self, image):
        return _pillow("ImageOps").invert(image)


class Grayscale(TensorOperation):
    """A PIL image without colour. Args: num_output_channels: 1 or 3."""

    def __init__(self, num_output_channels=1):
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

    def __init__(self, prob=0.1):
        self.prob = _prob("RandomGrayscale", prob)

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

    def __init__(self, brightness_factor):
        self.factor = check.real("AdjustBrightness", "brightness_factor", brightness_factor, 0, _LARGE)

    @staticmethod
    def _by(v, factor):
        return im.saturate(v.astype(np.float32) * np.float32(factor), v.dtype)


class AdjustContrast(_Adjust):
    """Moves pixels away from the mean of the image's luma. Args: contrast_factor: a number ≥ 0; 1 changes nothing."""

    _enhance, _colour = "Contrast", True

    def __init__(self, contrast_factor):
        self.factor = check.real("AdjustContrast", "contrast_factor", contrast_factor, 0, _LARGE)

    @staticmethod
    def _by(v, factor):
        mean = im.gray(v).mean(dtype=np.float64)
        mean = np.float32(int(mean + 0.5)) if v.dtype.kind in "iu" else v.dtype.type(mean)
        return _blend(v, mean, factor)


class AdjustSaturation(_Adjust):
    """Moves pixels away from their luma. Args: saturation_factor: a number ≥ 0; 1 changes nothing, 0 leaves no colour."""

    _enhance, _colour = "Color", True

    def __init__(self, saturation_factor):
        self.factor = check.real("AdjustSaturation", "saturation_factor", saturation_factor, 0, _LARGE)

    @staticmethod
    def _by(v, factor):
        g = im.gray(v)[..., None]
        return _blend(v, g if v.dtype.kind == "f" else g.astype(np.float32), factor)


class AdjustSharpness(ImageOperation):
    """Moves pixels away from their smoothed values. Args: sharpness_factor: a number ≥ 0; 1 changes nothing."""

    def __init__(self, sharpness_factor):
        self.factor = check.real("AdjustSharpness", "sharpness_factor", sharpness_factor, 0, _LARGE)

    def _array(self, v):
        return _sharpen(v, self.factor)


def _sharpen(v, factor):
    """Blends with the mean of 3 x 3 pixels, of which the middle counts five times; edges stay."""
    if min(v.shape[:2]) < 3:
        return v.copy()
    wide = v.astype(np.float32)
    h, w = v.shape[:2]
    total = sum(wide[i:h - 2 + i, j:w - 2 + j] * (5 if i == j == 1 else 1) for i in range(3) for j in range(3)) / np.float32(13)
    smooth = v.copy()
    smooth[1:-1, 1:-1] = im.saturate(total, v.dtype)
    return _blend(v, smooth if v.dtype.kind == "f" else smooth.astype(np.float32), factor)


class AdjustHue(ImageOperation):
    """Turns the hue. Args: hue_factor: in [−0.5, 0.5], a part of the full circle."""

    _colour = True

    def __init__(self, hue_factor):
        self.factor = check.real("AdjustHue", "hue_factor", hue_factor, -0.5, 0.5)

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
    """255 · gain · (image / 255) ** gamma for uint8, gain · image ** gamma for floats. Args: gamma: ≥ 0. gain: a number."""

    def __init__(self, gamma, gain=1):
        self.gamma = check.real("AdjustGamma", "gamma", gamma, 0, _LARGE)
        self.gain = check.real("AdjustGamma", "gain", gain)

    def _array(self, v):
        if v.dtype == np.uint8:
            table = np.clip(np.floor((255 + 1 - 1e-3) * self.gain * (np.arange(256) / 255.0) ** self.gamma), 0, 255).astype(np.uint8)
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

    Args: cutoff: the percentage of darkest and brightest pixels that is left out, in [0, 50). ignore: values that don't count."""

    def __init__(self, cutoff=0.0, ignore=None):
        self.cutoff = check.real(type(self).__name__, "cutoff", cutoff, 0, 50)
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

    def __init__(self, bits):
        self.bits = check.integer("Posterize", "bits", bits, 0, 8)

    def _array(self, v):
        if v.dtype != np.uint8:
            raise RuntimeError(f"[Posterize] the input must be uint8, but is {v.dtype}.")
        return v & np.uint8(256 - (1 << (8 - self.bits)) if self.bits else 0)


class Solarize(ImageOperation):
    """Inverts the values within a range. Args: threshold: (minimum, maximum), or a number for (number, 255)."""

    def __init__(self, threshold):
        if check.is_real(threshold):
            threshold = (threshold, 255)
        check.instance("Solarize", "threshold", threshold, tuple)
        if len(threshold) != 2:
            raise ValueError(f"[Solarize] threshold must be a number or (minimum, maximum), but got {check.shown(threshold)}.")
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

    Args: kernel_size: an odd int, or (width, height). sigma: a number, or (x, y); None follows from the kernel's size."""

    def __init__(self, kernel_size, sigma=None):
        op = "GaussianBlur"
        check.instance(op, "kernel_size", kernel_size, (int, list, tuple))
        kernel = [kernel_size] * 2 if check.is_int(kernel_size) else list(kernel_size)
        if len(kernel) != 2:
            raise TypeError(f"[{op}] kernel_size must be an int or two, but got {check.shown(kernel_size)}.")
        for k in kernel:
            check.integer(op, "kernel_size", k, 1, _LARGE)
            if k % 2 == 0:
                raise ValueError(f"[{op}] kernel_size must be odd, but got {k}.")
        self.kernel_size = kernel
        if sigma is None:
            sigma = (0.0, 0.0)
        elif check.is_real(sigma):
            sigma = (sigma, sigma)
        check.instance(op, "sigma", sigma, (list, tuple))
        if len(sigma) != 2:
            raise TypeError(f"[{op}] sigma must be a number or two, but got {check.shown(sigma)}.")
        self.sigma = [check.real(op, "sigma", s, 0) for s in sigma]

    def _array(self, v):
        sigma = [s if s > 0 else 0.3 * ((k - 1) * 0.5 - 1) + 0.8 for s, k in zip(self.sigma, self.kernel_size)]
        return im.gaussian_blur(v, self.kernel_size, sigma)


class RandomColorAdjust(ImageOperation):
    """Brightness, contrast, saturation and hue by random factors, in random order.

    Args:
        brightness, contrast, saturation: (minimum, maximum), or a number x for (max(0, 1 − x), 1 + x).
        hue: (minimum, maximum) within [−0.5, 0.5], or a number x for (−x, x)."""

    _random, _colour = True, True

    def __init__(self, brightness=(1, 1), contrast=(1, 1), saturation=(1, 1), hue=(0, 0)):
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
        self.hue = check.pair(op, "hue", hue, -0.5, 0.5)

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

    def __init__(self, degrees=(0.1, 1.9)):
        self.degrees = check.pair(type(self).__name__, "degrees", degrees, 0)

    def _array(self, v):
        if v.ndim != 3 or v.shape[2] != 3:
            raise RuntimeError(f"[{type(self).__name__}] the input must be an image [height, width, 3], but has the shape {v.shape}.")
        return AdjustSaturation._by(v, seeds.rng().uniform(*self.degrees))

    def _pil(self, image):
        return _pillow("ImageEnhance").Color(image).enhance(seeds.rng().uniform(*self.degrees))


class RandomSharpness(ImageOperation):
    """AdjustSharpness by a random factor. Args: degrees: (minimum, maximum)."""

    _random = True

    def __init__(self, degrees=(0.1, 1.9)):
        self.degrees = check.pair("RandomSharpness", "degrees", degrees, 0)

    def _array(self, v):
        return _sharpen(v, seeds.rng().uniform(*self.degrees))

    def _pil(self, image):
        return _pillow("ImageEnhance").Sharpness(image).enhance(seeds.rng().uniform(*self.degrees))


class RandomAdjustSharpness(_Maybe):
    """AdjustSharpness with probability `prob`. Args: degree: the factor, ≥ 0. prob."""

    def __init__(self, degree, prob=0.5):
        self.degree, self.prob = check.real("RandomAdjustSharpness", "degree", degree, 0), _prob("RandomAdjustSharpness", prob)

    def _some(self, v):
        return _sharpen(np.asarray(v), self.degree)


class RandomAutoContrast(_Maybe):
    """AutoContrast with probability `prob`. Args: cutoff, ignore: as in AutoContrast. prob."""

    def __init__(self, cutoff=0.0, ignore=None, prob=0.5):
        self._operation, self.prob = AutoContrast(cutoff, ignore), _prob("RandomAutoContrast", prob)

    def _some(self, v):
        return self._operation._array(np.asarray(v))


class RandomEqualize(_Maybe):
    """Equalize with probability `prob`."""

    def __init__(self, prob=0.5):
        self.prob = _prob("RandomEqualize", prob)

    def _some(self, v):
        return Equalize()._array(np.asarray(v))


class RandomInvert(_Maybe):
    """Invert with probability `prob`."""

    def __init__(self, prob=0.5):
        self.prob = _prob("RandomInvert", prob)

    def _some(self, v):
        return Invert()._array(np.asarray(v))


class RandomPosterize(ImageOperation):
    """Posterize to a random number of bits. Args: bits: an int, or (minimum, maximum), 1 to 8."""

    _random = True

    def __init__(self, bits=(8, 8)):
        check.instance("RandomPosterize", "bits", bits, (int, list, tuple))
        bits = (bits, bits) if check.is_int(bits) else tuple(bits)
        if len(bits) != 2:
            raise TypeError(f"[RandomPosterize] bits must be an int or two, but got {check.shown(bits)}.")
        self.bits = [check.integer("RandomPosterize", "bits", b, 1, 8) for b in bits]
        if bits[0] > bits[1]:
            raise ValueError(f"[RandomPosterize] bits must be (minimum, maximum), but got {check.shown(bits)}.")

    def _array(self, v):
        return Posterize(seeds.rng().randint(*self.bits))._array(v)


class RandomSolarize(ImageOperation):
    """Inverts the values within a random range. Args: threshold: (minimum, maximum) that the range is drawn from."""

    _random = True

    def __init__(self, threshold=(0, 255)):
        check.instance("RandomSolarize", "threshold", threshold, tuple)
        if len(threshold) != 2:
            raise ValueError(f"[RandomSolarize] threshold must be (minimum, maximum), but got {check.shown(threshold)}.")
        for t in threshold:
            check.integer("RandomSolarize", "threshold", t, 0, 255)
        if threshold[0] > threshold[1]:
            raise ValueError(f"[RandomSolarize] threshold must be in order of (min, max), but got {check.shown(threshold)}.")
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

    def __init__(self, alpha=0.05):
        self.alpha = check.real("RandomLighting", "alpha", alpha, 0)

    def _array(self, v):
        r = seeds.rng()
        values = np.array([55.46, 4.794, 1.148])
        vectors = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])
        shift = vectors @ (values * [r.gauss(0, self.alpha) if self.alpha else 0.0 for _ in range(3)])
        return im.saturate(v.astype(np.float32) + shift.astype(np.float32), v.dtype)

    def _pil(self, image):
        return im.to_pil(self._array(np.asarray(image)))


# --- batches of images and labels -------------------------------------------------------------------------------------


class MixUpBatch(TensorOperation):
    """Blends each image of a batch with another one, and their one-hot labels. For after `batch`, on two columns.

    Args: alpha: of the beta distribution that the parts are drawn from, > 0."""

    _random, _arity = True, 2

    def __init__(self, alpha=1.0):
        self.alpha = check.real("MixUpBatch", "alpha", alpha, 0, open_low=True)

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
        raise RuntimeError(f"[{op}] images must be a batch with four axes, but have the shape {images.shape}. Use batch first.")
    if labels.ndim not in (2, 3) or len(labels) != len(images):
        raise RuntimeError(f"[{op}] labels must be one-hot, [batch, classes] or [batch, n, classes], but have the shape {labels.shape} "
                           f"for images {images.shape}. Use OneHot first.")
    return images, labels


class CutMixBatch(TensorOperation):
    """Puts a part of another image into each image of a batch, and blends their one-hot labels. For after `batch`, on two columns.

    Args: image_batch_format: an ImageBatchFormat. alpha: of the beta distribution of the part's size, > 0. prob: in [0, 1]."""

    _random, _arity = True, 2

    def __init__(self, image_batch_format, alpha=1.0, prob=1.0):
        self.image_batch_format = check.instance("CutMixBatch", "image_batch_format", image_batch_format, ImageBatchFormat)
        self.alpha = check.real("CutMixBatch", "alpha", alpha, 0, open_low=True)
        self.prob = _prob("CutMixBatch", prob)

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
            where = (slice(None), slice(top, bottom), slice(left, right)) if first else (slice(top, bottom), slice(left, right))
            out[i][where] = images[other][where]
            kept = np.float32(1 - (bottom - top) * (right - left) / (h * w))
            mixed[i] = labels[i].astype(np.float32) * kept + labels[other].astype(np.float32) * (1 - kept)
        return out, mixed


class MixUp(TensorOperation):
    """Blends a batch of images with itself (is_single) or with the batch before, and their one-hot labels; both as lists or arrays.

    Args: batch_size: the number of images. alpha: of the beta distribution, > 0. is_single: bool."""

    _random, _arity = True, 2

    def __init__(self, batch_size, alpha, is_single=True):
        self.batch_size = check.integer("MixUp", "batch_size", batch_size, 1, check.INT32_MAX)
        self.alpha = check.real("MixUp", "alpha", alpha, 0, open_low=True)
        self.is_single = check.boolean("MixUp", "is_single", is_single)
        self._before = None
        self._builtin = is_single  # with another batch the order of calls matters

    def _run(self, images, labels):
        images, labels = array("MixUp", images), array("MixUp", labels)
        if len(images) != self.batch_size or len(labels) != self.batch_size:
            raise ValueError(f"[MixUp] there must be {self.batch_size} images and labels, but are {len(images)} and {len(labels)}.")
        r = seeds.rng()
        part = r.betavariate(self.alpha, self.alpha)
        if self.is_single:
            order = r.sample(range(len(images)), len(images))
            other = images[order], labels[order]
        else:
            other = self._before or (images, labels)
            self._before = images, labels
        return images * part + other[0] * (1 - part), labels * part + other[1] * (1 - part)


# --- random choices of operations -------------------------------------------------------------------------------------


class UniformAugment(ImageOperation):
    """Applies `num_ops` of the operations, chosen at random, each with probability 1/2.

    Args: transforms: a list of operations. num_ops: int ≥ 1."""

    _random = True

    def __init__(self, transforms, num_ops=2):
        self.transforms = _check_list("UniformAugment", "transforms", transforms)
        self.num_ops = check.integer("UniformAugment", "num_ops", num_ops, 1, _LARGE)
        if num_ops > len(transforms):
            raise ValueError(f"[UniformAugment] num_ops must not be more than there are transforms, but got {num_ops} for {len(transforms)}.")

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

    def __init__(self, policy):
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
                    raise TypeError(f"[{op}] policy[{i}][{j}] must be (operation, probability), but got {check.shown(item)}.")
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

    def __init__(self, interpolation, fill_value):
        op = type(self).__name__
        self.interpolation = _inter(op, interpolation, allowed=_WARPS)
        self.fill_value = _fill(op, fill_value)

    def _apply(self, v, name, table, place, sign):
        if v.dtype != np.uint8:
            raise RuntimeError(f"[{type(self).__name__}] the input must be uint8, but is {v.dtype}.")
        magnitude = 0.0 if name in _WITHOUT_MAGNITUDE else float(table[name][place])
        if sign and name in _SIGNED:
            magnitude = -magnitude
        return _augment(v, name, magnitude, _warp_inter(self.interpolation), self.fill_value)


class RandAugment(_Augment):
    """Applies `num_ops` random operations of one strength (Cubuk et al. 2020).

    Args: num_ops: int ≥ 0. magnitude: int below num_magnitude_bins. num_magnitude_bins: int ≥ 2. interpolation, fill_value: as in
    Rotate."""

    def __init__(self, num_ops=2, magnitude=9, num_magnitude_bins=31, interpolation=Inter.NEAREST, fill_value=0):
        super().__init__(interpolation, fill_value)
        op = "RandAugment"
        self.num_ops = check.integer(op, "num_ops", num_ops, 0, _LARGE)
        self.num_magnitude_bins = check.integer(op, "num_magnitude_bins", num_magnitude_bins, 2, _LARGE)
        self.magnitude = check.integer(op, "magnitude", magnitude, 0, num_magnitude_bins - 1)

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

    def __init__(self, num_magnitude_bins=31, interpolation=Inter.NEAREST, fill_value=0):
        super().__init__(interpolation, fill_value)
        self.num_magnitude_bins = check.integer("TrivialAugmentWide", "num_magnitude_bins", num_magnitude_bins, 2, _LARGE)

    def _array(self, v):
        table = _magnitudes(self.num_magnitude_bins, *v.shape[:2], wide=True)
        names = ["Identity", *table, "AutoContrast", "Equalize"]
        r = seeds.rng()
        return self._apply(v, r.choice(names), table, r.randrange(self.num_magnitude_bins), r.random() < 0.5)


# the policies of AutoAugment (Cubuk et al. 2019): two (operation, probability, magnitude of ten bins) each
_POLICIES = {
    AutoAugmentPolicy.IMAGENET: """Posterize .4 8 Rotate .6 9|Solarize .6 5 AutoContrast .6 0|Equalize .8 0 Equalize .6 0|Posterize .6 7
        Posterize .6 6|Equalize .4 0 Solarize .2 4|Equalize .4 0 Rotate .8 8|Solarize .6 3 Equalize .6 0|Posterize .8 5 Equalize 1 0|Rotate
        .2 3 Solarize .6 8|Equalize .6 0 Posterize .4 6|Rotate .8 8 Color .4 0|Rotate .4 9 Equalize .6 0|Equalize 0 0 Equalize .8 0|Invert
        .6 0 Equalize 1 0|Color .6 4 Contrast 1 8|Rotate .8 8 Color 1 2|Color .8 8 Solarize .8 7|Sharpness .4 7 Invert .6 0|ShearX .6 5
        Equalize 1 0|Color .4 0 Equalize .6 0|Equalize .4 0 Solarize .2 4|Solarize .6 5 AutoContrast .6 0|Invert .6 0 Equalize 1 0|Color .6
        4 Contrast 1 8|Equalize .8 0 Equalize .6 0""",
    AutoAugmentPolicy.CIFAR10: """Invert .1 0 Contrast .2 6|Rotate .7 2 TranslateX .3 9|Sharpness .8 1 Sharpness .9 3|ShearY .5 8 TranslateY
        .7 9|AutoContrast .5 0 Equalize .9 0|ShearY .2 7 Posterize .3 7|Color .4 3 Brightness .6 7|Sharpness .3 9 Brightness .7 9|Equalize .6
        0 Equalize .5 0|Contrast .6 7 Sharpness .6 5|Color .7 7 TranslateX .5 8|Equalize .3 0 AutoContrast .4 0|TranslateY .4 3 Sharpness .2
        6|Brightness .9 6 Color .2 8|Solarize .5 2 Invert 0 0|Equalize .2 0 AutoContrast .6 0|Equalize .2 0 Equalize .6 0|Color .9 9 Equalize
        .6 0|AutoContrast .8 0 Solarize .2 8|Brightness .1 3 Color .7 0|Solarize .4 5 AutoContrast .9 0|TranslateY .9 9 TranslateY .7
        9|AutoContrast .9 0 Solarize .8 3|Equalize .8 0 Invert .1 0|TranslateY .7 9 AutoContrast .9 0""",
    AutoAugmentPolicy.SVHN: """ShearX .9 4 Invert .2 0|ShearY .9 8 Invert .7 0|Equalize .6 0 Solarize .6 6|Invert .9 0 Equalize .6 0|Equalize
        .6 0 Rotate .9 3|ShearX .9 4 AutoContrast .8 0|ShearY .9 8 Invert .4 0|ShearY .9 5 Solarize .2 6|Invert .9 0 AutoContrast .8
        0|Equalize .6 0 Rotate .9 3|ShearX .9 4 Solarize .3 3|ShearY .8 8 Invert .7 0|Equalize .9 0 TranslateY .6 6|Invert .9 0 Equalize .6
        0|Contrast .3 3 Rotate .8 4|Invert .8 0 TranslateY 0 2|ShearY .7 6 Solarize .4 8|Invert .6 0 Rotate .8 4|ShearY .3 7 TranslateX .9
        3|ShearX .1 6 Invert .6 0|Solarize .7 2 TranslateY .6 7|ShearY .8 4 Invert .8 0|ShearX .7 9 TranslateY .8 3|ShearY .8 5 AutoContrast
        .7 0|ShearX .7 2 Invert .1 0""",
}


class AutoAugment(_Augment):
    """Applies one of the pairs of operations that were found to train well on some data (Cubuk et al. 2019).

    Args: policy: an AutoAugmentPolicy. interpolation, fill_value: as in Rotate."""

    def __init__(self, policy=AutoAugmentPolicy.IMAGENET, interpolation=Inter.NEAREST, fill_value=0):
        super().__init__(interpolation, fill_value)
        self.policy = check.instance("AutoAugment", "policy", policy, AutoAugmentPolicy)
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
        if len(boxes) and ((boxes[:, :4] < 0).any() or (boxes[:, 0] + boxes[:, 2] > w).any() or (boxes[:, 1] + boxes[:, 3] > h).any()):
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

    def __init__(self, prob=0.5):
        self.prob = _prob("RandomHorizontalFlipWithBBox", prob)

    def _both(self, image, boxes):
        if seeds.rng().random() >= self.prob:
            return image, boxes
        boxes[:, 0] = image.shape[1] - boxes[:, 0] - boxes[:, 2]
        return np.ascontiguousarray(image[:, ::-1]), boxes


class RandomVerticalFlipWithBBox(_WithBoxes):
    """RandomVerticalFlip of an image and its boxes."""

    def __init__(self, prob=0.5):
        self.prob = _prob("RandomVerticalFlipWithBBox", prob)

    def _both(self, image, boxes):
        if seeds.rng().random() >= self.prob:
            return image, boxes
        boxes[:, 1] = image.shape[0] - boxes[:, 1] - boxes[:, 3]
        return np.ascontiguousarray(image[::-1]), boxes


class ResizeWithBBox(_WithBoxes):
    """Resize of an image and its boxes."""

    def __init__(self, size, interpolation=Inter.BILINEAR):
        self._resize = Resize(size, interpolation)

    def _both(self, image, boxes):
        out = self._resize._array(image)
        return out, _scale_boxes(boxes, *image.shape[:2], *out.shape[:2])


class RandomResizeWithBBox(_WithBoxes):
    """RandomResize of an image and its boxes."""

    def __init__(self, size):
        self._resize = RandomResize(size)

    def _both(self, image, boxes):
        out = self._resize._array(image)
        return out, _scale_boxes(boxes, *image.shape[:2], *out.shape[:2])


class RandomCropWithBBox(_WithBoxes):
    """RandomCrop of an image and its boxes."""

    def __init__(self, size, padding=None, pad_if_needed=False, fill_value=0, padding_mode=Border.CONSTANT):
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
            raise RuntimeError(f"[RandomCropWithBBox] crop size {c.size} is bigger than the image dimensions {image.shape[:2]}.")
        r = seeds.rng()
        y, x = r.randint(0, image.shape[0] - h), r.randint(0, image.shape[1] - w)
        return image[y:y + h, x:x + w].copy(), _cut_boxes(boxes, y, x, h, w)


class RandomResizedCropWithBBox(_WithBoxes):
    """RandomResizedCrop of an image and its boxes."""

    def __init__(self, size, scale=(0.08, 1.0), ratio=(3.0 / 4, 4.0 / 3), interpolation=Inter.BILINEAR, max_attempts=10):
        self._crop = RandomResizedCrop(size, scale, ratio, interpolation, max_attempts)

    def _both(self, image, boxes):
        top, left, h, w = self._crop._box(*image.shape[:2])
        out = im.resize(image[top:top + h, left:left + w], *self._crop.size, self._crop.interpolation)
        return out, _scale_boxes(_cut_boxes(boxes, top, left, h, w), h, w, *self._crop.size)


class BoundingBoxAugment(_WithBoxes):
    """Applies an operation to the parts of an image within some of its boxes. Args: transform: an operation. ratio: how many of the
    boxes, in [0, 1]."""

    def __init__(self, transform, ratio=0.3):
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


__all__ = sorted(n for n, v in list(globals().items()) if isinstance(v, type) and issubclass(v, TensorOperation)
                 and not n.startswith("_") and n not in ("TensorOperation", "ImageOperation")) + ["not_random"]
