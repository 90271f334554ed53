"""Times of functions, taken in turn, so that what else the machine does falls on all of them alike."""

from __future__ import annotations

import contextlib
import gc
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any


@dataclass
class Timing:
    """Seconds per call: the median of `samples`, and the middle half of them."""

    median: float
    low: float
    high: float
    samples: list[Any]

    @staticmethod
    def of(samples: Any, statistic: Any = np.median) -> Timing:
        """`statistic` of samples that differ in kind, in the proportion in which they come, is np.mean."""
        low, high = np.percentile(samples, [25, 75])
        return Timing(float(statistic(samples)), float(low), float(high), [float(s) for s in samples])


@dataclass
class Ratio:
    """How many times as long one thing takes as another, and the interval that holds 95 % of resampled medians."""

    value: float
    low: float
    high: float


def interleaved(runs: Any, seconds: Any, least: int = 7, most: int = 200, within: Any = None) -> list[Timing]:
    """A Timing per function of `runs`: samples of the functions in turn, for about `seconds` in all. A sample is one
    call, or as many as take a millisecond. within: context managers (their classes) around samples, by function."""
    around = [(within or {}).get(run, contextlib.nullcontext) for run in runs]
    counts = [max(1, min(10000, int(1e-3 / max(_sample(run, 1, a), 1e-9)))) for run, a in zip(runs, around)]
    samples = [[] for _ in runs]
    end = time.perf_counter() + seconds
    while len(samples[0]) < least or (time.perf_counter() < end and len(samples[0]) < most):
        for run, count, a, s in zip(runs, counts, around, samples):
            s.append(_sample(run, count, a))
    return [Timing.of(s) for s in samples]


def _sample(run, count, within):
    collects = gc.isenabled()
    gc.disable()
    try:
        with within():  # not around each call: that takes longer than a small function
            begin = time.perf_counter()
            for _ in range(count):
                run()
            return (time.perf_counter() - begin) / count
    finally:
        if collects:
            gc.enable()


def ratio(slow: Any, fast: Any, resamples: int = 1000, statistic: Any = np.median) -> Ratio:
    """The Ratio of two Timings. Where both have as many samples, these were taken in turn."""
    rng = np.random.default_rng(0)
    a, b = np.asarray(slow.samples), np.asarray(fast.samples)
    pick = rng.integers(0, len(a), (resamples, len(a)))
    other = pick if len(a) == len(b) else rng.integers(0, len(b), (resamples, len(b)))
    low, high = np.percentile(statistic(a[pick], axis=1) / statistic(b[other], axis=1), [2.5, 97.5])
    return Ratio(slow.median / fast.median, float(low), float(high))
