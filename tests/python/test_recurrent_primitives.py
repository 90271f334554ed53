"""DynamicRNN and DynamicGRUV2, against their formulas and the layers."""

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, nn, ops
from tests.python.differential import check

STEPS, BATCH, SIZE, HIDDEN = 5, 3, 4, 2


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def numbers(*shape, seed=0, scale=1.0):
    return (np.random.RandomState(seed).randn(*shape) * scale).astype(np.float32)


X, W, B = numbers(STEPS, BATCH, SIZE), numbers(SIZE + HIDDEN, 4 * HIDDEN, seed=1), numbers(4 * HIDDEN, seed=2)
H, C = numbers(1, BATCH, HIDDEN, seed=3), numbers(1, BATCH, HIDDEN, seed=4)
WI, WH = numbers(SIZE, 3 * HIDDEN, seed=5), numbers(HIDDEN, 3 * HIDDEN, seed=6)
BI, BH = numbers(3 * HIDDEN, seed=7), numbers(3 * HIDDEN, seed=8)


def lstm(forget_bias=0.0, clip=None):
    h, c, rows = H[0], C[0], []
    for x in X:
        i, j, f, o = np.split(np.concatenate([x, h], -1) @ W + B, 4, -1)
        i, j, f, o = sigmoid(i), np.tanh(j), sigmoid(f + forget_bias), sigmoid(o)
        c = f * c + i * j
        c = c if clip is None else np.clip(c, -clip, clip)
        h = o * np.tanh(c)
        rows.append((h, h, c, i, j, f, o, np.tanh(c)))
    return [np.stack(r) for r in zip(*rows)]


def gru(order="rzh", after=True, bi=BI, bh=BH):
    h, rows, at = H[0], [], {g: slice(k * HIDDEN, (k + 1) * HIDDEN) for k, g in enumerate(order)}
    for x in X:
        a, b = x @ WI + bi, h @ WH + bh
        r, z = sigmoid(a[:, at["r"]] + b[:, at["r"]]), sigmoid(a[:, at["z"]] + b[:, at["z"]])
        state = b[:, at["h"]] if after else ((r * h) @ WH + bh)[:, at["h"]]
        n = np.tanh(a[:, at["h"]] + (r * state if after else state))
        h = (1 - z) * n + z * h
        rows.append((h, h, z, r, n, state))
    return [np.stack(r) for r in zip(*rows)]


def given(arrays, dtype=ms.float32):
    return [None if a is None else Tensor(a, dtype) for a in arrays]


def close(found, wanted, tolerance=1e-5):
    assert len(found) == len(wanted)
    for k, (a, b) in enumerate(zip(found, wanted)):
        assert np.allclose(a.asnumpy(), b, atol=tolerance), k


@pytest.mark.parametrize(
    "attributes,wanted", [({}, {}), ({"forget_bias": 1.0}, {"forget_bias": 1.0}), ({"cell_clip": 0.3}, {"clip": 0.3})]
)
def test_lstm(attributes, wanted):
    run = ops.DynamicRNN(**attributes)
    close(run(*given((X, W, B, None, H, C))), lstm(**wanted))
    f = ms.jit(lambda *i: run(*i[:3], None, *i[3:]))
    close(f(*given((X, W, B, H, C))), lstm(**wanted))
    assert not ms.explain(f).breaks


@pytest.mark.parametrize("order", ["rzh", "zrh"])
@pytest.mark.parametrize("after", [True, False])
@pytest.mark.parametrize("biases", [(BI, BH), (None, BH), (BI, None), (None, None)])
def test_gru(order, after, biases):
    wanted = gru(order, after, *(0 if b is None else b for b in biases))
    run = ops.DynamicGRUV2(gate_order=order, reset_after=after)
    close(run(*given((X, WI, WH, *biases, None, H[0]))), wanted)


def test_dtypes():
    y, h, c, *gates = ops.DynamicRNN()(*given((X, W), ms.float16), Tensor(B), None, *given((H, C), ms.float16))
    assert h.dtype == ms.float16 and {t.dtype for t in (y, c, *gates)} == {ms.float32}
    close((y, h, c, *gates), lstm(), 1e-2)
    half = given((X, WI, WH), ms.float16)
    for biases, dtype in (((None, None), ms.float32), ((BI, None), ms.float16), ((None, BH), ms.float16)):
        found = ops.DynamicGRUV2()(*half, *given(biases, ms.float16), None, Tensor(H[0]))
        assert {t.dtype for t in found} == {dtype}


def test_as_the_layers():
    """nn.LSTM keeps its gates as input, forget, new, output; nn.GRU as reset, update, new."""
    x, h, c = Tensor(X), Tensor(H), Tensor(C)
    layer = nn.LSTM(SIZE, HIDDEN)
    w = np.concatenate([layer.weight_ih_l0.asnumpy(), layer.weight_hh_l0.asnumpy()], 1).T
    b = layer.bias_ih_l0.asnumpy() + layer.bias_hh_l0.asnumpy()
    order = np.concatenate([np.arange(k * HIDDEN, (k + 1) * HIDDEN) for k in (0, 2, 1, 3)])
    out = ops.DynamicRNN()(x, Tensor(w[:, order]), Tensor(b[order]), None, h, c)
    y, (last_h, last_c) = layer(x, (h, c))
    close((out[0], out[1][-1:], out[2][-1:]), [t.asnumpy() for t in (y, last_h, last_c)])
    layer = nn.GRU(SIZE, HIDDEN)
    weights = [
        Tensor(getattr(layer, n).asnumpy().T) for n in ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
    ]
    out = ops.DynamicGRUV2()(x, *weights, None, h[0])
    y, last = layer(x, h)
    close((out[0], out[1][-1:]), [y.asnumpy(), last.asnumpy()])


