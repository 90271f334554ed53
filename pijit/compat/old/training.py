"""What training loops take from MindSpore's inner modules."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from pijit import mint
from pijit._C import Tensor
from pijit.compat.old import checkparam
from pijit.context import ParallelMode  # noqa: F401
from pijit.mint import distributed
from pijit.nn.cell import Cell
from pijit.nn.loss import LossBase
from pijit._attribute_error import attribute_error
from pijit.parallel import _auto_parallel_context
from pijit.ops import composite, function as F
from pijit.ops.function.elementwise import _like
from pijit.sparse_tensor import RowTensor

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_Loss = LossBase


def _is_sharding_propagation():
    """False: there is one device."""
    return False


_is_in_auto_parallel_mode = _is_in_data_parallel_mode = _is_in_hybrid_parallel_mode = _is_parallel_mode = (
    _is_sharding_propagation
)


def _get_stage_device_num():
    """The number of a stage's devices: 1."""
    return 1


def _grad_scale_map(scale_value, inputs):
    """Each Tensor, also in tuples and lists, times the scale."""
    if isinstance(inputs, (tuple, list)):
        return _like(inputs, [_grad_scale_map(scale_value, x) for x in inputs])
    return inputs * F.cast(scale_value, inputs.dtype) if isinstance(inputs, Tensor) else inputs


_grad_scale = composite.MultitypeFuncGraph("grad_scale")


@_grad_scale.register("Tensor", "Tensor")
def tensor_grad_scale(scale: Any, grad: Any) -> Any:
    """A gradient divided by the scale of the loss."""
    return grad * F.cast(F.reciprocal(scale), grad.dtype)


@_grad_scale.register("Tensor", "RowTensor")
def _(scale, grad):
    return RowTensor(grad.indices, grad.values * F.cast(F.reciprocal(scale), grad.values.dtype), grad.dense_shape)


grad_scale = _grad_scale


class _VirtualDatasetCell(Cell):
    """A network whose inputs are the dataset's."""

    def __init__(self, backbone: Cell) -> None:
        super().__init__(auto_prefix=False)
        self._backbone = backbone

    def construct(self, *inputs: Any) -> Any:
        return self._backbone(*inputs)


class AutoParallel(Cell):
    """A network and how it is divided over devices; there is one, so it runs as it is.

    Args:
        network (Cell, function): the network.
        parallel_mode (str): "semi_auto", "sharding_propagation" or "recursive_programming". Default: "semi_auto".

    Raises:
        TypeError: if the network is no Cell or function.
        ValueError: for another mode.
    """

    network: Callable[..., Any]
    no_init_parameters_in_compile: Callable[..., None]
    load_param_strategy_file: Callable[..., None]
    save_param_strategy_file: Callable[..., None]
    load_operator_strategy_file: Callable[..., None]
    save_operator_strategy_file: Callable[..., None]
    dataset_strategy: Callable[..., None]
    hsdp: Callable[..., None]
    pipeline: Callable[..., None]
    comm_fusion: Callable[..., None]
    set_group_ckpt_save_file: Callable[..., None]
    enable_gradients_mean: Callable[..., None]
    enable_fp32_communication: Callable[..., None]
    disable_strategy_file_only_for_trainable_params: Callable[..., None]
    parameter_broadcast: Callable[..., None]
    transformer_opt: Callable[..., None]
    print_local_norm: Callable[..., None]
    dump_local_norm: Callable[..., None]

    def __init__(self, network: Callable[..., Any], parallel_mode: str = "semi_auto") -> None:
        super().__init__(auto_prefix=False)
        if not callable(network):
            raise TypeError(f"AutoParallel: 'network' has to be a Cell or function, not {network!r}.")
        checkparam.check_string(
            parallel_mode,
            ("semi_auto", "sharding_propagation", "recursive_programming"),
            "parallel_mode",
            "AutoParallel",
        )
        self.network, self._parallel_mode = network, parallel_mode

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        return self.network(*args, **kwargs)

    def _kept(self, *args, **kwargs):
        """Kept for its name: there is one device."""

    (
        no_init_parameters_in_compile,
        load_param_strategy_file,
        save_param_strategy_file,
        load_operator_strategy_file,
        save_operator_strategy_file,
        dataset_strategy,
        hsdp,
        pipeline,
        comm_fusion,
        set_group_ckpt_save_file,
        enable_gradients_mean,
        enable_fp32_communication,
        disable_strategy_file_only_for_trainable_params,
        parameter_broadcast,
        transformer_opt,
        print_local_norm,
        dump_local_norm,
    ) = (_kept,) * 17


