"""Denoising diffusion: a small U-Net with time embeddings learns the noise; an average of its weights draws samples."""

import math

import numpy as np

from training import run

import mindspore as ms
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops

STEPS = 50


class SinusoidalEmbedding(nn.Cell):
    def __init__(self, dim):
        super().__init__()
        half = dim // 2
        self.frequencies = Tensor(np.exp(np.arange(half) * -(math.log(10000) / (half - 1))), ms.float32)

    def construct(self, t):
        angles = t.astype(ms.float32)[:, None] * self.frequencies[None, :]
        return ops.concat((ops.sin(angles), ops.cos(angles)), axis=-1)


class ResnetBlock(nn.Cell):
    def __init__(self, inputs, outputs, time_dim, groups=4):
        super().__init__()
        self.mlp = nn.SequentialCell(nn.SiLU(), nn.Dense(time_dim, outputs * 2))
        self.proj = nn.Conv2d(inputs, outputs, 3, padding=1, pad_mode="pad", has_bias=True)
        self.norm = nn.GroupNorm(groups, outputs)
        self.act = nn.SiLU()
        self.out = nn.Conv2d(outputs, outputs, 3, padding=1, pad_mode="pad", has_bias=True)
        self.res_conv = nn.Conv2d(inputs, outputs, 1, has_bias=True) if inputs != outputs else nn.Identity()

    def construct(self, x, time):
        time = self.mlp(time).expand_dims(-1).expand_dims(-1)
        scale, shift = time.split(time.shape[1] // 2, axis=1)
        h = self.norm(self.proj(x))
        h = self.act(h * (scale + 1) + shift)
        return self.out(h) + self.res_conv(x)


class LinearAttention(nn.Cell):
    def __init__(self, dim, heads=2, dim_head=8):
        super().__init__()
        self.scale = dim_head**-0.5
        self.heads = heads
        self.to_qkv = nn.Conv2d(dim, dim_head * heads * 3, 1, pad_mode="valid", has_bias=False)
        self.to_out = nn.Conv2d(dim_head * heads, dim, 1, pad_mode="valid", has_bias=True)
        self.map = ops.Map()
        self.partial = ops.Partial()

    def rearrange(self, head, inputs):
        b, hc, x, y = inputs.shape
        return inputs.reshape((b, head, hc // head, x * y))

    def construct(self, x):
        b, _, h, w = x.shape
        qkv = self.to_qkv(x).chunk(3, 1)
        q, k, v = self.map(self.partial(self.rearrange, self.heads), qkv)
        q = ops.softmax(q, -2) * self.scale
        k = ops.softmax(k, -1)
        context = ops.bmm(k, v.swapaxes(2, 3))
        out = ops.bmm(context.swapaxes(2, 3), q)
        return x + self.to_out(out.reshape((b, -1, h, w)))


class Unet(nn.Cell):
    def __init__(self, dim=8, channels=1):
        super().__init__()
        time_dim = dim * 4
        self.time_mlp = nn.SequentialCell(SinusoidalEmbedding(dim), nn.Dense(dim, time_dim), nn.GELU(),
                                          nn.Dense(time_dim, time_dim))
        self.init_conv = nn.Conv2d(channels, dim, 3, padding=1, pad_mode="pad", has_bias=True)
        self.downs = nn.CellList([
            nn.CellList([ResnetBlock(dim, dim, time_dim), nn.Conv2d(dim, dim, 4, 2, "pad", 1)]),
            nn.CellList([ResnetBlock(dim, dim * 2, time_dim), nn.Conv2d(dim * 2, dim * 2, 4, 2, "pad", 1)]),
        ])
        self.mid = ResnetBlock(dim * 2, dim * 2, time_dim)
        self.mid_attn = LinearAttention(dim * 2)
        self.ups = nn.CellList([
            nn.CellList([nn.Conv2dTranspose(dim * 2, dim * 2, 4, 2, "pad", 1), ResnetBlock(dim * 4, dim, time_dim)]),
            nn.CellList([nn.Conv2dTranspose(dim, dim, 4, 2, "pad", 1), ResnetBlock(dim * 2, dim, time_dim)]),
        ])
        self.final = nn.Conv2d(dim, channels, 1, has_bias=True)

    def construct(self, x, t):
        x = self.init_conv(x)
        t = self.time_mlp(t)
        h = []
        for block, downsample in self.downs:
            x = block(x, t)
            h.append(x)
            x = downsample(x)
        x = self.mid_attn(self.mid(x, t))
        left = len(h)
        for upsample, block in self.ups:
            left -= 1
            x = upsample(x)
            x = ops.concat((x, h[left]), 1)
            x = block(x, t)
        return self.final(x)


class GaussianDiffusion(nn.Cell):
    def __init__(self, model, timesteps=STEPS):
        super().__init__()
        self.model = model
        betas = np.linspace(1e-4, 0.1, timesteps)
        alphas = 1.0 - betas
        cumulative = np.cumprod(alphas)
        previous = np.append(1.0, cumulative[:-1])
        self.betas = Tensor(betas, ms.float32)
        self.sqrt_cumulative = Tensor(np.sqrt(cumulative), ms.float32)
        self.sqrt_one_minus = Tensor(np.sqrt(1.0 - cumulative), ms.float32)
        self.sqrt_recip = Tensor(np.sqrt(1.0 / alphas), ms.float32)
        self.posterior_variance = Tensor(betas * (1.0 - previous) / (1.0 - cumulative), ms.float32)

    @staticmethod
    def extract(a, t, ndim):
        return a.gather_elements(-1, t).reshape((t.shape[0],) + (1,) * (ndim - 1))

    def q_sample(self, x_start, t, noise):
        return (self.extract(self.sqrt_cumulative, t, x_start.ndim) * x_start +
                self.extract(self.sqrt_one_minus, t, x_start.ndim) * noise)

    def construct(self, x_start, t, noise):
        predicted = self.model(self.q_sample(x_start, t, noise), t)
        return ops.smooth_l1_loss(predicted, noise, reduction="mean")

    def p_sample(self, x, t, noise):
        """One step back from x at t, an int32 Tensor of the batch."""
        predicted = self.model(x, t)
        mean = self.extract(self.sqrt_recip, t, x.ndim) * (
            x - self.extract(self.betas, t, x.ndim) * predicted / self.extract(self.sqrt_one_minus, t, x.ndim))
        spread = self.extract(self.posterior_variance, t, x.ndim).sqrt() * noise
        return mean + ops.where((t > 0).reshape(-1, 1, 1, 1), spread, ops.zeros_like(spread))


class EMA(nn.Cell):
    def __init__(self, weights, decay=0.9):
        super().__init__(auto_prefix=False)
        self.weights = ParameterTuple(weights)
        self.ema_weights = self.weights.clone(prefix="ema", init="same")
        self.decay = Parameter(Tensor(decay, ms.float32), name="ema_decay", requires_grad=False)
        self.hyper_map = ops.HyperMap()

    def construct(self):
        return self.hyper_map(self.update, self.ema_weights, self.weights)

    def update(self, ema, weight):
        return ops.assign(ema, ema * self.decay + weight * (1 - self.decay))


def batches(n, batch=2, size=16):
    rng = np.random.default_rng(0)
    for _ in range(n):
        image = (np.sign(np.sin(np.arange(size) * rng.uniform(0.3, 1.0, (batch, 1, 1, 1)))) *
                 np.ones((batch, 1, size, size)))
        t = rng.integers(0, STEPS, batch)
        noise = rng.standard_normal(image.shape)
        yield Tensor(image.astype(np.float32)), Tensor(t.astype(np.int32)), Tensor(noise.astype(np.float32))


def build():
    network = GaussianDiffusion(Unet())
    optimizer = nn.Adam(network.trainable_params(), learning_rate=2e-3)
    return network, network, optimizer, batches


def make_step(network, loss, optimizer):
    gradient = ms.value_and_grad(loss, None, optimizer.parameters)
    ema = EMA(network.trainable_params())

    def step(x, t, noise):
        value, grads = gradient(x, t, noise)
        optimizer(grads)
        ema()
        return value

    return step


def main():
    run(globals())


if __name__ == "__main__":
    main()
