"""Gradients, tangents, Jacobians and vectorisation of functions that are written in NumPy, given ndarrays.

Each supported function is a row: its value is compared with NumPy's own, its gradients with central differences, its
tangents with its gradients, its vectorised form with a loop of NumPy."""

import math

import numpy as np
import pytest

import pijit
from pijit import nn, ops

RNG = np.random.default_rng(0)
X = RNG.uniform(0.2, 0.8, (3, 4))  # where all functions are smooth
Y = RNG.uniform(1.2, 1.8, (3, 4))
V = RNG.uniform(0.2, 0.8, 4)
W = RNG.uniform(0.2, 0.8, 4)
S = RNG.normal(size=(3, 3)) + 3 * np.eye(3)
P = S @ S.T
A3 = RNG.uniform(0.2, 0.8, (2, 3, 4))
MASK = RNG.random((3, 4)) > 0.5
PLACES = np.array([2, 0, 2, 1])


def symmetric(f):
    """A function of a symmetric matrix: of which half is read, and the gradient is shared by both, is its own."""
    return lambda a: f((a + np.swapaxes(a, -1, -2)) / 2)


def stores(x):
    y = x * 2
    y[0] = x[1] * 3
    y[1, ::2] += x[2, ::2]
    y[MASK] = 1.5
    y[[0, 2], [1, 1]] = x[0, :2]
    return y * x


def through_views(x):
    y = x + 0
    row, turned, flat = y[1], y.T, y.reshape(-1)
    row[1:] = x[0, 1:] ** 2
    turned[0] *= 5
    flat[-1] = x[0, 0]
    y[0, 0] = 7
    return y * row.sum() + turned.T * flat[0]


def filled(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i] * i
    y -= x
    return y


def of_python(x):
    total = 0.0
    for row in x:
        for v in row:
            total = total + (v * v if v > 0.5 else 3 * v)
    return total if total > 1 else -total


def newton(x):
    y = x.mean()
    while abs(y * y - x.sum()) > 1e-13:
        y = (y + x.sum() / y) / 2
    return y


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


UFUNCS = {name: (getattr(np, name), X) for name in
          "negative positive absolute fabs exp exp2 expm1 log log2 log10 log1p sqrt cbrt square reciprocal sin cos tan "
          "arcsin arccos arctan sinh cosh tanh arcsinh arctanh deg2rad rad2deg radians degrees".split()}
UFUNCS |= {name: (getattr(np, name), X, Y) for name in
           "add subtract multiply divide true_divide arctan2 hypot maximum minimum fmax fmin power float_power "
           "remainder mod fmod logaddexp logaddexp2 copysign".split()}
