"""Waves that steepen: upwind, Lax and Wendroff, limited slopes, and viscous steps by a tridiagonal system."""

import numpy as np


def upwind(u, c):
    return u - c * (u - np.roll(u, 1, axis=0))


def lax_wendroff(u, c):
    left, right = np.roll(u, 1, axis=0), np.roll(u, -1, axis=0)
    return u - c / 2 * (right - left) + c**2 / 2 * (right - 2 * u + left)


def minmod(a, b):
    return np.where(a * b > 0, np.where(np.abs(a) < np.abs(b), a, b), 0.0)


def limited(u, dt, dx):
    back = u - np.roll(u, 1, axis=0)
    slope = minmod(back, np.roll(back, -1, axis=0))
    left = u + slope / 2
    right = np.roll(u - slope / 2, -1, axis=0)
    speed = np.maximum(np.abs(left), np.abs(right))
    flux = 0.25 * (left**2 + right**2) - 0.5 * speed * (right - left)
    return u - dt / dx * (flux - np.roll(flux, 1, axis=0))


def tridiagonal(lower, middle, upper, right):
    n = len(middle)
    c, d = np.empty(n), np.empty(n)
    c[0] = upper[0] / middle[0]
    d[0] = right[0] / middle[0]
    for k in range(1, n):
        m = middle[k] - lower[k] * c[k - 1]
        c[k] = upper[k] / m
        d[k] = (right[k] - lower[k] * d[k - 1]) / m
    x = np.empty(n)
    x[-1] = d[-1]
    for k in range(n - 2, -1, -1):
        x[k] = d[k] - c[k] * x[k + 1]
    return x


def viscous(u, dt, dx, nu):
    r = nu * dt / dx**2
    n = len(u)
    off = np.full(n, -r)
    middle = np.full(n, 1 + 2 * r)
    middle[0] = middle[-1] = 1
    off[0] = 0
    upper = off.copy()
    lower = off.copy()
    upper[0] = lower[-1] = 0
    right = u.copy()
    right[1:-1] -= dt / (2 * dx) * u[1:-1] * (u[2:] - u[:-2])
    return tridiagonal(lower, middle, upper, right)


def variation(u):
    return np.abs(np.diff(u)).sum()


def main(n=120, turns=60):
    x = np.linspace(0, 1, n, endpoint=False)
    hat = np.where((x > 0.2) & (x < 0.4), 1.0, 0.0)
    a, b = hat, hat
    w = np.sin(2 * np.pi * x)
    v = w.copy()
    for _ in range(turns):
        a, b = upwind(a, 0.8), lax_wendroff(b, 0.8)
        w = limited(w, 0.3 / n, 1 / n)
        v = viscous(v, 0.3 / n, 1 / n, 0.01)
    return variation(a), variation(b), variation(w), variation(v), a, b, w, v


if __name__ == "__main__":
    print(main()[:4])
