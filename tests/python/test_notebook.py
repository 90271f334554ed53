"""The extension in a real Jupyter kernel: one notebook, run cell by cell."""

import os
import pathlib
import re
import sys

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

CELLS = {
    "load": "%load_ext pijit\nimport numpy as np\nimport pijit as ms\nfrom pijit import nn, ops\nx = "
            "ms.Tensor(np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3))",
    "report": """%%pijit
def square(x):
    y = x * x + 1
    return ops.relu(y) - x

class Model:
    def step(self, x):
        z = square(x)
        return z + float(z.asnumpy().max())

m = Model()
for k in range(9):
    r = m.step(x)
r""",
    "tensor": "x",
    "cell": "net = nn.SequentialCell(nn.Dense(3, 2), nn.ReLU())\nnet",
    "parameter": "net[0].weight",
    "explain": "@ms.jit\ndef broken(x):\n    y = x + 1\n    n = y.asnumpy().sum()\n    return y * "
               "float(n)\n\nbroken(x)\nms.explain(broken)",
    "text": "print(ms.explain(broken))",
    "on": "%pijit on",
    "defined": "scale = 2.0\ndef scaled(x):\n    return x * scale\nprint(type(scaled).__name__, scaled(x).sum())",
    "changed": "scale = 3.0\nprint(scaled(x).sum())",
    "defined again": "def scaled(x):\n    return x + scale\nprint(scaled(x).sum())",
    "out of order": "def scaled(x):\n    return later(x) * 2\ndef later(x):\n    return x - 1\nprint(scaled(x).sum())",
    "raises": "def fails(x):\n    y = x * 2\n    raise ValueError(f'no good: {y.shape}')\n\nfails(x)\n",
    "raises behind a break": "def fails(x):\n    n = float((x * 2).asnumpy().sum())\n    return {}[n]\n\nfails(x)\n",
    "interrupt": "import os, signal, threading\ndef forever(x):\n    while True:\n        x = x * 1.5 + "
                 "float(x.asnumpy().sum()) * 0\n"
                 "threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()\nforever(x)",
    "goes on": "print(scaled(x).sum())",
    "status": "%pijit status",
    "off": "%pijit off",
    "plain again": "def plainly(x):\n    return x\nprint(isinstance(plainly, ms._C.JitFunction))",
    "profile": "p = %pijit_profile scaled(x)\np",
    "profile of an expression": "%pijit_profile (x + 1) * 2",
    "compare": "%%pijit_compare\nw = ms.Parameter(ms.Tensor([1.0, 2.0]), name='w')\ndef step(n):\n    for k in "
               "range(n):\n        w.set_data(w * 1.5)\n    return w.sum()\n"
               "total = step(3)\nprint('done')\ntotal",
    "compare state": "before = [1]\nt = ms.Parameter(ms.Tensor([1.0]), name='t')",
    "compare changes": "%%pijit_compare\nbefore.append(2)\nt.set_data(t + 1)\nnoise = ops.standard_normal((4,))",
    "after": "print(before, t.asnumpy())",
    "compare differs": "%%pijit_compare\nimport time\nnow = time.perf_counter()",
    "reload": "%load_ext autoreload\n%autoreload 2\nimport importlib, sys, pathlib\nsys.path.insert(0, "
              "'.')\npathlib.Path('mod_of_notebook.py').write_text('def f(x):\\n    return x + 1\\n')\n"
              "import mod_of_notebook\nj = ms.jit(mod_of_notebook.f)\nprint(j(x)[0, 0])",
    "reload 2": "import time, os\npathlib.Path('mod_of_notebook.py').write_text('def f(x):\\n    return x + "
                "100\\n')\nos.utime('mod_of_notebook.py', (time.time() + 5,) * 2)",
    "reload 3": "print(j(x)[0, 0], ms.jit(mod_of_notebook.f)(x)[0, 0])",
    "recursion": "%%pijit\ndef fib(n):\n    return n[0] if n[0] < 2 else fib((n[0] - 1,)) + fib((n[0] - 2,))\n"
                 "for k in range(30):\n    fib((12,))",
    "nothing of earlier cells": "%%pijit\ndef other(x):\n    return ops.tanh(x) * x\nfor k in range(40):\n    y = "
                                "other(x)",
    "timed": "%%pijit\n%%time\nfor k in range(40):\n    y = other(x)",
    "timed from outside": "%%time\n%%pijit\nfor k in range(40):\n    y = other(x)",
    "closures": "%%pijit\ndef train():\n    def step(x):\n        return ops.relu(x) * 2 + float(x.asnumpy().sum()) * "
                "0\n    for k in range(40):\n        r = step(x)\n    return r\n"
                "train()",
    "generator": "%%pijit\ndef chunks(x):\n    for k in range(4):\n        yield x * k\nfor k in range(10):\n    for "
                 "c in chunks(x):\n        pass",
    "decorated": "@ms.jit\ndef known(x):\n    return ops.relu(x) * 2 + ops.tanh(x)",
    "no cell": "%%pijit\ndef broken(:\n",
    "compare nothing": "%%pijit_compare\nz = np.linalg.svd(np.ones((8, 8)))[1]",
    "compare decorated": "%%pijit_compare\nfor k in range(20):\n    y = known(x)",
    "compare broken": "%%pijit_compare\ndef broken(:\n",
    "raises in it": "%%pijit\n1 / 0",
    "wrong keyword": "ops.softmax(x, axs=1)",
    "wrong method": "x.rehsape(6)",
    "unload": "%unload_ext pijit",
    "wrong": "%load_ext pijit\n%pijit sideways",
    "profile of nothing": "%pijit_profile",
    "words behind it": "%%pijit now\nx",
}
RAISE = {"raises", "raises behind a break", "interrupt", "wrong", "profile of nothing", "words behind it", "no cell",
         "compare broken", "raises in it", "wrong keyword", "wrong method"}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebook")
    nb = nbformat.v4.new_notebook()
    for name, source in CELLS.items():
        cell = nbformat.v4.new_code_cell(source)
        if name in RAISE:
            cell.metadata["tags"] = ["raises-exception"]
        nb.cells.append(cell)
    root = str(pathlib.Path(__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    client = nbclient.NotebookClient(nb, timeout=300, resources={"metadata": {"path": str(folder)}})
    with client.setup_kernel(env=env):
        for n, cell in enumerate(nb.cells):
            client.execute_cell(cell, n)
    return {name: (cell, n + 1) for n, (name, cell) in enumerate(zip(CELLS, nb.cells))}


def texts(outputs, name, kind="text/plain"):
    """All that a cell shows: printed text, and results in one form."""
    found, before = [], None
    for o in outputs[name][0].outputs:
        if o.output_type == "stream" and kind == "text/plain":
            if before == "stream":  # what is printed at once may come in parts
                found[-1] += o.text
            else:
                found.append(o.text)
        elif o.output_type in ("display_data", "execute_result"):
            found.append(o.data.get(kind, ""))
        before = o.output_type
    return "\n".join(found)


def test_cells_report_what_capture_brought(outputs):
    html = texts(outputs, "report", "text/html")
    assert ("Model.step" in html and "speed-up" in html and "captures and compiles" in html and "Breaks" in html
            and "asnumpy" in html)
    assert f"In [{outputs['report'][1]}]:9" in html  # %%pijit counts as a line
    assert "execute_result" in [o.output_type for o in outputs["report"][0].outputs]  # the cell's own result stays


def test_values_show_themselves(outputs):
    assert "[[0.  0.2 0.4]" in texts(outputs, "tensor", "text/html")
    assert "Dense" in texts(outputs, "cell", "text/html") and "8 parameters" in texts(outputs, "cell", "text/html")
    assert "Parameter" in texts(outputs, "parameter", "text/html")


def test_explanations_name_cells(outputs):
    number = outputs["explain"][1]
    assert "Why graphs break" in texts(outputs, "explain", "text/html")
    text = texts(outputs, "text")
    assert f"break at In [{number}]:4" in text and "hint:" in text and "/tmp" not in text


def test_functions_of_cells(outputs):
    assert texts(outputs, "defined") == "JitFunction 6.0\n"
    assert texts(outputs, "changed") == "9.0\n"
    assert texts(outputs, "defined again") == "21.0\n"
    assert texts(outputs, "out of order") == "-6.0\n"
    assert "scaled" in texts(outputs, "status") and "on" in texts(outputs, "status")
    assert texts(outputs, "plain again") == "False\n"


@pytest.mark.parametrize("name", ["raises", "raises behind a break"])
def test_tracebacks_show_the_users_frames(outputs, name):
    (error,) = [o for o in outputs[name][0].outputs if o.output_type == "error"]
    text = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(error.traceback))
    assert (error.ename == ("ValueError" if name == "raises" else "KeyError") and "pijit/" not in text
            and "fails(x)" in text)
    assert text.count("Cell In[") == 2 and text.count("File ") == 0, text


def test_a_cell_can_be_stopped(outputs):
    (error,) = [o for o in outputs["interrupt"][0].outputs if o.output_type == "error"]
    assert error.ename == "KeyboardInterrupt" and texts(outputs, "goes on") == "-6.0\n"


def test_profiles(outputs):
    assert "as fast captured" in texts(outputs, "profile", "text/html") and "scaled" in texts(outputs, "profile")
    assert "(x + 1) * 2" in texts(outputs, "profile of an expression")


def test_comparison(outputs):
    text = texts(outputs, "compare")
    assert "the same bits" in text and text.startswith("done\n") and "times as fast captured" in text
    assert "the same bits" in texts(outputs, "compare changes")
    assert texts(outputs, "after") == "[1, 2] [2.]\n"
    assert "DIFFERENT: now" in texts(outputs, "compare differs")


def test_every_function_has_a_row(outputs):
    text = texts(outputs, "recursion")
    assert ("deoptimized" in text and "of itself" in text and "it calls itself" in text and "times as fast" not in text
            and text.startswith("pijit: the cell took")), text
    assert ("other: 40 calls" in texts(outputs, "nothing of earlier cells")
            and "fib" not in texts(outputs, "nothing of earlier cells"))
    assert (re.search(r"step: 40 calls.*\n.*captures", texts(outputs, "closures"))
            or "step: 40 calls" in texts(outputs, "closures"))
    assert "chunks: 10 calls; a generator" in texts(outputs, "generator")


def test_other_magics_beside_it(outputs):
    for name in ("timed", "timed from outside"):
        text = texts(outputs, name)
        assert "Wall time" in text and "other: 40 calls" in text, text


def test_a_cell_that_does_not_parse(outputs):
    for name in ("no cell", "compare broken"):
        (error,) = [o for o in outputs[name][0].outputs if o.output_type == "error"]
        assert error.ename == "SyntaxError" and not texts(outputs, name) and "pijit/" not in "\n".join(error.traceback)
        trace = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(error.traceback))
        assert re.search(r"Cell In\s?\[\d+\], line 2", trace), trace


