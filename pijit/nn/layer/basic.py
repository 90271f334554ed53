"""Dense layers, dropout, embedding, shapes."""

import math

from pijit import dtype as mstype
from pijit.initializer import HeUniform, Uniform, initializer
from pijit.nn.cell import Cell
from pijit.nn.layer.activation import get_activation
from pijit.nn.layer.common import OperatorCell, positive
from pijit.ops import function as F
from pijit.ops import primitives as P
from pijit.parameter import Parameter


class Dense(OperatorCell):
    """x @ weight.T + bias, then an activation. weight [out_channels, in_channels]."""

    def __init__(self, in_channels, out_channels, weight_init=None, bias_init=None, has_bias=True, activation=None, dtype=mstype.float32):
        super().__init__()
        self.in_channels = positive("Dense", "in_channels", in_channels)
        self.out_channels = positive("Dense", "out_channels", out_channels)
        if not isinstance(has_bias, bool):
            raise TypeError(f"For 'Dense', 'has_bias' must be bool, but got {type(has_bias).__name__}.")
        self.has_bias = has_bias
        self.weight = Parameter(initializer(HeUniform(math.sqrt(5)) if weight_init is None else weight_init, [out_channels, in_channels], dtype), name="weight")
        self.bias = None
        if has_bias:
            self.bias = Parameter(initializer(Uniform(1 / math.sqrt(in_channels)) if bias_init is None else bias_init, [out_channels], dtype), name="bias")
        self.activation = get_activation(activation) if isinstance(activation, str) else activation
        self.activation_flag = self.activation is not None
        self.reshape, self.shape_op = P.Reshape(), P.Shape()
        self.operators(matmul=P.MatMul(transpose_b=True), bias_add=P.BiasAdd())

    def construct(self, x):
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

    def extend_repr(self):
        shown = f"input_channels={self.in_channels}, output_channels={self.out_channels}"
        return shown + (", has_bias=True" if self.has_bias else "") + (f", activation={self.activation}" if self.activation_flag else "")


class Linear(Dense):
    """Dense with PyTorch's arguments."""

    def __init__(self, in_features, out_features, bias=True, weight_init=None, bias_init=None, dtype=mstype.float32):
        super().__init__(in_features, out_features, weight_init, bias_init, bias, None, dtype)


class Dropout(OperatorCell):
    """Zeroes elements with probability p while training."""

    def __init__(self, keep_prob=0.5, p=None, dtype=mstype.float32):  # noqa: ARG002
        super().__init__()
        self._said = f"keep_prob={keep_prob}" if p is None else f"p={p}"
        p = 1 - keep_prob if p is None else p
        if not 0 <= p < 1:
            raise ValueError(f"For 'Dropout', 'p' must be in [0, 1), but got {p}.")
        self.p, self.keep_prob = p, 1 - p
        self.operators(dropout=P.Dropout(self.keep_prob))

    def construct(self, x):
        if self.replaced() and self.training:
            return self.dropout(x)[0]
        return F.dropout(x, self.p, self.training)

    def extend_repr(self):
        return self._said


class Embedding(Cell):
    """Rows of a table by index."""

    def __init__(self, vocab_size, embedding_size, use_one_hot=False, embedding_table="normal", dtype=mstype.float32, padding_idx=None):  # noqa: ARG002
        super().__init__()
        self.vocab_size, self.embedding_size = positive("Embedding", "vocab_size", vocab_size), positive("Embedding", "embedding_size", embedding_size)
        table = initializer(embedding_table, [vocab_size, embedding_size], dtype)
        if padding_idx is not None:
            a = table.asnumpy()
            a[padding_idx] = 0
            table = type(table)(a)
        self.embedding_table = Parameter(table, name="embedding_table")
        self.use_one_hot, self.dtype, self.padding_idx = use_one_hot, dtype, padding_idx
        self.gather, self.reshape, self.expand, self.get_shp, self.array_mul = P.Gather(), P.Reshape(), P.ExpandDims(), P.Shape(), P.MatMul()
        self.one_hot, self.shp_flat = P.OneHot(), (-1,)

    def construct(self, ids):
        return self.gather(self.embedding_table, ids, 0)

    def extend_repr(self):
        return (f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}, use_one_hot={self.use_one_hot}, "
                f"embedding_table={self.embedding_table}, dtype={self.dtype}, padding_idx={self.padding_idx}")


class Flatten(Cell):
    """Dimensions start_dim..end_dim merged."""

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def construct(self, x):
        return F.flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)


class Identity(Cell):
    """The input."""

    def construct(self, x):
        return x


class Dropout1d(OperatorCell):
    """Zeroes whole channels of [N, C, L] with probability p while training."""

    def __init__(self, p=0.5):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"For '{type(self).__name__}', 'p' must be in [0, 1], but got {p}.")
        self.p = self.prob = p

    def construct(self, x):
        return F.dropout1d(x, self.p, self.training)


