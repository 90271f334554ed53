"""Ten of pyperformance's programs (`pip install pyperformance pyperf`), in plain python and by `python -m pijit`, in
interleaved pairs.

`python benchmarks/pure_python.py [pairs]` prints the ratio of their processor times, start-up left out, twice: as they
are, and with pijit imported and a training loop run before, so that capture has something to look for."""

import importlib.util
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

LOOPS = {"chaos": 1, "deltablue": 60, "fannkuch": 1, "float": 3, "go": 2, "nbody": 2, "spectral_norm": 3, "nqueens": 4,
         "raytrace": 1, "richards": 8}
WARM_UP = """
import pijit as ms
from pijit import ops
def step(x): return ops.tanh(x) * 0.5 + x
x = ms.Tensor([1.0, 2.0])
for _ in range(50): x = step(x)
"""


class Runner:
    """Of pyperf, as far as these programs use it: each function runs LOOPS times."""

    def __init__(self, **_):
        self.metadata, self.args, self.argparser = {}, self, self
        self.width = self.height = 80
        self.thickness, self.rng_seed, self.iterations, self.filename, self.arguments = 0.25, 1234, 20000, None, []
        self.reference = "sun"

    def add_argument(self, *_, **__):
        pass

    def parse_args(self, *_):
        return self

    def bench_func(self, _, f, *args, **__):
        t = time.process_time()
        for _ in range(LOOPS[program]):
            f(*args)
        print(time.process_time() - t)

    def bench_time_func(self, _, f, *args, **__):
        t = time.process_time()
        f(LOOPS[program], *args)
        print(time.process_time() - t)


def run_here(name):
    """The program, in this process."""
    import types
    sys.modules["pyperf"] = types.SimpleNamespace(Runner=Runner, perf_counter=time.perf_counter)
    folder = pathlib.Path(importlib.util.find_spec("pyperformance").origin).parent / "data-files/benchmarks"
    path = folder / f"bm_{name}" / "run_benchmark.py"
    sys.argv = [str(path)]
    names = {"__name__": "__main__", "__file__": str(path)}
    exec(compile(path.read_text(), name + ".py", "exec"), names)  # not under site-packages: the user's own


def seconds(name, ways):
    env = {**os.environ, "BENCH_WARM_UP": "tensors" in ways and "1" or ""}
    command = [sys.executable] + (["-m", "pijit"] if "pijit" in ways else []) + [__file__, "--run", name]
    return sum(map(float, subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.split()))


def main():
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print(f"{'program':12} {'plain s':>8} {'-m pijit':>9} {'after tensors':>14}")
    all_ratios = [], []
    for name in LOOPS:
        rows = [[seconds(name, w) for w in ((), ("pijit",), ("tensors",), ("pijit", "tensors"))] for _ in range(pairs)]
        ratios = [statistics.median(r[1] / r[0] for r in rows), statistics.median(r[3] / r[2] for r in rows)]
        for out, r in zip(all_ratios, ratios):
            out.append(r)
        print(f"{name:12} {statistics.median(r[0] for r in rows):8.3f} {ratios[0]:9.3f} {ratios[1]:14.3f}", flush=True)
    print(f"{'geom. mean':12} {'':8} " +
          " ".join(f"{math.exp(statistics.mean(map(math.log, r))):{w}.3f}" for r, w in zip(all_ratios, (9, 14))))


if sys.argv[1:2] == ["--run"]:
    program = sys.argv[2]
    if os.environ.get("BENCH_WARM_UP"):
        exec(compile(WARM_UP, "warm_up.py", "exec"), {"__name__": "__main__"})
    run_here(program)
elif __name__ == "__main__":
    main()
