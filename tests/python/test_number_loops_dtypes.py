"""Elements of narrow dtypes in loops: NumPy's own promotion, overflow and rounding, or CPython goes on."""

import itertools
import warnings

import numpy as np
import pytest

import pijit

FORMATS = "?bBhHiIlfd"
INTS = "bBhHiIl"
VALUES = {"f": [0.0, -0.0, 1.5, -3.25, 0.1, 1e-40, 3e38, np.inf, np.nan, 16777217.0, 7.0],
          "d": [0.0, -0.0, 1.5, -3.25, 0.1, 1e-320, 1e300, np.inf, np.nan, 2.0 ** 60, 7.0], "?": [True, False]}
PYTHON = [0, 1, -1, 2, 3, 7, 100, 255, 300, -129, 70000, 2 ** 31, 2 ** 40, 0.0, 0.1, -2.5, 1e300, 3.0, True, False]
BINARY = ["+", "-", "*", "/", "//", "%", "&", "|", "^", "<<", ">>", "<", "<=", "==", "!=", ">", ">="]


def values(fmt):
    if fmt in VALUES:
        return np.array(VALUES[fmt], fmt)
    info = np.iinfo(fmt)
    near = {info.min, info.min + 1, -7, -2, -1, 0, 1, 2, 3, 7, 63, 100, info.max - 1, info.max}
    return np.array(sorted(n for n in near if info.min <= n <= info.max), fmt)


def made(source):
    namespace = {"np": np}
    exec(source, namespace)
    return namespace["f"]


def seen(f, *args):
    """What a call gives, warns of and raises, with the bits."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            r = f(*args)
            r = [(type(x), np.asarray(x).tobytes() if isinstance(x, np.generic) else repr(x)) for x in r]
        except Exception as e:
            r = type(e), str(e), e.__traceback__.tb_next.tb_lineno
    return r, [(w.category, str(w.message), w.lineno) for w in told]


def same(source, *args):
    plain, jitted = made(source), pijit.jit(made(source))
    kept = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    for _ in range(2):
        expected = seen(plain, *args)
        got = seen(jitted, *kept)
        assert got == expected, (source, args)
        for a, b in zip(args, kept):
            assert not isinstance(a, np.ndarray) or a.tobytes() == b.tobytes(), (source, args)
    return jitted


ELEMENTS = """
def f(a, b):
    r = s = t = None
    for i in range(len(a)):
        for k in range(2):
            s = a[i]
            r = s {op} {right}
            t = {left} {op} s
    return r, s, t
"""


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("fmt", FORMATS)
def test_operators_with_pythons_numbers(fmt, op):
    for y in PYTHON:
        source = ELEMENTS.format(op=op, right=y, left=y)
        for x in values(fmt):
            same(source, np.array([x], fmt), None)


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("fmt", FORMATS)
def test_operators_with_variables(fmt, op):
    source = ELEMENTS.format(op=op, right="b", left="b")
    jitted, plain = pijit.jit(made(source)), made(source)
    for x, y in itertools.product(values(fmt), PYTHON):
        a = np.array([x], fmt)
        assert seen(jitted, a, y) == seen(plain, a, y), (source, x, y)


@pytest.mark.parametrize("fmt", FORMATS)
def test_operators_between_dtypes(fmt):
    for op, other in itertools.product(BINARY, FORMATS):
        source = ELEMENTS.format(op=op, right="b[i]", left="b[i]")
        jitted, plain = pijit.jit(made(source)), made(source)
        few = values(other)[::3]
        for x in values(fmt)[::2]:
            for y in few:
                a, b = np.array([x], fmt), np.array([y], other)
                assert seen(jitted, a, b) == seen(plain, a, b), (source, x, y)


@pytest.mark.parametrize("expression", [
    "-s", "+s", "abs(s)", "~s", "not s", "int(s)", "float(s)", "bool(s)", "s + s * s", "round(s)", "min(s, s)",
    "max(a[0], s)", "divmod(s, 3)", "s if s > 2 else 5"])
@pytest.mark.parametrize("fmt", FORMATS)
def test_functions(fmt, expression):
    source = f"""
def f(a):
    r = None
    for i in range(len(a)):
        for _ in range(2):
            s = a[i]
            r = {expression}
    return (r,)
"""
    jitted, plain = pijit.jit(made(source)), made(source)
    for x in values(fmt):
        a = np.array([x], fmt)
        assert seen(jitted, a) == seen(plain, a), (source, x)


STORES = """
def f(a, b):
    for i in range(len(a)):
        for k in range(2):
            a[i] = {value}
    return ()
