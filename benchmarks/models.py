"""`make bench-models`: a training step of every program in examples/models, here and in a real MindSpore, in one run.

Each program runs in processes of their own: eagerly and jitted here, and, where PIJIT_MINDSPORE names a Python that has
MindSpore, in PyNative mode and under its two kinds of jit. The kinds take turns --rounds times and each one's best
median
counts: what else the machine does slows whole processes down."""

import argparse
import json
import os
import pathlib
import statistics
import sys
import time

from workers import told

SECONDS = 2.0
FOLDER = pathlib.Path(__file__).resolve().parent.parent / "examples" / "models"
KINDS = {"eager": None, "jit": "bytecode", "mindspore": None, "mindspore_pijit": "bytecode", "mindspore_ast": "ast"}


def worker(name, kind):
    """Times the steps of one program and prints a line of JSON: seconds of the first call, and of the median step."""
    os.environ.setdefault("GLOG_v", "3")
    sys.path.insert(0, str(FOLDER))
    if not kind.startswith("mindspore"):
        sys.path.insert(1, str(FOLDER.parent.parent))
        import pijit.compat

        pijit.compat.install("mindspore")
    import importlib

    import mindspore as ms
    import numpy as np

    program = importlib.import_module(name)
    make_step = getattr(program, "make_step", importlib.import_module("training").make_step)
    ms.set_seed(1)
    np.random.seed(1)
    network, loss, optimizer, batches = program.build()
    network.set_train()
    step = make_step(network, loss, optimizer)
    if KINDS[kind]:
        step = ms.jit(step, capture_mode=KINDS[kind])
    data = list(batches(4))
    times, losses = [], []
    begin = None
    while begin is None or len(times) < 8 or (time.perf_counter() - begin < SECONDS and len(times) < 400):
        batch = data[len(losses) % len(data)]
        t = time.perf_counter()
        losses.append(float(step(*batch).asnumpy()))
        times.append(time.perf_counter() - t)
        if len(losses) == 1:
            first = times[0]
        if begin is None and len(losses) == 5:
            begin = time.perf_counter()
            times.clear()
        if time.perf_counter() - (begin or t) > 60:
            break
    print(json.dumps({"first": first, "median": statistics.median(times), "losses": losses[:4]}))


def measure(name, kind, python):
    command = [python, __file__, "--worker", name, kind]
    return told(command, timeout=900)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", help="names of programs; all of them if none is given")
    parser.add_argument("--json", help="a file for the results")
    parser.add_argument("--rounds", type=int, default=2, help="how often each kind is run (default 2)")
    options = parser.parse_args()
    there = sorted(f.stem for f in FOLDER.glob("*.py") if f.stem != "training")
    names = options.programs or there
    peer = os.environ.get("PIJIT_MINDSPORE")
    kinds = [k for k in KINDS if peer or not k.startswith("mindspore")]
    rows = {}
    for name in names:
        row = rows[name] = {}
        for _ in range(options.rounds):
            for kind in kinds:
                if "error" in row.get(kind, {}):
                    continue
                found = measure(name, kind, peer if kind.startswith("mindspore") else sys.executable)
                if "error" in found or found["median"] < row.get(kind, {"median": 1e9})["median"]:
                    row[kind] = found
        print(describe(name, row), flush=True)
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(rows, indent=1))


def describe(name, row):
    """A line: our step in ms, then how many times as long each of the others takes."""
    ours = row["jit"].get("median")
    parts = [f"{name:20} first {row['jit'].get('first', 0) * 1e3:6.0f} ms  step {(ours or 0) * 1e3:8.3f} ms"]
    for kind, found in row.items():
        if kind != "jit":
            parts.append(f"{kind} {found['median'] / ours:.2f}" if ours and "median" in found else f"{kind} -")
    drift = max((abs(a - b) / max(abs(b), 1e-3) for k, r in row.items() if "losses" in r
                 for a, b in zip(r["losses"], row["jit"].get("losses", []))), default=0)
    return "  ".join(parts) + f"  losses within {drift:.1e}"


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--worker":
        worker(*sys.argv[2:])
    else:
        main()
