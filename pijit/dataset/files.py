"""What datasets of files are made of: rows that are listed first and read when they are asked for, and lines of text.

Files are untrusted: sizes in their headers are compared with the files' sizes before anything is allocated, and what
does not fit is a RuntimeError that names the file."""

from __future__ import annotations

import functools
import glob
import mmap
import os
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check
from pijit.dataset.datasets import Shuffle
from pijit.dataset.pipeline import Chunk, Column
from pijit.dataset.samplers import DistributedSampler, RandomSampler, SequentialSampler
from pijit.dataset.sources import MappableDataset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any


def _folder(op, path):
    check.string(op, "dataset_dir", path)
    if not os.path.isdir(path) or not os.access(path, os.R_OK):
        raise ValueError(f"[{op}] The folder {path} does not exist or is not a directory or permission denied!")
    return path


def _file(op, name, path):
    check.string(op, name, path)
    if not os.path.isfile(path) or not os.access(path, os.R_OK):
        raise ValueError(f"[{op}] The file {path} does not exist or permission denied!")
    return path


def _no_cache(op, cache):
    if cache is not None:
        raise RuntimeError(f"[{op}] cache needs a cache server, which there is none of; leave it out.")


def read_bytes(op: str, path: str, most: int | None = None) -> bytes:
    """The bytes of a file. RuntimeError where it cannot be read, is no regular file, or has more than `most`."""
    try:
        if not os.path.isfile(path):  # (to open a pipe would wait)
            raise RuntimeError(f"[{op}] there is no file {path!r}.")
        if most is not None and os.path.getsize(path) > most:
            raise RuntimeError(f"[{op}] {path!r} has more than {most} bytes.")
        with open(path, "rb") as f:
            return f.read()
    except OSError as e:
        raise RuntimeError(f"[{op}] cannot read {path!r}: {e}") from e


def read_text(op: str, path: str) -> str:
    """The text of a file in UTF-8. RuntimeError where it cannot be read or is something else."""
    try:
        return read_bytes(op, path).decode()
    except UnicodeDecodeError as e:
        raise RuntimeError(f"[{op}] {path!r} is not UTF-8: {e}") from e


def read_lines(op: str, path: str) -> list[str]:
    """The lines of a file in UTF-8 that are not empty, without what ends them."""
    return [line.rstrip("\r") for line in read_text(op, path).split("\n") if line.rstrip("\r")]


def read_json(op: str, path: str) -> Any:
    """The value of a JSON file. RuntimeError for another file, and for one that nests too deeply."""
    import json
    try:
        return json.loads(read_text(op, path))
    except (ValueError, RecursionError) as e:
        raise RuntimeError(f"[{op}] {path!r} is no JSON file: {e}") from e


def files_below(folder: str, extensions: Sequence[str] | None = None, deep: bool = True) -> Iterator[str]:
    """The paths of files in a folder, in the order of names, with those of its folders (`deep`).

    extensions: those that count, in lower case, such as ".jpg"; None for all. Pipes, sockets, devices and links that
    lead nowhere are left out."""
    for root, folders, files in os.walk(folder):
        folders.sort()
        for f in sorted(files):
            path = os.path.join(root, f)
            if (extensions is None or os.path.splitext(f)[1].lower() in extensions) and os.path.isfile(path):
                yield path
        if not deep:
            return


def folders_in(folder: str) -> list[str]:
    """The names of the folders in a folder, in order; none where it does not exist."""
    if not os.path.isdir(folder):
        return []
    return sorted(e.name for e in os.scandir(folder) if e.is_dir())


class Images:
    """A column of image files, each read when its row is: its bytes, or what they show (uint8 [height, width, 3])."""

    def __init__(self, op: str, paths: Sequence[str], decode: Any = False,
                 read: Callable[[str], bytes] | None = None) -> None:
        self.op, self.paths, self.decode = op, paths, decode
        self.read = read or functools.partial(read_bytes, op)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, i: int) -> np.ndarray:
        path = self.paths[i]
        try:
            data = self.read(path)
        except OSError as e:
            raise RuntimeError(f"[{self.op}] cannot read {path!r}: {e}") from e
        if not self.decode:
            return np.frombuffer(data, np.uint8)
        from pijit.dataset.vision.utils import decode
        try:
            return np.asarray(decode(data, self.op))
        except RuntimeError as e:
            raise RuntimeError(f"{e} The file is {path!r}.") from e


