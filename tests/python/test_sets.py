"""Sets and frozensets, made inside and from outside: operators, comparisons, methods; those that grow."""

import enum

import numpy as np
import pytest
from tests.python.differential import check, check_calls

import pijit as ms

X = ms.Tensor(np.arange(4, dtype=np.float32))


class Phase(enum.Enum):
    TRAIN = 1
    TEST = 2


def made(f):
    return lambda: f


def operators(x):
    a, b = {1, 2, 3}, {2, 3, 4}
    return x * len(a | b), a & b, a - b, a ^ b, b - a, list(a | b), sorted(a ^ b)


def comparisons(x):
    a, b = {1, 2, 3}, {2, 3, 4}
    answers = a <= b, a == {1, 2, 3}, a != b, a < b, {1} < a, a >= {2}, a > a, a.isdisjoint(b), a.isdisjoint([9])
    return x * sum(answers), answers, a.issubset([1, 2, 3, 4]), a.issuperset((1,)), a == [1, 2, 3]


def in_place(x):
    a = b = {1, 2, 3}
    a |= {2, 3, 4}
    a &= {1, 2, 4}
    a -= {1}
    a ^= {7, 2}
    return x * len(a), a, a is b


def methods(x):
    a = {1, 2, 3}
    a.update([5, 6], (7,), {8: 0}, {9})
    a.discard(1)
    a.discard(100)
    a.add(9)
    a.remove(2)
    b, c, d = a.union([1, 2], {3}), a.intersection([5], {5, 6}), a.difference([5])
    e, f = a.symmetric_difference([5, 1]), a.copy()
    a.intersection_update({3, 5, 6, 9})
    a.difference_update([3])
    a.symmetric_difference_update({100})
    return x * len(a), a, b, c, d, e, f, a is f


def order(x):
    """What an order follows from is the history of the set."""
    a = {k * 7 % 64 for k in range(30)}
    for k in range(25):
        a.discard(k * 7 % 64)
    a.add(1000)
    b = a.copy()
    b |= {33, 65}
    return x * 2, list(a), list(b), list(set(b)), list(b | {5}), [k + 1 for k in a - {1000}]


def pops(x):
    a = {3, 1, 2}
    return x * a.pop(), a.pop(), a


def missing(x):
    try:
        {1}.remove(2)
    except KeyError as e:
        x = x + e.args[0]
    try:
        set().pop()
    except KeyError as e:
        return x, str(e)


def frozen(x):
    a, b = frozenset(["a", "b"]), frozenset()
    return (x * len(a | {"c"}), a | {"c"}, {"c"} | a, a & {"a"}, a - {"b"}, a == {"a", "b"}, bool(b), a.union("z"),
            "a" in a)


def of_other_things(x):
    seen = set()
    total = x
    for key in ("a", ("b", 1), Phase.TRAIN, x.dtype, int, None, ("b", 1), Phase.TRAIN, 2.5):
        if key in seen:
            continue
        seen.add(key)
        total = total + x
    return total, len(seen), Phase.TEST in seen, seen


def keys_of_dicts(x):
    a, b = {"w": 1, "v": 2}, {"v": 3}
    both = a.keys() & b.keys()
    return x * len(both), a.keys() - b.keys(), a.keys() | {"z"}, a.keys() == {"w", "v"}, b.keys() <= a.keys()


def literals(x):
    a = {1, 2, 3, 4, 5, 6}
    b = {*a, 7, *[8, 9]}
    return x * len(b), b, {k % 3 for k in b}, set("aab") == {"a", "b"}, set({1: 2}), frozenset([1, 1, 2])


ALL = [operators, comparisons, in_place, methods, order, pops, missing, frozen, of_other_things, keys_of_dicts,
       literals]


@pytest.mark.parametrize("f", ALL, ids=lambda f: f.__name__)
def test_made_inside(f):
    check(made(f), X, graphs=1, breaks=0, captures=1)


def outside(ops):
    """A program that does `ops` to a set from outside, whose elements are compared after each call."""

    def make():
        s = {1, 2, 3}
        return lambda x, *args: ops(s, x, *args), lambda: (s, list(s))

    return make


def test_read_from_outside():
    def ops(s, x):
        return x * len(s | {4}), s | {4}, s - {1}, s & {1}, s <= {1, 2, 3, 4}, s == {1, 2, 3}, {2, 9} - s, list(s)

    check(outside(ops), X, graphs=1, breaks=0, captures=1)


@pytest.mark.parametrize("fresh", [False, True])
def test_frozen_from_outside(fresh):
    names = frozenset([1, 2])

    def f(x, names):
        return x * len(names), 2 in names, names | {3}, [k for k in names], names == {1, 2}

    sets = [frozenset([1, 2]) if fresh else names for _ in range(4)]
    check_calls(made(f), [(X, s) for s in sets], graphs=1, breaks=0, captures=1)


def test_frozen_that_changes():
    def f(x, names):
        return x * 2 if "a" in names else x * 3

    check_calls(made(f), [(X, frozenset(t)) for t in ("ab", "b", "ab", "c", "")], breaks=0)


@pytest.mark.parametrize(
    "ops",
    [
        lambda s, x, k: s.add(k),
        lambda s, x, k: s.update([k, k + 1]),
        lambda s, x, k: s.discard(k),
        lambda s, x, k: (s.add(k), s.discard(k + 1)),
    ],
    ids=["add", "update", "discard", "both"],
)
def test_grows(ops):
    def step(s, x, k):
        ops(s, x, k)
        return x * 2

    check_calls(outside(step), [(X, k) for k in range(12)], breaks=0, captures=2)


def test_changed_by_sets():
    def ops(s, x):
        s |= {4, 5}
        s -= {1}
        s ^= {5, 6}
        s &= {2, 3, 4, 6, 7}
        s.update({10: 1}, frozenset([11]))
        s.difference_update([10])
        return x * len(s), s == {2, 3, 4, 6, 11}, s >= {2}, 11 in s, s

    check(outside(ops), X, breaks=0)


def test_order_of_a_set_that_has_changed():
    def ops(s, x, k):
        s.add(k)
        y = x * 2
        return y + 1, list(s)

    check_calls(outside(ops), [(X, k) for k in (10, 20, 10)])


def test_seen():
    def ops(s, x, k):
        if k not in s:
            s.add(k)
            x = x + 1
        return x * len(s)

    check_calls(outside(ops), [(X, k % 5 + 10) for k in range(15)], breaks=0, captures=3)


def test_a_set_that_a_name_is_bound_to():
    def make():
        s = {100}

        def f(x, k):
            nonlocal s
            s |= {k}
            return x * 2

        return f, lambda: s

    check_calls(make, [(X, k) for k in range(6)], breaks=0)


def test_mixed_up():
    def f(x, other):
        return x, {1} | other

    check_calls(made(f), [(X, [1]), (X, {2}), (X, frozenset([3]))])


def test_changes_during_iteration():
    def f(x):
        s = {1, 2, 3}
        for k in s:
            s.add(k + 10)
        return x

    check(made(f), X)


def test_identity():
    def f(x, a, b):
        return x * 2 if a is b else x * 3, a is not b

    one, other = [1], [1]
    t, u = ms.Tensor([1.0]), ms.Tensor([1.0])
    for pairs in ([(one, other), (one, one)], [(t, u), (t, t)], [({}, {}), (X, u)]):

        def make():
            f_ = f
            return lambda k: f_(X, *pairs[k]), lambda: None

        check_calls(make, [(0,), (1,), (0,), (1,)], breaks=0)
