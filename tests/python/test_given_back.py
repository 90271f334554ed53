"""Functions that gain nothing from capture go back to CPython, and are captured again when that changes."""

import gc
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, _C, ops

X = ms.Tensor(np.arange(3, dtype=np.float32))
ROOT = str(pathlib.Path(__file__).resolve().parents[2])
STOP = gc.is_tracked  # nothing that capture knows


def test_a_function_without_tensors():
    f = ms.jit(lambda n: n * 2 + 1)
    assert [f(k) for k in range(300)] == [2 * k + 1 for k in range(300)]
    assert "no graph ran" in str(ms.explain(f))
    assert f(X).asnumpy().tolist() == [1.0, 3.0, 5.0]
    assert not ms.explain(f).deoptimized and len(ms.explain(f).graphs) == 1


def test_a_function_that_raises():
    calls = []

    @ms.jit
    def f(x, n):
        calls.append(n)
        if n >= 0:
            raise ValueError(n)
        return x * 2

    for k in range(100):
        with pytest.raises(ValueError, match=f"^{k}$"):
            f(X, k)
    assert calls == list(range(100))
    assert ms.explain(f).deoptimized
    for _ in range(5000):
        f(X, -1)
    assert not ms.explain(f).deoptimized and ms.explain(f).graphs
    assert f(X, -1).asnumpy().tolist() == [0.0, 2.0, 4.0]


def test_a_function_below_which_graphs_run_is_kept():
    inner = ms.jit(lambda x: ops.relu(x) * 2 + 1)

    @ms.jit
    def outer(x, log):
        log.append(len(log))
        return inner(x)

    log = []
    for _ in range(100):
        outer(X, log)
    assert log == list(range(100)) and not ms.explain(outer).deoptimized


def test_the_code_of_a_function_that_was_given_back_changes():
    def f(n):
        return n + 1

    def g(n):
        return n - 1

    j = ms.jit(f)
    assert {j(1) for _ in range(100)} == {2}
    f.__code__ = g.__code__
    assert {j(1) for _ in range(100)} == {0}


@pytest.mark.parametrize("measure", [True, False])
def test_a_function_that_is_slower_captured(measure):
    if measure and "ASAN_OPTIONS" in os.environ:
        pytest.skip("calls take too long to be measured")
    before = _C.get_option("measure")
    _C.set_option("measure", str(measure).lower())
    try:
        @ms.jit
        def f(x, stop):
            stop(None), stop(None), stop(None), stop(None), stop(None)  # pieces without any op
            stop(None), stop(None), stop(None), stop(None), stop(None)
            return x + 1
        for _ in range(400):
            assert f(X, STOP).asnumpy().tolist() == [1.0, 2.0, 3.0]
        assert ms.explain(f).breaks and ms.explain(f).graphs
        assert bool(ms.explain(f).deoptimized) == measure and ("one call took" in str(ms.explain(f))) == measure
    finally:
        _C.set_option("measure", before)


@pytest.fixture
def measured():
    before = _C.get_option("measure")
    _C.set_option("measure", "true")
    yield
    _C.set_option("measure", before)


def raises_in_a_loop(numbers):
    total = 0
    for n in numbers:
        total += 10 // n
    return total


def goes_on_behind_a_short_loop(numbers):
    total = 0
    for n in numbers:
        total += n
    STOP(total)
    for n in numbers:
        total -= n
    return [STOP(k) for k in range(40)]


@pytest.mark.parametrize("f", [raises_in_a_loop, goes_on_behind_a_short_loop])
def test_a_function_whose_machine_code_is_left_is_compared(measured, f):
    if "ASAN_OPTIONS" in os.environ:
        pytest.skip("calls take too long to be measured")
    j = ms.jit(f)
    for _ in range(300):
        seen = []
        for call in (f, j):
            try:
                seen.append(call([2, 1, 0]))
            except ZeroDivisionError as e:
                seen.append((str(e), e.__traceback__.tb_next.tb_lineno))
        assert seen[0] == seen[1]
    assert "one call took" in str(ms.explain(j)), str(ms.explain(j))


