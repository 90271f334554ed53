"""Spectrograms and what is made of them. Transforms are computed in float64 and rounded to the input's type."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check, seeds
from pijit.dataset.audio import arguments as args
from pijit.dataset.audio.arguments import AudioTensorOperation
from pijit.dataset.audio.level import to_decibels
from pijit.dataset.audio.utils import (BorderType, MelType, NormMode, NormType, WindowType, cosine_transform,
                                       linear_bank, mel_bank)

if TYPE_CHECKING:
    from typing import Any

_WINDOWS = {WindowType.BARTLETT: np.bartlett, WindowType.BLACKMAN: np.blackman, WindowType.HAMMING: np.hamming,
            WindowType.HANN: np.hanning, WindowType.KAISER: lambda size: np.kaiser(size, 12.0)}


def window(kind: WindowType, size: int) -> np.ndarray:
    """The periodic window: one period of those that are symmetric."""
    return _WINDOWS[kind](size + 1)[:-1] if size > 1 else np.ones(size)


class Frames:
    """How sound is cut into windows: the arguments that Spectrogram, MelSpectrogram and others share.

    Raises TypeError for other types, ValueError for sizes below 1 and for a window that is longer than n_fft."""

    def __init__(self, op: str, n_fft: int, win_length: int | None, hop_length: int | None, kind: WindowType,
                 hops: int = 2, name: str = "window") -> None:
        self.op = op
        self.n_fft: int = args.integer(op, "n_fft", n_fft, 1)
        self.win_length: int = args.integer(op, "win_length", win_length, 1, none=True) or n_fft
        if self.win_length > n_fft:
            raise ValueError(f"[{op}] win_length must not be above n_fft, {n_fft}, but is {win_length}.")
        self.hop_length: int = args.integer(op, "hop_length", hop_length, 1, none=True) or self.win_length // hops
        shape = window(args.member(op, name, kind, WindowType), self.win_length)
        left = (n_fft - self.win_length) // 2
        self.window: np.ndarray = np.pad(shape, (left, n_fft - self.win_length - left))

    @property
    def norm(self) -> float:
        """What `normalized` divides by."""
        return math.sqrt(float((self.window ** 2).sum()))

    def spectrum(self, v: np.ndarray, center: bool, pad_mode: BorderType, onesided: bool) -> np.ndarray:
        """The complex spectra [..., frequency, frame] of sound [..., time], in float64."""
        v = v.astype(np.float64, copy=False)
        half = self.n_fft // 2
        if self.hop_length < 1:
            raise RuntimeError(f"[{self.op}] hop_length must be given for a win_length of {self.win_length}.")
        if center:
            v = np.pad(v, [(0, 0)] * (v.ndim - 1) + [(half, half)], pad_mode.value)
        if v.shape[-1] < self.n_fft:
            raise RuntimeError(f"[{self.op}] n_fft must not be above the length of the sound, {v.shape[-1]}, but is "
                               f"{self.n_fft}.")
        frames = np.lib.stride_tricks.sliding_window_view(v, self.n_fft, axis=-1)[..., ::self.hop_length, :]
        z = np.fft.rfft(frames * self.window).swapaxes(-1, -2)
        if not onesided:  # MindSpore mirrors the spectra, but not the sign of the imaginary parts
            z = np.concatenate([z, z[..., (self.n_fft - 1) // 2:0:-1, :]], -2)
        return z

    def sound(self, z: np.ndarray, length: int | None, center: bool = True) -> np.ndarray:
        """The sound [..., time] of complex spectra [..., frequency, frame], by overlapping windows; frequencies above
        half of the rate count for nothing."""
        half = self.n_fft // 2
        frames = np.fft.irfft(z[..., :half + 1, :].swapaxes(-1, -2), self.n_fft) * self.window
        count = frames.shape[-2]
        total = self.n_fft + self.hop_length * (count - 1)
        out, weight = np.zeros((*frames.shape[:-2], total)), np.zeros(total)
        for i in range(count):
            part = slice(i * self.hop_length, i * self.hop_length + self.n_fft)
            out[..., part] += frames[..., i, :]
            weight[part] += self.window ** 2
        start = half if center else 0  # MindSpore leaves as much out without center, all of it at the end
        end = start + max(total - 2 * half, 0) if length is None else min(start + length, total)
        out, weight = out[..., start:end], weight[start:end]
        out = out / np.where(weight > 1e-11, weight, 1)
        if length is not None and out.shape[-1] < length:
            out = np.pad(out, [(0, 0)] * (out.ndim - 1) + [(0, length - out.shape[-1])])
        return out


def _pairs(z, kind):
    """Complex numbers as real and imaginary parts along a new last axis."""
    return np.stack([z.real, z.imag], -1).astype(kind)


class Spectrogram(AudioTensorOperation):
    """Spectra [..., frequency, frame] of sound [..., time].

    Args:
        n_fft: the transform's size; frequencies are n_fft // 2 + 1.
        win_length: the window's length; None for n_fft.
        hop_length: from one window to the next; None for half of win_length.
        pad: zeros on both sides.
        window: its shape.
        power: 1 for magnitudes, 2 for powers; 0 for complex numbers, as a last axis of 2.
        normalized: divides by the window's norm.
        center: the first window's middle lies on the first sample; what is beyond the ends says pad_mode.
        onesided: without the frequencies above half of the rate, which repeat the others (imaginary parts with the
            same sign, as in MindSpore).
    Raises RuntimeError for sound that is shorter than half of n_fft."""

    def __init__(self, n_fft: int = 400, win_length: int | None = None, hop_length: int | None = None, pad: int = 0,
                 window: WindowType = WindowType.HANN, power: float = 2.0, normalized: bool = False,
                 center: bool = True, pad_mode: BorderType = BorderType.REFLECT, onesided: bool = True) -> None:
        self._set(type(self).__name__, n_fft, win_length, hop_length, pad, window, power, normalized, center, pad_mode,
                  onesided)

    def _set(self, op, n_fft, win_length, hop_length, pad, window, power, normalized, center, pad_mode, onesided):
        self.frames = Frames(op, n_fft, win_length, hop_length, window)
        self.pad: int = args.integer(op, "pad", pad, 0)
        self.power: float = args.number(op, "power", power, 0)
        self.normalized: bool = args.boolean(op, "normalized", normalized)
        self.center: bool = args.boolean(op, "center", center)
        self.pad_mode: BorderType = args.member(op, "pad_mode", pad_mode, BorderType)
        self.onesided: bool = args.boolean(op, "onesided", onesided)

    def _sound(self, v):
        return self._spectra(v, v.dtype)

    def _spectra(self, v, kind):
        if self.pad:
            v = np.pad(v, [(0, 0)] * (v.ndim - 1) + [(self.pad, self.pad)])
        z = self.frames.spectrum(v, self.center, self.pad_mode, self.onesided)
        if self.normalized:
            z = z / self.frames.norm
        if self.power == 0:
            return _pairs(z, kind)
        if self.power == 2:
            return (z.real ** 2 + z.imag ** 2).astype(kind)
        out = np.abs(z)
        return (out if self.power == 1 else out ** self.power).astype(kind)


class InverseSpectrogram(AudioTensorOperation):
    """The sound [..., time] of spectra [..., frequency, frame, complex=2].

    Args:
        length: how long the sound is; None for all of it.
        n_fft, win_length, hop_length, pad, window, normalized, center, onesided: what Spectrogram was given.
        pad_mode: has no effect.
    With `pad` the result is float32. Raises RuntimeError for another number of frequencies."""

    _axes = ("frequency", "frame", "complex")

    def __init__(self, length: int | None = None, n_fft: int = 400, win_length: int | None = None,
                 hop_length: int | None = None, pad: int = 0, window: WindowType = WindowType.HANN,
                 normalized: bool = False, center: bool = True, pad_mode: BorderType = BorderType.REFLECT,
                 onesided: bool = True) -> None:
        op = "InverseSpectrogram"
        self.length: int | None = args.integer(op, "length", length, 0, none=True)
        self.frames = Frames(op, n_fft, win_length, hop_length, window)
        self.pad: int = args.integer(op, "pad", pad, 0)
        self.normalized: bool = args.boolean(op, "normalized", normalized)
        self.center: bool = args.boolean(op, "center", center)
        args.member(op, "pad_mode", pad_mode, BorderType)
        self.onesided: bool = args.boolean(op, "onesided", onesided)

    def _sound(self, v):
        needed = self.frames.n_fft // 2 + 1 if self.onesided else self.frames.n_fft
        if v.shape[-3] != needed:
            raise RuntimeError(f"[InverseSpectrogram] the input must have {needed} frequencies, but has "
                               f"{v.shape[-3]}.")
        z = v[..., 0].astype(np.float64) + 1j * v[..., 1]
        if self.normalized:
            z = z * self.frames.norm
        length = None if not self.length else self.length + 2 * self.pad
        out = self.frames.sound(z, length, self.center)
        return out[..., self.pad:out.shape[-1] - self.pad].astype(np.float32 if self.pad else v.dtype)


class SpectralCentroid(AudioTensorOperation):
    """The mean frequency [..., 1, frame] of each window of sound [..., time].

    Args: sample_rate: Hz, at least 0. n_fft, win_length, hop_length, pad, window: as of Spectrogram."""

    def __init__(self, sample_rate: int, n_fft: int = 400, win_length: int | None = None, hop_length: int | None = None,
                 pad: int = 0, window: WindowType = WindowType.HANN) -> None:
        rate = args.integer("SpectralCentroid", "sample_rate", sample_rate, 0)
        self.spectrogram = Spectrogram.__new__(Spectrogram)
        self.spectrogram._set("SpectralCentroid", n_fft, win_length, hop_length, pad, window, 1.0, False, True,
                              BorderType.REFLECT, True)
        self.frequencies: np.ndarray = np.linspace(0, rate // 2, n_fft // 2 + 1)[:, None]

    def _sound(self, v):
        if not self.frequencies[-1]:
            raise RuntimeError("[SpectralCentroid] sample_rate must be above 1 Hz.")
        spectra = self.spectrogram._spectra(v, np.float64)
        centre = (self.frequencies * spectra).sum(-2, keepdims=True) / spectra.sum(-2, keepdims=True)
        return centre.astype(v.dtype)


def _mel_arguments(op, sample_rate, f_min, f_max):
    """(lowest, highest) frequency of a bank of filters."""
    args.integer(op, "sample_rate", sample_rate, 1)
    low = args.number(op, "f_min", f_min)
    high = args.positive(op, "f_max", f_max, none=True)
    _check_order(op, f_min, f_max, sample_rate)
    return low, sample_rate // 2 if high is None else high


def _check_order(op, f_min, f_max, sample_rate):
    if f_max is None and f_min >= sample_rate // 2:
        raise ValueError(f"[{op}] f_min must be below sample_rate // 2, {sample_rate // 2}, but is {f_min}.")
    if f_max is not None and f_min >= f_max:
        raise ValueError(f"[{op}] f_min must be below f_max, but they are {f_min} and {f_max}.")


def _by_bank(v, bank):
    """Spectra [..., frequency, frame] by a bank [frequency, filter]: [..., filter, frame]."""
    return np.matmul(bank.T.astype(v.dtype), v)


class MelScale(AudioTensorOperation):
    """Mel filters of spectra [..., frequency, time]: [..., n_mels, time].

    Args:
        n_mels: how many filters.
        sample_rate: Hz.
        f_min, f_max: the lowest and highest frequency in Hz; f_max None for sample_rate // 2.
        n_stft: how many frequencies the input has.
        norm: NormType.SLANEY divides each filter by its width.
        mel_type: the scale."""

    _axes = ("frequency", "time")

    def __init__(self, n_mels: int = 128, sample_rate: int = 16000, f_min: float = 0.0, f_max: float | None = None,
                 n_stft: int = 201, norm: NormType = NormType.NONE, mel_type: MelType = MelType.HTK) -> None:
        op = "MelScale"
        args.integer(op, "n_mels", n_mels, 1)
        low, high = _mel_arguments(op, sample_rate, f_min, f_max)
        args.integer(op, "n_stft", n_stft, 1)
        self.bank: np.ndarray = mel_bank(n_stft, low, high, n_mels, sample_rate,
                                         args.member(op, "norm", norm, NormType),
                                         args.member(op, "mel_type", mel_type, MelType))

    def _sound(self, v):
        if v.shape[-2] != len(self.bank):
            raise RuntimeError(f"[MelScale] the input must have n_stft = {len(self.bank)} frequencies, but has "
                               f"{v.shape[-2]}.")
        return _by_bank(v, self.bank)


class MelSpectrogram(AudioTensorOperation):
    """Mel filters of the spectra of sound [..., time]: [..., n_mels, frame].

    Args: sample_rate, f_min, f_max, n_mels, norm, mel_scale: as of MelScale. n_fft, win_length, hop_length, pad,
        window, power, normalized, center, pad_mode, onesided: as of Spectrogram; power is above 0."""

    def __init__(self, sample_rate: int = 16000, n_fft: int = 400, win_length: int | None = None,
                 hop_length: int | None = None, f_min: float = 0.0, f_max: float | None = None, pad: int = 0,
                 n_mels: int = 128, window: WindowType = WindowType.HANN, power: float = 2.0, normalized: bool = False,
                 center: bool = True, pad_mode: BorderType = BorderType.REFLECT, onesided: bool = True,
                 norm: NormType = NormType.NONE, mel_scale: MelType = MelType.HTK) -> None:
        op = "MelSpectrogram"
        args.integer(op, "sample_rate", sample_rate, 0)
        low = args.number(op, "f_min", f_min, whole=False)
        high = args.number(op, "f_max", f_max, 0, none=True)
        args.integer(op, "n_mels", n_mels, 0)
        args.positive(op, "power", power)
        self.spectrogram = Spectrogram.__new__(Spectrogram)
        self.spectrogram._set(op, n_fft, win_length, hop_length, pad, window, power, normalized, center, pad_mode,
                              onesided)
        args.member(op, "norm", norm, NormType)
        args.member(op, "mel_scale", mel_scale, MelType)
        _check_order(op, f_min, f_max or None, sample_rate)
        self.bank: np.ndarray = mel_bank(n_fft // 2 + 1, low, high or sample_rate // 2, n_mels, sample_rate, norm,
                                         mel_scale)

    def _sound(self, v):
        if not self.spectrogram.onesided:
            raise RuntimeError("[MelSpectrogram] filters are made for onesided=True, but it is False.")
        spectrogram, time = self.spectrogram, v.shape[-1] + 2 * self.spectrogram.pad
        if spectrogram.center and spectrogram.frames.n_fft // 2 >= time:
            raise RuntimeError(f"[MelSpectrogram] n_fft must be below twice the length of the sound, {time}, but is "
                               f"{spectrogram.frames.n_fft}.")
        return _by_bank(self.spectrogram._sound(v), self.bank)


_LOG_OFFSET = 1e-6


def _cepstrum(v, logarithmic, transform):
    """Coefficients [..., n, frame] of filtered spectra [..., filter, frame]."""
    v = v.astype(np.float32)
    v = np.log(v + np.float32(_LOG_OFFSET)) if logarithmic else to_decibels(v, 10.0, 0.0, 80.0)
    return _by_bank(v, transform)


def _dct_type(op, value):
    if isinstance(value, bool) or not isinstance(value, int) or value != 2:
        raise ValueError(f"[{op}] dct_type must be 2, but got {check.shown(value)}.")


class MFCC(AudioTensorOperation):
    """Mel cepstral coefficients [..., n_mfcc, frame], float32, of sound [..., time].

    Args:
        sample_rate: Hz, at least 0.
        n_mfcc: how many coefficients.
        dct_type: 2.
        norm: of the cosine transform.
        log_mels: logarithms instead of decibels.
        melkwargs: what MelSpectrogram is given, all of it, in a dict; None for its defaults.
    Raises KeyError for a dict that lacks one."""

    def __init__(self, sample_rate: int = 16000, n_mfcc: int = 40, dct_type: int = 2, norm: NormMode = NormMode.ORTHO,
                 log_mels: bool = False, melkwargs: dict[str, Any] | None = None) -> None:
        op = "MFCC"
        args.integer(op, "sample_rate", sample_rate, 0)
        args.integer(op, "n_mfcc", n_mfcc, 0)
        _dct_type(op, dct_type)
        ortho = args.member(op, "norm", norm, NormMode) is NormMode.ORTHO
        self.log_mels: bool = args.boolean(op, "log_mels", log_mels)
        check.instance(op, "melkwargs", melkwargs, dict, none=True)
        names = ("n_fft", "win_length", "hop_length", "f_min", "f_max", "pad", "n_mels", "window", "power",
                 "normalized", "center", "pad_mode", "onesided", "norm", "mel_scale")
        given = {} if melkwargs is None else {name: melkwargs[name] for name in names}
        self.mels = MelSpectrogram(sample_rate, **given)
        n_mels = self.mels.bank.shape[1]
        if n_mfcc > n_mels:
            raise ValueError(f"[{op}] n_mfcc must not be above n_mels, {n_mels}, but is {n_mfcc}.")
        self.transform: np.ndarray = cosine_transform(n_mfcc, n_mels, ortho)

    def _sound(self, v):
        return _cepstrum(self.mels._sound(v), self.log_mels, self.transform)


class LFCC(AudioTensorOperation):
    """Cepstral coefficients [..., n_lfcc, frame], float32, of sound [..., time], by filters of equal width in Hz.

    Args:
        sample_rate: Hz.
        n_filter: how many filters.
        n_lfcc: how many coefficients.
        f_min, f_max: the lowest and highest frequency in Hz; f_max None for sample_rate // 2.
        dct_type: 2.
        norm: of the cosine transform.
        log_lf: logarithms instead of decibels.
        speckwargs: what Spectrogram is given, all of it, in a dict; None for its defaults.
    Raises KeyError for a dict that lacks one."""

    def __init__(self, sample_rate: int = 16000, n_filter: int = 128, n_lfcc: int = 40, f_min: float = 0.0,
                 f_max: float | None = None, dct_type: int = 2, norm: NormMode = NormMode.ORTHO, log_lf: bool = False,
                 speckwargs: dict[str, Any] | None = None) -> None:
        op = "LFCC"
        args.integer(op, "sample_rate", sample_rate, 1)
        args.integer(op, "n_filter", n_filter, 1)
        args.integer(op, "n_lfcc", n_lfcc, 1)
        low = args.number(op, "f_min", f_min, 0)
        high = args.number(op, "f_max", f_max, 0, none=True)
        _check_order(op, f_min, f_max or None, sample_rate)
        _dct_type(op, dct_type)
        ortho = args.member(op, "norm", norm, NormMode) is NormMode.ORTHO
        self.log_lf: bool = args.boolean(op, "log_lf", log_lf)
        check.instance(op, "speckwargs", speckwargs, dict, none=True)
        names = ("n_fft", "win_length", "hop_length", "pad", "window", "power", "normalized", "center", "pad_mode",
                 "onesided")
        self.spectrogram = Spectrogram(**({} if speckwargs is None else {name: speckwargs[name] for name in names}))
        if n_lfcc > self.spectrogram.frames.n_fft:
            raise ValueError(f"[{op}] n_lfcc must not be above n_fft, {self.spectrogram.frames.n_fft}, but is "
                             f"{n_lfcc}.")
        self.bank: np.ndarray = linear_bank(self.spectrogram.frames.n_fft // 2 + 1, low, high or sample_rate // 2,
                                            n_filter, sample_rate)
        self.transform: np.ndarray = cosine_transform(n_lfcc, n_filter, ortho)

    def _sound(self, v):
        return _cepstrum(_by_bank(self.spectrogram._sound(v), self.bank), self.log_lf, self.transform)


class ComplexNorm(AudioTensorOperation):
    """The magnitudes of complex numbers [..., 2], to a power. Args: power: at least 0."""

    _axes = ("complex",)

    def __init__(self, power: float = 1.0) -> None:
        self.power: float = args.number("ComplexNorm", "power", power, 0)

    def _sound(self, v):
        return _magnitude(v, self.power)


def _magnitude(v, power):
    kind = v.dtype.type
    squares = v[..., 0] * v[..., 0] + v[..., 1] * v[..., 1]
    return squares if power == 2 else np.power(squares, kind(power / 2))


class Angle(AudioTensorOperation):
    """The angles of complex numbers [..., 2]."""

    _axes = ("complex",)

    def _sound(self, v):
        return np.arctan2(v[..., 1], v[..., 0])


class Magphase(AudioTensorOperation):
    """The magnitudes, to a power, and the angles of complex numbers [..., 2]. Args: power: at least 0."""

    _axes = ("complex",)

    def __init__(self, power: float = 1.0) -> None:
        self.power: float = args.number("Magphase", "power", power, 0)

    def _sound(self, v):
        return _magnitude(v, self.power), np.arctan2(v[..., 1], v[..., 0])


class GriffinLim(AudioTensorOperation):
    """Sound [..., time] of magnitudes [..., frequency, frame], with phases that are found step by step.

    All axes before the last two become one.

    Args:
        n_fft, win_length, hop_length: as of Spectrogram; 0 or None for their defaults.
        n_iter: how many steps.
        window_type: the window's shape.
        power: to which the input's magnitudes were raised, above 0.
        momentum: how far a step goes on in the direction of the last one, at least 0.
        length: how long the sound is, above n_fft and with as many frames as the input has; 0 or None for all of it.
        rand_init: starts with random phases instead of 0."""

    _axes = ("frequency", "frame")

    def __init__(self, n_fft: int = 400, n_iter: int = 32, win_length: int | None = None, hop_length: int | None = None,
                 window_type: WindowType = WindowType.HANN, power: float = 2.0, momentum: float = 0.99,
                 length: int | None = None, rand_init: bool = True) -> None:
        op = "GriffinLim"
        args.integer(op, "n_fft", n_fft, 1)
        self.n_iter: int = args.integer(op, "n_iter", n_iter, 1)
        win_length = args.integer(op, "win_length", win_length, 0, none=True) or n_fft
        hop_length = args.integer(op, "hop_length", hop_length, 0, none=True) or None
        self.frames = Frames(op, n_fft, win_length, hop_length, window_type, name="window_type")
        self.power: float = args.positive(op, "power", power)
        self.momentum: float = args.number(op, "momentum", momentum, 0)
        self.length: int | None = args.integer(op, "length", length, 0, none=True) or None
        self.rand_init: bool = args.boolean(op, "rand_init", rand_init)

    @property
    def _random(self):
        return self.rand_init

    def _sound(self, v):
        frames = self.frames
        if v.shape[-2] != frames.n_fft // 2 + 1:
            raise RuntimeError(f"[GriffinLim] the input must have n_fft // 2 + 1 = {frames.n_fft // 2 + 1} "
                               f"frequencies, but has {v.shape[-2]}.")
        v = v.reshape(-1, *v.shape[-2:]) if v.ndim > 3 else v
        size = v.astype(np.float64) ** (1 / self.power)
        count = v.shape[-1]
        if self.length is not None and (self.length <= frames.n_fft or 1 + self.length // frames.hop_length != count):
            raise RuntimeError(f"[GriffinLim] length must be above n_fft, {frames.n_fft}, and give as many frames as "
                               f"the input has, {count}, but is {self.length}.")
        # MindSpore divides momentum by 1 + momentum, and what comes of it once more
        keep = self.momentum / (1 + 2 * self.momentum)
        phases: Any = np.ones(v.shape)
        if self.rand_init:
            phases = seeds.numpy_rng().random((*v.shape, 2)).view(np.complex128)[..., 0]
        last = 0.0
        for _ in range(self.n_iter):
            sound = frames.sound(size * phases, self.length)
            now = frames.spectrum(sound, True, BorderType.REFLECT, True)
            phases = now - last * keep
            phases = phases / (np.abs(phases) + 1e-16)
            last = now
        return frames.sound(size * phases, self.length).astype(v.dtype)


class InverseMelScale(AudioTensorOperation):
    """Spectra whose mel filters are the input [..., n_mels, time], by gradient descent from a random start.

    The result is [..., n_stft, time], of two axes [1, n_stft, time].

    Args:
        n_stft: how many frequencies the result has.
        n_mels, sample_rate, f_min, f_max, norm, mel_type: as of MelScale.
        max_iter: the most steps.
        tolerance_loss: the loss at which it ends.
        tolerance_change: the change of the loss at which it ends.
        sgdargs: {"sgd_lr": the step's size, "sgd_momentum": the momentum}; None for 0.1 and 0.9.
    Raises KeyError for a dict that lacks one."""

    _axes = ("frequency", "time")
    _random = True

    def __init__(self, n_stft: int, n_mels: int = 128, sample_rate: int = 16000, f_min: float = 0.0,
                 f_max: float | None = None, max_iter: int = 100000, tolerance_loss: float = 1e-5,
                 tolerance_change: float = 1e-8, sgdargs: dict[str, float] | None = None,
                 norm: NormType = NormType.NONE, mel_type: MelType = MelType.HTK) -> None:
        op = "InverseMelScale"
        args.integer(op, "n_stft", n_stft, 1)
        args.integer(op, "n_mels", n_mels, 1)
        low, high = _mel_arguments(op, sample_rate, f_min, f_max)
        self.max_iter: int = args.integer(op, "max_iter", max_iter, 1)
        self.tolerance_loss: float = args.positive(op, "tolerance_loss", tolerance_loss)
        self.tolerance_change: float = args.positive(op, "tolerance_change", tolerance_change)
        check.instance(op, "sgdargs", sgdargs, dict, none=True)
        given = {"sgd_lr": 0.1, "sgd_momentum": 0.9} if sgdargs is None else sgdargs
        self.rate: float = args.number(op, "sgd_lr", given["sgd_lr"], 0)
        self.momentum: float = args.number(op, "sgd_momentum", given["sgd_momentum"], 0)
        self.bank: np.ndarray = mel_bank(n_stft, low, high, n_mels, sample_rate,
                                         args.member(op, "norm", norm, NormType),
                                         args.member(op, "mel_type", mel_type, MelType)).astype(np.float64)

    def _sound(self, v):
        n_stft, n_mels = self.bank.shape
        if v.shape[-2] != n_mels:
            raise RuntimeError(f"[InverseMelScale] the input must have n_mels = {n_mels} frequencies, but has "
                               f"{v.shape[-2]}.")
        wanted = v.reshape(-1, *v.shape[-2:]).astype(np.float64).swapaxes(-1, -2)
        found = seeds.numpy_rng().random((*wanted.shape[:-1], n_stft))
        self._descend(found, wanted)
        shape = (*v.shape[:-2], n_stft, v.shape[-1]) if v.ndim > 2 else (1, n_stft, v.shape[-1])
        return np.ascontiguousarray(found.swapaxes(-1, -2)).reshape(shape).astype(v.dtype)

    def _descend(self, found, wanted):
        """Changes spectra [batch, time, frequency] in place."""
        speed, last = 0.0, math.inf
        count = max(wanted.size, 1)
        for _ in range(self.max_iter):
            missing = wanted - found @ self.bank
            loss = (missing * missing).sum() / count
            if loss < self.tolerance_loss or abs(last - loss) < self.tolerance_change:
                break
            last = loss
            speed = speed * self.momentum + missing @ self.bank.T * (2 / count)
            found += self.rate * speed
            np.maximum(found, 0, out=found)


__all__ = [n for n, v in list(globals().items()) if isinstance(v, type) and issubclass(v, AudioTensorOperation)
           and n != "AudioTensorOperation"]
