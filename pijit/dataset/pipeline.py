"""What runs a pipeline: chunks of rows, one epoch after the other, in a thread ahead of the user's loop.

Rows travel in chunks. A column of a chunk is one array with a leading axis of rows where all rows have the same shape
and dtype, and a list of values otherwise; so operations known to act on each row alone run once for a chunk, and a
batch of the size of a chunk costs no copy. Whoever reads says how many rows it wants at most: rows of a user's
generator are never taken further ahead than a batch or the prefetch size needs.

Values in a chunk belong to the pipeline (sources copy what the user gives), so that a generator may use its buffer
again and a user's function may write to its argument."""

from __future__ import annotations

import atexit
import collections
import queue
import threading
import traceback
import weakref
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check, config

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from pijit._types import DTypeLike
    from pijit.runtime import Event

# rows of a chunk at most, and bytes that are set aside for one before its rows are known
MAX_ROWS = 256
_MAX_BYTES = 1 << 26


class Chunk:
    """`n` rows: `columns` maps a name to an array [n, ...] or to a list of n values."""

    n: Any
    columns: Any
    __slots__ = ("n", "columns")

    def __init__(self, n: Any, columns: Any) -> None:
        self.n, self.columns = n, columns

    def part(self, start: Any, stop: Any) -> Chunk:
        """The rows from start to stop."""
        stop = min(stop, self.n)
        if start == 0 and stop == self.n:
            return self
        return Chunk(stop - start, {k: v[start:stop] for k, v in self.columns.items()})

    def rows(self) -> list[list[Any]]:
        """The rows, each a list of values."""
        return list(map(list, zip(*(values(c) for c in self.columns.values()))))


def values(column: Any) -> list[Any]:
    """The values of a column, one per row; of an array these are views, never NumPy scalars."""
    if type(column) is list:
        return column
    if column.ndim > 1:
        return list(column)
    return [column[i, ...] for i in range(len(column))]


def join(chunks: Any) -> Any:
    """One chunk of the rows of several."""
    if len(chunks) == 1:
        return chunks[0]
    columns = {}
    for name, first in chunks[0].columns.items():
        parts = [c.columns[name] for c in chunks]
        if type(first) is not list and all(type(p) is not list and p.shape[1:] == first.shape[1:]
                                           and p.dtype == first.dtype
                                           for p in parts):
            columns[name] = np.concatenate(parts)
        else:
            columns[name] = [v for p in parts for v in values(p)]
    return Chunk(sum(c.n for c in chunks), columns)


def as_value(value: Any, where: Any) -> Any:
    """What a user's function gave as a value of a row: an ndarray, or a dict of such.

    `where` names the function in the TypeError for what is neither a number, string, array, Tensor, list nor dict."""
    if type(value) is np.ndarray:
        if value.dtype.kind not in "OV":
            return value
    elif isinstance(value, (int, float, bool, str, bytes, np.generic, np.ndarray)):
        return np.asarray(value)
    elif isinstance(value, dict):
        return {k: as_value(v, where) for k, v in value.items()}
    elif isinstance(value, (list, tuple)):
        try:
            array = np.array([v.asnumpy() if hasattr(v, "asnumpy") else v for v in value])
        except ValueError as e:
            raise TypeError(f"{where} gave a list whose items have different shapes: {e}") from e
        if array.dtype.kind not in "OV":
            return array
    elif hasattr(value, "asnumpy"):
        return np.asarray(value.asnumpy())
    elif hasattr(value, "__array_interface__") and not isinstance(value, np.ndarray):
        return np.asarray(value)
    raise TypeError(f"{where} must give arrays, Tensors, numbers, strings, dicts or lists of those as values, "
                    f"but gave {check.shown(value)}.")


class Column:
    """Collects the values of a column: copies them into one array as long as shape and dtype stay the same."""

    limit: Any
    array: Any
    shape: Any
    dtype: Any
    n: int
    list: Any
    copy: bool
    __slots__ = ("limit", "array", "shape", "dtype", "n", "list", "copy")

    def __init__(self, limit: Any, copy: bool = True) -> None:
        self.limit, self.array, self.shape, self.dtype, self.n, self.list, self.copy = (limit, None, None, None, 0,
            None, copy)

    def add(self, value: Any) -> None:
        """Adds an ndarray or a dict of them."""
        if self.list is None:
            if type(value) is np.ndarray:
                if self.array is None and value.dtype.kind not in "USO" and value.nbytes * self.limit <= _MAX_BYTES:
                    self.array = np.empty((self.limit,) + value.shape, value.dtype)
                    self.shape, self.dtype = value.shape, value.dtype
                if self.array is not None and value.shape == self.shape and value.dtype == self.dtype:
                    self.array[self.n] = value
                    self.n += 1
                    return
            self.list = values(self.array[:self.n]) if self.n else []
        self.list.append(np.array(value) if self.copy and type(value) is np.ndarray else
                         {k: np.array(v) for k, v in value.items()} if self.copy and type(value) is dict else value)
        self.n += 1

    def done(self) -> Any:
        """The column."""
        if self.list is not None:
            return self.list
        return self.array[:self.n] if self.n else []


