"""15,000 calls of 1,274 functions and primitives of ops over dtypes, shapes and attributes, as MindSpore 2.7.1 answers
them on the CPU (facts_calls.json.gz, written by facts.py for the calls that tools/calls.py makes): values, dtypes,
shapes, and the types of exceptions. Where MindSpore raises because it has no kernel for a dtype, pijit may compute;
where it raises from within a kernel, or something leaks, the exception is of a type that says what is wrong. What else
differs stands in calls_that_differ.txt, with the reason."""

import collections
import pathlib
import re

import numpy as np
import pytest

import pijit as ms
from tests.python.differential import check
from tests.python.facts import flat, load, variables

HERE = pathlib.Path(__file__).parent
FACTS = load(HERE / "facts_calls.json.gz")
NO_KERNEL = ("TypeError", "RuntimeError", "AttributeError")

LEAKS = ("RuntimeError", "AttributeError", "NotImplementedError")
KNOWN = {line for line in (HERE / "calls_that_differ.txt").read_text().splitlines() if line and line[0] != "#"}

BY_OP = collections.defaultdict(list)
for _e in FACTS:
    BY_OP[re.match(r"(?:sh\()?ops\.(\w+)", _e)[1]].append(_e)


def differs(got, want):
    """Why a result isn't the fact, or None."""
    if "plain" in want:
        return None if repr(got) == want["plain"] else f"{got!r}, not {want['plain']}"
    if not isinstance(got, ms.Tensor):
        return f"{got!r}, not a Tensor"
    a = got.asnumpy()
    if (str(a.dtype), list(a.shape)) != (want["dtype"], want["shape"]):
        return f"{a.dtype}{list(a.shape)}, not {want['dtype']}{want['shape']}"
    rtol, atol = (2e-3, 1e-3) if a.dtype == np.float16 else (2e-4, 2e-5)
    values = [float(v) for v in want["values"]]
    first = a.ravel()[:len(values) // 2 if a.dtype.kind == "c" else len(values)]
    numbers = (np.concatenate([first.real, first.imag]) if a.dtype.kind == "c" else first).astype(np.float64)
    return None if np.allclose(numbers, values, rtol, atol, equal_nan=True) else f"{first[:8]}, not {values[:8]}"


def answer(expression):
    """Why the answer of a call isn't the fact, or None."""
    fact = FACTS[expression]
    try:
        got = flat(eval(expression, variables(ms)))
    except Exception as e:
        return (None if fact.get("raises") in (type(e).__name__, *LEAKS)
                else f"{type(e).__name__} ({e}), not {fact.get('raises', 'a result')}")
    if "raises" in fact:
        return None if fact["raises"] in NO_KERNEL else f"no {fact['raises']}"
    want = flat(fact["is"])
    if len(got) != len(want):
        return f"{len(got)} results, not {len(want)}"
    return next(filter(None, map(differs, got, want)), None)


@pytest.mark.parametrize("op", BY_OP)
def test_calls(op):
    wrong = {e: why for e in BY_OP[op] if (why := answer(e)) and e not in KNOWN}
    assert not wrong, "\n".join(f"{e}: {why}" for e, why in wrong.items())


def test_known_differences_are_some():
    assert set(FACTS) >= KNOWN and sum(answer(e) is not None for e in KNOWN) > len(KNOWN) * 0.98


@pytest.mark.parametrize("text", ["[1].index.__call__(2)", "[1].index.__call__(1)", "'ab'.index.__call__('c')",
                                  "{1: 2}.get.__call__(1)", "len.__call__([1])", "(1).__add__.__call__(2)",
                                  "(lambda x: x).__call__(3)", "[1].index.__call__.__call__(1)"])
def test_the_call_method_of_a_method(text):
    check(lambda: eval(f"lambda: {text}"))
