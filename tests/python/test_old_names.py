"""Names of earlier MindSpores and of its inner modules, with the behaviour of their time."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, nn, ops


@pytest.fixture(autouse=True, scope="module")
def alias():
    was = ms.compat._installed
    ms.compat.install()
    yield
    if not was:
        ms.compat.uninstall()


NAMES = """
mindspore ms_function bool frombuffer ms_class parse_print
mindspore.common.api ms_class
mindspore.common.dtype tensor issubclass_
mindspore.common.tensor MetaTensor
mindspore.nn ResizeBilinear
mindspore.nn.wrap.cell_wrapper _TrainPipelineAccuStepCell PipelineCell AllreduceGraph
mindspore.ops.operations _inner_ops _sequence_ops _rl_inner_ops _grad_ops
mindspore.parallel._auto_parallel_context auto_parallel_context
mindspore._checkparam Validator Rel check_positive_int args_type_check twice INC_LEFT
mindspore._extends cell_attr_register
mindspore._extends.utils cell_attr_register
mindspore._c_expression typing Tensor
mindspore._c_expression.typing Number Float Int UInt Bool Type
mindspore.amp _grad_scale_map
mindspore.common.api ms_function _pynative_executor _cell_graph_executor _executor ms_compile_cache _no_grad
mindspore.common._stub_tensor StubTensor
mindspore.common.sparse_tensor RowTensorInner
mindspore.common.jit_begin_end
mindspore.communication._hccl_management
mindspore.compression.quant QuantizationAwareTraining
mindspore.dataset context
mindspore.device_context.ascend
mindspore.experimental MapParameter
mindspore.log _LogActionOnce
mindspore.mint.optim FusedAdamW
mindspore.mint.distributed send_object_list recv_object_list
mindspore.nn TensorArray
mindspore.nn.layer.activation _activation
mindspore.nn.layer.quant Conv2dBnAct DenseBnAct FakeQuantWithMinMaxObserver
mindspore.nn.layer.rnn_cells RNNCellBase _rnn_relu_cell _rnn_tanh_cell _lstm_cell _gru_cell
mindspore.nn.loss.loss _Loss
mindspore.nn.optim.optimizer opt_init_args_register _apply_decay _grad_scale
mindspore.nn.transformer Transformer TransformerEncoder MultiHeadAttention AttentionMask VocabEmbedding OpParallelConfig
mindspore.nn.wrap.cell_wrapper _VirtualDatasetCell
mindspore.ops CustomRegOp DataType Morph InplaceAddExt select_ext_view_op slice_ext_view_op split_tensor_view_op
mindspore.ops.auto_generate InplaceAddExt select_ext_view_op
mindspore.ops._grad bprop_getters
mindspore.ops._grad.grad_base bprop_getters
mindspore.ops._primitive_cache _get_cache_prim
mindspore.ops._utils get_broadcast_shape get_concat_offset
mindspore.ops._utils.utils get_broadcast_shape is_shape_unknown generate_shape_index
mindspore.ops.composite GradOperation
mindspore.ops.functional is_sequence_value_unknown
mindspore.ops.function.array_func repeat_interleave_ext
mindspore.ops.function.grad.grad_func custom_vjp
mindspore.ops.function.math_func cumsum_ext sum_ext mean_ext
mindspore.ops.operations._grad_ops ReluGrad LayerNormGrad
mindspore.ops.operations._inner_ops TopTypeof
mindspore.ops.operations._rl_inner_ops CudnnGRU
mindspore.ops.operations._sequence_ops TupleToTensor TensorToTuple
mindspore.ops.vm_impl_registry vm_impl_registry
mindspore.parallel auto_parallel
mindspore.parallel._transformer TransformerOpParallelConfig
mindspore.parallel._transformer.layers _LayerNorm _Linear
mindspore.parallel._utils _is_sharding_propagation
mindspore.parallel.auto_parallel AutoParallel
mindspore.profiler.profiling Profiler
mindspore.train._utils _make_directory check_value_type
mindspore.train.callback._callback _handle_loss
mindspore.train.serialization build_searched_strategy merge_sliced_parameter
mindspore.train.summary.summary_record SummaryRecord
mindspore.version
"""


@pytest.mark.parametrize("line", NAMES.strip().splitlines())
def test_names(line):
    module, *names = line.split()
    space = {}
    exec(f"import {module}", space)
    for name in names:
        exec(f"from {module} import {name}", space)
        assert space[name] is not None


# A call of `_checkparam`, what MindSpore 2.10 gives or which exception it raises
CHECKS = """
check_positive_int(1, 'arg', 'Prim') -> 1
check_positive_int(0, 'arg', 'Prim') -> ValueError
check_positive_int(1.5, 'arg', 'Prim') -> TypeError
check_positive_int(True, 'arg', 'Prim') -> TypeError
check_positive_int(np.int64(3), 'arg', 'Prim') -> TypeError
check_positive_float(np.float64(1.5), 'arg', 'Prim') -> 1.5
check_positive_float(np.float32(1.5), 'arg', 'Prim') -> TypeError
check_positive_float(float('inf'), 'arg', 'Prim') -> ValueError
check_positive_float(-1.5, 'arg') -> ValueError
check_non_negative_int(0, None, 'Prim') -> 0
check_non_negative_float(True, 'arg', 'Prim') -> TypeError
check_non_positive_float(1, 'arg') -> TypeError
check_negative_int(-3) -> -3
check_bool(1, 'arg', 'Prim') -> TypeError
check_bool(True) -> True
check_is_float(1, 'arg', 'Prim') -> TypeError
check_is_float(float('nan'), 'arg', 'Prim') -> ValueError
check_is_int('a') -> TypeError
check_number('arg', 3, 4, c.GE, 'Prim') -> ValueError
check_int(3, 4, c.EQ, 'arg', 'Prim') -> ValueError
check_int(3, 4, c.LE, 'arg', 'Prim') -> 3
check_int_range(4, 4, 5, c.INC_RIGHT) -> ValueError
check_int_range(4, 4, 5, c.INC_BOTH, 'arg', 'Prim') -> 4
check_int_range(np.int64(4), 4, 5, c.INC_BOTH, 'arg', 'Prim') -> 4
check_int_range(True, 0, 5, c.INC_BOTH, 'arg', 'Prim') -> TypeError
check_float_range(3, 4, 5, c.INC_BOTH, 'arg', 'Prim') -> TypeError
check_float_range(np.float32(4.5), 4, 5, c.INC_BOTH, 'arg', 'Prim') -> 4.5
check_float_range(.3, 4, 5, c.INC_LEFT, 'arg', 'Prim') -> ValueError
check_number_range(4, 4, 5, c.INC_LEFT, (int, float), 'arg', 'Prim') -> 4
check_string('a', ['b', 'c'], 'arg', 'Prim') -> ValueError
check_string(1, ['b', 'c'], 'arg', 'Prim') -> ValueError
check_string('b', ['b', 'c'], 'arg', 'Prim') -> 'b'
check('arg', 1, 'other', 2, c.EQ, 'Prim') -> ValueError
check('arg', 3, 'other', [1, 2], c.IN, 'Prim') -> ValueError
check('arg', 1, 'other', 2, c.GT, 'Prim', TypeError) -> TypeError
check('arg', 3, 'other', [1, 2], c.NOT_IN) -> 3
check_value_type('arg', True, [int], 'Prim') -> TypeError
check_value_type('arg', True, (bool, str), 'Prim') -> True
check_value_type('arg', None, [int, str], 'Prim') -> TypeError
check_value_type('arg', 1.0, [int, float]) -> 1.0
check_isinstance('arg', 1, str) -> ValueError
check_isinstance('arg', 1, (int, str)) -> 1
check_subclass('arg', ms.float32, ms.number, 'Prim') -> None
check_subclass('arg', ms.bfloat16, ms.float_, 'Prim') -> TypeError
check_subclass('arg', ms.int32, (ms.int_, ms.float_), 'Prim') -> None
check_subclass('arg', ms.TensorType(ms.int32), ms.tensor_type, 'Prim') -> None
check_type_name('arg', ms.int8, [ms.int32], 'Prim') -> TypeError
check_type_name('arg', ms.TensorType(ms.int32), [ms.int32], 'Prim') -> ms.int32
check_tensor_dtype_valid('arg', ms.TensorType(ms.float32), [ms.float32], 'Prim') -> None
check_tensor_dtype_valid('arg', ms.float32, [ms.float32], 'Prim') -> TypeError
check_types_same_and_valid({'x': ms.float32, 'arg': ms.int32}, [ms.float32, ms.int32], 'Prim') -> TypeError
check_types_same_and_valid({'x': ms.float32, 'arg': ms.float32}, [ms.float32, ms.int32], 'Prim') -> None
check_scalar_or_tensor_types_same({'x': ms.int32, 'arg': ms.TensorType(ms.int32)}, [ms.int32], 'Prim') -> TypeError
check_scalar_or_tensor_types_same({'x': ms.int32, 'arg': ms.TensorType(ms.int32)}, [ms.int32], 'Prim', True) -> None
check_valid_input('arg', None, 'Prim') -> ValueError
check_positive_int_sequence((1, -2), 'arg', 'Prim') -> ValueError
check_positive_int_sequence((1, 2), 'arg', 'Prim') -> (1, 2)
check_size_and_element_type_of_tuple('arg', (1, 2), 3, int, 'Prim') -> ValueError
check_size_and_element_type_of_tuple('arg', (1, True), 2, int, 'Prim') -> None
check_element_type_of_iterable('arg', [1, 2.], [int], 'Prim') -> TypeError
check_element_type_of_dict('arg', {'a': 1}, [str], [int], 'Prim') -> None
check_element_type_of_dict('arg', {'a': 1.5}, [str], [int], 'Prim') -> TypeError
check_axis_in_range(3, 2) -> ValueError
check_axis_in_range(-1, 2) -> 1
check_axis_in_range(1.0, 2) -> TypeError
check_axis_valid((0, -3), 3) -> ValueError
check_axis_valid(None, 3) -> (0, 1, 2)
check_axis_type('a') -> TypeError
check_axis_type((1, 0)) -> True
check_axis_type((1.0,)) -> TypeError
check_axis_type([1], True, True, False) -> TypeError
check_swapaxes_axis((0, -1), 2) -> (0, 1)
check_transpose_axis(((1, 0),), 2) -> (1, 0)
check_transpose_axis((0, 1, 2), 2) -> ValueError
check_transpose_axis('a', 2) -> TypeError
check_reshape_shp(([2, 3],)) -> (2, 3)
check_reshape_shp((1.0,)) -> TypeError
check_flatten_order('A') -> ValueError
check_flatten_order(1) -> TypeError
check_astype_dtype('int') -> ms.int64
check_astype_dtype('Float32') -> ms.float32
check_astype_dtype(float) -> ms.float64
check_astype_dtype('a/b') -> TypeError
check_astype_dtype(ms.string) -> TypeError
check_reduce_shape((2, 3), (3,), 1, 'Prim', 'x', 'arg') -> ValueError
check_reduce_shape((2, 3), (2,), 1, 'Prim', 'x', 'arg') -> None
check_file_name_by_regular('a/b.ckpt') -> True
check_file_name_by_regular('a b') -> ValueError
check_file_name_by_regular('') -> ValueError
check_str_by_regular('x_1.y') -> True
check_str_by_regular('-a') -> ValueError
check_str_and_none_by_regular('') -> True
check_pad_value_by_mode('same', 1, 'Prim') -> ValueError
check_pad_value_by_mode('pad', 1, 'Prim') -> 1
check_input_format('NHWC') -> ValueError
check_input_data([1, ('a',), {'k': 2}], data_class=(int, str)) -> None
check_input_data([1, (None,)], data_class=(int, str)) -> TypeError
check_input_dataset(1, 'a', dataset_type=int) -> False
check_output_data(None) -> RuntimeError
check_hook_fn(3) -> TypeError
check_hook_fn(print) -> None
once((1,)) -> (1,)
twice(3) -> (3, 3)
twice((3,)) -> TypeError
twice([1, 2]) -> TypeError
twice(True) -> TypeError
twice_sequence([1, 2]) -> (1, 2)
infer_out_shape((1, 2), (3, 1)) -> (3, 2)
infer_out_shape((2,), (3,)) -> ValueError
prepare_shape_for_squeeze((1, 2, 1), 0) -> (2, 1)
prepare_shape_for_squeeze((1, 2, 1), 1) -> ValueError
prepare_shape_for_squeeze((1, 2, 1), 'a') -> TypeError
"""


@pytest.mark.parametrize("line", CHECKS.strip().splitlines())
@pytest.mark.parametrize("by", ["function", "Validator"])
def test_checks(line, by):
    from mindspore import _checkparam as c

    call, wanted = line.split(" -> ")
    owner = c if by == "function" else c.Validator
    name, _, rest = call.partition("(")
    if not hasattr(owner, name):
        assert by == "Validator" and not name.startswith("check")
        return
    space = {"f": getattr(owner, name), "c": c, "ms": ms, "np": np}
    wanted = eval(wanted, space)
    if not isinstance(wanted, type):
        found = eval(f"f({rest}", space)
        assert found == wanted and (found is None) == (wanted is None)
        return
    with pytest.raises(wanted) as e:
        eval(f"f({rest}", space)
    assert type(e.value) is wanted
    assert all(word in str(e.value) for word in ("arg", "Prim") if f"'{word}'" in call), (
        e.value
    )  # the parameter and the operator


def test_validator_of_each_age():
    from mindspore._checkparam import Rel, Validator as validator, args_type_check, check_int_positive

    assert validator.check_integer("x", 3, 0, Rel.GT, "P") == 3 and validator.check_int(3, 0, Rel.GE, "x", "P") == 3
    assert (
        validator.check_int_range("x", 3, 1, 5, Rel.INC_LEFT, "P")
        == validator.check_int_range(3, 1, 5, Rel.INC_LEFT, "x", "P")
        == 3
    )
    assert (
        check_int_positive("x", 2, "P") == 2 and Rel.get_strs(Rel.INC_LEFT) == "[{}, {})" and Rel.get_fns(Rel.LE)(1, 2)
    )
    with pytest.raises(ValueError, match="P: 'x' has to be int in \\[1, 5\\), not 5"):
        validator.check_int_range("x", 5, 1, 5, Rel.INC_LEFT, "P")

    @args_type_check(a=int, b=(str, list))
    def f(a, b="x", *c, **d):
        return a

    assert f(1) == 1 and f(1, ["x"], 2, e=3) == 1 and f.__name__ == "f"
    with pytest.raises(TypeError, match="f: 'b' has to be of type str or list, not 1"):
        f(1, 1)


def test_typing():
    from mindspore._c_expression import typing

    kinds = {
        n: [
            k
            for k in ("Int", "UInt", "Float", "BFloat", "Complex", "Bool", "Number", "TensorType", "String", "Type")
            if isinstance(getattr(ms, n), getattr(typing, k))
        ]
        for n in "float32 int32 uint8 bool_ complex64 bfloat16 tensor_type string number int_ float_".split()
    }
    assert kinds == {
        "float32": ["Float", "Number", "Type"],
        "int32": ["Int", "Number", "Type"],
        "uint8": ["UInt", "Number", "Type"],
        "bool_": ["Bool", "Number", "Type"],
        "complex64": ["Complex", "Number", "Type"],
        "bfloat16": ["BFloat", "Number", "Type"],
        "tensor_type": ["TensorType", "Type"],
        "string": ["String", "Type"],
        "number": ["Number", "Type"],
        "int_": ["Int", "Number", "Type"],
        "float_": ["Float", "Number", "Type"],
    }
    assert typing.Int(32) == ms.int32 and typing.Float(16) == ms.float16 and not isinstance(3, typing.Number)
    assert typing.Bool() == ms.bool_ and typing.String() == ms.string and isinstance(ms.type_none, typing.TypeNone)
    shown = "Number Int UInt Float BFloat Complex Bool String Tuple List TensorType TypeNone".split()
    assert [str(getattr(typing, n)()) for n in shown] == [*shown[:-2], "Tensor", "None"]  # as MindSpore prints them
    for name in ("float32", "Float32", "bool", "Bool", "Float", "Tensor", "String"):
        assert name.lower() in (str(typing.str_to_type(name)).lower(), "float32")
    assert typing.is_subclass(ms.float32, typing.Number()) and not typing.is_subclass(ms.int32, ms.float_)
    for wrong in (lambda: typing.str_to_type("string"), lambda: typing.Int(7)):
        with pytest.raises(RuntimeError):
            wrong()
    from mindspore.common.dtype import type_size_in_bytes

    assert [type_size_in_bytes(t) for t in (ms.float32, ms.bfloat16, ms.bool_)] == [4, 2, 1]
    with pytest.raises(TypeError):
        type_size_in_bytes(3)


def test_decorators():
    from mindspore import log as logger
    from mindspore._extends import cell_attr_register
    from mindspore.common._decorator import deprecated
    from mindspore.log import _LogActionOnce
    from mindspore.nn.optim.optimizer import opt_init_args_register

    class Net(nn.Cell):
        @cell_attr_register
        def __init__(self, a, b=2):
            super().__init__()
            self.a = a

    assert Net(1).a == 1 and Net(1)._cell_init_args == Net(1).cell_init_args == "Net[1, 2]"

    class Mine(nn.SGD):
        @opt_init_args_register
        def __init__(self, params, learning_rate=0.1, *, k=3):
            super().__init__(params, learning_rate)

    params = nn.Dense(1, 1).trainable_params()
    assert (
        Mine(params, 0.5).init_args == {"k": 3}
        and Mine(params, 0.5).init_learning_rate == 0.5
        and Mine(params).init_params == {"params": params}
    )

    @deprecated("1.2", "new")
    def f(x):
        return x

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert f(1) == f(1) == 1
    assert [w.category for w in seen] == [DeprecationWarning] and "new stands in its place" in str(seen[0].message)

    class Op:
        @deprecated("1.2", "NewOp", True)
        def __init__(self):
            pass

    with pytest.warns(DeprecationWarning, match="Op is deprecated since MindSpore 1.2"):
        assert Op().substitute_name == Op.substitute_name == "NewOp"

    said = []
    keep, logger.warning = logger.warning, said.append
    try:

        @_LogActionOnce(logger=logger, key="test_decorators")
        def g():
            logger.warning("once")
            return 3

        assert g() == g() == 3 and said == ["once"]
    finally:
        logger.warning = keep


def test_functions_of_inner_modules(tmp_path):
    from mindspore.amp import _grad_scale_map
    from mindspore.common.api import _no_grad, _pynative_executor
    from mindspore.ops._utils import utils
    from mindspore.ops._utils.utils import generate_shape_index, get_broadcast_shape, get_concat_offset
    from mindspore.parallel._utils import _get_device_num, _is_sharding_propagation
    from mindspore.train._utils import _make_directory
    from mindspore.train.callback._callback import _handle_loss

    a, b = _grad_scale_map(Tensor(2.0), (Tensor([4.0]), Tensor([6.0])))
    assert a.tolist() == [8] and b.tolist() == [12] and not _is_sharding_propagation() and _get_device_num() == 1
    assert _make_directory(str(tmp_path / "a" / "b")) == str(tmp_path / "a" / "b") and (tmp_path / "a" / "b").is_dir()
    for error, path in ((TypeError, 3), (ValueError, ""), (ValueError, "  ")):
        with pytest.raises(error, match="'path'"):
            _make_directory(path)
    assert (
        _handle_loss(Tensor(2.5)) == 2.5
        and _handle_loss((Tensor([1.0, 2.0]), 3)) == 1.5
        and _handle_loss(None) is None
        and _handle_loss(3.0) == 3
    )
    tensors = [ms.TensorType(ms.int32)] * 2
    assert get_broadcast_shape((2, 1), (3,), "P") == [2, 3] and get_broadcast_shape((-1, 2), (3, 1), "P") == [3, 2]
    assert get_broadcast_shape((-2,), (3,), "P") == [-2] and get_broadcast_shape((2, 3), (2, 3), "P") == (2, 3)
    assert get_concat_offset([(2, 3), (4, 3)], tensors, 0, "P") == ([0, 2], 6, 0)
    assert get_concat_offset([(2, 3), (2, 5)], tensors, -1, "P") == ([0, 3], 8, 1)
    assert generate_shape_index((2, 3, 4), (3,), 1) == (1, 0, 2) and generate_shape_index((2, 3, 4), (3,), -1) == (
        2,
        0,
        1,
    )
    with pytest.raises(ValueError, match="P: .* don't broadcast"):
        get_broadcast_shape((2,), (3,), "P")
    for shapes, axis in (
        ([(2, 3), (2, 5)], 2),
        ([(2, 3), (2, 5)], -3),
        ([(2, 3), (3, 5)], 1),
        ([(2, 3), (2, 5, 1)], 1),
    ):
        with pytest.raises(ValueError, match="^P: "):
            get_concat_offset(shapes, tensors, axis, "P")
    with pytest.raises(TypeError, match="'shape0'"):
        get_concat_offset([(2, 3), (4, 3)], [ms.int32] * 2, 0, "P")
    assert utils.dim_not_equal(1, 2) and not utils.dim_not_equal(-1, 2) and utils.get_1d_shape((2, 3)) == (6,)
    assert utils.range_op(0, 5, 2, ms.int32).tolist() == [0, 2, 4] and utils.ms_arrange(3) == [0, 1, 2]
    assert not _pynative_executor.grad_flag() and _pynative_executor.sync() is None
    assert _pynative_executor.enable_grad() and not hasattr(_pynative_executor, "no_such")

    def f(x):
        with _no_grad():
            y = x * x
        return x * y

    assert ms.grad(f)(Tensor(3.0)) == 9 and ms.jit(ms.grad(f))(Tensor(3.0)) == 9

    @_no_grad()
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    assert ms.grad(lambda x: x * power(x, 3))(Tensor(2.0)) == 8 and ms.grad(lambda x: x * x)(Tensor(2.0)) == 4

    def after(x):  # what recorded before goes on
        y = power(x, 3)
        return x * x + y

    assert ms.grad(after)(Tensor(2.0)) == 4

    def switched(x):
        was = _pynative_executor.enable_grad()
        _pynative_executor.set_enable_grad(False)
        flags.append(
            (_pynative_executor.enable_grad(), _pynative_executor.requires_grad(), _pynative_executor.grad_flag())
        )
        y = x * x
        _pynative_executor.set_enable_grad(was)
        flags.append(
            (_pynative_executor.enable_grad(), _pynative_executor.requires_grad(), _pynative_executor.grad_flag())
        )
        return x * y

    flags = []
    assert ms.grad(switched)(Tensor(3.0)) == 9 and flags == [(False, False, True), (True, True, True)]


def test_compiling_changes_nothing():
    from mindspore.common.api import _cell_graph_executor

    net = nn.Dense(2, 2)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.1, 0.9))
    before = [p.asnumpy() for p in step.get_parameters()]
    ms.set_seed(3)
    drawn = ops.rand(3).asnumpy()
    for compile in (step.compile, lambda *i: _cell_graph_executor.compile(step, *i, phase="train")):
        ms.set_seed(3)
        compile(ops.ones((2, 2)), ops.zeros((2, 2)))
        assert all(np.array_equal(a, p.asnumpy()) for a, p in zip(before, step.get_parameters()))
        assert np.array_equal(ops.rand(3).asnumpy(), drawn)
    step(ops.ones((2, 2)), ops.zeros((2, 2)))
    assert not np.array_equal(before[0], net.weight.asnumpy())


def test_seeds_of_operators():
    from importlib import import_module

    seeds = import_module("mindspore.common.seed")
    ms.set_seed(5)  # MindSpore's numbers
    assert [seeds._get_graph_seed(0, "D") for _ in range(3)] == [(5, 0), (5, 533697028), (5, 1067394056)]
    assert seeds._get_graph_seed(0, "E") == (5, 0) and [seeds._get_graph_seed(7, "D")[1] for _ in range(2)] == [
        7,
        533697035,
    ]
    ms.set_seed(5)
    assert seeds._get_graph_seed(None, "D") == (5, 0) and [seeds._get_op_seed(7, "D") for _ in range(2)] == [7, 7]
    with pytest.raises(ValueError):
        seeds._get_op_seed(-1, "D")
    code = "import pijit as ms; from importlib import import_module as i; s = i('pijit.common.seed')\n"
    code += "print([s._get_graph_seed(0, 'D') for _ in range(2)], s._get_graph_seed(7, 'D'))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout == "[(0, 0), (0, 0)] (0, 7)\n", run.stderr


def test_registries():
    from mindspore.common._register_for_tensor import Registry, tensor_operator_registry
    from mindspore.communication._comm_helper import Backend

    names = Registry()
    names.register("a", 3)
    assert names.get("a") == 3 and tensor_operator_registry.get("relu")(Tensor([-1.0])).tolist() == [0]
    for registry in (names, tensor_operator_registry):
        with pytest.raises(AttributeError, match="nope"):
            registry.get("nope")
        for wrong in (lambda r: r.get(3), lambda r: r.register(3, 3)):
            with pytest.raises(TypeError):
                wrong(registry)
    assert Backend("NCCL") == Backend.NCCL == "nccl"
    for error, wrong in ((TypeError, 3), (ValueError, "x"), (ValueError, "undefined"), (ValueError, "__new__")):
        with pytest.raises(error, match="Backend: 'name'"):
            Backend(wrong)


def test_operators_of_inner_modules():
    from mindspore.ops._primitive_cache import _get_cache_prim
    from mindspore.ops.auto_generate import InplaceAddExt, select_ext_view_op, slice_ext_view_op, split_tensor_view_op
    from mindspore.ops.function.grad.grad_func import custom_vjp
    from mindspore.ops.function.math_func import cumsum_ext
    from mindspore.ops.operations._inner_ops import TopTypeof
    from mindspore.ops.operations._sequence_ops import TensorToTuple, TupleToTensor

    z = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert select_ext_view_op(z, 0, 1).tolist() == [3, 4] and slice_ext_view_op(z, 0, 0, 1, 1).tolist() == [[1, 2]]
    assert [p.tolist() for p in split_tensor_view_op(z, 1, 0)] == [[[1, 2]], [[3, 4]]]
    assert select_ext_view_op(z, -1, -1).tolist() == [2, 4] and slice_ext_view_op(z, 1, -2, 5, 2).tolist() == [[1], [3]]
    for wrong in (
        lambda: select_ext_view_op(z, 2, 0),
        lambda: select_ext_view_op(z, 0, 2),
        lambda: select_ext_view_op(z, 0, -3),
        lambda: select_ext_view_op(Tensor(1.0), 0, 0),
        lambda: slice_ext_view_op(z, 3, 0, 1, 1),
        lambda: slice_ext_view_op(z, 1, 0, 2, -1),
        lambda: slice_ext_view_op(z, 1, 0, 2, 0),
        lambda: split_tensor_view_op(z, 2, 4),
        lambda: split_tensor_view_op(z, 0, 1),
    ):
        with pytest.raises(ValueError):
            wrong()
    assert InplaceAddExt()(z, Tensor([[1.0, 1.0], [1.0, 1.0]]), 2).tolist() == z.tolist() == [[3, 4], [5, 6]]
    assert [str(TopTypeof()(v)) for v in (Tensor(1.0), 1, 1.0, "a", (1,), [1], None, True)] == [
        "Tensor",
        "Int",
        "Float32",
        "String",
        "Tuple",
        "List",
        str(ms.type_none),
        "Bool",
    ]
    assert (
        _get_cache_prim(ops.ReduceSum)(True)
        is _get_cache_prim(ops.ReduceSum)(True)
        is not _get_cache_prim(ops.ReduceSum)(False)
    )
    made = [_get_cache_prim(ops.Range)(n) for n in (1, True, 1.0, 1)]  # equal numbers, other arguments
    assert (
        made[0] is made[3]
        and len({id(m) for m in made}) == 3
        and [type(m.maxlen) for m in made[:3]] == [int, bool, float]
    )
    assert (
        _get_cache_prim(ops.Cast) is not None and _get_cache_prim(ops.Transpose)() is _get_cache_prim(ops.Transpose)()
    )
    assert TupleToTensor()((1, 2), ms.float32).dtype == ms.float32 and TensorToTuple()(Tensor([1, 2])) == (1, 2)
    assert cumsum_ext(Tensor([1.0, 2.0]), 0).tolist() == [1, 3]

    @custom_vjp
    def f(x, y):
        return x * y

    f.defbwd(lambda x, y, out, dout: (dout * 10, dout * 20))
    assert f(Tensor(2.0), Tensor(3.0)) == 6 and [float(g) for g in ms.grad(f, (0, 1))(Tensor(2.0), Tensor(3.0))] == [
        10,
        20,
    ]
    morph = ops.Morph(lambda x: x * 3, lambda s: s, lambda t: t, lambda x, out, dout: (dout * 7,))
    assert morph(Tensor([1.0])).tolist() == [3] and ms.grad(morph)(Tensor([1.0])).tolist() == [7]


def test_inner_operators():
    """What MindSpore 2.10 gives, or what its documentation says where it has no kernel for the CPU."""
    from mindspore.ops.operations import _inner_ops as I

    m, v, eye = Tensor(np.arange(6.0).reshape(2, 3), ms.float32), Tensor([1.0, 2.0, 3.0]), Tensor(np.eye(3), ms.float32)
    nine = Tensor(np.arange(9.0).reshape(3, 3), ms.float32)
    assert I.SameTypeShape()(m, m) is m and I.same_type_shape_(v, v) is v and I.CheckBprop("x")((m,), (m,)) == (m,)
    for error, wrong in (
        (ValueError, lambda: I.SameTypeShape()(m, v)),
        (TypeError, lambda: I.SameTypeShape()(m, m.astype(ms.int32))),
        (TypeError, lambda: I.SameTypeShape()(m, 3)),
        (ValueError, lambda: I.CheckBprop("x")((m,), (v,))),
        (TypeError, lambda: I.CheckBprop("x")((m,), (m.astype(ms.int32),))),
        (TypeError, lambda: I.CheckBprop("x")((), (m,))),
        (TypeError, lambda: I.IsInstance()(3, (ms.int_, ms.float_))),
        (TypeError, lambda: I.IsSubClass()(3, ms.number)),
        (IndexError, lambda: I.Format()("a{}b{}", (1, 2))),
    ):
        with pytest.raises(error):
            wrong()
    assert I.IsInstance()(m, ms.tensor_type) and not I.IsInstance()(m, ms.int32) and I.IsInstance()(3, ms.int_)
    assert I.IsSubClass()(ms.int32, ms.int_) and I.issubclass_(ms.float32, ms.number)
    assert not I.IsSubClass()(ms.int32, ms.float_)
    half, whole = I.MixedPrecisionCast()(ms.float16, (m, Tensor([1])))
    assert half.dtype == ms.float16 and whole.dtype == ms.int64 and I.ConvertToDynamic()(m).tolist() == m.tolist()
    for shape in ((2, 3), Tensor([2, 3])):
        assert I.DynamicBroadcastTo()(v, shape).tolist() == [[1, 2, 3]] * 2
    assert I.SequenceMask()(Tensor([1, 3]), 4).astype(ms.int32).tolist() == [[1, 0, 0, 0], [1, 1, 1, 0]]
    assert I.Format()("a{}b{}", 1, 2) == "a1b2" and I.string_mul("a", 3) == "aaa" and I.string_getitem("abc", 1) == "b"
    assert [int(f(6, 3)) for f in (I.bit_and, I.bit_or, I.bit_xor, I.bit_left_shift)] == [2, 7, 5, 48]
    assert I.string_in("a", "abc") and I.string_lt("a", "b") and not I.string_ge("a", "b") and I.string_not("")
    assert np.allclose(I.ClipByNorm()(m, Tensor(1.0)).asnumpy(), m.asnumpy() / np.sqrt(55), atol=1e-6)
    assert np.allclose(I.ClipByNorm(1)(m, Tensor(9.0)).asnumpy(), m.asnumpy(), atol=1e-6)
    zero = ms.grad(lambda x: I.ClipByNorm()(x, Tensor(1.0)).sum())(ops.zeros(3))
    assert zero.tolist() == [1, 1, 1]
    assert I.Centralization()(m, 1).tolist() == [[-1, 0, 1]] * 2
    assert I.MatrixDiag()(v, eye).tolist() == np.diag([1.0, 2, 3]).tolist() and I.MatrixDiagPart()(
        nine, eye
    ).tolist() == [0, 4, 8]
    assert I.MatrixSetDiag()(nine, v, eye).tolist() == [[1, 1, 2], [3, 2, 5], [6, 7, 3]]
    wide = Tensor(np.eye(2, 3), ms.float32)
    assert I.MatrixDiag()(v[:2], wide).tolist() == [[1, 0, 0], [0, 2, 0]] and I.MatrixDiagPart()(m, wide).tolist() == [
        0,
        4,
    ]
    assert I.MatrixDiag()(v[:2], wide.T).tolist() == [[1, 0], [0, 2], [0, 0]]
    assert I.MatrixSetDiag()(m, v[:2], wide).tolist() == [[1, 1, 2], [3, 2, 5]]
    stitched = I.DynamicStitch()((Tensor([0, 2]), Tensor([1])), (Tensor([1.0, 2.0]), Tensor([3.0])))
    assert stitched.tolist() == [1, 3, 2]


def test_more_names_of_1_x():
    from mindspore.common import dtype as mstype
    from mindspore.nn.wrap.cell_wrapper import _TrainPipelineAccuStepCell
    from mindspore.parallel._auto_parallel_context import auto_parallel_context

    assert mstype.issubclass_(mstype.float32, mstype.number) and not mstype.issubclass_(mstype.float32, mstype.int_)
    assert mstype.issubclass_(ms.TensorType(ms.int32), mstype.tensor) and not mstype.issubclass_(3, mstype.number)
    options = auto_parallel_context()
    options.set_parallel_mode("data_parallel")
    assert options.get_parallel_mode() == ms.get_auto_parallel_context("parallel_mode") == "data_parallel"
    options.set_all_reduce_fusion_split_indices([1, 5])
    assert options.get_all_reduce_fusion_split_indices() == [1, 5] and options.get_all_reduce_fusion_split_sizes() == []
    options.reset()
    assert options.get_parallel_mode() == "stand_alone" and options.get_all_reduce_fusion_split_indices() == []
    for error, wrong in (
        (AttributeError, lambda: options.get_nothing()),
        (RuntimeError, lambda: options.set_device_num(8)),
        (TypeError, lambda: options.set_all_reduce_fusion_split_indices(["a"])),
    ):
        with pytest.raises(error):
            wrong()
    with pytest.raises(NotImplementedError):
        _TrainPipelineAccuStepCell(nn.Dense(1, 1), None)
    ms.set_context(enable_mem_reuse=False, enable_auto_mixed_precision=False, save_ms_model=False)
    x = Tensor(np.arange(4.0).reshape(1, 1, 2, 2), ms.float32)
    resize = nn.ResizeBilinear()
    assert np.array_equal(
        resize(x, size=(3, 3), align_corners=True)[0, 0].asnumpy(), [[0, 0.5, 1], [1, 1.5, 2], [2, 2.5, 3]]
    )
    assert resize(x, scale_factor=2).shape == (1, 1, 4, 4)
    for error, wrong in (
        (ValueError, lambda: resize(x)),
        (ValueError, lambda: resize(x, (3, 3), 2)),
        (ValueError, lambda: resize(x, (0, 3))),
        (TypeError, lambda: resize(x, scale_factor=2.5)),
        (TypeError, lambda: resize(x, [3, 3])),
        (TypeError, lambda: nn.ResizeBilinear(3)),
    ):
        with pytest.raises(error):
            wrong()


def test_recurrent_cells_functions():
    from mindspore.nn.layer.rnn_cells import RNNCellBase, _gru_cell, _lstm_cell, _rnn_relu_cell, _rnn_tanh_cell

    x, h = Tensor(np.random.RandomState(0).randn(2, 3), ms.float32), ops.ones((2, 4))
    for cell, function, state in (
        (nn.RNNCell(3, 4), _rnn_tanh_cell, h),
        (nn.RNNCell(3, 4, nonlinearity="relu"), _rnn_relu_cell, h),
        (nn.GRUCell(3, 4), _gru_cell, h),
        (nn.LSTMCell(3, 4), _lstm_cell, (h, h)),
    ):
        assert isinstance(cell, RNNCellBase)
        a, b = cell(x, state), function(x, state, cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
        for p, q in zip(a if isinstance(a, tuple) else (a,), b if isinstance(b, tuple) else (b,)):
            assert np.array_equal(p.asnumpy(), q.asnumpy())


def test_tensor_array():
    array = nn.TensorArray(ms.float32, (2,))
    for i in range(3):
        array.write(i, Tensor([i, i + 1], ms.float32))
    assert array.stack().tolist() == [[0, 1], [1, 2], [2, 3]] and array.read(1).tolist() == [1, 2] and array.size() == 3
    array.clear()
    assert array.size() == 0
    for error, index, value in (
        (TypeError, 0, Tensor([1, 2])),
        (ValueError, 0, Tensor([1.0])),
        (IndexError, -1, Tensor([1.0, 2.0])),
    ):
        with pytest.raises(error, match="TensorArray"):
            array.write(index, value)
    fixed = nn.TensorArray(ms.float32, (2,), dynamic_size=False, size=2)
    fixed.write(1, Tensor([1.0, 2.0]))
    assert fixed.stack().tolist() == [[0, 0], [1, 2]] and fixed.clear() and fixed.stack().tolist() == [[0, 0], [0, 0]]
    for wrong in (lambda: fixed.write(2, Tensor([1.0, 2.0])), lambda: fixed.read(2), lambda: array.read(0)):
        with pytest.raises(IndexError, match="TensorArray"):
            wrong()


def test_quantised_layers_of_1_x():
    from mindspore.compression import quant
    from mindspore.nn.layer import quant as layers

    for name in "Conv2dQuant DenseQuant ActQuant FakeQuantWithMinMaxObserver Conv2dBnFoldQuant".split():
        assert issubclass(getattr(layers, name), nn.Cell)
    assert not issubclass(quant.QuantizationAwareTraining, nn.Cell) and layers.DenseBnAct is nn.DenseBnAct
    for wrong in (
        lambda: layers.Conv2dQuant(1, 2, 3),
        lambda: quant.QuantizationAwareTraining(),
        lambda: quant.create_quant_config(),
    ):
        with pytest.raises(NotImplementedError, match="float16"):
            wrong()


def test_functions_by_type_take_sparse_gradients():
    from mindspore.nn.wrap.loss_scale import _grad_scale

    scale = ops.MultitypeFuncGraph("scale")

    @scale.register("Tensor", "Tensor")
    def _(s, g):
        return g * s

    @scale.register("Tensor", "RowTensor")
    def _(s, g):
        return ms.RowTensor(g.indices, g.values * s, g.dense_shape)

    rows = ms.RowTensor(Tensor([0], ms.int32), Tensor([[1.0, 2.0]]), (3, 2))
    assert scale(Tensor(2.0), rows).values.tolist() == [[2, 4]] and _grad_scale(Tensor(2.0), rows).values.tolist() == [
        [0.5, 1]
    ]
    assert scale(Tensor(2.0), Tensor([1.0])).tolist() == [2] and _grad_scale(Tensor(2.0), Tensor([1.0])).tolist() == [
        0.5
    ]


def test_one_name_at_all_its_places():
    from mindspore.mint.optim.fused_adamw import FusedAdamW
    from mindspore.ops import is_sequence_value_unknown
    from mindspore.ops.functional import is_sequence_value_unknown as other
    from mindspore.nn.layer.embedding import EmbeddingLookup

    assert FusedAdamW is ms.mint.optim.FusedAdamW and is_sequence_value_unknown((1,)) is other((1,)) is False
    assert EmbeddingLookup.TABLE_ROW_SLICE == "table_row_slice" and nn.EmbeddingLookup.BATCH_SLICE == "batch_slice"


def test_settings_of_other_devices_have_no_effect(caplog):
    from mindspore.device_context.ascend.op_precision import matmul_allow_hf32
    import mindspore.device_context as devices

    assert (
        not devices.ascend.is_available()
        and devices.ascend.op_precision.precision_mode("force_fp16") is None
        and matmul_allow_hf32(True) is None
    )
    assert devices.gpu.op_tuning.conv_fprop_algo("normal") is None
    with pytest.raises(RuntimeError, match="Ascend"):
        devices.ascend.device_count()


def test_frombuffer():
    assert ms.frombuffer(bytearray([1, 2, 3, 4]), ms.uint8).tolist() == [1, 2, 3, 4]
    assert ms.frombuffer(np.arange(4, dtype=np.float32).tobytes(), dtype=ms.float32, count=2, offset=4).tolist() == [
        1,
        2,
    ]
    for bad in ({"count": 0}, {"count": -2}, {"offset": 16}, {"offset": 3}, {"count": 5}):
        with pytest.raises(RuntimeError):
            ms.frombuffer(np.arange(4, dtype=np.float32).tobytes(), ms.float32, **bad)


def test_transformers():
    from mindspore.nn.transformer import (
        AttentionMask,
        CrossEntropyLoss,
        MultiHeadAttention,
        Transformer,
        TransformerEncoder,
        TransformerOpParallelConfig,
        VocabEmbedding,
    )

    config = TransformerOpParallelConfig()
    model = Transformer(
        batch_size=2,
        encoder_layers=1,
        decoder_layers=2,
        hidden_size=64,
        ffn_hidden_size=64,
        src_seq_length=20,
        tgt_seq_length=10,
        num_heads=2,
        parallel_config=config,
    )
    out, encoded, decoded = model(
        ops.ones((2, 20, 64)),
        ops.ones((2, 20, 20)),
        ops.ones((2, 10, 64)),
        ops.ones((2, 10, 10)),
        ops.ones((2, 10, 20)),
    )
    assert (
        out.shape == (2, 10, 64)
        and len(encoded) == 1
        and [t.shape for t in decoded[0]] == [(2, 2, 32, 10), (2, 2, 10, 32), (2, 2, 32, 20), (2, 2, 20, 32)]
    )
    names = [p.name for p in model.get_parameters()]
    assert (
        "encoder.blocks.0.attention.dense1.weight" in names
        and "decoder.blocks.1.cross_attention.projection.bias" in names
    )
    encoder = TransformerEncoder(2, 2, 8, 16, 4, 2, compute_dtype=ms.float32)
    x, mask = Tensor(np.random.RandomState(0).randn(2, 4, 8), ms.float32), AttentionMask(4)(ops.ones((2, 4)))
    y = x.asnumpy().copy()
    y[:, -1] = 0  # later tokens aren't seen
    a, b = encoder(x, mask)[0].asnumpy(), encoder(Tensor(y), mask)[0].asnumpy()
    assert np.allclose(a[:, :-1], b[:, :-1], atol=1e-6) and not np.allclose(a[:, -1], b[:, -1], atol=1e-3)
    f = ms.jit(lambda x: encoder(x, mask)[0])
    assert np.array_equal(f(x).asnumpy(), a) and not ms.explain(f).breaks
    # attention by hand
    layer = MultiHeadAttention(1, 3, 3, 4, 1, 0.0, 0.0, compute_dtype=ms.float32)
    z = np.random.RandomState(1).randn(1, 3, 4).astype(np.float32)
    q, k, v = (z @ d.weight.asnumpy().T + d.bias.asnumpy() for d in (layer.dense1, layer.dense2, layer.dense3))
    w = np.exp(q @ k.transpose(0, 2, 1) / 2)
    by_hand = (w / w.sum(-1, keepdims=True)) @ v @ layer.projection.weight.asnumpy() + layer.projection.bias.asnumpy()
    assert np.allclose(layer(*[Tensor(z)] * 3, ops.ones((1, 3, 3)))[0].asnumpy(), by_hand, atol=1e-5)
    loss = CrossEntropyLoss()(Tensor(np.eye(3), ms.float32), Tensor([0, 1, 2], ms.int32), Tensor([1, 1, 0], ms.float32))
    assert abs(float(loss) - 0.55144) < 1e-4 and VocabEmbedding(5, 3)(Tensor([[1, 2]]))[0].shape == (1, 2, 3)
    for bad in (
        lambda: TransformerEncoder(2, 2, 8, 16, 4, 2, use_past=True),
        lambda: TransformerEncoder(2, 2, 8, 16, 4, 3),
        lambda: TransformerOpParallelConfig(data_parallel=0),
    ):
        with pytest.raises((NotImplementedError, ValueError)):
            bad()


def test_transformers_call_what_divides_their_layers():
    from mindspore.nn.transformer import Transformer, TransformerOpParallelConfig

    config, seen = TransformerOpParallelConfig(), []

    def divide(network, layer_id, offset, parallel_config, layers):
        network.pipeline_stage = (layer_id + offset) // 2
        seen.append((type(network).__name__, layer_id, offset, layers, parallel_config is config))

    net = Transformer(8, 1, 8, 3, 2, encoder_layers=1, decoder_layers=2, lambda_func=divide, parallel_config=config)
    assert seen == [
        ("TransformerEncoderLayer", 0, 0, 1, True),
        ("TransformerDecoderLayer", 0, 1, 2, True),
        ("TransformerDecoderLayer", 1, 1, 2, True),
    ]
    assert [b.pipeline_stage for b in net.decoder.blocks] == [0, 1]


@pytest.mark.parametrize("post", [False, True])
def test_a_decoder_layer_by_hand(post):
    from mindspore.nn.transformer import TransformerDecoderLayer

    layer = TransformerDecoderLayer(4, 8, 1, 1, 3, 2, 0.0, 0.0, post, compute_dtype=ms.float32, hidden_act="relu")
    assert [p.name for p in layer.get_parameters()][::2][:3] == [
        "layernorm1.gamma",
        "layernorm2.gamma",
        "cross_attention_layernorm.gamma",
    ]
    r = np.random.RandomState(0)
    x, memory = r.randn(1, 2, 4).astype(np.float32), r.randn(1, 3, 4).astype(np.float32)

    def norm(v):
        return (v - v.mean(-1, keepdims=True)) / np.sqrt(v.var(-1, keepdims=True) + 1e-5)

    def dense(d, v):
        return v @ (d.weight.asnumpy().T if d.transpose_b else d.weight.asnumpy()) + d.bias.asnumpy()

    def attention(a, q, kv):
        q, k, v = dense(a.dense1, q), dense(a.dense2, kv), dense(a.dense3, kv)
        w = np.exp(q @ k.transpose(0, 2, 1) / 2)
        return dense(a.projection, w / w.sum(-1, keepdims=True) @ v)

    y = norm(x)
    z = (y if post else x) + attention(layer.attention, y, y)
    y = norm(z)
    z = (y if post else z) + attention(layer.cross_attention, y, memory)
    y = norm(z)
    z = (y if post else z) + dense(layer.output.projection, np.maximum(dense(layer.output.mapping, y), 0))
    out, presents = layer(Tensor(x), ops.ones((1, 2, 2)), Tensor(memory), ops.ones((1, 2, 3)))
    assert np.allclose(out.asnumpy(), z, atol=1e-5) and len(presents) == 4


def test_a_name_of_pythons_own_is_not_put_into_a_module():
    code = "import pijit as ms\nassert ms.bool == ms.bool_\nms.set_deterministic(True)\nassert 'bool' not in vars(ms)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_gradients_of_networks_as_operators():
    """Against MindSpore 2.10's first numbers, and the sum of all."""
    from mindspore.ops.operations import _grad_ops as G

    r, q = np.random.RandomState(0), np.random.RandomState(1)

    def tensor(a):
        return Tensor(a, ms.float32)

    def ones(*shape):
        return ops.ones(shape, ms.float32)

    x, d = tensor(r.randn(2, 4, 6, 6)), tensor(r.randn(2, 4, 6, 6))
    r.rand(2, 4, 6, 6)
    w, m, md, t = tensor(r.rand(4)), tensor(r.randn(2, 3)), tensor(r.randn(2, 3)), tensor(r.rand(2, 3))
    pooled, argmax = ops.MaxPoolWithArgmax(2, 2, "VALID")(x)
    gamma = tensor(q.rand(4, 6, 6))
    q.rand(3, 3, 4, 3, 3)
    grid = tensor(q.rand(2, 3, 3, 2))
    classes, weight = Tensor([0, 2], ms.int32), ones(3)
    cases = [
        (
            G.Conv2DBackpropFilter(3, (3, 3), mode=1, pad_mode="valid")(ones(2, 3, 4, 4), x, (3, 4, 3, 3)),
            8.4328,
            408.25,
        ),
        (G.BatchNormGrad(True, 1e-5)(d, x, w, w, w, w)[0], -0.3183, 162.03),
        (G.BatchNormGrad(False, 1e-5)(d, x, w, w, w, w)[0], 0.1074, 151.02),
        (G.BatchNormGrad(True, 1e-5)(d, x, w, w, w, w)[1], 17.9512, 45.2),
        (G.BatchNormGrad(True, 1e-5)(d, x, w, w, w, w)[2], -3.6027, 27.94),
        (G.MaxPoolGradWithArgmax(2, 2, "VALID")(x, pooled, argmax), 1.7641, 76.25),
        (G.ResizeNearestNeighborGrad()(d, (3, 3)), 2.9926, 122.74),
        (G.GatherDGradV2()(m, 1, Tensor([[0, 1, 2], [0, 0, 0]]), md), 1.0118, 4.89),
        (G.SliceGrad()(ones(1, 2), m, (0, 1), (1, 2)), 0, 2),
        (G.KLDivLossGrad("mean")(tensor(2.0), m, t), -0.0018, 0.54),
        (G.KLDivLossGrad("none")(md, m, t), -0.0054, 2.05),
        (G.NLLLossGrad("mean")(m, tensor(1.0), classes, weight, tensor(2.0)), -0.5, 1),
        (G.NLLLossGrad("none")(m, tensor([1.0, 2.0]), classes, weight, tensor(2.0)), -1, 3),
        (G.MirrorPadGrad("REFLECT")(ones(4, 5), Tensor([[1, 1], [1, 1]])), 2, 20),
        (G.LRNGrad()(d, x, x), 0.0976, 94.47),
        (G.ROIAlignGrad(2, 2, 1.0)(ones(1, 4, 2, 2), tensor([[0, 0, 0, 3, 3]]), (2, 4, 6, 6)), 0.0625, 16),
        (G.LayerNormGrad(1, 1)(x, d, ones(2, 1, 1, 1) * 0.9, ops.zeros((2, 1, 1, 1)), gamma)[1], 3.4656, 155.03),
        (G.MaximumGrad(True, False)(m, md, md)[1], 1.0118, 4.9),
    ]
    for k, (found, first, total) in enumerate(cases):
        a = found.asnumpy()
        assert abs(a.ravel()[0] - first) < 1e-4 and abs(np.abs(a).sum() - total) < 0.0051, (
            k,
            a.ravel()[0],
            np.abs(a).sum(),
        )
    dx, dgrid = G.GridSampler2DGrad()(ones(2, 4, 3, 3), x, grid)
    assert dx.shape == x.shape and dgrid.shape == grid.shape and abs(dgrid.asnumpy().ravel()[0] + 5.655) < 0.0011
    with pytest.raises(TypeError, match="pooled_height"):
        G.ROIAlignGrad()


