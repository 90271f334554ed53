"""Captured functions of ndarrays: results, warnings and memory are NumPy's to the bit."""

import warnings

import numpy as np
import pytest

import pijit
from tests.python.differential import check, check_calls, freeze
from tests.python.ndarray_programs import compare, run

x = np.linspace(-3.0, 5.0, 24)
y = np.linspace(1.0, 2.0, 24)


def of(text, names="a, b"):
    def make():
        scope = {"np": np}
        exec(f"def f({names}):\n    {text}\n", scope)
        return scope["f"]
    return make


EXPRESSIONS = [
    "(a * b + 1) / (b + 2)", "-a", "abs(a)", "a - b", "2 * a", "1 / b", "a < b", "a >= 0.5", "a == b", "a != 1",
    "np.sqrt(b)", "np.maximum(a, b)", "np.minimum(a, 0)", "np.square(a)", "np.negative(a)", "np.abs(a)",
    "np.floor(a)", "np.ceil(a)", "np.rint(a)", "np.trunc(a)", "np.isnan(a)", "np.where(a > 0, a, b)",
    "np.where(a > 0, a, 0)", "np.clip(a, 0, 1)", "a.clip(-1, 1)", "np.clip(a, None, 2)", "a ** 2", "b ** 0.5",
    "a ** 3", "b ** -1", "np.exp(a)", "np.log(b)", "np.sin(a) * np.cos(b)", "np.tanh(a)", "np.arctan2(a, b)",
    "np.hypot(a, b)", "np.power(b, 1.5)", "np.sign(a)", "np.fmax(a, b)", "a // b", "a % b", "a.sum()", "np.sum(a)",
    "a.mean()", "np.mean(a * b)", "a.max()", "np.min(a)", "a.prod()", "a.sum(keepdims=True)", "(a + b, a - b)",
    "a[1:] - a[:-1]", "a[::2] * 2", "a[3]", "a[-1] + b", "a[None]", "a[..., 1:]", "np.float32(2) * a",
    "np.float64(2) * a", "+a", "np.add(a, b)", "a.astype('f4')", "a.astype(np.float64)", "(a > 0).astype(int)",
    "a.copy()",
    "np.zeros_like(a) + b", "np.ones_like(a)", "a @ b", "np.dot(a, b)", "a.dot(b)", "a.shape", "a.dtype",
    "(a.size, a.ndim, a.itemsize, a.nbytes)",
    "np.std(a)", "a.var()", "a.std(ddof=1)", "np.ptp(a)", "np.cumsum(a)", "a.cumprod()", "np.diff(a)", "np.diff(a > 0)",
    "np.roll(a, 3, 0)", "np.roll(a, -30, axis=-1)", "np.full_like(a, 1.5)", "np.concatenate([a, b])",
    "np.stack([a, b], axis=1)", "np.hstack((a, b))", "np.vstack((a, b, a))", "np.concatenate((a[1:], b[:-2]))",
    "(a > 0) & (b > 0)", "~(a > 0)", "(a > 0) | (a < -1)", "np.logical_and(a > 0, b > 0)", "a * True",
]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text, dtype):
    check(of("return " + text), x.astype(dtype), y.astype(dtype), graphs=None, breaks=0)


@pytest.mark.parametrize("dtype", ["i8", "i4", "i2", "i1", "u1", "u2", "u4", "u8", "?"])
@pytest.mark.parametrize("text", ["a + b", "a * b", "a < b", "a / b", "np.maximum(a, b)", "a & b", "a ^ b", "~a",
                                  "a + 1", "a * 0.5", "abs(a)", "a == 3", "a.sum()", "a.max()",
                                  "np.where(a > b, a, b)"])
def test_integers(text, dtype):
    a = np.arange(24).astype(dtype)
    check(of("return " + text), a, (a * 3 + 1).astype(dtype))


