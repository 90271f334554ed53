"""Values that stay in blocks of channels between convolutions, layout changes and layer normalisation: the
bits of eager mode, the values of NumPy."""

import itertools
import re
import os

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import pijit as ms
from pijit import _C, Tensor, nn, ops
from tests.python.differential import check

EXAMPLES = int(os.environ.get("PIJIT_FUZZ", "25"))

STEPS = {
    "conv": lambda c: (nn.Conv2d(c, c, 3, has_bias=True), c), "wide": lambda c: (nn.Conv2d(c, 32, 1), 32),
    "narrow": lambda c: (nn.Conv2d(c, 16, 3, stride=2), 16), "odd": lambda c: (nn.Conv2d(c, 5, 3), 5),
    "odd_point": lambda c: (nn.Conv2d(c, 20, 1, has_bias=True), 20), "point": lambda c: (nn.Conv2d(c, 24, 1), 24),
    "valid": lambda c: (nn.Conv2d(c, 16, 2, pad_mode="valid"), 16), "group": lambda c: (nn.Conv2d(c, c, 3, group=c), c),
    "relu": lambda c: (nn.ReLU(), c), "tanh": lambda c: (nn.Tanh(), c),
    "max": lambda c: (nn.MaxPool2d(2, 2), c), "max_overlapping": lambda c: (nn.MaxPool2d(3, 2, pad_mode="same"), c),
    "avg": lambda c: (nn.AvgPool2d(2, 2), c),
    "avg_overlapping": lambda c: (nn.AvgPool2d(3, 1, pad_mode="same"), c),
    "norm": lambda c: (nn.BatchNorm2d(c), c), "residual": lambda c: (Residual(c), c), "gate": lambda c: (Gate(c), c),
    "mixed": lambda c: (Mixed(), c), "select": lambda c: (Select(), c), "joined": lambda c: (Joined(c), 32),
    "halves": lambda c: (Halves(c), c), "groups": lambda c: (nn.Conv2d(c, c, 3, group=2 - c % 2), c)}


class Residual(nn.Cell):
    def __init__(self, c):
        super().__init__()
        self.a, self.b = nn.Conv2d(c, c, 3), nn.Conv2d(c, c, 1)

    def construct(self, x):
        return ops.relu(self.b(ops.relu(self.a(x))) + x)


class Joined(nn.Cell):
    """Channels of two maps side by side, as in DenseNet."""

    def __init__(self, c):
        super().__init__()
        self.a, self.b = nn.Conv2d(c, 16, 3), nn.Conv2d(c + 16, 32, 1)

    def construct(self, x):
        return self.b(ops.relu(ops.concat((x, self.a(x)), 1)))


class Halves(nn.Cell):
    """Some of the channels each, as in ShuffleNet; the first ones' block by an index of its own."""

    def __init__(self, c):
        super().__init__()
        self.half = (c + 1) // 2
        self.a = nn.Conv2d(self.half, self.half, 3)

    def construct(self, x):
        return ops.concat((ops.relu(self.a(x[:, :self.half])), x[:, self.half:]), 1)


class Gate(nn.Cell):
    """Squeeze and excitation: a factor per image and channel."""

    def __init__(self, c):
        super().__init__()
        self.fc = nn.Dense(c, c)

    def construct(self, x):
        return x * ops.sigmoid(self.fc(x.mean((2, 3)))).reshape(x.shape[0], -1, 1, 1)


class Mixed(nn.Cell):
    """Operands of every broadcast shape, and a sum over what is in blocks."""

    def construct(self, x):
        n, c, h, w = x.shape
        ramp = ops.arange(h * w).reshape(h, w).astype(ms.float32) / (h * w)
        return (x * ramp + ramp.reshape(1, 1, h, w) - x.sum((0, 2, 3), keepdims=True) * 0.01 +
                ops.arange(n).reshape(n, 1, 1, 1))


class Select(nn.Cell):
    """Bools in blocks, and one operand that comes from elsewhere."""

    def construct(self, x):
        return ops.where(x > 0, x, x.flip((0,)) * 0.1)


