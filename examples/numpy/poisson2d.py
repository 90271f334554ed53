"""Poisson's equation on a square by Jacobi's, Gauss and Seidel's (red and black) and conjugate gradients' steps."""

import numpy as np


def apply(u, h):
    out = np.zeros_like(u)
    out[1:-1, 1:-1] = (4 * u[1:-1, 1:-1] - u[:-2, 1:-1] - u[2:, 1:-1] - u[1:-1, :-2] - u[1:-1, 2:]) / h**2
    return out


def residual(u, f, h):
    return np.sqrt(((f - apply(u, h))[1:-1, 1:-1] ** 2).mean())


def jacobi(u, f, h):
    new = u.copy()
    new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + h**2 * f[1:-1, 1:-1])
    return new


def red_black(u, f, h, red, black):
    for colour in (red, black):
        around = np.zeros_like(u)
        around[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u[colour] = 0.25 * (around[colour] + h**2 * f[colour])
    return u


def conjugate_gradients(f, h, turns):
    x = np.zeros_like(f)
    r = f.copy()
    p = r.copy()
    rr = np.sum(r * r)
    history = []
    for _ in range(turns):
        q = apply(p, h)
        alpha = rr / np.sum(p * q)
        x += alpha * p
        r -= alpha * q
        new = np.sum(r * r)
        history.append(np.sqrt(new))
        if new < 1e-20:
            break
        p = r + (new / rr) * p
        rr = new
    return x, history


def main(n=33, turns=60):
    h = 1.0 / (n - 1)
    y, x = np.mgrid[0:n, 0:n] * h
    f = np.sin(np.pi * x) * np.sin(2 * np.pi * y)
    f[0] = f[-1] = f[:, 0] = f[:, -1] = 0
    inner = np.zeros((n, n), dtype=bool)
    inner[1:-1, 1:-1] = True
    red = inner & ((np.arange(n)[:, None] + np.arange(n)) % 2 == 0)
    u, v = np.zeros((n, n)), np.zeros((n, n))
    for _ in range(turns):
        u = jacobi(u, f, h)
        v = red_black(v, f, h, red, inner & ~red)
    w, history = conjugate_gradients(f, h, turns)
    return residual(u, f, h), residual(v, f, h), residual(w, f, h), history, u, w


if __name__ == "__main__":
    print(main()[:3])
