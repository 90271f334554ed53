"""A bidirectional LSTM over embeddings that classifies sequences: Adam with half a cosine as its rate, fit with
metrics.

    python -m pijit --as mindspore examples/training/sequences.py [--mode graph]
"""

import argparse

import numpy as np

import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops
from mindspore.train import F1, Accuracy, History, Loss, LossMonitor, Model


class Classifier(nn.Cell):
    def __init__(self, vocabulary, embedding, hidden, classes):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, embedding)
        self.lstm = nn.LSTM(embedding, hidden, num_layers=1, batch_first=True, bidirectional=True)
        self.fc = nn.Dense(2 * hidden, classes)

    def construct(self, ids):
        out, _ = self.lstm(self.embedding(ids))
        return self.fc(ops.mean(out, 1))


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["pynative", "graph"], default="pynative")
    args = parser.parse_args(argv)
    ms.set_context(mode=ms.GRAPH_MODE if args.mode == "graph" else ms.PYNATIVE_MODE)
    rng = np.random.RandomState(0)
    ids = rng.randint(0, 20, (320, 12)).astype(np.int32)
    labels = ((ids[:, 3:9] > 9).sum(1) > 3).astype(np.int32)  # most of the middle is large
    net = Classifier(20, 8, 16, 2)
    for p in net.trainable_params():
        p.set_data(ms.Tensor(rng.uniform(-0.25, 0.25, p.shape).astype(np.float32)))

    def batches(part):
        return ds.NumpySlicesDataset((ids[part], labels[part]), ["ids", "label"], shuffle=False).batch(32)
    rate = nn.cosine_decay_lr(min_lr=0.0005, max_lr=0.02, total_step=8 * 6, step_per_epoch=8, decay_epoch=6)
    optimizer = nn.Adam(net.trainable_params(), learning_rate=rate, beta1=0.9, beta2=0.99)
    model = Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"acc": Accuracy(), "F1": F1(), "loss": Loss()})
    history = History()
    model.fit(6, batches(slice(0, 256)), batches(slice(256, 320)), callbacks=[LossMonitor(4), history])
    print("accuracy", [round(v, 4) for v in history.history["acc"]])


if __name__ == "__main__":
    main()
