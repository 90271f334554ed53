"""Checkpoints: MindSpore's .ckpt files (`pijit._ckpt`) and safetensors files (an 8-byte header length, a JSON header,
raw little-endian data), written to a temporary file and renamed, checked completely before anything is loaded."""

from __future__ import annotations

import json
import mmap
import os
import re
import struct
import tempfile
import threading
import warnings
import zipfile
from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit import _ckpt, dtype as mstype
from pijit._C import Tensor, dtype as _dtype
from pijit.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any
    from pijit.nn.cell import Cell

_NAMES = {"bool": "BOOL", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8", "uint16": "U16",
          "uint32": "U32", "uint64": "U64",
          "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64", "complex64": "C64"}
_PUBLIC = {v: k for k, v in _NAMES.items()}
_MAX_HEADER = 100 << 20


def _raw(t):
    """The bytes of a Tensor."""
    # a copy: memory that is handed out may be written, so that no kernel's form of it is kept any more
    a = t.asnumpy()
    if t.dtype is mstype.bfloat16:
        a = (a.view(np.uint32) >> 16).astype("<u2")
    return np.ascontiguousarray(a).reshape(-1).view(np.uint8)


class _Later:
    """The bytes of a Tensor's value of now, which are copied when they are written: not all of a network's lie in
    memory twice."""

    def __init__(self, t):
        self._value = t.value()

    def __len__(self):
        return self._value.size * self._value.itemsize

    def copied(self):
        return _raw(self._value)


_writers = []  # threads of saves with async_save
_writer_errors = []


def _left_out(value, kept, depth=0):
    """Whether a list, tuple or dict holds parameters, or cells with some, that are not among those of a network."""
    from pijit.nn import Cell
    if isinstance(value, Parameter):
        return id(value) not in kept
    if isinstance(value, Cell):
        return any(id(p) not in kept for p in value.get_parameters())
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return depth < 8 and any(_left_out(v, kept, depth + 1) for v in parts)


def _warn_of_what_is_left_out(net):
    kept = {id(p) for p in net.get_parameters()}
    for path, cell in net.cells_and_names():
        for name, value in list(vars(cell).items()):
            if isinstance(value, (list, tuple, dict)) and _left_out(value, kept):
                warnings.warn(
                    f"'save_checkpoint' leaves out the parameters in {path + '.' if path else ''}{name}: a "
                    f"{type(value).__name__} is no part of a "
                              "network; use nn.CellList, nn.CellDict or ParameterTuple.", RuntimeWarning, stacklevel=4)


def _items(save_obj):
    """Name → value of what is to be saved."""
    from pijit.nn import Cell
    if isinstance(save_obj, Cell):
        _warn_of_what_is_left_out(save_obj)
        return save_obj.parameters_dict()
    if isinstance(save_obj, dict):
        items = dict(save_obj)
    elif isinstance(save_obj, (list, tuple)):
        items = {}
        for entry in save_obj:
            if not isinstance(entry, dict) or set(entry) < {"name", "data"} or not isinstance(entry.get("name"), str):
                raise TypeError("For 'save_checkpoint', a list 'save_obj' must hold dicts with 'name' (a str) and "
                                "'data' (a Tensor).")
            if entry["name"] in items:
                raise ValueError(f"For 'save_checkpoint', 'save_obj' holds two values named {entry['name']!r}: one of "
                                 "them would be lost.")
            items[entry["name"]] = entry["data"]
    else:
        raise _check.refused("save_checkpoint", "save_obj", _check.type_("a Cell, dict or list"), save_obj)
    for name, value in items.items():
        if not isinstance(name, str) or not isinstance(value, (Tensor, str)):
            raise _check.refused("save_checkpoint", "save_obj", _check.value("map names to Tensors"),
                                 _check.entry(name, value), TypeError)
    return items


