"""What calls answer in MindSpore 2.10: which object, which dtype, which form, where an example of its documentation or
a black-box call differed from ours. The same eagerly and jitted where code can be."""

import hashlib

import numpy as np
import pytest

import pijit as ms
import pijit.numpy as mnp
from pijit import Parameter, Symbol, Tensor, mint, nn, ops
from pijit.dataset import vision


def T(a, dtype=np.float32):
    return Tensor(np.array(a, dtype))


X, XI = T([[3, 9, 1], [7, 2, -7]]), T([[3, 9, 1], [7, 2, -7]], np.int64)
ROWS = T([0, 1], np.int32)


def P(name="p"):
    return Parameter(T([[1, 2], [3, 4]]), name=name)


def same(a, b):
    """Whether results are equal, with their dtypes and the kinds of their containers."""
    if isinstance(b, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(b, Tensor):
        return (isinstance(a, Tensor) and a.dtype == b.dtype and a.shape == b.shape
                and np.allclose(a.asnumpy(), b.asnumpy(), 1e-5, 1e-6, equal_nan=True))
    return a == b and type(a) is type(b)


# -- operators that change a Parameter answer its new value -----------------------------------------------------------
UPDATES = {
    "assign": lambda p: ops.assign(p, T(np.ones((2, 2)))), "Assign": lambda p: ops.Assign()(p, T(np.ones((2, 2)))),
    "assign_add": lambda p: ops.assign_add(p, T(np.ones((2, 2)))),
    "AssignSub": lambda p: ops.AssignSub()(p, T(np.ones((2, 2)))),
    "ScatterAdd": lambda p: ops.ScatterAdd()(p, ROWS, T(np.ones((2, 2)))),
    "scatter_update": lambda p: ops.scatter_update(p, ROWS, T(np.ones((2, 2)))),
    "ScatterNdMax": lambda p: ops.ScatterNdMax()(p, T([[0], [1]], np.int32), T(np.ones((2, 2)))),
    "scatter_nd_sub": lambda p: ops.scatter_nd_sub(p, T([[0], [1]], np.int32), T(np.ones((2, 2)))),
    "IndexAdd": lambda p: ops.IndexAdd(0)(p, ROWS, T(np.ones((2, 2)))),
    "InplaceIndexAdd": lambda p: ops.InplaceIndexAdd(0)(p, ROWS, T(np.ones((2, 2)))),
    "ApplyMomentum": lambda p: ops.ApplyMomentum()(p, P("q"), 0.1, T(np.ones((2, 2))), 0.9),
    "ApplyGradientDescent": lambda p: ops.ApplyGradientDescent()(p, 0.1, T(np.ones((2, 2)))),
    "SGD": lambda p: ops.SGD()(p, T(np.ones((2, 2))), T(0.1), P("q"), T(0.9), P("r")),
    "ApplyAdagrad": lambda p: ops.ApplyAdagrad()(p, P("q"), 0.1, T(np.ones((2, 2)))),
    "Adam": lambda p: ops.Adam()(p, P("q"), P("r"), 0.9, 0.99, 0.1, 0.9, 0.99, 1e-8, T(np.ones((2, 2)))),
    "SparseApplyFtrl": lambda p: ops.SparseApplyFtrl(0.1, 0.1, 0.1, -0.5)(p, P("q"), P("r"), T(np.ones((2, 2))), ROWS),
}


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("jitted", [False, True])
def test_updates_answer_the_value(name, jitted):
    p = P()
    out = (ms.jit(UPDATES[name]) if jitted else UPDATES[name])(p)
    outs = out if isinstance(out, tuple) else (out,)
    assert [type(o) for o in outs] == [Tensor] * len(outs)
    assert same(outs[0], p.value())
    before = outs[0].asnumpy().copy()
    p.set_data(T(np.full((2, 2), 9)))
    assert (outs[0].asnumpy() == before).all()


def test_a_cell_may_keep_what_an_update_answers():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.n = Parameter(T([1.0]), name="n")

        def construct(self, x):
            self.n = ops.assign_add(self.n, x)
            return self.n

    net = Net()
    assert type(net(T([2.0]))) is Parameter and net.n.value() == 3 and [p.name for p in net.trainable_params()] == ["n"]


def test_parameters_are_keys():
    p, q = P(), P("q")
    table = {p: 1, q: 2}
    assert table[p] == 1 and table[q] == 2 and len({p, q, p}) == 2 and hash(p) == hash(p)

    class Marked(Tensor):
        pass
    assert isinstance(hash(Marked([1.0])), int)


# -- maxima, constants, indices ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("got, expected", [
    (lambda: X.argmax_with_value(axis=None), (T(9), Tensor(0, ms.int64))),
    (lambda: XI.argmin_with_value(axis=None, keep_dims=True), (T(-7, np.int64), Tensor(0, ms.int64))),
    (lambda: X.argmax_with_value(axis=1, keep_dims=True), (T([[9], [7]]), T([[1], [0]], np.int64))),
    (lambda: X.max(axis=None, keepdims=True, return_indices=True), (T(9), Tensor(0, ms.int64))),
    (lambda: X.min(axis=1, return_indices=True), (T([1, -7]), T([2, 2], np.int64))),
    (lambda: ops.max(X, 1, True, initial=0, where=X < 0), (T([[0], [0]]), T([[0], [0]], np.int64))),
    (lambda: ops.min(X, 1, True, initial=0, where=X > 0), (T([[0], [0]]), T([[0], [0]], np.int64))),
    (lambda: ops.Median(True)(T([5, 5, 3, 5], np.int32)), (T(5, np.int32), Tensor(0, ms.int64))),
    (lambda: ops.full((2, 3), 1.2), T([[1] * 3] * 2, np.int64)),
    (lambda: ops.full((2,), True), T([1, 1], np.int64)),
    (lambda: mint.full((2,), 1.5), T([1.5, 1.5])),
    (lambda: mnp.full((2,), 1.5), T([1.5, 1.5])),
    (lambda: ops.clip_by_value([X, X + 1], 2, 4), (X.clamp(2, 4), (X + 1).clamp(2, 4))),
    (lambda: ops.adjoint(Tensor([[1 + 1j, 2 - 3j]])), Tensor([[1 - 1j], [2 + 3j]])),
    (lambda: ops.adjoint(X), X.T),
    (lambda: X.scatter(dim=1, index=XI * 0, src=X), T([[1, 9, 1], [-7, 2, -7]])),
    (lambda: X.scatter(axis=1, index=XI * 0, src=X), T([[1, 9, 1], [-7, 2, -7]])),
    (lambda: X.scatter(1, XI * 0, 5.0), T([[5, 9, 1], [5, 2, -7]])),
    (lambda: X.index_add(ROWS, X, axis=0), X + X),
    (lambda: X.index_add(0, ROWS, X, alpha=2), X * 3),
    (lambda: T([1.0, 2.0]).view(ms.int32), T([1065353216, 1073741824], np.int32)),
    (lambda: T([1.0, 2.0]).view(dtype=ms.int16), T([0, 16256, 0, 16384], np.int16)),
    (lambda: T([1.0, 2.0]).view(ms.float64).view(ms.float32), T([1.0, 2.0])),
    (lambda: T([1.5, 2.5]).astype(ms.bfloat16).view(ms.int16).view(ms.bfloat16).astype(ms.float32), T([1.5, 2.5])),
    (lambda: T(1.0).view(ms.int32), T(1065353216, np.int32)),
    (lambda: X.view(shape=(3, 2)), X.reshape(3, 2)),
    (lambda: ops.bartlett_window(Tensor(4)), ops.bartlett_window(4)),
    (lambda: ops.blackman_window(Tensor(4, ms.int32)), ops.blackman_window(4)),
    (lambda: ops.functional_overload.any(X, dim=1), T([True, True], bool)),
    (lambda: ops.functional_overload.max(X, 1), (T([9, 7]), T([1, 0], np.int64))),
    (lambda: ops.functional_overload.max(X, X + 1), X + 1),
    (lambda: ops.functional_overload.add(2, X), X + 2),
    (lambda: ops.functional_overload.where(X > 2, X, 0.0), ops.where(X > 2, X, 0.0)),
    (lambda: ops.function.nn_func.softmax_ext(X), ops.softmax(X, 1)),
    (lambda: nn.CTCLoss(reduction="none")(T(np.arange(10).reshape(5, 2)), T([1, 1], np.int32), T([5], np.int32),
                                          T([2], np.int32)), T(-25.794968)),
])
def test_operators(got, expected):
    assert same(got(), expected), got()


