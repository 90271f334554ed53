"""Dense layers, dropout, embedding, shapes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pijit import _check
from pijit import dtype as mstype
from pijit.initializer import HeUniform, Uniform, initializer
from pijit._C import Tensor
from pijit.nn.cell import Cell
from pijit.nn.layer.activation import get_activation
from pijit.nn.layer.common import OperatorCell, positive
from pijit.ops import function as F
from pijit.ops import primitives as P
from pijit.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from pijit._C import DType
    from pijit._types import Axis, Init, Number, Shape, Size


class Dense(OperatorCell):
    """x @ weight.T + bias, then an activation. weight [out_channels, in_channels].

    Args:
        in_channels (int): the number of channels of the input.
        out_channels (int): the number of channels of the output.
        weight_init (Tensor, str, Initializer or number, optional): what the weights are at first. Default: None.
        bias_init (Tensor, str, Initializer or number, optional): what the biases are at first. Default: None.
        has_bias (bool, optional): whether there is a bias. Default: True.
        activation (str, Cell or function, optional): what is applied to the output. Default: None.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [..., in_channels].

    Outputs:
        Tensor [..., out_channels].

    Raises:
        TypeError: if `in_channels` is not an int, or `out_channels` is not an int, or `has_bias` is not a bool.
        ValueError: if `in_channels` is below 1, or `out_channels` is below 1.

    Example:
        >>> nn.Dense(3, 2, weight_init="ones")(ops.ones((1, 3))).shape
        (1, 2)
    """

    reshape: Any
    shape_op: Any

    def __init__(self, in_channels: int, out_channels: int, weight_init: Init | None = None,
                 bias_init: Init | None = None, has_bias: bool = True,
                 activation: str | Cell | Callable[..., Any] | None = None, dtype: DType = mstype.float32) -> None:
        super().__init__()
        self.in_channels: int = positive("Dense", "in_channels", in_channels)
        self.out_channels: int = positive("Dense", "out_channels", out_channels)
        _check.need("Dense", "has_bias", has_bias, _check.BOOL)
        self.has_bias = has_bias
        self.weight: Parameter = Parameter(initializer(HeUniform(math.sqrt(5)) if weight_init is None else weight_init,
                                                       [out_channels, in_channels], dtype), name="weight")
        self.bias: Any = None
        if has_bias:
            self.bias = Parameter(initializer(Uniform(1 / math.sqrt(in_channels)) if bias_init is None else bias_init,
                                              [out_channels], dtype), name="bias")
        self.activation: Any = get_activation(activation) if isinstance(activation, str) else activation
        self.activation_flag: bool = self.activation is not None
        self.reshape, self.shape_op = P.Reshape(), P.Shape()
        self.operators(matmul=P.MatMul(transpose_b=True), bias_add=P.BiasAdd())

    def construct(self, x: Tensor) -> Tensor:
        if not self.replaced():
            x = F.dense(x, self.weight, self.bias)
        else:
            shape = self.shape_op(x)
            x = self.matmul(self.reshape(x, (-1, shape[-1])) if len(shape) != 2 else x, self.weight)
            if self.has_bias:
                x = self.bias_add(x, self.bias)
            if len(shape) != 2:
                x = self.reshape(x, (*shape[:-1], -1))
        if self.activation is not None:
            x = self.activation(x)
        return x

    def extend_repr(self) -> str:
        shown = f"input_channels={self.in_channels}, output_channels={self.out_channels}"
        return (shown + (", has_bias=True" if self.has_bias else "") +
                (f", activation={self.activation}" if self.activation_flag else ""))


class Linear(Dense):
    """Dense with PyTorch's arguments.

    Args:
        in_features (int): the number of columns of the input.
        out_features (int): the number of columns of the output.
        bias (Tensor, optional): what to add per channel. Default: True.
        weight_init (Tensor, str, Initializer or number, optional): what the weights are at first. Default: None.
        bias_init (Tensor, str, Initializer or number, optional): what the biases are at first. Default: None.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        x: Tensor [..., in_features].

    Outputs:
        Tensor [..., out_features].

    Raises:
        TypeError: if `in_features` is not an int, or `out_features` is not an int, or `bias` is not a bool.
        ValueError: if `in_features` is below 1, or `out_features` is below 1.

    Example:
        >>> nn.Linear(3, 2)(ops.ones((1, 3))).shape
        (1, 2)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, weight_init: Init | None = None,
                 bias_init: Init | None = None, dtype: DType = mstype.float32) -> None:
        super().__init__(in_features, out_features, weight_init, bias_init, bias, None, dtype)


