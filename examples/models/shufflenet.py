"""ShuffleNetV2: channels are split in two halves, one is computed on, and the channels of both are shuffled."""

from training import images, run

from mindspore import nn, ops


def channel_shuffle(x, groups=2):
    batch, channels, height, width = x.shape
    x = ops.reshape(x, (batch, groups, channels // groups, height, width))
    x = ops.transpose(x, (0, 2, 1, 3, 4))
    return ops.reshape(x, (batch, channels, height, width))


class ShuffleV2Block(nn.Cell):
    def __init__(self, inputs, outputs, mid_channels, *, ksize, stride):
        super().__init__()
        self.stride = stride
        pad = ksize // 2
        outputs -= inputs
        self.branch_main = nn.SequentialCell([
            nn.Conv2d(inputs, mid_channels, kernel_size=1, stride=1, pad_mode="pad", padding=0, has_bias=False),
            nn.BatchNorm2d(num_features=mid_channels, momentum=0.9),
            nn.ReLU(),
            nn.Conv2d(mid_channels, mid_channels, kernel_size=ksize, stride=stride, pad_mode="pad", padding=pad,
                      group=mid_channels),
            nn.BatchNorm2d(num_features=mid_channels, momentum=0.9),
            nn.Conv2d(mid_channels, outputs, kernel_size=1, stride=1, pad_mode="pad", padding=0),
            nn.BatchNorm2d(num_features=outputs, momentum=0.9),
            nn.ReLU(),
        ])
        self.branch_proj = None
        if stride == 2:
            self.branch_proj = nn.SequentialCell([
                nn.Conv2d(inputs, inputs, kernel_size=ksize, stride=stride, pad_mode="pad", padding=pad, group=inputs),
                nn.BatchNorm2d(num_features=inputs, momentum=0.9),
                nn.Conv2d(inputs, inputs, kernel_size=1, stride=1, pad_mode="pad", padding=0),
                nn.BatchNorm2d(num_features=inputs, momentum=0.9),
                nn.ReLU(),
            ])

    def construct(self, old_x):
        if self.stride == 1:
            x_proj, x = self.split(old_x)
            return ops.cat((x_proj, self.branch_main(x)), 1)
        return ops.cat((self.branch_proj(old_x), self.branch_main(old_x)), 1)

    @staticmethod
    def split(x):
        """The channels of even and of odd number."""
        batch, channels, height, width = ops.shape(x)
        x = x.reshape((batch * channels // 2, 2, height * width))
        x = x.transpose((1, 0, 2))
        x = x.reshape((2, -1, channels // 2, height, width))
        return x[0], x[1]


class ShuffleNetV2(nn.Cell):
    def __init__(self, stages=(2, 2), widths=(8, 16, 32), classes=10):
        super().__init__()
        self.first_conv = nn.SequentialCell(nn.Conv2d(3, widths[0], 3, 2, "pad", 1), nn.BatchNorm2d(widths[0]),
                                            nn.ReLU())
        features = []
        inputs = widths[0]
        for repeat, outputs in zip(stages, widths[1:]):
            for i in range(repeat):
                if i == 0:
                    features.append(ShuffleV2Block(inputs, outputs, mid_channels=outputs // 2, ksize=3, stride=2))
                else:
                    features.append(ShuffleV2Block(inputs // 2, outputs, mid_channels=outputs // 2, ksize=3, stride=1))
                inputs = outputs
        self.features = nn.SequentialCell(*features)
        self.globalpool = nn.AvgPool2d(kernel_size=4, stride=4, pad_mode="valid")
        self.classifier = nn.Dense(inputs, classes, has_bias=False)

    def construct(self, x):
        x = self.first_conv(x)
        x = self.features(x)
        x = channel_shuffle(x, 4)
        x = self.globalpool(x)
        x = x.reshape((-1, x.shape[1]))
        return self.classifier(x)


def build():
    network = ShuffleNetV2()
    criterion = nn.CrossEntropyLoss()

    def loss(image, label):
        return criterion(network(image), label)

    schedule = nn.PolynomialDecayLR(0.1, 0.001, decay_steps=10, power=1.0)
    optimizer = nn.Momentum(network.trainable_params(), schedule, 0.9, weight_decay=4e-5)
    return network, loss, optimizer, images(32, 10)


def main():
    run(globals())


if __name__ == "__main__":
    main()
