"""Shapes: reshape, transpose, join, split, pad."""

import builtins
import math

from pijit import dtype as mstype
from pijit._C import Tensor, ops as _ops
from pijit.ops.function.elementwise import _need_tensor


def _ints(x):
    if isinstance(x, Tensor):
        return tuple(x.asnumpy().reshape(-1).tolist())
    if isinstance(x, int):
        return (x,)
    return tuple(x)


def _pair(x):
    return (x, x) if isinstance(x, int) else tuple(x)


def _format(name, value):
    known = ("NCHW", "NHWC")
    if value not in known:
        raise ValueError(f"For '{name}', 'data_format' must be one of {list(known)}, but got {value!r}.")
    if value != "NCHW":
        raise ValueError(f"For '{name}', the data_format {value!r} is not supported on the CPU.")


def _axis(axis, ndim):
    return axis + ndim if axis < 0 else axis


def _within(name, axis, ndim):
    if not -ndim <= axis < ndim:
        raise ValueError(f"For '{name}', the axis must be in [{-ndim}, {ndim}), but got {axis}.")


def _same_shape(op, **tensors):
    """Raises ValueError where two Tensors differ in shape: operators that compare element with element don't
    broadcast."""
    (a, x), (b, y) = tensors.items()
    if isinstance(x, Tensor) and isinstance(y, Tensor) and x.shape != y.shape:
        raise ValueError(f"For '{op}', '{a}' and '{b}' must have the same shape, but got {tuple(x.shape)} and "
                         f"{tuple(y.shape)}.")


def shape(input_x):
    """The shape as a tuple.

    Args:
        input_x (Tensor): what the function is of.

    Returns:
        tuple of ints. Takes bool, ints, floats and complex.

    Raises:
        TypeError: where `input_x` is no Tensor.

    Example:
        >>> ops.shape(Tensor([[1, 2]]))
        (1, 2)
    """
    _need_tensor("shape", "input_x", input_x)
    return input_x.shape


def rank(input_x):
    """The number of dimensions.

    Args:
        input_x (Tensor): what the function is of.

    Returns:
        int. Takes bool, ints, floats and complex.

    Raises:
        TypeError: where `input_x` is no Tensor.

    Example:
        >>> ops.rank(Tensor([[1, 2]]))
        2
    """
    _need_tensor("rank", "input_x", input_x)
    return input_x.ndim


def size(input_x):
    """The number of elements.

    Args:
        input_x (Tensor): what the function is of.

    Returns:
        int. Takes bool, ints, floats and complex.

    Raises:
        TypeError: where `input_x` is no Tensor.

    Example:
        >>> ops.size(Tensor([[1, 2]]))
        2
    """
    _need_tensor("size", "input_x", input_x)
    return input_x.size


def numel(input):
    """The number of elements.

    Args:
        input (Tensor): what the function is of.

    Returns:
        int. Takes bool, ints, floats and complex.

    Raises:
        TypeError: where `input` is no Tensor.

    Example:
        >>> ops.numel(Tensor([[1, 2]]))
        2
    """
    _need_tensor("numel", "input", input)
    return input.size


def dtype(x):
    """The element type.

    Args:
        x (Tensor): what the function is of.

    Returns:
        A dtype. Takes bool, ints, floats and complex.

    Raises:
        TypeError: where `x` is no Tensor.

    Example:
        >>> ops.dtype(Tensor([1.0]))
        mindspore.float32
    """
    _need_tensor("dtype", "x", x)
    return x.dtype


def reshape(input, shape):
    """The same elements in another shape; one dimension may be -1.

    Args:
        input (Tensor): what the function is of.
        shape (tuple of int): the shape of the result.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: where `input` is no Tensor.

    Example:
        >>> print(ops.reshape(Tensor([1, 2, 3, 4]), (2, -1)))
        [[1 2]
         [3 4]]
    """
    return _ops["reshape"](input, _ints(shape))


def transpose(input, dims=None, *, input_perm=None):
    """Dimensions permuted. input_perm is the older name of dims.

    Args:
        input (Tensor): what the function is of.
        dims (tuple of int, optional): the order. Default: None.
        input_perm (tuple of int, optional): the older name of dims. Default: None.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.transpose(Tensor([[1, 2], [3, 4]]), (1, 0)))
        [[1 3]
         [2 4]]
    """
    order = input_perm if dims is None else dims
    if order is None:
        raise TypeError("transpose() needs 'dims', the order of the dimensions.")
    n = input.ndim
    return _ops["transpose"](input, tuple([_axis(a, n) for a in order]))


def permute(input, axis):
    """Dimensions in another order.

    Args:
        input (Tensor): what the function is of.
        axis (tuple of int): the order.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.permute(Tensor([[1, 2]]), (1, 0)))
        [[1]
         [2]]
    """
    return transpose(input, axis)


def swapaxes(input, axis0, axis1):
    """Two dimensions exchanged.

    Args:
        input (Tensor): what the function is of.
        axis0 (int): the first of the two axes.
        axis1 (int): the second of the two axes.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: where there is no such `axis0`, or there is no such `axis1`.

    Example:
        >>> print(ops.swapaxes(Tensor([[1, 2]]), 0, 1))
        [[1]
         [2]]
    """
    n = input.ndim
    perm = list(builtins.range(n))
    a, b = _axis(axis0, n), _axis(axis1, n)
    if not (0 <= a < n and 0 <= b < n):
        raise ValueError(f"For 'swapaxes', axes {axis0} and {axis1} are out of range for {n} dimensions.")
    perm[a], perm[b] = perm[b], perm[a]
    return _ops["transpose"](input, tuple(perm))


