"""How tensors are shown: `repr` in MindSpore's form, `str` in NumPy's."""

import math

from pijit._C import Tensor
from pijit._numpy import np

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


def _rows(a, shape, depth, write, line):
    most = _LONGEST if len(shape) + depth == 1 else _MOST
    cut = shape[0] > most
    if len(shape) == 1:
        parts = [write(v) for v in a.tolist()]
        if cut:
            return "[" + ", ".join(parts[:_EDGE]) + " ... " + ", ".join(parts[-_EDGE:]) + "]"
        text = ""
        for k, part in enumerate(parts, 1):
            text += part + (", " if k < len(parts) else "") + ("\n" + " " * (depth + 1) if k % line == 0 else "")
        return "[" + text + "]"
    parts = [_rows(b, shape[1:], depth + 1, write, line) for b in a]
    gap = "\n" + " " * (depth + 1)
    if cut:
        return "[" + ("," + gap).join(parts[:_EDGE]) + "," + gap + "..." + gap + ("," + gap).join(parts[-_EDGE:]) + "]"
    return "[" + ("," + gap).join(parts) + "]"


def _scalar(v, dtype):
    if dtype.name.lower().startswith(("float", "bfloat")):
        return f"{v:g}"
    return str(v)


def tensor_repr(x):
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


def tensor_str(x):
    """The elements as NumPy shows them; those of bfloat16 with six decimals."""
    a = x.asnumpy()
    if x.dtype.name.lower() != "bfloat16":
        return str(a)
    if x.ndim == 0:
        return f"{a.item():f}" if math.isfinite(a.item()) else str(a.item())
    return np.array2string(a, formatter={"float_kind": lambda v: f"{v:f}"})


Tensor.__repr__ = tensor_repr
Tensor.__str__ = tensor_str
