"""Fourier transforms by NumPy's names; lists and numbers become Tensors."""

from pijit._C import Tensor
from pijit.ops.function import fourier as _f
from pijit.ops.function.fourier import fftfreq, rfftfreq

__all__ = ["fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn",
           "ifftshift",
           "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn"]


def _tensor(a):
    return a if isinstance(a, Tensor) else Tensor(a)


def fft(a, n=None, axis=-1, norm=None):
    """`ops.fft` along an axis."""
    return _f.fft(_tensor(a), n, axis, norm)


def ifft(a, n=None, axis=-1, norm=None):
    """`ops.ifft` along an axis."""
    return _f.ifft(_tensor(a), n, axis, norm)


def rfft(a, n=None, axis=-1, norm=None):
    """`ops.rfft` along an axis."""
    return _f.rfft(_tensor(a), n, axis, norm)


def irfft(a, n=None, axis=-1, norm=None):
    """`ops.irfft` along an axis."""
    return _f.irfft(_tensor(a), n, axis, norm)


def hfft(a, n=None, axis=-1, norm=None):
    """`ops.hfft` along an axis."""
    return _f.hfft(_tensor(a), n, axis, norm)


def ihfft(a, n=None, axis=-1, norm=None):
    """`ops.ihfft` along an axis."""
    return _f.ihfft(_tensor(a), n, axis, norm)


def fft2(a, s=None, axes=(-2, -1), norm=None):
    """`ops.fft2` along axes."""
    return _f.fft2(_tensor(a), s, axes, norm)


def ifft2(a, s=None, axes=(-2, -1), norm=None):
    """`ops.ifft2` along axes."""
    return _f.ifft2(_tensor(a), s, axes, norm)


def rfft2(a, s=None, axes=(-2, -1), norm=None):
    """`ops.rfft2` along axes."""
    return _f.rfft2(_tensor(a), s, axes, norm)


def irfft2(a, s=None, axes=(-2, -1), norm=None):
    """`ops.irfft2` along axes."""
    return _f.irfft2(_tensor(a), s, axes, norm)


def hfft2(a, s=None, axes=(-2, -1), norm=None):
    """`ops.hfft2` along axes."""
    return _f.hfft2(_tensor(a), s, axes, norm)


def ihfft2(a, s=None, axes=(-2, -1), norm=None):
    """`ops.ihfft2` along axes."""
    return _f.ihfft2(_tensor(a), s, axes, norm)


def fftn(a, s=None, axes=None, norm=None):
    """`ops.fftn` along axes."""
    return _f.fftn(_tensor(a), s, axes, norm)


def ifftn(a, s=None, axes=None, norm=None):
    """`ops.ifftn` along axes."""
    return _f.ifftn(_tensor(a), s, axes, norm)


def rfftn(a, s=None, axes=None, norm=None):
    """`ops.rfftn` along axes."""
    return _f.rfftn(_tensor(a), s, axes, norm)


def irfftn(a, s=None, axes=None, norm=None):
    """`ops.irfftn` along axes."""
    return _f.irfftn(_tensor(a), s, axes, norm)


def hfftn(a, s=None, axes=None, norm=None):
    """`ops.hfftn` along axes."""
    return _f.hfftn(_tensor(a), s, axes, norm)


def ihfftn(a, s=None, axes=None, norm=None):
    """`ops.ihfftn` along axes."""
    return _f.ihfftn(_tensor(a), s, axes, norm)


def fftshift(x, axes=None):
    """`ops.fftshift` along axes."""
    return _f.fftshift(_tensor(x), axes)


def ifftshift(x, axes=None):
    """`ops.ifftshift` along axes."""
    return _f.ifftshift(_tensor(x), axes)
