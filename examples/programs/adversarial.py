"""A Wasserstein GAN with a penalty on steepness: two networks, two optimizers, training cells of classes, initializers.

    python -m pijit --as mindspore examples/programs/adversarial.py [--mode graph]"""

import os
import sys
import tempfile

import numpy as np

from toolkit import Registry, arguments, fill, load_config, start

import mindspore as ms
import mindspore.dataset as ds
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import Initializer, initializer

CONFIG = """
data:
  size: 8
  samples: 32
  batch: 8
generator:
  type: Upsampling
  latent: 6
  width: 8
critic:
  type: Strided
  width: 8
train:
  epochs: 3
  lr: 0.002
  penalty: 10.0
  critic_steps: 2
"""

GENERATORS, CRITICS = Registry("generator"), Registry("critic")


class Scaled(Initializer):
    """Normal values by the size of the input: an initializer of one's own."""

    def __init__(self, gain=1.0):
        super().__init__(gain=gain)
        self.gain = gain

    def _initialize(self, arr):
        fan = int(np.prod(arr.shape[1:])) or 1
        arr[:] = np.random.RandomState(fan).randn(*arr.shape) * self.gain / np.sqrt(fan)


class Constants(Initializer):
    def _initialize(self, arr):
        arr[:] = np.cos(np.arange(arr.size)).reshape(arr.shape) * 0.2


@GENERATORS.register()
class Upsampling(nn.Cell):
    def __init__(self, latent, width, size):
        super().__init__()
        self.begin, self.width = size // 4, width
        self.first = nn.Dense(latent, 2 * width * self.begin ** 2)
        self.layers = nn.SequentialCell([
            nn.BatchNorm2d(2 * width), nn.ReLU(), nn.Conv2dTranspose(2 * width, width, 4, 2, "pad", 1, has_bias=False),
            nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2dTranspose(width, 1, 4, 2, "pad", 1, has_bias=True)])

    def construct(self, z):
        x = self.first(z).view(z.shape[0], 2 * self.width, self.begin, self.begin)
        return ops.tanh(self.layers(x))


