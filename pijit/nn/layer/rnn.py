"""Recurrent layers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor, op
from pijit.initializer import Uniform, initializer
from pijit.nn.cell import Cell, CellInOwnDtypes
from pijit.nn.layer.common import positive
from pijit.nn.layer.basic import Dropout
from pijit.ops import function as F
from pijit.ops.function.elementwise import _need_tensor
from pijit.ops import primitives as P
from pijit.parameter import Parameter, ParameterTuple

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import DType

_recurrent = op("recurrent")


def _rnn_step(activation):
    def step(x, state, w, b):
        (h,) = state
        return (activation(x + F.dense(h, w, b)),)
    return step


def _gru_step(x, state, w, b):
    (h,) = state
    xr, xz, xn = F.chunk(x, 3, -1)
    hr, hz, hn = F.chunk(F.dense(h, w, b), 3, -1)
    z = F.sigmoid(xz + hz)
    n = F.tanh(xn + F.sigmoid(xr + hr) * hn)
    return (n + z * (h - n),)


def _lstm_step(x, state, w, b):
    h, c = state
    i, f, g, o = F.chunk(x + F.dense(h, w, b), 4, -1)
    c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)
    return F.sigmoid(o) * F.tanh(c), c


class RNNCellBase(Cell):
    """What the cells share: weight_ih, weight_hh, bias_ih and bias_hh of num_chunks parts each."""

    input_size: int
    hidden_size: int
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool, num_chunks: Any,
                 dtype: DType = mstype.float32) -> None:
        super().__init__()
        name = type(self).__name__
        self.input_size, self.hidden_size = (positive(name, "input_size", input_size),
                                             positive(name, "hidden_size", hidden_size))
        _check.need(name, "has_bias", has_bias, _check.BOOL)
        self.has_bias = has_bias
        init, rows = Uniform(1 / math.sqrt(hidden_size)), num_chunks * hidden_size
        self.weight_ih: Parameter = Parameter(initializer(init, [rows, input_size], dtype), name="weight_ih")
        self.weight_hh: Parameter = Parameter(initializer(init, [rows, hidden_size], dtype), name="weight_hh")
        self.bias_ih = Parameter(initializer(init, [rows], dtype), name="bias_ih") if has_bias else None
        self.bias_hh = Parameter(initializer(init, [rows], dtype), name="bias_hh") if has_bias else None

    def reset_parameters(self, name: str | None = None) -> None:  # noqa: ARG002
        """Draws the parameters anew, uniform in [-1 / sqrt(hidden_size), 1 / sqrt(hidden_size))."""
        init = Uniform(1 / math.sqrt(self.hidden_size))
        for p in self.get_parameters():
            p.set_data(initializer(init, p.shape, p.dtype))

    def _next(self, step, x, state):
        for value in (x, *state):
            _need_tensor(self.cls_name, "x" if value is x else "hx", value)
        if x.ndim != 2 or x.shape[1] != self.input_size:
            raise _check.refused(self.cls_name, "x", _check.value(f"be [batch, {self.input_size}]"), list(x.shape))
        for h in state:
            if tuple(h.shape) != (x.shape[0], self.hidden_size):
                raise _check.refused(self.cls_name, "the state", _check.value(f"be [{x.shape[0]}, {self.hidden_size}]"),
                                     list(h.shape))
        return step(F.dense(x, self.weight_ih, self.bias_ih), state, self.weight_hh, self.bias_hh)


class RNNCell(RNNCellBase):
    """tanh(W_ih x + b_ih + W_hh h + b_hh), or relu (Elman 1990). x [batch, input_size], hx [batch, hidden_size].

    Args:
        input_size (int): the number of columns of the input.
        hidden_size (int): the number of columns of the state.
        has_bias (bool, optional): whether there is a bias. Default: True.
        nonlinearity (str, optional): 'tanh' or 'relu'. Default: 'tanh'.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [batch, input_size].
        hx: Tensor [batch, hidden_size].

    Outputs:
        Tensor [batch, hidden_size].

    Raises:
        TypeError: if `input_size` is not an int, or `hidden_size` is not an int, or `has_bias` is not a bool.
        ValueError: if `input_size` is below 1, or `hidden_size` is below 1, or `nonlinearity` is not 'tanh' or 'relu'.

    Example:
        >>> nn.RNNCell(3, 4)(ops.ones((2, 3)), ops.zeros((2, 4))).shape
        (2, 4)
    """

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True, nonlinearity: str = "tanh",
                 dtype: DType = mstype.float32) -> None:
        super().__init__(input_size, hidden_size, has_bias, 1, dtype)
        _check.need("RNNCell", "nonlinearity", nonlinearity, _check.one_of("tanh", "relu"))
        self.nonlinearity = nonlinearity

    def construct(self, x: Tensor, hx: Tensor) -> Tensor:
        return self._next(_rnn_step(F.tanh if self.nonlinearity == "tanh" else F.relu), x, (hx,))[0]


class GRUCell(RNNCellBase):
    """Gated recurrent unit (Cho et al. 2014); weights of reset, update and new gate in this order.

    Args:
        input_size (int): the number of columns of the input.
        hidden_size (int): the number of columns of the state.
        has_bias (bool, optional): whether there is a bias. Default: True.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [batch, input_size].
        hx: Tensor [batch, hidden_size].

    Outputs:
        Tensor [batch, hidden_size].

    Raises:
        TypeError: if `input_size` is not an int, or `hidden_size` is not an int, or `has_bias` is not a bool.
        ValueError: if `input_size` is below 1, or `hidden_size` is below 1.

    Example:
        >>> nn.GRUCell(3, 4)(ops.ones((2, 3)), ops.zeros((2, 4))).shape
        (2, 4)
    """

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: DType = mstype.float32) -> None:
        super().__init__(input_size, hidden_size, has_bias, 3, dtype)

    def construct(self, x: Tensor, hx: Tensor) -> Tensor:
        return self._next(_gru_step, x, (hx,))[0]


class LSTMCell(RNNCellBase):
    """Long short-term memory (Hochreiter & Schmidhuber 1997).

    Weights of input, forget, cell and output gate in this order. Returns (h, c).

    Args:
        input_size (int): the number of columns of the input.
        hidden_size (int): the number of columns of the state.
        has_bias (bool, optional): whether there is a bias. Default: True.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [batch, input_size].
        hx: two Tensors [batch, hidden_size], h and c.

    Outputs:
        (Tensor, Tensor), h and c.

    Raises:
        TypeError: if `input_size` is not an int, or `hidden_size` is not an int, or `has_bias` is not a bool.
        ValueError: if `input_size` is below 1, or `hidden_size` is below 1.

    Example:
        >>> nn.LSTMCell(3, 4)(ops.ones((2, 3)), (ops.zeros((2, 4)), ops.zeros((2, 4))))[0].shape
        (2, 4)
    """

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: DType = mstype.float32) -> None:
        super().__init__(input_size, hidden_size, has_bias, 4, dtype)

    def construct(self, x: Tensor, hx: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        return self._next(_lstm_step, x, tuple(hx))


class _RNNBase(CellInOwnDtypes):
    """Layers of a recurrent cell over the steps of x [steps, batch, input_size] (batch_first: [batch, steps,
    input_size]).

    hx: states [layers * directions, batch, hidden_size], zeros by default; seq_length: how many steps each sequence of
        the batch has.
    Returns (the last layer's states of all steps, the states after the last step).

    Computes in x's dtype, to which the parameters are cast, whatever `to_float` says."""

    gates: int
    states: int
    input_size: int
    hidden_size: int
    has_bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    reverse: Any
    reverse_sequence: Any
    dropout_op: Any
    is_lstm: bool
    w_ih_list: ParameterTuple
    w_hh_list: ParameterTuple
    gates, states = 1, 1

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, has_bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
                 dtype: DType = mstype.float32) -> None:
        super().__init__()
        name = type(self).__name__
        self.input_size, self.hidden_size = (positive(name, "input_size", input_size),
                                             positive(name, "hidden_size", hidden_size))
        self.num_layers: int = positive(name, "num_layers", num_layers)
        for arg, v in (("has_bias", has_bias), ("batch_first", batch_first), ("bidirectional", bidirectional)):
            _check.need(name, arg, v, _check.BOOL)
        _check.need(name, "dropout", dropout, _check.within(0, 1, "[)"))
        self.has_bias, self.batch_first, self.dropout, self.bidirectional = (has_bias, batch_first, float(dropout),
            bidirectional)
        self.directions = 2 if bidirectional else 1
        self.reverse, self.reverse_sequence, self.dropout_op, self.is_lstm = (P.ReverseV2([0]), P.ReverseSequence(0, 1),
            Dropout(p=self.dropout), self.states == 2)
        bound, rows = 1 / math.sqrt(hidden_size), self.gates * hidden_size
        names = [f"_l{layer}{suffix}" for layer in range(num_layers) for suffix in ("", "_reverse")[:self.directions]]

        # NumPy's own numbers, in this order: the values that MindSpore has after the same seed
        def parameter(kind, k, *shape):
            return Parameter(Tensor(np.random.uniform(-bound, bound, shape), dtype), name=kind + names[k])
        made = []
        for k in range(len(names)):
            inputs = input_size if k < self.directions else hidden_size * self.directions
            made.append((parameter("weight_ih", k, rows, inputs), parameter("weight_hh", k, rows, hidden_size),
                         *((parameter("bias_ih", k, rows), parameter("bias_hh", k, rows)) if has_bias else ())))
        self.w_ih_list, self.w_hh_list = ParameterTuple([m[0] for m in made]), ParameterTuple([m[1] for m in made])
        self.b_ih_list: ParameterTuple | tuple[Any, ...] = ParameterTuple([m[2] for m in made]) if has_bias else ()
        self.b_hh_list: ParameterTuple | tuple[Any, ...] = ParameterTuple([m[3] for m in made]) if has_bias else ()
        for k, parameters in enumerate(made):
            for kind, value in zip(("weight_ih", "weight_hh", "bias_ih", "bias_hh"), parameters):
                setattr(self, kind + names[k], value)

    def _cell(self):
        raise NotImplementedError

    def construct(self, x: Tensor, hx: Any = None,
                  seq_length: Tensor | None = None) -> tuple[Tensor, Any]:
        if x.ndim != 3 or x.shape[2] != self.input_size:
            raise _check.refused(self.cls_name, "x", _check.value(f"have 3 dimensions, the last of {self.input_size}"),
                                 list(x.shape))
        if self.batch_first:
            x = F.swapaxes(x, 0, 1)
        steps, batch = x.shape[:2]
        if steps == 0:
            raise _check.refused(self.cls_name, "x", _check.value("have at least one step"), list(x.shape))
        shape = (self.num_layers * self.directions, batch, self.hidden_size)
        if hx is None:
            states = [F.zeros(shape, x.dtype) for _ in range(self.states)]
        else:
            states = list(hx) if self.states > 1 else [hx]
        for h in states:
            if tuple(h.shape) != shape:
                raise _check.refused(self.cls_name, "a state", _check.value(f"be {list(shape)}"), list(h.shape))
            if h.dtype != x.dtype:
                raise _check.refused(self.cls_name, "a state", _check.value(f"have x's dtype {x.dtype}"), h.dtype,
                                     TypeError)
        mask = None
        if seq_length is not None:  # beyond a sequence's end its state stays, and the output is 0
            if isinstance(seq_length, Tensor) and tuple(seq_length.shape) != (batch,):
                raise _check.refused(self.cls_name, "seq_length",
                                     _check.value(f"have one element for each of {batch} sequences"),
                                     list(seq_length.shape))
            mask = F.expand_dims(F.expand_dims(F.arange(steps), -1) < seq_length, -1)
        final = []
        for layer in range(self.num_layers):
            outputs = []
            for direction in range(self.directions):
                k = layer * self.directions + direction
                y, last = self._run(x, k, tuple(h[k] for h in states), mask, direction == 1)
                outputs.append(y)
                final.append(last)
            x = outputs[0] if self.directions == 1 else F.cat(outputs, -1)
            if self.dropout > 0 and layer + 1 < self.num_layers:
                x = self.dropout_op(x)
        if self.batch_first:
            x = F.swapaxes(x, 0, 1)
        last = F.stack(final, 1)
        return x, (last[0], last[1]) if self.is_lstm else last[0]

    def _run(self, x, k, state, mask, backward):
        w_ih, w, b_ih, b_hh = F.cast(self.w_ih_list[k], x.dtype), F.cast(self.w_hh_list[k], x.dtype), None, None
        if self.has_bias:
            b_ih, b_hh = F.cast(self.b_ih_list[k], x.dtype), F.cast(self.b_hh_list[k], x.dtype)
        if b_hh is not None and self.gates != 3:  # a GRU multiplies a part of it
            b_ih, b_hh = b_ih + b_hh, None
        projected = F.dense(x, w_ih, b_ih)  # all steps at once
        states = _recurrent(projected, F.transpose(w, (1, 0)), b_hh, state[0], state[1] if self.is_lstm else None,
                            mask, self._cell(), backward)
        outputs = states[0]
        if mask is not None:
            outputs = F.select(mask, outputs, F.zeros_like(outputs))
        return outputs, states[:, 0 if backward else -1]


