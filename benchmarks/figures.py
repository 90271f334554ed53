"""Every figure that pijit tells against a clock around the same code: python benchmarks/figures.py [program ...]

For each program: the clock's ratio of plain to captured time, with its 95 % interval; then what `profile`, watched
functions (`%%pijit`), `%%pijit_compare` and `--report` say. A figure passes within a factor of 1.3 of that interval,
and with the clock's sign wherever the clock's interval leaves out 1; where it says that too little was measured it
passes, too, and is marked so. Nothing else should run meanwhile."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

import pijit as ms
from pijit import _C
from pijit.profiling import figures, measure

WITHIN = 1.3
WARM = 5
REPEATED = 10  # loops of a compared cell, so that making functions is little of it
HEAD = """
import numpy as np
import pijit as ms
from pijit import ops
rng = np.random.RandomState(0)
"""
# name: (data, functions, of which `turn` is called, how often). Each is a cell and a program, too.
PROGRAMS = {
    "gain": ("""
x = ms.Tensor(rng.rand(64, 64).astype(np.float32))
""", """
def turn(k):
    y = x
    for _ in range(12):
        y = ops.tanh(y * 0.5) + ops.relu(y) * 0.25
    return y
""", 300),
    "loss": ("""
values = rng.rand(40)
""", """
def turn(k):
    s = 0.0
    for v in values:
        s += v * 2
    return s
""", 200),
    "nothing captured": ("""
a = rng.rand(24, 24)
""", """
def turn(k):
    return np.linalg.svd(a)[1].sum()
""", 200),
    "recursion": ("""
""", """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def turn(k):
    return fib(12)
""", 150),
    "generators": ("""
x = ms.Tensor(rng.rand(256).astype(np.float32))
""", """
def halves(t):
    for k in range(6):
        t = t * 0.5 + 1
        yield t
def turn(k):
    s = x
    for h in halves(x):
        s = s + ops.sin(h)
    return s
""", 200),
    "changing sizes": ("""
w = ms.Tensor(rng.rand(16, 16).astype(np.float32))
xs = [ms.Tensor(rng.rand(20 + k, 16).astype(np.float32)) for k in range(150)]
""", """
def turn(k):
    x = xs[k]
    return (ops.relu(x @ w) * 2 - x @ w).sum()
""", 150),
    "cold start": ("""
x = ms.Tensor(rng.rand(96, 96).astype(np.float32))
""", """
def turn(k):
    return (ops.exp(x) / (1 + ops.exp(x)) - ops.cos(x)).mean()
