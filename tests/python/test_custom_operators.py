"""Operators of a program's own: ops.Custom, descriptions of kernels, primitives computed by registered Python
functions."""

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, nn, ops

X = np.array([1.0, 2.0, 3.0], np.float32)


def same(s):
    return s


def twice(x):
    return x * 2


def pair(x):
    return x, x + 1


@pytest.mark.parametrize(
    "shapes,dtypes",
    [
        (same, same),
        ((3,), ms.float32),
        ([3], ms.float32),
        (lambda s: tuple(s), [ms.float32]),
    ],
)
def test_one_output(shapes, dtypes):
    y = ops.Custom(twice, shapes, dtypes, "pyfunc")(Tensor(X))
    assert np.array_equal(y.asnumpy(), X * 2) and y.dtype == ms.float32


@pytest.mark.parametrize(
    "shapes,dtypes",
    [
        (((3,), (3,)), (ms.float32, ms.float32)),
        (lambda s: (s, s), lambda d: (d, d)),
        (lambda s: [s, s], lambda d: [d, d]),
    ],
)
@pytest.mark.parametrize("result", [tuple, list])
def test_several_outputs(shapes, dtypes, result):
    a, b = ops.Custom(lambda x: result(pair(x)), shapes, dtypes, "pyfunc")(Tensor(X))
    assert np.array_equal(a.asnumpy(), X) and np.array_equal(b.asnumpy(), X + 1)


def test_results_of_other_sorts():
    (only,) = ops.Custom(twice, ((3,),), (ms.float32,), "pyfunc")(Tensor(X))
    assert only.tolist() == [2, 4, 6]
    assert ops.Custom(lambda x: (x * 2,), same, same, "pyfunc")(Tensor(X)).tolist() == [2, 4, 6]
    assert ops.Custom(lambda x: 3.0, (), ms.float32, "pyfunc")(Tensor(X)) == 3
    assert ops.Custom(lambda x: [1.0, 2.0], (2,), ms.float32, "pyfunc")(Tensor(X)).tolist() == [1, 2]
    scaled = ops.Custom(lambda x, by: x * by, lambda s, by: s, lambda d, by: d, "pyfunc")
    assert scaled(Tensor(X), 2.0).tolist() == [2, 4, 6]


def test_the_function_gets_arrays_of_its_own():
    def zero(x):
        x[...] = 0
        return x

    x = Tensor(X)
    assert ops.Custom(zero, same, same, "pyfunc")(x).tolist() == [0, 0, 0] and x.tolist() == X.tolist()


@pytest.mark.parametrize(
    "error,words,make",
    [
        (ValueError, "no func_type 'nope'", lambda: ops.Custom(twice, same, same, "nope")),
        (TypeError, "'func'", lambda: ops.Custom(3, same, same, "pyfunc")),
        (TypeError, "'func'", lambda: ops.Custom("twice", same, same, "pyfunc")),
        (TypeError, "'func'", lambda: ops.Custom(twice, same, same, "aot")),
        (TypeError, "'out_shape'", lambda: ops.Custom(twice, None, same)(Tensor(X))),
        (TypeError, "'out_dtype'", lambda: ops.Custom(twice, same, 3)(Tensor(X))),
        (TypeError, "int32", lambda: ops.Custom(lambda x: x.astype(np.int32), same, same)(Tensor(X))),
        (TypeError, "gives None", lambda: ops.Custom(lambda x: None, (), ms.float32)(Tensor(X))),
        (ValueError, "shape", lambda: ops.Custom(lambda x: x[:2], same, same)(Tensor(X))),
        (ValueError, "2 shapes .* 1 dtypes", lambda: ops.Custom(pair, ((3,), (3,)), ms.float32)(Tensor(X))),
        (ValueError, "2 shapes .* 3 dtypes", lambda: ops.Custom(pair, ((3,), (3,)), [ms.float32] * 3)(Tensor(X))),
        (ValueError, "1 results", lambda: ops.Custom(twice, ((3,), (3,)), [ms.float32] * 2)(Tensor(X))),
        (NotImplementedError, "pyfunc", lambda: ops.Custom("f.so:f", same, same, "aot")(Tensor(X))),
        (NotImplementedError, "pyfunc", lambda: ops.Custom(twice, same, same, "hybrid")(Tensor(X))),
        (RuntimeError, "has no gradient", lambda: ms.grad(ops.Custom(twice, same, same))(Tensor(X))),
    ],
)
def test_wrong_ones(error, words, make):
    with pytest.raises(error, match=words):
        make()


