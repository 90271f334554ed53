"""Cells behind to_float: which operators cast what, in them and in what they call, eagerly and captured; gradients."""

import functools
import threading

import numpy as np
import pytest

import pijit as ms
from pijit import nn, ops
from tests.python.differential import check

X = ms.Tensor(np.full((2, 2), 1.0001, np.float32))
OUTSIDE = ms.Tensor(np.full((2, 2), 1.0001, np.float32))
DOUBLE = ms.Tensor(np.full((2, 2), 1.0001, np.float64))
INTS = ms.Tensor([1, 2])


class Calls(nn.Cell):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def construct(self, *args, **kwargs):
        return self.f(*args, **kwargs)


def kinds(value):
    return [str(v.dtype).lower() for v in (value if isinstance(value, tuple) else (value,))]


# What MindSpore 2.10 answers in its eager mode: T stands for the dtype of to_float.
CASES = {
    "the input": (lambda x: x, "float32"),
    "neg": (lambda x: -x, "T"),
    "double": (lambda x: DOUBLE * 1, "T"),
    "ints": (lambda x: -INTS, "int64"),
    "ints and a float": (lambda x: INTS + 1.5, "T"),
    "ints over": (lambda x: INTS / 3, "float32"),
    "add": (lambda x: x + 1.5, "T"),
    "primitive": (lambda x: ops.Add()(x, x), "T"),
    "function": (lambda x: ops.add(x, x), "T"),
    "a global": (lambda x: OUTSIDE + OUTSIDE, "T"),
    "matmul": (lambda x: ops.matmul(x, OUTSIDE), "T"),
    "cast": (lambda x: x.astype(ms.float32), "float32"),
    "cast, exp": (lambda x: ops.exp(x.astype(ms.float32)), "T"),
    "zeros": (lambda x: ops.zeros((2, 2), ms.float32), "float32"),
    "ones_like": (lambda x: ops.ones_like(x), "float32"),
    "a new Tensor": (lambda x: ms.Tensor(np.ones((2, 2), np.float32)) + x, "T"),
    "reductions": (lambda x: (x.sum(), x.mean(), x.max(), ops.ReduceMean()(x), x.argmax()), "T T T T int64"),
    "a dtype given": (
        lambda x: (
            x.sum(dtype=ms.float32),
            x.prod(dtype=ms.float64),
            ops.cumsum(x, 0, ms.float32),
            ops.softmax(x, dtype=ms.float32),
        ),
        "float32 float64 float32 float32",
    ),
    "shapes": (
        lambda x: (
            x.reshape(4),
            x.T,
            ops.transpose(x, (1, 0)),
            ops.squeeze(x),
            ops.expand_dims(x, 0),
            x.broadcast_to((2, 2, 2)),
            x.view(4),
            x.swapaxes(0, 1),
            x.ravel(),
        ),
        "float32 " * 9,
    ),
    "copies": (
        lambda x: (ops.tile(x, (2,)), x.tile((2, 1)), ops.Tile()(x, (2,)), x.repeat_interleave(2, 0), ops.flatten(x),
                   nn.Flatten()(x)),
        "T " * 6,
    ),
    "parts": (lambda x: (x[0], x[:, 1], x[..., None], *ops.split(x, 1), *x.chunk(2)), "float32 " * 7),
    "gathered": (lambda x: (x[INTS - 1], ops.gather(x, INTS - 1, 0), ops.gather_nd(x, ms.Tensor([[0, 0]]))), "T T T"),
    "joined": (lambda x: (ops.concat((x, OUTSIDE)), ops.stack((x, DOUBLE)), ops.Stack()((x, x))), "T T T"),
    "identities": (lambda x: (ops.identity(x), ops.stop_gradient(x), ops.depend(x, x)), "float32 T float32"),
    "comparisons": (lambda x: (x > 1, ops.equal(x, OUTSIDE), ops.isnan(x)), "bool bool bool"),
    "select": (lambda x: (ops.where(x > 1, x, OUTSIDE * 0), ops.masked_fill(x, x > 0, 0.0)), "T T"),
    "layers": (lambda x: (nn.Dense(2, 2)(x), nn.LayerNorm([2])(x), nn.Softmax()(x)), "T T T"),
    "losses": (lambda x: (nn.MSELoss()(x, OUTSIDE), ops.cross_entropy(x, INTS - 1)), "T T"),
    "numbers of a list": (lambda x: x + [1.0, 2.0], "T"),
    "powers": (lambda x: (x**2, x**0.5, 2.0**x), "T T T"),
    "filled": (
        lambda x: (ops.fill(ms.float32, (2,), 1.0), ops.fill(ms.float64, (2,), 1.0), ops.full_like(x, 1.0),
                   ops.full((2,), 1.0, dtype=ms.float32), ops.ZerosLike()(x), ops.OnesLike()(x), x.new_zeros((2,)),
                   x.new_ones((2,)), ops.FillV2()((2,), ms.Tensor(1.0))),
        "T " * 9,
    ),
    "filled in its dtype": (
        lambda x: (ops.Fill()(ms.float32, (2,), 1.0), ops.zeros_like(x), x.new_zeros((2,), dtype=ms.float64),
                   ops.full((2,), 1), ops.full_like(INTS, 1), ops.ZerosLike()(INTS)),
        "float32 float32 float64 int64 int64 int64",
    ),
    "moved": (
        lambda x: (ops.flip(x, (0,)), x.flip((0,)), ops.fliplr(x), ops.flipud(x), ops.rot90(x, 1, (0, 1)),
                   *ops.unbind(x), *ops.unstack(x), ops.strided_slice(x, (0, 0), (1, 1), (1, 1)), x.diagonal(),
                   ops.ReverseV2([0])(x), *ops.split(x, [1, 1]), ops.flip(INTS, (0,))),
        "T " * 14 + "int64",
    ),
    "planes and depth": (
        lambda x: (ops.SpaceToDepth(2)(x.reshape(1, 1, 2, 2)), ops.DepthToSpace(2)(x.reshape(1, 4, 1, 1)),
                   ops.BatchToSpaceND([1, 1], [[0, 0], [0, 0]])(x.reshape(1, 1, 2, 2))),
        "T T T",
    ),
    "limited": (
        lambda x: (ops.clamp(x, 0, 1), x.clip(0.0, 1.0), ops.clip_by_value(x, 0, 1),
                   ops.clip_by_value([x], 0, 1)[0], ops.clip_by_value(INTS, 0, 1)),
        "T T T T int64",
    ),
    "values": (lambda x: (ops.Identity()(x), ops.Identity()(DOUBLE), ops.real(x), ops.conj(x), ops.Identity()(INTS)),
               "T T T T int64"),
}


