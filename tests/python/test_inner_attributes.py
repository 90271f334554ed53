"""Attributes of cells, optimizers, parameters, primitives, tensors and transformed functions that programs of
MindSpore's inner parts read."""

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, nn, ops

# as a MindSpore 2.10 answers them, of a nn.Dense(2, 2) and a nn.Momentum of its parameters
CELL = {
    "_dynamic_shape_inputs": None,
    "_auto_prefix": True,
    "_parameter_layout_dict": None,
    "cls_name": "Dense",
    "phase": "train",
    "_phase": "train",
    "parameter_layout_dict": {},
    "param_prefix": "",
    "bprop_debug": False,
    "_scope": None,
    "_param_prefix": "",
    "_backward_hook": {},
    "_bprop_debug": False,
    "_is_check_and_refresh": False,
    "_forward_hook": {},
    "_forward_pre_hook": {},
    "cell_type": None,
    "mixed_precision_type": None,
    "is_top_cell": False,
    "jit_config_dict": {},
    "_user_parameters": None,
    "_compile_cache": set(),
    "_amp_level": "",
    "has_bprop": False,
    "_init_flag": False,
    "_recompute_cell": None,
    "_has_config_recompute": False,
    "arguments_key": "",
    "compile_phase": None,
    "_in_strategy": None,
    "_out_strategy": None,
    "_params_list": {},
    "_forward_hook_with_kwargs": {},
    "_forward_pre_hook_with_kwargs": {},
}
OPTIMIZER = {
    "_dynamic_shape_inputs": None,
    "is_group": False,
    "is_group_lr": False,
    "dynamic_lr": False,
    "loss_scale": 1.0,
    "need_scale": False,
    "grad_centralization": False,
    "dynamic_weight_decay": False,
    "param_length": 2,
    "exec_weight_decay": False,
    "use_parallel": False,
    "init_learning_rate": 0.1,
    "unique": True,
    "_unique": True,
    "param_rank": None,
}
PARAMETER = {
    "init_mode": None,
    "_inited_param": None,
    "inited_param": None,
    "sliced": False,
    "_sliced": False,
    "unique": False,
    "key": -1,
    "requires_aggr": True,
    "_cast_type": None,
    "is_default_input_init": True,
    "layerwise_parallel": False,
    "comm_fusion": 1,
}
PRIMITIVE = {
    "init_attrs": {"keep_dims": True, "skip_mode": False},
    "attrs": {"keep_dims": True, "skip_mode": False},
    "_update_parameter": False,
}
TENSOR = {
    "is_meta": False,
    "init_flag": False,
    "param_info": None,
    "virtual_flag": False,
    "const_arg": False,
    "symbolic_shape": None,
    "delta_seed": 0,
}


def objects():
    net = nn.Dense(2, 2)
    return [
        (net, CELL),
        (nn.Momentum(net.trainable_params(), 0.1, 0.9), OPTIMIZER),
        (net.weight, PARAMETER),
        (ops.ReduceSum(True), PRIMITIVE),
        (Tensor([1.0]), TENSOR),
    ]


@pytest.mark.parametrize("k", range(5))
def test_they_are_what_the_reference_answers(k):
    obj, wanted = objects()[k]
    for name, value in wanted.items():
        found = getattr(obj, name)
        if name == "_user_parameters":
            assert found == list(obj.get_parameters())
        elif isinstance(value, (dict, set)):
            assert found == value or not value and not found, name
        else:
            assert found == value and type(found) is type(value), (name, found)


def test_a_subclass_may_store_under_the_names():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.params, self._forward_hook, self.exist_names = 3, [], {"a"}

        def construct(self, x):
            return x * self.params

    assert Net()(Tensor([2.0])).tolist() == [6] and Net().exist_names == {"a"}

    class Mine(nn.Optimizer):
        def __init__(self, params):
            super().__init__(0.1, params)
            self.params = self.parameters

        def construct(self, gradients):
            for p, g in zip(self.params, gradients):
                p.set_data(p - g)
            return gradients

    layer = nn.Dense(1, 1)
    assert (
        Mine(layer.trainable_params()).params is not None and nn.SGD(layer.trainable_params()).params[0] is layer.weight
    )