def network(steps):
    layers, c = [], 3
    for s in ["wide", *steps]:
        layer, c = STEPS[s](c)
        layers.append(layer)
    return nn.SequentialCell(layers)


@settings(max_examples=EXAMPLES)
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=6), st.booleans(), st.integers(0, 99),
       st.sampled_from([(11, 12), (16, 16), (12, 20)]))
def test_generated_networks(steps, train, seed, shape):
    rng = np.random.RandomState(seed)
    x, size = rng.randn(2, 3, *shape).astype(np.float32), shape[0]
    for s in steps:  # maps do not run out
        size = (size + 1) // 2 if s in ("narrow", "max", "avg", "max_overlapping") else size - (s == "valid")
        if size < 3:
            steps = steps[: steps.index(s)]
            break

    def make():
        ms.set_seed(seed)
        net = network(steps)
        net.set_train(train)
        if not train:
            return net, lambda: None
        params = net.trainable_params()
        gradient = ms.value_and_grad(lambda x: (net(x) * net(x)).mean(), 0, ms.ParameterTuple(params))
        return lambda x: gradient(x), lambda: [p.asnumpy().tobytes() for p in net.get_parameters()]
    check(make, Tensor(x))


def compiled(make, x):
    """The program of a jitted run, as text."""
    f = ms.jit(make())
    f(x)
    return ms.explain(f).entries[0]["program"]


blocks_only = pytest.mark.skipif(_C.channel_block() == 0, reason="the kernels at hand know one layout")


@blocks_only
@pytest.mark.parametrize("stride", [1, 2])
def test_a_group_per_channel_stays_in_blocks(stride):
    def make():
        a, b, c = nn.Conv2d(3, 32, 3), nn.Conv2d(32, 32, 3, stride, group=32), nn.Conv2d(32, 16, 1)
        return lambda x: c(ops.relu6(b(ops.relu6(a(x)))))
    text = compiled(make, Tensor(np.ones((2, 3, 8, 8), np.float32)))
    assert text.count("conv2d_blocked") == 3 and text.count("unblock_channels") == 1, text
    assert "  block_channels" not in text, text


@blocks_only
def test_channels_are_joined_and_taken_in_blocks():
    def make():
        a, b, c, d = nn.Conv2d(3, 32, 3), nn.Conv2d(32, 32, 3), nn.Conv2d(64, 32, 1), nn.Conv2d(32, 16, 1)

        def f(x):
            y = ops.relu(a(x))
            z = ops.concat((y, b(y)), 1)
            return c(z) + d(z[:, 16:48])[:, :1]
        return f
    text = compiled(make, Tensor(np.ones((2, 3, 8, 8), np.float32)))
    assert text.count("conv2d_blocked") == 4 and "  block_channels" not in text, text
    check(make, Tensor(np.random.RandomState(0).randn(2, 3, 8, 8).astype(np.float32)))


@blocks_only
def test_groups_of_whole_blocks_stay_in_blocks():
    def make():
        a, b, c = nn.Conv2d(3, 64, 3), nn.Conv2d(64, 64, 3, group=4), nn.Conv2d(64, 16, 1)
        return lambda x: c(ops.relu(b(ops.relu(a(x)))))
    text = compiled(make, Tensor(np.ones((2, 3, 8, 8), np.float32)))
    assert text.count("conv2d_blocked") == 3 and "  block_channels" not in text, text


@blocks_only
def test_one_layout_change_each_way():
    # Between three convolutions nothing is reordered; the image goes in as it is, the result comes out.
    def make():
        a, b, c, pool = (nn.Conv2d(3, 32, 3), nn.Conv2d(32, 32, 3, has_bias=True), nn.Conv2d(32, 16, 1),
                         nn.MaxPool2d(2, 2))
        return lambda x: c(ops.relu(b(pool(ops.relu(a(x))))))
    text = compiled(make, Tensor(np.ones((2, 3, 8, 8), np.float32)))
    assert text.count("conv2d_blocked") == 3 and text.count("max_pool2d_blocked") == 1, text
    assert text.count("unblock_channels") == 1 and "  block_channels" not in text, text


