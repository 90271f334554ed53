"""What layers share: checks of arguments, operators as attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit.nn.cell import Cell
from pijit.ops.function.shapes import _pair as pair  # noqa: F401

if TYPE_CHECKING:
    from typing import Any


class OperatorCell(Cell):
    """A layer that computes by one function what its operators, which are attributes, give one after the other.

    Where a subclass, or anyone else, has put another operator in the place of one of those that the layer made,
    `replaced` gives True, and construct goes by the operators. Their descriptions are compared, not the objects: so
    layers of one kind share what was captured of one."""

    _described = ()

    def operators(self, **made: Any) -> None:
        """Keeps the operators that the layer begins with."""
        for name, operator in made.items():
            setattr(self, name, operator)
            # (its __dict__, which repr reads, is not known of one that is made in captured code)
            operator._described_as = f"{type(operator).__name__}{[getattr(operator, k, None) for k in operator._given]}"
            object.__setattr__(self, "_described", (*self._described, (name, operator._described_as)))

    def replaced(self) -> bool:
        """Whether one of the operators is another than the layer made."""
        for name, description in self._described:
            if getattr(getattr(self, name), "_described_as", None) != description:
                return True
        return False


def positive(name: str, arg: Any, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _check.refused(name, arg, _check.INT, value)
    if value <= 0:
        raise _check.refused(name, arg, _check.above(0), value)
    return value
