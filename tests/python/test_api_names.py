"""Every module path and every name of MindSpore 2.7.1 and 2.10.0 can be imported; what pijit leaves out raises when it
is used."""

import json
import pathlib
import subprocess
import sys

import pytest

REFERENCE = pathlib.Path(__file__).parents[2] / "pijit" / "compat" / "reference.json"


def run(code, *args, name=True):
    start = "import pijit.compat; pijit.compat.install()\n" if name else ""
    r = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", start + code, *args], capture_output=True, text=True, timeout=300
    )
    assert r.returncode == 0, r.stderr
    return r.stdout


EVERYTHING = """
import importlib, json, sys
bad, count = [], 0
for path, places in json.load(open(sys.argv[1]))["paths"].items():
    module = f"mindspore.{path}".rstrip(".")
    try:
        importlib.import_module(module)
    except ImportError as e:
        bad.append(f"{module}: {e}")
        continue
    if path:
        parent, _, leaf = module.rpartition(".")
        try:
            exec(f"from {parent} import {leaf}", {})
        except Exception as e:
            bad.append(f"from {parent} import {leaf}: {type(e).__name__} {e}")
    for name in (n.partition("=")[0] for there, names in places.items()
                 for n in (names if there == "=" else names.split())):
        count += 1
        try:
            exec(f"from {module} import {name}", {})
        except Exception as e:
            bad.append(f"from {module} import {name}: {type(e).__name__} {e}")
print(count)
assert not bad, f"{len(bad)} names: " + "\\n".join(bad[:50])
"""


def test_every_name_can_be_imported():
    assert int(run(EVERYTHING, str(REFERENCE))) > 15000


def test_the_list_holds_both_versions():
    paths = json.loads(REFERENCE.read_text())["paths"]
    assert {"dataset.vision.c_transforms", "graph.custom_pass", "boost.boost", "nn.layer.conv"} <= set(paths)
    assert sum(not any(part[:1] == "_" for part in path.split(".")) for path in paths) > 500


@pytest.mark.parametrize(
    "code,words",
    [
        (
            "from mindspore.boost import AutoBoost; AutoBoost()",
            "mindspore.boost.boost.AutoBoost is not implemented by pijit: boost's algorithms",
        ),
        ("import mindspore.rewrite as r; r.SymbolTree.create(None)", "rewrites MindSpore's own graphs"),
        ("from mindspore import ops; ops.flash_attention_score(1)", "The nearest there is"),
        ("from mindspore import graph; graph.register_custom_backend('a', 'b')", "mindspore.jit"),
        ("from mindspore.safeguard.rewrite_obfuscation import obfuscate_ckpt as o; o(None)", "obfuscates"),
        ("from mindspore.tools import set_dump; set_dump(None)", "NotImplementedError"),
    ],
)
def test_what_is_left_out_raises_when_it_is_used(code, words):
    out = run(
        f"try:\n    {code.replace('; ', chr(10) + '    ')}\nexcept NotImplementedError as e:\n    "
        f"print(type(e).__name__, e)"
    )
    assert words in out or words == out.split()[0], out


def test_classes_that_are_left_out_can_be_subclassed_and_asked_for():
    run("""
from typing import Optional
import enum
import mindspore as ms
from mindspore import nn, ops
from mindspore.rewrite import SymbolTree, NodeType
from mindspore.boost import BoostTrainOneStepCell
from mindspore.train.callback import FlopsUtilizationCollector
from mindspore.ops.operations._grad_ops import MaxPoolGradV1

class Mine(SymbolTree):
    def __init__(self):
        self.x = 1
    def visit(self, tree: Optional[SymbolTree] = None) -> "SymbolTree":
        return self.x

assert Mine().visit() == 1 and isinstance(Mine(), SymbolTree) and not isinstance(ms.Tensor([1.0]), SymbolTree)
assert not hasattr(SymbolTree, "anything") and issubclass(NodeType, enum.Enum) and NodeType.Tree.name == "Tree"
assert (issubclass(BoostTrainOneStepCell, nn.Cell) and issubclass(FlopsUtilizationCollector, ms.Callback)
        and issubclass(MaxPoolGradV1, ops.Primitive))

class Net(BoostTrainOneStepCell):
    def __init__(self, network):
        super().__init__(network, None)
try:
    Net(nn.Dense(1, 1))
except NotImplementedError as e:
    assert "mindspore.boost" in str(e)
else:
    raise SystemExit("no error")
# one class at all its places
import mindspore.boost.boost_cell_wrapper as b
assert b.BoostTrainOneStepCell is BoostTrainOneStepCell and ms.rewrite.api.symbol_tree.SymbolTree is SymbolTree
""")


