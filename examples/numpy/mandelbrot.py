"""Fractals: counts of turns of all points at once and of one at a time, Newton's basins, and their boundary."""

import numpy as np


def turns(cx, cy, most):
    zx, zy = np.zeros_like(cx), np.zeros_like(cy)
    count = np.zeros(cx.shape, dtype=int)
    inside = np.ones(cx.shape, dtype=bool)
    for _ in range(most):
        new = zx * zx - zy * zy + cx
        zy = np.where(inside, 2 * zx * zy + cy, zy)
        zx = np.where(inside, new, zx)
        inside = inside & (zx * zx + zy * zy <= 4)
        count[inside] += 1
    return count


def point(cx, cy, most):
    x = y = 0.0
    for k in range(most):
        x, y = x * x - y * y + cx, 2 * x * y + cy
        if x * x + y * y > 4:
            return k
    return most


def newton(x, y, steps):
    for _ in range(steps):
        r2 = x * x + y * y
        d = 3 * r2 * r2
        x2, y2 = x * x - y * y, 2 * x * y
        x, y = x - x / 3 + x2 / d, y - y / 3 - y2 / d
    roots = np.array([[1.0, 0.0], [-0.5, np.sqrt(3) / 2], [-0.5, -np.sqrt(3) / 2]])
    distance = (x[..., None] - roots[:, 0]) ** 2 + (y[..., None] - roots[:, 1]) ** 2
    return np.argmin(distance, axis=-1)


def boundary(labels):
    edge = np.zeros(labels.shape, dtype=bool)
    edge[:-1] |= labels[:-1] != labels[1:]
    edge[:, :-1] |= labels[:, :-1] != labels[:, 1:]
    return edge


def main(n=48, most=40):
    y, x = np.meshgrid(np.linspace(-1.2, 1.2, n), np.linspace(-2, 0.6, n), indexing="ij")
    count = turns(x, y, most)
    one = [point(a, b, most) for a, b in ((-0.5, 0.65), (0.35, 0.35), (-1.0, 0.1), (1.0, 1.0))]
    labels = newton(x + 0.7 + 1e-3, y + 1e-4, 12)
    edge = boundary(labels)
    return count.sum(), np.bincount(count.ravel()), one, labels, edge.sum(), count[edge].mean()


if __name__ == "__main__":
    print(main()[2])