class Dropout(OperatorCell):
    """Zeroes elements with probability p while training.

    Args:
        keep_prob (float, optional): the probability to stay; p replaces it. Default: 0.5.
        p (number, optional): the probability. Default: None.
        dtype (dtype, optional): kept for its name. Default: float32.

    Inputs:
        x: Tensor.

    Outputs:
        Tensor of x's shape.

    Example:
        >>> print(nn.Dropout(p=0.5).set_train(False)(Tensor([1.0, 2.0])))
        [1. 2.]
    """

    p: Number
    keep_prob: Number

    def __init__(self, keep_prob: float = 0.5, p: Number | None = None, dtype: DType = mstype.float32) -> None:
        super().__init__()
        self._said = f"keep_prob={keep_prob}" if p is None else f"p={p}"
        p = 1 - keep_prob if p is None else p
        _check.need("Dropout", "p", p, _check.within(0, 1, "[)"))
        self.p, self.keep_prob = p, 1 - p
        self.operators(dropout=P.Dropout(self.keep_prob))

    def construct(self, x: Tensor) -> Tensor:
        if self.replaced() and self.training:
            return self.dropout(x)[0]
        return F.dropout(x, self.p, self.training) if self.p else x

    def extend_repr(self) -> str:
        return self._said


class Embedding(Cell):
    """Rows of a table by index.

    Args:
        vocab_size (int): the number of rows.
        embedding_size (int): the number of columns.
        use_one_hot (bool, optional): kept for its name. Default: False.
        embedding_table (Tensor, str, Initializer or number, optional): what the table is at first. Default:
            'normal'.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.
        padding_idx (int, optional): a row of zeros without a gradient. Default: None.

    Inputs:
        ids: Tensor of ints.

    Outputs:
        Tensor [*ids.shape, embedding_size].

    Raises:
        TypeError: if `vocab_size` is not an int, or `embedding_size` is not an int.
        ValueError: if `vocab_size` is below 1, or `embedding_size` is below 1.

    Example:
        >>> nn.Embedding(10, 4)(Tensor([1, 2], ms.int32)).shape
        (2, 4)
    """

    vocab_size: int
    embedding_size: int
    use_one_hot: bool
    dtype: DType
    padding_idx: int | None
    gather: Any
    reshape: Any
    expand: Any
    array_mul: Any
    one_hot: Any
    shp_flat: tuple[int]
    get_shp: Any

    def __init__(self, vocab_size: int, embedding_size: int, use_one_hot: bool = False,
                 embedding_table: Init = "normal", dtype: DType = mstype.float32,
                 padding_idx: int | None = None) -> None:
        super().__init__()
        self.vocab_size, self.embedding_size = (positive("Embedding", "vocab_size", vocab_size),
                                                positive("Embedding", "embedding_size", embedding_size))
        table = initializer(embedding_table, [vocab_size, embedding_size], dtype)
        if padding_idx is not None:
            a = table.asnumpy()
            a[padding_idx] = 0
            table = type(table)(a)
        self.embedding_table: Parameter = Parameter(table, name="embedding_table")
        self.use_one_hot, self.dtype, self.padding_idx = use_one_hot, dtype, padding_idx
        self.gather, self.reshape, self.expand, self.get_shp, self.array_mul = (P.Gather(), P.Reshape(), P.ExpandDims(),
            P.Shape(), P.MatMul())
        self.one_hot, self.shp_flat = P.OneHot(), (-1,)

    def construct(self, ids: Tensor) -> Tensor:
        return self.gather(self.embedding_table, ids, 0)

    def extend_repr(self) -> str:
        return (f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}, use_one_hot={self.use_one_hot}, "
                f"embedding_table={self.embedding_table}, dtype={self.dtype}, padding_idx={self.padding_idx}")


