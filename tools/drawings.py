"""The drawings and charts of the site, docs/assets/<name>-{light,dark}.svg, in one style:

    python tools/drawings.py

Charts read the tables of docs/benchmarks.md. tests/python/test_site.py compares the files with what this makes."""

import pathlib
import re
import xml.sax.saxutils

ROOT = pathlib.Path(__file__).resolve().parent.parent
ASSETS = ROOT / "docs/assets"
SCHEMES = {"light": dict(ink="#1f2a30", soft="#5a676e", line="#7b8a92", graph="#d6ecf3", python="#fbe7c6",
                         plain="#eef1f3", good="#d9efd8", bar="#1c6f8a"),
           "dark": dict(ink="#e6edf0", soft="#a9b6bd", line="#7f8f98", graph="#173f4d", python="#4d3a14",
                        plain="#2a3237", good="#1f4425", bar="#5fbdd8")}
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
CODE = "ui-monospace, 'DejaVu Sans Mono', monospace"


class Drawing:
    """Shapes in the colours of one scheme, as lines of SVG."""

    def __init__(self, width, height, title, scheme):
        self.colours, self.size, self.title, self.lines = SCHEMES[scheme], (width, height), title, []

    def text(self, x, y, text, colour="ink", size=14, anchor="start", code=False, bold=False):
        self.lines.append(
            f'<text x="{x:g}" y="{y:g}" fill="{self.colours[colour]}" font-size="{size}" text-anchor="{anchor}"'
            + (f' font-family="{CODE}" xml:space="preserve"' if code else "") + (' font-weight="600"' if bold else "")
            + f">{xml.sax.saxutils.escape(text)}</text>")

    def box(self, x, y, w, h, *text, fill="plain", code=False):
        """A box with lines of text in its middle."""
        c = self.colours
        self.lines.append(f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="6" fill="{c[fill]}" '
                          f'stroke="{c["line"]}"/>')
        for n, line in enumerate(text):
            self.text(x + w / 2, y + h / 2 + 5 + (n - (len(text) - 1) / 2) * 19, line, anchor="middle", code=code)

    def arrow(self, *points, label="", at=None, anchor="start"):
        """A line through points, with a head at its end."""
        c = self.colours
        path = " ".join(f"{x},{y}" for x, y in points)
        self.lines.append(f'<polyline points="{path}" fill="none" stroke="{c["line"]}" stroke-width="1.6" '
                          'marker-end="url(#head)"/>')
        if label:
            self.text(*at, label, colour="soft", size=13, anchor=anchor)

    def svg(self):
        w, h = self.size
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}" role="img" '
                f'font-family="{FONT}">\n<title>{xml.sax.saxutils.escape(self.title)}</title>\n'
                f'<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
                f'orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{self.colours["line"]}"/></marker></defs>\n')
        return head + "\n".join(self.lines) + "\n</svg>\n"


def flow(scheme):
    d = Drawing(760, 346, "The flow of a captured function", scheme)
    d.box(20, 30, 100, 50, "f(x)", code=True)
    d.box(180, 30, 170, 50, "do the guards of", "an entry hold?")
    d.box(420, 30, 140, 50, "the graph runs:", "native kernels", fill="graph")
    d.box(620, 30, 120, 50, "effects, in", "their order", fill="good")
    d.box(620, 140, 120, 50, "result", fill="good")
    d.box(180, 150, 170, 50, "capture: follow", "the bytecode")
    d.box(420, 150, 140, 50, "compile", "the graph")
    d.box(420, 250, 320, 50, "CPython runs one instruction", "that a graph cannot hold", fill="python")
    d.box(180, 250, 170, 50, "plain Python", "for the whole call", fill="python")
    d.arrow((120, 55), (178, 55))
    d.arrow((350, 55), (418, 55), label="yes", at=(372, 47))
    d.arrow((560, 55), (618, 55))
    d.arrow((680, 80), (680, 138), label="the end", at=(690, 112))
    d.arrow((265, 80), (265, 148), label="no", at=(273, 118))
    d.arrow((350, 175), (418, 175))
    d.arrow((490, 150), (490, 82), label="a new entry", at=(500, 120))
    d.arrow((265, 200), (265, 248), label="nothing to capture", at=(273, 228))
    d.arrow((640, 80), (590, 110), (590, 248), label="a break", at=(597, 224))
    d.arrow((500, 300), (500, 332), (70, 332), (70, 82), label="then the same from the next instruction",
            at=(88, 325))
    return d


def resume(scheme):
    d = Drawing(760, 290, "A break and how the function goes on behind it", scheme)
    d.text(30, 30, "the function", bold=True)
    d.text(300, 30, "what runs at a call", bold=True)
    lines = ["def scaled(x):", "    y = tanh(x) * 2", "    log.info(y.shape)", "    z = y - y.mean()",
             "    return z / y.std()"]
    for n, line in enumerate(lines):
        d.text(30, 70 + n * 42, line, code=True)
    d.box(300, 82, 220, 44, "graph 1: tanh, mul", fill="graph")
    d.box(300, 134, 220, 36, "CPython runs this line", fill="python")
    d.box(300, 178, 220, 74, "graph 2: mean, sub, std, div", fill="graph")
    d.arrow((410, 126), (410, 133))
    d.arrow((410, 170), (410, 177))
    d.text(540, 108, "ends with what is live: y", colour="soft", size=13)
    d.text(540, 156, "one statement, y is a Tensor", colour="soft", size=13)
    d.text(540, 206, "an entry of its own,", colour="soft", size=13)
    d.text(540, 224, "with guards on y", colour="soft", size=13)
    return d


