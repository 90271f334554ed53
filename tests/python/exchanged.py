"""Networks with optimizers, and rows of MindRecord files, in programs that run with MindSpore as well as here.

    python tests/python/exchanged.py PACKAGE write|read FOLDER

PACKAGE, mindspore or pijit, writes checkpoints of networks that were trained for three steps, with what the next losses
were, and MindRecord files; or reads those that the other one wrote, goes on training, and says what it found."""

import importlib
import json
import os
import random
import sys

import numpy as np

PACKAGE = sys.argv[1] if __name__ == "__main__" else "pijit"
ms = importlib.import_module(PACKAGE)
nn, ops, ds, mr = (importlib.import_module(f"{PACKAGE}.{m}") for m in ("nn", "ops", "dataset", "mindrecord"))
RNG = np.random.RandomState(0)
IMAGES, ROWS = RNG.randn(4, 3, 8, 8).astype(np.float32), RNG.randn(4, 4).astype(np.float32)
TOKENS = RNG.randint(0, 11, (4, 5)).astype(np.int32)
VOLUMES, SIGNALS = RNG.randn(2, 2, 4, 4, 4).astype(np.float32), RNG.randn(4, 3, 9).astype(np.float32)


class Tuple(nn.Cell):
    """Weights without names of their own, in a ParameterTuple."""

    def __init__(self):
        super().__init__()
        self.ws = ms.ParameterTuple([ms.Parameter(ms.Tensor(np.full((4, 4), k, np.float32))) for k in (1, 2)])
        self.fc = nn.Dense(4, 2)

    def construct(self, x):
        for w in self.ws:
            x = ops.tanh(ops.matmul(x, w))
        return self.fc(x)


class Recurrent(nn.Cell):
    def __init__(self, kind, bidirectional=False):
        super().__init__()
        self.emb, self.fc = nn.Embedding(11, 6), nn.Dense(10 if bidirectional else 5, 2)
        self.rnn = kind(6, 5, num_layers=2, batch_first=True, bidirectional=bidirectional)

    def construct(self, x):
        return self.fc(self.rnn(self.emb(x))[0][:, -1])


class Attention(nn.Cell):
    def __init__(self):
        super().__init__()
        self.emb, self.att, self.norm = nn.Embedding(11, 8), nn.MultiheadAttention(8, 2), nn.LayerNorm((8,))
        self.fc = nn.SequentialCell(nn.Dense(8, 8, activation="relu"), nn.Dense(8, 2))

    def construct(self, x):
        x = self.emb(x)
        return self.fc(self.norm(x + self.att(x, x, x)[0])).mean(1)


