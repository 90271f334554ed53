"""Loops over numbers as machine code, where programs look at more than numbers: identity, __del__, lifetimes."""

import gc
import math
import struct
import sys
import types
import weakref

import pytest

import pijit as ms

INFINITY = float("inf")


def regions(function):
    return [r for r in ms.explain(function).regions if not r["why"]]


def space_of(source, **names):
    space = {"math": math, **names}
    exec(source, space)
    return space


def test_numbers_keep_their_identity():
    def unchanged(x, n):
        y = x
        for i in range(n):
            if i > 100:
                y = x + 1
        return y

    f = ms.jit(unchanged)
    for x in (1.5, 123456789, -(2**62), math.nan):
        assert f(x, 5) is x and unchanged(x, 5) is x
    assert f(1.5, 200) == 2.5 and regions(f)

    def least(n):
        best = INFINITY
        for i in range(n):
            if i > 5:
                best = min(best, i * 1.0)
        return best

    f = ms.jit(least)
    assert f(3) is INFINITY and f(9) == 6.0 and regions(f)

    def contains(x, n):
        y = x
        for i in range(n):
            if i > 100:
                y = 1.0
        return y in [x], [x].index(y), (y,) == (x,)

    f = ms.jit(contains)
    assert f(math.nan, 5) == contains(math.nan, 5) == (True, 0, True) and regions(f)


def test_functions_that_ask_for_identity_have_no_regions():
    def same(x, n):
        for i in range(n):
            a = b = x * 1.5
        return a is b

    f = ms.jit(same)
    assert f(1.5, 5) is same(1.5, 5) is True and not regions(f)

    def tuples(n):
        for i in range(n):
            t = (i, i + 1)
            u = t
        return t is not u

    f = ms.jit(tuples)
    assert f(3) is tuples(3) is False and not regions(f)

    def sentinel(n):
        best = INFINITY
        for i in range(n):
            if best is INFINITY:
                best = best * 1.0
        return best is INFINITY

    f = ms.jit(sentinel)
    assert f(3) is sentinel(3) is False and not regions(f)

    def kinds(x, n):
        s = 0
        for i in range(n):
            if x is None:
                return s
            s += i
        return type(x) is int, s is not True, s

    f = ms.jit(kinds)
    assert f(3, 5) == (True, True, 10) and f(None, 5) == 0 and regions(f)


SETS_ON_DEATH = """
class Loud:
    def __del__(self):
        global seen
        seen = 5
def stored(n):
    x = Loud()
    s = 0
    for i in range(n):
        x = i
        s += seen
    return s
def deleted(n):
    x = Loud()
    s = 0
    for i in range(n):
        if i == 2:
            del x
        s += seen
    return s
def popped(n):
    s = 0
    for x in [Loud()]:
        for i in range(n):
            x = i
            s += seen
        break
    for i in range(n):
        s += seen
    return s
def held(n):
    x = Loud()
    y = x
    s = 0
    for i in range(n):
        x = i
        s += seen
        if i == 1:
            y = i
    return s
"""


@pytest.mark.parametrize("name", ["stored", "deleted", "popped", "held"])
def test_what_dies_in_a_loop_dies_there(name):
    for _ in range(5):  # a disturbed build counts as wasted time, after which no loop is looked at
        space = space_of(SETS_ON_DEATH)
        f = ms.jit(space[name])
        for n in (4, 4, 0, 9):
            space["seen"] = 1
            expected = space[name](n)
            space["seen"] = 1
            assert f(n) == expected
        if regions(f):
            return
    raise AssertionError("no loop became machine code")


def test_variables_of_quiet_kinds_are_replaced_in_regions():
    def f(x, n):
        s = 0
        for i in range(n):
            x = i
            s += x
        return s

    j = ms.jit(f)
    for x in ("a", None, b"c", 1j, [], {}, (1, [2.5])):
        assert j(x, 5) == 10
    (r,) = regions(j)
    assert all(returned for _, returned, *_ in r["exits"]) and r["runs"] == 7
    assert j([j], 5) == 10 and j({1: j}, 5) == 10 and r["runs"] == 7


def test_objects_of_globals_are_not_kept():
    class Thing(list):
        pass

    space = space_of("def f(n):\n    s = 0\n    for i in range(n):\n        if i < 0:\n            s += data[i]\n"
                     "        s += i\n    return s\n", data=Thing())
    f = ms.jit(space["f"])
    assert f(5) == 10 and f(5) == 10 and regions(f)
    watch, count = weakref.ref(space["data"]), sys.getrefcount(space["data"])
    assert count == 2
    del space["data"]
    gc.collect()
    assert watch() is None


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="CPython itself goes on with the module's dict")
def test_modules_that_change_their_class_are_seen():
    settings = types.ModuleType("settings")
    settings.k = 2
    space = space_of("def f(n):\n    s = 0\n    for i in range(n):\n        s += settings.k\n    return s\n",
                     settings=settings)
    f = ms.jit(space["f"])
    assert f(3) == 6 and regions(f)
    settings.k = 1.5
    assert f(3) == 4.5

    class Other(types.ModuleType):
        k = property(lambda self: 7)

    settings.__class__ = Other
    assert f(3) == 21


def test_nan_of_atan2_has_no_sign():
    def f(x, y, n):
        r = 0.0
        for _ in range(n):
            r = math.atan2(x, y)
        return r

    j = ms.jit(f)
    for x in (math.nan, -math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5):
        for y in (math.nan, -math.nan, math.inf, -math.inf, 0.0, -0.0, -1.5):
            assert struct.pack("d", j(x, y, 2)) == struct.pack("d", f(x, y, 2))


def test_nan_of_either_sign_are_no_fault_of_code():
    def f(x, y, n):
        s = p = 0.0
        for _ in range(n):
            s, p = x + y, x * y
        return s, p

    j = ms.jit(f)
    for x in (math.nan, -math.nan):
        for y in (math.nan, -math.nan):
            assert all(map(math.isnan, j(x, y, 3)))
    assert regions(j)


def test_the_collector_may_run_the_same_function():
    space = space_of("def f(x, n):\n    s = 0\n    for i in range(n):\n        for k in range(2):\n            s += x\n"
                     "        if i == 1:\n            note(i)\n    return s\n", note=[].append)
    f = ms.jit(space["f"])
    results = set()

    class Ring:
        def __init__(self):
            self.me = self

        def __del__(self):
            results.add(f(1.5, 4))

    before = gc.get_threshold()
    gc.set_threshold(5)
    try:
        for k in range(500):
            Ring()
            for v in (k, 0.5, True):
                assert f(v, 4) == v * 8
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert results == {12.0}
