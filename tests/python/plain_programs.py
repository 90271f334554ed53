"""Runs the programs of plain_programs.txt plainly and jitted, each in a process of its own, and compares all that a
program can see: results with the identities of their parts, exceptions with their chain and lines, prints, warnings,
and what `obs()` shows of the rest.

A program is a block "### name", its source, a line "---", and lines to evaluate: "! " executes a statement, "3: "
repeats. Each line is evaluated three times. Where the source jits nothing, its function `f` is jitted."""

import contextlib
import io
import linecache
import os
import pickle
import random
import re
import select
import signal
import sys
import time
import traceback
import types
import warnings

import numpy as np

import pijit as ms
from pijit import Parameter, Tensor, _C, nn, ops

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "plain_programs.txt")
NAME = "<program>"


def programs():
    with open(PROGRAMS, encoding="utf-8") as f:
        blocks = re.split(r"(?m)^### ", f.read())[1:]
    for block in blocks:
        name, _, body = block.partition("\n")
        source, _, lines = body.partition("\n---\n")
        yield name.strip(), source, lines.strip().split("\n")


def tensor(*values, dtype=np.float32):
    return Tensor(np.array(values, dtype))


def frozen(x, met, depth=0):
    """x as comparable data; an object that is met again is a reference to the first time."""
    kind = type(x)
    name = f"{kind.__module__}.{kind.__qualname__}"
    if x is None or kind in (bool, int, str, bytes, range, slice, type(...), type(NotImplemented)):
        return name, x if kind is str else repr(x)
    if kind is float:
        return name, np.float64(x).tobytes()
    if kind is complex:
        return name, np.complex128(x).tobytes()
    if isinstance(x, np.generic):
        return name, x.tobytes()
    if isinstance(x, (type, types.ModuleType, types.BuiltinFunctionType, types.FunctionType, _C.JitFunction)):
        return "named", x.__name__
    if id(x) in met:
        return "again", met[id(x)][0]
    met[id(x)] = len(met), x
    if depth > 40:
        return ("deep",)
    parts = []
    if isinstance(x, Tensor):
        parts = [x.dtype.name, x.shape, x.asnumpy().tobytes()]
    elif isinstance(x, np.ndarray):
        parts = [str(x.dtype), x.shape, x.tobytes()]
    elif isinstance(x, dict):
        parts = [(frozen(k, met, depth + 1), frozen(v, met, depth + 1)) for k, v in dict.items(x)]
    elif isinstance(x, (list, tuple)):
        parts = [frozen(v, met, depth + 1) for v in (list if isinstance(x, list) else tuple).__iter__(x)]
    elif isinstance(x, (set, frozenset)) or hasattr(x, "__next__"):
        parts = [frozen(v, met, depth + 1) for v in x]
    elif isinstance(x, BaseException):
        parts = [exception(x)]
    held = getattr(x, "__dict__", None) if not isinstance(x, np.ndarray) else None
    if type(held) is dict:
        parts.append([(k, frozen(v, met, depth + 1)) for k, v in held.items()])
    return name, parts


def clean(text):
    return re.sub(r"0x[0-9a-f]{6,}", "0xADDRESS", text)


def shown(show, x):
    try:
        return clean(show(x))
    except BaseException as e:
        return f"<{type(e).__name__}>"


def exception(e, depth=0):
    if e is None or depth > 5:
        return None
    places = [(f.name, f.lineno, getattr(f, "colno", None), getattr(f, "end_colno", None))
              for f in traceback.extract_tb(e.__traceback__) if f.filename == NAME]
    chain = [exception(x, depth + 1) for x in (e.__cause__, e.__context__)]
    return type(e).__qualname__, shown(str, e), shown(repr, e.args), places, chain, e.__suppress_context__


def record(run, module, rows):
    out = io.StringIO()
    with warnings.catch_warnings(record=True) as seen, contextlib.redirect_stdout(out):
        warnings.simplefilter("always")
        try:
            result = "value", frozen(run(), {})
        except BaseException as e:
            result = "raises", exception(e)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        observed = frozen(module["obs"](), {}) if "obs" in module else None
    rows.append((result, clean(out.getvalue()), [(w.category.__name__, clean(str(w.message))) for w in seen], observed))


def run(source, lines, use_jit):
    made = []
    ms.set_seed(3)
    np.random.seed(3)
    random.seed(3)

    def jit(function=None, **options):
        if function is None:
            return lambda f: jit(f, **options)
        if not use_jit:
            return function
        made.append(ms.jit(function, **options))
        return made[-1]

    module = types.ModuleType("program")
    sys.modules["program"] = module
    names = module.__dict__
    names.update(ms=ms, np=np, ops=ops, nn=nn, Tensor=Tensor, Parameter=Parameter, jit=jit, T=tensor, USE_JIT=use_jit,
                 explain=ms.explain, I=lambda *v: tensor(*v, dtype=np.int32))
    linecache.cache[NAME] = len(source), None, source.splitlines(True), NAME
    rows = []
    record(lambda: exec(compile(source, NAME, "exec", dont_inherit=True), names), names, rows)
    if "f" in names and not made and isinstance(names["f"], types.FunctionType):
        names["f"] = jit(names["f"])
    for line in lines:
        times = 3
        if match := re.match(r"(\d+): ", line):
            times, line = int(match[1]), line[match.end():]
        statement = line.startswith("! ")
        code = compile(line[2:] if statement else line, "<line>", "exec" if statement else "eval")
        for _ in range(1 if statement else times):
            record(lambda: eval(code, names), names, rows)
    return rows


def in_a_process(source, lines, use_jit, seconds=20):
    """The rows, or a text that says how the process ended."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.close(read)
            data = pickle.dumps(run(source, lines, use_jit))
            with os.fdopen(write, "wb") as f:
                f.write(data)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(77)
    os.close(write)
    data, end = b"", time.time() + seconds
    while select.select([read], [], [], max(end - time.time(), 0))[0]:
        part = os.read(read, 1 << 16)
        if not part:
            break
        data += part
    else:
        os.kill(pid, signal.SIGKILL)
    os.close(read)
    status = os.waitpid(pid, 0)[1]
    return pickle.loads(data) if status == 0 else f"the process ended with status {status}"


def main():
    """Prints the differences, pickled, for the test to read."""
    differences = {}
    for name, source, lines in programs():
        plain, jitted = in_a_process(source, lines, False), in_a_process(source, lines, True)
        differences[name] = None if plain == jitted and isinstance(plain, list) else (plain, jitted)
    sys.stdout.buffer.write(pickle.dumps(differences))


if __name__ == "__main__":
    main()
