"""Exchange of data with other libraries."""

from pijit.tensor import from_dlpack


def to_dlpack(tensor):
    """A DLPack capsule with a copy of a tensor's data, which `from_dlpack` of other libraries takes."""
    return tensor.__dlpack__()


__all__ = ["from_dlpack", "to_dlpack"]