@pytest.mark.parametrize("shape", [(8, 8), (4, 12), (7, 7), (64, 64), (64, 65), (64, 128), (112, 112), (96, 128),
                                   (80, 80)])
def test_sums_over_positions(shape):
    # The tree of a sum is that of the plain layout, within a chunk of a row and over several.
    def make():
        ms.set_seed(0)
        a, norm, b = nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16).set_train(), nn.Conv2d(16, 16, 1)
        ramp = ops.arange(shape[0]).astype(ms.float32).reshape(-1, 1)

        def loss(x):
            y = ops.relu(norm(a(x)))
            z = b(y * ramp)
            return ((z * z).sum(), z.sum((2, 3)), y.mean((2, 3), True), z.std((0, 2, 3)), y.sum(), z.max((2, 3)),
                    z.sum(3))
        return (ms.value_and_grad(loss, 0, ms.ParameterTuple(a.trainable_params() + norm.trainable_params()),
                                  has_aux=True), lambda: norm.moving_variance.asnumpy().tobytes())
    check(make, Tensor(np.random.RandomState(1).randn(2, 3, *shape).astype(np.float32)), graphs=1, breaks=0)


@blocks_only
@pytest.mark.parametrize("side, rows", [(8, "4"), (112, "196")])
def test_batch_norm_between_convolutions_stays_in_blocks(side, rows):
    def make():
        a, norm, b = nn.Conv2d(32, 32, 3), nn.BatchNorm2d(32).set_train(), nn.Conv2d(32, 32, 3)
        return ms.grad(lambda x: b(ops.relu(norm(a(x)))).sum())
    text = compiled(make, Tensor(np.ones((2, 32, side, side), np.float32)))
    # [N, blocks, rows, lanes * block]; block_channels: of the image and its gradient
    assert re.search(rf"loop\.col\[[\d,]*{rows},(256|128)\]", text) and text.count("block_channels") == 2, text


@pytest.mark.parametrize("n", [4096, 4160, 8192, 12304, 12544, 20544, 50176, 100000])
def test_long_rows_are_summed_in_chunks(n):
    """Of 4,096, or all alike and of whole vectors: 16 lanes, which are folded by halves."""
    x = np.random.default_rng(0).standard_normal((3, n)).astype(np.float32)
    least = -(-n // 4096)
    equal = [k for k in range(least, min(2 * least, least + 32)) if n % (64 * k) == 0]
    chunk = n // equal[0] if equal else 4096
    want = np.zeros(3, np.float32)
    for at in range(0, n, chunk):
        part = x[:, at:at + chunk]
        lanes = np.zeros((3, 16), np.float32)
        for k in range(0, part.shape[1], 16):
            lanes[:, :part[0, k:k + 16].size] += part[:, k:k + 16]
        for half in (8, 4, 2, 1):
            lanes = lanes[:, :half] + lanes[:, half:2 * half]
        want = want + lanes[:, 0]
    for f in (lambda x: x.sum(-1), ms.jit(lambda x: x.sum(-1))):
        np.testing.assert_array_equal(f(Tensor(x)).asnumpy(), want)


def test_bools_of_maps_in_blocks_are_results():
    a, b = nn.Conv2d(16, 16, 3), nn.Conv2d(16, 16, 3)

    def make():
        def f(x):
            y = a(x)
            positive = y > 0
            return b(ops.where(positive, y, 0.1)), positive
        return f
    check(make, Tensor(np.random.RandomState(0).randn(2, 16, 8, 8).astype(np.float32)), graphs=1, breaks=0)


def test_a_lone_convolution_keeps_its_layout():
    def make():
        a = nn.Conv2d(16, 32, 3)
        return lambda x: ops.relu(a(x))
    assert "block" not in compiled(make, Tensor(np.ones((2, 16, 8, 8), np.float32)))


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "u8", "f2", "?"])
def test_transpose_moves_bits(dtype):
    rng = np.random.RandomState(0)
    for shape in [(64, 128), (5, 7, 131), (3, 17, 9, 16), (2, 3, 5, 7, 33), (1, 1, 70, 70), (2, 2, 2, 3, 4, 5, 50),
                  (1, 4096), (0, 9), (3, 4)]:
        n = int(np.prod(shape)) * np.dtype(dtype).itemsize
        x = np.frombuffer(rng.bytes(n), dtype="u1") if dtype != "?" else rng.randint(0, 2, n).astype("u1")
        x = x.view(dtype).reshape(shape)
        for p in itertools.islice(itertools.permutations(range(len(shape))), 0, 100, 7 if len(shape) > 4 else 1):
            assert (ops.transpose(Tensor(x), p).asnumpy().tobytes() ==
                    np.ascontiguousarray(x.transpose(p)).tobytes()), (shape, p)


