"""Communication and the parallel context with one process, devices, streams, memory, profiles."""

import json
import os
import pstats

import numpy as np
import pytest

import pijit as ms
from pijit import communication, context, hal, nn, ops, parallel, profiler, runtime
from pijit.communication import comm_func


@pytest.fixture
def started(monkeypatch):
    for name in ("RANK_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MS_WORKER_NUM", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    communication.init()
    yield
    communication.release()


def test_one_rank(started):
    assert communication.GlobalComm.INITED
    assert (communication.get_rank(), communication.get_group_size(), communication.get_local_rank(),
            communication.get_local_rank_size()) == (0, 1, 0, 1)
    communication.create_group("mine", [0])
    assert communication.get_rank("mine") == 0 and communication.get_process_group_ranks("mine") == [0]
    assert communication.get_world_rank_from_group_rank("mine", 0) == 0
    assert communication.get_group_rank_from_world_rank(0, "mine") == 0
    communication.destroy_group("mine")
    for call, kind, text in ((lambda: communication.get_rank("mine"), ValueError, "mine"),
                             (lambda: communication.get_rank(3), TypeError, "group"),
                             (lambda: communication.create_group("g", [0, 1]), RuntimeError, "rank 0 of 1"),
                             (lambda: communication.create_group("g", 0), TypeError, "rank_ids"),
                             (lambda: communication.destroy_group("nccl_world_group"), ValueError, "world"),
                             (lambda: communication.init(3), TypeError, "backend_name"),
                             (lambda: communication.init("foo"), RuntimeError, "foo")):
        with pytest.raises(kind, match=text):
            call()


def test_init_comes_first(monkeypatch):
    communication.release()
    assert communication.get_rank() == 0 and communication.get_group_size() == 1
    with pytest.raises(RuntimeError, match="init"):
        communication.create_group("g", [0])
    with pytest.raises(RuntimeError, match="init"):
        comm_func.all_reduce(ms.Tensor([1.]))
    monkeypatch.setenv("RANK_SIZE", "8")
    with pytest.raises(RuntimeError, match="RANK_SIZE=8"):
        communication.init()
    assert not communication.GlobalComm.INITED


def test_parts_and_lists_of_one_process(started):
    distributed = ms.mint.distributed
    x, out, other = ms.Tensor(np.arange(4, dtype=np.float32)), ms.ops.zeros((4,)), ms.ops.zeros((2, 2))
    distributed.gather(x, [out], 0)
    distributed.scatter(other, [x], 0)
    assert out.asnumpy().tolist() == [0, 1, 2, 3] and other.asnumpy().tolist() == [[0, 1], [2, 3]]
    for y in (ops.AllGatherV()(x, [4]), ops.ReduceScatterV()(x, (4,)), ops.AlltoAllV(block_size=2)(x, [2], [2]),
              ops.AlltoAllVC()(x, ms.Tensor([4]))):
        assert y.asnumpy().tolist() == [0, 1, 2, 3]
    for call, kind, text in ((lambda: ops.AllGatherV()(x, [3]), ValueError, "have 3 elements"),
                             (lambda: ops.AllGatherV()(x, [2, 2]), ValueError, "hold 1 numbers"),
                             (lambda: ops.AllGatherV()(x, [-4]), ValueError, "negative"),
                             (lambda: ops.AllGatherV()(x, 4), TypeError, "output_split_sizes"),
                             (lambda: ops.AllGatherV()(other, [4]), ValueError, "vector"),
                             (lambda: ops.AlltoAllV()(x, [4], [3]), ValueError, "recv_numel_list"),
                             (lambda: ops.AlltoAllV(block_size=0), ValueError, "block_size"),
                             (lambda: ops.AlltoAllVC(transpose=1), TypeError, "transpose"),
                             (lambda: distributed.gather(x, [other, out], 0), ValueError, "gather_list"),
                             (lambda: distributed.scatter(x, [ops.zeros((3,))], 0), ValueError, "scatter_list")):
        with pytest.raises(kind, match=text):
            call()


def test_collectives(started):
    x = ms.Tensor(np.arange(4, dtype=np.float32))
    for op in (ops.AllReduce(), ops.AllReduce(ops.ReduceOp.MAX), ops.AllGather(), ops.ReduceScatter(),
               ops.CollectiveGather(0), ops.CollectiveScatter(), ops.Reduce(0),
               ops.AlltoAll(1, 0, 0)):
        assert op(x).asnumpy().tolist() == [0, 1, 2, 3]
    assert ops.Broadcast(0)((x, x))[1].asnumpy().tolist() == [0, 1, 2, 3] and ops.Barrier()() is None
    for f in (comm_func.all_reduce, comm_func.all_gather_into_tensor, comm_func.reduce_scatter_tensor):
        out, handle = f(x)
        assert out.asnumpy().tolist() == [0, 1, 2, 3] and handle is None
        f(x, async_op=True)[1].wait()
    for f in (comm_func.broadcast, comm_func.gather_into_tensor, comm_func.scatter_tensor,
              lambda x: comm_func.reduce(x, 0)):
        assert f(x).shape == (4,)
    assert comm_func.all_to_all_with_output_shape([(4,)], [x])[0][0].shape == (4,)
    assert comm_func.all_to_all_single_with_output_shape((4,), x)[0].shape == (4,)
    comm_func.barrier()
    for call in (lambda: ops.Send(0, 1)(x), lambda: ops.Receive(0, 1, [2], ms.float32)(), lambda: comm_func.send(x),
                 lambda: comm_func.recv(x), lambda: ops.Broadcast(1)((x,)),
                 lambda: comm_func.broadcast(x, 1),
                 lambda: comm_func.batch_isend_irecv([comm_func.P2POp("isend", x, 1)]),
                 lambda: ops.AlltoAll(2, 0, 0)(x)):
        with pytest.raises(RuntimeError, match="one process"):
            call()
    with pytest.raises(TypeError, match="op"):
        ops.AllReduce(3)
    with pytest.raises(ValueError, match="foo"):
        comm_func.all_reduce(x, "foo")


def test_collectives_in_graphs_and_gradients():
    reduce = ops.AllReduce()

    @ms.jit
    def f(x):
        return ms.grad(lambda v: (reduce(v) * v).sum())(x)
    assert f(ms.Tensor([1., 2.])).asnumpy().tolist() == [2, 4]
    assert not ms.explain(f).breaks


def test_parallel_context():
    context.reset_auto_parallel_context()
    assert context.get_auto_parallel_context("parallel_mode") == "stand_alone"
    assert context.get_auto_parallel_context("device_num") == 1
    for mode in context.ParallelMode.MODE_LIST:
        context.set_auto_parallel_context(parallel_mode=mode, gradients_mean=True,
                                          device_num=communication.get_group_size())
        assert ms.get_auto_parallel_context("parallel_mode") == mode
    context.set_auto_parallel_context(full_batch=True)
    assert context.get_auto_parallel_context("dataset_strategy") == "full_batch"
    for options, kind in ((dict(parallel_mode="foo"), ValueError), (dict(device_num=8), RuntimeError),
                          (dict(device_num="a"), TypeError), (dict(device_num=0), ValueError),
                          (dict(global_rank=1), RuntimeError), (dict(gradients_mean=3), TypeError),
                          (dict(foo=1), ValueError), (dict(pipeline_stages=2), RuntimeError),
                          (dict(search_mode="x"), ValueError), (dict(gradients_mean=False, foo=1), ValueError)):
        with pytest.raises(kind, match=list(options)[-1]):
            context.set_auto_parallel_context(**options)
    assert context.get_auto_parallel_context("gradients_mean") is True  # an error changes nothing
    ms.reset_auto_parallel_context()
    assert context.get_auto_parallel_context("gradients_mean") is False
    with pytest.raises(ValueError, match="foo"):
        context.get_auto_parallel_context("foo")
    with pytest.raises(RuntimeError, match="enable_ps"):
        ms.set_ps_context(enable_ps=True)
    assert ms.get_ps_context("enable_ps") is False
    ms.set_algo_parameters(fully_use_devices=True)
    assert ms.get_algo_parameters("fully_use_devices") is True
    ms.reset_algo_parameters()
    assert ms.get_algo_parameters("fully_use_devices") is False


def test_parallel_names(tmp_path):
    layout = parallel.Layout((2, 2), ("dp", "mp"))
    assert layout("dp", "mp").to_dict() == {"device_matrix": (2, 2), "tensor_map": (1, 0),
                                            "interleaved_parallel": False, "alias_name": ("dp", "mp"),
                                            "rank_list": [0, 1, 2, 3]}
    assert layout("None", ("dp", "mp")).to_dict()["tensor_map"] == (-1, (1, 0))
    net = nn.Dense(2, 2)
    assert ms.shard(net, ((1, 1),)) is net and ms.rank_list_for_transform(0) == [0]
    for call, kind in ((lambda: ms.shard(net, ((2, 1),)), RuntimeError), (lambda: ms.shard(3, ()), TypeError),
                       (lambda: parallel.Layout((2,), ("a", "b")), ValueError),
                       (lambda: layout("x"), ValueError), (lambda: ms.rank_list_for_transform(0, "a"), RuntimeError),
                       (lambda: ms.transform_checkpoints("a", "b", "c"), RuntimeError)):
        with pytest.raises(kind):
            call()
    path = str(tmp_path / "a.ckpt")
    ms.save_checkpoint(net, path)
    other = nn.Dense(2, 2)
    ms.load_distributed_checkpoint(other, [path])
    assert np.array_equal(net.weight.asnumpy(), other.weight.asnumpy())


def test_streams_and_memory():
    runtime.synchronize()
    hal.synchronize()
    a, b = runtime.Event(enable_timing=True), runtime.Event(enable_timing=True)
    with runtime.StreamCtx(runtime.current_stream()):
        a.record()
        b.record(runtime.Stream())
    assert a.elapsed_time(b) >= 0 and a.query() and runtime.Stream() == runtime.default_stream()
    with pytest.raises(RuntimeError, match="enable_timing"):
        runtime.Event().elapsed_time(a)
    with pytest.raises(TypeError, match="Stream"):
        runtime.StreamCtx(3)
    runtime.reset_peak_memory_stats()
    before = runtime.memory_allocated()
    x = ms.Tensor(np.ones((1000, 100), np.float32)) + 1
    assert runtime.memory_allocated() - before >= 400000
    del x
    assert runtime.memory_allocated() - before < 400000 <= ms.max_memory_allocated() - before
    assert hal.memory_stats("CPU")["max_allocated_memory"] == runtime.max_memory_allocated()
    assert "Allocated memory" in runtime.memory_summary()
    assert hal.is_available("CPU") and not hal.is_available("GPU") and hal.device_count() == 1
    assert hal.get_device_name(0) == "CPU"
    for call in (lambda: hal.is_available("foo"), lambda: hal.device_count("GPU"), lambda: hal.get_device_name(1),
                 lambda: runtime.set_memory("x")):
        with pytest.raises(ValueError):
            call()


def test_profiles(tmp_path):
    net = nn.Dense(8, 8)
    x = ms.Tensor(np.ones((2, 8), np.float32))
    p = ms.Profiler(output_path=str(tmp_path / "a"), start_profile=False)
    p.start()
    for _ in range(3):
        net(x)
        p.step()
    p.add_metadata_json("config", '{"lr": 1}')
    p.stop()
    p.analyse()
    trace = json.loads((tmp_path / "a" / "trace_view.json").read_text())
    assert [e["name"] for e in trace["traceEvents"]] == [f"ProfilerStep#{i}" for i in range(3)]
    assert trace["metadata"] == {"config": {"lr": 1}}
    assert any("construct" in key[2] for key in pstats.Stats(str(tmp_path / "a" / "functions.pstats")).stats)
    turns = []
    with profiler.profile(activities=[profiler.ProfilerActivity.CPU],
                          schedule=profiler.schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1),
                          on_trace_ready=lambda prof: turns.append([e["name"][-1] for e in prof._events])) as prof:
        for _ in range(12):
            net(x)
            prof.step()
    assert turns == [["3", "4"], ["7", "8"]]
    with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler(str(tmp_path / "b"))) as prof:
        prof.step()
    assert (tmp_path / "b" / "trace_view.json").exists()
    with profiler.profile(on_trace_ready=lambda prof: turns.append([e["name"] for e in prof._events])):
        number = profiler.mstx.range_start("load")
        profiler.mstx.mark("point")
        profiler.mstx.range_end(number)
    assert turns[-1] == ["point", "load"] and profiler._running == []
    with pytest.raises(ValueError, match="active"):
        profiler.schedule(wait=0, active=0)
    with pytest.raises(RuntimeError, match="start"):
        profiler.profile().step()


