"""Functions of functions, and primitives over them. Expected values as real MindSpore 2.7.1 gives them where it has
them."""

import numpy as np
import pytest

import pijit as ms
from pijit import Parameter, Tensor, nn, ops
from tests.python.differential import check

X = np.arange(6, dtype=np.float32).reshape(2, 3)
Y = np.arange(3, dtype=np.float32)


def plain(x):
    if isinstance(x, (tuple, list)):
        return type(x)(plain(v) for v in x)
    return x.asnumpy().tolist() if isinstance(x, Tensor) else x


add = ops.MultitypeFuncGraph("add")


@add.register("Tensor", "Tensor")
def _(a, b):
    return a + b


@add.register("Number", "Number")
def _(a, b):
    return a + b


@add.register("Number", "Tensor")
def _(a, b):
    return a * b


@add.register("List", "List")
def _(a, b):
    return 1


def test_dispatch_by_type():
    assert (plain(add(Tensor(Y), Tensor(Y))) == [0, 2, 4] and add(1, 2.5) == 3.5 and add(True, 2) == 3
            and plain(add(2, Tensor(Y))) == [0, 2, 4] and add([1], [2]) == 1)
    for bad in (("a", Tensor(Y)), (Tensor(Y),), (None, None)):
        with pytest.raises(ValueError, match="add"):
            add(*bad)
    with pytest.raises(ValueError, match="type name"):
        add.register("NoSuch")
    with pytest.raises(TypeError):
        add.register("Tensor")(3)
    check(lambda: lambda x: (add(x, x), add(2, x), add(1, 2)), Tensor(Y), graphs=1, breaks=0)


def test_a_single_function_takes_whatever_comes():
    count = ops.MultitypeFuncGraph("count")

    @count.register("Tensor")
    def _(*args):
        return len(args)
    assert [count(*args) for args in ((1,), ("a", None), (), ([1],), ({},), (Tensor(Y), 2))] == [1, 2, 0, 1, 1, 2]
    assert ops.HyperMap(count)((Tensor(Y), 3)) == (1, 1)
    check(lambda: lambda x: (count(1) * x, count(x, x) * x), Tensor(Y), graphs=1, breaks=0)
    with pytest.raises(ValueError, match="none"):
        ops.MultitypeFuncGraph("none")(1)


def test_mapping():
    hyper_map = ops.HyperMap()
    x, y = Tensor(X), Tensor(Y)
    assert plain(hyper_map(add, ((x, 1), [y]), ((x, 2), [y]))) == (((X * 2).tolist(), 3), ([0, 2, 4],))
    assert plain(hyper_map(add, [x, y], [x, y])) == ((X * 2).tolist(), [0, 2, 4])
    assert len(hyper_map(add, (x, y), (x,))) == 1
    assert plain(ops.HyperMap(add)((y, 2), (y, 3))) == ([0, 2, 4], 5)
    assert plain(ops.Map()(lambda a: len(a), ((1, 2), [3]))) == (2, 1)
    assert plain(hyper_map(ops.square, y)) == [0, 1, 4]
    order = []
    assert (ops.HyperMap(lambda a: order.append(a) or a, reverse=True)((1, 2, (3, 4))) == (1, 2, (3, 4))
            and order == [4, 3, 2, 1])
    for bad in ((), (3,), (add,)):
        with pytest.raises(TypeError):
            hyper_map(*bad)
    with pytest.raises(TypeError):
        ops.HyperMap(3)
    scale = ops.MultitypeFuncGraph("scale")
    scale.register("Tensor", "Tensor")(lambda s, g: g * s)
    f = lambda a, b: hyper_map(ops.partial(scale, Tensor(2.0)), (a, [b, (a,)]))  # noqa: E731
    assert plain(f(y, x)) == ((Y * 2).tolist(), ((X * 2).tolist(), ((Y * 2).tolist(),)))
    check(lambda: f, y, x, graphs=1, breaks=0)


def test_gradient_clipping_step_is_one_graph():
    net = nn.SequentialCell(nn.Dense(3, 4), nn.ReLU(), nn.Dense(4, 1))
    opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    clip = ops.MultitypeFuncGraph("clip")

    @clip.register("Number", "Tensor")
    def _(limit, g):
        return ops.clip_by_value(g, -limit, limit)
    grad_fn = ms.value_and_grad(lambda x: (net(x) ** 2).sum(), None, opt.parameters)

    def step(x):
        loss, grads = grad_fn(x)
        opt(ops.HyperMap()(ops.partial(clip, 0.01), grads))
        return loss
    j = ms.jit(step)
    losses = [j(Tensor(X)).item() for _ in range(5)]
    assert losses[-1] < losses[0] and len(ms.explain(j).graphs) == 1 and not ms.explain(j).breaks