class Flatten(Cell):
    """Dimensions start_dim..end_dim merged.

    Args:
        start_dim (int, optional): the first dimension. Default: 1.
        end_dim (int, optional): the last dimension. Default: -1.

    Inputs:
        x: Tensor.

    Outputs:
        Tensor.

    Example:
        >>> nn.Flatten()(ops.ones((2, 3, 4))).shape
        (2, 12)
    """

    start_dim: int
    end_dim: int

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def construct(self, x: Tensor) -> Tensor:
        if self.start_dim == 1 and isinstance(x, Tensor) and x.ndim == 1:
            raise _check.out_of_range("Flatten", "'start_dim' 1 is", 1)
        return F.flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)


class Identity(Cell):
    """The input.

    Inputs:
        x: anything.

    Outputs:
        x.

    Example:
        >>> print(nn.Identity()(Tensor([1.0])))
        [1.]
    """

    def construct(self, x: Tensor) -> Tensor:
        return x


class Dropout1d(OperatorCell):
    """Zeroes whole channels of [N, C, L] with probability p while training.

    Args:
        p (number, optional): the probability. Default: 0.5.

    Inputs:
        x: Tensor [N, C, L] or [C, L].

    Outputs:
        Tensor of x's shape.

    Example:
        >>> nn.Dropout1d(0.5).set_train(False)(ops.ones((1, 2, 3))).shape
        (1, 2, 3)
    """

    prob: Number

    def __init__(self, p: Number = 0.5) -> None:
        super().__init__()
        _check.need(type(self).__name__, "p", p, _check.within(0, 1))
        self.p = self.prob = p

    def construct(self, x: Tensor) -> Tensor:
        return F.dropout1d(x, self.p, self.training)


class Dropout2d(Dropout1d):
    """Zeroes whole channels of [N, C, H, W] with probability p while training.

    Args:
        p (number, optional): the probability. Default: 0.5.

    Inputs:
        x: Tensor [N, C, H, W].

    Outputs:
        Tensor of x's shape.

    Example:
        >>> nn.Dropout2d(0.5).set_train(False)(ops.ones((1, 2, 3, 3))).shape
        (1, 2, 3, 3)
    """

    def __init__(self, p: Number = 0.5) -> None:
        super().__init__(p)
        self.keep_prob: float | complex = 1.0 - p
        self.operators(dropout2d=P.Dropout2D(self.keep_prob))

    def construct(self, x: Tensor) -> Tensor:
        if self.replaced() and self.training:
            return self.dropout2d(x)[0]
        return F.dropout2d(x, self.p, self.training)

    def extend_repr(self) -> str:
        return f"p={self.p}"


class Dropout3d(Dropout1d):
    """Zeroes whole channels of [N, C, D, H, W] with probability p while training.

    Args:
        p (number, optional): the probability. Default: 0.5.

    Inputs:
        x: Tensor [N, C, D, H, W].

    Outputs:
        Tensor of x's shape.

    Example:
        >>> nn.Dropout3d(0.5).set_train(False)(ops.ones((1, 2, 3, 3, 3))).shape
        (1, 2, 3, 3, 3)
    """

    def __init__(self, p: Number = 0.5) -> None:
        super().__init__(p)
        self.keep_prob: float | complex = 1.0 - p
        self.operators(dropout3d=P.Dropout3D(self.keep_prob))

    def construct(self, x: Tensor) -> Tensor:
        if self.replaced() and self.training:
            return self.dropout3d(x)[0]
        return F.dropout3d(x, self.p, self.training)

    def extend_repr(self) -> str:
        return f"p={self.p}"


