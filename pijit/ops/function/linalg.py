"""Matrix products."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from pijit import _check, dtype as mstype
from pijit._C import ops as _ops, Tensor
from pijit.ops.function.creation import eye, zeros_like
from pijit.ops.function.elementwise import cast, _need_tensor
from pijit.ops.function.reduction import sum
from pijit.ops.function.shapes import _axis, _ints, narrow, reshape, _same_dtype, squeeze, _within
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import Axis, Number, TensorLike


@_named(mint=True)
def matmul(input: Tensor, other: TensorLike) -> Tensor:
    """Matrix product with NumPy's rules for 1-d operands and batches.

    Args:
        input (Tensor): the input, of 1 dimension or more and a number dtype, that of the other operand.
        other (Tensor or number): the second operand.

    Returns:
        Tensor. Ints, floats and complex keep their dtype; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `other` does not fit.

    Example:
        >>> print(ops.matmul(Tensor([[1.0, 2.0]]), Tensor([[3.0], [4.0]])))
        [[11.]]
    """
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        raise TypeError(f"For 'matmul', both operands must be Tensors, but got {type(input).__name__} and "
                        f"{type(other).__name__}; a number multiplies by '*'.")
    if input.ndim == 0 or other.ndim == 0:
        raise _check.refused("matmul", "the operands", _check.least_dims(1), _check.several(input.ndim, other.ndim))
    a = _ops["reshape"](input, (1,) + input.shape) if input.ndim == 1 else input
    b = _ops["reshape"](other, other.shape + (1,)) if other.ndim == 1 else other
    r = _ops["matmul"](a, b)
    if input.ndim == 1:
        r = squeeze(r, -2)
    return squeeze(r, -1) if other.ndim == 1 else r


@_named(method=True)
def inner(input: Tensor, other: TensorLike) -> Tensor:
    """Sums of products over the last axis of both; of a scalar and a tensor, their product.

    Raises ValueError where the last axes differ in size.

    Args:
        input (Tensor): the input, of any shape and a number dtype, that of the other operand.
        other (Tensor or number): the second operand.

    Returns:
        Tensor. Ints, floats and complex keep their dtype; not for bool.

    Example:
        >>> print(ops.inner(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])))
        11.0
    """
    if input.ndim == 0 or other.ndim == 0:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise _check.refused("inner", "the last dimensions", _check.value("agree"),
                             _check.several(input.shape, other.shape))
    n = input.shape[-1]
    rows = _ops["matmul"](_ops["reshape"](input, (input.size // builtins.max(n, 1), n)),
                          _ops["reshape"](other, (other.size // builtins.max(n, 1), n)), False, True)
    return _ops["reshape"](rows, input.shape[:-1] + other.shape[:-1])


def _ranks(op, rank, **tensors):
    """Raises TypeError where an argument is no Tensor, ValueError where it has another number of dimensions."""
    for name, x in tensors.items():
        _need_tensor(op, name, x)
        if x.ndim != rank:
            raise _check.refused(op, name, _check.dims(rank), x.ndim)


@_named(mint=True)
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Matrix product.

    Args:
        input (Tensor): the input, of 2 dimensions and a number dtype, that of the other operand.
        mat2 (Tensor): the second matrix.

    Returns:
        Tensor [n, k]. Ints, floats and complex keep their dtype; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `mat2` does not fit.

    Example:
        >>> print(ops.mm(Tensor([[1.0, 2.0]]), Tensor([[3.0], [4.0]])))
        [[11.]]
    """
    _ranks("mm", 2, input=input, mat2=mat2)
    return matmul(input, mat2)


@_named(method=True, mint=True)
def bmm(input_x: Tensor, mat2: Tensor) -> Tensor:
    """Batched matrix product of tensors whose dimensions are the same but for the last two.

    Args:
        input_x (Tensor): the input, of 3 dimensions and a number dtype, that of the other operand.
        mat2 (Tensor): the second matrix.

    Returns:
        Tensor [b, n, k]. Ints, floats and complex keep their dtype; not for bool.

    Raises:
        TypeError: if `input_x` is not a Tensor, or `mat2` is not a Tensor.
        ValueError: if the shape of `mat2` does not fit.

    Example:
        >>> print(ops.bmm(ops.ones((1, 2, 3)), ops.ones((1, 3, 1))))
        [[[3.]
          [3.]]]
    """
    _need_tensor("bmm", "input_x", input_x)
    _need_tensor("bmm", "mat2", mat2)
    if input_x.shape[:-2] != mat2.shape[:-2]:
        raise _check.refused("bmm", "the both", _check.value("have the same batch"),
                             _check.several(input_x.shape, mat2.shape))
    return _ops["matmul"](input_x, mat2)


