"""Random numbers of the data pipeline.

Every row that passes a random operation has a seed of its own, drawn in the order of rows; so what an operation draws
depends neither on threads and processes nor on their number. Outside of a pipeline operations share one generator."""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING

import numpy as np

from pijit.dataset import config

if TYPE_CHECKING:
    from typing import Any


class _Local(threading.local):
    """The generator of this thread. It is seeded when the first number of a row is asked for: most rows need none."""

    def __init__(self) -> None:
        self.rng = random.Random()
        self.seed = None  # of the row, as long as no number was drawn
        self.in_row = False


_local = _Local()
_eager = {"seed": None, "rng": None}


def begin_row(seed: int) -> None:
    """Random operations of this thread draw from `seed` until end_rows."""
    _local.seed, _local.in_row = seed, True


def end_rows() -> None:
    """Random operations of this thread draw from the shared generator again."""
    _local.in_row = False


def rng() -> Any:
    """The random.Random that operations draw from."""
    if _local.in_row:
        if _local.seed is not None:
            _local.rng.seed(_local.seed)
            _local.seed = None
        return _local.rng
    # an operation called by hand: one sequence for each call of config.set_seed
    if _eager["rng"] is None or _eager["seed"] != config._seed_version():
        _eager["seed"] = config._seed_version()
        _eager["rng"] = random.Random(config._chosen_seed())
    return _eager["rng"]


def numpy_rng() -> np.random.Generator:
    """A NumPy generator for operations that draw arrays."""
    return np.random.Generator(np.random.Philox(key=rng().getrandbits(128)))
