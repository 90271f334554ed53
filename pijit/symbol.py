"""Symbols of sizes that vary, for descriptions of inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from typing import Any


class Symbol:
    """What is known of a size: at most max, at least min, a multiple of divisor plus remainder; unique: the same
    wherever the symbol stands.

    Raises TypeError for arguments that aren't ints (unique: a bool), ValueError for max below min, numbers below 1, or
    a remainder that isn't below divisor."""

    max: float
    min: float
    divisor: int
    remainder: int
    unique: bool

    def __init__(self, max: float = 0, min: float = 1, divisor: int = 1, remainder: int = 0, unique: bool = False,
                 **kwargs: Any) -> None:  # noqa: ARG002
        for name, value in (("max", max), ("min", min), ("divisor", divisor), ("remainder", remainder)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"For 'Symbol', the argument '{name}' must be int, but got {type(value)}")
        if not isinstance(unique, bool):
            raise TypeError(f"For 'Symbol', the argument 'unique' must be bool, but got {type(unique)}")
        for name, value in (("min", min), ("divisor", divisor)):
            if value <= 0:
                raise ValueError(f"For 'Symbol', the '{name}' value should be positive, but got {value}")
        if not 0 <= remainder < divisor:
            raise ValueError(
                f"For 'Symbol', the 'remainder' value should be in the range '[0, {divisor})', but got {remainder}")
        self.max, self.min, self.divisor, self.remainder, self.unique = max, min, divisor, remainder, unique
        self.id: int = id(self)

    def to_dict(self) -> dict[Any, Any]:
        """What was given, as a dict."""
        found = {}
        if self.max > self.min:
            found["max"] = self.max
        if self.min > self.divisor:
            found["min"] = self.min
        if self.divisor != 1:
            found["divisor"] = self.divisor
        if self.remainder != 0:
            found["remainder"] = self.remainder
        if self.unique:
            found["id"] = self.id
        return found

    def __str__(self) -> str:
        return str(self.to_dict())


__all__ = ["Symbol"]
