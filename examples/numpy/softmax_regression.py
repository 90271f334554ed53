"""Softmax regression by gradient descent with momentum, and a two-layer network beside it."""

import numpy as np


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def one_hot(labels, classes):
    out = np.zeros((len(labels), classes))
    out[np.arange(len(labels)), labels] = 1
    return out


def loss_and_gradient(w, b, x, y, decay):
    p = softmax(x @ w + b)
    loss = -np.sum(y * np.log(p + 1e-12)) / len(x) + 0.5 * decay * np.sum(w * w)
    error = (p - y) / len(x)
    return loss, x.T @ error + decay * w, error.sum(axis=0)


def train(x, y, turns, rate=0.5, momentum=0.9, decay=1e-4):
    w, b = np.zeros((x.shape[1], y.shape[1])), np.zeros(y.shape[1])
    vw, vb = np.zeros_like(w), np.zeros_like(b)
    losses = []
    for _ in range(turns):
        loss, gw, gb = loss_and_gradient(w, b, x, y, decay)
        vw = momentum * vw - rate * gw
        vb = momentum * vb - rate * gb
        w += vw
        b += vb
        losses.append(loss)
    return w, b, np.array(losses)


def network_step(x, y, w1, b1, w2, b2, rate):
    h = np.tanh(x @ w1 + b1)
    p = softmax(h @ w2 + b2)
    dz = (p - y) / len(x)
    dh = dz @ w2.T * (1 - h ** 2)
    w2 -= rate * (h.T @ dz)
    b2 -= rate * dz.sum(axis=0)
    w1 -= rate * (x.T @ dh)
    b1 -= rate * dh.sum(axis=0)
    return -np.mean(np.log(p[np.arange(len(x)), y.argmax(axis=1)]))


def accuracy(p, labels):
    return (np.argmax(p, axis=1) == labels).mean()


def confusion(guess, labels, classes):
    table = np.zeros((classes, classes), dtype=int)
    np.add.at(table, (labels, guess), 1)
    return table


def main(count=300, width=4, classes=3, turns=60):
    rng = np.random.default_rng(23)
    labels = rng.integers(0, classes, count)
    x = rng.standard_normal((count, width)) + rng.standard_normal((classes, width))[labels] * 2
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    y = one_hot(labels, classes)
    w, b, losses = train(x, y, turns)
    p = softmax(x @ w + b)
    w1, b1 = 0.5 * rng.standard_normal((width, 16)), np.zeros(16)
    w2, b2 = 0.5 * rng.standard_normal((16, classes)), np.zeros(classes)
    history = [network_step(x, y, w1, b1, w2, b2, 0.5) for _ in range(turns)]
    return losses, accuracy(p, labels), confusion(p.argmax(axis=1), labels, classes), history[-1], w


if __name__ == "__main__":
    print(main()[1:4])
