"""What samples tell: moments, quantiles, the bootstrap, permutations, ranks, a density and a table of two traits."""

import numpy as np


def moments(x):
    z = (x - x.mean()) / x.std()
    return x.mean(), x.var(ddof=1), (z**3).mean(), (z**4).mean() - 3


def quantile(x, q):
    s = np.sort(x)
    place = q * (len(s) - 1)
    low = int(np.floor(place))
    high = min(low + 1, len(s) - 1)
    return s[low] + (place - low) * (s[high] - s[low])


def bootstrap(x, picks):
    means = x[picks].mean(axis=1)
    return means.std(ddof=1), quantile(means, 0.025), quantile(means, 0.975)


def permuted(x, y, orders):
    both = np.concatenate([x, y])
    seen = x.mean() - y.mean()
    shuffled = both[orders]
    other = shuffled[:, :len(x)].mean(axis=1) - shuffled[:, len(x):].mean(axis=1)
    return seen, (np.abs(other) >= np.abs(seen)).mean()


def ranks(x):
    r = np.empty(len(x))
    r[np.argsort(x)] = np.arange(1, len(x) + 1)
    return r


def correlation(x, y):
    dx, dy = x - x.mean(), y - y.mean()
    return (dx * dy).sum() / np.sqrt((dx**2).sum() * (dy**2).sum())


def density(x, at):
    h = 1.06 * x.std() * len(x) ** -0.2
    u = (at[:, None] - x[None, :]) / h
    return np.exp(-0.5 * u**2).sum(axis=1) / (len(x) * h * np.sqrt(2 * np.pi))


def table(a, b, levels):
    seen = np.zeros((levels, levels))
    np.add.at(seen, (a, b), 1)
    expected = seen.sum(axis=1, keepdims=True) * seen.sum(axis=0, keepdims=True) / seen.sum()
    return seen, ((seen - expected) ** 2 / expected).sum()


def winsorized(x, share=0.05):
    low, high = quantile(x, share), quantile(x, 1 - share)
    y = x.copy()
    y[y < low] = low
    y[y > high] = high
    return y.mean(), x[(x >= low) & (x <= high)].mean()


def main(n=200, turns=300):
    rng = np.random.default_rng(9)
    x, y = rng.gamma(3, 1, n), rng.gamma(3, 1.1, n)
    orders = np.argsort(rng.random((turns, 2 * n)), axis=1)
    a, b = np.digitize(x, [1.5, 3]), np.digitize(x + y, [4, 7])
    return (moments(x), bootstrap(x, rng.integers(0, n, (turns, n))), permuted(x, y, orders),
            correlation(x, x + y), correlation(ranks(x), ranks(x + y)), density(x, np.linspace(0, 10, 30)),
            table(a, b, 3), winsorized(x))


if __name__ == "__main__":
    print(main()[:3])
