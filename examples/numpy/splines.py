"""Curves through points: lines, Lagrange's, cubic splines, least squares, and integrals of samples."""

import numpy as np


def linear(x, xs, ys):
    k = np.clip(np.searchsorted(xs, x) - 1, 0, len(xs) - 2)
    t = (x - xs[k]) / (xs[k + 1] - xs[k])
    return ys[k] * (1 - t) + ys[k + 1] * t


def lagrange(x, xs, ys):
    total = np.zeros_like(x)
    for k in range(len(xs)):
        term = np.full_like(x, ys[k])
        for j in range(len(xs)):
            if j != k:
                term *= (x - xs[j]) / (xs[k] - xs[j])
        total += term
    return total


def second_derivatives(xs, ys):
    n = len(xs)
    h = np.diff(xs)
    slope = np.diff(ys) / h
    a = np.zeros((n, n))
    a[0, 0] = a[-1, -1] = 1
    i = np.arange(1, n - 1)
    a[i, i - 1] = h[:-1]
    a[i, i] = 2 * (h[:-1] + h[1:])
    a[i, i + 1] = h[1:]
    right = np.zeros(n)
    right[1:-1] = 6 * np.diff(slope)
    return np.linalg.solve(a, right)


def spline(x, xs, ys, m):
    k = np.clip(np.searchsorted(xs, x) - 1, 0, len(xs) - 2)
    h = xs[k + 1] - xs[k]
    a, b = (xs[k + 1] - x) / h, (x - xs[k]) / h
    return a * ys[k] + b * ys[k + 1] + ((a**3 - a) * m[k] + (b**3 - b) * m[k + 1]) * h**2 / 6


def fit(x, y, degree):
    powers = np.stack([x**k for k in range(degree + 1)], axis=1)
    c = np.linalg.solve(powers.T @ powers, powers.T @ y)
    rest = y - powers @ c
    return c, np.sqrt((rest**2).mean()), 1 - (rest**2).sum() / ((y - y.mean()) ** 2).sum()


def integrals(x, y):
    h = x[1] - x[0]
    trapezium = (y[1:] + y[:-1]).sum() * h / 2
    simpson = (y[0] + y[-1] + 4 * y[1:-1:2].sum() + 2 * y[2:-1:2].sum()) * h / 3
    return trapezium, simpson, np.cumsum((y[1:] + y[:-1]) * h / 2)[-1]


def main(n=11, many=201):
    xs = np.linspace(0, 3, n)
    ys = np.sin(2 * xs) + 0.1 * xs**2
    x = np.linspace(0.01, 2.99, many)
    m = second_derivatives(xs, ys)
    exact = np.sin(2 * x) + 0.1 * x**2
    curves = [linear(x, xs, ys), lagrange(x, xs, ys), spline(x, xs, ys, m)]
    return [np.abs(c - exact).max() for c in curves], curves, fit(xs, ys, 4), integrals(x, exact)


if __name__ == "__main__":
    print(main()[0])
