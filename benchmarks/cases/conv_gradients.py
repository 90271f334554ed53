"""Gradients of convolutions by input and weight: every combination of groups, dilation and stride.

8 images of 32 channels; sizes are named "groups dilation stride kernel map"."""

SIZES = [
    f"{groups} {dilation} {stride} {kernel} {side}"
    for groups in (1, 4, 32)
    for dilation in (1, 2)
    for stride in (1, 2)
    for kernel, side in ((3, 28), (5, 14), (1, 28))
    if kernel > 1 or dilation == 1
]
SECONDS = 0.3


def work(size):
    groups, dilation, stride, kernel, side = (int(v) for v in size.split())
    return {"flops": 2 * 2 * 8 * 32 * (32 // groups) * kernel**2 * ((side - 1) // stride + 1) ** 2}


def _data(size):
    import numpy as np

    groups, dilation, stride, kernel, side = (int(v) for v in size.split())
    r = np.random.RandomState(0)
    x = r.randn(8, 32, side, side).astype(np.float32)
    w = r.randn(32, 32 // groups, kernel, kernel).astype(np.float32)
    return x, w, groups, dilation, stride, dilation * (kernel - 1) // 2


def pijit(size):
    import pijit as ms
    from pijit import ops

    x, w, groups, dilation, stride, pad = _data(size)
    x, w = ms.Tensor(x), ms.Tensor(w)

    def loss(x, w):
        y = ops.conv2d(x, w, stride=stride, pad_mode="pad", padding=pad, dilation=dilation, groups=groups)
        return (y * y).sum()

    f = ms.jit(ms.grad(loss, (0, 1)))
    return lambda: f(x, w)[1].asnumpy()


def torch(size):
    import torch

    x, w, groups, dilation, stride, pad = _data(size)
    x, w = torch.from_numpy(x).requires_grad_(), torch.from_numpy(w).requires_grad_()

    def step():
        x.grad = w.grad = None
        y = torch.nn.functional.conv2d(x, w, stride=stride, padding=pad, dilation=dilation, groups=groups)
        (y * y).sum().backward()
        return w.grad.numpy()

    return step
