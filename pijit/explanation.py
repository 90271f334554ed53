"""`explain`: what was captured of a function, what was not, and why; as text, and as a page."""

from __future__ import annotations

import ast
import functools
import linecache
import os
import re
from typing import TYPE_CHECKING

from pijit import _C
from pijit.jit import jit, jitted_call
from pijit.trace import short, shorten

if TYPE_CHECKING:
    from typing import Any

_LIBRARY = os.path.dirname(__file__) + os.sep

@functools.lru_cache(256)
def _functions(source):
    """(first line, last line, name) of the functions in a text, and its lines."""
    lines = source.splitlines(keepends=True)
    found = []
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return found, lines
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno] + [d.lineno for d in node.decorator_list])
            found.append((first, node.end_lineno, node.name))
        elif isinstance(node, ast.Lambda):
            found.append((node.lineno, node.end_lineno, "lambda"))
    return found, lines


def _source_of(path):
    return _functions("".join(linecache.getlines(path)))


def _split(place):
    path, _, line = place.rpartition(":")
    return (path, int(line)) if line.isdigit() else (place, 0)


def _line(place):
    path, line = _split(place)
    return linecache.getline(path, line).strip()


def _is_own(place):
    return place.startswith(_LIBRARY)


# Of a loop that goes on after its body broke.
ITERATORS = r"iterator|(range|list|tuple|enumerate|zip|dict_\w+|set|str\w*)_?iterator|enumerate|zip"
RECURSION = "it calls itself, and recursion on numbers and containers is CPython's"


class Break:
    """Where and why a graph ends: id (of its page in docs/breaks), place ("file:line"), where (the same for people),
    reason, detail, hint, source, count (captures)."""

    id: str
    place: Any
    reason: Any
    detail: Any
    count: int
    where: Any
    source: str

    def __init__(self, data: Any, count: int = 1) -> None:
        self.place, self.reason, self.detail, self.count = data["location"], data["reason"], data["detail"], count
        self.where, self.source = short(self.place), _line(self.place)
        inner = re.search(r"in (\S+:\d+)$", self.detail)
        self.inner: Any = inner[1] if inner and not _is_own(inner[1]) else None  # of an inlined function
        self.hint: Any = _instead_of_numpy(self.detail) or data["hint"]
        self.id = data["id"]

    @property
    def why(self) -> Any:
        """Reason, detail and id."""
        told = f" ({shorten(self.detail)})" if self.detail else ""
        return self.reason + told + (f" [{self.id}]" if self.id else "")


@functools.lru_cache(256)
def _instead_of_numpy(detail):
    """What does on Tensors what a function or method of NumPy's does; empty where there is nothing by its name."""
    from pijit import Tensor, numpy
    found = re.match(r"numpy\.((?:\w+\.)*)(\w+)(?:\(\))?$", detail)
    if found is None:
        return ""
    where, name = found.groups()
    if where == "ndarray." and hasattr(Tensor, name):
        return (
            f"NumPy's arrays are computed by CPython. A Tensor has {name}(), too: leave out asnumpy(), or make a "
            f"Tensor of the array before the call")
    if where == "" and callable(getattr(numpy, name, None)):
        return f"NumPy runs in CPython: pijit.numpy.{name} computes the same of Tensors, in a graph"
    return ""


def breaks_of(data: Any) -> Any:
    """Breaks as dicts, each place and reason once, without those that follow from another; what helps is said at the
    first that it helps with."""
    counts = {}
    for b in data:
        key = b["location"], b["reason"], b["detail"]
        counts[key] = (b, counts.get(key, (b, 0))[1] + 1)
    breaks = [Break(b, n) for b, n in counts.values() if not _is_consequence(b, data)]
    said = set()
    for b in breaks:
        if b.hint in said:
            b.hint = ""
        said.add(b.hint)
    return breaks


def _is_consequence(b, breaks):
    """A loop whose body breaks goes on from there over the iterator that it has: its body's break says why."""
    if not re.fullmatch(ITERATORS, b["detail"]):
        return False
    path, line = _split(b["location"])
    return any(_split(o["location"])[0] == path and _split(o["location"])[1] >= line and o["detail"] != b["detail"]
               for o in breaks)


