"""The classes of MindSpore's dtypes and kinds: `isinstance(ms.float32, typing.Float)`, `typing.Int(32) == ms.int32`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import dtype as mstype, kinds

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import DType
    from pijit._types import DTypeLike


def _named(value, *begins):
    name = str(value)
    return any(name.startswith(b) and (name == b or name[len(b) :].isdigit()) for b in begins)


class _Kind(type):
    """`isinstance` goes by what a dtype or kind is called."""

    def __instancecheck__(cls, value: Any) -> Any:
        return isinstance(value, (mstype.Type, kinds._Kind)) and cls.holds(value)


class Type(metaclass=_Kind):
    """All dtypes and kinds."""

    @staticmethod
    def holds(value: Any) -> bool:
        return True


def _kind(name, kind, *begins, of_bits=None, base=Type):
    """A class of kinds, whose call gives the kind; of_bits: the dtype's name, but for its bits, which the call may
    give."""
    begins = begins or (name,)

    def __new__(cls, bits=None):
        if bits is None:
            return kind
        found = vars(mstype).get(f"{of_bits}{bits}")
        if found is None:
            raise RuntimeError(f"there is no dtype of kind {name} with {bits} bits.")
        return found

    def of_kind(cls):
        return kind

    doc = f"The kind {name}."
    return _Kind(
        name,
        (base,),
        {
            "__new__": __new__ if of_bits else of_kind,
            "holds": staticmethod(lambda v: _named(v, *begins)),
            "__doc__": doc,
        },
    )


Number: type[Any] = _kind("Number", kinds.number, "Int", "UInt", "Float", "BFloat", "Complex", "Bool", "Number")
UInt: type[Any]
Int: type[Any]
Int, UInt = (
    _kind("Int", kinds.int_, of_bits="int", base=Number),
    _kind("UInt", kinds.uint, of_bits="uint", base=Number),
)
BFloat: type[Any]
Float: type[Any]
Float, BFloat = (
    _kind("Float", kinds.float_, of_bits="float", base=Number),
    _kind("BFloat", kinds._Kind("BFloat", "bfloat"), of_bits="bfloat", base=Number),
)
Complex: type[Any] = _kind("Complex", kinds._Kind("Complex", "complex"), of_bits="complex", base=Number)
String: type[Any]
Bool: type[Any]
Bool, String = _kind("Bool", mstype.bool_, base=Number), _kind("String", kinds.string)
TypeNone: type[Any]
Tuple: type[Any]
List: type[Any]
List, Tuple, TypeNone = (
    _kind("List", kinds.list_),
    _kind("Tuple", kinds.tuple_),
    _kind("TypeNone", kinds.type_none, "None"),
)


class TensorType(Type):
    """The kind of Tensors. Called it gives the one of a dtype."""

    def __new__(cls, element: Any = None) -> Any:
        return kinds.TensorType(element)

    @staticmethod
    def holds(value: Any) -> bool:
        return isinstance(value, kinds.TensorType)


def is_subclass(kind: Any, template: Any) -> bool:
    """Whether a kind is among those of another."""
    from pijit.compat.old.checkparam import is_kind

    return is_kind(kind, template)


def type_size_in_bytes(dtype: DTypeLike) -> int:
    """How many bytes an element has."""
    from pijit.compat.old import values

    return values.type_size_in_bytes(dtype)


def str_to_type(name: str) -> Any:
    """The dtype or kind of a name, as "float32", "Float32" or "Tensor". RuntimeError for another."""
    dtypes = {
        str(t): t for t in (*mstype.number_type, mstype.bool_, mstype.bfloat16, mstype.complex64, mstype.complex128)
    }
    known = {
        **dtypes,
        **{n.lower(): t for n, t in dtypes.items()},
        **{
            str(k()): k()
            for k in (Number, Int, UInt, Float, BFloat, Complex, String, List, Tuple, TypeNone, TensorType)
        },
    }
    if name not in known:
        raise RuntimeError(f"there is no dtype or kind {name!r}.")
    return known[name]


kComplex128: DType
kComplex64: DType
kBFloat16: DType
kFloat64: DType
kFloat32: DType
kFloat16: DType
kUInt64: DType
kUInt32: DType
kUInt16: DType
kUInt8: DType
kInt64: DType
kInt32: DType
kInt16: DType
kInt8: DType
kBool: DType
(
    kBool,
    kInt8,
    kInt16,
    kInt32,
    kInt64,
    kUInt8,
    kUInt16,
    kUInt32,
    kUInt64,
    kFloat16,
    kFloat32,
    kFloat64,
    kBFloat16,
    kComplex64,
    kComplex128,
) = (
    mstype.bool_,
    mstype.int8,
    mstype.int16,
    mstype.int32,
    mstype.int64,
    mstype.uint8,
    mstype.uint16,
    mstype.uint32,
    mstype.uint64,
    mstype.float16,
    mstype.float32,
    mstype.float64,
    mstype.bfloat16,
    mstype.complex64,
    mstype.complex128,
)
