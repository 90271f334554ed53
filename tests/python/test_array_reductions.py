"""Sums, means, largest and smallest elements along axes, in loops of machine code: NumPy's bits, strides, warnings."""

import traceback
import warnings

import numpy as np
import pytest

import pijit as ms
from tests.python.array_reductions import Reduction


def loaded(text):
    scope = {"np": np}
    exec(compile(text, "<reduction>", "exec"), scope)
    return scope["f"]


def bits(v):
    if isinstance(v, np.ndarray):
        return v.dtype.str, v.shape, v.strides, v.tobytes(), v.flags.owndata, v.flags.writeable
    return type(v).__name__, v.tobytes() if isinstance(v, np.generic) else v


def seen(function, *args, mode="always"):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter(mode)
        filters = list(warnings.filters)
        try:
            result = bits(function(*args))
        except Exception as e:
            lines = [f.lineno for f in traceback.extract_tb(e.__traceback__) if f.name == "f"]
            result = type(e).__name__, str(e), lines
        assert list(warnings.filters) == filters
    return result, [(str(w.message), w.category.__name__, w.lineno) for w in told]


@pytest.mark.parametrize("first", range(0, 1600, 200))
def test_generated_reductions(first):
    loops = 0
    for seed in range(first, first + 200):
        p = Reduction(seed)
        function = loaded(p.text)
        jitted = ms.jit(function)
        wanted = seen(function, p.x, p.y, 3)
        for _ in range(2):
            assert seen(jitted, p.x, p.y, 3) == wanted, (seed, p.line, p.x.dtype, p.x.shape, p.x.strides)
        loops += any(not r["why"] for r in ms.explain(jitted).regions)
    # NumPy up to 2.2 sums by parts, which only it knows
    assert loops >= (180 if np.lib.NumpyVersion(np.__version__) >= "2.3.0" else 110)


def windows(x, w, out):
    k = w.shape[0]
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            part = x[:, i:i + k, j:j + k, :, np.newaxis] * w[np.newaxis, :, :, :]
            out[:, i, j, :] = np.sum(part, axis=(1, 2, 3))
    return out


@pytest.mark.parametrize("outputs", [1, 3, 8, 16, 33, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_of_windows(outputs, dtype):
    g = np.random.default_rng(outputs)
    x, w = g.random((2, 7, 8, 3)).astype(dtype), g.random((3, 3, 3, outputs)).astype(dtype)
    jitted = ms.jit(windows)
    wanted = windows(x, w, np.empty((2, 5, 6, outputs), dtype))
    for _ in range(3):
        np.testing.assert_array_equal(jitted(x, w, np.empty((2, 5, 6, outputs), dtype)), wanted)
    assert [r for r in ms.explain(jitted).regions if not r["why"]]


def test_functions_below_a_broken_one_have_machine_code():
    """Whose loops are over ndarrays, though nothing decorates them."""
    def network(x, w, bias, out):
        return np.maximum(windows(x, w, out) + bias, 0)
    g = np.random.default_rng(0)
    x, w, bias = g.random((2, 30, 30, 3)), g.random((5, 5, 3, 8)), g.random(8)
    jitted = ms.jit(network)
    wanted = network(x, w, bias, np.empty((2, 26, 26, 8)))
    for _ in range(6):
        np.testing.assert_array_equal(jitted(x, w, bias, np.empty((2, 26, 26, 8))), wanted)
    e = ms.explain(jitted)
    assert [c for c in e.callees if c["where"].startswith("windows at ")], str(e)


TELLING = ["np.mean(x[:0])", "np.var(x, ddof=9)", "np.std(x[:1], ddof=1)", "np.median(x[:0])",
           "np.cross(x[:2], x[1:3])", "x[:0].mean()", "x.var(ddof=9)", "np.mean(m[:, :0], axis=1)",
           "np.var(m, axis=0, ddof=5)", "np.std(m[:0], axis=0)", "x.astype(np.float32) * 3e38", "z.astype(float)",
           "np.sum(m * 1e308, axis=0)", "np.mean(m / 0, axis=1)", "np.max(m[:0], axis=0)"]


@pytest.mark.parametrize("call", TELLING)
@pytest.mark.parametrize("mode", ["always", "error", "ignore", "default"])
def test_what_functions_warn_of_is_told_once(call, mode):
    text = "\n".join(["def f(x, m, z, n):", "    out = None", "    for i in range(n):", f"        out = {call}",
                      "        out = out * 1", "    return out", ""])
    x, m = np.arange(1.0, 6), np.arange(12.0).reshape(4, 3)
    wanted = seen(loaded(text), x, m, x + 1j, 3, mode=mode)
    jitted = ms.jit(loaded(text))
    for _ in range(1 if mode == "default" else 3):
        assert seen(jitted, x, m, x + 1j, 3, mode=mode) == wanted