class Explanation:
    """What is known about a jitted function so far.

    name, calls, graph_runs, compile_count, new_sizes (programs for further sizes), compile_ms (all of that), entries
    (each with guards, graph, ops, program, kernels, calls, places), breaks (each with reason, detail, location, hint),
    misses (guards that led to another capture: where, guard, old and new value), callees (undecorated functions that
    were captured on their own because a break ran them: each with where, compile_count, calls, graph_runs, breaks,
    misses), regions (loops over numbers that became machine code: each with lines, runs, bytes, exits, which are
    (line, whether the function returned, how often, why) where CPython went on, text, what was compiled, recursive,
    whether it is a function that calls itself, and shared_turns, how many turns of its loops threads shared; and loops
    that did not: with why, where, the line at which machine code would be left, and help, what would change that),
    slower_loops (the first and the last line of loops that were left
    to CPython within a call, as their graphs took longer).

    The text begins with what to do something about. to_html() gives or writes a page with the source, each line
    marked."""

    name: str
    calls: int
    graph_runs: int
    compile_count: int
    new_sizes: int
    compile_ms: float
    entries: list[dict[str, Any]]
    breaks: list[dict[str, Any]]
    misses: list[dict[str, Any]]
    callees: list[dict[str, Any]]
    regions: list[dict[str, Any]]
    slower_loops: list[tuple[int, int]]
    interpreted_from: list[str]
    deoptimized: str
    calls_itself: bool
    _GUARDS_SHOWN = 4

    def __init__(self, data: Any) -> None:
        self.__dict__.update(data)

    @property
    def graphs(self) -> list[Any]:
        """Graphs of all entries."""
        return [e["graph"] for e in self.entries if e["graph"]]

    @property
    def all_breaks(self) -> Any:
        """Breaks here and in the functions below, each once: a list of Break."""
        return breaks_of(self.breaks) + [b for c in self.callees for b in breaks_of(c["breaks"])]

    @staticmethod
    def _break_lines(breaks, indent):
        lines = []
        for b in breaks_of(breaks):
            lines.append(f"{indent}break at {b.where}: {b.why}" + (f", in {b.count} captures" if b.count > 1 else ""))
            if b.source:
                lines.append(f"{indent}    {b.source}")
            if b.hint:
                lines.append(f"{indent}  hint: {b.hint}")
        return lines

    @staticmethod
    def _miss_lines(misses, indent):
        lines = {}
        for m in misses:
            change = f": {m['old']} became {m['new']}" if m["old"] else f": now {m['new']}"
            lines[f"{indent}captured again at {short(m['where'])}: {unlike(m['guard'])}{change}"] = None
        return list(lines)

    def __str__(self) -> str:
        from pijit.profiling.profile import seconds
        sizes = f", {self.new_sizes} further sizes" if self.new_sizes else ""
        lines = [
            f"{self.name}: {len(self.entries)} compiled entries, {self.compile_count} captures{sizes}, "
            f"{seconds(self.compile_ms / 1e3)} to compile"]
        if not self.entries and self.calls == 0:
            lines.append("  not called yet")
        if self.deoptimized:
            lines.append(f"  deoptimized: {self.deoptimized}" +
                         (f"; {RECURSION}" if self.calls_itself else ""))
        for p in self.interpreted_from:
            lines.append(f"  from {short(p)} on CPython runs it: there is nothing for a graph")
        slower = set(self.slower_loops)
        for first, last in sorted(slower):
            if not any(a <= first and last <= b for a, b in slower - {(first, last)}):
                lines.append(f"  the loop of lines {first} to {last} runs in CPython: "
                             "its graphs took longer than NumPy's own operations would")
        for r in self.regions:
            first, last = r["lines"]
            of = f"lines {first} to {last}" if first != last else f"line {first}"
            if r["why"]:
                lines.append(f"  no machine code for the loop of {of}: at {short(r['where'])}, {r['why']}")
                if r["help"]:
                    lines.append(f"    what would help: {r['help']}")
                continue
            what = f"the function of {of}, which calls itself" if r["recursive"] else f"the loops of {of}"
            shared = f", {r['shared_turns']} turns shared by threads" if r["shared_turns"] else ""
            lines.append(f"  machine code for {what}: {r['runs']} runs{shared}")
            lines += [f"    left at line {line} for CPython, {count} times" + (f": {why}" if why else "")
                      for line, returned, count, why in r["exits"] if not returned]
        lines += self._break_lines(self.breaks, "  ")
        lines += self._miss_lines(self.misses, "  ")
        for c in self.callees:
            lines.append(
                f"  callee {shorten(c['where'])}: {c['calls']} calls, {c['graph_runs']} graph runs, "
                f"{c['compile_count']} "
                         f"captures, {len(c['breaks'])} breaks")
            lines += self._break_lines(c["breaks"], "    ")
            lines += self._miss_lines(c["misses"], "    ")
        for i, e in enumerate(self.entries):
            ops = ", ".join(f"{n} x{c}" if c > 1 else n for n, c in e["ops"])
            shown, count, more = useful(e["guards"], self._GUARDS_SHOWN)
            lines.append(
                f"  entry {i} at {short(e['where'])}: {e['calls']} calls, {e['sizes']} sizes, {e['steps']} kernels, "
                f"{count} guards")
            lines.append(f"    ops: {ops or 'none'}")
            lines += [f"    guard: {g}" for g in shown]
            if more:
                lines.append(f"    and {more} more, in entries[{i}]['guards']")
        return "\n".join(lines)

    __repr__ = __str__

    def body(self, title: bool = True, profile: Any = None) -> str:
        """The HTML that a page or a notebook shows; with a Profile, times stand beside the source."""
        from pijit.profiling.explain_html import body
        return body(self, title, profile)

    def _repr_html_(self):
        from pijit.profiling.html import fragment
        return fragment(self.body())

    def to_html(self, path: str | None = None) -> str | None:
        """A page that needs nothing else: written to `path`, or given as a str."""
        from pijit.profiling.html import page
        from pijit.profiling.profile import _written
        return _written(path, page(f"explanation of {self.name}", self.body()))


