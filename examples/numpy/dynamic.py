"""Dynamic programming: knapsack, common subsequences, edits, change, shortest paths, and Viterbi's states."""

import numpy as np


def knapsack(weights, values, room):
    best = np.zeros(room + 1)
    for w, v in zip(weights, values):
        best[w:] = np.maximum(best[w:], best[:len(best) - w] + v)
    return best[-1]


def subsequence(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                table[i, j] = table[i - 1, j - 1] + 1
            else:
                table[i, j] = max(table[i - 1, j], table[i, j - 1])
    return table[-1, -1]


def edits(a, b):
    before = np.arange(len(b) + 1)
    for i, x in enumerate(a, 1):
        now = np.empty_like(before)
        now[0] = i
        changed = before[:-1] + (b != x)
        now[1:] = np.minimum(changed, before[1:] + 1)
        for j in range(1, len(now)):
            now[j] = min(now[j], now[j - 1] + 1)
        before = now
    return before[-1]


def change(coins, most):
    fewest = np.full(most + 1, most + 1)
    fewest[0] = 0
    for c in coins:
        for k in range(c, most + 1):
            fewest[k] = min(fewest[k], fewest[k - c] + 1)
    return fewest


def floyd(d):
    d = d.copy()
    for k in range(len(d)):
        d = np.minimum(d, d[:, k][:, None] + d[k][None, :])
    return d


def viterbi(start, move, emit, seen):
    score = np.log(start) + np.log(emit[:, seen[0]])
    back = np.zeros((len(seen), len(start)), dtype=int)
    for k in range(1, len(seen)):
        all_ways = score[:, None] + np.log(move)
        back[k] = all_ways.argmax(axis=0)
        score = all_ways.max(axis=0) + np.log(emit[:, seen[k]])
    path = np.empty(len(seen), dtype=int)
    path[-1] = score.argmax()
    for k in range(len(seen) - 1, 0, -1):
        path[k - 1] = back[k, path[k]]
    return path, score.max()


def main(n=40):
    rng = np.random.default_rng(8)
    a, b = rng.integers(0, 4, n), rng.integers(0, 4, n + 5)
    d = rng.uniform(1, 10, (n, n))
    d[rng.random((n, n)) < 0.6] = np.inf
    np.fill_diagonal(d, 0)
    move = rng.random((3, 3)) + np.eye(3) * 2
    emit = rng.random((3, 4))
    move /= move.sum(axis=1, keepdims=True)
    emit /= emit.sum(axis=1, keepdims=True)
    path, score = viterbi(np.full(3, 1 / 3), move, emit, a)
    return (knapsack(rng.integers(1, 15, n), rng.uniform(1, 9, n), 100), subsequence(a, b), edits(a, b),
            change([1, 5, 12, 25], 120)[-10:], floyd(d), path, score)


if __name__ == "__main__":
    print(main()[:3])
