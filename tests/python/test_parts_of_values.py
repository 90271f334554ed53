"""Gradients by parts of a value: many slices or rows of one, whose terms become one sum."""

import numpy as np
import pytest

import pijit as ms
from pijit import Parameter, Tensor, _C, nn, ops
from tests.python.differential import check, check_calls, freeze

rng = np.random.default_rng(5)
X = Tensor(rng.standard_normal((6, 3, 4)).astype(np.float32))
W = Tensor(rng.standard_normal((6, 3, 4)).astype(np.float32))
ROWS = Tensor(np.array([3, 0, 3, -1], np.int32))
LONG = Tensor(np.array([5, 5], np.int64))


def steps(x):
    h = x[0] * 0
    for t in range(6):
        h = ops.tanh(x[t] * 0.5 + h)
    return h


def second_axis(x):
    return ops.stack([ops.sin(x[:, t]) * (t + 1) for t in range(3)], 1)


def overlapping(x):
    return sum((ops.exp(x[t:t + 3, 1:]) * W[t:t + 3, 1:]).sum() for t in range(4))


def with_steps(x):
    return (x[::2] * x[1::2]).sum() + ops.sin(x[::-1] * W).sum() + (x[::-2, 0] * x[::2, 1]).sum()


def one_twice(x):
    return ops.tanh(x[2]) * x[2] + ops.square(x[2:3])


def split(x):
    a, b = ops.split(x, 3, 0)
    return sum(ops.tanh(p * k).sum() for k, p in enumerate((*ops.unbind(a, 1), *ops.chunk(b, 2, -1)), 1))


def whole_and_parts(x):
    y = x[1] * 3 + (x * W).sum(0) + ops.sin(x[4])
    return y * ops.cos(x).sum() + x[0, 1, 2] * x[5]


def rows(x):
    y = sum((ops.tanh(x[ROWS]) * (k + 1)).sum() for k in range(3))
    return y + (x[LONG] * x[LONG]).sum() + (x[ROWS] * x[0]).sum()


def rows_of_one(x):
    return ops.gather(x, ROWS, 0).sum() + (ops.gather(x, Tensor([1, 1, 2]), 1) * 2).sum() + ops.gather(x, LONG, 0).sum()


def branch(x):
    y = x[0] * 2 + x[1]
    if x.sum() > 0:
        y = y + ops.sin(x[1]) * x[2] + x[ROWS].sum(0)
    return y * x[1] + x[5]


def branch_alone(x):
    y = W[0] * 1
    if x.sum() > 0:
        y = y + x[1] * x[2]
    return y * 2


def loop(x):
    h, n = x[0] * 1, 0
    while ops.abs(h).sum() < 60:
        h = h * 1.5 + x[1] * x[2] - x[ROWS].sum(0) * 0.01 + 2
        n = n + 1
    return h * x[3]


def put(x):
    y, h = ops.zeros((6, 3, 4), x.dtype), x[0] * 0
    for t in range(6):
        h = ops.tanh(x[t] + h)
        y[t] = h
    return y * y


def put_and_read(x):
    """What was there before is read behind a store, by others and by the stored value."""
    y = ops.exp(x)
    first = y * 1
    y[0] = y[1] * 2
    y[1:] = y[:-1] * 1
    second = y + 0
    y[:, 1] = second[:, 0]
    y[::-2] = first[::2]
    y[2] = y[2]
    return first + second * y + y.reshape(-1)[5]


def put_into_views(x):
    y = ops.sin(x)
    z = (y + 0).reshape(18, 4)  # where gradients are recorded, views are values
    y[1] = ops.cos(x[2])
    z[3:5] = y[1, :2] * 3
    return y.reshape(18, 4) * z


FUNCTIONS = [steps, second_axis, overlapping, with_steps, one_twice, split, whole_and_parts, rows, rows_of_one, branch,
             branch_alone, loop,
             put, put_and_read, put_into_views]


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_same_bits(f, dtype):
    x = X.astype(getattr(ms, dtype))

    def total(x):
        return f(x).sum()
    check_calls(lambda: ms.value_and_grad(total), [(x,), (-x,), (x * 0,), (x,)])


@pytest.mark.parametrize("f", [f for f in FUNCTIONS if f is not loop])
def test_second_derivatives(f):
    def inner(x):
        return (ms.grad(lambda y: (f(y) * f(y)).sum())(x) ** 2).sum()
    check(lambda: ms.grad(inner), X)
    check(lambda: ms.grad(inner), -X)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_values(f):
    """As differences of the function in float64."""
    x, d = X.astype(ms.float64), Tensor(rng.standard_normal((6, 3, 4)))
    h = 1e-6
    expected = (f(x + d * h).sum() - f(x - d * h).sum()).asnumpy() / (2 * h)
    got = (ms.grad(lambda y: f(y).sum())(x) * d).sum().asnumpy()
    assert abs(got - expected) < 1e-5 * max(1, abs(expected))


