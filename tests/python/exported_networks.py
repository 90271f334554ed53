"""Networks that are written and read as MindIR files, with pijit or MindSpore.

    python tests/python/exported_networks.py pijit|mindspore write|read FOLDER"""

import importlib
import os
import sys

import numpy as np

CLOSE = 1e-5  # of results, in parts of the largest element


def networks(ms):
    """name -> (a function that makes a network, its inputs)."""
    nn, ops = ms.nn, ms.ops

    class Lenet(nn.Cell):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 2, 5, pad_mode="valid", has_bias=True)
            self.conv2 = nn.Conv2d(2, 3, 5, pad_mode="valid")
            self.relu, self.pool, self.flat = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()
            self.fc1, self.fc2 = nn.Dense(48, 8), nn.Dense(8, 3)

        def construct(self, x):
            x = self.pool(self.relu(self.conv1(x)))
            x = self.pool(self.relu(self.conv2(x)))
            return self.fc2(self.relu(self.fc1(self.flat(x))))

    class Block(nn.Cell):
        def __init__(self, i, o, stride):
            super().__init__()
            self.c1, self.b1 = nn.Conv2d(i, o, 3, stride), nn.BatchNorm2d(o)
            self.c2, self.b2, self.relu = nn.Conv2d(o, o, 3), nn.BatchNorm2d(o), nn.ReLU()
            self.down = nn.SequentialCell(nn.Conv2d(i, o, 1, stride), nn.BatchNorm2d(o))

        def construct(self, x):
            return self.relu(self.b2(self.c2(self.relu(self.b1(self.c1(x))))) + self.down(x))

    class Resnet(nn.Cell):
        def __init__(self):
            super().__init__()
            self.c, self.b = nn.Conv2d(3, 4, 7, 2, pad_mode="pad", padding=3), nn.BatchNorm2d(4)
            self.relu, self.p = nn.ReLU(), nn.MaxPool2d(3, 2, pad_mode="same")
            self.l, self.fc = nn.SequentialCell(Block(4, 4, 1), Block(4, 6, 2)), nn.Dense(6, 3)

        def construct(self, x):
            return self.fc(self.l(self.p(self.relu(self.b(self.c(x))))).mean((2, 3)))

    class Encoder(nn.Cell):
        def __init__(self):
            super().__init__()
            self.e = nn.Embedding(20, 8)
            self.q, self.k, self.v, self.o = nn.Dense(8, 8), nn.Dense(8, 8), nn.Dense(8, 8), nn.Dense(8, 8)
            self.n1, self.n2 = nn.LayerNorm((8,)), nn.LayerNorm((8,))
            self.f1, self.f2 = nn.Dense(8, 16), nn.Dense(16, 8)
            self.g, self.s = nn.GELU(approximate=False), nn.Softmax(-1)

        def heads(self, x):
            return x.reshape(x.shape[0], x.shape[1], 2, 4).transpose(0, 2, 1, 3)

        def construct(self, i):
            x = self.e(i)
            h = self.n1(x)
            q, k, v = self.heads(self.q(h)), self.heads(self.k(h)), self.heads(self.v(h))
            a = self.s(ops.matmul(q, k.transpose(0, 1, 3, 2)) / 2.0)
            x = x + self.o(ops.matmul(a, v).transpose(0, 2, 1, 3).reshape(x.shape))
            return x + self.f2(self.g(self.f1(self.n2(x))))

    class Lstm(nn.Cell):
        def __init__(self):
            super().__init__()
            self.l, self.d = nn.LSTM(3, 4, batch_first=True), nn.Dense(4, 2)

        def construct(self, x):
            return self.d(self.l(x)[0][:, -1])

    class Shapes(nn.Cell):
        def construct(self, x, y):
            return (x[:, 0:3], ops.stack([x, y], 0), ops.split(x, 2, 1)[1], ops.concat((x, y), 1), ops.tile(x, (1, 2)),
                    ops.broadcast_to(x[:, 0:1], (2, 4)), ops.pad(x, (1, 2)), x.astype(ms.int32), x > y,
                    ops.gather(x, ms.Tensor([1, 0], ms.int32), 0), ops.expand_dims(x, 1), ops.flip(x, (0,)))

    class Numbers(nn.Cell):
        def construct(self, x, y):
            return (ops.sqrt(ops.abs(x) + 1) / ops.exp(y), ops.where(x > 0.5, x, ops.zeros_like(y)), x // y, x % y,
                    ops.clamp(x, 0.1, 0.9), ops.erf(x), ops.pow(ops.abs(x), y), ops.silu(x), ops.leaky_relu(x),
                    ops.elu(x), ops.softplus(x), ops.hardswish(x), ops.gelu(x, approximate="tanh"), ops.maximum(x, y),
                    ops.sigmoid(x) * ops.tanh(y), ops.round(x), ops.floor(x), -x, ops.logical_and(x > 0, y < 1))

    class Sums(nn.Cell):
        def construct(self, x):
            return (x.sum(), x.mean(0), ops.prod(x, 1), x.var(0), ops.topk(x, 2)[0], ops.cumsum(x, 1), x.max(),
                    ops.argmax(x, 1), ops.log_softmax(x, -1))

    class Varying(nn.Cell):
        def __init__(self):
            super().__init__()
            self.c, self.b, self.p = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.MaxPool2d(2, 2)
            self.flat, self.d = nn.Flatten(), nn.Dense(8, 3)

        def construct(self, x):
            return self.d(self.flat(self.p(self.b(self.c(x)))))

    class Branch(nn.Cell):
        def construct(self, x):
            if x.sum() > 0:
                y = x + 1
            else:
                y = x * 2
            return y - 1

    class Loop(nn.Cell):
        def __init__(self):
            super().__init__()
            self.d = nn.Dense(3, 3)

        def construct(self, x):
            i = ms.Tensor(0, ms.int32)
            while x.sum() < 1000:
                x = ops.abs(self.d(x)) + x * 2
                i = i + 1
            return x, i

    r = np.random.RandomState(0)

    def floats(*shape):
        return r.randn(*shape).astype(np.float32)
    return {
        "mlp": (lambda: nn.SequentialCell(nn.Dense(3, 4), nn.ReLU(), nn.Dense(4, 2)), [floats(5, 3)]),
        "lenet": (Lenet, [floats(2, 1, 28, 28)]),
        "resnet": (Resnet, [floats(2, 3, 16, 16)]),
        "encoder": (Encoder, [r.randint(0, 20, (2, 6)).astype(np.int32)]),
        "lstm": (Lstm, [floats(2, 5, 3)]),
        "deconv": (lambda: nn.SequentialCell(nn.Conv2dTranspose(4, 2, 2, 2), nn.AvgPool2d(2, 2)), [floats(1, 4, 4, 4)]),
        "shapes": (Shapes, [floats(2, 4), floats(2, 4)]),
        "numbers": (Numbers, [floats(2, 4), floats(2, 4)]),
        "sums": (Sums, [floats(2, 4)]),
        "branch": (Branch, [np.full((2, 3), -1, np.float32)]),
        "loop": (Loop, [np.ones((2, 3), np.float32)]),
        "varying": (Varying, [floats(3, 1, 4, 4)]),
    }


