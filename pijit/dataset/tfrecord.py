"""Datasets of records in TFRecord files."""

from __future__ import annotations

import mmap
import os
import struct
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check
from pijit.dataset.datasets import Shuffle
from pijit.dataset.files import FileRows
from pijit.dataset.pipeline import Chunk, Column

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from pijit.dataset.schema import Schema


def _crc_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = (i >> 1) ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


_CRC = _crc_table()


def masked_crc32c(data: Any) -> Any:
    """The checksum of TFRecord files."""
    c = 0xFFFFFFFF
    for b in data:
        c = _CRC[(c ^ b) & 255] ^ (c >> 8)
    c ^= 0xFFFFFFFF
    return ((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _varint(data, i):
    value = shift = 0
    while True:
        if i >= len(data) or shift > 63:
            raise ValueError("a number is cut off")
        b = data[i]
        value |= (b & 127) << shift
        i += 1
        if b < 128:
            return value, i
        shift += 7


def _fields(data):
    """The (number, value) pairs of a message of Protocol Buffers: ints for numbers, bytes for the rest."""
    i = 0
    while i < len(data):
        key, i = _varint(data, i)
        kind = key & 7
        if kind == 0:
            value, i = _varint(data, i)
        elif kind in (1, 5):
            n = 8 if kind == 1 else 4
            value, i = data[i:i + n], i + n
        elif kind == 2:
            n, i = _varint(data, i)
            value, i = data[i:i + n], i + n
        else:
            raise ValueError(f"wire type {kind}")
        if i > len(data):
            raise ValueError("a field is cut off")
        yield key >> 3, value


def _bytes(value):
    """A field's bytes: bytes() of a number would be as many zeros."""
    if isinstance(value, int):
        raise ValueError("a number stands where bytes should")
    return value


def parse_example(data: Any) -> dict[Any, Any]:
    """The features of a tf.train.Example: a dict from names to arrays of int64, float32 or bytes objects."""
    out = {}
    for number, features in _fields(data):
        if number != 1:
            continue
        for number, entry in _fields(_bytes(features)):
            if number != 1:
                continue
            pair = dict(_fields(_bytes(entry)))
            name = bytes(_bytes(pair.get(1, b""))).decode()
            feature = list(_fields(_bytes(pair.get(2, b""))))
            if not feature:
                continue
            kind, content = feature[-1]
            values = [v for n, v in _fields(_bytes(content)) if n == 1]
            if kind == 1:
                out[name] = np.empty(len(values), object)  # not np.bytes_, which drops zeros at the end
                out[name][:] = [bytes(_bytes(v)) for v in values]
            elif kind == 2:
                out[name] = np.frombuffer(b"".join(bytes(_bytes(v)) for v in values), "<f4").astype(np.float32)
            elif kind == 3:
                numbers = []
                for v in values:
                    if isinstance(v, int):
                        numbers.append(v)
                        continue
                    i = 0
                    while i < len(v):
                        x, i = _varint(v, i)
                        numbers.append(x)
                out[name] = np.array([x & (1 << 64) - 1 for x in numbers], np.uint64).astype(np.int64)
    return out


def _joined(values):
    return np.frombuffer(b"".join(values), np.uint8)


class TFRecordDataset(FileRows):
    """Rows of tf.train.Example in TFRecord files: a column for each feature: int64, float32, or bytes as uint8.

    Args:
        dataset_files: a path, a pattern, or a list of them.
        schema: a Schema or the path of one, which gives names, types and shapes; None takes them as they are, by the
            first row.
        columns_list: the names of columns to take. shuffle: a bool or a Shuffle, GLOBAL by default.
        num_samples, num_parallel_workers, num_shards, shard_id: as in GeneratorDataset. shard_equal_rows: shards are
            equally large anyway.
        compression_type: None, "", "GZIP" or "ZLIB".
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are
    broken."""

    schema: Schema | None

    def __init__(self, dataset_files: str | Sequence[str], schema: Any = None, columns_list: str | Sequence[str] = None,
                 num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | Shuffle = Shuffle.GLOBAL, num_shards: int | None = None, shard_id: int | None = None,
                 shard_equal_rows: bool = False, cache: Any = None, compression_type: Any = None) -> None:
        op = "TFRecordDataset"
        from pijit.dataset.schema import Schema
        self.schema = None if schema is None else schema if isinstance(schema, Schema) else Schema(schema)
        self.columns_list: list[Any] | None = check.columns(op, "columns_list", columns_list, none=True)
        check.boolean(op, "shard_equal_rows", shard_equal_rows)
        self.compression_type = (check.choice(op, "compression_type", compression_type, ("", "GZIP", "ZLIB"),
                                              none=True) or "")
        super().__init__(dataset_files, num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)
        self._places = None

    def _records(self):
        if self._places is None:
            self._places = [self._scan(p) for p in self.dataset_files]
        return self._places

    def _scan(self, path):
        """The bytes of a file, and (start, end) of its records."""
        op = "TFRecordDataset"
        try:
            if self.compression_type == "GZIP":
                import gzip
                with gzip.open(path) as f:
                    data = f.read()
            elif self.compression_type == "ZLIB":
                import zlib
                with open(path, "rb") as f:
                    data = zlib.decompress(f.read())
            elif os.path.getsize(path):
                with open(path, "rb") as f:
                    data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
            else:
                data = b""
        except Exception as e:
            raise RuntimeError(f"[{op}] cannot read {path!r}: {e}") from e
        places, i = [], 0
        while i < len(data):
            head = data[i:i + 12]
            if len(head) < 12:
                raise RuntimeError(f"[{op}] {path!r} is cut off within the header of record {len(places)}.")
            length, crc = struct.unpack("<QI", head)
            if masked_crc32c(head[:8]) != crc:
                raise RuntimeError(
                    f"[{op}] {path!r} is no TFRecord file, or broken: the checksum of record {len(places)} is wrong.")
            if i + 16 + length > len(data):
                raise RuntimeError(
                    f"[{op}] {path!r} is cut off within record {len(places)}, which should have {length} bytes.")
            places.append((i + 12, i + 12 + length))
            i += 16 + length
        return data, places

    def _counts(self):
        return [len(places) for _, places in self._records()]

    def _example(self, file, i):
        data, places = self._records()[file]
        try:
            return parse_example(memoryview(data)[slice(*places[i])])
        except (ValueError, UnicodeDecodeError) as e:
            raise RuntimeError(
                f"[TFRecordDataset] record {i} of {self.dataset_files[file]!r} is no tf.train.Example: {e}") from e

    def _columns(self):
        if self.schema is not None:
            names = [c["name"] for c in self.schema.columns]
        else:
            if not hasattr(self, "_first_names"):
                self._length()
                file = next(i for i, n in enumerate(self._counts()) if n)
                self._first_names = sorted(self._example(file, 0))
            names = self._first_names
        if self.columns_list is not None:
            for c in self.columns_list:
                if c not in names:
                    raise RuntimeError(f"[TFRecordDataset] columns_list names {c!r}, but there are {names}.")
            names = self.columns_list
        if not names:
            raise RuntimeError("[TFRecordDataset] there is no column: the " + (
                "first record has no feature." if self.schema is None else "schema names none."))
        return names

    def _read(self, indices):
        names = self._columns()
        kinds = {} if self.schema is None else {c["name"]: c for c in self.schema.columns}
        columns = [Column(len(indices)) for _ in names]
        for file, i in self._where(indices):
            row = self._example(file, i)
            for name, column in zip(names, columns):
                if name not in row:
                    raise RuntimeError(
                        f"[TFRecordDataset] record {i} of {self.dataset_files[file]!r} has no feature {name!r}; it "
                        f"has {sorted(row)}.")
                value = row[name]
                if name in kinds:
                    value = self._shaped(value, kinds[name], name)
                elif value.dtype.kind == "O":
                    value = _joined(value)
                column.add(value)
        return Chunk(len(indices), dict(zip(names, (c.done() for c in columns))))

    def _shaped(self, value, column, name):
        kind = np.dtype(column["type"])
        if value.dtype.kind == "O" and kind == np.uint8:
            value = _joined(value)
        elif (value.dtype.kind == "O") != (kind.kind in "US"):
            raise RuntimeError(
                f"[TFRecordDataset] column {name!r} is {column['type']} in the schema, but holds {value.dtype}.")
        elif kind.kind in "US":
            try:
                value = np.array([v.decode() for v in value])
            except UnicodeDecodeError as e:
                raise RuntimeError(f"[TFRecordDataset] column {name!r} holds a string that is not UTF-8: {e}") from e
        else:
            value = value.astype(kind)
        shape = column.get("shape")
        if shape is not None:
            try:
                value = value.reshape(shape)
            except ValueError as e:
                raise RuntimeError(
                    f"[TFRecordDataset] column {name!r} has the shape {shape} in the schema, but holds {value.size} "
                    f"values.") from e
        return value