ROWS = UFUNCS | {
    "arccosh": (np.arccosh, Y),
    "operators": (lambda x, y: (x + 1) * (2 - y) / (x * y) - -x + (+y) ** x + y % 0.7 + abs(x), X, Y),
    "powers": (lambda x: x ** 2 + x ** 3.0 + x ** 0.5 + x ** -1 + x ** -2 + x ** 1 + x ** 0 + x ** 1.7 + 2 ** x, X),
    "constants on both sides": (lambda x: Y * x + x / Y - (Y - x) @ np.ones((4, 2)) @ np.ones((2, 4)), X),
    "constants left of @": (lambda x: np.ones((2, 3)) @ x, X),
    "numbers of NumPy": (lambda x: np.float64(3) * x + x * np.float64(2) - np.int32(1) + np.pi, X),
    "broadcasting": (lambda x, v: x * v + v[:, None].T * x[:, :1], X, V),
    "where": (lambda x, y: np.where(x > 0.5, x * y, np.sin(y)), X, Y),
    "where, constants": (lambda x: np.where(MASK, x, 0) + np.where(MASK, 1.5, x), X),
    "clip": (lambda x: np.clip(x, 0.3, 0.6) + x.clip(max=0.5) + np.clip(x, X.T.max(), None), X),
    "sum": (lambda x: np.sum(x * x) + x.sum(axis=0) + x.sum((0, 1), keepdims=True)
            + np.sum(x, -1, where=MASK).sum(), X),
    "mean": (lambda x: np.mean(x * x) + x.mean(axis=0) + x.mean((0, 1), keepdims=True) + np.mean(x, where=MASK), X),
    "prod": (lambda x: np.prod(x) + x.prod(axis=0) * np.prod(x, axis=(0, 1), initial=2), X),
    "max": (lambda x: np.max(x) * x.max(axis=0) + np.amax(x, axis=1).sum() + np.max(x, initial=0.9, where=MASK), X),
    "min": (lambda x: np.min(x) * x.min(axis=0) + np.amin(x, axis=1, keepdims=True).sum(), X),
    "var": (lambda x: np.var(x) + x.var(axis=0, ddof=1) + np.var(x, (0, 1), keepdims=True), X),
    "std": (lambda x: np.std(x) + x.std(axis=0, ddof=1), X),
    "cumsum": (lambda x: np.cumsum(x) + x.cumsum(axis=1).reshape(-1) + np.cumsum(x, 0).ravel(), X),
    "cumprod": (lambda x: np.cumprod(x) + x.cumprod(axis=1).reshape(-1), X),
    "cumprod, zeros": (lambda x: np.cumprod(x), np.array([0.5, 0.0, 2.0, 0.0, 3.0])),
    "ptp": (lambda x: np.ptp(x, axis=1), X),
    "average": (lambda x, w: np.average(x, axis=1, weights=w) + np.average(x), X, V),
    "median": (lambda x: np.median(x) + np.median(x, axis=0), X),
    "quantile": (lambda x: np.quantile(x, [0.1, 0.7], axis=0) + np.percentile(x, 30), X),
    "sort": (lambda x: np.sort(x) * np.arange(4) + np.sort(x, axis=0) * V + np.sort(x, None)[0], X),
    "ufunc methods": (lambda x: np.add.reduce(x) * np.multiply.reduce(x, axis=0) + np.maximum.reduce(x)
                      + np.add.accumulate(x) + np.multiply.outer(x[0], x[1])[0], X),
    "nansum": (lambda x: np.nansum(np.where(MASK, np.nan, x)) + np.nanmean(x, axis=0) + np.nanstd(x), X),
    "nanmax": (lambda x: np.nanmax(x, axis=0) + np.nanmin(x), X),
    "nan_to_num": (lambda x: np.nan_to_num(np.where(MASK, np.nan, x)), X),
    "dot": (lambda x, v: np.dot(x, v).sum() + np.dot(v, v) * x.dot(x.T) + np.dot(2.0, v).sum(), X, V),
    "dot of rank 3": (lambda a, x: np.dot(a, x.T) + np.dot(a, np.ones((2, 4, 3)))[..., 0, :], A3, X),
    "matmul": (lambda a, v: np.matmul(a, v).sum() + a @ a.swapaxes(1, 2) + (v @ v), A3, V),
    "inner": (lambda x, v: np.inner(x, v).sum() + np.inner(x, x), X, V),
    "outer": (lambda v, w: np.outer(v, w), V, W),
    "vdot": (lambda x, y: np.vdot(x, y), X, Y),
    "tensordot": (lambda a, x: np.tensordot(a, x) + np.tensordot(a, x, axes=([2, 1], [1, 0])), A3, X),
    "einsum": (lambda a, x: np.einsum("bij,ij->b", a, x)[:, None] + np.einsum("...ij, kj -> ...ik", a, x)[:, 0]
               + np.einsum("ii", x[:, :3]), A3, X),
    "kron": (lambda x, v: np.kron(x, v), X, V),
    "cross": (lambda a, b: np.cross(a, b) * np.cross(a.T, b.T, axis=0).T, S, P),
    "trace": (lambda x: np.trace(x) + x.trace(1), X),
    "diag": (lambda v: np.diag(v) + np.diag(np.diag(v), 0) + np.diagflat(v) + np.diag(v[:3], 1), V),
    "diagonal": (lambda x: np.diagonal(x) * x.diagonal(0)[::-1], X),
    "tril": (lambda x: np.tril(x) + np.triu(x, 1) * 2, X),
    "reshape": (lambda x: np.reshape(x, (4, 3)) * x.reshape(2, -1).reshape(4, 3) + x.ravel()[0] + x.flatten()[5]
                + np.reshape(x, (4, 3), order="F"), X),
    "transpose": (lambda a: np.transpose(a, (2, 0, 1)) * a.transpose(2, 0, 1) + a.T.sum() + a.mT.sum()
                  + np.moveaxis(a, 0, -1).transpose(1, 2, 0) + np.swapaxes(a, 0, 1).transpose(2, 1, 0), A3),
    "squeeze": (lambda x: np.squeeze(x[:, None]) + np.expand_dims(x, (0, 2)).squeeze((0, 2)) + np.atleast_3d(x)[..., 0]
                + np.atleast_1d(x), X),
    "concatenate": (lambda x, y: np.concatenate([x, y, np.ones((1, 4))]).sum(1).sum() * np.concatenate((x, y), axis=1)
                    + np.concatenate((x, y), axis=None)[:8], X, Y),
    "stack": (lambda x, y: np.stack([x, y], axis=1) + np.stack([x, np.ones((3, 4))], 1) * y[:, None], X, Y),
    "vstack": (lambda x, v: np.vstack([x, v]).sum() + np.hstack([x, x]) * np.hstack([v, v])
               + np.dstack([x, x])[0, 0].sum() + np.column_stack([v, v]).sum() + np.append(x, v)[0], X, V),
    "stack of numbers": (lambda v: np.stack([v[0] * v[1], v[2] ** 2, 1.0]), V),
    "block": (lambda x: np.block([[x, x * 2], [np.ones((2, 8))]]), X),
    "tile": (lambda x: np.tile(x, (2, 3)), X),
    "repeat": (lambda x: np.repeat(x, 3, axis=1) + np.repeat(x, [2, 1, 9], axis=0)[3].sum(), X),
    "roll": (lambda x: np.roll(x, 1) * np.roll(x, (1, 2), axis=(0, 1)), X),
    "flip": (lambda x: np.flip(x) * np.flip(x, 1) + np.fliplr(x) + np.flipud(x) + np.rot90(x, 2), X),
    "pad": (lambda x: np.pad(x, 1) + np.pad(x, ((1, 1), (0, 2)), constant_values=2.5) + np.pad(x, 1, mode="reflect")
            + np.pad(x, 1, "edge") + np.pad(x, 1, "wrap"), X),
    "broadcast_to": (lambda v: np.broadcast_to(v, (3, 4)) * X + np.broadcast_arrays(v, X)[0], V),
    "split": (lambda x: np.split(x, 2, axis=1)[0] * np.array_split(x, [1, 3], 1)[1] + np.hsplit(x, 2)[1], X),
    "take": (lambda x: np.take(x, PLACES, axis=1) + x.take(0) + np.take_along_axis(x, np.argsort(X), 1), X),
    "delete": (lambda x: np.delete(x, 1, axis=1), X),
    "compress": (lambda x: np.compress([True, False, True], x, 0) + np.extract(MASK, x).sum(), X),
    "indexing": (lambda x: x[1] * x[-1, ::-1] + x[0, 1:3].sum() + x[..., None, 0] .sum() + x[:, 2].sum() + x[1, 2], X),
    "fancy indexing": (lambda x: x[[0, 2, 0]][:, PLACES] + x[np.array([0, 1, 2]), [0, 1, 1]][:, None]
                       + x[MASK].sum() + x[:, [True, False, True, False]].sum() + x[:1, PLACES], X),
    "stores": (stores, X),
    "views": (through_views, X),
    "zeros_like": (filled, X),
    "full_like": (lambda x: np.full_like(x, 2) * x + np.ones_like(x) + np.full_like(x, x[0, 0]) + np.copy(x), X),
    "linspace": (lambda v: np.linspace(v[0], v[1] * 3, 7), V),
    "meshgrid": (lambda v, w: np.meshgrid(v, w)[0] * np.meshgrid(v, w[:4])[1], V, W),
    "select": (lambda x: np.select([x > 0.6, x > 0.4], [x * 2, x ** 3], 1.0), X),
    "piecewise": (lambda x: np.piecewise(x, [x > 0.6, x < 0.4], [lambda v: v ** 2, lambda v: 3 * v, 0.5]), X),
    "diff": (lambda x: np.diff(x) * np.diff(x, axis=1, n=1) + np.diff(x[:, :3], prepend=0, append=1.0)[:, :3]
             + np.ediff1d(x)[0], X),
    "trapezoid": (lambda v, w: np.trapezoid(v) + np.trapezoid(v, w) + np.trapezoid(v, dx=0.1), V, W),
    "gradient": (lambda x: np.gradient(x)[0] * np.gradient(x, 0.5, axis=1), X),
    "sinc": (lambda x: np.sinc(x) + np.sinc(x * 1e-3), X),
    "interp": (lambda v, w: np.interp(v, [0.0, 0.5, 1.0], w[:3]), V, W),
    "convolve": (lambda v, w: np.convolve(v, w[:3]).sum() ** 2 * np.convolve(v, w[:3], "same")
                 + np.convolve(v, w, "valid") + np.correlate(v, w[:3], "same"), V, W),
    "polyval": (lambda v, x: np.polyval(v, x) + np.polyval([1.0, 2.0], x), V, X),
    "vander": (lambda v: np.vander(v, 3), V),
    "cov": (lambda x: np.cov(x) * np.corrcoef(x), X),
    "unique": (lambda x: np.unique(x), X),
    "apply_along_axis": (lambda x: np.apply_along_axis(lambda v: v * v[0], 1, x), X),
    "det": (np.linalg.det, S),
    "inv": (np.linalg.inv, S),
    "solve": (lambda a, b: np.linalg.solve(a, b) + np.linalg.solve(a, b[:, 0])[:, None], S, P),
    "cholesky": (symmetric(np.linalg.cholesky), P),
    "slogdet": (lambda a: np.linalg.slogdet(a)[1] + np.linalg.slogdet(a).sign, P),
    "norm": (lambda x: np.linalg.norm(x) + np.linalg.norm(x, axis=1).sum() + np.linalg.norm(x[0], 1)
             + np.linalg.norm(x[0], 3) + np.linalg.norm(x, np.inf) + np.linalg.norm(x, "fro", axis=(0, 1))
             + np.linalg.norm(x, -np.inf, axis=0).sum(), X),
    "norm by singular values": (lambda x: np.linalg.norm(x, 2) + np.linalg.norm(x, "nuc"), X),
    "eigh": (symmetric(lambda a: np.linalg.eigh(a)[0] + np.linalg.eigh(a).eigenvectors[0] ** 2
                       + np.linalg.eigvalsh(a)), P),
    "eigenvectors": (symmetric(lambda a: np.linalg.eigh(a)[1]), P),
    "svd": (lambda x: np.linalg.svd(x, compute_uv=False) + np.linalg.svd(x, full_matrices=False)[0][0]
            + np.linalg.svd(x, full_matrices=False).Vh[:, 0], X),
    "qr": (lambda x: np.linalg.qr(x)[1] + np.linalg.qr(x, "r"), S),
    "pinv": (np.linalg.pinv, X),
    "matrix_power": (lambda a: np.linalg.matrix_power(a, 3) + np.linalg.matrix_power(a, -1), S),
    "multi_dot": (lambda a, x: np.linalg.multi_dot([a, x, x.T]), S, X),
    "elements in Python": (of_python, X),
    "while": (newton, X),
    "softmax": (softmax, X),
    "builtins": (lambda v: max(v) * min(v) + sum(v) + abs(v[0]) + pow(v[1], 2) + divmod(v[2], 0.3)[1], V),
    "a function of one number": (lambda s: s * np.sin(s) + np.exp(-s), np.array(0.7)),
    "constants of no derivative": (lambda x: x * np.floor(3 * x) + np.sign(x) + (x > 0.5) * x + np.round(x, 1)
                                   + x.argmax() + np.isnan(x) + x // 0.3 + x.astype(int), X),
    "astype": (lambda x: (x.astype(np.float32) * 2).astype(np.float64), X),
}
# Numbers and orders are read of them, so that they have no vectorised form; of some, signs are NumPy's only where
# values are known.
NOT_MAPPED = {"elements in Python", "while", "builtins", "interp", "eigenvectors", "svd", "qr", "unique", "eigh"}


@pytest.mark.parametrize("name", ROWS)
def test_gradients_are_those_of_central_differences(name):
    f, *args = ROWS[name]
    plain = f(*args)
    weights = np.cos(np.arange(np.size(plain))).reshape(np.shape(plain))
    loss = lambda *a: np.sum(f(*a) * weights)  # noqa: E731
    value, found = pijit.value_and_grad(loss, tuple(range(len(args))))(*args)
    np.testing.assert_allclose(value, loss(*args), rtol=1e-10)
    assert type(value) is np.float64
    found = found if len(args) > 1 else (found,)
    step = 1e-3 if name == "astype" else 1e-6
    for k, (x, g) in enumerate(zip(args, found)):
        assert type(g) is np.ndarray and g.shape == x.shape and g.dtype == x.dtype and g.flags.owndata
        wanted = np.zeros(x.shape)
        for i in np.ndindex(x.shape):
            high, low = x.copy(), x.copy()
            high[i] += step
            low[i] -= step
            wanted[i] = (loss(*args[:k], high, *args[k + 1:]) - loss(*args[:k], low, *args[k + 1:])) / (2 * step)
        np.testing.assert_allclose(g, wanted, rtol=1e-3 if name == "astype" else 1e-5, atol=1e-6, err_msg=str(k))


@pytest.mark.parametrize("name", ROWS)
def test_values_and_tangents(name):
    f, *args = ROWS[name]
    plain = f(*args)
    along = [np.cos(np.arange(x.size) + k).reshape(x.shape) for k, x in enumerate(args)]
    value, tangent = pijit.jvp(f, tuple(args), tuple(along))
    np.testing.assert_allclose(value, plain, rtol=1e-9, atol=1e-12)
    assert np.shape(value) == np.shape(plain) and value.dtype == np.asarray(plain).dtype
    assert tangent.shape == value.shape and tangent.dtype == value.dtype
    weights = np.sin(np.arange(np.size(plain)) + 1).reshape(np.shape(plain))
    again, pull = pijit.vjp(f, *args)
    assert np.array_equal(again, plain)
    np.testing.assert_allclose(np.sum(tangent * weights), sum(np.sum(g * t) for g, t in zip(pull(weights), along)),
                               rtol=1e-6 if name == "astype" else 1e-9, atol=1e-10)


@pytest.mark.parametrize("name", [n for n in ROWS if n not in NOT_MAPPED])
def test_mapped_functions_are_loops(name):
    f, *args = ROWS[name]
    rows = [np.stack([x, x * 0.97, x[::-1] if x.ndim == 1 else x * 1.02]) for x in args]
    wanted = np.stack([f(*[r[k] for r in rows]) for k in range(3)])
    found = pijit.vmap(f)(*rows)
    assert type(found) is np.ndarray and found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-6 if name == "astype" else 1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ROWS)