batch_matmul = bmm


@_named(method=True, mint=True)
def dot(input: Tensor, other: TensorLike) -> Tensor:
    """The product over the last axis of input and the second-last of other.

    Args:
        input (Tensor): the input, of 1 dimension or more and a number dtype, that of the other operand.
        other (Tensor or number): the second operand.

    Returns:
        Tensor. Ints, floats and complex keep their dtype; not for bool.

    Raises:
        ValueError: if the shape of `other` does not fit.

    Example:
        >>> print(ops.dot(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])))
        11.0
    """
    if input.ndim == 1 or other.ndim == 1 or (input.ndim == 2 and other.ndim == 2):
        return matmul(input, other)
    return tensor_dot(input, other, ((input.ndim - 1,), (other.ndim - 2,)))


@_named(method=True, mint=True)
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of two vectors; other tensors are flattened first.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        vec2 (Tensor): the second vector.

    Returns:
        Tensor [n, m]. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.

    Example:
        >>> print(ops.outer(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])))
        [[3. 4.]
         [6. 8.]]
    """
    return reshape(input, (-1, 1)) * reshape(vec2, (1, -1))


def tensor_dot(x1: Tensor, x2: Tensor, axes: Any) -> Tensor:
    """Products summed over the named axes.

    Args:
        x1 (Tensor): the first operand.
        x2 (Tensor): the second operand.
        axes (int or tuple): the axes.

    Returns:
        Tensor. Ints, floats and complex keep their dtype; not for bool.

    Raises:
        ValueError: if the shape of `x2` does not fit.

    Example:
        >>> print(ops.tensor_dot(ops.ones((2, 3)), ops.ones((3, 2)), 1))
        [[3. 3.]
         [3. 3.]]
    """
    if isinstance(axes, int):
        of1, of2 = builtins.range(x1.ndim - axes, x1.ndim), builtins.range(axes)
    else:
        of1, of2 = _ints(axes[0]), _ints(axes[1])
    for k in of1:
        _within("tensor_dot", k, x1.ndim)
    for k in of2:
        _within("tensor_dot", k, x2.ndim)
    a, b = [_axis(k, x1.ndim) for k in of1], [_axis(k, x2.ndim) for k in of2]
    ra = [k for k in builtins.range(x1.ndim) if k not in a]
    rb = [k for k in builtins.range(x2.ndim) if k not in b]
    n = 1
    for k in a:
        n *= x1.shape[k]
    l = _ops["reshape"](_ops["transpose"](x1, tuple(ra + a)), (-1, n))
    r = _ops["reshape"](_ops["transpose"](x2, tuple(b + rb)), (n, -1))
    return _ops["reshape"](_ops["matmul"](l, r), tuple([x1.shape[k] for k in ra] + [x2.shape[k] for k in rb]))


tensordot = tensor_dot


@_named(mint=True)
def einsum(equation: str, *operands: Any) -> Tensor:
    """Einstein summation; operands are contracted from left to right.

    `...` stands for the dimensions that have no letter, which broadcast; without `->` they come first in the result.

    Args:
        equation (str): the letters of each operand's axes, and of the result's behind ->.

    Returns:
        Tensor.

    Raises:
        ValueError: if `equation` is not one of those named, or the shape of `operands` does not fit.

    Example:
        >>> print(ops.einsum("ij,jk->ik", Tensor([[1.0, 2.0]]), Tensor([[3.0], [4.0]])))
        [[11.]]
    """
    eq = equation.replace(" ", "")
    if "." in eq:
        eq, operands = _einsum_ellipsis(eq, operands)
    left, arrow, right = eq.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise _check.expected("einsum", f"the {len(terms)} operands that the equation names", len(operands))
    if not arrow:
        right = "".join([c for c in sorted(set(left.replace(",", ""))) if left.count(c) == 1])
    x, tx = _einsum_diagonal(operands[0], terms[0])
    for i in builtins.range(1, len(terms)):
        y, ty = _einsum_diagonal(operands[i], terms[i])
        later = "".join(terms[i + 1:]) + right
        x, tx = _einsum_pair(x, tx, y, ty, later)
    drop = tuple([k for k, c in enumerate(tx) if c not in right])
    if drop:
        x = _ops["reduce_sum"](x, drop, False)
        tx = "".join([c for c in tx if c in right])
    for c in right:
        if c not in tx:
            raise ValueError(f"For 'einsum', the output index {c!r} is in no operand.")
    return _ops["transpose"](x, tuple([tx.index(c) for c in right]))


def _einsum_ellipsis(eq, operands):
    left, arrow, right = eq.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise _check.expected("einsum", f"the {len(terms)} operands that the equation names", len(operands))
    shapes = []  # of the dimensions without a letter, per operand
    for t, x in zip(terms, operands):
        head, dots, tail = t.partition("...")
        if "." in head + tail:
            raise ValueError(f"For 'einsum', the term {t!r} is malformed: '...' may stand once.")
        n = x.ndim - len(head) - len(tail)
        if n < 0 or (n > 0 and not dots):
            raise _check.unfit("einsum", f"the term {t!r}", f"a tensor of shape {x.shape}")
        shapes.append(tuple(x.shape[len(head):len(head) + n]))
    rank = builtins.max([len(s) for s in shapes])
    common = [1] * rank
    for s in shapes:
        for k, d in enumerate(s):
            at = rank - len(s) + k
            if common[at] == 1:
                common[at] = d
            elif d != 1 and d != common[at]:
                raise ValueError(f"For 'einsum', the dimensions under '...' do not broadcast: {shapes}.")
    free = [c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" if c not in eq][:rank]
    full, named = [], []
    for t, x, s in zip(terms, operands, shapes):
        head, _, tail = t.partition("...")
        start = len(head)
        want = tuple(common[rank - len(s):])
        if s != want:
            x = _ops["broadcast_to"](x, tuple(x.shape[:start]) + want + tuple(x.shape[start + len(s):]))
        full.append(x)
        named.append(head + "".join(free[rank - len(s):]) + tail)
    if arrow:
        out = right.replace("...", "".join(free))
    else:
        letters = "".join(terms).replace(".", "")
        out = "".join(free) + "".join([c for c in sorted(set(letters)) if letters.count(c) == 1])
    return ",".join(named) + "->" + out, tuple(full)


def _einsum_diagonal(x, term):
    if x.ndim != len(term):
        raise _check.unfit("einsum", f"the term {term!r}", f"a tensor of shape {x.shape}")
    while len(set(term)) < len(term):
        for c in term:
            if term.count(c) > 1:
                i = term.index(c)
                j = term.index(c, i + 1)
                break
        n = x.shape[i]
        perm = [k for k in builtins.range(x.ndim) if k not in (i, j)] + [i, j]
        x = _ops["transpose"](x, tuple(perm))
        x = _ops["reduce_sum"](x * eye(n, dtype=x.dtype), (x.ndim - 1,), False)
        term = "".join([term[k] for k in perm[:-2]]) + c
    return x, term


def _einsum_pair(x, tx, y, ty, later):
    both = [c for c in tx if c in ty]
    batch = [c for c in both if c in later]
    contract = [c for c in both if c not in later]
    fx, fy = [c for c in tx if c not in ty], [c for c in ty if c not in tx]
    dims = {}
    for term, v in ((tx, x), (ty, y)):
        for c, d in zip(term, v.shape):
            if dims.setdefault(c, d) != d:
                raise ValueError(f"For 'einsum', index {c!r} has sizes {dims[c]} and {d}.")

    def group(v, term, parts):
        v = _ops["transpose"](v, tuple([term.index(c) for p in parts for c in p]))
        shape = [dims[c] for c in parts[0]]
        for p in parts[1:]:
            n = 1
            for c in p:
                n *= dims[c]
            shape.append(n)
        return _ops["reshape"](v, tuple(shape))

    r = _ops["matmul"](group(x, tx, [batch, fx, contract]), group(y, ty, [batch, contract, fy]))
    out = batch + fx + fy
    return _ops["reshape"](r, tuple([dims[c] for c in out])), "".join(out)


@_named(mint=True)
def mv(mat: Tensor, vec: Tensor) -> Tensor:
    """Matrix times vector.

    Args:
        mat (Tensor): the matrix.
        vec (Tensor): the vector.

    Returns:
        Tensor [n]. Ints, floats and complex keep their dtype; not for bool.

    Raises:
        ValueError: if the shape of `vec` does not fit.

    Example:
        >>> print(ops.mv(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1.0, 1.0])))
        [3. 7.]
    """
    if mat.ndim != 2 or vec.ndim != 1:
        raise _check.expected("mv", "a matrix and a vector", _check.several(mat.ndim, vec.ndim))
    return matmul(mat, vec)


@_named(mint=True)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2).

    Args:
        input (Tensor): the input, of any shape and any dtype.
        mat1 (Tensor): the first matrix.
        mat2 (Tensor): the second matrix.
        beta (number, optional): a factor. Default: 1.
        alpha (number, optional): a factor. Default: 1.

    Returns:
        Tensor [n, k]. Ints, floats and complex keep their dtype; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `mat1` does not fit, or the shape of `mat2` does not fit.

    Example:
        >>> print(ops.addmm(Tensor([[1.0]]), Tensor([[1.0, 2.0]]), Tensor([[3.0], [4.0]])))
        [[12.]]
    """
    return beta * input + alpha * mm(mat1, mat2)


