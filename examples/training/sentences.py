"""Sentences of different lengths: a vocabulary, batches padded to their own longest, an LSTM that knows the lengths,
attention with a mask, dynamic shapes declared by set_inputs, evaluation sentence by sentence.

    python -m pijit --as mindspore examples/training/sentences.py [--mode graph]"""

import argparse

import numpy as np

import mindspore as ms
import mindspore.dataset as ds
import mindspore.dataset.text as text
from mindspore import Tensor, nn, ops

GOOD = "good great fine lovely bright warm happy superb".split()
BAD = "bad poor dull awful cold sad weak broken".split()
NEUTRAL = "the a film story scene with and of very quite rather was is ending actor music".split()
DIM, HIDDEN = 12, 10


def sentences(count, seed):
    """Words in which either the good or the bad ones prevail; 'not' turns the next word round."""
    rng = np.random.RandomState(seed)
    for _ in range(count):
        words, score = [], 0
        for _ in range(rng.randint(3, 15)):
            kind = rng.randint(0, 4)
            if kind >= 2:
                words.append(NEUTRAL[rng.randint(len(NEUTRAL))])
                continue
            turned = rng.rand() < 0.2
            if turned:
                words.append("not")
            words.append((GOOD if kind else BAD)[rng.randint(8)])
            score += (1 if kind else -1) * (-1 if turned else 1)
        if score == 0:
            words.append(GOOD[0])
            score = 1
        yield " ".join(words), int(score > 0)


def create_dataset(vocabulary, count, seed, batch_size):
    rows = list(sentences(count, seed))

    def read():
        for sentence, label in rows:
            yield np.array(sentence), np.array(label, np.int32)
    dataset = ds.GeneratorDataset(read, ["text", "label"], shuffle=False)
    dataset = dataset.map([text.WhitespaceTokenizer(), text.Lookup(vocabulary, "<unk>")], input_columns="text")

    def padded(texts, labels, info):  # noqa: ARG001
        lengths = [len(t) for t in texts]
        longest = max(lengths)
        texts = [np.pad(t, (0, longest - len(t))).astype(np.int32) for t in texts]
        return texts, labels, [np.array(n, np.int32) for n in lengths]
    return dataset.batch(batch_size, per_batch_map=padded, input_columns=["text", "label"],
                         output_columns=["text", "label", "length"])


class Classifier(nn.Cell):
    def __init__(self, words):
        super().__init__()
        self.embedding = nn.Embedding(words, DIM, padding_idx=0)
        self.lstm = nn.LSTM(DIM, HIDDEN, batch_first=True, bidirectional=True)
        self.query = nn.Dense(2 * HIDDEN, 1)
        self.head = nn.Dense(2 * HIDDEN, 2)

    def construct(self, ids, lengths):
        states, _ = self.lstm(self.embedding(ids), seq_length=lengths)
        places = ops.arange(ids.shape[1])
        mask = places.expand_dims(0) < lengths.expand_dims(1)
        scores = self.query(states).squeeze(-1)
        scores = ops.masked_fill(scores, ops.logical_not(mask), Tensor(-1e9, ms.float32))
        weights = ops.softmax(scores, axis=-1)
        summary = (weights.expand_dims(-1) * states).sum(axis=1)
        return self.head(summary), weights


def fill(network, seed):
    rng = np.random.RandomState(seed)
    for p in network.get_parameters():
        p.set_data(Tensor((rng.randn(*p.shape) * 0.3).astype(np.float32)))


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["pynative", "graph"], default="pynative")
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args(argv)
    ms.set_context(mode=ms.GRAPH_MODE if args.mode == "graph" else ms.PYNATIVE_MODE)
    ms.set_seed(1)
    vocabulary = text.Vocab.from_list(sorted({*GOOD, *BAD, *NEUTRAL, "not"}), special_tokens=["<pad>", "<unk>"],
                                      special_first=True)
    print("words:", len(vocabulary.vocab()), vocabulary.tokens_to_ids(["<pad>", "a", "nowhere"]),
          vocabulary.ids_to_tokens([2, 3]))
    train, test = create_dataset(vocabulary, 200, 0, 20), create_dataset(vocabulary, 61, 1, 20)

    network = Classifier(len(vocabulary.vocab()))
    fill(network, 2)
    network.set_inputs(Tensor(shape=[None, None], dtype=ms.int32), Tensor(shape=[None], dtype=ms.int32))
    loss_fn = nn.CrossEntropyLoss(label_smoothing=0.05)
    optimizer = nn.Adam(network.trainable_params(), nn.ExponentialDecayLR(0.02, 0.9, 10, is_stair=True))

    def forward(ids, lengths, labels):
        logits, _ = network(ids, lengths)
        return loss_fn(logits, labels)
    gradients_of = ms.value_and_grad(forward, None, optimizer.parameters)

    network.set_train()
    shapes = []
    for epoch in range(args.epochs):
        total, count = 0.0, 0
        for ids, labels, lengths in train.create_tuple_iterator():
            loss, gradients = gradients_of(ids, lengths, labels)
            optimizer(gradients)
            total, count = total + float(loss.asnumpy()), count + 1
            shapes.append(ids.shape)
        print(f"epoch {epoch + 1}: loss {total / count:.4f}")
    print("longest of the batches:", [s[1] for s in shapes[:10]])

    network.set_train(False)
    right = seen = 0
    for row in test.create_dict_iterator(output_numpy=True):
        logits, _ = network(Tensor(row["text"]), Tensor(row["length"]))
        right += int((logits.asnumpy().argmax(1) == row["label"]).sum())
        seen += len(row["label"])
    print(f"right: {right} of {seen}")
    for sentence in ("a great story and not bad", "the dull actor was not good", "warm"):
        ids = Tensor(np.reshape(vocabulary.tokens_to_ids(sentence.split()), (1, -1)), ms.int32)  # of one word an int
        logits, weights = network(ids, Tensor([ids.shape[1]], ms.int32))
        chances = ops.softmax(logits, -1).asnumpy()[0]
        strongest = sentence.split()[int(weights.asnumpy()[0].argmax())]
        print(f"{sentence!r}: {'good' if chances[1] > 0.5 else 'bad'} {chances.max():.2f}, by {strongest!r}")


if __name__ == "__main__":
    main()
