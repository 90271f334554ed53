"""Docstrings of functions and layers: they name every argument, say what is returned and raised, and their examples run
and print what they say."""

import doctest
import inspect
import json
import pathlib
import re

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, mint, nn, ops
from pijit.compat import left_out

NAMES = json.loads((pathlib.Path(__file__).parents[2] / "tools" / "api_names.json").read_text())["modules"]
SCOPE = {"ms": ms, "ops": ops, "nn": nn, "mint": mint, "np": np, "Tensor": Tensor}
NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")


class Close(doctest.OutputChecker):
    """Printed numbers may differ in their last digits: other processors add in another order."""

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        a, b = NUMBER.findall(want), NUMBER.findall(got)
        same = " ".join(NUMBER.sub("#", want).split()).replace("[ ", "[") == " ".join(
            NUMBER.sub("#", got).split()
        ).replace("[ ", "[")
        return same and len(a) == len(b) and np.allclose(np.array(a, float), np.array(b, float), rtol=1e-4, atol=1e-6)


def documented():
    """(name, object) of what has to be documented."""
    found = {}
    for name, (kind, _) in NAMES["mindspore.ops"].items():
        obj = getattr(ops, name, None)
        if (
            kind == "function"
            and obj is not None
            and not left_out.is_left_out(obj)
            and not getattr(obj, "__module__", "").startswith(
                ("pijit.mint", "pijit.compat.old", "operator", "_operator", "builtins", "math")
            )
        ):
            if inspect.isfunction(obj) or type(obj) is type(ops.add):
                found[f"ops.{name}"] = obj
    for name, (kind, _) in NAMES["mindspore.nn"].items():
        obj = getattr(nn, name, None)
        if (kind == "class" and isinstance(obj, type) and issubclass(obj, (nn.Cell, nn.Metric))
            and not left_out.is_left_out(obj)):
            found[f"nn.{name}"] = obj
    return found


DOCUMENTED = documented()
# As the names without Ext in mint, bases whose methods are documented, decorators for classes of operators, and what
# has no result to show.
WITHOUT = {
    "nn." + n
    for n in "AvgPool1dExt AvgPool2dExt AvgPool3dExt Dropout2dExt DropoutExt EmbeddingExt L1LossExt LayerNormExt "
             "LogSoftmaxExt MaxPool2dExt PReLUExt Cell "
    "GraphCell Metric BleuScore ConfusionMatrixMetric HausdorffDistance MeanSurfaceDistance OcclusionSensitivity ROC "
    "RootMeanSquareDistance DistributedGradReducer "
    "PipelineGradReducer TrainOneStepWithLossScaleCell".split()
} | {"ops.prim_arg_register", "ops.prim_attr_register", "ops.tensordump", "ops.batch_isend_irecv"}


def test_most_are_documented():
    assert len(DOCUMENTED) > 750 and len(WITHOUT) < 30 and set(DOCUMENTED) >= WITHOUT


@pytest.mark.parametrize("name", [n for n in DOCUMENTED if n not in WITHOUT])
def test_docstring(name):
    obj = DOCUMENTED[name]
    text = inspect.getdoc(obj)
    assert text and "Example:" in text and len(text.split("\n")[0]) > 5
    signature = inspect.signature(obj)
    if not (isinstance(obj, type) and obj.__init__ is nn.Cell.__init__):
        for p in signature.parameters.values():
            assert p.kind is p.VAR_KEYWORD or re.search(rf"\b{re.escape(p.name)}\b", text), f"{p.name} isn't named"
    if name.startswith("ops."):
        assert re.search(r"\b(Returns?|Raises)\b", text)
    ms.set_seed(1)
    scope = {**SCOPE}
    test = doctest.DocTestParser().get_doctest(text, scope, name, None, None)
    assert test.examples, "no example"
    report = []
    doctest.DocTestRunner(Close(), verbose=False).run(test, out=report.append)
    assert not report, "".join(report)


