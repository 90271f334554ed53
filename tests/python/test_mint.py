"""Functions of mint that MindSpore has on other devices alone: against NumPy, jitted as eager; and layers in a training
step."""

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, mint
from pijit.mint import nn
from pijit.mint.nn import functional as F
from tests.python.differential import check

R = np.random.RandomState(0)
A, X = R.randn(3, 4).astype(np.float32), R.randn(2, 4, 6, 6).astype(np.float32)
V = np.array([2, 0, 1, 0], np.int64)
SIGNS = Tensor([1, -1, -1], ms.int32)


def cosines(a):
    b = a[::-1]
    return (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))


CASES = {
    "argmax": (lambda a: mint.argmax(a, 1), lambda a: a.argmax(1)),
    "argmin keepdim": (lambda a: mint.argmin(a, 0, True), lambda a: a.argmin(0)[None]),
    "median": (lambda a: mint.median(a), lambda a: np.sort(a.ravel())[5]),
    "median dim": (lambda a: mint.median(a, 1), lambda a: (np.sort(a, 1)[:, 1], np.argsort(a, 1)[:, 1])),
    "kthvalue": (lambda a: mint.kthvalue(a, 2, 1), lambda a: (np.sort(a, 1)[:, 1], np.argsort(a, 1)[:, 1])),
    "logsumexp": (lambda a: mint.logsumexp(a, 1), lambda a: np.log(np.exp(a).sum(1))),
    "var": (lambda a: mint.var(a, 1), lambda a: a.var(1, ddof=1)),
    "std": (lambda a: mint.std(a, 0, correction=0, keepdim=True), lambda a: a.std(0, keepdims=True)),
    "var_mean": (lambda a: mint.var_mean(a), lambda a: (a.var(ddof=1), a.mean())),
    "count_nonzero": (lambda a: mint.count_nonzero(a > 0, 1), lambda a: np.count_nonzero(a > 0, 1)),
    "norm": (lambda a: mint.norm(a, 1, 1), lambda a: np.abs(a).sum(1)),
    "norm fro": (lambda a: mint.norm(a), lambda a: np.linalg.norm(a)),
    "cumsum": (lambda a: mint.cumsum(a, 1), lambda a: a.cumsum(1)),
    "sort": (lambda a: mint.sort(a, dim=0, descending=True), lambda a: (-np.sort(-a, 0), np.argsort(-a, 0))),
    "argsort": (lambda a: mint.argsort(a), lambda a: np.argsort(a, -1)),
    "topk": (lambda a: mint.topk(a, 2, 1), lambda a: (-np.sort(-a, 1)[:, :2], np.argsort(-a, 1)[:, :2])),
    "stack": (lambda a: mint.stack([a, a], 1), lambda a: np.stack([a, a], 1)),
    "roll": (lambda a: mint.roll(a, 1), lambda a: np.roll(a, 1)),
    "roll dim": (lambda a: mint.roll(a, (1, -1), (0, 1)), lambda a: np.roll(a, (1, -1), (0, 1))),
    "repeat_interleave": (lambda a: mint.repeat_interleave(a, 2, 1), lambda a: np.repeat(a, 2, 1)),
    "diag": (lambda a: mint.diag(a, 1), lambda a: np.diag(a, 1)),
    "arange": (lambda a: mint.arange(1, 7, 2), lambda a: np.arange(1, 7, 2)),
    "cosine embedding loss": (lambda a: nn.CosineEmbeddingLoss(-0.5, reduction="none")(a, mint.flip(a, (0,)), SIGNS),
                              lambda a: np.where([1, 0, 0], 1 - cosines(a), np.maximum(cosines(a) + 0.5, 0))),
    "full": (lambda a: mint.full((2, 3), 2.0), lambda a: np.full((2, 3), 2, np.float32)),
    "zeros": (lambda a: mint.zeros(2, 3), lambda a: np.zeros((2, 3), np.float32)),
    "linspace": (lambda a: mint.linspace(0, 1, 5), lambda a: np.linspace(0, 1, 5, dtype=np.float32)),
    "gelu": (lambda a: F.gelu(a, "tanh"),
             lambda a: 0.5 * a * (1 + np.tanh(np.float32(np.sqrt(2 / np.pi)) * (a + 0.044715 * a**3)))),
    "leaky_relu": (lambda a: F.leaky_relu(a), lambda a: np.where(a > 0, a, 0.01 * a)),
    "log_softmax": (lambda a: F.log_softmax(a, 1), lambda a: a - np.log(np.exp(a).sum(1, keepdims=True))),
    "one_hot": (lambda a: F.one_hot(Tensor(V), 4), lambda a: np.eye(4, dtype=np.int64)[V]),
    "pad": (lambda a: F.pad(a, (1, 2)), lambda a: np.pad(a, ((0, 0), (1, 2)))),
    "normalize": (lambda a: F.normalize(a), lambda a: a / np.linalg.norm(a, axis=1, keepdims=True)),
    "kl_div": (lambda a: F.kl_div(a, a * 0.5, log_target=True), lambda a: (np.exp(a * 0.5) * (a * 0.5 - a)).mean()),
    "hardtanh": (lambda a: F.hardtanh(a, -0.5, 0.5), lambda a: a.clip(-0.5, 0.5)),
    "threshold": (lambda a: F.threshold(a, 0.1, 5.0), lambda a: np.where(a > 0.1, a, np.float32(5))),
    "layer_norm": (lambda a: F.layer_norm(a, (4,)),
                   lambda a: (a - a.mean(1, keepdims=True)) / np.sqrt(a.var(1, keepdims=True) + 1e-5)),
    "avg_pool2d": (lambda a: F.avg_pool2d(Tensor(X), 2), lambda a: X.reshape(2, 4, 3, 2, 3, 2).mean((3, 5))),
    "max_pool2d": (lambda a: F.max_pool2d(Tensor(X), 2), lambda a: X.reshape(2, 4, 3, 2, 3, 2).max((3, 5))),
    "embedding": (lambda a: F.embedding(Tensor(V), a), lambda a: a[V]),
    "linalg.norm": (lambda a: mint.linalg.norm(a), lambda a: np.linalg.norm(a)),
    "matrix_norm": (lambda a: mint.linalg.matrix_norm(a, 1), lambda a: np.linalg.norm(a, 1)),
}