def test_checkpoints_in_parts(tmp_path):
    net = nn.Dense(2, 3)
    ms.save_checkpoint([{"name": "weight", "data": net.weight}], str(tmp_path / "part_0.ckpt"))
    ms.save_checkpoint([{"name": "bias", "data": net.bias}], str(tmp_path / "part_1.ckpt"))
    other = nn.Dense(2, 3)
    values = ms.load_segmented_checkpoints(str(tmp_path), other)
    assert sorted(values) == ["bias", "weight"]
    assert np.array_equal(other.weight.asnumpy(), net.weight.asnumpy())
    assert list(ms.load_segmented_checkpoints(str(tmp_path), filter_prefix="w")) == ["bias"]
    assert list(ms.load_segmented_checkpoints(str(tmp_path), choice_func=lambda n: n == "weight")) == ["weight"]
    for call, kind, text in ((lambda: ms.load_segmented_checkpoints(3), TypeError, "str"),
                             (lambda: ms.load_segmented_checkpoints(str(tmp_path / "none")), ValueError, "exist"),
                             (lambda: ms.load_segmented_checkpoints(str(tmp_path), specify_prefix="x"), ValueError,
                              "no param")):
        with pytest.raises(kind, match=text):
            call()
    path = str(tmp_path / "part_0.ckpt")
    assert ms.get_ckpt_path_with_strategy(path, "strategy") == path
    assert ms.get_ckpt_path_with_strategy(path + "x", "strategy") is None


