"""Collective functions among processes. Alone, values stay as they are, and what names another process than 0 raises
RuntimeError.

With async_op they give (value, handle): all_reduce is then on its way while other code runs, and the value is there
when the handle's wait() has returned; the other functions have ended already. Ranks count in the world."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit._C import Tensor
from pijit.communication import _collectives
from pijit.communication._comm_helper import GlobalComm, failed, group_of, member_of, more_than_one
from pijit.communication.management import _need_init

if TYPE_CHECKING:
    from typing import Any

_WORLD = GlobalComm.WORLD_COMM_GROUP
_REDUCTIONS = ("sum", "max", "min", "prod")


class CommHandle:
    """What an asynchronous call gives. finish: what is left to do, once."""

    def __init__(self, finish: Any = None) -> None:
        self._finish = finish

    def wait(self) -> None:
        """Waits until the call's result is there."""
        if self._finish is not None:
            self._finish()  # where a signal's handler raises, another wait() goes on
            self._finish = None

    def is_completed(self) -> bool:
        """Whether wait() has nothing left to do."""
        return self._finish is None


def _checked(name, tensor, group, op="sum"):
    _check.need(name, "tensor", tensor, _check.TENSOR)
    _check.need(name, "op", op, _check.STR, _check.one_of(*_REDUCTIONS))
    _need_init(name)
    return group_of(name, group)


def _given(value, async_op):
    return value, CommHandle() if async_op else None


def _started_all_reduce(tensor, op, group):
    """(a Tensor that gets the result, the handle)."""
    ticket = _collectives.start_all_reduce([tensor], op, group)
    out = tensor.copy()

    def finish():
        flat = _collectives.wait_all_reduce(ticket, tensor.size, tensor.dtype)
        out._assign(flat.reshape(tensor.shape))
    return out, CommHandle(finish)


def all_reduce(tensor: Any, op: str = "sum", group: str = _WORLD,
               async_op: bool = False) -> tuple[Tensor, Any]:
    """(the sum, maximum, minimum or product over all processes, handle or None)."""
    members = _checked("all_reduce", tensor, group, op)
    if async_op and members.size > 1:
        return _started_all_reduce(tensor, op, members)
    return _given(_collectives.all_reduce(tensor, op, members), async_op)


def all_gather_into_tensor(tensor: Any, group: str = _WORLD,
                           async_op: bool = False) -> tuple[Tensor, CommHandle | None]:
    """(all processes' tensors, concatenated along the first dimension; handle or None)."""
    members = _checked("all_gather_into_tensor", tensor, group)
    return _given(_collectives.all_gather(tensor, members), async_op)


def reduce_scatter_tensor(tensor: Any, op: str = "sum", group: str = _WORLD,
                          async_op: bool = False) -> tuple[Tensor, CommHandle | None]:
    """(this process's part of the reduction over all, handle or None)."""
    members = _checked("reduce_scatter_tensor", tensor, group, op)
    return _given(_collectives.reduce_scatter(tensor, op, members), async_op)


def reduce(tensor: Any, dst: int, op: str = "sum", group: str = _WORLD) -> Tensor:
    """The reduction over all processes, at dst; elsewhere the tensor as it is."""
    members = _checked("reduce", tensor, group, op)
    return _collectives.reduce(tensor, member_of("reduce", "dst", dst, members), op, members)


def broadcast(tensor: Any, src: int = 0, group: str = _WORLD) -> Tensor:
    """src's tensor, at all processes."""
    members = _checked("broadcast", tensor, group)
    return _collectives.broadcast(tensor, member_of("broadcast", "src", src, members), members)


def gather_into_tensor(tensor: Any, dst: int = 0, group: str = _WORLD) -> Tensor:
    """All processes' tensors, concatenated along the first dimension, at dst; elsewhere a tensor of one zero."""
    members = _checked("gather_into_tensor", tensor, group)
    return _collectives.gather(tensor, member_of("gather_into_tensor", "dst", dst, members), members)


def scatter_tensor(tensor: Any, src: int = 0, group: str = _WORLD) -> Tensor:
    """This process's part of src's tensor."""
    members = _checked("scatter_tensor", tensor, group)
    return _collectives.scatter(tensor, member_of("scatter_tensor", "src", src, members), members)


