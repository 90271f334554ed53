"""Cells around networks: loss, gradients, training steps."""

from pijit import dtype as mstype
from pijit._C import Tensor
from pijit.grad import GradFunction, GradOperation, value_and_grad
from pijit.nn.cell import Cell
from pijit.ops import function as F
from pijit.parameter import Parameter


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


class FixedLossScaleUpdateCell(Cell):
    """A loss scale that stays. Called with (loss_scale, overflow), gives overflow."""

    def __init__(self, loss_scale_value):
        super().__init__()
        self.loss_scale_value = loss_scale_value

    def get_loss_scale(self):
        """The scale."""
        return self.loss_scale_value

    def construct(self, _, overflow):
        return overflow


class DynamicLossScaleUpdateCell(Cell):
    """A loss scale that is divided by scale_factor where gradients overflow, and multiplied by it after scale_window steps without.

    Called with (loss_scale, overflow): updates loss_scale, gives overflow."""

    def __init__(self, loss_scale_value, scale_factor, scale_window):
        super().__init__()
        self.loss_scale_value, self.scale_factor, self.scale_window = loss_scale_value, scale_factor, scale_window
        self.good_steps = Parameter(Tensor(0, mstype.int32), name="good_steps", requires_grad=False)

    def get_loss_scale(self):
        """The scale at the start."""
        return self.loss_scale_value

    def construct(self, loss_scale, overflow):
        full = self.good_steps >= self.scale_window - 1
        grown = F.select(full, loss_scale * float(self.scale_factor), loss_scale)
        loss_scale._assign(F.select(overflow, F.maximum(loss_scale / float(self.scale_factor), 1.0), grown))
        self.good_steps._assign(F.select(F.logical_or(overflow, full), F.zeros_like(self.good_steps), self.good_steps + 1))
        return overflow


class TrainOneStepWithLossScaleCell(Cell):
    """One optimizer step on a network that returns a loss, with gradients of the loss times a scale; a step whose gradients overflow changes no
    parameter. scale_sense: a number, a tensor, or a cell that updates the scale. Returns (loss, overflow, scale)."""

    def __init__(self, network, optimizer, scale_sense):
        super().__init__(auto_prefix=False)
        self.network, self.optimizer = network, optimizer
        self.weights = optimizer.parameters
        self.loss_scaling_manager = scale_sense if isinstance(scale_sense, Cell) else None
        scale = scale_sense.get_loss_scale() if isinstance(scale_sense, Cell) else scale_sense
        self.scale_sense = Parameter(scale if isinstance(scale, Tensor) else Tensor(float(scale), mstype.float32), name="scale_sense", requires_grad=False)
        self._gradient = value_and_grad(self._scaled, None, self.weights, has_aux=True)

    def _scaled(self, *inputs):
        loss = self.network(*inputs)
        return loss * F.cast(self.scale_sense, loss.dtype), loss

    def construct(self, *inputs):
        (_, loss), grads = self._gradient(*inputs)
        inverse = 1.0 / self.scale_sense
        grads = [g * F.cast(inverse, g.dtype) for g in grads]
        finite = F.all(F.stack([F.all(F.isfinite(g)) for g in grads], 0))
        overflow = F.logical_not(finite)
        scale = self.scale_sense + 0.0
        if self.loss_scaling_manager is not None:
            overflow = self.loss_scaling_manager(self.scale_sense, overflow)
        # computed either way, and taken back on overflow: a branch on the value of a tensor would split the graph
        state = list(self.optimizer.get_parameters())
        before = [F.identity(p) for p in state]
        self.optimizer(tuple(grads))
        for p, old in zip(state, before):
            p._assign(F.select(finite, p, old))
        return loss, overflow, scale
