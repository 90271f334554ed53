"""nn.LSTM, nn.GRU and nn.RNN of any length, against loops of their cells."""

import itertools

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, _C, nn, ops
from tests.python.differential import check_calls, freeze
from tests.python.pairs import pairs

rng = np.random.default_rng(6)
LAYERS = {"lstm": nn.LSTM, "gru": nn.GRU, "tanh": nn.RNN, "relu": lambda *a, **k: nn.RNN(*a, nonlinearity="relu", **k)}


def normal(*shape, dtype=ms.float32):
    return Tensor(rng.standard_normal(shape)).astype(dtype)


def cell(kind, x, state, w, b):
    gates = ops.matmul(state[0], w.T) + (0 if b is None else b)
    h = state[0]
    if kind == "lstm":
        i, f, g, o = ops.chunk(x + gates, 4, -1)
        c = ops.sigmoid(f) * state[1] + ops.sigmoid(i) * ops.tanh(g)
        return ops.sigmoid(o) * ops.tanh(c), c
    if kind == "gru":
        (xr, xz, xn), (hr, hz, hn) = ops.chunk(x, 3, -1), ops.chunk(gates, 3, -1)
        n = ops.tanh(xn + ops.sigmoid(xr + hr) * hn)
        return (n + ops.sigmoid(xz + hz) * (h - n),)
    return (ops.tanh(x + gates) if kind == "tanh" else ops.relu(x + gates),)


def by_cells(kind, net, x, states, lengths=None):
    """What the layer has to give, step by step."""
    if net.batch_first:
        x = x.swapaxes(0, 1)
    final = []
    for layer in range(net.num_layers):
        sides = []
        for side in range(net.directions):
            k = layer * net.directions + side
            of_x = ops.matmul(x, net.w_ih_list[k].T)
            if net.has_bias:
                of_x = of_x + net.b_ih_list[k]
            state, seen = tuple(s[k] for s in states), {}
            for t in range(x.shape[0])[::-1 if side else 1]:
                new = cell(kind, of_x[t], state, net.w_hh_list[k], net.b_hh_list[k] if net.has_bias else None)
                if lengths is not None:
                    inside = (lengths > t).expand_dims(-1)
                    seen[t] = ops.where(inside, new[0], ops.zeros_like(new[0]))
                    state = tuple(ops.where(inside, n, s) for n, s in zip(new, state))
                else:
                    state, seen[t] = new, new[0]
            sides.append(ops.stack([seen[t] for t in range(x.shape[0])], 0))
            final.append(state)
        x = ops.cat(sides, -1)
    return (x.swapaxes(0, 1) if net.batch_first else x), *(ops.stack(list(s), 0) for s in zip(*final))


def by_layer(net, x, states, lengths=None):
    y, last = net(x, states if len(states) > 1 else states[0], lengths)
    return y, *(last if isinstance(last, tuple) else (last,))


def make(kind, steps=5, hidden=6, dtype=ms.float32, **options):
    net = LAYERS[kind](4, hidden, dtype=dtype, **options)
    x = normal(*((3, steps) if options.get("batch_first") else (steps, 3)), 4, dtype=dtype)
    states = [normal(net.num_layers * net.directions, 3, hidden, dtype=dtype) for _ in range(net.states)]
    return net, x, states


def gradients(f, net, count):
    def loss(x, *states):
        return sum((part * part * (k + 0.5)).sum() for k, part in enumerate(f(x, states)))
    return ms.value_and_grad(loss, tuple(range(1 + count)), net.trainable_params())


