"""Programs drawn as SVG: a box per kernel, lines where one reads what another wrote; insides of branches and loops are
folded."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from pijit.trace import short

if TYPE_CHECKING:
    from typing import Any

_WIDTH, _HEIGHT, _GAP, _RISE = 250, 58, 22, 34
_MOST = 150  # boxes; beyond that, kernels of one source line share a box


def graph_svg(program: Any, names: tuple[Any, ...] = (), prefix: str = "") -> str:
    """SVG of a program as `explain` describes it; names: of its inputs. Boxes are numbered as `prefix` and their
    place."""
    boxes = _folded([{"label": f"{prefix}{i}", **k, "regions": k["regions"]} for i, k in enumerate(program["kernels"])])
    if not boxes:
        return (
            '<p class="pj-soft" style="padding:8px 12px;margin:0">No kernels: what it gives is known at capture, or '
            'an input.</p>')
    inputs = {slot: (names[i] if i < len(names) else type_) for i, (slot, type_) in enumerate(program["inputs"])}
    maker, layers, level = {}, [], {}
    for n, b in enumerate(boxes):
        before = {maker[s] for s in b["in"] if s in maker and maker[s] != n}
        b["before"] = sorted(before)
        level[n] = max((level[m] + 1 for m in before), default=0)
        for s in b["out"]:
            maker[s] = n
        while len(layers) <= level[n]:
            layers.append([])
        layers[level[n]].append(n)
    at = {}
    for layer in layers:
        def middle(n):
            above = [at[m] for m in boxes[n]["before"] if m in at]
            return sum(above) / len(above) if above else len(at)
        layer.sort(key=middle)
        for i, n in enumerate(layer):
            at[n] = i - (len(layer) - 1) / 2
    wide = max(len(layer) for layer in layers)
    width = wide * (_WIDTH + _GAP) + _GAP
    height = len(layers) * (_HEIGHT + _RISE) + _RISE / 2

    def corner(n):
        return (width - _WIDTH) / 2 + at[n] * (_WIDTH + _GAP), level[n] * (_HEIGHT + _RISE) + _RISE / 4

    results = {s for s, _ in program["outputs"]}
    lines, rects = [], []
    for n, b in enumerate(boxes):
        x, y = corner(n)
        for m in b["before"]:
            fx, fy = corner(m)
            fx, fy, tx = fx + _WIDTH / 2, fy + _HEIGHT, x + _WIDTH / 2
            bend = max(16, (y - fy) / 2)
            lines.append(
                f'<path d="M{fx:.0f} {fy:.0f}C{fx:.0f} {fy + bend:.0f} {tx:.0f} {y - bend:.0f} {tx:.0f} {y:.0f}"/>')
        reads = [inputs[s] for s in dict.fromkeys(b["in"]) if s in inputs]
        second = ((f"reads {', '.join(reads)}" if reads else b["detail"].rpartition("→ ")[2]) +
                  ("  → result" if results & set(b["out"]) else ""))
        third = (short(b["places"][0]) + (f" and {len(b['places']) - 1} more lines" if len(b["places"]) > 1 else "")
                 if b["places"] else "")
        about = escape("\n".join([", ".join(b["ops"]), b["detail"], b["kernel"], *map(short, b["places"][:20])]))
        fill = "var(--tint)" if b["regions"] else "var(--card)"
        rects.append(
            f'<g transform="translate({x:.0f} {y:.0f})"><title>{about}</title><rect width="{_WIDTH}" '
            f'height="{_HEIGHT}" rx="6" fill="{fill}" stroke="var(--line)"/>'
                     f'<text x="10" y="18" font-weight="600">{escape(_cut(b["label"] + "  " + b["name"], 34))}</text>'
                     f'<text x="10" y="34" opacity=".75">{escape(_cut(second, 38))}</text><text x="10" y="50" '
                     f'opacity=".55">{escape(_cut(third, 38))}</text></g>')
    svg = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 '
           f'{width:.0f} {height:.0f}" role="img" aria-label="graph of '
           f'{len(boxes)} kernels" font-family="system-ui,sans-serif" font-size="12"><g fill="none" '
           f'stroke="var(--soft)" stroke-opacity=".6">{"".join(lines)}</g>{"".join(rects)}</svg>')
    below = []
    for b in boxes:
        for i, r in enumerate(b["regions"]):
            what = (("condition", "body", "gradient of the body")[i] if b["name"] in ("while_loop", "while_gradient")
                    else ("where true", "where false")[i] if len(b["regions"]) == 2 else f"region {i}")
            below.append(
                f"<details><summary>{escape(b['label'])} {escape(b['name'])}: {what} <span "
                f"class='pj-tag'>{len(r['kernels'])} kernels</span></summary>"
                         f'<div class="pj-scroll">{graph_svg(r, prefix=b["label"] + ".")}</div></details>')
    return svg + "".join(below)


def _cut(text, most):
    return text if len(text) <= most else text[:most - 1] + "…"


def _folded(boxes):
    """The boxes, where they are too many one per run of kernels that begin on the same line."""
    if len(boxes) <= _MOST:
        return boxes
    out = []
    for b in boxes:
        same = out and not b["regions"] and not out[-1]["regions"] and out[-1]["places"][:1] == b["places"][:1]
        if not same:
            out.append({**b, "count": 1})
            continue
        last = out[-1]
        last["count"] += 1
        last["out"] = last["out"] + b["out"]
        last["in"] = last["in"] + [s for s in b["in"] if s not in last["out"]]
        last["ops"] = last["ops"] + b["ops"]
        last["places"] = list(dict.fromkeys(last["places"] + b["places"]))
        last["name"] = f"{last['count']} kernels"
    return out
