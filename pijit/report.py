"""What capture without decorators brought: `pijit.automatic.report()`, and `--report` of `python -m pijit`."""

import dataclasses
import html
import json
import sys

from pijit._files import open_anew


@dataclasses.dataclass
class Break:
    """Why a graph ended: reason and detail, the line ("file:line"), and what to do about it."""

    reason: str
    detail: str
    location: str
    hint: str


@dataclasses.dataclass
class Region:
    """A function, or a loop of one or of a module. Times of single calls or iterations, in microseconds, medians (of loops: the least), 0
    where none were measured; plain_runs: how many plain ones were. compile_ms: captures, compiles and further sizes; a function and its
    loops count them once. given_back: why CPython runs it again, empty where it does not."""

    kind: str
    name: str
    file: str
    line: int
    calls: int
    captured: int
    plain_us: float
    captured_us: float
    plain_runs: int
    given_back: str
    graphs: int
    graph_runs: int
    compile_ms: float
    breaks: list

    @property
    def saved_s(self):
        """Seconds that capture saved, or lost where negative: what trying took is subtracted, also of what was given back."""
        known = self.plain_us and self.captured_us
        return ((self.plain_us - self.captured_us) * self.captured / 1e6 if known else 0.0) - self.compile_ms / 1e3

    @property
    def ratio(self):
        """How many times as fast captured, as a Ratio without an interval; None where either time is unknown."""
        from pijit.profiling.measure import Ratio
        x = self.plain_us / self.captured_us if self.plain_us and self.captured_us else None
        return None if x is None else Ratio(x, x, x)


def region(data):
    """A Region of what the extension tells."""
    return Region(**{**data, "breaks": [Break(**b) for b in data["breaks"]]})


def _time(us):
    if not us:
        return "-"
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if us >= size:
            return f"{us / size:.3g} {unit}"
    return f"{us:.3g} us"


class Report:
    """regions: those that were captured, by time saved, then those that were given back."""

    def __init__(self, regions):
        self.regions = sorted(regions, key=lambda r: (bool(r.given_back), -r.saved_s, r.file, r.line))

    @property
    def saved_s(self):
        return sum(r.saved_s for r in self.regions)

    def text(self):
        """A table, then breaks, then what was given back."""
        kept = [r for r in self.regions if not r.given_back]
        back = [r for r in self.regions if r.given_back]
        if not self.regions:
            return "pijit: no function or loop that works on tensors was called often enough to be captured"
        lines = [f"pijit: {len(kept)} regions captured, {len(back)} given back to CPython, {_time(max(self.saved_s, 0) * 1e6)} saved"]
        if kept:
            lines.append(f"  {'saved':>9} {'calls':>9} {'plain':>9} {'captured':>9} {'graphs':>6}  region")
        for r in kept:
            saved = ("-" if r.saved_s < 0 else "") + _time(abs(r.saved_s) * 1e6)
            lines.append(f"  {saved:>9} {r.captured:>9} {_time(r.plain_us):>9} {_time(r.captured_us):>9} {r.graphs:>6}  {r.name}, {r.kind} at "
                         f"{r.file}:{r.line}")
            for (location, reason, detail, hint), n in _counted(r.breaks).items():
                lines.append(f"{'':48}break at {location}: {reason}{f' ({detail})' if detail else ''}{f', {n} times' if n > 1 else ''}")
                if hint:
                    lines.append(f"{'':50}hint: {hint}")
        lines += [f"  given back: {r.name}, {r.kind} at {r.file}:{r.line}: {r.given_back}" for r in back]
        return "\n".join(lines)

    __str__ = text

    def to_dict(self):
        return {"saved_s": self.saved_s, "regions": [{**dataclasses.asdict(r), "saved_s": r.saved_s} for r in self.regions]}

    def to_json(self):
        return json.dumps(self.to_dict(), indent=1)

    def to_html(self):
        """A page that stands by itself."""
        rows = []
        for r in self.regions:
            why = html.escape(r.given_back) if r.given_back else "<br>".join(
                html.escape(f"{b[0]}: {b[1]}{f' ({b[2]})' if b[2] else ''}{f', {n} times' if n > 1 else ''}") for b, n in _counted(r.breaks).items())
            rows.append(f"<tr class={'back' if r.given_back else 'kept'}><td>{r.saved_s:.4f}<td>{r.calls}<td>{r.captured}<td>{_time(r.plain_us)}"
                        f"<td>{_time(r.captured_us)}<td>{r.graphs}<td class=l>{html.escape(r.name)}, {r.kind} at "
                        f"<code>{html.escape(r.file)}:{r.line}</code><td class=l>{why}")
        return ("<!doctype html><meta charset=utf-8><title>pijit report</title><style>body{font:14px system-ui;margin:2em}"
                "table{border-collapse:collapse}td,th{padding:.3em .8em;border-bottom:1px solid #ddd;text-align:right;vertical-align:top}"
                ".l{text-align:left}.back{color:#888}</style>"
                f"<h1>pijit: {_time(max(self.saved_s, 0) * 1e6)} saved</h1><table><tr><th>saved, s<th>calls<th>captured<th>plain<th>captured<th>graphs"
                f"<th class=l>region<th class=l>breaks, or why it was given back{''.join(rows)}</table>\n")


def _counted(breaks):
    counts = {}
    for b in breaks:
        key = b.location, b.reason, b.detail, b.hint
        counts[key] = counts.get(key, 0) + 1
    return counts


def write(report, where):
    """To stderr where it is "-", else to a file of the kind that its name says: .html, .json, or text."""
    if where == "-":
        print(report.text(), file=sys.stderr)
        return
    text = report.to_html() if where.endswith(".html") else report.to_json() if where.endswith(".json") else report.text()
    with open_anew(where) as f:
        f.write(text + "\n")
