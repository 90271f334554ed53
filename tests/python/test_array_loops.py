"""Statements with whole arrays in loops of machine code: NumPy's bits, errors, warnings and views."""

import importlib
import pathlib
import sys
import warnings

import numpy as np
import pytest

import pijit as ms
from tests.python.differential import freeze

ROOT = pathlib.Path(__file__).resolve().parents[2]


def seen(function, args):
    args = [a.copy(order="K") if isinstance(a, np.ndarray) else a for a in args]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            result = ("value", freeze(function(*args)))
        except Exception as e:
            result = ("raises", type(e).__name__, str(e))
    return result, freeze(args), [(w.category.__name__, str(w.message), w.lineno) for w in said]


def same(function, *calls, regions=1):
    jitted = ms.jit(function)
    for args in calls:
        wanted = seen(function, args)
        for _ in range(3):
            assert seen(jitted, args) == wanted
    found = [r for r in ms.explain(jitted).regions if not r["why"]]
    assert len(found) >= regions, str(ms.explain(jitted))


def array(*shape, dtype=np.float64, seed=0):
    return (np.random.default_rng(seed).random(shape) * 10 - 3).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.int32, np.int16, np.uint8])
def test_sums_of_slices(dtype):
    def f(turns, a, b):
        for _ in range(turns):
            b[1:-1] = a[:-2] + a[1:-1] * 3 - a[2:]
            a[1:-1] = -b[:-2] + np.maximum(b[1:-1], b[2:])
    for n in (3, 4, 17, 200):
        same(f, (12, array(n, dtype=dtype), array(n, dtype=dtype, seed=1)))


def test_what_is_stored_is_read_before():
    def f(turns, a):
        for i in range(turns):
            a[1:] = a[:-1] * 0.5
            a[:-1] += a[1:]
            a[::-1] = a + 1.0
            a[:] = a[::-1] * 0.25
            a[i % 3:] -= a[i % 3]
    same(f, (9, array(40)), (9, array(40)[::2]), (9, array(40)[::-1]))


def test_memory_that_two_arguments_share():
    def f(a, b):
        for _ in range(5):
            b[:] = a * 0.5 + b
            a[1:] = b[:-1] - 1.0
    x = array(50)
    jitted = ms.jit(f)
    for first, second in ((x[:-1], x[1:]), (x[1:], x[:-1]), (x[:40], x[:40]), (x[::2], x[1::2])):
        results = []
        for g in (f, jitted, jitted):
            kept = x.copy()
            g(first, second)
            results.append(x.tobytes())
            x[:] = kept
        assert results[0] == results[1] == results[2]


def test_axes_of_many_kinds():
    def f(a, b, v):
        for i in range(1, a.shape[0] - 1):
            a[i, 1:-1] += b[i - 1, :-2] + b[i + 1, 2:] - v[1:-1]
            a[:, i] = v[i] * b[:, -i] + a[:, i - 1]
            a[::2, ::-1] *= b[::2, :]
            a[i] = v
            a[i, :i] = 0
            b[..., i] = a[i]
            b[:2] = a[i][None, :]
            b[i:, :] -= v[i]
    same(f, (array(8, 8), array(8, 8, seed=1), array(8)),
         (np.asfortranarray(array(8, 8)), array(8, 16, seed=1)[:, ::2], array(8)))


def test_three_axes():
    def f(turns, a, b):
        for _ in range(turns):
            b[1:-1, 1:-1, 1:-1] = 0.125 * (a[2:, 1:-1, 1:-1] - 2.0 * a[1:-1, 1:-1, 1:-1] + a[:-2, 1:-1, 1:-1])
            a[1:-1, :, 0] = b[1:-1, :, 1] ** 2
            a[0] = b[1] + a[2]
    same(f, (4, array(5, 6, 7), array(5, 6, 7, seed=1)), (4, array(3, 3, 3), array(3, 3, 3)))


