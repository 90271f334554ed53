"""Cells of a notebook in a kernel of this Python: tools/clean_root.sh."""

import sys

import nbclient
import nbformat

CELLS = ["%load_ext pijit",
         "import numpy as np\n"
         "a = np.linspace(0, 1, 100_000)",
         "%%pijit\n"
         "def smooth(a):\n"
         "    return (a[:-2] + 2 * a[1:-1] + a[2:]) / 4\n"
         "for _ in range(20):\n"
         "    b = smooth(a)\n"
         "print(b.sum().round(6))",
         "%pijit_profile smooth(a)"]
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
told = ["".join(o.get("text", "") + o.get("data", {}).get("text/plain", "") for o in c.outputs) for c in notebook.cells]
assert "49999.0" in told[2] and "smooth" in told[2] and told[3], told
print(f"{'.'.join(map(str, sys.version_info[:3]))}: cells of a notebook ran")
