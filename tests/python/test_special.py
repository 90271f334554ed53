"""Special functions with a kernel: identities, gradients against finite differences, the ends of their domains."""

import numpy as np
import pytest
import scipy.special

import pijit as ms
from pijit import Tensor, ops
from tests.python.differential import check
from tests.python.test_ops import numeric_gradient

def test_scaled_error_function():
    f, ends = scipy.special.erfcx, [0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -30.0]
    for dtype, rtol, x in ((np.float64, 4e-16, (-1.5, -0.7, -0.64, 0.3, 0.66, 5.0, 27.9, 28.1, 1e4)),
                           (np.float32, 3e-7, (-3.0, -0.5, 0.2, 7.0, 10.1, 10.3, 300.0))):
        x = np.array([*x, *ends], dtype)
        got = ops.erfcx(Tensor(x)).asnumpy()
        assert got.dtype == dtype
        np.testing.assert_allclose(got, f(x.astype(np.float64)), rtol=rtol)
    x = np.array([-26.0, -9.0])  # of 200 bits
    got = ops.erfcx(Tensor(x)).asnumpy()
    np.testing.assert_allclose(got, [7.657724931490568e+293, 3.0121946291700612e+35], rtol=4e-16)
    np.testing.assert_allclose(ms.grad(lambda v: ops.erfcx(v).sum())(Tensor(x[1:] / 9)).asnumpy(),
                               numeric_gradient(lambda v: ops.erfcx(Tensor(v)).sum().item(), x[1:] / 9), rtol=1e-6)
    check(lambda: lambda v: ops.erfcx(v * 2.0) + v, Tensor(np.linspace(-3, 12, 40).astype(np.float32)))


BESSEL = "i0 i0e i1 i1e j0 j1 k0 k0e k1 k1e y0 y1".split()
POSITIVE = np.array([0.3, 0.7, 1.5, 2.5, 6.0, 11.0])


@pytest.mark.parametrize("name", BESSEL)
def test_bessel(name):
    f = getattr(ops, "bessel_" + name)
    x = POSITIVE if name[0] in "ky" else np.concatenate([-POSITIVE, [0.0], POSITIVE])
    g = ms.grad(lambda v: f(v).sum())
    np.testing.assert_allclose(g(Tensor(x)).asnumpy(), numeric_gradient(lambda v: f(Tensor(v)).sum().item(), x),
                               rtol=1e-5, atol=1e-8)
    second = ms.grad(lambda v: g(v).sum())(Tensor(POSITIVE)).asnumpy()
    np.testing.assert_allclose(second, numeric_gradient(lambda v: g(Tensor(v)).sum().item(), POSITIVE), rtol=1e-5,
                               atol=1e-8)
    assert np.isnan(f(Tensor([np.nan])).asnumpy()).all() and f(Tensor(np.zeros((0, 3), np.float32))).shape == (0, 3)
    np.testing.assert_allclose(f(Tensor(x.astype(np.float32))).asnumpy(), f(Tensor(x)).asnumpy(), rtol=2e-5, atol=1e-6)
    check(lambda: lambda v: f(v * 2) + 1, Tensor(x.astype(np.float32)))
    np.testing.assert_array_equal(ms.vmap(f)(Tensor(x)).asnumpy(), f(Tensor(x)).asnumpy())


def test_wronskians():
    x = Tensor(POSITIVE)
    b = {n: getattr(ops, "bessel_" + n)(x).asnumpy() for n in BESSEL}
    np.testing.assert_allclose(b["j1"] * b["y0"] - b["j0"] * b["y1"], 2 / (np.pi * POSITIVE), rtol=1e-10)
    np.testing.assert_allclose(b["i0"] * b["k1"] + b["i1"] * b["k0"], 1 / POSITIVE, rtol=1e-10)
    for n in "01":
        np.testing.assert_allclose(b["i" + n + "e"], b["i" + n] * np.exp(-POSITIVE), rtol=1e-10)
        np.testing.assert_allclose(b["k" + n + "e"], b["k" + n] * np.exp(POSITIVE), rtol=1e-10)


def test_incomplete_gamma():
    a, x = np.array([0.4, 1.0, 2.0, 5.0]), np.array([0.6, 2.0, 0.1, 7.0])
    p, q = ops.igamma(Tensor(a), Tensor(x)).asnumpy(), ops.igammac(Tensor(a), Tensor(x)).asnumpy()
    np.testing.assert_allclose(p + q, 1, rtol=1e-12)
    np.testing.assert_allclose(p[1:3], [1 - np.exp(-2.0), 1 - np.exp(-0.1) * 1.1], rtol=1e-9)
    for f in (ops.igamma, ops.igammac):
        got = ms.grad(lambda u, v: f(u, v).sum(), (0, 1))(Tensor(a), Tensor(x))
        np.testing.assert_allclose(got[0].asnumpy(),
                                   numeric_gradient(lambda v: f(Tensor(v), Tensor(x)).sum().item(), a), rtol=1e-5)
        np.testing.assert_allclose(got[1].asnumpy(),
                                   numeric_gradient(lambda v: f(Tensor(a), Tensor(v)).sum().item(), x), rtol=1e-5)
    at0 = ms.grad(lambda v: ops.igamma(Tensor([0.5, 1.0, 2.0]), v).sum())(Tensor([0.0, 0.0, 0.0])).asnumpy()
    np.testing.assert_array_equal(at0, [np.inf, 1, 0])


def test_zeta_and_polygamma():
    np.testing.assert_allclose(ops.zeta(Tensor([2.0, 4.0], ms.float64), Tensor(1.0, ms.float64)).asnumpy(),
                               [np.pi ** 2 / 6, np.pi ** 4 / 90], rtol=1e-12)
    x = Tensor(POSITIVE)
    np.testing.assert_allclose(ops.polygamma(Tensor(0), x).asnumpy(), ops.digamma(x).asnumpy(), rtol=1e-9)
    for f in (lambda v: ops.polygamma(Tensor(2), v), lambda v: ops.zeta(3.0, v)):
        np.testing.assert_allclose(ms.grad(lambda v: f(v).sum())(x).asnumpy(),
                                   numeric_gradient(lambda v: f(Tensor(v)).sum().item(), POSITIVE), rtol=1e-5)
    with pytest.raises(RuntimeError):
        ms.grad(lambda v: ops.zeta(v, x).sum())(x)