@_named(method=True, mint=True)
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta * input + alpha * (mat @ vec).

    Args:
        input (Tensor): the input, of any shape and any dtype.
        mat (Tensor): the matrix.
        vec (Tensor): the vector.
        beta (number, optional): a factor. Default: 1.
        alpha (number, optional): a factor. Default: 1.

    Returns:
        Tensor [n]. Ints, floats and complex keep their dtype; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `mat` does not fit, or the shape of `vec` does not fit.

    Example:
        >>> print(ops.addmv(Tensor([1.0]), Tensor([[1.0, 2.0]]), Tensor([3.0, 4.0])))
        [12.]
    """
    return beta * input + alpha * mv(mat, vec)


@_named(method=True, mint=True)
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta * input + alpha * sum over the batch of batch1 @ batch2.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        batch1 (Tensor): [b, n, m].
        batch2 (Tensor): [b, m, k].
        beta (number, optional): a factor. Default: 1.
        alpha (number, optional): a factor. Default: 1.

    Returns:
        Tensor [n, k]. Floats and complex keep their dtype; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `batch1` does not fit, or the shape of `batch2` does not fit.

    Example:
        >>> print(ops.addbmm(ops.zeros((2, 2)), ops.ones((3, 2, 1)), ops.ones((3, 1, 2))))
        [[3. 3.]
         [3. 3.]]
    """
    return beta * input + alpha * sum(bmm(batch1, batch2), 0)


