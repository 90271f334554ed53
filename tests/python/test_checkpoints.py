"""Checkpoints: names, dtypes and shapes as MindSpore 2.10 saves them, what fits into what, threads, slices."""

import json
import os
import pathlib
import threading
import warnings

import numpy as np
import pytest

import pijit as ms
from pijit import nn, ops, serialization
from tests.python import exchanged

FACTS = json.loads(pathlib.Path(__file__).with_name("facts_checkpoints.json").read_text())


@pytest.mark.parametrize("name", sorted(FACTS))
def test_names_are_mindspores(name):
    net, optimizer, step = exchanged.made(name)
    step()
    assert exchanged.described(net.parameters_dict()) == FACTS[name]["network"]
    assert exchanged.described(optimizer.parameters_dict()) == FACTS[name]["optimizer"]


@pytest.mark.parametrize("name", sorted(FACTS))
@pytest.mark.parametrize("form", ["ckpt", "safetensors"])
def test_training_goes_on(tmp_path, name, form):
    net, optimizer, step = exchanged.made(name)
    for _ in range(3):
        step()
    files = [str(tmp_path / f"{part}.{form}") for part in ("net", "optimizer")]
    for part, f in zip((net, optimizer), files):
        ms.save_checkpoint(part, f, format=form)
    want = [step() for _ in range(3)]
    net, optimizer, step = exchanged.made(name)
    for part, f in zip((net, optimizer), files):
        assert ms.load_param_into_net(part, ms.load_checkpoint(f, format=form)) == ([], [])
    assert [step() for _ in range(3)] == want


def test_rates_of_groups_are_parameters():
    """Each group's rate is saved, and changes by what a checkpoint holds."""
    a, b, c = (ms.Parameter(ms.Tensor([1.0]), name=n) for n in "abc")
    optimizer = nn.Momentum([{"params": [a, b], "lr": 0.5}, {"params": [c], "lr": 0.25}], 0.1, 0.0)
    assert [p.name for p in optimizer.learning_rate] == ["learning_rate_group_0"] * 2 + ["learning_rate_group_1"]
    ms.load_param_into_net(
        optimizer, {"learning_rate_group_1": ms.Parameter(ms.Tensor(0.125), name="learning_rate_group_1")}
    )
    optimizer((ms.Tensor([1.0]),) * 3)
    assert [p.item() for p in (a, b, c)] == [0.5, 0.5, 0.875]
    assert [float(r) for r in optimizer.get_lr()] == [0.5, 0.5, 0.125]
    mixed = nn.Momentum(
        [
            {"params": [a], "lr": [0.5, 0.25]},
            {"params": [b]},
            {"params": [c], "lr": nn.ExponentialDecayLR(1.0, 0.5, 1)},
        ],
        0.125,
        0.0,
    )
    assert type(mixed.learning_rate) is nn.CellList
    names = [n for n in mixed.parameters_dict() if "rate" in n]
    assert names == ["learning_rate_group_0", "learning_rate"]
    for p in (a, b, c):
        p.set_data(ms.Tensor([1.0]))
    mixed((ms.Tensor([1.0]),) * 3)
    mixed((ms.Tensor([1.0]),) * 3)
    assert [p.item() for p in (a, b, c)] == [0.25, 0.75, -0.5]


KINDS = ["float16", "bfloat16", "float32", "float64", "int8", "int32", "int64", "uint8", "bool_", "complex64"]


