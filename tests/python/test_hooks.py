"""Hooks on gradients, of Tensors, Parameters and Cells: what they see, when they run, and that captured code runs them
in its graph.

What they see is measured: MindSpore 2.7.1 gives the same numbers, in the same order."""

import numpy as np
import pytest

import pijit as ms
from pijit import Parameter, Tensor, nn, ops
from tests.python.differential import check


def t(*values):
    return Tensor(np.array(values, np.float32))


X, Y = t(1, 2), t(3, 4)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(t(2, 3), name="w")

    def construct(self, x):
        return (self.w * x * self.w).sum()


def lists(x):
    return ([lists(v) for v in x] if isinstance(x, (list, tuple)) else x.asnumpy().tolist() if isinstance(x, Tensor)
            else x)


# -- Tensors --
def in_function(x):
    seen = []

    def f(x):
        y = x * 2
        y.register_hook(lambda g: (seen.append(("y", g)), g * 10)[1])
        z = y * y
        z.register_hook(lambda g: seen.append(("z", g)))
        x.register_hook(lambda g: seen.append(("x", g)))
        return z.sum() + x.sum()
    return ms.grad(f)(x), seen


def after_use(x):
    seen = []

    def f(x):
        y = x * 2
        z = y * y
        y.register_hook(lambda g: (seen.append(g), g * 10)[1])
        return z.sum() + (y * 3).sum()
    return ms.grad(f)(x), seen


def two(x):
    seen = []

    def f(x):
        y = x * 2
        y.register_hook(lambda g: (seen.append("1"), g * 2)[1])
        y.register_hook(lambda g: (seen.append("2"), g + 1)[1])
        return y.sum()
    return ms.grad(f)(x), seen


def removed(x):
    def f(x):
        y = x * 2
        y.register_hook(lambda g: g * 10).remove()
        return (y * y).sum()
    return ms.grad(f)(x)


def unused(x):
    def f(x):
        y = x * 2
        y.register_hook(lambda g: 1 / 0)
        return x.sum()
    return ms.grad(f)(x)


def nested(x):
    def inner(x):
        y = x * x
        y.register_hook(lambda g: g * 3)
        return (y * x).sum()
    return ms.grad(lambda x: ms.grad(inner)(x).sum())(x)


def printed(x):
    def f(x):
        y = x * x
        y.register_hook(lambda g: print("gradient", g))
        return y.sum()
    print("before")
    g = ms.grad(f)(x)
    print("after")
    return g


TENSORS = {in_function: ([81, 161], [["z", [1, 1]], ["y", [4, 8]], ["x", [81, 161]]]),
           after_use: ([140, 220], [[7, 11]]), two: ([6, 6], ["1", "2"]),
           removed: [8, 16], unused: [1, 1]}


@pytest.mark.parametrize("f", [in_function, after_use, two, removed, unused, nested, printed])
def test_tensor_hooks_are_in_the_graph(f):
    check(lambda: f, X, graphs=1, breaks=0, captures=1)
    if f in TENSORS:
        assert lists(f(X)) == lists(TENSORS[f])


@pytest.mark.parametrize("given,error",
                         [(lambda g: 3.0, RuntimeError), (lambda g: g.sum(), ValueError),
                          (lambda g: g.astype(ms.float16), ValueError)])
def test_what_a_hook_returns(given, error):
    def f(x):
        y = x * 2
        y.register_hook(given)
        return (y * 3).sum()
    g = ms.grad(f)
    for h in (g, ms.jit(lambda x: g(x))):
        with pytest.raises(error):
            h(X)
    with pytest.raises(TypeError, match="callable"):
        X.register_hook(3)