def test_a_view_needs_whole_elements():
    for x in (T(1.0), T([1.0]), X):
        with pytest.raises(ValueError, match="view"):
            x.view(ms.int64)


def test_assign_value_takes_any_shape():
    x = T([1.0, 2.0])
    assert x.assign_value(XI) is x and same(x, XI)


def test_the_table_of_ctc_loss_ends_with_the_target():
    table = ops.ctc_loss(T(np.zeros((2, 1, 3))), T([[1, 2]], np.int32), T([2], np.int32), T([1], np.int32))[1]
    assert np.isneginf(table.asnumpy()[0, :, 3:]).all() and np.isfinite(table.asnumpy()[0, 1, :3]).all()


# -- gradients ---------------------------------------------------------------------------------------------------------
def product(a, b):
    return a * b


def first(a, b):
    return a * 2


G, Y, S = T([1.0, 2.0]), T([3.0, 4.0]), T([10.0, 1.0])


@pytest.mark.parametrize("wrap", [lambda f: f, ms.jit])
@pytest.mark.parametrize("make, args, expected", [
    (lambda: ops.grad(product, (0, 1)), (G, 2.0), T([2, 2])),
    (lambda: ops.grad(product, (0, 1)), (2.0, G), T([2, 2])),
    (lambda: ops.grad(product, (0, 1)), (G, Y), (Y, G)),
    (lambda: ops.grad(product, (0,)), (G, Y), Y),
    (lambda: ops.grad(product, 1), (G, 2.0), ()),
    (lambda: ops.grad(first, (0, 1)), (G, None), T([2, 2])),
    (lambda: ops.grad(first, (0, 1)), (G, "text"), T([2, 2])),
    (lambda: ops.value_and_grad(product, (0, 1)), (G, 2.0), (G * 2, T([2, 2]))),
    (lambda: ops.value_and_grad(product, 1), (G, 2.0), (G * 2, ())),
    (lambda: ops.GradOperation(get_all=True)(product), (G, 2.0), (T([2, 2]),)),
    (lambda: ops.GradOperation(get_all=True)(product), (3.0, 2.0), ()),
    (lambda: ops.GradOperation()(lambda: 3.0), (), ()),
    (lambda: ops.grad(product, 0, sens_param=True), (G, Y, S), Y * S),
    (lambda: ops.grad(product, (0, 1), sens_param=True), (G, Y, S), (Y * S, G * S)),
    (lambda: ops.value_and_grad(product, 0, sens_param=True), (G, Y, S), (G * Y, Y * S)),
    (lambda: ops.grad(lambda a: a.dtype), (G,), T([0, 0])),
    (lambda: ops.grad(lambda a: None), (G,), T([0, 0])),
    (lambda: ops.grad(lambda a: (a * a, a.dtype, 3, None, "text", [a, {"k": a}])), (G,), G * 2 + 2),
    (lambda: ops.value_and_grad(lambda a: (a * a, a.shape, None)), (G,), ((G * G, (2,), None), G * 2)),
    (lambda: ops.grad(product, (0, 1), return_ids=True), (G, 2.0), (0, T([2, 2]))),
    (lambda: ops.grad(product, (0, 1), return_ids=True), (G, Y), ((0, Y), (1, G))),
])
def test_gradients(make, args, expected, wrap):
    assert same(wrap(make())(*args), expected)


