"""MindRecord files: a header, and pages of fixed size behind it.

    file     length of the header's text (uint64), the text (JSON), room up to header_size; then pages of page_size
    page     rows, each with its length (uint64) before it; page_size of a page: how much of it is used
    RAW_DATA   a row's numbers and strings: a map in MessagePack (https://msgpack.org)
    BLOB_DATA  a row's bytes and arrays: one as it is; of several each with its length (big-endian uint64), in the order
               of their names; int32 and int64 elements packed: their count (big-endian uint32), two bits for each that
               say in how many bytes it follows (1, 2, 4 or 8), then these
    PATH.db  an SQLite database: where each row lies, and its fields that have an index

All numbers are little-endian but for those named. Files are untrusted: every length is compared with what there is, and
the database, from which nothing is needed that the file lacks, is not read."""

from __future__ import annotations

import json
import mmap
import os
import struct
from array import array
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

VERSION = "3.0"
SCALARS = {"int32": np.int32, "int64": np.int64, "float32": np.float32, "float64": np.float64}
_MAX_DEPTH = 16
_WIDTHS = np.array([1, 2, 4, 8])
_TYPES = ("<i1", "<i2", "<i4", "<i8")
_PLACES = np.arange(8)
_KINDS = np.arange(256)[:, None] >> np.array([6, 4, 2, 0]) & 3  # of four elements, by the byte that says them


class FormatError(ValueError, RuntimeError):
    """A file that is none, or broken."""


# --- MessagePack: what rows hold ---

def pack(value: Any) -> bytes:
    """A row's map: numbers, strings and maps of them, as short as they go."""
    if isinstance(value, dict):
        head = bytes([0x80 | len(value)]) if len(value) < 16 else struct.pack(">BH", 0xDE, len(value))
        return head + b"".join([pack(k) + pack(value[k]) for k in sorted(value)])
    if isinstance(value, str):
        raw = value.encode()
        n = len(raw)
        head = (bytes([0xA0 | n]) if n < 32 else struct.pack(">BB", 0xD9, n) if n < 1 << 8
                else struct.pack(">BH", 0xDA, n) if n < 1 << 16 else struct.pack(">BI", 0xDB, n))
        return head + raw
    if isinstance(value, float):
        with np.errstate(over="ignore"):
            short = float(np.float32(value))
        return struct.pack(">Bf", 0xCA, value) if short == value else struct.pack(">Bd", 0xCB, value)
    if 0 <= value < 128:
        return bytes([value])
    if -32 <= value < 0:
        return struct.pack(">b", value)
    for code, kind, low, high in ((0xCC, "B", 0, 8), (0xCD, "H", 0, 16), (0xCE, "I", 0, 32), (0xCF, "Q", 0, 64)):
        if low <= value < 1 << high:
            return struct.pack(">B" + kind, code, value)
    for code, kind, bits in ((0xD0, "b", 7), (0xD1, "h", 15), (0xD2, "i", 31), (0xD3, "q", 63)):
        if -(1 << bits) <= value:
            return struct.pack(">B" + kind, code, value)
    raise OverflowError(f"{value} has more than 64 bits")


_FIXED = {0xCA: (">f", 4), 0xCB: (">d", 8), 0xCC: (">B", 1), 0xCD: (">H", 2), 0xCE: (">I", 4), 0xCF: (">Q", 8),
          0xD0: (">b", 1), 0xD1: (">h", 2), 0xD2: (">i", 4), 0xD3: (">q", 8)}
_SIZED = {0xC4: 1, 0xC5: 2, 0xC6: 4, 0xD9: 1, 0xDA: 2, 0xDB: 4, 0xDC: 2, 0xDD: 4, 0xDE: 2, 0xDF: 4}


