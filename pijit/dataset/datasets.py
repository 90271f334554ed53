"""Dataset: the base of all datasets with the operations on them. Each operation is a node of a tree; nothing runs
before an iterator is made (pipeline.py).

A node gives the names of its columns (`_names`), its number of rows (`_size`) and the chunks of one epoch (`_flow`)."""

from __future__ import annotations

import enum
import functools
import threading
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check, config, seeds
from pijit.dataset.pipeline import (MAX_ROWS, Chunk, Column, DictIterator, Processes, Reader, Run, Threads,
                                    TupleIterator,
                                    as_value, is_user_error, user_error, values)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any
    from pijit.dataset.text.utils import Vocab


class Shuffle(str, enum.Enum):
    """How rows of files are shuffled: all rows (GLOBAL), only the order of files (FILES), within files (INFILE), by a
    part of the rows (PARTIAL), in an adaptive way for large data (ADAPTIVE)."""

    GLOBAL = "global"
    FILES = "files"
    INFILE = "infile"
    ADAPTIVE = "adaptive"
    PARTIAL = "partial"
    FALSE = "false"


def _operation_name(op):
    return getattr(op, "__qualname__", None) or type(op).__name__


class BatchInfo:
    """What a callable batch_size and per_batch_map are told: numbers of the batch and of the epoch."""

    __slots__ = ("_batch", "_epoch")

    def __init__(self, batch: int, epoch: int) -> None:
        self._batch, self._epoch = batch, epoch

    def get_batch_num(self) -> int:
        """The number of this batch within its epoch, from 0."""
        return self._batch

    def get_epoch_num(self) -> int:
        """The number of this epoch, from 0."""
        return self._epoch