class Reader:
    """Reads a stream of chunks in portions of any size."""

    chunks: Any
    left: Any

    def __init__(self, chunks: Any) -> None:
        self.chunks, self.left = chunks, None

    def take(self, n: Any) -> Any:
        """The next n rows, fewer at the end, None after it."""
        parts, have = [], 0
        while have < n:
            chunk = self.left if self.left is not None else next(self.chunks, None)
            self.left = None
            if chunk is None:
                break
            part = chunk.part(0, n - have)
            if part.n < chunk.n:
                self.left = chunk.part(part.n, chunk.n)
            parts.append(part)
            have += part.n
        return join(parts) if parts else None

    def close(self) -> None:
        """Ends the stream."""
        if hasattr(self.chunks, "close"):
            self.chunks.close()


def is_user_error(error: Any) -> Any:
    """Whether user_error made this exception."""
    return getattr(error, "_of_user", False)


def user_error(what: Any, error: Any, depth: int = 1) -> Any:
    """A RuntimeError for `error`, raised by the user's function that `what` names, with its traceback from there on."""
    tb = error.__traceback__
    for _ in range(depth):
        tb = tb.tb_next if tb is not None and tb.tb_next is not None else tb
    text = "".join(traceback.format_exception(type(error), error, tb)).rstrip()
    made = RuntimeError(f"Exception thrown from user defined Python function in dataset. {what} failed: "
                        f"{type(error).__name__}: {error}\n{text}")
    made._of_user = True
    return made


class Run:
    """What one iterator keeps while it runs: seeds, epochs, pools. `root` is the last dataset of the pipeline."""

    def __init__(self, root: Any, seed: int | None = None, debug: Any = None) -> None:
        self.seed: Any = config._chosen_seed() if seed is None else seed
        self.debug: Any = config.get_debug_mode() if debug is None else debug
        self.places: dict[int, int] = {id(node): i for i, node in enumerate(root._nodes())}
        self.epochs: Any = collections.Counter()
        self.pools: dict[Any, Any] = {}
        self.state: dict[Any, Any] = {}

    def rng(self, node: Any, advance: bool = True) -> Any:
        """A NumPy generator for this epoch of `node`, and the number of the epoch."""
        place = self.places.setdefault(id(node), len(self.places))
        epoch = self.epochs[place]
        if advance:
            self.epochs[place] += 1
        return np.random.default_rng((self.seed, place, epoch)), epoch

    def pool(self, node: Any, make: Any) -> Any:
        """The pool of worker threads or processes of `node`, made once."""
        if id(node) not in self.pools:
            self.pools[id(node)] = make()
        return self.pools[id(node)]

    def ordered(self, node: Any, items: Any, function: Callable[..., Any], make: Any, ahead: Any) -> Any:
        """Yields function(item) in the order of items, computed by the pool of `node`, `ahead` items at a time."""
        pool = self.pool(node, make)
        waiting = collections.deque()
        items = iter(items)
        failed = None
        try:
            while True:
                while failed is None and len(waiting) < ahead:
                    try:
                        item = next(items)
                    except StopIteration:
                        items = iter(())
                        break
                    except Exception as e:
                        failed = e  # what came before it is delivered first
                        break
                    waiting.append(pool.submit(function, item))
                if not waiting:
                    break
                yield waiting.popleft().result()
            if failed is not None:
                raise failed
        finally:
            for future in waiting:
                future.cancel()

    def close(self) -> None:
        """Ends the pools."""
        pools, self.pools = self.pools, {}
        for pool in pools.values():
            pool.close()


class Threads:
    """A pool of worker threads. They are daemons: one that is within a user's function does not keep the interpreter
    alive."""

    def __init__(self, workers: Any) -> None:
        self.tasks: Any = queue.SimpleQueue()
        self.count = workers
        for i in range(workers):
            threading.Thread(target=self._serve, args=(self.tasks,), name=f"pijit-dataset-worker-{i}",
                             daemon=True).start()

    @staticmethod
    def _serve(tasks):
        while True:
            task = tasks.get()
            if task is None:
                return
            task.run()
            del task

    def submit(self, function: Callable[..., Any], item: Any) -> _ThreadTask:
        """A task whose result() is function(item)."""
        task = _ThreadTask(function, item)
        self.tasks.put(task)
        return task

    def abort(self) -> None:
        """Ends the threads after the tasks they are at."""
        for _ in range(self.count):
            self.tasks.put(None)

    close = abort


