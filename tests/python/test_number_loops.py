"""Loops over numbers as machine code: as plain Python in all that can be seen, and exits where it is not for code."""

import contextlib
import io
import math
import os
import signal
import sys
import threading
import time
import traceback

import numpy as np
import pytest

import pijit as ms
from tests.python import number_loops
from tests.python.differential import check_calls


def regions(function):
    return [r for r in ms.explain(function).regions if not r["why"]]


def same(function, *calls, expect=1):
    """Runs a function plain and jitted; how many regions there are in the end."""
    jitted = ms.jit(function)
    name = function.__code__.co_filename
    for args in calls:
        assert number_loops.seen(jitted, args, name) == number_loops.seen(function, args, name)
    assert len(regions(jitted)) >= expect, str(ms.explain(jitted))
    return jitted


def collatz(n):
    best = at = 0
    for s in range(1, n):
        k, x = 0, s
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            k += 1
        if k > best:
            best, at = k, s
    return best, at


def mandelbrot(w):
    n = 0
    for y in range(w):
        for x in range(w):
            cr, ci = 3.0 * x / w - 2.0, 2.0 * y / w - 1.0
            zr = zi = 0.0
            for _ in range(50):
                zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
                if zr * zr + zi * zi > 4.0:
                    break
                n += 1
    return n


def test_one_region_runs_a_function_to_its_end():
    f = same(collatz, (300,), (2,), (1,), (0,))
    (r,) = regions(f)
    assert r["runs"] == 4 and all(returned for _, returned, *_ in r["exits"])
    first = collatz.__code__.co_firstlineno
    assert r["lines"] == (first + 2, first + 8)
    f = same(mandelbrot, (20,), (1,))
    assert "machine code for the loops of lines" in str(ms.explain(f))
    assert regions(f)[0]["bytes"] > 0 or os.environ.get("PIJIT_BACKEND") == "reference"


