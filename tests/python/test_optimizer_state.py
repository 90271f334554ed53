"""The state of optimizers has the names and order that it has in MindSpore 2.7.1, so that checkpoints interchange."""

import numpy as np
import pytest

import pijit as ms
from pijit import nn

PARAMETERS = ["dense.weight", "dense.bias", "out.weight", "out.bias"]


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense, self.out = nn.Dense(3, 2), nn.Dense(2, 1)

    def construct(self, x):
        return self.out(self.dense(x))


def names(state):
    """'a b*': a, then b.name for each parameter; 'b_*' with an underscore."""
    out = []
    for word in state.split():
        out += [word[:-1] + ("" if word[-2] == "_" else ".") + p for p in PARAMETERS] if word[-1] == "*" else [word]
    return out


@pytest.mark.parametrize(
    ("make", "state"),
    [
        (lambda p: nn.SGD(p), "momentum accum* stat*"),
        (lambda p: nn.SGD(p, momentum=0.9, dampening=0.1), "momentum accum* stat*"),
        (lambda p: nn.Momentum(p, 0.1, 0.9), "momentum moments*"),
        (lambda p: nn.Adam(p), "beta1_power beta2_power moment1* moment2*"),
        (lambda p: nn.Adam(p, use_amsgrad=True), "beta1_power beta2_power moment1* moment2* vhat*"),
        (lambda p: nn.AdamWeightDecay(p), "adam_m* adam_v*"),
        (lambda p: nn.Lamb(p, 0.1), "lamb_m* lamb_v*"),
        (lambda p: nn.RMSProp(p, centered=True), "mean_grad* mean_square* moment*"),
        (lambda p: nn.AdaMax(p), "beta1_power moment1* moment2*"),
        (lambda p: nn.ASGD(p), "mu_* eta_* ax_.*"),
        (lambda p: nn.Rprop(p), "prev* step_size*"),
        (lambda p: nn.FTRL(p), "moments* linear*"),
    ],
)
def test_names(make, state):
    optimizer = make(Net().trainable_params())
    expected = ["global_step", "learning_rate", *PARAMETERS, *[n.replace("..", ".") for n in names(state)]]
    assert [p.name for p in optimizer.get_parameters()] == expected


def test_rates_of_steps_are_a_parameter():
    optimizer = nn.Adam(Net().trainable_params(), learning_rate=[0.1, 0.2, 0.3])
    last = list(optimizer.get_parameters())[-1]
    assert last.name == "learning_rate" and last.shape == (3,)


def test_first_step_with_dampening_takes_the_whole_gradient():
    p = ms.Parameter(ms.Tensor(np.zeros(2, np.float32)), name="p")
    optimizer = nn.SGD([p], 1.0, momentum=0.5, dampening=0.25)
    for expected in (-1.0, -2.25, -3.625):  # accum: 1, 1.25, 1.375
        optimizer((ms.ops.ones(2),))
        assert p.asnumpy().tolist() == [expected] * 2
    assert optimizer.stat[0].asnumpy().tolist() == [0.0, 0.0]


class Holder(nn.Cell):
    def __init__(self, cell):
        super().__init__()
        self.one = cell


LAYERS = [
    (lambda: nn.BatchNorm2d(3), "mean variance gamma beta"),
    (lambda: nn.SyncBatchNorm(3), "mean variance gamma beta"),
    (lambda: nn.SSIM(), "conv.weight"),
    (lambda: nn.MSSSIM(power_factors=(0.5, 0.5)), "multi_convs_list.0.weight multi_convs_list.1.weight"),
    (lambda: nn.DynamicLossScaleUpdateCell(4, 2, 2), "current_iterator_step last_overflow_iterator_step"),
]


@pytest.mark.parametrize(("make", "state"), LAYERS)
def test_names_of_layers(make, state):
    assert [p.name for p in make().get_parameters()] == state.split()


def test_names_below_another_cell():
    names = [p.name for p in Holder(nn.BatchNorm1d(3)).get_parameters()]
    assert names[:2] == ["one.moving_mean", "one.moving_variance"]
    assert [p.name for p in Holder(LAYERS[-1][0]()).get_parameters()] == ["one.cur_iter", "one.last_overflow_iter"]
    net = nn.Dense(2, 3)
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), momentum=0.9))
    expected = ["weight", "bias", *[f"optimizer.{n}"
                                    for n in ("global_step", "learning_rate", "momentum", "accum.weight",
                                                              "accum.bias", "stat.weight", "stat.bias")]]
    assert [name for name, _ in step.parameters_and_names()] == expected
    for prefix in ("one.", "one.one."):
        step = Holder(step)
        assert [p.name for p in step.get_parameters()] == [prefix + n for n in expected]


def test_state_of_lars_and_adafactor():
    lars = nn.LARS(nn.Momentum(nn.Dense(2, 3).trainable_params(), 0.1, 0.9))
    assert [p.name for p in lars.get_parameters()] == ["global_step", "fake_lr", "weight", "bias", "fake_param",
                                                       "learning_rate",
                                                       "momentum", "moments.weight", "moments.bias"]
    gradients = (ms.ops.ones((3, 2)), ms.ops.ones(3))
    lars(gradients)
    assert lars.global_step.asnumpy().tolist() == lars.opt.global_step.asnumpy().tolist() == [1]
    adafactor = nn.AdaFactor(nn.Dense(2, 3).trainable_params())
    assert [p.name for p in adafactor.get_parameters()][-1] == "afactor_step"
    adafactor(gradients)
    assert adafactor.step.asnumpy().tolist() == [1.0]


def test_parameters_of_a_replaced_tuple_are_no_longer_the_cells():
    a, b = (ms.Parameter(ms.Tensor([1.0]), name=n) for n in "ab")
    cell = nn.Cell()
    cell.pair = ms.ParameterTuple([a, b])
    assert [n for n, _ in cell.parameters_and_names()] == ["a", "b"]
    cell.pair = ms.ParameterTuple([b])
    assert [n for n, _ in cell.parameters_and_names()] == ["b"]
    cell.a = a
    cell.pair = None
    assert [n for n, _ in cell.parameters_and_names()] == ["a"]
    cell.pair = ms.ParameterTuple([a, b])
    del cell.pair
    assert [n for n, _ in cell.parameters_and_names()] == ["a"]


def test_state_is_trainable_as_in_mindspore():
    net = nn.Dense(2, 2)
    train = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Adam(net.trainable_params()))
    assert [p.name for p in train.trainable_params()] == [
        "weight", "bias", "global_step", "learning_rate", "beta1_power", "beta2_power",
        "moment1.weight", "moment1.bias", "moment2.weight", "moment2.bias"]
    scaler = ms.amp.DynamicLossScaler(2.0, 2, 5)
    assert scaler.scale_value.requires_grad and scaler.counter.requires_grad
