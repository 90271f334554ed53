"""Runs the Python blocks of pages and compares what they print with the `text` block that follows.

    python -m tests.python.page_blocks [--write] docs/quickstart.md ...

All blocks of a page run in one namespace, in order, each as a file of its own, whose name is the block's `title`. A
comment before a block says what is otherwise: `<!-- not run: reason -->`, or, before the first one of a page,
`<!-- as mindspore -->`. In what is expected `...` stands for any text; times are compared as times, floating numbers
to four digits. --write puts what is printed into the page, where what stands there differs."""

import contextlib
import io
import os
import pathlib
import re
import sys
import tempfile
import traceback

_BLOCK = re.compile(r"^(?P<skip><!-- not run: [^>]+ -->\n)?```python(?P<info>[^\n]*)\n(?P<code>.*?)^```$"
                    r"(?P<shown>\n\n?```(?:text)?\n(?P<wanted>.*?)^```$)?", re.M | re.S)
_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?(?!\w|\.\d)")
_OPTIONAL = {"pandas"}  # what a page's program may need that tests don't have
_TIME = re.compile(r"\b\d+(?:\.\d+)? ?(?:ns|µs|ms|s|min|times as (?:fast|slow))\b|\(\d+(?:\.\d+)? to \d+(?:\.\d+)?\)")


def blocks(text):
    """Matches of all blocks of a page."""
    return list(_BLOCK.finditer(text))


def is_like(wanted, got):
    """Does what was printed say what the page says?"""
    wanted, got = ("\n".join(line.rstrip() for line in _TIME.sub("(a time)", t).strip().split("\n"))
                   for t in (wanted, got))
    pieces = re.findall(rf"\.\.\.|{_NUMBER.pattern}|\s+|.", wanted)  # `...`, numbers, space, letters
    shape, numbers = "", []
    for piece in pieces:
        if _NUMBER.fullmatch(piece):
            shape += rf"({_NUMBER.pattern})"
            numbers.append(float(piece))
        else:
            shape += ".*?" if piece == "..." else r"\s+" if piece.isspace() else re.escape(piece)
    found = re.fullmatch(shape, got, re.S)
    return bool(found) and all(abs(w - float(g)) <= 1e-4 * abs(w) + 1e-6 for w, g in zip(numbers, found.groups()))


def run(path, write=False):
    """What is wrong with the blocks of a page, as texts."""
    text = path.read_text(encoding="utf-8")
    if "<!-- as mindspore -->" in text:
        import pijit.compat
        pijit.compat.install()
    space, wrong, pieces, at = {"__name__": "__main__"}, [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        home = os.getcwd()
        os.mkdir(os.path.join(folder, "here"))
        os.chdir(os.path.join(folder, "here"))
        try:
            for n, block in enumerate(blocks(text)):
                line = text.count("\n", 0, block.start("code")) + 1
                if block["skip"]:
                    continue
                title = re.search(r'title="([^"]+)"', block["info"])
                file = pathlib.Path(folder, str(n), title[1] if title else "program.py")
                file.parent.mkdir()
                file.write_text(block["code"], encoding="utf-8")
                out, failed = io.StringIO(), False
                with contextlib.redirect_stdout(out):
                    try:
                        exec(compile(block["code"], str(file), "exec"), space)
                    except Exception as e:
                        if isinstance(e, ModuleNotFoundError) and e.name in _OPTIONAL:
                            break
                        failed = True
                        wrong.append(f"{path}:{line}: {traceback.format_exc()}")
                if failed or is_like(block["wanted"] or "", out.getvalue()):
                    continue
                if write:
                    shown = f"\n\n```text\n{out.getvalue().rstrip()}\n```"
                    begin, end = block.span("shown") if block["shown"] else (block.end(), block.end())
                    pieces += [text[at:begin], shown]
                    at = end
                else:
                    wrong.append(f"{path}:{line}: the block prints\n{out.getvalue()}and the page shows\n"
                                 f"{block['wanted'] or 'nothing'}")
        finally:
            os.chdir(home)
    if pieces:
        path.write_text("".join([*pieces, text[at:]]), encoding="utf-8")
    return wrong


def main(args):
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # figures of a machine that does other things, too
    os.environ.setdefault("PIJIT_MEASURE", "0")    # else what is captured depended on how busy it is
    write = args[:1] == ["--write"]
    wrong = [w for page in args[write:] for w in run(pathlib.Path(page).resolve(), write)]
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
