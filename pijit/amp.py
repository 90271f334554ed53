"""Mixed precision: parts of a network in float16 or bfloat16, and loss scaling (Micikevicius et al. 2018)."""

from __future__ import annotations

import copy
import functools
from typing import TYPE_CHECKING

from pijit import _C
from pijit import _check
from pijit import dtype as mstype
from pijit import nn
from pijit import ops as P
from pijit._C import Tensor
from pijit.ops import function as F
from pijit.ops.function.elementwise import _like
from pijit.ops.primitive import Primitive
from pijit.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from pijit._C import DType
    from pijit.nn.cell import Cell
    from pijit.nn.optimizer import Optimizer
    from pijit.nn.wrap.cell_wrapper import TrainOneStepCell
    from pijit.nn.wrap.loss_scale import (DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell,
                                          TrainOneStepWithLossScaleCell)

_WHITE = [nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.Conv1dTranspose, nn.Conv2dTranspose, nn.Conv3dTranspose, nn.Dense,
          nn.LSTMCell, nn.RNNCell, nn.GRUCell,
          P.Conv2D, P.Conv3D, P.Conv2DTranspose, P.Conv3DTranspose, P.Conv2DBackpropInput, P.MatMul, P.BatchMatMul,
          P.PReLU, P.ReLU, P.Ger]
_BATCH_NORM = [nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d]
_BLACK = [*_BATCH_NORM, nn.LayerNorm]


def get_white_list() -> list[Any]:
    """The layers and primitives that level O1 runs in low precision: a list of one's own."""
    return list(_WHITE)


def get_black_list() -> list[Any]:
    """The layers that level O2 leaves in float32: a list of one's own."""
    return list(_BLACK)


def _to_float32(cell, args, out):  # noqa: ARG001
    """A hook: floating outputs as float32."""
    def cast(x):
        if isinstance(x, (tuple, list)):
            return _like(x, [cast(v) for v in x])
        return F.cast(x, mstype.float32) if isinstance(x, Tensor) and x.dtype.is_floating_point else x
    return cast(out)


def _checked(name, network, dtype):
    _check.need(name, "network", network, _check.a(nn.Cell))
    if dtype not in (mstype.float16, mstype.bfloat16):
        raise _check.refused(name, "dtype", _check.dtypes("float16", "bfloat16"), dtype, ValueError)


@functools.cache
def _lower_class(primitive, dtype):
    def __call__(self, *args):
        before = _C.compute_dtype()
        try:
            _C.compute_in(dtype)
            out = primitive.__call__(self, *args)
        finally:
            _C.compute_in(before)
        return _to_float32(None, None, out)
    return type(primitive.__name__, (primitive,), {"__call__": __call__, "__module__": primitive.__module__,
                                                   "__qualname__": primitive.__qualname__})


def _white(network, types, dtype):
    for _, cell in network.cells_and_names():
        if isinstance(cell, types):
            cell.to_float(dtype)
            cell.register_forward_hook(_to_float32)
            continue
        for name, value in list(vars(cell).items()):
            if isinstance(value, Primitive) and isinstance(value, types):
                lower = copy.copy(value)  # others may hold the primitive, too
                lower.__class__ = _lower_class(type(value), dtype)
                setattr(cell, name, lower)


def _lower(network, types, dtype):
    network.to_float(dtype)
    for _, cell in network.cells_and_names():
        if isinstance(cell, types):
            cell.to_float(mstype.float32)


def _black(network, types, dtype):
    _lower(network, types, dtype)
    network.register_forward_hook(_to_float32)


def auto_mixed_precision(network: Cell, amp_level: str = "O0", dtype: DType = mstype.float16) -> Cell:
    """network, changed to compute by level: O0 as it is.

    O1 the layers of the white list in `dtype`, and its primitives that are attributes of cells; O2 all but the layers
    of the black list; O3 all.

    Parameters stay in float32, and so do the network's results."""
    _checked("auto_mixed_precision", network, dtype)
    if amp_level == "O1":
        _white(network, tuple(_WHITE), dtype)
    elif amp_level in ("O2", "auto"):
        _black(network, tuple(_BLACK), dtype)
    elif amp_level == "O3":
        _black(network, (), dtype)
    elif amp_level != "O0":
        raise _check.refused("auto_mixed_precision", "amp_level", _check.one_of("O0", "O1", "O2", "O3", "auto"),
                             amp_level)
    return network


def custom_mixed_precision(network: Cell, *, white_list: Any = None, black_list: Any = None,
                           dtype: DType = mstype.float16) -> Cell:
    """network, with the layers of white_list in `dtype` and its primitives that are attributes of cells.

    Or all but the layers of black_list; exactly one of them must be given.

    Raises TypeError for a list that holds anything but subclasses of Cell and, a white one, of Primitive."""
    _checked("custom_mixed_precision", network, dtype)
    if (white_list is None) == (black_list is None):
        raise _check.exactly_one("custom_mixed_precision", "white_list", "black_list")
    for name, given, kinds in (("white_list", white_list, (nn.Cell, Primitive)), ("black_list", black_list, nn.Cell)):
        for t in given or ():
            if not isinstance(t, type) or not issubclass(t, kinds):
                what = "Cell" if kinds is nn.Cell else "Cell and Primitive"
                raise _check.refused("custom_mixed_precision", name, _check.value(f"hold subclasses of {what}"), t,
                                     TypeError)
    if white_list is not None:
        _white(network, tuple(white_list), dtype)
    else:
        _black(network, tuple(black_list), dtype)
    return network


