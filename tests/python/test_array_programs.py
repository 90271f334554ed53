"""Arrays that loops of machine code make: generated programs, and those that keep, exchange and return them."""

import contextvars
import linecache
import resource
import signal
import threading
import traceback
import warnings

import numpy as np
import pytest

import pijit as ms
from tests.python.array_programs import Program
from tests.python.differential import freeze


def loaded(text, name):
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def arguments(seed, kind):
    g = np.random.default_rng(seed)

    def array(*shape):
        x = g.random(shape) * 4 - 2
        if kind == "float32":
            return x.astype(np.float32)
        if kind == "columns":
            return np.asfortranarray(x)
        if kind == "spread":
            room = np.empty([2 * d for d in shape])
            room[tuple(slice(None, None, 2) for _ in shape)] = x
            return room[tuple(slice(None, None, 2) for _ in shape)]
        return x
    a, b, m, n = array(4), array(4), array(4, 4), array(4, 4)
    if kind == "shared":
        n, b = m.T, m[1]
    return a, b, m, n, g.permutation(4), 0.75


def seen(function, args):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            result = ("value", freeze(function(*args)))
        except Exception as e:
            lines = [f.lineno for f in traceback.extract_tb(e.__traceback__) if f.name == "f"]
            result = ("raises", type(e).__name__, str(e), lines)
    return result, freeze(args), [(w.category.__name__, str(w.message), w.lineno) for w in said]


KINDS = ("plain", "float32", "columns", "spread", "shared")


@pytest.mark.parametrize("first", range(0, 120, 20))
def test_generated_programs(first):
    loops = 0
    for seed in range(first, first + 20):
        program = Program(seed)
        function = loaded(program.text, f"<program {seed}>")
        jitted = ms.jit(function)
        for kind in KINDS:
            wanted = seen(function, arguments(seed, kind))
            for _ in range(2):
                assert seen(jitted, arguments(seed, kind)) == wanted, (kind, program.text)
        loops += any(not r["why"] for r in ms.explain(jitted).regions)
    assert loops >= 15


def same(function, *calls, regions=1):
    jitted = ms.jit(function)
    for make in calls:
        wanted = seen(function, make())
        for _ in range(3):
            assert seen(jitted, make()) == wanted
    found = [r for r in ms.explain(jitted).regions if not r["why"]]
    assert len(found) >= regions, str(ms.explain(jitted))


def vector(n, seed=0):
    return np.random.default_rng(seed).random(n) * 2 - 0.5


def test_variables_that_hold_the_same_array():
    def f(a, n):
        b = c = a
        for i in range(n):
            b = a * i
            c = b
            d = b[1:]
            b[0] = -1.0
            d += c[:-1] * 0.5
            a = c
        c[1] = 7.0
        return a, b, c, d
    same(f, lambda: (vector(5), 1), lambda: (vector(5), 9))


def test_arrays_change_places():
    def f(a, b, n):
        for i in range(n):
            a, b = b, a + b * 0.5
            if i % 3 == 2:
                a, b = b, a
        return a, b
    same(f, lambda: (vector(7), vector(7, 1), 50))


def test_functions_that_make_arrays():
    def half(x):
        y = x * 0.5
        return y, y + 1.0

    def f(a, n):
        for _ in range(n):
            b, c = half(a)
            d, _ = half(b - c)
            a = d + half(a * 2.0)[1] * 0.125
        return a, b, c, d
    same(f, lambda: (vector(6), 40))


def test_a_function_that_leaves_its_code():
    def inner(x, i):
        y = x * 0.5
        if i == 7:
            y = np.sort(y)[::-1] - np.float16(1)
        return y + 1.0

    def f(a, n):
        for i in range(n):
            a = inner(a, i) - 0.25 * inner(a * 0.5, i + 1)
        return a
    same(f, lambda: (vector(6), 12))


def smoothed(x, k):
    x[1:-1] = (x[:-2] + x[2:]) * 0.5
    if k == 5:
        x[0] = len(str(k))  # CPython goes on from here
    x[0] += 1.0
    return x[0]


def filled(x, n):
    for i in range(n):
        x[i] = x[i] * 0.5 + i
    x[n] = 3.0
    return x


def both(x, k, n):
    smoothed(x, k)
    filled(x, n)
    y = x * 2
    return smoothed(y, k + 1) + y[1]


def test_functions_that_store_are_left_in_their_midst():
    def f(x, n):
        total = 0.0
        for k in range(n):
            total += smoothed(x, k) + both(x, k, 4)
        return total, x
    same(f, lambda: (vector(8), 12))

    def g(x, n):
        found = 0
        for k in range(n):
            try:
                filled(x, k)
            except IndexError:
                found += 1
            found += k
        return found, x
    same(g, lambda: (vector(8), 12))

    def h(x, n):
        for k in range(n):
            both(x, 1, k)
        return x
    same(h, lambda: (vector(8), 6), lambda: (vector(8), 12))

    def append(items, v):
        items.append(v)
        items.append(v * 2 if v != 7 else len(str(v)))
        return items[-1]

    def on_lists(items, n):
        total = 0
        for k in range(n):
            total += append(items, k)
        return total, items
    same(on_lists, lambda: ([], 12))


def test_errors_in_functions_have_their_lines():
    def f(x, n):
        for k in range(n):
            both(x, 1, k)
        return x
    jitted = ms.jit(f)
    for _ in range(3):
        told = []
        for function in (f, jitted):
            x = vector(8)
            with pytest.raises(IndexError) as e:
                function(x, 12)
            told.append(([(t.name, t.lineno) for t in e.traceback if t.name in ("f", "both", "filled")], x.tobytes()))
        assert told[0] == told[1]


