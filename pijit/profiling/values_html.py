"""How Tensors, Parameters and Cells show themselves in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit.profiling.html import escape, fragment

if TYPE_CHECKING:
    from typing import Any


def _caption(x):
    shape = " × ".join(map(str, x.shape)) or "scalar"
    return f"{shape}, {str(x.dtype).lower()}, {x.nbytes:,} bytes"


def tensor_html(x: Any) -> str:
    """A Tensor as NumPy prints it, below its name, shape and dtype."""
    from pijit import Parameter
    try:
        text = str(x.asnumpy())
    except (TypeError, RuntimeError, ValueError) as e:  # of a dtype that NumPy lacks, or not to be read here
        text = f"({e})"
    name, more = "Tensor", ""
    if isinstance(x, Parameter):
        name, more = f"Parameter {x.name}", "" if x.requires_grad else ", requires_grad=False"
    return fragment(
        f'<p><b>{escape(name)}</b> <span class="pj-soft">{escape(_caption(x) + more)}</span></p><pre class="pj-mono" '
        f'style="margin:4px 0 0;overflow-x:auto">{escape(text)}</pre>')


def _count(parameters):
    return sum(int(np.prod(p.shape)) for p in parameters)


def cell_html(cell: Any) -> str:
    """A Cell as a tree of its children, with the shapes and numbers of parameters."""
    def tree(name, c, opened):
        own, total = list(c._params.values()), _count(c.get_parameters())
        children = [(k, v) for k, v in c._cells.items() if v is not None]
        label = f"{escape(name)}: " if name else ""
        text = (f"{label}<b>{escape(type(c).__name__)}</b> <span class='pj-soft'>{total:,} parameters</span>" if total
                else f"{label}<b>{escape(type(c).__name__)}</b>")
        shapes = ", ".join(f"{escape(k)} {' × '.join(map(str, p.shape)) or 'scalar'}" +
                           ("" if p.requires_grad else " (fixed)")
                           for k, p in c._params.items() if p is not None) if own else ""
        if shapes:
            text += f" <code class='pj-soft'>{shapes}</code>"
        if not children:
            return f"<div style='padding:2px 12px'>{text}</div>"
        inside = "".join(tree(k, v, opened=len(children) < 12) for k, v in children)
        return (
            f"<details{' open' if opened else ''}><summary "
            f"style='font-weight:400'>{text}</summary><div>{inside}</div></details>")

    parameters = list(cell.get_parameters())
    trained = _count(p for p in parameters if p.requires_grad)
    return fragment(tree("", cell, opened=True) +
                    f'<p class="pj-soft">{_count(parameters):,} parameters, {trained:,} of them trained, '
                    f'{sum(p.nbytes for p in parameters):,} bytes</p>')