def test_a_tensor_outside():
    x, seen = t(1, 2), []
    handle = x.register_hook(lambda g: (seen.append(lists(g)), g * 10)[1])
    g = ms.grad(lambda x: (x * x).sum())
    assert lists(g(x)) == [20, 40] and seen == [[2, 4]]
    assert lists(g(t(1, 2))) == [2, 4] and len(seen) == 1  # another Tensor
    handle.remove()
    assert lists(g(x)) == [2, 4] and len(seen) == 1
    y = x * 2
    y.register_hook(lambda g: g * 3)
    assert lists(g(y)) == [12, 24]


# -- Parameters --
def test_a_parameter_outside():
    net, seen = Net(), []
    x = t(1, 5)
    plain = ms.grad(net, None, net.trainable_params())
    fast = ms.jit(lambda x: plain(x))
    for g in (plain, fast):
        assert lists(g(x)) == [[4, 30]]
    handle = net.w.register_hook(lambda g: (seen.append(lists(g)), g * 10)[1])
    assert lists(plain(x)) == [[40, 300]] and seen == [[4, 30]]
    assert lists(fast(x)) == [[40, 300]]
    second = net.w.register_hook(lambda g: g + 1)
    for g in (plain, fast):
        assert lists(g(x)) == [[41, 301]]
    handle.remove()
    for g in (plain, fast):
        assert lists(g(x)) == [[5, 31]]
    second.remove()
    for g in (plain, fast):
        assert lists(g(x)) == [[4, 30]]


def test_a_parameters_hook_in_the_graph():
    def make():
        net = Net()
        net.w.register_hook(lambda g: g * 10)
        g = ms.value_and_grad(net, None, net.trainable_params())
        return lambda x: g(x)
    check(make, t(1, 5), graphs=1, breaks=0, captures=1)


def test_hooks_die_with_their_tensor():
    before = dict(ms.hooks.kept)
    w = Parameter(t(1), name="w")
    w.register_hook(lambda g: g)
    assert len(ms.hooks.kept) == len(before) + 1
    del w
    assert ms.hooks.kept == before


# -- Cells --
class Inner(nn.Cell):
    def construct(self, x, y):
        return x * y, x + y


class Square(nn.Cell):
    def construct(self, x):
        return x * x


