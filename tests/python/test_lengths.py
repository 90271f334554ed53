"""Slices whose lengths follow from numbers that change between calls: the numbers become sizes."""

import gc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pijit as ms
from pijit import Tensor, nn, ops
from tests.python.differential import check_calls

RNG = np.random.default_rng(7)
LENGTHS = [3, 4, 9, 17, 5, 31, 8, 4]


def batch(*shape):
    return Tensor(RNG.standard_normal(shape).astype(np.float32))


@pytest.mark.parametrize("fn", [
    lambda x, n: x[:n].sum(),
    lambda x, n: x[n:] * 2,
    lambda x, n: x[: n + 1].shape[0] * 2,
    lambda x, n: x[1:n, 1:].sum(0),
    lambda x, n: x[n // 2:n].mean() + n,
    lambda x, n: (x[:n] @ x[:n].T, n),
    lambda x, n: ops.softmax(x[:n].T, -1) * n,
    lambda x, n: x[::1][:n][:2],
    lambda x, n: x[:n:2] + 1,
    lambda x, n: ops.concat((x[:n], x[n:]), 0),
    lambda x, n: x[:n].reshape(-1, 3).sum(1),
    lambda x, n: ms.grad(lambda v: (v[:n] * v[:n]).sum())(x),
    lambda x, n: ms.vmap(lambda v: v[:n].sum())(x.T),
    lambda x, n: [x[k:n].sum() for k in range(3)],
    lambda x, n: (x[:n] * 2 if n > 6 else x[:n] * 3).sum(),
    lambda x, n: x[..., :n % 4 + 1] * 2,
    lambda x, n: x[None, :n, 0],
    lambda x, n: x[-n:].sum() + x[:-n].mean(),
    lambda x, n: x[-n:-1] * n,
    lambda x, n: x[n - 32:].sum(0),
    lambda x, n: x[x[:, 0] > -9][:n] if n < 0 else x[n:n + 5].sum(),
])
def test_one_capture_serves_all_lengths(fn):
    x = batch(32, 6)
    e = check_calls(lambda: fn, [(x, n) for n in LENGTHS], breaks=0)
    assert e.compile_count <= 3, e


@pytest.mark.parametrize("fn", [
    lambda x, n: x[:n].sum(),
    lambda x, n: x[n:].sum(),
    lambda x, n: x[n:n + 5].sum(),
    lambda x, n: x[n - 3:n].sum(),
    lambda x, n: x[-n:].sum(),
    lambda x, n: x[:-n].sum(),
    lambda x, n: x[n:2 * n].sum() + x[n * n:].sum(),
    lambda x, n: x[: n * 1.0],
    lambda x, n: x[:n:n].sum(),
])
def test_ends_beyond_the_axis_below_0_and_no_numbers(fn):
    x = batch(12, 3)
    numbers = (2, 3, 7, 11, 12, 13, 40, -1, -5, -12, -13, -40, 0, 1, 2**31 + 5, -2**40, 2**70, True, 4)
    check_calls(lambda: fn, [(x, n) for n in numbers])


def test_what_is_no_int_any_more():
    x = batch(12, 3)
    check_calls(lambda: lambda x, n: x[:n] * 2,
                [(x, n) for n in (2, 3, 4, True, np.int64(5), 6, None, 2.0, "a", Tensor(4), 7)])


def test_the_number_is_used_as_a_number_too():
    def f(x, n):
        y = x * n
        z = y[:n]
        return z.sum() * n + len(z), n + 1, n * z.shape[0], n == 4, f"{n} of {len(x)}"
    x = batch(32, 6)
    check_calls(lambda: f, [(x, n) for n in LENGTHS], breaks=0)


@pytest.mark.parametrize("dtype", ["complex64", "complex128", "int8", "bool", "float16", "bfloat16", "uint64"])
def test_dtypes_at_places_that_vary(dtype):
    def f(x, y, i):
        x[i:i + 2] = y
        x[i + 4, 0] = y[0, 0]
        return x[i:i + 3], x[:i], x[i]
    dtype = getattr(ms, dtype if dtype != "bool" else "bool_")
    make = lambda *s: Tensor((RNG.standard_normal(s) * 9).astype(np.complex64) * (1 + 2j))  # noqa: E731
    x, y = (t if "complex" in dtype.name else ops.real(t) for t in (make(20, 3), make(2, 3)))
    check_calls(lambda: f, [(x.astype(dtype), y.astype(dtype), i) for i in (1, 2, 3, 5, 8)], breaks=0)


def test_sums_of_a_number_and_a_size():
    def f(x, y, at):
        end = at + y.shape[0]
        z = x * 1
        z[at:end] = y
        return z[:end], end
    x = batch(40, 6)
    sizes = ((8, 0), (1, 8), (1, 9), (1, 10), (3, 11), (5, 14), (1, 19))
    check_calls(lambda: f, [(x, batch(m, 6), at) for m, at in sizes], breaks=0)


def test_numbers_that_grow_in_loops():
    """Their expressions do not: what a bound is made of is followed for few numbers."""
    def f(x, n):
        m = n
        for _ in range(200):
            m = m + x.shape[0] - 4
            m = (m + m) // 2
        return x[:m % 4].sum() + x[: n + x.shape[0]].mean(), m
    check_calls(lambda: f, [(batch(k, 3), n) for k, n in ((5, 3), (6, 4), (7, 9), (9, 5), (5, 5), (8, 6))])


def cached(cache):
    class Attention(nn.Cell):
        def construct(self, x, past, at):
            b, t, _ = x.shape
            k = x.reshape(b, t, 2, -1).swapaxes(1, 2)
            if cache == "concat":
                k = k if past is None else ops.concat((past, k), 2)
                past = k
            elif cache == "buffer":
                past[:, :, at:at + t] = k
                k = past[:, :, :at + t]
            else:
                past[:, :, at:at + t] = k
                k = past
            s = ops.matmul(x.reshape(b, t, 2, -1).swapaxes(1, 2), k.swapaxes(-1, -2))
            if cache == "masked":
                s = ops.masked_fill(s, ops.arange(k.shape[2]) > at, -1e9)
            return ops.matmul(ops.softmax(s, -1), k).swapaxes(1, 2).reshape(b, t, -1), past
    return Attention()


@pytest.mark.parametrize("cache, captures", [("concat", 3), ("buffer", 3), ("masked", 3)])
def test_a_cache_that_grows(cache, captures):
    tokens = [batch(2, 1, 8) for _ in range(12)]

    def generate(step):
        past = None if cache == "concat" else ops.zeros((2, 2, 32, 4))
        x, at, out = batch_of_ones, 0, []
        for token in tokens:
            y, past = step(x, past, at)
            at += x.shape[1]
            x = token
            out.append(y.asnumpy().tobytes())
        return out, past.asnumpy().tobytes()
    batch_of_ones = ops.ones((2, 5, 8))
    step = ms.jit(cached(cache))
    assert generate(step) == generate(cached(cache))
    assert ms.explain(step).compile_count <= captures and not ms.explain(step).breaks, ms.explain(step)


def test_stores_at_places_that_vary_are_made_where_the_tensor_lies():
    """Its memory is kept, and what shared it before does not see the store."""
    def f(x, y, at):
        x[at:at + 2] = y
        return x.sum()
    g = ms.jit(f)
    x, y = ops.zeros((64, 8)), ops.ones((2, 8))
    g(x, y, 3), g(x, y, 4)
    for at in (5, 9, 62):
        before = x.asnumpy().copy()
        g(x, y, at)
        before[at:at + 2] = 1
        assert (x.asnumpy() == before).all()
    view = x[0:4]
    g(x, y, 1)
    assert (view.asnumpy() == x.asnumpy()[:4]).all()
    kept, other = x.asnumpy().copy(), x.copy()
    g(x, y, 30)
    assert (other.asnumpy() == kept).all() and float(x[30:32].sum()) == 16
    shared = np.zeros((64, 8), np.float32)
    z = Tensor.from_numpy(shared)
    g(z, y, 7), g(z, y, 8)
    assert (z.asnumpy()[7:10] == 1).all()


def test_a_store_that_raises_later_leaves_the_tensor():
    def f(x, y, at, i):
        x[at:at + 2] = y
        return x[i]
    for jitted in (f, ms.jit(f)):
        x, y = ops.zeros((16, 8)), ops.ones((2, 8))
        for at in (2, 3, 4):
            jitted(x, y, at, ops.full((1,), at, dtype=ms.int64))
        with pytest.raises(IndexError):
            jitted(x, y, 9, ops.full((1,), 99, dtype=ms.int64))
        assert float(x[9:11].sum()) == 16


@pytest.mark.parametrize("shape", [(5, 7), (768, 30), (3, 1024)])
def test_products_with_a_turned_matrix(shape):
    """Its turned form is kept for as long as nothing is written: bits as of the plain run, always."""
    w = ms.Parameter(batch(*shape))

    def both(x, v):
        return ops.matmul(x, w.T), x @ v.swapaxes(0, 1), ops.matmul(w.T, v), ops.matmul(w.transpose(1, 0), v)
    f = ms.jit(both)
    x, v = batch(4, shape[1]), batch(*shape)
    for k in range(12):
        if k == 4:
            w[0] = 3.0
        if k == 6:
            v[:, 1:] = -1.0
        if k == 8:
            w.set_data(batch(*shape))
        if k == 9:
            w.asnumpy()
            ops.assign(w, batch(*shape))
        plain, jitted = both(x, v), f(x, v)
        assert [a.asnumpy().tobytes() for a in plain] == [a.asnumpy().tobytes() for a in jitted], k
    assert "matmul_turned" not in str(ms.explain(f))
    gradients = ms.grad(lambda x: (x @ w.T).square().sum())
    assert (gradients(x).asnumpy() == ms.jit(gradients)(x).asnumpy()).all()
    gc.collect()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(-6, 14), st.integers(-6, 14)), min_size=4, max_size=8),
       st.sampled_from(["a:b", "a:", ":b", "a:a + b", "b:a", ":a + b", "a - b:a", "a:b:2", "a // 2:b * 2"]),
       st.booleans())
def test_generated_slices(pairs, slices, stores):
    space = {}
    body = "x[{0}] = 2.5\n    return x, x[{0}] + 1" if stores else "return x[{0}] * 2, len(x[{0}]), a + b"
    exec(f"def f(x, a, b):\n    {body.format(slices)}\n", space)
    x = batch(10, 2)
    check_calls(lambda: space["f"], [(x, a, b) for a, b in pairs])
