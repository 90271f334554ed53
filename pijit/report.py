"""What capture without decorators brought: `pijit.automatic.report()`, and `--report` of `python -m pijit`."""

from __future__ import annotations

import dataclasses
import json
import sys
from typing import TYPE_CHECKING

from pijit._files import open_anew

if TYPE_CHECKING:
    from typing import Any
    from pijit.profiling.measure import Ratio


NOTHING = "no function or loop that gains by it ran often enough to be captured"

ARRAYS = (
    "\n  Of NumPy's arrays and of numbers, functions are captured that are called again and again; @pijit.jit captures "
    "them from the first call on")


@dataclasses.dataclass
class Break:
    """Why a graph ended: reason and detail, the line ("file:line"), and what to do about it."""

    reason: str
    detail: str
    location: str
    hint: str
    id: str = ""


@dataclasses.dataclass
class Region:
    """A function, or a loop of one or of a module. Times of single calls or iterations, in microseconds, medians (of
    loops: the least), 0 where none were measured; plain_runs: how many plain ones were. trying_ms: what trying took
    beyond usual captured runs, which may hold sizes; None: compile_ms. places: lines that captures went through.
    compile_ms: captures, compiles and further sizes; a function and its loops count them once. deoptimized: why CPython
    runs it again, empty where it does not."""

    kind: str
    name: str
    file: str
    line: int
    calls: int
    captured: int
    plain_us: float
    captured_us: float
    deoptimized: str
    graphs: int
    graph_runs: int
    compile_ms: float
    breaks: list[Any]
    plain_runs: int = 0
    trying_ms: float | None = None
    places: list[Any] = dataclasses.field(default_factory=list)

    @property
    def saved_s(self) -> float:
        """Seconds that capture saved, or lost where negative: what trying took is subtracted, also of what was given
        back."""
        known = self.plain_us and self.captured_us
        return (((self.plain_us - self.captured_us) * self.captured / 1e6 if known else 0.0) -
                (self.compile_ms if self.trying_ms is None else self.trying_ms) / 1e3)

    @property
    def ratio(self) -> Ratio | None:
        """How many times as fast captured, as a Ratio without an interval; None where either time is unknown."""
        from pijit.profiling.measure import Ratio
        x = self.plain_us / self.captured_us if self.plain_us and self.captured_us else None
        return None if x is None else Ratio(x, x, x)


def region(data: Any) -> Region:
    """A Region of what the extension tells. One of this package's, such as TrainOneStepCell, stands at the user's Cell
    that it runs."""
    from pijit.explanation import _is_own
    r = Region(**{**data, "breaks": [Break(**b) for b in data["breaks"]]})
    if _is_own(r.file):
        around = r.name.removesuffix(".construct")
        r.name = around
        cell = next((found for p in r.places if not _is_own(p) and (found := _around(p))), None)
        if cell is not None:
            name, r.file, r.line = cell
            r.name = f"{name.removesuffix('.construct')} in {around}"
    return r


def _around(place):
    """(Qualified name, file, line) of the method around a place; None where there is none."""
    import ast
    import linecache
    path, _, line = place.rpartition(":")
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except (SyntaxError, ValueError):
        return None
    found = None

    def walk(node, names):
        nonlocal found
        for x in ast.iter_child_nodes(node):
            inner = names
            if isinstance(x, (ast.FunctionDef, ast.ClassDef)) and x.lineno <= int(line) <= x.end_lineno:
                inner = [*names, x.name]
                if isinstance(x, ast.FunctionDef):
                    found = ".".join(inner), path, x.lineno
            walk(x, inner)
    walk(tree, [])
    return found


