"""A training step of one's own whose gradients are means over all processes:
`mpirun -n 2 python examples/distributed/own_step.py`."""

import numpy as np

import pijit as ms
from pijit import Tensor, communication, nn, ops

communication.init()
rank, processes = communication.get_rank(), communication.get_group_size()
ms.set_seed(1)  # all processes begin with the same parameters

net = nn.SequentialCell(nn.Dense(8, 32), nn.Tanh(), nn.Dense(32, 1))
optimizer = nn.Adam(net.trainable_params(), 0.01)
reducer = nn.DistributedGradReducer(optimizer.parameters, mean=True)
loss_and_gradients = ms.value_and_grad(lambda x, y: ops.mse_loss(net(x), y), None, optimizer.parameters)


@ms.jit
def step(x, y):
    loss, gradients = loss_and_gradients(x, y)
    optimizer(reducer(gradients))  # reductions begin while the backward pass goes on
    return ops.AllReduce()(loss) / processes


data = np.random.default_rng(0)
x = data.normal(size=(256, 8)).astype(np.float32)
y = np.sin(x.sum(1, keepdims=True)).astype(np.float32)
mine = slice(rank * 256 // processes, (rank + 1) * 256 // processes)
losses = [float(step(Tensor(x[mine]), Tensor(y[mine])).asnumpy()) for _ in range(60)]
if rank == 0:
    print(f"{processes} processes, loss {losses[0]:.4f} to {losses[-1]:.4f}")
assert losses[-1] < 0.5 * losses[0]