class Dataset:
    """The base of all datasets. Operations return new datasets and leave this one as it is."""

    _user_code = False  # rows come from or pass a user's Python function, so none is computed before it is needed

    def __init__(self, children: Sequence[Any] = (), num_parallel_workers: int | None = None) -> None:
        self.children: list[Any] = list(children)
        self.num_parallel_workers: int | None = check.workers(type(self).__name__, num_parallel_workers)
        self._repeat_count = 1

    # --- what kinds of nodes define -----------------------------------------------------------------------------------

    def _names(self):
        return self.children[0]._names()

    def _size(self):
        return self.children[0]._size()

    def _flow(self, run, size):
        raise NotImplementedError

    def _prepare_self(self, run):
        pass

    # --- the tree -----------------------------------------------------------------------------------------------------

    def _nodes(self):
        out = [self]
        for c in self.children:
            out += c._nodes()
        return out

    def _prepare(self, run):
        for node in self._nodes():
            node._prepare_self(run)

    def _read_ahead(self):
        """How many rows at once the iterator asks for: one where a user's code would run ahead of its loop."""
        if self._user_code:
            return 1
        return min(c._read_ahead() for c in self.children) if self.children else 16

    def _child(self):
        return self.children[0]

    def _first(self):
        """The first row as a dict, or None for no rows."""
        run = Run(self, debug=True)
        try:
            self._prepare(run)
            chunks = self._flow(run, 1)
            try:
                chunk = next(chunks, None)
                return None if chunk is None else {k: values(v)[0] for k, v in chunk.columns.items()}
            finally:
                chunks.close()
        finally:
            run.close()

    def _count(self):
        """The number of rows, counted by running one epoch."""
        run = Run(self, debug=True)
        try:
            self._prepare(run)
            chunks = self._flow(run, MAX_ROWS)
            try:
                return sum(c.n for c in chunks)
            finally:
                chunks.close()
        finally:
            run.close()

    # --- iteration ----------------------------------------------------------------------------------------------------

    def create_dict_iterator(self, num_epochs: int = -1, output_numpy: bool = False,
                             do_copy: bool = False) -> DictIterator:
        """An iterator whose rows are dicts from column names to Tensors.

        Args:
            num_epochs: how many epochs it will be used for; -1 for any number. Each `for` over it is one epoch.
            output_numpy: gives ndarrays instead of Tensors.
            do_copy: accepted; what is given out never shares memory with a source.
        Raises TypeError and RuntimeError for wrong arguments."""
        return DictIterator(self, num_epochs, output_numpy, do_copy)

    def create_tuple_iterator(self, columns: str | Sequence[str] = None, num_epochs: int = -1,
                              output_numpy: bool = False, do_copy: bool = False) -> TupleIterator:
        """An iterator whose rows are lists of Tensors in the order of columns.

        Args:
            columns: names of the columns to give, in this order; None gives all.
            num_epochs, output_numpy, do_copy: as in create_dict_iterator.
        Raises TypeError and RuntimeError for wrong arguments."""
        dataset = self
        if columns is not None:
            dataset = ProjectDataset(self, check.columns("create_tuple_iterator", "columns", columns))
        return TupleIterator(dataset, num_epochs, output_numpy, do_copy)

    def __iter__(self) -> Iterator[Any]:
        return self.create_tuple_iterator(num_epochs=1)

    def __len__(self) -> int:
        return self.get_dataset_size()

    def __add__(self, other: Dataset) -> ConcatDataset:
        return self.concat(other)

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"'{type(self).__name__}' object is not callable")

    # --- operations ---------------------------------------------------------------------------------------------------

    def map(self, operations: Any, input_columns: str | Sequence[str] = None,
            output_columns: str | Sequence[str] = None, num_parallel_workers: int | None = None,
            **kwargs: Any) -> MapDataset:
        """Applies operations to the columns of each row.

        Args:
            operations: a callable or a list of them; each takes what the one before returned. Callables of yours take
                and return arrays (or numbers, strings, Tensors, lists), one for each column, several as a tuple.
            input_columns: names of the columns that the first operation takes; None means the first column.
            output_columns: names of the columns that the last one returns; None means the input's. They come in the
                place of the first input column.
            num_parallel_workers: threads, or processes with python_multiprocessing. Callables of yours run one row
                after the other unless a number above 1 is given.
            python_multiprocessing: runs them in processes (bool, False). max_rowsize, cache, callbacks, offload: the
                first two and the last are accepted and change nothing; callbacks is a DSCallback or a list of them.
        Raises ValueError for what is not callable, TypeError for names that are no str, RuntimeError when the pipeline
        runs for missing columns, wrong numbers of outputs, and for exceptions of your callables, with their
        tracebacks."""
        return MapDataset(self, operations, input_columns, output_columns, num_parallel_workers, **kwargs)

    def batch(self, batch_size: int | Callable[..., int], drop_remainder: bool = False,
              num_parallel_workers: int | None = None, **kwargs: Any) -> BatchDataset:
        """Stacks rows to batches.

        Args:
            batch_size: an int ≥ 1, -1 for all rows, or a callable that gets a BatchInfo and returns the size.
            drop_remainder: leaves out the last batch when it is short.
            num_parallel_workers: accepted.
            per_batch_map: a callable (column lists…, BatchInfo) → column lists, run on each batch before it is stacked.
            input_columns, output_columns: for per_batch_map, as in map.
            python_multiprocessing, max_rowsize: as in map.
        Raises TypeError and ValueError for wrong arguments, RuntimeError when the shapes of rows differ."""
        return BatchDataset(self, batch_size, drop_remainder, num_parallel_workers, **kwargs)

    def padded_batch(self, batch_size: int, drop_remainder: bool = False, num_parallel_workers: int | None = None,
                     pad_info: dict[str, Any] = None) -> BatchDataset:
        """Pads rows to equal shapes and stacks them.

        Args:
            batch_size, drop_remainder, num_parallel_workers: as in batch.
            pad_info: a dict from a column's name to (shape, value); a None in shape, or for it, means the longest of
                the batch, and a value of None zero. {} pads all columns so. None pads nothing.
        Raises as batch does, and RuntimeError for a shape of the wrong rank or a row that is too long."""
        return BatchDataset(self, batch_size, drop_remainder, num_parallel_workers, pad_info=pad_info,
                            _called="padded_batch")

    def bucket_batch_by_length(self, column_names: str | Sequence[str], bucket_boundaries: Sequence[int],
                               bucket_batch_sizes: Sequence[int],
                               element_length_function: Callable[..., Any] | None = None,
                               pad_info: dict[str, Any] = None, pad_to_bucket_boundary: bool = False,
                               drop_remainder: bool = False) -> BucketBatchByLengthDataset:
        """Batches rows of similar lengths together.

        Args:
            column_names: the columns whose length counts, or that element_length_function takes.
            bucket_boundaries: the upper bounds (exclusive) of all buckets but the last, strictly increasing ints ≥ 1.
            bucket_batch_sizes: the batch size of each bucket, one more than there are boundaries.
            element_length_function: a callable (columns…) → int; None means the first axis of the one column.
            pad_info: as in padded_batch; None means {}.
            pad_to_bucket_boundary: pads None in pad_info to the bucket's boundary minus one, instead of to the longest.
            drop_remainder: leaves out short batches at the end of an epoch.
        Raises TypeError and ValueError for wrong arguments, RuntimeError when rows do not fit."""
        return BucketBatchByLengthDataset(self, column_names, bucket_boundaries, bucket_batch_sizes,
                                          element_length_function,
                                          pad_info, pad_to_bucket_boundary, drop_remainder)

    def shuffle(self, buffer_size: int) -> ShuffleDataset:
        """Shuffles rows: each comes at random from a buffer that is filled up from the dataset.

        Args: buffer_size: int ≥ 2; the number of rows or more shuffles fully.
        Raises TypeError and ValueError for other sizes."""
        return ShuffleDataset(self, buffer_size)

    def repeat(self, count: int = None) -> RepeatDataset:
        """Repeats the dataset `count` times within an epoch; None or -1 without end.

        Raises TypeError for no int, ValueError for 0 and below -1."""
        return RepeatDataset(self, count)

    def skip(self, count: int) -> SkipDataset:
        """Leaves out the first `count` rows. Raises TypeError for no int, ValueError below 0."""
        return SkipDataset(self, count)

    def take(self, count: int = -1) -> TakeDataset:
        """Ends after `count` rows; -1 takes all. Raises TypeError for no int, ValueError for 0 and below -1."""
        return TakeDataset(self, count)

    def split(self, sizes: Sequence[int] | Sequence[float], randomize: bool = True) -> list[Dataset]:
        """Splits into datasets without common rows.

        Args:
            sizes: a list of ints that sum up to the dataset's size, or of floats in (0, 1) that sum up to 1.
            randomize: takes rows at random (the same ones in each epoch) instead of in order.
        Returns a list of datasets. Raises TypeError, ValueError and RuntimeError for sizes that do not fit."""
        return _split(self, sizes, randomize)

    def zip(self, datasets: Dataset | Sequence[Dataset]) -> ZipDataset:
        """Joins the columns of this dataset and of one other or a tuple of others; ends with the shortest."""
        if isinstance(datasets, tuple):
            return ZipDataset((self,) + datasets)
        if not isinstance(datasets, Dataset):
            raise TypeError(f"[zip] datasets must be a Dataset or a tuple of them, but got {check.shown(datasets)}.")
        return ZipDataset((self, datasets))

    def concat(self, datasets: Dataset | Sequence[Dataset]) -> ConcatDataset:
        """Appends the rows of another dataset or of a list of them, which must have the same columns and dtypes."""
        if not isinstance(datasets, (list, Dataset)):
            raise TypeError(f"[concat] datasets must be a Dataset or a list of them, but got {check.shown(datasets)}.")
        return ConcatDataset([self] + (datasets if isinstance(datasets, list) else [datasets]))

    def filter(self, predicate: Callable[..., Any], input_columns: str | Sequence[str] = None,
               num_parallel_workers: int | None = None) -> FilterDataset:
        """Keeps the rows for which predicate(columns…) is true.

        Args: predicate: a callable on the columns `input_columns` (None: all).
        Raises TypeError for no callable, RuntimeError for its exceptions."""
        return FilterDataset(self, predicate, input_columns, num_parallel_workers)

    def project(self, columns: str | Sequence[str]) -> ProjectDataset:
        """Keeps these columns, in this order. Raises RuntimeError when the pipeline runs for a name that is missing."""
        return ProjectDataset(self, columns)

    def rename(self, input_columns: str | Sequence[str], output_columns: str | Sequence[str]) -> RenameDataset:
        """Gives columns new names. Raises ValueError for lists of different lengths, RuntimeError when the pipeline
        runs for a missing name or one that is taken."""
        return RenameDataset(self, input_columns, output_columns)

    def flat_map(self, func: Callable[..., Any]) -> Any:
        """Concatenates the datasets that `func` returns for each row. func takes a row's columns as ndarrays.

        Raises TypeError when func is no callable or returns something else than a dataset."""
        if not callable(func):
            raise TypeError(f"[flat_map] func must be callable, but got {check.shown(func)}.")
        datasets = []
        for row in self.create_tuple_iterator(num_epochs=1, output_numpy=True):
            datasets.append(func(*row))
            if not isinstance(datasets[-1], Dataset):
                raise TypeError(f"[flat_map] func must return a Dataset, but returned {check.shown(datasets[-1])}.")
        if not datasets:
            raise ValueError("[flat_map] the dataset has no rows.")
        return ConcatDataset(datasets) if len(datasets) > 1 else datasets[0]

    def apply(self, apply_func: Callable[[Dataset], Dataset]) -> Dataset:
        """apply_func(dataset), which must return a dataset. Raises TypeError otherwise."""
        if not callable(apply_func):
            raise TypeError(f"[apply] apply_func must be a function, but got {check.shown(apply_func)}.")
        dataset = apply_func(self)
        if not isinstance(dataset, Dataset):
            raise TypeError(f"[apply] apply_func must return a dataset, but returned {check.shown(dataset)}.")
        return dataset

    def sync_wait(self, condition_name: str, num_batch: int = 1,
                  callback: Callable[..., Any] | None = None) -> SyncWaitDataset:
        """Waits after every `num_batch` rows until sync_update is called with this condition's name.

        Args:
            condition_name: str. num_batch: int ≥ 1.
            callback: called with the data that sync_update passes.
        Raises TypeError and ValueError for wrong arguments, RuntimeError for a name that is used already."""
        return SyncWaitDataset(self, condition_name, num_batch, callback)

    def _conditions(self):
        return {n._condition: n for n in self._nodes() if isinstance(n, SyncWaitDataset)}

    def sync_update(self, condition_name: str, num_batch: Any = None, data: Any = None) -> None:
        """Lets a sync_wait go on.

        Args:
            condition_name: its name. num_batch: how many rows may pass now; None means its own number.
            data: passed to its callback.
        Raises RuntimeError for an unknown name, ValueError for num_batch below 1."""
        waits = self._conditions()
        if condition_name not in waits:
            raise RuntimeError(f"[sync_update] there is no sync_wait with the condition {condition_name!r}; there are "
                               f"{sorted(waits)}.")
        waits[condition_name]._update(check.integer("sync_update", "num_batch", num_batch, 1, none=True), data)

    def disable_sync(self) -> None:
        """Lets every sync_wait pass from now on."""
        for node in self._conditions().values():
            node._disable()

    def get_sync_notifiers(self) -> Any:
        """A dict from the names of conditions to functions that let them go on."""
        return {name: node._update for name, node in self._conditions().items()}

    def is_sync(self) -> bool:
        """Whether there is a sync_wait."""
        return bool(self._conditions())

    # --- what is known of it ------------------------------------------------------------------------------------------

    def get_dataset_size(self) -> int:
        """The number of rows (batches) of an epoch. Where it depends on user code an epoch is run to count them."""
        if not hasattr(self, "_known_size"):
            size = self._size()
            self._known_size = self._count() if size is None else size
        return self._known_size

    def get_batch_size(self) -> int:
        """The number of rows in a batch, 1 without batching."""
        return self._child().get_batch_size() if self.children else 1

    def get_repeat_count(self) -> int:
        """The count of the last repeat, 1 without one."""
        return self._child().get_repeat_count() if self.children else 1

    def get_col_names(self) -> list[str]:
        """The names of the columns."""
        return list(self._names())

    def get_class_indexing(self) -> Any:
        """A dict from classes to labels, {} where the dataset has none."""
        return self._child().get_class_indexing() if self.children else {}

    def num_classes(self) -> Any:
        """The number of classes, None where it is not known."""
        return self._child().num_classes() if self.children else None

    def output_types(self) -> list[Any]:
        """The NumPy dtypes of the columns of the first row."""
        row = self._first()
        return [] if row is None else [_type_of(v) for v in row.values()]

    def output_shapes(self, estimate: bool = False) -> list[Any]:
        """The shapes of the columns of the first row, as lists.

        Args: estimate: goes through all rows and puts None where sizes differ."""
        check.boolean("output_shapes", "estimate", estimate)
        if not estimate:
            row = self._first()
            return [] if row is None else [list(np.shape(v)) for v in row.values()]
        shapes = None
        for row in self.create_tuple_iterator(num_epochs=1, output_numpy=True):
            new = [list(np.shape(v)) for v in row]
            if shapes is None:
                shapes = new
                continue
            for have, came in zip(shapes, new):
                if len(have) != len(came):
                    raise RuntimeError(f"[output_shapes] a column has rows of different ranks: {have} and {came}.")
                have[:] = [a if a == b else None for a, b in zip(have, came)]
        return shapes or []

    def get_init_step(self) -> int:
        """The step that training begins with, 0 unless set_init_step gave another."""
        return getattr(self, "_init_step", 0)

    def set_init_step(self, init_step: int) -> None:
        """Sets the step that training begins with."""
        self._init_step = check.integer("set_init_step", "init_step", init_step, 0)

    def reset(self) -> None:
        """Begins anew: iterators made from now on start with their first epoch."""

    def is_shuffled(self) -> bool:
        """Whether rows come in random order."""
        return any(c.is_shuffled() for c in self.children)

    def is_sharded(self) -> bool:
        """Whether rows are a shard of the data."""
        return any(c.is_sharded() for c in self.children)

    @property
    def dataset_size(self) -> Any:
        """The number of rows once it was asked for, else None."""
        return getattr(self, "_known_size", None)

    @dataset_size.setter
    def dataset_size(self, value: Any) -> None:
        self._known_size = value

    def build_vocab(self, columns: str | Sequence[str], freq_range: Any, top_k: Any, special_tokens: Any,
                    special_first: Any) -> Vocab:
        """A text.Vocab of the words in these columns; see text.Vocab.from_dataset."""
        from pijit.dataset.text import Vocab
        return Vocab.from_dataset(self, columns, freq_range, top_k, special_tokens, special_first)