def test_gradients_as_operators():
    from mindspore.ops.operations import _grad_ops as G
    from mindspore.ops.auto_generate import ReluGrad

    assert ReluGrad is G.ReluGrad and issubclass(ReluGrad, ops.Primitive)
    r = np.random.RandomState(0)
    x, dout = Tensor(r.uniform(0.1, 0.9, (2, 4, 6, 6)), ms.float32), Tensor(r.randn(2, 4, 6, 6), ms.float32)
    z = Tensor(r.randn(2, 4, 6, 6) * 2, ms.float32)

    def wanted(fn, *inputs, dout=dout):
        out, back = ms.vjp(fn, *inputs)
        grads = back(dout)
        return [g.asnumpy() for g in (grads if isinstance(grads, tuple) else (grads,))]

    # (what it gives, the operator whose gradient it is, its inputs)
    cases = [
        (G.AbsGrad()(z, dout), ops.abs, z),
        (G.ReluGrad()(dout, z), ops.relu, z),
        (G.HSwishGrad()(dout, z), ops.hardswish, z),
        (G.HShrinkGrad(0.7)(dout, z), lambda x: ops.hardshrink(x, 0.7), z),
        (G.GeLUGrad()(dout, z, ops.GeLU()(z)), ops.GeLU(), z),
        (G.SigmoidGrad()(ops.sigmoid(z), dout), ops.sigmoid, z),
        (G.TanhGrad()(ops.tanh(z), dout), ops.tanh, z),
        (G.SqrtGrad()(ops.sqrt(x), dout), ops.sqrt, x),
        (G.RsqrtGrad()(ops.rsqrt(x), dout), ops.rsqrt, x),
        (G.ReciprocalGrad()(ops.reciprocal(x), dout), ops.reciprocal, x),
        (G.AsinhGrad()(ops.asinh(x), dout), ops.asinh, x),
        (G.AcoshGrad()(ops.acosh(x + 1.5), dout), ops.acosh, x + 1.5),
        (G.EluGrad()(dout, ops.elu(z)), ops.elu, z),
        (G.LogSoftmaxGrad(1)(ops.log_softmax(z, 1), dout), lambda x: ops.log_softmax(x, 1), z),
        (G.MinimumGrad()(x, z, dout), ops.minimum, x, z),
        (G.PReLUGrad()(dout, z, Tensor(r.rand(4), ms.float32)), None),
        (G.L2NormalizeGrad(1, 1e-4)(z, ops.L2Normalize(1, 1e-4)(z), dout), ops.L2Normalize(1, 1e-4), z),
    ]
    for found, fn, *inputs in cases:
        if fn is not None:
            for a, b in zip(found if isinstance(found, tuple) else (found,), wanted(fn, *inputs)):
                assert np.allclose(a.asnumpy(), b, rtol=1e-4, atol=1e-5), fn
    pool = ops.MaxPool(kernel_size=2, strides=2, pad_mode="SAME")
    out = pool(z)
    assert np.array_equal(G.MaxPoolGrad(2, 2, "SAME")(z, out, out).asnumpy(), wanted(pool, z, dout=out)[0])
    norm = ops.LayerNorm(1, 1)
    gamma, beta = ops.ones((4, 6, 6)) * 2, ops.zeros((4, 6, 6))
    _, mean, variance = norm(z, gamma, beta)
    for a, b in zip(
        G.LayerNormGrad(1, 1)(z, dout, variance, mean, gamma), wanted(lambda *i: norm(*i)[0], z, gamma, beta)
    ):
        assert np.allclose(a.asnumpy(), b, rtol=1e-3, atol=1e-4)
    assert np.allclose(G.BiasAddGrad()(dout).asnumpy(), dout.asnumpy().sum((0, 2, 3)), atol=1e-5)
    part = Tensor(r.randn(2, 2), ms.float32)
    assert G.StridedSliceGrad()(part, (3, 5), (0, 1), (2, 5), (1, 2)).asnumpy()[0:2, 1:5:2].tolist() == part.tolist()
    with pytest.raises(TypeError, match="expected dout x as inputs"):
        G.ReluGrad()(z)
    with pytest.raises(NotImplementedError, match="mindspore.grad of the forward operator"):
        G.DynamicRNNGrad()

    class Mine(nn.Cell):
        def construct(self, x):
            return ops.relu(x)

        def bprop(self, x, out, dout):
            return (G.ReluGrad()(dout, x) * 10,)

    assert ms.grad(Mine())(Tensor([-1.0, 2.0])).tolist() == [0, 10]
    f = ms.jit(lambda x: ms.grad(Mine())(x))
    assert f(Tensor([-1.0, 2.0])).tolist() == [0, 10]


