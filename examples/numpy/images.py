"""Filters of images: convolution by shifts, Sobel edges, a median, equalized histograms, thresholds."""

import numpy as np


def picture(n):
    y, x = np.mgrid[0:n, 0:n] / n
    disk = ((x - 0.5) ** 2 + (y - 0.4) ** 2 < 0.07) * 150
    stripes = (np.sin(20 * x) > 0) * 40
    return np.clip(disk + stripes + 30 * y, 0, 255).astype(np.uint8)


def convolve(image, kernel):
    k = kernel.shape[0] // 2
    padded = np.pad(image.astype(float), k, mode="edge")
    out = np.zeros(image.shape)
    for i in range(kernel.shape[0]):
        for j in range(kernel.shape[1]):
            out += kernel[i, j] * padded[i:i + image.shape[0], j:j + image.shape[1]]
    return out


def gaussian_kernel(size, sigma):
    ax = np.arange(size) - size // 2
    line = np.exp(-ax ** 2 / (2 * sigma ** 2))
    kernel = np.outer(line, line)
    return kernel / kernel.sum()


def sobel(image):
    gx = convolve(image, np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]]))
    gy = convolve(image, np.array([[1, 2, 1], [0, 0, 0], [-1, -2, -1]]))
    size = np.hypot(gx, gy)
    return size / size.max() * 255, np.arctan2(gy, gx)


def median3(image):
    padded = np.pad(image, 1, mode="reflect")
    n, m = image.shape
    layers = np.stack([padded[i:i + n, j:j + m] for i in range(3) for j in range(3)])
    return np.median(layers, axis=0).astype(np.uint8)


def equalize(image):
    counts, _ = np.histogram(image, bins=256, range=(0, 256))
    cdf = counts.cumsum()
    cdf = (cdf - cdf.min()) * 255 / (cdf.max() - cdf.min())
    return cdf[image].astype(np.uint8)


def otsu(image):
    p = np.bincount(image.ravel(), minlength=256) / image.size
    levels = np.arange(256)
    omega, mu = np.cumsum(p), np.cumsum(p * levels)
    with np.errstate(divide="ignore", invalid="ignore"):
        between = (mu[-1] * omega - mu) ** 2 / (omega * (1 - omega))
    return np.nanargmax(between)


def mirror_and_turn(image):
    return image[::-1], image[:, ::-1].T, np.rot90(image), image[::2, ::2]


def main(n=64):
    image = picture(n)
    noisy = image.copy()
    noisy[::7, ::5] = 255
    edges, angles = sobel(image)
    level = otsu(image)
    return (convolve(image, gaussian_kernel(5, 1.0)), edges, angles.mean(), median3(noisy), equalize(image), level,
            (image > level).sum(), [a.sum() for a in mirror_and_turn(image)])


if __name__ == "__main__":
    print(main()[5:])
