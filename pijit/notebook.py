"""The extension for Jupyter and IPython: `%load_ext pijit`.

    %%pijit               runs the cell with capture on, and shows below it what that brought, function by function
    %pijit on|off|status  the same for all cells from now on, without the report; what it brought so far
    %pijit_profile expr   a profile of an expression, mostly a call
    %%pijit_compare       runs the cell plain and captured, in turn from the same state: are all results the same bits,
                          how long does each take

What capture on means: functions and methods that a cell defines are captured when they are called, as with @pijit.jit,
and `pijit.enable()` is in force for the rest: loops of cells, functions of the user's own modules. A cell that is run
again defines its functions anew."""

from __future__ import annotations

import ast
import copy
import random
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING

from pijit import _C
from pijit._C import Tensor
from pijit.explanation import RECURSION, breaks_of
from pijit.profiling import figures
from pijit.profiling.measure import Timing, ratio
from pijit.profiling.html import bars, escape, fragment, place, table, tiles
from pijit.profiling.plot import REST
from pijit.profiling.profile import plain, seconds
from pijit.suggestions import suggestion
from pijit.trace import short

if TYPE_CHECKING:
    from typing import Any
    from pijit.profiling.measure import Ratio

_FRONT = "__pijit_front__"  # what the functions of a cell are handed to


class _Decorated(ast.NodeTransformer):
    """The functions of a cell with a decorator more: the innermost, so that others get what it gives."""

    def visit_FunctionDef(self, node: Any) -> Any:
        self.generic_visit(node)
        front = ast.copy_location(ast.Name(_FRONT, ast.Load()), node)
        node.decorator_list.append(front)
        return node

    def visit_AsyncFunctionDef(self, node: Any) -> Any:
        return node  # coroutines are CPython's


class Session:
    """What the extension knows in one shell."""

    shell: Any
    on: bool
    reporting: bool
    active: bool
    enabled: bool
    figures: dict[Any, Any]
    earlier: list[Any]

    def __init__(self, shell: Any) -> None:
        self.shell, self.on, self.reporting, self.active, self.enabled = shell, False, False, False, False
        self.functions: list[Any] = []  # weak references to what was fronted, in order
        # handles by (file, line, name) of this cell and those since; of cells with a report before
        self.figures, self.earlier = ({}, [])
        self.watching = True
        self._regions, self._began = {}, 0.0  # as the running cell found them
        self._bars = {}
        shell.user_ns_hidden[_FRONT] = None

    # -- capture of what cells define --

    def front(self, f: Any) -> Any:
        """A function of a cell, captured; what is decorated by jit already stays as it is."""
        from pijit.jit import jit
        if not isinstance(f, _C.JitFunction) and callable(f):
            f = jit(f)
        if isinstance(f, _C.JitFunction):
            self.functions.append(weakref.ref(f))
            if self.watching:
                self.watch(f)
        return f

    def watch(self, f: Any) -> None:
        """Closures of one piece of code share their figures."""
        key = _key(f)
        if key not in self.figures:
            self.figures[key] = figures.new()
        _C.watch(f, self.figures[key])

    def begin_figures(self) -> None:
        """Counts anew from here on."""
        figures.calibrate()
        self.earlier.append(self.figures)
        self.figures = {}
        self.functions = [r for r in self.functions if r() is not None]
        for f in self.alive():
            self.watch(f)

    def enable(self, on: Any) -> None:
        """Turns `pijit.enable` on, or off where it was turned on here."""
        from pijit import automatic
        if on and not automatic._on:
            automatic.enable()
            self.enabled = True
        elif not on and self.enabled:
            automatic.disable()
            self.enabled = False

    def visit(self, node: Any) -> Any:
        """Called by IPython with each cell's tree."""
        if not (self.on or self.active):
            return node
        self.shell.user_ns[_FRONT] = self.front
        node = ast.fix_missing_locations(_Decorated().visit(node))
        self._began = time.perf_counter()
        return node

    def alive(self) -> list[Any]:
        """Fronted functions that are still there."""
        return [f for f in (r() for r in self.functions) if f is not None]

    def before_cell(self, info: Any) -> None:
        self.reporting = self.active = "%%pijit" in _magics(info.raw_cell or "")
        if self.reporting:
            self.begin_figures()
            self._regions = _regions()
            self.enable(True)
            self._began = time.perf_counter()

    def after_cell(self, result: Any) -> None:
        took = time.perf_counter() - self._began
        if result is not None and (said := suggestion(result.error_in_exec)):
            print(said, file=sys.stderr)
        if not self.reporting:
            return
        self.reporting = self.active = False
        shown = result is None or getattr(result, "error_before_exec", None) is None  # else nothing ran
        # which holds the time that showing the error took
        took = (took if getattr(result, "error_in_exec", None) is None else None)
        report = Report(self.alive(), [self.figures], self._regions, took) if shown else None
        self.enable(self.on)
        if shown:
            display(report)
        self._regions = {}

    # -- progress of long captures --

    def show_progress(self, what: Any, doing: Any, done: Any, of: Any, took: Any, over: Any) -> None:
        """Called by the core while a capture or compile takes long."""
        key = what
        part = f"step {done} of {of}, " if of and not over else ""
        text = f"{doing} {what}: {'done, ' if over else part}{took:.1f} s"
        filled = 100 if over else 100 * done / of if of else 30
        html = (f'<span>pijit</span><span class="pj-track"><i '
                f'style="width:{filled:.0f}%;background:var(--blue)"></i></span><span '
                f'class="pj-num">{escape(text)}</span>')
        shown = _Shown(f"pijit: {text}", fragment(f'<div class="pj-bars">{html}</div>'))
        if key in self._bars:
            self._bars[key].update(shown)
        else:
            self._bars[key] = display(shown, display_id=True)
        if over:
            del self._bars[key]
        else:
            time.sleep(0.002)  # the kernel's own thread sends it


