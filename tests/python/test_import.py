"""What `import pijit` loads: NumPy and what trains come when they are asked for."""

import subprocess
import sys

import pytest

BEGIN = """
import sys
import pijit as ms
assert not {"numpy", "pijit.dataset", "pijit.train", "pijit.mint", "pijit.numpy", "pijit.scipy"} & set(sys.modules)
"""

PROGRAMS = {
    "tensors": """
x = ms.Tensor([1.0, 2.0]) + ms.Tensor([1, 2], ms.int32)
assert ms.ops.relu(x).sum().dtype == ms.float32
assert ms.Tensor([True, False]).dtype == ms.bool_ and ms.Tensor((2 ** 40,)).dtype == ms.int64
assert "numpy" not in sys.modules
assert x.asnumpy().tolist() == [2, 4]
""",
    "methods take NumPy's scalars": """
x = ms.Tensor([[3.0, 1.0]])
value, index = x.max(1)
import numpy as np
assert x.cumsum(np.int64(1)).tolist() == [[3, 4]] and x.sort(np.int64(1))[1].tolist() == [[1, 0]]
""",
    "jit": """
@ms.jit
def f(x):
    return ms.ops.tanh(x).max(1)[0] + float(x.max())
x = ms.ops.ones((2, 3))
assert abs(f(x).asnumpy() - 1.76159).max() < 1e-4
e = ms.explain(f)
assert e.graphs and not e.breaks, e
import numpy
assert repr(ms.printing.np) and ms.printing.np.ndarray is numpy.ndarray
assert all(getattr(m, "np", numpy) is numpy for n, m in list(sys.modules.items()) if n.startswith("pijit"))
""",
    "capture goes without": """
@ms.jit
def f(x, y):
    for k in range(3):
        x = ms.ops.tanh(x) * y[k] + x.sum() / len(x)
    return x.reshape((-1,))[1:] if x.ndim > 1 else -x, float(x.sum()), isinstance(x, ms.Tensor)
x = ms.ops.ones((2, 2)) * ms.Tensor([1.0, 2.0])
assert f(x, [1.0, 2, x])[2] and ms.explain(f).graphs and not ms.explain(f).breaks
ms.automatic.enable()
def g(x):
    return ms.ops.sin(x) * 2
for _ in range(200):
    g(x)
assert any(r.graph_runs for r in ms.automatic.report().regions)
assert "numpy" not in sys.modules
@ms.jit
def h(x, kind):
    return x * 2 if isinstance(kind, ms.printing.np.ndarray) else x * 3
assert h(x, x).tolist() == (x * 3).tolist() and "numpy" in sys.modules and not ms.explain(h).breaks
import numpy as np
@ms.jit
def k(x, n):
    return x * np.float32(n) + np.sqrt(4)
assert k(x, 2).tolist() == (x * 2 + 2).tolist() and not ms.explain(k).breaks
""",
    "graph mode": """
ms.set_context(mode=ms.GRAPH_MODE)
from pijit import nn
assert nn.Dense(3, 2)(ms.ops.ones((4, 3))).shape == (4, 2)
""",
    "random numbers": """
ms.set_seed(3)
a = ms.ops.normal((3,), 0, 1)
ms.set_seed(3)
assert bool((a == ms.ops.normal((3,), 0, 1)).all())
print(a, repr(a), ms.Tensor([1.5, 2], ms.float16))
""",
    "NumPy first loaded by another": """
import numpy as np
assert ms.Tensor(np.arange(3)).tolist() == [0, 1, 2] and ms.from_numpy(np.ones(2)).dtype == ms.float64
assert ms.Tensor([1, 2]).take(ms.Tensor([np.int64(1)])).tolist() == [2]
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    run = subprocess.run([sys.executable, "-c", BEGIN + PROGRAMS[name]], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr


WATCHED = {
    "sys.settrace": ("sys.settrace(lambda *_: None)", "sys.settrace(None)"),
    "sys.setprofile": ("sys.setprofile(lambda *_: None)", "sys.setprofile(None)"),
    "sys.monitoring": ("m = sys.monitoring; m.use_tool_id(3, 'tool');"
                       "m.set_events(3, m.events.PY_START | m.events.LINE);"
                       "m.register_callback(3, m.events.PY_START, lambda *_: None);"
                       "m.register_callback(3, m.events.LINE, lambda *_: None)",
                       "m.set_events(3, 0); m.free_tool_id(3)")}


@pytest.mark.parametrize("way", WATCHED)
def test_a_tool_watches_while_it_is_imported(way):
    """Its frames come between those by which the import finds out whether it knows CPython's."""
    if way == "sys.monitoring" and not hasattr(sys, "monitoring"):
        pytest.skip("this CPython has no sys.monitoring")
    begin, end = WATCHED[way]
    program = f"import sys\n{begin}\nimport pijit as ms\n{end}\n"
    program += "f = ms.jit(lambda x: x * 2)\nf(ms.ops.ones(3))\nassert ms.explain(f).graphs"
    run = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr


def test_the_alias_loads_no_more():
    run = subprocess.run([sys.executable, "-c",
                          BEGIN + "ms.compat.install()\nimport mindspore\n" + BEGIN.split("as ms")[1]],
                         capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("values", [[1, 2], (0.1, -3.5), [True, False], [2 ** 63 - 1, -2 ** 63], [1, 2.5], [True, 2],
                                    [], [[1], [2]],
                                    [1 + 2j], [1e300], [2 ** 40]])
def test_lists_are_as_arrays(values):
    import numpy as np

    import pijit as ms
    a, b = ms.Tensor(values), ms.Tensor(np.asarray(values))
    if np.asarray(values).dtype == np.float64:
        b = b.astype(ms.float32)
    assert a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a.asnumpy(), b.asnumpy())
    if not isinstance(values, list) or values != [1 + 2j]:
        c, d = ms.Tensor(values, ms.float64), ms.Tensor(np.asarray(values), ms.float64)
        assert c.dtype == d.dtype and np.array_equal(c.asnumpy(), d.asnumpy())