def runs_of(f):
    """Runs of entries, those without a graph among them."""
    return sum(e["calls"] for e in ms.explain(f).entries)


def loop_over_an_array(x, a):
    total = 0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            total += a[i, j]
    return total


def loop_over_numbers_of_numpy(x, a):
    total = 0
    for v in a[0]:
        total = total + v * 2
    return total


def loop_with_a_call(x, a):
    for _ in range(500):
        STOP(None)
    return 1


def loop_with_a_dict(x, a):
    d = {}
    for v in a[0]:
        d.setdefault(v > 0, []).append(v)
    return sorted(map(len, d.values()))


def while_loop(x, a):
    n, total = 0, a[0, 0]
    while n < 500:
        total = total + a[0, n]
        n += 1
    return total


@pytest.mark.parametrize("f",
                         [loop_over_an_array, loop_over_numbers_of_numpy, loop_with_a_call, loop_with_a_dict,
                          while_loop],
                         ids=lambda f: f.__name__)
def test_breaks_that_come_back_without_a_graph(f, measured):
    """Within one call: the rest of it is CPython's, and so are the next calls."""
    a = np.arange(1000, dtype=np.float64).reshape(2, 500)
    want = f(None, a)
    g = ms.jit(f)
    _C.set_option("regions", "false")
    try:
        assert g(None, a) == want
        assert runs_of(g) < 40
        for _ in range(20):
            assert g(None, a) == want
    finally:
        _C.set_option("regions", "true")
    assert runs_of(g) < 60 and ms.explain(g).deoptimized


def test_breaks_that_come_back_with_graphs(measured):
    @ms.jit
    def f(x):
        for _ in range(100):
            STOP(None)
            x = ops.tanh(x) * 2 + 1
        return x

    plain = X
    for _ in range(100):
        plain = ops.tanh(plain) * 2 + 1
    assert (f(X).asnumpy() == plain.asnumpy()).all()
    assert ms.explain(f).graph_runs >= 100


def test_a_loop_without_graphs_behind_one_with(measured):
    """The graph before it is kept, and what comes behind is right."""
    @ms.jit
    def f(x, n):
        y = ops.tanh(x) * 2
        for _ in range(n):
            STOP(None)
        return y + 1

    want = (ops.tanh(X) * 2 + 1).asnumpy()
    for _ in range(5):
        assert (f(X, 300).asnumpy() == want).all()
    assert runs_of(f) < 200 and ms.explain(f).graphs and not ms.explain(f).deoptimized
    for _ in range(5):
        assert (f(X, 3).asnumpy() == want).all()


def test_a_function_given_back_after_breaks_gets_tensors(measured):
    f = ms.jit(lambda a: sum(v * 2 for v in a) if isinstance(a, np.ndarray) else a * 2 + 1)
    for _ in range(10):
        f(np.ones(100))
    assert f(X).asnumpy().tolist() == [1.0, 3.0, 5.0]
    f(X)
    assert ms.explain(f).graph_runs


def test_programs_of_numbers_are_not_unrolled_for_long(measured):
    @ms.jit
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    @ms.jit
    def total(n):
        k = 0
        for i in range(n):
            k += i
        return k

    _C.set_option("regions", "false")
    try:
        assert fib(20) == 6765 and total(100000) == 4999950000
    finally:
        _C.set_option("regions", "true")
    assert ms.explain(total).compile_count == 1 and ms.explain(total).deoptimized
    assert ms.explain(fib).compile_count < 12


def long_loop(table):
    out = {}
    for name, count in table:
        out[name] = out.get(name, 0) + count
    return out


TABLE = [("abcdefg"[k % 7], k) for k in range(20000)]


def test_a_long_first_capture_that_finds_nothing_is_given_up(measured):
    j = ms.jit(long_loop)
    want = long_loop(TABLE)
    _C.set_clock(0)  # what it takes is a matter of steps
    try:
        assert j(TABLE) == want and j(TABLE) == want
    finally:
        _C.set_clock(None)
    e = ms.explain(j)
    assert e.compile_count == 1 and e.deoptimized and not e.graph_runs
    assert j([("a", X), ("a", X)])["a"].asnumpy().tolist() == [0, 2, 4]


