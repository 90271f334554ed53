"""Primitives that run a recurrent cell over all steps of a sequence and give its gates, too."""

from pijit import dtype as mstype
from pijit._C import Tensor, op
from pijit.ops import function as F
from pijit.ops.primitive import primitive


def _check(name, types, choices, left_out):
    """types: {class: {attribute: its value}}; choices: {attribute: (its value, those that there are)}; left_out:
    {attribute: (its value, the one that works)}."""
    for kind, values in types.items():
        for attribute, value in values.items():
            if not isinstance(value, kind) or kind is int and isinstance(value, bool):
                raise TypeError(f"{name}: {attribute!r} has to be {kind.__name__}, not {value!r}.")
    for attribute, (value, known) in choices.items():
        if value not in known:
            raise ValueError(f"{name}: {attribute!r} has to be one of {known}, not {value!r}.")
    for attribute, (value, works) in left_out.items():
        if value != works:
            raise NotImplementedError(
                f"{name}: {attribute}={value!r} is not implemented by pijit. The nearest there is: "
                f"{attribute}={works!r}."
            )


def _check_lstm(
    name,
    cell_type,
    direction,
    cell_depth,
    use_peephole,
    keep_prob,
    cell_clip,
    num_proj,
    time_major,
    activation,
    forget_bias,
    is_training,
):
    _check(
        name,
        {
            str: {"cell_type": cell_type, "direction": direction, "activation": activation},
            int: {"cell_depth": cell_depth, "num_proj": num_proj},
            float: {"keep_prob": keep_prob, "cell_clip": cell_clip, "forget_bias": forget_bias},
            bool: {"use_peephole": use_peephole, "time_major": time_major, "is_training": is_training},
        },
        {
            "cell_type": (cell_type, ["LSTM"]),
            "direction": (direction, ["UNIDIRECTIONAL"]),
            "activation": (activation, ["tanh"]),
            "time_major": (time_major, [True]),
        },
        {
            "cell_depth": (cell_depth, 1),
            "use_peephole": (use_peephole, False),
            "keep_prob": (keep_prob, 1.0),
            "num_proj": (num_proj, 0),
        },
    )


def _check_gru(
    name,
    direction,
    cell_depth,
    keep_prob,
    cell_clip,
    num_proj,
    time_major,
    activation,
    gate_order,
    reset_after,
    is_training,
):
    _check(
        name,
        {
            str: {"direction": direction, "activation": activation, "gate_order": gate_order},
            int: {"cell_depth": cell_depth, "num_proj": num_proj},
            float: {"keep_prob": keep_prob, "cell_clip": cell_clip},
            bool: {"time_major": time_major, "reset_after": reset_after, "is_training": is_training},
        },
        {
            "direction": (direction, ["UNIDIRECTIONAL"]),
            "activation": (activation, ["tanh"]),
            "gate_order": (gate_order, ["rzh", "zrh"]),
        },
        {
            "cell_depth": (cell_depth, 1),
            "keep_prob": (keep_prob, 1.0),
            "cell_clip": (cell_clip, -1.0),
            "num_proj": (num_proj, 0),
            "time_major": (time_major, True),
        },
    )


def _need(name, dtypes, **tensors):
    for what, x in tensors.items():
        if not isinstance(x, Tensor):
            raise TypeError(f"{name}: {what!r} has to be a Tensor, not {type(x).__name__}.")
        if x.dtype not in dtypes:
            raise TypeError(f"{name}: {what!r} has to be of {' or '.join(map(str, dtypes))}, not {x.dtype}.")


def _need_shape(name, **shapes):
    for what, (x, shape) in shapes.items():
        if tuple(x.shape) != shape:
            raise ValueError(f"{name}: {what!r} has to be of shape {shape}, not {tuple(x.shape)}.")


def _need_no_lengths(name, seq_length):
    if seq_length is not None:
        raise NotImplementedError(
            f"{name}: 'seq_length' is not implemented by pijit. The nearest there is: nn.LSTM or nn.GRU, which have it."
        )


