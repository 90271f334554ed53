"""Functions of many kinds that are built of others: places, products, fused layers of transformers, names for plain
Python."""

from __future__ import annotations

import builtins
import os
from typing import TYPE_CHECKING

from pijit import _check
from pijit.compute_dtype import one_operator
from pijit import dtype as mstype
from pijit._C import Tensor, ops as _ops
from pijit._numpy import np
from pijit.ops.function.creation import arange, full
from pijit.ops.function.elementwise import _need_tensor, cast, rsqrt, silu, square
from pijit.ops.function.indexing import nonzero
from pijit.ops.function.linalg import matmul
from pijit.ops.function.normalization import layer_norm
from pijit.ops.function.reduction import mean
from pijit.ops.function.shapes import broadcast_to, chunk, concat, expand_dims, reshape, stack
from pijit.ops.function.sorting import sort, topk
from pijit.ops.function.special import _pair
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from typing import Any
    from pijit._C import DType
    from pijit._types import Axis, Number, Shape, TensorLike


# --- numbers ---

def nextafter(input: Tensor, other: TensorLike) -> Tensor:
    """The next number from each element of input in the direction of other's; other where they are equal.

    Both are Tensors of float32 or float64, of one dtype, and broadcast. Raises TypeError for other dtypes; there is no
    gradient.

    Returns:
        Tensor. Float32 and float64 keep their dtype; not for bool, ints and complex.

    Example:
        >>> print(ops.nextafter(Tensor([1.0], ms.float64), Tensor([2.0], ms.float64)) > 1)
        [ True]
    """
    return _ops["nextafter"](*_pair("nextafter", input, other))


def betainc(a: Tensor, b: Tensor, x: Tensor) -> Tensor:
    """The regularised incomplete beta function at x in [0, 1], for a, b > 0: Tensors of float32 or float64, of one
    dtype, which broadcast.

    It has a gradient by x. Raises TypeError for other dtypes."""
    a, x = _pair("betainc", a, x)
    b, x = _pair("betainc", b, x)
    a, x = _pair("betainc", a, x)
    return _ops["betainc"](a, b, x)