def save_checkpoint(save_obj: Any, ckpt_file_name: str, integrated_save: bool = True, async_save: bool = False,
                    append_dict: dict[str, Any] = None, enc_key: bytes = None, enc_mode: str = "AES-GCM",
                    choice_func: Callable[[str], Any] = None, crc_check: bool = False, format: str = "ckpt",
                    **kwargs: Any) -> Any:
    """Writes parameters to a file. It is complete or absent: it is written beside its place and renamed.

    save_obj: a Cell, a dict of name → Tensor, or a list of {"name", "data"}. ckpt_file_name: "." and the format are
        appended
    where they are missing. async_save: False; True, "thread" or "process": a thread writes the values of now.
    append_dict: more Tensors, numbers and strings by name. choice_func(name): whether a parameter is saved. format:
        "ckpt", which MindSpore
    reads and writes too, or "safetensors". crc_check: a checksum follows in a .ckpt file. integrated_save is accepted.
    TypeError and ValueError name the argument; encryption (enc_key) is refused."""
    if enc_key is not None:
        raise _check.unsupported("save_checkpoint", "encryption ('enc_key') is", "nothing was written")
    _check.need("save_checkpoint", "ckpt_file_name", ckpt_file_name, _check.STR)
    _check.need("save_checkpoint", "format", format, _check.one_of("ckpt", "safetensors"))
    if async_save not in (False, True, "thread", "process"):
        raise _check.refused("save_checkpoint", "async_save", _check.value("be a bool, 'thread' or 'process'"),
                             async_save)
    if not ckpt_file_name.endswith("." + format):
        ckpt_file_name += "." + format
    items = _items(save_obj)
    if choice_func is not None:
        items = {k: v for k, v in items.items() if choice_func(k)}
    _check.need("save_checkpoint", "append_dict", append_dict, _check.optional(_check.DICT))
    for k, v in (append_dict or {}).items():
        if not isinstance(k, str) or type(v) not in (int, float, bool, str) and not isinstance(v, Tensor):
            raise _check.refused("save_checkpoint", "append_dict",
                                 _check.value("map strings to ints, floats, bools, strings or Tensors"),
                                 _check.entry(k, v), TypeError)
        if k in items:
            raise ValueError(f"For 'save_checkpoint', 'append_dict' names {k!r}, as 'save_obj' does: one of them would "
                             "be lost.")
        items[k] = v
    values = []
    for name, value in items.items():
        if isinstance(value, str):
            values.append((name, value))
            continue
        value = value if isinstance(value, Tensor) else _number(name, value)
        if value.dtype.name not in (_ckpt.TYPES if format == "ckpt" else _NAMES):
            raise TypeError(f"For 'save_checkpoint', {name!r} has the dtype {value.dtype}, which the format doesn't "
                            "have.")
        if format == "safetensors" and name == "__metadata__":
            raise ValueError("For 'save_checkpoint', a safetensors file has no room for a value named '__metadata__'.")
        # Another thread writes values of now, whatever happens to memory that a Tensor shares.
        later = not async_save and not crc_check
        values.append((name, value.dtype.name, value.shape, _Later(value) if later else _raw(value)))
    parts = _ckpt.parts(values, crc_check) if format == "ckpt" else _safetensors(values)
    if not async_save:
        wait_for_writers()  # one of them may write the same file
        return _write(ckpt_file_name, parts)
    if not os.path.isdir(os.path.dirname(os.path.abspath(ckpt_file_name))):  # tell now what can be told
        raise _check.missing("save_checkpoint", "folder of", ckpt_file_name, error=FileNotFoundError)
    wait_for_writers()
    thread = threading.Thread(target=_write_later, args=(ckpt_file_name, parts), name="save_checkpoint")
    _writers.append(thread)
    thread.start()
    return None


