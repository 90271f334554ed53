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
ops.exp(x.astype(ms.float64)), ops.softmax(x.reshape(10,
                                                     100)), ops.gelu(
                                                         x), ops.sort(x), ms.grad(lambda x: ops.tanh(x).sum())(x)
both = [l for l in open("/proc/self/maps") if l.split()[1].startswith("rwx")]
assert not both, both
print("done")
"""


def run(limit="", deny="", **env):
    r = subprocess.run([sys.executable, "-c", PROGRAM, limit, deny], capture_output=True, text=True, timeout=300,
                       env={**os.environ, "PIJIT_LOG": "compile", **env})
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

