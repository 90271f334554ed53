"""Generators, sets, unpacking, matching and with statements inside captured functions."""

import contextlib
import functools
import sys

import numpy as np
import pytest
from differential import check, check_calls

import pijit as ms
from pijit import Tensor, ops

X = Tensor(np.arange(12, dtype=np.float32).reshape(3, 4) / 10)


def count(n, *, start=0):
    for i in range(start, n):
        yield i


def scaled(x, *factors):
    for f in factors:
        yield x * f
    return "end"


def chained(*parts):
    for p in parts:
        yield from p


def cleaning(x, log):
    try:
        yield x
        yield x + 1
    finally:
        log.append("clean")


class Manager:
    def __init__(self, log, swallow=False):
        self.log, self.swallow = log, swallow

    def __enter__(self):
        self.log.append("in")
        return len(self.log)

    def __exit__(self, kind, value, traceback):
        self.log.append(kind and kind.__name__)
        return self.swallow


def expressions(x):
    return (sum(x * i for i in range(3)), any(i > 1 for i in (1, 2)), all(x.shape[k] > 0 for k in range(x.ndim)),
            [v for v in (i * i for i in count(4)) if v], max(i % 3 for i in range(5)), tuple(scaled(x, 1, 2)))


def loops(x):
    out = {}
    for i, v in enumerate(scaled(x, 2, 3)):
        out[i] = v
    for a, b in zip(count(3), scaled(x, 5, 6, 7)):
        out[f"z{a}"] = b
    g = count(9, start=7)
    return out, next(g), next(g), next(g, "none")


def partly(x):
    g = scaled(x, 1, 2, 3)
    first = next(g)
    rest = list(g)
    h = count(10)
    for i in h:
        if i == 3:
            break
    return first, rest, next(h), any(True for _ in h), next(h)


def effects(x):
    log = []

    def noisy():
        for i in range(3):
            log.append(i)
            print("gives", i)
            yield x + i
    total = 0
    for t in noisy():
        log.append("used")
        total = total + t
    return total, log


def handed_on(x):
    return scaled(x, 4), (i for i in (1, 2)), count(2)


def sets(x):
    s = {1, 2, 3}
    s.add(x.shape[0] + 4)
    t = {i % 3 for i in range(7)}
    u = set("hello")
    u.add("z")
    return x * len(s), s, t, sorted(u), 2 in s, 9 in t, u, set(), bool(set()), [v for v in s], s.issuperset({1})


def unpacking(x):
    a, *b = [x, 1, 2]
    *c, d = (1, 2, x)
    e, *f, g = "abcd"
    h, *i = {"k": 1}
    return a, b, c, d, e, f, g, h, i


def deletion(x):
    d = {"a": x, "b": 2, "c": 3}
    del d["b"]
    items = [1, x, 3]
    del items[-1], items[0]
    d |= {"z": 1}
    e = d | {"a": 0}
    d.update(q=4)
    return d, items, e, [1, 2, 1].count(1), [5, 6].index(6)


def annotated(x):
    def inner(a: Tensor, b: int = 2) -> Tensor:
        return a * b
    return inner(x), inner.__name__ if x.ndim > 5 else 0


def constants(x):
    t = Tensor([1.0, 2, 3, 4])
    u = Tensor([[1, 2]], ms.int32)
    t += 1
    return x + t, u, Tensor(5), Tensor((True, False)), t


WHOLE = [expressions, loops, effects, sets, unpacking, deletion, annotated, constants, partly]
if sys.version_info >= (3, 10):
    from matching import matched_shape
    WHOLE.append(matched_shape)


@pytest.mark.parametrize("f", WHOLE, ids=lambda f: f.__name__)
def test_captured_whole(f):
    check(lambda: f, X, breaks=0)


def test_generators_that_leave_the_function():
    def plain(f, *args):
        return [list(g) for g in f(*args)]
    for f in (handed_on, ms.jit(handed_on)):
        a, b, c = plain(f, X)
        assert np.array_equal(a[0].asnumpy(), X.asnumpy() * 4) and b == [1, 2] and c == [0, 1]


