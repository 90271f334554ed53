"""Collective operators as primitives. Alone, values stay as they are, and what names another process raises
RuntimeError when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit._C import ops as _ops
from pijit.communication import _collectives
from pijit.communication._comm_helper import group_of, member_of, more_than_one
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


class _Collective(Primitive):
    """An operation of the processes of a group."""

    def __init__(self, group: str = _WORLD) -> None:
        super().__init__()
        if not isinstance(group, str):
            raise _check.refused(type(self).__name__, "group", _check.STR, group)
        self.group = group

    def _members(self):
        return group_of(type(self).__name__, self.group)


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

    def _root(self, group):
        return member_of(type(self).__name__, "the rank", self.root_rank, group)


class AllReduce(_Reduction):
    """The sum, maximum, minimum or product over all processes of a group, at all of them."""

    def __call__(self, input_x: Tensor) -> Tensor:
        return _collectives.all_reduce(input_x, self.op, self._members())


class ReduceScatter(_Reduction):
    """This process's part, along the first dimension, of a reduction over all processes of a group."""

    def __call__(self, input_x: Tensor) -> Tensor:
        return _collectives.reduce_scatter(input_x, self.op, self._members())


class AllGather(_Collective):
    """All processes' tensors, concatenated along the first dimension."""

    def __call__(self, input_x: Tensor) -> Tensor:
        return _collectives.all_gather(input_x, self._members())


class Barrier(_Collective):
    """Waits for all processes of a group."""

    def __call__(self) -> None:
        _collectives.barrier(self._members())


class Broadcast(_Rooted):
    """root_rank's tuple of tensors, at all processes. root_rank counts in the world."""

    def __call__(self, input_x: Tensor | tuple[Tensor, ...]) -> Any:
        group = self._members()
        root = self._root(group)
        if isinstance(input_x, (tuple, list)):
            return tuple([_collectives.broadcast(x, root, group) for x in input_x])
        return _collectives.broadcast(input_x, root, group)


class Reduce(_Rooted):
    """The reduction over all processes, at dest_rank; elsewhere the input."""

    def __init__(self, dest_rank: Any, op: str = ReduceOp.SUM, group: str = _WORLD) -> None:
        super().__init__(dest_rank, group)
        self.op: Any = _Reduction(op, group).op

    def __call__(self, input_x: Tensor) -> Tensor:
        group = self._members()
        return _collectives.reduce(input_x, self._root(group), self.op, group)


class CollectiveGather(_Rooted):
    """All processes' tensors, concatenated along the first dimension, at dest_rank; elsewhere a tensor of one zero."""

    def __init__(self, dest_rank: Any, group: str = _WORLD) -> None:
        super().__init__(dest_rank, group)

    def __call__(self, input_x: Tensor) -> Tensor:
        group = self._members()
        return _collectives.gather(input_x, self._root(group), group)


class CollectiveScatter(_Rooted):
    """This process's part, along the first dimension, of src_rank's tensor."""

    def __init__(self, src_rank: int = 0, group: str = _WORLD) -> None:
        super().__init__(src_rank, group)

    def __call__(self, input_x: Tensor) -> Tensor:
        group = self._members()
        return _collectives.scatter(input_x, self._root(group), group)


class AlltoAll(_Collective):
    """Parts along split_dim go to all processes and come back along concat_dim.

    split_count: the number of processes."""

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
        group = self._members()
        n = group.size
        if self.split_count != n:
            if n == 1:
                raise more_than_one("AlltoAll", f"'split_count' is {self.split_count}")
            raise _check.refused("AlltoAll", "split_count", _check.value(f"be {n}, the number of processes"),
                                 self.split_count)
        if n == 1:
            return _ops["identity"](input_x)
        rank = input_x.ndim
        for name, axis in (("split_dim", self.split_dim), ("concat_dim", self.concat_dim)):
            if not 0 <= axis < rank:
                raise _check.refused("AlltoAll", name, _check.within(0, rank - 1), axis)
        split, concat = self.split_dim, self.concat_dim
        part = _collectives.equal_parts("AlltoAll", f"the dimension {split}", input_x.shape[split], group)
        # [n, …] of what goes to each member, moved, and joined along concat_dim
        shape = input_x.shape
        apart = input_x.reshape((*shape[:split], n, part, *shape[split + 1:]))
        front = apart.transpose((split, *[k for k in range(rank + 1) if k != split]))
        count = front.size // n
        moved = _collectives.all_to_all(front.reshape((-1,)), [count] * n, [count] * n, group).reshape(front.shape)
        own = front.shape[1:]
        order = [k + 1 for k in range(rank)]
        order.insert(concat, 0)
        return moved.transpose(tuple(order)).reshape((*own[:concat], n * own[concat], *own[concat + 1:]))