@pytest.mark.parametrize("text", ["a + b", "a.T + b.T", "a.T + b", "a.T * 2", "a.T", "np.where(a.T > 0, a.T, 1)",
                                  "a.sum(axis=0)", "a.sum(axis=1)", "a.mean(axis=-1)", "a.max(axis=0)", "a.T.sum()",
                                  "a.T.sum(axis=0)", "a[1]", "a[:, 1]", "a[1:, ::2] + 1", "a + b[0]",
                                  "a + b[:, :1]", "a @ b.T", "a.T @ b", "a[0, 0]", "a[:, None] + b"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_layouts(text, order):
    check(of("return " + text), np.array(x.reshape(4, 6), order=order), np.array(y.reshape(4, 6), order=order))


def test_products_of_matrices():
    g = np.random.default_rng(0)
    for m, n, p in ((2, 3, 4), (8, 8, 8), (64, 33, 17), (1, 5, 1)):
        check(of("return a @ b, a.dot(b), a @ b[:, 0].copy(), a[0].copy() @ b"), g.standard_normal((m, n)),
              g.standard_normal((n, p)), graphs=1, breaks=0)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_products_of_transposed_matrices_and_of_views(dtype):
    g = np.random.default_rng(0)
    for m, n, p in ((2, 3, 4), (8, 8, 8), (64, 33, 17), (1, 5, 3), (300, 7, 2)):
        a, b = g.standard_normal((m, n)).astype(dtype), g.standard_normal((p, n)).astype(dtype)
        check(of("return a @ b.T, b @ a.T, a[1:] @ b[0], a[0] @ b.T, (a + 1).T @ a"), a, b)
        check(of("return a @ a.T, a.T @ a, a @ b.T, a @ a[:].T"), a, a.copy())
        check(of("c = a + 1; d = b + 1\n    return c @ d.T, c @ c.T, c.T @ d"), a, a.copy())
        check(of("return a @ b, a.T @ b.T, b.T @ a.T"), np.asfortranarray(a), np.asfortranarray(b.T))
        check(of("return a[:, 1] @ b[:, 1], a[:, :2] @ b[:, :2].T, a[::2] @ b.T"), a[:, :4].copy(), a[:, :4].copy())


@pytest.mark.parametrize("text", ["np.std(a, axis=0)", "a.var(axis=-1, ddof=1)", "a.std(0, keepdims=True)",
                                  "a.cumsum()", "a.cumsum(axis=0)", "np.cumprod(a, 1)", "np.ptp(a, axis=0)",
                                  "np.diff(a, axis=0)",
                                  "np.diff(a, 2)", "np.roll(a, 1, axis=0)", "np.roll(a, 1)",
                                  "np.roll(a, (1, 2), (0, 1))",
                                  "np.concatenate([a, b], axis=1)", "np.stack([a, b], -1)", "np.hstack([a, b])",
                                  "np.vstack([a, b])", "np.concatenate([a, b[0]])", "np.stack([a, b], 5)",
                                  "np.concatenate([a, b], None)", "np.concatenate([[1.0], a[0]])", "np.concatenate([])",
                                  "np.std(a, ddof=24)", "np.var(a[:0])", "a.std(dtype='f4')", "np.full_like(a, b[0])"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "?"])
def test_functions_along_axes(text, order, dtype):
    check(of("return " + text), np.array(x.reshape(4, 6), order=order).astype(dtype),
          np.array(y.reshape(4, 6), order=order).astype(dtype))


@pytest.mark.parametrize("n", [1, 7, 8, 127, 128, 129, 1000, 8192, 8193, 100_000])
def test_sums_have_numpys_tree(n):
    a = np.random.default_rng(n).standard_normal(n)
    # before 2.3 NumPy adds up long arrays by parts, and is left to do so
    expect = {"graphs": 1, "breaks": 0} if n <= 8192 or np.lib.NumpyVersion(np.__version__) >= "2.3.0" else {}
    check(of("return a.sum(), a.mean(), (a * a).sum()", "a"), a, **expect)
    check(of("return a.sum(), a.mean()", "a"), a.astype("f4"), **expect)


def test_zero_dimensional_arrays_and_scalars():
    check(of("return a + 1, a * b"), np.array(2.0), np.array(3.0))
    check(of("return a + b"), np.array(2.0), x)
    check(of("return a.sum() * b"), x, y.astype("f4"), graphs=1, breaks=0)
    check(of("return a.sum() / a.size + 1", "a"), x, graphs=1, breaks=0)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.uint8, np.bool_])
