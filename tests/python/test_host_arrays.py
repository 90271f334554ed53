"""Tensor.asnumpy() inside: an ndarray that each run makes, without a break; what numpy computes of it is numpy's."""

import numpy as np
import pytest

import pijit as ms
from tests.python.differential import check, check_calls

X = ms.Tensor(np.linspace(0.5, 2, 6, dtype=np.float32).reshape(2, 3))


def made(f):
    return lambda: f


def as_number(x):
    loss = (x * x).mean()
    return float(loss.asnumpy()), loss.asnumpy().item(), x * float(loss.asnumpy()), int((x > 1).sum().asnumpy())


def handed_out(x):
    y = x * 2
    a = y.asnumpy()
    y = y + 1
    return a, y, {"a": [a, x.asnumpy()]}


def of_dtypes(x):
    sums = [x.astype(t).sum().asnumpy() for t in (ms.float16, ms.float64, ms.int32)]
    return sums, (x > 1).asnumpy(), (x > 1).any().asnumpy().item()


@pytest.mark.parametrize("f", [as_number, handed_out, of_dtypes], ids=lambda f: f.__name__)
def test_without_a_break(f):
    check_calls(made(f), [(X,), (X * 3,), (X,)], graphs=1, breaks=0, captures=1)


def test_logged():
    def make():
        losses = []

        def step(x):
            loss = (x * x).sum()
            losses.append(loss.asnumpy())
            print("loss", loss.asnumpy())
            return x - loss * 0.1

        return step, lambda: losses

    check_calls(make, [(X * k,) for k in range(6)], graphs=1, breaks=0, captures=1)


def test_a_copy_of_its_time():
    def make():
        p = ms.Parameter(ms.Tensor([1.0, 2.0]), name="p")

        def step(x):
            before = p.asnumpy()
            p.set_data(p + x)
            return before, p.asnumpy(), p + 0

        return step, lambda: p

    check(make, ms.Tensor([1.0, 1.0]), breaks=0, captures=1)


def test_what_numpy_computes():
    def f(x):
        a = (x + 1).asnumpy()
        y = x * float(a.mean())
        a[0] = 5
        return y, a.sum(), a, np.mean((x * 2).asnumpy()), x.asnumpy().shape

    check_calls(made(f), [(X * k,) for k in range(5)])


def number_of_numpy(x):
    y = (x + 1).asnumpy().mean()
    return x * float(y) + 1


def number_as_it_is(x):
    y = (x + 1).asnumpy().mean()
    z = x * y
    return z + 1, y, y > 2, y.item()


@pytest.mark.parametrize(("f", "most"), [(number_of_numpy, 4), (number_as_it_is, 40)], ids=["float", "as it is"])
def test_captures_are_bounded(f, most):
    e = check_calls(made(f), [(X * k,) for k in range(30)])
    assert e.compile_count <= most, e


def test_gradients():
    def loss(x):
        return (x * float((x * x).mean().asnumpy())).sum()

    check(lambda: lambda x: ms.value_and_grad(loss)(x), X)


def test_in_a_branch():
    def f(x):
        a = x.asnumpy()
        if x.sum() > 5:
            a = (x * 2).asnumpy()
        return a, x + 1

    check_calls(made(f), [(X,), (X * 0,), (X,)])
