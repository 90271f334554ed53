"""Sizes and numbers that change between calls: one compiled version serves them all."""

import contextlib
import io
import math
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pijit as ms
from pijit import Tensor, nn, ops
from tests.python.differential import check_calls, freeze

RNG = np.random.default_rng(5)


def batch(n, width=6):
    return Tensor(RNG.standard_normal((n, width)).astype(np.float32))


GRAD = ms.grad(lambda v: (v * v).mean())
LOSS = nn.MSELoss()
CONV = nn.Conv2d(1, 1, 3, stride=2)
FLATTEN = nn.Flatten()
SIZES = [4, 7, 1, 12, 5, 4, 9, 2, 3, 30]


@pytest.mark.parametrize("fn", [
    lambda x: x * 2 + 1,
    lambda x: x.mean() + x.sum(0) - x.max(),
    lambda x: x.reshape(x.shape[0], 2, 3).transpose(1, 0, 2).flatten(),
    lambda x: x.reshape(-1, 3) / x.shape[0],
    lambda x: x / len(x) + x.size,
    lambda x: x[: x.shape[0] // 2],
    lambda x: x[x.shape[0] - 1],
    lambda x: (x.shape, x.shape[0] * 2 + 1, x.shape[0] / 4, x.size % 5),
    lambda x: ops.softmax(x) @ x.T,
    lambda x: ops.zeros((x.shape[0], 2)) + x[:, :2],
    lambda x: ops.concat([x, x], 0).reshape(2 * x.shape[0], -1)[::2],
    lambda x: ops.broadcast_to(x.sum(0), x.shape) * x,
    lambda x: GRAD(x),
    lambda x: ops.one_hot(x.argmax(1), x.shape[1]),
    lambda x: ops.arange(x.shape[0]) * 2,
    lambda x: x + (1 if x.shape[1] == 6 else 2),
    lambda x: x / math.sqrt(x.shape[1]),
    lambda x: [x[:, i] for i in range(x.shape[1])],
    lambda x: x.std() + x.var(1).sum() + ops.norm(x),
    lambda x: ops.tile(x, (2, 1)) + x.sum(),
    lambda x: LOSS(x, x * 2),
    lambda x: ops.flatten(x.reshape(-1, 2, 3)) * 2,
    lambda x: FLATTEN(x.reshape(-1, 2, 3)) * 2,
    lambda x: x.reshape(-1, 2, 3).flatten(start_dim=1) * 2,
    lambda x: x * 2 if 0 in x.shape[:1] + x.shape[1:] else x * 3,
    lambda x: x * 2 if x.shape[0] not in (0, 40) else x * 3,
    lambda x: x * 2 if x.shape[0] in [0, None, "a", 40.0] else x * 3,
    lambda x: x * 2 if x.shape[0] == "same" or x.shape[0] != None else x * 3,  # noqa: E711
    lambda x: x * 2 if 0.5 in [x.shape[0], len(x) + 1] else x * 3,
])
def test_one_version_for_all_sizes(fn):
    check_calls(lambda: (lambda x: fn(x)), [(batch(n),) for n in SIZES], captures=2, breaks=0)


@pytest.mark.parametrize("fn", [
    lambda x: x * 2 if x.shape[0] in (9.0, 40) else x - 1,
    lambda x: x * 2 if 5 not in [len(x), x.shape[0] - 1] else x - 1,
    lambda x: x * 2 if (len(x), 6) in [(4, 6), x.shape[1:]] else x - 1,
    lambda x: x * 2 if None in [len(x), None] and 30 in (x.shape[0], None) else x - 1,
    lambda x: x * 2 if x.shape[0] > 4 else x - 1,
    lambda x: x * (x.shape[0] % 2),
    lambda x: x + len(x) if len(x) % 2 else x,
])
def test_a_branch_on_a_size_is_a_version_of_its_own(fn):
    e = check_calls(lambda: (lambda x: fn(x)), [(batch(n),) for n in SIZES], breaks=0)
    assert e.compile_count <= 3


@pytest.mark.parametrize("fn", [
    lambda x: sum(x[i] for i in range(x.shape[0])) if False else [x[i] for i in range(x.shape[0])],
    lambda x: [row.sum() for row in x],
    lambda x: f"{x.shape[0]} rows",
])
def test_what_needs_the_size_itself_is_right(fn):
    check_calls(lambda: (lambda x: fn(x)), [(batch(n),) for n in SIZES])


def test_shapes_that_no_longer_fit_raise():
    def add(x, y):
        return x + y
    check_calls(lambda: add,
                [(batch(4), batch(4)), (batch(5), batch(5)), (batch(4), batch(5)), (batch(1), batch(5)),
                 (batch(6), batch(6))])


def test_train_step_with_thirty_batch_sizes_compiles_twice():
    def make():
        ms.set_seed(1)
        net = nn.SequentialCell(nn.Dense(6, 16), nn.ReLU(), nn.Dropout(p=0.2), nn.Dense(16, 3))
        loss_fn = nn.CrossEntropyLoss()
        opt = nn.Adam(net.trainable_params(), 0.01)
        grad_fn = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, opt.parameters)

        def step(x, y):
            loss, grads = grad_fn(x, y)
            opt(grads)
            return loss
        return step, lambda: [p.asnumpy() for p in net.trainable_params()]
    calls = [(batch(n), Tensor(RNG.integers(0, 3, n).astype(np.int32))) for n in range(1, 31)]
    check_calls(make, calls, captures=2, graphs=2, breaks=0)