def test_what_has_an_op_or_a_tensor_is_looked_at_for_longer(measured):
    def op_first(x, n):
        y, k = ops.tanh(x), 0
        for i in range(n):
            k += i
        return y + k

    def op_last(x, n):
        k = 0
        for i in range(n):
            k += i
        return ops.tanh(x) + k

    for f in (op_first, op_last):
        j = ms.jit(f)
        assert j(X, 3000).asnumpy().tolist() == f(X, 3000).asnumpy().tolist()
        assert len(ms.explain(j).graphs) == 1 and not ms.explain(j).breaks, f


def test_one_graph_is_looked_for_to_the_end(measured):
    @ms.jit(fullgraph=True)
    def f(n):
        k = 0
        for i in range(n):
            k += i
        return ops.ones((2,)) * k

    assert f(3000).asnumpy().tolist() == [4498500] * 2
    assert not ms.explain(f).breaks


def chain(x):
    for k in range(12):
        x = ops.tanh(x) * 0.5 + k
    return x


def sized(n):
    return Tensor(np.linspace(0, 1, n, dtype=np.float32))


def told(j):
    e = ms.explain(j)
    return e.new_sizes, e.graph_runs


@pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="calls take too long to be measured")
@pytest.mark.parametrize("automatic", [False, True])
def test_sizes_that_come_back_get_their_program(automatic, measured):
    xs = [sized(20 + n) for n in range(400)]
    want = [chain(x).asnumpy() for x in xs]  # what new sizes cost single ops is spent
    j = ms.jit(chain)
    try:
        if automatic:
            ms.automatic.enable()
            code = chain.__code__.replace(co_name="chain_of_its_own")
            j = type(chain)(code, globals(), "chain_of_its_own")
        for x, w in zip(xs, want):
            assert (j(x).asnumpy() == w).all()
        for _ in range(60):  # and then one size stays
            assert (j(xs[7]).asnumpy() == want[7]).all()
        built, runs = told(j)
        assert not ms.explain(j).deoptimized and built < 100
        for _ in range(100):
            j(xs[7])
        assert told(j)[0] == built and told(j)[1] >= runs + 90  # but for a trial's plain calls
        for _ in range(12):  # some take turns
            for n in range(8):
                assert (j(xs[100 + n]).asnumpy() == want[100 + n]).all()
        built, runs = told(j)
        for _ in range(10):
            for n in range(8):
                j(xs[100 + n])
        assert told(j)[0] == built and told(j)[1] >= runs + 70
    finally:
        ms.automatic.disable()


@pytest.mark.parametrize("f", [lambda a: a * 2 + 1, lambda a, b=2: a * b])
def test_a_parameter_ends_a_rest(f, measured):
    j = ms.jit(f)
    for k in range(40):
        assert j(k) == f(k) and j(1.5) == f(1.5)
    assert ms.explain(j).deoptimized
    p = ms.Parameter(ms.Tensor(np.arange(3, dtype=np.float32)), name="p")
    assert j(p).asnumpy().tolist() == f(np.arange(3.0)).tolist() and not ms.explain(j).deoptimized


def test_calls_of_a_function_that_was_given_back_are_counted(measured):
    j = ms.jit(lambda k, *a, **kw: (k, a, kw))
    for k in range(100):
        assert j(k, 2, c=3) == (k, (2,), {"c": 3})
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            j()
    assert ms.explain(j).deoptimized and ms.explain(j).calls >= 150


@pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="calls take too long to be measured")
def test_long_calls_with_many_breaks_are_given_back(measured):
    @ms.jit
    def f(x):
        for _ in range(100):
            STOP(None)
            x = x + 1
        return x

    calls = 0
    while not ms.explain(f).deoptimized:
        assert f(X).asnumpy().tolist() == [100.0, 101.0, 102.0]
        calls += 1
        assert calls < 400
    assert calls > 100 and ms.explain(f).graph_runs > 1000  # plain calls are a small share by then
    assert f(X).asnumpy().tolist() == [100.0, 101.0, 102.0]