def _type_of(value):
    return {k: _type_of(v) for k, v in value.items()} if isinstance(value, dict) else value.dtype


def _need(op, names, wanted):
    for w in wanted:
        if w not in names:
            raise RuntimeError(f"[{op}] column name {w!r} doesn't exist in the dataset; it has {list(names)}.")


# --- map --------------------------------------------------------------------------------------------------------------



def _call_user(op, row):
    """An operation on the values of a row; what it returns as a tuple of values."""
    out = op(*row)
    return out if type(out) is tuple else (out,)


def _is_builtin(op):
    return getattr(op, "_builtin", False) and not getattr(op, "_calls_user", lambda: False)()


class _Program:
    """The operations of a map as one function on chunks of input columns."""

    def __init__(self, operations: Any, names: Any, outputs: Any, arity: Any) -> None:
        self.operations, self.names, self.outputs, self.arity = operations, names, outputs, arity
        batched = [bool(getattr(op, "_batched", None)) and _is_builtin(op) for op in operations]
        lead = 0
        while lead < len(batched) and batched[lead]:
            lead += 1
        tail = len(batched)
        while tail > lead and batched[tail - 1]:
            tail -= 1
        self.lead, self.middle, self.tail = operations[:lead], operations[lead:tail], operations[tail:]
        self.random = any(getattr(op, "_random", False) for op in operations)
        self.builtin = all(_is_builtin(op) for op in operations)

    def __call__(self, task: Any) -> Any:
        """(n, columns, row seeds) → (n, columns, error): the rows before the one that failed, and its error."""
        n, columns, row_seeds = task
        try:
            if self.lead:
                whole = self._whole(self.lead, columns)
                if whole is None:
                    return self._rows(self.operations, n, columns, row_seeds)
                columns = whole
            if not self.middle:
                return n, self._named(columns), None
            if not self.tail:
                return self._rows(self.middle, n, columns, row_seeds)
            done, columns, error = self._rows(self.middle, n, columns, row_seeds, named=False)
            if done:
                whole = self._whole(self.tail, columns)
                if whole is None:
                    # later rows in their turn: an operation of the tail fails or needs rows apart
                    done, columns, late = self._rows(self.tail, done, columns, row_seeds)
                    return done, columns, late or error
                columns = self._named(whole)
            return done, columns, error
        finally:
            seeds.end_rows()

    def _whole(self, operations, columns):
        """All rows at once, or None where that cannot be, or fails (then the row that fails is to be found)."""
        for op in operations:
            if len(columns) != 1 or type(columns[0]) is list:
                return None
            try:
                out = op._batched(columns[0])
            except Exception:
                return None
            if out is None:
                return None
            columns = [out]
        return columns

    def _named(self, columns):
        if len(columns) != len(self.outputs):
            raise RuntimeError(f"[map] the number of columns that the operations return should match the number of "
                               f"output_columns, but they return {len(columns)}, and the columns are {self.outputs}.")
        return dict(zip(self.outputs, columns))

    def _rows(self, operations, n, columns, row_seeds, named=True):
        out, error, done = None, None, 0
        rows = zip(*(values(c) for c in columns))
        op = None
        for i, row in enumerate(rows):
            if row_seeds is not None:
                seeds.begin_row(row_seeds[i])
            try:
                for op in operations:
                    row = _call_user(op, row)
            except Exception as e:
                error = e
                if not is_user_error(e):
                    error = user_error(f"[map] the operation {_operation_name(op)} on {self.names}", e, 2)
                    error.__cause__ = e
                break
            try:
                row = [as_value(v, f"[map] the operation {_operation_name(op)} on {self.names}") for v in row]
            except TypeError as e:
                error = RuntimeError(f"Exception thrown from user defined Python function in dataset. {e}")
                error.__cause__ = e
                break
            if out is None:
                # what a built-in operation returns is its own; a user's function may return the same buffer again
                out = [Column(n, not self.builtin) for _ in row]
            if len(row) != len(out):
                error = RuntimeError(
                    f"[map] the operation {_operation_name(op)} returned {len(out)} columns for one row and "
                                     f"{len(row)} for another.")
                break
            for column, value in zip(out, row):
                column.add(value)
            done += 1
        columns = [c.done() for c in out] if out is not None else []
        if not done:
            return 0, {}, error
        if not named:
            return done, columns, error
        try:
            return done, self._named(columns), error
        except RuntimeError as e:
            return 0, {}, e


