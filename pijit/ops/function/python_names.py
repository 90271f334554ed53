"""MindSpore's names for plain Python: numbers and tuples under `scalar_…`, `tuple_…`; and second names of operators."""

from __future__ import annotations

import builtins
import math
import operator
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.ops.function.creation import range
from pijit.ops.function.elementwise import (add, cast, div, exp, expm1, floor_div, greater, greater_equal, less,
                                            less_equal, mod, mul, _need_tensor, pow, sub, trunc)
from pijit.ops.function.shapes import slice
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from pijit._C import DType
    from pijit._types import Number, Shape, TensorLike

tensor_add, tensor_sub, tensor_mul, tensor_muls, tensor_floordiv, tensor_mod = add, sub, mul, mul, floor_div, mod
tensor_pow, tensor_exp, tensor_expm1, pows = pow, exp, expm1, pow
tensor_lt, tensor_le, tensor_gt, tensor_ge = less, less_equal, greater, greater_equal
tensor_range, tensor_slice = range, slice

scalar_floordiv: Callable[..., Any]
scalar_div: Callable[..., Any]
scalar_mul: Callable[..., Any]
scalar_sub: Callable[..., Any]
scalar_add: Callable[..., Any]
scalar_add, scalar_sub, scalar_mul, scalar_div, scalar_floordiv = (operator.add, operator.sub, operator.mul,
    operator.truediv, operator.floordiv)
scalar_log: Callable[..., float]
scalar_usub: Callable[..., Any]
scalar_uadd: Callable[..., Any]
scalar_pow: Callable[..., Any]
scalar_mod: Callable[..., Any]
scalar_mod, scalar_pow, scalar_uadd, scalar_usub, scalar_log = (operator.mod, operator.pow, operator.pos, operator.neg,
                                                                math.log)
scalar_ge: Callable[..., Any]
scalar_gt: Callable[..., Any]
scalar_le: Callable[..., Any]
scalar_lt: Callable[..., Any]
scalar_ne: Callable[..., Any]
scalar_eq: Callable[..., Any]
scalar_eq, scalar_ne, scalar_lt, scalar_le, scalar_gt, scalar_ge = (operator.eq, operator.ne, operator.lt, operator.le,
    operator.gt, operator.ge)
scalar_min: Callable[..., Any]
scalar_max: Callable[..., Any]
scalar_max, scalar_min = max, min
bool_eq: Callable[..., Any]
bool_or: Callable[..., Any]
bool_and: Callable[..., Any]
bool_and, bool_or, bool_eq = operator.and_, operator.or_, operator.eq
string_concat: Callable[..., Any]
string_eq: Callable[..., Any]
string_eq, string_concat = operator.eq, operator.add
dict_getitem: Callable[..., Any]
list_getitem: Callable[..., Any]
list_len: Callable[..., int]
is_not: Callable[..., bool]
is_: Callable[..., bool]
is_, is_not, list_len, list_getitem, dict_getitem = (operator.is_, operator.is_not, len, operator.getitem,
                                                     operator.getitem)


def bool_not(x: bool) -> Tensor:
    """The opposite of a bool, as a 0-d tensor.

    Args:
        x (bool): the value.

    Returns:
        0-d bool Tensor.

    Example:
        >>> print(ops.bool_not(True))
        False
    """
    return Tensor(not x)


def tensor_div(x: Tensor, y: TensorLike) -> Tensor:
    """x / y, in the dtype of both: of ints rounded towards 0.

    Args:
        x (Tensor): the input, of any shape and any dtype.
        y (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if the shape of `y` does not fit.

    Example:
        >>> print(ops.tensor_div(Tensor([7, -7]), Tensor([2, 2])))
        [ 3 -3]
    """
    q = div(x, y)
    both = [t.dtype for t in (x, y) if isinstance(t, Tensor)]
    return q if not both or both[0].is_floating_point or both[0] in mstype.complex_type else cast(trunc(q), both[0])