def moveaxis(x, source, destination):
    """Dimensions moved to new places.

    Args:
        x (Tensor): what the function is of.
        source (int or tuple of int): which axes.
        destination (int or tuple of int): where they go.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> ops.moveaxis(ops.zeros((2, 3, 4)), 0, 2).shape
        (3, 4, 2)
    """
    n = x.ndim
    for a in (*_ints(source), *_ints(destination)):
        _within("moveaxis", a, n)
    src = [_axis(a, n) for a in _ints(source)]
    dst = [_axis(a, n) for a in _ints(destination)]
    perm = [a for a in builtins.range(n) if a not in src]
    for d, s in sorted(zip(dst, src)):
        perm.insert(d, s)
    return _ops["transpose"](x, tuple(perm))


movedim = moveaxis


def t(input):
    """The transpose of a matrix.

    Args:
        input (Tensor): what the function is of.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.t(Tensor([[1, 2]])))
        [[1]
         [2]]
    """
    return _ops["transpose"](input, (1, 0)) if input.ndim == 2 else input


def expand_dims(input_x, axis):
    """A dimension of 1 inserted at `axis`.

    Args:
        input_x (Tensor): what the function is of.
        axis (int): the axis; -1 is the last one.

    Returns:
        Tensor of one more dimension. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: where there is no such `axis`.

    Example:
        >>> print(ops.expand_dims(Tensor([1, 2]), 0))
        [[1 2]]
    """
    s = list(input_x.shape)
    n = len(s) + 1
    if not -n <= axis < n:
        raise ValueError(f"For 'expand_dims', 'axis' must be in [{-n}, {n}), but got {axis}.")
    s.insert(axis + n if axis < 0 else axis, 1)
    return _ops["reshape"](input_x, tuple(s))


def unsqueeze(input, dim):
    """A dimension of 1 inserted at `dim`.

    Args:
        input (Tensor): what the function is of.
        dim (int): the axis; -1 is the last one.

    Returns:
        Tensor of one more dimension. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: where there is no such `dim`.

    Example:
        >>> print(ops.unsqueeze(Tensor([1, 2]), 1))
        [[1]
         [2]]
    """
    return expand_dims(input, dim)


def squeeze(input, axis=None):
    """Dimensions of 1 removed: all, or those named (where they are 1).

    Args:
        input (Tensor): what the function is of.
        axis (int, optional): the axis; -1 is the last one. Default: None.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: where there is no such `axis`.

    Example:
        >>> print(ops.squeeze(Tensor([[1, 2]])))
        [1 2]
    """
    s = input.shape
    n = len(s)
    if axis is None:
        return _ops["reshape"](input, tuple([d for d in s if d != 1]))
    drop = [_axis(a, n) for a in _ints(axis)]
    for a in drop:
        if not 0 <= a < n:
            raise ValueError(f"For 'squeeze', 'axis' {axis} is out of range for {n} dimensions.")
    return _ops["reshape"](input, tuple([s[a] for a in builtins.range(n) if a not in drop or s[a] != 1]))


def flatten(input, order="C", *, start_dim=1, end_dim=-1):
    """Dimensions start_dim..end_dim merged; order 'F' reads the elements with the first dimension fastest.

    Args:
        input (Tensor): what the function is of.
        order (str, optional): the order. Default: 'C'.
        start_dim (int, optional): the first dimension. Default: 1.
        end_dim (int, optional): the last dimension. Default: -1.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: where `input` is no Tensor.

    Example:
        >>> ops.flatten(ops.zeros((2, 3, 4))).shape
        (2, 12)
    """
    _need_tensor("flatten", "input", input)
    if order not in ("C", "F"):
        raise ValueError(f"For 'flatten', 'order' must be 'C' or 'F', but got {order!r}.")
    n = input.ndim
    if order == "F":
        input = transpose(input, tuple(builtins.range(n - 1, -1, -1)))
    s = input.shape
    if n == 0:
        return _ops["reshape"](input, (1,))
    a, b = _axis(start_dim, n), _axis(end_dim, n)
    if n == 1:
        a, b = 0, 0
    if 0 in s[:a] + s[b + 1:]:  # the size of the rest doesn't follow
        return _ops["reshape"](input, (*s[:a], math.prod(s[a:b + 1]), *s[b + 1:]))
    return _ops["reshape"](input, s[:a] + (-1,) + s[b + 1:])


def ravel(input):
    """All elements in one dimension.

    Args:
        input (Tensor): what the function is of.

    Returns:
        1-d Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: where `input` is no Tensor.

    Example:
        >>> print(ops.ravel(Tensor([[1, 2], [3, 4]])))
        [1 2 3 4]
    """
    return _ops["reshape"](input, (-1,))


def broadcast_to(input, shape):
    """Broadcast to `shape`; -1 keeps a dimension.

    Args:
        input (Tensor): what the function is of.
        shape (tuple of int): the shape of the result.

    Returns:
        Tensor of the shape asked for. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: where `input` is no Tensor.

    Example:
        >>> print(ops.broadcast_to(Tensor([1, 2]), (2, 2)))
        [[1 2]
         [1 2]]
    """
    return _ops["broadcast_to"](input, _ints(shape))


def expand(input_x, size):
    """Broadcast to `size`.

    Args:
        input_x (Tensor): what the function is of.
        size (tuple of int): the sizes of the result.

    Returns:
        Tensor of the shape asked for. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: where `input_x` is no Tensor.
        ValueError: where the shape of `size` doesn't fit.

    Example:
        >>> print(ops.expand(Tensor([1, 2]), Tensor([2, 2], ms.int32)))
        [[1 2]
         [1 2]]
    """
    return _ops["broadcast_to"](input_x, _ints(size))