def test_views_in_variables():
    def f(turns, a):
        row = None
        for i in range(turns):
            row = a[i, 1:]
            inner = row[::2]
            inner[:] = inner * 2.0 + row[0]
            s = inner[0] + row[-1]
        return row, inner, s
    same(f, (4, array(5, 9)))


def test_products_of_vectors():
    def f(a, x):
        n = a.shape[0]
        out = 0.0
        for i in range(n):
            x[i] = a[i, :i] @ x[:i]
            out += np.dot(a[:, i], x) + np.dot(a[i, ::-1], a[::-1, i]) + a[::-1, i] @ a[i]
        return out, type(x[0])
    for dtype in (np.float64, np.float32):
        for n in (1, 2, 5, 33):
            same(f, (array(n, n, dtype=dtype), array(n, dtype=dtype, seed=1)))


def test_numbers_keep_their_types():
    def f(a, k, z):
        for i in range(len(a)):
            a[i:] = a[i:] * 2 + k
            a[:i] -= z * a[:i]
    same(f, (array(9, dtype=np.float32), 0.1, np.float64(0.3)), (array(9, dtype=np.float32), 3, 2.5),
         (array(9, dtype=np.float32), np.float32(0.1), np.int64(2)))
    same(f, (array(9, dtype=np.int32), 7, 3), regions=0)
    same(f, (array(9, dtype=np.int16), 40_000, 3), regions=0)  # raises
    same(f, (array(9, dtype=np.int32), 0.5, 3), regions=0)  # raises


def test_warnings_come_from_numpy_before_anything_is_stored():
    def f(a, b):
        for i in range(6):
            b[:] = a / b
            b[i:] = np.sqrt(a[i:] - 5.0)
            a += b[::-1]
            a *= a
    values = array(9)
    values[3] = 0.0
    same(f, (array(9), values), (array(9) * 1e200, array(9)))

    def g(a, b):
        with np.errstate(all="raise"):
            for _ in range(3):
                b[1:] = a[:-1] / b[1:]
    same(g, (array(9), values), regions=0)


def test_errors_are_numpys():
    def f(a, b):
        for i in range(5):
            b[i:] = a[:len(b) - i]
            b[1:] = a[:3]
    same(f, (array(9), array(9)))

    def g(a, i):
        for k in range(3):
            a[k, 1:] = a[i, 1:]
    same(g, (array(4, 4), 2), (array(4, 4), 4), (array(4, 4), -5))

    def h(a, b):
        for _ in range(3):
            a[:] = b + 1.0
    frozen = array(4)
    frozen.flags.writeable = False

    def stores_into_frozen(f):
        def run(b):
            c = b.copy()
            c.flags.writeable = False
            return f(c, b)
        return run
    assert seen(stores_into_frozen(ms.jit(h)), (array(4),)) == seen(stores_into_frozen(h), (array(4),))


def test_one_computation_for_two_places():
    def f(a, b):
        for i in range(4):
            a[i:] = b[i:] = a[i:] + b[i:]
            a[:] = b[:] = 2
    same(f, (array(6), array(6)), regions=0)


def test_computed_arrays_elsewhere():
    def f(a, n):
        last = None
        for i in range(n):
            last = a * i
            a[:] = last + 1.0 if i % 2 else a - 1.0
            if (a > 100).any():
                break
        return last
    same(f, (array(6), 5), regions=0)


@pytest.fixture(scope="module")
def programs():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        yield importlib.import_module("numpy_programs")
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


def test_whole_programs_give_the_same_bits(programs):
    assert len(programs.PROGRAMS) == 54
    wrong = []
    for p in programs.PROGRAMS.values():
        args = p.inputs("small")
        jitted, wanted = ms.jit(p.run), programs.outcome(p.run, args)
        if any(programs.outcome(jitted, args) != wanted for _ in range(3)):
            wrong.append(p.name)
    assert not wrong