class _Shown:
    """Something with a text and an HTML form."""

    def __init__(self, text: str, html: Any) -> None:
        self.text, self.html = text, html

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self):
        return self.html


def display(*args: Any, **kwargs: Any) -> Any:
    """IPython's display."""
    from IPython.display import display as show
    return show(*args, **kwargs)


def _magics(cell):
    """The cell magics at the beginning of a cell."""
    found = []
    for line in cell.split("\n"):
        if line.strip() and not line.lstrip().startswith("%%"):
            break
        found += [" ".join(line.split())] if line.strip() else []
    return found


def _key(f):
    return f.__code__.co_filename, f.__code__.co_firstlineno, f.__qualname__


class Row:
    """A function, or what was captured without a decorator: what it cost both ways."""

    name: str
    calls: Any
    plain: Any
    captured: Any
    speedup: Any
    saved: Any
    trying: Any
    graphs: Any
    kernels: Any
    breaks: list[Any]
    deoptimized: str
    note: str

    def __init__(self, name: str, calls: Any, plain: Any, captured: Any, speedup: Any, saved: Any, trying: Any,
                 graphs: Any = None, kernels: Any = None, breaks: tuple[Any, ...] = (), deoptimized: str = "",
                 note: str = "") -> None:
        self.name, self.calls, self.plain, self.captured, self.speedup, self.saved, self.trying = (name, calls, plain,
            captured, speedup, saved, trying)
        self.graphs, self.kernels, self.breaks = graphs, kernels, list(breaks)
        self.deoptimized, self.note = deoptimized, note

    @property
    def verdict(self) -> str:
        """What the figures say, in words."""
        if self.deoptimized:
            return "deoptimized"
        if self.speedup is not None and self.speedup.low <= 1 <= self.speedup.high:
            return "no difference that was measured"
        return self.note if self.speedup is None else ""


