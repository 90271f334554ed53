"""Names of parameters: MindSpore 2.10's, and no two that a checkpoint could hold only one of."""

import copy

import numpy as np
import pytest

import pijit as ms
from pijit import Parameter, ParameterTuple, Tensor, nn, ops


def param(value=1.0, name=None):
    return Parameter(Tensor(np.array([value], np.float32)), name=name)


def dense():
    return nn.Dense(1, 1)


class Net(nn.Cell):
    def __init__(self, fill, **kwargs):
        super().__init__(**kwargs)
        fill(self)


def with_tuple(*names):
    return Net(lambda s: setattr(s, "w", ParameterTuple([param(name=n) for n in names])))


def names(cell):
    return [p.name for p in cell.get_parameters()]


def weights(cell):
    return [n for n in names(cell) if n.endswith("weight")]


def two(first, second):
    def fill(s):
        s.a, s.b = first(), second()
    return Net(fill)


# what MindSpore 2.10 answers
UNNAMED = [
    (lambda: with_tuple(None, None, None), ["Parameter$1", "Parameter$2", "Parameter$3"]),
    (lambda: with_tuple(None, "k", None), ["Parameter$1", "k", "Parameter$2"]),
    (lambda: two(lambda: ParameterTuple([param(), param()]), lambda: ParameterTuple([param(), param()])),
     ["Parameter$1", "Parameter$2", "Parameter$3", "Parameter$4"]),
    (lambda: two(lambda: with_tuple(None, None), lambda: ParameterTuple([param()])),
     ["Parameter$1", "a.Parameter$1", "a.Parameter$2"]),
    (lambda: two(lambda: with_tuple(None), lambda: with_tuple(None)), ["a.Parameter$1", "b.Parameter$1"]),
    (lambda: Net(lambda s: setattr(s, "l", nn.CellList([with_tuple(None), with_tuple(None)]))),
     ["l.0.Parameter$1", "l.1.Parameter$1"]),
    (lambda: two(param, lambda: param(name=" ")), ["a", "b"]),
    (lambda: nn.Momentum([param(), param()], 0.1, 0.9),
     ["global_step", "learning_rate", "Parameter$1", "Parameter$2", "momentum", "moments.Parameter$1",
      "moments.Parameter$2"]),
]


@pytest.mark.parametrize(("make", "expected"), UNNAMED)
def test_parameters_without_a_name_get_one_each(make, expected):
    cell = make()
    assert names(cell) == expected
    assert list(cell.parameters_dict()) == expected
    assert [n for n, _ in cell.parameters_and_names()] == expected


def test_parameters_that_no_cell_holds_differ_in_name():
    made = [param() for _ in range(3)] + [param(name="")]
    assert len({p.name for p in made}) == 4
    assert all(p.name.startswith("Parameter#") for p in made)
    assert copy.deepcopy(made[0]).name == made[0].clone().name == made[0].name
    assert [p.name for p in ParameterTuple(made[:2]).clone("m")] == [f"m.{p.name}" for p in made[:2]]
    # a copy in the same tuple gets a name of its own in a Cell
    net = Net(lambda s: setattr(s, "w", ParameterTuple([made[0], copy.deepcopy(made[0])])))
    assert names(net) == ["Parameter$1", "Parameter$2"]


def test_a_name_that_a_cell_gave_stays():
    p = param()
    first = Net(lambda s: setattr(s, "x", p))
    second = Net(lambda s: setattr(s, "w", ParameterTuple([p])))
    assert names(first) == names(second) == ["x"]


def test_two_elements_of_a_tuple_must_not_share_a_name():
    with pytest.raises(ValueError, match="two elements are named 'a'"):
        ParameterTuple([param(name="a"), param(name="a")])
    p = param(name="a")
    assert len(ParameterTuple([p, p])) == 2
    q = param()
    assert names(Net(lambda s: setattr(s, "w", ParameterTuple([q, q])))) == ["Parameter$1"]


@pytest.mark.parametrize("container", [nn.CellList, nn.SequentialCell])
@pytest.mark.parametrize(("index", "left", "later"), [
    (0, [0, 1, 2], [0, 1, 2, 3]), (1, [0, 1, 2], [0, 1, 2, 3]), (-1, [0, 1, 2], [0, 1, 2, 3]),
    (slice(0, 2), [0, 1], [0, 1, 2]),
    (slice(1, None), [0], [0, 1]), (slice(None, None, 2), [0, 1], [0, 1, 2])])
def test_names_of_cells_behind_a_deleted_one(container, index, left, later):
    cells = container([dense() for _ in range(4)])
    del cells[index]
    assert weights(cells) == [f"{i}.weight" for i in left]
    cells.append(dense())
    assert weights(cells) == [f"{i}.weight" for i in later]


def test_names_of_nested_cells_behind_a_deleted_one():
    net = Net(lambda s: setattr(s, "l", nn.CellList([dense(), dense(), dense()])))
    del net.l[0]
    assert weights(net) == ["l.0.weight", "l.1.weight"]
    net.l.append(dense())
    assert weights(net) == ["l.0.weight", "l.1.weight", "l.2.weight"]
    deep = nn.CellList([nn.SequentialCell(dense(), dense()), nn.SequentialCell(dense(), dense()),
                        nn.SequentialCell(dense())])
    del deep[0]
    assert weights(deep) == ["0.0.weight", "0.1.weight", "1.0.weight"]
    plain = nn.CellList([dense(), dense(), dense()], auto_prefix=False)
    del plain[0]
    assert weights(plain) == ["weight", "weight"]


