"""GRAPH_MODE and mode="PSJit" run what eager mode runs: pieces that no graph can hold are run by CPython, in their
order."""

import numpy as np
import pytest

import pijit as ms
from differential import check, check_calls, freeze, run
from pijit import Tensor, nn, ops


def T(*values):
    return Tensor(np.array(values, np.float32))


class WithArrays(nn.Cell):
    def construct(self, x):
        y = x * 2
        return Tensor(y.asnumpy() + 1) + y


class WithNumbers(nn.Cell):
    def construct(self, x):
        return x * float(x.sum()) + int(x[0]) + x.max().item()


class WithMasks(nn.Cell):
    def construct(self, x):
        return x[x > 1], ops.nonzero(x)


class LeftEarly(nn.Cell):
    def construct(self, x):
        for i in range(5):
            if i == 1:
                continue
            if x.sum() > 10:
                break
            x = x + i
        return x


class ChangesType(nn.Cell):
    def construct(self, x):
        y = 0
        x = abs(x)
        while x.sum() < 20:
            y = y + x
            x = x * 2
        return y


class Prints(nn.Cell):
    def __init__(self):
        super().__init__()
        self.print = ops.Print()

    def construct(self, x):
        self.print("x is", x)
        y = x * 2
        print("y:", float(y.sum()))
        return y


class Remembers(nn.Cell):
    def __init__(self):
        super().__init__()
        self.seen = []

    def construct(self, x):
        self.seen.append(float(x.sum()))
        if x.sum() > 3:
            self.large = True
            return x / 2
        self.large = False
        return x * 2


class Tries(nn.Cell):
    def construct(self, x):
        try:
            y = x.reshape((2, 7))
        except ValueError as e:
            return x, type(e).__name__
        return y, None


class Raises(nn.Cell):
    def construct(self, x):
        if x.sum() > 0:
            raise ValueError(f"sum {float(x.sum())}")
        return x


CELLS = [WithArrays, WithNumbers, WithMasks, LeftEarly, ChangesType, Remembers, Tries, Raises]
INPUTS = [T(1, 2), T(4, 2), T(-1, -2), T(9, 3)]


def record(mode, kind, gradient):
    ms.set_context(mode=mode)
    try:
        net = kind()
        f = ms.grad(lambda x: net(x).sum()) if gradient else net
        return [(run(f, (x,), {}), freeze({k: v for k, v in vars(net).items() if k in ("seen", "large")}))
                for x in INPUTS]
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def without_lines(records):
    return [((r[:3] if r[0] == "raises" else r, out), state) for (r, out), state in records]


@pytest.mark.parametrize("kind", CELLS)
def test_cells_run_as_eagerly(kind):
    eager, graph = record(ms.PYNATIVE_MODE, kind, False), record(ms.GRAPH_MODE, kind, False)
    assert without_lines(eager) == without_lines(graph)


# As MindSpore 2.7.1 printed them.
EAGER_PRINTS = """x is
Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  2.00000000e+00])
y: 6.0
"""
GRAPH_PRINTS = """x is
Tensor(shape=[2], dtype=Float32, value=[ 1.00000000e+00  2.00000000e+00])
y:
6
"""


@pytest.mark.parametrize(("mode", "expected"), [(ms.PYNATIVE_MODE, EAGER_PRINTS), (ms.GRAPH_MODE, GRAPH_PRINTS)])
def test_prints_have_the_form_of_the_mode(mode, expected, capsys):
    ms.set_context(mode=mode)
    try:
        net = Prints()
        for _ in range(3):
            net(T(1, 2))
            assert capsys.readouterr().out == expected
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


@pytest.mark.parametrize(("value", "shown"), [
    (ms.Tensor([[1.0, 2.0], [3.0, 4.5]]),
     "Tensor(shape=[2, 2], dtype=Float32, value=\n[[ 1.00000000e+00  2.00000000e+00]\n [ 3.00000000e+00  "
     "4.50000000e+00]])"),
    (ms.Tensor([1, 2, 3]), "Tensor(shape=[3], dtype=Int64, value=[1 2 3])"),
    (ms.Tensor(2.5), "2.5"), (ms.Tensor(7), "7"), (ms.Tensor(True), "1"), (True, "1"), (0.1 + 0.2, "0.3"),
    (1e20, "1e+20"), ("text", "text"), (None, "None"),
    (ms.Tensor([True, False]), "Tensor(shape=[2], dtype=Bool, value=[ True False])"),
    (ms.Tensor([1.5], ms.float16), "Tensor(shape=[1], dtype=Float16, value=[ 1.5000e+00])"),
    (ms.Tensor(np.arange(2000).astype(np.float32)),
     "Tensor(shape=[2000], dtype=Float32, value=[ 0.00000000e+00  1.00000000e+00  2.00000000e+00 ...  1.99700000e+03  "
     "1.99800000e+03  1.99900000e+03])"),
    (ms.Tensor([1e-5, 1234567.0, float("nan"), float("inf")]),
     "Tensor(shape=[4], dtype=Float32, value=[ 9.99999975e-06  1.23456700e+06             nan             inf])")])
def test_print_of_a_graph(value, shown, capsys):
    @ms.jit(capture_mode="ast")
    def f(x, value):
        print("a", value)
        return x + 1
    for _ in range(2):
        f(T(1, 2), value)
        assert capsys.readouterr().out == f"a\n{shown}\n"
    assert len(ms.explain(f).graphs) == 1 and not ms.explain(f).breaks


