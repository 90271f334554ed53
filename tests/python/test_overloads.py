"""Tensor methods of several signatures, and `pijit.numpy`'s, against facts of MindSpore 2.7.1 and NumPy."""

import numpy as np
import pytest

import pijit as ms
import pijit.numpy as mnp
from pijit import Tensor, ops
from tests.python.differential import check

X = np.array([[1, 5, 2], [4, 3, 9]], np.float32)
Z = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
I32 = np.array([[1, 2], [3, 4]], np.int32)
V = np.array([3, 1, 2], np.float32)
INDEX = np.array([[0, 2], [1, 0]])

# expression -> what MindSpore gives: (dtype, value), a list of them, or an exception
FACTS = {
    "x.sum(1, True)": ("float32", [[8], [16]]), "x.sum(axis=1, keepdims=True)": ("float32", [[8], [16]]),
    "x.sum(1, ms.float64)": ("float64", [8, 16]),
    "x.sum(dim=1, keepdim=True, dtype=ms.float64)": ("float64", [[8], [16]]),
    "x.sum(axis=(0, 1), initial=2)": ("float32", 26), "x.sum(1, None, True)": ("float32", [[8], [16]]),
    "x.sum(keepdims=True)": ("float32", [[24]]), "i.sum()": ("int64", 10), "(x > 2).sum()": ("int64", 4),
    "ops.sum(i)": ("int64", 10), "ops.ReduceSum()(i)": ("int32", 10),
    "x.sum(axis=1, keepdim=True)": TypeError, "x.mean(dim=1, keepdim=True)": ("float32", [[8 / 3], [16 / 3]]),
    "x.mean(axis=1, keep_dims=True)": ("float32", [[8 / 3], [16 / 3]]),
    "x.mean(dim=(0, 1), dtype=ms.float64)": ("float64", 4), "x.prod(dim=1, keepdim=True)": ("float32", [[10], [108]]),
    "i.prod()": ("int64", 24),
    "x.std(dim=1, correction=1)": ("float32", [2.081666, 3.2145503]), "x.std(1)": ("float32", [1.6996732, 2.6246693]),
    "x.var(1, 1)": ("float32", [4.3333335, 10.333334]),
    "x.max(1)": [("float32", [5, 9]), ("int64", [1, 2])],
    "x.max(dim=1, keepdim=True)": [("float32", [[5], [9]]), ("int64", [[1], [2]])],
    "x.max(axis=1)": ("float32", [5, 9]),
    "x.max(axis=1, return_indices=True)": [("float32", [5, 9]), ("int64", [1, 2])], "x.max()": ("float32", 9),
    "x.max(axis=(0, 1))": ("float32", 9), "x.max(axis=None)": ("float32", 9),
    "x.min(0)": [("float32", [1, 3, 2]), ("int64", [0, 1, 0])],
    "x.min(axis=0, keepdims=True)": ("float32", [[1, 3, 2]]), "x.max(initial=11)": ("float32", 11),
    "(x > 2).all(dim=1, keepdim=True)": ("bool", [[False], [True]]),
    "(x > 4).any(dim=0)": ("bool", [False, True, True]),
    "(x > 2).all(axis=1, keep_dims=True)": ("bool", [[False], [True]]),
    "x.argmax(axis=1, keepdims=True)": ("int64", [[1], [2]]), "x.argmax(dim=1)": ("int64", [1, 2]),
    "x.argmin(dim=1, keepdim=True)": ("int32", [[0], [1]]), "x.argmax()": ("int64", 5),
    "x.sort(dim=0, descending=True, stable=True)": [("float32", [[4, 5, 9], [1, 3, 2]]),
                                                    ("int32", [[1, 0, 1], [0, 1, 0]])],
                                                    "x.argsort(dim=0)": ("int32", [[0, 1, 0], [1, 0, 1]]),
    "x.argsort(axis=0, descending=True)": ("int32", [[1, 0, 1], [0, 1, 0]]),
    "x.split(split_size=2, dim=1)": [("float32", [[1, 5], [4, 3]]), ("float32", [[2], [9]])],
    "x.split(split_size_or_sections=1, axis=0)": [("float32", [[1, 5, 2]]), ("float32", [[4, 3, 9]])],
    "x.chunk(2, dim=1)": [("float32", [[1, 5], [4, 3]]), ("float32", [[2], [9]])],
    "z.flatten(1).shape": (2, 12), "z.flatten(0, 1).shape": (6, 4), "z.flatten(start_dim=1).shape": (2, 12),
    "x.flatten('F')": ("float32", [1, 4, 5, 3, 2, 9]), "x.flatten(order='C')": ("float32", [1, 5, 2, 4, 3, 9]),
    "x.gather(1, n)": ("float32", [[1, 2], [3, 4]]), "x.gather(dim=1, index=n)": ("float32", [[1, 2], [3, 4]]),
    "x.gather(n, 1).shape": (2, 2, 2), "x.gather(input_indices=n, axis=1).shape": (2, 2, 2),
    "x.index_select(dim=0, index=n[1, :1])": ("float32", [[4, 3, 9]]), "x.cumsum()": ("float32", [1, 6, 8, 12, 15, 24]),
    "x.cumsum(dim=0)": ("float32", [[1, 5, 2], [5, 8, 11]]),
    "(x > 2).cumsum(0)": ("int32", [[0, 1, 0], [1, 2, 1]]), "x.transpose(0, 1)": ("float32", X.T),
    "x.transpose(1, 0)": ("float32", X.T), "z.transpose(0, 2).shape": (4, 3, 2),
    "z.transpose(2, 0, 1).shape": (4, 2, 3), "z.transpose(dim0=0, dim1=1).shape": (3, 2, 4),
    "z.transpose().shape": (4, 3, 2), "z.transpose((1, 0, 2)).shape": (3, 2, 4), "x.transpose((0, 1))": ("float32", X),
    "z.permute(dims=(1, 0, 2)).shape": (3, 2, 4), "z.permute(2, 0, 1).shape": (4, 2, 3),
    "x.unsqueeze(dim=1).shape": (2, 1, 3), "v.tile(reps=(2, 2)).shape": (2, 6), "z.mT.shape": (2, 4, 3),
    "v.remainder(divisor=2)": ("float32", [1, 1, 0]), "x.matmul(tensor2=x.T)": ("float32", X @ X.T),
    "v.isclose(x2=v)": ("bool", [True] * 3), "(x > 2).logical_or(other=x > 8)": ("bool", X > 2),
    "x.repeat_interleave(repeats=2, dim=0).shape": (4, 3), "x.select(1, 0)": ("float32", [1, 4]),
    "x.select(dim=0, index=-1)": ("float32", [4, 3, 9]), "x.select(x > 2, 0)": ("float32", [[0, 5, 0], [4, 3, 9]]),
    "x.median(dim=0, keepdim=True)": [("float32", [[1, 3, 2]]), ("int64", [[0, 1, 0]])],
    "x.nansum(1)": ("float32", [8, 16]), "x.logsumexp(dim=1, keepdim=True)": ("float32", [[5.0659], [9.0092]]),
    "v.add(v, alpha=2)": ("float32", [9, 3, 6]), "v.sub(v, alpha=2)": ("float32", [-3, -1, -2]),
    "v.sub(y=1)": ("float32", [2, 0, 1]), "v.div(2, rounding_mode='floor')": ("float32", [1, 0, 1]),
    "(-v).div(2, rounding_mode='trunc')": ("float32", [-1, 0, -1]),
    "v.where(condition=v > 1, other=0)": ("float32", [3, 0, 2]), "v.where(v > 1, 0)": ("float32", [3, 0, 2]),
    "v.to(other=i)": ("int32", [3, 1, 2]),
    "v.to(dtype=ms.int32)": ("int32", [3, 1, 2]), "v.pow(exponent=2)": ("float32", [9, 1, 4]),
    "x.type_as(i).dtype.name": "int32", "x.stride()": [3, 1], "x.ndimension()": 2, "x.reshape_as(x.T).shape": (3, 2),
    "x.index_add(dim=0, index=n[1], source=x)": ("float32", [[5, 8, 11], [5, 8, 11]]),
    "v.logaddexp(v)": ("float32", [3.6931, 1.6931, 2.6931]), "v.xlogy(v)": ("float32", [3.2958, 0, 1.3863]),
    "x[:, :2].trace()": ("float32", 4), "x.addmm(x, x.T @ x)": ("float32", X + X @ (X.T @ X)),
    "x.argwhere().shape": (6, 2), "x.mean(axis=1, keepdim=True)": TypeError, "x.gather(n, dim=1)": TypeError,
}


