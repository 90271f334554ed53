"""The layers and functions that `inference_networks.py` takes, of pijit and of torch, with the same parameters."""

import numpy as np


class Numbers:
    """Parameters in the order of construction, the same in every namespace."""

    def __init__(self):
        self.random = np.random.default_rng(1)

    def of(self, shape, fan_in):
        return (self.random.standard_normal(shape) * (1.5 / fan_in) ** 0.5).astype(np.float32)

    def norm(self, c):
        r = self.random
        return [x.astype(np.float32) for x in (r.uniform(0.5, 1, c), r.normal(0, 0.1, c), r.normal(0, 0.1, c),
                                               r.uniform(0.5, 1, c))]


def ours():
    from pijit import Parameter, Tensor, nn, ops

    numbers = Numbers()

    def value(x):
        return Parameter(Tensor(x))

    class L:
        class Module(nn.Cell):
            def construct(self, *args):
                return self.forward(*args)

        Parts = staticmethod(nn.CellList)
        relu, relu6 = staticmethod(ops.relu), staticmethod(ops.relu6)
        silu, hard_swish = staticmethod(ops.silu), staticmethod(ops.hardswish)
        sigmoid, hard_sigmoid = staticmethod(ops.sigmoid), staticmethod(ops.hardsigmoid)
        matmul, concat = staticmethod(ops.matmul), staticmethod(ops.concat)
        expand = staticmethod(ops.broadcast_to)
        reshape, transpose = staticmethod(ops.reshape), staticmethod(ops.transpose)

        @staticmethod
        def gelu(x):
            return ops.gelu(x, approximate="none")

        @staticmethod
        def softmax(x):
            return ops.softmax(x, -1)

        @staticmethod
        def mean(x):
            return ops.mean(x, (2, 3), True)

        @staticmethod
        def flat(x):
            return x.reshape(x.shape[0], -1)

        @staticmethod
        def avg_pool(x, k):
            return ops.avg_pool2d(x, k, k)

        @staticmethod
        def halves(x):
            return ops.split(x, x.shape[1] // 2, 1)

        @staticmethod
        def three(x):
            return x[0], x[1], x[2]

        @staticmethod
        def first(x):
            return x[:, 0]

        @staticmethod
        def rows(table, index):
            return ops.gather(table, index, 0)

        @staticmethod
        def roll(x, places):
            return ops.roll(x, (places, places), (1, 2))

        @staticmethod
        def parameter(shape, fan_in):
            return value(numbers.of(shape, fan_in))

        constant = staticmethod(Tensor)

        @staticmethod
        def Conv(i, o, k, s, p, g, bias):
            layer = nn.Conv2d(i, o, k, s, pad_mode="pad", padding=p, group=g, has_bias=bias)
            layer.weight.set_data(Tensor(numbers.of((o, i // g, k, k), i // g * k * k)))
            if bias:
                layer.bias.set_data(Tensor(numbers.of((o,), o)))
            return layer

        @staticmethod
        def Norm(c):
            layer = nn.BatchNorm2d(c)
            for p, x in zip((layer.gamma, layer.beta, layer.moving_mean, layer.moving_variance), numbers.norm(c)):
                p.set_data(Tensor(x))
            return layer

        @staticmethod
        def LayerNorm(c):
            layer = nn.LayerNorm((c,), epsilon=1e-5)
            numbers.norm(c)
            return layer

        @staticmethod
        def Dense(i, o):
            layer = nn.Dense(i, o)
            layer.weight.set_data(Tensor(numbers.of((o, i), i)))
            layer.bias.set_data(Tensor(numbers.of((o,), o)))
            return layer

        @staticmethod
        def MaxPool(k, s, p):
            return nn.MaxPool2d(k, s, pad_mode="pad", padding=p)

    return L


def of_torch():
    import torch
    from torch import nn
    from torch.nn import functional as F

    numbers = Numbers()

    class L:
        Module, Parts = nn.Module, staticmethod(nn.ModuleList)
        relu, relu6, gelu, silu = F.relu, F.relu6, F.gelu, F.silu
        hard_swish, hard_sigmoid, sigmoid = F.hardswish, F.hardsigmoid, torch.sigmoid
        matmul, concat, reshape, expand = torch.matmul, torch.cat, torch.reshape, torch.Tensor.expand
        transpose = staticmethod(lambda x, p: x.permute(p))
        softmax = staticmethod(lambda x: torch.softmax(x, -1))
        mean = staticmethod(lambda x: torch.mean(x, (2, 3), True))
        flat = staticmethod(lambda x: torch.flatten(x, 1))
        avg_pool = staticmethod(lambda x, k: F.avg_pool2d(x, k, k))
        halves = staticmethod(lambda x: torch.split(x, x.shape[1] // 2, 1))
        three = staticmethod(lambda x: x.unbind(0))
        first = staticmethod(lambda x: x[:, 0])
        rows = staticmethod(lambda table, index: table[index])
        roll = staticmethod(lambda x, places: torch.roll(x, (places, places), (1, 2)))
        constant = staticmethod(torch.from_numpy)
        parameter = staticmethod(lambda shape, fan_in: nn.Parameter(torch.from_numpy(numbers.of(shape, fan_in))))

        @staticmethod
        def Conv(i, o, k, s, p, g, bias):
            layer = nn.Conv2d(i, o, k, s, p, groups=g, bias=bias)
            layer.weight.data = torch.from_numpy(numbers.of((o, i // g, k, k), i // g * k * k))
            if bias:
                layer.bias.data = torch.from_numpy(numbers.of((o,), o))
            return layer

        @staticmethod
        def Norm(c):
            layer = nn.BatchNorm2d(c)
            (layer.weight.data, layer.bias.data, layer.running_mean.data,
             layer.running_var.data) = map(torch.from_numpy, numbers.norm(c))
            return layer

        @staticmethod
        def LayerNorm(c):
            numbers.norm(c)
            return nn.LayerNorm(c)

        @staticmethod
        def Dense(i, o):
            layer = nn.Linear(i, o)
            layer.weight.data = torch.from_numpy(numbers.of((o, i), i))
            layer.bias.data = torch.from_numpy(numbers.of((o,), o))
            return layer

        MaxPool = staticmethod(nn.MaxPool2d)

    return L
