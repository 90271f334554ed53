"""VGG-11 with batch normalisation, its layers made from a list of widths."""

from training import images, run

import mindspore as ms
from mindspore import nn, ops
from mindspore.common import initializer as init

WIDTHS = [8, "M", 16, "M", 24, 24, "M", 32, 32, "M"]


def make_layers(widths, channels=3):
    layers = nn.SequentialCell()
    for width in widths:
        if width == "M":
            layers.append(nn.MaxPool2d(2, 2))
        else:
            layers.append(nn.Conv2d(channels, width, 3, padding=1, pad_mode="pad", has_bias=False))
            layers.append(nn.BatchNorm2d(width))
            layers.append(nn.ReLU())
            channels = width
    return layers


class VGG(nn.Cell):
    def __init__(self, widths=WIDTHS, classes=10, hidden=32):
        super().__init__()
        self.features = make_layers(widths)
        self.classifier = nn.SequentialCell([
            nn.Dense(32 * 2 * 2, hidden), nn.ReLU(), nn.Dropout(p=0.5),
            nn.Dense(hidden, hidden), nn.ReLU(), nn.Dropout(p=0.5),
            nn.Dense(hidden, classes),
        ])
        self._initialize_weights()

    def _initialize_weights(self):
        for _, cell in self.cells_and_names():
            if isinstance(cell, nn.Conv2d):
                cell.weight.set_data(init.initializer(init.HeNormal(mode="fan_out", nonlinearity="relu"),
                                                      cell.weight.shape, cell.weight.dtype))
            elif isinstance(cell, nn.Dense):
                cell.weight.set_data(init.initializer(init.Normal(0.05), cell.weight.shape, cell.weight.dtype))
                cell.bias.set_data(init.initializer("zeros", cell.bias.shape, cell.bias.dtype))

    def construct(self, x):
        x = self.features(x)
        x = x.view(x.shape[0], -1)
        return self.classifier(x)


def build():
    network = VGG()
    schedule = nn.piecewise_constant_lr([2, 4, 100], [0.05, 0.02, 0.01])
    optimizer = nn.SGD(network.trainable_params(), learning_rate=schedule, momentum=0.9, weight_decay=5e-4)

    def loss(image, label):
        logits = network(image)
        return ops.cross_entropy(logits, label).astype(ms.float32)

    return network, loss, optimizer, images(32, 10)


def main():
    run(globals())


if __name__ == "__main__":
    main()
