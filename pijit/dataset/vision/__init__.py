"""Operations on images, and on image files."""

import typing as _typing

from pijit.dataset.vision import c_transforms, py_transforms, transforms, utils  # noqa: F401
from pijit.dataset.vision.transforms import *  # noqa: F403
from pijit.dataset.vision.transforms import __all__ as _operations
from pijit.dataset.vision.utils import (AutoAugmentPolicy, Border, ConvertMode, ImageBatchFormat, ImageReadMode, Inter,
                                        SliceMode,
                                        encode_jpeg, encode_png, get_image_num_channels, get_image_size, read_file,
                                        read_image,
                                        write_file, write_jpeg, write_png)

__all__ = _operations + ["AutoAugmentPolicy", "Border", "ConvertMode", "ImageBatchFormat", "ImageReadMode", "Inter",
                         "SliceMode",
                         "encode_jpeg", "encode_png", "get_image_num_channels", "get_image_size", "read_file",
                         "read_image",
                         "write_file", "write_jpeg", "write_png"]

if _typing.TYPE_CHECKING:  # operations are made from tables
    def __getattr__(name: str) -> _typing.Any: ...
