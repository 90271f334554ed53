"""Sparse tensors: values against dense ones, in graphs without breaks where sizes are known, gradients, texts and
errors of MindSpore's."""

import numpy as np
import pytest

import pijit as ms
from pijit import COOTensor, CSRTensor, Tensor, nn, ops
from tests.python.differential import check

rng = np.random.default_rng(0)
D = (rng.normal(size=(5, 7)) * (rng.random((5, 7)) < 0.4)).astype(np.float32)
E = rng.normal(size=(7, 3)).astype(np.float32)
INDICES, VALUES = Tensor([[0, 1], [1, 2]], ms.int32), Tensor([1.0, 2.0])


def coo():
    return COOTensor(INDICES, VALUES, (3, 4))


def csr():
    return CSRTensor(Tensor([0, 1, 2], ms.int32), Tensor([0, 1], ms.int32), VALUES, (2, 4))


def dense(x):
    return x.to_dense().asnumpy()


def test_conversions():
    c, s = Tensor(D).to_coo(), Tensor(D).to_csr()
    for x in (c, s, c.to_csr(), s.to_coo(), ops.csr_to_coo(s), ops.dense_to_sparse_csr(Tensor(D)),
              COOTensor(coo_tensor=c), CSRTensor(csr_tensor=s)):
        assert np.array_equal(dense(x), D)
    assert np.array_equal(ops.csr_to_dense(s).asnumpy(), D) and s.indices.dtype == ms.int32
    assert np.array_equal(ops.coo2csr(c.indices[:, 0], 5).asnumpy(), s.indptr.asnumpy())
    assert np.array_equal(ops.csr2coo(s.indptr, s.size).asnumpy(), c.indices[:, 0].asnumpy())
    assert (c.shape == (5, 7) and c.size == np.count_nonzero(D) and c.ndim == 2 and c.itemsize == 4
            and c.dtype == ms.float32)
    assert len(c.to_tuple()) == 3 and len(s.to_tuple()) == 4 and c.astype(ms.float64).dtype == ms.float64
    t = COOTensor(Tensor([[0, 1], [0, 1], [0, 0]]), Tensor([1.0, 2.0, 3.0]), (2, 2)).coalesce()  # as measured
    assert t.indices.asnumpy().tolist() == [[0, 0], [0, 1]] and t.values.asnumpy().tolist() == [3, 3]


def test_arithmetic():
    c, s, d = Tensor(D).to_coo(), Tensor(D).to_csr(), Tensor(D)
    for x in (c, s):
        assert (np.allclose(dense(x + x), 2 * D) and np.allclose(dense(x - x), 0) and np.array_equal(dense(-x), -D)
                and np.array_equal(dense(abs(x)), abs(D)))
        assert (np.allclose(dense(x * d), D * D) and np.allclose(dense(x / (d + 3)), D / (D + 3))
                and np.array_equal(dense(x * 2), 2 * D))
    assert np.array_equal((c + d).asnumpy(), 2 * D) and np.array_equal((c - d).asnumpy(), 0 * D)
    assert (np.allclose(s.mm(Tensor(E)).asnumpy(), D @ E, atol=1e-6)
            and np.allclose(ops.csr_mv(s, Tensor(E[:, :1])).asnumpy(), D @ E[:, :1], atol=1e-6))
    assert (np.allclose(dense(s.mm(Tensor(D.T.copy()).to_csr())), D @ D.T, atol=1e-5)
            and np.allclose(dense(ops.csr_mm(s, s, trans_a=True)), D.T @ D, atol=1e-5))
    assert (np.allclose(s.sum(1).asnumpy(), D.sum(1, keepdims=True), atol=1e-6)
            and np.allclose(dense(s.add(s, Tensor(2.0), Tensor(3.0))), 5 * D))
    rows = np.where(D != 0, np.exp(D), 0)
    assert np.allclose(dense(ops.csr_softmax(s, ms.float32)), rows / np.maximum(rows.sum(1, keepdims=True), 1e-9),
                       atol=1e-6)
    assert (np.allclose(dense(ops.coo_concat((c, c), 1)), np.concatenate((D, D), 1))
            and np.allclose(dense(ops.coo_concat((c, c))), np.concatenate((D, D))))
    assert np.allclose(dense(ops.coo_add(c, c, Tensor(1.0))), np.where(abs(2 * D) >= 1, 2 * D, 0))
    assert np.array_equal(ops.csr_gather(s.indptr, s.indices, Tensor(D + 1), (5, 7)).asnumpy(), (D + 1)[D != 0])


def test_functions_of_values():
    for name in ("abs", "exp", "inv", "isfinite", "relu6", "sigmoid", "softsign", "tanh"):
        with np.errstate(all="ignore"):
            plain = {"inv": ops.reciprocal}.get(name, getattr(ops, name))(VALUES).asnumpy()
        for x, kind in ((coo(), "coo_"), (csr(), "csr_")):
            y = getattr(ops, kind + name)(x)
            assert type(y) is type(x) and np.array_equal(y.values.asnumpy(), plain) and y.shape == x.shape
    with pytest.raises(TypeError):
        ops.coo_sin(csr())


