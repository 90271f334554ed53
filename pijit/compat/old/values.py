"""Constants, dtypes and helpers of MindSpore's inner modules."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit import dtype as mstype, kinds, random
from pijit._C import Tensor
from pijit.compat.old import checkparam
from pijit.sparse_tensor import RowTensor

if TYPE_CHECKING:
    import builtins
    from typing import Any
    from pijit._C import DType
    from pijit._types import DTypeLike

bool: DType = mstype.bool_
MetaTensor = Tensor
PARAMETER_NAME_DEFAULT = "Parameter"
tensor: Any = kinds.tensor_type


def frombuffer(buffer: Any, dtype: DType, count: int = -1, offset: int = 0) -> Tensor:
    """A Tensor of one dimension with a copy of a buffer's elements.

    Args:
        buffer: an object with the buffer interface.
        dtype (dtype): what the elements are.
        count (int): how many, -1 for all. Default: -1.
        offset (int): where the first begins, in bytes. Default: 0.

    Raises:
        TypeError: if the object has no buffer, or dtype is none, or `dtype` is not a dtype.
        RuntimeError: if the buffer is empty or too short, or is not a whole number of elements, or `offset` is out of
            range.
    """
    if not isinstance(dtype, mstype.Type):
        raise _check.refused("frombuffer", "dtype", _check.DTYPE, dtype)
    data = memoryview(buffer).cast("B")
    kind = np.dtype(mstype.dtype_to_nptype(dtype))
    if count < -1 or count == 0 or data.nbytes == 0:
        raise RuntimeError(
            f"For 'frombuffer', 'count' must be -1 or greater than 0 and the buffer not empty, but got count {count} "
            f"and {data.nbytes} bytes."
        )
    if not 0 <= offset < data.nbytes:
        raise _check.refused("frombuffer", "offset", _check.within(0, data.nbytes - 1), offset, RuntimeError)
    rest = data.nbytes - offset
    if count == -1 and rest % kind.itemsize or count > 0 and count * kind.itemsize > rest:
        raise RuntimeError(
            f"For 'frombuffer', {rest} bytes are no {'whole number of' if count == -1 else count} elements of "
            f"{kind.itemsize} bytes."
        )
    return Tensor(np.frombuffer(data, kind, count, offset).copy(), dtype)


def type_size_in_bytes(dtype: DTypeLike) -> int:
    """How many bytes an element has. TypeError for no dtype."""
    if not isinstance(dtype, mstype.Type):
        raise TypeError(f"type_size_in_bytes: 'dtype' has to be a dtype, not {dtype!r}.")
    return dtype.itemsize


def issubclass_(type_: Any, dtype: DTypeLike) -> builtins.bool:
    """Whether a dtype or kind is another, or among those that it stands for. False for other values."""
    return isinstance(type_, (mstype.Type, kinds._Kind)) and checkparam.is_kind(type_, dtype)


def _is_in_parallel_mode():
    """False: there is one device."""
    return False


class _OpSeeds:
    """How often seeds were asked for, since the global one was set."""

    def __init__(self) -> None:
        self.times, self.counts = None, collections.Counter()

    def next(self, op_seed: Any, kernel_name: Any) -> Any:
        """The operator's seed, and others that follow from it when it is asked for again."""
        if self.times != random._chosen.times:
            self.times, self.counts = random._chosen.times, collections.Counter()
        self.counts[kernel_name, op_seed] += 1
        return (op_seed + (self.counts[kernel_name, op_seed] - 1) * 533697028) % (2**31 - 1)


_op_seeds = _OpSeeds()


def _get_op_seed(op_seed, kernel_name):
    """The seed of an operator."""
    return checkparam.check_non_negative_int(op_seed, "seed", kernel_name)


def _get_graph_seed(op_seed, kernel_name):
    """(the global seed, one for the operator), which tell a graph's random operators apart: (0, 0) where none was
    set."""
    seed, op_seed = random.get_seed() or 0, op_seed or 0
    _get_op_seed(op_seed, kernel_name)
    return seed, _op_seeds.next(op_seed, kernel_name) if seed or op_seed else 0


class _OfTensors(type):
    def __instancecheck__(cls, value: Any) -> builtins.bool:
        return False

    def __subclasscheck__(cls, other: Any) -> builtins.bool:
        return other is cls


class StubTensor(metaclass=_OfTensors):
    """MindSpore's class of results that are not there yet. There are none: `isinstance` is False of all."""


def _convert_stub(stub: Any) -> Any:
    """The value itself: results are Tensors at once."""
    return stub


stub_tensor = _convert_stub


def _init_stub_tensor_api():
    """Kept for its name."""


class RowTensorInner(RowTensor):
    """A RowTensor, as gradients of embeddings are in MindSpore."""


class Registry(collections.UserDict):
    """Names and what they stand for: `register(name, value)` and `get(name)`."""

    def register(self, obj_str: Any, obj: Any) -> None:
        """Keeps a value under a name."""
        self[_checked_name(obj_str)] = obj

    def get(self, obj_str: Any, default: Any = None) -> Any:
        """The value of a name. AttributeError for an unknown one, TypeError for no str."""
        found = self.data.get(_checked_name(obj_str), default)
        if found is None:
            found = self._known(obj_str)
        if found is None:
            raise AttributeError(f"nothing is registered as {obj_str!r}.")
        return found

    def _known(self, name):
        return None


def _checked_name(name):
    return checkparam.check_value_type("name", name, str, "Registry")


class _TensorOperators(Registry):
    """Tensor's operators by their names: those of `ops`, and what was registered."""

    def _known(self, name):
        from pijit import ops

        return getattr(ops, name.strip("_"), None)


tensor_operator_registry: _TensorOperators = _TensorOperators()


class Backend:
    """Names of what processes send each other by."""

    UNDEFINED, HCCL, NCCL, HCCL_MPI, MCCL = "undefined", "hccl", "nccl", "hccl_mpi", "mccl"

    def __new__(cls, name: str) -> str:
        """The name as MindSpore writes it. TypeError for no str, ValueError for an unknown one."""
        checkparam.check_value_type("name", name, str, "Backend")
        known = {"HCCL": cls.HCCL, "NCCL": cls.NCCL, "HCCL_MPI": cls.HCCL_MPI, "MCCL": cls.MCCL}
        return known[checkparam.check_string(name.upper(), list(known), "name", "Backend")]
