"""Operations on single samples and on the level of sound: gain, decibels, companding, fading, distortion, noise."""

from __future__ import annotations

import math
import numpy as np

from pijit.dataset import seeds
from pijit.dataset.audio import arguments as args
from pijit.dataset.audio.arguments import AudioTensorOperation
from pijit.dataset.audio.filters import one_pole
from pijit.dataset.audio.utils import DensityFunction, FadeShape, GainType, ScaleType


class AmplitudeToDB(AudioTensorOperation):
    """Decibels of powers or magnitudes [..., frequency, time].

    Args:
        stype: what the input holds.
        ref_value: what 0 dB is, above 0.
        amin: the least reference, above 0. Inputs below 1e-10 count as 1e-10, whatever it is.
        top_db: results below the largest one minus top_db become that, above 0."""

    _axes = ("frequency", "time")

    def __init__(self, stype: ScaleType = ScaleType.POWER, ref_value: float = 1.0, amin: float = 1e-10,
                 top_db: float = 80.0) -> None:
        op = "AmplitudeToDB"
        kind = args.member(op, "stype", stype, ScaleType)
        self.multiplier: float = 10.0 if kind is ScaleType.POWER else 20.0
        least = args.positive(op, "amin", amin)
        self.reference: float = math.log10(max(least, args.positive(op, "ref_value", ref_value)))
        self.top_db: float = args.positive(op, "top_db", top_db)

    def _sound(self, v):
        return to_decibels(v, self.multiplier, self.reference, self.top_db)


_LEAST = 1e-10  # what MindSpore takes for smaller inputs, whatever amin is


def to_decibels(v: np.ndarray, multiplier: float, reference: float, top_db: float) -> np.ndarray:
    """multiplier * (log10(v) - reference), limited from below within each [channel, frequency, time]."""
    kind = v.dtype.type
    out = kind(multiplier) * np.log10(np.maximum(v, kind(_LEAST))) - kind(multiplier * reference)
    groups = out.reshape(-1, *out.shape[-3:]) if out.ndim > 2 else out[None]
    peak = groups.max(axis=tuple(range(1, groups.ndim)), keepdims=True, initial=-np.inf)
    return np.maximum(groups, peak - kind(top_db)).reshape(out.shape)


class DBToAmplitude(AudioTensorOperation):
    """ref * (10 ** (x / 10)) ** power. Args: ref, power: numbers."""

    _axes = ()

    def __init__(self, ref: float, power: float) -> None:
        self.ref: float = args.number("DBToAmplitude", "ref", ref)
        self.power: float = args.number("DBToAmplitude", "power", power)

    def _sound(self, v):
        kind = v.dtype.type
        return kind(self.ref) * np.power(np.power(kind(10), v * kind(0.1)), kind(self.power))


class Contrast(AudioTensorOperation):
    """Makes sound [..., time] louder without clipping. Args: enhancement_amount: in [0, 100]."""

    def __init__(self, enhancement_amount: float = 75.0) -> None:
        self.amount: float = args.number("Contrast", "enhancement_amount", enhancement_amount, 0, 100) / 750

    def _sound(self, v):
        kind = v.dtype.type
        turn = v * kind(math.pi / 2)
        return np.sin(turn + kind(self.amount) * np.sin(turn * kind(4)))


