"""Cells that compute in half precision with float32 parameters, levels of mixed precision, loss scaling."""

import copy

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, amp, nn, ops
from tests.python.differential import check, check_calls

X = np.random.RandomState(0).randn(2, 3, 8, 8).astype(np.float32)
Y = np.array([1, 2], np.int32)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.fc = nn.Conv2d(3, 4, 3, has_bias=True), nn.BatchNorm2d(4), nn.Dense(256, 5)
        self.w = ms.Parameter(ms.Tensor(np.ones(5, np.float32)), name="w")
        self.seen = []

    def construct(self, x):
        x = self.bn(self.conv(x))
        y = self.fc(ops.relu(x).reshape(2, -1)) * self.w
        self.seen.append((x.dtype.name, y.dtype.name))
        return y


@pytest.mark.parametrize("layer,shape", [
    (lambda: nn.Dense(8, 4), (2, 8)), (lambda: nn.Conv2d(3, 4, 3, has_bias=True), (2, 3, 8, 8)),
    (lambda: nn.Conv1d(3, 4, 3), (2, 3, 8)),
    (lambda: nn.Conv2dTranspose(3, 4, 3), (2, 3, 8, 8)), (lambda: nn.BatchNorm2d(3), (2, 3, 8, 8)),
    (lambda: nn.LayerNorm((8,)), (2, 8)),
    (lambda: nn.GroupNorm(3, 3), (2, 3, 8, 8)), (lambda: nn.PReLU(3), (2, 3, 8)),
    (lambda: nn.SequentialCell(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dense(256, 5)),
     (2, 3, 8, 8)),
])
@pytest.mark.parametrize("half", ["float16", "bfloat16"])
def test_to_float(layer, shape, half):
    ms.set_seed(2)
    cell = layer().set_train()
    x = ms.Tensor(np.random.RandomState(1).randn(*shape).astype(np.float32))
    want = copy.deepcopy(cell)(x)
    cell.to_float(getattr(ms, half))
    y = cell(x)
    first = y[0] if isinstance(y, tuple) else y
    assert first.dtype.name == half and all(p.dtype == ms.float32 for p in cell.get_parameters())
    np.testing.assert_allclose(first.astype(ms.float32).asnumpy(),
                               (want[0] if isinstance(want, tuple) else want).asnumpy(),
                               atol=0.2 if half == "bfloat16" else 0.02)
    weights = cell.trainable_params()
    grads = ms.grad(lambda x: ops.sum((cell(x)[0] if isinstance(y, tuple) else cell(x)).astype(ms.float32)), None,
                    weights)(x)
    assert all(g.dtype == ms.float32 and np.isfinite(g.asnumpy()).all() for g in grads)

    def make():
        ms.set_seed(2)
        made = layer().set_train().to_float(getattr(ms, half))
        return lambda x: made(x)
    check(make, x, graphs=1, breaks=0)


def test_parameters_stay_as_they_are():
    net = Net().set_train().to_float(ms.float16)
    assert type(net.fc.weight) is ms.Parameter and net.fc.weight.dtype == ms.float32
    assert (type(net.w) is ms.Parameter
            and [p.name for p in net.trainable_params()] == [p.name for p in Net().trainable_params()])
    mean = net.bn.moving_mean.asnumpy()
    net(ms.Tensor(X))
    assert net.seen == [("float16", "float16")] and (net.bn.moving_mean.asnumpy() != mean).all()
    net.fc.weight.set_data(ops.zeros_like(net.fc.weight))
    assert not net(ms.Tensor(X)).asnumpy()[:, :].any() or net.fc.bias is not None
    net.fc.weight = ms.Parameter(ops.ones((5, 256)), name="other")
    assert net.fc.weight.name == "other" and net(ms.Tensor(X)).dtype == ms.float16
    twin = copy.deepcopy(net)
    assert twin.fc.weight is not net.fc.weight and list(twin.parameters_dict()) == list(net.parameters_dict())
    assert twin(ms.Tensor(X)).asnumpy().tobytes() == net(ms.Tensor(X)).asnumpy().tobytes()
    del net.w
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'w'"):
        net.w
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'nothing'"):
        net.nothing
    with pytest.raises(ValueError, match="dst_type"):
        net.to_float(ms.int32)
    net.to_float(ms.float32)
    assert net.fc(ops.ones((1, 256))).dtype == ms.float32


