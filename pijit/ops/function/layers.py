"""Layers of networks: dense ones, embeddings of words and of positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit._C import ops as _ops, Tensor
from pijit.ops.function.creation import arange
from pijit.ops.function.elementwise import stop_gradient
from pijit.ops.function.joining import chunk, concat, stack
from pijit.ops.function.linalg import matmul
from pijit.ops.function.shapes import expand_dims, reshape
from pijit.ops.table import named as _named

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import Number


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


@_named(functional=True)
def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: Number = 2.0, scale_grad_by_freq: bool = False) -> Tensor:
    """Rows of weight by index; no gradient flows to the row of padding_idx.

    Args:
        input (Tensor): the input, of any shape and int dtype.
        weight (Tensor): the table [rows, columns].
        padding_idx (int, optional): a row without a gradient. Default: None.
        max_norm (float, optional): the greatest norm. Default: None.
        norm_type (number, optional): the order of the norm. Default: 2.0.
        scale_grad_by_freq (bool, optional): kept for its name. Default: False.

    Returns:
        Tensor of shape (*input.shape, columns of weight). Ints give float32; not for bool, floats and complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if `padding_idx` is out of range.

    Example:
        >>> print(ops.embedding(Tensor([1, 0]), Tensor([[1.0, 2.0], [3.0, 4.0]])))
        [[3. 4.]
         [1. 2.]]
    """
    if max_norm is not None or scale_grad_by_freq or norm_type != 2.0:
        raise _check.unsupported("embedding", "'max_norm', 'norm_type' and 'scale_grad_by_freq' are")
    if padding_idx is not None:
        n = weight.shape[0]
        if not -n <= padding_idx < n:
            raise _check.refused("embedding", "padding_idx", _check.within(-n, n, "[)"), padding_idx)
        row = expand_dims(arange(n) == padding_idx % n, 1)
        weight = _ops["select"](row, stop_gradient(weight), weight)
    return _ops["gather"](weight, input, 0)


@_named(primitive="Dense")
def dense(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias.

    Args:
        input (Tensor): the input, of 1 dimension or more and float dtype, that of the other operand.
        weight (Tensor): [out, in].
        bias (Tensor, optional): [out]. Default: None.

    Returns:
        Tensor [..., out]. Ints and floats keep their dtype; not for bool and complex.

    Raises:
        TypeError: if `input` is not a Tensor.
        ValueError: if the shape of `weight` does not fit, or the shape of `bias` does not fit.

    Example:
        >>> print(ops.dense(Tensor([[1.0, 2.0]]), Tensor([[3.0, 4.0]]), Tensor([1.0])))
        [[12.]]
    """
    if bias is not None and isinstance(weight, Tensor) and weight.ndim == 2 and bias.shape != weight.shape[:1]:
        return _ops["dense"](input, weight, None) + bias  # a bias that broadcasts
    return _ops["dense"](input, weight, bias)


linear = dense


__all__ = ["bidense", "dense", "embedding", "linear", "rotary_position_embedding"]
