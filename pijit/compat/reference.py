"""What is known of MindSpore's modules and names: `reference.json`, written by tools/api_coverage.py from its packages.
Loaded when a name or a module isn't found otherwise.

A home is where MindSpore defines something, "path:name" below `mindspore` ("path:" for a module), or "=" and a
literal."""

from __future__ import annotations

import ast
import enum
import functools
import importlib
import json
import pathlib
import sys
from typing import TYPE_CHECKING

from pijit.compat import left_out, old

if TYPE_CHECKING:
    from typing import Any


@functools.cache
def _standard_library():
    """Names of its modules."""
    if hasattr(sys, "stdlib_module_names"):
        return sys.stdlib_module_names
    here = pathlib.Path(functools.__file__).parent
    files = [f for folder in (here, here / "lib-dynload") if folder.exists() for f in folder.iterdir()]
    return {*sys.builtin_module_names, *(f.name.partition(".")[0] for f in files)}


@functools.cache
def _facts():
    facts = json.loads((pathlib.Path(__file__).parent / "reference.json").read_text())
    for path, sorts in old.LEFT_OUT.items():
        _add(facts["paths"].setdefault(path, {}), path, " ".join(sorts.values()))
        for sort, names in sorts.items():
            _add(facts["sorts"].setdefault(path, {}), sort, names)
    return facts


def _add(table, key, names):
    table[key] = f"{table.get(key, '')} {names}".strip()


def has_module(path: str) -> bool:
    return path in _facts()["paths"]


@functools.cache
def has_below(path: str) -> bool:
    """Whether MindSpore has modules below this one."""
    return any(p.startswith(path + ".") for p in _facts()["paths"])


@functools.cache
def homes(path: str) -> Any:
    """{name: home} of the names of a module."""
    result = {}
    for there, names in _facts()["paths"].get(path, {}).items():
        if there == "=":
            result.update({name: "=" + text for name, text in names.items()})
        else:
            for name, other, its_name in (n.partition("=") for n in names.split()):
                result[name] = f"{there}:{its_name if other else name}"
    return result


@functools.cache
def _places():
    """{home: [(path, name)]}: all places of what stands in several."""
    result = {}
    for path in _facts()["paths"]:
        for name, home in homes(path).items():
            result.setdefault(home, []).append((path, name))
    return {home: places for home, places in result.items() if len(places) > 1}


def _sort(home):
    path, _, name = home.partition(":")
    return next(sort for sort, names in _facts()["sorts"][path].items() if name in names.split())


@functools.cache
def _stand_in(home):
    path, _, name = home.partition(":")
    module = f"mindspore.{path}".rstrip(".")
    members = _facts()["enums"].get(home)
    if members and None not in members[1].values():
        base, values = members
        return getattr(enum, base)(name, {n: ast.literal_eval(v) for n, v in values.items()}, module=module)
    return left_out.stand_in(f"{path}.{name}".lstrip("."), _sort(home), module)


def value(path: str, name: str, own: Any) -> Any:
    """What the module `path` has under the name: pijit's own where `own(path, name)` finds it at another place, else
    what raises. None where MindSpore has no such name either."""
    home = homes(path).get(name)
    if home is None:
        return None
    if home[0] == "=":
        return ast.literal_eval(home[1:])
    there, _, its_name = home.partition(":")
    if not its_name:  # a module
        return importlib.import_module(f"pijit.{there}".rstrip("."))
    if there not in _facts()["paths"] and there.partition(".")[0] in _standard_library():
        return getattr(importlib.import_module(there), its_name)
    for place in [(there, its_name), *_places().get(home, ())]:
        found = own(*place) if place != (path, name) else None
        if found is not None:
            return found
    return _stand_in(home)
