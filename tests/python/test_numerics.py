"""numerics="fast": close to the bits of eager mode, by kernels that take in what follows them."""

import os

import numpy as np
import pytest
from differential import check

import pijit as ms
from pijit import _C, JitConfig, Tensor, nn, ops

FAST = JitConfig(numerics="fast")
R = np.random.RandomState(0)
library_only = pytest.mark.skipif(_C.channel_block() == 0, reason="oneDNN's post-ops in blocks of channels")


class Block(nn.Cell):
    def __init__(self, c, act):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(c, 16, 1), nn.Conv2d(16, 16, 3, has_bias=True), nn.Conv2d(16, c, 1)
        self.na, self.nb, self.nc, self.act = nn.BatchNorm2d(16), nn.BatchNorm2d(16), nn.BatchNorm2d(c), act

    def construct(self, x):
        return self.act(self.nc(self.c(self.act(self.nb(self.b(self.act(self.na(self.a(x)))))))) + x)


def randomised(net):
    for p in net.get_parameters():
        p.set_data(Tensor((R.rand(*p.shape) + 0.5 if p.ndim == 1 else R.randn(*p.shape) * 0.2).astype(np.float32)))
    return net


def program(f):
    return ms.explain(f).entries[0]["program"]


def kernels(f):
    """(those of convolutions and products with what follows them, loops), but for what is made of parameters alone."""
    lines = program(f).partition("prologue of parameters")[0].splitlines()
    return [x for x in lines if "_post" in x], [x for x in lines if "loop" in x]


NETS = {
    "residual": (lambda: Block(32, ops.relu), (2, 32, 9, 9), 3),
    "sigmoid": (lambda: Block(16, ops.sigmoid), (2, 16, 9, 9), 3),
    "silu": (lambda: Block(16, ops.silu), (2, 16, 9, 9), 3),
    "odd": (lambda: nn.SequentialCell([nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.Tanh(), nn.Conv2d(5, 7, 2)]),
            (2, 3, 9, 9), 1),
    "group": (lambda: nn.SequentialCell([nn.Conv2d(16, 16, 3, group=16), nn.ReLU(), nn.Conv2d(16, 16, 1), nn.ReLU()]),
              (2, 16, 9, 9), 2),
    "mlp": (lambda: nn.SequentialCell([nn.Dense(12, 8, activation="relu"), nn.Dense(8, 8, activation="tanh"),
                                       nn.Dense(8, 3)]), (5, 12), 2),
    "rows": (lambda: nn.SequentialCell([nn.Dense(12, 8), nn.ReLU(), nn.Dense(8, 8, has_bias=False), nn.Sigmoid()]),
             (2, 5, 12), 2)}


@pytest.mark.parametrize("name", sorted(NETS))
def test_fast_is_close(name):
    make, shape, posts = NETS[name]
    net, x = randomised(make()), Tensor(R.randn(*shape).astype(np.float32))
    net.set_train(False)
    f = ms.jit(lambda x: net(x), jit_config=FAST)
    want = net(x).asnumpy()
    np.testing.assert_allclose(f(x).asnumpy(), want, rtol=2e-5, atol=2e-5 * np.abs(want).max())
    np.testing.assert_array_equal(f(x).asnumpy(), f(x).asnumpy())
    if _C.channel_block() or (os.environ.get("PIJIT_BACKEND") != "reference" and not isinstance(net, Block)):
        taken_in, loops = kernels(f)
        # Convolutions of some sizes have kernels that take in nothing and are faster.
        apart = len(loops) if "Conv2d" in str(net) else 0
        assert len(taken_in) + apart == posts, program(f)
    exact = ms.jit(lambda x: net(x))
    assert exact(x).asnumpy().tobytes() == want.tobytes() and "_post" not in program(exact)


@library_only
def test_normalisation_is_folded():
    net, x = randomised(Block(32, ops.relu)), Tensor(R.randn(2, 32, 9, 9).astype(np.float32))
    net.set_train(False)
    f = ms.jit(lambda x: net(x), jit_config=FAST)
    f(x)
    # Loops over maps of 9 x 9 are activations and sums of two maps: scales and shifts are in the weights.
    taken_in, loops = kernels(f)
    others = [x for x in loops if " 1 in" not in x and " 2 in" not in x]
    assert len(taken_in) + len(loops) == 3 and not others, program(f)


