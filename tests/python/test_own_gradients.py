"""Gradients that the user gives: a Cell's bprop, alone, in networks and within other transforms."""

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, nn, ops
from pijit.ops.grad_base import bprop_getters
from tests.python.differential import check

X = np.random.RandomState(0).randn(2, 3).astype(np.float32)


class Square(nn.Cell):
    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return (dout * 100 * x + out,)


class Two(nn.Cell):
    def construct(self, x, y):
        return x * y, x + y

    def bprop(self, x, y, out, dout):
        return dout[0] * y * 7 + dout[1], dout[0] * x + out[1]


class Scaled(nn.Cell):
    """Weights get no gradient where the input has one, which goes by bprop."""

    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(Tensor(X[0]), name="w")

    def construct(self, x, k=2):
        return x * self.w * k

    def bprop(self, x, k, out, dout):
        return dout * self.w * 10, None


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense, self.square, self.two, self.scaled = nn.Dense(3, 3), Square(), Two(), Scaled()

    def construct(self, x):
        h = self.dense(x)
        a, b = self.two(self.square(h), h)
        return (self.scaled(a, 3) * b).sum()


square, two, scaled, net = Square(), Two(), Scaled(), Net()
CASES = {
    "alone": lambda x: ms.grad(lambda v: square(v).sum())(x),
    "two": lambda x: ms.grad(lambda a, b: (two(a, b)[0] * two(b, a)[1]).sum(), (0, 1))(x, x + 1),
    "network": lambda x: ms.grad(net)(x), "weights": lambda x: ms.grad(net, 0, net.trainable_params())(x),
    "weights alone": lambda x: ms.grad(net, None, net.trainable_params())(x),
    "only weights": lambda x: ms.grad(lambda v: scaled(v, 2).sum(), None, scaled.trainable_params())(x),
    "unused": lambda x: ms.grad(lambda v: two(v, v)[1].sum())(x),
    "twice": lambda x: ms.grad(lambda v: ms.grad(lambda u: square(u).sum())(v).sum())(x),
    "in forward": lambda x: net(x) + square(x).sum(),
    "inner only": lambda x: ms.grad(lambda v: (ms.grad(lambda u: (u * u).sum())(v) * square(v)).sum())(x),
    "jacrev": lambda x: ms.jacrev(square)(x), "vmap": lambda x: ms.vmap(ms.grad(lambda v: square(v).sum()))(x),
    "sens": lambda x: ms.GradOperation(sens_param=True)(square)(x, x), "vjp": lambda x: ms.vjp(square, x)[1](x * 2),
}


@pytest.mark.parametrize("name", CASES)
def test_one_graph_with_the_same_bits(name):
    check(lambda: CASES[name], Tensor(X), graphs=1, breaks=0)


def test_values():
    x = Tensor(X)
    np.testing.assert_array_equal(CASES["alone"](x).asnumpy(), np.float32(100) * X + X * X)
    np.testing.assert_array_equal(CASES["unused"](x).asnumpy(), (0 * X * 7 + 1) + (0 * X + 2 * X))
    assert not CASES["weights"](x)[1][2].asnumpy().any()  # scaled.w: its bprop says nothing of it
    assert CASES["only weights"](x)[0].asnumpy().any()


def test_a_jitted_function_under_an_eager_gradient():
    f = ms.jit(lambda x: square(x) * 2)
    for _ in range(3):
        got = ms.grad(lambda x: f(x).sum())(Tensor(X))
        np.testing.assert_array_equal(got.asnumpy(), np.float32(200) * X + X * X)
    assert len(ms.explain(f).graphs) == 1
    np.testing.assert_array_equal(f(Tensor(X)).asnumpy(), 2 * X * X)


@pytest.mark.parametrize("returned,error", [
    ((1.0,), TypeError), (3, TypeError), (("a",), TypeError), ((np.ones(3, np.float32),), TypeError),
    ((Tensor(np.ones(2)),), ValueError), ((), TypeError), ((None, None), TypeError),
    ((None,), None), ((Tensor(np.full((2, 3), 2.0)),), None), ((Tensor(np.full((2, 3), 2)),), None)])
def test_what_bprop_returns(returned, error):
    class Own(nn.Cell):
        def construct(self, x):
            return x * x

        def bprop(self, x, out, dout):
            return returned
    cell = Own()
    f = lambda x: ms.grad(lambda v: cell(v).sum())(x)  # noqa: E731
    if error:
        for g in (f, ms.jit(f)):
            with pytest.raises(error):
                g(Tensor(X))
    else:
        assert f(Tensor(X)).dtype == ms.float32
        assert (f(Tensor(X)).asnumpy() == (0 if returned == (None,) else 2)).all()
    check(lambda: f, Tensor(X))


