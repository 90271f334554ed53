"""TruncatedNormal: samples within the bounds, of the right distribution, wherever the bounds lie."""

import math
import time

import numpy as np
import pytest

import pijit as ms
from pijit import ops
from pijit.initializer import TruncatedNormal, initializer

INF = math.inf


def draw(*args, n=4000):
    ms.set_seed(7)
    start = time.perf_counter()
    x = initializer(TruncatedNormal(*args), [n // 100, 100], ms.float64).asnumpy()
    assert time.perf_counter() - start < 1
    return x.ravel()


BOUNDS = [(-2, 2), (5, 4), (2, -2), (4, 5), (8, 9), (9, 8), (20, 21), (-40, -39), (-21, -20), (38, 39), (100, 101),
          (1e6, 1e6 + 1e-7), (0.4, 0.6), (0.49, 3), (0.51, 3),
          (-0.1, 1.8), (-0.1, 5), (-5, 0.1), (-1e-3, 1e-3), (0, 1e-3), (7, INF), (-INF, -7), (30, INF), (-INF, INF),
          (-INF, 1), (3, 3.0001), (12, 12.0001), (0.5, 0.5 + 1e-9)]


def tail(x):
    """P(X > x) e^(x²/2), for x >= 0, which neither underflows nor cancels."""
    if x == INF:
        return 0.0
    if x < 5:
        return 0.5 * math.erfc(x / math.sqrt(2)) * math.exp(x * x / 2)
    fraction = 0.0
    for k in range(80, 0, -1):
        fraction = k / (x + fraction)
    return 1 / (math.sqrt(2 * math.pi) * (x + fraction))


def share(a, x, b):
    """P(X <= x | a <= X <= b)."""
    if a < 0 < b:
        def below(v):
            return 0.5 * math.erfc(-v / math.sqrt(2))
        return (below(x) - below(a)) / (below(b) - below(a))
    if b <= 0:
        return 1 - share(-b, -x, -a)

    def mass(v):  # between a and v, over the density at a
        weight = math.exp(-(v - a) * (v + a) / 2) if v < INF else 0.0
        return tail(a) - tail(v) * weight
    if a > 1e5 or b - a < 1e-5:  # an exponential, or nearly even
        rate = max(a, 1e-9)
        return math.expm1(-rate * (x - a)) / math.expm1(-rate * (b - a))
    return mass(x) / mass(b)


@pytest.mark.parametrize("bounds", BOUNDS)
def test_samples_and_their_distribution(bounds):
    a, b = sorted(bounds)
    x = draw(1.0, 0.0, *bounds)
    assert np.all((x >= a) & (x <= b))
    # Kolmogorov and Smirnov: 1.95 / sqrt(n) is exceeded once in a thousand draws
    n = len(x)
    p = np.array([share(a, v, b) for v in np.sort(x)])
    gap = max(np.max(np.arange(1, n + 1) / n - p), np.max(p - np.arange(n) / n))
    assert gap < 1.95 / math.sqrt(n)


def test_sigma_and_mean():
    x = draw(2.0, 10.0, 7, 8)
    assert np.all((x >= 24) & (x <= 26))
    y = initializer(TruncatedNormal(1.0, 0.0, 9, 8), [1000], ms.float32).asnumpy()
    assert y.dtype == np.float32 and np.all((y >= 8) & (y <= 9))


def test_bounds_that_are_one_or_none():
    assert np.all(draw(1.0, 0.0, 3, 3) == 3)
    assert np.all(draw(1.0, 0.0, -3, -3) == -3)
    assert np.all(np.isnan(draw(1.0, 0.0, math.nan, 1)))
    assert np.all(np.isnan(draw(1.0, 0.0, 1, math.nan)))
    assert initializer(TruncatedNormal(1.0, 0.0, 5, 4), []).shape == ()
    assert TruncatedNormal(1.0, 0.0, 5, 4)._values((0, 3)).shape == (0, 3)


def test_sigma_must_be_positive():
    with pytest.raises(ValueError, match="'sigma'"):
        draw(-1.0)
    with pytest.raises(RuntimeError, match="'sigma'"):
        draw(0.0)


@pytest.mark.parametrize("low, high",
                         [(-2, 2), (5, 4), (-4, -5), (0, 100), (5.5, 7), (6.5, 6.6), (8, 9), (-30, -20), (3, INF),
                          (-INF, -9)])
@pytest.mark.parametrize("way", [lambda f: f, ms.jit], ids=["eager", "jitted"])
def test_the_primitive_with_bounds_anywhere(low, high, way):
    ms.set_seed(3)
    draw, n = ops.ParameterizedTruncatedNormal(), 2000
    args = [ms.Tensor((n,), ms.int32), *(ms.Tensor(float(v), ms.float32) for v in (0, 1, low, high))]
    x = way(lambda *a: draw(*a))(*args).asnumpy().astype(np.float64)
    a, b = min(low, high), max(low, high)
    assert x.min() >= np.float32(a) and x.max() <= np.float32(b)
    # Kolmogorov-Smirnov, at 1 in 10^4
    shares = np.sort([share(a, min(max(v, a), b), b) for v in x])
    assert abs(shares - (np.arange(n) + 0.5) / n).max() < 2.23 / np.sqrt(n)
