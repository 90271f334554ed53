"""set_grad: the gradient of a Cell that was called with these inputs is that of the call, as in MindSpore 2.10's eager
mode, where the forward pass is recorded: moving averages change once, dropout masks are those of the loss."""

import copy

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, nn, ops

X = Tensor(np.random.RandomState(0).randn(4, 3, 4, 4).astype(np.float32) + 1)
Y = Tensor(np.zeros((4, 3, 4, 4), np.float32))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm2d(3)
        self.queue = ms.Parameter(Tensor(0.0), name="queue", requires_grad=False)

    def construct(self, x):
        self.queue += 1
        return self.bn(x)


def with_loss(grad=True):
    ms.set_seed(5)
    cell = nn.WithLossCell(Net().set_train(), nn.MSELoss())
    return cell.set_grad() if grad else cell


def gradient(cell, x=X, **kwargs):
    return ops.GradOperation(get_by_list=True, **kwargs)(cell, cell.trainable_params())(x, Y)


# How often the averages have changed afterwards, as measured with MindSpore 2.10.
def forward_and_gradient(cell):
    cell(X, Y)
    gradient(cell)


def forward_and_grad(cell):
    cell(X, Y)
    ms.grad(cell, None, cell.trainable_params())(X, Y)


def two_forwards(cell):
    cell(X, Y)
    cell(X, Y)
    gradient(cell)


def other_input(cell):
    cell(X, Y)
    gradient(cell, X * 1)


def two_gradients(cell):
    forward_and_gradient(cell)
    gradient(cell)


def gradient_alone(cell):
    gradient(cell)


def another_call_between(cell):
    cell(X, Y)
    cell(X * 2, Y)
    gradient(cell)


TIMES = {forward_and_gradient: 1, forward_and_grad: 1, two_forwards: 2, other_input: 2, two_gradients: 2,
         gradient_alone: 1, another_call_between: 3}


@pytest.mark.parametrize("f", TIMES, ids=lambda f: f.__name__)
def test_how_often_a_call_counts(f):
    for run in (f, ms.jit(f)):
        cell = with_loss()
        for k in range(1, 4):
            run(cell)
            assert float(cell._backbone.queue) == TIMES[f] * k
    cell = with_loss(grad=False)
    cell(X, Y)
    gradient(cell)
    assert float(cell._backbone.queue) == 2


class Step(nn.TrainOneStepCell):
    def construct(self, *inputs):
        loss = self.network(*inputs)
        sens = ops.fill(loss.dtype, loss.shape, self.sens)
        grads = self.grad(self.network, self.weights)(*inputs, sens)
        return ops.depend(loss, self.optimizer(grads))


def noisy():
    ms.set_seed(4)
    net = nn.SequentialCell(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(p=0.5), nn.Flatten(),
                            nn.Dense(64, 5))
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    return net, (nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")), optimizer)


@pytest.mark.parametrize("mode", ["eager", "jit", "graph"])
def test_a_step_of_ones_own_trains_as_the_librarys(mode):
    found = []
    labels = Tensor([0, 1, 2, 3], ms.int32)
    before = ms.get_context("mode")
    try:
        ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
        for kind in (Step, nn.TrainOneStepCell):
            net, parts = noisy()
            step = kind(*parts).set_train()
            run = ms.jit(step) if mode == "jit" else step
            losses = [float(run(X, labels)) for _ in range(4)]
            found.append([losses] + [p.asnumpy().tolist() for p in net.get_parameters()])
            if mode == "jit":
                report = ms.explain(run)
                assert len(report.entries) == 1 and not report.breaks
    finally:
        ms.set_context(mode=before)
    assert found[0] == found[1]


def test_the_second_forward_pass_costs_nothing_in_a_graph():
    kernels = []
    for kind in (Step, nn.TrainOneStepCell):
        _, parts = noisy()
        step = ms.jit(kind(*parts).set_train())
        for _ in range(2):
            step(X, Tensor([0, 1, 2, 3], ms.int32))
        kernels.append(sorted(k["kernel"] for k in ms.explain(step).entries[0]["kernels"]["kernels"]))
    assert kernels[0] == kernels[1]


def test_what_is_kept_goes():
    cell = with_loss()
    cell(X, Y)
    assert cell._last_call is not None
    gradient(cell)
    assert cell._last_call is None
    cell.set_train(False)
    cell(X, Y)
    assert cell._last_call is None  # nothing is kept outside of training
    assert float(copy.deepcopy(cell)._backbone.queue) == float(cell._backbone.queue)
    cell.set_grad(False)
    cell.set_train()
    cell(X, Y)
    assert cell._last_call is None