def _need_steps(name, x, dtypes):
    _need(name, dtypes, x=x)
    if x.ndim != 3:
        raise ValueError(f"{name}: 'x' has to be [steps, batch, input_size], not of {x.ndim} dimensions.")
    return x.shape


_recurrent = op("recurrent")
_HALF_OR_SINGLE = (mstype.float16, mstype.float32)


def _wide(x):
    return F.cast(x, mstype.float32)


def _stacked(columns, dtype):
    """A Tensor of each column of rows, by steps."""
    return tuple(F.cast(F.stack(list(c), 0), dtype) for c in zip(*columns))


def _reordered(x, order):
    """The gates in the last axis of x, which are as many as `order` says, in this order."""
    gates = F.chunk(x, len(order), -1)
    return F.cat([gates[k] for k in order], -1)


def _before(states, first):
    """What the states [steps, batch, hidden] were before each step."""
    return F.cat([F.expand_dims(first, 0), states[:-1]], 0)


def _long_short(of_x, of_h, h, c):
    """An LSTM's h, c and gates of all steps, from gates in the order i, j, f, o."""
    order = (0, 2, 1, 3)
    states = _recurrent(_reordered(of_x, order), _reordered(of_h, order), None, h, c, None, "lstm", False)
    hs, cs = states[0], states[1]
    i, j, f, o = F.chunk(of_x + F.matmul(_before(hs, h), of_h), 4, -1)  # again, all steps at once
    return hs, cs, F.sigmoid(i), F.tanh(j), F.sigmoid(f), F.sigmoid(o), F.tanh(cs)


@primitive(check=_check_lstm)
def DynamicRNN(
    x,
    w,
    b,
    seq_length,
    init_h,
    init_c,
    /,
    cell_type="LSTM",
    direction="UNIDIRECTIONAL",
    cell_depth=1,
    use_peephole=False,
    keep_prob=1.0,
    cell_clip=-1.0,
    num_proj=0,
    time_major=True,
    activation="tanh",
    forget_bias=0.0,
    is_training=True,
):
    """A long short-term memory over x [steps, batch, input_size], computed in float32.

    w [input_size + hidden, 4 * hidden] and b [4 * hidden] hold the input gate, the new values, the forget gate and the
    output gate in this order; init_h and init_c are [1, batch, hidden]. forget_bias is added to the forget gate; a
    cell_clip above 0 bounds the cells' absolute values.

    Returns (y, h, c, i, j, f, o, tanh(c)), each [steps, batch, hidden]: h has x's dtype, the others b's.

    Raises TypeError for dtypes other than float16 and float32 (one for x, w, init_h and init_c), ValueError for other
    shapes, NotImplementedError for `seq_length`, several layers, peepholes, projections and dropout."""
    name = "DynamicRNN"
    _need_no_lengths(name, seq_length)
    steps, batch, size = _need_steps(name, x, _HALF_OR_SINGLE)
    _need(name, (x.dtype,), w=w, init_h=init_h, init_c=init_c)
    _need(name, _HALF_OR_SINGLE, b=b)
    hidden = w.shape[-1] // 4
    _need_shape(name, w=(w, (size + hidden, 4 * hidden)), b=(b, (4 * hidden,)))
    _need_shape(name, init_h=(init_h, (1, batch, hidden)), init_c=(init_c, (1, batch, hidden)))
    weights, h, c = _wide(w), _wide(init_h)[0], _wide(init_c)[0]
    of_h = weights[size:]
    projected = F.matmul(_wide(x), weights[:size]) + _wide(b)  # all steps at once
    if forget_bias:
        i, j, f, o = F.chunk(projected, 4, -1)
        projected = F.cat([i, j, f + forget_bias, o], -1)
    if cell_clip > 0:
        rows = []
        for t in range(steps):
            i, j, f, o = F.chunk(projected[t] + F.matmul(h, of_h), 4, -1)
            i, j, f, o = F.sigmoid(i), F.tanh(j), F.sigmoid(f), F.sigmoid(o)
            c = F.clamp(f * c + i * j, -cell_clip, cell_clip)
            tanh_c = F.tanh(c)
            h = o * tanh_c
            rows.append((h, c, i, j, f, o, tanh_c))
        found = _stacked(rows, mstype.float32)
    else:
        found = _long_short(projected, of_h, h, c)
    y, *others = (F.cast(v, b.dtype) for v in found)
    return y, F.cast(found[0], x.dtype), *others


