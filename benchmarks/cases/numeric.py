"""float64 functions, trigonometry, whole-array reductions, rows, stencils and broadcasts.

Black-Scholes in float64, a * b + c * sin(d), chains of sin(x) + x on 64 x 64, reductions and rows of 2048 x 1024, a
5-point Laplacian of 1024 x 1024 in float64, and the forces of 1024 bodies by broadcasting in float64."""

from head import Head


SIZES = (
    [f"black_scholes {n}" for n in (1000, 100000, 1000000, 10000000)]
    + [f"trig {n} {t}" for t in ("float32", "float64") for n in (1000, 100000, 1000000, 10000000)]
    + [f"chain {n}" for n in (10, 100, 1000)]
    + ["mean_std", "dot", "softmax", "layer_norm", "logsumexp", "laplacian", "bodies"]
)
SECONDS = 0.6
ROWS = ("mean_std", "dot", "softmax", "layer_norm", "logsumexp")


def _data(name):
    import numpy as np

    r = np.random.RandomState(0)
    kind, *more = name.split()
    if kind == "black_scholes":
        n = int(more[0])
        return [r.uniform(5, 30, n), r.uniform(1, 100, n), r.uniform(0.25, 10, n)]
    if kind == "trig":
        return [r.randn(int(more[0])).astype(more[1]) for _ in range(4)]
    if kind == "chain":
        return [r.randn(64, 64).astype(np.float32)]
    if kind in ROWS:
        return [r.randn(2048, 1024).astype(np.float32) for _ in range(2 if kind == "dot" else 1)]
    return [r.randn(1024, 1024) if kind == "laplacian" else r.randn(1024, 3)]


def _function(name, m):
    """The case as users write it; m has the functions of a framework."""
    kind, *more = name.split()

    def black_scholes(s, k, t):
        r, v = 0.02, 0.3
        root = v * m.sqrt(t)
        d1 = (m.log(s / k) + (r + 0.5 * v * v) * t) / root
        c1 = 0.5 + 0.5 * m.erf(d1 * 0.7071067811865476)
        c2 = 0.5 + 0.5 * m.erf((d1 - root) * 0.7071067811865476)
        disc = k * m.exp(-r * t)
        call = s * c1 - disc * c2
        return call, call - s + disc

    def chain(x):
        for _ in range(int(more[0])):
            x = m.sin(x) + x
        return x

    def mean_std(x):
        mean = x.mean()
        return mean, m.sqrt(((x - mean) ** 2).mean())

    def softmax(x):
        e = m.exp(x - m.amax(x)[:, None])
        return e / e.sum(1)[:, None]

    def layer_norm(x):
        d = x - x.mean(1)[:, None]
        return d / m.sqrt((d * d).mean(1)[:, None] + 1e-5)

    def logsumexp(x):
        top = m.amax(x)
        return m.log(m.exp(x - top[:, None]).sum(1)) + top

    def laplacian(u):
        return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]

    def bodies(p):
        d = p[None, :, :] - p[:, None, :]
        r2 = (d * d).sum(2) + 1e-3
        return (d * (1.0 / (r2 * m.sqrt(r2)))[:, :, None]).sum(1)

    return {
        "black_scholes": black_scholes,
        "trig": lambda a, b, c, d: a * b + c * m.sin(d),
        "chain": chain,
        "mean_std": mean_std,
        "dot": lambda x, y: (x * y).sum(),
        "softmax": softmax,
        "layer_norm": layer_norm,
        "logsumexp": logsumexp,
        "laplacian": laplacian,
        "bodies": bodies,
    }[kind]


def work(name):
    """Operands and results, once each; the bodies' pairs take 20 operations each."""
    kind, *more = name.split()
    n = int(more[0]) if more else 0
    if kind == "bodies":
        return {"flops": 20 * 1024 * 1024}
    return {"bytes": {"black_scholes": 5 * 8 * n, "trig": 5 * n * (8 if "float64" in more else 4),
                      "chain": 2 * 4 * 64 * 64,
                      "mean_std": 4 << 21, "dot": 8 << 21, "softmax": 8 << 21, "layer_norm": 8 << 21,
                      "logsumexp": 4 << 21, "laplacian": 16 << 20}[kind]}


class _Names:
    def __init__(self, **functions):
        self.__dict__.update(functions)


def _pijit(name, use_jit):
    import pijit as ms
    from pijit import ops

    x = [ms.Tensor(a) for a in _data(name)]
    f = _function(
        name, _Names(log=ops.log, exp=ops.exp, sqrt=ops.sqrt, erf=ops.erf, sin=ops.sin, amax=lambda x: ops.amax(x, 1))
    )
    if use_jit:
        f = ms.jit(f)
    return Head(lambda: f(*x), lambda r: r.asnumpy())


def pijit(name):
    return _pijit(name, True)


def eager(name):
    return _pijit(name, False)


