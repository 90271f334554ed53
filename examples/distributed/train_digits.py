"""Data parallel training with Model: `mpirun -n 2 python examples/distributed/train_digits.py`. Alone, the same program
trains on all rows."""

import numpy as np
from sklearn.datasets import load_digits

import pijit as ms
from pijit import communication, nn, ops
from pijit.dataset import GeneratorDataset

communication.init()
rank, processes = communication.get_rank(), communication.get_group_size()
ms.set_context(mode=ms.GRAPH_MODE)
ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True, parameter_broadcast=True)
ms.set_seed(1)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 16, 3), nn.SyncBatchNorm(16)
        self.hidden, self.out = nn.Dense(16 * 64, 64), nn.Dense(64, 10)

    def construct(self, x):
        x = ops.relu(self.norm(self.conv(x)))
        return self.out(ops.relu(self.hidden(x.reshape(x.shape[0], -1))))


digits = load_digits()
rows = [(x.reshape(1, 8, 8).astype(np.float32) / 16, np.int32(y)) for x, y in zip(digits.data, digits.target)]
# each process reads its share of the rows, and a batch of all processes has 64
train = GeneratorDataset(rows[:1536], ["x", "y"], shuffle=True, num_shards=processes, shard_id=rank)
train = train.batch(64 // processes, drop_remainder=True)
test = GeneratorDataset(rows[1536:], ["x", "y"], shuffle=False, num_shards=processes, shard_id=rank)
test = test.batch(16)

net = Net()
model = ms.Model(net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.05, 0.9), metrics={"accuracy"})
model.train(4, train)
accuracy = model.eval(test)["accuracy"]
mean = float(ops.AllReduce()(ms.Tensor(np.float32(accuracy))).asnumpy()) / processes
if rank == 0:
    print(f"{processes} processes, accuracy {mean:.3f}")
assert mean > 0.9
