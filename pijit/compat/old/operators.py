"""Operators and their helpers of MindSpore's inner modules."""

import functools

from pijit import kinds
from pijit._C import Tensor
from pijit.grad import with_own_gradient
from pijit.ops import function as F, composite
from pijit.ops.grad_base import bprop_getters  # noqa: F401
from pijit.ops.primitive import Primitive, prim_attr_register

_primexpr = composite.constexpr


def _run_op(obj, op_name, args):
    """Calls a primitive."""
    return obj(*args)


@functools.lru_cache(maxsize=4096)
def _cached(cls, args, kwargs):
    return cls(*args, **dict(kwargs))


def _get_cache_prim(cls):
    """Makes primitives of a class, one for equal arguments."""

    def make(*args, **kwargs):
        try:
            return _cached(cls, args, tuple(sorted(kwargs.items())))
        except TypeError:  # an argument that can't be hashed
            return cls(*args, **kwargs)

    return make


def is_sequence_value_unknown(sequence):
    """False: what a function sees is known."""
    return False


def is_shape_unknown(shape):
    """Whether a shape holds a size that isn't known, -1, or is of unknown rank, (-2,)."""
    return any(d in (-1, -2) for d in shape)


def is_dim_unknown(shape):
    """Whether a shape is of unknown rank, (-2,)."""
    return -2 in tuple(shape)


def is_shape_known(shape):
    """Whether all sizes of a shape are known."""
    return not is_shape_unknown(shape)


def get_broadcast_shape(x_shape, y_shape, prim_name, arg_name1="x", arg_name2="y"):
    """The shape to which two broadcast, as a list. ValueError where they don't."""
    x, y = tuple(x_shape), tuple(y_shape)
    if x == y:
        return list(x)
    n = max(len(x), len(y))
    result = []
    for i, (a, b) in enumerate(zip((1,) * (n - len(x)) + x, (1,) * (n - len(y)) + y)):
        if a != b and 1 not in (a, b) and -1 not in (a, b):
            raise ValueError(
                f"For '{prim_name}', {arg_name1}.shape and {arg_name2}.shape need to broadcast. The value of {arg_name1}.shape[{i - n}] or "
                f"{arg_name2}.shape[{i - n}] must be 1 or -1 when they are not the same, but got {arg_name1}.shape = {x} and "
                f"{arg_name2}.shape = {y}."
            )
        result.append(b if a == 1 else a if b == 1 else -1 if -1 in (a, b) and a == b else max(a, b))
    return result


def get_concat_offset(x_shp, x_type, axis, prim_name):
    """(where each shape's part begins along the axis, the sum of their sizes there, the axis)."""
    rank = len(x_shp[0])
    if not -rank - 1 <= axis < rank:
        raise ValueError(
            f"For '{prim_name}', the 'axis' must be in the range of [{-rank - 1}, {rank}), but got {axis}."
        )
    axis %= rank
    offset, total = [], 0
    for k, shape in enumerate(x_shp):
        if any(a != b for i, (a, b) in enumerate(zip(shape, x_shp[0])) if i != axis) or len(shape) != rank:
            raise ValueError(
                f"For '{prim_name}', element {k} has shape {shape}, which differs from the first one's {x_shp[0]} beside axis {axis}."
            )
        offset.append(total)
        total += shape[axis]
    return offset, total, axis


def generate_shape_index(out_shape, indices_shape, axis):
    """The order of axes by which a gather's gradient brings the axis to the front."""
    rank, ind = len(out_shape), len(indices_shape)
    if axis < 0:
        axis += rank - ind + 1
    index = tuple(range(rank))
    return index[axis : axis + ind] + index[:axis] + index[axis + ind :]


class TopTypeof(Primitive):
    """The kind of a value: mindspore.tensor for all Tensors, a dtype for numbers."""

    def __call__(self, x):
        if isinstance(x, Tensor):
            return kinds.tensor_type
        if isinstance(x, (tuple, list)):
            return kinds.tuple_ if isinstance(x, tuple) else kinds.list_
        return kinds.int_ if type(x) is int else kinds.kind_of(x)


class TupleToTensor(Primitive):
    """A Tensor of numbers: TupleToTensor()(input, dtype)."""

    def __call__(self, input, dtype=None):
        return Tensor(list(input)) if dtype is None else Tensor(list(input), dtype)


class ListToTensor(TupleToTensor):
    """A Tensor of numbers: ListToTensor()(input, dtype)."""


class TensorToTuple(Primitive):
    """A Tensor's numbers as a tuple."""

    def __call__(self, input_tensor):
        return tuple(input_tensor.tolist())


class TensorToList(Primitive):
    """A Tensor's numbers as a list."""

    def __call__(self, input_tensor):
        return input_tensor.tolist()


class TensorToScalar(Primitive):
    """A Tensor's only number."""

    def __call__(self, input_tensor):
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
    def __init__(self, fn, infer_shape, infer_dtype, bprop_fn=None):
        for name, f in (("fn", fn), ("infer_shape", infer_shape), ("infer_dtype", infer_dtype)):
            if not callable(f):
                raise TypeError(f"For 'Morph', '{name}' must be a function, but got {type(f).__name__}.")

    def __call__(self, *args):
        if self.bprop_fn is None:
            return self.fn(*args)
        return with_own_gradient(self.fn, self.bprop_fn, "Morph", args, {})


class custom_vjp:
    """Decorator: the gradient of the function is what `defbwd` registers, bwd(*inputs, out, dout)."""

    def __init__(self, fn=None):
        self.fn, self.bwd = fn, None
        if fn is not None:
            functools.update_wrapper(self, fn)

    def defbwd(self, bwd):
        """Registers the gradient."""
        self.bwd = bwd
        return bwd

    def __call__(self, *args, **kwargs):
        if self.fn is None:
            return custom_vjp(*args, **kwargs)
        if self.bwd is None:
            return self.fn(*args, **kwargs)
        return with_own_gradient(self.fn, self.bwd, "custom_vjp", args, kwargs)


class InplaceAddExt(Primitive):
    """Adds alpha * other to the first Tensor, in place."""

    def __call__(self, input, other, alpha=1):
        return input.add_(other * alpha if alpha != 1 else other)


def select_ext_view_op(input, dim, index):
    """The part of a Tensor at one position of a dimension."""
    return input[(slice(None),) * (dim % input.ndim) + (index,)]


def slice_ext_view_op(input, dim, start, end, step):
    """The part of a Tensor between positions of a dimension."""
    return input[(slice(None),) * (dim % input.ndim) + (slice(start, end, step),)]


def split_tensor_view_op(input, split_size, dim=0):
    """Parts of a Tensor of a size along a dimension."""
    return F.split(input, split_size, dim)
