"""Gather, scatter, the first k in order, distances: against NumPy, over dtypes, shapes and sizes that run in
parallel."""

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, ops
from tests.python.differential import check
from tests.python.test_ops import numeric_gradient
from tests.python.pairs import pairs

raw = ms._C.ops
DTYPES = [np.float32, np.float64, np.int32, np.int64, np.float16, np.uint8, np.bool_]


def values(r, shape, dtype):
    return (r.randn(*shape) * 9).astype(dtype)


@pytest.mark.parametrize("index", [np.int32, np.int64, np.int16])
@pytest.mark.parametrize("dtype", DTYPES)
def test_gather(dtype, index):
    r = np.random.RandomState(0)
    for shape, axis, m in (((7, 5), 0, (3,)), ((7, 5), 1, (4, 2)), ((3, 400, 4), 1, (900,)), ((5000, 16), 0, (6000,)),
                           ((4,), 0, ()), ((3, 2), 1, (0,)), ((2, 0, 3), 0, (2,))):
        x, i = values(r, shape, dtype), r.randint(-shape[axis], shape[axis], m).astype(index)
        np.testing.assert_array_equal(raw["gather"](Tensor(x), Tensor(i), axis).asnumpy(),
                                      np.take(x, i.astype(np.int64), axis))
    for shape, axis in (((7, 5), 0), ((7, 5), 1), ((300, 200), 1), ((2, 300, 90), 1)):
        x = values(r, shape, dtype)
        full = list(shape)
        full[axis] = 11
        i = r.randint(-shape[axis], shape[axis], full).astype(index)
        np.testing.assert_array_equal(raw["gather_d"](Tensor(x), Tensor(i), axis).asnumpy(),
                                      np.take_along_axis(x, i.astype(np.int64), axis))
    x, i = values(r, (40, 50, 3), dtype), np.stack([r.randint(-40, 40, 9000), r.randint(0, 50, 9000)], -1).astype(index)
    np.testing.assert_array_equal(raw["gather_nd"](Tensor(x), Tensor(i)).asnumpy(), x[tuple(i.T.astype(np.int64))])


