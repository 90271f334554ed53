"""Branches and loops on a tensor's value: regions of one graph, with the plain run's results, objects and effects."""

import numpy as np
import pytest

import pijit as ms
from pijit import Parameter, Tensor, nn, ops
from tests.python.differential import check, check_calls

UP = Tensor(np.linspace(0.5, 2, 6, dtype=np.float32).reshape(2, 3))
DOWN = Tensor(np.linspace(-2, -0.5, 6, dtype=np.float32).reshape(2, 3))
ZERO = Tensor(np.zeros((2, 3), np.float32))
CALLS = [(UP,), (DOWN,), (ZERO,), (UP,)]


def if_else(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y


def if_alone(x):
    if x.mean() < 0:
        x = -x
    return x


def early_return(x):
    if x.sum() > 0:
        return x
    y = ops.exp(x)
    if y.sum() > 3:
        return y * 2
    return y


def ternary(x):
    return (x * 2 if x.sum() > 0 else x) + (1 if x.max() > 1 else 2)


def chained(x):
    if x.sum() > 3:
        y = x * 2
    elif x.sum() > 0:
        y = x
    elif x.sum() < -3:
        y = x * 3
    else:
        y = ops.tanh(x)
    return y, x


def conditions(x):
    if x.sum() > 0 and x.max() > 1 or x.min() < -1:
        return x + 1
    return x - 1


def negated(x):
    if not (x > 0).all():
        x = x + 10
    return x


def truth_of_numbers(x):
    s = x.sum()
    if s:
        return x * s
    return x + 1


def several(x):
    a, b, n = x, x, 0
    if x.sum() > 0:
        a, n = a + 1, 1
        c = b = a
    else:
        c = (a, b)[1]
        b = b - 1
    return a, b, c, n, [a, (b, {"n": n + 1})]


def scale(x):
    k = 0.5 if x.sum() > 0 else 2.0
    return x * k + k * 2


def containers(x):
    if x.sum() > 0:
        t, parts, table = (x, x + 1), [x], {"a": x * 2}
    else:
        t, parts, table = (x - 1, x), [x * 3], {"a": x}
    parts.append(t[0])
    return t, parts, table


def collect(x):
    if x.sum() > 0:
        y = sum([x * i for i in range(4)])
    else:
        y = [x, x + 1][1]
    return y


def while_(x):
    while x.sum() < 20:
        x = x * x + 1
    return x


def while_counter(x):
    n = 0
    while (x * x).sum() < 50:
        x = x * 1.5 + 1
        n += 1
    return x, n, x * n


def while_two(x):
    y = x + 1
    total = 0.0
    while y.sum() < 30:
        if y.mean() > 1:
            y = y + 2
        else:
            y = y * 0.5 + 1
        total = total + 0.5
    return y, total


def while_state(x):
    state = (x, x * 2)
    while state[1].sum() < 40:
        state = (state[0] + 1, state[1] + state[0] + 5)
    return state


def while_true(x):
    while True:
        x = x + 1
        if x.sum() > 12:
            break
    return x


def nested_loops(x):
    while x.sum() < 30:
        y = x
        while y.sum() < 10:
            y = y + 1
        x = x + y
    return x


def loop_in_loop(x):
    for i in range(3):
        if x.sum() > i:
            x = x - 1
        else:
            x = x + 2
    return x


def helper_branch(x):
    def inner(v):
        if v.sum() > 0:
            return v * 2
        return v
    return inner(x) + inner(-x)


def unused(x):
    if x.sum() > 0:
        y = x * 2  # noqa: F841
    return x + 1


def swap(x):
    a, b = x, x + 1
    while a.sum() < 9:
        a, b = b, a + b + 1
    return a, b


@pytest.mark.parametrize("fn",
                         [if_else, if_alone, early_return, ternary, chained, conditions, negated, truth_of_numbers,
                          several, scale, containers, collect,
                                while_, while_counter, while_two, while_state, while_true, nested_loops, loop_in_loop,
                                helper_branch, unused])
def test_one_graph(fn):
    check_calls(lambda: fn, CALLS, graphs=1, breaks=0)


def hand_on(x):
    a, b = x * 1, x + 1
    c = b
    while a.sum() < 4:
        a, b = b, a + b + 1
    return a, b, c  # after one turn a is c


@pytest.mark.parametrize("fn", [swap, hand_on])
def test_right_if_not_one_graph(fn):
    check_calls(lambda: fn, CALLS)


def effect_list():
    log = []

    def f(x):
        if x.sum() > 0:
            log.append(x + 1)
        else:
            log.append(2)
        return x * 2
    return f, lambda: log


def effect_print():
    def f(x):
        if x.sum() > 0:
            print("up", x.shape)
        return x * 2
    return f


def effect_attribute():
    class Box:
        n = 0
    box = Box()

    def f(x):
        if x.sum() > 0:
            box.n += 1
        return x * 2
    return f, lambda: box.n


def effect_cell():
    n = 0

    def f(x):
        nonlocal n
        while x.sum() < 10:
            x = x + 1
            n += 1
        return x
    return f, lambda: n


def effect_parameter():
    p = Parameter(Tensor(np.ones((2, 3), np.float32)), name="p")

    def f(x):
        if x.sum() > 0:
            p.set_data(p + x)
        return p * 2
    return f, lambda: p.asnumpy()


def effect_item():
    def f(x):
        y = x * 1
        z = y
        if x.sum() > 0:
            z = x * 2
        z[0] = 5
        return y, z
    return f


def effect_iterator():
    def f(x):
        out = []
        for i in range(4):
            if x.sum() > i:
                continue
            out.append(x + i)
        return out
    return f


def unbound():
    def f(x):
        if x.sum() > 0:
            y = x
        return y
    return f


def different_types():
    def f(x):
        if x.sum() > 0:
            return x.sum()
        return x
    return f


def raises():
    def f(x):
        if x.sum() > 0:
            raise ValueError("up")
        if x.sum() < 0:
            return x @ x
        return x
    return f


def ambiguous():
    def f(x):
        if x > 0:
            return 1
        return 2
    return f


def random_in_a_branch():
    drop = nn.Dropout(p=0.5)

    def f(x):
        if x.sum() > 0:
            return drop(x)
        return x
    return f


def index_error():
    def f(x):
        i = x.sum().astype("int32")
        if x.sum() > 0:
            return x[i]
        return x[0]
    return f


def doubling():
    def f(x):
        i = 1
        while x.sum() < 80:
            i = i * 4
            x = x + 1
        return i, x
    return f


@pytest.mark.parametrize("make",
                         [effect_list, effect_print, effect_attribute, effect_cell, effect_parameter, effect_item,
                          effect_iterator, unbound, different_types,
                                  raises, ambiguous, random_in_a_branch, index_error, doubling])
def test_what_is_no_region_is_right(make):
    check_calls(make, CALLS)


def test_gradients_through_branches():
    def make():
        w = Parameter(Tensor(np.ones(3, np.float32)), name="w")

        def loss(x):
            y = x * w
            if y.sum() > 0:
                return (y * y).sum()
            return (ops.exp(y) * w).sum()
        grad = ms.value_and_grad(loss, 0, [w])
        return lambda x: grad(x)
    check_calls(make, CALLS, graphs=1, breaks=0)


def test_second_gradient_through_a_branch():
    def make():
        def f(x):
            if x.sum() > 0:
                return (x * x * x).sum()
            return ops.exp(x).sum()
        g = ms.grad(lambda x: ms.grad(f)(x).sum())
        return lambda x: g(x)
    check_calls(make, CALLS)


def test_gradient_clipping_step():
    def make():
        ms.set_seed(2)
        net = nn.Dense(3, 2)
        opt = nn.SGD(net.trainable_params(), 0.1)
        fwd = ms.value_and_grad(lambda x: (net(x) ** 2).sum(), None, opt.parameters)

        def step(x):
            loss, grads = fwd(x)
            norm = ops.sqrt(sum([(g * g).sum() for g in grads]))
            if norm > 1:
                grads = tuple([g / norm for g in grads])
            opt(grads)
            return loss
        return step, lambda: [p.asnumpy() for p in net.trainable_params()]
    check(make, UP, calls=4, graphs=1, breaks=0)


def test_sizes_vary_inside_branches():
    def f(x):
        if x.sum() > 0:
            y = x.reshape(-1) / x.shape[0]
        else:
            y = x.flatten() - x.size
        while y.sum() < 10:
            y = y + 1 / y.shape[0]
        return y
    rng = np.random.default_rng(0)
    check_calls(lambda: f, [(Tensor(rng.standard_normal((n, 3)).astype(np.float32)),) for n in (2, 5, 1, 7, 3, 5)],
                captures=2, breaks=0)


@pytest.mark.parametrize("fn", [if_else, early_return, while_, while_counter, nested_loops])
def test_whole_graph_modes(fn):
    f = ms.jit(fn, mode="PSJit")
    for (x,) in CALLS:
        np.testing.assert_array_equal(np.asarray(f(x)[0] if isinstance(f(x), tuple) else f(x)),
                                      np.asarray(fn(x)[0] if isinstance(fn(x), tuple) else fn(x)))


def test_control_flow_functions():
    def f(x):
        y = ops.cond(x.sum() > 0, lambda v: v * 2, lambda v: v - 1, x)
        n, z = ops.while_loop(lambda i, v: v.sum() < 30, lambda i, v: (i + 1, v + 2), (0, y))
        return n, z
    check_calls(lambda: f, CALLS, graphs=1, breaks=0)


def test_a_loop_can_be_interrupted():
    import _thread
    import signal
    import threading

    @ms.jit
    def f(x):
        while x.sum() < 10:
            x = x * 1
        return x
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs of a shell ignore it
    try:
        timer = threading.Timer(0.5, _thread.interrupt_main)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            f(ZERO)
    finally:
        signal.signal(signal.SIGINT, before)


def test_and_or_on_tensors_as_values():
    def f(x):
        a = x.sum() > 0 and x.max() > 1
        b = x.min() > 0 or x.sum() < 2
        c = x if a else -x
        d = (x.sum() > 100 and x.sum() > 200) or (a and b)
        return a, b, c, d, (x.sum() > 0) and (x.max() > 3) and (x.min() > 2)
    for scale in (1.0, -1.0, 30.0, 0.01):
        check(lambda: f, Tensor(np.linspace(-0.5, 2, 6, dtype=np.float32) * scale), breaks=0)

    def identity(x, y):
        z = x.sum() and y
        w = x.sum() or x
        return z is y, w, z
    check(lambda: identity, Tensor(np.ones((), np.float32)), Tensor(np.ones((), np.float32)))
    check(lambda: identity, Tensor(np.zeros((), np.float32)), Tensor(np.ones((), np.float32)))

    def loop(x):
        while x.sum() < 20 and x.max() < 9:
            x = x * 2 + 1
        return x
    check(lambda: loop, Tensor(np.ones(3, np.float32)))


def test_gradients_where_no_branch_is_taken():
    """0.0 for a weight that only branches use, none of which is taken; the sums that hold its place are -0.0."""
    w = Parameter(Tensor(np.ones(3, np.float32)), name="w")

    def f(x):
        y = x
        if x.sum() > 0:
            y = y * w
        if x.max() > 1:
            y = y * w
        return y.sum()
    g = ms.value_and_grad(f, 0, [w])
    check_calls(lambda: lambda x: g(x), CALLS, graphs=1, breaks=0)
