"""Discrete Fourier transforms. `norm`: 'backward' (the default) scales inverse transforms by 1 / n, 'forward' the
others, 'ortho' all by 1 / sqrt(n). Integers and halves are computed as float32, in complex64. Where a length is given,
the input is cut or filled with 0."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.compute_dtype import one_operator_each
from pijit.ops.function.complex_numbers import _COMPLEX, conj, _to_complex
from pijit.ops.function.creation import arange, ones
from pijit.ops.function.elementwise import cast, _need_tensor
from pijit.ops.function.rearranging import roll
from pijit.ops.function.joining import concat, stack
from pijit.ops.function.shapes import expand_dims, reshape

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import DType
    from pijit._types import Axis, Shape

_ALIKE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}  # the scale of a transform the other way


def _numbers(name, x):
    _need_tensor(name, "input", x)
    if x.dtype == mstype.bool_:
        raise _check.refused(name, "input", _check.value("hold numbers"), x.dtype, TypeError)
    if x.ndim < 1:
        raise _check.refused(name, "input", _check.least_dims(1), 0)
    return x


def _real(x):
    return x if x.dtype in (mstype.float32, mstype.float64) else cast(x, mstype.float32)


def _norm(name, norm):
    if norm is None:
        return "backward"
    if norm not in _ALIKE:
        raise _check.refused(name, "norm", _check.one_of(None, "backward", "forward", "ortho"), norm)
    return norm


def _axis(name, x, dim):
    if isinstance(dim, bool) or not isinstance(dim, int):
        raise _check.refused(name, "dim", _check.INT, dim)
    if not -x.ndim <= dim < x.ndim:
        raise _check.refused(name, "dim", _check.within(-x.ndim, x.ndim, "[)"), dim)
    return dim % x.ndim


def _length(name, n):
    if n is not None:
        if isinstance(n, bool) or not isinstance(n, int):
            raise _check.refused(name, "n", _check.INT, n)
        if n <= 0:
            raise _check.refused(name, "n", _check.above(0), n)
    return n


def _resized(x, n, axis):
    """x with n elements along an axis."""
    size = x.shape[axis]
    if n == size:
        return x
    if n < size:
        return x[(slice(None),) * axis + (slice(0, n),)]
    return _ops["pad"](x, [0] * x.ndim, [n - size if k == axis else 0 for k in range(x.ndim)], 0.0)


def _axes(name, x, s, dim):
    """(axis, length or None) of each axis to transform."""
    if dim is None:
        count = x.ndim if s is None else len(s)
        if count > x.ndim:
            raise _check.refused(name, "s", _check.value(f"hold at most {x.ndim} lengths"), count)
        dim = tuple(range(x.ndim - count, x.ndim))
    elif isinstance(dim, int):
        dim = (dim,)
    if s is None:
        s = (None,) * len(dim)
    elif isinstance(s, int):
        s = (s,)
    if len(s) != len(dim):
        raise _check.differ(name, ("s", "dim"), "length", len(s), len(dim))
    axes = [_axis(name, x, d) for d in dim]
    if len(set(axes)) != len(axes):
        raise _check.refused(name, "the dimensions of 'dim'", _check.value("differ"), tuple(dim))
    return [(a, None if k == -1 else _length(name, k)) for a, k in zip(axes, s)]


def _each(x, axes, norm, inverse):
    x = _to_complex(x)
    for axis, n in axes:
        x = _ops["fft"](x if n is None else _resized(x, n, axis), axis, norm, inverse)
    return x


def _half(x, axis, n, norm):
    """The first n / 2 + 1 elements of the transform along an axis."""
    if n is not None:
        x = _resized(x, n, axis)
    if x.dtype not in _COMPLEX:
        return _ops["rfft"](_real(x), axis, norm)
    return _resized(_ops["fft"](x, axis, norm, False), x.shape[axis] // 2 + 1, axis)


def _from_half(name, x, axis, n, norm):
    x = _to_complex(x)
    if n is None:
        n = 2 * (x.shape[axis] - 1)
        if n < 1:
            raise _check.refused(name, "the transformed dimension",
                                 _check.value("have at least 2 elements where no length is given"), x.shape[axis])
    return _ops["irfft"](_resized(x, n // 2 + 1, axis), axis, norm, n)


def fft(input: Tensor, n: int | None = None, dim: Axis = -1, norm: str | None = None) -> Tensor:
    """The Fourier transform of `input` along dimension `dim`: complex64, or complex128 of float64 and complex128.

    Raises TypeError for bool, ValueError for n < 1, an unknown norm and a dimension that isn't there.

    Returns:
        Tensor. Complex stays; ints give complex64; not for bool.

    Example:
        >>> print(ops.fft(Tensor([1.0, 0.0, 0.0, 0.0])))
        [1.+0.j 1.+0.j 1.+0.j 1.+0.j]
    """
    x = _numbers("fft", input)
    return _each(x, [(_axis("fft", x, dim), _length("fft", n))], _norm("fft", norm), False)


def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`.

    Args:
        input (Tensor): the input, of 1 dimension or more and int, float or complex dtype.
        n (int, optional): the length to cut or extend to first. Default: None.
        dim (int, optional): the axis; -1 is the last one. Default: -1.
        norm (str, optional): 'backward', 'ortho' or 'forward': which direction is divided by n, its root, or not.
            Default: None.

    Returns:
        Tensor. Complex stays; ints give complex64; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range, or `norm` is not one of those named.

    Example:
        >>> print(ops.ifft(ops.fft(Tensor([1.0, 2.0]))).real())
        [1. 2.]
    """
    x = _numbers("ifft", input)
    return _each(x, [(_axis("ifft", x, dim), _length("ifft", n))], _norm("ifft", norm), True)


