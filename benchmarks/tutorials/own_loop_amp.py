"""A residual network trained by a loop of one's own with mixed precision and loss scaling. Arguments: epochs."""

import os
import sys
import time

import numpy as np

import mindspore as ms
from mindspore import Tensor, nn, ops
from mindspore.amp import DynamicLossScaler, all_finite, auto_mixed_precision

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 5


def make_data(batches=12, size=16):
    rng = np.random.RandomState(0)
    directions = rng.randn(4, 3, 12, 12)
    out = []
    for _ in range(batches):
        labels = rng.randint(0, 4, size)
        pictures = directions[labels] + rng.randn(size, 3, 12, 12) * 2
        out.append((Tensor(pictures.astype(np.float32)), Tensor(labels.astype(np.int32))))
    return out


class Block(nn.Cell):
    def __init__(self, channels, out, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out, 3, stride, has_bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, has_bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU()
        self.shortcut = None
        if stride != 1 or channels != out:
            self.shortcut = nn.SequentialCell(nn.Conv2d(channels, out, 1, stride, has_bias=False), nn.BatchNorm2d(out))

    def construct(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return self.relu(y + (x if self.shortcut is None else self.shortcut(x)))


class ResNet(nn.Cell):
    def __init__(self, classes=4):
        super().__init__()
        self.stem = nn.SequentialCell(nn.Conv2d(3, 8, 3, has_bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.layers = nn.CellList([Block(8, 8), Block(8, 16, 2), Block(16, 16)])
        self.head = nn.Dense(16, classes)

    def construct(self, x):
        x = self.stem(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(x.mean((2, 3)))


def main():
    ms.set_seed(2)
    data = make_data()
    net = auto_mixed_precision(ResNet(), "O2")
    loss_fn = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = nn.AdamWeightDecay(net.trainable_params(), learning_rate=2e-3, weight_decay=0.01)
    scaler = DynamicLossScaler(scale_value=2 ** 10, scale_factor=2, scale_window=50)
    parameters = optimizer.parameters

    def forward(x, y):
        logits = net(x)
        loss = loss_fn(logits.astype(ms.float32), y)
        return scaler.scale(loss), logits

    value_and_grad = ops.value_and_grad(forward, None, parameters, has_aux=True)

    def train_step(x, y):
        (loss, logits), grads = value_and_grad(x, y)
        loss = scaler.unscale(loss)
        finite = all_finite(grads)
        if finite:
            grads = ops.clip_by_global_norm(scaler.unscale(grads), 5.0)
            optimizer(grads)
        scaler.adjust(finite)
        return loss, logits

    net.set_train()
    for epoch in range(EPOCHS):
        total, right = 0.0, 0
        for x, y in data:
            loss, logits = train_step(x, y)
            total += float(loss.asnumpy())
            right += int((logits.argmax(1) == y).sum().asnumpy())
        if epoch in (0, EPOCHS - 1):
            print(f"epoch {epoch}: loss {total / len(data):.4f}, accuracy {right / (len(data) * 16):.3f}")
    net.set_train(False)
    x, y = data[0]
    print("evaluated", round(float(loss_fn(net(x).astype(ms.float32), y).asnumpy()), 3))


clock = getattr(time, os.environ.get("TUTORIAL_CLOCK", "perf_counter"))
begin = clock()
main()
print(f"@@ {clock() - begin:.6f}", file=sys.stderr)
