"""What a recording says: time by kernel, by line that CPython ran, and by what the rest is."""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pijit.explanation import ITERATORS
from pijit.trace import short, shorten

if TYPE_CHECKING:
    from typing import Any


@dataclass
class Kernel:
    """Runs of one kernel at one place. Times in seconds, of all runs."""

    name: str
    detail: str
    kernel: str
    ops: list[Any]
    places: list[Any]
    bytes: int  # of a run; 0: not known
    flops: int
    runs: int = 0
    time: float = 0.0
    captured: bool = False  # part of a graph; else an op that ran by itself

    @property
    def gb_per_s(self) -> float:
        """Bytes read and written, in 10⁹ per second."""
        return self.bytes * self.runs / self.time / 1e9 if self.time else 0.0

    @property
    def gflop_per_s(self) -> float:
        """Operations on floating numbers, in 10⁹ per second."""
        return self.flops * self.runs / self.time / 1e9 if self.time else 0.0

    def percent(self, limits: Any) -> float | None:
        """Percent of what this machine reaches at best for so many bytes and operations; None where neither is
        known."""
        if not self.time or not (self.bytes or self.flops):
            return None
        return min(100.0, 100 * self.runs * limits.seconds(self.bytes, self.flops) / self.time)


@dataclass
class Piece:
    """A line at which CPython took over, or that called ops one by one. Times in seconds, of all runs: `time` without
    the graphs and kernels below it, `whole` with them."""

    place: str
    function: str
    why: str
    runs: int = 0
    time: float = 0.0
    whole: float = 0.0
    op: bool = False  # that calls ops

    @property
    def source(self) -> str:
        """The line's text."""
        path, _, line = self.place.rpartition(":")
        return linecache.getline(path, int(line)).strip() if line.isdigit() else ""

    @property
    def where(self) -> Any:
        """The place as people know it."""
        return short(self.place)


@dataclass
class Summary:
    """Seconds by kind of work (`parts`), kernels and pieces, longest first."""

    wall: float
    called: float  # in captured functions, all in all
    calls: int
    parts: dict[Any, Any]
    kernels: list[Any]
    pieces: list[Any]
    captures: list[Any] = field(default_factory=list)  # of each capture, in order: function, and seconds by phase


PARTS = {
    "kernels": "kernels of graphs",
    "graph": "between kernels",
    "guards": "guards",
    "outcome": "results and effects",
    "call": "calls",
    "eager": "single ops",
    "python": "Python",
    "capture": "capture",
    "optimise": "optimise",
    "generate": "generate kernels",
}


def summarize(recorded: Any) -> Summary:
    """The Summary of what `_C.record_stop` gave."""
    events, metadata = recorded["events"], recorded["metadata"]
    parts = dict.fromkeys(PARTS, 0.0)
    kernels, pieces, captures = {}, {}, []
    called, calls = 0.0, 0
    stacks = {}  # of open events per thread: [kind, end, seconds of its own, in a graph, key]

    def close(item):
        kind, _, own, _, entry, length = item
        if kind == "kernel":
            entry.time += own
            parts["kernels" if entry.captured else "eager"] += own
        else:
            parts["eager" if kind == "op" else kind] += own
            if kind in ("python", "op") and entry is not None:
                entry.time += own
                entry.whole += length
        if kind in ("capture", "optimise", "generate") and captures and entry is not None:
            entry[kind] += own

    for kind, tid, begin, end, number, _ in events:
        stack = stacks.setdefault(tid, [])
        while stack and stack[-1][1] <= begin:
            close(stack.pop())
        length = (end - begin) / 1e9
        if stack:
            stack[-1][2] -= length
        in_graph = kind == "graph" or bool(stack and stack[-1][3])
        s = metadata[number] if number is not None else None
        entry = None
        if kind == "kernel":
            # an op that runs by itself stands where it is called
            op = (stack[-1][4] if stack and stack[-1][0] == "op" else None)
            places = s["places"] or ([op.place] if op else [])
            key = (s["name"], s["detail"], s["kernel"], tuple(places), in_graph)
            entry = kernels.get(key)
            if entry is None:
                entry = kernels[key] = Kernel(s["name"], s["detail"], s["kernel"], s["ops"], places, s["bytes"],
                                              s["flops"], captured=in_graph)
            entry.runs += 1
        elif kind in ("python", "op") and s is not None:
            key = (kind, s["places"][0], s["detail"])
            entry = pieces.setdefault(key, Piece(s["places"][0], s["name"], shorten(s["detail"]), op=kind == "op"))
            entry.runs += 1
        elif kind == "capture":
            entry = {"function": s["name"], "capture": 0.0, "optimise": 0.0, "generate": 0.0}
            captures.append(entry)
        elif kind in ("optimise", "generate"):
            entry = next((i[4] for i in reversed(stack) if i[0] == "capture"), None)
        elif kind == "call" and not any(i[0] == "call" for i in stack):
            called += length
            calls += 1
        stack.append([kind, end, length, in_graph, entry, length])
    for stack in stacks.values():
        while stack:
            close(stack.pop())
    _blame_bodies(pieces.values())
    return Summary((recorded["end"] - recorded["begin"]) / 1e9, called, calls, parts,
                   sorted(kernels.values(), key=lambda k: -k.time), sorted(pieces.values(), key=lambda p: -p.whole),
                   captures)


def _blame_bodies(pieces):
    """Lets a loop that CPython goes on with say where its body broke."""
    def line(p):
        return int(p.place.rpartition(":")[2])

    over = [p for p in pieces if re.search(rf"\((in .*)?({ITERATORS})\)$", p.why)]
    others = [p for p in pieces if p.why and p not in over]
    for p in over:
        inside = [o for o in others if o.function == p.function
                  and o.place.rpartition(":")[0] == p.place.rpartition(":")[0] and line(o) >= line(p)]
        if inside:
            first = min(inside, key=line)
            rest = "the rest of the function: " if p.why.startswith("the rest") else ""
            p.why = f"{rest}its loop's body breaks at {first.where}"
