"""Constants, dtypes and helpers of MindSpore's inner modules."""

import collections

import numpy as np

from pijit import dtype as mstype
from pijit._C import Tensor
from pijit.sparse_tensor import RowTensor

bool = mstype.bool_  # noqa: A001
PARAMETER_NAME_DEFAULT = "Parameter"


def frombuffer(buffer, dtype, count=-1, offset=0):
    """A Tensor of one dimension with a copy of a buffer's elements.

    Args:
        buffer: an object with the buffer interface.
        dtype (dtype): what the elements are.
        count (int): how many, -1 for all. Default: -1.
        offset (int): where the first begins, in bytes. Default: 0.

    Raises:
        TypeError: where the object has no buffer, or dtype is none.
        RuntimeError: where the buffer is empty or too short, or isn't a whole number of elements.
    """
    if not isinstance(dtype, mstype.Type):
        raise TypeError(f"For 'frombuffer', 'dtype' must be a dtype, but got {type(dtype).__name__}.")
    data = memoryview(buffer).cast("B")
    kind = np.dtype(mstype.dtype_to_nptype(dtype))
    if count < -1 or count == 0 or data.nbytes == 0:
        raise RuntimeError(
            f"For 'frombuffer', 'count' must be -1 or greater than 0 and the buffer not empty, but got count {count} and {data.nbytes} bytes."
        )
    if not 0 <= offset < data.nbytes:
        raise RuntimeError(f"For 'frombuffer', 'offset' must be in [0, {data.nbytes - 1}], but got {offset}.")
    rest = data.nbytes - offset
    if count == -1 and rest % kind.itemsize or count > 0 and count * kind.itemsize > rest:
        raise RuntimeError(
            f"For 'frombuffer', {rest} bytes are no {'whole number of' if count == -1 else count} elements of {kind.itemsize} bytes."
        )
    return Tensor(np.frombuffer(data, kind, count, offset).copy(), dtype)


def type_size_in_bytes(dtype):
    """How many bytes an element has."""
    return np.dtype(mstype.dtype_to_nptype(dtype)).itemsize


def _is_in_parallel_mode():
    """False: there is one device."""
    return False


_op_seeds = collections.Counter()


def _get_op_seed(op_seed, kernel_name):
    """A number that follows from the seed of an operator, its name and the global seed, or a random one without both."""
    from pijit.random import get_seed

    seed = get_seed() or 0
    if not seed and not op_seed:
        return int(np.random.randint(0, 2**31 - 1))
    return (seed * 1000003 + op_seed * 7919 + sum(map(ord, kernel_name))) % (2**31 - 1)


def _get_graph_seed(op_seed, kernel_name):
    """(the global seed, the operator's)."""
    from pijit.random import get_seed

    return get_seed() or 0, op_seed or 0


class _OfTensors(type):
    def __instancecheck__(cls, value):
        return False

    def __subclasscheck__(cls, other):
        return other is cls


class StubTensor(metaclass=_OfTensors):
    """MindSpore's class of results that are not there yet. There are none: `isinstance` is False of all."""


def _convert_stub(stub):
    """The value itself: results are Tensors at once."""
    return stub


stub_tensor = _convert_stub


def _init_stub_tensor_api():
    """Kept for its name."""


class RowTensorInner(RowTensor):
    """A RowTensor, as gradients of embeddings are in MindSpore."""


class Registry(collections.UserDict):
    """Names and what they stand for: `register(name, value)` and `get(name)`."""

    def register(self, obj_str, obj):
        """Keeps a value under a name."""
        if isinstance(obj_str, str):
            self[obj_str] = obj

    def get(self, obj_str, default=None):
        """The value of a name. AttributeError for an unknown one."""
        if obj_str not in self:
            if default is not None:
                return default
            raise AttributeError(f"The tensor operator {obj_str!r} is not registered.")
        return self[obj_str]


class _TensorOperators(Registry):
    """Tensor's operators by their names: those of `ops`, and what was registered."""

    def get(self, obj_str, default=None):
        if obj_str in self:
            return self[obj_str]
        from pijit import ops

        found = getattr(ops, obj_str.strip("_"), default)
        if found is None:
            raise AttributeError(f"The tensor operator {obj_str!r} is not registered.")
        return found


tensor_operator_registry = _TensorOperators()


class Backend:
    """Names of what processes send each other by."""

    UNDEFINED, HCCL, NCCL, HCCL_MPI, MCCL = "undefined", "hccl", "nccl", "hccl_mpi", "mccl"

    def __new__(cls, name):
        """The name as MindSpore writes it. TypeError for no str, ValueError for an unknown one."""
        if not isinstance(name, str):
            raise TypeError(
                f"For 'Backend', the class variable 'name' must be a string, but got the type : {type(name)}"
            )
        value = getattr(cls, name.upper(), cls.UNDEFINED)
        if value == cls.UNDEFINED:
            raise ValueError(
                f"For 'Backend', the value of 'name' must be one of hccl, nccl, hccl_mpi, mccl, but got {name!r}."
            )
        return value
