"""Loops whose turns threads share: results, memory, exceptions and warnings are those of their turns one by one."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import pijit as ms
from pijit import _C
from tests.python.parallel_loops import ParallelLoop
from tests.python.test_vector_loops import compare


@pytest.fixture
def always():
    now = {"parallel_loops": "always", "num_threads": "2"}
    before = {name: _C.get_option(name) for name in now}
    for name, value in now.items():
        _C.set_option(name, value)
    yield
    for name, value in before.items():
        _C.set_option(name, value)


def shared_turns(jitted):
    return sum(r["shared_turns"] for r in ms.explain(jitted).regions)


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_generated_nests(first, always):
    loops = 0
    for seed in range(first, first + 50):
        loops += shared_turns(compare(ParallelLoop(seed), range(12 * seed, 12 * seed + 12))) > 0
    assert loops >= 5


def primes(n):
    c, i, d, good = 0, 0, 0, False
    for i in range(2, n):
        d, good = 2, True
        while d * d <= i:
            if i % d == 0:
                good = False
                break
            d += 1
        if good:
            c += 1
    return c, i, d, good


def rows(x, out, fails):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = 1.0 / (20 * i + j - fails)
        last = j
    return last


def sums(n, start, by):
    total = start
    for i in range(n):
        for j in range(8):
            total += i * j * by
    return total


def test_what_turns_set_last(always):
    jitted = ms.jit(primes)
    for n in (3, 30, 5_000, 4_000):
        assert jitted(n) == primes(n)
    assert shared_turns(jitted) > 5_000


def test_a_turn_that_raises_undoes_later_ones(always):
    jitted = ms.jit(rows)
    for fails in (-1, 1, 700, 1999, -1):
        both = [np.zeros((100, 20)) for _ in range(2)]
        for f, out in zip((rows, jitted), both):
            try:
                assert f(out, out, fails) == 19
                assert fails == -1
            except ZeroDivisionError:
                assert fails > 0
        assert both[0].tobytes() == both[1].tobytes()
    assert shared_turns(jitted) >= 100


def test_sums_beyond_64_bits(always):
    jitted = ms.jit(sums)
    most = 2**63 - 28 * 19900
    for n, start, by in ((200, 0, 1), (200, 2**62, 1), (200, 2**63 - 1, 1), (200, -2**63, 1), (200, most, 1),
                         (200, most - 1, 1), (200, 2**70, 1), (90, 0, 2**56), (90, 2**63 - 1, -2**50)):
        assert jitted(n, start, by) == sums(n, start, by)
    assert shared_turns(jitted) >= 200


def test_threads_of_python(always):
    """Each has results of its own, as the code's memory is for one at a time."""
    jitted, wrong = ms.jit(sums), []
    jitted(50, 0, 1)

    def work(k):
        for n in range(300, 350):
            if jitted(n, k, k) != sums(n, k, k):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.serial
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core")
def test_long_loops_are_shared_within_their_first_call(always):
    """And short ones are not."""
    _C.set_option("parallel_loops", "auto")
    until = time.monotonic() + 60
    while True:  # others may take the cores, and then turns are not shared for a while
        jitted = ms.jit(primes)
        assert jitted(60_000) == primes(60_000)
        if shared_turns(jitted) > 10_000:
            break
        assert time.monotonic() < until, f"{shared_turns(jitted)} turns were shared"
        time.sleep(0.2)
    jitted = ms.jit(primes)
    for _ in range(50):
        jitted(50)
    assert shared_turns(jitted) == 0


def test_an_interrupt_comes_through(monkeypatch):
    """Also where turns have no end."""
    monkeypatch.setenv("PIJIT_PARALLEL_LOOPS", "always")
    monkeypatch.setenv("PIJIT_NUM_THREADS", "2")
    r = subprocess.run([sys.executable, "-c", """
import _thread, threading
import pijit

@pijit.jit
def f(n):
    s = 0
    for i in range(n):
        k = i
        while k != 3:
            k = k - 1 if k > 50 else k
        s += k
    return s

threading.Timer(0.5, _thread.interrupt_main).start()
try:
    f(1000)
except KeyboardInterrupt:
    print("interrupted")
"""], capture_output=True, text=True, timeout=60)
    assert r.stdout == "interrupted\n", r.stderr