@pytest.mark.parametrize("mode", ["update", "add", "sub", "mul", "max", "min"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_scatter(dtype, mode):
    """Updates of one place are applied in order, however many threads there are."""
    r = np.random.RandomState(1)
    apply = {"update": lambda a, b: b, "add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum,
             "min": np.minimum}[mode]
    for n, block, m in ((9, 1, 20), (50, 1, 20000), (4500000, 1, 40000), (500, 4, 8000), (30, 700, 60)):
        x, i, u = (values(r, (n, block), dtype), r.randint(-n, n, (m, 1)),
                   np.sign(values(r, (m, block), dtype)) + dtype(0))
        want = x.copy()
        for k in range(m):
            want[i[k, 0]] = apply(want[i[k, 0]], u[k])
        np.testing.assert_array_equal(raw["scatter_nd"](Tensor(x), Tensor(i), Tensor(u), mode).asnumpy(), want)
    for axis, shape in ((0, (50, 6)), (1, (64, 300))):
        x = values(r, shape, dtype)
        i, u = r.randint(-shape[axis], shape[axis], shape), np.sign(values(r, shape, dtype)) + dtype(0)
        want = x.copy()
        for p in np.ndindex(*shape):
            at = (i[p], p[1]) if axis == 0 else (p[0], i[p])
            want[at] = apply(want[at], u[p])
        np.testing.assert_array_equal(raw["scatter_d"](Tensor(x), Tensor(i), Tensor(u), axis, mode).asnumpy(), want)


@pytest.mark.parametrize("shape, axis, m",
                         [((9, 4), 0, 30), ((5, 700), 1, 900), ((2, 600, 3), 1, 5000), ((40, 1000), 0, 90)])
def test_index_add(shape, axis, m):
    r = np.random.RandomState(2)
    x = r.randn(*shape).astype(np.float32)
    i = r.randint(-shape[axis], shape[axis], m)
    u = r.randn(*shape[:axis], m, *shape[axis + 1:]).astype(np.float32)
    want = np.moveaxis(x.copy(), axis, 0)
    for k in range(m):
        want[i[k]] += np.moveaxis(u, axis, 0)[k]
    np.testing.assert_array_equal(raw["index_add"](Tensor(x), Tensor(i), Tensor(u), axis).asnumpy(),
                                  np.moveaxis(want, 0, axis))


def test_out_of_range():
    big = np.zeros(50000, np.int64)
    big[40000] = 7
    for f in (lambda i: raw["gather"](Tensor(np.zeros((5, 2))), i, 0),
              lambda i: raw["gather_d"](Tensor(np.zeros(5)), i, 0),
              lambda i: raw["gather_nd"](Tensor(np.zeros(5)), i.reshape(-1, 1)),
              lambda i: raw["scatter_nd"](Tensor(np.zeros(5)), i.reshape(-1, 1), Tensor(np.zeros(i.shape)), "add"),
              lambda i: raw["scatter_d"](Tensor(np.zeros(5)), i, Tensor(np.zeros(i.shape)), 0, "add"),
              lambda i: raw["index_add"](Tensor(np.zeros(5)), i, Tensor(np.zeros(i.shape)), 0)):
        for i in (np.array([0, 5]), np.array([-6], np.int32), big):
            with pytest.raises(IndexError, match="out of range for a dimension of 5"):
                f(Tensor(i))
    with pytest.raises(IndexError, match="out of range for a dimension of 4500000"):  # by several threads
        raw["scatter_nd"](Tensor(np.zeros(4500000)), Tensor(np.full((40000, 1), 4500000)), Tensor(np.zeros(40000)),
                          "add")


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
def test_topk(dtype, largest):
    """The first k of the sorted line, equal values by their places, NaN the greatest."""
    r = np.random.RandomState(3)
    for shape, axis in (((6, 40), 1), ((40, 6), 0), ((3, 50, 4), 1), ((40000,), 0), ((70, 300), -1)):
        x = r.randint(0, 2 if dtype == np.bool_ else 30, shape).astype(dtype)
        if np.dtype(dtype).kind == "f":
            x.reshape(-1)[::17] = np.nan
            x.reshape(-1)[5::23] = -np.inf
        order = raw["argsort"](Tensor(x), axis, largest).asnumpy()
        for k in (0, 1, 7, shape[axis]):
            v, i = ops.topk(Tensor(x), min(k, shape[axis]), axis, largest)
            want = np.take(order, np.arange(min(k, shape[axis])), axis)
            np.testing.assert_array_equal(i.asnumpy(), want)
            np.testing.assert_array_equal(v.asnumpy(), np.take_along_axis(x, want, axis))
    with pytest.raises(ValueError):
        ops.topk(Tensor(x), 301)
    with pytest.raises(ValueError):
        raw["topk"](Tensor(x), 301)
    assert ops.topk(Tensor(np.zeros((0, 4), np.float32)), 2)[0].shape == (0, 2)


def test_topk_in_graphs_batches_and_gradients():
    x = Tensor(np.random.RandomState(4).randn(5, 9).astype(np.float32))
    check(lambda: lambda v: ops.topk(v, 3), x)
    np.testing.assert_array_equal(ms.vmap(lambda v: ops.topk(v, 3)[0])(x).asnumpy(), ops.topk(x, 3)[0].asnumpy())
    g = ms.grad(lambda v: ops.topk(v, 3)[0].sum())(x).asnumpy()
    np.testing.assert_array_equal(g, (x.asnumpy() >= np.sort(x.asnumpy(), 1)[:, 6:7]).astype(np.float32))


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 2, 3.0, float("inf")])
def test_cdist(p):
    r = np.random.RandomState(5)
    for a, b in (((4, 3), (6, 3)), ((2, 3, 5), (2, 4, 5)), ((70, 40), (130, 40)), ((7, 300), (19, 300)),
                 ((5, 90, 9), (5, 33, 9)), ((3, 0), (2, 0)), ((0, 3), (2, 3))):
        if p == float("inf") and a[-1] == 0:
            continue
        x, y = r.randn(*a), r.randn(*b)
        d = np.abs(x[..., :, None, :] - y[..., None, :, :])
        want = (d != 0).sum(-1) if p == 0 else d.max(-1) if p == float("inf") else (d ** p).sum(-1) ** (1 / p)
        np.testing.assert_allclose(ops.cdist(Tensor(x), Tensor(y), p).asnumpy(), want, rtol=1e-10)
        narrow = ops.cdist(Tensor(x.astype(np.float32)), Tensor(y.astype(np.float32)), p).asnumpy()
        np.testing.assert_allclose(narrow, want, rtol=1e-5, atol=1e-6)
    if p in (0, float("inf")):
        return
    xs = [r.randn(2, 4, 3), r.randn(2, 5, 3)]
    w = Tensor(r.randn(2, 4, 5))
    got = ms.grad(lambda a, b: (ops.cdist(a, b, p) * w).sum(), (0, 1))(*map(Tensor, xs))
    for k in (0, 1):
        want = numeric_gradient(lambda v: (ops.cdist(*[Tensor(v if j == k else xs[j]) for j in (0, 1)], p) *
                                           w).sum().item(), xs[k])
        np.testing.assert_allclose(got[k].asnumpy(), want, rtol=1e-5, atol=1e-6)
    one = Tensor(xs[0][0])
    assert np.isfinite(ms.grad(lambda a: ops.cdist(a, a, p).sum())(one).asnumpy()).all()
    np.testing.assert_array_equal(ms.vmap(lambda a: ops.cdist(a, one, p))(Tensor(xs[0])).asnumpy()[1],
                                  ops.cdist(Tensor(xs[0][1]), one, p).asnumpy())
    check(lambda: lambda a, b: ops.cdist(a, b, p), *map(Tensor, xs))


