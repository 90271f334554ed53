"""Collective functions among processes, of which there is one: values stay as they are.

With async_op they give (value, handle), where the handle's wait() does nothing. What names another process than 0
raises RuntimeError."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit._C import ops as _ops, Tensor
from pijit.communication._comm_helper import GlobalComm, check_group, more_than_one
from pijit.communication.management import _need_init

if TYPE_CHECKING:
    from typing import Any

_WORLD = GlobalComm.WORLD_COMM_GROUP
_REDUCTIONS = ("sum", "max", "min", "prod")


class CommHandle:
    """What an asynchronous call gives: it has ended."""

    def wait(self) -> None:
        """Nothing is left to wait for."""


def _checked(name, tensor, group, op="sum"):
    _check.need(name, "tensor", tensor, _check.TENSOR)
    _check.need(name, "op", op, _check.STR, _check.one_of(*_REDUCTIONS))
    _need_init(name)
    check_group(name, _WORLD if group is None else group)
    return _ops["identity"](tensor)


def _rank(name, what, rank):
    _check.need(name, what, rank, _check.INT)
    if rank != 0:
        raise more_than_one(name, f"'{what}' is {rank}")


def _given(value, async_op):
    return value, CommHandle() if async_op else None


def all_reduce(tensor: Any, op: str = "sum", group: str = _WORLD,
               async_op: bool = False) -> tuple[Tensor, CommHandle | None]:
    """(the sum, maximum, minimum or product over all processes, handle or None)."""
    return _given(_checked("all_reduce", tensor, group, op), async_op)


def all_gather_into_tensor(tensor: Any, group: str = _WORLD,
                           async_op: bool = False) -> tuple[Tensor, CommHandle | None]:
    """(all processes' tensors, concatenated along the first dimension; handle or None)."""
    return _given(_checked("all_gather_into_tensor", tensor, group), async_op)


def reduce_scatter_tensor(tensor: Any, op: str = "sum", group: str = _WORLD,
                          async_op: bool = False) -> tuple[Tensor, CommHandle | None]:
    """(this process's part of the reduction over all, handle or None)."""
    return _given(_checked("reduce_scatter_tensor", tensor, group, op), async_op)


def reduce(tensor: Any, dst: int, op: str = "sum", group: str = _WORLD) -> Tensor:
    """The reduction over all processes, at dst."""
    _rank("reduce", "dst", dst)
    return _checked("reduce", tensor, group, op)


def broadcast(tensor: Any, src: int = 0, group: str = _WORLD) -> Tensor:
    """src's tensor, at all processes."""
    _rank("broadcast", "src", src)
    return _checked("broadcast", tensor, group)


def gather_into_tensor(tensor: Any, dst: int = 0, group: str = _WORLD) -> Tensor:
    """All processes' tensors, concatenated along the first dimension, at dst."""
    _rank("gather_into_tensor", "dst", dst)
    return _checked("gather_into_tensor", tensor, group)


def scatter_tensor(tensor: Any, src: int = 0, group: str = _WORLD) -> Tensor:
    """This process's part of src's tensor."""
    _rank("scatter_tensor", "src", src)
    return _checked("scatter_tensor", tensor, group)


def barrier(group: str = _WORLD) -> None:
    """Waits for all processes: there are no others."""
    _need_init("barrier")
    check_group("barrier", group)


def all_to_all_with_output_shape(output_shape_list: Any, input_tensor_list: Any, group: str | None = None,
                                 async_op: bool = False) -> tuple[tuple[Tensor], CommHandle | None]:
    """(a tuple of the tensors that the processes have for this one, handle or None). Shapes must be those of the
    inputs."""
    name = "all_to_all_with_output_shape"
    if not isinstance(output_shape_list, (list, tuple)) or not isinstance(input_tensor_list, (list, tuple)):
        raise _check.refused(name, "shapes and tensors", _check.value("be lists"),
                             _check.several(_check.type_name(output_shape_list), _check.type_name(input_tensor_list)),
                             TypeError)
    shapes = [tuple(s.shape) if isinstance(s, Tensor) else tuple(s) for s in output_shape_list]
    out = tuple([_checked(name, t, group) for t in input_tensor_list])
    if len(out) != 1 or shapes != [t.shape for t in out]:
        raise ValueError(
            f"For '{name}', with one process there must be one tensor of the shape that is asked for, but got "
            f"{[t.shape for t in out]} for {shapes}.")
    return _given(out, async_op)


def all_to_all_single_with_output_shape(output_shape: Any, tensor: Any, output_split_sizes: Any = None,
                                        input_split_sizes: Any = None, group: str | None = None,
                                        async_op: bool = False) -> tuple[Tensor, CommHandle | None]:
    """(the parts that the processes have for this one, handle or None). The shape must be the input's."""
    name = "all_to_all_single_with_output_shape"
    out = _checked(name, tensor, group)
    shape = tuple(output_shape.shape) if isinstance(output_shape, Tensor) else tuple(output_shape)
    for what, sizes in (("output_split_sizes", output_split_sizes), ("input_split_sizes", input_split_sizes)):
        if sizes is not None and list(sizes) != [tensor.shape[0]]:
            raise _check.refused(name, what, _check.value(f"be [{tensor.shape[0]}] with one process"), sizes)
    if shape != out.shape:
        raise _check.refused(name, "output_shape", _check.value(f"be {out.shape} with one process"), shape)
    return _given(out, async_op)


def _to_itself(name):
    return more_than_one(name, "a process can't send to or receive from itself")


def send(tensor: Any, dst: int = 0, group: str = _WORLD, tag: int = 0) -> Any:  # noqa: ARG001
    """Sends to another process: RuntimeError, as there is none."""
    _checked("send", tensor, group)
    raise _to_itself("send")


def recv(tensor: Any, src: int = 0, group: str = _WORLD, tag: int = 0) -> Any:  # noqa: ARG001
    """Receives from another process: RuntimeError, as there is none."""
    _checked("recv", tensor, group)
    raise _to_itself("recv")


def isend(tensor: Any, dst: int = 0, group: str = _WORLD, tag: int = 0) -> Any:  # noqa: ARG001
    """Sends to another process: RuntimeError, as there is none."""
    _checked("isend", tensor, group)
    raise _to_itself("isend")


def irecv(tensor: Any, src: int = 0, group: str = _WORLD, tag: int = 0) -> Any:  # noqa: ARG001
    """Receives from another process: RuntimeError, as there is none."""
    _checked("irecv", tensor, group)
    raise _to_itself("irecv")


def all_to_all_v_c(tensor: Any, send_count_matrix: Any, group: str | None = None,  # noqa: ARG001
                   async_op: bool = False) -> tuple[Tensor, CommHandle | None]:
    """(what the processes have for this one, by the counts of all; handle or None)."""
    return _given(_checked("all_to_all_v_c", tensor, group), async_op)


class P2POp:
    """One sending or receiving of batch_isend_irecv. op: isend, irecv, or their names."""

    tensor: Any
    peer: Any
    group: str | None
    tag: int
    recv_dtype: Any

    def __init__(self, op: Any, tensor: Any, peer: Any, group: str | None = None, tag: int = 0,
                 recv_dtype: Any = None) -> None:
        name = op if isinstance(op, str) else getattr(op, "__name__", None)
        if name not in ("isend", "irecv"):
            raise _check.refused("P2POp", "op", _check.value("be isend or irecv"), op, TypeError)
        self.op, self.tensor, self.peer, self.group, self.tag, self.recv_dtype = (name, tensor, peer, group, tag,
            recv_dtype)


def batch_isend_irecv(p2p_op_list: Any) -> Any:
    """Sends to and receives from other processes: RuntimeError, as there are none."""
    if not isinstance(p2p_op_list, list) or not p2p_op_list or not all(isinstance(p, P2POp) for p in p2p_op_list):
        raise _check.refused("batch_isend_irecv", "p2p_op_list", _check.value("be a list of P2POps that is not empty"),
                             p2p_op_list, TypeError)
    raise _to_itself("batch_isend_irecv")


__all__ = ["all_reduce", "all_gather_into_tensor", "all_to_all_with_output_shape",
           "all_to_all_single_with_output_shape", "all_to_all_v_c", "barrier", "broadcast",
           "gather_into_tensor", "isend", "irecv", "reduce_scatter_tensor", "reduce", "scatter_tensor", "send", "recv",
           "P2POp", "batch_isend_irecv"]
