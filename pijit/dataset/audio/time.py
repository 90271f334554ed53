"""Operations along time: rates, pitch, differences, sliding means, and where speech begins."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check
from pijit.dataset.audio import arguments as args
from pijit.dataset.audio.arguments import AudioTensorOperation
from pijit.dataset.audio.spectra import Frames
from pijit.dataset.audio.utils import BorderType, ResampleMethod, WindowType

if TYPE_CHECKING:
    from typing import Any

_BETA = 14.769656459379492


def resampled(v: np.ndarray, old: int, new: int, width: int = 6, rolloff: float = 0.99, beta: float | None = None
              ) -> np.ndarray:
    """Sound [..., time] at another rate, by a windowed sinc; beta None means a Hann window, else a Kaiser window."""
    common = math.gcd(old, new)
    old, new = old // common, new // common
    if old == new:
        return v.copy()
    base = min(old, new) * rolloff
    reach = math.ceil(width * old / base)
    # one row for each of the `new` samples that `old` ones become
    t = (np.arange(-reach, reach + old) / old - np.arange(new)[:, None] / new) * base
    t = np.clip(t, -width, width)
    shape = np.cos(t * math.pi / width / 2) ** 2 if beta is None else (
        np.i0(beta * np.sqrt(1 - (t / width) ** 2)) / np.i0(beta))
    kernels = np.sinc(t) * shape * (base / old)
    length = v.shape[-1]
    padded = np.pad(v.astype(np.float64, copy=False), [(0, 0)] * (v.ndim - 1) + [(reach, reach + old)])
    pieces = np.lib.stride_tricks.sliding_window_view(padded, kernels.shape[1], axis=-1)[..., ::old, :]
    out = (pieces @ kernels.T).reshape(*v.shape[:-1], -1)
    return out[..., :math.ceil(new * length / old)].astype(v.dtype)


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

    def _sound(self, v):
        old, new = int(self.orig_freq), int(self.new_freq)
        if not old or not new:
            raise RuntimeError(f"[Resample] rates must be at least 1 Hz, but are {self.orig_freq} and {self.new_freq}.")
        return resampled(v, old, new, self.width, self.rolloff, self.beta)


def stretched(z: np.ndarray, rate: float, advance: np.ndarray) -> np.ndarray:
    """Complex spectra [..., frequency, frame] at another speed; `advance` [frequency, 1] is by how much phases go on
    from frame to frame."""
    steps = np.arange(0, z.shape[-1], rate)
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


def _complex(v):
    return v[..., 0].astype(np.float64) + 1j * v[..., 1]


def _pairs(z, kind):
    return np.stack([z.real, z.imag], -1).astype(kind)


class PhaseVocoder(AudioTensorOperation):
    """Spectra [..., frequency, frame, complex=2] at another speed, with the same pitch.

    Args: rate: above 1 for faster, above 0. phase_advance: an ndarray [frequency, 1], by how much phases go on from
        frame to frame. Raises RuntimeError where its size is not the input's."""

    _axes = ("frequency", "frame", "complex")

    def __init__(self, rate: float, phase_advance: np.ndarray) -> None:
        self.rate: float = args.positive("PhaseVocoder", "rate", rate)
        self.phase_advance: np.ndarray = check.instance("PhaseVocoder", "phase_advance", phase_advance, np.ndarray)

    def _sound(self, v):
        advance = self.phase_advance
        if advance.ndim != 2 or advance.shape != (v.shape[-3], 1) or advance.dtype.kind not in "biuf":
            raise RuntimeError(f"[PhaseVocoder] phase_advance must hold numbers of the shape {(v.shape[-3], 1)}, but "
                               f"holds {advance.dtype} of the shape {advance.shape}.")
        return _pairs(stretched(_complex(v), self.rate, advance.astype(v.dtype)), v.dtype)


