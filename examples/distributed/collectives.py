"""What processes can ask each other: `mpirun -n 2 python examples/distributed/collectives.py`."""

import pijit as ms
from pijit import Tensor, communication, ops
from pijit.communication import comm_func
from pijit.mint import distributed

communication.init()
rank, processes = communication.get_rank(), communication.get_group_size()
x = Tensor([float(rank), 1.0])

print(f"{rank} sum {ops.AllReduce()(x)} all {ops.AllGather()(x)} of rank 0 {ops.Broadcast(0)((x,))[0]}")

# on its way while other code runs
total, handle = comm_func.all_reduce(x, async_op=True)
square = x * x
handle.wait()
print(f"{rank} sum {total} square {square}")

# in a graph, and through it the gradient: of the losses of all ranks together
gradient = ms.jit(ms.grad(lambda v: (ops.AllReduce()(v) ** 2).sum()))(x)
print(f"{rank} gradient {gradient}")

if processes > 1:
    communication.create_group("first two", [0, 1]) if rank < 2 else None
    if rank < 2:
        other = 1 - rank
        comm_func.send(x + 10, other, group="first two")
        print(f"{rank} from {other} {comm_func.recv(x, other, group='first two')}")

# any objects, pickled
names = []
distributed.all_gather_object(names, f"process {rank}")
print(f"{rank} {names}")
