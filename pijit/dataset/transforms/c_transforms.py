"""The old path of operations that ran in C++; they are those of `transforms`."""

from pijit.dataset.transforms.transforms import (Compose, Concatenate, Duplicate, Fill, Mask, OneHot, PadEnd,
                                                 RandomApply,
                                                 RandomChoice, Relational, Slice, TensorOperation, TypeCast, Unique)

__all__ = ["Compose", "Concatenate", "Duplicate", "Fill", "Mask", "OneHot", "PadEnd", "RandomApply", "RandomChoice",
           "Relational", "Slice", "TensorOperation", "TypeCast", "Unique"]
