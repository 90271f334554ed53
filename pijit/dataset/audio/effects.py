"""Effects of delayed sound that is fed back: Flanger and Phaser."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset.audio import arguments as args
from pijit.dataset.audio.arguments import AudioTensorOperation
from pijit.dataset.audio.utils import Interpolation, Modulation

if TYPE_CHECKING:
    from typing import Any


def _wave(sinusoidal: bool, size: int, low: float, high: float, phase: float) -> np.ndarray:
    """One period of a wave between two values."""
    point = (np.arange(size) + int(phase / math.pi / 2 * size + 0.5)) % size
    if sinusoidal:
        wave = (np.sin(point / size * 2 * math.pi) + 1) / 2
    else:
        wave = point * 2 / size
        quarter = 4 * point // size
        wave = np.select([quarter == 0, quarter == 3], [wave + 0.5, wave - 1.5], 1.5 - wave)
    return wave * (high - low) + low


class Phaser(AudioTensorOperation):
    """Adds sound [..., time] to itself, delayed by a time that swings; within [-1, 1].

    Args:
        sample_rate: Hz, an int.
        gain_in, gain_out: factors, in [0, 1] and from 0 on.
        delay_ms: the longest delay in milliseconds, in [0, 5].
        decay: how much is fed back, in [0, 0.99].
        mod_speed: swings per second, in [0.1, 2].
        sinusoidal: a sine; else a triangle.
    Raises RuntimeError where the delay is shorter than a sample."""

    def __init__(self, sample_rate: int, gain_in: float = 0.4, gain_out: float = 0.74, delay_ms: float = 3.0,
                 decay: float = 0.4, mod_speed: float = 0.5, sinusoidal: bool = True) -> None:
        op = "Phaser"
        rate = args.integer(op, "sample_rate", sample_rate)
        self.gain_in: float = args.number(op, "gain_in", gain_in, 0, 1)
        self.gain_out: float = args.number(op, "gain_out", gain_out, 0, 1e9)
        self.delay: int = int(args.number(op, "delay_ms", delay_ms, 0, 5) * 0.001 * rate + 0.5)
        self.decay: float = args.number(op, "decay", decay, 0, 0.99)
        period = int(rate / args.number(op, "mod_speed", mod_speed, 0.1, 2) + 0.5)
        args.boolean(op, "sinusoidal", sinusoidal)
        self.swing: np.ndarray | None = None
        if self.delay > 0 and period > 0:
            self.swing = (_wave(sinusoidal, period, 1.0, float(self.delay), math.pi / 2) + 0.5).astype(np.int64)

    def _sound(self, v):
        if self.swing is None:
            raise RuntimeError("[Phaser] delay_ms and sample_rate must give a delay of at least one sample.")
        kind, time = v.dtype.type, v.shape[-1]
        # y[t] = x[t] + decay * y[t - d[t]]: y[t] was stored at the place t + 1 of a ring, which is read at t + swing
        back = 1 + (-np.resize(self.swing, time)) % self.delay
        first = self.delay + 1  # zeros before the sound
        sources = (np.arange(time) + first - back).tolist()
        rows = v.reshape(-1, time) * kind(self.gain_in)
        out = np.array([_fed_back(row.tolist(), sources, first, self.decay) for row in rows], v.dtype)
        return np.clip(out * kind(self.gain_out), -1, 1).reshape(v.shape)


def _fed_back(x, sources, first, decay):
    """y[t] = x[t] + decay * y[sources[t]], behind `first` zeros. Numbers of Python: each may need the one before."""
    y = [0.0] * first
    for now, source in zip(x, sources):
        y.append(now + decay * y[source])
    return y[first:]


class Flanger(AudioTensorOperation):
    """Adds sound [..., channel, time] to itself, delayed by a time that swings; within [-1, 1].

    Args:
        sample_rate: Hz, an int, not 0.
        delay: the shortest delay in milliseconds, in [0, 30].
        depth: by how much it swings, in [0, 10].
        regen: how much of the delayed sound is fed back, in percent, in [-95, 95].
        width: how much of it is added, in percent, in [0, 100].
        speed: swings per second, in [0.1, 10].
        phase: from channel to channel, in percent of a swing, in [0, 100].
        modulation: a sine or a triangle.
        interpolation: between two samples.
    Raises RuntimeError for more than 4 channels."""

    _axes = ("channel", "time")

    def __init__(self, sample_rate: int, delay: float = 0.0, depth: float = 2.0, regen: float = 0.0,
                 width: float = 71.0, speed: float = 0.5, phase: float = 25.0,
                 modulation: Modulation = Modulation.SINUSOIDAL, interpolation: Interpolation = Interpolation.LINEAR
                 ) -> None:
        op = "Flanger"
        rate = args.integer(op, "sample_rate", sample_rate, zero=False)
        shortest = args.number(op, "delay", delay, 0, 30) / 1000
        swing = args.number(op, "depth", depth, 0, 10) / 1000
        self.feedback: float = args.number(op, "regen", regen, -95, 95) / 100
        gain = args.number(op, "width", width, 0, 100) / 100
        self.period: int = int(rate / args.number(op, "speed", speed, 0.1, 10))
        self.phase: float = args.number(op, "phase", phase, 0, 100) / 100
        sine = args.member(op, "modulation", modulation, Modulation) is Modulation.SINUSOIDAL
        self.quadratic: bool = args.member(op, "interpolation", interpolation,
                                           Interpolation) is Interpolation.QUADRATIC
        self.gain_in: float = 1 / (1 + gain)
        self.gain_delayed: float = gain / (1 + gain) * (1 - abs(self.feedback))
        self.held: int = int((shortest + swing) * rate + 0.5) + 2  # samples of the ring
        self.delays: Any = None
        if self.period > 0 and self.held > 0:
            least = math.floor(shortest * rate + 0.5)
            self.delays = _wave(sine, self.period, float(least), self.held - 2.0, 3 * math.pi / 2).astype(np.float32)

    def _floats(self, v):
        return self._numbers(v)

    def _sound(self, v):
        channels, time = v.shape[-2:]
        if channels > 4:
            raise RuntimeError(f"[Flanger] the input must have at most 4 channels, but has {channels}.")
        if self.delays is None:
            raise RuntimeError("[Flanger] sample_rate must be above 0, and its swing longer than a sample.")
        x = v.reshape(-1, channels, time)
        x = x if x.dtype == np.float64 else x.astype(np.float32)
        out = np.stack([self._channel(x[:, c], c) for c in range(channels)], 1)
        return np.clip(out, -1, 1).reshape(v.shape).astype(v.dtype)

    def _channel(self, x, channel):
        """One channel [batch, time]."""
        kind, time = x.dtype.type, x.shape[-1]
        shift = int(channel * self.period * self.phase + 0.5)
        delays = self.delays[(np.arange(time) + shift) % self.period]
        whole = np.floor(delays)
        part, whole = (delays - whole).astype(x.dtype), whole.astype(np.int64)
        points = 3 if self.quadratic else 2
        # the k-th point before t; a delay as long as the ring is none
        back = (whole[:, None] + np.arange(points)) % self.held
        sources = np.arange(time)[:, None] + self.held - back
        if self.feedback:
            delayed = np.array([self._fed_back(row.tolist(), sources.T.tolist(), part.tolist()) for row in x], x.dtype)
            delayed = delayed.reshape(x.shape)
        else:
            ring = np.concatenate([np.zeros((len(x), self.held), x.dtype), x], -1)
            delayed = _between([ring[:, sources[:, k]] for k in range(points)], part)
        return x * kind(self.gain_in) + delayed * kind(self.gain_delayed)

    def _fed_back(self, x, sources, part):
        """The delayed sound of one row, by numbers of Python: each needs the one before."""
        ring, delayed, last = [0.0] * self.held, [], 0.0
        for now, p, *at in zip(x, part, *sources):
            ring.append(now + last * self.feedback)
            last = _between([ring[k] for k in at], p)
            delayed.append(last)
        return delayed


def _between(points, part):
    """The value at `part` of the way from the first point to the second, by a line or a parabola."""
    near, far = points[0], points[1] - points[0]
    if len(points) == 2:
        return near + far * part
    third = (points[2] - near) * 0.5
    return near + ((third - far) * part + far * 2 - third) * part


__all__ = ["Flanger", "Phaser"]