def _unpack(data, at, end, depth):
    """(value, behind it)"""
    def need(n):
        if n > end - at:
            raise FormatError("a row is cut off")
    need(1)
    code = data[at]
    at += 1
    if code < 0x80:
        return code, at
    if code >= 0xE0:
        return code - 256, at
    if code in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[code], at
    if code in _FIXED:
        kind, n = _FIXED[code]
        need(n)
        return struct.unpack_from(kind, data, at)[0], at + n
    if code < 0xC0:
        kind, n = ("map", code & 15) if code < 0x90 else ("list", code & 15) if code < 0xA0 else ("str", code & 31)
    elif code in _SIZED:
        n = _SIZED[code]
        need(n)
        at, n = at + n, int.from_bytes(data[at:at + n], "big")
        kind = ("bytes" if code < 0xC7 else "str" if code < 0xDC else "list" if code < 0xDE else "map")
    else:
        raise FormatError(f"a row holds a value of the kind {code:#x}")
    need(n)  # an element has a byte at least
    if kind == "bytes":
        return bytes(data[at:at + n]), at + n
    if kind == "str":
        try:
            return str(data[at:at + n], "utf-8"), at + n
        except UnicodeDecodeError as e:
            raise FormatError(f"a row holds a string that is not UTF-8: {e}") from None
    if depth >= _MAX_DEPTH:
        raise FormatError("a row is nested too deep")
    if kind == "list":
        items = []
        for _ in range(n):
            value, at = _unpack(data, at, end, depth + 1)
            items.append(value)
        return items, at
    found = {}
    for _ in range(n):
        key, at = _unpack(data, at, end, depth + 1)
        if not isinstance(key, str):
            raise FormatError("a row has a name that is no string")
        found[key], at = _unpack(data, at, end, depth + 1)
    return found, at


def unpack(data: Any) -> dict[str, Any]:
    """The map of a row. FormatError for anything else."""
    value, at = _unpack(data, 0, len(data), 0)
    if not isinstance(value, dict) or at != len(data):
        raise FormatError("a row is no map of names and values")
    return value


# --- bytes and arrays ---

def is_blob(field: Any) -> bool:
    """Whether a field of a schema lies among the bytes of a row."""
    return field["type"] == "bytes" or "shape" in field


