"""Where time goes: `pijit.profile` of a function, `pijit.profiler()` around any code."""

from pijit.profiling.measure import Ratio, Timing
from pijit.profiling.profile import Profile, Recorder, profile

__all__ = ["Profile", "Ratio", "Recorder", "Timing", "profile"]
