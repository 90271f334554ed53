"""Gradients by integers (and bools): MindSpore's values in the dtype of what is differentiated by, the same plainly,
jitted in both orders, through branches and loops, in GRAPH_MODE, by vjp, value_and_grad and jacrev. A cotangent passes
a cast to another dtype as the value did: the way back truncates."""

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, nn, ops

TYPES = {"I": ms.int32, "L": ms.int64, "F": ms.float32, "B": ms.bool_}
NAMES = {"ms": ms, "ops": ops, "np": np, "Tensor": Tensor,
         **{n: lambda *a, t=t: Tensor(np.array(a), t) for n, t in TYPES.items()}}

# (function of x, x, gradient as MindSpore 2.10 answers; None: it has no kernel). Where its gradient of a division is a
# float, ours is that in x's dtype.
FACTS = [
    ('(x * x).sum()', 'I(2, 3)', ['int32', [4, 6]]),
    ('x * x', 'I(2, 3)', ['int32', [4, 6]]),
    ('x * 2.5', 'I(2, 3)', ['int32', [2, 2]]),
    ('2.5 * x', 'I(2, 3)', ['int32', [2, 2]]),
    ('(x * 2.5).sum()', 'I(2, 3)', ['int32', [2, 2]]),
    ('x + x', 'I(2, 3)', ['int32', [2, 2]]),
    ('x + 1.5', 'I(2, 3)', ['int32', [1, 1]]),
    ('3 - x', 'I(2, 3)', ['int32', [-1, -1]]),
    ('x - 2 * x', 'I(2, 3)', ['int32', [-1, -1]]),
    ('-x', 'I(2, 3)', ['int32', [-1, -1]]),
    ('x / 2', 'I(2, 3)', ['float32', [0.5, 0.5]]),
    ('6 / x', 'I(2, 3)', ['float32', [-1.5, -0.6666667461395264]]),
    ('x / (x + 1)', 'I(2, 3)', ['int32', [0, 0]]),
    ('(x / 2).sum()', 'I(2, 3)', ['float32', [0.5, 0.5]]),
    ('x // 2', 'I(2, 3)', ['int32', [0, 0]]),
    ('x % 2', 'I(2, 3)', ['int32', [1, 1]]),
    ('x ** 2', 'I(2, 3)', ['int32', [4, 6]]),
    ('x ** 3', 'I(2, 3)', ['int32', [12, 27]]),
    ('x ** 2.5', 'I(2, 3)', ['int32', [7, 12]]),
    ('x ** 0.5', 'I(2, 3)', ['int32', [0, 0]]),
    ('2 ** x', 'I(2, 3)', None),
    ('2.0 ** x', 'I(2, 3)', ['int32', [2, 5]]),
    ('ops.pow(x, x)', 'I(2, 3)', None),
    ('x.sum()', 'I(2, 3)', ['int32', [1, 1]]),
    ('x.mean()', 'I(2, 3)', ['float32', [0.5, 0.5]]),
    ('ops.mean(x)', 'I(2, 3)', ['int32', [0, 0]]),
    ('x.max()', 'I(2, 3)', ['int32', [0, 1]]),
    ('x.min()', 'I(2, 3)', ['int32', [1, 0]]),
    ('ops.max(x)[0]', 'I(2, 3)', ['int32', [0, 1]]),
    ('ops.amax(x)', 'I(2, 3)', ['int32', [0, 1]]),
    ('x.prod()', 'I(2, 3)', ['int32', [3, 2]]),
    ('ops.prod(x)', 'I(2, 3)', ['int32', [3, 2]]),
    ('ops.matmul(x, x)', 'I([1, 2], [3, 4])', ['int32', [[7, 11], [9, 13]]]),
    ('ops.matmul(x.astype(ms.float32), x.astype(ms.float32)).sum()', 'I([1, 2], [3, 4])',
     ['int32', [[7, 11], [9, 13]]]),
    ('x.astype(ms.float32)', 'I(2, 3)', ['int32', [1, 1]]),
    ('x.astype(ms.float64)', 'I(2, 3)', ['int32', [1, 1]]),
    ('x.astype(ms.float16) * 2.5', 'I(2, 3)', ['int32', [2, 2]]),
    ('x.astype(ms.int64) * 3', 'I(2, 3)', ['int32', [3, 3]]),
    ('x.astype(ms.bool_).astype(ms.float32)', 'I(2, 3)', ['int32', [1, 1]]),
    ('(x.astype(ms.float32) * 2.7).astype(ms.int32) * 3', 'I(2, 3)', ['int32', [8, 8]]),
    ('(x * 2.5).astype(ms.int32).astype(ms.float32)', 'F(2, 3)', ['float32', [2.5, 2.5]]),
    ('(x * 2.5).astype(ms.int32) * 3', 'F(2, 3)', ['float32', [7.5, 7.5]]),
    ('x.astype(ms.bool_).astype(ms.float32) * 2.0', 'F(2, 3)', ['float32', [1.0, 1.0]]),
    ('x[0] * 3', 'I(2, 3)', ['int32', [3, 0]]),
    ('x[1:] * 3', 'I(2, 3)', ['int32', [0, 3]]),
    ('x[0] * 2.5', 'I(2, 3)', ['int32', [2, 0]]),
    ('x[x > 2] * 3', 'I(2, 3)', ['int32', [0, 3]]),
    ('ops.gather(x, I(0, 0, 1), 0) * 2', 'I(2, 3)', ['int32', [4, 2]]),
    ('ops.gather(F(1, 2, 3, 4), x, 0)', 'I(2, 3)', ['int32', [0, 0]]),
    ('F(1, 2, 3, 4)[x]', 'I(2, 3)', ['int32', [0, 0]]),
    ('ops.cat([x, x * 2])', 'I(2, 3)', ['int32', [3, 3]]),
    ('ops.stack([x, x])', 'I(2, 3)', ['int32', [2, 2]]),
    ('ops.cat([x.astype(ms.float32), F(1)]) * 2.5', 'I(2, 3)', ['int32', [2, 2]]),
    ('ops.where(x > 2, x, x * 5)', 'I(2, 3)', ['int32', [5, 1]]),
    ('ops.where(x > 2, x * 1.5, F(7, 7))', 'I(2, 3)', ['int32', [0, 1]]),
    ('ops.where(x > 2, x, 0)', 'I(2, 3)', ['int32', [0, 1]]),
    ('ops.select(x > 2, x, x * 5)', 'I(2, 3)', ['int32', [5, 1]]),
    ('ops.abs(x - 3)', 'I(2, 3)', ['int32', [-1, 0]]),
    ('ops.sign(x) * x', 'I(2, 3)', ['int32', [1, 1]]),
    ('ops.square(x)', 'I(2, 3)', ['int32', [4, 6]]),
    ('ops.maximum(x, I(3, 1))', 'I(2, 3)', ['int32', [0, 1]]),
    ('ops.minimum(x, I(3, 1))', 'I(2, 3)', ['int32', [1, 0]]),
    ('ops.clamp(x, 0, 2)', 'I(2, 3)', ['int32', [1, 0]]),
    ('ops.relu(x)', 'I(2, 3)', ['int32', [1, 1]]),
    ('ops.exp(x)', 'I(2, 3)', None),
    ('ops.sin(x)', 'I(2, 3)', None),
    ('ops.sqrt(x)', 'I(2, 3)', ['float32', [0.3535533845424652, 0.28867512941360474]]),
    ('ops.log(x)', 'I(2, 3)', None),
    ('ops.tanh(x)', 'I(2, 3)', None),
    ('ops.sigmoid(x.astype(ms.float32))', 'I(2, 3)', ['int32', [0, 0]]),
    ('ops.rsqrt(x)', 'I(2, 3)', None),
    ('ops.reciprocal(x)', 'I(2, 3)', ['float32', [-0.25, -0.111111119389534]]),
    ('ops.softmax(x.astype(ms.float32))', 'I(2, 3)', ['int32', [0, 0]]),
    ('ops.atan2(x, x)', 'I(2, 3)', None),
    ('ops.exp(x.astype(ms.float32))', 'I(2, 3)', ['int32', [7, 20]]),
    ('ops.erf(x.astype(ms.float32))', 'I(2, 3)', ['int32', [0, 0]]),
    ('x.reshape(2, 1) * 3', 'I(2, 3)', ['int32', [3, 3]]),
    ('x.transpose(1, 0) * 3', 'I([1, 2], [3, 4])', ['int32', [[3, 3], [3, 3]]]),
    ('ops.tile(x, (2,))', 'I(2, 3)', ['int32', [2, 2]]),
    ('ops.broadcast_to(x, (3, 2))', 'I(2, 3)', ['int32', [3, 3]]),
    ('ops.flip(x, (0,)) * x', 'I(2, 3)', ['int32', [6, 4]]),
    ('ops.cumsum(x, 0)', 'I(2, 3)', ['int32', [2, 1]]),
    ('ops.roll(x, 1, 0) * x', 'I(2, 3)', None),
    ('ops.pad(x, (1, 1)) * 2', 'I(2, 3)', ['int32', [2, 2]]),
    ('ops.sort(x)[0] * 3', 'I(2, 3)', ['int32', [3, 3]]),
    ('ops.topk(x, 1)[0] * 3', 'I(2, 3)', ['int32', [0, 3]]),
    ('ops.argmax(x) * x', 'I(2, 3)', ['int32', [1, 1]]),
    ('(x > 2) * x', 'I(2, 3)', ['int32', [0, 1]]),
    ('(x > 2).astype(ms.float32) * x', 'I(2, 3)', ['int32', [0, 1]]),
    ('ops.one_hot(x, 4, Tensor(1.0), Tensor(0.0))', 'I(2, 3)', ['int32', [0, 0]]),
    ('x & 1', 'I(2, 3)', ['int32', [0, 0]]),
    ('ops.bitwise_left_shift(x, 1)', 'I(2, 3)', None),
    ('ops.logical_not(x)', 'I(2, 3)', ['int32', [0, 0]]),
    ('ops.floor(x * 1.0)', 'I(2, 3)', ['int32', [0, 0]]),
    ('ops.ones_like(x) * x', 'I(2, 3)', ['int32', [1, 1]]),
    ('x * F(2, 3)', 'B(True, False)', ['bool', [True, True]]),
    ('ops.where(x, F(2, 3), F(5, 6))', 'B(True, False)', ['bool', [False, False]]),
    ('x.sum()', 'B(True, False)', ['bool', [True, True]]),
    ('x.astype(ms.int32) * 3', 'B(True, False)', ['bool', [True, True]]),
    ('x', 'B(True, False)', ['bool', [True, True]]),
    ('x', 'I(2, 3)', ['int32', [1, 1]]),
    ('I(5)', 'I(2, 3)', ['int32', [0, 0]]),
    ('ops.stop_gradient(x) * x', 'I(2, 3)', ['int32', [2, 3]]),
    ('(x * x).sum()', 'L(2, 3)', ['int64', [4, 6]]),
    ('(x * x).sum()', 'Tensor(np.array([100, 3]), ms.int8)', ['int8', [-56, 6]]),
    ('x * x', 'Tensor(np.array([200, 3]), ms.uint8)', ['uint8', [144, 6]]),
    ('x * -2.5', 'Tensor(np.array([200, 3]), ms.uint8)', ['uint8', [254, 254]]),
    ('x * x * x', 'Tensor(np.array([200, 3]), ms.int16)', ['int16', [-11072, 27]]),
    ('x * I(2, 3)', 'F(2, 3)', ['float32', [2.0, 3.0]]),
    ('ops.var(x.astype(ms.float32))', 'I(2, 3)', ['int32', [0, 0]]),
    ('x.astype(ms.float32).std()', 'I(2, 3)', ['int32', [0, 0]]),
    ('ops.norm(x.astype(ms.float32))', 'I(2, 3)', ['int32', [0, 0]]),
    ('ops.nansum(x)', 'I(2, 3)', ['int32', [1, 1]]),
    ('x.masked_fill(x > 2, 0) * 3', 'I(2, 3)', ['int32', [3, 0]]),
    ('ops.bmm(x.reshape(1, 2, 2).astype(ms.float32), x.reshape(1, 2, 2).astype(ms.float32))', 'I([1, 2], [3, 4])',
     ['int32', [[7, 11], [9, 13]]]),
    ('ops.tensor_dot(x.astype(ms.float32), x.astype(ms.float32), 1)', 'I([1, 2], [3, 4])',
     ['int32', [[7, 11], [9, 13]]]),
    ("ops.einsum('ij->j', x.astype(ms.float32))", 'I([1, 2], [3, 4])', None),
    ('ops.outer(x, x)', 'I(2, 3)', ['int32', [10, 10]]),
    ('ops.diff(x)', 'I(2, 3)', ['int32', [-1, 1]]),
    ('ops.lerp(x.astype(ms.float32), F(1, 1), 0.5)', 'I(2, 3)', ['int32', [0, 0]]),
    ('ops.tensor_scatter_elements(x, I(0), I(9), 0) * 3', 'I(2, 3)', ['int32', [0, 3]]),
    ('ops.split(x, 1)[1] * 3', 'I(2, 3)', ['int32', [0, 3]]),
    ('ops.unbind(x)[0] * 3', 'I(2, 3)', ['int32', [3, 0]]),
    ('ops.chunk(x, 2)[0] * 3', 'I(2, 3)', ['int32', [3, 0]]),
    ('x.expand_dims(0) * 3', 'I(2, 3)', ['int32', [3, 3]]),
    ('x.swapaxes(0, 1) * 3', 'I([1, 2], [3, 4])', ['int32', [[3, 3], [3, 3]]]),
    ('ops.triu(x) * 3', 'I([1, 2], [3, 4])', ['int32', [[3, 3], [0, 3]]]),
    ('ops.cumprod(x, 0)', 'I(2, 3)', ['int32', [4, 2]]),
    ('ops.logsumexp(x.astype(ms.float32), 0)', 'I(2, 3)', ['int32', [0, 0]]),
    ('ops.trace(x)', 'I([1, 2], [3, 4])', ['int32', [[1, 0], [0, 1]]]),
    ('ops.diag(x)', 'I(2, 3)', ['int32', [1, 1]]),
    ('x.repeat(2)', 'I(2, 3)', None),
    ('ops.round(x * 1.5)', 'I(2, 3)', ['int32', [0, 0]]),
    ('ops.trunc(x * 1.5)', 'I(2, 3)', ['int32', [0, 0]]),
    ('ops.addn([x, x])', 'I(2, 3)', ['int32', [2, 2]]),
    ('ops.addcmul(F(1, 1), x.astype(ms.float32), x.astype(ms.float32), 1.0)', 'I(2, 3)', ['int32', [4, 6]]),
    ('ops.fmod(x, 2)', 'I(2, 3)', ['int32', [1, 1]]),
    ('ops.xlogy(x, x)', 'I(2, 3)', None),
    ('ops.hypot(x.astype(ms.float32), F(1, 1))', 'I(2, 3)', ['int32', [0, 0]]),
    ('ops.floor(x)', 'I(2, 3)', None),
    ('x.max()', 'I(3, 3)', ['int32', [0, 0]]),
    ('x.max()', 'F(3, 3)', ['float32', [0.5, 0.5]]),
    ('ops.amax(x) * 4', 'I(3, 3)', ['int32', [2, 2]]),
    ('ops.max(x)[0] * 4', 'I(3, 3)', ['int32', [2, 2]]),
    ('ops.amin(x) * 5', 'I(3, 3, 3)', ['int32', [1, 1, 1]]),
    ('x.prod()', 'I(0, 3)', ['int32', [3, 0]]),
    ('x.prod()', 'I(0, 0)', ['int32', [0, 0]]),
    ('ops.prod(x, 0)', 'I([1, 2], [3, 4])', ['int32', [[3, 4], [1, 2]]]),
    ('x.max(axis=0) * 2', 'I([1, 2], [3, 4])', ['int32', [[0, 0], [2, 2]]]),
    ('I(7, 8) % x', 'I(2, 3)', ['int32', [-3, -2]]),
    ('ops.fmod(I(7, 8), x)', 'I(2, 3)', ['int32', [-3, -2]]),
    ('I(-7, 8) % x', 'I(2, 3)', ['int32', [4, -2]]),
    ('x ** 0', 'I(2, 3)', ['int32', [0, 0]]),
    ('x ** 1', 'I(2, 3)', ['int32', [1, 1]]),
    ('x ** 2', 'I(0, -3)', ['int32', [0, -6]]),
    ('ops.cumsum(x, 0) * 2', 'I([1, 2], [3, 4])', ['int32', [[4, 4], [2, 2]]]),
    ('x.astype(ms.float32).mean()', 'I(2, 3)', ['int32', [0, 0]]),
    ('(x > 2).sum() * x', 'I(2, 3)', ['int32', [1, 1]]),
    ('x.reshape(2, 1).broadcast_to((2, 3)).astype(ms.int32)', 'B(True, False)', ['bool', [True, True]]),
    ('ops.log_softmax(x.astype(ms.float32))', 'I(2, 3)', ['int32', [0, 0]]),
    ('ops.abs(x)', 'I(-2, 3)', ['int32', [-1, 1]]),
    ('ops.cummax(x, 0)[0] * 3', 'I(2, 3)', None),
    ('x.clip(0, 2) * 3', 'I(2, 3)', ['int32', [3, 0]]),
    ('ops.gather_elements(x, 0, L(1, 0)) * 3', 'I(2, 3)', ['int32', [3, 3]]),
    ('ops.tensor_scatter_add(x, I(0).reshape(1, 1), I(9)) * 3', 'I(2, 3)', ['int32', [3, 3]]),
    ('x * x * 0.5', 'I(2, 3)', ['int32', [0, 0]]),
    ('((x * 2.5).astype(ms.int32) * 3).astype(ms.float32) * 0.4', 'I(2, 3)', ['int32', [0, 0]]),
    ('x * Tensor(2.7, ms.float64)', 'I(2, 3)', ['int32', [2, 2]]),
    ('x * Tensor(2.7, ms.float16)', 'I(2, 3)', ['int32', [2, 2]]),
    ('x * 2.5 + x * 3', 'I(2, 3)', ['int32', [5, 5]]),
    ('(x * 2.5).sum() + (x * x).sum()', 'I(2, 3)', ['int32', [6, 8]]),
    ('x * 0.6 + x * 0.6', 'I(2, 3)', ['int32', [0, 0]]),
]


