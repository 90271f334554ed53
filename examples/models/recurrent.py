"""A bidirectional LSTM over sentences of several lengths, then a GRU: sentiment and tags together."""

import numpy as np

from training import run

import mindspore as ms
from mindspore import Tensor, nn, ops
from mindspore.common.initializer import HeUniform, Uniform


class Tagger(nn.Cell):
    def __init__(self, vocab=40, dim=16, hidden=12, layers=2, tags=5):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim, padding_idx=0)
        self.rnn = nn.LSTM(dim, hidden, num_layers=layers, bidirectional=True, batch_first=True, dropout=0.0)
        self.gru = nn.GRU(hidden * 2, hidden, batch_first=True)
        self.cell = nn.GRUCell(hidden, hidden)
        self.fc = nn.Dense(hidden * 2, 1, weight_init=HeUniform(5**0.5), bias_init=Uniform(0.1))
        self.tags = nn.Dense(hidden * 2, tags)
        self.dropout = nn.Dropout(p=0.2)
        self.layers = layers

    def construct(self, ids, lengths):
        embedded = self.dropout(self.embedding(ids))
        outputs, (hidden, _) = self.rnn(embedded, None, lengths)
        last = self.dropout(ops.concat((hidden[-2, :, :], hidden[-1, :, :]), axis=1))
        sentiment = self.fc(last).squeeze(1)
        more, state = self.gru(outputs, seq_length=lengths)
        state = state[0]
        steps = []
        for i in range(ids.shape[1]):
            state = self.cell(more[:, i], state)
            steps.append(state)
        steps = ops.stack(steps, axis=1)
        return sentiment, self.tags(ops.cat([more, steps], axis=-1))


def sequence_mask(lengths, length):
    return ops.arange(length)[None, :] < lengths[:, None]


def batches(n, batch=3, length=9):
    rng = np.random.default_rng(0)
    for _ in range(n):
        lengths = rng.integers(3, length + 1, batch)
        ids = rng.integers(1, 40, (batch, length)) * (np.arange(length) < lengths[:, None])
        label = (ids.sum(1) > 20 * lengths).astype(np.float32)
        yield Tensor(ids.astype(np.int32)), Tensor(lengths.astype(np.int32)), Tensor(label), Tensor((ids %
            5).astype(np.int32))


def build():
    network = Tagger()
    sentiment_loss = nn.BCEWithLogitsLoss(reduction="mean")
    tag_loss = nn.CrossEntropyLoss(reduction="none")

    def loss(ids, lengths, label, tags):
        sentiment, logits = network(ids, lengths)
        each = tag_loss(logits.swapaxes(1, 2), tags)
        mask = sequence_mask(lengths, tags.shape[1]).astype(ms.float32)
        return sentiment_loss(sentiment, label) + (each * mask).sum() / mask.sum()

    optimizer = nn.Adam(network.trainable_params(), learning_rate=0.01)
    return network, loss, optimizer, batches


def main():
    run(globals())


if __name__ == "__main__":
    main()
