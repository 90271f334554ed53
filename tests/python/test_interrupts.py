"""Ctrl-C, other signals and exceptions from other threads, at any moment of a gradient, Jacobian or mapped function:
the next op works, and no tape stays active."""

import _thread
import contextlib
import contextvars
import ctypes
import gc
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback

import numpy as np
import pytest

import pijit as ms
from pijit import Tensor, _C, nn, ops

X = Tensor([1.0, 2.0, 3.0])
NET = nn.SequentialCell(nn.Dense(3, 4), nn.Tanh(), nn.Dense(4, 1))


def f(x):
    return ops.sin(x * x).sum()


class Stop(Exception):
    pass


TRANSFORMED = {
    "grad": ms.grad(f),
    "value_and_grad": ms.value_and_grad(lambda x: NET(x).sum(), 0, NET.trainable_params()),
    "jvp": lambda x: ms.jvp(f, x, x),
    "vjp": lambda x: ms.vjp(f, x)[1](Tensor(1.0)),
    "jacrev": ms.jacrev(f),
    "jacfwd": ms.jacfwd(f),
    "vmap": ms.vmap(lambda r: ops.sin(r * r)),
    "second order": ms.grad(lambda x: ms.grad(f)(x).sum()),
    "mapped gradient": ms.vmap(ms.grad(lambda r: ops.sin(r * r))),
    "jitted": ms.jit(ms.grad(f)),
    "broken": ms.jit(ms.grad(lambda x: f(x) * float(eval("1")))),
}


def values(result):
    return [result.asnumpy().tolist()] if isinstance(result, Tensor) else [v for r in result for v in values(r)]


def check(name, want):
    assert not _C.active_tapes(), name
    assert (X * 2 + 1).asnumpy().tolist() == [3.0, 5.0, 7.0]
    assert values(TRANSFORMED[name](X)) == want


@pytest.fixture
def alarm():
    def handler(*_):
        raise Stop
    before = signal.signal(signal.SIGALRM, handler)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def until(raised, name, seconds=0.6):
    """How often `raised`, called with a count, let an exception of the given kind through."""
    want, hits, turn = values(TRANSFORMED[name](X)), 0, 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        turn += 1
        hits += raised(turn)
        check(name, want)
    return hits


@pytest.mark.parametrize("name", TRANSFORMED)
def test_a_timer(name, alarm):
    def raised(turn):
        try:
            signal.setitimer(signal.ITIMER_REAL, 2e-6 + turn * 7919 % 1000 * 1e-6)
            while True:
                TRANSFORMED[name](X)
        except Stop:
            return True
    assert until(raised, name) > 20