@pytest.mark.parametrize("fn", [
    lambda x, k: x * k,
    lambda x, k: x + (k + 1) * 2 - k,
    lambda x, k: (x / k, k, k * 2),
    lambda x, k: x ** k,
    lambda x, k: (x > k).astype("float32") * -k,
    lambda x, k: k * 3 // 2 if isinstance(k, int) else k / 2,
    lambda x, k: x * (k if k > 0 else 0),
    lambda x, k: ops.clip(x, -k, k),
    lambda x, k: Tensor(k) + x,
    lambda x, k: x * (k * x.shape[0]),
    lambda x, k: [k, {"k": k + 1}, (k - 1, x)],
    lambda x, k: x if k else -x,
])
@pytest.mark.parametrize("numbers", [
    [0.5, 0.25, 1.5, 2.25, 7.125, 1e-3, 3.3], [3, 5, 2, 11, 700, 4, 6, 2**31 - 1, 2**40, -2**63, 2**70],
    [2, 0.5, 3, 0.25, 5, 0.75]])
def test_numbers_that_change(fn, numbers):
    e = check_calls(lambda: (lambda x, k: fn(x, k)), [(batch(3), k) for k in numbers])
    assert e.compile_count <= 6


def test_a_changing_number_compiles_twice():
    check_calls(lambda: (lambda x, lr: x - lr * (x * x)), [(batch(3), 0.1 * k) for k in range(30)], captures=2,
                graphs=2, breaks=0)


def test_a_number_that_code_left_to_python_depends_on():
    """It is fixed where the call is followed, but not where CPython makes the call after all."""
    def left_to_python(x, n):
        np.array([n, 0])
        hash(x)

    def f(x, n):
        y = x * 2
        left_to_python(x, n)
        return y + 1

    x = batch(3)
    assert check_calls(lambda: f, [(x, n) for n in range(12)]).compile_count <= 4


def test_seeds_that_change():
    def f(x, n):
        ms.set_seed(n)
        return ops.dropout(x, 0.5)

    x = batch(3)
    assert check_calls(lambda: f, [(x, n) for n in range(12)]).compile_count <= 5


def test_specials():
    check_calls(lambda: (lambda x, k: (x * k, k + 0.0, -k)),
                [(batch(2), k) for k in (0.0, -0.0, math.inf, -math.inf, math.nan, 1e308, 5e-324)])


def test_bool_is_not_a_number_that_varies():
    check_calls(lambda: (lambda x, k: x * k), [(batch(2), k) for k in (True, False, 1, 0, 2, True)])


def test_counters():
    def make():
        class Net(nn.Cell):
            def __init__(self):
                super().__init__()
                self.step = 0

            def construct(self, x):
                self.step += 1
                return x * self.step
        net = Net()
        return (lambda x: net(x)), lambda: net.step
    e = check_calls(make, [(batch(2),)] * 20, breaks=0)
    assert e.compile_count <= 3


TOTAL = 0


def test_global_counter_and_closure():
    def make():
        global TOTAL
        TOTAL = 0
        seen = 0.5

        def f(x):
            global TOTAL
            nonlocal seen
            TOTAL += 2
            seen = seen * 1.5
            return x + TOTAL * seen
        return f, lambda: TOTAL
    e = check_calls(make, [(batch(2),)] * 20, breaks=0)
    assert e.compile_count <= 3


