"""Pages of explanations and profiles: HTML and SVG alone, no script, nothing from a network."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from pijit import trace
from pijit.profiling.plot import COLORS, REST

if TYPE_CHECKING:
    from typing import Any

escape = html.escape

STYLE = """
.pijit{--ink:#1f1e1b;--soft:#6b6a64;--line:#e3e1da;--page:#fcfcfa;--card:#fff;--tint:#f3f2ee;--blue:#2a78d6;
 --good:#0b7a3e;--warn:#b35900;
 --bad:#c02f2f;--in:#e6f0fb;--py:#fdeadd;--br:#fbdcdc;color:var(--ink);background:var(--page);
 font:14px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;text-align:left;color-scheme:light}
@media (prefers-color-scheme:dark){.pijit{--ink:#ecebe6;--soft:#a09e96;--line:#3a3935;--page:#191917;--card:#22211f;
 --tint:#2a2926;--blue:#6aa9f2;
 --good:#5cc98a;--warn:#eda95a;--bad:#f08080;--in:#1d2f45;--py:#43301f;--br:#4a2424;color-scheme:dark}}
[data-jp-theme-light="true"] .pijit,.vscode-light .pijit{--ink:#1f1e1b;--soft:#6b6a64;--line:#e3e1da;--page:#fcfcfa;
 --card:#fff;--tint:#f3f2ee;
 --blue:#2a78d6;--good:#0b7a3e;--warn:#b35900;--bad:#c02f2f;--in:#e6f0fb;--py:#fdeadd;--br:#fbdcdc;color-scheme:light}
[data-jp-theme-light="false"] .pijit,.vscode-dark .pijit{--ink:#ecebe6;--soft:#a09e96;--line:#3a3935;--page:#191917;
 --card:#22211f;--tint:#2a2926;
 --blue:#6aa9f2;--good:#5cc98a;--warn:#eda95a;--bad:#f08080;--in:#1d2f45;--py:#43301f;--br:#4a2424;color-scheme:dark}
.pijit *{box-sizing:border-box}
.pijit.pj-page{min-height:100vh;padding:28px 16px 60px}
.pijit.pj-page>main{max-width:1080px;margin:0 auto}
.pijit.pj-cell{padding:12px 14px;border:1px solid var(--line);border-radius:8px;max-width:1080px;overflow-x:auto}
.pijit h1{font-size:22px;line-height:1.25;margin:0 0 4px;font-weight:650;overflow-wrap:anywhere;color:inherit}
.pijit h2{font-size:15px;margin:26px 0 8px;font-weight:650;color:inherit}
.pijit p{margin:4px 0;color:inherit}
.pijit .pj-soft{color:var(--soft)}
.pijit code,.pijit .pj-mono{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;
 background:none;color:inherit;padding:0}
.pijit .pj-at{white-space:nowrap}
.pijit .pj-tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:10px;margin:14px 0}
.pijit .pj-tile{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 12px}
.pijit .pj-tile b{display:block;font-size:21px;line-height:1.25;font-weight:650;font-variant-numeric:tabular-nums}
.pijit .pj-tile small{display:block;color:var(--soft);font-size:12px;line-height:1.35}
.pijit .pj-bars{display:grid;grid-template-columns:max-content 1fr max-content;gap:5px 10px;align-items:center;
 margin:8px 0}
.pijit .pj-track{height:14px;border-radius:3px;background:var(--tint);position:relative;overflow:hidden;min-width:60px}
.pijit .pj-track i{position:absolute;top:0;bottom:0;left:0;border-radius:3px}
.pijit .pj-stack{display:flex;height:20px;border-radius:4px;overflow:hidden;background:var(--tint);gap:1px}
.pijit .pj-stack i{display:block;height:100%}
.pijit .pj-key{display:flex;flex-wrap:wrap;gap:2px 16px;margin:7px 0 0;padding:0;list-style:none;font-size:13px}
.pijit .pj-key i{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:6px}
.pijit .pj-scroll{overflow-x:auto;border:1px solid var(--line);border-radius:8px;background:var(--card)}
.pijit table{table-layout:auto;border-collapse:collapse;width:100%;font-size:13px;margin:0;border:0;color:inherit;
 background:none}
.pijit th{font:600 13px system-ui,sans-serif;color:var(--soft);text-align:left;padding:7px 10px;border:0;
 border-bottom:1px solid var(--line);white-space:nowrap;background:none}
.pijit td{padding:5px 10px;border:0;border-bottom:1px solid var(--line);vertical-align:top;text-align:left;
 background:none;white-space:normal;line-height:1.5;max-width:none}
.pijit tr:last-child td{border-bottom:0}
.pijit tr{background:none!important}
.pijit .pj-num{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.pijit .pj-src{width:100%;min-width:560px}
.pijit .pj-src td{border:0;padding:0 10px;line-height:1.6}
.pijit .pj-src pre{margin:0;white-space:pre;background:none;border:0;padding:0;color:inherit;font:inherit}
.pijit .pj-src .pj-no{color:var(--soft);text-align:right;user-select:none;width:1%}
.pijit .pj-src .pj-note{color:var(--soft);font-size:12px;white-space:nowrap;width:1%}
.pijit .pj-in td{background:var(--in)}.pijit .pj-py td{background:var(--py)}.pijit .pj-br td{background:var(--br)}
.pijit .pj-why td{background:var(--br);white-space:normal;padding-bottom:5px}
.pijit details{border:1px solid var(--line);border-radius:8px;background:var(--card);margin:8px 0}
.pijit summary{cursor:pointer;padding:7px 12px;font-weight:600}
.pijit details>div,.pijit details>pre{padding:2px 12px 12px}
.pijit details pre{overflow-x:auto;margin:0;
 font:12px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;background:none;border:0;
 color:inherit}
.pijit .pj-tag{display:inline-block;border-radius:4px;padding:0 6px;font-size:12px;background:var(--tint);
 color:var(--soft);white-space:nowrap}
.pijit .pj-hint{color:var(--good)}.pijit .pj-bad{color:var(--bad);font-weight:600}.pijit .pj-good{color:var(--good);
 font-weight:600}
.pijit svg{display:block;max-width:none;height:auto}
.pijit svg text{fill:var(--ink)}
@media (max-width:600px){.pijit .pj-hide{display:none}.pijit.pj-page{padding:16px 10px 40px}.pijit td,.pijit th{
 padding-left:7px;padding-right:7px}}
"""

# Jupyter's style sheet has rules for tables, code and headings of outputs, with up to two classes each: ours have
# three.
STYLE = STYLE.replace(".pijit ", ".pijit.pijit.pijit ")


def fragment(body: Any) -> str:
    """For a notebook's output."""
    return f'<div class="pijit pj-cell"><style>{STYLE}</style>{body}</div>'


def page(title: Any, body: Any) -> str:
    """A page of its own."""
    return (f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
            f'content="width=device-width,initial-scale=1">'
            f"<title>{escape(title)}</title><style>body{{margin:0}}{STYLE}</style></head>"
            f'<body class="pijit pj-page"><main>{body}</main></body></html>\n')


def tiles(items: Any) -> str:
    """Figures that stand out: (value, what it is)."""
    return ('<div class="pj-tiles">' +
            "".join(f'<div class="pj-tile"><b>{escape(v)}</b><small>{escape(label)}</small></div>'
                    for v, label in items) + "</div>")


def stack(parts: Any, total: Any, title: Any) -> str:
    """One bar of (name, seconds), and what its colours mean."""
    from pijit.profiling.profile import seconds
    parts = [(n, v) for n, v in parts if v > 0]
    total = total or 1.0
    bar = "".join(
        f'<i style="width:{100 * v / total:.2f}%;background:{COLORS.get(n, REST)}" title="{escape(n)} '
        f'{seconds(v)}"></i>' for n, v in parts)
    key = "".join(
        f'<li><i style="background:{COLORS.get(n, REST)}"></i>{escape(n)} <span class="pj-soft">{seconds(v)}, '
        f'{100 * v / total:.1f} %</span></li>'
                  for n, v in parts if v > 0.002 * total)
    return f'<div class="pj-stack" role="img" aria-label="{escape(title)}">{bar}</div><ul class="pj-key">{key}</ul>'


def bars(rows: Any) -> str:
    """(label, value, text, colour), as bars from one line."""
    most = max((v for _, v, _, _ in rows), default=0) or 1
    return '<div class="pj-bars">' + "".join(
        f'<span>{escape(label)}</span><span class="pj-track"><i style="width:{100 * v / most:.2f}%;'
        f'background:{color}"></i></span>'
        f'<span class="pj-num">{escape(text)}</span>' for label, v, text, color in rows) + "</div>"


def table(heads: Any, rows: Any) -> str:
    """A table. heads: (text, class); cells are HTML, those of class pj-mono code."""
    classes = [c.replace("pj-mono", "").strip() for _, c in heads]
    code = ["pj-mono" in c for _, c in heads]
    head = "".join(f'<th class="{c}">{escape(t)}</th>' for (t, _), c in zip(heads, classes))
    body = "".join("<tr>" +
                   "".join(f'<td class="{c}">{f"<code>{cell}</code>" if mono else cell}</td>'
                           for cell, c, mono in zip(row, classes, code)) + "</tr>"
                   for row in rows)
    return f'<div class="pj-scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def profile_html(p: Any) -> str:
    """The body of a Profile's page."""
    from pijit.profiling.profile import seconds, size
    out = [f"<h1>{escape(p.name)}</h1>"]
    figures = []
    if p.speedup is not None:
        figures.append((f"{p.speedup.value:.2f} ×",
                        f"as fast captured; 95 % interval {p.speedup.low:.2f} to {p.speedup.high:.2f}"))
    if p.captured is not None:
        figures.append((seconds(p.captured.median),
                        f"captured, per call; middle half {seconds(p.captured.low)} to {seconds(p.captured.high)}"))
    if p.plain is not None:
        figures.append((seconds(p.plain.median),
                        f"plain, per call; middle half {seconds(p.plain.low)} to {seconds(p.plain.high)}"))
    if p.captured is None:
        figures.append((seconds(p.wall), "all in all"))
    figures.append((f"{100 * p.in_graphs:.0f} %", "of the time in graphs"))
    if p.first_call:
        figures.append((seconds(sum(p.first_call.values())), "first call, with capture and compile"))
    figures.append((size(p.peak_bytes),
                    f"peak of arrays; {p.allocations:.4g} allocations{' per call' if p.calls > 1 else ''}"
                    + (f"; {size(p.packed_bytes)} packed weights" if p.packed_bytes else "")))
    out.append(tiles(figures))
    if p.plain is not None:
        out.append(bars([(label, t.median, seconds(t.median), color)
                         for label, t, color in (("plain", p.plain, REST), ("captured", p.captured, "#2a78d6"))]))
    out.append(f"<h2>Where the time goes{' in a captured call' if p.captured else ''}</h2>" +
               stack(p.named_parts(), p.wall, "where the time goes"))
    if p.pieces:
        out.append("<h2>Lines that CPython runs</h2>" + table(
            [("line", ""), ("source", "pj-mono pj-hide"), ("time", "pj-num"), ("share", "pj-num"), ("why", "")],
            [(place(x.where), escape(x.source), seconds(x.whole / p.calls), f"{100 * x.whole / p.calls / p.wall:.1f} %",
              escape(x.why))
             for x in p.pieces[:40]]))
    if p.kernels:
        out.append("<h2>Kernels</h2>" + _kernels(p))
        lim = p.limits
        out.append(
            f'<p class="pj-soft">Measured limits of this machine: {lim.flops / 1e9:.0f} GFLOP/s in products of '
            f'float32, {lim.memory / 1e9:.0f} GB/s from '
                   f"memory, {lim.cache / 1e9:.0f} GB/s from caches.</p>")
    if p.first_call:
        names = {"capture": "capture", "optimise": "optimise", "generate": "generate kernels", "run": "run"}
        out.append("<h2>First call</h2>" +
                   stack([(names[k], v) for k, v in p.first_call.items()], sum(p.first_call.values()), "first call"))
    elif p.captures:
        out.append("<h2>Captures meanwhile</h2>" + table(
            [("function", ""), ("capture", "pj-num"), ("optimise", "pj-num"), ("generate", "pj-num")],
            [(f"<code>{escape(c['function'])}</code>", seconds(c["capture"]), seconds(c["optimise"]),
              seconds(c["generate"])) for c in p.captures]))
    if p.explanation is not None:
        out.append(p.explanation.body(title=False, profile=p))
    else:
        from pijit.profiling.explain_html import timed_source
        out.append(timed_source(p))
    return "".join(out)


def _kernels(p):
    from pijit.profiling.profile import seconds
    rows = p.rows()
    most = max(r["share"] for r in rows) or 1.0
    cells = []
    for r in rows[:60]:
        percent = f"{r['percent']:.0f} %" if r["percent"] is not None else "–"
        bar = (
            f'<span class="pj-track" style="display:block;height:8px;min-width:70px;margin-top:6px"><i '
            f'style="width:{100 * r["share"] / most:.1f}%;background:var(--blue)"></i></span>')
        tag = "" if r["captured"] else ' <span class="pj-tag">single op</span>'
        cells.append((f"{escape(r['ops'])}{tag}<br><span class='pj-soft pj-mono'>{escape(r['operands'])}</span>",
                      "<br>".join(place(w) for w in r["where"].split(", ")[:4]),
                      seconds(r["us"] / 1e6), f"{100 * r['share']:.1f} %", bar, f"{r['runs']:.4g}",
                      f"{r['gb_per_s']:.1f}", f"{r['gflop_per_s']:.1f}", percent))
    if len(rows) > 60:
        cells.append((f"{len(rows) - 60} more", "", seconds(sum(r["us"] for r in rows[60:]) / 1e6), "", "", "", "", "",
                      ""))
    return table([("ops", ""), ("where", ""), ("time", "pj-num"), ("share", "pj-num"), ("", "pj-hide"),
                  ("runs", "pj-num pj-hide"), ("GB/s", "pj-num"),
                  ("GFLOP/s", "pj-num"), ("of limit", "pj-num")], cells)


def place(p: Any) -> str:
    """A place for people, as code."""
    return f'<code class="pj-at">{escape(trace.short(p))}</code>' if p else ""
