"""vmap against the same function called element by element; Jacobians against gradients; in both modes."""

import itertools

import numpy as np
import pytest

import pijit as ms
from pijit import Parameter, Tensor, nn, ops
from pijit._C import ops as raw
from tests.python.differential import check
from tests.python.test_ops import GRADS

R = np.random.RandomState(5)
SIZE = 3


def subsets(n):
    return [s for k in range(1, n + 1) for s in itertools.combinations(range(n), k)]


def mapped(shapes, which, low=-1.5, high=1.5):
    return [R.uniform(low, high, (SIZE, *s) if k in which else s) for k, s in enumerate(shapes)]


def one_by_one(f, xs, which):
    rows = [f(*[Tensor(x[i] if k in which else x) for k, x in enumerate(xs)]) for i in range(SIZE)]
    if isinstance(rows[0], tuple):
        return [np.stack([r[k].asnumpy() for r in rows]) for k in range(len(rows[0]))]
    return [np.stack([r.asnumpy() for r in rows])]


def compare(f, xs, which, rtol=1e-12):
    g = ms.vmap(f, tuple([0 if k in which else None for k in range(len(xs))]))
    got = g(*map(Tensor, xs))
    want = one_by_one(f, xs, which)
    for a, b in zip(got if isinstance(got, tuple) else (got,), want):
        assert a.shape == b.shape
        np.testing.assert_allclose(a.asnumpy(), b, rtol=rtol, atol=1e-13)
    check(lambda: g, *map(Tensor, xs), graphs=1, breaks=0)


@pytest.mark.parametrize("name,which", [(n, s) for n, (_, *shapes) in GRADS.items() for s in subsets(len(shapes))])
def test_every_case(name, which):
    fn, *shapes = GRADS[name]
    compare(fn, mapped(shapes, which), which)


@pytest.mark.parametrize("name,which", [(n, s) for n, (_, *shapes) in GRADS.items() for s in subsets(len(shapes))])
def test_gradients_of_every_case(name, which):
    fn, *shapes = GRADS[name]
    positions = tuple(range(len(shapes)))
    compare(ms.grad(lambda *a: (fn(*a) ** 2).sum(), positions), mapped(shapes, which), which, 1e-11)


@pytest.mark.parametrize("name", GRADS)
def test_gradients_through(name):
    """The gradient of a mapped function is the gradient of each element's."""
    fn, *shapes = GRADS[name]
    xs = [Tensor(x) for x in mapped(shapes, range(len(shapes)))]
    positions = tuple(range(len(shapes)))
    got = ms.grad(lambda *a: (ms.vmap(fn)(*a) ** 2).sum(), positions)(*xs)
    want = ms.vmap(ms.grad(lambda *a: (fn(*a) ** 2).sum(), positions))(*xs)
    for a, b in zip(got, want):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", ["max_pool", "conv2d", "layer_norm", "softmax", "gather", "prod", "var", "einsum"])
def test_twice(name):
    fn, *shapes = GRADS[name]
    xs = [R.uniform(-1, 1, (2, SIZE, *s)) for s in shapes]
    got = ms.vmap(ms.vmap(fn))(*map(Tensor, xs)).asnumpy()
    inside = ms.vmap(ms.vmap(fn, 1), 0)(*[Tensor(np.moveaxis(x, 1, 2)) for x in xs]).asnumpy() if all(shapes) else got
    want = np.stack([np.stack([fn(*[Tensor(x[i, j]) for x in xs]).asnumpy() for j in range(SIZE)]) for i in range(2)])
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(inside, want, rtol=1e-12, atol=1e-13)