@primitive(check=_check_gru)
def DynamicGRUV2(
    x,
    weight_input,
    weight_hidden,
    bias_input,
    bias_hidden,
    seq_length,
    init_h,
    /,
    direction="UNIDIRECTIONAL",
    cell_depth=1,
    keep_prob=1.0,
    cell_clip=-1.0,
    num_proj=0,
    time_major=True,
    activation="tanh",
    gate_order="rzh",
    reset_after=True,
    is_training=True,
):
    """A gated recurrent unit over x [steps, batch, input_size], computed in float32.

    weight_input [input_size, 3 * hidden], weight_hidden [hidden, 3 * hidden] and the biases [3 * hidden] (or None) hold
    the gates in gate_order: r is the reset gate, z the update gate, h the new values. init_h is [batch, hidden].
    reset_after: the reset gate multiplies the product of the state and its weights, else the state.

    Returns (y, h, z, r, n, the state's part of n), each [steps, batch, hidden], of the dtype of the first bias that
    isn't None, else of init_h's.

    Raises TypeError for dtypes other than float16 and float32 (one for x and the weights), ValueError for other shapes,
    NotImplementedError for `seq_length`, several layers, projections, clipping and dropout."""
    name = "DynamicGRUV2"
    _need_no_lengths(name, seq_length)
    _, batch, size = _need_steps(name, x, _HALF_OR_SINGLE)
    _need(name, (x.dtype,), weight_input=weight_input, weight_hidden=weight_hidden)
    _need(name, _HALF_OR_SINGLE, init_h=init_h)
    hidden, dtype = weight_hidden.shape[0], init_h.dtype
    _need_shape(
        name, weight_input=(weight_input, (size, 3 * hidden)), weight_hidden=(weight_hidden, (hidden, 3 * hidden))
    )
    _need_shape(name, init_h=(init_h, (batch, hidden)))
    biases = []
    for what, bias in (("bias_hidden", bias_hidden), ("bias_input", bias_input)):
        if bias is not None:
            _need(name, _HALF_OR_SINGLE, **{what: bias})
            _need_shape(name, **{what: (bias, (3 * hidden,))})
            dtype = bias.dtype
        biases.append(0.0 if bias is None else _wide(bias))
    of_h, h = _wide(weight_hidden), _wide(init_h)
    projected = F.matmul(_wide(x), _wide(weight_input)) + biases[1]  # all steps at once
    order = [gate_order.index(gate) for gate in "rzh"]
    projected, of_h = _reordered(projected, order), _reordered(of_h, order)
    bias = None if bias_hidden is None else _reordered(biases[0], order)
    if reset_after:
        hs = _recurrent(projected, of_h, bias, h, None, None, "gru", False)[0]
        of_state = F.matmul(_before(hs, h), of_h)  # again, all steps at once
        xr, xz, xn = F.chunk(projected, 3, -1)
        hr, hz, hidden_new = F.chunk(of_state if bias is None else of_state + bias, 3, -1)
        r, z = F.sigmoid(xr + hr), F.sigmoid(xz + hz)
        n = F.tanh(xn + r * hidden_new)
        return tuple(F.cast(v, dtype) for v in (hs, hs, z, r, n, hidden_new))
    rows = []
    for t in range(x.shape[0]):
        xr, xz, xn = F.chunk(projected[t], 3, -1)
        of_state = F.matmul(h, of_h)
        hr, hz, _ = F.chunk(of_state if bias is None else of_state + bias, 3, -1)
        r, z = F.sigmoid(xr + hr), F.sigmoid(xz + hz)
        of_reset = F.matmul(r * h, of_h)
        hidden_new = F.chunk(of_reset if bias is None else of_reset + bias, 3, -1)[2]
        n = F.tanh(xn + hidden_new)
        h = (1 - z) * n + z * h
        rows.append((h, h, z, r, n, hidden_new))
    return _stacked(rows, dtype)


__all__ = ["DynamicGRUV2", "DynamicRNN"]
