"""The old path of operations on PIL images; they are those of `vision`, except that Decode gives a PIL image."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit.dataset.vision import transforms as _transforms
from pijit.dataset.vision.transforms import *  # noqa: F403
from pijit.dataset.vision.transforms import CutOut as _CutOut
from pijit.dataset.vision.utils import Border, Inter  # noqa: F401

if TYPE_CHECKING:
    from typing import Any


class Decode(_transforms.Decode):
    """The PIL image of an image file's bytes."""

    def __init__(self) -> None:
        super().__init__(to_pil=True)


class Cutout(_CutOut):
    """CutOut of images [channels, height, width]. Args: length: the edge of squares. num_patches: how many."""

    def __init__(self, length: Any, num_patches: int = 1) -> None:
        super().__init__(length, num_patches, is_hwc=False)


if TYPE_CHECKING:  # operations are made from tables
    def __getattr__(name: str) -> Any: ...