def test_division_by_a_number_that_becomes_zero():
    check_calls(lambda: (lambda x, k: x * (1 / k)), [(batch(2), k) for k in (2.0, 3.0, 4.0, 0.0, 5.0)])
    check_calls(lambda: (lambda x, k: x * (7 % k) + 7 // k), [(batch(2), k) for k in (2, 3, 4, 0, 5)])


def test_explain_names_the_sizes():
    f = ms.jit(lambda x, k: x * k)
    for n in (2, 3, 4):
        f(batch(n), 0.5 * n)
    text = str(ms.explain(f))
    assert "x.shape[1] == 6" in text and "type(k) is float" in text and "2 sizes" in text


def test_explain_shows_symbols():
    @ms.jit
    def f(x, y, w):
        h = ops.relu(x @ w) + y[:, :1]
        return h.reshape(-1), ops.concat((x, x, w.T)), h.reshape(x.shape[0] * 2, -1), x.mean()
    for n in (5, 9, 12):
        f(batch(n, 8), batch(n, 3), batch(8, 6))
    text = ms.explain(f).graphs[0]
    for part in ("%0: f32[s0,8]", "f32[s0,6] = matmul", "end=(s0,1)", "f32[6*s0] = reshape", "f32[2*s0+6,8] = concat",
                 "shape=(2*s0,-1)", "# s0 = x.shape[0] = y.shape[0]\n"):
        assert part in text, text
    conv, narrow, pool = (nn.Conv2d(1, 4, 3, stride=2), nn.Conv2d(4, 4, 3, stride=2, pad_mode="valid"),
                          nn.MaxPool2d(2, 2))

    @ms.jit
    def g(x):
        flat = x.reshape(x.shape[2], -1)
        return narrow(conv(x)), pool(x), x.reshape(x.shape[0], -1), flat @ flat.T
    for n, size in ((3, 20), (5, 22), (6, 27), (9, 33)):
        g(Tensor(np.ones((n, 1, size, size), np.float32)))
    text = ms.explain(g).graphs[0]
    # height and width are free of each other
    for part in ("f32[s0,1,s1,s2]", "f32[s0,4,(s1+1)//2,(s2+1)//2] = conv2d", "f32[s0,4,(s1+3)//4-1,(s2+3)//4-1]",
                 "f32[s0,1,s1//2,s2//2] = max_pool2d", "f32[s1,s0*s2] = reshape",
                 "# s1 = x.shape[2]\n# s2 = x.shape[3]\n"):
        assert part in text, text
    assert ms.explain(g).compile_count == 2


def test_explain_keeps_numbers_where_only_some_sizes_are_served():
    @ms.jit
    def f(x):
        return x * 2 if x.shape[0] > 10 else x + x.shape[0]
    for n in (11, 12, 13, 3, 4):
        f(batch(n))
    assert any("f32[s0,6] = mul" in g for g in ms.explain(f).graphs)


def test_input_signature():
    import types
    spec = types.SimpleNamespace(dtype=ms.float32, shape=(None, 6))

    @ms.jit(input_signature=(spec, Tensor(np.ones(6, np.float32))))
    def f(x, y, k=2):
        return x * y + k
    for n in (3, 4, 9):
        assert np.array_equal(f(batch(n), Tensor(np.ones(6, np.float32))).shape, (n, 6))
    assert ms.explain(f).compile_count == 1
    with pytest.raises(TypeError, match="'x' must be float32"):
        f(Tensor(np.ones((2, 6))), Tensor(np.ones(6, np.float32)))
    with pytest.raises(TypeError, match="must be a Tensor"):
        f(3.0, Tensor(np.ones(6, np.float32)))
    with pytest.raises(ValueError, match="'x' has shape"):
        f(batch(2, 5), Tensor(np.ones(6, np.float32)))
    with pytest.raises(ValueError, match="'y' has shape"):
        f(batch(2), Tensor(np.ones(5, np.float32)))
    with pytest.raises(TypeError, match="must hold Tensors"):
        ms.jit(lambda x: x, input_signature=3)
    with pytest.raises(ValueError, match="describes 2 arguments of 1"):
        ms.jit(lambda x: x, input_signature=(spec, spec))


# Generated functions of an array whose sizes vary, all of them with every call.
STEPS = [
    "x = x[: x.shape[0] // {a} + {b}]", "x = x[{b}:]", "x = x[:, ::{a}]", "x = x[-{a}:]", "x = ops.flip(x, (0,))",
    "x = x[x.shape[0] - 1:]", "x = x[: , : x.shape[1] - {b}]", "x = x.reshape(-1).reshape(x.shape)",
    "x = x.reshape(x.shape[1], -1)",
    "x = x.reshape(-1, {a})", "x = ops.concat((x, x[:{a}]))", "x = ops.concat((x, x), 1)", "x = ops.tile(x, ({a}, 1))",
    "x = x / x.shape[{z}]",
    "x = x * (x.shape[0] % {a})", "x = x + x.shape[0] / x.shape[1]", "x = x + x.sum({z}, keepdim=True)",
    "x = x - x.mean()", "x = ops.softmax(x) @ x.T",
    "x = x.T", "if x.shape[{z}] > {a}: x = x + 1", "if x.shape[0] == x.shape[1]: x = x * x.T",
    "y.append(x.shape[{z}] * {a} - {b})", "y.append(x.size // {a})",
    "x = x[:, None, :].sum({z})", "x = x[x.shape[0] // 2] + x", "x = x.var(0) + x",
    "x = ops.zeros((x.shape[0], {a})) + x[:, :1]", "x = pool(x[None, None])[0, 0]",
    "x = conv(x[None, None])[0, 0]", "x = x * ops.arange(x.shape[1])", "x[: x.shape[0] // {a}] = {b}",
    "x = ops.pad(x, ({b}, 1, 0, {a}))", "x = x[(x.shape[0] + {b}) % x.shape[0]][None]",
    "x = ops.broadcast_to(x[:1], x.shape)",
    "x = ops.layer_norm(x, x.shape[1:], ops.ones(x.shape[1:]), ops.zeros(x.shape[1:]))", "x = gradient(x)",
    "x = ops.stack((x, x), {z}).sum({z})",
    "id(y)", "print(x.shape, len(y))", "x = x if x.sum() > 0 else x.shape[0] - x", "while x.sum() > 50: x = x / 2",
    "x = x.max(axis={z}, keepdims=True) - x", "x = x[:, [0, -1]]", "x = ops.cumsum(x, {z})",
    "x = helper(x, x.shape[{z}])", "x = ops.gather(x, ops.arange(x.shape[0]) % {a}, 0)",
    "try: x = x.reshape({a}, -1)\n    except ValueError: y.append('misfit')",
    "x = ops.where(x > 0, x, x.shape[{z}])", "for i in range({a}): x = x + x[i % x.shape[0]]",
    "y.append(len(x) and x.shape[0] > x.shape[1])",
]


@settings(max_examples=int(os.environ.get("PIJIT_FUZZ", 60)))
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(1, 3), st.integers(0, 2), st.integers(0, 1)), min_size=1,
                max_size=6),
       st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=3, max_size=8))
