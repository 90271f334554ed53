"""Makes the notebooks from their sources and runs them: python examples/notebooks/build.py [name ...]

A source is Python with `# %%` before each cell and `# %% [markdown]` before each text; magics stand in comments that begin with `# %`."""

import pathlib
import re
import sys
import sysconfig

import nbclient
import nbformat

HERE = pathlib.Path(__file__).parent
# Folders of the machine that runs a notebook: what it prints (warnings, say) shows paths from there.
FOLDERS = sorted({str(p) for name in ("purelib", "stdlib") for p in (pathlib.Path(sysconfig.get_path(name)), pathlib.Path(sysconfig.get_path(name)).resolve())}
                 | {str(HERE.resolve().parents[1])}, key=len, reverse=True)


def relative(value):
    """What a cell shows, without paths of this machine."""
    if isinstance(value, str):
        for folder in FOLDERS:
            value = value.replace(folder + "/", "")
        return value
    if isinstance(value, dict):
        return {k: v if k.startswith("image/") else relative(v) for k, v in value.items()}
    return [relative(v) for v in value] if isinstance(value, list) else value


def cells(text):
    """The cells of a source."""
    for block in re.split(r"^# %%(?= \[|$)", text, flags=re.M)[1:]:
        head, _, body = block.partition("\n")
        lines = body.strip("\n").split("\n")
        if "[markdown]" in head:
            yield nbformat.v4.new_markdown_cell("\n".join(line[2:] if line.startswith("# ") else line.lstrip("#") for line in lines))
        else:
            yield nbformat.v4.new_code_cell("\n".join(line[2:] if line.startswith("# %") else line for line in lines))


def build(name):
    """Makes and runs one; raises where a cell does."""
    nb = nbformat.v4.new_notebook(cells=list(cells((HERE / f"{name}.py").read_text())))
    for n, cell in enumerate(nb.cells):
        cell["id"] = f"cell-{n}"  # the same at every run
    nb.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbclient.NotebookClient(nb, timeout=900, kernel_name="python3", resources={"metadata": {"path": str(HERE)}}).execute()
    for cell in nb.cells:
        cell.metadata.pop("execution", None)  # times of day
        if cell.cell_type == "code":
            cell.outputs = [nbformat.from_dict(relative(o)) for o in cell.outputs]
    nbformat.write(nb, HERE / f"{name}.ipynb")
    print(f"{name}: {sum(c.cell_type == 'code' for c in nb.cells)} cells ran")


if __name__ == "__main__":
    for source in sys.argv[1:] or sorted(p.stem for p in HERE.glob("*.py") if p.stem != "build"):
        build(source)
