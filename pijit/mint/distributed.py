"""Collective functions that fill tensors, as PyTorch has them, among processes of which there is one: what is sent
arrives at once.

With async_op they return a handle whose wait() does nothing. What names another process than 0 raises RuntimeError."""

import copy

from pijit._C import Tensor
from pijit.communication import management as _management
from pijit.communication._comm_helper import GlobalComm, check_group, more_than_one
from pijit.communication.comm_func import CommHandle, P2POp, batch_isend_irecv  # noqa: F401
from pijit.communication.management import _need_init

_REDUCTIONS = ("sum", "max", "min", "prod")


def init_process_group(backend="hccl", init_method=None, timeout=None, world_size=-1, rank=-1, store=None,
                       pg_options=None, device_id=None):
    """Sets communication up for the one process there is. ValueError where more are asked for."""
    if world_size not in (-1, 1) or rank not in (-1, 0):
        raise more_than_one("init_process_group", f"'world_size' is {world_size} and 'rank' {rank}")
    _management.init(backend if backend in ("nccl", "mccl") else None)


def destroy_process_group(group=None):
    """Ends communication."""
    _management.release()


def is_available():
    """True."""
    return True


def is_initialized():
    """Whether init_process_group has run."""
    return GlobalComm.INITED


def get_backend(group=None):
    """The backend's name."""
    _need_init("get_backend")
    return GlobalComm.BACKEND


def get_rank(group=None):
    """The number of this process: 0."""
    return 0


def get_world_size(group=None):
    """The number of processes: 1."""
    return 1


def get_global_rank(group, group_rank):
    """The number of a group's process among all. RuntimeError unless it is 0."""
    _rank("get_global_rank", "group_rank", group_rank)
    return 0


def get_group_rank(group, global_rank):
    """The number of a process in a group. RuntimeError unless it is 0."""
    _rank("get_group_rank", "global_rank", global_rank)
    return 0


def get_process_group_ranks(group=None):
    """The numbers of the group's processes: [0]."""
    _need_init("get_process_group_ranks")
    return [0]


def new_group(ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False,
              group_desc=None):
    """A group of the processes `ranks`, which can be [0] alone: its name."""
    for r in ranks or ():
        _rank("new_group", "ranks", r)
    name = group_desc or f"group_{len(ranks or (0,))}"
    _management.create_group(name, [0])
    return name


def _rank(name, what, rank):
    if isinstance(rank, bool) or not isinstance(rank, int):
        raise TypeError(f"For '{name}', '{what}' must be an int, but got {type(rank).__name__}.")
    if rank != 0:
        raise more_than_one(name, f"'{what}' is {rank}")


def _checked(name, tensors, group, op="sum"):
    for t in tensors:
        if not isinstance(t, Tensor):
            raise TypeError(f"For '{name}', expected Tensors, but got {type(t).__name__}.")
    if not isinstance(op, str):
        raise TypeError(f"For '{name}', 'op' must be a str, but got {type(op).__name__}.")
    if op not in _REDUCTIONS:
        raise ValueError(f"For '{name}', 'op' must be one of {_REDUCTIONS}, but got {op!r}.")
    _need_init(name)
    check_group(name, GlobalComm.WORLD_COMM_GROUP if group is None else group)


def _one(name, what, items):
    if not isinstance(items, (list, tuple)):
        raise TypeError(f"For '{name}', '{what}' must be a list, but got {type(items).__name__}.")
    if len(items) != 1:
        raise ValueError(f"For '{name}', '{what}' must hold one Tensor for each of 1 processes, but got {len(items)}.")
    return items[0]


def _filled(name, output, input):
    if output.size != input.size:
        raise ValueError(f"For '{name}', the output must have {input.size} elements, but got {output.size}.")
    output._assign(input.reshape(output.shape).astype(output.dtype))


def _handle(async_op):
    return CommHandle() if async_op else None


def all_reduce(tensor, op="sum", group=None, async_op=False):
    """Gives tensor the sum, maximum, minimum or product over all processes. Returns a handle with async_op."""
    _checked("all_reduce", [tensor], group, op)
    return _handle(async_op)


def reduce(tensor, dst, op="sum", group=None, async_op=False):
    """Gives tensor at dst the reduction over all processes."""
    _checked("reduce", [tensor], group, op)
    _rank("reduce", "dst", dst)
    return _handle(async_op)


def broadcast(tensor, src, group=None, async_op=False):
    """Gives tensor the value it has at src."""
    _checked("broadcast", [tensor], group)
    _rank("broadcast", "src", src)
    return _handle(async_op)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Fills tensor_list with all processes' tensors."""
    output = _one("all_gather", "tensor_list", tensor_list)
    _checked("all_gather", [output, tensor], group)
    _filled("all_gather", output, tensor)
    return _handle(async_op)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """Fills output_tensor with all processes' tensors, one behind the other."""
    _checked("all_gather_into_tensor", [output_tensor, input_tensor], group)
    _filled("all_gather_into_tensor", output_tensor, input_tensor)
    return _handle(async_op)


