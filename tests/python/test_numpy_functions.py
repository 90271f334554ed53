"""NumPy's functions that move elements, and operators of its scalars, in one graph: against plain NumPy."""

import numpy as np
import pytest

import pijit
from tests.python.differential import check

rng = np.random.default_rng(11)
V, W = rng.normal(size=9), rng.normal(size=9)
M = rng.normal(size=(5, 4))
C = rng.normal(size=(4, 5, 6))
N = np.arange(12)
I, J = np.array([0, 3, -2]), np.array([[0, 1], [2, -1]])
IMAGE = rng.integers(0, 256, size=(6, 7), dtype=np.uint8)
HOLES = np.array([1.0, np.nan, -np.inf, 3.5, np.inf, -0.0])
INTS = np.array([2**62, 3, -(2**63), 7, 2**63 - 1])
SMALL = np.array([100, 27, -128, 5], dtype=np.int8)

PADS = [1, (2,), (1, 2), ((1, 2),), ((0, 1), (2, 0)), [[1, 1], [2, 2]], 0, np.array(1)]


def fill_parts(m):
    out = np.empty((m.shape[0] + 2, m.shape[1]))
    out.fill(-1.5)
    out[1:-1] = m
    return out


def copy_where(m):
    out = m * 2
    np.copyto(out, 0.25, where=m < 0)
    np.copyto(out[1:3], m[0])
    return out


def nested(x):
    d = np.diag(np.diag(x) * 2)
    return d - np.diagonal(x), np.diag(x)


def pads(x, width, mode):
    return np.pad(x * 2, width, mode=mode) + 1


def meshes(v, w):
    x, y = np.meshgrid(v, w)
    p, q, r = np.meshgrid(v[:2], w[:3], v[:4], indexing="ij")
    return np.sqrt(x * x + y * y), x, p + q * r, q


