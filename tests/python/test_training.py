"""Generated networks, losses and optimizers: three training steps, plain against jitted in several places."""

import os

import numpy as np
from hypothesis import given, settings, strategies as st

import pijit as ms
from pijit import Tensor, nn, ops

EXAMPLES = int(os.environ.get("PIJIT_FUZZ", "60"))

LAYERS = {
    "dense": lambda w: (nn.Dense(w, 5), 5), "dense_nobias": lambda w: (nn.Dense(w, 7, has_bias=False), 7),
    "dense_act": lambda w: (nn.Dense(w, 6, activation="tanh"), 6), "relu": lambda w: (nn.ReLU(), w),
    "tanh": lambda w: (nn.Tanh(), w), "sigmoid": lambda w: (nn.Sigmoid(), w), "gelu": lambda w: (nn.GELU(), w),
    "leaky": lambda w: (nn.LeakyReLU(0.1), w), "norm": lambda w: (nn.LayerNorm((w,)), w),
    "batch_norm": lambda w: (nn.BatchNorm1d(w), w), "dropout": lambda w: (nn.Dropout(p=0.3), w),
    "softmax": lambda w: (nn.Softmax(), w), "residual": lambda w: (Residual(w), w), "gate": lambda w: (Gate(w), w),
    "shared": lambda w: (Shared(w), w), "noisy": lambda w: (Noisy(), w)}


class Residual(nn.Cell):
    def __init__(self, w):
        super().__init__()
        self.fc, self.act = nn.Dense(w, w), nn.ReLU()

    def construct(self, x):
        return x + self.act(self.fc(x))


class Gate(nn.Cell):
    """A branch on a tensor, and a parameter that only one arm uses."""

    def __init__(self, w):
        super().__init__()
        self.w, self.b = (ms.Parameter(Tensor(np.linspace(0.5, 1.5, w, dtype=np.float32)), name="w"),
                          ms.Parameter(Tensor(np.zeros(w, np.float32)), name="b"))

    def construct(self, x):
        if x.mean() > 0:
            x = x * self.w
        else:
            x = x - self.b
        return x


class Shared(nn.Cell):
    """One layer used twice, counted in Python."""

    def __init__(self, w):
        super().__init__()
        self.fc, self.calls = nn.Dense(w, w), 0

    def construct(self, x):
        self.calls += 1
        return self.fc(self.fc(x) * 0.5)


class Noisy(nn.Cell):
    """A call that no graph can hold."""

    def construct(self, x):
        print("shape", x.shape, end=";")
        return x * 0.9


class Net(nn.Cell):
    def __init__(self, names, width, classes):
        super().__init__()
        layers = []
        for name in names:
            layer, width = LAYERS[name](width)
            layers.append(layer)
        self.layers, self.head = nn.SequentialCell(layers), nn.Dense(width, classes)

    def construct(self, x):
        return self.head(self.layers(x))


def optimizer(kind, params):
    if kind == "sgd":
        return nn.SGD(params, 0.1, momentum=0.9, weight_decay=0.01)
    if kind == "momentum":
        return nn.Momentum(params, nn.exponential_decay_lr(0.1, 0.9, 10, 2, 1), 0.9)
    if kind == "adam":
        return nn.Adam(params, 0.01)
    if kind == "adamw":
        return nn.AdamWeightDecay(params, 0.01)
    return nn.RMSProp(params, 0.01)


def train(names, kind, loss, where, rows):
    ms.set_seed(5)
    net = Net(names, 4, 3)
    net.set_train()
    if where == "net":
        net.construct = ms.jit(net.construct)
    loss_fn = {"mse": lambda y, t: ((y -
                                     ops.one_hot(t, 3, Tensor(1.0, ms.float32), Tensor(0.0, ms.float32))) ** 2).mean(),
                                     "cross": nn.CrossEntropyLoss(),
               "smooth": nn.CrossEntropyLoss(label_smoothing=0.1)}[loss]
    opt = optimizer(kind, net.trainable_params())

    def forward(x, t):
        y = net(x)
        return loss_fn(y, t), y
    if where == "forward":
        forward = ms.jit(forward)
    grad_fn = ms.value_and_grad(forward, None, opt.parameters, has_aux=True)

    def step(x, t):
        (value, y), grads = grad_fn(x, t)
        opt(grads)
        return value, y
    if where == "step":
        step = ms.jit(step)
    r = np.random.RandomState(0)
    record = []
    for n in rows:
        value, y = step(Tensor(r.randn(n, 4).astype(np.float32)), Tensor(r.randint(0, 3, n).astype(np.int32)))
        record.append((value.asnumpy().tobytes(), y.asnumpy().tobytes()))
    record.append([(p.name, p.asnumpy().tobytes()) for p in net.get_parameters()])
    record.append([(p.name, p.asnumpy().tobytes()) for p in opt.get_parameters()])
    record.append([c.calls for c in net.layers if isinstance(c, Shared)])
    return record


@settings(max_examples=EXAMPLES)
@given(st.lists(st.sampled_from(sorted(LAYERS)), min_size=1, max_size=5),
       st.sampled_from(["sgd", "momentum", "adam", "adamw", "rmsprop"]), st.sampled_from(["mse", "cross", "smooth"]),
       st.sampled_from(["step", "forward", "net"]), st.sampled_from([(6, 6, 6), (6, 4, 5), (3, 3, 1)]))
def test_generated_training(names, kind, loss, where, rows):
    plain, jitted = train(names, kind, loss, None, rows), train(names, kind, loss, where, rows)
    for step, (a, b) in enumerate(zip(plain, jitted)):
        assert a == b, f"step {step} of {names}, {kind}, {loss}, jit on {where}"