def test_a_break_in_a_loop_over_a_generator():
    def f(x):
        total = 0
        for t in scaled(x, 1, 2, 3):
            id(total)
            total = total + t
        g = scaled(x, 5, 6)
        first = next(g)
        id(first)
        return total, first, next(g)
    check(lambda: f, X)


def test_yield_from_and_cleaning_up_run_in_python():
    def make():
        log = []

        def f(x):
            total = 0
            for i in chained([1, 2], (x, 3)):
                total = total + i
            for t in cleaning(x, log):
                total = total + t
                break
            return total, any(i is x for i in cleaning(x, log))
        return f, lambda: log
    check(make, X)


def test_an_exception_inside_a_generator():
    def bad(x):
        yield x
        raise ValueError("inside")

    def f(x):
        return [t * 2 for t in bad(x)]

    def stop(x):
        def g():
            yield x
            raise StopIteration
        return list(g())

    def empty(x):
        g = count(1)
        next(g)
        return next(g)

    for h in (f, stop, empty):
        check(lambda h=h: h, X)


def test_sum_and_reduce_take_items_as_they_need_them():
    def f(x):
        log = []

        def items(n):
            for i in range(n):
                log.append(("item", i))
                yield x * i + 1

        def step(p, q):
            log.append("step")
            return p * 0.5 + q

        class Total:
            def __radd__(self, other):
                log.append("added")
                return other
        return functools.reduce(step, items(3), x), sum(items(2)), sum((Total() for i in items(2)), x), log

    def g(x):
        return ms.grad(lambda t: (functools.reduce(lambda p, q: p * 0.3 + q, (t * i * 0.7 + 1 for i in range(3)), t) *
                                  sum(t * t * i for i in range(4)) * t).sum())(x)
    check(lambda: f, X)
    check(lambda: g, X)


def test_a_set_that_changes_while_it_is_walked():
    def grows(x):
        s = {1, 2}
        for v in s:
            s.add(v + 10)
        return x

    def same(x):
        s = {1, 2}
        for v in s:
            s.add(v)
        return x + len(s)

    def kept(x):
        s = {3, 1, 2}
        it = iter(s)
        first = next(it)
        id(s)
        return x + first, list(it), s
    for f in (grows, same, kept):
        check(lambda f=f: f, X)


def test_annotations_survive():
    @ms.jit
    def f(x):
        def inner(a: Tensor, b: "int" = 2) -> Tensor:
            return a * b
        return inner
    assert f(X).__annotations__ == {"a": Tensor, "b": "int", "return": Tensor}


def test_with_statements():
    def make():
        log = []

        def f(x, fail):
            with Manager(log) as n, Manager(log, swallow=True) as m:
                y = x * n + m
                if fail:
                    raise ValueError("swallowed")
                y = y + 1
            return y, len(log)
        return f, lambda: log
    check(make, X, False, breaks=0)
    check(make, X, True)


def test_a_break_inside_with():
    def make():
        log = []

        def f(x):
            with Manager(log):
                y = x * 2
                id(y)
                y = y + 1
            return y * 3

        return f, lambda: log
    check(make, X)


def test_an_exception_leaves_with():
    def make():
        log = []

        def f(x):
            with Manager(log), contextlib.suppress(KeyError):
                y = x * 2
                y = y + {}["missing"]
            return x + 1, log[-1] if x.sum() > 1e9 else ops.exp(x + 0) @ x
        return f, lambda: log
    check(make, X)


def test_a_branch_on_a_tensor_inside_a_generator():
    def g(x):
        for i in range(3):
            if (x * i).sum() > 5:
                yield x
            else:
                yield -x

    def f(x):
        return sum(t for t in g(x))
    check_calls(lambda: f, [(X,), (X * 9,), (-X,)])