def test_gradients_in_graph_mode():
    class Net(nn.Cell):
        def construct(self, a, b):
            return a * 2, a.dtype, b, "text"

    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        assert same(ms.grad(Net(), (0, 1))(G, None), T([2, 2]))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_vjp_and_jvp():
    assert same(ops.vjp(lambda a: a * a, G)[1](S), (G * 2 * S,))
    assert same(ops.vjp(lambda a, b: (a * b, a), G, Y, has_aux=True)[2], G)
    assert same(ops.vjp(lambda a: (a * a, a, a + 1), G, has_aux=True)[2], (G, G + 1))
    assert same(ops.jvp(lambda a: (a * a, a), G, S, has_aux=True)[2], G)
    assert same(nn.Vjp(nn.ReLU())(G, S), (G, S))


@pytest.mark.parametrize("call, error", [
    (lambda: ops.grad(product, 2)(G, Y), RuntimeError), (lambda: ops.grad(product, ()), RuntimeError),
    (lambda: ops.GradOperation()(product)(), TypeError), (lambda: ops.grad(product, -1), ValueError)])
def test_wrong_positions(call, error):
    with pytest.raises(error):
        call()


# -- numpy -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("got, expected", [
    (lambda: mnp.sum([0.5, 1.5]), T(2)), (lambda: mnp.sum([[1, 2], [3, 4]]), T(10, np.int64)),
    (lambda: mnp.mean([1.0, 2.0]), T(1.5)), (lambda: mnp.var([0.5, 1.5]), T(0.25)),
    (lambda: mnp.argmin([[2, 1]]), T(1, np.int32)),
    (lambda: mnp.intersect1d([1, 3, 4, 3], [3, 1, 2, 1]), T([1, 3], np.int32)),
    (lambda: mnp.histogram([1, 2, 1], bins=[0, 1, 2, 3]), (T([0, 2, 1]), T([0, 1, 2, 3], np.int32))),
    (lambda: mnp.unravel_index([22, 41], (7, 6)), (T([3, 6], np.int32), T([4, 5], np.int32))),
    (lambda: mnp.trapz([[1, 2, 3], [4, 5, 6]], x=[-2, 1, 2], axis=1), T([7, 19])),
    (lambda: mnp.trapz(X, x=[0, 2], axis=0), T([10, 11, -6])),
    (lambda: mnp.meshgrid([1, 2], [3, 4, 5], sparse=True), [T([[1, 2]], np.int32), T([[3], [4], [5]], np.int32)]),
    (lambda: mnp.meshgrid([1, 2], [3, 4, 5], indexing="ij"), [T([[1] * 3, [2] * 3], np.int32),
                                                              T([[3, 4, 5]] * 2, np.int32)]),
    (lambda: mnp.result_type("i2", np.float32, True), ms.float32), (lambda: mnp.result_type(True, 2), ms.int32),
    (lambda: mnp.promote_types("i2", np.int8), ms.int16),
])
def test_numpy(got, expected):
    assert same(got(), expected), got()


