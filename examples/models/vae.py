"""Variational autoencoder on small images: reparametrised samples, an ELBO with annealing kept in a Parameter."""

import numpy as np

from training import run

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops


class Encoder(nn.Cell):
    def __init__(self, inputs, hidden, latent):
        super().__init__()
        self.fc1 = nn.Dense(inputs, hidden, activation="relu")
        self.mu = nn.Dense(hidden, latent)
        self.log_var = nn.Dense(hidden, latent)

    def construct(self, x):
        h = self.fc1(ops.flatten(x))
        return self.mu(h), self.log_var(h)


class Decoder(nn.Cell):
    def __init__(self, latent, hidden, shape):
        super().__init__()
        self.shape = shape
        self.net = nn.SequentialCell([nn.Dense(latent, hidden), nn.ReLU(), nn.Dense(hidden, int(np.prod(shape)))])

    def construct(self, z):
        return self.net(z).reshape((-1,) + self.shape)


class VAE(nn.Cell):
    def __init__(self, shape=(1, 12, 12), hidden=32, latent=4):
        super().__init__()
        self.encoder = Encoder(int(np.prod(shape)), hidden, latent)
        self.decoder = Decoder(latent, hidden, shape)
        self.beta = Parameter(Tensor(0.0, ms.float32), name="beta", requires_grad=False)
        self.seen = Parameter(Tensor(0, ms.int32), name="seen", requires_grad=False)

    def reparameterize(self, mu, log_var):
        std = ops.exp(0.5 * log_var)
        if self.training:
            return mu + ops.standard_normal(std.shape) * std
        return mu

    def construct(self, x):
        mu, log_var = self.encoder(x)
        z = self.reparameterize(mu, log_var)
        if self.training:
            self.seen += x.shape[0]
            self.beta = ops.minimum(self.beta + 0.1, 1.0)
        return self.decoder(z), mu, log_var

    def sample(self, n):
        return ops.sigmoid(self.decoder(ops.randn(n, 4)))


def batches(n, batch=4, size=12):
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:size, :size]
    for _ in range(n):
        a, b = rng.uniform(2, size - 2, (2, batch, 1, 1))
        image = np.exp(-((y - a) ** 2 + (x - b) ** 2) / 6)
        yield (Tensor(image[:, None].astype(np.float32)),)


def build():
    network = VAE()

    def loss(x):
        logits, mu, log_var = network(x)
        rebuilt = (ops.binary_cross_entropy_with_logits(logits, x, ops.ones_like(x), ops.ones_like(x),
                                                        reduction="sum") / x.shape[0])
        kl = -0.5 * ops.sum(1 + log_var - mu.pow(2) - log_var.exp(), dim=1)
        return rebuilt + network.beta * kl.mean()

    optimizer = nn.Adam(network.trainable_params(), learning_rate=1e-2)
    return network, loss, optimizer, batches


def main():
    run(globals())


if __name__ == "__main__":
    main()