def _safetensors(values):
    """The pieces of a safetensors file."""
    meta = {"format": "pijit"}
    header, at, chunks = {"__metadata__": meta}, 0, []
    for name, *value in values:
        if len(value) == 1:
            meta["append." + name] = json.dumps(value[0])
            continue
        dtype, shape, raw = value
        header[name] = {"dtype": _NAMES[dtype], "shape": list(shape), "data_offsets": [at, at + len(raw)]}
        at += len(raw)
        chunks.append(raw)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return [struct.pack("<Q", len(text)), text, *chunks]


def _number(name, value):
    if isinstance(value, bool):
        return Tensor(value, mstype.bool_)
    if isinstance(value, int):
        if not -2 ** 63 <= value < 2 ** 63:
            raise _check.refused("save_checkpoint", name, _check.value("be an int of 64 bits"), value)
        return Tensor(value, mstype.int64)
    return Tensor(value, mstype.float32)


def _write(path, parts):
    fd, tmp = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(path)), prefix=".ckpt-")
    try:
        with os.fdopen(fd, "wb") as f:
            for part in parts:
                f.write(part.copied() if isinstance(part, _Later) else part)
            f.flush()
            os.fsync(f.fileno())
        os.replace(tmp, path)
    except BaseException:
        if os.path.exists(tmp):
            os.unlink(tmp)
        raise


def _write_later(path, parts):
    try:
        _write(path, parts)
    except Exception as e:  # raised by the next save, or by wait_for_writers
        _writer_errors.append(e)


def async_ckpt_thread_status() -> bool:
    """Whether a thread still writes a checkpoint."""
    return any(t.is_alive() for t in _writers)


def wait_for_writers() -> None:
    """Waits until threads have written their checkpoints; raises what one of them raised."""
    while _writers:
        _writers.pop().join()
    if _writer_errors:
        error = _writer_errors.pop()
        _writer_errors.clear()
        raise error


def _bad(path, why):
    return ValueError(f"{path!r} is no checkpoint of this format: {why}.")


def _read(path, check_crc):
    """name → Tensor or text, of a file of either format."""
    with open(path, "rb") as f:
        if not os.fstat(f.fileno()).st_size:
            raise _bad(path, "it is empty")
        raw = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
    # a .ckpt file begins with a byte 10, so that its first eight make no length that it could have
    if path.endswith(".safetensors") or raw[8:9] == b"{" and struct.unpack("<Q", raw[:8])[0] <= len(raw) - 8:
        return _read_safetensors(path, raw)
    try:
        values = _ckpt.read(raw, check_crc)
    except (ValueError, UnicodeDecodeError) as e:
        raise _bad(path, str(e)) from None
    return {name: v if isinstance(v, str) else _tensor(path, name, *v) for name, v in values.items()}


def _tensor(path, name, dtype, shape, raw):
    """A Tensor of checked bytes."""
    count = 1
    for d in shape:
        count *= d
    if len(shape) > 8 or count * (2 if dtype == "bfloat16" else _dtype(dtype).itemsize) != len(raw):
        raise _bad(path, f"the entry {name!r} does not fit its data (file cut short?)")
    if dtype == "bfloat16":
        return Tensor((np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32).reshape(shape),
                      mstype.bfloat16)
    if dtype == "bool" and bytes(raw).strip(b"\x00\x01"):
        raise _bad(path, f"the entry {name!r} holds bytes that are no bools")
    return Tensor(np.frombuffer(raw, dtype).reshape(shape).copy(), _dtype(dtype))