def many_breaks(n, last="    return b\n"):
    names = {"STOP": STOP, "ops": ops}
    exec("def f(a, b):\n" + "".join(f"    b = b + [a * {k}]\n    STOP(None)\n" for k in range(n)) + last, names)
    return names["f"]


@pytest.fixture
def spent(measured):
    """Time stands still at the program's start, and a function has spent more on trying than it may."""
    class Net:  # which something might be computed with
        def __call__(self):
            pass

    def f(table, net=Net()):
        out = {}
        for name, price, count in zip(*table):
            out[name] = out.get(name, 0.0) + price * count + len(name * 500000)  # which takes its time
        return out

    j = ms.jit(f)
    far = 10**18
    table = ["abcdefg"[k % 7] for k in range(1000)], [k / 7 for k in range(1000)], list(range(1000))
    assert j(table) == f(table)
    while ms.explain(j).compile_ms <= 12:  # on a machine as fast as that: again and again
        _C.set_clock(far)
        for _ in range(64):
            j(table)
        _C.set_clock(None)
        j(table)
    _C.set_clock(0)
    yield j, f, table
    _C.set_clock(None)


def test_a_rest_ends_when_the_program_has_run_for_longer(spent):
    j, f, table = spent
    tried = ms.explain(j).compile_count
    short = [c[:5] for c in table]
    for _ in range(1000):
        assert j(short) == f(short)
    assert ms.explain(j).compile_count == tried and ms.explain(j).deoptimized
    _C.set_clock(10**18)
    for _ in range(100):
        assert j(short) == f(short)
    assert ms.explain(j).compile_count > tried


def test_the_first_capture_is_never_in_question(spent):
    def net(x):
        for k in range(100):
            x = ops.tanh(x * k) + x
        return x

    want = net(X).asnumpy()
    j = ms.jit(net)
    assert (j(X).asnumpy() == want).all()
    assert ms.explain(j).graph_runs == 1


def test_graphs_behind_breaks_are_captured_at_the_first_call(measured):
    """Also where the pieces before them cost more than trying may."""
    plain = many_breaks(30, "    return ops.tanh(a) * 2 + len(b)\n")
    j = ms.jit(plain)
    want = plain(X, []).asnumpy()
    assert (j(X, []).asnumpy() == want).all()
    assert ms.explain(j).graph_runs and "tanh" in str([e["ops"] for e in ms.explain(j).entries])


IN_A_PROCESS = """
import gc
import pijit as ms
from pijit import ops
STOP = gc.is_tracked
X = ms.Tensor([1.0, 2.0])
names = {"STOP": STOP, "ops": ops}
"""


def told_by(program):
    env = {**{k: v for k, v in os.environ.items() if not k.startswith("PIJIT_AUTO")}, "PIJIT_MEASURE": "1",
           "PYTHONPATH": ROOT}
    r = subprocess.run([sys.executable, "-c", IN_A_PROCESS + program], env=env, capture_output=True, text=True,
                       timeout=300)
    assert r.returncode == 0, r.stderr
    return eval(r.stdout)


def test_pieces_without_graphs_are_captured_as_long_as_that_costs_little():
    """Of one call: the rest of it is CPython's."""
    captures, result = told_by("""
exec("def f(a, b):\\n" + "".join(f"    b = b + [a * {k}]\\n    STOP(None)\\n" for k in range(1500)) + "    return b\\n",
     names)
f = ms.jit(names["f"])
r = f(1, [])
print((ms.explain(f).compile_count, r == list(range(1500))))
""")
    assert 0 < captures < 1200 and result  # the first may have spent what there is


def test_what_is_captured_anew_all_the_time_costs_a_share():
    captures, right = told_by("""
exec("def f(x, c):\\n    y = x\\n" + "".join(f"    y = ops.tanh(y * {k}.5) + ops.sin(y) * c.s\\n" for k in range(120)) +
     "    return y\\n", names)
f = ms.jit(names["f"])
want = names["f"](X, type("C", (), {"s": 2.0})).asnumpy()
right = True
for k in range(60):
    right = right and (f(X, type("C", (), {"s": 2.0})()).asnumpy() == want).all()
print((ms.explain(f).compile_count, bool(right)))
""")
    assert 7 <= captures <= 14 and right