@pytest.mark.parametrize("shape, axes",
                         [((256, 64), 1), ((8, 16, 32), 2), ((3, 5), 1), ((2, 70, 33), 1), ((4096,), 1), ((1, 5000), 1),
                          ((0, 5), 1), ((5000, 1), 1)])
def test_layer_norm(shape, axes):
    rng = np.random.RandomState(0)
    last, around = shape[-axes:], tuple(range(len(shape) - axes, len(shape)))
    x, g, b = rng.randn(*shape) * 3 + 1, rng.randn(*last), rng.randn(*last)
    for dtype, tolerance in (("f4", 2e-5), ("f8", 1e-9), ("f2", 5e-2)):
        for gamma, beta in itertools.product((False, True), repeat=2):
            r = ops.layer_norm(Tensor(x.astype(dtype)), last, Tensor(g.astype(dtype)) if gamma else None,
                               Tensor(b.astype(dtype)) if beta else None)
            want = ((x - x.mean(around, keepdims=True)) / np.sqrt(x.var(around, keepdims=True) + 1e-5) *
                    (g if gamma else 1) + (b if beta else 0))
            assert r.asnumpy().dtype == np.dtype(dtype)
            np.testing.assert_allclose(r.asnumpy(), want, atol=tolerance, rtol=tolerance)


def test_layer_norm_rejects():
    x = Tensor(np.ones((2, 3), np.float32))
    with pytest.raises(ValueError, match="last dimensions"):
        ops.layer_norm(x, (4,))
    with pytest.raises(ValueError, match="gamma and beta"):
        ops.layer_norm(x, (3,), Tensor(np.ones(4, np.float32)))
    with pytest.raises(TypeError, match="floating"):
        ops.layer_norm(x.astype(ms.int32), (3,))


def test_layer_norm_in_a_network():
    def make():
        net = nn.SequentialCell([nn.Dense(64, 128), nn.LayerNorm((128,)), nn.ReLU(), nn.Dense(128, 64),
                                 nn.LayerNorm((64,))])
        gradient = ms.value_and_grad(lambda x: (net(x) ** 3).mean(), 0, ms.ParameterTuple(net.trainable_params()))
        return lambda x: gradient(x)
    check(make, Tensor(np.random.RandomState(0).randn(80, 64).astype(np.float32)), graphs=1, breaks=0)


def test_long_half_reductions_inside_lowered_ops():
    # Reductions that a lowering rule writes are themselves computed in float32.
    x = Tensor(np.linspace(-3, 3, 10000, dtype=np.float16).reshape(2, 5000))
    e = np.exp(x.asnumpy().astype(np.float64))
    np.testing.assert_allclose(ops.softmax(x, -1).asnumpy(), e / e.sum(1, keepdims=True), rtol=2e-2)
    assert ops.log_softmax(Tensor(np.ones((40, 5000), np.float16)), -1).asnumpy()[0, 0] == np.float16(-np.log(5000))