@pytest.mark.parametrize("own", KINDS)
@pytest.mark.parametrize("given", KINDS)
def test_dtypes_that_fit(own, given):
    """As in MindSpore 2.10: floats into floats, signed ints into signed ints, others into their own dtype."""

    def family(kind):
        return kind.strip("0123456789_").replace("bfloat", "float")

    def net():
        cell = nn.Cell()
        cell.p = ms.Parameter(ms.Tensor(np.zeros(2), getattr(ms, own)), name="p")
        return cell

    values = {"p": ms.Parameter(ms.Tensor(np.ones(2), getattr(ms, given)), name="p")}
    cell = net()
    if family(own) == family(given):
        assert ms.load_param_into_net(cell, values) == ([], [])
        assert cell.p.dtype == getattr(ms, own) and cell.p.asnumpy().tolist() == [1, 1]
    else:
        with pytest.raises(RuntimeError, match="dtype"):
            ms.load_param_into_net(cell, values)
    if own != given:
        with pytest.raises(RuntimeError, match="dtype"):
            ms.load_param_into_net(net(), values, strict_load=True)
    with pytest.raises(TypeError, match="strict_load"):
        ms.load_param_into_net(net(), values, 3)


def test_a_save_waits_for_those_before(tmp_path, monkeypatch):
    """Else a thread could put an older checkpoint in the place of a newer one."""
    path, begun = str(tmp_path / "a.ckpt"), threading.Event()
    write = serialization._write

    def slow(*args):
        if threading.current_thread() is not threading.main_thread():
            begun.wait(0.2)
        write(*args)

    monkeypatch.setattr(serialization, "_write", slow)
    ms.save_checkpoint({"v": ms.Tensor([1.0])}, path, async_save=True)
    ms.save_checkpoint({"v": ms.Tensor([2.0])}, path)
    begun.set()
    serialization.wait_for_writers()
    assert ms.load_checkpoint(path)["v"].item() == 2.0


def test_a_thread_saves_the_values_of_now(tmp_path):
    path, p = str(tmp_path / "a.ckpt"), ms.Parameter(ops.ones((1000,)), name="p")
    ms.save_checkpoint({"p": p}, path, async_save=True)
    p.set_data(ops.zeros((1000,)))
    assert ms.load_checkpoint(path)["p"].asnumpy().all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", ["ckpt", "safetensors"])
def test_values_stay(tmp_path, kind, form):
    path = str(tmp_path / f"a.{form}")
    values = {
        str(shape): ms.Tensor(np.random.default_rng(0).integers(0, 2, shape), getattr(ms, kind))
        for shape in ((), (0,), (3,), (2, 0, 4), (2, 3, 4))
    }
    values["turned"] = values["(2, 3, 4)"].transpose(2, 0, 1)
    values["part"] = values["(2, 3, 4)"][1, :, 1]
    ms.save_checkpoint(values, path, format=form)
    for name, v in ms.load_checkpoint(path, format=form).items():
        want = values[name]
        assert v.shape == want.shape and v.dtype == want.dtype and v.asnumpy().tobytes() == want.asnumpy().tobytes()
    os.unlink(path)


def test_slices_become_one():
    def part(k, name="w", shape=(2, 3)):
        return ms.Parameter(ms.Tensor(np.full(shape, k, np.float32)), name=name, requires_grad=False)

    whole = ms.merge_sliced_parameter([part(0), part(1), part(2)])
    assert type(whole) is ms.Parameter and whole.name == "w" and not whole.requires_grad
    assert whole.asnumpy()[:, 0].tolist() == [0, 0, 1, 1, 2, 2]
    assert (
        ms.merge_sliced_parameter([part(5)]).shape == (2, 3)
        and ms.merge_sliced_parameter([part(5, shape=())] * 2).shape == ()
    )
    for error, given in [
        (TypeError, 3),
        (ValueError, []),
        (TypeError, [ms.Tensor(1.0)]),
        (ValueError, [part(0), part(0, "v")]),
        (ValueError, [part(0), part(0, shape=(1, 3))]),
    ]:
        with pytest.raises(error):
            ms.merge_sliced_parameter(given)
    with pytest.raises(TypeError):
        ms.merge_sliced_parameter([part(0)], 3)
    with pytest.raises(RuntimeError, match="one device"):
        ms.merge_sliced_parameter([part(0)], {"w": object()})