"""


@pytest.mark.parametrize("fmt", FORMATS)
def test_stores(fmt):
    for value in [*PYTHON, "np.inf"]:
        same(STORES.format(value=value), np.zeros(3, fmt), None)
    for other in FORMATS:
        for y in values(other):
            same(STORES.format(value="b[0]"), np.zeros(3, fmt), np.array([y], other))
            same(STORES.format(value="b[0] + a[i]"), np.ones(3, fmt), np.array([y], other))


@pytest.mark.parametrize("fmt", FORMATS)
def test_iteration_and_rows(fmt):
    source = """
def f(a):
    n = 0
    m = None
    for row in a:
        for v in row:
            if v > 1:
                n += 1
                m = v
    k = a[0, 0]
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i][j] > k:
                k = a[i, j]
    return n, m, k
"""
    v = values(fmt)
    a = np.resize(v, (4, 6)).astype(fmt)
    for x in (a, a.T, a[::2, ::-1], np.asfortranarray(a), a[:0]):
        if x.size:
            same(source, x)


def test_such_loops_have_machine_code():
    """A blur of an image, a distance table of ints and a float32 recurrence: one run of a region each."""
    def blur(image, out):
        for i in range(1, image.shape[0] - 1):
            for j in range(1, image.shape[1] - 1):
                s = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        s += int(image[i + di, j + dj])
                out[i, j] = s // 9

    def edit(a, b, table):
        for i in range(1, len(a) + 1):
            for j in range(1, len(b) + 1):
                cost = 0 if a[i - 1] == b[j - 1] else 1
                table[i, j] = min(int(table[i - 1, j]) + 1, int(table[i, j - 1]) + 1, int(table[i - 1, j - 1]) + cost)

    def smooth(x, y):
        y[0] = x[0]
        for i in range(1, len(x)):
            y[i] = y[i - 1] * 0.9 + x[i] * 0.1

    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 4, 30).astype(np.int8), rng.integers(0, 4, 25).astype(np.int8)
    table = np.zeros((31, 26), np.int32)
    table[0], table[:, 0] = np.arange(26), np.arange(31)
    for f, args in ((blur, [rng.integers(0, 256, (20, 30)).astype(np.uint8), np.zeros((20, 30), np.uint8)]),
                    (edit, [a, b, table]), (smooth, [rng.random(200).astype(np.float32), np.zeros(200, np.float32)])):
        plain = [x.copy() for x in args]
        f(*plain)
        jitted = pijit.jit(f)
        jitted(*args)
        assert all(x.tobytes() == y.tobytes() for x, y in zip(plain, args)), f.__name__
        regions = pijit.explain(jitted).regions
        assert sum(r["runs"] for r in regions) == 1 and not any(r["why"] for r in regions), (f.__name__, regions)


POWER = """
def f(xs, ys):
    r = 0.0
    out = []
    for i in range(len(xs)):
        for j in range(len(ys)):
            r = xs[i] ** ys[j]
            out.append(float(r))
            out.append(type(r).__name__)
    return out
"""
POWER_OF_ONE = """
def f(xs, y):
    s = 0.0
    for i in range(len(xs)):
        for j in range(3):
            s += (xs[i] - xs[j]) ** {} + y ** xs[i]
    return (s if s == s else "a NaN of either sign"),
"""


@pytest.mark.filterwarnings("ignore:overflow")
def test_powers():
    rng = np.random.RandomState(1)
    few = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, 1e-300, 1e300, -1e300, np.inf, -np.inf, np.nan])
    for xs, ys in ((few, few), (few, few.astype(np.float32)), (few, np.array([0, 1, 2, -1, -3, 64])),
                   (np.array([0, 1, -2, 7]), few), (np.array([0, 1, -2, 7]), np.array([0, 2, 3])),
                   (few.astype(np.float32), few), (few.astype(np.float32), few.astype(np.float32)),
                   (np.array([True, False]), few), (rng.randn(40) * 3, np.arange(5.0))):
        same(POWER, xs, ys)
    for exponent in ("2", "3", "0.5", "-1", "2.0", "0", "True", "10 ** 400", "1.5"):
        for xs in (rng.rand(30), few, rng.rand(30).astype(np.float32), np.arange(5)):
            for y in (2, 2.5, -1.0, np.float64(0.3), np.int64(3)):
                same(POWER_OF_ONE.format(exponent), xs, y)


def test_powers_of_float64_are_machine_code():
    jitted = same(POWER_OF_ONE.format("2"), np.random.RandomState(0).rand(30), 1.5)
    assert "machine code for the loops" in str(pijit.explain(jitted)) and "left at" not in str(pijit.explain(jitted))