def test_searches():
    from pijit.scipy.optimize import line_search, minimize

    def himmelblau(p):
        x, y = p
        return (x ** 2 + y - 11.0) ** 2 + (x + y ** 2 - 7.0) ** 2

    found = line_search(himmelblau, T([3.5, 1]), T([-1, 0.5]))
    assert abs(found.a_k.item() - 0.43575418) < 1e-5 and found.nfev == 3
    assert line_search(lambda x: x[0] ** 2 - x[1] ** 3, T([1, 1]), T([-1, -1])).a_k == 1
    for method in ("BFGS", "LBFGS"):
        best = minimize(himmelblau, T([0, 0]), method=method, options={"maxiter": None, "gtol": 1e-6})
        assert np.allclose(best.x.asnumpy(), [3, 2], atol=1e-3)


# -- descriptions of inputs --------------------------------------------------------------------------------------------
def test_placeholders():
    d = Tensor(shape=[None, 3], dtype=ms.float32)
    assert d.shape == (-1, 3) and d.dtype == ms.float32 and d.ndim == 2 and isinstance(d, Tensor)
    assert repr(d) == "Tensor(shape=[-1, 3], dtype=Float32, value=\n)"
    assert Tensor(shape=None, dtype=ms.float32).shape == (-2,)
    assert Tensor(shape=(-1, 3), dtype=ms.int32).shape == (-1, 3)
    s = Tensor(shape=(None, Symbol(max=3), 4), dtype=ms.float32)
    assert s.shape == (-1, -1, 4) and s.symbolic_shape == [None, {"max": 3}, 4]
    assert type(Tensor(shape=(2, 3), dtype=ms.float32)) is Tensor
    net = nn.ReLU()
    net.set_inputs(d, None)
    assert net.get_inputs()[0] is d and net.get_inputs()[1] is None
    for wrong, error in [(lambda: Tensor(shape=[2, None]), ValueError), (lambda: d.asnumpy(), ValueError),
                         (lambda: len(d), ValueError), (lambda: net.set_inputs(d, y=d), ValueError),
                         (lambda: Tensor(shape=[None, 1.5], dtype=ms.float32), TypeError),
                         (lambda: Tensor(shape=[-3], dtype=ms.float32), ValueError)]:
        with pytest.raises(error):
            wrong()


