"""Jitted functions inside eager gradients: recorded as one op, with the bits of the single ops."""

import numpy as np
import pytest

import pijit as ms
from pijit import Parameter, Tensor, nn, ops
from tests.python.differential import freeze

RNG = np.random.default_rng(11)
X = Tensor(RNG.standard_normal((6, 5)).astype(np.float32))
W = RNG.standard_normal((5, 5)).astype(np.float32)


def compare(make, steps=3):
    """make(jit) gives a function of no arguments; the same results whether jit compiles or not."""
    results = []
    for jit in (lambda f: f, ms.jit):
        ms.set_seed(4)
        step = make(jit)
        results.append([freeze(step()) for _ in range(steps)])
    assert results[0] == results[1]


def test_forward_alone_is_jitted():
    def make(jit):
        net = nn.SequentialCell(nn.Dense(5, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(p=0.3), nn.Dense(16, 3))
        forward = jit(lambda x: net(x))
        opt = nn.Adam(net.trainable_params(), 0.01)
        y = Tensor(np.arange(6, dtype=np.int32) % 3)
        grad = ms.value_and_grad(lambda x: nn.CrossEntropyLoss()(forward(x), y), None, opt.parameters)

        def step():
            loss, grads = grad(X)
            opt(grads)
            return loss, grads, [p for p in net.get_parameters()]
        return step
    compare(make, 4)


@pytest.mark.parametrize("body", [
    lambda f, x, w: f(x, w) + x,
    lambda f, x, w: f(f(x, w), w) * w.sum(),
    lambda f, x, w: x + f(x * 2, w) + f(x, w).sum(),
    lambda f, x, w: ops.stop_gradient(f(x, w)) * x,
])
def test_sums_keep_their_order(body):
    def make(jit):
        f = jit(lambda x, w: ops.tanh(x @ w) * x + x / (1 + w[0] * w[0]))
        grad = ms.grad(lambda x, w: (body(f, x, w) * 0.7).sum(), (0, 1))
        return lambda: grad(X, Tensor(W))
    compare(make)


def test_some_outputs_are_used():
    def make(jit):
        f = jit(lambda x: (x * 2, ops.exp(x), x.sum(), x > 0, [x * x, {"k": x.mean()}]))
        return lambda: (ms.grad(lambda x: f(x)[0].sum())(X), ms.grad(lambda x: (f(x)[4][0] * f(x)[1]).sum())(X),
                        ms.grad(lambda x: f(x)[4][1]["k"] + f(x)[2])(X),
                        ms.grad(lambda x: ops.where(f(x)[3], x, x * 3).sum())(X))
    compare(make)


def test_jitted_construct_in_an_eager_network():
    def make(jit):
        class Inner(nn.Cell):
            def __init__(self):
                super().__init__()
                self.dense = nn.Dense(5, 5, Tensor(W))

            def construct(self, x):
                return ops.relu(self.dense(x)) + x
        Inner.construct = jit(Inner.construct)

        class Outer(nn.Cell):
            def __init__(self):
                super().__init__()
                self.a, self.b = Inner(), Inner()

            def construct(self, x):
                return self.b(self.a(x) * 2).sum()
        net = Outer()
        grad = ms.grad(net, 0, net.trainable_params())
        return lambda: grad(X)
    compare(make)


def test_a_break_inside():
    seen = []

    def make(jit):
        def f(x):
            y = ops.sin(x) * 2
            seen.append(float(y.sum()))
            return y * x
        g = jit(f)
        return lambda: ms.grad(lambda x: g(x).sum())(X)
    compare(make)


def test_branches_and_loops_inside():
    def make(jit):
        def f(x):
            if x.sum() > 0:
                y = x * x
            else:
                y = ops.exp(x)
            while y.sum() < 60:
                y = y * 1.5 + 1
            return y
        g = jit(f)
        return lambda: (ms.grad(lambda x: g(x).sum())(X),
                        ms.grad(lambda x: g(x).sum())(Tensor(np.abs(X.asnumpy()) * 4)))
    compare(make)


def test_higher_order_and_forward_mode():
    def make(jit):
        f = jit(lambda x: (ops.sin(x) * x * x).sum())
        return lambda: (ms.grad(lambda x: ms.grad(f)(x).sum())(X), ms.jvp(f, X, X * 2), ms.jvp(ms.grad(f), X, X),
                        ms.vjp(f, X)[1](Tensor(2.0)))
    compare(make)


def test_unwatched_and_aliased_inputs():
    def make(jit):
        p = Parameter(Tensor(W), name="p")
        f = jit(lambda x, y: x * 3 + y * p)
        q = Tensor(W)
        return lambda: (ms.grad(lambda x: f(x, Tensor(W)).sum())(q), ms.grad(lambda x: f(x, x).sum())(q),
                        ms.grad(lambda x: (f(q, q) * x).sum())(q),
                        ms.grad(lambda x: f(x, x.copy()).sum())(q), ms.grad(lambda x: f(x, q).sum(), 0, [p])(Tensor(W)))
    compare(make)


def test_outputs_that_are_inputs():
    def make(jit):
        f = jit(lambda x, y: (x, y + 0, x.reshape(x.shape), y))
        return lambda: ms.grad(lambda x, y: sum([(v * k).sum() for k, v in enumerate(f(x, y), 1)]), (0, 1))(X, X * 2)
    compare(make)


def test_sizes_that_vary():
    def make(jit):
        f = jit(lambda x: (x * x).mean() * x.shape[0])
        return lambda: [ms.grad(f)(Tensor(np.ones((n, 3), np.float32) * n)) for n in (2, 3, 4, 5, 2)]
    compare(make)


def test_it_really_is_one_op():
    f = ms.jit(lambda x: ops.tanh(x) * ops.exp(x))
    g = ms.grad(lambda x: f(x).sum())
    g(X)
    g(X)
    assert ms.explain(f).entries[0]["calls"] == 2


def test_graph_mode_network_under_a_gradient():
    results = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        try:
            ms.set_seed(1)
            net = nn.SequentialCell(nn.Dense(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dense(8, 3))
            opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
            grad = ms.value_and_grad(lambda x: (net(x) ** 2).sum(), None, opt.parameters)
            for _ in range(3):
                loss, grads = grad(X)
                opt(grads)
            results.append(freeze([loss, grads, list(net.get_parameters())]))
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
    assert results[0] == results[1]
