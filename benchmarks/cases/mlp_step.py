"""Train step of an MLP 784-512-512-10, ReLU, MSE, Momentum(0.1, 0.9); size is the batch."""

SIZES = [64, 1]
LAYERS = (784, 512, 512, 10)


def work(batch):
    """Three products of a layer's size: forward, and two for the gradients; not the first layer's by its input."""
    sizes = [i * o for i, o in zip(LAYERS, LAYERS[1:])]
    return {"flops": 2 * batch * (3 * sum(sizes) - sizes[0])}


def _data(batch):
    import numpy as np
    r = np.random.RandomState(0)
    ws = [(r.randn(o, i) / i ** 0.5).astype(np.float32) for i, o in zip(LAYERS, LAYERS[1:])]
    bs = [np.zeros(o, np.float32) for o in LAYERS[1:]]
    # many batches, so that nothing converges to denormal numbers while it is timed
    return r.randn(64, batch, 784).astype(np.float32), r.randn(64, batch, 10).astype(np.float32), ws, bs


def _cycle(step, x, y):
    k = iter(range(10**9))

    def run():
        i = next(k) % 64
        return step(x[i], y[i])
    return run


def _step(library, batch, use_jit):
    import importlib
    ms = importlib.import_module(library)
    nn = ms.nn
    x, y, ws, bs = _data(batch)
    x, y = [ms.Tensor(a) for a in x], [ms.Tensor(a) for a in y]
    net = nn.SequentialCell(*[c for k in range(3)
                              for c in ((nn.Dense(LAYERS[k], LAYERS[k + 1], ms.Tensor(ws[k]), ms.Tensor(bs[k])),) +
                                        ((nn.ReLU(),) if k < 2 else ()))])
    loss_fn, opt = nn.MSELoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9)
    grad_fn = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, opt.parameters)

    def step(x, y):
        loss, grads = grad_fn(x, y)
        opt(grads)
        return loss
    if use_jit:
        step = ms.jit(step, capture_mode="bytecode")
    return _cycle(lambda x, y: step(x, y).asnumpy(), x, y)


def pijit(batch):
    return _step("pijit", batch, True)


def eager(batch):
    return _step("pijit", batch, False)


def _torch(batch, compiled):
    import torch
    x, y, ws, bs = _data(batch)
    x, y = [torch.from_numpy(a) for a in x], [torch.from_numpy(a) for a in y]
    layers = []
    for k in range(3):
        layer = torch.nn.Linear(LAYERS[k], LAYERS[k + 1])
        layer.weight.data, layer.bias.data = torch.from_numpy(ws[k].copy()), torch.from_numpy(bs[k].copy())
        layers += [layer] + ([torch.nn.ReLU()] if k < 2 else [])
    net = torch.nn.Sequential(*layers)
    opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)

    def forward(x, y):
        return torch.nn.functional.mse_loss(net(x), y)
    if compiled:
        forward = torch.compile(forward)

    def step(x, y):
        opt.zero_grad()
        loss = forward(x, y)
        loss.backward()
        opt.step()
        return loss.detach().numpy()
    return _cycle(step, x, y)


def torch(batch):
    return _torch(batch, False)


def torch_compile(batch):
    return _torch(batch, True)


def jax(batch):
    import functools

    import jax
    import jax.numpy as jnp
    x, y, ws, bs = _data(batch)

    def loss_fn(params, x, y):
        for k, (w, b) in enumerate(params):
            x = x @ w.T + b
            if k < 2:
                x = jax.nn.relu(x)
        return jnp.mean((x - y) ** 2)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def update(params, moments, x, y):
        loss, g = jax.value_and_grad(loss_fn)(params, x, y)
        moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, g)
        return jax.tree.map(lambda p, m: p - 0.1 * m, params, moments), moments, loss
    state = [[(jnp.asarray(w), jnp.asarray(b)) for w, b in zip(ws, bs)]]
    state.append(jax.tree.map(jnp.zeros_like, state[0]))
    x, y = [jnp.asarray(a) for a in x], [jnp.asarray(a) for a in y]

    def step(x, y):
        state[0], state[1], loss = update(state[0], state[1], x, y)
        return loss.block_until_ready()
    return _cycle(step, x, y)


def mindspore(batch):
    return _step("mindspore", batch, False)


def mindspore_pijit(batch):
    return _step("mindspore", batch, True)
