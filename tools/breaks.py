"""The pages of docs/breaks: one for each id, from its row in csrc/entry/break_reasons.def and a program that has such a
break, mended beside it, in examples/breaks."""

import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROWS = ROOT / "csrc/entry/break_reasons.def"
PROGRAMS, PAGES = ROOT / "examples/breaks", ROOT / "docs/breaks"
_STRING = r'"((?:[^"\\]|\\.)*)"'


def rows():
    """(id, title, places, hint) of each reason and case, in the order of ids."""
    text = ROWS.read_text(encoding="utf-8")
    found = [(int(n), told, "", hint)
             for n, told, hint in re.findall(rf"^BREAK\((\d+), \w+, {_STRING}, {_STRING}\)$", text, re.M)]
    found += [(int(n), told, where, hint) for n, told, where, hint in
              re.findall(rf"^CASE\((\d+), \w+, {_STRING}, {_STRING}, {_STRING}\)$", text, re.M)]
    return [(f"PB{n:03}", *rest) for n, *rest in sorted(found)]


def page(key, told, where, hint):
    """A page, in Markdown."""
    lines = [f"# {key}: {told}", ""]
    path = PROGRAMS / f"{key}.py"
    if path.exists():
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source)
        lines += [ast.get_docstring(tree), ""]
    if hint:
        lines += ["**What helps:** " + hint + ".", ""]
    if where:
        lines += ["It is said of breaks at " + ", ".join(f"`{w}`" for w in where.split()) + ".", ""]
    if path.exists():
        lines += ["```python", source.strip(), "```", "",
                  "`mended` has no break. [The program](../../examples/breaks/" + f"{key}.py) is run by a test.", ""]
    return "\n".join(lines)


def pages():
    """The texts of all pages by file name, the list of them included."""
    told = {f"{row[0]}.md": page(*row) for row in rows()}
    listed = [f"| [{key}]({key}.md) | {text} | {hint} |" for key, text, _, hint in rows()]
    told["README.md"] = "\n".join([
        "# Breaks", "", "Where a graph ends before its function does, CPython runs the statement, and another graph "
        "begins behind it.", "`explain(f)` names each such break by an id. A break costs little by itself; it counts "
        "where it stands in a loop,", "or keeps kernels from being fused.", "",
        "| id | what | what helps |", "|---|---|---|", *listed, ""])
    return told


def main():
    PAGES.mkdir(exist_ok=True)
    for name, text in pages().items():
        (PAGES / name).write_text(text, encoding="utf-8")
    for path in PAGES.glob("*.md"):
        if path.name not in pages():
            path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