def test_integers_grow_beyond_64_bits():
    def power(n, base):
        s = 1
        for i in range(n):
            s = s * base + i
        return s

    f = same(power, (10, 3), (39, 3), (40, 3), (41, 3), (200, 3), (64, 2), (62, 2), (63, -2), (5, 2**62), (5, 2**64))
    assert any(not returned for r in regions(f) for _, returned, *_ in r["exits"])

    def ends(a, b):
        s = 0
        for i in range(a, b):
            s = i
        return s

    same(ends, (2**63 - 3, 2**63 - 1), (-2**63, -2**63 + 2), (2**63 - 2, 2**63), (2**64, 2**64 + 2))

    def each(x, y, n):
        r = ()
        for i in range(n):
            r = (x + y, x - y, x * y, -x, abs(x), x // y, x % y, x << 1, x >> 1, x & y, x | y, x ^ y, ~x)
        return r

    values = [2**63 - 1, -2**63, 2**62, -2**62, 3037000500, 1, -1, 7, -7, 2**31]
    same(each, *[(x, y, 2) for x in values for y in values])


def test_division_and_shifts_are_pythons():
    def all_of(x, y, n):
        r = ()
        for _ in range(n):
            r = (x / y, x // y, x % y, divmod(x, y))
        return r

    values = [7, -7, 1, -1, 2**53, 2**53 + 1, 0.5, -0.5, 7.25, -0.0, math.inf, -math.inf, math.nan, 1e308, 5e-324, True]
    same(all_of, *[(x, y, 2) for x in values for y in values])

    def zero(x, n):
        s = 1
        for i in range(n, -3, -1):
            s += x // i
        return s

    same(zero, (10, 5), (1.5, 4), (0, 3))

    def shifts(x, k, n):
        s = 0
        for i in range(n):
            s = s + (x << k) + (x >> k)
        return s

    same(shifts, *[(x, k, 3) for x in (1, -1, 5, 2**40) for k in (0, 1, 22, 23, 62, 63, 64, 200, -1)])

    def by_constants(n):
        s = 0
        for i in range(-n, n):
            s = s * 3 % 1000003 + i // 8 + i % 8 + i // -3 + i % -3 + i % 7 + i // 1 + i // -1
        return s

    same(by_constants, (50,))


def test_numbers_of_other_types_are_others():
    def total(x, n):
        s = 0
        for i in range(n):
            s += x
        return s

    f = same(total, (1, 3), (1.5, 3), (True, 3), (1, 0), (1.5, 0), ("a", 0))
    assert len(regions(f)) == 3
    with pytest.raises(TypeError, match="unsupported operand"):
        f("a", 2)

    def changes(n):
        s, t = 0, True
        for i in range(n):
            s = s + 0.5 if i > 2 else s + 1
            t = t & (i < 4)
        return s, t, type(t)

    same(changes, (0,), (2,), (3,), (9,))


def test_variables_that_are_not_bound():
    def last(n):
        for i in range(n):
            j = i * 2
        return i, j

    same(last, (3,), (0,))

    def some(n, k):
        for i in range(n):
            if i == k:
                v = i
            else:
                del_me = v
        return del_me

    same(some, (3, 0), (3, 1), (3, 5))

    def deleted(n):
        for i in range(n):
            v = i
            if i == 2:
                del v
        return v

    same(deleted, (2,), (3,), (5,))


def test_exceptions_come_at_their_line_with_their_variables():
    def f(n, d):
        s = 0.0
        for i in range(n):
            t = i * 1.5
            s += t / (
                i - d)
        return s

    same(f, (5, 9), (5, 3), (5, 0))

    def domain(n, x):
        s = 0.0
        for i in range(n):
            s += math.sqrt(x - i)
            s += math.log(x + 1 - i)
        return s

    same(domain, (3, 5.0), (9, 5.0), (9, 5.5), (2, math.inf), (2, math.nan))

    def handled(n):
        s = 0
        for i in range(n):
            try:
                s += 10 // (i - 3)
            except ZeroDivisionError:
                s += 100
        return s

    same(handled, (2,), (9,))


def test_math():
    names = ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp",
             "expm1", "log", "log2", "log10", "log1p", "sqrt", "fabs", "floor", "ceil", "trunc", "isnan", "isinf",
             "isfinite", "degrees", "radians", "gamma", "erf")
    values = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.5, 710.0, 1e300, math.inf, -math.inf, math.nan, 3, -3, 2**62, True]
    for name in names:
        space = {"math": math}
        exec("def f(x, n):\n    r = ()\n    for _ in range(n):\n"
             f"        r = (math.{name}(x),)\n    return r\n", space)
        same(space["f"], *[(x, 2) for x in values], expect=0)
    for name in ("atan2", "copysign", "fmod", "pow", "hypot", "gcd"):
        space = {"math": math}
        exec("def f(x, y, n):\n    r = ()\n    for _ in range(n):\n"
             f"        r = (math.{name}(x, y),)\n    return r\n", space)
        same(space["f"], *[(x, y, 2) for x in values for y in values], expect=0)


def test_functions_that_are_replaced_are_seen():
    space = {"math": math}
    exec("def f(n):\n    s = 0\n    for i in range(n):\n        s += abs(-i) + k\n    return s\n", space)
    space["k"] = 2
    f = ms.jit(space["f"])
    assert f(4) == 14
    space["k"] = 0.5
    assert f(4) == 8.0
    space["abs"] = lambda x: 100
    assert f(4) == 402.0
    del space["abs"], space["k"]
    with pytest.raises(NameError):
        f(4)
    assert f(0) == 0