class TimeStretch(AudioTensorOperation):
    """Spectra [..., frequency, frame, complex=2] at another speed, with the same pitch.

    Args: hop_length: between windows; None for n_freq - 1. n_freq: how many frequencies there are. fixed_rate: above 1
        for faster, above 0; None changes nothing."""

    _axes = ("frequency", "frame", "complex")

    def __init__(self, hop_length: int | None = None, n_freq: int = 201, fixed_rate: float | None = None) -> None:
        op = "TimeStretch"
        self.n_freq: int = args.integer(op, "n_freq", n_freq, 1)
        self.hop_length: int = args.integer(op, "hop_length", hop_length, 1, none=True) or n_freq - 1
        self.rate: float = args.positive(op, "fixed_rate", fixed_rate, none=True) or 1.0

    def _sound(self, v):
        if v.shape[-3] != self.n_freq:
            raise RuntimeError(f"[TimeStretch] the input must have n_freq = {self.n_freq} frequencies, but has "
                               f"{v.shape[-3]}.")
        advance = np.linspace(0, math.pi * self.hop_length, self.n_freq)[:, None]
        return _pairs(stretched(_complex(v), self.rate, advance), v.dtype)


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
        longer = self.frames.sound(stretched(z, self.rate, advance), round(length / self.rate), True, True)
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
        start, end = self._windows(v.shape[-2])
        wide = v.astype(np.float64)
        count = (end - start)[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
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
    """The pitch in Hz of each frame of sound [..., time], by normalized cross-correlation and a sliding median.

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

    def _sound(self, v):
        lags = self._best_lags(self._correlations(v))
        before = (self.win_length - 1) // 2
        lags = np.concatenate([np.repeat(lags[..., :1], before, -1), lags], -1)
        if lags.shape[-1] < self.win_length:
            raise RuntimeError(f"[DetectPitchFrequency] win_length must not be above the number of frames, but is "
                               f"{self.win_length}.")
        windows = np.lib.stride_tricks.sliding_window_view(lags, self.win_length, axis=-1)
        middle = np.sort(windows, -1)[..., (self.win_length - 1) // 2]
        return (self.sample_rate / (_TINY + middle)).astype(v.dtype)

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
        if not best.shape[-1] or not short.shape[-1]:
            raise RuntimeError(f"[DetectPitchFrequency] freq_high must be far above freq_low, but they are "
                               f"{self.freq_high} and {self.freq_low}.")
        good = short.max(-1) > 0.99 * best.max(-1)
        return np.where(good, short.argmax(-1), best.argmax(-1)) + least + 1


class Vad(AudioTensorOperation):
    """Cuts silence and quiet noise from the start of speech [..., time], by the cepstral power of windows.

    Args:
        sample_rate: Hz, at least 1.
        trigger_level: the level that is speech.
        trigger_time: seconds by which short bursts are smoothed.
        search_time: seconds before the trigger that are searched for quieter speech.
        allowed_gap: seconds between such speech.
        pre_trigger_time: seconds that are kept before all that.
        boot_time: seconds of the first estimate of noise.
        noise_up_time, noise_down_time: time constants of that estimate; the first is above the second.
        noise_reduction_amount: how much of the noise is taken away.
        measure_freq: measurements per second.
        measure_duration: seconds of a measurement; None for two periods.
        measure_smooth_time: time constant of spectra.
        hp_filter_freq, lp_filter_freq: the lowest and highest frequency that counts, in Hz.
        hp_lifter_freq, lp_lifter_freq: the same of pitches.
    Raises TypeError for other types, ValueError for numbers below 0."""

    def __init__(self, sample_rate: int, trigger_level: float = 7.0, trigger_time: float = 0.25,
                 search_time: float = 1.0, allowed_gap: float = 0.25, pre_trigger_time: float = 0.0,
                 boot_time: float = 0.35, noise_up_time: float = 0.1, noise_down_time: float = 0.01,
                 noise_reduction_amount: float = 1.35, measure_freq: float = 20.0,
                 measure_duration: float | None = None, measure_smooth_time: float = 0.4, hp_filter_freq: float = 50.0,
                 lp_filter_freq: float = 6000.0, hp_lifter_freq: float = 150.0, lp_lifter_freq: float = 2000.0) -> None:
        op = "Vad"
        at_least_0 = lambda name, value: args.number(op, name, value, 0)
        above_0 = lambda name, value: args.positive(op, name, value)
        self.rate: int = args.integer(op, "sample_rate", sample_rate, 1)
        self.trigger_level: float = args.number(op, "trigger_level", trigger_level)
        self.trigger_time: float = at_least_0("trigger_time", trigger_time)
        self.search_time: float = at_least_0("search_time", search_time)
        self.allowed_gap: float = at_least_0("allowed_gap", allowed_gap)
        self.pre_trigger_time: float = at_least_0("pre_trigger_time", pre_trigger_time)
        self.boot_time: float = at_least_0("boot_time", boot_time)
        self.noise_up: float = above_0("noise_up_time", noise_up_time)
        self.noise_down: float = at_least_0("noise_down_time", noise_down_time)
        if noise_up_time <= noise_down_time:
            raise ValueError(f"[Vad] noise_up_time must be above noise_down_time, but they are {noise_up_time} and "
                             f"{noise_down_time}.")
        self.noise_reduction: float = at_least_0("noise_reduction_amount", noise_reduction_amount)
        self.measure_freq: float = above_0("measure_freq", measure_freq)
        given = args.number(op, "measure_duration", measure_duration or None, 0, none=True)
        self.duration: float = 2.0 / self.measure_freq if measure_duration is None else given or 0.0
        self.smooth_time: float = at_least_0("measure_smooth_time", measure_smooth_time)
        self.filters = above_0("hp_filter_freq", hp_filter_freq), above_0("lp_filter_freq", lp_filter_freq)
        self.lifters = above_0("hp_lifter_freq", hp_lifter_freq), above_0("lp_lifter_freq", lp_lifter_freq)

    def _sound(self, v):
        return _Detector(self, v.reshape(-1, v.shape[-1]).astype(np.float64)).cut(v)


def _decay(seconds, frequency):
    return math.exp(-1.0 / (seconds * frequency)) if seconds > 0 else 0.0


class _Detector:
    """One run of Vad on sound [channel, time]."""

    def __init__(self, vad: Vad, sound: np.ndarray) -> None:
        self.vad, self.sound = vad, sound
        rate = vad.rate
        self.length = int(rate * vad.duration + 0.5)  # samples of a measurement
        self.size = 16  # of its transform
        while self.size < self.length:
            self.size *= 2
        self.period = int(rate / vad.measure_freq + 0.5)
        self.kept = math.ceil(vad.search_time * vad.measure_freq)  # measurements
        self.gap = int(vad.allowed_gap * vad.measure_freq + 0.5)
        self.held = int(vad.pre_trigger_time * rate + 0.5) + self.kept * self.period + self.length  # samples
        low, high = (int(f / rate * self.size + 0.5) for f in vad.filters)
        self.band = slice(max(low, 1), min(high, self.size // 2))
        width = self.band.stop - self.band.start
        self.shape = _hann(self.length) * (2 / math.sqrt(self.length)) if self.length else np.zeros(0)
        self.cepstral_shape = _hann(width) * (2 / math.sqrt(width)) if width > 0 else None
        self.quefrencies = slice(math.ceil(rate * 0.5 / vad.lifters[1]),
                                 min(math.floor(rate * 0.5 / vad.lifters[0]), self.size // 4))
        if (self.cepstral_shape is None or self.quefrencies.stop <= self.quefrencies.start or not self.kept
                or not self.period or not self.length):
            raise RuntimeError("[Vad] the frequencies of filters and lifters, and times, leave nothing to measure.")

    def cut(self, v):
        trigger, flushed = self._trigger()
        start = trigger - self.held + flushed
        start = start if start >= 0 else max(start + v.shape[-1], 0)
        return v[..., start:].copy()

    def _trigger(self):
        """(samples read until speech began, samples to leave out of those that are held)."""
        vad, (channels, time) = self.vad, self.sound.shape
        spectrum, noise = np.zeros((channels, self.size // 2 + 1)), np.zeros((channels, self.size // 2 + 1))
        measures, mean = np.zeros((channels, self.kept)), np.zeros(channels)
        smooth = _decay(vad.trigger_time, vad.measure_freq)
        boot, boots, at = 0, int(vad.boot_time * vad.measure_freq - 0.5), 0
        for read in range(self.length, time + 1, self.period):
            flush, triggered = 0, False
            for c in range(channels):
                value = self._measure(self._window(c, read - 1), spectrum[c], noise[c], boot)
                measures[c, at] = value
                mean[c] = mean[c] * smooth + value * (1 - smooth)
                triggered = triggered or bool(mean[c] >= vad.trigger_level)
                if triggered:
                    flush = min(max(flush, self._kept_measures(measures[c], at)), self.kept)
            if triggered:
                return read, (self.kept - flush) * self.period
            at = (at + 1) % self.kept
            if boot >= 0:
                boot = -1 if boot == boots else boot + 1
        return time, 0

    def _window(self, channel, position):
        """The samples before a position."""
        start = position - self.length
        part = self.sound[channel, max(start, 0):position]
        return np.concatenate([np.zeros(self.length - len(part)), part])

    def _kept_measures(self, measures, at):
        """How many of the last measurements belong to the speech."""
        count = self.kept
        trigger = zero = count
        for j in range(count):
            value = measures[(at - j) % count]
            if value >= self.vad.trigger_level and j <= trigger + self.gap:
                zero = trigger = j
            elif value == 0 and trigger >= zero:
                zero = j
        return min(count - 1, zero)

    def _measure(self, window, spectrum, noise, boot):
        vad, band = self.vad, self.band
        size = np.abs(np.fft.rfft(window * self.shape, self.size))[band]
        keep = boot / (1.0 + boot) if boot >= 0 else _decay(vad.smooth_time, vad.measure_freq)
        spectrum[band] = spectrum[band] * keep + size * (1 - keep)
        power = spectrum[band] ** 2
        up, down = _decay(vad.noise_up, vad.measure_freq), _decay(vad.noise_down, vad.measure_freq)
        keep = 0.0 if boot >= 0 else np.where(power > noise[band], up, down)
        noise[band] = noise[band] * keep + power * (1 - keep)
        level = np.sqrt(np.maximum(0, power - vad.noise_reduction * noise[band]))
        cepstrum = np.zeros(self.size // 2)
        cepstrum[band] = level * self.cepstral_shape
        found = float((np.abs(np.fft.rfft(cepstrum)[self.quefrencies]) ** 2).sum())
        if found <= 0:
            return 0.0
        return max(0.0, 21 + math.log(found / (self.quefrencies.stop - self.quefrencies.start)))


def _hann(size):
    return np.hanning(size + 1)[:-1]


__all__ = ["ComputeDeltas", "DetectPitchFrequency", "PhaseVocoder", "PitchShift", "Resample", "SlidingWindowCmn",
           "TimeStretch", "Vad"]