def _read_safetensors(path, raw):
    size = len(raw)
    if size < 8:
        raise _bad(path, "it is shorter than its header")
    (n,) = struct.unpack("<Q", raw[:8])
    if n > _MAX_HEADER or 8 + n > size:
        raise _bad(path, f"its header claims {n} bytes of a file of {size}")
    try:
        header = json.loads(raw[8:8 + n].decode("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as e:
        raise _bad(path, f"its header is not JSON ({e.__class__.__name__})") from None
    if not isinstance(header, dict):
        raise _bad(path, "its header is not an object")
    data = memoryview(raw)[8 + n:]
    out, meta = {}, header.pop("__metadata__", {})
    for name, entry in header.items():
        try:
            dt, shape, (begin, end) = _PUBLIC[entry["dtype"]], entry["shape"], entry["data_offsets"]
            ok = all(type(d) is int and d >= 0
                     for d in shape) and type(begin) is int and type(end) is int and 0 <= begin <= end <= len(data)
        except (KeyError, TypeError, ValueError):
            raise _bad(path, f"the entry {name!r} is malformed") from None
        if not ok:
            raise _bad(path, f"the entry {name!r} does not fit its data (file cut short?)")
        out[name] = _tensor(path, name, dt, tuple(shape), data[begin:end])
    for k, v in meta.items() if isinstance(meta, dict) else ():
        if k.startswith("append."):
            try:
                out[k[7:]] = json.loads(v)
            except (json.JSONDecodeError, TypeError, RecursionError):
                raise _bad(path, f"the appended value {k!r} is malformed") from None
    return out


def _prefixes(name, value):
    if value is None:
        return None
    value = (value,) if isinstance(value, str) else value
    if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) for v in value):
        raise _check.refused("load_checkpoint", name, _check.value("be a str or a list of them"), value, TypeError)
    return tuple(value)


def load_checkpoint(ckpt_file_name: str, net: Cell | None = None, strict_load: bool = False,
                    filter_prefix: str | Sequence[str] = None, dec_key: bytes = None, dec_mode: str = "AES-GCM",
                    specify_prefix: str | Sequence[str] = None, choice_func: Callable[[str], Any] = None,
                    crc_check: bool = False, remove_redundancy: bool = False, format: str = "ckpt") -> dict[str, Any]:
    """A dict of name → Parameter (and of strings that were appended) from a file; loaded into `net` when one is given.

    Left out are names that begin with one of filter_prefix, or with none of specify_prefix, and those that choice_func
    refuses.
    format: "ckpt" or "safetensors", which must be the file's extension. crc_check: the checksum that a .ckpt file has
        must agree.

    Raises ValueError when the file is missing, cut short or foreign, or when no name is left."""
    _check.need("load_checkpoint", "ckpt_file_name", ckpt_file_name, _check.STR)
    _check.need("load_checkpoint", "format", format, _check.one_of("ckpt", "safetensors"))
    if not ckpt_file_name.endswith("." + format):
        raise _check.refused("load_checkpoint", "the file's extension", _check.one_of("format"),
                             _check.several(ckpt_file_name, format))
    if dec_key is not None:
        raise _check.unsupported("load_checkpoint", "encrypted files ('dec_key') are")
    left_out, taken = _prefixes("filter_prefix", filter_prefix), _prefixes("specify_prefix", specify_prefix)
    wait_for_writers()
    if not os.path.isfile(ckpt_file_name):
        raise _check.missing("load_checkpoint", "file", ckpt_file_name)
    tensors = _read(ckpt_file_name, crc_check)
    out = {}
    for name, t in tensors.items():
        if (left_out and name.startswith(left_out)) or (taken and not name.startswith(taken)):
            continue
        if choice_func is None or choice_func(name):
            out[name] = Parameter(t, name=name) if isinstance(t, Tensor) else t
    if not out:
        raise ValueError(f"For 'load_checkpoint', no parameter of {ckpt_file_name!r} is left: check 'filter_prefix', "
                         "'specify_prefix' and 'choice_func'.")
    if net is not None:
        _load_into(net, out, strict_load, 3)
    return out


class ParamDictFuture:
    """A checkpoint that is being loaded: result() waits for it and gives load_checkpoint's dict."""

    def __init__(self, executor: Any, future: Any) -> None:
        self._executor, self._future = executor, future

    def result(self) -> Any:
        """The dict; raises what loading raised."""
        try:
            return self._future.result()
        finally:
            self._executor.shutdown()