def test_what_is_not_for_code_is_cpythons():
    def f(n):
        out = []
        for i in range(n):
            s = 0
            for j in range(i):
                s += j * j
            out.append(s)
        return out

    same(f, (0,), (5,), (30,))

    def g(n):
        s = 0
        for i in range(n):
            s += i
            if i % 10 == 9:
                print(i, s)
        return s

    check_calls(lambda: g, [(25,), (3,)])

    def free(n):
        k = 3

        def inner(m):
            s = 0
            for i in range(m):
                s += i * k
            return s

        return inner(n)

    assert ms.jit(free)(10) == 135
    k = 2.5

    def closure(m):
        s = 0
        for i in range(m):
            s += i * k
        return s

    f = same(closure, (10,), (0,))
    k = 4
    assert f(10) == 180
    assert type(f(10)) is int


def test_what_dies_when_a_variable_is_written():
    class Mourned:
        def __del__(self):
            print("gone")

    def f(make, n):
        s, x = 0, make()
        for i in range(n):
            if i == 2:
                print(s)
                x = i
            s += i
        print("end")
        return x

    g = ms.jit(f)
    g(float, 5)
    for n in (1, 2, 3, 9):
        outs = []
        for function in (f, g):
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                function(Mourned, n)
            outs.append(out.getvalue())
        assert outs[0] == outs[1]


def test_iterators_that_others_hold():
    def f(n):
        it = iter(range(n))
        s = 0
        for i in it:
            s += i
            if i == 3:
                break
        return s, list(it)

    same(f, (9,), (2,), (4,), expect=0)


def test_a_keyboard_interrupt_arrives():
    @ms.jit
    def forever(n):
        k = 0
        while n > 0:
            k = (k + 1) % 1000
        return k

    assert forever(0) == 0
    sent = []

    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.2, send)
    timer.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        forever(1)
    took = time.monotonic() - sent[0]
    timer.join()
    assert took < 5  # on a busy machine; 50 ms else
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.name == "forever"


def test_other_threads_run_meanwhile():
    @ms.jit
    def long(n, m):
        k = 0
        for i in range(n):
            for j in range(m):
                k = (k * 5 + j) % 1000003
        return k

    expected = 0
    for _ in range(20):
        for j in range(20_000):
            expected = (expected * 5 + j) % 1000003
    turns = []
    done = threading.Event()

    def others():
        while not done.is_set():
            turns.append(1)
            time.sleep(0.001)

    thread = threading.Thread(target=others)
    thread.start()
    try:
        deadline = time.monotonic() + 20
        while len(turns) < 3 and time.monotonic() < deadline:
            assert long(20, 20_000) == expected
    finally:
        done.set()
        thread.join()
    assert len(turns) >= 3


def test_tracers_see_lines():
    def f(n):
        s = 0
        for i in range(n):
            s += i
        return s

    jitted = ms.jit(f)
    assert jitted(10) == 45
    lines = []

    def tracer(frame, event, arg):
        if frame.f_code is f.__code__:
            lines.append(frame.f_lineno)
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        assert jitted(10) == 45
    finally:
        sys.settrace(before)
    assert len(lines) > 20


def test_the_option_turns_regions_off():
    from pijit import _C
    _C.set_option("regions", "false")
    try:
        f = ms.jit(collatz)
        assert f(50) == collatz(50) and not regions(f)
    finally:
        _C.set_option("regions", "true")


