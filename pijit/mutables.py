"""What `mutable` gives for containers, and how such are told from other subclasses."""

from __future__ import annotations

from typing import Any


class _Tuple(tuple[Any, ...]):
    """What mutable gives for a tuple."""


class _List(list[Any]):
    """What mutable gives for a list."""


class _Dict(dict[Any, Any]):
    """What mutable gives for a dict."""


MARKED: dict[type, type] = {tuple: _Tuple, list: _List, dict: _Dict}


def plain_type(x: Any) -> type | None:
    """tuple, list or dict where x is one, or what mutable gives for one; None for anything else, such as named
    tuples."""
    t = type(x)
    if t is tuple or t is _Tuple:
        return tuple
    if t is list or t is _List:
        return list
    return dict if t is dict or t is _Dict else None
