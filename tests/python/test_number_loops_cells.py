"""Loops over numbers with variables that inner functions share, as machine code."""

import sys

import pytest
from test_number_loops_items import same

import pijit as ms

COMPREHENSIONS = sys.version_info < (3, 12)  # are functions, which share variables


def test_lists_that_comprehensions_read():
    source = """
def f(n):
    flags = [True] * (n + 1)
    flags[0] = flags[1] = False
    i = 2
    while i * i <= n:
        if flags[i]:
            for j in range(i * i, n + 1, i):
                flags[j] = False
        i += 1
    return [i for i in range(n + 1) if flags[i]]
"""
    same(source, (30,), (2,), (100,), (0,))


def test_variables_that_are_set_in_the_loop():
    source = """
def f(n, fail):
    row, k = [1], 0
    for k in range(n):
        row = [1] + [row[i] + row[i + 1] for i in range(len(row) - 1)] + [k]
        total = 1 // (fail - k)
    return row, k, [total + k for _ in range(2)]
"""
    same(source, (5, 9), (40, 50), (6, 3), (1, 2), (0, 1))


KEEPERS = {
    "before": ("g = lambda: k", "g()"),
    "in a list": ("fs = [lambda: k, lambda: s]", "[g() for g in fs]"),
    "that sets": ("""
    def g():
        nonlocal s
        s += k
        return s""", "(g(), g(), s)"),
}


@pytest.mark.parametrize("made, seen", KEEPERS.values(), ids=KEEPERS)
def test_functions_that_were_made_before_see_what_is_set(made, seen):
    source = f"""
def f(n, stop, out):
    k, s = -1, 0.5
    {made.strip()}
    out.append({seen})
    for k in range(n):
        s = s + k
        if k == stop:
            out.append({seen})
            s = s * 2
    out.append({seen})
    return k, s, {seen}
"""
    same(source, (5, 9, []), (30, 7, []), (0, 0, []), (9, 8, []), expect=None)


def test_functions_see_what_is_set_where_code_returns_or_raises():
    source = """
def f(n, stop, out):
    k, s = -1, 0
    out.append(lambda: (k, s))
    for k in range(n):
        s += k
        if k == stop:
            return s
        s += 1 // (n - 2 - k)
    return -s

def seen(n, stop):
    out = []
    try:
        r = f(n, stop, out)
    except ZeroDivisionError as e:
        r = str(e), e.__traceback__.tb_next.tb_lineno
    return r, out[0](), out[0].__closure__[0].cell_contents
"""
    for args in [(9, 3), (9, 30), (30, 4), (0, 0), (1, 0), (2, 5)]:
        results = []
        for jit in (lambda f: f, ms.jit):
            space = {}
            exec(compile(source, "<cells>", "exec"), space)
            space["f"] = jit(space["f"])
            results.append([space["seen"](*args) for _ in range(3)])
        assert results[0] == results[1], args


def test_comprehensions_alone():
    source = """
def f(h, w):
    return [[(i * 7 + j * 13) % 5 == 0 for j in range(w)] for i in range(h)]
"""
    same(source, (9, 7), (0, 3), (3, 0), (1, 1))


def test_functions_that_are_made_at_every_call():
    source = """
def f(n, step):
    def deriv(x, v, k=2):
        return v, -x * k - 0.1 * v
    out = deriv
    x, v = 1.0, 0.0
    for _ in range(n):
        a, b = deriv(x, v) if step < 3 else deriv(x, v, step)
        x, v = x + 0.01 * a, v + 0.01 * b
    return x, v, out(1, 2)
"""
    same(source, (50, 2), (50, 5), (0, 2), (9, 1))
    space = {}
    exec(source, space)
    f = ms.jit(space["f"])
    for _ in range(6):
        f(50, 2)
    assert len(ms.explain(f).regions) == 1, str(ms.explain(f))


def test_a_function_that_is_made_anew_is_given_itself():
    @ms.jit
    def f(n, fail):
        def twice(x):
            return 2 * x
        s = 0
        for i in range(n):
            s += twice(i)
        kept = [twice]
        for i in range(n):
            s += 1 // (n - i - fail)
        return s, kept[0], twice
    results = [f(5, 0) for _ in range(4)]
    assert all(a is b for _, a, b in results) and len({id(a) for _, a, _ in results}) == 4
    with pytest.raises(ZeroDivisionError):
        f(5, 1)


def test_functions_of_the_same_code_that_differ():
    source = """
def make(c, k):
    def with_default(x, y=k):
        return x * y
    def with_cell(x):
        return x * c
    return with_default, with_cell

def f(n, c, k, out):
    with_default, with_cell = make(c, k)
    s = 0
    last = None
    for i in range(n):
        s += with_default(i) + with_cell(i)
        last = with_default
    return s, last(10) if n else 0
"""
    same(source, *[(9, c, k, []) for c in (1, 2.5) for k in (3, 4, 0.5)], expect=None)


def test_a_variable_without_a_value_at_first():
    source = """
def f(n, m):
    s = 0
    for a in range(n):
        for b in range(m):
            s += a * b
    return s, [a + k for k in range(2)] if n else 0, [b + k for k in range(2)] if n * m else 0
"""
    same(source, (3, 4), (3, 0), (0, 4), (20, 20))


def test_a_walrus_in_a_comprehension_of_a_called_function():
    source = """
def g(n, m):
    last = -1
    for k in range(m):
        r = [last := last + k for k in range(n)]
        last += len(r)
    return last

def f(n, m):
    t = 0
    for i in range(n):
        t += g(3, m) - i
    last = [t := t + k for k in range(m)]
    return t, last
"""
    same(source, (10, 1), (10, 3), (3, 0), (0, 0), expect=None if COMPREHENSIONS else True)


def test_what_dies_there_may_be_seen():
    source = """
class Dies:
    def __del__(self):
        log.append(len(log))

log = []

def f(n):
    k = Dies()
    get = lambda: k
    for i in range(n):
        k = i * 2
        log.append(k)
    return type(get()).__name__, get() if n else 0, len(log)
"""
    same(source, (3,), (1,), (0,), expect=None)


def test_lists_of_outer_functions_and_modules():
    source = """
DX, DY, NONE = [1, 0, -1, 0], [0, 1, 0, -1], []
LINES = [[1, 2], [3, 4]]

def f(n):
    x = y = d = 0
    for k in range(n):
        x, y = x + DX[d], y + DY[d]
        d = (d + 1) % len(DX)
        LINES[k % 2][0] += x
        NONE.append(k)
    r = x, y, d, list(NONE), [list(r) for r in LINES]
    del NONE[:]
    LINES[0] = [1, 2]
    LINES[1] = [3, 4]
    return r
"""
    same(source, (5,), (100,), (0,))
