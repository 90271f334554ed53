"""T5: encoder and decoder with relative position biases in buckets, RMS normalisation, gated GELU."""

import math

import numpy as np

from training import run

import mindspore as ms
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import Normal, initializer


class T5LayerNorm(nn.Cell):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.weight = Parameter(initializer("ones", (dim,), ms.float32), "weight")
        self.variance_epsilon = eps

    def construct(self, x):
        variance = x.astype(ms.float32).pow(2).mean(-1, keep_dims=True)
        return self.weight * (x * ops.rsqrt(variance + self.variance_epsilon))


class T5Attention(nn.Cell):
    def __init__(self, dim, heads, is_decoder, has_bias=False, buckets=8, max_distance=16):
        super().__init__()
        self.heads, self.is_decoder, self.has_bias = heads, is_decoder, has_bias
        self.buckets, self.max_distance = buckets, max_distance
        self.q, self.k, self.v, self.o = [nn.Dense(dim, dim, has_bias=False, weight_init=Normal(0.1)) for _ in range(4)]
        if has_bias:
            self.relative_attention_bias = nn.Embedding(buckets, heads)

    @staticmethod
    def _bucket(relative, bidirectional, buckets, max_distance):
        result = 0
        if bidirectional:
            buckets //= 2
            result += (relative > 0).astype(ms.int64) * buckets
            relative = ops.abs(relative)
        else:
            relative = -ops.minimum(relative, ops.zeros_like(relative))
        exact = buckets // 2
        is_small = relative < exact
        large = ops.log(relative.astype(ms.float32) / exact) / math.log(max_distance / exact) * (buckets - exact)
        large = exact + large.astype(ms.int64)
        large = ops.minimum(large, ops.full_like(large, buckets - 1))
        return result + ops.where(is_small, relative, large)

    def compute_bias(self, queries, keys):
        context = ops.arange(queries)[:, None]
        memory = ops.arange(keys)[None, :]
        bucket = self._bucket(memory - context, not self.is_decoder, self.buckets, self.max_distance)
        return self.relative_attention_bias(bucket).permute(2, 0, 1).unsqueeze(0)

    def construct(self, x, mask=None, memory=None, position_bias=None):
        b, n = x.shape[:2]
        source = x if memory is None else memory
        m = source.shape[1]

        def shape(states):
            return states.view(b, -1, self.heads, states.shape[-1] // self.heads).transpose(0, 2, 1, 3)

        scores = ops.matmul(shape(self.q(x)), shape(self.k(source)).swapaxes(3, 2))
        if position_bias is None:
            if self.has_bias:
                position_bias = self.compute_bias(n, m)
            else:
                position_bias = ops.zeros((1, self.heads, n, m), scores.dtype)
            if mask is not None:
                position_bias = position_bias + mask
        scores += position_bias
        weights = ops.softmax(scores.astype(ms.float32), axis=-1).astype(scores.dtype)
        out = ops.matmul(weights, shape(self.v(source))).transpose(0, 2, 1, 3).reshape(b, n, -1)
        return self.o(out), position_bias


class GatedFeedForward(nn.Cell):
    def __init__(self, dim, hidden):
        super().__init__()
        self.wi_0 = nn.Dense(dim, hidden, has_bias=False)
        self.wi_1 = nn.Dense(dim, hidden, has_bias=False)
        self.wo = nn.Dense(hidden, dim, has_bias=False)

    def construct(self, x):
        return self.wo(ops.gelu(self.wi_0(x)) * self.wi_1(x))


class T5Block(nn.Cell):
    def __init__(self, dim, heads, hidden, is_decoder, has_bias):
        super().__init__()
        self.is_decoder = is_decoder
        self.layer = nn.CellList()
        self.layer.append(T5Attention(dim, heads, is_decoder, has_bias))
        if is_decoder:
            self.layer.append(T5Attention(dim, heads, is_decoder))
        self.layer.append(GatedFeedForward(dim, hidden))
        self.norms = nn.CellList([T5LayerNorm(dim) for _ in self.layer])

    def construct(self, x, mask, position_bias=None, memory=None, memory_mask=None, memory_bias=None):
        out, position_bias = self.layer[0](self.norms[0](x), mask=mask, position_bias=position_bias)
        x = x + out
        if self.is_decoder and memory is not None:
            out, memory_bias = self.layer[1](self.norms[1](x), mask=memory_mask, memory=memory,
                                             position_bias=memory_bias)
            x = x + out
        x = x + self.layer[-1](self.norms[-1](x))
        return (x, position_bias, memory_bias) if self.is_decoder else (x, position_bias)


class T5Stack(nn.Cell):
    def __init__(self, embedding, dim, heads, layers, is_decoder):
        super().__init__()
        self.embed_tokens = embedding
        self.is_decoder = is_decoder
        self.block = nn.CellList([T5Block(dim, heads, dim * 2, is_decoder, has_bias=bool(i == 0))
                                  for i in range(layers)])
        self.final_layer_norm = T5LayerNorm(dim)

    def construct(self, ids, attention_mask, memory=None, memory_mask=None):
        x = self.embed_tokens(ids)
        mask = attention_mask[:, None, None, :]
        if self.is_decoder:
            n = ids.shape[1]
            positions = ops.arange(n)
            causal = positions[None, None, :].tile((1, n, 1)) <= positions[None, :, None]
            mask = causal[:, None].astype(x.dtype) * mask
        mask = (1.0 - mask) * -1e9
        bias = memory_bias = None
        if memory_mask is not None:
            memory_mask = (1.0 - memory_mask[:, None, None, :]) * -1e9
        for i, layer in enumerate(self.block):
            outputs = layer(x, mask, position_bias=bias, memory=memory, memory_mask=memory_mask,
                            memory_bias=memory_bias)
            x, bias = outputs[:2]
            if self.is_decoder:
                memory_bias = outputs[2]
        return self.final_layer_norm(x)


class T5(nn.Cell):
    def __init__(self, vocab=32, dim=32, heads=4, layers=2):
        super().__init__()
        self.dim = dim
        self.shared = nn.Embedding(vocab, dim, embedding_table=Normal(0.5))
        self.encoder = T5Stack(self.shared, dim, heads, layers, False)
        self.decoder = T5Stack(self.shared, dim, heads, layers, True)

    def _shift_right(self, labels):
        shifted = ops.zeros_like(labels)
        shifted[..., 1:] = labels[..., :-1]
        return shifted.masked_fill(shifted == -100, 0)

    def construct(self, ids, mask, labels):
        memory = self.encoder(ids, mask)
        decoder_ids = self._shift_right(labels)
        out = self.decoder(decoder_ids, ops.ones(decoder_ids.shape, ms.float32), memory, mask)
        logits = ops.matmul(out * self.dim**-0.5, self.shared.embedding_table.T)
        return ops.cross_entropy(logits.view(-1, logits.shape[-1]), labels.view(-1).astype(ms.int32), ignore_index=-100)


def batches(n, batch=2, length=12):
    """The target is the source backwards."""
    rng = np.random.default_rng(0)
    for _ in range(n):
        size = rng.integers(6, length + 1, batch)
        mask = np.arange(length) < size[:, None]
        ids = rng.integers(2, 32, (batch, length)) * mask
        labels = np.where(mask, np.stack([np.roll(r[::-1], s) for r, s in zip(ids, size)]), -100)
        yield Tensor(ids.astype(np.int32)), Tensor(mask.astype(np.float32)), Tensor(labels.astype(np.int32))


def build():
    network = T5()
    optimizer = nn.Adam(network.trainable_params(), learning_rate=2e-3)
    return network, network, optimizer, batches


def main():
    run(globals())


if __name__ == "__main__":
    main()