_SIGNS = {"add": ast.Add, "sub": ast.Sub, "mul": ast.Mult, "truediv": ast.Div, "floordiv": ast.FloorDiv, "mod": ast.Mod,
          "pow": ast.Pow,
          "matmul": ast.MatMult, "and_": ast.BitAnd, "or_": ast.BitOr, "xor": ast.BitXor, "lshift": ast.LShift,
          "rshift": ast.RShift}
_COMPARED = {"lt": ast.Lt, "le": ast.LtE, "gt": ast.Gt, "ge": ast.GtE, "eq": ast.Eq, "ne": ast.NotEq}


class _Signs(ast.NodeTransformer):
    """Operators' functions as their signs; what has no name of the user's own as such."""

    def visit_Call(self, node: Any) -> Any:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name in _SIGNS and len(node.args) == 2:
            return ast.BinOp(node.args[0], _SIGNS[name](), node.args[1])
        if name in _COMPARED and len(node.args) == 2:
            return ast.Compare(node.args[0], [_COMPARED[name]()], [node.args[1]])
        if name == "neg" and len(node.args) == 1:
            return ast.UnaryOp(ast.USub(), node.args[0])
        return node

    def visit_Name(self, node: Any) -> Any:
        return ast.Name("(a value of this line)") if re.fullmatch(r"stack\d+", node.id) else node


@functools.lru_cache(4096)
def readable(guard: Any) -> Any:
    """A guard in the user's words: `x + 2 > 0` for gt(add(x, 2), 0). The middle of a long one is left out."""
    most, end = 200, 60
    text = re.sub(r"<function (\S+) at 0x[0-9a-f]+>", r"\1", _in_operators(guard))
    text = re.sub(r"\b(\w+)\.cell_contents\b", r"\1", _CELL.sub(r"\1", text))
    return text if len(text) <= most else f"{text[:most - end]} … {text[-end:]}"


def _in_operators(guard):
    text = shorten(guard)
    if "stack" not in text and not any(f"{name}(" in text for name in (*_SIGNS, *_COMPARED, "neg")):
        return text
    try:
        text = ast.unparse(_Signs().visit(ast.parse(text, mode="eval")))
        return text.replace("((a value of this line))", "(a value of this line)")
    except (SyntaxError, RecursionError, ValueError):
        return text


def unlike(guard: Any) -> str:
    """That a guard did not hold."""
    text = readable(guard)
    return text[4:] if text.startswith("not ") else f"not {text}"


_CELL = re.compile(r"\bclosure\.(\w+)\.cell_contents\b")
_CAPTURED = re.compile(_CELL.pattern + r" == .*")


def useful(guards: list[str], most: int | None = None) -> tuple[list[str], int, int]:
    """Guards in the user's words, at most so many lines; how many guards there are; how many these lines don't say.

    First come those about the user's values, last those about Python's own classes and modules. What holds of frames
    alone (cells, names that are not bound yet) is no line; variables of enclosing functions share one. A guard that is
    there twice, or that another one says as well, counts as one with it."""
    def rank(g):
        if ".shape ==" in g or " == " in g and not g.startswith("type("):
            return 0
        return 2 if g.endswith(" unchanged") or "__code__" in g else 1
    ranked = sorted(dict.fromkeys(guards), key=rank)
    captured = " and ".join(readable(g) for g in ranked if _CAPTURED.fullmatch(g))
    said, count = {}, 0  # by line: the guards that it says
    for g in ranked:
        if g.endswith((") is cell", " is unbound")):
            count += 1
            continue
        fullest = max((other for other in ranked if other.startswith(g + " and ")), key=len, default=g)
        said.setdefault(captured if _CAPTURED.fullmatch(fullest) else readable(fullest), set()).add(fullest)
    lines = list(said)[:most]
    count += sum(map(len, said.values()))
    return lines, count, count - sum(len(said[line]) for line in lines)


def explain(f: Any, *args: Any, **kwargs: Any) -> Explanation:
    """An Explanation of a jitted function, or of one that a jitted function called across a break.

    With arguments, f is called with them first; one that is not jitted is captured for that call alone. As text by
    print, as a page by to_html(path), as the last line of a notebook's cell by itself. TypeError for anything else."""
    if args or kwargs:
        f = f if isinstance(jitted_call(f), _C.JitFunction) else jit(f)
        f(*args, **kwargs)
        f = getattr(f, "__func__", f)
    f = jitted_call(f)
    return Explanation({**_C.explain(f), "calls_itself": _calls_itself(f)})


def _calls_itself(f):
    code = f.__code__
    return code.co_name in (*code.co_names, *code.co_freevars)
