"""Broadcasts along a short last axis: computed component by component, with the bits of eager mode."""

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, ops
from tests.python.differential import check


def points(n, k, dtype, seed=0):
    """Coordinates, among them zeros of both signs, equal points and values that are not finite."""
    x = np.random.RandomState(seed).randn(n, k).astype(dtype)
    if np.dtype(dtype).kind == "i":
        return Tensor((x * 10).astype(dtype))
    x[0], x[1], x[2], x[3] = -0.0, 0.0, x[4], np.inf
    x[5, 0], x[6, -1] = np.nan, -0.0
    return Tensor(x)


def pairs(p, q):
    return p[None, :, :] - q[:, None, :]


def forces(p, q):
    d = pairs(p, q)
    r2 = (d * d).sum(2) + 1e-3
    return (d * (1.0 / (r2 * ops.sqrt(r2)))[:, :, None]).sum(1)


def forces_and_distances(p, q):
    d = pairs(p, q)
    r2 = (d * d).sum(2, keepdims=True)
    w = 1.0 / (ops.exp(r2) + 1.0)
    return (d * w).sum(1), (d * d * w).sum(1), r2


def distances(p, q):
    d = pairs(p, q)
    return ops.sqrt((d * d).sum(-1)), ops.abs(d).max(-1), ops.abs(d).min(-1), ops.abs(d).sum(2).sum(0)


def products(p, q):
    d = pairs(p, q)
    return ops.prod(d, -1), ops.prod(d * 0.01, 1), d.max(1)


def batched(p, q):
    d = (p * ops.ones((3, 1, 1), p.dtype))[:, None, :, :] - q[None, :, None, :]
    return (d * d).sum(3), (d * (d * d).sum(3)[..., None]).sum(2)


def constant(p, q):  # a sum that is -0 in each term
    d = pairs(p, q) * 0.0
    return (-ops.abs(d)).sum(2), (-ops.abs(d)).sum(1)


def weighted(p, q):  # the weights are read as they lie in memory, the points are not
    w = 1.0 / (ops.exp(ops.abs(pairs(p, q)[:, :, 0])) + 1.0)
    d = pairs(p, q) * w[:, :, None]
    return d.sum(1), d.sum(2), w


def stored(p, q):  # what is returned is stored once, and not computed from its parts again
    d = ops.exp(pairs(p, q))
    return d, (d * d).sum(2), d.sum(1)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16"])
@pytest.mark.parametrize("k", [2, 3, 4, 5, 8])
@pytest.mark.parametrize(
    "f", [forces, forces_and_distances, distances, products, batched, constant, weighted, stored],
    ids=lambda f: f.__name__
)
def test_components_have_the_bits_of_eager_mode(f, k, dtype):
    if dtype == "int32" and f in (forces, forces_and_distances, weighted, stored):
        pytest.skip("of floating values")
    check(lambda: f, points(97, k, dtype), points(70, k, dtype, 1), graphs=1, breaks=0)


@pytest.mark.parametrize("n", [17, 1030])
def test_sums_of_many_rows_take_chunks_in_order(n):
    check(lambda: forces, points(2100, 3, "float32"), points(n, 3, "float32", 1), graphs=1, breaks=0)


def test_gradients_of_distances():
    def f(p, q):
        d = pairs(p, q)
        return ops.sqrt((d * d).sum(2) + 1.0).sum()

    p, q = (Tensor(np.random.RandomState(s).randn(90, 3)) for s in (0, 1))
    check(lambda: ms.value_and_grad(f, (0, 1)), p, q, graphs=1, breaks=0)


def test_forces_store_no_broadcast_array():
    p = points(1024, 3, "float64")
    f = ms.jit(forces)
    f(p, p)
    text = ms.explain(f).entries[0]["program"]
    assert "[1024,1024,3]" not in text and "loop.col[1024,1024] 6 in 3 out" in text
