"""Complex tensors: their parts, what joins parts, and tests."""

from __future__ import annotations

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor, ops as _ops
from pijit.compute_dtype import gives_compute_dtype
from pijit.ops.function.creation import ones_like, zeros_like
from pijit.ops.function.elementwise import cast, cos, equal, isnan, sin, _need_tensor
from pijit.ops.function.joining import stack
from pijit.ops.function.shapes import _same_shape
from pijit.ops.table import named as _named

_COMPLEX = (mstype.complex64, mstype.complex128)


@_named(method=True)
def is_complex(input: Tensor) -> bool:
    """Whether a tensor's dtype is complex64 or complex128. Raises TypeError unless input is a Tensor.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        bool. Takes bool, ints, floats and complex.

    Example:
        >>> ops.is_complex(Tensor([1j]))
        True
    """
    if not isinstance(input, Tensor):
        raise _check.refused("is_complex", "input", _check.TENSOR, input)
    return input.dtype in _COMPLEX


@_named(method=True, primitive="Real")
@gives_compute_dtype
def real(input: Tensor) -> Tensor:
    """The real part of each element, float32 or float64; of real tensors a copy.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        Tensor of input's shape. Bool, ints and floats keep their dtype; complex gives float32.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.real(Tensor([1 + 2j, 3j])))
        [1. 0.]
    """
    _need_tensor("real", "input", input)
    return _ops["real" if input.dtype in _COMPLEX else "identity"](input)


@_named(method=True, primitive="Imag")
def imag(input: Tensor) -> Tensor:
    """The imaginary part of each element, float32 or float64; 0 for a real tensor, in its dtype.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        Tensor of input's shape. Bool, ints and floats keep their dtype; complex gives float32.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.imag(Tensor([1 + 2j, 3j])))
        [2. 3.]
    """
    _need_tensor("imag", "input", input)
    return _ops["imag"](input) if input.dtype in _COMPLEX else zeros_like(input)


@_named(method=True, primitive="Conj")
@gives_compute_dtype
def conj(input: Tensor) -> Tensor:
    """The complex conjugate of each element; of real tensors a copy.

    Args:
        input (Tensor): the input, of any shape and int, float or complex dtype.

    Returns:
        Tensor of input's shape and dtype. Ints, floats and complex keep their dtype; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor, or `input` does not have numbers.

    Example:
        >>> print(ops.conj(Tensor([1 + 2j])))
        [1.-2.j]
    """
    _need_tensor("conj", "input", input)
    if input.dtype == mstype.bool_:
        raise _check.refused("conj", "input", _check.value("have numbers", shown=str), input.dtype, TypeError)
    return _ops["conj" if input.dtype in _COMPLEX else "identity"](input)


@_named(method=True, primitive="Angle")
def angle(input: Tensor) -> Tensor:
    """The argument of each element of a complex tensor in (-pi, pi]. Raises TypeError for a real tensor.

    Args:
        input (Tensor): complex numbers.

    Returns:
        Tensor of input's shape. Complex gives float32; not for bool, ints and floats.

    Example:
        >>> print(ops.angle(Tensor([1j])))
        [1.57079633]
    """
    _need_tensor("angle", "input", input)
    return _ops["angle"](input)


@_named(primitive="Complex")
def complex(real: Tensor, imag: Tensor) -> Tensor:
    """real + i imag, complex64 of float32 tensors and complex128 of float64 ones, which must be of one dtype and
    broadcast to one shape.

    Args:
        real (Tensor): the real part.
        imag (Tensor): the imaginary part.

    Returns:
        Tensor of the common shape. Float32 give complex64; float64 give complex128; not for bool, ints and complex.

    Raises:
        TypeError: if `real` is not a Tensor.
        ValueError: if the shape of `imag` does not fit.

    Example:
        >>> print(ops.complex(Tensor([1.0, 2.0]), Tensor([0.5, 0.0])))
        [1.+0.5j 2.+0.j ]
    """
    for name, x in (("real", real), ("imag", imag)):
        _need_tensor("complex", name, x)
        if x.dtype not in (mstype.float32, mstype.float64):
            raise _check.refused("complex", name, _check.dtypes("float32", "float64"), x.dtype)
    if real.dtype != imag.dtype:
        raise _check.differ("complex", ("real", "imag"), "dtype", real.dtype, imag.dtype)
    if real.shape != imag.shape:
        real, imag = real * ones_like(imag), imag * ones_like(real)
    return _ops["complex"](real, imag)


@_named(primitive="Polar")
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """abs * exp(i angle): complex64 of float32 tensors, complex128 of float64 ones. Raises TypeError for others.

    Args:
        abs (Tensor): the absolute value.
        angle (Tensor): the angle, in radians.

    Returns:
        Tensor of the common shape. Float32 give complex64; float64 give complex128; not for bool, ints and complex.

    Example:
        >>> print(ops.polar(Tensor([1.0]), Tensor([0.0])))
        [1.+0.j]
    """
    for name, x in (("abs", abs), ("angle", angle)):
        if not isinstance(x, Tensor) or x.dtype not in (mstype.float32, mstype.float64):
            raise _check.refused("polar", name, _check.value("be a Tensor of float32 or float64"),
                                 getattr(x, "dtype", type(x).__name__), TypeError)
    _same_shape("polar", abs=abs, angle=angle)
    return complex(abs * cos(angle), abs * sin(angle))


def view_as_real(input: Tensor) -> Tensor:
    """A complex tensor as a real one with a further axis of 2: real part, imaginary part.

    Raises TypeError for a real tensor.

    Args:
        input (Tensor): complex numbers.

    Returns:
        Tensor of shape (*input.shape, 2). Complex gives float32; not for bool, ints and floats.

    Example:
        >>> print(ops.view_as_real(Tensor([1 + 2j])))
        [[1. 2.]]
    """
    _need_tensor("view_as_real", "input", input)
    if input.dtype not in _COMPLEX:
        raise _check.refused("view_as_real", "input", _check.dtypes("complex64", "complex128"), input.dtype)
    return stack((_ops["real"](input), _ops["imag"](input)), -1)


@_named(method=True)
def isreal(input: Tensor) -> Tensor:
    """Where elements have no imaginary part.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        bool Tensor of input's shape. Bool stays; ints, floats and complex give bool.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.isreal(Tensor([1 + 2j, 3])))
        [False  True]
    """
    _need_tensor("isreal", "input", input)
    if input.dtype in _COMPLEX:
        return _ops["imag"](input) == 0
    return equal(input, input) | isnan(input)


def _to_complex(x):
    """x in the complex dtype that holds its values to at least float32's precision."""
    if x.dtype in _COMPLEX:
        return x
    return cast(x, mstype.complex128 if x.dtype == mstype.float64 else mstype.complex64)


__all__ = ["angle", "complex", "conj", "imag", "is_complex", "isreal", "polar", "real", "view_as_real"]
