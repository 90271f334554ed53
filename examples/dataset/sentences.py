"""Sentences through tokenizers, a vocabulary, buckets and padding: python -m pijit --as mindspore sentences.py"""

import numpy as np
import mindspore as ms
from mindspore import nn, ops
import mindspore.dataset as ds
import mindspore.dataset.text as text
import mindspore.dataset.transforms as T

class Reviews:
    """Sentences and their polarity."""
    def __init__(self, n=300, seed=0):
        r = np.random.RandomState(seed)
        good, bad, other = (["great", "good", "fine", "lovely"], ["bad", "awful", "poor", "boring"],
                            ["the", "film", "was", "a", "very", "plot"])
        self.rows = []
        for _ in range(n):
            y = r.randint(2)
            words = list(r.choice(other, r.randint(2, 12))) + list(r.choice(good if y else bad, r.randint(1, 4)))
            r.shuffle(words)
            self.rows.append((" ".join(words).capitalize() + ".", y))
    def __getitem__(self, i):
        return self.rows[i]
    def __len__(self):
        return len(self.rows)

ds.config.set_seed(0)
ms.set_seed(0)
data = ds.GeneratorDataset(Reviews(), ["text", "label"], shuffle=True)
tokenize = [text.NormalizeUTF8(), text.BasicTokenizer(lower_case=True)]
data = data.map(tokenize, ["text"])
vocab = text.Vocab.from_dataset(data, "text", special_tokens=["<pad>", "<unk>"])
print("vocab", len(vocab.vocab()), vocab.tokens_to_ids(["<pad>", "film", "zzz"]))
for row in data.take(1).create_dict_iterator(num_epochs=1, output_numpy=True):
    print(row["text"].dtype.kind, row["label"].dtype)
data = data.map(text.Lookup(vocab, unknown_token="<unk>", data_type=ms.int32), "text")
data = data.map(lambda x: (x, np.array(len(x), np.int32)), "text", output_columns=["text", "length"])
data = data.map(T.TypeCast(ms.int32), "label")
print(data.get_col_names())
train, valid = data.split([0.8, 0.2])
train = train.bucket_batch_by_length(["text"], [6, 10], [16, 16, 16], pad_info={"text": ([None], 0)},
                                     drop_remainder=False)
valid = valid.padded_batch(20, pad_info={"text": ([16], vocab.tokens_to_ids("<pad>"))})
for b in valid.create_dict_iterator(num_epochs=1):
    print(b["text"].shape, b["length"].shape, b["label"].dtype)
shapes = {b["text"].shape[1] for b in train.create_dict_iterator(num_epochs=1)}
print("widths", sorted(shapes))

class Net(nn.Cell):
    def __init__(self, n):
        super().__init__()
        self.embedding = nn.Embedding(n, 16)
        self.fc = nn.Dense(16, 2)

    def construct(self, x, length):
        e = self.embedding(x)
        mask = (ops.arange(x.shape[1]).expand_dims(0) < length.expand_dims(1)).astype(ms.float32).expand_dims(2)
        return self.fc((e * mask).sum(1) / length.expand_dims(1).astype(ms.float32))

net = Net(len(vocab.vocab()))
opt = nn.Adam(net.trainable_params(), 0.05)
loss_fn = nn.CrossEntropyLoss()
grad = ms.value_and_grad(lambda x, n, y: loss_fn(net(x, n), y), None, opt.parameters)
it = train.create_tuple_iterator(columns=["text", "length", "label"], num_epochs=3)
for epoch in range(3):
    total, count = 0.0, 0
    for x, n, y in it:
        loss, g = grad(x, n, y)
        opt(g)
        total, count = total + float(loss), count + 1
    print("epoch", epoch, "loss", round(total / count, 3))
hits = 0
for x, n, y in valid.create_tuple_iterator(columns=["text", "length", "label"], num_epochs=1):
    hits += int((net(x, n).argmax(1) == y).sum())
print("accuracy", round(hits / 60, 2))
# a generator function with a batch of its own and a map over batches
def windows():
    series = np.sin(np.arange(100) / 5).astype(np.float32)
    for i in range(0, 90, 2):
        yield series[i:i + 8], series[i + 8]
d = ds.GeneratorDataset(windows, ["x", "y"]).shuffle(10).batch(8, True,
                                                               per_batch_map=lambda x, y, _: (np.stack(x)[..., None],
                                                                   np.stack(y)[..., None])).repeat(2)
print(d.get_dataset_size(), [b.shape for b in next(iter(d))])
