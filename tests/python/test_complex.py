"""Complex tensors: values against NumPy, gradients (dL/dRe + i dL/dIm) against finite differences, jitted as eager,
facts of MindSpore 2.7.1."""

import io
import pickle

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, ops
from tests.python.differential import check

rng = np.random.default_rng(7)
Z = (rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4))).astype(np.complex64)
W = (rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4))).astype(np.complex64)
TOLERANCE = {"complex64": 2e-5, "complex128": 1e-12}

UNARY = {
    "exp": np.exp, "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "expm1": np.expm1,
         "exp2": np.exp2, "sin": np.sin, "cos": np.cos,
    "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asin": np.arcsin, "acos": np.arccos,
         "atan": np.arctan, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "sqrt": np.sqrt, "rsqrt": lambda z: 1 / np.sqrt(z), "square": np.square,
         "reciprocal": np.reciprocal,
    "neg": np.negative, "conj": np.conj, "abs": lambda z: np.abs(z) + 0j, "sign": lambda z: z / np.abs(z),
         "real": np.real, "imag": np.imag,
    "angle": np.angle, "silu": lambda z: z / (1 + np.exp(-z)),
}
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power}


def close(x, want, dtype):
    got = x.asnumpy()
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype):
    z = Z.astype(dtype)
    want = UNARY[name](z)
    close(getattr(ops, name)(Tensor(z)), want.astype(dtype if np.iscomplexobj(want) else z.real.dtype), dtype)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, dtype):
    z, w = Z.astype(dtype), W.astype(dtype)
    close(getattr(ops, name)(Tensor(z), Tensor(w)), BINARY[name](z, w), dtype)


def test_edges():
    with np.errstate(all="ignore"):
        z = np.array([0, 1, -1, 1j, -1j, 1e20 + 1e20j, -0.0 + 0j, 3 - 0j], np.complex128)
        for name in ("sqrt", "exp", "tanh", "square", "log"):
            np.testing.assert_allclose(getattr(ops, name)(Tensor(z)).asnumpy(), UNARY[name](z), rtol=1e-12,
                                       err_msg=name)
        big = np.array([1e200 + 1e200j, 1e-200 + 1e-200j])
        np.testing.assert_allclose((Tensor(big) / Tensor(big)).asnumpy(), [1, 1])
        np.testing.assert_allclose(ops.tanh(Tensor(np.array([800 + 1j, -800 - 1j]))).asnumpy(), [1, -1])
    zero = Tensor(np.zeros(2, np.complex64))
    assert (zero ** 0).asnumpy().tolist() == [1, 1] and (zero ** 2.5).asnumpy().tolist() == [0, 0]


def test_promotion_is_mindspores():
    z, z2 = Tensor(Z), Tensor(Z.astype(np.complex128))
    expect = {ms.float32: (ms.complex64, ms.complex128), ms.float64: (ms.complex128, ms.complex128),
              ms.float16: (ms.complex64, ms.complex128),
              ms.int32: (ms.complex64, ms.complex128), ms.bool_: (ms.complex64, ms.complex128),
              ms.complex64: (ms.complex64, ms.complex128)}
    for dtype, (single, double) in expect.items():
        x = ops.ones((3, 4), dtype)
        assert (z * x).dtype == (x - z).dtype == single and (z2 + x).dtype == (x / z2).dtype == double
    assert (z * 2).dtype == (2.5 / z).dtype == (z ** 0.5).dtype == ms.complex64
    for f in (lambda: z * 2j, lambda: 2j + z):  # as in MindSpore: a Tensor is needed
        with pytest.raises(TypeError):
            f()


