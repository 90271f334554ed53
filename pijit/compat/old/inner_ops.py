"""Operators of `mindspore.ops.operations._inner_ops` that programs use, made of the public ones."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from pijit import dtype as mstype, kinds
from pijit._C import Tensor
from pijit.compat.old import checkparam
from pijit.compat.old.typing import Type
from pijit.ops import function as F
from pijit.ops.functional import mixed_precision_cast
from pijit.ops.primitive import Primitive, primitive

if TYPE_CHECKING:
    from typing import Any


class SameTypeShape(Primitive):
    """x, where y has its dtype and shape. TypeError and ValueError where it hasn't."""

    def __call__(self, x: Any, y: Any) -> Any:
        for name, value in (("x", x), ("y", y)):
            checkparam.check_value_type(name, value, Tensor, self.name)
        if x.dtype != y.dtype:
            raise TypeError(f"{self.name}: 'x' has dtype {x.dtype}, and 'y' {y.dtype}.")
        if x.shape != y.shape:
            raise ValueError(f"{self.name}: 'x' has shape {x.shape}, and 'y' {y.shape}.")
        return x


class CheckBprop(Primitive):
    """What a `bprop` gives, where its elements have the dtypes and shapes of the inputs. TypeError and ValueError where
    they haven't.

    Args:
        prim_to_check (str): whose `bprop` it is. Default: "".
    """

    def __init__(self, prim_to_check: str = "") -> None:
        super().__init__()
        self.prim_to_check = prim_to_check

    def __call__(self, gradients: Any, inputs: Any) -> Any:
        for name, value in (("gradients", gradients), ("inputs", inputs)):
            checkparam.check_value_type(name, value, tuple, self.prim_to_check)
        if len(gradients) < len(inputs):
            raise TypeError(f"{self.prim_to_check}: 'bprop' gives {len(gradients)} gradients of {len(inputs)} inputs.")
        for k, (gradient, x) in enumerate(zip(gradients, inputs)):
            if not isinstance(x, Tensor):
                continue
            if not isinstance(gradient, Tensor) or gradient.dtype != x.dtype:
                raise TypeError(f"{self.prim_to_check}: gradient {k} has to be a Tensor of {x.dtype}.")
            if gradient.shape != x.shape:
                raise ValueError(f"{self.prim_to_check}: gradient {k} has shape {gradient.shape}, its input {x.shape}.")
        return gradients


class IsSubClass(Primitive):
    """Whether a dtype or kind is another, or among those that it stands for. TypeError for other values."""

    def __call__(self, sub_type: Any, type_: Any) -> bool:
        for name, value in (("sub_type", sub_type), ("type_", type_)):
            if not isinstance(value, Type):
                raise TypeError(f"{self.name}: {name!r} has to be a dtype or kind, not {value!r}.")
        return checkparam.is_kind(sub_type, type_)


class IsInstance(Primitive):
    """Whether a value is of a dtype or kind; Tensors are of kind tensor. TypeError for what is no dtype or kind."""

    def __call__(self, inst: Any, type_: Any) -> bool:
        if not isinstance(type_, Type):
            raise TypeError(f"{self.name}: 'type_' has to be a dtype or kind, not {type_!r}.")
        return checkparam.is_kind(kinds.kind_of(inst), type_)


@primitive
def MixedPrecisionCast(dst_dtype, x, /):
    """Floating Tensors, also in tuples, in another dtype; others as they are."""
    return mixed_precision_cast(dst_dtype, x)


@primitive
def ConvertToDynamic(x, /, is_dynamic_rank=False):
    """x: sizes are known when a function runs."""
    return x


@primitive
def DynamicBroadcastTo(x, shape, /):
    """x, broadcast to a shape, which may be a Tensor."""
    return F.broadcast_to(x, tuple(shape.tolist()) if isinstance(shape, Tensor) else shape)


