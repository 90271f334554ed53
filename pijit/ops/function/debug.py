"""What a program shows of its tensors while it runs."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pijit import _check
from pijit._C import Tensor
from pijit._numpy import np
from pijit.ops.function.elementwise import _need_tensor
from pijit.ops.table import named as _named
from pijit.printing import print_each

if TYPE_CHECKING:
    from typing import Any

_dumped = {"count": 0}


def tensordump(file_name: str, tensor: Tensor, mode: str = "out") -> None:
    """Saves a tensor as `<file_name>_<dtype>_<number of the dump>.npy`.

    mode: kept ('out', 'in' or 'all': which side of a partition; there is one process). Raises TypeError where file_name
        is no str, ValueError
    where it is empty."""
    if not isinstance(file_name, str):
        raise _check.refused("tensordump", "file_name", _check.STR, file_name)
    if not file_name or mode not in ("out", "in", "all"):
        raise _check.refused("tensordump", "file_name",
                             _check.value("not be empty and 'mode' must be 'out', 'in' or 'all'"),
                             _check.several(file_name, mode))
    _need_tensor("tensordump", "tensor", tensor)
    path = file_name[:-4] if file_name.endswith(".npy") else file_name
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    np.save(f"{path}_{tensor.dtype.name.lower()}_{_dumped['count']}.npy", tensor.asnumpy())
    _dumped["count"] += 1


@_named(primitive="Print")
def print_(*args: Any) -> None:
    """Prints values, each on a line of its own; Tensors with shape and dtype.

    Args:
        *args (object): what to print.

    Returns:
        None.

    Example:
        >>> ops.print_("a", 1)
        a
        1
    """
    print_each(*args)
