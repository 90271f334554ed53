"""What a program computes of parameters alone is computed once: never stale, dropped when one of them is written."""

import copy
import ctypes
import gc

import numpy as np
import pytest

import pijit as ms
from pijit import Parameter, Tensor, _C, nn, ops
from tests.python.test_packed import (WAYS, expect_one_or_the_other, nothing_kept, plain_result,  # noqa: F401
                                      training_step, values)

pytestmark = pytest.mark.skipif(_C.get_option("backend") == "reference", reason="its results are not kept")


class Scaled(nn.Cell):
    """Parameters of all kinds of use: scales as batch norms have them, another dtype, a sum, a product of two."""

    def __init__(self, seed=0):
        super().__init__()
        for k, name in enumerate("abcd"):
            setattr(self, name, Parameter(Tensor(values(4, 3, 2, 2, seed=10 * seed + k)), name=name))

    def construct(self, x):
        y = x * ops.rsqrt(ops.abs(self.a) + 1) + ops.tanh(self.b)
        y = y + (self.c.astype(ms.float16) * y.astype(ms.float16)).astype(ms.float32)
        return y * (self.d * self.a) - self.b.sum((0, 2, 3), keepdims=True)


X = values(4, 3, 2, 2, seed=7)
WAYS = {name: way for name, way in WAYS.items() if not name.startswith(tuple(
    ("SGD", "Momentum", "Adam")))}


def test_computed_once():
    net = Scaled()
    f = ms.jit(net)
    want = plain_result(net, X)
    for k in range(5):
        np.testing.assert_array_equal(f(Tensor(X)).asnumpy(), want)
        assert (_C.packed_bytes() > 0) == (k > 0)
    some = _C.packed_bytes()
    f(Tensor(X + 1)), f(Tensor(X))
    assert _C.packed_bytes() == some
    _C.empty_cache()
    assert _C.packed_bytes() == 0
    np.testing.assert_array_equal(f(Tensor(X)).asnumpy(), want)
    del net, f
    gc.collect()
    assert _C.packed_bytes() == 0


@pytest.mark.parametrize("way", WAYS)
def test_what_is_written_is_computed_anew(way):
    net = Scaled()
    f = ms.jit(net)
    for _ in range(3):
        f(Tensor(X))
    for _ in range(3):
        WAYS[way](net)
        want = plain_result(net, X)
        for _ in range(4):
            np.testing.assert_array_equal(f(Tensor(X)).asnumpy(), want)


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("make", [lambda p: nn.SGD(p, 0.01), lambda p: nn.Adam(p, 0.01)])
def test_trained_between_calls(make, jitted):
    net = Scaled()
    f = ms.jit(net)
    step = training_step(net, make, jitted)
    for k in range(12):
        step(Tensor(X))
        want = plain_result(net, X)
        for _ in range(k % 4):
            np.testing.assert_array_equal(f(Tensor(X)).asnumpy(), want)


def test_many_changes_and_then_none():
    net = Scaled()
    f = ms.jit(net)
    for k in range(60):
        net.a.set_data(Tensor(values(4, 3, 2, 2, seed=k)))
        np.testing.assert_array_equal(f(Tensor(X)).asnumpy(), plain_result(net, X))
    for _ in range(40):
        np.testing.assert_array_equal(f(Tensor(X)).asnumpy(), plain_result(net, X))
    assert _C.packed_bytes() > 0


def test_one_program_for_several_networks():
    nets = [Scaled(seed) for seed in range(3)]

    @ms.jit
    def f(a, x):
        return x * ops.rsqrt(ops.abs(a) + 1)

    for _ in range(6):
        for net in nets:
            want = X * (1 / np.sqrt(np.abs(net.a.asnumpy()) + 1))
            np.testing.assert_allclose(f(net.a, Tensor(X)).asnumpy(), want, rtol=1e-6)


def test_results_are_the_callers():
    """What leaves the function is another array in each call."""
    a = Parameter(Tensor(values(4, 3)), name="a")

    @ms.jit
    def f(x):
        scale = ops.exp(a)
        return scale, x * scale

    for _ in range(5):
        scale, y = f(Tensor(values(4, 3)))
        np.testing.assert_array_equal(scale.asnumpy(), ops.exp(a).asnumpy())
        scale[...] = 0
        scale += 1
        np.testing.assert_array_equal(y.asnumpy(), (Tensor(values(4, 3)) * ops.exp(a)).asnumpy())


VIEWS = [lambda y: y.reshape(-1), lambda y: y.view(2, 6), lambda y: y.reshape(12).reshape(2, 6),
         lambda y: ops.expand_dims(y, 0), lambda y: y]


@pytest.mark.parametrize("view", VIEWS)
def test_results_that_are_views_of_kept_values_are_lent(view):
    """Who gets one by DLPack may write it."""
    a = Parameter(Tensor(values(4, 3)), name="a")

    @ms.jit
    def f(x):
        scale = ops.exp(a) * 2
        return view(scale), x * scale

    x = Tensor(values(4, 3))
    want = [r.asnumpy() for r in (view(ops.exp(a) * 2), x * (ops.exp(a) * 2))]
    for _ in range(6):
        results = f(x)
        for r, w in zip(results, want):
            np.testing.assert_array_equal(r.asnumpy(), w)
        lent = np.from_dlpack(results[0])
        address, size = lent.__array_interface__["data"][0], lent.nbytes
        ctypes.memset(address, 0x3f, size)