class Dropout2d(Dropout1d):
    """Zeroes whole channels of [N, C, H, W] with probability p while training."""

    def __init__(self, p=0.5):
        super().__init__(p)
        self.keep_prob = 1.0 - p
        self.operators(dropout2d=P.Dropout2D(self.keep_prob))

    def construct(self, x):
        if self.replaced() and self.training:
            return self.dropout2d(x)[0]
        return F.dropout2d(x, self.p, self.training)

    def extend_repr(self):
        return f"p={self.p}"


class Dropout3d(Dropout1d):
    """Zeroes whole channels of [N, C, D, H, W] with probability p while training."""

    def __init__(self, p=0.5):
        super().__init__(p)
        self.keep_prob = 1.0 - p
        self.operators(dropout3d=P.Dropout3D(self.keep_prob))

    def construct(self, x):
        if self.replaced() and self.training:
            return self.dropout3d(x)[0]
        return F.dropout3d(x, self.p, self.training)

    def extend_repr(self):
        return f"p={self.p}"


class EmbeddingLookup(Cell):
    """Rows of a table by index, scaled down to a norm of max_norm."""

    def __init__(self, vocab_size, embedding_size, param_init="normal", target="CPU", slice_mode="batch_slice", manual_shapes=None, max_norm=None,  # noqa: ARG002
                 sparse=True, dtype=mstype.float32):  # noqa: ARG002
        super().__init__()
        self.vocab_size, self.embedding_size = positive("EmbeddingLookup", "vocab_size", vocab_size), positive("EmbeddingLookup", "embedding_size", embedding_size)
        self.max_norm = max_norm
        self.embedding_table = Parameter(initializer(param_init, [vocab_size, embedding_size], dtype), name="embedding_table")
        self.gatherv2, self.embeddinglookup = P.SparseGatherV2(), P.EmbeddingLookup()

    def construct(self, indices):
        y = self.gatherv2(self.embedding_table, indices, 0)
        if self.max_norm is None:
            return y
        norm = F.sqrt(F.sum(F.square(y), -1, True))
        return y * F.minimum(self.max_norm / F.maximum(norm, 1e-12), 1.0)


class BiDense(OperatorCell):
    """x1 W x2 + bias for each of out_channels matrices W. weight [out_channels, in1_channels, in2_channels]."""

    def __init__(self, in1_channels, in2_channels, out_channels, weight_init=None, bias_init=None, has_bias=True, dtype=mstype.float32):
        super().__init__()
        for name, v in (("in1_channels", in1_channels), ("in2_channels", in2_channels), ("out_channels", out_channels)):
            positive("BiDense", name, v)
        self.in1_channels, self.in2_channels, self.out_channels, self.has_bias = in1_channels, in2_channels, out_channels, has_bias
        self.in_channels = in1_channels
        self.operators(matmul=P.MatMul(), bias_add=P.BiasAdd())
        bound = 1 / math.sqrt(in1_channels)
        self.weight = Parameter(initializer(Uniform(bound) if weight_init is None else weight_init, [out_channels, in1_channels, in2_channels], dtype), name="weight")
        self.bias = Parameter(initializer(Uniform(bound) if bias_init is None else bias_init, [out_channels], dtype), name="bias") if has_bias else None

    def construct(self, input1, input2):
        out, m, n = self.weight.shape
        x = F.reshape(self.matmul(F.reshape(input1, (-1, m)), F.reshape(F.transpose(self.weight, (1, 0, 2)), (m, out * n))), (-1, out, n))
        y = F.sum(x * F.expand_dims(F.reshape(input2, (-1, n)), 1), -1)
        return F.reshape(y if self.bias is None else self.bias_add(y, self.bias), (*input1.shape[:-1], out))

    def extend_repr(self):
        return (f"in1_channels={self.in1_channels}, in2_channels={self.in2_channels}, output_channels={self.out_channels}, has_bias={self.has_bias}")


class Unflatten(Cell):
    """One axis as several."""

    def __init__(self, axis, unflattened_size):
        super().__init__()
        self.axis, self.unflattened_size = axis, tuple(unflattened_size)

    def construct(self, input):
        axis = self.axis % input.ndim
        return F.reshape(input, (*input.shape[:axis], *self.unflattened_size, *input.shape[axis + 1:]))


class OneHot(Cell):
    """on_value at each index, off_value elsewhere, along a new axis of `depth`."""

    def __init__(self, axis=-1, depth=1, on_value=1.0, off_value=0.0, dtype=mstype.float32):
        super().__init__()
        self.axis, self.depth, self.on_value, self.off_value, self.dtype = axis, depth, on_value, off_value, dtype
        self.onehot = P.OneHot(axis)

    def construct(self, indices):
        return F.cast(self.onehot(indices, self.depth, self.on_value, self.off_value), self.dtype)


class Norm(Cell):
    """The Euclidean norm over axes."""

    def __init__(self, axis=(), keep_dims=False):
        super().__init__()
        self.axis, self.keep_dims = axis, keep_dims
        self.reduce_sum, self.sqrt, self.squeeze = P.ReduceSum(keep_dims), P.Sqrt(), P.Squeeze()

    def construct(self, x):
        return self.sqrt(self.reduce_sum(F.square(x), self.axis))

    def extend_repr(self):
        return f"axis={self.axis}, keep_dims={self.keep_dims}"