def test_bound_arguments_and_constants():
    assert plain(ops.partial(add, 2)(Tensor(Y))) == [0, 2, 4] and plain(ops.Partial()(add, 2)(Tensor(Y))) == [0, 2, 4]
    with pytest.raises(TypeError):
        ops.partial(3)

    @ops.constexpr
    def double(a):
        return a * 2

    @ops.constexpr(check=False)
    def triple(a):
        return a * 3
    assert double(3) == 6 and triple(3) == 9
    check(lambda: lambda x: x * double(x.shape[0]) + triple(2), Tensor(X), graphs=1, breaks=0)


def test_hooks_on_gradients():
    seen = []
    keep = lambda g: seen.append(g)  # noqa: E731
    replace = lambda g: g[0] * 10  # noqa: E731
    assert plain(ms.grad(lambda a: (ops.HookBackward(keep)(a * a) * 3).sum())(Tensor(Y))) == [0, 6, 12]
    assert isinstance(seen[0], tuple) and plain(seen[0][0]) == [3, 3, 3]
    for hook in (replace, lambda g: (g[0] * 10,)):
        f = lambda a: ms.grad(lambda v: (ops.HookBackward(hook)(v * v) * 3).sum())(a)  # noqa: E731
        assert plain(f(Tensor(Y))) == [0, 60, 120]
        check(lambda: f, Tensor(Y), graphs=1, breaks=0)
    def two(a):
        return ms.grad(lambda v: sum(ops.HookBackward(lambda g: (g[0] * 2, g[1] * 3))(v, v * v)).sum())(a)
    assert plain(two(Tensor(Y))) == (2 + 3 * 2 * Y).tolist()
    assert plain(ops.HookBackward(replace)(Tensor(Y))) == Y.tolist()
    with pytest.raises(TypeError):
        ops.HookBackward(3)


def test_loops():
    assert plain(ops.ForiLoop()(0, 4, lambda i, v: v + i, Tensor(1.0))) == 7
    assert plain(ops.WhileLoop()(lambda v: v < 10, lambda v: v * 2, Tensor(1.0))) == 16
    assert plain(ops.Scan()(lambda c, e: (c + e, c * e), Tensor(1.0), [Tensor(1.0), Tensor(2.0)])) == (4, [1, 4])
    assert plain(ops.Scan()(lambda c, e: (c + 1, c), Tensor(1.0), None, 3)) == (4, [1, 2, 3])
    for bad in ((None, None), ([1], 2)):
        with pytest.raises(ValueError):
            ops.Scan()(lambda c, e: (c, c), Tensor(1.0), *bad)
    assert ops.make_range(0, 5, 2) == (0, 2, 4) and ops.tuple_div((6, 4), (2, 2)) == (3, 2)
    with pytest.raises(RuntimeError):
        ops.tuple_div((6, 4), (2, 3))


def test_taylor_series():
    square = lambda a: a * a  # noqa: E731
    out, second = ops.derivative(square, Tensor(3.0), 2)
    assert plain(out) == 9 and plain(second) == 2
    out, series = ops.jet(square, Tensor([3.0]), Tensor([[1.0], [0.0]]))
    assert plain(out) == [9] and plain(series) == [[6], [2]]
    x = 0.7
    _, series = ops.jet(ops.sin, Tensor(x, ms.float64), Tensor([1.0, 0, 0, 0], ms.float64))
    np.testing.assert_allclose(series.asnumpy(), [np.cos(x), -np.sin(x), -np.cos(x), np.sin(x)], rtol=1e-12)
    _, (a, b) = ops.jet(lambda u, v: (u * v, u + v), (Tensor(2.0), Tensor(3.0)),
                        (Tensor([1.0, 0.0]), Tensor([0.5, 2.0])))
    assert plain(a) == [4, 5] and plain(b) == [1.5, 2]  # (uv)'' = u''v + 2u'v' + uv''
    check(lambda: lambda t: ops.jet(ops.exp, t, t.reshape(1, -1).tile((3, 1))), Tensor(Y), graphs=1, breaks=0)
    check(lambda: lambda t: ops.derivative(ops.tanh, t, 3), Tensor(Y), graphs=1, breaks=0)
    for bad in (0, -1):
        with pytest.raises(ValueError):
            ops.derivative(square, Tensor(1.0), bad)
    with pytest.raises(TypeError):
        ops.derivative(square, Tensor(1.0), 1.5)
    with pytest.raises(ValueError):
        ops.jet(square, Tensor([1.0]), Tensor([[1.0, 2.0]]))


