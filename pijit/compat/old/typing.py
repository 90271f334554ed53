"""The classes of MindSpore's dtypes and kinds: `isinstance(ms.float32, typing.Float)`, `typing.Int(32) == ms.int32`."""

from pijit import dtype as mstype, kinds


def _named(value, *begins):
    name = str(value)
    return any(name.startswith(b) and (name == b or name[len(b) :].isdigit()) for b in begins)


class _Kind(type):
    """`isinstance` goes by what a dtype or kind is called."""

    def __instancecheck__(cls, value):
        return isinstance(value, (mstype.Type, kinds._Kind)) and cls.holds(value)


class Type(metaclass=_Kind):
    """All dtypes and kinds."""

    @staticmethod
    def holds(value):
        return True


class Number(Type):
    """Dtypes of numbers."""

    @staticmethod
    def holds(value):
        return _named(value, "Int", "UInt", "Float", "BFloat", "Complex", "Bool", "Number")


def _kind(name, *begins, of_bits=None):
    """A class of kinds; of_bits: the dtype's name, but for its bits, which its call gives."""

    def __new__(cls, bits=None):
        return getattr(mstype, f"{of_bits}{bits}") if bits is not None else getattr(kinds, of_bits + "_", None) or cls

    members = {"holds": staticmethod(lambda value: _named(value, *begins)), "__doc__": f"The kind {name}."}
    if of_bits is not None:
        members["__new__"] = __new__
    return _Kind(name, (Number if of_bits or name == "Bool" else Type,), members)


Int, UInt = _kind("Int", "Int", of_bits="int"), _kind("UInt", "UInt", of_bits="uint")
Float, BFloat = _kind("Float", "Float", of_bits="float"), _kind("BFloat", "BFloat", of_bits="bfloat")
Complex, Bool = _kind("Complex", "Complex", of_bits="complex"), _kind("Bool", "Bool")
String, List, Tuple, TypeNone = (
    _kind("String", "String"),
    _kind("List", "List"),
    _kind("Tuple", "Tuple"),
    _kind("TypeNone", "TypeNone", "NoneType"),
)


class TensorType(Type):
    """The kind of Tensors. Called it gives the one of a dtype."""

    def __new__(cls, element=None):
        return kinds.TensorType(element)

    @staticmethod
    def holds(value):
        return isinstance(value, kinds.TensorType)


def is_subclass(kind, template):
    """Whether a kind is among those of another."""
    from pijit.compat.old.checkparam import is_kind

    return is_kind(kind, template)


def type_size_in_bytes(dtype):
    """How many bytes an element has."""
    from pijit.compat.old import values

    return values.type_size_in_bytes(dtype)


def str_to_type(name):
    """The dtype of a name such as "float32"."""
    return getattr(mstype, name)


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
