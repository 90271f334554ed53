"""U-Net on small images: down by pooling, up by transposed convolution or by resizing, a loss of cross entropy and
Dice."""

import numpy as np

from training import run

from mindspore import Tensor, nn, ops


class DoubleConv(nn.Cell):
    def __init__(self, inputs, outputs, middle=None):
        super().__init__()
        if not middle:
            middle = outputs
        self.double_conv = nn.SequentialCell([
            nn.Conv2d(inputs, middle, kernel_size=3, has_bias=True, pad_mode="same"), nn.BatchNorm2d(middle), nn.ReLU(),
            nn.Conv2d(middle, outputs, kernel_size=3, has_bias=True, pad_mode="same"), nn.BatchNorm2d(outputs),
            nn.ReLU(),
        ])

    def construct(self, x):
        return self.double_conv(x)


class Up(nn.Cell):
    def __init__(self, inputs, outputs, bilinear):
        super().__init__()
        self.concat = ops.Concat(axis=1)
        self.bilinear = bilinear
        if bilinear:
            self.reduce = nn.Conv2d(inputs, inputs // 2, 1, has_bias=True)
        else:
            self.up = nn.Conv2dTranspose(inputs, inputs // 2, kernel_size=2, stride=2, has_bias=True)
        self.conv = DoubleConv(inputs, outputs)
        self.relu = nn.ReLU()

    def construct(self, x1, x2):
        if self.bilinear:
            x = ops.interpolate(self.reduce(x1), size=x2.shape[2:], mode="bilinear", align_corners=True)
        else:
            x = self.relu(self.up(x1))
        x = self.concat((x2, x))
        return self.conv(x)


class UNet(nn.Cell):
    def __init__(self, channels=1, classes=2, width=8):
        super().__init__()
        self.inc = DoubleConv(channels, width)
        self.maxpool = nn.MaxPool2d(kernel_size=2, stride=2)
        self.down1 = DoubleConv(width, width * 2)
        self.down2 = DoubleConv(width * 2, width * 4)
        self.up1 = Up(width * 4, width * 2, bilinear=False)
        self.up2 = Up(width * 2, width, bilinear=True)
        self.outc = nn.Conv2d(width, classes, 1, has_bias=True)

    def construct(self, x):
        x1 = self.inc(x)
        x2 = self.down1(self.maxpool(x1))
        x3 = self.down2(self.maxpool(x2))
        x = self.up1(x3, x2)
        x = self.up2(x, x1)
        return self.outc(x)


class CrossEntropyWithDice(nn.LossBase):
    def __init__(self, classes=2, smooth=1e-5):
        super().__init__()
        self.classes = classes
        self.smooth = smooth
        self.transpose = ops.Transpose()
        self.cross_entropy = nn.SoftmaxCrossEntropyWithLogits(sparse=False, reduction="mean")

    def construct(self, logits, label):
        logits = self.transpose(logits, (0, 2, 3, 1)).reshape(-1, self.classes)
        target = ops.one_hot(label.reshape(-1), self.classes, Tensor(1.0), Tensor(0.0))
        entropy = self.cross_entropy(logits, target)
        probability = ops.softmax(logits, axis=1)
        intersection = (probability * target).sum(axis=0)
        union = ops.square(probability).sum(axis=0) + ops.square(target).sum(axis=0)
        dice = (2 * intersection + self.smooth) / (union + self.smooth)
        return entropy + (1 - dice).mean()


def batches(n, batch=2, size=24):
    """Images with a bright disc each, and its mask."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:size, :size]
    for _ in range(n):
        centre = rng.uniform(6, size - 6, (batch, 2, 1, 1))
        mask = (y - centre[:, 0]) ** 2 + (x - centre[:, 1]) ** 2 < rng.uniform(9, 36, (batch, 1, 1))
        image = mask + 0.3 * rng.standard_normal((batch, size, size))
        yield Tensor(image[:, None].astype(np.float32)), Tensor(mask.astype(np.int32))


def build():
    network = UNet()
    criterion = CrossEntropyWithDice()
    optimizer = nn.Adam(params=network.trainable_params(), learning_rate=3e-3, weight_decay=5e-4, loss_scale=1.0)
    return network, nn.WithLossCell(network, criterion), optimizer, batches


def main():
    run(globals())


if __name__ == "__main__":
    main()
