"""Operations along time: rates, pitch, differences, sliding means."""

from __future__ import annotations

import math
import numpy as np

from pijit.dataset import check
from pijit.dataset.audio import arguments as args
from pijit.dataset.audio.arguments import AudioTensorOperation
from pijit.dataset.audio.spectra import Frames
from pijit.dataset.audio.utils import BorderType, ResampleMethod, WindowType

_BETA = 14.769656459379492


def resampled(v: np.ndarray, old: int, new: int, width: int = 6, rolloff: float = 0.99, beta: float | None = None
              ) -> np.ndarray:
    """Sound [..., time] at another rate, by a windowed sinc; beta None means a Hann window, else a Kaiser window."""
    common = math.gcd(old, new)
    old, new = old // common, new // common
    base = min(old, new) * rolloff
    reach = math.ceil(width * old / base)
    length = v.shape[-1]
    count = math.ceil(new * length / old)
    # weights of the samples around each of the `new` places between `old` samples, as many as there are
    places = np.arange(min(new, count))
    first = places * old // new - reach
    t = ((first[:, None] + np.arange(2 * reach + 2)) / old - places[:, None] / new) * base
    t = np.clip(t, -width, width)
    shape = np.cos(t * math.pi / width / 2) ** 2 if beta is None else (
        np.i0(beta * np.sqrt(1 - (t / width) ** 2)) / np.i0(beta))
    weights = np.sinc(t) * shape * (base / old)
    wide = np.pad(v.astype(np.float64, copy=False), [(0, 0)] * (v.ndim - 1) + [(reach, 2 * reach + 2)])
    out = np.zeros((*v.shape[:-1], count))
    if count > 8 * new:  # the same weights for many samples
        pieces = np.lib.stride_tricks.sliding_window_view(wide, 2 * reach + 2, axis=-1)
        for place in range(new):
            part = out[..., place::new]
            part[...] = pieces[..., first[place] + reach::old, :][..., :part.shape[-1], :] @ weights[place]
        return out.astype(v.dtype)
    at = np.arange(count)
    start = at // new * old + first[at % new] + reach
    for k in range(2 * reach + 2):
        out += wide[..., start + k] * weights[at % new, k]
    return out.astype(v.dtype)


class Resample(AudioTensorOperation):
    """Sound [..., time] at another rate.

    Args:
        orig_freq, new_freq: the rates in Hz, above 0; what is below 1 Hz is cut off.
        resample_method: the window of the sinc filter.
        lowpass_filter_width: how many zeros of the sinc it has on both sides, at least 1.
        rolloff: up to which part of half of the rate frequencies pass, in (0, 1].
        beta: the Kaiser window's parameter; None for 14.769656459379492."""

    def __init__(self, orig_freq: float = 16000, new_freq: float = 16000,
                 resample_method: ResampleMethod = ResampleMethod.SINC_INTERPOLATION, lowpass_filter_width: int = 6,
                 rolloff: float = 0.99, beta: float | None = None) -> None:
        op = "Resample"
        self.orig_freq: float = args.positive(op, "orig_freq", orig_freq)
        self.new_freq: float = args.positive(op, "new_freq", new_freq)
        kaiser = args.member(op, "resample_method", resample_method, ResampleMethod) is ResampleMethod.KAISER_WINDOW
        self.width: int = args.integer(op, "lowpass_filter_width", lowpass_filter_width, 1)
        self.rolloff: float = args.number(op, "rolloff", rolloff, 0, 1, "(]", whole=False)
        self.beta: float | None = (_BETA if beta is None else args.number(op, "beta", beta)) if kaiser else None

    def _floats(self, v):
        return self._numbers(v).copy() if self.orig_freq == self.new_freq else super()._floats(v)

    def _sound(self, v):
        if self.orig_freq == self.new_freq:
            return v
        old, new = int(self.orig_freq), int(self.new_freq)
        if not old or not new:
            raise RuntimeError(f"[Resample] rates must be at least 1 Hz, but are {self.orig_freq} and {self.new_freq}.")
        return resampled(v, old, new, self.width, self.rolloff, self.beta)


