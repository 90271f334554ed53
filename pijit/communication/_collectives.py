"""Collective operations on Tensors: ops of the graph, which eager code and captured code call alike. In a group of one
process values stay as they are.

Ranks are those in the group. `name` is what errors call the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor
from pijit._C import ops as _ops

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit.communication._comm_helper import Group


def all_reduce(x: Tensor, op: str, group: Group) -> Tensor:
    """The reduction over all members, at all."""
    return _ops["identity"](x) if group.size == 1 else _ops["all_reduce"](x, op=op, group=group.inner,
                                                                         ranks=group.size)


def all_gather(x: Tensor, group: Group) -> Tensor:
    """All members' tensors, one behind the other along the first axis."""
    return _ops["identity"](x) if group.size == 1 else _ops["all_gather"](x, group=group.inner, ranks=group.size)


def all_gather_uneven(x: Tensor, sizes: Sequence[int], group: Group) -> Tensor:
    """All members' vectors, one behind the other, where they have other sizes, which are given by member."""
    from pijit.ops import function as F
    most, flat = max(sizes), x.reshape((-1,))
    if x.size < most:
        flat = F.concat([flat, F.zeros((most - x.size,), x.dtype)], 0)
    rows = all_gather(flat, group)
    parts = [rows[k * most:k * most + n] for k, n in enumerate(sizes)]
    return F.concat(parts, 0) if len(parts) > 1 else parts[0]


def reduce_scatter(x: Tensor, op: str, group: Group) -> Tensor:
    """This member's part, along the first axis, of the reduction."""
    return _ops["identity"](x) if group.size == 1 else _ops["reduce_scatter"](x, op=op, group=group.inner,
                                                                             ranks=group.size)


def broadcast(x: Tensor, root: int, group: Group) -> Tensor:
    """root's tensor, at all members."""
    return _ops["identity"](x) if group.size == 1 else _ops["broadcast"](x, root=root, own=group.own,
                                                                        group=group.inner, ranks=group.size)


def reduce(x: Tensor, root: int, op: str, group: Group) -> Tensor:
    """The reduction at root, x at the others."""
    return _ops["identity"](x) if group.size == 1 else _ops["reduce_to"](x, op=op, root=root, own=group.own,
                                                                        group=group.inner, ranks=group.size)


def gather(x: Tensor, root: int, group: Group) -> Tensor:
    """All members' tensors at root, one zero at the others."""
    return _ops["identity"](x) if group.size == 1 else _ops["gather_to"](x, root=root, own=group.own,
                                                                        group=group.inner, ranks=group.size)


def scatter(x: Tensor, root: int, group: Group) -> Tensor:
    """This member's part of root's tensor."""
    return _ops["identity"](x) if group.size == 1 else _ops["scatter_from"](x, root=root, own=group.own,
                                                                           group=group.inner, ranks=group.size)


def all_to_all(x: Tensor, send: Sequence[int], receive: Sequence[int], group: Group) -> Tensor:
    """Of a vector: send[i] elements go to member i; receive[i] come from it."""
    if group.size == 1:
        return _ops["identity"](x)
    return _ops["all_to_all"](x, send=tuple(send), receive=tuple(receive), group=group.inner, ranks=group.size)


def barrier(group: Group) -> None:
    """Waits for all members."""
    if group.size > 1:
        _ops["barrier"](Tensor(0, mstype.int32), group=group.inner, ranks=group.size)


def send(x: Tensor, peer: int, tag: int, group: Group) -> Tensor:
    """Sends a copy to a member; a zero."""
    return _ops["send_to"](x, peer=peer, tag=tag, group=group.inner)


def receive(shape: Sequence[int], dtype: Any, peer: int, tag: int, group: Group) -> Tensor:
    """What a member sends."""
    return _ops["receive_from"](shape=tuple(shape), dtype=dtype, peer=peer, tag=tag, group=group.inner)


def start_all_reduce(xs: Sequence[Tensor], op: str, group: Group) -> Tensor:
    """Starts the reduction of tensors of one dtype; a ticket."""
    return _ops["all_reduce_start"](None, tuple(xs), op=op, group=group.inner, ranks=group.size)


def wait_all_reduce(ticket: Tensor, count: int, dtype: Any) -> Tensor:
    """The reduction that was started, as one vector."""
    return _ops["all_reduce_wait"](ticket, count=count, dtype=dtype)


def equal_parts(name: str, what: str, size: int, group: Group) -> int:
    """An n-th of a size. ValueError where it cannot be divided."""
    if size % group.size:
        raise _check.refused(name, what, _check.value(f"be divisible by the {group.size} processes of the group"), size)
    return size // group.size