""", 6),
}


def defined(source, captured=True):
    """The names of a program, its functions jitted, and handles for their figures; or as they stand."""
    names = {}
    exec(HEAD + source, names)
    handles = {}
    if captured:
        for name, f in list(names.items()):
            if callable(f) and getattr(f, "__module__", None) is None and hasattr(f, "__code__"):
                handles[name] = figures.new()
                names[name] = ms.jit(f)
    return names, handles


def loop(turn, times):
    begin = time.perf_counter()
    for k in range(times):
        turn(k)
    return time.perf_counter() - begin


class Clock:
    """Runs in turn, each from a fresh start: plain, captured, and with the functions watched as `%%pijit` does. cold,
    warm: Ratios of first and second runs; told: of the estimate for the whole first run, plain, to what it took
    captured; function: the one of the functions. Each of these is None where the figures say nothing."""

    def __init__(self, source, times, rounds=9):
        cold, warm = {False: [], True: []}, {False: [], True: []}
        wholes, self.function = [], None
        for _ in range(rounds):
            for way in (False, True):
                names, _ = defined(source, way)
                runs = [loop(names["turn"], times) for _ in range(WARM)]
                cold[way].append(runs[0])
                warm[way].append(runs[-1])
            whole, self.function = watched(source, times)
            wholes.append(whole)
        self.cold, self.warm = (measure.ratio(measure.Timing.of(w[False]), measure.Timing.of(w[True]))
                                for w in (cold, warm))
        known = [w for w in wholes if w is not None]
        self.told = float(np.median(known) / np.median(cold[True])) if len(known) > rounds // 2 else None


def clock_of_cells(source, times, rounds=9):
    """The Ratio of a loop that is run again and again, plain and captured in turn, after once each."""
    ways = {way: defined(source, way)[0]["turn"] for way in (False, True)}
    took = {False: [], True: []}
    for _ in range(rounds + 1):
        for way, turn in ways.items():
            took[way].append(sum(loop(turn, times) for _ in range(REPEATED)))
    return measure.ratio(*(measure.Timing.of(took[way][1:]) for way in ways))


def clock_of_calls(turn):
    """The Ratio of single calls."""
    captured = ms.jit(turn)
    captured(0)
    return measure.ratio(*measure.interleaved([lambda: turn(0), lambda: captured(0)], 0.5))


def watched(source, times):
    """(seconds that the whole run would take plainly, by estimate; the ratio of the function, warm): each None where
    they say nothing."""
    figures.calibrate()
    names, handles = defined(source)
    for name, h in handles.items():
        _C.watch(names[name], h)
    took = loop(names["turn"], times)
    told = {name: figures.of([h]) for name, h in handles.items()}
    unknown = sum(x.spent for x in told.values() if x.saved is None)
    saved = sum(x.saved or 0.0 for x in told.values())
    function = None if ms.explain(names["turn"]).deoptimized else told["turn"].speedup
    return None if unknown > 0.2 * took else max(took + saved, 0.0), function


def compared(data, functions, times):
    """The Comparison of `%%pijit_compare`, of the loop as a cell, in an IPython of its own."""
    from IPython.core.interactiveshell import InteractiveShell

    from pijit import notebook
    shell = InteractiveShell.instance()
    notebook.load_ipython_extension(shell)
    shell.user_ns.clear()
    exec(HEAD + data, shell.user_ns)
    cell = functions.strip() + f"\nfor _ in range({REPEATED}):\n    for k in range({times}):\n        turn(k)\n"
    return notebook.compare(notebook._session, cell)[0]


def reported(source, times):
    """(the ratio that --report tells, of the program less python's start; the clock's, of runs in turn)."""
    with tempfile.TemporaryDirectory() as folder:
        path, out = pathlib.Path(folder) / "program.py", pathlib.Path(folder) / "report.json"
        path.write_text(HEAD + "import time; begin = time.perf_counter()\n" + source +
                        f"\nfor k in range({times}):\n    turn(k)\nprint(time.perf_counter() - begin)\n")

        def run(*options):
            r = subprocess.run([sys.executable, "-m", "pijit", *options, str(path)], capture_output=True, text=True,
                               check=True)
            return float(r.stdout)
        captured, plainly, saved = [], [], []
        for _ in range(7):
            captured.append(run(f"--report={out}"))
            saved.append(json.loads(out.read_text())["saved_s"])
            plainly.append(run("--plain"))
    return (float(np.median([max(c + s, 0.0) for c, s in zip(captured, saved)]) / np.median(captured)),
            measure.ratio(measure.Timing.of(plainly), measure.Timing.of(captured)))


def verdict(told, by_clock):
    """Whether a ratio agrees with the clock's."""
    if told is None:
        return None
    value = told.value if isinstance(told, measure.Ratio) else told
    sure = by_clock.low > 1 or by_clock.high < 1
    # "no difference that was measured"
    said = (value if not isinstance(told, measure.Ratio) or told.low > 1 or told.high < 1 else 1.0)
    sign = not sure or (said - 1) * (by_clock.value - 1) >= 0 or abs(by_clock.value - 1) < 0.05
    return sign and by_clock.low / WITHIN <= value <= by_clock.high * WITHIN


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", metavar="program", help=", ".join(PROGRAMS))
    failed = 0

    def line(name, figure, told, by_clock):
        nonlocal failed
        good = verdict(told, by_clock)
        failed += good is False
        value = "–" if told is None else f"{told.value if isinstance(told, measure.Ratio) else told:.2f}"
        print(f"{name:18} {figure:34} {value:>7}   clock {by_clock.value:.2f} ({by_clock.low:.2f} to "
              f"{by_clock.high:.2f})   "
              f"{'too little measured' if good is None else 'pass' if good else 'FAIL'}", flush=True)

    for name in parser.parse_args().programs or PROGRAMS:
        data, functions, times = PROGRAMS[name]
        source = data + functions
        c = Clock(source, times)
        line(name, "%%pijit, the cell", c.told, c.cold)
        # where most calls compile for another size, these are what a call takes
        line(name, "%%pijit, the function", c.function, c.cold if name == "changing sizes" else c.warm)
        turn = defined(source, captured=False)[0]["turn"]
        p = ms.profile(turn, 0, seconds=0.5)
        line(name, "profile", p.speedup, clock_of_calls(turn))
        c = compared(data, functions, times)
        line(name, "%%pijit_compare", c.speedup if c.graphs else None, clock_of_cells(source, times))
        told, by_clock = reported(source, times)
        line(name, "--report", told, by_clock)
    print(f"{failed} figures disagree with the clock" if failed else "all figures agree with the clock")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