class MapDataset(Dataset):
    """The dataset of `map`."""

    def __init__(self, input_dataset: Dataset, operations: Any, input_columns: str | Sequence[str] = None,
                 output_columns: str | Sequence[str] = None, num_parallel_workers: int | None = None,
                 python_multiprocessing: bool = False, cache: Any = None, callbacks: Any = None,
                 max_rowsize: Any = None, offload: Any = None) -> None:
        super().__init__([input_dataset])
        self.num_parallel_workers: int | None = check.workers("map", num_parallel_workers)
        self.python_multiprocessing: bool = check.boolean("map", "python_multiprocessing", python_multiprocessing)
        if cache is not None:
            raise RuntimeError("[map] cache needs a cache server, which there is none of; leave it out.")
        check.boolean("map", "offload", offload, none=True)
        _check_rowsize("map", max_rowsize)
        operations = operations if isinstance(operations, (list, tuple)) else [operations]
        for op in operations:
            if not callable(op):
                raise ValueError(f"[map] each of operations must be a Python function or another callable, but got "
                                 f"{check.shown(op)}. Pass a function itself, not what it returns.")
            if isinstance(op, type):
                raise ValueError(
                    f"[map] each of operations must be callable on rows, but got the class {op.__name__}. Make "
                                 f"an object of it: {op.__name__}(...).")
        self._given = list(operations)
        self._inputs = check.columns("map", "input_columns", input_columns, none=True, empty=True) or None
        self._outputs = check.columns("map", "output_columns", output_columns, none=True, empty=True) or None
        callbacks = callbacks if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks is not None else []
        from pijit.dataset.callback import DSCallback
        for c in callbacks:
            check.instance("map", "callbacks", c, DSCallback)
        self.callbacks: list[Any] = list(callbacks)
        self._user_code = bool(callbacks) or not all(_is_builtin(op) for op in operations)

    def _columns(self):
        names = self._child()._names()
        inputs = self._inputs or names[:1]
        _need("map", names, inputs)
        return names, inputs, self._outputs or inputs

    def _names(self):
        names, inputs, outputs = self._columns()
        out = []
        for n in names:
            if n == inputs[0]:
                out += outputs
            elif n not in inputs and n not in outputs:
                out.append(n)
        # the new columns stand where the first of the old ones was
        return out

    def _program(self):
        _, inputs, outputs = self._columns()
        operations = []
        for op in self._given:
            operations += op._flat() if hasattr(op, "_flat") else [op]
        if config.get_debug_mode():
            operations = [_hooked(op) for op in operations] if config._state["debug_hooks"] else operations
        return _Program(operations, inputs, outputs, len(inputs))

    def _prepare_self(self, run):
        if run.debug or not self.python_multiprocessing:
            return
        workers = self.num_parallel_workers or config.get_num_parallel_workers()
        program = self._program()
        if workers > 1 and not program.builtin:
            run.pool(self, lambda: Processes(workers, functools.partial(_in_process, program), run.seed))
            run.state[id(self), "workers"] = workers

    def _flow(self, run, size):
        names, inputs, outputs = self._columns()
        order = self._names()
        program = self._program()
        rng, epoch = run.rng(self)
        kept = [n for n in order if n not in outputs]
        processes = (id(self), "workers") in run.state
        draws = program.random or processes
        calls = _Callbacks(self, run, epoch) if self.callbacks else None

        def tasks():
            for chunk in self._child()._flow(run, size if calls is None else 1):
                if calls is not None:
                    calls.step_begin()
                row_seeds = rng.integers(0, 1 << 63, chunk.n).tolist() if draws else None
                held.append(chunk)
                yield chunk.n, [chunk.columns[n] for n in inputs], row_seeds

        held = []  # the chunks on their way, for the columns that pass by
        if calls is not None:
            calls.epoch_begin()
        workers = self._workers(run, program)
        if not program.operations:
            results = ((n, dict(zip(outputs, c)), None) for n, c, _ in tasks())
        elif processes or workers > 1:
            results = run.ordered(self, tasks(), program, lambda: Threads(workers),
                                  2 * run.state.get((id(self), "workers"), workers))
        else:
            results = map(program, tasks())
        good = None
        mode = config.get_error_samples_mode()
        try:
            for done, columns, error in results:
                chunk = held.pop(0)
                if done:
                    columns = {n: columns[n] if n in columns else chunk.columns[n][:done] for n in order} if kept \
                        else {n: columns[n] for n in order}
                    good = Chunk(done, columns)
                    yield good
                if error is None:
                    if calls is not None:
                        calls.step_end()
                    continue
                if mode == config.ErrorSamplesMode.RETURN:
                    raise error
                yield from self._after_error(program, chunk, done, good, mode, inputs, order)
        finally:
            if hasattr(results, "close"):
                results.close()
        if calls is not None:
            calls.epoch_end()

    def _after_error(self, program, chunk, done, good, mode, inputs, order):
        """The rows after one that failed, which is left out or replaced by a good one."""
        for i in range(done, chunk.n):
            n, columns, error = (program((1, [chunk.columns[c][i:i + 1] for c in inputs], None)) if i > done
                                 else (0, {}, True))
            if n:
                good = Chunk(1, {c: columns[c] if c in columns else chunk.columns[c][i:i + 1] for c in order})
                yield good
            elif error is not None and mode == config.ErrorSamplesMode.REPLACE and good is not None:
                yield good.part(0, 1)

    def _workers(self, run, program):
        if run.debug or (id(self), "workers") in run.state or self.callbacks:
            return 1
        if not program.builtin:
            return self.num_parallel_workers or 1
        if not program.middle:
            return 1  # a few passes over arrays: nothing to gain from threads
        return min(self.num_parallel_workers or config.get_num_parallel_workers(), config.cores())


def _in_process(program, task):
    """The work of a worker process: a row's own seed makes numpy.random and random of the user's functions independent
    of which process does it."""
    import random
    if task[2]:
        random.seed(task[2][0])
        np.random.seed(task[2][0] % 2**32)
    n, columns, error = program(task)
    if error is not None and error.__cause__ is not None:
        error.__cause__ = None  # may not be picklable; the message has its traceback
    return n, columns, error


def _hooked(op):
    hooks = config._state["debug_hooks"]

    def run(*row):
        for h in hooks:
            h(*row)
        return op(*row)
    run.__qualname__ = _operation_name(op)
    for mark in ("_builtin", "_random", "_calls_user"):
        if hasattr(op, mark):
            setattr(run, mark, getattr(op, mark))
    return run


def _check_rowsize(op, value):
    if value is None or check.is_int(value):
        return
    if not isinstance(value, (list, tuple)) or not all(check.is_int(v) for v in value):
        raise TypeError(f"[{op}] max_rowsize must be an int or a list of ints, but got {check.shown(value)}.")


class _Callbacks:
    """Calls the DSCallbacks of a map."""

    def __init__(self, node: Any, run: Any, epoch: Any) -> None:
        from pijit.dataset.callback import CallbackParam
        self.callbacks, self.epoch, self.step = node.callbacks, epoch + 1, 0
        self.state, self.key, self.make = run.state, (id(node), "steps"), CallbackParam

    def _tell(self, name, step=True):
        total = self.state.get(self.key, 0)
        param = self.make(self.epoch, self.step, total)
        for c in self.callbacks:
            if not step or (self.step - 1) % c.step_size == 0:
                getattr(c, name)(param)

    def epoch_begin(self) -> None:
        if self.epoch == 1:
            self._tell("ds_begin", False)
        self._tell("ds_epoch_begin", False)

    def epoch_end(self) -> None:
        self._tell("ds_epoch_end", False)

    def step_begin(self) -> None:
        self.step += 1
        self.state[self.key] = self.state.get(self.key, 0) + 1
        self._tell("ds_step_begin")

    def step_end(self) -> None:
        self._tell("ds_step_end")


# --- batches ----------------------------------------------------------------------------------------------------------


def _stack(name, column, pad=None, boundary=None, called="batch"):
    """The rows of a column as one array."""
    if type(column) is not list and pad is None:
        return column
    rows = values(column)
    first = rows[0]
    if isinstance(first, dict):
        if pad is not None:
            raise RuntimeError(f"[{called}] column {name!r} holds dicts, which cannot be padded.")
        if any(not isinstance(r, dict) or r.keys() != first.keys() for r in rows):
            raise RuntimeError(f"[{called}] the dicts of column {name!r} have different keys.")
        return {k: _stack(f"{name}[{k!r}]", [r[k] for r in rows], called=called) for k in first}
    if any(isinstance(r, dict) for r in rows):
        raise RuntimeError(f"[{called}] column {name!r} mixes dicts and arrays.")
    kind = first.dtype
    for r in rows:
        if r.dtype != kind and not (r.dtype.kind == kind.kind and kind.kind in "US"):
            raise RuntimeError(
                f"[{called}] cannot batch rows of different types in column {name!r}: the first is {kind}, "
                               f"another {r.dtype}.")
    if pad is not None:
        return _pad(name, rows, pad, boundary, called)
    for r in rows:
        if r.shape != first.shape:
            raise RuntimeError(
                f"[{called}] cannot batch tensors with different shapes in column {name!r}: the first has "
                               f"shape {first.shape}, this one {r.shape}. Use padded_batch, or make the shapes equal.")
    return np.stack(rows)