class Scale(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(t(1, 2), name="w")

    def construct(self, x, k=2, flag=None):
        return x * self.w * k


def all_kinds():
    seen, inner = [], Inner()
    inner.register_backward_pre_hook(lambda cell, out: seen.append(("pre", out)))
    inner.register_backward_hook(lambda cell, into, out: seen.append(("backward", into, out)))
    inner.register_forward_hook(lambda cell, i, o: seen.append("forward"))
    inner.register_forward_pre_hook(lambda cell, i: seen.append("forward pre"))

    def f(x, y):
        a, b = inner(x, y)
        return (a * a + b).sum()
    g = ms.grad(f, (0, 1))

    def run(x, y):
        seen.clear()
        return g(x, y), list(seen)
    return run


def beside_forward_hooks():
    seen, cell = [], Square()
    cell.register_forward_hook(lambda cell, i, o: o * 3)
    cell.register_forward_pre_hook(lambda cell, i: (i[0] * 2,))
    cell.register_backward_pre_hook(lambda cell, out: seen.append(("pre", out)))
    cell.register_backward_hook(lambda cell, into, out: seen.append(("backward", into, out)))
    g = ms.grad(lambda x: cell(x).sum())

    def run(x):
        seen.clear()
        return g(x), list(seen)
    return run


def twice():
    seen, cell = [], Square()
    for name in ("1", "2"):
        cell.register_backward_hook(lambda cell, into, out, name=name: seen.append("h" + name))
        cell.register_backward_pre_hook(lambda cell, out, name=name: seen.append("p" + name))
    g = ms.grad(lambda x: cell(cell(x)).sum())

    def run(x):
        seen.clear()
        return g(x), list(seen)
    return run


def replaced():
    cell = Square()
    cell.register_backward_pre_hook(lambda cell, out: (out[0] * 5,))
    cell.register_backward_hook(lambda cell, into, out: into[0] * 7)
    g = ms.grad(lambda x: cell(x * 3).sum())
    return lambda x: g(x)


def of_weights():
    seen, cell = [], Scale()
    cell.register_backward_hook(lambda cell, into, out: seen.append((into, out)))

    def f(x):
        return cell(x, 3, None).sum()
    both, alone = ms.grad(f, 0, cell.trainable_params()), ms.grad(f, None, cell.trainable_params())

    def run(x):
        seen.clear()
        return both(x), alone(x), list(seen)
    return run


CELLS = {
    all_kinds: (((19, 65), (7, 33)),
                ("forward pre", "forward", ("pre", ((6, 16), (1, 1))),
                 ("backward", ((19, 65), (7, 33)), ((6, 16), (1, 1))))),
    beside_forward_hooks: ((24, 48), (("pre", ((1, 1),)), ("backward", ((12, 24),), ((1, 1),)))),
    twice: ((4, 32), ("p1", "p2", "h1", "h2") * 2), replaced: (630, 1260),
    of_weights: (((3, 6), ((3, 6),)), ((3, 6),), ((((3, 6),), ((1, 1),)), ((None,), ((1, 1),)))),
}


@pytest.mark.parametrize("make", CELLS)
def test_cell_hooks(make):
    args = (X, Y) if make is all_kinds else (X,)
    assert lists(make()(*args)) == lists(CELLS[make])
    check(make, *args, graphs=1, breaks=0)


def test_a_backward_hook_of_another_number_of_gradients():
    cell = Inner()
    cell.register_backward_hook(lambda cell, into, out: into[:1])
    with pytest.raises(ValueError, match="2 gradients"):
        ms.grad(lambda x: cell(x, x)[0].sum())(X)


def test_hooks_outside_of_gradients():
    cell = Square()
    cell.register_backward_hook(lambda cell, into, out: 1 / 0)
    check(lambda: lambda x: cell(x) + 1, X, graphs=1, breaks=0, captures=1)
    assert lists(ops.vmap(cell)(t(1, 2))) == [1, 4]


class Weighted(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight, self.bias = Parameter(Tensor(2.0), name="weight"), Parameter(Tensor(1.0), name="bias")
        self.dense = nn.Dense(1, 1, weight_init="ones", bias_init="zeros")

    def construct(self, x):
        return x * self.weight + self.bias + self.dense(x.reshape(1, 1)).sum()


@pytest.mark.parametrize("all_of_them", [False, True])
def test_parameter_forward_hooks(all_of_them):
    """Values of MindSpore 2.10's graphs."""
    net = Weighted()
    ten_times = lambda p: p * 10  # noqa: E731
    assert net.register_parameter_forward_hook(
        ten_times if all_of_them else [{"params": [net.weight], "hook": ten_times}]) is None
    x = Tensor(3.0)
    want = (100, 30, [30, 10, 30, 10]) if all_of_them else (64, 21, [30, 1, 3, 1])
    step = ms.value_and_grad(net, 0, net.trainable_params())
    jitted = ms.jit(lambda x: step(x))
    for call in (step, jitted, jitted):
        value, (by_x, by_parameters) = call(x)
        assert (value.item(), by_x.item(), [g.item() for g in by_parameters]) == want
    assert not ms.explain(jitted).breaks
    assert net(x).item() == want[0] and type(net.weight) is Parameter and net.weight.item() == 2
    with pytest.raises(TypeError):
        net("a")
    assert net.weight is net._params["weight"] and len(net.trainable_params()) == 4


@pytest.mark.parametrize("wrong, error", [
    (1, TypeError), ([1], TypeError), ([{}], ValueError), ([{"params": []}], ValueError),
    ([{"params": [1], "hook": len}], TypeError), ([{"params": [], "hook": 3}], TypeError), (None, TypeError)])
def test_what_is_no_parameter_forward_hook(wrong, error):
    with pytest.raises(error):
        Weighted().register_parameter_forward_hook(wrong)
