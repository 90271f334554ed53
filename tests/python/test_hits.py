"""What a hit allocates besides its results: nothing, and results come from the pool."""

import os
import shutil
import subprocess
import sys

import pytest

COUNTER = r"""
#include <stddef.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void*, size_t), *__libc_memalign(size_t, size_t);
long malloc_calls;
void* malloc(size_t n) { ++malloc_calls; return __libc_malloc(n); }
void* calloc(size_t k, size_t n) { ++malloc_calls; return __libc_calloc(k, n); }
void* realloc(void* p, size_t n) { ++malloc_calls; return __libc_realloc(p, n); }
void* aligned_alloc(size_t a, size_t n) { ++malloc_calls; return __libc_memalign(a, n); }
"""
PROGRAM = """
import ctypes
import numpy as np
import pijit as ms
from pijit import Parameter, Tensor, nn

calls = ctypes.c_long.in_dll(ctypes.CDLL(None), "malloc_calls")
x = Tensor(np.ones(4, np.float32))
f = ms.jit(lambda x: x * 2 + 1)
two = ms.jit(lambda x, y: (x * y, x - y))
parameters = [Parameter(Tensor(np.ones(8, np.float32)), name=f"p{k}") for k in range(200)]
gradients = tuple(Tensor(np.ones(8, np.float32)) for _ in parameters)
sgd, adam = nn.SGD(parameters, 0.1), nn.Adam(parameters, 0.1)
step, other = ms.jit(lambda g: sgd(g)), ms.jit(lambda g: adam(g))
cases = {"x * 2 + 1": lambda: f(x), "two results": lambda: two(x, x), "an eager op": lambda: x + x,
         "SGD": lambda: step(gradients), "Adam": lambda: other(gradients)}
for name, call in cases.items():
    for _ in range(40):
        call()
    before = calls.value
    for _ in range(200):
        call()
    print(name, (calls.value - before) // 20)  # CPython's own now and then
"""


@pytest.mark.skipif(not shutil.which("cc") or "LD_PRELOAD" in os.environ, reason="takes a C compiler, malloc to itself")
def test_hits_do_not_call_malloc(tmp_path):
    (tmp_path / "counter.c").write_text(COUNTER)
    library = tmp_path / "counter.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", tmp_path / "counter.c", "-o", library], check=True)
    # loops that nothing is generated for are interpreted, in memory of their own
    chosen = {k: v for k, v in os.environ.items() if k not in ("PIJIT_ISA", "PIJIT_BACKEND", "ONEDNN_MAX_CPU_ISA")}
    env = {**chosen, "LD_PRELOAD": str(library), "PIJIT_STRICT": "0", "OMP_NUM_THREADS": "1"}
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=env)
    names = "x * 2 + 1", "two results", "an eager op", "SGD", "Adam"
    assert ran.stdout.splitlines() == [f"{name} 0" for name in names], ran.stdout + ran.stderr
