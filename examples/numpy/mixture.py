"""A mixture of Gaussians by expectation and maximization, with its likelihood at each turn."""

import numpy as np


def log_density(x, mean, cov):
    d = x.shape[1]
    low = np.linalg.cholesky(cov)
    z = np.linalg.solve(low, (x - mean).T)
    return -0.5 * (d * np.log(2 * np.pi) + np.sum(z ** 2, axis=0)) - np.sum(np.log(np.diag(low)))


def log_sum_exp(a, axis):
    top = a.max(axis=axis, keepdims=True)
    return (top + np.log(np.exp(a - top).sum(axis=axis, keepdims=True))).squeeze(axis)


def expectation(x, weights, means, covs):
    logs = np.empty((len(x), len(weights)))
    for k in range(len(weights)):
        logs[:, k] = np.log(weights[k]) + log_density(x, means[k], covs[k])
    total = log_sum_exp(logs, axis=1)
    return np.exp(logs - total[:, None]), total.sum()


def maximization(x, shares, floor=1e-6):
    counts = shares.sum(axis=0)
    weights = counts / len(x)
    means = (shares.T @ x) / counts[:, None]
    covs = np.empty((len(counts), x.shape[1], x.shape[1]))
    for k in range(len(counts)):
        centred = x - means[k]
        covs[k] = (shares[:, k, None] * centred).T @ centred / counts[k] + floor * np.eye(x.shape[1])
    return weights, means, covs


def fit(x, means, turns=30, tolerance=1e-6):
    k, d = means.shape
    weights, covs = np.full(k, 1 / k), np.tile(np.eye(d), (k, 1, 1))
    history = []
    for _ in range(turns):
        shares, likelihood = expectation(x, weights, means, covs)
        weights, means, covs = maximization(x, shares)
        if history and abs(likelihood - history[-1]) < tolerance:
            break
        history.append(likelihood)
    return weights, means, covs, np.array(history)


def entropy(shares):
    return -np.sum(shares * np.log(shares + 1e-300), axis=1).mean()


def main(count=400):
    rng = np.random.default_rng(11)
    centres = np.array([[0.0, 0.0], [4.0, 1.0], [-2.0, 5.0]])
    x = rng.standard_normal((count, 2)) @ np.array([[1.0, 0.3], [0.0, 0.7]]) + centres[rng.integers(0, 3, count)]
    weights, means, covs, history = fit(x, x[[0, 1, 2]])
    shares, _ = expectation(x, weights, means, covs)
    return weights, means, covs, history, entropy(shares)


if __name__ == "__main__":
    print(main()[0], main()[1], main()[3][-1])