class _AutoParallelContext:
    """Options of training on several devices, by functions: `get_<option>()`, `set_<option>(value)`. AttributeError for
    an unknown one."""

    def __init__(self) -> None:
        self._splits = {}

    def __getattr__(self, name: str) -> Any:
        action, _, option = name.partition("_")
        if option in _auto_parallel_context._OPTIONS and action == "get":
            return lambda: _auto_parallel_context.get_auto_parallel_context(option)
        if option in _auto_parallel_context._OPTIONS and action == "set":
            return lambda value: _auto_parallel_context.set_auto_parallel_context(**{option: value})
        raise attribute_error(f"there is no {name!r} among the options of set_auto_parallel_context.", name)

    def reset(self) -> None:
        """All options as they were at the start."""
        self._splits.clear()
        _auto_parallel_context.reset_auto_parallel_context()

    def _set_split(self, what, split, group):
        checkparam.check_element_type_of_iterable(what, split, int, "auto_parallel_context")
        self._splits[what, group] = list(split)

    def set_all_reduce_fusion_split_indices(self, indices: Any, group: str = "") -> None:
        """After which gradients a new message between processes begins: kept, as there is one process. TypeError for no
        ints."""
        self._set_split("indices", indices, group)

    def get_all_reduce_fusion_split_indices(self, group: str = "") -> Any:
        """What was set."""
        return self._splits.get(("indices", group), [])

    def set_all_reduce_fusion_split_sizes(self, sizes: Any, group: str = "") -> None:
        """As the indices, by parts of all bytes."""
        self._set_split("sizes", sizes, group)

    def get_all_reduce_fusion_split_sizes(self, group: str = "") -> Any:
        """What was set."""
        return self._splits.get(("sizes", group), [])


_context = _AutoParallelContext()


def auto_parallel_context() -> _AutoParallelContext:
    """The options of training on several devices, as an object."""
    return _context


def _make_directory(path, arg_name="path"):
    """Makes a folder, if it isn't there. Returns its real path. TypeError for no str, ValueError for a blank one."""
    checkparam.check_value_type(arg_name, path, str)
    if not path.strip():
        raise ValueError(f"{arg_name!r} has to name a folder, not {path!r}.")
    path = os.path.realpath(path)
    os.makedirs(path, mode=0o700, exist_ok=True)
    return path


def check_value_type(arg_name: str, arg_value: Any, valid_types: Any) -> Any:
    """As the check of the same name."""
    return checkparam.check_value_type(arg_name, arg_value, valid_types)


def _handle_loss(loss):
    """The number that callbacks show of a network's output: the first of a tuple or list, the mean of a Tensor."""
    if isinstance(loss, (tuple, list)) and loss and isinstance(loss[0], Tensor):
        loss = loss[0]
    if isinstance(loss, Tensor):
        return float(np.mean(loss.asnumpy()))
    return loss


def _to_full_shapes(shapes, device_num):
    """Shapes of whole batches, from those of one device's part."""
    return [(shape[0] * device_num, *shape[1:]) if len(shape) else () for shape in shapes]


def _to_full_tensor(elem, global_device_num, global_rank, scaling_sens=None):
    """Arrays as Tensors: one device's part is the whole."""
    lst = tuple(
        x if isinstance(x, Tensor) else Tensor(x) for x in (elem if isinstance(elem, (tuple, list)) else (elem,))
    )
    return lst + (Tensor(scaling_sens, lst[0].dtype),) if scaling_sens else lst


class FusedAdamW(mint.optim.AdamW):
    """mint.optim.AdamW under another name: steps are one graph in any case."""


def send_object_list(object_list: Any, dst: int = 0, group: str | None = None, device: Any = None) -> Any:
    """Another process is needed: RuntimeError."""
    raise distributed.more_than_one("send_object_list", f"'dst' is {dst}")


def recv_object_list(object_list: Any, src: int = 0, group: str | None = None, device: Any = None) -> Any:
    """Another process is needed: RuntimeError."""
    raise distributed.more_than_one("recv_object_list", f"'src' is {src}")
