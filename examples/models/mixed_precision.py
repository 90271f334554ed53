"""Mixed precision: a network in float16 by amp, a dynamic loss scaler, a step that is left out when gradients
overflow."""

from training import images, run

import mindspore as ms
from mindspore import amp, nn, ops


class Network(nn.Cell):
    def __init__(self, classes=10, width=8):
        super().__init__()
        self.features = nn.SequentialCell(
            nn.Conv2d(3, width, 3), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2, 2),
            nn.Conv2d(width, width * 2, 3), nn.BatchNorm2d(width * 2), nn.ReLU(), nn.MaxPool2d(2, 2),
        )
        self.flatten = nn.Flatten()
        self.fc = nn.Dense(width * 2 * 16, 32, activation="relu")
        self.head = nn.Dense(32, classes).to_float(ms.float32)

    def construct(self, x):
        return self.head(self.fc(self.flatten(self.features(x))))


def build():
    network = amp.auto_mixed_precision(Network(), amp_level="O2", dtype=ms.float16)
    criterion = nn.CrossEntropyLoss()

    def loss(image, label):
        return criterion(network(image).astype(ms.float32), label)

    optimizer = nn.Momentum(network.trainable_params(), learning_rate=0.05, momentum=0.9)
    return network, loss, optimizer, images(16, 10)


def make_step(network, loss, optimizer):
    # The first steps overflow: 2^24 is too large for float16.
    scaler = amp.DynamicLossScaler(scale_value=2**24, scale_factor=2, scale_window=50)

    def forward(image, label):
        value = loss(image, label)
        return scaler.scale(value), value

    gradient = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)

    def step(image, label):
        (_, value), grads = gradient(image, label)
        grads = scaler.unscale(grads)
        finite = amp.all_finite(grads)
        scaler.adjust(finite)
        if finite:
            optimizer(grads)
        return ops.depend(value, finite)

    return step


def main():
    run(globals())


if __name__ == "__main__":
    main()