def pack_ints(values: np.ndarray) -> bytes:
    """int32 or int64 elements in as many bytes as each needs."""
    values = values.reshape(-1).astype("<i8")
    n = len(values)
    if not n:
        return struct.pack(">I", 0)
    kinds = np.zeros(n, np.uint8)
    for k, bits in enumerate((7, 15, 31)):
        kinds[(values < -(1 << bits)) | (values >= 1 << bits)] = k + 1
    padded = np.zeros(-(-n // 4) * 4, np.uint8)
    padded[:n] = kinds
    quads = padded.reshape(-1, 4)
    head = quads[:, 0] << 6 | quads[:, 1] << 4 | quads[:, 2] << 2 | quads[:, 3]
    widths = _WIDTHS[kinds]
    taken = np.arange(8) < widths[:, None]  # of an element's eight bytes, lowest first
    return struct.pack(">I", n) + head.tobytes() + values.view(np.uint8).reshape(n, 8)[taken].tobytes()


def unpack_ints(data: Any, dtype: Any) -> np.ndarray:
    """What pack_ints packed. FormatError where the lengths do not agree."""
    if len(data) < 4:
        raise FormatError("an array of ints is cut off")
    n = int.from_bytes(data[:4], "big")
    heads = -(-n // 4)
    if n + heads > len(data) - 4:
        raise FormatError(f"an array says that it has {n} ints, but has {len(data)} bytes")
    kinds = _KINDS[np.frombuffer(data[4:4 + heads], np.uint8)].reshape(-1)[:n]
    ends = np.cumsum(_WIDTHS[kinds])
    body = np.frombuffer(data[4 + heads:], np.uint8)
    if len(body) != (ends[-1] if n else 0):
        raise FormatError(f"an array of {n} ints has {len(body)} bytes instead of {ends[-1] if n else 0}")
    present = [k for k in range(4) if (kinds == k).any()]
    if len(present) == 1:
        values = body.view(_TYPES[present[0]]).astype(np.int64)
    else:
        values = np.zeros(n, np.int64)
        for k in present:
            chosen = kinds == k
            at = (ends[chosen] - _WIDTHS[k])[:, None] + _PLACES[:_WIDTHS[k]]
            values[chosen] = body[at].reshape(-1).view(_TYPES[k])
    info = np.iinfo(dtype)
    if n and (values.min() < info.min or values.max() > info.max):
        raise FormatError(f"an array holds ints beyond {np.dtype(dtype)}")
    return values.astype(dtype)


def pack_blob(field: Any, value: Any) -> bytes:
    """The bytes of a field."""
    if field["type"] == "bytes":
        return bytes(value)
    value = np.ascontiguousarray(value)
    return pack_ints(value) if value.dtype.kind == "i" else value.astype(value.dtype.newbyteorder("<")).tobytes()


def unpack_blob(name: str, field: Any, data: Any) -> Any:
    """The value of a field: bytes, or an array of the schema's shape."""
    if field["type"] == "bytes":
        return bytes(data)
    dtype = np.dtype(SCALARS[field["type"]])
    if dtype.kind == "i":
        value = unpack_ints(data, dtype)
    elif len(data) % dtype.itemsize:
        raise FormatError(f"{name!r} has {len(data)} bytes, which are no {dtype} elements")
    else:
        value = np.frombuffer(bytes(data), dtype.newbyteorder("<")).astype(dtype, copy=False)
    try:
        return value.reshape(field["shape"])
    except ValueError:
        raise FormatError(f"{name!r} has {value.size} elements, which are not of the shape {field['shape']}") from None


# --- headers ---

def _is_count(x, low=0):
    return type(x) is int and low <= x < 1 << 62


def _checked_schema(entry):
    """(fields, names of blobs, description) of a header's schema."""
    if not isinstance(entry, dict) or not isinstance(entry.get("schema"), dict) or not entry["schema"]:
        raise FormatError("its header has no schema")
    fields = entry["schema"]
    for name, field in fields.items():
        if not isinstance(field, dict) or field.get("type") not in (*SCALARS, "string", "bytes"):
            raise FormatError(f"its schema has the field {name!r} of no known type")
        shape = field.get("shape")
        if "shape" in field and (field["type"] not in SCALARS or not isinstance(shape, list) or not shape
                                 or not all(d == -1 or _is_count(d) for d in shape) or shape.count(-1) > 1):
            raise FormatError(f"its schema has the field {name!r} of the shape {shape!r}")
    blobs = entry.get("blob_fields")
    if blobs is None:
        blobs = []
    if not isinstance(blobs, list) or not all(isinstance(b, str) for b in blobs) or \
            sorted(blobs) != sorted(n for n, f in fields.items() if is_blob(f)):
        raise FormatError("its header names other fields of bytes than its schema")
    desc = entry.get("desc", "")
    return fields, blobs, desc if isinstance(desc, str) else ""


class Shard:
    """A file that is open for reading: `schema`, `index` (names of fields), `addresses` of all files, and rows by
    number. FormatError (ValueError and RuntimeError) for what is no MindRecord file."""

    header: dict[str, Any]
    schema: dict[str, Any]
    blobs: list[str]

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            size = os.path.getsize(path)
            with open(path, "rb") as f:
                if size < 8:
                    raise FormatError(f"Invalid file, the size of mindrecord file: {size} is smaller than the lower "
                                      f"limit: 8: {path!r}.")
                self._data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as e:
            raise RuntimeError(f"Failed to open the file {path!r}: {e}") from e
        self.view = memoryview(self._data)
        try:
            self._read_header(size)
            self._find_rows()
        except FormatError as e:
            self.close()
            raise FormatError(f"{path!r} is no MindRecord file, or broken: {e}.") from None

    def close(self) -> None:
        """Lets go of the file; where an error about one of its rows still holds a part of it, with that error."""
        try:
            self.view.release()
            self._data.close()
        except BufferError:
            pass

    def _read_header(self, size):
        n = int.from_bytes(self.view[:8], "little")
        if not n or n > size - 8:
            raise FormatError(f"its header of {n} bytes is longer than the file")
        try:
            header = json.loads(bytes(self.view[8:8 + n]))
        except (ValueError, RecursionError) as e:
            raise FormatError(f"its header is no JSON: {str(e)[:200]}") from None
        if not isinstance(header, dict):
            raise FormatError("its header is no JSON object")
        self.header = header
        for name in ("header_size", "page_size"):
            if not _is_count(header.get(name), 1):
                raise FormatError(f"its header has the {name} {header.get(name)!r}")
        if n > header["header_size"] - 8:
            raise FormatError("its header is longer than the header_size that it names")
        schemas = header.get("schema")
        if not isinstance(schemas, list) or len(schemas) != 1:
            raise FormatError("its header has no schema")
        self.schema, self.blobs, self.desc = _checked_schema(schemas[0])
        index = header.get("index_fields")
        index = [] if index is None else index
        if not isinstance(index, list) or not all(isinstance(i, dict) and i.get("index_field") in self.schema
                                                  for i in index):
            raise FormatError("its header names indexes of other fields than its schema's")
        self.index = [i["index_field"] for i in index]
        addresses = header.get("shard_addresses")
        if not isinstance(addresses, list) or not addresses or not all(isinstance(a, str) for a in addresses):
            raise FormatError("its header does not name its files")
        self.addresses = addresses
        pages = header.get("page")
        pages = [] if pages is None else pages
        if not isinstance(pages, list):
            raise FormatError("its header has no list of pages")
        self.pages = {}
        for p in pages:
            if not isinstance(p, dict) or not all(_is_count(p.get(k)) for k in (
                    "page_id", "page_size", "page_type_id", "start_row_id", "end_row_id")) or \
                    p.get("page_type") not in ("RAW_DATA", "BLOB_DATA"):
                raise FormatError("its header has a page without a place, a size or a type")
            begin = header["header_size"] + p["page_id"] * header["page_size"]
            if p["page_id"] in self.pages or p["page_size"] > header["page_size"] or begin + p["page_size"] > size:
                raise FormatError(f"its page {p['page_id']} reaches beyond its place or the file")
            self.pages[p["page_id"]] = p

    def _begin(self, page):
        return self.header["header_size"] + page["page_id"] * self.header["page_size"]

    def _walk(self, begin, end, places):
        """Appends the begin and the end of each row between two places."""
        view = self.view
        while begin < end:
            if end - begin < 8:
                raise FormatError("a page ends within a row's length")
            n = int.from_bytes(view[begin:begin + 8], "little")
            if n > end - begin - 8:
                raise FormatError("a row is longer than its page")
            places.extend((begin + 8, begin + 8 + n))
            begin += 8 + n

    def _find_rows(self):
        blobs = sorted((p for p in self.pages.values() if p["page_type"] == "BLOB_DATA"),
                       key=lambda p: p["start_row_id"])
        self._blob_places = array("q")  # begin and end of each row
        for p in blobs:
            if p["start_row_id"] != len(self._blob_places) // 2:
                raise FormatError("the rows of its pages do not follow each other")
            self._walk(self._begin(p), self._begin(p) + p["page_size"], self._blob_places)
            if p["end_row_id"] != len(self._blob_places) // 2:
                raise FormatError(f"its page {p['page_id']} says that it ends at row {p['end_row_id']}, but it does "
                                  f"at {len(self._blob_places) // 2}")
        groups = {}
        for p in self.pages.values():
            if p["page_type"] != "RAW_DATA":
                continue
            parts = p.get("row_group_ids")
            if not isinstance(parts, list) or not all(isinstance(g, dict) and _is_count(g.get("id"))
                                                      and _is_count(g.get("offset")) for g in parts):
                raise FormatError(f"its page {p['page_id']} does not say which rows it has")
            parts = sorted(parts, key=lambda g: g["offset"])
            ends = [*[g["offset"] for g in parts[1:]], p["page_size"]]
            if parts and parts[0]["offset"] or not parts and p["page_size"]:
                raise FormatError(f"its page {p['page_id']} does not say which rows it has")
            for g, end in zip(parts, ends):
                if g["id"] in groups or end < g["offset"] or end > p["page_size"]:
                    raise FormatError(f"its page {p['page_id']} does not say which rows it has")
                groups[g["id"]] = self._begin(p) + g["offset"], self._begin(p) + end
        self._raw_places = array("q")
        for g in sorted(groups):
            self._walk(*groups[g], self._raw_places)
        if len(self._raw_places) != len(self._blob_places):
            raise FormatError(f"it has the numbers of {len(self._raw_places) // 2} rows, but the bytes of "
                              f"{len(self._blob_places) // 2}")

    def __len__(self) -> int:
        return len(self._raw_places) // 2

    def numbers(self, row: int) -> dict[str, Any]:
        """The numbers and strings of a row, by names."""
        begin, end = self._raw_places[2 * row:2 * row + 2]
        found = unpack(self.view[begin:end])
        out = {}
        for name, field in self.schema.items():
            if is_blob(field):
                continue
            value = found.get(name)
            kind = field["type"]
            if kind == "string":
                fits = isinstance(value, str)
            elif kind in ("int32", "int64"):
                bits = 31 if kind == "int32" else 63
                fits = type(value) is int and -(1 << bits) <= value < 1 << bits
            else:
                fits = type(value) in (int, float)
                value = float(value) if fits else value
            if not fits:
                raise FormatError(f"row {row} of {self.path!r} holds {str(value)[:50]!r} as {name!r}, which is no "
                                  f"{kind}")
            out[name] = value
        return out

    def bytes_of(self, row: int, columns: Any = None) -> dict[str, Any]:
        """The bytes and arrays of a row, all or those of `columns`, by names."""
        begin, end = self._blob_places[2 * row:2 * row + 2]
        data = self.view[begin:end]
        try:
            if len(self.blobs) == 1:
                name = self.blobs[0]
                return {name: unpack_blob(name, self.schema[name], data)}
            out, at = {}, 0
            for name in self.blobs:
                if len(data) - at < 8:
                    raise FormatError(f"it ends before {name!r}")
                n = int.from_bytes(data[at:at + 8], "big")
                at += 8
                if n > len(data) - at:
                    raise FormatError(f"{name!r} is longer than the row")
                if columns is None or name in columns:
                    out[name] = unpack_blob(name, self.schema[name], data[at:at + n])
                at += n
            return out
        except FormatError as e:
            raise FormatError(f"row {row} of {self.path!r} is broken: {e}.") from None

    def row(self, row: int, columns: Any = None) -> dict[str, Any]:
        """Values by names, of all fields or those of `columns`."""
        try:
            found = self.numbers(row) if columns is None or any(not is_blob(self.schema[c]) for c in columns) else {}
        except FormatError as e:
            raise FormatError(f"row {row} of {self.path!r} is broken: {e}.") from None
        if columns is None or any(is_blob(self.schema[c]) for c in columns):
            found.update(self.bytes_of(row, columns))
        return found if columns is None else {c: found[c] for c in columns}


def files_of(paths: Any) -> list[str]:
    """The files that a reader is given: a list of them, or one, which names the others of its set beside it."""
    if isinstance(paths, (list, tuple)):
        return list(paths)
    first = Shard(paths)
    addresses = first.addresses
    first.close()
    folder, own = os.path.split(paths)
    # only names: a file cannot lead to other folders
    names = [os.path.basename(a.replace("\\", "/")) for a in addresses]
    if own not in names:
        if len(names) > 1:
            raise FormatError(f"the file {paths!r} was renamed: its set has the files {names}")
        names = [own]
    return [os.path.join(folder, n) for n in names]


def open_all(paths: Any) -> list[Shard]:
    """The files of a set, open; RuntimeError where one is missing, broken, or of another schema."""
    shards: list[Shard] = []
    try:
        for p in files_of(paths):
            if not os.path.isfile(p):
                raise RuntimeError(f"The input: {p} is not exists.")
            shards.append(Shard(p))
            if shards[-1].schema != shards[0].schema:
                raise FormatError(f"{p!r} has another schema than {shards[0].path!r}")
    except BaseException:
        for s in shards:
            s.close()
        raise
    return shards


def each_row(shards: list[Shard], columns: Any = None) -> Iterator[dict[str, Any]]:
    """The rows of files, in order."""
    for s in shards:
        for k in range(len(s)):
            yield s.row(k, columns)
