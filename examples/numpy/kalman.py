"""A Kalman filter and smoother of a point that moves in the plane, seen with noise."""

import numpy as np


def model(dt, q, r):
    f = np.eye(4)
    f[0, 2] = f[1, 3] = dt
    g = np.array([[dt ** 2 / 2, 0], [0, dt ** 2 / 2], [dt, 0], [0, dt]])
    h = np.zeros((2, 4))
    h[0, 0] = h[1, 1] = 1
    return f, g @ g.T * q, h, np.eye(2) * r


def predict(x, p, f, q):
    return f @ x, f @ p @ f.T + q


def correct(x, p, z, h, r):
    residual = z - h @ x
    s = h @ p @ h.T + r
    gain = p @ h.T @ np.linalg.inv(s)
    x = x + gain @ residual
    p = (np.eye(len(x)) - gain @ h) @ p
    likelihood = -0.5 * (residual @ np.linalg.solve(s, residual) + np.log(np.linalg.det(2 * np.pi * s)))
    return x, p, likelihood


def run_filter(seen, f, q, h, r):
    n = len(seen)
    xs, ps = np.zeros((n, 4)), np.zeros((n, 4, 4))
    x, p = np.zeros(4), np.eye(4) * 10
    total = 0.0
    for k, z in enumerate(seen):
        x, p = predict(x, p, f, q)
        x, p, likelihood = correct(x, p, z, h, r)
        xs[k], ps[k] = x, p
        total += likelihood
    return xs, ps, total


def smooth(xs, ps, f, q):
    out, cov = xs.copy(), ps.copy()
    for k in range(len(xs) - 2, -1, -1):
        ahead = f @ ps[k] @ f.T + q
        gain = ps[k] @ f.T @ np.linalg.inv(ahead)
        out[k] = xs[k] + gain @ (out[k + 1] - f @ xs[k])
        cov[k] = ps[k] + gain @ (cov[k + 1] - ahead) @ gain.T
    return out, cov


def rms(a, b):
    return np.sqrt(np.mean(np.sum((a - b) ** 2, axis=1)))


def main(steps=120):
    rng = np.random.default_rng(7)
    f, q, h, r = model(0.1, 1.0, 0.25)
    path = np.cumsum(np.cumsum(rng.standard_normal((steps, 2)) * 0.1, axis=0) * 0.1, axis=0)
    seen = path + 0.5 * rng.standard_normal((steps, 2))
    xs, ps, total = run_filter(seen, f, q, h, r)
    smoothed, cov = smooth(xs, ps, f, q)
    return rms(seen, path), rms(xs[:, :2], path), rms(smoothed[:, :2], path), total, np.trace(cov[0])


if __name__ == "__main__":
    print(main())
