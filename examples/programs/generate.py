"""A language model: rotary positions, grouped queries, a key-value cache, tied embeddings; `Model` with callbacks,
perplexity, low-rank adapters on a frozen model, and generation by a pipeline of logits processors.

    python -m pijit --as mindspore examples/programs/generate.py [--mode graph]"""

import sys

import numpy as np

from toolkit import LossHistory, Registry, arguments, fill, load_config, start

import mindspore as ms
import mindspore.dataset as ds
from mindspore import Parameter, Tensor, nn, ops
from mindspore.train import Callback, Model, Perplexity

CONFIG = """
data:
  words: 24
  length: 12
  batch: 4
  samples: 32
model:
  width: 16
  heads: 4
  groups: 2
  layers: 2
train:
  epochs: 2
  lr: 0.01
adapter:
  rank: 2
  alpha: 4.0
  targets: ["wq", "wv"]
generate:
  count: 5
  temperature: 0.8
  top_k: 5
  penalty: 1.2
"""

PROCESSORS = Registry("logits processor")


@PROCESSORS.register("temperature")
class Temperature:
    def __init__(self, value):
        self.value = value

    def __call__(self, ids, logits):
        return logits / self.value


@PROCESSORS.register("repetition")
class Repetition:
    """What was said already becomes less likely."""

    def __init__(self, penalty):
        self.penalty = penalty

    def __call__(self, ids, logits):
        scores = ops.gather_elements(logits, 1, ids)
        scores = ops.where(scores < 0, scores * self.penalty, scores / self.penalty)
        return ops.tensor_scatter_elements(logits, ids, scores, axis=1)


@PROCESSORS.register("top_k")
class TopK:
    def __init__(self, k):
        self.k = k

    def __call__(self, ids, logits):
        smallest = ops.topk(logits, self.k)[0][:, -1:]
        logits = logits * 1
        logits[logits < smallest] = -1e9
        return logits


class RMSNorm(nn.Cell):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight, self.eps = Parameter(ops.ones(width, ms.float32), name="weight"), eps

    def construct(self, x):
        return x * ops.rsqrt(ops.mean(ops.square(x), -1, keep_dims=True) + self.eps) * self.weight


def rotary(length, size, base=10000.0):
    angles = np.outer(np.arange(length), base ** (-np.arange(0, size, 2) / size))
    return Tensor(np.cos(angles), ms.float32), Tensor(np.sin(angles), ms.float32)


def rotate(x, cos, sin):
    a, b = x[..., ::2], x[..., 1::2]
    return ops.stack((a * cos - b * sin, a * sin + b * cos), -1).reshape(x.shape)


class Adapted(nn.Cell):
    """A frozen layer and a low-rank change of it."""

    def __init__(self, layer, rank, alpha, seed):
        super().__init__()
        self.layer, self.scale = layer, alpha / rank
        outputs, inputs = layer.weight.shape
        rng = np.random.RandomState(seed)
        self.lora_a = Parameter(Tensor(rng.randn(rank, inputs) * 0.1, ms.float32), name="lora_a")
        self.lora_b = Parameter(Tensor(rng.randn(outputs, rank) * 0.01, ms.float32), name="lora_b")

    def construct(self, x):
        return self.layer(x) + ops.dense(ops.dense(x, self.lora_a), self.lora_b) * self.scale


