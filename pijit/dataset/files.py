"""Datasets of files: images and labels in the formats of MNIST and CIFAR, folders of images, CSV, text, TFRecord.

Files are untrusted: sizes in their headers are compared with the files' sizes before anything is allocated, and what
does not fit is a RuntimeError that names the file."""

from __future__ import annotations

import glob
import mmap
import os
import struct
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check
from pijit.dataset.datasets import Shuffle
from pijit.dataset.pipeline import Chunk, Column
from pijit.dataset.samplers import DistributedSampler, RandomSampler, SequentialSampler
from pijit.dataset.sources import MappableDataset

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any
    from pijit.dataset.schema import Schema


def _folder(op, path):
    check.string(op, "dataset_dir", path)
    if not os.path.isdir(path) or not os.access(path, os.R_OK):
        raise ValueError(f"[{op}] The folder {path} does not exist or is not a directory or permission denied!")
    return path


def _no_cache(op, cache):
    if cache is not None:
        raise RuntimeError(f"[{op}] cache needs a cache server, which there is none of; leave it out.")


class _Arrays(MappableDataset):
    """A dataset whose columns are arrays, read when they are first needed."""

    def __init__(self, dataset_dir: str, usage: str, usages: Any, num_samples: int, num_parallel_workers: int,
                 shuffle: bool | Shuffle, sampler: Any, num_shards: int, shard_id: int, cache: Any) -> None:
        op = type(self).__name__
        self.dataset_dir: Any = _folder(op, dataset_dir)
        self.usage = check.choice(op, "usage", usage, usages, none=True) or "all"
        _no_cache(op, cache)
        super().__init__(num_parallel_workers, sampler, num_samples, shuffle, num_shards, shard_id)
        self._loaded = None

    def _load(self):
        raise NotImplementedError

    def _data(self):
        if self._loaded is None:
            self._loaded = self._load()
        return self._loaded

    def _length(self):
        return len(self._data()[0])

    def _labels(self, column):
        names = self._columns()
        if column not in names[1:]:
            super()._labels(column)
        return self._data()[names.index(column)]

    def _read(self, indices):
        return Chunk(len(indices), {n: c[indices] for n, c in zip(self._columns(), self._data())})


def _idx(op, path, rank):
    """The array of a file in the IDX format with unsigned bytes."""
    try:
        size = os.path.getsize(path)
        with open(path, "rb") as f:
            head = f.read(4 + 4 * rank)
            if len(head) < 4 + 4 * rank:
                raise RuntimeError(f"[{op}] {path!r} is no IDX file: its header is cut off after {len(head)} bytes.")
            magic, *shape = struct.unpack(f">{1 + rank}I", head)
            if magic != 0x800 + rank:
                raise RuntimeError(
                    f"[{op}] {path!r} is no IDX file of unsigned bytes with {rank} axes: its magic number is {magic} "
                    f"instead of "
                                   f"{0x800 + rank}.")
            count = 1
            for s in shape:
                count *= s
            if size != len(head) + count:
                raise RuntimeError(
                    f"[{op}] {path!r} should hold {' x '.join(map(str, shape))} bytes after its header, but holds "
                                   f"{size - len(head)}.")
            return np.fromfile(f, np.uint8, count).reshape(shape)
    except OSError as e:
        raise RuntimeError(f"[{op}] cannot read {path!r}: {e}") from e