@pytest.mark.parametrize("jitted", [False, True])
def test_gradients(jitted):
    def loss(x, w, b, h, c):
        y, _, cells, *_ = ops.DynamicRNN()(x, w, b, None, h, c)
        return (y * y).sum() + cells.sum()

    arrays = [X, W, B, H, C]
    grad = ms.grad(loss, (0, 1, 2, 3, 4))
    found = (ms.jit(grad) if jitted else grad)(*given(arrays))
    for k, g in enumerate(found):
        at = tuple(s - 1 for s in arrays[k].shape)
        up, down = [[a.copy() for a in arrays] for _ in range(2)]
        up[k][at] += 1e-2
        down[k][at] -= 1e-2
        slope = (float(loss(*given(up))) - float(loss(*given(down)))) / 2e-2
        assert abs(float(g[at]) - slope) < 2e-2 * max(1, abs(slope)), k

    def second(x, wi, wh, bi, bh, h):
        return (ops.DynamicGRUV2()(x, wi, wh, bi, bh, None, h)[0] ** 2).sum()

    arrays = [X, WI, WH, BI, BH, H[0]]
    grad = ms.grad(second, tuple(range(6)))
    found = (ms.jit(grad) if jitted else grad)(*given(arrays))
    for k, g in enumerate(found):
        at = tuple(0 for _ in arrays[k].shape)
        up, down = [[a.copy() for a in arrays] for _ in range(2)]
        up[k][at] += 1e-2
        down[k][at] -= 1e-2
        slope = (float(second(*given(up))) - float(second(*given(down)))) / 2e-2
        assert abs(float(g[at]) - slope) < 2e-2 * max(1, abs(slope)), k


ALL = (X, W, B, None, H, C)


@pytest.mark.parametrize(
    "error,make",
    [
        (ValueError, lambda: ops.DynamicRNN(cell_type="GRU")),
        (ValueError, lambda: ops.DynamicRNN(direction="BIDIRECTIONAL")),
        (ValueError, lambda: ops.DynamicRNN(activation="relu")),
        (ValueError, lambda: ops.DynamicRNN(time_major=False)),
        (ValueError, lambda: ops.DynamicGRUV2(gate_order="hzr")),
        (TypeError, lambda: ops.DynamicRNN(forget_bias=1)),
        (TypeError, lambda: ops.DynamicRNN(cell_depth="a")),
        (TypeError, lambda: ops.DynamicRNN(is_training=3)),
        (TypeError, lambda: ops.DynamicGRUV2(reset_after=3)),
        (NotImplementedError, lambda: ops.DynamicRNN(num_proj=3)),
        (NotImplementedError, lambda: ops.DynamicGRUV2(cell_depth=2)),
        (NotImplementedError, lambda: ops.DynamicRNN()(*given((X, W, B, np.ones(BATCH), H, C)))),
        (TypeError, lambda: ops.DynamicRNN()(*given(ALL[:3]))),
        (TypeError, lambda: ops.DynamicRNN()(*given(ALL, ms.float64))),
        (TypeError, lambda: ops.DynamicRNN()(Tensor(X, ms.float16), *given(ALL[1:]))),
        (TypeError, lambda: ops.DynamicRNN()(X, *given(ALL[1:]))),
        (ValueError, lambda: ops.DynamicRNN()(*given((X[0], *ALL[1:])))),
        (ValueError, lambda: ops.DynamicRNN()(*given((X, W[:-1], *ALL[2:])))),
        (ValueError, lambda: ops.DynamicRNN()(*given((X, W, B[:-1], *ALL[3:])))),
        (ValueError, lambda: ops.DynamicRNN()(*given((X, W, B, None, H[0], C)))),
        (ValueError, lambda: ops.DynamicGRUV2()(*given((X, WI, WH, BI, BH, None, H)))),
        (ValueError, lambda: ops.DynamicGRUV2()(*given((X, WI, WH, BI[:-1], BH, None, H[0])))),
    ],
)
def test_wrong_ones(error, make):
    with pytest.raises(error):
        make()


@pytest.mark.parametrize("make", [
    lambda: (lambda x, w, v, h: ops.DynamicRNN(forget_bias=0.5)(x, w, h[0, 0].repeat(4), None, h, h * 0.5)),
    lambda: (lambda x, w, v, h: ops.DynamicGRUV2(gate_order="zrh")(x, v[:8], v[8:], None, h[0, 0].repeat(3), None,
                                                                   h[0])),
])
def test_long_sequences_are_few_ops(make):
    rng = np.random.default_rng(8)
    x, w, v, h = (Tensor(rng.standard_normal(s).astype(np.float32) * 0.3)
                  for s in ((1500, 2, 8), (16, 32), (16, 24), (1, 2, 8)))

    def loss():
        f = make()
        return ms.value_and_grad(lambda *a: sum((y * y).mean() for y in f(*a)), (0, 1, 2, 3))
    e = check(loss, x, w, v, h, graphs=1, breaks=0)
    assert "recurrent" in str(e)
