"""Loops that draw by the functions of Python's `random`, as machine code: the same numbers, the same state."""

import random
import traceback

import pytest

import pijit

SOURCE = """
def f(n):
    s, seen = 0.0, []
    for i in range(n):
        x = i * 0.25
        r = {}
        s = s * 0.5 + r
        seen.append(r)
    return s, r, seen
"""
DRAWS = [
    "randint(1, 6)",
    "randint(-3, i)",
    "randint(i, i)",
    "randint(0, 2**31 - 1)",
    "randint(0, 2**32)",
    "randint(-2**40, i)",
    "randint(-1, 2**63 - 3)",
    "randrange(6)",
    "randrange(1)",
    "randrange(2**32)",
    "randrange(2**63 - 1)",
    "randrange(-4, i + 1)",
    "uniform(-1, 1)",
    "uniform(x, 2.5)",
    "uniform(i, x * 1e308)",
    "uniform(0, 2**62 + i)",
    "random() + random.randint(0, 1)",
]
OTHERS = [
    "randint(6, i)",
    "randint(0, 2**63 - 1)",
    "randint(-2**62, 2**62 + i)",
    "randrange(i - 5)",
    "randrange(-2**63, 2**63 - 1)",
    "randrange(0, 10, 3)",
    "randint(True, 4)",
    "uniform(-2**62, 2**62 + 2**61)",
    "uniform(1j, 2)",
    "gauss(0, 1)",
    "choice([1, 2])",
    "getrandbits(5)",
    "randint(1, 6.5)",
    "randrange()",
]


def function(draw):
    space = {"random": random}
    exec(compile(SOURCE.format("random." + draw), "<draws>", "exec"), space)
    return space["f"]


def shown(f, seed, *args):
    random.seed(seed)
    try:
        result = repr(f(*args))
    except Exception as e:
        result = type(e), str(e), [s.lineno for s in traceback.extract_tb(e.__traceback__) if s.filename == "<draws>"]
    return result, random.getstate()


def regions(jitted):
    return [r for r in pijit.explain(jitted).regions if not r["why"]]


@pytest.mark.parametrize("draw", DRAWS)
def test_draws_are_those_of_the_generator(draw):
    f = function(draw)
    jitted = pijit.jit(f)
    for seed in range(3):
        for n in (1, 311, 700):  # its 624 numbers run out
            assert shown(jitted, seed, n) == shown(f, seed, n)
    assert regions(jitted), pijit.explain(jitted)


@pytest.mark.parametrize("draw", OTHERS)
def test_what_is_left_to_python(draw):
    f = function(draw)
    jitted = pijit.jit(f)
    for seed in range(3):
        assert shown(jitted, seed, 40) == shown(f, seed, 40)


def test_functions_by_other_names_and_other_ones(monkeypatch):
    def total(draw, n):
        s = 0
        for _ in range(n):
            s += draw(1, 6)
        return s

    class Own(random.Random):
        def randint(self, a, b):
            return b

    class Below(random.Random):
        def random(self):
            return 0.5

    jitted = pijit.jit(total)
    for make in (random.Random, Own, Below):
        for _ in range(3):
            one, other = make(5), make(5)
            assert jitted(one.randint, 300) == total(other.randint, 300)
            assert one.getstate() == other.getstate()
    patched = random.Random(3)
    patched.randrange = lambda a, b: 7
    assert jitted(patched.randint, 30) == 210

    f = function("randint(1, 6)")
    jitted = pijit.jit(f)
    assert shown(jitted, 1, 50) == shown(f, 1, 50)
    monkeypatch.setattr(random, "randint", lambda a, b: 4)
    assert shown(jitted, 1, 50) == shown(f, 1, 50)


@pytest.mark.parametrize("name", ["_randbelow", "randrange", "random"])
def test_methods_that_are_replaced_later(name, monkeypatch):
    f = function("randint(1, 6)" if name != "random" else "uniform(1, 6)")
    jitted = pijit.jit(f)
    assert shown(jitted, 1, 50) == shown(f, 1, 50)
    assert regions(jitted)
    with monkeypatch.context() as patch:
        patch.setattr(random._inst, name, lambda *args: 3, raising=False)
        assert shown(jitted, 1, 50) == shown(f, 1, 50)
    with monkeypatch.context() as patch:
        patch.setattr(random.Random, name, lambda self, *args: 2)
        assert shown(jitted, 1, 50) == shown(f, 1, 50)
    assert shown(jitted, 1, 50) == shown(f, 1, 50)
