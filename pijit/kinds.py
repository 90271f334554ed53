"""Names of MindSpore for kinds of values, beside the dtypes: what a graph's node may hold."""

import enum


class _Kind:
    """A kind of values: two are equal where their names are."""

    def __init__(self, name, shown):
        self.name, self._shown = name, shown

    def __repr__(self):
        return f"mindspore.{self._shown}"

    def __str__(self):
        return self.name

    def __eq__(self, other):
        return isinstance(other, _Kind) and other.name == self.name

    def __hash__(self):
        return hash(self.name)


class TensorType(_Kind):
    """The kind of tensors."""

    def __init__(self):
        super().__init__("Tensor", "tensor")


class Int(_Kind):
    """The kind of whole numbers with a sign."""

    def __init__(self):
        super().__init__("Int", "int")


number, int_, uint, float_ = _Kind("Number", "number"), Int(), _Kind("UInt", "uint"), _Kind("Float", "float")
string, type_none, tensor_type = _Kind("String", "string_"), _Kind("NoneType", "type_none"), TensorType()
list_, tuple_ = _Kind("List", "list_"), _Kind("Tuple", "tuple_")

QuantDtype = enum.Enum("QuantDtype", {f"{sign}INT{bits}": first + bits - 1 for sign, first in (("", 0), ("U", 100)) for bits in range(1, 17)}, module=__name__)
QuantDtype.__doc__ = "Widths of quantized ints: INT1 to INT16, UINT1 to UINT16."

__all__ = ["Int", "QuantDtype", "TensorType", "float_", "int_", "list_", "number", "string", "tensor_type", "tuple_", "type_none", "uint"]
