"""Products large enough that both operands are copied, in all the ways that operands lie, and gradients of convolutions
by their weights that are such products: sums of whole numbers, which are exact in any order, and bits in any layout and
on any number of threads."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, ops

# Rows, columns and numbers to add up that fill no tile, no part and no depth, and some that do.
SIZES = [(400, 3072, 768), (33, 1100, 1000), (417, 769, 257), (16, 129, 20000), (1000, 130, 300), (17, 8200, 260),
         (850, 970, 64), (130, 131, 2100), (4096, 128, 64)]


def whole(*shape, seed=0):
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32)


def turned(a, trans):
    return np.ascontiguousarray(a.swapaxes(-1, -2)) if trans else a


def product(a, b):
    """Of whole numbers, by float64: exact, and by BLAS."""
    return (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_exact(size):
    m, n, k = size
    x, w, b = whole(m, k), whole(k, n, seed=1), whole(n, seed=2)
    want = product(x, w)
    for trans_a, trans_b in itertools.product((False, True), repeat=2):
        y = ops.MatMul(trans_a, trans_b)(Tensor(turned(x, trans_a)), Tensor(turned(w, trans_b)))
        np.testing.assert_array_equal(y.asnumpy(), want)
    rows = Tensor(turned(w, True))
    np.testing.assert_array_equal(ops.dense(Tensor(x), rows).asnumpy(), want)
    np.testing.assert_array_equal(ops.dense(Tensor(x), rows, Tensor(b)).asnumpy(), want + b)


@pytest.mark.parametrize("a, b", [((3, 200, 400), (400, 500)), ((2, 1, 150, 300), (4, 300, 800)),
                                  ((5, 257, 300), (5, 300, 470))], ids=str)
def test_stacks(a, b):
    x, w = whole(*a), whole(*b, seed=1)
    np.testing.assert_array_equal(ops.matmul(Tensor(x), Tensor(w)).asnumpy(), product(x, w))


def test_what_is_no_number_stays_in_its_row_and_column():
    x, w = whole(200, 600), whole(600, 333, seed=1)
    x[7, 30], w[599, 332] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        want = product(x, w)
    np.testing.assert_array_equal(ops.matmul(Tensor(x), Tensor(w)).asnumpy(), want)


def computed_in_panels():
    program = ("import numpy as np, pijit as ms\n"
               "from pijit import ops\n"
               "ops.matmul(ms.Tensor(np.ones((900, 700), np.float32)), ms.Tensor(np.ones((700, 1000), np.float32)))")
    env = {**os.environ, "PIJIT_LOG": "dispatch", "PYTHONPATH": os.pathsep.join(sys.path)}
    log = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True).stderr
    return "matmul -> panels" in log


def test_an_element_does_not_depend_on_the_others():
    """As bits depend on what is summed over alone."""
    random = np.random.default_rng(0)
    x, w = (random.standard_normal(s).astype(np.float32) for s in ((900, 700), (700, 1000)))
    all_of_them = ops.matmul(Tensor(x), Tensor(w)).asnumpy()
    some = ops.matmul(Tensor(x[100:500]), Tensor(np.ascontiguousarray(w[:, 300:600]))).asnumpy()
    rows = ops.dense(Tensor(x[100:500]), Tensor(turned(w[:, 300:600], True))).asnumpy()
    if not computed_in_panels():
        pytest.skip("other kernels' bits may depend on sizes")
    np.testing.assert_array_equal(some, all_of_them[100:500, 300:600])
    np.testing.assert_array_equal(rows, some)


# Images, channels, filters, side, kernel and stride.
CONVOLUTIONS = [(8, 64, 256, 28, 1, 1), (8, 512, 128, 14, 1, 1), (3, 1024, 512, 7, 1, 1), (2, 48, 80, 15, 1, 1),
                (2, 24, 144, 30, 1, 1), (1, 32, 64, 113, 1, 1), (5, 64, 64, 20, 1, 1), (17, 96, 160, 5, 1, 1),
                (8, 64, 128, 28, 1, 2), (2, 24, 144, 29, 1, 2), (3, 256, 512, 14, 1, 2), (2, 64, 96, 31, 1, 3),
                (8, 3, 768, 64, 16, 16), (2, 3, 96, 64, 4, 4), (3, 5, 80, 37, 3, 3), (2, 3, 200, 64, (2, 8), (2, 8))]


def gradient(x, w, g, stride):
    return ms.grad(lambda w: (ops.conv2d(ops.relu(x), w, None, stride) * g).sum())(w)


@pytest.mark.parametrize("size", CONVOLUTIONS, ids=str)
def test_gradients_by_weights(size):
    images, channels, filters, side, kernel, stride = size
    kernel, stride = (v if isinstance(v, tuple) else (v, v) for v in (kernel, stride))
    out = [(side - k) // s + 1 for k, s in zip(kernel, stride)]
    x, w = whole(images, channels, side, side), whole(filters, channels, *kernel, seed=1)
    g = whole(images, filters, *out, seed=2)
    windows = np.lib.stride_tricks.sliding_window_view(np.maximum(x, 0), kernel, (2, 3))
    windows = windows[:, :, ::stride[0], ::stride[1]].transpose(0, 2, 3, 1, 4, 5).reshape(-1, w[0].size)
    want = product(g.transpose(1, 0, 2, 3).reshape(filters, -1), windows).reshape(w.shape)
    operands = [Tensor(v) for v in (x, w, g)]
    for function in (gradient, ms.jit(gradient)):
        np.testing.assert_array_equal(function(*operands, stride).asnumpy(), want)


def step(x, w, v, g):
    """Two convolutions, so that what is between them lies in blocks under capture."""
    def loss(w, v):
        return (ops.conv2d(ops.relu(ops.conv2d(x, w)), v) * g).sum()

    return ms.grad(loss, (0, 1))(w, v)


@pytest.mark.parametrize("size", [(8, 64, 160, 96, 14), (3, 256, 512, 128, 7), (2, 48, 64, 80, 30)], ids=str)
def test_bits_in_blocks(size):
    images, channels, between, filters, side = size
    random = np.random.default_rng(1)
    shapes = ((images, channels, side, side), (between, channels, 1, 1), (filters, between, 1, 1),
              (images, filters, side, side))
    operands = [Tensor(random.standard_normal(s).astype(np.float32)) for s in shapes]
    for eager, jitted in zip(step(*operands), ms.jit(step)(*operands)):
        np.testing.assert_array_equal(jitted.asnumpy(), eager.asnumpy())


def test_bits_on_any_number_of_threads():
    program = ("import hashlib, numpy as np, pijit as ms\n"
               "from pijit import ops\n"
               "r = np.random.default_rng(0)\n"
               "t = lambda *s: ms.Tensor(r.standard_normal(s).astype(np.float32))\n"
               "found = [ops.matmul(t(500, 900), t(900, 1300)), ops.matmul(t(3, 200, 400), t(400, 500))]\n"
               "x, g = t(8, 128, 14, 14), t(8, 96, 14, 14)\n"
               "found.append(ms.grad(lambda w: (ops.conv2d(x, w) * g).sum())(t(96, 128, 1, 1)))\n"
               "print(*(hashlib.sha256(y.asnumpy().tobytes()).hexdigest() for y in found))\n")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    told = {subprocess.run([sys.executable, "-c", program], env={**env, "OMP_NUM_THREADS": str(n)},
                           capture_output=True, text=True, check=True).stdout for n in (1, 2, 3, 7)}
    assert len(told) == 1
