"""What capture brought for watched functions, told by the statistics that `profile` uses: medians of both ways and the
interval of their ratio."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING

import numpy as np

from pijit import _C
from pijit.profiling.measure import Ratio, Timing, ratio
from pijit.profiling.profile import seconds

if TYPE_CHECKING:
    from typing import Any

LEAST_PLAIN, LEAST_CAPTURED = 2, 3  # calls, for a comparison
_OFTEN = 8  # calls that compile something are typical when there are more, and more than a quarter


@dataclass
class Figures:
    """Of one function. calls: outermost ones; recursive: those that it made of itself. plain, captured: Timing of
    single calls, or None (means where most calls compile something, all of them where each does); speedup: a Ratio, or
    None where too little was measured. trying: seconds that captures and compiles of it and of what is not watched
    below took. saved: seconds, trying subtracted, of calls that no other watched function made; None where no plain
    time is known. spent: seconds of these calls that ran captured. all_anew: each captured call captured or compiled
    something."""

    calls: int
    recursive: int
    rested: int
    uncaptured: int
    plain: Timing | None
    captured: Timing | None
    speedup: Ratio | None
    trying: float
    saved: float | None
    spent: float
    captured_calls: int
    all_anew: bool

    @property
    def within_others(self) -> bool:
        """Whether it ran as part of its callers' graphs only."""
        return self.plain is not None and not self.captured_calls and not self.rested


def told(what: Any, took: Any, saved: Any) -> str:
    """The whole first, in a sentence. took: seconds by the clock; saved: seconds, or None where too little was
    measured."""
    if saved is None:
        return f"{what} took {seconds(took)}; too few plain calls to say what it takes without capture"
    about = (f"about {seconds(abs(saved))} {'saved' if saved > 0 else 'lost'}" if abs(saved) > 0.01 * took
             else "no gain and no loss to speak of")
    return f"{what} took {seconds(took)}; plain {seconds(max(took + saved, 0.0))} by estimate: {about}"


def change(saved: Any) -> str:
    """Seconds that were saved or, below 0, lost, for a table."""
    return "–" if saved is None else f"{seconds(abs(saved))} {'saved' if saved > 0 else 'lost'}" if saved else "0"


def _tree(n):
    # The dict keeps it from becoming machine code.
    return again(n - 1) + again(n - 1) + len({}) if n else 1  # noqa: F821  # pyright: ignore[reportUndefinedVariable]


@functools.cache
def front() -> float:
    """Seconds that a call of a decorated function that was deoptimized takes beyond a call of the function itself, in a
    recursion, where CPython enters its own functions without a call of C's."""
    from pijit import jit
    depth, calls = 8, 511

    def recursion(decorate: Any) -> Any:
        # Code of its own each: CPython specializes a call for what it has called there.
        names: dict[str, Any] = {"len": len}
        names["again"] = decorate(FunctionType(_tree.__code__.replace(), names))
        return names["again"]

    plain, resting = recursion(lambda f: f), recursion(jit)
    _C.watch(resting, _C.new_figures(0.0))

    def took(f: Any) -> float:
        begin = time.perf_counter()
        f(depth)
        return time.perf_counter() - begin

    for _ in range(20):
        took(resting)
    ways = [(took(plain), took(resting)) for _ in range(40)]
    return max(min(r for _, r in ways) - min(p for p, _ in ways), 0.0) / calls


def calibrate() -> None:
    """Measures what `front` tells, at the speed that the processor has now; to be called before a clock starts."""
    front.cache_clear()
    front()


def new() -> Any:
    """What watched functions put their times into."""
    return _C.new_figures(front())


def of(handles: Any) -> Figures:
    """Figures of what some handles (of `_C.new_figures`) have counted together."""
    told = [_C.figures(h) for h in handles]

    def calls(where, kind):
        parts = [t[where][kind] for t in told] if where else [t[kind] for t in told]
        return sum(p["count"] for p in parts), sum(p["sum"] for p in parts), [s for p in parts for s in p["samples"]]

    plain_n, _, plain = calls("all", "plain")
    captured_n, _, captured = calls("all", "captured")
    anew_n, _, anew = calls("all", "anew")
    rested_n, _, rested = calls("", "rested")
    cold = sum(t["cold"] for t in told)
    statistic = np.median
    if anew_n > _OFTEN and 4 * anew_n > captured_n:
        # What a call takes then: those that run plainly since their sizes are new are among them.
        chosen = sum(t["all"]["chosen"] for t in told)
        few = [plain[k * len(plain) // chosen] for k in range(min(chosen, len(plain)))]
        captured, statistic = captured + anew + few, np.mean
    clean = len(captured)
    if not clean:
        captured = anew
    before = Timing.of(plain or rested, statistic) if plain or rested else None
    after = Timing.of(captured, statistic) if captured else None
    enough = len(plain) >= LEAST_PLAIN and clean >= LEAST_CAPTURED and min(before.median, after.median) > 0
    return Figures(
        calls=plain_n + captured_n + anew_n + rested_n + cold + sum(t["uncaptured"] for t in told),
        recursive=sum(t["recursive"] for t in told),
        rested=rested_n, uncaptured=sum(t["uncaptured"] for t in told), plain=before, captured=after,
        speedup=ratio(before, after, statistic=statistic) if enough else None, captured_calls=captured_n + anew_n,
        all_anew=bool(anew_n and not captured_n), trying=sum(t["compiled"] for t in told),
        **_saved(calls, rested, sum(t["first"] for t in told), sum(t["fronted"] for t in told)))


def _saved(calls, rested, first, fronted):
    """first, fronted: seconds that a first call's captures took, and calls of the decorated object."""
    plain = calls("top", "plain")[2] or calls("all", "plain")[2] or rested
    (captured_n, captured_s, captured), (anew_n, anew_s, _) = (calls("top", kind) for kind in ("captured", "anew"))
    count, spent = captured_n + anew_n, captured_s + anew_s
    # Medians both ways: what else the machine did in the middle of captured calls is no loss.
    usual = captured_n * Timing.of(captured).median if captured_n > anew_n else captured_s
    first += fronted
    saved = count * Timing.of(plain).median - usual - anew_s - first if plain else -first if not count else None
    return {"saved": saved, "spent": spent}