def test_scalars_of_numpy_vary(kind):
    for array in (x, x.astype("f4"), np.arange(5)):
        e = check_calls(of("return a * b + 1, b - a if a.dtype == float else b + a"),
                        [(array, kind(k)) for k in (1, 2, 3, 5, 0, 7, 9, 11)])
        assert e.compile_count <= 4, e


@pytest.mark.parametrize("text", ["(a > 0).any()", "np.all(b)", "np.any(a > 9)", "(a > -9).all(axis=0)",
                                  "a.any()", "np.all(a)"])
def test_any_and_all(text):
    check(of("return " + text), x, y, graphs=1, breaks=0)


@pytest.mark.parametrize("text", ["z = np.zeros(24)\n    z[1:] = c[1:]\n    return z",
                                  "z = np.empty(c.shape)\n    z[:] = c\n    z[0] = 5\n    return z",
                                  "z = np.ones((2, 24))\n    z[1] = c\n    return z, z + 1",
                                  "z = np.zeros(c.size, dtype='f4')\n    return z + 1", "return np.zeros((2, 3), int)"])
def test_new_arrays(text):
    check(of("c = a + b\n    " + text), x, y, graphs=1, breaks=0)
    check_calls(of("c = a + b\n    " + text), [(x[:n].copy(), y[:n].copy()) for n in (24, 24, 7, 9, 24)])


@pytest.mark.parametrize("text", ["a.sum() ** 0.3", "a.max() % 0.7", "a.max() // 0.3", "-a.min() * a.mean() + 2",
                                  "a.sum() > a.max()", "abs(a.min())", "a[0] * b[1] - 1", "a[0] ** 3"])
def test_operators_of_scalars(text):
    check(of("return " + text), x, y)
    check(of("return " + text), x.astype("f4"), y.astype("f4"))
    big = np.array([3, -(2**62), 2**62 + 5, 7])
    check(of("return " + text), big, big[::-1].copy())
    check(of("return a[1] * 4, a[2] + a[2], -a[1] * 2"), big, big)


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.int8, np.uint8, np.float32, np.float64])
@pytest.mark.parametrize("text", ["a[0] * b", "b * a[0]", "a[0] + b", "b - a[0]", "a[0] - b", "a.max() * b",
                                  "(a * b)[0]", "a[0] < b", "a[0] // b", "a[0] % b"])
def test_scalars_of_numpy_that_vary_warn_in_each_call(text, kind):
    most = np.iinfo(kind).max if issubclass(kind, np.integer) else np.finfo(kind).max
    check_calls(of("return " + text), [(np.array([most - k, k], kind), kind(5 + k)) for k in range(7)])


@pytest.mark.parametrize("mode", ["warn", "ignore", "raise", "print"])
@pytest.mark.parametrize("text", ["a / 0", "a * 1e308 * 1e308", "np.sqrt(a - 10)", "np.log(a)", "1e-300 / (b * 1e30)",
                                  "(a - a) / (b - b)", "np.exp(a * 1000)", "(a * 1e308).sum()", "a / 0 > 1",
                                  "a // 0", "a % 0"])
def test_floating_point_errors(text, mode, capfd):
    with np.errstate(all=mode):
        check(of("c = a + b\n    return " + text), x, y, calls=6)


