"""Contrastive learning (a momentum encoder, a queue of keys, an op with its own gradient), then a linear probe of the
frozen encoder, a checkpoint with renamed parameters, export to MindIR and inference from the file.

    python -m pijit --as mindspore examples/programs/contrast.py [--mode graph]"""

import copy
import os
import sys
import tempfile

import numpy as np

from toolkit import Registry, arguments, fill, load_config, start

import mindspore as ms
import mindspore.dataset as ds
from mindspore import Parameter, Tensor, nn, ops
from mindspore.dataset import transforms, vision

CONFIG = """
data:
  size: 10
  classes: 3
  samples: 32
  batch: 8
encoder:
  type: ConvEncoder
  width: 8
  features: 12
moco:
  queue: 32
  momentum: 0.9
  temperature: 0.2
train:
  epochs: 3
  lr: 0.03
  probe_epochs: 4
"""

ENCODERS, AUGMENTATIONS = Registry("encoder"), Registry("augmentation")


@AUGMENTATIONS.register("flip")
def flip(image, rng):
    return image[:, ::-1] if rng.rand() < 0.5 else image


@AUGMENTATIONS.register("shift")
def shift(image, rng):
    return np.roll(image, rng.randint(-1, 2, 2), (0, 1))


@AUGMENTATIONS.register("brightness")
def brightness(image, rng):
    return np.clip(image.astype(np.float32) * rng.uniform(0.7, 1.3), 0, 255).astype(np.uint8)


class TwoViews:
    """Two changed images of one, as the paper has it."""

    def __init__(self, names, seed):
        self.changes, self.rng = [AUGMENTATIONS.get(n) for n in names], np.random.RandomState(seed)

    def view(self, image):
        for change in self.changes:
            image = change(image, self.rng)
        return np.ascontiguousarray(image)

    def __call__(self, image):
        return self.view(image), self.view(image)


class L2Normalized(nn.Cell):
    """x / |x|, with the gradient written out."""

    def construct(self, x):
        return x / ops.sqrt((x * x).sum(-1, keepdims=True) + 1e-12)

    def bprop(self, x, out, dout):
        norm = ops.sqrt((x * x).sum(-1, keepdims=True) + 1e-12)
        return ((dout - out * (out * dout).sum(-1, keepdims=True)) / norm,)


@ENCODERS.register()
class ConvEncoder(nn.Cell):
    def __init__(self, width, features, normalize=True):
        super().__init__()
        self.body = nn.SequentialCell(
            nn.Conv2d(3, width, 3, 2, "pad", 1, has_bias=True), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, 2, "pad", 1, has_bias=True), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
            nn.Flatten())
        self.head = nn.Dense(2 * width, features)
        self.normalize = L2Normalized() if normalize else nn.Identity()

    def construct(self, x):
        return self.normalize(self.head(self.body(x)))


class MoCo(nn.Cell):
    def __init__(self, cfg, queue, momentum, temperature):
        super().__init__()
        self.query = fill(ENCODERS.build(cfg), 31)
        self.key = copy.deepcopy(self.query)
        self.key.update_parameters_name("momentum_")
        for p in self.key.get_parameters():
            p.requires_grad = False
        keys = np.random.RandomState(5).randn(queue, cfg.features)
        self.queue = Parameter(Tensor(keys / np.linalg.norm(keys, axis=1, keepdims=True), ms.float32), name="queue",
                               requires_grad=False)
        self.at = Parameter(Tensor(0, ms.int32), name="at", requires_grad=False)
        self.size, self.momentum, self.temperature = queue, momentum, temperature
        self.pairs = list(zip(self.query.trainable_params(), [p for p in self.key.get_parameters()
                                                              if "moving" not in p.name]))

    def follow(self):
        for new, old in self.pairs:
            ops.assign(old, old * self.momentum + new * (1 - self.momentum))

    def enqueue(self, keys):
        places = (ops.arange(keys.shape[0]) + self.at) % self.size
        ops.assign(self.queue, ops.tensor_scatter_update(self.queue, places.expand_dims(1), keys))
        ops.assign(self.at, (self.at + keys.shape[0]) % self.size)

    def construct(self, a, b):
        q, k = self.query(a), ops.stop_gradient(self.key(b))
        positive = (q * k).sum(-1, keepdims=True)
        negative = ops.matmul(q, ops.stop_gradient(self.queue + 0).T)
        logits = ops.cat((positive, negative), 1) / self.temperature
        loss = ops.cross_entropy(logits, ops.zeros(q.shape[0], ms.int32))
        return loss, k


