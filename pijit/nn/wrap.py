"""Cells around networks: loss, gradients, training steps."""

from pijit.grad import GradOperation, value_and_grad
from pijit.nn.cell import Cell


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
        self._network, self._loss_fn = network, loss_fn

    def construct(self, data, label):
        out = self._network(data)
        return self._loss_fn(out, label), out, label


class WithGradCell(Cell):
    """Gradients of loss_fn(network(data), label) by the network's trainable parameters."""

    def __init__(self, network, loss_fn=None, sens=None):
        super().__init__(auto_prefix=False)
        self.target = network if loss_fn is None else WithLossCell(network, loss_fn)
        self.weights = tuple(network.trainable_params())
        self.grad_fn = GradOperation(get_by_list=True)(self.target, self.weights)

    def construct(self, *inputs):
        return self.grad_fn(*inputs)


class ForwardValueAndGrad(Cell):
    """(value, gradients) of a network."""

    def __init__(self, network, weights=None, get_all=False, get_by_list=False, sens_param=False):
        super().__init__(auto_prefix=False)
        self.network = network
        weights = tuple(network.trainable_params() if weights is None and get_by_list else weights or ())
        position = 0 if not get_by_list or get_all else None
        self.grad_fn = value_and_grad(network, position, weights if get_by_list else None)

    def construct(self, *inputs):
        return self.grad_fn(*inputs)


class TrainOneStepCell(Cell):
    """One optimizer step on a network that returns a loss."""

    def __init__(self, network, optimizer, sens=None):
        super().__init__(auto_prefix=False)
        self.network, self.optimizer = network, optimizer
        self.weights = optimizer.parameters
        self.grad_fn = value_and_grad(network, None, self.weights)

    def construct(self, *inputs):
        loss, grads = self.grad_fn(*inputs)
        self.optimizer(grads)
        return loss