def test_the_error_state_may_be_set_within():
    check(of("with np.errstate(divide='ignore'):\n        c = a / 0\n    return c, b / 0"), x, y)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_the_ends_of_arrays_raise_no_flags(dtype, monkeypatch):
    asked = []
    known = np.geterr
    monkeypatch.setattr(np, "geterr", lambda: asked.append(1) or known())
    for n in (1, 3, 5, 8, 13, 100, 1003):
        a = np.linspace(1, 2, n).astype(dtype)
        for text in ("a / b", "1 / a", "np.sqrt(a - 0.5)", "np.reciprocal(a)", "a / b / b + np.sqrt(a / b)",
                     "np.where(a > b, a, b)", "np.maximum(a, b)", "a < b"):
            f = pijit.jit(of("return " + text)())
            f(a, a)
            assert pijit.explain(f).graphs
            assert not asked, (n, text)


@pytest.mark.parametrize("place", [0, 5, 500_000, 900_000, 1_000_002])
def test_a_flag_of_any_thread_counts(place):
    b = np.ones(1_000_003)
    b[place] = 0
    f = pijit.jit(of("return a / b + 1")())
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"):
        f(np.ones(b.size), b)


def test_warnings_as_errors():
    def f(a, b):
        c = a + 1
        d = c / (b - b)
        return d

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for g in (f, pijit.jit(f)):
            with pytest.raises(RuntimeWarning, match="divide by zero encountered in divide") as e:
                g(x, y)
            assert e.traceback[-1].lineno == f.__code__.co_firstlineno + 1


def test_what_nobody_reads_warns_all_the_same():
    check(of("a / 0\n    return a + b"), x, y)
    check(of("c = a / 0\n    d = np.sqrt(-b)\n    return a + b"), x, y)


def test_each_result_has_memory_of_its_own():
    f = pijit.jit(lambda a: (a + 1, a + 1, a * 1, +a, a.clip(-100, 100)))
    big = np.arange(5000.0)
    for _ in range(3):
        made = f(big)
        assert all(not np.shares_memory(p, q) for k, p in enumerate(made) for q in (*made[:k], big))


def test_results_can_be_resized_and_outlive_the_function():
    f = pijit.jit(lambda a: a * 2)
    r = f(np.arange(5000.0))
    del f
    r.resize(20_000, refcheck=False)
    assert r[4999] == 9998 and not r[5000:].any()
    r.resize(3, refcheck=False)
    assert r.tolist() == [0, 2, 4] and r.flags.owndata


def test_sizes_and_numbers_vary():
    e = check_calls(of("return a * b + 1"), [(np.arange(float(n)), 1.5 * n) for n in (3, 5, 8, 100, 7, 5000)])
    assert e.compile_count <= 3


def test_python_numbers_are_weak():
    check(of("return a + 1, a * 0.1, a - 2.5e-3, a / 3"), x.astype("f4"), y, graphs=1, breaks=0)
    check(of("return a + 300"), np.arange(5, dtype="u1"), y)
    check(of("return a + 1e300"), x.astype("f4"), y)
    check(of("return a * np.float64(0.1), a * np.float32(0.1)"), x.astype("f4"), y, graphs=1, breaks=0)


@pytest.mark.parametrize("a", [x[::2], x.astype(">f8"), x.astype("f2"), x + 1j, np.ma.masked_array(x),
                               np.array(["a", "b"]), np.array([1, None]), x.view(np.recarray),
                               np.frombuffer(bytes(33), dtype="u1")[1:].view("f8")], ids=lambda a: str(a.dtype))
def test_other_arrays_are_numpys(a):
    check(of("return a + a, a == a", "a"), a)


