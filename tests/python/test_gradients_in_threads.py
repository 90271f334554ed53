"""A gradient is the same whatever gradients other threads take by the same parameters meanwhile.

In each case another thread takes a whole gradient while the function that is differentiated runs."""

import threading

import numpy as np
import pytest

import pijit as ms
from pijit import Parameter, Tensor, nn, ops

R = np.random.default_rng(0)


def tensor(*shape):
    return Tensor(R.standard_normal(shape).astype(np.float32))


dense, X = nn.Dense(5, 4), tensor(3, 5)
WEIGHTS = dense.trainable_params()


def loss(x):
    return dense(x).square().sum()


def cubes(x):
    return (dense(x)**3).sum()


class OwnGradient(nn.Cell):
    """Another of its input, and none of its weight."""

    def __init__(self):
        super().__init__()
        self.weight = dense.weight

    def construct(self, x):
        return (x @ self.weight.T).sum()

    def bprop(self, x, out, dout):  # noqa: ARG002
        return (x * 7,)


own, jitted_loss = OwnGradient(), ms.jit(loss)
gradient = ms.value_and_grad(loss, 0, WEIGHTS)
jitted_gradient = ms.jit(lambda x: gradient(x))


def values(v):
    return [v.asnumpy().tolist()] if isinstance(v, Tensor) else [a for q in v for a in values(q)]


def in_another_thread(take):
    got = []
    thread = threading.Thread(target=lambda: got.append(values(take())))
    thread.start()
    thread.join()
    return got[0]


def then(function):
    """The function, before which another thread takes a gradient."""
    def run(x):
        want = values(gradient(X))
        assert in_another_thread(lambda: gradient(X)) == want
        assert in_another_thread(lambda: jitted_gradient(X)) == want
        return function(x)
    return run


def between(x):
    first = dense(x).sum()
    in_another_thread(lambda: gradient(X))
    return first * loss(x)


def nested(inner):
    def run(x):
        by_weight, by_bias = ms.grad(inner, None, WEIGHTS)(x)
        return by_weight.square().sum() + by_bias.sum() + loss(x)
    return run


CASES = {"eager": (then(loss), loss), "jitted within": (then(jitted_loss), loss),
         "between": (between, lambda x: dense(x).sum() * loss(x)),
         "after a nested one": (nested(cubes), then(nested(cubes))),
         "in a nested one": (nested(cubes), nested(then(cubes))),
         "of the user's own": (then(lambda x: own(x) + loss(x)), lambda x: own(x) + loss(x))}


@pytest.mark.parametrize("name", sorted(CASES))
@pytest.mark.parametrize("way", ["plain", "jitted"])
def test_gradients(name, way):
    got, want = [ms.value_and_grad(f, 0, WEIGHTS) for f in CASES[name]]
    expected = values(want(X))
    if way == "jitted":
        got = ms.jit(lambda x, f=got: f(x))
    for _ in range(3):
        assert values(got(X)) == expected


def test_other_transforms():
    assert values(ops.jvp(then(loss), X, X)) == values(ops.jvp(loss, X, X))
    both = [ops.vjp(f, X, weights=WEIGHTS)[1](Tensor(1.0)) for f in (then(loss), loss)]
    assert values(both[0]) == values(both[1])


def test_a_value_that_several_have():
    p, q = Parameter(tensor(4), name="p"), Parameter(tensor(4), name="q")
    q.set_data(p)
    value = p.value()

    def apart(x):
        return (p * p * x).sum() + (q * 3).sum() + (value * 5).sum()

    take, x = ms.grad(apart, None, [p, q]), tensor(4)

    def beside(x):
        assert in_another_thread(lambda: take(x)) == values(take(x))
        return apart(x)

    want = [(2 * p * x).asnumpy().tolist(), [3.0] * 4]
    assert values(take(x)) == want
    assert values(ms.grad(beside, None, [p, q])(x)) == want


def test_hooks():
    handle = dense.weight.register_hook(lambda ct: ct * 2)
    try:
        want = values(gradient(X))
        assert values(ms.value_and_grad(then(loss), 0, WEIGHTS)(X)) == want
    finally:
        handle.remove()


def test_many_at_once():
    want, wrong = values(gradient(X)), []

    def work():
        for k in range(100):
            if values((gradient, jitted_gradient)[k % 2](X)) != want:
                wrong.append(k)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
