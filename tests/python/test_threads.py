"""What one thread compiled, another runs: the same bits. Scratch memory must not belong to the thread that compiled."""

import threading

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, nn, ops

R = np.random.RandomState(0)


def tensor(*shape):
    return Tensor(R.randn(*shape).astype(np.float32))


NETS = {"odd channels": (lambda: nn.Conv2d(29, 37, 3), (2, 29, 10, 10)),
        "image": (lambda: nn.Conv2d(3, 64, 7, stride=2), (2, 3, 32, 32)),
        "groups": (lambda: nn.Conv2d(64, 64, 3, group=4), (2, 64, 9, 9)),
        "volume": (lambda: nn.Conv3d(8, 8, 3), (2, 8, 8, 8, 8)),
        "transposed": (lambda: nn.Conv2dTranspose(8, 16, 3), (2, 8, 10, 10)),
        "dense": (lambda: nn.Dense(130, 270), (70, 130)),
        "net": (lambda: nn.SequentialCell(nn.Conv2d(16, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Conv2d(32, 32, 3), nn.AvgPool2d(3, 2)), (4, 16, 16, 16)),
        "layer norm": (lambda: nn.SequentialCell(nn.LayerNorm((65,)), nn.Softmax()), (700, 65))}


def arrays(result):
    return [result.asnumpy().tobytes()] if isinstance(result, Tensor) else [a for r in result for a in arrays(r)]


@pytest.mark.parametrize("name", sorted(NETS))
def test_another_thread_runs_it(name):
    make, shape = NETS[name]
    net, x = make(), tensor(*shape)
    for p in net.trainable_params():
        p.set_data(tensor(*p.shape))
    step = ms.jit(ms.value_and_grad(lambda x: ops.square(net(x)).sum(), 0, net.trainable_params()))
    want = arrays(step(x))
    got = []
    threads = [threading.Thread(target=lambda: got.append(arrays(step(x)))) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert got == [want] * 3