STORES = ["a += b", "a[1:] = b[1:]", "a[1:-1] = (a[:-2] + a[2:]) / 2", "a[:] = 0", "a[...] = b", "a[0] = 7",
          "a[1:] = a[:-1]", "a[:-1] = a[1:]", "a *= 2\n    a -= b", "v = a[2:5]\n    v += 1", "a[::2] = b[::2] * 2",
          "v = a[1:]\n    a[2] = 5\n    b[:] = v[0]", "np.add(a, b, out=a)", "np.multiply(a, b, a)",
          "a[3:][::2] = 1", "a **= 2", "c = a + b\n    c[0] = 100\n    a[:] = c", "c = a * 2\n    c += b\n    return c",
          "c = a + 0\n    v = c[1:4]\n    v *= 3\n    return c, v", "s = a[0]\n    a[0] = 5\n    return s, a[0]",
          "a[:] = b\n    b[:] = a * 2", "a[5:3] = 1", "a[1:] += a[:-1]",
          "c = a.copy()\n    a[:] = 0\n    return c", "c = +a\n    v = c[1:]\n    a[:] = v[0]\n    return v",
          "b[:] = a\n    a[:] = 0\n    return b"]


@pytest.mark.parametrize("text", STORES)
def test_stores(text):
    text = text if "return" in text else text + "\n    return a"
    check(of(text), x.copy(), y.copy(), graphs=1, breaks=0)


@pytest.mark.parametrize("index", ["True", "False", "np.True_", "(True, slice(1, None))", "(0, True)", "[1, 2]",
                                   "a > 0", "np.int64(3)", "np.array(2)", "(3,)", "()", "-25", "24", "1.0", "'a'",
                                   "slice(None, None, -2)", "slice(2, None, 3)", "(..., 1)", "(None, 2)",
                                   "slice(True, None)"])
def test_indexes(index):
    check(of(f"return a[{index}]"), x, y)
    check(of(f"a[{index}] = 5\n    b[{index}] += 1\n    return a"), x.copy(), y.copy())
    check(of(f"k = {index}\n    c = a * 2\n    c[k] = b[k]\n    return c"), x, y)


@pytest.mark.parametrize("text", ["a += b", "a[:] = b", "a[1:] = 1.5", "a[0] = 2.5", "a /= 2", "np.add(a, b, out=a)"])
def test_stores_of_other_dtypes(text):
    check(of(text + "\n    return a"), np.arange(24), y)
    check(of(text + "\n    return a"), x.astype("f4"), y)
    check(of(text + "\n    return a"), x.copy(), np.arange(24, dtype="i4"))


def test_stores_that_raise_leave_what_was_stored_before():
    check(of("a[:] = 1\n    a[1:] = b[5:]\n    a[:] = 2"), x.copy(), y)
    check(of("a[:] = 1\n    a += b[:, None]"), x.copy(), y)
    check(of("a[0] = 1\n    a[99] = 3"), x.copy(), y)
    fixed = x.copy()
    fixed.flags.writeable = False
    check(of("b[:] = 3\n    a[0] = 1"), fixed, y.copy())


def test_stores_come_before_a_warning_that_is_an_error():
    def f(a, b):
        a[:] = 1
        b /= 0
        a[:] = 2

    for g in (f, pijit.jit(f)):
        p, q = x.copy(), y.copy()
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            g(p, q)
        assert (p == 1).all()


@pytest.mark.parametrize("text", ["a[:] = b[::-1]", "a[1:] = b[:-1]\n    a[0] = b[1]", "a += b\n    b += a",
                                  "a[:] = 1\n    return b + 1"])
def test_arguments_that_share_memory(text):
    f, g = of(text)(), pijit.jit(of(text)())
    pairs = [lambda m: (m[:20], m[20:40]), lambda m: (m[:20], m[10:30]), lambda m: (m[5:25], m[:20]),
             lambda m: (m[:20], m[:20]), lambda m: (m[:20],) * 2, lambda m: (m[:20], m[20:40])]
    for pair in pairs * 2:
        m, n = np.arange(40.0), np.arange(40.0)
        r, s = f(*pair(m)), g(*pair(n))
        assert freeze(r) == freeze(s) and m.tobytes() == n.tobytes()


