"""Reading MindRecord files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pijit.mindrecord import _format
from pijit.mindrecord.common.exceptions import ParamTypeError, ParamValueError
from pijit.mindrecord.filewriter import checked_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

_CONSUMERS = 4


def check_consumers(n: Any) -> None:
    """How many threads may read; ParamValueError and ParamTypeError for anything else."""
    if isinstance(n, bool) or not isinstance(n, int):
        raise ParamTypeError("num_consumer", "int")
    most = os.cpu_count() or 1
    if n != _CONSUMERS and not 1 <= n <= most:
        raise ParamValueError(f"Parameter num_consumer: {n} should between 1 and {most}.")


class FileReader:
    """Reads rows of MindRecord files, in their order.

    Args:
        file_name (str or list of str): one file, which names the others of its set, or all files to read.
        num_consumer (int, optional): how many threads may read; one does. Default: 4.
        columns (list of str, optional): the fields to read; all by default. Default: None.
        operator (int, optional): accepted. Default: None.

    Raises:
        ParamValueError: if `file_name` or `num_consumer` is not valid.
        ParamTypeError: if `columns` is not a list.
        RuntimeError: if a file is missing, or broken (then a ValueError as well), or has no such field.

    Example:
        >>> import os, tempfile
        >>> from mindspore.mindrecord import FileReader, FileWriter
        >>> path = os.path.join(tempfile.mkdtemp(), "numbers.mindrecord")
        >>> writer = FileWriter(path)
        >>> _ = writer.add_schema({"n": {"type": "int32"}})
        >>> writer.write_raw_data([{"n": 1}, {"n": 2}])
        >>> writer.commit()
        >>> [row["n"] for row in FileReader(path).get_next()]
        [1, 2]
    """

    def __init__(self, file_name: str | Sequence[str], num_consumer: int = _CONSUMERS,
                 columns: list[str] | None = None, operator: Any = None) -> None:  # noqa: ARG002
        for f in file_name if isinstance(file_name, (list, tuple)) else [file_name]:
            checked_path(f)
            if not os.path.isfile(f):
                raise RuntimeError(f"The input: {f} is not exists.")
        check_consumers(num_consumer)
        if columns is not None and not isinstance(columns, list):
            raise ParamTypeError("columns", "list")
        self._columns, self._num_consumer = columns or None, num_consumer
        self._shards = _format.open_all(file_name)
        for c in columns or ():
            if c not in self._shards[0].schema:
                self.close()
                raise RuntimeError(f"There is no field {c!r} in {file_name!r}.")

    def get_next(self) -> Iterator[dict[str, Any]]:
        """The rows, as dicts: numbers, strings, bytes and arrays by names."""
        return _format.each_row(self._shards, self._columns)

    def schema(self) -> dict[str, Any]:
        """The fields, as `FileWriter.add_schema` got them."""
        return {n: dict(f) for n, f in self._shards[0].schema.items()}

    def len(self) -> int:
        """The number of rows."""
        return sum(map(len, self._shards))

    def close(self) -> None:
        """Lets go of the files."""
        for s in self._shards:
            s.close()
        self._shards = self._shards[:0]


__all__ = ["FileReader"]
