"""What a step spends its time on, kernel by kernel: tools/gpu/visit.sh profile gives it the folder of results. Names of
benchmarks/cuda.py's networks select some; each is a process of its own."""

import importlib
import os
import pathlib
import sys
import time

NETWORKS = ["small mlp", "transformer", "resnet50", "gpt2"]
BENCHMARKS = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"


def network(name):
    import pijit as ms
    bench = importlib.import_module("cuda")
    if why := bench.gpu_missing():
        raise SystemExit(why)

    class Alone:
        torch = jax = None

    def profiled(step, wait, **_):
        for _ in range(3):
            step()
        wait()
        cells = dict(zip(step.__code__.co_freevars, (c.cell_contents for c in step.__closure__)))
        fn = cells.get("step") or cells.get("forward")
        args = [cells[k] for k in ("mx", "mt") if k in cells]
        p = ms.profile(fn, *args, compare=False, seconds=1.0)
        print(p, p.table(), sep="\n", flush=True)
        return 1.0
    bench.best = profiled
    bench.networks(Alone())[name]("tf32")


def main(out, seconds, names):
    # The folder of scripts comes last: there is a `profile` in Python, too.
    sys.path.append(sys.path.pop(0))
    import failures
    failures.ends_with_its_processes()
    end = time.monotonic() + seconds - 5
    env = {**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", "") + f":{BENCHMARKS}"}
    for name in names or NETWORKS:
        print("==", name, flush=True)
        left = end - time.monotonic()
        if left < 2:
            print("no time")
            continue
        command = [sys.executable, "tools/gpu/profile.py", "--one", name]
        status, text, _ = failures.call(command, left, env=env)
        print(text, flush=True)
        if status:
            print(f"{name}: {failures.told(status)}", flush=True)
            program = failures.of_script(pathlib.Path(__file__).resolve(), "network", name,
                                         modules=[("cuda", BENCHMARKS / "cuda.py")])
            failures.keep(out, "profile", name, program, command, status, text, env)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        network(sys.argv[2])
    else:
        main(sys.argv[1], float(sys.argv[2]), sys.argv[3:])