class EmbeddingLookup(Cell):
    """Rows of a table by index, scaled down to a norm of max_norm.

    Args:
        vocab_size (int): the number of rows.
        embedding_size (int): the number of columns.
        param_init (Tensor, str, Initializer or number, optional): what the table is at first. Default: 'normal'.
        target (str, optional): kept for its name. Default: 'CPU'.
        slice_mode (str, optional): kept for its name. Default: 'batch_slice'.
        manual_shapes (tuple, optional): kept for its name. Default: None.
        max_norm (float, optional): the greatest norm. Default: None.
        sparse (bool, optional): kept for its name. Default: True.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        indices: Tensor of ints.

    Outputs:
        Tensor [*indices.shape, embedding_size].

    Raises:
        TypeError: if `vocab_size` is not an int, or `embedding_size` is not an int.
        ValueError: if `vocab_size` is below 1, or `embedding_size` is below 1.

    Example:
        >>> nn.EmbeddingLookup(10, 4)(Tensor([1, 2], ms.int32)).shape
        (2, 4)
    """

    vocab_size: int
    embedding_size: int
    gatherv2: Any
    embeddinglookup: Any
    BATCH_SLICE, FIELD_SLICE, TABLE_ROW_SLICE, TABLE_COLUMN_SLICE = ("batch_slice", "field_slice", "table_row_slice",
        "table_column_slice")

    def __init__(self, vocab_size: int, embedding_size: int, param_init: Init = "normal", target: str = "CPU",
                 slice_mode: str = "batch_slice", manual_shapes: tuple[Any, ...] | list[Any] | None = None,
                 max_norm: float | None = None, sparse: bool = True, dtype: DType = mstype.float32) -> None:
        super().__init__()
        self.vocab_size, self.embedding_size = (positive("EmbeddingLookup", "vocab_size", vocab_size),
                                                positive("EmbeddingLookup", "embedding_size", embedding_size))
        self.max_norm = max_norm
        self.embedding_table: Parameter = Parameter(initializer(param_init, [vocab_size, embedding_size], dtype),
                                                    name="embedding_table")
        self.gatherv2, self.embeddinglookup = P.SparseGatherV2(), P.EmbeddingLookup()

    def construct(self, indices: Tensor) -> Tensor:
        y = self.gatherv2(self.embedding_table, indices, 0)
        if self.max_norm is None:
            return y
        norm = F.sqrt(F.sum(F.square(y), -1, True))
        return y * F.minimum(self.max_norm / F.maximum(norm, 1e-12), 1.0)


