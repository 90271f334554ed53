"""Filters of signals: moving means, windows, recursive ones, a median, Savitzky and Golay's, and peaks."""

import numpy as np


def moving_average(x, width):
    total = np.cumsum(np.concatenate([[0.0], x]))
    return (total[width:] - total[:-width]) / width


def fir(x, taps):
    y = np.zeros_like(x)
    for k, tap in enumerate(taps):
        y[k:] += tap * x[:len(x) - k]
    return y


def lowpass(width, cutoff):
    n = np.arange(width) - (width - 1) / 2
    taps = 2 * cutoff * np.sinc(2 * cutoff * n) * (0.54 - 0.46 * np.cos(2 * np.pi * np.arange(width) / (width - 1)))
    return taps / taps.sum()


def recursive(x, a):
    y = np.empty_like(x)
    y[0] = x[0]
    for k in range(1, len(x)):
        y[k] = a * x[k] + (1 - a) * y[k - 1]
    return y


def median(x, width):
    half = width // 2
    wide = np.concatenate([np.full(half, x[0]), x, np.full(half, x[-1])])
    windows = np.stack([wide[k:k + len(x)] for k in range(width)])
    return np.sort(windows, axis=0)[half]


def savitzky_golay(x, width, degree):
    half = width // 2
    powers = np.arange(-half, half + 1)[:, None] ** np.arange(degree + 1)
    weights = np.linalg.pinv(powers.astype(float))[0]
    windows = np.lib.stride_tricks.sliding_window_view(x, width)
    return windows @ weights


def peaks(x, least):
    higher = (x[1:-1] > x[:-2]) & (x[1:-1] >= x[2:]) & (x[1:-1] > least)
    return np.flatnonzero(higher) + 1


def clean(x, limit=3.0):
    z = (x - x.mean()) / x.std()
    y = x.copy()
    y[np.abs(z) > limit] = np.median(x)
    return y, np.count_nonzero(np.abs(z) > limit)


def main(n=500):
    rng = np.random.default_rng(5)
    t = np.linspace(0, 10, n)
    x = np.sin(2 * t) + 0.3 * np.sin(15 * t) + 0.2 * rng.standard_normal(n)
    x[rng.integers(0, n, 8)] += 6
    y, outliers = clean(x)
    return (moving_average(y, 9), fir(y, lowpass(31, 0.05)), recursive(y, 0.2), median(x, 5), savitzky_golay(y, 11, 3),
            peaks(fir(y, lowpass(31, 0.05)), 0.5), outliers)


if __name__ == "__main__":
    print(main()[-2:])
