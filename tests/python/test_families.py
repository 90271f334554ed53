"""Layers, losses, optimizers and functions, against facts of MindSpore 2.7.1: values and gradients (facts_nn.json,
rounded to 5 decimals), and jitted against eager.

A fact's gradient is that of the sum of all outputs, element k of output n weighted by cos(k + n), by the variable
named."""

import ast
import builtins
import json
import pathlib

import numpy as np
import pytest

import pijit as ms
from pijit import nn, ops
from tests.python.differential import check, check_calls
from tests.python.pairs import pairs

FACTS = json.loads((pathlib.Path(__file__).parent / "facts_nn.json").read_text())
# what reads a tensor's value to know a shape
VALUES_NEEDED = ("ops.bincount", "ops.unique")


def scope():
    """What the expressions name."""
    T = ms.Tensor
    r = np.random.RandomState(0)

    def t(*shape):
        return T(r.randn(*shape).astype(np.float32))
    s = {"ms": ms, "nn": nn, "ops": ops, "T": T, "np": np, "fixed": fixed, "steps": steps}
    s.update(A=t(3, 4), B=t(3, 4), C=t(3, 4), X2=t(6, 5), X3=t(2, 3, 6), X4=t(2, 3, 4, 5), X5=t(1, 2, 4, 5, 6),
             Y3=t(5, 2, 8), S3=t(5, 2, 3), H=t(1, 2, 4),
             V=t(5), W=t(5), V3=t(4, 3), W3=t(4, 3))
    s.update(P=T(r.rand(3, 4).astype(np.float32)), Q=T((r.rand(3, 4) > 0.5).astype(np.float32)),
             S=T(np.sign(r.randn(3, 4)).astype(np.float32)),
             L=T(np.array([1, 0, 3], np.int32)), N=T(np.array([3, 5], np.int32)),
             J=T(np.array([2, 0, 2, 1, 1, 0], np.int32)),
             M=T(np.array([[1, 2, -1, 0], [0, -1, 1, 2], [3, 2, 1, 0]], np.int32)), F8=t(1, 8, 2, 3))
    return s


def fixed(cell):
    """cell, with known parameters."""
    for k, (_, p) in enumerate(sorted(cell.parameters_dict().items())):
        p.set_data(ms.Tensor((np.random.RandomState(k).randn(*p.shape) * 0.3).astype(np.float32)))
    return cell.set_train(False)


def parameters():
    r = np.random.RandomState(0)
    params = [ms.Parameter(ms.Tensor(r.randn(2, 3).astype(np.float32)), name="a"),
              ms.Parameter(ms.Tensor(r.randn(3).astype(np.float32)), name="b")]
    return params, [tuple(ms.Tensor(r.randn(*p.shape).astype(np.float32)) for p in params) for _ in range(3)]


def steps(make):
    """Parameters after three steps of an optimizer."""
    params, gradients = parameters()
    optimizer = make(params)
    for g in gradients:
        optimizer(g)
    return tuple(params)


def flat(r):
    return [v for x in r for v in flat(x)] if isinstance(r, (tuple, list)) else [r]


def agrees(tensor, fact):
    a = tensor.asnumpy()
    assert (str(a.dtype), list(a.shape)) == (fact["dtype"], fact["shape"])
    np.testing.assert_allclose(a.astype(np.float64).ravel()[:24], fact["values"], atol=2e-5, rtol=2e-4)


@pytest.mark.parametrize("expression", FACTS)
def test_fact(expression):
    fact = FACTS[expression]
    if "raises" in fact:
        with pytest.raises(getattr(builtins, fact["raises"])):
            eval(expression, scope())
        return
    got, want = flat(eval(expression, scope())), flat(fact["is"])
    assert len(got) == len(want)
    for g, w in zip(got, want):
        agrees(g, w)
    if "grad" in fact:
        variable, want = fact["grad"]
        s = scope()
        f = eval(f"lambda {variable}: {expression}", s)

        def total(x):
            return sum((o * ms.Tensor(np.cos(np.arange(o.size) + k).reshape(o.shape).astype(np.float32))).sum()
                       for k, o in enumerate(flat(f(x))) if o.dtype == ms.float32)
        agrees(ms.grad(total)(s[variable]), want)


