"""Element types under their public names."""

from pijit._C import DType, dtype
from pijit._numpy import np

bool_ = dtype("bool")
int8 = byte = dtype("int8")
int16 = short = dtype("int16")
int32 = intc = dtype("int32")
int64 = intp = long = dtype("int64")
uint8 = ubyte = dtype("uint8")
uint16 = ushort = dtype("uint16")
uint32 = uintc = dtype("uint32")
uint64 = uintp = dtype("uint64")
float16 = half = dtype("float16")
bfloat16 = dtype("bfloat16")
float32 = single = dtype("float32")
float64 = double = dtype("float64")
complex64 = cfloat = dtype("complex64")
complex128 = cdouble = dtype("complex128")
Type = DType

int_type = (int8, int16, int32, int64)
uint_type = (uint8, uint16, uint32, uint64)
float_type = (float16, bfloat16, float32, float64)
complex_type = (complex64, complex128)
number_type = int_type + uint_type + float_type + complex_type


def dtype_to_nptype(type_):
    """The NumPy scalar type of a dtype. bfloat16, which NumPy lacks, gives float32."""
    return np.dtype("float32" if type_ is bfloat16 else type_.name).type


def dtype_to_pytype(type_):
    """The Python type of a dtype: bool, int, float or complex."""
    return bool if type_ is bool_ else complex if type_ in complex_type else float if type_.is_floating_point else int


def get_py_obj_dtype(obj):
    """The dtype of a number, or of a Python or NumPy type."""
    return dtype(obj if isinstance(obj, type) else type(obj))


def pytype_to_dtype(obj):
    """The dtype of a Python scalar type."""
    return dtype(obj)


def _float_range(exponent, digits):
    most = (2.0 - 2.0 ** (1 - digits)) * 2.0 ** exponent
    return -most, most


_RANGES = {bfloat16.name: _float_range(127, 8), float16.name: _float_range(15, 11), float32.name: _float_range(127, 24),
           float64.name: _float_range(1023, 53)}
for _bits, _signed, _unsigned in zip((8, 16, 32, 64), int_type, uint_type):
    _RANGES[_signed.name], _RANGES[_unsigned.name] = (-2 ** (_bits - 1), 2 ** (_bits - 1) - 1), (0, 2 ** _bits - 1)


def finite_range(dtype):
    """(least, greatest) finite value of a number dtype, as int or float."""
    return _RANGES[dtype.name]


from pijit.kinds import *  # noqa: E402, F403

__all__ = [n for n in globals() if n[0] != "_" and n not in ("np", "DType", "dtype")]