class Report:
    """What capture brought: the whole cell first, then each function that ran, with calls, times both ways, what trying
    cost, breaks.

    functions: those that are there; counted: dicts of handles by key, counted together; regions: of `pijit.enable`, as
        they were before;
    took: seconds of the cell, None where there is none."""

    rows: list[Any]
    took: Any
    plain: float | None

    def __init__(self, functions: Any, counted: Any, regions: Any = None, took: Any = None) -> None:
        known = {}
        for f in functions:
            known.setdefault(_key(f), []).append(f)
        handles = {}
        for part in counted:
            for key, handle in part.items():
                handles.setdefault(key, []).append(handle)
        self.rows, self.took, saved, unknown = [], took, 0.0, 0.0
        for key, of_key in handles.items():
            x = figures.of(of_key)
            if not x.calls:
                continue
            explained = [_explanation(f) for f in known.get(key, ())]
            note = ("part of its callers' graphs, these calls ran plainly" if x.within_others else
                    "a generator, or not to be captured" if x.uncaptured == x.calls else
                    "each captured call compiled something" if x.all_anew else "too few calls to compare")
            calls = f"{x.calls:,}" + (f" (and {x.recursive:,} of itself)" if x.recursive else "")
            back = next((e.deoptimized for e in explained if e.deoptimized), "")
            if x.rested == x.calls and not back:
                back = "earlier"
            if back and x.recursive:
                back += f"; {RECURSION}"
            self.rows.append(Row(key[2], calls, x.plain, x.captured, x.speedup, x.saved, x.trying,
                                 sum(len(e.graphs) for e in explained),
                                 sum(entry["steps"] for e in explained for entry in e.entries),
                                 _merged(b for e in explained for b in e.all_breaks
                                                                                           # ours
                                                                                           if not b.detail.startswith(
                                                                                               "pijit._C.jit()")), back,
                                                                                               note))
            saved += x.saved or 0.0
            unknown += x.spent if x.saved is None else 0.0
        for key, r in _regions().items():
            if r.kind == "function" and (r.file, r.line, r.name) in handles:
                continue  # it has a row of its own
            before = (regions or {}).get(key)
            calls = r.calls - (before.calls if before else 0)
            if not calls:
                continue
            gained = r.saved_s - (before.saved_s if before else 0.0)
            name = r.name if r.kind == "function" else f"{r.kind} at {short(f'{r.file}:{r.line}')}"
            breaks = breaks_of([vars(b) for b in r.breaks])
            self.rows.append(Row(name, f"{calls:,}", _timing(r.plain_us), _timing(r.captured_us), r.ratio, gained,
                                 r.compile_ms / 1e3, r.graphs, None, breaks,
                                 r.deoptimized, "too few calls to compare"))
            saved += gained
        self.defined: int = len(handles)
        self.rows.sort(key=lambda r: -abs(r.saved or 0.0))
        # What it would take plainly is an estimate, and none where a good part of the time has nothing to be compared
        # with.
        self.plain = None if took is None or not self.rows or unknown > 0.2 * took else max(took + saved, 0.0)

    def headline(self) -> str:
        """The whole cell, in a sentence."""
        if self.took is None:
            return ""
        if not self.rows:
            return f"the cell took {seconds(self.took)}"
        return figures.told("the cell", self.took, None if self.plain is None else self.plain - self.took)

    @staticmethod
    def _speed(r):
        s = r.speedup
        return (
            f"{s.value:.2f} times as fast ({s.low:.2f} to {s.high:.2f}): {seconds(r.captured.median)}, plain "
            f"{seconds(r.plain.median)}")

    def __repr__(self) -> str:
        lines = [f"pijit: {self.headline()}"] if self.took is not None else []
        if not self.rows:
            return "\n".join([*lines, f"pijit: {self.defined} functions defined, none called."])
        for r in self.rows:
            said = [r.verdict] if r.verdict else []
            if r.speedup is not None:
                said.append(self._speed(r))
            elif r.captured is not None and not r.deoptimized:
                said.append(f"{seconds(r.captured.median)} captured")
            if r.trying:
                said.append(f"{seconds(r.trying)} for captures and compiles")
            if r.saved:
                said.append(f"{figures.change(r.saved)} in all")
            lines.append(f"{r.name}: {r.calls} calls; " + "; ".join(said))
            if r.deoptimized:
                lines.append(f"  deoptimized: {r.deoptimized}")
            for b in r.breaks:
                lines.append(f"  {b.where}: {b.why}" + (f", {b.count} times" if b.count > 1 else "") +
                             (f"; {b.hint}" if b.hint else ""))
        return "\n".join(lines)

    def _repr_html_(self):
        if not self.rows:
            ran = f"<p>{escape(self.headline())}</p>" if self.took is not None else ""
            return fragment(
                f"{ran}<p>pijit: {self.defined} functions defined, none called. What cells below call is captured.</p>")
        out = []
        if self.took is not None:
            wall = [("captured, measured", self.took, seconds(self.took), "#2a78d6")]
            if self.plain is not None:
                wall.insert(0, ("plain, by estimate", self.plain, seconds(self.plain), REST))
            out.append(f"<p>{escape(self.headline())}</p>" + bars(wall))
        most = max((r.speedup.value for r in self.rows if r.speedup is not None), default=1.0)
        cells = []
        for r in self.rows:
            speed, bar = "–", f'<span class="pj-soft">{escape(r.verdict)}</span>'
            if r.speedup is not None and not r.deoptimized:
                color = "var(--blue)" if r.speedup.low > 1 else "var(--warn)"
                speed = (
                    f"<b>{r.speedup.value:.2f} ×</b><br><span class='pj-soft'>{r.speedup.low:.2f} to "
                    f"{r.speedup.high:.2f}</span>")
                bar = (f'<span class="pj-track" style="display:block;min-width:110px;margin-top:3px"><i '
                       f'style="width:{100 * r.speedup.value / max(most, 1):.1f}%;'
                       f'background:{color}"></i></span>') + bar
            if r.deoptimized:
                bar = f'<span class="pj-bad">deoptimized</span> <span class="pj-soft">{escape(r.deoptimized)}</span>'
            cells.append((f"<code>{escape(r.name)}</code>", escape(r.calls),
                          seconds(r.plain.median) if r.plain else "–",
                          seconds(r.captured.median) if r.captured else "–", speed, bar, seconds(r.trying),
                          figures.change(r.saved), "–" if r.kernels is None else r.kernels,
                          sum(b.count for b in r.breaks)))
        out.append(table([("function", ""), ("calls", "pj-num"), ("plain", "pj-num"), ("captured", "pj-num"),
                          ("speed-up", "pj-num"), ("", "pj-hide"),
                          ("captures and compiles", "pj-num"), ("in all", "pj-num"), ("kernels", "pj-num pj-hide"),
                          ("breaks", "pj-num")], cells))
        breaks = _merged(b for r in self.rows for b in r.breaks)
        if breaks:
            out.append("<h2>Breaks</h2>" +
                       table([("line", ""), ("times", "pj-num"), ("source", "pj-mono pj-hide"),
                              ("why, and what helps", "")], [
                (place(b.where), b.count, escape(b.source),
                 escape(b.why) + (f'<br><span class="pj-hint">{escape(b.hint)}</span>' if b.hint else ""))
                for b in breaks]))
        return fragment("".join(out))


