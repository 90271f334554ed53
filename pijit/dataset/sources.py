"""Datasets of rows in memory and of a user's Python code, and the base of datasets with random access."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check
from pijit.dataset.datasets import Dataset, _check_rowsize
from pijit.dataset.pipeline import MAX_ROWS, Chunk, Column, Processes, Threads, as_value, user_error
from pijit.dataset.samplers import BuiltinSampler, PKSampler, Sampler, SubsetSampler, _in_range, choose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any
    from pijit.dataset.samplers import DistributedSampler


class MappableDataset(Dataset):
    """A dataset whose rows can be read in any order: a sampler says which ones.

    Kinds define `_columns` (names), `_length`, and `_read(indices) → Chunk`."""

    sampler: DistributedSampler

    def __init__(self, num_parallel_workers: int | None = None, sampler: Any = None, num_samples: int | None = None,
                 shuffle: bool = None, num_shards: int | None = None, shard_id: int | None = None) -> None:
        super().__init__((), num_parallel_workers)
        self.sampler = choose(type(self).__name__, sampler, num_samples, shuffle, num_shards, shard_id)
        self._subset = None

    def _columns(self):
        raise NotImplementedError

    def _length(self):
        raise NotImplementedError

    def _read(self, indices):
        raise NotImplementedError

    def _labels(self, column):
        """The labels that a PKSampler chooses by."""
        raise RuntimeError(f"[{type(self).__name__}] PKSampler: there is no column of labels {column!r}.")

    def _names(self):
        return self._columns()

    def _size(self):
        total = self._length()
        if self._subset is not None:
            total = self._subset[1] - self._subset[0]
        if _has(self.sampler, PKSampler):
            return len(self._indices(None))
        return self.sampler._count(total)

    def _indices(self, run):
        n = self._length()
        rng, epoch = (np.random.default_rng(0), 0) if run is None else run.rng(self)
        subset = None
        if self._subset is not None:
            start, stop, seed = self._subset
            subset = np.arange(n) if seed is None else np.random.default_rng(seed).permutation(n)
            subset, n = subset[start:stop], stop - start
        labels = None
        if _has(self.sampler, PKSampler):
            labels = np.asarray(self._labels(_has(self.sampler, PKSampler).class_column))
            labels = labels if subset is None else labels[subset]
        indices = self.sampler._indices(n, rng, epoch, labels)
        return indices if subset is None else subset[_in_range(self.sampler, indices, n)]

    def _flow(self, run, size):
        indices = self._indices(run)
        for start in range(0, len(indices), min(size, MAX_ROWS)):
            yield self._read(indices[start:start + min(size, MAX_ROWS)])

    def _part(self, start, stop, total, seed):
        """A part of the rows for `split`: chosen before the sampler, so that it stays the same in each epoch."""
        if self._subset is not None or not isinstance(self.sampler, BuiltinSampler) or \
                self.sampler.child_sampler is not None or self.sampler._count(self._length()) != self._length():
            return super()._part(start, stop, total, seed)
        import copy
        part = copy.copy(self)
        part.__dict__.pop("_known_size", None)
        part._subset = (start, stop, seed)
        part.sampler = SubsetSampler(range(stop - start))
        if seed is not None:
            from pijit.dataset.samplers import RandomSampler
            part.sampler = RandomSampler()
        return part

    def add_sampler(self, new_sampler: Any) -> None:
        """Lets `new_sampler` choose rows first, before the sampler there is."""
        if new_sampler is None:
            return
        last = self.sampler
        while last.child_sampler is not None:
            last = last.child_sampler
        last.add_child(new_sampler)
        self.__dict__.pop("_known_size", None)

    def use_sampler(self, new_sampler: Any) -> None:
        """Replaces the sampler. Raises TypeError for None and for what is no sampler."""
        if new_sampler is None:
            raise TypeError("[use_sampler] the sampler must not be None.")
        if not isinstance(new_sampler, (BuiltinSampler, Sampler)):
            new_sampler = choose("use_sampler", new_sampler, None, None, None, None)
        self.sampler = new_sampler
        self.__dict__.pop("_known_size", None)

    def is_shuffled(self) -> bool:
        """Whether rows come in random order."""
        return self.sampler.is_shuffled()

    def is_sharded(self) -> bool:
        """Whether rows are a shard of the data."""
        return self.sampler.is_sharded()


def _has(sampler, kind):
    while sampler is not None:
        if isinstance(sampler, kind):
            return sampler
        sampler = sampler.child_sampler
    return None


class GeneratorDataset(MappableDataset):
    """Rows from Python code.

    Args:
        source: an object with __getitem__ and __len__ (rows in any order), an iterable, or a function without arguments
            that returns one, for instance a generator function. A row is a value, or a tuple or list of one value per
            column: arrays, numbers, strings, Tensors, dicts.
        column_names: a str or a list of str. column_types: dtypes that the columns must have. schema: a Schema or the
            path of one, instead of the names.
        num_samples: how many rows at most.
        num_parallel_workers: above 1, rows of a random-access source are read by threads or processes.
        shuffle: random-access sources are shuffled unless this is False; others are shuffled with True.
        sampler: a sampler or an iterable of places, for random-access sources.
        num_shards, shard_id: takes every num_shards-th row.
        python_multiprocessing: reads by processes instead of threads where there is more than one worker.
        max_rowsize: accepted.
        batch_sampler: an iterable of lists of places, each a batch. collate_fn: makes a batch from a list of rows.
    Raises TypeError and ValueError for wrong arguments; RuntimeError when the pipeline runs for exceptions of the
    source, with their tracebacks, and for rows with a wrong number of columns."""

    batch_sampler: Any
    collate_fn: Callable[..., Any]
    _user_code = True

    def __init__(self, source: Any, column_names: str | Sequence[str] = None, column_types: Any = None,
                 schema: Any = None, num_samples: int | None = None, num_parallel_workers: int = 1,
                 shuffle: bool = None, sampler: Any = None, num_shards: int | None = None, shard_id: int | None = None,
                 python_multiprocessing: bool = True, max_rowsize: Any = None, batch_sampler: Any = None,
                 collate_fn: Any = None) -> None:
        op = "GeneratorDataset"
        self._random = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        if not (self._random or callable(source) or hasattr(source, "__iter__")):
            raise TypeError(
                f"[{op}] source should be a callable, an iterable, or have __getitem__ and __len__, but got "
                            f"{check.shown(source)}.")
        if isinstance(source, type):
            raise TypeError(f"[{op}] source is the class {source.__name__}; pass an object of it.")
        self.source = source
        if column_names is None and schema is None:
            raise ValueError(f"[{op}] Neither columns_names nor schema are provided.")
        if schema is not None:
            from pijit.dataset.schema import Schema
            schema = schema if isinstance(schema, Schema) else Schema(schema)
            column_names = [c["name"] for c in schema.columns]
            column_types = [c["type"] for c in schema.columns]
        self.column_names: list[Any] | None = check.columns(op, "column_names", column_names)
        self.column_types: list[Any] | None = _types(op, column_types, self.column_names)
        check.boolean(op, "python_multiprocessing", python_multiprocessing)
        self.python_multiprocessing = python_multiprocessing
        _check_rowsize(op, max_rowsize)
        if not self._random:
            if sampler is not None:
                raise ValueError(f"[{op}] sampler is not supported if source does not have attribute '__getitem__'.")
            if num_shards is not None or shard_id is not None:
                raise ValueError(
                    f"[{op}] num_shards and shard_id are not supported if source does not have attribute "
                    f"'__getitem__'.")
        if batch_sampler is not None:
            if not self._random:
                raise ValueError(
                    f"[{op}] batch_sampler is not supported if source does not have attribute '__getitem__'.")
            if sampler is not None or num_shards is not None or shuffle is not None or num_samples is not None:
                raise ValueError(
                    f"[{op}] batch_sampler excludes num_samples, shuffle, sampler, num_shards and shard_id.")
            if not hasattr(batch_sampler, "__iter__"):
                raise TypeError(f"[{op}] batch_sampler must be iterable, but got {check.shown(batch_sampler)}.")
        if collate_fn is not None:
            if batch_sampler is None:
                raise ValueError(f"[{op}] collate_fn needs batch_sampler.")
            if not callable(collate_fn):
                raise TypeError(f"[{op}] collate_fn must be callable, but got {check.shown(collate_fn)}.")
        self.batch_sampler, self.collate_fn = batch_sampler, collate_fn
        super().__init__(num_parallel_workers, sampler, num_samples, shuffle, num_shards, shard_id)
        if _has(self.sampler, PKSampler):
            raise ValueError(f"[{op}] GeneratorDataset doesn't support PKSampler.")
        self.num_samples: int | None = num_samples or None
        self._shuffles = bool(shuffle)

    def _columns(self):
        return self.column_names

    def _length(self):
        n = len(self.source)
        if n < 1:
            raise RuntimeError("[GeneratorDataset] the source has no rows: its length is 0.")
        return n

    def __getitem__(self, index: Any) -> Any:
        if not self._random:
            raise TypeError("[GeneratorDataset] the source has no __getitem__.")
        return self.source[index]

    def _size(self):
        if self.batch_sampler is not None:
            return len(self.batch_sampler) if hasattr(self.batch_sampler, "__len__") else None
        if self._random:
            return super()._size()
        if hasattr(self.source, "__len__"):
            n = len(self.source)
            return min(n, self.num_samples) if self.num_samples else n
        return None

    def get_batch_size(self) -> int:
        """1; a batch_sampler's batches count as rows of different sizes."""
        return 1

    def is_shuffled(self) -> bool:
        """Whether rows come in random order."""
        return self._shuffles or self._random and super().is_shuffled()

    def _part(self, start, stop, total, seed):
        if self._random and self.batch_sampler is None:
            return super()._part(start, stop, total, seed)
        return Dataset._part(self, start, stop, total, seed)

    def _values(self, row):
        """The values of a row as the source gave it."""
        row = row if isinstance(row, (tuple, list)) else (row,)
        if len(row) != len(self.column_names):
            raise RuntimeError(
                "[GeneratorDataset] the 'source' should return same number of NumPy arrays as specified in "
                               f"column_names, the size of column_names is: {len(self.column_names)} and number of "
                               f"returned "
                               f"NumPy array is: {len(row)}.")
        try:
            row = [as_value(v, "[GeneratorDataset] the source") for v in row]
        except TypeError as e:
            raise RuntimeError(f"Exception thrown from user defined Python function in dataset. TypeError: {e}") from e
        if self.column_types is not None:
            for name, value, kind in zip(self.column_names, row, self.column_types):
                if kind is not None and (isinstance(value, dict) or value.dtype != kind):
                    raise RuntimeError(
                        "[GeneratorDataset] the type of returned data should be same with specified column_types, but "
                                       f"column {name!r} has {getattr(value, 'dtype', 'a dict')} instead of {kind}.")
        return row

    def _prepare_self(self, run):
        workers = self.num_parallel_workers or 1
        if (self._random and self.python_multiprocessing and workers > 1 and not run.debug
            and self.batch_sampler is None):
            run.pool(self, lambda: Processes(workers, self._fetch, run.seed))
            run.state[id(self), "processes"] = True

    def _fetch(self, indices):
        """(chunk of the rows before one that fails, its error)."""
        columns = [Column(len(indices)) for _ in self.column_names]
        n, error = 0, None
        for i in indices:
            try:
                row = self.source[i]
            except Exception as e:
                error = user_error(f"[GeneratorDataset] the source's row {i}", e)
                error.__cause__ = e
                break
            try:
                row = self._values(row)
            except RuntimeError as e:
                error = e
                break
            for column, value in zip(columns, row):
                column.add(value)
            n += 1
        return Chunk(n, dict(zip(self.column_names, (c.done() for c in columns)))), error

    def _fetch_apart(self, indices):
        chunk, error = self._fetch(indices)
        if error is not None:
            error.__cause__ = None
        return chunk, error

    def _flow(self, run, size):
        size = min(size, MAX_ROWS)
        if self.batch_sampler is not None:
            yield from self._batch_flow(run)
        elif self._random:
            indices = self._indices(run).tolist()
            pieces = (indices[i:i + size] for i in range(0, len(indices), size))
            workers = self.num_parallel_workers or 1
            if workers > 1 and not run.debug:
                piece = max(1, min(size, -(-len(indices) // (2 * workers))))
                pieces = (indices[i:i + piece] for i in range(0, len(indices), piece))
                fetched = run.ordered(self, pieces, self._fetch, lambda: Threads(workers), 2 * workers)
            else:
                fetched = map(self._fetch, pieces)
            for chunk, error in fetched:
                if chunk.n:
                    yield chunk
                if error is not None:
                    raise error
        elif self._shuffles:
            from pijit.dataset.datasets import ShuffleDataset
            run.rng(self)
            yield from ShuffleDataset(_Unshuffled(self), 10000)._flow(run, size)
        else:
            run.rng(self)
            yield from self._iterated(size)

    def _iterated(self, size):
        what = "[GeneratorDataset] the source"
        try:
            iterator = self.source() if callable(self.source) and not hasattr(self.source, "__next__") and \
                not hasattr(self.source, "__iter__") else self.source
            iterator = iter(iterator)
        except Exception as e:
            raise user_error(what, e) from e
        left = self.num_samples or -1
        while left:
            limit = size if left < 0 else min(size, left)
            columns, n, error, ended = [Column(limit) for _ in self.column_names], 0, None, False
            while n < limit:
                try:
                    row = next(iterator)
                except StopIteration:
                    ended = True
                    break
                except Exception as e:
                    error = user_error(what, e)
                    error.__cause__ = e
                    break
                try:
                    row = self._values(row)
                except RuntimeError as e:
                    error = e
                    break
                for column, value in zip(columns, row):
                    column.add(value)
                n += 1
            if n:
                left -= n if left > 0 else 0
                yield Chunk(n, dict(zip(self.column_names, (c.done() for c in columns))))
            if error is not None:
                raise error
            if ended:
                return

    def _batch_flow(self, run):
        from pijit.dataset.datasets import _one_row, _stack
        run.rng(self)
        self._length()
        for places in self.batch_sampler:
            places = [int(p) for p in places]
            try:
                rows = [self.source[p] for p in places]
                if self.collate_fn is not None:
                    rows = self.collate_fn(rows)
            except Exception as e:
                raise user_error("[GeneratorDataset] a batch of the source or collate_fn", e) from e
            if self.collate_fn is not None:
                yield _one_row(dict(zip(self.column_names, map(_copied, self._values(rows)))))
                continue
            columns = list(zip(*map(self._values, rows)))
            yield _one_row({n: _stack(n, list(c), called="GeneratorDataset")
                            for n, c in zip(self.column_names, columns)})


def _copied(value):
    return np.array(value) if isinstance(value, np.ndarray) else {k: np.array(v) for k, v in value.items()}


class _Unshuffled(Dataset):
    """The rows of a GeneratorDataset in its source's order."""

    _user_code = True

    def __init__(self, dataset: Any) -> None:
        super().__init__()
        self.dataset = dataset

    def _names(self):
        return self.dataset.column_names

    def _flow(self, run, size):
        return self.dataset._iterated(size)


def _types(op, types, names):
    if types is None:
        return None
    from pijit.dtype import dtype_to_nptype
    types = types if isinstance(types, (list, tuple)) else [types]
    if len(types) != len(names):
        raise ValueError(
            f"[{op}] column_types must have one type for each of the {len(names)} columns, but got {len(types)}.")
    out = []
    for t in types:
        if t is None:
            out.append(None)
            continue
        if isinstance(t, str) and t == "string":
            out.append(None)
            continue
        try:
            out.append(np.dtype(dtype_to_nptype(t) if not isinstance(t, (str, type, np.dtype)) else t))
        except (TypeError, ValueError, KeyError) as e:
            raise TypeError(f"[{op}] column_types must be dtypes, but got {check.shown(t)}.") from e
    return out


class NumpySlicesDataset(MappableDataset):
    """Rows are the slices of arrays along their first axes.

    Args:
        data: a list or ndarray (one column), a tuple of those (several), or a dict from names to them.
        column_names: names; without them the dict's keys, or column_0, column_1, ….
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset.
    Raises TypeError for other data, ValueError for none or for columns of different lengths."""

    def __init__(self, data: Any, column_names: str | Sequence[str] = None, num_samples: int | None = None,
                 num_parallel_workers: int = 1, shuffle: bool = None, sampler: Any = None,
                 num_shards: int | None = None, shard_id: int | None = None) -> None:
        op = "NumpySlicesDataset"
        check.instance(op, "data", data, (list, tuple, dict, np.ndarray))
        if not len(data):
            raise ValueError(f"[{op}] data cannot be empty.")
        if isinstance(data, dict):
            names, columns = list(data), list(data.values())
        else:
            columns = list(data) if isinstance(data, tuple) else [data]
            names = [f"column_{i}" for i in range(len(columns))]
        if column_names is not None:
            given = check.columns(op, "column_names", column_names)
            if len(given) != len(columns):
                raise ValueError(f"[{op}] Num of input column names is {len(given)}, but required is {len(columns)}.")
            names = given
        else:
            names = check.columns(op, "the keys of data", names)
        self._data = [_sliceable(op, n, c) for n, c in zip(names, columns)]
        lengths = [len(c) for c in self._data]
        if len(set(lengths)) > 1:
            raise ValueError(f"[{op}] Data length in each column is not equal: {dict(zip(names, lengths))}.")
        self.column_names = names
        super().__init__(num_parallel_workers, sampler, num_samples, shuffle, num_shards, shard_id)

    def _columns(self):
        return self.column_names

    def _length(self):
        if not len(self._data[0]):
            raise RuntimeError("[NumpySlicesDataset] data has no rows.")
        return len(self._data[0])

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(c[index] for c in self._data)

    def _read(self, indices):
        columns = {}
        _in_range(self.sampler, indices, len(self._data[0]))
        for name, data in zip(self.column_names, self._data):
            columns[name] = [np.array(data[i]) for i in indices.tolist()] if type(data) is list else data[indices]
        return Chunk(len(indices), columns)


def _sliceable(op, name, column):
    """A column as one array, or as a list of arrays where its rows differ in shape or hold strings."""
    if hasattr(column, "asnumpy"):
        column = column.asnumpy()
    if isinstance(column, np.ndarray) and column.ndim and column.dtype.kind not in "OUSV":
        return column
    if not isinstance(column, (list, tuple, np.ndarray)) or isinstance(column, np.ndarray) and not column.ndim:
        raise TypeError(f"[{op}] column {name!r} must be a list or an array, but got {check.shown(column)}.")
    try:
        rows = [as_value(v, f"[{op}] column {name!r}") for v in column]
    except TypeError as e:
        raise TypeError(str(e)) from e
    if rows and all(isinstance(r, np.ndarray) and r.shape == rows[0].shape and r.dtype.kind not in "US" for r in rows):
        return np.array(rows) if len({r.dtype for r in rows}) == 1 else np.array([r.tolist() for r in rows])
    return rows


class PaddedDataset(MappableDataset):
    """Rows given as a list of dicts from names to arrays: to fill another dataset up so that shards are equally large.

    Raises TypeError for no list, ValueError for an empty one and for dicts with different names."""

    def __init__(self, padded_samples: Sequence[dict[str, Any]]) -> None:
        op = "PaddedDataset"
        check.instance(op, "padded_samples", padded_samples, list)
        if not padded_samples:
            raise ValueError(f"[{op}] padded_samples must not be empty.")
        for i, sample in enumerate(padded_samples):
            check.instance(op, f"padded_samples[{i}]", sample, dict)
            if sample.keys() != padded_samples[0].keys():
                raise ValueError(
                    f"[{op}] all of padded_samples must have the same names, but have {list(padded_samples[0])} and "
                                 f"{list(sample)}.")
        self.padded_samples = padded_samples
        self.column_names: list[Any] | None = check.columns(op, "the keys of padded_samples", list(padded_samples[0]))
        super().__init__(None, None, None, False)

    def _columns(self):
        return self.column_names

    def _length(self):
        return len(self.padded_samples)

    def _read(self, indices):
        columns = [Column(len(indices)) for _ in self.column_names]
        for i in indices.tolist():
            for name, column in zip(self.column_names, columns):
                column.add(as_value(self.padded_samples[i][name], f"[PaddedDataset] {name}"))
        return Chunk(len(indices), dict(zip(self.column_names, (c.done() for c in columns))))


class RandomDataset(MappableDataset):
    """Rows of random numbers, for trying a pipeline out.

    Args:
        total_rows: how many, None for 1,000. schema: a Schema or the path of one, which gives types and shapes.
        columns_list: the names of columns; without a schema they are float32 numbers.
        num_samples, num_parallel_workers, shuffle, num_shards, shard_id: as in GeneratorDataset."""

    def __init__(self, total_rows: int = None, schema: Any = None, columns_list: str | Sequence[str] = None,
                 num_samples: int | None = None, num_parallel_workers: int | None = None, cache: Any = None,
                 shuffle: bool = None, num_shards: int | None = None, shard_id: int | None = None) -> None:
        op = "RandomDataset"
        self.total_rows: int = check.integer(op, "total_rows", total_rows, 0, check.INT32_MAX, none=True) or 1000
        names = check.columns(op, "columns_list", columns_list, none=True)
        if cache is not None:
            raise RuntimeError(f"[{op}] cache needs a cache server, which there is none of; leave it out.")
        if schema is not None:
            from pijit.dataset.schema import Schema
            schema = schema if isinstance(schema, Schema) else Schema(schema)
            self._kinds = {c["name"]: (np.dtype(c["type"]), tuple(c.get("shape") or ())) for c in schema.columns}
        else:
            self._kinds = {n: (np.dtype(np.float32), ()) for n in names or ["c0", "c1", "c2"]}
        if names is not None:
            self._kinds = {n: self._kinds[n] for n in names if n in self._kinds}
        for n, (_, shape) in self._kinds.items():
            if any(s is None or s < 0 for s in shape):
                raise ValueError(
                    f"[{op}] column {n!r} has the shape {list(shape)}; random rows need one without unknown sizes.")
        from pijit.dataset import config
        self._seed = config._chosen_seed()
        super().__init__(num_parallel_workers, None, num_samples, shuffle, num_shards, shard_id)

    def _columns(self):
        return list(self._kinds)

    def _length(self):
        return self.total_rows

    def _read(self, indices):
        columns = {}
        for place, (name, (kind, shape)) in enumerate(self._kinds.items()):
            rows = []
            for i in indices.tolist():
                rng = np.random.default_rng((self._seed, place, i))
                if kind.kind == "f":
                    rows.append(rng.random(shape).astype(kind))
                elif kind.kind == "b":
                    rows.append(rng.integers(0, 2, shape).astype(kind))
                else:
                    info = np.iinfo(kind)
                    rows.append(rng.integers(info.min, info.max, shape, dtype=kind, endpoint=True))
            columns[name] = np.array(rows, kind)
        return Chunk(len(indices), columns)


class FakeImageDataset(MappableDataset):
    """Images of random numbers, for trying a pipeline out: columns image (uint8 of shape image_size) and label (a
    uint32 below num_classes). The same base_seed gives the same images.

    Args:
        num_images: how many. image_size: (height, width, channels). num_classes: of how many classes labels are.
        base_seed: what images and labels are drawn by.
        num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id: as in GeneratorDataset; shuffled by
            default."""

    def __init__(self, num_images: int = 1000, image_size: Sequence[int] = (224, 224, 3), num_classes: int = 10,
                 base_seed: int = 0, num_samples: int | None = None, num_parallel_workers: int | None = None,
                 shuffle: bool = None, sampler: Any = None, num_shards: int | None = None,
                 shard_id: int | None = None, cache: Any = None) -> None:
        op = "FakeImageDataset"
        self.num_images: int = check.integer(op, "num_images", num_images, 1, check.INT32_MAX)
        check.instance(op, "image_size", image_size, (list, tuple))
        if len(image_size) != 3:
            raise ValueError(f"[{op}] image_size must be (height, width, channels), but has {len(image_size)} sizes.")
        self.image_size = tuple([check.integer(op, f"image_size[{k}]", n, 1, check.INT32_MAX)
                                 for k, n in enumerate(image_size)])
        self.num_classes: int = check.integer(op, "num_classes", num_classes, 1, check.INT32_MAX)
        self.base_seed: int = check.integer(op, "base_seed", base_seed)
        if cache is not None:
            raise RuntimeError(f"[{op}] cache needs a cache server, which there is none of; leave it out.")
        super().__init__(num_parallel_workers, sampler, num_samples, shuffle, num_shards, shard_id)

    def _columns(self):
        return ["image", "label"]

    def _length(self):
        return self.num_images

    def _drawn(self, what, i):
        return np.random.default_rng((self.base_seed % 2**64, i, what))

    def _label(self, i):
        return self._drawn(0, i).integers(self.num_classes)

    def _labels(self, column):
        if column != "label":
            super()._labels(column)
        return np.array([self._label(i) for i in range(self.num_images)], np.uint32)

    def _read(self, indices):
        places = indices.tolist()
        images = [self._drawn(1, i).integers(0, 256, self.image_size, np.uint8) for i in places]
        return Chunk(len(places), {"image": np.array(images, np.uint8).reshape(-1, *self.image_size),
                                   "label": np.array([self._label(i) for i in places], np.uint32)})
