"""`profile` of a function, and `Recorder`, a recording of any code."""

from __future__ import annotations

import dataclasses
import functools
import json
import time
import types
from collections import Counter
from typing import TYPE_CHECKING

from pijit import _check
from pijit import _C, trace
from pijit._files import open_anew
from pijit.grad import Transformed
from pijit.profiling import measure
from pijit.profiling.limits import limits
from pijit.profiling.lines import lines_of, text_of
from pijit.profiling.summary import PARTS, summarize

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self
    from pijit.profiling.limits import Limits


_DEAREST_EVENT = 1e-7  # seconds; what recorded calls take beyond that is what else the machine did


class Profile:
    """Where the time of calls, or of a block of code, went.

    name: what was profiled. calls: how often, in the recording. wall: seconds per call (of a block: all of it); of a
        call its median without recording, to which the parts add up. parts: seconds per call by kind of work; "rest" is
        what is none of the others. kernels: longest first, each with name, ops, places, detail (operands), runs, time
        (all calls), bytes, flops, gb_per_s, gflop_per_s, percent(limits). pieces: lines that CPython ran between
        graphs, each with place, why, runs, time, whole. lines: what each source line takes of a call, each with place,
        graph, ops, python, time, source: with outside_lines() they add up to wall. allocations, allocated_bytes: per
        call; peak_bytes; packed_bytes, of weights in the layouts of kernels. limits: what this machine reaches.
        events: of the recording, as `pijit.trace.stop` gives them.
        captures: functions captured meanwhile, with the seconds of capture, optimise, generate.

    With a comparison: plain, captured (Timing: median, low, high, samples, in seconds per call), speedup (Ratio: value,
    low, high), first_call (seconds: capture, optimise, generate, run), explanation (what pijit.explain says).

    print() shows all in text, table() the kernels; plot() draws it, to_html(), to_json() and to_perfetto() write it."""

    name: str
    calls: int
    kernels: list[Any]
    pieces: list[Any]
    captures: list[Any]
    allocations: Any
    allocated_bytes: Any
    peak_bytes: Any
    packed_bytes: Any
    dropped: Any
    plain: Any = None
    captured: Any = None
    speedup: Any = None
    first_call: Any = None
    explanation: Any = None

    def __init__(self, name: str, recorded: Any, calls: int = 1) -> None:
        s = summarize(recorded)
        self.name, self.calls = name, calls
        self.kernels, self.pieces, self.captures = s.kernels, s.pieces, s.captures
        self.wall: float = s.wall / calls
        self.parts: dict[Any, Any] = {k: v / calls for k, v in s.parts.items() if v}
        rest = self.wall - sum(self.parts.values())
        if rest > 0:
            self.parts["rest"] = rest
        self.allocations, self.allocated_bytes = recorded["allocations"] / calls, recorded["allocated_bytes"] / calls
        self.peak_bytes, self.dropped = recorded["peak_bytes"], recorded["dropped"]
        self.packed_bytes = recorded["packed_bytes"]
        self.limits: Limits = limits()
        self._recorded, self._events = recorded, None

    def fit(self, median: Any) -> None:
        """Lets the parts add up to what a call takes that nobody records: what recording an event costs is taken off
        each, and the small difference that is left is spread over all."""
        counts = Counter(e[0] for e in self._recorded["events"])
        cost = min(max(0.0, self.wall - median) * self.calls / max(1, sum(counts.values())), _DEAREST_EVENT)
        single = 0.0  # taken off ops that ran by themselves
        for k in self.kernels:
            less = min(k.runs * cost, 0.9 * k.time)
            k.time -= less
            single += 0.0 if k.captured else less
        parts = {kind: max(0.0, v - counts[kind] * cost / self.calls) for kind, v in self.parts.items()
                 if kind not in ("kernels", "eager")}
        if "kernels" in self.parts:
            parts["kernels"] = sum(k.time for k in self.kernels if k.captured) / self.calls
        if "eager" in self.parts:
            parts["eager"] = max(0.0, self.parts["eager"] - (single + counts["op"] * cost) / self.calls)
        scale = median / (sum(parts.values()) or 1.0)
        whole = median / (self.wall or 1.0)
        self.wall, self.parts = median, {kind: parts[kind] * scale for kind in self.parts}
        for k in self.kernels:
            k.time *= scale
        for p in self.pieces:
            p.time, p.whole = p.time * whole, p.whole * whole

    @property
    def events(self) -> list[dict[str, Any]]:
        """Chrome trace events of the recording."""
        if self._events is None:
            self._events = trace.chrome_events(self._recorded)
        return self._events

    @property
    def in_graphs(self) -> Any:
        """The part of the time (0 to 1) that graphs take."""
        return (self.parts.get("kernels", 0.0) + self.parts.get("graph", 0.0)) / self.wall if self.wall else 0.0

    def named_parts(self) -> list[tuple[str, Any | Any]]:
        """Pairs of a name for people and seconds per call, longest first, the rest last."""
        known = [(self._name_of(k), v) for k, v in self.parts.items() if k != "rest"]
        return (sorted(known, key=lambda x: -x[1]) +
                ([(self._name_of("rest"), self.parts["rest"])] if "rest" in self.parts else []))

    def _name_of(self, part):
        if part != "rest":
            return PARTS[part]
        return "Python outside of captured functions" if self.plain is None else "around the call"

    @property
    def lines(self) -> list[Any]:
        """Lines, in order of files and lines, each with seconds per call in graphs, in single ops and in Python."""
        return lines_of(self.kernels, self.pieces, self.parts, self.calls)[0]

    def outside_lines(self) -> list[tuple[str, Any]]:
        """What belongs to no line: pairs of a name for people and seconds per call, longest first."""
        left = lines_of(self.kernels, self.pieces, self.parts, self.calls)[1]
        return sorted(((self._name_of(k), v) for k, v in left.items()), key=lambda x: -x[1])

    def rows(self) -> list[dict[str, Any]]:
        """The kernels as dicts: ops, where, operands, runs and µs per call, share of the time, GB/s, GFLOP/s, percent
        of this machine's limits."""
        return [{"ops": k.name, "where": ", ".join(trace.short(p) for p in k.places), "operands": k.detail,
                 "captured": k.captured,
                 "runs": k.runs / self.calls, "us": k.time / self.calls * 1e6,
                 "share": k.time / self.calls / self.wall if self.wall else 0.0,
                 "gb_per_s": k.gb_per_s, "gflop_per_s": k.gflop_per_s, "percent": k.percent(self.limits)}
                 for k in self.kernels]

    def table(self, count: Any = None) -> str:
        """The kernels as text, longest first: all, or the first `count`."""
        rows = self.rows()
        shown = rows[:count]
        lines = [f"{'µs/call':>9} {'share':>6} {'runs':>6} {'GB/s':>7} {'GFLOP/s':>8} {'limit':>6}  kernel"]
        for r in shown:
            percent = f"{r['percent']:.0f} %" if r["percent"] is not None else "-"
            lines.append(
                f"{r['us']:9.2f} {100 * r['share']:5.1f}% {r['runs']:6.4g} {r['gb_per_s']:7.1f} "
                f"{r['gflop_per_s']:8.1f} {percent:>6}  "
                         f"{r['ops']}{'' if r['captured'] else ' (single op)'}  {r['operands']}  {r['where']}")
        if len(rows) > len(shown):
            left = sum(r["us"] for r in rows[len(shown):])
            lines.append(f"{left:9.2f} {100 * left / 1e6 / self.wall:5.1f}%  {len(rows) - len(shown)} more kernels")
        return "\n".join(lines)

    def __str__(self) -> str:
        lines = [self.headline()]
        if self.first_call:
            f = self.first_call
            lines.append(f"first call: {seconds(sum(f.values()))} (" +
                         ", ".join(f"{k} {seconds(v)}" for k, v in f.items()) + ")")
        lines.append("where the time goes: " +
                     ", ".join(f"{n} {100 * v / self.wall:.1f} %" for n, v in self.named_parts()
                               if v > 0.002 * self.wall))
        for p in self.pieces[:10]:
            lines.append(f"  {100 * p.whole / self.calls / self.wall:5.1f} %  {p.where}  {p.source}" +
                         (f"  [{p.why}]" if p.why else ""))
        if len(self.pieces) > 10:
            lines.append(f"  and {len(self.pieces) - 10} more lines that CPython ran, in .pieces")
        if self.lines:
            lines += ["lines, per call:" if self.calls > 1 else "lines:", text_of(self)]
        if self.kernels:
            lines += ["kernels:", self.table(15)]
        lines.append(
            f"memory: {self.allocations:.4g} allocations of {size(self.allocated_bytes)} per call, peak "
            f"{size(self.peak_bytes)}" +
            (f", of them {size(self.packed_bytes)} packed weights" if self.packed_bytes else ""))
        return "\n".join(lines)

    def headline(self) -> str:
        """One line: the speed-up, or where the time went."""
        if self.speedup is not None:
            s, p, c = self.speedup, self.plain, self.captured
            return (f"{self.name}: {s.value:.2f} times as fast captured ({s.low:.2f} to {s.high:.2f}): "
                    f"{seconds(c.median)} ({seconds(c.low)} to "
                    f"{seconds(c.high)}), plain {seconds(p.median)} ({seconds(p.low)} to {seconds(p.high)})")
        return (
            f"{self.name}: {seconds(self.wall)}{' per call' if self.calls > 1 else ''}, {100 * self.in_graphs:.0f} % "
            f"in graphs")

    __repr__ = __str__

    def _repr_html_(self):
        from pijit.profiling.html import fragment, profile_html
        return fragment(profile_html(self))

    def to_html(self, path: str | None = None) -> str | None:
        """A page that needs nothing else: written to `path`, or given as a str."""
        from pijit.profiling.html import page, profile_html
        return _written(path, page(f"profile of {self.name}", profile_html(self)))

    def to_dict(self) -> dict[str, Any]:
        """All figures in dicts and lists."""
        d = {"name": self.name, "calls": self.calls, "seconds_per_call": self.wall, "parts": self.parts,
             "kernels": self.rows(),
             "pieces": [{**dataclasses.asdict(p), "where": p.where, "source": p.source} for p in self.pieces],
             "captures": self.captures,
             "lines": [dataclasses.asdict(x) for x in self.lines], "outside_lines": dict(self.outside_lines()),
             "allocations": self.allocations, "allocated_bytes": self.allocated_bytes, "peak_bytes": self.peak_bytes,
             "packed_bytes": self.packed_bytes,
             "dropped_events": self.dropped, "limits": dataclasses.asdict(self.limits)}
        if self.speedup is not None:
            d |= {"plain": dataclasses.asdict(self.plain), "captured": dataclasses.asdict(self.captured),
                  "speedup": dataclasses.asdict(self.speedup)}
        if self.first_call is not None:
            d["first_call"] = self.first_call
        return d

    def to_json(self, path: str | None = None) -> str | None:
        """All figures as JSON: written to `path`, or given as a str."""
        return _written(path, json.dumps(self.to_dict(), indent=1))

    def to_perfetto(self, path: str) -> None:
        """Writes the recording's events for https://ui.perfetto.dev and chrome://tracing."""
        trace.write(path, self.events)

    def plot(self, kernels: int = 12) -> Any:
        """A matplotlib figure: times of both ways, where the time goes, the longest kernels."""
        from pijit.profiling.plot import figure
        return figure(self, kernels)