class _Uneven(_Collective):
    """Parts of a vector that have other sizes for each process."""

    def _counts(self, what, counts, n):
        name = type(self).__name__
        if not isinstance(counts, (list, tuple)):
            if not hasattr(counts, "asnumpy"):
                raise _check.refused(name, what, _check.value("be a list or a tuple of int, or a Tensor"),
                                     _check.type_name(counts), TypeError)
            counts = counts.asnumpy().ravel().tolist()
        for k in counts:
            if isinstance(k, bool) or not isinstance(k, int):
                raise _check.refused(name, what, _check.INT, k, TypeError)
            if k < 0:
                raise _check.refused(name, what, _check.value("hold no negative number"), k)
        if len(counts) != n:
            raise _check.refused(name, what, _check.value(f"hold {n} numbers"), len(counts))
        return list(counts)

    def _vector(self, x, what, size):
        """x, which the counts divide. ValueError where they do not."""
        name = type(self).__name__
        if x.ndim != 1:
            raise _check.refused(name, "input_x", _check.value("be a vector"), x.shape)
        if x.size != size:
            raise _check.refused(name, "input_x", _check.value(f"have {size} elements, as {what} says"), x.size)


class AllGatherV(_Uneven):
    """All processes' vectors, one behind the other, where they have other sizes: output_split_sizes, by process."""

    def __call__(self, input_x: Tensor, output_split_sizes: Any) -> Tensor:
        group = self._members()
        sizes = self._counts("output_split_sizes", output_split_sizes, group.size)
        self._vector(input_x, "output_split_sizes", sizes[group.own])
        return _collectives.all_gather_uneven(input_x, sizes, group)


class ReduceScatterV(_Uneven):
    """This process's part of a reduction of vectors over all processes; input_split_sizes: the sizes of the parts."""

    def __init__(self, op: str = ReduceOp.SUM, group: str = _WORLD) -> None:
        super().__init__(group)
        self.op: Any = _Reduction(op, group).op

    def __call__(self, input_x: Tensor, input_split_sizes: Any) -> Tensor:
        group = self._members()
        sizes = self._counts("input_split_sizes", input_split_sizes, group.size)
        self._vector(input_x, "input_split_sizes", sum(sizes))
        at = sum(sizes[:group.own])
        return _collectives.all_reduce(input_x, self.op, group)[at:at + sizes[group.own]]


class _UnevenBlocks(_Uneven):
    def __init__(self, group: str = _WORLD, block_size: int = 1) -> None:
        super().__init__(group)
        if isinstance(block_size, bool) or not isinstance(block_size, int):
            raise _check.refused(type(self).__name__, "block_size", _check.INT, block_size, TypeError)
        if block_size < 1:
            raise _check.refused(type(self).__name__, "block_size", _check.value("be positive"), block_size)
        self.block_size = block_size


class AlltoAllV(_UnevenBlocks):
    """Parts of a vector go to all processes.

    send_numel_list[i] * block_size elements go to process i, and recv_numel_list[i] * block_size come from it."""

    def __call__(self, input_x: Tensor, send_numel_list: Any, recv_numel_list: Any) -> Tensor:
        group = self._members()
        send = [k * self.block_size for k in self._counts("send_numel_list", send_numel_list, group.size)]
        receive = [k * self.block_size for k in self._counts("recv_numel_list", recv_numel_list, group.size)]
        self._vector(input_x, "send_numel_list", sum(send))
        if group.size == 1 and send != receive:
            raise _check.refused("AlltoAllV", "recv_numel_list", _check.value(f"be {send_numel_list}"), recv_numel_list)
        return _collectives.all_to_all(input_x, send, receive, group)


