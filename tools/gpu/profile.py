"""What a step spends its time on, kernel by kernel: tools/gpu/visit.sh profile. Names of benchmarks/cuda.py's networks
select some."""

import importlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))


def main(names):
    bench = importlib.import_module("cuda")
    if why := bench.gpu_missing():
        raise SystemExit(why)
    import pijit as ms

    class None_:
        torch = jax = None

    def profiled(step, wait, **_):
        for _ in range(3):
            step()
        wait()
        call = step.__closure__
        cells = dict(zip(step.__code__.co_freevars, (c.cell_contents for c in call)))
        fn = cells.get("step") or cells.get("forward")
        args = [cells[k] for k in ("mx", "mt") if k in cells]
        p = ms.profile(fn, *args, compare=False, seconds=1.0)
        print(p, p.table(), sep="\n", flush=True)
        return 1.0
    bench.best = profiled
    for name in names or ["small mlp", "transformer", "resnet50", "gpt2"]:
        print("==", name)
        bench.networks(None_())[name]("tf32")


if __name__ == "__main__":
    main(sys.argv[1:])