def layer_and_arguments(expression):
    """('layer', [argument, ...]) where the expression calls a layer that it makes; else (None, None)."""
    call = ast.parse(expression, mode="eval").body
    if isinstance(call, ast.Subscript):
        call = call.value
    if (isinstance(call, ast.Call) and isinstance(call.func, ast.Call) and not call.keywords
        and not any(isinstance(a, ast.Starred) for a in call.args)):
        return ast.unparse(call.func), [ast.unparse(a) for a in call.args]
    return None, None


LAYERS = [e for e, f in FACTS.items() if "is" in f and layer_and_arguments(e)[0]]
FUNCTIONS = [e for e, f in FACTS.items() if "is" in f and e.startswith("ops.") and not e.startswith(VALUES_NEEDED)]


@pytest.mark.parametrize("expression", LAYERS)
def test_jitted_layer(expression):
    layer, args = layer_and_arguments(expression)

    def make():
        cell = eval(layer, scope())
        return lambda *x: cell(*x)
    check(make, *(eval(a, scope()) for a in args), graphs=0 if layer.startswith("nn.Dropout") else 1, breaks=0)


@pytest.mark.parametrize("expression", FUNCTIONS)
def test_jitted_function(expression):
    names = sorted({n.id for n in ast.walk(ast.parse(expression)) if isinstance(n, ast.Name)} & set(scope()) -
                   {"ms", "nn", "ops", "T", "np"})

    def make():
        return eval(f"lambda {', '.join(names)}: {expression}", scope())
    s = scope()
    check(make, *(s[n] for n in names))


@pytest.mark.parametrize("expression", [e for e in FACTS if e.startswith("steps(")])
def test_jitted_optimizer(expression):
    maker = expression[len("steps("):-1]

    def make():
        params, _ = parameters()
        optimizer = eval(maker, scope())(params)
        return (lambda *g: optimizer(g)), lambda: [p.asnumpy().tobytes() for p in optimizer.get_parameters()]
    _, gradients = parameters()
    check_calls(make, gradients, graphs=1, breaks=0)


def test_a_tuple_of_parameters_belongs_to_its_cell():
    class Inner(nn.Cell):
        def __init__(self):
            super().__init__()
            self.ps = ms.ParameterTuple([ms.Parameter(ms.Tensor([1.0]), name="u"),
                                         ms.Parameter(ms.Tensor([2.0]), name="v")])

    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner = Inner()
            self.w = ms.Parameter(ms.Tensor([3.0]), name="w")
    outer = Outer()
    assert list(outer.parameters_dict()) == ["w", "inner.u", "inner.v"]
    assert [p.name for p in outer.inner.ps] == ["inner.u", "inner.v"]
    outer.inner.ps = ms.ParameterTuple([ms.Parameter(ms.Tensor([1.0]), name="x")])
    assert list(outer.parameters_dict()) == ["w", "x"]


def test_where_mindspore_is_not_followed():
    """Its CPU kernels: xlogy(0, 0) is NaN, searchsorted passes over `right`, Momentum over use_nesterov, ClipByNorm
    scales by another column's norm."""
    T = ms.Tensor
    assert ops.xlogy(T(np.zeros(3, np.float32)), T(np.array([0, 1, 2], np.float32))).asnumpy().tolist() == [0, 0, 0]
    assert (ops.searchsorted(T(np.array([1, 3, 5], np.float32)), T(np.array([3, 6, 1], np.float32)),
                             right=True).asnumpy().tolist() == [2, 3, 1])
    x = np.random.RandomState(0).randn(3, 4).astype(np.float32)
    y = nn.ClipByNorm(axis=0)(T(x), T(1.0)).asnumpy()
    np.testing.assert_allclose(y, x / np.maximum(np.linalg.norm(x, axis=0, keepdims=True), 1), rtol=1e-6)


