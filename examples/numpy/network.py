"""A network of two layers in NumPy alone: batches, gradients, momentum, Adam, dropout and what it gets right."""

import numpy as np


def forward(w, x, keep=None):
    h = np.maximum(x @ w[0] + w[1], 0)
    if keep is not None:
        h = h * keep
    return h, h @ w[2] + w[3]


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def loss(p, labels):
    return -np.log(p[np.arange(len(labels)), labels]).mean()


def gradients(w, x, labels, keep):
    h, z = forward(w, x, keep)
    p = softmax(z)
    d = p.copy()
    d[np.arange(len(labels)), labels] -= 1
    d /= len(labels)
    dh = (d @ w[2].T) * (h > 0) * keep
    return loss(p, labels), [x.T @ dh, dh.sum(axis=0), h.T @ d, d.sum(axis=0)]


def adam(w, g, m, v, t, rate=0.01, a=0.9, b=0.999):
    for k in range(len(w)):
        m[k] = a * m[k] + (1 - a) * g[k]
        v[k] = b * v[k] + (1 - b) * g[k] ** 2
        w[k] -= rate * (m[k] / (1 - a**t)) / (np.sqrt(v[k] / (1 - b**t)) + 1e-8)


def accuracy(w, x, labels):
    return (forward(w, x)[1].argmax(axis=1) == labels).mean()


def spiral(n, rng):
    labels = np.repeat(np.arange(3), n)
    r = np.tile(np.linspace(0.05, 1, n), 3)
    angle = labels * 2.1 + 3 * r + 0.15 * rng.standard_normal(3 * n)
    return np.stack([r * np.cos(angle), r * np.sin(angle)], axis=1), labels


def main(n=60, turns=6, hidden=24):
    rng = np.random.default_rng(6)
    x, labels = spiral(n, rng)
    w = [rng.standard_normal((2, hidden)), np.zeros(hidden), rng.standard_normal((hidden, 3)) * 0.1, np.zeros(3)]
    m, v = [np.zeros_like(a) for a in w], [np.zeros_like(a) for a in w]
    losses, t = [], 0
    for _ in range(turns):
        order = rng.permutation(len(x))
        for part in np.split(order, 6):
            keep = (rng.random((len(part), hidden)) > 0.1) / 0.9
            t += 1
            value, g = gradients(w, x[part], labels[part], keep)
            adam(w, g, m, v, t)
            losses.append(value)
    return losses, accuracy(w, x, labels), w


if __name__ == "__main__":
    print(main()[1])
