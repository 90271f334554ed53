"""Networks as graphs that other packages' files can hold."""

import os
import pathlib
import sys

import numpy as np
import pytest

import pijit as ms
from pijit import nn, ops
from pijit.interchange import graph, schema
from tests.python import exported_networks

pytest.importorskip("google.protobuf")
OF_MINDSPORE = pathlib.Path(__file__).parent / "mind_ir"
NETWORKS = exported_networks.networks(ms)

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
    model = schema.messages("mind_ir")["ModelProto"]()
    model.graph.node.add(name="a", op_type="REF::Add:1").attribute.add(name="value", type=7, i=-1)
    again = schema.messages("mind_ir")["ModelProto"]()
    again.ParseFromString(model.SerializeToString())
    assert again == model and again.graph.node[0].attribute[0].i == -1


@pytest.mark.parametrize("run", [lambda net: net, ms.jit], ids=["plain", "jit"])
@pytest.mark.parametrize("name", NETWORKS)
def test_files_of_mindspore_run(name, run):
    exported_networks.read(ms, name, [ms.Tensor(x) for x in NETWORKS[name][1]], str(OF_MINDSPORE), run)


@pytest.mark.parametrize("name", NETWORKS)
def test_exported_networks_run(name, tmp_path):
    make, given = NETWORKS[name]
    inputs = [ms.Tensor(x) for x in given]
    exported_networks.write(ms, name, make, inputs, str(tmp_path))
    exported_networks.read(ms, name, inputs, str(tmp_path))
    exported_networks.read(ms, name, inputs, str(tmp_path), ms.jit)


def exported(net, *inputs, path):
    ms.export(net, *inputs, file_name=str(path), file_format="MINDIR")
    return ms.load(str(path) + ".mindir")


def test_a_network_of_a_file_is_one_graph(tmp_path):
    cell = nn.GraphCell(exported(nn.SequentialCell(nn.Dense(3, 4), nn.ReLU()), ms.Tensor(X), path=tmp_path / "a"))
    traced = graph.trace("export", cell, (ms.Tensor(X),), [(7, 3)])
    assert "relu" in [n.op for n in traced.graph.live()]


def test_an_export_changes_no_network(tmp_path):
    net = nn.SequentialCell(nn.Dense(3, 3), nn.BatchNorm1d(3), nn.Dropout(p=0.5)).set_train(True)
    net[2].set_train(False)
    before = net[1].moving_mean.asnumpy().copy()
    exported(net, ms.Tensor(X), path=tmp_path / "a")
    assert net.training and net[1].training and not net[2].training
    np.testing.assert_array_equal(net[1].moving_mean.asnumpy(), before)


@pytest.mark.parametrize("how", ["plain", "traced", "profiled"])
def test_a_network_is_exported_where_nothing_is_captured(how, tmp_path):
    seen = []

    def tracer(frame, event, arg):
        seen.append(event)
        return tracer

    path, net, x = str(tmp_path / "net.mindir"), nn.Dense(3, 2), ops.ones((4, 3))
    tracing, profiling = sys.gettrace(), sys.getprofile()
    before = ms._C.forbid_capture(how == "plain")
    sys.settrace(tracer if how == "traced" else tracing)
    sys.setprofile(tracer if how == "profiled" else profiling)
    try:
        ms.export(net, x, file_name=path)
        assert how == "plain" or (sys.gettrace() if how == "traced" else sys.getprofile()) is tracer
        assert ms._C.forbid_capture(how == "plain") == (how == "plain")
    finally:
        sys.setprofile(profiling)
        sys.settrace(tracing)
        ms._C.forbid_capture(before)
    assert np.allclose(nn.GraphCell(ms.load(path))(x).asnumpy(), net(x).asnumpy(), 1e-5, 1e-6)


def test_parameters_have_their_names_and_values(tmp_path):
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Dense(4, 2))
    cell = nn.GraphCell(exported(net, ms.Tensor(X), path=tmp_path / "a"))
    assert set(cell.parameters_dict()) == set(net.parameters_dict())
    for name, p in net.parameters_dict().items():
        np.testing.assert_array_equal(cell.parameters_dict()[name].asnumpy(), p.asnumpy())


