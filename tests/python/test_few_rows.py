"""Products of a few rows with a matrix, in all the ways that operands lie."""

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, _C, nn, ops
from tests.python.differential import check

SIZES = [1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 64, 100, 257]


def whole(*shape, seed=0):
    """Numbers whose sums of products are exact in any order."""
    return np.random.RandomState(seed).randint(-8, 9, shape).astype(np.float32)


def turned(a, trans):
    return np.ascontiguousarray(a.swapaxes(-1, -2)) if trans else a


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 8, 11, 16, 17])
@pytest.mark.parametrize("n", [1, 3, 8, 13, 65, 200])
def test_exact(m, n):
    for k in SIZES:
        x, w, b = whole(m, k), whole(n, k, seed=1), whole(n, seed=2)
        want = x @ w.T
        np.testing.assert_array_equal(ops.dense(Tensor(x), Tensor(w)).asnumpy(), want)
        np.testing.assert_array_equal(ops.dense(Tensor(x), Tensor(w), Tensor(b)).asnumpy(), want + b)
        for trans_a in (False, True):
            for trans_b in (False, True):
                a, c = Tensor(turned(x, trans_a)), Tensor(turned(w, not trans_b))
                y = ops.MatMul(trans_a, trans_b)(a, c)
                np.testing.assert_array_equal(y.asnumpy(), want)


STACKS = [((4, 1, 40), (4, 24, 40)), ((2, 3, 2, 33), (3, 50, 33)), ((1, 5, 70), (6, 70, 70)),
          ((7, 1, 100), (1, 1, 100)), ((3, 20, 64), (3, 1, 64)), ((2, 2, 16, 128), (300, 128))]


@pytest.mark.parametrize("left, right", STACKS)
@pytest.mark.parametrize("trans_a", [False, True])
def test_stacks(left, right, trans_a):
    product = _C.ops["matmul"]
    x, w = whole(*left), whole(*right, seed=1)
    for trans_b in (False, True):
        y = product(Tensor(turned(x, trans_a)), Tensor(turned(w, not trans_b)), trans_a, trans_b)
        np.testing.assert_array_equal(y.asnumpy(), x @ w.swapaxes(-1, -2))


@pytest.mark.parametrize("k, n", [(3000, 1024), (1025, 2048), (64, 4096), (9, 1024), (1024, 1)])
def test_one_row_by_long_columns(k, n):
    x, w = whole(1, k), whole(k, n, seed=1)
    np.testing.assert_array_equal(ops.matmul(Tensor(x), Tensor(w)).asnumpy(), x @ w)
    np.testing.assert_array_equal(ops.MatMul(True, False)(Tensor(w), Tensor(x.T.copy())).asnumpy(), (x @ w).T)


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 8, 11, 16, 17])
@pytest.mark.parametrize("k, n", [(1, 512), (3, 1024), (1027, 512), (2049, 1536), (600, 15000)])
def test_rows_across_the_sums(m, k, n):
    x, w = whole(m, k), whole(k, n, seed=1)
    want = x @ w
    for trans_a in (False, True):
        y = ops.MatMul(trans_a, False)(Tensor(turned(x, trans_a)), Tensor(w))
        np.testing.assert_array_equal(y.asnumpy(), want)


@pytest.mark.parametrize("m", [3, 4, 5, 9, 16])
@pytest.mark.parametrize("k", [255, 256, 257, 511, 513, 1000, 2048, 2049])
def test_long_rows(m, k):
    x, w, b = whole(m, k), whole(301, k, seed=1), whole(301, seed=2)
    np.testing.assert_array_equal(ops.dense(Tensor(x), Tensor(w), Tensor(b)).asnumpy(), x @ w.T + b)
    np.testing.assert_array_equal(ops.matmul(Tensor(x), Tensor(w).T).asnumpy(), x @ w.T)


@pytest.mark.parametrize("dtype", [ms.float64, ms.float16, ms.bfloat16])
@pytest.mark.parametrize("m", [1, 2, 3, 4, 5, 11, 16, 17])
def test_other_dtypes_are_rounded_once(dtype, m):
    def rounded(y):
        return Tensor(y).astype(dtype).astype(ms.float64).asnumpy()

    def number(y):
        assert y.dtype is dtype
        return y.astype(ms.float64).asnumpy()

    for k, n in [(1, 1), (7, 3), (8, 9), (15, 40), (16, 70), (33, 512), (257, 130), (1000, 64), (1030, 600)]:
        x, w, b = whole(m, k), whole(n, k, seed=1), whole(n, seed=2)
        want = (x @ w.T).astype(np.float64)
        a, c, bias = (Tensor(v).astype(dtype) for v in (x, w, b))
        np.testing.assert_array_equal(number(ops.dense(a, c)), rounded(want))
        np.testing.assert_array_equal(number(ops.dense(a, c, bias)), rounded(want + b))
        for trans_a in (False, True):
            for trans_b in (False, True):
                y = ops.MatMul(trans_a, trans_b)(Tensor(turned(x, trans_a)).astype(dtype),
                                                 Tensor(turned(w, not trans_b)).astype(dtype))
                np.testing.assert_array_equal(number(y), rounded(want))