@_named(method=True, mint=True)
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2).

    Args:
        input (Tensor): the input, of any shape and any dtype.
        batch1 (Tensor): [b, n, m].
        batch2 (Tensor): [b, m, k].
        beta (number, optional): a factor. Default: 1.
        alpha (number, optional): a factor. Default: 1.

    Returns:
        Tensor [b, n, k]. Ints, floats and complex keep their dtype; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `batch1` does not fit, or the shape of `batch2` does not fit.

    Example:
        >>> print(ops.baddbmm(ops.ones((1, 2, 2)), ops.ones((1, 2, 1)), ops.ones((1, 1, 2))))
        [[[2. 2.]
          [2. 2.]]]
    """
    return beta * input + alpha * bmm(batch1, batch2)


@_named(method=True)
def addr(x: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta * x + alpha * outer(vec1, vec2).

    Args:
        x (Tensor): the input, of any shape and any dtype.
        vec1 (Tensor): the first vector.
        vec2 (Tensor): the second vector.
        beta (number, optional): a factor. Default: 1.
        alpha (number, optional): a factor. Default: 1.

    Returns:
        Tensor [n, m]. Ints, floats and complex keep their dtype; bool gives int64.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if the shape of `vec1` does not fit, or the shape of `vec2` does not fit.

    Example:
        >>> print(ops.addr(ops.zeros((2, 2)), Tensor([1.0, 2.0]), Tensor([3.0, 4.0])))
        [[3. 4.]
         [6. 8.]]
    """
    return beta * x + alpha * outer(vec1, vec2)


