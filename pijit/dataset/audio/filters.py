"""Recursive filters: two poles and two zeros (biquads), and any number of them.

A filter computes in the type of its input, with coefficients rounded to it. Sums of float32 are taken in float64 and
rounded once; MindSpore rounds each step, so that results differ by that rounding."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset.audio import arguments as args
from pijit.dataset.audio.arguments import AudioTensorOperation

if TYPE_CHECKING:
    from collections.abc import Sequence

_Q = 0.707


def _lfilter():
    try:
        from scipy.signal import lfilter
    except ImportError:
        raise ImportError("filters of mindspore.dataset.audio need SciPy: pip install scipy") from None
    return lfilter


def recursive(v: np.ndarray, b: Sequence[float], a: Sequence[float], clamp: bool) -> np.ndarray:
    """b filtered by a along the last axis of v, float16, float32 or float64; the result lies within [-1, 1] with
    `clamp`."""
    kind = v.dtype.type
    b, a = np.array(b, kind), np.array(a, kind)
    b, a = b / a[0], a / a[0]
    if kind is np.float16:
        out = _stepwise(v, b, a)
    else:
        out = _lfilter()(b.astype(np.float64), a.astype(np.float64), v, axis=-1).astype(kind)
    return np.clip(out, -1, 1, out=out) if clamp else out


def _stepwise(v, b, a):
    """float16 has so few bits that the order of roundings decides: one step after the other."""
    length, order = v.shape[-1], len(b) - 1
    x = np.zeros((order + length, v.size // max(length, 1)), v.dtype)
    x[order:] = v.reshape(-1, length).T
    y = np.zeros_like(x)
    for i in range(order, order + length):
        total = b[0] * x[i]
        for k in range(1, order + 1):
            total = total + b[k] * x[i - k]
        for k in range(1, order + 1):
            total = total - a[k] * y[i - k]
        y[i] = total
    return np.ascontiguousarray(y[order:].T).reshape(v.shape)


def one_pole(v: np.ndarray, feedback: float) -> np.ndarray:
    """y[t] = v[t] + feedback * y[t - 1] along the last axis, in the type of v."""
    return _lfilter()([1.0], [1.0, -feedback], v.astype(np.float64), axis=-1).astype(v.dtype)


class _Filter(AudioTensorOperation):
    """A filter of float16, float32 or float64."""

    def _floats(self, v):
        v = self._numbers(v)
        if v.dtype.kind != "f":
            raise RuntimeError(f"[{type(self).__name__}] the input must be float16, float32 or float64, but is "
                               f"{v.dtype}.")
        return v


class LFilter(_Filter):
    """A recursive filter along the last axis, time.

    Args:
        a_coeffs, b_coeffs: the denominator's and the numerator's coefficients, as many of both, of the newest sample
            first; lists or tuples of numbers.
        clamp: limits the result to [-1, 1]."""

    def __init__(self, a_coeffs: Sequence[float], b_coeffs: Sequence[float], clamp: bool = True) -> None:
        self.a_coeffs, self.b_coeffs = args.coefficients("LFilter", a_coeffs, b_coeffs)
        self.clamp: bool = args.boolean("LFilter", "clamp", clamp)

    def _sound(self, v):
        return recursive(v, _rounded(self.b_coeffs), _rounded(self.a_coeffs), self.clamp)


def _rounded(values):
    return [float(np.float32(v)) for v in values]


class Filtfilt(_Filter):
    """A recursive filter along time, and once more from the end to the start: phases stay as they are.

    Args: as of LFilter; clamp limits the result of both passes."""

    def __init__(self, a_coeffs: Sequence[float], b_coeffs: Sequence[float], clamp: bool = True) -> None:
        self.a_coeffs, self.b_coeffs = args.coefficients("Filtfilt", a_coeffs, b_coeffs)
        self.clamp: bool = args.boolean("Filtfilt", "clamp", clamp)

    def _sound(self, v):
        b, a = _rounded(self.b_coeffs), _rounded(self.a_coeffs)
        forward = recursive(v, b, a, False)
        return np.ascontiguousarray(recursive(forward[..., ::-1], b, a, self.clamp)[..., ::-1])


class _Biquad(_Filter):
    """A filter with coefficients `_b` and `_a`."""

    _b: Sequence[float]
    _a: Sequence[float]

    def _sound(self, v):
        return recursive(v, self._b, self._a, True)


class Biquad(_Biquad):
    """(b0 + b1 z⁻¹ + b2 z⁻²) / (a0 + a1 z⁻¹ + a2 z⁻²) of sound [..., time], limited to [-1, 1].

    Args: the coefficients, numbers; a0 is not 0."""

    def __init__(self, b0: float, b1: float, b2: float, a0: float, a1: float, a2: float) -> None:
        names = ("b0", "b1", "b2", "a0", "a1", "a2")
        values = [args.number("Biquad", n, v) for n, v in zip(names, (b0, b1, b2, a0, a1, a2))]
        if values[3] == 0:
            raise ValueError("[Biquad] a0 must not be 0.")
        self._b, self._a = values[:3], values[3:]


class _Designed(_Biquad):
    """A biquad made of a frequency and Q, by the formulas of the audio equalizer cookbook."""

    def _angle(self, sample_rate, name, frequency, q):
        """(cos w0, sin w0 / 2 Q, sin w0)."""
        op = type(self).__name__
        rate = args.integer(op, "sample_rate", sample_rate, zero=False)
        frequency = args.number(op, name, frequency)
        q = args.number(op, "Q", q, 0, 1, "(]")
        w0 = 2 * math.pi * frequency / rate
        return math.cos(w0), math.sin(w0) / 2 / q, math.sin(w0)

    def _gain(self, gain):
        return args.decibels(args.number(type(self).__name__, "gain", gain), 40)


class AllpassBiquad(_Designed):
    """Turns phases and keeps amplitudes, of sound [..., time].

    Args: sample_rate: Hz, an int, not 0. central_freq: Hz. Q: in (0, 1]. Raises RuntimeError for inputs that are not
        float16, float32 or float64."""

    def __init__(self, sample_rate: int, central_freq: float, Q: float = _Q) -> None:
        c, alpha, _ = self._angle(sample_rate, "central_freq", central_freq, Q)
        self._b, self._a = (1 - alpha, -2 * c, 1 + alpha), (1 + alpha, -2 * c, 1 - alpha)


class BandBiquad(_Biquad):
    """A band around a frequency, of sound [..., time].

    Args: sample_rate: Hz, an int, not 0. central_freq: Hz. Q: in (0, 1]. noise: the form for sound without pitch."""

    def __init__(self, sample_rate: int, central_freq: float, Q: float = _Q, noise: bool = False) -> None:
        rate = args.integer("BandBiquad", "sample_rate", sample_rate, zero=False)
        frequency = args.number("BandBiquad", "central_freq", central_freq)
        width = frequency / args.number("BandBiquad", "Q", Q, 0, 1, "(]")
        with np.errstate(all="ignore"):
            a2 = np.exp(-2 * math.pi * width / rate)
            a1 = -4 * a2 / (1 + a2) * math.cos(2 * math.pi * frequency / rate)
            b0 = np.sqrt(1 - a1 * a1 / (4 * a2)) * (1 - a2)
            if args.boolean("BandBiquad", "noise", noise):
                b0 = np.sqrt(((1 + a2) * (1 + a2) - a1 * a1) * (1 - a2) / (1 + a2))
        self._b, self._a = (float(b0), 0.0, 0.0), (1.0, float(a1), float(a2))


class BandpassBiquad(_Designed):
    """Lets a band of frequencies pass, of sound [..., time].

    Args: sample_rate: Hz, an int, not 0. central_freq: Hz. Q: in (0, 1]. const_skirt_gain: the peak's gain is Q instead
        of 1."""

    def __init__(self, sample_rate: int, central_freq: float, Q: float = _Q, const_skirt_gain: bool = False) -> None:
        c, alpha, s = self._angle(sample_rate, "central_freq", central_freq, Q)
        peak = s / 2 if args.boolean("BandpassBiquad", "const_skirt_gain", const_skirt_gain) else alpha
        self._b, self._a = _rounded((peak, 0.0, -peak)), _rounded((1 + alpha, -2 * c, 1 - alpha))


class BandrejectBiquad(_Designed):
    """Takes a band of frequencies away, of sound [..., time]. Args: sample_rate: Hz, an int, not 0. central_freq: Hz.
    Q: in (0, 1]."""

    def __init__(self, sample_rate: int, central_freq: float, Q: float = _Q) -> None:
        c, alpha, _ = self._angle(sample_rate, "central_freq", central_freq, Q)
        self._b, self._a = (1.0, -2 * c, 1.0), (1 + alpha, -2 * c, 1 - alpha)


class LowpassBiquad(_Designed):
    """Lets frequencies below one pass, of sound [..., time]. Args: sample_rate: Hz, an int, not 0. cutoff_freq: Hz. Q:
    in (0, 1]."""

    def __init__(self, sample_rate: int, cutoff_freq: float, Q: float = _Q) -> None:
        c, alpha, _ = self._angle(sample_rate, "cutoff_freq", cutoff_freq, Q)
        self._b, self._a = ((1 - c) / 2, 1 - c, (1 - c) / 2), (1 + alpha, -2 * c, 1 - alpha)


class HighpassBiquad(_Designed):
    """Lets frequencies above one pass, of sound [..., time]. Args: sample_rate: Hz, an int, not 0. cutoff_freq: Hz. Q:
    in (0, 1]."""

    def __init__(self, sample_rate: int, cutoff_freq: float, Q: float = _Q) -> None:
        c, alpha, _ = self._angle(sample_rate, "cutoff_freq", cutoff_freq, Q)
        self._b, self._a = ((1 + c) / 2, -1 - c, (1 + c) / 2), (1 + alpha, -2 * c, 1 - alpha)


class EqualizerBiquad(_Designed):
    """Makes the frequencies around one louder or quieter, of sound [..., time]. Args: sample_rate: Hz, an int, not 0.
    center_freq: Hz. gain: dB. Q: in (0, 1]."""

    def __init__(self, sample_rate: int, center_freq: float, gain: float, Q: float = _Q) -> None:
        c, alpha, _ = self._angle(sample_rate, "center_freq", center_freq, Q)
        level = self._gain(gain)
        self._b = (1 + alpha * level, -2 * c, 1 - alpha * level)
        self._a = (1 + alpha / level, -2 * c, 1 - alpha / level)


def _low_shelf(c, alpha, level):
    root, less, more = 2 * math.sqrt(level) * alpha, (level - 1) * c, (level + 1) * c
    b = (level * (level + 1 - less + root), 2 * level * (level - 1 - more), level * (level + 1 - less - root))
    return b, (level + 1 + less + root, -2 * (level - 1 + more), level + 1 + less - root)


def _high_shelf(c, alpha, level):
    root, less, more = 2 * math.sqrt(level) * alpha, (level - 1) * c, (level + 1) * c
    b = (level * (level + 1 + less + root), -2 * level * (level - 1 + more), level * (level + 1 + less - root))
    return b, (level + 1 - less + root, 2 * (level - 1 - more), level + 1 - less - root)


class BassBiquad(_Designed):
    """Makes low frequencies louder or quieter, of sound [..., time]. Args: sample_rate: Hz, an int, not 0. gain: dB.
    central_freq: Hz. Q: in (0, 1]."""

    def __init__(self, sample_rate: int, gain: float, central_freq: float = 100.0, Q: float = _Q) -> None:
        c, alpha, _ = self._angle(sample_rate, "central_freq", central_freq, Q)
        b, a = _low_shelf(c, alpha, self._gain(gain))
        self._b, self._a = [v / a[0] for v in b], [v / a[0] for v in a]


class TrebleBiquad(_Designed):
    """Makes high frequencies louder or quieter, of sound [..., time]. Args: sample_rate: Hz, an int, not 0. gain: dB.
    central_freq: Hz. Q: in (0, 1]."""

    def __init__(self, sample_rate: int, gain: float, central_freq: float = 3000, Q: float = _Q) -> None:
        c, alpha, _ = self._angle(sample_rate, "central_freq", central_freq, Q)
        b, a = _high_shelf(c, *_rounded((alpha, self._gain(gain))))
        self._b, self._a = _rounded(b), _rounded(a)


# sample rate: frequency, slope and gain of the shelf that undoes the emphasis of compact discs
_DEEMPHASIS = {44100: (5283, 0.4845, -9.477), 48000: (5356, 0.479, -9.62)}


def _rate(op, value, rates):
    args.integer(op, "sample_rate", value)
    if value not in rates:
        raise ValueError(f"[{op}] sample_rate must be {' or '.join(map(str, rates))}, but got {value}.")
    return value


class DeemphBiquad(_Biquad):
    """Takes the emphasis of a compact disc away, of sound [..., time]. Args: sample_rate: 44100 or 48000."""

    def __init__(self, sample_rate: int) -> None:
        frequency, slope, gain = _DEEMPHASIS[_rate("DeemphBiquad", sample_rate, _DEEMPHASIS)]
        w0 = 2 * math.pi * frequency / sample_rate
        level = math.exp(gain / 40 * math.log(10))
        alpha = math.sin(w0) / 2 * math.sqrt((level + 1 / level) * (1 / slope - 1) + 2)
        self._b, self._a = _high_shelf(math.cos(w0), alpha, level)


# sample rate: zeros and poles of the curve of vinyl records
_RIAA = {
    44100: ((-0.2014898, 0.9233820), (0.7083149, 0.9924091)),
    48000: ((-0.1766069, 0.9321590), (0.7396325, 0.9931330)),
    88200: ((-0.1168735, 0.9648312), (0.8590646, 0.9964002)),
    96000: ((-0.1141486, 0.9676817), (0.8699137, 0.9966946)),
}


class RiaaBiquad(_Biquad):
    """Equalizes the sound [..., time] of vinyl records; 1 kHz keeps its level.

    Args: sample_rate: 44100, 48000, 88200 or 96000."""

    def __init__(self, sample_rate: int) -> None:
        zeros, poles = map(_rounded, _RIAA[_rate("RiaaBiquad", sample_rate, _RIAA)])
        b, a = (_rounded((1.0, -(r[0] + r[1]), r[0] * r[1])) for r in (zeros, poles))
        z = np.exp(-2j * math.pi * 1000 / sample_rate)
        gain = abs(a[0] + a[1] * z + a[2] * z * z) / abs(b[0] + b[1] * z + b[2] * z * z)
        self._b, self._a = [float(v * gain) for v in b], a


__all__ = [n for n, v in list(globals().items()) if isinstance(v, type) and issubclass(v, AudioTensorOperation)
           and not n.startswith("_") and n != "AudioTensorOperation"]
