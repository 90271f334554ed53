"""EfficientNet: MBConv blocks with swish, squeeze and excitation, and drop path (stochastic depth) in training."""

import math

from training import images, run

import mindspore as ms
from mindspore import nn, ops
from mindspore.common.initializer import Normal, Uniform, initializer


class Swish(nn.Cell):
    def __init__(self):
        super().__init__()
        self.sigmoid = nn.Sigmoid()

    def construct(self, x):
        return x * self.sigmoid(x)


class DropPath(nn.Cell):
    """Drops whole samples of a batch in training."""

    def __init__(self, drop_prob):
        super().__init__()
        self.keep_prob = 1.0 - drop_prob
        self.dropout = nn.Dropout(p=drop_prob)
        self.shape = ops.Shape()

    def construct(self, x):
        if self.training and self.keep_prob < 1.0:
            mask = ops.ones((self.shape(x)[0],) + (1,) * (x.ndim - 1), x.dtype)
            x = x * self.dropout(mask)
        return x


class SqueezeExcite(nn.Cell):
    def __init__(self, channels, reduced):
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.reduce = nn.Conv2d(channels, reduced, 1, has_bias=True, pad_mode="valid")
        self.expand = nn.Conv2d(reduced, channels, 1, has_bias=True, pad_mode="valid")
        self.swish = Swish()

    def construct(self, x):
        weight = self.pool(x)
        weight = self.swish(self.reduce(weight))
        weight = ops.sigmoid(self.expand(weight))
        return x * weight


class MBConv(nn.Cell):
    def __init__(self, inputs, outputs, expand, kernel, stride, drop):
        super().__init__()
        hidden = inputs * expand
        layers = []
        if expand != 1:
            layers += [nn.Conv2d(inputs, hidden, 1), nn.BatchNorm2d(hidden), Swish()]
        layers += [
            nn.Conv2d(hidden, hidden, kernel, stride, pad_mode="same", group=hidden), nn.BatchNorm2d(hidden), Swish(),
            SqueezeExcite(hidden, max(1, inputs // 4)),
            nn.Conv2d(hidden, outputs, 1), nn.BatchNorm2d(outputs),
        ]
        self.layers = nn.SequentialCell(layers)
        self.residual = stride == 1 and inputs == outputs
        self.drop_path = DropPath(drop)

    def construct(self, x):
        out = self.layers(x)
        return self.drop_path(out) + x if self.residual else out


class EfficientNet(nn.Cell):
    STAGES = [(1, 8, 1, 3, 1), (4, 12, 2, 3, 2), (4, 16, 2, 5, 2)]  # expansion, width, blocks, kernel, stride

    def __init__(self, width=1.0, depth=1.0, classes=10, drop_connect=0.2):
        super().__init__()
        self.stem = nn.SequentialCell(nn.Conv2d(3, 8, 3, stride=2, pad_mode="same"), nn.BatchNorm2d(8), Swish())
        self.blocks = nn.CellList()
        total = sum(math.ceil(s[2] * depth) for s in self.STAGES)
        inputs, n = 8, 0
        for expand, outputs, blocks, kernel, stride in self.STAGES:
            outputs = int(outputs * width)
            for i in range(math.ceil(blocks * depth)):
                self.blocks.append(MBConv(inputs, outputs, expand, kernel, stride if i == 0 else 1,
                                          drop_connect * n / total))
                inputs, n = outputs, n + 1
        self.conv_head = nn.Conv2d(inputs, 32, 1)
        self.bn_head = nn.BatchNorm2d(32)
        self.act = nn.SiLU()
        self.classifier = nn.Dense(32, classes)
        for _, cell in self.cells_and_names():
            if isinstance(cell, nn.Conv2d):
                fan_out = cell.kernel_size[0] * cell.kernel_size[1] * cell.out_channels // cell.group
                cell.weight.set_data(initializer(Normal(math.sqrt(2.0 / fan_out)), cell.weight.shape, ms.float32))
            elif isinstance(cell, nn.Dense):
                cell.weight.set_data(initializer(Uniform(1.0 / math.sqrt(cell.weight.shape[0])), cell.weight.shape,
                                                 ms.float32))

    def forward_features(self, x):
        x = self.stem(x)
        for i in range(len(self.blocks)):
            x = self.blocks[i](x)
        return self.act(self.bn_head(self.conv_head(x)))

    def construct(self, x):
        x = self.forward_features(x).mean((2, 3))
        return self.classifier(x)


def build():
    network = EfficientNet()

    def loss(image, label):
        return ops.cross_entropy(network(image), label, label_smoothing=0.1)

    schedule = nn.warmup_lr(learning_rate=0.01, total_step=20, step_per_epoch=4, warmup_epoch=2)
    optimizer = nn.AdamWeightDecay(network.trainable_params(), learning_rate=schedule, weight_decay=1e-4)
    return network, loss, optimizer, images(32, 10)


def main():
    run(globals())


if __name__ == "__main__":
    main()