def test_creation_and_exchange():
    assert Tensor(1 + 2j).dtype == Tensor([1 + 2j, 3]).dtype == ms.complex128
    assert Tensor([1, 2], ms.complex64).asnumpy().tolist() == [1, 2]
    assert Tensor(np.complex64(1 + 2j)).item() == 1 + 2j and Tensor([1 + 2j], complex).tolist() == [1 + 2j]
    z = Tensor(Z)
    assert np.array_equal(z.asnumpy(), Z)
    assert np.array_equal(np.asarray(z), Z)
    assert np.array_equal(Tensor.from_numpy(Z).asnumpy(), Z)
    assert np.array_equal(pickle.loads(pickle.dumps(z)).asnumpy(), Z)
    assert z.itemsize == 8
    assert bool(Tensor(1j))
    assert not bool(Tensor(-0.0 * 1j))
    assert memoryview(z).format == "Zf" and np.array_equal(np.from_dlpack(z), Z)
    for f in (float, int):
        with pytest.raises(TypeError):
            f(z[0, 0])
    assert str(Tensor(np.array([1 + 2j], np.complex64))) == "[1.+2.j]"
    assert repr(Tensor(np.array([1 + 2j, -3 + 0.5j],
                                np.complex64))) == "Tensor(shape=[2], dtype=Complex64, value= [1+2j, -3+0.5j])"
    assert str(ms.complex64) == "Complex64" and ms.dtype_to_nptype(ms.complex128) is np.complex128
    assert ops.zeros((2,), ms.complex64).asnumpy().tolist() == [0, 0]
    assert ops.full((2,), 1.5, dtype=ms.complex64).dtype == ms.complex64
    assert ops.ones_like(z).dtype == ops.full_like(z, 2).dtype == ms.complex64
    assert ops.eye(2, 2, ms.complex64).asnumpy()[0, 0] == 1


def test_checkpoint(tmp_path):
    p = ms.Parameter(Tensor(Z), name="w")
    ms.save_checkpoint([{"name": "w", "data": p}], str(tmp_path / "a.ckpt"))
    loaded = ms.load_checkpoint(str(tmp_path / "a.ckpt"))["w"]
    assert loaded.dtype == ms.complex64 and np.array_equal(loaded.asnumpy(), Z)


def test_casts():
    z = Tensor(Z)
    assert np.array_equal(z.astype(ms.float32).asnumpy(), Z.real)
    assert np.array_equal(z.astype(ms.int32).asnumpy(), Z.real.astype(np.int32))
    assert np.array_equal(z.astype(ms.complex128).asnumpy(), Z.astype(np.complex128))
    assert Tensor([0, 1j]).astype(ms.bool_).asnumpy().tolist() == [False, True]
    assert Tensor([1, 2], ms.int32).astype(ms.complex64).asnumpy().tolist() == [1, 2]


MOVES = {
    "reshape": lambda z: z.reshape(4, 3), "transpose": lambda z: z.T,
         "index": lambda z: (z[1], z[..., 2], z[::-1, 1:3], z[None], z[1, 2]),
    "gather": lambda z: z[Tensor([2, 0])], "concat": lambda z: ops.concat((z, z)),
         "stack": lambda z: ops.stack((z, z), 1), "flip": lambda z: ops.flip(z, (0,)),
    "roll": lambda z: ops.roll(z, 1, 0), "tile": lambda z: ops.tile(z, (2, 1)), "split": lambda z: ops.split(z, 2, 1),
         "squeeze": lambda z: z[:1].squeeze(),
    "broadcast": lambda z: ops.broadcast_to(z, (2, 3, 4)), "where": lambda z: ops.where(ops.real(z) > 0, z, -z),
         "sum": lambda z: (z.sum(), z.sum(0), z.sum(1, keepdims=True)),
    "mean": lambda z: z.mean(), "prod": lambda z: (ops.prod(z), ops.prod(z, 1)), "cumsum": lambda z: ops.cumsum(z, 1),
    "equal": lambda z: (z == z, z != z.conj()), "is": lambda z: (ops.isnan(z), ops.isinf(z), ops.isfinite(z),
                                                                 ops.isreal(z)), "pad": lambda z: ops.pad(z, (1, 2)),
    "all": lambda z: (ops.all(z), ops.any(z), ops.logical_not(z)), "diag": lambda z: ops.diag(z[0]),
         "tril": lambda z: ops.tril(z),
    "view_as_real": lambda z: ops.view_as_real(z),
         "matmul": lambda z: (z @ z.T, ops.matmul(z.T, z), z[0] @ z[1], ops.bmm(z[None], z.T[None])),
}


