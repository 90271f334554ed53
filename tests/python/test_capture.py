"""Captured Python against plain Python, by language feature."""

import functools
import inspect
import pickle
import sys
import time

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, nn, ops
from tests.python.differential import check, check_calls

X = Tensor(np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4))
Y = Tensor(np.linspace(1, 3, 12, dtype=np.float32).reshape(3, 4))
GLOBAL_SCALE = 2.0
COUNTER = 0
LOG = []


def helper(x, k=3, *rest, flag=True, **extra):
    y = x * k if flag else x - k
    for r in rest:
        y = y + r
    for v in extra.values():
        y = y * v
    return y


@pytest.mark.parametrize("fn", [
    lambda x: x * 2 + 1,
    lambda x: (x + x.sum()) / 3 - x ** 2,
    lambda x: -x // 2 % 3,
    lambda x: ops.tanh(x) @ x.T,
    lambda x: x[1:, ::2] + x[0, 1],
    lambda x: x[..., None].squeeze(-1)[:, -1],
    lambda x: x[[0, 2]],
    lambda x: (x > 0).astype("float32") * x,
    lambda x: x.reshape(2, -1).transpose(1, 0).flatten(),
    lambda x: helper(x) + helper(x, 4, x, flag=False, z=2),
    lambda x: helper(*[x, 2], **{"flag": True}),
    lambda x: sum([x, x * 2], x),
    lambda x: [x + i for i in range(3)],
    lambda x: {k: x * v for k, v in {"a": 1, "b": 2}.items()},
    lambda x: tuple(a + b for a, b in [(x, x)]) if False else (x, x + 1),
    lambda x: list(zip([x], [x * 2])),
    lambda x: [i * v for i, v in enumerate([x, x])],
    lambda x: functools.reduce(lambda a, b: a + b, [x, x, x]) if False else x,
    lambda x: x if x.shape[0] == 3 else x * 0,
    lambda x: ops.concat([x, x + 1], 1).shape,
    lambda x: (x.dtype, x.ndim, x.size, len(x)),
    lambda x: f"{x.shape} {3:04d} {'a'!r}",
    lambda x: max(1, 2) * x + min([3, 4]) + abs(-2) + round(2.5),
    lambda x: isinstance(x, Tensor) and not isinstance(x, (int, float)),
    lambda x: getattr(x, "shape") + (hasattr(x, "nope"),),
    lambda x: (lambda y: y * GLOBAL_SCALE)(x),
    lambda x: "ab".upper() + "-".join(["x", "y"]),
    lambda x: x.mean() + x.std() + x.var() + x.max() + x.min(),
    lambda x: ops.softmax(x).argmax(1),
    lambda x: x.T,
    lambda x: 1 if x is None else 2,
    lambda x: x is not None and x.ndim in (2, 3),
])
def test_expressions_are_one_graph(fn):
    check(lambda: fn, X, breaks=0)


def test_loops_and_branches():
    def make():
        def f(x, n):
            total = x * 0
            for i in range(n):
                if i == 2:
                    continue
                if i > 4:
                    break
                total = total + x * i
            else:
                total = total - 1
            k = 0
            while k < 3:
                total = total + k
                k += 1
            return total
        return f
    check(make, X, 4, graphs=1, breaks=0)
    check(make, X, 10, graphs=1, breaks=0)


def test_tensor_conditions_are_regions_of_the_graph():
    def make():
        def f(x):
            y = x * 2
            if y.sum() > 0:
                y = y + 1
            else:
                y = y - 1
            while y.sum() < 100:
                y = y * 2 + 3
            return y
        return f
    check(make, X, graphs=1, breaks=0)


def test_print_keeps_its_place():
    def make():
        def f(x):
            a = x + 1
            print("a", a)
            b = a * 2
            print("b", b.sum(), [1, "c"], x.shape, sep="|", end="!")
            x += 1
            print("in place", x, a)
            return b - a
        return f
    check(make, X, graphs=1, breaks=0)