def flat(result):
    value, (inputs, weights) = result
    return [value, *inputs, *weights]


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("bidirectional, layers, masked", list(itertools.product([False, True], [1, 2], [False, True])))
@pytest.mark.parametrize("has_bias, batch_first", [(True, False), (False, True)])
def test_values_and_gradients(kind, bidirectional, layers, masked, has_bias, batch_first):
    net, x, states = make(kind, bidirectional=bidirectional, num_layers=layers, has_bias=has_bias,
                          batch_first=batch_first)
    lengths = Tensor([5, 0, 3], ms.int32) if masked else None
    layer = gradients(lambda x, s: by_layer(net, x, s, lengths), net, len(states))
    got = flat(layer(x, *states))
    expected = flat(gradients(lambda x, s: by_cells(kind, net, x, s, lengths), net, len(states))(x, *states))
    for a, b in pairs(got, expected):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-5)
    jitted = ms.jit(layer)
    for _ in range(2):
        assert freeze(flat(jitted(x, *states))) == freeze(got)
    assert len(ms.explain(jitted).graphs) == 1 and not ms.explain(jitted).breaks


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("dtype, close", [("float16", 2e-2), ("bfloat16", 1e-1), ("float64", 1e-12)])
def test_other_dtypes(kind, dtype, close):
    net, x, states = make(kind, dtype=getattr(ms, dtype), bidirectional=True)
    layer = gradients(lambda x, s: by_layer(net, x, s), net, len(states))
    got = flat(layer(x, *states))
    expected = flat(gradients(lambda x, s: by_cells(kind, net, x, s), net, len(states))(x, *states))
    for a, b, c in pairs(got, expected, flat(ms.jit(layer)(x, *states))):
        assert a.dtype == b.dtype
        a, b, c = (v.astype(ms.float64).asnumpy() for v in (a, b, c))
        np.testing.assert_allclose(a, b, rtol=close, atol=close)
        assert a.tobytes() == c.tobytes()


@pytest.mark.parametrize("kind", LAYERS)
def test_further_derivatives_and_batches(kind):
    net, x, states = make(kind, steps=4, bidirectional=True)
    lengths = Tensor([4, 1, 3], ms.int32)
    weights = net.trainable_params()

    def loss(f):
        return lambda x: sum((part * part * part).sum() for part in f(x))
    layer = loss(lambda x: by_layer(net, x, states, lengths))
    cells = loss(lambda x: by_cells(kind, net, x, states, lengths))

    def second(f):
        return ms.grad(lambda x: (ms.grad(f)(x) ** 2).sum(), 0, weights)
    got, expected = second(layer)(x), second(cells)(x)
    for a, b in pairs([got[0], *got[1]], [expected[0], *expected[1]]):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-4)
    assert freeze(ms.jit(second(layer))(x)) == freeze(got)
    d = normal(*x.shape)
    np.testing.assert_allclose(ms.jvp(layer, x, d)[1].asnumpy(), ms.jvp(cells, x, d)[1].asnumpy(), rtol=1e-4,
                               atol=1e-4)
    xs = normal(3, *x.shape)
    for f in (layer, ms.grad(layer)):
        np.testing.assert_allclose(ms.vmap(f)(xs).asnumpy(), np.stack([f(one).asnumpy() for one in xs]), rtol=1e-5,
                                   atol=1e-5)


def test_batches_of_weights():
    x, h, c = normal(4, 2, 32), normal(2, 8), normal(2, 8)
    recurrent = _C.op("recurrent")
    ws = normal(3, 8, 32)
    got = ms.vmap(lambda w: recurrent(x, w, None, h, c, None, "lstm", False))(ws)
    assert freeze(got) == freeze(ops.stack([recurrent(x, w, None, h, c, None, "lstm", False) for w in ws]))


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_sizes_that_change_take_no_new_capture(kind):
    net = LAYERS[kind](4, 8, 2, bidirectional=True)
    step = ms.jit(ms.value_and_grad(lambda x: (net(x)[0] ** 2).sum(), 0, net.trainable_params()))
    plain = ms.value_and_grad(lambda x: (net(x)[0] ** 2).sum(), 0, net.trainable_params())
    for n in (3, 7, 80, 300, 11, 1):
        x = normal(n, 2, 4)
        assert freeze(step(x)) == freeze(plain(x))
    assert ms.explain(step).compile_count <= 3 and len(ms.explain(step).breaks) == 0


