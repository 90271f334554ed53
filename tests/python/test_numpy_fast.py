"""numerics="fast" for functions of NumPy's arrays and loops over numbers: near NumPy's results, with its warnings, and
the very bits where only the order of exact sums changes."""

import math
import random
import warnings

import numpy as np
import pytest

import pijit
from benchmarks.numpy_programs import PROGRAMS
from benchmarks.numpy_programs.__main__ import distance
from benchmarks.numpy_programs.cases import copied
from pijit import _C
from tests.python.pairs import pairs

pytestmark = pytest.mark.kernels
FAST = pijit.JitConfig(numerics="fast")
ONE = ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
       "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt")
LARGE = 1e308
TWO = ("power", "float_power", "arctan2")
SPECIAL = (0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 2.0, -2.0, 0.5, 1e-300, 1e300, -1e30, 5e-324, 710.0,
           -750.0, 89.0, -104.0, 3e5, 1e15)


def told(f, *args):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = f(*args)
    return result, {(str(w.message), w.lineno) for w in seen}


def ulps(got, wanted):
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    assert np.array_equal(np.isnan(got), np.isnan(wanted)) and np.array_equal(np.isinf(got), np.isinf(wanted))
    assert np.array_equal(np.signbit(got) & ~np.isnan(got), np.signbit(wanted) & ~np.isnan(got))
    known = np.isfinite(wanted)
    a, b = got[known].astype(np.float64), wanted[known]
    return float((np.abs(a - b) / np.spacing(np.abs(b)).astype(np.float64)).max(initial=0))


def ways(name, operands):
    args = ", ".join("xy"[:operands])
    for text in (f"def f({args}):\n    return np.{name}({args})\n",
                 f"def f({args}):\n    for _ in range(2):\n        z = np.{name}({args})\n    return z\n"):
        space = {"np": np}
        exec(compile(text, "<way>", "exec"), space)
        yield space["f"]


@pytest.mark.parametrize("t", [np.float64, np.float32])
@pytest.mark.parametrize("name", ONE + TWO)
def test_a_function(name, t):
    rng = np.random.default_rng(5)
    with np.errstate(over="ignore", under="ignore"):
        special = np.array(SPECIAL).astype(t)
    if name in TWO:
        whole = np.concatenate([rng.standard_normal(800) * 3, rng.random(800) * 50, special]).astype(t)
        other = rng.permutation(np.concatenate([rng.standard_normal(800) * 3, rng.integers(-5, 6, 800), special]))
        inputs = [(whole, other.astype(t)), (np.abs(whole[:1600]), other[:1600].astype(t))]
    else:
        inputs = [(np.concatenate([rng.standard_normal(500) * s for s in (1e-3, 1, 10, 50)]).astype(t),),
                  (rng.random(2000).astype(t),), (special,), (np.exp(rng.standard_normal(1000) * 5).astype(t),)]
    for plain in ways(name, len(inputs[0])):
        fast = pijit.jit(plain, jit_config=FAST)
        for args in inputs:
            wanted, wanted_told = told(plain, *args)
            for _ in range(3):
                got, got_told = told(fast, *args)
                assert ulps(got, wanted) <= 4 and got_told == wanted_told


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_program(name):
    program = PROGRAMS[name]
    fast = pijit.jit(program.run, jit_config=FAST)
    wanted = copied(program.inputs("small"))
    wanted = [program.run(*wanted), wanted]
    for _ in range(4):
        got = copied(program.inputs("small"))
        assert distance([fast(*got), got], wanted) < 1e-5


def dyadic(rng, *shape):
    """Numbers whose sums of products are exact in any order."""
    return rng.integers(-64, 65, shape) / 8.0


def loops(x, y, a, n):
    s, t, some, kept, last = 0.0, 1.5, 0.0, 0.25, 0.0
    for i in range(n):
        s += x[i] * y[i]
        t -= x[i]
    for v in x:
        last = v
        kept += v
    for i in range(n):
        if x[i] > 0.5:
            some += y[i]
    rows = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            rows += a[i, j] * a[i, j] - x[j]
    return s, t, some, kept, last, rows


