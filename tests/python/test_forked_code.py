"""Machine code of a process that forks: what parent and children make later, none of them overwrites."""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

PROGRAM = '''
import os, traceback
import numpy as np
import pijit

def functions(k):
    names = {}
    exec(f"def f(x, y):\\n    return (x * {k}.5 + y) / (x * x + {k + 1}) - y * {k}.25\\n"
         f"def g(n):\\n    s = 0.0\\n    for i in range(n):\\n        s = s * 0.5 + i * {k}.5\\n    return s\\n", names)
    return names["f"], names["g"]

rng = np.random.RandomState(0)
X, Y = rng.rand(500), rng.rand(500)

def check(kept):
    for a, b, of_arrays, of_numbers in kept:
        assert a(X, Y).tobytes() == of_arrays and b(50) == of_numbers

def work(first, count):
    """Makes code, and drops some of it, so that its place is used again."""
    kept = []
    for k in range(first, first + count):
        f, g = functions(k)
        kept.append((pijit.jit(f), pijit.jit(g), f(X, Y).tobytes(), g(50)))
        if len(kept) > 20:
            kept.pop(k % 20)
        check(kept)
    return kept

kept, children = work(0, 10), []
for child in range(1, 5):
    pid = os.fork()
    if pid == 0:
        try:
            check(kept)
            work(1000 * child, 40)
            check(kept)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    children.append(pid)
    work(100 * child, 10)
    check(kept)
work(7000, 40)
check(kept)
print([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children])
'''


def test_none_overwrites_anothers_code():
    r = subprocess.run([sys.executable, "-c", PROGRAM], env={**os.environ, "PYTHONPATH": ROOT, "OMP_NUM_THREADS": "1"},
                       capture_output=True, text=True, timeout=300)
    assert (r.returncode, r.stdout) == (0, "[0, 0, 0, 0]\n"), r.stderr
