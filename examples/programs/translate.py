"""Sequence to sequence with attention: a bidirectional GRU reads, a GRU cell with additive attention writes; scheduled
teacher forcing in training, greedy and beam search in inference.

    python -m pijit --as mindspore examples/programs/translate.py [--mode graph]"""

import sys

import numpy as np

from toolkit import LossHistory, arguments, clip_gradients, fill, load_config, start

import mindspore as ms
import mindspore.dataset as ds
from mindspore import Parameter, Tensor, nn, ops
from mindspore.train import Callback, Metric, Model

CONFIG = """
data:
  words: 12
  longest: 6
  samples: 24
  batch: 8
model:
  width: 16
  hidden: 20
train:
  epochs: 3
  lr: 0.02
  clip: 1.0
beam: 3
"""

PAD, BOS, EOS = 0, 1, 2


def sentences(cfg, seed):
    """Words and what they translate to: backwards, each word the next one of the vocabulary."""
    rng = np.random.RandomState(seed)
    for _ in range(cfg.samples):
        n = rng.randint(3, cfg.longest - 1)
        source = rng.randint(3, cfg.words, n)
        target = np.where(source + 1 < cfg.words, source + 1, 3)[::-1]
        yield source, target


def padded(row, length):
    return np.concatenate([row, np.full(length - len(row), PAD)]).astype(np.int32)


def collate(rows, longest):
    sources, lengths, inputs, outputs = [], [], [], []
    for source, target in rows:
        sources.append(padded(source, longest))
        lengths.append(len(source))
        inputs.append(padded(np.concatenate([[BOS], target]), longest))
        outputs.append(padded(np.concatenate([target, [EOS]]), longest))
    return np.stack(sources), np.array(lengths, np.int32), np.stack(inputs), np.stack(outputs)


def make_dataset(cfg, seed):
    def rows():
        for source, target in sentences(cfg, seed):
            yield tuple(part[0] for part in collate([(source, target)], cfg.longest))
    data = ds.GeneratorDataset(rows, ["source", "length", "input", "output"], shuffle=False)
    return data.batch(cfg.batch, drop_remainder=True)


class Encoder(nn.Cell):
    def __init__(self, words, width, hidden):
        super().__init__()
        self.embedding = nn.Embedding(words, width, padding_idx=PAD)
        self.rnn = nn.GRU(width, hidden, bidirectional=True, batch_first=True)
        self.merge = nn.Dense(2 * hidden, hidden)

    def construct(self, source, length):
        outputs, last = self.rnn(self.embedding(source), None, length)
        return outputs, ops.tanh(self.merge(ops.cat((last[0], last[1]), 1)))


class Attention(nn.Cell):
    def __init__(self, keys, query, width):
        super().__init__()
        self.key, self.query = nn.Dense(keys, width, has_bias=False), nn.Dense(query, width)
        self.score = nn.Dense(width, 1, has_bias=False)

    def construct(self, query, outputs, mask):
        energy = self.score(ops.tanh(self.key(outputs) + self.query(query).expand_dims(1))).squeeze(-1)
        energy = ops.masked_fill(energy, mask, Tensor(-1e9, ms.float32))
        weights = ops.softmax(energy, -1)
        return ops.bmm(weights.expand_dims(1), outputs).squeeze(1), weights


class Decoder(nn.Cell):
    def __init__(self, words, width, hidden):
        super().__init__()
        self.embedding = nn.Embedding(words, width, padding_idx=PAD)
        self.attention = Attention(2 * hidden, hidden, width)
        self.cell = nn.GRUCell(width + 2 * hidden, hidden)
        self.out = nn.SequentialCell(nn.Dense(3 * hidden, width), nn.Tanh(), nn.Dense(width, words))

    def construct(self, word, state, outputs, mask):
        context, weights = self.attention(state, outputs, mask)
        state = self.cell(ops.cat((self.embedding(word), context), -1), state)
        return self.out(ops.cat((state, context), -1)), state, weights


class Seq2Seq(nn.Cell):
    def __init__(self, cfg):
        super().__init__()
        self.encoder = Encoder(cfg.data.words, cfg.model.width, cfg.model.hidden)
        self.decoder = Decoder(cfg.data.words, cfg.model.width, cfg.model.hidden)

    def construct(self, source, length, target, forced):
        outputs, state = self.encoder(source, length)
        mask = source == PAD
        logits, word = [], target[:, 0]
        for t in range(target.shape[1]):
            step, state, _ = self.decoder(word, state, outputs, mask)
            logits.append(step)
            if t + 1 < target.shape[1]:
                word = ops.select(forced[:, t], target[:, t + 1], step.argmax(-1).astype(ms.int32))
        return ops.stack(logits, 1)


class SequenceLoss(nn.Cell):
    def __init__(self, network):
        super().__init__()
        self.network = network
        self.cross_entropy = nn.CrossEntropyLoss(ignore_index=PAD)

    def construct(self, source, length, inputs, outputs, forced):
        logits = self.network(source, length, inputs, forced)
        return self.cross_entropy(logits.reshape(-1, logits.shape[-1]), outputs.reshape(-1))