def test_elements_of_arrays():
    def floyd(d):
        n = len(d)
        for k in range(n):
            for i in range(n):
                for j in range(n):
                    t = d[i, k] + d[k, j]
                    if t < d[i, j]:
                        d[i, j] = t
        return d

    def prefix(a, b, n):
        s = 0
        for i in range(n):
            s += a[i]
            b[i] = s
        return s, type(s).__name__

    def pairs(a):
        s = 0.0
        for i in range(a.shape[0]):
            for j in range(-a.shape[1], a.shape[1]):
                s += a[i, j] * (i + 1) - j / (a[i, j] + 2)
        return s, a.size, a.ndim

    r = np.random.RandomState(0)
    name = floyd.__code__.co_filename
    whole = r.rand(6, 6)
    infinite = np.where(whole > 0.5, np.inf, whole)
    for function, calls in (
            (floyd, [(whole,), (infinite,), (whole.T,), (whole[::-1, ::-1],), (np.asfortranarray(whole),)]),
            (prefix, [(r.rand(5), np.zeros(5), 5), (r.rand(5), np.zeros(5), 7), (r.rand(5), np.zeros(3), 5),
                      (r.randint(0, 9, 5), np.zeros(5), 5), (r.randint(0, 9, 5), np.zeros(5, int), 5),
                      (np.array([2**62, 2**62, 1]), np.zeros(3, int), 3), (r.rand(5), np.zeros(5, int), 5),
                      (np.array([1e308, 1e308, 1.0]), np.zeros(3), 3), (r.rand(5), np.zeros(5, np.float32), 5),
                      (np.array([1.0, np.inf, -np.inf, 2.0]), np.zeros(4), 4), (r.rand(4)[::2], np.zeros(2), 2)]),
            (pairs, [(r.rand(3, 4),), (r.randint(0, 5, (3, 4)),), (-2 * np.ones((2, 2)),), (np.zeros((0, 3)),),
                     (np.matrix(r.rand(2, 2)),), (r.rand(4, 3).T,)])):
        jitted = ms.jit(function)
        for args in calls:
            args, again = number_loops.copied(args), number_loops.copied(args)
            plain, other = number_loops.seen(function, args, name), number_loops.seen(jitted, again, name)
            assert plain == other
            assert number_loops.bits(tuple(args)) == number_loops.bits(tuple(again))
        assert regions(jitted)


def test_an_array_that_is_written_and_read_by_another_view():
    def shift(a, b, n):
        for i in range(n):
            a[i] = b[i] + 1
        return a[n - 1]

    for offset in (0, 1, -1, 3):
        results = []
        for function in (shift, ms.jit(shift)):
            memory = np.arange(20.0)
            function(memory[5:12], memory[5 + offset:12 + offset], 7)
            results.append(memory.tobytes())
        assert results[0] == results[1]


def test_modes_of_floating_point_errors():
    def f(a):
        s = np.float64(1.0)
        for i in range(len(a)):
            s = s * a[i]
            s = s / (a[i] - 3)
        return s

    jitted = ms.jit(f)
    name = f.__code__.co_filename
    for modes in ({}, {"all": "ignore"}, {"all": "raise"}, {"under": "raise"}, {"over": "raise", "divide": "ignore"}):
        for values in ([1.0, 2.0], [1e308, 1e308], [3.0, 3.0], [1e-308, 1e-308], [np.nan, 1.0], [0.0, np.inf]):
            with np.errstate(**modes):
                a = np.array(values)
                assert number_loops.seen(jitted, (a,), name) == number_loops.seen(f, (a,), name)


@pytest.mark.parametrize("part", range(4))
def test_programs_of_arrays_at_random(part):
    for seed in range(part * 150, part * 150 + 150):
        different = number_loops.compare(seed, arrays=True)
        assert different is None, "\n".join(map(str, different))


@pytest.mark.parametrize("part", range(4))
def test_programs_at_random(part):
    for seed in range(part * 150, part * 150 + 150):
        different = number_loops.compare(seed)
        assert different is None, "\n".join(map(str, different))


