"""Functions that gain nothing from capture go back to CPython, and are captured again when that changes."""

import gc
import os

import numpy as np
import pytest

import pijit as ms
from pijit import _C, ops

X = ms.Tensor(np.arange(3, dtype=np.float32))
STOP = gc.is_tracked  # nothing that capture knows


def test_a_function_without_tensors():
    f = ms.jit(lambda n: n * 2 + 1)
    assert [f(k) for k in range(300)] == [2 * k + 1 for k in range(300)]
    assert "no graph ran" in str(ms.explain(f))
    assert f(X).asnumpy().tolist() == [1.0, 3.0, 5.0]
    assert not ms.explain(f).given_back and len(ms.explain(f).graphs) == 1


def test_a_function_that_raises():
    calls = []

    @ms.jit
    def f(x, n):
        calls.append(n)
        if n >= 0:
            raise ValueError(n)
        return x * 2

    for k in range(100):
        with pytest.raises(ValueError, match=f"^{k}$"):
            f(X, k)
    assert calls == list(range(100))
    assert ms.explain(f).given_back
    for _ in range(5000):
        f(X, -1)
    assert not ms.explain(f).given_back and ms.explain(f).graphs
    assert f(X, -1).asnumpy().tolist() == [0.0, 2.0, 4.0]


def test_a_function_below_which_graphs_run_is_kept():
    inner = ms.jit(lambda x: ops.relu(x) * 2 + 1)

    @ms.jit
    def outer(x, log):
        log.append(len(log))
        return inner(x)

    log = []
    for _ in range(100):
        outer(X, log)
    assert log == list(range(100)) and not ms.explain(outer).given_back


def test_the_code_of_a_function_that_was_given_back_changes():
    def f(n):
        return n + 1

    def g(n):
        return n - 1

    j = ms.jit(f)
    assert {j(1) for _ in range(100)} == {2}
    f.__code__ = g.__code__
    assert {j(1) for _ in range(100)} == {0}


@pytest.mark.parametrize("measure", [True, False])
def test_a_function_that_is_slower_captured(measure):
    if measure and "ASAN_OPTIONS" in os.environ:
        pytest.skip("calls take too long to be measured")
    before = _C.get_option("measure")
    _C.set_option("measure", str(measure).lower())
    try:
        @ms.jit
        def f(x, stop):
            for _ in range(10):  # ten pieces without any op
                stop(None)
            return x + 1
        for _ in range(400):
            assert f(X, STOP).asnumpy().tolist() == [1.0, 2.0, 3.0]
        assert ms.explain(f).breaks and ms.explain(f).graphs
        assert bool(ms.explain(f).given_back) == measure and ("one call took" in str(ms.explain(f))) == measure
    finally:
        _C.set_option("measure", before)
