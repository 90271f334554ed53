"""What a branch on a Tensor does to things outside of it: Parameters, attributes and variables of outer functions, in
the graph."""

import numpy as np
import pytest

import pijit as ms
from pijit import Parameter, Tensor, nn, ops
from tests.python.differential import check_calls

UP = Tensor(np.linspace(0.5, 2, 6, dtype=np.float32).reshape(2, 3))
DOWN = Tensor(np.linspace(-2, -0.5, 6, dtype=np.float32).reshape(2, 3))
CALLS = [(UP,), (DOWN,), (UP,), (UP,)]


class Holder:
    def __init__(self):
        self.count, self.best, self.last = 0, Tensor(np.float32(-100)), None
        self.w = Parameter(Tensor(np.ones((2, 3), np.float32)), name="w")
        self.v = Parameter(Tensor(np.zeros((2, 3), np.float32)), name="v")


def assign(h):
    def f(x):
        if x.sum() > 0:
            ops.assign(h.w, h.w + x)
        return h.w * 2
    return f


def assign_in_both(h):
    def f(x):
        if x.sum() > 0:
            h.w.set_data(x)
            h.v.set_data(h.w * 2)
        else:
            h.v.set_data(h.v + x)
        return h.w + h.v
    return f


def elif_and_nested(h):
    def f(x):
        if x.sum() > 100:
            h.w.set_data(x)
        elif x.sum() > 0:
            if x.max() > 1:
                h.w.set_data(x + 1)
            h.v.set_data(h.w)
        return h.w, h.v
    return f


def early_return(h):
    def f(x):
        h.w.set_data(x * 3)
        if x.sum() > 0:
            h.w.set_data(h.w + x)
            return h.w * 2
        h.v.set_data(x)
        return h.v - 1
    return f


def same_object(h):
    def f(x):
        y = h.v
        if x.sum() > 0:
            h.w.set_data(x)
            y = h.w
        return y + 1
    return f


def items(h):
    def f(x):
        y = x * 1
        if x.sum() > 0:
            y[0, 1] = 7.0
            h.w[1] = y[0]
        return y, h.w * 1
    return f


def number(h):
    def f(x):
        if x.sum() > 0:
            h.count += 1
        return x + h.count
    return f


def tensor_attribute(h):
    def f(x):
        if x.sum() > h.best:
            h.best = x.sum()
        return h.best
    return f


def cell(h):
    total = Tensor(np.float32(0))

    def f(x):
        nonlocal total
        if x.sum() > 0:
            total = total + x.sum()
        return total * 1
    return f


def both_arms_call(h):
    def set_(x):
        h.w.set_data(x)

    def f(x):
        set_(x * 2) if x.sum() > 0 else set_(x)
        return x + 1
    return f


def optimizer(h):
    opt = nn.Adam([h.w, h.v], learning_rate=0.1)

    def f(x):
        grads = (x, x * 2)
        if ops.isfinite(x).all() and x.sum() > 0:
            opt(grads)
        return h.w.sum()
    return f


def within_a_gradient(h):
    def loss(x):
        y = (h.w * x).sum()
        if y > 0:
            h.v.set_data(x)
            y = y * 2
        return y
    g = ms.value_and_grad(loss, 0, [h.w])
    return lambda x: g(x)


ONE_GRAPH = [assign, assign_in_both, elif_and_nested, early_return, items, number, tensor_attribute, cell,
             both_arms_call, optimizer, within_a_gradient]


def program(body):
    def make():
        h = Holder()
        return body(h), lambda: h
    return make


@pytest.mark.parametrize("body", ONE_GRAPH, ids=lambda f: f.__name__)
def test_one_graph(body):
    check_calls(program(body), CALLS, graphs=1, breaks=0)


def test_whose_value_it_is():
    check_calls(program(same_object), CALLS)


def grows(h):
    seen = []

    def f(x):
        y = x * 2
        if x.sum() > 0:
            seen.append(1)
        return y + len(seen)
    return f


def prints(h):
    def f(x):
        y = x * 2
        if x.sum() > 0:
            print("up")
        return y + 1
    return f


def new_attribute(h):
    def f(x):
        y = x * 2
        if x.sum() > 0:
            h.made = y
        return y + 1
    return f


def other_type(h):
    def f(x):
        y = x * 2
        if x.sum() > 0:
            h.last = y
        return y + 1
    return f


@pytest.mark.parametrize("body", [grows, prints, new_attribute, other_type], ids=lambda f: f.__name__)
def test_a_split_with_everything_around_captured(body):
    check_calls(program(body), CALLS, breaks=1)


def test_a_branch_that_is_not_taken_binds_no_attribute():
    class Counter:
        count = 0

    def make():
        c = Counter()

        def f(x):
            if x.sum() > 1:
                c.count += 1
            return x * c.count
        return f, lambda: dict(vars(c))
    small, large = Tensor([0.1, 0.2]), Tensor([3.0, 4.0])
    check_calls(make, [(small,), (small,), (large,), (small,), (large,)])
