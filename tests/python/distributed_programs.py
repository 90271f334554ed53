"""Programs of several processes, for test_distributed.py: `mpirun -n 2 python -m tests.python.distributed_programs NAME
[ARGUMENTS]`. Each rank checks what it sees; what rank 0 prints, the test reads."""

import ctypes
import os
import signal
import sys
import time

import numpy as np

import pijit as ms
from pijit import Tensor, communication, context, nn, ops
from pijit.communication import comm_func
from pijit.mint import distributed

PROGRAMS = {}


def program(f):
    PROGRAMS[f.__name__] = f
    return f


def same(value, expected):
    np.testing.assert_array_equal(value.asnumpy() if isinstance(value, Tensor) else value, expected)


def ranks():
    return communication.get_rank(), communication.get_group_size()


def raises(kind, text, f):
    try:
        f()
    except kind as e:
        assert text in str(e), str(e)
    else:
        raise AssertionError(f"no {kind.__name__} with {text!r}")


DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
          "float64", "complex64", "complex128")


@program
def collectives():
    rank, n = ranks()
    for name in DTYPES:
        dtype = getattr(ms, name)
        rows = [(np.arange(2 * n) + r) % 3 + 1 for r in range(n)]
        x = Tensor(rows[rank]).astype(dtype)
        reductions = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}
        for op, f in reductions.items():
            if "complex" in name and op in ("max", "min"):
                raises(TypeError, "complex", lambda op=op, x=x: ops.AllReduce(op)(x))
                continue
            whole = f(rows, axis=0)
            same(ops.AllReduce(op)(x).astype(ms.float32), whole)
            same(ops.ReduceScatter(op)(x).astype(ms.float32), whole[2 * rank:2 * rank + 2])
            same(ops.Reduce(n - 1, op)(x).astype(ms.float32), whole if rank == n - 1 else rows[rank])
        same(ops.AllGather()(x).astype(ms.float32), np.concatenate(rows))
        same(ops.Broadcast(1)((x,))[0].astype(ms.float32), rows[1])
        same(ops.CollectiveGather(1)(x).astype(ms.float32), np.concatenate(rows) if rank == 1 else [0])
        same(ops.CollectiveScatter(1)(x).astype(ms.float32), rows[1][2 * rank:2 * rank + 2])
        same(ops.AlltoAll(n, 0, 0)(x).astype(ms.float32), np.concatenate([r[2 * rank:2 * rank + 2] for r in rows]))
    flags = Tensor([True, rank == 0])
    same(ops.AllGather()(flags), [True, True] + [True, False] * (n - 1))
    raises(TypeError, "bool", lambda: ops.AllReduce()(flags))
    same(ops.AllReduce()(Tensor(2.0)), 2.0 * n)
    same(ops.AllReduce()(Tensor(np.zeros((0, 3), np.float32))), np.zeros((0, 3)))
    x = np.arange(3 * 2 * n * 2).reshape(3, 2 * n, 2)
    y = ops.AlltoAll(n, 1, 2)(Tensor(x + 100 * rank))
    same(y, np.concatenate([x[:, 2 * rank:2 * rank + 2] + 100 * r for r in range(n)], 2))
    ops.Barrier()()


@program
def gradients_of_products():
    """Of the sum of all ranks' results: where there are zeros, too. And of what is reduced beside other code: none."""
    rank, n = ranks()
    rows = np.array([[2, 0, 0, 3], [5, 4, 0, -1], [1, 2, 7, 2], [3, 1, 1, 0.5]], np.float32)[:n]
    expected = n * np.prod(np.delete(rows, rank, 0), 0)
    product = ops.AllReduce("prod")
    for take in (ms.grad(lambda x: product(x).sum()), ms.jit(lambda x: ms.grad(lambda x: product(x).sum())(x))):
        for _ in range(2):
            same(take(Tensor(rows[rank])), expected)

    def beside(x):
        y, handle = comm_func.all_reduce(x * x, async_op=True)
        handle.wait()
        return y.sum()

    raises(RuntimeError, "async_op", lambda: ms.grad(beside)(Tensor(rows[rank])))


