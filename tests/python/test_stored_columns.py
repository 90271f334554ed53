"""Columns that are reduced and stored by one loop: threads divide the rows, then the columns. The bits are eager's."""

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, ops

KINDS = {
    "sum": lambda y: y.sum(0), "max": lambda y: ops.amax(y, 0), "min": lambda y: ops.amin(y, 0),
    "max with places": lambda y: y.max(0), "prod": lambda y: y.prod(0), "mean and sum": lambda y: (y.mean(0), y.sum(0)),
}


def bits(x):
    if isinstance(x, tuple):
        return [b for part in x for b in bits(part)]
    a = x.asnumpy()
    return [np.isnan(a), np.where(np.isnan(a), 0, a).view(f"u{a.itemsize}")]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(512, 512), (1500, 131), (2100, 200)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_stored_and_reduced(kind, shape, dtype):
    x = np.random.RandomState(0).uniform(-2, 2, shape).astype(dtype)
    x[3, :9], x[700 % shape[0], :5], x[5, 7] = 0.0, -0.0, np.nan
    x = Tensor(x)

    def f(x):
        y = ops.tanh(x) * x
        return y, KINDS[kind](y)

    jitted = ms.jit(f)
    for _ in range(3):
        for a, b in zip(bits(jitted(x)), bits(f(x))):
            np.testing.assert_array_equal(a, b)
    assert len(ms.explain(jitted).breaks) == 0


def test_in_place_of_an_input():
    """The rows are stored where a Parameter was read."""
    start = np.random.RandomState(1).randn(600, 300).astype(np.float32)

    def sums(jit):
        p = ms.Parameter(Tensor(start), name="p")

        def step():
            p.set_data(ops.sin(p) * 0.9)
            return p.sum(0)

        step = ms.jit(step) if jit else step
        return [step().asnumpy() for _ in range(4)] + [p.asnumpy()]

    for a, b in zip(sums(True), sums(False)):
        np.testing.assert_array_equal(a, b)
