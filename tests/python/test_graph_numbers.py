"""Python numbers that the graph gives, and control flow by them: float(), item(), assert, loops that are left early.

PYTEST_DONT_REWRITE: assert is to be what Python makes of it."""

import math
import sys

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, nn, ops
from tests.python.differential import check_calls

UP = Tensor(np.linspace(0.5, 2, 6, dtype=np.float32).reshape(2, 3))
DOWN = Tensor(np.linspace(-2, -0.5, 6, dtype=np.float32).reshape(2, 3))
ZERO = Tensor(np.zeros((2, 3), np.float32))
NAN = Tensor(np.array([[1, np.nan, 2], [3, 4, 5]], np.float32))
CALLS = [(UP,), (DOWN,), (ZERO,), (UP,), (NAN,), (UP * 3,)]


def made(f):
    return lambda: f


def as_result(x):
    return float(x.mean()), x.sum().item(), bool((x > 0).all()), not x.sum(), (x > 0).any().item()


def of_ints(x):
    count = (x > 0).astype(ms.int32).sum()
    return int(count), count.item(), float(count), {"n": [int(count)]}


def of_halves(x):
    return float(x.astype(ms.float16).mean()), x.astype(ms.bfloat16).max().item(), float((x > 0).any())


def in_ops(x):
    scale = float(x.mean())
    half = x.astype(ms.float16) * scale
    return x * scale + (scale * 2 - 1) / 4, x + -scale, half, ops.relu(x) - x.max().item()


def in_a_callee(x):
    def metric(t):
        return float((t * t).mean())
    first = metric(x)
    y = ops.tanh(x * first)
    return y * metric(y)


def in_a_comprehension(x):
    values = [float(v) for v in x[0]]
    return x * values[0], sum(values), values


class Scope:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return False


def in_with_and_try(x):
    with Scope():
        a = float(x.sum())
        y = x * a
    try:
        b = y.mean().item()
        return y + b, a, b
    except ValueError:
        return y


def in_a_loop(x):
    total = 0.0
    for _ in range(3):
        x = ops.tanh(x) * 1.5
        total += float(x.sum())
    return x, total


def compared(x):
    v, n = float(x.mean()), int((x > 0).astype(ms.int32).sum())
    return v < 1, v >= n, n == 6, n != 2.5, 0 < v < 1.5, v == v, min(v, 0.25), max(n, 3)


def decides(x):
    v = float(x.mean())
    if v > 1:
        x = x * 2
    elif v <= -1 or not v:
        x = x - v
    return x if v != 0.5 else x + 1


def classified(x):
    v = float(x.mean())
    return math.isnan(v), math.isfinite(x.mean()), math.isinf(v), x * 2 if math.isfinite(v) else x * 0


def printed(x):
    loss = (x * x).mean()
    print("loss", float(loss), (x > 0).any().item(), sep=": ")
    return x * 2


def identity_of_bools(x):
    ok = (x > 0).all().item()
    return ok is True, ok is not None, x * 2


def largest(x):
    parts = [x.sum(), x.mean() * 2, x.max()]
    return max(parts) * 2, min(parts), max(x[0], key=lambda v: -v), max(parts[0], parts[1]) is parts[0]


ONE_GRAPH = [
    as_result, of_ints, of_halves, in_ops, in_a_callee, in_a_comprehension, in_with_and_try, in_a_loop, decides,
    classified, printed,
]


@pytest.mark.parametrize("f", ONE_GRAPH, ids=lambda f: f.__name__)
def test_one_graph(f):
    check_calls(made(f), CALLS, graphs=1, breaks=0, captures=1)


@pytest.mark.parametrize("f", [compared, identity_of_bools, largest], ids=lambda f: f.__name__)
def test_right(f):
    check_calls(made(f), CALLS)


def test_exact_comparisons():
    big = Tensor(np.array([2**53 + 1, 2**53, -(2**62), 5]), ms.int64)

    def f(x, k):
        return [(int(v) == k, int(v) < k, int(v) >= float(k)) for v in x]
    for k in (2**53, 2**53 + 1, 5, 5.0, 2.0**53):
        check_calls(made(f), [(big, k)] * 2)


def test_state_of_a_training_loop():
    def make():
        class EarlyStop:
            def __init__(self):
                self.best, self.bad, self.history = 1e9, 0, []

            def __call__(self, value):
                self.history.append(value)
                if value < self.best:
                    self.best, self.bad = value, 0
                    return False
                self.bad += 1
                return self.bad > 2
        stop = EarlyStop()

        def f(x):
            loss = (x * x).mean()
            return x * 2, stop(float(loss))
        return f, lambda: vars(stop)
    e = check_calls(make, [(UP * k,) for k in (3.0, 2.0, 2.5, 1.0, 1.5, 1.5, 1.5, 0.5)], breaks=0)
    assert e.compile_count <= 3


