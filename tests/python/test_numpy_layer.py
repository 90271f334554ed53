"""What is left to NumPy: its own Python code that capture cannot follow is one call of the program's."""

import subprocess
import sys

import numpy as np
import pytest

import pijit
from tests.python.differential import check

rng = np.random.default_rng(5)
S, V = rng.normal(size=(5, 5)), rng.normal(size=8)
I = rng.integers(-5, 9, size=8)

LEFT = {
    "numpy.convolve()": (lambda v: np.convolve(v * 2, v) + 1, V),
    "numpy.median()": (lambda v: (v - np.median(v)) * 2, V),
    "numpy.unique()": (lambda i: np.unique(i) * 2 + 1, I),
    "numpy.einsum()": (lambda s, v: np.einsum("ij,j->i", s, v[:5] * 2) + 1, S, V),
    "numpy.linalg.solve()": (lambda s, v: np.linalg.solve(s, v[:5] + 1) * 2, S, V),
    "numpy.fft.rfft()": (lambda v: np.fft.rfft(v * 2 + 1), V),
    "numpy.interp()": (lambda v: np.interp(v * 0.5, np.arange(8.0), v) * 2, V),
}


@pytest.mark.parametrize("name", sorted(LEFT))
def test_the_break_is_the_program_s_own_call(name):
    f, *args = LEFT[name]
    check(lambda: f, *args, calls=4)
    jitted = pijit.jit(f)
    for _ in range(3):
        jitted(*args)
    text = str(pijit.explain(jitted))
    assert f"({name})" in text
    assert "_impl.py" not in text and "_linalg.py" not in text and "numeric.py" not in text


def test_what_capture_found_out_in_numpy_s_code_is_not_asked_for():
    jitted = pijit.jit(lambda v: np.median(v) + v)
    jitted(V)
    first = str(pijit.explain(jitted)).split("  entry 0")[1].splitlines()[0]
    assert int(first.split(" guards")[0].rsplit(" ", 1)[1]) < 6


def test_calls_below_a_function_of_the_program():
    def helper(s, v):
        return np.linalg.inv(s) @ v

    def f(s, v):
        y = helper(s, v * 2)
        return y * 3 + v

    check(lambda: f, S, V[:5], calls=4)


def test_a_module_that_is_loaded_on_demand():
    code = """
import numpy as np, pijit, sys
assert "numpy.fft" not in sys.modules
@pijit.jit
def f(x):
    return np.fft.rfft(x * 2 + 1)
x = np.arange(8.0)
for _ in range(4):
    assert (f(x) == np.fft.rfft(x * 2 + 1)).all()
assert "'fft' not in vars(np)" in str(pijit.explain(f))
assert "np.fft is numpy.fft" in str(pijit.explain(f))
"""
    subprocess.run([sys.executable, "-c", code], check=True)


A, W = rng.normal(size=(6, 5)), rng.normal(size=8)


def stores_in_turned(a):
    b = a.T
    b[1:3, ::2] = 7
    b[0] += 1
    b[2, 1] = 5
    return a, b, b[1:4], b[..., 2], b[:, 1] * 2


def stores_in_reshaped(a):
    flat = a.reshape(-1)
    flat[3:7] = 0
    a[0, 0] = 9
    whole = flat[...]
    whole += 1
    return flat, a, whole, flat.reshape(2, 15)[1]


CAPTURED = {
    "subscripts of a transposed array": (
        lambda a: (a.T[1:] * 2, a.T[1, 2:], a.T[2, 3], a.T[..., 1:3], a.T[-1], a.T[:, ::-1] + 1, a.T.copy()),
        A,
    ),
    "three axes": (lambda a: (lambda b: (b.transpose(2, 0, 1)[1], b.swapaxes(1, 2)[0]))(a.reshape(2, 3, 5)), A),
    "[...]": (lambda a: (a[...] * 2, a[...], a.T[...]), A),
    "stores in a transposed array": (stores_in_turned, A),
    "stores in a reshaped array": (stores_in_reshaped, A),
    "outer": (lambda v, w: (np.add.outer(v, w), np.multiply.outer(v, w)), V, W),
    "products of lines": (lambda v, w: (np.vdot(v, w), np.inner(v, w)), V, W),
    "counts": (lambda v, i: (np.count_nonzero(v > 0), np.count_nonzero(i)), V, I),
    "float()": (lambda v: (float(v.sum()) * 2, v / float(v.max())), V),
    "array of an array": (lambda a: (np.array(a), np.array(a, copy=True) * 2, np.array(a, dtype=np.float32)), A),
    "norm": (lambda v, a: (v / np.linalg.norm(v), np.linalg.norm(a, axis=1), np.linalg.norm(a)), V, A),
    "split": (lambda v: np.split(v, 2) + np.array_split(v, 3), V),
    "round with out": (lambda v: np.round(v, 2, out=None), V),
}


@pytest.mark.parametrize("name", sorted(CAPTURED))
def test_what_is_captured(name):
    f, *args = CAPTURED[name]
    check(lambda: f, *args, calls=4, breaks=0)


REFUSED = {
    "ravel of another order": (lambda a: (a.ravel(order="F"), np.ravel(a, "K")), A),
    "rot90": (lambda a: np.rot90(a), A),
    "insert": (lambda v: np.insert(v, 1, 2.0) + 1, V),
    "flags": (lambda v: (str(v.flags), v.flags.owndata), V),
    "bad axis": (lambda a: np.flip(a, 2), A),
    "too many indices": (lambda a: a.T[1, 2, 3], A),
    "a new axis of a transposed array": (lambda a: a.T[None] * 2, A),
    "a copy that must not be": (lambda v: np.array(v[0], copy=False), V),
    "copyto": (lambda v: (lambda z: (np.copyto(z, 2.0), z, v + z))(np.zeros(8)), V),
    "gradient": (lambda v, a: (np.gradient(v), np.gradient(v, 0.5), *np.gradient(a)), V, A),
    "pads": (lambda a: (np.pad(a, 1), np.pad(a, 2, mode="edge"), np.pad(a, 1, mode="reflect")), A),
    "tile": (lambda v: (np.tile(v, 2), np.tile(v, (3, 1)), np.tile(np.arange(3), 2) * v[0]), V),
    "nan": (lambda v: (np.nan_to_num(v), np.nansum(v)), np.array([1.0, np.nan, 3.0, -np.inf])),
    "iterated number": (lambda v: tuple(v[0]) if v[0] < 100 else v, V),
    "a dtype is no class": (lambda v: issubclass(v.dtype, np.generic), V),
    "float of an array": (lambda v: (float(v[:1][0]), float(v)), V),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_numpy_does_or_refuses(name):
    f, *args = REFUSED[name]
    check(lambda: f, *args, calls=4)
