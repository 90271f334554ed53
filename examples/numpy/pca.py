"""Principal components by singular values and by power iteration, whitening, and reconstruction errors."""

import numpy as np


def standardize(x):
    mean = x.mean(axis=0)
    std = x.std(axis=0)
    return (x - mean) / std, mean, std


def components(x, k):
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    sign = np.sign(vt[np.arange(len(vt)), np.abs(vt).argmax(axis=1)])
    vt = vt * sign[:, np.newaxis]
    return vt[:k], s[:k] ** 2 / (len(x) - 1), s ** 2 / np.sum(s ** 2)


def project(x, parts):
    return x @ parts.T


def reconstruct(scores, parts, mean, std):
    return (scores @ parts) * std + mean


def whiten(scores, variances):
    return scores / np.sqrt(variances)


def covariance(x):
    centred = x - x.mean(axis=0, keepdims=True)
    return centred.T @ centred / (len(x) - 1)


def power_iteration(c, turns=200, tolerance=1e-12):
    v = np.ones(c.shape[0]) / np.sqrt(c.shape[0])
    value = 0.0
    for _ in range(turns):
        w = c @ v
        norm = np.linalg.norm(w)
        w = w / norm
        if np.abs(norm - value) < tolerance:
            break
        v, value = w, norm
    return value, v


def main(count=400, width=8, k=3):
    rng = np.random.default_rng(5)
    x = rng.standard_normal((count, k)) @ rng.standard_normal((k, width)) + 0.1 * rng.standard_normal((count, width))
    z, mean, std = standardize(x)
    parts, variances, share = components(z, k)
    scores = project(z, parts)
    back = reconstruct(scores, parts, mean, std)
    white = whiten(scores, variances)
    value, vector = power_iteration(covariance(z))
    return (np.cumsum(share), np.sqrt(((back - x) ** 2).mean()), covariance(white), value,
            np.abs(vector @ parts[0]), variances)


if __name__ == "__main__":
    print(*main(), sep="\n")