def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first n / 2 + 1 elements of `fft`, which determine the rest for real tensors.

    Args:
        input (Tensor): the input, of 1 dimension or more and int, float or complex dtype.
        n (int, optional): the length to cut or extend to first. Default: None.
        dim (int, optional): the axis; -1 is the last one. Default: -1.
        norm (str, optional): 'backward', 'ortho' or 'forward': which direction is divided by n, its root, or not.
            Default: None.

    Returns:
        Tensor. Complex stays; ints give complex64; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range, or `norm` is not one of those named.

    Example:
        >>> print(ops.rfft(Tensor([1.0, 0.0, 0.0, 0.0])))
        [1.+0.j 1.+0.j 1.+0.j]
    """
    x = _numbers("rfft", input)
    return _half(x, _axis("rfft", x, dim), _length("rfft", n), _norm("rfft", norm))


def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """n real values (2 * (m - 1) by default) out of m elements that `rfft` gave.

    Args:
        input (Tensor): the input, of 1 dimension or more and int, float or complex dtype.
        n (int, optional): the length of the result. Default: None.
        dim (int, optional): the axis; -1 is the last one. Default: -1.
        norm (str, optional): 'backward', 'ortho' or 'forward': which direction is divided by n, its root, or not.
            Default: None.

    Returns:
        Tensor. Ints and complex give float32; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range, or `norm` is not one of those named.

    Example:
        >>> print(ops.irfft(ops.rfft(Tensor([1.0, 2.0, 3.0, 4.0]))))
        [1. 2. 3. 4.]
    """
    x = _numbers("irfft", input)
    return _from_half("irfft", x, _axis("irfft", x, dim), _length("irfft", n), _norm("irfft", norm))


def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The Fourier transform, real, of a signal with Hermitian symmetry whose first elements are given.

    Args:
        input (Tensor): the input, of 1 dimension or more and int, float or complex dtype.
        n (int, optional): the length of the result. Default: None.
        dim (int, optional): the axis; -1 is the last one. Default: -1.
        norm (str, optional): 'backward', 'ortho' or 'forward': which direction is divided by n, its root, or not.
            Default: None.

    Returns:
        Tensor. Ints and complex give float32; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range, or `norm` is not one of those named.

    Example:
        >>> print(ops.hfft(Tensor([1.0, 0.0, 0.0])))
        [1. 1. 1. 1.]
    """
    x = _numbers("hfft", input)
    return _from_half("hfft", conj(x), _axis("hfft", x, dim), _length("hfft", n), _ALIKE[_norm("hfft", norm)])


