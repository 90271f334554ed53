"""What a Cell keeps: buffers, its state as a dict, hooks, flags, scopes; collective functions that fill tensors; small
names of MindSpore."""

import collections
import itertools

import numpy as np
import pytest

import pijit as ms
from pijit import nn, ops
from pijit.scipy import optimize
from tests.python.differential import check

T = ms.Tensor


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc, self.bn, self.seq = nn.Dense(3, 4), nn.BatchNorm1d(4), nn.SequentialCell(nn.ReLU(), nn.Dense(4, 2))
        self.register_buffer("scale", T([1.0, 2.0]))
        self.register_buffer("cache", T([3.0]), persistent=False)
        self.register_buffer("nothing", None)

    def construct(self, x):
        return self.seq(self.bn(self.fc(x))) * self.scale


def test_buffers():
    net = Net()
    assert [n for n, _ in net.named_buffers()] == ["scale", "cache"] and len(list(net.buffers())) == 2
    assert (net.get_buffer("scale") is net.scale and net.get_sub_cell("seq.1") is net.seq[1]
            and net.get_sub_cell("") is net)
    assert "scale" not in [p.name for p in net.get_parameters()]
    for name, value, error in (("a.b", T([1.0]), KeyError), ("", T([1.0]), KeyError), ("fc", T([1.0]), KeyError),
                               (3, T([1.0]), TypeError), ("q", 3, TypeError)):
        with pytest.raises(error):
            net.register_buffer(name, value)
    with pytest.raises(TypeError):
        net.scale = 3
    for target in ("nope", "fc.weight"):
        with pytest.raises(AttributeError):
            net.get_buffer(target)
    net.scale = T([5.0, 6.0])
    assert net.get_buffer("scale").asnumpy().tolist() == [5, 6]
    del net.cache
    assert [n for n, _ in net.named_buffers()] == ["scale"] and not hasattr(net, "cache")
    check(lambda: lambda x: net(x), T(np.ones((2, 3), np.float32)), breaks=0)


def test_state_dict():
    net, other = Net(), Net()
    state = net.state_dict()
    assert type(state) is collections.OrderedDict and sorted(state) == sorted(
        ["scale", "fc.weight", "fc.bias", "bn.moving_mean", "bn.moving_variance", "bn.gamma", "bn.beta", "seq.1.weight",
         "seq.1.bias"])
    assert state["fc.weight"] is net.fc.weight and list(net.state_dict(prefix="p."))[0].startswith("p.")
    keys = other.load_state_dict(state)
    assert repr(keys) == "<All keys matched successfully>" and keys.missing_keys == []
    np.testing.assert_array_equal(other.fc.weight.asnumpy(), net.fc.weight.asnumpy())
    part = dict(state)
    del part["fc.weight"]
    part["zzz"] = T([1.0])
    with pytest.raises(RuntimeError, match="Missing key.*fc.weight"):
        other.load_state_dict(part)
    assert other.load_state_dict(part, strict=False) == (["fc.weight"], ["zzz"])
    with pytest.raises(RuntimeError, match="size mismatch for fc.weight"):
        other.load_state_dict({**state, "fc.weight": T(np.ones((2, 2), np.float32))})
    with pytest.raises(TypeError):
        other.load_state_dict(3)


def test_hooks_of_the_state():
    net, seen = Net(), []
    handles = [net.register_state_dict_pre_hook(lambda *a: seen.append(("before", len(a)))),
               net.register_state_dict_post_hook(lambda *a: seen.append(("after", len(a)))),
               net.register_load_state_dict_pre_hook(lambda *a: seen.append(("load", len(a)))),
               net.register_load_state_dict_post_hook(lambda cell, keys: keys.unexpected_keys.clear())]
    net.load_state_dict({**net.state_dict(), "more": T([1.0])})
    assert seen == [("before", 3), ("after", 4), ("load", 8)]
    for h in handles:
        h.remove()
    net.state_dict()
    assert len(seen) == 3


