"""Neural ODE: the state follows a network's vector field, integrated by Runge and Kutta's method in a while loop."""

import numpy as np

from training import run

import mindspore as ms
from mindspore import Tensor, nn, ops


class Field(nn.Cell):
    def __init__(self, hidden=16):
        super().__init__()
        self.net = nn.SequentialCell(nn.Dense(2, hidden), nn.Tanh(), nn.Dense(hidden, 2))

    def construct(self, t, y):
        return self.net(y**3) + 0.0 * t


class ODESolver(nn.Cell):
    def __init__(self, field, step=0.1):
        super().__init__()
        self.field = field
        self.step_size = step

    def rk4(self, t, y, dt):
        k1 = self.field(t, y)
        k2 = self.field(t + dt / 2, y + dt / 2 * k1)
        k3 = self.field(t + dt / 2, y + dt / 2 * k2)
        k4 = self.field(t + dt, y + dt * k3)
        return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

    def construct(self, y, end):
        """The state at time `end`, a float32 Tensor of one element; the last step is shorter."""
        t = ops.zeros((), ms.float32)
        while t < end:
            dt = ops.minimum(end - t, Tensor(self.step_size, ms.float32))
            y = self.rk4(t, y, dt)
            t = t + ops.maximum(dt, Tensor(1e-6, ms.float32))
        return y


def batches(n, batch=4):
    """A spiral: y' = y^3 A."""
    rng = np.random.default_rng(0)
    a = np.array([[-0.1, 2.0], [-2.0, -0.1]])
    for _ in range(n):
        start = rng.uniform(-1.5, 1.5, (batch, 2))
        end = rng.uniform(0.2, 0.7)
        y = start.copy()
        for _ in range(200):
            y = y + end / 200 * (y**3 @ a)
        yield Tensor(start.astype(np.float32)), Tensor(np.float32(end)), Tensor(y.astype(np.float32))


def build():
    network = ODESolver(Field())
    criterion = nn.L1Loss()

    def loss(start, end, target):
        return criterion(network(start, end), target)

    optimizer = nn.RMSProp(network.trainable_params(), learning_rate=1e-2)
    return network, loss, optimizer, batches


def main():
    run(globals())


if __name__ == "__main__":
    main()
