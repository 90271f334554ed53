"""Traces of what runs when: captures, compiles, graphs, kernels, and the pieces that CPython runs, per thread.

`start()`, the code to watch, then `stop()`: a list of events in the format of Chrome traces, which `write` puts into a
file for https://ui.perfetto.dev and chrome://tracing."""

from __future__ import annotations

import json
import os
import re
import threading
from typing import TYPE_CHECKING

from pijit import _check
from pijit import _C
from pijit._files import open_anew

if TYPE_CHECKING:
    from typing import Any

_open = []  # recordings that were started here, the innermost last

# How a kind of event is named where its metadata do not say it.
_NAMES = {"guards": "guards", "graph": "graph", "outcome": "results and effects", "optimise": "optimise",
          "generate": "generate kernels"}


def start() -> None:
    """Begins a trace. Traces may begin and end within one another."""
    _open.append(_C.record_start())


def stop() -> list[dict[str, Any]]:
    """Ends the trace that was started last. A list of Chrome trace events (dicts). RuntimeError where none was
    started."""
    if not _open:
        raise _check.call_first("trace.stop", "start()")
    return chrome_events(_C.record_stop(_open.pop()))


def write(path: str, events: Any) -> None:
    """Writes events into a file that Perfetto and chrome://tracing open."""
    with open_anew(path) as f:
        json.dump({"traceEvents": events, "displayTimeUnit": "ns"}, f)


def chrome_events(recorded: Any) -> list[dict[str, Any]]:
    """Chrome trace events of what `_C.record_stop` gave: one per event, times in µs, with operands, places, bytes and
    rates as arguments; a counter of the memory that arrays take; names of threads."""
    pid = os.getpid()
    names = {t.native_id: t.name for t in threading.enumerate()}
    out = [{"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "pijit"}}]
    for tid in dict.fromkeys(e[1] for e in recorded["events"]):
        out.append({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid,
                    "args": {"name": names.get(tid, f"thread {tid}")}})
    memory = None
    for kind, tid, begin, end, number, used in recorded["events"]:
        s = recorded["metadata"][number] if number is not None else None
        out.append({"ph": "X", "name": _name(kind, s), "cat": kind, "pid": pid, "tid": tid, "ts": begin / 1e3,
                    "dur": (end - begin) / 1e3,
                    "args": _arguments(kind, s, end - begin)})
        if used != memory:
            out.append({"ph": "C", "name": "memory of arrays", "pid": pid, "tid": 0, "ts": end / 1e3,
                        "args": {"bytes": used}})
            memory = used
    if recorded["dropped"]:
        out.append({"ph": "I", "name": f"{recorded['dropped']} more events were not kept", "pid": pid, "tid": 0,
                    "ts": recorded["end"] / 1e3, "s": "p"})
    return out


def _name(kind, s):
    if s is None:
        return _NAMES.get(kind, kind)
    if kind == "capture":
        return f"capture {s['name']}"
    if kind in ("python", "op"):
        return f"{'Python' if kind == 'python' else 'op'}: {short(s['places'][0])}"
    return s["name"]


def _arguments(kind, s, ns):
    if s is None:
        return {}
    args = {"where": ", ".join(s["places"])} if s["places"] else {}
    if kind in ("python", "op"):
        args |= {"function": s["name"], "why": s["detail"]}
    elif kind == "kernel":
        args |= {"operands": s["detail"], "kernel": s["kernel"], "ops": ", ".join(s["ops"]), "bytes": s["bytes"],
                 "flops": s["flops"]}
        if ns:
            args |= {"GB/s": round(s["bytes"] / ns, 3), "GFLOP/s": round(s["flops"] / ns, 3)}
    return args


def short(place: Any) -> Any:
    """`file:line` as people know it: `In [3]:5` for a line of a notebook's cell, else the path from the current folder,
    or the name alone."""
    path, _, line = place.rpartition(":")
    return f"{short_path(path)}:{line}" if path else place


def shorten(text: str) -> str:
    """A text with its `file:line`s as people know them."""
    return re.sub(r"(/[^\s:()]+|<[^<>\s]+>):\d+", lambda m: short(m[0]), text)


def short_path(path: str) -> str:
    """The same for a path."""
    cell = _cell_of(path)
    if cell is not None:
        return cell
    if not os.path.isabs(path):
        return path
    near = os.path.relpath(path) if path.startswith(os.getcwd() + os.sep) else os.path.basename(path)
    return near if near.count(os.sep) <= 2 else os.path.basename(path)


def _cell_of(path):
    import sys
    ipython = sys.modules.get("IPython")  # a notebook has it; nothing else needs it
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    known = getattr(getattr(shell, "compile", None), "_filename_map", None) or {}
    return f"In [{known[path]}]" if path in known else None