def flat(x):
    return list(x) if isinstance(x, (tuple, list)) else [x]


@pytest.mark.parametrize("name", CASES)
def test_function(name):
    f, want = CASES[name]
    got, want = flat(f(Tensor(A))), flat(want(A))
    assert len(got) == len(want)
    for g, w in zip(got, want):
        g, w = g.asnumpy(), np.asarray(w)
        assert (g.dtype, g.shape) == (w.dtype, w.shape)
        np.testing.assert_allclose(g, w, rtol=2e-5, atol=2e-6)
    check(lambda: lambda a: f(a), Tensor(A))


def test_generators_have_states_of_their_own():
    g = ms.Generator().manual_seed(7)
    first = mint.rand(4, generator=g).asnumpy()
    ms.set_seed(1)
    after = mint.rand(4, generator=ms.Generator().manual_seed(7)).asnumpy()
    assert np.array_equal(first, after)
    state = g.get_state()
    a = mint.randn(3, generator=g).asnumpy()
    g.set_state(state)
    assert np.array_equal(a, mint.randn(3, generator=g).asnumpy()) and g.initial_seed() == 7
    ms.set_seed(1)
    x = mint.rand(4).asnumpy()
    ms.manual_seed(1)
    assert np.array_equal(x, mint.rand(4).asnumpy()) and ms.initial_seed() == 1
    with pytest.raises(TypeError):
        g.manual_seed("x")
    with pytest.raises(ValueError):
        g.set_state(Tensor([1.0]))
    assert set(np.unique(mint.randint(2, 4, (50,)).asnumpy())) == {2, 3} and mint.randint(3, (5,)).asnumpy().max() < 3


def test_layers_train_as_one_graph():
    class Net(ms.nn.Cell):
        def __init__(self):
            super().__init__()
            self.body = ms.nn.SequentialCell(nn.Conv2d(4, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(),
                                             nn.MaxPool2d(2), nn.Flatten(),
                                             nn.Linear(72, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 3))

        def construct(self, x):
            return self.body(x)

    def make():
        ms.set_seed(3)
        net = Net().set_train()
        loss_fn, opt = nn.CrossEntropyLoss(), ms.nn.Adam(net.trainable_params(), 0.01)
        grad = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, opt.parameters)

        def step(x, y):
            loss, grads = grad(x, y)
            opt(grads)
            return loss
        return step, lambda: [p.asnumpy().tobytes() for p in net.get_parameters()]
    check(make, Tensor(X), Tensor(np.array([0, 2], np.int32)), graphs=1, breaks=0, calls=3)


def test_bad_arguments():
    for f, error in [(lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError), (lambda: nn.Conv2d("a", 4, 3), TypeError),
                     (lambda: nn.GELU("tanh", 3), TypeError),
                     (lambda: nn.Threshold(1.0), TypeError), (lambda: nn.Softmax(axis=1), TypeError),
                     (lambda: nn.BatchNorm2d(3)(Tensor(A)), ValueError),
                     (lambda: mint.kthvalue(Tensor(A), 9), ValueError),
                     (lambda: nn.Conv2d(3, 4, 3, padding_mode="x"), ValueError)]:
        with pytest.raises(error):
            f()