def seconds(s: Any) -> str:
    """A time for people: three digits and the unit that they need no power of ten with."""
    for unit, factor in (("ns", 1e9), ("µs", 1e6), ("ms", 1e3)):
        if abs(s) * factor < 999.5:
            return f"{s * factor:.3g} {unit}"
    return f"{s:.3g} s" if abs(s) < 999.5 else f"{s:.0f} s"


def size(n: Any) -> str:
    """A number of bytes for people."""
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n >= factor:
            return f"{n / factor:.4g} {unit}"
    return f"{n:.0f} bytes"


def _written(path, text):
    if path is None:
        return text
    with open_anew(path) as f:
        f.write(text)
    return None


class _Plain:
    """Under it, jitted functions of this thread run plainly."""

    def __enter__(self) -> None:
        self._before = _C.pause_capture(True)

    def __exit__(self, *error: Any) -> None:
        _C.pause_capture(self._before)


plain = _Plain


def _fresh(fn):
    """fn captured, with nothing known of it yet."""
    from pijit.jit import jit, jitted_call
    fn = jitted_call(fn)
    if isinstance(fn, _C.JitFunction):
        return _C.fresh_jit(fn)
    if isinstance(fn, types.MethodType) and isinstance(fn.__func__, _C.JitFunction):
        return types.MethodType(_C.fresh_jit(fn.__func__), fn.__self__)
    return jit(fn)


