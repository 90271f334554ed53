"""What layers share: checks of arguments."""

from pijit.ops.function.shapes import _pair as pair  # noqa: F401


def positive(name, arg, value):
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"For '{name}', '{arg}' must be int, but got {type(value).__name__}.")
    if value <= 0:
        raise ValueError(f"For '{name}', '{arg}' must be greater than 0, but got {value}.")
    return value