def checked_level(name: str, level: str) -> str:
    """One of the levels of auto_mixed_precision; ValueError for anything else."""
    _check.need(name, "the level", level, _check.one_of("O0", "O1", "O2", "O3", "auto"))
    return level


class WithLossCell(nn.WithLossCell):
    """loss_fn(backbone(data), label) with the backbone's outputs as float32."""

    def construct(self, data: Any, label: Any) -> Any:
        return self._loss_fn(_to_float32(None, None, self._backbone(data)), label)


_STEP_OPTIONS = ("cast_model_type", "keep_batchnorm_fp32", "loss_scale_manager")


def build_train_network(network: Cell, optimizer: Optimizer, loss_fn: Cell | Callable[..., Any] = None,
                        level: str = "O0", boost_level: str = "O0",
                        **kwargs: Any) -> TrainOneStepCell | TrainOneStepWithLossScaleCell:
    """One training step as a Cell: network (with loss_fn) at a level of auto_mixed_precision, gradients, optimizer.

    level O2 scales the loss dynamically and keeps batch normalisation in float32; cast_model_type (float16, float32 or
    bfloat16), keep_batchnorm_fp32 and loss_scale_manager (a LossScaleManager or None) override that. boost_level:
    accepted, all levels are alike. In this step the network's own outputs stay in low precision at O2 and O3; the loss
    gets them as float32."""
    _check.need("build_train_network", "network", network, _check.a(nn.Cell))
    if not isinstance(optimizer, nn.Cell):
        raise _check.refused("build_train_network", "optimizer", _check.type_("an Optimizer"), optimizer)
    if loss_fn is not None and not callable(loss_fn):
        raise _check.refused("build_train_network", "loss_fn", _check.type_("a Cell or a function"), loss_fn)
    checked_level("build_train_network", level)
    _check.need("build_train_network", "boost_level", boost_level, _check.one_of("O0", "O1", "O2"))
    for key in kwargs:
        _check.need("build_train_network", "an option", key, _check.one_of(*_STEP_OPTIONS))
    manager = (kwargs["loss_scale_manager"] if "loss_scale_manager" in kwargs else DynamicLossScaleManager()
               if level == "O2" else None)
    _check.need("build_train_network", "loss_scale_manager", manager, _check.optional(_check.a(LossScaleManager)))
    low = kwargs.get("cast_model_type", mstype.float16 if level in ("O2", "O3") else mstype.float32)
    if low not in (mstype.float16, mstype.bfloat16, mstype.float32):
        raise _check.refused("build_train_network", "cast_model_type", _check.dtypes("float16", "bfloat16", "float32"),
                             low, ValueError)
    with_loss = nn.WithLossCell
    if low is not mstype.float32:
        keep = kwargs.get("keep_batchnorm_fp32")
        _lower(network, tuple(_BATCH_NORM) if (level == "O2" if keep is None else keep) else (), low)
        with_loss = WithLossCell
    elif level in ("O1", "auto"):
        auto_mixed_precision(network, level)
    if loss_fn is not None:
        network = with_loss(network, loss_fn)
    if manager is None:
        return nn.TrainOneStepCell(network, optimizer).set_train()
    update = manager.get_update_cell()
    if update is None:
        return nn.TrainOneStepCell(network, optimizer, manager.get_loss_scale()).set_train()
    return nn.TrainOneStepWithLossScaleCell(network, optimizer, update).set_train()


def all_finite(inputs: Any) -> Tensor:
    """Whether no element of the tensors is infinite or NaN, as a bool tensor."""
    parts = [F.all(F.isfinite(x)) for x in (inputs if isinstance(inputs, (tuple, list)) else (inputs,))]
    if not parts:
        raise _check.empty("all_finite", "inputs")
    return F.all(F.stack(parts, 0))


def _mapped(f, inputs):
    if isinstance(inputs, (tuple, list)):
        return _like(inputs, [f(x) for x in inputs])
    return f(inputs)


class LossScaler:
    """Base of loss scalers: scale(loss), unscale(gradients), adjust(gradients are finite)."""

    def scale(self, inputs: Any) -> Any:
        """inputs times the scale."""
        return _mapped(lambda x: x * F.cast(self.scale_value, x.dtype), inputs)

    def unscale(self, inputs: Any) -> Any:
        """inputs over the scale."""
        return _mapped(lambda x: x * F.cast(1.0 / self.scale_value, x.dtype), inputs)


