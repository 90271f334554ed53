"""Functions nobody decorated, captured because a break of a jitted function runs them."""

import contextlib
import functools
import gc
import operator
import sys
import threading
import weakref

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, nn, ops

from tests.python.differential import check, check_calls

X = Tensor(np.arange(12, dtype=np.float32).reshape(3, 4) / 10)
opaque = operator.methodcaller  # a call that capture cannot follow


def starmap(function, rows):
    """As itertools', by C code that capture cannot follow."""
    return [opaque("__call__", *row)(function) for row in rows]


def captured(e, name):
    return [c for c in e.callees if c["where"].startswith(name + " at ") and c["graph_runs"]]


def test_callbacks_of_c_code():
    def make():
        def key(t):
            return float(((t - 1) * (t - 1)).sum().asnumpy())

        def step(acc, t):
            return acc * 0.5 + ops.tanh(t)

        def f(x):
            rows = sorted([x[0], x[1] * 3, x[2] - 1], key=key)
            total = rows[0]
            for r in rows[1:]:
                total = opaque("__call__", total, r)(step)
            return total, list(map(lambda t: t * t + 1, rows)), max(rows, key=key)
        return f
    e = check(make, X, calls=4)
    assert captured(e, "key") and captured(e, "step"), e


def test_special_methods_properties_and_iterators():
    class Rows:
        def __init__(self, x):
            self.x, self.log = x, []

        def __iter__(self):
            try:
                opaque("", end="")  # so that the generator runs by itself
                yield from [scaled(self.x[k], k) for k in range(3)]
            finally:
                self.log.append("end")

        def __getitem__(self, k):
            self.log.append(k)
            return scaled(self.x[k], k)

        @property
        def total(self):
            return scaled(self.x, 2).sum()

        def __contains__(self, t):
            return bool((scaled(t, 1) == self.x).all())

    def scaled(t, k):
        return t * (k + 2) - ops.exp(t)

    def make():
        def f(x):
            rows = Rows(x)
            y = x.sum()
            for r in rows:
                y = y + r.sum()
            return y + rows.total + rows[1].sum(), x in rows, rows.log
        return f
    e = check(make, X, calls=4)
    assert captured(e, "scaled"), e


def test_calls_inside_try_and_with():
    class Guard:
        def __enter__(self):
            return self

        def __exit__(self, *exc):
            return exc[0] is ValueError

    def inner(x, k):
        y = ops.tanh(x) * k
        if k > 2:
            raise ValueError(f"too much: {k}")
        return y + 1

    def make():
        def f(x, k):
            with Guard():
                opaque("in")
                x = inner(x, k)
            try:
                opaque("try")
                x = x + inner(x * 2, k)
            except ValueError as e:
                return x, str(e)
            finally:
                opaque("out")
            return x
        return f
    check(make, X, 1, calls=3, graphs=2, breaks=3, captures=4)  # inner is part of what follows the breaks
    check(make, X, 5, calls=3)


def test_functions_that_share_their_code_keep_their_own_closures():
    def make():
        def scale_by(k):
            def inner(x):
                y = x * k
                try:
                    opaque("k", k)
                    return y + k
                finally:
                    opaque("done")
            return inner

        def f(x):
            return [g(x) for g in [scale_by(2.0), scale_by(5.0), scale_by(5.0), scale_by(2.0)]]
        return f
    check(make, X, calls=3)


def test_errors_in_callees_have_their_lines():
    def inner(x, k):
        y = ops.exp(x)
        z = y[k]
        return z * 2

    def outer(x, k):
        opaque("outer")
        return inner(x, k) + 1

    def make():
        def f(x, k):
            return list(starmap(outer, [(x, 0), (x + 1, k)]))
        return f
    check(make, X, 1, calls=3)
    check(make, X, 9, calls=3)


