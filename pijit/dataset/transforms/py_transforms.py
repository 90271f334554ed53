"""The old path of operations that ran in Python; they are those of `transforms`."""

from pijit.dataset.transforms.transforms import Compose, OneHot, RandomApply, RandomChoice, RandomOrder, TensorOperation

PyTensorOperation = TensorOperation


class OneHotOp(OneHot):
    """OneHot under its old name."""


__all__ = ["Compose", "OneHotOp", "PyTensorOperation", "RandomApply", "RandomChoice", "RandomOrder"]
