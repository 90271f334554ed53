"""Assignment and other effects."""

from pijit import dtype as mstype, kinds
from pijit._C import Tensor
from pijit.ops.function.elementwise import _need_tensor, stop_gradient
from pijit.ops.function.shapes import _same_shape


def assign(variable, value):
    """Gives a parameter a new value."""
    return variable._assign(value)


def assign_add(variable, value):
    """Adds to a parameter."""
    _same_shape("assign_add", variable=variable, value=value)
    return variable._assign(variable + value)


def assign_sub(variable, value):
    """Subtracts from a parameter."""
    _same_shape("assign_sub", variable=variable, value=value)
    return variable._assign(variable - value)


def depend(value, expr):  # noqa: ARG001
    """value; eager order already holds."""
    return value


def switch(condition, true_branch, false_branch):
    """One of two values, by a condition."""
    return true_branch if condition else false_branch


def stop_gradient_(input):
    """Cuts the gradient of a tensor in place."""
    _need_tensor("stop_gradient_", "input", input)
    return input._assign(stop_gradient(input))


def print_(*args):
    """Prints values."""
    print(*args)


def is_tensor(obj):
    """Whether obj is a tensor."""
    return isinstance(obj, Tensor)


def mutable(input_data, dynamic_len=False):  # noqa: ARG001
    """input_data; pijit treats containers of tensors as mutable always."""
    return input_data


def scalar_to_tensor(input_x, dtype=mstype.float32):
    """A 0-d tensor."""
    return Tensor(input_x, dtype)


def typeof(x):
    """The kind of a value: of a tensor `ms.tensor_type` with its dtype, of a number its dtype."""
    return kinds.kind_of(x)
