"""Collective operators as primitives. There is one process, so that values stay as they are; what names another process
raises RuntimeError when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit._C import ops as _ops
from pijit.ops.primitive import Primitive

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import Tensor
    from pijit._types import DTypeLike, Shape

_WORLD = "hccl_world_group"


class ReduceOp:
    """Names of reductions."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"
    PROD = "prod"


def _alone(name):
    return RuntimeError(f"For '{name}', another process is needed, but there is one process (rank 0 of 1): "
                        "training on several processes or devices is not supported.")


class _Collective(Primitive):
    """A value of one process, which it stays."""

    def __init__(self, group: str = _WORLD) -> None:
        super().__init__()
        if not isinstance(group, str):
            raise _check.refused(type(self).__name__, "group", _check.STR, group)
        self.group = group

    def __call__(self, x: Tensor) -> Tensor:
        return _ops["identity"](x)


class _Reduction(_Collective):
    def __init__(self, op: str = ReduceOp.SUM, group: str = _WORLD) -> None:
        super().__init__(group)
        if not isinstance(op, str):
            raise _check.refused(type(self).__name__, "op", _check.STR, op)
        if op not in ("sum", "max", "min", "prod"):
            raise _check.refused(type(self).__name__, "op", _check.one_of("sum", "max", "min", "prod"), op)
        self.op = op


class _Rooted(_Collective):
    def __init__(self, root_rank: Any, group: str = _WORLD) -> None:
        super().__init__(group)
        if isinstance(root_rank, bool) or not isinstance(root_rank, int):
            raise _check.refused(type(self).__name__, "the rank", _check.INT, root_rank)
        self.root_rank = root_rank

    def __call__(self, x: Tensor) -> Tensor:
        if self.root_rank != 0:
            raise _alone(type(self).__name__)
        return _ops["identity"](x)


class AllReduce(_Reduction):
    """The sum, maximum, minimum or product over all processes."""


class ReduceScatter(_Reduction):
    """This process's part of a reduction over all processes."""


class AllGather(_Collective):
    """All processes' tensors, concatenated along the first dimension."""


class Barrier(_Collective):
    """Waits for all processes."""

    def __call__(self) -> None:
        return None


class Broadcast(_Rooted):
    """root_rank's tuple of tensors, at all processes."""

    def __call__(self, input_x: Tensor | tuple[Tensor, ...]) -> Any:
        if self.root_rank != 0:
            raise _alone("Broadcast")
        if isinstance(input_x, (tuple, list)):
            return tuple([_ops["identity"](x) for x in input_x])
        return _ops["identity"](input_x)


class Reduce(_Rooted):
    """The reduction over all processes, at dest_rank."""

    def __init__(self, dest_rank: Any, op: str = ReduceOp.SUM, group: str = _WORLD) -> None:
        super().__init__(dest_rank, group)
        self.op: Any = _Reduction(op, group).op


class CollectiveGather(_Rooted):
    """All processes' tensors, concatenated along the first dimension, at dest_rank."""

    def __init__(self, dest_rank: Any, group: str = _WORLD) -> None:
        super().__init__(dest_rank, group)


class CollectiveScatter(_Rooted):
    """This process's part of src_rank's tensor."""

    def __init__(self, src_rank: int = 0, group: str = _WORLD) -> None:
        super().__init__(src_rank, group)


class AlltoAll(_Collective):
    """Parts along split_dim go to all processes and come back along concat_dim. split_count: the number of processes,
    1."""

    split_count: Any
    split_dim: Any
    concat_dim: Any

    def __init__(self, split_count: Any, split_dim: Any, concat_dim: Any, group: str = _WORLD) -> None:
        super().__init__(group)
        for name, value in (("split_count", split_count), ("split_dim", split_dim), ("concat_dim", concat_dim)):
            if isinstance(value, bool) or not isinstance(value, int):
                raise _check.refused("AlltoAll", name, _check.INT, value)
        self.split_count, self.split_dim, self.concat_dim = split_count, split_dim, concat_dim

    def __call__(self, input_x: Tensor) -> Tensor:
        if self.split_count != 1:
            raise _alone("AlltoAll")
        return _ops["identity"](input_x)


class _BetweenTwo(Primitive):
    """Something that takes two processes."""

    def __call__(self, *inputs: Any) -> Any:
        raise _alone(type(self).__name__)


class Send(_BetweenTwo):
    """Sends a tensor to another process."""

    sr_tag: Any
    dest_rank: Any
    group: str
    group_back: Any

    def __init__(self, sr_tag: Any, dest_rank: Any, group: str = _WORLD, group_back: Any = _WORLD) -> None:
        super().__init__()
        self.sr_tag, self.dest_rank, self.group, self.group_back = sr_tag, dest_rank, group, group_back


class Receive(_BetweenTwo):
    """Receives a tensor from another process."""

    sr_tag: Any
    src_rank: int
    shape: Shape
    dtype: DTypeLike
    group: str
    group_back: Any

    def __init__(self, sr_tag: Any, src_rank: int, shape: Shape, dtype: DTypeLike, group: str = _WORLD,
                 group_back: Any = _WORLD) -> None:
        super().__init__()
        self.sr_tag, self.src_rank, self.shape, self.dtype, self.group, self.group_back = (sr_tag, src_rank, shape,
            dtype, group, group_back)


class NeighborExchange(_BetweenTwo):
    """Exchanges tensors with other processes."""

    send_rank_ids: Any
    recv_rank_ids: Any
    recv_shapes: Any
    send_shapes: Any
    recv_type: Any
    group: str

    def __init__(self, send_rank_ids: Any, recv_rank_ids: Any, recv_shapes: Any, send_shapes: Any, recv_type: Any,
                 group: str = _WORLD) -> None:
        super().__init__()
        self.send_rank_ids, self.recv_rank_ids, self.recv_shapes, self.send_shapes = (send_rank_ids, recv_rank_ids,
            recv_shapes, send_shapes)
        self.recv_type, self.group = recv_type, group


__all__ = ["AllGather", "AllReduce", "AlltoAll", "Barrier", "Broadcast", "CollectiveGather", "CollectiveScatter",
           "NeighborExchange", "Receive", "Reduce",
           "ReduceOp", "ReduceScatter", "Send"]