def stretched(z: np.ndarray, rate: float, advance: np.ndarray) -> np.ndarray:
    """Complex spectra [..., frequency, frame] at another speed; `advance` [frequency, 1] is by how much phases go on
    from frame to frame."""
    steps = np.arange(math.ceil(z.shape[-1] / rate), dtype=np.float32) * np.float32(rate)
    steps = steps[steps < z.shape[-1]].astype(np.float64)
    first = np.angle(z[..., :1])
    z = np.pad(z, [(0, 0)] * (z.ndim - 1) + [(0, 2)])
    here = steps.astype(np.int64)
    now, after = z[..., here], z[..., here + 1]
    turn = np.angle(after) - np.angle(now) - advance
    turn = turn - 2 * math.pi * np.rint(turn / (2 * math.pi)) + advance
    phase = np.cumsum(np.concatenate([first, turn[..., :-1]], -1), -1)
    part = steps % 1.0
    size = part * np.abs(after) + (1 - part) * np.abs(now)
    return size * np.exp(1j * phase)


def _at_rate(v, rate, advance):
    if rate == 1:
        return v.reshape(-1, *v.shape[-3:]).copy()
    z = stretched(v[..., 0].astype(np.float64) + 1j * v[..., 1], rate, advance)
    return np.stack([z.real, z.imag], -1).astype(v.dtype)


class PhaseVocoder(AudioTensorOperation):
    """Spectra [..., frequency, frame, complex=2] at another speed, with the same pitch.

    Args: rate: above 1 for faster, above 0; with 1 the input comes as it is, with all axes before the last three as
        one. phase_advance: an ndarray [frequency, 1], by how much phases go on from
        frame to frame. Raises RuntimeError where its size is not the input's."""

    _axes = ("frequency", "frame", "complex")

    def __init__(self, rate: float, phase_advance: np.ndarray) -> None:
        self.rate: float = args.positive("PhaseVocoder", "rate", rate)
        self.phase_advance: np.ndarray = check.instance("PhaseVocoder", "phase_advance", phase_advance, np.ndarray)

    def _floats(self, v):
        v, advance = self._numbers(v), self.phase_advance
        if advance.shape != (v.shape[-3], 1) or advance.dtype != v.dtype:
            raise RuntimeError(f"[PhaseVocoder] phase_advance must be {v.dtype} of the shape {(v.shape[-3], 1)}, as "
                               f"the input is, but is {advance.dtype} of the shape {advance.shape}.")
        return super()._floats(v)

    def _sound(self, v):
        return _at_rate(v, self.rate, self.phase_advance)


class TimeStretch(AudioTensorOperation):
    """Spectra [..., frequency, frame, complex=2] at another speed, with the same pitch.

    Args: hop_length: between windows; None for n_freq - 1. n_freq: how many frequencies there are, for that.
        fixed_rate: above 1 for faster, above 0; None for 1.
    Spectra of an unchanged rate come as they are, with all axes before the last three as one."""

    _axes = ("frequency", "frame", "complex")

    def __init__(self, hop_length: int | None = None, n_freq: int = 201, fixed_rate: float | None = None) -> None:
        op = "TimeStretch"
        args.integer(op, "n_freq", n_freq, 1)
        self.hop_length: int = args.integer(op, "hop_length", hop_length, 1, none=True) or n_freq - 1
        self.rate: float = args.positive(op, "fixed_rate", fixed_rate, none=True) or 1.0

    def _sound(self, v):
        return _at_rate(v, self.rate, np.linspace(0, math.pi * self.hop_length, v.shape[-3])[:, None])