def barrier(group: str = _WORLD) -> None:
    """Waits for all processes."""
    _need_init("barrier")
    _collectives.barrier(group_of("barrier", group))


def _size(shape):
    n = 1
    for d in shape:
        n *= d
    return n


def _flat(tensors):
    from pijit.ops import function as F
    flat = [t.reshape((-1,)) for t in tensors]
    return flat[0] if len(flat) == 1 else F.concat(flat, 0)


def all_to_all_with_output_shape(output_shape_list: Any, input_tensor_list: Any, group: str | None = None,
                                 async_op: bool = False) -> tuple[tuple[Tensor], CommHandle | None]:
    """(a tuple of the tensors that the processes have for this one, handle or None).

    Shapes, one for each process, must be those that they send."""
    name = "all_to_all_with_output_shape"
    if not isinstance(output_shape_list, (list, tuple)) or not isinstance(input_tensor_list, (list, tuple)):
        raise _check.refused(name, "shapes and tensors", _check.value("be lists"),
                             _check.several(_check.type_name(output_shape_list), _check.type_name(input_tensor_list)),
                             TypeError)
    _need_init(name)
    members = group_of(name, group)
    shapes = [tuple(s.shape) if isinstance(s, Tensor) else tuple(s) for s in output_shape_list]
    for t in input_tensor_list:
        _checked(name, t, group)
    if len(shapes) != members.size or len(input_tensor_list) != members.size:
        raise _check.refused(name, "shapes and tensors", _check.value(f"be {members.size} each, one for each process"),
                             _check.several(len(shapes), len(input_tensor_list)))
    if members.size == 1:
        if shapes != [t.shape for t in input_tensor_list]:
            raise failed(name, "with one process there must be one tensor of the shape that is asked for, but got "
                               f"{[t.shape for t in input_tensor_list]} for {shapes}", ValueError)
        return _given((_collectives.all_reduce(input_tensor_list[0], "sum", members),), async_op)
    counts = [_size(s) for s in shapes]
    moved = _collectives.all_to_all(_flat(input_tensor_list), [t.size for t in input_tensor_list], counts, members)
    out, at = [], 0
    for shape, n in zip(shapes, counts):
        out.append(moved[at:at + n].reshape(shape))
        at += n
    return _given(tuple(out), async_op)


def _split_sizes(name, what, sizes, rows, members):
    if sizes is None or len(sizes) == 0:
        return [_collectives.equal_parts(name, "the first dimension", rows, members)] * members.size
    found = list(sizes)
    if len(found) != members.size or sum(found) != rows or min(found) < 0:
        raise _check.refused(name, what, _check.value(f"hold {members.size} sizes that add up to {rows}"), found)
    return found


def all_to_all_single_with_output_shape(output_shape: Any, tensor: Any, output_split_sizes: Any = None,
                                        input_split_sizes: Any = None, group: str | None = None,
                                        async_op: bool = False) -> tuple[Tensor, CommHandle | None]:
    """(the rows that the processes have for this one, handle or None).

    Split sizes say how many rows go to and come from each; without them as many of each."""
    name = "all_to_all_single_with_output_shape"
    members = _checked(name, tensor, group)
    shape = tuple(output_shape.shape) if isinstance(output_shape, Tensor) else tuple(output_shape)
    if tensor.ndim == 0 or len(shape) == 0:
        raise _check.refused(name, "the tensor and output_shape", _check.value("have a first dimension"),
                             _check.several(tensor.shape, shape))
    to = _split_sizes(name, "input_split_sizes", input_split_sizes, tensor.shape[0], members)
    back = _split_sizes(name, "output_split_sizes", output_split_sizes, shape[0], members)
    if shape[1:] != tensor.shape[1:] or members.size == 1 and shape != tensor.shape:
        wanted = tensor.shape if members.size == 1 else (shape[0], *tensor.shape[1:])
        raise _check.refused(name, "output_shape", _check.value(f"be {wanted}"), shape)
    row = _size(tensor.shape[1:])
    moved = _collectives.all_to_all(tensor.reshape((-1,)), [n * row for n in to], [n * row for n in back], members)
    return _given(moved.reshape(shape), async_op)


