"""Recursion through jitted code ends in RecursionError or the result, on stacks of any size; and what follows works."""

import os
import subprocess
import sys
import textwrap

import pytest

import pijit as ms

PROGRAM = """
import gc, sys, threading
import pijit as ms
from pijit import Tensor, nn, ops
x = Tensor([1.0])

{functions}

def go():
    for depth in {depths}:
        for again in range(3):
            try:
                run(depth)
            except RecursionError as e:
                # as CPython says it; from 3.14 on, it measures the stack by itself
                assert "recursion" in str(e) or "Stack overflow" in str(e), e
            except MemoryError as e:  # of eval()
                assert "Parser stack overflowed" in str(e), e
    assert (x * 2 + 1).asnumpy().tolist() == [3.0]
    assert run(2).asnumpy().tolist() == {small}
    gc.collect()

sys.setrecursionlimit({limit})
if {stack}:
    threading.stack_size({stack})
    failed = []
    threading.excepthook = lambda a: failed.append(a) or sys.__excepthook__(a.exc_type, a.exc_value, a.exc_traceback)
    t = threading.Thread(target=go)
    t.start()
    t.join()
    assert not failed
else:
    go()
"""
# run(n) recurses n times; then what run(2) gives.
KINDS = {
    "function": ("f = ms.jit(lambda x, n: x if n == 0 else f(x, n - 1) + 1)\nrun = lambda n: f(x, n)", [3.0]),
    "given back": ("""
        @ms.jit
        def f(n): return n if n == 0 else f(n - 1)
        def run(n): return x + f(n)
        """, [1.0]),
    "method": ("""
        class A:
            @ms.jit
            def f(self, x, n): return x if n == 0 else self.f(x, n - 1) + 1
        a = A()
        run = lambda n: a.f(x, n)
        """, [3.0]),
    "property": ("""
        class A:
            def __init__(self, n): self.n = n
            @property
            @ms.jit
            def f(self): return x if self.n == 0 else A(self.n - 1).f + 1
        run = lambda n: A(n).f
        """, [3.0]),
    "callee below a break": ("""
        def g(x, n):
            y = x + 1
            if n == 0: return y
            eval("0")
            return g(y, n - 1)
        f = ms.jit(lambda x, n: g(x, n))
        run = lambda n: f(x, n)
        """, [4.0]),
    "two functions": ("""
        f = ms.jit(lambda x, n: x if n == 0 else g(x, n - 1) + 1)
        def g(x, n): return x if n == 0 else f(x, n - 1) + 1
        run = lambda n: f(x, n)
        """, [3.0]),
    "Cell": ("""
        class Net(nn.Cell):
            @ms.jit
            def construct(self, x, n): return x if n == 0 else self.construct(x, n - 1) + 1
        net = Net()
        run = lambda n: net(x, n)
        """, [3.0]),
    "generator": ("""
        @ms.jit
        def f(x, n):
            def items():
                yield x if n == 0 else f(x, n - 1)
            return sum(items(), x)
        run = lambda n: f(x, n)
        """, [4.0]),
    "operator": ("""
        class A:
            def __init__(self, n): self.n = n
            @ms.jit
            def __add__(self, y): return y if self.n == 0 else A(self.n - 1) + (y + 1)
        run = lambda n: A(n) + x
        """, [3.0]),
    "polyfill": ("""
        import functools
        f = ms.jit(lambda x, n: x if n == 0 else functools.reduce(lambda a, b: a + f(b, n - 1), [x + 0], x) + 1)
        run = lambda n: f(x, n) * 0
        """, [0.0]),
    "repr": ("""
        class A:
            def __init__(self, n): self.n = n
            @ms.jit
            def __repr__(self): return "." if self.n == 0 else repr(A(self.n - 1))
        def run(n): repr(A(n)); return x
        """, [1.0]),
    "==": ("""
        class A:
            def __init__(self, n): self.n = n
            @ms.jit
            def __eq__(self, other): return self.n == 0 or A(self.n - 1) == other
        def run(n): A(n) == 1; return x
        """, [1.0]),
    "gradient": ("f = ms.jit(lambda x, n: x * 1 if n == 0 else f(x, n - 1) + x)\nrun = lambda n: ms.grad(f)(x, n)",
                 [3.0]),
    "nested argument": ("""
        def deep(n):
            t = (x,)
            for _ in range(n): t = (t,)
            return t
        f = ms.jit(lambda t: (x + 1, repr(t)[:1], t == t)[0])
        run = lambda n: f(deep(n)) - 1 + n if n == 2 else f(deep(n))
        """, [3.0]),
}


def run(kind, depths, stack=0, limit=1000):
    functions, small = KINDS[kind]
    code = PROGRAM.format(functions=textwrap.dedent(functions), depths=depths, small=small, stack=stack, limit=limit)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stderr[-2000:]}"


SMALLEST = [] if "ASAN_OPTIONS" in os.environ else [1 << 16]  # frames are larger under a sanitizer


@pytest.mark.parametrize("stack", [*SMALLEST, 1 << 18, 1 << 20])
@pytest.mark.parametrize("kind", KINDS)
def test_on_a_small_stack(kind, stack):
    if kind == "callee below a break" and stack == 1 << 16 and sys.version_info >= (3, 14):
        pytest.skip("CPython's parser, which the program calls, wants more")
    if kind == "callee below a break" and stack <= 1 << 18 and sys.version_info < (3, 11):
        pytest.skip("CPython's own calls take C stack, and die by themselves")
    # on 64 KiB (256 from 3.13 on), CPython's own repr() and == of what is nested that deep die by themselves
    dies = 1 << 18 if sys.version_info < (3, 13) else 1 << 19
    run(kind, [50] if kind == "nested argument" and stack < dies else [50, 900, 5000], stack)


# CPython's own calls of generators, of methods like __repr__ and of what Python objects compare with need C stack, too:
# behind so high a limit it dies by itself.
@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("generator", "operator", "repr", "==", "property")])
def test_behind_a_high_limit(kind):
    run(kind, [900, 20000], limit=50000)


def test_short_loops_in_a_function_that_calls_itself():
    """They become their turns, each of which leaves where the loop's would."""
    def f(n, x):
        s = 0
        for k in range(0, 4):
            s += k
        if n > 0:
            return f(n - 1, x) + s // (x - 3)
        for k in range(3):
            s += k * x
        return s

    def outcome(g, *args):
        try:
            return g(*args)
        except ZeroDivisionError as e:
            return str(e)
    j = ms.jit(f)
    for x in (1, 3, 10**18, 10**30, 2.5, 4):
        for n in (0, 1, 5, 30, 0):
            assert outcome(j, n, x) == outcome(f, n, x), (n, x)