class _ThreadTask:
    function: Callable[..., Any]
    item: Any
    value: Any
    error: Any
    done: Event
    __slots__ = ("function", "item", "value", "error", "done")

    def __init__(self, function: Callable[..., Any], item: Any) -> None:
        self.function, self.item, self.value, self.error, self.done = function, item, None, None, threading.Event()

    def run(self) -> None:
        if self.function is not None:
            try:
                self.value = self.function(self.item)
            except BaseException as e:
                self.error = e
        self.done.set()

    def result(self) -> Any:
        self.done.wait()
        if self.error is not None:
            raise self.error
        return self.value

    def cancel(self) -> None:
        self.function = None


def _serve(pipe, work, seed):
    """The main function of a worker process: answers items with (True, result) or (False, error)."""
    import multiprocessing
    import os
    import signal
    from multiprocessing import connection
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to handle
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    np.random.seed(seed % 2**32)

    def watch():
        connection.wait([multiprocessing.parent_process().sentinel])
        os._exit(1)  # the parent is gone and nobody reads what is computed

    threading.Thread(target=watch, daemon=True).start()
    while True:
        try:
            item = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            answer = True, work(item)
        except Exception as e:
            answer = False, e
        try:
            pipe.send(answer)
        except (BrokenPipeError, ConnectionError):
            return
        except Exception as e:  # what cannot be pickled
            pipe.send(
                (False, RuntimeError(f"[dataset] a worker process cannot send its result: {type(e).__name__}: {e}")))


class _Process:
    """A worker process with the tasks that wait for it; it works at one at a time."""

    def __init__(self, context: Any, work: Any, seed: int) -> None:
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, work, seed), name="pijit-dataset-worker",
                                       daemon=True)
        self.process.start()
        theirs.close()
        self.waiting, self.task = collections.deque(), None

    def feed(self) -> None:
        """Sends the next task when the process has none."""
        while self.task is None and self.waiting:
            task = self.waiting.popleft()
            if task.item is None:
                continue
            self.task = task
            if not self._sent(task.item):
                self.died()
            task.item = None

    def _sent(self, item: Any) -> bool:
        # The error is dropped here: its frames hold a view of what was to be sent.
        try:
            self.pipe.send(item)
        except OSError:
            return False
        return True

    def answer(self) -> None:
        """Takes the result of the task at hand."""
        task, self.task = self.task, None
        lost = False
        try:
            task.answer = self.pipe.recv()
        except (EOFError, OSError):
            lost = True
        if lost:
            self.task = task
            self.died()
        self.feed()

    def died(self) -> Any:
        self.process.join(1)
        raise RuntimeError(
            f"[dataset] a worker process ended unexpectedly, with exit code {self.process.exitcode}. Its function may "
            f"have ended "
                           "the process or used too much memory; num_parallel_workers=1 runs it in this process.")


class _ProcessTask:
    pool: Any
    item: Any
    answer: Any
    __slots__ = ("pool", "item", "answer")

    def __init__(self, pool: Any, item: Any) -> None:
        self.pool, self.item, self.answer = pool, item, None

    def result(self) -> Any:
        from multiprocessing import connection
        while self.answer is None:
            if self.pool.aborted:
                raise _Stop
            busy = {w.pipe: w for w in self.pool.workers if w.task is not None}
            for pipe in connection.wait(list(busy), 1.0):
                busy[pipe].answer()
        ok, value = self.answer
        if not ok:
            raise value
        return value

    def cancel(self) -> None:
        self.item = None


class Processes:
    """A pool of worker processes that compute `work(item)`. A process that dies ends the pipeline with a RuntimeError.

    They are made at once, before the pipeline has a thread; with "fork" they know `work` without pickling, which
    lambdas cannot stand. All is done by the thread that asks for results."""

    def __init__(self, workers: Any, work: Any, seed: int) -> None:
        import multiprocessing
        context = multiprocessing.get_context(config.get_multiprocessing_start_method())
        self.aborted: bool = False
        self.workers: Any = [_Process(context, work, seed) for _ in range(workers)]

    def submit(self, _: Any, item: Any) -> _ProcessTask:
        """A task whose result() is work(item)."""
        task = _ProcessTask(self, item)
        worker = min(self.workers, key=lambda w: len(w.waiting) + (w.task is not None))
        worker.waiting.append(task)
        worker.feed()
        return task

    def abort(self) -> None:
        """Ends the processes at once: they may be within a user's function that never ends."""
        self.aborted = True
        for w in self.workers:
            if w.process.is_alive():
                w.process.terminate()

    def close(self) -> None:
        """Ends the processes and waits for their end."""
        self.abort()
        for w in self.workers:
            w.process.join(5)
            w.pipe.close()


