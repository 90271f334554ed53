"""How much memory a program holds that does something new each time, in a process of its own:
python -m tests.python.growth KIND FEW MANY prints how many bytes more it holds after MANY turns than after FEW."""

import ctypes
import gc
import os
import sys

import numpy as np

import pijit as ms
from pijit import Tensor, nn, ops

X = Tensor(np.arange(8, dtype=np.float32))
BASE = np.ones((64, 64), np.float32)


def constants(k):
    """A new function for each constant, jitted."""
    c = k * 0.37 + 0.11
    ms.jit(lambda x: x * 2 + c)(X)


@ms.jit
def _leaky(x, slope):
    return ops.leaky_relu(x, slope)


def attributes(k):
    """One jitted function, of ever new numbers that are attributes of an op."""
    _leaky(X, 0.01 + k * 1e-6)


def eager_attributes(k):
    """Single ops of ever new attributes."""
    ops.leaky_relu(X, 0.01 + k * 1e-6)


def shapes(k):
    """Single products of ever new shapes."""
    a, b, c = 1 + k % 47, 1 + k // 47 % 47, 1 + k // 47 // 47 % 47
    ops.matmul(Tensor(BASE[:a, :b]), Tensor(BASE[:b, :c]))


def convolutions(k):
    """Single convolutions, with their gradients, of ever new shapes."""
    a, b, c = 1 + k % 31, 5 + k // 31 % 40, 5 + k // 31 // 40 % 40
    x, w = Tensor(np.ones((1, a, b, c), np.float32)), Tensor(np.ones((8, a, 3, 3), np.float32))
    ms.grad(lambda x, w: ops.conv2d(x, w).sum(), (0, 1))(x, w)


def elementwise_shapes(k):
    """Single sums of ever new shapes."""
    x = Tensor(np.ones((1 + k % 331, 1 + k // 331), np.float32))
    (x + x).sum()


def classes(k):
    """A class of Cells made anew, run in GRAPH_MODE."""
    ms.set_context(mode=ms.GRAPH_MODE)

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.k = k

        def construct(self, x):
            return super().cast_inputs([x], ms.float32)[0] + 1 if self.k < 0 else x + 1

    Net()(X)


_made = {}


@ms.jit
def _caller(x, f):
    y = sorted([1, 2], key=lambda _: float(x.sum().asnumpy()))  # a break
    return [opaque(f)(x) for opaque in (_opaque,)], y


def _opaque(f):
    return lambda x: list(map(f, [x]))[0]


def callees(k):
    """Code made anew by exec, with globals of its own, that is called below a break."""
    names = {"ops": ops, "data": bytes(20000)}
    exec("def f(x):\n    return ops.tanh(x) * 2 + 1", names)
    for _ in range(2):
        _caller(X, names["f"])


KINDS = {f.__name__: f
         for f in (constants, attributes, eager_attributes, shapes, convolutions, elementwise_shapes, classes, callees)}


def resident():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(kind, few, many):
    turn = KINDS[kind]
    for k in range(few):
        turn(k)
    before = resident()
    for k in range(few, many):
        turn(k)
    after = resident()
    print(after - before, before)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