def plain(r):
    if isinstance(r, tuple) and any(isinstance(v, Tensor) for v in r):
        return [plain(v) for v in r]
    return (r.dtype.name, r.asnumpy()) if isinstance(r, Tensor) else r


@pytest.mark.parametrize("expression", FACTS)
def test_methods(expression):
    want = FACTS[expression]
    scope = {"ms": ms, "ops": ops}

    def make():
        exec(f"def f(x, z, i, v, n):\n    return {expression}\n", scope)
        return scope["f"]
    args = [Tensor(a) for a in (X, Z, I32, V, INDEX)]
    if want is TypeError:
        with pytest.raises(TypeError):
            make()(*args)
    else:
        got = plain(make()(*args))
        for g, w in zip(got, want) if isinstance(want, list) else [(got, want)]:
            if isinstance(g, tuple) and isinstance(g[0], str):
                assert g[0] == w[0]
                np.testing.assert_allclose(g[1], w[1], rtol=1e-4)
                assert g[1].shape == np.shape(w[1])
            else:
                assert g == w
    whole = "argwhere" not in expression and want is not TypeError
    check(make, *args, **({"graphs": None, "breaks": 0} if whole else {}))


A = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
B = np.random.default_rng(1).standard_normal((4, 5)).astype(np.float32)
J = np.array([[0, 2], [9, -1]])