class Attention(nn.Cell):
    def __init__(self, width, heads, groups):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.wq = nn.Dense(width, width, has_bias=False)
        self.wk = nn.Dense(width, groups * self.size, has_bias=False)
        self.wv = nn.Dense(width, groups * self.size, has_bias=False)
        self.wo = nn.Dense(width, width, has_bias=False)

    def construct(self, x, cos, sin, mask, cache=None):
        b, n, _ = x.shape
        q = self.wq(x).view(b, n, self.heads, self.size).transpose(0, 2, 1, 3)
        k = self.wk(x).view(b, n, self.groups, self.size).transpose(0, 2, 1, 3)
        v = self.wv(x).view(b, n, self.groups, self.size).transpose(0, 2, 1, 3)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if cache is not None:
            k, v = ops.cat((cache[0], k), 2), ops.cat((cache[1], v), 2)
        cache = (k, v)
        k, v = (t.repeat_interleave(self.heads // self.groups, 1) for t in (k, v))
        scores = ops.matmul(q, k.swapaxes(-1, -2)) / np.sqrt(self.size).item()
        if mask is not None:
            scores = scores + mask
        y = ops.matmul(ops.softmax(scores, -1), v).transpose(0, 2, 1, 3).reshape(b, n, -1)
        return self.wo(y), cache


class Block(nn.Cell):
    def __init__(self, width, heads, groups):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)
        self.attention = Attention(width, heads, groups)
        self.gate, self.up = (nn.Dense(width, 2 * width, has_bias=False) for _ in range(2))
        self.down = nn.Dense(2 * width, width, has_bias=False)

    def construct(self, x, cos, sin, mask, cache=None):
        y, cache = self.attention(self.norm1(x), cos, sin, mask, cache)
        x = x + y
        h = self.norm2(x)
        return x + self.down(ops.silu(self.gate(h)) * self.up(h)), cache


class Decoder(nn.Cell):
    def __init__(self, words, length, width, heads, groups, layers):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.blocks = nn.CellList([Block(width, heads, groups) for _ in range(layers)])
        self.norm = RMSNorm(width)
        self.cos, self.sin = rotary(2 * length, width // heads)

    def construct(self, ids, caches=None, begin=0):
        n = ids.shape[1]
        x = self.embedding(ids)
        cos, sin = self.cos[begin:begin + n], self.sin[begin:begin + n]
        mask = ops.triu(ops.full((n, n), -1e9, dtype=ms.float32), 1) if n > 1 else None
        after = []
        for k, block in enumerate(self.blocks):
            x, cache = block(x, cos, sin, mask, None if caches is None else caches[k])
            after.append(cache)
        return ops.matmul(self.norm(x), self.embedding.embedding_table.T), after


class WithLoss(nn.Cell):
    def __init__(self, network):
        super().__init__(auto_prefix=False)
        self.network = network

    def construct(self, ids, following):
        logits, _ = self.network(ids)
        return ops.cross_entropy(logits.reshape(-1, logits.shape[-1]), following.reshape(-1))


class WithLogits(nn.Cell):
    def __init__(self, network):
        super().__init__(auto_prefix=False)
        self.network = network

    def construct(self, ids, following):
        logits, _ = self.network(ids)
        return ops.softmax(logits.reshape(-1, logits.shape[-1]), -1), following.reshape(-1)


def adapt(network, rank, alpha, targets):
    """Freezes the network; its layers of these names get adapters."""
    for p in network.get_parameters():
        p.requires_grad = False
    count = 0
    for _, cell in list(network.cells_and_names()):
        for name in targets:
            layer = getattr(cell, name, None)
            if isinstance(layer, nn.Dense):
                setattr(cell, name, Adapted(layer, rank, alpha, count))
                count += 1
    network.update_parameters_name("")
    return count


def sequences(cfg, seed):
    """Each word follows from the two before."""
    rng = np.random.RandomState(seed)
    for _ in range(cfg.samples):
        row = list(rng.randint(1, cfg.words, 2))
        for _ in range(cfg.length - 1):
            row.append((row[-1] + row[-2] + int(rng.rand() < 0.1)) % (cfg.words - 1) + 1)
        yield np.array(row[:cfg.length], np.int32), np.array(row[1:cfg.length + 1], np.int32)


def make_dataset(cfg):
    return ds.GeneratorDataset(lambda: sequences(cfg, 1), ["ids", "next"], shuffle=False).batch(cfg.batch)


class Generator:
    def __init__(self, network, processors, seed):
        self.network, self.processors, self.random = network, processors, np.random.RandomState(seed)

    def __call__(self, prompt, count):
        ids = Tensor(np.array(prompt, np.int32))
        logits, caches = self.network(ids)
        at, spoken = ids.shape[1], ids
        for _ in range(count):
            scores = logits[:, -1]
            for processor in self.processors:
                scores = processor(spoken, scores)
            chances = ops.softmax(scores.astype(ms.float32), -1).asnumpy().astype(np.float64)
            chosen = [int((row.cumsum() / row.sum()).searchsorted(self.random.rand())) for row in chances]
            word = Tensor(np.array(chosen, np.int32)[:, None])
            spoken = ops.cat((spoken, word), 1)
            logits, caches = self.network(word, caches, at)
            at += 1
        return spoken.asnumpy()


class Frozen(Callback):
    """Looks whether what is frozen stays as it was."""

    def __init__(self, network):
        super().__init__()
        self.values = {p.name: p.asnumpy().copy() for p in network.get_parameters() if not p.requires_grad}
        self.network = network

    def on_train_end(self, run_context):
        same = all(np.array_equal(p.asnumpy(), self.values[p.name]) for p in self.network.get_parameters()
                   if p.name in self.values)
        print("frozen parameters:", len(self.values), "as before:", same)


def main(argv=None):
    args = arguments().parse_args(argv)
    start(args)
    cfg = load_config(CONFIG, args.set)
    network = fill(Decoder(cfg.data.words, cfg.data.length, **cfg.model), 29)
    for name in ("whole", "adapters"):
        if name == "adapters":
            print("adapters:", adapt(network, **cfg.adapter), len(network.trainable_params()))
        history = LossHistory()
        optimizer = nn.AdamWeightDecay(network.trainable_params(), cfg.train.lr)
        step = nn.TrainOneStepCell(WithLoss(network), optimizer).set_train()
        Model(step).train(cfg.train.epochs, make_dataset(cfg.data), callbacks=[history, Frozen(network)],
                          dataset_sink_mode=False)
        print(f"losses of {name}:", " ".join(f"{v:.4f}" for v in history.losses))
    network.set_train(False)
    model = Model(WithLoss(network), eval_network=WithLogits(network), metrics={"perplexity": Perplexity()},
                  eval_indexes=None)
    print(f"perplexity: {model.eval(make_dataset(cfg.data), dataset_sink_mode=False)['perplexity']:.4f}")
    processors = [PROCESSORS.build({"type": "repetition", "penalty": cfg.generate.penalty}),
                  PROCESSORS.build({"type": "temperature", "value": cfg.generate.temperature}),
                  PROCESSORS.build({"type": "top_k", "k": cfg.generate.top_k})]
    for row in Generator(network, processors, 3)([[3, 5, 8, 13], [1, 2, 3, 5]], cfg.generate.count):
        print("words:", row.tolist())


if __name__ == "__main__":
    main(sys.argv[1:])