def guards(scheme):
    d = Drawing(760, 260, "Guards choose the entry", scheme)
    d.box(20, 100, 130, 50, "f(x, k)", code=True)
    rows = [("x is a float32 Tensor (n, 3)", "k is 2.0", "entry 0"),
            ("x is a float32 Tensor (n, 3)", "k is any float", "entry 1"),
            ("x is a float64 Tensor (n, 3)", "k is any float", "entry 2")]
    for n, (first, second, entry) in enumerate(rows):
        y = 20 + n * 80
        d.box(220, y, 220, 60, first, second)
        d.box(540, y + 8, 110, 44, entry, fill="graph")
        d.arrow((440, y + 30), (538, y + 30), label="all hold", at=(462, y + 22))
        d.arrow((150, 125), (185, 125), (185, y + 30), (218, y + 30))
    d.text(660, 130, "no entry:", colour="soft", size=13)
    d.text(660, 148, "capture", colour="soft", size=13)
    return d


def life(scheme):
    d = Drawing(760, 270, "The life of an entry", scheme)
    d.box(20, 40, 120, 56, "first call:", "capture")
    d.box(190, 40, 130, 56, "compile for", "these sizes")
    d.box(370, 40, 150, 56, "calls: the guards", "hold, it runs", fill="graph")
    d.box(580, 40, 160, 56, "another size: a", "program for it", fill="graph")
    d.box(370, 170, 150, 56, "timed beside", "plain calls")
    d.box(580, 170, 160, 56, "not faster: CPython", "has it back", fill="python")
    d.box(130, 170, 190, 56, "a guard fails: capture", "again, a further entry")
    d.arrow((140, 68), (188, 68))
    d.arrow((320, 68), (368, 68))
    d.arrow((520, 58), (578, 58))
    d.arrow((578, 82), (522, 82))
    d.arrow((430, 96), (430, 168))
    d.arrow((470, 170), (470, 98), label="faster", at=(478, 138))
    d.arrow((520, 198), (578, 198))
    d.arrow((390, 96), (320, 168))
    d.text(225, 248, "16 entries at most; a value that keeps changing: PB013", colour="soft", size=13, anchor="middle")
    return d


def table(heading, text=None):
    """Rows of the first table below a heading of docs/benchmarks.md: lists of cells."""
    text = text or (ROOT / "docs/benchmarks.md").read_text()
    part = text[text.index(heading):]
    rows = re.search(r"((?:^\|.*\|\n)+)", part, re.M)[1].strip().split("\n")
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


SHOWN = ("call_overhead", "numeric black_scholes 1000000", "numeric softmax", "numeric layer_norm", "mlp_step 64",
         "mlp_step 1", "lenet_step", "resnet_step", "transformer_step", "vectorisation hessian",
         "indexed topk 64 10000 10", "indexed scatter_add 1000000 1000")


def bars(scheme, rows):
    """A bar for each (name, share, peer), 1 being the peer's time."""
    d = Drawing(760, 90 + 26 * len(rows), "Time as a share of the best peer's", scheme)
    left, unit = 290, 240
    d.text(20, 28, "time as a share of the best peer's (1: as long; shorter is faster)", bold=True)
    for n, (name, share, peer) in enumerate(rows):
        y = 48 + n * 26
        d.text(left - 10, y + 14, name, size=13, anchor="end", code=True)
        d.lines.append(f'<rect x="{left}" y="{y}" width="{share * unit:.0f}" height="18" rx="3" '
                       f'fill="{d.colours["bar"]}"/>')
        d.text(left + max(share, 1) * unit + 8, y + 14, f"{share:.2f} of {peer}", size=13, colour="soft")
    bottom = 48 + 26 * len(rows)
    d.lines.append(f'<line x1="{left + unit}" y1="40" x2="{left + unit}" y2="{bottom}" stroke="{d.colours["line"]}" '
                   'stroke-dasharray="4 3"/>')
    d.text(left + unit, bottom + 18, "the best peer's time", size=13, colour="soft", anchor="middle")
    return d


def shares(scheme):
    """Medians of `make bench`."""
    rows = {row[0].strip("`"): row for row in table("## All cases")}
    return bars(scheme, [(name, float(rows[name][4].split("/")[0]), rows[name][3].split(" ")[0]) for name in SHOWN])


def inference(scheme):
    """Forward passes beside the engines, of `make bench-inference`."""
    names = ("OpenVINO", "ONNX Runtime", "torch")
    rows = []
    for name, _, now, *others in table("## Inference beside the engines"):
        times = {peer: float(t) for peer, t in zip(names, others) if t}
        best = min(times, key=times.get)
        rows.append((name, float(now) / times[best], best))
    return bars(scheme, rows)


DRAWINGS = {f.__name__: f for f in (flow, resume, guards, life, shares, inference)}


def files():
    return {f"{name}-{scheme}.svg": draw(scheme).svg() for name, draw in DRAWINGS.items() for scheme in SCHEMES}


if __name__ == "__main__":
    for name, text in files().items():
        (ASSETS / name).write_text(text, encoding="utf-8")
