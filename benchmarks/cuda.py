"""Programs on an NVIDIA GPU against PyTorch (eager, compiled, compiled with CUDA graphs) and JAX, where these are
installed: `make bench-cuda`. Names of benchmarks select some; each runs in a process of its own. --alone: without
peers. --together: processes start at once, so that compilers run side by side, and measure in turns, as long as nobody
else holds the file PIJIT_BENCH_LOCK. --ways=torch,compiled: those of PyTorch's alone.

Times are the minimum of several runs, ended by a synchronization; without a GPU it says so and ends. Products of
float32 are exact in "exact" rows, and may be TF32 in "tf32" rows, with all that take part."""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
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
    with open(os.environ.get("PIJIT_BENCH_LOCK", os.devnull), "w", encoding="utf-8") as turn:
        if "PIJIT_BENCH_LOCK" in os.environ:
            fcntl.flock(turn, fcntl.LOCK_EX)
        for _ in range(repeat):
            begin = time.perf_counter()
            for _ in range(inner):
                step()
            wait()
            times.append((time.perf_counter() - begin) / inner)
    return min(times)


class Peers:
    """torch and jax, as far as they are here and see the GPU."""

    def __init__(self, alone=False, ways=()):
        self.torch = self.jax = None
        self.ways = ways
        if alone:
            return
        try:
            import torch
            self.torch = torch if torch.cuda.is_available() else None
        except ImportError:
            pass
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
        try:
            import jax
            self.jax = jax if jax.default_backend() == "gpu" else None
        except (ImportError, RuntimeError):
            pass

    def allow_tf32(self, yes):
        if self.torch:
            self.torch.backends.cuda.matmul.allow_tf32 = self.torch.backends.cudnn.allow_tf32 = yes

    def times_of_torch(self, step, of):
        """By name: eagerly, compiled, compiled with CUDA graphs; printed as they come, too, as compiling takes long."""
        if not self.torch:
            return {}
        ways = {"torch": lambda: step, "compiled": lambda: self.torch.compile(step),
                "with graphs": lambda: self.torch.compile(step, mode="reduce-overhead")}
        times = {}
        for name, way in ways.items():
            if self.ways and name not in self.ways:
                continue
            try:
                times[name] = best(way(), self.torch.cuda.synchronize)
                print(f"  ({of}: {name} {times[name] * 1e3:.4f} ms)", flush=True)
            except Exception as e:  # what a peer cannot do stands in its place
                times[name] = None
                print(f"  ({name}: {type(e).__name__}: {str(e)[:100]})")
            self.torch._dynamo.reset()
        return times


def report(name, ours, peers, per_second=None):
    line = f"{name:44} pijit {ours * 1e3:9.4f} ms"
    if per_second:
        line += f" {per_second / ours / 1e9:7.0f} GB/s"
    for peer, t in peers.items():
        line += f" | {peer} {t * 1e3:.4f}, {t / ours:.2f}x" if t else f" | {peer} failed"
    print(line, flush=True)


def bandwidth(peers, sizes=(10**6, 10**7, 10**8)):
    rng = np.random.default_rng(0)
    for n in sizes:
        a = rng.standard_normal(n, np.float32)
        rows = a.reshape(-1, 1000)
        x = {"x * y + x": (lambda x, y: x * y + x, (a, a[::-1].copy()), 12), "sum": (lambda x: x.sum(), (a,), 4),
             "softmax of rows of 1000": (None, (rows,), 8), "sum over rows": (lambda x: x.sum(0), (rows,), 4),
             "transpose": (lambda x: x.T + 1, (rows,), 8)}
        for name, (f, arrays, bytes_each) in x.items():
            ours = f or (lambda x: ops.softmax(x, -1))
            mine, fn = [ms.Tensor(v) for v in arrays], ms.jit(ours)
            t = best(lambda: fn(*mine), ms.runtime.synchronize)
            others = {}
            if torch := peers.torch:
                theirs, g = [torch.from_numpy(v).cuda() for v in arrays], f or (lambda x: torch.softmax(x, -1))
                if name == "transpose":
                    def g(x):
                        return (x.T + 1).contiguous()
                others = peers.times_of_torch(lambda: g(*theirs), name)
            if jax := peers.jax:
                held = [jax.device_put(v) for v in arrays]
                h = jax.jit(f or (lambda x: jax.nn.softmax(x, -1)))
                others["jax"] = best(lambda: h(*held).block_until_ready(), lambda: None)
            report(f"{name}, {n:.0e}", t, others, bytes_each * n)


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


