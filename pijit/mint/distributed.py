"""Collective functions that fill tensors, as PyTorch has them, among processes of which there is one: what is sent
arrives at once.

With async_op they return a handle whose wait() does nothing. What names another process than 0 raises RuntimeError."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from pijit import _check
from pijit._C import Tensor
from pijit.communication import management as _management
from pijit.communication._comm_helper import GlobalComm, check_group, more_than_one
from pijit.communication.comm_func import CommHandle, P2POp, batch_isend_irecv  # noqa: F401
from pijit.communication.management import _need_init

if TYPE_CHECKING:
    from typing import Any

_REDUCTIONS = ("sum", "max", "min", "prod")


def init_process_group(backend: str = "hccl", init_method: Any = None, timeout: float | None = None,
                       world_size: int = -1, rank: int = -1, store: Any = None, pg_options: Any = None,
                       device_id: int | None = None) -> None:
    """Sets communication up for the one process there is. ValueError where more are asked for."""
    if world_size not in (-1, 1) or rank not in (-1, 0):
        raise more_than_one("init_process_group", f"'world_size' is {world_size} and 'rank' {rank}")
    _management.init(backend if backend in ("nccl", "mccl") else None)


def destroy_process_group(group: str | None = None) -> None:
    """Ends communication."""
    _management.release()


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
    """The number of this process: 0."""
    return 0


def get_world_size(group: str | None = None) -> int:
    """The number of processes: 1."""
    return 1


def get_global_rank(group: str, group_rank: Any) -> int:
    """The number of a group's process among all. RuntimeError unless it is 0."""
    _rank("get_global_rank", "group_rank", group_rank)
    return 0


def get_group_rank(group: str, global_rank: Any) -> int:
    """The number of a process in a group. RuntimeError unless it is 0."""
    _rank("get_group_rank", "global_rank", global_rank)
    return 0


def get_process_group_ranks(group: str | None = None) -> list[int]:
    """The numbers of the group's processes: [0]."""
    _need_init("get_process_group_ranks")
    return [0]


def new_group(ranks: Any = None, timeout: float | None = None, backend: Any = None, pg_options: Any = None,
              use_local_synchronization: bool = False, group_desc: Any = None) -> Any:
    """A group of the processes `ranks`, which can be [0] alone: its name."""
    for r in ranks or ():
        _rank("new_group", "ranks", r)
    name = group_desc or f"group_{len(ranks or (0,))}"
    _management.create_group(name, [0])
    return name


def _rank(name, what, rank):
    _check.need(name, what, rank, _check.INT)
    if rank != 0:
        raise more_than_one(name, f"'{what}' is {rank}")


def _checked(name, tensors, group, op="sum"):
    for t in tensors:
        if not isinstance(t, Tensor):
            raise _check.expected(name, "Tensors", _check.type_name(t), TypeError)
    _check.need(name, "op", op, _check.STR, _check.one_of(*_REDUCTIONS))
    _need_init(name)
    check_group(name, GlobalComm.WORLD_COMM_GROUP if group is None else group)


def _one(name, what, items):
    if not isinstance(items, (list, tuple)):
        raise _check.refused(name, what, _check.LIST, items)
    if len(items) != 1:
        raise _check.refused(name, what, _check.value("hold one Tensor for each of 1 processes"), len(items))
    return items[0]


def _filled(name, output, input):
    if output.size != input.size:
        raise _check.refused(name, "the output", _check.value(f"have {input.size} elements"), output.size)
    output._assign(input.reshape(output.shape).astype(output.dtype))


def _handle(async_op):
    return CommHandle() if async_op else None


