"""Exchange of data with other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit.tensor import from_dlpack

if TYPE_CHECKING:
    from typing import Any


def to_dlpack(tensor: Any) -> Any:
    """A DLPack capsule with a copy of a tensor's data, which `from_dlpack` of other libraries takes."""
    return tensor.__dlpack__()


__all__ = ["from_dlpack", "to_dlpack"]
