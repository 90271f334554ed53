"""Help around networks."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pijit import initializer as _initializer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@contextlib.contextmanager
def no_init_parameters() -> Iterator[Any]:
    """Within it, parameters of new cells start as zeros, without the work of random numbers.

    For networks whose values a checkpoint gives."""
    _initializer.skipped["depth"] += 1
    try:
        yield
    finally:
        _initializer.skipped["depth"] -= 1


__all__ = ["no_init_parameters"]
