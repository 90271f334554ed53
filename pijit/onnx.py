"""Networks as ONNX files, by MindSpore's function for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit._C import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any
    from pijit.nn import Cell


def _placeholder(x, axes):
    for axis in axes:
        if not isinstance(axis, int) or not -x.ndim <= axis < x.ndim:
            raise _check.out_of_range("export", f"the axis {axis!r} of dynamic_axes is", x.ndim)
    varying = {axis % x.ndim for axis in axes}
    return Tensor(shape=[None if k in varying else d for k, d in enumerate(x.shape)], dtype=x.dtype)


def export(net: Cell | Callable[..., Any], *inputs: Tensor, file_name: str, input_names: Sequence[str] | None = None,
           output_names: Sequence[str] | None = None, export_params: bool = True,
           keep_initializers_as_inputs: bool = False,
           dynamic_axes: dict[str, dict[int, str]] | None = None) -> None:
    """Writes a network as the ONNX file `file_name`.onnx, of operator set 18, as `pijit.export` does.

    net, inputs: as of `pijit.export`. input_names, output_names: what inputs and outputs are called in the file, in
        their order; the others are called as the network's parameters, and `n` with a number. export_params: whether
        values of parameters are written; else they are inputs behind the others. keep_initializers_as_inputs: whether
        they are inputs with their values as defaults. dynamic_axes: {name of an input: {axis: name of its size}}, of
        the sizes that vary.

    Needs the package protobuf. Raises ValueError for names and axes of other kinds, and what `pijit.export` raises."""
    for name, given, kind in (("input_names", input_names, list), ("output_names", output_names, list),
                              ("dynamic_axes", dynamic_axes, dict)):
        if given is not None and not isinstance(given, kind):
            raise _check.refused("export", name, _check.a(kind), given, ValueError)
    from pijit import interchange, serialization
    path = serialization.checked_export(net, inputs, file_name, "ONNX")
    names = interchange.names_of(net, len(inputs))
    for k, name in enumerate((input_names or [])[:len(names)]):
        names[k] = name
    if dynamic_axes is not None:
        inputs = tuple([_placeholder(x, dynamic_axes[n]) if n in dynamic_axes else x for n, x in zip(names, inputs)])
    interchange.export(net, inputs, "ONNX", path, names, tuple(output_names or ()), export_params,
                       keep_initializers_as_inputs)


__all__ = ["export"]
