"""BERT encoder: masked language modelling and next sentence prediction, the output layer shares the word embeddings."""

import copy
from dataclasses import dataclass

import numpy as np

from training import run

import mindspore as ms
import mindspore.common.dtype as mstype
import mindspore.nn as nn
import mindspore.ops as ops
import mindspore.ops.functional as F
from mindspore import Parameter, Tensor
from mindspore.common.initializer import TruncatedNormal, initializer
from mindspore.nn.learning_rate_schedule import LearningRateSchedule
from mindspore.ops import operations as P


@dataclass
class BertConfig:
    seq_length: int = 16
    vocab_size: int = 60
    hidden_size: int = 32
    num_hidden_layers: int = 2
    num_attention_heads: int = 4
    intermediate_size: int = 64
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.1
    attention_probs_dropout_prob: float = 0.1
    max_position_embeddings: int = 32
    type_vocab_size: int = 2
    initializer_range: float = 0.02
    dtype: object = mstype.float32


class EmbeddingLookup(nn.Cell):
    def __init__(self, config):
        super().__init__()
        shape = [config.vocab_size, config.hidden_size]
        self.embedding_table = Parameter(initializer(TruncatedNormal(config.initializer_range), shape),
                                         name="embedding_table")
        self.expand = P.ExpandDims()
        self.gather = P.Gather()
        self.reshape = P.Reshape()
        self.shape = tuple(shape)

    def construct(self, input_ids):
        flat_ids = self.reshape(self.expand(input_ids, -1), (-1,))
        output = self.gather(self.embedding_table, flat_ids, 0)
        return self.reshape(output, input_ids.shape + (self.shape[1],)), self.embedding_table.value()


class EmbeddingPostprocessor(nn.Cell):
    def __init__(self, config):
        super().__init__()
        self.vocab = config.type_vocab_size
        self.token_type_embedding = nn.Embedding(config.type_vocab_size, config.hidden_size, use_one_hot=True)
        self.full_position_embedding = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.position_ids = Tensor(np.arange(config.seq_length).reshape(1, -1).astype(np.int32))
        self.layernorm = nn.LayerNorm((config.hidden_size,))
        self.dropout = nn.Dropout(p=config.hidden_dropout_prob)
        self.add = P.Add()

    def construct(self, token_type_ids, word_embeddings):
        output = self.add(word_embeddings, self.token_type_embedding(token_type_ids))
        output = self.add(output, self.full_position_embedding(self.position_ids))
        return self.dropout(self.layernorm(output))


class BertAttention(nn.Cell):
    def __init__(self, config):
        super().__init__()
        self.heads = config.num_attention_heads
        self.size = config.hidden_size // self.heads
        init = TruncatedNormal(config.initializer_range)
        self.query_layer = nn.Dense(config.hidden_size, config.hidden_size, weight_init=init)
        self.key_layer = nn.Dense(config.hidden_size, config.hidden_size, weight_init=init)
        self.value_layer = nn.Dense(config.hidden_size, config.hidden_size, weight_init=init)
        self.matmul_trans_b = P.BatchMatMul(transpose_b=True)
        self.matmul = P.BatchMatMul()
        self.multiply = P.Mul()
        self.transpose = P.Transpose()
        self.reshape = P.Reshape()
        self.softmax = nn.Softmax()
        self.dropout = nn.Dropout(p=config.attention_probs_dropout_prob)
        self.scores_mul = 1.0 / float(self.size) ** 0.5
        self.multiply_data = -10000.0
        self.cast = P.Cast()
        self.sub = P.Sub()

    def heads_of(self, x, batch, length):
        return self.transpose(self.reshape(x, (batch, length, self.heads, self.size)), (0, 2, 1, 3))

    def construct(self, x, attention_mask):
        batch, length, width = F.shape(x)
        query = self.heads_of(self.query_layer(x), batch, length)
        key = self.heads_of(self.key_layer(x), batch, length)
        value = self.heads_of(self.value_layer(x), batch, length)
        scores = self.multiply(self.matmul_trans_b(query, key), self.scores_mul)
        mask = F.expand_dims(attention_mask, 1)
        adder = self.multiply(self.sub(self.cast(F.tuple_to_array((1.0,)), mstype.float32),
                                       self.cast(mask, scores.dtype)), self.multiply_data)
        probabilities = self.dropout(self.softmax(scores + adder))
        context = self.transpose(self.matmul(probabilities, value), (0, 2, 1, 3))
        return self.reshape(context, (batch, length, width))