def test_declared_arguments():
    d, any_rank = Tensor(shape=[None, 3], dtype=ms.float32), Tensor(shape=None, dtype=ms.float32)

    def f(x, y=None):
        return x * 2

    declared = ms.jit(f, input_signature=(d, None))
    assert same(declared(X, "anything"), X * 2) and declared(T(np.ones((5, 3)))).shape == (5, 3)
    whatever = ms.jit(f, input_signature=any_rank)
    assert whatever(T(1.0)) == 2 and same(whatever(X), X * 2)
    with pytest.raises(TypeError):
        whatever(XI)
    for dynamic in (ms.enable_dynamic(x=d)(ms.jit(lambda x: x + 1)), ms.jit(ms.enable_dynamic(x=d)(lambda x: x + 1))):
        assert same(dynamic(X), X + 1)
        with pytest.raises(ValueError):
            dynamic(T(np.ones((2, 4))))
        with pytest.raises(TypeError):
            dynamic(XI)
    with pytest.raises(ValueError, match="no argument 'y'"):
        ms.enable_dynamic(y=d)(lambda x: x)


# -- the rest ----------------------------------------------------------------------------------------------------------
def test_parameters_of_a_cell_by_themselves():
    net = nn.Dense(2, 2)
    found = net.init_parameters_data()
    assert len(found) == 2 and all(a is b for a, b in found.items())


def test_a_schedule_of_ones_own_reads_the_last_rates():
    from pijit.experimental import optim

    class Halved(optim.lr_scheduler.LRScheduler):
        def get_lr(self):
            return [rate * 0.5 if self.last_epoch == 0 else rate * 1.0 for rate in self._last_lr]

    scheduler = Halved(optim.SGD(nn.Dense(2, 2).trainable_params(), 0.01))
    scheduler.step()
    assert abs(float(scheduler.get_last_lr()[0].item()) - 0.005) < 1e-6


def test_mix_up_has_a_share_for_each_image():
    out = vision.MixUp(batch_size=2, alpha=0.2, is_single=False)(np.ones((9, 9, 3), np.uint8), np.array([[0, 1]]))
    assert out[0].shape == (2, 9, 9, 3) and out[1].shape == (2, 2)
    out = vision.MixUp(batch_size=1, alpha=0.2)(np.ones((4, 9, 9, 3), np.uint8), np.ones((4, 3, 10)))
    assert out[0].shape == (4, 9, 9, 3) and out[1].shape == (4, 3, 10)


def test_a_waited_callback_is_one_of_training():
    from pijit.dataset import DSCallback, WaitedDSCallback
    assert issubclass(WaitedDSCallback, (ms.train.Callback,)) and issubclass(WaitedDSCallback, DSCallback)


# -- gradients where operands are equal, or an element is at a bound ---------------------------------------------------
Z = T([-3, -1, 0, 1, 3, 6])