I = np.array([[0, -1], [2, 1]])  # noqa: E741
OTHERS = {  # data, indices of one element
    "gather rows": (lambda x, i: raw["gather"](x, i, axis=0), (3, 4), I),
    "gather columns": (lambda x, i: raw["gather"](x, i, axis=1), (2, 3, 4), I),
    "gather_d": (lambda x, i: raw["gather_d"](x, i, axis=1), (2, 3), I),
    "gather_nd": (lambda x, i: raw["gather_nd"](x, i), (3, 3, 2), I),
    "gather_nd rows": (lambda x, i: raw["gather_nd"](x, i.reshape(4, 1)), (3, 2), I),
    "index_add": (lambda x, i: raw["index_add"](x, i, ops.ones((2, 2, 2, 2), ms.float64), axis=1), (2, 3, 2), I),
    "index_add rows": (lambda x, i: raw["index_add"](x, i, x[:2, None] * ops.ones((1, 2, 1), ms.float64), axis=0),
                       (3, 2), I),
    "scatter_d": (lambda x, i: raw["scatter_d"](x, i, x[:, :2], axis=1, mode="add"), (2, 3), I),
    "scatter_nd": (lambda x, i: raw["scatter_nd"](x, i, x[:2, 0], mode="update"), (3, 3), I),
    "one_hot": (lambda x, i: x[0] + ops.one_hot(i, 3, Tensor(1.0), Tensor(0.0)), (2, 3), I),
    "argmax": (lambda x, i: x.argmax(1) + i[0, 0], (3, 4), I),
    "argsort": (lambda x, i: ops.argsort(x, 0) + i[0, 0], (3, 4), I), "set": (lambda x, i: changed(x, i), (3, 4), I),
    "compare": (lambda x, i: (x > 0) & (i.sum() > 1), (3, 4), I),
    "scalars": (lambda x, i: (x * i[0, 0]).sum() + i[1, 0].astype(ms.float64).sum(), (), I),
    "any": (lambda x, i: (x[0] > 0).any(), (2, 3), I), "bits": (lambda x, i: (i << 2) ^ i, (2,), I),
    "sort": (lambda x, i: ops.sort(x, 1)[0], (2, 3), I), "topk": (lambda x, i: ops.topk(x, 2)[0], (2, 4), I),
    "flip": (lambda x, i: ops.flip(x, (0, 1)), (2, 4), I),
    "roll": (lambda x, i: ops.roll(x, 1, 0), (3, 4), I), "triu": (lambda x, i: ops.triu(x), (3, 4), I),
    "repeat": (lambda x, i: ops.repeat_interleave(x, 2, 1), (3, 4), I),
    "outer": (lambda x, i: ops.outer(x[0], x[1]), (2, 3), I), "dot": (lambda x, i: ops.dot(x, x.T), (2, 3), I),
    "unbind": (lambda x, i: ops.split(x, 2, 1), (2, 4), I),
    "int8 indices": (lambda x, i: raw["gather_nd"](x, i.astype(ms.int8)), (3, 3), I),
}


def changed(x, i):
    y = x * 1
    y[i[0, 0]] = 5.0
    y[i[:, 0], 1] = x[0, :2]
    return y