class AlltoAllVC(_UnevenBlocks):
    """AlltoAllV with the counts of all n processes.

    The one at i * n + j, times block_size, goes from i to j; with transpose from j to i."""

    def __init__(self, group: str = _WORLD, block_size: int = 1, transpose: bool = False) -> None:
        super().__init__(group, block_size)
        if not isinstance(transpose, bool):
            raise _check.refused("AlltoAllVC", "transpose", _check.BOOL, transpose, TypeError)
        self.transpose = transpose

    def __call__(self, input_x: Tensor, send_count_matrix: Any) -> Tensor:
        group = self._members()
        n, own = group.size, group.own
        counts = [k * self.block_size for k in self._counts("send_count_matrix", send_count_matrix, n * n)]
        send, receive = counts[own * n:(own + 1) * n], counts[own::n]
        if self.transpose:
            send, receive = receive, send
        self._vector(input_x, "send_count_matrix", sum(send))
        return _collectives.all_to_all(input_x, send, receive, group)


class _BetweenTwo(_Collective):
    """Something that takes two processes."""

    def _pair(self, what, rank):
        group = self._members()
        if group.size == 1:
            raise more_than_one(type(self).__name__, "another process is needed")
        return member_of(type(self).__name__, what, rank, group), group


class Send(_BetweenTwo):
    """Sends a tensor to another process. dest_rank counts in the world; sr_tag tells messages apart."""

    sr_tag: Any
    dest_rank: Any
    group_back: Any

    def __init__(self, sr_tag: Any, dest_rank: Any, group: str = _WORLD, group_back: Any = _WORLD) -> None:
        super().__init__(group)
        self.sr_tag, self.dest_rank, self.group_back = sr_tag, dest_rank, group_back

    def __call__(self, input_x: Tensor) -> Tensor:
        peer, group = self._pair("dest_rank", self.dest_rank)
        return _collectives.send(input_x, peer, self.sr_tag, group)


class Receive(_BetweenTwo):
    """Receives a tensor of a shape and dtype from another process. src_rank counts in the world."""

    sr_tag: Any
    src_rank: int
    shape: Shape
    dtype: DTypeLike
    group_back: Any

    def __init__(self, sr_tag: Any, src_rank: int, shape: Shape, dtype: DTypeLike, group: str = _WORLD,
                 group_back: Any = _WORLD) -> None:
        super().__init__(group)
        self.sr_tag, self.src_rank, self.shape, self.dtype, self.group_back = (sr_tag, src_rank, shape, dtype,
            group_back)

    def __call__(self, input_x: Any = None) -> Tensor:
        peer, group = self._pair("src_rank", self.src_rank)
        return _collectives.receive(self.shape, self.dtype, peer, self.sr_tag, group)


class NeighborExchange(_BetweenTwo):
    """Exchanges tensors with other processes.

    The i-th input goes to send_rank_ids[i], the i-th result comes from recv_rank_ids[i]."""

    send_rank_ids: Any
    recv_rank_ids: Any
    recv_shapes: Any
    send_shapes: Any
    recv_type: Any

    def __init__(self, send_rank_ids: Any, recv_rank_ids: Any, recv_shapes: Any, send_shapes: Any, recv_type: Any,
                 group: str = _WORLD) -> None:
        super().__init__(group)
        self.send_rank_ids, self.recv_rank_ids, self.recv_shapes, self.send_shapes = (send_rank_ids, recv_rank_ids,
            recv_shapes, send_shapes)
        self.recv_type = recv_type

    def __call__(self, *inputs: Any) -> tuple[Tensor, ...]:
        given = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)) else inputs
        pairs = [self._pair("send_rank_ids", r) for r in self.send_rank_ids]
        if len(given) != len(pairs):
            raise _check.refused("NeighborExchange", "the inputs",
                                 _check.value(f"be {len(pairs)} tensors, one for each of send_rank_ids"), len(given))
        for x, (peer, group) in zip(given, pairs):
            _collectives.send(x, peer, 0, group)
        sources = [self._pair("recv_rank_ids", r) for r in self.recv_rank_ids]
        return tuple([_collectives.receive(shape, self.recv_type, peer, 0, group)
                      for shape, (peer, group) in zip(self.recv_shapes, sources)])


