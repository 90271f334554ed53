"""Programs that take long let other threads run: what these see and do meanwhile, how a process forks and ends."""

import gc
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import pijit as ms
from pijit import Parameter, Tensor, nn, ops
from test_threads import in_child

R = np.random.RandomState(0)


DRAWN = R.randn(1 << 16).astype(np.float32)


def tensor(*shape):
    return Tensor(np.resize(DRAWN, shape))  # many times as fast as so many draws


def long_enough(f, seconds=0.15, make=tensor, n=1 << 16):
    """An argument for which a call of f, warmed up, takes that long."""
    while True:
        x = make(n)
        f(x)
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            f(x)
            times.append(time.perf_counter() - begin)
        if min(times) > seconds:
            return x
        n *= 2


def chain(x):
    for _ in range(8):
        x = ops.sin(x) + ops.exp(ops.cos(x)) * 0.25
    return x


class Ticks:
    """A thread that counts while the body of a `with` runs."""

    def __enter__(self):
        self.count, self.over = 0, False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        return self

    def run(self):
        while not self.over:
            self.count += 1
            time.sleep(0.001)

    def __exit__(self, *_):
        self.over = True
        self.thread.join()

    def many_during(self, call):
        """Does it count in a call? On a busy machine not in each; and a switch around one gives one or two."""
        for _ in range(30):
            before = self.count
            call()
            if self.count - before > 5:
                return True
        return False