class Computed:
    """A column whose value of row i is `function(items[i])`, computed when the row is read."""

    def __init__(self, items: Sequence[Any], function: Callable[[Any], Any]) -> None:
        self.items, self.function = items, function

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, i: int) -> Any:
        return self.function(self.items[i])


def _taken(column, indices):
    """The values of a column at these places."""
    if isinstance(column, np.ndarray):
        return column[indices]
    out = Column(len(indices))
    for i in indices.tolist():
        value = column[i]
        out.add(value if type(value) is np.ndarray else np.asarray(value))
    return out.done()


class Listed(MappableDataset):
    """A dataset whose rows are listed when they are first needed: `_list()` gives {name: column}. A column is an array,
    a list, or another sequence (`Images`, `Computed`), whose items are read when their rows are."""

    _usages: tuple[str, ...] = ()
    _default = "all"  # what no usage means

    def __init__(self, dataset_dir: Any, usage: Any, num_samples: Any, num_parallel_workers: Any, shuffle: Any,
                 sampler: Any, num_shards: Any, shard_id: Any, cache: Any = None, decode: Any = False) -> None:
        op = type(self).__name__
        self.dataset_dir: Any = _folder(op, dataset_dir)
        self.usage = check.choice(op, "usage", usage, self._usages, none=True) or self._default
        _no_cache(op, cache)
        self.decode = bool(check.boolean(op, "decode", decode, none=True))
        super().__init__(num_parallel_workers, sampler, num_samples, shuffle, num_shards, shard_id)
        self._listed = None

    def _list(self):
        raise NotImplementedError

    def _path(self, *parts):
        return os.path.join(self.dataset_dir, *parts)

    def _data(self):
        if self._listed is None:
            listed = self._list()
            for name, column in listed.items():
                if not len(column):
                    raise RuntimeError(f"[{type(self).__name__}] there are no rows of usage {self.usage!r} in "
                                       f"{self.dataset_dir!r}: are its files those of the data set?")
            self._listed = listed
        return self._listed

    def _columns(self):
        return list(self._data())

    def _length(self):
        return len(next(iter(self._data().values())))

    def _labels(self, column):
        labels = self._data().get(column)
        if not isinstance(labels, np.ndarray) or labels.ndim != 1 or labels.dtype.kind not in "iu":
            super()._labels(column)
        return labels

    def _read(self, indices):
        return Chunk(len(indices), {n: _taken(c, indices) for n, c in self._data().items()})

    def _flow(self, run, size):
        from pijit.dataset import config
        from pijit.dataset.pipeline import Threads
        workers = min(self.num_parallel_workers or config.get_num_parallel_workers(), config.cores())
        if not self.decode or run.debug or workers < 2 or size < 2:
            yield from super()._flow(run, size)
            return
        indices = self._indices(run)
        piece = max(1, min(size, 8))
        yield from run.ordered(self, (indices[i:i + piece] for i in range(0, len(indices), piece)), self._read,
                               lambda: Threads(workers), 2 * workers)


class UsageSet(Listed):
    """A dataset of a folder with parts that `usage` names."""

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None) -> None:
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)


class UsageImages(Listed):
    """A dataset of image files in a folder with parts that `usage` names."""

    def __init__(self, dataset_dir: str, usage: str | None = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | None = None, decode: bool = False,
                 sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
                 cache: Any = None) -> None:
        super().__init__(dataset_dir, usage, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache, decode)


class WholeSet(Listed):
    """A dataset of a folder that is read as a whole."""

    def __init__(self, dataset_dir: str, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None) -> None:
        super().__init__(dataset_dir, None, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache)


class WholeImages(Listed):
    """A dataset of image files in a folder that is read as a whole."""

    def __init__(self, dataset_dir: str, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | None = None, decode: bool = False, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None) -> None:
        super().__init__(dataset_dir, None, num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id,
                         cache, decode)


# --- rows of text files -----------------------------------------------------------------------------------------------