def test_networks_called_by_library_code():
    def make():
        ms.set_seed(1)
        net = nn.SequentialCell(nn.Dense(4, 5), nn.ReLU(), nn.Dense(5, 2))

        def f(x):
            return [opaque("__call__", v)(net) for v in (x, x * 2)]
        return f
    e = check(make, X, calls=3)
    assert captured(e, "__call__"), e


def test_a_network_without_graphs_does_not_hide_others():
    class Opaque(nn.Cell):
        def construct(self, x):
            return opaque("__len__")(x.shape)

    def make():
        ms.set_seed(1)
        nets = [Opaque(), nn.SequentialCell(nn.Dense(4, 5), nn.ReLU())]

        def f(x, k):
            return opaque("__call__", x)(nets[k])
        return f
    e = check_calls(make, [(X, 0)] * 6 + [(X, 1)] * 3)
    assert captured(e, "__call__"), e


def test_gradients_go_through_callees():
    def make():
        def square(t):
            return t * t * 0.5

        def f(x):
            return sum(t.sum() for t in map(square, [x, x * 3]))

        return lambda x: ms.grad(f)(x)
    check(make, X, calls=3)

    def make2():
        def loss(x):
            opaque("loss")
            return functools.reduce(lambda a, b: a * b, [x, x + 1]).sum()

        def f(x):
            opaque("outside")
            return ms.value_and_grad(loss)(x)
        return f
    check(make2, X, calls=3)


def test_arguments_die_when_the_plain_function_drops_them():
    died = []

    class Box:
        def __init__(self, name):
            self.name = name

        def __del__(self):
            died.append(self.name)

    def inner(t, box):
        opaque("in", died)
        del box
        opaque("after", died)
        y = ops.tanh(t)
        return y * 2

    def make():
        died.clear()

        def f(x):
            return list(starmap(inner, [(x, Box("a")), (x, Box("b"))])), list(died)
        return f
    check(make, X, calls=3)


def test_super_without_arguments_behind_a_break():
    class Base:
        def scale(self, t):
            return t * 2

        def __getattribute__(self, name):
            return super().__getattribute__(name)

    class Derived(Base):
        def scale(self, t):
            opaque("scale")
            return super().scale(t) + 1

        def twice(self, t):
            with contextlib.suppress(ZeroDivisionError):
                opaque("twice")
                return super().scale(super().scale(t))

        def captured(self, t):  # self lives in a cell
            def use():
                return self, t
            opaque("captured")
            return super().scale(t), use()[1]

        def forgets(self, t):
            f = super().scale
            del self
            opaque("forgets")
            try:
                return self, f(t)  # noqa: F821 (unbound, as it should be)
            except UnboundLocalError as e:
                return str(e), f(t)

        def __setattr__(self, name, value):
            opaque("set", name)
            super().__setattr__(name, value)

    def make():
        d = Derived()

        def f(x):
            d.last = x
            return d.scale(x), d.twice(x), d.captured(x), d.forgets(x), d.last
        return f, lambda: vars(d)
    check(make, X, calls=3)
    for name in ("scale", "twice", "captured", "forgets"):
        def make_method(name=name):
            method = ms.jit(getattr(Derived, name))
            d = Derived()
            return lambda x: method(d, x)
        check(make_method, X, calls=3)


def test_the_rest_of_a_broken_function_drops_its_arguments():
    died = []

    class Box:
        def __del__(self):
            died.append("box")

    def make():
        died.clear()

        def f(x, box):
            with contextlib.suppress(ValueError):
                opaque("in", died)
                del box
                opaque("after", died)
                return x + 1

        jitted = ms.jit(f)
        return lambda x: (jitted(x, Box()), list(died))
    check(make, X, calls=3)


no_c_stack = pytest.mark.skipif(sys.version_info < (3, 11), reason="calls between Python functions take C stack anyway")


@no_c_stack
def test_hook_is_there_only_while_needed():
    """Plain calls between Python functions need no C stack where no hook is installed."""
    def depth(n):
        return 0 if n == 0 else 1 + depth(n - 1)

    def use(t):
        return t * 2 + 1

    f = ms.jit(lambda x: list(starmap(use, [(x,)]))[0])
    for _ in range(3):
        f(X)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(60000)
    try:
        assert depth(50000) == 50000
    finally:
        sys.setrecursionlimit(before)


