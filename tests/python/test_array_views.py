"""Views of arrays that captured code makes, and shapes and axes of those that it takes."""

import numpy as np
import pytest

import pijit
from tests.python.differential import check

V = np.linspace(-2, 2, 16).reshape(4, 4)
W = np.linspace(1, 3, 4)
I = np.arange(12).reshape(3, 4) - 3
CONSTANTS = {
    "new axis": lambda v: v * np.arange(4)[:, None],
    "reshape": lambda v: v + np.arange(16).reshape(4, 4),
    "transposed": lambda v: v + np.arange(16.0).reshape(4, 4).T,
    "slice": lambda v: v[:, 1:] * np.arange(4.0)[1:],
    "backwards": lambda v: v * np.arange(4)[::-1],
    "differences": lambda v: (np.arange(4)[:, None] - np.arange(4)[None, :]) ** 2 * v,
    "ravel": lambda v: v + np.eye(4).ravel()[np.newaxis, :4],
    "linspace": lambda v: v * np.linspace(0, 1, 4),
    "given": lambda v: (
        v + 1,
        np.arange(6)[1:],
        np.arange(6).reshape(2, 3).T,
        np.linspace(0, 1, 3),
        np.eye(3)[::-1, 1],
    ),
    "length": lambda v: v + len(np.arange(6)[::2]),
    "element": lambda v: v * np.arange(4.0)[2],
    "part of a part": lambda v: v + np.arange(8.0)[::2][::-1],
}
SHAPES = {
    "reshape": lambda v: v.reshape(2, 8) + 1,
    "reshape of a tuple": lambda v: v.reshape((8, -1)) * 2,
    "np.reshape": lambda v: np.reshape(v, (2, 8)) + 1,
    "given": lambda v: (v + 1).reshape(-1),
    "of an argument": lambda v: (v.reshape(16), v + 1),
    "ravel": lambda v: v.ravel() + np.ravel(v),
    "flatten": lambda v: v.flatten(),
    "flatten a transposed": lambda v: (v.T.flatten(), v.T.ravel(), v.T.ravel() + 1),
    "transpose": lambda v: (v.reshape(2, 2, 4).transpose(2, 0, 1) + 1, np.transpose(v)),
    "swapaxes": lambda v: (v.reshape(2, 2, 4).swapaxes(0, 2) * 2, np.swapaxes(v, 0, 1)),
    "squeeze": lambda v: (v[None].squeeze() + 1, np.squeeze(v[:, None], 1), np.squeeze(v[None] + 1)),
    "repeat": lambda v: (np.repeat(v, 3), np.repeat(v, 2, axis=0), v.repeat(2, axis=1)),
    "expand_dims": lambda v: np.expand_dims(v, 1) * v,
    "outer": lambda v: np.outer(v[0], v[1]),
    "round": lambda v: (np.round(v * 3, 1), (v * 3).round(), np.round(v * 300, -1), v.round(decimals=2)),
    "trace": lambda v: np.trace(v) + v.trace(),
    "reduce": lambda v: (np.add.reduce(v), np.maximum.reduce(v, axis=1)),
    "parts": lambda v: v.real + v.conj(),
    "asarray": lambda v: np.asarray(v) + np.asanyarray(v, dtype=None),
    "type": lambda v: v + (v.dtype.kind == "f") + v.dtype.itemsize,
}
INTEGERS = {
    "square": lambda i: i**2,
    "cube": lambda i: i**3 + 1,
    "high": lambda i: i**63,
    "mean": lambda i: np.mean(i) + i,
    "mean of an axis": lambda i: i - i.mean(axis=0),
    "std": lambda i: (np.std(i), i.std(axis=1), i.var(axis=0)),
    "large": lambda i: ((i * 2**59).mean(), (i * 2**59).mean(axis=1), (i * 2**59).var()),
    "int32": lambda i: (i.astype(np.int32) ** 5, i.astype(np.int32).mean(axis=0), i.astype(np.uint8) ** 3),
}


@pytest.mark.parametrize("name", sorted(CONSTANTS))
def test_of_constants(name):
    check(lambda: CONSTANTS[name], V, calls=4, breaks=0)


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_shapes_and_axes(name):
    check(lambda: SHAPES[name], V, calls=4, breaks=0)


@pytest.mark.parametrize("name", sorted(INTEGERS))
def test_integers(name):
    check(lambda: INTEGERS[name], I, calls=4, breaks=0)


@pytest.mark.parametrize("name", ["reshape", "ravel", "transpose", "squeeze", "flatten a transposed"])
@pytest.mark.parametrize("part", [lambda: V.T.copy().T, lambda: V[::2], lambda: V[:, 1:], lambda: V[:1], lambda: V[:0]])
def test_of_other_layouts(name, part):
    check(lambda: SHAPES[name], part(), calls=3)


def test_stores_go_through_views():
    def f(v):
        a = v * 2
        flat = a.reshape(-1)
        flat[3] = 7
        b = a.reshape(2, 2, 4).transpose(1, 0, 2)
        a[1] += 1
        flat[5:9] *= 2
        v.reshape(2, 8)[0, 1] = 9
        return a, flat, b, b + 1, v.ravel()

    check(lambda: f, V, calls=4, breaks=0)


def test_a_part_of_a_part_sees_stores_into_the_whole():
    def f(v):
        a = v * 2
        part = a[1:]
        inner = part[:, 1:]
        turned = part.T
        first = inner + part.sum()
        a += 1
        second = inner * 2
        a[2] = 7
        return first, second, inner + 1, turned + 1, inner

    check(lambda: f, V, calls=4, breaks=0)


def test_views_of_one_array_share_its_memory():
    def g(v):
        a = np.arange(6.0)
        return v + 1, a, a[1:], a.reshape(2, 3)

    f = pijit.jit(g)
    for _ in range(3):
        _, a, part, shaped = f(V)
        assert part.base is a and shaped.base is a and part.flags.writeable
        part[0] = 5
        assert shaped[0, 1] == 5 and f(V)[1][1] == 1


@pytest.mark.parametrize(
    "f",
    [
        lambda v: v.reshape(3, 5),
        lambda v: v.reshape(-1, -1),
        lambda v: v.transpose(0, 0),
        lambda v: v.squeeze(0),
        lambda v: v + np.arange(4)[7],
        lambda v: v + np.arange(4).reshape(3, 2),
        lambda v: v.swapaxes(0, 5),
        lambda v: np.repeat(v, -1),
        lambda v: np.expand_dims(v, 7),
    ],
)
def test_what_numpy_refuses(f):
    check(lambda: f, V, calls=3)


def test_an_index_that_varies():
    def f(v, i):
        return v * np.arange(40.0)[i]

    jitted = pijit.jit(f)
    for i in range(-40, 40):
        np.testing.assert_array_equal(jitted(V, i), f(V, i))
    with pytest.raises(IndexError, match="out of bounds"):
        jitted(V, 40)


def test_objects_that_answer_for_numpy():
    class Other:
        def __array_function__(self, func, types, args, kwargs):
            return func.__name__

        def reshape(self, *a):
            raise AssertionError("not asked")

    f = pijit.jit(lambda o: (np.outer(o, o), np.repeat(o, 2), np.expand_dims(o, 0)))
    for _ in range(3):
        assert f(Other()) == ("outer", "repeat", "expand_dims")