def test_a_long_layer_is_one_op():
    net = nn.LSTM(4, 8, 2, bidirectional=True)
    f = ms.jit(lambda x: net(x)[0])
    f(normal(2000, 2, 4))
    assert "recurrent x4" in str(ms.explain(f))


@pytest.mark.parametrize("jitted", [False, True])
def test_memory_is_linear_in_steps(jitted):
    net = nn.LSTM(4, 8)
    step = ms.grad(lambda x: (net(x)[0] ** 2).sum(), 0, net.trainable_params())
    step = ms.jit(step) if jitted else step
    peaks = []
    for n in (100, 400):
        x = normal(n, 2, 4)
        step(x)
        before, recording = _C.allocated_bytes(), _C.record_start()
        step(x)
        peaks.append(_C.record_stop(recording)["peak_bytes"] - before)
    assert peaks[1] < 4.5 * peaks[0]
    # x, its gates, the states, cotangents of these and temporary copies, but no tensor per step and gate
    assert peaks[1] < 30 * 400 * 2 * 8 * 4 * 4


def test_dropout_between_layers():
    net = nn.GRU(4, 6, 3, dropout=0.5)
    x = normal(5, 2, 4)
    check_calls(lambda: lambda x: net(x)[0], [(x,), (x,)])
    net.set_train(False)
    assert freeze(net(x)) == freeze(net(x))


def test_states_of_one_step_and_of_a_branch():
    net = nn.LSTM(4, 6)

    def f(x):
        y, (h, c) = net(x)
        if y.sum() > 0:
            y, (h, c) = net(x, (h, c))
        return (y * y).sum() + c.sum() + h[0, 1].sum()
    check_calls(lambda: ms.value_and_grad(f, 0, net.trainable_params()), [(normal(1, 2, 4),), (normal(1, 2, 4),)])


def test_wrong_operands():
    recurrent = _C.op("recurrent")
    x, w, h = normal(4, 2, 32), normal(8, 32), normal(2, 8)
    for args, error in [((x, w, None, h, None, None, "lstm"), ValueError),
                        ((x, w, None, h, h, None, "what"), ValueError),
                        ((x, w, None, h[:1], h, None, "lstm"), ValueError),
                        ((x, w.astype(ms.float64), None, h, h, None, "lstm"), TypeError),
                        ((x, w[:, :24], None, h, h, None, "lstm"), ValueError),
                        ((x[:, :, :30], w, None, h, h, None, "lstm"), ValueError),
                        ((x[:0], w, None, h, h, None, "lstm"), ValueError),
                        ((x, w, None, h, h, x[:, :, :1], "lstm"), TypeError),
                        ((x.astype(ms.int32), w, None, h, h, None, "lstm"), ValueError)]:
        with pytest.raises(error):
            recurrent(*args, False)
    net = nn.LSTM(4, 6)
    for args, error in [((normal(3, 2, 5),), ValueError), ((normal(3, 2),), ValueError),
                        ((normal(3, 2, 4), (normal(1, 3, 6), normal(1, 3, 6))), ValueError),
                        ((normal(0, 2, 4),), ValueError)]:
        with pytest.raises(error):
            net(*args)
    assert net(normal(3, 0, 4))[0].shape == (3, 0, 6)


@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
def test_errors_name_what_the_user_called(layer):
    net = layer(4, 5)
    for call in (net, ms.jit(lambda *a: net(*a)), lambda *a: ms.grad(lambda x, *more: net(x, *more)[0].sum())(*a)):
        with pytest.raises(ValueError, match=rf"For '{layer.__name__}', 'x' must have at least one step"):
            call(ops.ones((0, 2, 4)))
        with pytest.raises(ValueError, match=rf"For '{layer.__name__}', 'seq_length' must have one element for each"):
            call(ops.ones((3, 2, 4)), None, Tensor([1], ms.int32))