@CRITICS.register()
class Strided(nn.Cell):
    def __init__(self, width, size):
        super().__init__()
        self.layers = nn.CellList()
        channels = 1
        for k in range(2):
            self.layers.append(nn.Conv2d(channels, width << k, 4, 2, "pad", 1, has_bias=True))
            channels = width << k
        self.out = Parameter(initializer("zeros", (channels * (size // 4) ** 2, 1)), name="out.weight")

    def construct(self, x):
        for layer in self.layers:
            x = ops.leaky_relu(layer(x), 0.2)
        return ops.matmul(x.flatten(start_dim=1), self.out).squeeze(-1)


class CriticLoss(nn.Cell):
    def __init__(self, generator, critic, penalty):
        super().__init__(auto_prefix=False)
        self.generator, self.critic, self.penalty = generator, critic, penalty

    def construct(self, real, z, share):
        fake = ops.stop_gradient(self.generator(z))
        between, off = share * real + (1 - share) * fake, (1 - share) * real + share * fake
        found, there, fakes = ops.split(self.critic(ops.cat((between, off, fake))), real.shape[0])
        distance = ops.sqrt(((between - off) ** 2).sum((1, 2, 3)) + 1e-6)
        steepness = ops.abs(found - there) / distance
        return fakes.mean() - self.critic(real).mean() + self.penalty * (ops.relu(steepness - 0.1) ** 2).mean()


class GeneratorLoss(nn.Cell):
    def __init__(self, generator, critic):
        super().__init__(auto_prefix=False)
        self.generator, self.critic = generator, critic

    def construct(self, z):
        return -self.critic(self.generator(z)).mean()


class Alternating(nn.Cell):
    """So many steps of the critic for one of the generator."""

    def __init__(self, generator, critic, cfg):
        super().__init__(auto_prefix=False)
        self.critic_loss = CriticLoss(generator, critic, cfg.penalty)
        self.generator_loss = GeneratorLoss(generator, critic)
        self.optimizer_g = nn.Adam(generator.trainable_params(), cfg.lr, beta1=0.5, beta2=0.9)
        self.optimizer_d = nn.Adam(critic.trainable_params(), cfg.lr, beta1=0.5, beta2=0.9)
        self.optimizer_g.update_parameters_name("opt_g.")
        self.optimizer_d.update_parameters_name("opt_d.")
        self.grad_g = ms.value_and_grad(self.generator_loss, None, self.optimizer_g.parameters)
        self.grad_d = ms.value_and_grad(self.critic_loss, None, self.optimizer_d.parameters)

    def critic_step(self, real, z, share):
        loss, grads = self.grad_d(real, z, share)
        return ops.depend(loss, self.optimizer_d(grads))

    def construct(self, real, z, share):
        loss, grads = self.grad_g(z)
        loss = ops.depend(loss, self.optimizer_g(grads))
        return loss, self.critic_step(real, z, share)


def stripes(cfg, seed=0):
    rng = np.random.RandomState(seed)
    line = np.linspace(-1, 1, cfg.size)
    for _ in range(cfg.samples):
        angle, phase = rng.uniform(0, np.pi), rng.uniform(0, 6)
        yield (np.sin(4 * (np.cos(angle) * line + np.sin(angle) * line[:, None]) + phase)[None].astype(np.float32),)


def save_and_read(generator, folder):
    """Parameters by name, as scripts that convert checkpoints do."""
    path = os.path.join(folder, "generator.ckpt")
    ms.save_checkpoint(generator, path)
    values = ms.load_checkpoint(path)
    renamed = {"net." + name: value for name, value in values.items()}
    again = {name[4:]: value for name, value in renamed.items() if name.startswith("net.")}
    for name, value in again.items():
        value.name = name
    missing, extra = ms.load_param_into_net(generator, again)
    return len(values), missing, extra


def main(argv=None):
    args = arguments().parse_args(argv)
    start(args)
    cfg = load_config(CONFIG, args.set)
    generator = fill(GENERATORS.build(cfg.generator, size=cfg.data.size), 1)
    critic = fill(CRITICS.build(cfg.critic, size=cfg.data.size), 2)
    generator.first.weight.set_data(initializer(Scaled(1.2), generator.first.weight.shape, ms.float32).init_data())
    critic.out.set_data(initializer(Constants(), critic.out.shape, ms.float32).init_data())
    step = Alternating(generator, critic, cfg.train).set_train()
    data = ds.GeneratorDataset(lambda: stripes(cfg.data), ["image"], shuffle=False).batch(cfg.data.batch)
    rng = np.random.RandomState(3)

    def noise():
        return (Tensor(rng.randn(cfg.data.batch, cfg.generator.latent).astype(np.float32)),
                Tensor(rng.rand(cfg.data.batch, 1, 1, 1).astype(np.float32)))
    for epoch in range(cfg.train.epochs):
        lines = []
        for (real,) in data.create_tuple_iterator():
            for _ in range(cfg.train.critic_steps - 1):
                step.critic_step(real, *noise())
            loss_g, loss_d = step(real, *noise())
            lines.append(f"{float(loss_g.asnumpy()):.4f}/{float(loss_d.asnumpy()):.4f}")
        print(f"epoch {epoch + 1}:", " ".join(lines))
    with tempfile.TemporaryDirectory() as folder:
        print("saved:", *save_and_read(generator, folder))
    generator.set_train(False)
    z = Tensor(np.random.RandomState(9).randn(2, cfg.generator.latent).astype(np.float32))
    image = generator(z).asnumpy()
    print("image:", " ".join(f"{v:.3f}" for v in image[0, 0].mean(0)), f"{np.abs(image).max():.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])