def test_primitives_and_layers():
    i = Tensor([[0, 1], [1, 2]])
    e = Tensor(E[:4])
    want = dense(coo()) @ E[:4]
    assert np.allclose(ops.SparseTensorDenseMatmul()(i, VALUES, (3, 4), e).asnumpy(), want)
    assert np.allclose(nn.SparseTensorDenseMatmul(adjoint_st=True)(i, VALUES, (4, 3), e).asnumpy(),
                       COOTensor(i, VALUES, (4, 3)).to_dense().asnumpy().T @ E[:4])
    assert (np.array_equal(ops.SparseToDense()(i, VALUES, (3, 4)).asnumpy(), dense(coo()))
            and np.array_equal(nn.SparseToDense()(coo()).asnumpy(), dense(coo())))
    assert np.array_equal(ops.SparseTensorDenseAdd()(i, VALUES, (3, 4), ops.ones((3, 4))).asnumpy(), dense(coo()) + 1)
    places, values, shape = ops.SparseSlice()(i, VALUES, Tensor([3, 4]), Tensor([0, 0]), Tensor([1, 2]))
    assert (places.asnumpy().tolist() == [[0, 1]] and values.asnumpy().tolist() == [1]
            and shape.asnumpy().tolist() == [1, 2])
    rows = ms.RowTensor(Tensor([0]), Tensor([[1.0, 2.0]]), (3, 2))
    assert rows.dense_shape == (3, 2) and rows.dtype == ms.float32


def test_captured_without_breaks():
    def f(c, s, e):
        made = COOTensor(c.indices, c.values * 3, c.shape)
        return (made.to_dense() * 2, s.mm(e), made, s * 2.0, c.to_csr().sum(1), ops.csr_softmax(s, ms.float32),
                ops.coo_tanh(c).values)
    check(lambda: f, Tensor(D).to_coo(), Tensor(D).to_csr(), Tensor(E), graphs=1, breaks=0)

    def loss(c, e):
        return ms.grad(lambda v: CSRTensor(c.indptr, c.indices, v, c.shape).mm(e).sum())(c.values)
    check(lambda: loss, Tensor(D).to_csr(), Tensor(E), graphs=1, breaks=0)


def test_gradients():
    c, s = Tensor(D).to_coo(), Tensor(D).to_csr()
    g = ms.grad(lambda v: (COOTensor(c.indices, v, c.shape).to_dense() * Tensor(D)).sum())(c.values)
    assert np.allclose(g.asnumpy(), D[D != 0])
    g = ms.grad(lambda v: s._with(v).mm(Tensor(E)).sum())(s.values)
    assert np.allclose(g.asnumpy(), np.broadcast_to(E.sum(1), D.shape)[D != 0], atol=1e-6)


def test_texts():
    assert repr(
        coo()) == str(
            coo()) == (
                "COOTensor(shape=[3, 4], dtype=Float32, indices=Tensor(shape=[2, 2], dtype=Int32, value=\n[[0 1]\n [1 "
                "2]]), "
                                         "values=Tensor(shape=[2], dtype=Float32, value=[ 1.00000000e+00  "
                                         "2.00000000e+00]))")
    assert repr(
        csr()) == (
            "CSRTensor(shape=[2, 4], dtype=Float32, indptr=Tensor(shape=[3], dtype=Int32, value=[0 1 2]), "
            "indices=Tensor(shape=[2], dtype=Int32, "
                           "value=[0 1]), values=Tensor(shape=[2], dtype=Float32, value=[ 1.00000000e+00  "
                           "2.00000000e+00]))")


def test_errors():
    i, v = INDICES, VALUES
    p, j = Tensor([0, 1, 2], ms.int32), Tensor([0, 1], ms.int32)
    for error, f in ((TypeError, lambda: COOTensor()), (TypeError, lambda: COOTensor([[0, 1]], v, (3, 4))),
                     (TypeError, lambda: COOTensor(i, v, [3, 4])),
                     (TypeError, lambda: COOTensor(i.astype(ms.float32), v, (3, 4))),
                     (ValueError, lambda: COOTensor(i, v, (3,))),
                     (ValueError, lambda: COOTensor(i, Tensor([1.0]), (3, 4))),
                     (ValueError, lambda: COOTensor(i, v, (3, -4))),
                     (ValueError, lambda: CSRTensor(p, j, v, (3, 4))),
                     (ValueError, lambda: CSRTensor(p, j, Tensor([1.0]), (2, 4))),
                     (TypeError, lambda: CSRTensor(p.astype(ms.int64), j, v, (2, 4))),
                     (ValueError, lambda: csr().sum(0)),
                     (ValueError, lambda: csr().mv(ops.ones(4))), (TypeError, lambda: coo() * coo()),
                     (TypeError, lambda: 2 * coo()),
                     (TypeError, lambda: coo() @ ops.ones((4, 2)))):
        with pytest.raises(error):
            f()
