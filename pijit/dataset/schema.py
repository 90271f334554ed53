"""Schema: names, types and shapes of columns, as some files need them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import check

if TYPE_CHECKING:
    from typing import Any
    from pijit._types import Shape

_TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
          "float64", "string")


class Schema:
    """Names, types and shapes of columns.

    Args: schema_file: the path of a JSON file with them, None for no columns yet."""

    columns: list[Any]
    num_rows: Any
    dataset_type: str

    def __init__(self, schema_file: Any = None) -> None:
        self.columns, self.num_rows, self.dataset_type = [], None, ""
        if schema_file is not None:
            check.string("Schema", "schema_file", schema_file)
            try:
                with open(schema_file, encoding="utf-8") as f:
                    self.from_json(json.load(f))
            except (OSError, ValueError) as e:
                raise RuntimeError(f"[Schema] cannot read {schema_file!r}: {e}") from e

    def add_column(self, name: str, de_type: Any, shape: Shape | None = None) -> None:
        """Adds a column.

        Args: name: str. de_type: a dtype or its name. shape: a list of ints, -1 for what is not known; None for any.
        Raises TypeError and ValueError for other arguments."""
        check.string("Schema.add_column", "name", name)
        kind = de_type if isinstance(de_type, str) else None
        if kind is None:
            from pijit.dataset.transforms.transforms import numpy_type
            kind = numpy_type("Schema.add_column", de_type)
            kind = "string" if kind.kind in "US" else kind.name
        if kind not in _TYPES:
            raise ValueError(f"[Schema.add_column] de_type must be one of {', '.join(_TYPES)}, but got {kind!r}.")
        if shape is not None:
            check.instance("Schema.add_column", "shape", shape, (list, tuple))
            shape = [check.integer("Schema.add_column", f"shape[{i}]", s, -1) for i, s in enumerate(shape)]
        self.columns.append({"name": name, "type": "str" if kind == "string" else kind, "shape": shape})

    def parse_columns(self, columns: Any) -> None:
        """Adds columns from a list of dicts (name, type, shape) or a dict of dicts."""
        if isinstance(columns, dict):
            columns = [{"name": n, **c} for n, c in columns.items()]
        check.instance("Schema.parse_columns", "columns", columns, list)
        for c in columns:
            check.instance("Schema.parse_columns", "columns", c, dict)
            if "name" not in c or "type" not in c:
                raise AttributeError(f"[Schema.parse_columns] a column needs name and type, but got {check.shown(c)}.")
            self.add_column(c["name"], c["type"], c.get("shape"))

    def from_json(self, json_obj: Any) -> None:
        """Takes all from the dict of a schema file."""
        check.instance("Schema.from_json", "json_obj", json_obj, dict)
        self.dataset_type, self.num_rows = json_obj.get("datasetType", ""), json_obj.get("numRows")
        if "columns" not in json_obj:
            raise AttributeError("[Schema.from_json] there are no columns.")
        self.parse_columns(json_obj["columns"])

    def to_json(self) -> str:
        """The schema as JSON text."""
        columns = []
        for c in self.columns:
            column = {"name": c["name"], "type": "string" if c["type"] == "str" else np.dtype(c["type"]).name}
            if c["shape"] is not None:
                column.update(rank=len(c["shape"]), shape=c["shape"])
            columns.append(column)
        out = {"columns": columns}
        if self.dataset_type:
            out["datasetType"] = self.dataset_type
        if self.num_rows:
            out["numRows"] = self.num_rows
        return json.dumps(out, indent=2, sort_keys=True)

    def __str__(self) -> str:
        return self.to_json()
