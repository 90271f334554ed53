"""The page of an Explanation: source with each line marked, breaks, guards that failed, graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit.explanation import _is_own, _source_of, _split, breaks_of, readable, useful
from pijit.profiling.html import escape, place, table, tiles
from pijit.profiling.svg import graph_svg
from pijit.trace import short, short_path, shorten

if TYPE_CHECKING:
    from typing import Any


def body(x: Any, title: bool = True, profile: Any = None) -> str:
    """HTML of an Explanation; its source has the times of a Profile's lines beside it."""
    breaks = x.all_breaks
    out = []
    if title:
        out.append(f"<h1>{escape(x.name)}</h1>")
        from pijit.profiling.profile import seconds
        kernels = sum(e["steps"] for e in x.entries)
        figures = [(str(len([e for e in x.entries if e["graph"]])), f"graphs, of {kernels} kernels"),
                   (str(len(breaks)), "places where graphs break"),
                   (f"{x.calls}", f"calls, {x.graph_runs} graph runs"),
                   (seconds(x.compile_ms / 1e3), f"in {x.compile_count} captures")]
        out.append(tiles(figures))
        if not x.entries:
            out.append('<p class="pj-soft">Nothing is captured' +
                       (": it was not called yet." if x.calls == 0 else ": there is nothing for a graph.") + "</p>")
    if breaks:
        out.append("<h2>Why graphs break</h2>" + table(
            [("line", ""), ("source", "pj-mono pj-hide"), ("why, and what helps", "")],
            [(place(b.where), escape(b.source),
              escape(b.why) + (f'<br><span class="pj-hint">{escape(b.hint)}</span>' if b.hint else ""))
             for b in breaks]))
    misses = list({(m["where"], m["guard"], m["old"], m["new"]): m
                   for m in x.misses + [m for c in x.callees for m in c["misses"]]}.values())
    if misses:
        out.append("<h2>Why it was captured again</h2>" + table(
            [("from", ""), ("guard that did not hold", "pj-mono"), ("captured for", "pj-mono"),
             ("then came", "pj-mono")],
            [(place(m["where"]), escape(readable(m["guard"])), escape(m["old"]), escape(m["new"])) for m in misses]))
    out.append(_sources(x, breaks, profile))
    if x.callees:
        out.append("<h2>Functions below breaks</h2>" + table(
            [("function", ""), ("calls", "pj-num"), ("graph runs", "pj-num"), ("captures", "pj-num"),
             ("breaks", "pj-num")],
            [(f"<code>{escape(shorten(c['where']))}</code>", c["calls"], c["graph_runs"], c["compile_count"],
              len(breaks_of(c["breaks"]))) for c in x.callees]))
    if x.entries:
        out.append("<h2>Graphs and guards</h2>")
        out += [_entry(i, e, opened=i == 0 and len(x.entries) == 1 and title) for i, e in enumerate(x.entries)]
    return "".join(out)


def _entry(i, e, opened):
    n = e["steps"]
    lines, count, more = useful(e["guards"])
    head = (
        f"entry {i} at {escape(short(e['where']))} <span class='pj-tag'>{e['calls']} calls</span> <span "
        f"class='pj-tag'>{n} kernels</span> <span class='pj-tag'>{count} guards</span>")
    ends = "" if e["complete"] else f"<p>It ends in a break at {place(e['ends_at'])}.</p>"
    parts = [ends]
    if e["kernels"] is not None:
        parts.append(f'<div class="pj-scroll">{graph_svg(e["kernels"], e["input_names"], prefix=f"{i}.")}</div>')
        parts.append(_folded("graph as text", f"<pre>{escape(shorten(e['graph']))}</pre>"))
    guards = "\n".join([*lines, f"and {more} more, in entries[{i}]['guards']"] if more else lines)
    parts.append(_folded(f"{count} guards", f"<pre>{escape(guards)}</pre>"))
    return f"<details{' open' if opened else ''}><summary>{head}</summary><div>{''.join(parts)}</div></details>"


