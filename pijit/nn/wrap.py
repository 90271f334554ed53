"""Cells around networks: loss, gradients, training steps."""

from pijit import dtype as mstype
from pijit.grad import GradFunction, GradOperation, value_and_grad
from pijit.nn.cell import Cell
from pijit.ops import function as F


class WithLossCell(Cell):
    """loss_fn(backbone(data), label)."""

    def __init__(self, backbone, loss_fn):
        super().__init__(auto_prefix=False)
        self._backbone, self._loss_fn = backbone, loss_fn

    def construct(self, data, label):
        return self._loss_fn(self._backbone(data), label)

    @property
    def backbone_network(self):
        return self._backbone


class WithEvalCell(Cell):
    """(loss, outputs, label)."""

    def __init__(self, network, loss_fn, add_cast_fp32=False):
        super().__init__(auto_prefix=False)
        self._network, self._loss_fn, self.add_cast_fp32 = network, loss_fn, add_cast_fp32

    def construct(self, data, label):
        out = self._network(data)
        if self.add_cast_fp32:
            out, label = F.cast(out, mstype.float32), F.cast(label, mstype.float32) if label.dtype.is_floating_point else label
        return self._loss_fn(out, label), out, label


class WithGradCell(Cell):
    """Gradients of loss_fn(network(data), label) by the network's trainable parameters, scaled by sens."""

    def __init__(self, network, loss_fn=None, sens=None):
        super().__init__(auto_prefix=False)
        self.target = network if loss_fn is None else WithLossCell(network, loss_fn)
        self.weights = tuple(network.trainable_params())
        self.sens = sens
        self.grad_fn = GradOperation(get_by_list=True, sens_param=sens is not None)(self.target, self.weights)

    def construct(self, *inputs):
        return self.grad_fn(*inputs) if self.sens is None else self.grad_fn(*inputs, sens=self.sens)


class ForwardValueAndGrad(Cell):
    """(value, gradients) of a network; with sens_param the last input scales the outputs' cotangents."""

    def __init__(self, network, weights=None, get_all=False, get_by_list=False, sens_param=False):
        super().__init__(auto_prefix=False)
        self.network = network
        weights = tuple(network.trainable_params() if weights is None and get_by_list else weights or ())
        position = "all" if get_all else None if get_by_list else (0,)
        self.grad_fn = GradFunction(network, position, weights if get_by_list else None, False, True, sens_param, get_all)

    def construct(self, *inputs):
        return self.grad_fn(*inputs)


class TrainOneStepCell(Cell):
    """One optimizer step on a network that returns a loss, by gradients scaled by sens; with return_grad, (loss, gradients by name)."""

    def __init__(self, network, optimizer, sens=None, return_grad=False):
        super().__init__(auto_prefix=False)
        self.network, self.optimizer = network, optimizer
        self.weights = optimizer.parameters
        self.sens, self.return_grad = sens, return_grad
        self.grad_fn = value_and_grad(network, None, self.weights) if sens is None else GradFunction(network, None, self.weights, False, True, True, True)

    def construct(self, *inputs):
        loss, grads = self.grad_fn(*inputs) if self.sens is None else self.grad_fn(*inputs, sens=self.sens)
        self.optimizer(grads)
        return (loss, {p.name: g for p, g in zip(self.weights, grads)}) if self.return_grad else loss
