"""Profiles drawn with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from typing import Any

COLORS = {"kernels of graphs": "#2a78d6", "between kernels": "#86b6ef", "guards": "#eda100",
          "results and effects": "#1baf7a", "calls": "#4a3aa7",
          "single ops": "#e87ba4", "Python": "#eb6834", "capture": "#8a6d3b", "optimise": "#b8975a",
          "generate kernels": "#d9c08f"}
REST = "#b5b3ac"


def figure(p: Any, count: Any) -> Any:
    """The figure of a Profile."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("plot() draws with matplotlib: pip install matplotlib. to_html() needs nothing.") from None
    rows = p.rows()[:count]
    both = [(label, t) for label, t in (("plain", p.plain), ("captured", p.captured)) if t is not None]
    sizes = ([0.5 * len(both) + 0.6] if both else []) + [0.9] + ([0.3 * len(rows) + 0.6] if rows else [])
    fig, axes = plt.subplots(len(sizes), 1, figsize=(9, sum(sizes) + 1.2), gridspec_kw={"height_ratios": sizes},
                             squeeze=False, layout="constrained")
    axes = list(axes[:, 0])
    if both:
        ax = axes.pop(0)
        for y, (label, t) in enumerate(both):
            ax.barh(y, t.median * 1e3, color="#2a78d6" if label == "captured" else REST, height=0.6)
            ax.errorbar(t.median * 1e3, y, xerr=[[(t.median - t.low) * 1e3], [(t.high - t.median) * 1e3]],
                        color="#333333", capsize=3)
        ax.set_yticks(range(len(both)), [label for label, _ in both])
        ax.invert_yaxis()
        ax.set_xlabel("ms per call (bars end at the median, whiskers hold the middle half)")
        ax.set_title(p.headline().split(": ", 1)[0] +
                     (f": {p.speedup.value:.2f} times as fast captured" if p.speedup else ""), loc="left")
    ax, left = axes.pop(0), 0.0
    for name, v in p.named_parts():
        ax.barh(0, 100 * v / p.wall, left=left, color=COLORS.get(name, REST),
                label=f"{name} {100 * v / p.wall:.0f} %" if v > 0.01 * p.wall else None)
        left += 100 * v / p.wall
    ax.set_yticks([])
    ax.set_xlim(0, 100)
    ax.set_xlabel("percent of the time")
    ax.legend(ncols=3, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
    if rows:
        ax = axes.pop(0)
        ax.barh(range(len(rows)), [r["us"] for r in rows],
                color=[COLORS["kernels of graphs" if r["captured"] else "single ops"] for r in rows])
        ax.set_yticks(range(len(rows)), [f"{r['ops']}  {r['where'].split(', ')[0]}" for r in rows], fontsize=8)
        ax.invert_yaxis()
        ax.set_xlabel("µs per call")
        for y, r in enumerate(rows):
            if r["percent"] is not None:
                ax.annotate(f" {r['percent']:.0f} % of limit", (r["us"], y), va="center", fontsize=7)
    for ax in fig.axes:
        ax.spines[["top", "right"]].set_visible(False)
    plt.close(fig)  # shown by who asks for it, once
    return fig