def test_what_can_be_mutable():
    x = Tensor([1.0])
    for data in (3, 2.5, True):
        assert ms.mutable(data) is data
    for data in (x, (1, x), [1, (2, x)], {"a": x, 3: [1]}, ()):
        made = ms.mutable(data, dynamic_len=isinstance(data, list))
        assert made is x if data is x else (made is not data and len(made) == len(data))
        assert isinstance(made, type(data)) and made.__ms_mutable__ and made.__ms_origin_object__ is data
        assert made.__ms_dynamic_len__ is isinstance(data, list)
    nested = ms.mutable((1, (2, 3)))
    assert type(nested[1]) is tuple and ms.mutable(nested).__ms_origin_object__ is nested
    assert ms.mutable([1], True) == [1] and ms.mutable((x,), dynamic_len=True)[0] is x
    for wrong in ("a", None, 1j, ms.float32, (1, "a"), [None], {"a": "b"}, len):
        with pytest.raises(TypeError, match="mutable: 'input_data'"):
            ms.mutable(wrong)
    for data, dynamic in ((3, True), ({"a": x}, True), ((1,), 3)):
        with pytest.raises(TypeError, match="'dynamic_len'"):
            ms.mutable(data, dynamic)
    f = ms.jit(lambda x: ms.mutable([x, (x, 2)])[1][1] * ms.mutable({"a": x})["a"])
    assert f(x).tolist() == [2] and not ms.explain(f).breaks