def _paths(op, files):
    """The files that a path, a pattern, or a list of them means, in the order of their names."""
    check.instance(op, "dataset_files", files, (str, list))
    patterns = [files] if isinstance(files, str) else files
    out, missing = [], []
    for i, p in enumerate(patterns):
        check.string(op, f"dataset_files[{i}]", p)
        found = [p] if os.path.isfile(p) else [f for f in glob.glob(p, recursive=True) if os.path.isfile(f)]
        out += found
        if not found:
            missing.append(p)
    if missing:
        raise ValueError(f"[{op}] The following patterns did not match any files: {missing}.")
    if not out:
        raise ValueError(f"[{op}] dataset_files must name at least one file.")
    return sorted(out)


class Lines:
    """The lines of a text file, which stays on the disk.

    Args:
        empty: whether empty lines count. quoted: whether a line goes on where its quotes are not closed.
        skip: how many lines at the start are left out."""

    def __init__(self, op: str, path: str, empty: bool = False, quoted: bool = False, skip: int = 0) -> None:
        self.op, self.path = op, path
        self._map()
        breaks = self._breaks(quoted)
        starts, ends = np.concatenate([[0], breaks + 1]), np.concatenate([breaks, [len(self.data)]])
        if ends[-1] == starts[-1]:  # what follows the last line break is no line
            starts, ends = starts[:-1], ends[:-1]
        starts, ends = starts[skip:], ends[skip:]
        keep = slice(None) if empty else ends > starts
        self.starts, self.ends = starts[keep], ends[keep]

    def _map(self):
        try:
            if not os.path.isfile(self.path):
                raise RuntimeError(f"[{self.op}] there is no file {self.path!r}.")
            if not os.path.getsize(self.path):
                self.data = b""
                return
            with open(self.path, "rb") as f:
                self.data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as e:
            raise RuntimeError(f"[{self.op}] cannot read {self.path!r}: {e}") from e

    def _breaks(self, quoted):
        """The places of the line breaks."""
        found, step, odd = [np.zeros(0, np.int64)], 1 << 24, 0
        for start in range(0, len(self.data), step):
            part = np.frombuffer(self.data[start:start + step], np.uint8)
            places = np.flatnonzero(part == 10)
            if quoted:
                quotes = np.flatnonzero(part == 34)
                places = places[(np.searchsorted(quotes, places) + odd) % 2 == 0]
                odd += len(quotes)
            found.append(places + start)
        return np.concatenate(found)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "data": None}  # another process maps the file again

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._map()

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, i: int) -> str:
        try:
            return self.data[self.starts[i]:self.ends[i]].decode()
        except UnicodeDecodeError as e:
            raise RuntimeError(f"[{self.op}] {self.path!r} has a line that is not UTF-8: {e}") from e


class Blocks(Lines):
    """The runs of lines of a text file that are not empty; empty lines stand between them."""

    def __init__(self, op: str, path: str) -> None:
        super().__init__(op, path)
        if len(self.starts):
            new = np.flatnonzero(self.starts[1:] != self.ends[:-1] + 1)
            self.starts = self.starts[np.concatenate([[0], new + 1])]
            self.ends = self.ends[np.concatenate([new, [-1]])]