def shown(r):
    return [shown(v) for v in r] if isinstance(r, (tuple, list)) else [str(r.dtype).lower(), r.asnumpy().tolist()]


def outcome(f):
    try:
        return shown(f())
    except (TypeError, ValueError, RuntimeError) as e:
        return type(e).__name__


def ways(f, make):
    """Names and calls, each of which gives the gradient."""
    def branch(x):
        return f(x) if x.sum() > -10000 else f(x) * 1

    def loop(x):
        k = ops.zeros((), dtype=ms.int32)
        y = x
        while k < x.sum() * 0 + 1:
            y = y + x * 0
            k = k + 1
        return f(y)

    class Net(nn.Cell):
        def construct(self, x):
            return f(x)

    def by_vjp(g):
        value, pull = ops.vjp(g, make())
        return pull(tuple(ops.ones_like(v) for v in value) if isinstance(value, tuple) else ops.ones_like(value))[0]

    def graph_mode(g):
        before = ms.get_context("mode")
        ms.set_context(mode=ms.GRAPH_MODE)
        try:
            return g()
        finally:
            ms.set_context(mode=before)
    return {
        "grad": lambda: ms.grad(f)(make()), "value_and_grad": lambda: ms.value_and_grad(f)(make())[1],
        "grad(jit)": lambda: ms.grad(ms.jit(f))(make()),
        "jit(grad)": lambda: ms.jit(ms.grad(f))(make()),
        "jit(grad) of a branch": lambda: ms.jit(ms.grad(branch))(make()),
        "grad(jit) of a branch": lambda: ms.grad(ms.jit(branch))(make()), "vjp": lambda: by_vjp(f),
        "vjp(jit)": lambda: by_vjp(ms.jit(f)),
        "GRAPH_MODE": lambda: graph_mode(lambda: ms.grad(Net())(make())),
        "a loop": None if make().dtype == ms.bool_ else lambda: ms.grad(loop)(make()),
        "jit(grad) of a loop": None if make().dtype == ms.bool_ else lambda: ms.jit(ms.grad(loop))(make()),
        "grad(jit) of a loop": None if make().dtype == ms.bool_ else lambda: ms.grad(ms.jit(loop))(make()),
    }