class MoCoStep(nn.Cell):
    def __init__(self, network, optimizer):
        super().__init__(auto_prefix=False)
        self.network, self.optimizer = network, optimizer
        self.gradient = ms.value_and_grad(network, None, optimizer.parameters, has_aux=True)

    def construct(self, a, b):
        self.network.follow()
        (loss, keys), grads = self.gradient(a, b)
        loss = ops.depend(loss, self.optimizer(grads))
        self.network.enqueue(keys)
        return loss


def pictures(cfg, seed):
    """Images of one colour per class, with noise."""
    rng = np.random.RandomState(seed)
    for k in range(cfg.samples):
        image = rng.randint(0, 120, (cfg.size, cfg.size, 3)).astype(np.uint8)
        image[2:8, 2:8, k % cfg.classes] += np.uint8(130)
        yield image, np.int32(k % cfg.classes)


def normalized():
    return [vision.Rescale(1 / 255.0, 0.0), vision.Normalize([0.4] * 3, [0.25] * 3), vision.HWC2CHW()]


def make_pairs(cfg, seed):
    data = ds.GeneratorDataset(lambda: pictures(cfg, seed), ["image", "label"], shuffle=False)
    data = data.map(TwoViews(["flip", "shift", "brightness"], seed), "image", ["a", "b"], num_parallel_workers=1)
    for column in ("a", "b"):
        data = data.map(transforms.Compose(normalized()), column)
    return data.project(["a", "b"]).batch(cfg.batch, drop_remainder=True)


def make_labelled(cfg, seed):
    data = ds.GeneratorDataset(lambda: pictures(cfg, seed), ["image", "label"], shuffle=False)
    return data.map(normalized(), "image").map(transforms.TypeCast(ms.int32), "label").batch(cfg.batch)


class Probe(nn.Cell):
    def __init__(self, encoder, features, classes):
        super().__init__()
        self.encoder, self.classifier = encoder, nn.Dense(features, classes)

    def construct(self, x):
        return self.classifier(self.encoder(x))


def load_encoder(path, encoder):
    """The query encoder's parameters out of the checkpoint of the whole."""
    values = {name[len("query."):]: value for name, value in ms.load_checkpoint(path).items()
              if name.startswith("query.")}
    for name, value in values.items():
        value.name = name
    missing, _ = ms.load_param_into_net(encoder, values)
    for p in encoder.get_parameters():
        p.requires_grad = False
    return len(values), missing


def probe(encoder, cfg, epochs, lr):
    network = Probe(encoder, cfg.encoder.features, cfg.data.classes)
    fill(network.classifier, 3)
    network.encoder.set_train(False)
    loss, optimizer = nn.CrossEntropyLoss(), nn.SGD(network.trainable_params(), 1.0, momentum=0.9)
    step = nn.TrainOneStepCell(nn.WithLossCell(network, loss), optimizer)
    losses = []
    for _ in range(epochs):
        for image, label in make_labelled(cfg.data, 2).create_tuple_iterator():
            losses.append(float(step(image, label).asnumpy()))
    return network, losses


def main(argv=None):
    args = arguments().parse_args(argv)
    start(args)
    cfg = load_config(CONFIG, args.set)
    moco = MoCo(cfg.encoder, **cfg.moco)
    step = MoCoStep(moco, nn.Momentum(moco.trainable_params(), cfg.train.lr, 0.9, 1e-4)).set_train()
    for epoch in range(cfg.train.epochs):
        losses = [step(a, b) for a, b in make_pairs(cfg.data, 1).create_tuple_iterator()]
        print(f"epoch {epoch + 1}:", " ".join(f"{float(v.asnumpy()):.4f}" for v in losses), int(moco.at.asnumpy()))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "moco.ckpt")
        ms.save_checkpoint(moco, path)
        encoder = ENCODERS.build(cfg.encoder)
        print("loaded:", *load_encoder(path, encoder))
        network, losses = probe(encoder, cfg, cfg.train.probe_epochs, cfg.train.lr)
        print("probe:", " ".join(f"{v:.4f}" for v in losses))
        network.set_train(False)
        image, label = next(make_labelled(cfg.data, 4).create_tuple_iterator())
        logits = network(image)
        print("right:", int((logits.argmax(1) == label).sum()), "of", len(label))
        file = os.path.join(folder, "probe.mindir")
        ms.export(network, image, file_name=file, file_format="MINDIR")
        again = nn.GraphCell(ms.load(file))
        print("from the file:", np.allclose(again(image).asnumpy(), logits.asnumpy(), rtol=1e-4, atol=1e-5))


if __name__ == "__main__":
    main(sys.argv[1:])
