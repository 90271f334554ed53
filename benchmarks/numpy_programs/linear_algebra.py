"""Linear algebra: products, factorisations by slices, sparse products, statistics."""

import numpy as np

from .cases import program


def positive(g, n):
    a = g.random((n, n))
    return a @ a.T + n * np.eye(n)


@program(small=(8, 9, 10), medium=(250, 270, 300))
def gemm(alpha, beta, c, a, b):
    c[:] = alpha * a @ b + beta * c


@gemm.arguments
def _(g, n, m, k):
    return [1.5, 1.2, g.random((n, m)), g.random((n, k)), g.random((k, m))]


@program(small=(12,), medium=(1200,))
def gesummv(alpha, beta, a, b, x):
    return alpha * a @ x + beta * b @ x


@gesummv.arguments
def _(g, n):
    return [1.5, 1.2, g.random((n, n)), g.random((n, n)), g.random(n)]


@program(small=(9, 8), medium=(130, 150))
def symm(alpha, beta, c, a, b):
    n = c.shape[0]
    t = np.empty(c.shape[1])
    c *= beta
    for i in range(n):
        for j in range(c.shape[1]):
            c[:i, j] += alpha * b[i, j] * a[i, :i]
            t[j] = b[:i, j] @ a[i, :i]
        c[i, :] += alpha * b[i, :] * a[i, i] + alpha * t


@symm.arguments
def _(g, n, m):
    return [1.5, 1.2, g.random((n, m)), g.random((n, n)), g.random((n, m))]


@program(small=(9, 8), medium=(150, 140))
def syrk(alpha, beta, c, a):
    for i in range(a.shape[0]):
        c[i, :i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, :i + 1] += alpha * a[i, k] * a[:i + 1, k]


@syrk.arguments
def _(g, n, m):
    return [1.5, 1.2, g.random((n, n)), g.random((n, m))]


@program(small=(9, 8), medium=(120, 110))
def syr2k(alpha, beta, c, a, b):
    for i in range(a.shape[0]):
        c[i, :i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, :i + 1] += a[:i + 1, k] * alpha * b[i, k] + b[:i + 1, k] * alpha * a[i, k]


@syr2k.arguments
def _(g, n, m):
    return [1.5, 1.2, g.random((n, n)), g.random((n, m)), g.random((n, m))]


@program(small=(9, 8), medium=(150, 160))
def trmm(alpha, a, b):
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(a[i + 1:, i], b[i + 1:, j])
    b *= alpha


@trmm.arguments
def _(g, n, m):
    return [1.5, g.random((n, n)), g.random((n, m))]


@program(small=(12,), medium=(1500,))
def trisolv(l, x, b):
    for i in range(x.shape[0]):
        x[i] = (b[i] - l[i, :i] @ x[:i]) / l[i, i]


@trisolv.arguments
def _(g, n):
    return [g.random((n, n)) + n * np.eye(n), np.zeros(n), g.random(n)]


@program(small=(9, 8), medium=(900, 1000))
def atax(a, x):
    return (a @ x) @ a


@atax.arguments
def _(g, n, m):
    return [g.random((n, m)), g.random(m)]


@program(small=(9, 8), medium=(900, 1000))
def bicg(a, p, r):
    return r @ a, a @ p


@bicg.arguments
def _(g, n, m):
    return [g.random((n, m)), g.random(m), g.random(n)]


@program(small=(12,), medium=(1000,))
def mvt(x1, x2, y1, y2, a):
    x1 += a @ y1
    x2 += y2 @ a


@mvt.arguments
def _(g, n):
    return [*(g.random(n) for _ in range(4)), g.random((n, n))]


@program(small=(9,), medium=(120,))
def lu(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]


@lu.arguments
def _(g, n):
    return [positive(g, n)]


@program(small=(9,), medium=(120,))
def lu_solve(a, b):
    n = a.shape[0]
    x, y = np.zeros_like(b), np.zeros_like(b)
    for i in range(n):
        for j in range(i):
            a[i, j] = (a[i, j] - a[i, :j] @ a[:j, j]) / a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    for i in range(n):
        y[i] = b[i] - a[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - a[i, i + 1:] @ x[i + 1:]) / a[i, i]
    return x


@lu_solve.arguments
def _(g, n):
    return [positive(g, n), g.random(n)]


@program(small=(9,), medium=(180,))
def cholesky(a):
    a[0, 0] = np.sqrt(a[0, 0])
    for i in range(1, a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] -= np.dot(a[i, :i], a[i, :i])
        a[i, i] = np.sqrt(a[i, i])


@cholesky.arguments
def _(g, n):
    return [positive(g, n)]


@program(small=(10, 8), medium=(160, 140))
def gram_schmidt(a):
    q = np.zeros_like(a)
    r = np.zeros((a.shape[1], a.shape[1]))
    for k in range(a.shape[1]):
        r[k, k] = np.sqrt(np.dot(a[:, k], a[:, k]))
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, a.shape[1]):
            r[k, j] = np.dot(q[:, k], a[:, j])
            a[:, j] -= q[:, k] * r[k, j]
    return q, r


@gram_schmidt.arguments
def _(g, n, m):
    return [g.random((n, m))]


@program(small=(10,), medium=(1000,))
def durbin(r):
    y = np.empty_like(r)
    alpha, beta = -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


@durbin.arguments
def _(g, n):
    return [(g.random(n) - 0.5) / n]


@program(small=(8, 10), medium=(180, 220))
def correlation(data):
    n, m = data.shape
    mean = np.mean(data, axis=0)
    deviation = np.std(data, axis=0)
    deviation[deviation <= 0.1] = 1.0
    data -= mean
    data /= np.sqrt(n) * deviation
    corr = np.eye(m, dtype=data.dtype)
    for i in range(m - 1):
        corr[i + 1:, i] = corr[i, i + 1:] = data[:, i] @ data[:, i + 1:]
    return corr


@correlation.arguments
def _(g, m, n):
    return [g.random((n, m))]


@program(small=(8, 10), medium=(180, 220))
def covariance(data):
    n, m = data.shape
    data -= np.mean(data, axis=0)
    cov = np.zeros((m, m), dtype=data.dtype)
    for i in range(m):
        cov[i:, i] = cov[i, i:] = data[:, i] @ data[:, i:] / (n - 1.0)
    return cov


@covariance.arguments
def _(g, m, n):
    return [g.random((n, m))]


@program(small=(12, 15), medium=(1500, 2000))
def sparse_product(starts, columns, values, x):
    y = np.empty(starts.size - 1, dtype=values.dtype)
    for i in range(starts.size - 1):
        of = columns[starts[i]:starts[i + 1]]
        y[i] = values[starts[i]:starts[i + 1]] @ x[of]
    return y


@sparse_product.arguments
def _(g, n, m):
    lengths = g.integers(0, m // 5, n)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    columns = np.concatenate([np.sort(g.choice(m, size=k, replace=False)) for k in lengths]).astype(np.int32)
    return [starts, columns, g.random(len(columns)), g.random(m)]


@program(small=(10,), medium=(400,))
def page_rank(links, damping):
    n = links.shape[0]
    out = links.sum(axis=0)
    moves = np.where(out > 0, links / np.maximum(out, 1.0), 1.0 / n)
    rank = np.full(n, 1.0 / n)
    for turn in range(200):
        new = damping * (moves @ rank) + (1.0 - damping) / n
        if np.abs(new - rank).sum() < 1e-10:
            break
        rank = new
    return rank, turn


@page_rank.arguments
def _(g, n):
    return [(g.random((n, n)) < 0.05).astype(np.float64), 0.85]