@pytest.mark.parametrize(("text", "x", "fact"), FACTS, ids=[f"{f}-{x}" for f, x, _ in FACTS])
def test_gradients(text, x, fact):
    f, make = eval(f"lambda x: {text}", NAMES), eval(f"lambda: {x}", NAMES)
    results = {name: outcome(way) for name, way in ways(f, make).items() if way}
    first = results["grad"]
    loops = {k: v for k, v in results.items() if "loop" in k}
    assert all(v == first for k, v in results.items() if k not in loops), results
    assert len({str(v) for v in loops.values()}) <= 1, results
    if fact is None:
        return
    assert isinstance(first, list) and first[0] == str(make().dtype).lower(), first
    expected = np.trunc(fact[1]) if "float" in fact[0] and "float" not in first[0] else np.array(fact[1])
    np.testing.assert_allclose(np.array(first[1], np.float64), expected.astype(np.float64), rtol=1e-4)


def test_item_assignment():
    def f(x):
        y = x * 2
        y[0] = 7
        return y * x
    for name, way in ways(f, lambda: NAMES["I"](2, 3)).items():
        if "loop" not in name:
            assert shown(way()) == ["int32", [7, 12]], name


def test_several_arguments():
    i, l, f = NAMES["I"](2, 3), NAMES["L"](4, 5), NAMES["F"](1.5, 2.5)
    for use in (lambda g: g, ms.jit):
        assert shown(use(ms.grad(lambda a, b: a * b, (0, 1)))(i, f)) == [["int32", [1, 2]], ["float32", [2.0, 3.0]]]
        assert shown(ms.grad(use(lambda a, b: a * b), (0, 1))(i, l)) == [["int32", [4, 5]], ["int64", [2, 3]]]
        assert shown(use(ms.grad(ms.grad(lambda x: x * x * x)))(i)) == ["int32", [12, 18]]
        assert (shown(use(ops.GradOperation(sens_param=True)(lambda x: x * 2.5))(i, NAMES["F"](1, 2))) ==
                ["int32", [2, 5]])
        assert shown(use(ms.jacrev(lambda x: x * 2.5))(i)) == ["int32", [[2, 0], [0, 2]]]
        assert shown(ms.jacrev(use(lambda x: x * 2.5))(i)) == ["int32", [[2, 0], [0, 2]]]
    with pytest.raises(TypeError):
        ms.jacfwd(lambda x: x * 2.5)(i)