class DCShift(AudioTensorOperation):
    """Adds a constant, within [-1, 1].

    Args: shift: in [-2, 2]. limiter_gain: the gain of samples that would clip, far below 1; None for `shift`."""

    _axes = ()

    def __init__(self, shift: float, limiter_gain: float | None = None) -> None:
        self.shift: float = args.number("DCShift", "shift", shift, -2, 2)
        gain = shift if limiter_gain is None else limiter_gain
        if not isinstance(gain, (int, float)) or isinstance(gain, bool):
            raise TypeError(f"[DCShift] limiter_gain must be an int or a float, but got {limiter_gain!r}.")
        self.limiter_gain = float(gain)

    def _sound(self, v):
        kind, shift = v.dtype.type, v.dtype.type(self.shift)
        out = np.clip(v + shift, -1, 1)
        limit = kind(1.0 - (abs(self.shift) - self.limiter_gain))
        if self.shift == self.limiter_gain or self.shift == 0:
            return out
        slope = kind(self.limiter_gain) / (1 - limit)
        if self.shift > 0:
            clips = v > limit
            out[clips] = np.minimum((v[clips] - limit) * slope + limit + shift, limit)
        else:  # MindSpore adds the limit here as well
            clips = v < -limit
            out[clips] = np.maximum((v[clips] + limit) * slope + limit + shift, -limit)
        return out


class Gain(AudioTensorOperation):
    """Multiplies by a gain. Args: gain_db: decibels."""

    _axes = ()

    def __init__(self, gain_db: float = 1.0) -> None:
        self.factor: float = args.decibels(args.number("Gain", "gain_db", gain_db))

    def _sound(self, v):
        return v * v.dtype.type(self.factor)


class Vol(AudioTensorOperation):
    """Multiplies by a gain and limits to [-1, 1].

    Args: gain: at least 0 for amplitudes, above 0 for powers, any number of decibels. gain_type: what it is."""

    _axes = ()

    def __init__(self, gain: float, gain_type: GainType = GainType.AMPLITUDE) -> None:
        kind = args.member("Vol", "gain_type", gain_type, GainType)
        low, ends = {GainType.AMPLITUDE: (0, "[]"), GainType.POWER: (0, "(]"), GainType.DB: (None, "[]")}[kind]
        gain = args.number("Vol", "gain", gain, low, ends=ends)
        if kind is GainType.POWER:
            gain = 10 * math.log10(gain)
        self.factor: float = gain if kind is GainType.AMPLITUDE else args.decibels(gain)

    def _sound(self, v):
        return np.clip(v * v.dtype.type(self.factor), -1, 1)


class MuLawEncoding(AudioTensorOperation):
    """Samples within [-1, 1] as int32 within [0, quantization_channels), finer around 0. Args: quantization_channels:
    at least 1."""

    _axes = ()

    def __init__(self, quantization_channels: int = 256) -> None:
        self.mu: int = args.integer("MuLawEncoding", "quantization_channels", quantization_channels, 1) - 1

    def _sound(self, v):
        kind = v.dtype.type
        mu = kind(self.mu)
        bent = np.sign(v) * np.log1p(mu * np.abs(v)) / np.log1p(mu)
        return ((bent + 1) / 2 * mu + kind(0.5)).astype(np.int32)


class MuLawDecoding(AudioTensorOperation):
    """What MuLawEncoding encoded, as samples within [-1, 1]. Args: quantization_channels: at least 1."""

    _axes = ()

    def __init__(self, quantization_channels: int = 256) -> None:
        self.mu: int = args.integer("MuLawDecoding", "quantization_channels", quantization_channels, 1) - 1

    def _sound(self, v):
        kind = v.dtype.type
        mu = kind(self.mu)
        if not mu:
            raise RuntimeError("[MuLawDecoding] quantization_channels must be at least 2, but is 1.")
        bent = v / mu * 2 - 1
        return np.sign(bent) * np.expm1(np.abs(bent) * np.log1p(mu)) / mu


class Overdrive(AudioTensorOperation):
    """Distorts sound [..., time], within [-1, 1]. Args: gain: dB, in [0, 100]. color: even harmonics, in [0, 100]."""

    def __init__(self, gain: float = 20.0, color: float = 20.0) -> None:
        self.gain: float = args.decibels(args.number("Overdrive", "gain", gain, 0, 100))
        self.color: float = args.number("Overdrive", "color", color, 0, 100) / 200

    def _sound(self, v):
        kind = v.dtype.type
        x = v * kind(self.gain) + kind(self.color)
        bent = np.where(x < -1, kind(-2 / 3), np.where(x > 1, kind(2 / 3), x - x ** 3 / 3))
        edges = np.diff(bent, axis=-1, prepend=kind(0))
        return np.clip(v * kind(0.5) + one_pole(edges, 0.995) * kind(0.75), -1, 1)


