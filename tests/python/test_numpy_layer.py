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