@pytest.mark.parametrize("f, expected", [
    (lambda z: ops.maximum(z, 1.0), [0, 0, 0, 0.5, 1, 1]), (lambda z: ops.Maximum()(1.0, z), [0, 0, 0, 0.5, 1, 1]),
    (lambda z: ops.minimum(z, T(1.0)), [1, 1, 1, 0.5, 0, 0]), (lambda z: mint.maximum(z, z * 1), [1] * 6),
    (lambda z: mnp.maximum(z, 1), [0, 0, 0, 0.5, 1, 1]),
    (lambda z: ops.clip_by_value(z, -1, 1), [0, 0.5, 1, 0.5, 0, 0]),
    (lambda z: ops.clip_by_value(z, T(-1.0), T(1.0)), [0, 0.5, 1, 0.5, 0, 0]),
    (lambda z: mnp.clip(z, -1, 1), [0, 0.5, 1, 0.5, 0, 0]), (lambda z: ops.hardtanh(z), [0, 0.5, 1, 0.5, 0, 0]),
    (lambda z: ops.clamp(z, -1.0, 1.0), [0, 1, 1, 1, 0, 0]), (lambda z: z.clip(-1.0, 1.0), [0, 1, 1, 1, 0, 0]),
    (lambda z: ops.clamp(z, T(-1.0), T(1.0)), [0, 1, 1, 1, 0, 0]),
    (lambda z: ops.leaky_relu(z, 0.1), [0.1, 0.1, 0.55, 1, 1, 1]),
    (lambda z: ops.leaky_relu(z, 1.5), [1.5, 1.5, 1.25, 1, 1, 1]),
    (lambda z: ops.relu(z), [0, 0, 0, 1, 1, 1]), (lambda z: ops.abs(z), [-1, -1, 0, 1, 1, 1]),
    (lambda z: ops.margin_ranking_loss(z, z * 0, T(np.ones(6)), reduction="sum"), [-1, -1, -1, 0, 0, 0]),
    (lambda z: ops.fmax(z, 1.0), [0, 0, 0, 1, 1, 1]), (lambda z: ops.fmax(T(1.0), z), [0, 0, 0, 0, 1, 1]),
    (lambda z: ops.fmin(z, 1.0), [1, 1, 1, 1, 0, 0]), (lambda z: ops.fmax(z, T(np.nan)), [1] * 6),
    (lambda z: ops.fmax(T(np.nan), z), [1] * 6),
    (lambda z: ops.adaptive_max_pool2d((z * 0 + 2).reshape(1, 1, 2, 3), 1), [0] * 6),
    (lambda z: ops.adaptive_max_pool2d(ops.relu(z - 3).reshape(1, 1, 1, 6), (1, 2)), [0, 0, 0, 0, 0, 1]),
    (lambda z: ops.adaptive_max_pool2d(ops.minimum(z, 1e9).clip(-1, 1).reshape(1, 1, 1, 6), 1), [0, 0, 0, 1, 0, 0]),
    (lambda z: ops.dist(z, z), [0] * 6), (lambda z: ops.cosine_similarity(z * 0, z, 0), [0] * 6),
])
def test_gradients_at_ties(f, expected):
    for g in (ms.grad(f), ms.jit(ms.grad(f)), ms.grad(ms.jit(f))):
        np.testing.assert_allclose(g(Z).asnumpy(), expected, 1e-6)


def test_bounds_that_are_not_numbers():
    x, nan = T([np.nan, 1, 5]), T(np.nan)
    assert same(ops.clamp(x, 2.0, 3.0), T([np.nan, 2, 3])) and same(ops.clip_by_value(x, 2.0, 3.0), T([np.nan, 2, 3]))
    assert np.isnan(ops.clamp(x, nan).asnumpy()).all()
    assert same(ops.clamp(XI, 0, 2), T([[2, 2, 1], [2, 2, 0]], np.int64))


# -- NumPy's functions of Tensors --------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", "all any max min sum prod mean std var".split())
@pytest.mark.parametrize("kwargs", [{}, {"axis": 0}, {"axis": 1, "keepdims": True}])
def test_numpy_functions_take_tensors(name, kwargs):
    got, expected = getattr(np, name)(X, **kwargs), getattr(np, name)(X.asnumpy(), **kwargs)
    assert isinstance(got, Tensor)
    np.testing.assert_allclose(got.asnumpy(), expected, 1e-6)


def test_numpy_functions_with_a_dtype_or_a_start():
    assert np.sum(X, dtype=np.float64).dtype == ms.float64 and np.sum(X, initial=5) == 20
    assert np.std(X, ddof=1).shape == () and np.max(X, initial=50) == 50
    with pytest.raises(TypeError):
        np.sum(X, out=np.zeros(()))