def test_modules_without_a_file():
    run("""
import sys
import mindspore as ms
assert "pijit.compat.reference" not in sys.modules
import mindspore.nn.layer.dense, mindspore.graph.api as api, mindspore.nn.probability.bijector.exp
from mindspore.graph.mutable import mutable
from mindspore.run_check import run_check
import mindspore.run_check._check_version, mindspore.run_check.run_check, mindspore.scipy.optimize.minimize
import mindspore.parallel.shard
import mindspore.utils.stress_detect
assert (api.jit is ms.jit and mutable is ms.mutable and run_check is ms.run_check and callable(ms.run_check)
        and callable(ms.scipy.optimize.minimize))
assert callable(ms.parallel.shard) and callable(ms.utils.stress_detect)
import pijit.graph.api
assert pijit.graph.api is api and sys.modules["mindspore.graph"] is sys.modules["pijit.graph"]
space = {}
exec("from mindspore.boost import *", space)
assert "AutoBoost" in space and "AutoBoost" in dir(sys.modules["mindspore.boost"])
f = ms.jit(lambda x: api.jit and x * 2)
assert f(ms.Tensor([1.0])).tolist() == [2]
""")


def test_below_pijit_too():
    run(
        """
import pijit.boost.adasum, pijit.graph.lazy_inline
assert pijit.graph.lazy_inline.lazy_inline is pijit.lazy_inline and issubclass(pijit.boost.AdaSum, pijit.nn.Cell)
try:
    import pijit.grahp
except ImportError:
    pass
else:
    raise SystemExit("found")
""",
        name=False,
    )


def test_classes_have_the_references_names_under_the_alias():
    run("""
import importlib, inspect, pickle, sys
import mindspore as ms
import pijit
from mindspore import nn, ops
from pijit.compat import left_out, reference
assert (ms.__name__ == "mindspore" and ms is pijit
        and repr(type(ms.Tensor([1.0]))) == "<class 'mindspore.common.tensor.Tensor'>")
# getattr, as from 3.14 on a place that has read the name of one module skips properties of the next
found = [v for v in globals().values() if inspect.ismodule(v) and getattr(v, "__name__") == "mindspore"]
assert found and found[0] is ms
for cls, name in ((nn.Conv1d, "mindspore.nn.layer.conv.Conv1d"), (nn.Cell, "mindspore.nn.cell.Cell"),
                  (ms.Parameter, "mindspore.common.parameter.Parameter"),
                  (ops.Conv2D, "mindspore.ops.operations.nn_ops.Conv2D"),
                  (nn.Momentum, "mindspore.nn.optim.momentum.Momentum"),
                  (ms.Model, "mindspore.train.model.Model"),
                  (ms.dataset.GeneratorDataset, "mindspore.dataset.engine.datasets_user_defined.GeneratorDataset")):
    assert repr(cls) == f"<class '{name}'>" and pickle.loads(pickle.dumps(cls)) is cls, (cls, name)
homes, wrong, right = {}, [], 0
for path in reference._facts()["paths"]:
    for name, home in reference.homes(path).items():
        homes.setdefault(home.rpartition(":")[2], set()).add("mindspore." + home.partition(":")[0])
for path in ("", "nn", "ops", "train", "common", "dataset", "dataset.vision", "mint.nn", "nn.probability.distribution",
             "experimental.optim"):
    module = importlib.import_module(f"mindspore.{path}".rstrip("."))
    for name in reference.homes(path):
        cls = getattr(module, name)
        if (isinstance(cls, type) and cls.__qualname__ == name and name in homes and not left_out.is_left_out(cls)
            and cls.__module__ != "enum"):
            right += cls.__module__ in homes[name]
            if not cls.__module__.startswith("mindspore"):
                wrong.append((path, cls))
assert right > 900 and not wrong, (right, wrong[:20])
assert inspect.getsource(nn.Conv1d).startswith("class Conv1d(Cell)")
# the automatic cast of a layer's parameters goes by where its class is defined
net = nn.Dense(2, 2).to_float(ms.float16)
assert net(ms.ops.ones((1, 2))).dtype == ms.float16
pijit.compat.uninstall()
assert (repr(nn.Conv1d) == "<class 'pijit.nn.layer.conv.Conv1d'>" and pijit.__name__ == "pijit"
        and repr(pijit.Tensor) == "<class 'pijit.Tensor'>")
""")


def test_pickles_go_from_one_name_to_the_other(tmp_path):
    make = """
import pickle, sys
import {0} as ms
class Net(ms.nn.Cell):
    def __init__(self):
        super().__init__()
        self.layer, self.state = ms.nn.Dense(2, 3), ms.Parameter(ms.Tensor([1.0, 2.0]), name="state")
if sys.argv[1] == "write":
    pickle.dump((ms.Tensor([3.0]), ms.float16, ms.Parameter(ms.Tensor([4.0])), ms.nn.Dense(2, 3)),
                open(sys.argv[2], "wb"))
else:
    t, dtype, p, layer = pickle.load(open(sys.argv[2], "rb"))
    assert t.tolist() == [3] and dtype == ms.float16 and p.asnumpy().tolist() == [4]
    assert isinstance(p, ms.Parameter) and type(layer) is ms.nn.Dense
"""
    own, other = tmp_path / "own", tmp_path / "other"
    run(make.format("pijit"), "write", str(own), name=False)
    run(make.format("mindspore"), "write", str(other))
    run(make.format("mindspore"), "read", str(own))
    run(make.format("mindspore"), "read", str(other))
    run(make.format("pijit"), "read", str(own), name=False)
