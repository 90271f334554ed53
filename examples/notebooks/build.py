"""Makes the notebooks from their sources and runs them: python examples/notebooks/build.py [name ...]

A source is Python with `# %%` before each cell and `# %% [markdown]` before each text; magics stand in comments that
begin with `# %`."""

import ast
import hashlib
import pathlib
import re
import sys
import sysconfig

HERE = pathlib.Path(__file__).parent
ROOT = HERE.resolve().parents[1]
# What says what outputs look like.
PRINTING = ("pijit/profiling/*.py", "pijit/notebook.py", "pijit/explanation.py", "pijit/printing.py", "pijit/trace.py",
            "csrc/entry/break_reasons.def")
# Folders of the machine that runs a notebook: what it prints (warnings, say) shows paths from there.
FOLDERS = sorted({str(p) for name in ("purelib", "stdlib")
                  for p in (pathlib.Path(sysconfig.get_path(name)), pathlib.Path(sysconfig.get_path(name)).resolve())}
                 | {str(ROOT)}, key=len, reverse=True)


def relative(value):
    """What a cell shows, without paths of this machine."""
    if isinstance(value, str):
        for folder in FOLDERS:
            value = value.replace(folder + "/", "")
        return value
    if isinstance(value, dict):
        return {k: v if k.startswith("image/") else relative(v) for k, v in value.items()}
    return [relative(v) for v in value] if isinstance(value, list) else value


def printed_by(name):
    """A digest of the notebook's source and of the code that prints its outputs: another one since it ran means that it
    must run again."""
    digest = hashlib.sha256((HERE / f"{name}.py").read_bytes())
    for path in sorted(p for pattern in PRINTING for p in ROOT.glob(pattern)):
        text = path.read_text(encoding="utf-8")
        digest.update((ast.dump(ast.parse(text)) if path.suffix == ".py" else text).encode())  # comments print nothing
    return digest.hexdigest()[:16]


def cells(text):
    """The cells of a source."""
    import nbformat
    for block in re.split(r"^# %%(?= \[|$)", text, flags=re.M)[1:]:
        head, _, body = block.partition("\n")
        lines = body.strip("\n").split("\n")
        if "[markdown]" in head:
            yield nbformat.v4.new_markdown_cell("\n".join(line[2:] if line.startswith("# ") else line.lstrip("#")
                                                          for line in lines))
        else:
            yield nbformat.v4.new_code_cell("\n".join(line[2:] if line.startswith("# %") else line for line in lines))


def build(name, folder=HERE):
    """Makes and runs one, and gives its path; raises where a cell does."""
    import nbclient
    import nbformat
    nb = nbformat.v4.new_notebook(cells=list(cells((HERE / f"{name}.py").read_text())))
    for n, cell in enumerate(nb.cells):
        cell["id"] = f"cell-{n}"  # the same at every run
    nb.metadata["printed_by"] = printed_by(name)
    nb.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbclient.NotebookClient(nb, timeout=900, kernel_name="python3",
                            resources={"metadata": {"path": str(HERE)}}).execute()
    for cell in nb.cells:
        cell.metadata.pop("execution", None)  # times of day
        if cell.cell_type == "code":
            cell.outputs = [nbformat.from_dict(relative(o)) for o in cell.outputs]
    path = pathlib.Path(folder) / f"{name}.ipynb"
    nbformat.write(nb, path)
    print(f"{name}: {sum(c.cell_type == 'code' for c in nb.cells)} cells ran")
    return path


def names():
    return sorted(p.stem for p in HERE.glob("*.py") if p.stem != "build")


if __name__ == "__main__":
    for source in sys.argv[1:] or names():
        build(source)