def test_safetensors_of_a_folder_in_one(tmp_path):
    net = nn.Dense(2, 3)
    for name in ("weight", "bias"):
        (tmp_path / "in" / f"rank_{name}").mkdir(parents=True)
        ms.save_checkpoint([{"name": name, "data": getattr(net, name)}],
                           str(tmp_path / "in" / f"rank_{name}" / "a.safetensors"),
                           format="safetensors")
    out = str(tmp_path / "out")
    ms.unified_safetensors(str(tmp_path / "in"), None, out)
    values = ms.load_checkpoint(out + "/part0.safetensors", format="safetensors")
    assert np.array_equal(values["weight"].asnumpy(), net.weight.asnumpy()) and len(values) == 2
    names = json.loads((tmp_path / "out" / "param_name_map.json").read_text())
    assert names["weight_map"] == {"weight": "part0.safetensors", "bias": "part0.safetensors"}
    ms.unified_safetensors(str(tmp_path / "in"), None, out, choice_func=lambda n: n == "bias" and "b")
    assert list(ms.load_checkpoint(out + "/part0.safetensors", format="safetensors")) == ["b"]
    ms.save_checkpoint([{"name": "bias", "data": net.bias + 1}], str(tmp_path / "in" / "b.safetensors"),
                       format="safetensors")
    for args, kind, text in (((str(tmp_path / "in"), "s.ckpt", out), RuntimeError, "one device"),
                             ((str(tmp_path / "out" / "x"), None, out), ValueError, "no file"),
                             ((str(tmp_path / "in"), None, out), ValueError, "different values")):
        with pytest.raises(kind, match=text):
            ms.unified_safetensors(*args)