def load_checkpoint_async(ckpt_file_name: str, net: Cell | None = None, strict_load: bool = False,
                          filter_prefix: str | Sequence[str] = None, dec_key: bytes = None, dec_mode: str = "AES-GCM",
                          specify_prefix: str | Sequence[str] = None,
                          choice_func: Callable[[str], Any] = None) -> ParamDictFuture:
    """load_checkpoint in another thread; gives a ParamDictFuture."""
    from concurrent.futures import ThreadPoolExecutor
    executor = ThreadPoolExecutor(1)
    return ParamDictFuture(executor, executor.submit(load_checkpoint, ckpt_file_name, net, strict_load, filter_prefix,
                                                     dec_key, dec_mode, specify_prefix, choice_func))


def load_segmented_checkpoints(ckpt_file_dir: str, net: Cell | None = None, strict_load: bool = False,
                               filter_prefix: str | Sequence[str] = None, dec_key: bytes = None,
                               dec_mode: str = "AES-GCM", specify_prefix: str | Sequence[str] = None,
                               choice_func: Callable[[str], Any] = None) -> dict[Any, Any]:
    """The parameters of all .ckpt files of a folder, as load_checkpoint gives them of one.

    Loaded into `net` when one is given. Of a name that stands in several files the last one counts, in the order of the
    files' names.

    Raises TypeError for another kind of folder name, ValueError where there is no such folder, or no name is left."""
    _check.need("load_segmented_checkpoints", "ckpt_file_dir", ckpt_file_dir, _check.STR)
    if not os.path.isdir(ckpt_file_dir):
        raise _check.missing("load_segmented_checkpoints", "folder", ckpt_file_dir)
    wait_for_writers()
    left_out, taken = _prefixes("filter_prefix", filter_prefix), _prefixes("specify_prefix", specify_prefix)
    out = {}
    for name in sorted(os.listdir(ckpt_file_dir)):
        if name.endswith(".ckpt"):
            out.update(load_checkpoint(os.path.join(ckpt_file_dir, name), dec_key=dec_key, dec_mode=dec_mode))
    out = {k: v for k, v in out.items() if not (left_out and k.startswith(left_out))
           and (not taken or k.startswith(taken))
           and (choice_func is None or choice_func(k))}
    if not out:
        raise ValueError(f"For 'load_segmented_checkpoints', the files of {ckpt_file_dir!r} hold no parameter that is "
                         "asked for.")
    if net is not None:
        load_param_into_net(net, out, strict_load)
    return out


def get_ckpt_path_with_strategy(cur_ckpt_path: str, cur_strategy_path: str) -> Any:
    """The checkpoint to resume from.

    The file itself, or None where it isn't there, as no other process keeps a copy."""
    wait_for_writers()
    return cur_ckpt_path if os.path.isfile(cur_ckpt_path) else None


def _convert(name, file_path, save_path, name_map, file_name_regex, old, new):
    if not isinstance(file_path, str) or not os.path.exists(file_path):
        raise _check.refused(name, "file_path", _check.value("be a file or folder that exists"), file_path)
    _check.need(name, "name_map", name_map, _check.optional(_check.DICT))
    if os.path.isfile(file_path):
        if not file_path.endswith("." + old):
            raise _check.refused(name, "file_path", _check.value(f"end in '.{old}'"), file_path)
        files = [file_path]
    else:
        files = [os.path.join(folder, f) for folder, _, found in os.walk(file_path) for f in found
                 if f.endswith("." + old) and (file_name_regex is None or re.search(file_name_regex, f))]
        if not files:
            which = f" that matches {file_name_regex!r}" if file_name_regex else ""
            raise ValueError(f"For '{name}', there is no file '*.{old}' in {file_path!r}{which}.")
    for f in files:
        values = {(name_map or {}).get(k, k): v for k, v in load_checkpoint(f, format=old).items()}
        stem = os.path.splitext(os.path.basename(f) if save_path is not None else f)[0]
        if save_path is not None:
            os.makedirs(save_path, exist_ok=True)
            stem = os.path.join(save_path, stem)
        save_checkpoint(values, f"{stem}.{new}", format=new)


