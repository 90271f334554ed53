"""Descriptions of inputs: Tensors without values, and symbols of sizes that vary."""

from __future__ import annotations

from typing import NoReturn, TYPE_CHECKING

from pijit import _check
from pijit._C import Tensor

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import DType

ANY_RANK = -2  # as MindSpore spells a shape of which nothing is known


class Symbol:
    """What is known of a size: at most max, at least min, a multiple of divisor plus remainder.

    unique: the same wherever the symbol stands.

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
            _check.need("Symbol", name, value, _check.INT)
        _check.need("Symbol", "unique", unique, _check.BOOL)
        for name, value in (("min", min), ("divisor", divisor)):
            _check.need("Symbol", name, value, _check.above(0))
        _check.need("Symbol", "remainder", remainder, _check.within(0, divisor, "[)"))
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


class Placeholder(Tensor):
    """What Tensor(shape=..., dtype=...) is where sizes are None, -1 or Symbols, or the whole shape is None: a
    description of inputs, without elements. Unknown sizes read as -1, an unknown rank as the shape (-2,)."""

    _described: tuple[Any, ...]

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002
        """`placeholder` has made it; the constructor's call of Tensor comes here a second time."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes, -1 where they vary."""
        return tuple([n if isinstance(n, int) else -1 for n in self._described])

    @property
    def symbolic_shape(self) -> list[Any]:
        """The sizes, None where they vary, what is known of them where Symbols describe them."""
        return [n.to_dict() if isinstance(n, Symbol) else None if n == -1 else n for n in self._described]

    def asnumpy(self) -> NoReturn:
        """Raises ValueError: there are no elements."""
        raise ValueError(f"For 'Tensor.asnumpy', a description of the shape {self.shape} has no elements.")

    def __repr__(self) -> str:
        return f"Tensor(shape={list(self.shape)}, dtype={self.dtype}, value=\n)"

    __str__ = __repr__

    def __len__(self) -> int:
        if not self.shape or self.shape[0] < 0:
            raise ValueError(f"a description of the shape {self.shape} has no length.")
        return self.shape[0]


def placeholder(shape: Any, dtype: DType | None = None, init: Any = None, **others: Any) -> Placeholder:  # noqa: ARG001
    """The Placeholder of a shape. Raises ValueError without a dtype or with an initializer, TypeError for sizes of
    another kind."""
    if dtype is None or init is not None:
        raise ValueError("For 'Tensor', a shape with unknown sizes needs a dtype, and no 'init'.")
    described = (ANY_RANK,) if shape is None else tuple([-1 if n is None else n for n in shape])
    for n in described if shape is not None else ():
        if isinstance(n, bool) or not isinstance(n, (int, Symbol)):
            raise _check.refused("Tensor", "an element of 'shape'", _check.type_("an int, None or a Symbol"), n)
        if isinstance(n, int) and n < -1:
            raise _check.refused("Tensor", "an element of 'shape'",
                                 _check.value("be at least 0, or -1 where it varies"), n)
    made = Tensor.__new__(Placeholder)
    Tensor.__init__(made, shape=[n if isinstance(n, int) and n >= 0 else 0 for n in described], dtype=dtype)
    made._described = described
    return made


__all__ = ["Symbol"]
