"""Names of modes of audio operations, and matrices of filter banks and cosine transforms."""

from __future__ import annotations

import enum
import math
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset.audio import arguments as args

if TYPE_CHECKING:
    from typing import Any


class BorderType(enum.Enum):
    """What is put around a signal."""

    CONSTANT = "constant"
    EDGE = "edge"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


class DensityFunction(enum.Enum):
    """The distribution of Dither's noise: triangular, rectangular, Gaussian."""

    TPDF = "TPDF"
    RPDF = "RPDF"
    GPDF = "GPDF"


class FadeShape(enum.Enum):
    """How Fade goes from silence to the full level."""

    QUARTER_SINE = "quarter_sine"
    HALF_SINE = "half_sine"
    LINEAR = "linear"
    LOGARITHMIC = "logarithmic"
    EXPONENTIAL = "exponential"


class GainType(enum.Enum):
    """What Vol's gain is: a factor of amplitudes, one of powers, or decibels."""

    AMPLITUDE = "amplitude"
    POWER = "power"
    DB = "db"


class Interpolation(enum.Enum):
    """How Flanger reads between two samples."""

    LINEAR = "linear"
    QUADRATIC = "quadratic"


class MelType(enum.Enum):
    """Which mel scale."""

    HTK = "htk"
    SLANEY = "slaney"


class Modulation(enum.Enum):
    """The wave that moves Flanger's delay."""

    SINUSOIDAL = "sinusoidal"
    TRIANGULAR = "triangular"


class NormMode(enum.Enum):
    """The norm of a cosine transform."""

    ORTHO = "ortho"
    NONE = "none"


class NormType(enum.Enum):
    """The norm of mel filters: Slaney's gives all the same area."""

    SLANEY = "slaney"
    NONE = "none"


class ResampleMethod(enum.Enum):
    """The window of Resample's sinc filter."""

    SINC_INTERPOLATION = "sinc_interpolation"
    KAISER_WINDOW = "kaiser_window"


class ScaleType(enum.Enum):
    """What AmplitudeToDB gets: powers, or magnitudes."""

    POWER = "power"
    MAGNITUDE = "magnitude"


class WindowType(enum.Enum):
    """The window of short-time Fourier transforms."""

    BARTLETT = "bartlett"
    BLACKMAN = "blackman"
    HAMMING = "hamming"
    HANN = "hann"
    KAISER = "kaiser"


def create_dct(n_mfcc: int, n_mels: int, norm: NormMode = NormMode.NONE) -> np.ndarray:
    """The matrix [n_mels, n_mfcc], float32, of the cosine transform of type 2.

    By it rows of mel values are multiplied. Raises TypeError for other types, ValueError for sizes below 1."""
    for name, value in (("n_mfcc", n_mfcc), ("n_mels", n_mels)):
        if not isinstance(value, int) or value > 2**31 - 1:
            raise TypeError(f"[create_dct] {name} must be an int within int32, but got {value!r}.")
        if value <= 0:
            raise ValueError(f"[create_dct] {name} must be at least 1, but got {value}.")
    ortho = args.member("create_dct", "norm", norm, NormMode) is NormMode.ORTHO
    return cosine_transform(n_mfcc, n_mels, ortho)


def cosine_transform(n_mfcc: int, n_mels: int, ortho: bool) -> np.ndarray:
    """create_dct of arguments that were checked."""
    table = np.cos(math.pi / n_mels * (np.arange(n_mels)[:, None] + 0.5) * np.arange(n_mfcc))
    if not ortho:
        return (table * 2).astype(np.float32)
    table[:, :1] /= math.sqrt(2)
    return (table * math.sqrt(2 / n_mels)).astype(np.float32)


