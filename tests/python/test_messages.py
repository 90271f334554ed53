"""Messages of ops: true dtypes and shapes, the name by which the op was called, the nearest name for one that is
none."""

import copy
import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, mint, nn, ops
from tests.python.differential import check

ROOT = pathlib.Path(__file__).parents[2]


def f(*shape):
    return Tensor(np.ones(shape, np.float32))


def i(*shape):
    return Tensor(np.ones(shape, np.int32))


class Own(nn.Cell):
    def construct(self, x):
        return ops.cat([x, f(2, 4)], 0)


CALLS = {
    "a convolution of integers": (lambda: nn.Conv2d(3, 4, 3)(i(1, 3, 8, 8)), TypeError,
                                  "got i32[1,3,8,8] and f32[4,3,3,3]"),
    "one by integers": (lambda: ops.conv2d(f(1, 3, 8, 8), i(4, 3, 3, 3)), TypeError,
                        "got f32[1,3,8,8] and i32[4,3,3,3]"),
    "a class that is none": (lambda: ops.cross_entropy(f(2, 3), Tensor([0, 7], ms.int32)), IndexError,
                             "[cross_entropy] index 7 is out of range for a dimension of 3 (in gather_d)"),
    "the same of a Cell": (lambda: nn.CrossEntropyLoss()(f(2, 3), Tensor([0, 7], ms.int32)), IndexError,
                           "[CrossEntropyLoss] index 7 "),
    "the same of mint": (lambda: mint.nn.functional.cross_entropy(f(2, 3), Tensor([0, 7], ms.int32)), IndexError,
                         "[cross_entropy] index 7 "),
    "a Cell in a Cell": (lambda: nn.SequentialCell(nn.Embedding(4, 5))(Tensor([7], ms.int32)), IndexError,
                         "[Embedding] index 7 is"),
    "a Cell of one's own": (lambda: Own()(f(2, 3)), ValueError,
                            "[cat] f32[2,4] does not join f32[2,3] along axis 0 (in concat)"),
    "a base class of the library's": (lambda: nn.BatchNorm2d(4)(f(1, 3, 8, 8)), ValueError, "[BatchNorm] "),
    "another name": (lambda: ops.cat([f(2, 3), f(2, 4)], 0), ValueError, "[cat] f32[2,4] does not join"),
    "a method": (lambda: f(2, 3).permute(0, 1, 2), ValueError,
                 "[permute] expected a permutation of 2 axes, got (0,1,2) (in transpose)"),
    "an overload": (lambda: ops.sum(f(2, 3), dim=4), ValueError, "[sum] axis 4 is out of range"),
    "a name of several": (lambda: ops.where(Tensor([True] * 5), f(2, 3), f(2, 3)), ValueError,
                          "[where] shapes [5] and [2,3] do not broadcast"),
    "the other": (lambda: ops.select(Tensor([True] * 5), f(2, 3), f(2, 3)), ValueError, "[select] shapes [5]"),
    "the same as a method": (lambda: f(2, 3).where(Tensor([True] * 5), f(2, 3)), ValueError, "[where] shapes [5]"),
    "in NumPy's module": (lambda: ms.numpy.where(Tensor([True] * 5), f(2, 3), f(2, 3)), ValueError, "[where] shapes"),
    "in mint": (lambda: mint.where(Tensor([True] * 5), f(2, 3), f(2, 3)), ValueError, "[where] shapes [5]"),
    "a name by keyword": (lambda: ops.multiply(f(2, 3), f(4)), ValueError, "[multiply] shapes [2,3] and [4]"),
    "an item": (lambda: f(2, 3)[Tensor([7, 7], ms.int32)], IndexError, "[getitem] index 7 is out of range"),
    "a stored item": (lambda: f(2, 3).__setitem__(0, f(4)), ValueError, "[setitem] f32[4] does not broadcast to [3]"),
    "one by a mask": (lambda: f(2, 3).__setitem__(Tensor([True] * 4), 1.0), IndexError, "[setitem] index 2 is out of"),
    "one by a number": (lambda: f(2, 3).__setitem__(7, 1.0), IndexError, "[setitem] index 7 is out of bounds"),
    "classes of another number": (lambda: ops.cross_entropy(f(2, 3), i(4)), ValueError,
                                  "For 'cross_entropy', class indices must have the shape (2,)"),
    "of sparse labels": (lambda: nn.SoftmaxCrossEntropyWithLogits(sparse=True)(f(2, 3), i(4)), ValueError,
                         "For 'SoftmaxCrossEntropyWithLogits', class indices"),
    "weights of another number": (lambda: ops.cross_entropy(f(2, 3), i(2), weight=f(4)), ValueError,
                                  "For 'cross_entropy', 'weight' must have the shape (3,)"),
    "of probabilities": (lambda: ops.cross_entropy(f(2, 3), f(2, 3), weight=f(4)), ValueError,
                         "For 'cross_entropy', 'weight' must"),
    "of log-probabilities": (lambda: nn.NLLLoss(f(2))(f(2, 3), i(2)), ValueError, "For 'nll_loss', 'weight' must"),
    "no such place": (lambda: f(2, 3).unsqueeze(5), ValueError, "For 'unsqueeze', 'dim' must be in [-3, 3), but got 5"),
    "no such axes": (lambda: f(2, 3).transpose(0, 5), ValueError, "For 'transpose', axes 0 and 5 are out of range"),
    "no such axis": (lambda: ops.repeat_interleave(f(2, 3), 2, 5), ValueError, "For 'repeat_interleave', the axis"),
    "none to roll": (lambda: ops.roll(f(2, 3), 1, 5), ValueError, "For 'roll', the axis must be in [-2, 2), but got 5"),
    "halves of an odd size": (lambda: ops.glu(f(2, 3)), ValueError, "For 'glu', the size of axis -1 must be even"),
    "windows of a vector": (lambda: ops.adaptive_avg_pool2d(f(8), 2), ValueError, "3 or 4 dimensions, but got 1"),
    "an operator": (lambda: f(2, 3) + f(4), ValueError, "[add] shapes [2,3] and [4] do not broadcast"),
    "its own name": (lambda: ops.softmax(f(2, 3), axis=5), ValueError,
                     "[softmax] axis 5 is out of range [-2, 2) for a tensor of 2 dimensions"),
    "an optimizer": (lambda: nn.SGD(nn.Dense(3, 2).trainable_params())((f(3, 2), f(2))), ValueError,
                     "[SGD] shapes [2,3] and [3,2]"),
    "a keyword": (lambda: ms.ops.stop_gradient(vaule=f(2)), TypeError, "unexpected keyword argument"),
    "an op's": (lambda: ops.add(f(2), othr=f(2)), TypeError, "add() got an unexpected keyword argument 'othr'"),
}