class _Stop(Exception):
    """The iterator is gone."""


class _Failure:
    __slots__ = ("error",)

    def __init__(self, error: Any) -> None:
        self.error = error


_EPOCH_ENDS = object()
_running = weakref.WeakSet()


class Producer:
    """Runs a pipeline in a thread of its own and keeps `depth` portions ready. It knows nothing of the iterator, so
    that an iterator which is dropped can end it."""

    root: Any
    run: Any
    convert: Any
    size: Any

    def __init__(self, root: Any, run: Any, convert: Any, size: Any, depth: int) -> None:
        self.root, self.run, self.convert, self.size = root, run, convert, size
        self.ready: Any = queue.SimpleQueue()
        self.slots: Any = threading.Semaphore(depth)
        self.epochs: Any = threading.Semaphore(0)
        self.stopped: bool = False
        self.thread: Any = threading.Thread(target=self._work, name="pijit-dataset", daemon=True)
        _running.add(self)
        self.thread.start()

    def _put(self, item):
        self.slots.acquire()
        if self.stopped:
            raise _Stop
        self.ready.put(item)

    def _work(self):
        try:
            while True:
                self.epochs.acquire()
                if self.stopped:
                    return
                chunks = self.root._flow(self.run, self.size)
                try:
                    for chunk in chunks:
                        self._put(self.convert(chunk))
                        if self.stopped:
                            return
                finally:
                    chunks.close()
                self._put(_EPOCH_ENDS)
        except _Stop:
            pass
        except BaseException as e:
            self.ready.put(_Failure(e))
        finally:
            self.run.close()
            self.root = self.run = self.convert = None

    def stop(self) -> None:
        """Asks the thread to end; returns at once."""
        self.stopped = True
        self.slots.release()
        self.epochs.release()
        run = self.run
        if run is not None:
            run.state["stopped"] = True
            for pool in list(run.pools.values()):
                pool.abort()
            for wake in list(run.state.get("wake", ())):
                wake()


@atexit.register
def _stop_all():
    producers = list(_running)
    for p in producers:
        p.stop()
    for p in producers:
        if p.thread is not threading.current_thread():
            p.thread.join(1)


class StringTensor:
    """Strings of a dataset: what an iterator gives for a column of strings, since Tensors hold numbers.

    It has shape, dtype, asnumpy(), len, indexing and the printed form of a Tensor."""

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    @property
    def shape(self) -> Any:
        """The shape, a tuple."""
        return self._array.shape

    @property
    def ndim(self) -> Any:
        """The number of axes."""
        return self._array.ndim

    @property
    def size(self) -> Any:
        """The number of strings."""
        return self._array.size

    @property
    def dtype(self) -> str:
        """The name of the type: "string", or "bytes"."""
        return "string" if self._array.dtype.kind == "U" else "bytes"

    def asnumpy(self) -> Any:
        """The ndarray of strings."""
        return self._array

    def item(self) -> Any:
        """The one string there is."""
        return self._array.item()

    def tolist(self) -> Any:
        """The strings as lists."""
        return self._array.tolist()

    def __array__(self, dtype: DTypeLike | None = None, copy: Any = None) -> Any:
        return self._array if dtype is None else self._array.astype(dtype)

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, index: Any) -> StringTensor:
        return StringTensor(np.asarray(self._array[index]))

    def __eq__(self, other: object) -> bool:
        return self._array == (other._array if isinstance(other, StringTensor) else other)

    __hash__ = None

    def __str__(self) -> str:
        return str(self._array)

    def __repr__(self) -> str:
        value = repr(self._array.item()) if self._array.ndim == 0 else np.array2string(self._array, separator=", ")
        return f"Tensor(shape={list(self.shape)}, dtype=String, value= {value})"


def to_tensor(value: Any) -> Any:
    """A value of a row as a Tensor, a StringTensor or a dict of them."""
    if type(value) is dict:
        return {k: to_tensor(v) for k, v in value.items()}
    if value.dtype.kind in "US":
        return StringTensor(value)
    from pijit import Tensor
    if value.dtype.kind == "M" or value.dtype.kind == "m":
        raise TypeError(f"[dataset] a Tensor cannot hold {value.dtype}; use output_numpy=True.")
    value = np.ascontiguousarray(value).reshape(value.shape) if not value.flags.c_contiguous else value
    return Tensor.from_numpy(value) if value.flags.writeable else Tensor(value)