def linear_fbanks(n_freqs: int, f_min: float, f_max: float, n_filter: int, sample_rate: int) -> np.ndarray:
    """Triangles of equal width between two frequencies, as a matrix [n_freqs, n_filter] of float32.

    Args:
        n_freqs: how many frequencies there are from 0 to half of sample_rate.
        f_min, f_max: the lowest and the highest frequency in Hz.
        n_filter: how many triangles.
        sample_rate: Hz.
    Raises TypeError for other types, ValueError for negative numbers and for f_min > f_max."""
    op = "linear_fbanks"
    args.integer(op, "n_freqs", n_freqs, 0)
    low, high = args.number(op, "f_min", f_min, 0), args.positive(op, "f_max", f_max)
    args.integer(op, "n_filter", n_filter, 1)
    args.integer(op, "sample_rate", sample_rate, 1)
    if f_min > f_max:
        raise ValueError(f"[{op}] f_min must not be above f_max, but they are {f_min} and {f_max}.")
    return linear_bank(n_freqs, low, high, n_filter, sample_rate)


def linear_bank(n_freqs: int, low: float, high: float, n_filter: int, sample_rate: int) -> np.ndarray:
    """linear_fbanks of arguments that were checked."""
    return _triangles(n_freqs, sample_rate, np.linspace(low, high, n_filter + 2))


def _triangles(n_freqs, sample_rate, corners):
    """[n_freqs, len(corners) - 2], float32."""
    frequencies = np.linspace(0, sample_rate / 2, n_freqs)
    widths = np.diff(corners)
    away = corners - frequencies[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        bank = np.minimum(-away[:, :-2] / widths[:-1], away[:, 2:] / widths[1:])
    return np.maximum(bank, 0).astype(np.float32)


def melscale_fbanks(n_freqs: int, f_min: float, f_max: float, n_mels: int, sample_rate: int,
                    norm: NormType = NormType.NONE, mel_type: MelType = MelType.HTK) -> np.ndarray:
    """Triangles of equal width on the mel scale, as a matrix [n_freqs, n_mels] of float32.

    Args:
        n_freqs: how many frequencies there are from 0 to half of sample_rate.
        f_min, f_max: the lowest and the highest frequency in Hz.
        n_mels: how many triangles.
        sample_rate: Hz.
        norm: NormType.SLANEY divides each triangle by its width.
        mel_type: the scale.
    Raises TypeError for other types, ValueError for negative numbers and for f_min > f_max."""
    op = "melscale_fbanks"
    args.integer(op, "n_freqs", n_freqs, 0)
    low, high = args.number(op, "f_min", f_min, 0), args.positive(op, "f_max", f_max)
    if f_min > f_max:
        raise ValueError(f"[{op}] f_min must not be above f_max, but they are {f_min} and {f_max}.")
    args.integer(op, "n_mels", n_mels, 1)
    args.integer(op, "sample_rate", sample_rate, 1)
    return mel_bank(n_freqs, low, high, n_mels, sample_rate, args.member(op, "norm", norm, NormType),
                    args.member(op, "mel_type", mel_type, MelType))


_BREAK, _STEP = 1000.0, math.log(6.4) / 27  # Slaney's scale: linear below 1 kHz, then logarithmic


def _mel(hertz, kind):
    if kind is MelType.HTK:
        return 2595 * math.log10(1 + hertz / 700)
    return 15 + math.log(hertz / _BREAK) / _STEP if hertz >= _BREAK else hertz * 3 / 200


def _hertz(mels, kind):
    if kind is MelType.HTK:
        return 700 * (10 ** (mels / 2595) - 1)
    return np.where(mels >= 15, _BREAK * np.exp(_STEP * (np.maximum(mels, 15) - 15)), mels * 200 / 3)


def mel_bank(n_freqs: int, low: float, high: float, n_mels: int, sample_rate: int, norm: Any, kind: Any) -> np.ndarray:
    """melscale_fbanks of arguments that were checked."""
    corners = _hertz(np.linspace(_mel(low, kind), _mel(high, kind), n_mels + 2), kind)
    bank = _triangles(n_freqs, sample_rate, corners)
    if norm is NormType.SLANEY:
        with np.errstate(divide="ignore", invalid="ignore"):
            bank = (bank * (2 / (corners[2:] - corners[:-2]))).astype(np.float32)
    return bank


_MODES = [n for n, v in list(globals().items()) if isinstance(v, type) and issubclass(v, enum.Enum)]
__all__ = _MODES + ["create_dct", "linear_fbanks", "melscale_fbanks"]
