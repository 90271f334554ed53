"""Gradients of loops on a Tensor: in the graph, with the bits of the plain run, whose tape has each turn's ops."""

import numpy as np
import pytest

import pijit as ms
from pijit import Parameter, Tensor, ops
from tests.python.differential import check_calls

X = Tensor(np.array([[0.5, 1.0, 1.5], [0.25, 2.0, -1.0]], np.float32))
SMALL, BIG = X * 0.125, X * 64
W = Parameter(Tensor(np.array([1.5, 0.75, 1.25], np.float32)), name="w")
CALLS = [(X,), (SMALL,), (BIG,), (X,)]


def grows(x):
    y = x
    while ops.abs(y).sum() < 20:
        y = y * W + ops.sin(y)
    return (y * y).sum()


def counted(x):
    y, n = x * 1, 0
    while y.max() < 10:
        y = ops.exp(y * 0.25) * y + x
        n = n + 1
    return y.sum() * n


def time_and_state(x):
    t, y = ops.zeros((), ms.float32), x
    while t < 1:
        k = ops.tanh(y * W)
        y = y + 0.25 * k
        t = t + 0.25
    return y.sum()


def branch_inside(x):
    y = x
    while ops.abs(y).sum() < 20:
        if y.sum() > 3:
            y = y * W * 1.25
        else:
            y = y + ops.abs(y) * W + 0.5
    return y.sum()


def nested(x):
    y = x
    while ops.abs(y).sum() < 20:
        z = y
        while z.max() < 3:
            z = z * W + 0.5
        y = y * 1.5 + z * 0.25
    return y.sum()


def two_loops(x):
    y = x
    while y.max() < 4:
        y = y * W + 0.25
    z = y + 1
    while z.max() < 9:
        z = z * W * y
    return (z * y).sum()


def no_turn(x):
    y = x * 2
    while y.sum() > 1e9:
        y = y * W
    return y.sum()


def as_tuple(x):
    s = (x, ops.ones((3,), ms.float32))
    while s[0].max() < 10:
        s = (s[0] * W + s[1], s[1] * 1.5)
    return s[0].sum() + s[1].sum()


BODIES = [grows, counted, time_and_state, branch_inside, nested, two_loops, no_turn, as_tuple]


@pytest.mark.parametrize("f", BODIES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("by", ["input", "weight", "both"])
def test_one_graph(f, by):
    def make():
        g = ms.value_and_grad(f, None if by == "weight" else 0, None if by == "input" else [W])
        return lambda x: g(x)
    check_calls(make, CALLS, graphs=1, breaks=0)


def refused_read(x):
    y = x
    while ops.abs(y).sum() < 20:
        y = y * 1.5 + x
    return (y * x).sum()


def only_one_is_used(x):
    a, b = x, x * 2
    while ops.abs(a).sum() < 20:
        a, b = a * 1.5 + b * 0.5, b * W
    return a.sum()


def second_order(x):
    return ms.grad(lambda v: ms.grad(grows)(v).sum())(x)


@pytest.mark.parametrize("f", [refused_read, only_one_is_used])
def test_the_right_gradient_if_not_one_graph(f):
    def make():
        g = ms.value_and_grad(f, 0, [W])
        return lambda x: g(x)
    check_calls(make, CALLS)


def test_higher_and_other_modes():
    check_calls(lambda: second_order, CALLS)
    check_calls(lambda: lambda x: ms.jvp(grows, x, x * 0.5), CALLS)
    check_calls(lambda: lambda x: ms.jvp(branch_inside, x, x * 0.5), CALLS)


@pytest.mark.parametrize("f", BODIES, ids=lambda f: f.__name__)
def test_a_jitted_loop_under_an_eager_gradient(f):
    g = ms.jit(f)
    for x in (X, SMALL, BIG):
        for _ in range(2):
            got, want = ms.grad(g, 0, [W])(x), ms.grad(f, 0, [W])(x)
            assert got[0].asnumpy().tobytes() == want[0].asnumpy().tobytes()
            assert got[1][0].asnumpy().tobytes() == want[1][0].asnumpy().tobytes()