def all_gather_into_tensor_uneven(output, input, output_split_sizes=None, group=None, async_op=False):
    """all_gather_into_tensor for tensors of different sizes."""
    return all_gather_into_tensor(output, input, group, async_op)


def reduce_scatter(output, input_list, op="sum", group=None, async_op=False):
    """Fills output with this process's part of the reduction of lists of tensors."""
    input = _one("reduce_scatter", "input_list", input_list)
    _checked("reduce_scatter", [output, input], group, op)
    _filled("reduce_scatter", output, input)
    return _handle(async_op)


def reduce_scatter_tensor(output, input, op="sum", group=None, async_op=False):
    """Fills output with this process's part of the reduction."""
    _checked("reduce_scatter_tensor", [output, input], group, op)
    _filled("reduce_scatter_tensor", output, input)
    return _handle(async_op)


def reduce_scatter_tensor_uneven(output, input, input_split_sizes=None, op="sum", group=None, async_op=False):
    """reduce_scatter_tensor for parts of different sizes."""
    return reduce_scatter_tensor(output, input, op, group, async_op)


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Fills output_tensor_list with what the processes have for this one."""
    output, input = (_one("all_to_all", "output_tensor_list", output_tensor_list),
                     _one("all_to_all", "input_tensor_list", input_tensor_list))
    _checked("all_to_all", [output, input], group)
    _filled("all_to_all", output, input)
    return _handle(async_op)


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    """Fills output with the parts that the processes have for this one."""
    _checked("all_to_all_single", [output, input], group)
    _filled("all_to_all_single", output, input)
    return _handle(async_op)


def all_to_all_v_c(output, input, send_count_matrix, group=None, async_op=False):
    """all_to_all_single with the counts of all processes."""
    return all_to_all_single(output, input, None, None, group, async_op)


def barrier(group=None, async_op=False, device_ids=None):
    """Waits for all processes."""
    _checked("barrier", [], group)
    return _handle(async_op)


def send(tensor, dst=0, group=None, tag=0):
    """Another process is needed: RuntimeError."""
    raise more_than_one("send", f"'dst' is {dst}")


def recv(tensor, src=0, group=None, tag=0):
    """Another process is needed: RuntimeError."""
    raise more_than_one("recv", f"'src' is {src}")


isend, irecv = send, recv


def all_gather_object(object_list, obj, group=None):
    """Fills object_list with all processes' objects."""
    _need_init("all_gather_object")
    object_list[:] = [copy.deepcopy(obj)]


def gather_object(obj, object_gather_list=None, dst=0, group=None):
    """Fills object_gather_list at dst with all processes' objects."""
    _need_init("gather_object")
    _rank("gather_object", "dst", dst)
    object_gather_list[:] = [copy.deepcopy(obj)]


def broadcast_object_list(object_list, src=0, group=None, device=None):
    """Gives object_list what it holds at src."""
    _need_init("broadcast_object_list")
    _rank("broadcast_object_list", "src", src)


def scatter_object_list(scatter_object_output_list, scatter_object_input_list, src=0, group=None):
    """Puts this process's object of src's list into the output list."""
    _need_init("scatter_object_list")
    _rank("scatter_object_list", "src", src)
    scatter_object_output_list[0] = copy.deepcopy(scatter_object_input_list[0])


def set_comm_ops_inplace(is_enable, func_list=None):
    """Says whether collective functions fill tensors: these do. TypeError where is_enable is no bool."""
    if not isinstance(is_enable, bool):
        raise TypeError(f"For 'set_comm_ops_inplace', 'is_enable' must be bool, but got {type(is_enable).__name__}.")


class TCPStore:
    """Values that processes share by a server: here a dict, as there is one process."""

    def __init__(self, host_name=None, port=None, world_size=1, is_master=False, timeout=300, wait_for_workers=True,
                 multi_tenant=False,
                 master_listen_fd=None, use_libuv=True):
        if world_size not in (None, 1):
            raise more_than_one("TCPStore", f"'world_size' is {world_size}")
        self.host_name, self.port, self._values = host_name, port, {}

    def set(self, key, value):
        """Keeps a str or bytes under a key."""
        self._values[key] = value.encode() if isinstance(value, str) else value

    def get(self, key):
        """The bytes under a key. KeyError where there are none."""
        return self._values[key]

    def add(self, key, amount):
        """Adds to the number under a key, 0 at first, and returns it."""
        self._values[key] = str(int(self._values.get(key, b"0")) + amount).encode()
        return int(self._values[key])

    def delete_key(self, key):
        """Takes a key away. Whether it was there."""
        return self._values.pop(key, None) is not None

    def num_keys(self):
        """How many keys there are."""
        return len(self._values)


__all__ = [n for n, v in globals().items() if n[0] != "_" and callable(v)
           and n not in ("GlobalComm", "CommHandle", "Tensor", "check_group", "more_than_one")]