def _timing(us):
    return Timing.of([us / 1e6]) if us else None


def _merged(breaks):
    """Breaks, each place and reason once."""
    found = {}
    for b in breaks:
        key = b.place, b.reason, b.detail
        if key in found:
            found[key].count += b.count
        else:
            found[key] = copy.copy(b)
    return list(found.values())


def _regions():
    """What `pijit.enable` captured so far, by place."""
    from pijit import automatic
    return {(r.file, r.line, r.kind, r.name): r for r in automatic.report().regions}


def _explanation(f):
    from pijit.explanation import explain
    return explain(f)


# --- comparison ---


class _State:
    """What a cell may change, to be put back: names, Tensors, arrays, lists, dicts, sets, attributes, random
    numbers."""

    _LARGEST = 1 << 28  # bytes of an array that is copied

    def __init__(self, names: Any) -> None:
        import numpy as np
        from pijit import random as own
        self.names = dict(names)
        self.tensors, self.arrays, self.containers, self.objects, seen, todo = ([], [], [], [], set(),
            list(self.names.values()))
        while todo:
            x = todo.pop()
            if id(x) in seen:
                continue
            seen.add(id(x))
            if isinstance(x, Tensor):
                self.tensors.append((x, x._held()))
            elif type(x) is np.ndarray and x.nbytes <= self._LARGEST and x.flags.writeable:
                self.arrays.append((x, x.copy()))
            elif type(x) in (list, dict, set):
                self.containers.append((x, copy.copy(x)))
                todo += x.values() if type(x) is dict else x
            elif type(x) is tuple:
                todo += x
            elif not isinstance(x, type) and type(x).__module__.partition(".")[0] in ("__main__", "pijit",
                "mindspore") and hasattr(x, "__dict__") and not callable(
                    getattr(x, "__code__", None)) and type(x).__name__ != "module":
                if not hasattr(x, "__code__"):
                    self.objects.append((x, dict(x.__dict__)))
                    todo += x.__dict__.values()
        self.random = random.getstate(), np.random.get_state(), own.get_rng_state()

    def restore(self, names: Any) -> None:
        import numpy as np
        from pijit import random as own
        names.clear()
        names.update(self.names)
        for x, held in self.tensors:
            x._replace(held)
        for x, saved in self.arrays:
            x[...] = saved
        for x, saved in self.containers:
            if type(x) is list:
                x[:] = saved
            else:
                x.clear()
                x.update(saved)
        for x, saved in self.objects:
            x.__dict__.clear()
            x.__dict__.update(saved)
        random.setstate(self.random[0])
        np.random.set_state(self.random[1])
        own.set_rng_state(self.random[2])


