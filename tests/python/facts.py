"""Facts of MindSpore: expressions with their values, gradients and exceptions.

    <Python with MindSpore 2.7.1> tests/python/facts.py tests/python/facts_names.json < expressions

adds a fact for each line. A line that starts with `!` raises, and its exception's type is the fact; other lines that
raise are reported and left out. Of lines that start with `?` the exception is the fact where there is one; they have no
gradient. A fact's gradient is that of the sum of all outputs, element k of output n weighted by cos(k + n), by the
first float32 variable of the expression (none with `#` before the line)."""

import ast
import gzip
import importlib
import json
import pathlib
import subprocess
import sys
import threading

import numpy as np


def variables(ms):
    """What the expressions name; `ms` is the package that makes the tensors."""
    T = ms.Tensor
    r = np.random.RandomState(0)
    s = {"ms": ms, "nn": ms.nn, "ops": ms.ops, "mnp": ms.numpy, "mint": getattr(ms, "mint", None),
         "F": ms.ops.functional, "T": T, "np": np,
         "msd": importlib.import_module(f"{ms.__name__}.nn.probability.distribution"),
         "msb": importlib.import_module(f"{ms.__name__}.nn.probability.bijector"),
         "sl": importlib.import_module(f"{ms.__name__}.scipy.linalg"), "fixed": lambda cell: fixed(ms, cell)}
    for name, shape in dict(A=(3, 4), B=(3, 4), V=(5,), X3=(2, 3, 6), X4=(2, 4, 4, 6), X5=(1, 2, 3, 4, 5), M=(3, 3),
                            M2=(2, 3, 3)).items():
        s[name] = T(r.randn(*shape).astype(np.float32))
    s["P"] = T((r.rand(3, 4) * 0.8 + 0.1).astype(np.float32))  # in (0, 1)
    s["Q"] = T((r.rand(3, 4) > 0.5).astype(np.float32))
    s["I"] = T(r.randint(-5, 6, (3, 4)).astype(np.int32))
    s["J"] = T(np.array([2, 0, 1], np.int32))
    s["U"] = T(r.randint(0, 9, (3, 4)).astype(np.uint8))
    s["L"] = T(r.randint(-5, 6, (3, 4)).astype(np.int64))
    s["D"] = T(r.randn(3, 4).astype(np.float64))
    s["H"] = T(r.randn(3, 4).astype(np.float16))
    s["K"] = T(r.rand(3, 4) > 0.5)
    s["S"] = T(np.float32(0.75))
    s["BOX"] = T(np.array([[0, 0, 4, 4], [1, 1, 5, 6], [2, 0, 6, 3]], np.float32))
    s["COO"] = ms.COOTensor(T(np.array([[0, 1], [1, 0], [2, 3]], np.int32)), T(np.array([0.5, 0.25, 0.75], np.float32)),
                            (3, 4))
    s["CSR"] = ms.CSRTensor(T(np.array([0, 1, 2, 4], np.int32)), T(np.array([1, 0, 1, 3], np.int32)),
                            T(np.array([0.5, 0.25, 0.75, 0.125], np.float32)), (3, 4))
    # of random results
    s["sh"] = lambda result: [(v.shape, str(v.dtype)) if isinstance(v, T) else v for v in flat(result)]
    s["SPD"] = T((lambda a: a @ a.T + np.eye(3))(r.randn(3, 3)).astype(np.float32))
    return s


def fixed(ms, cell):
    """cell, with known parameters."""
    for k, (_, p) in enumerate(sorted(cell.parameters_dict().items())):
        p.set_data(ms.Tensor((np.random.RandomState(k).randn(*p.shape) * 0.3).astype(np.float32)))
    return cell.set_train(False)


def flat(r):
    return [v for x in r for v in flat(x)] if isinstance(r, (tuple, list)) else [r]


