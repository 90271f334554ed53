"""Weights of which only a form in a kernel's layout is kept: whoever asks for one finds what it held."""

import copy
import gc
import pickle
import threading

import numpy as np
import pytest

import pijit as ms
from pijit import Parameter, Tensor, _C, nn, ops
from pijit.runtime import memory_allocated
import test_packed
from test_packed import WAYS, expect_one_or_the_other, plain_result, training_step, values

nothing_kept = test_packed.nothing_kept
pytestmark = pytest.mark.skipif(_C.get_option("backend") == "reference", reason="no kernel has a layout of its own")

X = values(1, 64, 12, 12, seed=5)


def expect_given_back(f, *args):
    """Runs a captured function until its weights are packed: most of them are not kept beside their forms."""
    f(*args)
    before = memory_allocated()
    for _ in range(3):
        f(*args)
    packed = _C.packed_bytes()
    assert packed > 1 << 20
    assert before + packed - memory_allocated() > 0.6 * packed


class Net(nn.Cell):
    """Each weight is packed by another kernel and is large enough to be given back."""

    example = X

    def __init__(self, seed=0):
        super().__init__()
        def conv(i, o, k=3, **kw):
            return nn.Conv2d(i, o, k, pad_mode="pad", padding=k // 2, has_bias=True, **kw)
        self.body = nn.SequentialCell([conv(64, 64), nn.ReLU(), conv(64, 128, 5), conv(128, 300, 1), conv(300, 256, 1),
                                       conv(256, 64, group=4)])
        self.head = nn.SequentialCell([nn.Dense(64, 512), nn.ReLU(), nn.Dense(512, 200)])
        for k, p in enumerate(self.get_parameters()):
            p.set_data(Tensor(values(*p.shape, seed=10 * seed + k)))

    def construct(self, x):
        y = self.body(x)[0, :, :5, :10].reshape(64, 50)
        return self.head(y.T / 64).mean(0)


def large(net):
    return [p for p in net.get_parameters() if p.ndim > 1 and p.nbytes >= 64 << 10]


def contents(net):
    return {p.name: p.asnumpy() for p in net.get_parameters()}


def made(seed=0):
    """A network whose weights are away, the captured function, and what its parameters are."""
    net = Net(seed)
    parts = contents(net)
    f = ms.jit(net)
    expect_given_back(f, Tensor(X))
    return net, f, parts


def test_memory_is_given_back_and_results_stay():
    net = Net()
    want = plain_result(net, X)
    f = ms.jit(net)
    expect_given_back(f, Tensor(X))
    for _ in range(3):
        np.testing.assert_array_equal(f(Tensor(X)).asnumpy(), want)
    np.testing.assert_array_equal(net(Tensor(X)).asnumpy(), want)


def test_memory_goes_with_the_network():
    before = memory_allocated()
    for _ in range(3):
        net, f, _ = made()
        del net, f
        gc.collect()
    assert abs(memory_allocated() - before) < 1 << 20
    assert _C.packed_bytes() == 0


def through_buffer(p):
    return np.array(memoryview(p)).reshape(p.shape)


def through_view(p):
    return np.concatenate([p[0:1].asnumpy(), p[1:].asnumpy()])


def by_another_thread(p):
    found = []
    t = threading.Thread(target=lambda: found.append(p.asnumpy()))
    t.start()
    t.join()
    return found[0]


READERS = {
    "asnumpy": lambda p: p.asnumpy(), "numpy": lambda p: np.asarray(p), "buffer": through_buffer, "view": through_view,
    "dlpack": lambda p: np.from_dlpack(p).copy(), "eager": lambda p: (p + 0).asnumpy(),
    "list": lambda p: np.array(p.tolist(), np.float32), "reshape": lambda p: p.reshape(-1).asnumpy().reshape(p.shape),
    "transpose": lambda p: p.swapaxes(0, 1).asnumpy().swapaxes(0, 1),
    "deepcopy": lambda p: copy.deepcopy(p).asnumpy(), "pickle": lambda p: pickle.loads(pickle.dumps(p)).asnumpy(),
    "clone": lambda p: p.clone().asnumpy(), "jit": lambda p: ms.jit(lambda x: x * 1)(p).asnumpy(),
    "thread": by_another_thread, "value": lambda p: p.value().asnumpy(),
}


@pytest.mark.parametrize("reader", READERS)
def test_readers_find_what_it_held(reader):
    net, f, parts = made()
    want = f(Tensor(X)).asnumpy()
    for p in large(net):
        np.testing.assert_array_equal(READERS[reader](p), parts[p.name])
        np.testing.assert_array_equal(f(Tensor(X)).asnumpy(), want)
    for p in net.get_parameters():
        np.testing.assert_array_equal(p.asnumpy(), parts[p.name])


@pytest.mark.parametrize("way", WAYS)
def test_what_is_written_is_not_used_any_more(way):
    net, f, _ = made()
    for _ in range(2):
        WAYS[way](net)
        want = plain_result(net, X)
        for _ in range(4):
            np.testing.assert_array_equal(f(Tensor(X)).asnumpy(), want)
            np.testing.assert_array_equal(net(Tensor(X)).asnumpy(), want)
    WAYS["set_data"](net)  # a captured store holds its parameters for ever


def test_checkpoints(tmp_path):
    net, f, parts = made()
    for format in ("ckpt", "safetensors"):
        path = str(tmp_path / f"a.{format}")
        ms.save_checkpoint(net, path, format=format)
        other, g, _ = made(seed=3)
        ms.load_param_into_net(other, ms.load_checkpoint(path, format=format))
        for name, x in contents(other).items():
            np.testing.assert_array_equal(x, parts[name])
        for _ in range(3):
            np.testing.assert_array_equal(g(Tensor(X)).asnumpy(), f(Tensor(X)).asnumpy())


@pytest.mark.parametrize("jitted", [False, True])
def test_training_goes_on_from_what_it_held(jitted):
    def trained(infer):
        net = Net()
        step = training_step(net, lambda p: nn.Momentum(p, 2.0**-20, 0.5), jitted)
        f = ms.jit(net)
        for _ in range(3):
            for _ in range(4 if infer else 0):
                f(Tensor(X))
            step(Tensor(X))
        return contents(net)

    want = trained(False)
    for name, x in trained(True).items():
        np.testing.assert_array_equal(x, want[name])


def test_updates_that_raise_half_way():
    net, f, _ = made()

    def update(limit):
        for k, p in enumerate(large(net)):
            if k == limit:
                raise KeyError(k)
            p[...] = p * 1.5
            p[0, 0] = 2.0

    for limit in (1, 3):
        with pytest.raises(KeyError):
            update(limit)
        want = plain_result(net, X)
        for _ in range(3):
            np.testing.assert_array_equal(f(Tensor(X)).asnumpy(), want)


def test_special_values_keep_their_bits():
    bits = np.random.RandomState(0).randint(0, 2**32, (64, 64, 3, 3), np.uint64).astype(np.uint32)
    bits[0, 0, 0] = 0x80000000, 0x7F800001, 1  # -0, a NaN that signals, a denormal number
    p = Parameter(Tensor(bits.view(np.float32)))
    q = Parameter(Tensor(bits.view(np.float32).reshape(192, 192)))
    for f in (lambda x: ops.conv2d(x, p, pad_mode="same"), lambda x: ops.matmul(x.reshape(48, 192), q.T)):
        for _ in range(4):
            ms.jit(f)(Tensor(X))
    np.testing.assert_array_equal(p.asnumpy().view(np.uint32), bits)
    np.testing.assert_array_equal(q.asnumpy().view(np.uint32).ravel(), bits.ravel())


def test_what_others_hold_stays():
    """Its memory is read by those who got hold of it, though no Tensor is asked."""
    net = Net()
    p = large(net)[0]
    f = ms.jit(net)
    f(Tensor(X))
    outside, view, array = memoryview(p), p[1], np.from_dlpack(large(net)[1])
    parts = np.array(outside), view.asnumpy(), array.copy()
    for _ in range(4):
        f(Tensor(X))
    np.testing.assert_array_equal(np.array(outside), parts[0])
    np.testing.assert_array_equal(view.asnumpy(), parts[1])
    np.testing.assert_array_equal(array, parts[2])


def test_a_weight_with_two_uses():
    """A step that packs it, and one that reads it as it is."""
    w = Parameter(Tensor(values(256, 256, seed=1)))

    @ms.jit
    def tied(i, x):
        return ops.matmul(x + ops.gather(w, i, 0), w.T)

    i, x = Tensor([3], ms.int32), Tensor(values(1, 256, seed=2))
    want = (x + w[3:4]).asnumpy() @ w.asnumpy().T
    for _ in range(5):
        np.testing.assert_array_equal(tied(i, x).asnumpy(), want)
    np.testing.assert_array_equal(w.asnumpy(), values(256, 256, seed=1))


def test_one_weight_as_two_arguments():
    w = Tensor(values(64, 64, 3, 3, seed=1))
    f = ms.jit(lambda x, v, w: (ops.conv2d(x, v, pad_mode="same"), w * 2, w.sum()))
    first = [y.asnumpy() for y in f(Tensor(X), w, Tensor(w.asnumpy()))]
    for _ in range(5):
        for y, z in zip(f(Tensor(X), w, w), first):
            np.testing.assert_array_equal(y.asnumpy(), z)


def test_two_functions_of_one_weight():
    net, f, parts = made()
    g = ms.jit(lambda x: net(x) * 2)
    big = values(3, 64, 30, 30, seed=6)
    want, more = plain_result(net, X), plain_result(net, big)
    for _ in range(4):
        np.testing.assert_array_equal(f(Tensor(X)).asnumpy(), want)
        np.testing.assert_array_equal(g(Tensor(X)).asnumpy(), want * 2)
        np.testing.assert_array_equal(f(Tensor(big)).asnumpy(), more)
    for name, x in contents(net).items():
        np.testing.assert_array_equal(x, parts[name])


def test_empty_cache_leaves_them():
    net, f, parts = made()
    want = f(Tensor(X)).asnumpy()
    for _ in range(3):
        _C.empty_cache()
        np.testing.assert_array_equal(f(Tensor(X)).asnumpy(), want)
    for name, x in contents(net).items():
        np.testing.assert_array_equal(x, parts[name])


def test_threads_see_one_or_the_other():
    net = Net()
    f = ms.jit(net)
    expect_one_or_the_other(net, large(net)[0], X, (f, f, net), lambda k: 3)


def test_readers_among_threads_that_infer():
    net, f, parts = made()
    want = f(Tensor(X)).asnumpy()
    wrong, stop = [], threading.Event()

    def infer():
        while not stop.is_set():
            if not np.array_equal(f(Tensor(X)).asnumpy(), want):
                wrong.append("result")

    def read():
        while not stop.is_set():
            for p in large(net):
                if not np.array_equal(p.asnumpy(), parts[p.name]):
                    wrong.append(p.name)

    threads = [threading.Thread(target=t) for t in (infer, infer, read, read)]
    for t in threads:
        t.start()
    for k in range(100):  # written with what it holds: away again after some calls
        p = large(net)[k % 4]
        p.set_data(Tensor(parts[p.name]))
        f(Tensor(X)), f(Tensor(X))
    stop.set()
    for t in threads:
        t.join()
    assert not wrong
