"""Train step of a residual network, 16 x 3 x 32 x 32: stem, two basic blocks of 64 channels, global pooling;
Momentum(0.01, 0.9)."""

N, C = 16, 64


def work(size):
    """Forward, and twice for the gradients; not the first layer's by its input."""
    first, others = 32 * 32 * C * 27, 4 * 16 * 16 * C * C * 9 + 10 * C
    return {"flops": 2 * N * (2 * first + 3 * others)}


def _data():
    import numpy as np
    r = np.random.RandomState(0)
    return r.randn(N, 3, 32, 32).astype(np.float32), r.randint(0, 10, N).astype(np.int32)


def _weights():
    import numpy as np
    r = np.random.RandomState(1)
    convs = [(C, 3, 3, 3)] + [(C, C, 3, 3)] * 4
    return ([(r.randn(*s) / np.sqrt(np.prod(s[1:]))).astype(np.float32) for s in convs] +
            [(r.randn(10, C) * 0.1).astype(np.float32)])


def _pijit(use_jit):
    import pijit as ms
    from pijit import nn, ops
    x, y = map(ms.Tensor, _data())

    class Block(nn.Cell):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(C, C, 3, pad_mode="pad", padding=1)
            self.bn1 = nn.BatchNorm2d(C)
            self.conv2 = nn.Conv2d(C, C, 3, pad_mode="pad", padding=1)
            self.bn2 = nn.BatchNorm2d(C)
            self.relu = nn.ReLU()

        def construct(self, x):
            out = self.relu(self.bn1(self.conv1(x)))
            return self.relu(self.bn2(self.conv2(out)) + x)

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, C, 3, pad_mode="pad", padding=1)
            self.bn, self.relu, self.pool = nn.BatchNorm2d(C), nn.ReLU(), nn.MaxPool2d(2, 2)
            self.blocks = nn.SequentialCell(Block(), Block())
            self.head = nn.Dense(C, 10)

        def construct(self, x):
            x = self.pool(self.relu(self.bn(self.conv(x))))
            return self.head(ops.mean(self.blocks(x), (2, 3)))
    net = Net()
    net.set_train()
    weights = iter(_weights())
    for p in net.trainable_params():
        if p.ndim > 1:
            p.set_data(ms.Tensor(next(weights)))
        elif p.name == "head.bias":
            p.set_data(ms.Tensor([0.0] * 10))
    loss_fn, opt = nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.01, 0.9)
    grad_fn = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, opt.parameters)

    def step(x, y):
        loss, grads = grad_fn(x, y)
        opt(grads)
        return loss
    if use_jit:
        step = ms.jit(step)
    return lambda: step(x, y).asnumpy()


def pijit(size):
    return _pijit(True)


def eager(size):
    return _pijit(False)


def _torch(compiled):
    import torch
    import torch.nn as nn
    x, y = map(torch.from_numpy, _data())
    y = y.long()

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(C, C, 3, padding=1, bias=False)
            self.bn1 = nn.BatchNorm2d(C)
            self.conv2 = nn.Conv2d(C, C, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(C)

        def forward(self, x):
            out = torch.relu(self.bn1(self.conv1(x)))
            return torch.relu(self.bn2(self.conv2(out)) + x)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(3, C, 3, padding=1, bias=False)
            self.bn, self.pool = nn.BatchNorm2d(C), nn.MaxPool2d(2, 2)
            self.blocks = nn.Sequential(Block(), Block())
            self.head = nn.Linear(C, 10)

        def forward(self, x):
            x = self.pool(torch.relu(self.bn(self.conv(x))))
            return self.head(self.blocks(x).mean((2, 3)))
    net = Net()
    weights = iter(_weights())
    with torch.no_grad():
        for p in net.parameters():
            if p.ndim > 1:
                p.copy_(torch.from_numpy(next(weights)))
        net.head.bias.zero_()
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
    w = [jnp.asarray(v) for v in _weights()]
    norms = [(jnp.ones(C), jnp.zeros(C)) for _ in range(5)]
    params = (w[:5], norms, w[5], jnp.zeros(10))
    moving = [(jnp.zeros(C), jnp.ones(C)) for _ in range(5)]

    def conv_norm(p, moving, i, x):
        x = jax.lax.conv_general_dilated(x, p[0][i], (1, 1), [(1, 1), (1, 1)])
        mean = x.mean((0, 2, 3))
        var = ((x - mean[:, None, None]) ** 2).mean((0, 2, 3))
        count = x.size // C
        moving[i] = (0.9 * moving[i][0] + 0.1 * mean, 0.9 * moving[i][1] + 0.1 * var * (count / (count - 1)))
        scale = p[1][i][0] * jax.lax.rsqrt(var + 1e-5)
        return (x - mean[:, None, None]) * scale[:, None, None] + p[1][i][1][:, None, None]

    def loss_fn(p, moving, x, y):
        moving = list(moving)
        x = jax.nn.relu(conv_norm(p, moving, 0, x))
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        for i in (1, 3):
            out = jax.nn.relu(conv_norm(p, moving, i, x))
            x = jax.nn.relu(conv_norm(p, moving, i + 1, out) + x)
        logits = x.mean((2, 3)) @ p[2].T + p[3]
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1)), moving

    @functools.partial(jax.jit, donate_argnums=(0, 1, 2))
    def update(p, m, moving, x, y):
        (loss, moving), g = jax.value_and_grad(loss_fn, has_aux=True)(p, moving, x, y)
        m = jax.tree.map(lambda m, g: 0.9 * m + g, m, g)
        return jax.tree.map(lambda p, m: p - 0.01 * m, p, m), m, moving, loss
    state = [params, jax.tree.map(jnp.zeros_like, params), moving]

    def step():
        state[0], state[1], state[2], loss = update(*state, x, y)
        return loss.block_until_ready()
    return step
