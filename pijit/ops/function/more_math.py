"""Elementwise functions and reductions composed of others."""

from __future__ import annotations

import builtins
import math
from typing import TYPE_CHECKING

from pijit import _check
from pijit.compute_dtype import one_operator
from pijit import dtype as mstype
from pijit._C import Tensor, ops as _ops
from pijit.ops.function.creation import arange, full, ones, ones_like, zeros_like
from pijit.ops.function.elementwise import abs, cast, cos, floor_div, fmod, _need_tensor, pow, select, sqrt, trunc
from pijit.ops.function.reduction import amax, any, sum
from pijit.ops.function.selection import addn
from pijit.ops.function.shapes import _axis, _ints, concat, expand_dims, flip, narrow, reshape, stack, swapaxes, unbind
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit._C import DType
    from pijit._types import Axis, Number, TensorLike


@_named(primitive="SquaredDifference")
def squared_difference(x: Tensor, y: TensorLike) -> Tensor:
    """(x - y) ** 2.

    Args:
        x (Tensor): the input, of any shape and any dtype.
        y (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Ints, floats and complex keep their dtype; not for bool.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if the shape of `y` does not fit.

    Example:
        >>> print(ops.function.squared_difference(Tensor([1.0, 2.0]), Tensor([3.0, 5.0])))
        [4. 9.]
    """
    d = x - y
    return d * d


@_named(primitive="DivNoNan")
def div_no_nan(x: Tensor, y: TensorLike) -> Tensor:
    """x / y, 0 where y is 0.

    Args:
        x (Tensor): the input, of any shape and any dtype.
        y (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if the shape of `y` does not fit.

    Example:
        >>> print(ops.function.div_no_nan(Tensor([1.0, 2.0]), Tensor([0.0, 4.0])))
        [0.  0.5]
    """
    zero = y == 0
    return select(zero, zeros_like(x / select(zero, ones_like(y), y)), x / select(zero, ones_like(y), y))


@_named(primitive="MulNoNan")
def mul_no_nan(x: Tensor, y: TensorLike) -> Tensor:
    """x * y, 0 where y is 0, whatever x is.

    Args:
        x (Tensor): the input, of any shape and any dtype.
        y (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if the shape of `y` does not fit.

    Example:
        >>> print(ops.function.mul_no_nan(Tensor([float("inf"), 2.0]), Tensor([0.0, 4.0])))
        [0. 8.]
    """
    return select(y == 0, zeros_like(x * y), x * y)


def _any_floating(*operands):
    """Whether one of the operands, Tensors and numbers, is floating."""
    return bool([x for x in operands if (x.dtype.is_floating_point if isinstance(x, Tensor) else isinstance(x, float))])


@_named(primitive="TruncateDiv")
def truncate_div(x: Tensor, y: TensorLike) -> Tensor:
    """x / y rounded towards 0.

    Args:
        x (Tensor): the input, of any shape and bool, int or float dtype.
        y (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Ints and floats keep their dtype; not for bool and complex.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if the shape of `y` does not fit.

    Example:
        >>> print(ops.truncate_div(Tensor([7, -7]), Tensor([2, 2])))
        [ 3 -3]
    """
    if _any_floating(x, y):
        return trunc(x / y)
    q = floor_div(x, y)
    return select((q * y != x) & (q < 0), q + 1, q)


@_named(primitive="TruncateMod")
def truncate_mod(x: Tensor, y: TensorLike) -> Tensor:
    """What truncate_div leaves, with the sign of x.

    Args:
        x (Tensor): the input, of any shape and bool, int or float dtype.
        y (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Ints and floats keep their dtype; not for bool and complex.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if the shape of `y` does not fit.

    Example:
        >>> print(ops.truncate_mod(Tensor([7, -7]), Tensor([2, 2])))
        [ 1 -1]
    """
    return fmod(x, y)


def _whole(name, *tensors):
    for x in tensors:
        if isinstance(x, Tensor) and x.dtype.is_floating_point:
            raise _check.refused(name, "the inputs", _check.value("hold ints"), x.dtype, TypeError)