class BiDense(OperatorCell):
    """x1 W x2 + bias for each of out_channels matrices W. weight [out_channels, in1_channels, in2_channels].

    Args:
        in1_channels (int): the number of columns of the first input.
        in2_channels (int): the number of columns of the second input.
        out_channels (int): the number of channels of the output.
        weight_init (Tensor, str, Initializer or number, optional): what the weights are at first. Default: None.
        bias_init (Tensor, str, Initializer or number, optional): what the biases are at first. Default: None.
        has_bias (bool, optional): whether there is a bias. Default: True.
        dtype (dtype, optional): the dtype of the Parameters. Default: float32.

    Inputs:
        input1: Tensor [..., in1_channels].
        input2: Tensor [..., in2_channels].

    Outputs:
        Tensor [..., out_channels].

    Raises:
        TypeError: if `in1_channels` is not an int, or `in2_channels` is not an int, or `out_channels` is not an int.
        ValueError: if `in1_channels` is below 1, or `in2_channels` is below 1, or `out_channels` is below 1.

    Example:
        >>> nn.BiDense(2, 3, 4)(ops.ones((1, 2)), ops.ones((1, 3))).shape
        (1, 4)
    """

    in1_channels: int
    in2_channels: int
    out_channels: int
    has_bias: bool
    weight: Parameter
    bias: Parameter | None

    def __init__(self, in1_channels: int, in2_channels: int, out_channels: int, weight_init: Init | None = None,
                 bias_init: Init | None = None, has_bias: bool = True, dtype: DType = mstype.float32) -> None:
        super().__init__()
        for name, v in (("in1_channels", in1_channels), ("in2_channels", in2_channels), ("out_channels", out_channels)):
            positive("BiDense", name, v)
        self.in1_channels, self.in2_channels, self.out_channels, self.has_bias = (in1_channels, in2_channels,
            out_channels, has_bias)
        self.in_channels = in1_channels
        self.operators(matmul=P.MatMul(), bias_add=P.BiasAdd())
        bound = 1 / math.sqrt(in1_channels)
        self.weight = Parameter(initializer(Uniform(bound) if weight_init is None else weight_init,
                                            [out_channels, in1_channels, in2_channels], dtype), name="weight")
        self.bias = (Parameter(initializer(Uniform(bound) if bias_init is None else bias_init, [out_channels], dtype),
                               name="bias") if has_bias else None)

    def construct(self, input1: Tensor, input2: Tensor) -> Tensor:
        out, m, n = self.weight.shape
        x = F.reshape(self.matmul(F.reshape(input1, (-1, m)),
                                  F.reshape(F.transpose(self.weight, (1, 0, 2)), (m, out * n))), (-1, out, n))
        y = F.sum(x * F.expand_dims(F.reshape(input2, (-1, n)), 1), -1)
        return F.reshape(y if self.bias is None else self.bias_add(y, self.bias), (*input1.shape[:-1], out))

    def extend_repr(self) -> str:
        return (f"in1_channels={self.in1_channels}, in2_channels={self.in2_channels}, "
                f"output_channels={self.out_channels}, has_bias={self.has_bias}")


class Unflatten(Cell):
    """One axis as several.

    Args:
        axis (int): the axis; -1 is the last one.
        unflattened_size (tuple of int): the sizes of the new axes.

    Inputs:
        input: Tensor.

    Outputs:
        Tensor.

    Example:
        >>> nn.Unflatten(1, (2, 3))(ops.ones((4, 6))).shape
        (4, 2, 3)
    """

    axis: int
    unflattened_size: tuple[int, ...]

    def __init__(self, axis: int, unflattened_size: Shape) -> None:
        super().__init__()
        self.axis, self.unflattened_size = axis, tuple(unflattened_size)

    def construct(self, input: Tensor) -> Tensor:
        axis = self.axis % input.ndim
        return F.reshape(input, (*input.shape[:axis], *self.unflattened_size, *input.shape[axis + 1:]))


class OneHot(Cell):
    """on_value at each index, off_value elsewhere, along a new axis of `depth`.

    Args:
        axis (int, optional): the axis; -1 is the last one. Default: -1.
        depth (int, optional): the number of classes. Default: 1.
        on_value (number, optional): the value at the class. Default: 1.0.
        off_value (number, optional): the value elsewhere. Default: 0.0.
        dtype (dtype, optional): the dtype of the result. Default: float32.

    Inputs:
        indices: Tensor of ints.

    Outputs:
        Tensor with an axis of depth.

    Example:
        >>> print(nn.OneHot(depth=3)(Tensor([0, 2], ms.int32)))
        [[1. 0. 0.]
         [0. 0. 1.]]
    """

    axis: int
    depth: int
    on_value: Number
    off_value: Number
    dtype: DType

    def __init__(self, axis: int = -1, depth: int = 1, on_value: Number = 1.0, off_value: Number = 0.0,
                 dtype: DType = mstype.float32) -> None:
        super().__init__()
        self.axis, self.depth, self.on_value, self.off_value, self.dtype = axis, depth, on_value, off_value, dtype
        self.onehot: Any = P.OneHot(axis)

    def construct(self, indices: Tensor) -> Tensor:
        return F.cast(self.onehot(indices, self.depth, self.on_value, self.off_value), self.dtype)