def test_print_and_other_effects_keep_their_order():
    class Shown:
        def __init__(self, log):
            self.log = log

        def __repr__(self):
            return f"Shown({self.log})"

    def make():
        log = []
        p = ms.Parameter(Tensor(np.ones(2, np.float32)), name="p")

        def f(x):
            log.append(1)
            print(Shown(log), "before")
            log.append(2)
            print(log, x)
            ops.assign(p, p + 1)
            print(p, x.sum() > 0)
            if x.sum() > 0:
                print("in a branch")
            return x + p.sum()
        return f, lambda: list(log)
    check(make, X, calls=3)


def test_lists_and_dicts_are_mutated_in_place():
    def make():
        log, table = [], {"n": 0}

        def f(x, out):
            out.append(x + 1)
            out[0] = "first"
            log.append(len(out))
            log.extend([1, 2])
            table["n"] = table["n"] + 1
            table["new"] = x
            del_me = out.pop()
            out.insert(0, del_me)
            return out, table
        return f, lambda: (log, table)
    check(make, X, [1, 2])


def test_identity_of_containers_is_kept():
    keep = [1]

    @ms.jit
    def f(x):
        keep.append(x.sum())
        y = [x]
        return keep, y, y
    a, b, c = f(X)
    assert a is keep and b is c and len(keep) == 2


def test_attributes_and_globals():
    class Box:
        def __init__(self):
            self.n = 0
            self.history = []

        @property
        def double(self):
            return self.n * 2

        def bump(self, x):
            self.n += 1
            self.history.append(x * self.n)
            return self.double

    def make():
        box = Box()

        def f(x):
            global COUNTER
            COUNTER = COUNTER + 1
            d = box.bump(x)
            return x + d + box.n
        global COUNTER
        COUNTER = 0
        return f, lambda: (vars(box), COUNTER)
    check(make, X, calls=3)


def test_closures_and_nonlocal():
    def make():
        count = 0

        def f(x):
            nonlocal count
            count += 1
            scale = 3

            def inner(y):
                return y * scale + count
            return inner(x), inner
        return f, lambda: count
    check(make, X, calls=3)
    g = ms.jit(make()[0])
    value, inner = g(X)
    assert np.array_equal(inner(X).asnumpy(), value.asnumpy())


def test_globals_are_guarded():
    global GLOBAL_SCALE

    @ms.jit
    def f(x):
        return x * GLOBAL_SCALE
    try:
        assert f(X).asnumpy()[2, 3] == 4
        GLOBAL_SCALE = 5.0
        assert f(X).asnumpy()[2, 3] == 10
    finally:
        GLOBAL_SCALE = 2.0


def test_functions_are_guarded():
    def make(k):
        def inner(x):
            return x * k
        return inner

    @ms.jit
    def f(x, g):
        return g(x)
    a, b = make(2), make(3)
    assert f(X, a).asnumpy()[2, 3] == 4
    assert f(X, b).asnumpy()[2, 3] == 6
    assert f(X, lambda x: x - 1).asnumpy()[2, 3] == 1


def test_methods_are_guarded():
    class A:
        def scale(self):
            return 2

        def __call__(self, x):
            return x * self.scale()
    a = A()
    f = ms.jit(lambda x: a(x))
    assert f(X).asnumpy()[2, 3] == 4
    A.scale = lambda self: 7
    assert f(X).asnumpy()[2, 3] == 14
    a.scale = lambda: 1
    assert f(X).asnumpy()[2, 3] == 2


def test_recompiles_and_returns_to_old_entries():
    @ms.jit
    def f(x):
        return x + 1
    a, b = Tensor(np.ones(3, np.float32)), Tensor(np.ones(3, np.float64))
    f(a), f(b), f(a), f(b)
    assert ms.explain(f).compile_count == 2
    f(Tensor(np.ones(4, np.float32)))
    assert ms.explain(f).compile_count == 3


