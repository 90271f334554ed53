"""Memory of generated code: never writable and executable at once, and had where limits forbid files or all of it."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, os, resource, sys
import numpy as np
limit, deny = sys.argv[1:]
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), int(limit)))
if deny and ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):  # PR_SET_MDWE: what was writable is never executable
    print("not known here")
    sys.exit()
import pijit as ms
from pijit import Tensor, ops
x = Tensor(np.linspace(-1, 1, 1000, dtype=np.float32))
for k in range(40):  # kernels enough for several blocks
    f = ms.jit(lambda x, k=k: (ops.sin(x) * (k + 0.5) + x ** 2 - k).sum())
    a = (ops.sin(x) * (k + 0.5) + x ** 2 - k).sum().item()
    assert abs(a - (np.sin(x.asnumpy()) * (k + 0.5) + x.asnumpy() ** 2 - k).sum()) < 0.05, k
    assert f(x).item() == a
ops.exp(x.astype(ms.float64)), ops.softmax(x.reshape(10, 100)), ops.gelu(x), ops.sort(x), ms.grad(lambda x: ops.tanh(x).sum())(x)
both = [l for l in open("/proc/self/maps") if l.split()[1].startswith("rwx")]
assert not both, both
print("done")
"""


def run(limit="", deny="", **env):
    r = subprocess.run([sys.executable, "-c", PROGRAM, limit, deny], capture_output=True, text=True, timeout=300, env={**os.environ, "PIJIT_LOG": "compile", **env})
    if "not known here" in r.stdout:
        pytest.skip("the kernel has no PR_SET_MDWE")
    assert r.stdout.endswith("done\n"), r.stdout + r.stderr
    return r.stderr


@pytest.mark.parametrize("isa", ["", "avx2"])
def test_no_page_is_writable_and_executable(isa):
    assert "blocks" not in run(PIJIT_ISA=isa)


@pytest.mark.parametrize("limit", ["0", "4096", "100000"])
def test_without_files(limit):
    """Limits of the size of files hold for anonymous ones, too: code lies on pages of its own."""
    log = run(limit)
    assert "code in blocks" in log and "interpreted" not in log


def test_without_files_and_without_pages_made_executable():
    assert "loops are interpreted" in run("0", "deny")


def test_where_only_blocks_may_be_executed():
    assert "interpreted" not in run("", "deny")


ONEDNN = """
import numpy as np
import pijit as ms
from pijit import Tensor, nn, ops
ms.set_seed(1)
r = np.random.RandomState(0)
def T(*s):
    return Tensor(r.randn(*s).astype(np.float32))
net = nn.SequentialCell(nn.Conv2d(3, 32, 3), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 1), nn.Conv2d(64, 64, 3, stride=2, pad_mode='pad', padding=1),
                        nn.Conv2dTranspose(64, 8, 3), nn.Flatten(), nn.Dense(8 * 64, 10))
x = T(8, 3, 16, 16)
f = ms.value_and_grad(lambda x: (net(x) ** 2).mean(), None, net.trainable_params())
for g in (f, ms.jit(f)):
    for _ in range(2):
        g(x)
for n in (3, 64, 257):
    a, b = T(n, n), T(n, n)
    np.testing.assert_allclose(ops.matmul(a, b).asnumpy(), a.asnumpy() @ b.asnumpy(), rtol=1e-3, atol=1e-3)
    ops.matmul(a.astype(ms.float16), b.astype(ms.float16)), ops.matmul(a.astype(ms.bfloat16), b.astype(ms.bfloat16))
nn.LSTM(8, 16)(T(5, 2, 8)), ops.bmm(T(4, 65, 64), T(4, 64, 70)), ops.layer_norm(T(8, 64), (64,), T(64), T(64)), ops.softmax(T(8, 100))
nn.Conv3d(2, 4, 3)(T(1, 2, 6, 6, 6)), ops.avg_pool2d(T(1, 16, 9, 9), 3, 1, 1)
for k in range(60):  # kernels come and go
    ops.matmul(T(5 + k, 33 + k), T(33 + k, 40))
lines = open('/proc/self/maps').read().splitlines()
assert not [l for l in lines if l.split()[1].startswith('rwx')], lines
assert any('x' in l.split()[1] and len(l.split()) < 6 for l in lines)
print('done')
"""


@pytest.mark.parametrize("isa", [{}, {"PIJIT_ISA": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}])
def test_pages_of_onednn(isa):
    """It asks for pages that are both; cpu/onednn_pages.cc leaves out the writing."""
    r = subprocess.run([sys.executable, "-c", ONEDNN], capture_output=True, text=True, timeout=300, env={**os.environ, **isa})
    assert r.stdout == "done\n", r.stdout + r.stderr
