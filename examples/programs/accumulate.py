"""Functional training: `value_and_grad`, half precision by lists of cells, loss scaling, gradients accumulated by an
own class, layer-wise learning rates, a run that is cut off and resumed, a profile of steps by a context manager.

    python -m pijit --as mindspore examples/programs/accumulate.py [--mode graph]"""

import contextlib
import os
import sys
import tempfile

import numpy as np

from toolkit import arguments, fill, load_config, start

import mindspore as ms
from mindspore import Parameter, ParameterTuple, Tensor, amp, nn, ops

CONFIG = """
data:
  words: 30
  length: 10
  classes: 3
  batch: 8
  batches: 12
model:
  width: 16
  heads: 4
  layers: 2
  amp: O1
train:
  lr: 0.01
  layer_decay: 0.8
  accumulate: 2
  scale: 256
  window: 4
  clip: 5.0
"""


class Attention(nn.Cell):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.qkv, self.proj = nn.Dense(width, 3 * width), nn.Dense(width, width)
        self.softmax, self.transpose = ops.Softmax(axis=-1), ops.Transpose()
        self.batch_matmul, self.scale = ops.BatchMatMul(), Tensor(self.size ** -0.5, ms.float32)

    def construct(self, x, mask):
        b, n, _ = x.shape
        qkv = self.qkv(x).reshape((b, n, 3, self.heads, self.size))
        q, k, v = ops.unstack(self.transpose(qkv, (2, 0, 3, 1, 4)), 0)
        scores = self.batch_matmul(q, self.transpose(k, (0, 1, 3, 2))) * self.scale.astype(q.dtype)
        scores = scores.masked_fill(mask, Tensor(-1e4, scores.dtype))
        y = self.batch_matmul(self.softmax(scores), v)
        return self.proj(self.transpose(y, (0, 2, 1, 3)).reshape((b, n, -1)))


class Layer(nn.Cell):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.attention = Attention(width, heads)
        self.mlp = nn.SequentialCell([nn.Dense(width, 2 * width), nn.GELU(approximate=False),
                                      nn.Dense(2 * width, width)])

    def construct(self, x, mask):
        x = x + self.attention(self.norm1(x), mask)
        return x + self.mlp(self.norm2(x))


