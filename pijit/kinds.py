"""Names of MindSpore for kinds of values, beside the dtypes: what a graph's node may hold."""

from __future__ import annotations

import enum
import functools
from typing import TYPE_CHECKING

from pijit._C import Tensor, dtype

if TYPE_CHECKING:
    from typing import Any


class _Kind:
    """A kind of values: two are equal where their names are."""

    name: str

    def __init__(self, name: str, shown: Any) -> None:
        self.name, self._shown = name, shown

    def __repr__(self) -> str:
        return f"mindspore.{self._shown}"

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Kind) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)


class TensorType(_Kind):
    """The kind of tensors, or of those of one dtype."""

    def __init__(self, element: Any = None) -> None:
        self.element = element
        super().__init__("Tensor" if element is None else f"Tensor[{element}]",
                         "tensor" if element is None else f"tensor[{repr(element).rpartition('.')[2]}]")

    def element_type(self) -> Any:
        """The dtype of its tensors, or None."""
        return self.element


class Int(_Kind):
    """The kind of whole numbers with a sign."""

    def __init__(self) -> None:
        super().__init__("Int", "int")


float_: _Kind
uint: _Kind
int_: Int
number: _Kind
number, int_, uint, float_ = _Kind("Number", "number"), Int(), _Kind("UInt", "uint"), _Kind("Float", "float")
tensor_type: Any
type_none: _Kind
string: _Kind
string, type_none, tensor_type = _Kind("String", "string_"), _Kind("None", "type_none"), TensorType()
tuple_: _Kind
list_: _Kind
list_, tuple_ = _Kind("List", "list_"), _Kind("Tuple", "tuple_")

_OF_PYTHON = {bool: dtype("bool"), int: dtype("int64"), float: dtype("float32"), str: string, type(None): type_none}
_of_tensors = functools.cache(TensorType)  # one for each dtype


def kind_of(x: Any) -> Any:
    """The kind of a value."""
    if isinstance(x, Tensor):
        return _of_tensors(x.dtype)
    if isinstance(x, (tuple, list)):
        name = "Tuple" if isinstance(x, tuple) else "List"
        inner = ",".join([str(kind_of(v)) for v in x])
        return _Kind(f"{name}[{inner}]", f"{name.lower()}[{inner}]")
    if type(x) not in _OF_PYTHON:
        raise TypeError(f"A {type(x).__name__} is of no kind that a graph's node may hold.")
    return _OF_PYTHON[type(x)]


QuantDtype: Any = enum.Enum("QuantDtype",
                            {f"{sign}INT{bits}": first + bits - 1 for sign, first in (("", 0), ("U", 100))
                             for bits in range(1, 17)}, module=__name__)
QuantDtype.__doc__ = "Widths of quantized ints: INT1 to INT16, UINT1 to UINT16."

__all__ = ["Int", "QuantDtype", "TensorType", "float_", "int_", "list_", "number", "string", "tensor_type", "tuple_",
           "type_none", "uint"]
