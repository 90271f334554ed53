"""Probability: distributions, and bijectors that carry one over into another."""

from pijit import compat

__getattr__, __dir__ = compat.names(__name__)  # submodules, when one is asked for
