"""Operators of arrays that NumPy makes of constants within captured code."""

import numpy as np
import pytest

import pijit
from tests.python.differential import check

V = np.linspace(-2, 2, 16).reshape(4, 4)
CASES = {
    "arange * float": lambda v: v * (np.arange(4) * 1.0),
    "arange + arange": lambda v: v * (np.arange(4) + np.arange(4)),
    "minus": lambda v: v - (-np.arange(4.0)), "array * 2": lambda v: v @ (np.array([1.0, 2.0, 3.0, 4.0]) * 2),
    "comparison": lambda v: v * (np.arange(4) < 2), "from the left": lambda v: v + 2 * np.arange(4),
    "division": lambda v: v + np.arange(4) / 2, "floor": lambda v: v + np.arange(4) // 2,
    "power": lambda v: v + 2.0 ** np.arange(4), "matrix": lambda v: v @ (np.eye(4) * 3),
    "given": lambda v: (v.sum(), np.arange(4) * 0.5),
    "scalar of NumPy": lambda v: v[0, 0] * np.arange(4) + np.arange(4) * v[1],
    "int32": lambda v: v + np.arange(4, dtype=np.int32) * 2,
    "float32": lambda v: v + np.arange(4, dtype=np.float32) * 2,
    "bools": lambda v: v * ~np.array([True, False, True, False]),
    "both": lambda v: (np.arange(4) == np.arange(4)) * v,
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_operators(name):
    check(lambda: CASES[name], V, calls=4, breaks=0)


def test_each_call_gives_arrays_of_its_own():
    f = pijit.jit(lambda v: (v + 1, np.arange(4) * 2.0))
    first, second = f(V)[1], f(V)[1]
    first[:] = -1
    assert second.tolist() == [0, 2, 4, 6] == f(V)[1].tolist()
    assert second.flags.owndata and second.flags.writeable


def test_warnings_come_in_each_call():
    def f(v):
        return v * (1 / np.arange(4))

    jitted = pijit.jit(f)
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="divide by zero") as seen, np.errstate(divide="warn"):
            got = jitted(V)
        assert len(seen) == 1 and seen[0].lineno == f.__code__.co_firstlineno + 1
        with np.errstate(divide="ignore"):
            np.testing.assert_array_equal(got, f(V))


@pytest.mark.parametrize("change", [lambda a: a.__setitem__(0, 7), lambda a: a.sort(), lambda a: a.fill(3)])
def test_an_array_that_changes_later(change):
    def f(v):
        a = np.arange(4.0)
        twice = a * 2
        change(a)
        return v + a * 3, twice, a

    check(lambda: f, V, calls=4)
