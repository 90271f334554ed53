"""A jitted function is a function to the tools that look at functions."""

import functools
import inspect
import pickle
import pydoc
import types
import unittest.mock

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, nn


@ms.jit
def scaled(x: Tensor, factor=2) -> Tensor:
    """x, factor times."""
    return x * factor


def test_it_is_shown_as_a_function():
    assert isinstance(scaled, types.FunctionType) and inspect.isfunction(scaled) and callable(scaled)
    assert str(inspect.signature(scaled)).endswith("factor=2) -> pijit.Tensor")
    assert inspect.getfile(scaled) == __file__ and "factor" in inspect.getsource(scaled)
    assert {"__code__", "__defaults__", "__name__"} <= set(dir(scaled))
    assert pydoc.describe(scaled) == "function scaled" and "x, factor times." in pydoc.render_doc(scaled)
    assert pickle.loads(pickle.dumps(scaled)) is scaled


def test_mock_keeps_its_signature():
    m = unittest.mock.create_autospec(scaled)
    m(1)
    with pytest.raises(TypeError, match="too many positional arguments"):
        m(1, 2, 3)


def test_functools_wraps_around_it():
    def original(x):
        """What it was."""
        return x

    @functools.wraps(original)
    @ms.jit
    def wrapper(x):
        return original(x) + 1
    assert wrapper.__wrapped__ is original and wrapper.__name__ == "original" and wrapper.__doc__ == "What it was."
    assert wrapper(Tensor([1.0])).asnumpy().tolist() == [2.0]
    assert inspect.signature(wrapper) == inspect.signature(original)
    del wrapper.__wrapped__
    assert wrapper.__wrapped__ is not original


def test_an_object_keeps_its_attributes():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(3, 2)

        def construct(self, x):
            return self.dense(x) * 2

    net = Net()
    jitted = ms.jit(net)
    assert isinstance(jitted, Net) and ms.jit(jitted) is jitted
    assert [p.name for p in jitted.trainable_params()] == [p.name for p in net.trainable_params()]
    jitted.set_train(True)
    jitted.factor = 3
    assert net.training and net.factor == 3 and "dense" in dir(jitted)
    x = ms.Tensor(np.ones((4, 3), np.float32))
    assert np.array_equal(jitted(x).asnumpy(), net(x).asnumpy())
    assert len(ms.explain(jitted).graphs) == 1 and not ms.explain(jitted).all_breaks
    del jitted.factor
    assert not hasattr(net, "factor")