@pytest.mark.parametrize("first", range(0, 150, 30))
def test_random_programs(first):
    for seed in range(first, first + 30):
        assert compare(seed)[0] is None
        assert compare(seed, stores=True)[0] is None


MADE = ["np.zeros(24)", "np.ones(24, 'f4')", "np.full(24, 2.0)", "np.zeros((1, 24))", "np.zeros(24, int)",
        "np.eye(24)[0] * 1"]


@pytest.mark.parametrize("line", ["z += a", "z -= 1", "z *= a; z += 1", "z /= b", "z[:] = a; z += b", "z += a.sum()",
                                  "l = [z]; l[0] += a; z *= 2"])
@pytest.mark.parametrize("made", MADE)
def test_arrays_made_here_change_in_place(made, line):
    """For all names and views of them, with their dtype; what has no room in it is NumPy's error."""
    text = (f"z = {made}; y = z; w = z[..., 1:]\n    try:\n        {line}\n    except Exception as e:\n"
            "        return type(e), str(e), z\n    return y, y is z, w, z.dtype")
    plain, jitted = of(text)(), pijit.jit(of(text)())
    for _ in range(3):
        assert freeze(jitted(x, y)) == freeze(plain(x, y))


@pytest.mark.parametrize("line", ["a += b", "a[30]", "a[1, 2]", "a[::0]", "a[:3] = b[:4]", "a + b[:7]",
                                  "np.where(a > 0, a, b[:5])", "a @ b[:3]", "a[1:3] += 1; a.T[0, 0] = 1"])
def test_what_numpy_says_of_errors_it_says_here(line):
    text = f"try:\n        {line}\n    except Exception as e:\n        return type(e), str(e)"
    plain, jitted = of(text)(), pijit.jit(of(text)())
    for _ in range(2):
        assert jitted(x.copy(), y[:9].copy()) == plain(x.copy(), y[:9].copy())


@pytest.mark.parametrize("dtype", ["i8", "i4", "f4", "f8"])
def test_numbers_that_vary_are_cast_as_numpy_does(dtype):
    """A float beyond an int's or a float32's range among others."""
    for line in ("a[0] = s", "a[1:3] = s", "a[:] = s", "r = np.maximum(a, s)", "r = a < s",
                 "r = np.where(a > 0, a, s)"):
        text = f"r = None; {line}; return r, a"
        plain, jitted = of(text, "a, s")(), pijit.jit(of(text, "a, s")())
        for s in (1.5, 2.5, 3.5, 4.5, 7, 1e300, np.inf, np.nan, 1e30, -2.5, 2 ** 40):
            seen = []
            for f in (plain, jitted):
                with warnings.catch_warnings(record=True) as told:
                    warnings.simplefilter("always")
                    a = np.arange(4).astype(dtype)
                    try:
                        r = freeze(f(a, s))
                    except Exception as e:
                        r = type(e), str(e), freeze(a)
                seen.append((r, [str(w.message) for w in told]))
            assert seen[0] == seen[1], (line, s)


def test_memory_that_others_show():
    import array

    def by_bytes(n):
        b = bytearray(n)
        a = np.frombuffer(b, dtype="u1")
        a[0] = 4
        first = b[0], 4 in b
        b[1] = 9
        return first, a * 2, a[1]

    def by_array(a, held):
        a += 1
        held[1] = 7.0
        return held[0], a * 2
    jitted, other = pijit.jit(by_bytes), pijit.jit(by_array)
    for _ in range(3):
        assert freeze(jitted(5)) == freeze(by_bytes(5))
        one, two = array.array("d", [1.0, 2.0]), array.array("d", [1.0, 2.0])
        assert freeze(other(np.frombuffer(one), one)) == freeze(by_array(np.frombuffer(two), two)) and one == two


