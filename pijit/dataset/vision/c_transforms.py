"""The old path of operations on ndarrays; they are those of `vision`."""

import typing as _typing

from pijit.dataset.vision.transforms import *  # noqa: F403
from pijit.dataset.vision.transforms import ImageOperation as ImageTensorOperation  # noqa: F401
from pijit.dataset.vision.utils import (  # noqa: F401
    AutoAugmentPolicy, Border, ConvertMode, ImageBatchFormat, Inter, SliceMode)

if _typing.TYPE_CHECKING:  # operations are made from tables
    def __getattr__(name: str) -> _typing.Any: ...
