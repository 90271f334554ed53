"""Piles of sand that topple, forest fires, and clusters of a lattice joined by their least label."""

import numpy as np


def topple(z):
    falls = 0
    while True:
        over = z >= 4
        if not over.any():
            return falls
        falls += over.sum()
        z[over] -= 4
        z[1:][over[:-1]] += 1
        z[:-1][over[1:]] += 1
        z[:, 1:][over[:, :-1]] += 1
        z[:, :-1][over[:, 1:]] += 1


def burn(forest, turns):
    tree, fire = forest.copy(), np.zeros_like(forest)
    fire[:, 0] = tree[:, 0]
    for _ in range(turns):
        near = fire.copy()
        near[1:] |= fire[:-1]
        near[:-1] |= fire[1:]
        near[:, 1:] |= fire[:, :-1]
        near[:, :-1] |= fire[:, 1:]
        tree = tree & ~fire
        fire = near & tree
        if not fire.any():
            break
    return tree


def clusters(full):
    label = np.where(full, np.arange(1, full.size + 1).reshape(full.shape), 0)
    big = full.size + 1
    while True:
        least = np.where(full, label, big)
        least[1:] = np.minimum(least[1:], np.where(full[1:], np.where(full[:-1], label[:-1], big), big))
        least[:-1] = np.minimum(least[:-1], np.where(full[:-1], np.where(full[1:], label[1:], big), big))
        least[:, 1:] = np.minimum(least[:, 1:], np.where(full[:, 1:], np.where(full[:, :-1], label[:, :-1], big), big))
        least[:, :-1] = np.minimum(least[:, :-1], np.where(full[:, :-1], np.where(full[:, 1:], label[:, 1:], big), big))
        new = np.where(full, least, 0)
        if (new == label).all():
            return new
        label = new


def sizes(label):
    names, counts = np.unique(label[label > 0], return_counts=True)
    return len(names), counts.max(), (counts**2).sum() / counts.sum()


def main(n=24):
    rng = np.random.default_rng(4)
    z = rng.integers(0, 4, (n, n))
    avalanches = []
    for i, j in rng.integers(0, n, (30, 2)):
        z[i, j] += 3
        avalanches.append(topple(z))
    forest = rng.random((n, n)) < 0.62
    label = clusters(forest)
    return avalanches, z, burn(forest, 3 * n).sum(), sizes(label)


if __name__ == "__main__":
    print(main()[-1])
