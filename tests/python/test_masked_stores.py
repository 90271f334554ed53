"""x[mask] = value where each place gets the same value: one selection, eagerly and captured; others are gathered."""

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, ops
from tests.python.differential import check

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def stored(x, mask, value):
    x = x * 1
    x[mask] = value
    return x


ONE_VALUE = {
    "number": (X > 5, -1.5), "int": (X > 5, 3), "bool": (X > 5, True), "inf": (X > 5, -np.inf),
    "0-d Tensor": (X > 5, Tensor(2.5)), "one element": (X > 5, Tensor([2.5])),
    "another dtype": (X > 5, Tensor([2], ms.int64)),
    "rows": (X[:, 0] > 2, -1.0), "a row for rows": (X[:, 0] > 2, Tensor(X[0] * 10)),
    "one row for rows": (X[:, 0] > 2, Tensor(X[:1] * 10)), "one for each row": (X[:, 0] > 2, Tensor([[7.0]])),
    "nothing": (X > 99, 1.0), "all": (X > -1, 1.0),
}


@pytest.mark.parametrize("name", ONE_VALUE)
def test_one_value_for_all_places(name):
    mask, value = ONE_VALUE[name]
    want = X.copy()
    want[mask] = value.asnumpy() if isinstance(value, Tensor) else value
    assert np.array_equal(stored(Tensor(X), Tensor(mask), value).asnumpy(), want)
    check(lambda: lambda x, m: stored(x, m, value), Tensor(X), Tensor(mask), graphs=1, breaks=0)


def test_ints_and_halves():
    for dtype in (np.int32, np.float16, np.bool_):
        x = Tensor(X.astype(dtype))
        want = X.astype(dtype)
        want[X > 5] = 1
        assert np.array_equal(stored(x, Tensor(X > 5), 1).asnumpy(), want)


def test_a_value_for_each_place():
    mask = X > 5
    for f in (stored, ms.jit(stored)):
        want = X.copy()
        want[mask] = np.arange(6)
        assert np.array_equal(f(Tensor(X), Tensor(mask), Tensor(np.arange(6, dtype=np.float32))).asnumpy(), want)
        want = X.copy()
        want[[True, False, True]] = X[:2] * 3
        assert np.array_equal(f(Tensor(X), Tensor([True, False, True]), Tensor(X[:2] * 3)).asnumpy(), want)


@pytest.mark.parametrize(("mask", "value"), [(np.ones((3, 4, 1), bool), 1.0), (X > 5, Tensor([1.0, 2.0]))],
                         ids=["rank", "count"])
def test_what_does_not_fit(mask, value):
    errors = []
    for f in (stored, ms.jit(stored)):
        with pytest.raises((ValueError, IndexError)) as e:
            f(Tensor(X), Tensor(mask), value)
        errors.append(e.type)
    assert errors[0] is errors[1]


def test_masks_of_the_stored_value():
    def f(x):
        y = x.float()
        y[y == 0] = -1e9
        y[ops.isinf(y)] = 0.0
        return y, x * 1
    check(lambda: f, Tensor(X), graphs=1, breaks=0)
    assert f(Tensor(X))[1].asnumpy()[0, 0] == 0

    def part(x):
        x = x * 1
        row = x[1]
        row[row > 5] = -1.0
        whole = x.reshape(-1)
        whole[whole > 8] = 0.0
        return x, row, whole
    check(lambda: part, Tensor(X), graphs=1, breaks=0)
    # a part reaches its whole, a reshaped one does not
    assert part(Tensor(X))[0].asnumpy()[1].tolist() == [4, 5, -1, -1]


def test_gradients():
    def loss(x, v):
        y = x * x
        y[x > 5] = v * 2
        return (y * y).sum()
    for of in (0, 1):
        check(lambda: lambda x, v: ms.grad(loss, of)(x, v), Tensor(X), Tensor(3.0), graphs=1, breaks=0)
    gradients = ms.grad(loss, (0, 1))(Tensor(X), Tensor(3.0))
    assert np.array_equal(gradients[0].asnumpy(), np.where(X > 5, 0, 4 * X**3))
    assert float(gradients[1]) == 6 * 2 * 6.0 * 2


def test_parameters():
    class Net(ms.nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(Tensor(X), name="w")

        def construct(self, limit):
            self.w[self.w > limit] = 0.0
            return self.w.sum()
    check(lambda: Net(), Tensor(5.0))
