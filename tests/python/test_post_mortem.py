# ruff: noqa: F841 (variables that only frames show)
"""What a debugger sees of captured code: arguments and names in frames of tracebacks, and where a program stops."""

import contextlib
import inspect
import os
import pathlib
import subprocess
import sys

import pytest

import pijit as ms
from pijit import ops


def frames(f, *args, **kwargs):
    """(name, text of the arguments, locals) of each frame of this file below the call, as IPython shows them."""
    for _ in range(3):  # captured, and then from the cache
        with pytest.raises(KeyError) as e:
            f(*args, **kwargs)
    out, tb = [], e.tb.tb_next
    while tb:
        frame = tb.tb_frame
        if frame.f_code.co_filename == __file__ and frame.f_code.co_name != "frames":
            text = inspect.formatargvalues(*inspect.getargvalues(frame), formatvalue=lambda v: "")
            out.append((frame.f_code.co_name, text, dict(frame.f_locals)))
        tb = tb.tb_next
    return out


def lookup(x, scale, *, table):
    y = ops.tanh(x) * scale
    k = float(y.sum())
    z = y + k
    found = table[k]
    return z + found


def outer(x, table):
    shifted = x + 1
    return lookup(shifted, 2.0, table=table) * shifted


class Model:
    def __init__(self):
        self.table = {}

    def __call__(self, x, *rest, flag=True):
        inner = super().__hash__() is not None
        n = x.asnumpy().sum()
        return self.table[n] if flag else (rest, inner)


def test_arguments_behind_a_break():
    x = ms.Tensor([1.0, 2.0])
    table = {}
    (name, text, seen), = frames(ms.jit(lookup), x, 3.0, table=table)
    assert (name, text) == ("lookup", "(x, scale, table)")
    assert seen["x"] is x and seen["scale"] == 3.0 and seen["table"] is table
    assert seen["k"] == float((ops.tanh(x) * 3).sum())
    assert (seen["z"] - ops.tanh(x) * 3 - seen["k"]).abs().max() < 1e-6


def test_arguments_of_an_inlined_function():
    x, table = ms.Tensor([1.0, 2.0]), {}
    (f, above, names), (g, below, inner) = frames(ms.jit(outer), x, table)
    assert (f, above, g, below) == ("outer", "(x, table)", "lookup", "(x, scale, table)")
    assert names["x"] is x and inner["table"] is table and inner["scale"] == 2.0


def test_arguments_of_a_method():
    x, m = ms.Tensor([1.0, 2.0]), Model()
    (_, text, seen), = frames(ms.jit(Model.__call__), m, x, 1, 2)
    # up to CPython 3.10 the frame has the function's own code
    assert text == ("(self, x, flag)" if sys.version_info >= (3, 11) else "(self, x, flag, *rest)")
    assert seen["self"] is m and seen["x"] is x
    assert seen["n"] == 3.0 and seen["rest"] == (1, 2)


def test_a_breakpoint_sees_all_names(tmp_path):
    script = tmp_path / "stops.py"
    script.write_text("""
import pijit as ms
from pijit import ops
@ms.jit
def step(x, rate):
    y = ops.tanh(x)
    unused = y * 2
    breakpoint()
    return y * rate
for _ in range(2):
    r = step(ms.Tensor([0.0, 0.0]), 3.0)
print(r.shape)
""")
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parents[2])}
    said = "p sorted(locals())\np rate, unused.shape\nc\nn\np y.shape\nc\n"
    r = subprocess.run([sys.executable, str(script)], env=env, input=said, capture_output=True, text=True, timeout=100)
    assert r.stdout.count("['rate', 'unused', 'x', 'y']") == 1 and "(3.0, (2,))" in r.stdout, r.stdout + r.stderr
    assert r.stdout.rstrip().endswith("(2,)"), r.stdout + r.stderr


# --- variables of frames whose exception the function handled on its way

def finally_replaces(s, n):
    try:
        s //= 0
    finally:
        n = 0


def handler_raises_again(s, n):
    try:
        n = 5
        s //= 0
    except ZeroDivisionError as e:
        n = 7
        raise


