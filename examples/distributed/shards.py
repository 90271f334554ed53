"""A MindRecord data set, written once by rank 0 in four files, of which each process reads its rows:

    mpirun -n 2 python examples/distributed/shards.py [FOLDER]

Images lie in the files as PNGs, which `map` decodes. `--jit` compiles the step."""

import argparse
import io
import os
import tempfile

import numpy as np
from PIL import Image

import pijit as ms
import pijit.dataset as ds
from pijit import communication, nn, ops
from pijit.mindrecord import FileWriter

BATCH = 32


def write(path):
    """Pictures of bars that lie or stand, each with its label."""
    rng = np.random.default_rng(0)
    writer = FileWriter(path, shard_num=4, overwrite=True)
    writer.add_schema({"picture": {"type": "bytes"}, "label": {"type": "int32"}, "name": {"type": "string"}})
    writer.add_index(["label"])
    rows = []
    for k in range(512):
        pixels, label = rng.integers(0, 100, (16, 16), np.uint8), k % 2
        at = rng.integers(0, 15)
        pixels[(slice(at, at + 2), slice(None)) if label else (slice(None), slice(at, at + 2))] += 120
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "PNG")
        rows.append({"picture": file.getvalue(), "label": label, "name": f"{'lies' if label else 'stands'} {k}"})
    writer.write_raw_data(rows)
    writer.commit()


def load(path, rank, processes):
    data = ds.MindDataset([f"{path}{k}" for k in range(4)], ["picture", "label"], num_shards=processes, shard_id=rank,
                          shuffle=True)
    data = data.map([ds.vision.Decode(), ds.vision.Rescale(1 / 255, -0.3), ds.vision.HWC2CHW()], "picture")
    return data.batch(BATCH // processes, drop_remainder=True)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv, self.out = nn.Conv2d(3, 8, 3), nn.Dense(8, 2)

    def construct(self, x):
        return self.out(ops.relu(self.conv(x)).max((2, 3)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--jit", action="store_true")
    options = parser.parse_args()
    communication.init()
    rank, processes = communication.get_rank(), communication.get_group_size()
    ms.set_context(mode=ms.GRAPH_MODE if options.jit else ms.PYNATIVE_MODE)
    ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)
    ms.set_seed(1)
    ms.dataset.config.set_seed(1)  # shuffled alike on all ranks

    folder = [options.folder or tempfile.mkdtemp()]
    if processes > 1:  # rank 0's
        ms.mint.distributed.init_process_group()
        ms.mint.distributed.broadcast_object_list(folder, 0)
    path = os.path.join(folder[0], "bars.mindrecord")
    if rank == 0:
        write(path)
    if processes > 1:
        ops.Barrier()()

    data = load(path, rank, processes)
    assert data.get_dataset_size() == 512 // BATCH
    net = Net()
    model = ms.Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), 0.01), metrics={"accuracy"})
    model.train(12, data, callbacks=[ms.LossMonitor(64)] if rank == 0 else None, dataset_sink_mode=False)
    found = model.eval(load(path, rank, processes), dataset_sink_mode=False)
    print(f"rank {rank}: {found['accuracy']:.3f} of its rows are right", flush=True)
    assert found["accuracy"] > 0.9


if __name__ == "__main__":
    main()
