"""Plain and jitted: python -m benchmarks.numpy_programs [--rounds N] [--scripts | --fast] [--why] [WORD ...]

NumPy and the same program jitted, in turns within one process: the shortest of several calls, each with fresh
arguments, the ratio, and what the first call takes above a warm one. Results and arguments are compared to the bit.
With --scripts nothing is decorated: `python -m pijit` captures what is called again and again. With --fast, that is
under numerics="fast", results are near NumPy's: the largest difference is shown, as a part of the largest number.
--why prints what `explain` says of each. WORD: part of a program's name."""

import argparse
import math
import statistics
import subprocess
import sys
import time

import numpy as np

import pijit

from . import PROGRAMS, bits, copied

WARM = 10
NEAR = 1e-5  # of the largest number of a result


def timed(run, args):
    args = copied(args)
    begin = time.perf_counter()
    result = run(*args)
    return time.perf_counter() - begin, [result, args]


def distance(got, wanted):
    """The largest difference, as a part of the largest number; infinite where something else differs."""
    if isinstance(wanted, (tuple, list)):
        if len(got) != len(wanted):
            return math.inf
        return max((distance(g, w) for g, w in zip(got, wanted)), default=0.0)
    a, b = np.asarray(got), np.asarray(wanted)
    if a.dtype != b.dtype or a.shape != b.shape:
        return math.inf
    if b.dtype.kind not in "fc":
        return 0.0 if np.array_equal(a, b) else math.inf
    if not np.array_equal(np.isfinite(a), np.isfinite(b)):
        return math.inf
    known = np.isfinite(b)
    return float(np.abs(a - b)[known].max(initial=0) / max(np.abs(b)[known].max(initial=0), np.finfo(b.dtype).tiny))


def measured(program, rounds, jit, exact=True):
    """(how far results are from NumPy's, its seconds, the jitted function's, its first call's)"""
    args = program.inputs("medium")
    jitted = jit(program.run)

    def run(f):
        return timed(f, args)

    def away(got):
        return (0.0 if bits(got) == wanted else math.inf) if exact else distance(got, wanted)

    first, got = run(jitted)
    wanted = run(program.run)[1] if jitted is not program.run else got
    wanted = bits(wanted) if exact else wanted
    far = away(got)
    for _ in range(WARM):
        far = max(far, away(run(jitted)[1]))
    plain, fast = math.inf, math.inf
    for _ in range(rounds):
        for _ in range(3 if jitted is not program.run else 0):
            plain = min(plain, run(program.run)[0])
        for _ in range(3):
            took, got = run(jitted)
            fast = min(fast, took)
        far = max(far, away(got))
    return far, plain, fast, first, jitted, wanted


def script(name, rounds):
    """One program as a script: what `python -m pijit` takes beside plain Python, in processes of their own."""
    code = ("import sys; from benchmarks.numpy_programs.__main__ import *; p = PROGRAMS[sys.argv[1]]; "
            "r = measured(p, int(sys.argv[2]), lambda f: f); import hashlib; "
            "print(r[0], r[2], r[3], hashlib.sha1(repr(r[5]).encode()).hexdigest())")
    seen = []
    for way in ([], ["-m", "pijit"]):
        out = subprocess.run([sys.executable, *way, "-c", code, name, str(rounds)], check=True, text=True,
                             stdout=subprocess.PIPE).stdout.split()
        seen.append((float(out[0]), float(out[1]), float(out[2]), out[3]))
    plain, fast = seen
    return fast[0] if plain[3] == fast[3] else math.inf, plain[1], fast[1], fast[2], None


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.numpy_programs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scripts", action="store_true")
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--why", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    ratios, firsts, wrong = [], [], []
    print(f"| {'program':24} | {'NumPy':>9} | {'PIJit':>9} | ratio | first call |")
    print("|---|---|---|---|---|")
    for program in sorted(PROGRAMS.values(), key=lambda p: p.name):
        if options.words and not any(word in program.name for word in options.words):
            continue
        if options.scripts:
            far, plain, fast, first, jitted = script(program.name, options.rounds)
        else:
            config = pijit.JitConfig(numerics="fast" if options.fast else "exact")
            far, plain, fast, first, jitted, _ = measured(
                program, options.rounds, lambda f: pijit.jit(f, jit_config=config), not options.fast)
        ratios.append(plain / fast)
        firsts.append(max(first - fast, 0))
        if far > (NEAR if options.fast else 0.0):
            wrong.append(program.name)
        print(f"| {program.name:24} | {plain * 1e3:6.2f} ms | {fast * 1e3:6.2f} ms | {plain / fast:5.2f} | "
              f"{firsts[-1] * 1e3:7.1f} ms |{f' {far:.1e}' if far else ''}", flush=True)
        if options.why and jitted is not None:
            print(pijit.explain(jitted))
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"\n{len(ratios)} programs: geometric mean {mean:.2f}, lowest {min(ratios):.2f}, "
          f"first call above a warm one {statistics.median(firsts) * 1e3:.1f} ms in the median; "
          f"other {'numbers' if options.fast else 'bits'}: {', '.join(wrong) or 'none'}")


if __name__ == "__main__":
    main()
