"""What a call with a keyword that its function does not take may have meant: for who shows an uncaught error, as
CPython 3.13 does by itself."""

from __future__ import annotations

import difflib
import inspect
import re
import sys
import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_PLACES = ("pijit.ops", "pijit.nn", "pijit.mint", "pijit.mint.nn", "pijit.mint.nn.functional", "pijit.numpy", "pijit")


def suggestion(error: Any) -> str:
    """A sentence about a TypeError of one of this package's functions or classes, or about an attribute that an object
    of one lacks (which scripts are told by CPython), or ""."""
    obj = getattr(error, "obj", None)  # not before 3.10
    if isinstance(error, AttributeError) and type(obj).__module__.partition(".")[0] == "pijit":
        near = difflib.get_close_matches(error.name, [n for n in dir(obj) if n[0] != "_"], 1, 0.6)
        return f"Did you mean '{near[0]}'?" if near else ""
    found = (re.fullmatch(r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'", str(error))
             if isinstance(error, TypeError) else None)
    if found is None:
        return ""
    name, word = found.groups()
    function = _function(name, _innermost(error.__traceback__))
    if function is None:
        return ""
    known = [p.name for p in inspect.signature(function).parameters.values()
             if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name != "self"]
    near = difflib.get_close_matches(word, known, 1, 0.6)
    return (f"Did you mean '{near[0]}'?" if near else f"{name.removesuffix('.__init__')}() takes {', '.join(known)}."
            if known else "")


def _innermost(tb):
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    return tb.tb_frame if tb is not None else None


def _function(name, frame):
    """The function of this package that the code in a frame called by a qualified name; None where it may be
    another."""
    first = name.partition(".")[0]
    beside = {**frame.f_globals, **frame.f_locals}.get(first) if frame is not None else None
    for x in [beside] if beside is not None else [getattr(sys.modules[m], first, None) for m in _PLACES
                                                  if m in sys.modules]:
        for part in name.split(".")[1:]:
            x = getattr(x, part, None)
        if isinstance(x, types.FunctionType) and x.__qualname__ == name and x.__module__.partition(".")[0] == "pijit":
            return x
    return None
