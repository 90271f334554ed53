"""Small programs never get slower by capture: python benchmarks/scripts.py [--only WORD] [--rounds N] [--way WAY]
[--cpu]

Each program of script_programs.py runs plainly and in each way to turn capture on, in processes of their own, in turn:
the first call of its `run`, and as many later calls as plainly take a fifth of a second. A row is over the limit
("OVER") where the first call, or all of them, take more than 1.10 of plain + 20 ms (below a second of plain time) or
1.03 (above); "loses" marks rows whose later calls take more than 1.03, so that a program that goes on for long enough
is over it, too. The shortest of the rounds count. Programs of tests/scripts are timed whole, from start to exit."""

import argparse
import json
import math
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

from script_programs import PROGRAMS, TENSORS

ROOT = pathlib.Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "tests" / "scripts"
# Of these, the time says nothing, or they want arguments, input or another start.
NOT_TIMED = {"argparse_options", "multiprocessing_fork", "multiprocessing_spawn", "reads_input", "signals",
             "subprocess_child", "syntax_error"}
LATER_S = 0.2
HEAD = """
import json as _json, sys as _sys, time as _time
import numpy as np
import {package} as ms
from {package} import ops
jit = {jit}
rng = np.random.RandomState(0)
_clock = getattr(_time, _sys.argv[1])
_calls = int(_sys.argv[2])
"""
TAIL = """
_times, _left = [], {later_s}
while len(_times) < _calls if _calls else len(_times) < 5 or _left > 0:
    _begin = _clock()
    run()
    _times.append(_clock() - _begin)
    _left -= _times[-1]
print("@@" + _json.dumps(_times))
"""
WAYS = {  # options of python, the package's name, the decorator
    "decorator": ([], "pijit", "ms.jit"),
    "-m pijit": (["-m", "pijit"], "pijit", "lambda f: f"),
    "--as mindspore": (["-m", "pijit", "--as", "mindspore"], "mindspore", "ms.jit"),
}
PLAIN = ([], "pijit", "lambda f: f")


def times(source, way, clock, calls, folder):
    """Seconds of each call of `run`; as many as are asked for, or (0) as the plain program makes."""
    options, package, jit = way
    script = pathlib.Path(folder) / "program.py"
    script.write_text(HEAD.format(package=package, jit=jit) + source + TAIL.format(later_s=LATER_S))
    r = subprocess.run([sys.executable, *options, str(script), clock, str(calls)], env=environment(),
                       capture_output=True, text=True, timeout=300)
    told = [line for line in r.stdout.splitlines() if line.startswith("@@")]
    if not told:
        sys.exit(r.stderr)
    return json.loads(told[-1][2:])


def environment():
    # the order of sets, and where dicts collide, must not differ between the ways
    return {**{k: v for k, v in os.environ.items() if not k.startswith("PIJIT_AUTO")}, "PYTHONPATH": str(ROOT),
            "PYTHONHASHSEED": "0"}


def is_over(plain, other):
    """Seconds: may a program of this length take so much?"""
    return other > (plain * 1.10 + 0.02 if plain < 1 else plain * 1.03)


def shortest(rounds):
    """Of each call, over the rounds."""
    return [min(calls) for calls in zip(*rounds)]


def compared(name, ways, rounds, clock):
    """Prints a row per way; how many are over the limit, and the ratios of later calls."""
    over, ratios = 0, []
    with tempfile.TemporaryDirectory() as folder:
        calls, taken = 0, {w: [] for w in [None, *ways]}
        for _ in range(rounds):
            for w, kept in taken.items():
                kept.append(times(PROGRAMS[name], WAYS[w] if w else PLAIN, clock, calls, folder))
                calls = calls or len(kept[0])
    plain = shortest(taken.pop(None))
    for w, kept in taken.items():
        t = shortest(kept)
        first, later = t[0] / plain[0], min(t[1:]) / min(plain[1:])
        bad = [what for what, a, b in (("first call", plain[0], t[0]), ("all calls", sum(plain), sum(t)))
               if is_over(a, b)]
        over += bool(bad)
        ratios.append(later)
        print(f"{name:26} {w:15} {plain[0] * 1e3:9.2f} {t[0] * 1e3:9.2f} {first:7.2f} {len(t) - 1:6} "
              f"{min(plain[1:]) * 1e3:9.3f} {min(t[1:]) * 1e3:9.3f} {later:6.2f}   "
              f"{sum(plain) * 1e3:8.1f} {sum(t) * 1e3:8.1f}  "
              f"{'OVER: ' + ', '.join(bad) if bad else 'loses' if later > 1.03 else ''}".rstrip(), flush=True)
    return over, ratios


def clock_of_children(cpu):
    if not cpu:
        return time.perf_counter()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def whole(path, rounds, cpu):
    """The same for a program of tests/scripts, by `python -m pijit`; whether it is over the limit."""
    taken = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for options, kept in zip(([], ["-m", "pijit"]), taken):
                begin = clock_of_children(cpu)
                subprocess.run([sys.executable, *options, str(path)], cwd=folder, env=environment(),
                               stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
                kept.append(clock_of_children(cpu) - begin)
    plain, other = map(min, taken)
    print(f"{path.stem:26} {'-m pijit':15} {plain * 1e3:9.2f} {other * 1e3:9.2f} {other / plain:7.2f}  "
          f"{'OVER' if is_over(plain, other) else ''}".rstrip(), flush=True)
    return is_over(plain, other)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="WORD", action="append", help="programs whose names have it")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--way", action="append", choices=list(WAYS))
    parser.add_argument("--cpu", action="store_true",
                        help="processor time instead of the wall's, where other programs run")
    a = parser.parse_args()

    def wanted(name):
        return not a.only or any(word in name for word in a.only)

    over, ratios = 0, {w: [] for w in WAYS}
    print(f"{'program':26} {'way':15} {'first ms':>9} {'captured':>9} {'ratio':>7} {'calls':>6} {'later ms':>9} "
          f"{'captured':>9} {'ratio':>6}   {'all ms':>8} {'captured':>8}")
    for name in filter(wanted, PROGRAMS):
        ways = [w for w in a.way or WAYS if w != "--as mindspore" or name in TENSORS]
        if ways:
            bad, later = compared(name, ways, a.rounds, "process_time" if a.cpu else "perf_counter")
            over += bad
            for w, r in zip(ways, later):
                ratios[w].append(r)
    for w, r in ratios.items():
        if r:
            print(f"{'geom. mean':26} {w:15} {'':34} {'':19} {math.exp(sum(map(math.log, r)) / len(r)):6.2f}")
    scripts = [p for p in sorted(SCRIPTS.glob("*.py")) if p.stem not in NOT_TIMED and wanted(p.stem)]
    if scripts and "-m pijit" in (a.way or WAYS):
        print(f"\n{'program of tests/scripts':26} {'way':15} {'plain ms':>9} {'captured':>9} {'ratio':>7}")
        over += sum(whole(p, a.rounds, a.cpu) for p in scripts)
    print(f"{over} rows are over the limit" if over else "no row is over the limit")
    return over > 0


if __name__ == "__main__":
    sys.exit(main())