def test_generated_functions_of_sizes(steps, sizes):
    check_calls(lambda: of_steps(steps), [(batch(n, w),) for n, w in sizes])


def of_steps(steps):
    source = ("def f(x):\n    y = []\n" + "".join("    " + s.format(a=a, b=b, z=z) + "\n" for s, a, b, z in steps) +
              "    return x, y\n")
    scope = {"ops": ops, "pool": nn.AvgPool2d(2, 1, pad_mode="same"), "conv": CONV,
             "gradient": ms.grad(lambda v: (v * v).mean() + ops.tanh(v).sum(1).max()), "helper": helper}
    exec(source, scope)
    return scope["f"]


@ms.jit
def helper(x, n):
    return x * n + x.shape[0] if n % 2 else x[: n - n // 3]


def outcome(fn, *args):
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            return freeze(fn(*args))
        except Exception as e:
            return type(e).__name__, str(e)


@settings(max_examples=int(os.environ.get("PIJIT_FUZZ", 30)))
@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(1, 3), st.integers(0, 2), st.integers(0, 1)), min_size=1,
                max_size=5),
       st.lists(st.tuples(st.integers(1, 7), st.integers(1, 7)), min_size=3, max_size=6))
def test_gradients_of_regions_of_any_size(steps, sizes):
    """A jitted function under an eager tape: its regions are differentiated per size."""
    plain, jitted = of_steps(steps), ms.jit(of_steps(steps))
    for n, w in sizes:
        x = batch(n, w)
        want, got = [outcome(ms.grad(lambda v, f=f: f(v)[0].sum()), x) for f in (plain, jitted)]
        assert want == got, str(ms.explain(jitted))