def _pad(name, rows, pad, boundary, called):
    shape, value = pad
    rank = rows[0].ndim
    if any(r.ndim != rank for r in rows):
        raise RuntimeError(f"[{called}] cannot batch rows of different ranks in column {name!r}.")
    if shape is None:
        shape = [None] + [max(r.shape[axis] for r in rows) for axis in range(1, rank)] if rank else []
    if len(shape) != rank:
        raise RuntimeError(
            f"[{called}] pad_info: the rank of a column and of its shape must be equal, but column {name!r} "
                           f"has rank {rank}, and the shape is {list(shape)}.")
    full = []
    for axis, s in enumerate(shape):
        longest = max(r.shape[axis] for r in rows)
        s = (longest if boundary is None else boundary) if s is None else s
        full.append(s)
    kind = rows[0].dtype
    if kind.kind in "US":
        if value is None:
            value = ""
        if not isinstance(value, (str, bytes)):
            raise RuntimeError(
                f"[{called}] pad_info: column {name!r} holds strings, but its value is {check.shown(value)}.")
        value = value.encode() if kind.kind == "S" and isinstance(value, str) else value
        kind = np.result_type(*(r.dtype for r in rows), np.asarray(value).dtype)
    elif isinstance(value, (str, bytes)):
        raise RuntimeError(
            f"[{called}] pad_info: column {name!r} holds numbers, but its value is {check.shown(value)}.")
    out = np.full([len(rows)] + full, 0 if value is None else value, kind)
    for i, r in enumerate(rows):
        # a row longer than the shape is cut
        cut = tuple(slice(min(a, b)) for a, b in zip(r.shape, full))
        out[(i,) + cut] = r[cut]
    return out


def _pad_info(op, info):
    """pad_info as a dict name → (shape or None, value or None)."""
    if info is None:
        return None
    if not isinstance(info, dict):
        raise TypeError(f"[{op}] pad_info must be a dict, but got {check.shown(info)}.")
    out = {}
    for name, value in info.items():
        check.string(op, "a key of pad_info", name)
        if not isinstance(value, tuple):
            raise TypeError(f"[{op}] pad_info[{name!r}] must be a tuple (shape, value), but got {check.shown(value)}.")
        if len(value) != 2:
            raise ValueError(f"[{op}] pad_info[{name!r}] must be a tuple (shape, value), but got {check.shown(value)}.")
        shape, fill = value
        if shape is not None:
            if not isinstance(shape, (list, tuple)):
                raise TypeError(f"[{op}] the shape in pad_info[{name!r}] must be a list, but got {check.shown(shape)}.")
            for s in shape:
                if s is not None:
                    check.integer(op, f"the shape in pad_info[{name!r}]", s, 1)
        if fill is not None and not isinstance(fill, (int, float, str, bytes, np.number)):
            raise TypeError(f"[{op}] the value in pad_info[{name!r}] must be a number, str or bytes, but got "
                            f"{check.shown(fill)}.")
        out[name] = (shape, fill)
    return out


def _stack_chunk(chunk, pads, called, boundary=None):
    columns = {}
    for name, column in chunk.columns.items():
        pad = None if pads is None else pads.get(name, None if pads else (None, None))
        columns[name] = _stack(name, column, pad, boundary, called)
    return columns


def _one_row(columns):
    """A chunk of one row."""
    return Chunk(1, {k: [v] if isinstance(v, dict) else v[None] for k, v in columns.items()})


class BatchDataset(Dataset):
    """The dataset of `batch` and `padded_batch`."""

    def __init__(self, input_dataset: Dataset, batch_size: int | Callable[..., int], drop_remainder: bool = False,
                 num_parallel_workers: int | None = None, per_batch_map: Any = None,
                 input_columns: str | Sequence[str] = None, output_columns: str | Sequence[str] = None,
                 python_multiprocessing: bool = False, max_rowsize: Any = None, pad_info: dict[str, Any] = None,
                 _called: str = "batch") -> None:
        super().__init__([input_dataset])
        self._called = _called
        self.num_parallel_workers: int | None = check.workers(_called, num_parallel_workers)
        if check.is_int(batch_size):
            if batch_size != -1:
                check.integer(_called, "batch_size", batch_size, 1, check.INT32_MAX)
        elif not callable(batch_size):
            raise TypeError(
                f"[{_called}] batch_size should either be an int or a callable, but got {check.shown(batch_size)}.")
        self.batch_size = batch_size
        self.drop_remainder: bool = check.boolean(_called, "drop_remainder", drop_remainder)
        if per_batch_map is not None and not callable(per_batch_map):
            raise TypeError(f"[{_called}] per_batch_map must be callable, but got {check.shown(per_batch_map)}.")
        self.per_batch_map = per_batch_map
        self._inputs = check.columns(_called, "input_columns", input_columns, none=True, empty=True) or None
        self._outputs = check.columns(_called, "output_columns", output_columns, none=True, empty=True) or None
        self.python_multiprocessing: bool = check.boolean(_called, "python_multiprocessing", python_multiprocessing)
        _check_rowsize(_called, max_rowsize)
        self._pads = _pad_info(_called, pad_info)
        self._user_code = callable(batch_size) or per_batch_map is not None

    def _columns(self):
        names = self._child()._names()
        inputs = self._inputs or names
        _need(self._called, names, inputs)
        return names, inputs, self._outputs or inputs

    def _names(self):
        names, inputs, outputs = self._columns()
        out = []
        for n in names:
            if n == inputs[0]:
                out += outputs
            elif n not in inputs and n not in outputs:
                out.append(n)
        return out

    def _size(self):
        rows = self._child().get_dataset_size()
        if callable(self.batch_size):
            return None
        if self.batch_size == -1:
            return min(rows, 1)
        return rows // self.batch_size if self.drop_remainder else -(-rows // self.batch_size)

    def get_batch_size(self) -> int:
        """The number of rows of a batch; for a callable batch_size that of the first."""
        if callable(self.batch_size):
            return self._wanted(BatchInfo(0, 0))
        return self._child().get_dataset_size() if self.batch_size == -1 else self.batch_size

    def _read_ahead(self):
        return 1

    def _wanted(self, info):
        if not callable(self.batch_size):
            return check.INT64_MAX if self.batch_size == -1 else self.batch_size
        try:
            n = self.batch_size(info)
        except Exception as e:
            raise user_error(f"[{self._called}] the function batch_size", e) from e
        if not check.is_int(n) or n < 1:
            raise RuntimeError(
                f"[{self._called}] the function batch_size should return an int greater than 0, but returned "
                               f"{check.shown(n)}.")
        return n

    def _batches(self, run, epoch):
        fixed = None if callable(self.batch_size) or self.batch_size == -1 else min(self.batch_size, MAX_ROWS)
        reader = Reader(self._child()._flow(run, fixed or (1 if self._child()._read_ahead() == 1 else 16)))
        number = 0
        try:
            while True:
                info = BatchInfo(number, epoch)
                n = self._wanted(info)
                chunk = reader.take(n)
                if chunk is None or (chunk.n < n and self.drop_remainder and n != check.INT64_MAX):
                    return
                yield chunk, info
                number += 1
        finally:
            reader.close()

    def _prepare_self(self, run):
        workers = self.num_parallel_workers or 1
        if self.per_batch_map is not None and self.python_multiprocessing and workers > 1 and not run.debug:
            run.pool(self, lambda: Processes(workers, self._map_seeded, run.seed))
            run.state[id(self), "workers"] = workers

    def _map_seeded(self, item):
        import random
        chunk, info, seed = item
        random.seed(seed)
        np.random.seed(seed % 2**32)
        try:
            return self._map_batch((chunk, info))
        except RuntimeError as e:
            e.__cause__ = None
            raise

    def _map_batch(self, item):
        """per_batch_map on a chunk: its columns before stacking."""
        chunk, info = item
        names, inputs, outputs = self._columns()
        what = f"[{self._called}] the function per_batch_map"
        try:
            result = self.per_batch_map(*(list(values(chunk.columns[n])) for n in inputs), info)
        except Exception as e:
            raise user_error(what, e) from e
        result = result if isinstance(result, tuple) else (result,)
        if len(result) != len(outputs):
            raise RuntimeError(
                f"{what} should return one value for each of the columns {outputs}, but returned {len(result)}.")
        made = {}
        for name, column in zip(outputs, result):
            if hasattr(column, "asnumpy"):
                column = column.asnumpy()
            if (not isinstance(column, (list, tuple, np.ndarray)) or np.ndim(column) == 0
                and not isinstance(column, (list, tuple))):
                raise RuntimeError(
                    f"{what} should return lists or arrays of rows, but returned {check.shown(column)} for column "
                                   f"{name!r}.")
            try:
                made[name] = np.array(column) if isinstance(column,
                                                            np.ndarray) and column.dtype.kind not in "OUS" else \
                    [as_value(v, what) for v in column]
            except TypeError as e:
                raise RuntimeError(str(e)) from e
        return made

    def _flow(self, run, size):
        rng, epoch = run.rng(self)
        order = self._names()
        batches = self._batches(run, epoch)
        if self.per_batch_map is None:
            made = ((chunk, None) for chunk, _ in batches)
        elif (id(self), "workers") in run.state:
            held = []

            def items():
                for chunk, info in batches:
                    held.append(chunk)
                    yield chunk, info, int(rng.integers(0, 1 << 63))
            made = ((held.pop(0), m)
                    for m in run.ordered(self, items(), None, None, 2 * run.state[id(self), "workers"]))
        else:
            made = ((item[0], self._map_batch(item)) for item in batches)
        try:
            for chunk, columns in made:
                if columns is not None:
                    lengths = {n: len(c) for n, c in columns.items()}
                    chunk = Chunk(chunk.n, {n: columns[n] if n in columns else chunk.columns[n] for n in order})
                    for name, length in lengths.items():
                        if length == 0:
                            raise RuntimeError(
                                f"[{self._called}] the function per_batch_map returned no rows for column {name!r}.")
                if self._pads:
                    _need(self._called, chunk.columns, self._pads)
                yield _one_row(_stack_chunk(chunk, self._pads, self._called))
        finally:
            made.close()
            batches.close()