def _folded(summary, inner):
    return f"<details><summary>{summary}</summary>{inner}</details>"


def _sources(x, breaks, profile):
    """The functions that capture went through, line by line."""
    kernels, visited, broken = {}, set(), {}
    for i, e in enumerate(x.entries):
        visited.update(e["places"])
        for k, kernel in enumerate(e["kernels"]["kernels"] if e["kernels"] else []):
            for p in _places(kernel):
                kernels.setdefault(p, []).append((f"{i}.{k}", kernel))
    for c in x.callees:
        visited.update(c["places"])
    for b in breaks:
        broken.setdefault(b.place, []).append(b)
        if b.inner:
            broken.setdefault(b.inner, []).append(b)
    times = {t.place: t for t in profile.lines} if profile else {}
    own = x.entries[0]["where"] if x.entries else None
    shown = _functions_at([own] if own else [], visited | set(broken) | set(times))
    if not shown:
        return outside(profile, []) if profile else ""
    out = ["<h2>Source</h2>",
           '<p class="pj-soft"><span class="pj-tag" style="background:var(--in)">in a graph</span> <span '
           'class="pj-tag" '
           'style="background:var(--br)">a graph breaks</span> <span class="pj-tag" '
           'style="background:var(--py)">interpreted</span> '
           '<span class="pj-tag">settled at capture, and guarded</span></p>']
    for path, first, last, lines in shown:
        rows = []
        reached = {_split(p)[1] for p in visited if _split(p)[0] == path}
        known = any(first <= r <= last for r in reached | {_split(b)[1] for b in broken if _split(b)[0] == path})
        code_lines = _statements(lines, first, last)
        for number in range(first, last + 1):
            p = f"{path}:{number}"
            rows.append(_row(number, lines[number - 1].rstrip("\n"), kernels.get(p, []), broken.get(p, []),
                             number in reached,
                             number in code_lines and known, profile and _time_cells(times.get(p), profile)))
        out.append(_listing(path, rows, profile))
    return "".join(out) + (outside(profile, shown) if profile else "")


def timed_source(profile: Any) -> str:
    """The functions whose lines take time in a Profile, with these times; for one without an Explanation."""
    times = {t.place: t for t in profile.lines}
    shown = _functions_at([], set(times))
    out = ["<h2>Source</h2>"] if shown else []
    for path, first, last, lines in shown:
        rows = [_row(n, lines[n - 1].rstrip("\n"), [], [], True, False, _time_cells(times.get(f"{path}:{n}"), profile))
                for n in range(first, last + 1)]
        out.append(_listing(path, rows, profile))
    return "".join(out) + (outside(profile, shown) if times else "")


def _functions_at(first, places):
    """(path, first line, last line, lines of the file) of the functions around places, those of `first` first; none of
    this package."""
    blocks = {}
    for p in first + sorted(places, key=_split):
        path, line = _split(p)
        if _is_own(p):
            continue
        functions, lines = _source_of(path)
        around = [f for f in functions if f[0] <= line <= f[1]]
        if not lines or line > len(lines):
            continue
        # a lambda is shown with what stands around it
        inner = (max((f for f in around if f[2] != "lambda"), key=lambda f: f[0], default=None)
                 or max(around, key=lambda f: f[0], default=(line, line, "")))
        blocks.setdefault((path, inner[0], inner[1]), lines)
    shown = [k for k in blocks if not any(o != k and o[0] == k[0] and o[1] <= k[1] and k[2] <= o[2] for o in blocks)]
    return [(*k, blocks[k]) for k in shown[:30]]


def _listing(path, rows, profile):
    columns = "".join(f'<th class="pj-num">{c}</th>' for c, _ in _columns(profile)) if profile else ""
    head = (f'<thead><tr><th></th><th></th>{columns}<th class="pj-num">share</th><th></th></tr></thead>'
            if profile else "")
    return (f'<p class="pj-soft" style="margin-top:10px"><code>{escape(short_path(path))}</code></p><div '
            f'class="pj-scroll"><table class="pj-src pj-mono">{head}'
            f'<tbody>{"".join(rows)}</tbody></table></div>')


