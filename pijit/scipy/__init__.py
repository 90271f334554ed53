"""What of SciPy MindSpore has."""

from pijit.scipy import fft, linalg

__all__ = ["fft", "linalg"]
