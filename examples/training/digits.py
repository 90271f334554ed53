"""LeNet on the handwritten digits of scikit-learn: Model with callbacks, checkpoints and an evaluation after each
epoch.

    python -m pijit --as mindspore examples/training/digits.py [--mode graph]
"""

import argparse
import tempfile

import numpy as np
from sklearn.datasets import load_digits

import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn
from mindspore.train import Accuracy, Callback, CheckpointConfig, LossMonitor, Model, ModelCheckpoint, TimeMonitor


class LeNet5(nn.Cell):
    def __init__(self, num_class=10, num_channel=1):
        super().__init__()
        self.conv1 = nn.Conv2d(num_channel, 6, 3, pad_mode="same")
        self.conv2 = nn.Conv2d(6, 16, 3, pad_mode="valid")
        self.fc1 = nn.Dense(16, 32)
        self.fc2 = nn.Dense(32, num_class)
        self.relu = nn.ReLU()
        self.max_pool2d = nn.MaxPool2d(kernel_size=2, stride=2)
        self.flatten = nn.Flatten()

    def construct(self, x):
        x = self.max_pool2d(self.relu(self.conv1(x)))
        x = self.max_pool2d(self.relu(self.conv2(x)))
        x = self.flatten(x)
        return self.fc2(self.relu(self.fc1(x)))


def initialize(net):
    """Weights that don't depend on a library's generator."""
    rng = np.random.RandomState(0)
    for p in net.trainable_params():
        scale = 0.1 if p.ndim == 1 else (2.0 / np.prod(p.shape[1:])) ** 0.5
        p.set_data(ms.Tensor((rng.randn(*p.shape) * scale).astype(np.float32)))


class EvalCallback(Callback):
    """Evaluates after each epoch."""

    def __init__(self, model, dataset):
        self.model, self.dataset = model, dataset

    def on_train_epoch_end(self, run_context):
        acc = self.model.eval(self.dataset)["accuracy"]
        print(f"epoch {run_context.original_args().cur_epoch_num} accuracy {acc:.4f}")


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["pynative", "graph"], default="pynative")
    args = parser.parse_args(argv)
    ms.set_context(mode=ms.GRAPH_MODE if args.mode == "graph" else ms.PYNATIVE_MODE)
    digits = load_digits()
    order = np.random.RandomState(3).permutation(1536)
    images, labels = (digits.images[:, None] / 16.0).astype(np.float32), digits.target.astype(np.int32)
    train = ds.NumpySlicesDataset((images[order], labels[order]), ["image", "label"], shuffle=False).batch(64)
    test = ds.NumpySlicesDataset((images[1536:], labels[1536:]), ["image", "label"], shuffle=False).batch(29)

    net = LeNet5()
    initialize(net)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
    model = Model(net, loss, optimizer, metrics={"accuracy": Accuracy()})
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = ModelCheckpoint("lenet", folder, CheckpointConfig(save_checkpoint_steps=24, keep_checkpoint_max=3))
        model.train(4, train, callbacks=[TimeMonitor(), LossMonitor(8), checkpoint, EvalCallback(model, test)])
        restored = LeNet5()
        ms.load_param_into_net(restored, ms.load_checkpoint(checkpoint.latest_ckpt_file_name))
    print("restored", Model(restored, loss, metrics={"accuracy"}).eval(test))
    print("predicted", model.predict(ms.Tensor(images[:8])).asnumpy().argmax(1))


if __name__ == "__main__":
    main()