def _columns(profile):
    """(Name, attribute) of the kinds of time that some line has."""
    return [(name, a) for name, a in (("graph", "graph"), ("single ops", "ops"), ("Python", "python"))
            if any(getattr(t, a) for t in profile.lines)]


def _time_cells(t, profile):
    """What a line takes, as cells."""
    from pijit.profiling.profile import seconds
    cells = ([seconds(getattr(t, a)) if t and getattr(t, a) else "" for _, a in _columns(profile)] +
             [f"{100 * t.time / profile.wall:.1f} %" if t and profile.wall else ""])
    return "".join(f'<td class="pj-num">{c}</td>' for c in cells)


def outside(profile: Any, shown: Any) -> str:
    """What a call takes beside the lines that are shown, so that all of it is told."""
    from pijit.profiling.profile import seconds
    inside, others = 0.0, 0.0
    for t in profile.lines:
        if any(t.path == path and first <= t.number <= last for path, first, last, _ in shown):
            inside += t.time
        else:
            others += t.time
    rows = [("the lines above", inside), ("lines elsewhere", others), *profile.outside_lines(),
            ("in all", inside + others + sum(v for _, v in profile.outside_lines()))]
    return '<div style="height:8px"></div>' + table([("", ""), ("time", "pj-num"), ("share", "pj-num")], [
        (escape(name), seconds(v), f"{100 * v / profile.wall:.1f} %" if profile.wall else "") for name, v in rows if v])


def _statements(lines, first, last):
    """Lines on which a statement of the function's body begins."""
    import ast
    import textwrap
    try:
        tree = ast.parse(textwrap.dedent("".join(lines[first - 1:last])))
    except SyntaxError:
        return set()
    found = set()
    for node in ast.walk(tree):
        if (isinstance(node, ast.stmt)
            and not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal))):
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                found.add(node.lineno + first - 1)
    return found


def _places(kernel):
    """Where a kernel's ops stand, those of branches and loops too."""
    inside = [p for r in kernel["regions"] for k in r["kernels"] for p in _places(k)]
    return list(dict.fromkeys(kernel["places"] + inside))


def _ranges(names):
    """Numbers "entry.kernel" with runs joined: 0.3–5."""
    runs = []
    for entry, k in [tuple(map(int, n.split("."))) for n in names]:
        if runs and runs[-1][0] == entry and runs[-1][2] + 1 == k:
            runs[-1][2] = k
        else:
            runs.append([entry, k, k])
    return [f"{e}.{a}" if a == b else f"{e}.{a}–{b}" for e, a, b in runs]


def _row(number, text, kernels, breaks, reached, statement, times=None):
    if breaks:
        kind, note = "pj-br", "break"
    elif kernels:
        kind, note = "pj-in", ""
    elif reached:
        kind, note = "", "at capture" if statement else ""
    else:
        kind, note = ("pj-py", "interpreted, or not reached") if statement else ("", "")
    if kernels:
        names = _ranges([n for n, _ in kernels])
        title = "; ".join(f"{n}: {k['name']}" for n, k in kernels[:12])
        shown = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
        note += (", " if note else "") + f'<span title="{escape(title)}">kernel {shown}</span>'
    row = (
        f'<tr class="{kind}"><td class="pj-no">{number}</td><td><pre>{escape(text) or " "}</pre></td>{times or ""}<td '
        f'class="pj-note">{note}</td></tr>')
    for b in breaks:
        hint = f' <span class="pj-hint">{escape(b.hint)}</span>' if b.hint else ""
        row += (
            f'<tr class="pj-why"><td></td><td colspan="{2 + (times or "").count("<td")}"><span '
            f'class="pj-bad">↑</span> {escape(b.why)}.{hint}</td></tr>')
    return row
