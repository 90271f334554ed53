"""A small speech or captcha recogniser: convolutions, an LSTM over the columns, CTC; greedy decoding in NumPy."""

import numpy as np

from training import run

import mindspore as ms
from mindspore import Tensor, nn, ops

BLANK = 0


class CRNN(nn.Cell):
    def __init__(self, classes=6, hidden=16):
        super().__init__()
        self.cnn = nn.SequentialCell(
            nn.Conv2d(1, 8, 3, pad_mode="same"), nn.BatchNorm2d(8), nn.LeakyReLU(), nn.MaxPool2d((2, 2), (2, 2)),
            nn.Conv2d(8, 16, 3, pad_mode="same"), nn.ReLU(), nn.MaxPool2d((2, 1), (2, 1)),
        )
        self.rnn = nn.LSTM(16 * 2, hidden, bidirectional=True)
        self.fc = nn.Dense(2 * hidden, classes)

    def construct(self, x):
        x = self.cnn(x)
        x = ops.transpose(x, (3, 0, 1, 2))
        x = ops.reshape(x, (x.shape[0], x.shape[1], -1))
        x, _ = self.rnn(x)
        return ops.log_softmax(self.fc(x), -1)


def batches(n, batch=2, width=24, length=4):
    """Images of bars whose height and place tell the symbols."""
    rng = np.random.default_rng(0)
    for _ in range(n):
        label = rng.integers(1, 6, (batch, length))
        lengths = rng.integers(2, length + 1, batch)
        image = 0.2 * rng.standard_normal((batch, 1, 8, width))
        for b in range(batch):
            for i in range(lengths[b]):
                image[b, 0, :label[b, i] + 1, i * 6 + 1:i * 6 + 5] += 1.0
        yield Tensor(image.astype(np.float32)), Tensor(label.astype(np.int32)), Tensor(lengths.astype(np.int32))


def decode(log_probs):
    """The symbols of each sample: the best of each step, without repetitions and blanks."""
    best = log_probs.asnumpy().argmax(-1).T
    return [[int(c) for i, c in enumerate(row) if c != BLANK and (i == 0 or c != row[i - 1])] for row in best]


def build():
    network = CRNN()

    def loss(image, label, lengths):
        log_probs = network(image)
        steps = ops.ones((log_probs.shape[1],), ms.int32) * log_probs.shape[0]
        value, _ = ops.ctc_loss(log_probs, label, steps, lengths, blank=BLANK, reduction="mean")
        return value

    optimizer = nn.Adam(network.trainable_params(), learning_rate=0.01)
    return network, loss, optimizer, batches


def main():
    run(globals())


if __name__ == "__main__":
    main()
