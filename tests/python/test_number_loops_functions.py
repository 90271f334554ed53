"""Calls of Python functions in loops that are machine code, and functions that call themselves."""

import math
import random
import sys
import threading
import traceback

import number_loops
import pytest

import pijit as ms


def regions(function):
    return [r for r in ms.explain(function).regions if not r["why"]]


def module(source, jit):
    space = {"jit": jit, "math": math}
    exec(compile(source, "<functions>", "exec"), space)
    return space


def both(source):
    """The module's names, plain and jitted."""
    return module(source, lambda f: f), module(source, ms.jit)


def shown(f, *args):
    try:
        r = f(*args)
        return type(r), repr(r)
    except Exception as e:
        frames = [(t.name, t.lineno) for t in traceback.extract_tb(e.__traceback__) if t.filename == "<functions>"]
        return type(e), str(e), frames


HELPED = """
K = 3
def make(c):
    def inner(x, y=2):
        return x * c + y - K
    return inner
g = make(5)
def swapped(x, y=4): return x * 100 + y
@jit
def h(x): return g(x) + 1 if x % 2 else g(x, 7)
@jit
def f(n):
    s = 0
    for i in range(n):
        s += h(i) - g(i)
    return s
"""


def test_what_is_guarded_of_functions():
    plain, jitted = both(HELPED)

    def same():
        for n in (10, 10, 3, 0, 25):
            assert shown(jitted["f"], n) == shown(plain["f"], n)
    same()
    assert regions(jitted["f"])
    changes = [lambda s: s.update(K=7), lambda s: s.update(K=2.5), lambda s: s.update(K="text"),
               lambda s: s.update(K=3),
               lambda s: setattr(s["g"], "__defaults__", (9,)), lambda s: setattr(s["g"], "__defaults__", None),
               lambda s: setattr(s["g"], "__defaults__", (1.5,)),
               lambda s: setattr(s["g"].__closure__[0], "cell_contents", -4),
               lambda s: setattr(s["g"].__closure__[0], "cell_contents", 2**62),
               lambda s: setattr(s["g"].__closure__[0], "cell_contents", "x"),
               lambda s: s.update(g=s["make"](1)), lambda s: s.update(g=s["swapped"]),
               lambda s: setattr(s["swapped"], "__code__", (lambda x, y=1: x - y).__code__),
               lambda s: s.update(g=abs), lambda s: s.update(g=None), lambda s: s.pop("g"),
               lambda s: s.update(g=s["make"](2))]
    for change in changes:
        change(plain)
        change(jitted)
        same()


FAILS = """
@jit
def inverse(x):
    y = 1 / x
    return y
def twice(x): return inverse(x) + inverse(x - 1)
@jit
def f(n, m):
    s = 0.0
    for i in range(m, n, -1):
        s += twice(i)
    return s
@jit
def unbound(n):
    s = 0
    for i in range(n):
        s += late(i)
    return s
def late(i):
    if i < 5:
        r = i
    return r
"""


def test_exceptions_have_the_frames_of_functions():
    plain, jitted = both(FAILS)
    for _ in range(6):
        for name, args in (("f", (3, 9)), ("f", (-1, 9)), ("f", (0, 4)), ("unbound", (5,)), ("unbound", (9,))):
            assert shown(jitted[name], *args) == shown(plain[name], *args)


RECURSIVE = """
@jit
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
@jit
def ack(m, n):
    if m == 0:
        return n + 1
    return ack(m - 1, 1) if n == 0 else ack(m - 1, ack(m, n - 1))
@jit
def even(n): return True if n == 0 else odd(n - 1)
@jit
def odd(n): return False if n == 0 else even(n - 1)
@jit
def power(x, n):
    if n == 0:
        return 1.0
    half = power(x, n // 2)
    return half * half * x if n % 2 else half * half
@jit
def fact(n): return 1 if n <= 1 else n * fact(n - 1)
@jit
def root(x, low, high):
    mid = (low + high) / 2
    if high - low < 1e-12 * high:
        return mid
    return root(x, mid, high) if mid * mid < x else root(x, low, mid)
@jit
def binomial(n, k): return 1 if k == 0 or k == n else binomial(n - 1, k - 1) + binomial(n - 1, k)
@jit
def paths(n):
    s = 0
    for step in range(1, 4):
        s += paths(n - step) if n >= step else n == 0
    return s
@jit
def mixed(n): return 1 if n == 0 else 0.5 if n == 1 else mixed(n - 2)
@jit
def fails(n): return 1 // n if n < 1 else fails(n - 1) + 1
@jit
def late(n):
    if n > 0:
        r = late(n - 1)
    return r
@jit
def same(x, n): return x if n == 0 else same(x, n - 1)
def closed(k):
    @jit
    def inner(n): return k if n == 0 else inner(n - 1) + k
    return inner
inner = closed(3)
"""
CALLS = [("fib", (15,)), ("ack", (2, 4)), ("even", (31,)), ("odd", (31,)), ("power", (1.1, 13)), ("power", (-2, 5)),
         ("fact", (12,)), ("fact", (20,)), ("fact", (21,)), ("fact", (40,)), ("fact", (5.0,)), ("fact", (True,)),
         ("root", (2.0, 0.0, 2.0)), ("root", (math.nan, 0.0, 2.0)), ("binomial", (10, 4)), ("paths", (9,)),
         ("mixed", (6,)), ("mixed", (7,)), ("fails", (5,)), ("late", (3,)), ("fib", ("x",)), ("fib", (None,)),
         ("fib", ()), ("inner", (6,)), ("ack", (1, 2.5)), ("even", (2.0,)), ("same", (2.5, 4)), ("same", (10**30, 4))]