class Classifier(nn.Cell):
    def __init__(self, words, length, classes, width, heads, layers):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.position = Parameter(Tensor(np.zeros((1, length, width)), ms.float32), name="position")
        self.layers = nn.CellList([Layer(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm((width,)), nn.Dense(width, classes)

    def construct(self, ids):
        mask = (ids == 0).expand_dims(1).expand_dims(1)
        x = self.embedding(ids) + self.position
        for layer in self.layers:
            x = layer(x, mask)
        keep = (ids != 0).astype(x.dtype).expand_dims(-1)
        pooled = (x * keep).sum(1) / ops.clamp(keep.sum(1), 1, None)
        return self.head(self.norm(pooled))

    def layer_of(self, name):
        if name.startswith(("embedding", "position")):
            return 0
        return int(name.split(".")[1]) + 1 if name.startswith("layers") else len(self.layers) + 1


def groups(network, lr, decay):
    """A learning rate for each layer: the deeper, the larger."""
    found = {}
    for p in network.trainable_params():
        found.setdefault(network.layer_of(p.name), []).append(p)
    last = len(network.layers) + 1
    return [{"params": params, "lr": lr * decay ** (last - layer)} for layer, params in sorted(found.items())] + [
        {"order_params": network.trainable_params()}]


class Accumulator:
    """Gradients of so many steps, then the optimizer: a class of Python that holds Parameters."""

    def __init__(self, optimizer, count, clip):
        self.optimizer, self.count, self.clip = optimizer, count, clip
        self.inner = optimizer.parameters.clone(prefix="inner_", init="zeros")
        self.zeros = optimizer.parameters.clone(prefix="zeros_", init="zeros")
        self.counter = Parameter(Tensor(1, ms.int32), name="counter_")
        self.map = ops.HyperMap()

    def __call__(self, grads):
        self.map(ops.partial(ops.assign_add), self.inner, grads)
        if self.counter % self.count == 0:
            mean = ops.clip_by_global_norm(tuple([g / self.count for g in self.inner]), self.clip)
            self.optimizer(mean)
            self.map(ops.partial(ops.assign), self.inner, self.zeros)
        ops.assign_add(self.counter, Tensor(1, ms.int32))
        return True

    def state(self):
        return ParameterTuple([*self.inner, self.counter])


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        network = fill(Classifier(cfg.data.words, cfg.data.length, cfg.data.classes, **cfg.model.without("amp")), 23)
        self.network = amp.auto_mixed_precision(network, cfg.model.amp).set_train()
        self.optimizer = nn.AdamWeightDecay(groups(network, cfg.train.lr, cfg.train.layer_decay), weight_decay=0.01)
        self.scaler = amp.DynamicLossScaler(cfg.train.scale, 2, cfg.train.window)
        self.accumulator = Accumulator(self.optimizer, cfg.train.accumulate, cfg.train.clip)
        self.loss = nn.CrossEntropyLoss()
        self.gradient = ms.value_and_grad(self.forward, None, self.optimizer.parameters, has_aux=True)
        self.steps = 0

    def forward(self, ids, label):
        logits = self.network(ids)
        loss = self.loss(logits.astype(ms.float32), label)
        return self.scaler.scale(loss / self.cfg.train.accumulate), loss, logits

    def train_step(self, ids, label):
        (_, loss, logits), grads = self.gradient(ids, label)
        finite = amp.all_finite(grads)
        if finite:
            self.accumulator(self.scaler.unscale(grads))
        self.scaler.adjust(finite)
        return loss, (logits.argmax(1) == label).astype(ms.float32).mean()

    def run(self, batches, watch):
        out = []
        for ids, label in batches:
            with watch.step():
                loss, accuracy = self.train_step(ids, label)
            out.append((float(loss.asnumpy()), float(accuracy.asnumpy())))
            self.steps += 1
        return out

    def save(self, folder):
        parts = [{"name": p.name, "data": p} for p in (*self.network.get_parameters(), *self.accumulator.state())]
        ms.save_checkpoint(parts, os.path.join(folder, "model.ckpt"), append_dict={"steps": self.steps})
        ms.save_checkpoint(self.optimizer, os.path.join(folder, "optimizer.ckpt"),
                           choice_func=lambda name: not name.startswith("learning_rate"))
        return {"scale": float(self.scaler.scale_value.asnumpy()), "counter": int(self.scaler.counter.asnumpy())}

    def load(self, folder, scaler):
        values = ms.load_checkpoint(os.path.join(folder, "model.ckpt"))
        self.steps = int(values.pop("steps"))
        for p in self.accumulator.state():
            p.set_data(values.pop(p.name))
        ms.load_param_into_net(self.network, values, strict_load=True)
        ms.load_param_into_net(self.optimizer, ms.load_checkpoint(os.path.join(folder, "optimizer.ckpt")))
        self.scaler.scale_value.set_data(Tensor(scaler["scale"], ms.float32))
        self.scaler.counter.set_data(Tensor(scaler["counter"], ms.int32))


class Watch:
    """Counts steps, whatever they raise."""

    def __init__(self):
        self.begun = self.ended = 0

    @contextlib.contextmanager
    def step(self):
        self.begun += 1
        try:
            yield self
        finally:
            self.ended += 1


def sentences(cfg, seed=0):
    """The class is which third of the vocabulary has most of the words."""
    rng = np.random.RandomState(seed)
    third = (cfg.words - 1) // cfg.classes
    for _ in range(cfg.batches):
        ids = np.zeros((cfg.batch, cfg.length), np.int32)
        label = rng.randint(0, cfg.classes, cfg.batch).astype(np.int32)
        for row, k in zip(ids, label):
            n = rng.randint(4, cfg.length + 1)
            likely = rng.rand(n) < 0.7
            row[:n] = np.where(likely, 1 + k * third + rng.randint(0, third, n), rng.randint(1, cfg.words, n))
        yield Tensor(ids), Tensor(label)


def main(argv=None):
    args = arguments().parse_args(argv)
    start(args)
    cfg = load_config(CONFIG, args.set)
    batches, watch = list(sentences(cfg.data)), Watch()
    whole = Trainer(cfg)
    found = whole.run(batches, watch)
    print("losses:", " ".join(f"{loss:.3f}" for loss, _ in found))
    print("accuracy:", " ".join(f"{a:.2f}" for _, a in found))
    print("scale:", float(whole.scaler.scale_value.asnumpy()), "steps of the optimizer:",
          int(whole.optimizer.global_step.asnumpy()[0]))
    half = len(batches) // 2 + 1  # in the middle of an accumulation
    with tempfile.TemporaryDirectory() as folder:
        first = Trainer(cfg)
        before = first.run(batches[:half], watch)
        scaler = first.save(folder)
        second = Trainer(cfg)
        second.load(folder, scaler)
        after = second.run(batches[half:], watch)
    print("resumed at", half, "as without a break:", np.allclose(before + after, found, rtol=1e-4, atol=1e-5))
    print("steps:", watch.begun, watch.ended, second.steps)


if __name__ == "__main__":
    main(sys.argv[1:])