class Fold(nn.Cell):
    """Columns of windows put back by a transposed convolution with fixed weights."""

    def __init__(self, channels, size, k=3):
        super().__init__()
        w = np.zeros((channels * k * k, 1, k, k), np.float32)
        for i in range(channels * k * k):
            w[i, 0, i % (k * k) // k, i % k] = 1
        self.weight, self.size, self.channels = ms.Tensor(w), size, channels
        self.scale, self.places = ms.Tensor(0.5), ms.Tensor([0, 1], ms.int32)
        self.put = ops.Conv2DTranspose(channels, (k, k), pad_mode="pad", pad=(1,) * 4, stride=1, group=channels)

    def construct(self, x):
        n = x.shape[0]
        x = ops.reshape(x, (n, -1, *self.size)) * self.scale
        return self.put(x, self.weight, (n, self.channels, *self.size))[:, self.places]


class Outlook(nn.Cell):
    """Attention over windows, unfolded and folded (Yuan et al. 2021)."""

    def __init__(self, dim=4, size=(5, 5), k=3):
        super().__init__()
        self.k, self.size = k, size
        self.v, self.attn, self.proj = nn.Dense(dim, dim), nn.Dense(dim, k ** 4), nn.Dense(2, dim)
        self.fold, self.mask = Fold(dim, size, k), ms.Tensor(np.eye(k * k, dtype=np.float32))

    def construct(self, x):
        n, kk, places = x.shape[0], self.k ** 2, self.size[0] * self.size[1]
        v = ops.unfold(self.v(x).transpose(0, 3, 1, 2), self.k, 1, 1, 1).reshape(n, -1, kk, places)
        a = ops.softmax(self.attn(x).reshape(n, places, kk, kk) - self.mask, -1)
        y = ops.matmul(a, v.transpose(0, 3, 2, 1)).transpose(0, 3, 2, 1)
        return self.proj(self.fold(y.reshape(n, -1, places)).transpose(0, 2, 3, 1))


class AmongFloat32(nn.Cell):
    def __init__(self):
        super().__init__()
        self.before, self.inner, self.behind = nn.Dense(4, 4), Outlook().to_float(ms.float16), nn.LayerNorm([4])

    def construct(self, x):
        return self.behind(self.before(x) + self.inner(self.before(x)))


def test_constants_among_attributes_are_cast():
    """Else float32 ones bring float32 in, and a product of both dtypes has no rule."""
    x = ms.Tensor(np.random.RandomState(3).randn(2, 5, 5, 4).astype(np.float32))

    def make():
        np.random.seed(4)
        ms.set_seed(4)
        net = AmongFloat32()
        return ms.value_and_grad(lambda x: (net(x) ** 2).sum(), 0, net.trainable_params())
    check(make, x, graphs=1, breaks=0)
    whole = Outlook()
    want, got = whole(x), whole.to_float(ms.float16)(x)
    assert got.dtype == ms.float16
    np.testing.assert_allclose(got.astype(ms.float32).asnumpy(), want.asnumpy(), atol=0.02)
    assert whole.mask.dtype == ms.float32 and whole.fold.places.dtype == ms.int32
    whole.fold.scale = ms.Tensor(0.25)
    assert whole.fold.scale.dtype == ms.float32 and whole(x).dtype == ms.float16
    del whole.mask
    with pytest.raises(AttributeError):
        whole.mask


class Remembers(nn.Cell):
    def __init__(self):
        super().__init__()
        self.seen, self.count = ms.Tensor([0.0, 1.0]), 0

    def construct(self, x):
        self.seen = self.seen * 0.5 + x
        self.count += 1
        return self.seen * 2


def test_a_constant_may_be_assigned_in_construct():
    def make():
        net = Remembers().to_float(ms.float16)
        return net, lambda: (net.seen, net.count)
    check(make, ms.Tensor([2.0, 3.0]), calls=4)


def test_an_error_in_construct_leaves_the_cell_usable():
    class Bad(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(ms.Tensor([1.0]), name="w")

        def construct(self, x):
            raise KeyError("no")
    net = Bad().to_float(ms.float16)
    with pytest.raises(KeyError):
        net(ms.Tensor([1.0]))
    assert type(net.w) is ms.Parameter


@pytest.mark.parametrize("level,inner",
                         [("O0", ("float32", "float32")), ("O1", ("float32", "float32")),
                          ("O2", ("float32", "float16")), ("O3", ("float16", "float16"))])
def test_levels(level, inner):
    net = amp.auto_mixed_precision(Net().set_train(), level)
    y = net(ms.Tensor(X))
    assert y.dtype == ms.float32 and net.seen[0][1] == inner[1]
    if level in ("O1", "O2"):
        assert net.bn._compute_dtype in (None, ms.float32)
    if level == "O1":
        assert net.conv._compute_dtype == ms.float16 and net._compute_dtype is None


def test_levels_train_as_one_graph():
    def make():
        ms.set_seed(4)
        net = amp.auto_mixed_precision(Net().set_train(), "O2")
        net.seen = None
        net.construct = lambda x: net.fc(ops.relu(net.bn(net.conv(x))).reshape(2, -1)) * net.w
        optimizer = nn.Momentum(net.trainable_params(), 0.01, 0.9)
        loss = nn.CrossEntropyLoss()
        gradient = ms.value_and_grad(lambda x, y: loss(net(x), y), None, optimizer.parameters)

        def step(x, y):
            value, grads = gradient(x, y)
            optimizer(grads)
            return value
        return step, lambda: [p.asnumpy().tobytes() for p in net.get_parameters()]
    e = check(make, ms.Tensor(X), ms.Tensor(Y), graphs=1, breaks=0, calls=3)
    assert "conv2d" in str(e)


def test_lists():
    net = amp.custom_mixed_precision(Net(), white_list=[nn.Dense])
    assert net.fc._compute_dtype == ms.float16 and net.conv._compute_dtype is None
    net = amp.custom_mixed_precision(Net(), black_list=[nn.Dense], dtype=ms.bfloat16)
    assert net.fc._compute_dtype == ms.float32 and net.conv._compute_dtype == ms.bfloat16
    assert nn.Dense in amp.get_white_list() and nn.BatchNorm2d in amp.get_black_list()
    for bad, error in (({}, ValueError), ({"white_list": [3]}, TypeError),
                       ({"white_list": [], "black_list": []}, ValueError),
                       ({"white_list": [], "dtype": ms.float32}, ValueError)):
        with pytest.raises(error):
            amp.custom_mixed_precision(Net(), **bad)
    with pytest.raises(ValueError, match="amp_level"):
        amp.auto_mixed_precision(Net(), "O7")
    with pytest.raises(TypeError):
        amp.auto_mixed_precision(3)


def test_primitives_of_the_white_list():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.product, self.relu, self.softmax = ops.MatMul(), ops.ReLU(), ops.Softmax()

        def construct(self, x):
            return self.product(x, x), self.relu(x), self.softmax(x)

    assert ops.MatMul in amp.get_white_list() and len(amp.get_white_list()) == 20
    shared = ops.MatMul()
    x = Tensor([[1.0, 0.3333], [0.1, 2.0]])
    half = x.astype(ms.float16)
    want = (half @ half).astype(ms.float32), half.astype(ms.float32), ops.softmax(x)
    for made in (lambda n: amp.auto_mixed_precision(n, "O1"),
                 lambda n: amp.custom_mixed_precision(n, white_list=[ops.MatMul, ops.ReLU])):
        net = Net()
        net.product = shared
        made(net)
        assert isinstance(net.product, ops.MatMul) and net.product is not shared
        for call in (net, ms.jit(lambda x, net=net: net(x))):
            for got, expected in zip(call(x), want):
                assert got.dtype == ms.float32 and np.array_equal(got.asnumpy(), expected.asnumpy())
    assert shared(x, x).asnumpy()[0, 1] != want[0].asnumpy()[0, 1]
    with pytest.raises(TypeError, match="black_list"):
        amp.custom_mixed_precision(Net(), black_list=[ops.ReLU])


HALF = {
    "nn.LayerNorm": lambda x: nn.LayerNorm((4,))(x), "ops.layer_norm": lambda x: ops.layer_norm(x, (4,), ops.ones(4)),
    "from another axis": lambda x: nn.LayerNorm((4,), begin_norm_axis=1)(x),
    "ops.LayerNorm": lambda x: ops.LayerNorm(-1, -1)(x, ops.ones(4), ops.ones(4))[0],
    "nn.GroupNorm": lambda x: nn.GroupNorm(1, 2)(x), "nn.PReLU": lambda x: nn.PReLU()(x),
    "ops.prelu": lambda x: ops.prelu(x, ops.ones(2) * 0.1), "nn.BatchNorm2d": lambda x: nn.BatchNorm2d(2)(x[None])[0],
}


@pytest.mark.parametrize("name", HALF)
@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16])
def test_half_inputs_of_float32_weights_stay_half(name, dtype):
    f = HALF[name]
    wide = Tensor(np.random.default_rng(0).standard_normal((2, 2, 4)).astype(np.float32))
    x = wide.astype(dtype)
    y = f(x)
    assert y.dtype == dtype
    assert np.array_equal(y.asnumpy(), f(x.astype(ms.float32)).astype(dtype).asnumpy())
    jitted = ms.jit(f)(x)
    assert jitted.dtype == dtype and np.array_equal(jitted.asnumpy(), y.asnumpy())

    class Wide(nn.Cell):
        def construct(self, x):
            return f(x)
    assert Wide().to_float(ms.float32)(x).dtype == ms.float32