class TrainStep(nn.TrainOneStepCell):
    """The loss first, then the gradient at the same inputs; how often words are the right ones decays."""

    def __init__(self, network, optimizer, clip, decay=0.97):
        super().__init__(network, optimizer)
        self.clip, self.decay = clip, decay
        self.share = Parameter(Tensor(1.0, ms.float32), name="share", requires_grad=False)
        self.turns = Parameter(Tensor(0, ms.int32), name="turns", requires_grad=False)

    def construct(self, source, length, inputs, outputs):
        places = ops.arange(source.shape[0] * source.shape[1]).reshape(source.shape)
        chance = ((places * 37 + self.turns * 11) % 101).astype(ms.float32) / 101
        forced = chance < self.share
        loss = self.network(source, length, inputs, outputs, forced)
        grads = self.grad_no_sens(self.network, self.weights)(source, length, inputs, outputs, forced)
        loss = ops.depend(loss, self.optimizer(clip_gradients(grads, self.clip)))
        ops.assign(self.share, self.share * self.decay)
        ops.assign_add(self.turns, Tensor(1, ms.int32))
        return loss


class WordAccuracy(Metric):
    def __init__(self):
        super().__init__()
        self.clear()

    def clear(self):
        self.right = self.words = 0

    def update(self, *inputs):
        found, wanted = (self._convert_data(x) for x in inputs)
        seen = wanted != PAD
        self.right += int(((found == wanted) & seen).sum())
        self.words += int(seen.sum())

    def eval(self):
        if not self.words:
            raise RuntimeError("no sample was seen")
        return self.right / self.words


def greedy(network, source, length, longest):
    outputs, state = network.encoder(source, length)
    mask, word, words = source == PAD, Tensor(np.full(source.shape[0], BOS, np.int32)), []
    done = ops.zeros(source.shape[0], ms.bool_)
    for _ in range(longest):
        logits, state, _ = network.decoder(word, state, outputs, mask)
        word = logits.argmax(-1).astype(ms.int32)
        word[done] = PAD
        words.append(word)
        done = ops.logical_or(done, word == EOS)
        if done.all():
            break
    return ops.stack(words, 1).asnumpy()


def beam_search(network, source, length, width, longest):
    """For one sentence: [(logarithm of the probability, words)], the best first."""
    outputs, state = network.encoder(source, length)
    mask, beams = source == PAD, [(0.0, [BOS], state)]
    for _ in range(longest):
        more = []
        for score, words, state in beams:
            if words[-1] == EOS:
                more.append((score, words, state))
                continue
            logits, after, _ = network.decoder(Tensor([words[-1]], ms.int32), state, outputs, mask)
            values, at = ops.topk(ops.log_softmax(logits, -1), width)
            for value, word in zip(values[0].asnumpy().tolist(), at[0].asnumpy().tolist()):
                more.append((score + value, words + [word], after))
        beams = sorted(more, key=lambda b: -b[0])[:width]
        if all(words[-1] == EOS for _, words, _ in beams):
            break
    return [(score, words[1:]) for score, words, _ in beams]


class Translations(Callback):
    """Shows what becomes of a sentence after each epoch."""

    def __init__(self, network, batch, longest):
        super().__init__()
        self.network, self.batch, self.longest = network, batch, longest
        self.metric = WordAccuracy()

    def on_train_epoch_end(self, run_context):
        source, length, _, outputs = self.batch
        self.network.set_train(False)
        found = greedy(self.network, source, length, self.longest)
        self.network.set_train(True)
        self.metric.clear()
        wanted = outputs.asnumpy()
        full = np.zeros_like(wanted)
        full[:, :found.shape[1]] = found
        self.metric.update(full, wanted)
        print(f"epoch {run_context.original_args().cur_epoch_num}: accuracy {self.metric.eval():.4f}")


def main(argv=None):
    args = arguments().parse_args(argv)
    start(args)
    cfg = load_config(CONFIG, args.set)
    network = fill(Seq2Seq(cfg), 11)
    data = make_dataset(cfg.data, 21)
    optimizer = nn.Adam(network.trainable_params(), nn.ExponentialDecayLR(cfg.train.lr, 0.9, 10, is_stair=True))
    step = TrainStep(SequenceLoss(network), optimizer, cfg.train.clip).set_train()
    history = LossHistory()
    batch = next(data.create_tuple_iterator())
    Model(step).train(cfg.train.epochs, data, callbacks=[history, Translations(network, batch, cfg.data.longest)],
                      dataset_sink_mode=False)
    print("losses:", " ".join(f"{v:.4f}" for v in history.losses))
    print(f"share: {float(step.share):.4f} turns: {int(step.turns)}")
    network.set_train(False)
    for score, words in beam_search(network, batch[0][:1], batch[1][:1], cfg.beam, cfg.data.longest):
        print(f"{score:.3f}", words)


if __name__ == "__main__":
    main(sys.argv[1:])