ONE_GRAPH = {
    "diag of a vector": (lambda v: (np.diag(v) * 2.0, np.diag(v, 1), np.diag(v * 2, k=-2)), V),
    "diag of a matrix": (lambda m: (np.diag(m) + 1.0, m.diagonal(1) * 2, np.diag(m, -1)), M),
    "diag of a diag": (nested, M[:4]),
    "meshgrid": (meshes, V, W),
    "meshgrid of integers": (lambda n, v: (np.meshgrid(n, v)[0] * 2, np.meshgrid(n, v)[1]), N[:3], V),
    "tile": (lambda v, m: (np.tile(v * 2, 3), np.tile(m, (2, 3)), np.tile(v, (2, 1)) + 1, np.tile(m, 1)), V, M),
    "gradient": (lambda v: (np.gradient(v) * 2, np.gradient(v, 0.1), np.gradient(v, edge_order=2)), V),
    "gradient of a matrix": (lambda m: (np.gradient(m)[0] * 2, np.gradient(m)[1]), M),
    "gradient along an axis": (lambda m: np.gradient(m, 0.5, axis=1) + np.gradient(m, axis=0), M),
    "gradient of integers": (lambda n: np.gradient(n) + 1, N),
    "gradient of float32": (lambda m: np.gradient(m, axis=0) * 2, M.astype(np.float32)),
    "select": (lambda v: np.select([v < -1, v > 1], [v, v**2], default=0.0) * 2, V),
    "select of numbers": (lambda n: np.select([n < 3, n > 8], [n, -1], 7) * 2, N),
    "select broadcasts": (lambda v, m: np.select([m > 0, m < -1], [v[:4], 2.0]) + 1, V, M),
    "copyto": (copy_where, M),
    "fill": (fill_parts, M),
    "cumsum of a matrix": (lambda m: np.cumsum(m) * 2 + np.cumprod(m), M),
    "axes": (
        lambda c: (
            c.sum(axis=(0, 1)),
            c.mean(axis=(1, 2)),
            c.max(axis=(0, 1, 2)),
            c.std(axis=(-1, -2)),
            c.sum(axis=(1, 0), keepdims=True) * 2,
        ),
        C,
    ),
    "columns": (lambda m, i: (m[:, i] * 2, m[:, i], m[..., [0, 1]], (m * 2)[:, [1]]), M, I),
    "planes": (lambda c, i, j: (c[:, i], c[:, :, i], c[:, j] + 1, c[:, i][:, :, 1:3], c[..., i]), C, I, J),
    "two indexes behind": (lambda c, i: (c[:, i, i], c[:, i, i] * 2), C, I),
    "ix_": (lambda m, i: m[np.ix_(i, i)] * 2, M[:4], I),
    "nan_to_num": (lambda v: (np.nan_to_num(v) * 2, np.nan_to_num(v, nan=-1.0, posinf=9.0)), HOLES),
    "polyval": (lambda v: np.polyval([1.0, -2.0, 3.0], v) + 1, V),
    "triangles": (lambda m: (np.triu(m) * 2, np.tril(m, -1) + 1), M),
    "column_stack": (lambda v, w: np.column_stack((v, w)) * 2, V, W),
    "to integers": (lambda v: ((v * 10).astype(int) * 2, v.astype(np.int8), v.astype("int32") + 1), V),
    "to bytes": (lambda v: (np.clip(v, 0, 1) * 255).astype(np.uint8), V),
    "asarray": (
        lambda v, n: (np.asarray(v, dtype=float) * 2, np.asarray(n, dtype=np.float64) + v[0], np.asarray(v[0] * 2)),
        V,
        N,
    ),
    "dtypes": (lambda v, n: v * 2 if v.dtype == np.float64 and np.issubdtype(n.dtype, np.integer) else n, V, N),
    "item": (lambda v: (v[2].item() * v, v.item(3) + v), V),
    "zeros": (lambda v: np.zeros((3, len(v))) + v, V),
    "powers of scalars": (lambda v: (v.sum() ** 2 * v, np.abs(v.sum()) ** 0.5, v[0] ** 3, 2.5 ** v[1]), V),
    "float32 scalars": (
        lambda v: (v.sum() ** 2 / len(v), v[0] * v[1] // v[2], v[3] % 0.25, -v[0]),
        V.astype(np.float32),
    ),
    "integers": (
        lambda n: (
            n[3] * 2 + n[4],
            n[5] - n[2],
            n[3] ** 2,
            n[7] // 2,
            n[7] % 4,
            n[3] / 7,
            -n[2],
            abs(n[1]),
            n[3] < n[4],
            n[2] == 2,
            n[5] << 1,
            n[6] & 3,
            n.sum() ** 2 // 5,
        ),
        N,
    ),
    "mixed scalars": (lambda n, v: (n[3] * v[1], n[2] + 0.5, v[3] / n[2], v[0] // n[5], n[1] * np.float32(2)), N, V),
    "truths": (lambda v: (v[0] > 0) & (v[1] < 0) | ~(v[2] == v[3]), V),
    "standard error": (lambda v, w: (v.mean() - w.mean()) / np.sqrt(v.var() / len(v) + w.std() ** 2 / len(w)), V, W),
}


@pytest.mark.parametrize("name", sorted(ONE_GRAPH))
def test_in_one_graph(name):
    f, *args = ONE_GRAPH[name]
    check(lambda: f, *args, calls=3, graphs=1, breaks=0)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "symmetric", "wrap"])
@pytest.mark.parametrize(
    "x", [M, IMAGE, V[:6], N[:4].reshape(2, 2), M.astype(np.float32), M > 0], ids=lambda x: f"{x.dtype}{x.shape}"
)
def test_pad(mode, x):
    for width in PADS:
        if isinstance(width, np.ndarray) or (np.ndim(width) == 2 and len(width) > x.ndim):
            continue
        check(lambda: lambda a: np.pad(a, width, mode=mode), x, calls=2)
    check(lambda: lambda a: pads(a, ((1, 0),) * a.ndim, mode), M, breaks=0, graphs=1)


def test_pad_with_values():
    for value in (7, 2.5, -0.0, np.nan, np.float64(3)):
        check(lambda: lambda a: np.pad(a, 1, constant_values=value) * 2, M, breaks=0)
        check(lambda: lambda a: np.pad(a, (0, 2), "constant", constant_values=value), IMAGE)
    for left in ({"constant_values": (1, 2)}, {"mode": "mean"}, {"mode": "linear_ramp"}, {"mode": "empty"}):
        check(lambda: lambda a: np.pad(a * 2, 1, **left).shape, M)
    check(lambda: lambda a: np.pad(a, ((9, 0), (0, 12)), mode="reflect"), M)
    check(lambda: lambda a: np.pad(a, -1), M)
    check(lambda: lambda a: (np.pad(a.T * 2, ((1, 2), (0, 3))), np.pad(a.T[1:], 1), np.pad(a[:, :1].T, 2, "edge")), M)
    for mode in ("constant", "reflect", "wrap"):
        check(lambda mode=mode: lambda a: np.pad(a, ((1, 2), (0, 3)), mode) * 2, np.asfortranarray(M), breaks=0)
    check(lambda: lambda a: np.pad(a[::2, ::-1], 2, mode="wrap"), M)


LEFT_TO_NUMPY = {
    "a diagonal that is written": (lambda m: np.diag(m).__setitem__(0, 1.0), M),
    "a diagonal is filled": (lambda m: m.diagonal().fill(1.0), M),
    "no diagonal": (lambda m: np.diag(m, 9) * 2, M),
    "gradient of too few": (lambda v: np.gradient(v[:1]), V),
    "other shapes": (lambda m: np.copyto(m, np.zeros(3)), M),
    "parts of one array": (lambda v: (np.copyto(v[::2], v[:5]), np.copyto(v[1:], v[:-1]), np.copyto(v[3:], 0.5)), V),
    "another kind": (lambda n: np.copyto(n, 1.5), N),
    "a mask of another shape": (lambda m, v: np.copyto(m, 1.0, where=v > 0), M, V),
    "select of other dtypes": (lambda n: np.select([n], [n]), N),
    "out of range": (lambda m: m[:, [0, 9]], M),
    "meshgrid of views": (lambda v, w: [g.base is None for g in np.meshgrid(v, w, copy=False)], V, W),
    "sparse": (lambda v, w: np.meshgrid(v, w, sparse=True)[1] * 2, V, W),
    "axes apart": (lambda c: c.sum(axis=(0, 2)) * 2, C),
    "an axis twice": (lambda c: c.sum(axis=(0, 0)), C),
    "no such axis": (lambda c: c.sum(axis=(0, 7)), C),
    "item of many": (lambda m: m.item(), M),
    "NaN to integers": (lambda v: v.astype(int) * 2, HOLES),
    "far to integers": (lambda v: (v * 1e300).astype(np.int32), V),
    "far to bytes": (lambda v: (v * 1e4).astype(np.uint8), V),
    "zero divisor": (lambda n: n[3] // n[0] + n[3] % n[0], N),
    "zero divided": (lambda v: (v[0] - v[0]) / (v[1] - v[1]), V),
    "power overflows": (lambda v: (v[0] * 1e200) ** 2, V),
    "negative base": (lambda v: (-abs(v[0])) ** 0.5 + v, V),
    "negative exponent": (lambda n: n[3] ** -1, N),
}


@pytest.mark.parametrize("name", sorted(LEFT_TO_NUMPY))
def test_what_numpy_must_say(name):
    f, *args = LEFT_TO_NUMPY[name]
    check(lambda: f, *args, calls=3)
    for mode in ("ignore", "raise"):

        def quiet(*a):
            with np.errstate(all=mode):
                return f(*a)

        check(lambda: quiet, *args, calls=2)


@pytest.mark.parametrize(
    "x",
    [INTS, SMALL, SMALL.view(np.uint8), np.array([0, 1, 2**31], dtype=np.uint32)],
    ids=lambda x: f"{x.dtype}{x.shape}",
)
def test_integers_that_overflow(x):
    ops = {
        "add": lambda n: n[0] + n[1] + (n[2] + n[0]),
        "subtract": lambda n: n[2] - n[1],
        "multiply": lambda n: n[0] * n[1],
        "negative": lambda n: -n[2],
        "absolute": lambda n: abs(n[2]),
        "power": lambda n: n[0] ** 2,
        "of a sum": lambda n: n.sum() * 3 + 1,
        "left": lambda n: 100 - n[2],
        "float": lambda n: n[0] * 1.5 + n[1],
    }
    for f in ops.values():
        check(lambda f=f: f, x, calls=3)


def test_powers_of_scalars_are_libm_s():
    values = rng.random(4000) * 10
    jitted = pijit.jit(lambda v: (v[0] ** 2 + v.sum(), v[0] ** 2, v[0] ** 1.7, v[0] ** -1))

    def plain(v):
        return v[0] ** 2 + v.sum(), v[0] ** 2, v[0] ** 1.7, v[0] ** -1

    for k in range(len(values) - 3):
        assert jitted(values[k : k + 3]) == plain(values[k : k + 3])


def test_reductions_over_axes_side_by_side():
    for shape in [(3, 5, 7), (40, 30, 20), (2, 300, 5), (130, 9, 2), (2, 3, 4, 150)]:
        x = rng.normal(size=shape)
        for axes in [(0, 1), (1, 2), tuple(range(len(shape)))]:
            check(lambda axes=axes: lambda a: (a.sum(axis=axes), a.mean(axis=axes), a.var(axis=axes)), x)
            check(lambda axes=axes: lambda a: a.sum(axis=axes), x.astype(np.float32))


def test_parts_of_transposed_arrays_have_gaps():
    x = rng.normal(size=(60, 45))
    parts = [
        lambda a: a.T[0] @ a.T[1],
        lambda a: a.T[0] @ a,
        lambda a: a.T[1:] @ a,
        lambda a: a.T[:, 1:] @ a[1:],
        lambda a: a.T[1:].sum() * 2,
        lambda a: a.T[:, 1:].sum() * 2,
        lambda a: a.T[0].mean() + a.T[1:-1].std(),
        lambda a: a.T[:, 1:].reshape(-1) * 2,
        lambda a: a.T[1:].ravel() + 1,
        lambda a: np.pad(a.T[1:], 1) * 2,
    ]
    for f in parts:
        check(lambda f=f: f, x)
        check(lambda f=f: f, np.asfortranarray(x))


def test_constants_that_are_iterated():
    def f(x):
        total = x * 0
        for c in np.array([1.0, 2.0, 3.0]):
            total = total * x + c
        return total

    def changed(x):
        p = np.array([1.0, 2.0, 3.0])
        for c in p:
            p += 1
            x = x + c
        return x, p

    check(lambda: f, V, breaks=0)
    check(lambda: changed, V)


def test_dtypes_are_compared():
    def f(x):
        if x.dtype == np.float32 or x.dtype == "int64" or x.dtype != np.dtype(float):
            return x * 2
        return x + np.finfo(np.float64).eps

    for x in (V, V.astype(np.float32), N):
        check(lambda: f, x, breaks=0)
