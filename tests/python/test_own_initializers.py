"""Initializers of a program's own, as its MindSpore calls them."""

import numpy as np
import pytest

import pijit as ms
from pijit import initializer as I, nn
from pijit.initializer import Initializer, initializer


@I._register("sevens")
class Seven(Initializer):
    def __init__(self, value=7):
        super().__init__(value=value)
        self.value = value

    def _initialize(self, arr):
        assert isinstance(arr, np.ndarray)
        I._assignment(arr, self.value)


class Uniform(Initializer):
    def _initialize(self, arr):
        bound = 1 / np.sqrt(I._calculate_fan_in_and_fan_out(arr.shape)[0])
        I._assignment(arr, np.random.uniform(-bound, bound, arr.shape))


class Halved(I.One):
    def _initialize(self, arr):
        super()._initialize(arr)
        arr /= 2


@pytest.mark.parametrize("dtype", [ms.float32, ms.float16, ms.bfloat16, ms.int32])
@pytest.mark.parametrize(
    "made",
    [
        lambda t: initializer(Seven(), (2, 3), t),
        lambda t: initializer("sevens", [2, 3], t).init_data(),
        lambda t: initializer("seven", (2, 3), t),
        lambda t: ms.Tensor(shape=(2, 3), dtype=t, init=Seven()).init_data(),
        lambda t: ms.Parameter(initializer(Seven(), [2, 3], t)).init_data(),
    ],
)
def test_what_initialize_stores_is_the_value(made, dtype):
    x = made(dtype)
    assert x.dtype == dtype and x.shape == (2, 3) and (x.astype(ms.float32).asnumpy() == 7).all()


def test_layers_take_them():
    layer = nn.Dense(3, 2, weight_init=Seven(2), bias_init="sevens")
    assert (
        (layer.weight.asnumpy() == 2).all() and (layer.bias.asnumpy() == 7).all() and Seven(2)._kwargs == {"value": 2}
    )
    w = nn.Conv2d(16, 2, 3, weight_init=Uniform()).weight.asnumpy()
    assert abs(w).max() <= 1 / 12 and w.std() > 0
    assert (initializer(Halved(), (3,)).asnumpy() == 0.5).all()


def test_arrays_are_filled_in_place():
    x = np.zeros((2, 2), np.float32)
    assert I.One()(x) is None and (x == 1).all() and I.Zero()._initialize(x) is None and not x.any()
    assert I._assignment(x, np.full((4,), 3)) is x and (x == 3).all() and I._assignment(np.zeros(()), 3) == 3
    with pytest.raises(NotImplementedError):
        initializer(Initializer(), (2,))


def test_fans_and_gains():
    assert I._calculate_fan_in_and_fan_out((3, 4, 5)) == (20, 15) == I._calculate_in_and_out(np.ones((3, 4, 5)))
    assert (
        I._calculate_correct_fan((3, 4, 5, 5), "fan_in") == 100
        and I._calculate_correct_fan((3, 4, 5, 5), "fan_out") == 75
    )
    assert [round(I._calculate_gain(n), 6) for n in ("linear", "conv1d", "sigmoid", "tanh", "relu", "leaky_relu")] == [
        1,
        1,
        1,
        1.666667,
        1.414214,
        1.414143,
    ]
    assert round(I._calculate_gain("leaky_relu", 0.2), 6) == 1.386750
    for bad in (
        lambda: I._calculate_correct_fan((3, 4), "x"),
        lambda: I._calculate_fan_in_and_fan_out((3,)),
        lambda: I._calculate_gain("foo"),
        lambda: I._calculate_gain("leaky_relu", "a"),
        lambda: I._calculate_in_and_out(np.ones(3)),
    ):
        with pytest.raises(ValueError):
            bad()
    assert I._INITIALIZER_ALIAS["sevens"] is Seven and I._init_random_normal(0, 1, (2,)).dtype == np.float32
    assert (
        abs(I._init_truncated_normal(-1, 1, 0, 1, (50,))).max() <= 1 and I._init_random_uniform(2, 3, (4,)).min() >= 2
    )