class Norm(Cell):
    """The Euclidean norm over axes.

    Args:
        axis (int or tuple of int, optional): the axes; all by default. Default: ().
        keep_dims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Inputs:
        x: Tensor.

    Outputs:
        Tensor without the axes, or with axes of 1.

    Example:
        >>> print(nn.Norm()(Tensor([3.0, 4.0])))
        5.0
    """

    axis: Axis
    keep_dims: bool
    reduce_sum: Any
    sqrt: Any
    squeeze: Any

    def __init__(self, axis: Axis = (), keep_dims: bool = False) -> None:
        super().__init__()
        self.axis, self.keep_dims = axis, keep_dims
        self.reduce_sum, self.sqrt, self.squeeze = P.ReduceSum(keep_dims), P.Sqrt(), P.Squeeze()

    def construct(self, x: Tensor) -> Tensor:
        return self.sqrt(self.reduce_sum(F.square(x), self.axis))

    def extend_repr(self) -> str:
        return f"axis={self.axis}, keep_dims={self.keep_dims}"


class ClipByNorm(Cell):
    """x * clip_norm / max(norm over the axes, clip_norm).

    Args:
        axis (int or tuple of int, optional): the axes; all by default. Default: None.

    Inputs:
        x: Tensor.
        clip_norm: Tensor, the greatest norm.

    Outputs:
        Tensor of x's shape.

    Example:
        >>> print(nn.ClipByNorm()(Tensor([3.0, 4.0]), Tensor(1.0)))
        [0.6 0.8]
    """

    def __init__(self, axis: Axis | None = None) -> None:
        super().__init__()
        self.axis = axis

    def construct(self, x: Tensor, clip_norm: Tensor) -> Tensor:
        norm = F.sqrt(F.sum(F.square(x), self.axis, self.axis is not None))
        return x * clip_norm / F.maximum(norm, clip_norm)


class L1Regularizer(Cell):
    """scale * sum of |weights|.

    Args:
        scale (number): the factor.

    Inputs:
        weights: Tensor.

    Outputs:
        0-d Tensor.

    Example:
        >>> print(nn.L1Regularizer(0.5)(Tensor([1.0, -3.0])))
        2.0
    """

    abs: Any
    reduce_sum: Any

    def __init__(self, scale: Number) -> None:
        super().__init__()
        _check.need("L1Regularizer", "scale", scale, _check.NUMBER, _check.above(0))
        self.scale = scale
        self.abs, self.reduce_sum = P.Abs(), P.ReduceSum()

    def construct(self, weights: Tensor) -> Tensor:
        return self.reduce_sum(self.abs(weights)) * self.scale


class Moments(Cell):
    """(mean, variance) over axes.

    Args:
        axis (int or tuple of int, optional): the axes; all by default. Default: None.
        keep_dims (bool, optional): whether axes stay, as axes of 1. Default: None.

    Inputs:
        x: Tensor.

    Outputs:
        (Tensor, Tensor).

    Example:
        >>> for part in nn.Moments(0)(Tensor([1.0, 3.0])):
        ...     print(part)
        2.0
        1.0
    """

    axis: Axis | None
    keep_dims: bool

    def __init__(self, axis: Axis | None = None, keep_dims: bool | None = None) -> None:
        super().__init__()
        self.axis, self.keep_dims = axis, bool(keep_dims)

    def construct(self, x: Tensor) -> tuple[Tensor, Tensor]:
        axis = None if self.axis in (None, ()) else self.axis
        return F.mean(x, axis, self.keep_dims), F.var(x, axis, 0, self.keep_dims)


