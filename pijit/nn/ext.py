"""Layers of `mint.nn` under the names that MindSpore keeps in `nn`."""

from pijit.mint import nn as _mint


class AvgPool1dExt(_mint.AvgPool1d):
    """As mint.nn.AvgPool1d."""


class AvgPool2dExt(_mint.AvgPool2d):
    """As mint.nn.AvgPool2d."""


class AvgPool3dExt(_mint.AvgPool3d):
    """As mint.nn.AvgPool3d."""


class Dropout2dExt(_mint.Dropout2d):
    """As mint.nn.Dropout2d."""


class DropoutExt(_mint.Dropout):
    """As mint.nn.Dropout."""


class EmbeddingExt(_mint.Embedding):
    """As mint.nn.Embedding."""


class L1LossExt(_mint.L1Loss):
    """As mint.nn.L1Loss."""


class LayerNormExt(_mint.LayerNorm):
    """As mint.nn.LayerNorm."""


class LogSoftmaxExt(_mint.LogSoftmax):
    """As mint.nn.LogSoftmax."""


class MaxPool2dExt(_mint.MaxPool2d):
    """As mint.nn.MaxPool2d."""


class PReLUExt(_mint.PReLU):
    """As mint.nn.PReLU."""


__all__ = [n for n in globals() if n.endswith("Ext")]
