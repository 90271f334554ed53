"""What collectives cost: the median seconds of an operation by the bytes of its tensor, over shared memory and between
hosts (network namespaces, TCP over veth; as root), and what latency and bandwidth follow from them.

    python benchmarks/collectives.py [--processes 2,4] [--operations all_reduce,all_gather,broadcast]"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parents[1]
SIZES = [4 << k for k in range(0, 24, 4)] + [32 << 20]  # 4 bytes to 32 MB


def measure(names):
    import statistics
    import time

    import numpy as np

    from pijit import Tensor, communication, ops

    communication.init()
    n, barrier = communication.get_group_size(), ops.Barrier()
    known = {"all_reduce": ops.AllReduce(), "all_gather": ops.AllGather(), "broadcast": ops.Broadcast(0)}
    for name in names:
        op = known[name]
        for size in SIZES:
            x = Tensor(np.zeros(size // 4 // (n if name == "all_gather" else 1) or 1, np.float32))
            x = (x,) if name == "broadcast" else x
            times = []
            for k in range(25 if size < 1 << 20 else 8):
                barrier()
                begin = time.perf_counter()
                op(x)
                if k >= 3:
                    times.append(time.perf_counter() - begin)
            slowest = ops.AllReduce("max")(Tensor(np.float64(statistics.median(times))))
            if communication.get_rank() == 0:
                print("cost", name, size, float(slowest.asnumpy()), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--processes", default="2,4")
    p.add_argument("--operations", default="all_reduce,all_gather,broadcast")
    p.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.measure:
        return measure(args.operations.split(","))
    sys.path.insert(0, str(ROOT))
    from tests.python.network_hosts import Hosts

    command = [sys.executable, __file__, "--measure", "--operations", args.operations]
    print("| | processes | " + " | ".join(size_text(s) for s in SIZES) + " | latency | bandwidth |")
    print("|---" * (len(SIZES) + 4) + "|")
    for n in map(int, args.processes.split(",")):
        r = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(n), *command],
                           env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE, text=True, check=True)
        show("shared memory", n, r.stdout)
        with tempfile.TemporaryDirectory() as folder:
            hosts = Hosts(pathlib.Path(folder), n)
            try:
                hosts.make()
                show("TCP over veth", n, hosts.start(*command).communicate()[0])
            finally:
                hosts.drop()


def show(how, n, out):
    found = {}
    for line in out.splitlines():
        if line.startswith("cost "):
            _, name, size, seconds = line.split()
            found.setdefault(name, {})[int(size)] = float(seconds)
    if not found:
        sys.exit(out)
    for name, costs in found.items():
        big, less = SIZES[-1], SIZES[-2]
        rate = (big - less) / max(costs[big] - costs[less], 1e-9)
        cells = [f"{1e6 * costs[s]:,.0f} µs" for s in SIZES]
        cells += [f"{1e6 * costs[SIZES[0]]:,.0f} µs", f"{rate / 1e9:.2f} GB/s"]
        print(f"| {name}, {how} | {n} | " + " | ".join(cells) + " |", flush=True)


def size_text(n):
    return f"{n >> 20} MB" if n >= 1 << 20 else f"{n >> 10} KB" if n >= 1 << 10 else f"{n} B"


if __name__ == "__main__":
    main()
