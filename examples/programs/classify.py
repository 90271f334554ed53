"""Image classification as a package of models does it: YAML, registries, a dataset with workers, `Model.train` with
loss scaling, accumulated and clipped gradients, averaged weights and callbacks with a state.

    python -m pijit --as mindspore examples/programs/classify.py [--mode graph] [--set optimizer.lr=0.01 …]"""

import sys

import numpy as np

from toolkit import EMA, Averages, EarlyStop, LossHistory, Registry, ScaledStep, arguments, fill, load_config, start

import mindspore.dataset as ds
from mindspore import Tensor, nn, ops
from mindspore.train import Model

CONFIG = """
dataset:
  samples: 48
  size: 12
  classes: 4
  batch: 8
  workers: 2
model:
  type: SmallNet
  widths: [8, 16]
  drop_path: 0.0
  norm: batch
  attention: squeeze
loss:
  type: smoothed
  smoothing: 0.1
optimizer:
  type: momentum
  lr: 0.05
  weight_decay: 0.0005
  filter_bias_and_norm: true
schedule:
  type: warm_up_cosine
  warm_up: 2
  lowest: 0.001
train:
  epochs: 3
  accumulate: 2
  clip: 1.0
  loss_scale: 1024
  ema: 0.9
"""

MODELS, LAYERS, LOSSES = Registry("model"), Registry("layer"), Registry("loss")
OPTIMIZERS, SCHEDULES = Registry("optimizer"), Registry("schedule")


