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


def mlp(width, depth):
    layers = []
    for _ in range(depth):
        layers += [nn.Dense(width, width), nn.ReLU()]
    return nn.SequentialCell(*layers, nn.Dense(width, 10)), (width,)


def lenet():
    return nn.SequentialCell(nn.Conv2d(1, 6, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2),
                             nn.Conv2d(6, 16, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(),
                             nn.Dense(400, 120), nn.ReLU(), nn.Dense(120, 84), nn.ReLU(), nn.Dense(84, 10)), (1, 32, 32)


class Attention(nn.Cell):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Dense(width, 3 * width), nn.Dense(width, width)
        self.first, self.second = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.up, self.down = nn.Dense(width, 4 * width), nn.Dense(4 * width, width)

    def construct(self, x):
        b, t, c = x.shape
        q, k, v = ops.chunk(self.qkv(self.first(x)), 3, -1)
        q, k, v = (y.reshape(b, t, self.heads, c // self.heads).transpose(0, 2, 1, 3) for y in (q, k, v))
        w = ops.softmax(q @ k.transpose(0, 1, 3, 2) / (c // self.heads) ** 0.5, -1)
        x = x + self.out((w @ v).transpose(0, 2, 1, 3).reshape(b, t, c))
        return x + self.down(ops.gelu(self.up(self.second(x))))


def torch_twin(torch, net):
    """The same layers of torch, for those of a SequentialCell."""
    made = []
    for cell in net.cells():
        if isinstance(cell, nn.Dense):
            made.append(torch.nn.Linear(cell.in_channels, cell.out_channels))
        elif isinstance(cell, nn.Conv2d):
            made.append(torch.nn.Conv2d(cell.in_channels, cell.out_channels, cell.kernel_size))
        elif isinstance(cell, nn.MaxPool2d):
            made.append(torch.nn.MaxPool2d(2, 2))
        else:
            made.append(torch.nn.Flatten() if isinstance(cell, nn.Flatten) else torch.nn.ReLU())
    return torch.nn.Sequential(*made).cuda()


def train(name, made, batch, peers):
    net, shape = made
    opt = nn.Momentum(net.trainable_params(), 0.01, 0.9)
    loss_fn = nn.CrossEntropyLoss()
    rng = np.random.default_rng(0)
    x, t = rng.standard_normal((batch, *shape), np.float32), rng.integers(0, 10, batch).astype(np.int32)
    grad = ms.value_and_grad(lambda x, t: loss_fn(net(x), t), None, opt.parameters)

    @ms.jit
    def step(x, t):
        loss, grads = grad(x, t)
        opt(grads)
        return loss
    mx, mt = ms.Tensor(x), ms.Tensor(t)
    others = {}
    if torch := peers.torch:
        twin = torch_twin(torch, net)
        o = torch.optim.SGD(twin.parameters(), 0.01, 0.9)
        tx, tt = torch.from_numpy(x).cuda(), torch.from_numpy(t).long().cuda()

        def torch_step():
            o.zero_grad(set_to_none=True)
            torch.nn.functional.cross_entropy(twin(tx), tt).backward()
            o.step()
        others["torch"] = best(torch_step, torch.cuda.synchronize)
        others["compiled"] = best(torch.compile(torch_step), torch.cuda.synchronize)
    report(name, best(lambda: step(mx, mt), ms.runtime.synchronize), others)


def transformer(peers):
    net = Attention(768, 12)
    x = ms.Tensor(np.random.default_rng(0).standard_normal((8, 512, 768), np.float32))
    params = net.trainable_params()
    grad = ms.jit(ms.value_and_grad(lambda x: (net(x) ** 2).mean(), None, params))
    report("transformer layer, 8 x 512 x 768, gradient", best(lambda: grad(x), ms.runtime.synchronize), {})


def main():
    if why := gpu_missing():
        print(f"bench-cuda: skipped: {why}")
        return
    peers = Peers()
    bandwidth(peers)
    train("MLP 3 x 64, batch 32 (launch-bound)", mlp(64, 3), 32, peers)
    train("MLP 4 x 2048, batch 512", mlp(2048, 4), 512, peers)
    train("LeNet, batch 256", lenet(), 256, peers)
    transformer(peers)


if __name__ == "__main__":
    sys.exit(main())
