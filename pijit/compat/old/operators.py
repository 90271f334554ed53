"""Operators and their helpers of MindSpore's inner modules."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from pijit import kinds
from pijit._C import Tensor
from pijit.compat.old import checkparam
from pijit.grad import with_own_gradient
from pijit.ops.custom import AkgCpuRegOp  # noqa: F401
from pijit.ops import composite, function as F, primitives as P
from pijit.ops.grad_base import bprop_getters  # noqa: F401
from pijit.ops.primitive import Primitive, prim_attr_register

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from pijit._types import Axis, DTypeLike, Shape

_primexpr = composite.constexpr


def _run_op(obj, op_name, args):
    """Calls a primitive."""
    return obj(*args)


_cache = {}


def _key(value):
    """What tells arguments apart: 1, 1.0 and True are equal, and mean different things."""
    return (type(value), tuple(map(_key, value)) if isinstance(value, tuple) else value)


def _get_cache_prim(cls):
    """Makes primitives of a class, one for the same arguments."""

    def make(*args, **kwargs):
        key = cls, _key(args), _key(tuple(sorted(kwargs.items())))
        try:
            made = _cache.get(key)
        except TypeError:  # an argument that can't be hashed
            return cls(*args, **kwargs)
        if made is None:
            if len(_cache) == 4096:
                _cache.clear()
            made = _cache[key] = cls(*args, **kwargs)
        return made

    return make


def is_sequence_value_unknown(sequence: Any) -> bool:
    """False: what a function sees is known."""
    return False


def is_shape_unknown(shape: Shape) -> bool:
    """Whether a shape holds a size that isn't known, -1, or is of unknown rank, (-2,)."""
    return any(d in (-1, -2) for d in shape)


def is_dim_unknown(shape: Shape) -> bool:
    """Whether a shape is of unknown rank, (-2,)."""
    return -2 in tuple(shape)


def is_shape_known(shape: Shape) -> bool:
    """Whether all sizes of a shape are known."""
    return not is_shape_unknown(shape)


def get_broadcast_shape(x_shape: Any, y_shape: Any, prim_name: str | None, arg_name1: str = "x",
                        arg_name2: str = "y") -> Any:
    """The shape to which two broadcast. ValueError where they don't."""
    if x_shape == y_shape:
        return x_shape
    if is_dim_unknown(x_shape) or is_dim_unknown(y_shape):
        return [-2]
    n = max(len(x_shape), len(y_shape))
    result = []
    for a, b in zip((1,) * (n - len(x_shape)) + tuple(x_shape), (1,) * (n - len(y_shape)) + tuple(y_shape)):
        if a != b and not {1, -1} & {a, b}:
            raise ValueError(
                f"{prim_name}: the shapes {tuple(x_shape)} of {arg_name1!r} and {tuple(y_shape)} of {arg_name2!r} "
                f"don't broadcast, as {a} and {b} meet."
            )
        result.append(b if a == 1 else a if b == 1 else max(a, b))
    return result


def get_concat_offset(x_shp: Any, x_type: Any, axis: Axis, prim_name: str | None) -> tuple[Any, ...]:
    """(where each shape's part begins along the axis, the sum of their sizes there, the axis)."""
    rank = len(x_shp[0])
    axis = checkparam.check_int_range(axis, -rank, rank, checkparam.INC_LEFT, "axis", prim_name) % rank
    offset, total = [], 0
    for k, (shape, kind) in enumerate(zip(x_shp, x_type)):
        checkparam.check_subclass(f"shape{k}", kind, kinds.tensor_type, prim_name)
        if len(shape) != rank or any(a != b for i, (a, b) in enumerate(zip(shape, x_shp[0])) if i != axis):
            raise ValueError(
                f"{prim_name}: the shape {shape} of element {k} differs from the first one's {x_shp[0]} beside "
                f"axis {axis}."
            )
        offset.append(total)
        total += shape[axis]
    return offset, total, axis


def dim_not_equal(dim1: Any, dim2: Any) -> Any:
    """Whether two sizes are known and differ."""
    return dim1 != dim2 and dim1 >= 0 and dim2 >= 0


def get_1d_shape(in_shape: Any) -> tuple[int]:
    """The shape of all elements in a row."""
    return (math.prod(in_shape),)


def ms_arrange(num: Any) -> list[int]:
    """The numbers below num, as a list."""
    return list(range(num))


def range_op(start: Any, limit: Any, delta: Any, dtype: DTypeLike) -> Tensor:
    """Numbers from start to limit, as a Tensor."""
    return F.arange(start, limit, delta, dtype=dtype)


