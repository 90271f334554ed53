"""Cells around networks: loss, gradients, training steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit.grad import GradFunction, GradOperation, jvp, value_and_grad, vjp
from pijit.nn.cell import Cell
from pijit.communication._comm_helper import World, need_processes
from pijit.nn.layer import Identity
from pijit.nn.wrap.grad_reducer import DistributedGradReducer
from pijit.ops import function as F
from pijit.parallel._auto_parallel_context import get_auto_parallel_context
from pijit.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from pijit._C import Tensor
    from pijit._types import Number
    from pijit.nn.optimizer import Optimizer
    from pijit.parameter import ParameterTuple


class WithLossCell(Cell):
    """loss_fn(backbone(data), label).

    Args:
        backbone (Cell): the network.
        loss_fn (Cell or function): the loss of outputs and labels.

    Inputs:
        data: Tensor.
        label: Tensor.

    Outputs:
        the loss.

    Example:
        >>> print(nn.WithLossCell(nn.ReLU(), nn.MSELoss())(Tensor([1.0]), Tensor([3.0])))
        4.0
    """

    def __init__(self, backbone: Cell, loss_fn: Callable[..., Any]) -> None:
        super().__init__(auto_prefix=False)
        self._backbone, self._loss_fn = backbone, loss_fn

    def construct(self, data: Tensor, label: Tensor) -> Tensor:
        return self._loss_fn(self._backbone(data), label)

    @property
    def backbone_network(self) -> Cell:
        return self._backbone


class WithEvalCell(Cell):
    """(loss, outputs, label).

    Args:
        network (Cell): the network.
        loss_fn (Cell or function): the loss of outputs and labels.
        add_cast_fp32 (bool, optional): whether inputs of the loss are float32. Default: False.

    Inputs:
        data: Tensor.
        label: Tensor.

    Outputs:
        (loss, outputs, label).

    Example:
        >>> print(nn.WithEvalCell(nn.ReLU(), nn.MSELoss())(Tensor([1.0]), Tensor([3.0]))[0])
        4.0
    """

    add_cast_fp32: bool

    def __init__(self, network: Cell, loss_fn: Callable[..., Any], add_cast_fp32: bool = False) -> None:
        super().__init__(auto_prefix=False)
        self._network, self._loss_fn, self.add_cast_fp32 = network, loss_fn, add_cast_fp32

    def construct(self, data: Tensor, label: Tensor) -> tuple[Any, Tensor | Any, Tensor]:
        out = self._network(data)
        if self.add_cast_fp32:
            out, label = (F.cast(out, mstype.float32),
                          F.cast(label, mstype.float32) if label.dtype.is_floating_point else label)
        return self._loss_fn(out, label), out, label


class WithGradCell(Cell):
    """Gradients of loss_fn(network(data), label) by the network's trainable parameters, scaled by sens.

    Args:
        network (Cell): the network.
        loss_fn (Cell or function, optional): the loss of outputs and labels. Default: None.
        sens (number, optional): the loss's cotangent. Default: None.

    Inputs:
        inputs: what the network takes, and the label.

    Outputs:
        tuple of gradients.

    Example:
        >>> net = nn.Dense(2, 1, "ones", "zeros")
        >>> for part in nn.WithGradCell(net, nn.MSELoss())(ops.ones((1, 2)), ops.ones((1, 1))):
        ...     print(part)
        [[2. 2.]]
        [2.]
    """

    grad_fn: GradFunction

    def __init__(self, network: Cell, loss_fn: Callable[..., Any] | None = None, sens: Number | None = None) -> None:
        super().__init__(auto_prefix=False)
        self.target: Any = network if loss_fn is None else WithLossCell(network, loss_fn)
        self.weights: tuple[Any, ...] = tuple(network.trainable_params())
        self.sens = sens
        self.grad_fn = GradOperation(get_by_list=True, sens_param=sens is not None)(self.target, self.weights)

    def construct(self, *inputs: Any) -> Any:
        return self.grad_fn(*inputs) if self.sens is None else self.grad_fn(*inputs, sens=self.sens)


class ForwardValueAndGrad(Cell):
    """(value, gradients) of a network; with sens_param the last input scales the outputs' cotangents.

    Args:
        network (Cell): the network.
        weights (Tensor, optional): a weight per element. Default: None.
        get_all (bool, optional): whether gradients by all inputs are given. Default: False.
        get_by_list (bool, optional): whether gradients by the weights are given. Default: False.
        sens_param (bool, optional): whether the last input scales the outputs' cotangents. Default: False.

    Inputs:
        inputs: what the network takes.

    Outputs:
        (the value, gradients).

    Example:
        >>> print(nn.ForwardValueAndGrad(nn.WithLossCell(nn.ReLU(), nn.MSELoss()), get_all=True)(Tensor([2.0]),
        ...     Tensor([1.0]))[0])
        1.0
    """

    grad_fn: GradFunction

    def __init__(self, network: Cell, weights: Tensor | None = None, get_all: bool = False, get_by_list: bool = False,
                 sens_param: bool = False) -> None:
        super().__init__(auto_prefix=False)
        self.network = network
        weights = tuple(network.trainable_params() if weights is None and get_by_list else weights or ())
        position = "all" if get_all else None if get_by_list else (0,)
        self.grad_fn = GradFunction(network, position, weights if get_by_list else None, False, True, sens_param,
                                    get_all)

    def construct(self, *inputs: Any) -> Any:
        return self.grad_fn(*inputs)


class TrainOneStepCell(Cell):
    """One optimizer step on a network that returns a loss.

    Returns the loss, or with return_grad (loss, gradients by name).

    sens: what the outputs' cotangents are filled with, 1 if None. Subclasses use `network`, `optimizer`, `weights`,
        `grad` (a GradOperation by the weights that takes the cotangent as last argument), `grad_no_sens`, `sens` and
        `grad_reducer`.

    Args:
        network (Cell): the network.
        optimizer (Optimizer): what changes the parameters.
        sens (number, optional): the loss's cotangent. Default: None.
        return_grad (bool, optional): whether gradients are given as well. Default: False.

    Inputs:
        inputs: what the network takes.

    Outputs:
        the loss.

    Example:
        >>> net = nn.WithLossCell(nn.Dense(2, 1, "ones", "zeros"), nn.MSELoss())
        >>> print(nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1))(ops.ones((1, 2)), ops.ones((1, 1))))
        1.0
    """

    network: Cell
    optimizer: Any
    sens: float
    sense_flag: bool
    return_grad: bool
    reducer_flag: bool
    parallel_mode: str

    def __init__(self, network: Cell, optimizer: Optimizer, sens: Number | None = None,
                 return_grad: bool = False) -> None:
        super().__init__(auto_prefix=False)
        _check.need("TrainOneStepCell", "sens", sens, _check.optional(_check.NUMBER))
        self.network, self.optimizer = network, optimizer
        if isinstance(network, Cell):
            network.set_grad()
        self.weights: ParameterTuple = optimizer.parameters
        self.sens, self.sense_flag, self.return_grad = 1.0 if sens is None else sens, sens is not None, return_grad
        self.grad: GradOperation = GradOperation(get_by_list=True, sens_param=True)
        self.grad_no_sens: GradOperation = GradOperation(get_by_list=True)
        self.parallel_mode = get_auto_parallel_context("parallel_mode")
        if self.parallel_mode == "data_parallel":
            need_processes(type(self).__name__)
        self.reducer_flag = self.parallel_mode == "data_parallel" and World.all.size > 1
        self.grad_reducer: Any = DistributedGradReducer(self.weights) if self.reducer_flag else Identity()
        self.grad_fn: Any = (GradFunction(network, None, self.weights, False, True, True, True) if self.sense_flag
                             else value_and_grad(network, None, self.weights))

    def construct(self, *inputs: Any) -> Any:
        loss, grads = self.grad_fn(*inputs, sens=self.sens) if self.sense_flag else self.grad_fn(*inputs)
        grads = self.grad_reducer(grads)
        self.optimizer(grads)
        return (loss, {p.name: g for p, g in zip(self.weights, grads)}) if self.return_grad else loss


class ParameterUpdate(Cell):
    """A Cell that gives a parameter the value it is called with, and returns it.

    param: a Parameter; TypeError for anything else.

    Args:
        param (Parameter): the parameter.

    Inputs:
        x: Tensor.

    Outputs:
        The Parameter.

    Example:
        >>> print(nn.ParameterUpdate(ms.Parameter(Tensor([1.0]), name="p"))(Tensor([5.0])))
        [5.]
    """

    def __init__(self, param: Parameter) -> None:
        super().__init__(auto_prefix=False)
        _check.need("ParameterUpdate", "param", param, _check.a(Parameter))
        self._param = param

    def construct(self, x: Tensor) -> Tensor:
        self._param._assign(x)
        return x


class _MicroBatches(Cell):
    """A network on parts of its batch, one after the other; the mean of its losses."""

    network: Cell

    def __init__(self, network: Cell, count: Any) -> None:
        super().__init__(auto_prefix=False)
        _check.need(type(self).__name__, "network", network, _check.a(Cell))
        _check.need(type(self).__name__, "the number of parts", count, _check.INT, _check.at_least(1))
        self.network, self._parts = network, count

    def construct(self, *inputs: Any) -> Any:
        size = inputs[0].shape[0]
        if size % self._parts != 0:
            raise _check.refused(self.cls_name, "the batch", _check.value("be divisible by the number of parts"),
                                 _check.several(size, self._parts))
        step = size // self._parts
        total = self.network(*[x[:step] for x in inputs])
        for i in range(1, self._parts):
            total = total + self.network(*[x[i * step:(i + 1) * step] for x in inputs])
        return total / self._parts


class MicroBatchInterleaved(_MicroBatches):
    """A network on interleave_num parts of its batch, one after the other; the mean of its losses.

    Args:
        network (Cell): the network.
        interleave_num (int, optional): the number of parts. Default: 2.

    Inputs:
        what the network takes: Tensors whose first axis is divided.

    Outputs:
        the mean of its losses.

    Raises:
        TypeError: if `interleave_num` is not an int.
        ValueError: if `interleave_num` is below 1.

    Example:
        >>> print(nn.MicroBatchInterleaved(nn.WithLossCell(nn.ReLU(), nn.MSELoss()), 2)(ops.ones((4, 1)),
        ...     ops.zeros((4, 1))))
        1.0
    """

    def __init__(self, network: Cell, interleave_num: int = 2) -> None:
        super().__init__(network, interleave_num)


class GradAccumulationCell(_MicroBatches):
    """A network on micro_size parts of its batch, one after the other; the mean of its losses.

    Args:
        network (Cell): the network.
        micro_size (int): the number of parts.

    Inputs:
        what the network takes: Tensors whose first axis is divided.

    Outputs:
        the mean of its losses.

    Raises:
        TypeError: if `micro_size` is not an int.
        ValueError: if `micro_size` is below 1.

    Example:
        >>> print(nn.GradAccumulationCell(nn.WithLossCell(nn.ReLU(), nn.MSELoss()), 2)(ops.ones((4, 1)),
        ...     ops.zeros((4, 1))))
        1.0
    """

    def __init__(self, network: Cell, micro_size: int) -> None:
        super().__init__(network, micro_size)


class PipelineCell(_MicroBatches):
    """A network on micro_size parts of its batch, one after the other; the mean of its losses. There is one stage.

    Args:
        network (Cell): the network.
        micro_size (int): the number of parts.
        stage_config (dict, optional): kept for its name. Default: None.
        segment_config (dict, optional): kept for its name. Default: None.

    Inputs:
        what the network takes: Tensors whose first axis is divided.

    Outputs:
        the mean of its losses.

    Raises:
        TypeError: if `micro_size` is not an int.
        ValueError: if `micro_size` is below 1.

    Example:
        >>> print(nn.PipelineCell(nn.WithLossCell(nn.ReLU(), nn.MSELoss()), 2)(ops.ones((4, 1)), ops.zeros((4, 1))))
        1.0
    """

    def __init__(self, network: Cell, micro_size: int, stage_config: dict[Any, Any] | None = None,
                 segment_config: dict[Any, Any] | None = None) -> None:
        if stage_config is not None or segment_config is not None:
            raise RuntimeError(
                "For 'PipelineCell', 'stage_config' and 'segment_config' need more than one process, but there is one.")
        super().__init__(network, micro_size)


class Jvp(Cell):
    """(fn(*inputs), its derivative along v), of inputs and then v, which is as many tensors in a tuple.

    Args:
        fn (function): what to work on.

    Inputs:
        args: the inputs, then the direction.

    Outputs:
        (the outputs, their derivative).

    Example:
        >>> print(nn.Jvp(nn.ReLU())(Tensor([2.0]), Tensor([3.0]))[1])
        [3.]
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn

    def construct(self, *args: Any) -> Any:
        if len(args) < 2:
            raise _check.expected("Jvp", "the inputs and then v",
                                  _check.several(*map(_check.type_name, args)) if args else "nothing")
        v = args[-1] if isinstance(args[-1], (tuple, list)) else (args[-1],)
        return jvp(self.fn, args[:-1], tuple(v))


class Vjp(Cell):
    """(fn(*inputs), the gradients of its inputs for v).

    It is called with inputs and then v, which is as many tensors in a tuple as fn returns.

    Args:
        fn (function): what to work on.

    Inputs:
        args: the inputs, then the cotangent.

    Outputs:
        (the outputs, the gradients: a Tensor for one input, a tuple for several).

    Example:
        >>> print(nn.Vjp(nn.ReLU())(Tensor([2.0]), Tensor([3.0]))[1])
        [3.]
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.fn = fn

    def construct(self, *args: Any) -> tuple[Any, ...]:
        if len(args) < 2:
            raise _check.expected("Vjp", "the inputs and then v",
                                  _check.several(*map(_check.type_name, args)) if args else "nothing")
        value, pullback = vjp(self.fn, *args[:-1])
        gradients = pullback(args[-1])
        return value, gradients[0] if len(gradients) == 1 else gradients