def test_no_gradient_goes_through_a_number():
    def loss(x):
        scale = float(x.sum()) + x.mean().item()
        return (x * x).sum() * scale + (x * (2.0 if float(x.max()) > 1 else 3.0)).sum()
    check_calls(lambda: ms.value_and_grad(loss), CALLS, graphs=1, breaks=0)
    check_calls(lambda: lambda x: ms.grad(loss)(x), CALLS, graphs=1, breaks=0)
    g = ms.jit(loss)
    for (x,) in CALLS * 2:
        assert ms.grad(g)(x).asnumpy().tobytes() == ms.grad(loss)(x).asnumpy().tobytes()
    check_calls(lambda: lambda x: ms.jvp(loss, x, x * 0.5), CALLS)


def test_a_number_behind_a_break_varies():
    def f(x):
        v = float(x.sum())
        w = x.mean().__float__()
        return x * v + w
    check_calls(made(f), [(UP * k,) for k in (1.0, 2.0, 3.0, 4.0)], breaks=1, captures=2)


def test_what_has_no_single_number():
    def f(x):
        return float(x)

    def g(x):
        return x.item()

    def h(x):
        return int(x.sum())  # of NaN: an error
    for fn in (f, g, h):
        check_calls(made(fn), CALLS)


def test_formatting_with_numbers_that_vary():
    def percent(x, rate, step):
        return x * rate, "%(rate).3f %(n)d %(what)s" % {"rate": rate, "n": step, "what": "a"}

    def keywords(x, rate, step):
        return x * rate, "{:.2f} {n:>4}".format(rate, n=step), "{a}{b}".format(a=1, b="c")
    for f in (percent, keywords):
        check_calls(made(f), [(UP, k * 0.5, k * 7) for k in range(6)], breaks=0, captures=2)

    def wrong(x, rate, step):
        try:
            return "{missing} {n}".format(rate, n=step)  # noqa: F523, F524
        except KeyError as e:
            return str(e)
    check_calls(made(wrong), [(UP, k * 0.5, k * 7) for k in range(4)])


# --- what is raised on a Tensor's value -----------------------------------------------------------------------

BAD = [(UP,), (DOWN,), (UP,), (UP,), (DOWN,), (UP,), (UP,), (UP,)]


def only_asserts(x, k):
    v = x.max()
    assert v != v or x.min() < 1, f"{k}"
    return k


def test_an_assertion_that_is_all_of_the_graph():
    """A check inside of a region runs, too, where nothing of the graph is returned."""
    calls = [(DOWN, 1), (DOWN, 1), (UP, 2), (UP + 1, 3), (UP + 1, 3), (NAN, 4)]
    e = check_calls(made(only_asserts), calls)
    assert len(e.graphs) >= 1, e


def asserts(x):
    y = x * 2
    assert (y > 0).all(), f"not positive: {y.shape}"
    return y + 1


def raises(x):
    norm = ops.sqrt((x * x).sum())
    if x.sum() < 0:
        raise ValueError("negative", 1)
    return x / norm


def in_callees(x):
    def checked(t):
        assert t.sum() > 0
        return t + 1
    return checked(x) * checked(x * 2)


def in_turns(x):
    for k in range(3):
        x = x - 0.25
        if (x < -1).any():
            raise ArithmeticError(f"turn {k}")
    return x


def with_numbers(x):
    v = float(x.mean())
    assert v > 0 and math.isfinite(v), "mean"
    return x * v


def in_a_branch(x):
    if x.max() > 1:
        assert x.min() > -5
        x = x * 2
    else:
        assert x.sum() > -1, "small"
    return x


def in_a_gradient(x):
    def loss(t):
        assert ops.isfinite(t).all()
        y = (t * t).sum()
        if t.sum() < 0:
            raise ValueError("below")
        return y
    return ms.value_and_grad(loss)(x)


RAISING = [asserts, raises, in_callees, in_turns, with_numbers, in_a_branch, in_a_gradient]


@pytest.mark.parametrize("f", RAISING, ids=lambda f: f.__name__)
def test_raised_on_a_value(f):
    # a break on 3.9, see docs/versions.md
    expect = {} if f is in_turns and sys.version_info < (3, 10) else {"graphs": 1, "breaks": 0, "captures": 1}
    check_calls(made(f), BAD, **expect)