@pytest.mark.parametrize("which", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("name", OTHERS)
def test_indices_and_others(name, which):
    f, shape, index = OTHERS[name]
    x = R.uniform(-1.5, 1.5, (SIZE, *shape) if 0 in which else shape)
    i = np.stack([index, index[::-1], index[:, ::-1]])[:SIZE] if 1 in which else index
    compare(f, [x, i], which)


ONE = {op["name"] for op in __import__("pijit._C")._C.op_table() if op["inputs"] == ["x"] and not op["attrs"]}


@pytest.mark.parametrize("name", sorted(ONE - {"unblock_channels", "fold_lanes"}))
def test_ops_of_one_input(name):
    x = R.uniform(0.5, 0.9, (SIZE, 2, 2))
    for dtype in ("float64", "float32", "int32", "bool"):
        try:
            raw[name](Tensor(x[0].astype(dtype)))
        except TypeError:
            continue
        compare(raw[name], [x.astype(dtype)], (0,))


def test_a_bad_index_in_one_element():
    f = ms.vmap(lambda x, i: x[i], (None, 0))
    x, i = Tensor(np.arange(3.0)), Tensor(np.array([0, 1, 7]))
    for g in (f, ms.jit(f)):
        with pytest.raises(IndexError):
            g(x, i).asnumpy()
    both = ms.vmap(lambda x, i: x[i])
    with pytest.raises(IndexError):  # not the next element's data
        both(Tensor(np.ones((2, 3))), Tensor(np.array([3, 0]))).asnumpy()


def test_axes():
    x, y = R.randn(2, 3, 4), R.randn(4, 3)
    add = lambda a, b: (a + b, {"a": a, "sum": [a.sum(), b]})  # noqa: E731
    f = ms.vmap(add, (2, 0), (1, (2, [0, -1])))
    r, d = f(Tensor(x), Tensor(y))
    np.testing.assert_array_equal(r.asnumpy(), np.moveaxis(np.moveaxis(x, 2, 0) + y[:, None], 0, 1))
    np.testing.assert_array_equal(d["a"].asnumpy(), x)
    np.testing.assert_allclose(d["sum"][0].asnumpy(), x.sum((0, 1)))
    np.testing.assert_array_equal(d["sum"][1].asnumpy(), y.T)
    check(lambda: f, Tensor(x), Tensor(y), graphs=1, breaks=0)
    tree = ms.vmap(lambda a, bc, d: a + bc[0] * bc[1]["k"] + d, (0, (None, 1), None))
    got = tree(Tensor(x), (Tensor(y[0, 0]), {"k": Tensor(y[:, :2])}), 2.0)
    np.testing.assert_allclose(got.asnumpy(), x + y[0, 0] * y[:, :2].T[:, None] + 2)
    check(lambda: tree, Tensor(x), (Tensor(y[0, 0]), {"k": Tensor(y[:, :2])}), 2.0, graphs=1, breaks=0)
    a, b, c = ms.vmap(lambda a, b: (b, a, 3), (0, None))(Tensor(x), Tensor(y))  # what is the same for all
    assert a.shape == (2, 4, 3) and b.shape == x.shape and c.asnumpy().tolist() == [3, 3]
    assert ms.vmap(lambda a, b: b, (0, None), None)(Tensor(x), Tensor(y)).shape == (4, 3)
    assert ms.vmap(lambda a, b: a * b)(Tensor(np.ones((0, 3))), Tensor(np.ones((0, 3)))).shape == (0, 3)


BAD = {
    "sizes": (lambda a, b: a, 0, 0, (Tensor(np.ones((2, 3))), Tensor(np.ones(3)))),
    "none": (lambda a: a, None, 0, (Tensor(np.ones(2)),)),
    "too few axes": (lambda a, b: a, (0,), 0, (Tensor(np.ones(2)), Tensor(np.ones(2)))),
    "a string": (lambda a: a, "a", 0, (Tensor(np.ones(2)),)),
    "axis out of range": (lambda a: a, 1, 0, (Tensor(np.ones(2)),)), "a scalar": (lambda a: a, 0, 0, (Tensor(1.0),)),
    "a number": (lambda a, b: a, 0, 0, (Tensor(np.ones(2)), 3)),
    "output axis": (lambda a: a, 0, 3, (Tensor(np.ones(2)),)),
    "output differs": (lambda a: a, 0, None, (Tensor(np.ones(2)),)),
    "output tree": (lambda a: (a, a), 0, (0, 0, 0), (Tensor(np.ones(2)),)),
    "branch": (lambda a: a if a > 0 else -a, 0, 0, (Tensor(np.ones(2)),)),
    "read": (lambda a: a * a.item(), 0, 0, (Tensor(np.ones(2)),)),
    "asnumpy": (lambda a: a.asnumpy(), 0, 0, (Tensor(np.ones(2)),)),
    "print": (lambda a: str(a), 0, 0, (Tensor(np.ones(2)),)),
    "index": (lambda a: [1, 2][a], 0, 0, (Tensor(np.array([0, 1])),)),
    "buffer": (lambda a: memoryview(a), 0, 0, (Tensor(np.ones(2)),)),
    "derived": (lambda a: a if (a > 0).any() else -a, 0, 0, (Tensor(np.ones(2)),)),
    "mask": (lambda a: a[a > 0], 0, 0, (Tensor(np.ones((2, 3))),)),
    "loop": (lambda a: sum(1 for _ in iter(lambda: bool(a < 0), False)), 0, 0, (Tensor(np.ones(2)),)),
}


@pytest.mark.parametrize("name", BAD)
def test_errors(name):
    fn, in_axes, out_axes, args = BAD[name]
    f = ms.vmap(fn, in_axes, out_axes)
    with pytest.raises(ValueError if name in ("branch", "derived", "loop") else RuntimeError, match="vmap"):
        f(*args)
    check(lambda: lambda *a: f(*a), *args)
    assert ms._C.active_tapes() == []


def test_what_is_no_function():
    with pytest.raises(RuntimeError, match="vmap"):
        ms.vmap(3)
    with pytest.raises(ZeroDivisionError):
        ms.vmap(lambda x: 1 / 0)(Tensor(np.ones(2)))
    assert ms._C.active_tapes() == []


def test_parameters_are_not_changed():
    p = Parameter(Tensor(np.zeros(2)), name="p")
    for change in (lambda x: p.set_data(x), lambda x: ops.assign(p, x * 2), lambda x: p.__setitem__(0, x[0]),
                   lambda x: ops.assign_add(p, x), lambda x: p.copy_(x), lambda x: p.add_(x),
                   lambda x: ops.ScatterUpdate()(p, Tensor([0]), x[:1])):
        for f in (ms.vmap(change), ms.jit(ms.vmap(change))):
            with pytest.raises(ValueError, match="vmap"):
                f(Tensor(np.ones((3, 2))))
            assert p.asnumpy().tolist() == [0, 0]
    ms.vmap(lambda x: (ops.assign(p, p + 1), x)[1])(Tensor(np.ones((3, 2))))  # the same for all
    assert p.asnumpy().tolist() == [1, 1]
    net = nn.BatchNorm1d(2)
    with pytest.raises(ValueError, match="vmap"):
        ms.vmap(net.set_train())(Tensor(np.ones((3, 4, 2), np.float32)))
    assert ms.vmap(net.set_train(False))(Tensor(np.ones((3, 4, 2), np.float32))).shape == (3, 4, 2)


class Keeps(nn.Cell):
    def __init__(self):
        super().__init__()
        self.last = Parameter(Tensor(np.zeros(3, np.float32)), name="last")

    def construct(self, x):
        self.last = x
        return x + 1


def test_a_cell_that_stores_its_input():
    net = Keeps()
    for f in (ms.vmap(net), ms.jit(ms.vmap(net))):
        with pytest.raises(ValueError, match="vmap"):
            f(Tensor(np.ones((2, 3), np.float32)))
    assert net.last.asnumpy().tolist() == [0, 0, 0]


def test_networks():
    net = nn.SequentialCell(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dense(4 * 16, 3))
    net.set_train(False)
    x = R.randn(5, 2, 2, 4, 4).astype(np.float32)
    want = np.stack([net(Tensor(v)).asnumpy() for v in x])
    np.testing.assert_allclose(ms.vmap(net)(Tensor(x)).asnumpy(), want, rtol=1e-5, atol=1e-6)
    check(lambda: ms.vmap(net), Tensor(x), graphs=1, breaks=0)
    # gradients of each sample
    weights = net.trainable_params()
    loss = lambda v: (net(v) ** 2).sum()  # noqa: E731
    g = ms.grad(loss, None, weights)
    got = ms.vmap(g)(Tensor(x))
    for k, p in enumerate(weights):
        each = np.stack([g(Tensor(v))[k].asnumpy() for v in x])
        assert got[k].shape == (5, *p.shape)
        np.testing.assert_allclose(got[k].asnumpy(), each, rtol=1e-4, atol=1e-4)
    check(lambda: lambda v: ms.vmap(ms.grad(loss, None, weights))(v), Tensor(x), graphs=1, breaks=0)


def test_ensemble():
    nets = nn.CellList([nn.Dense(3, 2) for _ in range(4)])
    x = R.randn(4, 5, 3).astype(np.float32)
    got = ms.vmap(nets)(Tensor(x)).asnumpy()
    np.testing.assert_array_equal(got, np.stack([n(Tensor(v)).asnumpy() for n, v in zip(nets, x)]))
    got = ms.vmap(nets, None, 1)(Tensor(x[0])).asnumpy()
    np.testing.assert_array_equal(got, np.stack([n(Tensor(x[0])).asnumpy() for n in nets], 1))
    with pytest.raises(RuntimeError, match="4 cells"):
        ms.vmap(nets)(Tensor(x[:3]))
    check(lambda: ms.vmap(nets), Tensor(x), graphs=1, breaks=0)


class Clipped(nn.Cell):
    def construct(self, x):
        return x * x

    def bprop(self, x, out, dout):
        return (ops.clamp(dout * 2 * x, -1, 1),)


def test_own_gradients():
    net = Clipped()
    x = np.linspace(-2, 2, 6).reshape(2, 3)
    np.testing.assert_array_equal(ms.vmap(net)(Tensor(x)).asnumpy(), x * x)
    got = ms.vmap(ms.grad(lambda v: net(v).sum()))(Tensor(x)).asnumpy()
    np.testing.assert_array_equal(got, np.clip(2 * x, -1, 1))
    with pytest.raises(RuntimeError, match="bprop"):
        ms.grad(lambda v: ms.vmap(net)(v).sum())(Tensor(x))
    stopped = ms.vmap(ms.grad(lambda v: (v * ops.stop_gradient(v)).sum()))(Tensor(x))
    np.testing.assert_array_equal(stopped.asnumpy(), x)


def test_values_that_get_out():
    kept = []
    net = nn.Cell()

    def f(x):
        y = x * 2
        kept.append(y)
        net.last = x
        kept.append(y.shape)
        return y + 1
    for g in (ms.vmap(f), ms.jit(ms.vmap(f))):
        kept.clear()
        assert g(Tensor(np.ones((2, 3)))).asnumpy().tolist() == [[3, 3, 3]] * 2
        assert kept[1] == (3,)
        for use in (lambda: kept[0].asnumpy(), lambda: kept[0] + 1, lambda: bool(net.last.sum() > 0),
                    lambda: print(net.last), lambda: ms.grad(ops.sum)(kept[0]), lambda: ms.jit(ops.exp)(kept[0])):
            with pytest.raises(RuntimeError, match="vmap"):
                use()


def test_random_numbers_are_the_same_for_all():
    ms.set_seed(1)
    y = ms.vmap(lambda x: ops.dropout(x, 0.5, True))(Tensor(np.ones((3, 50), np.float32))).asnumpy()
    assert (y == y[0]).all() and 0 < (y[0] == 0).sum() < 50


def test_of_jitted_functions():
    f = ms.jit(lambda x: ops.tanh(x) * x.shape[0])
    x = R.randn(3, 4)
    np.testing.assert_allclose(ms.vmap(f)(Tensor(x)).asnumpy(), np.tanh(x) * 4, rtol=1e-12)
    check(lambda: ms.vmap(f), Tensor(x), graphs=1, breaks=0)


def test_batches_of_many_sizes_compile_twice():
    f = ms.jit(ms.vmap(lambda a, b: ops.softmax(a @ b, -1).sum(0)))
    for n in range(1, 12):
        a, b = R.randn(n, 2, 3).astype(np.float32), R.randn(n, 3, 4).astype(np.float32)
        e = np.exp(a @ b - (a @ b).max(-1, keepdims=True))
        np.testing.assert_allclose(f(Tensor(a), Tensor(b)).asnumpy(), (e / e.sum(-1, keepdims=True)).sum(1), rtol=1e-5)
    assert ms.explain(f).compile_count <= 3


# --- Jacobians
def rows_of(f, x):
    """The Jacobian by one gradient for each element of the output."""
    out = f(Tensor(x))
    rows = [ms.grad(lambda v: f(v).reshape(-1)[k])(Tensor(x)).asnumpy() for k in range(out.size)]
    return np.stack(rows).reshape(out.shape + x.shape)


@pytest.mark.parametrize("name", [n for n, c in GRADS.items() if len(c) == 2])
def test_jacobians_of_every_case(name):
    fn, shape = GRADS[name]
    x = R.uniform(-1, 1, shape)
    want = rows_of(fn, x)
    for jac in (ms.jacrev, ms.jacfwd):
        got = jac(fn)(Tensor(x))
        assert got.shape == want.shape
        np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-10, atol=1e-12)
        check(lambda: jac(fn), Tensor(x), graphs=1, breaks=0)


