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
    assert I._assignment(x, np.full((2, 2), 3)) is x and (x == 3).all() and I._assignment(np.zeros(()), 3) == 3
    with pytest.raises(ValueError):
        I._assignment(x, np.full((4,), 3))
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


NEED_TWO = [I.XavierUniform, I.XavierNormal, I.HeUniform, I.HeNormal, I.VarianceScaling, I.Identity, I.Orthogonal]


@pytest.mark.parametrize("kind", NEED_TWO)
@pytest.mark.parametrize("shape", [[], [3], (3,), 3])
def test_shapes_that_are_too_small(kind, shape):
    with pytest.raises(ValueError):
        initializer(kind(), shape)
    assert initializer(kind(), [3, 2]).shape == (3, 2)


@pytest.mark.parametrize("shape", [[2, 0], [-1], [2.0], ["a"], (2, None)])
@pytest.mark.parametrize("init", [I.Zero(), I.Normal(), I.HeUniform(), "ones", 3])
def test_shapes_that_are_none(init, shape):
    with pytest.raises(ValueError, match="ints greater than 0"):
        initializer(init, shape)


def test_wrong_arguments():
    for error, wrong in (
        (ValueError, lambda: initializer(I.HeUniform(mode="x"), [2, 3])),
        (ValueError, lambda: initializer(I.HeNormal(negative_slope="a"), [2, 3])),
        (ValueError, lambda: initializer(I.HeNormal(negative_slope=True), [2, 3])),
        (ValueError, lambda: initializer(I.HeNormal(nonlinearity="selu"), [2, 3])),
        (ValueError, lambda: initializer(I.Constant([1, 2]), [2])),
        (ValueError, lambda: initializer("zeros", [2], None)),
        (TypeError, lambda: initializer("zeros", [2], 3)),
        (TypeError, lambda: initializer([1], [2])),
    ):
        with pytest.raises(error):
            wrong()


def test_attributes():
    assert I.Normal(0.1)._kwargs == {"sigma": 0.1, "mean": 0.0}
    assert I.HeUniform()._kwargs == {"negative_slope": 0, "mode": "fan_in", "nonlinearity": "leaky_relu"}
    ms.set_seed(5)  # MindSpore's numbers
    first, second = I.Normal(), I.Zero()
    assert first.seed == (5, 5) and first.seed == (5, 533697033) and second.seed == (5, 1067394061)
    second.seed = 3
    assert second.seed == (4, 0)
    assert ms.Tensor([1.0]).has_init is False and ms.Parameter(initializer("ones", [2])).has_init is False
