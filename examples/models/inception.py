"""Inception: branches of different kernels side by side, one of them factorised, and an auxiliary classifier in
training."""

from training import images, run

from mindspore import nn, ops
from mindspore.common.initializer import XavierUniform


class BasicConv2d(nn.Cell):
    def __init__(self, inputs, outputs, kernel_size, stride=1, pad_mode="same"):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel_size=kernel_size, stride=stride, pad_mode=pad_mode,
                              weight_init=XavierUniform())
        self.bn = nn.BatchNorm2d(outputs, eps=0.001, momentum=0.9997)
        self.relu = nn.ReLU()

    def construct(self, x):
        return self.relu(self.bn(self.conv(x)))


class InceptionA(nn.Cell):
    def __init__(self, inputs, pool_features):
        super().__init__()
        self.branch0 = BasicConv2d(inputs, 8, kernel_size=1)
        self.branch1 = nn.SequentialCell([BasicConv2d(inputs, 6, kernel_size=1), BasicConv2d(6, 8, kernel_size=5)])
        self.branch2 = nn.SequentialCell([
            BasicConv2d(inputs, 8, kernel_size=1),
            BasicConv2d(8, 12, kernel_size=(1, 7)),
            BasicConv2d(12, 12, kernel_size=(7, 1)),
        ])
        self.branch_pool = nn.SequentialCell([nn.AvgPool2d(kernel_size=3, pad_mode="same"),
                                              BasicConv2d(inputs, pool_features, kernel_size=1)])

    def construct(self, x):
        branches = [branch(x) for branch in (self.branch0, self.branch1, self.branch2, self.branch_pool)]
        return ops.concat(branches, axis=1)


class InceptionB(nn.Cell):
    """Halves the height and width."""

    def __init__(self, inputs):
        super().__init__()
        self.concat = ops.Concat(axis=1)
        self.branch0 = BasicConv2d(inputs, 16, kernel_size=3, stride=2, pad_mode="valid")
        self.branch1 = nn.SequentialCell(BasicConv2d(inputs, 8, kernel_size=1),
                                         BasicConv2d(8, 8, kernel_size=3, stride=2, pad_mode="valid"))
        self.branch_pool = nn.MaxPool2d(kernel_size=3, stride=2)

    def construct(self, x):
        x0 = self.branch0(x)
        x1 = self.branch1(x)
        pool = self.branch_pool(x)
        return self.concat((x0, x1, pool))


class Auxiliary(nn.Cell):
    def __init__(self, inputs, classes):
        super().__init__()
        self.avg_pool = nn.AvgPool2d(5, stride=3, pad_mode="valid")
        self.conv = BasicConv2d(inputs, 16, kernel_size=1)
        self.flatten = nn.Flatten()
        self.fc = nn.Dense(16 * 3 * 3, classes)

    def construct(self, x):
        return self.fc(self.flatten(self.conv(self.avg_pool(x))))


class Inception(nn.Cell):
    def __init__(self, classes=10):
        super().__init__()
        self.stem = BasicConv2d(3, 8, kernel_size=3, stride=2)
        self.mixed_a = InceptionA(8, pool_features=4)
        self.mixed_b = InceptionB(32)
        self.mixed_c = InceptionA(56, pool_features=4)
        self.auxiliary = Auxiliary(32, classes)
        self.dropout = nn.Dropout(p=0.2)
        self.num_features = 32
        self.head = nn.Dense(self.num_features, classes)

    def construct(self, x):
        x = self.mixed_a(self.stem(x))
        auxiliary = None
        if self.training:
            auxiliary = self.auxiliary(x)
        x = self.mixed_c(self.mixed_b(x))
        x = self.dropout(ops.adaptive_avg_pool2d(x, (1, 1)).reshape(-1, self.num_features))
        x = self.head(x)
        if self.training:
            return x, auxiliary
        return x


class InceptionLoss(nn.LossBase):
    def __init__(self, factor=0.4):
        super().__init__()
        self.factor = factor
        self.ce = nn.CrossEntropyLoss()

    def construct(self, logits, label):
        if isinstance(logits, tuple):
            main, auxiliary = logits
            return self.ce(main, label) + self.factor * self.ce(auxiliary, label)
        return self.ce(logits, label)


def build():
    network = Inception()
    criterion = InceptionLoss()

    def loss(image, label):
        return criterion(network(image), label)

    optimizer = nn.RMSProp(network.trainable_params(), 0.01, decay=0.9, epsilon=0.001)
    return network, loss, optimizer, images(24, 10)


def main():
    run(globals())


if __name__ == "__main__":
    main()
