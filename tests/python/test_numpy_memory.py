"""Arrays that a function makes of constants, in Fortran's order and C's; ndarray.resize(), which counts references;
arrays that warn where they are written; and bools of any bytes."""

import gc
import warnings

import numpy as np
import pytest

import pijit
from tests.python.pairs import pairs

MAKES = ["np.empty((2, 3), order='F') * 0 + 1", "np.zeros((2, 3), order='F')", "np.ones((3, 2), np.int32, 'F')",
         "np.full((2, 3), 4.0, order='F')", "np.array([[1, 2, 3], [4, 5, 6]], order='F')",
         "np.asarray([[1.5, 2], [3, 4]], order='F')", "np.eye(3, 2, order='F')",
         "np.asfortranarray([[1, 2, 3], [4, 5, 6]])", "np.require([[1.0, 2], [3, 4]], requirements='F')",
         "np.zeros_like(np.ones((2, 3), order='F'))", "np.full_like(np.array([[1, 2]], order='F'), 3)",
         "np.array([[1, 2], [3, 4]], order='F').copy('A')", "np.array([[1, 2, 3]], order='F').copy('C')",
         "np.arange(6).reshape(2, 3, order='F')", "np.reshape([[1, 2], [3, 4]], (4, 1), order='F')",
         "np.array([[[1, 2], [3, 4]]], order='F')[0]", "np.zeros((2, 2, 2), order='F')[:, :, ::2].squeeze()",
         "np.ones((2, 3), order='F').T", "np.ones((2, 3), order='F')[::-1]", "np.zeros((0, 3), order='F')",
         "np.ones((2, 3), bool, order='F')", "np.ones((2, 3), complex, order='F')", "np.array([3.0], order='F')",
         "np.concatenate([np.ones((2, 1), order='F'), np.zeros((2, 2), order='F')], axis=1)"]
USES = {"returned": "return a", "behind a break": "STOP(a)\n    return a",
        "in a list": "return [a, a], a.flags.f_contiguous",
        "copied": "return a.copy('K'), a.copy(), a + 1", "ravelled": "return a.ravel('K'), a.ravel()",
        "a part": "return a[..., :1], a.T", "stored in": "a[...] = 2\n    return a",
        "stored in behind a break": "STOP(1)\n    a[...] = 2\n    return a",
        "in a loop": "for k in range(3):\n        a[...] = k\n    return a"}


STOP = gc.is_tracked  # nothing that capture knows


def seen(x):
    if isinstance(x, np.ndarray):
        return x.dtype.str, x.shape, x.strides, str(x.flags), x.tolist()
    return [seen(v) for v in x] if isinstance(x, (list, tuple)) else x


@pytest.mark.parametrize("make", MAKES)
def test_orders_of_axes(make):
    for use in USES.values():
        space = {"np": np, "STOP": STOP}
        exec(compile(f"def f():\n    a = {make}\n    {use}\n", "<order>", "exec"), space)
        f = space["f"]
        jitted = pijit.jit(f)
        for _ in range(3):
            assert seen(jitted()) == seen(f()), use


def of_variable(n):
    a = np.arange(n)
    a.resize((2, 1))
    return a


def of_argument(a):
    a.resize(7)
    return a


def in_a_loop(n):
    a = np.zeros(n)
    for k in range(n + 2):
        if k == n:
            a.resize(2 * n)
        a[k] = k
    return a


def shown_twice(n):
    a = np.zeros(n)
    b = a
    a.resize(2 * n)
    return a, b


def with_a_view(n):
    a = np.zeros(n)
    b = a[1:]
    a.resize(2 * n)
    return a, b


def of_objects():
    o = object()
    a = np.array([o, o, o], dtype="O")
    a.resize((2, 1))
    return a.shape


def by_a_method(n):
    a = np.ones(n)
    grow = a.resize
    grow(n + 1)
    return a


def unchecked(n):
    a = np.ones(n)
    b = a
    a.resize(n - 1, refcheck=False)
    return a, b


def caught(n):
    a = np.ones(n)
    b = [a]
    try:
        a.resize(3 * n)
    except ValueError as e:
        return str(e)[:40], e.__traceback__.tb_lineno, b


class Buffer:
    def __init__(self):
        self.held, self.n = np.zeros(2), 0

    def add(self, x):
        if self.n == len(self.held):
            self.held.resize(2 * len(self.held))
        self.held[self.n] = x
        self.n += 1


def grown(n):
    b = Buffer()
    for k in range(n):
        b.add(k)
    return b.held


def resized(n):
    """Not the method."""
    a = np.arange(n)
    return np.resize(a, 2 * n), a


