"""Indexed ops and distances: cdist, topk, scatter_add, index_add, nonzero, bilinear interpolation and its gradient.

Sizes are named "op numbers..."; nonzero: rows, columns and how many in a hundred are not 0."""

from head import Head


SIZES = (
    ["cdist 1024 1024 3", "cdist 512 512 128", "topk 1 1000000 100", "topk 64 10000 10", "topk 256 1000 400"]
    + ["scatter_add 1000000 1000000", "scatter_add 1000000 1000", "index_add 100000 64 10000",
       "scatter_rows 20000 64 1000"]
    + ["nonzero 1000 1000 50", "nonzero 1000 1000 1", "nonzero 64 64 50"]
    + [f"{op} {sizes}" for op in ("bilinear", "bilinear_grad")
       for sizes in ("8 16 64 128", "8 16 128 64", "1 3 224 640")]
)
SECONDS = 0.3


def _data(name):
    import numpy as np

    r = np.random.RandomState(0)
    kind, *more = name.split()
    n = [int(v) for v in more]
    if kind == "cdist":
        return [r.randn(n[0], n[2]).astype(np.float32), r.randn(n[1], n[2]).astype(np.float32)]
    if kind == "topk":
        return [r.randn(n[0], n[1]).astype(np.float32)]
    if kind == "scatter_add":
        return [np.zeros(n[1], np.float32), r.randint(0, n[1], n[0]), r.randn(n[0]).astype(np.float32)]
    if kind in ("index_add", "scatter_rows"):
        return [np.zeros((n[2], n[1]), np.float32), r.randint(0, n[2], n[0]), r.randn(n[0], n[1]).astype(np.float32)]
    if kind == "nonzero":
        return [(r.rand(n[0], n[1]) * 100 < n[2]).astype(np.float32)]
    return [r.randn(n[0], n[1], n[2], n[2]).astype(np.float32)]


def _pijit(name, use_jit):
    import numpy as np

    import pijit as ms
    from pijit import ops

    kind, *more = name.split()
    n = [int(v) for v in more]
    x = [ms.Tensor(a) for a in _data(name)]
    if kind in ("scatter_add", "scatter_rows"):
        x[1] = x[1].reshape(-1, 1)

    def loss(x):
        y = ops.interpolate(x, size=(n[3], n[3]), mode="bilinear", align_corners=False)
        return (y * y).sum()

    f = {
        "cdist": lambda x, y: ops.cdist(x, y),
        "topk": lambda x: ops.topk(x, n[2])[0],
        "scatter_add": ops.tensor_scatter_add,
        "scatter_rows": ops.tensor_scatter_add,
        "index_add": lambda x, i, y: ops.index_add(x, i, y, 0),
        "nonzero": ops.nonzero,
        "bilinear": lambda x: ops.interpolate(x, size=(n[3], n[3]), mode="bilinear", align_corners=False),
        "bilinear_grad": ms.grad(loss),
    }[kind]
    if kind == "index_add":
        x[0], x[1] = ms.Parameter(x[0], name="table"), x[1].astype(ms.int32)
    if use_jit and kind != "nonzero":  # the size of its result is known when it has run
        f = ms.jit(f)
    return Head(lambda: f(*x), lambda y: y.asnumpy(), np.sort)


def pijit(name):
    return _pijit(name, True)


def eager(name):
    return _pijit(name, False)


def torch(name):
    import numpy as np
    import torch

    kind, *more = name.split()
    n = [int(v) for v in more]
    x = [torch.from_numpy(a) for a in _data(name)]
    if kind == "bilinear_grad":
        x[0].requires_grad_()

    def up(x):
        return torch.nn.functional.interpolate(x, size=(n[3], n[3]), mode="bilinear", align_corners=False)

    def gradient(x):
        x.grad = None
        y = up(x)
        (y * y).sum().backward()
        return x.grad

    f = {
        "cdist": torch.cdist,
        "topk": lambda x: torch.topk(x, n[2])[0],
        "scatter_add": lambda x, i, y: x.scatter_add(0, i, y),
        "scatter_rows": lambda x, i, y: x.index_add(0, i, y),
        "index_add": lambda x, i, y: x.index_add(0, i, y),
        "nonzero": torch.nonzero,
        "bilinear": up,
        "bilinear_grad": gradient,
    }[kind]
    return Head(lambda: f(*x), lambda y: y.detach().numpy(), np.sort)


def mindspore(name):
    import mindspore as ms
    import numpy as np
    from mindspore import ops

    kind, *more = name.split()
    n = [int(v) for v in more]
    x = [ms.Tensor(a) for a in _data(name)]
    if kind in ("scatter_add", "scatter_rows"):
        x[1] = x[1].reshape(-1, 1)

    def up(x):
        return ops.interpolate(x, size=(n[3], n[3]), mode="bilinear", align_corners=False)

    def loss(x):
        y = up(x)
        return (y * y).sum()

    f = {
        "cdist": ops.cdist,
        "topk": lambda x: ops.topk(x, n[2])[0],
        "scatter_add": ops.tensor_scatter_add,
        "scatter_rows": ops.tensor_scatter_add,
        "index_add": lambda x, i, y: ops.index_add(x, i, y, 0),
        "nonzero": ops.nonzero,
        "bilinear": up,
        "bilinear_grad": ms.grad(loss),
    }[kind]
    if kind == "index_add":
        x[0], x[1] = ms.Parameter(x[0], name="table"), x[1].astype(ms.int32)

    def step():
        y = f(*x)
        y.asnumpy()  # ops run behind the program's back
        return y

    return Head(step, lambda y: y.asnumpy(), np.sort)
