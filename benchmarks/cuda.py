"""Programs on an NVIDIA GPU against PyTorch (eager, compiled) and JAX, where these are installed: `make bench-cuda`.

Times are the minimum of several runs of one process, ended by a synchronization; without a GPU it says so and ends."""

import sys
import time

import numpy as np

import pijit as ms
from pijit import nn, ops


def gpu_missing():
    try:
        ms.set_context(device_target="GPU")
    except RuntimeError as e:
        return str(e)


def best(step, wait, repeat=20, inner=10):
    for _ in range(5):
        step()
    wait()
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        for _ in range(inner):
            step()
        wait()
        times.append((time.perf_counter() - begin) / inner)
    return min(times)


class Peers:
    """torch and jax, as far as they are here and see the GPU."""

    def __init__(self):
        self.torch = self.jax = None
        try:
            import torch
            self.torch = torch if torch.cuda.is_available() else None
        except ImportError:
            pass
        try:
            import jax
            self.jax = jax if jax.default_backend() == "gpu" else None
        except (ImportError, RuntimeError):
            pass


def report(name, ours, peers, per_second=None):
    line = f"{name:42} pijit {ours * 1e3:9.3f} ms"
    if per_second:
        line += f" {per_second / ours / 1e9:8.0f} GB/s"
    for peer, t in peers.items():
        line += f" | {peer} {t * 1e3:9.3f} ms, {t / ours:5.2f}x"
    print(line, flush=True)


def bandwidth(peers):
    for n in (10**6, 10**7, 10**8):
        a = np.random.default_rng(0).standard_normal(n, np.float32)
        x, y = ms.Tensor(a), ms.Tensor(a)
        f = {"elementwise x * y + x": (ms.jit(lambda x, y: x * y + x), 12), "sum": (ms.jit(lambda x, y: x.sum()), 4)}
        for name, (fn, bytes_each) in f.items():
            others = {}
            if torch := peers.torch:
                tx = torch.from_numpy(a).cuda()
                tf = (lambda: tx.sum()) if name == "sum" else (lambda: tx * tx + tx)
                others["torch"] = best(tf, torch.cuda.synchronize)
                others["compiled"] = best(torch.compile(tf), torch.cuda.synchronize)
            report(f"{name}, {n:.0e}", best(lambda: fn(x, y), ms.runtime.synchronize), others, bytes_each * n)