def test_extra_state():
    class Counting(nn.Cell):
        def __init__(self):
            super().__init__()
            self.count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]
    a, b = Counting(), Counting()
    a.count = 7
    b.load_state_dict(a.state_dict())
    assert b.count == 7
    with pytest.raises(RuntimeError):
        Net().get_extra_state()


def test_flags_and_scopes():
    net = Net()
    assert net.add_flags(a=1) is net and net.get_flags() == {"a": 1} and net.a == 1
    net.add_flags_recursive(b=2)
    assert net.fc.get_flags() == {"b": 2}
    net.generate_scope()
    net.update_cell_prefix()
    assert (net.get_scope() is None and net.seq[1].get_scope() == "Default/seq-SequentialCell/1-Dense"
            and net.fc.param_prefix == "fc")
    net.set_inputs(T(shape=[None, 3], dtype=ms.float32))
    assert net.get_inputs()[0].dtype == ms.float32
    assert net.phase == "train" and net.set_train(False).phase == "predict" and net.set_train().phase == "train"
    net.pipeline_stage = 1
    assert net.pipeline_stage == 1 and len(net.parameters_broadcast_dict()) == 8
    with pytest.raises(TypeError):
        net.set_comm_fusion("a")
    net.set_comm_fusion(3)
    assert net.fc.weight.comm_fusion == 3 and net.set_boost("less_bn") is net
    assert [x.dtype for x in net.cast_inputs((T([1.0]), T([1])), ms.float16)] == [ms.float16, ms.int64]


def test_no_init_parameters():
    with nn.no_init_parameters():
        assert nn.Dense(2, 2).weight.asnumpy().tolist() == [[0, 0], [0, 0]]
    assert nn.Dense(2, 2).weight.asnumpy().any()


def test_collective_functions():
    ms.communication.init()
    try:
        x, out = T([1.0, 2.0]), T([0.0, 0.0])
        assert (ops.all_reduce(x) is None and x.asnumpy().tolist() == [1, 2] and ops.get_world_size() == 1
                and ops.get_rank() == 0)
        ops.all_gather_into_tensor(out, x)
        assert out.asnumpy().tolist() == [1, 2]
        ops.all_to_all([out], [x * 2])
        ops.reduce_scatter_tensor(x, out, async_op=True).wait()
        assert x.asnumpy().tolist() == [2, 4]
        objects = [None]
        ops.all_gather_object(objects, {"a": 1})
        assert objects == [{"a": 1}]
        with pytest.raises(ValueError):
            ops.all_gather([out, out], x)
        with pytest.raises(RuntimeError):
            ops.broadcast(x, 1)
        store = ops.TCPStore()
        store.set("k", "v")
        assert store.get("k") == b"v" and store.add("n", 2) == 2 and store.num_keys() == 2 and store.delete_key("k")
    finally:
        ms.communication.release()


def test_parts_of_batch_normalisation():
    x = T(np.random.RandomState(0).randn(8, 3, 2).astype(np.float32))
    halves = [ms.mint.batch_norm_stats(x[k:k + 4], 1e-5) for k in (0, 4)]
    m, s = (ops.stack([h[k] for h in halves]) for k in (0, 1))
    mean, invstd = ms.mint.batch_norm_gather_stats_with_counts(x, m, s, eps=1e-5, counts=T([8.0, 8.0]))
    a = x.asnumpy()
    np.testing.assert_allclose(mean.asnumpy(), a.mean((0, 2)), atol=1e-6)
    np.testing.assert_allclose(invstd.asnumpy(), 1 / np.sqrt(a.var((0, 2)) + 1e-5), rtol=1e-4)
    y = ms.mint.batch_norm_elemt(x, None, None, mean, invstd)
    np.testing.assert_allclose(y.asnumpy(),
                               (a - a.mean((0, 2), keepdims=True)) / np.sqrt(a.var((0, 2), keepdims=True) + 1e-5),
                               atol=1e-5)


