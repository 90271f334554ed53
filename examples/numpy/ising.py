"""Magnets: Ising's lattice in two colours and spin by spin, rotors, and what they correlate."""

import numpy as np


def around(s):
    return np.roll(s, 1, 0) + np.roll(s, -1, 0) + np.roll(s, 1, 1) + np.roll(s, -1, 1)


def sweep(s, colours, chance, beta):
    for colour, u in zip(colours, chance):
        cost = 2 * s * around(s)
        flip = colour & (u < np.exp(-beta * cost))
        s = np.where(flip, -s, s)
    return s


def one_by_one(s, places, chance, beta):
    n = len(s)
    accepted = 0
    for (i, j), u in zip(places, chance):
        cost = 2 * s[i, j] * (s[(i + 1) % n, j] + s[i - 1, j] + s[i, (j + 1) % n] + s[i, j - 1])
        if cost <= 0 or u < np.exp(-beta * cost):
            s[i, j] = -s[i, j]
            accepted += 1
    return accepted


def energy(s):
    return -(s * around(s)).sum() / 2 / s.size


def correlations(s, most):
    return np.array([(s * np.roll(s, k, axis=1)).mean() for k in range(most)]) - s.mean() ** 2


def rotors(angle, kicks, coupling=0.5):
    for k in kicks:
        force = np.sin(np.roll(angle, 1) - angle) + np.sin(np.roll(angle, -1) - angle)
        angle = (angle + coupling * force + k) % (2 * np.pi)
    return angle, np.hypot(np.cos(angle).mean(), np.sin(angle).mean())


def main(n=20, turns=30):
    rng = np.random.default_rng(7)
    i, j = np.indices((n, n))
    colours = (i + j) % 2 == 0, (i + j) % 2 == 1
    s = np.where(rng.random((n, n)) < 0.5, 1, -1)
    measured = []
    for _ in range(turns):
        s = sweep(s, colours, rng.random((2, n, n)), 0.5)
        measured.append((energy(s), np.abs(s.mean())))
    t = s.copy()
    accepted = one_by_one(t, rng.integers(0, n, (200, 2)), rng.random(200), 0.3)
    return (np.array(measured), correlations(s, 5), accepted, t.sum(),
            rotors(rng.random(n) * 6, rng.standard_normal((turns, n)) * 0.1))


if __name__ == "__main__":
    print(main()[1:4])
