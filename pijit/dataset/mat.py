"""Reads files of MATLAB, version 5 to 7.2, without SciPy: its reader ends the process for some broken files.

Of the untrusted file every length is compared with what is there, and what is compressed may grow up to a multiple of
the file's size. Arrays of numbers, strings, cells, structures and sparse matrices are read; nothing in them is run."""

from __future__ import annotations

import math
import zlib
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset.files import read_bytes

if TYPE_CHECKING:
    from typing import Any

_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8", 16: "u1",
            17: "u2", 18: "u4"}
_CLASSES = {6: np.float64, 7: np.float32, 8: np.int8, 9: np.uint8, 10: np.int16, 11: np.uint16, 12: np.int32,
            13: np.uint32, 14: np.int64, 15: np.uint64}
_CELL, _STRUCTURE, _TEXT, _SPARSE, _MATRIX, _COMPRESSED = 1, 2, 4, 5, 14, 15
_MOST_GROWTH, _DEEPEST, _MOST_DENSE = 256, 32, 1 << 22


def load(op: str, path: str) -> dict[str, Any]:
    """The variables of a file: arrays in MATLAB's shapes, str, lists of what cells hold, dicts of a structure's fields
    (lists of dicts for arrays of structures), and sparse matrices as arrays. RuntimeError for other files."""
    data = read_bytes(op, path)
    try:
        return _variables(data)
    except (ValueError, IndexError, OverflowError, zlib.error) as e:
        raise RuntimeError(f"[{op}] {path!r} is no file of MATLAB's version 5 that can be read: {e}") from e


def _variables(data):
    mark = data[126:128]
    if mark not in (b"IM", b"MI") or len(data) < 136:
        raise ValueError("it has no such header")
    order = "<" if mark == b"IM" else ">"
    if np.frombuffer(data, order + "u2", 1, 124)[0] != 0x100:
        raise ValueError("it is of another version")
    out, at, left = {}, 128, _MOST_GROWTH * len(data)
    while at + 8 <= len(data):
        kind, body, at = _element(memoryview(data), at, order, pad=False)
        if kind == _COMPRESSED:
            unpacker = zlib.decompressobj()
            body = unpacker.decompress(body, left)
            left -= len(body)
            if unpacker.unconsumed_tail or left <= 0:
                raise ValueError(f"it grows to more than {_MOST_GROWTH} times its size")
            kind, body, _ = _element(memoryview(body), 0, order)
        if kind == _MATRIX:
            name, value = _matrix(body, order, 0)
            out[name] = value
    return out


def _element(data, at, order, pad=True):
    """(type, bytes, where the next one starts) of an element."""
    if at + 8 > len(data):
        raise ValueError("an element is cut off")
    kind, size = (int(v) for v in np.frombuffer(data, order + "u4", 2, at))
    if kind >> 16:  # the bytes stand within the tag
        size, kind = kind >> 16, kind & 0xFFFF
        if size > 4:
            raise ValueError(f"a small element has {size} bytes")
        return kind, data[at + 4:at + 4 + size], at + 8
    if size > len(data) - at - 8:
        raise ValueError(f"an element should have {size} bytes, but there are {len(data) - at - 8}")
    return kind, data[at + 8:at + 8 + size], at + 8 + (-(-size // 8) * 8 if pad else size)


def _numbers(data, at, order):
    """(array, where the next element starts) of an element of numbers."""
    kind, body, at = _element(data, at, order)
    if kind not in _NUMBERS:
        raise ValueError(f"an element of type {kind} stands for numbers")
    dtype = np.dtype(order + _NUMBERS[kind])
    if len(body) % dtype.itemsize:
        raise ValueError(f"an element has {len(body)} bytes of {dtype}")
    return np.frombuffer(body, dtype), at


def _matrix(data, order, depth):
    """(name, value) of the body of a matrix."""
    if depth > _DEEPEST:
        raise ValueError("it nests too deeply")
    if not len(data):
        return "", np.zeros((0, 0))
    flags, at = _numbers(data, 0, order)
    shape, at = _numbers(data, at, order)
    name, at = _numbers(data, at, order)
    if not len(flags) or not 2 <= len(shape) <= 32 or (shape.astype(np.int64) < 0).any():
        raise ValueError("a matrix has no shape")
    kind, is_complex, shape = int(flags[0]) & 255, bool(int(flags[0]) & 0x800), [int(s) for s in shape]
    name = name.astype(np.uint8).tobytes().decode("latin-1")
    if kind == _CELL:
        return name, _parts(data, at, order, depth, math.prod(shape))[0]
    if kind == _STRUCTURE:
        return name, _structure(data, at, order, depth, math.prod(shape))
    if kind == _SPARSE:
        return name, _sparse(data, at, order, shape)
    values, at = _numbers(data, at, order)
    if len(values) != math.prod(shape):
        raise ValueError(f"{name!r} has {len(values)} values instead of {shape}")
    if kind == _TEXT:
        return name, "".join(map(chr, values.reshape(shape, order="F").reshape(-1).tolist()))
    if kind not in _CLASSES or is_complex:
        raise ValueError(f"{name!r} is of class {kind}{' and complex' if is_complex else ''}")
    with np.errstate(invalid="ignore"):
        return name, values.astype(_CLASSES[kind]).reshape(shape, order="F")


def _parts(data, at, order, depth, count):
    """(values, where the next element starts) of `count` matrices after one another."""
    out = []
    for _ in range(count):
        kind, body, at = _element(data, at, order)
        if kind != _MATRIX:
            raise ValueError(f"an element of type {kind} stands for a matrix")
        out.append(_matrix(body, order, depth + 1)[1])
    return out, at


def _structure(data, at, order, depth, count):
    size, at = _numbers(data, at, order)
    names, at = _numbers(data, at, order)
    size = int(size[0]) if len(size) else 0
    if not 0 < size <= 1024 or len(names) % size:
        raise ValueError("a structure has no names of fields")
    names = names.astype(np.uint8).tobytes()
    names = [names[i:i + size].split(b"\0")[0].decode("latin-1") for i in range(0, len(names), size)]
    rows = []
    for _ in range(count if names else 0):
        values, at = _parts(data, at, order, depth, len(names))
        rows.append(dict(zip(names, values)))
    return rows[0] if len(rows) == 1 else rows


def _sparse(data, at, order, shape):
    rows, at = _numbers(data, at, order)
    starts, at = _numbers(data, at, order)
    values, at = _numbers(data, at, order)
    if len(shape) != 2 or math.prod(shape) > _MOST_DENSE:
        raise ValueError(f"a sparse matrix of shape {shape} is too large")
    rows, starts = rows.astype(np.int64), starts.astype(np.int64)
    if len(starts) != shape[1] + 1 or starts[0] != 0 or (np.diff(starts) < 0).any() or \
            starts[-1] > min(len(rows), len(values)):
        raise ValueError("the columns of a sparse matrix do not fit")
    rows = rows[:starts[-1]]
    if len(rows) and not 0 <= rows.min() <= rows.max() < shape[0]:
        raise ValueError("the rows of a sparse matrix do not fit")
    out = np.zeros(shape, np.float64)
    out[rows, np.repeat(np.arange(shape[1]), np.diff(starts))] = values[:starts[-1]]
    return out
