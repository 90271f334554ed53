"""Loops that draw from NumPy's generators, as machine code: the same stream, under its lock."""

import threading
import traceback

import numpy as np
import pytest

import pijit

BITS = [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64]
# What stands in the loop.
DRAWS = [
    "rng.random()",
    "rng.standard_normal()",
    "rng.standard_exponential()",
    "rng.normal()",
    "rng.normal(x)",
    "rng.normal(x, 2.5)",
    "rng.normal(i, x * x)",
    "rng.normal(np.float32(0.1), True)",
    "rng.uniform()",
    "rng.uniform(-x * x, 3)",
    "rng.uniform(2)",
    "rng.uniform(0.5, 0.5)",
    "rng.exponential()",
    "rng.exponential(x * x)",
    "rng.exponential(0)",
    "rng.poisson()",
    "rng.poisson(3.5)",
    "rng.poisson(40 + i)",
    "rng.poisson(0)",
    "rng.integers(6)",
    "rng.integers(1)",
    "rng.integers(-3, i + 1)",
    "rng.integers(2**32)",
    "rng.integers(2**32 - 1)",
    "rng.integers(2**40 + i)",
    "rng.integers(-2**63, 2**63 - 1)",
    "rng.integers(rng.integers(5), 7)",
]
OLD_DRAWS = [
    "rng.random()",
    "rng.random_sample()",
    "rng.rand()",
    "rng.uniform()",
    "rng.uniform(-x * x, 3)",
    "rng.randint(6)",
    "rng.randint(1)",
    "rng.randint(-3, i + 1)",
    "rng.randint(2**32)",
    "rng.randint(2**40 + i)",
    "rng.randint(0, 2**63 - 1)",
]
BAD = [
    "rng.normal(0.0, x - 9)",
    "rng.normal(0.0, -0.0)",
    "rng.uniform(0, x * 1e400)",
    "rng.uniform(2.0, 1.0)",
    "rng.exponential(x - 9)",
    "rng.poisson(x - 9)",
    "rng.poisson(1e19)",
    "rng.integers(i - 5)",
    "rng.integers(5, 5)",
    "rng.integers(-2**63, 2**63)",
    "rng.normal(x * (1e400 - 1e400))",
    "rng.integers(2.5)",
    "rng.poisson(1e400 - 1e400)",
    "rng.integers(True)",
    "rng.normal(1j)",
]
OLD_BAD = ["rng.uniform(0, x * 1e400)", "rng.randint(i - 5)", "rng.randint(5, 5)", "rng.randint(-2**63, 2**63)"]


SOURCE = """
def f(rng, n):
    s, seen = 0.0, []
    for i in range(n):
        x = i * 0.25
        r = {}
        s = s * 0.5 + r
        seen.append(float(x + r))
    return s, r, type(r), seen
"""


def function(expression):
    space = {"np": np}
    exec(compile(SOURCE.format(expression), "<draws>", "exec"), space)
    return space["f"]


def state_of(rng):
    return rng.get_state(legacy=False) if isinstance(rng, np.random.RandomState) else rng.bit_generator.state


def shown(f, rng, *args):
    try:
        result = repr(f(rng, *args))
    except Exception as e:
        result = type(e), str(e), [s.lineno for s in traceback.extract_tb(e.__traceback__) if s.filename == "<draws>"]
    return result, repr(state_of(rng)), rng.random()  # its lock is free again


def regions(jitted):
    return [r for r in pijit.explain(jitted).regions if not r["why"]]


def same(f, make, *args):
    jitted = pijit.jit(f)
    for seed in range(4):
        assert shown(jitted, make(seed), *args) == shown(f, make(seed), *args)
    return jitted


@pytest.mark.parametrize("draw", DRAWS)
def test_draws_are_those_of_the_generator(draw):
    for bits in BITS:
        jitted = same(function(draw), lambda seed, bits=bits: np.random.Generator(bits(seed)), 400)
        assert regions(jitted), pijit.explain(jitted)


@pytest.mark.parametrize("draw", OLD_DRAWS)
def test_draws_of_old_generators(draw):
    jitted = same(function(draw), np.random.RandomState, 400)
    assert regions(jitted), pijit.explain(jitted)