@pytest.mark.parametrize("name", TRANSFORMED)
def test_each_line_and_call(name):
    """An interrupt that waits since the n-th event of the interpreter: CPython takes it at its next chance."""
    want = values(TRANSFORMED[name](X))

    def events(stop):
        count = 0

        def profile(*_):
            nonlocal count
            count += 1
            if count == stop:
                _thread.interrupt_main()
        return profile, lambda: count
    profile, counted = events(0)
    sys.setprofile(profile)
    try:
        TRANSFORMED[name](X)
    finally:
        sys.setprofile(None)
    seen = 0
    for stop in range(1, counted() + 1, max(1, counted() // 150)):
        try:
            sys.setprofile(events(stop)[0])
            TRANSFORMED[name](X)
            sys.setprofile(None)
            for _ in range(9):
                pass  # where it is taken at the latest
        except KeyboardInterrupt:
            seen += 1
        finally:
            sys.setprofile(None)
        check(name, want)
    assert seen > 3


@pytest.mark.parametrize("name", ["grad", "jvp", "jacrev", "vmap", "second order", "jitted"])
def test_an_exception_from_another_thread(name):
    want, hits, failed = values(TRANSFORMED[name](X)), 0, []
    ready, done = threading.Event(), threading.Event()

    def work():
        nonlocal hits
        while not done.is_set():
            try:
                ready.set()
                while not done.is_set():
                    TRANSFORMED[name](X)
            except Stop:
                hits += 1
            # Behind the handler: in it the exception's traceback may hold a tape that was just about to end.
            try:
                check(name, want)
            except Stop:
                pass
            except BaseException as e:
                failed.append(e)
                return

    def start():
        def until_it_is_hit_elsewhere():
            try:
                work()
            except Stop:  # between the two
                pass

        t = threading.Thread(target=until_it_is_hit_elsewhere)
        t.start()
        return t

    t = start()
    ready.wait()
    end = time.monotonic() + 0.6
    while time.monotonic() < end and not failed:
        if not t.is_alive():
            t = start()
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(t.ident), ctypes.py_object(Stop))
        time.sleep(0.003)
    done.set()
    t.join(60)
    assert not t.is_alive() and not failed and hits > 5
    assert not _C.active_tapes()


def of_examples(x):
    y = np.zeros_like(x) + np.linspace(0.0, 1.0, x.size)
    return np.outer(x, y).std() + np.median(y) + np.linalg.inv(np.eye(3) + x[0]).sum()


def of_loops(x):
    total = 0.0
    for i in range(3):
        total += np.median(x) + np.linalg.inv(np.eye(2) + i)[0, 0]
        for v in x:
            total += v
    return total


def of_tensors(x):
    for i in range(20):
        x = nn.ReLU()(ops.sin(x) * i)
    return x.sum() if ops.exp(x).mean() > 1 else x


@pytest.mark.parametrize("captured", [of_examples, of_loops, of_tensors], ids=lambda f: f.__name__)
def test_captures_hold_signals_back(captured, alarm):
    x = X if captured is of_tensors else np.linspace(1.0, 2.0, 9)
    came = raised = 0

    def handler(*_):
        nonlocal came
        came += 1
        raise Stop
    signal.signal(signal.SIGALRM, handler)
    for _ in range(2):
        began = time.perf_counter()
        ms.jit(captured)(x)
        took = time.perf_counter() - began
    turn = 0
    end = time.monotonic() + 0.8
    while time.monotonic() < end:
        turn += 1
        try:
            jitted = ms.jit(captured)
            try:
                signal.setitimer(signal.ITIMER_REAL, max(1e-6, took * (turn * 7919 % 1000) / 1000))
                contextvars.copy_context().run(jitted, x)  # a handler may leave np.errstate as np.linalg.inv sets it
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except Stop as e:
            raised += 1
            lines = [t.name for t in traceback.extract_tb(e.__traceback__)]
            # CPython 3.9 doesn't tell the main thread of a signal that one of OpenBLAS's threads got.
            assert sys.version_info < (3, 10) or lines[1] in (captured.__name__, "handler"), lines
        assert came == raised
    assert raised > 5


def times_out(x, n, log):
    log.append("begun")
    done = 0
    try:
        while done < n:
            x = ops.tanh(ops.matmul(x, x.T))[:, :3] + x.mean()
            done += 1
    except Stop:
        return "caught", done >= 0
    finally:
        log.append("done")
    return "all", done


def times_out_below(x, n, log):
    return times_out(x, n, log)[0]


def times_out_in_a_loop(x, n, log):
    for k in range(3):
        with contextlib.suppress(Stop):
            while k < n:
                x = ops.sin(x + k)
        log.append(k)
        signal.setitimer(signal.ITIMER_REAL, 0.03)
    return "caught"


def times_out_in_a_graph(x, n, log):
    log.append("begun")
    try:
        return ops.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, ops.sin(y) + 1), [Tensor(0), x])
    except Stop:
        return "caught"
    finally:
        log.append("done")


@pytest.mark.parametrize("seconds", [0.03, 0.07, 0.15])
@pytest.mark.parametrize("function, log", [
    (times_out, ["begun", "done"]), (times_out_below, ["begun", "done"]), (times_out_in_a_loop, [0, 1, 2]),
    (times_out_in_a_graph, ["begun", "done"])])
def test_a_function_catches_what_ends_its_capture(function, log, seconds, alarm):
    caught = 0
    for _ in range(3):
        came, jitted = [], ms.jit(function)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            result = jitted(ops.ones((3, 3)), 10**9, came)
            assert "caught" in result and came == log
            caught += 1
        # It came before the `try`, as other processes had the processor, or at a jump of a loop that has been left
        # out of it (CPython 3.13).
        except Stop:
            pass
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    assert caught


