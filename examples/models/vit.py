"""Vision transformer: patches by a convolution, a class token, learned positions."""

from training import images, run

import mindspore as ms
from mindspore import Parameter, nn, ops
from mindspore.common.initializer import Normal, initializer


class Attention(nn.Cell):
    def __init__(self, dim, heads=4, keep_prob=0.9):
        super().__init__()
        self.heads = heads
        self.head_dim = dim // heads
        self.scale = ms.Tensor(self.head_dim**-0.5)
        self.qkv = nn.Dense(dim, dim * 3)
        self.attn_drop = nn.Dropout(p=1.0 - keep_prob)
        self.out = nn.Dense(dim, dim)
        self.mul = ops.Mul()
        self.reshape = ops.Reshape()
        self.transpose = ops.Transpose()
        self.unstack = ops.Unstack(axis=0)
        self.attn_matmul_v = ops.BatchMatMul()
        self.q_matmul_k = ops.BatchMatMul(transpose_b=True)
        self.softmax = nn.Softmax(axis=-1)

    def construct(self, x):
        b, n, c = x.shape
        qkv = self.reshape(self.qkv(x), (b, n, 3, self.heads, self.head_dim))
        qkv = self.transpose(qkv, (2, 0, 3, 1, 4))
        q, k, v = self.unstack(qkv)
        attn = self.softmax(self.mul(self.q_matmul_k(q, k), self.scale))
        attn = self.attn_drop(attn)
        out = self.transpose(self.attn_matmul_v(attn, v), (0, 2, 1, 3))
        return self.out(self.reshape(out, (b, n, c)))


class FeedForward(nn.Cell):
    def __init__(self, dim, hidden=None, outputs=None, activation=nn.GELU):
        super().__init__()
        outputs = outputs or dim
        hidden = hidden or dim
        self.dense1 = nn.Dense(dim, hidden)
        self.activation = activation()
        self.dense2 = nn.Dense(hidden, outputs)

    def construct(self, x):
        return self.dense2(self.activation(self.dense1(x)))


class ResidualCell(nn.Cell):
    def __init__(self, cell):
        super().__init__()
        self.cell = cell

    def construct(self, x, **kwargs):
        return self.cell(x, **kwargs) + x


class TransformerEncoder(nn.Cell):
    def __init__(self, dim, layers, heads, mlp_dim):
        super().__init__()
        blocks = []
        for _ in range(layers):
            blocks.append(nn.SequentialCell([
                ResidualCell(nn.SequentialCell([nn.LayerNorm((dim,)), Attention(dim, heads)])),
                ResidualCell(nn.SequentialCell([nn.LayerNorm((dim,)), FeedForward(dim, mlp_dim)])),
            ]))
        self.layers = nn.SequentialCell(blocks)

    def construct(self, x):
        return self.layers(x)


class PatchEmbedding(nn.Cell):
    def __init__(self, image_size, patch_size, dim, channels=3):
        super().__init__()
        self.num_patches = (image_size // patch_size) ** 2
        self.conv = nn.Conv2d(channels, dim, kernel_size=patch_size, stride=patch_size, has_bias=True)

    def construct(self, x):
        x = self.conv(x)
        b, c, h, w = x.shape
        return ops.transpose(ops.reshape(x, (b, c, h * w)), (0, 2, 1))


class ViT(nn.Cell):
    def __init__(self, image_size=24, patch_size=6, dim=32, layers=3, heads=4, mlp_dim=64, classes=10):
        super().__init__()
        self.patch_embedding = PatchEmbedding(image_size, patch_size, dim)
        num_patches = self.patch_embedding.num_patches
        self.cls_token = Parameter(initializer(Normal(sigma=1.0), (1, 1, dim), ms.float32), name="cls",
                                   requires_grad=True)
        self.pos_embedding = Parameter(initializer(Normal(0.02), (1, num_patches + 1, dim), ms.float32),
                                       name="pos_embedding")
        self.pos_dropout = nn.Dropout(p=0.1)
        self.norm = nn.LayerNorm((dim,))
        self.transformer = TransformerEncoder(dim, layers, heads, mlp_dim)
        self.dense = nn.Dense(dim, classes)

    def construct(self, x):
        x = self.patch_embedding(x)
        cls_tokens = ops.tile(self.cls_token.astype(x.dtype), (x.shape[0], 1, 1))
        x = ops.concat((cls_tokens, x), axis=1)
        x += self.pos_embedding
        x = self.pos_dropout(x)
        x = self.norm(self.transformer(x))
        return self.dense(x[:, 0])


class CrossEntropySmooth(nn.LossBase):
    def __init__(self, smooth_factor=0.1, classes=10):
        super().__init__()
        self.onehot = ops.OneHot()
        self.on_value = ms.Tensor(1.0 - smooth_factor, ms.float32)
        self.off_value = ms.Tensor(1.0 * smooth_factor / (classes - 1), ms.float32)
        self.ce = nn.SoftmaxCrossEntropyWithLogits()
        self.classes = classes

    def construct(self, logits, label):
        one_hot = self.onehot(label, self.classes, self.on_value, self.off_value)
        return ops.ReduceMean()(self.ce(logits, one_hot), 0)


def build():
    network = ViT()
    loss = nn.WithLossCell(network, CrossEntropySmooth())
    lr = nn.cosine_decay_lr(min_lr=0.0, max_lr=0.002, total_step=20, step_per_epoch=2, decay_epoch=10)

    optimizer = nn.Adam(network.trainable_params(), learning_rate=lr)
    return network, loss, optimizer, images(24, 10)


def make_step(network, loss, optimizer):
    gradient = ms.value_and_grad(loss, None, network.trainable_params())

    def step(image, label):
        value, grads = gradient(image, label)
        grads = ops.clip_by_global_norm(grads, 1.0)
        optimizer(grads)
        return value

    return step


def main():
    run(globals())


if __name__ == "__main__":
    main()
