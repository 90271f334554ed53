"""Weights kept in the layouts of kernels: never stale, never lent, bounded, freed with what they are made of."""

import copy
import ctypes
import gc
import os
import tempfile
import threading

import numpy as np
import pytest

import pijit as ms
from pijit import Parameter, Tensor, _C, nn, ops

pytestmark = pytest.mark.skipif(_C.get_option("backend") == "reference", reason="no kernel has a layout of its own")


@pytest.fixture(autouse=True)
def nothing_kept():
    gc.collect()
    _C.empty_cache()
    assert _C.packed_bytes() == 0
    yield


def values(*shape, seed=0):
    return (np.random.RandomState(seed).randint(-8, 9, shape) / 8).astype(np.float32)


X = values(1, 32, 12, 12, seed=5)


class Net(nn.Cell):
    """Convolutions by several kernels: oneDNN's for whole blocks, for parts of them, in groups, dilated, depthwise."""

    def __init__(self, seed=0):
        super().__init__()
        def conv(i, o, k=3, **kw):
            return nn.Conv2d(i, o, k, pad_mode="pad", padding=kw.get("dilation", 1) * (k // 2), has_bias=True, **kw)
        self.body = nn.SequentialCell([conv(32, 32), nn.ReLU(), conv(32, 20), conv(20, 32, 1), conv(32, 32, group=32),
                                       conv(32, 48, group=4), conv(48, 32, dilation=2), conv(32, 16, group=2)])
        self.head = nn.Dense(16, 5)
        for k, p in enumerate(self.get_parameters()):
            p.set_data(Tensor(values(*p.shape, seed=10 * seed + k)))

    def construct(self, x):
        return self.head(self.body(x).mean((2, 3)))


def plain_result(net, x=X):
    """Of weights that no kernel has seen."""
    other = type(net)()
    for p, q in zip(other.get_parameters(), net.get_parameters()):
        p.set_data(Tensor(q.asnumpy()))
    return other(Tensor(x)).asnumpy()


def weights(net):
    return [p for p in net.get_parameters() if p.ndim == 4]


@pytest.mark.parametrize("jitted", [False, True])
def test_kept_from_the_second_call_on(jitted):
    net = Net()
    f = ms.jit(net) if jitted else net
    x, want = Tensor(X), plain_result(net)
    for k in range(5):
        np.testing.assert_array_equal(f(x).asnumpy(), want)
        assert (_C.packed_bytes() > 0) == (k > 0)
    some = _C.packed_bytes()
    f(x)
    assert _C.packed_bytes() == some
    del net, f
    gc.collect()
    assert _C.packed_bytes() == 0


def test_eager_and_captured_calls_share_what_is_kept():
    net = Net()
    x = Tensor(X)
    net(x), net(x)
    some = _C.packed_bytes()
    f = ms.jit(net)
    want = plain_result(net)
    for _ in range(3):
        np.testing.assert_array_equal(f(x).asnumpy(), want)
        np.testing.assert_array_equal(net(x).asnumpy(), want)
    assert _C.packed_bytes() <= 2 * some


def by_set_data(net):
    for p in weights(net):
        p.set_data(Tensor(p.asnumpy() * 2))


def by_index(net):
    for p in weights(net):
        p[...] = p * 2


def by_element(net):
    for p in weights(net):
        p[0, 0, 0, 0] = 3.0


def by_view(net):
    for p in weights(net):
        row = p[1]
        row[0] = 4.0
        p[0] = row


def by_in_place_operators(net):
    for p in weights(net):
        p *= 2


def by_assign(net):
    for p in weights(net):
        ops.assign(p, p + 1)
        ops.assign_add(p, p * 0.5)


def by_in_place_methods(net):
    for p in weights(net):
        p.add_(1.0)
        p.copy_(p * 2)


def by_captured_assignment(net):
    @ms.jit
    def update(a):
        for p in weights(net):
            ops.assign(p, p * a)

    for _ in range(3):
        update(Tensor(np.float32(1.5)))


def by_captured_store(net):
    some = weights(net)

    @ms.jit
    def update():
        for p in some:
            p[0] = p[0] * 2.0

    update(), update()


def by_parameters_of_another(net):
    other = type(net)(seed=3)
    ms.load_param_into_net(net, {p.name: p for p in other.get_parameters()})


def by_checkpoint(net):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.ckpt")
        ms.save_checkpoint(type(net)(seed=4), path)
        ms.load_checkpoint(path, net)


def training_step(net, make, jitted):
    optimizer = make(net.trainable_params())
    grad = ms.value_and_grad(lambda x: net(x).sum(), None, optimizer.parameters)

    def step(x):
        loss, g = grad(x)
        optimizer(g)
        return loss

    return ms.jit(step) if jitted else step


def by_optimizer(make, jitted):
    def run(net):
        f = training_step(net, make, jitted)
        for _ in range(6):
            f(Tensor(getattr(net, "example", X)))
    return run


WAYS = {"set_data": by_set_data, "index": by_index, "element": by_element, "view": by_view,
        "operators": by_in_place_operators, "assign": by_assign, "methods": by_in_place_methods,
        "captured assign": by_captured_assignment, "captured store": by_captured_store,
        "load_param": by_parameters_of_another, "checkpoint": by_checkpoint,
        **{f"{n} {'captured' if j else 'eager'}": by_optimizer(make, j) for j in (False, True) for n, make in {
            "SGD": lambda p: nn.SGD(p, 0.01), "Momentum": lambda p: nn.Momentum(p, 0.01, 0.9),
            "Adam": lambda p: nn.Adam(p, 0.01), "AdamWeightDecay": lambda p: nn.AdamWeightDecay(p, 0.01)}.items()}}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_written_is_not_used_any_more(way):
    net = Net()
    f = ms.jit(net)
    x = Tensor(X)
    for _ in range(3):
        net(x), f(x)
    for _ in range(2):
        WAYS[way](net)
        want = plain_result(net)
        for _ in range(4):
            np.testing.assert_array_equal(f(x).asnumpy(), want)
            np.testing.assert_array_equal(net(x).asnumpy(), want)


@pytest.mark.parametrize("make", [lambda p: nn.Momentum(p, 0.01, 0.9), lambda p: nn.Adam(p, 0.01)])
def test_training_steps_keep_none(make):
    net = Net()
    step = training_step(net, make, True)
    x = Tensor(X)
    for _ in range(6):
        step(x)
        assert _C.packed_bytes() == 0
    net(x), net(x)
    assert _C.packed_bytes() > 0
    step(x)
    assert _C.packed_bytes() == 0


def test_updates_that_raise_half_way():
    net = Net()
    x = Tensor(X)
    f = ms.jit(net)

    def update(limit):
        for k, p in enumerate(weights(net)):
            if k == limit:
                raise KeyError(k)
            p[...] = p * 1.5

    @ms.jit
    def gather_after(p, index):
        p[...] = p * 1.5
        return ops.gather(p, index, 0)

    for _ in range(3):
        f(x)
    for limit in (2, 4):
        for g in (update, ms.jit(update)):
            with pytest.raises(KeyError):
                g(limit)
            want = plain_result(net)
            for _ in range(3):
                np.testing.assert_array_equal(f(x).asnumpy(), want)
                np.testing.assert_array_equal(net(x).asnumpy(), want)
    for index in (0, 10**6, 1):
        try:
            gather_after(weights(net)[0], Tensor([index]))
        except Exception:
            assert index > 1
        want = plain_result(net)
        for _ in range(3):
            np.testing.assert_array_equal(f(x).asnumpy(), want)


def test_copies_have_their_own():
    net = Net()
    x = Tensor(X)
    net(x), net(x)
    want = plain_result(net)
    other = copy.deepcopy(net)
    third = copy.copy(weights(net)[0])
    for _ in range(3):
        np.testing.assert_array_equal(other(x).asnumpy(), want)
    by_index(other)
    third[...] = 0
    changed = plain_result(other)
    assert not np.array_equal(changed, want)
    for _ in range(3):
        np.testing.assert_array_equal(other(x).asnumpy(), changed)
        np.testing.assert_array_equal(net(x).asnumpy(), plain_result(net))


def expect_one_or_the_other(net, w, x, functions, calls):
    """What threads of functions of x see while a parameter changes between two values. calls: of the first function,
    after the change numbered k."""
    one, want = w.asnumpy(), []
    for factor in (1, 2):
        w.set_data(Tensor(one * factor))
        want.append(plain_result(net, x))
    wrong, stop = [], threading.Event()

    def run(f):
        while not stop.is_set():
            y = f(Tensor(x)).asnumpy()
            if not any(np.array_equal(y, v) for v in want):
                wrong.append(y)

    threads = [threading.Thread(target=run, args=(f,)) for f in functions]
    for t in threads:
        t.start()
    for k in range(300):
        w.set_data(Tensor(one * (k % 2 + 1)))
        for _ in range(calls(k)):
            y = functions[0](Tensor(x)).asnumpy()
            if not np.array_equal(y, want[k % 2]):
                wrong.append(y)
        if k % 50 == 0:
            _C.empty_cache()
    stop.set()
    for t in threads:
        t.join()
    assert not wrong


def test_threads_see_one_or_the_other():
    net = Net()
    f = ms.jit(net)
    expect_one_or_the_other(net, weights(net)[0], X, (f, f, net), lambda k: 1)


def conv(x, w):
    return ops.conv2d(x, w, pad_mode="same")


def test_memory_from_outside_is_not_kept():
    data = values(32, 32, 3, 3)
    w = Tensor.from_dlpack(data, copy=False)
    x = Tensor(X)
    f = ms.jit(conv)
    for k in range(4):
        data[...] = values(32, 32, 3, 3, seed=k)
        want = conv(x, Tensor(data)).asnumpy()
        for _ in range(3):
            np.testing.assert_array_equal(conv(x, w).asnumpy(), want)
            np.testing.assert_array_equal(f(x, w).asnumpy(), want)
    assert _C.packed_bytes() == 0


def test_memory_that_was_handed_out_is_not_kept():
    w = Tensor(values(32, 32, 3, 3))
    x = Tensor(X)
    f = ms.jit(conv)
    for _ in range(3):
        conv(x, w), f(x, w)
    assert _C.packed_bytes() > 0
    outside = np.from_dlpack(w)
    assert _C.packed_bytes() == 0
    for k in range(3):
        new = values(32, 32, 3, 3, seed=k)
        ctypes.memmove(outside.ctypes.data, new.ctypes.data, new.nbytes)  # though it says that it is read-only
        want = conv(x, Tensor(new)).asnumpy()
        for _ in range(3):
            np.testing.assert_array_equal(conv(x, w).asnumpy(), want)
            np.testing.assert_array_equal(f(x, w).asnumpy(), want)
    del outside
    gc.collect()
    conv(x, w), conv(x, w)
    assert _C.packed_bytes() == 0  # whoever had it may have kept its address


@pytest.fixture
def limit():
    before = _C.get_option("packed_bytes")
    yield lambda n: _C.set_option("packed_bytes", str(n))
    _C.set_option("packed_bytes", before)


def test_bounded(limit):
    x, size = Tensor(X), 32 * 32 * 9 * 4
    limit(3 * size)
    tensors = [Tensor(values(32, 32, 3, 3, seed=k)) for k in range(6)]
    want = [conv(x, w).asnumpy() for w in tensors]
    for _ in range(5):
        for w, y in zip(tensors, want):
            np.testing.assert_array_equal(conv(x, w).asnumpy(), y)
            assert _C.packed_bytes() <= 3 * size
    assert _C.packed_bytes() == 3 * size
    # What nobody asks for any more goes for what is asked for.
    for _ in range(300):
        conv(x, tensors[5])
    del tensors[:5]
    assert _C.packed_bytes() == size
    limit(0)
    _C.empty_cache()
    conv(x, tensors[0]), conv(x, tensors[0])
    assert _C.packed_bytes() == 0


def test_many_layouts_of_one_memory():
    w = Tensor(values(64, 32, 3, 3))
    x = Tensor(X)
    shapes = [(64, 32, 3, 3), (32, 32, 3, 6), (32, 32, 6, 3), (64, 32, 9, 1), (64, 32, 1, 9), (192, 32, 3, 1)]
    want = [conv(x, Tensor(w.asnumpy().reshape(s))).asnumpy() for s in shapes]
    for _ in range(3):
        for s, y in zip(shapes, want):
            np.testing.assert_array_equal(conv(x, w.reshape(s)).asnumpy(), y)


def test_loops():
    """Kernels of a region or of a step of a sequence read memory that only the loop lends them."""
    w = Tensor(values(32, 32, 3, 3) / 32)

    def f(x, w, n):
        i = Tensor(0)
        while i < n:
            x = ops.conv2d(x, w, pad_mode="same")
            i = i + 1
        return x

    x, n = Tensor(X), Tensor(5)
    want = f(x, w, n).asnumpy()
    g = ms.jit(f)
    for k in range(3):
        np.testing.assert_array_equal(g(x, w, n).asnumpy(), want)
    w[...] = w * 2
    want = f(x, Tensor(w.asnumpy()), n).asnumpy()
    np.testing.assert_array_equal(g(x, w, n).asnumpy(), want)


def test_profile_and_figures_tell():
    net = Net()
    x = Tensor(X)
    before = ms.runtime.memory_allocated()
    net(x), net(x)
    assert ms.runtime.memory_allocated() - before >= _C.packed_bytes() > 0
    p = ms.profile(net, x)
    assert p.packed_bytes == p.to_dict()["packed_bytes"]
    # What the program that was profiled kept has gone with it.
    assert 0 < _C.packed_bytes() <= p.packed_bytes
    assert "packed weights" in str(p) and "packed weights" in p.to_html()
    ms.runtime.empty_cache()
    assert _C.packed_bytes() == 0


def test_parameters_that_change_their_shape():
    p = Parameter(Tensor(values(32, 32, 3, 3)))
    x = Tensor(X)
    conv(x, p), conv(x, p)
    p.set_data(Tensor(values(16, 32, 3, 3, seed=2)), slice_shape=True)
    want = conv(x, Tensor(p.asnumpy())).asnumpy()
    for _ in range(3):
        np.testing.assert_array_equal(conv(x, p).asnumpy(), want)


def test_a_checkpoint_leaves_what_is_kept(tmp_path):
    """Weights are read, and not handed out."""
    net = Net()
    x, want = Tensor(X), plain_result(net)
    for _ in range(3):
        net(x)
    kept = _C.packed_bytes()
    for format in ("ckpt", "safetensors"):
        ms.save_checkpoint(net, str(tmp_path / f"a.{format}"), format=format)
    assert _C.packed_bytes() == kept > 0
    np.testing.assert_array_equal(net(x).asnumpy(), want)
    assert _C.packed_bytes() == kept
