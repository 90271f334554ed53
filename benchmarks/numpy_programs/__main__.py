"""Plain and jitted: python -m benchmarks.numpy_programs [--rounds N] [--scripts] [--why] [WORD ...]

NumPy and the same program jitted, in turns within one process: the shortest of several calls, each with fresh
arguments, the ratio, and what the first call takes above a warm one. Results and arguments are compared to the bit.
With --scripts nothing is decorated: `python -m pijit` captures what is called again and again. --why prints what
`explain` says of each. WORD: part of a program's name."""

import argparse
import math
import statistics
import subprocess
import sys
import time

import pijit

from . import PROGRAMS, bits, copied

WARM = 10


def timed(run, args):
    args = copied(args)
    begin = time.perf_counter()
    result = run(*args)
    return time.perf_counter() - begin, (bits(result), bits(args))


def measured(program, rounds, jit):
    """(same bits, NumPy's seconds, the jitted function's, its first call's)"""
    args = program.inputs("medium")
    jitted = jit(program.run)
    first, got = timed(jitted, args)
    wanted = timed(program.run, args)[1] if jitted is not program.run else got
    same = got == wanted
    for _ in range(WARM):
        same &= timed(jitted, args)[1] == wanted
    plain, fast = math.inf, math.inf
    for _ in range(rounds):
        for _ in range(3):
            if jitted is not program.run:
                plain = min(plain, timed(program.run, args)[0])
            took, got = timed(jitted, args)
            fast, same = min(fast, took), same and got == wanted
    return same, plain, fast, first, jitted, wanted


def script(name, rounds):
    """One program as a script: what `python -m pijit` takes beside plain Python, in processes of their own."""
    code = ("import sys; from benchmarks.numpy_programs.__main__ import *; p = PROGRAMS[sys.argv[1]]; "
            "r = measured(p, int(sys.argv[2]), lambda f: f); import hashlib; "
            "print(r[0], r[2], r[3], hashlib.sha1(repr(r[5]).encode()).hexdigest())")
    seen = []
    for way in ([], ["-m", "pijit"]):
        out = subprocess.run([sys.executable, *way, "-c", code, name, str(rounds)], check=True, text=True,
                             stdout=subprocess.PIPE).stdout.split()
        seen.append((out[0] == "True", float(out[1]), float(out[2]), out[3]))
    plain, fast = seen
    return fast[0] and plain[3] == fast[3], plain[1], fast[1], fast[2], None


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.numpy_programs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scripts", action="store_true")
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
            same, plain, fast, first, jitted = script(program.name, options.rounds)
        else:
            same, plain, fast, first, jitted, _ = measured(program, options.rounds, pijit.jit)
        ratios.append(plain / fast)
        firsts.append(max(first - fast, 0))
        if not same:
            wrong.append(program.name)
        print(f"| {program.name:24} | {plain * 1e3:6.2f} ms | {fast * 1e3:6.2f} ms | {plain / fast:5.2f} | "
              f"{firsts[-1] * 1e3:7.1f} ms |{'' if same else ' OTHER BITS'}", flush=True)
        if options.why and jitted is not None:
            print(pijit.explain(jitted))
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"\n{len(ratios)} programs: geometric mean {mean:.2f}, lowest {min(ratios):.2f}, "
          f"first call above a warm one {statistics.median(firsts) * 1e3:.1f} ms in the median; "
          f"other bits: {', '.join(wrong) or 'none'}")


if __name__ == "__main__":
    main()