MARKED = {
    "tuple": (lambda x, t: x * t[0] + t[1], (Tensor([2.0]), 3.0)), "list": (lambda x, t: x * t[0] + t[-1], [2.0, 3]),
    "dict": (lambda x, t: x * t["a"] + len(t), {"a": Tensor([2.0])}), "nested": (lambda x, t: x * t[1][0], (1, [2.0])),
    "loop": (lambda x, t: sum([x * v for v in t]), [1, 2.0]),
    "unpack": (lambda x, t: (lambda a, b: x * a - b)(*t), [4, 1]),
    "append": (lambda x, t: (t.append(x), x * len(t))[1], [1]), "slice": (lambda x, t: (x, t[1:], t + [1]), [1, 2]),
    "type": (lambda x, t: (x * 1, type(t).__name__, isinstance(t, list), t == [1, 2], len(t)), [1, 2]),
    "origin": (lambda x, t: (x * 1, t.__ms_origin_object__, hasattr(t, "other")), [1, 2]),
    "axes": (lambda x, t: x.reshape(t), (1, 2)), "axes of a list": (lambda x, t: x.reshape(t), [1, 2]),
    "indices": (lambda x, t: x[t], [1, 0]), "stack": (lambda x, t: ops.stack(t) + x, [Tensor([1.0, 2.0])] * 2),
}