def _name_of(fn):
    fn = getattr(fn, "_fn", fn) if isinstance(fn, Transformed) else fn
    return getattr(fn, "__qualname__", None) or type(fn).__name__


def profile(fn: Callable[..., Any], *args: Any, compare: bool = True, seconds: float = 2.0, **kwargs: Any) -> Profile:
    """A Profile of fn(*args, **kwargs): calls of it plain and captured, in turn, for about `seconds`, then some calls
    recorded.

    fn: a function, method, Cell or what value_and_grad gives, jitted or not; it is captured anew, so that the first
        call's cost is seen. It is called many times: what it changes, such as parameters, changes as often.
        compare=False leaves out the plain calls. TypeError where fn cannot be called."""
    _check.need("profile", "fn", fn, _check.FUNCTION)
    limits()
    captured = _fresh(fn)

    run, run_plain = functools.partial(captured, *args, **kwargs), functools.partial(fn, *args, **kwargs)
    recording = _C.record_start()
    try:
        begin = time.perf_counter()
        run()
        first = time.perf_counter() - begin
    finally:
        at_first = summarize(_C.record_stop(recording))
    first_call = {k: at_first.parts[k] for k in ("capture", "optimise", "generate")}
    first_call["run"] = max(0.0, first - sum(first_call.values()))
    if compare:
        with _Plain():
            run_plain()
        before, after = measure.interleaved([run_plain, run], seconds, within={run_plain: _Plain})
    else:
        before, (after,) = None, measure.interleaved([run], seconds / 2)
    calls = max(3, min(1000, int(0.2 / max(after.median, 1e-9))))
    recording = _C.record_start()
    try:
        for _ in range(calls):
            run()
    finally:
        recorded = _C.record_stop(recording)
    p = Profile(_name_of(fn), recorded, calls)
    p.first_call, p.captured = first_call, after
    p.fit(after.median)
    if compare:
        p.plain, p.speedup = before, measure.ratio(before, after)
    p.explanation = _explained(captured)
    return p