@_named(method=True, primitive="Gcd", mint=True)
def gcd(input: Tensor, other: TensorLike) -> Tensor:
    """The greatest common divisors of ints, elementwise (Euclid).

    Args:
        input (Tensor): the input, of any shape and bool or int dtype.
        other (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Ints keep their dtype; not for bool, floats and complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `other` does not fit.

    Example:
        >>> print(ops.gcd(Tensor([12, 18]), Tensor([8, 27])))
        [4 9]
    """
    _whole("gcd", input, other)
    a, b = (abs(v) for v in (input, other))
    both = a + b
    _whole("gcd", both)  # a Python float makes it one of floats: Euclid would not come to an end
    shape, dtype = both.shape, both.dtype
    a, b = _ops["broadcast_to"](cast(a, dtype), shape), _ops["broadcast_to"](cast(b, dtype), shape)
    while any(b != 0):
        left = b == 0
        a, b = select(left, a, b), select(left, b, a % select(left, ones_like(b), b))
    return a


@_named(method=True, primitive="Lcm")
def lcm(input: Tensor, other: TensorLike) -> Tensor:
    """The least common multiples of ints, elementwise.

    Args:
        input (Tensor): the input, of any shape and bool or int dtype.
        other (Tensor or number): the second operand.

    Returns:
        Tensor of the common shape. Ints keep their dtype; not for bool, floats and complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `other` does not fit.

    Example:
        >>> print(ops.lcm(Tensor([4, 6]), Tensor([6, 9])))
        [12 18]
    """
    g = gcd(input, other)
    return cast(abs(floor_div(input, select(g == 0, ones_like(g), g)) * other), g.dtype)


@_named(primitive="AccumulateNV2")
def accumulate_n(x: Sequence[Tensor]) -> Tensor:
    """The sum of tensors of one shape.

    Args:
        x (list or tuple of Tensor): what to add.

    Returns:
        Tensor of their shape.

    Example:
        >>> print(ops.accumulate_n([Tensor([1.0, 2.0]), Tensor([3.0, 4.0])]))
        [4. 6.]
    """
    return addn(x)


def dist(input: Tensor, other: TensorLike, p: Number = 2) -> Tensor:
    """The p-norm of input - other, over all elements.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        other (Tensor or number): the second operand.
        p (number, optional): the order of the norm. Default: 2.

    Returns:
        0-d Tensor. Floats and complex keep their dtype; ints give float32; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `other` does not fit.

    Example:
        >>> print(ops.dist(Tensor([0.0, 0.0]), Tensor([3.0, 4.0])))
        5.0
    """
    d = abs(input - other)
    if p == float("inf"):
        return amax(d)
    return (sum(cast(d != 0, d.dtype))
            if p == 0 else _ops["distance_root"](sum(d * d)) if p == 2 else sum(d) if p == 1
            else pow(sum(pow(d, p)), 1.0 / p))


def lp_norm(x: Tensor, axis: int, p: Number = 2, keep_dims: bool = False, epsilon: float = 1e-12) -> Tensor:
    """(sum of |x|^p over axes) ^ (1 / p), at least epsilon.

    Args:
        x (Tensor): the input, of 2 dimensions or more and bool, int or float dtype.
        axis (int): the axis; -1 is the last one.
        p (number, optional): the order of the norm. Default: 2.
        keep_dims (bool, optional): whether axes stay, as axes of 1. Default: False.
        epsilon (float, optional): a small number that keeps the result finite. Default: 1e-12.

    Returns:
        Tensor without the axes, or with axes of 1. Floats keep their dtype; bool and ints give float32; not for
            complex.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.function.lp_norm(Tensor([[3.0, 4.0]]), 1))
        [5.]
    """
    total = sum(pow(abs(x), float(p)), _ints(axis), keep_dims)
    return pow(_ops["maximum"](total, epsilon), 1.0 / p)


@_named(method=True)
def renorm(input: Tensor, p: Number, axis: int, maxnorm: float) -> Tensor:
    """Slices along `axis` whose p-norm exceeds maxnorm, scaled down to it. Raises ValueError for p <= 0 or maxnorm <=
    0.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        p (number): the order of the norm.
        axis (int): the axis; -1 is the last one.
        maxnorm (float): the greatest norm.

    Returns:
        Tensor of input's shape. Floats keep their dtype; bool and ints give float32; not for complex.

    Example:
        >>> print(ops.renorm(Tensor([[3.0, 4.0], [0.0, 1.0]]), 2, 0, 1.0))
        [[0.6 0.8]
         [0.  1. ]]
    """
    if p <= 0 or maxnorm < 0:
        raise _check.refused("renorm", "p", _check.value("be greater than 0 and 'maxnorm' at least 0"),
                             _check.several(p, maxnorm))
    a = _axis(axis, input.ndim)
    others = tuple([k for k in builtins.range(input.ndim) if k != a])
    size = pow(sum(pow(abs(input), float(p)), others, True), 1.0 / p)
    return input * select(size > maxnorm, maxnorm / (size + 1e-7), 1.0)


