"""Assignment and other effects."""

from pijit import dtype as mstype
from pijit._C import Tensor, dtype as _as_dtype


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
