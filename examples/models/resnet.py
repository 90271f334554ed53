"""ResNet-18 (two 3 x 3 convolutions a block) and ResNet-50 (bottlenecks), with narrow layers for small images."""

from training import images, run

from mindspore import nn, ops


def conv3x3(inputs, outputs, stride=1):
    return nn.Conv2d(inputs, outputs, kernel_size=3, stride=stride, padding=1, pad_mode="pad")


def conv1x1(inputs, outputs, stride=1):
    return nn.Conv2d(inputs, outputs, kernel_size=1, stride=stride)


class BasicBlock(nn.Cell):
    expansion = 1

    def __init__(self, inputs, width, stride=1, down_sample=None):
        super().__init__()
        self.conv1 = conv3x3(inputs, width, stride)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = conv3x3(width, width)
        self.bn2 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU()
        self.down_sample = down_sample

    def construct(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.down_sample is not None:
            identity = self.down_sample(x)
        out += identity
        return self.relu(out)


class Bottleneck(nn.Cell):
    expansion = 4

    def __init__(self, inputs, width, stride=1, down_sample=None):
        super().__init__()
        self.conv1 = conv1x1(inputs, width)
        self.bn1 = nn.BatchNorm2d(width, eps=1e-4, momentum=0.9, gamma_init=1, beta_init=0)
        self.conv2 = conv3x3(width, width, stride)
        self.bn2 = nn.BatchNorm2d(width, eps=1e-4, momentum=0.9)
        self.conv3 = conv1x1(width, width * self.expansion)
        self.bn3 = nn.BatchNorm2d(width * self.expansion, gamma_init=0)
        self.relu = nn.ReLU()
        self.down_sample = down_sample
        self.add = ops.Add()

    def construct(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        if self.down_sample is not None:
            x = self.down_sample(x)
        return self.relu(self.add(out, x))


class ResNet(nn.Cell):
    def __init__(self, block, layers, width=8, classes=10):
        super().__init__()
        self.inputs = width
        self.conv1 = nn.Conv2d(3, width, 3, stride=1, pad_mode="same")
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU()
        self.max_pool = nn.MaxPool2d(kernel_size=3, stride=2, pad_mode="same")
        self.layer1 = self._make_layer(block, width, layers[0])
        self.layer2 = self._make_layer(block, width * 2, layers[1], 2)
        self.layer3 = self._make_layer(block, width * 3, layers[2], 2)
        self.layer4 = self._make_layer(block, width * 4, layers[3], 2)
        self.head = nn.Dense(self.inputs, classes)

    def _make_layer(self, block, width, blocks, stride=1):
        down_sample = None
        if stride != 1 or self.inputs != width * block.expansion:
            down_sample = nn.SequentialCell([
                conv1x1(self.inputs, width * block.expansion, stride),
                nn.BatchNorm2d(width * block.expansion),
            ])
        layers = [block(self.inputs, width, stride, down_sample)]
        self.inputs = width * block.expansion
        for _ in range(1, blocks):
            layers.append(block(self.inputs, width))
        return nn.SequentialCell(*layers)

    def construct(self, x):
        x = self.max_pool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer1(x)
        x = self.layer2(x)
        x = self.layer3(x)
        x = self.layer4(x)
        x = ops.mean(x, (2, 3))
        return self.head(x)


def resnet18():
    return ResNet(BasicBlock, [2, 2, 2, 2])


def resnet50():
    return ResNet(Bottleneck, [3, 4, 6, 3])


def build(make=resnet18):
    network = make()
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    def loss(image, label):
        return criterion(network(image), label)

    decay = [p for p in network.trainable_params() if "gamma" not in p.name and "beta" not in p.name]
    other = [p for p in network.trainable_params() if "gamma" in p.name or "beta" in p.name]
    schedule = nn.cosine_decay_lr(min_lr=0.001, max_lr=0.05, total_step=20, step_per_epoch=5, decay_epoch=4)
    groups = [{"params": decay, "weight_decay": 1e-4}, {"params": other}]
    optimizer = nn.Momentum(groups, learning_rate=schedule, momentum=0.9)
    return network, loss, optimizer, images(24, 10)


def main():
    run(globals())


if __name__ == "__main__":
    main()