def in_threads(n, f, *args):
    """What f gave in n threads at once; an exception of one is raised."""
    results, start = [], threading.Barrier(n)

    def run():
        try:
            start.wait()
            results.append(f(*args))
        except BaseException as e:
            results.append(e)

    threads = [threading.Thread(target=run) for _ in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for r in results:
        if isinstance(r, BaseException):
            raise r
    return results


def test_a_program():
    f = ms.jit(lambda x: chain(x).sum())
    x = long_enough(f)
    with Ticks() as ticks:
        assert ticks.many_during(lambda: f(x))
    assert f(x).item() == chain(x).sum().item()


def test_an_eager_op():
    for op in (ops.erfinv, lambda x: x**1.37, lambda x: -x):
        x = long_enough(op, 0.05)
        with Ticks() as ticks:
            assert ticks.many_during(lambda: op(x))


def test_gradients():
    def grad(x):
        return ms.grad(lambda x: chain(x).sum())(x)

    for f in (grad, ms.jit(grad), lambda x: ms.grad(ms.jit(lambda x: chain(x).sum()))(x)):
        x = long_enough(f)
        with Ticks() as ticks:
            assert ticks.many_during(lambda: f(x))


def test_a_loop_on_a_tensor():
    @ms.jit
    def f(x, n):
        i = Tensor(0)
        while i < n:
            x = ops.sin(x) + 1
            i = i + 1
        return x.sum()

    x = tensor(300_000)
    n = long_enough(lambda n: f(x, n), make=Tensor, n=64)
    want = f(x, n).item()
    with Ticks() as ticks:
        assert ticks.many_during(lambda: f(x, n))
    assert f(x, n).item() == want


def test_reading_a_large_tensor():
    x = ops.zeros((1 << 26,))
    with Ticks() as ticks:
        assert ticks.many_during(x.asnumpy)
    # Another value that it gets meanwhile is of no matter.
    over = threading.Event()

    def assign():
        while not over.is_set():
            x._assign(ops.ones((1 << 26,)))
            x._assign(ops.zeros((1 << 26,)))

    t = threading.Thread(target=assign)
    t.start()
    try:
        for _ in range(3):
            a = x.asnumpy()
            assert a.min() == a.max()
    finally:
        over.set()
        t.join()


class Net(nn.Cell):
    def __init__(self, n):
        super().__init__()
        self.w = Parameter(ops.ones((n,)), name="w")
        self.m = Parameter(ops.zeros((n,)), name="m")
        self.seen = Parameter(Tensor(0), name="seen", requires_grad=False)
        self.steps = 0
        self.log = []

    def construct(self, x):
        g = ops.sin(chain(self.w * x)) * 0.1
        self.m.set_data(self.m * 0.9 + g)
        self.w.set_data(self.w - self.m * 0.01)
        self.seen.set_data(self.seen + 1)
        self.steps += 1
        self.log.append(self.steps)
        return self.w.sum()


def state(net):
    return net.w.asnumpy().tobytes(), net.m.asnumpy().tobytes(), int(net.seen), net.steps


@pytest.mark.parametrize("reads", [False, True])
def test_threads_that_train_one_cell(reads):
    """As if one step had come after the other; and a parameter that is read is that of one of the steps."""
    n, threads, steps = 200_000, 3, 6
    x = tensor(n)
    alone = Net(n)
    want, losses = [state(alone)], []
    plain = ms.jit(alone)
    for _ in range(threads * steps + 1):
        losses.append(plain(x).item())
        want.append(state(alone))
    net = Net(n)
    step = ms.jit(net)
    got = [step(x).item()]  # captured
    torn, over = [], threading.Event()

    def read():
        values = {w for w, *_ in want}
        while not over.is_set():
            if net.w.asnumpy().tobytes() not in values:
                torn.append(net.steps)

    reader = threading.Thread(target=read)
    if reads:
        reader.start()
    try:
        for r in in_threads(threads, lambda: [step(x).item() for _ in range(steps)]):
            got += r
    finally:
        over.set()
        if reads:
            reader.join()
    assert not torn
    assert sorted(got) == sorted(losses)
    assert state(net) == want[-1]
    assert net.log == list(range(1, threads * steps + 2))


def test_threads_that_train_with_gradients():
    n, threads, steps = 96, 3, 5
    x = tensor(64, n)

    def make():
        net = nn.SequentialCell(nn.Dense(n, 512), nn.ReLU(), nn.Dense(512, n))
        for k, p in enumerate(net.trainable_params()):
            p.set_data(Tensor(np.random.RandomState(k).randn(*p.shape).astype(np.float32) * 0.1))
        opt = nn.Adam(net.trainable_params(), 1e-2)
        grads = ms.value_and_grad(lambda x: ops.square(net(x) - x).mean(), None, net.trainable_params())

        @ms.jit
        def step(x):
            loss, g = grads(x)
            opt(g)
            return loss

        return net, step

    net, step = make()
    losses = [step(x).item() for _ in range(threads * steps)]
    want = [p.asnumpy().tobytes() for p in net.trainable_params()]
    net, step = make()
    got = [step(x).item()]
    for r in in_threads(threads, lambda: [step(x).item() for _ in range(steps)]):
        got += r
    extra = len(got) - len(losses)
    net2, step2 = make()
    losses = [step2(x).item() for _ in range(threads * steps + extra)]
    want = [p.asnumpy().tobytes() for p in net2.trainable_params()]
    assert sorted(got) == sorted(losses)
    assert [p.asnumpy().tobytes() for p in net.trainable_params()] == want


def test_random_numbers_are_drawn_once():
    @ms.jit
    def f(x):
        return ops.rand(3), chain(x).sum()

    x = long_enough(f, 0.02)
    ms.set_seed(5)
    serial = sorted(f(x)[0].asnumpy().tobytes() for _ in range(12))
    ms.set_seed(5)
    got = [r for rs in in_threads(3, lambda: [f(x)[0].asnumpy().tobytes() for _ in range(4)]) for r in rs]
    assert sorted(got) == serial


def test_what_changes_meanwhile_is_seen_by_changes_alone():
    """A result is that of the values at the call; a change builds on the values that are there when it is made."""
    class Box:
        pass

    box = Box()
    box.scale, box.n, box.log = 2.0, 0, []

    @ms.jit
    def result(x):
        return (chain(x) * box.scale).sum()

    @ms.jit
    def change(x):
        r = (chain(x) * box.scale).sum()
        box.n = box.n + 1
        box.log.append((box.n, box.scale))
        return r

    x = long_enough(lambda x: (result(x), change(x)))
    for f in (result, change):
        box.scale, box.n = 2.0, 0
        twice = f(x).item()
        box.scale = 3.0
        thrice = f(x).item()
        box.scale, box.log[:], box.n = 2.0, [], 0
        entered = threading.Event()

        def meddle(entered=entered):
            entered.wait()
            time.sleep(0.03)
            box.scale = 3.0

        t = threading.Thread(target=meddle)
        t.start()
        entered.set()
        got = f(x).item()
        t.join()
        assert got in (twice, thrice)
        if f is change:
            assert box.n == 1 and box.log == [(1, 2.0 if got == twice else 3.0)]


def test_entries_are_given_up_while_they_run():
    def g(x, k):
        return (chain(x) * k).sum()

    f = ms.jit(g)
    x = long_enough(lambda x: f(x, "a" and 2.0))
    want = f(x, 2.0).item()
    over, got = threading.Event(), []

    def run():
        while not over.is_set():
            got.append(f(x, 2.0).item())

    t = threading.Thread(target=run)
    t.start()
    small = tensor(3)
    try:
        for k in range(60):
            f(Tensor(np.ones((1,) * (k % 5) + (k + 1,), (np.float32, np.float64, np.int32)[k % 3])), 2.0 + k % 2)
            f(small, k)
            gc.collect()
    finally:
        over.set()
        t.join()
    assert got and set(got) == {want}


def test_a_function_dies_while_it_runs():
    f = ms.jit(lambda x: chain(x).sum())
    x = long_enough(f)
    want, got, begun = f(x).item(), [], threading.Event()

    def run(f):
        begun.set()
        got.append(f(x).item())

    t = threading.Thread(target=run, args=(f,))
    t.start()
    del f
    begun.wait()
    gc.collect()
    t.join()
    assert got == [want]


def test_exceptions():
    def g(x, i):
        y = chain(x)
        z = ops.gather(y, i, 0)
        return z.sum()

    f = ms.jit(g)
    i = Tensor(np.array([0, 1]))
    x = long_enough(lambda x: f(x, i), 0.05)
    want, bad = f(x, i).item(), Tensor(np.array([0, 1 << 40]))

    def one():
        values = []
        for _ in range(3):
            try:
                f(x, bad)
            except Exception as e:
                values.append((type(e), str(e), e.__traceback__.tb_next.tb_lineno))
            values.append(f(x, i).item())
        return values

    try:
        g(x, bad)
    except Exception as e:
        raised = type(e), str(e), e.__traceback__.tb_next.tb_lineno
    assert in_threads(3, one) == [[raised, want] * 3] * 3


def test_signals_are_handled_meanwhile():
    """In the main thread, while another one is in a call."""
    f = ms.jit(lambda x: chain(x).sum())
    x = long_enough(f, 0.4)
    running, handled, t = threading.Event(), [], None

    def run():
        running.set()
        f(x)
        handled.append("returned")

    def handler(*_):
        handled.append("handled")
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handler)
    try:
        t = threading.Thread(target=run)
        t.start()
        running.wait()
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            time.sleep(30)
    finally:
        signal.signal(signal.SIGALRM, before)
        t.join()
    assert handled == ["handled", "returned"]


