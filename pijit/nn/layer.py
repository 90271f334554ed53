"""Layers."""

import math

from pijit import dtype as mstype
from pijit.initializer import HeUniform, Uniform, initializer
from pijit.nn.cell import Cell
from pijit.ops import function as F
from pijit.ops.function.network import _format
from pijit.parameter import Parameter


def _positive(name, arg, value):
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"For '{name}', '{arg}' must be int, but got {type(value).__name__}.")
    if value <= 0:
        raise ValueError(f"For '{name}', '{arg}' must be greater than 0, but got {value}.")
    return value


def _pair(x):
    return (x, x) if isinstance(x, int) else tuple(x)


_ACTIVATIONS = {}


def get_activation(name):
    """The activation cell of a name, or None."""
    if name is None:
        return None
    if name not in _ACTIVATIONS:
        raise KeyError(f"For 'get_activation', the name {name!r} is not one of {sorted(_ACTIVATIONS)}.")
    return _ACTIVATIONS[name]()


class Dense(Cell):
    """x @ weight.T + bias, then an activation. weight [out_channels, in_channels]."""

    def __init__(self, in_channels, out_channels, weight_init=None, bias_init=None, has_bias=True, activation=None, dtype=mstype.float32):
        super().__init__()
        self.in_channels = _positive("Dense", "in_channels", in_channels)
        self.out_channels = _positive("Dense", "out_channels", out_channels)
        if not isinstance(has_bias, bool):
            raise TypeError(f"For 'Dense', 'has_bias' must be bool, but got {type(has_bias).__name__}.")
        self.has_bias = has_bias
        self.weight = Parameter(initializer(HeUniform(math.sqrt(5)) if weight_init is None else weight_init, [out_channels, in_channels], dtype), name="weight")
        self.bias = None
        if has_bias:
            self.bias = Parameter(initializer(Uniform(1 / math.sqrt(in_channels)) if bias_init is None else bias_init, [out_channels], dtype), name="bias")
        self.activation = get_activation(activation) if isinstance(activation, str) else activation

    def construct(self, x):
        x = F.dense(x, self.weight, self.bias)
        if self.activation is not None:
            x = self.activation(x)
        return x

    def extend_repr(self):
        return f"input_channels={self.in_channels}, output_channels={self.out_channels}, has_bias={self.has_bias}"


class Linear(Dense):
    """Dense with PyTorch's arguments."""

    def __init__(self, in_features, out_features, bias=True, weight_init=None, bias_init=None, dtype=mstype.float32):
        super().__init__(in_features, out_features, weight_init, bias_init, bias, None, dtype)


