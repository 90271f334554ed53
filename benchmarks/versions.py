"""What a call costs on each CPython: `versions.py PYTHON...`, each of which has the extension (`make bench-versions`).

A captured x * 2 + 1 on 8 elements, the same eagerly, and `import pijit`, in processes of their own, the interpreters in
turn: the shortest time of each in microseconds, and against that of the first one."""

import json
import os
import pathlib
import subprocess
import sys
import time

sys.path[:] = [p for p in sys.path if pathlib.Path(p or ".").resolve() != pathlib.Path(__file__).resolve().parent]
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))  # where no wheel is installed
ROUNDS = 5


def shortest(call, calls=2000, times=100):
    """The shortest time of a call, in microseconds."""
    best = float("inf")
    for _ in range(times):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, time.perf_counter() - begin)
    return best / calls * 1e6


def measure():
    """What one process measures, in microseconds."""
    begin = time.perf_counter()
    import pijit
    imported = time.perf_counter() - begin
    from benchmarks.cases import call_overhead
    del pijit
    return {"captured": shortest(call_overhead.pijit(8)), "eager": shortest(call_overhead.eager(8)),
            "import": imported * 1e6}


def main(pythons):
    found = {}
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}  # the first import of each compiles
    for _ in range(ROUNDS):
        for python in pythons:
            told = subprocess.run([python, __file__, "--one"], stdout=subprocess.PIPE, text=True, check=True,
                                  env=kept).stdout
            version, times = json.loads(told)
            best = found.setdefault(version, times)
            found[version] = {k: min(t, best[k]) for k, t in times.items()}
    first = next(iter(found.values()))
    print("| CPython | captured `x*2+1` | eager | `import pijit` |\n|---|---|---|---|")
    for version, t in found.items():
        calls = [f"{t[k]:.2f} µs ({t[k] / first[k]:.2f})" for k in ("captured", "eager")]
        print(f"| {version} | {' | '.join(calls)} | {t['import'] / 1e3:.0f} ms |")


if __name__ == "__main__":
    if sys.argv[1:] == ["--one"]:
        print(json.dumps([".".join(map(str, sys.version_info[:3])), measure()]))
    else:
        main(sys.argv[1:] or [sys.executable])
