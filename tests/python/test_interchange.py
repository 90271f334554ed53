"""Networks as graphs that other packages' files can hold."""

import numpy as np
import pytest

import pijit as ms
from pijit import nn
from pijit.interchange import graph, schema

X = np.arange(21, dtype=np.float32).reshape(7, 3)


class Branch(nn.Cell):
    def construct(self, x):
        if x.sum() > 0:
            y = x + 1
        else:
            y = x * 2
        return y, {"x": x}


def test_a_network_is_a_graph():
    net, x = nn.SequentialCell(nn.Dense(3, 4), nn.ReLU()), ms.Tensor(X)
    traced = graph.trace("export", net, (x,), [(7, 3)])
    assert [n.op for n in traced.graph.live()] == ["dense", "relu"]
    assert traced.graph.nodes[0].type == ("float32", (7, 4))
    assert traced.result == traced.graph.nodes[-1].id
    values = list(traced.values.values())
    assert values[0] == 0 and values[1] is net[0].weight and values[2] is net[0].bias


def test_sizes_vary():
    traced = graph.trace("export", nn.Dense(3, 4), (ms.Tensor(X),), [(-1, 3)])
    assert traced.graph.nodes[-1].type.shape == ("s0", 4)


def test_branches_are_regions():
    traced = graph.trace("export", Branch(), (ms.Tensor(X),), [(7, 3)])
    cond = next(n for n in traced.graph.live() if n.op == "cond")
    assert [[n.op for n in r.live()] for r in cond.regions] == [["const", "add"], ["const", "mul"]]
    assert len(traced.result) == 2 and traced.values[traced.result[1][0]] == 0


def test_views_are_results_like_others():
    traced = graph.trace("export", nn.LSTM(3, 4, batch_first=True), (ms.Tensor(X[None]),), [(1, 7, 3)])
    assert any(n.op == "recurrent" for n in traced.graph.live())
    assert isinstance(traced.result[0], int)


def test_what_changes_something_is_refused():
    net = nn.BatchNorm1d(3).set_train(True)
    before = net.moving_mean.asnumpy().copy()
    with pytest.raises(RuntimeError, match="changes something.*set_train"):
        graph.trace("export", net, (ms.Tensor(X),), [(7, 3)])
    assert not np.array_equal(before, net.moving_mean.asnumpy())  # by the one call that was made


def test_a_result_that_is_no_tensor_is_refused():
    with pytest.raises(TypeError, match="'export'.*result.*must be Tensors"):
        graph.trace("export", lambda x: (x + 1, "words"), (ms.Tensor(X),), [(7, 3)])


def test_messages_of_a_schema():
    pytest.importorskip("google.protobuf")
    model = schema.messages("mind_ir")["ModelProto"]()
    model.graph.node.add(name="a", op_type="REF::Add:1").attribute.add(name="value", type=7, i=-1)
    again = schema.messages("mind_ir")["ModelProto"]()
    again.ParseFromString(model.SerializeToString())
    assert again == model and again.graph.node[0].attribute[0].i == -1