def test_effects_around_what_is_raised():
    def make():
        seen, w = [], ms.Parameter(Tensor(np.ones((2, 3), np.float32)), name="w")
        drop = nn.Dropout(p=0.5)
        drop.set_train(True)

        def f(x):
            seen.append("before")
            print("before", x.shape)
            w.set_data(w + x)
            y = drop(x)
            assert x.sum() > 0, "bad"
            seen.append("after")
            w.set_data(w * 2)
            return y, w * 1
        return f, lambda: (seen, w)
    check_calls(make, BAD)


def test_handled_where_it_is_raised():
    def make():
        log = []

        def f(x):
            try:
                y = x * 2
                if x.sum() < 0:
                    raise ValueError("low")
                log.append("fine")
            except ValueError as e:
                log.append(str(e))
                y = x
            finally:
                log.append("end")
            return y + 1
        return f, lambda: log
    check_calls(make, BAD)
    check_calls(make, [(DOWN,)] * 12 + [(UP,)] * 3)


def test_raised_in_most_calls():
    e = check_calls(made(asserts), [(DOWN,)] * 12 + [(UP,)] * 3)
    assert e.compile_count <= 4


# --- loops that are left early -------------------------------------------------------------------------------


def breaks(x):
    for i in range(6):
        x = x * 1.5
        if (x * x).sum() > 50:
            break
    return x, i


def breaks_with_else(x):
    found = 0
    for i, t in enumerate([x, x + 1, x * 2]):
        if t.sum() > 4:
            found = i
            break
    else:
        x = x - 1
    return x, found


def continues(x):
    total = x.sum() * 0
    for k, t in zip([1, 2, 3], (x, -x, x * 2)):
        if t.sum() > 0:
            continue
        total = total + t.mean() * k
    return total


def returns(x):
    for t in [x, x * 2, x + 3]:
        x = x * 1.5
        if t.max() > 3:
            return x - 1
    return x


def converges(x):
    y = x * 0 + 1.0
    for _ in range(6):
        new = 0.5 * (y + (x * x + 1) / y)
        if ops.abs(new - y).max() < 1e-2:
            y = new
            break
        y = new
    return y


def asks_any(x):
    parts = [x.sum(), x.mean(), x.max()]
    if any(p > 1.5 for p in parts) and not all(p > 0 for p in parts[1:]):
        return x * 0
    return x


def gradient_of_a_break(x):
    def loss(t):
        for _ in range(4):
            t = t * 1.5
            if (t * t).sum() > 30:
                break
        return t.sum()
    return ms.value_and_grad(loss)(x)


FINITE = CALLS[:4] + CALLS[5:]


LEFT = [breaks, breaks_with_else, continues, returns, converges, asks_any, gradient_of_a_break]


@pytest.mark.parametrize("f", LEFT, ids=lambda f: f.__name__)
def test_left_early(f):
    check_calls(made(f), FINITE, graphs=1, breaks=0, captures=1)


def two_tests(x):
    i = 0
    while i < 10 and (x * x).sum() < 100:
        x = x * 1.5
        i += 1
    return x, i


def two_tests_reversed(x):
    i = 0
    while (x * x).sum() < 100 and i < 10:
        x = x * 1.5
        i += 1
    return x * i


def broken_off(x):
    i = 0
    while (x * x).sum() < 100:
        x = x * 1.5
        i += 1
        if i >= 5:
            break
    return x, i


def done_flag(x):
    done, n = False, 0
    while not done:
        x = x * 0.5 + 1
        n = n + 1
        done = bool(ops.abs(x - 2).max() < 0.5)
    return x, n


def first_test_first(x):
    err, i = x.max(), 0
    while abs(err) > 0.3 and i < 8:
        x = x * 0.5
        err = x.max()
        i = i + 1
    return x, i, err


def three_tests(x):
    i = 0
    while (x * x).sum() < 100 and i < 10 and x.max() < 3:
        x = x * 1.5
        i += 1
    return x, i


def is_it_the_same(x):
    """Left early, a loop leaves the variable its object."""
    a, i = x, 0
    while (a * a).sum() < 100 and i < 3:
        a = a * 1.5
        i += 1
    b, k = x, 0
    while (b * b).sum() < 100:
        k += 1
        if b.max() > 2.5 or k > 5:
            break
        b = b * 1.5
    return a, b, a is x, b is x, a is b, i, k


def counts_in_arithmetic(x):
    i = 0
    while (x * x).sum() < 50 and i < 6:
        x = x * 1.5
        i += 1
    return x / (i + 1), x * float(i), i // 2, i * 0.5, x + i


SEVERAL = [
    two_tests, broken_off, done_flag, two_tests_reversed, first_test_first, three_tests, counts_in_arithmetic,
]  # fmt: skip