@pytest.mark.parametrize("name", MOVES)
def test_moves_and_sums(name):
    f = MOVES[name]
    check(lambda: f, Tensor(Z), graphs=1, breaks=0)
    check(lambda: f, Tensor(Z.astype(np.complex128)), graphs=1, breaks=0)


def test_moves_and_sums_are_numpys():
    z = Tensor(Z)
    close(z.T, Z.T, "complex64")
    close(ops.concat((z, -z), 1), np.concatenate((Z, -Z), 1), "complex64")
    close(z.sum(0), Z.sum(0), "complex64")
    close(z.mean(), Z.mean().reshape(()), "complex64")
    close(ops.prod(z, 1), Z.prod(1), "complex64")
    close(ops.cumsum(z, 1), Z.cumsum(1), "complex64")
    close(z @ z.T, Z @ Z.T, "complex64")
    close(z[::-1, 1:3], Z[::-1, 1:3], "complex64")
    close(z[Tensor([2, 0])], Z[[2, 0]], "complex64")
    close(ops.view_as_real(z), np.stack((Z.real, Z.imag), -1), "complex64")
    q = Tensor(Z)
    q[0] = 5
    want = Z.copy()
    want[0] = 5
    close(q, want, "complex64")


def numeric(f, args, k):
    """dL/dRe + i dL/dIm of the real function f by args[k]."""
    x = args[k]
    g = np.zeros(x.shape, np.complex128)
    for i in np.ndindex(x.shape):
        for step, unit in ((1e-6, 1), (1e-6j, 1j)):
            if not np.iscomplexobj(x) and unit == 1j:
                continue
            hi, lo = x.copy(), x.copy()
            hi[i] += step
            lo[i] -= step
            a = [hi if j == k else v for j, v in enumerate(args)], [lo if j == k else v for j, v in enumerate(args)]
            g[i] += unit * (float(f(*map(Tensor, a[0])).item()) - float(f(*map(Tensor, a[1])).item())) / 2e-6
    return g if np.iscomplexobj(x) else g.real


def weighted(y):
    """A real number out of any tensor."""
    w = (ops.arange(1, y.size + 1) / y.size).astype(ms.float64).reshape(y.shape)
    return (ops.real(y) * w).sum() + (ops.imag(y) * (3.0 - w)).sum() if ops.is_complex(y) else (y * w).sum()


A2 = (rng.normal(size=(2, 2)) + 1j * rng.normal(size=(2, 2))).astype(np.complex128) * 0.7 + 0.3
B2 = (rng.normal(size=(2, 2)) + 1j * rng.normal(size=(2, 2))).astype(np.complex128) + 2
R2 = rng.normal(size=(2, 2)) + 2
GRADS = {n: (getattr(ops, n), A2) for n in UNARY if n != "sign"} | {n: (getattr(ops, n), A2, B2) for n in BINARY} | {
    "mul real": (ops.mul, A2, R2),
    "div real": (ops.div, R2, A2),
    "matmul": (ops.matmul, A2, B2),
    "prod": (lambda z: ops.prod(z, 1), A2),
    "cumsum": (lambda z: ops.cumsum(z, 0), A2),
    "complex": (ops.complex, R2, R2 + 1),
    "polar": (ops.polar, R2, R2 + 1),
    "mean": (ops.mean, A2),
    "view_as_real": (ops.view_as_real, A2),
    "cast": (lambda x: x.astype(ms.complex128) ** 2, R2),
    "cast back": (lambda z: z.astype(ms.float64), A2),
    "where": (lambda x, y: ops.where(Tensor([[True, False], [False, True]]), x, y), A2, B2),
    "index": (lambda z: z[::-1, 0] * z[0], A2),
    "gather": (lambda z: z[Tensor([1, 1, 0])], A2),
    "concat": (lambda x, y: ops.concat((x, y)) ** 2, A2, B2),
    "transpose": (lambda z: z.T @ z, A2),
    "chain": (lambda z: ops.exp(z * z.conj()) / (1 + ops.abs(z)), A2),
    "setitem": (lambda z, w: _set(z * 1, w), A2, B2),
    "eigvals": (lambda z: ops.eigvals(z + 0 * z.conj()).sum(), A2),
    "eig": (lambda z: _phase_free(*ops.eig(z)), A2),
    "eig real": (lambda x: _phase_free(*ops.eig(x)), R2),
}