def outcome(f, args):
    try:
        return seen(f(*args))
    except ValueError as e:
        return str(e), e.__traceback__.tb_next.tb_lineno


@pytest.mark.versions
@pytest.mark.parametrize("f, args", [(of_variable, (6,)), (of_argument, None), (in_a_loop, (4,)), (shown_twice, (4,)),
                                     (with_a_view, (4,)), (of_objects, ()), (by_a_method, (3,)), (unchecked, (5,)),
                                     (caught, (3,)), (grown, (9,)), (resized, (3,))],
                         ids=lambda x: getattr(x, "__name__", ""))
def test_resize_counts_as_plainly(f, args):
    jitted = pijit.jit(f)
    for _ in range(3):
        got, wanted = (outcome(g, (np.zeros(3),) if args is None else args) for g in (jitted, f))
        assert got == wanted


def through_views(n):
    a, _ = np.broadcast_arrays(np.arange(3.0), np.ones((n, 1)))
    a[0, 0] = 5.0
    return a.sum()


def item(a, b):
    a[0] = 7.0
    return a * 2


def items(a, b):
    for i in range(2):
        a[i] = i * 2.0
    return a.sum()


def in_place(a, b):
    a += 1.0
    return a.sum()


def as_out(a, b):
    np.add(b, 1.0, out=a)
    return a


def parts(a, b):
    for k in range(2):
        a[:] = b * k
    return a.copy()


def in_a_view(a, b):
    a[1:][0] = 3.0
    return a + b


def told(f, *args):
    with warnings.catch_warnings(record=True) as all_told:
        warnings.simplefilter("always")
        result = f(*args)
    return seen(result), [(str(w.message), w.lineno) for w in all_told]


def warns(quiet=False):
    a = np.arange(6.0)
    if not quiet:
        a.flags._warn_on_write = True
    return a, np.ones(6)


@pytest.mark.parametrize("f", [item, items, in_place, as_out, parts, in_a_view], ids=lambda f: f.__name__)
@pytest.mark.parametrize("first", [0, 3])
def test_arrays_that_warn_where_they_are_written(f, first):
    jitted = pijit.jit(f)
    for _ in range(first):
        jitted(*warns(quiet=True))
    for _ in range(3):
        wanted = told(f, *warns())
        assert told(jitted, *warns()) == wanted and len(wanted[1]) == 1
    jitted = pijit.jit(through_views)
    for _ in range(3):
        assert told(jitted, 2) == told(through_views, 2)


TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "complex128",
         "bool")
OF_BOOLS = [f"a.astype(np.{t})" for t in TYPES] + [
    "a & b", "a | b", "a ^ b", "~a", "np.logical_and(a, b)", "np.logical_not(a)", "np.logical_xor(a, b)", "a == b",
    "a != b",
    "a < b", "np.maximum(a, b)", "a + b", "a * b", "a + x", "a * x", "a.sum()", "a.mean()", "a.any(), a.all()",
    "np.cumsum(a)", "np.where(a, x, -x)", "x[a]", "a[1] == True, bool(a[2])", "a + u", "a == 1", "np.count_nonzero(a)"]


# Of generated code: what tests run in its place takes bools as 0 and 1.
@pytest.mark.parametrize("expression", OF_BOOLS)
def test_bools_of_any_bytes(expression):
    for text in (f"def f(a, b, x, u):\n    return {expression}\n",
                 f"def f(a, b, x, u):\n    for _ in range(2):\n        y = {expression}\n    return y\n"):
        space = {"np": np}
        exec(compile(text, "<bools>", "exec"), space)
        jitted = pijit.jit(space["f"])
        for n in (1, 9):
            a = np.tile(np.array([0, 3, -7, 1, 2, 0, -128, 64], np.int8), n).view(bool)
            x = np.arange(8.0 * n) + 1
            args = a, a[::-1].copy(), x, x.astype(np.uint64)
            for _ in range(2):
                got, wanted = jitted(*args), space["f"](*args)
                for g, w in pairs(*(r if isinstance(r, tuple) else (r,) for r in (got, wanted))):
                    assert type(g) is type(w) and np.asarray(g).dtype == np.asarray(w).dtype
                    assert np.array_equal(np.asarray(g), np.asarray(w)), (g, w)


@pytest.mark.versions
def test_identity_of_truths():
    def f(a, b):
        return (np.isclose(a, b) is np.False_, np.isclose(a, b) is np.True_, (np.float64(a) > b) is np.False_,
                (np.array([1, 2])[0] == 1) is np.True_, np.bool_(a == b) is not np.True_)
    jitted = pijit.jit(f)
    for args in ((np.inf, -np.inf), (1.0, 1.0), (2.0, 1.0)):
        for _ in range(3):
            assert jitted(*args) == f(*args)
