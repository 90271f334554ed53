"""Cells that hold cells."""

from __future__ import annotations

from collections import OrderedDict
from itertools import islice
from typing import TYPE_CHECKING

from pijit import _check
from pijit.nn.cell import Cell, _store

if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterator, KeysView, ValuesView
    from typing import Any, Self
    from pijit._C import Tensor


class _Indexed(Cell):
    def _key(self, index):
        n = len(self._cells)
        if not isinstance(index, int):
            raise TypeError(f"the index must be an int or a slice, but got {type(index).__name__}.")
        if not -n <= index < n:
            raise IndexError(f"the index {index} is out of range for {n} cells.")
        return list(self._cells)[index]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._part(list(self._cells.values())[index])
        if isinstance(index, str) and index in self._cells:
            return self._cells[index]
        return self._cells[self._key(index)]

    def _part(self, cells):
        """The cells in a container of the same kind, with the names that their parameters have."""
        part = SequentialCell() if isinstance(self, SequentialCell) else CellList()
        part._auto_prefix = False
        for i, cell in enumerate(cells):
            part.insert_child_to_cell(str(i), cell)
        part._refresh()
        return part

    def __setitem__(self, index: Any, cell: Any) -> None:
        self._insert_named(self._key(index), cell)
        self._refresh()

    def _place_of_indices(self):
        """What MindSpore puts before the index of a cell that is added later, and at which place of a dotted name the
        index then stands. It looks at the first two cells that have parameters: at the first part of the first one's
        name that is its index where the other's name has its own; else at the last one that is. The first cell's own
        index therefore stands before those of others, where it is a container and was alone at first."""
        cells = ((key, next(iter(cell.get_parameters()), None)) for key, cell in self._cells.items())
        named = list(islice(((key, p.name.split(".")) for key, p in cells if p is not None), 2))
        place = None
        if named:
            first, parts = named[0]
            for i in (i for i, part in enumerate(parts) if part == first):
                place = i
                if len(named) == 2 and named[1][1][i:i + 1] == [named[1][0]]:
                    break
        return ("", 0) if place is None else ("".join(part + "." for part in parts[:place]), place)

    def _insert_named(self, name, cell, prefix=None):
        if prefix is None:
            prefix = self._place_of_indices()[0] if self._auto_prefix else ""
        self.insert_child_to_cell(name, cell)
        if prefix:
            cell.update_parameters_name(f"{prefix}{name}.")

    def __delitem__(self, index: Any) -> None:
        kept, place = list(self._cells.values()), self._place_of_indices()[1]
        del kept[index]
        if self._auto_prefix:  # else a cell that is added later would get the names of one that stays
            _rename_later(kept, 0, place)
        for name in list(self._cells):
            del self._cells[name]
            self.__dict__.pop(name, None)
        for i, c in enumerate(kept):
            self._cells[str(i)] = c
            _store(self, str(i), c)
        self._refresh()

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.cell_list)

    def append(self, cell: Any) -> Self:
        """Adds a cell at the end."""
        self._insert_named(str(len(self._cells)), cell)
        self._refresh()
        return self

    def _refresh(self):
        _store(self, "cell_list", tuple(self._cells.values()))