class Report:
    """regions: those that were captured, by time saved, then those that were deoptimized. took: seconds of the program
    so far, by the clock; None where that is not known. plain: nothing was to be captured."""

    plain = False

    def __init__(self, regions: Any, took: Any = None) -> None:
        self.regions: list[Any] = sorted(regions, key=lambda r: (bool(r.deoptimized), -r.saved_s, r.file, r.line))
        self.took = took

    @property
    def saved_s(self) -> int:
        """Seconds that all regions saved together; what was lost is subtracted."""
        return sum(r.saved_s for r in self.regions)

    def headline(self) -> str:
        """What it brought, in a sentence: the whole program first."""
        from pijit.profiling.figures import change, told
        back = sum(bool(r.deoptimized) for r in self.regions)
        counts = f"{len(self.regions) - back} regions captured, {back} deoptimized"
        return (f"{told('the program', self.took, self.saved_s)}; {counts}" if self.took
                else f"{counts}, {change(self.saved_s)}")

    def text(self) -> str:
        """The whole program, a table, breaks with hints, then what was deoptimized."""
        from pijit.profiling.figures import change
        from pijit.profiling.profile import seconds
        if not self.regions:
            took = f"; the program took {seconds(self.took)}" if self.took else ""
            numpy = ARRAYS if not self.plain and _program_has_numpy() else ""
            return f"pijit: {'captured nothing, as --plain asks' if self.plain else NOTHING}{took}{numpy}"
        lines = [f"pijit: {self.headline()}"]
        kept = [r for r in self.regions if not r.deoptimized]
        if kept:
            lines.append(f"  {'in all':>14} {'calls':>9} {'plain':>9} {'captured':>9} {'graphs':>6}  region")
        for r in kept:
            lines.append(
                f"  {change(r.saved_s):>14} {r.captured:>9} {_time(r.plain_us):>9} {_time(r.captured_us):>9} "
                f"{r.graphs:>6}  {r.name}, {r.kind} at "
                         f"{r.file}:{r.line}")
            for b in _breaks(r):
                lines.append(f"{'':53}break at {b.place}: {b.why}{f', {b.count} times' if b.count > 1 else ''}")
                if b.hint:
                    lines.append(f"{'':55}hint: {b.hint}")
        lines += [f"  deoptimized, {change(r.saved_s)}: {r.name}, {r.kind} at {r.file}:{r.line}: {r.deoptimized}"
                  for r in self.regions if r.deoptimized]
        return "\n".join(lines)

    __str__ = text

    def to_dict(self) -> dict[str, Any]:
        """All figures: took_s by the clock, plain_s by estimate, saved_s, regions."""
        whole = {"took_s": self.took, "plain_s": max(self.took + self.saved_s, 0.0)} if self.took else {}
        return {**whole, "saved_s": self.saved_s,
                "regions": [{**{k: v for k, v in dataclasses.asdict(r).items() if k != "places"}, "saved_s": r.saved_s}
                            for r in self.regions]}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=1)

    def to_html(self) -> str:
        """A page that stands by itself."""
        from pijit.profiling.figures import change
        from pijit.profiling.html import bars, escape, page, place, table
        from pijit.profiling.plot import REST
        from pijit.profiling.profile import seconds
        out = [f"<h1>pijit</h1><p>{escape(self.headline() if self.regions else self.text())}</p>"]
        if self.took and self.regions:
            plain = max(self.took + self.saved_s, 0.0)
            out.append(bars([("plain, by estimate", plain, seconds(plain), REST),
                             ("captured, measured", self.took, seconds(self.took), "#2a78d6")]))
        heads = [("region", ""), ("in all", "pj-num"), ("calls", "pj-num"), ("captured ones", "pj-num"),
                 ("plain, each", "pj-num"), ("captured, each", "pj-num"),
                 ("graphs", "pj-num pj-hide"), ("", "")]
        if self.regions:
            out.append(table(heads, [
                (f"<b>{escape(r.name)}</b><br><span class='pj-soft'>{r.kind} at {place(f'{r.file}:{r.line}')}</span>",
                 change(r.saved_s), f"{r.calls:,}",
                 f"{r.captured:,}", _time(r.plain_us), _time(r.captured_us), r.graphs,
                 f'<span class="pj-bad">deoptimized</span> {escape(r.deoptimized)}' if r.deoptimized else "")
                 for r in self.regions]))
        breaks = [(r, b) for r in self.regions if not r.deoptimized for b in _breaks(r)]
        if breaks:
            out.append("<h2>Breaks</h2>" + table(
                [("region", ""), ("line", ""), ("times", "pj-num"), ("source", "pj-mono pj-hide"),
                 ("why, and what helps", "")],
                [(escape(r.name), place(b.place), b.count, escape(b.source),
                  escape(b.why) + (f'<br><span class="pj-hint">{escape(b.hint)}</span>' if b.hint else ""))
                 for r, b in breaks]))
        return page("pijit report", "".join(out))


def _program_has_numpy():
    numpy = sys.modules.get("numpy")
    return numpy is not None and any(x is numpy for x in list(vars(sys.modules["__main__"]).values()))


def _time(us):
    from pijit.profiling.profile import seconds
    return seconds(us / 1e6) if us else "-"


def _breaks(r):
    from pijit.explanation import breaks_of
    return breaks_of([vars(b) for b in r.breaks])


def write(report: Any, where: Any, plain: bool = False) -> None:
    """To stderr where it is "-", else to a file of the kind that its name says: .html, .json, or text. plain: nothing
    was to be captured."""
    report.plain = plain
    if where == "-":
        print(report.text(), file=sys.stderr)
        return
    text = (report.to_html() if where.endswith(".html") else report.to_json() if where.endswith(".json")
            else report.text())
    with open_anew(where) as f:
        f.write(text + "\n")