@primitive
def SequenceMask(lengths, maxlen, /):
    """[*lengths.shape, maxlen] of bools: whether a place is before the end."""
    return F.sequence_mask(lengths, int(maxlen))


@primitive
def Format(text, /, *values):
    """A text with values in its places."""
    return text.format(*values)


@primitive
def ClipByNorm(x, clip_norm, /, axis=None):
    """x, scaled so that its norm (or those along axes) is clip_norm at the most."""
    clip = F.cast(clip_norm, x.dtype)
    total = F.square(x).sum(axis, keepdims=True)
    norm = F.where(total > 0, F.sqrt(F.where(total > 0, total, F.ones_like(total))), total)  # no slope at 0
    return x * clip / F.maximum(norm, clip)


@primitive
def Centralization(x, axes, /):
    """x less its mean over axes."""
    return x - x.mean(axes, keep_dims=True)


def _diagonals_by_rows(assist):
    return assist.shape[-2] <= assist.shape[-1]


@primitive
def MatrixDiag(x, assist, /):
    """Matrices of assist's shape with x on the diagonal, where assist is 1."""
    return F.expand_dims(x, -1 if _diagonals_by_rows(assist) else -2) * assist


@primitive
def MatrixDiagPart(x, assist, /):
    """The diagonals of matrices, where assist is 1."""
    return (x * assist).sum(-1 if _diagonals_by_rows(assist) else -2)


@primitive
def MatrixSetDiag(x, diagonal, assist, /):
    """Matrices with another diagonal, where assist is 1."""
    return x * (1 - assist) + F.expand_dims(diagonal, -1 if _diagonals_by_rows(assist) else -2) * assist


@primitive
def DynamicStitch(indices, data, /):
    """Rows of several Tensors at their indices; of one index the last row counts."""
    size = max(int(i.max()) for i in indices) + 1
    first = indices[0]
    out = F.zeros((size, *data[0].shape[first.ndim :]), data[0].dtype)
    for index, rows in zip(indices, data):
        out[index] = rows
    return out


def _of_python(name, fn, doc):
    """An operator on numbers or texts, made already, as MindSpore has them."""

    def __call__(self, *args):
        return fn(*args)

    return type(name, (Primitive,), {"__call__": __call__, "__doc__": doc, "__module__": __name__})()


def _of_bits(fn):
    return lambda x, y: Tensor(fn(x, y), mstype.int64)


bit_xor: Any
bit_or: Any
bit_and: Any
bit_and, bit_or, bit_xor = (
    _of_python("bit_and", _of_bits(operator.and_), "x & y."),
    _of_python("bit_or", _of_bits(operator.or_), "x | y."),
    _of_python("bit_xor", _of_bits(operator.xor), "x ^ y."),
)
bit_left_shift: Any = _of_python("bit_left_shift", _of_bits(operator.lshift), "x << y.")
bit_right_shift: Any = _of_python("bit_right_shift", _of_bits(operator.rshift), "x >> y.")
string_gt: Any
string_ge: Any
string_ge, string_gt = (
    _of_python("string_ge", operator.ge, "x >= y."),
    _of_python("string_gt", operator.gt, "x > y."),
)
string_lt: Any
string_le: Any
string_le, string_lt = (
    _of_python("string_le", operator.le, "x <= y."),
    _of_python("string_lt", operator.lt, "x < y."),
)
string_in: Any = _of_python("string_in", lambda x, y: x in y, "x in y.")
string_mul: Any = _of_python("string_mul", operator.mul, "x * y.")
string_not: Any = _of_python("string_not", operator.not_, "not x.")
string_getitem: Any = _of_python("string_getitem", operator.getitem, "x[y].")
issubclass_: IsSubClass
check_bprop: CheckBprop
same_type_shape_: SameTypeShape
same_type_shape_, check_bprop, issubclass_ = SameTypeShape(), CheckBprop(), IsSubClass()