def cat(tensors, axis=0):
    """Joined along an existing axis.

    Args:
        tensors (sequence of Tensor): what to join.
        axis (int, optional): the axis; -1 is the last one. Default: 0.

    Returns:
        Tensor.

    Example:
        >>> print(ops.cat((Tensor([1, 2]), Tensor([3]))))
        [1 2 3]
    """
    return _ops["concat"](tensors, axis)


concat = cat


def stack(tensors, axis=0):
    """Joined along a new axis. A single Tensor is a sequence of one.

    Args:
        tensors (sequence of Tensor): what to join.
        axis (int, optional): the axis; -1 is the last one. Default: 0.

    Returns:
        Tensor of one more dimension.

    Example:
        >>> print(ops.stack((Tensor([1, 2]), Tensor([3, 4]))))
        [[1 2]
         [3 4]]
    """
    if isinstance(tensors, Tensor):
        tensors = (tensors,)
    if len(tensors) == 0:
        raise ValueError("For 'stack', 'tensors' must not be empty.")
    return _ops["concat"]([expand_dims(x, axis) for x in tensors], axis)


def split(tensor, split_size_or_sections, axis=0):
    """Pieces of split_size along `axis` (the last may be smaller), or of the sizes listed.

    Args:
        tensor (Tensor): what the function is of.
        split_size_or_sections (int or sequence of int): the size of pieces.
        axis (int, optional): the axis; -1 is the last one. Default: 0.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: where there is no such `axis`.

    Example:
        >>> for part in ops.split(Tensor([1, 2, 3]), 2):
        ...     print(part)
        [1 2]
        [3]
    """
    _within("split", axis, tensor.ndim)
    n = tensor.shape[axis]
    if isinstance(split_size_or_sections, int):
        k = split_size_or_sections
        if k <= 0:
            raise ValueError(f"For 'split', 'split_size_or_sections' must be > 0, but got {k}.")
        sizes = [builtins.min(k, n - i) for i in builtins.range(0, n, k)]
    else:
        sizes = list(split_size_or_sections)
        if builtins.sum(sizes) != n:
            raise ValueError(f"For 'split', the sections {sizes} do not add up to {n}, the size of axis {axis}.")
    out = []
    at = 0
    for k in sizes:
        out.append(narrow(tensor, axis, at, k))
        at += k
    return tuple(out)