def test_jacobian_structure():
    x, y = Tensor(np.arange(3.0)), Tensor(np.arange(2.0) + 1)
    f = lambda a, b: (a * a, (b.sum() * a.sum(), b))  # noqa: E731
    for jac in (ms.jacrev, ms.jacfwd):
        (aa, ab), ((sa, sb), (ba, bb)) = jac(f, (0, 1))(x, y)
        assert aa.asnumpy().tolist() == np.diag([0, 2, 4.0]).tolist() and ab.shape == (3, 2) and not ab.asnumpy().any()
        assert sa.asnumpy().tolist() == [3, 3, 3] and sb.asnumpy().tolist() == [3, 3]
        assert ba.shape == (2, 3) and bb.asnumpy().tolist() == np.eye(2).tolist()
        one, aux = jac(lambda a, b: (a * b[0], b), has_aux=True)(x, y)
        assert one.asnumpy().tolist() == np.eye(3).tolist() and aux.asnumpy().tolist() == [1, 2]
        one, aux = jac(lambda a, b: (a * b[0], b, 5), 1, has_aux=True)(x, y)
        assert one.shape == (3, 2) and aux[1] == 5
        assert jac(lambda a: a * 2, (0,))(x).shape == (3, 3)  # as MindSpore has it: one position, no tuple
        check(lambda: jac(f, (0, 1)), x, y, graphs=1, breaks=0)
        empty = jac(lambda a: a * 2)(Tensor(np.ones((0, 2))))
        assert empty.shape == (0, 2, 0, 2)


