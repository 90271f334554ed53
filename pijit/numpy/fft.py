"""Fourier transforms by NumPy's names; lists and numbers become Tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit._C import Tensor
from pijit.ops.function import spectral as _f
from pijit.ops.function.spectral import fftfreq, rfftfreq

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import ArrayLike, Axis

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn",
           "ifftshift",
           "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]


def _tensor(a):
    return a if isinstance(a, Tensor) else Tensor(a)


def fft(a: ArrayLike, n: int = None, axis: Axis = -1, norm: str = None) -> Tensor:
    """`ops.fft` along an axis."""
    return _f.fft(_tensor(a), n, axis, norm)


def ifft(a: ArrayLike, n: int = None, axis: Axis = -1, norm: str = None) -> Tensor:
    """`ops.ifft` along an axis."""
    return _f.ifft(_tensor(a), n, axis, norm)


def rfft(a: ArrayLike, n: int = None, axis: Axis = -1, norm: str = None) -> Tensor:
    """`ops.rfft` along an axis."""
    return _f.rfft(_tensor(a), n, axis, norm)


def irfft(a: ArrayLike, n: int = None, axis: Axis = -1, norm: str = None) -> Tensor:
    """`ops.irfft` along an axis."""
    return _f.irfft(_tensor(a), n, axis, norm)


def hfft(a: ArrayLike, n: int = None, axis: Axis = -1, norm: str = None) -> Tensor:
    """`ops.hfft` along an axis."""
    return _f.hfft(_tensor(a), n, axis, norm)


def ihfft(a: ArrayLike, n: int = None, axis: Axis = -1, norm: str = None) -> Tensor:
    """`ops.ihfft` along an axis."""
    return _f.ihfft(_tensor(a), n, axis, norm)


def fft2(a: ArrayLike, s: Any = None, axes: tuple[int, ...] = (-2, -1), norm: str = None) -> Tensor:
    """`ops.fft2` along axes."""
    return _f.fft2(_tensor(a), s, axes, norm)


def ifft2(a: ArrayLike, s: Any = None, axes: tuple[int, ...] = (-2, -1), norm: str = None) -> Tensor:
    """`ops.ifft2` along axes."""
    return _f.ifft2(_tensor(a), s, axes, norm)


def rfft2(a: ArrayLike, s: Any = None, axes: tuple[int, ...] = (-2, -1), norm: str = None) -> Tensor:
    """`ops.rfft2` along axes."""
    return _f.rfft2(_tensor(a), s, axes, norm)


def irfft2(a: ArrayLike, s: Any = None, axes: tuple[int, ...] = (-2, -1), norm: str = None) -> Tensor:
    """`ops.irfft2` along axes."""
    return _f.irfft2(_tensor(a), s, axes, norm)


def hfft2(a: ArrayLike, s: Any = None, axes: tuple[int, ...] = (-2, -1), norm: str = None) -> Tensor:
    """`ops.hfft2` along axes."""
    return _f.hfft2(_tensor(a), s, axes, norm)


def ihfft2(a: ArrayLike, s: Any = None, axes: tuple[int, ...] = (-2, -1), norm: str = None) -> Tensor:
    """`ops.ihfft2` along axes."""
    return _f.ihfft2(_tensor(a), s, axes, norm)


def fftn(a: ArrayLike, s: Any = None, axes: Axis | None = None, norm: str = None) -> Tensor:
    """`ops.fftn` along axes."""
    return _f.fftn(_tensor(a), s, axes, norm)


def ifftn(a: ArrayLike, s: Any = None, axes: Axis | None = None, norm: str = None) -> Tensor:
    """`ops.ifftn` along axes."""
    return _f.ifftn(_tensor(a), s, axes, norm)


def rfftn(a: ArrayLike, s: Any = None, axes: Axis | None = None, norm: str = None) -> Tensor:
    """`ops.rfftn` along axes."""
    return _f.rfftn(_tensor(a), s, axes, norm)


def irfftn(a: ArrayLike, s: Any = None, axes: Axis | None = None, norm: str = None) -> Tensor:
    """`ops.irfftn` along axes."""
    return _f.irfftn(_tensor(a), s, axes, norm)


def hfftn(a: ArrayLike, s: Any = None, axes: Axis | None = None, norm: str = None) -> Tensor:
    """`ops.hfftn` along axes."""
    return _f.hfftn(_tensor(a), s, axes, norm)


def ihfftn(a: ArrayLike, s: Any = None, axes: Axis | None = None, norm: str = None) -> Tensor:
    """`ops.ihfftn` along axes."""
    return _f.ihfftn(_tensor(a), s, axes, norm)


def fftshift(x: ArrayLike, axes: Axis | None = None) -> Tensor:
    """`ops.fftshift` along axes."""
    return _f.fftshift(_tensor(x), axes)


def ifftshift(x: ArrayLike, axes: Axis | None = None) -> Tensor:
    """`ops.ifftshift` along axes."""
    return _f.ifftshift(_tensor(x), axes)