@pytest.mark.parametrize("number", [-2**63, 2**63 - 1, 2**62, -2**62, 2**70, -1, 0])
def test_sizes_beside_extreme_numbers(number):
    def rows(n):
        return Tensor(np.ones((n, 3), np.float32))
    for op in ("//", "%", "*", "+", "-", "/"):
        for text in (f"x.shape[0] {op} k", f"k {op} x.shape[0]", f"(x.shape[0] * x.shape[0]) {op} k {op} x.shape[0]"):
            check_calls(lambda text=text: eval(f"lambda x: ({text}, x * 2)", {"k": number}),
                        [(rows(n),) for n in (3, 4, 5, 0, 1)])
    for bounds in ((number, None, None), (None, number, None), (None, None, number)):
        check_calls(lambda bounds=bounds: (lambda x: x[slice(*bounds)].shape), [(rows(n),) for n in (3, 4, 5, 0, 1)])


def test_sizes_that_no_memory_holds_raise_as_in_the_plain_run():
    def f(x):
        return (ops.broadcast_to(x, (2**31, 2**31, x.shape[0])) * 2).sum()
    check_calls(lambda: f, [(Tensor(np.ones(n, np.float32)),) for n in (3, 4, 5, 1)])


def test_texts_of_errors_name_numbers():
    def f(x):
        y = x * 2
        try:
            return ops.cat([y, y[0]], 0)
        except Exception as e:
            return y, str(e)
    check_calls(lambda: f, [(Tensor(np.ones((n, 4), np.float32)),) for n in (3, 5, 2, 7, 3)])


STARTS = [0, 4, 8, 12, 16, 20, 24, 28]


@pytest.mark.parametrize("fn, captures", [
    (lambda x, i: (x[i:i + 4] * 2).sum(), 2),
    (lambda x, i: (x[i:i + 5] * 2).sum(), 3),  # the last one is shorter
    (lambda x, i: x[i] * 2, 2),
    (lambda x, i: x[i + 1, 1:] * 2, 2),
    (lambda x, i: x[..., i // 8].sum() + x[i, None] + x[i // 2:i // 2 + 3, 0:2].sum(), 2),
    (lambda x, i: x[i - 16] + x[:, i % 3].sum(), 3),  # before 16, it counts from the end
    (lambda x, i: x[i // 4 * 2:i // 4 * 2 + 2, i % 3] * 2, 2),
    (lambda x, i: ms.grad(lambda v: (v[i:i + 3] * v[i]).sum())(x), 2),
    (lambda x, i: ms.vmap(lambda v: v[i // 16:i // 16 + 2])(x), 2)])
def test_one_capture_serves_all_starts(fn, captures):
    x = batch(32)
    check_calls(lambda: fn, [(x, i) for i in STARTS + STARTS[:3]], breaks=0, captures=captures)


def test_items_are_set_at_varying_places():
    def make():
        def f(x, i):
            y = x * 1
            y[i:i + 3, 1] = x[i, 0]
            y[i + 1] = 7
            part = y[i:i + 2]
            part[0] = -1.0
            y[:, i % 3] += 1
            return y, part
        return f
    x = batch(32)
    check_calls(make, [(x, i) for i in STARTS], breaks=0)


def test_slices_that_are_passed_in():
    x = batch(32)
    check_calls(lambda: lambda x, s: x[s] * 2, [(x, slice(i, i + 4)) for i in STARTS], breaks=0, captures=2)


def test_places_out_of_the_axis():
    def f(x, i):
        return x[i:i + 4] * 2, x[i]
    x = batch(10)
    check_calls(lambda: f, [(x, i) for i in (0, 4, 8, 9, 10, -1, -12, 3, 12, 2**40, 1)])


def test_identity_of_what_varies():
    """A string or number that varies may be the very object it is compared with."""
    none_given = "==none=="

    def make():
        log = []

        def f(x, name, number, limit):
            if name is not none_given:
                log.append(name)
            if number is limit:
                x = x + 100
            return x * number, name is number, type(name) is str

        return f, lambda: log

    names = ["a", none_given, "b", "c", "d", none_given, "e", none_given]
    numbers = [1000 + k for k in range(len(names))]
    check_calls(make, [(batch(3), n, k, k if i % 2 else k + 1) for i, (n, k) in enumerate(zip(names, numbers))])