class Pijit:
    """The layers of the networks below in pijit; `Torch` has the same ones."""
    sequence, relu, gelu, flatten, embedding = nn.SequentialCell, nn.ReLU, nn.GELU, nn.Flatten, nn.Embedding
    dense = nn.Dense

    @staticmethod
    def conv(inputs, outputs, kernel, stride=1, padding=0, bias=False):
        return nn.Conv2d(inputs, outputs, kernel, stride, pad_mode="pad", padding=padding, has_bias=bias)

    @staticmethod
    def norm(channels):
        return nn.BatchNorm2d(channels)

    @staticmethod
    def layer_norm(width):
        return nn.LayerNorm((width,))

    @staticmethod
    def pool(kernel, stride, padding=0):
        return nn.MaxPool2d(kernel, stride, pad_mode="pad", padding=padding)

    class Mean(nn.Cell):
        """Over a picture."""

        def construct(self, x):
            return x.mean((2, 3))

    class Residual(nn.Cell):
        def __init__(self, body, shortcut=None):
            super().__init__()
            self.body, self.shortcut = body, shortcut

        def construct(self, x):
            return self.body(x) + (x if self.shortcut is None else self.shortcut(x))

    class Attention(nn.Cell):
        def __init__(self, width, heads):
            super().__init__()
            self.heads, self.qkv, self.out = heads, nn.Dense(width, 3 * width), nn.Dense(width, width)

        def construct(self, x):
            b, t, c = x.shape
            q, k, v = ops.chunk(self.qkv(x), 3, -1)
            q, k, v = (y.reshape(b, t, self.heads, c // self.heads).transpose(0, 2, 1, 3) for y in (q, k, v))
            scores = q @ k.transpose(0, 1, 3, 2) / (c // self.heads) ** 0.5
            w = ops.softmax(ops.masked_fill(scores, ops.triu(ops.ones((t, t), ms.bool_), 1), -1e30), -1)
            return self.out((w @ v).transpose(0, 2, 1, 3).reshape(b, t, c))

    class Positions(nn.Cell):
        def __init__(self, length, width):
            super().__init__()
            self.table = ms.Parameter(ms.Tensor(np.zeros((length, width), np.float32)))

        def construct(self, x):
            return x + self.table


def torch_layers(torch):
    """The same layers of torch."""
    F = torch.nn.functional

    class Torch:
        sequence, relu, gelu, flatten = torch.nn.Sequential, torch.nn.ReLU, torch.nn.GELU, torch.nn.Flatten
        embedding, dense = torch.nn.Embedding, torch.nn.Linear
        norm, layer_norm = torch.nn.BatchNorm2d, torch.nn.LayerNorm

        @staticmethod
        def conv(inputs, outputs, kernel, stride=1, padding=0, bias=False):
            return torch.nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=bias)

        @staticmethod
        def pool(kernel, stride, padding=0):
            return torch.nn.MaxPool2d(kernel, stride, padding)

        class Mean(torch.nn.Module):
            def forward(self, x):
                return x.mean((2, 3))

        class Residual(torch.nn.Module):
            def __init__(self, body, shortcut=None):
                super().__init__()
                self.body, self.shortcut = body, shortcut

            def forward(self, x):
                return self.body(x) + (x if self.shortcut is None else self.shortcut(x))

        class Attention(torch.nn.Module):
            def __init__(self, width, heads):
                super().__init__()
                self.heads, self.qkv, self.out = heads, torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)

            def forward(self, x):
                b, t, c = x.shape
                q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
                return self.out(y.transpose(1, 2).reshape(b, t, c))

        class Positions(torch.nn.Module):
            def __init__(self, length, width):
                super().__init__()
                self.table = torch.nn.Parameter(torch.zeros(length, width))

            def forward(self, x):
                return x + self.table
    return Torch


def mlp(L, width, depth):
    layers = []
    for _ in range(depth):
        layers += [L.dense(width, width), L.relu()]
    return L.sequence(*layers, L.dense(width, 10))


def lenet(L):
    return L.sequence(L.conv(1, 6, 5, bias=True), L.relu(), L.pool(2, 2), L.conv(6, 16, 5, bias=True), L.relu(),
                      L.pool(2, 2), L.flatten(), L.dense(400, 120), L.relu(), L.dense(120, 84), L.relu(),
                      L.dense(84, 10))


def resnet50(L):
    layers, inputs = [L.conv(3, 64, 7, 2, 3), L.norm(64), L.relu(), L.pool(3, 2, 1)], 64
    for width, blocks, first in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(blocks):
            stride, outputs = first if i == 0 else 1, 4 * width
            body = L.sequence(L.conv(inputs, width, 1), L.norm(width), L.relu(), L.conv(width, width, 3, stride, 1),
                              L.norm(width), L.relu(), L.conv(width, outputs, 1), L.norm(outputs))
            shortcut = L.sequence(L.conv(inputs, outputs, 1, stride), L.norm(outputs)) if i == 0 else None
            layers += [L.Residual(body, shortcut), L.relu()]
            inputs = outputs
    return L.sequence(*layers, L.Mean(), L.dense(inputs, 1000))


def transformer_layers(L, width, heads, count):
    layers = []
    for _ in range(count):
        layers.append(L.Residual(L.sequence(L.layer_norm(width), L.Attention(width, heads))))
        layers.append(L.Residual(L.sequence(L.layer_norm(width), L.dense(width, 4 * width), L.gelu(),
                                            L.dense(4 * width, width))))
    return layers


def gpt2_small(L, length=512, words=50257, width=768, heads=12, count=12):
    return L.sequence(L.embedding(words, width), L.Positions(length, width),
                      *transformer_layers(L, width, heads, count), L.layer_norm(width), L.dense(width, words))


def in_torch(torch, make, *args):
    return make(torch_layers(torch), *args).cuda()


def measure_step(name, make, x, t, peers, *args):
    """A training step: cross entropy, gradients, SGD with momentum."""
    net = make(Pijit, *args)
    net.set_train()
    opt = nn.Momentum(net.trainable_params(), 0.01, 0.9)
    loss_fn = nn.CrossEntropyLoss()

    def loss(x, t):
        y = net(x)
        return loss_fn(y.reshape(-1, y.shape[-1]), t.reshape(-1))
    grad = ms.value_and_grad(loss, None, opt.parameters)

    @ms.jit
    def step(x, t):
        value, grads = grad(x, t)
        opt(grads)
        return value
    mx, mt = ms.Tensor(x), ms.Tensor(t)
    others = {}
    if torch := peers.torch:
        twin = in_torch(torch, make, *args)
        o = torch.optim.SGD(twin.parameters(), 0.01, 0.9)
        tx, tt = torch.from_numpy(x).cuda(), torch.from_numpy(t).long().cuda()

        def torch_step():
            o.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(twin(tx).flatten(0, -2), tt.flatten()).backward()
            o.step()
        others["torch"] = best(torch_step, torch.cuda.synchronize)
        others["compiled"] = best(torch.compile(torch_step), torch.cuda.synchronize)
    report(f"step: {name}", best(lambda: step(mx, mt), ms.runtime.synchronize), others)


def measure_forward(name, make, x, peers, *args):
    net = make(Pijit, *args)
    net.set_train(False)
    mx, forward = ms.Tensor(x), ms.jit(lambda x: net(x))
    others = {}
    if torch := peers.torch:
        twin, tx = in_torch(torch, make, *args).eval(), torch.from_numpy(x).cuda()
        with torch.no_grad():
            others["torch"] = best(lambda: twin(tx), torch.cuda.synchronize)
            others["compiled"] = best(torch.compile(lambda: twin(tx)), torch.cuda.synchronize)
    report(f"forward: {name}", best(lambda: forward(mx), ms.runtime.synchronize), others)


def networks(peers, small=False):
    """Small: sizes for a test of this file."""
    rng = np.random.default_rng(0)

    def floats(*shape):
        return rng.standard_normal(shape, np.float32)

    def classes(n, *shape):
        return rng.integers(0, n, shape).astype(np.int32)
    batch = 4 if small else 256
    measure_step("MLP 3 x 64, batch 32 (launch-bound)", mlp, floats(32, 64), classes(10, 32), peers, 64, 3)
    if not small:
        measure_step("MLP 4 x 2048, batch 512", mlp, floats(512, 2048), classes(10, 512), peers, 2048, 4)
    measure_step("LeNet", lenet, floats(batch, 1, 32, 32), classes(10, batch), peers)
    batch, side = (2, 32) if small else (64, 224)
    measure_forward("ResNet-50", resnet50, floats(batch, 3, side, side), peers)
    measure_step("ResNet-50", resnet50, floats(batch, 3, side, side), classes(1000, batch), peers)
    layer = (16, 2, 1) if small else (768, 12, 1)
    shape = (2, 8) if small else (8, 512)
    measure_step("transformer layer", lambda L, *a: L.sequence(*transformer_layers(L, *a)), floats(*shape, layer[0]),
                 classes(layer[0], *shape), peers, *layer)
    words, sizes = (50, (8, 50, 16, 2, 2)) if small else (50257, (512,))
    measure_step("GPT-2 small", gpt2_small, classes(words, *shape), classes(words, *shape), peers, *sizes)


def main():
    if why := gpu_missing():
        print(f"bench-cuda: skipped: {why}")
        return
    peers = Peers()
    bandwidth(peers)
    networks(peers)


if __name__ == "__main__":
    sys.exit(main())
