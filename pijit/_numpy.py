"""NumPy, imported when something of it is asked for: that takes longer than all of pijit.

Modules that `import pijit` loads take `np` from here. Until NumPy is there it is a module without contents; then it is
the real one in each of them. Captured code, which reads what modules hold, only ever sees the real one: a capture that
comes across the other calls `load` and begins anew."""

from __future__ import annotations

import sys
import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_whenever_loaded = []


def is_loaded():
    """Whether `np` is the real NumPy."""
    return np is sys.modules.get("numpy")


def load():
    """The real NumPy, which from now on is `np` in all modules of pijit."""
    import numpy
    if np is not numpy:
        for module in list(sys.modules.values()):  # this one, too
            held = getattr(module, "__dict__", {})
            if held.get("np") is placeholder:
                held["np"] = numpy
        while _whenever_loaded:
            _whenever_loaded.pop()()
    return numpy


def when_loaded(do):
    """Calls a function once NumPy is there, at once where it is."""
    if is_loaded():
        do()
    else:
        _whenever_loaded.append(do)


def _stand_in():
    module = types.ModuleType("numpy", "NumPy, which isn't loaded yet.")

    def find(name):
        if name == "__file__":  # its repr asks for it
            raise AttributeError(name)
        return getattr(load(), name)

    module.__getattr__ = find
    return module


placeholder: Any = _stand_in()
np: Any = sys.modules["numpy"] if "numpy" in sys.modules else placeholder