def test_random_layers():
    ms.set_seed(5)
    x = ms.Tensor(np.random.RandomState(0).randn(64, 16, 5, 5).astype(np.float32))
    y = nn.RReLU()(x).asnumpy()
    slope = (y / x.asnumpy())[x.asnumpy() < 0]
    assert ((y >= 0)[x.asnumpy() >= 0].all() and slope.min() >= 1 / 8 - 1e-6 and slope.max() <= 1 / 3 + 1e-6
            and 0.2 < slope.mean() < 0.26)
    drop = nn.Dropout2d(0.25).set_train()
    kept = (drop(x).asnumpy() != 0).reshape(64, 16, 25)
    assert (kept.all(-1) | ~kept.any(-1)).all() and 0.7 < kept.mean() < 0.8
    sample = ops.gumbel_softmax(x[:, :, 0, 0], hard=True).asnumpy()
    assert set(np.unique(sample).tolist()) == {0.0, 1.0} and (sample.sum(-1) == 1).all()
    assert sorted(ops.randperm(50).asnumpy().tolist()) == list(range(50))
    counts = (np.bincount(ops.multinomial(ms.Tensor(np.array([1, 0, 3], np.float32)), 4000).asnumpy(),
                          minlength=3) / 4000)
    np.testing.assert_allclose(counts, [0.25, 0, 0.75], atol=0.03)
    assert sorted(ops.multinomial(ms.Tensor(np.array([1, 2, 3], np.float32)), 3, False).asnumpy().tolist()) == [0, 1, 2]
    assert 0.65 < ops.bernoulli(x, 0.7).asnumpy().mean() < 0.75


def test_lamb_and_lars():
    """MindSpore has no CPU kernels for these: against the papers' formulas."""
    params, gradients = parameters()
    want = [p.asnumpy().astype(np.float64) for p in params]
    m, v = [np.zeros_like(p) for p in want], [np.zeros_like(p) for p in want]
    optimizer = nn.Lamb(params, 0.1, weight_decay=0.01)
    for t, g in enumerate(gradients, 1):
        optimizer(g)
        for i, gi in enumerate(x.asnumpy() for x in g):
            m[i] = 0.9 * m[i] + 0.1 * gi
            v[i] = 0.999 * v[i] + 0.001 * gi * gi
            step = m[i] / (1 - 0.9 ** t) / (np.sqrt(v[i] / (1 - 0.999 ** t)) + 1e-6) + 0.01 * want[i]
            want[i] = want[i] - 0.1 * np.linalg.norm(want[i]) / np.linalg.norm(step) * step
    for p, w in zip(params, want):
        np.testing.assert_allclose(p.asnumpy(), w, rtol=2e-5)
    params, gradients = parameters()
    want = [p.asnumpy().astype(np.float64) for p in params]
    optimizer = nn.LARS(nn.SGD(params, 0.5, weight_decay=0.1), coefficient=0.02)
    for g in gradients:
        optimizer(g)
        for i, gi in enumerate(x.asnumpy() for x in g):
            n = np.linalg.norm(want[i])
            want[i] = want[i] - 0.5 * 0.02 * n / (np.linalg.norm(gi) + 0.1 * n + 1e-5) * (gi + 0.1 * want[i])
    for p, w in zip(params, want):
        np.testing.assert_allclose(p.asnumpy(), w, rtol=2e-5)


def test_ties_share_the_gradient_of_segment_maxima():
    x = ms.Tensor(np.array([1, 2, 2, 5, np.inf], np.float32))
    ids = ms.Tensor(np.array([0, 0, 0, 1, -1], np.int32))
    assert ops.unsorted_segment_max(x, ids, 3).asnumpy().tolist() == [2, 5, np.finfo(np.float32).min]
    dx = ms.grad(lambda x: ops.unsorted_segment_max(x, ids, 2).sum())(x)
    assert dx.asnumpy().tolist() == [0, 0.5, 0.5, 1, 0]