class PitchShift(AudioTensorOperation):
    """Sound [..., time] that is higher or lower, with the same length.

    Args: sample_rate: Hz, at least 0. n_steps: how many steps higher. bins_per_octave: steps of an octave, not 0.
        n_fft, win_length, window: as of Spectrogram. hop_length: None for a quarter of win_length."""

    def __init__(self, sample_rate: int, n_steps: int, bins_per_octave: int = 12, n_fft: int = 512,
                 win_length: int | None = None, hop_length: int | None = None, window: WindowType = WindowType.HANN
                 ) -> None:
        op = "PitchShift"
        self.sample_rate: int = args.integer(op, "sample_rate", sample_rate, 0)
        args.integer(op, "n_steps", n_steps)
        args.integer(op, "bins_per_octave", bins_per_octave, zero=False)
        self.rate: float = 2.0 ** (-n_steps / bins_per_octave)
        self.frames = Frames(op, n_fft, win_length, hop_length, window, hops=4)

    def _sound(self, v):
        length = v.shape[-1]
        z = self.frames.spectrum(v, True, BorderType.REFLECT, True)
        advance = np.linspace(0, math.pi * self.frames.hop_length, z.shape[-2])[:, None]
        if self.rate != 1:
            z = stretched(z, self.rate, advance)
        longer = self.frames.sound(z, round(length / self.rate))
        out = resampled(longer, int(self.sample_rate / self.rate), self.sample_rate)[..., :length]
        return np.pad(out, [(0, 0)] * (out.ndim - 1) + [(0, length - out.shape[-1])]).astype(v.dtype)


class ComputeDeltas(AudioTensorOperation):
    """The slopes of spectra [..., frequency, time] along time, by least squares within windows.

    Args: win_length: at least 3. pad_mode: what is beyond the ends."""

    _axes = ("frequency", "time")

    def __init__(self, win_length: int = 5, pad_mode: BorderType = BorderType.EDGE) -> None:
        self.reach: int = (args.integer("ComputeDeltas", "win_length", win_length, 3) - 1) // 2
        self.pad_mode: BorderType = args.member("ComputeDeltas", "pad_mode", pad_mode, BorderType)

    def _sound(self, v):
        n = self.reach
        wide = np.pad(v.astype(np.float64), [(0, 0)] * (v.ndim - 1) + [(n, n)], self.pad_mode.value)
        weights = np.arange(-n, n + 1) * (3 / (n * (n + 1) * (2 * n + 1)))
        return (np.lib.stride_tricks.sliding_window_view(wide, 2 * n + 1, axis=-1) @ weights).astype(v.dtype)


class SlidingWindowCmn(AudioTensorOperation):
    """Takes the mean of a sliding window away from cepstra [..., time, coefficient].

    Args: cmn_window: the window's length. min_cmn_window: its least length at the start, where center is False.
        center: the window lies around the frame instead of before it. norm_vars: divides by the standard deviation,
        too."""

    _axes = ("time", "coefficient")

    def __init__(self, cmn_window: int = 600, min_cmn_window: int = 100, center: bool = False, norm_vars: bool = False
                 ) -> None:
        op = "SlidingWindowCmn"
        self.cmn_window: int = args.integer(op, "cmn_window", cmn_window, 0)
        self.min_cmn_window: int = args.integer(op, "min_cmn_window", min_cmn_window, 0)
        self.center: bool = args.boolean(op, "center", center)
        self.norm_vars: bool = args.boolean(op, "norm_vars", norm_vars)

    def _windows(self, frames):
        """(first, behind the last) frame of each frame's window."""
        t = np.arange(frames)
        start = t - self.cmn_window // 2 if self.center else t - self.cmn_window
        end = start + self.cmn_window if self.center else t + 1
        end = np.where(start < 0, end - start, end)
        start = np.maximum(start, 0)
        if not self.center:
            end = np.where(end > t, np.maximum(t + 1, self.min_cmn_window), end)
        beyond = end > frames
        start = np.where(beyond, np.maximum(start - (end - frames), 0), start)
        return start, np.where(beyond, frames, end)

    def _sound(self, v):
        if self.center and not self.cmn_window:
            raise RuntimeError("[SlidingWindowCmn] cmn_window must be at least 1 where center is True, but is 0.")
        start, end = self._windows(v.shape[-2])
        wide = v.astype(np.float64)
        count = (end - start)[:, None]
        mean = _window_sums(wide, start, end) / count
        out = wide - mean
        if self.norm_vars:
            variance = _window_sums(wide * wide, start, end) / count - mean * mean
            out = np.where(count == 1, 0, out / np.sqrt(variance))
        return out.astype(v.dtype)