def _set(z, w):
    z[0] = w[1]
    return z * w


def _phase_free(w, v):
    return w.sum() ** 2 + (ops.abs(v) * w).sum()


@pytest.mark.parametrize("name", GRADS)
def test_gradients(name):
    f, *args = GRADS[name]
    places = tuple(range(len(args)))
    grads = ms.grad(lambda *a: weighted(f(*a)), places)(*map(Tensor, args))
    grads = grads if isinstance(grads, tuple) else (grads,)
    for k in places:
        assert grads[k].dtype == Tensor(args[k]).dtype
        np.testing.assert_allclose(grads[k].asnumpy(), numeric(lambda *a: weighted(f(*a)), args, k), rtol=2e-6,
                                   atol=2e-6, err_msg=f"{name} {k}")
    check(lambda: lambda *a: ms.grad(lambda *b: weighted(f(*b)), places)(*a), *[Tensor(a) for a in args], breaks=0,
          graphs=1)


def test_gradients_as_measured():
    """Of MindSpore 2.7.1, for ops whose gradients it takes as here (others miss a conjugate there, or are refused)."""
    z = Tensor(np.array([1 + 2j, -3 + 0.5j], np.complex64))

    def s(q):
        return (ops.real(q) * Tensor([1.0, 2.0])).sum() + (ops.imag(q) * Tensor([3.0, 5.0])).sum()
    measured = {ops.exp: [6.28398 - 5.86534j, 0.20673 + 0.170717j], ops.conj: [1 - 3j, 2 - 5j]}
    for f, want in measured.items():
        np.testing.assert_allclose(ms.grad(lambda a: s(f(a)))(z).asnumpy(), want, rtol=1e-4)
    np.testing.assert_allclose(ms.grad(lambda a: (ops.angle(a) * Tensor([1.0, 2.0])).sum())(z).asnumpy(),
                               [-0.4 + 0.2j, -0.10811 - 0.64865j], rtol=1e-4)
    assert ms.grad(lambda a: ops.real(a.sum()))(z).asnumpy().tolist() == [1, 1]
    assert ms.grad(lambda a: (a.astype(ms.float32) * Tensor([1.0, 2.0])).sum())(z).asnumpy().tolist() == [1, 2]


def test_captured():
    def f(z, x):
        y = ops.exp(z * x) / (1 + ops.abs(z)) - z.conj()
        return y, ops.real(y).sum(), ops.view_as_real(y) * 2, (y == y).all()
    check(lambda: f, Tensor(Z), Tensor(Z.real.copy()), graphs=1, breaks=0)

    def branch(z):
        if ops.real(z).sum() > 0:
            return z * z
        return z.conj() + 1
    check(lambda: branch, Tensor(Z), breaks=0)
    check(lambda: branch, Tensor(-Z), breaks=0)

    def loop(z):
        n = Tensor(0)
        while ops.abs(z).astype(ms.float32).max() < 100:
            z, n = z * z + 1, n + 1
        return z, n
    check(lambda: loop, Tensor(Z), breaks=0)
    p = ms.Parameter(Tensor(Z), name="p")

    def make():
        q = ms.Parameter(p.value(), name="p")

        def g(x):
            q.set_data(q + x)
            return q * 2
        return g, lambda: q
    check(make, Tensor(W))


def test_sizes_that_vary():
    f = ms.jit(lambda z: (ops.exp(z) * z).sum())
    for n in (3, 4, 5, 6):
        z = Tensor(np.resize(Z, n))
        np.testing.assert_allclose(f(z).asnumpy(), (np.exp(z.asnumpy()) * z.asnumpy()).sum(), rtol=1e-5)