def ckpt_to_safetensors(file_path: str, save_path: str = None, name_map: dict[str, Any] = None,
                        file_name_regex: str = None, processes_num: int = 1) -> None:
    """Writes a .ckpt file, or those of a folder, as .safetensors files beside them or in save_path.

    name_map: new names of parameters."""
    _convert("ckpt_to_safetensors", file_path, save_path, name_map, file_name_regex, "ckpt", "safetensors")


def safetensors_to_ckpt(file_path: str, save_path: str = None, name_map: dict[str, Any] = None,
                        file_name_regex: str = None, processes_num: int = 1) -> None:
    """Writes a .safetensors file, or those of a folder, as .ckpt files beside them or in save_path.

    name_map: new names of parameters."""
    _convert("safetensors_to_ckpt", file_path, save_path, name_map, file_name_regex, "safetensors", "ckpt")


def _family(dtype):
    """What values go into one another: floats, signed ints; others into their own dtype."""
    return "float" if dtype.is_floating_point else "int" if dtype in mstype.int_type else dtype


def load_param_into_net(net: Cell, parameter_dict: dict[str, Any], strict_load: bool = False,
                        remove_redundancy: bool = False) -> tuple[list[str], list[str]]:
    """Gives a network's parameters the values of a dict. Returns (names not loaded, names not used).

    Parameters are found by their names. For the others, unless strict_load is set, a prefix is looked for: what stands
    before the name in the first key that ends with it (`backbone.conv.weight` for `conv.weight`). It goes for all that
    are left and have a key with it, and so on.

    A RuntimeWarning names what has no value, a prefix that was left out, and dtypes that values were converted to. All
    shapes are checked before the first parameter changes."""
    return _load_into(net, parameter_dict, strict_load, 3)


def _load_into(net, parameter_dict, strict_load, depth):
    """load_param_into_net, whose warnings are of the place `depth` calls away."""
    from pijit.nn import Cell
    _check.need("load_param_into_net", "net", net, _check.a(Cell))
    _check.need("load_param_into_net", "parameter_dict", parameter_dict, _check.DICT)
    _check.need("load_param_into_net", "strict_load", strict_load, _check.BOOL)
    for name, v in parameter_dict.items():
        if not isinstance(name, str) or not isinstance(v, (Tensor, str)):
            raise _check.refused("load_param_into_net", "parameter_dict", _check.value("map names to Parameters"),
                                 _check.entry(name, v), TypeError)
    own = net.parameters_dict()
    keys, told = {}, []  # by the names in the network; what is warned of
    for name, p in own.items():  # a file of MindSpore has one value for all that share a name
        found = next((n for n in (name, p.name) if isinstance(parameter_dict.get(n), Tensor)), None)
        if found is not None:
            keys[name] = found
    if not strict_load:
        for name in own:
            key = None if name in keys else next((k for k in parameter_dict if k.endswith(name)), None)
            if key is not None:  # the checkpoint may be of a network that this one, or a part of it, was a part of
                prefix = key[:-len(name)]
                keys |= {n: prefix + n for n in own if n not in keys and prefix + n in parameter_dict}
                told.append(f"the prefix {prefix!r} of names in the checkpoint is left out")
    todo, missing, converted = [], [], []
    for name, p in own.items():
        v = parameter_dict[keys[name]] if name in keys else None
        if not isinstance(v, Tensor):
            missing.append(name)
            continue
        if v.shape != p.shape:
            raise RuntimeError(f"For 'load_param_into_net', {name!r} has shape {p.shape}, but the checkpoint holds "
                               f"{v.shape}.")
        if v.dtype is not p.dtype and (strict_load or _family(v.dtype) != _family(p.dtype)):
            raise RuntimeError(f"For 'load_param_into_net', {name!r} has dtype {p.dtype}, but the checkpoint holds "
                               f"{v.dtype}.")
        if v.dtype is not p.dtype:
            converted.append(f"{name} ({v.dtype} to {p.dtype})")
        todo.append((p, v))
    for p, v in todo:
        p._assign(v)
    for names, what in ((converted, "are converted to the network's dtypes"),
                        (missing, "of the network are not loaded, as the checkpoint has no values for them")):
        if names:
            told.append(f"{len(names)} parameters {what}: {', '.join(names[:10])}{' …' if len(names) > 10 else ''}")
    for what in told:
        warnings.warn(f"For 'load_param_into_net', {what}.", RuntimeWarning, stacklevel=depth)
    known = own.keys() | {p.name for p in own.values()}
    return missing, [n for n in parameter_dict if n not in known]