def _at_least_one(owner, **numbers):
    for name, value in numbers.items():
        _check.need(owner, name, value, _check.NUMBER, _check.at_least(1))


class StaticLossScaler(LossScaler):
    """A scale that stays."""

    def __init__(self, scale_value: float) -> None:
        _at_least_one("StaticLossScaler", scale_value=scale_value)
        self.scale_value: Parameter = Parameter(Tensor(float(scale_value), mstype.float32), name="scale_value")

    def adjust(self, grads_finite: Any) -> bool:  # noqa: ARG002
        """False: nothing changes."""
        return False


class DynamicLossScaler(LossScaler):
    """A scale that is divided by scale_factor where gradients overflow.

    It is multiplied by it after scale_window steps without."""

    scale_factor: Any
    scale_window: Any

    def __init__(self, scale_value: float, scale_factor: float, scale_window: int) -> None:
        if not isinstance(scale_window, int):
            raise _check.refused("DynamicLossScaler", "scale_window", _check.INT, scale_window)
        _at_least_one("DynamicLossScaler", scale_value=scale_value, scale_factor=scale_factor,
                      scale_window=scale_window)
        self.scale_value: Parameter = Parameter(Tensor(float(scale_value), mstype.float32), name="scale_value")
        self.scale_factor, self.scale_window = scale_factor, scale_window
        self.counter: Parameter = Parameter(Tensor(0, mstype.int32), name="counter")

    def adjust(self, grads_finite: Any) -> bool:
        """Updates the scale; True."""
        _adjust(self.scale_value, self.counter, grads_finite, self.scale_factor, self.scale_window)
        return True


def _adjust(scale, counter, finite, factor, window):
    full = counter >= window - 1
    grown = F.select(full, scale * float(factor), scale)
    grown = F.select(F.isfinite(grown), grown, scale)
    scale._assign(F.select(finite, grown, F.maximum(scale / float(factor), 1.0)))
    counter._assign(F.select(F.logical_and(finite, F.logical_not(full)), counter + 1, F.zeros_like(counter)))


class LossScaleManager:
    """Base of loss-scale managers: get_loss_scale(), update_loss_scale(overflow), get_update_cell()."""

    def get_loss_scale(self) -> Any:
        """The scale."""

    def update_loss_scale(self, overflow: bool) -> None:
        """Takes note of one step."""

    def get_drop_overflow_update(self) -> bool:
        """Whether steps whose gradients overflow are left out."""
        return False

    def get_update_cell(self) -> Any:
        """The cell for TrainOneStepWithLossScaleCell, or None."""
        return None


class FixedLossScaleManager(LossScaleManager):
    """A scale that stays; drop_overflow_update: steps whose gradients overflow are left out."""

    def __init__(self, loss_scale: float = 128.0, drop_overflow_update: bool = True) -> None:
        _at_least_one("FixedLossScaleManager", loss_scale=loss_scale)
        self._loss_scale, self._drop_overflow_update = loss_scale, drop_overflow_update

    def get_loss_scale(self) -> float:
        """The scale."""
        return self._loss_scale

    def get_drop_overflow_update(self) -> bool:
        """Whether steps whose gradients overflow are left out."""
        return self._drop_overflow_update

    def update_loss_scale(self, overflow: bool) -> None:
        """Nothing changes."""

    def get_update_cell(self) -> FixedLossScaleUpdateCell | None:
        """The cell for TrainOneStepWithLossScaleCell, or None if overflow does not matter."""
        return nn.FixedLossScaleUpdateCell(self._loss_scale) if self._drop_overflow_update else None


class DynamicLossScaleManager(LossScaleManager):
    """A scale that is divided by scale_factor where gradients overflow.

    It is multiplied by it after scale_window steps without."""

    loss_scale: Any
    scale_factor: float
    scale_window: int
    good_steps: int

    def __init__(self, init_loss_scale: float = 2 ** 24, scale_factor: float = 2, scale_window: int = 2000) -> None:
        _at_least_one("DynamicLossScaleManager", init_loss_scale=init_loss_scale, scale_factor=scale_factor,
                      scale_window=scale_window)
        self.loss_scale, self.scale_factor, self.scale_window, self.good_steps = (init_loss_scale, scale_factor,
            scale_window, 0)

    def get_loss_scale(self) -> float:
        """The scale."""
        return self.loss_scale

    def get_drop_overflow_update(self) -> bool:
        """True."""
        return True

    def update_loss_scale(self, overflow: bool) -> None:
        """Takes note of one step."""
        if overflow:
            self.loss_scale, self.good_steps = max(self.loss_scale / self.scale_factor, 1), 0
            return
        self.good_steps += 1
        if self.good_steps >= self.scale_window:
            self.loss_scale, self.good_steps = self.loss_scale * self.scale_factor, 0

    def get_update_cell(self) -> DynamicLossScaleUpdateCell:
        """The cell for TrainOneStepWithLossScaleCell."""
        return nn.DynamicLossScaleUpdateCell(self.loss_scale, self.scale_factor, self.scale_window)