def tuple_to_array(input_x: tuple[Any, ...]) -> Tensor:
    """A tensor of a tuple of numbers: int32 or float32, as the first of them is an int or a float.

    TypeError where `input_x` is no tuple, or holds something else.

    Returns:
        1-d Tensor.

    Example:
        >>> print(ops.tuple_to_array((1, 2)))
        [1 2]
    """
    if isinstance(input_x, builtins.range):
        input_x = tuple(input_x)
    if not isinstance(input_x, tuple):
        raise _check.refused("tuple_to_array", "input_x", _check.TUPLE, input_x)
    if not input_x or [v for v in input_x if type(v) not in (int, float)]:
        raise _check.refused("tuple_to_array", "input_x", _check.value("hold ints and floats"), input_x, TypeError)
    return (Tensor([int(v) for v in input_x], mstype.int32) if type(input_x[0]) is int
            else Tensor(input_x, mstype.float32))


def scalar_to_array(input_x: Number) -> Tensor:
    """A 0-d tensor of a number: int64, float32 or bool.

    Args:
        input_x (number): the number.

    Returns:
        0-d Tensor.

    Example:
        >>> print(ops.scalar_to_array(3))
        3
    """
    if not isinstance(input_x, (bool, int, float)):
        raise _check.refused("scalar_to_array", "input_x", _check.NUMBER, input_x)
    return Tensor(input_x)


def scalar_cast(input_x: Number, input_y: DType) -> float | bool:
    """A number converted to the Python type that the dtype `input_y` (int64, float64 or bool) has.

    Args:
        input_x (number): the number.
        input_y (dtype): int64, float64 or bool.

    Returns:
        A number.

    Example:
        >>> ops.scalar_cast(1.5, ms.int64)
        1
    """
    if input_y == mstype.int64:
        return int(input_x)
    if input_y == mstype.float64:
        return float(input_x)
    if input_y == mstype.bool_:
        return bool(input_x)
    raise _check.refused("scalar_cast", "input_y", _check.dtypes("int64", "float64", "bool"), input_y, ValueError)


def tuple_setitem(x: tuple[Any, ...] | list[Any], index: int, value: Any) -> Any:
    """A tuple with one element replaced.

    Args:
        x (tuple): the tuple.
        index (int): the place.
        value (object): the new value.

    Returns:
        tuple.

    Example:
        >>> ops.tuple_setitem((1, 2), 0, 5)
        (5, 2)
    """
    return (*x[:index], value, *x[index + 1:]) if index != -1 else (*x[:-1], value)


def tuple_reversed(x: tuple[Any, ...] | list[Any]) -> tuple[Any, ...] | list[Any]:
    """A tuple from its end.

    Args:
        x (tuple): the tuple.

    Returns:
        tuple.

    Example:
        >>> ops.tuple_reversed((1, 2))
        (2, 1)
    """
    return x[::-1]


def tuple_equal(x: tuple[Any, ...] | list[Any], y: tuple[Any, ...] | list[Any]) -> bool:
    """Whether two tuples hold the same elements.

    Args:
        x (tuple): the first.
        y (tuple): the second.

    Returns:
        bool.

    Example:
        >>> ops.tuple_equal((1, 2), (1, 2))
        True
    """
    return x == y


def list_equal(x: list[Any], y: list[Any]) -> bool:
    """Whether two lists hold the same elements.

    Args:
        x (list): the first.
        y (list): the second.

    Returns:
        bool.

    Example:
        >>> ops.list_equal([1, 2], [1, 3])
        False
    """
    return x == y


def in_dict(x: Any, y: dict[Any, Any]) -> bool:
    """Whether x is a key of y.

    Args:
        x (object): the key.
        y (dict): the dict.

    Returns:
        bool.

    Example:
        >>> ops.in_dict("a", {"a": 1})
        True
    """
    return x in y


