"""A script written for MindSpore runs unmodified."""

import subprocess
import sys

import pytest

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
print("OK", type(net.fc.weight).__name__,
      F.reduce_sum(x).shape if hasattr(F, "reduce_sum") else ops.ReduceSum()(x).shape)
'''


def test_script_runs_unmodified(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    r = subprocess.run([sys.executable, "-m", "pijit", "--as", "mindspore", "--device", "CPU", str(script),
                        str(tmp_path / "net.ckpt")], capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
    assert r.stdout.startswith("OK Parameter")


def test_unknown_package_and_missing_script(tmp_path):
    r = subprocess.run([sys.executable, "-m", "pijit", str(tmp_path / "nope.py")], capture_output=True, text=True)
    assert r.returncode == 2 and "no such file" in r.stderr


def run(code, *args):
    r = subprocess.run([sys.executable, "-c", "import pijit.compat; pijit.compat.install()\n" + code, *args],
                       capture_output=True, text=True)
    assert r.returncode == 0, r.stderr
    return r.stdout


STEP = '''
import numpy as np
import mindspore as ms
import mindspore.nn as nn
import mindspore.ops as ops
import mindspore.ops.operations as P
import mindspore.ops.functional as F
from mindspore import Tensor
from mindspore.common import dtype as mstype

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.bn = nn.BatchNorm2d(4)
        self.cat = P.Concat(axis=1)
        self.fc = nn.Dense(8, 2)

    def construct(self, x):
        x = self.bn(self.conv(x))
        x = self.cat((F.tanh(x), ops.relu(x)))
        return self.fc(ops.mean(x, (2, 3))) * ms.numpy.ones(2, mstype.float32)

def train(jitted):
    ms.set_seed(3)
    net = Net().set_train()
    loss_fn, opt = nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), 0.01)
    grad = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, opt.parameters)

    def step(x, y):
        loss, grads = grad(x, y)
        opt(grads)
        return loss
    step = ms.jit(step) if jitted else step
    x, y = Tensor(np.random.RandomState(0).randn(4, 3, 6, 6), mstype.float32), Tensor([0, 1, 1, 0], ms.int32)
    losses = [step(x, y).asnumpy().tobytes() for _ in range(4)]
    if jitted:
        e = ms.explain(step)
        assert len(e.graphs) == 1 and not e.breaks and e.compile_count == 1, str(e)
    return losses
assert train(False) == train(True)
'''


def test_a_training_step_is_one_graph():
    run(STEP)


def test_modules_are_our_own():
    run('''
import importlib, importlib.util, inspect, pickle, sys
import mindspore
from mindspore import nn, ops
import pijit
assert mindspore is pijit and ops is pijit.ops and mindspore.__version__ == "2.7.1"
for name in ("relu", "functional", "operations", "composite"):
    assert name in vars(ops), name
import mindspore.ops.operations as P
import mindspore.numpy as mnp
import mindspore.common.dtype as mstype
import mindspore.nn.layer.conv, mindspore.nn.optim.optimizer, mindspore.ops.operations.nn_ops
import mindspore.train.serialization
assert P is ops.operations and mnp is pijit.numpy and mstype is mindspore.dtype and mstype.float32 is mindspore.float32
assert pijit.ops.operations.nn_ops.Conv2D is P.Conv2D is mindspore.ops.Conv2D
# submodules with the names of functions leave these in their place
import mindspore.common.mutable, mindspore.common.tensor, mindspore.ops.function.grad.grad_func
import mindspore.common.recompute
from mindspore.common.mutable import mutable
assert (mutable is mindspore.common.mutable is mindspore.mutable and callable(ops.function.grad)
        and callable(mindspore.common.recompute))