class SequentialCell(_Indexed):
    """Cells called one after the other. Takes cells, a list of cells or an OrderedDict.

    Args:
        *args (object): the arguments.

    Inputs:
        x: what the first cell takes.

    Outputs:
        what the last cell gives.

    Example:
        >>> nn.SequentialCell(nn.Dense(3, 2), nn.ReLU())(ops.ones((1, 3))).shape
        (1, 2)
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, cell in args[0].items():
                self.insert_child_to_cell(name, cell)
        else:
            cells = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
            for i, cell in enumerate(cells):
                self.insert_child_to_cell(str(i), cell)
        self._refresh()

    def construct(self, x: Tensor) -> Any:
        for cell in self.cell_list:
            x = cell(x)
        return x


class CellList(_Indexed):
    """A list of cells; it is not called itself.

    Args:
        *args (object): the arguments.

    Example:
        >>> len(nn.CellList([nn.ReLU(), nn.Tanh()]))
        2
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(kwargs.get("auto_prefix", True))
        cells = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
        for i, cell in enumerate(cells):
            self.insert_child_to_cell(str(i), cell)
        self._refresh()

    def extend(self, cells: Any) -> Self:
        """Adds cells at the end."""
        prefix = self._place_of_indices()[0] if self._auto_prefix else ""
        for c in cells:
            self._insert_named(str(len(self._cells)), c, prefix)
        self._refresh()
        return self

    def __iadd__(self, cells: Any) -> Self:
        return self.extend(cells)

    def construct(self, *args: Any) -> None:  # noqa: ARG002
        raise _not_called(self)

    def insert(self, index: Any, cell: Any) -> None:
        """Adds a cell before `index`."""
        if not isinstance(cell, Cell):
            raise _check.refused("insert", "cell", _check.a(Cell), cell)
        (prefix, place), cells = self._place_of_indices(), list(self._cells.values())
        if not -len(cells) <= index <= len(cells):
            raise _check.refused("insert", "index", _check.within(-len(cells), len(cells)), index, IndexError)
        position = index % (len(cells) or 1) if index < 0 else index
        cells.insert(position, cell)
        if self._auto_prefix:
            _rename_later(cells, position + 1, place)
            cell.update_parameters_name(f"{prefix}{position}.")
        self._cells.clear()
        for i, c in enumerate(cells):
            self._cells[str(i)] = c
            _store(self, str(i), c)
        self._refresh()


def _rename_later(cells, start, place):
    """Puts the index of each cell from `start` on into the names of its parameters."""
    for i in range(start, len(cells)):
        for p in cells[i].get_parameters():
            parts = p.name.split(".")
            if place < len(parts):
                parts[place] = str(i)
                p.name = ".".join(parts)


def _not_called(cells):
    return NotImplementedError(f"a {type(cells).__name__} is not called itself: call the cells in it.")


class CellDict(Cell):
    """A dictionary of cells; it is not called itself.

    Args:
        *args (object): the arguments.

    Raises:
        TypeError: if a key is no str, or a value no Cell.
        KeyError: if a key is empty, has a dot, or is the name of an attribute of Cells.

    Example:
        >>> list(nn.CellDict({"a": nn.ReLU()}).keys())
        ['a']
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ARG002
        super().__init__()
        if args:
            self.update(args[0])

    def __getitem__(self, key: Any) -> Any:
        return self._cells[key]

    def __setitem__(self, key: Any, cell: Any) -> None:
        if isinstance(key, str) and (not key or "." in key or key not in self._cells and hasattr(self, key)):
            raise _check.refused("CellDict", "a key", _check.value("be a name without dots, no attribute of Cells"),
                                 key, KeyError)
        self.insert_child_to_cell(key, cell)

    def __delitem__(self, key: Any) -> None:
        self.pop(key)

    def construct(self, *args: Any) -> None:  # noqa: ARG002
        raise _not_called(self)

    def __len__(self) -> int:
        return len(self._cells)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._cells)

    def __contains__(self, key: Any) -> bool:
        return key in self._cells

    def keys(self) -> KeysView[Any]:
        """Names."""
        return self._cells.keys()

    def values(self) -> ValuesView[Any]:
        """Cells."""
        return self._cells.values()

    def items(self) -> ItemsView[Any, Any]:
        """(name, cell) pairs."""
        return self._cells.items()

    def clear(self) -> None:
        """Removes all cells."""
        for k in list(self._cells):
            delattr(self, k)

    def pop(self, key: Any) -> Any:
        """Removes and returns a cell."""
        c = self._cells[key]
        delattr(self, key)
        return c

    def update(self, cells: Any) -> None:
        """Adds the cells of a mapping or of (name, cell) pairs."""
        for k, c in cells.items() if hasattr(cells, "items") else cells:
            self[k] = c
