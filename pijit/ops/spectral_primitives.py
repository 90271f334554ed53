"""Primitives of Fourier transforms, and windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit.ops import function as F
from pijit.ops.function.spectral import _norm, _with_size
from pijit.ops.primitive import Primitive, primitive
from pijit.ops.primitive_arguments import _ints

if TYPE_CHECKING:
    from typing import Any


def _window(name, fn):
    def __init__(self, periodic=True, dtype=mstype.float32):
        Primitive.__init__(self)
        self.periodic, self.dtype = periodic, dtype

    def __call__(self, window_length):
        return fn(_ints(window_length)[0], self.periodic, dtype=self.dtype)
    return type(name, (Primitive,), {"__init__": __init__, "__call__": __call__, "__doc__": fn.__doc__,
                                     "__module__": __name__})


BartlettWindow: Any = _window("BartlettWindow", F.bartlett_window)
BlackmanWindow: Any = _window("BlackmanWindow", F.blackman_window)


@primitive
def HammingWindow(length, /, periodic=True, alpha=0.54, beta=0.46, dtype=mstype.float32):
    """The Hamming window."""
    return F.hamming_window(_ints(length)[0], periodic, alpha, beta, dtype=dtype)


@primitive
def FFTWithSize(x, /, signal_ndim, inverse, real, norm="backward", onesided=True, signal_sizes=()):
    """The Fourier transform over the last signal_ndim (1 to 3) dimensions.

    Complex to complex unless `real`, else of real values to their spectrum (its first half if onesided) or,
    `inverse`, back, with the last of signal_sizes as length (default: an even one)."""
    if signal_ndim not in (1, 2, 3):
        raise _check.refused("FFTWithSize", "signal_ndim", _check.one_of(1, 2, 3), signal_ndim)
    return _with_size(x, signal_ndim, inverse, real, _norm("FFTWithSize", norm), onesided, signal_sizes)


@primitive
def STFT(x, window, /, n_fft, hop_length, win_length, normalized, onesided, return_complex):
    """ops.stft of a signal that isn't continued at its ends."""
    return F.stft(x, n_fft, hop_length, win_length, window, False, "REFLECT", normalized, onesided, return_complex)


__all__ = [n for n, v in globals().items() if isinstance(v, type) and v.__module__ == __name__]