def _fade_in(shape, x):
    if shape is FadeShape.LINEAR:
        return x
    if shape is FadeShape.EXPONENTIAL:
        return 2 ** (x - 1) * x
    if shape is FadeShape.LOGARITHMIC:
        return np.log10(0.1 + x) + 1
    if shape is FadeShape.QUARTER_SINE:
        return np.sin(x * math.pi / 2)
    return np.sin(x * math.pi - math.pi / 2) / 2 + 0.5


class Fade(AudioTensorOperation):
    """Fades sound [..., time] in and out.

    Args: fade_in_len, fade_out_len: samples, at least 0. fade_shape: the curve. Raises RuntimeError for sound that is
        shorter."""

    def __init__(self, fade_in_len: int = 0, fade_out_len: int = 0, fade_shape: FadeShape = FadeShape.LINEAR) -> None:
        self.fade_in_len: int = args.integer("Fade", "fade_in_len", fade_in_len, 0)
        self.fade_out_len: int = args.integer("Fade", "fade_out_len", fade_out_len, 0)
        self.fade_shape: FadeShape = args.member("Fade", "fade_shape", fade_shape, FadeShape)

    def _sound(self, v):
        time = v.shape[-1]
        if not (self.fade_in_len or self.fade_out_len):
            return v
        for name, length in (("fade_in_len", self.fade_in_len), ("fade_out_len", self.fade_out_len)):
            if length > time:
                raise RuntimeError(f"[Fade] {name} must not be above the sound's length, {time}, but is {length}.")
        curve = np.ones(time)
        curve[:self.fade_in_len] *= _fade_in(self.fade_shape, np.linspace(0, 1, self.fade_in_len))
        curve[time - self.fade_out_len:] *= _fade_in(self.fade_shape, 1 - np.linspace(0, 1, self.fade_out_len))
        return v * curve.astype(v.dtype)

    def _floats(self, v):
        return super()._floats(v) if self.fade_in_len or self.fade_out_len else self._numbers(v).copy()


_LEVELS = 2.0 ** 15


class Dither(AudioTensorOperation):
    """Rounds sound [..., time] to 16 bits, with noise that hides the rounding.

    Args: density_function: the noise's distribution. noise_shaping: adds each sample's error to the next one."""

    _random = True

    def __init__(self, density_function: DensityFunction = DensityFunction.TPDF, noise_shaping: bool = False) -> None:
        self.density_function: DensityFunction = args.member("Dither", "density_function", density_function,
                                                             DensityFunction)
        self.noise_shaping: bool = args.boolean("Dither", "noise_shaping", noise_shaping)

    def _sound(self, v):
        kind = v.dtype.type
        out = np.rint(v * kind(_LEVELS - 2) + self._noise(v)) / kind(_LEVELS)
        if self.noise_shaping:
            out[..., 1:] += (out - v)[..., :-1]
        return out

    def _noise(self, v):
        if self.density_function is DensityFunction.TPDF:
            return np.bartlett(v.shape[-1] + 1)[:-1].astype(v.dtype)
        if not v.size:
            return v.dtype.type(0)
        count = 1 if self.density_function is DensityFunction.RPDF else 7
        drawn = v.reshape(-1)[[seeds.rng().randrange(v.size) for _ in range(count)]]
        return drawn[0] - v.dtype.type(0.5) if count == 1 else drawn.sum(dtype=v.dtype)


__all__ = [n for n, v in list(globals().items()) if isinstance(v, type) and issubclass(v, AudioTensorOperation)
           and n != "AudioTensorOperation"]