@pytest.mark.parametrize("half", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("case", CASES)
def test_what_is_cast(case, half):
    f, want = CASES[case]

    def make():
        ms.set_seed(1)
        cell = Calls(f).to_float(getattr(ms, half))
        return lambda x: cell(x)

    assert kinds(make()(X)) == want.replace("T", half).split()
    check(make, X)


class Inner(nn.Cell):
    def construct(self, x):
        return x * 1.0001


class Nested(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(ms.Tensor(np.full((2, 2), 0.1, np.float32)), name="w")
        self.inner, self.wide, self.hidden = Inner(), Inner(), [Inner()]
        self.late = None

    def construct(self, x):
        def function(q):
            return q + 1

        a = self.inner(x)
        parts = [self.w, self.w + x, a, self.hidden[0](x), function(x), self.wide(a)]
        if self.late is not None:
            parts.append(self.late(x))
        return tuple(parts)


def test_cells_functions_and_other_dtypes_inside():
    def make(change):
        net = Nested().to_float(ms.float16)
        change(net)
        return lambda x: net(x)

    def nothing(net):
        net.late = Inner()

    def wide(net):
        net.wide.to_float(ms.float32)

    for change, want in (
        (nothing, "float32 float16 float16 float16 float16 float16 float16"),
        (wide, "float32 float16 float16 float16 float16 float32"),
    ):
        assert kinds(make(change)(X)) == want.split()
        check(functools.partial(make, change), X, graphs=1, breaks=0)
    net = Nested()
    net.inner.to_float(ms.bfloat16)
    assert kinds(net(X)) == "float32 float32 bfloat16 float32 float32 bfloat16".split()
    assert (
        kinds(Nested().to_float(ms.float16).construct(X)) == "float32 float32 float16 float32 float32 float16".split()
    )
    assert kinds(net(X))[1] == "float32"


def test_hooks_run_in_it_and_keywords_are_cast():
    seen = []
    cell = Calls(lambda x, y=None: x + y).to_float(ms.float16)
    cell.register_forward_pre_hook(lambda c, i: seen.append((i[0].dtype, (X * 1.0).dtype)))
    cell.register_forward_hook(lambda c, i, o: seen.append((i[0].dtype, o.dtype, (X * 1.0).dtype)))
    assert cell(X, y=X).dtype == ms.float16
    assert seen == [(ms.float32, ms.float16), (ms.float32, ms.float16, ms.float16)] and (X * 1.0).dtype == ms.float32


def test_values_are_those_of_halves():
    x = ms.Tensor(np.array([1.0001, 70000.0, 3e-8, 1 / 3], np.float32))
    cell = Calls(lambda x: x * 3.0 + OUTSIDE[0, 0]).to_float(ms.float16)
    want = x.astype(ms.float16) * 3.0 + OUTSIDE[0, 0].astype(ms.float16)
    assert cell(x).asnumpy().tobytes() == want.asnumpy().tobytes()


class Trained(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(ms.Tensor(np.full((2, 2), 0.1, np.float32)), name="w")
        self.fc, self.bn = nn.Dense(2, 3), nn.BatchNorm1d(3)

    def construct(self, x):
        return (self.bn(self.fc(ops.matmul(x, self.w))) ** 2).sum()


def test_gradients_have_the_dtypes_of_what_they_are_of():
    def make():
        ms.set_seed(2)
        net = Trained().set_train().to_float(ms.float16)
        gradient = ms.value_and_grad(net, 0, net.trainable_params())
        return (lambda x: gradient(x)), lambda: (net.bn.moving_mean, net.bn.moving_variance)

    value, (by_x, by_w) = make()[0](X)
    assert value.dtype == ms.float16 and by_x.dtype == ms.float32 and all(g.dtype == ms.float32 for g in by_w)
    check(
        make,
        ms.Tensor(np.random.default_rng(0).standard_normal((4, 2)).astype(np.float32)),
        graphs=1,
        breaks=0,
        calls=3,
    )


def test_parameters_and_statistics_stay_in_their_dtype():
    net = Trained().set_train().to_float(ms.float16)
    x = ms.Tensor(np.random.default_rng(0).standard_normal((8, 2)).astype(np.float32))
    net(x)
    moved = net.bn.moving_mean.asnumpy()
    assert moved.dtype == np.float32 and (moved != moved.astype(np.float16)).any()


class State(nn.Cell):
    def __init__(self):
        super().__init__()
        self.m = ms.Parameter(ms.Tensor(np.full((2, 2), 0.1, np.float32)), name="m", requires_grad=False)
        self.n = ms.Parameter(ms.Tensor(np.zeros((2, 2), np.float32)), name="n")

    def construct(self, x):
        ops.assign(self.m, self.m + x * 0.3)
        ops.assign_add(self.m, x)
        ops.ScatterAdd()(self.n, INTS - 1, x * 2.0)
        y = x.copy()
        y[0] = 3.0001
        return y


def test_what_is_changed_in_place_keeps_its_dtype():
    net = State().to_float(ms.float16)
    assert net(X).dtype == ms.float32
    assert net.m.asnumpy()[0, 0] == np.float32(1.3999023) and net.n.asnumpy()[0, 0] == 2.0  # as MindSpore's

    def make():
        net = State().to_float(ms.float16)
        return (lambda x: net(x)), lambda: (net.m, net.n)

    check(make, X, graphs=1, breaks=0)


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda p: nn.Momentum(p, 0.1, 0.9),
        lambda p: nn.Adam(p, nn.ExponentialDecayLR(0.1, 0.9, 2)),
        lambda p: nn.AdamWeightDecay(p, 0.1),
    ],
)
def test_optimizers_compute_in_their_own(optimizer):
    def run(inner):
        ms.set_seed(3)
        net = Trained()
        step = nn.TrainOneStepCell(net, optimizer(net.trainable_params()))
        (step if inner else net).to_float(ms.float16)
        step.set_train()
        for _ in range(3):
            step(X)
        return [p.asnumpy() for p in net.trainable_params()]

    whole, part = run(True), run(False)
    assert all(a.dtype == np.float32 and (a == b).all() for a, b in zip(whole, part))
    assert any((a != a.astype(np.float16)).any() for a in whole)


ONE = {
    "interpolate": lambda x: ops.interpolate(x.reshape(1, 1, 2, -1), (5, 3001), mode="bilinear", align_corners=True),
    "nearest": lambda x: ops.interpolate(x.reshape(1, 1, 2, -1), scale_factor=(1.0, 3001 / 2), mode="nearest"),
    "norm": lambda x: ops.norm(x, 2, (0, 1)),
    "fft": lambda x: ops.abs(ops.fft(x)).astype(ms.float32),
    "cov": lambda x: ops.cov(x),
    "cdist": lambda x: ops.cdist(x, x),
    "histc": lambda x: ops.histc(x, 3001, 0.0, 8.0),
    "linspace": lambda x: ops.linspace(0, 5000, 5001),
    "dropout": lambda x: nn.Dropout(p=0.3).set_train()(ops.ones((64, 64))) + x[0, 0],
    "rand": lambda x: ops.rand(50),
    "normal": lambda x: ops.randn(50),
    "batch_norm": lambda x: nn.BatchNorm1d(2).set_train()(x),
    "hann": lambda x: ops.hann_window(3001),
    "affine_grid": lambda x: ops.affine_grid(ms.Tensor(np.ones((1, 2, 3), np.float32)), (1, 1, 4, 3001), True),
}


@pytest.mark.parametrize("case", ONE)
def test_functions_of_several_operators_are_one(case):
    """Their arguments are cast, and not what they compute within: places, statistics, random numbers."""
    f = ONE[case]

    def make():
        ms.set_seed(4)
        cell = Calls(f).to_float(ms.float16)
        return lambda x: cell(x)

    x = ms.Tensor(np.array([[1.5, 2.0], [0.25, 4.0]], np.float32))  # what halves hold
    ms.set_seed(4)
    want = f(x).astype(ms.float32).asnumpy()
    np.testing.assert_allclose(make()(x).astype(ms.float32).asnumpy(), want, rtol=2e-3, atol=2e-3)
    check(make, x)


def test_breaks_errors_threads_and_jitted_functions():
    class Breaks(nn.Cell):
        def construct(self, x):
            y = x * 1.0001
            print(float(y.sum().asnumpy()))
            z = y + OUTSIDE
            if float(z.asnumpy()[0, 0]) > 1:
                z = z * 2.0001
            return z, OUTSIDE * 1

    def make():
        cell = Breaks().to_float(ms.float16)
        return lambda x: (cell(x), x * 1.0)

    check(make, X, calls=3)
    assert kinds(make()(X)[0]) == ["float16"] * 2 and kinds(make()(X)[1]) == ["float32"]

    class Fails(nn.Cell):
        def construct(self, x, fail):
            y = x * 1.0001
            if fail:
                raise KeyError("no")
            return y

    def failing():
        cell = Fails().to_float(ms.float16)

        def f(x, fail):
            try:
                return cell(x, fail)
            except KeyError:
                return x * 1.0

        return f

    check(failing, X, True)
    check(failing, X, False)
    with pytest.raises(KeyError):
        Fails().to_float(ms.float16)(X, True)
    assert (X * 1.0).dtype == ms.float32
    triple = ms.jit(lambda x: x * 3.0)
    cell = Calls(triple).to_float(ms.float16)
    for _ in range(3):  # one function, in and outside
        assert triple(X).dtype == ms.float32 and cell(X).dtype == ms.float16
    seen = []

    def other(x):
        thread = threading.Thread(target=lambda: seen.append((x * 1.0).dtype))
        thread.start()
        thread.join()
        return x * 1.0

    assert Calls(other).to_float(ms.float16)(X).dtype == ms.float16 and seen == [ms.float32]


def test_branches_and_loops_on_tensors():
    def branch(x):
        if x.sum() > 3:
            return x * 1.0001
        return x + OUTSIDE

    def loop(x):
        i = ops.zeros((), ms.int32)
        y = x * 1.0
        while i < 5:
            y = y * 1.0001 + OUTSIDE
            i = i + 1
        return y

    for f in (branch, loop):

        def make(f=f):
            cell = Calls(f).to_float(ms.float16)
            return lambda x: cell(x)

        assert make()(X).dtype == ms.float16
        check(make, X)


def test_graph_mode():
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        net = Nested()
        net.inner.to_float(ms.float16)
        assert kinds(net(X)) == "float32 float32 float16 float32 float32 float16".split()
        assert kinds(Nested().to_float(ms.float16)(X)) == "float32 float16 float16 float16 float16 float16".split()
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_compute_in_the_dtype_of_x(layer):
    for dtype in ("float16", "float32"):
        x = ms.Tensor(np.ones((3, 1, 2), dtype))
        net = layer(2, 2)
        for cell in (net, Calls(net).to_float(ms.float16), layer(2, 2).to_float(ms.bfloat16)):
            out, state = cell(x)
            states = state if isinstance(state, tuple) else (state,)
            assert kinds((out, *states)) == [dtype] * (1 + len(states))
        assert {p.dtype for p in net.get_parameters()} == {ms.float32}
        check(lambda net=net: net, x, graphs=1, breaks=0)
    other = ops.zeros((1, 1, 2), ms.float16)
    with pytest.raises(TypeError, match="dtype"):
        layer(2, 2)(ops.ones((3, 1, 2)), (other, other) if layer is nn.LSTM else other)


def test_a_copied_mask_keeps_its_original():
    def f(mask):
        bias = mask.float()
        bias[bias == 0] = -1e9
        return bias, mask * 1
    check(lambda: f, ms.Tensor(np.array([0.0, 1.0], np.float32)), graphs=1, breaks=0)
    mask = ms.Tensor(np.array([0.0, 1.0], np.float32))
    assert f(mask)[0].asnumpy()[0] < -1e8 and mask.asnumpy()[0] == 0