def test_an_operation_without_a_primitive_is_named(tmp_path):
    with pytest.raises(RuntimeError, match="'export'.*'svd'.*not supported"):
        exported(lambda x: ops.svd(x)[0], ms.Tensor(X), path=tmp_path / "a")


def test_parameters_stand_beside(tmp_path, monkeypatch):
    from pijit.interchange import writer
    monkeypatch.setattr(writer, "_SPLIT", 40)
    net, x = nn.Dense(3, 4), ms.Tensor(X)
    ms.export(net, x, file_name=str(tmp_path / "n"), file_format="MINDIR")
    assert sorted(os.listdir(tmp_path)) == ["n_graph.mindir", "n_variables"]
    path = tmp_path / "n_graph.mindir"
    np.testing.assert_allclose(nn.GraphCell(ms.load(str(path)))(x).asnumpy(), net(x).asnumpy(), 1e-5, 1e-6)
    model = schema.messages("mind_ir")["ModelProto"].FromString(path.read_bytes())
    for wrong in ("../n_variables/data_0", "/etc/passwd", "n_variables/../../x", "n_variables\\data_0", "..", ""):
        model.graph.parameter[0].external_data.location = wrong
        path.write_bytes(model.SerializeToString())
        with pytest.raises(ValueError, match="names the file"):
            ms.load(str(path))
    model.graph.parameter[0].external_data.location = "n_variables/data_0"
    model.graph.parameter[0].external_data.length = 1 << 40
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ValueError, match="has no"):
        ms.load(str(path))


def changed(change, tmp_path):
    exported(nn.SequentialCell(nn.Dense(3, 4), nn.ReLU()), ms.Tensor(X), path=tmp_path / "a")
    path = tmp_path / "a.mindir"
    model = schema.messages("mind_ir")["ModelProto"].FromString(path.read_bytes())
    change(model)
    path.write_bytes(model.SerializeToString())
    return ms.load(str(path))


def _cycle(m):
    last = m.graph.node[-1]
    m.graph.node[-2].input[0] = last.output[0]


