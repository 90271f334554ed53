"""Rows of MindRecord files by the values of a field."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pijit.mindrecord import _format
from pijit.mindrecord.common.exceptions import MRMDefineCategoryError, ParamValueError
from pijit.mindrecord.filereader import FileReader

if TYPE_CHECKING:
    from typing import Any


def _at_least(what, value, low):
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise ParamValueError(f"{what} should be int and greater than {'or equal to ' if not low else ''}0.")


class MindPage:
    """Gives rows in pages, by the value of a field: `category_field` says which.

    Args:
        file_name (str or list of str): one file, which names the others of its set, or all files.
        num_consumer (int, optional): how many threads may read; one does. Default: 4.

    Raises:
        ParamValueError: if `file_name` or `num_consumer` is not valid.
        RuntimeError: if a file is missing, or broken.
    """

    def __init__(self, file_name: Any, num_consumer: int = 4) -> None:
        self._reader = FileReader(file_name, num_consumer)
        self._field, self._found = None, None

    @property
    def candidate_fields(self) -> list[str]:
        """The fields that have an index."""
        return list(self._reader._shards[0].index)

    @property
    def category_field(self) -> str | None:
        """The field by which rows are chosen."""
        return self._field

    @category_field.setter
    def category_field(self, category_field: str) -> None:
        if not isinstance(category_field, str):
            raise ParamValueError("Category field should be str.")
        if category_field not in self.candidate_fields:
            raise MRMDefineCategoryError(f"Field '{category_field}' is not a candidate category field.")
        self._field, self._found = category_field, None

    def _categories(self):
        """Value → places of its rows, in the order of values."""
        if self._field is None:
            raise RuntimeError("Set 'category_field' first.")
        if self._found is None:
            found: dict[Any, list[Any]] = {}
            for s in self._reader._shards:
                for k in range(len(s)):
                    try:
                        value = s.numbers(k)[self._field]
                    except _format.FormatError as e:
                        raise _format.FormatError(f"row {k} of {s.path!r} is broken: {e}.") from None
                    found.setdefault(value, []).append((s, k))
            self._found = sorted(found.items())
        return self._found

    def read_category_info(self) -> str:
        """The values of the field, with their numbers and how many rows they have, as JSON."""
        return json.dumps({"categories": [{"count": len(rows), "id": k, "name": str(value)}
                                          for k, (value, rows) in enumerate(self._categories())],
                           "key": f"{self._field}_0"}, separators=(",", ":"), ensure_ascii=False)

    def _page(self, rows, page, num_row):
        _at_least("Page", page, 0)
        _at_least("num_row", num_row, 1)
        chosen = rows[page * num_row:(page + 1) * num_row]
        if not chosen:
            raise RuntimeError(f"There is no page {page} of {num_row} rows: there are {len(rows)} rows.")
        return [s.row(k) for s, k in chosen]

    def read_at_page_by_id(self, category_id: int, page: int, num_row: int) -> list[dict[str, Any]]:
        """The rows of a page of a category, by the number that read_category_info gives it."""
        _at_least("Category id", category_id, 0)
        _at_least("Page", page, 0)
        _at_least("num_row", num_row, 1)
        found = self._categories()
        if category_id >= len(found):
            raise RuntimeError(f"There is no category {category_id}: there are {len(found)}.")
        return self._page(found[category_id][1], page, num_row)

    def read_at_page_by_name(self, category_name: str, page: int, num_row: int) -> list[dict[str, Any]]:
        """The rows of a page of a category, by its name."""
        if not isinstance(category_name, str):
            raise ParamValueError("Category name should be str.")
        _at_least("Page", page, 0)
        _at_least("num_row", num_row, 1)
        for value, rows in self._categories():
            if str(value) == category_name:
                return self._page(rows, page, num_row)
        raise RuntimeError(f"There is no category {category_name!r}.")


__all__ = ["MindPage"]