@pytest.mark.parametrize("expression",
                         """matmul(A, B)|dot(A, B)|dot(A[0], A[1])|dot(A[0], B)|outer(A, B)|tensordot(A, B, 1)
reshape(A, (2, 6))|ravel(A)|transpose(A)|transpose(A, (1, 0))|swapaxes(A, 0, 1)
moveaxis(A, 0, 1)|expand_dims(A, 1)|squeeze(A[None])|broadcast_to(A, (2, 3, 4))|stack([A, A], 1)
concatenate([A, A], 1)|concatenate([A, B], None)|flip(A)|flip(A, 0)|tile(A, 2)|tile(A, (2, 1))
take(A, J, mode='clip')|take(A, J, 0, mode='wrap')|argmax(A)|argmax(A, 1)|argmin(A, 0)|cumsum(A)|cumsum(A, 1)
clip(A, 0, 1)|tril(A, 1)|triu(A, -1)|zeros_like(A)|ones_like(A, shape=(2,))|full_like(A, 3)
eye(3)|eye(3, 4, 1)|eye(3, k=-1)|linspace(0, 1, 5)|linspace(0, 1, 5, endpoint=False)|linspace(2, 3, 4, retstep=True)
linspace(0, 1, 0)|sum(A)|sum(A, 1, keepdims=True, initial=2)|mean(A, 0)|prod(A, 1)
max(A, 1)|amin(A, 0, initial=-9)|max(A, 1, initial=0, where=A > 0)|all(A, 1)|any(A)|asarray(A)|var(A, 1)
std(A)""".replace("\n", "|").split("|"))
def test_numpy_names(expression):
    want = eval(expression, {**vars(np), "A": A, "B": B, "J": J})
    got = eval(expression, {**{n: getattr(mnp, n) for n in dir(mnp)}, "A": Tensor(A), "B": Tensor(B), "J": Tensor(J)})
    for w, g in zip(want, got) if isinstance(want, tuple) else [(want, got)]:
        g = g.asnumpy() if isinstance(g, Tensor) else g
        assert np.shape(w) == np.shape(g)
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


def test_what_must_be_named_is_told_once():
    """A star stood before each argument that must be named."""
    with pytest.raises(TypeError, match=r"Tensor\.mean\(\*, out, axis=None, dtype=None, keepdims=False\)\.$"):
        ms.ops.ones(3).mean(nothing=1)