def test_vmap_and_jvp():
    z, t = Tensor(A2), Tensor(B2)
    got = ms.vmap(lambda v: ops.exp(v) * v.conj())(z)
    np.testing.assert_allclose(got.asnumpy(), np.exp(A2) * A2.conj(), rtol=1e-12)
    for f in (lambda v: ops.exp(v) * v, lambda v: v.conj() * v, ops.abs, ops.angle, lambda v: ops.matmul(v, v),
              lambda v: ops.prod(v, 0)):
        _, d = ms.jvp(f, z, t)
        step = 1e-6
        want = (f(Tensor(A2 + step * B2)).asnumpy() - f(Tensor(A2 - step * B2)).asnumpy()) / (2 * step)
        np.testing.assert_allclose(d.asnumpy(), want, rtol=1e-6, atol=1e-6)


def test_names():
    z = Tensor(Z)
    assert ops.is_complex(z) and not ops.is_complex(Tensor(1.0)) and z.is_complex()
    assert ops.real(Tensor([1])).dtype == ops.imag(Tensor([1])).dtype == ms.int64
    assert ops.conj(Tensor([1.5])).asnumpy().tolist() == [1.5]
    close(ops.Complex()(ops.Real()(z), ops.Imag()(z)), Z, "complex64")
    assert ops.ComplexAbs()(z).dtype == ms.float32 and ops.Conj()(z).dtype == ms.complex64
    assert ops.Angle()(z).dtype == ms.float32
    close(ops.polar(Tensor(np.abs(Z)), Tensor(np.angle(Z))), Z, "complex64")
    close(ops.ConjugateTranspose()(z, (1, 0)), Z.conj().T, "complex64")


def test_eigenvalues():
    for a in (R2, A2, R2.astype(np.float32), Z[:, :3], np.stack((R2, R2.T))):
        w, v = ops.eig(Tensor(a))
        assert w.dtype == (ms.complex64 if a.dtype in (np.float32, np.complex64) else ms.complex128)
        np.testing.assert_allclose(a @ v.asnumpy(), v.asnumpy() * w.asnumpy()[..., None, :],
                                   atol=1e-4 if w.dtype == ms.complex64 else 1e-10)
        assert np.allclose(np.sort_complex(ops.eigvals(Tensor(a)).asnumpy()), np.sort_complex(np.linalg.eigvals(a)),
                           atol=1e-4)
    with pytest.raises(TypeError):
        ops.eigvals(Tensor(R2, ms.float16))
    with pytest.raises(ValueError):
        ops.eigvals(Tensor(R2)[:1])


def test_the_absolute_value_is_complex():
    """As MindSpore has it: its real part is the number that can be compared, ops.ComplexAbs gives it at once."""
    for name, dtype, real in (("complex64", ms.complex64, ms.float32), ("complex128", ms.complex128, ms.float64)):
        z = Tensor(np.array([3 + 4j, -1j, 0]), dtype)
        for f in (ops.abs, ops.absolute, ms.mint.abs, abs, lambda z: z.abs(), lambda z: z.absolute(), ops.Abs()):
            assert f(z).dtype == dtype and np.array_equal(f(z).asnumpy(), [5, 1, 0])
        assert ops.ComplexAbs()(z).dtype == real == ops.real(ops.abs(z)).dtype
        assert ops.ComplexAbs()(z).max() == ops.real(ops.abs(z)).max() == 5
        with pytest.raises(TypeError, match="ops.real"):
            ops.abs(z).max()
        close(ops.grad(lambda z: ops.abs(z).sum())(z), np.array([0.6 + 0.8j, -1j, 0]).astype(name), name)


def test_what_has_no_rule_raises_type_error():
    z = Tensor(Z)
    for f in (lambda: z < z, lambda: ops.relu(z), lambda: ops.floor(z), lambda: ops.erf(z), lambda: ops.maximum(z, z),
              lambda: z % z, lambda: z & z,
              lambda: ops.max(z), lambda: ops.argmax(z), lambda: ops.sort(z), lambda: ops.softmax(z),
              lambda: ops.gelu(z), lambda: ops.conv2d(z, z),
              lambda: ops.angle(Tensor([1.0])), lambda: ops.view_as_real(Tensor([1.0])), lambda: ops.is_complex(3),
              lambda: ops.complex(Tensor([1]), Tensor([1])),
              lambda: ops.complex(Tensor([1.0]), Tensor([1.0], ms.float64)),
              lambda: ops.polar(Tensor([1]), Tensor([1]))):
        with pytest.raises(TypeError):
            f()


