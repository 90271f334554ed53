"""Data parallel training that goes on where its last checkpoint stands, with the optimizer's state:

    mpirun -n 2 python examples/distributed/resumed.py CHECKPOINTS

trains for six epochs and writes a checkpoint after each two, on rank 0. Stopped at any time, the same line goes on.
`--jit` compiles the step."""

import argparse
import os
import re
import tempfile

import numpy as np

import pijit as ms
from pijit import Tensor, communication, nn, ops
from pijit.dataset import GeneratorDataset

EPOCHS, BATCH = 6, 32


def make_rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(256, 8)).astype(np.float32)
    return list(zip(x, (x[:, :4].sum(1) > x[:, 4:].sum(1)).astype(np.int32)))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.hidden, self.norm, self.out = nn.Dense(8, 32), nn.SyncBatchNorm(32), nn.Dense(32, 2)

    def construct(self, x):
        return self.out(ops.relu(self.norm(self.hidden(x))))


def newest(folder):
    """(epochs, path) of the newest checkpoint, or (0, None)."""
    found = [(int(m[1]), os.path.join(folder, m[0])) for m in map(re.compile(r"epochs_(\d+)\.ckpt").fullmatch,
                                                                  os.listdir(folder)) if m]
    return max(found, default=(0, None))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoints", nargs="?", help="a folder; without one, a new one for this run")
    parser.add_argument("--jit", action="store_true")
    parser.add_argument("--stop-after", type=int, default=EPOCHS, metavar="EPOCHS")
    options = parser.parse_args()

    communication.init()
    rank, processes = communication.get_rank(), communication.get_group_size()
    ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)
    ms.set_seed(3)

    net = Net()
    optimizer = nn.AdamWeightDecay(net.trainable_params(), 0.01, weight_decay=0.001)
    reducer = nn.DistributedGradReducer(optimizer.parameters, mean=True)
    gradients = ms.value_and_grad(lambda x, y: ops.cross_entropy(net(x), y), None, optimizer.parameters)

    def step(x, y):
        loss, g = gradients(x, y)
        optimizer(reducer(g))
        return ops.AllReduce()(loss) / processes

    if options.jit:
        step = ms.jit(step)

    folder = options.checkpoints or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    begin, path = newest(folder)
    begin = int(ops.Broadcast(0)((Tensor([begin]),))[0].asnumpy()[0])  # all go on where rank 0 does
    everything = {**net.parameters_dict(), **optimizer.parameters_dict()}
    if begin:
        assert path, "all ranks read the checkpoints: they lie on a disk that each of them sees"
        missing, unused = ms.load_param_into_net(optimizer, ms.load_checkpoint(path), strict_load=True)
        assert not missing, missing
        ms.load_param_into_net(net, ms.load_checkpoint(path))

    net.set_train()
    for epoch in range(begin, min(EPOCHS, options.stop_after)):
        ms.dataset.config.set_seed(epoch)  # shuffled anew in each epoch, the same on all ranks
        data = GeneratorDataset(make_rows(), ["x", "y"], num_shards=processes, shard_id=rank)
        losses = [float(step(x, y).asnumpy()) for x, y in data.batch(BATCH // processes).create_tuple_iterator()]
        if rank == 0:
            print(f"epoch {epoch}: loss {np.mean(losses):.6f}", flush=True)
            if epoch % 2:
                ms.save_checkpoint([{"name": n, "data": p} for n, p in everything.items()],
                                   os.path.join(folder, f"epochs_{epoch + 1}.ckpt"))
        ops.Barrier()()


if __name__ == "__main__":
    main()