def export(net: Cell, *inputs: Any, file_name: str, file_format: str = "MINDIR", **kwargs: Any) -> None:
    """Writes a network, with its parameters, as the MindIR file `file_name`.mindir, or as an ONNX file.

    `load` and MindSpore read the former; the latter is `file_name`.onnx.

    net: a Cell, or a function; inputs: Tensors it takes, with which it is called once, in evaluation: as after
        set_train(False). A Tensor(shape=[None, 3], dtype=...) stands for one whose size varies where None is.
    file_format: "MINDIR" or "ONNX" (operator set 18). MindIR: parameters of more than 1 GiB go to a folder
        `file_name`_variables beside `file_name`_graph.mindir.

    Needs the package protobuf. Raises TypeError and ValueError for other kinds of arguments, RuntimeError for the
    format AIR, which is not written, for a network that is not one graph (it names the place) and for an operation
    that is not written in the format, which it names."""
    from pijit.interchange import export as written
    written(net, inputs, file_format, checked_export(net, inputs, file_name, file_format))


def checked_export(net: Any, inputs: Any, file_name: Any, file_format: Any) -> str:
    """The path that a network is written to; raises what `export` raises for its arguments."""
    from pijit.nn import Cell
    if not isinstance(net, Cell) and not callable(net):
        raise _check.refused("export", "net", _check.type_("a Cell or a function"), net)
    _check.need("export", "file_name", file_name, _check.STR)
    _check.need("export", "file_format", file_format, _check.one_of("MINDIR", "AIR", "ONNX"))
    if file_format == "AIR":
        raise RuntimeError("For 'export', the format 'AIR', which Ascend's compiler alone reads, can't be written: "
                           "write 'MINDIR' or 'ONNX'.")
    for x in inputs:
        if not isinstance(x, Tensor):
            raise _check.refused("export", "inputs", _check.type_("Tensors"), x)
    extension = "." + file_format.lower()
    return file_name if file_name.endswith(extension) else file_name + extension


class ExportedGraph:
    """A network that `load` read, for nn.GraphCell; inputs: the dtypes and shapes it takes, with -1 where a size
    varies."""

    network: Cell
    inputs: Any

    def __init__(self, network: Cell, inputs: Any) -> None:
        self.network, self.inputs = network, inputs


def load(file_name: str, **kwargs: Any) -> ExportedGraph:
    """The network of a MindIR file, written by `export` or MindSpore, for nn.GraphCell. No code of the file is run.

    Needs the package protobuf. Raises TypeError where file_name is no str, ValueError for a file that isn't there, is
    no MindIR file, is broken, or has a primitive that is not known, which it names."""
    _check.need("load", "file_name", file_name, _check.STR)
    if not os.path.isfile(file_name):
        raise _check.missing("load", "file", file_name)
    if zipfile.is_zipfile(file_name):
        raise ValueError(f"For 'load', {file_name!r} is a zip file: if an older pijit wrote it, export the network "
                         "again.")
    from pijit.interchange.reader import load as read
    return ExportedGraph(*read(file_name))
