"""A small transformer in functions of `mint`, which learns to reverse sequences. Arguments: epochs, sizes ("vary")."""

import math
import os
import sys
import time

import numpy as np

import mindspore as ms
from mindspore import Parameter, Tensor, mint

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
VARY = "vary" in sys.argv[2:]
VOCABULARY, WIDTH, HEADS, LAYERS = 12, 32, 4, 2


def make_parameters(rng):
    p = {}

    def add(name, *shape):
        scale = 1 / math.sqrt(shape[0]) if len(shape) > 1 else 0.0
        p[name] = Parameter(Tensor((rng.randn(*shape) * scale).astype(np.float32)), name=name)

    add("embedding", VOCABULARY, WIDTH)
    add("positions", 16, WIDTH)
    for layer in range(LAYERS):
        for what in ("query", "key", "value", "out"):
            add(f"{layer}.{what}", WIDTH, WIDTH)
        add(f"{layer}.up", WIDTH, 4 * WIDTH)
        add(f"{layer}.up_bias", 4 * WIDTH)
        add(f"{layer}.down", 4 * WIDTH, WIDTH)
    add("head", WIDTH, VOCABULARY)
    return p


def normalize(x):
    mean = mint.mean(x, dim=-1, keepdim=True)
    variance = mint.mean(mint.square(x - mean), dim=-1, keepdim=True)
    return (x - mean) * mint.rsqrt(variance + 1e-5)


def heads(x):
    batch, length, _ = x.shape
    return mint.permute(x.reshape(batch, length, HEADS, WIDTH // HEADS), (0, 2, 1, 3))


def attention(p, layer, x):
    q, k, v = [heads(mint.matmul(x, p[f"{layer}.{what}"])) for what in ("query", "key", "value")]
    scores = mint.matmul(q, mint.transpose(k, 2, 3)) / math.sqrt(WIDTH // HEADS)
    mixed = mint.matmul(mint.nn.functional.softmax(scores, dim=-1), v)
    mixed = mint.permute(mixed, (0, 2, 1, 3)).reshape(x.shape)
    return mint.matmul(mixed, p[f"{layer}.out"])


def forward(p, tokens):
    x = mint.nn.functional.embedding(tokens, p["embedding"]) + p["positions"][:tokens.shape[1]]
    for layer in range(LAYERS):
        x = x + attention(p, layer, normalize(x))
        h = mint.matmul(normalize(x), p[f"{layer}.up"]) + p[f"{layer}.up_bias"]
        x = x + mint.matmul(mint.nn.functional.gelu(h), p[f"{layer}.down"])
    return mint.matmul(normalize(x), p["head"])


def main():
    rng = np.random.RandomState(3)
    p = make_parameters(rng)
    weights = list(p.values())
    moments = [mint.zeros_like(w) for w in weights]

    def loss_fn(tokens):
        logits = forward(p, tokens)
        wanted = mint.flip(tokens, (1,))
        return mint.nn.functional.cross_entropy(logits.reshape(-1, VOCABULARY), wanted.reshape(-1))

    value_and_grad = ms.value_and_grad(loss_fn, None, weights)

    def step(tokens, rate):
        loss, grads = value_and_grad(tokens)
        for k, (w, g) in enumerate(zip(weights, grads)):
            moments[k] = 0.9 * moments[k] + g
            w.set_data(w - rate * moments[k])
        return loss

    for epoch in range(EPOCHS):
        rate = 0.02 * 0.5 * (1 + math.cos(math.pi * epoch / EPOCHS))
        losses = []
        for _ in range(16):
            length = rng.randint(5, 13) if VARY else 8
            tokens = Tensor(rng.randint(0, VOCABULARY, (16, length)).astype(np.int32))
            losses.append(float(step(tokens, rate).asnumpy()))
        if epoch in (0, EPOCHS - 1):
            print(f"epoch {epoch}: loss {np.mean(losses):.4f}")


clock = getattr(time, os.environ.get("TUTORIAL_CLOCK", "perf_counter"))
begin = clock()
main()
print(f"@@ {clock() - begin:.6f}", file=sys.stderr)
