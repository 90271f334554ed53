"""k-means with careful seeding, until the centres stop, and silhouettes of the clusters."""

import numpy as np


def distances(points, centres):
    return ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)


def seeds(points, k, rng):
    centres = [points[rng.integers(len(points))]]
    for _ in range(k - 1):
        nearest = distances(points, np.array(centres)).min(axis=1)
        chance = nearest / nearest.sum()
        centres.append(points[np.searchsorted(np.cumsum(chance), rng.random())])
    return np.array(centres)


def assign(points, centres):
    return np.argmin(distances(points, centres), axis=1)


def update(points, labels, centres):
    new = np.empty_like(centres)
    for k in range(len(centres)):
        members = points[labels == k]
        new[k] = members.mean(axis=0) if len(members) else centres[k]
    return new


def fit(points, centres, tolerance=1e-9, most=100):
    for turn in range(most):
        labels = assign(points, centres)
        new = update(points, labels, centres)
        moved = np.sqrt(((new - centres) ** 2).sum(axis=1)).max()
        centres = new
        if moved < tolerance:
            break
    return centres, labels, turn


def inertia(points, centres, labels):
    return ((points - centres[labels]) ** 2).sum()


def silhouette(points, labels, k):
    d = np.sqrt(np.maximum(distances(points, points), 0))
    same = labels[:, None] == labels[None, :]
    means = np.stack([d[:, labels == c].mean(axis=1) for c in range(k)], axis=1)
    own = (d * same).sum(axis=1) / np.maximum(same.sum(axis=1) - 1, 1)
    means[np.arange(len(points)), labels] = np.inf
    other = means.min(axis=1)
    return ((other - own) / np.maximum(own, other)).mean()


def main(count=300, k=4):
    rng = np.random.default_rng(3)
    points = rng.standard_normal((count, 2)) + rng.uniform(-8, 8, (k, 2))[rng.integers(0, k, count)]
    centres, labels, turns = fit(points, seeds(points, k, rng))
    return centres, labels, turns, inertia(points, centres, labels), silhouette(points, labels, k)


if __name__ == "__main__":
    print(main()[2:])
