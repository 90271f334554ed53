"""Gather and scatter."""

import numpy as np

from pijit._C import Tensor, ops as _ops
from pijit.ops.function.creation import zeros
from pijit.ops.function.shapes import ravel


def gather(input_params, input_indices, axis, batch_dims=0):
    """Slices of one axis by index."""
    return _ops["gather"](input_params, input_indices, axis)


def index_select(input, axis, index):
    """Slices of one axis by a 1-d index."""
    return _ops["gather"](input, index, axis)


def take(input, indices, axis=None):
    """Elements by index; over the flattened input when axis is None."""
    if axis is None:
        return _ops["gather"](ravel(input), indices, 0)
    return _ops["gather"](input, indices, axis)


def gather_elements(input, dim, index):
    """take_along_axis."""
    return _ops["gather_d"](input, index, dim)


gather_d = gather_elements


def gather_nd(input_x, indices):
    """Blocks addressed by the last dimension of indices."""
    return _ops["gather_nd"](input_x, indices)


def tensor_scatter_elements(input_x, indices, updates, axis=0, reduction="none"):
    """input_x with updates written (or added) along one axis."""
    return _ops["scatter_d"](input_x, indices, updates, axis, "update" if reduction == "none" else reduction)


def scatter(input, axis, index, src):
    """input with src written along one axis."""
    return _ops["scatter_d"](input, index, src, axis, "update")


def scatter_nd(indices, updates, shape):
    """Zeros of `shape` with updates added."""
    return _ops["scatter_nd"](zeros(shape, updates.dtype), indices, updates, "add")


def tensor_scatter_update(input_x, indices, updates):
    """Blocks replaced."""
    return _ops["scatter_nd"](input_x, indices, updates, "update")


def tensor_scatter_add(input_x, indices, updates):
    """Blocks added."""
    return _ops["scatter_nd"](input_x, indices, updates, "add")


def tensor_scatter_sub(input_x, indices, updates):
    """Blocks subtracted."""
    return _ops["scatter_nd"](input_x, indices, updates, "sub")


def tensor_scatter_mul(input_x, indices, updates):
    """Blocks multiplied."""
    return _ops["scatter_nd"](input_x, indices, updates, "mul")


def tensor_scatter_max(input_x, indices, updates):
    """Block maxima."""
    return _ops["scatter_nd"](input_x, indices, updates, "max")


def tensor_scatter_min(input_x, indices, updates):
    """Block minima."""
    return _ops["scatter_nd"](input_x, indices, updates, "min")


def masked_fill(input_x, mask, value):
    """value where mask is true."""
    return _ops["select"](mask, value, input_x)


def nonzero(input):
    """Indices of the elements that are not 0, a row each."""
    return Tensor(np.argwhere(input.asnumpy()))


def masked_select(input, mask):
    """The elements where mask is true."""
    a, m = np.broadcast_arrays(input.asnumpy(), mask.asnumpy())
    return Tensor(a[m])