@pytest.mark.parametrize("name", MARKED)
def test_what_is_mutable_is_captured(name):
    f, data = MARKED[name]
    x = Tensor([1.0, 2.0])
    assert name in ("type", "origin") or str(f(x, ms.mutable(data))) == str(f(x, data))
    jitted = ms.jit(f)
    for _ in range(2):
        assert str(jitted(x, ms.mutable(data))) == str(f(x, ms.mutable(data)))
    assert not ms.explain(jitted).breaks or name == "indices"


def test_gradients_by_what_is_mutable():
    def f(x, t):
        return (x * t[0] * t[1]["a"]).sum()
    x, t = Tensor([1.0, 2.0]), ms.mutable((Tensor(3.0), {"a": Tensor(2.0)}))
    for fn in (f, ms.jit(f)):
        assert ms.grad(fn)(x, t).tolist() == [6, 6] and ms.grad(fn, 1)(x, t) == ()
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        by = ms.grad(f, 1)(x, t)
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    assert type(by) is tuple and by[0].item() == 6 and by[1]["a"].item() == 9
    same = ops.vmap(lambda t: t[0] + t[1])(ms.mutable((x, x)))
    assert same.tolist() == [2, 4]


STAY = {
    "positive": lambda c, x: (c.check_positive_int(x.shape[0], "n", "P"), x * 2)[1],
    "range": lambda c, x: (c.check_int_range(x.ndim, 1, 3, c.INC_BOTH, "n", "P"), x * 2)[1],
    "type": lambda c, x: (c.check_value_type("x", x.shape, [tuple], "P"), x * 2)[1],
    "string": lambda c, x: (c.check_string("a", ["a", "b"], "n", "P"), x * 2)[1],
    "axes": lambda c, x: x.sum(c.check_axis_valid((0, -1), x.ndim)),
    "kind": lambda c, x: (c.check_subclass("x", x.dtype, ms.number, "P"), x * 2)[1],
    "dtype": lambda c, x: (c.check_type_name("x", x.dtype, [ms.float32], "P"), x * 2)[1],
    "twice": lambda c, x: x * c.twice(3)[0],
    "squeeze": lambda c, x: x.reshape(c.prepare_shape_for_squeeze((2, 1, 2), 1)),
    "broadcast": lambda c, x: ops.zeros(c.infer_out_shape(x.shape, (1, 2))) + x,
    "elements": lambda c, x: (c.check_element_type_of_iterable("a", x.shape, [int], "P"), x * 2)[1],
    "arguments": lambda c, x: c.args_type_check(x=Tensor)(lambda x: x * 2)(x),
}