def frozen(x: Any, depth: int = 0) -> Any:
    """Values as bits, to be compared after what they came from has changed. None for what has no bits of its own."""
    import numpy as np
    from pijit.nn import Cell
    if isinstance(x, Tensor):
        x = x.asnumpy() if x.dtype.name != "BFloat16" else x.float().asnumpy()
    if isinstance(x, (np.ndarray, np.generic)):
        return None if x.dtype == object else ("array", str(x.dtype), x.shape, x.tobytes())
    if isinstance(x, float):
        return "float", np.float64(x).tobytes()
    if x is None or isinstance(x, (bool, int, str, bytes, complex)):
        return type(x).__name__, repr(x)
    if depth < 50 and isinstance(x, (list, tuple)):
        return type(x).__name__, [frozen(v, depth + 1) for v in x]
    if depth < 50 and isinstance(x, dict):
        return "dict", [(repr(k), frozen(v, depth + 1)) for k, v in x.items()]
    if isinstance(x, Cell):
        return "Cell", [(p.name, frozen(p)) for p in x.get_parameters()]
    return None


class Comparison:
    """A cell run plain and captured, in turn, from the same state. plain, captured: Timing of the whole cell, both
    warm; speedup: the Ratio of the two;
    cold: seconds of the first run of each, with what it compiles; graphs: how many ran in a captured run; different:
        names whose values differ; report: a Report of the functions, or None."""

    plain: Any
    captured: Any
    cold: Any
    graphs: Any
    report: Any
    compared: Any
    different: Any
    output_differs: Any

    def __init__(self, plain_times: Any, captured: Any, cold: Any, graphs: Any, compared: Any, different: Any,
                 output_differs: Any, report: Any = None) -> None:
        self.plain, self.captured, self.cold, self.graphs, self.report = plain_times, captured, cold, graphs, report
        self.speedup: Ratio = ratio(plain_times, captured)
        self.compared, self.different, self.output_differs = compared, different, output_differs

    @property
    def same(self) -> bool:
        """Whether all that was compared has the same bits."""
        return not self.different and not self.output_differs

    def _verdict(self):
        what = [*self.different, *(["what it prints"] if self.output_differs else [])]
        return f"the same bits in all {self.compared} values compared" if self.same else f"DIFFERENT: {', '.join(what)}"

    def headline(self) -> str:
        """What the times say, in words."""
        if not self.graphs:
            return "nothing in it was captured (functions that work on Tensors, arrays or numbers are)"
        s = self.speedup
        if len(self.plain.samples) < 3:
            return f"{s.value:.2f} times as fast captured, by {len(self.plain.samples)} runs each"
        if s.low <= 1 <= s.high:
            return f"no difference that was measured ({s.low:.2f} to {s.high:.2f} times as fast captured)"
        return f"{s.value:.2f} times as fast captured ({s.low:.2f} to {s.high:.2f})"

    def __repr__(self) -> str:
        plainly, captured = self.cold
        text = (f"{self.headline()}: {seconds(self.captured.median)} ({seconds(captured)} the first time), plain "
                f"{seconds(self.plain.median)} "
                f"({seconds(plainly)} the first time); {self._verdict()}")
        return text + (f"\n{self.report!r}" if self.report is not None and self.report.rows else "")

    def _repr_html_(self):
        plainly, captured = self.cold
        rows = [("plain", self.plain.median, seconds(self.plain.median), REST),
                ("captured", self.captured.median, seconds(self.captured.median), "#2a78d6"),
                ("plain, first time", plainly, seconds(plainly), "#c9c6bd"),
                ("captured, first time", captured, seconds(captured), "#86b6ef")]
        verdict = f'<p class="{"pj-good" if self.same else "pj-bad"}">{escape(self._verdict())}</p>'
        shown = tiles([(f"{self.speedup.value:.2f} ×",
                        f"as fast captured, the whole cell; 95 % interval {self.speedup.low:.2f} to "
                        f"{self.speedup.high:.2f}")]) \
            if self.graphs else ""
        below = self.report._repr_html_() if self.report is not None and self.report.rows else ""
        return fragment(f"<p>{escape(self.headline())}</p>" + shown + bars(rows) + verdict) + below