class BucketBatchByLengthDataset(Dataset):
    """The dataset of `bucket_batch_by_length`."""

    def __init__(self, input_dataset: Dataset, column_names: str | Sequence[str], bucket_boundaries: Sequence[int],
                 bucket_batch_sizes: Sequence[int], element_length_function: Any, pad_info: dict[str, Any],
                 pad_to_bucket_boundary: Any, drop_remainder: Any) -> None:
        super().__init__([input_dataset])
        op = "bucket_batch_by_length"
        self._columns = check.columns(op, "column_names", column_names)
        for name, value in (("bucket_boundaries", bucket_boundaries), ("bucket_batch_sizes", bucket_batch_sizes)):
            if not isinstance(value, (list, tuple)):
                raise TypeError(f"[{op}] {name} must be a list of ints, but got {check.shown(value)}.")
            if not value:
                raise ValueError(f"[{op}] {name} cannot be empty.")
            for i, v in enumerate(value):
                check.integer(op, f"{name}[{i}]", v, 1, check.INT32_MAX)
        if any(a >= b for a, b in zip(bucket_boundaries, bucket_boundaries[1:])):
            raise ValueError(
                f"[{op}] bucket_boundaries should be strictly increasing, but got {list(bucket_boundaries)}.")
        if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
            raise ValueError(f"[{op}] bucket_batch_sizes must contain one element more than bucket_boundaries, but got "
                             f"{len(bucket_batch_sizes)} for {len(bucket_boundaries)} boundaries.")
        if element_length_function is None and len(self._columns) != 1:
            raise ValueError(
                f"[{op}] exactly one column name should be passed without element_length_function, but got "
                             f"{self._columns}.")
        if element_length_function is not None and not callable(element_length_function):
            raise TypeError(
                f"[{op}] element_length_function must be callable, but got {check.shown(element_length_function)}.")
        self._boundaries, self._sizes = list(bucket_boundaries), list(bucket_batch_sizes)
        self._length = element_length_function
        self._pads = _pad_info(op, {} if pad_info is None else pad_info)
        self._to_boundary = check.boolean(op, "pad_to_bucket_boundary", pad_to_bucket_boundary)
        self._drop = check.boolean(op, "drop_remainder", drop_remainder)
        self._user_code = element_length_function is not None

    def _names(self):
        names = self._child()._names()
        _need("bucket_batch_by_length", names, self._columns)
        return names

    def _size(self):
        return None

    def _read_ahead(self):
        return 1

    def _bucket(self, row):
        if self._length is None:
            value = row[self._columns[0]]
            if value.ndim == 0:
                raise RuntimeError(
                    f"[bucket_batch_by_length] column {self._columns[0]!r} holds scalars, which have no length; "
                                   "pass element_length_function.")
            length = len(value)
        else:
            try:
                length = self._length(*(row[c] for c in self._columns))
            except Exception as e:
                raise user_error("[bucket_batch_by_length] the function element_length_function", e) from e
            length = length.item() if isinstance(length, np.ndarray) and length.size == 1 else length
            if not check.is_int(length) or length < 0:
                raise RuntimeError(
                    f"[bucket_batch_by_length] element_length_function should return an int of at least 0, but "
                                   f"returned {check.shown(length)}.")
        return int(np.searchsorted(self._boundaries, length, side="right"))

    def _make(self, bucket, rows):
        boundary = None
        if self._to_boundary:
            if bucket == len(self._boundaries):
                raise RuntimeError(
                    f"[bucket_batch_by_length] a row belongs to the last bucket, which has no boundary to pad to; "
                                   f"the boundaries are {self._boundaries}. Add a larger one, or "
                                   f"pad_to_bucket_boundary=False.")
            boundary = self._boundaries[bucket] - 1
        chunk = Chunk(len(rows), {name: [r[name] for r in rows] for name in rows[0]})
        return _one_row(_stack_chunk(chunk, self._pads, "bucket_batch_by_length", boundary))

    def _flow(self, run, size):
        names = self._names()
        _need("bucket_batch_by_length", names, self._pads)
        buckets = [[] for _ in self._sizes]
        for chunk in self._child()._flow(run, 1 if self._child()._read_ahead() == 1 else 16):
            for row in chunk.rows():
                row = dict(zip(chunk.columns, row))
                b = self._bucket(row)
                buckets[b].append(row)
                if len(buckets[b]) == self._sizes[b]:
                    rows, buckets[b] = buckets[b], []
                    yield self._make(b, rows)
        if not self._drop:
            for b, rows in enumerate(buckets):
                if rows:
                    yield self._make(b, rows)


# --- the order and number of rows -------------------------------------------------------------------------------------


class ShuffleDataset(Dataset):
    """The dataset of `shuffle`."""

    def __init__(self, input_dataset: Dataset, buffer_size: int) -> None:
        super().__init__([input_dataset])
        self.buffer_size: int = check.integer("shuffle", "buffer_size", buffer_size, 2, check.INT32_MAX)

    def is_shuffled(self) -> bool:
        """True."""
        return True

    def _flow(self, run, size):
        rng, _ = run.rng(self)
        child = self._child()
        ahead = child._read_ahead()
        reader = Reader(child._flow(run, MAX_ROWS if ahead > 1 else size))
        size = MAX_ROWS if size == MAX_ROWS else size
        buffer, names = [], None
        try:
            while len(buffer) < self.buffer_size:
                chunk = reader.take(min(MAX_ROWS, self.buffer_size - len(buffer)))
                if chunk is None:
                    break
                names = list(chunk.columns)
                buffer += chunk.rows()
            while buffer:
                chunk = reader.take(size)
                if chunk is None:
                    break
                out = []
                slots = rng.integers(0, len(buffer), chunk.n).tolist()
                for slot, row in zip(slots, chunk.rows()):
                    out.append(buffer[slot])
                    buffer[slot] = row
                yield _from_rows(names, out)
            order = rng.permutation(len(buffer)).tolist()
            for start in range(0, len(order), size):
                yield _from_rows(names, [buffer[i] for i in order[start:start + size]])
        finally:
            reader.close()