@pytest.mark.parametrize("body",
                         ["1/0", "[][1]", "{}['k']", "undefined_name", "x.nope", "int('z')", "x + 'a'",
                          "ops.matmul(x, x)", "x[7]", "x[Tensor([9])]", "len(3)", "helper()"])
def test_exceptions_have_the_right_type_and_line(body):
    source = f"def f(x):\n    y = x * 2\n    y = y + 1\n    {body}\n    return y\n"

    def make():
        space = dict(globals())
        exec(source, space)
        return space["f"]
    check(make, X)


def test_exceptions_after_effects():
    def make():
        seen = []

        def f(x):
            seen.append(1)
            y = x + 1
            seen.append(2)
            raise ValueError(f"stop {y.shape}")
        return f, lambda: seen
    check(make, X)


def test_try_and_with():
    class Manager:
        def __init__(self):
            self.events = []

        def __enter__(self):
            self.events.append("in")
            return self

        def __exit__(self, kind, value, tb):
            self.events.append(getattr(kind, "__name__", None))
            return kind is ValueError

    def make():
        m = Manager()

        def f(x, bad):
            y = x + 1
            try:
                if bad:
                    raise KeyError("k")
                y = y * 2
            except KeyError as e:
                y = y - 1
                print("caught", e)
            finally:
                y = y + 3
            with m:
                y = y * 5
                if bad:
                    raise ValueError("inside")
            return y
        return f, lambda: m.events
    check(make, X, False)
    check(make, X, True)


def test_calls_into_plain_python():
    def make():
        def f(x):
            y = x + 1
            t = time.time() > 0
            z = np.asarray(y).sum() * 0 + 2.0
            return y * float(z) + t
        return f
    e = check(make, X)
    assert len(e.breaks) >= 2


def test_generators_run_plainly():
    def make():
        def f(x):
            def gen():
                for i in range(3):
                    yield x * i
            total = x
            for v in gen():
                total = total + v
            return total
        return f
    check(make, X)


def test_loop_over_an_opaque_iterator():
    def make():
        def f(x, it):
            y = x
            for k in it:
                y = y * k + 1
            return y
        return f
    plain, jitted = make(), ms.jit(make())
    assert np.array_equal(plain(X, iter([1, 2, 3])).asnumpy(), jitted(X, iter([1, 2, 3])).asnumpy())


def test_recursion():
    def make():
        def power(x, n):
            return x if n <= 1 else x * power(x, n - 1)
        return power
    check(make, X, 5)


def test_defaults_keywords_and_varargs():
    def make():
        def f(x, y=2, *args, z, w=4, **kw):
            return x * y + sum(args) + z * w + sum(kw.values())
        return f
    check(make, X, z=1)
    check(make, X, 3, 1, 2, z=1, w=2, q=5)
    check(make, X)  # missing z


def test_in_place_tensor_assignment():
    def make():
        state = Tensor(np.zeros((3, 4), np.float32))

        def f(x):
            x[0] = 5
            x[1, 2] = x[2, 3]
            x[:, 0] = Tensor(np.ones(3, np.float32))
            state[1:] = x[1:]
            return x.sum() + state
        return f, lambda: state
    check(make, X)


def test_looks_like_the_function():
    @ms.jit
    def documented(x: int, y: float = 2.0):
        """Doc."""
        return x
    assert documented.__name__ == "documented" and documented.__doc__ == "Doc."
    assert str(inspect.signature(documented)) == "(x: int, y: float = 2.0)"
    assert inspect.unwrap(documented).__code__.co_name == "documented"
    assert pickle.loads(pickle.dumps(module_level)) is module_level


@ms.jit
def module_level(x):
    return x + 1


def test_decorated_methods():
    class Model:
        def __init__(self):
            self.k = 3

        @ms.jit
        def scaled(self, x):
            return x * self.k
    m = Model()
    assert m.scaled(X).asnumpy()[2, 3] == 6
    m.k = 4
    assert m.scaled(X).asnumpy()[2, 3] == 8


