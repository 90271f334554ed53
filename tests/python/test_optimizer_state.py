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
