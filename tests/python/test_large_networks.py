"""Networks of many Cells are one graph: the budget of a capture counts turns of loops and recursion."""

import itertools

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, _C, nn
from tests.python.large_networks import (Chain, Elementwise, HighResolution, Searched, classifier_step, count_cells,
                                          growth, images, names_in_try, names_in_withs, names_that_live_on, straight,
                                          straight_with_names, trained_chain, trys)

X = Tensor(np.array([1.0, 2.0, 3.0], np.float32))


@pytest.fixture(autouse=True)
def small_budget():
    """512 instructions."""
    before = _C.get_option("max_unroll")
    _C.set_option("max_unroll", "8")
    yield
    _C.set_option("max_unroll", before)


def one_graph(f):
    e = ms.explain(f)
    return len(e.entries) == 1 and not e.breaks


@pytest.mark.parametrize("make",
                         [lambda: HighResolution(stages=(1, 1, 1), blocks=1), lambda: Searched(cells=3, nodes=3)])
def test_networks_train_as_one_graph(make):
    values = []
    for jitted in (True, False):
        ms.set_seed(1)
        net = make()
        assert count_cells(net) > 60
        step = classifier_step(net)
        if not jitted:
            step = step.__wrapped__
        values.append([float(step(*images(32)).asnumpy()) for _ in range(2)])
        if jitted:
            assert one_graph(step), ms.explain(step)
    assert values[0] == values[1]


@pytest.mark.parametrize("make",
                         [lambda: straight(3000), lambda: straight_with_names(2000), lambda: trained_chain(4000),
                          lambda: ms.jit(Chain([Elementwise() for _ in range(1500)]).construct)])
def test_what_is_long_is_no_loop(make):
    f = make()
    f(Tensor(np.full((4, 4), 0.1, np.float32)))
    assert one_graph(f), ms.explain(f)


@pytest.mark.parametrize("make", [names_that_live_on, names_in_try, trys, names_in_withs])
def test_eight_times_the_code_takes_about_eight_times_the_time(make):
    """Quadratic would be 64 times; make test-linear has closer limits."""
    few, many = growth(make, 500, 8)
    assert many < 20 * few, (few, many)


def test_names_of_long_code_live_on_across_breaks():
    """What a break keeps of many variables is what is read later."""
    lines = [f"    x{k + 1} = x{k} * 0.5 + x{k // 2}" for k in range(300)]
    for k in (250, 150, 50):
        lines.insert(k, f"    str(x{k}.asnumpy())")
    names = {}
    exec("def f(x0):\n" + "\n".join(lines) + "\n    return x300, x7, x151", names)
    f = names["f"]
    g = ms.jit(f)
    for a, b in zip(g(X), f(X)):
        assert np.array_equal(a.asnumpy(), b.asnumpy())
    assert len(ms.explain(g).breaks) == 3


def turns(x, n):
    for k in range(300000):
        n += k
    return x + n % 7


def endless_while(x, n):
    while True:
        n += 1
        if n > 300000:
            return x + n % 7


def endless_iterator(x, n):
    for k in itertools.count():
        n += k
        if k > 100000:
            return x + n % 7


def endless_generator(x, n):
    def numbers():
        k = 0
        while True:
            yield k
            k += 1
    for k in numbers():
        n += k
        if k > 100000:
            return x + n % 7


def recursion(x, n):
    def fibonacci(k):
        return k if k < 2 else fibonacci(k - 1) + fibonacci(k - 2)
    return x + fibonacci(22) % 7


def mutual_recursion(x, n):
    def even(k):
        return 1 if k == 0 else odd(k - 1) + odd(k - 1)

    def odd(k):
        return 0 if k == 0 else even(k - 1) + even(k - 1)
    return x + even(16) % 7


class Adds(nn.Cell):
    def construct(self, x, n):
        return n + 1


adds = Adds()


def the_same_cell_again(x, n):
    for _ in range(30000):
        n = adds(x, n)
    return x + n % 7


def doubled_calls(x, n):
    def f0(n):
        return n + 1

    def f1(n):
        return f0(f0(f0(f0(n))))

    def f2(n):
        return f1(f1(f1(f1(n))))

    def f3(n):
        return f2(f2(f2(f2(n))))

    def f4(n):
        return f3(f3(f3(f3(n))))

    def f5(n):
        return f4(f4(f4(f4(n))))

    def f6(n):
        return f5(f5(f5(f5(n))))

    def f7(n):
        return f6(f6(f6(f6(n))))
    return x + f7(n) % 7


@pytest.mark.parametrize("f",
                         [turns, endless_while, endless_iterator, endless_generator, recursion, mutual_recursion,
                          the_same_cell_again, doubled_calls])
def test_what_comes_back_is_counted(f):
    g = ms.jit(f)
    assert np.array_equal(g(X, 0).asnumpy(), f(X, 0).asnumpy())
    assert any("too long to unroll" in b["reason"] for b in ms.explain(g).breaks), ms.explain(g)
