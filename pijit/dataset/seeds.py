"""Random numbers of the data pipeline.

Every row that passes a random operation has a seed of its own, drawn in the order of rows; so what an operation draws
depends neither on threads and processes nor on their number. Outside of a pipeline operations share one generator."""

import random
import threading

import numpy as np

from pijit.dataset import config


class _Local(threading.local):
    """The generator of this thread: seeded when the first number of a row is asked for."""

    rng = None
    pending = None


_local = _Local()
_eager = {"seed": None, "rng": None}


def begin_row(seed):
    """Random operations of this thread draw from `seed` until end_rows."""
    _local.pending = seed


def end_rows():
    """Random operations of this thread draw from the shared generator again."""
    _local.pending = _local.rng = None


def rng():
    """The random.Random that operations draw from."""
    if _local.pending is not None:
        if _local.rng is None:
            _local.rng = random.Random()
        _local.rng.seed(_local.pending)
        _local.pending = None
        return _local.rng
    if _local.rng is not None:
        return _local.rng
    # an operation called by hand: one sequence for each call of config.set_seed
    if _eager["rng"] is None or _eager["seed"] != config._seed_version():
        _eager["seed"] = config._seed_version()
        _eager["rng"] = random.Random(config._chosen_seed())
    return _eager["rng"]


def numpy_rng():
    """A NumPy generator for operations that draw arrays."""
    return np.random.Generator(np.random.Philox(key=rng().getrandbits(128)))