def test_functions_that_call_themselves():
    plain, jitted = both(RECURSIVE)
    for _ in range(5):
        for name, args in CALLS:
            assert shown(jitted[name], *args) == shown(plain[name], *args), (name, args)
    for name in ("fib", "ack", "even", "odd", "power", "fact", "root", "binomial", "paths", "inner"):
        assert regions(jitted[name]), str(ms.explain(jitted[name]))
    assert not regions(jitted["mixed"])
    assert ", which calls itself: " in str(ms.explain(jitted["fib"]))
    assert all(r["recursive"] for r in regions(jitted["fib"]))
    x = 1234.5
    assert jitted["same"](x, 3) is x


STEPS = """
step = 1
@jit
def down(n): return 0 if n <= 0 else down(n - step) + 1
other = fib
"""


def test_what_is_guarded_of_functions_that_call_themselves():
    plain, jitted = both(RECURSIVE + STEPS)
    changes = [lambda s: s.update(step=2), lambda s: s.update(step=0.5), lambda s: s.update(odd=lambda n: n),
               lambda s: s.update(even=s["odd"]), lambda s: s.update(fib=lambda n: 100), lambda s: s.pop("fib")]
    for change in [lambda s: None, *changes]:
        change(plain)
        change(jitted)
        for _ in range(3):
            for name, n in (("down", 6), ("other", 6), ("inner", 4)):
                assert shown(jitted[name], n) == shown(plain[name], n)
            assert shown(jitted["odd"], 3)[:2] == shown(plain["odd"], 3)[:2]


DEEP = """
def at(depth, f, x): return f(x) if depth == 0 else at(depth - 1, f, x)
def add(n): return n + 1
@jit
def loop(n):
    s = 0
    for i in range(3):
        s += add(i)
    return s
@jit
def down(n): return 0 if n == 0 else down(n - 1)
@jit
def crossed(n): return 0 if n == 0 else other(n - 1)
def other(n): return 1 if n == 0 else crossed(n - 1)
"""


def test_recursion_is_as_deep_as_pythons():
    plain, jitted = both(DEEP)
    limit = sys.getrecursionlimit()

    def depths(space):
        seen = []
        for name, x in (("loop", 3), ("down", 0), ("down", 1), ("down", 2), ("down", 40), ("crossed", 5),
                        ("crossed", 6)):
            for _ in range(30):  # CPython's own instructions for ints don't count as calls
                space[name](9)
            for depth in (*range(20, 60), 10):
                try:
                    seen.append(space["at"](depth, space[name], x))
                except RecursionError as e:  # of what kind, differs by the state of the code
                    seen.append(type(e))
        return seen
    frames = len(traceback.extract_stack())
    sys.setrecursionlimit(frames + 60)
    try:
        one, other = depths(plain), depths(jitted)
    finally:
        sys.setrecursionlimit(limit)
    assert one == other and RecursionError in one


def test_recursion_deeper_than_the_stack_of_machine_code():
    plain, jitted = both(DEEP)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000_000)
    seen = []

    def run():
        seen.append(jitted["down"](3000))
        seen.append(jitted["down"](10))
    try:
        threading.stack_size(1 << 20)
        t = threading.Thread(target=run)
        t.start()
        t.join()
    finally:
        threading.stack_size(0)
        sys.setrecursionlimit(limit)
    assert not seen or seen[-1] == 0


def test_recursion_with_other_threads():
    plain, jitted = both(RECURSIVE)
    expected = plain["fib"](18)
    stop, seen = threading.Event(), []

    def spin():
        while not stop.is_set():
            sum(range(100))
    t = threading.Thread(target=spin)
    t.start()
    try:
        for _ in range(40):
            seen.append(jitted["fib"](18))
    finally:
        stop.set()
        t.join()
    assert set(seen) == {expected}


@pytest.mark.parametrize("part", range(4))
def test_programs_with_functions_at_random(part):
    for seed in range(part * 100, part * 100 + 100):
        different = number_loops.compare(seed, functions=True)
        assert different is None, "\n".join(map(str, different))


def test_random_numbers_are_those_of_the_generator():
    def drawn(draw, n):
        s = 0.0
        for _ in range(n):
            s += draw()
        return s

    class Own(random.Random):
        pass

    f = ms.jit(drawn)
    for make in (random.Random, Own):
        for n in (1, 311, 312, 313, 624, 2000):  # its 624 numbers run out in each
            for odd in (False, True):
                one, other = make(n), make(n)
                for r in (one, other):
                    if odd:
                        r.getrandbits(32)
                assert f(one.random, n) == drawn(other.random, n)
                assert one.getstate() == other.getstate()
    assert regions(f)