def test_super_and_inheritance():
    class Base(nn.Cell):
        def construct(self, x):
            return x + 1

    class Derived(Base):
        def construct(self, x):
            return super().construct(x) * 2

    def make():
        net = Derived()
        return lambda x: net(x)
    check(make, X, graphs=1, breaks=0)


def test_random_numbers_are_the_same():
    def make():
        return lambda x: (ops.dropout(x, 0.5), ops.randn(3), ops.rand(2, 2))
    check(make, X, graphs=1, breaks=0, calls=3)


def test_locals_and_eval_see_the_frame():
    def make():
        def f(x):
            y = x + 1
            z = 5
            names = sorted(locals())
            return y * eval("z + 1"), names
        return f
    check(make, X)


def test_break_inside_an_inlined_call():
    def make():
        def noisy(x):
            y = x * 3
            id(y)
            return y + 1

        def f(x):
            a = x + 1
            b = noisy(a)
            return b * 2
        return f
    check(make, X)


def test_many_calls_keep_memory_flat():
    @ms.jit
    def f(x, y):
        return x * y + 1

    x, y = Tensor(np.ones(8, np.float32)), Tensor(np.ones(8, np.float32))
    import gc
    for _ in range(1000):
        f(x, y)
    gc.collect()
    before = (ms._C.allocated_bytes(), len(gc.get_objects()))
    for _ in range(50000):
        f(x, y)
    gc.collect()
    after = (ms._C.allocated_bytes(), len(gc.get_objects()))
    assert after[0] == before[0] and abs(after[1] - before[1]) < 20


def test_donated_parameters_do_not_change_old_values():
    p = ms.Parameter(np.zeros(4, np.float32))

    @ms.jit
    def bump():
        p._assign(p + 1)
        return p
    held = p.value()
    view = np.asarray(memoryview(p))
    for _ in range(3):
        bump()
    assert held.asnumpy().tolist() == [0] * 4 and view.tolist() == [0] * 4 and p.asnumpy().tolist() == [3] * 4


def test_the_same_tensor_twice():
    def make():
        def f(a, b):
            a[0] = 7
            return a + b
        return f
    for use_jit in (False, True):
        t = Tensor(np.zeros((2, 2), np.float32))
        f = ms.jit(make()) if use_jit else make()
        assert f(t, t).asnumpy().tolist() == [[14, 14], [0, 0]]
        u, v = Tensor(np.zeros((2, 2), np.float32)), Tensor(np.zeros((2, 2), np.float32))
        assert f(u, v).asnumpy().tolist() == [[7, 7], [0, 0]]


def test_whole_graph_mode_names_the_line():
    @ms.jit(fullgraph=True)
    def f(x):
        hash(x)
        return x
    with pytest.raises(RuntimeError, match="test_capture.py.*hash"):
        f(X)


class Opaque:
    pass


class OwnOperators:
    def __radd__(self, other):
        return other * 2

    def __iter__(self):
        return iter([1])


OPAQUE = Opaque()
OWN_ERRORS = [lambda x: x + "a", lambda x: "a" + x, lambda x: x < "a", lambda x: x + None, lambda x: None + 1,
              lambda x: -OPAQUE,
              lambda x: OPAQUE + 1, lambda x: OPAQUE < OPAQUE, lambda x: [1] < [OPAQUE], lambda x: [1] + (2,),
              lambda x: [v for v in 5],
              lambda x: [v for v in OPAQUE], lambda x: OPAQUE(), lambda x: x(), lambda x: {[1]: x},
              lambda x: {"a": x}[[1]],
              lambda x: len(x.sum()), lambda x: OPAQUE[0], lambda x: x.missing, lambda x: x[9], lambda x: {}["missing"],
              lambda x: int("a")]


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("f", OWN_ERRORS, ids=range(len(OWN_ERRORS)))
def test_one_graph_raises_what_the_program_raises(f, inside):
    def through(x):
        return f(x * 2)
    plain = through if inside else f
    with pytest.raises(Exception) as expected:
        plain(X)
    jitted = ms.jit(plain, fullgraph=True)
    for _ in range(2):
        with pytest.raises(type(expected.value)) as raised:
            jitted(X)
        assert str(raised.value) == str(expected.value)