# -- layers and jit ----------------------------------------------------------------------------------------------------
def test_weights_of_1d_convolutions():
    x, w = T(np.arange(8).reshape(1, 2, 4)), np.random.RandomState(0).randn(3, 2, 2).astype(np.float32)
    three = nn.Conv1d(2, 3, 2, pad_mode="valid", weight_init=Tensor(w))
    four = nn.Conv1d(2, 3, 2, pad_mode="valid", weight_init=Tensor(w[:, :, None]))
    assert three.weight.shape == (3, 2, 1, 2) and same(three(x), four(x))
    w = T(np.ones((2, 3, 2)))
    assert nn.Conv1dTranspose(2, 3, 2, pad_mode="valid", weight_init=w)(x).shape == (1, 3, 5)
    with pytest.raises(ValueError):
        nn.Conv3d(2, 3, 2, weight_init=T(np.ones((3, 2, 2))))


def test_ranges_as_arrays():
    assert same(ops.tuple_to_array(range(3)), T([0, 1, 2], np.int32))


def test_a_cell_whose_construct_is_the_jitted_cell():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(2, 2)

        def construct(self, x):
            return self.dense(x) * 2

    net = Net()
    expected = net(X[:, :2])
    net.construct = ms.jit(net)
    assert same(net(X[:, :2]), expected) and [n for n, _ in net.cells_and_names()] == ["", "dense"]
    assert isinstance(ms.jit(net), Net)
    whole = Net()
    whole.construct = ms.jit(whole, fullgraph=True)
    assert whole(X[:, :2]).shape == (2, 2)


def test_explicit_pijit_has_no_effect_in_graph_mode():
    calls = []

    def f(x):
        calls.append(1)  # a call by Python
        return ops.relu(x) * 2

    def graphs(g):
        before = ms._C.graphs_run()
        for _ in range(3):
            g(X)
        return ms._C.graphs_run() - before

    explicit, plain = ms.jit(f, mode="PIJit"), ms.jit(f)
    assert graphs(explicit) > 0 and graphs(plain) > 0
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        assert graphs(explicit) == 0 and graphs(plain) > 0

        class Net(nn.Cell):
            def construct(self, x):
                return explicit(x) + 1
        net = Net()
        assert graphs(net) > 0 and same(net(X), ops.relu(X) * 2 + 1)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


# -- draws and losses of sequences -------------------------------------------------------------------------------------
@pytest.mark.parametrize("args, expected", [
    ((8, 0), [0, 2, 1, 5, 3, 6, 4, 7]), ((8, 1), [1, 0, 2, 5, 7, 4, 6, 3]), ((8, 7), [2, 7, 6, 4, 1, 5, 3, 0]),
    ((8, 1, 3), [3, 1, 0, 5, 2, 6, 4, 7]), ((8, 0, 5), [3, 0, 5, 2, 4, 6, 7, 1]), ((4, 2), [2, 0, 3, 1]),
    ((0, 1), []), ((1, 1), [0])])
def test_permutations_by_a_seed(args, expected):
    assert ops.randperm(*args).asnumpy().tolist() == expected


@pytest.mark.parametrize("n, digest", [(1001, "b1d84311f95e3f2c824c1a037ca8c960"),
                                       (65535, "12dd56a3c804305a2e66a490602b0daa"),
                                       (70001, "e1ae282c1668cfa69d4b71d6b7195b69")])
def test_long_permutations_by_a_seed(n, digest):
    assert hashlib.md5(str(ops.randperm(n, 3, 0).asnumpy().tolist()).encode()).hexdigest() == digest


def test_permutations_without_a_seed_differ():
    assert ops.randperm(100).asnumpy().tolist() != ops.randperm(100).asnumpy().tolist()


