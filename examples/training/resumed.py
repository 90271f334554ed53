"""A training loop of one's own: value_and_grad in a jitted step, clipping by the global norm, a schedule
with warm-up, gradients summed over parts of a batch, and a run that is cut off and resumed from its checkpoint.

    python -m pijit --as mindspore examples/training/resumed.py [--mode graph]"""

import argparse
import math
import os
import tempfile

import numpy as np

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore.nn.learning_rate_schedule import LearningRateSchedule


class WarmUpCosine(LearningRateSchedule):
    """Grows from 0 for `warm_up` steps, then falls along half a cosine."""

    def __init__(self, peak, warm_up, total):
        super().__init__()
        self.peak, self.warm_up, self.total = peak, warm_up, total
        self.cos = ops.Cos()
        self.minimum = ops.Minimum()
        self.cast = ops.Cast()

    def construct(self, global_step):
        step = self.cast(global_step, ms.float32)
        share = self.minimum(step / self.total, Tensor(1.0, ms.float32))
        rising = self.peak * (step + 1.0) / self.warm_up
        falling = self.peak * 0.5 * (1.0 + self.cos(math.pi * share))
        return ops.select(step < self.warm_up, rising, falling)


class Residual(nn.Cell):
    def __init__(self, size, depth):
        super().__init__()
        self.norm = nn.LayerNorm((size,))
        self.layers = nn.CellList([nn.Dense(size, size) for _ in range(depth)])
        self.scale = Parameter(Tensor(np.ones(size), ms.float32), name="scale")

    def construct(self, x):
        y = self.norm(x)
        for layer in self.layers:
            y = ops.gelu(layer(y))
        return x + y * self.scale


class Regressor(nn.Cell):
    def __init__(self, size=16):
        super().__init__()
        self.first = nn.Dense(3, size, activation="tanh")
        self.blocks = nn.SequentialCell([Residual(size, 2), Residual(size, 1)])
        self.last = nn.Dense(size, 1)

    def construct(self, x):
        return self.last(self.blocks(self.first(x)))


def fill(network, seed):
    rng = np.random.RandomState(seed)
    for p in network.trainable_params():
        if p.ndim > 1:
            p.set_data(Tensor((rng.randn(*p.shape) / np.sqrt(p.shape[1])).astype(np.float32)))
        elif p.name.endswith("bias"):
            p.set_data(Tensor(np.zeros(p.shape, np.float32)))


def batches(count, size, seed=0):
    rng = np.random.RandomState(seed)
    for _ in range(count):
        x = rng.uniform(-1, 1, (size, 3)).astype(np.float32)
        y = (np.sin(3 * x[:, :1]) + x[:, 1:2] * x[:, 2:]).astype(np.float32)
        yield Tensor(x), Tensor(y)


class Trainer:
    """A network with its optimizer and where the run stands."""

    def __init__(self, total, parts=2, limit=0.5):
        self.network = Regressor()
        fill(self.network, 7)
        self.network.set_train()
        schedule = WarmUpCosine(0.01, 5, total)
        decayed = [p for p in self.network.trainable_params() if p.ndim > 1]
        others = [p for p in self.network.trainable_params() if p.ndim <= 1]
        self.optimizer = nn.AdamWeightDecay([{"params": decayed, "weight_decay": 0.01}, {"params": others}],
                                            learning_rate=schedule)
        loss_fn = nn.HuberLoss(delta=0.5)

        def forward(x, y):
            z = self.network(x)
            return loss_fn(z, y), z
        gradients_of = ms.value_and_grad(forward, None, self.optimizer.parameters, has_aux=True)

        def step(x, y):
            total_loss, total_gradients = 0.0, None
            for part_x, part_y in zip(ops.chunk(x, parts), ops.chunk(y, parts)):
                (loss, _), gradients = gradients_of(part_x, part_y)
                total_loss = total_loss + loss / parts
                if total_gradients is None:
                    total_gradients = gradients
                else:
                    total_gradients = [a + b for a, b in zip(total_gradients, gradients)]
            total_gradients = ops.clip_by_global_norm(tuple([g / parts for g in total_gradients]), limit)
            norm = ops.sqrt(sum([ops.square(g).sum() for g in total_gradients]))
            total_loss = ops.depend(total_loss, self.optimizer(total_gradients))
            return total_loss, norm
        self.step = ms.jit(step)

    def run(self, data, begin=0, end=None):
        found = []
        for number, (x, y) in enumerate(data):
            if begin <= number and (end is None or number < end):
                loss, norm = self.step(x, y)
                found.append((float(loss.asnumpy()), float(norm.asnumpy())))
        return found

    def save(self, path, step):
        ms.save_checkpoint(self.network, path, append_dict={"step": step, "note": "half way"})
        ms.save_checkpoint(self.optimizer, path.replace(".ckpt", "_optimizer.ckpt"))

    def load(self, path):
        values = ms.load_checkpoint(path)
        step, note = int(values.pop("step")), values.pop("note")
        print("resumed at step", step, "with the note", note)
        not_loaded, _ = ms.load_param_into_net(self.network, values, strict_load=True)
        more, _ = ms.load_param_into_net(self.optimizer, ms.load_checkpoint(path.replace(".ckpt", "_optimizer.ckpt")))
        print("not loaded:", not_loaded, more)
        return step


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["pynative", "graph"], default="pynative")
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args(argv)
    ms.set_context(mode=ms.GRAPH_MODE if args.mode == "graph" else ms.PYNATIVE_MODE)
    data, half = list(batches(args.steps, 32)), args.steps // 2

    whole = Trainer(args.steps)
    found = whole.run(data)
    for k in range(0, args.steps, 8):
        print(f"step {k}: loss {found[k][0]:.5f} norm {found[k][1]:.4f}")
    print(f"last: {found[-1][0]:.5f}", "rate of the next step:",
          round(float(whole.optimizer.get_lr()), 6), "steps:", whole.optimizer.global_step.asnumpy())

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "half.ckpt")
        first = Trainer(args.steps)
        before = first.run(data, 0, half)
        first.save(path, half)
        second = Trainer(args.steps)
        after = second.run(data, second.load(path))
    print("as without a break:", np.allclose(before + after, found, rtol=1e-5, atol=1e-6))
    differences = [float(np.abs(a.asnumpy() - b.asnumpy()).max())
                   for a, b in zip(whole.network.get_parameters(), second.network.get_parameters())]
    print("parameters differ by less than 0.00001:", max(differences) < 0.00001)


if __name__ == "__main__":
    main()