def _window_sums(v, start, end):
    sums = np.concatenate([np.zeros_like(v[..., :1, :]), np.cumsum(v, -2)], -2)
    return sums[..., end, :] - sums[..., start, :]


_TINY = 1e-9


class DetectPitchFrequency(AudioTensorOperation):
    """The pitch in Hz, float32, of each frame of sound [..., time].

    It is the best lag of a normalized cross-correlation, and a sliding median.

    Args: sample_rate: Hz, not 0. frame_time: seconds, above 0. win_length: frames of the median, at least 1. freq_low,
        freq_high: the range in Hz, above 0."""

    def __init__(self, sample_rate: int, frame_time: float = 0.01, win_length: int = 30, freq_low: int = 85,
                 freq_high: int = 3400) -> None:
        op = "DetectPitchFrequency"
        self.sample_rate: int = args.integer(op, "sample_rate", sample_rate, zero=False)
        self.frame_time: float = args.positive(op, "frame_time", frame_time)
        self.win_length: int = args.integer(op, "win_length", win_length, 1)
        self.freq_low: float = args.positive(op, "freq_low", freq_low)
        self.freq_high: float = args.positive(op, "freq_high", freq_high)

    def _floats(self, v):
        v = self._numbers(v)
        if v.dtype.kind != "f":
            raise RuntimeError("[DetectPitchFrequency] the input must be float16, float32 or float64, but is "
                               f"{v.dtype}.")
        return v

    def _sound(self, v):
        lags = self._best_lags(self._correlations(v))
        before = (self.win_length - 1) // 2
        lags = np.concatenate([np.repeat(lags[..., :1], before, -1), lags], -1)
        if lags.shape[-1] < self.win_length:
            raise RuntimeError(f"[DetectPitchFrequency] win_length must not be above the number of frames, but is "
                               f"{self.win_length}.")
        windows = np.lib.stride_tricks.sliding_window_view(lags, self.win_length, axis=-1)
        middle = np.sort(windows, -1)[..., (self.win_length - 1) // 2]
        return (self.sample_rate / (_TINY + middle)).astype(np.float32)

    def _correlations(self, v):
        """[..., frame, lag], of lags from 1 on."""
        lags = math.ceil(self.sample_rate / self.freq_low)
        size = math.ceil(self.sample_rate * self.frame_time)
        frames = math.ceil(v.shape[-1] / size)
        wide = np.zeros((*v.shape[:-1], lags + frames * size))
        wide[..., :v.shape[-1]] = v
        cut = lambda lag: wide[..., lag:lag + frames * size].reshape(*v.shape[:-1], frames, size)
        here = cut(0)
        norm = (_TINY + np.sqrt((here * here).sum(-1))) ** 2
        out = np.empty((*v.shape[:-1], frames, lags))
        for lag in range(1, lags + 1):
            there = cut(lag)
            other = (_TINY + np.sqrt((there * there).sum(-1))) ** 2
            out[..., lag - 1] = (here * there).sum(-1) / norm / other
        return out

    def _best_lags(self, found):
        """The best lag of each frame; a shorter one counts if it is nearly as good."""
        least = math.ceil(self.sample_rate / self.freq_high)
        half = found.shape[-1] // 2
        best, short = found[..., least:], found[..., least:half]
        if not best.shape[-1]:
            raise RuntimeError(f"[DetectPitchFrequency] freq_high must be above freq_low, but they are "
                               f"{self.freq_high} and {self.freq_low}.")
        if not short.shape[-1]:
            return best.argmax(-1) + least + 1
        good = short.max(-1) > 0.99 * best.max(-1)
        return np.where(good, short.argmax(-1), best.argmax(-1)) + least + 1


__all__ = ["ComputeDeltas", "DetectPitchFrequency", "PhaseVocoder", "PitchShift", "Resample", "SlidingWindowCmn",
           "TimeStretch"]