@pytest.mark.parametrize("draw", BAD)
def test_what_is_refused_is_told_at_its_line(draw):
    same(function(draw), np.random.default_rng, 40)


@pytest.mark.parametrize("draw", OLD_BAD)
def test_what_old_generators_refuse(draw):
    same(function(draw), np.random.RandomState, 40)


def test_draws_of_the_module():
    def pi(n):
        inside = 0
        for _ in range(n):
            x, y = np.random.rand(), np.random.random()
            if x * x + y * y <= 1.0:
                inside += np.random.randint(1, 4)
        return inside

    jitted = pijit.jit(pi)
    results = []
    for f in (pi, jitted):
        np.random.seed(3)
        results.append([f(500) for _ in range(5)] + [np.random.rand()])
    assert results[0] == results[1]
    assert regions(jitted)


def test_methods_and_generators_by_other_names():
    shared = np.random.default_rng(4)

    def walk(draw, other, n):
        at = 0
        for _ in range(n):
            at += 1 if draw() < 0.5 else -1
            at += other.integers(2) - shared.integers(2)
        return int(at)

    def run(f):
        shared.bit_generator.state = np.random.PCG64(4).state
        rng = np.random.default_rng(8)
        return [f(rng.random, rng, 300) for _ in range(4)] + [state_of(rng), state_of(shared)]

    jitted = pijit.jit(walk)
    assert run(jitted) == run(walk)
    assert regions(jitted)

    # two of the same bits, and methods of other names
    def run_twins(f):
        bits = np.random.PCG64(1)
        one, other = np.random.Generator(bits), np.random.Generator(bits)
        shared.bit_generator.state = np.random.PCG64(4).state
        names = ("random", "standard_normal", "random", "standard_exponential")
        return [f(getattr(one, name), other, 90) for name in names] + [bits.state]

    assert run_twins(jitted) == run_twins(walk)


def test_classes_of_users():
    class Mine(np.random.Generator):
        def random(self):
            return 0.25

    class Own:
        def random(self):
            return 0.5

    def total(rng, n):
        s = 0.0
        for _ in range(n):
            s += rng.random()
        return s

    jitted = pijit.jit(total)
    for make in (
        lambda: np.random.default_rng(2),
        lambda: Mine(np.random.PCG64(2)),
        Own,
        lambda: np.random.RandomState(2),
        lambda: np.random.default_rng(3),
    ):
        for _ in range(3):
            assert jitted(make(), 60) == total(make(), 60)


def test_the_lock_is_respected():
    """Another thread fills an array meanwhile, without the interpreter's lock: each draw is there once."""

    def total(rng, n):
        s = []
        for _ in range(n):
            s.append(rng.random())
        return s

    jitted = pijit.jit(total)
    jitted(np.random.default_rng(0), 100)
    rng, other = np.random.default_rng(7), []
    thread = threading.Thread(target=lambda: other.extend(float(x) for _ in range(6) for x in rng.random(40000)))
    thread.start()
    own = []
    while thread.is_alive():
        own += jitted(rng, 100)
    thread.join()
    expected = np.random.default_rng(7).random(len(own) + len(other))
    assert sorted(own + other) == sorted(expected.tolist())
    with rng.bit_generator.lock:  # it is free
        pass


def test_held_by_another_thread():
    def total(rng, n):
        s = 0.0
        for _ in range(n):
            s += rng.random()
        return s

    jitted = pijit.jit(total)
    assert jitted(np.random.default_rng(5), 50) == total(np.random.default_rng(5), 50)
    rng, taken, free = np.random.default_rng(5), threading.Event(), threading.Event()

    def hold():
        with rng.bit_generator.lock:
            taken.set()
            free.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait(20)
    result = []
    waits = threading.Thread(target=lambda: result.append(jitted(rng, 50)))
    waits.start()
    waits.join(0.2)
    assert not result
    free.set()
    waits.join(20)
    thread.join(20)
    assert result == [total(np.random.default_rng(5), 50)]
