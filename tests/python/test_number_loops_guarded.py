"""Machine code of loops keeps to the memory of its arrays: each lies between pages that nobody may touch."""

import pathlib
import subprocess
import sys

import pytest

PROGRAM = '''
import signal, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
import number_loops
from guarded_memory import guarded
import pijit as ms


def called(f, args):
    try:
        f(*args)
    except Exception:
        pass
    return [a for a in args if isinstance(a, np.ndarray)]


def too_long(*_):
    raise TimeoutError


signal.signal(signal.SIGALRM, too_long)
stored = 0
for seed in range(int(sys.argv[2]), int(sys.argv[2]) + 150):
    program = number_loops.Program(seed, True)
    plain, jitted = (number_loops.compiled(program.source, "<program>") for _ in range(2))
    jitted = ms.jit(jitted)
    signal.alarm(3)
    try:
        for call in range(4):
            args = program.arguments(call)
            both = [[guarded(np.ascontiguousarray(a), call % 2) if isinstance(a, np.ndarray) and a.size else a
                     for a in args] for _ in range(2)]
            for one, other in zip(called(plain, both[0]), called(jitted, both[1])):
                assert one.tobytes() == other.tobytes(), (seed, call)
        stored += any(not r["why"] for r in ms.explain(jitted).regions)
    except TimeoutError:
        pass
    finally:
        signal.alarm(0)
assert stored > 10, stored
'''


@pytest.mark.parametrize("seed", [60_000, 70_000])
def test_nothing_is_touched_beside_arrays(seed):
    r = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM, str(pathlib.Path(__file__).parent), str(seed)],
                       capture_output=True, text=True)
    assert r.returncode == 0, r.stderr[-2000:]


GENERATED = '''
import importlib, math, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from guarded_memory import guarded, kept
import pijit as ms

programs = getattr(importlib.import_module(sys.argv[2]), sys.argv[3])


def called(f, args):
    try:
        f(*args)
    except Exception:
        pass
    return [a.tobytes() for a in args if isinstance(a, np.ndarray)]


shared = 0
for seed in range(int(sys.argv[4]), int(sys.argv[4]) + 150):
    program = programs(seed)
    scope = {"np": np, "math": math}
    exec(program.text, scope)
    jitted = ms.jit(scope["f"])
    for call in range(8):
        kept.clear()
        args = program.arguments(8 * seed + call)[0]
        both = [[guarded(np.ascontiguousarray(a), call % 2) if isinstance(a, np.ndarray) and a.size else a
                 for a in args] for _ in range(2)]
        called(scope["f"], both[0]), called(jitted, both[1])
    shared += any(r["shared_turns"] for r in ms.explain(jitted).regions)
print(shared)
'''


def run_generated(module, name, seed):
    here = str(pathlib.Path(__file__).parent)
    r = subprocess.run([sys.executable, "-W", "ignore", "-c", GENERATED, here, module, name, str(seed)],
                       capture_output=True, text=True)
    assert r.returncode == 0, r.stderr[-2000:]
    return int(r.stdout)


@pytest.mark.parametrize("seed", [10_000, 20_000])
def test_vectors_touch_nothing_beside_arrays(seed):
    """Nor what turns would read only under a condition that does not hold."""
    run_generated("vector_loops", "VectorLoop", seed)


@pytest.mark.parametrize("seed", [10_000, 20_000])
def test_shared_turns_touch_nothing_beside_arrays(seed, monkeypatch):
    """Nor what is kept of memory before it is stored to."""
    monkeypatch.setenv("PIJIT_PARALLEL_LOOPS", "always")
    assert run_generated("parallel_loops", "ParallelLoop", seed) > 10


WHOLE_ARRAYS = '''
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from guarded_memory import guarded, kept
import pijit as ms


def products(x, y, a, out):
    for k in range(2):
        out[0] = np.dot(x, y)
        out[1] = x @ y[::-1]
        out[2] = (a @ y).sum()
    return out


def chosen(x, mask, out):
    for k in range(2):
        some = x[mask]
        out[0] = some.sum()
        out[1] = len(some)
    return out


def added(x, y, mask, out):
    s = t = u = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
        if mask[i]:
            t += x[i]
    for v in y:
        u += v
    out[0], out[1], out[2] = s, t, u
    return out


fast = ms.JitConfig(numerics="fast")
rng = np.random.default_rng(7)
jitted = [(f, ms.jit(f, jit_config=c)) for f in (products, chosen, added) for c in (None, fast)]
for n in [*range(1, 70), 127, 129, 400, 511, 513, 2047, 2049, 5000]:
    for t in (np.float64, np.float32):
        numbers = [(rng.integers(-64, 65, s) / 8).astype(t) for s in (n, n, (3, n), 3)]
        mask = rng.random(n) < rng.choice((0.0, 0.1, 0.9, 1.0))
        for front in (0, 1):
            kept.clear()
            for f, j in jitted:
                x, y, a, out = (guarded(v, front) for v in numbers)
                args = {products: (x, y, a, out), chosen: (x, guarded(mask, front), out),
                        added: (x, y, guarded(mask, front), out)}[f]
                out[...] = 0
                wanted = f(*args).tobytes()  # sums of these are exact in any order
                out[...] = 0
                assert j(*args).tobytes() == wanted, (f.__name__, n, t, front)
assert all(any(not r["why"] for r in ms.explain(j).regions) for _, j in jitted)
'''


@pytest.mark.kernels
def test_whole_arrays_touch_nothing_beside_them():
    here = str(pathlib.Path(__file__).parent)
    r = subprocess.run([sys.executable, "-W", "ignore", "-c", WHOLE_ARRAYS, here], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr[-2000:]
