"""Linear algebra: factors multiply back, gradients against finite differences, jitted as eager, errors of MindSpore's
types."""

import numpy as np
import pytest

import pijit as ms
import pijit.mint
import pijit.scipy.linalg as sl
from pijit import Tensor, ops
from tests.python.differential import check
from tests.python.test_ops import in_tuple, numeric_gradient

EYE = np.eye


def spd(x):
    """A positive definite matrix from any."""
    return ops.matmul(x, x.swapaxes(-1, -2)) + ops.eye(x.shape[-1], dtype=x.dtype)


def triangle(x):
    """A lower triangular matrix with a good diagonal."""
    n = x.shape[-1]
    return ops.tril(x, -1) + (2 + ops.abs(x)) * ops.eye(n, dtype=x.dtype)


def up_to_signs(v):
    """What of column vectors does not depend on their signs."""
    return ops.matmul(v * Tensor(np.arange(1.0, v.shape[-1] + 1), v.dtype), v.swapaxes(-1, -2))


GRADS = {
    "cholesky": (lambda x: ops.cholesky(spd(x)), (3, 3)),
    "cholesky upper": (lambda x: ops.cholesky(spd(x), True), (2, 3, 3)),
    "cholesky_inverse": (lambda x: ops.cholesky_inverse(triangle(x)), (3, 3)),
    "cholesky_solve": (lambda x, b: ops.cholesky_solve(b, triangle(x)), (2, 3, 3), (2, 3, 2)),
    "inverse": (lambda x: ops.inverse(spd(x)), (2, 3, 3)), "det": (ops.det, (2, 3, 3)),
    "slogdet": (lambda x: ops.slogdet(x)[1], (2, 3, 3)),
    "logdet": (lambda x: ops.logdet(spd(x)), (3, 3)),
    "matrix_solve": (lambda a, b: ops.matrix_solve(spd(a), b), (2, 3, 3), (2, 3, 2)),
    "matrix_solve adjoint": (lambda a, b: ops.matrix_solve(triangle(a), b, True), (3, 3), (3, 2)),
    "solve_triangular": (lambda a, b: sl.solve_triangular(triangle(a), b, lower=True), (3, 3), (3,)),
    "solve_triangular trans unit": (lambda a, b: sl.solve_triangular(triangle(a).T, b, 1, False, True), (3, 3), (3, 2)),
    "solve broadcast": (lambda a, b: ms._C.ops["solve"](triangle(a), b), (3, 3), (2, 3, 2)),
    "qr": (lambda x: ops.cat(ops.qr(x + 2 * ops.eye(4, 3, x.dtype)), -2), (4, 3)),
    "qr wide": (lambda x: ops.cat(ops.qr(x + 2 * ops.eye(3, 4, x.dtype)), -1), (2, 3, 4)),
    "qr complete": (lambda x: ops.qr(x + 2 * ops.eye(3, 3, x.dtype), "complete")[1], (3, 3)),
    "eigh": (lambda x: up_to_signs(sl.eigh(x + x.T)[1]), (3, 3)),
    "eigh values": (lambda x: sl.eigh(x + x.T, lower=False, eigvals_only=True), (4, 4)),
    "svd": (lambda x: up_to_signs(ops.svd(x)[1]), (4, 3)), "svd v": (lambda x: up_to_signs(ops.svd(x)[2]), (2, 3, 4)),
    "svd values": (lambda x: ops.svd(x, compute_uv=False), (2, 3, 4)),
    "svd square": (lambda x: ops.matmul(ops.svd(x, True)[1], ops.svd(x, True)[2].T), (3, 3)),
    "pinv": (ops.pinv, (2, 4, 3)), "pinv wide": (ops.pinv, (3, 4)),
    "pinv cut": (lambda x: ops.pinv(x, rtol=0.4), (2, 4, 3)),
    "pinv cut wide": (lambda x: ops.pinv(x, atol=1.0), (3, 4)),
    "pinv hermitian": (lambda x: ops.pinv(x + x.T, hermitian=True), (3, 3)),
    "pinv cut square": (lambda x: ops.pinv(x, rtol=0.3), (3, 3)),
    "lstsq": (ops.lstsq, (4, 3), (4, 2)), "matrix_exp": (ops.matrix_exp, (2, 3, 3)),
    "matrix_power": (lambda x: ops.matrix_power(spd(x), 3), (3, 3)),
    "matrix_power < 0": (lambda x: ops.matrix_power(spd(x), -2), (2, 3, 3)),
    "nuc": (lambda x: ops.norm(x, "nuc"), (3, 4)), "norm 2": (lambda x: ops.norm(x, 2, (0, 2), True), (3, 2, 4)),
    "norm -2": (lambda x: ops.norm(x, -2), (3, 4)),
    "cond": (lambda x: ops.cond(spd(x)), (3, 3)), "cond 1": (lambda x: ops.cond(spd(x), 1), (3, 3)),
    "lu": (lambda x: sl.lu(x)[1] + sl.lu(x)[2], (3, 3)), "lu wide": (lambda x: ops.cat(sl.lu(x)[1:], -1), (3, 5)),
    "lu tall": (lambda x: ops.cat(sl.lu(x)[1:], -2), (5, 3)),
    "lu permuted": (lambda x: sl.lu(x, permute_l=True)[0], (4, 4)),
    "lu_solve": (lambda a, b: sl.lu_solve(sl.lu_factor(a), b), (3, 3), (3, 2)),
    "lu_solve trans": (lambda a, b: sl.lu_solve(sl.lu_factor(a), b, 1), (3, 3), (3,)),
    "orgqr": (lambda a, t: ops.orgqr(a, t), (4, 3), (3,)),
    "ormqr": (lambda a, t, x: ops.ormqr(a, t, x, False, True), (4, 3), (3,), (2, 4)),
    "cho_solve": (lambda a, b: sl.cho_solve(sl.cho_factor(spd(a)), b), (3, 3), (3,)),
}


