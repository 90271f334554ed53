"""Whole programs of the kind that benchmark collections for NumPy have, as people write them."""

from . import linear_algebra, networks, physics, sequences, stencils  # noqa: F401
from .cases import PROGRAMS, bits, copied, outcome  # noqa: F401