class ReduceLogSumExp(OperatorCell):
    """log of the sum of exp over axes.

    Args:
        axis (int): the axis; -1 is the last one.
        keep_dims (bool, optional): whether axes stay, as axes of 1. Default: False.

    Inputs:
        x: Tensor.

    Outputs:
        Tensor without the axes, or with axes of 1.

    Example:
        >>> print(nn.ReduceLogSumExp(0)(Tensor([0.0, 0.0])))
        0.6931472
    """

    axis: int
    keep_dims: bool

    def __init__(self, axis: int, keep_dims: bool = False) -> None:
        super().__init__()
        self.axis, self.keep_dims = axis, keep_dims
        self.operators(exp=P.Exp(), sum=P.ReduceSum(keep_dims), log=P.Log(), max=P.ReduceMax())

    def construct(self, x: Tensor) -> Tensor:
        if self.replaced():
            most = self.max(x)
            return self.log(self.sum(self.exp(x - most), self.axis)) + most
        return F.logsumexp(x, self.axis, self.keep_dims)


class MatMul(Cell):
    """Matrix product, of operands whose last two axes may be exchanged first.

    Args:
        transpose_x1 (bool, optional): whether the first operand is transposed. Default: False.
        transpose_x2 (bool, optional): whether the second operand is transposed. Default: False.

    Inputs:
        x1: Tensor.
        x2: Tensor.

    Outputs:
        Tensor.

    Example:
        >>> print(nn.MatMul()(Tensor([[1.0, 2.0]]), Tensor([[3.0], [4.0]])))
        [[11.]]
    """

    transpose_x1: bool
    transpose_x2: bool

    def __init__(self, transpose_x1: bool = False, transpose_x2: bool = False) -> None:
        super().__init__()
        self.transpose_x1, self.transpose_x2 = transpose_x1, transpose_x2

    def construct(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.matmul(F.swapaxes(x1, -1, -2) if self.transpose_x1 else x1,
                        F.swapaxes(x2, -1, -2) if self.transpose_x2 else x2)


class Range(Cell):
    """The numbers from start to limit, delta apart.

    Args:
        start (number): the first value, or with nothing else the end.
        limit (number, optional): the end, which isn't reached. Default: None.
        delta (number, optional): the distance. Default: 1.

    Inputs:
        none.

    Outputs:
        1-d Tensor.

    Example:
        >>> print(nn.Range(0, 6, 2)())
        [0 2 4]
    """

    def __init__(self, start: Number, limit: Number | None = None, delta: Number = 1) -> None:
        super().__init__()
        if delta == 0:
            raise _check.refused("Range", "delta", _check.NOT_ZERO, 0)
        self.args: tuple[Any, ...] = (0, start, delta) if limit is None else (start, limit, delta)

    def construct(self) -> Tensor:
        dtype = mstype.int32 if all(isinstance(v, int) for v in self.args) else mstype.float32
        return F.cast(F.arange(*self.args), dtype)


class Tril(Cell):
    """The lower triangle, zeros above diagonal k.

    Inputs:
        x: Tensor.
        k: int, the last diagonal that stays.

    Outputs:
        Tensor of x's shape.

    Example:
        >>> print(nn.Tril()(Tensor([[1, 2], [3, 4]])))
        [[1 0]
         [3 4]]
    """

    def construct(self, x: Tensor, k: int = 0) -> Tensor:
        return F.tril(x, k)


class Triu(Cell):
    """The upper triangle, zeros below diagonal k.

    Inputs:
        x: Tensor.
        k: int, the first diagonal that stays.

    Outputs:
        Tensor of x's shape.

    Example:
        >>> print(nn.Triu()(Tensor([[1, 2], [3, 4]])))
        [[1 2]
         [0 4]]
    """

    def construct(self, x: Tensor, k: int = 0) -> Tensor:
        return F.triu(x, k)


class Roll(Cell):
    """Elements shifted along axes, what leaves at the end coming in at the start.

    Args:
        shift (int or tuple of int): how far.
        axis (int): the axis; -1 is the last one.

    Inputs:
        input_x: Tensor.

    Outputs:
        Tensor of its shape.

    Example:
        >>> print(nn.Roll(1, 0)(Tensor([1, 2, 3])))
        [3 1 2]
    """

    shift: Size
    axis: int

    def __init__(self, shift: Size, axis: int) -> None:
        super().__init__()
        self.shift, self.axis = shift, axis

    def construct(self, input_x: Tensor) -> Tensor:
        return F.roll(input_x, self.shift, self.axis)


class LGamma(Cell):
    """log |gamma(x)|.

    Inputs:
        x: Tensor.

    Outputs:
        Tensor of x's shape.

    Example:
        >>> print(nn.LGamma()(Tensor([1.0, 4.0])))
        [0.        1.7917595]
    """

    def construct(self, x: Tensor) -> Tensor:
        return F.lgamma(x)


class DiGamma(Cell):
    """The derivative of log gamma.

    Inputs:
        x: Tensor.

    Outputs:
        Tensor of x's shape.

    Example:
        >>> print(nn.DiGamma()(Tensor([1.0, 4.0])))
        [-0.5772157  1.2561177]
    """

    def construct(self, x: Tensor) -> Tensor:
        return F.digamma(x)


class ParameterUpdate(Cell):
    """Gives a Parameter a new value.

    Args:
        param (Parameter): the parameter.

    Inputs:
        x: Tensor.

    Outputs:
        The Parameter.

    Example:
        >>> print(nn.ParameterUpdate(ms.Parameter(Tensor([1.0]), name="p"))(Tensor([5.0])))
        [5.]
    """

    def __init__(self, param: Parameter) -> None:
        super().__init__()
        _check.need("ParameterUpdate", "param", param, _check.a(Parameter))
        self._param = param

    def construct(self, x: Tensor) -> Tensor:
        return F.assign(self._param, x)


class TimeDistributed(Cell):
    """A layer applied to each step of time_axis.

    Args:
        layer (Cell): the layer.
        time_axis (int): the axis of steps.
        reshape_with_axis (int, optional): kept for its name. Default: None.

    Inputs:
        inputs: Tensor.

    Outputs:
        Tensor.

    Example:
        >>> nn.TimeDistributed(nn.Dense(3, 2), 1)(ops.ones((4, 5, 3))).shape
        (4, 5, 2)
    """

    layer: Cell
    time_axis: int
    reshape_with_axis: int | None

    def __init__(self, layer: Cell, time_axis: int, reshape_with_axis: int | None = None) -> None:
        super().__init__()
        self.layer, self.time_axis, self.reshape_with_axis = layer, time_axis, reshape_with_axis

    def construct(self, inputs: Tensor) -> Tensor:
        steps = [self.layer(x) for x in F.unbind(inputs, self.time_axis)]
        axis = self.time_axis if self.time_axis >= 0 else self.time_axis + inputs.ndim
        return F.stack(steps, axis)


class MatDet(Cell):
    """The determinant of [..., n, n].

    Inputs:
        x: Tensor [..., n, n].

    Outputs:
        Tensor.

    Example:
        >>> print(nn.MatDet()(Tensor([[1.0, 2.0], [3.0, 4.0]])))
        -1.9999999
    """

    def construct(self, x: Tensor) -> Tensor:
        return F.det(x)


class MatInverse(Cell):
    """The inverse of [..., n, n].

    Inputs:
        x: Tensor [..., n, n].

    Outputs:
        Tensor of x's shape.

    Example:
        >>> print(nn.MatInverse()(Tensor([[2.0, 0.0], [0.0, 4.0]])))
        [[0.5  0.  ]
         [0.   0.25]]
    """

    def construct(self, x: Tensor) -> Tensor:
        return F.inverse(x)