def test_training_under_fast():
    net, x = randomised(Block(16, ops.relu)), Tensor(R.randn(2, 16, 9, 9).astype(np.float32))
    net.set_train(True)
    weights = ms.ParameterTuple(net.trainable_params())
    gradient = ms.value_and_grad(lambda x: (net(x) * net(x)).mean(), 0, weights)
    state = [p.asnumpy() for p in net.get_parameters()]
    loss, (dx, dw) = gradient(x)
    for p, v in zip(net.get_parameters(), state):
        p.set_data(Tensor(v))
    fast_loss, (fast_dx, fast_dw) = ms.jit(lambda x: gradient(x), jit_config=FAST)(x)
    np.testing.assert_allclose(fast_loss.asnumpy(), loss.asnumpy(), rtol=1e-5)
    for a, b in zip([fast_dx, *fast_dw], [dx, *dw]):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-3, atol=1e-4 * np.abs(b.asnumpy()).max() + 1e-7)


def test_what_is_seen_elsewhere_stays():
    dense = randomised(nn.Dense(8, 8))
    f = ms.jit(lambda x: (dense(x), ops.relu(dense(x))), jit_config=FAST)
    x = Tensor(R.randn(4, 8).astype(np.float32))
    y, z = f(x)
    assert (y.asnumpy().tobytes() == dense(x).asnumpy().tobytes()
            and z.asnumpy().tobytes() == ops.relu(dense(x)).asnumpy().tobytes())
    assert "_post" not in program(f)


def test_changed_parameters_and_sizes():
    net = randomised(Block(16, ops.relu))
    net.set_train(False)
    f = ms.jit(lambda x: net(x), jit_config=FAST)
    for n in (2, 3, 4, 5):
        x = Tensor(R.randn(n, 16, 9, 9).astype(np.float32))
        randomised(net)  # folded weights follow
        want = net(x).asnumpy()
        np.testing.assert_allclose(f(x).asnumpy(), want, rtol=2e-5, atol=2e-5 * np.abs(want).max())


def test_config_is_checked():
    with pytest.raises(ValueError, match="'numerics' must be"):
        JitConfig(numerics="sloppy")
    with pytest.raises(TypeError, match="must be a JitConfig"):
        ms.jit(lambda x: x, jit_config={"numerics": "fast"})
    with pytest.raises(ValueError, match="'numerics' must be"):
        ms.jit(lambda x: x, numerics="sloppy")
    assert ms.jit(lambda x: x + 1, jit_config=JitConfig(jit_level="O0"))(Tensor([1.0])).asnumpy()[0] == 2


def test_numerics_as_a_keyword():
    x = ops.arange(-8.0, 8.0, 0.37)
    silu = lambda x: ops.silu(x) * 1.5  # noqa: E731
    fast = ms.jit(silu, jit_config=FAST)(x).asnumpy()
    assert np.array_equal(ms.jit(silu, numerics="fast")(x).asnumpy(), fast)
    assert np.array_equal(ms.jit(silu, numerics="exact", jit_config=FAST)(x).asnumpy(), silu(x).asnumpy())
    # the reference has no cheaper forms
    assert (_C.get_option("backend") == "reference") == np.array_equal(fast, silu(x).asnumpy())

    @ms.jit(numerics="fast")
    def decorated(x):
        return ops.silu(x) * 1.5
    assert np.array_equal(decorated(x).asnumpy(), fast)


def test_a_chain_of_functions_that_call_is_cut_into_loops():
    """Around calls that every vector takes, all registers are saved: many share no loop. Those for few lanes do."""
    def chain(name):
        def f(x):
            for _ in range(10):
                x = getattr(ops, name)(x) + x
            return x
        return f

    x = np.array([0.5, -2.0, 1e12, 3e38], np.float32)
    for name, cut in (("lgamma", True), ("sin", False)):
        explained = check(lambda: chain(name), ms.Tensor(x if name == "sin" else np.abs(x[:2])), graphs=1, breaks=0)
        assert (explained.entries[0]["steps"] > 1) == cut, name


@pytest.mark.skipif(_C.get_option("backend") == "reference", reason="it has no cheaper forms")
def test_fast_exponentials_are_no_subnormal_numbers():
    x = np.concatenate([np.linspace(-110, -80, 5000), [-np.inf, np.nan, 0, 89, np.inf]]).astype(np.float32)
    plain = np.exp(x.astype(np.float64))
    y = ms.jit(lambda x: ops.exp(x), jit_config=FAST)(Tensor(x)).asnumpy()
    least = np.finfo(np.float32).tiny
    assert not ((0 < y) & (y < least)).any()
    assert not (y[plain < 0.99 * least]).any()
    kept = plain > 1.01 * least
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(y[kept], plain.astype(np.float32)[kept], rtol=3e-7)
    assert np.isnan(y[-4])
    scores = np.where(np.arange(64) % 3 == 0, np.float32(-100), np.float32(0.5))[None]
    shares = ms.jit(lambda x: ops.softmax(x, -1), jit_config=FAST)(Tensor(scores)).asnumpy()
    assert not ((0 < shares) & (shares < least)).any()
