"""Graph networks: a GCN layer by scatter-add and an attention layer by segments, on random graphs of one size."""

import numpy as np

from training import run

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import XavierUniform, initializer


class GCNConv(nn.Cell):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = Parameter(initializer(XavierUniform(), (inputs, outputs)), name="weight")
        self.bias = Parameter(initializer("zeros", (outputs,)), name="bias")

    def construct(self, x, src, dst):
        nodes = x.shape[0]
        degree = ops.zeros((nodes, 1), ms.float32)
        degree = ops.tensor_scatter_add(degree, dst.expand_dims(-1), ops.ones((dst.shape[0], 1), ms.float32))
        norm = ops.pow(ops.clamp(degree, min=1.0), -0.5)
        h = ops.matmul(x, self.weight) * norm
        messages = ops.gather(h, src, 0)
        out = ops.tensor_scatter_add(ops.zeros_like(h), dst.expand_dims(-1), messages)
        return out * norm + self.bias


class GATConv(nn.Cell):
    def __init__(self, inputs, outputs, heads=2):
        super().__init__()
        self.heads, self.outputs = heads, outputs
        self.fc = nn.Dense(inputs, outputs * heads, weight_init=XavierUniform(), has_bias=False)
        self.attn_src = Parameter(initializer(XavierUniform(), (heads, outputs), ms.float32), name="attn_src")
        self.attn_dst = Parameter(initializer(XavierUniform(), (heads, outputs), ms.float32), name="attn_dst")
        self.leaky_relu = nn.LeakyReLU(0.2)

    def construct(self, x, src, dst):
        nodes = x.shape[0]
        h = self.fc(x).reshape(-1, self.heads, self.outputs)
        e = self.leaky_relu((h * self.attn_src).sum(-1)[src] + (h * self.attn_dst).sum(-1)[dst])
        e = ops.exp(e - ops.stop_gradient(e.max()))
        total = ops.unsorted_segment_sum(e, dst, nodes)
        alpha = e / (total[dst] + 1e-9)
        out = ops.unsorted_segment_sum(h[src] * alpha.expand_dims(-1), dst, nodes)
        return out.reshape(nodes, -1)


class GraphNet(nn.Cell):
    def __init__(self, features=6, hidden=8, classes=3):
        super().__init__()
        self.layer0 = GCNConv(features, hidden)
        self.layer1 = GATConv(hidden, hidden)
        self.layer2 = GCNConv(hidden * 2, classes)
        self.drop_out = nn.Dropout(p=0.3)

    def construct(self, x, src, dst):
        x = self.drop_out(ops.relu(self.layer0(x, src, dst)))
        x = ops.elu(self.layer1(x, src, dst))
        return self.layer2(x, src, dst)


def batches(n, nodes=20, edges=60):
    rng = np.random.default_rng(0)
    for _ in range(n):
        label = rng.integers(0, 3, nodes)
        feature = rng.standard_normal((nodes, 6)) * 0.5
        feature[np.arange(nodes), label] += 1
        src, dst = rng.integers(0, nodes, (2, edges))
        mask = rng.random(nodes) < 0.5
        yield (Tensor(feature.astype(np.float32)), Tensor(src.astype(np.int32)), Tensor(dst.astype(np.int32)),
               Tensor(label.astype(np.int32)),
               Tensor(mask.astype(np.float32)))


def build():
    network = GraphNet()
    cross_entropy = nn.SoftmaxCrossEntropyWithLogits(sparse=True)

    def loss(x, src, dst, label, mask):
        each = cross_entropy(network(x, src, dst), label)
        return ops.ReduceSum()(each * mask) / ops.ReduceSum()(mask)

    optimizer = nn.Adam(network.trainable_params(), learning_rate=0.01, weight_decay=5e-4)
    return network, loss, optimizer, batches


def main():
    run(globals())


if __name__ == "__main__":
    main()