def test_ctc_loss_of_labels_that_do_not_fit():
    x = T(np.random.RandomState(0).randn(4, 2, 4))
    at, labels = T([[0, 0], [0, 1], [0, 2], [1, 0]], np.int64), T([0, 0, 1, 2], np.int32)
    losses, gradient = ops.CTCLoss()(x, at, labels, T([3, 4], np.int32))
    assert np.isposinf(losses.asnumpy()[0]) and np.isfinite(losses.asnumpy()[1])
    assert (gradient.asnumpy()[:, 0] == 0).all() and (gradient.asnumpy()[:, 1] != 0).any()
    with pytest.raises(RuntimeError):
        ops.CTCLoss()(x, at, labels, T([2, 4], np.int32))
    ignored = ops.CTCLoss(ignore_longer_outputs_than_inputs=True)(x, at, labels, T([2, 4], np.int32))
    assert np.isposinf(ignored[0].asnumpy()[0])


def test_segments_of_a_pipeline_are_kept():
    cell = nn.ReLU()
    assert not hasattr(cell, "pipeline_segment") and hasattr(nn.Cell, "pipeline_segment")
    cell.pipeline_segment = 1
    assert cell.pipeline_segment == 1
    for wrong, error in ((-1, ValueError), ("a", TypeError)):
        with pytest.raises(error):
            cell.pipeline_segment = wrong


def _product(a, b):
    parts = list(a.values()) if isinstance(a, dict) else a
    return parts[0] * parts[1] * b


CONTAINERS = {"tuple": lambda x, y: (x, y), "list": lambda x, y: [x, y], "dict": lambda x, y: {"u": x, "v": y},
              "number": lambda x, y: (x, 2.0)}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_gradients_by_containers(kind):
    x, y, z = (Tensor([float(k), k + 1.0]) for k in (1, 3, 5))
    make = CONTAINERS[kind]
    asked = [lambda a, b: ms.grad(_product, (0, 1))(a, b), lambda a, b: ms.grad(_product, 0)(a, b),
             lambda a, b: ms.grad(_product, 1)(a, b), lambda a, b: ms.value_and_grad(_product, (0, 1))(a, b)[1],
             lambda a, b: ops.GradOperation(get_all=True)(_product)(a, b),
             lambda a, b: ops.GradOperation()(_product)(a, b)]
    alone = (x * (2.0 if kind == "number" else y)).asnumpy().tolist()
    for f in asked:
        found = [run(make(x, y), z) for run in (f, ms.jit(f)) for _ in range(2)]
        shown = [g.asnumpy().tolist() if isinstance(g, Tensor) else [p.asnumpy().tolist() for p in g] for g in found]
        assert shown[0] in (alone, [alone], []) and all(s == shown[0] for s in shown)
    assert asked[1](make(x, y), z) == () and asked[5](make(x, y), z) == ()
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        by_first, by_second = asked[0](make(x, y), z)
        first = list(by_first.values()) if kind == "dict" else by_first
        assert type(by_first) is {"dict": dict, "list": list}.get(kind, tuple) and by_second.asnumpy().tolist() == alone
        assert first[0].asnumpy().tolist() == (z * (2.0 if kind == "number" else y)).asnumpy().tolist()
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


class _Product(nn.Cell):
    def construct(self, z):
        return z[0] * z[1]


class _ByPair(nn.Cell):
    """Gradients by a container that is an argument, and by one that is made in a graph."""

    def __init__(self):
        super().__init__()
        self.net = _Product()

    def construct(self, pair, x, y):
        return (ops.GradOperation()(self.net)(pair), ms.grad(self.net)((x, y)), ms.grad(self.net)([x, y]),
                ops.GradOperation(get_all=True)(self.net)(pair))


def test_gradients_by_containers_inside_of_graphs():
    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    assert _ByPair()((x, y), x, y) == ((), (), (), ())
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        for pair in (ms.mutable((x, y)), (x, y), ms.mutable([x, y])):
            of_pair, of_made, of_list, (again,) = _ByPair()(pair, x, y)
            assert type(of_pair) is type(again) is (list if isinstance(pair, list) else tuple)
            assert type(of_made) is tuple and type(of_list) is list
            for g in (of_pair, of_made, of_list, again):
                assert [p.asnumpy().tolist() for p in g] == [[3.0, 4.0], [1.0, 2.0]]
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