def test_float32_stays_float32(name):
    if name in ("numbers of NumPy", "astype", "while", "float_power") or any(
            s in name for s in ("constants", "where", "views", "stores", "broadcast_to", "sort", "nansum",
                                "concatenate", "stack", "sum", "mean", "max", "block", "piecewise", "nan_to_num")):
        pytest.skip("it has constants of float64")
    f, *args = ROWS[name]
    args = [x.astype(np.float32) for x in args]
    plain = f(*args)
    value, found = pijit.value_and_grad(f, tuple(range(len(args))))(*args)
    found = found if len(args) > 1 else (found,)
    assert value.dtype == np.asarray(plain).dtype
    np.testing.assert_allclose(value, plain, rtol=2e-3, atol=2e-3)
    assert all(g.dtype == np.float32 and g.shape == x.shape for g, x in zip(found, args))


# -- closed forms, dtypes, shapes --

def test_closed_forms():
    x = np.linspace(0, 1, 5)
    f = lambda x: np.sum(np.sin(x) ** 2 * np.exp(-x))  # noqa: E731
    derivative = (2 * np.sin(x) * np.cos(x) - np.sin(x) ** 2) * np.exp(-x)
    np.testing.assert_allclose(pijit.grad(f)(x), derivative, rtol=1e-13)
    np.testing.assert_allclose(pijit.grad(np.linalg.det)(S), np.linalg.det(S) * np.linalg.inv(S).T, rtol=1e-10)
    np.testing.assert_allclose(pijit.grad(lambda a: np.linalg.slogdet(a)[1])(P), np.linalg.inv(P).T, rtol=1e-9)
    np.testing.assert_allclose(pijit.grad(lambda v: v @ P @ v)(x[:3]), (P + P.T) @ x[:3], rtol=1e-13)
    np.testing.assert_allclose(pijit.jacfwd(softmax)(V), np.diag(softmax(V)) - np.outer(softmax(V), softmax(V)),
                               rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(pijit.hessian(lambda v: np.log(np.sum(np.exp(v))))(V),
                               np.diag(softmax(V)) - np.outer(softmax(V), softmax(V)), rtol=1e-10, atol=1e-15)


def test_powers_at_zero_have_all_derivatives():
    third = pijit.grad(pijit.grad(pijit.grad(lambda s: s ** 3)))
    assert third(0.0) == 6 and pijit.grad(pijit.grad(lambda s: s ** 2))(np.float64(0)) == 2
    x = np.array([0.0, -1, 2])
    assert pijit.grad(lambda x: np.sum(x ** 0 + x ** np.float64(2)))(x).tolist() == [0, -2, 4]
    assert pijit.grad(lambda x: np.sum(x ** np.array([0.0, 2, 3])))(x).tolist() == [0, -2, 12]
    assert pijit.grad(lambda x: np.sum(x ** [1, 2, 3] + x ** np.arange(3)))(x).tolist() == [1, -1, 16]
    assert pijit.jvp(lambda x: x ** 3, -V, V)[1].tolist() == pytest.approx(list(3 * V ** 3))


def test_ties_share_their_gradient():
    assert pijit.grad(np.max)(np.array([1.0, 2, 2])).tolist() == [0, 0.5, 0.5]
    assert pijit.grad(lambda x: np.sum(np.maximum(x, 1.0)))(np.array([1.0, 2, 0])).tolist() == [0.5, 1, 0]
    assert pijit.grad(lambda x: np.sum(np.abs(x)))(np.array([-1.0, 0, 2])).tolist() == [-1, 0, 1]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_dtypes_stay(dtype):
    x = np.array([[1.5, 2.0]], dtype)
    value, g = pijit.value_and_grad(lambda x: np.sum(x * x + 1))(x)
    assert value.dtype == g.dtype == dtype and g.tolist() == [[3, 4]]
    assert pijit.vmap(lambda r: r * 2)(x).dtype == pijit.jacfwd(lambda r: r * 2)(x).dtype == dtype
    value, tangent = pijit.jvp(lambda x: x * 2.0, x, np.ones((1, 2)))
    assert value.dtype == tangent.dtype == dtype


def test_mixed_dtypes_are_promoted_as_by_numpy():
    x = np.ones(3, np.float32)
    for f in (lambda x: x * np.ones(3), lambda x: x * np.float64(2), lambda x: x * 2, lambda x: np.arange(3) * x,
              lambda x: x + np.int8(1), lambda x: x.astype(np.float64).sum(), lambda x: x > np.float64(1),
              lambda x: np.mean(x, dtype=np.float64), lambda x: x / np.arange(1, 4, dtype=np.int16)):
        value, g = pijit.value_and_grad(lambda x, f=f: (f(x) * x).sum())(x)
        assert value.dtype == (f(x) * x).sum().dtype and g.dtype == np.float32


def test_forms_of_results():
    number = pijit.grad(lambda s: s * s)(3.0)
    assert type(number) is np.float64 and number == 6
    assert type(pijit.grad(lambda s: s * s)(np.float32(3))) is np.float32
    array = pijit.grad(lambda s: s * s)(np.array(3.0))
    assert type(array) is np.ndarray and array.shape == ()
    a, b = pijit.grad(lambda a, b: np.sum(a + b), (0, 1))(V, W)
    a += 1  # each is an array of its own
    assert b.tolist() == [1] * 4
    assert pijit.grad(lambda x: x)(V).tolist() == [1] * 4
    value, g = pijit.value_and_grad(lambda x: x)(V)
    value += 1
    assert V.max() < 1 and np.allclose(value - 1, V)
    assert pijit.grad(lambda x: np.sum(x * 2))(np.zeros((0, 3))).shape == (0, 3)
    assert pijit.grad(lambda x: np.sum(x * X))(np.asfortranarray(X.T).T[:, :]).tolist() == X.tolist()
    assert pijit.grad(lambda x: np.sum(x * x))(np.arange(6.0)[::-2]).tolist() == [10, 6, 2]
    assert pijit.grad(lambda x: np.sum(x * x))(np.arange(3.0).astype(">f8")).tolist() == [0, 2, 4]
    assert pijit.grad(lambda x: 1.0)(V).tolist() == [0] * 4


def test_arguments_stay_as_they_are():
    x, constant = V.copy(), W.copy()

    def f(x):
        x[0] = 5
        x *= constant
        y = x @ constant
        constant[:] = 0  # what was computed with it stays
        return y
    assert pijit.grad(f)(x).tolist() == pytest.approx([0, *(W ** 2)[1:]])
    assert np.array_equal(x, V) and not constant.any()


def test_views_of_views():
    def shrunk(x):
        whole = x + 0
        part = whole
        for _ in range(3000):
            part = part[1:]
        part[0] = x[0] * 7
        return whole * whole
    x = np.arange(3002.0)
    wanted = 2 * x
    wanted[3000], wanted[0] = 0, 0
    assert pijit.grad(shrunk)(x).tolist() == wanted.tolist()
    assert np.array_equal(pijit.value_and_grad(shrunk)(x)[0], shrunk(x))

    def swapped(x):
        y = x * 1
        first, turned = y[0], y.T
        first[:], y[1] = y[1] * 2, first * 3  # NumPy's order: the right side first, then each store
        turned += first.sum()
        return y * first[0]
    np.testing.assert_allclose(pijit.value_and_grad(swapped)(X)[0], swapped(X), rtol=1e-12)


def test_graph_mode_changes_nothing():
    pijit.set_context(mode=pijit.GRAPH_MODE)
    try:
        assert pijit.grad(lambda p: p[0] @ p[1])((V, W))[0].tolist() == W.tolist()
        assert np.allclose(pijit.vmap(pijit.grad(lambda x: np.sum(x ** 2)))(X), 2 * X)
    finally:
        pijit.set_context(mode=pijit.PYNATIVE_MODE)


def test_containers():
    def loss(parameters, x, scale=1.0):
        hidden = x
        for layer in parameters["layers"]:
            hidden = np.tanh(hidden @ layer["w"] + layer["b"])
        return np.sum(hidden * parameters["end"][0]) * scale
    parameters = {"layers": [{"w": S, "b": V[:3]}, {"w": P, "b": W[:3]}], "end": (V[:3], None)}
    value, g = pijit.value_and_grad(loss)(parameters, X[:, :3], scale=2.0)
    assert value == pytest.approx(loss(parameters, X[:, :3], 2.0), rel=1e-12)
    assert g["end"][1] is None and g["layers"][1]["w"].shape == (3, 3) and type(g["end"]) is tuple
    np.testing.assert_allclose(g["end"][0], 2 * np.tanh(np.tanh(X[:, :3] @ S + V[:3]) @ P + W[:3]).sum(0), rtol=1e-10)
    a, b = pijit.grad(lambda pair: pair[0] * pair[1])([2.0, np.float64(3)])
    assert (a, b) == (3, 2)
    pair, third = pijit.grad(lambda p, q: p[0] @ p[1] * q, (0, 1))((V, W), 2.0)
    np.testing.assert_allclose([*pair[0], third], [*(2 * W), V @ W])
    assert pijit.jacrev(lambda p: (p["a"] * p["b"], p["a"]))({"a": V, "b": W})[1]["b"].tolist() == np.zeros(
        (4, 4)).tolist()


def test_auxiliary_results_and_ids():
    f = lambda x: (np.sum(x * x), {"mean": x.mean(), "shape": x.shape}, "text")  # noqa: E731
    g, aux = pijit.grad(f, has_aux=True)(V)
    assert np.array_equal(g, 2 * V) and aux[0]["shape"] == (4,) and aux[1] == "text"
    assert type(aux[0]["mean"]) is np.float64 and aux[0]["mean"] == pytest.approx(V.mean())
    (value, *_), g = pijit.value_and_grad(f, has_aux=True)(V)
    assert value == pytest.approx(V @ V)
    found = pijit.grad(lambda x, y: x @ y, (0, 1), return_ids=True)(V, W)
    assert np.array_equal(ops.get_grad(found, 1), V)
    assert np.array_equal(pijit.grad(lambda x: x * 2, sens_param=True)(V, W), 2 * W)
    value, pull, aux = pijit.vjp(lambda x: (x * x, x.sum()), V, has_aux=True)
    assert np.allclose(pull(W)[0], 2 * V * W) and aux == V.sum()
    value, tangent, aux = pijit.jvp(lambda x: (x * x, x.sum()), V, W, has_aux=True)
    assert np.allclose(tangent, 2 * V * W) and type(aux) is np.float64


def test_other_transforms():
    value, push = ops.linearize(lambda x, y: x * np.sin(y), (V, W))
    np.testing.assert_allclose(push(W, V), W * np.sin(W) + V * np.cos(W) * V, rtol=1e-12)
    assert np.allclose(value, V * np.sin(W))
    value, third = ops.derivative(lambda x: np.exp(2 * x), V, 3)
    np.testing.assert_allclose(third, 8 * np.exp(2 * V), rtol=1e-10)
    np.testing.assert_allclose(ops.jet(np.sin, V, np.ones((1, 4)))[1], [np.cos(V)], rtol=1e-12)
    all_of = ops.GradOperation(get_all=True)(lambda x, n, y: x @ y * n)
    a, b = all_of(V, 3, W)
    np.testing.assert_allclose([a, b], [3 * W, 3 * V])
    np.testing.assert_allclose(ops.GradOperation()(np.sum)(V), np.ones(4))


# -- nesting, jit --

def test_transforms_nest():
    f = lambda x: np.sum(np.sin(x) * x)  # noqa: E731
    first, second = np.cos(V) * V + np.sin(V), 2 * np.cos(V) - V * np.sin(V)
    np.testing.assert_allclose(pijit.grad(lambda x: np.sum(pijit.grad(f)(x)))(V), second, rtol=1e-12)
    np.testing.assert_allclose(np.diag(pijit.hessian(f)(V)), second, rtol=1e-12)
    np.testing.assert_allclose(np.diag(pijit.jacrev(pijit.jacfwd(f))(V)), second, rtol=1e-12)
    np.testing.assert_allclose(pijit.jvp(pijit.grad(f), V, np.ones(4))[1], second, rtol=1e-12)
    np.testing.assert_allclose(pijit.vmap(pijit.grad(f))(np.stack([V, W]))[0], first, rtol=1e-12)
    np.testing.assert_allclose(pijit.vmap(pijit.vmap(pijit.grad(f)))(X), np.cos(X) * X + np.sin(X), rtol=1e-12)
    np.testing.assert_allclose(pijit.grad(lambda x: np.sum(pijit.vmap(f)(np.stack([x, 2 * x]))))(V),
                               first + 2 * (np.cos(2 * V) * 2 * V + np.sin(2 * V)), rtol=1e-12)
    np.testing.assert_allclose(pijit.vmap(pijit.hessian(f))(np.stack([V, W]))[1],
                               np.diag(2 * np.cos(W) - W * np.sin(W)), rtol=1e-12, atol=1e-15)
    # by a variable of the function around
    inner = lambda x: np.sum(pijit.grad(lambda y: np.sum(x * y ** 2))(W))  # noqa: E731
    np.testing.assert_allclose(pijit.grad(inner)(V), 2 * W, rtol=1e-12)
    constant = lambda x: np.asarray(pijit.grad(np.sum)(W)) @ x  # noqa: E731
    np.testing.assert_allclose(pijit.grad(constant)(V), np.ones(4))
    mixed = pijit.vmap(lambda x: pijit.jvp(lambda y: y ** 3, x, np.ones(()))[1])(V)
    np.testing.assert_allclose(mixed, 3 * V ** 2, rtol=1e-12)


def test_mapped_axes():
    np.testing.assert_allclose(pijit.vmap(lambda x, v: x @ v, (0, None))(X, V), X @ V, rtol=1e-12)
    assert np.array_equal(pijit.vmap(lambda x, v: x * v, (1, 0), 1)(X, V), X * V)
    found = pijit.vmap(lambda d, n: {"a": d["x"].sum(), "b": n, "c": np.ones(2)}, ({"x": 0}, None))({"x": X}, 3)
    assert found["a"].tolist() == pytest.approx(X.sum(1).tolist()) and found["b"].tolist() == [3] * 3
    assert found["c"].shape == (3, 2) and found["b"].dtype == np.int64
    picked = pijit.vmap(lambda x, i: (x[i], np.take(x, i), x.argmax(), x > 0.5))(X, np.array([1, -1, 0]))
    assert picked[0].tolist() == picked[1].tolist() == X[[0, 1, 2], [1, -1, 0]].tolist()
    assert picked[2].tolist() == X.argmax(1).tolist() and picked[3].tolist() == (X > 0.5).tolist()
    whole = np.arange(12).reshape(3, 4)
    for f in (lambda n: n * 2 + 1, lambda n: n / 2, np.sum, lambda n: n % 3, lambda n: n // 2, np.mean, lambda n: n & 1,
              lambda n: np.where(n > 2, n, -n), lambda n: n ** 2, lambda n: np.sqrt(n), lambda n: n.astype(np.float32),
              lambda n: (n > 3).any(), lambda n: (n > 3).sum(), lambda n: ~(n > 3), np.sort, np.argsort):
        found, wanted = pijit.vmap(f)(whole), np.stack([f(r) for r in whole])
        assert found.dtype == wanted.dtype and np.allclose(found, wanted, rtol=1e-6)


def test_jitted_functions():
    @pijit.jit
    def plain(x):
        return np.sum(np.sin(x) * x)
    wanted = np.cos(V) * V + np.sin(V)
    plain(V)
    for _ in range(4):
        np.testing.assert_allclose(pijit.grad(plain)(V), wanted, rtol=1e-12)
    np.testing.assert_allclose(pijit.vmap(pijit.grad(plain))(X), np.cos(X) * X + np.sin(X), rtol=1e-12)
    calls = [pijit.jit(pijit.grad(plain)), pijit.jit(pijit.vmap(pijit.grad(plain))),
             pijit.jit(lambda x: pijit.grad(lambda y: np.sum(y * y))(x) + x),
             pijit.jit(lambda x: pijit.jvp(np.sin, x, x)[1]), pijit.jit(lambda x: pijit.jacfwd(np.sin)(x))]
    for _ in range(4):
        found = [f(a) for f, a in zip(calls, (V, X, V, V, V))]
        np.testing.assert_allclose(found[0], wanted, rtol=1e-12)
        np.testing.assert_allclose(found[1], np.cos(X) * X + np.sin(X), rtol=1e-12)
        np.testing.assert_allclose(found[2], 3 * V, rtol=1e-12)
        np.testing.assert_allclose(found[3], V * np.cos(V), rtol=1e-12)
        np.testing.assert_allclose(found[4], np.diag(np.cos(V)), rtol=1e-12)
        assert all(type(a) is np.ndarray for a in found)
    assert plain(V) == np.sum(np.sin(V) * V)


# -- what is refused --

def into(x, where, what):
    where[0] = what
    return where.sum()


@pytest.mark.parametrize("f, said", [
    (np.asarray, "numpy.stack"), (lambda x: np.array([x[0], x[1]]), "numpy.stack"),
    (lambda x: np.array([x[0], 1.0], dtype=float), "numpy.stack"), (lambda x: np.float64(x[0]), "constant"),
    (lambda x: into(x, np.zeros(2), x[0]), "numpy.zeros_like"),
    (lambda x: into(x, np.zeros((2, 4)), x), "numpy.zeros_like"),
    (lambda x: np.fromiter(x, float), "constant"), (lambda x: math.sin(x[0]), "numpy.sin"),
    (lambda x: math.fsum(x), "constant"), (lambda x: sum(map(float, x)) * x, "float(x)"),
    (lambda x: float(np.sum(x)), "constant"), (lambda x: x.sum().item() * 2, "constant"),
    (lambda x: np.fft.fft(x), "numpy.fft.fft"), (lambda x: np.linalg.lstsq(np.eye(4), x), "numpy.linalg.lstsq"),
    (lambda x: np.add.at(x, [0], 1.0), "numpy.add.at"), (lambda x: np.sin(x, out=np.zeros(4)), "'out'"),
    (lambda x: np.sum(x, out=np.zeros(())), "'out'"), (lambda x: np.exp(x, where=x > 0.5), "numpy.where"),
    (lambda x: np.vectorize(lambda v: v * 2)(x), "constant"), (lambda x: x.tofile("/nowhere"), "ndarray.tofile"),
    (lambda x: x * np.ma.masked_array(V), "MaskedArray"), (lambda x: x * np.longdouble(2), "longdouble"),
    (lambda x: x * np.array([None] * 4), "object"), (lambda x: ops.sin(x), "ndarray"),
    (lambda x: x * pijit.Tensor(V), "Tensor"), (lambda x: pijit.Tensor(V) * x, "ndarray"),
    (lambda x: pijit.Tensor(V), "Tensor"), (lambda x: None, "NoneType"), (lambda x: hash(x), "unhashable"),
    (lambda x: setattr(x, "shape", (2, 2)), "reshape"), (lambda x: memoryview(x), "bytes-like"),
    (lambda x: np.pad(x, 1, "mean"), "'mode'"), (lambda x: np.gradient(x, edge_order=2), "'edge_order'"),
    (lambda x: np.bincount([0, 1, 1, 0], x), "'weights'"), (lambda x: np.bincount([0] * 4, weights=x), "'weights'"),
    (lambda x: np.histogram(V, 3, None, True, x)[0], "'weights'"),
    (lambda x: np.histogram(V, weights=x)[0], "'weights'"),
    (lambda x: x + None, "unsupported"), (lambda x: x.nothing, "no attribute 'nothing'"),
])
def test_what_has_no_rule_is_refused(f, said):
    if said == "longdouble":
        said = np.dtype(np.longdouble).name
    with pytest.raises((TypeError, AttributeError)) as e:
        pijit.grad(f)(V)
    assert said in str(e.value), e.value


@pytest.mark.parametrize("f, error", [
    (lambda x: x + np.ones(3), ValueError), (lambda x: x[9], IndexError), (lambda x: x[x], IndexError),
    (lambda x: x["a"], IndexError), (lambda x: x if x > 0.5 else -x, ValueError),
    (lambda x: x @ np.ones(3), ValueError),
    (lambda x: np.sum(x, axis=3), np.exceptions.AxisError), (lambda x: np.sum(x, axis=(0, 0)), ValueError),
    (lambda x: np.reshape(x, (3, 3)), ValueError), (lambda x: np.concatenate([x, X]), ValueError),
    (lambda x: np.stack([x, x[1:]]), ValueError), (lambda x: np.max(x[:0]), ValueError),
    (lambda x: into(x, x, np.ones(2)), ValueError), (lambda x: into(x, np.diagonal(x[:, None]), 1.0), ValueError),
    (lambda x: into(x, np.broadcast_to(x, (2, 4)), 1.0), ValueError),
    (lambda x: np.linalg.inv(x), np.linalg.LinAlgError),
    (lambda x: np.linalg.inv(np.outer(x, x) * 0), np.linalg.LinAlgError),
    (lambda x: np.linalg.cholesky(-np.diag(x)), np.linalg.LinAlgError), (lambda x: len(x[0]), TypeError),
    (lambda x: list(x[0]), TypeError), (lambda x: np.split(x, 3), ValueError),
    (lambda x: np.transpose(x, (0, 1)), ValueError),
])
def test_numpys_own_errors(f, error):
    for call in (f, pijit.grad(f)):
        with pytest.raises(error):
            call(V.copy())


@pytest.mark.parametrize("x", [np.arange(3), np.array([True]), np.ones(3) * 1j, np.array(["a"]), np.array([None]),
                               np.longdouble(2), np.int64(3), np.ma.masked_array([1.0]), [np.ones(2), 3],
                               {"a": V, "b": "c"}])
def test_arguments_without_derivatives_are_refused(x):
    f = lambda x: np.sum(x * 2)  # noqa: E731
    for transform in (pijit.grad(f), pijit.value_and_grad(f), pijit.jacfwd(f), pijit.jacrev(f), pijit.hessian(f),
                      lambda x: pijit.jvp(f, x, x), lambda x: pijit.vjp(f, x), lambda x: ops.linearize(f, x),
                      ops.GradOperation()(f), ops.GradOperation(get_all=True)(f)):
        with pytest.raises(TypeError):
            transform(x)


def test_neighbours_of_arrays():
    t = pijit.Tensor(V)
    weight = pijit.Parameter(pijit.Tensor(W), name="w")
    with pytest.raises(TypeError, match="Tensors alone"):
        pijit.grad(lambda x, y: (x * y).sum(), (0, 1))(t, V)
    with pytest.raises(TypeError, match="weights"):
        pijit.grad(lambda x: (weight * pijit.Tensor(x)).sum(), 0, weight)(V)
    with pytest.raises(TypeError):
        pijit.grad(lambda pair: pair[0].sum())([V, t])
    with pytest.raises(RuntimeError, match="out of range"):
        pijit.grad(lambda x: np.sum(x), (0, 1))(V)
    # ndarrays that are not differentiated by go with Tensors as before
    assert np.allclose(pijit.grad(lambda x, y: (x * pijit.Tensor(y)).sum())(t, W).asnumpy(), W)
    g = pijit.grad(lambda x: (weight * pijit.Tensor(x)).sum(), None, weight)(V)
    assert np.allclose(g.asnumpy(), V)
    # a number beside Tensors has no gradient, as MindSpore has it
    assert pijit.grad(lambda s, x: (s * x).sum())(2.0, t) == ()
    (only,) = ops.GradOperation(get_all=True)(lambda x, y: (x * pijit.Tensor(y)).sum())(t, W)
    assert np.allclose(only.asnumpy(), W)
    net = nn.Dense(4, 1)
    with pytest.raises(TypeError):
        pijit.grad(lambda x: net(x).sum())(V.astype(np.float32))


def test_mapped_values_cannot_be_read():
    for f in (lambda x: x if x.sum() > 1 else -x, lambda x: float(x[0]) * x, lambda x: x.item(0), lambda x: x[x > 0.5],
              lambda x: np.unique(x), lambda x: [v for v in range(int(x[0]))], np.asarray,
              lambda x: into(x, np.zeros(3), x[0])):
        with pytest.raises(TypeError):
            pijit.vmap(f)(X)
    with pytest.raises(RuntimeError, match="arrays are mapped"):
        pijit.vmap(lambda x, n: x * n)(X, 3)
    with pytest.raises(RuntimeError, match="one size"):
        pijit.vmap(lambda x, y: x * y.sum())(X, V)
    with pytest.raises(RuntimeError, match="None for all"):
        pijit.vmap(lambda x: x, None)(X)
    with pytest.raises((RuntimeError, TypeError)):
        pijit.vmap(lambda x, y: x)(X, pijit.Tensor(X))
    # the function is left as it was entered
    assert pijit.grad(lambda x: x if x > 0 else -x)(-2.0) == -1


def test_numbers_are_read_and_shown():
    seen = []

    def f(x):
        seen.append((float(x[0]), int(x[1] * 10), bool(x[2] > 0), f"{x[0]:.3f}", "%.3f" % x[0], str(x), repr(x[1]),
                     math.isnan(x[0]), round(x[0], 1), len(x), x.shape, x.dtype, x.item(1), 0.0 in x))
        return sum(x[i] for i in range(len(x))) if math.isfinite(x[0]) else x[0]
    assert pijit.grad(f)(V).tolist() == [1] * 4
    a, b = seen[0], (f(V), seen[-1])[1]
    assert a == b


def test_exceptions_leave_nothing_behind():
    def fails(x):
        np.sin(x)
        raise KeyError("mine")
    for _ in range(3):
        with pytest.raises(KeyError, match="mine"):
            pijit.grad(fails)(V)
        with pytest.raises(KeyError, match="mine"):
            pijit.vmap(fails)(X)
    jitted = pijit.jit(lambda x: x * 2 + 1)
    for _ in range(3):
        jitted(V)
    assert "0 captures" not in str(pijit.explain(jitted)).split("\n")[0]  # capture is not paused


# -- programs as people write them --

def test_logistic_regression():
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(200, 3))
    labels = (inputs @ np.array([1.0, -2.0, 0.5]) + 0.3 > 0).astype(float)

    def predict(w, b, inputs):
        return 1 / (1 + np.exp(-(inputs @ w + b)))

    def loss(w, b):
        p = predict(w, b, inputs)
        return -np.mean(labels * np.log(p) + (1 - labels) * np.log(1 - p)) + 1e-3 * np.sum(w ** 2)
    step = pijit.value_and_grad(loss, (0, 1))
    w, b, losses = np.zeros(3), 0.0, []
    for _ in range(60):
        value, (dw, db) = step(w, b)
        error = predict(w, b, inputs) - labels
        np.testing.assert_allclose(dw, inputs.T @ error / 200 + 2e-3 * w, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(db, error.mean(), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(value, loss(w, b), rtol=1e-12)
        losses.append(value)
        w -= dw
        b = float(b - db)
    assert losses[-1] < losses[0] / 2
    assert np.mean((predict(w, b, inputs) > 0.5) == labels) > 0.97


def test_network_with_two_layers():
    rng = np.random.default_rng(2)
    inputs = rng.uniform(-1, 1, (64, 2)).astype(np.float32)
    targets = np.sin(3 * inputs[:, :1]) * inputs[:, 1:]
    parameters = {"w1": rng.normal(size=(2, 16)).astype(np.float32), "b1": np.zeros(16, np.float32),
                  "w2": (rng.normal(size=(16, 1)) / 4).astype(np.float32), "b2": np.zeros(1, np.float32)}

    def loss(p, x, y):
        hidden = np.maximum(x @ p["w1"] + p["b1"], 0)
        return np.mean((hidden @ p["w2"] + p["b2"] - y) ** 2)
    first = loss(parameters, inputs, targets)
    for _ in range(80):
        value, grads = pijit.value_and_grad(loss)(parameters, inputs, targets)
        x, p = inputs, parameters
        before = x @ p["w1"] + p["b1"]
        hidden = np.maximum(before, 0)
        error = 2 * (hidden @ p["w2"] + p["b2"] - targets) / 64
        back = error @ p["w2"].T * (before > 0)
        wanted = {"w1": x.T @ back, "b1": back.sum(0), "w2": hidden.T @ error, "b2": error.sum(0)}
        for k, g in grads.items():
            assert g.dtype == np.float32
            np.testing.assert_allclose(g, wanted[k], rtol=2e-4, atol=2e-6)
        parameters = {k: v - np.float32(0.2) * grads[k] for k, v in parameters.items()}
    assert value < first / 3 and value.dtype == np.float32


def test_fit_of_a_differential_equation():
    def rates(state, t, a, b, c, d):
        prey, hunters = state
        return np.stack([a * prey - b * prey * hunters, c * prey * hunters - d * hunters])

    def solve(parameters, steps=40, h=0.05):
        state, path = np.array([1.0, 0.8]), []
        for n in range(steps):
            k1 = rates(state, n * h, *parameters)
            k2 = rates(state + h / 2 * k1, (n + 0.5) * h, *parameters)
            k3 = rates(state + h / 2 * k2, (n + 0.5) * h, *parameters)
            k4 = rates(state + h * k3, (n + 1) * h, *parameters)
            state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            path.append(state)
        return np.stack(path)
    true = np.array([1.1, 0.4, 0.2, 0.5])
    measured = solve(true)
    residual = lambda p: (solve(p) - measured).ravel()  # noqa: E731
    guess = np.array([1.0, 0.5, 0.25, 0.4])
    g = pijit.grad(lambda p: np.sum(residual(p) ** 2))(guess)
    for k in range(4):
        step = np.eye(4)[k] * 1e-6
        assert g[k] == pytest.approx((np.sum(residual(guess + step) ** 2) - np.sum(residual(guess - step) ** 2)) / 2e-6,
                                     rel=1e-6)
    np.testing.assert_allclose(pijit.jacfwd(residual)(guess), pijit.jacrev(residual)(guess), rtol=1e-9, atol=1e-12)
    for _ in range(8):  # Gauss and Newton
        guess = guess - np.linalg.lstsq(pijit.jacfwd(residual)(guess), residual(guess))[0]
    np.testing.assert_allclose(guess, true, rtol=1e-8)


def test_random_indexes():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(3, 4, 2))
    for _ in range(150):
        index = []
        for n in x.shape[:rng.integers(1, 4)]:
            kind = rng.integers(0, 6)
            index += [None] * int(kind == 3)
            index.append([int(rng.integers(-n, n)), slice(None, None, int(rng.choice([-2, -1, 1, 2]))), slice(1, n),
                          slice(None), rng.integers(-n, n, 3), np.full((3, 1), rng.integers(n))][kind])
        index = tuple(index)
        taken = x[index]
        w = rng.normal(size=np.shape(taken))
        wanted = np.zeros_like(x)
        np.add.at(wanted, index, w)
        np.testing.assert_allclose(pijit.grad(lambda x: np.sum(x[index] * w))(x), wanted, err_msg=str(index))

        def store(x):
            y = x + 0
            y[index] = w
            return y
        values, g = pijit.value_and_grad(lambda x: store(x) * x)(x)
        assert np.array_equal(values, store(x) * x)
        np.testing.assert_allclose(pijit.vmap(store)(np.stack([x, x])), np.stack([store(x)] * 2))