@pytest.mark.parametrize("hook",
                         [lambda cell, g, out: (3.0,), lambda cell, g, out: (Tensor(np.ones(7)),),
                          lambda cell, g, out: (g[0], g[0])])
def test_what_a_backward_hook_returns(hook):
    cell = nn.Dense(3, 3)
    cell.register_backward_hook(hook)
    with pytest.raises((TypeError, ValueError)):
        ms.grad(lambda v: cell(v).sum())(Tensor(X))


def test_forward_mode_has_none():
    with pytest.raises(RuntimeError, match="forward"):
        ms.jvp(square, Tensor(X), Tensor(X))
    check(lambda: lambda x: ms.jvp(square, x, x), Tensor(X))


def test_side_effects_of_bprop():
    def make():
        seen = []

        class Own(nn.Cell):
            def construct(self, x):
                seen.append("forward")
                return x * x

            def bprop(self, x, out, dout):
                seen.append("backward")
                return dout * x
        cell = Own()
        return (lambda x: (ms.grad(lambda v: cell(v).sum())(x), seen.append("end"))[0]), lambda: list(seen)
    check(make, Tensor(X), graphs=1, breaks=0, calls=1)


def test_in_a_branch():
    def f(x):
        def inner(v):
            if v.sum() > 0:
                return square(v).sum()
            return (v * 3).sum()
        return ms.grad(inner)(x)
    check(lambda: f, Tensor(np.abs(X)))
    check(lambda: f, Tensor(-np.abs(X)))


def test_identity_of_objects():
    a, b = ms.Parameter(Tensor(X), name="a"), ms.Parameter(Tensor(X), name="b")
    held = [a]

    def f(x):
        return x + 1 if id(held[0]) == id(a) else x - 1
    j = ms.jit(f)
    for p in (a, b, a):
        held[0] = p
        assert (j(Tensor(X)).asnumpy() == f(Tensor(X)).asnumpy()).all()
    assert not ms.explain(j).breaks


@pytest.fixture
def registry():
    yield bprop_getters
    bprop_getters.clear()


@pytest.mark.parametrize("key", [ops.Mul, ops.Mul(), "Mul"])
def test_registered_gradient_of_a_primitive(registry, key):
    plain = ops.Mul.__call__

    @registry.register(key)
    def get_bprop_mul(self):
        assert isinstance(self, ops.Mul)

        def bprop(x, y, out, dout):
            return dout * 100 + out, dout * y * 7
        return bprop
    assert registry[ops.Mul] is get_bprop_mul and ops.Mul in registry

    class M(nn.Cell):
        def __init__(self):
            super().__init__()
            self.mul = ops.Mul()

        def construct(self, x, y):
            return self.mul(x, y)
    m = M()
    x, y = Tensor(X), Tensor(X + 1)
    dx, dy = ms.grad(m, (0, 1))(x, y)
    np.testing.assert_array_equal(dx.asnumpy(), 100 + X * (X + 1))
    np.testing.assert_array_equal(dy.asnumpy(), 7 * (X + 1))
    np.testing.assert_array_equal(m(x, y).asnumpy(), X * (X + 1))
    check(lambda: lambda x, y: ms.grad(m, (0, 1))(x, y), x, y, graphs=1, breaks=0)
    f = ms.jit(lambda x, y: ms.grad(m)(x, y))
    np.testing.assert_array_equal(f(x, y).asnumpy(), dx.asnumpy())
    del registry[ops.Mul]
    np.testing.assert_array_equal(ms.grad(m)(x, y).asnumpy(), X + 1)
    np.testing.assert_array_equal(f(x, y).asnumpy(), X + 1)  # compiled before
    assert ops.Mul.__call__ is plain


def test_registered_gradients_are_of_one_class(registry):
    @registry.register(ops.MatMul)
    def getter(self):
        return lambda x, y, out, dout: (dout.sum() * x * (2 if self.transpose_b else 1), None)
    x = Tensor(X @ X.T)
    np.testing.assert_allclose(ms.grad(lambda a: ops.MatMul(transpose_b=True)(a, a).sum())(x).asnumpy(),
                               8 * x.asnumpy(), rtol=1e-6)
    derived = ms.grad(lambda a: ops.BatchMatMul()(a, a).sum())(x).asnumpy()
    np.testing.assert_allclose(derived, ms.grad(lambda a: (a @ a).sum())(x).asnumpy(), rtol=1e-6)
    ops.add(x, x)


@pytest.mark.parametrize("what,error",
                         [(3, TypeError), (nn.Cell, TypeError), ("NoSuch", ValueError), (ops.add, TypeError)])
def test_what_cannot_be_registered(registry, what, error):
    with pytest.raises(error):
        registry.register(what)
    with pytest.raises(TypeError):
        registry.register(ops.Mul)(3)