class RNN(_RNNBase):
    """Layers of tanh(W_ih x + b_ih + W_hh h + b_hh), or relu (Elman 1990).

    Args:
        input_size (int): the number of columns of the input.
        hidden_size (int): the number of columns of the state.
        num_layers (int, optional): the number of layers. Default: 1.
        nonlinearity (str, optional): 'tanh' or 'relu'. Default: 'tanh'.
        has_bias (bool, optional): whether there is a bias. Default: True.
        batch_first (bool, optional): whether the batch is the first axis. Default: False.
        dropout (float, optional): the probability to drop elements. Default: 0.0.
        bidirectional (bool, optional): whether sequences are also run from their end. Default: False.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [steps, batch, input_size].
        hx: Tensor [layers * directions, batch, hidden_size], zeros by default.
        seq_length: Tensor [batch] of ints, how many steps count.

    Outputs:
        (Tensor [steps, batch, directions * hidden_size], Tensor of hx's shape).

    Raises:
        TypeError: if `input_size` is not an int, or `hidden_size` is not an int, or `has_bias` is not a bool, or
            `batch_first` is not a bool, or `bidirectional` is not a bool.
        ValueError: if `input_size` is below 1, or `hidden_size` is below 1, or `nonlinearity` is not 'tanh' or 'relu',
            or `dropout` is out of range.

    Example:
        >>> nn.RNN(3, 4)(ops.ones((5, 2, 3)))[0].shape
        (5, 2, 4)
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh",
                 has_bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
                 dtype: DType = mstype.float32) -> None:
        _check.need("RNN", "nonlinearity", nonlinearity, _check.one_of("tanh", "relu"))
        super().__init__(input_size, hidden_size, num_layers, has_bias, batch_first, dropout, bidirectional, dtype)
        self.nonlinearity = nonlinearity

    def _cell(self):
        return self.nonlinearity


class GRU(_RNNBase):
    """Layers of gated recurrent units (Cho et al. 2014).

    Args:
        input_size (int): the number of columns of the input.
        hidden_size (int): the number of columns of the state.
        num_layers (int, optional): the number of layers. Default: 1.
        has_bias (bool, optional): whether there is a bias. Default: True.
        batch_first (bool, optional): whether the batch is the first axis. Default: False.
        dropout (float, optional): the probability to drop elements. Default: 0.0.
        bidirectional (bool, optional): whether sequences are also run from their end. Default: False.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [steps, batch, input_size].
        hx: Tensor [layers * directions, batch, hidden_size], zeros by default.
        seq_length: Tensor [batch] of ints, how many steps count.

    Outputs:
        (Tensor [steps, batch, directions * hidden_size], Tensor of hx's shape).

    Raises:
        TypeError: if `input_size` is not an int, or `hidden_size` is not an int, or `has_bias` is not a bool, or
            `batch_first` is not a bool, or `bidirectional` is not a bool.
        ValueError: if `input_size` is below 1, or `hidden_size` is below 1, or `dropout` is out of range.

    Example:
        >>> nn.GRU(3, 4)(ops.ones((5, 2, 3)))[0].shape
        (5, 2, 4)
    """

    gates = 3

    def _cell(self):
        return "gru"


class LSTM(_RNNBase):
    """Layers of long short-term memory (Hochreiter & Schmidhuber 1997); the states are (h, c).

    Args:
        input_size (int): the number of columns of the input.
        hidden_size (int): the number of columns of the state.
        num_layers (int, optional): the number of layers. Default: 1.
        has_bias (bool, optional): whether there is a bias. Default: True.
        batch_first (bool, optional): whether the batch is the first axis. Default: False.
        dropout (float, optional): the probability to drop elements. Default: 0.0.
        bidirectional (bool, optional): whether sequences are also run from their end. Default: False.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [steps, batch, input_size].
        hx: two Tensors [layers * directions, batch, hidden_size], zeros by default.
        seq_length: Tensor [batch] of ints, how many steps count.

    Outputs:
        (Tensor [steps, batch, directions * hidden_size], (Tensor, Tensor)).

    Raises:
        TypeError: if `input_size` is not an int, or `hidden_size` is not an int, or `has_bias` is not a bool, or
            `batch_first` is not a bool, or `bidirectional` is not a bool.
        ValueError: if `input_size` is below 1, or `hidden_size` is below 1, or `dropout` is out of range.

    Example:
        >>> nn.LSTM(3, 4)(ops.ones((5, 2, 3)))[0].shape
        (5, 2, 4)
    """

    gates: int
    states: int
    gates, states = 4, 2

    def _cell(self):
        return "lstm"
