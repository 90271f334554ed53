"""Train step of LeNet-5 on 32 x 1 x 28 x 28, cross entropy, Momentum(0.01, 0.9)."""

SHAPES = [(6, 1, 5, 5), (6,), (16, 6, 5, 5), (16,), (120, 400), (120,), (84, 120), (84,), (10, 84), (10,)]


def work(size):
    """Forward, and twice for the gradients; not the first layer's by its input."""
    first, others = 28 * 28 * 6 * 25, 10 * 10 * 16 * 150 + 400 * 120 + 120 * 84 + 84 * 10
    return {"flops": 2 * 32 * (2 * first + 3 * others)}


def _data():
    import numpy as np
    r = np.random.RandomState(0)
    return r.randn(32, 1, 28, 28).astype(np.float32), r.randint(0, 10, 32)


def _weights():
    import numpy as np
    r = np.random.RandomState(1)
    return [(r.randn(*s) * 0.1).astype(np.float32) for s in SHAPES]


def _step(library, use_jit):
    import importlib

    import numpy as np
    ms = importlib.import_module(library)
    nn = ms.nn
    x, y = _data()
    x, y = ms.Tensor(x), ms.Tensor(y.astype(np.int32))
    net = nn.SequentialCell(nn.Conv2d(1, 6, 5, pad_mode="pad", padding=2, has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2),
                            nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True), nn.ReLU(),
                            nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(400, 120), nn.ReLU(), nn.Dense(120, 84),
                            nn.ReLU(), nn.Dense(84, 10))
    for p, w in zip(net.trainable_params(), _weights()):
        p.set_data(ms.Tensor(w))
    loss_fn, opt = nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.01, 0.9)
    grad_fn = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, opt.parameters)

    def step(x, y):
        loss, grads = grad_fn(x, y)
        opt(grads)
        return loss
    if use_jit:
        step = ms.jit(step, capture_mode="bytecode")
    return lambda: step(x, y).asnumpy()


def pijit(size):
    return _step("pijit", True)


def eager(size):
    return _step("pijit", False)


def _torch(compiled):
    import torch
    import torch.nn as nn
    x, y = map(torch.from_numpy, _data())
    net = nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(),
                        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 120), nn.ReLU(),
                        nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))
    with torch.no_grad():
        for p, w in zip(net.parameters(), _weights()):
            p.copy_(torch.from_numpy(w))
    opt = torch.optim.SGD(net.parameters(), 0.01, momentum=0.9)

    def forward(x, y):
        return torch.nn.functional.cross_entropy(net(x), y)
    if compiled:
        forward = torch.compile(forward)

    def step():
        opt.zero_grad()
        loss = forward(x, y)
        loss.backward()
        opt.step()
        return loss.detach().numpy()
    return step


def torch(size):
    return _torch(False)


def torch_compile(size):
    return _torch(True)


def jax(size):
    import functools

    import jax
    import jax.numpy as jnp
    x, y = map(jnp.asarray, _data())
    params = [jnp.asarray(w) for w in _weights()]

    def pool(x):
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def loss_fn(p, x, y):
        x = pool(jax.nn.relu(jax.lax.conv_general_dilated(x, p[0], (1, 1), [(2, 2), (2, 2)]) + p[1][:, None, None]))
        x = pool(jax.nn.relu(jax.lax.conv_general_dilated(x, p[2], (1, 1), "VALID") + p[3][:, None, None]))
        x = x.reshape(x.shape[0], -1)
        x = jax.nn.relu(x @ p[4].T + p[5])
        x = jax.nn.relu(x @ p[6].T + p[7])
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(x @ p[8].T + p[9]), y[:, None], 1))

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def update(p, m, x, y):
        loss, g = jax.value_and_grad(loss_fn)(p, x, y)
        m = jax.tree.map(lambda m, g: 0.9 * m + g, m, g)
        return jax.tree.map(lambda p, m: p - 0.01 * m, p, m), m, loss
    state = [params, jax.tree.map(jnp.zeros_like, params)]

    def step():
        state[0], state[1], loss = update(state[0], state[1], x, y)
        return loss.block_until_ready()
    return step


def mindspore(size):
    return _step("mindspore", False)


def mindspore_pijit(size):
    return _step("mindspore", True)
