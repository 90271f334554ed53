"""Sums of many elements that lie side by side: NumPy's bits and warnings, for every length and kind of number."""

import warnings

import numpy as np
import pytest

import pijit as ms
from pijit import _C

FUNCTIONS = [lambda x: x.sum(-1), lambda x: x.sum(), lambda x: x.mean(-1), lambda x: x.var(-1), lambda x: x.std(),
             lambda x: np.add.reduce(x, axis=-1), lambda x: x.sum(-1, initial=0.5),
             lambda x: (x * x).sum(1, keepdims=True)]


def outcome(f, x):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        r = np.asarray(f(x))
    return r.dtype.str, r.shape, r.tobytes(), [(str(w.message), w.category) for w in told]


def check(x):
    for f in FUNCTIONS:
        jitted = ms.jit(f)
        for _ in range(2):
            assert outcome(jitted, x) == outcome(f, x)


def numbers(r, dtype, *shape):
    return (r.standard_normal(shape) * 2.0 ** r.integers(-30, 30, shape)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("first", [1, 17, 60, 100, 124, 250, 1000, 4090])
def test_lengths(dtype, first):
    r = np.random.default_rng(first)
    for n in range(first, first + 14):
        check(numbers(r, dtype, 3, n))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows, n", [(1, 65537), (1, 131073), (2, 262144), (3, 1_000_003), (700, 333)])
@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_rows_that_threads_share(dtype, rows, n, threads):
    before = _C.get_option("num_threads")
    try:
        _C.set_option("num_threads", threads)
        check(numbers(np.random.default_rng(rows), dtype, rows, n))
    finally:
        _C.set_option("num_threads", before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("special", [[np.nan, -np.nan], [np.inf, -np.inf], [np.inf, np.nan, -np.nan], [np.inf],
                                     [3e38, 1.7e308], [-3e38, 3e38, 1.7e308, -1.7e308], [1e-45, 5e-324]])
def test_special_numbers(dtype, special):
    r = np.random.default_rng(len(special))
    with np.errstate(over="ignore"):
        special = np.array(special).astype(dtype)
    for rows, n in ((40, 30), (20, 128), (20, 1500), (1, 200_000)):
        x = numbers(r, dtype, rows, n)
        for share in (0.3, 0.02, 1 / n):
            np.copyto(x, r.choice(special, x.shape), where=r.random(x.shape) < share)
            check(x)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_signs_of_zeros(dtype):
    for n in (17, 128, 129, 1000, 100_000):
        for x in (np.full((2, n), -0.0, dtype), np.zeros((2, n), dtype)):
            check(x)
            x[:, n // 2] = -x[0, 0]
            check(x)


def test_views_between_other_elements():
    r = np.random.default_rng(0)
    x = numbers(r, np.float32, 40, 3000)
    for view in (x[:, 1:2000], x[3:17, :999], x[::2], x[:, ::-1], x.T, x[5], x[:, 7]):
        for f in (lambda x: x.sum(-1), lambda x: x.sum(), lambda x: x.mean(0)):
            jitted = ms.jit(f)
            assert outcome(jitted, view) == outcome(f, view)


def test_errors_that_overflow_raises():
    x = np.full((4, 500), 3e38, np.float32)
    f = lambda x: x.sum(1)  # noqa: E731
    with np.errstate(over="raise"):
        for function in (f, ms.jit(f)):
            with pytest.raises(FloatingPointError, match="overflow encountered in reduce"):
                function(x)


ROWS = {
    "var": lambda x: x.var(1),
    "squares": lambda x: (x * x).sum(1),
    "layer norm": lambda x: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + x.dtype.type(1e-5)),
    "softmax": lambda x: (lambda e: e / e.sum(1, keepdims=True))(np.exp(x - x.max(1, keepdims=True))),
    "two": lambda x: ((x * 2).sum(1), (x * 2 + 1).sum(1, initial=3), x.mean(1) * x.shape[0]),
    "distance": lambda x: np.sqrt(((x - x[0]) ** 2).sum(-1)),
    "of sums": lambda x: ((x + x.sum(1, keepdims=True)).sum(1, keepdims=True) * x).mean(1),
}


def all_bits(r):
    results = r if isinstance(r, tuple) else (r,)
    return [(np.asarray(v).dtype.str, np.shape(v), np.asarray(v).tobytes()) for v in results]


@pytest.fixture(params=["64", None])
def tile_bytes(request):
    before = _C.get_option("tile_bytes")
    if request.param:
        _C.set_option("tile_bytes", request.param)
    yield
    _C.set_option("tile_bytes", before)


def told(f, x):
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        r = all_bits(f(x))
    return r, [(str(m.message), m.category.__name__, m.lineno) for m in w]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rows, n", [(5, 17), (64, 64), (1003, 700), (37, 129), (701, 1300)])
@pytest.mark.parametrize("name", ROWS)
def test_tiles_of_rows(name, dtype, rows, n, tile_bytes):
    f, r = ROWS[name], np.random.default_rng(n)
    jitted = ms.jit(lambda x: f(x))
    with np.errstate(over="ignore"):
        largest = np.array([1e38, -1e38, 1e300]).astype(dtype)
    for special in ((), (np.nan, -np.nan), (np.inf, -np.inf), largest):
        x = r.standard_normal((rows, n)).astype(dtype)
        if len(special):
            np.copyto(x, r.choice(np.array(special, dtype), x.shape), where=r.random(x.shape) < 2 / n)
        for _ in range(2):
            assert told(jitted, x) == told(f, x)


def test_a_variance_reads_memory_once():
    before = _C.get_option("tile_bytes")
    _C.set_option("tile_bytes", "64")
    try:
        # (Earlier versions of NumPy add up larger arrays by buffers: these sums are left to them.)
        x = np.random.default_rng(0).standard_normal((64, 120)).astype(np.float32)
        jitted = ms.jit(lambda x: x.var(1))
        jitted(x)
        assert " 1 kernels" in str(ms.explain(jitted))
    finally:
        _C.set_option("tile_bytes", before)
