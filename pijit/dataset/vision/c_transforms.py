"""The old path of operations on ndarrays; they are those of `vision`."""

from pijit.dataset.vision.transforms import *  # noqa: F403
from pijit.dataset.vision.transforms import ImageOperation as ImageTensorOperation  # noqa: F401
from pijit.dataset.vision.utils import (  # noqa: F401
    AutoAugmentPolicy, Border, ConvertMode, ImageBatchFormat, Inter, SliceMode)