class BertOutput(nn.Cell):
    def __init__(self, inputs, outputs, dropout):
        super().__init__()
        self.dense = nn.Dense(inputs, outputs, weight_init=TruncatedNormal(0.02))
        self.dropout = nn.Dropout(p=dropout)
        self.layernorm = nn.LayerNorm((outputs,))

    def construct(self, hidden, residual):
        return self.layernorm(self.dropout(self.dense(hidden)) + residual)


class BertEncoderCell(nn.Cell):
    def __init__(self, config):
        super().__init__()
        self.attention = BertAttention(config)
        self.attention_output = BertOutput(config.hidden_size, config.hidden_size, config.hidden_dropout_prob)
        self.intermediate = nn.Dense(config.hidden_size, config.intermediate_size, activation=config.hidden_act)
        self.output = BertOutput(config.intermediate_size, config.hidden_size, config.hidden_dropout_prob)

    def construct(self, hidden, mask):
        attended = self.attention_output(self.attention(hidden, mask), hidden)
        return self.output(self.intermediate(attended), attended)


class BertModel(nn.Cell):
    def __init__(self, config, is_training=True):
        super().__init__()
        config = copy.deepcopy(config)
        if not is_training:
            config.hidden_dropout_prob = 0.0
            config.attention_probs_dropout_prob = 0.0
        self.last_idx = config.num_hidden_layers - 1
        self.bert_embedding_lookup = EmbeddingLookup(config)
        self.bert_embedding_postprocessor = EmbeddingPostprocessor(config)
        self.layers = nn.CellList([BertEncoderCell(config) for _ in range(config.num_hidden_layers)])
        self.dense = nn.Dense(config.hidden_size, config.hidden_size, activation="tanh").to_float(config.dtype)
        self.slice = P.StridedSlice()
        self.squeeze_1 = P.Squeeze(axis=1)

    def construct(self, input_ids, token_type_ids, input_mask):
        embedding, table = self.bert_embedding_lookup(input_ids)
        hidden = self.bert_embedding_postprocessor(token_type_ids, embedding)
        batch, length = input_mask.shape
        mask = (F.cast(F.reshape(input_mask, (batch, 1, length)), mstype.float32) *
                ops.ones((batch, length, 1), mstype.float32))
        all_layers = []
        for layer in self.layers:
            hidden = layer(hidden, mask)
            all_layers.append(hidden)
        sequence = all_layers[self.last_idx]
        first = self.squeeze_1(self.slice(sequence, (0, 0, 0), (batch, 1, sequence.shape[2]), (1, 1, 1)))
        return sequence, self.dense(first), table


class BertPreTraining(nn.Cell):
    def __init__(self, config):
        super().__init__()
        self.bert = BertModel(config)
        self.transform = nn.Dense(config.hidden_size, config.hidden_size, activation=config.hidden_act)
        self.layernorm = nn.LayerNorm((config.hidden_size,))
        self.output_bias = Parameter(initializer("zeros", config.vocab_size), name="output_bias")
        self.next_sentence = nn.Dense(config.hidden_size, 2, weight_init=TruncatedNormal(config.initializer_range))
        self.matmul = P.MatMul(transpose_b=True)
        self.log_softmax = nn.LogSoftmax(axis=-1)
        self.vocab_size, self.hidden_size = config.vocab_size, config.hidden_size

    def construct(self, input_ids, token_type_ids, input_mask, positions):
        sequence, pooled, table = self.bert(input_ids, token_type_ids, input_mask)
        batch, length, width = sequence.shape
        offsets = ops.arange(batch).astype(mstype.int32).reshape(-1, 1) * length
        flat = F.reshape(positions + offsets, (-1,))
        masked = P.Gather()(F.reshape(sequence, (-1, width)), flat, 0)
        masked = self.layernorm(self.transform(masked))
        words = self.log_softmax(self.matmul(masked, table) + self.output_bias)
        return words, self.log_softmax(self.next_sentence(pooled))


