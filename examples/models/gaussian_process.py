"""Gaussian process regression: the marginal likelihood by a Cholesky factor, a kernel with a length for each input,
predictions with their variance."""

import math

import numpy as np

from training import run

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops


class GaussianProcess(nn.Cell):
    """Observations y = f(x) + noise; f is drawn with the kernel variance * exp(-|(x - x') / length|^2 / 2)."""

    def __init__(self, inputs):
        super().__init__()
        self.log_length = Parameter(ops.zeros((inputs,), ms.float32), name="log_length")
        self.log_variance = Parameter(Tensor(0.0, ms.float32), name="log_variance")
        self.log_noise = Parameter(Tensor(-1.0, ms.float32), name="log_noise")
        self.mean = Parameter(Tensor(0.0, ms.float32), name="mean")

    def kernel(self, a, b):
        scale = ops.exp(-self.log_length)
        gap = ops.expand_dims(a * scale, 1) - ops.expand_dims(b * scale, 0)
        return ops.exp(self.log_variance - 0.5 * ops.sum(gap * gap, dim=-1))

    def factor(self, x):
        noise = ops.exp(self.log_noise) + 1e-4
        return ops.cholesky(self.kernel(x, x) + noise * ops.eye(x.shape[0], x.shape[0], ms.float32))

    def construct(self, x, y):
        """minus the log of the marginal likelihood, per observation."""
        n = x.shape[0]
        low = self.factor(x)
        gap = ops.expand_dims(y - self.mean, 1)
        weights = ops.cholesky_solve(gap, low)
        fit = 0.5 * (gap * weights).sum()
        complexity = ops.log(ops.diagonal(low)).sum()
        return (fit + complexity + 0.5 * n * math.log(2 * math.pi)) / n

    def predict(self, x, y, at):
        """(mean, variance) of f at new places."""
        low = self.factor(x)
        across = self.kernel(x, at)
        mean = ops.matmul(across.T, ops.cholesky_solve(ops.expand_dims(y - self.mean, 1), low))
        explained = (across * ops.cholesky_solve(across, low)).sum(axis=0)
        return mean.squeeze(1) + self.mean, ops.exp(self.log_variance) - explained


def batches(n, size=24):
    """The same noisy observations of a smooth function of the first of two inputs, in each step."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, (size, 2)).astype(np.float32)
    y = (np.sin(2 * x[:, 0]) + 0.5 + 0.05 * rng.standard_normal(size)).astype(np.float32)
    for _ in range(n):
        yield Tensor(x), Tensor(y)


def build():
    network = GaussianProcess(2)
    optimizer = nn.Adam(network.trainable_params(), learning_rate=5e-2)
    return network, network, optimizer, batches


def main():
    run(globals())


if __name__ == "__main__":
    main()