def _from_rows(names, rows):
    """A chunk of rows that are the pipeline's own."""
    columns = {}
    for name, column in zip(names, zip(*rows)):
        first = column[0]
        if type(first) is np.ndarray and first.dtype.kind not in "US" and len(column) > 1 and \
                all(type(v) is np.ndarray and v.shape == first.shape and v.dtype == first.dtype for v in column):
            # one copy; np.stack costs several times as much for small rows
            columns[name] = (np.concatenate(column).reshape((len(column),) + first.shape) if first.ndim
                             else np.array(column))
        else:
            columns[name] = list(column)
    return Chunk(len(rows), columns)


class RepeatDataset(Dataset):
    """The dataset of `repeat`."""

    def __init__(self, input_dataset: Dataset, count: int = None) -> None:
        super().__init__([input_dataset])
        check.integer("repeat", "count", count, none=True)
        if count is not None and count != -1 and not 1 <= count <= check.INT32_MAX:
            raise ValueError(f"[repeat] count should be either -1 or a positive int, but got {count}.")
        self.count: int = -1 if count is None else int(count)

    def _size(self):
        size = self._child().get_dataset_size()
        return size if self.count == -1 else size * self.count

    def get_repeat_count(self) -> int:
        """The count."""
        return self.count

    def _flow(self, run, size):
        done = 0
        while self.count == -1 or done < self.count:
            rows = 0
            for chunk in self._child()._flow(run, size):
                rows += chunk.n
                yield chunk
            if not rows:
                return
            done += 1


class SkipDataset(Dataset):
    """The dataset of `skip`."""

    def __init__(self, input_dataset: Dataset, count: int) -> None:
        super().__init__([input_dataset])
        self.count: int = check.integer("skip", "count", count, 0, check.INT32_MAX)

    def _size(self):
        return max(0, self._child().get_dataset_size() - self.count)

    def _flow(self, run, size):
        left = self.count
        for chunk in self._child()._flow(run, size):
            if left >= chunk.n:
                left -= chunk.n
                continue
            yield chunk.part(left, chunk.n)
            left = 0


class TakeDataset(Dataset):
    """The dataset of `take`."""

    def __init__(self, input_dataset: Dataset, count: int = -1) -> None:
        super().__init__([input_dataset])
        check.integer("take", "count", count)
        if count != -1 and not 1 <= count <= check.INT32_MAX:
            raise ValueError(f"[take] count should be either -1 or a positive int, but got {count}.")
        self.count: int = int(count)

    def _size(self):
        size = self._child()._size()
        if self.count == -1 or (size is not None and size <= self.count):
            return size
        return self.count if size is not None else None

    def _flow(self, run, size):
        if self.count == -1:
            yield from self._child()._flow(run, size)
            return
        left = self.count
        for chunk in self._child()._flow(run, min(size, self.count)):
            yield chunk.part(0, left)
            left -= chunk.n
            if left <= 0:
                return


class _SplitPart(Dataset):
    """A part of a dataset without random access: the rows whose places are chosen."""

    def __init__(self, input_dataset: Dataset, start: Any, stop: Any, total: Any, seed: int) -> None:
        super().__init__([input_dataset])
        self._start, self._stop, self._total, self._seed = start, stop, total, seed

    def _size(self):
        return self._stop - self._start

    def _flow(self, run, size):
        if self._seed is None:
            places = set(range(self._start, self._stop))
        else:
            order = np.random.default_rng(self._seed).permutation(self._total)
            places = set(order[self._start:self._stop].tolist())
        place = 0
        for chunk in self._child()._flow(run, size):
            for i in range(chunk.n):
                if place in places:
                    yield chunk.part(i, i + 1)
                place += 1


def _split_sizes(sizes, total):
    if not isinstance(sizes, (list, tuple)):
        raise TypeError(f"[split] sizes must be a list, but got {check.shown(sizes)}.")
    if not sizes:
        raise ValueError("[split] sizes cannot be empty.")
    if all(check.is_int(s) for s in sizes):
        if any(s < 1 for s in sizes):
            raise ValueError(f"[split] sizes must be positive, but got {list(sizes)}.")
        if sum(sizes) != total:
            raise RuntimeError(f"[split] the sum of sizes {sum(sizes)} is not equal to the dataset's size {total}.")
        return list(sizes)
    if not all(isinstance(s, float) for s in sizes):
        raise ValueError(f"[split] sizes should be a list of int or a list of float, but got {list(sizes)}.")
    if any(not 0 < s <= 1 for s in sizes):
        raise ValueError(f"[split] percentages must be within (0, 1], but got {list(sizes)}.")
    if abs(sum(sizes) - 1) > 1e-9:
        raise ValueError(f"[split] the percentages of sizes should sum up to 1, but sum up to {sum(sizes)}.")
    out = [round(s * total) for s in sizes]
    difference = total - sum(out)
    for i in range(len(out)):  # what rounding left over goes to the first parts, what is too much comes from large ones
        if difference > 0:
            out[i] += 1
            difference -= 1
        elif difference < 0 and out[i] > 1:
            out[i] -= 1
            difference += 1
    if any(s < 1 for s in out):
        raise RuntimeError(
            f"[split] a percentage of {list(sizes)} is too small for {total} rows: a part would be empty.")
    return out


def _split(dataset, sizes, randomize):
    check.boolean("split", "randomize", randomize)
    total = dataset.get_dataset_size()
    sizes = _split_sizes(sizes, total)
    seed = config._chosen_seed() if randomize else None
    parts, start = [], 0
    for n in sizes:
        parts.append(dataset._part(start, start + n, total, seed))
        start += n
    return parts


Dataset._part = lambda self, start, stop, total, seed: _SplitPart(self, start, stop, total, seed)


# --- several datasets -------------------------------------------------------------------------------------------------


class ZipDataset(Dataset):
    """The dataset of `zip`."""

    def __init__(self, datasets: Sequence[Dataset]) -> None:
        check.instance("zip", "datasets", datasets, tuple)
        if len(datasets) <= 1:
            raise ValueError(f"[zip] datasets must have two or more, but got {len(datasets)}.")
        for d in datasets:
            if not isinstance(d, Dataset):
                raise TypeError(f"[zip] datasets must be Dataset objects, but got {check.shown(d)}.")
        super().__init__(datasets)
        seen = set()
        for d in datasets:
            nodes = {id(n) for n in d._nodes()}
            if nodes & seen:
                # each would draw its own order of rows from it
                raise ValueError(
                    "[zip] The data pipeline is not a tree: one dataset is part of two of those that are zipped. Make "
                    "it twice, "
                                 "with the same sampler, or use project and map on it.")
            seen |= nodes

    def _names(self):
        names = [n for c in self.children for n in c._names()]
        for n in names:
            if names.count(n) > 1:
                raise RuntimeError(f"[zip] column {n!r} is in more than one of the datasets; use rename.")
        return names

    def _size(self):
        return min(c.get_dataset_size() for c in self.children)

    def get_batch_size(self) -> int:
        """The batch size of the first."""
        return self.children[0].get_batch_size()

    def num_classes(self) -> None:
        """None: there are several datasets."""
        return None

    def _flow(self, run, size):
        self._names()
        readers = [Reader(c._flow(run, size)) for c in self.children]
        try:
            while True:
                parts = []
                for r in readers:
                    part = r.take(size if not parts else parts[0].n)
                    if part is None:
                        return
                    parts.append(part)
                n = min(p.n for p in parts)
                yield Chunk(n, {k: v for p in parts for k, v in p.part(0, n).columns.items()})
                if any(p.n != n for p in parts):
                    return
        finally:
            for r in readers:
                r.close()