def test_in_a_cell_with_a_gradient():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.op = ops.Custom(np.sin, same, same, "pyfunc", bprop=lambda x, out, dout: (dout * ops.cos(x),))
            self.scale = ms.Parameter(Tensor(2.0))

        def construct(self, x):
            return (self.op(x * self.scale) * 3).sum()

    net = Net()
    for f in (ms.grad(net), ms.jit(ms.grad(net))):
        assert np.allclose(f(Tensor(X)).asnumpy(), 6 * np.cos(2 * X), atol=1e-5)
    by_scale = ops.GradOperation(get_by_list=True)(net, ms.ParameterTuple(net.trainable_params()))(Tensor(X))[0]
    assert np.allclose(by_scale.asnumpy(), (3 * np.cos(2 * X) * X).sum(), atol=1e-4)


def test_descriptions_of_kernels():
    d = ops.DataType
    info = (
        ops.CustomRegOp("add").input(0, "x").input(1, "y", "optional").output(0, "z").attr("k", "required", "int", "3")
        .dtype_format(d.F32_Default, d.F32_Default, d.F32_Default).dtype_format(d.F16_5HD, d.F16_None, d.None_None)
        .target("CPU")
    ).get_op_info()  # fmt: skip
    assert info == {
        "op_name": "add",
        "inputs": [
            {"index": 0, "name": "x", "paramType": "required"},
            {"index": 1, "name": "y", "paramType": "optional"},
        ],
        "outputs": [{"index": 0, "name": "z", "paramType": "required"}],
        "attr": [{"name": "k", "paramType": "required", "type": "int", "defaultValue": "3"}],
        "fusion_type": "",
        "dtype_format": [
            (("float32", "DefaultFormat"),) * 3,
            (("float16", "NC1HWC0"), ("float16", ""), ("", "")),
        ],
        "target": "CPU",
    }
    assert ops.CustomRegOp().get_op_info()["target"] == "UnKnown"
    kept = ops.custom_info_register(info, {"op_name": "other"})(twice)
    assert kept.reg_info == (info, {"op_name": "other"}) and kept(3) == 6
    tbe = (
        ops.TBERegOp("t")
        .input(0, "x", False, "required", "all")
        .compute_cost(5)
        .unknown_shape_formats(["ND"])
        .get_op_info()
    )
    assert (
        tbe["compute_cost"] == 5
        and tbe["unknown_shape_formats"] == [["ND"]]
        and tbe["inputs"][0]["needCompile"] is False
    )
    assert ops.CpuRegOp("c").attr("k", "listInt").get_op_info()["attr"] == [{"name": "k", "type": "listInt"}]
    from pijit.ops.op_info_register import AkgCpuRegOp

    assert AkgCpuRegOp("a").get_op_info()["processor"] == "CPU"


@pytest.mark.parametrize(
    "error,make",
    [
        (ValueError, lambda: ops.CustomRegOp("")),
        (ValueError, lambda: ops.CustomRegOp(3)),
        (TypeError, lambda: ops.CustomRegOp().input("0", "x")),
        (TypeError, lambda: ops.CustomRegOp().output(0, 3)),
        (TypeError, lambda: ops.CustomRegOp().attr("k", "required", "int", 3)),
        (TypeError, lambda: ops.CustomRegOp().target(3)),
        (TypeError, lambda: ops.CustomRegOp().fusion_type(3)),
        (ValueError, lambda: ops.CustomRegOp().dtype_format(ops.DataType.F32_Default)),
        (ValueError, lambda: ops.CustomRegOp().input(0, "x").dtype_format(3)),
        (TypeError, lambda: ops.TBERegOp("t").input(0, "x", "all")),
        (TypeError, lambda: ops.TBERegOp("t").async_flag(3)),
        (TypeError, lambda: ops.TBERegOp("t").compute_cost("a")),
        (TypeError, lambda: ops.CpuRegOp("c").attr("k", "listInt", "x", "y")),
    ],
)
def test_wrong_descriptions(error, make):
    with pytest.raises(error, match="RegOp"):
        make()


def test_primitives_computed_by_registered_functions():
    from pijit.ops.vm_impl_registry import vm_impl_registry

    class Cube(ops.PrimitiveWithInfer):
        @ops.prim_attr_register
        def __init__(self, scale=1):
            pass

    with pytest.raises(NotImplementedError, match="Cube"):
        Cube()(Tensor(X))

    @vm_impl_registry.register(Cube)
    def cube(prim):
        return lambda x: Tensor(x.asnumpy() ** 3 * prim.scale)

    try:
        assert Cube(2)(Tensor(X)).tolist() == [2, 16, 54] and ops.get_vm_impl_fn("Cube") is not None
    finally:
        del vm_impl_registry["Cube"]