BROKEN = {
    "which it computes later": _cycle,
    "an input is missing": lambda m: m.graph.ClearField("input"),
    "no dtype": lambda m: setattr(m.graph.parameter[0], "data_type", 99),
    "wrong size": lambda m: m.graph.parameter[0].dims.append(1 << 40),
    "negative size": lambda m: m.graph.parameter[0].dims.append(-1),
    "no output": lambda m: m.graph.ClearField("output"),
    "a name twice": lambda m: m.graph.parameter.add().CopyFrom(m.graph.parameter[0]),
    "no graph": lambda m: m.ClearField("graph"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken_files_are_refused(what, tmp_path):
    with pytest.raises(ValueError, match="'load'.*no MindIR file that can be read"):
        changed(BROKEN[what], tmp_path)


def test_unknown_primitives_are_named(tmp_path):
    with pytest.raises(ValueError, match="primitive 'Nonsense' is not recognized"):
        changed(lambda m: setattr(m.primitives[-1], "op_type", "Nonsense"), tmp_path)


def test_zip_files_are_refused(tmp_path):
    import zipfile
    with zipfile.ZipFile(tmp_path / "a.mindir", "w") as f:
        f.writestr("format", "pijit network 1")
    with pytest.raises(ValueError, match="export the network again"):
        ms.load(str(tmp_path / "a.mindir"))


@pytest.mark.parametrize("folder", [OF_MINDSPORE, None], ids=["mindspore", "pijit"])
@pytest.mark.parametrize("scale", [1, -1, 0.01, 500])
@pytest.mark.parametrize("name", ["branch", "loop"])
def test_control_flow_goes_by_the_values(name, scale, folder, tmp_path):
    net = NETWORKS[name][0]().set_train(False)
    if folder is None:
        if name == "loop":  # from some weights its turns lead away from a point where they stand still, and errors grow
            net.d.weight.set_data(ms.Tensor(np.linspace(-0.5, 0.6, 9).reshape(3, 3).astype(np.float32)))
            net.d.bias.set_data(ms.Tensor(np.array([0.1, -0.2, 0.3], np.float32)))
        exported(net, ms.Tensor(np.ones((2, 3), np.float32)), path=tmp_path / name)
    cell = nn.GraphCell(ms.load(str((folder or tmp_path) / f"{name}.mindir")))
    if name == "loop":
        net.d.weight.set_data(cell.parameters_dict()["d.weight"])
        net.d.bias.set_data(cell.parameters_dict()["d.bias"])
    x = ms.Tensor(np.full((2, 3), scale, np.float32))
    for a, b in zip(exported_networks.arrays(cell(x)), exported_networks.arrays(net(x))):
        np.testing.assert_allclose(a, b, 0, 1e-5 * max(1, np.abs(b.astype(float)).max()))


@pytest.mark.parametrize("batch", [1, 2, 9])
def test_sizes_vary_in_files(batch, tmp_path):
    net = NETWORKS["varying"][0]().set_train(False)
    graph_of_file = exported(net, ms.Tensor(shape=[None, 1, 4, 4], dtype=ms.float32), path=tmp_path / "a")
    assert graph_of_file.inputs == [("float32", (-1, 1, 4, 4))]
    x = ms.Tensor(np.random.RandomState(batch).randn(batch, 1, 4, 4).astype(np.float32))
    np.testing.assert_allclose(nn.GraphCell(graph_of_file)(x).asnumpy(), net(x).asnumpy(), 1e-5, 1e-6)


class Counted(nn.Cell):
    """What is made to the size of a batch, and what is computed of it."""

    def __init__(self):
        super().__init__()
        self.lstm, self.norm = nn.LSTM(4, 3, batch_first=True, bidirectional=True), nn.LayerNorm((4,))
        self.up = nn.Conv2dTranspose(1, 2, 3)

    def construct(self, x):
        rows, (h, _) = self.lstm(self.norm(x))
        first = ops.ones((1, 3, 1)).broadcast_to((x.shape[0], 3, 2)) + rows[:, :, :2]
        chosen = ops.where(x.sum((1, 2), keepdims=True) > 0, ops.zeros((1, 3, 4)), ops.ones((4,)))
        return (rows, h, first, chosen, x.mean(0), x.std(0), x.var((0, 1)), x / x.shape[0] + 2 * x.shape[0] + 1,
                ops.concat((x, x)).mean((0, 2)), self.up(x.expand_dims(1)))


VARYING = {"lstm": NETWORKS["lstm"][0], "encoder": NETWORKS["encoder"][0], "deconv": NETWORKS["deconv"][0],
           "sums": NETWORKS["sums"][0], "counted": Counted}


@pytest.mark.parametrize("form", ["MINDIR", "ONNX"])
@pytest.mark.parametrize("name", VARYING)
def test_a_batch_of_any_size(name, form, tmp_path):
    runtime = pytest.importorskip("onnxruntime") if form == "ONNX" else None
    net = VARYING[name]().set_train(False)
    given = [np.random.RandomState(3).randn(2, 3, 4).astype(np.float32)] if name == "counted" else NETWORKS[name][1]
    example = [ms.Tensor(shape=[None, *x.shape[1:]], dtype=ms.Tensor(x).dtype) for x in given]
    ms.export(net, *example, file_name=str(tmp_path / "a"), file_format=form)
    for size in (1, 2, 5):
        xs = [np.resize(x, (size, *x.shape[1:])) for x in given]
        if form == "ONNX":
            session = runtime.InferenceSession(str(tmp_path / "a.onnx"), providers=["CPUExecutionProvider"])
            got = session.run(None, {i.name: x for i, x in zip(session.get_inputs(), xs)})
        else:
            got = exported_networks.arrays(nn.GraphCell(ms.load(str(tmp_path / "a.mindir")))(*map(ms.Tensor, xs)))
        wanted = exported_networks.arrays(net(*map(ms.Tensor, xs)))
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a, b, 0, 1e-5 * max(1, np.abs(b.astype(float)).max()))


def test_a_size_that_no_value_has_is_told(tmp_path):
    net = lambda x: ops.ones((1, 3)).broadcast_to((2 * x.shape[0] + 1, 3)) + x.sum(0)
    with pytest.raises(RuntimeError, match="'export'.*'broadcast_to' of a size that varies and that no value has"):
        exported(net, ms.Tensor(shape=[None, 3], dtype=ms.float32), path=tmp_path / "a")


def test_a_size_that_may_not_vary_is_told(tmp_path):
    with pytest.raises(RuntimeError, match="works for one only: x0.shape"):
        exported(lambda x: x + ms.Tensor(np.ones((7, 3), np.float32)), ms.Tensor(shape=[None, 3], dtype=ms.float32),
                 path=tmp_path / "a")


def test_a_break_is_named_with_its_place(tmp_path):
    with pytest.raises(RuntimeError, match="one graph.*test_interchange.py:"):
        exported(lambda x: x * X, ms.Tensor(X), path=tmp_path / "a")


@pytest.mark.parametrize("name", sorted(NETWORKS.keys() - {"branch", "loop"}))
def test_onnx_runs_exported_networks(name, tmp_path):
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    make, given = NETWORKS[name]
    net, inputs = make().set_train(False), [ms.Tensor(x) for x in given]
    example = [ms.Tensor(shape=[None, *x.shape[1:]], dtype=x.dtype) for x in inputs] if name == "varying" else inputs
    ms.export(net, *example, file_name=str(tmp_path / "a"), file_format="ONNX")
    onnx.checker.check_model(onnx.load(tmp_path / "a.onnx"), full_check=True)
    session = runtime.InferenceSession(str(tmp_path / "a.onnx"), providers=["CPUExecutionProvider"])
    got = session.run(None, {i.name: x for i, x in zip(session.get_inputs(), given)})
    wanted = exported_networks.arrays(net(*inputs))
    assert len(got) == len(wanted)
    for a, b in zip(got, wanted):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, 0, 1e-5 * max(1, np.abs(b.astype(float)).max()))


