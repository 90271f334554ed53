"""Sums in loops that look at nothing for some turns: what is infinite or no number is told of at its turn."""

import math

import numpy as np
import pytest

import pijit as ms
from tests.python.test_vector_loops import loaded, seen

LENGTHS = (0, 1, 5, 6, 7, 100, 4095, 4096, 4097, 4103, 9000)

BODIES = {
    "sum": "s += x[i]",
    "dot": "s += x[i] * y[i]",
    "less": "s = 1.0 - s - x[i]",
    "two": "s += x[i] * y[i]\n        t -= y[i] * y[i]",
    "product": "s = s * x[i]",
    "distance": "d = x[i] - y[i]\n        s += d * d",
    "horner": "s = s * 0.5 + x[i]",
    "last": "k = i\n        s += x[i]\n        t = y[i] * 2.0",
    "absolute": "s = abs(s + x[i])",
    "rounded": "s += np.float32(x[i]) * 2",
    "behind": "s += x[i] * y[i + 1]",
    "before": "s += x[i] * y[-i - 1]",
    "selected": "s += x[i] if x[i] > 0 else y[i]",
    "counted": "u += 1\n        s += x[i]",
    "of integers": "s += x[i] * u\n        u += p[i]",
    "halved": "s += x[i] / 2\n        t += s",
    "divided": "s += x[i] / y[i]",
    "hidden": "s += 0.0 * x[i] * y[i]",
    "lost": "d = x[i] * y[i]\n        s += x[i]",
    "root": "s += math.sqrt(y[i] * y[i])",
    "while": "s += x[i]\n        while u < i % 3:\n            u += 1",
}


def program(body):
    return loaded(f"""def f(x, y, p):
    s, t, u, k, d = 0.5, 0.0, 0, -1, 0.0
    for i in range(len(x)):
        {body}
    return s, t, u, k, d
""")


def data(n, kind, dtype):
    g = np.random.default_rng(n)
    x, y = (g.random(n) * 2 - 1).astype(dtype), (g.random(n + 3) * 2 + 1).astype(dtype)
    p = g.integers(0, 9, n)
    large = 1e308 if dtype is np.float64 else 3e38
    place = {"first": 0, "last": n - 1, "middle": n // 2}.get(kind.split()[-1])
    if n and kind.startswith("nan"):
        x[place] = np.nan
    elif n and kind.startswith("inf"):
        x[place] = -np.inf
    elif n and kind.startswith("large"):
        x[place], y[place] = large, large
    elif kind == "infinities" and n > 2:
        x[1], x[-1] = np.inf, -np.inf
    elif kind == "short":
        y = y[:n // 2]
    elif kind == "strided":
        x, y = np.repeat(x, 2)[::2], y[::-1]
    return x, y, p


KINDS = ("plain", "nan first", "nan last", "nan middle", "inf middle", "large first", "large last", "large middle",
         "infinities", "short", "strided")


@pytest.mark.parametrize("name", BODIES)
def test_sums(name):
    function = program(BODIES[name])
    for dtype in (np.float64, np.float32):
        jitted = ms.jit(function)
        for n in LENGTHS:
            for kind in KINDS:
                args = data(n, kind, dtype)
                wanted = seen(function, (args, np.zeros(0)))
                assert seen(jitted, (args, np.zeros(0))) == wanted, (n, kind, dtype)
    assert math.isfinite(jitted(*data(50, "plain", dtype))[0])


def test_rows():
    """Each row begins anew."""

    def f(m, w, out):
        for i in range(m.shape[0]):
            s = 0.0
            for j in range(m.shape[1]):
                s += m[i, j] * w[j]
            out[i] = s
        return s

    jitted, g = ms.jit(f), np.random.default_rng(3)
    for width in (1, 5, 6, 9, 40):
        m, w = g.random((30, width)), g.random(width)
        m[7, width // 2], m[9, 0], m[11, -1] = np.inf, np.nan, 1e308
        w[width // 2] = 1e10
        for function in (f, jitted, jitted):
            with np.errstate(all="ignore"):
                out = np.zeros(30)
                last = function(m, w, out)
            if function is f:
                wanted = out.tobytes(), last
            else:
                assert (out.tobytes(), last) == wanted
    assert not [r["why"] for r in ms.explain(jitted).regions if r["why"]]
