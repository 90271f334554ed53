"""Assignment and other effects."""

from pijit import dtype as mstype
from pijit._C import Tensor, dtype as _as_dtype
from pijit.ops.function.elementwise import stop_gradient


def assign(variable, value):
    """Gives a parameter a new value."""
    return variable._assign(value)


def assign_add(variable, value):
    """Adds to a parameter."""
    return variable._assign(variable + value)


def assign_sub(variable, value):
    """Subtracts from a parameter."""
    return variable._assign(variable - value)


def depend(value, expr):  # noqa: ARG001
    """value; eager order already holds."""
    return value


def switch(condition, true_branch, false_branch):
    """One of two values, by a condition."""
    return true_branch if condition else false_branch


def stop_gradient_(input):
    """Cuts the gradient of a tensor in place."""
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
    """The dtype of a tensor."""
    return _as_dtype(x.dtype)