class FileRows(MappableDataset):
    """A dataset of the rows of files. Kinds define `_source(file)`, the rows of a file as a sequence, and
    `_values(file, row)`, the values of the columns in a row; or `_counts` and `_read`."""

    _names_of_columns: tuple[str, ...] = ()

    def __init__(self, dataset_files: Any, num_samples: Any, num_parallel_workers: Any, shuffle: Any, num_shards: Any,
                 shard_id: Any, cache: Any) -> None:
        op = type(self).__name__
        self.dataset_files: list[Any] = self._find(op, dataset_files)
        _no_cache(op, cache)
        check.instance(op, "shuffle", shuffle, (bool, Shuffle))
        self.shuffle = Shuffle.GLOBAL if shuffle is True or shuffle in (Shuffle.ADAPTIVE, Shuffle.PARTIAL) else \
            Shuffle.FALSE if shuffle is False else shuffle
        super().__init__(num_parallel_workers, None, num_samples, self.shuffle != Shuffle.FALSE, num_shards, shard_id)
        self._opened = None

    def _find(self, op, dataset_files):
        return _paths(op, dataset_files)

    def _source(self, file):
        raise NotImplementedError

    def _values(self, file, row):
        raise NotImplementedError

    def _sources(self):
        if self._opened is None:
            self._opened = [self._source(f) for f in self.dataset_files]
        return self._opened

    def _columns(self):
        return list(self._names_of_columns)

    def _counts(self):
        return [len(s) for s in self._sources()]

    def _length(self):
        total = sum(self._counts())
        if not total:
            raise RuntimeError(
                f"[{type(self).__name__}] there are no rows in {', '.join(map(repr, self.dataset_files[:3]))}.")
        return total

    def _by_turns(self, parts):
        """The rows of files as workers give them that read the files side by side, each with every workers-th file.

        How many cores there are makes no difference: where none says how many workers, there are 8."""
        from pijit.dataset import config
        workers = self.num_parallel_workers or config._state["num_parallel_workers"] or 8
        parts = [np.concatenate(parts[w::workers]) for w in range(min(workers, len(parts)))]
        turn = np.concatenate([np.arange(len(p)) for p in parts])
        return np.concatenate(parts)[np.argsort(turn, kind="stable")]

    def _in_order(self, rows):
        """These rows, each file's in the order they are in, by turns of the files."""
        file = np.searchsorted(np.cumsum(self._counts()), rows, side="right")
        return self._by_turns([rows[file == f] for f in range(len(self.dataset_files))])

    def _indices(self, run):
        s = self.sampler
        if not isinstance(s, (RandomSampler, SequentialSampler, DistributedSampler)) or self._subset is not None or \
                s.child_sampler is not None:
            return super()._indices(run)
        counts, n = self._counts(), self._length()
        rng, epoch = (np.random.default_rng(0), 0) if run is None else run.rng(self)
        if isinstance(s, DistributedSampler):
            from pijit.dataset import config
            per = -(-n // s.num_shards)
            places = np.arange(per) + s.shard_id * per
            if self.shuffle == Shuffle.FALSE:  # rows that make the last shard as large as the others come last
                order = np.concatenate([self._in_order(places[places < n]), self._in_order(places[places >= n] % n)])
                return order[:s._limit(per)]
            order = places % n
            return np.random.default_rng((config.get_seed(), epoch, s.shard_id)).permutation(order)[:s._limit(per)]
        if self.shuffle == Shuffle.GLOBAL:
            return rng.permutation(n)[:s._limit(n)]
        if self.shuffle == Shuffle.FALSE:
            return self._in_order(np.arange(n))[:s._limit(n)]
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        parts = [start + (rng.permutation(c) if self.shuffle == Shuffle.INFILE else np.arange(c))
                 for start, c in zip(starts, counts)]
        if self.shuffle == Shuffle.FILES:
            parts = [parts[i] for i in rng.permutation(len(parts))]
        return self._by_turns(parts)[:s._limit(n)]

    def _where(self, indices):
        """(file, row in it) of rows."""
        ends = np.cumsum(self._counts())
        files = np.searchsorted(ends, indices, side="right")
        return zip(files.tolist(), (indices - np.concatenate([[0], ends])[files]).tolist())

    def _read(self, indices):
        columns = [Column(len(indices)) for _ in self._columns()]
        for file, i in self._where(indices):
            source = self._sources()[file]
            for column, value in zip(columns, self._values(self.dataset_files[file], source[i])):
                column.add(value if type(value) is np.ndarray else np.array(value))
        return Chunk(len(indices), dict(zip(self._columns(), (c.done() for c in columns))))


class TextFileDataset(FileRows):
    """The lines of text files that are not empty: the column text (strings).

    Args:
        dataset_files: a path, a pattern, or a list of them. shuffle: a bool or a Shuffle, GLOBAL by default.
        num_samples, num_parallel_workers, num_shards, shard_id: as in GeneratorDataset. Without shuffling, files are
            read side by side, as many as there are workers, and give rows by turns.
    Raises TypeError and ValueError for wrong arguments, RuntimeError for lines that are not UTF-8."""

    _names_of_columns = ("text",)

    def __init__(self, dataset_files: str | Sequence[str], num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | Shuffle = Shuffle.GLOBAL,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None) -> None:
        super().__init__(dataset_files, num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)

    def _source(self, file):
        return Lines(type(self).__name__, file)

    def _values(self, file, row):
        return (row,)


class CSVDataset(FileRows):
    """The rows of CSV files, a column for each field.

    Args:
        dataset_files: a path, a pattern, or a list of them. field_delim: one character.
        column_defaults: a value for each column, which gives its type (int: int32, float: float32, str: string) and
            stands for empty fields; without it all are strings. column_names: names; without them the first line of
            each file holds them.
        shuffle: a bool or a Shuffle, GLOBAL by default. num_samples, num_parallel_workers, num_shards, shard_id: as in
            GeneratorDataset.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for lines that do not fit,
    which it names."""

    field_delim: str
    column_defaults: Any

    def __init__(self, dataset_files: str | Sequence[str], field_delim: str = ",", column_defaults: Any = None,
                 column_names: str | Sequence[str] = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | Shuffle = Shuffle.GLOBAL,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None) -> None:
        op = "CSVDataset"
        check.string(op, "field_delim", field_delim)
        if len(field_delim) != 1 or field_delim in '"\r\n':
            raise ValueError(
                f"[{op}] field_delim must be one character and no quote or line break, but got {field_delim!r}.")
        if column_defaults is not None:
            check.instance(op, "column_defaults", column_defaults, list)
            for i, d in enumerate(column_defaults):
                if not isinstance(d, (int, float, str)) or isinstance(d, bool):
                    raise TypeError(
                        f"[{op}] column_defaults[{i}] must be an int, a float or a str, but got {check.shown(d)}.")
        self.field_delim, self.column_defaults = field_delim, column_defaults
        self.column_names: list[Any] | None = check.columns(op, "column_names", column_names, none=True)
        super().__init__(dataset_files, num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)
        self._parsed = None

    def _columns(self):
        if self.column_names is None:
            names = None
            for path in self.dataset_files:
                with self._open(path) as f:
                    new = next(self._reader(f), [])
                if names is not None and new != names:
                    raise RuntimeError(
                        f"[CSVDataset] the first lines of the files should be the same names, but are {names} and "
                        f"{new}.")
                names = new
            self._header = check.columns("CSVDataset", "the first line", names)
            return self._header
        return self.column_names

    def _open(self, path):
        try:
            return open(path, encoding="utf-8", newline="")
        except OSError as e:
            raise RuntimeError(f"[CSVDataset] cannot read {path!r}: {e}") from e

    def _reader(self, f):
        import csv
        return csv.reader(f, delimiter=self.field_delim)

    def _rows(self):
        if self._parsed is None:
            import csv
            names = self._columns()
            if self.column_defaults is not None and len(self.column_defaults) != len(names):
                raise RuntimeError(
                    f"[CSVDataset] column_defaults has {len(self.column_defaults)} values for {len(names)} columns.")
            parsed = []
            for path in self.dataset_files:
                rows = []
                with self._open(path) as f:
                    reader = self._reader(f)
                    try:
                        for fields in reader:
                            if reader.line_num == 1 and self.column_names is None or not fields:
                                continue
                            if len(fields) != len(names):
                                raise RuntimeError(
                                    f"[CSVDataset] failed to parse {path!r} at line {reader.line_num}: it has "
                                    f"{len(fields)} fields "
                                                   f"instead of {len(names)}.")
                            rows.append([self._field(path, reader.line_num, i, v) for i, v in enumerate(fields)])
                    except (csv.Error, UnicodeDecodeError) as e:
                        raise RuntimeError(
                            f"[CSVDataset] failed to parse {path!r} at line {reader.line_num}: {e}") from e
                parsed.append(rows)
            self._parsed = parsed
        return self._parsed

    def _field(self, path, line, i, text):
        if self.column_defaults is None:
            return text
        default = self.column_defaults[i]
        if isinstance(default, str):
            return text or default
        if not text.strip():
            return default
        try:
            value = int(text) if isinstance(default, int) else float(text)
            if isinstance(default, int) and not -2**31 <= value < 2**31:
                raise ValueError
            return value
        except ValueError:
            raise RuntimeError(
                f"[CSVDataset] {path!r} parse failed at line {line}, type does not match: field {i} is {text!r} "
                f"instead of "
                               f"{'an int32' if isinstance(default, int) else 'a float'}.") from None

    def _counts(self):
        return [len(r) for r in self._rows()]

    def _read(self, indices):
        parsed = self._rows()
        rows = [parsed[f][i] for f, i in self._where(indices)]
        columns = {}
        for i, name in enumerate(self._columns()):
            default = "" if self.column_defaults is None else self.column_defaults[i]
            fields = [r[i] for r in rows]
            columns[name] = [np.array(v) for v in fields] if isinstance(default, str) else \
                np.array(fields, np.int32 if isinstance(default, int) else np.float32)
        return Chunk(len(rows), columns)