def l2_normalize(x: Tensor, axis: int = 0, epsilon: float = 1e-4) -> Tensor:
    """x / sqrt(max(sum of squares along the axis, epsilon)).

    Args:
        x (Tensor): the input, of any shape and bool, int or float dtype.
        axis (int, optional): the axis; -1 is the last one. Default: 0.
        epsilon (float, optional): the least sum of squares. Default: 0.0001.

    Returns:
        Tensor of x's shape. Floats keep their dtype; bool and ints give float32; not for complex.

    Raises:
        TypeError: if `axis` does not name one axis.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.function.l2_normalize(Tensor([3.0, 4.0])))
        [0.6 0.8]
    """
    if not isinstance(axis, int):
        if len(axis) != 1:
            raise _check.refused("L2Normalize", "axis", _check.value("name one axis"), axis, TypeError)
        axis = axis[0]
    _axis(axis, x.ndim)
    return x / sqrt(_ops["maximum"](sum(x * x, axis, True), epsilon))


def cumulative_logsumexp(x: Tensor, axis: int, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """log of the running sums of exp along an axis.

    Args:
        x (Tensor): the input, of 1 dimension or more and int or float dtype.
        axis (int): the axis; -1 is the last one.
        exclusive (bool, optional): whether an element itself is left out. Default: False.
        reverse (bool, optional): whether sums run from the end. Default: False.

    Returns:
        Tensor of x's shape. Floats keep their dtype; ints give float32; not for bool and complex.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.function.cumulative_logsumexp(Tensor([0.0, 0.0]), 0))
        [0.        0.6931472]
    """
    from pijit.ops.function.reduction import logcumsumexp
    a = _axis(int(axis), x.ndim)
    if reverse:
        x = flip(x, (a,))
    y = logcumsumexp(x, a)
    if exclusive:
        first = full((*y.shape[:a], 1, *y.shape[a + 1:]), -3.4028234663852886e38, dtype=y.dtype)
        y = concat([first, narrow(y, a, 0, y.shape[a] - 1)], a)
    return flip(y, (a,)) if reverse else y


def pdist(input: Tensor, p: Number = 2.0) -> Tensor:
    """p-norms of the differences of all pairs of rows [..., n, m]: [..., n (n - 1) / 2].

    Args:
        input (Tensor): the input, of 2 dimensions or more and int, float or complex dtype.
        p (number, optional): the order of the distance. Default: 2.0.

    Returns:
        Tensor [..., n (n - 1) / 2]. Floats and complex keep their dtype; ints give float32; not for bool.

    Example:
        >>> print(ops.pdist(Tensor([[0.0, 0.0], [3.0, 4.0]])))
        [5.]
    """
    if p < 0:
        raise _check.refused("pdist", "p", _check.at_least(0), p)
    n = input.shape[-2]
    first, second = unbind(triu_indices(n, n, 1))
    d = _ops["gather"](input, first, input.ndim - 2) - _ops["gather"](input, second, input.ndim - 2)
    a = abs(d)
    if p == float("inf"):
        return amax(a, -1)
    if p == 0:
        return sum(cast(a != 0, a.dtype), -1)
    if p == 1:
        return sum(a, -1)
    # where rows agree the norm has no gradient: 0 there
    total = sum(pow(a, float(p)), -1) if p != 2 else sum(d * d, -1)
    same = total == 0
    return select(same, zeros_like(total), pow(select(same, ones_like(total), total), 1.0 / p))


@_named(method=True)
def approximate_equal(x: Tensor, y: TensorLike, tolerance: float = 1e-5) -> Tensor:
    """Where |x - y| < tolerance.

    Args:
        x (Tensor): the input, of any shape and bool, int or float dtype.
        y (Tensor or number): the second operand.
        tolerance (float, optional): the tolerance. Default: 1e-05.

    Returns:
        bool Tensor. Ints and floats give bool; not for bool and complex.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if the shape of `y` does not fit.

    Example:
        >>> print(ops.approximate_equal(Tensor([1.0, 2.0]), Tensor([1.0, 2.1])))
        [ True False]
    """
    return abs(x - y) < tolerance


@_named(method=True)
def mvlgamma(input: Tensor, p: int) -> Tensor:
    """log of the multivariate gamma function of dimension p. ValueError where an element is at most (p - 1) / 2.

    Args:
        input (Tensor): the input, of any shape and bool, int or float dtype.
        p (int): the dimension.

    Returns:
        Tensor of input's shape. Floats keep their dtype; bool and ints give float32; not for complex.

    Example:
        >>> print(ops.mvlgamma(Tensor([3.0]), 2))
        [1.550195]
    """
    if not isinstance(p, int) or p < 1:
        raise _check.refused("mvlgamma", "p", _check.value("be an int of at least 1"), p)
    shift = expand_dims(input, -1) - arange(p, dtype=input.dtype) * 0.5
    return sum(_ops["lgamma"](shift), -1) + p * (p - 1) / 4 * math.log(math.pi)


@_named(method=True)
def nanmedian(input: Tensor, axis: int = -1, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """(the lower median of what isn't NaN along an axis, its index as int64).

    Args:
        input (Tensor): the input, of 1 dimension or more and bool, int or float dtype.
        axis (int, optional): the axis; -1 is the last one. Default: -1.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        (Tensor, int64 Tensor). Bool, ints and floats keep their dtype; not for complex.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.nanmedian(Tensor([3.0, float("nan"), 1.0]))[0])
        1.0
    """
    a = _axis(axis, input.ndim)
    order = _ops["argsort"](input, a, False)  # NaN last
    count = sum(cast(input == input, mstype.int64), a, True)
    at = _ops["gather_d"](order, _ops["maximum"]((count - 1) // 2, 0), a)
    v = _ops["gather_d"](input, at, a)
    return (v, at) if keepdims else (_ops["reshape"](v, v.shape[:a] + v.shape[a + 1:]),
                                     _ops["reshape"](at, v.shape[:a] + v.shape[a + 1:]))


@_named(method=True)
def quantile(input: Tensor, q: Any, axis: Axis | None = None, keepdims: bool = False) -> Tensor:
    """Values below which a share q of the elements lies (interpolated): of all, or along an axis; NaN where one is
    among them.

    q is a number or a 1-d tensor in [0, 1]; several give a first axis of the result.

    Args:
        input (Tensor): the input, of any shape and int or float dtype.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        Tensor. Floats keep their dtype; ints give float32; not for bool and complex.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.quantile(Tensor([1.0, 2.0, 3.0]), 0.5))
        2.0
    """
    return _quantile("quantile", input, q, axis, keepdims, False)


@_named(method=True)
def nanquantile(input: Tensor, q: float | Tensor, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """As quantile, of the elements that aren't NaN.

    Args:
        input (Tensor): the input, of any shape and int or float dtype.
        q (float or Tensor): the share, in [0, 1].
        axis (int, optional): the axis; -1 is the last one. Default: None.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Returns:
        Tensor. Floats keep their dtype; ints give float32; not for bool and complex.

    Raises:
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.nanquantile(Tensor([1.0, float("nan"), 3.0]), 0.5))
        2.0
    """
    return _quantile("nanquantile", input, q, axis, keepdims, True)


def _quantile(name, input, q, axis, keepdims, skip):
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise _check.refused(name, "q", _check.within(0, 1), q)
        q = Tensor(q, input.dtype)
    x = reshape(input, (-1,)) if axis is None else swapaxes(input, axis, -1)
    order = _ops["argsort"](x, x.ndim - 1, False)
    s = _ops["gather_d"](x, order, x.ndim - 1)  # NaN last
    n = sum(cast(x == x, mstype.int64), -1, True)
    last = (n if skip else full(n.shape, x.shape[-1], dtype=mstype.int64)) - 1
    at = reshape(q, (-1,) + (1,) * x.ndim) * cast(_ops["maximum"](last, 0), q.dtype)
    low = _ops["floor"](at)
    share = cast(at - low, x.dtype)
    low = cast(low, mstype.int64)
    count = low.shape[0]
    wide = _ops["broadcast_to"](expand_dims(s, 0), (count, *s.shape))
    y = (_ops["gather_d"](wide, low, x.ndim) * (1.0 - share)
         + _ops["gather_d"](wide, _ops["minimum"](low + 1, _ops["maximum"](last, 0)), x.ndim) * share)
    missing = (n == 0) if skip else (n < x.shape[-1])
    y = select(missing, full(y.shape, float("nan"), dtype=y.dtype), y)  # [count, ..., 1]
    if axis is None:
        y = reshape(y, (count,) + ((1,) * input.ndim if keepdims else ()))
    else:
        y = swapaxes(y, _axis(axis, input.ndim) + 1,
                     y.ndim - 1) if keepdims else _ops["reshape"](_moved(y, axis, input.ndim),
                                                                  _left(y, axis, input.ndim))
    return _ops["reshape"](y, y.shape[1:]) if q.ndim == 0 else y


def _moved(y, axis, ndim):
    """y [count, ..., 1], whose axis was exchanged with the last, in the order of what is left."""
    a = _axis(axis, ndim) + 1
    return swapaxes(y, a, y.ndim - 1)


def _left(y, axis, ndim):
    shape = _moved(y, axis, ndim).shape
    a = _axis(axis, ndim) + 1
    return tuple(shape[:a]) + tuple(shape[a + 1:])


def argwhere(input: Tensor) -> Tensor:
    """Indices of the elements that aren't 0, a row each. Their number depends on the data: not part of a graph.

    Args:
        input (Tensor): the input, of any shape and any dtype.

    Returns:
        int64 Tensor [n, input.ndim]. Bool, floats and complex give int64.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.argwhere(Tensor([0, 5, 6])))
        [[1]
         [2]]
    """
    _need_tensor("argwhere", "input", input)
    from pijit.ops.function.indexing import nonzero
    return nonzero(input)


def cartesian_prod(*inputs: Tensor) -> Tensor:
    """All combinations of the elements of 1-d tensors, a row each.

    Args:
        *inputs (Tensor): the vectors, of 1 dimension and any dtype.

    Returns:
        Tensor [n, number of inputs]. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.cartesian_prod(Tensor([1, 2]), Tensor([3, 4])))
        [[1 3]
         [1 4]
         [2 3]
         [2 4]]
    """
    from pijit.ops.function.shapes import stack
    from pijit.ops.function.joining import meshgrid
    if len(inputs) == 1:
        return inputs[0]
    return stack([reshape(g, (-1,)) for g in meshgrid(*inputs, indexing="ij")], 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All r-element selections of a 1-d tensor, a row each, in the order of itertools.

    Args:
        input (Tensor): the input, of 1 dimension and any dtype.
        r (int, optional): the size of a selection. Default: 2.
        with_replacement (bool, optional): whether one element may come again. Default: False.

    Returns:
        Tensor [n, r]. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.combinations(Tensor([1, 2, 3])))
        [[1 2]
         [1 3]
         [2 3]]
    """
    import itertools
    if input.ndim != 1:
        raise _check.refused("combinations", "the input", _check.dims(1), input.ndim)
    if r < 0:
        raise _check.refused("combinations", "r", _check.at_least(0), r)
    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = [list(c) for c in pick(builtins.range(input.shape[0]), r)]
    if not rows or r == 0:
        return _ops["reshape"](narrow(input, 0, 0, 0), (0, r) if r else (0,))
    return _ops["gather"](input, Tensor(rows, mstype.int64), 0)


def block_diag(*inputs: Tensor) -> Tensor:
    """Matrices (vectors as rows, numbers as 1 x 1) along the diagonal of one, zeros elsewhere.

    Args:
        *inputs (Tensor): the blocks, of 0 to 2 dimensions and any dtype.

    Returns:
        Tensor [rows, columns]. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.block_diag(Tensor([[1, 2]]), Tensor([[3]])))
        [[1 2 0]
         [0 0 3]]
    """
    parts = [reshape(x, (1, -1)) if x.ndim < 2 else x for x in inputs]
    width = builtins.sum([p.shape[1] for p in parts])
    rows, left = [], 0
    for p in parts:
        rows.append(_ops["pad"](p, (0, left), (0, width - left - p.shape[1]), 0))
        left += p.shape[1]
    return concat(rows, 0)


def vander(x: Tensor, N: int | None = None) -> Tensor:
    """Powers of a vector as columns, from the (N - 1)-th down to the 0-th.

    Args:
        x (Tensor): the input, of 1 dimension and any dtype.
        N (int, optional): the number of columns. Default: None.

    Returns:
        Tensor [n, N]. Floats and complex keep their dtype; bool gives int64.

    Example:
        >>> print(ops.vander(Tensor([2.0, 3.0]), 3))
        [[4. 2. 1.]
         [9. 3. 1.]]
    """
    if x.ndim != 1:
        raise _check.refused("vander", "the input", _check.dims(1), x.ndim)
    n = x.shape[0] if N is None else N
    if n <= 0:
        raise _check.refused("vander", "N", _check.above(0), N)
    if not x.dtype.is_floating_point and x.dtype not in mstype.complex_type:
        x = cast(x, mstype.int64)
    powers = cast(arange(n - 1, -1, -1), x.dtype)
    return pow(expand_dims(x, 1), powers)


@one_operator
def vector_norm(x: Tensor, ord: Number | str = 2, axis: int | None = None, keepdims: bool = False, *,
                dtype: DType | None = None) -> Tensor:
    """The norm of order `ord` (a number, inf, -inf or 0) over axes.

    Args:
        x (Tensor): the input, of any shape and any dtype.
        ord (number or str, optional): the order of the norm. Default: 2.
        axis (int, optional): the axis; -1 is the last one. Default: None.
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor without the axes, or with axes of 1. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if `axis` is out of range.

    Example:
        >>> print(ops.vector_norm(Tensor([3.0, 4.0])))
        5.0
    """
    x = x if dtype is None else cast(x, dtype)
    d, axes = abs(x), None if axis is None else _ints(axis)
    if ord == float("inf"):
        return amax(d, axes, keepdims)
    if ord == float("-inf"):
        from pijit.ops.function.reduction import amin
        return amin(d, axes, keepdims)
    if ord == 0:
        return sum(cast(d != 0, d.dtype), axes, keepdims)
    if ord == 2:
        return sqrt(sum(d * d, axes, keepdims))
    return sum(d, axes, keepdims) if ord == 1 else pow(sum(pow(d, float(ord)), axes, keepdims), 1.0 / ord)


@one_operator
def matrix_norm(A: Tensor, ord: Number | str = "fro", axis: Axis = (-2, -1), keepdims: bool = False, *,
                dtype: DType | None = None) -> Tensor:
    """A matrix norm over two axes: 'fro', 1, -1, inf or -inf.

    Args:
        A (Tensor): the matrices, along the last two axes.
        ord (number or str, optional): the order of the norm. Default: 'fro'.
        axis (int, optional): the axis; -1 is the last one. Default: (-2, -1).
        keepdims (bool, optional): whether axes stay, as axes of 1. Default: False.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        Tensor without the axes, or with axes of 1. Floats and complex keep their dtype; bool and ints give float32.

    Raises:
        TypeError: if `A` is not a Tensor, or `axis` is out of range.

    Example:
        >>> print(ops.matrix_norm(Tensor([[3.0, 0.0], [0.0, 4.0]])))
        5.0
    """
    from pijit.ops.function.reduction import norm
    return norm(A, ord, axis, keepdims, dtype=dtype)


@one_operator
def logspace(start: Number, end: Number, steps: int, base: int = 10, *, dtype: DType = mstype.float32) -> Tensor:
    """base ** e for `steps` numbers e from start to end.

    Args:
        start (number): the first value.
        end (number): the end, which isn't reached.
        steps (int): how many values.
        base (int, optional): the base. Default: 10.
        dtype (dtype, optional): the dtype of the result. Default: float32.

    Returns:
        1-d Tensor.

    Example:
        >>> print(ops.logspace(0, 2, 3))
        [  1.  10. 100.]
    """
    from pijit.ops.function.creation import linspace
    if steps < 0:
        raise _check.refused("logspace", "steps", _check.at_least(0), steps)
    e = linspace(float(start), float(end), steps)
    return cast(pow(Tensor(float(base), mstype.float32), e), dtype)


@_named(primitive="PopulationCount")
def population_count(input_x: Tensor) -> Tensor:
    """How many bits of each element, an int, are 1, as uint8.

    Args:
        input_x (Tensor): the input, of any shape and int dtype.

    Returns:
        uint8 Tensor of the same shape.

    Raises:
        TypeError: if `input_x` is not a Tensor.

    Example:
        >>> print(ops.population_count(Tensor([7, 8], ms.int16)))
        [3 1]
    """
    _need_tensor("population_count", "input_x", input_x)
    if input_x.dtype not in mstype.int_type + mstype.uint_type:
        raise _check.refused("population_count", "the input", _check.value("be of ints"), input_x.dtype, TypeError)
    bits = input_x.itemsize * 8
    if bits > 16:  # in words of 16 bits
        words = [cast((input_x >> k) & 0xFFFF, mstype.int32) for k in builtins.range(0, bits, 16)]
        return cast(sum(stack([cast(_bits(w), mstype.int32) for w in words]), 0, dtype=mstype.int32), mstype.uint8)
    return _bits(cast(input_x, mstype.int32) & (0xFFFF if bits == 16 else 0xFF))


def _bits(x):
    """How many of the lowest 16 bits of int32 are 1."""
    x = x - ((x >> 1) & 0x5555)
    x = (x & 0x3333) + ((x >> 2) & 0x3333)
    x = (x + (x >> 4)) & 0x0F0F
    return cast((x + (x >> 8)) & 0x1F, mstype.uint8)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: DType = mstype.int64) -> Tensor:
    """Rows and columns [2, n] of the elements of a row x col matrix on and below a diagonal.

    Args:
        row (int): the number of rows.
        col (int): the number of columns.
        offset (int, optional): which diagonal: 0 the main one, above it positive. Default: 0.
        dtype (dtype, optional): int32 or int64. Default: int64.

    Returns:
        Tensor [2, n].

    Example:
        >>> print(ops.tril_indices(2, 2))
        [[0 1 1]
         [0 0 1]]
    """
    return _triangle("tril_indices", row, col, dtype, lambda i: (0, builtins.min(builtins.max(i + offset + 1, 0), col)))


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: DType = mstype.int64) -> Tensor:
    """Rows and columns [2, n] of the elements of a row x col matrix on and above a diagonal.

    Args:
        row (int): the number of rows.
        col (int): the number of columns.
        offset (int, optional): which diagonal: 0 the main one, above it positive. Default: 0.
        dtype (dtype, optional): int32 or int64. Default: int64.

    Returns:
        Tensor [2, n].

    Example:
        >>> print(ops.triu_indices(2, 2))
        [[0 0 1]
         [0 1 1]]
    """
    return _triangle("triu_indices", row, col, dtype, lambda i: (builtins.min(builtins.max(i + offset, 0), col), col))


def _triangle(name, row, col, dtype, columns):
    for n in (row, col):
        if not isinstance(n, int):
            raise _check.refused(name, "'row' and 'col'", _check.type_("ints"), n)
        if not 0 <= n < 2 ** 31:
            raise _check.refused(name, "'row' and 'col'", _check.value("be at least 0 and less than 2 ** 31"), n)
    if dtype not in (mstype.int32, mstype.int64):
        raise _check.refused(name, "dtype", _check.dtypes("int32", "int64"), dtype)
    ends = [columns(i) for i in builtins.range(row)]
    if builtins.sum([b - a for a, b in ends]) > 1e6:  # too many for lists
        import numpy as np
        rows = np.repeat(np.arange(row), [b - a for a, b in ends])
        return Tensor(np.stack([rows, np.concatenate([np.arange(a, b) for a, b in ends])]), dtype)
    places = [(i, j) for i, (a, b) in enumerate(ends) for j in builtins.range(a, b)]
    return Tensor([[p[0] for p in places], [p[1] for p in places]], dtype)


def _window(name, window_length, periodic, dtype, f, default=mstype.float32):
    """f(share of the period), in float64, for each place of the window."""
    if isinstance(window_length, Tensor) and name in ("bartlett_window", "blackman_window"):
        window_length = window_length.item()
    if not isinstance(window_length, int) or isinstance(window_length, bool):
        raise _check.refused(name, "window_length", _check.INT, window_length)
    if window_length < 0:
        raise _check.refused(name, "window_length", _check.at_least(0), window_length)
    dtype = default if dtype is None else dtype
    if not dtype.is_floating_point:
        raise _check.refused(name, "dtype", _check.FLOATING, dtype)
    if window_length <= 1:
        return ones((window_length,), dtype)
    share = _ops["arange"](0, 1, window_length, mstype.float64) / (window_length if periodic else window_length - 1)
    return cast(f(share), dtype)


@one_operator
def bartlett_window(window_length: int | Tensor, periodic: bool = True, *, dtype: DType | None = None) -> Tensor:
    """The triangle from 0 to 1 and back.

    Args:
        window_length (int or Tensor): the number of elements.
        periodic (bool, optional): whether the window is one period long (one element of a longer symmetric one is
            left out). Default: True.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        1-d float32 Tensor.

    Example:
        >>> print(ops.bartlett_window(4))
        [0.  0.5 1.  0.5]
    """
    return _window("bartlett_window", window_length, periodic, dtype, lambda t: 1 - abs(2 * t - 1))


@one_operator
def blackman_window(window_length: int | Tensor, periodic: bool = True, *, dtype: DType | None = None) -> Tensor:
    """0.42 - 0.5 cos + 0.08 cos of the double angle.

    Args:
        window_length (int or Tensor): the number of elements.
        periodic (bool, optional): whether the window is one period long (one element of a longer symmetric one is
            left out). Default: True.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        1-d float32 Tensor.

    Example:
        >>> print(ops.blackman_window(4))
        [-1.3877788e-17  3.4000000e-01  1.0000000e+00  3.4000000e-01]
    """
    return _window("blackman_window", window_length, periodic, dtype,
                   lambda t: 0.42 - 0.5 * cos(2 * math.pi * t) + 0.08 * cos(4 * math.pi * t))


@one_operator
def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *,
                   dtype: DType | None = None) -> Tensor:
    """alpha - beta cos.

    Args:
        window_length (int): the number of elements.
        periodic (bool, optional): whether the window is one period long (one element of a longer symmetric one is
            left out). Default: True.
        alpha (float, optional): the constant. Default: 0.54.
        beta (float, optional): the factor of the cosine. Default: 0.46.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        1-d float32 Tensor.

    Example:
        >>> print(ops.hamming_window(4))
        [0.08 0.54 1.   0.54]
    """
    return _window("hamming_window", window_length, periodic, dtype, lambda t: alpha - beta * cos(2 * math.pi * t))


@one_operator
def hann_window(window_length: int, periodic: bool = True, *, dtype: DType | None = None) -> Tensor:
    """0.5 - 0.5 cos.

    Args:
        window_length (int): the number of elements.
        periodic (bool, optional): whether the window is one period long (one element of a longer symmetric one is
            left out). Default: True.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        1-d float32 Tensor.

    Example:
        >>> print(ops.hann_window(4))
        [0.  0.5 1.  0.5]
    """
    return _window("hann_window", window_length, periodic, dtype, lambda t: 0.5 - 0.5 * cos(2 * math.pi * t),
                   mstype.float64)


@one_operator
def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *,
                  dtype: DType | None = None) -> Tensor:
    """The modified Bessel function of order 0 along a half circle, over its greatest value.

    Args:
        window_length (int): the number of elements.
        periodic (bool, optional): whether the window is one period long (one element of a longer symmetric one is
            left out). Default: True.
        beta (float, optional): the sharpness. Default: 12.0.
        dtype (dtype, optional): the dtype of the result. Default: None.

    Returns:
        1-d float32 Tensor.

    Example:
        >>> print(ops.kaiser_window(4))
        [5.27734413e-05 2.15672745e-01 1.00000000e+00 2.15672745e-01]
    """
    import numpy as np
    top = float(np.i0(beta))
    return _window("kaiser_window", window_length, periodic, dtype,
                   lambda t: Tensor(np.i0(beta * np.sqrt(np.maximum(1 - (2 * t.asnumpy() - 1) ** 2, 0))) / top),
                   mstype.float64)


@_named(method=True, mint=True)
@one_operator
def histc(input: Tensor, bins: int = 100, min: TensorLike = 0.0, max: TensorLike = 0.0) -> Tensor:
    """How many elements lie in each of `bins` equal parts of [min, max]; of the elements' own range where both are
    equal.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        bins (int, optional): the number of parts. Default: 100.
        min (Tensor or number, optional): the lower bound. Default: 0.0.
        max (Tensor or number, optional): the upper bound. Default: 0.0.

    Returns:
        Tensor [bins]. Bool, ints and complex keep their dtype.

    Example:
        >>> print(ops.histc(Tensor([1.0, 2.0, 1.0]), 2, 0.0, 3.0))
        [2. 1.]
    """
    import numpy as np
    if bins <= 0:
        raise _check.refused("histc", "bins", _check.above(0), bins)
    if min > max:
        raise _check.refused("histc", "min", _check.at_most("'max'"), _check.several(min, max))
    a = input.asnumpy()
    if min == max and a.size:
        min, max = float(a.min()), float(a.max())
    if min == max:
        min, max = min - 1, max + 1
    return Tensor(np.histogram(a.astype(np.float64), bins, (min, max))[0],
                  mstype.float32 if input.dtype == mstype.float16 else input.dtype)