def test_squares_are_products():
    for x in (Tensor(np.array([1e-30, -3.1, np.inf, np.nan], np.float32)), Tensor(np.array([-7, 46341], np.int32)),
              Tensor(np.array([1.1, -2.3]))):
        assert (x ** 2).asnumpy().tobytes() == (x * x).asnumpy().tobytes() and (x ** 2).dtype == x.dtype
        assert ops.pow(x, 1).asnumpy().tobytes() == x.asnumpy().tobytes()
    check(lambda: lambda x: ms.grad(lambda x: (x ** 2).sum())(x), Tensor(np.array([1.5, -2.0], np.float32)), graphs=1)


@pytest.mark.parametrize("shape",
                         [(2, 3, 4, 4), (1, 2, 5, 7), (2, 2, 28, 28), (3, 1, 9, 33), (1, 1, 2, 2), (2, 16, 56, 56),
                          (2, 2, 6, 34)])
def test_average_of_pairs(shape):
    rng = np.random.RandomState(0)
    x = rng.randn(*shape).astype(np.float32)
    x.reshape(-1)[::7] *= -0.0
    h, w = shape[2] // 2, shape[3] // 2
    y = ops.avg_pool2d(Tensor(x), 2, 2).asnumpy()
    p = x[:, :, : 2 * h, : 2 * w].reshape(shape[0], shape[1], h, 2, w, 2)
    want = (p[:, :, :, 0, :, 0] + p[:, :, :, 1, :, 0]) + (p[:, :, :, 0, :, 1] + p[:, :, :, 1, :, 1])
    np.testing.assert_allclose(y, want / 4, rtol=1e-6, atol=1e-7)
    dy = rng.randn(*y.shape).astype(np.float32)
    dx = ms.grad(lambda t: (ops.avg_pool2d(t, 2, 2) * Tensor(dy)).sum())(Tensor(x)).asnumpy()
    spread = np.zeros(shape, np.float32)
    spread[:, :, : 2 * h, : 2 * w] = np.repeat(np.repeat(dy / np.float32(4), 2, 2), 2, 3)
    np.testing.assert_array_equal(dx, spread)


@pytest.mark.parametrize("f", [ops.softmax, ops.log_softmax])
def test_softmax_of_what_is_no_number(f):
    rows = np.linspace(-2, 2, 8 * 37, dtype=np.float32).reshape(8, 37)
    for r, c, v in ((1, 0, np.nan), (2, 36, np.nan), (3, 5, np.inf), (4, 7, -np.inf), (5, 3, 3e38)):
        rows[r, c] = v
    rows[6] = -np.inf
    with np.errstate(all="ignore"):
        e = np.exp(rows.astype(np.float64) - rows.max(1, keepdims=True))
        want = e / e.sum(1, keepdims=True)
        want = np.log(want) if f is ops.log_softmax else want
    got = f(Tensor(rows), -1).asnumpy()
    assert (np.isnan(got).all(1).tolist() == np.isnan(want).all(1).tolist() ==
            [False, True, True, True, False, False, True, False])
    for r in (0, 4, 7):
        np.testing.assert_allclose(got[r], want[r], rtol=3e-6, atol=1e-7)
    check(lambda: lambda x: f(x, -1), Tensor(rows), graphs=1, breaks=0)


