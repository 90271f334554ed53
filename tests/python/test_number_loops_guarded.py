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
