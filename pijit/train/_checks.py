"""Checks of arguments that callbacks, metrics and Model share."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from typing import Any


def check_int(owner: Any, name: str, value: Any, least: Any) -> int:
    """An int of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"For '{owner}', '{name}' must be an int, but got {value!r} of type {type(value).__name__}.")
    if value < least:
        raise ValueError(f"For '{owner}', '{name}' must be >= {least}, but got {value}.")
    return value


def check_number(owner: Any, name: str, value: Any, least: Any = None) -> float:
    """A number, as float."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"For '{owner}', '{name}' must be a number, but got {value!r} of type {type(value).__name__}.")
    if least is not None and value < least:
        raise ValueError(f"For '{owner}', '{name}' must be >= {least}, but got {value}.")
    return float(value)


def check_type(owner: Any, name: str, value: Any, types: Any) -> Any:
    """An instance of one of the types."""
    if not isinstance(value, types):
        names = " or ".join(t.__name__ for t in (types if isinstance(types, tuple) else (types,)))
        raise TypeError(f"For '{owner}', '{name}' must be {names}, but got {type(value).__name__}.")
    return value


def check_bool(owner: Any, name: str, value: Any) -> Any:
    """A bool."""
    return check_type(owner, name, value, bool)


def check_choice(owner: Any, name: str, value: Any, choices: Any) -> Any:
    """One of the choices."""
    if value not in choices:
        raise ValueError(f"For '{owner}', '{name}' must be one of {list(choices)}, but got {value!r}.")
    return value
