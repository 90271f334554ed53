"""Diffusion: a small U-Net with time embedding and attention, a scheduler class, averaged weights, half precision by
`auto_mixed_precision`, and sampling by DDIM with classifier-free guidance.

    python -m pijit --as mindspore examples/programs/diffuse.py [--mode graph]"""

import math
import sys
from dataclasses import dataclass, field

import numpy as np

from toolkit import EMA, Registry, arguments, fill, load_config, start

import mindspore as ms
from mindspore import Tensor, nn, ops

CONFIG = """
data:
  size: 8
  classes: 2
  batch: 8
  steps: 12
model:
  width: 8
  heads: 2
  depth: 1
schedule:
  type: cosine
  steps: 20
train:
  lr: 0.004
  drop_label: 4
  ema: 0.95
sample:
  steps: 5
  guidance: 1.5
"""

SCHEDULES = Registry("schedule")


@SCHEDULES.register("cosine")
def cosine(steps):
    f = lambda t: math.cos((t + 0.008) / 1.008 * math.pi / 2) ** 2  # noqa: E731
    return np.array([min(1 - f((k + 1) / steps) / f(k / steps), 0.999) for k in range(steps)])


@SCHEDULES.register("linear")
def linear(steps, first=1e-3, last=0.1):
    return np.linspace(first, last, steps)


@dataclass
class Scheduler:
    betas: np.ndarray
    alphas: np.ndarray = field(init=False)

    def __post_init__(self):
        self.alphas = np.cumprod(1 - self.betas)
        self.root = Tensor(np.sqrt(self.alphas), ms.float32)
        self.rest = Tensor(np.sqrt(1 - self.alphas), ms.float32)

    def __len__(self):
        return len(self.betas)

    def add_noise(self, x, noise, t):
        shape = (-1,) + (1,) * (x.ndim - 1)
        return self.root[t].reshape(shape) * x + self.rest[t].reshape(shape) * noise

    def ddim_steps(self, count):
        times = np.linspace(0, len(self) - 1, count).round().astype(int)[::-1]
        return list(zip(times, list(times[1:]) + [-1]))

    def ddim(self, x, noise, t, before):
        a, b = self.alphas[t], self.alphas[before] if before >= 0 else 1.0
        clean = ops.clamp((x - math.sqrt(1 - a) * noise) / math.sqrt(a), -1.5, 1.5)
        return math.sqrt(b) * clean + math.sqrt(1 - b) * noise


def time_embedding(t, width):
    half = width // 2
    freqs = ops.exp(-math.log(100.0) * ops.arange(half).astype(ms.float32) / half)
    angles = t.astype(ms.float32).unsqueeze(-1) * freqs
    return ops.cat((ops.sin(angles), ops.cos(angles)), -1)


class ResBlock(nn.Cell):
    def __init__(self, inputs, outputs, embedding):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(4, inputs), nn.GroupNorm(4, outputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, pad_mode="same", has_bias=True)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, pad_mode="same", has_bias=True)
        self.emb = nn.Dense(embedding, 2 * outputs)
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def construct(self, x, emb):
        h = self.conv1(ops.silu(self.norm1(x)))
        scale, shift = ops.chunk(self.emb(ops.silu(emb))[:, :, None, None], 2, 1)
        h = self.norm2(h) * (1 + scale) + shift
        return self.skip(x) + self.conv2(ops.silu(h))


