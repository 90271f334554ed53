"""DenseNet: each layer takes the outputs of all layers before it."""

from collections import OrderedDict

from training import images, run

from mindspore import nn, ops


class DenseLayer(nn.Cell):
    def __init__(self, inputs, growth, bn_size, drop_rate):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(inputs)
        self.relu1 = nn.ReLU()
        self.conv1 = nn.Conv2d(inputs, bn_size * growth, kernel_size=1, stride=1)
        self.norm2 = nn.BatchNorm2d(bn_size * growth)
        self.relu2 = nn.ReLU()
        self.conv2 = nn.Conv2d(bn_size * growth, growth, kernel_size=3, stride=1, pad_mode="pad", padding=1)
        self.drop_rate = drop_rate
        self.dropout = nn.Dropout(p=self.drop_rate)

    def construct(self, features):
        bottleneck = self.conv1(self.relu1(self.norm1(features)))
        new_features = self.conv2(self.relu2(self.norm2(bottleneck)))
        if self.drop_rate > 0.0:
            new_features = self.dropout(new_features)
        return new_features


class DenseBlock(nn.Cell):
    def __init__(self, layers, inputs, bn_size, growth, drop_rate):
        super().__init__()
        self.cell_list = nn.CellList()
        for i in range(layers):
            self.cell_list.append(DenseLayer(inputs + i * growth, growth, bn_size, drop_rate))

    def construct(self, init_features):
        features = init_features
        for layer in self.cell_list:
            new_features = layer(features)
            features = ops.concat((features, new_features), axis=1)
        return features


class Transition(nn.Cell):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.features = nn.SequentialCell(OrderedDict([
            ("norm", nn.BatchNorm2d(inputs)),
            ("relu", nn.ReLU()),
            ("conv", nn.Conv2d(inputs, outputs, kernel_size=1, stride=1)),
            ("pool", nn.AvgPool2d(kernel_size=2, stride=2)),
        ]))

    def construct(self, x):
        return self.features(x)


class DenseNet(nn.Cell):
    def __init__(self, growth=4, blocks=(2, 3, 2), inputs=8, bn_size=2, drop_rate=0.1, classes=10):
        super().__init__()
        layers = OrderedDict()
        layers["conv0"] = nn.Conv2d(3, inputs, 3, stride=1, pad_mode="pad", padding=1)
        layers["norm0"] = nn.BatchNorm2d(inputs)
        layers["relu0"] = nn.ReLU()
        layers["pool0"] = nn.MaxPool2d(3, stride=2, pad_mode="same")
        width = inputs
        for i, count in enumerate(blocks):
            layers[f"denseblock{i + 1}"] = DenseBlock(count, width, bn_size, growth, drop_rate)
            width += count * growth
            if i != len(blocks) - 1:
                layers[f"transition{i + 1}"] = Transition(width, width // 2)
                width //= 2
        layers["norm5"] = nn.BatchNorm2d(width)
        layers["relu5"] = nn.ReLU()
        self.features = nn.SequentialCell(layers)
        self.mean = ops.ReduceMean(keep_dims=False)
        self.classifier = nn.Dense(width, classes)

    def construct(self, x):
        x = self.features(x)
        x = self.mean(x, (2, 3))
        return self.classifier(x)


def build():
    network = DenseNet()
    with_loss = nn.WithLossCell(network, nn.CrossEntropyLoss())
    optimizer = nn.Adam(network.trainable_params(), learning_rate=nn.ExponentialDecayLR(0.01, 0.9, 4, is_stair=True))
    return network, with_loss, optimizer, images(24, 10)


def make_step(network, loss, optimizer):
    return nn.TrainOneStepCell(loss, optimizer).set_train()


def main():
    run(globals())


if __name__ == "__main__":
    main()