def test_linearised():
    calls = []

    def f(x):
        calls.append(1)
        return x * x, x.sum()
    (out, total), push = ops.linearize(f, Tensor(Y))
    assert plain(out) == [0, 1, 4] and plain(total) == 3
    for k in (1.0, 2.0):
        a, b = push(Tensor(Y * 0 + np.float32(k)))
        assert plain(a) == (2 * Y * k).tolist() and plain(b) == 3 * k
    assert calls == [1]
    with pytest.raises(ValueError):
        push(Tensor(X))


def parameter():
    return Parameter(Tensor(np.ones((3, 2), np.float32)), name="p")


@pytest.mark.parametrize("name,value",
                         [("Add", 4), ("Sub", -2), ("Mul", 3), ("Div", 1 / 3), ("Max", 3), ("Min", 1), ("Update", 3)])
def test_scatter_into_parameters(name, value):
    u = Tensor(np.full((2, 2), 3, np.float32))
    for op, indices in ((getattr(ops, "Scatter" + name)(), Tensor([0, 2])),
                        (getattr(ops, "ScatterNd" + name)(), Tensor([[0], [2]]))):
        p = parameter()
        got = op(p, indices, u)
        np.testing.assert_allclose(p.asnumpy(), [[value] * 2, [1, 1], [value] * 2], rtol=1e-6)
        np.testing.assert_array_equal(got.asnumpy(), p.asnumpy())
        with pytest.raises(IndexError):
            op(p, indices + 5, u).asnumpy()
        np.testing.assert_allclose(p.asnumpy(), [[value] * 2, [1, 1], [value] * 2], rtol=1e-6)
    grid = parameter()
    ops.ScatterAdd()(grid, Tensor([[0, 1], [1, 1]]), Tensor(np.ones((2, 2, 2), np.float32)))
    assert plain(grid) == [[2, 2], [4, 4], [1, 1]]


def test_other_primitives():
    x = Tensor(X)
    assert (plain(ops.InplaceAdd((0, 1))(x, x)) == (X * 2).tolist()
            and plain(ops.InplaceSub(1)(x, x[:1])) == [[0, 1, 2], [3, 3, 3]]
            and plain(ops.InplaceUpdate([1])(x, x[:1])) == [[0, 1, 2]] * 2)
    with pytest.raises(ValueError):
        ops.InplaceAdd((0,))(x, x)
    assert (plain(ops.EmbeddingLookup()(x, Tensor([1, 0, 5]), 0)) == [[3, 4, 5], [0, 1, 2], [0, 0, 0]]
            and plain(ops.EmbeddingLookup()(x, Tensor([1, 2]), 1)) == X.tolist())
    assert plain(ops.Unique()(Tensor([3, 1, 3, 2]))) == ([3, 1, 2], [0, 1, 0, 2])
    assert plain(ops.NanToNum()(Tensor([np.nan, np.inf, -1]))) == [0, np.float32(3.4028234663852886e38), -1]
    y, mean, var = ops.LayerNorm()(x, Tensor(np.ones(3, np.float32)), Tensor(np.zeros(3, np.float32)))
    np.testing.assert_allclose(y.asnumpy(), [[-1.2247448, 0, 1.2247448]] * 2, rtol=1e-6)
    assert plain(mean) == [[1], [4]] and np.allclose(var.asnumpy(), [[2 / 3]] * 2)
    out, where = ops.MaxPoolWithArgmax(2, 1)(Tensor(np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)))
    assert (plain(out)[0][0] == [[5, 6, 7], [9, 10, 11], [13, 14, 15]]
            and plain(where)[0][0] == [[5, 6, 7], [9, 10, 11], [13, 14, 15]])
    p, a = parameter(), parameter()
    g = Tensor(np.ones((3, 2), np.float32))
    np.testing.assert_allclose(ops.ApplyMomentum()(p, a, 0.1, g, 0.9).asnumpy(), 0.81, rtol=1e-6)
    np.testing.assert_allclose(a.asnumpy(), 1.9, rtol=1e-6)
    np.testing.assert_allclose(ops.ApplyMomentum(True, gradient_scale=2.0)(p, a, 0.1, g, 0.5).asnumpy(),
                               0.81 - 0.1 * (2 + 0.5 * 2.95), rtol=1e-6)
    np.testing.assert_allclose(ops.ApplyGradientDescent()(parameter(), 0.1, g).asnumpy(), 0.9, rtol=1e-6)
    check(lambda: lambda x: ops.EmbeddingLookup()(x, Tensor([1, 0, 5]), 0), x, graphs=1, breaks=0)


