"""Collective functions that fill tensors, as PyTorch has them. Alone, what is sent arrives at once, and what names
another process than 0 raises RuntimeError.

With async_op they return a handle: tensors are filled when its wait() has returned. Ranks count in the world."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit._C import Tensor
from pijit.communication import _collectives
from pijit.communication import management as _management
from pijit.communication._comm_helper import GlobalComm, World, failed, group_of, member_of, more_than_one
from pijit.communication._store import TCPStore  # noqa: F401
from pijit.communication.comm_func import P2POp, batch_isend_irecv  # noqa: F401
from pijit.communication.comm_func import CommHandle, _flat, _peer, _split_sizes, _started_all_reduce
from pijit.communication.management import _need_init

if TYPE_CHECKING:
    from typing import Any

_REDUCTIONS = ("sum", "max", "min", "prod")


def init_process_group(backend: str = "hccl", init_method: Any = None, timeout: float | None = None,
                       world_size: int = -1, rank: int = -1, store: Any = None, pg_options: Any = None,
                       device_id: int | None = None) -> None:
    """Sets communication up with the processes that a launcher started.

    timeout: how many seconds others are waited for. ValueError and RuntimeError where world_size and rank are others
    than the launcher's."""
    if timeout is not None:
        _management.set_timeout(getattr(timeout, "total_seconds", lambda: timeout)())
    _management.init(backend if backend in ("nccl", "mccl") else None)
    if world_size not in (-1, World.all.size) or rank not in (-1, World.rank):
        asked = f"'world_size' is {world_size} and 'rank' {rank}"
        if World.all.size == 1:
            _management.release()
            raise more_than_one("init_process_group", asked)
        raise failed("init_process_group", f"{asked}, but the launcher says {World.all.size} and {World.rank}",
                     ValueError)


def destroy_process_group(group: str | None = None) -> None:
    """Ends communication; with the name of a group, forgets that one."""
    if group is None or group_of("destroy_process_group", group, member=False) is World.all:
        _management.release()
    else:
        _management.destroy_group(group)


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """Whether init_process_group has run."""
    return GlobalComm.INITED


def get_backend(group: str | None = None) -> str:
    """The backend's name."""
    _need_init("get_backend")
    return GlobalComm.BACKEND


def get_rank(group: str | None = None) -> int:
    """The number of this process in a group, -1 where it is no member."""
    return group_of("get_rank", group, member=False).own


def get_world_size(group: str | None = None) -> int:
    """The number of processes in a group, -1 where this one is no member."""
    found = group_of("get_world_size", group, member=False)
    return found.size if found.own >= 0 else -1


def get_global_rank(group: str, group_rank: Any) -> int:
    """The number in the world of a group's process."""
    found = group_of("get_global_rank", group, member=False)
    _check.need("get_global_rank", "group_rank", group_rank, _check.INT)
    if World.all.size == 1 and group_rank != 0:
        raise more_than_one("get_global_rank", f"'group_rank' is {group_rank}")
    if not 0 <= group_rank < found.size:
        raise _check.refused("get_global_rank", "group_rank", _check.within(0, found.size - 1), group_rank)
    return found.ranks[group_rank]


def get_group_rank(group: str, global_rank: Any) -> int:
    """The number in a group of a process."""
    return member_of("get_group_rank", "global_rank", global_rank, group_of("get_group_rank", group, member=False))


def get_process_group_ranks(group: str | None = None) -> list[int]:
    """The numbers in the world of the group's processes."""
    _need_init("get_process_group_ranks")
    return list(group_of("get_process_group_ranks", group, member=False).ranks)


def new_group(ranks: Any = None, timeout: float | None = None, backend: Any = None, pg_options: Any = None,
              use_local_synchronization: bool = False, group_desc: Any = None) -> Any:
    """A group of the processes `ranks`, by default of all: its name. All members call this."""
    wanted = list(World.all.ranks if ranks is None else ranks)
    for r in wanted:
        member_of("new_group", "ranks", r, World.all)
    name = group_desc or "group_" + "_".join(str(r) for r in wanted)
    if name not in _management.groups:
        _management.create_group(name, wanted)
    return name


