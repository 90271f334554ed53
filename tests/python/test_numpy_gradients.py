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
    "sum": (lambda x: np.sum(x * x) + x.sum(axis=0) + x.sum((0, 1), keepdims=True) + np.sum(x, -1, where=MASK).sum(), X),
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
NOT_MAPPED = {"elements in Python", "while", "builtins", "interp", "fancy indexing of values", "eigenvectors", "svd", "qr",
              "unique", "eigh"}


def outputs(f):
    return lambda *args: np.asarray(f(*args))


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
            s in name for s in ("constants", "where", "views", "stores", "broadcast_to", "sort", "nansum", "concatenate",
                                "stack", "sum", "mean", "max", "block", "piecewise", "nan_to_num")):
        pytest.skip("it has constants of float64")
    f, *args = ROWS[name]
    args = [x.astype(np.float32) for x in args]
    plain = f(*args)
    value, found = pijit.value_and_grad(f, tuple(range(len(args))))(*args)
    found = found if len(args) > 1 else (found,)
    assert value.dtype == np.asarray(plain).dtype
    np.testing.assert_allclose(value, plain, rtol=2e-3, atol=2e-3)
    assert all(g.dtype == np.float32 and g.shape == x.shape for g, x in zip(found, args))
