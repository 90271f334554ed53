"""Text in pictures: convolutions, a bidirectional LSTM, CTC; a sampler, batches padded in Python, a loss and a training
step of one's own, a decoder by beams, edit distances as the metric.

    python -m pijit --as mindspore examples/programs/read_text.py [--mode graph]"""

import os
import sys
import tempfile

import numpy as np

from toolkit import EarlyStop, LossHistory, Registry, arguments, fill, load_config, start

import mindspore as ms
import mindspore.dataset as ds
from mindspore import Tensor, nn, ops
from mindspore.train import Callback, CheckpointConfig, Metric, Model, ModelCheckpoint

CONFIG = """
data:
  letters: abcde
  height: 8
  longest: 5
  samples: 24
  batch: 6
model:
  width: 8
  hidden: 12
  neck: lstm
train:
  epochs: 3
  lr: 0.01
  clip: 5.0
decoder:
  type: beam
  width: 4
"""

NECKS, DECODERS = Registry("neck"), Registry("decoder")


class Alphabet:
    """Letters as numbers; the blank is the last one."""

    def __init__(self, letters):
        self.letters, self.blank = letters, len(letters)

    def __len__(self):
        return len(self.letters) + 1

    def encode(self, text):
        return [self.letters.index(c) for c in text]

    def decode(self, labels):
        return "".join(self.letters[k] for k in labels)


@NECKS.register("lstm")
class LSTMNeck(nn.Cell):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.rnn = nn.LSTM(inputs, hidden, bidirectional=True)
        self.out_channels = 2 * hidden

    def construct(self, x):
        return self.rnn(x)[0]


@NECKS.register("none")
class NoNeck(nn.Cell):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.out_channels = inputs

    def construct(self, x):
        return x