def all_reduce(tensor: Tensor, op: str = "sum", group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Gives tensor the sum, maximum, minimum or product over all processes. Returns a handle with async_op."""
    _checked("all_reduce", [tensor], group, op)
    return _handle(async_op)


def reduce(tensor: Tensor, dst: int, op: str = "sum", group: str | None = None,
           async_op: bool = False) -> CommHandle | None:
    """Gives tensor at dst the reduction over all processes."""
    _checked("reduce", [tensor], group, op)
    _rank("reduce", "dst", dst)
    return _handle(async_op)


def broadcast(tensor: Tensor, src: Tensor, group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Gives tensor the value it has at src."""
    _checked("broadcast", [tensor], group)
    _rank("broadcast", "src", src)
    return _handle(async_op)


def all_gather(tensor_list: Any, tensor: Tensor, group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Fills tensor_list with all processes' tensors."""
    output = _one("all_gather", "tensor_list", tensor_list)
    _checked("all_gather", [output, tensor], group)
    _filled("all_gather", output, tensor)
    return _handle(async_op)


def all_gather_into_tensor(output_tensor: Any, input_tensor: Any, group: str | None = None,
                           async_op: bool = False) -> CommHandle | None:
    """Fills output_tensor with all processes' tensors, one behind the other."""
    _checked("all_gather_into_tensor", [output_tensor, input_tensor], group)
    _filled("all_gather_into_tensor", output_tensor, input_tensor)
    return _handle(async_op)


def all_gather_into_tensor_uneven(output: Any, input: Tensor, output_split_sizes: Any = None, group: str | None = None,
                                  async_op: bool = False) -> CommHandle | None:
    """all_gather_into_tensor for tensors of different sizes."""
    return all_gather_into_tensor(output, input, group, async_op)


def reduce_scatter(output: Any, input_list: Any, op: str = "sum", group: str | None = None,
                   async_op: bool = False) -> CommHandle | None:
    """Fills output with this process's part of the reduction of lists of tensors."""
    input = _one("reduce_scatter", "input_list", input_list)
    _checked("reduce_scatter", [output, input], group, op)
    _filled("reduce_scatter", output, input)
    return _handle(async_op)


def reduce_scatter_tensor(output: Any, input: Tensor, op: str = "sum", group: str | None = None,
                          async_op: bool = False) -> CommHandle | None:
    """Fills output with this process's part of the reduction."""
    _checked("reduce_scatter_tensor", [output, input], group, op)
    _filled("reduce_scatter_tensor", output, input)
    return _handle(async_op)


def reduce_scatter_tensor_uneven(output: Any, input: Tensor, input_split_sizes: Any = None, op: str = "sum",
                                 group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """reduce_scatter_tensor for parts of different sizes."""
    return reduce_scatter_tensor(output, input, op, group, async_op)


def all_to_all(output_tensor_list: Any, input_tensor_list: Any, group: str | None = None,
               async_op: bool = False) -> CommHandle | None:
    """Fills output_tensor_list with what the processes have for this one."""
    output, input = (_one("all_to_all", "output_tensor_list", output_tensor_list),
                     _one("all_to_all", "input_tensor_list", input_tensor_list))
    _checked("all_to_all", [output, input], group)
    _filled("all_to_all", output, input)
    return _handle(async_op)


def all_to_all_single(output: Any, input: Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None,
                      group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Fills output with the parts that the processes have for this one."""
    _checked("all_to_all_single", [output, input], group)
    _filled("all_to_all_single", output, input)
    return _handle(async_op)


def all_to_all_v_c(output: Any, input: Tensor, send_count_matrix: Any, group: str | None = None,
                   async_op: bool = False) -> CommHandle | None:
    """all_to_all_single with the counts of all processes."""
    return all_to_all_single(output, input, None, None, group, async_op)


def barrier(group: str | None = None, async_op: bool = False, device_ids: Any = None) -> CommHandle | None:
    """Waits for all processes."""
    _checked("barrier", [], group)
    return _handle(async_op)


def send(tensor: Tensor, dst: int = 0, group: str | None = None, tag: int = 0) -> Any:
    """Another process is needed: RuntimeError."""
    raise more_than_one("send", f"'dst' is {dst}")


def recv(tensor: Tensor, src: int = 0, group: str | None = None, tag: int = 0) -> Any:
    """Another process is needed: RuntimeError."""
    raise more_than_one("recv", f"'src' is {src}")


isend, irecv = send, recv


def all_gather_object(object_list: Any, obj: Any, group: str | None = None) -> None:
    """Fills object_list with all processes' objects."""
    _need_init("all_gather_object")
    object_list[:] = [copy.deepcopy(obj)]


def gather_object(obj: Any, object_gather_list: Any = None, dst: int = 0, group: str | None = None) -> None:
    """Fills object_gather_list at dst with all processes' objects."""
    _need_init("gather_object")
    _rank("gather_object", "dst", dst)
    object_gather_list[:] = [copy.deepcopy(obj)]


def broadcast_object_list(object_list: Any, src: int = 0, group: str | None = None, device: Any = None) -> None:
    """Gives object_list what it holds at src."""
    _need_init("broadcast_object_list")
    _rank("broadcast_object_list", "src", src)


def scatter_object_list(scatter_object_output_list: Any, scatter_object_input_list: Any, src: int = 0,
                        group: str | None = None) -> None:
    """Puts this process's object of src's list into the output list."""
    _need_init("scatter_object_list")
    _rank("scatter_object_list", "src", src)
    scatter_object_output_list[0] = copy.deepcopy(scatter_object_input_list[0])


def set_comm_ops_inplace(is_enable: Any, func_list: Any = None) -> None:
    """Says whether collective functions fill tensors: these do. TypeError where is_enable is no bool."""
    _check.need("set_comm_ops_inplace", "is_enable", is_enable, _check.BOOL)


class TCPStore:
    """Values that processes share by a server: here a dict, as there is one process."""

    host_name: Any
    port: Any

    def __init__(self, host_name: Any = None, port: Any = None, world_size: int = 1, is_master: bool = False,
                 timeout: int = 300, wait_for_workers: bool = True, multi_tenant: bool = False,
                 master_listen_fd: Any = None, use_libuv: bool = True) -> None:
        if world_size not in (None, 1):
            raise more_than_one("TCPStore", f"'world_size' is {world_size}")
        self.host_name, self.port, self._values = host_name, port, {}

    def set(self, key: Any, value: Any) -> None:
        """Keeps a str or bytes under a key."""
        self._values[key] = value.encode() if isinstance(value, str) else value

    def get(self, key: Any) -> Any:
        """The bytes under a key. KeyError where there are none."""
        return self._values[key]

    def add(self, key: Any, amount: Any) -> int:
        """Adds to the number under a key, 0 at first, and returns it."""
        self._values[key] = str(int(self._values.get(key, b"0")) + amount).encode()
        return int(self._values[key])

    def delete_key(self, key: Any) -> bool:
        """Takes a key away. Whether it was there."""
        return self._values.pop(key, None) is not None

    def num_keys(self) -> int:
        """How many keys there are."""
        return len(self._values)


__all__ = [n for n, v in globals().items() if n[0] != "_" and callable(v)
           and n not in ("GlobalComm", "CommHandle", "Tensor", "check_group", "more_than_one")]