def later():
    net = two(lambda: Net(lambda s: setattr(s, "w", param())), lambda: Net(lambda s: setattr(s, "w", param())))
    net.a.v, net.b.v = param(), param()
    return net


def renamed():
    d = dense()
    d.weight.name = "bias"
    return d


def crossed():  # the path of a parameter is the name of another one
    def fill(s):
        s.x = param(name="w")
        s.y = param(name="w")
        s.z = param(name="x")
    return Net(fill)


def tuple_and_attribute():
    def fill(s):
        s.a = param()
        s.w = ParameterTuple([param(name="a")])
    return Net(fill)


def dotted():
    inner = Net(lambda s: s.insert_param_to_cell("b.c", param(name="n"), check_name_contain_dot=False))

    def fill(s):
        s.a = inner
        s.insert_param_to_cell("a.b", param(name="n"), check_name_contain_dot=False)
        s.a.n = param(name="n")
        s.insert_param_to_cell("a.b.c", param(name="n"), check_name_contain_dot=False)
    return Net(fill, auto_prefix=False)


EQUAL = [
    lambda: two(lambda: param(name="w"), lambda: param(name="w")),
    later, renamed, crossed, tuple_and_attribute, dotted,
    lambda: two(lambda: ParameterTuple([param(name="a")]), lambda: ParameterTuple([param(name="a")])),
    lambda: Net(lambda s: (setattr(s, "a", dense()), setattr(s, "b", dense())), auto_prefix=False),
    lambda: nn.CellList([dense(), dense(), dense()], auto_prefix=False),
    lambda: Net(lambda s: setattr(s, "l", nn.CellList([with_tuple("p"), with_tuple("p")], auto_prefix=False)),
                auto_prefix=False),
    lambda: two(lambda: nn.Adam([param(name="p")]), lambda: nn.Adam([param(name="p")])),
]


@pytest.mark.parametrize("form", ["ckpt", "safetensors"])
@pytest.mark.parametrize("make", EQUAL)
def test_a_checkpoint_holds_every_parameter(make, form, tmp_path):
    net, other = make(), make()
    for k, p in enumerate(net.get_parameters()):
        p.set_data(ops.full(p.shape, float(k), dtype=p.dtype))
    count = len(list(net.get_parameters()))
    assert [p.asnumpy().flat[0] for p in net.parameters_dict().values()] == list(range(count))
    path = str(tmp_path / f"net.{form}")
    ms.save_checkpoint(net, path, format=form)
    loaded = ms.load_checkpoint(path, format=form)
    assert len(loaded) == count
    assert ms.load_param_into_net(other, loaded) == ([], [])
    assert [p.asnumpy().flat[0] for p in other.get_parameters()] == list(range(count))
    ms.save_checkpoint(net.parameters_dict(), path, format=form)
    assert list(ms.load_checkpoint(path, format=form)) == list(loaded)


def test_a_file_with_one_value_for_a_shared_name_gives_it_to_all():
    net = two(lambda: param(name="w"), lambda: param(name="w"))
    assert ms.load_param_into_net(net, {"w": param(5.0, "w")}) == ([], [])
    assert net.a.asnumpy() == net.b.asnumpy() == 5


def test_save_refuses_what_it_would_lose(tmp_path):
    path = str(tmp_path / "x.ckpt")
    with pytest.raises(ValueError, match="two values named 'a'"):
        ms.save_checkpoint([{"name": "a", "data": param()}, {"name": "a", "data": param()}], path)
    with pytest.raises(ValueError, match="'append_dict' names 'a'"):
        ms.save_checkpoint([{"name": "a", "data": param()}], path, append_dict={"a": 3})
    with pytest.raises(ValueError, match="__metadata__"):
        ms.save_checkpoint({"__metadata__": param()}, path, format="safetensors")
    assert not list(tmp_path.iterdir())


def test_early_stopping_restores_parameters_that_share_a_name():
    from pijit.train.callback._early_stop import _values
    net = two(lambda: param(1.0, "w"), lambda: param(2.0, "w"))
    assert [v.item() for v in _values(net).values()] == [1.0, 2.0]


@pytest.mark.parametrize("value",
                         [lambda: [dense()], lambda: (dense(), dense()), lambda: {"k": dense()}, lambda: [param()],
                          lambda: {"k": [(param(),)]}])
def test_what_is_no_part_of_a_network_is_said(value, tmp_path):
    """As in MindSpore, Cells and Parameters in lists are not saved; but not silently."""
    net = Net(lambda s: (setattr(s, "d", dense()), setattr(s.d, "extra", value())))
    with pytest.warns(RuntimeWarning, match=r"leaves out the parameters in d\.extra"):
        ms.save_checkpoint(net, str(tmp_path / "x.ckpt"))
    assert len(ms.load_checkpoint(str(tmp_path / "x.ckpt"))) == 2


def test_what_is_saved_is_not_warned_of(tmp_path, recwarn):
    net = Net(lambda s: setattr(s, "l",
                                nn.CellList([nn.SequentialCell(dense(), dense()), nn.LSTM(2, 2), nn.BatchNorm2d(2)])))
    net.again = [net.l[0], net.l[0][1].weight]  # it is saved elsewhere
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()),
                               nn.Adam([{"params": net.trainable_params(), "lr": 0.1}]))
    for saved in (net, step, step.optimizer, nn.Momentum(net.trainable_params(), 0.1, 0.9)):
        ms.save_checkpoint(saved, str(tmp_path / "x.ckpt"))
    assert not recwarn.list