class _Cell:
    """A cell's code, compiled once for each way: what is known of its functions holds for further runs."""

    def __init__(self, session: Any, cell: Any) -> None:
        self.session, shell = session, session.shell
        text = shell.transform_cell(cell)
        self.name = shell.compile.cache(text, shell.execution_count, raw_code=cell)
        self.flags = shell.compile.flags
        self.ways = {captured: self._compiled(text, captured) for captured in (False, True)}

    def _compiled(self, text, captured):
        tree = ast.parse(text, self.name)
        last = tree.body.pop().value if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        if captured:
            tree = ast.fix_missing_locations(_Decorated().visit(tree))
        value = compile(ast.Expression(last), self.name, "eval", self.flags) if last is not None else None
        return compile(tree, self.name, "exec", self.flags), value

    def run(self, captured: Any) -> tuple[float, Any | None]:
        """Runs it in the shell's names; (seconds, the last expression's value)."""
        __tracebackhide__ = True
        shell = self.session.shell
        code, value = self.ways[captured]
        if captured:
            shell.user_ns[_FRONT] = self.session.front
        begin = time.perf_counter()
        exec(code, shell.user_global_ns, shell.user_ns)
        result = eval(value, shell.user_global_ns, shell.user_ns) if value is not None else None
        return time.perf_counter() - begin, result


