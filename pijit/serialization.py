"""Checkpoints: safetensors files (an 8-byte header length, a JSON header, raw little-endian data), written
to a temporary file and renamed, checked completely before anything is loaded."""

import json
import os
import struct
import tempfile

import numpy as np

from pijit import dtype as mstype
from pijit._C import Tensor, dtype as _dtype
from pijit.parameter import Parameter

_NAMES = {"bool": "BOOL", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8", "uint16": "U16", "uint32": "U32", "uint64": "U64",
          "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64"}
_PUBLIC = {v: k for k, v in _NAMES.items()}
_MAX_HEADER = 100 << 20


def _raw(t):
    if t.dtype is mstype.bfloat16:
        return (t.asnumpy().view(np.uint32) >> 16).astype("<u2").tobytes()
    return np.ascontiguousarray(t.asnumpy()).tobytes()


def save_checkpoint(save_obj, ckpt_file_name, integrated_save=True, async_save=False, append_dict=None, enc_key=None, enc_mode="AES-GCM", choice_func=None,  # noqa: ARG001
                    crc_check=False, format="ckpt", **kwargs):  # noqa: ARG001
    """Writes a Cell's parameters, a dict, or a list of {"name", "data"} to a file (".ckpt" is appended when missing).

    The file is complete or absent: it is written beside its place and renamed."""
    from pijit.nn import Cell
    if enc_key is not None:
        raise ValueError("For 'save_checkpoint', encryption ('enc_key') is not supported; nothing was written.")
    if not isinstance(ckpt_file_name, str):
        raise TypeError(f"For 'save_checkpoint', 'ckpt_file_name' must be a str, but got {type(ckpt_file_name).__name__}.")
    if format not in ("ckpt", "safetensors"):
        raise ValueError(f"For 'save_checkpoint', 'format' must be 'ckpt' or 'safetensors', but got {format!r}.")
    if not ckpt_file_name.endswith((".ckpt", ".safetensors")):
        ckpt_file_name += "." + format
    if isinstance(save_obj, Cell):
        items = {n: p for n, p in save_obj.parameters_and_names()}
    elif isinstance(save_obj, dict):
        items = dict(save_obj)
    elif isinstance(save_obj, (list, tuple)):
        items = {d["name"]: d["data"] for d in save_obj}
    else:
        raise TypeError(f"For 'save_checkpoint', 'save_obj' must be a Cell, dict or list, but got {type(save_obj).__name__}.")
    if choice_func is not None:
        items = {k: v for k, v in items.items() if choice_func(k)}
    meta = {"format": "pijit"}
    for k, v in (append_dict or {}).items():
        if isinstance(v, Tensor):
            items[k] = v
        else:
            meta["append." + k] = json.dumps(v)
    header, at, chunks = {"__metadata__": meta}, 0, []
    for name, value in items.items():
        value = value if isinstance(value, Tensor) else Tensor(value)
        raw = _raw(value)
        header[name] = {"dtype": _NAMES[value.dtype.name], "shape": list(value.shape), "data_offsets": [at, at + len(raw)]}
        at += len(raw)
        chunks.append(raw)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    folder = os.path.dirname(os.path.abspath(ckpt_file_name))
    fd, tmp = tempfile.mkstemp(dir=folder, prefix=".ckpt-")
    try:
        with os.fdopen(fd, "wb") as f:
            f.write(struct.pack("<Q", len(text)))
            f.write(text)
            for c in chunks:
                f.write(c)
            f.flush()
            os.fsync(f.fileno())
        os.replace(tmp, ckpt_file_name)
    except BaseException:
        if os.path.exists(tmp):
            os.unlink(tmp)
        raise


def _bad(path, why):
    return ValueError(f"{path!r} is no checkpoint of this format: {why}.")


