"""Convolution and correlation, directly and by Fourier's transform; echoes, blurs, autocorrelation, Wiener's filter."""

import numpy as np


def direct(x, k):
    y = np.zeros(len(x) + len(k) - 1)
    for i in range(len(k)):
        y[i:i + len(x)] += k[i] * x
    return y


def fast(x, k):
    n = len(x) + len(k) - 1
    size = 1 << (n - 1).bit_length()
    return np.fft.irfft(np.fft.rfft(x, size) * np.fft.rfft(k, size), size)[:n]


def blur(image, kernel):
    h, w = kernel.shape
    wide = np.pad(image, ((h // 2, h // 2), (w // 2, w // 2)), mode="edge")
    out = np.zeros_like(image)
    for i in range(h):
        for j in range(w):
            out += kernel[i, j] * wide[i:i + image.shape[0], j:j + image.shape[1]]
    return out


def gaussian(radius, sigma):
    r = np.arange(-radius, radius + 1)
    g = np.exp(-(r**2) / (2 * sigma**2))
    return np.outer(g, g) / g.sum() ** 2


def autocorrelation(x, most):
    d = x - x.mean()
    return np.array([(d[:len(d) - k] * d[k:]).sum() for k in range(most)]) / (d * d).sum()


def delay(x, y):
    c = fast(y, x[::-1].copy())
    return np.argmax(c) - (len(x) - 1)


def wiener(y, kernel, noise):
    k = np.fft.rfft(kernel, len(y))
    power = k.real**2 + k.imag**2
    return np.fft.irfft(np.fft.rfft(y) * np.conj(k) / (power + noise), len(y))


def edges(image):
    gx = image[:, 2:] - image[:, :-2]
    gy = image[2:] - image[:-2]
    size = np.sqrt(gx[1:-1] ** 2 + gy[:, 1:-1] ** 2)
    return np.where(size > size.mean() + size.std(), 1.0, 0.0).sum()


def main(n=300):
    rng = np.random.default_rng(10)
    x, k = rng.standard_normal(n), np.exp(-np.arange(20) / 5.0)
    y = np.concatenate([np.zeros(17), x])[:n] * 0.7 + 0.1 * rng.standard_normal(n)
    image = np.zeros((40, 40))
    image[10:25, 12:30] = 1
    soft = blur(image, gaussian(2, 1.0))
    back = wiener(fast(x, k)[:n], k, 1e-3)
    return (direct(x, k), np.abs(direct(x, k) - fast(x, k)).max() < 1e-12, autocorrelation(fast(x, k), 10), delay(x, y),
            soft, edges(soft), np.abs(back - x)[:250].mean())


if __name__ == "__main__":
    print(main()[1:4])
