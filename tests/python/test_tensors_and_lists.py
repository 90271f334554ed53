"""Operators between Tensors and lists or tuples of numbers, nested ones too, on either side: in one graph, with the
results and the errors of eager mode."""

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, nn, ops

X, V, I = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1.0, 2.0]), Tensor([1, 2])
OUTSIDE = [1.0, 2.0]


@pytest.mark.parametrize("text", [
    "x + [1.0, 2.0]", "[1.0, 2.0] + x", "(1, 2) * v", "v * (1, 2)", "v - [1, 2]", "[1, 2] - v", "v / [1, 2]",
    "x + [[1, 2], [3, 4]]", "([1, 2], (3, 4)) * x", "v ** [1, 2]", "[1, 2] ** v", "v // [1, 2]", "v % [1, 2]",
    "v > [1, 0]", "v == [1, 0]", "v != (1, 0)", "[1, 0] < v", "[1, 2] >= v", "i + [1, 2]", "i + [1.5, 2]", "i & [1, 2]",
    "v * [1, True]", "v + [1.0 * 2, len([1])]", "v + (1.0,)", "[1.0] * v", "v + [*range(2)]",
    "v + OUTSIDE", "OUTSIDE * v", "v + [k for k in (1, 2)]", "v + list(v.shape) * 2",
])
def test_one_graph(text):
    f = eval(f"lambda x, v, i: {text}")
    expected, got = f(X, V, I), ms.jit(f, fullgraph=True)(X, V, I)
    assert got.dtype == expected.dtype and np.array_equal(got.asnumpy(), expected.asnumpy())


@pytest.mark.parametrize("text", ["v + [1, 2, 3]", "v + ()", "v + ['a']", "v + [None, 1]", "v + [[1], [2, 3]]",
                                  "v @ [1.0, 2.0]", "[1.0, 2.0] @ v", "v + [v[0], 2]", "x + [v, v]",
                                  "v * [v[0], v[1]]"])
def test_what_is_no_list_of_known_numbers_is_as_eager(text):
    f = eval(f"lambda x, v, i: {text}")
    try:
        expected = f(X, V, I)
    except Exception as e:
        with pytest.raises(type(e)):
            ms.jit(f)(X, V, I)
    else:
        assert np.array_equal(ms.jit(f)(X, V, I).asnumpy(), expected.asnumpy())


def test_a_list_from_outside_that_changes():
    scale = [1.0, 2.0]
    f = ms.jit(lambda v: v * scale)
    assert f(V).asnumpy().tolist() == [1, 4]
    scale[1] = 5.0
    assert f(V).asnumpy().tolist() == [1, 10]
    scale.append(1.0)
    with pytest.raises(ValueError):
        f(V)


def test_lists_grow_by_tensors():
    def f(v):
        kept = [1, 2]
        kept += v
        return kept

    assert [float(k) for k in ms.jit(f)(V)] == [float(k) for k in f(V)]


def test_gradients_and_cells():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(Tensor([1.0, 2.0]), name="w")
            self.scale = [3, 4]

        def construct(self, x):
            return (self.w * self.scale + (1, 2)) * x

    net = Net()
    step = ms.jit(ms.value_and_grad(net, 0, net.trainable_params()), fullgraph=True)
    value, (by_x, (by_w,)) = step(V)
    assert value.asnumpy().tolist() == [4, 20] and by_x.asnumpy().tolist() == [4, 10]
    assert by_w.asnumpy().tolist() == [3, 8]
    assert ms.jit(lambda x: ops.relu(x - [2, 2]), fullgraph=True)(V).asnumpy().tolist() == [0, 0]
