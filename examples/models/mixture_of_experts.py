"""Mixture of experts: a router sends each token to its two best experts of limited capacity; the load is balanced by a
loss."""

import numpy as np

from training import run

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import Normal, initializer


class Router(nn.Cell):
    def __init__(self, dim, experts, k):
        super().__init__()
        self.k = k
        self.experts = experts
        self.gate = nn.Dense(dim, experts, weight_init=Normal(0.1), has_bias=False)
        self.on_value = Tensor(1.0, ms.float32)
        self.off_value = Tensor(0.0, ms.float32)
        self.balance = 0.0

    def construct(self, x):
        probability = ops.softmax(self.gate(x), axis=-1)
        weights, chosen = ops.topk(probability, self.k, dim=-1)
        weights = weights / weights.sum(-1, keepdims=True)
        one_hot = ops.one_hot(chosen[:, 0], self.experts, self.on_value, self.off_value)
        self.balance = (one_hot.mean(0) * probability.mean(0)).sum() * self.experts
        return weights, chosen


class MoE(nn.Cell):
    def __init__(self, dim=16, hidden=24, experts=4, k=2, capacity=10):
        super().__init__()
        self.experts, self.k, self.capacity = experts, k, capacity
        self.router = Router(dim, experts, k)
        self.w1 = Parameter(initializer(Normal(0.2), (experts, dim, hidden)), name="w1")
        self.w2 = Parameter(initializer(Normal(0.2), (experts, hidden, dim)), name="w2")
        self.tokens_dropped = Parameter(Tensor(0, ms.int32), name="tokens_dropped", requires_grad=False)
        self.cumsum = ops.CumSum()

    def construct(self, x):
        tokens, dim = x.shape
        weights, chosen = self.router(x)
        flat = chosen.reshape(-1)
        one_hot = ops.one_hot(flat, self.experts, Tensor(1, ms.int32), Tensor(0, ms.int32))
        place = ((self.cumsum(one_hot, 0) - 1) * one_hot).sum(-1)
        kept = place < self.capacity
        ops.assign_add(self.tokens_dropped, ops.cast(ops.logical_not(kept), ms.int32).sum().astype(ms.int32))
        slot = ops.select(kept, flat.astype(ms.int32) * self.capacity + place.astype(ms.int32),
                          ops.full_like(flat.astype(ms.int32), self.experts * self.capacity))
        inputs = ops.zeros((self.experts * self.capacity + 1, dim), x.dtype)
        inputs = ops.tensor_scatter_update(inputs, slot.expand_dims(-1), ops.repeat_interleave(x, self.k, 0))
        h = ops.bmm(inputs[:-1].reshape(self.experts, self.capacity, dim), self.w1)
        out = ops.bmm(ops.silu(h), self.w2).reshape(-1, dim)
        out = ops.concat((out, ops.zeros((1, dim), x.dtype)))
        out = out[slot].reshape(tokens, self.k, dim)
        return (out * weights.expand_dims(-1)).sum(axis=1)


class Network(nn.Cell):
    def __init__(self, dim=16, classes=4):
        super().__init__()
        self.embed = nn.Dense(4, dim)
        self.moe = MoE(dim)
        self.norm = nn.LayerNorm((dim,))
        self.head = nn.Dense(dim, classes)

    def construct(self, x):
        x = self.embed(x)
        x = x + self.moe(self.norm(x))
        return self.head(x)


def batches(n, tokens=16):
    rng = np.random.default_rng(0)
    for _ in range(n):
        x = rng.standard_normal((tokens, 4))
        label = (x[:, 0] > 0) * 2 + (x[:, 1] * x[:, 2] > 0)
        yield Tensor(x.astype(np.float32)), Tensor(label.astype(np.int32))


def build():
    network = Network()

    def loss(x, label):
        value = ops.cross_entropy(network(x), label)
        return value + 0.01 * network.moe.router.balance

    optimizer = nn.AdamWeightDecay(network.trainable_params(), learning_rate=0.02)
    return network, loss, optimizer, batches


def main():
    run(globals())


if __name__ == "__main__":
    main()
