"""Names of modes of vision operations, and functions on images and image files."""

from __future__ import annotations

import enum
import os
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check

if TYPE_CHECKING:
    from typing import Any


class Inter(enum.IntEnum):
    """How pixels between pixels are computed."""

    NEAREST = 0
    ANTIALIAS = 1
    BILINEAR = LINEAR = 2
    BICUBIC = CUBIC = 3
    AREA = 4
    PILCUBIC = 5


class Border(str, enum.Enum):
    """What is put around an image."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


class ImageBatchFormat(enum.IntEnum):
    """Where the channels of a batch of images are."""

    NHWC = 0
    NCHW = 1


class ImageReadMode(enum.IntEnum):
    """What read_image makes of a file: as it is, one channel, or three."""

    UNCHANGED = 0
    GRAYSCALE = 1
    COLOR = 2


class SliceMode(enum.IntEnum):
    """What SlicePatches does where an image cannot be divided: pad it, or drop pixels."""

    PAD = 0
    DROP = 1


class AutoAugmentPolicy(str, enum.Enum):
    """The data that an AutoAugment policy was found on."""

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


class ConvertMode(enum.IntEnum):
    """Conversions of ConvertColor."""

    COLOR_BGR2BGRA = COLOR_RGB2RGBA = 0
    COLOR_BGRA2BGR = COLOR_RGBA2RGB = 1
    COLOR_BGR2RGBA = COLOR_RGB2BGRA = 2
    COLOR_RGBA2BGR = COLOR_BGRA2RGB = 3
    COLOR_BGR2RGB = COLOR_RGB2BGR = 4
    COLOR_BGRA2RGBA = COLOR_RGBA2BGRA = 5
    COLOR_BGR2GRAY = 6
    COLOR_RGB2GRAY = 7
    COLOR_GRAY2BGR = COLOR_GRAY2RGB = 8
    COLOR_GRAY2BGRA = COLOR_GRAY2RGBA = 9
    COLOR_BGRA2GRAY = 10
    COLOR_RGBA2GRAY = 11


# images above this many pixels are refused before memory is set aside for them
_MAX_PIXELS = 1 << 28


def decode(data: Any, op: str = "Decode", mode: str = "RGB") -> Any:
    """A PIL image of the bytes of an image file. RuntimeError for bytes that are none, or an image that is too
    large."""
    import io
    from PIL import Image, UnidentifiedImageError
    try:
        image = Image.open(io.BytesIO(data))
        if image.size[0] * image.size[1] > _MAX_PIXELS:
            raise RuntimeError(
                f"[{op}] the image has {image.size[0]} x {image.size[1]} pixels, more than {_MAX_PIXELS}.")
        if mode == "RGB" and image.mode == "RGBA":
            # transparency is left out, not blended
            return Image.fromarray(np.ascontiguousarray(np.asarray(image)[:, :, :3]))
        if mode is not None:
            return image.convert(mode)
        image.load()  # now, so that errors of its data are raised here
        return image
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError) as e:
        raise RuntimeError(f"[{op}] image decode failed: {e}") from e


def get_image_size(image: Any) -> list[Any]:
    """[height, width] of an ndarray [..., height, width, channels] or [height, width], or of a PIL image."""
    if hasattr(image, "getbands"):
        return [image.size[1], image.size[0]]
    check.instance("get_image_size", "image", image, np.ndarray)
    if image.ndim < 2:
        raise TypeError(f"[get_image_size] image must have two axes or more, but has shape {image.shape}.")
    return list(image.shape[:2] if image.ndim == 2 else image.shape[-3:-1])


def get_image_num_channels(image: Any) -> Any:
    """The number of channels of an ndarray [..., height, width, channels] or [height, width], or of a PIL image."""
    if hasattr(image, "getbands"):
        return len(image.getbands())
    check.instance("get_image_num_channels", "image", image, np.ndarray)
    if image.ndim < 2:
        raise TypeError(f"[get_image_num_channels] image must have two axes or more, but has shape {image.shape}.")
    return 1 if image.ndim == 2 else image.shape[-1]


def read_file(filename: str) -> np.ndarray:
    """The bytes of a file, as uint8. RuntimeError where it cannot be read."""
    check.string("read_file", "filename", filename)
    try:
        if not os.path.isfile(filename):
            raise OSError("there is no such file")
        return np.fromfile(filename, np.uint8)
    except OSError as e:
        raise RuntimeError(f"[read_file] cannot read {filename!r}: {e}") from e


def read_image(filename: str, mode: ImageReadMode = ImageReadMode.UNCHANGED) -> np.ndarray:
    """An image file as uint8 [height, width, channels].

    Args: filename: str. mode: an ImageReadMode. Raises RuntimeError where the file is no image."""
    check.instance("read_image", "mode", mode, ImageReadMode)
    image = decode(read_file(filename).tobytes(), "read_image",
                   {ImageReadMode.GRAYSCALE: "L", ImageReadMode.COLOR: "RGB"}.get(mode))
    if image.mode in ("P", "1", "CMYK", "LA"):
        image = image.convert("RGB" if image.mode != "1" else "L")
    out = np.array(image)
    return out[:, :, None] if out.ndim == 2 else out


def write_file(filename: str, data: Any) -> None:
    """Writes the uint8 bytes of an ndarray or Tensor with one axis to a file."""
    check.string("write_file", "filename", filename)
    data = data.asnumpy() if hasattr(data, "asnumpy") else data
    check.instance("write_file", "data", data, np.ndarray)
    if data.dtype != np.uint8 or data.ndim != 1:
        raise RuntimeError(f"[write_file] data must be uint8 with one axis, but is {data.dtype} of shape {data.shape}.")
    try:
        data.tofile(filename)
    except OSError as e:
        raise RuntimeError(f"[write_file] cannot write {filename!r}: {e}") from e


def _encode(op, image, kind, **options):
    import io
    from PIL import Image
    image = image.asnumpy() if hasattr(image, "asnumpy") else image
    check.instance(op, "image", image, np.ndarray)
    if (image.dtype != np.uint8 or image.ndim not in (2, 3) or image.ndim == 3 and image.shape[2] not in (1, 3)
        or not image.size):
        raise RuntimeError(
            f"[{op}] image must be uint8 [height, width], [height, width, 1] or [height, width, 3], but is "
                           f"{image.dtype} of shape {image.shape}.")
    out = io.BytesIO()
    Image.fromarray(image[:, :, 0] if image.ndim == 3 and image.shape[2] == 1 else image).save(out, kind, **options)
    return np.frombuffer(out.getvalue(), np.uint8).copy()


def encode_jpeg(image: Any, quality: int = 75) -> np.ndarray:
    """The bytes (uint8) of a JPEG file of a uint8 image. Args: quality: 1 to 100."""
    check.integer("encode_jpeg", "quality", quality, 1, 100)
    return _encode("encode_jpeg", image, "JPEG", quality=quality)


def encode_png(image: Any, compression_level: int = 6) -> np.ndarray:
    """The bytes (uint8) of a PNG file of a uint8 image. Args: compression_level: 0 to 9."""
    check.integer("encode_png", "compression_level", compression_level, 0, 9)
    return _encode("encode_png", image, "PNG", compress_level=compression_level)


def write_jpeg(filename: str, image: Any, quality: int = 75) -> None:
    """Writes a uint8 image as a JPEG file."""
    check.string("write_jpeg", "filename", filename)
    write_file(filename, encode_jpeg(image, quality))


def write_png(filename: str, image: Any, compression_level: int = 6) -> None:
    """Writes a uint8 image as a PNG file."""
    check.string("write_png", "filename", filename)
    write_file(filename, encode_png(image, compression_level))
