"""Loops over elements that begin with vectors: results, memory, exceptions and warnings are those of their turns."""

import math
import traceback
import warnings

import numpy as np
import pytest

import pijit as ms
from tests.python.vector_loops import VectorLoop


def loaded(text):
    scope = {"np": np, "math": math}
    exec(compile(text, "<loop>", "exec"), scope)
    return scope["f"]


def bits(x):
    """Of what is no number any: signs of NaNs depend on the order of operands."""
    if isinstance(x, (np.ndarray, float)):
        a = np.asarray(x)
        a = np.where(a != a, np.nan, a).astype(a.dtype)
        return type(x).__name__, a.dtype.str, a.shape, a.tobytes()
    if isinstance(x, (tuple, list)):
        return [bits(v) for v in x]
    return type(x).__name__, x if isinstance(x, int) else np.asarray(x).tobytes()


def seen(function, made):
    args, room = made
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            result = bits(function(*args))
        except Exception as e:
            lines = [f.lineno for f in traceback.extract_tb(e.__traceback__) if f.name == "f"]
            result = type(e).__name__, str(e), lines
    return result, bits(args), bits(room), [(str(w.message), w.lineno) for w in told]


def compare(program, seeds):
    function = loaded(program.text)
    jitted = ms.jit(function)
    for k in seeds:
        wanted = seen(function, program.arguments(k))
        for _ in range(2):
            assert seen(jitted, program.arguments(k)) == wanted, (k, program.text)
    return jitted


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_generated_loops(first):
    loops = 0
    for seed in range(first, first + 50):
        jitted = compare(VectorLoop(seed), range(12 * seed, 12 * seed + 12))
        loops += any(not r["why"] for r in ms.explain(jitted).regions)
    assert loops >= 35
