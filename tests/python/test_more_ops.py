"""Operators that MindSpore doesn't run on the CPU, random numbers by their moments, values that facts can't hold,
Tensor methods."""

import math

import numpy as np
import pytest

import pijit as ms
from tests.python.differential import check

T, ops = ms.Tensor, ms.ops
RNG = np.random.RandomState(0)
X = T(RNG.randn(3, 4).astype(np.float32))


@pytest.fixture(autouse=True)
def seeded():
    ms.set_seed(7)


def moments(x, mean, std, within=5.0):
    a = x.asnumpy().astype(np.float64).ravel()
    assert abs(a.mean() - mean) < within * std / math.sqrt(a.size), a.mean()
    assert abs(a.std() - std) < 0.06 * std, a.std()


N = 20000
DRAWS = {
    "laplace": (lambda: ops.laplace((N,), T(2.0), T(3.0)), 2, 3 * math.sqrt(2)),
    "standard_laplace": (lambda: ops.standard_laplace((N,)), 0, math.sqrt(2)),
    "gamma": (lambda: ops.gamma((N,), T(3.0), T(2.0)), 1.5, math.sqrt(3) / 2),
    "gamma below 1": (lambda: ops.gamma((N,), T(0.4), T(1.0)), 0.4, math.sqrt(0.4)),
    "random_gamma": (lambda: ops.random_gamma(T([N]), T(5.0)), 5, math.sqrt(5)),
    "poisson": (lambda: ops.poisson((N,), T(4.0)), 4, 2),
    "poisson of a large mean": (lambda: ops.random_poisson(T([N]), T(200.0)), 200, math.sqrt(200)),
    "truncated": (lambda: ops.ParameterizedTruncatedNormal()(T([N], ms.int32), T(1.0), T(2.0), T(-1.0), T(3.0)), 1,
                  2 * 0.5396),
    "log normal": (lambda: ops.log(ops.LogNormalReverse(1.0, 2.0)(ops.zeros((N,), ms.float32))), 1, 2),
    "random_": (lambda: ops.zeros((N,), ms.int32).random_(2, 12), 6.5, math.sqrt(99 / 12)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_moments(name):
    draw, mean, std = DRAWS[name]
    moments(draw(), mean, std)


@pytest.mark.parametrize("name", DRAWS)
def test_draws_are_one_graph(name):
    jitted = ms.jit(DRAWS[name][0])
    ms.set_seed(3)
    jitted()
    got = jitted().asnumpy()
    ms.set_seed(3)
    DRAWS[name][0]()
    np.testing.assert_array_equal(got, DRAWS[name][0]().asnumpy())


def test_cauchy_by_its_median():
    a = ops.Cauchy([N], 1.0, 2.0)().asnumpy()
    assert abs(np.median(a) - 1) < 0.1 and abs(np.percentile(a, 75) - 3) < 0.2


def test_shapes_of_draws():
    assert ops.gamma((2, 3), T([1.0, 2.0]), T([[1.0], [2.0]])).shape == (2, 3, 2, 2)
    assert ops.random_poisson(T([5]), T([1.0, 2.0]), dtype=ms.int32).dtype == ms.int32
    assert ops.random_categorical(X, 6).shape == (3, 6) and ops.RandomCategorical(ms.int32)(X, 6, 0).dtype == ms.int32
    with pytest.raises(TypeError):
        ops.random_gamma((3,), T(1.0))
    with pytest.raises(ValueError):
        ops.laplace((0,), T(1.0), T(1.0))


def test_samples_of_classes():
    true = T([[1, 7], [0, 4], [3, 3]], ms.int64)
    drawn, of_true, of_drawn = ops.log_uniform_candidate_sampler(true, 2, 5, True, 7)
    assert len(set(drawn.asnumpy().tolist())) == 5 and of_true.shape == (3, 2) and of_drawn.shape == (5,)
    assert (of_true.asnumpy() > 0).all() and (of_true.asnumpy() <= 1).all()
    drawn, of_true, of_drawn = ops.uniform_candidate_sampler(true, 2, 3, False, 4)
    np.testing.assert_allclose(of_true.asnumpy(), np.full((3, 2), 0.75), rtol=1e-6)
    with pytest.raises(ValueError):
        ops.uniform_candidate_sampler(true, 2, 9, True, 4)


def test_choice_with_mask():
    x = T(np.array([[1, 0], [1, 1], [0, 1]], bool))
    at, mask = ops.choice_with_mask(x, 6)
    found = {tuple(p) for p, m in zip(at.asnumpy().tolist(), mask.asnumpy()) if m}
    assert found == {(0, 0), (1, 0), (1, 1), (2, 1)} and mask.asnumpy().sum() == 4 and at.dtype == ms.int32


def test_dropout_by_bits():
    mask = ops.DropoutGenMask()((100, 30), T(0.75))
    assert mask.dtype == ms.uint8 and mask.shape == (-(-3000 // 128) * 16,)
    y = ops.DropoutDoMask()(ops.ones((100, 30), ms.float32), mask, T(0.75)).asnumpy()
    assert set(np.unique(y)) == {0.0, np.float32(1 / 0.75)} and abs((y > 0).mean() - 0.75) < 0.05


def test_fractional_pooling():
    x = T(np.arange(49, dtype=np.float32).reshape(1, 7, 7, 1))
    for op, reduce in ((ops.FractionalMaxPool, np.max), (ops.FractionalAvgPool, np.mean)):
        for pseudo in (False, True):
            y, rows, columns = op([1.0, 1.6, 1.7, 1.0], pseudo_random=pseudo)(x)
            r, c = rows.asnumpy(), columns.asnumpy()
            assert y.shape == (1, 4, 4, 1) and r[0] == 0 and r[-1] == 7 and (np.diff(r) >= 1).all()
            want = [[reduce(x.asnumpy()[0, a:b, p:q, 0]) for p, q in zip(c, c[1:])] for a, b in zip(r, r[1:])]
            np.testing.assert_allclose(y.asnumpy()[0, :, :, 0], want, rtol=1e-6)


def test_nextafter_of_float32():
    a = np.array([0.0, 1, 1, np.inf, np.nan, 1e-45, -3], np.float32)
    b = np.array([1.0, 2, 0, 0, 1, -1, -4], np.float32)
    np.testing.assert_array_equal(ops.nextafter(T(a), T(b)).asnumpy(), np.nextafter(a, b))
    check(lambda: lambda x, y: ops.nextafter(x, y), T(a), T(b), breaks=0)


def test_gradient_of_betainc():
    f = lambda x: ops.Betainc()(T([2.0, 3.0]), T([3.0, 0.5]), x).sum()  # noqa: E731
    x = T([0.3, 0.6])
    want = [(f(x + T(d)).item() - f(x - T(d)).item()) / 2e-3 for d in ([1e-3, 0.0], [0.0, 1e-3])]
    np.testing.assert_allclose(ms.grad(f)(x).asnumpy(), want, rtol=2e-3)
    with pytest.raises(RuntimeError):
        ms.grad(lambda a: ops.Betainc()(a, T([1.0]), T([0.5])).sum())(T([2.0]))


# of the formulas, where MindSpore has no kernel for the CPU
def test_counts():
    m = ops.ConfusionMatrix(3)(T([0, 1, 2], ms.int32), T([0, 2, 2], ms.int32))
    np.testing.assert_array_equal(m.asnumpy(), [[1, 0, 0], [0, 0, 1], [0, 0, 1]])
    h = ops.HistogramFixedWidth(5)(T([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0]), T([0.0, 5.0]))
    np.testing.assert_array_equal(h.asnumpy(), [2, 1, 1, 0, 2])
    rows, columns, least = ops.ComputeAccidentalHits(2)(T([[1, 7], [3, 5]], ms.int64), T([5, 7, 1], ms.int64))
    assert (rows.asnumpy().tolist() == [0, 0, 1] and columns.asnumpy().tolist() == [2, 1, 0]
            and (least.asnumpy() < -1e38).all())
    assert (ops.FloatStatus()(T([1.0, np.inf])).asnumpy().tolist() == [1]
            and ops.FloatStatus()(X).asnumpy().tolist() == [0])


def test_images():
    x = T(np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4))
    y = ops.ExtractImagePatches([1, 1, 2, 2], [1, 1, 2, 2], [1, 1, 1, 1], "VALID")(x)
    np.testing.assert_array_equal(y.asnumpy()[0, :, 0, 0], [0, 1, 4, 5])
    assert ops.ExtractImagePatches([1, 1, 3, 3], [1, 1, 1, 1], [1, 1, 1, 1], "SAME")(x).shape == (1, 9, 4, 4)
    y = ops.Dilation2D(1, 1, "VALID")(x, ops.ones((1, 2, 2), ms.float32))
    np.testing.assert_array_equal(y.asnumpy()[0, 0], np.array([[5, 6, 7], [9, 10, 11], [13, 14, 15]]) + 1)
    kept = ops.NonMaxSuppressionV3()(T([[1, 2, 3, 4], [1, 3, 3, 4], [1, 3, 4, 4], [1, 1, 4, 4], [1, 1, 3, 4]],
                                       ms.float32),
                                     T([0.4, 0.5, 0.72, 0.9, 0.45]), T(5), T(0.5), T(0.0))
    assert kept.asnumpy().tolist() == [3, 2, 0]


def test_places_outside_by_whole_pixels():
    x = T(np.arange(16, dtype=np.float32).reshape(1, 4, 4, 1))
    y = ops.crop_and_resize(x, T([[0.0, 0.0, 1.0, 1.0]]), T([0], ms.int32), (4, 4), "bilinear_v2")
    np.testing.assert_allclose(y.asnumpy()[0, :, :, 0], x.asnumpy()[0, :, :, 0], atol=1e-6)


def test_steps():
    p, a = ms.Parameter(T([1.0, 2.0]), name="p"), ms.Parameter(T([0.5, 0.5]), name="a")
    ops.ApplyKerasMomentum()(p, a, T(0.1), T([1.0, 1.0]), T(0.9))
    np.testing.assert_allclose(a.asnumpy(), [0.35, 0.35], rtol=1e-6)
    np.testing.assert_allclose(p.asnumpy(), [1.35, 2.35], rtol=1e-6)
    p, a = ms.Parameter(T([1.0, 2.0]), name="p"), ms.Parameter(T([0.5, 0.5]), name="a")
    ops.FusedWeightScaleApplyMomentum()(T(0.1), T(2.0), p, a, T(0.1), T([1.0, 1.0]), T(0.9))
    np.testing.assert_allclose(a.asnumpy(), [0.45 + 2.1, 0.45 + 2.2], rtol=1e-6)


def test_layers_of_transformers():
    a, b = X, T(RNG.randn(3, 4).astype(np.float32))
    g = T(np.arange(1, 5, dtype=np.float32))
    y, rstd, x = ops.add_rms_norm(a, b, g)
    s = a.asnumpy() + b.asnumpy()
    np.testing.assert_allclose(y.asnumpy(), s / np.sqrt((s * s).mean(-1, keepdims=True) + 1e-6) * g.asnumpy(),
                               rtol=1e-5)
    y, m, _, x = ops.add_layer_norm(a, b, g, g, additional_output=True)
    np.testing.assert_allclose(m.asnumpy(), s.mean(-1, keepdims=True), atol=1e-6)
    np.testing.assert_allclose(x.asnumpy(), s, rtol=1e-6)
    h = s[:, :2] / (1 + np.exp(-s[:, :2])) * s[:, 2:]
    np.testing.assert_allclose(ops.swiglu(T(s)).asnumpy(), h, rtol=1e-5)
    c, n = T(np.full((1, 4), 0.5, np.float32)), T(np.full((1, 4), 2.0, np.float32))
    np.testing.assert_allclose(ops.rotary_position_embedding(T(s), c, n).asnumpy(),
                               s * 0.5 + np.concatenate([-s[:, 2:], s[:, :2]], 1) * 2, rtol=1e-5)
    np.testing.assert_allclose(ops.rotary_position_embedding(T(s), c, n, 1).asnumpy(),
                               s * 0.5 + np.stack([-s[:, 1::2], s[:, ::2]], -1).reshape(3, 4) * 2, rtol=1e-5)
    check(lambda: lambda u, v: ops.rotary_position_embedding(ops.swiglu(ops.cat([u, v], -1)), c, n), a, b, breaks=0)


def test_lstm_primitive():
    """As the cell computes it, with weights in one column."""
    net = ms.nn.LSTM(4, 3, num_layers=2, bidirectional=True)
    ps = {n.rpartition(".")[2]: p for n, p in net.parameters_dict().items()}
    names = [f"{{}}_l{k}{d}" for k in range(2) for d in ("", "_reverse")]
    w = [ps[n.format(kind)].asnumpy().ravel() for n in names for kind in ("weight_ih", "weight_hh")]
    w += [ps[n.format(kind)].asnumpy().ravel() for n in names for kind in ("bias_ih", "bias_hh")]
    x, h, c = (T(RNG.randn(*s).astype(np.float32)) for s in ((5, 2, 4), (4, 2, 3), (4, 2, 3)))
    want, (hw, cw) = net(x, (h, c))
    got = ops.LSTM(4, 3, 2, True, True, 0.0)(x, h, c, T(np.concatenate(w).reshape(-1, 1, 1)))
    for g, e in zip(got, (want, hw, cw)):
        np.testing.assert_allclose(g.asnumpy(), e.asnumpy(), rtol=1e-4, atol=1e-6)


def test_gradients_on_their_way():
    f = lambda x: (ops.InsertGradientOf(lambda d: d * 10)(x) * 3).sum()  # noqa: E731
    assert ms.grad(f)(T([1.0, 2.0])).asnumpy().tolist() == [30, 30]


def test_dumps(tmp_path):
    ops.TensorDump()(str(tmp_path / "a.npy"), X)
    ops.tensordump(str(tmp_path / "b"), X)
    files = sorted(p.name for p in tmp_path.iterdir())
    assert files[0].startswith("a_float32_") and files[1].startswith("b_float32_")
    np.testing.assert_array_equal(np.load(tmp_path / files[0]), X.asnumpy())
    with pytest.raises(TypeError):
        ops.tensordump(3, X)


def test_in_place():
    for name, want in (("tanh_", np.tanh), ("zero_", np.zeros_like),
                       ("inplace_sigmoid", lambda a: 1 / (1 + np.exp(-a)))):
        x = T(X.asnumpy().copy())
        assert getattr(ops, name)(x) is not None
        np.testing.assert_allclose(x.asnumpy(), want(X.asnumpy()), rtol=1e-5)
    x = T(X.asnumpy().copy())
    x.put_(T([0, 11]), T([7.0, 8.0]))
    assert x.asnumpy()[0, 0] == 7 and x.asnumpy()[2, 3] == 8
    x.put_(T([0, 0]), T([1.0, 2.0]), True)
    assert x.asnumpy()[0, 0] == 10
    x.index_put_((T([1]), T([1])), T([5.0]))
    x.masked_scatter_(x == 8, T([4.0, 3.0]))
    x.fill_diagonal_(2.5)
    assert x.asnumpy()[1, 1] == 2.5 and x.asnumpy()[2, 3] == 4


def test_kthvalue():
    values, at = X.kthvalue(2)
    np.testing.assert_array_equal(values.asnumpy(), np.sort(X.asnumpy(), -1)[:, 1])
    np.testing.assert_array_equal(at.asnumpy(), np.argsort(X.asnumpy(), -1)[:, 1])
    assert X.kthvalue(1, 0, True)[0].shape == (1, 4) and T(3.0).kthvalue(1)[0].shape == () and at.dtype == ms.int64
    with pytest.raises(ValueError):
        X.kthvalue(5)
    check(lambda: lambda x: x.kthvalue(2, 0), X, breaks=0)


def test_memory():
    assert X.get_bytes() == X.asnumpy().tobytes() and X.device == "CPU" and not X.is_pinned() and X.hooks() == ()
    np.testing.assert_array_equal(T.convert_bytes_to_tensor(X.get_bytes(), (3, 4), ms.float32).asnumpy(), X.asnumpy())
    p = ms.Parameter(X, name="p")
    p.requires_grad_(False)
    assert not p.requires_grad and p.comm_fusion == 1 and p.key == -1 and p.cache_shape == []
    x = T([1.5, 2.5])
    assert x.set_dtype(ms.int32) == ms.int32 and x.dtype == ms.int32 and x.asnumpy().tolist() == [1, 2]
    with pytest.raises(ValueError):
        _ = T([1.0]).H


def test_random_ints_of_a_wide_range():
    x = ops.zeros((1000,), ms.int64).random_()
    a = x.asnumpy()
    assert a.min() >= 0 and a.max() > 2 ** 60 and len(set(a.tolist())) == 1000
    a = ops.NonDeterministicInts()(T([1000], ms.int32)).asnumpy()
    assert a.dtype == np.int64 and (a < 0).any() and (a > 2 ** 60).any()
    a = ops.zeros((1000,), ms.float32).random_().asnumpy()
    assert a.max() <= 2 ** 24 and (a == np.floor(a)).all()
    with pytest.raises(ValueError):
        X.random_(5, 2)


def test_help_on_operators():
    """Operators that are objects of the extension have signatures, by whose names they are called, and texts."""
    import inspect
    import pydoc
    missing, seen = [], 0
    for name in ops.function.__all__:
        op = getattr(ops, name)
        if type(op).__name__ != "OpFunction":
            continue
        seen += 1
        if not op.__doc__ or "\n\n" not in op.__doc__:
            missing.append(name)
            continue
        ints = any(n in name for n in ("bitwise", "shift", "invert"))
        values = {"condition": T([True]), "exponent": T([1.5]), "input": T([2]) if ints else T([0.5]),
                  "other": T([1]) if ints else T([0.25])}
        arguments = {n: values[n] for n in inspect.signature(op).parameters}
        assert op(**arguments).shape == (1,), name
    assert not missing and seen > 60
    assert "input + other" in pydoc.render_doc(ops.add) and str(inspect.signature(ops.pow)) == "(input, exponent)"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_division_by_a_power_of_two(dtype):
    """It is multiplication by the inverse, where that has one: the same bits."""
    info = np.finfo(dtype)
    r = np.random.RandomState(0)
    x = np.concatenate([r.randn(200) * 10.0 ** r.randint(-30, 30, 200),
                        [0.0, -0.0, np.inf, -np.inf, np.nan, info.max, info.tiny,
                         info.smallest_subnormal]]).astype(dtype)
    for c in (1.0, 2.0, -4.0, 0.5, 1024.0, 2.0**100, 2.0**-100, float(info.tiny), -float(info.max) / 2, 2.0**127, 3.0,
              np.inf, 0.0, -0.0):
        with np.errstate(all="ignore"):
            want = x / dtype(c)
        for f in (lambda a: a / c, ms.jit(lambda a: a / c)):
            got = f(T(x)).asnumpy()
            np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(np.signbit(got[~np.isnan(want)]), np.signbit(want[~np.isnan(want)]))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_mish(dtype):
    """x tanh(log(1 + exp(x))) far out too, where exp(x) is no number of the dtype, and its derivative."""
    x = np.array([-40, -20, -5, -1, -1e-3, 0, 1e-3, 0.5, 1, 4, 5, 6, 11, 20, 21, 90, 800, 60000]).astype(dtype)
    wide = x.astype(np.float64)
    near = {"rtol": 4 * np.finfo(dtype).eps, "atol": 4 * np.finfo(dtype).smallest_subnormal}
    e = np.exp(np.minimum(wide, 700))
    np.testing.assert_allclose(ops.mish(T(x)).asnumpy(), wide * np.tanh(np.log1p(e)), **near)
    slope = np.tanh(np.log1p(e)) + wide * (1 - np.tanh(np.log1p(e)) ** 2) * e / (1 + e)
    got = ms.grad(lambda a: ops.mish(a).sum())(T(x)).asnumpy()
    np.testing.assert_allclose(got, slope, rtol=30 * np.finfo(dtype).eps, atol=30 * np.finfo(dtype).eps)


def test_functions_of_float32_in_one_kernel():
    """Side by side in a loop they give the bits that each gives alone, and so do their gradients and large blocks."""
    names = ("exp2 expm1 log2 log10 log1p sin asin acos atan sinh cosh asinh acosh atanh erf erfc cbrt mish "
             "softplus silu").split()

    def make():
        def f(x, y):
            alone = [getattr(ops, n)(x) for n in names] + [ops.pow(x, y), x**3, ops.atan2(x, y), ops.hypot(x, y)]
            return alone, sum(alone) * 0.5, ms.grad(lambda a: (ops.mish(a) * ops.pow(abs(a) + 1.0, y)).sum())(x)

        return f

    bits = RNG.randint(0, 1 << 32, 515, np.uint64).astype(np.uint32).view(np.float32)
    x = np.concatenate([bits, (RNG.randn(500) * 3).astype(np.float32), np.float32([0, -0.0, 1, -1, 2, 3])])
    check(make, T(x), T(x[::-1].copy()), breaks=0)
    large = T(RNG.randn(3, 1 << 18).astype(np.float32))
    check(lambda: lambda a: (ops.sin(a) + a * 2.0, a.max(0), a.argmin(1)), large, breaks=0)
