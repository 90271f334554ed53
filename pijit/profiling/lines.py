"""What each source line takes of a call: in graphs, in ops that run by themselves, and in Python."""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pijit.trace import short

if TYPE_CHECKING:
    from typing import Any


@dataclass
class Line:
    """Seconds per call, without what is called: functions that are captured have lines of their own."""

    place: str  # "file:line"
    graph: float = 0.0
    ops: float = 0.0
    python: float = 0.0

    @property
    def time(self) -> float:
        return self.graph + self.ops + self.python

    @property
    def path(self) -> str:
        return self.place.rpartition(":")[0]

    @property
    def number(self) -> int:
        return int(self.place.rpartition(":")[2])

    @property
    def source(self) -> str:
        """The line's text."""
        return linecache.getline(self.path, self.number).rstrip("\n")


def lines_of(kernels: Any, pieces: Any, parts: Any, calls: Any) -> tuple[list[Any], dict[Any, Any]]:
    """(Lines in order of files and lines, seconds per call that belong to no line by kind of work): together they are
    the sum of `parts`, seconds per call. A kernel of ops from several lines counts for each of them alike."""
    lines, left = {}, dict(parts)

    def spend(kind, attribute, shares):
        """Shares of what a kind of work takes, of (places, time)."""
        shares = [([p for p in places if p.rpartition(":")[2].isdigit()], t) for places, t in shares]
        whole = sum(t for _, t in shares)
        if not whole or kind not in left:
            return
        scale = parts[kind] / whole
        for places, t in shares:
            for p in places:
                line = lines.setdefault(p, Line(p))
                setattr(line, attribute, getattr(line, attribute) + t * scale / len(places))
                left[kind] -= t * scale / len(places)

    spend("kernels", "graph", [(k.places, k.time / calls) for k in kernels if k.captured])
    spend("eager", "ops",
          [(k.places, k.time / calls) for k in kernels if not k.captured] +
          [([p.place], p.time / calls) for p in pieces if p.op])
    spend("python", "python", [([p.place], p.time / calls) for p in pieces if not p.op])
    total = sum(parts.values())
    return sorted(lines.values(), key=lambda x: (x.path, x.number)), {k: v for k, v in left.items() if v > 1e-9 * total}


def text_of(profile: Any, most: int = 40) -> str:
    """A table of the lines, the most expensive ones of long programs, by file."""
    from pijit.profiling.profile import seconds
    lines = profile.lines
    if not lines:
        return ""
    shown = sorted(lines, key=lambda x: -x.time)[:most]
    out, path = [f"{'graph':>9} {'ops':>9} {'Python':>9} {'share':>7}  line"], None
    for x in lines:
        if x not in shown:
            continue
        if x.path != path:
            path = x.path
            out.append(f"{'':38} {short(x.place).rpartition(':')[0]}")
        out.append(" ".join(f"{seconds(t) if t else '':>9}" for t in (x.graph, x.ops, x.python)) +
                   f" {100 * x.time / profile.wall:6.1f}%  {x.number:>5}  {x.source}")
    rest = [x for x in lines if x not in shown]
    if rest:
        out.append(f"{'':30}{100 * sum(x.time for x in rest) / profile.wall:6.1f}%  {len(rest)} more lines")
    for name, t in profile.outside_lines():
        out.append(f"{'':20}{seconds(t):>9} {100 * t / profile.wall:6.1f}%  {name}")
    return "\n".join(out)