def test_every_op_answers():
    """No op crashes on complex operands: it computes, or raises an error of Python's."""
    z = Tensor(Z[:3, :3].copy())
    for name, op in ms._C.ops.items():
        for args in ((z,), (z, z), (z, z, z), (z, Tensor([0, 1])), (z, Tensor([0]), z[:1]), (Tensor(True), z, z)):
            try:
                y = op(*args)
                assert isinstance(y, Tensor) and y.asnumpy() is not None
            except (TypeError, ValueError, IndexError, RuntimeError) as e:
                assert "Internal" not in type(e).__name__, (name, e)


def test_printed():
    out = io.StringIO()
    print(Tensor(np.array([[1 + 2j]], np.complex64)), file=out)
    assert out.getvalue() == "[[1.+2.j]]\n"


def hermitian(a):
    return a @ a.conj().swapaxes(-1, -2) + np.eye(a.shape[-1])


DECOMPOSED = np.random.RandomState(5).randn(2, 3, 3) + 1j * np.random.RandomState(6).randn(2, 3, 3)
TALL = np.random.RandomState(7).randn(4, 3) + 1j * np.random.RandomState(8).randn(4, 3)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("a", [DECOMPOSED, TALL, TALL.T.copy()], ids=["batch", "tall", "wide"])
def test_decompositions(a, dtype):
    a = a.astype(dtype)
    x, tolerance = Tensor(a), 1e-4 if dtype == "complex64" else 1e-10
    s, u, v = (p.asnumpy() for p in ops.svd(x))
    assert s.dtype == a.dtype
    np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False), atol=tolerance)
    np.testing.assert_allclose((u * s[..., None, :]) @ v.conj().swapaxes(-1, -2), a, atol=tolerance)
    q, r = (p.asnumpy() for p in ops.qr(x))
    np.testing.assert_allclose(q @ r, a, atol=tolerance)
    np.testing.assert_allclose(q.conj().swapaxes(-1, -2) @ q,
                               np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], *[q.shape[-1]] * 2)),
                               atol=tolerance)
    assert np.array_equal(np.tril(r, -1), 0 * r) and np.abs(np.diagonal(r, axis1=-2, axis2=-1).imag).max() < tolerance
    if a.shape[-1] == a.shape[-2]:
        close(ops.det(x), np.linalg.det(a).astype(dtype), dtype)
        close(ops.inverse(x), np.linalg.inv(a).astype(dtype), dtype)
        close(ops.matrix_power(x, -2), np.linalg.matrix_power(a, -2).astype(dtype), dtype)
        for got, want in zip(ops.slogdet(x), np.linalg.slogdet(a)):
            close(got, want.astype(dtype), dtype)
        h = hermitian(a).astype(dtype)
        close(ops.cholesky(Tensor(h)), np.linalg.cholesky(h).astype(dtype), dtype)
        close(ops.cholesky(Tensor(h), True), np.linalg.cholesky(h).conj().swapaxes(-1, -2).astype(dtype), dtype)
        close(ops.logdet(Tensor(h)), np.log(np.linalg.det(h)).astype(dtype), dtype)
        log = ops.MatrixLogarithm()(Tensor(h)).asnumpy()
        w, e = np.linalg.eigh(h)
        np.testing.assert_allclose(log, (e * np.log(w)[..., None, :]) @ e.conj().swapaxes(-1, -2), atol=tolerance * 10)


WEIGHTS = Tensor(np.random.RandomState(9).randn(2, 3, 3) + 1j * np.random.RandomState(10).randn(2, 3, 3))


def outer_products(u, v):
    """What doesn't depend on the phases of vectors."""
    return ops.matmul(u, v.conj().swapaxes(-1, -2))