def handler_raises_it(s, n):
    try:
        s //= 0
    except ZeroDivisionError as e:
        n = 1
        raise e


def handler_raises_other(s, n):
    try:
        s //= 0
    except ZeroDivisionError:
        n = 3
        raise ValueError("x")


def finally_adds_and_deletes(s, n):
    try:
        s //= 0
    except ValueError:
        pass
    finally:
        m = 3
        del n


def nested_finally(s, n):
    try:
        try:
            s //= 0
        finally:
            n = 1
    finally:
        n = 2


def in_a_loop(s, n):
    t = 0
    for i in range(10):
        t += i
        try:
            s //= 5 - i
        finally:
            n = t


def handled_and_then_raised(s, n):
    try:
        s //= 0
    except ZeroDivisionError as e:
        kept = e
    n = 2
    for i in range(3):
        n += i
    raise kept


def changes_a_cell(s, n):
    def read():
        return n
    try:
        s //= 0
    finally:
        n = read() + 1


def in_a_with(s, n):
    with contextlib.suppress(ValueError):
        n = 3
        s //= 0


def variables(e):
    """Of the frames that the exception, its context and its cause name, by line."""
    out = []
    while e:
        tb = e.__traceback__
        while tb:
            if tb.tb_frame.f_code.co_name != "post_mortem":
                seen = {k: v for k, v in tb.tb_frame.f_locals.items() if isinstance(v, int)}
                out.append((tb.tb_frame.f_code.co_name, tb.tb_lineno, seen))
            tb = tb.tb_next
        e = e.__cause__ or e.__context__
    return out


def post_mortem(f):
    for _ in range(4):
        try:
            f(3, 4)
        except Exception as e:
            seen = variables(e)
    return seen


@pytest.mark.parametrize("f", [finally_replaces, handler_raises_again, handler_raises_it, handler_raises_other,
                               finally_adds_and_deletes, nested_finally, in_a_loop, handled_and_then_raised,
                               changes_a_cell, in_a_with], ids=lambda f: f.__name__)
def test_variables_behind_a_handler(f):
    assert post_mortem(ms.jit(f)) == post_mortem(f)


def keeps_errors(kept, looks, n):
    for i in range(4):
        try:
            n //= i % 2
        except ZeroDivisionError as e:
            kept.append(e)
            n = 10 + i
            looks.append(variables(e))
    n = 99
    return n


def test_variables_of_kept_exceptions_are_those_of_now():
    def seen(f):
        out = []
        for _ in range(4):
            kept, looks = [], []
            f(kept, looks, 7)
            out.append((looks, [variables(e) for e in kept]))
        return out
    assert seen(ms.jit(keeps_errors)) == seen(keeps_errors)


class Mourned:
    def __init__(self, log):
        self.log = log

    def __del__(self):
        self.log.append("died")


def holds_one(log, n):
    held = Mourned(log)
    try:
        n //= 0
    except ZeroDivisionError:
        n = 1
        log.append("handled")
    held = None
    log.append("dropped")
    last = Mourned(log)
    raise ValueError(n)


def test_what_kept_frames_hold_lives_as_long_as_they():
    def story(f):
        out = []
        for _ in range(4):
            log = []
            try:
                f(log, 3)
            except ValueError as e:
                log.append("caught")
                kept = e
            log.append(variables(kept))
            del kept
            out.append(log)
        return out
    assert story(ms.jit(holds_one)) == story(holds_one)


def test_frames_of_handled_exceptions_keep_nothing_alive():
    log = []

    class Seen:
        def __del__(self):
            log.append("dies")

    def bad():
        raise ValueError

    def make():
        def f(n):
            log.clear()
            d = Seen()
            for i in range(n):
                try:
                    bad()
                except ValueError:
                    pass
                d = None
                log.append(i)
            return d, list(log)
        return f

    plain, jitted = make(), ms.jit(make())
    for _ in range(4):
        assert jitted(3) == plain(3) == (None, ["dies", 0, 1, 2])
