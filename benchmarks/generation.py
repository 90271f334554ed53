"""`make bench-generation`: decoding with a network of GPT-2-small's size and a KV cache, tokens one after the other.

Each kind runs in a process of its own; the kinds take turns --rounds times. What counts is the median of the tokens of
a second pass over the same lengths, and of the first pass, in which each length is new. Caches grow by `concat`, or lie
in a buffer that each token is stored in. PIJIT_PEERS names a Python that has torch, and onnxruntime with onnx."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent
LAYERS, WIDTH, HEADS, WORDS, PLACES, PROMPT = 12, 768, 12, 50257, 1024, 16
OURS = ("jit", "eager")
KINDS = (*OURS, "torch", "torch_compiled", "onnxruntime")  # the last one has caches that grow alone


class Weights:
    """The same numbers for all kinds, in the order in which they are asked for."""

    def __init__(self):
        self.random = np.random.default_rng(0)

    def of(self, *shape):
        return self.random.standard_normal(shape, dtype=np.float32) * 0.02


def ours(kind, cache, batch):
    """A step: ids, the place of the first of them and the caches -> next ids and caches."""
    sys.path.insert(0, str(FOLDER.parent))
    import pijit as ms
    from pijit import Parameter, Tensor, nn, ops

    weights = Weights()

    def dense(i, o):
        layer = nn.Dense(i, o, bias_init="zeros")
        layer.weight.set_data(Tensor(weights.of(o, i)))
        return layer

    class Attention(nn.Cell):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = dense(WIDTH, 3 * WIDTH), dense(WIDTH, WIDTH)

        def construct(self, x, past, at):
            b, t, _ = x.shape
            q, k, v = (h.reshape(b, t, HEADS, -1).swapaxes(1, 2) for h in ops.split(self.qkv(x), WIDTH, -1))
            if cache == "buffer":
                keys, values = past
                keys[:, :, at:at + t] = k
                values[:, :, at:at + t] = v
                k, v = keys[:, :, :at + t], values[:, :, :at + t]
            else:
                if past is not None:
                    k, v = ops.concat((past[0], k), 2), ops.concat((past[1], v), 2)
                past = k, v
            scores = ops.matmul(q, k.swapaxes(-1, -2)) / (WIDTH // HEADS) ** 0.5
            if t > 1:
                scores = ops.masked_fill(scores, ops.triu(ops.ones((t, t), ms.bool_), 1), -1e9)
            y = ops.matmul(ops.softmax(scores, -1), v)
            return self.out(y.swapaxes(1, 2).reshape(b, t, WIDTH)), past

    class Block(nn.Cell):
        def __init__(self):
            super().__init__()
            self.before, self.between = nn.LayerNorm((WIDTH,), epsilon=1e-5), nn.LayerNorm((WIDTH,), epsilon=1e-5)
            self.attention = Attention()
            self.up, self.down = dense(WIDTH, 4 * WIDTH), dense(4 * WIDTH, WIDTH)

        def construct(self, x, past, at):
            y, past = self.attention(self.before(x), past, at)
            x = x + y
            return x + self.down(ops.gelu(self.up(self.between(x)), approximate="none")), past

    class Decoder(nn.Cell):
        def __init__(self):
            super().__init__()
            self.words = Parameter(Tensor(weights.of(WORDS, WIDTH)))
            self.places = Parameter(Tensor(weights.of(PLACES, WIDTH)))
            self.blocks = nn.CellList([Block() for _ in range(LAYERS)])
            self.norm = nn.LayerNorm((WIDTH,), epsilon=1e-5)

        def construct(self, ids, at, pasts):
            x = self.words[ids] + self.places[at:at + ids.shape[1]]
            new = []
            for block, past in zip(self.blocks, pasts):
                x, past = block(x, past, at)
                new.append(past)
            return ops.matmul(self.norm(x[:, -1:]), self.words.T), new

    network = Decoder()
    network.set_train(False)
    call = ms.jit(network) if kind == "jit" else network

    def step(ids, at, pasts):
        logits, pasts = call(ids, at, pasts)
        return logits.argmax(-1).astype(ms.int32), pasts

    def empty():
        if cache == "concat":
            return [None] * LAYERS
        return [tuple(ops.zeros((batch, HEADS, 256, WIDTH // HEADS), ms.float32) for _ in "kv") for _ in range(LAYERS)]

    return step, empty, Tensor, lambda ids: ids.asnumpy()


def of_torch(kind, cache, batch, threads):
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    weights = Weights()

    def dense(i, o):
        layer = nn.Linear(i, o)
        layer.weight.copy_(torch.from_numpy(weights.of(o, i)))
        layer.bias.zero_()
        return layer

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.qkv, self.out = dense(WIDTH, 3 * WIDTH), dense(WIDTH, WIDTH)

        def forward(self, x, past, at):
            b, t, _ = x.shape
            q, k, v = (h.reshape(b, t, HEADS, -1).transpose(1, 2) for h in self.qkv(x).split(WIDTH, -1))
            if cache == "buffer":
                keys, values = past
                keys[:, :, at:at + t] = k
                values[:, :, at:at + t] = v
                k, v = keys[:, :, :at + t], values[:, :, :at + t]
            else:
                if past is not None:
                    k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
                past = k, v
            y = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
            return self.out(y.transpose(1, 2).reshape(b, t, WIDTH)), past

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.attention = Attention()
            self.up, self.down = dense(WIDTH, 4 * WIDTH), dense(4 * WIDTH, WIDTH)

        def forward(self, x, past, at):
            y, past = self.attention(self.before(x), past, at)
            x = x + y
            return x + self.down(F.gelu(self.up(self.between(x)))), past

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Parameter(torch.from_numpy(weights.of(WORDS, WIDTH)))
            self.places = nn.Parameter(torch.from_numpy(weights.of(PLACES, WIDTH)))
            self.blocks = nn.ModuleList([Block() for _ in range(LAYERS)])
            self.norm = nn.LayerNorm(WIDTH)

        def forward(self, ids, at, pasts):
            x = self.words[ids] + self.places[at:at + ids.shape[1]]
            new = []
            for block, past in zip(self.blocks, pasts):
                x, past = block(x, past, at)
                new.append(past)
            return self.norm(x[:, -1:]) @ self.words.T, new

    network = Decoder().eval()
    call = torch.compile(network, dynamic=True) if kind == "torch_compiled" else network

    def step(ids, at, pasts):
        logits, pasts = call(ids, at, pasts)
        return logits.argmax(-1), pasts

    def empty():
        if cache == "concat":
            return [None] * LAYERS
        return [tuple(torch.zeros(batch, HEADS, 256, WIDTH // HEADS) for _ in "kv") for _ in range(LAYERS)]

    return step, empty, torch.from_numpy, lambda ids: ids.numpy()


def onnx_decoder(batch, t):
    """A step of t tokens: those that come first, behind one another, or one behind those in the caches."""
    from onnx import TensorProto, helper, numpy_helper

    weights, nodes, constants = Weights(), [], []

    def constant(x):
        constants.append(numpy_helper.from_array(np.asarray(x), f"c{len(constants)}"))
        return constants[-1].name

    def node(op, *operands, name=None, outputs=1, **attributes):
        names = [name or f"v{len(nodes)}_{k}" for k in range(outputs)]
        nodes.append(helper.make_node(op, operands, names, **attributes))
        return names[0] if outputs == 1 else names

    def shaped(x, *shape):
        return node("Reshape", x, constant(np.array(shape, np.int64)))

    def dense(i, o):
        w = constant(weights.of(o, i).T.copy())
        return lambda x: node("MatMul", x, w)  # biases are 0

    def norm(x):
        ones, zeros = constant(np.ones(WIDTH, np.float32)), constant(np.zeros(WIDTH, np.float32))
        return node("LayerNormalization", x, ones, zeros, axis=-1, epsilon=1e-5)

    words, places = weights.of(WORDS, WIDTH), constant(weights.of(PLACES, WIDTH))
    at = node("Add", "at", constant(np.arange(t)))
    x = node("Add", node("Gather", constant(words), "ids"), node("Gather", places, at))
    inputs = [helper.make_tensor_value_info("ids", TensorProto.INT64, (batch, t)),
              helper.make_tensor_value_info("at", TensorProto.INT64, (1,))]
    outputs = [helper.make_tensor_value_info("next", TensorProto.INT64, (batch, 1))]
    for layer in range(LAYERS):
        qkv, out = dense(WIDTH, 3 * WIDTH), dense(WIDTH, WIDTH)
        up, down = dense(WIDTH, 4 * WIDTH), dense(4 * WIDTH, WIDTH)
        parts = node("Split", qkv(norm(x)), axis=-1, num_outputs=3, outputs=3)
        q, k, v = (node("Transpose", shaped(h, batch, t, HEADS, WIDTH // HEADS), perm=[0, 2, 1, 3]) for h in parts)
        caches = [f"k{layer}", f"v{layer}"]
        if t == 1:
            k, v = (node("Concat", old, new, axis=2, name=f"{old}_") for old, new in zip(caches, (k, v)))
        else:
            k, v = (node("Identity", new, name=f"{old}_") for old, new in zip(caches, (k, v)))
        for old in caches:
            if t == 1:
                inputs.append(helper.make_tensor_value_info(old, TensorProto.FLOAT, (batch, HEADS, "n", 64)))
            outputs.append(helper.make_tensor_value_info(old + "_", TensorProto.FLOAT, (batch, HEADS, "m", 64)))
        scores = node("MatMul", q, node("Transpose", k, perm=[0, 1, 3, 2]))
        scores = node("Mul", scores, constant(np.float32((WIDTH // HEADS) ** -0.5)))
        if t > 1:
            scores = node("Add", scores, constant(np.triu(np.full((t, t), -1e9, np.float32), 1)))
        y = node("Transpose", node("MatMul", node("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        x = node("Add", x, out(shaped(y, batch, t, WIDTH)))
        x = node("Add", x, down(node("Gelu", up(norm(x)))))
    last = node("Gather", norm(x), constant(np.array([t - 1])), axis=1)
    node("ArgMax", node("MatMul", last, constant(words.T.copy())), axis=-1, keepdims=0, name="next")
    graph = helper.make_graph(nodes, "decoder", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def of_onnx(batch, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    sessions = {t: onnxruntime.InferenceSession(onnx_decoder(batch, t).SerializeToString(), options,
                                                providers=["CPUExecutionProvider"]) for t in (PROMPT, 1)}
    names = [f"{n}{layer}" for layer in range(LAYERS) for n in "kv"]

    def step(ids, at, pasts):
        ids, *pasts = sessions[ids.shape[1]].run(None, {"ids": ids, "at": np.array([at]), **dict(zip(names, pasts))})
        return ids, pasts

    return step, list, lambda ids: ids.astype(np.int64), lambda ids: ids


def worker(kind, cache, batch, tokens, threads):
    made = of_onnx(batch, threads) if kind == "onnxruntime" else \
        of_torch(kind, cache, batch, threads) if kind.startswith("torch") else ours(kind, cache, batch)
    step, empty, tensor, array = made
    prompt = np.random.default_rng(1).integers(0, WORDS, (batch, PROMPT)).astype(np.int32)
    passes, texts = [], []
    for _ in range(2):
        ids, at, pasts, times, text = tensor(prompt), 0, empty(), [], []
        for _ in range(tokens):
            begin = time.perf_counter()
            n = ids.shape[1]
            ids, pasts = step(ids, at, pasts)
            at += n
            text.append(array(ids)[:, 0].tolist())
            times.append(time.perf_counter() - begin)
        passes.append(statistics.median(times[3:]) * 1e3)
        texts.append(text)
    assert texts[0] == texts[1]
    print(json.dumps({"new": passes[0], "again": passes[1], "first": times[0], "text": texts[0]}))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"which of {', '.join(KINDS)}")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    options = parser.parse_args()
    peers = os.environ.get("PIJIT_PEERS")
    kinds = [k for k in options.kinds.split(",") if peers or k in OURS]
    print(f"ms a token, median, threads: {options.threads}; in brackets where each length is new")
    print(f"{'':16}" + "".join(f"{k:>22}" for k in kinds))
    for cache in ("concat", "buffer"):
        for batch in (1, 4):
            found = {}
            some = [k for k in kinds if k != "onnxruntime" or cache == "concat"]
            for _ in range(options.rounds):
                for kind in some:
                    count = str(options.threads)
                    env = dict(os.environ, OMP_NUM_THREADS=count, MKL_NUM_THREADS=count, PYTHONPATH="")
                    python = sys.executable if kind in OURS else peers
                    command = [python, __file__, "--worker", kind, cache, str(batch), str(options.tokens), count]
                    done = subprocess.run(command, capture_output=True, text=True, env=env)
                    if done.returncode:
                        raise SystemExit(done.stderr)
                    told = json.loads(done.stdout.splitlines()[-1])
                    found[kind] = min(told, found.get(kind, told), key=lambda t: t["again"])
            texts = [found[k]["text"] for k in some]
            alike = sum(all(t[i] == texts[0][i] for t in texts) for i in range(options.tokens))
            row = "".join(f"{found[k]['again']:13.1f} ({found[k]['new']:5.1f})" for k in some)
            print(f"{cache:8} batch {batch}{row}  {alike} of {options.tokens} tokens alike", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(sys.argv[2], sys.argv[3], *map(int, sys.argv[4:]))
    else:
        main()