def test_loss_scalers():
    s = amp.DynamicLossScaler(1024, 2, 3)
    assert (s.scale(ms.Tensor(2.0, ms.float32)).item() == 2048
            and s.unscale((ms.Tensor(2.0, ms.float32),))[0].item() == 2 / 1024)
    values = []
    for finite in (True, True, True, False, True, False, False):
        assert s.adjust(ms.Tensor(finite)) is True
        values.append((s.scale_value.item(), s.counter.item()))
    assert values == [(1024, 1), (1024, 2), (2048, 0), (1024, 0), (1024, 1), (512, 0), (256, 0)]
    fixed = amp.StaticLossScaler(8)
    assert fixed.scale(ms.Tensor(2.0, ms.float32)).item() == 16 and fixed.adjust(ms.Tensor(False)) is False
    assert (not amp.all_finite((ms.Tensor([1.0]), ms.Tensor([float("inf")]))).item()
            and amp.all_finite([ms.Tensor([1.0])]).item())
    m = amp.DynamicLossScaleManager(16, 2, 2)
    m.update_loss_scale(False), m.update_loss_scale(False)
    assert m.get_loss_scale() == 32
    m.update_loss_scale(True)
    assert m.get_loss_scale() == 16 and isinstance(m.get_update_cell(), nn.DynamicLossScaleUpdateCell)
    assert amp.FixedLossScaleManager(16, False).get_update_cell() is None