@pytest.mark.parametrize("name", GRADS)
def test_gradients(name):
    fn, *shapes = GRADS[name]
    r = np.random.RandomState(3)
    xs = [r.uniform(-1.5, 1.5, s) for s in shapes]
    weight = Tensor(r.randn(*fn(*map(Tensor, xs)).shape))

    def scalar(*args):
        return (fn(*args) * weight).sum()
    positions = tuple(range(len(xs)))
    g = ms.grad(scalar, positions)
    got = in_tuple(g(*map(Tensor, xs)))
    for k in positions:
        want = numeric_gradient(lambda v: scalar(*[Tensor(v if j == k else xs[j]) for j in positions]).item(), xs[k])
        np.testing.assert_allclose(got[k].asnumpy(), want, rtol=1e-4, atol=1e-5)
    direction = [r.uniform(-1, 1, s) for s in shapes]
    _, tangent = ms.jvp(scalar, tuple(map(Tensor, xs)), tuple(map(Tensor, direction)))
    np.testing.assert_allclose(tangent.item(), sum((v.asnumpy() * d).sum() for v, d in zip(got, direction)), rtol=1e-8,
                               atol=1e-9)
    captured = in_tuple(ms.jit(lambda *a: g(*a))(*map(Tensor, xs)))
    for a, b in zip(got, captured):
        assert a.asnumpy().tobytes() == b.asnumpy().tobytes(), "eager and captured gradients differ in bits"


@pytest.mark.parametrize("name",
                         ["cholesky", "inverse", "det", "slogdet", "matrix_solve", "eigh values", "svd values", "svd",
                          "qr", "pinv", "matrix_exp", "lu"])
def test_second_derivatives(name):
    fn, *shapes = GRADS[name]
    r = np.random.RandomState(4)
    xs = [r.uniform(-1.5, 1.5, s) for s in shapes]
    weight = Tensor(r.randn(*fn(*map(Tensor, xs)).shape))
    d = Tensor(r.uniform(-1, 1, shapes[0]))

    def along(x):
        return (ms.grad(lambda v: (fn(v, *map(Tensor, xs[1:])) * weight).sum())(x) * d).sum()
    got = ms.grad(along)(Tensor(xs[0])).asnumpy()
    np.testing.assert_allclose(got, numeric_gradient(lambda v: along(Tensor(v)).item(), xs[0]), rtol=2e-3, atol=2e-4)


def matrices(*shape, dtype=np.float64):
    return np.random.RandomState(5).randn(*shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5), (2, 3, 4, 4), (40, 40), (70, 30), (1, 1)])
