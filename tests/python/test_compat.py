"""A script written for MindSpore runs unmodified."""

import subprocess
import sys

SCRIPT = '''
import sys
import numpy as np
import mindspore as ms
from mindspore import Tensor, Parameter, ParameterTuple, context, nn, ops, jit, value_and_grad
import mindspore.nn as nn2
import mindspore.ops.operations as P
import mindspore.ops.functional as F
from mindspore.common import dtype as mstype
from mindspore.common.initializer import Normal, initializer
from mindspore.train.serialization import save_checkpoint, load_checkpoint
from mindspore.common.api import jit as jit2

context.set_context(mode=context.PYNATIVE_MODE, device_target="Ascend")
ms.set_seed(1)

class Net(nn.Cell):
    def __init__(self):
        super(Net, self).__init__()
        self.conv = nn.Conv2d(1, 4, 3, weight_init=Normal(0.1))
        self.relu = nn.ReLU()
        self.flatten = nn.Flatten()
        self.fc = nn.Dense(4 * 6 * 6, 3)
        self.mul = P.Mul()
        self.scale = Parameter(initializer("ones", [3], mstype.float32), name="scale")

    def construct(self, x):
        return self.mul(self.fc(self.flatten(self.relu(self.conv(x)))), self.scale)

net = Net()
loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
opt = nn.Adam(net.trainable_params(), learning_rate=0.01)

def forward(x, y):
    logits = net(x)
    return loss_fn(logits, y), logits

grad_fn = value_and_grad(forward, None, opt.parameters, has_aux=True)

@jit(mode="PIJit")
def step(x, y):
    (loss, _), grads = grad_fn(x, y)
    loss = ops.depend(loss, opt(grads))
    return loss

x = Tensor(np.random.RandomState(0).randn(8, 1, 6, 6), ms.float32)
y = Tensor(np.arange(8) % 3, mstype.int32)
losses = [float(step(x, y).asnumpy()) for _ in range(30)]
assert losses[-1] < losses[0] * 0.7, losses
save_checkpoint(net, sys.argv[1])
assert "fc.weight" in load_checkpoint(sys.argv[1])
print("OK", type(net.fc.weight).__name__, F.reduce_sum(x).shape if hasattr(F, "reduce_sum") else ops.ReduceSum()(x).shape)
'''


def test_script_runs_unmodified(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    r = subprocess.run([sys.executable, "-m", "pijit", "--as", "mindspore", "--device", "CPU", str(script), str(tmp_path / "net.ckpt")], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
    assert r.stdout.startswith("OK Parameter")


def test_unknown_package_and_missing_script(tmp_path):
    r = subprocess.run([sys.executable, "-m", "pijit", str(tmp_path / "nope.py")], capture_output=True, text=True)
    assert r.returncode == 2 and "no such file" in r.stderr
