"""The programs of `make bench-scripts`: each runs in every way, and what the benchmark says of times."""

import gc
import importlib
import pathlib
import sys

import pytest

import pijit as ms
from pijit import ops

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def scripts():
    sys.path.insert(0, str(FOLDER))
    try:
        yield importlib.import_module("scripts")
    finally:
        sys.path.remove(str(FOLDER))


def results(source, jit):
    """What the program's functions give, in order, as text."""
    import numpy as np
    seen = []

    def watched(f):
        j = jit(f)

        def call(*args):
            r = j(*args)
            seen.append(r.asnumpy().tolist() if isinstance(r, ms.Tensor) else repr(r)
                        if isinstance(r, (int, float, str, list, dict, tuple)) else type(r).__name__)
            return r
        return call
    names = {"np": np, "ms": ms, "ops": ops, "jit": watched, "rng": np.random.RandomState(0)}
    exec(source, names)
    names["run"]()
    names["run"]()
    return seen


def test_there_are_enough_programs(scripts):
    assert len(scripts.PROGRAMS) >= 40


def test_programs_give_the_same(scripts):
    for name, source in scripts.PROGRAMS.items():
        plain = results(source, lambda f: f)
        assert plain, name
        assert results(source, ms.jit) == plain, name


@pytest.mark.parametrize("plain, other, over",
                         [(0.001, 0.02, False), (0.001, 0.022, True), (0.5, 0.569, False), (0.5, 0.571, True),
                                                (2.0, 2.05, False), (2.0, 2.07, True)])
def test_the_limit(scripts, plain, other, over):
    assert scripts.is_over(plain, other) == over


def test_one_program_is_timed(scripts, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["scripts.py", "--only", "queens", "--rounds", "1", "--cpu"])
    scripts.main()
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("queens")]
    assert [r[1] for r in rows] == ["decorator", "-m"] and all(float(r[2 + (r[1] == "-m")]) > 0 for r in rows)


class Place:
    def __init__(self):
        self.x, self.y = 0, [1]

    @ms.jit
    def step(self, by):
        self.x += by
        return self.x

    @ms.jit
    def asks(self):
        return self.__dict__


@ms.jit
def bump(place):
    place.x += 1


@ms.jit
def reads(place):
    return place.y[0] + place.x


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="objects get their dicts at other times")
@pytest.mark.parametrize("use", [lambda p: p.step(1), bump, reads, lambda p: [bump(p), reads(p)]])
def test_attributes_stay_in_the_object_where_no_graph_is_found(use):
    # CPython 3.11 is slow with the attributes of an object that has a dict
    for _ in range(3):
        p = Place()
        for _ in range(20):
            use(p)
        assert not any(type(held) is dict for held in gc.get_referents(p))
        assert p.__dict__ == vars(p) and list(p.__dict__)[:2] == ["x", "y"] and p.y == [1]


def test_dicts_that_others_hold_stay():
    for _ in range(20):
        p = Place()
        d = p.asks()
        bump(p)
        p.z = 3
        assert d is p.__dict__ and d == {"x": 1, "y": [1], "z": 3}


def test_methods_are_looked_up_as_those_of_functions():
    if sys.version_info >= (3, 10):
        with pytest.raises(TypeError):
            type(Place.__dict__["step"]).anything = 1  # CPython specialises only what can't change
