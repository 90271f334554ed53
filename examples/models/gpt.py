"""GPT: causal attention with a key and value cache, trained on a repeating text, then sampling token by token."""

import math

import numpy as np

from training import make_step, run

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import Normal

TEXT = "a graph of tensors is a program; a program of tensors is a graph. "


class CausalSelfAttention(nn.Cell):
    def __init__(self, dim, heads, block, batch=1):
        super().__init__()
        self.heads, self.dim, self.block = heads, dim, block
        self.c_attn = nn.Dense(dim, 3 * dim, weight_init=Normal(0.02))
        self.c_proj = nn.Dense(dim, dim, weight_init=Normal(0.02))
        self.mask = Tensor(np.tril(np.ones((1, 1, block, block))), ms.bool_)
        shape = (batch, heads, block, dim // heads)
        self.key_cache = Parameter(ops.zeros(shape, ms.float32), name="key_cache", requires_grad=False)
        self.value_cache = Parameter(ops.zeros(shape, ms.float32), name="value_cache", requires_grad=False)

    def split_heads(self, x):
        b, t, _ = x.shape
        return x.view(b, t, self.heads, -1).swapaxes(1, 2)

    def attend(self, q, k, v, mask):
        att = ops.matmul(q, k.swapaxes(-2, -1)) * (1.0 / math.sqrt(k.shape[-1]))
        att = ops.masked_fill(att, mask.logical_not(), -1e9)
        y = ops.matmul(ops.softmax(att, axis=-1), v)
        b, _, t, _ = y.shape
        return self.c_proj(y.swapaxes(1, 2).reshape(b, t, self.dim))

    def construct(self, x):
        q, k, v = map(self.split_heads, ops.split(self.c_attn(x), self.dim, axis=2))
        t = x.shape[1]
        return self.attend(q, k, v, self.mask[:, :, :t, :t])

    def step(self, x, position):
        """One token at a position (an int32 Tensor): the caches are updated."""
        q, k, v = map(self.split_heads, ops.split(self.c_attn(x), self.dim, axis=2))
        here = (ops.arange(self.block) == position).view(1, 1, -1, 1)
        self.key_cache = ops.select(here, k, self.key_cache)
        ops.assign(self.value_cache, ops.select(here, v, self.value_cache))
        past = (ops.arange(self.block) <= position).view(1, 1, 1, -1)
        return self.attend(q, self.key_cache, self.value_cache, past)


class Block(nn.Cell):
    def __init__(self, dim, heads, block):
        super().__init__()
        self.ln_1 = nn.LayerNorm([dim])
        self.attn = CausalSelfAttention(dim, heads, block)
        self.ln_2 = nn.LayerNorm([dim])
        self.mlp = nn.CellDict({"c_fc": nn.Dense(dim, 4 * dim), "act": nn.GELU(approximate=True),
                                "c_proj": nn.Dense(4 * dim, dim)})

    def feed(self, x):
        m = self.mlp
        return m["c_proj"](m["act"](m["c_fc"](x)))

    def construct(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.feed(self.ln_2(x))

    def step(self, x, position):
        x = x + self.attn.step(self.ln_1(x), position)
        return x + self.feed(self.ln_2(x))


class GPT(nn.Cell):
    def __init__(self, vocab, dim=32, layers=2, heads=4, block=24):
        super().__init__()
        self.block = block
        self.wte = nn.Embedding(vocab, dim, embedding_table=Normal(0.02))
        self.wpe = nn.Embedding(block, dim, embedding_table=Normal(0.02))
        self.h = nn.CellList([Block(dim, heads, block) for _ in range(layers)])
        self.ln_f = nn.LayerNorm([dim])

    def head(self, x):
        return ops.matmul(self.ln_f(x), self.wte.embedding_table.T)

    def construct(self, ids):
        x = self.wte(ids) + self.wpe(ops.arange(ids.shape[1]))
        for block in self.h:
            x = block(x)
        return self.head(x)

    def step(self, token, position):
        x = self.wte(token.view(1, 1)) + self.wpe(position.view(1, 1))
        for block in self.h:
            x = block.step(x, position)
        return self.head(x)[0, 0]


def characters():
    letters = sorted(set(TEXT))
    return letters, {c: i for i, c in enumerate(letters)}


def batches(n, batch=4, length=16):
    _, number = characters()
    data = np.array([number[c] for c in TEXT * 2], np.int32)
    rng = np.random.default_rng(0)
    for _ in range(n):
        starts = rng.integers(0, len(TEXT), batch)
        rows = np.stack([data[s:s + length + 1] for s in starts])
        yield Tensor(rows[:, :-1]), Tensor(rows[:, 1:])


def build():
    network = GPT(len(characters()[0]))

    def loss(ids, targets):
        logits = network(ids)
        return ops.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))

    optimizer = nn.AdamWeightDecay(network.trainable_params(), learning_rate=5e-3)
    return network, loss, optimizer, batches


def sample(network, prompt, length, temperature=0.8, top_k=4, seed=0, jit=True):
    """The text that follows a prompt, of at most `network.block` characters together."""
    letters, number = characters()
    network.set_train(False)
    rng = np.random.default_rng(seed)

    def step(token, position):
        logits = network.step(token, position) / temperature
        values, indices = ops.topk(logits, top_k)
        return ops.softmax(values, axis=-1), indices

    if jit:
        step = ms.jit(step, capture_mode="bytecode")
    text = prompt
    for i in range(min(len(prompt) + length, network.block) - 1):
        token = Tensor(np.array([number[text[i]]], np.int32))
        probability, indices = step(token, Tensor(np.array([i], np.int32)))
        if i + 1 == len(text):
            p = probability.asnumpy().astype(np.float64)
            text += letters[int(indices.asnumpy()[rng.choice(top_k, p=p / p.sum())])]
    return text


def main():
    run(globals())
    network, loss, optimizer, _ = build()
    step = ms.jit(make_step(network, loss, optimizer), capture_mode="bytecode")
    for batch in batches(100):
        step(*batch)
    print(sample(network, "a gr", 20))


if __name__ == "__main__":
    main()
