"""A layer, batch normalisation and an activation in one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit.nn.cell import Cell
from pijit.nn.layer.activation import LeakyReLU, get_activation
from pijit.nn.layer.basic import Dense
from pijit.nn.layer.conv import Conv2d
from pijit.nn.layer.normalization import BatchNorm1d, BatchNorm2d

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from pijit._C import Tensor
    from pijit._types import Init, Size


class _BnAct(Cell):
    batchnorm: Any
    has_act: bool
    activation: LeakyReLU

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
            raise _check.refused(type(self).__name__, "activation", _check.type_("a str or a Cell"), activation)

    def _finished(self, x):
        if self.has_bn:
            x = self.batchnorm(x)
        return self.activation(x) if self.has_act else x


class Conv2dBnAct(_BnAct):
    """A convolution, batch normalisation with has_bn, and an activation.

    Args:
        in_channels (int): the number of channels of the input.
        out_channels (int): the number of channels of the output.
        kernel_size (int or tuple): the size of windows.
        stride (int or tuple, optional): the distance between windows. Default: 1.
        pad_mode (str, optional): 'valid' (no border), 'same' (the size divided by the stride) or 'pad' (as
            `padding` says). Default: 'same'.
        padding (int or tuple, optional): how much to add at the borders. Default: 0.
        dilation (int or tuple, optional): the distance between the elements of a window. Default: 1.
        group (int, optional): how many groups the channels are divided into. Default: 1.
        has_bias (bool, optional): whether there is a bias. Default: False.
        weight_init (Tensor, str, Initializer or number, optional): what the weights are at first. Default:
            'normal'.
        bias_init (Tensor, str, Initializer or number, optional): what the biases are at first. Default: 'zeros'.
        has_bn (bool, optional): whether batch normalisation follows. Default: False.
        momentum (float, optional): the share of the running statistics that stays. Default: 0.997.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-05.
        activation (str, Cell or function, optional): what is applied to the output. Default: None.
        alpha (float, optional): the slope of a leaky ReLU. Default: 0.2.
        after_fake (bool, optional): kept for its name. Default: True.

    Inputs:
        x: Tensor [N, C, H, W].

    Outputs:
        Tensor [N, O, h, w].

    Raises:
        TypeError: if `in_channels` is not an int, or `out_channels` is not an int, or `kernel_size` is not an int.
        ValueError: if `in_channels` is below 1, or `out_channels` is below 1, or `kernel_size` is below 1, or
            `pad_mode` is not one of those named, or `momentum` is out of range.

    Example:
        >>> nn.Conv2dBnAct(3, 4, 3, has_bn=True, activation="relu")(ops.ones((1, 3, 5, 5))).shape
        (1, 4, 5, 5)
    """

    conv: Any
    has_bn: bool
    after_fake: bool

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Size, stride: Size = 1, pad_mode: str = "same",
                 padding: Size = 0, dilation: Size = 1, group: int = 1, has_bias: bool = False,
                 weight_init: Init = "normal", bias_init: Init = "zeros", has_bn: bool = False, momentum: float = 0.997,
                 eps: float = 1e-5, activation: str | Cell | Callable[..., Any] | None = None, alpha: float = 0.2,
                 after_fake: bool = True) -> None:
        super().__init__()
        self.conv = Conv2d(in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias,
                           weight_init, bias_init)
        self.has_bn, self.after_fake = has_bn, after_fake
        self._finish(BatchNorm2d if has_bn else None, out_channels, momentum, eps, activation, alpha)

    def construct(self, x: Tensor) -> Tensor:
        return self._finished(self.conv(x))


class DenseBnAct(_BnAct):
    """A dense layer, batch normalisation with has_bn, and an activation.

    Args:
        in_channels (int): the number of channels of the input.
        out_channels (int): the number of channels of the output.
        weight_init (Tensor, str, Initializer or number, optional): what the weights are at first. Default:
            'normal'.
        bias_init (Tensor, str, Initializer or number, optional): what the biases are at first. Default: 'zeros'.
        has_bias (bool, optional): whether there is a bias. Default: True.
        has_bn (bool, optional): whether batch normalisation follows. Default: False.
        momentum (float, optional): the share of the running statistics that stays. Default: 0.9.
        eps (float, optional): a small number that keeps the result finite. Default: 1e-05.
        activation (str, Cell or function, optional): what is applied to the output. Default: None.
        alpha (float, optional): the slope of a leaky ReLU. Default: 0.2.
        after_fake (bool, optional): kept for its name. Default: True.

    Inputs:
        x: Tensor [N, C].

    Outputs:
        Tensor [N, O].

    Raises:
        TypeError: if `in_channels` is not an int, or `out_channels` is not an int, or `has_bias` is not a bool.
        ValueError: if `in_channels` is below 1, or `out_channels` is below 1.

    Example:
        >>> nn.DenseBnAct(3, 2, activation="relu")(ops.ones((1, 3))).shape
        (1, 2)
    """

    has_bn: bool
    after_fake: bool

    def __init__(self, in_channels: int, out_channels: int, weight_init: Init = "normal", bias_init: Init = "zeros",
                 has_bias: bool = True, has_bn: bool = False, momentum: float = 0.9, eps: float = 1e-5,
                 activation: str | Cell | Callable[..., Any] | None = None, alpha: float = 0.2,
                 after_fake: bool = True) -> None:
        super().__init__()
        self.dense: Dense = Dense(in_channels, out_channels, weight_init, bias_init, has_bias)
        self.has_bn, self.after_fake = has_bn, after_fake
        self._finish(BatchNorm1d if has_bn else None, out_channels, momentum, eps, activation, alpha)

    def construct(self, x: Tensor) -> Tensor:
        return self._finished(self.dense(x))