class Recognizer(nn.Cell):
    def __init__(self, letters, height, width, hidden, neck):
        super().__init__()
        self.convs = nn.SequentialCell(
            nn.Conv2d(1, width, 3, pad_mode="same", has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2),
            nn.Conv2d(width, 2 * width, 3, pad_mode="same", has_bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.MaxPool2d((2, 1), (2, 1)))
        self.neck = NECKS.get(neck)(2 * width * (height // 4), hidden)
        self.head = nn.Dense(self.neck.out_channels, letters)

    def construct(self, x):
        x = self.convs(x)
        n, c, h, w = x.shape
        x = x.transpose(3, 0, 1, 2).reshape(w, n, c * h)  # the columns are the steps
        return self.head(self.neck(x))


class CTC(nn.LossBase):
    def __init__(self, blank):
        super().__init__(reduction="none")
        self.blank, self.ctc = blank, ops.CTCLoss(ignore_longer_outputs_than_inputs=True)

    def construct(self, logits, labels, lengths):
        steps = ops.full((logits.shape[1],), logits.shape[0], dtype=ms.int32)
        places = ops.nonzero(labels >= 0)
        words = ops.gather_nd(labels, places).astype(ms.int32)
        return self.ctc(logits, places, words, steps)[0].mean()


class WithLoss(nn.Cell):
    def __init__(self, network, loss):
        super().__init__(auto_prefix=False)
        self.network, self.loss = network, loss

    def construct(self, image, labels, lengths):
        return self.loss(self.network(image), labels, lengths)


class ClippedStep(nn.TrainOneStepCell):
    def __init__(self, network, optimizer, clip):
        super().__init__(network, optimizer)
        self.clip = clip

    def construct(self, *inputs):
        loss = self.network(*inputs)
        grads = self.grad_no_sens(self.network, self.weights)(*inputs)
        return ops.depend(loss, self.optimizer(ops.clip_by_global_norm(grads, self.clip)))


@DECODERS.register("greedy")
class Greedy:
    def __init__(self, blank, width=1):
        self.blank = blank

    def __call__(self, chances):
        best = chances.argmax(-1)
        return [int(k) for k, before in zip(best, [self.blank, *best]) if k not in (before, self.blank)]


@DECODERS.register("beam")
class Beam:
    """Prefix search, in plain Python."""

    def __init__(self, blank, width):
        self.blank, self.width = blank, width

    def __call__(self, chances):
        beams = {(): (1.0, 0.0)}
        for row in chances:
            after = {}
            for prefix, (blank, letter) in beams.items():
                def add(key, b, e):
                    old = after.get(key, (0.0, 0.0))
                    after[key] = old[0] + b, old[1] + e
                add(prefix, (blank + letter) * row[self.blank], 0.0)
                for k, p in enumerate(row[:self.blank]):
                    if prefix and prefix[-1] == k:
                        add(prefix, 0.0, letter * p)
                        add((*prefix, k), 0.0, blank * p)
                    else:
                        add((*prefix, k), 0.0, (blank + letter) * p)
            beams = dict(sorted(after.items(), key=lambda item: -sum(item[1]))[:self.width])
        return list(next(iter(beams)))


def distance(a, b):
    row = list(range(len(b) + 1))
    for k, x in enumerate(a, 1):
        before, row[0] = row[0], k
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


class EditDistance(Metric):
    def __init__(self, alphabet, decoder):
        super().__init__()
        self.alphabet, self.decoder = alphabet, decoder
        self.clear()

    def clear(self):
        self.errors = self.letters = 0
        self.texts = []

    def update(self, *inputs):
        logits, labels = (self._convert_data(x) for x in inputs)
        chances = np.exp(logits - logits.max(-1, keepdims=True))
        chances /= chances.sum(-1, keepdims=True)
        for k, label in enumerate(labels):
            wanted = [int(v) for v in label if v >= 0]
            found = self.decoder(chances[:, k])
            self.errors += distance(found, wanted)
            self.letters += len(wanted)
            self.texts.append(f"{self.alphabet.decode(wanted)}:{self.alphabet.decode(found)}")

    def eval(self):
        return self.errors / self.letters


def glyph(letter, height):
    rng = np.random.RandomState(ord(letter))
    return (rng.rand(height, 4) < 0.5).astype(np.float32)


class Words:
    def __init__(self, cfg, alphabet, seed):
        self.cfg, self.alphabet, self.seed = cfg, alphabet, seed

    def __len__(self):
        return self.cfg.samples

    def __getitem__(self, index):
        rng = np.random.RandomState(self.seed * 100 + int(index))
        text = "".join(rng.choice(list(self.alphabet.letters), rng.randint(2, self.cfg.longest + 1)))
        image = np.concatenate([glyph(c, self.cfg.height) for c in text], 1)
        image += rng.randn(*image.shape).astype(np.float32) * 0.1
        return image[None].astype(np.float32), np.array(self.alphabet.encode(text), np.int32)


class ByLength(ds.Sampler):
    """Short words first."""

    def __init__(self, words):
        super().__init__()
        self.order = sorted(range(len(words)), key=lambda k: (len(words[k][1]), k))

    def __iter__(self):
        return iter(self.order)


def padded(images, labels, batch_info):
    width, most = max(i.shape[-1] for i in images), max(len(v) for v in labels)
    lengths = [np.array(len(v), np.int32) for v in labels]
    images = [np.pad(i, ((0, 0), (0, 0), (0, width - i.shape[-1]))) for i in images]
    return images, [np.pad(v, (0, most - len(v)), constant_values=-1) for v in labels], lengths


def make_dataset(cfg, alphabet, seed):
    words = Words(cfg, alphabet, seed)
    data = ds.GeneratorDataset(words, ["image", "labels"], sampler=ByLength(words))
    return data.batch(cfg.batch, per_batch_map=padded, input_columns=["image", "labels"],
                      output_columns=["image", "labels", "lengths"])


class Reading(Callback):
    def __init__(self, network, data, metric):
        super().__init__()
        self.network, self.data, self.metric = network, data, metric

    def on_train_epoch_end(self, run_context):
        self.network.set_train(False)
        self.metric.clear()
        for image, labels, _ in self.data.create_tuple_iterator(num_epochs=1):
            self.metric.update(self.network(image), labels)
        self.network.set_train(True)
        epoch = run_context.original_args().cur_epoch_num
        print(f"epoch {epoch}: errors {self.metric.eval():.4f}", " ".join(self.metric.texts[:3]))


def main(argv=None):
    args = arguments().parse_args(argv)
    start(args)
    cfg = load_config(CONFIG, args.set)
    alphabet = Alphabet(cfg.data.letters)
    network = fill(Recognizer(len(alphabet), cfg.data.height, **cfg.model), 37)
    decoder = DECODERS.build(cfg.decoder, blank=alphabet.blank)
    optimizer = nn.Adam(network.trainable_params(), cfg.train.lr)
    step = ClippedStep(WithLoss(network, CTC(alphabet.blank)), optimizer, cfg.train.clip).set_train()
    history = LossHistory()
    metric = EditDistance(alphabet, decoder)
    with tempfile.TemporaryDirectory() as folder:
        keep = ModelCheckpoint("reader", folder, CheckpointConfig(save_checkpoint_steps=4, keep_checkpoint_max=2))
        Model(step).train(cfg.train.epochs, make_dataset(cfg.data, alphabet, 1),
                          callbacks=[history, Reading(network, make_dataset(cfg.data, alphabet, 2), metric), keep,
                                     EarlyStop(history)], dataset_sink_mode=False)
        print("losses:", " ".join(f"{v:.3f}" for v in history.losses))
        print("files:", sorted(name for name in os.listdir(folder) if name.endswith(".ckpt")))
    greedy = DECODERS.build({"type": "greedy", "blank": alphabet.blank})
    network.set_train(False)
    image, labels = Words(cfg.data, alphabet, 2)[3]
    logits = network(Tensor(image[None]))
    print("word:", alphabet.decode(labels), "read:", alphabet.decode(greedy(logits.asnumpy()[:, 0])), logits.shape)


if __name__ == "__main__":
    main(sys.argv[1:])
