"""What of SciPy MindSpore has."""

from pijit.scipy import linalg

__all__ = ["linalg"]