CONVOLUTIONS = [
    ((3, 1, 9, 11), (8, 1, 5, 5), (1, 1), (2, 2, 2, 2)), ((9, 3, 13, 28), (16, 3, 3, 3), (1, 1), (1, 1, 1, 1)),
    ((2, 4, 8, 5), (6, 4, 7, 4), (2, 2), (3, 0, 1, 2)),
    ((4, 2, 6, 30), (11, 2, 1, 7), (2, 2), (0, 0, 5, 4)), ((1, 1, 1, 1), (1, 1, 1, 1), (1, 1), (0, 0, 0, 0)),
    ((5, 3, 4, 4), (24, 3, 2, 6), (1, 1), (0, 1, 3, 3)),
    ((64, 1, 28, 28), (8, 1, 6, 6), (1, 1), (0, 0, 0, 0)), ((9, 2, 13, 28), (13, 2, 3, 3), (1, 1), (1, 1, 1, 1)),
    ((4, 16, 4, 4), (16, 16, 3, 3), (1, 1), (1, 1, 1, 1)),
    ((3, 24, 7, 7), (40, 24, 3, 3), (1, 1), (1, 1, 1, 1)), ((2, 19, 2, 2), (17, 19, 5, 5), (1, 1), (2, 2, 2, 2)),
    ((2, 72, 6, 5), (64, 72, 3, 3), (1, 1), (1, 1, 1, 1)),
    ((2, 8, 5, 33), (8, 8, 3, 5), (1, 2), (0, 2, 5, 0)), ((1, 9, 40, 3), (25, 9, 4, 2), (2, 1), (3, 3, 2, 2)),
    ((1, 8, 3, 3), (8, 8, 2, 2), (1, 1), (4, 4, 4, 4)),
    ((1, 512, 3, 3), (24, 512, 3, 3), (1, 1), (1, 1, 1, 1))]


def padded_products(x, w, b, dy, stride, pad):
    """A convolution and its gradients, in float64, tap by tap: padding takes no part."""
    y, dx, dw = np.zeros(dy.shape) + b[:, None, None], np.zeros(x.shape), np.zeros(w.shape)

    def on_image(tap, axis):
        """Outputs, and inputs, of a tap along an axis."""
        at = np.arange(dy.shape[axis]) * stride[axis - 2] - pad[2 * axis - 4] + tap
        there = np.flatnonzero((at >= 0) & (at < x.shape[axis]))
        return there, at[there]

    for i, j in itertools.product(range(w.shape[2]), range(w.shape[3])):
        (rows, from_rows), (columns, from_columns) = on_image(i, 2), on_image(j, 3)
        seen, by = x[:, :, from_rows][:, :, :, from_columns], dy[:, :, rows][:, :, :, columns]
        y[:, :, rows[:, None], columns] += (seen[:, None] * w[:, :, i, j][:, :, None, None]).sum(2)
        dx[:, :, from_rows[:, None], from_columns] += (by[:, :, None] * w[:, :, i, j][:, :, None, None]).sum(1)
        dw[:, :, i, j] = (seen[:, None] * by[:, :, None]).sum((0, 3, 4))
    return y, dx, dw, dy.sum((0, 2, 3))


def check_convolution(x_shape, w_shape, stride, pad, special=None):
    """A convolution and its gradients are those of float64, and eager and jitted ones have the same bits. special:
    which of x, w, b, dy has an infinity, which padding does not turn into NaN."""
    r = np.random.RandomState(0)
    cell = nn.Conv2d(w_shape[1], w_shape[0], w_shape[2:], stride, "pad", pad, has_bias=True)
    y_shape = tuple((n + pad[2 * k] + pad[2 * k + 1] - w_shape[2 + k]) // stride[k] + 1
                    for k, n in enumerate(x_shape[2:]))
    inputs = [r.randn(*s).astype(np.float32)
              for s in (x_shape, w_shape, w_shape[:1], (x_shape[0], w_shape[0], *y_shape))]
    if special is not None:
        inputs[special].flat[r.randint(inputs[special].size)] = np.inf

    def values(use_jit):
        x, w, b, dy = map(Tensor, inputs)
        cell.weight.set_data(w)
        cell.bias.set_data(b)
        step = ms.value_and_grad(lambda x, dy: (cell(x) * dy).sum(), 0, cell.trainable_params())
        step = ms.jit(step) if use_jit else step
        dx, dw = step(x, dy)[1]
        return [cell(x).asnumpy(), dx.asnumpy()] + [g.asnumpy() for g in dw]

    got = values(False)
    exact = [v.astype(np.float64) for v in inputs]
    with np.errstate(invalid="ignore"):
        # What rounding may cost goes with the sizes of the terms: a sum of many may be near zero.
        sizes = padded_products(*map(np.abs, exact), stride, pad)
        for k, (a, size, b) in enumerate(zip(padded_products(*exact, stride, pad), sizes, got)):
            finite = np.isfinite(a)
            # oneDNN, which takes gradients for x of strided convolutions, has infinities its own way.
            if special is None or k != 1 or stride == (1, 1):
                assert np.array_equal(a[~finite], b[~finite], equal_nan=True)
                assert np.isfinite(b[finite]).all() and (np.abs(a - b) <= 2e-6 * size)[finite].all()
    assert [a.tobytes() for a in got] == [a.tobytes() for a in values(True)]


