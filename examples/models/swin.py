"""Swin transformer: attention in windows, shifted in every second block, with masks and relative position biases."""

import numpy as np

from training import images, run

import mindspore as ms
from mindspore import Parameter, Tensor, nn, numpy, ops
from mindspore.common.initializer import TruncatedNormal, initializer


class WindowPartition(nn.Cell):
    def __init__(self, window_size):
        super().__init__()
        self.window_size = window_size

    def construct(self, x):
        b, h, w, c = x.shape
        x = ops.reshape(x, (b, h // self.window_size, self.window_size, w // self.window_size, self.window_size, c))
        x = ops.transpose(x, (0, 1, 3, 2, 4, 5))
        return ops.reshape(x, (b * h * w // (self.window_size**2), self.window_size, self.window_size, c))


class WindowReverse(nn.Cell):
    def construct(self, windows, window_size, h, w):
        b = windows.shape[0] // (h * w // window_size // window_size)
        x = ops.reshape(windows, (b, h // window_size, w // window_size, window_size, window_size, -1))
        x = ops.transpose(x, (0, 1, 3, 2, 4, 5))
        return ops.reshape(x, (b, h, w, -1))


class RelativeBias(nn.Cell):
    def __init__(self, window_size, num_heads):
        super().__init__()
        self.window_size = window_size
        self.num_heads = num_heads
        ys, xs = np.meshgrid(np.arange(window_size), np.arange(window_size), indexing="ij")
        coords = np.stack([ys.flatten(), xs.flatten()])
        relative = (coords[:, :, None] - coords[:, None, :]).transpose(1, 2, 0) + window_size - 1
        relative[:, :, 0] *= 2 * window_size - 1
        self.relative_position_index = Tensor(relative.sum(-1).reshape(-1), ms.int32)
        self.relative_position_bias_table = Parameter(
            initializer(TruncatedNormal(0.02), ((2 * window_size - 1) ** 2, num_heads), ms.float32),
            name="relative_position_bias_table")

    def construct(self):
        n = self.window_size * self.window_size
        bias = ops.gather(self.relative_position_bias_table, self.relative_position_index, 0)
        bias = ops.reshape(bias, (n, n, -1)).transpose((2, 0, 1))
        return ops.expand_dims(bias, 0)


class WindowAttention(nn.Cell):
    def __init__(self, dim, window_size, num_heads, attn_drop=0.1):
        super().__init__()
        self.num_heads = num_heads
        self.scale = Tensor((dim // num_heads) ** -0.5, ms.float32)
        self.relative_bias = RelativeBias(window_size, num_heads)
        self.q = nn.Dense(dim, dim)
        self.k = nn.Dense(dim, dim)
        self.v = nn.Dense(dim, dim)
        self.attn_drop = nn.Dropout(p=attn_drop)
        self.proj = nn.Dense(dim, dim)
        self.softmax = nn.Softmax(axis=-1)
        self.batch_matmul = ops.BatchMatMul()

    def construct(self, x, mask=None):
        b, n, c = x.shape
        q = ops.reshape(self.q(x), (b, n, self.num_heads, c // self.num_heads)).transpose((0, 2, 1, 3)) * self.scale
        k = ops.reshape(self.k(x), (b, n, self.num_heads, c // self.num_heads)).transpose((0, 2, 3, 1))
        v = ops.reshape(self.v(x), (b, n, self.num_heads, c // self.num_heads)).transpose((0, 2, 1, 3))
        attn = self.batch_matmul(q, k)
        attn = attn + self.relative_bias()
        if mask is not None:
            count = mask.shape[1]
            attn = ops.reshape(attn, (b // count, count, self.num_heads, n, n)) + mask
            attn = ops.reshape(attn, (-1, self.num_heads, n, n))
        attn = self.attn_drop(self.softmax(attn))
        x = self.batch_matmul(attn, v).transpose((0, 2, 1, 3)).reshape((b, n, c))
        return self.proj(x)


class Roll(nn.Cell):
    def __init__(self, shift, axes=(1, 2)):
        super().__init__()
        self.shift = (shift, shift)
        self.axes = axes

    def construct(self, x):
        return numpy.roll(x, self.shift, self.axes)


class SwinBlock(nn.Cell):
    def __init__(self, dim, resolution, num_heads, window_size, shift_size, mlp_ratio=2):
        super().__init__()
        self.resolution = resolution
        self.window_size = window_size
        self.shift_size = shift_size
        self.norm1 = nn.LayerNorm([dim], epsilon=1e-5)
        self.attn = WindowAttention(dim, window_size, num_heads)
        self.norm2 = nn.LayerNorm([dim], epsilon=1e-5)
        self.mlp = nn.SequentialCell(nn.Dense(dim, dim * mlp_ratio), nn.GELU(), nn.Dense(dim * mlp_ratio, dim))
        self.partition = WindowPartition(window_size)
        self.reverse = WindowReverse()
        self.attn_mask = None
        if shift_size > 0:
            self.attn_mask = Parameter(Tensor(self.make_mask(), ms.float32), requires_grad=False, name="attention_mask")
            self.roll_back, self.roll_on = Roll(-shift_size), Roll(shift_size)

    def make_mask(self):
        h = w = self.resolution
        win, shift = self.window_size, self.shift_size
        image = np.zeros((1, h, w, 1))
        count = 0
        for hs in (slice(0, -win), slice(-win, -shift), slice(-shift, None)):
            for ws in (slice(0, -win), slice(-win, -shift), slice(-shift, None)):
                image[:, hs, ws, :] = count
                count += 1
        windows = image.reshape(1, h // win, win, w // win, win, 1).transpose(0, 1, 3, 2, 4, 5).reshape(-1, win * win)
        mask = windows[:, None] - windows[:, :, None]
        return np.where(mask == 0, 0.0, -100.0)[None, :, None]

    def construct(self, x):
        h = w = self.resolution
        b, _, c = x.shape
        shortcut = x
        x = self.norm1(x).reshape((b, h, w, c))
        if self.shift_size > 0:
            x = self.roll_back(x)
        windows = self.partition(x).reshape((-1, self.window_size * self.window_size, c))
        windows = self.attn(windows, mask=self.attn_mask)
        x = self.reverse(windows.reshape((-1, self.window_size, self.window_size, c)), self.window_size, h, w)
        if self.shift_size > 0:
            x = self.roll_on(x)
        x = shortcut + x.reshape((b, h * w, c))
        return x + self.mlp(self.norm2(x))


class PatchMerging(nn.Cell):
    def __init__(self, resolution, dim):
        super().__init__()
        self.resolution = resolution
        self.norm = nn.LayerNorm([dim * 4])
        self.reduction = nn.Dense(4 * dim, 2 * dim, has_bias=False)

    def construct(self, x):
        b, _, c = x.shape
        h = w = self.resolution
        x = x.view(b, h // 2, 2, w // 2, 2, c).transpose(0, 1, 3, 4, 2, 5)
        return self.reduction(self.norm(x.reshape((b, h * w // 4, 4 * c))))


class Swin(nn.Cell):
    def __init__(self, image_size=32, patch=4, dim=16, depths=(2, 2), heads=(2, 4), window=4, classes=10):
        super().__init__()
        self.patch_embed = nn.Conv2d(3, dim, patch, patch, has_bias=True, pad_mode="pad")
        self.layers = nn.CellList()
        resolution = image_size // patch
        for i, depth in enumerate(depths):
            shift = window // 2 if resolution > window else 0
            blocks = [SwinBlock(dim, resolution, heads[i], window, 0 if n % 2 == 0 else shift) for n in range(depth)]
            layer = nn.SequentialCell(blocks)
            if i < len(depths) - 1:
                layer.append(PatchMerging(resolution, dim))
                resolution, dim = resolution // 2, dim * 2
            self.layers.append(layer)
        self.norm = nn.LayerNorm([dim])
        self.head = nn.Dense(dim, classes, weight_init=TruncatedNormal(sigma=0.02), bias_init="zeros")

    def construct(self, x):
        x = self.patch_embed(x)
        b, c = x.shape[:2]
        x = ops.reshape(x, (b, c, -1)).swapaxes(1, 2)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).mean(axis=1))


def build():
    network = Swin()
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)

    def loss(image, label):
        return criterion(network(image), label)

    optimizer = nn.AdamWeightDecay(network.trainable_params(), learning_rate=1e-3, weight_decay=0.05, beta2=0.99)
    return network, loss, optimizer, images(32, 10)


def main():
    run(globals())


if __name__ == "__main__":
    main()