class Conv2d(Cell):
    """2-d convolution. weight [out_channels, in_channels / group, kh, kw]."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, pad_mode="same", padding=0, dilation=1, group=1, has_bias=False,
                 weight_init=None, bias_init=None, data_format="NCHW", dtype=mstype.float32):
        super().__init__()
        _format("Conv2d", data_format)
        self.in_channels, self.out_channels = _positive("Conv2d", "in_channels", in_channels), _positive("Conv2d", "out_channels", out_channels)
        self.group = _positive("Conv2d", "group", group)
        if in_channels % group or out_channels % group:
            raise ValueError(f"For 'Conv2d', 'group' {group} must divide in_channels {in_channels} and out_channels {out_channels}.")
        if pad_mode not in ("same", "valid", "pad"):
            raise ValueError(f"For 'Conv2d', 'pad_mode' must be 'same', 'valid' or 'pad', but got {pad_mode!r}.")
        self.kernel_size, self.stride, self.dilation = _pair(kernel_size), _pair(stride), _pair(dilation)
        for k in self.kernel_size + self.stride + self.dilation:
            _positive("Conv2d", "kernel_size, stride and dilation", k)
        self.pad_mode, self.has_bias = pad_mode, has_bias
        self.padding = padding if isinstance(padding, int) else tuple(padding)
        shape = [out_channels, in_channels // group, *self.kernel_size]
        self.weight = Parameter(initializer(HeUniform(math.sqrt(5)) if weight_init is None else weight_init, shape, dtype), name="weight")
        self.bias = None
        if has_bias:
            self.bias = Parameter(initializer(Uniform(1 / math.sqrt(shape[1] * shape[2] * shape[3])) if bias_init is None else bias_init, [out_channels], dtype), name="bias")

    def construct(self, x):
        return F.conv2d(x, self.weight, self.bias, self.stride, self.pad_mode, self.padding, self.dilation, self.group)

    def extend_repr(self):
        return (f"input_channels={self.in_channels}, output_channels={self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, "
                f"pad_mode={self.pad_mode}, padding={self.padding}, dilation={self.dilation}, group={self.group}, has_bias={self.has_bias}")


class Conv1d(Cell):
    """1-d convolution. weight [out_channels, in_channels / group, k]."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, pad_mode="same", padding=0, dilation=1, group=1, has_bias=False,
                 weight_init=None, bias_init=None, dtype=mstype.float32):
        super().__init__()
        for name, v in (("in_channels", in_channels), ("out_channels", out_channels), ("kernel_size", kernel_size), ("stride", stride), ("dilation", dilation), ("group", group)):
            _positive("Conv1d", name, v)
        self.stride, self.pad_mode, self.padding, self.dilation, self.group = stride, pad_mode, padding, dilation, group
        shape = [out_channels, in_channels // group, kernel_size]
        self.weight = Parameter(initializer(HeUniform(math.sqrt(5)) if weight_init is None else weight_init, shape, dtype), name="weight")
        self.bias = None
        if has_bias:
            self.bias = Parameter(initializer(Uniform(1 / math.sqrt(shape[1] * shape[2])) if bias_init is None else bias_init, [out_channels], dtype), name="bias")

    def construct(self, x):
        return F.conv1d(x, self.weight, self.bias, self.stride, self.pad_mode, self.padding, self.dilation, self.group)


class _BatchNorm(Cell):
    rank = ()

    def __init__(self, num_features, eps=1e-5, momentum=0.9, affine=True, gamma_init="ones", beta_init="zeros", moving_mean_init="zeros",
                 moving_var_init="ones", use_batch_statistics=None, data_format="NCHW", dtype=mstype.float32):
        super().__init__()
        _format(type(self).__name__, data_format)
        n = _positive(type(self).__name__, "num_features", num_features)
        if not 0 <= momentum <= 1:
            raise ValueError(f"For '{type(self).__name__}', 'momentum' must be in [0, 1], but got {momentum}.")
        self.num_features, self.eps, self.momentum, self.use_batch_statistics = n, eps, momentum, use_batch_statistics
        self.moving_mean = Parameter(initializer(moving_mean_init, [n], dtype), name="mean", requires_grad=False)
        self.moving_variance = Parameter(initializer(moving_var_init, [n], dtype), name="variance", requires_grad=False)
        self.gamma = Parameter(initializer(gamma_init, [n], dtype), name="gamma", requires_grad=affine)
        self.beta = Parameter(initializer(beta_init, [n], dtype), name="beta", requires_grad=affine)

    def construct(self, x):
        if x.ndim not in self.rank:
            raise ValueError(f"For '{self.cls_name}', the input must have {self.rank} dimensions, but got {x.ndim}.")
        use_batch = self.training if self.use_batch_statistics is None else self.use_batch_statistics
        return F.batch_norm(x, self.moving_mean, self.moving_variance, self.gamma, self.beta, use_batch, 1.0 - self.momentum, self.eps)

    def extend_repr(self):
        return f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}"


