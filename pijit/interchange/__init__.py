"""Networks in files that other packages read: MindIR and ONNX. Loaded where `export` and `load` need it."""

from __future__ import annotations

import contextlib
import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@contextlib.contextmanager
def _evaluating(net: Any) -> Iterator[None]:
    """A network in evaluation, each of its cells as before afterwards."""
    from pijit.nn import Cell
    if not isinstance(net, Cell):
        yield
        return
    before = [(cell, cell.training) for _, cell in net.cells_and_names()]
    net.set_train(False)
    try:
        yield
    finally:
        for cell, training in before:
            cell.training = training


def _example(x):  # of a placeholder: sizes that are no others
    import pijit
    if -1 not in x.shape:
        return x
    return pijit.ops.ones(tuple(7 + k if d == -1 else d for k, d in enumerate(x.shape)), x.dtype)


def names_of(net: Any, count: int) -> list[str]:
    """What the inputs of a network are called in files."""
    try:
        parameters = inspect.signature(getattr(net, "construct", net)).parameters.values()
        names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        names = []
    return [names[k] if k < len(names) else f"input{k}" for k in range(count)]


def export(net: Any, inputs: tuple[Any, ...], file_format: str, path: str, names: list[str] | None = None,
           *options: Any) -> None:
    """Writes a network with the inputs of `pijit.export` to a file, in the format "MINDIR" or "ONNX".

    names: of the inputs. options: further arguments of the format's writer."""
    from pijit.interchange import graph
    if file_format == "MINDIR":
        from pijit.interchange.writer import write
    else:
        from pijit.interchange.onnx_writer import write
    shapes = [tuple(x.shape) for x in inputs]
    with _evaluating(net):
        traced = graph.trace("export", net, tuple(_example(x) for x in inputs), shapes)
    types = [x.dtype.name for x in inputs]
    write(traced, list(zip(names or names_of(net, len(inputs)), types, shapes)), path, *options)
