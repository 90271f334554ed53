"""Machine code of loops keeps to the memory of its arrays: each lies between pages that nobody may touch."""

import pathlib
import subprocess
import sys

import pytest

PROGRAM = '''
import ctypes, mmap, signal, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
import number_loops
import pijit as ms

LIBC, PAGE, kept = ctypes.CDLL(None, use_errno=True), mmap.PAGESIZE, []


def guarded(a, front):
    """A copy of an array between two pages that nobody may touch."""
    pages = -(-a.nbytes // PAGE)
    memory = mmap.mmap(-1, (pages + 2) * PAGE)
    kept.append(memory)  # its pages stay as they are
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for page in (0, pages + 1):
        assert LIBC.mprotect(ctypes.c_void_p(base + page * PAGE), PAGE, 0) == 0
    at = base + (PAGE if front else PAGE * (pages + 1) - a.nbytes)
    b = np.frombuffer((ctypes.c_char * a.nbytes).from_address(at), a.dtype).reshape(a.shape)
    b[...] = a
    return b


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