@pytest.mark.parametrize("share", ["off", "auto", "always"])
def test_sums_of_exact_numbers_have_the_same_bits(share):
    rng = np.random.default_rng(3)
    before = _C.get_option("parallel_loops")
    _C.set_option("parallel_loops", share)
    try:
        fast = pijit.jit(loops, jit_config=FAST)
        for n in (0, 1, 7, 64, 300, 2048, 5001):
            args = dyadic(rng, n), dyadic(rng, n), dyadic(rng, 40, n), n
            for _ in range(2):
                got, wanted = fast(*args), loops(*args)
                assert [(type(a), a) for a in got] == [(type(b), b) for b in wanted]
        assert not pijit.explain(fast).breaks
    finally:
        _C.set_option("parallel_loops", before)


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan, LARGE])
def test_sums_of_what_is_not_finite(bad):
    def total(x):
        s = np.float64(0.0)
        for i in range(len(x)):
            s += x[i]
        return s

    def product(x, y):
        return np.dot(x, y), x @ y
    fast, fast_product = pijit.jit(total, jit_config=FAST), pijit.jit(product, jit_config=FAST)
    for places in ((5,), (5, 700), (700, 5, 2999), (2999,)):
        x = np.ones(3000)
        for sign, k in enumerate(places):
            x[k] = -bad if sign % 2 and bad != LARGE else bad  # large ones that cancel out leave any rest
        for f, plain, args in ((fast, total, (x,)), (fast_product, product, (x, np.ones(3000)))):
            wanted = told(plain, *args)
            for _ in range(2):
                assert repr(told(f, *args)) == repr(wanted)


def test_products_near_blas():
    rng, r = np.random.default_rng(1), random.Random(1)

    def in_loop(a, b):
        for _ in range(2):
            c = a @ b
        return c
    product, loop = pijit.jit(lambda a, b: a @ b, jit_config=FAST), pijit.jit(in_loop, jit_config=FAST)
    for t in (np.float64, np.float32):
        for _ in range(60):
            n, k, m = (r.choice((1, 2, 5, 16, 17, 63, 130, 400)) for _ in range(3))
            a, b = rng.standard_normal((n, 2 * k)).astype(t), rng.standard_normal((k, m)).astype(t)
            a = r.choice((a[:, :k], a[:, ::2], a[:, k:].copy(), np.asfortranarray(a[:, :k])))
            b = r.choice((b, b.T.copy().T, b[::-1]))
            if r.random() < 0.3:
                a = a[0]
            if r.random() < 0.3:
                b = b[:, 0]
            for f in (product, loop):
                got, wanted = f(a, b), a @ b
                assert type(got) is type(wanted) and got.dtype == wanted.dtype and got.shape == wanted.shape
                scale = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
                assert (np.abs(got - wanted) <= 4 * np.finfo(t).eps * scale).all()


def test_reductions():
    rng = np.random.default_rng(2)

    def all_of(x):
        return (x.sum(), x.sum(axis=0), x.mean(axis=1), x.max(axis=1), x.min(), np.prod(x[:3, :2]), x.std(axis=0),
                np.ptp(x, axis=1), np.sum(x * x, axis=(0, 1), keepdims=True))
    fast = pijit.jit(all_of, jit_config=FAST)
    for t in (np.float64, np.float32):
        for shape in ((40, 30), (300, 7), (7, 3000)):
            x = rng.standard_normal(shape).astype(t)
            for _ in range(3):
                for got, wanted in pairs(fast(x), all_of(x)):
                    assert type(got) is type(wanted) and got.dtype == wanted.dtype
                    np.testing.assert_allclose(got, wanted, rtol=1e-3 if t is np.float32 else 1e-10, atol=1e-4)
    x[2, 1] = math.nan
    for got, wanted in pairs(fast(x), all_of(x)):
        assert np.array_equal(np.isnan(got), np.isnan(wanted))