class NeighborExchangeV2(_Collective):
    """Adds edges of neighbours' images to this process's images.

    Ranks, which count in the world, are given by direction: top, top right, right, bottom right, bottom, bottom left,
    left, top left; -1 where there is no neighbour. send_lens and recv_lens are the rows or columns at the top, the
    bottom, the left and the right. The result is larger than the images, [n, channels, rows, columns], by recv_lens on
    each side; where nobody sends, it is zero. All processes of the group call this."""

    # by direction: which rows and columns; 0: the first ones (top, left), 1: all, 2: the last ones
    _PLACES = ((0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0), (0, 0))

    send_rank_ids: list[int]
    send_lens: list[int]
    recv_rank_ids: list[int]
    recv_lens: list[int]
    format: str

    def __init__(self, send_rank_ids: list[int], send_lens: list[int], recv_rank_ids: list[int], recv_lens: list[int],
                 data_format: str, group: str = _WORLD) -> None:
        super().__init__(group)
        for what, value, n, least in (("send_rank_ids", send_rank_ids, 8, -1), ("recv_rank_ids", recv_rank_ids, 8, -1),
                                      ("send_lens", send_lens, 4, 0), ("recv_lens", recv_lens, 4, 0)):
            if not isinstance(value, (list, tuple)):
                raise _check.refused("NeighborExchangeV2", what, _check.LIST, value, TypeError)
            if len(value) != n or any(isinstance(k, bool) or not isinstance(k, int) or k < least for k in value):
                raise _check.refused("NeighborExchangeV2", what, _check.value(f"hold {n} ints of at least {least}"),
                                     value)
            ranks = [k for k in value if k >= 0]
            if n == 8 and len(set(ranks)) != len(ranks):
                raise _check.refused("NeighborExchangeV2", what, _check.value("hold each process once"), value)
        if data_format != "NCHW":
            raise _check.refused("NeighborExchangeV2", "data_format", _check.one_of("NCHW"), data_format)
        self.send_rank_ids, self.send_lens = list(send_rank_ids), list(send_lens)
        self.recv_rank_ids, self.recv_lens, self.format = list(recv_rank_ids), list(recv_lens), data_format

    def _by_member(self, what, ranks, group):
        """For each member the direction in which it lies, -1: in none."""
        out = [-1] * group.size
        for k, rank in enumerate(ranks):
            if rank >= 0:
                out[member_of("NeighborExchangeV2", what, rank, group)] = k
        return out

    def __call__(self, x: Tensor) -> Tensor:
        from pijit.ops import function as F
        group = self._members()
        if x.ndim != 4:
            raise _check.refused("NeighborExchangeV2", "the images", _check.value("have 4 dimensions"), x.shape)
        n, channels, height, width = x.shape
        top, bottom, left, right = self.send_lens
        if max(top, bottom) > height or max(left, right) > width:
            raise _check.refused("NeighborExchangeV2", "send_lens",
                                 _check.value(f"be at most {height} rows and {width} columns"), self.send_lens)
        rows = (slice(0, top), slice(0, height), slice(height - bottom, height))
        columns = (slice(0, left), slice(0, width), slice(width - right, width))
        parts, send = [], []
        for k in self._by_member("send_rank_ids", self.send_rank_ids, group):
            size = 0
            if k >= 0:
                r, c = self._PLACES[k]
                part = x[:, :, rows[r], columns[c]].reshape((-1,))
                size = part.size
                if size:
                    parts.append(part)
            send.append(size)
        top, bottom, left, right = self.recv_lens
        heights, widths = (top, height, bottom), (left, width, right)
        sources = self._by_member("recv_rank_ids", self.recv_rank_ids, group)
        receive = [n * channels * heights[self._PLACES[k][0]] * widths[self._PLACES[k][1]] if k >= 0 else 0
                   for k in sources]
        given = F.concat(parts, 0) if len(parts) > 1 else parts[0] if parts else F.zeros((0,), x.dtype)
        flat = _collectives.all_to_all(given, send, receive, group)
        got, at = {(1, 1): x}, 0
        for k, size in zip(sources, receive):
            if k >= 0:
                r, c = self._PLACES[k]
                got[r, c] = flat[at:at + size].reshape((n, channels, heights[r], widths[c]))
            at += size
        lines = []
        for r in range(3):
            if heights[r]:
                line = [got[r, c] if (r, c) in got else F.zeros((n, channels, heights[r], widths[c]), x.dtype)
                        for c in range(3) if widths[c]]
                lines.append(F.concat(line, 3) if len(line) > 1 else line[0])
        return F.concat(lines, 2) if len(lines) > 1 else lines[0]


