"""Train step of an LSTM layer, 64 to 64, over size steps of 16 sequences: mean square of a Dense of all states,
Momentum(0.01, 0.9)."""

SIZES = [100, 500]
BATCH, WIDTH = 16, 64


def work(steps):
    """Two products of 64 x 256 per row forward, and two each for their gradients; not the input's."""
    return {"flops": 2 * steps * BATCH * WIDTH * 4 * WIDTH * 5}


def _data(steps):
    import numpy as np
    r = np.random.RandomState(0)
    bound = WIDTH ** -0.5
    weights = [r.uniform(-bound, bound, s).astype(np.float32)
               for s in ((4 * WIDTH, WIDTH), (4 * WIDTH, WIDTH), (4 * WIDTH,), (4 * WIDTH,), (1, WIDTH))]
    return r.randn(steps, BATCH, WIDTH).astype(np.float32), weights


def _step(library, steps, use_jit):
    import importlib
    ms = importlib.import_module(library)
    nn = ms.nn
    x, weights = _data(steps)
    x = ms.Tensor(x)
    lstm, last = nn.LSTM(WIDTH, WIDTH), nn.Dense(WIDTH, 1, ms.Tensor(weights[4]), "zeros")
    for p, w in zip((lstm.w_ih_list[0], lstm.w_hh_list[0], lstm.b_ih_list[0], lstm.b_hh_list[0]), weights):
        p.set_data(ms.Tensor(w))
    parameters = [*lstm.trainable_params(), *last.trainable_params()]
    for k, p in enumerate(parameters):
        p.name = f"{k}.{p.name}"
    opt = nn.Momentum(parameters, 0.01, 0.9)
    grad_fn = ms.value_and_grad(lambda x: (last(lstm(x)[0]) ** 2).mean(), None, opt.parameters)

    def step(x):
        loss, grads = grad_fn(x)
        opt(grads)
        return loss
    if use_jit:
        step = ms.jit(step, capture_mode="bytecode")
    return lambda: step(x).asnumpy()


def pijit(steps):
    return _step("pijit", steps, True)


def eager(steps):
    return _step("pijit", steps, False)


def _torch(steps, compiled):
    import torch
    x, weights = _data(steps)
    x = torch.from_numpy(x)
    lstm, last = torch.nn.LSTM(WIDTH, WIDTH), torch.nn.Linear(WIDTH, 1)
    for name, w in zip(("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0"), weights):
        getattr(lstm, name).data = torch.from_numpy(w.copy())
    last.weight.data, last.bias.data = torch.from_numpy(weights[4].copy()), torch.zeros(1)
    opt = torch.optim.SGD([*lstm.parameters(), *last.parameters()], 0.01, momentum=0.9)

    def forward(x):
        return (last(lstm(x)[0]) ** 2).mean()
    if compiled:
        forward = torch.compile(forward)

    def step():
        opt.zero_grad()
        loss = forward(x)
        loss.backward()
        opt.step()
        return loss.detach().numpy()
    return step


def torch(steps):
    return _torch(steps, False)


def torch_compile(steps):
    return _torch(steps, True)


def jax(steps):
    import functools

    import jax
    import jax.numpy as jnp
    x, weights = _data(steps)
    x, weights = jnp.asarray(x), [*map(jnp.asarray, weights), jnp.zeros(1)]

    def loss_fn(p, x):
        of_x = x @ p[0].T + p[2] + p[3]

        def turn(state, gates):
            h, c = state
            i, f, g, o = jnp.split(gates + h @ p[1].T, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        zeros = jnp.zeros((BATCH, WIDTH))
        y = jax.lax.scan(turn, (zeros, zeros), of_x)[1]
        return jnp.mean((y @ p[4].T + p[5]) ** 2)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def update(p, v, x):
        loss, g = jax.value_and_grad(loss_fn)(p, x)
        v = [0.9 * a + b for a, b in zip(v, g)]
        return [a - 0.01 * b for a, b in zip(p, v)], v, loss
    state = [weights, [jnp.zeros_like(w) for w in weights]]

    def step():
        state[0], state[1], loss = update(state[0], state[1], x)
        return loss.block_until_ready()
    return step


def mindspore(steps):
    return _step("mindspore", steps, False)


def mindspore_pijit(steps):
    return _step("mindspore", steps, True)