@program
def parts_of_other_sizes():
    """Eager and captured, with their gradients: those of the sum of all ranks' results."""
    rank, n = ranks()
    sizes = [k + 1 if k != 1 else 0 for k in range(n)]  # one of them is empty
    rows = [np.arange(k, dtype=np.float32) + 10 * r for r, k in enumerate(sizes)]
    weights = np.arange(1, sum(sizes) + 1, dtype=np.float32)
    at = sum(sizes[:rank])
    gather, scatter = ops.AllGatherV(), ops.ReduceScatterV()
    x, w = Tensor(rows[rank]), Tensor(weights)
    for wrap in (lambda f: f, ms.jit):
        same(wrap(lambda x: gather(x, sizes))(x), np.concatenate(rows))
        same(wrap(ms.grad(lambda x, w: (gather(x, tuple(sizes)) * w).sum()))(x, w), n * weights[at:at + sizes[rank]])
        same(wrap(lambda w: scatter(w, sizes))(w), n * weights[at:at + sizes[rank]])
        scale = Tensor(np.full(sizes[rank], rank + 1.0, np.float32))
        same(wrap(ms.grad(lambda w, s: (scatter(w, sizes) * s).sum()))(w, scale),
             np.repeat(np.arange(1.0, n + 1), sizes))
    same(ops.ReduceScatterV("max")(Tensor(weights * (rank + 1)), sizes), n * weights[at:at + sizes[rank]])
    counts = np.array([[(i + 2 * j) % 3 for j in range(n)] for i in range(n)])  # elements from i to j
    whole = [[np.full(2 * counts[i, j], 10 * i + j, np.float32) for j in range(n)] for i in range(n)]
    x = Tensor(np.concatenate(whole[rank]))
    expected = np.concatenate([whole[i][rank] for i in range(n)])
    send, receive = counts[rank].tolist(), counts[:, rank].tolist()
    by_lists, by_matrix = ops.AlltoAllV(block_size=2), ops.AlltoAllVC(block_size=2)
    for wrap in (lambda f: f, ms.jit):
        same(wrap(lambda x: by_lists(x, send, receive))(x), expected)
        same(wrap(lambda x: by_matrix(x, counts.ravel().tolist()))(x), expected)
        back = wrap(ms.grad(lambda x: (by_lists(x, send, receive) * (rank + 1.0)).sum()))(x)
        same(back, np.repeat(np.arange(1.0, n + 1), 2 * counts[rank]))
    same(by_lists(x, Tensor(send), Tensor(receive)), expected)
    same(ops.AlltoAllVC(block_size=2, transpose=True)(x, counts.T.ravel().tolist()), expected)
    raises(ValueError, "send_numel_list", lambda: by_lists(x, send[:-1], receive))
    raises(ValueError, "elements, as output_split_sizes says", lambda: gather(Tensor(np.ones(9, np.float32)), sizes))


