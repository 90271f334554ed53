"""The one net: runs a function plain and jitted and compares what a user could see.

    check(make, *args, graphs=1, breaks=0, captures=1)

`make()` returns a fresh function (with fresh globals, closures, objects) so that both runs start alike; it
may return (function, observe), where observe() gives more state to compare. Each function is called `calls`
times with fresh arguments. Compared: results, exceptions (type, text, line), warnings (with their
lines), mutated arguments, printed text, observed state, and in the jitted run the number of graphs, breaks and
captures."""

import contextlib
import copy
import io
import traceback
import warnings

import numpy as np

import pijit as ms


def freeze(x):
    """x as plain comparable data; tensors by dtype, shape and bits."""
    if isinstance(x, ms.Tensor):
        return type(x).__name__, x.dtype.name, x.shape, x.asnumpy().tobytes()
    if isinstance(x, np.ndarray):
        base = None if x.base is None else type(x.base).__name__
        return "ndarray", str(x.dtype), x.shape, x.strides, str(x.flags), base, x.tobytes()
    if isinstance(x, np.generic):
        return type(x).__name__, x.tobytes()
    if isinstance(x, (list, tuple)):
        return type(x).__name__, [freeze(v) for v in x]
    if isinstance(x, dict):
        return "dict", [(k, freeze(v)) for k, v in x.items()]
    if isinstance(x, float):
        return "float", np.float64(x).tobytes()
    if callable(x) and not isinstance(x, type) and (hasattr(x, "__name__") or not hasattr(x, "__dict__")):
        return "callable", getattr(x, "__name__", "?")
    if hasattr(x, "__dict__") and type(x).__module__ not in ("builtins",):
        return type(x).__name__, {k: freeze(v) for k, v in vars(x).items() if not k.startswith("_")}
    return type(x).__name__, x


def tensors(x):
    if isinstance(x, ms.Tensor):
        return [x]
    if isinstance(x, dict):
        x = list(x.values())
    return [t for v in x for t in tensors(v)] if isinstance(x, (list, tuple)) else []


def identities(result, args):
    """Which tensors of a result are the same object as an argument or an earlier part of the result."""
    known = tensors(args) + tensors(result)
    return [next(i for i, k in enumerate(known) if k is t) for t in tensors(result)]


def run(fn, args, kwargs):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            value = fn(*args, **kwargs)
            result = ("value", freeze(value), identities(value, [list(args), kwargs]))
        except Exception as e:
            lines = [(f.name, f.lineno) for f in traceback.extract_tb(e.__traceback__)
                     if "differential" not in f.filename]
            result = ("raises", type(e).__name__, str(e), lines)
    said = [(w.category.__name__, str(w.message), w.filename, w.lineno) for w in said]
    return (*result, said), out.getvalue()


def check(make, *args, graphs=None, breaks=None, captures=None, calls=2, **kwargs):
    """Compares; returns the explanation of the jitted function."""
    return check_calls(make, [(args, kwargs)] * calls, graphs=graphs, breaks=breaks, captures=captures)


def check_calls(make, calls, *, graphs=None, breaks=None, captures=None):
    """The same for calls with arguments of their own: each one args, or (args, kwargs)."""
    calls = [c if len(c) == 2 and isinstance(c[0], tuple) and isinstance(c[1], dict) else (c, {}) for c in calls]
    records = []
    for use_jit in (False, True):
        ms.set_seed(3)
        made = make()
        fn, observe = made if isinstance(made, tuple) else (made, lambda: None)
        if use_jit:
            fn = ms.jit(fn)
        record = []
        for args, kwargs in calls:
            a, k = copy.deepcopy(args), copy.deepcopy(kwargs)
            record.append((run(fn, a, k), freeze(a), freeze(k), freeze(observe())))
        records.append(record)
    for n, (plain, jitted) in enumerate(zip(*records)):
        assert plain == jitted, f"call {n}: plain {plain!r}\njitted {jitted!r}\n{ms.explain(fn)}"
    e = ms.explain(fn)
    if graphs is not None:
        assert len(e.graphs) == graphs, f"expected {graphs} graphs\n{e}"
    if captures is not None:
        assert e.compile_count == captures, f"expected {captures} captures\n{e}"
    if breaks is not None:
        assert len(e.breaks) == breaks, f"expected {breaks} breaks\n{e}"
    return e
