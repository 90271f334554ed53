"""LeNet by Model.train as tutorials have it: a pipeline of images, callbacks of one's own and of the library,
checkpoints that are loaded again, evaluation and prediction.

    python -m pijit --as mindspore examples/training/callbacks.py [--mode graph]
"""

import argparse
import os
import tempfile

import numpy as np

import mindspore as ms
import mindspore.dataset as ds
import mindspore.dataset.transforms as transforms
import mindspore.dataset.vision as vision
from mindspore import nn
from mindspore.train import Accuracy, Callback, CheckpointConfig, Loss, LossMonitor, Model, ModelCheckpoint


class Bars:
    """Grey images with a bar whose row is the class."""

    def __init__(self, count, seed):
        random = np.random.RandomState(seed)
        self.labels = random.randint(0, 10, count).astype(np.int32)
        self.images = random.randint(0, 60, (count, 32, 32, 1)).astype(np.uint8)
        for image, label in zip(self.images, self.labels):
            image[3 * label:3 * label + 3] = 220

    def __getitem__(self, index):
        return self.images[index], self.labels[index]

    def __len__(self):
        return len(self.labels)


def create_dataset(count, seed, batch_size=32):
    dataset = ds.GeneratorDataset(Bars(count, seed), ["image", "label"], shuffle=False)
    dataset = dataset.map([vision.Rescale(1.0 / 255.0, 0), vision.Normalize(mean=(0.13,), std=(0.31,)),
                           vision.HWC2CHW()], "image")
    dataset = dataset.map(transforms.TypeCast(ms.int32), "label")
    return dataset.batch(batch_size, drop_remainder=True)


class LeNet5(nn.Cell):
    def __init__(self, num_class=10, num_channel=1):
        super().__init__()
        self.conv1 = nn.Conv2d(num_channel, 6, 5, pad_mode="valid")
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.fc1, self.fc2, self.fc3 = nn.Dense(16 * 5 * 5, 120), nn.Dense(120, 84), nn.Dense(84, num_class)
        self.relu, self.flatten = nn.ReLU(), nn.Flatten()
        self.max_pool2d = nn.MaxPool2d(kernel_size=2, stride=2)

    def construct(self, x):
        x = self.max_pool2d(self.relu(self.conv1(x)))
        x = self.max_pool2d(self.relu(self.conv2(x)))
        x = self.relu(self.fc1(self.flatten(x)))
        return self.fc3(self.relu(self.fc2(x)))


class LossHistory(Callback):
    def __init__(self):
        super().__init__()
        self.losses = []

    def on_train_step_end(self, run_context):
        self.losses.append(float(run_context.original_args().net_outputs.asnumpy()))

    def on_train_epoch_end(self, run_context):
        p = run_context.original_args()
        print(f"epoch {p.cur_epoch_num}: {p.cur_step_num} steps of {p.batch_num}, loss "
              f"{np.mean(self.losses[-p.batch_num:]):.4f}")


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["pynative", "graph"], default="pynative")
    args = parser.parse_args(argv)
    ms.set_context(mode=ms.GRAPH_MODE if args.mode == "graph" else ms.PYNATIVE_MODE)
    random, net = np.random.RandomState(2), LeNet5()
    for p in net.trainable_params():
        fan_in = int(np.prod(p.shape[1:]))
        p.set_data(ms.Tensor((random.randn(*p.shape) * (np.sqrt(2 / fan_in) if p.ndim > 1 else 0)).astype(np.float32)))
    loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(net.trainable_params(), learning_rate=0.005, momentum=0.9)
    model = Model(net, loss_fn, optimizer, metrics={"accuracy": Accuracy(), "loss": Loss()})
    train, test = create_dataset(320, 0), create_dataset(96, 1)
    with tempfile.TemporaryDirectory() as folder:
        saved = ModelCheckpoint(prefix="lenet", directory=folder,
                                config=CheckpointConfig(save_checkpoint_steps=10, keep_checkpoint_max=2))
        history = LossHistory()
        model.train(4, train, callbacks=[history, LossMonitor(5), saved], dataset_sink_mode=False)
        print(sorted(name for name in os.listdir(folder) if name.endswith(".ckpt")))
        parameters = ms.load_checkpoint(os.path.join(folder, "lenet-4_10.ckpt"))
        again = LeNet5()
        print(ms.load_param_into_net(again,
                                     {k: parameters[k] for k in parameters
                                      if k.split(".")[0] in ("conv1", "conv2", "fc1", "fc2", "fc3")}))
    for network in (net, again):
        result = Model(network, loss_fn, metrics={"accuracy": Accuracy(), "loss": Loss()}).eval(test,
            dataset_sink_mode=False)
        print(f"accuracy {result['accuracy']:.4f}, loss {result['loss']:.4f}")
    image, label = next(test.create_tuple_iterator())
    print("right:", int((model.predict(image).argmax(axis=1) == label).sum()), "of", label.shape[0])


if __name__ == "__main__":
    main()