class MnistDataset(_Arrays):
    """Images and labels in the files of MNIST: columns image (uint8 [28, 28, 1]) and label (uint32).

    Args:
        dataset_dir: the folder with train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and
            t10k-labels-idx1-ubyte (or those of its usage).
        usage: "train", "test" or "all" (None).
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    def __init__(self, dataset_dir: str, usage: str = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | Shuffle = None, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None) -> None:
        super().__init__(dataset_dir, usage, ("train", "test", "all"), num_samples, num_parallel_workers, shuffle,
                         sampler, num_shards,
                         shard_id, cache)

    def _columns(self):
        return ["image", "label"]

    def _load(self):
        op = type(self).__name__
        parts = []
        for prefix, usage in (("t10k", "test"), ("train", "train")):  # the order of the files' names
            if self.usage not in (usage, "all"):
                continue
            images, labels = (_find(self.dataset_dir, prefix, kind) for kind in ("images", "labels"))
            if images is None or labels is None:
                if self.usage == "all" and images is None and labels is None:
                    continue
                raise RuntimeError(
                    f"[{op}] there is no {prefix}-images-idx3-ubyte with {prefix}-labels-idx1-ubyte in "
                    f"{self.dataset_dir!r}.")
            x, y = _idx(op, images, 3), _idx(op, labels, 1)
            if len(x) != len(y):
                raise RuntimeError(f"[{op}] {images!r} holds {len(x)} images, but {labels!r} {len(y)} labels.")
            if x.shape[1:] != (28, 28):
                raise RuntimeError(f"[{op}] {images!r} holds images of {x.shape[1]} x {x.shape[2]} instead of 28 x 28.")
            parts.append((x[..., None], y.astype(np.uint32)))
        if not parts:
            raise RuntimeError(
                f"[{op}] there are no files train-images-idx3-ubyte or t10k-images-idx3-ubyte in {self.dataset_dir!r}.")
        return tuple(np.concatenate(c) if len(c) > 1 else c[0] for c in zip(*parts))


def _find(folder, prefix, kind):
    for name in (f"{prefix}-{kind}-idx{3 if kind == 'images' else 1}-ubyte",
                 f"{prefix}-{kind}.idx{3 if kind == 'images' else 1}-ubyte"):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    return None


class FashionMnistDataset(MnistDataset):
    """Fashion-MNIST, whose files are like those of MNIST: see MnistDataset."""


class KMnistDataset(MnistDataset):
    """Kuzushiji-MNIST, whose files are like those of MNIST: see MnistDataset."""


class Cifar10Dataset(_Arrays):
    """CIFAR-10 in its binary version: columns image (uint8 [32, 32, 3]) and label (uint32).

    Args:
        dataset_dir: the folder with data_batch_1.bin … data_batch_5.bin and test_batch.bin. usage: "train", "test" or
            "all" (None).
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs for files that are missing
    or broken."""

    _before = 1  # bytes of labels before an image

    def __init__(self, dataset_dir: str, usage: str = None, num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | Shuffle = None, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None) -> None:
        super().__init__(dataset_dir, usage, ("train", "test", "all"), num_samples, num_parallel_workers, shuffle,
                         sampler, num_shards,
                         shard_id, cache)

    def _columns(self):
        return ["image", "label"]

    def _files(self):
        files = {"train": [f"data_batch_{i}.bin" for i in range(1, 6)], "test": ["test_batch.bin"]}
        return files["train"] + files["test"] if self.usage == "all" else files[self.usage]

    def _load(self):
        op, size = type(self).__name__, self._before + 3072
        paths = [os.path.join(self.dataset_dir, f) for f in self._files()]
        paths = [p for p in paths if os.path.isfile(p)]
        if not paths:
            raise RuntimeError(
                f"[{op}] there is none of the files {', '.join(self._files())} in {self.dataset_dir!r}; is it the "
                f"binary version?")
        parts = []
        for path in paths:
            try:
                data = np.fromfile(path, np.uint8)
            except OSError as e:
                raise RuntimeError(f"[{op}] cannot read {path!r}: {e}") from e
            if not len(data) or len(data) % size:
                raise RuntimeError(
                    f"[{op}] {path!r} has {len(data)} bytes, which is no multiple of {size}, the size of a row; is it "
                    f"the binary "
                                   "version?")
            parts.append(data.reshape(-1, size))
        data = np.concatenate(parts)
        images = np.ascontiguousarray(data[:, self._before:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
        return (images, *(data[:, i].astype(np.uint32) for i in range(self._before)))


class Cifar100Dataset(Cifar10Dataset):
    """CIFAR-100 in its binary version: columns image (uint8 [32, 32, 3]), coarse_label and fine_label (uint32).

    Args: dataset_dir: the folder with train.bin and test.bin. The others are those of Cifar10Dataset."""

    _before = 2

    def _columns(self):
        return ["image", "coarse_label", "fine_label"]

    def _files(self):
        return ["train.bin", "test.bin"] if self.usage == "all" else [f"{self.usage}.bin"]


class ImageFolderDataset(MappableDataset):
    """Images in one folder for each class: columns image (the file's bytes, or decoded uint8 [height, width, 3]) and
    label (int32).

    Args:
        dataset_dir: the folder of the folders, whose names in order are the classes.
        extensions: a list of extensions of files that count, such as [".jpg"]; None for all.
        class_indexing: a dict from names of folders to labels; other folders are left out. decode: decodes the images.
        decrypt: a callable (path) → bytes that reads a file.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default.
    Raises TypeError and ValueError for wrong arguments, RuntimeError when the pipeline runs and there are no files, or
    broken ones."""

    extensions: Any
    class_indexing: Any
    decrypt: Callable[..., Any]

    def __init__(self, dataset_dir: str, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool | Shuffle = None, sampler: Any = None, extensions: Any = None,
                 class_indexing: Any = None, decode: bool = False, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None, decrypt: Callable[..., Any] | None = None) -> None:
        op = "ImageFolderDataset"
        self.dataset_dir: Any = _folder(op, dataset_dir)
        if extensions is not None:
            check.instance(op, "extensions", extensions, list)
            for i, e in enumerate(extensions):
                check.string(op, f"extensions[{i}]", e)
        check.instance(op, "class_indexing", class_indexing, dict, none=True)
        for k, v in (class_indexing or {}).items():
            check.string(op, "a key of class_indexing", k)
            check.integer(op, f"class_indexing[{k!r}]", v, -check.INT32_MAX, check.INT32_MAX)
        if decrypt is not None and not callable(decrypt):
            raise TypeError(f"[{op}] decrypt must be callable, but got {check.shown(decrypt)}.")
        _no_cache(op, cache)
        self.extensions, self.class_indexing, self.decrypt = extensions, class_indexing, decrypt
        self.decode: bool = check.boolean(op, "decode", decode)
        super().__init__(num_parallel_workers, sampler, num_samples, shuffle, num_shards, shard_id)
        self._found = None
        self._user_code = decrypt is not None

    def _columns(self):
        return ["image", "label"]

    def get_class_indexing(self) -> dict[Any, Any] | dict[str, int]:
        """A dict from the classes' names to their labels."""
        if self.class_indexing is not None:
            return dict(self.class_indexing)
        return {n: i for i, n in enumerate(sorted(e.name for e in os.scandir(self.dataset_dir) if e.is_dir()))}

    def num_classes(self) -> int:
        """The number of classes."""
        return len(self.get_class_indexing())

    def _files(self):
        if self._found is None:
            paths, labels = [], []
            wanted = None if self.extensions is None else {e.lower() for e in self.extensions}
            for name, label in sorted(self.get_class_indexing().items()):
                folder = os.path.join(self.dataset_dir, name)
                if not os.path.isdir(folder):
                    raise RuntimeError(
                        f"[ImageFolderDataset] class_indexing names {name!r}, but there is no such folder in "
                        f"{self.dataset_dir!r}.")
                for root, folders, files in os.walk(folder):
                    folders.sort()
                    for f in sorted(files):
                        path = os.path.join(root, f)
                        # (pipes, sockets, devices and links that lead nowhere are no images; to open a pipe would wait)
                        if (wanted is None or os.path.splitext(f)[1].lower() in wanted) and os.path.isfile(path):
                            paths.append(path)
                            labels.append(label)
            self._found = paths, np.array(labels, np.int32)
        if not self._found[0]:
            raise RuntimeError(f"[ImageFolderDataset] there are no files of classes in {self.dataset_dir!r}"
                               f"{f' with the extensions {self.extensions}' if self.extensions else ''}.")
        return self._found

    def _length(self):
        return len(self._files()[0])

    def _labels(self, column):
        return self._files()[1] if column == "label" else super()._labels(column)

    def _image(self, i):
        path = self._files()[0][i]
        try:
            if self.decrypt is not None:
                data = self.decrypt(path)
            else:
                with open(path, "rb") as f:
                    data = f.read()
        except OSError as e:
            raise RuntimeError(f"[ImageFolderDataset] cannot read {path!r}: {e}") from e
        if not self.decode:
            return np.frombuffer(data, np.uint8)
        from pijit.dataset.vision.utils import decode
        try:
            return np.asarray(decode(data, "ImageFolderDataset"))
        except RuntimeError as e:
            raise RuntimeError(f"{e} The file is {path!r}.") from e

    def _read(self, indices):
        images = Column(len(indices))
        for i in indices.tolist():
            images.add(self._image(i))
        return Chunk(len(indices), {"image": images.done(), "label": self._files()[1][indices]})

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
                               lambda: Threads(workers),
                               2 * workers)