def test_a_comprehension_within_a_generator_expression():
    def f(x):
        rows = [(x, x + 1), (x * 2, x * 3)]
        return tuple(sum([r[j] for r in rows]) for j in range(2))
    check(lambda: f, Tensor([1.0, 2.0]), graphs=1, breaks=0)

    def g(x):
        def parts():
            for k in range(3):
                yield [v * k for v in (x, x + 1)]
        return [a + b for a, b in parts()]
    check(lambda: g, Tensor([1.0, 2.0]), graphs=1, breaks=0)

    def raises(x):
        def parts():
            for k in range(3):
                yield [x / d for d in ({}, 1)[k]]
        return list(parts())
    check(lambda: raises, Tensor([1.0, 2.0]))


def answers(x):
    a = yield x * 2
    yield x * 3 + (0 if a is None else a)
    return x * 4


def delegates(x):
    r = yield from answers(x)
    yield r


def recovers(x):
    try:
        yield x * 2
    except ValueError as e:
        print("inner", e)
        yield x * 5
    return x * 7


def delegates_exceptions(x):
    try:
        r = yield from recovers(x)
        yield r + 1
    except KeyError as e:
        print("outer", e)
        yield x * 9


def sent(x):
    it = delegates(x)
    values = [next(it), it.send(x + 1), next(it)]
    try:
        next(it)
    except StopIteration as e:
        return values, e.value


def thrown(x):
    it = delegates_exceptions(x)
    values = [next(it), it.throw(ValueError("v")), next(it), it.throw(KeyError("k"))]
    it.close()
    return values, next(it, None)


def delegated_to_containers(x):
    def g():
        nothing = yield from [x, x * 2]
        yield nothing
        yield from range(2)
        yield from (i * x for i in range(2))
    return list(g())


def returned_by_a_generator(x):
    def g():
        yield x * 2
        return x + 1

    it = g()
    next(it)
    try:
        it.send(None)
    except StopIteration as e:
        return e.value * 2


def raised_in_a_generator(x):
    def g():
        yield x * 3
        raise ValueError("no")

    it = g()
    next(it)
    try:
        next(it)
    except ValueError:
        return x * 2, list(it)


def sent_too_early(x):
    it = answers(x)
    try:
        it.send(1)
    except TypeError as e:
        print(e)
    return next(it) * 2


@pytest.mark.parametrize("f", [sent, thrown, delegated_to_containers, returned_by_a_generator, raised_in_a_generator,
                               sent_too_early], ids=lambda f: f.__name__)
def test_generators_that_are_sent_to_thrown_into_and_delegate(f):
    check(lambda: f, X, graphs=1, breaks=0)


def test_a_closed_generator_cleans_up():
    def make():
        log = []

        def inner(x):
            try:
                yield x * 2
                yield x * 3
            finally:
                log.append("closed")

        def outer(x):
            yield from inner(x)

        def f(x):
            it = outer(x)
            a = next(it)
            it.close()
            return a, len(log), next(it, None)
        return f, lambda: log
    check(make, X, breaks=0)


def test_a_generator_that_raises_while_it_handles():
    def g(x):
        try:
            raise KeyError("a")
        except KeyError:
            yield x
            try:
                raise
            except KeyError:
                yield x * 2
        yield x * 3

    def f(x):
        try:
            raise ValueError("q")
        except ValueError:
            it = g(x)
            return next(it), next(it), next(it)
    check(lambda: f, X)


def test_what_a_generator_must_not_do():
    def stops(x):
        yield x
        raise StopIteration(3)

    def ignores(x):
        try:
            yield x * 2
        except GeneratorExit:
            yield x * 3

    def f(x, kind):
        it = stops(x) if kind == "stops" else ignores(x)
        next(it)
        try:
            return next(it) if kind == "stops" else it.close()
        except RuntimeError as e:
            return x * 2, str(e)
    check_calls(lambda: f, [(X, "stops"), (X, "ignores")] * 2)

    def itself(x):
        it = None

        def g():
            yield x * 2
            yield next(it)
        it = g()
        return list(it)
    check(lambda: itself, X)
