"""LeNet-5 on 28 x 28 images of ten classes."""

from training import images, run

from mindspore import nn
from mindspore.common.initializer import Normal


class LeNet5(nn.Cell):
    def __init__(self, classes=10, channels=1):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 6, 5, pad_mode="valid")
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.relu = nn.ReLU()
        self.max_pool2d = nn.MaxPool2d(kernel_size=2, stride=2)
        self.flatten = nn.Flatten()
        self.fc1 = nn.Dense(16 * 4 * 4, 120, weight_init=Normal(0.02))
        self.fc2 = nn.Dense(120, 84, weight_init=Normal(0.02))
        self.fc3 = nn.Dense(84, classes, weight_init=Normal(0.02))

    def construct(self, x):
        x = self.max_pool2d(self.relu(self.conv1(x)))
        x = self.max_pool2d(self.relu(self.conv2(x)))
        x = self.flatten(x)
        x = self.relu(self.fc1(x))
        x = self.relu(self.fc2(x))
        return self.fc3(x)


def build():
    network = LeNet5()
    with_loss = nn.WithLossCell(network, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    optimizer = nn.Momentum(network.trainable_params(), learning_rate=0.05, momentum=0.9)
    return network, with_loss, optimizer, images(28, 10, channels=1)


def main():
    run(globals())


if __name__ == "__main__":
    main()