@pytest.mark.parametrize("shape, maximize", [((4, 4), False), ((3, 5), True), ((5, 3), False), ((1, 3), True)])
def test_assignment(shape, maximize):
    a = np.random.RandomState(0).rand(*shape)
    rows, columns = (t.asnumpy() for t in optimize.linear_sum_assignment(T(a), maximize))
    wide = a if shape[0] <= shape[1] else a.T
    sums = [sum(wide[i, p[i]] for i in range(len(wide)))
            for p in itertools.permutations(range(wide.shape[1]), len(wide))]
    assert abs(a[rows, columns].sum() - (max if maximize else min)(sums)) < 1e-9 and list(rows) == sorted(rows)


def test_minimize():
    def f(x):
        return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    r = optimize.minimize(f, T([0.0, 0.0]), method="BFGS", options={"maxiter": 200, "gtol": 1e-4})
    assert r.success
    np.testing.assert_allclose(r.x.asnumpy(), [1, 1], atol=1e-3)
    with pytest.raises(ValueError):
        optimize.minimize(f, T([0.0, 0.0]), method="CG")


def test_small_names():
    assert (ms.get_current_device() == ("CPU", 0) and repr(ms.int_) == "mindspore.int"
            and ms.QuantDtype.UINT4.value == 103)
    ms.set_recursion_limit(500)
    ms.ms_memory_recycle()
    with pytest.raises(ValueError):
        ms.set_recursion_limit(0)
    f = ms.enable_dynamic(x=T(shape=[None], dtype=ms.float32))(ms.jit(lambda x: x + 1))
    assert f(T([1.0])).item() == 2
    p = ops.Add()
    p.set_user_data("k", 3)
    assert p.get_user_data("k") == 3 and p.add_attr("z", 1).attrs == {"z": 1}
    opt = ms.mint.optim.SGD(nn.Dense(2, 2).trainable_params(), lr=0.1)
    assert opt.param_groups[0]["lr"] is not None
    opt = nn.Adam(nn.Dense(2, 2).trainable_params(), weight_decay=0.1)
    assert opt.exec_weight_decay and opt.decay_flags == (True, True) and opt.weight_decay == 0.1
    assert opt.hyper_map(ops.add, (T([1.0]),), (T([2.0]),))[0].item() == 3
    assert nn.LossBase("sum").reduce and not nn.LossBase("sum").average and nn.LossBase().get_axis(T([[1.0]])) == (0, 1)
    conv = nn.Conv1d(2, 3, 3, padding=2, pad_mode="pad")
    assert (conv.kernel_size == (1, 3) and conv.padding == (0, 0, 2, 2)
            and conv(T(np.ones((1, 2, 5), np.float32))).shape == (1, 3, 7))
    x = T(np.random.RandomState(0).rand(1, 3, 64, 64).astype(np.float32))
    np.testing.assert_allclose(nn.SSIM()(x, x).asnumpy(), [1], atol=1e-6)
    np.testing.assert_allclose(nn.MSSSIM(power_factors=(0.3, 0.3, 0.3))(x, x).asnumpy(), [1], atol=1e-6)
    loss = nn.SampledSoftmaxLoss(num_sampled=4, num_classes=7, reduction="mean")
    w = T(np.random.RandomState(1).randn(7, 5).astype(np.float32))
    assert loss(w, T(np.zeros(7, np.float32)), T([[1], [3]], ms.int32), w[:2]).shape == ()


def test_the_loss_of_all_samples_is_the_softmax_loss():
    r = np.random.RandomState(0)
    w, b, x = (T(r.randn(*s).astype(np.float32)) for s in ((4, 5), (4,), (3, 5)))
    labels = T([[1], [3], [0]], ms.int32)
    drawn = (T([0, 1, 2, 3], ms.int64), ops.ones((3, 1), ms.float32), ops.ones((4,), ms.float32))
    got = nn.SampledSoftmaxLoss(4, 4, 1, drawn)(w, b, labels, x)
    want = ops.cross_entropy(ops.dense(x, w, b), labels.squeeze(1), reduction="none")
    np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-5)