@pytest.mark.parametrize("x_shape,w_shape,stride,pad", CONVOLUTIONS)
def test_convolutions(x_shape, w_shape, stride, pad):
    check_convolution(x_shape, w_shape, stride, pad)
    own = _C.channel_block() == 8 and w_shape[2:] != (1, 1)
    if own and (w_shape[1] < 8 or w_shape[3] < 6) and w_shape[0] * w_shape[1] < 64 * 64:
        for special in (0, 1, 3):
            check_convolution(x_shape, w_shape, stride, pad, special)


@settings(max_examples=4 * EXAMPLES)
@given(st.data())
def test_random_convolutions(data):
    def several(n, low, high):
        return tuple(data.draw(st.integers(low, high)) for _ in range(n))

    kernel, pad = several(2, 1, 7), several(4, 0, 5)
    size = tuple(data.draw(st.integers(max(1, k - pad[2 * a] - pad[2 * a + 1]), 35)) for a, k in enumerate(kernel))
    channels, filters = (data.draw(st.sampled_from([1, 2, 3, 5, 8, 12, 16, 24])),
                         data.draw(st.sampled_from([1, 6, 8, 10, 16, 24, 30, 40])))
    check_convolution((data.draw(st.integers(1, 3)), channels, *size), (filters, channels, *kernel), several(2, 1, 2),
                      pad)


def test_filters_of_images_in_blocks():
    """A net whose first convolution takes an image: its maps stay in blocks, and the bits are those of eager mode."""
    r = np.random.RandomState(0)
    for channels, filters, size in ((1, 16, 8), (3, 16, 17), (1, 8, 9), (2, 8, 30)):
        net = nn.SequentialCell(nn.Conv2d(channels, filters, 3, has_bias=True), nn.BatchNorm2d(filters), nn.ReLU(),
                                nn.Conv2d(filters, 16, 3), nn.MaxPool2d(2, 2))
        x = Tensor(r.randn(4, channels, size, size).astype(np.float32))
        step = ms.value_and_grad(lambda x: ops.square(net(x)).sum(), None, net.trainable_params())
        want, got = step(x), ms.jit(step)(x)
        assert ([g.asnumpy().tobytes() for g in want[1]] == [g.asnumpy().tobytes() for g in got[1]]
                and want[0].asnumpy() == got[0].asnumpy())


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float64, np.float16])
@pytest.mark.parametrize("shape, perm", [
    ((70, 65), (1, 0)), ((64, 1024), (1, 0)), ((1000, 9), (1, 0)), ((7, 1000), (1, 0)), ((2, 96, 7, 11), (0, 2, 3, 1)),
    ((3, 9, 10, 33), (0, 3, 1, 2)), ((2, 3, 50, 64), (0, 1, 3, 2)), ((5, 1, 40, 1, 31), (0, 4, 1, 2, 3)),
    ((40, 1, 33, 8), (2, 1, 3, 0)), ((12, 40, 30), (1, 0, 2)), ((12, 40, 30), (2, 1, 0)), ((2049, 2051), (1, 0))])
def test_transposes_of_matrices(shape, perm, dtype):
    x = (np.arange(np.prod(shape)) % 2039).reshape(shape).astype(dtype)
    np.testing.assert_array_equal(ops.transpose(Tensor(x), perm).asnumpy(), x.transpose(perm))