def test_print_of_containers_in_a_graph(capsys):
    @ms.jit(capture_mode="ast")
    def f(x, outside):
        print("t", (x + 1, 2), [x], outside)
        ops.print_({"k": x}, (1, 2))
        return x + 1
    shown = [f"Tensor(shape=[1], dtype=Float32, value=[ {v:.8e}])" for v in (3.0, 2.0, 2.0, 2.0)]
    for _ in range(2):
        f(T(2), (T(2), "o"))
        assert capsys.readouterr().out.splitlines() == ["t", shown[0], "2", shown[1], shown[2], "o", shown[3], "(1, 2)"]
    assert len(ms.explain(f).graphs) == 1 and not ms.explain(f).breaks


def test_print_of_what_holds_itself(capsys):
    @ms.jit(capture_mode="ast")
    def f(x, outside):
        made = [x]
        made.append(made)
        print(made)
        print(outside)
        return x + 1
    outside = [1]
    outside.append(outside)
    f(T(2), outside)
    first = "Tensor(shape=[1], dtype=Float32, value=[ 2.00000000e+00])"
    assert capsys.readouterr().out.splitlines()[-1] == "[1, [...]]"
    outside = [T(2)]
    outside.append(outside)
    print_each = ms.printing.print_each
    ms.jit(lambda x: (print_each(outside), x + 1), capture_mode="ast")(T(2))
    assert capsys.readouterr().out.startswith(first)


def test_print_of_other_modes_is_pythons(capsys):
    @ms.jit(mode="PIJit", fullgraph=True)
    def f(x):
        print("a", x, 1, sep="|")
        print("b", x.sum())
        return x + 1
    f(T(1, 2))
    assert capsys.readouterr().out == "a|[1. 2.]|1\nb 3.0\n"


@pytest.mark.parametrize("kind", [LeftEarly, ChangesType, Remembers])
def test_gradients_are_those_of_eager_mode(kind):
    assert without_lines(record(ms.PYNATIVE_MODE, kind, True)) == without_lines(record(ms.GRAPH_MODE, kind, True))


def test_psjit_splits_where_fullgraph_raises():
    def f(x):
        y = x + 1
        n = hash("a") == hash("a") and id(y) > 0
        return y * n
    assert np.array_equal(ms.jit(f, mode="PSJit")(T(1, 2)).asnumpy(), [2, 3])
    assert np.array_equal(ms.jit(f, capture_mode="ast")(T(1, 2)).asnumpy(), [2, 3])
    with pytest.raises(RuntimeError, match="test_graph_mode.py"):
        ms.jit(f, fullgraph=True)(T(1, 2))


def test_jit_has_no_effect_below_graph_mode():
    @ms.jit
    def helper(x):
        return x * 2

    class Net(nn.Cell):
        def construct(self, x):
            return helper(x) + float(x.sum())
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        assert np.array_equal(Net()(T(1, 2)).asnumpy(), [5, 7])
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert ms.explain(helper).calls == 0


@pytest.fixture
def graph_mode():
    ms.set_context(mode=ms.GRAPH_MODE)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


def trained(with_print=False, with_branch=False):
    """A training step as programs write it, and what it trains."""
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU(), nn.Dense(3, 2))
    loss_fn = nn.CrossEntropyLoss()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)

    def forward(x, y):
        z = net(x)
        return loss_fn(z, y), z
    gradients = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)

    def step(x, y):
        (loss, _), grads = gradients(x, y)
        if with_print:
            print(f"loss: {float(loss)}")
        if with_branch and loss > 0.1:
            grads = ops.clip_by_global_norm(grads, 0.5)
        optimizer(grads)
        return loss
    return step, lambda: [p.asnumpy() for p in net.get_parameters()]


@pytest.mark.parametrize(("options", "graphs"), [({}, 1), ({"with_print": True}, 3), ({"with_branch": True}, None)])
def test_training_steps_are_captured_in_graph_mode(graph_mode, options, graphs):
    e = check(lambda: trained(**options), Tensor(np.eye(2, dtype=np.float32)), Tensor([0, 1], ms.int32), calls=4,
              graphs=graphs)
    assert e.calls == 4
    assert all(entry["kernels"] for entry in e.entries)


def test_jitted_functions_are_captured_in_graph_mode(graph_mode):
    def make():
        nets = {kind.__name__: kind() for kind in (WithNumbers, LeftEarly, Prints, Remembers)}

        def f(x):
            y = nets["LeftEarly"](x)
            y = nets["Prints"](y) + nets["WithNumbers"](x)
            return nets["Remembers"](y)
        return f, lambda: nets["Remembers"].seen
    e = check_calls(make, [(x,) for x in INPUTS * 2])
    assert e.calls == 2 * len(INPUTS)
    assert e.graphs


def test_cells_called_behind_a_break_in_graph_mode_are_captured(graph_mode):
    net = nn.SequentialCell(nn.Dense(2, 3), nn.ReLU())

    class Whole(nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner = net

        def construct(self, x):
            return list(map(self.inner, [x, eval("x + 1")]))

    def f(x):
        return Whole()(x)
    e = check(lambda: f, Tensor(np.eye(2, dtype=np.float32)), calls=3)
    assert any(c["graph_runs"] for c in e.callees)


def test_helpers_below_a_jitted_function_in_graph_mode(graph_mode):
    @ms.jit
    def helper(x):
        return x * 2

    @ms.jit
    def f(x):
        return helper(x) + float(x.sum())
    for _ in range(3):
        assert np.array_equal(f(T(1, 2)).asnumpy(), [5, 7])
    assert ms.explain(helper).calls == 0
    assert ms.explain(f).calls == 3
    assert np.array_equal(helper(T(1, 2)).asnumpy(), [2, 4])
    assert ms.explain(helper).calls == 1