def test_errors_are_raised_at_their_line():
    def f(a, n):
        kept = []
        for i in range(n):
            b = a * 2.0
            c = b[: i + 2] + a[:4]
            kept.append(i)
        return b, c
    same(f, lambda: (vector(9), 8), regions=0)

    def g(m, n):
        for i in range(n):
            m = m * (i < 5)
            x = np.linalg.inv(m)
        return x
    same(g, lambda: (np.eye(3) + 0.1, 3), lambda: (np.eye(3) + 0.1, 9), regions=0)


def test_warnings_are_told_at_their_line():
    def f(a, n):
        for i in range(n):
            b = np.log(a - 0.1 * i)
            c = a / (a - a[i % 4])
            d = np.sum(c)
            a = a + np.exp(a * 300) * 0.0
        return a, b, c, d
    same(f, lambda: (vector(9), 2), lambda: (vector(9), 8), regions=0)

    def g(a, n):
        with np.errstate(over="raise"):
            for _ in range(n):
                a = a * 1e200
        return a
    same(g, lambda: (vector(5), 1), lambda: (vector(5), 5), regions=0)


def test_sizes_that_grow():
    def f(a, n):
        total = 0.0
        for i in range(n):
            b = a[:i] * 2.0
            c = np.concatenate((b, a[i:]))
            d = c[c > 0.5]
            total += c.sum() + d.size + np.zeros(i).size
        return b, c, d, total
    same(f, lambda: (vector(30), 30))


def test_axes_lie_as_numpys():
    def f(a, b, n):
        for i in range(n):
            c = a + b
            d = c * a[:, :1] - b.T[0]
            e = np.where(d > 0, d, c).T
            g = np.add.outer(a[0], b[:, 0]) @ e
            h = e[None] * 2
        return c, d, e, g, h
    x, y = vector(25).reshape(5, 5), vector(25, 1).reshape(5, 5)
    for p in (x, x.T, x[::-1], x.T[:, ::-1]):
        for q in (y, y.T, y[:, ::-1]):
            same(f, lambda p=p, q=q: (p, q, 4))


def test_complex_arrays():
    def f(c, n):
        z = np.zeros(c.shape, dtype=np.complex128)
        steps = np.zeros(c.shape, dtype=np.int64)
        for i in range(n):
            z = z * z + c
            inside = np.abs(z) < 2.0
            z = z * inside
            steps = np.where(inside, i, steps)
        return z, inside, steps
    same(f, lambda: (vector(20) + 1j * vector(20, 1), 25), regions=0)


def test_gathers_and_masks():
    def f(x, k, n):
        for i in range(n):
            y = x[k] * 0.5
            z = y[k[::-1]]
            w = x[(y > 0.1) & (z < 0.4)]
            x = x + z * 0.1
            s = w.sum() if w.size else -1.0
        return x, y, z, w, s
    places = np.random.default_rng(0).permutation(12)
    same(f, lambda: (vector(12), places, 9), lambda: (vector(12), places.astype(np.int32), 9))
    same(f, lambda: (vector(12), places + 5, 9), regions=0)  # out of range


def test_copies_along_one_axis_that_share_elements():
    def loop(x, n):
        for _ in range(n):
            x[::2] = x[:5]
            x[1::3] = x[2:5]
            x[5:] = x[::2]
            x[::-2] = x[4::-1]
        return x

    def one(x):
        x[::2] = x[:5]
        x[1::3] = x[2:5]
        return x

    def rows(m, n):
        for i in range(n):
            m[i % 4] = m[:, 1]
            m.T[1] = m.T[i % 4][::-1]
        return m
    same(loop, lambda: (np.arange(10.0), 3))
    same(one, lambda: (np.arange(10.0),), regions=0)
    same(rows, lambda: (np.arange(16.0).reshape(4, 4), 6))


def test_memory_is_used_again():
    def f(a, n):
        for i in range(n):
            b = a * 0.5
            c = b + a
            a = c - b * (i % 2)
        return a
    jitted = ms.jit(f)
    big = np.ones(1 << 18)
    jitted(big, 2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    jitted(big, 400)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10  # KiB


class Late(Exception):
    pass


def test_what_a_signals_handler_raises_comes_out():
    def f(a, n):
        total = 0.0
        for i in range(n):
            total += np.linalg.inv(a + i * 0.001)[0, 0] + np.median(a[0])
        return total

    def caught(a, n):
        total = 0.0
        try:
            for i in range(n):
                total += np.linalg.inv(a + i * 0.001)[0, 0] + np.median(a[0])
        except Late:
            return "caught", total >= 0
        return total

    def late(*_):
        raise Late
    a = np.eye(20) + 0.1
    before = signal.signal(signal.SIGALRM, late)
    try:
        for k in range(10):
            for function in (f, caught):
                jitted = ms.jit(function)  # which is captured while the signal comes, too
                if k % 3:
                    jitted(a, 3)
                lines = []
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.004 + k * 0.0037)
                    # a handler may leave np.errstate as np.linalg.inv sets it
                    assert contextvars.copy_context().run(jitted, a, 10**9) == ("caught", True)
                except Late as e:
                    lines = [t.name for t in traceback.extract_tb(e.__traceback__)]
                assert function is caught or ("f" in lines and lines[-1] == "late") or not k % 3, lines
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


STOP = False


@pytest.mark.parametrize("n", [10, 200_000])
def test_another_thread_ends_a_loop(n):
    global STOP
    STOP = False

    def f(a):
        turns = 0
        while not STOP:
            a = a + np.sort(a)[::-1] * 1e-9
            turns += 1
        return turns

    def stop():
        global STOP
        STOP = True
    timer = threading.Timer(0.2, stop)
    timer.start()
    assert ms.jit(f)(vector(n)) > 0
    timer.join()
