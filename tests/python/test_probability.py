"""Distributions and bijectors: values, gradients and exceptions of MindSpore 2.7.1 (facts_probability.json), samples by
their moments, the same jitted."""

import json
import math
import pathlib

import numpy as np
import pytest

import pijit as ms
import pijit.nn.probability.bijector as msb
import pijit.nn.probability.distribution as msd
from tests.python import test_names
from tests.python.differential import check

FACTS = json.loads((pathlib.Path(__file__).parent / "facts_probability.json").read_text())
T = ms.Tensor


@pytest.mark.parametrize("expression", FACTS)
def test_fact(expression, monkeypatch):
    monkeypatch.setitem(test_names.FACTS, expression, FACTS[expression])
    test_names.test_fact(expression)


MADE = {"Normal": ((0.5, 2.0), 0.5, 2.0), "Uniform": ((0.5, 2.0), 1.25, math.sqrt(2.25 / 12)),
        "Exponential": ((0.5,), 2, 2), "Bernoulli": ((0.3,), 0.3, math.sqrt(0.21)),
        "Geometric": ((0.3,), 7 / 3, math.sqrt(0.7) / 0.3), "Categorical": (([0.2, 0.3, 0.5],), 1.3, math.sqrt(0.61)),
        "Logistic": ((0.5, 2.0), 0.5, 2 * math.pi / math.sqrt(3)),
        "Gamma": (([2.0], [3.0]), 2 / 3, math.sqrt(2) / 3), "Beta": (([2.0], [3.0]), 0.4, 0.2),
        "Poisson": (([1.5],), 1.5, math.sqrt(1.5)),
        "Gumbel": ((0.5, 2.0), 0.5 + 2 * 0.5772157, 2 * math.pi / math.sqrt(6)),
        "LogNormal": ((0.1, 0.4), math.exp(0.18), math.exp(0.18) * math.sqrt(math.exp(0.16) - 1))}


@pytest.mark.parametrize("name", MADE)
def test_samples(name):
    arguments, mean, std = MADE[name]
    ms.set_seed(3)
    d = getattr(msd, name)(*arguments)
    a = d.sample((20000,)).asnumpy().astype(np.float64).ravel()
    assert abs(a.mean() - mean) < 5 * std / math.sqrt(a.size) and abs(a.std() - std) < 0.06 * std
    np.testing.assert_allclose(np.ravel(d.mean().asnumpy())[0], mean, rtol=1e-4)
    np.testing.assert_allclose(np.ravel(d.sd().asnumpy())[0], std, rtol=1e-4)


def test_beta_by_its_distribution_function():
    d = msd.Beta([2.0], [3.0])
    x = np.linspace(0.05, 0.95, 7).astype(np.float32)
    want = 6 * x ** 2 - 8 * x ** 3 + 3 * x ** 4
    np.testing.assert_allclose(d.cdf(T(x)).asnumpy(), want, rtol=1e-5)
    np.testing.assert_allclose(d.survival_function(T(x)).asnumpy(), 1 - want, atol=1e-6)


def test_half_normal_has_no_density_below_its_mean():
    assert msd.HalfNormal(0.5, 2.0).prob(T([0.4])).item() == 0 and msd.HalfNormal(0.5, 2.0).prob(T([0.6])).item() > 0.39


@pytest.mark.parametrize("make",
                         [lambda: msd.Normal(0.0, 1.0), lambda: msd.Gamma([2.0], [3.0]),
                          lambda: msd.LogNormal(0.0, 1.0), lambda: msd.Gumbel(0.0, 2.0)])
def test_jitted(make):
    d = make()
    check(lambda: lambda x: (d.log_prob(x), d.cdf(x)), T([0.3, 1.2]), breaks=0)
    check(lambda: lambda x: ms.grad(lambda v: d.log_prob(v).sum())(x), T([0.3, 1.2]), breaks=0)


def test_a_network_learns_a_distribution():
    mean, sd = ms.Parameter(T(0.0), name="mean"), ms.Parameter(T(0.0), name="sd")
    x = T(np.random.RandomState(0).randn(200).astype(np.float32) * 0.5 + 2)
    d = msd.Normal()

    @ms.jit
    def step(x):
        loss, g = ms.value_and_grad(lambda: -d.log_prob(x, mean, ms.ops.exp(sd)).mean(), None, [mean, sd])()
        for p, v in zip((mean, sd), g):
            ms.ops.assign_sub(p, 0.1 * v)
        return loss
    for _ in range(200):
        step(x)
    assert abs(mean.item() - x.mean().item()) < 0.05 and abs(math.exp(sd.item()) - x.std().item()) < 0.05


def test_bijectors_invert():
    x = T([0.2, 0.7, 1.4])
    for b in (msb.Exp(), msb.PowerTransform(0.5), msb.ScalarAffine(2.0, 1.0), msb.Softplus(1.5),
              msb.GumbelCDF(0.5, 2.0)):
        np.testing.assert_allclose(b.inverse(b.forward(x)).asnumpy(), x.asnumpy(), rtol=1e-4)
        slope = ms.grad(lambda v, f=b: f.forward(v).sum())(x).asnumpy()
        np.testing.assert_allclose(np.broadcast_to(b.forward_log_jacobian(x).asnumpy(), 3), np.log(np.abs(slope)),
                                   rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(msb.Invert(b).forward(b.forward(x)).asnumpy(), x.asnumpy(), rtol=1e-4)
