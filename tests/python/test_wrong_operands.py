"""None, objects, texts and classes in the place of each operand and attribute: jitted code raises what the plain one
does, and nothing crashes. `python tests/python/wrong_operands.py` runs all 34,000 calls."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest
from differential import check

import pijit as ms
from pijit import Parameter, Tensor, ops

HERE = pathlib.Path(__file__).parent


def test_a_part_of_the_sweep():
    r = subprocess.run([sys.executable, HERE / "wrong_operands.py", "3", "16"], capture_output=True, text=True,
                       timeout=600)
    assert (r.returncode == 0), (r.returncode,
                                 r.stdout[-2000:] if r.returncode < 0 else r.stdout[r.stdout.find("DIFFERS"):][:2000],
                                 r.stderr[-2000:])


@pytest.mark.parametrize("wrong", [None, object, "text"])
def test_what_assigns(wrong):
    def parameter():
        return Parameter(Tensor(np.array([1.0, 2.0], np.float32)), name="p")

    for use in (lambda p: p.set_data(wrong), lambda p: ops.assign(p, wrong), lambda p: ops.Assign()(p, wrong),
                lambda p: p._assign(wrong),
                lambda p: p.copy_(wrong), lambda p: p.__setitem__(0, wrong), lambda p: ops.assign_add(p, wrong),
                lambda p: p.assign_value(wrong)):
        def make(use=use):
            p = parameter()
            return (lambda: use(p)), lambda: p
        check(make)


def test_none_among_tensors():
    x = Tensor([1.0, 2.0])
    for f in (lambda: ops.cat([x, None]), lambda: ops.stack([None, x]), lambda: ops.concat((x, x, None), 0),
              lambda: ops.addn([x, None]), lambda: ops.meshgrid(x, None),
              lambda: ops.where(x > 0, None, x), lambda: ops.einsum("i,i", x, None), lambda: x + None,
              lambda: x == None,  # noqa: E711
              lambda: x @ None, lambda: ops.clamp(x, None, None), lambda: ops.clamp(x, None, 1.5),
              lambda: ops.layer_norm(x, (2,), None, None), lambda: ops.dense(x, x, None)):
        check(lambda f=f: f)
        with_value = ms.jit(f)
        try:
            expected = f()
        except Exception as e:
            with pytest.raises(type(e)):
                with_value()
        else:
            assert repr(with_value()) == repr(expected)


def test_none_that_a_branch_decides():
    x = Tensor([1.0, 2.0])

    def f(x):
        y = None
        if x.sum() > 0:
            y = x
        return ops.cat([x, y])
    check(lambda: f, x)
    check(lambda: f, -x)
