"""What an installed wheel must do, run by its own python away from the sources: tools/wheels.sh."""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

begin = time.perf_counter()
import pijit as ms  # noqa: E402

took = time.perf_counter() - begin
from pijit import nn, ops  # noqa: E402

folder = pathlib.Path(ms.__file__).resolve().parent
assert pathlib.Path(sys.prefix).resolve() in folder.parents, folder
assert (folder / "libgomp.so.1").exists() and (folder / "py.typed").exists()

loaded = {line.split()[-1] for line in open("/proc/self/maps") if "libabsl" in line}
assert all(pathlib.Path(p).is_relative_to(folder.parent) for p in loaded), loaded

# oneDNN is inside or a wheel of its own, and its licence comes with it.
from pijit import _run  # noqa: E402

assert bool(_run.onednn_inside) == (folder / "LICENSE-oneDNN").exists() != ("libdnnl" in open("/proc/self/maps").read())

f = ms.jit(lambda x: (ops.relu(x) * 2 + 1).sum())
for _ in range(3):
    assert float(f(ms.Tensor([1.0, -2.0, 3.0]))) == 11.0
assert ms.explain(f).graph_runs == 3 and not ms.explain(f).breaks, ms.explain(f)

net = nn.SequentialCell(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Dense(8 * 64, 10))
optimizer = nn.SGD(net.trainable_params(), 0.1)
step = ms.value_and_grad(lambda x: net(x).square().mean(), None, optimizer.parameters)
loss = [float(step(x)[0]) for x in [ops.ones((2, 3, 8, 8))] * 2]
assert loss[0] == loss[1] > 0

# Whole scripts, by the .pth file beside the package.
script = ("import mindspore as ms, mindspore.ops as ops\n"
          "from mindspore import nn\n"
          "x = ops.ones(3)\n"
          "for k in range(9):\n    x = x * 0.5 + k\n"
          "print(ms.__name__, nn.Dense(3, 1)(x).shape)")
told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True,
                      env={**os.environ, "PIJIT_AUTO": "1", "PIJIT_AS": "mindspore"}).stdout
assert told == "mindspore (1,)\n", told

# And by the command line, a file of a user's folder.
with tempfile.TemporaryDirectory() as users:
    path = pathlib.Path(users, "script.py")
    path.write_text("import sys\nimport numpy as np\n"
                    "def norm(a):\n    return np.sqrt((a * a).sum())\n"
                    "print(norm(np.arange(5.0)).round(6), sys.argv[1:], 'pijit' in sys.modules)\n")
    told = subprocess.run([sys.executable, "-m", "pijit", str(path), "-x"], capture_output=True, text=True, check=True,
                          cwd=users).stdout
assert told.startswith("5.477226 ['-x']"), told
print(f"{'.'.join(map(str, sys.version_info[:3]))}: imported in {took * 1e3:.0f} ms, captures, trains, runs scripts")