class Shared(nn.Cell):
    """One weight in two layers, and a list of layers."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Dense(4, 4), nn.Dense(4, 4)
        self.b.weight = self.a.weight
        self.head = nn.CellList([nn.Dense(4, 2), nn.Dense(4, 2)])

    def construct(self, x):
        x = ops.tanh(self.b(ops.tanh(self.a(x))))
        return self.head[0](x) + self.head[1](x)


class Block(nn.Cell):
    def __init__(self, channels):
        super().__init__()
        self.conv, self.bn, self.act = nn.Conv2d(channels, channels, 3), nn.BatchNorm2d(channels), nn.PReLU()

    def construct(self, x):
        return x + self.act(self.bn(self.conv(x)))


class Transformer(nn.Cell):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.emb, self.enc, self.fc = nn.Embedding(11, 8), nn.TransformerEncoder(layer, 2), nn.Dense(8, 2)

    def construct(self, x):
        return self.fc(self.enc(self.emb(x)).mean(1))


def groups(params):
    return [{"params": params[:2], "lr": 0.01}, {"params": params[2:4], "lr": 0.001}, {"params": params[4:]}]


def small(*layers):
    return nn.SequentialCell(nn.Dense(4, 8), *layers, nn.Dense(8, 2))


NETWORKS = {  # name: (network, inputs, optimizer)
    "mlp": (lambda: small(nn.ReLU()), ROWS, lambda p: nn.Momentum(p, 0.05, 0.9)),
    "lenet": (
        lambda: nn.SequentialCell(
            nn.Conv2d(3, 4, 3, has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(64, 2)
        ),
        IMAGES,
        lambda p: nn.Adam(p, 0.01),
    ),
    "residual": (
        lambda: nn.SequentialCell(nn.Conv2d(3, 4, 1), Block(4), Block(4), nn.Flatten(), nn.Dense(256, 2)),
        IMAGES,
        lambda p: nn.AdamWeightDecay(p, 0.001, weight_decay=0.01),
    ),
    "lstm": (lambda: Recurrent(nn.LSTM), TOKENS, lambda p: nn.RMSProp(p, 0.01)),
    "gru": (lambda: Recurrent(nn.GRU, True), TOKENS, lambda p: nn.SGD(p, 0.05, momentum=0.9)),
    "rnn": (lambda: Recurrent(nn.RNN), TOKENS, lambda p: nn.ASGD(p, 0.01)),
    "attention": (lambda: Attention(), TOKENS, lambda p: nn.LazyAdam(p, 0.01)),
    "transformer": (
        lambda: Transformer(),
        TOKENS,
        lambda p: nn.Adam(p, nn.ExponentialDecayLR(0.02, 0.9, 2), use_amsgrad=True),
    ),
    "tuple": (lambda: Tuple(), ROWS, lambda p: nn.Adagrad(p, learning_rate=0.05)),
    "shared": (lambda: Shared(), ROWS, lambda p: nn.AdaMax(p, 0.01)),
    "volumes": (
        lambda: nn.SequentialCell(nn.Conv3d(2, 3, 3), nn.BatchNorm3d(3), nn.ReLU(), nn.Flatten(), nn.Dense(192, 2)),
        VOLUMES,
        lambda p: nn.FTRL(p, learning_rate=0.05),
    ),
    "signals": (
        lambda: nn.SequentialCell(
            nn.Conv1d(3, 4, 3), nn.ReLU(), nn.Conv1dTranspose(4, 2, 3), nn.Flatten(), nn.Dense(18, 2)
        ),
        SIGNALS,
        lambda p: nn.Adam(p, nn.exponential_decay_lr(0.02, 0.9, 20, 2, 3)),
    ),
    "groups": (
        lambda: nn.SequentialCell(
            nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4), nn.LayerNorm((8,)), nn.Flatten(), nn.Dense(256, 2)
        ),
        IMAGES,
        lambda p: nn.Momentum(groups(p), 0.002, 0.9),
    ),
    "schedules": (
        lambda: small(nn.LayerNorm((8,)), nn.Tanh()),
        ROWS,
        lambda p: nn.Momentum([{"params": p[:2], "lr": [0.1 / k for k in range(1, 9)]}, {"params": p[2:]}], 0.05, 0.9),
    ),
    "rprop": (lambda: small(nn.LayerNorm((8,))), ROWS, lambda p: nn.Rprop(p, 0.01)),
    "adadelta": (lambda: small(nn.Tanh()), ROWS, lambda p: nn.Adadelta(p, 0.5)),
    "adafactor": (lambda: small(nn.Tanh()), ROWS, lambda p: nn.AdaFactor(p)),
}


def made(name):
    """(network, optimizer, a function that takes a step and gives its loss)"""
    np.random.seed(3)
    ms.set_seed(3)
    build, x, chosen = NETWORKS[name]
    net = build()
    net.set_train()
    optimizer = chosen(net.trainable_params())
    loss, y = nn.CrossEntropyLoss(), ms.Tensor(np.arange(len(x)) % 2, ms.int32)
    x = ms.Tensor(x)
    gradient = ms.value_and_grad(lambda: loss(net(x), y), None, optimizer.parameters)

    def step():
        value, grads = gradient()
        optimizer(grads)
        return float(value.asnumpy())

    return net, optimizer, step


def described(values):
    return sorted([name, str(v.dtype), list(v.shape)] for name, v in values.items())


def write_checkpoints(folder):
    found = {}
    for name in NETWORKS:
        net, optimizer, step = made(name)
        for _ in range(3):
            step()
        path = os.path.join(folder, name)
        ms.save_checkpoint(net, path + ".ckpt", append_dict={"epoch": 3, "rate": 0.5, "done": True, "note": "é"})
        ms.save_checkpoint(optimizer, path + "-optimizer.ckpt")
        ms.save_checkpoint(net, path + ".safetensors", format="safetensors")
        found[name] = {
            "network": described(net.parameters_dict()),
            "optimizer": described(optimizer.parameters_dict()),
            "losses": [step() for _ in range(3)],
        }
    return found


def read_checkpoints(folder):
    found = {}
    for name in NETWORKS:
        net, optimizer, step = made(name)
        path = os.path.join(folder, name)
        values = ms.load_checkpoint(path + ".ckpt")
        more = [values.pop(k) for k in ("epoch", "rate", "done", "note")]
        left = [
            *ms.load_param_into_net(net, values),
            *ms.load_param_into_net(optimizer, ms.load_checkpoint(path + "-optimizer.ckpt")),
        ]
        tensors = ms.load_checkpoint(path + ".safetensors", format="safetensors")
        same = all(np.array_equal(tensors[k].asnumpy(), v.asnumpy()) for k, v in values.items()) and len(
            tensors
        ) == len(values)
        found[name] = {
            "left": sum(map(len, left)),
            "same": bool(same),
            "losses": [step() for _ in range(3)],
            "more": [more[0].asnumpy().tolist(), more[1].asnumpy().tolist(), more[2].asnumpy().tolist(), more[3]],
        }
    return found


def record_cases():
    """(name, schema, number of files, rows) of MindRecord files."""
    r = random.Random(5)
    numbers = ["int32", "int64", "float32", "float64"]
    limits = {"int32": [5, 1000, 10**6, 2**31 - 1], "int64": [5, 1000, 10**6, 2**40]}
    ints = [0, 1, -1, 127, 128, 255, 256, -32, -33, -128, -129, 65535, 65536, -32768, -32769, 2**31 - 1, -(2**31)]
    long = [2**40, -(2**40), 2**63 - 1, -(2**63)]
    for c in range(24):
        rng = np.random.default_rng(c)
        schema = {}
        for k in range(r.randint(1, 6)):
            kind = r.choice([*numbers, "string", "bytes", *numbers])
            schema[f"f{k}"] = {"type": kind}
            if kind in numbers and r.random() < 0.6:
                schema[f"f{k}"]["shape"] = r.choice([[-1], [2], [2, 3], [-1, 2], [1]])

        def value(field):
            kind = field["type"]
            if kind == "string":
                return "".join(r.choice("abcé漢 ") for _ in range(r.choice([0, 3, 40, 300])))
            if kind == "bytes":
                return bytes(rng.integers(0, 256, r.choice([0, 1, 100, 5000])).astype(np.uint8)) + b"\x01"  # noqa: B023
            if "shape" in field:
                shape = [r.randint(1, 9) if d == -1 else d for d in field["shape"]]
                if kind in limits:
                    most = r.choice(limits[kind])
                    return rng.integers(-most, most, shape).astype(kind)  # noqa: B023
                return rng.standard_normal(shape).astype(kind)  # noqa: B023
            if kind in limits:
                return r.choice(ints + (long if kind == "int64" else []))
            return float(r.choice([0.5, -1.25, 1 / 3, 123456.789]))

        count, files = r.choice([1, 2, 5, 17, 60]), r.choice([1, 1, 2, 3])
        yield f"rows{c}.mr", schema, files, [{k: value(f) for k, f in schema.items()} for _ in range(count)]


def write_records(folder):
    for c, (name, schema, files, rows) in enumerate(record_cases()):
        writer = mr.FileWriter(os.path.join(folder, name), files)
        if c % 2:
            writer.set_page_size(1 << 15)
            writer.set_header_size(1 << 17)
        writer.add_schema(schema, name)
        for part in (rows[: len(rows) // 2], rows[len(rows) // 2 :]):
            if part:
                writer.write_raw_data(part)
        writer.commit()
    return {}


def _text(row):
    return repr(
        [
            (k, v.tolist(), str(v.dtype)) if isinstance(v, np.ndarray) else (k, float(v) if isinstance(v, float) else v)
            for k, v in sorted(row.items())
        ]
    )


def read_records(folder):
    """How many files are not what was written: by each row's text, as MindSpore divides rows over files at random."""
    wrong = []
    for name, schema, files, rows in record_cases():
        path = os.path.join(folder, name + ("" if files == 1 else "0"))
        floats = [k for k, f in schema.items() if f["type"] in ("float32", "float64") and "shape" not in f]
        got = [{**r, **{k: float(r[k]) for k in floats}} for r in mr.FileReader(path).get_next()]
        set_rows = sorted(map(_text, got)) == sorted(map(_text, rows))
        count = len(list(ds.MindDataset(path, shuffle=False).create_tuple_iterator(num_epochs=1, output_numpy=True)))
        if not set_rows or count != len(rows):
            wrong.append(name)
    return {"wrong": wrong}


def main():
    _, _, what, folder = sys.argv
    if what == "write":
        found = {"checkpoints": write_checkpoints(folder), "records": write_records(folder)}
    else:
        found = {"checkpoints": read_checkpoints(folder), "records": read_records(folder)}
    with open(os.path.join(folder, f"{PACKAGE}-{what}.json"), "w") as f:
        json.dump(found, f)


if __name__ == "__main__":
    main()
