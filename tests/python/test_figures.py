"""Figures of watched functions against a clock that the test sets: what a call takes plainly and captured is known."""

import gc
import statistics

import numpy as np
import pytest

import pijit as ms
from pijit import _C, ops
from pijit.profiling import figures

X = ms.Tensor(np.linspace(0, 1, 8, dtype=np.float32))


class Clock:
    """Time passes where `spend` says so, and nowhere else."""

    def __init__(self):
        self.now = 0
        self.spent = {True: 0, False: 0}  # by whether code ran plainly

    def spend(self, plain, captured):
        plainly = _C.pause_capture(True)
        _C.pause_capture(plainly)
        took = plain if plainly else captured
        self.spent[plainly] += took
        self.now += took
        _C.set_clock(self.now)


@pytest.fixture
def clock():
    c = Clock()
    _C.set_clock(0)
    yield c
    _C.set_clock(None)


def watched(f, handle=None):
    """A jitted function, and the handle of its figures."""
    handle = handle or _C.new_figures(0.0)
    f = ms.jit(f)
    _C.watch(f, handle)
    return f, handle


@pytest.mark.parametrize("plain, captured", [(3000, 1000), (1000, 3000), (50_000, 10_000)])
def test_the_ratio_is_the_clocks(clock, plain, captured):
    @watched
    def f(x):
        clock.spend(plain, captured)
        return ops.relu(x) * 2 + 1

    f, handle = f
    for _ in range(60):
        f(X)
    got = figures.of([handle])
    assert got.calls == 60 and got.recursive == 0
    assert got.plain.median == pytest.approx(plain / 1e9) and got.captured.median == pytest.approx(captured / 1e9)
    assert got.speedup.value == pytest.approx(plain / captured) and (got.speedup.low > 1) == (plain > captured)
    ran = clock.spent[False] / captured
    assert got.saved == pytest.approx(ran * (plain - captured) / 1e9)


def test_recursion_counts_its_outermost_calls(clock):
    @watched
    def fib(n):
        clock.spend(100, 4000)
        return n if n < 2 else fib[0](n - 1) + fib[0](n - 2)

    f, handle = fib
    calls = 177  # of itself, by fib(10)
    for _ in range(20):
        assert f(10) == 55
    got = figures.of([handle])
    assert got.calls == 20 and got.recursive == 20 * (calls - 1)
    assert got.speedup is None or got.speedup.value == pytest.approx(100 / 4000, rel=0.3)
    assert not got.saved > 0


def test_plain_calls_lie_over_the_whole_run_and_take_little(clock):
    turn = []

    @watched
    def f(x):
        if _C.pause_capture(False):
            _C.pause_capture(True)
            turn.append(k)
        clock.spend(10_000, 2000)
        return x * 2

    f, handle = f
    for k in range(2000):
        f(X)
    assert len([t for t in turn if t > 1000]) >= 10 and turn[-1] > 1900
    assert clock.spent[True] < 0.2 * clock.spent[False]
    assert figures.of([handle]).speedup.value == pytest.approx(5)


def test_what_new_sizes_cost_counts(clock):
    @watched
    def f(x):
        return (ops.relu(x) * 2).sum()

    f, handle = f
    for n in range(3, 40):
        f(ms.Tensor(np.ones(n, np.float32)))
    told = _C.figures(handle)["all"]
    assert told["anew"]["count"] >= 25 and ms.explain(f).new_sizes >= 25
    assert figures.of([handle]).captured.samples  # of calls that compile, as most do


def test_explain_counts_what_sizes_took():
    f = ms.jit(lambda x: (ops.relu(x) * 2).sum())
    for n in (3, 4, 5):
        f(ms.Tensor(np.ones(n, np.float32)))
    before = ms.explain(f)
    for n in range(6, 40):
        f(ms.Tensor(np.ones(n, np.float32)))
    after = ms.explain(f)
    assert after.compile_count == before.compile_count and after.compile_ms > before.compile_ms
    assert after.new_sizes - before.new_sizes == 34 and "further sizes" in str(after)


def test_compiling_is_told_once_whether_or_not_calls_were_compared():
    @watched
    def below(x):
        return ops.tanh(x) * 3

    below, one = below

    @watched
    def above(x):
        gc.is_tracked(x)  # a break
        y = ops.exp(x) + 1
        gc.is_tracked(x)
        return below(y)

    above, two = above
    above(ms.Tensor(np.ones(3, np.float32)))  # each captured call so far was one that compiled
    a, b = figures.of([two]), figures.of([one])
    compiled = ((ms.explain(above).compile_ms + sum(c["compile_ms"] for c in ms.explain(above).callees) +
                 ms.explain(below).compile_ms) / 1e3)
    assert a.trying > 0 and a.trying + b.trying == pytest.approx(compiled, rel=0.05)
    assert a.all_anew and a.captured.median > a.trying * 0.9 and a.speedup is None


