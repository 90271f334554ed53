"""Physics-informed network: u'' of the network is part of the loss, so training takes third derivatives.

The heat equation u_t = 0.1 u_xx with u(0, x) = sin(pi x) and u = 0 at x = 0 and 1."""

import numpy as np

from training import run

import mindspore as ms
from mindspore import Tensor, nn, ops
from mindspore.common.initializer import XavierNormal


class MLP(nn.Cell):
    def __init__(self, width=16, depth=3):
        super().__init__()
        layers = []
        inputs = 2
        for _ in range(depth):
            layers += [nn.Dense(inputs, width, weight_init=XavierNormal()), nn.Tanh()]
            inputs = width
        layers.append(nn.Dense(inputs, 1))
        self.net = nn.SequentialCell(layers)

    def construct(self, t, x):
        return self.net(ops.concat((t, x), axis=1))


class Residual(nn.Cell):
    """u_t - 0.1 u_xx at the points."""

    def __init__(self, network, diffusivity=0.1):
        super().__init__()
        self.network = network
        self.diffusivity = diffusivity
        self.first = ops.GradOperation(get_all=True, sens_param=False)
        self.second = ops.GradOperation(get_all=True)

    def u_x(self, t, x):
        return self.first(self.network)(t, x)[1].sum()

    def construct(self, t, x):
        u_t = ms.grad(self.network, grad_position=0)(t, x)
        u_xx = self.second(self.u_x)(t, x)[1]
        return u_t - self.diffusivity * u_xx


def batches(n, points=16):
    rng = np.random.default_rng(0)
    for _ in range(n):
        t, x, x0, tb = rng.uniform(0, 1, (4, points, 1)).astype(np.float32)
        side = rng.integers(0, 2, (points, 1)).astype(np.float32)
        yield Tensor(t), Tensor(x), Tensor(x0), Tensor(tb), Tensor(side)


def build():
    network = MLP()
    residual = Residual(network)
    mse = nn.MSELoss()

    def loss(t, x, x0, tb, side):
        equation = ops.square(residual(t, x)).mean()
        initial = mse(network(ops.zeros_like(x0), x0), ops.sin(np.pi * x0))
        boundary = mse(network(tb, side), ops.zeros_like(side))
        return equation + initial + boundary

    optimizer = nn.Adam(network.trainable_params(), learning_rate=nn.ExponentialDecayLR(0.01, 0.9, 10))
    return network, loss, optimizer, batches


def main():
    run(globals())


if __name__ == "__main__":
    main()