@pytest.mark.parametrize("shape",
                         [(), (5,), (0,), (64,), (130,), (3, 4), (2, 0, 3), (2, 3, 4, 5), (90001,), (300, 301),
                          (40000, 3), (7, 1, 9000)])
@pytest.mark.parametrize("dtype",
                         [np.bool_, np.uint8, np.int16, np.float16, np.float32, np.int32, np.float64, np.int64,
                          np.complex64, np.complex128])
def test_nonzero(shape, dtype):
    x = np.random.RandomState(6).randint(-1, 2, shape).astype(dtype)
    if x.size > 9 and np.dtype(dtype).kind in "fc":
        x.reshape(-1)[3:6] = -0.0, np.nan, x.dtype.type(np.inf)
    np.testing.assert_array_equal(ops.nonzero(Tensor(x)).asnumpy(), np.argwhere(x))
    if shape:
        for got, want in pairs(ops.nonzero(Tensor(x), as_tuple=True), np.nonzero(x)):
            np.testing.assert_array_equal(got.asnumpy(), want)


def weights_of(n, size, align):
    """What linear resizing of an axis multiplies by: [size, n]."""
    i = np.arange(size, dtype=np.float32)
    if align:
        at = i * np.float32((n - 1) / (size - 1) if size > 1 else 0.0)
    else:
        at = np.maximum((i + np.float32(0.5)) * np.float32(n / size) - np.float32(0.5), np.float32(0))
    low = np.minimum(np.floor(at), np.float32(n - 1))
    share, low, w = np.float64(at - low), low.astype(int), np.zeros((size, n))
    w[np.arange(size), low] += 1 - share
    w[np.arange(size), np.minimum(low + 1, n - 1)] += share
    return w