def test_one_graph_does_not_take_a_break_for_an_error():
    made = []

    def breaks(x):
        made.append(1)
        return x + OwnOperators(), [v for v in OwnOperators()], hash(x)
    with pytest.raises(RuntimeError, match="hash"):
        ms.jit(breaks, fullgraph=True)(X)
    assert not made


def test_aliasing_is_seen_among_many_objects():
    def make():
        def f(ps, x):
            for k, p in enumerate(ps):
                p[0] = x + k
            return [p * 2 for p in ps]
        return f

    def tensors():
        return [Tensor(np.full(2, k, np.float32)) for k in range(30)]
    apart, again, shared, last = tensors(), tensors(), tensors(), tensors()
    shared[3] = shared[20]
    x = Tensor(np.float32(1))
    check_calls(make, [(apart, x), (apart, x), (shared, x), (shared, x), (again, x), (last[::-1], x), (shared, x)])


def test_graph_mode_and_back():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.fc = nn.Dense(4, 2)

        def construct(self, x):
            return ops.relu(self.fc(x))
    net = Net()
    eager = net(X).asnumpy()
    for _ in range(2):
        ms.set_context(mode=ms.GRAPH_MODE)
        try:
            assert np.array_equal(net(X).asnumpy(), eager)
            g = ms.grad(lambda x: net(x).sum())(X).asnumpy()
        finally:
            ms.set_context(mode=ms.PYNATIVE_MODE)
        assert np.array_equal(ms.grad(lambda x: net(x).sum())(X).asnumpy(), g)
        assert np.array_equal(net(X).asnumpy(), eager)


def test_explain_guards_are_expressions():
    @ms.jit
    def f(x, k):
        return x * k
    f(X, 3)
    e = ms.explain(f)
    for g in e.entries[0]["guards"]:
        assert eval(g, {"Tensor": Tensor}, {"x": X, "k": 3}) is True
    assert "mul" in str(e)


def test_callees_of_breaks_are_captured_too():
    class Noisy(nn.Cell):
        def __init__(self):
            super().__init__()
            self.fc = nn.Dense(4, 3, "ones", "zeros")
            self.calls = 0

        def construct(self, x):
            y = ops.tanh(self.fc(x)) * 2
            print("inside", y.shape)
            return y + 1

    def helper(x, k):
        z = x * k
        if z.sum() > 0:
            z = z - 1
        return z

    def make():
        net = Noisy()

        def f(x):
            y = net(x)
            return helper(y, 3) + helper(y, -3)
        return f
    with ms_log() as text:
        check(make, X, calls=3)
    assert any("tanh" in graph and "dense" in graph for graph in text), text


class ms_log:
    """Graphs compiled inside the block, as text."""

    def __enter__(self):
        import os
        import tempfile
        self.dir = tempfile.mkdtemp()
        ms._C.set_option("dump", self.dir)
        self.text = []
        self.listdir = os.listdir
        return self.text

    def __exit__(self, *exc):
        ms._C.set_option("dump", "")
        for name in sorted(self.listdir(self.dir)):
            if "capture" in name:
                with open(f"{self.dir}/{name}") as f:
                    self.text.append(f.read())


def test_errors_inside_captured_callees():
    def make():
        def inner(x, k):
            y = x + 1
            print("in")
            return y[k]

        def f(x, k):
            z = inner(x * 2, k)
            return z
        return f
    check(make, X, 1)
    check(make, X, 9)