def not_in_dict(x: Any, y: dict[Any, Any]) -> bool:
    """Whether x is no key of y.

    Args:
        x (object): the key.
        y (dict): the dict.

    Returns:
        bool.

    Example:
        >>> ops.not_in_dict("a", {"a": 1})
        False
    """
    return x not in y


def shape_mul(input_data: Shape) -> int:
    """The product of the numbers of a tuple.

    Args:
        input_data (tuple of int): the numbers.

    Returns:
        int.

    Example:
        >>> ops.shape_mul((2, 3))
        6
    """
    return math.prod(input_data)


def isconstant(x: Any) -> bool:
    """Whether x is known before a graph runs: all but tensors.

    Args:
        x (object): the value.

    Returns:
        bool.

    Example:
        >>> ops.isconstant(3)
        True
    """
    return not isinstance(x, Tensor)


@_named(method=True)
def is_floating_point(input: Tensor) -> bool:
    """Whether the tensor's dtype is a floating-point one.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        bool. Takes bool, ints, floats and complex.

    Example:
        >>> ops.is_floating_point(Tensor([1.0]))
        True
    """
    return input.dtype.is_floating_point


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element of a tensor isn't 0. ValueError for a tensor of another size.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        bool. Takes bool, ints, floats and complex.

    Example:
        >>> ops.is_nonzero(Tensor([2]))
        True
    """
    if input.size != 1:
        raise _check.refused("is_nonzero", "the input", _check.value("have one element"), input.size)
    return bool(input != 0)


def type_as(input: Tensor, other: TensorLike) -> Tensor:
    """input in other's dtype.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        other (Tensor or number): the second operand.

    Returns:
        Tensor of input's shape and other's dtype. Bool, floats and complex give int64.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> ops.type_as(Tensor([1.5]), Tensor([1])).dtype
        mindspore.int64
    """
    return _ops["cast"](input, other.dtype)


def array_to_scalar(x: Tensor) -> bool | float:
    """The one element of a tensor, as a number.

    Args:
        x (Tensor): the input, of any shape and any dtype.

    Returns:
        A number. Takes bool, ints, floats and complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> ops.array_to_scalar(Tensor(3))
        3
    """
    _need_tensor("array_to_scalar", "x", x)
    return x.item()


def move_to(input: Tensor, to: str = "CPU", blocking: bool = True) -> Tensor:
    """The tensor on another device; itself if it is there.

    Raises ValueError unless `to` is 'CPU', 'GPU' or 'Ascend', and RuntimeError where there is no such device.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        to (str, optional): 'CPU', 'GPU' or 'Ascend'. Default: 'CPU'.
        blocking (bool, optional): whether to wait; nothing has to. Default: True.

    Returns:
        The tensor, there. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.move_to(Tensor([1, 2]), "CPU"))
        [1 2]
    """
    if to not in ("CPU", "GPU", "Ascend"):
        raise _check.refused("move_to", "to", _check.one_of("CPU", "GPU", "Ascend"), to)
    return input if to == input.device else input._on_device(to)


# --- the same under names that MindSpore keeps beside ---


def make_list(*args: Any) -> list[Any]:
    """The arguments as a list.

    Args:
        *args (object): the arguments.

    Returns:
        list.

    Example:
        >>> ops.make_list(1, 2)
        [1, 2]
    """
    return list(args)


def make_dict(keys: tuple[Any, ...] | list[Any], values: tuple[Any, ...] | list[Any]) -> dict[str, Any]:
    """A dict of two tuples.

    Args:
        keys (tuple): the keys.
        values (tuple): the values.

    Returns:
        dict.

    Example:
        >>> ops.make_dict(("a", "b"), (1, 2))
        {'a': 1, 'b': 2}
    """
    return dict(zip(keys, values))


def make_slice(start: Number, stop: Any, step: Number) -> builtins.slice:
    """A slice.

    Args:
        start (number): the first value.
        stop (object): the end.
        step (number): the distance.

    Returns:
        slice.

    Example:
        >>> ops.make_slice(0, 4, 2)
        slice(0, 4, 2)
    """
    return builtins.slice(start, stop, step)


def list_setitem(x: list[Any], index: int, value: Any) -> list[Any]:
    """The list with one element replaced: a new one.

    Args:
        x (list): the list.
        index (int): the place.
        value (object): the new value.

    Returns:
        list.

    Example:
        >>> ops.list_setitem([1, 2], 0, 5)
        [5, 2]
    """
    y = list(x)
    y[index] = value
    return y


def dict_setitem(x: dict[Any, Any], key: Any, value: Any) -> dict[str, Any]:
    """The dict with one value replaced or added: a new one.

    Args:
        x (dict): the dict.
        key (object): the key.
        value (object): the new value.

    Returns:
        dict.

    Example:
        >>> ops.dict_setitem({"a": 1}, "b", 2)
        {'a': 1, 'b': 2}
    """
    return {**x, key: value}


def reduced_shape(shape: Shape, axes: Shape) -> tuple[int, ...]:
    """The shape after a reduction over axes (all if there are none) that keeps them.

    Args:
        shape (tuple of int): the shape of the result.
        axes (tuple of int): the axes.

    Returns:
        tuple of ints.

    Example:
        >>> ops.reduced_shape((2, 3), (0,))
        (1, 3)
    """
    axes = [a % len(shape) for a in ((axes,) if isinstance(axes, int) else axes)]
    return tuple(1 if not axes or k in axes else n for k, n in enumerate(shape))


def broadcast_gradient_args(x: Shape, y: Shape) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dimensions that gradients by operands of shapes x and y are summed over.

    Args:
        x (tuple of int): the first shape.
        y (tuple of int): the second shape.

    Returns:
        (tuple, tuple).

    Example:
        >>> ops.broadcast_gradient_args((2, 3), (3,))
        ((), (0,))
    """
    rank = builtins.max(len(x), len(y))
    a, b = (1,) * (rank - len(x)) + tuple(x), (1,) * (rank - len(y)) + tuple(y)
    return (tuple(k for k in builtins.range(rank) if a[k] == 1 != b[k] or k < rank - len(x)),
            tuple(k for k in builtins.range(rank) if b[k] == 1 != a[k] or k < rank - len(y)))