# Names in the network and in the checkpoint, whose values are 1, 2, …; what MindSpore 2.10 gives each (0: nothing).
PREFIXES = [
    (["x", "y"], ["a.x", "a.y"], [1, 2]), (["x", "y"], ["a.x", "b.y"], [1, 2]),
    (["w", "x", "y", "zz"], ["w", "a.x", "b.y", "b.zz"], [1, 2, 3, 4]), (["x", "y"], ["ax", "ay"], [1, 2]),
    (["x", "y"], ["b.x", "a.x", "a.y"], [1, 3]), (["x", "yyy"], ["a.yyy", "b.x", "a.x"], [2, 1]),
    (["yyy", "x"], ["b.x", "a.x", "a.yyy"], [3, 2]), (["x", "a.x"], ["a.x"], [1, 1]),
    (["x", "y"], ["a.x", "y"], [1, 2]),
    (["xx", "x"], ["a.xx", "a.x"], [1, 2]), (["x", "xx"], ["a.xx", "a.x"], [1, 1]),
    (["weight", "bias"], ["fc1.weight", "fc2.bias", "fc2.weight", "fc1.bias"], [1, 4]),
    (["0.weight", "1.weight", "10.weight"], ["n.10.weight", "n.0.weight", "n.1.weight"], [1, 3, 1]),
    (["a.x", "a.y"], ["x", "y"], [0, 0]), (["x.m", "y.m"], ["m", "a.y.m"], [0, 2]),
    (["x", "y", "q"], ["a.x", "a.y"], [1, 2, 0]),
    (["tower.g", "tower.m", "wide"], ["o.d.net.tower.g", "d.net.tower.m", "o.w"], [1, 2, 0]),
]


@pytest.mark.parametrize(("names", "keys", "want"), PREFIXES)
def test_prefixes_of_names(names, keys, want):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.parts = ms.ParameterTuple([ms.Parameter(ms.Tensor([0.0]), name=n) for n in names])
    for strict in (False, True):
        net = Net()
        values = {n: ms.Parameter(ms.Tensor([k + 1.0]), name=n) for k, n in enumerate(keys)}
        missing, unused = ms.load_param_into_net(net, values, strict)
        exact = [keys.index(n) + 1 if n in keys else 0 for n in names]
        got = [int(p.asnumpy()[0]) for p in net.get_parameters()]
        assert got == (exact if strict else want)
        assert missing == [n for n, v in zip(names, got) if v == 0] and unused == [k for k in keys if k not in names]


def test_warnings_of_what_was_not_loaded(tmp_path):
    def network():
        return nn.SequentialCell(nn.Dense(3, 4), nn.Dense(4, 2))

    good = network().parameters_dict()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert ms.load_param_into_net(network(), good) == ([], [])
        assert ms.load_param_into_net(network(), {**good, "more": ms.Tensor([1.0])}) == ([], ["more"])
        assert not seen
        left = {n: v for n, v in good.items() if n != "0.weight"}
        assert ms.load_param_into_net(network(), left) == (["0.weight"], [])
        half = ms.Parameter(ms.Tensor(np.ones((4, 3)), ms.float16), name="0.weight")
        ms.load_param_into_net(network(), {**good, "0.weight": half})
        ms.load_param_into_net(network(), {f"part.{n}": v for n, v in good.items()})
        ms.save_checkpoint(left, str(tmp_path / "a.ckpt"))
        ms.load_checkpoint(str(tmp_path / "a.ckpt"), network())
    texts = [str(w.message) for w in seen]
    assert [w.filename for w in seen] == [__file__] * 4
    assert "1 parameters of the network are not loaded" in texts[0] and texts[0].endswith("0.weight.")
    assert "converted to the network's dtypes: 0.weight (Float16 to Float32)" in texts[1]
    assert "the prefix 'part.'" in texts[2] and texts[3] == texts[0]
