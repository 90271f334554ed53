"""Dynamic programming, filters and checksums."""

import numpy as np

from .cases import program


@program(small=(8,), medium=(150,))
def floyd_warshall(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path[:], np.add.outer(path[:, k], path[k, :]))


@floyd_warshall.arguments
def _(g, n):
    path = g.integers(1, 100, (n, n)).astype(np.int32)
    path[g.random((n, n)) < 0.7] = 999
    return [path]


def pairs(a, b):
    return 1 if a + b == 3 else 0


@program(small=(14,), medium=(60,))
def nussinov(n, seq):
    table = np.zeros((n, n), np.int32)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < n:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < n:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + pairs(seq[i], seq[j]))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


@nussinov.arguments
def _(g, n):
    return [n, g.integers(0, 4, n).astype(np.int32)]


@program(small=(9, 11), medium=(150, 170))
def common_subsequence(a, b):
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                table[i, j] = table[i - 1, j - 1] + 1
            else:
                table[i, j] = max(table[i - 1, j], table[i, j - 1])
    return table


@common_subsequence.arguments
def _(g, n, m):
    return [g.integers(0, 4, n), g.integers(0, 4, m)]


@program(small=(9, 11), medium=(120, 130))
def time_warp(a, b):
    cost = np.full((len(a) + 1, len(b) + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            d = np.abs(a[i - 1] - b[j - 1])
            cost[i, j] = d + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return cost[-1, -1]


@time_warp.arguments
def _(g, n, m):
    return [g.random(n), g.random(m)]


@program(small=(6, 30), medium=(150, 8000))
def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1, dtype=np.int64)
    for i in range(len(weights)):
        w = weights[i]
        best[w:] = np.maximum(best[w:], best[:-w] + values[i])
    return best


@knapsack.arguments
def _(g, n, capacity):
    return [g.integers(1, 20, n), g.integers(1, 100, n), capacity]


@program(small=(9, 10), medium=(120, 140))
def deriche(alpha, image):
    k = (1.0 - np.exp(-alpha)) * (1.0 - np.exp(-alpha)) / (1.0 + alpha * np.exp(-alpha) - np.exp(2.0 * alpha))
    a1, a5 = k, k
    a2 = a6 = k * np.exp(-alpha) * (alpha - 1.0)
    a3 = a7 = k * np.exp(-alpha) * (alpha + 1.0)
    a4 = a8 = -k * np.exp(-2.0 * alpha)
    b1, b2 = 2.0**(-alpha), -np.exp(-2.0 * alpha)
    y1, y2 = np.empty_like(image), np.empty_like(image)
    y1[:, 0] = a1 * image[:, 0]
    y1[:, 1] = a1 * image[:, 1] + a2 * image[:, 0] + b1 * y1[:, 0]
    for j in range(2, image.shape[1]):
        y1[:, j] = a1 * image[:, j] + a2 * image[:, j - 1] + b1 * y1[:, j - 1] + b2 * y1[:, j - 2]
    y2[:, -1] = 0.0
    y2[:, -2] = a3 * image[:, -1]
    for j in range(image.shape[1] - 3, -1, -1):
        y2[:, j] = a3 * image[:, j + 1] + a4 * image[:, j + 2] + b1 * y2[:, j + 1] + b2 * y2[:, j + 2]
    out = y1 + y2
    y1[0, :] = a5 * out[0, :]
    y1[1, :] = a5 * out[1, :] + a6 * out[0, :] + b1 * y1[0, :]
    for i in range(2, image.shape[0]):
        y1[i, :] = a5 * out[i, :] + a6 * out[i - 1, :] + b1 * y1[i - 1, :] + b2 * y1[i - 2, :]
    y2[-1, :] = 0.0
    y2[-2, :] = a7 * out[-1, :]
    for i in range(image.shape[0] - 3, -1, -1):
        y2[i, :] = a7 * out[i + 1, :] + a8 * out[i + 2, :] + b1 * y2[i + 1, :] + b2 * y2[i + 2, :]
    out[:] = y1 + y2
    return out


@deriche.arguments
def _(g, n, m):
    return [0.25, g.random((n, m)).astype(np.float32)]


@program(small=(30,), medium=(8000,))
def crc16(data, poly=0x8408):
    crc = 0xFFFF
    for b in data:
        current = 0xFF & b
        for _ in range(8):
            if (crc & 0x0001) ^ (current & 0x0001):
                crc = (crc >> 1) ^ poly
            else:
                crc >>= 1
            current >>= 1
    crc = ~crc & 0xFFFF
    crc = (crc << 8) | ((crc >> 8) & 0xFF)
    return crc & 0xFFFF


@crc16.arguments
def _(g, n):
    return [g.integers(0, 256, n).astype(np.uint8)]


@program(small=(2, 3), medium=(2, 15))
def stockham_fft(radix, steps, x):
    n = radix**steps
    i, j = np.mgrid[0:radix, 0:radix]
    roots = np.exp(-2.0j * np.pi * i * j / radix)
    y = x.reshape(n).copy()
    for s in range(steps):
        rows = radix**s
        columns = radix**(steps - s - 1)
        twist = np.exp(-2.0j * np.pi * np.mgrid[0:radix, 0:rows][0] * np.arange(rows) / (rows * radix))
        t = y.reshape(radix, rows, columns) if s == 0 else y.reshape(rows, radix, columns).transpose(1, 0, 2)
        t = t * twist.reshape(radix, rows, 1)
        y = (roots @ t.reshape(radix, rows * columns)).reshape(radix * rows * columns)
        y = np.ascontiguousarray(y.reshape(radix * rows, columns)).reshape(n)
    return y


@stockham_fft.arguments
def _(g, radix, steps):
    n = radix**steps
    return [radix, steps, g.random(n) + 1j * g.random(n)]
