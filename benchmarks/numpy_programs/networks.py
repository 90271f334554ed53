"""Neural networks written with arrays alone."""

import numpy as np

from .cases import program


def softmax_of_rows(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


@program(small=(2, 3, 6), medium=(16, 8, 96))
def softmax(x):
    return softmax_of_rows(x)


@softmax.arguments
def _(g, n, h, s):
    return [g.random((n, h, s, s)).astype(np.float32)]


def relu(x):
    return np.maximum(x, 0)


@program(small=(4, 6, 7, 5, 3), medium=(16, 200, 500, 300, 10))
def mlp(x, w1, b1, w2, b2, w3, b3):
    x = relu(x @ w1 + b1)
    x = relu(x @ w2 + b2)
    return softmax_of_rows(x @ w3 + b3)


@mlp.arguments
def _(g, n, inputs, first, second, outputs):
    sizes = (inputs, first, second, outputs)
    weights = [w.astype(np.float32) for a, b in zip(sizes, sizes[1:]) for w in (g.random((a, b)), g.random(b))]
    return [g.random((n, inputs)).astype(np.float32), *weights]


def convolved(x, w):
    k = w.shape[0]
    n, high, wide = x.shape[0], x.shape[1] - k + 1, x.shape[2] - k + 1
    out = np.empty((n, high, wide, w.shape[3]), dtype=np.float32)
    for i in range(high):
        for j in range(wide):
            out[:, i, j, :] = np.sum(x[:, i:i + k, j:j + k, :, np.newaxis] * w[np.newaxis, :, :, :], axis=(1, 2, 3))
    return out


@program(small=(2, 6, 2, 3, 2), medium=(4, 24, 3, 8, 5))
def convolution(x, w, bias):
    return convolved(x, w) + bias


@convolution.arguments
def _(g, n, size, channels, outputs, k):
    return [g.random((n, size, size, channels)).astype(np.float32),
            g.random((k, k, channels, outputs)).astype(np.float32), g.random(outputs).astype(np.float32)]


def normalized(x):
    mean = np.mean(x, axis=0, keepdims=True)
    deviation = np.std(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(deviation + 1e-5)


@program(small=(2, 5, 4, 2), medium=(4, 14, 32, 8))
def residual_block(x, w1, w2, w3):
    y = relu(normalized(convolved(x, w1)))
    padded = np.zeros((y.shape[0], y.shape[1] + 2, y.shape[2] + 2, y.shape[3]), dtype=np.float32)
    padded[:, 1:-1, 1:-1, :] = y
    y = relu(normalized(convolved(padded, w2)))
    return relu(normalized(convolved(y, w3)) + x)


@residual_block.arguments
def _(g, n, size, wide, narrow):
    return [g.random(shape).astype(np.float32) for shape in (
        (n, size, size, wide), (1, 1, wide, narrow), (3, 3, narrow, narrow), (1, 1, narrow, wide))]


def pooled(x):
    out = np.empty((x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]), dtype=x.dtype)
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            out[:, i, j, :] = np.max(x[:, 2 * i:2 * i + 2, 2 * j:2 * j + 2, :], axis=(1, 2))
    return out


@program(small=(2, 16), medium=(4, 28))
def lenet(x, c1, b1, c2, b2, w1, d1, w2, d2):
    x = pooled(relu(convolved(x, c1) + b1))
    x = pooled(relu(convolved(x, c2) + b2))
    x = relu(np.reshape(x, (x.shape[0], w1.shape[0])) @ w1 + d1)
    return x @ w2 + d2


@lenet.arguments
def _(g, n, size):
    flat = 16 * ((((size - 4) // 2) - 4) // 2)**2
    return [g.random(shape).astype(np.float32) for shape in (
        (n, size, size, 1), (5, 5, 1, 6), (6,), (5, 5, 6, 16), (16,), (flat, 120), (120,), (120, 10), (10,))]
