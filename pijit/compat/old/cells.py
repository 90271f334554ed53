"""Layers and parts of layers of MindSpore's inner modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit._C import Tensor
from pijit.compat.old import checkparam
from pijit.nn.cell import Cell
from pijit.nn.layer import rnn
from pijit.ops import function as F, primitives as P

if TYPE_CHECKING:
    from typing import Any, Self
    from pijit._C import DType


def _halves(inputs, hidden, w_ih, w_hh, b_ih, b_hh):
    return F.dense(inputs, w_ih, b_ih), F.dense(hidden, w_hh, b_hh)


def _rnn_tanh_cell(inputs, hidden, w_ih, w_hh, b_ih, b_hh):
    """tanh(inputs w_ih^T + b_ih + hidden w_hh^T + b_hh)."""
    x, h = _halves(inputs, hidden, w_ih, w_hh, b_ih, b_hh)
    return F.tanh(x + h)


def _rnn_relu_cell(inputs, hidden, w_ih, w_hh, b_ih, b_hh):
    """relu(inputs w_ih^T + b_ih + hidden w_hh^T + b_hh)."""
    x, h = _halves(inputs, hidden, w_ih, w_hh, b_ih, b_hh)
    return F.relu(x + h)


def _lstm_cell(inputs, hidden, w_ih, w_hh, b_ih, b_hh):
    """One step of an LSTM: (h, c) of (h, c)."""
    return rnn._lstm_step(F.dense(inputs, w_ih, b_ih), hidden, w_hh, b_hh)


def _gru_cell(inputs, hidden, w_ih, w_hh, b_ih, b_hh):
    """One step of a GRU."""
    return rnn._gru_step(F.dense(inputs, w_ih, b_ih), (hidden,), w_hh, b_hh)[0]


class _DynamicLSTMCPUGPU(Cell):
    """An LSTM over x [time, batch, features]: construct(x, h, seq_length, w_ih, w_hh, b_ih, b_hh) gives (outputs, (h,
    c))."""

    def construct(self, x: Any, h: Any, seq_length: int, w_ih: Any, w_hh: Any, b_ih: Any,
                  b_hh: Any) -> tuple[Tensor, Any | tuple[Tensor, Any] | tuple[Tensor, ...]]:
        state, outputs = h, []
        for t in range(x.shape[0]):
            new = _lstm_cell(x[t], state, w_ih, w_hh, b_ih, b_hh)
            if seq_length is None:
                state = new
                outputs.append(new[0])
                continue
            on = (t < seq_length).expand_dims(-1)
            state = tuple(F.where(on, a, b) for a, b in zip(new, state))
            outputs.append(F.where(on, new[0], F.zeros_like(new[0])))
        return F.stack(outputs), state


_DynamicLSTMAscend = _DynamicLSTMCPUGPU


class ResizeBilinear(Cell):
    """Images x [batch, channels, height, width] in another size, linear between places.

    Args:
        half_pixel_centers (bool): whether places are those of pixels' centres. Default: False.

    Inputs:
        x: Tensor of 4 dimensions.
        size (tuple, optional): the new height and width.
        scale_factor (int, optional): how many times as large both are instead.
        align_corners (bool, optional): whether the corners' centres stay. Default: False.

    Raises:
        TypeError: if size is no tuple of 2 ints, scale_factor no int or align_corners no bool.
        ValueError: if size and scale_factor are both given, or none is, or one is below 1.
    """

    def __init__(self, half_pixel_centers: bool = False) -> None:
        super().__init__()
        self.half_pixel_centers: Any = checkparam.check_bool(half_pixel_centers, "half_pixel_centers", "ResizeBilinear")

    def construct(self, x: Tensor, size: tuple[Any, ...] | list[Any] | None = None, scale_factor: int | None = None,
                  align_corners: bool = False) -> Any:
        checkparam.check_bool(align_corners, "align_corners", "ResizeBilinear")
        if (size is None) == (scale_factor is None):
            raise ValueError("ResizeBilinear: one of 'size' and 'scale_factor' has to be given.")
        if size is None:
            factor = checkparam.check_positive_int(scale_factor, "scale_factor", "ResizeBilinear")
            size = tuple(factor * d for d in x.shape[2:])
        checkparam.check_size_and_element_type_of_tuple("size", size, 2, int, "ResizeBilinear")
        checkparam.check_positive_int_sequence(size, "size", "ResizeBilinear")
        return P.ResizeBilinear(size, align_corners, self.half_pixel_centers)(x)


class TensorArray(Cell):
    """A list of Tensors of one dtype and shape, of any length.

    Args:
        dtype (dtype): the elements' dtype.
        element_shape (tuple): the elements' shape.
        dynamic_size (bool): whether it grows. Default: True.
        size (int): its length at first. Default: 0.
        name (str): kept for its name. Default: "TA".
    """

    element_dtype: DType
    element_shape: tuple[Any, ...]
    dynamic_size: bool
    name: str
    fixed_size: int

    def __init__(self, dtype: DType, element_shape: tuple[Any, ...] | list[Any], dynamic_size: bool = True,
                 size: int = 0, name: str = "TA") -> None:
        super().__init__()
        self.element_dtype, self.element_shape, self.dynamic_size, self.name = (
            dtype,
            tuple(element_shape),
            dynamic_size,
            name,
        )
        self.fixed_size, self._elements = size, {}
        self._length = size

    def _checked(self, index):
        index, size = int(index), self._length if not self.dynamic_size else None
        if index < 0 or size is not None and index >= size:
            raise IndexError(
                f"TensorArray: there is no element {index}" + (f" of {size}." if size is not None else ".")
            )
        return index

    def write(self, index: Any, value: Any) -> Self:
        """Stores a Tensor at an index. IndexError beyond a fixed size, TypeError and ValueError for another dtype or
        shape."""
        index = self._checked(index)
        if value.dtype != self.element_dtype:
            raise TypeError(f"TensorArray: elements have dtype {self.element_dtype}, not {value.dtype}.")
        if tuple(value.shape) != self.element_shape:
            raise ValueError(f"TensorArray: elements have shape {self.element_shape}, not {value.shape}.")
        self._elements[index] = value
        self._length = max(self._length, index + 1)
        return self

    def read(self, index: Any) -> Any:
        """The Tensor at an index, zeros where none was stored. IndexError where there is no element."""
        index = self._checked(index)
        if index >= self._length:
            raise IndexError(f"TensorArray: there is no element {index} of {self._length}.")
        return self._elements[index] if index in self._elements else F.zeros(self.element_shape, self.element_dtype)

    def stack(self) -> Tensor:
        """All elements as one Tensor, in a new first dimension."""
        return F.stack([self.read(i) for i in range(self._length)])

    def size(self) -> Tensor:
        """How many there are."""
        return Tensor(self._length)

    def clear(self) -> bool:
        """Takes all elements out; a fixed size stays."""
        self._elements.clear()
        self._length = 0 if self.dynamic_size else self.fixed_size
        return True

    def close(self) -> bool:
        """As clear."""
        return self.clear()