@pytest.mark.parametrize("call", ["a.clip(1, a_max=3)", "a.clip(a_min=1)", "np.clip(a, 0)", "np.clip(a, 0, max=1)",
                                  "np.clip(a, min=0)", "a.clip(0, 1)", "np.clip(a, a_min=0, a_max=1)", "a.clip(max=1)"])
def test_calls_of_clip(call):
    check(of(f"return {call}"), x, y)


def test_order_of_memory_where_sizes_vary():
    text = "return a + b, np.fmax(a, b), np.where(a > b, a, b)"
    plain, jitted = of(text)(), pijit.jit(of(text)())
    for n, m in ((5, 5), (6, 6), (7, 1), (1, 8), (9, 9)):
        a, b = np.asfortranarray(np.arange(n * 4.0).reshape(n, 4)), np.ones((m, 4))
        assert [r.strides for r in jitted(a, b)] == [r.strides for r in plain(a, b)], (n, m)


def test_signs_of_zero_where_one_operand_broadcasts():
    for n in (1, 3, 17):
        args = np.zeros((2, n), "f4"), np.full((2, 1), -0.0, "f4")
        text = "return np.fmax(a, b), np.fmin(b, a)"
        plain, jitted = of(text)(), pijit.jit(of(text)())
        for _ in range(2):
            assert freeze(jitted(*args)) == freeze(plain(*args))


def test_axes_of_one_place_lie_where_their_stride_says():
    f = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    for a in (f[None], f[:, None], f[..., None], f[:1], f[:, :1], np.asfortranarray(np.ones((2, 1, 3))), f.T[None]):
        check(of("return np.square(a), a + 1, a > 2", "a"), a)
    for sizes in ((3, 4), (5, 4), (1, 4), (4, 1), (6, 2)):
        check_calls(of("return a * 2", "a"), [(np.asfortranarray(np.ones(s)),) for s in ((3, 4), sizes, (7, 9))])


def test_order_of_memory_of_views_with_gaps_and_of_empty_arrays():
    for a in (np.ones((4, 4)), np.ones((1, 3, 4)), np.ones((4, 1))):
        for view in ("a[:, None, ::2]", "a[..., None, :1]", "a[::2, None]", "a[:, None]", "a[None]"):
            results = "np.zeros_like(v), np.full_like(v, 2), np.roll(v, 1, 0), v.astype('f4')"
            check(of(f"v = {view}\n    return {results}", "a"), a)
    for a in (np.asfortranarray(np.ones((0, 3, 2))), np.asfortranarray(np.ones((1, 3, 2)))[1:], np.ones((0, 3, 2))):
        check(of("return a.sum(axis=0), a * 2, np.cumsum(a, axis=0), a.T.prod(axis=-1)", "a"), a)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "u1", "?"])
@pytest.mark.parametrize("text", ["x, y, z = a; return x, y, z", "x, y, z = a; a[0] = 5; return x, y, z, a",
                                  "x, y = a; return x", "x, y, z = m; x += 1; return m, y, z",
                                  "x, y, z = a * 2; return np.array([x - y, 2.0, y * z])", "return np.array([a[0], 1])",
                                  "return np.array([a, a]), np.array([a[0]], dtype='f4')",
                                  "c = np.array([a[0], a[1]]); c[0] = 9; return c, a", "x, y, z = m.T; return x, y, z",
                                  "return (a > 0).mean(), np.mean(a > 1), (m > 0).mean(axis=0), a.mean()",
                                  "return np.clip(a, 0, 2), np.clip(a, None, 1), np.clip(a, 0, 300), np.clip(a, -5, 1)",
                                  "return a[1:].sum(), a[:2].max(), a[1:].mean(), a[::2].sum(), a[::-1].sum()",
                                  "return m[0].sum(), m[1:].sum(axis=0), m[:, 1].sum(), m[1].std(), m.T[1:].sum()",
                                  "return np.concatenate([[0.0], a]), np.concatenate(([1.5], a[1:]))",
                                  "return np.hstack([1.0, a]), np.concatenate([[0], a]), np.concatenate([a, []])"])
