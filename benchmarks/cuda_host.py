"""`make bench-cuda-host`: what the GPU costs its host, with a driver that takes all work and does none of it.

Microseconds per eager op, per call of a captured function, and per training step of a network of small layers, eagerly
and captured, where it is one launch. A real driver's own time comes on top: some microseconds a launch. Run with an
argument, it is the process that measures."""

import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def shortest(f, calls):
    for _ in range(50):
        f()
    best = float("inf")
    for _ in range(7):
        begin = time.perf_counter()
        for _ in range(calls):
            f()
        best = min(best, (time.perf_counter() - begin) / calls)
    return best * 1e6


def measure():
    import numpy as np

    import pijit as ms
    from pijit import nn, ops

    ms.set_context(device_target="GPU")
    x = ms.Tensor(np.ones((8, 8), np.float32))
    images, labels = ms.Tensor(np.ones((64, 784), np.float32)), ms.Tensor(np.zeros(64, np.int32))
    chain = ms.jit(lambda x: x * 2 + 1)
    net = nn.SequentialCell(nn.Dense(784, 512), nn.ReLU(), nn.Dense(512, 512), nn.ReLU(), nn.Dense(512, 10))
    optimizer, loss = nn.Momentum(net.trainable_params(), 0.01, 0.9), nn.CrossEntropyLoss()
    forward = ms.value_and_grad(lambda a, b: loss(net(a), b), None, optimizer.parameters)

    def step(a, b):
        value, gradients = forward(a, b)
        optimizer(gradients)
        return value

    captured = ms.jit(step)
    for name, f, calls in (
        ("x + x", lambda: x + x, 20000), ("exp(x)", lambda: ops.exp(x), 20000), ("x.sum()", lambda: x.sum(), 20000),
        ("matmul(x, x)", lambda: ops.matmul(x, x), 20000), ("captured x * 2 + 1", lambda: chain(x), 20000),
        ("training step of an MLP, eager", lambda: step(images, labels), 200),
        ("training step of an MLP, captured", lambda: captured(images, labels), 2000),
    ):
        print(f"  {name:36} {shortest(f, calls):8.2f} us", flush=True)


def main():
    sys.path.insert(0, str(ROOT))
    from tests.cuda.stand_ins import build

    with tempfile.TemporaryDirectory() as folder:
        environment = {**build(pathlib.Path(folder)), "PIJIT_FAKE_IDLE": "1"}
        sys.exit(subprocess.run([sys.executable, __file__, "measure"], env=environment).returncode)


if __name__ == "__main__":
    measure() if len(sys.argv) > 1 else main()