def _p(*v):
    return ms.Parameter(ms.Tensor(np.array(v, np.float32)), name="p")


def _t(*v):
    return ms.Tensor(np.array(v, np.float32))


# primitive, further arguments behind var -> values of the results, of MindSpore 2.7.1 where it has a CPU kernel that
# gives them
APPLIED = {
    "ops.ApplyAdaMax()(p(1,2,3),p(.1,.2,.3),p(.4,.5,.6),0.9,0.01,0.9,0.99,1e-6,g)": [[0.9697, 1.96768, 2.94613],
        [0.12, 0.16, 0.32], [0.396, 0.495, 0.594]],
    "ops.ApplyAdadelta()(p(1,2,3),p(.1,.2,.3),p(.4,.5,.6),0.01,0.9,1e-6,g)": [[0.99397, 2.0033, 2.99287],
        [0.099, 0.184, 0.295], [0.39636, 0.46087, 0.59085]],
    "ops.ApplyAdagrad()(p(1,2,3),p(.1,.2,.3),0.01,g)": [[0.99312, 2.00408, 2.99326], [0.19, 0.24, 0.55]],
    "ops.ApplyAdagradV2(epsilon=1e-6)(p(1,2,3),p(.1,.2,.3),0.01,g)": [[0.99312, 2.00408, 2.99326], [0.19, 0.24, 0.55]],
    "ops.ApplyAddSign()(p(1,2,3),p(.1,.2,.3),0.01,1.0,0.99,0.9,g)": [[0.99403, 2.00002, 2.99005], [0.12, 0.16, 0.32]],
    "ops.ApplyPowerSign()(p(1,2,3),p(.1,.2,.3),0.01,np.e,0.99,0.9,g)": [[0.95576, 2.00014, 2.92626],
        [0.12, 0.16, 0.32]],
    "ops.ApplyFtrl()(p(1,2,3),p(.1,.2,.3),p(.4,.5,.6),g,0.01,0.0,0.02,-0.5)": [[0.25823, 0.168, 0.76911]],
    "ops.ApplyProximalAdagrad()(p(1,2,3),p(.1,.2,.3),0.01,0.1,0.2,g)": [[0.9863, 1.9939, 2.98386], [0.19, 0.24, 0.55]],
    "ops.ApplyProximalGradientDescent()(p(1,2,3),0.01,0.1,0.2,g)": [[0.99401, 1.99701, 2.98802]],
    "ops.SGD(dampening=0.1,weight_decay=0.05)(p(1,2,3),g,t(.01)[0],p(.1,.2,.3),t(.9)[0],p(1,1,1))": [[0.9965, 2.001,
        2.9935]],
    "ops.SGD(dampening=0.1)(p(1,2,3),g,t(.01)[0],p(.1,.2,.3),t(.9)[0],p(0,0,0))": [[0.9964, 2.0, 2.9928]],
    "ops.SparseApplyAdagrad(lr=0.1)(m(),m(),G,i)": [[[-0.1, 0.98039], [2, 3], [3.98517, 4.98239]],
                                                    [[0.01, 1.04], [2, 3], [4.09, 5.16]]],
    "ops.SparseApplyFtrl(lr=0.1,l1=0.0,l2=0.02,lr_power=-0.5)(m(),m(),m(),G,i)": [[[-0.09615, -0.09787], [2, 3],
        [-0.16803, -0.15931]], [[0.01, 1.04], [2, 3], [4.09, 5.16]],
                                                                                  [[0.1, 1.00196], [2, 3],
                                                                                      [3.40501, 3.62524]]],
    "ops.InplaceIndexAdd(axis=0)(m(),i,G)": [[[0.1, 1.2], [2, 3], [4.3, 5.4]]],
    # by the formulas of the papers
    "ops.Adam()(p(1,2,3),p(.1,.2,.3),p(.4,.5,.6),0.9,0.999,0.01,0.9,0.999,1e-8,g)": [[0.9994, 1.99928, 2.99869],
        [0.12, 0.16, 0.32], [0.39969, 0.49954, 0.59965]],
    "ops.ApplyRMSProp()(p(1,2,3),p(.1,.2,.3),p(.4,.5,.6),0.01,g,0.9,0.5,1e-3)": [[0.79051, 1.75465, 2.69081]],
    "ops.ApplyCenteredRMSProp()(p(1,2,3),p(.1,.1,.1),p(.4,.5,.6),p(.1,.2,.3),g,0.01,0.9,0.5,0.05)": [[0.94528, 1.90283,
        2.84352]],
}