def test_factors_multiply_back(shape, dtype):
    a = matrices(*shape, dtype=dtype)
    x = Tensor(a)
    close = dict(rtol=0, atol=1e-4 if dtype == np.float32 else 1e-11)
    t = lambda v: np.swapaxes(v, -1, -2)  # noqa: E731
    for full in (False, True):
        s, u, v = [p.asnumpy() for p in ops.svd(x, full)]
        assert u.dtype == dtype and (not full or u.shape[-1] == shape[-2] and v.shape[-1] == shape[-1])
        k = s.shape[-1]
        np.testing.assert_allclose((u[..., :k] * s[..., None, :]) @ t(v[..., :k]), a, **close)
        for q in (u, v):
            np.testing.assert_allclose(t(q) @ q, np.broadcast_to(EYE(q.shape[-1]), q.shape[:-2] + (q.shape[-1],) * 2),
                                       **close)
    np.testing.assert_allclose(ops.svd(x, compute_uv=False).asnumpy(), np.linalg.svd(a, compute_uv=False), **close)
    for mode in ("reduced", "complete"):
        q, r = [p.asnumpy() for p in ops.qr(x, mode)]
        want = np.linalg.qr(a, mode) if a.ndim == 2 else None
        assert want is None or q.shape == want[0].shape and r.shape == want[1].shape
        np.testing.assert_allclose(q @ r, a, **close)
        np.testing.assert_allclose(t(q) @ q, np.broadcast_to(EYE(q.shape[-1]), q.shape[:-2] + (q.shape[-1],) * 2),
                                   **close)
        assert not np.tril(r, -1).any()
    np.testing.assert_allclose(ops.pinv(x).asnumpy(), np.linalg.pinv(a), rtol=1e-2 if dtype == np.float32 else 1e-8,
                               atol=1e-3 if dtype == np.float32 else 1e-9)
    if a.ndim == 2:
        p, l, u = [v.asnumpy() for v in sl.lu(x)]
        np.testing.assert_allclose(p @ l @ u, a, **close)
        assert np.abs(l).max() <= 1 and p.dtype == np.int32
    if shape[-2] >= shape[-1]:
        h, tau = ops.geqrf(x)
        np.testing.assert_allclose(ops.orgqr(h, tau).asnumpy(), ops.qr(x)[0].asnumpy(), **close)
        np.testing.assert_allclose(ops.ormqr(h, tau, ops.qr(x, "complete")[0], True, True).asnumpy(),
                                   np.broadcast_to(EYE(shape[-2]), a.shape[:-2] + (shape[-2],) * 2), **close)
    if shape[-1] != shape[-2]:
        return
    s = a @ t(a) + EYE(shape[-1], dtype=dtype)
    y = Tensor(s)
    l = ops.cholesky(y)
    np.testing.assert_allclose(l.asnumpy(), np.linalg.cholesky(s), rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(ops.cholesky(y, True).asnumpy(), t(l.asnumpy()), rtol=1e-5, atol=1e-5)
    inverse = np.linalg.inv(s.astype(np.float64))
    for got in (ops.inverse(y), ops.cholesky_inverse(l), ops.cholesky_inverse(ops.cholesky(y, True), True),
                ops.cholesky_solve(ops.eye(shape[-1], dtype=y.dtype), l)
                if a.ndim == 2 else ops.inverse(y), ops.matrix_power(y, -1)):
        np.testing.assert_allclose(got.asnumpy(), inverse, **close)
    sign, log = np.linalg.slogdet(a)
    got = [v.asnumpy() for v in ops.slogdet(x)]
    np.testing.assert_allclose(got[0], sign)
    np.testing.assert_allclose(got[1], log, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(ops.det(x).asnumpy(), np.linalg.det(a.astype(np.float64)), rtol=1e-3)
    if a.ndim == 2:
        w, v = [p.asnumpy() for p in sl.eigh(y)]
        np.testing.assert_allclose((v * w) @ v.T, s, rtol=1e-4, atol=1e-3 if dtype == np.float32 else 1e-10)
        b = matrices(shape[0], 2, dtype=dtype)
        lu, piv = sl.lu_factor(y)
        for got in (sl.lu_solve((lu, piv), Tensor(b)), ops.lu_solve(Tensor(b), lu, piv + 1),
                    ops.matrix_solve(y, Tensor(b)), sl.cho_solve(sl.cho_factor(y, True), Tensor(b))):
            np.testing.assert_allclose(got.asnumpy(), inverse @ b, **close)
        p, l, u = [v.asnumpy() for v in ops.lu_unpack(lu, piv + 1)]
        np.testing.assert_allclose(p @ l @ u, s, rtol=1e-4, atol=1e-3 if dtype == np.float32 else 1e-10)


def test_exponential():
    a = matrices(2, 5, 5) * 3
    want = [sum((np.linalg.matrix_power(m / 1024, k) / float(np.prod(np.arange(1.0, k + 1))) for k in range(1, 12)),
                EYE(5)) for m in a]
    want = np.stack([np.linalg.matrix_power(w, 1024) for w in want])
    np.testing.assert_allclose(ops.matrix_exp(Tensor(a)).asnumpy(), want, rtol=1e-8)
    np.testing.assert_array_equal(ops.matrix_exp(Tensor(np.zeros((2, 2), np.float32))).asnumpy(), EYE(2))


def test_rank_deficient():
    a = np.outer(np.arange(1.0, 5), [1.0, 2, 3])
    np.testing.assert_allclose(ops.pinv(Tensor(a)).asnumpy(), np.linalg.pinv(a), atol=1e-12)
    b = matrices(4, 2)
    np.testing.assert_allclose(ops.lstsq(Tensor(a), Tensor(b)).asnumpy(), np.linalg.lstsq(a, b, rcond=None)[0],
                               atol=1e-12)
    x, _, rank, s = sl.lstsq(Tensor(a), Tensor(b[:, 0]))
    assert int(rank) == 1 and s.shape == (3,) and x.shape == (3,)
    np.testing.assert_allclose(ops.pinv(Tensor(EYE(3) * [4, 2, 1]), rtol=0.3).asnumpy(), EYE(3) * [0.25, 0.5, 0])
    for singular in (EYE(3) * [1.0, 2, 0], a[:3], np.zeros((3, 3)), EYE(3) * [1.0, 0, 0]):
        g = ms.grad(lambda v: ops.det(v))(Tensor(singular)).asnumpy()  # the cofactors
        want = numeric_gradient(lambda v: np.linalg.det(v), singular)
        np.testing.assert_allclose(g, want, atol=1e-6)


def test_equal_singular_values_and_eigenvalues():
    """What does not depend on the choice of vectors has its gradient where values are equal."""
    x = Tensor(EYE(3) * 2)
    np.testing.assert_allclose(ms.grad(lambda v: ops.norm(v, "nuc"))(x).asnumpy(), EYE(3), atol=1e-12)
    np.testing.assert_allclose(ms.grad(lambda v: sl.eigh(v, eigvals_only=True).sum())(x).asnumpy(), EYE(3), atol=1e-12)
    np.testing.assert_allclose(ms.grad(lambda v: (ops.svd(v)[0] ** 2).sum())(Tensor(np.zeros((3, 2)))).asnumpy(),
                               np.zeros((3, 2)), atol=1e-12)
    second = ms.grad(lambda v: ms.grad(ops.det)(v)[0, 0])(Tensor(EYE(3))).asnumpy()
    np.testing.assert_allclose(second, EYE(3) * [0, 1, 1], atol=1e-12)


def test_empty_and_not_finite():
    for f in (ops.cholesky, ops.inverse, ops.svd, ops.qr, ops.pinv, ops.matrix_exp, ops.geqrf):
        f(Tensor(np.zeros((0, 2, 2), np.float32)))
        f(Tensor(np.zeros((0, 0), np.float32)))
    assert ops.svd(Tensor(np.zeros((0, 3), np.float32)), True)[2].asnumpy().tolist() == EYE(3).tolist()
    assert ops.qr(Tensor(np.zeros((3, 0), np.float32)), "complete")[0].asnumpy().tolist() == EYE(3).tolist()
    assert (ops.det(Tensor(np.zeros((2, 0, 0)))).asnumpy().tolist() == [1, 1]
            and ops.slogdet(Tensor(np.zeros((0, 0))))[1].item() == 0)
    for bad in (np.nan, np.inf):
        for n in (2, 40):
            x = Tensor(np.full((n, n), bad, np.float32))
            for f in (ops.svd, ops.qr, ops.pinv, ops.matrix_exp, ops.inverse, ops.det, sl.eigh, sl.lu, ops.geqrf):
                r = f(x)
                r = r if isinstance(r, tuple) else (r,)
                assert all(np.isnan(v.asnumpy()).any() for v in r if v.dtype != ms.int32)
    assert ops.slogdet(Tensor(np.ones((3, 3), np.float32)))[1].item() == -np.inf
    assert (ops.logdet(Tensor(np.ones((3, 3)))).item() == -np.inf
            and np.isnan(ops.logdet(Tensor(EYE(3) * [-1, 1, 1])).item()))
    assert not np.isfinite(ops.inverse(Tensor(np.ones((3, 3)))).asnumpy()).any()
    assert ops.cond(Tensor(np.ones((2, 2))), 1).item() == np.inf
    np.testing.assert_array_equal(sl.solve_triangular(Tensor(np.zeros((2, 2), np.float32)),
                                                      Tensor([0.0, 1.0])).asnumpy(), [np.nan, np.inf])


A, S, V, I, H = (Tensor(matrices(3, 3, dtype=np.float32)), Tensor(EYE(3, dtype=np.float32)), Tensor([1.0, 2, 3]),
                 Tensor(np.ones((3, 3), np.int32)),
                 Tensor(matrices(3, 3, dtype=np.float16)))
RECT, ONES = Tensor(matrices(3, 2, dtype=np.float32)), Tensor(np.ones((3, 3), np.float32))


@pytest.mark.parametrize("error, call", [
    (TypeError, lambda: ops.svd(I)), (TypeError, lambda: ops.svd(H)), (ValueError, lambda: ops.svd(V)),
    (TypeError, lambda: ops.svd([[1.0]])),
    (TypeError, lambda: ops.qr(I)), (ValueError, lambda: ops.qr(V)), (TypeError, lambda: ops.qr(A, "r")),
    (RuntimeError, lambda: ops.cholesky(-S)),
    (RuntimeError, lambda: ops.cholesky(ONES - ONES)), (ValueError, lambda: ops.cholesky(RECT)),
    (ValueError, lambda: ops.cholesky(V)), (TypeError, lambda: ops.cholesky(I)),
    (TypeError, lambda: ops.inverse(H)), (ValueError, lambda: ops.inverse(RECT)),
    (TypeError, lambda: ops.inverse([[1.0]])), (TypeError, lambda: ops.pinv(I)),
    (ValueError, lambda: ops.pinv(V)), (TypeError, lambda: ops.pinv([[1.0]])), (ValueError, lambda: ops.det(V)),
    (ValueError, lambda: ops.slogdet(RECT)), (TypeError, lambda: ops.det(I)),
    (ValueError, lambda: ops.matrix_solve(ONES, RECT)), (ValueError, lambda: ops.matrix_solve(A, V)),
    (ValueError, lambda: ops.matrix_power(ONES, -1)),
    (ValueError, lambda: ops.matrix_power(I, -1)), (TypeError, lambda: ops.matrix_power(H, 2)),
    (ValueError, lambda: ops.matrix_power(RECT, 2)), (TypeError, lambda: ops.matrix_power(A, 0.5)),
    (ValueError, lambda: ops.cholesky_solve(V, A)),
    (ValueError, lambda: ops.lu_solve(V, A, Tensor([1, 2, 3], ms.int32))), (ValueError, lambda: sl.inv(V)),
    (IndexError, lambda: ops.lu_solve(RECT, A, Tensor([1, 2, 9], ms.int32))), (TypeError, lambda: sl.det(H)),
    (ValueError, lambda: sl.eigh(Tensor(np.zeros((2, 3, 3))))),
    (TypeError, lambda: ops.norm(V, "nuc")), (ValueError, lambda: ops.norm(A, 3)),
    (ValueError, lambda: ops.norm(A, "x")), (ValueError, lambda: ops.matrix_exp(RECT)),
])
def test_errors(error, call):
    with pytest.raises(error):
        call()


def test_no_gradient_is_an_error():
    for f in (lambda x: ops.geqrf(x)[0].sum(), lambda x: ops.qr(x, "complete")[0].sum(),
              lambda x: ops.svd(x, True)[1].sum()):
        with pytest.raises(RuntimeError, match="gradient"):
            ms.grad(f)(RECT)


def test_as_mindspore_calls_it():
    """Facts of MindSpore 2.7.1 on one matrix."""
    a = np.array([[1.5, -2.0, 0.5], [0.25, 3.0, -1.0], [2.0, 0.75, 1.25]], np.float32)
    x, p = Tensor(a), ops.operations
    assert ops.svd(x)[2].shape == (3, 3) and p.Svd(compute_uv=False)(x)[1].asnumpy().tolist() == [0]
    np.testing.assert_allclose(p.MatrixInverse(True)(x).asnumpy(), np.linalg.inv(a).T, rtol=1e-5)
    np.testing.assert_allclose(p.MatrixTriangularSolve(False, True)(x, Tensor(a)).asnumpy(),
                               np.linalg.solve(np.triu(a).T, a), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(p.MatrixSolveLs()(x, x, Tensor(0.5, ms.float64)).asnumpy(),
                               np.linalg.solve(a.T @ a + 0.5 * EYE(3), a.T @ a), rtol=1e-4)
    assert ms.mint.linalg.qr(x, "r")[1].asnumpy().tolist() == ms.mint.linalg.qr(x)[1].asnumpy().tolist()
    assert ops.matrix_power(I, 3).dtype == ms.int32 and ops.matrix_power(x, 0).asnumpy().tolist() == EYE(3).tolist()
    assert ops.qr(H)[0].dtype == ms.float16 and ops.det(H).dtype == ms.float16
    assert sl.inv(Tensor([[2, 0], [0, 4]])).dtype == ms.float64
    assert x.inverse().shape == (3, 3) and x.slogdet()[0].shape == () and x.matrix_power(2).shape == (3, 3)
    np.testing.assert_allclose(ops.lu_unpack(*[v if v.dtype != ms.int32 else v + 1
                                               for v in sl.lu_factor(
                                                   x)])[0].asnumpy() @ (sl.lu(x)[1] @ sl.lu(x)[2]).asnumpy(), a,
                                                   atol=1e-6)


def test_captured():
    def f(x, b):
        l = ops.cholesky(ops.matmul(x, x.T) + ops.eye(3, dtype=x.dtype))
        s, u, v = ops.svd(x)
        q, r = ops.qr(x)
        return (ops.cholesky_solve(b, l), s.sum(), ops.matmul(u * s, v.T) - ops.matmul(q, r), ops.pinv(x),
                ops.slogdet(x), ops.norm(x, "nuc"), ops.cond(x), sl.lu(x), ops.lstsq(x, b))
    check(lambda: f, Tensor(matrices(3, 3, dtype=np.float32)), Tensor(matrices(3, 2, dtype=np.float32)))
    check(lambda: lambda x: ops.cholesky(x) + 1, -S)


def test_vmap():
    x, b = Tensor(matrices(4, 3, 3)), Tensor(matrices(3, 2))
    for f in (lambda v: ops.det(v), lambda v: ops.inverse(v), lambda v: ops.svd(v)[0], lambda v: ops.qr(v)[1],
              lambda v: ops.matrix_solve(v, b), ops.pinv, ops.matrix_exp,
              lambda v: sl.eigh(v + v.T)[0], lambda v: sl.lu(v)[2], lambda v: sl.lu_solve(sl.lu_factor(v), b)):
        got = ms.vmap(f)(x).asnumpy()
        np.testing.assert_array_equal(got, np.stack([f(x[k]).asnumpy() for k in range(4)]))
    np.testing.assert_array_equal(ms.vmap(lambda v: sl.solve_triangular(x[0],
        v))(Tensor(matrices(4, 3, 2))).asnumpy()[1],
                                  sl.solve_triangular(x[0], Tensor(matrices(4, 3, 2)[1])).asnumpy())


def test_large_batches_are_independent_of_threads():
    x = matrices(257, 6, 6, dtype=np.float32)
    whole = ops.inverse(Tensor(x)).asnumpy()
    assert all(ops.inverse(Tensor(x[k])).asnumpy().tobytes() == whole[k].tobytes() for k in range(0, 257, 16))