def test_names_of_parallel():
    import pijit.multiprocessing
    import pijit.parallel.nn
    from pijit.ops.primitive import Layout
    assert Layout is parallel.Layout and parallel.nn.GradAccumulation is nn.GradAccumulationCell
    assert pijit.multiprocessing.Process.__module__ == "multiprocessing.context"
    parallel.set_op_strategy_config("LOAD", "/strategies.json")
    for args in ((), ("OPEN", "/a.json"), ("SAVE", "/a.txt")):
        with pytest.raises(KeyError):
            parallel.set_op_strategy_config(*args)


def test_threads():
    from pijit.device_context import cpu
    for bad, kind in ((0, ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(kind, match="threads_num"):
            cpu.op_tuning.threads_num(bad)
    x = ms.Tensor(np.random.RandomState(0).rand(64, 64).astype(np.float32))
    want = (x @ x).asnumpy()
    cpu.threads_num(1)
    try:
        np.testing.assert_allclose((x @ x).asnumpy(), want, rtol=1e-5)
    finally:
        cpu.threads_num(len(os.sched_getaffinity(0)))


def test_networks_are_not_divided():
    """What processes would hold parts of is refused, and the error says what there is instead."""
    layout = parallel.Layout((2, 1), ("dp", "mp"))("dp", "mp")
    for call in (lambda: ops.reshard(ops.ones((2, 2)), layout), ops.Reshard, nn.AdaSumByGradWrapCell):
        with pytest.raises(NotImplementedError, match="processes divide batches, not networks.*collectives"):
            call()