class BertPretrainingLoss(nn.Cell):
    def __init__(self, config):
        super().__init__()
        self.vocab_size = config.vocab_size
        self.onehot = P.OneHot()
        self.on_value = Tensor(1.0, mstype.float32)
        self.off_value = Tensor(0.0, mstype.float32)
        self.reduce_sum = P.ReduceSum()
        self.reduce_mean = P.ReduceMean()
        self.neg = P.Neg()

    def construct(self, words, sentence, word_ids, word_weights, next_label):
        one_hot = self.onehot(F.reshape(word_ids, (-1,)), self.vocab_size, self.on_value, self.off_value)
        each = self.neg(self.reduce_sum(words * one_hot, (1,)))
        weights = F.reshape(word_weights, (-1,))
        word_loss = self.reduce_sum(weights * each, ()) / (self.reduce_sum(weights, ()) + F.tuple_to_array((1e-5,)))
        one_hot = self.onehot(F.reshape(next_label, (-1,)), 2, self.on_value, self.off_value)
        return (word_loss + self.reduce_mean(self.neg(self.reduce_sum(one_hot * sentence, (1,))))).sum()


def batches(n, batch=2, predictions=3):
    config = BertConfig()
    rng = np.random.default_rng(0)
    for _ in range(n):
        length = rng.integers(10, config.seq_length + 1, batch)
        mask = np.arange(config.seq_length) < length[:, None]
        ids = rng.integers(5, config.vocab_size, mask.shape) * mask
        types = (np.arange(config.seq_length) >= length[:, None] // 2) & mask
        positions = np.sort(rng.integers(1, 9, (batch, predictions)), 1)
        words = np.take_along_axis(ids, positions, 1)
        np.put_along_axis(ids, positions, 3, 1)
        weights = np.ones(words.shape, np.float32)
        label = rng.integers(0, 2, batch)
        arrays = ids, types, mask, positions, words
        yield (*[Tensor(a.astype(np.int32)) for a in arrays], Tensor(weights), Tensor(label.astype(np.int32)))


class BertLearningRate(LearningRateSchedule):
    def __init__(self, learning_rate, end_learning_rate, warmup_steps, decay_steps, power):
        super().__init__()
        self.warmup_lr = nn.WarmUpLR(learning_rate, warmup_steps)
        self.decay_lr = nn.PolynomialDecayLR(learning_rate, end_learning_rate, decay_steps, power)
        self.warmup_steps = Tensor(np.array([warmup_steps]).astype(np.float32))
        self.greater = P.Greater()
        self.one = Tensor(np.array([1.0]).astype(np.float32))
        self.cast = P.Cast()

    def construct(self, global_step):
        decay_lr = self.decay_lr(global_step)
        is_warmup = self.cast(self.greater(self.warmup_steps, global_step), mstype.float32)
        return (self.one - is_warmup) * decay_lr + is_warmup * self.warmup_lr(global_step)


def build():
    config = BertConfig()
    network = BertPreTraining(config)
    criterion = BertPretrainingLoss(config)

    def loss(input_ids, token_type_ids, input_mask, positions, word_ids, word_weights, next_label):
        words, sentence = network(input_ids, token_type_ids, input_mask, positions)
        return criterion(words, sentence, word_ids, word_weights, next_label)

    params = network.trainable_params()
    decay_params = list(filter(lambda p: "layernorm" not in p.name.lower() and "bias" not in p.name.lower(), params))
    other_params = list(filter(lambda p: "layernorm" in p.name.lower() or "bias" in p.name.lower(), params))
    groups = [{"params": decay_params, "weight_decay": 0.01}, {"params": other_params, "weight_decay": 0.0},
              {"order_params": params}]
    optimizer = nn.AdamWeightDecay(groups, learning_rate=BertLearningRate(2e-3, 1e-5, 2, 20, 1.0), eps=1e-6)
    return network, loss, optimizer, batches


class ClipGradients(nn.Cell):
    """Each gradient is clipped by value, or by its norm."""

    def __init__(self):
        super().__init__()
        self.clip_by_norm = nn.ClipByNorm()

    def construct(self, grads, clip_type, clip_value):
        new_grads = ()
        for grad in grads:
            if clip_type == 0:
                t = ops.clip_by_value(grad, -clip_value, clip_value)
            else:
                t = self.clip_by_norm(grad, F.tuple_to_array((clip_value,)))
            new_grads = new_grads + (t,)
        return new_grads


class BertTrainOneStep(nn.Cell):
    def __init__(self, loss, optimizer):
        super().__init__(auto_prefix=False)
        self.optimizer = optimizer
        self.gradient = ms.value_and_grad(loss, None, optimizer.parameters)
        self.clip = ClipGradients()

    def construct(self, *inputs):
        value, grads = self.gradient(*inputs)
        grads = self.clip(grads, 1, 1.0)
        return F.depend(value, self.optimizer(grads))


def make_step(network, loss, optimizer):
    return BertTrainOneStep(loss, optimizer)


def main():
    run(globals())


if __name__ == "__main__":
    main()