@pytest.mark.parametrize("dtype", [ms.float64, ms.float16, ms.bfloat16])
def test_other_dtypes_eager_captured_and_gradients(dtype):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Dense(100, 70, dtype=dtype), nn.Dense(70, 512, dtype=dtype)

        def construct(self, x):
            return ops.matmul(self.b(ops.relu(self.a(x))), self.b.weight)

    def make():
        ms.set_seed(3)
        net = Net()
        gradient = ms.value_and_grad(lambda x: net(x).astype(ms.float32).sum(), 0, net.trainable_params())
        return lambda x: (net(x), gradient(x)), lambda: None

    for m in (1, 7):
        check(make, Tensor(np.random.RandomState(m).randn(m, 100)).astype(dtype))


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16])
def test_halves_that_are_no_numbers_or_subnormal(dtype):
    x = np.array([[1, 0, 2, 1], [0, 1, 0.5, 0]], np.float32)
    w = np.array([[np.inf, 1, 1, 2], [np.nan, 0, 1, 1], [6e-8, 1e-40, 3e-8, 0], [65504, 65504, 1, -1]], np.float32)
    a, b = Tensor(x).astype(dtype), Tensor(w).astype(dtype)
    with np.errstate(invalid="ignore"):
        want = x @ b.astype(ms.float32).asnumpy().T
    y = ops.dense(a, b).astype(ms.float32).asnumpy()
    np.testing.assert_array_equal(y, Tensor(want).astype(dtype).astype(ms.float32).asnumpy())


@pytest.mark.parametrize("m", [1, 2, 6, 16])
def test_close_to_float64(m):
    r = np.random.RandomState(m)
    for k, n in ((768, 300), (5000, 40), (4096, 1024)):
        x, w = r.randn(m, k).astype(np.float32), r.randn(n, k).astype(np.float32)
        want = x.astype(np.float64) @ w.T
        # sums in order, as the reference's, drift with the depth; others with its root
        bound = 2e-6 * k ** 0.5 * 4 if _C.get_option("backend") != "reference" else 1e-6 * k
        for y in (ops.dense(Tensor(x), Tensor(w)), ops.matmul(Tensor(x), Tensor(turned(w, True)))):
            assert np.abs(y.asnumpy() - want).max() < bound


def test_no_numbers_pass_through():
    for k in (5, 16, 40):
        x, w = whole(2, k), whole(9, k)
        x[1, k - 1], w[3, 0], w[8, k - 1] = np.inf, np.nan, -np.inf
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(ops.dense(Tensor(x), Tensor(w)).asnumpy(), x @ w.T)


@pytest.mark.parametrize("m", [1, 3, 16])
def test_bits_of_eager_and_captured_and_gradients(m):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Dense(100, 70, activation="relu"), nn.Dense(70, 33)

        def construct(self, x):
            return self.b(ops.gelu(self.a(x)) * 0.5).sum(1)

    def make():
        ms.set_seed(3)
        net = Net()
        gradient = ms.value_and_grad(lambda x: net(x).sum(), 0, net.trainable_params())
        return lambda x: (net(x), gradient(x)), lambda: None
    check(make, Tensor(np.random.RandomState(m).randn(m, 100).astype(np.float32)))


def test_bits_do_not_depend_on_threads():
    r = np.random.RandomState(0)
    x, w = Tensor(r.randn(3, 700).astype(np.float32)), Tensor(r.randn(1500, 700).astype(np.float32))
    row, long = Tensor(r.randn(1, 700).astype(np.float32)), Tensor(r.randn(700, 4096).astype(np.float32))
    rows = Tensor(r.randn(7, 700).astype(np.float32))
    before, results = _C.get_option("num_threads"), []
    try:
        for n in ("1", "2", "3"):
            _C.set_option("num_threads", n)
            results.append([ops.dense(x, w).asnumpy(), ops.dense(rows, w).asnumpy(),
                            ops.matmul(row, long).asnumpy(), ops.matmul(rows, long).asnumpy()])
    finally:
        _C.set_option("num_threads", before)
    for other in results[1:]:
        for a, b in zip(results[0], other):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("k", [333, 2100])
def test_a_row_is_the_same_among_others(k):
    if _C.channel_block() == 0:
        pytest.skip("no kernel of its own")
    r = np.random.RandomState(0)
    most = 16 if _C.channel_block() == 16 else 4
    x, w = r.randn(most, k).astype(np.float32), Tensor(r.randn(900, k).astype(np.float32))
    across = Tensor(r.randn(k, 1024).astype(np.float32))
    products = [lambda x: ops.dense(x, w)] + [lambda x: ops.matmul(x, across)] * (most == 16)
    for product in products:
        together = product(Tensor(x)).asnumpy()
        for n in (1, 2, 3, 4, 7, 16):
            for first in range(0, most - n + 1, n):
                some = product(Tensor(x[first:first + n])).asnumpy()
                np.testing.assert_array_equal(some, together[first:first + n])