@no_c_stack
def test_deep_recursion_below_a_break():
    """The hook steps aside before the C stack runs short."""
    def depth(n, t):
        return 0 if n == 0 else 1 + depth(n - 1, t)

    def run(n):
        return depth(n, None)

    def make():
        def f(x, n):
            return sorted([n, n - 1], key=run), x * 2
        return f
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(60000)
    try:
        check(make, X, 50000)
    finally:
        sys.setrecursionlimit(before)


def test_recursion_of_a_jitted_function_ends_in_recursion_error():
    def make():
        def f(x, n):
            opaque("", end="")
            return x if n == 0 else f(x + 1, n - 1)
        f = ms.jit(f)
        return f
    assert make()(X, 50).asnumpy()[0, 0] == 50
    with pytest.raises(RecursionError):
        make()(X, 10**6)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(10**7)
    try:
        with pytest.raises(RecursionError):
            make()(X, 10**6)
    finally:
        sys.setrecursionlimit(before)


def test_a_resumed_function_that_cannot_begin():
    """Recursion ends as a function is resumed: its state is dropped, not left for others."""
    class Box:
        alive = 0

        def __init__(self):
            Box.alive += 1

        def __del__(self):
            Box.alive -= 1

    @ms.jit
    def f(x, box):
        with contextlib.suppress(ValueError):
            opaque("", end="")
            return f(x, Box())
    for _ in range(3):
        with pytest.raises(RecursionError):
            f(X, Box())
    gc.collect()
    assert Box.alive == 0


def test_other_threads_are_left_alone():
    ready, go, seen = threading.Event(), threading.Event(), []

    def use(t):
        return t * 2 + 1

    def wait(t):
        ready.set()
        go.wait(10)
        return use(t)

    f = ms.jit(lambda x: list(starmap(wait, [(x,)]))[0])
    worker = threading.Thread(target=lambda: seen.append(f(X)))
    worker.start()
    ready.wait(10)

    def elsewhere(t):
        return t * 3 + 1
    assert np.array_equal(elsewhere(X).asnumpy(), X.asnumpy() * 3 + 1)
    try:
        assert not ms.explain(elsewhere).graphs  # with PIJIT_AUTO=1, any function can be asked about
    except TypeError as e:
        assert "explain" in str(e)
    go.set()
    worker.join(10)
    assert np.array_equal(seen[0].asnumpy(), X.asnumpy() * 2 + 1)
    assert ms.explain(wait).graph_runs == 1


def test_many_threads():
    def use(t, k):
        return ops.tanh(t) * k

    @ms.jit
    def f(x):
        opaque("", end="")
        return list(starmap(use, [(x, 2.0), (x + 1, 3.0)]))
    expected = [t.asnumpy() for t in (ops.tanh(X) * 2.0, ops.tanh(X + 1) * 3.0)]
    wrong = []

    def work():
        for _ in range(200):
            wrong.extend(1 for a, b in zip(f(X), expected) if not np.array_equal(a.asnumpy(), b))
    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join(60) for t in threads]
    assert not wrong


def test_code_assigned_anew():
    def double(x):
        return x * 2

    def triple(x):
        opaque("triple")
        return x * 3
    f = ms.jit(double)
    assert np.array_equal(f(X).asnumpy(), X.asnumpy() * 2)
    f.__code__ = triple.__code__
    assert np.array_equal(f(X).asnumpy(), X.asnumpy() * 3)


def test_callees_made_anew_do_not_add_up():
    f = ms.jit(lambda x, g: list(starmap(g, [(x,)]))[0])
    for k in range(1200):
        space = {}
        exec("def g(t):\n    return t * 2 + 1", space)
        y = f(X, space["g"])
    assert np.array_equal(y.asnumpy(), X.asnumpy() * 2 + 1) and len(ms.explain(f).callees) <= 1024