def test_arguments_that_become_the_same_object():
    def make():
        def f(a, b, x):
            a.append(x)
            return len(b), a, b
        return f
    f = ms.jit(make())
    for _ in range(2):
        p, q = [1], [2]
        assert f(p, q, X)[0] == 1 and len(p) == 2 and q == [2]
        same = [1]
        n, a, b = f(same, same, X)
        assert n == 2 and a is same and b is same and len(same) == 2


def test_changed_tensor_methods_are_seen():
    f = ms.jit(lambda x: x.flatten())
    assert f(X).shape == (12,)
    original = Tensor.flatten
    try:
        Tensor.flatten = lambda self: self + 1
        assert f(X).shape == (3, 4)
    finally:
        Tensor.flatten = original
    assert f(X).shape == (12,)


def test_profilers_and_tracers_see_the_plain_function():
    import sys

    @ms.jit
    def f(x):
        y = x + 1
        return y * 2
    f(X)
    seen = []
    sys.settrace(lambda frame, event, arg: seen.append(frame.f_code.co_name))
    try:
        f(X)
    finally:
        sys.settrace(None)
    assert "f" in seen


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="sys.monitoring came with CPython 3.12")
def test_monitoring_tools_see_the_plain_function():
    def inner(t):
        return t + 1

    @ms.jit
    def f(x):
        y = inner(x)
        return y * 2
    f(X)
    monitoring, seen = sys.monitoring, []
    monitoring.use_tool_id(3, "test")
    try:
        monitoring.register_callback(3, monitoring.events.PY_START, lambda code, offset: seen.append(code.co_name))
        monitoring.set_events(3, monitoring.events.PY_START)
        f(X)
    finally:
        monitoring.set_events(3, 0)
        monitoring.free_tool_id(3)
    assert seen[:2] == ["f", "inner"]
    before = ms.explain(f).graph_runs
    f(X)
    assert ms.explain(f).graph_runs == before + 1


def test_threads_share_a_function():
    import threading

    @ms.jit
    def f(x, k):
        return (x * k + 1).sum()
    want = {k: (X * k + 1).sum().item() for k in range(4)}
    bad = []

    def work(k):
        for _ in range(300):
            if f(X, k).item() != want[k]:
                bad.append(k)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert not bad


def test_imports_of_loaded_modules():
    def f(x):
        import math
        import os.path
        import numpy.linalg as la
        from math import pi, sqrt
        from pijit import ops as o
        return o.tanh(x) * math.sqrt(2) * sqrt(pi), os.path.sep, la.norm.__name__
    check(lambda: f, X, graphs=1, breaks=0)


def test_an_import_that_runs_a_module_is_left_to_python(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "pijit_test_fresh.py").write_text("print('imported')\nvalue = 3\n")

    def make():
        import sys
        sys.modules.pop("pijit_test_fresh", None)

        def f(x):
            y = x + 1
            import pijit_test_fresh
            return y * pijit_test_fresh.value
        return f
    check(make, X)


def test_a_replaced_import_hook_is_called(monkeypatch):
    import builtins
    original = builtins.__import__
    seen = []

    def hook(name, *args):
        seen.append(name)
        return original(name, *args)

    @ms.jit
    def f(x):
        import math
        return x * math.pi
    f(X)
    f(X)
    monkeypatch.setattr(builtins, "__import__", hook)
    f(X)
    assert "math" in seen


def test_jitted_functions_inside_jitted_functions():
    def make():
        @ms.jit
        def helper(x, k=2):
            return ops.tanh(x) * k

        class Model:
            @ms.jit
            def step(self, x):
                return helper(x) + 1

        model, table = Model(), {"h": helper}

        def f(x):
            return helper(x) + helper(x * 2, 3) + model.step(x) + model.step(x + 1) + table["h"](x)
        return f
    check(make, X, graphs=1, breaks=0, calls=3)


