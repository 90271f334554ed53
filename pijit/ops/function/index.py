"""Gather and scatter."""

import numpy as np

from pijit._C import Tensor, ops as _ops
from pijit.ops.function.creation import arange, zeros
from pijit.ops.function.shapes import _axis, ravel, reshape, stack, transpose


def gather(input_params, input_indices, axis, batch_dims=0):
    """Slices of one axis by index; the first batch_dims dimensions of both go together."""
    n = input_params.ndim
    batch = batch_dims + input_indices.ndim if batch_dims < 0 else batch_dims
    if batch == 0:
        return _ops["gather"](input_params, input_indices, axis)
    at = _axis(axis, n)
    if not 0 < batch <= at or batch > input_indices.ndim:
        raise ValueError(f"For 'gather', 'batch_dims' must be in [0, {min(at, input_indices.ndim)}], but got {batch_dims}.")
    # coordinates of the batch dimensions beside the indices, then the other dimensions where they belong
    order = (*range(batch), at, *range(batch, at), *range(at + 1, n))
    shape = input_indices.shape
    places = [_ops["broadcast_to"](reshape(arange(shape[k]), (1,) * k + (shape[k],) + (1,) * (len(shape) - k - 1)), shape) for k in range(batch)]
    rows = gather_nd(transpose(input_params, order), stack([*places, _ops["cast"](input_indices, places[0].dtype)], -1))
    inner = len(shape) - batch
    between = tuple(range(len(shape), len(shape) + at - batch))
    return transpose(rows, (*range(batch), *between, *range(batch, batch + inner), *range(len(shape) + at - batch, rows.ndim)))


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


def gather_d(x, dim, index):
    """take_along_axis."""
    return gather_elements(x, dim, index)


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


def tensor_scatter_div(input_x, indices, updates):
    """Blocks divided."""
    return _ops["scatter_nd"](input_x, indices, updates, "div")


def tensor_scatter_max(input_x, indices, updates):
    """Block maxima."""
    return _ops["scatter_nd"](input_x, indices, updates, "max")


def tensor_scatter_min(input_x, indices, updates):
    """Block minima."""
    return _ops["scatter_nd"](input_x, indices, updates, "min")


def masked_fill(input_x, mask, value):
    """value where mask is true."""
    return _ops["select"](mask, value, input_x)


def nonzero(input, as_tuple=False):
    """Indices of the elements that are not 0, a row each; as_tuple: a tensor per dimension."""
    if as_tuple:
        return tuple([Tensor(i) for i in np.nonzero(input.asnumpy())])
    return Tensor(np.argwhere(input.asnumpy()))


def masked_select(input, mask):
    """The elements where mask is true."""
    a, m = np.broadcast_arrays(input.asnumpy(), mask.asnumpy())
    return Tensor(a[m])