@program
def functions():
    rank, n = ranks()
    x = Tensor(np.arange(4.0, dtype=np.float32) + rank)
    total = sum(np.arange(4.0) + r for r in range(n))
    out, handle = comm_func.all_reduce(x, async_op=True)
    second, other = comm_func.all_reduce(x * 2, async_op=True)
    other.wait()
    handle.wait()
    same(out, total)
    same(second, 2 * total)
    parts, _ = comm_func.all_to_all_with_output_shape([(rank + 1, 2)] * n, [ops.ones((r + 1, 2)) * rank
                                                                            for r in range(n)])
    for r, part in enumerate(parts):
        same(part, np.full((rank + 1, 2), r))
    rows = Tensor(np.full((n * (n + 1) // 2, 2), rank, np.int32))
    got, _ = comm_func.all_to_all_single_with_output_shape((n * (rank + 1), 2), rows, [rank + 1] * n,
                                                           [r + 1 for r in range(n)])
    same(got, np.repeat(np.arange(n), rank + 1)[:, None] * [1, 1])
    counts = [i + j for i in range(n) for j in range(n)]
    got, _ = comm_func.all_to_all_v_c(Tensor(np.full(sum(counts[rank * n:rank * n + n]), rank)), counts)
    same(got, np.repeat(np.arange(n), counts[rank::n]))
    following, before = (rank + 1) % n, (rank - 1) % n
    big = ops.ones((300, 1000)) * rank
    comm_func.send(big, following)
    same(comm_func.recv(big, before)[5, :3], [before] * 3)
    handles = [comm_func.isend(x, following, tag=k) for k in (1, 2)]
    out, handle = comm_func.irecv(x, before, tag=2)
    handle.wait()
    same(out, np.arange(4) + before)
    same(comm_func.recv(x, before, tag=1), np.arange(4) + before)
    [h.wait() for h in handles]
    got = comm_func.batch_isend_irecv([comm_func.P2POp("irecv", x, before), comm_func.P2POp("isend", x, following)])
    same(got[0], np.arange(4) + before)
    same(ops.NeighborExchange([following], [before], [[4]], [[4]], ms.float32)(x)[0], np.arange(4) + before)
    raises(ValueError, "rank_ids", lambda: communication.create_group("far", [0, n]))
    raises(ValueError, "dst", lambda: comm_func.send(x, n))
    raises(ValueError, "itself", lambda: comm_func.send(x, rank))
    if rank == 0:
        comm_func.send(x.astype(ms.int32), 1)
    if rank == 1:
        raises(ValueError, "4 elements of int32", lambda: comm_func.recv(x, 0))


@program
def filling():
    """mint.distributed."""
    rank, n = ranks()
    d = distributed
    assert (d.get_rank(), d.get_world_size(), d.is_initialized()) == (rank, n, True)
    x = Tensor(np.array([rank, 1], np.float32))
    d.all_reduce(x)
    same(x, [n * (n - 1) / 2, n])
    handle = d.all_reduce(x, op="max", async_op=True)
    handle.wait()
    x = Tensor([float(rank)])
    d.broadcast(x, 1)
    same(x, [1.0])
    outs = [ops.zeros((r + 1,)) for r in range(n)]
    d.all_gather(outs, ops.ones((rank + 1,)) * rank)
    for r in range(n):
        same(outs[r], [r] * (r + 1))
    out = ops.zeros((n * (n + 1) // 2,))
    d.all_gather_into_tensor_uneven(out, ops.ones((rank + 1,)) * rank, [r + 1 for r in range(n)])
    same(out, np.repeat(np.arange(n), np.arange(n) + 1))
    out = ops.zeros((n, 2))
    d.all_gather_into_tensor(out, ops.ones((1, 2)) * rank)
    same(out, np.arange(n)[:, None] * [1, 1])
    out = ops.zeros((1,))
    d.reduce_scatter(out, [ops.ones((1,)) * r for r in range(n)])
    same(out, [n * rank])
    d.reduce_scatter_tensor(out, Tensor(np.arange(n, dtype=np.float32)))
    same(out, [n * rank])
    out = ops.zeros((rank + 1,))
    d.reduce_scatter_tensor_uneven(out, ops.ones((n * (n + 1) // 2,)), [r + 1 for r in range(n)])
    same(out, [n] * (rank + 1))
    outs = [ops.zeros((1,)) for _ in range(n)]
    d.all_to_all(outs, [ops.ones((1,)) * (10 * rank + r) for r in range(n)])
    assert [float(o) for o in outs] == [10 * r + rank for r in range(n)]
    out = ops.zeros((n,))
    d.all_to_all_single(out, Tensor(np.arange(n, dtype=np.float32) + 10 * rank))
    same(out, [10 * r + rank for r in range(n)])
    objects = []
    d.all_gather_object(objects, {"rank": rank, "text": "x" * rank})
    assert [o["rank"] for o in objects] == [*range(n)]
    objects = [rank, "a"] if rank == 1 else [None, None]
    d.broadcast_object_list(objects, 1)
    assert objects == [1, "a"]
    mine = [None]
    d.scatter_object_list(mine, [f"for {r}" for r in range(n)] if rank == 0 else None, 0)
    assert mine == [f"for {rank}"]
    objects = []
    d.gather_object(rank, objects, 1)
    assert objects == ([*range(n)] if rank == 1 else [])
    if rank == 0:
        d.send(ops.ones((3,)), 1)
    if rank == 1:
        got = ops.zeros((3,))
        assert d.recv(got, 0) == 0
        same(got, [1, 1, 1])
    d.barrier()


@program
def gathered_and_scattered():
    rank, n = ranks()
    rows = np.arange(3.0 * n, dtype=np.float32).reshape(n, 3)
    parts = [Tensor(np.zeros(3, np.float32)) for _ in range(n)] if rank == 1 else None
    assert distributed.gather(Tensor(rows[rank]), parts, 1) is None
    for k in range(n if rank == 1 else 0):
        same(parts[k], rows[k])
    for name in ("float32", "int64", "bfloat16"):
        x = Tensor(np.zeros((3, 1))).astype(getattr(ms, name))
        given = [Tensor(r).astype(x.dtype) for r in rows] if rank == 0 else None
        distributed.scatter(x, given, 0, async_op=True).wait()
        same(x.astype(ms.float32), rows[rank][:, None])
    if rank == 0:
        raises(ValueError, "gather_list", lambda: distributed.gather(Tensor([1.0]), [], 0))


@program
def edges_of_neighbours():
    """On a grid of processes, with gradients: what lies in the whole image around each part."""
    rank, n = ranks()
    across = 2 if n == 4 else 1
    down = n // across
    whole = np.arange(3.0 * 2 * 4 * down * 3 * across, dtype=np.float32).reshape(3, 2, 4 * down, 3 * across)
    r, c = divmod(rank, across)
    steps = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))
    near = [(r + i) * across + c + j if 0 <= r + i < down and 0 <= c + j < across else -1 for i, j in steps]
    lens = (2, 1, 1, 2)  # rows and columns that come from the top, the bottom, the left and the right
    exchange = ops.NeighborExchangeV2(near, [1, 2, 2, 1], near, list(lens), "NCHW")
    around = np.pad(whole, ((0, 0), (0, 0), lens[:2], lens[2:]))
    expected = around[:, :, 4 * r:4 * r + 4 + 3, 3 * c:3 * c + 3 + 3]
    part = Tensor(whole[:, :, 4 * r:4 * r + 4, 3 * c:3 * c + 3].copy())
    uses = np.zeros_like(around)
    for k in range(n):  # how often each pixel is in some process's result
        i, j = divmod(k, across)
        uses[:, :, 4 * i:4 * i + 7, 3 * j:3 * j + 6] += 1
    at = (slice(None), slice(None), slice(2 + 4 * r, 6 + 4 * r), slice(1 + 3 * c, 4 + 3 * c))
    for wrap in (lambda f: f, ms.jit):
        same(wrap(lambda x: exchange(x))(part), expected)
        same(wrap(ms.grad(lambda x: (exchange(x) * 2).sum()))(part), 2 * uses[at])
    following, before = (rank + 1) % n, (rank - 1) % n
    batch = ops.BatchISendIRecv(("irecv", "isend", "isend", "irecv"), (before, following, following, before),
                                ((2,), (1, 1)), (ms.float32, ms.int32))
    sent = Tensor([1.0, rank]), Tensor([[rank]]).astype(ms.int32)
    for f in (batch, ms.jit(lambda *x: batch(*x))):
        got = f(*sent)
        same(got[0], [1, before])
        same(got[3], [[before]])
    raises(ValueError, "each process once", lambda: ops.NeighborExchangeV2([0] * 8, [1] * 4, [-1] * 8, [1] * 4, "NCHW"))
    raises(TypeError, "send_lens", lambda: ops.NeighborExchangeV2([-1] * 8, 1, [-1] * 8, [1] * 4, "NCHW"))
    raises(RuntimeError, "one for each isend", lambda: batch(sent[0]))


@program
def store(port):
    """TCPStore: rank 0 serves it; the others wait for keys, and count."""
    rank, n = ranks()
    shared = distributed.TCPStore("127.0.0.1", int(port), n, rank == 0)
    if rank == 1:
        time.sleep(0.3)
        shared.set("\x00 of 1 <&>", bytes(range(256)))
    assert shared.get("\x00 of 1 <&>") == bytes(range(256))
    assert shared.add("ranks", 1 << 40) % (1 << 40) == 0
    distributed.barrier()
    assert shared.get("ranks") == str(n << 40).encode() and shared.num_keys() == 2
    distributed.barrier()
    assert not shared.delete_key("none")
    raises(RuntimeError, "no number", lambda: shared.add("\x00 of 1 <&>", 1))
    distributed.barrier()  # rank 0 serves until all have asked


@program
def groups():
    rank, n = ranks()
    halves = [[*range(n // 2)], [*range(n // 2, n)]]
    mine = halves[rank >= n // 2]
    communication.create_group("half", mine)
    raises(ValueError, "half", lambda: communication.create_group("half", mine))
    assert communication.get_rank("half") == mine.index(rank) and communication.get_group_size("half") == len(mine)
    assert communication.get_world_rank_from_group_rank("half", 0) == mine[0]
    assert communication.get_group_rank_from_world_rank(mine[-1], "half") == len(mine) - 1
    assert communication.get_process_group_ranks("half") == mine and communication.get_local_rank_size() == n
    same(ops.AllReduce(group="half")(Tensor([float(rank)])), [float(sum(mine))])
    same(ops.Broadcast(mine[-1], "half")((Tensor([rank]),))[0], [mine[-1]])
    communication.destroy_group("half")
    raises(ValueError, "half", lambda: ops.AllReduce(group="half")(Tensor([1.0])))
    if rank < 2:
        communication.create_group("turned", [1, 0])
        assert communication.get_rank("turned") == 1 - rank
        same(ops.AllGather("turned")(Tensor([rank])), [1, 0])
    ops.Barrier()()


@program
def captured():
    """Graphs keep every collective, in the order of the program; gradients are those of the mathematics."""
    rank, n = ranks()
    x = Tensor(np.arange(1.0, 1 + n, dtype=np.float32) + rank)
    xs = [np.arange(1.0, 1 + n) + r for r in range(n)]
    reduce, largest, gather, scatter = ops.AllReduce(), ops.AllReduce("max"), ops.AllGather(), ops.ReduceScatter()

    @ms.jit
    def f(x):
        reduce(x)  # nobody reads it: the others wait for it
        a = reduce(x) + reduce(x)
        return a * 2 + largest(x), gather(x)
    for _ in range(3):
        a, b = f(x)
        same(a, 4 * sum(xs) + xs[-1])
        same(b, np.concatenate(xs))
    assert not ms.explain(f).breaks
    text = str(ms.explain(f).graphs)
    assert text.count("= all_reduce(") == 4 and text.count("= all_gather(") == 1, text

    def gradient(g):
        plain, jitted = ms.grad(g)(x), ms.jit(ms.grad(g))(x)
        same(jitted, plain.asnumpy())
        return plain
    weights = np.arange(n, dtype=np.float32) + 1
    w = Tensor(weights * (rank + 1))
    # the sum over ranks of each loss's gradient
    of_all = weights * n * (n + 1) / 2
    same(gradient(lambda x: (reduce(x) * w).sum()), of_all)
    same(gradient(lambda x: (largest(x) * w).sum()), of_all if rank == n - 1 else 0 * of_all)
    flat = Tensor(np.arange(n * n, dtype=np.float32) + rank)
    same(gradient(lambda x: (gather(x) * flat).sum()),
         n * np.arange(n * rank, n * rank + n) + n * (n - 1) / 2)
    same(gradient(lambda x: (scatter(x) * (rank + 1)).sum()), np.arange(n) + 1.0)
    same(gradient(lambda x: (ops.Broadcast(1)((x,))[0] * w).sum()), of_all if rank == 1 else 0 * of_all)
    same(gradient(lambda x: (ops.AlltoAll(n, 0, 0)(x) * (rank + 1)).sum()), np.arange(n) + 1.0)
    _, tangent = ms.jvp(lambda x: reduce(x * x), x, ops.ones_like(x))
    same(tangent, 2 * sum(xs))
    raises(RuntimeError, "vmap", lambda: ms.vmap(reduce)(ops.ones((2, 2))))

    @ms.jit
    def branches(x):  # on a value, which a graph doesn't know
        if x.sum() > 3:
            return reduce(x)
        return reduce(x * 0)
    same(branches(x), sum(v if v.sum() > 3 else 0 * v for v in xs))

    @ms.jit
    def loops(x):
        while reduce(x).sum() < 1000:
            x = x * 2
        return x
    loops(x)


@program
def disagreements():
    """Every rank gets the error, and can go on."""
    rank, n = ranks()
    x = Tensor(np.zeros(3 + rank, np.float32))
    raises(RuntimeError, "rank 0: all-reduce (sum) of 3 float32", lambda: ops.AllReduce()(x))
    raises(RuntimeError, "rank 1: all-reduce (sum) of 4 float32", lambda: ops.AllReduce()(x))
    raises(RuntimeError, "int32", lambda: ops.AllReduce()(Tensor([1, 2]).astype(ms.int32 if rank else ms.int64)))
    raises(RuntimeError, "all-gather", lambda: (ops.AllGather() if rank else ops.AllReduce())(Tensor([1.0])))
    raises(RuntimeError, "with root 1", lambda: ops.Broadcast(1 if rank else 0)((Tensor([1.0]),)))
    raises(RuntimeError, "elements to rank", lambda: comm_func.all_to_all_single_with_output_shape(
        (n + rank,), Tensor(np.zeros(n)), [1] * (n - 1) + [1 + rank], [1] * n))
    raises(RuntimeError, "rank 1: all-reduce", lambda: ms.jit(lambda y: ops.AllReduce()(y) + 1)(x))
    raises(ValueError, "multiple", lambda: ops.ReduceScatter()(Tensor(np.zeros(n + 1))))
    raises(ValueError, "first dimension", lambda: ops.AllGather()(Tensor(1.0)))
    raises(ValueError, "split_count", lambda: ops.AlltoAll(n + 1, 0, 0)(Tensor(np.zeros(n))))
    same(ops.AllReduce()(Tensor([1.0])), [float(n)])


class Network(nn.Cell):
    def __init__(self, norm):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3), norm(8)
        self.a, self.b, self.c = nn.Dense(8 * 36, 24), nn.Dense(24, 8 * 36), nn.Dense(8 * 36, 10)

    def construct(self, x):
        x = ops.relu(self.norm(self.conv(x))).reshape(x.shape[0], -1)
        return self.c(ops.relu(self.b(ops.relu(self.a(x)))))


OPTIMIZERS = {"momentum": lambda p: nn.Momentum(p, 0.05, 0.9), "adam": lambda p: nn.Adam(p, 1e-3, weight_decay=0.01),
              "lamb": lambda p: nn.Lamb(p, 1e-3), "adamw": lambda p: nn.AdamWeightDecay(p, 1e-3)}


class Losses(ms.Callback):
    def __init__(self):
        self.of_all = []

    def on_train_step_end(self, run_context):
        mean = ops.AllReduce()(run_context.original_args().net_outputs) / communication.get_group_size()
        self.of_all.append(float(mean.asnumpy()))


@program
def training(mode, name, sharded="", folder=""):
    """Losses of the whole batch, and sums of parameters: one process's and several ones'."""
    rank, n = ranks()
    context.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
    if n > 1:
        ms.set_auto_parallel_context(parallel_mode=context.ParallelMode.DATA_PARALLEL, gradients_mean=True,
                                     parameter_broadcast=True, enable_parallel_optimizer=sharded == "sharded",
                                     comm_fusion={"allreduce": {"mode": "size", "config": 0.02}})
    ms.set_seed(3 + rank)  # parameters come from rank 0
    net = Network(nn.SyncBatchNorm if n > 1 else nn.BatchNorm2d)
    optimizer = OPTIMIZERS[name](net.trainable_params())
    rng, steps, batch = np.random.default_rng(0), 6, 16
    xs = rng.normal(size=(steps, batch, 3, 6, 6)).astype(np.float32)
    ys = rng.integers(0, 10, (steps, batch)).astype(np.int32)
    part = slice(rank * batch // n, (rank + 1) * batch // n)
    data = ms.dataset.GeneratorDataset([(x[part], y[part]) for x, y in zip(xs, ys)], ["x", "y"], shuffle=False)
    callbacks = [losses := Losses()]
    if folder:
        callbacks.append(ms.ModelCheckpoint("net", folder, ms.CheckpointConfig(save_checkpoint_steps=steps)))
    ms.Model(net, nn.CrossEntropyLoss(), optimizer).train(1, data, callbacks=callbacks)
    sums = [float(abs(p.asnumpy()).sum()) for p in net.get_parameters()]
    state = sum(p.size for p in optimizer.get_parameters())
    all_sums = ops.AllGather()(Tensor(sums)).asnumpy().reshape(n, -1) if n > 1 else np.array([sums])
    assert (all_sums == all_sums[0]).all(), "ranks differ"
    if rank == 0:
        print("losses", *losses.of_all, *sums)
        print("state", state)


@program
def functional():
    """A training step of the program's own, with nn.DistributedGradReducer."""
    rank, n = ranks()
    ms.set_seed(1)
    net = nn.Dense(4, 2)
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    reducer = nn.DistributedGradReducer(optimizer.parameters, mean=True)
    forward = ms.value_and_grad(lambda x, y: ops.mse_loss(net(x), y), None, optimizer.parameters)

    @ms.jit
    def step(x, y):
        loss, grads = forward(x, y)
        grads = reducer(grads)
        optimizer(grads)
        return loss
    rng = np.random.default_rng(0)
    for _ in range(4):
        x, y = rng.normal(size=(8, 4)).astype(np.float32), rng.normal(size=(8, 2)).astype(np.float32)
        mine = slice(rank * 8 // n, (rank + 1) * 8 // n)
        loss = ops.AllReduce()(step(Tensor(x[mine]), Tensor(y[mine]))) / n
    if rank == 0:
        print("losses", float(loss), *net.weight.asnumpy().ravel())


@program
def shards(folder):
    """num_shards and shard_id, and a DistributedSampler: each row once in all."""
    rank, n = ranks()
    for options in ({"num_shards": n, "shard_id": rank, "shuffle": False},
                    {"sampler": ms.dataset.DistributedSampler(n, rank, shuffle=True)}):
        data = ms.dataset.GeneratorDataset([(np.int32(k),) for k in range(12)], ["x"], **options)
        rows = [int(row["x"]) for row in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
        got = ops.AllGather()(Tensor(np.array(rows, np.int32))).asnumpy()
        assert sorted(got.tolist()) == [*range(12)], got


@program
def threads():
    """While one thread waits for the other process, others go on."""
    import threading
    rank, n = ranks()
    turns = []
    stop = threading.Event()

    def count():
        while not stop.is_set():
            turns.append(1)
            time.sleep(0.001)
    t = threading.Thread(target=count)
    t.start()
    if rank == 0:
        time.sleep(1)
    before = len(turns)
    ops.AllReduce()(Tensor([1.0]))
    if rank == 1:
        assert len(turns) - before > 50, len(turns) - before
    before = len(turns)
    if rank == 0:
        time.sleep(1)
    ms.jit(lambda x: ops.AllReduce()(x) + 1)(Tensor([1.0]))
    if rank == 1:
        assert len(turns) - before > 50, len(turns) - before
    stop.set()
    t.join()


@program
def interrupted():
    """Ctrl-C while an all-reduce is waited for; another wait() gets its result."""
    import threading
    rank, n = ranks()
    if rank == 1:
        time.sleep(1)
    out, handle = comm_func.all_reduce(Tensor([1.0]), async_op=True)
    if rank == 0:
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        raises(KeyboardInterrupt, "", handle.wait)
        assert not handle.is_completed()
    handle.wait()
    same(out, [n])
    same(ops.AllReduce()(Tensor([1.0])), [n])


@program
def graph_that_fails():
    """A kernel that fails behind a collective, on one rank: the collective is not run again."""
    rank, n = ranks()

    @ms.jit
    def f(x, i):
        return ops.gather(ops.AllReduce()(x), i, 0)
    x = Tensor([1.0, 2.0])
    same(f(x, Tensor([1])), [2.0 * n])
    if rank == 1:
        raises(IndexError, "distributed_programs.py:", lambda: f(x, Tensor([7])))
    else:
        same(f(x, Tensor([0])), [n])
    same(ops.AllReduce()(Tensor([10.0, 20.0])), [10.0 * n, 20.0 * n])
    same(f(x, Tensor([1])), [2.0 * n])


@program
def again():
    """Communication ends and starts again; groups are new ones."""
    _, n = ranks()
    for _ in range(3):
        communication.create_group("some", [*range(n)])
        same(ops.AllReduce(group="some")(Tensor([1.0])), [n])
        communication.release()
        assert communication.get_group_size() == 1
        communication.init()
    same(ops.AllReduce()(Tensor([1.0])), [n])


@program
def unread():
    """What nobody receives, and a thread that waits for what nobody sends, are no hindrance to the end."""
    import threading
    rank, _ = ranks()
    if rank == 0:
        comm_func.send(ops.ones((1000000,)), 1)
    threading.Thread(target=lambda: comm_func.recv(Tensor([1.0]), 1 - rank, tag=1), daemon=True).start()
    time.sleep(0.2)


@program
def raising():
    if ranks()[0] == 1:
        raise ValueError("no such file")
    ops.AllReduce()(Tensor([1.0]))


@program
def killed():
    if ranks()[0] == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    ops.AllReduce()(Tensor([1.0]))


@program
def leaving():
    if ranks()[0] == 0:
        ops.AllReduce()(Tensor([1.0]))


@program
def late():
    rank, _ = ranks()
    try:
        if rank == 1:
            time.sleep(8)
        else:
            ops.AllReduce()(Tensor([1.0]))
    except RuntimeError as e:
        print("error:", e, flush=True)
        raises(RuntimeError, "has failed before", lambda: ops.AllReduce()(Tensor([1.0])))
        raise


@program
def stopped():
    rank, _ = ranks()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    ops.AllReduce()(Tensor([1.0]))


@program
def no_group():
    if ranks()[0] == 0:
        communication.create_group("pair", [0, 1])
    else:
        time.sleep(8)


@program
def other_order():
    """Of ranks in create_group: an error on all of them, at once, also on those that agree."""
    rank, n = ranks()
    listed = list(range(n)) if rank < n - 1 else list(range(n))[::-1]
    begin = time.monotonic()
    raises(ValueError, f"group 'turned' in one order, but rank {n - 1} has another one than rank 0; rank {rank} lists",
           lambda: communication.create_group("turned", listed))
    assert time.monotonic() - begin < 10
    communication.create_group("turned", list(range(n))[::-1])
    assert communication.get_rank("turned") == n - 1 - rank
    same(ops.AllGather("turned")(Tensor([rank])), list(range(n))[::-1])


@program
def later():
    """Who comes after the others have given up is told so."""
    rank, _ = ranks()
    if rank == 0:
        raises(RuntimeError, "rank 1 of 2 has not come to it", lambda: ops.AllReduce()(Tensor([1.0])))
        time.sleep(5)  # in which it answers
    else:
        time.sleep(4)
        raises(RuntimeError, "rank 0 of 2 has given up waiting for the others; its last operation was all_reduce",
               lambda: ops.AllReduce()(Tensor([1.0])))
        print("told", flush=True)
    os._exit(3)  # communication is broken


@program
def on_hosts(seconds):
    """Collectives until the time is over, between machines."""
    rank, n = ranks()
    # On a line of its own in one piece, whatever else mpirun has of the others.
    os.write(1, f"\nhost {rank} {os.uname().nodename} {communication.get_local_rank()}\n".encode())
    big = np.arange(300_000.0, dtype=np.float32) + rank
    end = Tensor(time.monotonic() + float(seconds))
    while True:
        same(ops.AllReduce()(Tensor(big)), n * np.arange(300_000.0, dtype=np.float32) + n * (n - 1) / 2)
        if time.monotonic() > float(ops.Broadcast(0)((end,))[0].asnumpy()):  # one clock: the machines are namespaces
            break
        time.sleep(0.02)


@program
def early():
    """What would take its process to be alone, as communication is not initialized yet."""
    communication.release()
    network = nn.Dense(2, 2)
    raises(RuntimeError, "call init() first", lambda: nn.DistributedGradReducer(network.trainable_params()))
    raises(RuntimeError, "call init() first", lambda: nn.SyncBatchNorm(2))
    ms.set_auto_parallel_context(parallel_mode="data_parallel")
    optimizer = nn.SGD(network.trainable_params())
    raises(RuntimeError, "call init() first", lambda: nn.TrainOneStepCell(network, optimizer))
    communication.init()
    assert nn.TrainOneStepCell(network, optimizer).reducer_flag


@program
def moved_by_nccl():
    """What lies on the GPU goes by NCCL, but for what NCCL has not; it is never waited for."""
    rank, n = ranks()

    def count(f):
        before = LIBRARY.pijit_fake_nccl()
        f()
        return LIBRARY.pijit_fake_nccl() - before
    x = Tensor(np.arange(2.0 * n, dtype=np.float32) + rank)
    half = [*range(n // 2)] if rank < n // 2 else [*range(n // 2, n)]
    communication.create_group("half", half)
    assert x.device == "GPU"
    for f in (ops.AllReduce(), ops.AllGather(), ops.ReduceScatter("max"), ops.AlltoAll(n, 0, 0), ops.Reduce(1, "min"),
              ops.CollectiveGather(0), ops.CollectiveScatter(1), ops.AllReduce("prod", "half")):
        assert count(lambda f=f: f(x)) == (1 if f.group != "half" or n > 2 else 0), f
    assert count(lambda: ops.Broadcast(1)((x,))) == 1
    assert count(lambda: ops.AllReduce()(x.astype(ms.complex64))) == 1
    assert count(lambda: ops.AllReduce("prod")(x.astype(ms.complex64))) == 0
    assert count(lambda: ops.AllReduce()(x.astype(ms.int16))) == 0
    assert count(lambda: ops.AllGather()(x.astype(ms.int16))) == 1
    assert count(ops.Barrier()) == 0
    mixed = x if rank else x.to("CPU")  # on one rank it lies elsewhere
    assert count(lambda: same(ops.AllReduce()(mixed), n * np.arange(2.0 * n) + n * (n - 1) / 2)) == 0

    @ms.jit
    def step(x):
        return ops.AllReduce()(x * 2) + ops.AllGather()(x)[:2 * n]
    for _ in range(4):
        assert count(lambda: step(x)) == 2
    same(step(x)[:2], 2 * n * np.arange(2) + n * (n - 1) + np.arange(2))
    handles = [comm_func.all_reduce(x * k, async_op=True) for k in range(3)]
    for k in (1, 0, 2):
        handles[k][1].wait()
        same(handles[k][0], k * (n * np.arange(2.0 * n) + n * (n - 1) / 2))
    comm_func.all_reduce(x, async_op=True)  # nobody waits for it
    communication.release()
    communication.init("mccl")
    assert count(lambda: same(ops.AllReduce()(x)[:1], [n * (n - 1) / 2])) == 0


@program
def messages_by_nccl():
    """What is sent from GPU to GPU goes by NCCL, in any order of sends, receives, tags and collectives; what lies
    elsewhere at one end, by MPI."""
    rank, n = ranks()
    following, before = (rank + 1) % n, (rank - 1) % n
    seen = LIBRARY.pijit_fake_nccl()

    def has_started(more):  # a rank does not wait for its messages to leave
        nonlocal seen
        seen += more
        begin = time.monotonic()
        while LIBRARY.pijit_fake_nccl() < seen and time.monotonic() - begin < 60:
            time.sleep(0.01)
        comm_func.barrier()
        assert LIBRARY.pijit_fake_nccl() == seen
        comm_func.barrier()
    x = Tensor(np.arange(40000, dtype=np.float32)) + rank
    assert x.device == "GPU"
    for k in range(3):  # all send first, more than NCCL holds for a receiver that has not come
        comm_func.send(x * k, following, tag=k)
    x += 1  # what was sent stays as it was
    same(ops.AllReduce()(Tensor([1.0])), [n])
    for k in (1, 0, 2):
        got = comm_func.recv(x, before, tag=k)
        assert got.device == "GPU"
        same(got, (np.arange(40000) + before) * k)
    has_started(6 + 1)
    partners = [r for r in range(n) if r != rank]
    got = comm_func.batch_isend_irecv([comm_func.P2POp("irecv", x, r) for r in partners]
                                      + [comm_func.P2POp("isend", x, r) for r in partners])
    for r, y in zip(partners, got):
        same(y, np.arange(40000) + r + 1)
    has_started(2 * (n - 1))

    @ms.jit
    def passed_on(x):
        sent = ops.Send(5, following)(x * 2)
        return ops.Receive(5, before, [40000], ms.float32)() + sent.reshape(())[()] * 0 + 1
    for _ in range(4):
        same(passed_on(x), (np.arange(40000) + before + 1) * 2 + 1)
    has_started(8)
    handle = comm_func.isend(x, following, tag=9)
    y, wait = comm_func.irecv(x, before, tag=9)
    handle.wait(), wait.wait()
    same(y, np.arange(40000) + before + 1)
    has_started(2)
    # by MPI: from or to the CPU, and what is empty
    comm_func.send(x.to("CPU"), following, tag=3)
    same(comm_func.recv(x, before, tag=3)[:3], np.arange(3) + before + 1)
    comm_func.send(x, following, tag=4)
    comm_func.send(x + 1, following, tag=4)
    context.set_context(device_target="CPU")
    for k in range(2):
        y = comm_func.recv(x, before, tag=4)
        assert y.device == "CPU"
        same(y[:3], np.arange(3) + before + 1 + k)
    context.set_context(device_target="GPU")
    comm_func.send(x[:0], following)
    assert comm_func.recv(x[:0], before).shape == (0,)
    # of another size: the receiver says so, the message is gone
    comm_func.send(x, following, tag=6)
    comm_func.send(x[:5], following, tag=6)
    raises(ValueError, f"rank {before} sent 40000 elements of float32, but 7 of float32 were expected",
           lambda: comm_func.recv(x[:7], before, tag=6))
    has_started(0)
    same(comm_func.recv(x[:5], before, tag=6), np.arange(5) + before + 1)
    has_started(2)
    comm_func.send(x, following, tag=7)  # nobody receives it


@program
def second_fails():
    """A collective that fails, hangs or dies on the GPU."""
    rank, _ = ranks()
    ops.AllReduce()(Tensor([1.0])).asnumpy()
    begin = time.monotonic()
    try:
        ops.AllReduce()(Tensor([1.0])).asnumpy()
    except RuntimeError as e:
        print(f"rank {rank} after {time.monotonic() - begin:.1f} s: {e}", flush=True)
        raises(RuntimeError, "", lambda: ops.AllReduce()(Tensor([1.0])))
        raises(RuntimeError, "values may not be what they should", lambda: Tensor([1.0]).asnumpy())
        raise


@program
def second_message_fails():
    """The same for messages, of which the sender does not wait for any."""
    rank, _ = ranks()
    x = Tensor([1.0, 2.0])
    for k in range(2):
        comm_func.send(x, 1 - rank, tag=k)
    try:
        for k in range(2):
            same(comm_func.recv(x, 1 - rank, tag=k), [1, 2])
    except RuntimeError as e:
        print(f"rank {rank}: {e}", flush=True)
        raises(RuntimeError, "", lambda: comm_func.send(x, 1 - rank))
        raise


if __name__ == "__main__":
    if os.environ.get("PIJIT_TEST_DEVICE") == "GPU":
        context.set_context(device_target="GPU")
        LIBRARY = ctypes.CDLL("libnccl.so.2")
    communication.init()
    PROGRAMS[sys.argv[1]](*sys.argv[2:])
    if communication.get_rank() == 0:
        print("done")
