"""Attributes that programs set on Tensors."""

import gc
import subprocess
import sys

import pytest

import pijit as ms
from pijit import Parameter, Tensor, nn, own_attributes


def test_they_are_of_one_tensor():
    a, b = Tensor([1.0, 2.0]), Tensor([1.0, 2.0])
    a.tag = 1
    setattr(a, "other_tag", [a.shape])
    assert a.tag == 1 and a.other_tag == [(2,)] and not hasattr(b, "tag") and not hasattr(Tensor, "tag")
    assert getattr(b, "tag", 7) == 7 and not hasattr(a + 1, "tag") and not hasattr(a[0], "tag")
    a.tag = b.tag = 5
    assert a.tag == b.tag == 5
    del a.tag
    assert not hasattr(a, "tag") and b.tag == 5
    for wrong in (lambda: a.tag, lambda: Tensor.tag, lambda: delattr(a, "tag"), lambda: delattr(a, "never")):
        with pytest.raises(AttributeError, match="tag|never"):
            wrong()
    with pytest.raises(AttributeError, match="^'Tensor' object has no attribute 'tag'"):
        _ = a.tag


@pytest.mark.parametrize("name", ["shape", "dtype", "ndim", "T", "asnumpy", "sum", "abs"])
def test_what_tensors_have_stays(name):
    a = Tensor([1.0])
    before = repr(getattr(a, name))
    with pytest.raises(AttributeError):
        setattr(a, name, 3)
    assert repr(getattr(a, name)) == before


def test_what_the_class_has_for_all():
    a, b = Tensor([1.0]), Tensor([1.0])
    Tensor.of_all = 9
    try:
        assert a.of_all == 9
        a.of_all = 4
        assert a.of_all == 4 and b.of_all == Tensor.of_all == 9
    finally:
        del Tensor.of_all
    a.parent_tensor_ = b
    assert a.parent_tensor_ is b


def test_parameters_and_subclasses_keep_their_own():
    a, p = Tensor([1.0]), Parameter(Tensor([1.0]), name="p")
    a.mark = 1
    p.mark = 2
    assert a.mark == 1 and p.mark == p.__dict__["mark"] == 2 and id(p) not in own_attributes._held
    del p.mark
    assert not hasattr(p, "mark") and a.mark == 1

    class Mine(Tensor):
        pass

    mine = Mine([1.0])
    mine.mark = 3
    assert mine.mark == 3 and mine.__dict__ == {"mark": 3} and id(mine) not in own_attributes._held
    del mine.mark
    assert not hasattr(mine, "mark")
    assert Parameter.__setattr__ is object.__setattr__  # the fast way


def test_they_go_with_their_tensor():
    gc.collect()
    before = set(own_attributes._held)
    kept = Tensor([1.0])
    for k in range(100):
        a = Tensor([float(k)])
        a.tag = kept
        assert not hasattr(a, "mark")
    assert len(set(own_attributes._held) - before) <= 2
    del a
    gc.collect()
    assert set(own_attributes._held) <= before


def test_in_captured_functions():
    def set_inside(x):
        y = x * 2
        y.note = 5
        return y

    def read(x):
        return x * x.note

    def has(x):
        return x * 2 if hasattr(x, "note") else x * 3

    for f in (set_inside, ms.jit(set_inside)):
        y = f(Tensor([1.0]))
        assert y.tolist() == [2] and y.note == 5 and not hasattr(f(Tensor([1.0])) + 0, "note")
    x, g, h = Tensor([2.0]), ms.jit(read), ms.jit(has)
    for note in (3, 4, 5, 5):
        x.note = note
        assert g(x).tolist() == [2 * note] and h(x).tolist() == [4]
    for _ in range(3):
        assert h(Tensor([2.0])).tolist() == [6]
    with pytest.raises(AttributeError, match="note"):
        g(Tensor([2.0]))

    class Net(nn.Cell):
        def construct(self, x):
            x.count = getattr(x, "count", 0) + 1
            return x * 1

    net = Net()
    for _ in range(3):
        net(x)
    assert x.count == 3


def test_tensors_without_cost_nothing():
    code = (
        "import pijit as ms; x = ms.Tensor([1.0]); f = ms.jit(lambda x: x.abs() + 1); f(x)\n"
        "x.tag = 1; f(x); f(x); assert not ms.explain(f).breaks; assert type(x).__dictoffset__ == 0; print(x.tag)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "1\n", run.stderr