def compare(session: Any, cell: Any) -> tuple[Comparison, Any | None]:
    """Runs a cell plain and captured, each time from the same state: once each to compile, once to tell functions
    apart, then in turn for about a second, at most 15 times each and at least once. Leaves what the last run, a
    captured one, gives."""
    __tracebackhide__ = True
    from IPython.utils.capture import capture_output
    names = session.shell.user_ns
    code = _Cell(session, cell)
    state = _State(names)
    before = {k: id(v) for k, v in names.items()}

    def outcome(result):
        changed = {k: frozen(v) for k, v in names.items() if not k.startswith("_")
                   and (before.get(k) != id(v) or isinstance(v, (Tensor, list, dict)))}
        changed["the result"] = frozen(result)
        changed |= {f"Tensor {i} that was there before": frozen(t) for i, (t, _) in enumerate(state.tensors)}
        return changed

    def run(captured):
        state.restore(names)
        with capture_output() as printed:
            if not captured:
                with plain():
                    took, result = code.run(captured=False)
            else:
                took, result = code.run(captured=True)
        return took, result, printed

    watching, enabled = session.watching, session.enabled
    session.watching = False
    others = session.alive()
    for f in others:
        _C.watch(f, None)
    try:
        first_plain, result, printed = run(captured=False)
        want = outcome(result)
        session.enable(True)
        runs = _C.graphs_run()
        first, result, again = run(captured=True)
        graphs = _C.graphs_run() - runs
        fronted = session.alive()[len(others):]
        report = None
        with _Known(session, fronted):
            if first_plain + first < 2:
                report = _functions(session, fronted, run)
            times = {False: [], True: []}
            end = time.perf_counter() + 1.0
            while not times[True] or (time.perf_counter() < end and len(times[True]) < 15):
                for way in (False, True):
                    session.enable(way)
                    took, result, again = run(captured=way)
                    times[way].append(took)
    finally:
        session.watching = watching
        session.enable(enabled)
        for f in session.alive():
            if watching and (session.on or f in others):
                session.watch(f)
    got = outcome(result)
    again.show()
    different = [k for k in {**want, **got} if want.get(k) != got.get(k)]
    compared = sum(v is not None for v in want.values())
    return Comparison(Timing.of(times[False]), Timing.of(times[True]), (first_plain, first), graphs, compared,
                      different,
                      printed.stdout != again.stdout, report), result


def _functions(session, fronted, run):
    """A Report of a cell's functions, from a run in which some of their calls are plain."""
    kept, session.figures = session.figures, {}
    regions = _regions()
    for f in fronted:
        session.watch(f)
    try:
        run(captured=True)
        return Report(fronted, [session.figures], regions)
    finally:
        session.figures = kept
        for f in fronted:
            _C.watch(f, None)


class _Known:
    """Under it a cell's functions are those that the run before captured, if their code is the same."""

    def __init__(self, session: Any, functions: Any) -> None:
        self.session = session
        self.known = {f.__code__: f for f in functions}

    def __enter__(self) -> None:
        self.before = self.session.front

        def front(f: Any) -> Any:
            old = self.known.get(getattr(f, "__code__", None))
            if old is None or f.__closure__ or old.__closure__:
                return self.before(f)
            old.__defaults__, old.__kwdefaults__ = f.__defaults__, f.__kwdefaults__
            return old
        self.session.front = front

    def __exit__(self, *error: Any) -> None:
        del self.session.front


# --- the extension ---

_session = None


