"""What a debugger sees of captured code: arguments and names in frames of tracebacks, and where a program stops."""

import inspect
import os
import pathlib
import subprocess
import sys

import pytest

import pijit as ms
from pijit import ops


def frames(f, *args, **kwargs):
    """(name, text of the arguments, locals) of each frame of this file below the call, as IPython shows them."""
    for _ in range(3):  # captured, and then from the cache
        with pytest.raises(KeyError) as e:
            f(*args, **kwargs)
    out, tb = [], e.tb.tb_next
    while tb:
        frame = tb.tb_frame
        if frame.f_code.co_filename == __file__ and frame.f_code.co_name != "frames":
            text = inspect.formatargvalues(*inspect.getargvalues(frame), formatvalue=lambda v: "")
            out.append((frame.f_code.co_name, text, dict(frame.f_locals)))
        tb = tb.tb_next
    return out


def lookup(x, scale, *, table):
    y = ops.tanh(x) * scale
    k = float(y.sum())
    z = y + k
    found = table[k]
    return z + found


def outer(x, table):
    shifted = x + 1
    return lookup(shifted, 2.0, table=table) * shifted


class Model:
    def __init__(self):
        self.table = {}

    def __call__(self, x, *rest, flag=True):
        inner = super().__hash__() is not None
        n = x.asnumpy().sum()
        return self.table[n] if flag else (rest, inner)


def test_arguments_behind_a_break():
    x = ms.Tensor([1.0, 2.0])
    table = {}
    (name, text, seen), = frames(ms.jit(lookup), x, 3.0, table=table)
    assert (name, text) == ("lookup", "(x, scale, table)")
    assert seen["x"] is x and seen["scale"] == 3.0 and seen["table"] is table
    assert seen["k"] == float((ops.tanh(x) * 3).sum())
    assert (seen["z"] - ops.tanh(x) * 3 - seen["k"]).abs().max() < 1e-6


def test_arguments_of_an_inlined_function():
    x, table = ms.Tensor([1.0, 2.0]), {}
    (f, above, names), (g, below, inner) = frames(ms.jit(outer), x, table)
    assert (f, above, g, below) == ("outer", "(x, table)", "lookup", "(x, scale, table)")
    assert names["x"] is x and inner["table"] is table and inner["scale"] == 2.0


def test_arguments_of_a_method():
    x, m = ms.Tensor([1.0, 2.0]), Model()
    (_, text, seen), = frames(ms.jit(Model.__call__), m, x, 1, 2)
    assert text == "(self, x, flag)" and seen["self"] is m and seen["x"] is x
    assert seen["n"] == 3.0 and seen["rest"] == (1, 2)


def test_a_breakpoint_sees_all_names(tmp_path):
    script = tmp_path / "stops.py"
    script.write_text("""
import pijit as ms
from pijit import ops
@ms.jit
def step(x, rate):
    y = ops.tanh(x)
    unused = y * 2
    breakpoint()
    return y * rate
for _ in range(2):
    r = step(ms.Tensor([0.0, 0.0]), 3.0)
print(r.shape)
""")
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[2])}
    said = "p sorted(locals())\np rate, unused.shape\nc\nn\np y.shape\nc\n"
    r = subprocess.run([sys.executable, str(script)], env=env, input=said, capture_output=True, text=True, timeout=100)
    assert r.stdout.count("['rate', 'unused', 'x', 'y']") == 1 and "(3.0, (2,))" in r.stdout, r.stdout + r.stderr
    assert r.stdout.rstrip().endswith("(2,)"), r.stdout + r.stderr
