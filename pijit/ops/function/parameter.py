"""Assignment and other effects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _C, dtype as mstype, kinds
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import as_update
from pijit.mutables import MARKED
from pijit.ops.function.elementwise import _need_tensor, stop_gradient
from pijit.ops.function.shapes import _same_shape
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import DType
    from pijit._types import Number, TensorLike


def _changed(variable: Tensor, value: TensorLike) -> Tensor:
    """Gives a parameter a new value; what operators that do so answer: that value, as a plain Tensor."""
    return variable._assign(value)._alias()


@_named(primitive="Assign")
def assign(variable: Tensor, value: TensorLike) -> Tensor:
    """Gives a parameter a new value.

    Args:
        variable (Parameter): what to change.
        value (Tensor or number): the value to put there.

    Returns:
        Tensor: the new value, of the parameter's dtype.

    Raises:
        ValueError: if the shape of `value` does not fit.

    Example:
        >>> print(ops.assign(ms.Parameter(Tensor([1.0]), name="p"), Tensor([5.0])))
        [5.]
    """
    return _changed(variable, value)


@_named(primitive="AssignAdd")
def assign_add(variable: Tensor, value: TensorLike) -> Tensor:
    """Adds to a parameter.

    Args:
        variable (Parameter): what to change.
        value (Tensor or number): the value to put there.

    Returns:
        Tensor: the new value, of the parameter's dtype.

    Raises:
        ValueError: if the shape of `value` does not fit.

    Example:
        >>> print(ops.assign_add(ms.Parameter(Tensor([1.0]), name="p"), Tensor([5.0])))
        [6.]
    """
    _same_shape("assign_add", variable=variable, value=value)
    if _C.compute_dtype() is not None:
        return as_update(assign_add, variable, value)
    return _changed(variable, variable + value)


@_named(primitive="AssignSub")
def assign_sub(variable: Tensor, value: TensorLike) -> Tensor:
    """Subtracts from a parameter.

    Args:
        variable (Parameter): what to change.
        value (Tensor or number): the value to put there.

    Returns:
        Tensor: the new value, of the parameter's dtype.

    Raises:
        ValueError: if the shape of `value` does not fit.

    Example:
        >>> print(ops.assign_sub(ms.Parameter(Tensor([1.0]), name="p"), Tensor([5.0])))
        [-4.]
    """
    _same_shape("assign_sub", variable=variable, value=value)
    if _C.compute_dtype() is not None:
        return as_update(assign_sub, variable, value)
    return _changed(variable, variable - value)


@_named(primitive="Depend")
def depend(value: Any, expr: Any) -> Any:
    """value; eager order already holds.

    Args:
        value (object): what is given back.
        expr (object): what happens first.

    Returns:
        value. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.depend(Tensor([1.0]), Tensor([2.0])))
        [1.]
    """
    return value


def switch(condition: bool | Tensor, true_branch: Any, false_branch: Any) -> Any:
    """One of two values, by a condition.

    Args:
        condition (bool or Tensor): the condition.
        true_branch (object): taken where it is true.
        false_branch (object): taken where it is false.

    Returns:
        One of the two.

    Example:
        >>> ops.switch(True, 1, 2)
        1
    """
    return true_branch if condition else false_branch


def stop_gradient_(input: Tensor) -> Tensor:
    """Cuts the gradient of a tensor in place.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        input. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.stop_gradient_(Tensor([1.0])))
        [1.]
    """
    _need_tensor("stop_gradient_", "input", input)
    return input._assign(stop_gradient(input))


def is_tensor(obj: Any) -> bool:
    """Whether obj is a tensor.

    Args:
        obj (object): the value.

    Returns:
        bool. Takes bool, ints, floats and complex.

    Example:
        >>> ops.is_tensor(Tensor([1.0]))
        True
    """
    return isinstance(obj, Tensor)


def _varies(x):
    if isinstance(x, (tuple, list)):
        return all([_varies(y) for y in x])
    if isinstance(x, dict):
        return all([_varies(y) for y in x.values()])
    return isinstance(x, (Tensor, bool, int, float))


def _marked(value, dynamic_len):
    """value with the attributes by which it is seen to be mutable; in captured code value itself.

    Of numbers nothing is made: one of a class of its own would be a constant to captured code."""
    for plain, marked in MARKED.items():
        if isinstance(value, plain):
            origin, value = value, marked(value)
            break
    else:
        if not isinstance(value, Tensor):
            return value
        origin = value
    value.__ms_mutable__, value.__ms_dynamic_len__, value.__ms_origin_object__ = True, dynamic_len, origin
    return value


def mutable(input_data: Any, dynamic_len: bool = False) -> Any:
    """input_data, told to be no constant: in GRAPH_MODE a gradient by it has its form.

    pijit takes containers of Tensors for mutable always.

    Args:
        input_data (object): a Tensor or a number, or a tuple, list or dict of such.
        dynamic_len (bool, optional): whether the length of a tuple or list may change. Default: False.

    Returns:
        A tuple, list or dict of a subclass, with the items of the one that was given and with attributes
        `__ms_mutable__`, `__ms_dynamic_len__` and `__ms_origin_object__` (the one that was given). The Tensor itself,
        with these attributes. The number itself.

    Raises:
        TypeError: if `input_data` holds other than Tensors, numbers, tuples, lists and dicts, or `dynamic_len` is no
            bool, or True for what is no tuple or list.

    Example:
        >>> ops.mutable((1, 2))
        (1, 2)
    """
    if not _varies(input_data):
        raise TypeError("mutable: 'input_data' has to be of Tensors, numbers, tuples, lists and dicts, "
                        f"not {input_data!r}.")
    if not isinstance(dynamic_len, bool):
        raise TypeError(f"mutable: 'dynamic_len' has to be bool, not {dynamic_len!r}.")
    if dynamic_len and not isinstance(input_data, (tuple, list)):
        raise TypeError(f"mutable: with 'dynamic_len' 'input_data' has to be a tuple or list, not {input_data!r}.")
    return _marked(input_data, dynamic_len)


def scalar_to_tensor(input_x: Number, dtype: DType = mstype.float32) -> Tensor:
    """A 0-d tensor.

    Args:
        input_x (number): the number.
        dtype (dtype, optional): the dtype of the result. Default: float32.

    Returns:
        0-d Tensor.

    Example:
        >>> print(ops.scalar_to_tensor(3))
        3.0
    """
    return Tensor(input_x, dtype)


def typeof(x: Tensor) -> DType:
    """The kind of a value: of a tensor `ms.tensor_type` with its dtype, of a number its dtype.

    Args:
        x (Tensor): the input, of any shape and any dtype.

    Returns:
        A dtype. Takes bool, ints, floats and complex.

    Example:
        >>> ops.typeof(Tensor([1.0]))
        mindspore.tensor[float32]
    """
    return kinds.kind_of(x)


def deepcopy(input_x: Tensor) -> Tensor:
    """A new tensor with the same value. TypeError where input_x is none.

    Args:
        input_x (Tensor): the input, of any shape and any dtype.

    Returns:
        Tensor of input_x's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input_x` is not a Tensor.

    Example:
        >>> print(ops.deepcopy(Tensor([1, 2])))
        [1 2]
    """
    _need_tensor("deepcopy", "input_x", input_x)
    return input_x._alias()


def zero_(input: Tensor) -> Tensor:
    """Zeros, in place.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        input. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.zero_(Tensor([1.0, 2.0])))
        [0. 0.]
    """
    _need_tensor("zero_", "input", input)
    return input._assign(_ops["broadcast_to"](Tensor(0, input.dtype), input.shape))