class SelfAttention(nn.Cell):
    def __init__(self, channels, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(4, channels)
        self.qkv = nn.Conv2d(channels, 3 * channels, 1, has_bias=True)
        self.proj = nn.Conv2d(channels, channels, 1, has_bias=True)

    def construct(self, x):
        b, c, h, w = x.shape
        q, k, v = ops.split(self.qkv(self.norm(x)).reshape(b * self.heads, 3 * (c // self.heads), h * w),
                            c // self.heads, axis=1)
        weights = ops.softmax(ops.bmm(q.swapaxes(1, 2), k) / math.sqrt(c // self.heads), -1)
        y = ops.bmm(v, weights.swapaxes(1, 2)).reshape(b, c, h, w)
        return x + self.proj(y)


class UNet(nn.Cell):
    def __init__(self, width, heads, depth, classes):
        super().__init__()
        emb = 4 * width
        self.width, self.null = width, classes
        self.time = nn.SequentialCell(nn.Dense(width, emb), nn.SiLU(), nn.Dense(emb, emb))
        self.label = nn.Embedding(classes + 1, emb)
        self.stem = nn.Conv2d(1, width, 3, pad_mode="same", has_bias=True)
        self.down = nn.CellList([nn.CellList([ResBlock(width, width, emb) for _ in range(depth)]),
                                 nn.CellList([ResBlock(width, 2 * width, emb)])])
        self.reduce = nn.Conv2d(width, width, 3, 2, "pad", 1)
        self.middle = nn.CellList([ResBlock(2 * width, 2 * width, emb), SelfAttention(2 * width, heads)])
        self.up = ResBlock(3 * width, width, emb)
        self.out = nn.SequentialCell(nn.GroupNorm(4, width), nn.SiLU(), nn.Conv2d(width, 1, 3, pad_mode="same"))

    def construct(self, x, t, label):
        emb = self.time(time_embedding(t, self.width)) + self.label(label)
        x = self.stem(x)
        for block in self.down[0]:
            x = block(x, emb)
        kept = x
        x = self.reduce(x)
        for block in self.down[1]:
            x = block(x, emb)
        x = self.middle[1](self.middle[0](x, emb))
        x = ops.interpolate(x, scale_factor=2.0, recompute_scale_factor=True, mode="nearest")
        return self.out(self.up(ops.cat([x, kept], axis=1), emb))


def batches(cfg, steps):
    """Discs (class 0) and bars (class 1) with noise and times."""
    rng = np.random.RandomState(7)
    y, x = np.mgrid[:cfg.size, :cfg.size]
    for _ in range(cfg.steps):
        label = rng.randint(0, cfg.classes, cfg.batch)
        cy, cx, r = rng.uniform(2, 6, cfg.batch), rng.uniform(2, 6, cfg.batch), rng.uniform(1, 3, cfg.batch)
        inside = [(y - b) ** 2 + (x - a) ** 2 < c * c if k == 0 else abs(y - b) < c / 2
                  for k, a, b, c in zip(label, cx, cy, r)]
        images = np.where(inside, 1, -1)
        image = np.stack(images)[:, None].astype(np.float32)
        yield (Tensor(image), Tensor(label.astype(np.int32)), Tensor(rng.randn(*image.shape).astype(np.float32)),
               Tensor(rng.randint(0, steps, cfg.batch).astype(np.int32)))


def make_step(network, scheduler, cfg, ema):
    optimizer = nn.AdamWeightDecay(network.trainable_params(), cfg.lr, beta2=0.99, weight_decay=0.01)
    scaler = ms.amp.DynamicLossScaler(scale_value=2 ** 8, scale_factor=2, scale_window=5)

    def forward(image, label, noise, t):
        found = network(scheduler.add_noise(image, noise, t), t, label)
        loss = ops.mse_loss(found, noise)
        return scaler.scale(loss), loss

    gradient = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)

    def step(image, label, noise, t):
        dropped = ops.arange(label.shape[0]) % cfg.drop_label == 0
        label = ops.select(dropped, ops.full_like(label, network.null), label)
        (_, loss), grads = gradient(image, label, noise, t)
        finite = ms.amp.all_finite(grads)
        scaler.adjust(finite)
        if finite:
            loss = ops.depend(loss, optimizer(ops.clip_by_global_norm(scaler.unscale(grads), 1.0)))
            ema()
        return loss, finite
    return ms.jit(step), scaler


def sample(network, scheduler, cfg, labels, seed):
    x = Tensor(np.random.RandomState(seed).randn(len(labels), 1, cfg.data.size, cfg.data.size).astype(np.float32))
    label, null = Tensor(labels, ms.int32), ops.full((len(labels),), network.null, dtype=ms.int32)
    for t, before in scheduler.ddim_steps(cfg.sample.steps):
        times = ops.full((len(labels),), int(t), dtype=ms.int32)
        with_label, without = network(x, times, label), network(x, times, null)
        noise = without + cfg.sample.guidance * (with_label - without)
        x = scheduler.ddim(x, noise, t, before)
    return x.asnumpy()


def main(argv=None):
    args = arguments().parse_args(argv)
    start(args)
    cfg = load_config(CONFIG, args.set)
    scheduler = Scheduler(SCHEDULES.build(cfg.schedule))
    network = fill(UNet(classes=cfg.data.classes, **cfg.model), 13)
    ema = EMA(network, cfg.train.ema)
    network.set_train()
    step, scaler = make_step(network, scheduler, cfg.train, ema)
    losses = [step(*batch) for batch in batches(cfg.data, len(scheduler))]
    print("losses:", " ".join(f"{float(loss.asnumpy()):.4f}" for loss, _ in losses), all(bool(f) for _, f in losses))
    print("scale:", float(scaler.scale_value.asnumpy()), "counter:", int(scaler.counter.asnumpy()))
    network.set_train(False)
    ema.swap_before_eval()
    images = sample(network, scheduler, cfg, [0, 1], 3)
    ema.swap_after_eval()
    for image in images:
        print("image:", " ".join(f"{v:.3f}" for v in image[0].mean(1)))


if __name__ == "__main__":
    main(sys.argv[1:])
