"""What the programs of this folder share: batches of a generator with a seed, the training step, the loop.

Each program has `build()`, which returns (network, loss, optimizer, batches): `loss(*batch)` is a scalar Tensor that
depends on the network's parameters, `batches(n)` gives n batches, each a tuple of Tensors. A program whose step is not
"gradient of the loss, then the optimizer" has a `make_step` of its own."""

import numpy as np

import mindspore as ms
from mindspore import Tensor


def make_step(network, loss, optimizer):
    """A function of a batch that trains the parameters of the optimizer once and returns the loss."""
    gradient = ms.value_and_grad(loss, None, optimizer.parameters)

    def step(*batch):
        value, grads = gradient(*batch)
        optimizer(grads)
        return value

    return step


def images(size, classes, batch=4, channels=3, seed=0):
    """A generator of n batches of images whose mean tells the class: (float32 [batch, channels, size, size], int32
    [batch])."""

    def batches(n):
        rng = np.random.default_rng(seed)
        for _ in range(n):
            label = rng.integers(0, classes, batch)
            image = rng.standard_normal((batch, channels, size, size)) * 0.5 + label[:, None, None, None] / classes
            yield Tensor(image.astype(np.float32)), Tensor(label.astype(np.int32))

    return batches


def run(program, steps=10):
    """Trains the network of a program for some steps under jit and prints the losses."""
    ms.set_seed(1)
    network, loss, optimizer, batches = program["build"]()
    network.set_train()
    step = program.get("make_step", make_step)(network, loss, optimizer)
    step = ms.jit(step, capture_mode="bytecode")
    for i, batch in enumerate(batches(steps)):
        print(f"step {i + 1}: loss {float(step(*batch)):.6f}")