def measure_step(name, make, x, t, peers, *args, numerics="exact"):
    """A training step: cross entropy, gradients, SGD with momentum."""
    net = make(Pijit, *args)
    net.set_train()
    opt = nn.Momentum(net.trainable_params(), 0.01, 0.9)
    loss_fn = nn.CrossEntropyLoss()

    def loss(x, t):
        y = net(x)
        return loss_fn(y.reshape(-1, y.shape[-1]), t.reshape(-1))
    grad = ms.value_and_grad(loss, None, opt.parameters)

    def step(x, t):
        value, grads = grad(x, t)
        opt(grads)
        return value
    step = ms.jit(step, jit_config=ms.JitConfig(numerics="fast" if numerics == "tf32" else "exact"))
    mx, mt = ms.Tensor(x), ms.Tensor(t)
    ours = best(lambda: step(mx, mt), ms.runtime.synchronize)
    report(f"step: {name}, {numerics}", ours, {})
    if torch := peers.torch:
        peers.allow_tf32(numerics == "tf32")
        twin = in_torch(torch, make, *args)
        o = torch.optim.SGD(twin.parameters(), 0.01, 0.9)
        tx, tt = torch.from_numpy(x).cuda(), torch.from_numpy(t).long().cuda()

        def torch_step():
            o.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(twin(tx).flatten(0, -2), tt.flatten()).backward()
            o.step()
        report(f"step: {name}, {numerics}", ours, peers.times_of_torch(torch_step, name))


def measure_forward(name, make, x, peers, *args, numerics="exact"):
    net = make(Pijit, *args)
    net.set_train(False)
    mx = ms.Tensor(x)
    forward = ms.jit(lambda x: net(x), jit_config=ms.JitConfig(numerics="fast" if numerics == "tf32" else "exact"))
    ours = best(lambda: forward(mx), ms.runtime.synchronize)
    report(f"forward: {name}, {numerics}", ours, {})
    if torch := peers.torch:
        peers.allow_tf32(numerics == "tf32")
        twin, tx = in_torch(torch, make, *args).eval(), torch.from_numpy(x).cuda()
        with torch.no_grad():
            report(f"forward: {name}, {numerics}", ours, peers.times_of_torch(lambda: twin(tx), name))


def networks(peers, small=False):
    """Benchmarks by name. Small: sizes for a test of this file."""
    rng = np.random.default_rng(0)

    def floats(*shape):
        return rng.standard_normal(shape, np.float32)

    def classes(n, *shape):
        return rng.integers(0, n, shape).astype(np.int32)
    batch, (images, side) = (4, (2, 32)) if small else (256, (64, 224))
    layer, shape = ((16, 2, 1), (2, 8)) if small else ((768, 12, 1), (8, 512))
    words, sizes = (50, (8, 50, 16, 2, 2)) if small else (50257, (512,))
    wide = (8, 16) if small else (512, 2048)

    def blocks(L, *a):
        return L.sequence(*transformer_layers(L, *a))
    return {
        "small mlp": lambda how: measure_step("MLP 3 x 64, batch 32", mlp, floats(32, 64), classes(10, 32), peers,
                                              64, 3, numerics=how),
        "mlp": lambda how: measure_step(f"MLP 4 x {wide[1]}, batch {wide[0]}", mlp, floats(*wide), classes(10, wide[0]),
                                        peers, wide[1], 4, numerics=how),
        "lenet": lambda how: measure_step(f"LeNet, batch {batch}", lenet, floats(batch, 1, 32, 32), classes(10, batch),
                                          peers, numerics=how),
        "resnet50 forward": lambda how: measure_forward(f"ResNet-50, batch {images}", resnet50,
                                                        floats(images, 3, side, side), peers, numerics=how),
        "resnet50": lambda how: measure_step(f"ResNet-50, batch {images}", resnet50, floats(images, 3, side, side),
                                             classes(1000, images), peers, numerics=how),
        "transformer": lambda how: measure_step("transformer layer, 8 x 512 x 768", blocks, floats(*shape, layer[0]),
                                                classes(layer[0], *shape), peers, *layer, numerics=how),
        "gpt2": lambda how: measure_step("GPT-2 small, 8 x 512", gpt2_small, classes(words, *shape),
                                         classes(words, *shape), peers, *sizes, numerics=how)}


def main(names):
    if why := gpu_missing():
        print(f"bench-cuda: skipped: {why}")
        return
    flags = [n for n in names if n.startswith("--")]
    names = [n for n in names if n not in flags]
    if len(names) == 1:
        ways = [w for f in flags if f.startswith("--ways=") for w in f[7:].split(",")]
        peers, (name, _, how) = Peers("--alone" in flags, ways), names[0].partition(":")
        if name == "bandwidth":
            bandwidth(peers)
        else:
            networks(peers)[name](how or "tf32")
        return
    names = names or ["bandwidth", *(f"{n}:{how}" for n in networks(None) for how in ("tf32", "exact"))]
    with tempfile.NamedTemporaryFile() as lock:
        env = {"PIJIT_BENCH_LOCK": lock.name, **os.environ} if "--together" in flags else None
        running = []

        def end(*_):
            """What is stopped says what it had not done."""
            for name, process in zip(names, running):
                if process.poll() is None:
                    process.kill()
                    print(f"{name}: failed, no end within the limit", flush=True)
            sys.exit(143)
        signal.signal(signal.SIGTERM, end)
        for name in names:
            running.append(subprocess.Popen([sys.executable, __file__, name, *flags], env=env))
            if env is None:
                running[-1].wait()
        for name, process in zip(names, running):
            if status := process.wait():
                how = f"status {status}" if status > 0 else signal.Signals(-status).name
                print(f"{name}: failed, {how}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
