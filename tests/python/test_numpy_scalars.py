"""NumPy scalars and NumPy calls on constants inside captured functions."""

import warnings

import numpy as np
import pytest
from differential import check, check_calls

import pijit as ms
from pijit import Tensor, nn, ops

X = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
I = Tensor(np.arange(6, dtype=np.int32).reshape(2, 3))


def scaled(x):
    d = x.shape[-1]
    return (x / np.sqrt(d), x * np.float32(2.5), x + np.int64(2), x ** np.float64(2), x - np.prod(x.shape),
            x > np.float16(1), x * np.pi)


def plain(x):
    n = np.ceil(np.log2(x.shape[1]))
    return (x * n, int(n), float(np.sqrt(2)), np.maximum(2, 3) + 1, np.sum([1, 2, 3]), np.float32(1) / 3,
            bool(np.isfinite(1.0)), np.float64(3).item(), np.int32(7) // 2)


def conditions(x):
    s = np.float64(x.shape[0])
    if s > 1.5 and np.bool_(True):
        x = x + 1
    return x, s == 2, s, np.mean((1, 2)), [np.int8(3)]


@pytest.mark.parametrize("f", [scaled, plain, conditions], ids=lambda f: f.__name__)
def test_captured(f):
    check(lambda: f, X, breaks=0)
    check(lambda: f, I, breaks=0)


def test_numpy_scalars_as_arguments_are_guarded():
    def f(x, s):
        return x * s, s
    values = [np.float64(2), np.float64(3), np.float32(2), np.float64(0.0), np.float64(-0.0), np.int64(2), 2, 2.0,
              np.float64("nan"), np.float64("nan"), np.bool_(True), True]
    check_calls(lambda: f, [(X, v) for v in values] * 2)


def test_warnings_are_given_at_every_call():
    def f(x):
        return x * np.sqrt(-1.0), np.float64(1) / np.float64(0)
    j = ms.jit(f)
    for _ in range(3):
        with pytest.warns(RuntimeWarning) as seen:
            j(X)
        assert len(seen) == 2


def test_arrays_stay_what_they_are():
    def f(x):
        a = np.sqrt([1.0, 4.0])
        b = np.ones(2)
        b += a
        return a, b, x + 1, np.sqrt(x.asnumpy())
    check(lambda: f, X)


def test_results_that_can_change_are_new_at_every_call():
    def f(x):
        a = np.float64(3).reshape(1)
        a += 1
        t = str.maketrans("a", "b")
        t["k"] = x
        return a, len(t)
    check(lambda: f, X, calls=3)


def test_arrays_of_constants_are_new_at_every_call():
    def f(x):
        a = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
        t = Tensor(np.ones((2, 3)), ms.float32) + Tensor(a) + Tensor(np.arange(3).astype(np.float32))
        b = np.full((2,), 2.5)
        return x + t, a, b, a.sum(), a.shape[0], a.max(axis=0), np.sqrt(b), np.array(b)
    check(lambda: f, X, breaks=0, calls=3)

    def changed(x):
        a = np.zeros(3, np.float32)
        b = a
        a += 1
        a[0] = 5
        c = a.T
        c[1] = 7
        return x + Tensor(a), a, b is a, b, c
    check(lambda: changed, X, calls=3)

    def kept(x):
        a = np.zeros(2)
        id(a)
        a[1] = 3
        return a, [a, a], x + 1
    j = ms.jit(kept)
    first, (second, third), _ = j(X)
    assert first is second is third and first.tolist() == [0, 3]
    first[0] = 9
    assert j(X)[0].tolist() == [0, 3]

    def same(x):
        a = np.ones(2)
        return np.array(a, copy=False) is a, np.asarray(a) is a, a.astype(np.float64, copy=False) is a, a.flatten() is a
    if int(np.__version__.split(".")[0]) < 2:
        check(lambda: same, X)


def test_a_replaced_numpy_function_is_seen():
    import types
    lib = types.SimpleNamespace(f=np.sqrt)

    @ms.jit
    def f(x):
        return x * lib.f(4.0)
    with warnings.catch_warnings():
        assert f(X).asnumpy()[0, 1] == 2
        lib.f = np.square
        assert f(X).asnumpy()[0, 1] == 16


def test_attention_with_numpy_scale_is_one_graph():
    class Attention(nn.Cell):
        def __init__(self):
            super().__init__()
            self.q = nn.Dense(8, 8, weight_init="ones")
            self.heads = 2

        def construct(self, x):
            q = self.q(x).reshape(2, -1, self.heads, 4).transpose(0, 2, 1, 3)
            return ops.softmax(ops.matmul(q, q.swapaxes(-1, -2)) / np.sqrt(q.shape[-1]), -1)
    check(lambda: Attention().construct, Tensor(np.ones((2, 3, 8), np.float32) * 0.01), graphs=1, breaks=0)


ANCHORS = np.ones((3, 2), np.float32)


def test_length_of_an_array():
    check(lambda: lambda x: x * len(ANCHORS), X, graphs=1, breaks=0)

    def zero_d(x):
        try:
            return x * len(np.float32(2) * np.ones(()))
        except TypeError:
            return x + 1
    check(lambda: zero_d, X)