def all_to_all_v_c(tensor: Any, send_count_matrix: Any, group: str | None = None,
                   async_op: bool = False) -> tuple[Tensor, CommHandle | None]:
    """(what the processes have for this one, as a vector; handle or None).

    send_count_matrix: n * n counts, of which the one at i * n + j says how many elements i sends to j."""
    members = _checked("all_to_all_v_c", tensor, group)
    n = members.size
    counts = list(send_count_matrix)
    if n == 1:
        return _given(_collectives.all_reduce(tensor, "sum", members), async_op)
    if len(counts) != n * n:
        raise _check.refused("all_to_all_v_c", "send_count_matrix", _check.value(f"hold {n} * {n} counts"), counts)
    moved = _collectives.all_to_all(tensor.reshape((-1,)), counts[members.own * n:(members.own + 1) * n],
                                    counts[members.own::n], members)
    return _given(moved, async_op)


def _peer(name, what, rank, group):
    if group.size == 1:
        raise more_than_one(name, "a process can't send to or receive from itself")
    return member_of(name, what, rank, group)


def send(tensor: Any, dst: int = 0, group: str = _WORLD, tag: int = 0) -> None:
    """Sends a copy of a tensor to another process, without waiting until it is received."""
    members = _checked("send", tensor, group)
    _collectives.send(tensor, _peer("send", "dst", dst, members), tag, members)


def recv(tensor: Any, src: int = 0, group: str = _WORLD, tag: int = 0) -> Tensor:
    """What another process sends, of the shape and dtype of `tensor`."""
    members = _checked("recv", tensor, group)
    return _collectives.receive(tensor.shape, tensor.dtype, _peer("recv", "src", src, members), tag, members)


def isend(tensor: Any, dst: int = 0, group: str = _WORLD, tag: int = 0) -> CommHandle:
    """As send; a handle."""
    members = _checked("isend", tensor, group)
    _collectives.send(tensor, _peer("isend", "dst", dst, members), tag, members)
    return CommHandle()


def irecv(tensor: Any, src: int = 0, group: str = _WORLD, tag: int = 0) -> tuple[Tensor, CommHandle]:
    """(a Tensor, its handle): it gets what another process sends, of its shape and dtype, by the handle's wait()."""
    members = _checked("irecv", tensor, group)
    peer, out = _peer("irecv", "src", src, members), tensor.copy()
    shape, dtype = tensor.shape, tensor.dtype
    return out, CommHandle(lambda: out._assign(_collectives.receive(shape, dtype, peer, tag, members)))


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


def batch_isend_irecv(p2p_op_list: Any) -> list[Tensor]:
    """What comes by sending and receiving, in the order of the operations.

    A Tensor for each irecv, and a zero for each isend."""
    if not isinstance(p2p_op_list, list) or not p2p_op_list or not all(isinstance(p, P2POp) for p in p2p_op_list):
        raise _check.refused("batch_isend_irecv", "p2p_op_list", _check.value("be a list of P2POps that is not empty"),
                             p2p_op_list, TypeError)
    name, out = "batch_isend_irecv", {}
    for k, p in sorted(enumerate(p2p_op_list), key=lambda i: i[1].op != "isend"):
        members = _checked(name, p.tensor, p.group)
        peer = _peer(name, "peer", p.peer, members)
        out[k] = (_collectives.send(p.tensor, peer, p.tag, members) if p.op == "isend" else
                  _collectives.receive(p.tensor.shape, p.recv_dtype or p.tensor.dtype, peer, p.tag, members))
    return [out[k] for k in range(len(p2p_op_list))]


__all__ = ["all_reduce", "all_gather_into_tensor", "all_to_all_with_output_shape",
           "all_to_all_single_with_output_shape", "all_to_all_v_c", "barrier", "broadcast",
           "gather_into_tensor", "isend", "irecv", "reduce_scatter_tensor", "reduce", "scatter_tensor", "send", "recv",
           "P2POp", "batch_isend_irecv"]