@_named(method=True, primitive="Ger")
def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of two vectors.

    Args:
        input (Tensor): the input, of 1 dimension and any dtype, that of the other operand.
        vec2 (Tensor): the second vector.

    Returns:
        Tensor [n, m]. Bool, ints, floats and complex keep their dtype.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `vec2` does not fit.

    Example:
        >>> print(ops.ger(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])))
        [[3. 4.]
         [6. 8.]]
    """
    _ranks("ger", 1, input=input, vec2=vec2)
    _same_dtype("ger", input=input, vec2=vec2)
    return outer(input, vec2)


def vecdot(x: Tensor, y: TensorLike, *, axis: int = -1) -> Tensor:
    """Sum of products along one axis.

    Args:
        x (Tensor): the input, of any shape and any dtype.
        y (Tensor or number): the second operand.
        axis (int, optional): the axis; -1 is the last one. Default: -1.

    Returns:
        Tensor without the axis. Floats and complex keep their dtype; bool gives int64.

    Raises:
        TypeError: if `x` is not a Tensor.
        ValueError: if the shape of `y` does not fit, or `axis` is out of range.

    Example:
        >>> print(ops.vecdot(Tensor([[1.0, 2.0]]), Tensor([[3.0, 4.0]])))
        [11.]
    """
    product = x * y
    exact = product.dtype.is_floating_point or product.dtype in mstype.complex_type
    return _ops["reduce_sum"](product if exact else cast(product, mstype.int64), axis, False)


def kron(input: Tensor, other: TensorLike) -> Tensor:
    """Kronecker product.

    Args:
        input (Tensor): the input, of any shape and any dtype.
        other (Tensor or number): the second operand.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.kron(Tensor([[1.0, 2.0]]), Tensor([[1.0, 1.0]])))
        [[1. 1. 2. 2.]]
    """
    n = builtins.max(input.ndim, other.ndim)
    a = reshape(input, (1,) * (n - input.ndim) + tuple(input.shape))
    b = reshape(other, (1,) * (n - other.ndim) + tuple(other.shape))
    product = (reshape(a, tuple(v for d in a.shape for v in (d, 1)))
               * reshape(b, tuple(v for d in b.shape for v in (1, d))))
    return reshape(product, tuple(p * q for p, q in zip(a.shape, b.shape)))


@_named(method=True)
def cross(input: Tensor, other: TensorLike, dim: int | None = None) -> Tensor:
    """Cross product along an axis of 3 (by default the first such).

    Args:
        input (Tensor): the input, of 1 dimension or more and any dtype.
        other (Tensor or number): the second operand.
        dim (int, optional): the axis; -1 is the last one. Default: None.

    Returns:
        Tensor of the common shape. Ints, floats and complex keep their dtype; not for bool.

    Raises:
        ValueError: if the shape of `other` does not fit, or `dim` is out of range.

    Example:
        >>> print(ops.cross(Tensor([1.0, 0.0, 0.0]), Tensor([0.0, 1.0, 0.0])))
        [0. 0. 1.]
    """
    if dim is None:
        axes = [k for k, n in enumerate(input.shape) if n == 3]
        if not axes:
            raise ValueError(f"For 'cross', no axis of {input.shape} has size 3.")
        dim = axes[0]
    _within("cross", dim, input.ndim)
    dim = dim % input.ndim
    if other.ndim != input.ndim:
        input, other = input + zeros_like(other), other + zeros_like(input)
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise _check.refused("cross", f"axis {dim}", _check.value("have size 3"),
                             _check.several(input.shape, other.shape))

    def turned(x, k):
        return _ops["concat"]([narrow(x, dim, k, 3 - k), narrow(x, dim, 0, k)], dim)
    return turned(input, 1) * turned(other, 2) - turned(input, 2) * turned(other, 1)


@_named(method=True)
def adjoint(x: Tensor) -> Tensor:
    """The last two dimensions exchanged.

    Args:
        x (Tensor): the input, of 2 dimensions or more and any dtype.

    Returns:
        Tensor. Bool, ints, floats and complex keep their dtype.

    Example:
        >>> print(ops.adjoint(Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[1. 3.]
         [2. 4.]]
    """
    if x.ndim < 2:
        raise _check.refused("adjoint", "the input", _check.least_dims(2), x.ndim)
    y = _ops["transpose"](x, (*builtins.range(x.ndim - 2), x.ndim - 1, x.ndim - 2))
    return _ops["conj"](y) if x.dtype in (mstype.complex64, mstype.complex128) else y


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


def baddbmm_ext(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2).

    Args:
        input (Tensor): the input, of any shape and any dtype.
        batch1 (Tensor): [b, n, m].
        batch2 (Tensor): [b, m, k].
        beta (number, optional): a factor. Default: 1.
        alpha (number, optional): a factor. Default: 1.

    Returns:
        Tensor. Ints, floats and complex keep their dtype; not for bool.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `batch1` does not fit, or the shape of `batch2` does not fit.

    Example:
        >>> print(ops.baddbmm_ext(ops.ones((1, 2, 2)), ops.ones((1, 2, 2)), ops.ones((1, 2, 2))))
        [[[3. 3.]
          [3. 3.]]]
    """
    return baddbmm(input, batch1, batch2, beta=beta, alpha=alpha)


def einsum_ext(equation: str, *operands: Tensor) -> Tensor:
    """As einsum.

    Args:
        equation (str): the letters of each operand's axes, and of the result's behind ->.
        *operands (Tensor): what the function is called with.

    Returns:
        Tensor.

    Raises:
        ValueError: if `equation` is not one of those named, or the shape of `operands` does not fit.

    Example:
        >>> print(ops.einsum_ext("i,i->", Tensor([1.0, 2.0]), Tensor([3.0, 4.0])))
        11.0
    """
    return einsum(equation, *operands)