class Iterator:
    """Gives the rows of a dataset, epoch after epoch: each `for` over it is one epoch.

    Dropping it ends its thread and processes; `stop()` does so at once."""

    def __init__(self, dataset: Any, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = False) -> None:
        name = type(self)._called
        check.integer(name, "num_epochs", num_epochs)
        if num_epochs != -1 and not 1 <= num_epochs <= check.INT32_MAX:
            raise RuntimeError(f"[{name}] num_epochs must be -1 or a positive int, but got {num_epochs}.")
        check.boolean(name, "output_numpy", output_numpy)
        check.boolean(name, "do_copy", do_copy)
        self.dataset = dataset
        self._names = dataset.get_col_names()
        self._left = num_epochs
        self._rows = collections.deque()
        self._in_epoch = False
        self._error = None
        self._numpy = output_numpy
        self._run = Run(dataset)
        try:
            dataset._prepare(self._run)
        except BaseException:
            self._run.close()
            raise
        convert = _without_hidden(type(self)._converter(output_numpy))
        size = dataset._read_ahead()
        if self._run.debug:
            self._producer, self._finalizer = None, weakref.finalize(self, self._run.close)
            self._source = (dataset, convert, size)
            self._chunks = None
        else:
            self._producer = Producer(dataset, self._run, convert, size, max(1, config.get_prefetch_size() // size))
            self._finalizer = weakref.finalize(self, self._producer.stop)

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        if self._rows:
            return self._rows.popleft()
        if self._error is not None:
            raise self._error
        if self._finalizer is None:
            raise RuntimeError(f"[{type(self)._called}] the iterator was stopped.")
        if not self._in_epoch:
            if self._left == 0:
                raise RuntimeError(
                    f"[{type(self)._called}] no epoch is left: User tries to fetch data beyond the specified number of "
                                   "epochs. Raise num_epochs, or make another iterator.")
            self._left -= self._left > 0
            self._in_epoch = True
            self._begin()
        item = self._get()
        if item is _EPOCH_ENDS:
            self._in_epoch = False
            if self._left == 0:
                self._end()
            raise StopIteration
        if type(item) is _Failure:
            self._error = item.error
            self._end()
            raise item.error
        self._rows.extend(item)
        return self._rows.popleft()

    def _begin(self):
        if self._producer is not None:
            self._producer.slots.release()  # the end of the epoch before has left the queue
            self._producer.epochs.release()
        else:
            dataset, _, size = self._source
            self._chunks = dataset._flow(self._run, size)

    def _get(self):
        if self._producer is not None:
            item = self._producer.ready.get()
            if item is not _EPOCH_ENDS:
                self._producer.slots.release()
            return item
        try:
            chunk = next(self._chunks, None)
        except Exception as e:
            return _Failure(e)
        return _EPOCH_ENDS if chunk is None else self._source[1](chunk)

    def _end(self):
        if self._finalizer is not None:
            self._finalizer()
        if self._left != 0 or self._error is not None:
            return

    def stop(self) -> None:
        """Ends the iterator with its thread and processes."""
        self._end()
        self._rows.clear()
        self._finalizer = None

    release = stop

    def get_col_names(self) -> list[Any]:
        """The names of the columns."""
        return list(self._names)


def _without_hidden(convert):
    """`convert` of a chunk without the columns of extra_metadata, which are seen once they are renamed."""
    def visible(chunk):
        if any(n.startswith("_meta-") for n in chunk.columns):
            chunk = Chunk(chunk.n, {n: c for n, c in chunk.columns.items() if not n.startswith("_meta-")})
        return convert(chunk)
    return visible


class DictIterator(Iterator):
    """Rows are dicts from a column's name to its value."""

    _called = "create_dict_iterator"

    @staticmethod
    def _converter(output_numpy):
        one = (lambda v: v) if output_numpy else to_tensor

        def convert(chunk):
            names = list(chunk.columns)
            return [dict(zip(names, map(one, row))) for row in chunk.rows()]
        return convert


class TupleIterator(Iterator):
    """Rows are lists of values in the order of columns."""

    _called = "create_tuple_iterator"

    @staticmethod
    def _converter(output_numpy):
        if output_numpy:
            return Chunk.rows
        return lambda chunk: [list(map(to_tensor, row)) for row in chunk.rows()]