class BatchNorm1d(_BatchNorm):
    """Batch normalisation of [N, C] or [N, C, L]."""

    rank = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Batch normalisation of [N, C, H, W]."""

    rank = (4,)


class BatchNorm3d(_BatchNorm):
    """Batch normalisation of [N, C, D, H, W]."""

    rank = (5,)

    def __init__(self, num_features, eps=1e-5, momentum=0.9, affine=True, gamma_init="ones", beta_init="zeros", moving_mean_init="zeros",
                 moving_var_init="ones", use_batch_statistics=None, dtype=mstype.float32):
        super().__init__(num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init, moving_var_init, use_batch_statistics, dtype=dtype)


class LayerNorm(Cell):
    """Layer normalisation over the dimensions from begin_norm_axis on; gamma and beta have those from begin_params_axis on."""

    def __init__(self, normalized_shape, begin_norm_axis=-1, begin_params_axis=-1, gamma_init="ones", beta_init="zeros", epsilon=1e-7, dtype=mstype.float32):
        super().__init__()
        if not isinstance(normalized_shape, (tuple, list)):
            raise TypeError(f"For 'LayerNorm', 'normalized_shape' must be a tuple or list, but got {type(normalized_shape).__name__}.")
        self.normalized_shape, self.epsilon = tuple(normalized_shape), epsilon
        self.begin_norm_axis, self.begin_params_axis = begin_norm_axis, begin_params_axis
        self.gamma = Parameter(initializer(gamma_init, normalized_shape, dtype), name="gamma")
        self.beta = Parameter(initializer(beta_init, normalized_shape, dtype), name="beta")

    def construct(self, input_x):
        n = input_x.ndim
        for axis in (self.begin_norm_axis, self.begin_params_axis):
            if not -n <= axis < n:
                raise ValueError(f"For 'LayerNorm', axis {axis} is out of range for an input of {n} dimensions.")
        begin, params = self.begin_norm_axis % n, self.begin_params_axis % n
        if tuple(input_x.shape[params:]) != self.normalized_shape:
            raise ValueError(f"For 'LayerNorm', the dimensions {tuple(input_x.shape[params:])} from begin_params_axis on must be normalized_shape {self.normalized_shape}.")
        if begin == params:
            return F.layer_norm(input_x, self.normalized_shape, self.gamma, self.beta, self.epsilon)
        return F.layer_norm(input_x, input_x.shape[begin:], None, None, self.epsilon) * self.gamma + self.beta


class Dropout(Cell):
    """Zeroes elements with probability p while training."""

    def __init__(self, keep_prob=0.5, p=None, dtype=mstype.float32):  # noqa: ARG002
        super().__init__()
        p = 1 - keep_prob if p is None else p
        if not 0 <= p < 1:
            raise ValueError(f"For 'Dropout', 'p' must be in [0, 1), but got {p}.")
        self.p = p

    def construct(self, x):
        return F.dropout(x, self.p, self.training)


class Embedding(Cell):
    """Rows of a table by index."""

    def __init__(self, vocab_size, embedding_size, use_one_hot=False, embedding_table="normal", dtype=mstype.float32, padding_idx=None):  # noqa: ARG002
        super().__init__()
        self.vocab_size, self.embedding_size = _positive("Embedding", "vocab_size", vocab_size), _positive("Embedding", "embedding_size", embedding_size)
        table = initializer(embedding_table, [vocab_size, embedding_size], dtype)
        if padding_idx is not None:
            a = table.asnumpy()
            a[padding_idx] = 0
            table = type(table)(a)
        self.embedding_table = Parameter(table, name="embedding_table")

    def construct(self, ids):
        return F.embedding(ids, self.embedding_table)


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


class MaxPool2d(Cell):
    """Maxima of windows of [N, C, H, W]."""

    def __init__(self, kernel_size=1, stride=1, pad_mode="valid", padding=0, dilation=1, return_indices=False, ceil_mode=False, data_format="NCHW"):
        super().__init__()
        _format("MaxPool2d", data_format)
        if pad_mode != "pad" and (padding or return_indices or ceil_mode or _pair(dilation) != (1, 1)):
            raise ValueError("For 'MaxPool2d', 'padding', 'dilation', 'return_indices' and 'ceil_mode' need pad_mode 'pad'.")
        self.kernel_size, self.stride, self.pad_mode, self.padding = _pair(kernel_size), _pair(stride), pad_mode, padding
        for k in self.kernel_size + self.stride:
            _positive("MaxPool2d", "kernel_size and stride", k)
        if any(2 * p > k for p, k in zip(_pair(padding), self.kernel_size)):
            raise ValueError(f"For 'MaxPool2d', 'padding' must be at most half of kernel_size {self.kernel_size}, but got {padding}.")
        self.dilation, self.return_indices, self.ceil_mode = _pair(dilation), return_indices, ceil_mode

    def construct(self, x):
        return F.max_pool2d(x, self.kernel_size, self.stride, self.padding, self.dilation, self.return_indices, self.ceil_mode, pad_mode=self.pad_mode)


class AvgPool2d(Cell):
    """Means of windows of [N, C, H, W]."""

    def __init__(self, kernel_size=1, stride=1, pad_mode="valid", padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None, data_format="NCHW"):
        super().__init__()
        self.kernel_size, self.stride, self.pad_mode, self.padding = _pair(kernel_size), _pair(stride), pad_mode, padding
        self.count = count_include_pad and pad_mode == "pad"
        for k in self.kernel_size + self.stride:
            _positive("AvgPool2d", "kernel_size and stride", k)
        _format("AvgPool2d", data_format)
        self.ceil_mode, self.divisor_override = ceil_mode, divisor_override or 0

    def construct(self, x):
        return F.avg_pool2d(x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count, self.divisor_override, self.pad_mode)


class AdaptiveAvgPool2d(Cell):
    """Means of windows, for an output of the given size."""

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def construct(self, x):
        return F.adaptive_avg_pool2d(x, self.output_size)


def _activation(name, fn, key=None):
    def construct(self, x):  # noqa: ARG001
        return fn(x)
    cls = type(name, (Cell,), {"construct": construct, "__doc__": f"{name} activation.", "__module__": __name__})
    if key:
        _ACTIVATIONS[key] = cls
    return cls


ReLU = _activation("ReLU", F.relu, "relu")
ReLU6 = _activation("ReLU6", F.relu6, "relu6")
Sigmoid = _activation("Sigmoid", F.sigmoid, "sigmoid")
Tanh = _activation("Tanh", F.tanh, "tanh")
SiLU = _activation("SiLU", F.silu, "silu")
SeLU = _activation("SeLU", F.selu)
Mish = _activation("Mish", F.mish)
Softsign = _activation("Softsign", F.softsign, "softsign")
LogSigmoid = _activation("LogSigmoid", F.logsigmoid, "logsigmoid")
HSigmoid = _activation("HSigmoid", F.hardsigmoid, "hsigmoid")
HSwish = _activation("HSwish", F.hardswish, "hswish")
Tanhshrink = _activation("Tanhshrink", F.tanhshrink)


class GELU(Cell):
    """GELU activation; approximate=True uses the tanh form."""

    def __init__(self, approximate=True):
        super().__init__()
        self.approximate = "tanh" if approximate else "none"

    def construct(self, x):
        return F.gelu(x, self.approximate)


class LeakyReLU(Cell):
    """x where x > 0, else alpha * x."""

    def __init__(self, alpha=0.2):
        super().__init__()
        self.alpha = alpha

    def construct(self, x):
        return F.leaky_relu(x, self.alpha)


class ELU(Cell):
    """x where x > 0, else alpha * (exp(x) - 1)."""

    def __init__(self, alpha=1.0):
        super().__init__()
        self.alpha = alpha

    def construct(self, x):
        return F.elu(x, self.alpha)


class PReLU(Cell):
    """x where x > 0, else weight * x, with weights learnt."""

    def __init__(self, channel=1, w=0.25):
        super().__init__()
        self.w = Parameter(initializer(w, [_positive("PReLU", "channel", channel)]), name="a")

    def construct(self, x):
        return F.prelu(x, self.w)


class Softmax(Cell):
    """Softmax along one axis."""

    def __init__(self, axis=-1):
        super().__init__()
        self.axis = axis

    def construct(self, x):
        return F.softmax(x, self.axis)


class LogSoftmax(Softmax):
    """Log-softmax along one axis."""

    def construct(self, x):
        return F.log_softmax(x, self.axis)


_ACTIVATIONS.update({"gelu": GELU, "leakyrelu": LeakyReLU, "elu": ELU, "softmax": Softmax, "logsoftmax": LogSoftmax})

__all__ = [n for n in globals() if n[0].isupper() and n not in ("Cell", "F", "Parameter", "HeUniform", "Uniform")] + ["get_activation"]