def test_functions_that_are_transformed():
    def f(x):
        return x * x

    net = nn.Dense(1, 1)
    assert ms.grad(f).__code__ is f.__code__ is ms.value_and_grad(f).__code__ is ms.vmap(f).__code__
    assert (
        ops.GradOperation()(net).__code__ is type(net).construct.__code__
        and ops.GradOperation()(net)._dynamic_shape_inputs is None
    )
    assert ms.jit(lambda x: ms.grad(f)(x))(Tensor([3.0])).tolist() == [6]


def test_param_info_is_the_parameters_settings():
    p = ms.Parameter(Tensor([1.0]), name="p")
    p.param_info.layerwise_parallel = True
    assert p.layerwise_parallel and p.param_info.name == "p" and p._param_info.requires_grad


def test_tensor_and_cell_to():
    assert not Tensor([1.0]).is_shared() and Tensor([1.0]).storage_offset() == 0
    net = nn.SequentialCell(nn.Dense(2, 2), nn.BatchNorm1d(2))
    assert net.to(ms.float16) is net and {p.dtype for p in net.get_parameters()} == {ms.float16}
    assert {p.dtype for p in net.to("CPU").get_parameters()} == {ms.float16} and net.to_empty(device="CPU") is net
    assert {p.dtype for p in nn.Embedding(3, 2).to(dtype=ms.float32).get_parameters()} == {ms.float32}


@pytest.mark.parametrize("name", ["offload", "pin_memory", "storage", "untyped_storage", "set_"])
def test_members_that_are_left_out_raise(name):
    with pytest.raises(NotImplementedError, match=f"mindspore.Tensor.{name} is not implemented"):
        getattr(Tensor([1.0]), name)()


def test_keywords_of_their_time():
    x = Tensor(np.arange(8).reshape(4, 2))
    assert x.repeat(2, axis=0).tolist() == np.arange(8).reshape(4, 2).repeat(2, axis=0).tolist()
    assert (
        x.repeat(2, axis=None).tolist() == np.arange(8).repeat(2).tolist()
        and x.repeat(2, 1).tolist() == np.tile(x.asnumpy(), (2, 1)).tolist()
    )
    assert x.repeat(repeats=[1, 2], axis=1).tolist() == np.arange(8).reshape(4, 2).repeat([1, 2], axis=1).tolist()
    for parts in (
        x.split(output_num=2),
        x.split(axis=0, output_num=2),
        ops.split(x, output_num=2),
        ops.split(x, axis=0, output_num=2),
    ):
        assert [p.tolist() for p in parts] == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    assert [p.shape for p in x.split(2)] == [(2, 2), (2, 2)] and [p.shape for p in ops.split(x, 3)] == [(3, 2), (1, 2)]
    with pytest.raises(ValueError, match="'output_num' must divide"):
        ops.split(x, output_num=3)
    with pytest.raises(TypeError, match="split_size_or_sections"):
        ops.split(x)
    f = ms.jit(lambda x: x.repeat(2, axis=0) + ops.split(x, axis=1, output_num=2)[0].repeat(2, axis=0))
    assert (
        f(x).tolist() == (x.repeat(2, axis=0) + ops.split(x, 1, 1)[0].repeat(2, axis=0)).tolist()
        and not ms.explain(f).breaks
    )
    assert nn.Dropout(keep_prob=0.9).p == pytest.approx(0.1) and ops.Dropout(keep_prob=0.9).keep_prob == 0.9
    ms.context.set_auto_parallel_context(mirror_mean=True)
    assert ms.context.get_auto_parallel_context("gradients_mean") is True
    ms.context.reset_auto_parallel_context()
