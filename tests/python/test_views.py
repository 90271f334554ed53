"""Item assignment to what a subscript gave goes to the tensor it was read from as well: as measured with MindSpore
2.7.1 in PYNATIVE_MODE on the CPU. Views of other kinds are in test_shared_elements.py."""

import copy
import gc
import weakref

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, nn, ops
from tests.python.differential import check


def fresh():
    return Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))


SUBSCRIPTS = {
    "x[0]": lambda x: x[0], "x[1:]": lambda x: x[1:], "x[..., 1]": lambda x: x[..., 1], "x[::2]": lambda x: x[::2],
    "x[:]": lambda x: x[:], "x[0, 1:]": lambda x: x[0, 1:],
    "x[0, 1]": lambda x: x[0, 1], "x[-1]": lambda x: x[-1], "x[[0, 1]]": lambda x: x[[0, 1]],
    "x[Tensor]": lambda x: x[Tensor([0, 1])],
    "x[Tensor 0-d]": lambda x: x[Tensor(0)], "iter": lambda x: next(iter(x)), "x[0][1:]": lambda x: x[0][1:],
}
MASK = {"x[mask]": lambda x: x[x > 2]}
COPIES = {
    "copy": lambda x: x.copy(), "computed": lambda x: x[0] * 1, "deepcopy": lambda x: copy.deepcopy(x[0]),
    "ops.flatten": lambda x: ops.flatten(x), "nn.Flatten": lambda x: nn.Flatten()(x),
    "contiguous of T": lambda x: x.T.contiguous(), "reshape of T": lambda x: x.T.reshape(2, 3),
    "Parameter": lambda x: ms.Parameter(x), "flip": lambda x: ops.flip(x, (0,)),
}


