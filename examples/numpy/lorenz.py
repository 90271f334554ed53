"""Ordinary differential equations: Euler, Heun, Runge and Kutta, and a step of two orders that watches its error."""

import numpy as np


def lorenz(t, s, sigma=10.0, rho=28.0, beta=8.0 / 3.0):
    x, y, z = s
    return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def oscillators(t, s):
    n = len(s) // 2
    q, p = s[:n], s[n:]
    force = -q - 0.1 * q**3
    force[1:] += 0.5 * (q[:-1] - q[1:])
    force[:-1] += 0.5 * (q[1:] - q[:-1])
    return np.concatenate([p, force])


def euler(f, t, y, h):
    return y + h * f(t, y)


def heun(f, t, y, h):
    k1 = f(t, y)
    k2 = f(t + h, y + h * k1)
    return y + h / 2 * (k1 + k2)


def rk4(f, t, y, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def run(step, f, y, h, turns):
    path = np.empty((turns + 1, len(y)))
    path[0] = y
    for k in range(turns):
        path[k + 1] = step(f, k * h, path[k], h)
    return path


def adaptive(f, y, end, tolerance=1e-6):
    t, h, rejected = 0.0, 1e-2, 0
    while t < end:
        h = min(h, end - t)
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + 3 * h / 4, y + 3 * h / 4 * k2)
        new = y + h / 9 * (2 * k1 + 3 * k2 + 4 * k3)
        k4 = f(t + h, new)
        error = np.max(np.abs(h * (-5 / 72 * k1 + k2 / 12 + k3 / 9 - k4 / 8)) / (tolerance * (1 + np.abs(y))))
        if error <= 1:
            t, y = t + h, new
        else:
            rejected += 1
        h *= min(5.0, max(0.2, 0.9 * (1 / max(error, 1e-10)) ** (1 / 3)))
    return y, rejected


def energy(path):
    n = path.shape[1] // 2
    q, p = path[:, :n], path[:, n:]
    return 0.5 * (p**2).sum(axis=1) + 0.5 * (q**2).sum(axis=1) + 0.25 * (np.diff(q, axis=1) ** 2).sum(axis=1)


def main(turns=150):
    start = np.array([1.0, 1.0, 1.0])
    chain = np.concatenate([np.sin(np.linspace(0, 3, 16)), np.zeros(16)])
    paths = [run(step, lorenz, start, 0.01, turns) for step in (euler, heun, rk4)]
    many = run(rk4, oscillators, chain, 0.05, turns)
    end, rejected = adaptive(oscillators, chain, 2.0)
    return [p[-1] for p in paths], energy(many)[::10], end, rejected


if __name__ == "__main__":
    print(main())
