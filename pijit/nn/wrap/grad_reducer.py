"""Gradients over several processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit.communication import _collectives
from pijit.communication._comm_helper import group_of, need_processes
from pijit.nn.cell import Cell
from pijit.parallel._auto_parallel_context import get_auto_parallel_context

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import TensorLike

_MEGABYTE = 1 << 20
_BUCKET = 4 * _MEGABYTE  # bytes of gradients that travel together


def bucket_bytes() -> int:
    """How many bytes of gradients travel together: what comm_fusion of the parallel context says by "size", else 4
    MB."""
    fusion = (get_auto_parallel_context("comm_fusion") or {}).get("allreduce") or {}
    size = fusion.get("config") if fusion.get("mode") == "size" else None
    return int(size * _MEGABYTE) if isinstance(size, (int, float)) and size > 0 else _BUCKET


def buckets_of(tensors: Any, limit: int) -> list[list[int]]:
    """The places of tensors of one dtype that travel together, `limit` bytes or, with the last of them, more. The
    last come first, as the backward pass is done with them first."""
    dtypes, held, out, bytes_of = [], [], [], []
    for k in range(len(tensors) - 1, -1, -1):
        t = tensors[k]
        size = t.size * t.itemsize
        at = -1
        for j, dtype in enumerate(dtypes):
            if dtype == t.dtype:
                at = j
        if at < 0:
            dtypes.append(t.dtype)
            held.append(_begun(out))
            bytes_of.append(0)
            at = len(dtypes) - 1
        if held[at] and bytes_of[at] >= limit:
            held[at] = _begun(out)
            bytes_of[at] = 0
        held[at].append(k)
        bytes_of[at] += size
    return out


def _begun(out: list[list[int]]) -> list[int]:
    """A new last list of a list of lists."""
    new: list[int] = []
    out.append(new)
    return new


def reduced(gradients: Any, group: Any, factor: float, limit: int) -> tuple[Any, ...]:
    """The sums of gradients over a group's processes, times a factor. All buckets are on their way before the first is
    waited for; in a graph each leaves as soon as the backward pass has made it."""
    gradients = tuple(gradients)
    buckets = buckets_of(gradients, limit)
    tickets = [_collectives.start_all_reduce([gradients[k] for k in bucket], "sum", group) for bucket in buckets]
    out = [None] * len(gradients)
    for bucket, ticket in zip(buckets, tickets):
        dtype, count = gradients[bucket[0]].dtype, 0
        for k in bucket:
            count += gradients[k].size
        flat, at = _collectives.wait_all_reduce(ticket, count, dtype), 0
        for k in bucket:
            g = gradients[k]
            part = flat[at:at + g.size].reshape(g.shape)
            at += g.size
            out[k] = part if factor == 1.0 else part * factor
    return tuple(out)


def broadcast_parameters(network: Cell, group: Any = None) -> None:
    """Gives all parameters and what else a network holds the values of rank 0, so that all processes begin alike."""
    members = group_of("parameter_broadcast", group)
    if members.size > 1:
        for p in network.get_parameters():
            p._assign(_collectives.broadcast(p, 0, members))


class DistributedGradReducer(Cell):
    """The gradients' sum or mean over all processes of a group; alone the gradients as they are.

    parameters: the parameters that are trained. mean: whether sums are divided by degree; None: as gradients_mean of
    the parallel context says. degree: the number that is divided by, None: of the processes. fusion_type is
    accepted."""

    def __init__(self, parameters: Any, mean: TensorLike | None = None, degree: Any = None, fusion_type: int = 1,
                 group: str = "hccl_world_group") -> None:
        super().__init__(auto_prefix=False)
        need_processes("DistributedGradReducer")
        _check.need("DistributedGradReducer", "mean", mean, _check.optional(_check.BOOL))
        if degree is not None and (isinstance(degree, bool) or not isinstance(degree, int) or degree < 1):
            raise _check.refused("DistributedGradReducer", "degree", _check.value("be an int greater than 0"), degree)
        self._group = group_of("DistributedGradReducer", group)
        self.degree: int = degree or self._group.size
        self.mean: bool = get_auto_parallel_context("gradients_mean") if mean is None else bool(mean)
        self._limit = bucket_bytes()

    def construct(self, grads: Any) -> Any:
        factor = 1.0 / self.degree if self.mean else 1.0
        if self._group.size > 1:
            return reduced(grads, self._group, factor, self._limit)
        if factor == 1.0:
            return grads
        return tuple([g * factor for g in grads])


class PipelineGradReducer(DistributedGradReducer):
    """The gradients as they are: there is one stage."""

    def __init__(self, parameters: Any, scale_sense: float = 1.0, opt_shard: Any = None) -> None:
        super().__init__(parameters, mean=False)

    def construct(self, grads: Any) -> Any:
        return grads


__all__ = ["DistributedGradReducer", "PipelineGradReducer"]