@pytest.mark.parametrize("name", CALLS)
def test_messages(name):
    call, kind, said = CALLS[name]
    with pytest.raises(kind) as e:
        call()
    assert said in str(e.value) or str(e.value).startswith(said), e.value


def caught(x, y):
    try:
        return ops.cat([x, y], 0)
    except ValueError as e:
        return str(e)


def caught_where(x, y):
    try:
        return ops.where(x > 0, x, y)
    except ValueError as e:
        return str(e)


def caught_item(x, y):
    try:
        x[0] = y
    except ValueError as e:
        return str(e)


def test_a_function_of_another_name_is_pickled():
    assert ops.where.__name__ == "where" and repr(ops.where) == "<pijit op where>"
    assert pickle.loads(pickle.dumps(ops.where)) is ops.where and copy.deepcopy(ops.multiply) is ops.multiply


def test_captured_code_reads_the_same():
    check(lambda: caught_where, f(2, 3), f(2, 4))
    check(lambda: caught_item, f(2, 3), f(2, 4))
    check(lambda: caught, f(2, 3), f(2, 4))
    check(lambda: lambda x, y: ops.cross_entropy(x, y) + 1, f(2, 3), Tensor([0, 9], ms.int32))
    check(lambda: lambda x: nn.Dense(5, 4)(x), f(2, 3))
    check(lambda: lambda x: Own()(x) * 2, f(2, 3))


def test_keywords_of_ops_have_their_nearest_name():
    with pytest.raises(TypeError,
                       match=r"softmax\(\) got an unexpected keyword argument 'axs'\. Did you mean 'axis'\?"):
        ms._C.ops["softmax"](f(2, 3), axs=1)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'zzz'$"):
        ms._C.ops["softmax"](f(2, 3), zzz=1)


@pytest.mark.parametrize("call, said", [
    ("ops.sum(x, dmi=1)", "Did you mean 'dim'?"), ("ops.sum(x, axs=1)", "sum() takes input, dim, keepdim, dtype."),
    ("nn.Dense(3, 4, has_bais=False)", "Did you mean 'has_bias'?"),
    ("ops.cat([x], dims=0)", "cat() takes "), ("mint.sum(x, keepdims=True)", "Did you mean 'keepdim'?"),
    ("x.expand_as(othr=x)", "Did you mean 'other'?"), ("own(x, axs=1)", ""), ("{}['axs']", ""),
])
def test_programs_are_told_the_nearest_keyword(call, said, tmp_path):
    if sys.version_info < (3, 10) and call.startswith("nn."):
        pytest.skip("before 3.10 the error does not name the class")
    (tmp_path / "p.py").write_text(
        f"import pijit as ms\nfrom pijit import mint, nn, ops\nx = ms.Tensor([1.0])\ndef own(x, axis): pass\n{call}\n")
    r = subprocess.run([sys.executable, "-m", "pijit", str(tmp_path / "p.py")], capture_output=True, text=True,
                       timeout=300, env={**os.environ, "PYTHONPATH": str(ROOT)})
    last = r.stderr.strip().splitlines()[-1]
    if said and sys.version_info >= (3, 13) and said.startswith("Did you mean"):  # CPython says it by itself
        assert last.endswith(said), r.stderr
    else:
        assert last.startswith(f"python -m pijit: {said}") if said else "python -m pijit" not in r.stderr, r.stderr
