"""Functions, primitives and layers by their names: values, dtypes, gradients and exceptions as MindSpore 2.7.1 gives
them (facts_names.json and, of linear algebra, sampling and special functions, facts_numeric.json; written by facts.py),
and jitted as eager."""

import ast
import builtins
import json
import pathlib

import numpy as np
import pytest

import pijit as ms
from tests.python.differential import check
from tests.python.facts import flat, names_in, total, variables

FACTS = {e: fact for name in ("facts_names", "facts_numeric", "facts_ops")
         for e, fact in json.loads((pathlib.Path(__file__).parent / f"{name}.json").read_text()).items()}


def agrees(got, want):
    if "plain" in want:
        assert repr(got) == want["plain"]
        return
    a = got.asnumpy()
    assert (str(a.dtype), list(a.shape)) == (want["dtype"], want["shape"])
    rough = a.dtype == np.float16
    np.testing.assert_allclose(a.astype(np.float64).ravel()[:24], [float(v) for v in want["values"]],
                               atol=1e-3 if rough else 2e-5, rtol=2e-3 if rough else 2e-4)


@pytest.mark.parametrize("expression", FACTS)
def test_fact(expression):
    fact, s = FACTS[expression], variables(ms)
    if "raises" in fact:
        with pytest.raises(getattr(builtins, fact["raises"])):
            eval(expression, s)
        return
    got, want = flat(eval(expression, s)), flat(fact["is"])
    assert len(got) == len(want)
    for g, w in zip(got, want):
        agrees(g, w)
    if "grad" in fact:
        name, want = fact["grad"]
        s = variables(ms)
        agrees(ms.grad(total(ms, eval(f"lambda {name}: {expression}", s)))(s[name]), want)


# what reads a tensor's value to know a shape, or makes objects of Python
BROKEN = ("MaskedSelect", "masked_select", "unique", "Unique", "NonZero", "nonzero", "argwhere", "mirror", "Mirror",
          "fixed(", "Parameter(", "histc", "Histogram",
          "CumulativeLogsumexp", "Bincount", "UnravelIndex", "allclose", "PReLU", "combinations", "kaiser",
          "mint.equal", "digitize", "histogram", "mgrid", "ogrid", "bincount",
          "ResizeBicubic", "setdiff1d", "intersect1d",
          # sizes, numbers of diagonals and segments that are tensors; suppression of boxes; what compares lists
          "AdaptiveMaxPool3D", "Window(", "CTC", "ctc_greedy", "CheckNumerics", "NonMaxSuppression", "EditDistance",
          "Expand()", "ExtractGlimpse", "ListDiff", "LogSpace", "MatrixDiag",
          "matrix_diag", "matrix_set_diag", "NMSWithMask", "NoRepeatNGram", "NthElement", "PadV3", "PyFunc", "ROIAlign",
          "RaggedRange", "ResizeArea", "ResizeLinear1D",
          "ScaleAndTranslate", "Segment", "sparse_segment_mean", "TensorToTuple", "hastype", "repr(", "str(",
          "MultiField", "Symbol")


class _Tensors(ast.NodeTransformer):
    """`T(...)` within an expression becomes an argument."""

    def __init__(self, scope):
        self.scope, self.made = scope, {}

    def visit_Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id == "T":
            name = f"t{len(self.made)}"
            self.made[name] = eval(ast.unparse(node), self.scope)
            return ast.Name(name, ast.Load())
        return self.generic_visit(node)


@pytest.mark.parametrize("expression", [e for e, f in FACTS.items() if "is" in f and " for " not in e])
def test_jitted(expression):
    s = variables(ms)
    tensors = _Tensors(s)
    text = ast.unparse(tensors.visit(ast.parse(expression, mode="eval")))
    args = {n: s[n] for n in sorted(set(names_in(text))) if isinstance(s.get(n), ms.Tensor)} | tensors.made

    def make():
        return eval(f"lambda {', '.join(args)}: {text}", variables(ms))
    check(make, *args.values(),
          breaks=None if expression.startswith("nn.") or any(n in expression for n in BROKEN) else 0)


def test_attributes_of_primitives():
    p = ms.ops.MatMul(transpose_b=True)
    assert (p.add_prim_attr("foo", 3) is p and p.foo == 3 and p.attrs["foo"] == 3 and "transpose_b=True" in repr(p)
            and repr(ms.ops.ReLU()) == "Prim[ReLU]")
    assert p.del_prim_attr("foo") is p and not hasattr(p, "foo")
    assert p.set_prim_instance_name("mine").set_device("CPU").set_stage(0).shard(((1, 1), (1, 1))).recompute() is p
    assert (p.instance_name, p.name, p.primitive_target, p.check_elim()) == ("mine", "MatMul", "CPU", (False, None))
    for bad in (lambda: p.add_prim_attr(3, 3), lambda: p.shard([1]), lambda: p.recompute(1)):
        with pytest.raises(TypeError):
            bad()

    class Scale(ms.ops.PrimitiveWithInfer):
        @ms.ops.prim_attr_register
        def __init__(self, factor=2.0):
            self.init_prim_io_names(inputs=["x"], outputs=["y"])

        def __call__(self, x):
            return x * self.factor
    scale = Scale(3.0)
    assert (scale.factor, Scale().factor, scale.name) == (3.0, 2.0, "Scale")
    e = check(lambda: lambda x: scale(x) + p(x, x).sum(), variables(ms)["M"], graphs=1, breaks=0)
    assert e.compile_count == 1


APPLIED = [e for e in FACTS if " for ps in " in e]


@pytest.mark.parametrize("expression", APPLIED)
def test_steps_of_optimizers_jitted(expression):
    """A jitted step changes the parameters as an eager one does."""
    s = variables(ms)
    parts = next(n for n in ast.walk(ast.parse(expression)) if isinstance(n, ast.ListComp))
    parameters, call = (ast.unparse(parts.generators[k].iter.elts[0]) for k in (0, 1))
    results = []
    for wrap in (lambda f: f, ms.jit):
        ps = eval(parameters, s)
        step = wrap(eval(f"lambda ps: {call}", {**s, "ps": ps}))
        for _ in range(2):
            step(ps)
        results.append([p.asnumpy() for p in ps])
    for a, b in zip(*results):
        np.testing.assert_array_equal(a, b)