def test_numbers_and_rows_of_arrays(text, dtype):
    for order in "CF":
        a, m = np.array([1, 0, 3]).astype(dtype), np.array(np.arange(9).reshape(3, 3), order=order).astype(dtype)
        check(of(text, "a, m"), a, m)


@pytest.mark.parametrize("mode", ["warn", "raise"])
@pytest.mark.parametrize("cast", ["c = a + s", "c = np.full_like(a, s)", "a[:] = s", "c = np.where(a > 0, a, s)",
                                  "a *= s", "c = b.astype('f4')", "c = np.float32(s) * a", "np.add(a, s, out=a)",
                                  "c = a / 0"])
def test_warnings_of_casts_come_before_errors(cast, mode):
    for end in ("a + b[:5]", "a[99]", "raise ValueError(3)", "np.stack([a, a[:3]])", "a[:3] = b[:5]", "a.sum(axis=4)",
                "np.dot(a, a[:3])", "assert a.sum() > 1e300"):
        plain, jitted = (of(f"{cast}; {end}", "a, b, s")() for _ in range(2))
        jitted = pijit.jit(jitted)
        with np.errstate(all=mode):
            for k, s in enumerate((1.5, 1e300, 2.5, 1e300, 1e-300, 3e38, 7)):
                args = [[np.arange(1, 9).astype("f4"), np.arange(1, 9) * (1e200 if k % 2 else 1.0), s] for _ in "ab"]
                assert run(plain, args[0]) == run(jitted, args[1]), (cast, end, s)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_nans_that_are_compared_raise_no_flags(dtype, monkeypatch):
    asked = []
    known = np.geterr
    monkeypatch.setattr(np, "geterr", lambda: asked.append(1) or known())
    for n in (1, 3, 8, 13, 1003):
        a = np.linspace(1, 2, n).astype(dtype)
        a[::3] = np.nan
        for text in ("np.maximum(a * 2, b) - 1", "np.minimum(a, b + 1)", "np.clip(a * 2, 0, 1) + 1", "(a * 2).max()",
                     "np.where(a > b, a, b) * 2", "(a * 2 < b) | (a == b)", "np.maximum(a, np.minimum(b, 1)) * 0.5"):
            f = pijit.jit(of("return " + text)())
            for p, q in ((a, a[::-1].copy()), (a, np.ones_like(a)), (np.zeros_like(a), -np.zeros_like(a))):
                assert f(p, q).tobytes() == of("return " + text)()(p, q).tobytes(), (n, text)
            assert pijit.explain(f).graphs
            assert not asked, (n, text)


@pytest.mark.parametrize("line", ["np.multiply(z, 3, z)", "np.add(z, z, z)", "np.clip(z, 0, 2, z)",
                                  "np.sum(z, 0, None, w)", "np.cumsum(z, 0, None, z)", "np.dot(z, z, w)",
                                  "np.concatenate([z[:2], z[:2]], 0, z)",
                                  "np.concatenate([z, z], 0)", "np.stack((z, z), axis=-1)", "np.hstack([z, z])",
                                  "np.where(z > 0, z, [1, 2, 3, 4])", "np.clip(z, w, [9.0, 0.0, 1.0, 2.0])",
                                  "np.max(z, 0, w)", "np.round(z, 1, z)", "np.std(z[:0])", "np.var(z, ddof=9)",
                                  "np.mean(z[:0])", "np.std(z, 0, None, w)", "np.exp(z, z)", "np.negative(z, out=z)"])
def test_arrays_of_constants_are_stored_in_once(line):
    check(of(f"z = np.array([1.5, -2.0, 3.0, 4.0]); w = np.array(7.0)\n    r = {line}\n    return r, z, w, a + z"),
          np.arange(4.0), y)