def generate_shape_index(out_shape: Any, indices_shape: Any, axis: Axis) -> Any:
    """The order of axes by which a gather's gradient brings the axis to the front."""
    rank, ind = len(out_shape), len(indices_shape)
    if axis < 0:
        axis += rank - ind + 1
    index = tuple(range(rank))
    return index[axis : axis + ind] + index[:axis] + index[axis + ind :]


class TopTypeof(Primitive):
    """The kind of a value: mindspore.tensor for all Tensors, a dtype for numbers."""

    def __call__(self, x: Any) -> Any:
        if isinstance(x, Tensor):
            return kinds.tensor_type
        if isinstance(x, (tuple, list)):
            return kinds.tuple_ if isinstance(x, tuple) else kinds.list_
        return kinds.int_ if type(x) is int else kinds.kind_of(x)


class TupleToTensor(Primitive):
    """A Tensor of numbers: TupleToTensor()(input, dtype)."""

    def __call__(self, input: Any, dtype: DTypeLike) -> Tensor:
        return Tensor(list(input)) if dtype is None else Tensor(list(input), dtype)


class ListToTensor(TupleToTensor):
    """A Tensor of numbers: ListToTensor()(input, dtype)."""


class TensorToList(Primitive):
    """A vector's numbers as a list."""

    def __call__(self, input_tensor: Any) -> list[Any | Any]:
        return list(P.TensorToTuple()(input_tensor))


class TensorToScalar(Primitive):
    """A Tensor's only number."""

    def __call__(self, input_tensor: Any) -> Any:
        return input_tensor.item()


class Morph(Primitive):
    """An operator whose shapes and dtypes a program gives: runs fn as it is.

    Args:
        fn (function): what it computes.
        infer_shape (function): gives the output's shape; not needed here.
        infer_dtype (function): gives the output's dtype; not needed here.
        bprop_fn (function, optional): the gradient, bprop_fn(*inputs, out, dout). Default: None.
    """

    @prim_attr_register
    def __init__(self, fn: Callable[..., Any], infer_shape: Callable[..., Any], infer_dtype: Callable[..., Any],
                 bprop_fn: Callable[..., Any] | None = None) -> None:
        for name, f in (("fn", fn), ("infer_shape", infer_shape), ("infer_dtype", infer_dtype)):
            if not callable(f):
                raise TypeError(f"Morph: {name!r} has to be a function, not {f!r}.")

    def __call__(self, *args: Any) -> Any:
        if self.bprop_fn is None:
            return self.fn(*args)
        return with_own_gradient(self.fn, self.bprop_fn, "Morph", args, {})


class custom_vjp:
    """Decorator: the gradient of the function is what `defbwd` registers, bwd(*inputs, out, dout)."""

    fn: Callable[..., Any]
    bwd: Any

    def __init__(self, fn: Callable[..., Any] | None = None) -> None:
        self.fn, self.bwd = fn, None
        if fn is not None:
            functools.update_wrapper(self, fn)

    def defbwd(self, bwd: Any) -> Any:
        """Registers the gradient."""
        self.bwd = bwd
        return bwd

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.fn is None:
            return custom_vjp(*args, **kwargs)
        if self.bwd is None:
            return self.fn(*args, **kwargs)
        return with_own_gradient(self.fn, self.bwd, "custom_vjp", args, kwargs)


class InplaceAddExt(Primitive):
    """Adds alpha * other to the first Tensor, in place."""

    def __call__(self, input: Any, other: Any, alpha: float = 1) -> Any:
        return input.add_(other * alpha if alpha != 1 else other)


def _subscripted(input, dim, index):
    return input[(slice(None),) * checkparam.check_axis_in_range(dim, input.ndim) + (index,)]


def select_ext_view_op(input: Any, dim: Any, index: Any) -> Any:
    """The part of a Tensor at one position of a dimension. ValueError where there is none."""
    size = input.shape[checkparam.check_axis_in_range(dim, input.ndim)]
    return _subscripted(input, dim, checkparam.check_int_range(index, -size, size, checkparam.INC_LEFT, "index"))


def slice_ext_view_op(input: Any, dim: Any, start: Any, end: Any, step: Any) -> Any:
    """The part of a Tensor between positions of a dimension. ValueError for another dimension, or a step below 1."""
    return _subscripted(input, dim, slice(start, end, checkparam.check_positive_int(step, "step")))


def split_tensor_view_op(input: Any, split_size: Any, dim: Axis = 0) -> tuple[Tensor, ...]:
    """Parts of a Tensor of a size along a dimension."""
    return F.split(input, split_size, dim)
