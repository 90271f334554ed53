"""A classifier of small pictures: a dataset pipeline, Model.train with callbacks, evaluation, the best checkpoint.

    python -m pijit --as mindspore examples/training/pictures.py [--mode graph]"""

import argparse
import os
import tempfile

import numpy as np

import mindspore as ms
import mindspore.dataset as ds
import mindspore.dataset.transforms as transforms
import mindspore.dataset.vision as vision
from mindspore import nn, ops
from mindspore.train import (Callback, CheckpointConfig, LearningRateScheduler, LossMonitor, Model,
                             ModelCheckpoint, TimeMonitor)

SIZE, CLASSES = 12, 4


def pictures(count, seed):
    """Bars and crosses at random places, with noise: uint8 [count, SIZE, SIZE, 1], and which they are."""
    rng = np.random.RandomState(seed)
    x = rng.randint(0, 60, (count, SIZE, SIZE, 1)).astype(np.uint8)
    labels = rng.randint(0, CLASSES, count).astype(np.int32)
    for picture, label in zip(x, labels):
        row, column = rng.randint(2, SIZE - 2, 2)
        if label in (0, 2):
            picture[row] += 180
        if label in (1, 2):
            picture[:, column] += np.where(picture[:, column] < 70, 180, 0).astype(np.uint8)
        if label == 3:
            picture[np.arange(SIZE), np.arange(SIZE)] += 180
    return x, labels


class Pictures:
    def __init__(self, count, seed):
        self.x, self.labels = pictures(count, seed)

    def __getitem__(self, index):
        return self.x[index], self.labels[index]

    def __len__(self):
        return len(self.labels)


def create_dataset(count, seed, batch_size, training):
    dataset = ds.GeneratorDataset(Pictures(count, seed), ["image", "label"], shuffle=False)
    operations = [vision.Rescale(1.0 / 255.0, 0.0), vision.Normalize((0.2,), (0.25,)), vision.HWC2CHW()]
    dataset = dataset.map(operations, input_columns="image", num_parallel_workers=1)
    dataset = dataset.map(transforms.TypeCast(ms.int32), input_columns="label")
    if training:
        dataset = dataset.take(count - count % batch_size)
    return dataset.batch(batch_size, drop_remainder=training)


class Network(nn.Cell):
    def __init__(self):
        super().__init__()
        self.features = nn.SequentialCell(
            nn.Conv2d(1, 8, 3, pad_mode="pad", padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2, 2),
            nn.Conv2d(8, 16, 3, pad_mode="same"), nn.ReLU())
        self.flatten = nn.Flatten()
        self.head = nn.Dense(16 * (SIZE // 2) ** 2, CLASSES)

    def construct(self, x):
        x = self.features(x)
        return self.head(self.flatten(x))


def fill(network, seed):
    """Weights that don't depend on whose random numbers a framework uses."""
    rng = np.random.RandomState(seed)
    for p in network.trainable_params():
        if p.ndim > 1:
            scale = np.sqrt(2.0 / np.prod(p.shape[1:]))
            p.set_data(ms.Tensor((rng.randn(*p.shape) * scale).astype(np.float32)))
        elif "bias" in p.name:
            p.set_data(ops.zeros_like(p))


class Watcher(Callback):
    """Remembers the loss of each epoch, and what it saw of the run."""

    def __init__(self):
        super().__init__()
        self.losses, self.events = [], []

    def on_train_begin(self, run_context):
        params = run_context.original_args()
        self.events.append(f"begin {params.epoch_num} epochs of {params.batch_num} batches")

    def on_train_epoch_end(self, run_context):
        params = run_context.original_args()
        self.losses.append(float(params.net_outputs.asnumpy()))
        self.events.append(f"epoch {params.cur_epoch_num} step {params.cur_step_num}")

    def on_train_end(self, run_context):
        self.events.append("end")


def decayed(rate, step):
    return rate * 0.9 if step % 16 == 0 else rate


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["pynative", "graph"], default="pynative")
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args(argv)
    ms.set_context(mode=ms.GRAPH_MODE if args.mode == "graph" else ms.PYNATIVE_MODE)
    ms.set_seed(1)
    train, test = create_dataset(260, 0, 16, True), create_dataset(90, 1, 32, False)
    print("batches:", train.get_dataset_size(), test.get_dataset_size(), train.get_col_names(), train.output_shapes())

    network = Network()
    fill(network, 3)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(network.trainable_params(), 0.01, 0.9, weight_decay=1e-4)
    model = Model(network, loss, optimizer, metrics={"accuracy": nn.Accuracy(), "loss": nn.Loss()})
    watcher = Watcher()
    with tempfile.TemporaryDirectory() as folder:
        keep = ModelCheckpoint("net", folder, CheckpointConfig(save_checkpoint_steps=train.get_dataset_size(),
                                                              keep_checkpoint_max=2))
        model.train(args.epochs, train, callbacks=[watcher, keep, LossMonitor(train.get_dataset_size()), TimeMonitor(),
                                                   LearningRateScheduler(decayed)], dataset_sink_mode=False)
        print("\n".join(watcher.events))
        print("losses:", " ".join(f"{v:.3f}" for v in watcher.losses))
        print("rate:", round(float(optimizer.learning_rate.asnumpy()), 5))
        print("checkpoints:", sorted(f for f in os.listdir(folder) if f.endswith(".ckpt")))
        before = model.eval(test, dataset_sink_mode=False)
        print("test:", {k: round(float(v), 2) for k, v in sorted(before.items())})

        other = Network()
        last = sorted(f for f in os.listdir(folder) if f.endswith(".ckpt"))[-1]
        missing, unused = ms.load_param_into_net(other, ms.load_checkpoint(os.path.join(folder, last)))
        print("not loaded:", missing, unused)
        again = Model(other, loss, metrics={"accuracy", "loss"}).eval(test, dataset_sink_mode=False)
        print("the same:", bool(np.isclose(before["loss"], again["loss"], rtol=1e-5)))
        batch = next(test.create_dict_iterator(num_epochs=1))
        guessed = Model(other).predict(batch["image"]).argmax(1)
        print("first guesses:", guessed.asnumpy()[:12].tolist(), batch["label"].asnumpy()[:12].tolist())


if __name__ == "__main__":
    main()
