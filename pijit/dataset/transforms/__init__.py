"""Operations on data of any kind: types, shapes, masks, and operations made of others."""

from pijit.dataset.transforms import c_transforms, py_transforms, transforms  # noqa: F401
from pijit.dataset.transforms.transforms import (Compose, Concatenate, Duplicate, Fill, Mask, OneHot, PadEnd,
                                                 RandomApply,
                                                 RandomChoice, RandomOrder, Relational, Slice, TensorOperation,
                                                 TypeCast,
                                                 Unique, not_random)

__all__ = ["Compose", "Concatenate", "Duplicate", "Fill", "Mask", "OneHot", "PadEnd", "RandomApply", "RandomChoice",
           "RandomOrder", "Relational", "Slice", "TensorOperation", "TypeCast", "Unique", "not_random"]