@pytest.mark.parametrize("align", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_resize_linear(dtype, align):
    """Along one to three axes, to more and fewer elements; the gradient is the adjoint."""
    r = np.random.RandomState(7)
    for lead, sizes, to in (((2,), (5,), (17,)), ((), (1,), (4,)), ((3, 2), (6, 9), (11, 31)),
                            ((2, 3), (9, 40), (4, 7)),
                            ((2, 4), (64, 70), (90, 101)), ((2,), (3, 5, 4), (4, 9, 8)), ((2,), (6, 2, 19), (1, 3, 5))):
        x = r.randn(*lead, *sizes).astype(dtype)
        letters = "abc"[:len(sizes)]
        terms = [weights_of(n, m, align) for n, m in pairs(sizes, to)]
        names = [f"{k.upper()}{k}" for k in letters]
        formula = f"...{letters},{','.join(names)}->...{letters.upper()}"
        near = {"rtol": 1e-5, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-12}
        y = raw["resize_linear"](Tensor(x), to, align)
        np.testing.assert_allclose(y.asnumpy(), np.einsum(formula, x, *terms), **near)
        ct = r.randn(*lead, *to).astype(dtype)
        back = f"...{letters.upper()},{','.join(names)}->...{letters}"
        g = ms.grad(lambda v: (raw["resize_linear"](v, to, align) * Tensor(ct)).sum())(Tensor(x))
        np.testing.assert_allclose(g.asnumpy(), np.einsum(back, ct, *terms), **near)
        again = ms.grad(lambda v: (ms.grad(lambda u: (raw["resize_linear"](u, to, align) ** 2).sum())(v) *
                                   Tensor(x)).sum())(Tensor(x))
        np.testing.assert_allclose(again.asnumpy(), 2 * np.einsum(back, np.einsum(formula, x, *terms), *terms),
                                   rtol=1e-4, atol=1e-4)


def test_resize_linear_elsewhere():
    r = np.random.RandomState(8)
    x = Tensor(r.randn(3, 2, 6, 5).astype(np.float32))
    one = ops.interpolate(x[0:1], size=(9, 11), mode="bilinear").asnumpy()
    np.testing.assert_array_equal(ms.vmap(lambda a: raw["resize_linear"](a, (9, 11)))(x).asnumpy()[0:1], one)
    check(lambda: lambda a: ops.interpolate(a, scale_factor=(1.5, 2.5), mode="bilinear"), x)
    check(lambda: ms.grad(lambda a: (ops.interpolate(a, size=(4, 13), mode="bilinear", align_corners=True) ** 2).sum()),
          x)
    scaled = ops.interpolate(x, scale_factor=(1.7, 2.3), mode="bilinear").asnumpy()
    rows = (np.arange(10, dtype=np.float32) + np.float32(0.5)) * np.float32(1 / 1.7) - np.float32(0.5)
    low = np.floor(np.maximum(rows, 0)).astype(int)
    assert low.max() == 5 and scaled.shape == (3, 2, 10, 11)
    half = ops.interpolate(Tensor(r.randn(1, 2, 3, 4).astype(np.float16)), size=(5, 7), mode="bilinear")
    assert half.dtype == ms.float16 and half.shape == (1, 2, 5, 7)
    for size in ((0, 3), (3, 3, 3, 3)):
        with pytest.raises(ValueError):
            raw["resize_linear"](x, size)


@pytest.mark.parametrize("f", [ops.unsorted_segment_max, ops.unsorted_segment_min])
@pytest.mark.parametrize("dtype", ["complex64", "complex128", "bool"])
def test_extrema_of_segments_are_of_what_has_an_order(f, dtype):
    x = Tensor(np.array([1, 2]).astype(dtype))
    with pytest.raises(TypeError, match="'x' must be of ints or floats"):
        f(x, Tensor(np.array([0, 1], np.int32)), 2)
