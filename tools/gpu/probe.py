"""Answers, on a GPU, what the emulation cannot show: tools/gpu/visit.sh probe. Each question is a process of its own,
so that one that crashes or hangs takes no other with it; they run side by side, but for those that measure time. Its
argument is the folder of results, or the name of one question."""

import concurrent.futures
import importlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

QUESTIONS = {}
TIMED = []


def question(f):
    QUESTIONS[f.__name__] = f
    return f


def timed(f):
    TIMED.append(f.__name__)
    return question(f)


def here():
    import numpy as np

    import pijit as ms
    begin = time.perf_counter()
    ms.set_context(device_target="GPU")
    return ms, np, time.perf_counter() - begin


def peer(name):
    """Another library; a question about one that is not here is left out."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        print(f"left out: there is no {name}")
        sys.exit()


def libraries():
    """Paths of NVIDIA's libraries that are loaded."""
    with open("/proc/self/maps", encoding="utf-8") as f:
        paths = {line.split()[-1] for line in f if ".so" in line}
    return sorted(p for p in paths if any(n in p for n in ("cuda", "nvrtc", "cublas", "cudnn", "cufft", "nvidia")))


@question
def machine():
    if shutil.which("nvidia-smi"):
        print(subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total,compute_cap",
                              "--format=csv,noheader"], capture_output=True, text=True).stdout.strip())
    else:
        print("there is no nvidia-smi")
    print(sys.version.split()[0], os.cpu_count(), "cores;", os.uname().release)


@question
def starts_and_finds_libraries():
    ms, np, seconds = here()
    from pijit import ops
    print(f"the device starts in {seconds * 1e3:.0f} ms")
    x = ms.Tensor(np.random.default_rng(0).standard_normal((64, 64), np.float32))
    print("kernel", float((x + x - 2 * x).sum()))
    a = x.asnumpy()
    print("product", np.abs((x @ x).asnumpy() - a @ a).max())
    print("transform", np.abs(ops.rfft(x).abs().asnumpy() - np.abs(np.fft.rfft(a))).max())
    image, w = ms.Tensor(a.reshape(1, 4, 32, 32)), ms.Tensor(a[:4].reshape(-1)[:144].reshape(4, 4, 3, 3))
    y = ops.conv2d(image, w)
    c = ops.conv2d(image.to("CPU"), w.to("CPU"))
    print("convolution", np.abs(y.asnumpy() - c.asnumpy()).max())
    for p in libraries():
        print("  ", p)


@question
def graphs_of_launches():
    """Trains ten steps as one graph, with changed addresses in between."""
    ms, np, _ = here()
    from pijit import nn
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Dense(64, 64), nn.ReLU(), nn.Dense(64, 10))
    opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    loss_fn = nn.CrossEntropyLoss()
    grad = ms.value_and_grad(lambda x, t: loss_fn(net(x), t), None, opt.parameters)

    @ms.jit
    def step(x, t):
        loss, grads = grad(x, t)
        opt(grads)
        return loss
    rng = np.random.default_rng(0)
    batches = [(ms.Tensor(rng.standard_normal((32, 64), np.float32)),
                ms.Tensor(rng.integers(0, 10, 32).astype(np.int32))) for _ in range(3)]
    losses = [float(step(*batches[k % 3])) for k in range(60)]
    print("losses", losses[:3], losses[-3:])
    kept = [step(*batches[k % 3]) for k in range(20)]  # results keep their blocks: addresses change
    print("kept", [float(v) for v in kept][-3:])


@question
def out_of_memory():
    ms, np, _ = here()
    from pijit import ops
    try:
        ops.zeros((1 << 38,), ms.float32).asnumpy()
    except RuntimeError as e:
        print(e)
    x = ops.ones((1 << 28,), ms.float32)
    print(float(x[:1024].sum()))


@question
def index_out_of_range():
    ms, np, _ = here()
    from pijit import ops
    x, i = ms.Tensor(np.ones((3, 2), np.float32)), ms.Tensor([0, 7])
    try:
        print(ops.gather(x, i, 0).asnumpy())
    except IndexError as e:
        print(e)
    print((x + 1).asnumpy().sum())


@question
def with_torch():
    ms, np, _ = here()
    torch = peer("torch")
    t = torch.arange(12, dtype=torch.float32, device="cuda").reshape(3, 4)
    x = ms.Tensor.from_dlpack(t)
    print(x.device, (x * 2).asnumpy().sum())
    back = torch.from_dlpack(x * 2)
    print(back.device, float(back.sum()), float((torch.from_dlpack(ms.ops.exp(x)) - t.exp()).abs().max()))
    part = ms.Tensor.from_dlpack(t.flatten()[1:9], copy=False)  # begins at no multiple of 16 bytes
    print((part * 2 + part).asnumpy().tolist())
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        y = torch.from_dlpack(x + 1)
        print(float(y.sum()))


@question
def with_cupy():
    ms, np, _ = here()
    cupy = peer("cupy")
    c = cupy.arange(12, dtype=cupy.float32).reshape(3, 4)
    x = ms.Tensor.from_dlpack(c)
    print(x.device, float((x + 1).sum()))
    print(cupy.from_dlpack(x * 3).sum())
    p = cupy.cuda.runtime.pointerGetAttributes(cupy.from_dlpack(x * 3).data.ptr)
    print("pointer", p.device, p.type)