class ClipByNorm(Cell):
    """x * clip_norm / max(norm over the axes, clip_norm)."""

    def __init__(self, axis=None):
        super().__init__()
        self.axis = axis

    def construct(self, x, clip_norm):
        norm = F.sqrt(F.sum(F.square(x), self.axis, self.axis is not None))
        return x * clip_norm / F.maximum(norm, clip_norm)


class L1Regularizer(Cell):
    """scale * sum of |weights|."""

    def __init__(self, scale):
        super().__init__()
        if not isinstance(scale, (int, float)) or isinstance(scale, bool):
            raise TypeError(f"For 'L1Regularizer', 'scale' must be a number, but got {type(scale).__name__}.")
        if scale <= 0:
            raise ValueError(f"For 'L1Regularizer', 'scale' must be greater than 0, but got {scale}.")
        self.scale = scale
        self.abs, self.reduce_sum = P.Abs(), P.ReduceSum()

    def construct(self, weights):
        return self.reduce_sum(self.abs(weights)) * self.scale


class Moments(Cell):
    """(mean, variance) over axes."""

    def __init__(self, axis=None, keep_dims=None):
        super().__init__()
        self.axis, self.keep_dims = axis, bool(keep_dims)

    def construct(self, x):
        axis = None if self.axis in (None, ()) else self.axis
        return F.mean(x, axis, self.keep_dims), F.var(x, axis, 0, self.keep_dims)


class ReduceLogSumExp(OperatorCell):
    """log of the sum of exp over axes."""

    def __init__(self, axis, keep_dims=False):
        super().__init__()
        self.axis, self.keep_dims = axis, keep_dims
        self.operators(exp=P.Exp(), sum=P.ReduceSum(keep_dims), log=P.Log(), max=P.ReduceMax())

    def construct(self, x):
        if self.replaced():
            most = self.max(x)
            return self.log(self.sum(self.exp(x - most), self.axis)) + most
        return F.logsumexp(x, self.axis, self.keep_dims)


class MatMul(Cell):
    """Matrix product, of operands whose last two axes may be exchanged first."""

    def __init__(self, transpose_x1=False, transpose_x2=False):
        super().__init__()
        self.transpose_x1, self.transpose_x2 = transpose_x1, transpose_x2

    def construct(self, x1, x2):
        return F.matmul(F.swapaxes(x1, -1, -2) if self.transpose_x1 else x1, F.swapaxes(x2, -1, -2) if self.transpose_x2 else x2)


class Range(Cell):
    """The numbers from start to limit, delta apart."""

    def __init__(self, start, limit=None, delta=1):
        super().__init__()
        if delta == 0:
            raise ValueError("For 'Range', 'delta' must not be 0.")
        self.args = (0, start, delta) if limit is None else (start, limit, delta)

    def construct(self):
        dtype = mstype.int32 if all(isinstance(v, int) for v in self.args) else mstype.float32
        return F.cast(F.arange(*self.args), dtype)


class Tril(Cell):
    """The lower triangle, zeros above diagonal k."""

    def construct(self, x, k=0):
        return F.tril(x, k)


class Triu(Cell):
    """The upper triangle, zeros below diagonal k."""

    def construct(self, x, k=0):
        return F.triu(x, k)


class Roll(Cell):
    """Elements shifted along axes, what leaves at the end coming in at the start."""

    def __init__(self, shift, axis):
        super().__init__()
        self.shift, self.axis = shift, axis

    def construct(self, input_x):
        return F.roll(input_x, self.shift, self.axis)


class LGamma(Cell):
    """log |gamma(x)|."""

    def construct(self, x):
        return F.lgamma(x)


class DiGamma(Cell):
    """The derivative of log gamma."""

    def construct(self, x):
        return F.digamma(x)


class ParameterUpdate(Cell):
    """Gives a Parameter a new value."""

    def __init__(self, param):
        super().__init__()
        if not isinstance(param, Parameter):
            raise TypeError(f"For 'ParameterUpdate', 'param' must be a Parameter, but got {type(param).__name__}.")
        self._param = param

    def construct(self, x):
        return F.assign(self._param, x)


class TimeDistributed(Cell):
    """A layer applied to each step of time_axis."""

    def __init__(self, layer, time_axis, reshape_with_axis=None):
        super().__init__()
        self.layer, self.time_axis, self.reshape_with_axis = layer, time_axis, reshape_with_axis

    def construct(self, inputs):
        steps = [self.layer(x) for x in F.unbind(inputs, self.time_axis)]
        axis = self.time_axis if self.time_axis >= 0 else self.time_axis + inputs.ndim
        return F.stack(steps, axis)


class MatDet(Cell):
    """The determinant of [..., n, n]."""

    def construct(self, x):
        return F.det(x)


class MatInverse(Cell):
    """The inverse of [..., n, n]."""

    def construct(self, x):
        return F.inverse(x)