def test_code_is_freed_with_its_functions():
    def make():
        space = {"ops": ops, "opaque": opaque}
        exec("def inner(t):\n    return ops.tanh(t) * 2\ndef f(x):\n    opaque('', end='')\n    return "
             "opaque('__call__', x)(inner)", space)
        return ms.jit(space["f"]), space["inner"]
    f, inner = make()
    for _ in range(3):
        f(X)
    assert ms.explain(inner).compile_count == 1
    gone = [weakref.ref(f.__code__)]
    del f, inner
    gc.collect()
    assert gone[0]() is None


def test_functions_in_cycles_with_what_they_captured_are_freed():
    def make():
        class Thing:
            pass
        thing = Thing()
        thing.k, Thing.one = 2, thing

        def inner(t):
            return (t * thing.k + 1) * 2 - 3

        def a(x):
            opaque("", end="")
            return list(starmap(inner, [(x * 2,)]))[0] + thing.k

        def b(x):
            opaque("", end="")
            return list(starmap(inner, [(x * 3,)]))[0] - thing.k
        thing.a, thing.b, thing.inner = ms.jit(a), ms.jit(b), inner
        for _ in range(3):  # what is known of inner belongs to both
            thing.a(X)
            thing.b(X)
        return [weakref.ref(o) for o in (thing, thing.a, thing.b, inner, Thing)]
    refs = make()
    gc.collect()
    assert [r() for r in refs] == [None] * 5


def test_a_callee_of_two_functions_outlives_one():
    def inner(t):
        return t * 2 + 1

    def outer(x):
        opaque("", end="")
        return list(starmap(inner, [(x,)]))[0]
    a, b = ms.jit(outer), ms.jit(lambda x: outer(x) * 1)
    for _ in range(3):
        expected = a(X), b(X)
    del a
    gc.collect()
    assert np.array_equal(b(X).asnumpy(), expected[1].asnumpy())


def test_references_stay_balanced():
    class Thing:
        pass

    def inner(t, thing):
        return t * 2 + 1

    def broken(t, thing):
        y = t + 1
        opaque("", end="")
        return inner(y, thing)

    f = ms.jit(lambda x, thing: list(starmap(broken, [(x, thing)] * 2)) + list(starmap(inner, [(x, thing)])))
    thing = Thing()
    for _ in range(5):
        f(X, thing)
    gc.collect()
    counts = [sys.getrefcount(o) for o in (X, thing, inner, broken, inner.__code__, broken.__code__, None)]
    for _ in range(200):
        f(X, thing)
    gc.collect()
    after = [sys.getrefcount(o) for o in (X, thing, inner, broken, inner.__code__, broken.__code__, None)]
    assert all(abs(a - b) < 20 for a, b in zip(after, counts)), (counts, after)


def test_functions_that_are_not_worth_it_are_left_alone():
    def no_graph(t, names):
        opaque("", end="")
        names.append(t.shape)
        return names

    f = ms.jit(lambda x, names: list(starmap(no_graph, [(x, names)]))[0])
    names = []
    for _ in range(10):
        f(X, names)
    assert len(names) == 10
    assert ms.explain(no_graph).calls < 10


def test_calls_that_gain_nothing_are_cpythons_alone_until_an_op_runs():
    """Below many plain calls nobody looks at them; a net that comes later is captured."""
    seen = []

    def step(i):
        seen.append(i)

    def net(x):
        for _ in range(8):
            x = x * 1.5 + 0.5
        return x.sum()

    def call(fn, arg):
        return fn(arg)

    def body(x, calls):
        return (x + 1).sum(), list(starmap(call, calls))

    calls = [(step, i) for i in range(2500)] + [(net, X)] * 3 + [(step, i) for i in range(5)] + [(net, X)]
    f = ms.jit(body)
    assert str(f(X, calls)) == str(body(X, calls)) and len(seen) == 2 * 2505
    assert ms.explain(call).graph_runs == 3  # the first one wakes who looks