class ConcatDataset(Dataset):
    """The dataset of `concat` and `+`."""

    def __init__(self, datasets: Sequence[Dataset]) -> None:
        for d in datasets:
            if not isinstance(d, Dataset):
                raise TypeError(f"[concat] datasets must be Dataset objects, but got {check.shown(d)}.")
        super().__init__(datasets)
        self._sampler = None

    def _names(self):
        names = self.children[0]._names()
        for c in self.children[1:]:
            if c._names() != names:
                raise RuntimeError(
                    f"[concat] the columns and their order should be the same in all datasets, but are {names} and "
                                   f"{c._names()}.")
        return names

    def _size(self):
        total = sum(c.get_dataset_size() for c in self.children)
        s = self._sampler
        return len(range(s.shard_id, total, s.num_shards)) if s is not None and s.is_sharded() else total

    def use_sampler(self, sampler: Any) -> None:
        """Takes a shard of all rows, or shuffles them all.

        Args: sampler: a DistributedSampler without num_samples that does not shuffle, or a RandomSampler without
            replacement, which holds all rows in memory.
        Raises TypeError and ValueError for others."""
        from pijit.dataset.samplers import DistributedSampler, RandomSampler
        check.instance("concat.use_sampler", "sampler", sampler, (DistributedSampler, RandomSampler))
        if sampler.num_samples is not None:
            raise ValueError("[concat.use_sampler] num_samples of the sampler must be None; use take.")
        if isinstance(sampler, DistributedSampler):
            if sampler.shuffle:
                raise ValueError(
                    "[concat.use_sampler] shuffle of the DistributedSampler must be False; shuffle the dataset "
                    "afterwards.")
            sampler._checked()
        elif sampler.replacement:
            raise ValueError("[concat.use_sampler] replacement of the RandomSampler must be False.")
        self._sampler = sampler
        self.__dict__.pop("_known_size", None)

    def is_sharded(self) -> bool:
        """Whether a sampler takes a shard of the rows, or one of the datasets is a shard."""
        return self._sampler is not None and self._sampler.is_sharded() or super().is_sharded()

    def _flow(self, run, size):
        self._names()
        if self._sampler is None:
            yield from self._all(run, size)
            return
        rng, _ = run.rng(self)
        s = self._sampler
        if s.is_sharded():
            place = 0
            for chunk in self._all(run, size):
                mine = [i for i in range(chunk.n) if (place + i) % s.num_shards == s.shard_id]
                if mine:
                    yield _choose(chunk, mine)
                place += chunk.n
        elif s.is_shuffled():
            rows, names = [], None
            for chunk in self._all(run, MAX_ROWS):
                names = list(chunk.columns)
                rows += chunk.rows()
            order = rng.permutation(len(rows)).tolist()
            for start in range(0, len(order), size):
                yield _from_rows(names, [rows[i] for i in order[start:start + size]])
        else:
            yield from self._all(run, size)

    def _all(self, run, size):
        types = None
        for c in self.children:
            for chunk in c._flow(run, size):
                new = {k: v.dtype for k, v in chunk.columns.items() if type(v) is not list}
                for k, t in new.items():
                    if types is not None and k in types and types[k] != t and t.kind not in "US":
                        raise RuntimeError(
                            f"[concat] the data types of the datasets should be the same, but column {k!r} has "
                                           f"{types[k]} and {t}.")
                types = new
                yield chunk


class FilterDataset(Dataset):
    """The dataset of `filter`."""

    _user_code = True

    def __init__(self, input_dataset: Dataset, predicate: Any, input_columns: str | Sequence[str] = None,
                 num_parallel_workers: int | None = None) -> None:
        super().__init__([input_dataset])
        self.num_parallel_workers: int | None = check.workers("filter", num_parallel_workers)
        if not callable(predicate):
            raise TypeError(
                f"[filter] predicate should be a Python function or another callable, but got "
                f"{check.shown(predicate)}.")
        self.predicate = predicate
        self._inputs = check.columns("filter", "input_columns", input_columns, none=True, empty=True) or None

    def _names(self):
        names = self._child()._names()
        _need("filter", names, self._inputs or ())
        return names

    def _size(self):
        return None

    def _flow(self, run, size):
        names = self._names()
        inputs = self._inputs or names
        for chunk in self._child()._flow(run, size):
            keep = []
            for i, row in enumerate(zip(*(values(chunk.columns[n]) for n in inputs))):
                try:
                    if bool(self.predicate(*row)):
                        keep.append(i)
                except Exception as e:
                    if keep:
                        yield _choose(chunk, keep)
                    raise user_error("[filter] the function predicate", e) from e
            if keep:
                yield chunk if len(keep) == chunk.n else _choose(chunk, keep)


def _choose(chunk, places):
    return Chunk(len(places),
                 {k: [v[i] for i in places] if type(v) is list else v[places] for k, v in chunk.columns.items()})


class ProjectDataset(Dataset):
    """The dataset of `project`."""

    def __init__(self, input_dataset: Dataset, columns: str | Sequence[str]) -> None:
        super().__init__([input_dataset])
        self.columns: list[Any] | None = check.columns("project", "columns", columns)

    def _names(self):
        _need("project", self._child()._names(), self.columns)
        return list(self.columns)

    def _flow(self, run, size):
        self._names()
        for chunk in self._child()._flow(run, size):
            yield Chunk(chunk.n, {n: chunk.columns[n] for n in self.columns})


class RenameDataset(Dataset):
    """The dataset of `rename`."""

    def __init__(self, input_dataset: Dataset, input_columns: str | Sequence[str],
                 output_columns: str | Sequence[str]) -> None:
        super().__init__([input_dataset])
        self._inputs = check.columns("rename", "input_columns", input_columns)
        self._outputs = check.columns("rename", "output_columns", output_columns)
        if len(self._inputs) != len(self._outputs):
            raise ValueError(f"[rename] input_columns and output_columns should have the same number of names, but got "
                             f"{len(self._inputs)} and {len(self._outputs)}.")

    def _names(self):
        names = self._child()._names()
        _need("rename", names, self._inputs)
        new = dict(zip(self._inputs, self._outputs))
        out = [new.get(n, n) for n in names]
        for n in out:
            if out.count(n) > 1:
                raise RuntimeError(f"[rename] cannot rename a column to the already existing column name {n!r}.")
        return out

    def _flow(self, run, size):
        names = self._names()
        for chunk in self._child()._flow(run, size):
            yield Chunk(chunk.n, dict(zip(names, chunk.columns.values())))


class SyncWaitDataset(Dataset):
    """The dataset of `sync_wait`."""

    _user_code = True

    def __init__(self, input_dataset: Dataset, condition_name: str, num_batch: int = 1,
                 callback: Callable[..., Any] | None = None) -> None:
        super().__init__([input_dataset])
        self._condition = check.string("sync_wait", "condition_name", condition_name)
        self._num_batch = check.integer("sync_wait", "num_batch", num_batch, 1, check.INT32_MAX)
        if callback is not None and not callable(callback):
            raise TypeError(f"[sync_wait] callback must be callable, but got {check.shown(callback)}.")
        if condition_name in input_dataset._conditions():
            raise RuntimeError(f"[sync_wait] the condition {condition_name!r} is used already.")
        self._callback = callback
        self._free = threading.Condition()
        self._left = self._num_batch
        self._disabled = False

    def _update(self, num_batch=None, data=None):
        if self._callback is not None:
            self._callback(data)
        with self._free:
            self._left += num_batch or self._num_batch
            self._free.notify_all()

    def _disable(self):
        with self._free:
            self._disabled = True
            self._free.notify_all()

    def _wake(self):
        with self._free:
            self._free.notify_all()

    def _flow(self, run, size):
        run.state.setdefault("wake", []).append(self._wake)
        for chunk in self._child()._flow(run, 1):
            with self._free:
                while self._left < 1 and not self._disabled:
                    self._free.wait(0.5)
                    if run.state.get("stopped"):
                        return
                self._left -= 1
            yield chunk


def zip_datasets(datasets: Sequence[Dataset]) -> ZipDataset:
    """Joins the columns of the datasets of a tuple; ends with the shortest.

    Raises TypeError for anything else, ValueError for less than two."""
    check.instance("zip", "datasets", datasets, tuple)
    return ZipDataset(datasets)
