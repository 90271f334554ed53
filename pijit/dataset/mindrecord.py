"""A dataset of the rows of MindRecord files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check
from pijit.dataset.datasets import Shuffle
from pijit.dataset.files import _no_cache
from pijit.dataset.pipeline import Chunk, Column
from pijit.dataset.samplers import RandomSampler, SequentialSampler
from pijit.dataset.sources import MappableDataset
from pijit.mindrecord import _format

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class MindDataset(MappableDataset):
    """Rows of MindRecord files (`mindspore.mindrecord`): a column for each field.

    Strings, numbers, arrays, and bytes as an array of one.

    Args:
        dataset_files: a path, which stands for all files of its set, or a list of the files to read.
        columns_list: the names of fields to take, all by default.
        shuffle: a bool or a Shuffle: GLOBAL (by default) of all rows, INFILE within each file, FILES of the files.
        padded_sample, num_padded: a row as a dict, and how many of it follow the others; columns_list must be given.
        num_samples, num_parallel_workers, sampler, num_shards, shard_id: as in GeneratorDataset.
    Raises TypeError, ValueError and RuntimeError for wrong arguments, RuntimeError when the pipeline runs for files
    that are broken."""

    def __init__(self, dataset_files: str | Sequence[str], columns_list: Sequence[str] | None = None,
                 num_parallel_workers: int | None = None, shuffle: bool | Shuffle | None = None,
                 num_shards: int | None = None, shard_id: int | None = None, sampler: Any = None,
                 padded_sample: dict[str, Any] | None = None, num_padded: int | None = None,
                 num_samples: int | None = None, cache: Any = None) -> None:
        op = "MindDataset"
        files = dataset_files if isinstance(dataset_files, list) else [dataset_files]
        for f in files:
            if not isinstance(f, str):
                raise TypeError(f"path: {f} is not string")
            if not os.path.isfile(f):
                raise ValueError(f"The file {os.path.abspath(f)} does not exist or permission denied!")
        if not files:
            raise ValueError(f"[{op}] dataset_files must name at least one file.")
        self.dataset_files: Any = dataset_files
        if columns_list is not None and not isinstance(columns_list, list):
            raise TypeError(f"Argument columns_list with value {columns_list} is not of type [<class 'list'>], but got "
                            f"{type(columns_list)}.")
        self.columns_list: list[Any] | None = check.columns(op, "columns_list", columns_list, none=True)
        if shuffle is not None and not isinstance(shuffle, (bool, Shuffle)):
            raise TypeError("shuffle must be of boolean or enum of 'Shuffle' values like 'Shuffle.GLOBAL' or "
                            "'Shuffle.FILES' or 'Shuffle.INFILE'.")
        if (num_shards is None) != (shard_id is None):
            one, other = ("num_shards", "shard_id") if shard_id is None else ("shard_id", "num_shards")
            raise RuntimeError(f"{one} is specified and currently requires {other} as well.")
        if sampler is not None and shuffle is not None:
            raise RuntimeError("sampler and shuffle cannot be specified at the same time.")
        if sampler is not None and num_shards is not None:
            raise RuntimeError("sampler and sharding cannot be specified at the same time.")
        self._check_padding(padded_sample, num_padded)
        self.padded_sample, self.num_padded = padded_sample, num_padded or 0
        _no_cache(op, cache)
        self.shuffle_option = (Shuffle.GLOBAL if shuffle is None or shuffle is True else
                               Shuffle.FALSE if shuffle is False else shuffle)
        mixes = shuffle if shuffle is None or isinstance(shuffle, bool) else shuffle != Shuffle.FALSE
        super().__init__(num_parallel_workers, sampler, num_samples, mixes, num_shards, shard_id)
        self._open = None

    def _check_padding(self, sample, count):
        if sample is not None:
            if count is None:
                raise RuntimeError("padded_sample is specified and requires num_padded as well.")
            if self.columns_list is None:
                raise RuntimeError("padded_sample is specified and requires columns_list as well.")
            if not isinstance(sample, dict):
                raise TypeError(f"[MindDataset] padded_sample must be a dict, but got {check.shown(sample)}.")
            for c in self.columns_list:
                if c not in sample:
                    raise ValueError("padded_sample cannot match columns_list.")
        if count is not None:
            if not check.is_int(count) or count < 0:
                raise ValueError(f"num_padded is invalid, num_padded={count}.")
            if sample is None:
                raise RuntimeError("num_padded is specified but padded_sample is not.")

    def _shards(self):
        if self._open is None:
            shards = _format.open_all(self.dataset_files)
            for c in self.columns_list or ():
                if c not in shards[0].schema:
                    raise RuntimeError(f"[MindDataset] columns_list names {c!r}, but there are "
                                       f"{sorted(shards[0].schema)}.")
            self._ends = np.cumsum([len(s) for s in shards])
            self._open = shards
        return self._open

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open": None}  # another process opens them again

    def _columns(self):
        return self.columns_list or sorted(self._shards()[0].schema)

    def _length(self):
        self._shards()
        return int(self._ends[-1]) + self.num_padded

    def _labels(self, column):
        shards = self._shards()
        field = shards[0].schema.get(column)
        if field is None or _format.is_blob(field):
            super()._labels(column)
        labels = [s.numbers(k)[column] for s in shards for k in range(len(s))]
        return labels + [self.padded_sample[column] for _ in range(self.num_padded)]

    def _indices(self, run):
        s = self.sampler
        if self.shuffle_option not in (Shuffle.FILES, Shuffle.INFILE) or self._subset is not None or \
                not isinstance(s, (RandomSampler, SequentialSampler)) or s.child_sampler is not None:
            return super()._indices(run)
        n = self._length()
        rng = np.random.default_rng(0) if run is None else run.rng(self)[0]
        parts = np.split(np.arange(n), self._ends[:-1])
        if self.shuffle_option == Shuffle.INFILE:
            parts = [rng.permutation(p) for p in parts]
        else:
            parts = [parts[k] for k in rng.permutation(len(parts))]
        return np.concatenate(parts)[:s._limit(n)]

    def _value(self, field, value):
        kind = field["type"]
        if kind == "bytes":
            value = bytes(value)
            return np.frombuffer(value, f"S{len(value)}") if value else np.array([b""])
        if kind == "string":
            return np.array(value)
        return np.asarray(value, _format.SCALARS[kind])

    def _read(self, indices):
        shards, names = self._shards(), self._columns()
        schema, total = shards[0].schema, int(self._ends[-1])
        columns = [Column(len(indices)) for _ in names]
        files = np.searchsorted(self._ends, indices, side="right")
        for file, place in zip(files.tolist(), np.asarray(indices).tolist()):
            if place >= total:
                row = self.padded_sample
            else:
                row = shards[file].row(place - int(self._ends[file]) + len(shards[file]), names)
            for name, column in zip(names, columns):
                column.add(self._value(schema[name], row[name]))
        return Chunk(len(indices), dict(zip(names, (c.done() for c in columns))))
