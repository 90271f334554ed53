"""Heat in a rod by explicit finite differences, with fixed ends, and the exact solution beside it."""

import numpy as np


def initial(x):
    return np.sin(np.pi * x) + 0.5 * np.sin(3 * np.pi * x)


def exact(x, t, kappa):
    first = np.exp(-kappa * np.pi ** 2 * t) * np.sin(np.pi * x)
    return first + 0.5 * np.exp(-9 * kappa * np.pi ** 2 * t) * np.sin(3 * np.pi * x)


def step(u, r):
    new = u.copy()
    new[1:-1] = u[1:-1] + r * (u[2:] - 2 * u[1:-1] + u[:-2])
    return new


def solve(u, r, steps):
    for _ in range(steps):
        u = step(u, r)
    return u


def solve_in_place(u, r, steps):
    for _ in range(steps):
        u[1:-1] += r * (u[2:] - 2 * u[1:-1] + u[:-2])
    return u


def total(u, dx):
    return np.sum(u[1:] + u[:-1]) * dx / 2


def errors(u, v):
    difference = np.abs(u - v)
    return difference.max(), np.sqrt(np.mean(difference ** 2)), difference.argmax()


def main(size=201, steps=400):
    kappa = 0.1
    x = np.linspace(0, 1, size)
    dx = x[1] - x[0]
    dt = 0.4 * dx * dx / kappa
    u0 = initial(x)
    u = solve(u0, kappa * dt / dx ** 2, steps)
    v = solve_in_place(u0.copy(), kappa * dt / dx ** 2, steps)
    return errors(u, exact(x, steps * dt, kappa)), errors(u, v), total(u, dx), u


if __name__ == "__main__":
    print(main()[:3])