def _explained(captured):
    from pijit.explanation import explain
    try:
        return explain(captured)
    except TypeError:  # a builtin, of which nothing can be captured
        return None


class Recorder:
    """Records what runs inside of it: `with pijit.profiler() as p: …`, then p is as a Profile: print(p), p.table(),
    p.to_html(path) …

    Attributes of the Profile are there when the block has ended; `profile` is that object."""

    name: str
    profile: Any

    def __init__(self, name: str = "profile") -> None:
        _check.need("profiler", "name", name, _check.STR)
        self.name, self.profile, self._recording = name, None, None

    def __enter__(self) -> Self:
        if self._recording is not None:
            raise RuntimeError("For 'profiler', this one runs already.")
        limits()
        self.profile, self._recording = None, _C.record_start()
        return self

    def __exit__(self, *error: Any) -> None:
        recorded = _C.record_stop(self._recording)
        self._recording = None
        self.profile = Profile(self.name, recorded)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("profile", "_recording"):
            raise AttributeError(name)
        if self.profile is None:
            raise AttributeError(f"{name!r} is there when the block has ended")
        return getattr(self.profile, name)

    def __repr__(self) -> str:
        return repr(self.profile) if self.profile is not None else f"<profiler {self.name!r}, not finished>"

    def _repr_html_(self):
        return self.profile._repr_html_() if self.profile is not None else None
