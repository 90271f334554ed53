"""Ranks of pages by power iteration over a dense and over a sparse matrix of links."""

import numpy as np


def links(n, rng):
    source = np.repeat(np.arange(n), rng.integers(0, 8, n))
    target = rng.integers(0, n, len(source))
    keep = source != target
    return source[keep], target[keep]


def transition(source, target, n):
    m = np.zeros((n, n))
    m[target, source] = 1
    out = m.sum(axis=0)
    m[:, out > 0] /= out[out > 0]
    m[:, out == 0] = 1 / n
    return m


def dense(m, damping=0.85, tolerance=1e-10):
    n = m.shape[0]
    rank = np.ones(n) / n
    change, turns = 1.0, 0
    while change > tolerance:
        new = damping * (m @ rank) + (1 - damping) / n
        change = np.abs(new - rank).sum()
        rank = new
        turns += 1
    return rank, turns


def sparse(source, target, n, damping=0.85, tolerance=1e-10):
    degree = np.bincount(source, minlength=n)
    dangling = degree == 0
    share = 1 / np.maximum(degree, 1)
    rank = np.ones(n) / n
    change, turns = 1.0, 0
    while change > tolerance:
        flow = np.bincount(target, weights=(rank * share)[source], minlength=n)
        new = damping * (flow + rank[dangling].sum() / n) + (1 - damping) / n
        change = np.abs(new - rank).sum()
        rank = new
        turns += 1
    return rank, turns


def top(rank, k):
    order = np.argsort(-rank, kind="stable")[:k]
    return order, rank[order]


def main(n=120):
    rng = np.random.default_rng(13)
    source, target = links(n, rng)
    pairs = np.unique(np.stack([source, target], axis=1), axis=0)
    source, target = pairs[:, 0], pairs[:, 1]
    r, turns = dense(transition(source, target, n))
    s, again = sparse(source, target, n)
    return top(r, 5), turns, top(s, 5), again, np.abs(r - s).max() < 1e-9


if __name__ == "__main__":
    print(main())