GRADIENTS = {
    "det": lambda x: ops.real(ops.det(x)).sum() + ops.imag(ops.det(x)).sum(),
    "inverse": lambda x: ops.real(ops.inverse(x) * WEIGHTS).sum(),
    "slogdet": lambda x: (lambda s, log: (ops.real(s) + 2 * ops.imag(s) + ops.real(log)).sum())(*ops.slogdet(x)),
    "cholesky": lambda x: ops.real(ops.cholesky(ops.matmul(x, x.conj().swapaxes(-1, -2)) + ops.eye(3)) * WEIGHTS).sum(),
    "cholesky, upper": lambda x: ops.real(ops.cholesky(ops.matmul(x, x.conj().swapaxes(-1, -2)) + ops.eye(3),
                                                       True) * WEIGHTS).sum(),
    "qr": lambda x: (lambda q, r: ops.real(q * WEIGHTS).sum() + ops.imag(r * WEIGHTS).sum())(*ops.qr(x)),
    "svd, values": lambda x: (ops.real(ops.svd(x, compute_uv=False)) ** 2 * ops.arange(1, 4)).sum(),
    "svd, vectors": lambda x: (lambda s, u, v: ops.real(outer_products(u * s.expand_dims(-2) ** 0.5, v) * WEIGHTS).sum()
                               + ops.real(outer_products(u[..., :1], u[..., :1]) * WEIGHTS).sum())(*ops.svd(x)),
    "var": lambda x: ops.var(x, -1).sum() + ops.std(x, 0).sum(),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_decompositions(name):
    """By differences along random directions: d f = Re <gradient, direction>; and as one graph."""
    f = GRADIENTS[name]
    x = Tensor(DECOMPOSED)
    g = ops.grad(f)(x).asnumpy()
    for seed in range(3):
        r = np.random.RandomState(seed)
        d = r.randn(2, 3, 3) + 1j * r.randn(2, 3, 3)
        change = (float(f(Tensor(DECOMPOSED + 1e-6 * d))) - float(f(Tensor(DECOMPOSED - 1e-6 * d)))) / 2e-6
        np.testing.assert_allclose((g.conj() * d).real.sum(), change, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(ops.jvp(f, x, Tensor(d))[1].asnumpy(), change, rtol=1e-5, atol=1e-6)
    check(lambda: lambda x: (f(x), ops.grad(f)(x)), x, graphs=1, breaks=0)


def test_variances_of_complex_numbers_are_real():
    for dtype in ("complex64", "complex128"):
        z = Z.astype(dtype)
        close(ops.var(Tensor(z), 0), np.var(z, 0), dtype)
        close(ops.std(Tensor(z)), np.std(z), dtype)


NORMS = [None, "fro", "nuc", 1, -1, 2, -2, float("inf"), -float("inf")]


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_norms_and_conditions(dtype):
    a = complex_matrix(3, 4, 3, dtype=dtype)
    close = dict(rtol=1e-4 if dtype == np.complex64 else 1e-10)
    for ord in NORMS:
        want = np.linalg.norm(a, ord, (1, 2))
        got = ops.norm(Tensor(a), ord, (1, 2)).asnumpy()
        assert got.dtype == dtype
        np.testing.assert_allclose(got.real, want, **close)
        assert not got.imag.any()
    for ord in (None, 1, 2, 3, float("inf"), 0):
        np.testing.assert_allclose(ops.norm(Tensor(a), ord, 1).asnumpy().real, np.linalg.norm(a, ord, 1), **close)
    square = complex_matrix(3, 3, dtype=dtype)
    for ord in NORMS:
        np.testing.assert_allclose(ops.cond(Tensor(square), ord).asnumpy().real, np.linalg.cond(square, ord), **close)


def complex_matrix(*shape, dtype=np.complex128, seed=0):
    r = np.random.RandomState(seed)
    return (r.randn(*shape) + 1j * r.randn(*shape)).astype(dtype)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_pseudo_inverse_and_exponential(dtype):
    close = dict(rtol=1e-3, atol=1e-4) if dtype == np.complex64 else dict(rtol=1e-9, atol=1e-9)
    for shape in ((3, 3), (4, 2), (2, 3, 5)):
        a = complex_matrix(*shape, dtype=dtype)
        np.testing.assert_allclose(ops.pinv(Tensor(a)).asnumpy(), np.linalg.pinv(a), **close)
    rank_one = complex_matrix(4, 1, dtype=dtype) @ complex_matrix(1, 3, dtype=dtype, seed=1)
    np.testing.assert_allclose(ops.pinv(Tensor(rank_one)).asnumpy(), np.linalg.pinv(rank_one, 1e-5), **close)
    a, b = complex_matrix(4, 3, dtype=dtype), complex_matrix(4, 2, dtype=dtype, seed=2)
    np.testing.assert_allclose(ops.lstsq(Tensor(a), Tensor(b)).asnumpy(), np.linalg.lstsq(a, b, None)[0], **close)
    h = a.conj().T @ a
    below = np.tril(h)
    np.testing.assert_allclose(ops.pinv(Tensor(below), hermitian=True).asnumpy(), np.linalg.inv(h), **close)
    w, v = np.linalg.eig(complex_matrix(2, 3, 3))
    want = v * np.exp(w)[:, None] @ np.linalg.inv(v)
    np.testing.assert_allclose(ops.matrix_exp(Tensor(complex_matrix(2, 3, 3, dtype=dtype))).asnumpy(), want, **close)
    assert ops.pinv(Tensor(np.zeros((0, 2, 3), dtype))).shape == (0, 3, 2)


def test_complex_systems():
    import pijit.scipy.linalg as sl
    a, b = complex_matrix(3, 3), complex_matrix(3, 2, seed=1)
    for lower in (False, True):
        for trans, of in ((0, lambda m: m), ("T", np.transpose), ("C", lambda m: m.conj().T)):
            triangle = np.tril(a) if lower else np.triu(a)
            got = sl.solve_triangular(Tensor(a), Tensor(b), trans, lower).asnumpy()
            np.testing.assert_allclose(of(triangle) @ got, b, rtol=1e-10)
    np.testing.assert_allclose(ops.matrix_solve(Tensor(a), Tensor(b)).asnumpy(), np.linalg.solve(a, b), rtol=1e-10)
    np.testing.assert_allclose(ops.matrix_solve(Tensor(a), Tensor(b), True).asnumpy(), np.linalg.solve(a.conj().T, b))
    h = a @ a.conj().T
    for lower in (False, True):
        w, v = [t.asnumpy() for t in sl.eigh(Tensor(np.tril(h) if lower else np.triu(h)), lower=lower)]
        np.testing.assert_allclose(w.real, np.linalg.eigvalsh(h), rtol=1e-10)
        np.testing.assert_allclose(v * w @ v.conj().T, h, atol=1e-10)
    x, tau = np.tril(complex_matrix(3, 3)), complex_matrix(3, seed=3)
    want = np.eye(3, dtype=complex)
    for k in range(3):
        r = np.where(np.arange(3) > k, x[:, k], np.arange(3) == k)
        want = want @ (np.eye(3) - tau[k] * np.outer(r, r.conj()))
    np.testing.assert_allclose(ops.orgqr(Tensor(x), Tensor(tau)).asnumpy(), want, rtol=1e-9, atol=1e-12)


def test_gradient_of_the_complex_pseudo_inverse():
    a, c = complex_matrix(3, 2), complex_matrix(2, 3, seed=4)

    def f(x):
        return ops.real(ops.pinv(x) * Tensor(c)).sum()
    g = ms.grad(f)(Tensor(a)).asnumpy()
    step = complex_matrix(3, 2, seed=5) * 1e-6
    change = float(f(Tensor(a + step)).asnumpy()) - float(f(Tensor(a - step)).asnumpy())
    np.testing.assert_allclose(change, 2 * np.sum(g.conj() * step).real, rtol=1e-5)


def test_matrix_logarithm():
    x = np.array([[2 + 1j, 0.5], [0.1j, 3]], np.complex64)
    logarithm = ops.MatrixLogarithm()(ms.Tensor(x)).asnumpy()
    assert logarithm.dtype == np.complex64
    values, vectors = np.linalg.eig(logarithm)
    np.testing.assert_allclose(vectors * np.exp(values) @ np.linalg.inv(vectors), x, rtol=1e-5, atol=1e-5)
    with pytest.raises(TypeError, match="MatrixLogarithm"):
        ops.MatrixLogarithm()(ms.Tensor(x.real))