def chunk(input, chunks, axis=0):
    """At most `chunks` pieces along `axis`. ValueError for less than one, or another axis than there is.

    Args:
        input (Tensor): what the function is of.
        chunks (int): how many pieces.
        axis (int, optional): the axis; -1 is the last one. Default: 0.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: where there is no such `axis`.

    Example:
        >>> for part in ops.chunk(Tensor([1, 2, 3]), 2):
        ...     print(part)
        [1 2]
        [3]
    """
    _within("chunk", axis, input.ndim)
    if chunks <= 0:
        raise ValueError(f"For 'chunk', 'chunks' must be greater than 0, but got {chunks}.")
    n = input.shape[axis]
    return split(input, -(-n // chunks), axis) if n else tuple([input for _ in builtins.range(chunks)])


def narrow(input, axis, start, length):
    """`length` elements of one axis, from `start`.

    Args:
        input (Tensor): what the function is of.
        axis (int): the axis; -1 is the last one.
        start (int): the first element.
        length (int): how many.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: where there is no such `axis`.

    Example:
        >>> print(ops.narrow(Tensor([1, 2, 3]), 0, 1, 2))
        [2 3]
    """
    s = input.shape
    _within("narrow", axis, len(s))
    a = _axis(axis, len(s))
    begin, end = [0] * len(s), list(s)
    begin[a], end[a] = start, start + length
    return _ops["slice"](input, tuple(begin), tuple(end), (1,) * len(s))


def slice(input_x, begin, size):
    """The box of `size` at `begin`; a size of -1 reaches to the end.

    Args:
        input_x (Tensor): what the function is of.
        begin (tuple of int): where to begin, per axis.
        size (tuple of int): how many, per axis.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.slice(Tensor([1, 2, 3]), (1,), (2,)))
        [2 3]
    """
    s = input_x.shape
    if len(begin) != len(s) or len(size) != len(s):
        raise ValueError(f"For 'slice', 'begin' and 'size' must have {len(s)} elements each, but got {begin} and "
                         f"{size}.")
    if [b for b in begin if b < 0]:
        raise ValueError(f"For 'slice', 'begin' must not be below 0, but got {begin}.")
    end = tuple([s[i] if size[i] == -1 else begin[i] + size[i] for i in builtins.range(len(s))])
    return _ops["slice"](input_x, tuple(begin), end, (1,) * len(s))


def strided_slice(input_x, begin, end, strides, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0,
                  shrink_axis_mask=0):
    """Python slices per axis. Bit k of a mask: place k has no begin, no end, is `...`, a new axis, or an index that
    drops its axis.

    Args:
        input_x (Tensor): what the function is of.
        begin (tuple of int): where to begin, per axis.
        end (tuple of int): where to end, per axis.
        strides (tuple of int): the step along each axis.
        begin_mask (int, optional): axes without a begin. Default: 0.
        end_mask (int, optional): axes without an end. Default: 0.
        ellipsis_mask (int, optional): the place of .... Default: 0.
        new_axis_mask (int, optional): places of new axes. Default: 0.
        shrink_axis_mask (int, optional): axes that go. Default: 0.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: where `input_x` is no Tensor.

    Example:
        >>> print(ops.strided_slice(Tensor([1, 2, 3]), (0,), (3,), (2,)))
        [1 3]
    """
    index = []
    for k in builtins.range(len(begin)):
        bit = 1 << k
        if ellipsis_mask & bit:
            index.append(Ellipsis)
        elif new_axis_mask & bit:
            index.append(None)
        elif shrink_axis_mask & bit:
            index.append(begin[k])
        else:
            index.append(builtins.slice(None if begin_mask & bit else begin[k], None if end_mask & bit else end[k],
                                        strides[k]))
    return input_x[tuple(index)]


def unbind(input, dim=0):
    """The slices along one axis.

    Args:
        input (Tensor): what the function is of.
        dim (int, optional): the axis; -1 is the last one. Default: 0.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: where there is no such `dim`.

    Example:
        >>> for part in ops.unbind(Tensor([[1, 2], [3, 4]])):
        ...     print(part)
        [1 2]
        [3 4]
    """
    _within("unbind", dim, input.ndim)
    return tuple([squeeze(narrow(input, dim, i, 1), dim) for i in builtins.range(input.shape[dim])])


def unstack(input_x, axis=0):
    """The slices along one axis.

    Args:
        input_x (Tensor): what the function is of.
        axis (int, optional): the axis; -1 is the last one. Default: 0.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: where there is no such `axis`.

    Example:
        >>> for part in ops.unstack(Tensor([[1, 2], [3, 4]])):
        ...     print(part)
        [1 2]
        [3 4]
    """
    return unbind(input_x, axis)


def tensor_split(input, indices_or_sections, axis=0):
    """Pieces along `axis`: that many, the first ones longer by 1 where the size does not divide, or between indices.

    Raises ValueError for less than one piece and TypeError for other kinds.

    Args:
        input (Tensor): what the function is of.
        indices_or_sections (int or sequence of int): how many pieces, or where to cut.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> for part in ops.tensor_split(Tensor([1, 2, 3]), 2):
        ...     print(part)
        [1 2]
        [3]
    """
    _within("tensor_split", axis, input.ndim)
    n = input.shape[axis]
    if isinstance(indices_or_sections, int) and not isinstance(indices_or_sections, bool):
        k = indices_or_sections
        if k <= 0:
            raise ValueError(f"For 'tensor_split', 'indices_or_sections' must be > 0, but got {k}.")
        if k > builtins.max(n, 1 << 20):
            raise ValueError(f"For 'tensor_split', {k} pieces of a dimension of {n} are more than can be held.")
        ends = [(i + 1) * (n // k) + builtins.min(i + 1, n % k) for i in builtins.range(k)]
    elif isinstance(indices_or_sections, (tuple, list)):
        ends = [*indices_or_sections, n]
    else:
        raise TypeError("For 'tensor_split', 'indices_or_sections' must be an int, a tuple or a list, but got "
                        f"{type(indices_or_sections).__name__}.")
    axis = _axis(axis, len(input.shape))
    out, begin = [], 0
    for end in ends:
        out.append(input[(builtins.slice(None),) * axis + (builtins.slice(begin, end),)])
        begin = end
    return tuple(out)


def hsplit(input, indices_or_sections):
    """tensor_split along the second axis.

    Args:
        input (Tensor): what the function is of.
        indices_or_sections (int or sequence of int): how many pieces, or where to cut.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> for part in ops.hsplit(Tensor([[1, 2]]), 2):
        ...     print(part)
        [[1]]
        [[2]]
    """
    return _split_along("hsplit", input, indices_or_sections, 1)


def vsplit(input, indices_or_sections):
    """tensor_split along the first axis.

    Args:
        input (Tensor): what the function is of.
        indices_or_sections (int or sequence of int): how many pieces, or where to cut.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> for part in ops.vsplit(Tensor([[1], [2]]), 2):
        ...     print(part)
        [[1]]
        [[2]]
    """
    return _split_along("vsplit", input, indices_or_sections, 0)


def dsplit(input, indices_or_sections):
    """tensor_split along the third axis.

    Args:
        input (Tensor): what the function is of.
        indices_or_sections (int or sequence of int): how many pieces, or where to cut.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> for part in ops.dsplit(Tensor([[[1, 2]]]), 2):
        ...     print(part)
        [[[1]]]
        [[[2]]]
    """
    return _split_along("dsplit", input, indices_or_sections, 2)


def _split_along(name, input, indices_or_sections, axis):
    if len(input.shape) <= axis:
        raise ValueError(f"For '{name}', expected a tensor of at least {axis + 1} dimensions, but got "
                         f"{len(input.shape)}.")
    return tensor_split(input, indices_or_sections, axis)


def flip(input, dims):
    """Axes reversed. ValueError for an axis there is not.

    Args:
        input (Tensor): what the function is of.
        dims (tuple of int): the axes.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.flip(Tensor([1, 2, 3]), (0,)))
        [3 2 1]
    """
    s = input.shape
    n = len(s)
    for a in _ints(dims):
        _within("flip", a, n)
    axes = [_axis(a, n) for a in _ints(dims)]
    if len(set(axes)) != len(axes):
        raise ValueError(f"For 'flip', 'dims' must name different axes, but got {dims}.")
    begin = tuple([s[a] - 1 if a in axes and s[a] else 0 for a in builtins.range(n)])
    end = tuple([-1 if a in axes and s[a] else s[a] for a in builtins.range(n)])
    return _ops["slice"](input, begin, end, tuple([-1 if a in axes and s[a] else 1 for a in builtins.range(n)]))


def reverse(x, axis):
    """The order of elements reversed along axes.

    Args:
        x (Tensor): what the function is of.
        axis (int): the axis; -1 is the last one.

    Returns:
        Tensor of x's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.function.reverse(Tensor([1, 2, 3]), [0]))
        [3 2 1]
    """
    return flip(x, axis)


def tile(input, dims):
    """Repeated dims[i] times along axis i.

    Args:
        input (Tensor): what the function is of.
        dims (tuple of int): the axes.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.tile(Tensor([1, 2]), (2,)))
        [1 2 1 2]
    """
    reps = list(_ints(dims))
    s = list(input.shape)
    while len(reps) < len(s):
        reps.insert(0, 1)
    while len(s) < len(reps):
        s.insert(0, 1)
    inner, wide = [], []
    for r, d in zip(reps, s):
        inner += [1, d]
        wide += [r, d]
    x = _ops["broadcast_to"](_ops["reshape"](input, tuple(inner)), tuple(wide)) if len(wide) <= 8 else None
    if x is None:
        x = _ops["reshape"](input, tuple(s))
        for a, r in enumerate(reps):
            if r != 1:
                x = _ops["concat"]([x] * r, a)
        return x
    return _ops["reshape"](x, tuple([r * d for r, d in zip(reps, s)]))


def repeat_interleave(input, repeats, axis=None):
    """Each element repeated in place: so many times, or as often as a list or Tensor says for each of the axis.

    Raises ValueError for negative numbers, and where `repeats` and the axis differ in size.

    Args:
        input (Tensor): what the function is of.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.repeat_interleave(Tensor([1, 2]), 2))
        [1 1 2 2]
    """
    if axis is None:
        input, axis = ravel(input), 0
    s = input.shape
    a = _axis(axis, len(s))
    if not isinstance(repeats, int):
        counts = [int(k) for k in (repeats.asnumpy().ravel() if isinstance(repeats, Tensor) else repeats)]
        if len(counts) == 1:
            repeats = counts[0]
        else:
            if len(counts) != s[a] or builtins.min(counts) < 0:
                raise ValueError(f"For 'repeat_interleave', 'repeats' must hold {s[a]} numbers >= 0, one for each "
                                 f"element of axis {axis}, but got {counts}.")
            at = [k for k in builtins.range(s[a]) for _ in builtins.range(counts[k])]
            return _ops["gather"](input, Tensor(at, mstype.int64), a)
    if repeats < 0:
        raise ValueError(f"For 'repeat_interleave', 'repeats' must be >= 0, but got {repeats}.")
    x = _ops["broadcast_to"](expand_dims(input, a + 1), s[:a + 1] + (repeats,) + s[a + 1:])
    return _ops["reshape"](x, s[:a] + (s[a] * repeats,) + s[a + 1:])


def pad(input_x, padding, mode="constant", value=None):
    """Padded from the last dimension backwards: (left, right, top, bottom, ...).

    Args:
        input_x (Tensor): what the function is of.
        padding (tuple of int): (left, right, top, bottom, ...). Negative ones take elements away.
        mode (str, optional): 'constant', 'reflect', 'replicate' or 'circular'. Default: 'constant'.
        value (number, optional): the value of the border. Default: None.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: where `mode` isn't one of those named.

    Example:
        >>> print(ops.pad(Tensor([1, 2]), (1, 2)))
        [0 1 2 0 0]
    """
    if mode not in ("constant", *_BORDERS):
        raise ValueError("For 'pad', 'mode' must be 'constant', 'reflect', 'replicate' or 'circular', but got "
                         f"{mode!r}.")
    p = _ints(padding)
    n = input_x.ndim
    if len(p) % 2 or len(p) // 2 > n:
        raise ValueError(f"For 'pad', 'padding' must hold pairs for at most {n} dimensions, but got {p}.")
    if mode != "constant":
        for i in builtins.range(len(p) // 2):
            input_x = _bordered(input_x, n - 1 - i, p[2 * i], p[2 * i + 1], mode)
        return input_x
    low, high = [0] * n, [0] * n
    for i in builtins.range(len(p) // 2):
        before, behind = p[2 * i], p[2 * i + 1]
        if before < 0 or behind < 0:
            input_x = _cut(input_x, n - 1 - i, before, behind)
        low[n - 1 - i], high[n - 1 - i] = builtins.max(before, 0), builtins.max(behind, 0)
    return _ops["pad"](input_x, tuple(low), tuple(high), 0.0 if value is None else value)


# mode: (parts that stand before, behind) an axis of x, `count` elements each
_BORDERS = {
    "reflect": (lambda x, axis, count: flip(narrow(x, axis, 1, count), (axis,)),
                lambda x, axis, count: flip(narrow(x, axis, x.shape[axis] - 1 - count, count), (axis,))),
    "replicate": (lambda x, axis, count: repeat_interleave(narrow(x, axis, 0, 1), count, axis),
                  lambda x, axis, count: repeat_interleave(narrow(x, axis, x.shape[axis] - 1, 1), count, axis)),
    "circular": (lambda x, axis, count: narrow(x, axis, x.shape[axis] - count, count),
                 lambda x, axis, count: narrow(x, axis, 0, count)),
}


def _bordered(x, axis, before, behind, mode):
    n = x.shape[axis]
    most = {"reflect": n - 1, "circular": n}.get(mode)
    if most is not None and builtins.max(before, behind) > most:
        raise ValueError(f"For 'pad', a padding of mode {mode!r} must be at most {most} for a dimension of {n}, but "
                         f"got {builtins.max(before, behind)}.")
    first, last = _BORDERS[mode]
    parts = [x]
    if before > 0:
        parts.insert(0, first(x, axis, before))
    if behind > 0:
        parts.append(last(x, axis, behind))
    x = _ops["concat"](parts, axis) if len(parts) > 1 else x
    return _cut(x, axis, before, behind) if before < 0 or behind < 0 else x


def _cut(x, axis, before, behind):
    """Negative padding takes elements away."""
    low, length = builtins.max(-before, 0), x.shape[axis] + builtins.min(before, 0) + builtins.min(behind, 0)
    if length < 0:
        raise ValueError(f"For 'pad', a dimension of {x.shape[axis]} has too few elements for the padding "
                         f"{(before, behind)}.")
    return narrow(x, axis, low, length)


def meshgrid(*inputs, indexing="xy"):
    """Coordinate matrices from vectors.

    Args:
        *inputs (Tensor): what the function is of.
        indexing (str, optional): 'xy' (rows and columns exchanged) or 'ij'. Default: 'xy'.

    Returns:
        tuple of Tensors. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> for part in ops.meshgrid(Tensor([1, 2]), Tensor([3, 4])):
        ...     print(part)
        [[1 2]
         [1 2]]
        [[3 3]
         [4 4]]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"For 'meshgrid', 'indexing' must be 'xy' or 'ij', but got {indexing!r}.")
    xs = inputs[0] if len(inputs) == 1 and isinstance(inputs[0], (list, tuple)) else inputs
    shape = [x.size for x in xs]
    out = []
    for i, x in enumerate(xs):
        s = [1] * len(xs)
        s[i] = -1
        g = _ops["broadcast_to"](_ops["reshape"](x, tuple(s)), tuple(shape))
        out.append(swapaxes(g, 0, 1) if indexing == "xy" and len(xs) > 1 else g)
    return tuple(out)


def roll(input, shifts, dims=None):
    """Elements shifted along dimensions, what leaves at the end coming in at the start; of the flattened
    tensor if dims is None.

    Args:
        input (Tensor): what the function is of.
        shifts (int or tuple of int): how far.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: where `input` is no Tensor.

    Example:
        >>> print(ops.roll(Tensor([1, 2, 3]), 1))
        [3 1 2]
    """
    if dims is None:
        return reshape(roll(ravel(input), shifts, 0), input.shape)
    shifts, dims = _ints(shifts), _ints(dims)
    if len(shifts) != len(dims):
        raise ValueError(f"For 'roll', 'shifts' and 'dims' must agree in number, but got {len(shifts)} and "
                         f"{len(dims)}.")
    for k, d in zip(shifts, dims):
        n = input.shape[d]
        k = k % n if n else 0
        if k:
            input = _ops["concat"]([narrow(input, d, n - k, k), narrow(input, d, 0, n - k)], _axis(d, input.ndim))
    return input


def diagonal(input, offset=0, dim1=0, dim2=1):
    """The diagonal of two dimensions, `offset` above the main one, as the last dimension.

    Args:
        input (Tensor): what the function is of.
        offset (int, optional): which diagonal: 0 the main one, above it positive. Default: 0.
        dim1 (int, optional): the first of the two axes. Default: 0.
        dim2 (int, optional): the second of the two axes. Default: 1.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: where `input` is no Tensor.

    Example:
        >>> print(ops.diagonal(Tensor([[1, 2], [3, 4]])))
        [1 4]
    """
    _need_tensor("diagonal", "input", input)
    n = input.ndim
    a, b = _axis(dim1, n), _axis(dim2, n)
    if n < 2 or a == b:
        raise ValueError(f"For 'diagonal', expected two different dimensions, but got {dim1} and {dim2} of {n}.")
    x = _ops["transpose"](input, tuple([k for k in builtins.range(n) if k not in (a, b)] + [a, b]))
    if offset > 0:
        x = narrow(x, -1, builtins.min(offset, x.shape[-1]), builtins.max(x.shape[-1] - offset, 0))
    elif offset < 0:
        x = narrow(x, -2, builtins.min(-offset, x.shape[-2]), builtins.max(x.shape[-2] + offset, 0))
    rows, cols = x.shape[-2:]
    k = builtins.min(rows, cols)
    lead = tuple(x.shape[:-2])
    if k == 0:
        return reshape(narrow(narrow(x, -1, 0, k), -2, 0, builtins.min(rows, 1)) if rows else x, lead + (0,))
    x = narrow(narrow(x, -1, 0, k), -2, 0, k)
    x = _ops["pad"](reshape(x, lead + (k * k,)), (0,) * (n - 1), (0,) * (n - 2) + (k,), 0.0)
    return narrow(reshape(x, lead + (k, k + 1)), -1, 0, 1).reshape(lead + (k,))


def atleast_1d(inputs):
    """At least one dimension.

    Args:
        inputs (Tensor, or a list or tuple of them): what gets dimensions.

    Returns:
        Tensor, or a list of them. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: where `inputs` is no Tensor.

    Example:
        >>> print(ops.atleast_1d(Tensor(3)))
        [3]
    """
    return _each("atleast_1d", inputs, lambda x: reshape(x, (1,)) if x.ndim == 0 else x)


def atleast_2d(inputs):
    """At least two dimensions, new ones in front.

    Args:
        inputs (Tensor, or a list or tuple of them): what gets dimensions.

    Returns:
        Tensor, or a list of them. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: where `inputs` is no Tensor.

    Example:
        >>> print(ops.atleast_2d(Tensor(3)))
        [[3]]
    """
    return _each("atleast_2d", inputs, lambda x: reshape(x, (1,) * (2 - x.ndim) + tuple(x.shape)) if x.ndim < 2 else x)


def atleast_3d(inputs):
    """At least three dimensions: [n] becomes [1, n, 1], [m, n] [m, n, 1].

    Args:
        inputs (Tensor, or a list or tuple of them): what gets dimensions.

    Returns:
        Tensor, or a list of them. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: where `inputs` is no Tensor.

    Example:
        >>> ops.atleast_3d(Tensor([1, 2])).shape
        (1, 2, 1)
    """
    def widen(x):
        if x.ndim >= 3:
            return x
        return reshape(x, {0: (1, 1, 1), 1: (1, *x.shape, 1), 2: (*x.shape, 1)}[x.ndim])
    return _each("atleast_3d", inputs, widen)


def _each(name, inputs, f):
    if isinstance(inputs, (tuple, list)):
        return type(inputs)([_each(name, x, f) for x in inputs])
    _need_tensor(name, "inputs", inputs)
    return f(inputs)


def hstack(tensors):
    """Joined along axis 1, vectors along axis 0.

    Args:
        tensors (sequence of Tensor): what to join.

    Returns:
        Tensor.

    Example:
        >>> print(ops.hstack((Tensor([1, 2]), Tensor([3]))))
        [1 2 3]
    """
    parts = [atleast_1d(x) for x in tensors]
    return cat(parts, 0 if parts[0].ndim == 1 else 1)


def vstack(inputs):
    """Joined along axis 0, vectors as rows.

    Args:
        inputs (sequence of Tensor): what to join.

    Returns:
        Tensor.

    Example:
        >>> print(ops.vstack((Tensor([1, 2]), Tensor([3, 4]))))
        [[1 2]
         [3 4]]
    """
    return cat([atleast_2d(x) for x in inputs], 0)


def row_stack(tensors):
    """As vstack.

    Args:
        tensors (sequence of Tensor): what to join.

    Returns:
        Tensor.

    Example:
        >>> print(ops.row_stack((Tensor([1, 2]), Tensor([3, 4]))))
        [[1 2]
         [3 4]]
    """
    return vstack(tensors)


def dstack(tensors):
    """Joined along axis 2.

    Args:
        tensors (sequence of Tensor): what to join.

    Returns:
        Tensor.

    Example:
        >>> print(ops.dstack((Tensor([1, 2]), Tensor([3, 4]))))
        [[[1 3]
          [2 4]]]
    """
    return cat([atleast_3d(x) for x in tensors], 2)


def column_stack(tensors):
    """Joined along axis 1, vectors as columns.

    Args:
        tensors (sequence of Tensor): what to join.

    Returns:
        Tensor.

    Example:
        >>> print(ops.column_stack((Tensor([1, 2]), Tensor([3, 4]))))
        [[1 3]
         [2 4]]
    """
    return cat([reshape(x, (-1, 1)) if x.ndim < 2 else x for x in tensors], 1)


def expand_as(input, other):
    """Broadcast to other's shape.

    Args:
        input (Tensor): what the function is of.
        other (Tensor or number): the second operand.

    Returns:
        Tensor of other's shape. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: where `input` is no Tensor.
        ValueError: where the shape of `other` doesn't fit.

    Example:
        >>> print(ops.expand_as(Tensor([1, 2]), ops.zeros((2, 2))))
        [[1 2]
         [1 2]]
    """
    return broadcast_to(input, other.shape)


def view_as(input, other):
    """In other's shape.

    Args:
        input (Tensor): what the function is of.
        other (Tensor or number): the second operand.

    Returns:
        Tensor of other's shape. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: where `input` is no Tensor.
        ValueError: where the shape of `other` doesn't fit.

    Example:
        >>> print(ops.view_as(Tensor([1, 2, 3, 4]), ops.zeros((2, 2))))
        [[1 2]
         [3 4]]
    """
    return reshape(input, other.shape)


def swapdims(input, dim0, dim1):
    """Two dimensions exchanged.

    Args:
        input (Tensor): what the function is of.
        dim0 (int): the first of the two axes.
        dim1 (int): the first of the two axes.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: where there is no such `dim1`.

    Example:
        >>> print(ops.swapdims(Tensor([[1, 2]]), 0, 1))
        [[1]
         [2]]
    """
    return swapaxes(input, dim0, dim1)


def fliplr(input):
    """Axis 1 reversed.

    Args:
        input (Tensor): what the function is of.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: where `input` is no Tensor.

    Example:
        >>> print(ops.fliplr(Tensor([[1, 2]])))
        [[2 1]]
    """
    _need_tensor("fliplr", "input", input)
    return flip(input, (1,))


def flipud(input):
    """Axis 0 reversed.

    Args:
        input (Tensor): what the function is of.

    Returns:
        Tensor of input's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: where `input` is no Tensor.

    Example:
        >>> print(ops.flipud(Tensor([[1], [2]])))
        [[2]
         [1]]
    """
    _need_tensor("flipud", "input", input)
    return flip(input, (0,))


def rot90(input, k, dims):
    """Turned k times by 90 degrees in the plane of two axes, from the first towards the second.

    Args:
        input (Tensor): what the function is of.
        k (int): how many quarter turns.
        dims (tuple of int): the two axes.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.rot90(Tensor([[1, 2], [3, 4]]), 1, (0, 1)))
        [[2 4]
         [1 3]]
    """
    a, b = (_axis(d, input.ndim) for d in dims)
    if a == b:
        raise ValueError(f"For 'rot90', 'dims' must be two different axes, but got {dims}.")
    k %= 4
    if k == 0:
        return input
    if k == 2:
        return flip(input, (a, b))
    return flip(swapaxes(input, a, b), (a,)) if k == 1 else swapaxes(flip(input, (a,)), a, b)


def _embed_diagonal(x, offset):
    """[..., n] as the diagonal, `offset` above the main one, of zeros [..., m, m]."""
    right, down = builtins.max(offset, 0), builtins.max(-offset, 0)
    rank = x.ndim
    m = x.shape[-1] + right + down
    row = _ops["pad"](x, (0,) * (rank - 1) + (right,), (0,) * (rank - 1) + (down,), 0)
    places = _ops["arange"](0, 1, m, mstype.int64)
    on = expand_dims(places, 1) + offset == places
    return _ops["select"](on, expand_dims(row, -2), 0)


def diag_embed(input, offset=0, dim1=-2, dim2=-1):
    """The last axis as the diagonal, `offset` above the main one, of two new axes dim1 and dim2.

    Args:
        input (Tensor): what the function is of.
        offset (int, optional): which diagonal: 0 the main one, above it positive. Default: 0.
        dim1 (int, optional): the first of the two axes. Default: -2.
        dim2 (int, optional): the second of the two axes. Default: -1.

    Returns:
        Tensor of one more dimension. Ints, floats and complex keep their dtype; bool gives int64.

    Example:
        >>> print(ops.diag_embed(Tensor([1, 2])))
        [[1 0]
         [0 2]]
    """
    n = input.ndim + 1
    a, b = _axis(dim1, n), _axis(dim2, n)
    if a == b:
        raise ValueError(f"For 'diag_embed', 'dim1' and 'dim2' must differ, but got {dim1} and {dim2}.")
    y = _embed_diagonal(input, offset)
    order = [k for k in builtins.range(n - 2)]
    for axis, source in sorted(((a, n - 2), (b, n - 1))):
        order.insert(axis, source)
    return _ops["transpose"](y, tuple(order))


def diag(input):
    """A Tensor of twice as many dimensions with the elements on its diagonal: a matrix, for a vector.

    Args:
        input (Tensor): what the function is of.

    Returns:
        Tensor. Ints, floats and complex keep their dtype; bool gives int64.

    Raises:
        TypeError: where `input` is no Tensor.

    Example:
        >>> print(ops.diag(Tensor([1, 2])))
        [[1 0]
         [0 2]]
    """
    _need_tensor("diag", "input", input)
    if input.ndim == 0:
        raise ValueError("For 'diag', the input must have at least 1 dimension, but got 0.")
    return reshape(_embed_diagonal(ravel(input), 0), tuple(input.shape) * 2)


def diagflat(input, offset=0):
    """A matrix with the flattened input as its diagonal, `offset` above the main one.

    Args:
        input (Tensor): what the function is of.
        offset (int, optional): which diagonal: 0 the main one, above it positive. Default: 0.

    Returns:
        Tensor [n, n]. Ints, floats and complex keep their dtype; bool gives int64.

    Raises:
        TypeError: where `input` is no Tensor.

    Example:
        >>> print(ops.diagflat(Tensor([1, 2])))
        [[1 0]
         [0 2]]
    """
    return _embed_diagonal(ravel(input), offset)


def trace(input):
    """The sum of a matrix's diagonal, in its dtype. Raises TypeError for bool.

    Args:
        input (Tensor): what the function is of.

    Returns:
        0-d Tensor. Ints, floats and complex keep their dtype; not for bool.

    Example:
        >>> print(ops.trace(Tensor([[1.0, 2.0], [3.0, 4.0]])))
        5.0
    """
    _need_tensor("trace", "input", input)
    if input.dtype == mstype.bool_:
        raise TypeError("For 'trace', the input must be of numbers, but got Bool.")
    if input.ndim != 2:
        raise ValueError(f"For 'trace', the input must have 2 dimensions, but got {input.ndim}.")
    return _ops["reduce_sum"](diagonal(input), (), False)


def repeat_elements(x, rep, axis=0):
    """Each element of an axis repeated.

    Args:
        x (Tensor): what the function is of.
        rep (int): how often.
        axis (int, optional): the axis; -1 is the last one. Default: 0.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Raises:
        ValueError: where there is no such `axis`.

    Example:
        >>> print(ops.repeat_elements(Tensor([1, 2]), 2))
        [1 1 2 2]
    """
    return repeat_interleave(x, rep, axis)


def pixel_shuffle(input, upscale_factor):
    """[..., C r^2, H, W] to [..., C, H r, W r] (Shi et al. 2016).

    Args:
        input (Tensor): what the function is of.
        upscale_factor (int): the factor.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> ops.pixel_shuffle(ops.zeros((1, 4, 1, 1)), 2).shape
        (1, 1, 2, 2)
    """
    r = upscale_factor
    *lead, c, h, w = input.shape
    if r <= 0 or c % (r * r):
        raise ValueError(f"For 'pixel_shuffle', the channels must be a multiple of upscale_factor^2, but got {c} and "
                         f"{r}.")
    n = len(lead)
    x = reshape(input, (*lead, c // (r * r), r, r, h, w))
    x = _ops["transpose"](x, (*builtins.range(n), n, n + 3, n + 1, n + 4, n + 2))
    return reshape(x, (*lead, c // (r * r), h * r, w * r))


def pixel_unshuffle(input, downscale_factor):
    """[..., C, H r, W r] to [..., C r^2, H, W].

    Args:
        input (Tensor): what the function is of.
        downscale_factor (int): the factor.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> ops.pixel_unshuffle(ops.zeros((1, 1, 2, 2)), 2).shape
        (1, 4, 1, 1)
    """
    r = downscale_factor
    *lead, c, h, w = input.shape
    if r <= 0 or h % r or w % r:
        raise ValueError(f"For 'pixel_unshuffle', height and width must be multiples of downscale_factor, but got {h}, "
                         f"{w} and {r}.")
    n = len(lead)
    x = reshape(input, (*lead, c, h // r, r, w // r, r))
    x = _ops["transpose"](x, (*builtins.range(n), n, n + 2, n + 4, n + 1, n + 3))
    return reshape(x, (*lead, c * r * r, h // r, w // r))


def channel_shuffle(x, groups):
    """Channels of [N, C, ...] taken from the groups in turn (Zhang et al. 2017).

    Args:
        x (Tensor): what the function is of.
        groups (int): how many groups the channels are divided into.

    Returns:
        Tensor of x's shape and dtype. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.channel_shuffle(Tensor([[[[1]], [[2]], [[3]], [[4]]]], ms.float32), 2).ravel())
        [1. 3. 2. 4.]
    """
    n, c, *rest = x.shape
    if groups <= 0 or c % groups:
        raise ValueError(f"For 'channel_shuffle', 'groups' must divide the {c} channels, but got {groups}.")
    return reshape(swapaxes(reshape(x, (n, groups, c // groups, *rest)), 1, 2), x.shape)