def test_what_is_kept_goes_with_its_parameters():
    a = Parameter(Tensor(values(64, 64)), name="a")
    f = ms.jit(lambda a, x: x * ops.exp(a))
    for _ in range(3):
        f(a, Tensor(values(64, 64)))
    assert _C.packed_bytes() == 64 * 64 * 4
    a[...] = 1.0
    assert _C.packed_bytes() == 0
    for _ in range(3):
        f(a, Tensor(values(64, 64)))
    assert _C.packed_bytes() == 64 * 64 * 4
    del a
    gc.collect()
    assert _C.packed_bytes() == 0


def test_memory_that_outlives_what_was_kept_of_it():
    a = Parameter(Tensor(values(8, 8)), name="a")
    old = []
    for k in range(5):
        f = ms.jit(lambda a, x: x * ops.exp(a))
        for n in range(3):
            old.append(Tensor(values(8, 8, seed=n)))
            a.set_data(old[-1])
            for _ in range(3):
                f(a, Tensor(values(8, 8)))
        del f
        gc.collect()
        for t in old:
            t += 1
            t[0] = 5.0
    old.clear()
    f, x = ms.jit(lambda a, x: x * ops.exp(a)), Tensor(values(8, 8))
    for _ in range(3):
        np.testing.assert_array_equal(f(a, x).asnumpy(), (x * ops.exp(a)).asnumpy())


def test_what_is_not_asked_for_makes_room():
    before = _C.get_option("packed_bytes")
    _C.set_option("packed_bytes", str(100 * 100 * 4 + 64))
    try:
        many = [Parameter(Tensor(values(100, 100, seed=k)), name="a") for k in range(2)]
        one, other = (ms.jit(lambda x, a=a: x * ops.exp(a)) for a in many)
        x = Tensor(values(100, 100))
        for _ in range(3):
            one(x)
        assert _C.packed_bytes() == 100 * 100 * 4
        for _ in range(1000):
            other(x)
        for a, f in zip(many, (one, other)):
            np.testing.assert_array_equal(f(x).asnumpy(), (x * ops.exp(a)).asnumpy())
        assert _C.packed_bytes() == 100 * 100 * 4
        many[1][...] = 0  # it is the other's
        assert _C.packed_bytes() == 0
    finally:
        _C.set_option("packed_bytes", str(before))


def test_a_parameter_that_the_call_itself_writes():
    net = Scaled()

    @ms.jit
    def f(x):
        before = x * ops.exp(net.a)
        net.a += 1
        return before + ops.exp(net.a) + ops.tanh(net.b)

    def plain(x, a, b):
        before = x * ops.exp(a)
        a = a + 1
        return before + ops.exp(a) + ops.tanh(b)

    for _ in range(6):
        want = plain(Tensor(X), Tensor(net.a.asnumpy()), net.b).asnumpy()
        np.testing.assert_array_equal(f(Tensor(X)).asnumpy(), want)


def test_lent_memory():
    """Who got it by DLPack may write it, and nobody is told."""
    data = values(4, 3, 2, 2, seed=1)
    net = Scaled()
    f = ms.jit(net)
    for _ in range(3):
        f(Tensor(X))
    seen = np.from_dlpack(net.a)
    lent = Tensor.from_dlpack(data, copy=False)
    for k in range(4):
        if seen.flags.writeable:
            seen[...] = k
        np.testing.assert_array_equal(f(Tensor(X)).asnumpy(), plain_result(net, X))
        data[...] = k
        net.d.set_data(lent)
        for _ in range(3):
            np.testing.assert_array_equal(f(Tensor(X)).asnumpy(), plain_result(net, X))
            data += 1


def test_copies_have_their_own():
    net = Scaled()
    f = ms.jit(net)
    for _ in range(3):
        f(Tensor(X))
    other = copy.deepcopy(net)
    g = ms.jit(other)
    by = WAYS["index"]
    for k in range(3):
        by(other if k % 2 else net)
        for _ in range(3):
            np.testing.assert_array_equal(f(Tensor(X)).asnumpy(), plain_result(net, X))
            np.testing.assert_array_equal(g(Tensor(X)).asnumpy(), plain_result(other, X))


def test_threads_see_one_or_the_other():
    net = Scaled()
    f = ms.jit(net)
    expect_one_or_the_other(net, net.a, X, (f, f, f), lambda k: k % 4)


def test_nothing_is_kept_without_room():
    before = _C.get_option("packed_bytes")
    _C.set_option("packed_bytes", "100")
    try:
        net = Scaled()
        f = ms.jit(net)
        for _ in range(4):
            np.testing.assert_array_equal(f(Tensor(X)).asnumpy(), plain_result(net, X))
        assert _C.packed_bytes() <= 100
    finally:
        _C.set_option("packed_bytes", str(before))


def test_tensors_that_are_no_parameters_are_not_kept():
    a, f = Tensor(X), ms.jit(lambda a, x: ops.exp(a) * x)
    for _ in range(5):
        f(a, Tensor(X))
    assert _C.packed_bytes() == 0


def test_a_network_of_half_precision_casts_its_weights_once():
    net = nn.SequentialCell(nn.Dense(64, 128), nn.ReLU(), nn.Dense(128, 64)).to_float(ms.float16)
    x = Tensor(values(8, 64))
    f = ms.jit(net)
    want = net(x).asnumpy()
    for _ in range(4):
        np.testing.assert_array_equal(f(x).asnumpy(), want)
    assert _C.packed_bytes() >= 2 * 2 * 64 * 128
    net[0].weight.set_data(net[0].weight * 2)
    want = net(x).asnumpy()
    for _ in range(4):
        np.testing.assert_array_equal(f(x).asnumpy(), want)
