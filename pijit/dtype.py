"""Element types under their public names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit._C import DType, dtype
from pijit._numpy import np

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import DTypeLike

bool_: DType = dtype("bool")
int8: DType = dtype("int8")
byte: DType = int8
int16: DType = dtype("int16")
short: DType = int16
int32: DType = dtype("int32")
intc: DType = int32
int64: DType = dtype("int64")
intp: DType = int64
long: DType = int64
uint8: DType = dtype("uint8")
ubyte: DType = uint8
uint16: DType = dtype("uint16")
ushort: DType = uint16
uint32: DType = dtype("uint32")
uintc: DType = uint32
uint64: DType = dtype("uint64")
uintp: DType = uint64
float16: DType = dtype("float16")
half: DType = float16
bfloat16: DType = dtype("bfloat16")
float32: DType = dtype("float32")
single: DType = float32
float64: DType = dtype("float64")
double: DType = float64
complex64: DType = dtype("complex64")
cfloat: DType = complex64
complex128: DType = dtype("complex128")
cdouble: DType = complex128
Type = DType

int_type: tuple[DType, ...] = (int8, int16, int32, int64)
uint_type: tuple[DType, ...] = (uint8, uint16, uint32, uint64)
float_type: tuple[DType, ...] = (float16, bfloat16, float32, float64)
complex_type: tuple[DType, ...] = (complex64, complex128)
number_type: tuple[DType, ...] = int_type + uint_type + float_type + complex_type


def dtype_to_nptype(type_: Any) -> Any:
    """The NumPy scalar type of a dtype. bfloat16, which NumPy lacks, gives float32."""
    return np.dtype("float32" if type_ is bfloat16 else type_.name).type


def dtype_to_pytype(type_: Any) -> Any:
    """The Python type of a dtype: bool, int, float or complex."""
    return bool if type_ is bool_ else complex if type_ in complex_type else float if type_.is_floating_point else int


def get_py_obj_dtype(obj: Any) -> DType:
    """The dtype of a number, or of a Python or NumPy type."""
    return dtype(obj if isinstance(obj, type) else type(obj))


def pytype_to_dtype(obj: Any) -> DType:
    """The dtype of a Python scalar type."""
    return dtype(obj)


def _float_range(exponent, digits):
    most = (2.0 - 2.0 ** (1 - digits)) * 2.0 ** exponent
    return -most, most


_RANGES = {bfloat16.name: _float_range(127, 8), float16.name: _float_range(15, 11), float32.name: _float_range(127, 24),
           float64.name: _float_range(1023, 53)}
for _bits, _signed, _unsigned in zip((8, 16, 32, 64), int_type, uint_type):
    _RANGES[_signed.name], _RANGES[_unsigned.name] = (-2 ** (_bits - 1), 2 ** (_bits - 1) - 1), (0, 2 ** _bits - 1)


def finite_range(dtype: DTypeLike) -> tuple[float, float]:
    """(least, greatest) finite value of a number dtype, as int or float."""
    return _RANGES[dtype.name]


from pijit.kinds import *  # noqa: E402, F403

__all__ = [n for n in globals() if n[0] != "_" and n not in ("np", "DType", "dtype", "annotations", "TYPE_CHECKING")]