@pytest.mark.parametrize("shape", [(6,), (2, 6), (3, 1), (2, 0), (4, 5, 3)])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_products(shape, exclusive, reverse):
    x = np.random.RandomState(0).uniform(0.5, 1.5, shape)
    for axis in range(-1, len(shape)):
        v = np.flip(x, axis) if reverse else x
        want = np.cumprod(v, axis)
        if exclusive and x.shape[axis]:
            want = np.concatenate([np.ones_like(np.take(want, [0], axis)), np.delete(want, -1, axis)], axis)
        want = np.flip(want, axis) if reverse else want
        np.testing.assert_allclose(ops.CumProd(exclusive, reverse)(Tensor(x), axis).asnumpy(), want, rtol=1e-12)
    assert (plain(ops.cumprod(Tensor([2, 3, 4]), 0)) == [2, 6, 24]
            and ops.cumprod(Tensor([2, 3], ms.int8), 0).dtype == ms.int8)
    with pytest.raises(ValueError):
        ops.cumprod(Tensor(x), 5)


def test_methods_and_functions():
    x, y = Tensor(np.arange(12, dtype=np.float32).reshape(2, 6)), Tensor(np.array([-1, 0, 0.3, 2], np.float32))
    assert ([v.shape for v in x.hsplit(3)] == [(2, 2)] * 3
            and [v.shape for v in x.hsplit([1, 4])] == [(2, 1), (2, 3), (2, 2)]
            and [v.shape for v in x.hsplit(4)] == [(2, 2), (2, 2), (2, 1), (2, 1)])
    assert ([v.shape for v in y.vsplit(2)] == [(2,), (2,)]
            and [v.shape for v in ops.dsplit(x.reshape(2, 2, 3), 3)] == [(2, 2, 1)] * 3)
    for bad in (lambda: y.hsplit(2), lambda: x.hsplit(0), lambda: ops.inner(x, y)):
        with pytest.raises(ValueError):
            bad()
    with pytest.raises(TypeError):
        x.vsplit(1.5)
    n = x.asnumpy()
    np.testing.assert_array_equal(ops.inner(x, x).asnumpy(), np.inner(n, n))
    np.testing.assert_array_equal(x.inner(Tensor(2.0)).asnumpy(), n * 2)
    np.testing.assert_array_equal(ops.inner(x.reshape(2, 2, 3), x.reshape(4, 3)).asnumpy(),
                                  np.inner(n.reshape(2, 2, 3), n.reshape(4, 3)))
    np.testing.assert_allclose(y.sinc().asnumpy(), np.sinc(y.asnumpy()), atol=1e-6)
    assert (np.isfinite(ms.grad(lambda v: v.sinc().sum())(y).asnumpy()).all()
            and ops.sinc(Tensor([1, 2])).dtype == ms.float32)
    assert (plain(ops.hardshrink(y)) == [-1, 0, 0, 2] and plain(y.hardshrink(1)) == [0, 0, 0, 2]
            and plain(ops.softshrink(y)) == [-0.5, 0, 0, 1.5])
    assert (plain(ms.grad(lambda a: ops.hardshrink(a).sum())(y)) == [1, 0, 0, 1]
            and plain(ms.grad(lambda a: ops.softshrink(a).sum())(y)) == [1, 0, 0, 1])
    assert (np.isnan(ops.hardshrink(Tensor(np.float32(np.nan))).item())
            and np.isnan(ops.softshrink(Tensor(np.float32(np.nan))).item()))
    assert (plain(x.ptp(1)) == [5, 5] and plain(y.imag()) == [0] * 4 and plain(y.reverse([0])) == plain(y)[::-1]
            and plain(y.real()) == plain(y.conj()) == plain(y) and y.real() is not y)
    i, u = Tensor([[0], [1], [0]]), Tensor(np.array([1, 2, 3], np.float32))
    z = Tensor(np.array([6, 7, 8], np.float32))
    for name, want in (("sub", [2, 5, 8]), ("mul", [18, 14, 8]), ("div", [2, 3.5, 8]), ("max", [6, 7, 8]),
                       ("min", [1, 2, 8])):
        assert plain(getattr(z, "scatter_" + name)(i, u)) == want and plain(z) == [6, 7, 8]
    assert nn.Dense(2, 2).cls_name == "Dense"
    check(lambda: lambda x: (x.hsplit(4), x.inner(x), x.sinc(), ops.softshrink(x), ops.cumprod(x, 1)), x, graphs=1,
          breaks=0)
