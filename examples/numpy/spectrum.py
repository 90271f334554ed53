"""Filters by the Fourier transform: a low pass, a spectrogram with windows, autocorrelation, an analytic signal."""

import numpy as np


def signal(t):
    return np.sin(2 * np.pi * 5 * t) + 0.5 * np.sin(2 * np.pi * 40 * t) + 0.2 * np.cos(2 * np.pi * 80 * t + 1)


def low_pass(x, rate, cut):
    spectrum = np.fft.rfft(x)
    freqs = np.fft.rfftfreq(len(x), 1 / rate)
    gain = 1 / np.sqrt(1 + (freqs / cut) ** 8)
    spectrum *= gain
    return np.fft.irfft(spectrum, len(x))


def hann(n):
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n)


def spectrogram(x, size, hop):
    window = hann(size)
    starts = np.arange(0, len(x) - size + 1, hop)
    frames = x[starts[:, None] + np.arange(size)] * window
    power = np.abs(np.fft.rfft(frames, axis=1)) ** 2
    return 10 * np.log10(power / power.max() + 1e-12)


def autocorrelation(x):
    x = x - x.mean()
    f = np.fft.fft(x, 2 * len(x))
    r = np.fft.ifft(f * np.conj(f)).real[:len(x)]
    return r / r[0]


def analytic(x):
    n = len(x)
    h = np.zeros(n)
    h[0] = h[n // 2] = 1
    h[1:n // 2] = 2
    z = np.fft.ifft(np.fft.fft(x) * h)
    return np.abs(z), np.unwrap(np.angle(z))


def peaks(x, least):
    inner = (x[1:-1] > x[:-2]) & (x[1:-1] > x[2:]) & (x[1:-1] > least)
    return np.where(inner)[0] + 1


def main(rate=400, seconds=2):
    t = np.arange(rate * seconds) / rate
    x = signal(t) + 0.1 * np.random.default_rng(19).standard_normal(len(t))
    y = low_pass(x, rate, 20.0)
    s = spectrogram(x, 128, 32)
    size, phase = analytic(y)
    r = autocorrelation(y)
    speed = np.diff(phase) / (2 * np.pi) * rate
    return y, s, r, peaks(r, 0.2), np.median(speed), size.mean()


if __name__ == "__main__":
    print(main()[3:])