def test_loops_over_arrays_and_their_rows():
    def total(x):
        s = 0
        for v in x:
            s += v
        return s

    def rows(q):
        s, row = 0, None
        for row in q:
            for v in row:
                s = s + v * len(row)
        return s, row

    def pairs(q, n):
        s = 0
        for i in range(n):
            for j in range(n):
                s += q[i][j] - q[-1 - i][j]
        return s

    def sets(q):
        for i in range(len(q)):
            row = q[i]
            for j in range(len(row)):
                row[j] = q[i][j] * 2 + j
        return q.tolist()

    def stops(x, most):
        for v in x:
            if v > most:
                break
            print(v)
        else:
            return "all"
        return v

    floats, ints = np.arange(12.0), np.arange(12)
    q = np.arange(12.0).reshape(3, 4)
    same(total, *[(x,) for x in (floats, ints, floats[::2], floats[::-1], floats[:0], q, q.T, q.astype(np.float32),
                                 np.array([1e308, 1e308]), np.array([2**62, 2**62]), [1, 2], (1.5, 2))])
    same(rows, *[(x,) for x in (q, q.T, q[:, ::2], q[:0], q.astype(int), floats, [[1, 2], [3]])])
    same(pairs, (q, 3), (q, 4), (q.T, 3), (q.T, 4), (q[:2], 2), (q[:2], 3), (np.zeros((2, 2, 2)), 2), (floats, 2))
    same(stops, (floats, 4), (floats, 40), (ints, 4.5), (floats[:0], 1), expect=0)
    jitted, frozen = ms.jit(sets), q.copy()
    frozen.flags.writeable = False
    for x in (q, q.T, q[:, ::-1], q.astype(int), q.astype(np.float32)):
        for _ in range(3):
            assert jitted(x.copy()) == sets(x.copy())
    for f in (sets, jitted):
        with pytest.raises(ValueError, match="read-only"):
            f(frozen)


def test_rows_are_views():
    def last(q, n):
        row = None
        for i in range(n):
            row = q[i]
            row[0] = i
        return row

    jitted, q = ms.jit(last), np.zeros((5, 3))
    for _ in range(3):
        row = jitted(q, 4)
        row[1] = 7
        assert q[3].tolist() == [3, 7, 0] and row.base is q and row.flags.owndata is False


def test_iterators_over_arrays_go_on_where_code_is_left():
    def f(x, log):
        s = 0
        for v in x:
            for k in range(3):
                s = s + v * k
            log.append(v)
        return s
    x = np.arange(20.0)
    jitted = ms.jit(f)
    for _ in range(6):
        one, other = [], []
        assert jitted(x, one) == f(x, other) and one == other


def test_elements_of_bool_arrays():
    def sieve(p):
        n, c = len(p), 0
        for i in range(2, n):
            if p[i]:
                c += 1
                for j in range(i * i, n, i):
                    p[j] = False
        return c

    def counts(p, q, n):
        s, seen = 0, None
        for i in range(n):
            for v in q[i]:
                if v and not p[i]:
                    s += 1
                seen = v
            q[i, 0] = i
            q[i][-1] = p[i]
            p[i] = s > 3
        return s, seen

    def floats(p, x):
        for i in range(3):
            p[i] = x
        return p.tolist()

    same(sieve, *[(p,) for p in (np.ones(100, bool), np.ones(7, bool), np.ones(2, bool))], expect=0)
    jitted = ms.jit(sieve)
    for n in (1000, 50, 1000):
        one, other = np.ones(n, bool), np.ones(n, bool)
        assert jitted(one) == sieve(other) and one.tobytes() == other.tobytes()
    assert regions(jitted)
    odd = np.array([[2, 0, 255], [0, 1, 128], [1, 0, 3]], np.uint8).view(bool)  # any byte but 0 is True
    for p, q in ((np.array([True, False, True]), odd), (odd[0], odd.T), (odd[:, 1], odd[::-1]),
                 (np.ones(2, bool), odd)):
        a, b, c, d = p.copy(), q.copy(), p.copy(), q.copy()
        name = counts.__code__.co_filename
        assert number_loops.seen(ms.jit(counts), (a, b, 3), name) == number_loops.seen(counts, (c, d, 3), name)
        assert (a.tobytes(), b.tobytes()) == (c.tobytes(), d.tobytes())
    jitted = ms.jit(floats)
    for x in (1.5, 0.0, math.nan, 2, 0, True, np.float64(0.5), np.True_, "x", None, 2**70):
        assert jitted(np.zeros(3, bool), x) == floats(np.zeros(3, bool), x)
