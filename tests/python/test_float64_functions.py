"""float64 functions: within 2 ULP of MPFR over their whole range, and the same bits in every kind of kernel."""

import numpy as np
import pytest

import pijit as ms
from tests.python import ulp64


@pytest.mark.parametrize("name", [*ulp64.ONE, *ulp64.TWO])
def test_within_two_units(name):
    error, where, _ = ulp64.worst(name, 300)
    assert error <= 2, (name, where)


def test_sigmoid_where_its_sum_rounds_most():
    x = -5.542697287734541
    with ulp64.gmpy2.context(precision=ulp64.BITS):
        assert (ulp64.error(float(ms.ops.sigmoid(ms.Tensor(x, ms.float64))),
                            ulp64.ONE["sigmoid"](ulp64.gmpy2.mpfr(x))) < 2)


@pytest.fixture(scope="module")
def screen():
    return ulp64.screens() or pytest.skip("there is no C compiler")


@pytest.mark.parametrize("name", [*ulp64.ONE, *ulp64.TWO])
def test_long_double_finds_the_worst(name, screen):
    """With it in between, MPFR sees few arguments, and the worst of them."""
    assert ulp64.worst(name, 300, 1, screen) == ulp64.worst(name, 300, 1)


@pytest.mark.parametrize("name", [*ulp64.ONE, *ulp64.TWO])
def test_generated_code_gives_the_same_bits(name):
    """Beside other ops, in vectors, with a rest that fills none, and as a 0-d Tensor."""
    rng = np.random.default_rng(7)
    columns = [ulp64.arguments(name, 40, rng) for _ in range(2 if name in ulp64.TWO else 1)]
    function = getattr(ms.ops, name)

    def f(*x):
        return function(*x), function(*[v * 2 for v in x]) + x[0]

    x = [ms.Tensor(c) for c in columns]
    one, fused = ms.jit(f)(*x)
    for i in range(0, len(columns[0]), 5):
        alone = function(*[ms.Tensor(c[i]) for c in columns]).asnumpy()
        np.testing.assert_array_equal(alone.view(np.int64), one.asnumpy()[i].view(np.int64))
    np.testing.assert_array_equal(fused.asnumpy(), f(*x)[1].asnumpy())