class BatchISendIRecv(_BetweenTwo):
    """Sends tensors to other processes and receives some from them, in one call.

    op_types are "isend" and "irecv", remote_ranks the processes, which count in the world, receive_shapes and
    receive_dtypes are those of what is received, in its order. Called with the tensors to be sent. Results are in the
    order of op_types: a tensor for each irecv, a zero for each isend."""

    op_types: tuple[str, ...]
    remote_ranks: tuple[int, ...]
    receive_shapes: tuple[Any, ...]
    receive_dtypes: tuple[Any, ...]

    def __init__(self, op_types: Any, remote_ranks: Any, receive_shapes: Any = None, receive_dtypes: Any = None,
                 group: str = _WORLD) -> None:
        super().__init__(group)
        shapes, dtypes = (() if v is None else v for v in (receive_shapes, receive_dtypes))
        for what, value in (("op_types", op_types), ("remote_ranks", remote_ranks), ("receive_shapes", shapes),
                            ("receive_dtypes", dtypes)):
            if not isinstance(value, (list, tuple)):
                raise _check.refused("BatchISendIRecv", what, _check.LIST, value, TypeError)
        if any(op not in ("isend", "irecv") for op in op_types):
            raise _check.refused("BatchISendIRecv", "op_types", _check.value("hold 'isend' and 'irecv'"), op_types)
        received = sum(op == "irecv" for op in op_types)
        for what, value, n in (("remote_ranks", remote_ranks, len(op_types)), ("receive_shapes", shapes, received),
                               ("receive_dtypes", dtypes, received)):
            if len(value) != n:
                raise _check.refused("BatchISendIRecv", what, _check.value(f"hold {n} values, as op_types says"),
                                     len(value))
        self.op_types, self.remote_ranks = tuple(op_types), tuple(remote_ranks)
        self.receive_shapes, self.receive_dtypes = tuple(tuple(s) for s in shapes), tuple(dtypes)

    def __call__(self, *inputs: Any) -> tuple[Tensor, ...]:
        given = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)) else inputs
        given = [x for x in given if x is not None]
        sends = [k for k, op in enumerate(self.op_types) if op == "isend"]
        if len(given) != len(sends):
            raise _check.refused("BatchISendIRecv", "the inputs",
                                 _check.value(f"be {len(sends)} tensors, one for each isend"), len(given), RuntimeError)
        pairs = [self._pair("remote_ranks", r) for r in self.remote_ranks]
        out: list[Any] = [None] * len(pairs)
        for k, x in zip(sends, given):
            out[k] = _collectives.send(x, pairs[k][0], 0, pairs[k][1])
        at = 0
        for k, (peer, group) in enumerate(pairs):
            if self.op_types[k] == "irecv":
                out[k] = _collectives.receive(self.receive_shapes[at], self.receive_dtypes[at], peer, 0, group)
                at += 1
        return tuple(out)


__all__ = ["AllGather", "AllGatherV", "AllReduce", "AlltoAll", "AlltoAllV", "AlltoAllVC", "Barrier", "BatchISendIRecv",
           "Broadcast", "CollectiveGather", "CollectiveScatter",
           "NeighborExchange", "NeighborExchangeV2", "Receive", "Reduce",
           "ReduceOp", "ReduceScatter", "ReduceScatterV", "Send"]
