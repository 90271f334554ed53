"""A regression that learns a mean and a variance: a Cell, a loss and a training step of one's own by ms.value_and_grad,
gradients clipped, a schedule, exponential averages of the parameters.

    python -m pijit --as mindspore examples/training/normal_distribution.py [--mode graph]
"""

import argparse

import numpy as np

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import initializer


class Swish(nn.Cell):
    """x * sigmoid(beta * x) with beta learnt."""

    def __init__(self):
        super().__init__()
        self.beta = Parameter(initializer("ones", (1,), ms.float32), name="beta")

    def construct(self, x):
        return x * ops.sigmoid(self.beta * x)


class ResidualBlock(nn.Cell):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm((width,))
        self.dense1, self.act, self.dense2 = nn.Dense(width, width * 2), Swish(), nn.Dense(width * 2, width)

    def construct(self, x):
        return x + self.dense2(self.act(self.dense1(self.norm(x))))


class Regressor(nn.Cell):
    def __init__(self, in_features=4, width=16, depth=3):
        super().__init__()
        self.embed = nn.Dense(in_features, width)
        self.blocks = nn.CellList([ResidualBlock(width) for _ in range(depth)])
        self.head = nn.SequentialCell(nn.LayerNorm((width,)), nn.Dense(width, 2))

    def construct(self, x):
        x = self.embed(x)
        for block in self.blocks:
            x = block(x)
        mean, log_var = ops.split(self.head(x), 1, axis=-1)
        return mean, ops.clamp(log_var, -6.0, 6.0)


class NormalLoss(nn.LossBase):
    """The negative log likelihood of a normal distribution."""

    def construct(self, prediction, target):
        mean, log_var = prediction
        return self.get_loss(0.5 * (log_var + ops.square(target - mean) / ops.exp(log_var)))


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["pynative", "graph"], default="pynative")
    args = parser.parse_args(argv)
    ms.set_context(mode=ms.GRAPH_MODE if args.mode == "graph" else ms.PYNATIVE_MODE)
    rng = np.random.RandomState(0)
    x = rng.randn(256, 4).astype(np.float32)
    y = (np.sin(2 * x[:, :1]) + 0.5 * x[:, 1:2] * x[:, 2:3] + 0.05 * rng.randn(256, 1)).astype(np.float32)

    net, loss_fn = Regressor(), NormalLoss()
    for p in net.trainable_params():
        if p.ndim > 1:
            p.set_data(Tensor((rng.randn(*p.shape) / np.sqrt(p.shape[1])).astype(np.float32)))
        elif p.name.endswith("bias"):
            p.set_data(ops.zeros(p.shape))
    schedule = nn.cosine_decay_lr(1e-4, 3e-3, total_step=48, step_per_epoch=8, decay_epoch=6)
    optimizer = nn.AdamWeightDecay(net.trainable_params(), learning_rate=schedule, weight_decay=1e-4)
    parameters = ms.ParameterTuple(net.trainable_params())
    averages = ms.ParameterTuple([Parameter(p.asnumpy(), name="ema." + p.name, requires_grad=False)
                                  for p in parameters])

    def forward_fn(x, y):
        prediction = net(x)
        return loss_fn(prediction, y), prediction[0]

    grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters, has_aux=True)

    @ms.jit
    def train_step(x, y):
        (loss, mean), grads = grad_fn(x, y)
        grads = ops.clip_by_global_norm(grads, 1.0)
        optimizer(grads)
        for average, parameter in zip(averages, parameters):
            ops.assign(average, 0.95 * average + 0.05 * parameter)
        return loss, ops.mean(ops.abs(mean - y))

    net.set_train()
    for epoch in range(6):
        order, losses, errors = rng.permutation(256), [], []
        for k in range(0, 256, 32):
            loss, error = train_step(Tensor(x[order[k:k + 32]]), Tensor(y[order[k:k + 32]]))
            losses.append(loss.asnumpy())
            errors.append(error.asnumpy())
        print(f"epoch {epoch}: loss {np.mean(losses):.4f}, error {np.mean(errors):.4f}")
    net.set_train(False)
    mean, log_var = net(Tensor(x))
    print(mean.shape, f"{float(ops.abs(mean - Tensor(y)).mean()):.4f}", f"{float(ops.exp(log_var).mean()):.4f}")
    print(f"{sum(float(ops.abs(a - p).sum()) for a, p in zip(averages, parameters)):.4f}")


if __name__ == "__main__":
    main()