def _read(path):
    with open(path, "rb") as f:
        size = os.fstat(f.fileno()).st_size
        head = f.read(8)
        if len(head) < 8:
            raise _bad(path, "it is shorter than its header")
        (n,) = struct.unpack("<Q", head)
        if n > _MAX_HEADER or 8 + n > size:
            raise _bad(path, f"its header claims {n} bytes of a file of {size}")
        try:
            header = json.loads(f.read(n).decode("utf-8"))
        except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as e:
            raise _bad(path, f"its header is not JSON ({e.__class__.__name__})") from None
        if not isinstance(header, dict):
            raise _bad(path, "its header is not an object")
        data = f.read()
    tensors, meta = {}, header.pop("__metadata__", {})
    for name, entry in header.items():
        try:
            dt, shape, (begin, end) = _PUBLIC[entry["dtype"]], entry["shape"], entry["data_offsets"]
            ok = all(type(d) is int and d >= 0 for d in shape) and len(shape) <= 8 and type(begin) is int and type(end) is int and 0 <= begin <= end <= len(data)
        except (KeyError, TypeError, ValueError):
            raise _bad(path, f"the entry {name!r} is malformed") from None
        count = 1
        for d in shape if ok else ():
            count *= d
        if not ok or count * _dtype(dt).itemsize != end - begin:
            raise _bad(path, f"the entry {name!r} does not fit its data (file cut short?)")
        raw = data[begin:end]
        if dt == "bfloat16":
            a = (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32).reshape(shape)
            tensors[name] = Tensor(a, mstype.bfloat16)
        else:
            if dt == "bool" and raw.strip(b"\x00\x01"):
                raise _bad(path, f"the entry {name!r} holds bytes that are no bools")
            tensors[name] = Tensor(np.frombuffer(raw, dt).reshape(shape), _dtype(dt))
    return tensors, meta if isinstance(meta, dict) else {}


def load_checkpoint(ckpt_file_name, net=None, strict_load=False, filter_prefix=None, dec_key=None, dec_mode="AES-GCM", specify_prefix=None, choice_func=None,  # noqa: ARG001
                    crc_check=False, remove_redundancy=False, format="ckpt"):  # noqa: ARG001
    """A dict of name → Parameter from a file; loaded into `net` when one is given. Left out are names that begin
    with one of filter_prefix, or with none of specify_prefix, and those that choice_func refuses.

    Raises ValueError when the file is missing, cut short or foreign."""
    if not isinstance(ckpt_file_name, str):
        raise TypeError(f"For 'load_checkpoint', 'ckpt_file_name' must be a str, but got {type(ckpt_file_name).__name__}.")
    if not os.path.isfile(ckpt_file_name):
        raise ValueError(f"For 'load_checkpoint', the file {ckpt_file_name!r} does not exist.")
    if dec_key is not None:
        raise ValueError("For 'load_checkpoint', encrypted files ('dec_key') are not supported.")

    def begins(name, prefixes):
        return name.startswith((prefixes,) if isinstance(prefixes, str) else tuple(prefixes))
    tensors, meta = _read(ckpt_file_name)
    out = {}
    for name, t in tensors.items():
        if (filter_prefix and begins(name, filter_prefix)) or (specify_prefix and not begins(name, specify_prefix)):
            continue
        if choice_func is None or choice_func(name):
            out[name] = Parameter(t, name=name)
    for k, v in meta.items():
        if k.startswith("append."):
            try:
                out[k[7:]] = json.loads(v)
            except (json.JSONDecodeError, TypeError):
                raise _bad(ckpt_file_name, f"the appended value {k!r} is malformed") from None
    if net is not None:
        load_param_into_net(net, out, strict_load)
    return out


def load_param_into_net(net, parameter_dict, strict_load=False, remove_redundancy=False):  # noqa: ARG001
    """Gives a network's parameters the values of a dict. Returns (names not loaded, names not used).

    All shapes are checked before the first parameter changes."""
    from pijit.nn import Cell
    if not isinstance(net, Cell):
        raise TypeError(f"For 'load_param_into_net', 'net' must be a Cell, but got {type(net).__name__}.")
    if not isinstance(parameter_dict, dict):
        raise TypeError(f"For 'load_param_into_net', 'parameter_dict' must be a dict, but got {type(parameter_dict).__name__}.")
    own = dict(net.parameters_and_names())
    todo, missing = [], []
    for name, p in own.items():
        if name not in parameter_dict:
            missing.append(name)
            continue
        v = parameter_dict[name]
        if not isinstance(v, Tensor):
            raise TypeError(f"For 'load_param_into_net', the value of {name!r} must be a Tensor, but got {type(v).__name__}.")
        if v.shape != p.shape:
            raise RuntimeError(f"For 'load_param_into_net', {name!r} has shape {p.shape}, but the checkpoint holds {v.shape}.")
        if v.dtype is not p.dtype and strict_load:
            raise RuntimeError(f"For 'load_param_into_net', {name!r} has dtype {p.dtype}, but the checkpoint holds {v.dtype}.")
        todo.append((p, v))
    for p, v in todo:
        p._assign(v)
    return missing, [n for n in parameter_dict if n not in own]