@pytest.mark.filterwarnings("ignore:.*fork")
def test_forks_while_others_run():
    f = ms.jit(lambda x: ops.matmul(x, x).sum() + chain(x).sum())
    x, small = tensor(600, 600), tensor(8, 8)
    want, of_small = f(x).item(), f(small).item()
    over = threading.Event()

    def run():
        while not over.is_set():
            f(x)
            ops.matmul(x, x)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for t in threads:
        t.start()
    try:
        for _ in range(8):
            assert in_child(lambda: f(small).item() == of_small and ops.matmul(small, small).asnumpy().size == 64)
    finally:
        over.set()
        for t in threads:
            t.join()
    assert f(x).item() == want


def run_script(code):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)


def test_the_interpreter_ends_while_daemons_run():
    ran = run_script("""
        import threading, time
        import numpy as np, pijit as ms
        from pijit import ops, Tensor
        x = Tensor(np.ones(300_000, np.float32))
        f = ms.jit(lambda x: ops.sin(ops.exp(ops.cos(x))).sum())
        @ms.jit
        def loop(x):
            while x.sum() > -1:
                x = ops.sin(x) + 1
            return x
        def run():
            while True:
                f(x), ops.exp(x)
        f(x)
        for target in (run, run, lambda: loop(x)):
            threading.Thread(target=target, daemon=True).start()
        time.sleep(0.7)
        print("ends")
    """)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "ends\n", "")


def test_ctrl_c_ends_a_program_whose_threads_compute():
    ran = run_script("""
        import os, signal, threading, time
        import numpy as np, pijit as ms
        from pijit import ops, Tensor
        signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let background processes ignore it
        x = Tensor(np.ones(300_000, np.float32))
        f = ms.jit(lambda x: ops.sin(ops.exp(ops.cos(x))).sum())
        f(x)
        over = False
        def run():
            while not over:
                f(x)
        t = threading.Thread(target=run)
        t.start()
        try:
            threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
            while True:
                f(x)
        except KeyboardInterrupt:
            print("interrupted")
        over = True
        t.join()
    """)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "interrupted\n", "")