def test_class_attributes():
    import enum
    import itertools

    class Color(enum.Enum):
        RED = 2
        BLUE = 3

    class Computed:
        def __get__(self, obj, owner=None):
            return 5 if obj is None else 7

    class Meta(type):
        @property
        def above(cls):
            return 11

        def __getattr__(cls, name):
            return len(name)

    class Base:
        """Documented."""
        note: int = 3

    class Thing(Base, metaclass=Meta):
        computed = Computed()
        plain = 2
        above = 1

        @classmethod
        def made(cls, x):
            return x * cls.plain

        @staticmethod
        def fixed(x):
            return x + 1

        def method(self, x):
            return x - 1

    def make():
        def f(x):
            y = (x * Color.RED.value + Color["BLUE"].value + Thing.computed * Thing().computed + Thing.above *
                 Thing.missing + Thing.plain)
            y = Thing.made(y) + Thing.fixed(y) + Thing.method(None, y) + Thing().made(y)
            return (y, int.from_bytes(b"abc", "big"), list(itertools.chain.from_iterable([[1, 2], [3]])),
                    dict.fromkeys("ab", 1), str.join(",", ["a", "b"]), float.fromhex("0x1p3"))
        return f
    check(make, X, calls=3)

    def make_names():
        def f(x):
            return (x + 1, Thing.__doc__, Base.__doc__, Thing.__name__, Thing.__class__, Thing.__module__,
                    Thing.__mro__, Thing.__annotations__, Base.__annotations__, Thing.__qualname__)
        return f
    check(make_names, X, calls=3)


def test_dict_views():
    results = []
    for wrap in (lambda g: g, ms.jit):
        def f(x, d):
            keys, values, items = d.keys(), d.values(), d.items()
            y = x
            for _ in range(2):
                for k, v in items:
                    y = y + v * len(k)
            d["new"] = x * 2
            n = len(keys), len(list(values)), "new" in keys, "old" in d.keys(), bool(items), isinstance(keys, list)
            print(sorted(keys - ["new"]))
            return y, n, keys, [k for k in keys], list(items)[-1], keys & {"a", "new"}
        g = wrap(f)
        for _ in range(3):
            y, n, keys, listed, last, common = g(X, {"a": X + 1, "bc": X - 1})
            results.append((y.asnumpy().tobytes(), n, type(keys).__name__, list(keys), listed, last[0],
                            last[1].asnumpy().tobytes(), common))
    assert all(r == results[0] for r in results)


def test_dict_that_changes_under_an_iterator():
    def make():
        def f(x):
            d = {"a": x, "b": x + 1}
            for k in d:
                d[k + "2"] = x
            return d
        return f
    check(make, X, calls=2)


def test_membership_in_a_frozenset_attribute():
    class Words:
        def __init__(self, known):
            self.known = frozenset(known)

    def make():
        a, b = Words("abc"), Words("xyz")

        def has(words, x, c):
            return x + 1 if c in words.known else x - 1
        jitted = ms.jit(has)
        return lambda x: [jitted(w, x, c) for w in (a, b) for c in "ax"]
    check(make, X, calls=2)


def test_jitted_functions_as_objects():
    def make():
        @ms.jit
        def helper(x):
            return x * 2
        helper.note = 3

        class Model:
            step = ms.jit(lambda self, x: x + 1)
        model, table = Model(), {helper: 1}

        def f(x):
            y = helper(x) + model.step(x) * helper.note
            return (y, helper, model.step, [helper], helper in (helper,), helper is helper, table[helper],
                    helper.__name__, model.step == model.step)
        jitted = ms.jit(f)

        def run(x):
            y, h, step, inside, *rest = jitted(x)
            return y, h is helper, step == model.step, type(step.__func__).__name__, inside[0] is helper, rest
        return run
    want = check(make, X, calls=2)
    assert want is not None
    y, h, step, *rest = (lambda r: r)(make()(X))
    assert (h is True and step is True and rest[0] == "JitFunction" and rest[1] is True
            and rest[2] == [True, True, 1, "helper", True])