# a name found in the package above stands in the module from then on
from mindspore.nn.layer.conv import Dense
assert Dense is nn.Dense and vars(mindspore.nn.layer.conv)["Dense"] is Dense
assert importlib.import_module("mindspore.nn.layer.basic") is nn.layer.basic
assert importlib.util.find_spec("mindspore.ops.operations.math_ops") and importlib.util.find_spec("mindspore.amp")
assert importlib.reload(mindspore.log) is mindspore.log
assert inspect.getmodule(ops.softmax) is sys.modules[ops.softmax.__module__] and inspect.getsource(ops.softmax)
assert pickle.loads(pickle.dumps(nn.Dense)) is nn.Dense and pickle.loads(pickle.dumps(ops.softmax)) is ops.softmax
assert pickle.loads(b"cmindspore.common.tensor\\nTensor\\n.") is mindspore.Tensor
assert {"nn", "numpy", "load_checkpoint", "Tensor"} <= set(dir(mindspore)) and "Dense" in dir(nn)
space = {}
exec("from mindspore.nn import *; from mindspore import *", space)
assert space["Dense"] is nn.Dense and space["Tensor"] is mindspore.Tensor and space["ops"] is ops
# what a program replaces is replaced for all, and in captured code
f = mindspore.jit(lambda x: ops.relu(x))
x = mindspore.Tensor([-1.0, 2.0])
assert f(x).asnumpy().tolist() == [0, 2]
relu, ops.relu = ops.relu, lambda x: x * 10
assert f(x).asnumpy().tolist() == [-10, 20] and pijit.ops.relu(x).asnumpy().tolist() == [-10, 20]
ops.relu = relu
pijit.compat.uninstall()
assert not [m for m in sys.modules if m.startswith("mindspore")] and pijit.__version__ != "2.7.1"
try:
    import mindspore
    raise SystemExit(f"still there: {mindspore.__file__}") if mindspore is pijit else 0
except ImportError:
    pass
pijit.compat.install()
import mindspore.ops.operations.math_ops
''')


def test_submodules_load_on_demand_and_inside_captured_code():
    run('''
import sys
import mindspore as ms
heavy = {"pijit.numpy", "pijit.amp", "pijit.serialization", "pijit.log", "pijit.train", "logging", "json",
         "importlib.metadata"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
f = ms.jit(lambda x: ms.numpy.tile(x, 2) + 1)
for _ in range(3):
    assert f(ms.Tensor([1.0])).asnumpy().tolist() == [2, 2]
e = ms.explain(f)
assert "numpy" in vars(ms) and len(e.graphs) == 1 and not e.breaks and e.compile_count == 1, str(e)
''')


@pytest.mark.parametrize("code,error,words", [
    ("from mindspore.nn import conv2d", "ImportError",
     "cannot import name 'conv2d' from 'mindspore.nn': pijit doesn't have it. The nearest names there are: Conv2d"),
    ("import mindspore.nn as nn; nn.Densse", "AttributeError",
     "module 'mindspore.nn' has no attribute 'Densse' (in pijit). The nearest names there are: Dense"),
    ("import mindspore.ops.operation", "ModuleNotFoundError",
     "No module named 'mindspore.ops.operation' (in pijit). The nearest names there are: operations"),
    ("from mindspore.ops.operations import Conv2d", "ImportError",
     "cannot import name 'Conv2d' from 'mindspore.ops.operations': pijit doesn't have it. The nearest names there "
     "are: Conv2D"),
    ("from mindspore import Tensr", "ImportError", "The nearest names there are: Tensor"),
    ("import mindspore.jit", "ModuleNotFoundError", "No module named 'mindspore.jit'"),
    ("import mindspore; mindspore.jit.x", "AttributeError", "'function' object has no attribute 'x'"),
    ("import pijit.ops; pijit.compat.uninstall(); pijit.ops.rellu", "AttributeError",
     "module 'pijit.ops' has no attribute 'rellu' (in pijit). The nearest names there are: relu"),
])
def test_a_missing_name_is_named_with_the_nearest(code, error, words):
    out = run(
        f"try:\n    exec({code!r})\nexcept Exception as e:\n    print(type(e).__name__, e)\nassert not "
        f"hasattr(__import__('pijit'), 'no_such_name')")
    assert out.startswith(error + " ") and words in out, out


def test_a_real_one_is_left_alone():
    run('''
import sys, types
pijit.compat.uninstall()
sys.modules["mindspore"] = real = types.ModuleType("mindspore")
try:
    pijit.compat.install()
except RuntimeError as e:
    assert "imported already" in str(e)
else:
    raise SystemExit("installed over a real one")
assert sys.modules["mindspore"] is real
''')
