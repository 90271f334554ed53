"""How tensors are shown: `repr` in MindSpore's form, `str` in NumPy's, `print` of graph mode."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pijit import _C
from pijit._C import Tensor
from pijit._numpy import np

if TYPE_CHECKING:
    from typing import Any

_EDGE, _MOST, _LONGEST = 3, 6, 1000  # elements at both ends of a cut axis; the longest axis (or vector) that isn't cut


def _writer(dtype, values):
    """(how one element is written, how many stand in a line)."""
    name = dtype.name.lower()
    if name in ("float32", "float64"):
        return lambda v: f"{v:15.8e}", 12
    if name == "float16":
        return lambda v: f"{v:11.4e}", 12
    if name == "bool":
        return lambda v: f"{str(bool(v)):>5}", 12
    text = (lambda v: f"{v:g}") if name == "bfloat16" else str
    width = max([len(text(v)) for v in values], default=0)
    return lambda v: f"{text(v):>{width}}", 24


def _cut(a):
    """The elements that are shown."""
    for axis, n in enumerate(a.shape):
        if n > (_LONGEST if a.ndim == 1 else _MOST):
            a = np.concatenate([np.take(a, range(_EDGE), axis), np.take(a, range(n - _EDGE, n), axis)], axis)
    return a


def _rows(a, shape, depth, write, line, comma=","):
    most = _LONGEST if len(shape) + depth == 1 else _MOST
    cut = shape[0] > most
    if len(shape) == 1:
        parts = [write(v) for v in a.tolist()]
        between = comma + " "
        if cut:
            return "[" + between.join(parts[:_EDGE]) + " ... " + between.join(parts[-_EDGE:]) + "]"
        text = ""
        for k, part in enumerate(parts, 1):
            text += part + (between if k < len(parts) else "") + ("\n" + " " * (depth + 1) if k % line == 0 else "")
        return "[" + text + "]"
    parts = [_rows(b, shape[1:], depth + 1, write, line, comma) for b in a]
    gap = "\n" + " " * (depth + 1)
    if cut:
        return ("[" + (comma + gap).join(parts[:_EDGE]) + comma + gap + "..." + gap +
                (comma + gap).join(parts[-_EDGE:]) + "]")
    return "[" + (comma + gap).join(parts) + "]"


def _scalar(v, dtype):
    if dtype.name.lower().startswith(("float", "bfloat")):
        return f"{v:g}"
    return str(v)


def tensor_repr(x: Any) -> str:
    """`Tensor(shape=[2], dtype=Float32, value= [ 1.00000000e+00,  2.00000000e+00])`."""
    a = x.asnumpy()
    if a.dtype.kind == "c":
        written = {"complex_kind": lambda z: f"{z.real:.8g}{z.imag:+.8g}j"}
        text = ("\n" if x.ndim > 1 else " ") + np.array2string(a, separator=", ", formatter=written)
    elif x.ndim == 0:
        text = " " + _scalar(a.item(), x.dtype)
    elif a.size == 0:
        text = "\n" if x.ndim > 1 else " "
    else:
        shown = _cut(a)
        write, line = _writer(x.dtype, shown.ravel().tolist())
        text = ("\n" if x.ndim > 1 else " ") + _rows(shown, a.shape, 0, write, line)
    return f"Tensor(shape={list(x.shape)}, dtype={x.dtype}, value={text})"


def _in_graph(x):
    """A value as `print` of graph mode writes it: a Tensor in full, but a number where it has no dimensions."""
    if isinstance(x, Tensor) and x.ndim and x.size and x.dtype.name.lower() not in ("complex64", "complex128"):
        a = x.asnumpy()
        shown = _cut(a)
        write, line = _writer(x.dtype, shown.ravel().tolist())
        rows = _rows(shown, a.shape, 0, write, line, comma="")
        return f"Tensor(shape={list(x.shape)}, dtype={x.dtype}, value=" + "\n" * (x.ndim > 1) + rows + ")"
    if isinstance(x, Tensor):
        if x.ndim or x.dtype.name.lower().startswith("complex"):
            return tensor_repr(x)
        x = x.asnumpy().item()
    return f"{x:g}" if isinstance(x, float) else str(int(x)) if isinstance(x, bool) else str(x)


def _parts(x):
    return x.values() if isinstance(x, dict) else x if isinstance(x, (tuple, list)) else ()


def _holds_tensor(x, around=()):
    """Whether a Tensor is in it; not where it holds itself."""
    if id(x) in around:
        return False
    return any(isinstance(p, Tensor) or _holds_tensor(p, (*around, id(x))) for p in _parts(x))


def print_each(*args: Any) -> Any:
    """What ops.Print does in eager mode: each value on a line of its own, Tensors by their `repr`."""
    if _C.runs_as_graph():
        return graph_print(*args)
    for x in args:
        print(tensor_repr(x) if isinstance(x, Tensor) else x)


def graph_print(*args: Any, _around: tuple[Any, ...] = ()) -> None:
    """`print` in graph mode, as MindSpore 2.7.1 does it: each value on a line of its own, Tensors in containers,
    too."""
    for x in args:
        if id(x) not in _around and _holds_tensor(x):
            graph_print(*_parts(x), _around=(*_around, id(x)))
        else:
            print(_in_graph(x))


def tensor_str(x: Any) -> Any:
    """The elements as NumPy shows them; those of bfloat16 with six decimals."""
    a = x.asnumpy()
    if x.dtype.name.lower() != "bfloat16":
        return str(a)
    if x.ndim == 0:
        return f"{a.item():f}" if math.isfinite(a.item()) else str(a.item())
    return np.array2string(a, formatter={"float_kind": lambda v: f"{v:f}"})


Tensor.__repr__ = tensor_repr
Tensor.__str__ = tensor_str
