"""A regression that is trained, saved with its optimizer, loaded again, and used. Arguments: epochs."""

import os
import sys
import tempfile
import time

import numpy as np

import mindspore as ms
from mindspore import Tensor, nn, ops

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 5


class Net(nn.Cell):
    def __init__(self, width=64, depth=4):
        super().__init__()
        self.first = nn.Dense(8, width)
        self.hidden = nn.CellList([nn.Dense(width, width) for _ in range(depth)])
        self.norms = nn.CellList([nn.LayerNorm((width,)) for _ in range(depth)])
        self.dropout = nn.Dropout(p=0.1)
        self.last = nn.Dense(width, 1)

    def construct(self, x):
        x = ops.tanh(self.first(x))
        for dense, norm in zip(self.hidden, self.norms):
            x = x + self.dropout(ops.gelu(dense(norm(x))))
        return self.last(x)


class TrainStep(nn.Cell):
    """A step with clipped gradients and averaged weights."""

    def __init__(self, net, loss, optimizer, decay=0.98):
        super().__init__(auto_prefix=False)
        self.net, self.loss, self.optimizer, self.decay = net, loss, optimizer, decay
        self.averages = net.trainable_params()
        self.averages = ms.ParameterTuple([p.clone() for p in self.averages])
        self.gradient = ops.value_and_grad(self.compute, None, optimizer.parameters)

    def compute(self, x, y):
        return self.loss(self.net(x), y)

    def construct(self, x, y):
        loss, grads = self.gradient(x, y)
        grads = ops.clip_by_global_norm(grads, 1.0)
        self.optimizer(grads)
        for average, p in zip(self.averages, self.optimizer.parameters):
            ops.assign(average, self.decay * average + (1 - self.decay) * p)
        return loss


def make_data(count=1024):
    rng = np.random.RandomState(5)
    x = rng.randn(count, 8).astype(np.float32)
    y = (np.sin(x[:, :1] * 2) + x[:, 1:2] * x[:, 2:3] + 0.1 * rng.randn(count, 1)).astype(np.float32)
    return x, y


def main():
    ms.set_seed(4)
    x, y = make_data()
    net = Net()
    optimizer = nn.Adam(net.trainable_params(), learning_rate=nn.ExponentialDecayLR(2e-3, 0.9, 100))
    step = TrainStep(net, nn.MSELoss(), optimizer)
    net.set_train()
    best, folder = np.inf, tempfile.mkdtemp()
    path = os.path.join(folder, "best.ckpt")
    for epoch in range(EPOCHS):
        order = np.random.RandomState(epoch).permutation(len(x))
        losses = []
        for at in range(0, len(x), 64):
            rows = order[at:at + 64]
            losses.append(float(step(Tensor(x[rows]), Tensor(y[rows])).asnumpy()))
        if np.mean(losses) < best and epoch % 10 == EPOCHS % 10 - 1:
            best = np.mean(losses)
            ms.save_checkpoint(optimizer, path) if epoch % 2 else ms.save_checkpoint(net, path)
    print(f"last loss {np.mean(losses):.3f}")
    ms.save_checkpoint(net, path)
    other = Net()
    not_loaded, _ = ms.load_param_into_net(other, ms.load_checkpoint(path))
    print("not loaded:", not_loaded)
    other.set_train(False)
    net.set_train(False)
    predicted = []
    for _ in range(EPOCHS):
        for at in range(0, len(x), 128):
            predicted.append(other(Tensor(x[at:at + 128])).asnumpy())
    same = np.concatenate(predicted[:8])
    difference = np.abs(same - net(Tensor(x)).asnumpy()).max()
    print("as before:", bool(difference < 1e-5), round(float(np.abs(same - y).mean()), 2))


clock = getattr(time, os.environ.get("TUTORIAL_CLOCK", "perf_counter"))
begin = clock()
main()
print(f"@@ {clock() - begin:.6f}", file=sys.stderr)
