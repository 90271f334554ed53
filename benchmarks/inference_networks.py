"""Networks that `inference.py` times, written once for all: `networks(L)` takes a namespace of layers and functions.

`L` has a base class `Module` whose instances are called, `parameter(shape, fan_in)`, `constant(array)`, layers (`Conv`,
`Norm`, `LayerNorm`, `Dense`, `MaxPool`) and functions of values in the layout [N, C, H, W]."""

import numpy as np


def networks(L):
    """A dict of constructors by the network's name."""

    class Sequence(L.Module):
        def __init__(self, *parts):
            super().__init__()
            self.parts = L.Parts(parts)

        def forward(self, x):
            for part in self.parts:
                x = part(x)
            return x

    class ConvNorm(L.Module):
        def __init__(self, i, o, k=1, s=1, g=1, act=None):
            super().__init__()
            self.conv, self.norm, self.act = L.Conv(i, o, k, s, k // 2, g, False), L.Norm(o), act

        def forward(self, x):
            x = self.norm(self.conv(x))
            return x if self.act is None else self.act(x)

    class Head(L.Module):
        def __init__(self, body, c):
            super().__init__()
            self.body, self.fc = body, L.Dense(c, 1000)

        def forward(self, x):
            return self.fc(L.flat(L.mean(self.body(x))))

    class Residual(L.Module):
        def __init__(self, body, side, act=None):
            super().__init__()
            self.body, self.side, self.act = body, side, act

        def forward(self, x):
            y = self.body(x) + (x if self.side is None else self.side(x))
            return y if self.act is None else self.act(y)

    def side(i, o, s):
        return ConvNorm(i, o, 1, s) if s > 1 or i != o else None

    def stem():
        return [ConvNorm(3, 64, 7, 2, act=L.relu), L.MaxPool(3, 2, 1)]

    def resnet18():
        parts, i = stem(), 64
        for o, s in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
            body = Sequence(ConvNorm(i, o, 3, s, act=L.relu), ConvNorm(o, o, 3))
            parts.append(Residual(body, side(i, o, s), L.relu))
            i = o
        return Head(Sequence(*parts), 512)

    def bottlenecks(parts, stages, i, groups, first_stride):
        for n, (m, o, count) in enumerate(stages):
            for k in range(count):
                s = 2 if k == 0 and (n > 0 or first_stride > 1) else 1
                g = groups(m)
                body = Sequence(ConvNorm(i, m, act=L.relu), ConvNorm(m, m, 3, s, g, L.relu), ConvNorm(m, o))
                parts.append(Residual(body, side(i, o, s), L.relu))
                i = o
        return i

    def resnet50():
        parts = stem()
        c = bottlenecks(parts, ((64, 256, 3), (128, 512, 4), (256, 1024, 6), (512, 2048, 3)), 64, lambda m: 1, 1)
        return Head(Sequence(*parts), c)

    def regnet_x_400mf():
        parts = [ConvNorm(3, 32, 3, 2, act=L.relu)]
        stages = ((32, 32, 1), (64, 64, 2), (160, 160, 7), (400, 400, 12))
        c = bottlenecks(parts, stages, 32, lambda m: m // 16, 2)
        return Head(Sequence(*parts), c)

    class Squeeze(L.Module):
        def __init__(self, c, m, act, gate):
            super().__init__()
            self.down, self.up = L.Conv(c, m, 1, 1, 0, 1, True), L.Conv(m, c, 1, 1, 0, 1, True)
            self.act, self.gate = act, gate

        def forward(self, x):
            return x * self.gate(self.up(self.act(self.down(L.mean(x)))))

    def inverted(i, m, o, k, s, act, squeeze=None):
        parts = [ConvNorm(i, m, act=act)] if m != i else []
        parts.append(ConvNorm(m, m, k, s, m, act))
        if squeeze:
            parts.append(squeeze)
        parts.append(ConvNorm(m, o))
        return Residual(Sequence(*parts), None) if s == 1 and i == o else Sequence(*parts)

    def by_stages(i, stages, act, squeeze=None):
        parts = []
        for e, o, n, s, k in stages:
            for j in range(n):
                more = squeeze(e * i, i) if squeeze else None
                parts.append(inverted(i, e * i, o, k, s if j == 0 else 1, act, more))
                i = o
        return parts

    def mobilenet_v2():
        stages = ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 32, 3, 2, 3), (6, 64, 4, 2, 3), (6, 96, 3, 1, 3),
                  (6, 160, 3, 2, 3), (6, 320, 1, 1, 3))
        return Head(Sequence(ConvNorm(3, 32, 3, 2, act=L.relu6), *by_stages(32, stages, L.relu6),
                             ConvNorm(320, 1280, act=L.relu6)), 1280)

    def mnasnet():
        stages = ((3, 24, 3, 2, 3), (3, 40, 3, 2, 5), (6, 80, 3, 2, 5), (6, 96, 2, 1, 3), (6, 192, 4, 2, 5),
                  (6, 320, 1, 1, 3))
        return Head(Sequence(ConvNorm(3, 32, 3, 2, act=L.relu), ConvNorm(32, 32, 3, 1, 32, L.relu),
                             ConvNorm(32, 16), *by_stages(16, stages, L.relu), ConvNorm(320, 1280, act=L.relu)), 1280)

    def efficientnet_b0():
        stages = ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5),
                  (6, 192, 4, 2, 5), (6, 320, 1, 1, 3))
        parts = by_stages(32, stages, L.silu, lambda m, i: Squeeze(m, max(1, i // 4), L.silu, L.sigmoid))
        return Head(Sequence(ConvNorm(3, 32, 3, 2, act=L.silu), *parts, ConvNorm(320, 1280, act=L.silu)), 1280)

    def mobilenet_v3_large():
        parts, i = [ConvNorm(3, 16, 3, 2, act=L.hard_swish)], 16
        for k, m, o, se, act, s in (
                (3, 16, 16, 0, L.relu, 1), (3, 64, 24, 0, L.relu, 2), (3, 72, 24, 0, L.relu, 1),
                (5, 72, 40, 1, L.relu, 2), (5, 120, 40, 1, L.relu, 1), (5, 120, 40, 1, L.relu, 1),
                (3, 240, 80, 0, L.hard_swish, 2), (3, 200, 80, 0, L.hard_swish, 1), (3, 184, 80, 0, L.hard_swish, 1),
                (3, 184, 80, 0, L.hard_swish, 1), (3, 480, 112, 1, L.hard_swish, 1), (3, 672, 112, 1, L.hard_swish, 1),
                (5, 672, 160, 1, L.hard_swish, 2), (5, 960, 160, 1, L.hard_swish, 1),
                (5, 960, 160, 1, L.hard_swish, 1)):
            squeeze = Squeeze(m, (m // 4 + 4) // 8 * 8, L.relu, L.hard_sigmoid) if se else None
            parts.append(inverted(i, m, o, k, s, act, squeeze))
            i = o
        return Head(Sequence(*parts, ConvNorm(160, 960, act=L.hard_swish)), 960)

    class Shuffle(L.Module):
        def __init__(self, i, o, s):
            super().__init__()
            m = o // 2
            self.stride = s
            self.main = Sequence(ConvNorm(i if s > 1 else m, m, act=L.relu), ConvNorm(m, m, 3, s, m),
                                 ConvNorm(m, m, act=L.relu))
            self.side = Sequence(ConvNorm(i, i, 3, s, i), ConvNorm(i, m, act=L.relu)) if s > 1 else None

        def forward(self, x):
            if self.stride > 1:
                a, b = self.side(x), self.main(x)
            else:
                a, b = L.halves(x)
                b = self.main(b)
            y = L.concat((a, b), 1)
            n, c, h, w = y.shape
            y = L.transpose(L.reshape(y, (n, 2, c // 2, h, w)), (0, 2, 1, 3, 4))
            return L.reshape(y, (n, c, h, w))

    def shufflenet_v2():
        parts, i = [ConvNorm(3, 24, 3, 2, act=L.relu), L.MaxPool(3, 2, 1)], 24
        for o, n in ((116, 4), (232, 8), (464, 4)):
            for k in range(n):
                parts.append(Shuffle(i, o, 2 if k == 0 else 1))
                i = o
        return Head(Sequence(*parts, ConvNorm(464, 1024, act=L.relu)), 1024)

    class Conv(L.Module):
        def __init__(self, i, o, k, s=1, p=0):
            super().__init__()
            self.conv = L.Conv(i, o, k, s, p, 1, True)

        def forward(self, x):
            return L.relu(self.conv(x))

    class Fire(L.Module):
        def __init__(self, i, m, o):
            super().__init__()
            self.squeeze, self.small, self.large = Conv(i, m, 1), Conv(m, o, 1), Conv(m, o, 3, 1, 1)

        def forward(self, x):
            x = self.squeeze(x)
            return L.concat((self.small(x), self.large(x)), 1)

    class Mean(L.Module):
        def forward(self, x):
            return L.flat(L.mean(x))

    def squeezenet():
        return Sequence(
            Conv(3, 64, 3, 2), L.MaxPool(3, 2, 0), Fire(64, 16, 64), Fire(128, 16, 64), L.MaxPool(3, 2, 0),
            Fire(128, 32, 128), Fire(256, 32, 128), L.MaxPool(3, 2, 0), Fire(256, 48, 192), Fire(384, 48, 192),
            Fire(384, 64, 256), Fire(512, 64, 256), Conv(512, 1000, 1), Mean())

    class DenseLayer(L.Module):
        def __init__(self, i, growth):
            super().__init__()
            self.a, self.b = L.Norm(i), L.Norm(4 * growth)
            self.one = L.Conv(i, 4 * growth, 1, 1, 0, 1, False)
            self.two = L.Conv(4 * growth, growth, 3, 1, 1, 1, False)

        def forward(self, x):
            return L.concat((x, self.two(L.relu(self.b(self.one(L.relu(self.a(x))))))), 1)

    class Transition(L.Module):
        def __init__(self, i, o):
            super().__init__()
            self.norm, self.conv = L.Norm(i), L.Conv(i, o, 1, 1, 0, 1, False)

        def forward(self, x):
            return L.avg_pool(self.conv(L.relu(self.norm(x))), 2)

    class NormRelu(L.Module):
        def __init__(self, c):
            super().__init__()
            self.norm = L.Norm(c)

        def forward(self, x):
            return L.relu(self.norm(x))

    def densenet121():
        parts, c = stem(), 64
        for k, n in enumerate((6, 12, 24, 16)):
            for _ in range(n):
                parts.append(DenseLayer(c, 32))
                c += 32
            if k < 3:
                parts.append(Transition(c, c // 2))
                c //= 2
        return Head(Sequence(*parts, NormRelu(c)), c)

    class Inception(L.Module):
        def __init__(self, i, one, three, five, pool):
            super().__init__()
            self.one, self.pool = ConvNorm(i, one, act=L.relu), L.MaxPool(3, 1, 1)
            self.three = Sequence(ConvNorm(i, three[0], act=L.relu), ConvNorm(*three, 3, act=L.relu))
            self.five = Sequence(ConvNorm(i, five[0], act=L.relu), ConvNorm(*five, 3, act=L.relu))
            self.project = ConvNorm(i, pool, act=L.relu)

        def forward(self, x):
            return L.concat((self.one(x), self.three(x), self.five(x), self.project(self.pool(x))), 1)

    def googlenet():
        parts, i = [*stem(), ConvNorm(64, 64, act=L.relu), ConvNorm(64, 192, 3, act=L.relu), L.MaxPool(3, 2, 1)], 192
        for row in ((64, (96, 128), (16, 32), 32), (128, (128, 192), (32, 96), 64), None,
                    (192, (96, 208), (16, 48), 64), (160, (112, 224), (24, 64), 64), (128, (128, 256), (24, 64), 64),
                    (112, (144, 288), (32, 64), 64), (256, (160, 320), (32, 128), 128), None,
                    (256, (160, 320), (32, 128), 128), (384, (192, 384), (48, 128), 128)):
            if row is None:
                parts.append(L.MaxPool(3, 2, 1))
                continue
            parts.append(Inception(i, *row))
            i = row[0] + row[1][1] + row[2][1] + row[3]
        return Head(Sequence(*parts), i)

    class Classifier(L.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = L.Dense(25088, 4096), L.Dense(4096, 4096), L.Dense(4096, 1000)

        def forward(self, x):
            return self.c(L.relu(self.b(L.relu(self.a(L.flat(x))))))

    def vgg11():
        parts, i = [], 3
        for o in (64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0):
            parts.append(Conv(i, o, 3, 1, 1) if o else L.MaxPool(2, 2, 0))
            i = o or i
        return Sequence(*parts, Classifier())

    class Block(L.Module):
        def __init__(self, d, heads):
            super().__init__()
            self.first, self.second = L.LayerNorm(d), L.LayerNorm(d)
            self.qkv, self.out = L.Dense(d, 3 * d), L.Dense(d, d)
            self.up, self.down, self.heads = L.Dense(d, 4 * d), L.Dense(4 * d, d), heads

        def forward(self, x):
            n, t, d = x.shape
            y = L.reshape(self.qkv(self.first(x)), (n, t, 3, self.heads, d // self.heads))
            q, k, v = L.three(L.transpose(y, (2, 0, 3, 1, 4)))
            s = L.softmax(L.matmul(q, L.transpose(k, (0, 1, 3, 2))) * (d // self.heads) ** -0.5)
            y = L.reshape(L.transpose(L.matmul(s, v), (0, 2, 1, 3)), (n, t, d))
            x = x + self.out(y)
            return x + self.down(L.gelu(self.up(self.second(x))))

    class Patches(L.Module):
        def __init__(self, d, size):
            super().__init__()
            self.conv = L.Conv(3, d, size, size, 0, 1, True)
            self.start = L.parameter((1, 1, d), d)
            self.places = L.parameter((1, (224 // size) ** 2 + 1, d), d)

        def forward(self, x):
            y = self.conv(x)
            n, d, h, w = y.shape
            y = L.transpose(L.reshape(y, (n, d, h * w)), (0, 2, 1))
            return L.concat((L.expand(self.start, (n, 1, d)), y), 1) + self.places

    class FirstOf(L.Module):
        def __init__(self, d):
            super().__init__()
            self.norm, self.fc = L.LayerNorm(d), L.Dense(d, 1000)

        def forward(self, x):
            return self.fc(L.first(self.norm(x)))

    def vit_b32():
        return Sequence(Patches(768, 32), *(Block(768, 12) for _ in range(12)), FirstOf(768))

    class LastNorm(L.Module):
        def __init__(self, c):
            super().__init__()
            self.norm = L.LayerNorm(c)

        def forward(self, x):
            return L.transpose(self.norm(L.transpose(x, (0, 2, 3, 1))), (0, 3, 1, 2))

    class NextBlock(L.Module):
        def __init__(self, c):
            super().__init__()
            self.depth, self.norm = L.Conv(c, c, 7, 1, 3, c, True), L.LayerNorm(c)
            self.up, self.down, self.scale = L.Dense(c, 4 * c), L.Dense(4 * c, c), L.parameter((c,), c)

        def forward(self, x):
            y = self.norm(L.transpose(self.depth(x), (0, 2, 3, 1)))
            y = self.down(L.gelu(self.up(y))) * self.scale
            return x + L.transpose(y, (0, 3, 1, 2))

    def convnext_tiny():
        parts = [L.Conv(3, 96, 4, 4, 0, 1, True), LastNorm(96)]
        for k, (c, n) in enumerate(((96, 3), (192, 3), (384, 9), (768, 3))):
            if k:
                parts += [LastNorm(c // 2), L.Conv(c // 2, c, 2, 2, 0, 1, True)]
            parts += [NextBlock(c) for _ in range(n)]
        return Head(Sequence(*parts), 768)

    class Windows(L.Module):
        """Attention within windows of 7 x 7 of maps [N, H, W, C], which begin `shift` places later."""

        def __init__(self, c, heads, size, shift):
            super().__init__()
            k = self.k = 7
            self.heads, self.shift = heads, shift
            self.qkv, self.out = L.Dense(c, 3 * c), L.Dense(c, c)
            self.table = L.parameter(((2 * k - 1) ** 2, heads), heads)
            at = np.stack(np.meshgrid(np.arange(k), np.arange(k), indexing="ij")).reshape(2, -1)
            apart = at[:, :, None] - at[:, None, :] + k - 1
            self.index = L.constant((apart[0] * (2 * k - 1) + apart[1]).reshape(-1))
            if shift:  # places of several parts of the map meet in the last windows
                part = np.searchsorted([size - k, size - shift], np.arange(size), side="right")
                parts = (3 * part[:, None] + part).reshape(size // k, k, size // k, k).transpose(0, 2, 1, 3)
                parts = parts.reshape(-1, 1, k * k)
                other = parts[:, :, :, None] != parts[:, :, None, :]
                self.mask = L.constant(np.where(other, np.float32(-100), np.float32(0)))

        def forward(self, x):
            (n, h, w, c), k, heads = x.shape, self.k, self.heads
            if self.shift:
                x = L.roll(x, -self.shift)
            y = L.transpose(L.reshape(x, (n, h // k, k, w // k, k, c)), (0, 1, 3, 2, 4, 5))
            windows = h // k * (w // k)
            y = L.reshape(self.qkv(L.reshape(y, (n * windows, k * k, c))), (n * windows, k * k, 3, heads, c // heads))
            q, key, v = L.three(L.transpose(y, (2, 0, 3, 1, 4)))
            bias = L.transpose(L.reshape(L.rows(self.table, self.index), (k * k, k * k, heads)), (2, 0, 1))
            s = L.matmul(q * (c // heads) ** -0.5, L.transpose(key, (0, 1, 3, 2))) + bias
            if self.shift:
                s = L.reshape(s, (n, windows, heads, k * k, k * k)) + self.mask
                s = L.reshape(s, (n * windows, heads, k * k, k * k))
            y = L.reshape(L.transpose(L.matmul(L.softmax(s), v), (0, 2, 1, 3)), (n * windows, k * k, c))
            y = L.reshape(self.out(y), (n, h // k, w // k, k, k, c))
            y = L.reshape(L.transpose(y, (0, 1, 3, 2, 4, 5)), (n, h, w, c))
            return L.roll(y, self.shift) if self.shift else y

    class SwinBlock(L.Module):
        def __init__(self, c, heads, size, shift):
            super().__init__()
            self.first, self.second, self.windows = L.LayerNorm(c), L.LayerNorm(c), Windows(c, heads, size, shift)
            self.up, self.down = L.Dense(c, 4 * c), L.Dense(4 * c, c)

        def forward(self, x):
            x = x + self.windows(self.first(x))
            return x + self.down(L.gelu(self.up(self.second(x))))

    class Merge(L.Module):
        """Four neighbours become one place."""

        def __init__(self, c):
            super().__init__()
            self.norm, self.fc = L.LayerNorm(4 * c), L.Dense(4 * c, 2 * c)

        def forward(self, x):
            n, h, w, c = x.shape
            y = L.transpose(L.reshape(x, (n, h // 2, 2, w // 2, 2, c)), (0, 1, 3, 4, 2, 5))
            return self.fc(self.norm(L.reshape(y, (n, h // 2, w // 2, 4 * c))))

    class Places(L.Module):
        def __init__(self, c, size):
            super().__init__()
            self.conv, self.norm = L.Conv(3, c, size, size, 0, 1, True), L.LayerNorm(c)

        def forward(self, x):
            return self.norm(L.transpose(self.conv(x), (0, 2, 3, 1)))

    class NormFirst(L.Module):
        def __init__(self, c):
            super().__init__()
            self.norm = L.LayerNorm(c)

        def forward(self, x):
            return L.transpose(self.norm(x), (0, 3, 1, 2))

    def swin_tiny():
        parts, c, size = [Places(96, 4)], 96, 56
        for stage, count in enumerate((2, 2, 6, 2)):
            if stage:
                parts.append(Merge(c))
                c, size = 2 * c, size // 2
            parts += [SwinBlock(c, c // 32, size, k % 2 * 3 if size > 7 else 0) for k in range(count)]
        return Head(Sequence(*parts, NormFirst(c)), c)

    return {f.__name__: f for f in (
        resnet18, resnet50, mobilenet_v2, mobilenet_v3_large, efficientnet_b0, shufflenet_v2, regnet_x_400mf, mnasnet,
        densenet121, squeezenet, googlenet, vgg11, vit_b32, swin_tiny, convnext_tiny)}