def _torch(name, compiled):
    import torch

    x = [torch.from_numpy(a) for a in _data(name)]
    f = _function(
        name,
        _Names(
            log=torch.log, exp=torch.exp, sqrt=torch.sqrt, erf=torch.erf, sin=torch.sin, amax=lambda x: torch.amax(x, 1)
        ),
    )
    if compiled:
        f = torch.compile(f)
    return Head(lambda: f(*x), lambda r: r.numpy())


def torch(name):
    return _torch(name, False)


def torch_compile(name):
    return _torch(name, True)


def jax(name):
    import jax
    import jax.numpy as jnp
    import numpy as np

    jax.config.update("jax_enable_x64", True)
    x = [jnp.asarray(a) for a in _data(name)]
    f = jax.jit(
        _function(
            name,
            _Names(
                log=jnp.log, exp=jnp.exp, sqrt=jnp.sqrt, erf=jax.scipy.special.erf, sin=jnp.sin, amax=lambda x: x.max(1)
            ),
        )
    )
    return Head(lambda: jax.block_until_ready(f(*x)), np.asarray)


def numpy(name):
    import math

    import numpy as np

    if name.split()[0] == "black_scholes" and int(name.split()[1]) > 100000:
        raise NotImplementedError("NumPy has no erf: each element is a call")
    f = _function(
        name,
        _Names(
            log=np.log,
            exp=np.exp,
            sqrt=np.sqrt,
            erf=np.vectorize(math.erf, otypes=[float]),
            sin=np.sin,
            amax=lambda x: x.max(1),
        ),
    )
    x = _data(name)
    return Head(lambda: f(*x), np.asarray)


def numba(name):
    import math

    import numba
    import numpy as np

    options = {"parallel": True, "fastmath": True}

    @numba.njit(**options)
    def mean_std(x):
        total, squares = 0.0, 0.0
        for i in numba.prange(x.shape[0]):
            for j in range(x.shape[1]):
                total += x[i, j]
                squares += x[i, j] * x[i, j]
        mean = total / x.size
        return np.array([mean]), np.array([math.sqrt(squares / x.size - mean * mean)])

    @numba.njit(**options)
    def dot(x, y):
        total = 0.0
        for i in numba.prange(x.shape[0]):
            for j in range(x.shape[1]):
                total += x[i, j] * y[i, j]
        return np.array([total])

    @numba.njit(**options)
    def layer_norm(x):
        out = np.empty_like(x)
        for i in numba.prange(x.shape[0]):
            total, squares = np.float32(0), np.float32(0)
            for j in range(x.shape[1]):
                total += x[i, j]
            mean = total / np.float32(x.shape[1])
            for j in range(x.shape[1]):
                squares += (x[i, j] - mean) ** 2
            scale = np.float32(1) / math.sqrt(squares / np.float32(x.shape[1]) + np.float32(1e-5))
            for j in range(x.shape[1]):
                out[i, j] = (x[i, j] - mean) * scale
        return out

    @numba.njit(**options)
    def laplacian(u):
        out = np.empty((u.shape[0] - 2, u.shape[1] - 2))
        for i in numba.prange(out.shape[0]):
            for j in range(out.shape[1]):
                out[i, j] = u[i, j + 1] + u[i + 2, j + 1] + u[i + 1, j] + u[i + 1, j + 2] - 4.0 * u[i + 1, j + 1]
        return out

    @numba.njit(**options)
    def bodies(p):
        out = np.zeros_like(p)
        for i in numba.prange(len(p)):
            for j in range(len(p)):
                dx, dy, dz = p[j, 0] - p[i, 0], p[j, 1] - p[i, 1], p[j, 2] - p[i, 2]
                r2 = dx * dx + dy * dy + dz * dz + 1e-3
                w = 1.0 / (r2 * math.sqrt(r2))
                out[i, 0] += dx * w
                out[i, 1] += dy * w
                out[i, 2] += dz * w
        return out

    @numba.njit(**options)
    def trig(a, b, c, d):
        out = np.empty_like(a)
        for i in numba.prange(len(a)):
            out[i] = a[i] * b[i] + c[i] * math.sin(d[i])
        return out

    kind = name.split()[0]
    functions = {
        "mean_std": mean_std,
        "dot": dot,
        "layer_norm": layer_norm,
        "laplacian": laplacian,
        "bodies": bodies,
        "trig": trig,
    }
    if kind not in functions:
        raise NotImplementedError("no loops are written for it")
    f = functions[kind]
    x = _data(name)
    return Head(lambda: f(*x), np.asarray)


def numexpr(name):
    import numexpr
    import numpy as np

    if name.split()[0] != "trig":
        raise NotImplementedError("numexpr: elementwise only")
    a, b, c, d = _data(name)
    return Head(lambda: numexpr.evaluate("a * b + c * sin(d)", {"a": a, "b": b, "c": c, "d": d}), np.asarray)