def names_in(expression):
    return [n.id for n in ast.walk(ast.parse(expression)) if isinstance(n, ast.Name)]


def total(ms, f):
    """f's outputs as one number."""
    def g(x):
        outs = [(k, o) for k, o in enumerate(flat(f(x))) if isinstance(o, ms.Tensor) and o.dtype == ms.float32]
        return sum((o * ms.Tensor(np.cos(np.arange(o.size) + k).reshape(o.shape).astype(np.float32))).sum()
                   for k, o in outs)
    return g


def described(x):
    """A result as the facts hold it, up to 24 elements; of complex numbers the imaginary parts behind the real ones."""
    if hasattr(x, "asnumpy"):
        a = x.asnumpy()
        r = a.ravel()[:24]
        values = [round(float(v), 5)
                  for v in (np.concatenate([r.real, r.imag]) if r.dtype.kind == "c" else r).astype(np.float64)]
        return {"dtype": str(a.dtype), "shape": list(a.shape),
                "values": [v if np.isfinite(v) else str(v) for v in values]}
    if isinstance(x, (tuple, list)):
        return [described(v) for v in x]
    return {"plain": repr(x)}


def measure(ms, line):
    """The fact of one line, or None."""
    expression = line.lstrip("!#?")
    try:
        value = described(eval(expression, variables(ms)))
    except Exception as e:
        return {"raises": type(e).__name__} if line[0] in "!?" else None
    if line[0] == "!":
        return None
    fact = {"is": value}
    s = variables(ms)
    floats = [n for n in names_in(expression) if isinstance(s.get(n), ms.Tensor) and s[n].dtype == ms.float32]
    if floats and line[0] not in "#?" and any(d.get("dtype") == "float32" for d in flat(value)):
        try:
            fact["grad"] = [floats[0],
                            described(ms.grad(total(ms, eval(f"lambda {floats[0]}: {expression}", s)))(s[floats[0]]))]
        except Exception:
            pass  # no gradient there
    return fact


def worker():
    """Answers each line of standard input with a line: its fact, or why there is none."""
    import mindspore as ms
    import mindspore.mint
    ms.set_context(mode=ms.PYNATIVE_MODE, pynative_synchronize=True)
    for line in sys.stdin:
        line = line.strip()
        fact = measure(ms, line)
        why = None
        if fact is None:
            try:
                eval(line.lstrip("!#?"), variables(ms))
                why = "doesn't raise"
            except Exception as e:
                why = f"{type(e).__name__} {str(e).strip()[:150]!r}"
        print("FACT " + json.dumps([fact, why]), flush=True)


def ask(process, line):
    """The worker's answer, or None where it died or hangs (MindSpore's own kernels do on some)."""
    alarm = threading.Timer(30, process.kill)
    alarm.start()
    try:
        process.stdin.write(line + "\n")
        process.stdin.flush()
        for answer in process.stdout:
            if answer.startswith("FACT "):
                return json.loads(answer[5:])
        return None
    except BrokenPipeError:
        return None
    finally:
        alarm.cancel()


def load(path):
    """The facts of a file, which may be compressed."""
    data = pathlib.Path(path).read_bytes()
    return json.loads(gzip.decompress(data) if str(path).endswith(".gz") else data)


def main():
    def start():
        return subprocess.Popen([sys.executable, __file__, "worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True)
    path = pathlib.Path(sys.argv[1])
    facts = load(path) if path.exists() else {}
    process = start()
    for line in filter(None, (text.strip() for text in sys.stdin)):
        answer = ask(process, line)
        if answer is None:
            print("left out:", line, "crashed")
            process = start()
        elif answer[0] is None:
            print("left out:", line, answer[1])
        else:
            facts[line.lstrip("!#?")] = answer[0]
    process.stdin.close()
    text = ("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in facts.items()) +
            "\n}\n")
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text.encode())


if __name__ == "__main__":
    worker() if sys.argv[1] == "worker" else main()