def eps(x: Tensor) -> Tensor:
    """The distance from 1 to the next number of x's dtype, in x's shape. x: a Tensor of float16, float32 or float64.

    Args:
        x (Tensor): the input, of any shape and float dtype.

    Returns:
        Tensor of x's shape and dtype. Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `x` is not a Tensor, or the dtype of `x` is not floating.

    Example:
        >>> print(ops.eps(Tensor([5.0], ms.float16)))
        [0.000977]
    """
    _need_tensor("eps", "x", x)
    if not x.dtype.is_floating_point:
        raise _check.refused("eps", "x", _check.FLOATING, x.dtype)
    return full(x.shape, 2.0 ** -{"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}[x.dtype.name.lower()],
                dtype=x.dtype)


# --- places ---

def fill_diagonal(input: Tensor, fill_value: Number, wrap: bool = False) -> Tensor:
    """input with one value on the diagonal: where all indices are equal.

    input: two dimensions, or more of one size. wrap: down a tall matrix the diagonal begins again, a row below. Raises
        ValueError for other shapes."""
    _need_tensor("fill_diagonal", "input", input)
    if input.ndim < 2 or input.ndim > 2 and len(set(input.shape)) > 1:
        raise _check.refused("fill_diagonal", "the input", _check.value("have 2 dimensions, or more of one size"),
                             input.shape)
    on = None
    rows = arange(input.shape[0])
    if input.ndim == 2 and wrap:
        rows = rows % (input.shape[1] + 1)
    first = reshape(rows, (-1,) + (1,) * (input.ndim - 1))
    for k in builtins.range(1, input.ndim):
        here = first == reshape(arange(input.shape[k]), (-1,) + (1,) * (input.ndim - 1 - k))
        on = here if on is None else on & here
    return _ops["select"](on, cast(Tensor(fill_value), input.dtype), input)


def _index_tensors(name, x, indices):
    """The index tensors as one [*places, count] and the shape of what they name."""
    parts = []
    for t in indices:
        if not isinstance(t, Tensor):
            raise _check.refused(name, "indices", _check.value("hold Tensors", shown=_check.type_name), t, TypeError)
        if t.dtype == mstype.bool_:
            at = nonzero(t)
            parts += [at[:, k] for k in builtins.range(t.ndim)]
        else:
            parts.append(t)
    if len(parts) > x.ndim:
        raise _check.refused(name, "the number of indices", _check.at_most(x.ndim), len(parts))
    rank = builtins.max([t.ndim for t in parts])
    shape = [1] * rank
    for t in parts:
        for k, n in enumerate(t.shape, rank - t.ndim):
            shape[k] = n if shape[k] == 1 else shape[k]
    whole = [cast(broadcast_to(t, tuple(shape)), mstype.int64) for t in parts]
    whole = [_ops["select"](t < 0, t + n, t) for t, n in zip(whole, x.shape)]
    return stack(whole, -1), (*shape, *x.shape[len(parts):])


def index_put(input: Tensor, indices: Tensor, values: Tensor, accumulate: bool = False) -> Tensor:
    """input with `values` at the places that index tensors name, or added there.

    indices: a tuple of Tensors, ints that broadcast, or bools, one for each of the first dimensions; values: a Tensor
        of input's dtype that
    broadcasts to input[indices]. Returns a new tensor. Raises TypeError where the dtypes differ, ValueError for too
    many indices."""
    _need_tensor("index_put", "input", input)
    if values.dtype != input.dtype:
        raise _check.refused("index_put", "values", _check.value(f"be of the input's dtype {input.dtype}"),
                             values.dtype, TypeError)
    at, shape = _index_tensors("index_put", input, indices)
    return _ops["scatter_nd"](input, at, broadcast_to(values, tuple(shape)), "add" if accumulate else "update")


def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """input with the elements of `source`, in their order, where mask is true.

    mask: a bool Tensor that broadcasts with input; source: of input's dtype, with at least as many elements as are
        asked for. Raises TypeError for
    other dtypes."""
    for name, t in (("input", input), ("mask", mask), ("source", source)):
        _need_tensor("masked_scatter", name, t)
    if mask.dtype != mstype.bool_:
        raise _check.refused("masked_scatter", "mask", _check.dtypes("bool"), mask.dtype)
    if source.dtype != input.dtype:
        raise _check.refused("masked_scatter", "source", _check.value(f"be of the input's dtype {input.dtype}"),
                             source.dtype, TypeError)
    whole = reshape(broadcast_to(mask, input.shape), (-1,))
    at = _ops["cumsum"](cast(whole, mstype.int64), 0) - 1
    at = _ops["minimum"](_ops["maximum"](at, 0), source.size - 1)
    taken = reshape(_ops["gather"](reshape(source, (-1,)), at, 0), input.shape)
    return _ops["select"](reshape(whole, input.shape), taken, input)


def kthvalue(input: Tensor, k: int, dim: Axis = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """(the k-th least elements along a dimension, their indices as int64); k counts from 1.

    Raises ValueError where k isn't in [1, size]."""
    _need_tensor("kthvalue", "input", input)
    x = reshape(input, (1,)) if input.ndim == 0 else input
    size = x.shape[dim]
    if not 1 <= k <= size:
        raise _check.refused("kthvalue", "k", _check.within(1, size), k)
    values, at = sort(x, dim, False)
    axis = dim % x.ndim
    part = tuple(slice(k - 1, k) if d == axis else slice(None) for d in builtins.range(x.ndim))
    values, at = values[part], cast(at[part], mstype.int64)
    if not keepdim or input.ndim == 0:
        shape = tuple(n for d, n in enumerate(values.shape) if d != axis)
        values, at = reshape(values, shape), reshape(at, shape)
    return values, at


def put_(input: Tensor, index: Tensor, source: int | Tensor, accumulate: bool = False) -> Tensor:
    """Puts the elements of source at flat places of input, in place; adds them there with accumulate. Returns input.

    Args:
        input (Tensor): the input, of any shape and a number dtype, that of the other operand.
        index (Tensor): where: ints.
        source (Tensor or int): what is taken.
        accumulate (bool, optional): whether values are added to those there. Default: False.

    Returns:
        input. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `index` does not fit, or the shape of `source` does not fit.

    Example:
        >>> print(ops.put_(Tensor([1, 2, 3]), Tensor([0]), Tensor([9])))
        [9 2 3]
    """
    flat = _ops["scatter_nd"](reshape(input, (-1,)), reshape(cast(index, mstype.int64), (-1, 1)),
                              reshape(source, (-1,)), "add" if accumulate else "update")
    return input._assign(reshape(flat, input.shape))


def reshape_(input: Tensor, shape: Shape) -> Tensor:
    """The same elements in another shape.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        shape (tuple of int): the shape of the result.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> ops.reshape_(Tensor([1, 2]), (2, 1)).shape
        (2, 1)
    """
    return reshape(input, shape)


def top_k(input_x: Tensor, k: int, sorted: bool = True) -> tuple[Tensor, Tensor]:
    """(the k largest along the last axis, in descending order; their indices as int32).

    Args:
        input_x (Tensor): the input, of 1 dimension or more and bool, int or float dtype.
        k (int): which one, or how many.
        sorted (bool, optional): whether they come in order; they do in any case. Default: True.

    Returns:
        (Tensor, int32 Tensor). Bool, ints and floats keep their dtype; not for complex.

    Example:
        >>> print(ops.top_k(Tensor([1.0, 3.0, 2.0]), 2)[0])
        [3. 2.]
    """
    return topk(input_x, k)


@_named(primitive="TensorShape")
def dyn_shape(input_x: Tensor) -> Tensor:
    """The shape as a vector of int64.

    Args:
        input_x (Tensor): the input, of any shape and any dtype.

    Returns:
        int64 Tensor. Bool, floats and complex give int64.

    Raises:
        TypeError: if `input_x` is not a Tensor.

    Example:
        >>> print(ops.dyn_shape(Tensor([[1, 2]])))
        [1 2]
    """
    _need_tensor("dyn_shape", "input_x", input_x)
    return Tensor(np.array(input_x.shape, np.int64))


def shape_(x: Tensor) -> tuple[int, ...]:
    """The shape as a tuple.

    Args:
        x (Tensor): the input, of any shape and any dtype.

    Returns:
        tuple of ints. Takes bool, ints, floats and complex.

    Raises:
        TypeError: if `x` is not a Tensor.

    Example:
        >>> ops.shape_(Tensor([[1, 2]]))
        (1, 2)
    """
    _need_tensor("shape_", "x", x)
    return x.shape


def deepcopy(input_x: Tensor) -> Tensor:
    """A new tensor with the same value. TypeError where input_x is none.

    Args:
        input_x (Tensor): the input, of any shape and any dtype.

    Returns:
        Tensor of input_x's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input_x` is not a Tensor.

    Example:
        >>> print(ops.deepcopy(Tensor([1, 2])))
        [1 2]
    """
    _need_tensor("deepcopy", "input_x", input_x)
    return input_x._alias()


def move_to(input: Tensor, to: str = "CPU", blocking: bool = True) -> Tensor:
    """The tensor on another device; itself if it is there. Raises ValueError unless `to` is 'CPU', 'GPU' or 'Ascend',
    and RuntimeError where there is no such device.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        to (str, optional): 'CPU', 'GPU' or 'Ascend'. Default: 'CPU'.
        blocking (bool, optional): whether to wait; nothing has to. Default: True.

    Returns:
        The tensor, there. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.move_to(Tensor([1, 2]), "CPU"))
        [1 2]
    """
    if to not in ("CPU", "GPU", "Ascend"):
        raise _check.refused("move_to", "to", _check.one_of("CPU", "GPU", "Ascend"), to)
    return input if to == input.device else input._on_device(to)


# --- products ---

def bidense(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input1 weight[k] input2 for each output k, plus the bias.

    input1: [..., n1]; input2: [..., n2]; weight: [out, n1, n2]; bias: [out]. Returns [..., out]. Raises ValueError
        where shapes don't fit.

    Example:
        >>> print(ops.bidense(ops.ones((1, 2)), ops.ones((1, 3)), ops.ones((4, 2, 3))))
        [[6. 6. 6. 6.]]
    """
    if weight.ndim != 3 or input1.shape[-1] != weight.shape[1] or input2.shape[-1] != weight.shape[2]:
        raise _check.expected("bidense", "input1 [..., n1], input2 [..., n2] and weight [out, n1, n2]",
                              _check.several(input1.shape, input2.shape, weight.shape))
    out, n1, n2 = weight.shape
    left = matmul(input1, reshape(_ops["transpose"](weight, (1, 0, 2)), (n1, out * n2)))
    left = reshape(left, (*input1.shape[:-1], out, n2))
    y = _ops["reduce_sum"](left * expand_dims(input2, -2), -1, False)
    return y if bias is None else y + bias


def batch_dot(x1: Tensor, x2: Tensor, axes: Axis | None = None) -> Tensor:
    """Products of two batches, summed over one dimension of each.

    x1, x2: [batch, ...] float32 of at least 2 dimensions; axes: the dimension of each, or one for both; by default the
        last of x1 and the one
    before the last of x2 (of two dimensions: the last). Returns [batch, rest of x1, rest of x2], [batch, 1] of two
    matrices. Raises TypeError or ValueError for other kinds and shapes.

    Example:
        >>> print(ops.batch_dot(ops.ones((2, 3)), ops.ones((2, 3))))
        [[3.]
         [3.]]
    """
    for name, x in (("x1", x1), ("x2", x2)):
        _need_tensor("batch_dot", name, x)
        if x.dtype != mstype.float32:
            raise _check.refused("batch_dot", name, _check.dtypes("float32"), x.dtype)
        if x.ndim < 2:
            raise _check.refused("batch_dot", name, _check.least_dims(2), x.ndim)
    if x1.shape[0] != x2.shape[0]:
        raise _check.refused("batch_dot", "the batches", _check.value("agree"),
                             _check.several(x1.shape[0], x2.shape[0]))
    if axes is None:
        axes = (x1.ndim - 1, builtins.max(x2.ndim - 2, 1))
    elif isinstance(axes, int):
        axes = (axes, axes)
    a, b = axes[0] % x1.ndim, axes[1] % x2.ndim
    if a == 0 or b == 0:
        raise _check.refused("batch_dot", "axes", _check.value("not name the batch"), tuple(axes))
    if x1.shape[a] != x2.shape[b]:
        raise _check.refused("batch_dot", "the summed dimensions", _check.value("agree"),
                             _check.several(x1.shape[a], x2.shape[b]))
    n, size = x1.shape[0], x1.shape[a]
    ra, rb = ([k for k in builtins.range(1, x.ndim) if k != d] for x, d in ((x1, a), (x2, b)))
    left = reshape(_ops["transpose"](x1, (0, *ra, a)), (n, -1, size))
    right = reshape(_ops["transpose"](x2, (0, b, *rb)), (n, size, -1))
    shape = (n, *(x1.shape[k] for k in ra), *(x2.shape[k] for k in rb))
    return reshape(_ops["matmul"](left, right), shape if len(shape) > 1 else (n, 1))


def ctc_greedy_decoder(inputs: Any, sequence_length: Any,
                       merge_repeated: bool = True) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The best class at each step, without blanks and (merge_repeated) immediate repetitions.

    inputs: [time, batch, classes] float32 or float64, whose last class is the blank; sequence_length: [batch] int32.
        Returns (indices [n, 2]
    int64 of (batch, place), values [n] int64, shape [2] int64, log probabilities [batch, 1]: minus the sums of the best
    inputs). Raises RuntimeError for sequences longer than there are steps.

    Example:
        >>> print(ops.ctc_greedy_decoder(Tensor([[[0.9, 0.1]], [[0.1, 0.9]]]), Tensor([2], ms.int32))[1])
        [0]
    """
    _need_tensor("ctc_greedy_decoder", "inputs", inputs)
    _need_tensor("ctc_greedy_decoder", "sequence_length", sequence_length)
    if inputs.ndim != 3 or sequence_length.ndim != 1 or sequence_length.shape[0] != inputs.shape[1]:
        raise _check.expected("ctc_greedy_decoder", "inputs [time, batch, classes] and sequence_length [batch]",
                              _check.several(inputs.shape, sequence_length.shape))
    lengths = sequence_length.asnumpy().tolist()
    if builtins.max(lengths) > inputs.shape[0]:
        raise _check.refused("ctc_greedy_decoder", "sequence_length", _check.at_most(inputs.shape[0]), lengths,
                             RuntimeError)
    best = _ops["argmax"](inputs, -1).asnumpy()
    at, values, longest = [], [], 0
    for b, length in enumerate(lengths):
        previous, count = -1, 0
        for c in best[:length, b].tolist():
            if c != inputs.shape[2] - 1 and not (merge_repeated and c == previous):
                at.append([b, count])
                values.append(c)
                count += 1
            previous = c
        longest = builtins.max(longest, count)
    inside = expand_dims(arange(inputs.shape[0]), 1) < cast(sequence_length, mstype.int64)
    top = _ops["select"](inside, _ops["reduce_max"](inputs, -1, False), 0.0)
    score = -reshape(_ops["reduce_sum"](top, 0, False), (-1, 1))
    return (Tensor(np.array(at, np.int64).reshape(-1, 2)), Tensor(np.array(values, np.int64)),
            Tensor(np.array([len(lengths), longest], np.int64)), score)


# --- layers of transformers ---

def swiglu(input: Tensor, dim: int = -1) -> Tensor:
    """silu of the first half of a dimension times the second half. ValueError where the dimension's size is odd.

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        dim (int, optional): the axis; -1 is the last one. Default: -1.

    Returns:
        Tensor, half as long along the dimension. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        TypeError: if `input` is not a Tensor.
        IndexError: if `dim` is out of range.

    Example:
        >>> print(ops.swiglu(Tensor([0.0, 1.0, 2.0, 3.0])))
        [0.        2.1931756]
    """
    _need_tensor("swiglu", "input", input)
    if input.shape[dim] % 2:
        raise _check.refused("swiglu", f"dimension {dim}", _check.value("have an even size"), input.shape[dim])
    a, b = chunk(input, 2, dim)
    return silu(a) * b


@one_operator
def add_layer_norm(x1: Tensor, x2: Tensor, gamma: Any, beta: Any, epsilon: float = 1e-5,
                   additional_output: bool = False) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(layer normalisation of x1 + x2 over the last dimension, means, reciprocal standard deviations, x1 + x2).

    gamma, beta: [n]. The means and deviations are [..., 1] float32. Without additional_output the last result is zeros.

    Args:
        epsilon (float, optional): a small number that keeps the result finite. Default: 1e-05.

    Returns:
        (Tensor, Tensor, Tensor, Tensor). Floats keep their dtype; not for bool, ints and complex.

    Raises:
        TypeError: if `x1` is not a Tensor.
        ValueError: if the shape of `x2` does not fit, or the shape of `gamma` does not fit, or the shape of `beta` does
            not fit.

    Example:
        >>> print(ops.add_layer_norm(Tensor([[1.0, 3.0]]), Tensor([[0.0, 0.0]]), ops.ones(2), ops.zeros(2))[0])
        [[-0.999995  0.999995]]
    """
    x = x1 + x2
    wide = cast(x, mstype.float32)
    m = mean(wide, -1, True)
    rstd = rsqrt(mean(square(wide - m), -1, True) + epsilon)
    return layer_norm(x, (x.shape[-1],), gamma, beta, epsilon), m, rstd, x if additional_output else x * 0


@one_operator
def add_rms_norm(x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor, Tensor]:
    """(x over its root mean square times gamma, the reciprocal of that root, x) for x = x1 + x2; gamma: [n].

    Args:
        x1 (Tensor): the first operand.
        x2 (Tensor): the second operand.
        gamma (Tensor): the factor per element.
        epsilon (float, optional): a small number that keeps the result finite. Default: 1e-06.

    Returns:
        (Tensor, Tensor, Tensor). Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `x1` is not a Tensor.
        ValueError: if the shape of `x2` does not fit, or the shape of `gamma` does not fit.

    Example:
        >>> print(ops.add_rms_norm(Tensor([[1.0, 1.0]]), Tensor([[2.0, 2.0]]), ops.ones(2))[2])
        [[3. 3.]]
    """
    x = x1 + x2
    wide = cast(x, mstype.float32)
    rstd = rsqrt(mean(square(wide), -1, True) + epsilon)
    return cast(wide * rstd, x.dtype) * gamma, rstd, x


def rotary_position_embedding(x: Tensor, cos: Any, sin: Any, mode: int = 0) -> Tensor:
    """x cos + rotated(x) sin, for x [..., size] and cos, sin that broadcast with it.

    mode 0 rotates halves: (-second, first); mode 1 neighbours: (-x1, x0, -x3, x2, …). ValueError for another mode or an
        odd size.

    Returns:
        Tensor of x's shape and dtype. Ints, floats and complex keep their dtype; not for bool.

    Raises:
        ValueError: if the shape of `cos` does not fit, or the shape of `sin` does not fit, or `mode` is not 0 or 1.

    Example:
        >>> print(ops.rotary_position_embedding(ops.ones((1, 1, 1, 2)), ops.zeros((1, 1, 1, 2)), ops.ones((1, 1, 1,
        ...     2))))
        [[[[-1.  1.]]]]
    """
    if mode not in (0, 1):
        raise _check.refused("rotary_position_embedding", "mode", _check.one_of(0, 1), mode)
    if x.shape[-1] % 2:
        raise _check.refused("rotary_position_embedding", "the last size", _check.value("be even"), x.shape[-1])
    if mode == 0:
        a, b = chunk(x, 2, -1)
        turned = concat([-b, a], -1)
    else:
        turned = reshape(stack([-x[..., 1::2], x[..., ::2]], -1), x.shape)
    return x * cos + turned * sin


# --- the same under names that MindSpore keeps beside ---


def make_list(*args: Any) -> list[Any]:
    """The arguments as a list.

    Args:
        *args (object): the arguments.

    Returns:
        list.

    Example:
        >>> ops.make_list(1, 2)
        [1, 2]
    """
    return list(args)


def make_dict(keys: tuple[Any, ...] | list[Any], values: tuple[Any, ...] | list[Any]) -> dict[str, Any]:
    """A dict of two tuples.

    Args:
        keys (tuple): the keys.
        values (tuple): the values.

    Returns:
        dict.

    Example:
        >>> ops.make_dict(("a", "b"), (1, 2))
        {'a': 1, 'b': 2}
    """
    return dict(zip(keys, values))


def make_slice(start: Number, stop: Any, step: Number) -> slice:
    """A slice.

    Args:
        start (number): the first value.
        stop (object): the end.
        step (number): the distance.

    Returns:
        slice.

    Example:
        >>> ops.make_slice(0, 4, 2)
        slice(0, 4, 2)
    """
    return slice(start, stop, step)


def list_setitem(x: list[Any], index: int, value: Any) -> list[Any]:
    """The list with one element replaced: a new one.

    Args:
        x (list): the list.
        index (int): the place.
        value (object): the new value.

    Returns:
        list.

    Example:
        >>> ops.list_setitem([1, 2], 0, 5)
        [5, 2]
    """
    y = list(x)
    y[index] = value
    return y


def dict_setitem(x: dict[Any, Any], key: Any, value: Any) -> dict[str, Any]:
    """The dict with one value replaced or added: a new one.

    Args:
        x (dict): the dict.
        key (object): the key.
        value (object): the new value.

    Returns:
        dict.

    Example:
        >>> ops.dict_setitem({"a": 1}, "b", 2)
        {'a': 1, 'b': 2}
    """
    return {**x, key: value}


def reduced_shape(shape: Shape, axes: Shape) -> tuple[int, ...]:
    """The shape after a reduction over axes (all if there are none) that keeps them.

    Args:
        shape (tuple of int): the shape of the result.
        axes (tuple of int): the axes.

    Returns:
        tuple of ints.

    Example:
        >>> ops.reduced_shape((2, 3), (0,))
        (1, 3)
    """
    axes = [a % len(shape) for a in ((axes,) if isinstance(axes, int) else axes)]
    return tuple(1 if not axes or k in axes else n for k, n in enumerate(shape))


def broadcast_gradient_args(x: Shape, y: Shape) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dimensions that gradients by operands of shapes x and y are summed over.

    Args:
        x (tuple of int): the first shape.
        y (tuple of int): the second shape.

    Returns:
        (tuple, tuple).

    Example:
        >>> ops.broadcast_gradient_args((2, 3), (3,))
        ((), (0,))
    """
    rank = builtins.max(len(x), len(y))
    a, b = (1,) * (rank - len(x)) + tuple(x), (1,) * (rank - len(y)) + tuple(y)
    return (tuple(k for k in builtins.range(rank) if a[k] == 1 != b[k] or k < rank - len(x)),
            tuple(k for k in builtins.range(rank) if b[k] == 1 != a[k] or k < rank - len(y)))


def hastype(x: Any, dtype: DType) -> bool:
    """Whether a value is of a dtype: a Tensor never, a number if its own is that.

    Args:
        x (object): the value.
        dtype (dtype): the dtype of the result.

    Returns:
        bool.

    Example:
        >>> ops.hastype(1, ms.int64)
        True
    """
    return not isinstance(x, Tensor) and mstype.get_py_obj_dtype(x) == dtype


def is_tensor_bool_cond(x: Tensor) -> bool:
    """Whether a tensor of one element may be a condition: True. ValueError for others.

    Args:
        x (Tensor): the input, of any shape and any dtype.

    Returns:
        bool.

    Example:
        >>> ops.is_tensor_bool_cond(Tensor([True]))
        True
    """
    if tuple(x.shape) not in ((), (1,)):
        raise ValueError("Only a tensor of shape () or (1,) can be converted to bool, but got the shape "
                         f"{tuple(x.shape)}.")
    return True


def mixed_precision_cast(dst_dtype: DType, x: Tensor) -> Any:
    """x in another floating dtype: a Tensor, or the Tensors in tuples; what isn't floating stays.

    Args:
        dst_dtype (dtype): the dtype.
        x (Tensor): the input, of any shape and any dtype.

    Returns:
        What was given, converted.

    Example:
        >>> ops.mixed_precision_cast(ms.float16, Tensor([1.0])).dtype
        mindspore.float16
    """
    if isinstance(x, tuple):
        return tuple(mixed_precision_cast(dst_dtype, v) for v in x)
    return cast(x, dst_dtype) if isinstance(x, Tensor) and x.dtype.is_floating_point else x


_dumped = {"count": 0}


def tensordump(file_name: str, tensor: Tensor, mode: str = "out") -> None:
    """Saves a tensor as `<file_name>_<dtype>_<number of the dump>.npy`.

    mode: kept ('out', 'in' or 'all': which side of a partition; there is one process). Raises TypeError where file_name
        is no str, ValueError
    where it is empty."""
    if not isinstance(file_name, str):
        raise _check.refused("tensordump", "file_name", _check.STR, file_name)
    if not file_name or mode not in ("out", "in", "all"):
        raise _check.refused("tensordump", "file_name",
                             _check.value("not be empty and 'mode' must be 'out', 'in' or 'all'"),
                             _check.several(file_name, mode))
    _need_tensor("tensordump", "tensor", tensor)
    path = file_name[:-4] if file_name.endswith(".npy") else file_name
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    np.save(f"{path}_{tensor.dtype.name.lower()}_{_dumped['count']}.npy", tensor.asnumpy())
    _dumped["count"] += 1


__all__ = ["nextafter", "eps", "put_", "reshape_", "top_k", "dyn_shape", "shape_", "deepcopy", "move_to", "bidense",
           "batch_dot", "ctc_greedy_decoder", "swiglu", "add_layer_norm", "add_rms_norm", "rotary_position_embedding",
           "make_list", "make_dict", "make_slice", "list_setitem", "dict_setitem", "reduced_shape",
           "broadcast_gradient_args", "hastype", "is_tensor_bool_cond", "mixed_precision_cast", "tensordump"]
