"""Convolutions and their gradients in every combination of groups, dilation, stride and kernel: float32 against
float64, and never by the reference kernels' plain loops."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

import pijit as ms
from pijit import ops

COMBINATIONS = [c for c in itertools.product((1, 2, 4, 8, 32), (1, 2, 3), (1, 2), (1, 3, 5)) if c != (1, 1, 1, 1)]


def results(dtype, group, dilation, stride, kernel):
    rng = np.random.default_rng(group + 10 * dilation + 100 * stride)
    x = ms.Tensor(rng.standard_normal((3, 32, 12, 11)).astype(dtype))
    w = ms.Tensor(rng.standard_normal((32, 32 // group, kernel, kernel)).astype(dtype))

    def loss(x, w):
        y = ops.conv2d(x, w, None, stride, "pad", dilation * (kernel // 2), dilation, group)
        return (y * y).sum(), y

    (_, y), (dx, dw) = ms.value_and_grad(loss, (0, 1), has_aux=True)(x, w)
    return [t.asnumpy() for t in (y, dx, dw)]


@pytest.mark.parametrize("combination", COMBINATIONS, ids=str)
def test_float32_agrees_with_float64(combination):
    for single, double in zip(results(np.float32, *combination), results(np.float64, *combination)):
        np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-4 * np.abs(double).max())


def test_no_combination_runs_in_plain_loops():
    if os.environ.get("PIJIT_BACKEND") == "reference" or os.environ.get("PIJIT_ISA") == "none":
        pytest.skip("asked for")
    program = ("from test_conv_kernels import *\n"
               "for c in COMBINATIONS: results(np.float32, *c), results(np.float64, *c)")
    env = {**os.environ, "PIJIT_LOG": "dispatch", "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path])}
    log = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True).stderr
    chosen = {line.split("]", 1)[1].rsplit(" ", 1)[0] for line in log.splitlines() if "] conv2d" in line
              and "->" in line}
    assert chosen and not [c for c in chosen if "reference" in c], sorted(chosen)


@pytest.mark.parametrize("seed", range(80))
def test_random_sizes_agree_with_float64(seed):
    """Channels that leave part of a vector; kernels, strides, dilations and padding that differ by side; a bias."""
    rng = np.random.default_rng(seed)
    group = int(rng.choice((1, 1, 2, 3, rng.integers(4, 30))))  # most: one per channel
    channels, filters = (int(v) for v in rng.integers(1, 27, 2)) if group < 4 else (1, 1)
    kernel, dilation = rng.integers(1, 10, 2), rng.choice((1, 2, 3, 5, 18), 2)
    stride, pads = tuple(int(v) for v in rng.integers(1, 3, 2)), tuple(int(v) for v in rng.integers(0, 9, 4))
    reach = (kernel - 1) * dilation + 1
    side = np.maximum(rng.integers(1, 40, 2), reach - np.array((pads[0] + pads[1], pads[2] + pads[3])))
    side = np.maximum(side, 1)
    x = rng.standard_normal((int(rng.integers(1, 4)), group * channels, *side))
    w = rng.standard_normal((group * filters, channels, *kernel))
    b = rng.standard_normal(group * filters)

    def loss(x, w, b):
        y = ops.conv2d(x, w, b, stride, "pad", pads, tuple(int(v) for v in dilation), group)
        return (y * y).sum(), y

    step = ms.jit(ms.value_and_grad(loss, (0, 1, 2), has_aux=True))
    (_, y), gradients = step(*(ms.Tensor(v.astype(np.float32)) for v in (x, w, b)))
    (_, want), wanted = step(*(ms.Tensor(v.astype(np.float32).astype(np.float64)) for v in (x, w, b)))
    for single, double in zip((y, *gradients), (want, *wanted)):
        double = double.asnumpy()
        np.testing.assert_allclose(single.asnumpy(), double, rtol=1e-4, atol=1e-5 * np.abs(double).max(initial=1e-30))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("group,dilation", list(itertools.product((32, 8, 4, 1), (1, 2, 3))), ids=str)
def test_what_padding_meets_takes_no_part(group, dilation, dtype):
    """Weights that are no numbers: an element of the gradient is one where some of its products are, none with
    padding."""
    rng = np.random.default_rng(group + dilation)
    w = rng.standard_normal((32, 32 // group, 3, 5)).astype(dtype)
    w[:, :, 0, 0], w[1, 0, 2, 4] = np.inf, np.nan
    top, bottom, left, right = pads = (1, 1 + dilation, 0, 2)
    y = (2, 32, 9 + top + bottom - 2 * dilation, 14 + left + right - 4 * dilation)
    ct = rng.standard_normal(y).astype(dtype)

    def loss(x):
        return (ops.conv2d(x, ms.Tensor(w), None, 1, "pad", pads, dilation, group) * ms.Tensor(ct)).sum()

    got = ms.jit(ms.grad(loss))(ms.Tensor(np.zeros((2, 32, 9, 14), dtype))).asnumpy()
    want = np.zeros((2, 32, 9 + top + bottom, 14 + left + right))
    for filter, (c, a, b) in itertools.product(range(32), itertools.product(range(32 // group), range(3), range(5))):
        rows, columns = slice(a * dilation, a * dilation + y[2]), slice(b * dilation, b * dilation + y[3])
        channel = filter // (32 // group) * (32 // group) + c
        with np.errstate(invalid="ignore"):
            want[:, channel, rows, columns] += ct[:, filter].astype(np.float64) * w[filter, c, a, b]
    np.testing.assert_allclose(got, want[:, :, top:top + 9, left:left + 14], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("images", [1, 3])
@pytest.mark.parametrize("channels, filters", [(1, 5), (3, 24), (5, 16), (20, 20), (24, 40), (116, 58), (16, 7),
                                               (300, 300)])
def test_pointwise(images, channels, filters):
    """Kernels of 1 x 1 of channels that fill no blocks, and their gradients: exact, in eager mode and captured."""
    r = np.random.RandomState(channels)
    for height, width in ((1, 1), (3, 5), (7, 7), (8, 9), (17, 12)):
        x, w, b, ct = (r.randint(-4, 5, s).astype(np.float32) for s in (
            (images, channels, height, width), (filters, channels, 1, 1), (filters,), (images, filters, height, width)))

        def loss(x, w, b):
            return (ops.conv2d(x, w, b) * ms.Tensor(ct)).sum(), ops.conv2d(x, w, b), ops.conv2d(x, w)

        gradient = ms.value_and_grad(loss, (0, 1, 2), has_aux=True)
        for f in (gradient, ms.jit(gradient)):
            (_, y, plain), (dx, dw, db) = f(ms.Tensor(x), ms.Tensor(w), ms.Tensor(b))
            want = np.einsum("fc,nchw->nfhw", w[:, :, 0, 0], x)
            np.testing.assert_array_equal(plain.asnumpy(), want)
            np.testing.assert_array_equal(y.asnumpy(), want + b.reshape(-1, 1, 1))
            np.testing.assert_array_equal(dx.asnumpy(), np.einsum("fc,nfhw->nchw", w[:, :, 0, 0], ct))
            np.testing.assert_array_equal(dw.asnumpy()[:, :, 0, 0], np.einsum("nfhw,nchw->fc", ct, x))
            np.testing.assert_array_equal(db.asnumpy(), ct.sum((0, 2, 3)))


@pytest.mark.parametrize("channels, per_channel", [(1, 1), (7, 1), (24, 1), (58, 1), (116, 1), (16, 2), (5, 3)])
@pytest.mark.parametrize("kernel, stride, dilation", [((3, 3), 1, 1), ((5, 5), 1, 1), ((3, 3), 2, 1), ((5, 5), 2, 1),
                                                      ((1, 4), 3, 1), ((2, 3), (1, 4), (3, 1)), ((3, 3), 1, 2)])
def test_depthwise(channels, per_channel, kernel, stride, dilation):
    """A group per channel, of channels that fill no blocks: exact, in eager mode and captured, on maps of less than a
    vector and more."""
    r = np.random.RandomState(channels)
    for height, width in ((7, 7), (9, 16), (14, 15), (33, 40)):
        x, w, b = (r.randint(-4, 5, s).astype(np.float32) for s in (
            (2, channels, height, width), (channels * per_channel, 1, *kernel), (channels * per_channel,)))
        pads = tuple(int(v) for v in r.randint(0, 4, 4))

        def f(x, w, b):
            return ops.conv2d(x, w, b, stride, "pad", pads, dilation, channels)

        def loss(x, w, b):
            y = f(x, w, b)
            return (y * y).sum(), y

        gradient = ms.value_and_grad(loss, (0,), has_aux=True)
        (_, want), dx_want = gradient(*(ms.Tensor(v.astype(np.float64)) for v in (x, w, b)))
        for call in (gradient, ms.jit(gradient)):
            (_, y), dx = call(ms.Tensor(x), ms.Tensor(w), ms.Tensor(b))
            np.testing.assert_array_equal(y.asnumpy(), want.asnumpy())
            np.testing.assert_array_equal(dx[0].asnumpy(), dx_want[0].asnumpy())


@pytest.mark.skipif(os.environ.get("PIJIT_ISA") == "none", reason="oneDNN's multiply with the padding")
@pytest.mark.parametrize("stride", [1, 2])
def test_padding_takes_no_part_in_depthwise(stride):
    r = np.random.RandomState(0)
    x, w = r.randn(2, 20, 9, 12).astype(np.float32), r.randn(20, 1, 3, 3).astype(np.float32)
    want = ops.conv2d(ms.Tensor(x), ms.Tensor(w), None, stride, "pad", 1, 1, 20).asnumpy()
    w[3, 0, 0, 1], w[4, 0, 1, 0], w[5, 0, 2, 2] = np.inf, np.nan, -np.inf
    got = ops.conv2d(ms.Tensor(x), ms.Tensor(w), None, stride, "pad", 1, 1, 20).asnumpy()
    others = [c for c in range(20) if c not in (3, 4, 5)]
    np.testing.assert_array_equal(got[:, others], want[:, others])
    assert np.isfinite(got[:, 3, 0]).all() and not np.isfinite(got[:, 3, 1:]).any()
    assert np.isfinite(got[:, 4, :, 0]).all() and np.isnan(got[:, 4, :, 1:]).all()
    assert not np.isfinite(got[:, 5, :-1, :-1]).any()


@pytest.mark.parametrize("channels, filters, group", [(16, 16, 1), (48, 32, 1), (32, 80, 1), (272, 64, 1), (64, 48, 1),
                                                      (64, 64, 2), (48, 96, 3), (64, 64, 4)])
@pytest.mark.parametrize("kernel, stride, dilation", [((1, 1), 1, 1), ((1, 1), 2, 1), ((3, 3), 1, 1), ((3, 3), 2, 1),
                                                      ((5, 2), 1, 1), ((3, 3), 1, 3), ((7, 7), (2, 1), 1)])
def test_whole_blocks(channels, filters, group, kernel, stride, dilation):
    """Channels that fill blocks, of small maps: exact, also of weights that are kept, and in eager mode."""
    r = np.random.RandomState(channels + filters)
    for images, height, width, pad in ((1, 7, 7, None), (3, 5, 9, 0), (2, 14, 14, None), (1, 20, 11, 2)):
        pads = [k // 2 * dilation for k in kernel for _ in range(2)] if pad is None else [pad] * 4
        reach = [(k - 1) * dilation + 1 for k in kernel]
        if height + pads[0] + pads[1] < reach[0] or width + pads[2] + pads[3] < reach[1]:
            continue
        x, w, b = (r.randint(-4, 5, s).astype(np.float32) for s in (
            (images, channels, height, width), (filters, channels // group, *kernel), (filters,)))

        def f(x, w, b):
            return ops.conv2d(x, w, b, stride, "pad", tuple(pads), dilation, group), ops.conv2d(
                x, w, None, stride, "pad", tuple(pads), dilation, group)

        want = [t.asnumpy() for t in f(*(ms.Tensor(v.astype(np.float64)) for v in (x, w, b)))]
        tensors = [ms.Tensor(v) for v in (x, w, b)]
        for call in (f, f, ms.jit(f)):  # weights are kept from the second call on
            for got, exact in zip(call(*tensors), want):
                np.testing.assert_array_equal(got.asnumpy(), exact)


@pytest.mark.parametrize("m", [17, 29, 50, 128, 129])
@pytest.mark.parametrize("k, n", [(16, 16), (48, 32), (400, 112), (768, 64), (64, 768)])
def test_dense_of_some_rows(m, k, n):
    r = np.random.RandomState(m)
    x, w, b = (r.randint(-4, 5, s).astype(np.float32) for s in ((m, k), (n, k), (n,)))
    tensors = [ms.Tensor(v) for v in (x, w, b)]
    for call in (ops.dense, ops.dense, ms.jit(lambda *t: ops.dense(*t))):
        np.testing.assert_array_equal(call(*tensors).asnumpy(), x @ w.T + b)
        np.testing.assert_array_equal(call(*tensors[:2]).asnumpy(), x @ w.T)


def test_captured_convolutions_have_the_bits_of_eager_ones():
    """In blocks and in the plain layout, with kept weights and new ones, of one image and of several at once."""
    r = np.random.RandomState(3)
    for c, f, side, k, s, g in ((64, 96, 7, 3, 1, 1), (96, 64, 14, 3, 2, 1), (64, 64, 9, 1, 1, 1),
                                (64, 64, 14, 3, 1, 4), (24, 24, 14, 3, 1, 24), (20, 20, 15, 5, 2, 20)):
        x = ms.Tensor(r.randn(4, c, side, side).astype(np.float32))
        w = ms.Tensor(r.randn(f, c // g, k, k).astype(np.float32))
        v = ms.Tensor(r.randn(32, f, 1, 1).astype(np.float32))

        def net(x, w, v):
            return ops.conv2d(ops.relu(ops.conv2d(x, w, None, s, "pad", k // 2, 1, g)), v)

        want = net(x, w, v).asnumpy()
        jitted = ms.jit(net)
        for _ in range(3):
            np.testing.assert_array_equal(jitted(x, w, v).asnumpy(), want)
        for n in range(4):
            np.testing.assert_array_equal(net(x[n:n + 1], w, v).asnumpy(), want[n:n + 1])