def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`: n / 2 + 1 elements.

    Args:
        input (Tensor): the input, of 1 dimension or more and int, float or complex dtype.
        n (int, optional): the length to cut or extend to first. Default: None.
        dim (int, optional): the axis; -1 is the last one. Default: -1.
        norm (str, optional): 'backward', 'ortho' or 'forward': which direction is divided by n, its root, or not.
            Default: None.

    Returns:
        Tensor. Complex stays; ints give complex64; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range, or `norm` is not one of those named.

    Example:
        >>> print(ops.ihfft(Tensor([4.0, 0.0, 0.0, 0.0])))
        [1.-0.j 1.-0.j 1.-0.j]
    """
    x = _numbers("ihfft", input)
    axis, n, norm = _axis("ihfft", x, dim), _length("ihfft", n), _norm("ihfft", norm)
    if x.dtype in _COMPLEX:
        x = _each(x, [(axis, n)], norm, True)
        return _resized(x, x.shape[axis] // 2 + 1, axis)
    return conj(_half(x, axis, n, _ALIKE[norm]))


def fftn(input: Tensor, s: Shape | None = None, dim: Axis | None = None, norm: str | None = None) -> Tensor:
    """The Fourier transform along several dimensions (default: all, or the last len(s)), of lengths `s`.

    Args:
        input (Tensor): the input, of 1 dimension or more and int, float or complex dtype.
        s (tuple of int, optional): the lengths along the dimensions. Default: None.
        dim (int, optional): the axis; -1 is the last one. Default: None.
        norm (str, optional): 'backward', 'ortho' or 'forward': which direction is divided by n, its root, or not.
            Default: None.

    Returns:
        Tensor. Complex stays; ints give complex64; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range, or `norm` is not one of those named.

    Example:
        >>> print(ops.fftn(Tensor([[1.0, 0.0], [0.0, 0.0]])))
        [[1.+0.j 1.+0.j]
         [1.+0.j 1.+0.j]]
    """
    x = _numbers("fftn", input)
    return _each(x, _axes("fftn", x, s, dim), _norm("fftn", norm), False)


def ifftn(input: Tensor, s: Shape | None = None, dim: Axis | None = None, norm: str | None = None) -> Tensor:
    """The inverse of `fftn`.

    Args:
        input (Tensor): the input, of 1 dimension or more and int, float or complex dtype.
        s (tuple of int, optional): the lengths along the dimensions. Default: None.
        dim (int, optional): the axis; -1 is the last one. Default: None.
        norm (str, optional): 'backward', 'ortho' or 'forward': which direction is divided by n, its root, or not.
            Default: None.

    Returns:
        Tensor. Complex stays; ints give complex64; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range, or `norm` is not one of those named.

    Example:
        >>> print(ops.ifftn(ops.fftn(Tensor([[1.0, 2.0]]))).real())
        [[1. 2.]]
    """
    x = _numbers("ifftn", input)
    return _each(x, _axes("ifftn", x, s, dim), _norm("ifftn", norm), True)


def _rfftn(name, input, s, dim, norm):
    x = _numbers(name, input)
    *others, (axis, n) = _axes(name, x, s, dim)
    return _each(_half(x, axis, n, norm), others, norm, False)


def _irfftn(name, input, s, dim, norm):
    x = _numbers(name, input)
    *others, (axis, n) = _axes(name, x, s, dim)
    return _from_half(name, _each(x, others, norm, True), axis, n, norm)


def rfftn(input: Tensor, s: Shape | None = None, dim: Axis | None = None, norm: str | None = None) -> Tensor:
    """`fftn` with the first n / 2 + 1 elements alone along the last of the dimensions.

    Args:
        input (Tensor): the input, of 1 dimension or more and int, float or complex dtype.
        s (tuple of int, optional): the lengths along the dimensions. Default: None.
        dim (int, optional): the axis; -1 is the last one. Default: None.
        norm (str, optional): 'backward', 'ortho' or 'forward': which direction is divided by n, its root, or not.
            Default: None.

    Returns:
        Tensor. Complex stays; ints give complex64; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range, or `norm` is not one of those named.

    Example:
        >>> print(ops.rfftn(Tensor([[1.0, 0.0], [0.0, 0.0]])))
        [[1.+0.j 1.+0.j]
         [1.+0.j 1.+0.j]]
    """
    return _rfftn("rfftn", input, s, dim, _norm("rfftn", norm))


def irfftn(input: Tensor, s: Shape | None = None, dim: Axis | None = None, norm: str | None = None) -> Tensor:
    """Real values out of what `rfftn` gave.

    Args:
        input (Tensor): the input, of 1 dimension or more and int, float or complex dtype.
        s (tuple of int, optional): the lengths along the dimensions. Default: None.
        dim (int, optional): the axis; -1 is the last one. Default: None.
        norm (str, optional): 'backward', 'ortho' or 'forward': which direction is divided by n, its root, or not.
            Default: None.

    Returns:
        Tensor. Ints and complex give float32; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range, or `norm` is not one of those named.

    Example:
        >>> print(ops.irfftn(ops.rfftn(Tensor([[1.0, 2.0], [3.0, 4.0]]))))
        [[1. 2.]
         [3. 4.]]
    """
    return _irfftn("irfftn", input, s, dim, _norm("irfftn", norm))


def hfftn(input: Tensor, s: Shape | None = None, dim: Axis | None = None, norm: str | None = None) -> Tensor:
    """`hfft` along the last of several dimensions, `fft` along the others.

    Args:
        input (Tensor): the input, of 1 dimension or more and int, float or complex dtype.
        s (tuple of int, optional): the lengths along the dimensions. Default: None.
        dim (int, optional): the axis; -1 is the last one. Default: None.
        norm (str, optional): 'backward', 'ortho' or 'forward': which direction is divided by n, its root, or not.
            Default: None.

    Returns:
        Tensor. Ints and complex give float32; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range, or `norm` is not one of those named.

    Example:
        >>> print(ops.hfftn(Tensor([[1.0, 0.0], [0.0, 0.0]])))
        [[1. 1.]
         [1. 1.]]
    """
    return _irfftn("hfftn", conj(_numbers("hfftn", input)), s, dim, _ALIKE[_norm("hfftn", norm)])


def ihfftn(input: Tensor, s: Shape | None = None, dim: Axis | None = None, norm: str | None = None) -> Tensor:
    """The inverse of `hfftn`.

    Args:
        input (Tensor): the input, of 1 dimension or more and int, float or complex dtype.
        s (tuple of int, optional): the lengths along the dimensions. Default: None.
        dim (int, optional): the axis; -1 is the last one. Default: None.
        norm (str, optional): 'backward', 'ortho' or 'forward': which direction is divided by n, its root, or not.
            Default: None.

    Returns:
        Tensor. Complex stays; ints give complex64; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range, or `norm` is not one of those named.

    Example:
        >>> print(ops.ihfftn(Tensor([[4.0, 0.0], [0.0, 0.0]])))
        [[1.-0.j 1.-0.j]
         [1.-0.j 1.-0.j]]
    """
    return conj(_rfftn("ihfftn", input, s, dim, _ALIKE[_norm("ihfftn", norm)]))


def fft2(input: Tensor, s: Shape | None = None, dim: Axis = (-2, -1), norm: str | None = None) -> Tensor:
    """`fftn` along two dimensions.

    Args:
        input (Tensor): the input, of 2 dimensions or more and int, float or complex dtype.
        s (tuple of int, optional): the lengths along the dimensions. Default: None.
        dim (int, optional): the axis; -1 is the last one. Default: (-2, -1).
        norm (str, optional): 'backward', 'ortho' or 'forward': which direction is divided by n, its root, or not.
            Default: None.

    Returns:
        Tensor. Complex stays; ints give complex64; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range, or `norm` is not one of those named.

    Example:
        >>> print(ops.fft2(Tensor([[1.0, 0.0], [0.0, 0.0]])))
        [[1.+0.j 1.+0.j]
         [1.+0.j 1.+0.j]]
    """
    return fftn(input, s, dim, norm)


def ifft2(input: Tensor, s: Shape | None = None, dim: Axis = (-2, -1), norm: str | None = None) -> Tensor:
    """`ifftn` along two dimensions.

    Args:
        input (Tensor): the input, of 2 dimensions or more and int, float or complex dtype.
        s (tuple of int, optional): the lengths along the dimensions. Default: None.
        dim (int, optional): the axis; -1 is the last one. Default: (-2, -1).
        norm (str, optional): 'backward', 'ortho' or 'forward': which direction is divided by n, its root, or not.
            Default: None.

    Returns:
        Tensor. Complex stays; ints give complex64; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range, or `norm` is not one of those named.

    Example:
        >>> print(ops.ifft2(ops.fft2(Tensor([[1.0, 2.0]]))).real())
        [[1. 2.]]
    """
    return ifftn(input, s, dim, norm)


def rfft2(input: Tensor, s: Shape | None = None, dim: Axis = (-2, -1), norm: str | None = None) -> Tensor:
    """`rfftn` along two dimensions.

    Args:
        input (Tensor): the input, of 2 dimensions or more and int, float or complex dtype.
        s (tuple of int, optional): the lengths along the dimensions. Default: None.
        dim (int, optional): the axis; -1 is the last one. Default: (-2, -1).
        norm (str, optional): 'backward', 'ortho' or 'forward': which direction is divided by n, its root, or not.
            Default: None.

    Returns:
        Tensor. Complex stays; ints give complex64; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range, or `norm` is not one of those named.

    Example:
        >>> print(ops.rfft2(Tensor([[1.0, 0.0], [0.0, 0.0]])))
        [[1.+0.j 1.+0.j]
         [1.+0.j 1.+0.j]]
    """
    return rfftn(input, s, dim, norm)


def irfft2(input: Tensor, s: Shape | None = None, dim: Axis = (-2, -1), norm: str | None = None) -> Tensor:
    """`irfftn` along two dimensions.

    Args:
        input (Tensor): the input, of 2 dimensions or more and int, float or complex dtype.
        s (tuple of int, optional): the lengths along the dimensions. Default: None.
        dim (int, optional): the axis; -1 is the last one. Default: (-2, -1).
        norm (str, optional): 'backward', 'ortho' or 'forward': which direction is divided by n, its root, or not.
            Default: None.

    Returns:
        Tensor. Ints and complex give float32; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range, or `norm` is not one of those named.

    Example:
        >>> print(ops.irfft2(ops.rfft2(Tensor([[1.0, 2.0], [3.0, 4.0]]))))
        [[1. 2.]
         [3. 4.]]
    """
    return irfftn(input, s, dim, norm)


def hfft2(input: Tensor, s: Shape | None = None, dim: Axis = (-2, -1), norm: str | None = None) -> Tensor:
    """`hfftn` along two dimensions.

    Args:
        input (Tensor): the input, of 2 dimensions or more and int, float or complex dtype.
        s (tuple of int, optional): the lengths along the dimensions. Default: None.
        dim (int, optional): the axis; -1 is the last one. Default: (-2, -1).
        norm (str, optional): 'backward', 'ortho' or 'forward': which direction is divided by n, its root, or not.
            Default: None.

    Returns:
        Tensor. Ints and complex give float32; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range, or `norm` is not one of those named.

    Example:
        >>> print(ops.hfft2(Tensor([[1.0, 0.0], [0.0, 0.0]])))
        [[1. 1.]
         [1. 1.]]
    """
    return hfftn(input, s, dim, norm)


def ihfft2(input: Tensor, s: Shape | None = None, dim: Axis = (-2, -1), norm: str | None = None) -> Tensor:
    """`ihfftn` along two dimensions.

    Args:
        input (Tensor): the input, of 2 dimensions or more and int, float or complex dtype.
        s (tuple of int, optional): the lengths along the dimensions. Default: None.
        dim (int, optional): the axis; -1 is the last one. Default: (-2, -1).
        norm (str, optional): 'backward', 'ortho' or 'forward': which direction is divided by n, its root, or not.
            Default: None.

    Returns:
        Tensor. Complex stays; ints give complex64; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range, or `norm` is not one of those named.

    Example:
        >>> print(ops.ihfft2(Tensor([[4.0, 0.0], [0.0, 0.0]])))
        [[1.-0.j 1.-0.j]
         [1.-0.j 1.-0.j]]
    """
    return ihfftn(input, s, dim, norm)


def _shifted(name, x, dim, back):
    _need_tensor(name, "input", x)
    dims = tuple(range(x.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    for d in dims:
        half = x.shape[_axis(name, x, d)] // 2
        x = roll(x, -half if back else half, d)
    return x


def fftshift(input: Tensor, dim: Axis | None = None) -> Tensor:
    """Frequency 0 moved from the front to the middle of dimensions (default: all).

    Args:
        input (Tensor): the input, of any shape and any dtype.
        dim (int, optional): the axis; -1 is the last one. Default: None.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range.

    Example:
        >>> print(ops.fftshift(Tensor([0.0, 1.0, 2.0, -2.0, -1.0])))
        [-2. -1.  0.  1.  2.]
    """
    return _shifted("fftshift", input, dim, False)


def ifftshift(input: Tensor, dim: Axis | None = None) -> Tensor:
    """The inverse of `fftshift`.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        dim (int, optional): the axis; -1 is the last one. Default: None.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `dim` is out of range.

    Example:
        >>> print(ops.ifftshift(Tensor([-2.0, -1.0, 0.0, 1.0, 2.0])))
        [ 0.  1.  2. -2. -1.]
    """
    return _shifted("ifftshift", input, dim, True)


def fftfreq(n: int, d: float = 1.0, dtype: DType | None = None) -> Tensor:
    """The frequencies of `fft` of n samples `d` apart, in float32 or `dtype`. Raises ValueError for n < 1.

    Args:
        n (int): the number of samples.
        d (float, optional): the distance of samples. Default: 1.0.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        1-d Tensor.

    Example:
        >>> print(ops.fftfreq(4))
        [ 0.    0.25 -0.5  -0.25]
    """
    _length("fftfreq", n)
    dtype = dtype or mstype.float32
    k = concat((arange(0, (n + 1) // 2), arange(-(n // 2), 0))) if n > 1 else arange(0, 1)
    return cast(cast(k, mstype.float64) / (n * d), dtype)


def rfftfreq(n: int, d: float = 1.0, dtype: DType | None = None) -> Tensor:
    """The frequencies of `rfft` of n samples `d` apart, in float32 or `dtype`. Raises ValueError for n < 1.

    Args:
        n (int): the number of samples.
        d (float, optional): the distance of samples. Default: 1.0.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        1-d Tensor.

    Example:
        >>> print(ops.rfftfreq(4))
        [0.   0.25 0.5 ]
    """
    _length("rfftfreq", n)
    return cast(cast(arange(0, n // 2 + 1), mstype.float64) / (n * d), dtype or mstype.float32)


def _turns(n, sign, part, axis, ndim):
    """(cosines, sines) of sign * pi * k / (2 n) along an axis."""
    shape = [n if k == axis else 1 for k in range(ndim)]
    a = reshape(cast(arange(0, n), mstype.float64) * (sign * math.pi / (2 * n)), shape)
    return cast(a.cos(), part), cast(a.sin(), part)


def _on_parts(f, x, axis):
    return (_ops["complex"](f(_ops["real"](x), axis), f(_ops["imag"](x), axis))
            if x.dtype in _COMPLEX else f(_real(x), axis))


def _scales(n, part, axis, ndim):
    """What makes a cosine transform of n elements orthogonal."""
    k = reshape(arange(0, n), [n if i == axis else 1 for i in range(ndim)])
    return _ops["select"](k == 0, Tensor(math.sqrt(1 / (4 * n)), part), Tensor(math.sqrt(1 / (2 * n)), part))


def _part(x, axis, *stride):
    return x[(slice(None),) * axis + (slice(*stride),)]


def _dct(x, axis):
    n = x.shape[axis]
    v = concat((_part(x, axis, None, None, 2), _part(_part(x, axis, 1, None, 2), axis, None, None, -1)),
               axis) if n > 1 else x
    z = _ops["fft"](_to_complex(v), axis, "backward", False)
    c, s = _turns(n, -1, x.dtype, axis, x.ndim)
    return 2 * (_ops["real"](z) * c - _ops["imag"](z) * s) * _scales(n, x.dtype, axis, x.ndim)


def _idct(x, axis):
    n = x.shape[axis]
    y = x / _scales(n, x.dtype, axis, x.ndim) * 0.5
    mirrored = _part(_ops["pad"](y, [0] * x.ndim, [1 if k == axis else 0 for k in range(x.ndim)], 0.0), axis, n, 0, -1)
    c, s = _turns(n, 1, x.dtype, axis, x.ndim)  # (y - i mirrored) * (c + i s)
    v = _ops["real"](_ops["fft"](_ops["complex"](y * c + mirrored * s, y * s - mirrored * c), axis, "backward", True))
    half = (n + 1) // 2
    first, second = _part(v, axis, 0, half), _part(_part(v, axis, half, None), axis, None, None, -1)
    if n % 2:
        second = _resized(second, half, axis)
    pairs = stack((first, second), axis + 1)
    return _resized(reshape(pairs, first.shape[:axis] + (2 * half,) + first.shape[axis + 1:]), n, axis)


def _cosine(name, x, type, n, axis, norm, f):
    x = _numbers(name, x)
    if type != 2:
        raise _check.refused(name, "type", _check.one_of(2), type)
    if norm not in (None, "ortho"):
        raise _check.refused(name, "norm", _check.one_of(None, "ortho"), norm)
    axis = _axis(name, x, axis)
    return _on_parts(f, x if n is None else _resized(x, _length(name, n), axis), axis)


def stft(x: Tensor, n_fft: Any, hop_length: Any = None, win_length: Any = None, window: Any = None, center: bool = True,
         pad_mode: str = "REFLECT", normalized: bool = False, onesided: Any = None,
         return_complex: Any = None) -> Tensor:
    """Fourier transforms of frames of a signal [..., length] (at most one batch dimension).

    The result is [..., frequencies, frames], or with a last dimension of 2 for real and imaginary part unless
    return_complex.

    n_fft: length of a frame; hop_length: between frames, n_fft // 4 by default; window: of win_length <= n_fft
        elements, 1 by default;
    center: frames stand around their place, the signal being continued at both ends as pad_mode says (REFLECT,
        CONSTANT, EDGE);
    normalized: divided by sqrt(n_fft); onesided: the first n_fft // 2 + 1 frequencies, by default where x and window
        are real.

    Returns:
        Tensor. Bool, ints and complex give float32.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if `pad_mode` is not 'REFLECT', 'CONSTANT' or 'EDGE', or `x` does not have 1 or 2 dimensions, or
            `win_length` is not in [1, n_fft], or `hop_length` is not greater than 0, or the shape of `window` does not
            fit, or `n_fft` is out of range.

    Example:
        >>> ops.stft(Tensor([1.0, 2.0, 3.0, 4.0]), 4).shape
        (3, 5, 2)
    """
    from pijit.ops.function.borders import pad
    _need_tensor("stft", "x", x)
    if x.ndim not in (1, 2):
        raise _check.refused("stft", "x", _check.dims(1, 2), x.ndim)
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    if not 0 < width <= n_fft:
        raise _check.refused("stft", "win_length", _check.within(1, "n_fft"), width)
    if hop <= 0:
        raise _check.refused("stft", "hop_length", _check.above(0), hop)
    x = x if x.dtype in _COMPLEX else _real(x)
    real_dtype = {mstype.complex64: mstype.float32, mstype.complex128: mstype.float64}.get(x.dtype, x.dtype)
    if window is None:
        window = ones((width,), real_dtype)
    if window.shape != (width,):
        raise _check.refused("stft", "window", _check.shape((width,)), window.shape)
    if width < n_fft:
        left = (n_fft - width) // 2
        window = _ops["pad"](window, [left], [n_fft - width - left], 0.0)
    is_real = x.dtype not in _COMPLEX and window.dtype not in _COMPLEX
    if onesided is None:
        onesided = is_real
    if onesided and not is_real:
        raise _check.needs("stft", "'onesided'", "a real signal and window")
    if center:
        mode = {"REFLECT": "reflect", "CONSTANT": "constant", "EDGE": "replicate"}.get(pad_mode.upper())
        if mode is None:
            raise _check.refused("stft", "pad_mode", _check.one_of("REFLECT", "CONSTANT", "EDGE"), pad_mode)
        sides = (n_fft // 2, n_fft // 2)
        x = (pad(expand_dims(x, 0) if x.ndim == 1 else x, sides, mode=mode)[0]
             if x.ndim == 1 else pad(x, sides, mode=mode))
    length = x.shape[-1]
    if n_fft <= 0 or n_fft > length:
        raise _check.refused("stft", "n_fft", _check.within(1, length), n_fft)
    frames = 1 + (length - n_fft) // hop
    places = reshape(arange(0, frames) * hop, (frames, 1)) + arange(0, n_fft)
    pieces = _ops["gather"](x, places, x.ndim - 1) * window
    norm = "ortho" if normalized else "backward"
    z = _half(pieces, pieces.ndim - 1, None, norm) if onesided else _each(pieces, [(pieces.ndim - 1, None)], norm,
                                                                          False)
    z = z.swapaxes(-1, -2)
    return z if return_complex else stack((_ops["real"](z), _ops["imag"](z)), -1)


def _with_size(x, signal_ndim, inverse, real, norm, onesided, signal_sizes):
    """The transform of the primitive FFTWithSize over the last signal_ndim dimensions."""
    x = _numbers("FFTWithSize", x)
    dims = tuple(range(-signal_ndim, 0))
    if not real:
        return _each(x, _axes("FFTWithSize", x, None, dims), norm, inverse)
    if not inverse:
        return (_rfftn("FFTWithSize", x, None, dims, norm)
                if onesided else _each(_real(x), _axes("FFTWithSize", x, None, dims), norm, False))
    if not onesided:
        return _ops["real"](_each(x, _axes("FFTWithSize", x, None, dims), norm, True))
    *others, (axis, _) = _axes("FFTWithSize", x, None, dims)
    n = signal_sizes[-1] if signal_sizes else None
    return _from_half("FFTWithSize", _each(x, others, norm, True), axis, n, norm)


one_operator_each(globals())


__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn",
           "ifftshift", "ihfft", "ihfft2",
           "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn", "stft"]