def arrays(o):
    return [a for x in o for a in arrays(x)] if isinstance(o, (tuple, list)) else [o.asnumpy()]


def write(ms, name, make, inputs, folder):
    r = np.random.RandomState(1)
    net = make()
    net.set_train(False)
    for p in net.get_parameters():
        v = r.randn(*p.shape).astype(np.float32) * 0.3
        p.set_data(ms.Tensor(abs(v) + 0.5 if "variance" in p.name else v))
    example = [ms.Tensor(shape=[None, *x.shape[1:]], dtype=x.dtype) for x in inputs] if name == "varying" else inputs
    ms.export(net, *example, file_name=os.path.join(folder, name), file_format="MINDIR")
    np.savez(os.path.join(folder, name), *arrays(net(*inputs)))


def read(ms, name, inputs, folder, run=lambda net: net):
    """The largest difference, in parts of the largest element; AssertionError where one is too large."""
    net = run(ms.nn.GraphCell(ms.load(os.path.join(folder, name + ".mindir"))))
    got, most = arrays(net(*inputs)), 0.0
    with np.load(os.path.join(folder, name + ".npz")) as wanted:
        assert len(got) == len(wanted.files)
        for a, k in zip(got, wanted.files):
            b = wanted[k]
            assert a.dtype == b.dtype and a.shape == b.shape, (k, a.dtype, a.shape, b.dtype, b.shape)
            largest = max(1, np.abs(b.astype(float)).max())
            np.testing.assert_allclose(a, b, 0, CLOSE * largest, err_msg=k)
            most = max(most, float(np.abs(a.astype(float) - b).max() / largest))
    return most


def main(package, what, folder):
    ms, failed = importlib.import_module(package), 0
    for name, (make, given) in networks(ms).items():
        inputs = [ms.Tensor(x) for x in given]
        try:
            if what == "write":
                write(ms, name, make, inputs, folder)
            else:
                print(f"  {name}: {read(ms, name, inputs, folder):.1e}")
        except Exception as e:
            failed += 1
            print(f"  {name}: {type(e).__name__}: {str(e)[:600]}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
