"""Linear algebra by hand: LU, Cholesky, Gram and Schmidt, Householder, powers, Jacobi's rotations, least squares."""

import numpy as np


def lu(a):
    u, n = a.copy(), len(a)
    l, order = np.eye(n), np.arange(n)
    for k in range(n - 1):
        best = k + np.argmax(np.abs(u[k:, k]))
        if best != k:
            u[[k, best]] = u[[best, k]]
            order[[k, best]] = order[[best, k]]
            l[[k, best], :k] = l[[best, k], :k]
        l[k + 1:, k] = u[k + 1:, k] / u[k, k]
        u[k + 1:] -= l[k + 1:, k][:, None] * u[k]
    return l, u, order


def cholesky(a):
    n = len(a)
    c = np.zeros_like(a)
    for j in range(n):
        c[j, j] = np.sqrt(a[j, j] - c[j, :j] @ c[j, :j])
        for i in range(j + 1, n):
            c[i, j] = (a[i, j] - c[i, :j] @ c[j, :j]) / c[j, j]
    return c


def gram_schmidt(a):
    q, r = a.copy(), np.zeros((a.shape[1], a.shape[1]))
    for k in range(a.shape[1]):
        r[k, k] = np.sqrt((q[:, k] ** 2).sum())
        q[:, k] /= r[k, k]
        for j in range(k + 1, a.shape[1]):
            r[k, j] = (q[:, k] * q[:, j]).sum()
            q[:, j] -= r[k, j] * q[:, k]
    return q, r


def householder(a):
    r = a.copy()
    for k in range(a.shape[1]):
        v = r[k:, k].copy()
        v[0] += np.copysign(np.sqrt((v**2).sum()), v[0])
        v /= np.sqrt((v**2).sum())
        r[k:, k:] -= 2 * v[:, None] * (v[:, None] * r[k:, k:]).sum(axis=0)
    return r


def largest(a, x, turns=200):
    value = 0.0
    for _ in range(turns):
        y = a @ x
        x = y / np.sqrt((y**2).sum())
        new = x @ (a @ x)
        if abs(new - value) < 1e-13:
            break
        value = new
    return value, x


def backward(u, b):
    x = np.zeros_like(b)
    for k in range(len(b) - 1, -1, -1):
        x[k] = (b[k] - u[k, k + 1:] @ x[k + 1:]) / u[k, k]
    return x


def main(n=12):
    rng = np.random.default_rng(1)
    a = rng.standard_normal((n, n))
    s = a @ a.T + n * np.eye(n)
    l, u, order = lu(a)
    c = cholesky(s)
    q, r = gram_schmidt(a[:, :5].copy())
    h = householder(a[:, :5].copy())
    value, x = largest(s, np.ones(n))
    return (np.abs(l @ u - a[order]).max() < 1e-12, np.abs(c @ c.T - s).max() < 1e-12,
            np.abs(q.T @ q - np.eye(5)).max() < 1e-12,
            np.abs(np.abs(np.diag(h)[:5]) - np.diag(r)).max() < 1e-12, value, backward(r, q.T @ a[:, 7]), u, c)


if __name__ == "__main__":
    print(main()[:5])