@pytest.mark.parametrize("expression", APPLIED)
def test_optimizer_primitive(expression):
    s = {"ops": ops, "np": np, "p": _p, "t": _t, "g": _t(.3, -.2, .5), "i": ms.Tensor(np.array([0, 2], np.int32)),
         "G": ms.Tensor(np.array([[.1, .2], [.3, .4]], np.float32)),
         "m": lambda: ms.Parameter(ms.Tensor(np.arange(6).reshape(3, 2).astype(np.float32)), name="m")}
    got = eval(expression, s)
    for x, want in pairs(got if isinstance(got, tuple) else (got,), APPLIED[expression]):
        np.testing.assert_allclose(x.asnumpy(), want, atol=1.1e-5)


def test_names_of_arguments():
    x, y = _t(1, -2.5, 3), _t(2, 2, 2)
    assert ops.add(input=x, other=y).asnumpy().tolist() == [3, -0.5, 5]
    assert ops.abs(input=x).asnumpy().tolist() == [1, 2.5, 3]
    assert ops.sqrt(x=y * 2).asnumpy().tolist() == [2, 2, 2]
    assert ops.pow(input=y, exponent=y).asnumpy().tolist() == [4, 4, 4]
    assert ops.select(condition=x > 0, input=x, other=y).asnumpy().tolist() == [1, 2, 3]
    assert ops.div(input=x, other=y, rounding_mode="floor").asnumpy().tolist() == [0, -2, 1]
    assert ops.div(x, y, rounding_mode="trunc").asnumpy().tolist() == [0, -1, 1]
    assert ops.div(ms.Tensor(7), ms.Tensor(2), rounding_mode="trunc").dtype == ms.int64
    assert ops.subtract(x, y, alpha=2).asnumpy().tolist() == [-3, -6.5, -1]
    assert ops.round(_t(1.234, -1.237), decimals=2).asnumpy().tolist() == [np.float32(1.23), np.float32(-1.24)]
    assert ops.true_divide(dividend=y, divisor=y).asnumpy().tolist() == [1, 1, 1]
    assert ops.stop_gradient(value=x).asnumpy().tolist() == [1, -2.5, 3]
    with pytest.raises(ValueError, match="rounding_mode"):
        ops.div(x, y, rounding_mode="up")
    with pytest.raises(TypeError, match="multiple values"):
        ops.abs(x, input=x)
    check(lambda: lambda x, y: ops.maximum(input=ops.div(x, y, rounding_mode="floor"), other=ops.round(x, decimals=1)),
          x, y, graphs=1, breaks=0)
    ms.ops.relu(x, inplace=True)
    assert x.asnumpy().tolist() == [1, 0, 3]


@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (2, 4, 4), (0, 0), (5, 0, 0)])
def test_det(shape):
    a = np.random.RandomState(3).randn(*shape)
    np.testing.assert_allclose(ops.det(ms.Tensor(a)).asnumpy(), np.linalg.det(a), rtol=1e-9)
    if a.size:
        got = ms.grad(lambda x: ops.det(x).sum())(ms.Tensor(a)).asnumpy()
        np.testing.assert_allclose(got, np.linalg.det(a)[..., None, None] * np.swapaxes(np.linalg.inv(a), -1, -2),
                                   rtol=1e-7)
    assert (ops.det(ms.Tensor(np.array([[0., 1], [1, 0]]))).item() == -1
            and ops.det(ms.Tensor(np.ones((2, 2)))).item() == 0)


