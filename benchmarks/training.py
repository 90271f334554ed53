"""`make bench-training`: a training step of `inference_networks.py`'s networks (SGD with momentum, cross entropy,
float32), here and in torch: its time, the first one's, and the memory that the process has at most above what it had
after its imports.
Each kind runs in processes of its own that take turns --rounds times; what counts is the least median of a step, the
least first step and the least memory. PIJIT_PEERS names a Python that has torch. `--forward` measures passes of
inference instead."""

import argparse
import gc
import json
import os
import pathlib
import statistics
import sys
import time

import numpy as np
from workers import names_of, told, with_threads

FOLDER = pathlib.Path(__file__).resolve().parent
OURS = ("jit", "fast", "eager")  # fast: JitConfig(numerics="fast")
KINDS = (*OURS, "torch", "torch_last", "torch_compiled", "torch_compiled_last")


def our_step(make, x, y, kind, forward):
    import pijit as ms
    from pijit import nn, ops

    def captured(f):
        config = ms.JitConfig(numerics="fast") if kind == "fast" else None
        return f if kind == "eager" else ms.jit(f, jit_config=config)

    network, x, y = make(), ms.Tensor(x), ms.Tensor(y)
    network.set_train(not forward)
    if forward:
        call = captured(network)
        return lambda: call(x)
    optimizer = nn.Momentum(network.trainable_params(), 1e-3, 0.9)
    gradients = ms.value_and_grad(lambda x, y: ops.cross_entropy(network(x), y), None, optimizer.parameters)

    def step(x, y):
        loss, grads = gradients(x, y)
        optimizer(grads)
        return loss

    call = captured(step)
    return lambda: call(x, y)


def torch_step(make, x, y, kind, forward):
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    network, x, y = make().train(not forward), torch.from_numpy(x), torch.from_numpy(y)
    if kind.endswith("last"):
        network, x = network.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    if "compiled" in kind:
        network = torch.compile(network)
    if forward:
        torch.set_grad_enabled(False)
        return lambda: network(x)
    optimizer = torch.optim.SGD(network.parameters(), 1e-3, momentum=0.9)

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def status(key):
    """MB of memory that this process has now (VmRSS), or had at most (VmHWM)."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"the system tells no {key}")


def worker(name, kind, batch, seconds, forward):
    """Prints a line of JSON: milliseconds of the first step and of the median one, MB, the first losses."""
    sys.path.insert(0, str(FOLDER))
    from inference_networks import networks
    from layers import of_torch, ours

    if kind in OURS:
        sys.path.insert(1, str(FOLDER.parent))
    L = ours() if kind in OURS else of_torch()
    make = networks(L)[name]
    random = np.random.default_rng(2)
    x = random.standard_normal((batch, 3, 224, 224)).astype(np.float32)
    y = random.integers(0, 1000, batch).astype(np.int32 if kind in OURS else np.int64)
    before = status("VmRSS")
    step = (our_step if kind in OURS else torch_step)(make, x, y, kind, forward)
    begin = time.perf_counter()
    losses = [step()]
    losses[0].sum().item()
    first = time.perf_counter() - begin
    losses += [step() for _ in range(3)]
    gc.disable()
    times, begin = [], time.perf_counter()
    while len(times) < 3 or (time.perf_counter() - begin < seconds and len(times) < 400):
        t = time.perf_counter()
        step()
        times.append(time.perf_counter() - t)
    print(json.dumps({"first": first * 1e3, "median": statistics.median(times) * 1e3,
                      "memory": status("VmHWM") - before, "losses": [float(v.sum().item()) for v in losses]}))


def measure(name, kind, python, options):
    env = with_threads(options.threads, os.environ)
    command = [python, __file__, "--worker", name, kind, str(options.batch), str(options.seconds),
               str(int(options.forward))]
    return told(command, timeout=1800, env=env)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", help="names of networks; all of them if none is given")
    parser.add_argument("--kinds", default=",".join(KINDS), help=f"which of {', '.join(KINDS)}")
    parser.add_argument("--json", help="a file for the results")
    parser.add_argument("--rounds", type=int, default=1, help="how often each kind is run (default 1)")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long one run steps (default 3)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--forward", action="store_true", help="passes of inference")
    options = parser.parse_args()
    sys.path.insert(0, str(FOLDER))
    from inference_networks import networks

    names = options.networks or names_of(networks)
    peers = os.environ.get("PIJIT_PEERS")
    kinds = [k for k in options.kinds.split(",") if peers or k in OURS]
    print(f"ms of a step (of the first one) and MB; batch {options.batch}, threads: {options.threads}")
    print(f"{'':20}" + "".join(f"{k:>22}" for k in kinds))
    rows = {}
    for name in names:
        row = rows[name] = {}
        for _ in range(options.rounds):
            for kind in kinds:
                if "error" in row.get(kind, {}):
                    continue
                found = measure(name, kind, sys.executable if kind in OURS else peers, options)
                if "error" in found:
                    row[kind] = found
                    continue
                old = row.setdefault(kind, found)
                row[kind] = {**found, **{k: min(old[k], found[k]) for k in ("first", "median", "memory")}}
        print(describe(name, row, kinds), flush=True)
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(rows, indent=1))
    summary(rows)


def describe(name, row, kinds):
    cells = [f"{row[k]['median']:8.1f} ({row[k]['first']:5.0f}) {row[k]['memory']:5.0f}" if "median" in row[k] else "-"
             for k in kinds]
    losses = [r["losses"] for r in row.values() if "losses" in r]
    apart = max((abs(a - b) / max(abs(b), 1e-3) for r in losses for a, b in zip(r, losses[0])), default=0)
    errors = [f"\n  {k}: {row[k]['error']}" for k in kinds if "error" in row[k]]
    return f"{name:20}" + "".join(f"{c:>22}" for c in cells) + f"  within {apart:.0e}" + "".join(errors)


def summary(rows):
    """How jit stands beside the best of torch's ways in time, and beside torch as it comes in memory."""
    for what in ("median", "memory"):
        shares = {}
        for name, row in rows.items():
            others = [r[what] for k, r in row.items() if what in r and k.startswith("torch")
                      and (what == "median" or k == "torch")]
            if others and what in row.get("jit", ()):
                shares[name] = min(others) / row["jit"][what]
        if shares:
            least = min(shares, key=shares.get)
            print(f"torch's {what} by ours: {np.exp(np.mean(np.log(list(shares.values())))):.2f} in the geometric mean "
                  f"of {len(shares)}, least {shares[least]:.2f} ({least})")


if __name__ == "__main__":
    if len(sys.argv) == 7 and sys.argv[1] == "--worker":
        worker(sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5]), sys.argv[6] == "1")
    else:
        main()
