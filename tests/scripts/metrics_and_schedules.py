"""Classifier: config dataclass, metrics in defaultdict / Counter, early stopping, schedule in a closure."""

import dataclasses, math, enum
from collections import defaultdict, Counter, OrderedDict
import numpy as np
import pijit as ms
from pijit import nn, ops, Tensor


class Phase(enum.Enum):
    TRAIN = "train"
    EVAL = "eval"


@dataclasses.dataclass
class Config:
    lr: float = 0.1
    hidden: int = 16
    epochs: int = 4
    steps: int = 6
    clip: float = 1.0
    warmup: int = 3
    patience: int = 2


def make_schedule(cfg):
    step = 0

    def schedule():
        nonlocal step
        step += 1
        if step <= cfg.warmup:
            return cfg.lr * step / cfg.warmup
        return cfg.lr * 0.5 * (1 + math.cos(math.pi * (step - cfg.warmup) / (cfg.epochs * cfg.steps)))

    return schedule


class Meter:
    def __init__(self):
        self.sums = defaultdict(float)
        self.counts = Counter()
        self.history = defaultdict(list)

    def update(self, **values):
        for k, v in values.items():
            self.sums[k] += v
            self.counts[k] += 1

    def epoch(self):
        out = OrderedDict()
        for k in sorted(self.sums):
            out[k] = self.sums[k] / self.counts[k]
            self.history[k].append(out[k])
        self.sums.clear()
        self.counts.clear()
        return out


class EarlyStop:
    def __init__(self, patience):
        self.best = float("inf")
        self.bad = 0
        self.patience = patience

    def __call__(self, value):
        if value < self.best:
            self.best = value
            self.bad = 0
        else:
            self.bad += 1
        return self.bad >= self.patience


class Net(nn.Cell):
    def __init__(self, cfg):
        super().__init__()
        self.fc1 = nn.Dense(8, cfg.hidden)
        self.fc2 = nn.Dense(cfg.hidden, 3)
        self.calls = Counter()

    def construct(self, x, phase=Phase.TRAIN):
        self.calls[phase.value] += 1
        return self.fc2(ops.relu(self.fc1(x)))


def main(jit=lambda f: f):
    ms.set_seed(1)
    rng = np.random.default_rng(0)
    cfg = dataclasses.replace(Config(), epochs=5)
    net = Net(cfg)
    params = net.trainable_params()
    loss_fn = nn.CrossEntropyLoss()
    schedule = make_schedule(cfg)
    meter, stop = Meter(), EarlyStop(cfg.patience)
    seen = set()
    log = []

    def forward(x, y):
        logits = net(x)
        return loss_fn(logits, y), logits

    grad_fn = ms.value_and_grad(forward, None, params, has_aux=True)

    def train_step(x, y):
        (loss, logits), grads = grad_fn(x, y)
        norm = ops.sqrt(sum((g * g).sum() for g in grads))
        scale = cfg.clip / ops.maximum(norm, cfg.clip)
        lr = schedule()
        for p, g in zip(params, grads):
            p.set_data(p - lr * scale * g)
        acc = (logits.argmax(1) == y).astype(ms.float32).mean()
        meter.update(loss=loss, acc=acc, lr=lr)
        seen.update([int(x.shape[0]), "train"])
        return loss

    def eval_step(x, y):
        loss, logits = forward(x, y)
        meter.update(val_loss=loss)
        return loss

    train_step, eval_step = jit(train_step), jit(eval_step)
    xs = rng.normal(size=(cfg.steps, 12, 8)).astype(np.float32)
    ys = rng.integers(0, 3, (cfg.steps, 12)).astype(np.int32)
    for epoch in range(cfg.epochs):
        for k in range(cfg.steps):
            train_step(Tensor(xs[k]), Tensor(ys[k]))
        eval_step(Tensor(xs[0]), Tensor(ys[0]))
        stats = meter.epoch()
        log.append({k: round(float(v), 5) for k, v in stats.items()})
        if stop(float(stats["val_loss"])):
            break
    print(log, dict(net.calls), sorted(map(str, seen)), {k: len(v) for k, v in meter.history.items()})
    return train_step, eval_step


if __name__ == "__main__":
    main()