def _usage(message):
    """What IPython shows as one line."""
    from IPython.core.error import UsageError
    return UsageError(message)


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext pijit` calls."""
    global _session
    if _session is not None and _session.shell is shell:
        return
    session = _session = Session(shell)
    shell.input_transformers_cleanup.append(_without_magic)
    shell.ast_transformers.append(session)
    shell.events.register("pre_run_cell", session.before_cell)
    shell.events.register("post_run_cell", session.after_cell)

    def pijit(line, cell=None):
        """%pijit on|off|status, or %%pijit above a cell."""
        if cell is not None:  # another magic ran it: %%pijit is taken off cells before that
            raise _usage(f"%%pijit takes no arguments, but got {line!r}" if line.strip()
                         else "%%pijit must be at the beginning of a cell")
        return _line(session, line.strip())

    def pijit_profile(line):
        """%pijit_profile expression: where the time of the expression goes, plain and captured."""
        return _profiled(session, line)

    def pijit_compare(line, cell):
        """%%pijit_compare above a cell: runs it plain and captured, several times each, and compares the bits of all
        results."""
        __tracebackhide__ = True
        if line.strip():
            raise _usage(f"%%pijit_compare takes no arguments, but got {line!r}")
        try:
            text = shell.transform_cell(cell)
            shell.compile.ast_parse("\n" + text,
                                    shell.compile.cache("\n" + text, shell.execution_count,
                                                        raw_code=shell.user_ns.get("In", [cell])[-1]))
        except SyntaxError:
            shell.showsyntaxerror()
            return None
        comparison, result = compare(session, cell)
        display(comparison)
        return result

    shell.register_magic_function(pijit, "line_cell", "pijit")
    shell.register_magic_function(pijit_profile, "line", "pijit_profile")
    shell.register_magic_function(pijit_compare, "cell", "pijit_compare")
    _C.set_progress(session.show_progress, [t.ident for t in threading.enumerate()])


def unload_ipython_extension(shell: Any) -> None:
    """What `%unload_ext pijit` calls."""
    global _session
    if _session is None:
        return
    _session.enable(False)
    shell.input_transformers_cleanup.remove(_without_magic)
    shell.ast_transformers.remove(_session)
    shell.events.unregister("pre_run_cell", _session.before_cell)
    shell.events.unregister("post_run_cell", _session.after_cell)
    for kind, name in (("line", "pijit"), ("cell", "pijit"), ("line", "pijit_profile"), ("cell", "pijit_compare")):
        shell.magics_manager.magics[kind].pop(name, None)
    _C.set_progress(None, [])
    _session = None


def _without_magic(lines):
    """A cell without its `%%pijit`: an empty line, so that all others keep their numbers. Another magic must be the
    first line."""
    for i, line in enumerate(lines):
        if not line.strip():
            continue
        if line.split() != ["%%pijit"]:
            return lines
        rest = lines[i + 1:]
        return rest if rest and rest[0].startswith("%%") else lines[:i] + ["\n"] + rest
    return lines


def _line(session, word):
    if word == "on":
        session.on = True
        session.enable(True)
        print("pijit: functions that cells define from now on are captured when they are called.")
    elif word == "off":
        session.on = False
        session.enable(False)
        for f in session.alive():
            _C.watch(f, None)
        print("pijit: off for cells from now on.")
    elif word in ("", "status"):
        print(f"pijit: {'on' if session.on else 'off'}.")
        return Report(session.alive(), [*session.earlier, session.figures])
    else:
        raise _usage(f"%pijit takes on, off or status, but got {word!r}")
    return None


def _profiled(session, line):
    """A profile of an expression: of the call, if that is what it is, so that the function is captured anew."""
    __tracebackhide__ = True
    from pijit.profiling import profile
    names = session.shell.user_ns
    if not line.strip():
        raise _usage("usage: %pijit_profile expression, such as %pijit_profile step(x)")
    try:
        tree = ast.parse(line.strip(), "%pijit_profile", "eval")
    except SyntaxError as e:
        raise _usage(f"usage: %pijit_profile expression; this is none: {e.msg}") from None
    call = tree.body
    if isinstance(call, ast.Call):
        def value(node):
            return eval(compile(ast.Expression(node), "%pijit_profile", "eval"), names)
        args = []
        for a in call.args:
            args += list(value(a.value)) if isinstance(a, ast.Starred) else [value(a)]
        kwargs = {}
        for k in call.keywords:
            kwargs |= value(k.value) if k.arg is None else {k.arg: value(k.value)}
        fn = value(call.func)
        if not isinstance(fn, type) and not {"compare", "seconds"} & set(kwargs):
            return profile(fn, *args, **kwargs)
    made = eval(f"lambda: ({line.strip()})", names)
    made.__qualname__ = line.strip()
    return profile(made)
