"""Programs that do something new each time hold no more and more memory (growth.py); make test-memory takes larger
numbers."""

import functools
import gc
import os
import pathlib
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, _C, nn, ops
from tests.python import growth

ROOT = pathlib.Path(__file__).parents[2]
ALL = "PIJIT_ALL_GROWTH" in os.environ
OPTIONS = {} if ALL else {"PIJIT_PROGRAM_BYTES": str(1 << 20), "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "64"}
NUMBERS = {"constants": (1000, 9000, 3), "callees": (400, 1600, 12)}  # turns, turns, MB


@pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="the sanitizer keeps freed memory")
@pytest.mark.parametrize("kind", growth.KINDS)
def test_memory_comes_back(kind):
    few, many, most = (10**4, 10**5, 20) if ALL else NUMBERS.get(kind, (400, 1600, 3))
    env = {**os.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", str(ROOT)), "PIJIT_VERIFY": "0",
           "MALLOC_ARENA_MAX": "1", **OPTIONS}
    r = subprocess.run([sys.executable, "-m", "tests.python.growth", kind, str(few), str(many)], capture_output=True,
                       text=True, env=env, cwd=ROOT, timeout=3600)
    assert r.returncode == 0, r.stderr[-2000:]
    more = int(r.stdout.split()[0]) / 2**20
    print(f"{kind}: {more:.1f} MB more after {many} than after {few}")
    assert more < most, f"{more:.1f} MB more after {many} than after {few}"


def test_what_leaves_the_cache_may_be_running():
    """Threads run single ops of so many shapes that each drops what the others use."""
    before = _C.get_option("program_bytes")
    _C.set_option("program_bytes", "200000")
    wrong = []

    def work(seed):
        r = np.random.RandomState(seed)
        for _ in range(150):
            n = r.randint(1, 40)
            x = r.randint(-4, 5, (n, 17)).astype(np.float32)
            t = Tensor(x)
            if (not np.array_equal(ops.matmul(t, t.T).asnumpy(), x @ x.T)
                or not np.array_equal((t * int(r.randint(9)) - t).sum(0).asnumpy().shape, (17,))):
                wrong.append((seed, n))
    try:
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        _C.set_option("program_bytes", before)
    assert not wrong


@pytest.fixture
def graph_mode():
    before = ms.get_context("mode")
    ms.set_context(mode=ms.GRAPH_MODE)
    yield
    ms.set_context(mode=before)


def make_net():
    class Net(nn.Cell):
        def construct(self, x):
            return super().__repr__() and x + 1
    return Net


def test_a_class_run_in_graph_mode_dies(graph_mode):
    net = make_net()()
    x = Tensor([1.0, 2.0])
    assert np.array_equal(net(x).asnumpy(), [2, 3]) and np.array_equal(net(x).asnumpy(), [2, 3])
    seen = [weakref.ref(o) for o in (net, type(net), type(net).construct)]
    del net
    gc.collect()
    assert [r() for r in seen] == [None] * 3


def test_attributes_of_a_construct_are_its_own(graph_mode):
    """functools.wraps copies the attributes of a function; its graph is none of the other's."""
    class Doubles(nn.Cell):
        def construct(self, x):
            return x * 2

    class More(nn.Cell):
        @functools.wraps(Doubles.construct)
        def construct(self, x):
            return x * 3
    x = Tensor([1.0, 2.0])
    assert np.array_equal(Doubles()(x).asnumpy(), [2, 4])
    Later = type("Later", (nn.Cell,), {"construct": functools.wraps(Doubles.construct)(lambda self, x: x * 4)})
    assert np.array_equal(More()(x).asnumpy(), [3, 6]) and np.array_equal(Later()(x).asnumpy(), [4, 8])
