"""DCGAN: a generator and a discriminator, each with its optimizer, trained in one step."""

import numpy as np

from training import run

import mindspore as ms
from mindspore import Tensor, nn, ops
from mindspore.common.initializer import Normal


def conv(inputs, outputs, **kwargs):
    return nn.Conv2d(inputs, outputs, 4, 2, "pad", 1, weight_init=Normal(0.02), **kwargs)


class Generator(nn.Cell):
    def __init__(self, latent=8, width=8):
        super().__init__()

        def up(inputs, outputs, *args):
            return nn.Conv2dTranspose(inputs, outputs, 4, *args, weight_init=Normal(0.02))

        self.generator = nn.SequentialCell()
        self.generator.append(up(latent, width * 2, 1, "valid"))
        self.generator.append(nn.BatchNorm2d(width * 2, gamma_init=Normal(0.02, 1.0)))
        self.generator.append(nn.ReLU())
        self.generator.append(up(width * 2, width, 2, "pad", 1))
        self.generator.append(nn.BatchNorm2d(width))
        self.generator.append(nn.ReLU())
        self.generator.append(up(width, 1, 2, "pad", 1))
        self.generator.append(nn.Tanh())

    def construct(self, x):
        return self.generator(x)


class Discriminator(nn.Cell):
    def __init__(self, width=8):
        super().__init__()
        self.discriminator = nn.SequentialCell(
            conv(1, width), nn.LeakyReLU(0.2),
            conv(width, width * 2), nn.BatchNorm2d(width * 2), nn.LeakyReLU(0.2),
            nn.Conv2d(width * 2, 1, 4, 1, "valid"),
        )
        self.adv_layer = nn.Sigmoid()

    def construct(self, x):
        return self.adv_layer(self.discriminator(x)).reshape(x.shape[0], 1)


class GAN(nn.Cell):
    def __init__(self):
        super().__init__()
        self.generator = Generator()
        self.discriminator = Discriminator()

    def construct(self, noise):
        return self.discriminator(self.generator(noise))


def batches(n, batch=4, size=16):
    rng = np.random.default_rng(0)
    x = np.linspace(-1, 1, size)
    for _ in range(n):
        angle = rng.uniform(0, np.pi, (batch, 1, 1, 1))
        image = np.sin(6 * (np.cos(angle) * x + np.sin(angle) * x[:, None]))
        noise = rng.standard_normal((batch, 8, 1, 1))
        yield Tensor(image.astype(np.float32)), Tensor(noise.astype(np.float32))


def build():
    network = GAN()
    adversarial = nn.BCELoss(reduction="mean")
    network.generator.update_parameters_name("generator")
    network.discriminator.update_parameters_name("discriminator")
    optimizers = [nn.Adam(part.trainable_params(), learning_rate=2e-3, beta1=0.5, beta2=0.999)
                  for part in (network.generator, network.discriminator)]
    optimizers[0].update_parameters_name("optim_g")
    optimizers[1].update_parameters_name("optim_d")
    return network, adversarial, optimizers, batches


def make_step(network, adversarial, optimizers):
    generator, discriminator = network.generator, network.discriminator
    optimizer_g, optimizer_d = optimizers

    def generator_forward(noise, valid):
        gen_imgs = generator(noise)
        return adversarial(discriminator(gen_imgs), valid), gen_imgs

    def discriminator_forward(real_imgs, gen_imgs, valid, fake):
        real_loss = adversarial(discriminator(real_imgs), valid)
        fake_loss = adversarial(discriminator(gen_imgs), fake)
        return (real_loss + fake_loss) / 2

    grad_g = ms.value_and_grad(generator_forward, None, optimizer_g.parameters, has_aux=True)
    grad_d = ms.value_and_grad(discriminator_forward, None, optimizer_d.parameters)

    def step(imgs, noise):
        valid = ops.ones((imgs.shape[0], 1), ms.float32)
        fake = ops.zeros((imgs.shape[0], 1), ms.float32)
        (g_loss, gen_imgs), g_grads = grad_g(noise, valid)
        optimizer_g(g_grads)
        d_loss, d_grads = grad_d(imgs, gen_imgs, valid, fake)
        optimizer_d(d_grads)
        return g_loss + d_loss

    return step


def main():
    run(globals())


if __name__ == "__main__":
    main()
