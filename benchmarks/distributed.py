"""Training in data parallel: images per second of one process with one thread, and of several (mpirun) with one thread
each, in turns; the median of the rounds' ratios. On a machine that does nothing else and has a core for each. On a busy
one the ratio by processor time says what free cores would give if nobody waited.

    python benchmarks/distributed.py [--rounds 5] [--steps 20] [--processes 2,4] [--network convolutions|products]"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import time


def train(name, steps):
    import numpy as np

    import pijit as ms
    from pijit import Tensor, communication, nn, ops

    communication.init()
    rank, processes = communication.get_rank(), communication.get_group_size()
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_auto_parallel_context(parallel_mode="data_parallel" if processes > 1 else "stand_alone", gradients_mean=True)
    ms.set_seed(1)
    if name == "convolutions":  # 2.8 million parameters
        widths, cells, batch, shape = (3, 32, 64, 128, 256), [], 32, (3, 32, 32)
        for a, b in zip(widths, widths[1:]):
            cells += [nn.Conv2d(a, b, 3), nn.BatchNorm2d(b), nn.ReLU(), nn.Conv2d(b, b, 3), nn.ReLU(),
                      nn.MaxPool2d(2, 2)]
        cells += [nn.Flatten(), nn.Dense(256 * 4, 1024), nn.ReLU(), nn.Dense(1024, 10)]
    else:  # 8.4 million
        width, batch, shape = 1024, 256, (1024,)
        cells = [c for _ in range(8) for c in (nn.Dense(width, width), nn.ReLU())] + [nn.Dense(width, 10)]
    net = nn.SequentialCell(*cells)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()),
                               nn.Momentum(net.trainable_params(), 0.01, 0.9))
    x = Tensor(np.random.default_rng(rank).normal(size=(batch, *shape)).astype(np.float32))
    y = Tensor(np.arange(batch, dtype=np.int32) % 10)
    for _ in range(3):
        step(x, y).asnumpy()
    ops.Barrier()()
    begin, cpu = time.perf_counter(), time.process_time()
    for _ in range(steps):
        step(x, y).asnumpy()
    ops.Barrier()()
    images = steps * batch * processes
    elapsed, cpu = time.perf_counter() - begin, time.process_time() - cpu
    total = float(ops.AllReduce()(Tensor(np.float64(cpu))).asnumpy())
    if rank == 0:
        print("images per second:", images / elapsed, images / total)


def measured(args, *launcher):
    command = [*launcher, sys.executable, __file__, "--train", "--network", args.network, "--steps", str(args.steps)]
    r = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
    found = re.search(r"images per second: (\S+) (\S+)", r.stdout)
    if r.returncode or not found:
        sys.exit(r.stdout + r.stderr)
    return float(found[1]), float(found[2])


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--processes", default="2")
    p.add_argument("--network", choices=("convolutions", "products"), default="convolutions")
    p.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.train:
        return train(args.network, args.steps)
    counts = [int(n) for n in args.processes.split(",")]
    ratios, by_cpu = {n: [] for n in counts}, {n: [] for n in counts}
    for _ in range(args.rounds):
        one, one_cpu = measured(args)
        for n in counts:
            several, cpu = measured(args, "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(n))
            ratios[n].append(several / one)
            by_cpu[n].append(n * cpu / one_cpu)
            print(f"one {one:.0f}, {n} processes {several:.0f} images per second: {several / one:.2f} times, by "
                  f"processor time {by_cpu[n][-1]:.2f}", flush=True)
    for n in counts:
        print(f"{args.network}, {n} processes: median {statistics.median(ratios[n]):.2f}, best {max(ratios[n]):.2f}, "
              f"median by processor time {statistics.median(by_cpu[n]):.2f}")


if __name__ == "__main__":
    main()