def test_cell_hooks_with_keyword_arguments():
    class Scale(nn.Cell):
        def construct(self, x, factor=1.0):
            return x * factor
    net, order = Scale(), []
    h1 = net.register_forward_pre_hook(lambda cell, args, kwargs: (args, {"factor": kwargs["factor"] + 1}),
                                       with_kwargs=True)
    h2 = net.register_forward_hook(lambda cell, args, kwargs, out: order.append(kwargs["factor"]) or out + 1,
                                   with_kwargs=True)
    assert net(_t(1, 2), factor=2.0).asnumpy().tolist() == [4, 7] and order == [3.0]
    h1.remove(), h2.remove()
    h3 = net.register_backward_pre_hook(lambda cell, grad: order.append(grad[0].asnumpy().tolist()) or (grad[0] * 2,))
    h4 = net.register_backward_hook(lambda cell, grad_in, grad_out: order.append(grad_out[0].asnumpy().tolist()))
    assert ms.grad(lambda x: net(x, factor=3.0).sum())(_t(1, 2)).asnumpy().tolist() == [6, 6]
    assert order[1:] == [[1, 1], [2, 2]]
    h3.remove(), h4.remove()
    assert ms.grad(lambda x: net(x, factor=3.0).sum())(_t(1, 2)).asnumpy().tolist() == [3, 3]
    bad = net.register_forward_pre_hook(lambda cell, args, kwargs: args, with_kwargs=True)
    with pytest.raises(RuntimeError, match="with_kwargs"):
        net(_t(1))
    bad.remove()


def test_finite_range():
    for t in (ms.float16, ms.bfloat16, ms.float32, ms.float64):
        x = ops.nan_to_num(ms.Tensor([float("nan"), float("inf"), -float("inf"), 1.5]).astype(t))
        assert x.dtype == t and np.isfinite(x.astype(ms.float64).asnumpy()).all()
        assert x.astype(ms.float64).asnumpy()[1] == -x.astype(ms.float64).asnumpy()[2] > 6e4
    assert ops.nan_to_num(ms.Tensor([1, 2])).asnumpy().tolist() == [1, 2]


def test_tensor_methods():
    x = _t(1, 2, 4)
    assert x.inv().asnumpy().tolist() == [1, 0.5, 0.25]
    assert x.itemset(1, 9.0).asnumpy().tolist() == [1, 9, 4] and x.asnumpy().tolist() == [1, 2, 4]
    assert x.resize(5).asnumpy().tolist() == [1, 2, 4, 0, 0] and x.resize(2).asnumpy().tolist() == [1, 2]
    assert ops.zeros(3).scatter_(0, ms.Tensor([1]), _t(5)).asnumpy().tolist() == [0, 5, 0]
    u = ops.zeros((1000,)).uniform(2.0, 3.0).asnumpy()
    assert u.min() >= 2 and u.max() < 3
    m = ms.Tensor(np.arange(9.0).reshape(3, 3))
    assert m.trace(1).item() == 6 and m.diagonal(axis1=1, axis2=0).asnumpy().tolist() == [0, 4, 8] and m.stride(0) == 3


CTC = {"mean": 2.4162, "sum": 12.4834, "none": [8.4553, 4.0281]}  # MindSpore 2.7.1


def ctc_problem():
    r = np.random.RandomState(0)
    r.randn(2, 5, 2, 4)
    x = r.randn(6, 2, 4).astype(np.float32)
    ints = [ms.Tensor(np.array(v, np.int32)) for v in ([[1, 2, 2], [3, 1, 0]], [6, 5], [3, 2])]
    return x - np.log(np.exp(x).sum(-1, keepdims=True)), ints


def by_paths(logp, labels, blank=0):
    """-log of the sum over all paths that collapse to the labels."""
    import itertools
    steps, classes = logp.shape
    total = 0.0
    for path in itertools.product(range(classes), repeat=steps):
        collapsed = [k for k, _ in itertools.groupby(path) if k != blank]
        if collapsed == list(labels):
            total += np.exp(sum(logp[t, k] for t, k in enumerate(path)))
    return -np.log(total)


