"""Capture without decorators: which files' code is looked at, and what came of it."""

from __future__ import annotations

import atexit
import contextlib
import fnmatch
import functools
import os
import sys
import time
from typing import TYPE_CHECKING

from pijit import _check
from pijit import _C, _launch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STDLIB = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_include, _exclude = [], []
_on = False
_request = None
_began = time.perf_counter()  # the program, as far as we know


def _matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, p) or (p.endswith(".*") and name == p[:-2]) for p in patterns)


# What runs a user's Cell, or updates its parameters, is captured as if it were the user's: TrainOneStepCell, for Model,
# too, and optimizers.
_STEPS = ("pijit.nn.wrap.", "pijit.nn.optim", "pijit.experimental.optim")


def _wanted(filename, module, name=""):
    """Is code of this file and module, and of this qualified name, the user's own, or of a package to include?"""
    path = filename if filename.startswith("<") else os.path.abspath(filename)
    module = module or ""
    if path.startswith(_PACKAGE):
        return module.startswith(_STEPS) and name.endswith(".construct") and not _matches(module, _exclude)
    if _matches(module, _exclude) or _matches(path, _exclude):
        return False
    if _matches(module, _include):
        return True
    if filename.startswith("<frozen") or module.startswith("namedtuple_"):  # what collections makes
        return False
    parts = path.split(os.sep)
    return not (path.startswith(_STDLIB) or "site-packages" in parts or "dist-packages" in parts)


def _patterns(name, value):
    if isinstance(value, str):
        return _launch.patterns(value)
    value = list(value)
    if not all(isinstance(p, str) for p in value):
        raise _check.refused("enable", name, _check.value("be a pattern or a sequence of patterns like 'package.*'"),
                             value, TypeError)
    return value


def enable(include: tuple[Any, ...] = (), exclude: tuple[Any, ...] = ()) -> None:
    """From now on, functions, methods and loops of the user's own files are captured where that makes them faster.

    include: names of modules, with wildcards ('package.*', which means the package itself, too), whose code is captured
        as well;
    the standard library's and site-packages' is not by default. exclude: names of modules, or paths, that are left
    alone. Each is a string with commas or a sequence of strings; TypeError for anything else. Decorated functions are
    captured in any case."""
    global _include, _exclude, _on
    before = _include, _exclude
    _include, _exclude = _patterns("include", include), _patterns("exclude", exclude)
    if (_include, _exclude) != before:
        _C.forget_automatic()  # files are chosen anew
    _C.enable_automatic(_wanted)
    _on = True
    _sample_in_children()
    _finish_at_exit()


def disable() -> None:
    """Ends what `enable` began: functions that are not decorated run in CPython again."""
    global _on
    _on = False
    _C.disable_automatic()


@contextlib.contextmanager
def enabled(include: tuple[Any, ...] = (), exclude: tuple[Any, ...] = ()) -> Iterator[Any]:
    """`enable` for the statements of a `with`; afterwards, all is as it was before."""
    before = _on, _include, _exclude
    enable(include, exclude)
    try:
        yield
    finally:
        if before[0]:
            enable(before[1], before[2])
        else:
            disable()


def report() -> Any:
    """A Report of what was captured without a decorator so far."""
    from pijit.report import Report, region
    return Report([region(r) for r in _C.automatic_report()], time.perf_counter() - _began)


def begin(request: Any = None) -> None:
    """When the package is loaded: what the command line (`request`) or the environment asks for."""
    global _request
    request = request or _launch.request
    if _request is not None and (request is None or request is _request):
        return
    _request = request or _launch.Request.inherited()
    global _began
    _began = _launch.began or _began
    # else the command line's, or MindSpore itself
    if (request is None and _request.name and "mindspore" not in sys.modules):
        from pijit import compat
        compat.install(_request.name)
    if not _request.on:
        return
    enable(_request.include, _request.exclude)
    if _request.trace:
        from pijit import trace
        trace.start()


@functools.cache
def _sample_in_children():
    os.register_at_fork(before=_C.pause_sampling, after_in_parent=_C.resume_sampling,
                        after_in_child=_C.resume_sampling)


@functools.cache
def _finish_at_exit():
    if _launch.request is None:  # else it is registered already
        atexit.register(finish)


def finish() -> None:
    """At exit: the report and the trace, and everything that was kept dies."""
    if _request and _request.report:
        from pijit.report import write
        write(report(), _request.report, _request.plain)
    if _request and _request.trace:
        from pijit import trace
        trace.write(_request.trace, trace.stop())
    disable()
    _C.forget_automatic()
