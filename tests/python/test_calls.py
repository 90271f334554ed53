"""2,654 calls of operators over dtypes, shapes and attributes, as MindSpore 2.7.1 answers them on the CPU (facts_calls.json.gz, written by
facts.py from lines that begin with `?`): values, dtypes, shapes, and the types of exceptions. Where MindSpore raises because it has no kernel for a
dtype, pijit may compute."""

import collections
import pathlib

import numpy as np
import pytest

import pijit as ms
from tests.python.facts import flat, load, variables

FACTS = load(pathlib.Path(__file__).parent / "facts_calls.json.gz")
NO_KERNEL = ("TypeError", "RuntimeError", "AttributeError")

# Why an answer is another one, and the calls of which that is so.
DIFFERENT = {
    "MindSpore's answer is wrong": """
        ops.any(I) | ops.any(I,0) | ops.full((2,3),1.5) | ops.full((2,),True) | ops.sinc(K) | ops.xlogy(K,K) | ops.selu(I) | ops.leaky_relu(I) | ops.leaky_relu(L)
        ops.hardsigmoid(I) | ops.hardsigmoid(L)""",
    "the remainder or quotient of a division of ints by 0": """
        ops.floor_div(I,L) | ops.floor_div(U,I) | ops.fmod(U,I) | ops.remainder(I,L) | ops.remainder(U,I) | ops.floor_divide(I,L) | ops.floor_divide(U,I)""",
    "which of equal elements comes first": "ops.topk(I,1)",
    "NumPy has no bfloat16: arrays of it are float32": "ops.cast(D,ms.bfloat16)",
    "a number counts as int64 there, here as the tensor's dtype, or the other way round": "ops.lcm(I,2)",
    "sizes that disagree are ValueErrors, indices out of range IndexErrors, dtypes there are not TypeErrors": """
        ops.round(K) | ops.mod(K,K) | ops.mod(X3,V) | ops.gcd(X3,V) | ops.mean(K) | ops.mean(K,0) | ops.matmul(A,B) | ops.trace(V)
        ops.gather(A,T(np.array([5],np.int32)),0)
        ops.cross_entropy(A,T(np.array([1,0,9],np.int32))) | ops.conv2d(X4,T(np.ones((3,5,3,3),np.float32))) | ops.dropout(A,2.0)""",
    "not there": """
        ops.norm(X3,0) | ops.norm(S,0) | ops.norm(X3,1) | ops.norm(X3,-1) | ops.norm(X3,(0,2)) | ops.outer(A,V) | ops.pad(A,(-1,0))""",
    "taken here": """
        ops.digamma(T(np.zeros((0,3),np.float32))) | ops.std(S,0) | ops.var(S,0) | ops.dot(V,V) | ops.adaptive_avg_pool1d(X3,4) | ops.meshgrid(V,J) | ops.meshgrid(V,J,indexing="ij")""",
}
KNOWN = {e.strip() for text in DIFFERENT.values() for line in text.splitlines() for e in line.split(" | ") if e.strip()}

BY_OP = collections.defaultdict(list)
for _e in FACTS:
    BY_OP[_e[4:_e.index("(")]].append(_e)


def differs(got, want):
    """Why a result isn't the fact, or None."""
    if "plain" in want:
        return None if repr(got) == want["plain"] else f"{got!r}, not {want['plain']}"
    a = got.asnumpy()
    if (str(a.dtype), list(a.shape)) != (want["dtype"], want["shape"]):
        return f"{a.dtype}{list(a.shape)}, not {want['dtype']}{want['shape']}"
    rtol, atol = (2e-3, 1e-3) if a.dtype == np.float16 else (2e-4, 2e-5)
    values = [float(v) for v in want["values"]]
    if not np.allclose(a.astype(np.float64).ravel()[:24], values, rtol, atol, equal_nan=True):
        return f"{a.ravel()[:8]}, not {values[:8]}"
    return None


def answer(expression):
    """Why the answer of a call isn't the fact, or None."""
    fact = FACTS[expression]
    try:
        got = flat(eval(expression, variables(ms)))
    except Exception as e:
        return None if fact.get("raises") == type(e).__name__ else f"{type(e).__name__} ({e}), not {fact.get('raises', 'a result')}"
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
    assert set(FACTS) >= KNOWN and sum(answer(e) is not None for e in KNOWN) > len(KNOWN) * 0.8
