"""float16 and bfloat16: products, convolutions and pooling are summed in float32 and rounded once."""

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, nn, ops

from tests.python.differential import check

HALVES = {"float16": (ms.float16, 2.0**-10), "bfloat16": (ms.bfloat16, 2.0**-7)}  # spacing of numbers at 1


def _random(shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


CASES = {
    "matmul": (lambda a, b: ops.matmul(a, b), (37, 50), (50, 21)),
    "batch_matmul": (lambda a, b: ops.matmul(a, b), (3, 1, 5, 6), (4, 6, 7)),
    "outer": (lambda a, b: ops.matmul(a, b), (9, 1), (1, 5)),
    "nothing": (lambda a, b: ops.matmul(a, b), (4, 0), (0, 5)),
    "dense": (lambda x, w, b: ops.dense(x, w, b), (6, 4, 33), (17, 33), (17,)),
    "conv2d": (lambda x, w: ops.conv2d(x, w, None, 1, "pad", 1), (2, 16, 9, 9), (32, 16, 3, 3)),
    "conv2d_bias": (lambda x, w, b: ops.conv2d(x, w, b, 2), (2, 3, 9, 9), (5, 3, 3, 3), (5,)),
    "conv2d_groups": (lambda x, w: ops.conv2d(x, w, groups=2), (2, 6, 8, 8), (4, 3, 2, 2)),
    "max_pool2d": (lambda x: ops.max_pool2d(x, 2, 2), (2, 3, 9, 8)),
    "max_pool2d_wide": (lambda x: ops.max_pool2d(x, 3, 1, 1), (2, 3, 9, 8)),
    "softmax": (lambda x: ops.softmax(x, -1), (30, 200)),
    "softmax_first": (lambda x: ops.softmax(x, 0), (30, 20)),
    "log_softmax": (lambda x: ops.log_softmax(x, -1), (6, 4, 50)),
    "layer_norm": (lambda x, g, b: ops.layer_norm(x, (50,), g, b), (100, 50), (50,), (50,)),
    "layer_norm_alone": (lambda x: ops.layer_norm(x, (50,)), (100, 50)),
    "layer_norm_small": (lambda x: ops.layer_norm(x, (3, 5)), (7, 3, 5)),
    "avg_pool2d": (lambda x: ops.avg_pool2d(x, 2, 2), (2, 3, 9, 8)),
    "avg_pool2d_pad": (lambda x: ops.avg_pool2d(x, 3, 2, 1, count_include_pad=False), (2, 16, 9, 8)),
}


def _near(got, want, spacing):
    """Of sums: rounded once, so within one spacing of the float32 result, where that is not tiny."""
    got, want = got.astype(np.float64), want.astype(np.float64)
    scale = np.maximum(np.abs(want), 1)
    assert got.shape == want.shape and np.all(np.abs(got - want) <= spacing * scale), np.abs(got - want).max()


@pytest.mark.parametrize("half", HALVES)
@pytest.mark.parametrize("name", CASES)
def test_as_in_float32(name, half):
    fn, *shapes = CASES[name]
    dtype, spacing = HALVES[half]
    narrow = [Tensor(_random(s, k)).astype(dtype) for k, s in enumerate(shapes)]
    wide = [x.astype(ms.float32) for x in narrow]
    y = fn(*narrow)
    assert y.dtype is dtype
    _near(y.astype(ms.float32).asnumpy(), fn(*wide).asnumpy(), spacing)
    places = tuple(range(len(shapes)))

    def gradients(*xs):
        return ms.grad(lambda *a: (fn(*a).astype(ms.float32) * 0.5).sum(), places)(*xs)
    for g, w in zip(gradients(*narrow), gradients(*wide)):
        assert g.dtype is dtype
        _near(g.astype(ms.float32).asnumpy(), w.asnumpy(), 2 * spacing)
    check(lambda: fn, *narrow, graphs=1, breaks=0)
    check(lambda: gradients, *narrow, graphs=1, breaks=0)


@pytest.mark.parametrize("half", HALVES)
def test_maxima_keep_nan(half):
    x = np.arange(64, dtype=np.float32).reshape(1, 1, 8, 8)
    x[0, 0, 0, 0] = x[0, 0, 5, 6] = np.nan
    y = ops.max_pool2d(Tensor(x).astype(HALVES[half][0]), 2, 2).astype(ms.float32).asnumpy()[0, 0]
    assert np.isnan(y[0, 0]) and np.isnan(y[2, 3]) and np.isnan(y).sum() == 2 and y[0, 1] == 11


@pytest.mark.parametrize("half", HALVES)
def test_training_step(half):
    dtype = HALVES[half][0]

    def make():
        net = nn.SequentialCell(nn.Conv2d(3, 16, 3, dtype=dtype), nn.ReLU(), nn.MaxPool2d(2, 2),
                                nn.Conv2d(16, 16, 3, dtype=dtype), nn.ReLU(),
                                nn.AvgPool2d(4, 4), nn.Flatten(), nn.Dense(16, 10, dtype=dtype))
        for k, p in enumerate(net.trainable_params()):
            p.set_data((Tensor(_random(p.shape, k)) * 0.1).astype(dtype))
        opt = nn.Momentum(net.trainable_params(), 0.05, 0.9)
        grad = ms.value_and_grad(lambda x, y: ops.cross_entropy(net(x).astype(ms.float32), y), None, opt.parameters)

        def step(x, y):
            loss, grads = grad(x, y)
            opt(grads)
            return loss
        return step, lambda: [p.astype(ms.float32).asnumpy().tobytes() for p in net.get_parameters()]
    x, y = Tensor(_random((4, 3, 8, 8))).astype(dtype), Tensor(np.arange(4, dtype=np.int32))
    check(make, x, y, graphs=1, breaks=0, calls=4)


def test_no_products_of_bools():
    a = Tensor(np.ones((3, 3), bool))
    with pytest.raises(TypeError, match="expected numbers"):
        ops.matmul(a, a)
