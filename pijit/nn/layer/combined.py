"""A layer, batch normalisation and an activation in one."""

from pijit.nn.cell import Cell
from pijit.nn.layer.activation import LeakyReLU, get_activation
from pijit.nn.layer.basic import Dense
from pijit.nn.layer.conv import Conv2d
from pijit.nn.layer.normalization import BatchNorm1d, BatchNorm2d


class _BnAct(Cell):
    def _finish(self, norm, features, momentum, eps, activation, alpha):
        self.batchnorm = norm(features, eps, momentum) if norm else None
        self.has_act = activation is not None
        if activation == "leakyrelu":
            self.activation = LeakyReLU(alpha)
        elif activation is None or isinstance(activation, str):
            self.activation = get_activation(activation)
        elif isinstance(activation, Cell):
            self.activation = activation
        else:
            raise TypeError(f"For '{type(self).__name__}', 'activation' must be a str or a Cell, but got {type(activation).__name__}.")

    def _finished(self, x):
        if self.has_bn:
            x = self.batchnorm(x)
        return self.activation(x) if self.has_act else x


class Conv2dBnAct(_BnAct):
    """A convolution, batch normalisation with has_bn, and an activation."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, pad_mode="same", padding=0, dilation=1, group=1, has_bias=False, weight_init="normal",
                 bias_init="zeros", has_bn=False, momentum=0.997, eps=1e-5, activation=None, alpha=0.2, after_fake=True):
        super().__init__()
        self.conv = Conv2d(in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init, bias_init)
        self.has_bn, self.after_fake = has_bn, after_fake
        self._finish(BatchNorm2d if has_bn else None, out_channels, momentum, eps, activation, alpha)

    def construct(self, x):
        return self._finished(self.conv(x))


class DenseBnAct(_BnAct):
    """A dense layer, batch normalisation with has_bn, and an activation."""

    def __init__(self, in_channels, out_channels, weight_init="normal", bias_init="zeros", has_bias=True, has_bn=False, momentum=0.9, eps=1e-5, activation=None,
                 alpha=0.2, after_fake=True):
        super().__init__()
        self.dense = Dense(in_channels, out_channels, weight_init, bias_init, has_bias)
        self.has_bn, self.after_fake = has_bn, after_fake
        self._finish(BatchNorm1d if has_bn else None, out_channels, momentum, eps, activation, alpha)

    def construct(self, x):
        return self._finished(self.dense(x))
