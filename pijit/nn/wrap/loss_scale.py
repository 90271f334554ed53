"""Training steps with a scaled loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor
from pijit.grad import value_and_grad
from pijit.nn.cell import Cell
from pijit.nn.wrap.cell_wrapper import TrainOneStepCell
from pijit.ops import HyperMap
from pijit.ops import function as F
from pijit.parameter import Parameter

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import TensorLike
    from pijit.nn.optimizer import Optimizer


class FixedLossScaleUpdateCell(Cell):
    """A loss scale that stays. Called with (loss_scale, overflow), gives overflow.

    Args:
        loss_scale_value (int): the scale at first.

    Inputs:
        loss_scale: Tensor.
        overflow: bool Tensor.

    Outputs:
        overflow.

    Example:
        >>> print(nn.FixedLossScaleUpdateCell(1024)(Tensor(1024.0), Tensor(False)))
        False
    """

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        self.loss_scale_value = loss_scale_value

    def get_loss_scale(self) -> float:
        """The scale."""
        return self.loss_scale_value

    def construct(self, _: Any, overflow: Tensor) -> Tensor:
        return overflow


class DynamicLossScaleUpdateCell(Cell):
    """A loss scale that is divided by scale_factor where gradients overflow.

    It is multiplied by it after scale_window steps without.

    Called with (loss_scale, overflow): updates loss_scale, gives overflow.

    Args:
        loss_scale_value (int): the scale at first.
        scale_factor (int): the factor.
        scale_window (int): after how many good steps the scale grows.

    Inputs:
        loss_scale: Parameter.
        overflow: bool Tensor.

    Outputs:
        overflow.

    Example:
        >>> nn.DynamicLossScaleUpdateCell(1024, 2, 100).get_loss_scale()
        1024
    """

    loss_scale_value: int
    scale_factor: int
    scale_window: int

    def __init__(self, loss_scale_value: float, scale_factor: int, scale_window: int) -> None:
        super().__init__()
        self.loss_scale_value, self.scale_factor, self.scale_window = loss_scale_value, scale_factor, scale_window
        self.cur_iter: Parameter = Parameter(Tensor(1, mstype.int32), name="current_iterator_step")
        self.last_overflow_iter: Parameter = Parameter(Tensor(0, mstype.int32), name="last_overflow_iterator_step")

    def get_loss_scale(self) -> int:
        """The scale at the start."""
        return self.loss_scale_value

    def construct(self, loss_scale: Parameter, overflow: Tensor) -> Tensor:
        now = self.cur_iter.value()
        full = now - self.last_overflow_iter >= self.scale_window
        grown = F.select(full, loss_scale * float(self.scale_factor), loss_scale)
        loss_scale._assign(F.select(overflow, F.maximum(loss_scale / float(self.scale_factor), 1.0), grown))
        self.last_overflow_iter._assign(F.select(F.logical_or(overflow, full), now, self.last_overflow_iter))
        self.cur_iter._assign(now + 1)
        return overflow


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """One optimizer step on a network that returns a loss, with gradients of the loss times a scale.

    A step whose gradients overflow changes no parameter. Returns (loss, overflow, scale).

    scale_sense: a number, a Tensor, or a cell that updates the scale. Subclasses use, besides what TrainOneStepCell
        has,
    `scale_sense`, `hyper_map`, `start_overflow_check`, `get_overflow_status` and `process_loss_scale`."""

    scale_sense: Parameter

    def __init__(self, network: Cell, optimizer: Optimizer, scale_sense: Any) -> None:
        super().__init__(network, optimizer)
        if isinstance(scale_sense, bool) or not isinstance(scale_sense, (Cell, Tensor, int, float)):
            raise _check.refused("TrainOneStepWithLossScaleCell", "scale_sense",
                                 _check.type_("a Cell, a Tensor or a number"), scale_sense)
        self.loss_scaling_manager: Cell | None = scale_sense if isinstance(scale_sense, Cell) else None
        scale = scale_sense.get_loss_scale() if isinstance(scale_sense, Cell) else scale_sense
        self.scale_sense = Parameter(scale if isinstance(scale, Tensor) else Tensor(float(scale), mstype.float32),
                                     name="scale_sense")
        self.hyper_map: Any = HyperMap()
        self.is_distributed = False
        self._gradient = value_and_grad(self._scaled, None, self.weights, has_aux=True)

    def _scaled(self, *inputs):
        loss = self.network(*inputs)
        return loss * F.cast(self.scale_sense, loss.dtype), loss

    def set_sense_scale(self, sens: TensorLike) -> None:
        """Takes a new scale: a Tensor. TypeError for anything else."""
        _check.need("TrainOneStepWithLossScaleCell.set_sense_scale", "sens", sens, _check.TENSOR)
        self.scale_sense._assign(F.reshape(sens, self.scale_sense.shape))

    def start_overflow_check(self, pre_cond: Any, compute_input: Any) -> tuple[None, Any]:  # noqa: ARG002
        """(status, compute_input): the begin of what get_overflow_status looks at."""
        return None, compute_input

    def get_overflow_status(self, status: Any, compute_output: Any) -> Tensor:  # noqa: ARG002
        """Whether a gradient is infinite or NaN, as a bool Tensor. compute_output: a tuple of Tensors."""
        return F.logical_not(F.all(F.stack([F.all(F.isfinite(g)) for g in compute_output], 0)))

    def process_loss_scale(self, overflow: Any) -> Any:
        """Updates the scale; returns whether there was an overflow."""
        return overflow if self.loss_scaling_manager is None else self.loss_scaling_manager(self.scale_sense, overflow)

    def construct(self, *inputs: Any) -> tuple[Any, Any, Tensor]:
        (_, loss), grads = self._gradient(*inputs)
        inverse = 1.0 / self.scale_sense
        grads = self.grad_reducer(tuple([g * F.cast(inverse, g.dtype) for g in grads]))
        finite = F.logical_not(self.get_overflow_status(None, grads))
        scale = self.scale_sense + 0.0
        overflow = self.process_loss_scale(F.logical_not(finite))
        # computed either way, and taken back on overflow: a branch on the value of a tensor would split the graph
        state = list(self.optimizer.get_parameters())
        before = [p._held() for p in state]
        self.optimizer(grads)
        for p, old in zip(state, before):
            p._assign(F.select(finite, p, old))
        return loss, overflow, scale