@pytest.mark.parametrize("name", sorted(STAY))
def test_checks_in_a_graph(name):
    from mindspore import _checkparam as c

    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    wanted = STAY[name](c, x).tolist()
    if name == "arguments":
        f = ms.jit(c.args_type_check(x=Tensor)(lambda x: x * 2))
    else:
        f = ms.jit(lambda x: STAY[name](c, x))
    assert f(x).tolist() == wanted and not ms.explain(f).breaks


def test_gradient_operations_with_a_name():
    """As MindSpore 0.x has them: C.GradOperation('grad', get_by_list=True)."""
    from mindspore.ops import composite as C

    net, x, dout = nn.Dense(2, 2), ops.ones((1, 2)), ops.ones((1, 2))
    weights = ms.ParameterTuple(net.trainable_params())
    named = C.GradOperation("grad", get_by_list=True, sens_param=True)(net, weights)(x, dout)
    for a, b in zip(named, C.GradOperation(get_by_list=True, sens_param=True)(net, weights)(x, dout)):
        assert np.array_equal(a.asnumpy(), b.asnumpy())
    assert len(C.GradOperation("grad", True)(lambda x, y: x * y)(x, dout)) == 2
    f = ms.jit(lambda x: C.GradOperation("grad", get_all=True)(net)(x))
    assert f(x)[0].shape == (1, 2) and not ms.explain(f).breaks
    for wrong in (("grad",), (1,), (True, 1), ("grad", 1)):
        with pytest.raises(TypeError):
            C.GradOperation(*wrong)
    with pytest.raises(TypeError):
        C.GradOperation(all=True)