def test_functions_below_have_both_times_too(clock):
    @watched
    def inner(x):
        clock.spend(400, 100)
        return x * 2

    inner, below = inner

    @watched
    def outer(x):
        clock.spend(1000, 500)
        return inner(x) + 1

    outer, handle = outer
    for _ in range(50):
        outer(X)
    a, b = figures.of([handle]), figures.of([below])
    assert a.plain.median == pytest.approx(1.4e-6) and a.captured.median == pytest.approx(0.6e-6)
    assert b.plain.median == pytest.approx(4e-7) and b.captured.median == pytest.approx(1e-7)
    # what is saved below is part of what is saved above: only the first call's is its own
    ran = clock.spent[False] / 600 - 1
    assert a.saved == pytest.approx(ran * 8e-7) and abs(b.saved) <= 3.1e-7


def test_one_long_call_leaves_functions_below_to_themselves(clock):
    @watched
    def step(x):
        clock.spend(400, 100)
        return x * 2

    step, below = step

    @watched
    def train(x):
        gc.is_tracked(x)
        for _ in range(100):
            x = step(x) * 0.5
        return x

    train, handle = train
    train(X)
    a, b = figures.of([handle]), figures.of([below])
    assert a.calls == 1 and a.speedup is None and b.calls == 100 and b.speedup.value == pytest.approx(4)
    assert b.saved > 0 and abs(a.saved) < 1e-9


def test_what_was_given_back_says_what_trying_cost(clock):
    f, handle = watched(lambda n: (clock.spend(100, 300), n)[1])
    for k in range(60):
        f(k)
    got = figures.of([handle])
    assert ms.explain(f).deoptimized and got.rested > 20 and got.calls == 60
    assert got.saved < 0


def test_calls_of_what_was_given_back_are_told(clock):
    """A recursion calls the decorated object at each turn."""
    handle = _C.new_figures(50e-9)

    def down(n):
        clock.spend(100, 100)
        return f(n - 1) if n else 0

    f, _ = watched(down, handle)
    for _ in range(40):
        f(9)
    got = figures.of([handle])
    assert ms.explain(f).deoptimized and got.rested > 20 and got.recursive == 360
    # nine calls of the object are within a call, and none of them is in a plain one
    assert got.plain.median == pytest.approx(1000e-9 - 9 * 50e-9)
    fronted = _C.figures(handle)["fronted"]
    assert got.rested * 10 * 50e-9 <= fronted + 1e-12 and fronted <= 40 * 10 * 50e-9
    assert got.saved <= -fronted


def test_a_cost_of_calls_is_a_float():
    with pytest.raises(TypeError, match="front must be a float|a float"):
        _C.new_figures(3)


def test_calls_that_a_size_lets_run_plainly_are_in_the_mean(monkeypatch):
    """Where most captured calls compile something, the figure is what a call takes then, the plain ones included."""
    handle = _C.new_figures(0.0)
    counted = _C.figures(handle)

    def times(count, each):
        return {"count": count, "sum": count * each, "samples": [each] * count}

    counted["all"] = {"plain": times(60, 1e-6), "chosen": 50, "captured": times(10, 1e-6), "anew": times(40, 6e-6)}
    monkeypatch.setattr(_C, "figures", lambda h: counted)
    assert figures.of([handle]).speedup.value == pytest.approx(1 / 3)


def test_what_interrupts_a_call_is_no_loss(clock, monkeypatch):
    """The machine did something else for a thousand times as long as a call takes, during a captured one."""
    f, handle = watched(lambda x: (clock.spend(3000, 1000), x * 2)[1])
    for _ in range(60):
        f(X)
    counted = _C.figures(handle)
    usual = figures.of([handle]).saved
    for kind in ("all", "top"):
        c = counted[kind]["captured"]
        c["samples"][20] += 3e-3
        c["sum"] += 3e-3
    monkeypatch.setattr(_C, "figures", lambda h: counted)
    assert usual > 50e-6 and figures.of([handle]).saved == pytest.approx(usual)


def test_too_little_is_no_ratio(clock):
    f, handle = watched(lambda x: (clock.spend(100, 300), x * 2)[1])
    f(X)
    assert figures.of([handle]).speedup is None
    f(X)
    assert figures.of([handle]).speedup is None


def test_closures_share_figures():
    handle = _C.new_figures(0.0)
    for k in range(12):
        watched(lambda x, k=k: x * k, handle)[0](X)
    assert figures.of([handle]).calls == 12


def test_kept_samples_lie_over_all(clock):
    f, handle = watched(lambda x, n: (clock.spend(n, n), x * 2)[1])
    for k in range(3000):
        f(X, k)
    kept = _C.figures(handle)["all"]["captured"]["samples"]
    assert 100 <= len(kept) <= 256 and statistics.median(kept) == pytest.approx(1500e-9, rel=0.15)


def test_wrong_use():
    with pytest.raises(TypeError, match="new_figures"):
        _C.figures(3)
    with pytest.raises(TypeError, match="jitted"):
        _C.watch(len, None)


def test_what_a_call_costs_is_measured_where_it_stays_pythons():
    """A recursion that became machine code would cost less than nothing."""
    figures.calibrate()
    assert 0 < figures.front() < 5e-6
