"""Monte Carlo: pi, an integral with its variance reduced, a random walk, and Metropolis' sampling."""

import numpy as np


def pi(x, y):
    inside = x * x + y * y <= 1
    return 4 * inside.mean(), 4 * inside.std() / np.sqrt(inside.size)


def integral(u):
    plain = np.exp(u)
    antithetic = (np.exp(u) + np.exp(1 - u)) / 2
    control = plain - 1.69 * (u - 0.5)
    return [(f.mean(), f.var()) for f in (plain, antithetic, control)]


def walk(steps):
    path = np.cumsum(steps, axis=0)
    distance = np.sqrt((path**2).sum(axis=2))
    return distance.mean(axis=1), distance.max(), (distance > 20).sum()


def first_passage(steps, level):
    path = np.cumsum(steps, axis=1)
    over = path >= level
    reached = over.any(axis=1)
    first = np.argmax(over, axis=1)
    return reached.mean(), first[reached].mean() if reached.any() else np.nan


def log_density(x):
    return -0.5 * (x - 1) ** 2 + np.log1p(np.exp(-((x + 2) ** 2)))


def metropolis(x, proposals, chances):
    kept = np.empty((len(proposals), len(x)))
    accepted = 0
    for k in range(len(proposals)):
        new = x + proposals[k]
        take = np.log(chances[k]) < log_density(new) - log_density(x)
        x = np.where(take, new, x)
        accepted += take.sum()
        kept[k] = x
    return kept, accepted / kept.size


def main(n=4000):
    rng = np.random.default_rng(11)
    steps = rng.choice([-1.0, 1.0], (60, n // 40, 2))
    chains, rate = metropolis(np.zeros(50), rng.standard_normal((n // 20, 50)), rng.random((n // 20, 50)))
    return (pi(rng.random(n), rng.random(n)), integral(rng.random(n)), walk(steps),
            first_passage(rng.standard_normal((n // 40, 60)), 5.0), chains[20:].mean(), rate)


if __name__ == "__main__":
    print(main()[:2])