# MindSpore 2.10's strides and offsets of views of 24 elements.
LAYOUTS = {
    "x": (lambda x: x, [12, 4, 1], 0, True), "T": (lambda x: x.T, [1, 4, 12], 0, False),
    "transpose": (lambda x: x.transpose(1, 0, 2), [4, 12, 1], 0, False),
    "[:, 1:, ::2]": (lambda x: x[:, 1:, ::2], [12, 4, 2], 4, False), "[1]": (lambda x: x[1], [4, 1], 12, True),
    "[:, 1]": (lambda x: x[:, 1], [12, 1], 4, False), "[:, :, 1]": (lambda x: x[:, :, 1], [12, 4], 1, False),
    "unsqueeze": (lambda x: x.unsqueeze(1), [12, 12, 4, 1], 0, True),
    "unsqueeze of a transposed one": (lambda x: x.transpose(0, 2, 1).unsqueeze(1), [12, 4, 1, 4], 0, False),
    "[:, None]": (lambda x: x[:, None], [12, 12, 4, 1], 0, True),
    "broadcast_to": (lambda x: x[:1].broadcast_to((5, 3, 4)), [0, 4, 1], 0, False),
    "expand": (lambda x: x[:, :1].expand(2, 5, 4), [12, 0, 1], 0, False),
    "diagonal": (lambda x: x.diagonal(), [1, 16], 0, False),
    "diagonal of the last axes": (lambda x: x.diagonal(1, 1, 2), [12, 5], 1, False),
    "reshape": (lambda x: x.reshape(6, 4), [4, 1], 0, True), "squeeze": (lambda x: x[:1].squeeze(0), [4, 1], 0, True),
    "chunk": (lambda x: x.chunk(2, 2)[1], [12, 4, 1], 2, False),
    "select": (lambda x: x.select(1, 2), [12, 1], 8, False),
    "narrow": (lambda x: x.narrow(2, 1, 2), [12, 4, 1], 1, False), "step": (lambda x: x[0, 0, ::3], [3], 0, False),
    "permute": (lambda x: x.permute(2, 0, 1), [1, 12, 4], 0, False), "flatten": (lambda x: x.flatten(), [1], 0, True),
    "flat of a transposed one": (lambda x: x.T.reshape(-1), [1], 0, True),
    "flip": (lambda x: x.flip((0,)), [12, 4, 1], 0, True),
    "corner": (lambda x: x[1:, 1:, 1:], [12, 4, 1], 17, False), "unbind": (lambda x: x.unbind(2)[1], [12, 4], 1, False),
    "ones": (lambda x: x[:, :1, :1], [12, 4, 1], 0, False), "every other": (lambda x: x[::2], [24, 4, 1], 0, True),
    "view": (lambda x: x.view(4, 6), [6, 1], 0, True), "contiguous": (lambda x: x.T.contiguous(), [6, 2, 1], 0, True),
    "computed": (lambda x: x.T + 1, [6, 2, 1], 0, True), "cut and turned": (lambda x: x[:, 1:].T, [1, 4, 12], 4, False),
    "other dtype": (lambda x: x[1:].view(ms.float16), [24, 8, 1], 24, True),
    "diagonal of a cut": (lambda x: x[:, 1:, ::2].diagonal(1, 0, 2), [4, 14], 6, False),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_strides(name):
    take, strides, offset, packed = LAYOUTS[name]

    def told(x):
        y = take(x)
        return y, y.stride(), y.storage_offset(), y.is_contiguous(), [y.stride(k) for k in range(y.ndim)]
    x = Tensor(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    y, *rest = told(x)
    assert rest == [strides, offset, packed, strides]
    assert y.strides == y.asnumpy().strides  # of the value
    check(lambda: told, x)
    made = ms.jit(lambda x: take(x))(x)  # linked where it leaves
    assert (made.stride(), made.storage_offset(), made.is_contiguous()) == (strides, offset, packed)
    assert ms.jit(lambda y: (y.stride(), y.is_contiguous(), y * 1))(y)[:2] == (strides, packed)


@pytest.mark.parametrize("take", [lambda x: x[::2, ::2], lambda x: x[1:4, 2:5], lambda x: x.T, lambda x: x.T[1:4, 2:6],
                                  lambda x: x[:, ::3], lambda x: x[1:].transpose(1, 0),
                                  lambda x: x.reshape(3, 12)[:, ::2], lambda x: x[:, None].squeeze(1)])
@pytest.mark.parametrize("offset", [0, 1, -1])
def test_a_diagonal_is_a_view(take, offset):
    def program(x):
        d = ops.diagonal(take(x), offset)
        before = d * 1
        d[0] = 100.0
        middle = x * 1
        x[:] = 0.5
        return before, middle, d
    x = np.arange(36, dtype=np.float32).reshape(6, 6)
    at = take(Tensor(x))
    at = np.lib.stride_tricks.as_strided(x.reshape(-1)[at.storage_offset():], at.shape, [4 * n for n in at.stride()])
    d = np.diagonal(at, offset)
    d.flags.writeable = True
    expected = [d.copy()]
    d[0] = 100.0
    expected += [x.copy(), np.full_like(d, 0.5)]
    start = Tensor(np.arange(36, dtype=np.float32).reshape(6, 6))
    for got, want in zip(program(start.copy()), expected):
        assert np.array_equal(got.asnumpy(), want)
    check(lambda: program, start, graphs=1, breaks=0)
    by = ms.grad(lambda x: (ops.diagonal(take(x), offset) ** 2).sum())(start)
    jitted = ms.jit(lambda x: ms.grad(lambda x: (ops.diagonal(take(x), offset) ** 2).sum())(x))(start)
    assert np.array_equal(by.asnumpy(), jitted.asnumpy()) and (by.asnumpy() != 0).sum() >= d.size - 1


@pytest.mark.parametrize("name", list(SUBSCRIPTS) + list(MASK))
def test_writes_reach_the_whole(name):
    take = (SUBSCRIPTS | MASK)[name]
    x = fresh()
    y = take(x)
    places = take(Tensor(np.arange(6).reshape(2, 3))).asnumpy().ravel()
    y[...] = 9.0
    want = np.arange(6, dtype=np.float32)
    want[places] = 9
    assert np.array_equal(x.asnumpy().ravel(), want) and (y.asnumpy() == 9).all()
    x = fresh()
    y = take(x)
    x[...] = 9.0
    assert not (y.asnumpy() == 9).any()  # the other way: the part keeps its values


@pytest.mark.parametrize("name", COPIES)
def test_others_are_copies(name):
    x = fresh()
    y = COPIES[name](x)
    y[...] = 9.0
    assert np.array_equal(x.asnumpy(), fresh().asnumpy())


def test_other_ways_to_change_a_part():
    x = fresh()
    y = x[0]
    y += 9
    y = x[0]
    ops.assign(y, Tensor([9.0, 9.0, 9.0]))
    assert np.array_equal(x.asnumpy()[1], fresh().asnumpy()[1]) and (y.asnumpy() == 9).all()
    assert (x.asnumpy()[0] == 9).all()  # it is a view, too


SAME = {"x[...]": lambda x: x[...], "astype(copy=False)": lambda x: x.astype(ms.float32, copy=False),
        "contiguous": lambda x: x.contiguous(), "value": lambda x: x.value(), "+x": lambda x: +x,
        "cast": lambda x: ops.cast(x, ms.float32),
        "positive": lambda x: x.positive()}


@pytest.mark.parametrize("name", SAME)
def test_the_same_object(name):
    x = fresh()
    assert SAME[name](x) is x

    def f(x):
        y = SAME[name](x)
        y[0] = 9.0
        return x * 1, y
    check(lambda: f, fresh(), graphs=1, breaks=0)


def test_chains():
    x = fresh()
    y = x[1]
    z = y[1:]
    z[0] = 7.0
    assert x.asnumpy().tolist() == [[0, 1, 2], [3, 7, 5]] and y.asnumpy().tolist() == [3, 7, 5]
    p = ms.Parameter(fresh(), name="p")
    p[0][1] = 5.0
    row = p[1]
    row[:2] = 8.0
    assert p.asnumpy().tolist() == [[0, 5, 2], [8, 8, 5]]


@pytest.mark.parametrize("name", SUBSCRIPTS)
def test_captured(name):
    take = SUBSCRIPTS[name]

    def f(x):
        y = take(x)
        y[...] = 9.0
        return x * 2, y
    check(lambda: f, fresh(), graphs=1, breaks=0)

    def inside(x):
        x = x + 1
        y = take(x)
        y[...] = 9.0
        return x
    check(lambda: inside, fresh(), graphs=1, breaks=0)

    def gradient(x):
        def loss(v):
            v = v * 2
            y = take(v)
            y[...] = 3.0
            return (v * v).sum()
        return ms.grad(loss)(x)
    check(lambda: gradient, fresh(), graphs=1, breaks=0)


@pytest.mark.parametrize("name", SUBSCRIPTS)
def test_parts_that_leave_captured_code(name):
    take = SUBSCRIPTS[name]

    def make():
        def f(x):
            return take(x)
        return f
    for fn in (make(), ms.jit(make())):
        for _ in range(3):
            x = fresh()
            y = fn(x)
            y[...] = 9.0
            assert (x.asnumpy() == 9).any()

    def both(x):
        z = x * 2
        return take(z), z
    for fn in (both, ms.jit(both)):
        for _ in range(3):
            y, z = fn(fresh())
            y[...] = 9.0
            assert (z.asnumpy() == 9).any()


def test_parts_that_come_into_captured_code():
    f = ms.jit(lambda y: y.__setitem__(0, 9.0))

    def write(y):
        y[0] = 9.0
        return y * 2
    for fn in (write, ms.jit(write)):
        for part_first in (True, False):
            x = fresh()
            y = x[0] if part_first else x[0] * 1
            assert fn(y).asnumpy()[0] == 18 and x.asnumpy()[0, 0] == (9 if part_first else 0)
            y = x[1] * 1 if part_first else x[1]
            assert fn(y).asnumpy()[0] == 18 and x.asnumpy()[1, 0] == (3 if part_first else 9)
    assert callable(f)


def test_branches_and_loops():
    def branch(x, t):
        y = x[0] if t.sum() > 0 else x[1]
        y[0] = 9.0
        return x + 0

    def loop(x):
        for k in range(2):
            row = x[k]
            row[k] = 9.0
        return x + 0

    def turns(x):
        k = Tensor(0)
        while k < 2:
            row = x[k]
            row[0] = 9.0
            k = k + 1
        return x + 0
    for t in (1.0, -1.0):
        check(lambda: branch, fresh(), Tensor([t]))
    check(lambda: loop, fresh(), graphs=1, breaks=0)
    check(lambda: turns, fresh())


def test_lifetimes():
    x = fresh()
    for _ in range(10000):
        x = x[:]
    y = fresh()
    z = y
    for _ in range(100000):
        z = z[:]
    del z
    first = weakref.ref(data := fresh())
    for _ in range(3):
        data = data[Tensor([1, 0])]
    gc.collect()
    assert first() is None  # no one could see it change


def test_long_chains():
    y = fresh()
    chain = [y]
    for _ in range(300):
        chain.append(chain[-1][:])
    chain[-1][0] = 7
    assert all(t[0].asnumpy().tolist() == y[0].asnumpy().tolist() for t in chain[::50])
    assert np.all(y[0].asnumpy() == 7)
    z = chain[-1]
    first = weakref.ref(y)
    del y, chain
    for _ in range(600):  # looked through ever more rarely, but looked through
        z = z[:]
    gc.collect()
    assert first() is None
    z[0] = 8
    assert np.all(z[0].asnumpy() == 8)


@pytest.mark.parametrize(
    "f", [lambda x: ops.Identity()(x), lambda x: ops.dropout(x, p=0.0), lambda x: ops.dropout(x, 0.5), lambda x: x * 1]
)
def test_another_tensor_is_given(f):
    """A store in the result leaves the operand alone, and the other way round; gradients go through."""

    def make():
        def g(x):
            y = f(x)
            y[0] = 5.0
            x[1] = 7.0
            return x, y

        return g

    x, y = make()(ms.Tensor([1.0, 1.0, 1.0]))
    assert x.asnumpy()[0] == 1 and y.asnumpy()[0] == 5 and y.asnumpy()[1] != 7 and x is not y
    check(make, ms.Tensor([1.0, 2.0, 3.0]), graphs=1, breaks=0)
    check(lambda: ms.grad(lambda x: (f(x) * x).sum()), ms.Tensor([1.0, 2.0, 3.0]), graphs=1, breaks=0)


@pytest.mark.parametrize("layer", [lambda: nn.Pad(((0, 0), (1, 1))), lambda: nn.Dropout(p=0.5), lambda: nn.ReLU()])
def test_layers_made_in_construct(layer):
    def make():
        class Net(nn.Cell):
            def construct(self, x):
                return layer()(x) * 2.0

        net = Net()
        return lambda x: net(x)

    check(make, ms.Tensor(np.ones((2, 3), np.float32)), graphs=1, breaks=0)
    made = nn.Dropout(p=0.5)
    assert not made.replaced()
    made.dropout = ops.Dropout(0.75)
    assert made.replaced()


INDEXES = {
    "step": lambda x: x[0 : -1 : Tensor(2)],
    "start and stop": lambda x: x[Tensor(1) : Tensor(3)],
    "of a kind": lambda x: x[Tensor(1, ms.int8) : Tensor(-1, ms.int32)],
    "unsigned": lambda x: x[: Tensor(200, ms.uint8)],
    "two axes": lambda x: x.reshape(2, 3)[Tensor(0) : Tensor(1), Tensor(1) :],
    "int": lambda x: x[int(Tensor(2)) :],
    "item": lambda x: x[: Tensor(4).item()] * Tensor(3, ms.int64).item(),
    "range": lambda x: sum(x[k] for k in range(int(Tensor(3)))),
    "a shape": lambda x: x.reshape(int(Tensor(-1)), Tensor(3).item()),
}


@pytest.mark.parametrize("case", INDEXES)
def test_numbers_of_new_tensors_are_known(case):
    check(lambda: INDEXES[case], Tensor(np.arange(6, dtype=np.float32)), graphs=1, breaks=0)


def test_numbers_of_changed_tensors():
    def f(x, n):
        t = Tensor(2)
        t += n
        u = Tensor(3)
        u.set_data(Tensor(1)) if hasattr(u, "set_data") else None
        return x[: int(t)], x[::u], x[1.5:] if n > 5 else x[: Tensor(2.0)]

    check(lambda: f, Tensor(np.arange(6, dtype=np.float32)), 1)
    check(lambda: lambda x: x[: Tensor(2.0)], Tensor([1.0, 2.0]))
    check(lambda: lambda x: x[: Tensor([1, 2])], Tensor([1.0, 2.0]))
    check(lambda: lambda x: x[:: Tensor(0)], Tensor([1.0, 2.0]))
    check(lambda: lambda x: x[: Tensor(True)], Tensor([1.0, 2.0]))
