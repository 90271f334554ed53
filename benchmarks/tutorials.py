"""Programs as tutorials teach them, by `python -m pijit`, plain and captured: tutorials.py [--rounds N] [--cpu]

Each program of benchmarks/tutorials runs 5 and 60 epochs, in processes of their own, the ways in turn, and tells what
it took without its imports and what its data set does beforehand. The shortest of the rounds count."""

import argparse
import math
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = [("model_and_callbacks", ()), ("own_loop_amp", ()), ("functional_mint", ()), ("functional_mint", ("vary",)),
            ("checkpoint_and_inference", ())]


def seconds(name, epochs, more, way, cpu):
    command = [sys.executable, "-m", "pijit", "--as", "mindspore", *way, f"benchmarks/tutorials/{name}.py", str(epochs),
               *more]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TUTORIAL_CLOCK": "process_time" if cpu else "perf_counter"}
    r = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return r.stdout, float(r.stderr.split("@@")[1].split()[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu", action="store_true", help="processor time instead of the wall's")
    args = parser.parse_args()
    print(f"{'program':<34}{'epochs':>7}{'plain s':>10}{'captured':>10}{'ratio':>7}")
    ratios = []
    for epochs in (5, 60):
        for name, more in PROGRAMS:
            best, said = [math.inf] * 2, set()
            for _ in range(args.rounds):
                for k, way in enumerate((["--plain"], [])):
                    out, took = seconds(name, epochs, more, way, args.cpu)
                    said.add(out)
                    best[k] = min(best[k], took)
            assert len(said) == 1, f"{name} prints {said}"
            ratio = best[0] / best[1]
            if epochs == 60 and not more:
                ratios.append(ratio)
            print(f"{' '.join((name, *more)):<34}{epochs:>7}{best[0]:>10.2f}{best[1]:>10.2f}{ratio:>7.2f}", flush=True)
    print(f"geometric mean of 60 epochs, of sizes that stay: {math.prod(ratios) ** (1 / len(ratios)):.2f}")


if __name__ == "__main__":
    main()