# -- layers --
@LAYERS.register("squeeze")
class SqueezeExcite(nn.Cell):
    def __init__(self, channels, ratio=4):
        super().__init__()
        self.reduce = nn.Conv2d(channels, max(channels // ratio, 4), 1, has_bias=True)
        self.expand = nn.Conv2d(max(channels // ratio, 4), channels, 1, has_bias=True)
        self.act, self.gate = nn.ReLU(), nn.Sigmoid()

    def construct(self, x):
        y = x.mean((2, 3), keep_dims=True)
        return x * self.gate(self.expand(self.act(self.reduce(y))))


@LAYERS.register("none")
class NoAttention(nn.Cell):
    def __init__(self, channels):
        super().__init__()
        self.identity = nn.Identity()

    def construct(self, x):
        return self.identity(x)


class DropPath(nn.Cell):
    def __init__(self, p):
        super().__init__()
        self.keep = 1 - p
        self.dropout = nn.Dropout(p=p)

    def construct(self, x):
        if self.keep == 1.0 or not self.training:
            return x
        shape = (x.shape[0],) + (1,) * (x.ndim - 1)
        return x * self.dropout(ops.ones(shape, x.dtype))


def make_norm(kind, channels):
    return {"batch": nn.BatchNorm2d, "group": lambda c: nn.GroupNorm(4, c)}[kind](channels)


class Block(nn.Cell):
    def __init__(self, inputs, outputs, stride, norm, attention, drop_path):
        super().__init__()
        self.conv = nn.SequentialCell(
            nn.Conv2d(inputs, outputs, 3, stride, "pad", 1, has_bias=False), make_norm(norm, outputs), nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, 1, "pad", 1, group=outputs, has_bias=False), make_norm(norm, outputs))
        self.attention = LAYERS.get(attention)(outputs)
        self.drop_path = DropPath(drop_path)
        self.shortcut = (nn.Identity() if inputs == outputs and stride == 1
                         else nn.Conv2d(inputs, outputs, 1, stride, has_bias=False))
        self.act = nn.ReLU()

    def construct(self, x):
        return self.act(self.drop_path(self.attention(self.conv(x))) + self.shortcut(x))


@MODELS.register()
class SmallNet(nn.Cell):
    def __init__(self, widths, classes, norm="batch", attention="none", drop_path=0.0, in_channels=3):
        super().__init__()
        self.stem = nn.Conv2d(in_channels, widths[0], 3, 1, "pad", 1, has_bias=False)
        blocks, before = [], widths[0]
        for rate, width in zip(np.linspace(0, drop_path, len(widths)), widths):
            blocks.append(Block(before, width, 2, norm, attention, float(rate)))
            before = width
        self.blocks = nn.CellList(blocks)
        self.head = nn.Dense(before, classes)

    def forward_features(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return x

    def construct(self, x):
        return self.head(self.forward_features(x).mean((2, 3)))


# -- losses, optimizers, schedules --
@LOSSES.register("smoothed")
class SmoothedLoss(nn.LossBase):
    def __init__(self, smoothing=0.0):
        super().__init__()
        self.smoothing = smoothing

    def construct(self, logits, labels):
        return ops.cross_entropy(logits, labels, label_smoothing=self.smoothing)


@SCHEDULES.register("warm_up_cosine")
def warm_up_cosine(lr, steps, warm_up, lowest):
    rates = []
    for step in range(steps):
        if step < warm_up:
            rates.append(lr * (step + 1) / warm_up)
        else:
            done = (step - warm_up) / max(steps - warm_up, 1)
            rates.append(lowest + (lr - lowest) * 0.5 * (1 + np.cos(np.pi * done)))
    return rates


@OPTIMIZERS.register("momentum")
def momentum(params, lr, weight_decay):
    return nn.Momentum(params, lr, 0.9, weight_decay)


@OPTIMIZERS.register("adamw")
def adamw(params, lr, weight_decay):
    return nn.AdamWeightDecay(params, lr, weight_decay=weight_decay)


def parameter_groups(network, weight_decay, filter_bias_and_norm):
    if not filter_bias_and_norm:
        return network.trainable_params()
    decayed = [p for p in network.trainable_params() if not p.name.endswith(("beta", "gamma", "bias"))]
    others = [p for p in network.trainable_params() if p.name.endswith(("beta", "gamma", "bias"))]
    return [{"params": decayed, "weight_decay": weight_decay}, {"params": others, "weight_decay": 0.0},
            {"order_params": network.trainable_params()}]


# -- data --
class Shapes:
    """Squares of four colours and places, the class of an image being its place."""

    def __init__(self, samples, size, classes, seed):
        self.samples, self.size, self.classes, self.seed = samples, size, classes, seed

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        rng = np.random.RandomState(self.seed * 1000 + index)
        label = index % self.classes
        image = rng.randint(0, 60, (self.size, self.size, 3)).astype(np.uint8)
        half = self.size // 2
        top, left = half * (label // 2), half * (label % 2)
        image[top:top + half, left:left + half, rng.randint(3)] += np.uint8(150)
        return image, np.int32(label)


def normalized(image):
    return ((image.astype(np.float32) / 255.0 - 0.3) / 0.2).transpose(2, 0, 1)


def make_dataset(cfg, training, seed):
    data = ds.GeneratorDataset(Shapes(cfg.samples if training else cfg.samples // 2, cfg.size, cfg.classes, seed),
                               ["image", "label"], shuffle=False, num_parallel_workers=cfg.workers)
    data = data.map(normalized, "image", num_parallel_workers=cfg.workers)
    return data.batch(cfg.batch, drop_remainder=training)


def train(cfg):
    data = make_dataset(cfg.dataset, True, 1)
    network = fill(MODELS.build(cfg.model, classes=cfg.dataset.classes), 3)
    loss = LOSSES.build(cfg.loss)
    steps = data.get_dataset_size() * cfg.train.epochs
    rates = SCHEDULES.build(cfg.schedule, lr=cfg.optimizer.lr, steps=steps)
    groups = parameter_groups(network, cfg.optimizer.weight_decay, cfg.optimizer.filter_bias_and_norm)
    optimizer = OPTIMIZERS.get(cfg.optimizer.type)(groups, rates, cfg.optimizer.weight_decay)
    ema = EMA(network, cfg.train.ema) if cfg.train.ema else None
    step = ScaledStep(nn.WithLossCell(network, loss), optimizer,
                      nn.DynamicLossScaleUpdateCell(cfg.train.loss_scale, 2, 4), clip=cfg.train.clip, ema=ema,
                      accumulate=cfg.train.accumulate).set_train()

    evaluator = Model(network, loss, metrics={"accuracy": nn.Accuracy(), "loss": nn.Loss()})
    validation = make_dataset(cfg.dataset, False, 2)

    def evaluate():
        network.set_train(False)
        result = evaluator.eval(validation, dataset_sink_mode=False)
        network.set_train(True)
        return result

    history = LossHistory(every=3)
    averages = Averages(evaluate, ema)
    Model(step).train(cfg.train.epochs, data, callbacks=[history, averages, EarlyStop(history)],
                      dataset_sink_mode=False)
    return network, step, history, averages


def main(argv=None):
    args = arguments().parse_args(argv)
    start(args)
    cfg = load_config(CONFIG, args.set)
    network, step, history, averages = train(cfg)
    print("losses:", " ".join(f"{v:.4f}" for v in history.losses))
    print("scale:", float(step.scale_sense), "averaged:", int(step.ema.updates))
    network.set_train(False)
    logits = network(Tensor(np.stack([normalized(Shapes(4, cfg.dataset.size, 4, 5)[k][0]) for k in range(4)])))
    print("classes:", logits.argmax(1).asnumpy().tolist())
    print("logits:", " ".join(f"{v:.3f}" for v in logits.asnumpy().ravel()))


if __name__ == "__main__":
    main(sys.argv[1:])
