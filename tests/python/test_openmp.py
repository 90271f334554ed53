"""Results don't depend on how many threads OpenMP gives: in processes with its variables, under a library's
`omp_set_dynamic`, in a region of another library. Each computes by one thread, which is right anywhere, and as it
comes. Fresh memory holds NaN there: what no thread writes is seen."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent

PROGRAM = '''
import ctypes, functools, sys
import numpy as np
import pijit as ms
from pijit import Tensor, nn, ops
from pijit._C import set_option

R = np.random.default_rng(0)
@functools.cache
def random(*shape): return Tensor(R.standard_normal(shape).astype(np.float32))
lstm, dense, conv, attention = (nn.LSTM(130, 140), nn.Dense(257, 263), nn.Conv2d(16, 32, 3),
                                nn.MultiheadAttention(128, 4))
A, B, PLACES = random(257, 257), random(257, 257) + 1, Tensor(R.integers(0, 3000, 30000))
CASES = {
    "float32": lambda: A @ B, "float16": lambda: A.half() @ B.half(),
    "bfloat16": lambda: A.astype(ms.bfloat16) @ B.astype(ms.bfloat16),
    "float64": lambda: A.double() @ B.double(), "bmm": lambda: ops.bmm(random(4, 129, 140), random(4, 140, 150)),
    "dense": lambda: ms.value_and_grad(lambda x: dense(x).square().sum(), 0,
                                       dense.trainable_params())(random(131, 257)),
    "lstm": lambda: lstm(random(5, 64, 130))[0],
    "attention": lambda: attention(*[random(70, 8, 128)] * 3)[0],
    "conv": lambda: ms.value_and_grad(lambda x: conv(x).square().sum(), 0,
                                      conv.trainable_params())(random(3, 16, 56, 56)),
    "pool": lambda: ops.max_pool2d(random(4, 64, 56, 56), 3, 2),
    "norm": lambda: ops.layer_norm(random(700, 300), (300, ), random(300), random(300)),
    "transpose": lambda: ops.transpose(random(300, 400), (1, 0)), "sum": lambda: random(1000, 1001).sum(0),
    "map": lambda: ops.tanh(random(1000, 1001)), "sort": lambda: ops.sort(random(700, 1001))[0],
    "gather": lambda: ops.gather(random(3000, 100), PLACES, 0),
    "topk": lambda: ops.topk(random(300000), 5)[0], "cumsum": lambda: ops.cumsum(random(300, 4000), 1),
    "resize": lambda: ops.interpolate(random(4, 16, 60, 60), size=(100, 100), mode="bilinear"),
    "jitted": lambda: ms.jit(lambda a, b: ops.softmax(a @ b + a, -1).sum(0))(A, B)}

def flat(v): return [v.asnumpy()] if isinstance(v, Tensor) else [a for x in v for a in flat(x)]

def results(): return {name: flat(case()) for name, case in CASES.items()}

def compare(got, want):
    bad = []
    for name in want:
        for g, w in zip(got[name], want[name]):
            g, w, last = g.astype(np.float64), w.astype(np.float64), 2e-2 if "16" in name else 1e-4
            if not np.allclose(g, w, rtol=last, atol=last * np.abs(w).max()):
                bad.append(name)
    assert not bad, bad

set_option("num_threads", "1")
WANT = results()
set_option("num_threads", "0")
'''
PLAIN = PROGRAM + "for _ in range(2): compare(results(), WANT)\n"
FORCED = PROGRAM + "set_option('num_threads', '4')\nfor _ in range(2): compare(results(), WANT)\n"
DYNAMIC = PROGRAM + '''
omp = ctypes.CDLL("libgomp.so.1")
omp.omp_set_dynamic(1)
for _ in range(2): compare(results(), WANT)
assert omp.omp_get_dynamic() == 1
'''
# In each thread of another library's region, one after the other as they get the GIL.
INSIDE = PROGRAM + '''
region = ctypes.CDLL(sys.argv[1]).region
FUNCTION = ctypes.CFUNCTYPE(None)
errors, ran = [], []
def inside():
    try:
        compare(results(), WANT)
        ran.append(1)
    except BaseException as e:
        errors.append(repr(e))
compare(results(), WANT)
for threads in (1, 2, 3): region(threads, FUNCTION(inside))
compare(results(), WANT)
assert not errors and len(ran) >= 3, (errors, ran)
'''


def run(program, *arguments, **variables):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "PIJIT_TEST"))}
    env.update(PYTHONPATH=str(ROOT), PIJIT_GUARD="front", OMP_WAIT_POLICY="passive", **variables)
    r = subprocess.run([sys.executable, "-c", program, *arguments], env=env, capture_output=True, text=True,
                       timeout=600)
    assert r.returncode == 0, r.stderr[-2000:]


def library(tmp_path_factory, name, text, *flags):
    folder = tmp_path_factory.mktemp(name)
    source, made = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", *flags, "-o", made, source], check=True)
    return str(made)


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    """getloadavg on a machine that is busy: OpenMP gives a region one thread, if it may."""
    return library(tmp_path_factory, "busy",
                   "int getloadavg(double *to, int n) { for (int k = 0; k < n; ++k) to[k] = 99; return n; }")


@pytest.fixture(scope="module")
def region(tmp_path_factory):
    text = "void region(int threads, void (*f)(void)) {\n#pragma omp parallel num_threads(threads)\n  f();\n}"
    return library(tmp_path_factory, "region", text, "-fopenmp")


ENVIRONMENTS = [{"OMP_THREAD_LIMIT": "1"}, {"OMP_THREAD_LIMIT": "3", "OMP_NUM_THREADS": "8"}, {"OMP_NUM_THREADS": "1"},
                {"OMP_NUM_THREADS": "2"}, {"OMP_NUM_THREADS": "8"},
                {"OMP_MAX_ACTIVE_LEVELS": "0"}, {"OMP_NUM_THREADS": "2,2", "OMP_MAX_ACTIVE_LEVELS": "2"}]


@pytest.mark.parametrize("variables", ENVIRONMENTS, ids=lambda v: " ".join(f"{k}={x}" for k, x in v.items()))
def test_variables_of_openmp(variables):
    run(PLAIN, **variables)


@pytest.mark.parametrize("variables", [{"OMP_THREAD_LIMIT": "3"}, {"OMP_MAX_ACTIVE_LEVELS": "0"}],
                         ids=lambda v: " ".join(f"{k}={x}" for k, x in v.items()))
def test_more_threads_than_there_may_be(variables):
    run(FORCED, **variables)


def test_fewer_threads_as_the_load_is(busy):
    run(PLAIN, LD_PRELOAD=f"{os.environ.get('LD_PRELOAD', '')} {busy}".strip(), OMP_DYNAMIC="true", OMP_NUM_THREADS="4")


def test_a_library_sets_dynamic(busy):
    run(DYNAMIC, LD_PRELOAD=f"{os.environ.get('LD_PRELOAD', '')} {busy}".strip(), OMP_NUM_THREADS="4")


@pytest.mark.parametrize("variables",
                         [{}, {"OMP_MAX_ACTIVE_LEVELS": "3"}, {"OMP_MAX_ACTIVE_LEVELS": "3", "OMP_THREAD_LIMIT": "4"}],
                         ids=lambda v: " ".join(f"{k}={x}" for k, x in v.items()) or "none")
def test_within_a_region_of_another_library(region, variables):
    run(INSIDE, region, OMP_NUM_THREADS="4", **variables)