def test_signatures_are_shown():
    """help() and inspect.signature name the arguments of operators and layers."""
    assert str(inspect.signature(ops.add)) == "(input, other)" and "input + other" in ops.add.__doc__
    for name, obj in DOCUMENTED.items():
        signature = inspect.signature(obj)
        if (
            not name.endswith("Ext")
            and name not in WITHOUT
            and name.partition(".")[2]
            not in (
                "print_",
                "make_list",
                "make_tuple",
                "make_range",
                "meshgrid",
                "block_diag",
                "cartesian_prod",
                "CellList",
                "CellDict",
                "SequentialCell",
            )
        ):
            assert [str(p) for p in signature.parameters.values()] not in (["*args"], ["*args", "**kwargs"]), name


@pytest.mark.parametrize("module", [ms, ms.ops, ms.nn, ms.mint, ms.dataset, ms.train], ids=lambda m: m.__name__)
def test_public_names_have_signatures(module):
    without = []
    for name in [n for n in dir(module) if not n.startswith("_")]:
        obj = getattr(module, name)
        if callable(obj) and str(getattr(obj, "__module__", "")).startswith("pijit"):
            try:
                inspect.signature(obj)
            except (TypeError, ValueError):
                without.append(name)
    assert not without


KINDS = {"bool": ["bool"], "int": ["int32", "int64", "uint8"], "float": ["float16", "float32", "float64"],
         "complex": ["complex64", "complex128"]}
SAID = re.compile(r"^ *(\w+) \(Tensor[^)]*\): the input,? (.*?)(?:,| and|,? of) (?:of )?(any|[a-z, ]+) dtype\.$", re.M)


def first_call(name, f, text):
    """The arguments of f where its example calls it first."""
    class Called(Exception):
        pass

    def record(*args, **kwargs):
        raise Called(args, kwargs)
    others = type("Ops", (), {"__getattr__": lambda self, n: record if n == name else getattr(ops, n)})()
    scope = {**SCOPE, "ops": others}
    for e in doctest.DocTestParser().get_examples(text):
        try:
            exec(e.source, scope)
        except Called as c:
            bound = inspect.signature(f).bind(*c.args[0], **c.args[1])
            bound.apply_defaults()
            return bound
    return None


def takes(f, call, param, dtype):
    x = call.arguments[param].asnumpy()
    x = x if dtype.startswith("complex") or not np.iscomplexobj(x) else x.real
    call = inspect.BoundArguments(call.signature, {**call.arguments})
    call.arguments[param] = Tensor(x.astype(dtype))
    try:
        out = f(*call.args, **call.kwargs)
        for r in out if isinstance(out, (tuple, list)) else [out]:
            if isinstance(r, Tensor):
                r.asnumpy()
    except (TypeError, ValueError, RuntimeError, IndexError):
        return False
    return True


SAYING = [n for n, f in DOCUMENTED.items() if n.startswith("ops.") and SAID.search(inspect.getdoc(f) or "")]


def test_many_say_what_their_inputs_may_be():
    assert len(SAYING) > 200
    assert not any("what the function is of" in (inspect.getdoc(f) or "") for f in DOCUMENTED.values())


@pytest.mark.parametrize("name", SAYING)
def test_dtypes_are_those_that_are_said(name):
    """The example, with its input in each dtype."""
    f = DOCUMENTED[name]
    param, _, said = SAID.search(inspect.getdoc(f)).groups()
    call = first_call(name[4:], f, inspect.getdoc(f))
    if call is None or not isinstance(call.arguments.get(param), Tensor):
        pytest.skip("its example does not call it with a Tensor")
    kinds = set(KINDS) if said == "any" else set(re.findall(r"bool|int|float|complex", said))
    for kind, dtypes in KINDS.items():
        assert all(takes(f, call, param, t) == (kind in kinds) for t in dtypes), (kind, said)