@question
def a_failed_launch():
    """A kernel of another library breaks the context: what we say, and that the process ends."""
    ms, np, _ = here()
    cupy = peer("cupy")
    x = ms.Tensor(np.ones(8, np.float32))
    bad = cupy.RawKernel('extern "C" __global__ void bad(float* p) { *p = 1; }', "bad")
    try:
        bad((1,), (1,), (cupy.uint64(8),))
        cupy.cuda.runtime.deviceSynchronize()
    except Exception as e:
        print("cupy:", str(e)[:100])
    for _ in range(2):
        try:
            print((x + 1).asnumpy())
        except RuntimeError as e:
            print("pijit:", e)


@question
def attention():
    ms, np, _ = here()
    from pijit import ops
    q, k, v = (ms.Tensor(np.random.default_rng(s).standard_normal((2, 4, 128, 64), np.float32)).astype(ms.float16)
               for s in range(3))

    def f(q, k, v):
        return ops.softmax(q @ k.swapaxes(-1, -2) / 8.0, -1) @ v

    def step(q, k, v):
        return ms.value_and_grad(lambda q, k, v: f(q, k, v).astype(ms.float32).sum(), (0, 1, 2))(q, k, v)
    fast = ms.JitConfig(numerics="fast")
    g, h = ms.jit(f, jit_config=fast), ms.jit(step, jit_config=fast)
    want = f(*(x.to("CPU").astype(ms.float32) for x in (q, k, v))).asnumpy()
    print("error", np.abs(g(q, k, v).astype(ms.float32).asnumpy() - want).max())
    print("forward in one kernel:", "attention" in str(ms.profile(g, q, k, v, compare=False, seconds=0.01)))
    same = [np.concatenate([x.asnumpy().reshape(-1) for x in h(q, k, v)[1]]).tobytes() for _ in range(3)]
    print("gradient in one kernel:", "attention_gradient" in str(ms.profile(h, q, k, v, compare=False, seconds=0.01)),
          "same bits:", len(set(same)) == 1)


@question
def threads():
    ms, np, _ = here()
    import threading
    from pijit import ops
    a = np.random.default_rng(0).standard_normal((256, 256), np.float32)
    want, bad = None, []

    def work():
        x = ms.Tensor(a)
        for _ in range(50):
            got = ops.softmax(x @ x, -1).asnumpy().tobytes()
            if got != want:
                bad.append(1)
    want = ops.softmax(ms.Tensor(a) @ ms.Tensor(a), -1).asnumpy().tobytes()
    ts = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    print("differ:", len(bad))


@timed
def latencies():
    ms, np, _ = here()
    from pijit import ops
    x = ms.Tensor(np.ones(8, np.float32))
    w = ms.Tensor(np.ones((64, 64), np.float32))
    f = ms.jit(lambda x: x * 2 + 1)

    def per(g, n=2000):
        for _ in range(50):
            g()
        ms.runtime.synchronize()
        begin = time.perf_counter()
        for _ in range(n):
            g()
        host = time.perf_counter() - begin
        ms.runtime.synchronize()
        return f"{host / n * 1e6:.2f} us of the host, {(time.perf_counter() - begin) / n * 1e6:.2f} in all"
    print("x + x", per(lambda: x + x))
    print("exp", per(lambda: ops.exp(x)))
    print("sum", per(lambda: x.sum()))
    print("64 x 64 product", per(lambda: w @ w))
    print("jit x * 2 + 1", per(lambda: f(x)))
    print("x + x and read", per(lambda: float((x + x)[0]), 500))


@timed
def first_calls():
    """A captured call of a softmax: NVRTC cold, and from the disk's cache in another process."""
    code = """
import time, numpy as np, pijit as ms
from pijit import ops
ms.set_context(device_target="GPU")
x = ms.Tensor(np.ones((64, 640), np.float32))
ms.runtime.synchronize()
f = ms.jit(lambda x: ops.softmax(x * 3 + 1, -1).sum())
begin = time.perf_counter()
v = float(f(x))
print(f"{(time.perf_counter() - begin) * 1e3:.1f} ms")
"""
    for name in ("cold", "from the cache"):
        print(name, subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True,
                                   check=True).stdout.strip())


def ask(name, out, seconds):
    import failures  # beside this file, which runs as a script
    command = [sys.executable, "tools/gpu/probe.py", name]
    status, text, took = failures.call(command, seconds)
    if status:
        failures.keep(out, "probe", name, failures.of_script(pathlib.Path(__file__).resolve(), name), command, status,
                      text)
    shown = text if not status else text[:500] + "\n...\n" + text[-1500:] if len(text) > 2000 else text
    return f"-- {name}: {failures.told(status)}, {took:.1f} s\n{shown.rstrip()}"


def main(out, seconds=40):
    import failures
    failures.ends_with_its_processes()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for answer in pool.map(lambda n: ask(n, out, seconds), [n for n in QUESTIONS if n not in TIMED]):
            print(answer, flush=True)
    for n in TIMED:
        print(ask(n, out, seconds), flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1] in QUESTIONS:
        QUESTIONS[sys.argv[1]]()
    else:
        main(*sys.argv[1:])