# --- rows of text files -----------------------------------------------------------------------------------------------


def _paths(op, files):
    """The files that a path, a pattern, or a list of them means."""
    check.instance(op, "dataset_files", files, (str, list))
    patterns = [files] if isinstance(files, str) else files
    out, missing = [], []
    for i, p in enumerate(patterns):
        check.string(op, f"dataset_files[{i}]", p)
        found = [p] if os.path.isfile(p) else sorted(f for f in glob.glob(p, recursive=True) if os.path.isfile(f))
        out += found
        if not found:
            missing.append(p)
    if missing:
        raise ValueError(f"[{op}] The following patterns did not match any files: {missing}.")
    if not out:
        raise ValueError(f"[{op}] dataset_files must name at least one file.")
    return out


class _FileRows(MappableDataset):
    """A dataset of the rows of files. Kinds define `_counts()`, the numbers of rows of the files, and `_row(file,
    i)`."""

    def __init__(self, dataset_files: str | Sequence[str], num_samples: int, num_parallel_workers: int,
                 shuffle: bool | Shuffle, num_shards: int, shard_id: int, cache: Any) -> None:
        op = type(self).__name__
        self.dataset_files: list[Any] = _paths(op, dataset_files)
        _no_cache(op, cache)
        check.instance(op, "shuffle", shuffle, (bool, Shuffle))
        self.shuffle = Shuffle.GLOBAL if shuffle is True or shuffle in (Shuffle.ADAPTIVE, Shuffle.PARTIAL) else \
            Shuffle.FALSE if shuffle is False else shuffle
        super().__init__(num_parallel_workers, None, num_samples, self.shuffle != Shuffle.FALSE, num_shards, shard_id)

    def _counts(self):
        raise NotImplementedError

    def _length(self):
        total = sum(self._counts())
        if not total:
            raise RuntimeError(
                f"[{type(self).__name__}] there are no rows in {', '.join(map(repr, self.dataset_files[:3]))}.")
        return total

    def _indices(self, run):
        if not isinstance(self.sampler,
                          (RandomSampler, SequentialSampler, DistributedSampler)) or self._subset is not None or \
                self.sampler.child_sampler is not None:
            return super()._indices(run)
        counts, n = self._counts(), self._length()
        rng, epoch = (np.random.default_rng(0), 0) if run is None else run.rng(self)
        s = self.sampler
        if isinstance(s, DistributedSampler):
            from pijit.dataset import config
            per = -(-n // s.num_shards)
            order = (np.arange(per) + s.shard_id * per) % n
            return order if self.shuffle == Shuffle.FALSE else \
                np.random.default_rng((config.get_seed(), epoch, s.shard_id)).permutation(order)[:s._limit(per)]
        if self.shuffle == Shuffle.GLOBAL:
            order = rng.permutation(n)
        else:
            # rows of the files by turns, as files are read side by side
            starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
            parts = [start + (rng.permutation(c) if self.shuffle == Shuffle.INFILE else np.arange(c))
                     for start, c in zip(starts, counts)]
            if self.shuffle == Shuffle.FILES:
                parts = [parts[i] for i in rng.permutation(len(parts))]
            turn = np.concatenate([np.arange(len(p)) for p in parts])
            order = np.concatenate(parts)[np.argsort(turn, kind="stable")]
        return order[:s._limit(n)]

    def _where(self, indices):
        """(file, row in it) of rows."""
        ends = np.cumsum(self._counts())
        files = np.searchsorted(ends, indices, side="right")
        return zip(files.tolist(), (indices - np.concatenate([[0], ends])[files]).tolist())


class TextFileDataset(_FileRows):
    """The lines of text files that are not empty: the column text (strings).

    Args:
        dataset_files: a path, a pattern, or a list of them. shuffle: a bool or a Shuffle, GLOBAL by default.
        num_samples, num_parallel_workers, num_shards, shard_id: as in GeneratorDataset.
    Raises TypeError and ValueError for wrong arguments, RuntimeError for lines that are not UTF-8."""

    def __init__(self, dataset_files: str | Sequence[str], num_samples: int | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | Shuffle = Shuffle.GLOBAL,
                 num_shards: int | None = None, shard_id: int | None = None, cache: Any = None) -> None:
        super().__init__(dataset_files, num_samples, num_parallel_workers, shuffle, num_shards, shard_id, cache)
        self._lines = None

    def _columns(self):
        return ["text"]

    def _open(self):
        if self._lines is None:
            self._lines = [_line_places(type(self).__name__, p) for p in self.dataset_files]
        return self._lines

    def _counts(self):
        return [len(starts) for _, starts, _ in self._open()]

    def _read(self, indices):
        rows = []
        for file, i in self._where(indices):
            data, starts, ends = self._open()[file]
            try:
                rows.append(np.array(data[starts[i]:ends[i]].decode()))
            except UnicodeDecodeError as e:
                raise RuntimeError(
                    f"[{type(self).__name__}] {self.dataset_files[file]!r} has a line that is not UTF-8: {e}") from e
        return Chunk(len(rows), {"text": rows})


def _line_places(op, path):
    """The bytes of a file, and the starts and ends of its lines that are not empty."""
    try:
        if not os.path.getsize(path):
            return b"", np.zeros(0, np.int64), np.zeros(0, np.int64)
        with open(path, "rb") as f:
            data = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as e:
        raise RuntimeError(f"[{op}] cannot read {path!r}: {e}") from e
    found, step = [], 1 << 24
    for start in range(0, len(data), step):
        found.append(np.flatnonzero(np.frombuffer(data[start:start + step], np.uint8) == 10) + start)
    breaks = np.concatenate(found)
    starts, ends = np.concatenate([[0], breaks + 1]), np.concatenate([breaks, [len(data)]])
    keep = ends > starts
    return data, starts[keep], ends[keep]


class CSVDataset(_FileRows):
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


# --- TFRecord ---------------------------------------------------------------------------------------------------------


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


def parse_example(data: Any) -> dict[Any, Any]:
    """The features of a tf.train.Example: a dict from names to arrays of int64, float32 or bytes objects."""
    out = {}
    for number, features in _fields(data):
        if number != 1:
            continue
        for number, entry in _fields(features):
            if number != 1:
                continue
            pair = dict(_fields(entry))
            name = bytes(pair.get(1, b"")).decode()
            feature = list(_fields(pair.get(2, b"")))
            if not feature:
                continue
            kind, content = feature[-1]
            values = [v for n, v in _fields(content) if n == 1]
            if kind == 1:
                out[name] = np.empty(len(values), object)  # not np.bytes_, which drops zeros at the end
                out[name][:] = [bytes(v) for v in values]
            elif kind == 2:
                out[name] = np.frombuffer(b"".join(bytes(v) for v in values), "<f4").astype(np.float32)
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
                out[name] = np.array(numbers, np.uint64).astype(np.int64)
    return out


def _joined(values):
    return np.frombuffer(b"".join(values), np.uint8)


class TFRecordDataset(_FileRows):
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