def test_an_onnx_file_holds_the_network(tmp_path):
    net = nn.SequentialCell(nn.Dense(3, 4), nn.ReLU())
    ms.export(net, ms.Tensor(shape=[None, 3], dtype=ms.float32), file_name=str(tmp_path / "a"), file_format="ONNX")
    model = schema.messages("onnx")["ModelProto"].FromString((tmp_path / "a.onnx").read_bytes())
    assert [n.op_type for n in model.graph.node] == ["Transpose", "MatMul", "Add", "Relu", "Identity"]
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param
    assert model.graph.initializer[0].raw_data == net[0].weight.asnumpy().tobytes()


def test_what_onnx_does_not_hold_is_named(tmp_path):
    with pytest.raises(RuntimeError, match="'export'.*'cond'.*not supported"):
        ms.export(NETWORKS["branch"][0](), ms.Tensor(X), file_name=str(tmp_path / "a"), file_format="ONNX")


def test_onnx_export_by_its_module(tmp_path):
    net = nn.Dense(3, 2)
    x = ms.Tensor(np.ones((4, 3), np.float32))

    def written(**kw):
        ms.onnx.export(net, x, file_name=str(tmp_path / "b"), **kw)
        return schema.messages("onnx")["ModelProto"].FromString((tmp_path / "b.onnx").read_bytes()).graph
    plain = written()
    assert [i.name for i in plain.input] == ["x"] and len(plain.initializer) == 2
    named = written(input_names=["rows"], output_names=["scores"], dynamic_axes={"rows": {0: "batch"}})
    size = named.input[0].type.tensor_type.shape.dim
    assert named.input[0].name == "rows" and not size[0].dim_value and size[1].dim_value == 3
    assert [o.name for o in named.output] == ["scores"] and named.node[-1].output[0] == "scores"
    both = written(keep_initializers_as_inputs=True)
    assert [i.name for i in both.input][1:] == [i.name for i in both.initializer]
    without = written(export_params=False)
    assert len(without.input) == 3 and not without.initializer
    for wrong in ({"input_names": "x"}, {"output_names": 3}, {"dynamic_axes": [1]}, {"dynamic_axes": {"x": {2: "n"}}}):
        with pytest.raises(ValueError):
            written(**wrong)