@pytest.mark.parametrize("f", SEVERAL, ids=lambda f: f.__name__)
def test_loops_with_several_tests(f):
    if f is broken_off and sys.version_info[:2] not in ((3, 9), (3, 11)):  # the compiler splits this loop
        check_calls(made(f), FINITE)
    else:
        check_calls(made(f), FINITE, graphs=1, breaks=0, captures=1)


def test_a_limit_that_varies():
    def f(x, most, enough):
        i = 0
        while (x * x).sum() < enough and i < most:
            x = x * 1.5
            i += 1
        return x / (i + 1), i

    calls = [(UP * 1.0, n, e) for n in (3, 10, 4, 1) for e in (100.0, 20.0, 50.0)]
    check_calls(made(f), calls, breaks=0, captures=3)


@pytest.mark.parametrize("f", [two_tests, broken_off, two_tests_reversed], ids=lambda f: f.__name__)
def test_gradients_of_loops_with_several_tests(f):
    def loss(x):
        y, n = f(x)
        return (y * y).sum() * n
    check_calls(made(lambda x: ms.value_and_grad(loss)(x)), FINITE)


def effects_in_turns(x):
    log = []
    for i in range(4):
        x = x * 1.5
        if x.sum() > 6:
            log.append(i)
            break
        log.append(-i)
    return x, log


def iterator_lives_on(x):
    it = iter([1, 2, 3, 4])
    for k in it:
        x = x * k
        if x.sum() > 8:
            break
    return x, list(it)


def generator_lives_on(x):
    def numbers():
        for k in range(5):
            yield k
    g = numbers()
    if x.sum() > 0:
        x = x * next(g)
    return x, next(g)


def both_arms_take_one(x):
    it = iter([2, 3, 4])
    if x.sum() > 0:
        y = x * next(it)
    else:
        y = x - next(it)
    return y, list(it)


def keeps_the_old(x):
    y = x
    while (y * y).sum() < 50:
        new = y * 1.5 + 1
        if new.max() > 6:
            break
        y = new
    return y, y is x


def many_turns(x):
    for i in range(40):
        x = x * 1.1
        if (x * x).sum() > 5000:
            break
    return x, i


def tree_of_breaks(x):
    n = 0
    for i in range(5):
        if x.sum() > i:
            if x.max() > 3:
                break
            n = n + 1
        x = x + 0.5
    return x, n


def inner_and_outer(x):
    for _ in range(3):
        while (x * x).sum() < 20:
            x = x * 1.5 + 0.5
            if x.max() > 4:
                break
        if x.sum() > 14:
            break
        x = x * 0.5
    return x


def no_convergence(x):
    n = 0
    while (x * x).sum() < 100:
        x = x * 1.5 + 0.5
        n += 1
        if n > 8:
            raise RuntimeError("no convergence")
    return x


OTHERS = [
    is_it_the_same, effects_in_turns,
    iterator_lives_on, generator_lives_on, both_arms_take_one, keeps_the_old, many_turns,
    tree_of_breaks, inner_and_outer, no_convergence,
]


@pytest.mark.parametrize("f", OTHERS, ids=lambda f: f.__name__)
def test_right_if_not_one_graph(f):
    check_calls(made(f), FINITE)


# --- functools.partial ---------------------------------------------------------------------------------------


def test_partial_made_inside():
    import functools

    def scaled(x, s, b=0):
        return x * s + b

    def f(x):
        g = functools.partial(scaled, s=2)
        h = functools.partial(g, b=1)
        values = list(map(functools.partial(scaled, x), [1, 2]))
        weighted = functools.partial(lambda k, t: (t * k).sum(), 2.0)
        return g(x) + h(x, b=3), values, h.func is scaled, ms.value_and_grad(weighted)(x)

    def kept():
        def g(x):
            h = functools.partial(scaled, x, b=5)
            hash(x)
            return h(2), h
        return g
    check_calls(made(f), FINITE)
    check_calls(kept, FINITE, breaks=1)


def test_numpys_truths_are_one_object_each():
    """np.True_ in two places of the state: another call has others there."""

    @ms.jit
    def f(b):
        return b[0], b[-1]

    for first, last in ((False, False), (False, True), (True, True), (True, False)):
        assert f(np.array([first, last])) == (first, last)


def test_numpys_float64_is_no_python_float():
    @ms.jit
    def f(n, u):
        return 1.0 / (n * u), (n + u) / 2

    with np.errstate(divide="ignore"):
        for n in (1, 0, 2, 3):
            for x in f(n, np.float64(-5.5)):
                assert type(x) is np.float64
