"""Run with a driver whose GPU is the host (fake_driver.cc): what a program sees of the device GPU, against the CPU."""

import numpy as np

import pijit as ms
from pijit import _C, nn, ops

rng = np.random.default_rng(5)


def data(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def on(device, *arrays):
    return [ms.Tensor(a, device=device) for a in arrays]


def both(f, *arrays, exact=True):
    """f on the CPU, on the GPU, and jitted there."""
    want = f(*on("CPU", *arrays))
    jitted = ms.jit(f)
    for got in (f(*on("GPU", *arrays)), jitted(*on("GPU", *arrays)), jitted(*on("GPU", *arrays))):
        assert got.device == "GPU", got.device
        assert got.dtype == want.dtype and got.shape == want.shape
        if exact:
            assert got.asnumpy().tobytes() == want.asnumpy().tobytes(), (f, got.asnumpy(), want.asnumpy())
        else:
            np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-6)


def test_transfers():
    a = data(3, 4)
    x = ms.Tensor(a)
    assert x.device == "CPU" and _C.devices() == ["CPU"]
    y = x.to("GPU")
    assert _C.devices() == ["CPU", "GPU"]
    assert y.device == "GPU" and y.to("GPU") is y and x.device == "CPU"
    assert (y.asnumpy() == a).all() and (np.asarray(y) == a).all() and (y.to("CPU").asnumpy() == a).all()
    assert float(y[1, 2]) == float(a[1, 2]) and bool((y == y).all())
    assert str(y) == str(x)


def test_ops():
    both(lambda x, y: (x * 2 + y) / (y * y + 1), data(5, 7), data(7))
    both(lambda x: ops.exp(x).sum(-1) + x.max(axis=1), data(6, 33))
    both(lambda x: x.sum(), data(3, 5000))
    both(lambda x: ops.softmax(x, -1), data(4, 9))
    both(lambda x: x.astype(ms.float16) * 3, data(8))
    both(lambda x: x.T.reshape(-1)[2:9], data(4, 5))
    both(lambda x, w: x @ w, data(6, 5), data(5, 3), exact=False)
    both(lambda x, w: x @ w, data(2, 3, 6, 5), data(2, 3, 5, 4), exact=False)
    both(lambda x, w: x @ w, data(6, 5), data(3, 5, 4), exact=False)
    both(lambda x, w: x @ w, data(2, 1, 6, 5), data(1, 3, 5, 4), exact=False)
    both(lambda x, w: x.T @ w.T, data(5, 6), data(3, 5), exact=False)
    both(lambda x, w: x.astype(ms.int32) @ w.astype(ms.int32), data(3, 4) * 9, data(4, 2) * 9)
    both(lambda x, w, b: ops.dense(x, w, b), data(3, 7, 4), data(6, 4), data(6), exact=False)
    both(lambda x, i: ops.gather(x, i.astype(ms.int64), 0), data(9, 2), np.float32([3, 0, 8]))


def test_branches():
    def f(x):
        if x.sum() > 0:
            return x * 2
        return x - 1
    both(f, np.float32([1, 2]))
    both(f, np.float32([-1, -2]))


def test_gradients_and_training():
    a, t = data(16, 4), data(16, 2)
    weights = {"0.weight": data(8, 4), "0.bias": data(8), "2.weight": data(2, 8), "2.bias": data(2)}

    def train(device, jitted):
        ms.set_context(device_target=device)
        net = nn.SequentialCell(nn.Dense(4, 8), nn.ReLU(), nn.Dense(8, 2))
        for name, p in net.parameters_dict().items():
            p.set_data(ms.Tensor(weights[name]))
        opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
        loss_fn = nn.MSELoss()
        grad = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, opt.parameters)

        def step(x, y):
            loss, grads = grad(x, y)
            opt(grads)
            return loss
        if jitted:
            step = ms.jit(step)
        losses = [step(ms.Tensor(a), ms.Tensor(t)) for _ in range(3)]
        assert all(v.device == device for v in losses)
        ms.set_context(device_target="CPU")
        return [float(v) for v in losses]
    want = train("CPU", False)
    assert want[-1] < want[0]
    np.testing.assert_allclose(train("GPU", False), want, rtol=1e-5)
    np.testing.assert_allclose(train("GPU", True), want, rtol=1e-5)


def test_gradients_through_a_move():
    def f(x):
        return (x.to("GPU") * 3).to("CPU").sum()
    g = ms.grad(f)(ms.Tensor([1.0, 2.0]))
    assert g.device == "CPU" and g.asnumpy().tolist() == [3, 3]


def test_one_function_on_both_devices():
    f = ms.jit(lambda x: x * 2 + 1)
    a = data(4)
    assert f(ms.Tensor(a)).device == "CPU"
    assert f(ms.Tensor(a).to("GPU")).device == "GPU"
    assert f(ms.Tensor(a)).device == "CPU"


def test_random_numbers_are_the_same():
    def draw(device):
        ms.set_context(device_target=device)
        ms.set_seed(3)
        r = ops.standard_normal((5,))
        ms.set_context(device_target="CPU")
        return r
    c, g = draw("CPU"), draw("GPU")
    assert g.device == "GPU" and (c.asnumpy() == g.asnumpy()).all()


def test_errors():
    x, y = ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, 2.0]).to("GPU")
    for f in (lambda: x + y, lambda: ms.jit(lambda a, b: a + b)(x, y)):
        try:
            f()
            raise AssertionError("devices were mixed")
        except RuntimeError as e:
            assert "CPU and GPU" in str(e), e
    try:
        ms.Tensor(np.zeros(1 << 26, np.float32), device="GPU")
        raise AssertionError("no end of memory")
    except RuntimeError as e:
        assert "[GPU] out of memory" in str(e) and "268435456 bytes" in str(e), e
    assert (y + 1).asnumpy().tolist() == [2, 3]


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        print(name)