def test_keywords_have_their_nearest_name(outputs):
    # from 3.13 on, the error says it itself
    said = [texts(outputs, "wrong keyword"), *(o.evalue for o in outputs["wrong keyword"][0].outputs
                                               if o.output_type == "error")]
    assert "Did you mean 'axis'?" in "".join(said)
    # before 3.10 an AttributeError does not know its object
    assert (sys.version_info < (3, 10)) != ("Did you mean 'reshape'?" in texts(outputs, "wrong method"))


def test_a_cell_that_raises_has_no_time(outputs):
    assert "took" not in texts(outputs, "raises in it")


def test_a_comparison_of_nothing(outputs):
    text = texts(outputs, "compare nothing")
    assert text.startswith("nothing in it was captured") and "times as fast" not in text, text


def test_a_comparison_of_what_was_decorated_before(outputs):
    assert "nothing" not in texts(outputs, "compare decorated") and "captured" in texts(outputs, "compare decorated")


def test_autoreload(outputs):
    assert texts(outputs, "reload") == "1.0\n" and texts(outputs, "reload 3") == "100.0 100.0\n"


def test_wrong_use(outputs):
    for name, said in (("wrong", "sideways"), ("profile of nothing", "usage: %pijit_profile expression"),
                       ("words behind it", "takes no arguments")):
        text = texts(outputs, name)
        assert "UsageError" in text and said in text and "Traceback" not in text, text