class Square(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(ms.Tensor(np.array([2.0], np.float32)), name="w")

    def construct(self, x, y):
        return ((self.w * x - y) ** 2).mean()


def test_a_step_that_overflows_changes_no_parameter():
    def make():
        net = Square()
        optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
        step = nn.TrainOneStepWithLossScaleCell(net, optimizer,
                                                nn.DynamicLossScaleUpdateCell(2.0 ** 120, 2, 2)).set_train()
        return ((lambda x, y: step(x, y)),
                lambda: ([p.asnumpy().tolist() for p in optimizer.get_parameters()], step.scale_sense.item()))
    one = ms.Tensor(np.array([1., 1.], np.float32))
    big = ms.Tensor(np.array([1., 2e5], np.float32))
    check_calls(make, [(big, one), (big, one), (one, one), (one, one), (big, one)], graphs=1, breaks=0)
    net = Square()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    step = nn.TrainOneStepWithLossScaleCell(net, optimizer, nn.DynamicLossScaleUpdateCell(2.0 ** 120, 2, 2))
    loss, overflow, scale = step(big, one)
    assert (overflow.item() is True and scale.item() == 2.0 ** 120 and step.scale_sense.item() == 2.0 ** 119
            and net.w.item() == 2 and optimizer.global_step.item() == 0)
    loss, overflow, scale = step(one, one)
    assert overflow.item() is False and loss.item() == 1 and abs(net.w.item() - 1.8) < 1e-6


def test_build_train_network():
    x, y = ms.Tensor(np.array([1., 1.], np.float32)), ms.Tensor(np.array([1., 1.], np.float32))
    for manager, want in ((None, 1), (amp.FixedLossScaleManager(8, False), 1), (amp.FixedLossScaleManager(8), 3),
                          (amp.DynamicLossScaleManager(8), 3)):
        net = Square()
        step = amp.build_train_network(net, nn.SGD(net.trainable_params(), 0.1), loss_scale_manager=manager)
        out = step(x, y)
        assert (len(out) if isinstance(out, tuple) else 1) == want
        assert abs(net.w.item() - (2 - 0.1 * 2 * (8 if want == 1 and manager else 1))) < 1e-5


@pytest.mark.parametrize("make", [
    lambda p: nn.AdaFactor(p), lambda p: nn.ASGD(p), lambda p: nn.Rprop(p), lambda p: nn.Lamb(p, 0.1),
    lambda p: nn.LARS(nn.SGD(p, 0.1, 0.9)),
    lambda p: nn.Adam(p, 0.1, use_amsgrad=True), lambda p: nn.SGD(p, 0.1, 0.9), lambda p: nn.FTRL(p),
    lambda p: nn.RMSProp(p, centered=True),
])
def test_overflow_leaves_each_optimizer_as_it_was(make):
    """All that an optimizer keeps belongs to it: it is saved, and taken back."""
    one, big = ms.Tensor(np.array([1., 1.], np.float32)), ms.Tensor(np.array([1., 2e5], np.float32))
    runs = []
    for inputs in ((one, one, one), (one, big, one, one)):
        net = Square()
        optimizer = make(net.trainable_params())
        step = nn.TrainOneStepWithLossScaleCell(net, optimizer, nn.FixedLossScaleUpdateCell(2.0 ** 112))
        overflows = [step(x, one)[1].item() for x in inputs]
        runs.append((net.w.item(), {k: p.asnumpy().tolist() for k, p in optimizer.parameters_dict().items()}))
    assert overflows == [False, True, False, False] and runs[0] == runs[1] and np.isfinite(runs[0][0])
