"""Tensors that share their elements: views, as in MindSpore 2.10's eager mode, and the same under jit."""

import gc
import random

import numpy as np
import pytest

import pijit as ms
from pijit import Parameter, Tensor, mint, nn, ops
from tests.python.differential import check
from tests.python.shared_elements import START, Model, function, model_ops, names, program


def fresh():
    return Tensor(np.arange(6, dtype=np.float32).reshape(START))


VIEWS = {
    "view": lambda x: x.view(3, 2), "view(-1)": lambda x: x.view(-1), "reshape": lambda x: x.reshape(3, 2),
    "ops.reshape": lambda x: ops.reshape(x, (3, 2)), "Reshape": lambda x: ops.Reshape()(x, (3, 2)),
    "mint.reshape": lambda x: mint.reshape(x, (3, 2)), "squeeze": lambda x: x.squeeze(),
    "ops.squeeze": lambda x: ops.squeeze(x), "mint.squeeze": lambda x: mint.squeeze(x, 0),
    "Squeeze": lambda x: ops.Squeeze()(x), "unsqueeze": lambda x: x.unsqueeze(0),
    "mint.unsqueeze": lambda x: mint.unsqueeze(x, 0), "expand_dims": lambda x: ops.expand_dims(x, 0),
    "ExpandDims": lambda x: ops.ExpandDims()(x, 0), "transpose": lambda x: x.transpose(),
    "ops.transpose": lambda x: ops.transpose(x, (1, 0)), "Transpose": lambda x: ops.Transpose()(x, (1, 0)),
    "mint.transpose": lambda x: mint.transpose(x, 0, 1), "swapaxes": lambda x: x.swapaxes(0, 1),
    "permute": lambda x: x.permute(1, 0), "T": lambda x: x.T, "movedim": lambda x: ops.movedim(x, 0, 1),
    "t": lambda x: ops.t(x), "expand": lambda x: x.expand(4, 2, 3), "broadcast_to": lambda x: x.broadcast_to((4, 2, 3)),
    "expand_as": lambda x: x.expand_as(ops.ones((4, 2, 3))), "BroadcastTo": lambda x: ops.BroadcastTo((4, 2, 3))(x),
    "view_as": lambda x: x.view_as(ops.ones((3, 2))), "ravel": lambda x: x.ravel(), "flatten": lambda x: x.flatten(),
    "mint.flatten": lambda x: mint.flatten(x), "split": lambda x: x.split(1)[0],
    "Split": lambda x: ops.Split(0, 2)(x)[0],
    "tensor_split": lambda x: ops.tensor_split(x, 2)[0], "chunk": lambda x: ops.chunk(x, 2)[0],
    "unbind": lambda x: mint.unbind(x, 0)[0], "unstack": lambda x: ops.unstack(x, 0)[0],
    "select": lambda x: mint.select(x, 0, 0), "narrow": lambda x: ops.narrow(x, 0, 0, 1),
    "diagonal": lambda x: x.diagonal(), "slice": lambda x: ops.slice(x, (0, 0), (1, 3)),
    "strided_slice": lambda x: ops.strided_slice(x, (0, 0), (1, 3), (1, 1)),
    "stop_gradient": lambda x: ops.stop_gradient(x),
    "astype": lambda x: x.astype(ms.float32), "float": lambda x: x.float(), "to": lambda x: x.to(ms.float32),
    "to(Tensor)": lambda x: x.to(x), "type": lambda x: x.type(ms.float32),
    "mint.nn.Flatten": lambda x: mint.nn.Flatten()(x),
    "meshgrid": lambda x: ops.meshgrid(x[0], x[1])[0], "mint.meshgrid": lambda x: mint.meshgrid(x[0], x[1])[1],
    "Tensor": lambda x: Tensor(x), "x[0]": lambda x: x[0], "x[:, 1:]": lambda x: x[:, 1:], "x[None]": lambda x: x[None],
    "T.T": lambda x: x.T.T, "reshape of rows": lambda x: x[1:].reshape(3, 1), "next": lambda x: next(iter(x)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_stores_are_seen_both_ways(name):
    take = VIEWS[name]

    def through_the_view(x):
        y = take(x)
        y[0] = 9.0
        return x, y

    def through_the_whole(x):
        y = take(x)
        x[:] = 9.0
        return x, y

    def in_place(x):
        y = take(x)
        y.copy_(ops.ones_like(y) * 9)
        return x, y
    for f in (through_the_view, through_the_whole, in_place):
        for fn in (f, ms.jit(f)):
            x, y = fn(fresh())
            assert (x.asnumpy() == 9).any() and (y.asnumpy() == 9).any(), f.__name__
            x[:] = 7.0
            assert (y.asnumpy() == 7).all()
    check(lambda: through_the_whole, fresh(), graphs=1, breaks=0)

    def value_of_its_own(x):
        y = take(x)
        x[...] = 9.0
        return x, y
    for fn in (value_of_its_own, ms.jit(value_of_its_own)):
        assert not (fn(fresh())[1].asnumpy() == 9).any()


@pytest.mark.parametrize("name", VIEWS)
def test_views_are_values_where_gradients_are_recorded(name):
    take = VIEWS[name]
    if name in ("x[0]", "x[:, 1:]", "next"):  # parts, which reach their wholes
        return

    def loss(x):
        v = x * 2
        y = take(v)
        y[0] = 3.0
        return (v * v).sum()

    for fn in (ms.grad(loss), ms.jit(ms.grad(loss))):
        assert np.array_equal(fn(fresh()).asnumpy(), fresh().asnumpy() * 8)


@pytest.mark.parametrize("block", range(6))
def test_programs_as_in_the_reference(block):
    for seed in range(block * 50, block * 50 + 50):
        kinds = None if seed % 2 else ["view", "index", "swap", "store", "store", "mask", "expand", "split", "copy"]
        lines = program(seed, kinds=kinds)
        keep = names(lines)
        want = function(lines, keep, model_ops)(Model(np.arange(6, dtype=np.float32).reshape(START)))
        for fn in (function(lines, keep, ops), ms.jit(function(lines, keep, ops))):
            for _ in range(2):
                got = fn(fresh())
                assert all(np.array_equal(g.asnumpy(), w.array) for g, w in zip(got, want)), "\n".join(lines)


def outside(kind):
    """A Tensor, one that may share its elements, and a third that does."""
    a = fresh()
    w = {"apart": fresh, "same": lambda: a, "view": lambda: a.reshape(START), "row": lambda: a[1:],
         "swapped": lambda: a.swapaxes(0, 1)}[kind]()
    return a, w, a.reshape(6) if kind in ("view", "swapped") else fresh()


def seen_afterwards(f, kinds):
    """What calls with such arguments give, and which of results and arguments share elements then."""
    seen = []
    for kind in kinds:
        a, w, third = outside(kind)
        try:
            results = f(a, w)
        except Exception as e:
            seen.append(type(e).__name__)
            continue
        tensors = (*results, a, w, third)

        def look(tensors=tensors):
            seen.append([t.asnumpy().tolist() for t in tensors])
        look()
        results[0][0] = -5.0
        look()
        a[..., 0] = -7.0
        look()
    return seen


@pytest.mark.parametrize("block", range(8))
def test_jitted_programs_share_what_eager_ones_do(block):
    for seed in range(1000 + block * 40, 1040 + block * 40):
        r = random.Random(seed)
        lines = program(seed, r.randrange(4, 14))
        kind = r.choice(["apart", "apart", "same", "view", "row", "swapped"])
        if kind != "apart":
            lines = [x if "v" in x.split("=")[0] or r.random() < 0.7 else x.replace("a[", "w[") for x in lines]
        keep = [n for n in names(lines) if r.random() < 0.7] or ["a"]
        calls = [kind, kind, r.choice([kind, "view", "apart"])]
        want = seen_afterwards(function(lines, keep, ops, "a, w"), calls)
        got = seen_afterwards(ms.jit(function(lines, keep, ops, "a, w")), calls)
        assert got == want, (calls, keep, lines)


def test_updates_of_parameters_show_and_set_data_does_not():
    for jitted in (False, True):
        p = Parameter(fresh(), name="p")
        view = p.reshape(6)
        opt = nn.SGD([p], 1.0)
        step = ms.jit(opt) if jitted else opt
        for _ in range(2):
            step((ops.ones(START),))
        assert np.array_equal(view.asnumpy(), np.arange(6) - 2) and np.array_equal(p.asnumpy().ravel(), view.asnumpy())
        p.set_data(fresh())
        assert np.array_equal(view.asnumpy(), np.arange(6) - 2)


def test_changing_sizes():
    @ms.jit
    def f(x):
        y = x.reshape(-1, 2)
        y[:, 0] = 9.0
        return x, y, x.transpose(1, 0)
    for n in (2, 4, 6, 8, 2):
        x = Tensor(np.zeros((n, 3), np.float32))
        same, y, turned = f(x)
        assert same is x and np.array_equal(x.asnumpy().ravel()[::2], np.full(n * 3 // 2, 9))
        x[0] = 7.0
        assert (turned.asnumpy()[:, 0] == 7).all() and (y.asnumpy().ravel()[:3] == 7).all()


def test_branches_on_tensors():
    def f(x, t):
        y = x.reshape(6)
        if t.sum() > 0:
            y[0] = 9.0
        else:
            x[1] = 8.0
        return x + 0, y

    for t in (1.0, -1.0):
        check(lambda: f, fresh(), Tensor([t]))


def test_lifetimes():
    x = fresh()
    y = x.T
    del x
    y[0] = 9.0  # alone
    z = y.T
    z[0] = 5.0
    assert y.asnumpy()[:, 0].tolist() == [5, 5, 5] and y.asnumpy()[0, 1] == 9
    assert y.reshape(6)._contiguous() is not None
    flat = y.reshape(6)  # a copy: y has gaps
    flat[0] = 1.0
    assert y.asnumpy()[0, 0] == 5
    rows = [r for r in fresh()]
    rows[0][0] = 4.0
    del rows
    for _ in range(1000):
        w = fresh()
        keep = [w.reshape(6), w.T, w[0], w.T.T]
        random.Random(1).shuffle(keep)
        while keep:
            keep.pop()[0] = 3.0
    gc.collect()


def test_dtypes_and_sizes_of_elements():
    for t in (ms.bool_, ms.int8, ms.float16, ms.bfloat16, ms.int32, ms.float64, ms.complex64, ms.complex128):
        x = Tensor(np.zeros((3, 4), np.float32)).astype(t)
        y = x.T
        y[1] = 1
        assert x.astype(ms.complex128).asnumpy().sum() == 3 and x[0, 1] == 1
    e = Tensor(np.zeros((0, 3), np.float32))
    v = e.reshape(3, 0)
    v[:] = 1.0
    assert e.shape == (0, 3)


def test_a_wide_view_is_written_everywhere():
    x = Tensor([1.0, 2.0])
    y = x.broadcast_to((3, 2))
    y[1] = 5.0
    assert (y.asnumpy() == 5).all() and (x.asnumpy() == 5).all()
    y[0:2, 0] = Tensor([6.0, 7.0])
    assert x.asnumpy().tolist() == [7, 5] and (y.asnumpy()[:, 0] == 7).all()  # the last one stays


def test_empty_views():
    check(lambda: lambda x: x[0:0].reshape(3, 0), fresh(), graphs=1, breaks=0)
    check(lambda: lambda x: x.T[:, 2:2].reshape(0), fresh(), graphs=1, breaks=0)


def test_a_capture_that_ends_forgets_its_views():
    def f(a):
        i = Tensor(0)
        while i < 3:
            v = a.T
            a[...] = 109.0
            i = i + 1
        return a, v
    check(lambda: f, fresh())


def branch_chooses_a_view(x, c):
    z = x * 2
    y = z + 0
    if c.sum() > 0:
        y = z.reshape(2, 3)
    z[0] = 9.0
    return y + 0


def branch_stops_sharing(x, c):
    a = x * 1
    v = a.T
    if c.sum() > 0:
        a[...] = 9.0
    a[0] = 5.0
    return a, v


def loop_binds_a_view(x, c):
    y = x * c.sum()
    z = y
    i = Tensor(0)
    while i < 3:
        y = y.reshape(6)
        y[0] = y[0] + 1.0
        i = i + 1
    return z


@pytest.mark.parametrize("f", [branch_chooses_a_view, branch_stops_sharing, loop_binds_a_view])
@pytest.mark.parametrize("c", [1.0, -1.0])
def test_what_is_shared_depends_on_values(f, c):
    check(lambda: f, fresh(), Tensor([c]))


def test_stores_while_gradients_are_recorded():
    for jitted in (lambda f: f, ms.jit):
        x = fresh()
        y = x.reshape(6)

        def loss(w):
            x[0] = w * 2
            return y.sum()
        value, gradient = ms.value_and_grad(jitted(loss))(Tensor([1.0, 2.0, 3.0]))
        assert value == 15 and (gradient.asnumpy() == 0).all()

    def f(g):
        h = g * 1
        v = h.T
        h[0] = 700.0
        return (v * v).sum()
    fn = ms.jit(f)
    for _ in range(2):  # the same function, recorded and not
        assert np.array_equal(ms.grad(fn)(fresh()).asnumpy(), 2 * fresh().asnumpy())
        assert fn(fresh()) == f(fresh()) > 1e6


def test_a_wide_view_alone():
    y = Tensor([0.0, 1.0, 2.0]).broadcast_to((2, 3))
    y[0] = 9.0
    z = y.T
    z[0] = 4.0
    assert y.asnumpy().tolist() == [[4, 9, 9], [4, 9, 9]]


def test_views_of_what_nobody_holds():
    big = Tensor(np.arange(12, dtype=np.float32).reshape(2, 6))
    w = big[:, ::2]
    del big
    v = w[:, ::2]
    w[[0]] = -1.0
    assert v.asnumpy().tolist() == [[-1, -1], [6, 10]]


def test_stores_that_fail_change_nothing():
    x = fresh()
    y = x.reshape(6)
    with pytest.raises(ValueError):
        x.set_data(ops.ones((5,)))
    x[0] = 9.0
    assert y.asnumpy()[0] == 9
    x.__init__(shape=(5,), dtype=ms.float32)
    x[0] = 3.0
    assert y.asnumpy()[0] == 9 and x.shape == (5,)


def test_contiguous_of_views_of_arguments():
    def f(x):
        y = x.T.contiguous()
        y[0] = 33.0
        return x, y
    fn = ms.jit(f)
    for g in (f, fn, fn):
        assert not (g(fresh())[0].asnumpy() == 33).any()
        turned = fresh().T
        assert (g(turned)[0].asnumpy() == 33).any()


def test_slices_of_changing_sizes():
    for f in (lambda x: x[:-1].reshape(-1), lambda x: x[1:].expand_dims(0).reshape(-1),
              lambda x: ops.narrow(x, 0, 0, 2).reshape(-1)):
        @ms.jit
        def store(x, f=f):
            f(x)[0] = 9.0
            return x
        for n in (2, 3, 4, 5):
            assert (store(Tensor(np.zeros((n, 3), np.float32))).asnumpy() == 9).any()


def bits(*values):
    return np.array(values, np.float32).view(np.int32).tolist()


# What a store into one shows in the others: as NumPy's views of the same bytes.
BYTES = {
    "of one size": (ms.int32, lambda x, v: v.__setitem__(0, 5)),
    "the whole": (ms.int32, lambda x, v: x.__setitem__(1, 2.0)),
    "smaller": (ms.uint8, lambda x, v: v.__setitem__((0, 3), 64)),
    "of smaller": (ms.uint8, lambda x, v: x.__setitem__(0, 3.0)),
    "larger": (ms.int64, lambda x, v: v.__setitem__((1, 1), 7)),
    "of larger": (ms.int64, lambda x, v: x.__setitem__((1, 2), 3.0)),
    "halves": (ms.float16, lambda x, v: v.__setitem__((0, slice(1, 8, 2)), 2.0)),
    "copy_": (ms.int32, lambda x, v: v.copy_(ops.ones_like(v))), "add_": (ms.int32, lambda x, v: v.add_(1)),
    "fill_": (ms.int64, lambda x, v: v.fill_(3)), "complex": (ms.complex64, lambda x, v: x.__setitem__(0, 1.5)),
}


@pytest.mark.parametrize("name", BYTES)
def test_views_as_another_dtype(name):
    dtype, store = BYTES[name]

    def f(x):
        v = x.view(dtype)
        row = x[0]
        store(x, v)
        return x, v, row
    for fn in (f, ms.jit(f)):
        x, v, row = (t.asnumpy() for t in fn(Tensor(np.arange(8, dtype=np.float32).reshape(2, 4))))
        assert x.view(v.dtype).tobytes() == v.tobytes() and x[0].tobytes() == row.tobytes()
        assert x.tobytes() != np.arange(8, dtype=np.float32).tobytes()
    check(lambda: f, Tensor(np.arange(8, dtype=np.float32).reshape(2, 4)))


def test_views_of_views_as_another_dtype():
    x = Tensor(np.arange(16, dtype=np.float32).reshape(4, 4))
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    pairs = [(x, a), (x.view(ms.int32)[1:], a.view(np.int32)[1:]), (x[:, :2].view(ms.int64), a[:, :2].view(np.int64)),
             (x[1].view(ms.uint8)[4:], a[1].view(np.uint8)[4:]), (x.T, a.T), (x.T.view(ms.int32), a.T.view(np.int32)),
             (x[2:].view(ms.float16).view(ms.int64)[:, 0], a[2:].view(np.float16).view(np.int64)[:, 0]),
             (x[3].view(ms.int32).view(2, 2), a[3].view(np.int32).reshape(2, 2))]
    numbers = random.Random(1)
    for _ in range(200):
        t, n = numbers.choice(pairs)
        at, value = tuple(numbers.randrange(k) for k in n.shape), numbers.randrange(1, 100)
        t[at] = value
        n[at] = value
        for u, m in pairs:
            assert u.asnumpy().tobytes() == np.ascontiguousarray(m).tobytes()
    for bad in (lambda: x.T.view(ms.int16), lambda: x[:, 1:].view(ms.int64), lambda: x[:, ::2].view(ms.uint8)):
        with pytest.raises(ValueError, match="view"):
            bad()
    y = x[0, 1:3].view(ms.int64)  # begins in the middle of an int64: a copy
    y[0] = 0
    assert bits(*x[0].tolist()) == x[0].view(ms.int32).tolist() and y.tolist() == [0]


def test_parameters_seen_as_another_dtype():
    p = Parameter(Tensor([1.0, 2.0]), name="p")
    v = p.view(ms.int32)
    p.set_data(Tensor([3.0, 4.0]))
    assert v.tolist() == bits(1.0, 2.0)
    v = p.view(ms.int32)
    ops.assign(p, Tensor([5.0, 6.0]))
    assert v.tolist() == bits(5.0, 6.0)
    del p
    gc.collect()
    v[0] = 1
    assert v.tolist() == [1, bits(6.0)[0]]
    many = Tensor(np.ones((1,) * 7 + (2,), np.float32))  # no room for the parts of an element: copies
    many.view(ms.uint8)[...] = 0
    assert many.asnumpy().ravel().tolist() == [1, 1]
    assert ms.grad(lambda x: (x.view(ms.int32) * 0 + x).sum())(Tensor([1.0])).tolist() == [1]