def test_parameters_of_integers():
    p = ms.Parameter(NAMES["I"](2, 3), name="p")
    for f in (lambda x: (p * x).sum(), ms.jit(lambda x: (p * x).sum())):
        assert shown(ms.grad(f, None, p)(NAMES["F"](1.5, 2.5))) == ["int32", [1, 2]]


def test_a_branch_that_one_arm_uses_an_integer_in():
    def f(x, i):
        return x * i if x.sum() > 0 else x * 2.0

    for x in (NAMES["F"](1.0, 2.0), NAMES["F"](-1.0, -2.0)):
        expected = shown(ms.grad(f, (0, 1))(x, NAMES["I"](2, 3)))
        assert shown(ms.jit(ms.grad(f, (0, 1)))(x, NAMES["I"](2, 3))) == expected
        assert shown(ms.grad(ms.jit(f), (0, 1))(x, NAMES["I"](2, 3))) == expected


def test_counters_and_places_stay_out_of_gradients():
    """What no gradient passes is not differentiated by: loops with counters and indices remain one graph."""
    def f(x):
        k, best = ops.zeros((), dtype=ms.int32), ops.zeros((), dtype=ms.int64)
        while x.sum() < 100:
            best = ops.argmax(x)
            k = k + 1
            x = x * 2 + x[best] + (x > 3).astype(ms.int32)
        return x * k

    x = NAMES["F"](1.0, 2.0)
    g = ms.jit(ms.grad(f))
    assert shown(g(x)) == shown(ms.grad(f)(x)) == shown(ms.grad(ms.jit(f))(x))
    assert not ms.explain(g).breaks


def test_jacobians_of_captured_functions():
    x = NAMES["F"](2.0, 3.0)
    for f in (lambda x: x * x, lambda x: ops.sin(x) * x.sum(), lambda x: ops.stack([x, x * x])):
        expected = shown(ms.jacrev(f)(x))
        for g in (ms.jacrev(ms.jit(f)), ms.jit(ms.jacrev(f)), ms.jit(ms.jacrev(ms.jit(f)))):
            assert shown(g(x)) == shown(g(x)) == expected
        np.testing.assert_allclose(ms.jacfwd(ms.jit(f))(x).asnumpy(), np.array(expected[1]), rtol=1e-5)
    h = ms.jacfwd(ms.jacrev(ms.jit(lambda x: (x * x * x).sum())))
    np.testing.assert_allclose(h(x).asnumpy(), np.diag([12.0, 18.0]), rtol=1e-5)