def hastype(x: Any, dtype: DType) -> bool:
    """Whether a value is of a dtype: a Tensor never, a number if its own is that.

    Args:
        x (object): the value.
        dtype (dtype): the dtype of the result.

    Returns:
        bool.

    Example:
        >>> ops.hastype(1, ms.int64)
        True
    """
    return not isinstance(x, Tensor) and mstype.get_py_obj_dtype(x) == dtype


def is_tensor_bool_cond(x: Tensor) -> bool:
    """Whether a tensor of one element may be a condition: True. ValueError for others.

    Args:
        x (Tensor): the input, of any shape and any dtype.

    Returns:
        bool.

    Example:
        >>> ops.is_tensor_bool_cond(Tensor([True]))
        True
    """
    if tuple(x.shape) not in ((), (1,)):
        raise ValueError("Only a tensor of shape () or (1,) can be converted to bool, but got the shape "
                         f"{tuple(x.shape)}.")
    return True


def mixed_precision_cast(dst_dtype: DType, x: Tensor) -> Any:
    """x in another floating dtype: a Tensor, or the Tensors in tuples; what isn't floating stays.

    Args:
        dst_dtype (dtype): the dtype.
        x (Tensor): the input, of any shape and any dtype.

    Returns:
        What was given, converted.

    Example:
        >>> ops.mixed_precision_cast(ms.float16, Tensor([1.0])).dtype
        mindspore.float16
    """
    if isinstance(x, tuple):
        return tuple(mixed_precision_cast(dst_dtype, v) for v in x)
    return cast(x, dst_dtype) if isinstance(x, Tensor) and x.dtype.is_floating_point else x