@pytest.mark.parametrize("jac", [ms.jacrev, ms.jacfwd])
@pytest.mark.parametrize("fn,position,args,error", [
    (lambda a: a, 3, (Tensor(1.0),), ValueError), (lambda a: a, -1, (Tensor(1.0),), ValueError),
    (lambda a: a, "a", (Tensor(1.0),), TypeError), (lambda a: a, None, (Tensor(1.0),), TypeError),
    (lambda a: a, 0, (2.0,), TypeError), (lambda a: a, 0, (Tensor([1, 2]),), TypeError),
    (lambda a: 3, 0, (Tensor(1.0),), TypeError), (lambda a: a > 0, 0, (Tensor(1.0),), TypeError),
    (3, 0, (Tensor(1.0),), TypeError)])
def test_jacobian_errors(jac, fn, position, args, error):
    with pytest.raises(error):
        jac(fn, position)(*args)
    if callable(fn) and position in (0, 3):
        check(lambda: lambda *a: jac(fn, position)(*a), *args)


def test_jacobian_needs_aux():
    with pytest.raises(ValueError, match="has_aux"):
        ms.jacrev(lambda a: a, has_aux=True)(Tensor(1.0))


def test_hessians_and_nesting():
    f = lambda x: (ops.sin(x) * x.sum() ** 2).sum()  # noqa: E731
    x = np.array([0.3, -0.7, 1.1])
    s, n = x.sum(), len(x)
    cos, sin = np.cos(x), np.sin(x)
    want = np.diag(-sin * s * s) + 2 * s * (cos[:, None] + cos) + 2 * sin.sum() * np.ones((n, n))
    makes = [lambda: ms.hessian(f), lambda: ms.jacfwd(ms.jacrev(f)), lambda: ms.jacrev(ms.jacfwd(f)),
             lambda: ms.jacrev(ms.jacrev(f)), lambda: ms.jacfwd(ms.jacfwd(f)),
             lambda: ms.jacfwd(ms.grad(f)), lambda: ms.jacrev(ms.grad(f))]
    for make in makes:
        np.testing.assert_allclose(make()(Tensor(x)).asnumpy(), want, rtol=1e-11)
        check(make, Tensor(x), graphs=1, breaks=0)
    third = ms.jacrev(ms.hessian(f))(Tensor(x)).asnumpy()
    assert third.shape == (3, 3, 3)
    np.testing.assert_allclose(third, third.transpose(1, 0, 2), rtol=1e-11)
    each = ms.vmap(ms.hessian(f))(Tensor(np.stack([x, x * 2])))
    np.testing.assert_allclose(each[0].asnumpy(), want, rtol=1e-11)
    np.testing.assert_allclose(each[1].asnumpy(), ms.hessian(f)(Tensor(x * 2)).asnumpy(), rtol=1e-11)
    trace = ms.grad(lambda v: ms.hessian(f)(v).diagonal().sum())(Tensor(x)).asnumpy()
    np.testing.assert_allclose(trace, np.einsum("iij->j", third), rtol=1e-11)
    np.testing.assert_allclose(ms.jvp(ms.jacrev(f), Tensor(x), Tensor(np.ones(3)))[1].asnumpy(), want.sum(1),
                               rtol=1e-11)


def test_side_effects_happen_once():
    def make():
        seen = []

        def f(x):
            seen.append(len(seen))
            return (x * x).sum()
        return (lambda x: (ms.jacrev(f)(x), ms.hessian(f)(x), ms.vmap(f)(x))), lambda: list(seen)
    check(make, Tensor(np.arange(3.0).reshape(3)[:, None]))
    f, observe = make()
    f(Tensor(np.ones((3, 2))))
    assert observe() == [0, 1, 2]
