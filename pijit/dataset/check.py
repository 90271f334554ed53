"""Checks of arguments: each names the operation and the argument, says what was expected and what came."""

from __future__ import annotations

import numbers
from typing import TYPE_CHECKING, overload

import numpy as np

if TYPE_CHECKING:
    from typing import Any, Literal

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


def shown(value: Any) -> str:
    """A value for an error message: its printed form, shortened, and its type."""
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"


def is_int(value: Any) -> bool:
    """True for Python and NumPy integers, not for booleans."""
    return isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.bool_))


def is_real(value: Any) -> bool:
    """True for Python and NumPy integers and floats, not for booleans."""
    return isinstance(value, numbers.Real) and not isinstance(value, (bool, np.bool_))


@overload
def integer(op: str, name: str, value: Any, low: int | None = None, high: int | None = None,
            none: Literal[False] = False) -> int: ...
@overload
def integer(op: str, name: str, value: Any, low: int | None = None, high: int | None = None, *,
            none: bool) -> int | None: ...


def integer(op: str, name: str, value: Any, low: int | None = None, high: int | None = None,
            none: bool = False) -> int | None:
    """Returns `value` as an int. TypeError for another type, ValueError outside of [low, high]."""
    if value is None and none:
        return None
    if not is_int(value):
        raise TypeError(f"[{op}] {name} must be an int, but got {shown(value)}.")
    if (low is not None and value < low) or (high is not None and value > high):
        bounds = f"at least {low}" if high is None or high >= INT32_MAX else f"within [{low}, {high}]"
        raise ValueError(f"[{op}] {name} must be {bounds}, but got {value}.")
    return int(value)


@overload
def real(op: str, name: str, value: Any, low: float | None = None, high: float | None = None, open_low: bool = False,
         none: Literal[False] = False) -> float: ...
@overload
def real(op: str, name: str, value: Any, low: float | None = None, high: float | None = None, open_low: bool = False,
         *, none: bool) -> float | None: ...


def real(op: str, name: str, value: Any, low: float | None = None, high: float | None = None, open_low: bool = False,
         none: bool = False) -> float | None:
    """Returns `value` as a float. TypeError for another type, ValueError outside of [low, high] or (low, high]."""
    if value is None and none:
        return None
    if not is_real(value):
        raise TypeError(f"[{op}] {name} must be an int or a float, but got {shown(value)}.")
    below = low is not None and (value <= low if open_low else value < low)
    if below or (high is not None and value > high) or value != value:
        left = "-inf" if low is None else low
        right = "inf" if high is None else high
        raise ValueError(f"[{op}] {name} must be within {'(' if open_low else '['}{left}, {right}], but got {value}.")
    return float(value)


@overload
def boolean(op: str, name: str, value: Any, none: Literal[False] = False) -> bool: ...
@overload
def boolean(op: str, name: str, value: Any, *, none: bool) -> bool | None: ...


def boolean(op: str, name: str, value: Any, none: bool = False) -> bool | None:
    """Returns `value`, a bool; TypeError for anything else."""
    if value is None and none:
        return None
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"[{op}] {name} must be a bool, but got {shown(value)}.")
    return bool(value)


def string(op: Any, name: str, value: Any, none: bool = False) -> str | None:
    """Returns `value`, a str; TypeError for anything else."""
    if value is None and none:
        return None
    if not isinstance(value, str):
        raise TypeError(f"[{op}] {name} must be a str, but got {shown(value)}.")
    return value


def instance(op: Any, name: str, value: Any, kinds: Any, none: bool = False) -> Any:
    """Returns `value` when it is of one of these types; TypeError otherwise."""
    if value is None and none:
        return None
    if not isinstance(value, kinds):
        kinds = kinds if isinstance(kinds, tuple) else (kinds,)
        raise TypeError(f"[{op}] {name} must be {' or '.join(k.__name__ for k in kinds)}, but got {shown(value)}.")
    return value


def choice(op: Any, name: str, value: Any, options: Any, none: bool = False) -> Any:
    """Returns `value` when it is one of the strings `options`: TypeError for no str, ValueError for another one."""
    if value is None and none:
        return None
    string(op, name, value)
    if value not in options:
        raise ValueError(f"[{op}] {name} must be one of {', '.join(map(repr, options))}, but got {value!r}.")
    return value


def columns(op: Any, name: str, value: Any, none: bool = False, empty: bool = False) -> list[Any] | None:
    """Returns column names as a list. One str means one name; TypeError for other types, ValueError for repetitions."""
    if value is None and none:
        return None
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"[{op}] {name} must be a str or a list of str, but got {shown(value)}.")
    for i, item in enumerate(value):
        if not isinstance(item, str):
            raise TypeError(f"[{op}] {name}[{i}] must be a str, but got {shown(item)}.")
        if not item:
            raise ValueError(f"[{op}] {name}[{i}] must not be empty.")
    if not value and not empty:
        raise ValueError(f"[{op}] {name} must name at least one column.")
    if len(set(value)) != len(value):
        twice = next(v for v in value if list(value).count(v) > 1)
        raise ValueError(f"[{op}] {name} must not repeat a column name, but {twice!r} appears twice.")
    return list(value)


def workers(op: Any, value: Any) -> int | None:
    """Returns num_parallel_workers: None or an int of at least 1."""
    return integer(op, "num_parallel_workers", value, 1, None, none=True)


def pair(op: Any, name: str, value: Any, low: Any = None, high: Any = None,
         positive: bool = False) -> tuple[float, float]:
    """Returns a pair of floats (minimum, maximum); TypeError for no pair, ValueError for a wrong order or range."""
    if not isinstance(value, (tuple, list)):
        raise TypeError(f"[{op}] {name} must be a tuple of two numbers, but got {shown(value)}.")
    if len(value) != 2:
        raise ValueError(f"[{op}] {name} must have two numbers, but got {shown(value)}.")
    a, b = (real(op, f"{name}[{i}]", v, low, high, open_low=positive) for i, v in enumerate(value))
    if a > b:
        raise ValueError(f"[{op}] {name} must be (minimum, maximum), but got {shown(value)}.")
    return a, b