def _checked(name, tensors, group, op="sum"):
    for t in tensors:
        if not isinstance(t, Tensor):
            raise _check.expected(name, "Tensors", _check.type_name(t), TypeError)
    _check.need(name, "op", op, _check.STR, _check.one_of(*_REDUCTIONS))
    _need_init(name)
    return group_of(name, group)


def _each(name, what, items, group):
    if not isinstance(items, (list, tuple)):
        raise _check.refused(name, what, _check.LIST, items)
    if len(items) != group.size:
        raise _check.refused(name, what, _check.value(f"hold one Tensor for each of {group.size} processes"),
                             len(items))
    return items


def _filled(name, output, input):
    if output.size != input.size:
        raise _check.refused(name, "the output", _check.value(f"have {input.size} elements"), output.size)
    output._assign(input.reshape(output.shape).astype(output.dtype))


def _rows(name, tensor):
    if tensor.ndim == 0:
        raise _check.refused(name, "the tensor", _check.value("have a first dimension"), tensor.shape)
    return tensor.shape[0]


def _handle(async_op):
    return CommHandle() if async_op else None


def all_reduce(tensor: Tensor, op: str = "sum", group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Gives tensor the sum, maximum, minimum or product over all processes. Returns a handle with async_op."""
    members = _checked("all_reduce", [tensor], group, op)
    if async_op and members.size > 1:
        out, handle = _started_all_reduce(tensor, op, members)
        return CommHandle(lambda: (handle.wait(), tensor._assign(out)))
    if members.size > 1:
        tensor._assign(_collectives.all_reduce(tensor, op, members))
    return _handle(async_op)


def reduce(tensor: Tensor, dst: int, op: str = "sum", group: str | None = None,
           async_op: bool = False) -> CommHandle | None:
    """Gives tensor at dst the reduction over all processes."""
    members = _checked("reduce", [tensor], group, op)
    root = member_of("reduce", "dst", dst, members)
    if members.size > 1:
        tensor._assign(_collectives.reduce(tensor, root, op, members))
    return _handle(async_op)


def broadcast(tensor: Tensor, src: int, group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Gives tensor the value it has at src."""
    members = _checked("broadcast", [tensor], group)
    root = member_of("broadcast", "src", src, members)
    if members.size > 1:
        tensor._assign(_collectives.broadcast(tensor, root, members))
    return _handle(async_op)


def all_gather(tensor_list: Any, tensor: Tensor, group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Fills tensor_list with all processes' tensors."""
    members = _checked("all_gather", [tensor], group)
    outputs = _each("all_gather", "tensor_list", tensor_list, members)
    _checked("all_gather", outputs, group)
    sizes = [t.size for t in outputs]
    if sizes[members.own] != tensor.size:
        raise _check.refused("all_gather", "the output", _check.value(f"have {tensor.size} elements"),
                             sizes[members.own])
    flat, at = _collectives.all_gather_uneven(tensor, sizes, members), 0
    for output, n in zip(outputs, sizes):
        _filled("all_gather", output, flat[at:at + n])
        at += n
    return _handle(async_op)


def all_gather_into_tensor(output_tensor: Any, input_tensor: Any, group: str | None = None,
                           async_op: bool = False) -> CommHandle | None:
    """Fills output_tensor with all processes' tensors, one behind the other."""
    name = "all_gather_into_tensor"
    members = _checked(name, [output_tensor, input_tensor], group)
    if output_tensor.size != input_tensor.size * members.size:
        raise _check.refused(name, "the output", _check.value(f"have {input_tensor.size * members.size} elements"),
                             output_tensor.size)
    _filled(name, output_tensor, _collectives.all_gather(input_tensor.reshape((-1,)), members))
    return _handle(async_op)


def all_gather_into_tensor_uneven(output: Any, input: Tensor, output_split_sizes: Any = None, group: str | None = None,
                                  async_op: bool = False) -> CommHandle | None:
    """all_gather_into_tensor for tensors that have as many rows as output_split_sizes says."""
    name = "all_gather_into_tensor_uneven"
    members = _checked(name, [output, input], group)
    rows = _split_sizes(name, "output_split_sizes", output_split_sizes, _rows(name, output), members)
    row = output.size // max(output.shape[0], 1)
    if rows[members.own] * row != input.size:
        raise _check.refused(name, "the input", _check.value(f"have {rows[members.own] * row} elements"), input.size)
    _filled(name, output, _collectives.all_gather_uneven(input, [n * row for n in rows], members))
    return _handle(async_op)


def gather(tensor: Tensor, gather_list: Any = None, dst: int = 0, group: str | None = None,
           async_op: bool = False) -> CommHandle | None:
    """Fills gather_list at dst with all processes' tensors, which have one size. Elsewhere it is not read."""
    members = _checked("gather", [tensor], group)
    root = member_of("gather", "dst", dst, members)
    outputs = ()
    if members.own == root:
        outputs = _each("gather", "gather_list", gather_list, members)
        _checked("gather", outputs, group)
        for output in outputs:
            if output.size != tensor.size:
                raise _check.refused("gather", "the output", _check.value(f"have {tensor.size} elements"), output.size)
    flat = _collectives.gather(tensor.reshape((-1,)), root, members)
    for k, output in enumerate(outputs):
        _filled("gather", output, flat[k * tensor.size:(k + 1) * tensor.size])
    return _handle(async_op)


def scatter(tensor: Any, scatter_list: Any = None, src: int = 0, group: str | None = None,
            async_op: bool = False) -> CommHandle | None:
    """Fills tensor with this process's of src's tensors, which have one size. Elsewhere scatter_list is not read."""
    members = _checked("scatter", [tensor], group)
    root = member_of("scatter", "src", src, members)
    if members.own == root:
        inputs = _each("scatter", "scatter_list", scatter_list, members)
        _checked("scatter", inputs, group)
        for x in inputs:
            if x.size != tensor.size:
                raise _check.refused("scatter", "scatter_list", _check.value(f"hold tensors of {tensor.size} elements"),
                                     x.size)
        flat = _flat(inputs)
    else:  # as many elements of the same dtype as at src
        from pijit.ops import function as F
        flat = F.zeros((members.size * tensor.size,), tensor.dtype)
    _filled("scatter", tensor, _collectives.scatter(flat, root, members))
    return _handle(async_op)


def reduce_scatter(output: Any, input_list: Any, op: str = "sum", group: str | None = None,
                   async_op: bool = False) -> CommHandle | None:
    """Fills output with this process's part of the reduction of lists of tensors."""
    members = _checked("reduce_scatter", [output], group, op)
    inputs = _each("reduce_scatter", "input_list", input_list, members)
    _checked("reduce_scatter", inputs, group, op)
    if any(t.size != inputs[0].size for t in inputs):  # of other sizes: all of them are reduced
        flat, at = _collectives.all_reduce(_flat(inputs), op, members), sum(t.size for t in inputs[:members.own])
        _filled("reduce_scatter", output, flat[at:at + inputs[members.own].size])
    else:
        _filled("reduce_scatter", output, _collectives.reduce_scatter(_flat(inputs), op, members))
    return _handle(async_op)


def reduce_scatter_tensor(output: Any, input: Tensor, op: str = "sum", group: str | None = None,
                          async_op: bool = False) -> CommHandle | None:
    """Fills output with this process's part of the reduction."""
    name = "reduce_scatter_tensor"
    members = _checked(name, [output, input], group, op)
    _collectives.equal_parts(name, "the size of the input", input.size, members)
    _filled(name, output, _collectives.reduce_scatter(input.reshape((-1,)), op, members))
    return _handle(async_op)


def reduce_scatter_tensor_uneven(output: Any, input: Tensor, input_split_sizes: Any = None, op: str = "sum",
                                 group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """reduce_scatter_tensor for parts that have as many rows as input_split_sizes says."""
    name = "reduce_scatter_tensor_uneven"
    members = _checked(name, [output, input], group, op)
    rows = _split_sizes(name, "input_split_sizes", input_split_sizes, _rows(name, input), members)
    at = sum(rows[:members.own])
    _filled(name, output, _collectives.all_reduce(input, op, members)[at:at + rows[members.own]])
    return _handle(async_op)


def all_to_all(output_tensor_list: Any, input_tensor_list: Any, group: str | None = None,
               async_op: bool = False) -> CommHandle | None:
    """Fills output_tensor_list with what the processes have for this one."""
    members = _checked("all_to_all", [], group)
    outputs = _each("all_to_all", "output_tensor_list", output_tensor_list, members)
    inputs = _each("all_to_all", "input_tensor_list", input_tensor_list, members)
    _checked("all_to_all", [*outputs, *inputs], group)
    flat, at = _collectives.all_to_all(_flat(inputs), [t.size for t in inputs], [t.size for t in outputs], members), 0
    if members.size == 1 and outputs[0].size != inputs[0].size:
        raise _check.refused("all_to_all", "the output", _check.value(f"have {inputs[0].size} elements"),
                             outputs[0].size)
    for output in outputs:
        _filled("all_to_all", output, flat[at:at + output.size])
        at += output.size
    return _handle(async_op)


def all_to_all_single(output: Any, input: Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None,
                      group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Fills output with the rows that the processes have for this one."""
    name = "all_to_all_single"
    members = _checked(name, [output, input], group)
    to = _split_sizes(name, "input_split_sizes", input_split_sizes, _rows(name, input), members)
    back = _split_sizes(name, "output_split_sizes", output_split_sizes, _rows(name, output), members)
    row, row_back = input.size // max(input.shape[0], 1), output.size // max(output.shape[0], 1)
    _filled(name, output, _collectives.all_to_all(input.reshape((-1,)), [n * row for n in to],
                                                  [n * row_back for n in back], members))
    return _handle(async_op)


def all_to_all_v_c(output: Any, input: Tensor, send_count_matrix: Any, group: str | None = None,
                   async_op: bool = False) -> CommHandle | None:
    """all_to_all_single with the counts of elements of all processes: the one at i * n + j goes from i to j."""
    from pijit.communication import comm_func
    _checked("all_to_all_v_c", [output, input], group)
    _filled("all_to_all_v_c", output, comm_func.all_to_all_v_c(input, send_count_matrix, group)[0])
    return _handle(async_op)


def barrier(group: str | None = None, async_op: bool = False, device_ids: Any = None) -> CommHandle | None:
    """Waits for all processes."""
    _collectives.barrier(_checked("barrier", [], group))
    return _handle(async_op)


def send(tensor: Tensor, dst: int = 0, group: str | None = None, tag: int = 0) -> None:
    """Sends a copy of tensor to another process. RuntimeError where there is none."""
    members = _checked("send", [tensor], group)
    _collectives.send(tensor, _peer("send", "dst", dst, members), tag, members)


def recv(tensor: Tensor, src: int = 0, group: str | None = None, tag: int = 0) -> int:
    """Gives tensor what another process sends; that one's rank. RuntimeError where there is none."""
    members = _checked("recv", [tensor], group)
    peer = _peer("recv", "src", src, members)
    tensor._assign(_collectives.receive(tensor.shape, tensor.dtype, peer, tag, members))
    return src


def isend(tensor: Tensor, dst: int = 0, group: str | None = None, tag: int = 0) -> CommHandle:
    """As send; a handle."""
    send(tensor, dst, group, tag)
    return CommHandle()


def irecv(tensor: Tensor, src: int = 0, group: str | None = None, tag: int = 0) -> CommHandle:
    """A handle whose wait() gives tensor what another process sends."""
    members = _checked("irecv", [tensor], group)
    _peer("irecv", "src", src, members)
    return CommHandle(lambda: recv(tensor, src, group, tag))


def _bytes_of(obj):
    return np.frombuffer(pickle.dumps(obj), np.uint8)


def _gathered_objects(obj, members):
    own = _bytes_of(obj)
    sizes = _collectives.all_gather(Tensor(np.array([own.size], np.int64)), members).asnumpy().tolist()
    most = max(sizes)
    rows = np.zeros((1, most), np.uint8)
    rows[0, :own.size] = own
    all_of = _collectives.all_gather(Tensor(rows), members).asnumpy()
    return [pickle.loads(all_of[k, :n].tobytes()) for k, n in enumerate(sizes)]


def all_gather_object(object_list: Any, obj: Any, group: str | None = None) -> None:
    """Fills object_list with all processes' objects, which are pickled."""
    members = _checked("all_gather_object", [], group)
    object_list[:] = [copy.deepcopy(obj)] if members.size == 1 else _gathered_objects(obj, members)


def gather_object(obj: Any, object_gather_list: Any = None, dst: int = 0, group: str | None = None) -> None:
    """Fills object_gather_list at dst with all processes' objects, which are pickled."""
    members = _checked("gather_object", [], group)
    root = member_of("gather_object", "dst", dst, members)
    found = [copy.deepcopy(obj)] if members.size == 1 else _gathered_objects(obj, members)
    if members.own == root:
        object_gather_list[:] = found


def broadcast_object_list(object_list: Any, src: int = 0, group: str | None = None, device: Any = None) -> None:
    """Gives object_list what it holds at src; objects are pickled."""
    members = _checked("broadcast_object_list", [], group)
    root = member_of("broadcast_object_list", "src", src, members)
    if members.size > 1:
        own = _bytes_of(list(object_list)) if members.own == root else np.zeros(0, np.uint8)
        size = int(_collectives.broadcast(Tensor(np.array([own.size], np.int64)), root, members).asnumpy()[0])
        sent = own if members.own == root else np.zeros(size, np.uint8)
        object_list[:] = pickle.loads(_collectives.broadcast(Tensor(sent), root, members).asnumpy().tobytes())


def scatter_object_list(scatter_object_output_list: Any, scatter_object_input_list: Any, src: int = 0,
                        group: str | None = None) -> None:
    """Puts this process's object of src's list into the output list; objects are pickled."""
    members = _checked("scatter_object_list", [], group)
    root = member_of("scatter_object_list", "src", src, members)
    if members.size == 1:
        scatter_object_output_list[0] = copy.deepcopy(scatter_object_input_list[0])
        return
    given = list(scatter_object_input_list) if members.own == root else None
    all_of = [given]
    broadcast_object_list(all_of, src, group)
    if all_of[0] is None or len(all_of[0]) != members.size:
        raise _check.refused("scatter_object_list", "scatter_object_input_list",
                             _check.value(f"hold one object for each of {members.size} processes"), all_of[0])
    scatter_object_output_list[0] = all_of[0][members.own]


def set_comm_ops_inplace(is_enable: Any, func_list: Any = None) -> None:
    """Says whether collective functions fill tensors: these do. TypeError where is_enable is no bool."""
    _check.need("set_comm_ops_inplace", "is_enable", is_enable, _check.BOOL)


__all__ = [n for n, v in globals().items() if n[0] != "_" and callable(v)
           and n not in ("GlobalComm", "World", "CommHandle", "Tensor", "failed", "group_of", "member_of",
                       "more_than_one")]
