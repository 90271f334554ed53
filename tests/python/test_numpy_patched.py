"""Programs that put functions of their own in the place of NumPy's: calls go there, and operators stay NumPy's."""

import os
import subprocess
import sys

import pytest

NAMES = ("add multiply subtract square absolute matmul dot flip sum mean sqrt exp where clip zeros ones concatenate "
         "array asarray ufunc errstate geterr empty count_nonzero sort outer diff roll can_cast result_type").split()
FUNCTIONS = '''
def called(x, y):
    z = x * 2.0 + y
    return np.NAME(z), z - y, abs(z), z ** 2
def in_a_loop(x, y):
    for k in range(4):
        x[1:] = x[:-1] + y[1:] * 0.5
        x[0] = x[1:] @ y[1:]
    return x, np.NAME(x)
'''
# Each name in a process of its own, where pijit comes after the program's change, and before it.
PROGRAM = '''
import os, sys
import numpy as np
def own(*args, **kwargs):
    return "own"
def run(name, first):
    if first:
        import pijit
        pijit.jit(lambda x: np.sort(x) + 1)(np.ones(3))
    setattr(np, name, own)
    import pijit
    scope = {"np": np}
    exec(sys.argv[2].replace("NAME", name), scope)
    for f in scope["called"], scope["in_a_loop"]:
        jitted = pijit.jit(f)
        for _ in range(3):
            got, want = (repr(g(x.copy(), x + 1)) for g in (jitted, f))
            if got != want or "own" not in want:
                print(name, first, f.__name__, got, want)
                return 1
    return 0
x = np.arange(6.0)
for name in sys.argv[1].split():
    for first in False, True:
        pid = os.fork()
        if pid == 0:
            status = 2
            try:
                status = run(name, first)
            finally:
                sys.stdout.flush()
                os._exit(status)
        if os.waitpid(pid, 0)[1] != 0:
            print("differs:", name, first)
'''


@pytest.mark.parametrize("part", range(3))
def test_a_programs_own_functions_are_called(part):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", PROGRAM, " ".join(NAMES[part::3]), FUNCTIONS], env=env,
                         capture_output=True, text=True, timeout=300)
    assert run.returncode == 0 and run.stdout == "", run.stdout + run.stderr[-2000:]