def test_handlers_that_raise_nothing_let_graphs_go_on(alarm):
    came = []
    signal.signal(signal.SIGALRM, lambda *_: came.append(len(log)))
    log, jitted = [], ms.jit(times_out_in_a_graph)
    want = ms.jit(times_out_in_a_graph)(ops.ones((3,)), 20_000, [])
    signal.setitimer(signal.ITIMER_REAL, 0.004, 0.004)
    for k in range(4):
        got = jitted(ops.ones((3,)), 20_000, log)
        assert [v.asnumpy().tolist() for v in got] == [v.asnumpy().tolist() for v in want]
        assert log == ["begun", "done"] * (k + 1)
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert came and ms.explain(jitted).graph_runs > 0


def test_a_script_gets_all_that_its_handlers_raise(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent("""
        import signal, time, types
        import numpy as np

        class Stop(Exception):
            pass

        came = raised = 0

        def handler(*_):
            global came
            came += 1
            raise Stop

        def f(a, n):
            total = 0.0
            for i in range(n):
                total += np.median(a * i) + (a * i).sum()
            return total

        signal.signal(signal.SIGALRM, handler)
        x, turn = np.arange(30.0), 0
        f(x, 3)  # imports what its functions import
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            fresh = types.FunctionType(f.__code__.replace(co_name=f"f{turn}"), globals())
            turn += 1
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, 1e-6 * (10 + turn * 7919 % 1000))
                    fresh(x, 30)
                    fresh(x, 30)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except Stop:
                raised += 1
            assert came == raised
        print(raised > 100)
        """))
    p = subprocess.run([sys.executable, "-m", "pijit", script], capture_output=True, text=True, timeout=120)
    assert p.stdout == "True\n", p.stderr


# Each signal ends a loop that has no other end.
LOADED_WHILE_BUSY = """
import os, signal, sys, threading, time
import numpy as np

class Stop(Exception):
    pass

def handler(*_):
    if RAISES:
        raise Stop
    came.append(1)

came = []
signal.signal(signal.SIGALRM, handler)

def work(x):
    for _ in range(20):
        x = np.sqrt(x * x + 1.0)

def until_it_came(x):
    while not came:
        work(x)

def interrupted(x, start):
    try:
        start()
        until_it_came(x)  # CPython 3.13 guards no jump back at the end of a `try`
    except (Stop, KeyboardInterrupt):
        pass
    came.clear()

def main():
    x, rest = np.ones(100), 40
    while rest > 0:
        interrupted(x, START)
        rest -= "pijit" in sys.modules
    print("all ended a loop")

main()
"""
TIMER = "lambda: signal.setitimer(signal.ITIMER_REAL, 0.01)"
SENT = "lambda: threading.Timer(0.01, os.kill, (os.getpid(), signal.SIG{})).start()"


@pytest.mark.parametrize("raises, start", [(True, TIMER), (False, TIMER), (True, SENT.format("ALRM")),
                                           (True, SENT.format("INT"))])
def test_signals_while_the_package_is_loaded(raises, start, tmp_path):
    """`python -m pijit` loads it while the program runs: no handler's exception is taken for the package's."""
    script = tmp_path / "script.py"
    script.write_text(LOADED_WHILE_BUSY.replace("RAISES", str(raises)).replace("START", start))
    p = subprocess.run([sys.executable, "-m", "pijit", script], capture_output=True, text=True, timeout=120)
    assert p.stdout == "all ended a loop\n", p.stderr


@pytest.mark.parametrize("use", ["reverse", "forward", "batch"])
def test_a_tape_that_dies_is_active_no_more(use):
    tape = _C.Tape(use)
    tape.watch(X._alias())
    tape.start()
    assert _C.active_tapes() == [tape]
    del tape
    gc.collect()
    assert not _C.active_tapes()
    assert (X * 2).asnumpy().tolist() == [2.0, 4.0, 6.0]


def test_a_tape_that_dies_on_another_thread():
    kept, left, go = [], [], threading.Event()

    def start():
        tape = _C.Tape()
        tape.start()
        kept.append(tape)
        del tape
        go.wait()
        left.append(len(_C.active_tapes()))
        (X * 2).asnumpy()
    t = threading.Thread(target=start)
    t.start()
    while not kept:
        time.sleep(0.001)
    kept.clear()
    gc.collect()
    go.set()
    t.join()
    assert left == [0]


def test_a_thread_that_ends_before_its_tape():
    kept = []

    def start():
        kept.append(_C.Tape())
        kept[0].start()
    t = threading.Thread(target=start)
    t.start()
    t.join()
    kept[0].stop()
    kept.clear()
    gc.collect()
    assert not _C.active_tapes()