def test_ctc_loss():
    x, (targets, steps, lengths) = ctc_problem()
    for reduction, want in CTC.items():
        loss, table = ops.ctc_loss(ms.Tensor(x), targets, steps, lengths, 0, reduction)
        np.testing.assert_allclose(loss.asnumpy(), want, rtol=1e-4)
        assert table.shape == (2, 6, 7)
    np.testing.assert_allclose(nn.CTCLoss(reduction="none")(ms.Tensor(x), targets, steps, lengths).asnumpy(),
                               [by_paths(x[:6, 0], [1, 2, 2]), by_paths(x[:5, 1], [3, 1])], rtol=1e-5)
    # too short for its labels: no path
    short = ms.Tensor(np.array([2, 5], np.int32))
    assert ops.ctc_loss(ms.Tensor(x), targets, short, lengths, 0, "none")[0].asnumpy()[0] == np.inf
    loss = nn.CTCLoss(0, "none", True)
    assert loss(ms.Tensor(x), targets, short, lengths).asnumpy()[0] == 0
    assert np.isfinite(ms.grad(lambda x: loss(x, targets, short, lengths).sum())(ms.Tensor(x)).asnumpy()).all()
    # an empty target: blanks alone
    none = ms.Tensor(np.array([0, 2], np.int32))
    np.testing.assert_allclose(ops.ctc_loss(ms.Tensor(x), targets, steps, none, 0, "none")[0].asnumpy()[0],
                               -x[:, 0, 0].sum(), rtol=1e-5)
    check(lambda: lambda x, *i: ops.ctc_loss(x, *i)[0], ms.Tensor(x), targets, steps, lengths, graphs=1, breaks=0)
    with pytest.raises(ValueError, match="blank"):
        ops.ctc_loss(ms.Tensor(x), targets, steps, lengths, 4)


def test_ctc_gradient():
    x, (targets, steps, lengths) = ctc_problem()
    x = x.astype(np.float64)
    f = lambda z: ops.ctc_loss(ops.log_softmax(z, -1), targets, steps, lengths, 0, "sum")[0]  # noqa: E731
    got = ms.grad(f)(ms.Tensor(x)).asnumpy()
    for at in np.ndindex(6, 2, 4):
        up, down = x.copy(), x.copy()
        up[at] += 1e-6
        down[at] -= 1e-6
        assert abs(got[at] - (f(ms.Tensor(up)).item() - f(ms.Tensor(down)).item()) / 2e-6) < 1e-7


def test_more_initializers():
    from pijit.initializer import Dirac, Sparse, VarianceScaling, initializer
    d = initializer(Dirac(2), [4, 2, 3]).asnumpy()
    assert d.sum() == 4 and all(d[k, k % 2, 1] == 1 for k in range(4))
    assert initializer("dirac", [2, 2, 1, 3]).asnumpy()[1, 1, 0, 1] == 1
    s = initializer(Sparse(0.3, 0.02), [100, 50]).asnumpy()
    assert ((s == 0).sum(0) == 30).all() and 0.015 < s.std() < 0.019
    for mode, fan in (("fan_in", 100), ("fan_out", 200), ("fan_avg", 150)):
        for distribution in ("uniform", "truncated_normal", "untruncated_normal"):
            v = initializer(VarianceScaling(2.0, mode, distribution), [200, 100]).asnumpy()
            assert abs(v.std() / np.sqrt(2 / fan) - 1) < 0.04
    for bad in (lambda: Dirac(0), lambda: initializer(Dirac(3), [4, 2, 3]), lambda: initializer(Dirac(), [4, 2]),
                lambda: Sparse(2.0), lambda: initializer(Sparse(0.1), [2, 2, 2]),
                lambda: VarianceScaling(0.0), lambda: VarianceScaling(1.0, "x"),
                lambda: VarianceScaling(1.0, "fan_in", "x")):
        with pytest.raises(ValueError):
            bad()
