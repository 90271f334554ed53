"""ConvNeXt: depthwise 7 x 7 convolutions, LayerNorm over channels, layer scale and drop path."""

import numpy as np

from training import images, run

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import TruncatedNormal, initializer


class ConvNextLayerNorm(nn.LayerNorm):
    """Normalises the channels of images that are N C H W."""

    def construct(self, x):
        y, _, _ = self.layer_norm(x.transpose(0, 2, 3, 1), self.gamma, self.beta)
        return y.transpose(0, 3, 1, 2)


class DropPath(nn.Cell):
    def __init__(self, drop_prob, ndim):
        super().__init__()
        self.drop = nn.Dropout(p=drop_prob)
        shape = (1,) + (1,) * (ndim + 1)
        self.ndim = ndim
        self.mask = Tensor(np.ones(shape), dtype=ms.float32)

    def construct(self, x):
        if not self.training:
            return x
        mask = ops.tile(self.mask, (x.shape[0],) + (1,) * (self.ndim + 1))
        return x * self.drop(mask)


class Block(nn.Cell):
    def __init__(self, dim, drop_prob=0.0, layer_scale=1e-2):
        super().__init__()
        self.dwconv = nn.Conv2d(dim, dim, kernel_size=7, group=dim, has_bias=True)
        self.norm = nn.LayerNorm((dim,), epsilon=1e-6)
        self.pwconv1 = nn.Dense(dim, 4 * dim)
        self.act = nn.GELU()
        self.pwconv2 = nn.Dense(4 * dim, dim)
        self.gamma_ = Parameter(Tensor(layer_scale * np.ones(dim), dtype=ms.float32), requires_grad=True)
        self.drop_path = DropPath(drop_prob, ndim=2) if drop_prob > 0.0 else ops.Identity()

    def construct(self, x):
        shortcut = x
        x = self.dwconv(x)
        x = ops.transpose(x, (0, 2, 3, 1))
        x = self.norm(x)
        x = self.pwconv2(self.act(self.pwconv1(x)))
        x = self.gamma_ * x
        x = ops.transpose(x, (0, 3, 1, 2))
        return shortcut + self.drop_path(x)


class ConvNeXt(nn.Cell):
    def __init__(self, depths=(1, 2, 1), dims=(8, 16, 24), drop_path_rate=0.3, classes=10):
        super().__init__()
        stem = nn.SequentialCell(nn.Conv2d(3, dims[0], kernel_size=2, stride=2, has_bias=True),
                                 ConvNextLayerNorm((dims[0],), epsilon=1e-6))
        downsample = [stem]
        for i in range(len(dims) - 1):
            downsample.append(nn.SequentialCell(
                ConvNextLayerNorm((dims[i],), epsilon=1e-6),
                nn.Conv2d(dims[i], dims[i + 1], kernel_size=2, stride=2, has_bias=True),
            ))
        rates = list(np.linspace(0, drop_path_rate, sum(depths)))
        stages, current = [], 0
        for depth, dim in zip(depths, dims):
            stages.append(nn.SequentialCell([Block(dim, float(rates[current + j])) for j in range(depth)]))
            current += depth
        self.downsample_layers = nn.CellList(downsample)
        self.stages = nn.CellList(stages)
        self.norm = nn.LayerNorm((dims[-1],), epsilon=1e-6)
        self.feature = nn.SequentialCell([self.downsample_layers[0], self.stages[0]])
        self.head = nn.Dense(dims[-1], classes)
        self.init_weights()

    def init_weights(self):
        for _, cell in self.cells_and_names():
            if isinstance(cell, (nn.Dense, nn.Conv2d)):
                cell.weight.set_data(initializer(TruncatedNormal(sigma=0.05), cell.weight.shape, cell.weight.dtype))
                if cell.bias is not None:
                    cell.bias.set_data(initializer("zeros", cell.bias.shape, cell.bias.dtype))

    def construct(self, x):
        for downsample, stage in zip(self.downsample_layers, self.stages):
            x = stage(downsample(x))
        x = self.norm(ops.ReduceMean()(x, [2, 3]))
        return self.head(x)


def build():
    network = ConvNeXt()
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    def loss(image, label):
        return criterion(network(image), label)

    params = network.trainable_params()
    decayed = list(filter(lambda p: "beta" not in p.name and "gamma" not in p.name and "bias" not in p.name, params))
    others = list(filter(lambda p: "beta" in p.name or "gamma" in p.name or "bias" in p.name, params))
    groups = [{"params": decayed, "weight_decay": 0.05}, {"params": others, "weight_decay": 0.0},
              {"order_params": params}]
    optimizer = nn.AdamWeightDecay(groups, learning_rate=4e-3)
    return network, loss, optimizer, images(32, 10)


def main():
    run(globals())


if __name__ == "__main__":
    main()
