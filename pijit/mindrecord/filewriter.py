"""Writing MindRecord files."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import struct
import warnings
from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit.mindrecord import _format
from pijit.mindrecord.common.exceptions import (MRMAddSchemaError, MRMBuildSchemaError, MRMDefineIndexError,
                                                MRMInvalidSchemaError, ParamTypeError, ParamValueError)

if TYPE_CHECKING:
    from typing import Any

_HEADER, _PAGE = 1 << 24, 1 << 25
_COLUMNS = ("ROW_ID               INT  NOT NULL, PAGE_ID_RAW          INT  NOT NULL, "
            "PAGE_OFFSET_RAW      INT  NOT NULL, PAGE_OFFSET_RAW_END  INT  NOT NULL, "
            "ROW_GROUP_ID         INT  NOT NULL, PAGE_ID_BLOB         INT  NOT NULL, "
            "PAGE_OFFSET_BLOB     INT  NOT NULL, PAGE_OFFSET_BLOB_END INT  NOT NULL")
_SQL = {"string": "TEXT", "int32": "INTEGER", "int64": "INTEGER", "float32": "REAL", "float64": "REAL"}


def checked_path(file_name: Any) -> str:
    """A path; ParamValueError for what is none."""
    if file_name is None or file_name == "":
        raise ParamValueError("File path is not allowed None or empty!")
    if not isinstance(file_name, str):
        raise ParamValueError(f"File path: {file_name} is not string.")
    return file_name


def _column(name):
    """The column of the index for a field."""
    return f'"{name}_0"' if name[0].isdigit() else f"{name}_0"


class _Target:
    """A file that is being written, and its index."""

    def __init__(self, path, number, header_size, page_size, appended=None):
        self.path, self.number, self.header_size, self.page_size = path, number, header_size, page_size
        self.pages, self.rows, self.saved, self.index = [], 0, 0, None
        if appended is not None:
            self.pages = sorted((dict(p) for p in appended.pages.values()), key=lambda p: p["page_id"])
            self.rows, self.saved = len(appended), appended.header.get("compression_size", 0)
            self.saved = self.saved if type(self.saved) is int else 0

    def open(self, writer):
        """Opens file and index; the first time in this writer."""
        if self.index is not None:
            return
        names = writer._index
        mode = "r+b" if writer._appends else "wb"
        self.file = open(self.path, mode)
        try:
            os.chmod(self.path, 0o600)
            if not writer._appends and os.path.exists(self.path + ".db"):
                os.unlink(self.path + ".db")
            self.index = sqlite3.connect(self.path + ".db", isolation_level=None)
            os.chmod(self.path + ".db", 0o600)
            self.index.execute("PRAGMA trusted_schema=OFF")
            self.index.execute("PRAGMA synchronous=OFF")
            self.index.execute("BEGIN")
            kinds = [_SQL[writer._schema[n]["type"]] for n in names]
            fields = "".join(f",INC_{k} INT, {_column(n)} {kind}" for k, (n, kind) in enumerate(zip(names, kinds)))
            keys = "".join(f",INC_{k}" for k in range(len(names)))
            if not writer._appends:
                self.index.execute(f"CREATE TABLE INDEXES(  {_COLUMNS}{fields}, PRIMARY KEY(ROW_ID{keys}))")
                self.index.execute("CREATE TABLE SHARD_NAME(NAME TEXT NOT NULL)")
                self.index.execute("INSERT INTO SHARD_NAME VALUES(?)", (os.path.basename(self.path),))
            self.insert = f"INSERT INTO INDEXES VALUES({','.join('?' * (8 + 2 * len(names)))})"
        except (OSError, sqlite3.Error) as e:
            self.close()
            raise RuntimeError(f"Failed to make the index of {self.path!r}: {e}") from e

    def close(self):
        self.file.close()
        if self.index is not None:
            self.index.close()
            self.index = None

    def _page(self, kind, type_id, row):
        page = {"end_row_id": row, "page_id": len(self.pages), "page_size": 0, "page_type": kind,
                "page_type_id": type_id, "row_group_ids": [{"id": 0, "offset": 0}], "shard_id": self.number,
                "start_row_id": row}
        if kind == "RAW_DATA":
            page.update(end_row_id=0, start_row_id=0, row_group_ids=[])
        self.pages.append(page)
        return page

    def _last(self, kind):
        return next((p for p in reversed(self.pages) if p["page_type"] == kind), None)

    def write(self, rows):
        """rows: (map of numbers, bytes, values of the index)."""
        lengths = [(8 + len(raw), 8 + len(blob)) for raw, blob, _ in rows]
        if max(map(max, lengths)) > self.page_size:
            raise RuntimeError(f"A row of {max(map(max, lengths))} bytes is larger than the page size "
                               f"{self.page_size}: choose a larger one by 'set_page_size'.")
        # the bytes first: rows of one page of bytes are one group of numbers, which lies in one page as well
        page, raw = self._last("BLOB_DATA"), self._last("RAW_DATA")
        room = self.page_size - raw["page_size"] if raw else 0  # for more of the last group
        groups = []  # (page of bytes, its rows)
        for k, (a, b) in enumerate(lengths):
            if page is None or page["page_size"] + b > self.page_size or a > room:
                number = 0 if page is None else page["page_type_id"] + 1
                page, room = self._page("BLOB_DATA", number, self.rows + k), self.page_size
            if not groups or groups[-1][0] is not page:
                groups.append((page, []))
            groups[-1][1].append((k, page["page_size"]))
            page["page_size"] += b
            page["end_row_id"] = self.rows + k + 1
            room -= a
        entries, last = [], raw["row_group_ids"][-1]["id"] if raw else -1
        for page, members in groups:
            size = sum(lengths[k][0] for k, _ in members)
            group = page["page_type_id"]
            if raw is None or raw["page_size"] + size > self.page_size:
                raw = self._page("RAW_DATA", len(self.pages) if raw else 0, 0)
            if group != last:
                raw["row_group_ids"].append({"id": group, "offset": raw["page_size"]})
                last = group
            begin = raw["page_size"]
            for k, at in members:
                a, b = lengths[k]
                entry = [self.rows + k, raw["page_id"], raw["page_size"], raw["page_size"] + a, group,
                         page["page_id"], at, at + b]
                for value in rows[k][2]:
                    entry += [0, value]
                entries.append(entry)
                raw["page_size"] += a
            self._put(raw, begin, b"".join(struct.pack("<Q", len(rows[k][0])) + rows[k][0] for k, _ in members))
            self._put(page, members[0][1],
                      b"".join(struct.pack("<Q", len(rows[k][1])) + rows[k][1] for k, _ in members))
        try:
            self.index.executemany(self.insert, entries)
        except sqlite3.Error as e:  # of another file, or broken
            raise RuntimeError(f"Failed to write the index of {self.path!r}: {e}") from e
        self.rows += len(rows)

    def _put(self, page, at, data):
        self.file.seek(self.header_size + page["page_id"] * self.page_size + at)
        self.file.write(data)

    def finish(self, writer):
        """Writes header and index."""
        fields = [{"index_field": n, "schema_id": 0} for n in writer._index]
        blobs = sorted(n for n, f in writer._schema.items() if _format.is_blob(f))
        header = {"header_size": self.header_size, "index_fields": fields or None, "page": self.pages or None,
                  "page_size": self.page_size, "compression_size": max(0, self.saved),
                  "schema": [{"blob_fields": blobs, "desc": writer._desc,
                              "schema": {n: dict(sorted(writer._schema[n].items()))
                                         for n in sorted(writer._schema)}}],
                  "shard_addresses": [os.path.basename(t.path) for t in writer._targets], "shard_id": self.number,
                  "statistics": None, "version": _format.VERSION}
        text = json.dumps(header, separators=(",", ":")).encode()
        if len(text) > self.header_size - 8:
            raise RuntimeError(f"The header of {len(text)} bytes is larger than {self.header_size}: choose a larger "
                               "size by 'set_header_size'.")
        self.file.seek(0)
        self.file.write(struct.pack("<Q", len(text)) + text)
        self.file.flush()
        os.fsync(self.file.fileno())
        self.index.execute("COMMIT")
        self.close()


class FileWriter:
    """Writes rows to MindRecord files.

    Args:
        file_name (str): the file; of several, the beginning of their names, which end in their numbers.
        shard_num (int, optional): how many files, 1 to 1000. Default: 1.
        overwrite (bool, optional): whether files that are there are replaced. Default: False.

    Raises:
        ParamValueError: if `file_name` or `shard_num` is not valid.

    Example:
        >>> import os, tempfile
        >>> from mindspore.mindrecord import FileReader, FileWriter
        >>> path = os.path.join(tempfile.mkdtemp(), "numbers.mindrecord")
        >>> writer = FileWriter(path)
        >>> _ = writer.add_schema({"name": {"type": "string"}, "data": {"type": "int32", "shape": [-1]}})
        >>> writer.write_raw_data([{"name": "a", "data": np.array([1, 2], np.int32)}])
        >>> writer.commit()
        >>> next(FileReader(path).get_next())["name"]
        'a'
    """

    def __init__(self, file_name: str, shard_num: int = 1, overwrite: bool = False) -> None:
        checked_path(file_name)
        if isinstance(shard_num, bool) or not isinstance(shard_num, int):
            raise ParamValueError("Parameter shard_num's type is not int.")
        if not 1 <= shard_num <= 1000:
            raise ParamValueError(f"Parameter shard_num's value: {shard_num} should between 1 and 1000.")
        if not isinstance(overwrite, bool):
            raise ParamValueError("Parameter overwrite's type is not bool.")
        digits = len(str(shard_num - 1))
        self._paths = [file_name] if shard_num == 1 else [f"{file_name}{k:0{digits}}" for k in range(shard_num)]
        self._overwrite, self._appends = overwrite, False
        self._header_size, self._page_size = _HEADER, _PAGE
        self._schema, self._desc, self._index, self._targets = {}, "", None, []

    @staticmethod
    def open_for_append(file_name: str) -> FileWriter:
        """A writer that adds rows to a file (or its set) that is there."""
        checked_path(file_name)
        if not os.path.isfile(file_name):
            raise RuntimeError(f"The input: {file_name} is not exists.")
        writer = FileWriter(file_name)
        shards = _format.open_all(file_name)
        try:
            first = shards[0]
            writer._schema, writer._desc, writer._index = dict(first.schema), first.desc, list(first.index)
            writer._appends, writer._paths = True, [s.path for s in shards]
            writer._header_size, writer._page_size = first.header["header_size"], first.header["page_size"]
            for s in shards:
                if not os.path.isfile(s.path + ".db"):
                    raise RuntimeError(f"The input: {s.path}.db is not exists.")
            writer._targets = [_Target(s.path, k, s.header["header_size"], s.header["page_size"], s)
                               for k, s in enumerate(shards)]
        finally:
            for s in shards:
                s.close()
        return writer

    def init_append(self, file_name: str, header: Any) -> None:  # noqa: ARG002
        """Makes this writer add rows to a file that is there, as open_for_append does."""
        self.__dict__.update(FileWriter.open_for_append(file_name).__dict__)

    def _not_begun(self, what):
        if self._targets:
            raise RuntimeError(f"'{what}' must come before rows are written.")

    def add_schema(self, content: dict[str, Any], desc: str | None = None) -> int:
        """Names the fields: {name: {"type": "int32", "int64", "float32", "float64", "string" or "bytes", "shape": [...]
        of arrays}}.

        Returns the schema's number. Raises MRMInvalidSchemaError for what is no schema, MRMBuildSchemaError for a shape
        that can't be, MRMAddSchemaError for a second one."""
        problem = _problem_of(content)
        if problem:
            raise MRMInvalidSchemaError(problem)
        _check.need("add_schema", "desc", desc, _check.optional(_check.STR))
        for field in content.values():
            if "shape" in field and (not isinstance(field["shape"], list) or not field["shape"] or not all(
                    type(d) is int and d >= -1 for d in field["shape"]) or field["shape"].count(-1) > 1):
                raise MRMBuildSchemaError
        if self._schema:
            raise MRMAddSchemaError
        self._not_begun("add_schema")
        self._schema, self._desc = {n: dict(f) for n, f in content.items()}, desc or ""
        return 0

    def add_index(self, index_fields: list[str]) -> Any:
        """Names the fields by which rows can be found; all numbers and strings where it is not called."""
        if not isinstance(index_fields, list) or not index_fields:
            raise ParamTypeError("index_fields", "list")
        for name in index_fields:
            if name in self._schema and _format.is_blob(self._schema[name]):
                raise MRMDefineIndexError(f"Failed to set field {name} since it's not primitive type.")
            if not isinstance(name, str):
                raise ParamTypeError("index field", "str")
            if name not in self._schema:
                raise RuntimeError(f"The field {name!r} of the index is not in the schema.")
        self._not_begun("add_index")
        self._index = list(dict.fromkeys(index_fields))
        return None

    def _size(self, what, value, low):
        _check.need(what, "the size", value, _check.INT)
        if value < low or value > 1 << 37 or value % 4:
            raise _check.refused(what, "the size", _check.value(f"be a multiple of 4 of {low} or more"), value,
                                 RuntimeError)
        self._not_begun(what)
        return value

    def set_header_size(self, header_size: int) -> None:
        """The bytes that there are for the header, 16 KiB to 128 GiB. Raises TypeError and RuntimeError."""
        self._header_size = self._size("set_header_size", header_size, 1 << 14)

    def set_page_size(self, page_size: int) -> None:
        """The bytes of a page, 32 KiB to 128 GiB. Raises TypeError and RuntimeError."""
        self._page_size = self._size("set_page_size", page_size, 1 << 15)

    def _begin(self):
        if self._targets:
            for t in self._targets:
                t.open(self)
            return
        if not self._schema:
            raise RuntimeError("There is no schema: call 'add_schema' first.")
        for path in self._paths:
            if not self._overwrite and any(map(os.path.exists, (path, path + ".db"))):
                raise RuntimeError(f"The file {path!r} exists: remove it first, or use overwrite=True.")
        if self._index is None:
            self._index = sorted(n for n, f in self._schema.items() if not _format.is_blob(f))
        targets = [_Target(p, k, self._header_size, self._page_size) for k, p in enumerate(self._paths)]
        for t in targets:
            try:
                t.open(self)
            except OSError as e:
                raise RuntimeError(f"Failed to open the file {t.path!r}: {e}") from e
        self._targets = targets

    def write_raw_data(self, raw_data: list[dict[str, Any]],
                       parallel_writer: bool = False) -> None:  # noqa: ARG002
        """Writes rows, each a dict by the schema's names. What does not fit the schema is left out, with a warning.

        Raises ParamTypeError where `raw_data` is no list of dicts, RuntimeError where no row fits, or a file is
        there."""
        if not isinstance(raw_data, list):
            raise ParamTypeError("raw_data", "list")
        for row in raw_data:
            if not isinstance(row, dict):
                raise ParamTypeError("raw_data item", "dict")
        if not self._schema:
            raise RuntimeError("There is no schema: call 'add_schema' first.")
        good = []
        for row in raw_data:
            wrong = next((w for w in (_misfit(n, f, row) for n, f in self._schema.items()) if w), None)
            if wrong:
                warnings.warn(f"'write_raw_data' leaves out a row: {wrong}.", RuntimeWarning, stacklevel=2)
            else:
                good.append(row)
        if not good:
            raise RuntimeError("There is no valid data which can be written by 'write_raw_data' to mindrecord file. "
                               "Please check the abnormal input data indicated in the warnings above.")
        self._begin()
        blobs = sorted(n for n, f in self._schema.items() if _format.is_blob(f))
        numbers = sorted(n for n in self._schema if n not in blobs)
        count = len(self._targets)
        for k, target in enumerate(self._targets):
            part = good[len(good) * k // count:len(good) * (k + 1) // count]
            if part:
                target.write([self._row(target, row, numbers, blobs) for row in part])

    def _row(self, target, row, numbers, blobs):
        values = {n: _plain(self._schema[n], row[n]) for n in numbers}
        parts = [_format.pack_blob(self._schema[n], row[n]) for n in blobs]
        target.saved += sum(np.asarray(row[n]).nbytes - len(p) for n, p in zip(blobs, parts)
                            if self._schema[n]["type"] in ("int32", "int64"))
        if not blobs:
            blob = bytes(4)
        elif len(blobs) == 1:
            blob = parts[0]
        else:
            blob = b"".join(struct.pack(">Q", len(p)) + p for p in parts)
        return _format.pack(values or {"id": 0}), blob, [values[n] for n in self._index]

    def check_worker_status(self, index: int) -> Any:
        """Nothing: rows are written where write_raw_data is called."""

    def check_all_worker_status(self) -> Any:
        """Nothing: rows are written where write_raw_data is called."""

    def commit(self) -> None:
        """Completes the files: before it, they have no header. Raises RuntimeError where there is no schema, or a file
        is there."""
        self._begin()
        for t in self._targets:
            t.finish(self)


_TYPES = (*_format.SCALARS, "string", "bytes")


def _problem_of(content):
    """What is wrong with a schema; None: nothing."""
    if not isinstance(content, dict):
        return "Schema content should be dict."
    if not content:
        return "Schema content is empty."
    for name, field in content.items():
        if not isinstance(name, str) or not re.fullmatch(r"[0-9a-zA-Z_]+", name):
            return f"Field '{name}' should be composed of '0-9' or 'a-z' or 'A-Z' or '_'."
        if not isinstance(field, dict) or not field:
            return f"Field '{name}' should be dict."
        if "type" not in field:
            return f"Field '{name}' should contain 'type'."
        if not set(field) <= {"type", "shape"}:
            return f"Field '{name}' contain illegal attribute '{sorted(set(field) - {'type', 'shape'})[0]}'."
        if field["type"] not in _TYPES or "shape" in field and field["type"] not in _format.SCALARS:
            return f"Field '{name}' contain illegal attribute '{field['type']}'."
    return None


def _plain(field, value):
    return str(value) if field["type"] == "string" else (
        float(value) if field["type"] in ("float32", "float64") else int(value))


def _misfit(name, field, row):
    """Why a row's value does not fit its field; None: it does."""
    if name not in row:
        return f"it has no {name!r}"
    value, kind = row[name], field["type"]
    if kind == "bytes":
        return None if isinstance(value, (bytes, bytearray)) else f"{name!r} is no bytes, but {type(value).__name__}"
    if "shape" in field:
        if not isinstance(value, np.ndarray) or value.dtype != _format.SCALARS[kind]:
            return f"{name!r} is no array of {kind}"
        try:
            value.reshape(field["shape"])
        except ValueError:
            return f"{name!r} has the shape {value.shape}, which is not {field['shape']}"
        return None
    if kind == "string":
        fits = isinstance(value, str)
        if fits:
            try:
                value.encode()
            except UnicodeEncodeError:
                return f"{name!r} holds a lone surrogate"
    elif kind in ("int32", "int64"):
        bits = 31 if kind == "int32" else 63
        fits = (isinstance(value, (int, np.integer)) and not isinstance(value, bool)
                and -(1 << bits) <= int(value) < 1 << bits)
    else:
        fits = isinstance(value, (float, np.floating))
    return None if fits else f"{name!r} is {str(value)[:50]!r}, which is no {kind}"


__all__ = ["FileWriter"]