@pytest.mark.parametrize("f", [steps, second_axis, overlapping, with_steps, split, rows])
def test_batches_and_tangents(f):
    xs = Tensor(rng.standard_normal((5, 6, 3, 4)).astype(np.float32))
    got = ms.vmap(ms.grad(lambda y: f(y).sum()))(xs)
    for k in range(5):
        one = ms.grad(lambda y: f(y).sum())(xs[k])
        np.testing.assert_allclose(got[k].asnumpy(), one.asnumpy(), rtol=2e-5, atol=1e-5)
    hessian_by = ms.jvp(lambda y: ms.grad(lambda z: f(z).sum())(y), X, W)[1]
    reverse = ms.grad(lambda y: (ms.grad(lambda z: f(z).sum())(y) * W).sum())(X)
    np.testing.assert_allclose(hessian_by.asnumpy(), reverse.asnumpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64", "int32", "uint8", "complex64", "bfloat16"])
@pytest.mark.parametrize("with_x", [False, True])
@pytest.mark.parametrize("common", [False, True])
def test_the_sum_has_the_bits_of_a_chain(dtype, with_x, common):
    shape, t = (4, 5, 6), getattr(ms, dtype)
    zeros = [-0.0, 0.0, 1.5, -2.25, -0.0]
    for k in range(20):
        terms, begin, end, step = [], [], [], []
        for _ in range(int(rng.integers(1, 5))):
            places = []
            for n in shape:
                s = int(rng.choice([1, 1, 2, -1]))
                b = int(rng.integers(0, 2)) if s > 0 else n - 1 - int(rng.integers(0, 2))
                e = n if s > 0 else (-1 if common else 0)
                if common:
                    s, b, e = 1, int(rng.integers(0, 2)), n - int(rng.integers(0, 2))
                begin.append(b), end.append(e), step.append(s)
                places.append(slice(b, None if e < 0 else e, s))
            part = np.zeros(shape)[tuple(places)].shape
            y = Tensor(rng.choice(zeros if k % 2 else [-0.0], part).astype(np.float32)).astype(t)
            terms.append((tuple(places), y))
        x = Tensor(rng.choice(zeros, shape).astype(np.float32)).astype(t) if with_x else None
        got = _C.op("add_slices")(x, [y for _, y in terms], shape, tuple(begin), tuple(end), tuple(step))
        total = x
        for places, y in terms:
            whole = ops.zeros(shape, t)
            whole[places] = y
            total = whole if total is None else total + whole
        if dtype == "bfloat16":
            got, total = got.astype(ms.float32), total.astype(ms.float32)
        assert freeze(got) == freeze(total)


def test_a_wrong_call_of_the_sum_raises():
    add, y = _C.op("add_slices"), ops.ones((1, 2))
    for args, error in [((None, [y], (3, 2), (0, 0), (1, 2), (1,)), ValueError),
                        ((None, [y], (3, 2), (0, 0), (2, 2), (1, 1)), ValueError),
                        ((None, [y], (3, 2), (2, 0), (4, 2), (1, 1)), IndexError),
                        ((ops.ones((2, 2)), [y], (3, 2), (0, 0), (1, 2), (1, 1)), ValueError),
                        ((None, [], (3, 2), (), (), ()), ValueError)]:
        with pytest.raises(error):
            add(*args)


class OwnCell(nn.Cell):
    """A loop over the steps of x."""

    def __init__(self, read):
        super().__init__()
        self.read = read
        self.w = Parameter(Tensor(rng.standard_normal((8, 8)).astype(np.float32) * 0.1), name="w")

    def construct(self, x):
        h, seen = ops.zeros((2, 8)), []
        for v in self.read(x):
            h = ops.tanh(v + ops.matmul(h, self.w))
            seen.append(h)
        return (ops.stack(seen, 0) ** 2).sum()


READS = {"item": (0, lambda x: [x[t] for t in range(x.shape[0])]),
         "second": (1, lambda x: [x[:, t] for t in range(x.shape[1])]),
         "unbind": (0, lambda x: ops.unbind(x, 0)),
         "split": (0, lambda x: [p[0] for p in ops.split(x, 1, 0)]),
         "rows": (0, lambda x: [x[Tensor([t])][0] for t in range(x.shape[0])])}


def allocated(call):
    """Of a call: the bytes of arrays that are asked for, and the most in use beyond what there was."""
    before = _C.allocated_bytes()
    recording = _C.record_start()
    call()
    recorded = _C.record_stop(recording)
    return recorded["allocated_bytes"], recorded["peak_bytes"] - before


def test_stores_into_a_value_that_nobody_else_reads_copy_nothing():
    def bytes_of(n):
        def f(x):
            y, h = ops.exp(x), x[0]
            for t in range(n):
                h = ops.tanh(x[t] + h)
                y[t] = h
            return y.sum(0)
        g = ms.jit(ms.value_and_grad(lambda x: f(x).sum()))
        x = ops.ones((n, 16))
        g(x)
        recording = _C.record_start()
        g(x)
        recorded = _C.record_stop(recording)
        return recorded["allocated_bytes"]
    assert bytes_of(160) < 5 * bytes_of(40)


@pytest.mark.parametrize("way", READS)
@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("order", [1, 2])
def test_memory_is_linear_in_steps(way, jitted, order):
    """By the bytes that are asked for, and by the most that are in use."""
    def bytes_of(n):
        axis, read = READS[way]
        shape = [2, 8]
        shape.insert(axis, n)
        x = Tensor(rng.standard_normal(shape).astype(np.float32))
        net = OwnCell(read)
        f = ms.grad(net, 0, net.trainable_params())
        if order == 2:
            first = ms.grad(net)
            f = ms.grad(lambda x: (first(x) ** 2).sum())
        f = ms.jit(f) if jitted else f
        f(x)
        return allocated(lambda: f(x))
    small, large = bytes_of(40), bytes_of(160)
    for a, b in zip(small, large):
        assert b < 5.5 * a, (small, large)
