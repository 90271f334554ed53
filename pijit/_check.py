"""What arguments must be. A `Check` is a value: its test, its words, its exception. Errors are worded here alone:
"For 'Dropout', 'p' must be in [0, 1), but got 2."

Where a call costs nothing that counts, `need` tests and raises. Functions that run for every op test in their own line
and raise what `refused` gives, so that a call without a fault pays for no check more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit._C import DType, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class _Words(str):
    """Text that stands in errors as it is, where other strings are quoted."""

    __slots__ = ()


def by_value(value: Any) -> str:
    """A value as errors show it."""
    return repr(value) if type(value) is str else str(value)


def several(*values: Any) -> str:
    """Several values that are wrong together."""
    return _Words(_and([by_value(v) for v in values]))


def type_name(value: Any) -> str:
    """The type of a value, shown in its place."""
    return _Words(type(value).__name__)


def entry(key: Any, value: Any) -> str:
    """An entry of a dict: the key and the value's type."""
    return _Words(f"{key!r}: {type(value).__name__}")


class Check:
    """What an argument must be. `words` go on after "must"; `fits` says whether a value is such a one, and is None
    where only the function itself can say so; `error` is what a value that is not raises."""

    __slots__ = ("error", "fits", "shown", "words")

    def __init__(self, words: str, fits: Callable[[Any], bool] | None = None, error: type[Exception] = ValueError,
                 shown: Callable[[Any], str] = by_value) -> None:
        self.words, self.fits, self.error, self.shown = words, fits, error, shown


def refused(op: str, name: str, check: Check, value: Any, error: type[Exception] | None = None) -> Exception:
    """The error of an argument that is not what it must be. A name of several words ("the input") stands without
    quotes."""
    subject = name if " " in name else f"'{name}'"
    return (error or check.error)(f"For '{op}', {subject} must {check.words}, but got {check.shown(value)}.")


def need(op: str, name: str, value: Any, *checks: Check) -> Any:
    """Returns the value. Raises the error of the first check that it does not pass."""
    for check in checks:
        if check.fits is not None and not check.fits(value):
            raise refused(op, name, check, value)
    return value


def type_(words: str, fits: Callable[[Any], bool] | None = None) -> Check:
    """A type, or one of several; of a wrong value the error shows the type."""
    return Check(f"be {words}", fits, TypeError, type_name)


def _article(word):
    return f"an {word}" if word[0] in "aeiouAEIO" else f"a {word}"


def a(*classes: type) -> Check:
    """An instance of one of the classes."""
    return type_(_or([_article(c.__name__) for c in classes]), lambda v: isinstance(v, classes))


INT = type_("an int", lambda v: isinstance(v, int) and not isinstance(v, bool))
NUMBER = type_("a number", lambda v: isinstance(v, (int, float)) and not isinstance(v, bool))
FLOAT = type_("a float", lambda v: isinstance(v, float))
BOOL = type_("a bool", lambda v: isinstance(v, bool))
STR = type_("a str", lambda v: isinstance(v, str))
DICT = type_("a dict", lambda v: isinstance(v, dict))
LIST = type_("a list", lambda v: isinstance(v, list))
TUPLE = type_("a tuple", lambda v: isinstance(v, tuple))
SEQUENCE = type_("a tuple or a list", lambda v: isinstance(v, (tuple, list)))
FUNCTION = type_("callable", callable)
TENSOR = type_("a Tensor", lambda v: isinstance(v, Tensor))
DTYPE = type_("a dtype", lambda v: isinstance(v, DType))


def value(words: str, shown: Callable[[Any], str] = by_value) -> Check:
    """What only the function itself can say; `words` go on after "must"."""
    return Check(words, None, ValueError, shown)


# A NaN is refused by intervals alone: it is neither below nor above a bound.
def at_least(least: Any) -> Check:
    return Check(f"be at least {least}", lambda v: not v < least)


def at_most(most: Any) -> Check:
    return Check(f"be at most {most}", lambda v: not v > most)


def above(bound: Any) -> Check:
    return Check(f"be greater than {bound}", lambda v: not v <= bound)


def below(bound: Any) -> Check:
    return Check(f"be less than {bound}", lambda v: not v >= bound)


def within(low: Any, high: Any, ends: str = "[]") -> Check:
    """A number of an interval; `ends` are its brackets."""
    return Check(f"be in {ends[0]}{low}, {high}{ends[1]}",
                 lambda v: (low <= v if ends[0] == "[" else low < v) and (v <= high if ends[1] == "]" else v < high))


def one_of(*choices: Any) -> Check:
    return Check(f"be {_or([by_value(c) for c in choices])}", lambda v: v in choices)


NOT_ZERO = Check("not be 0", lambda v: v != 0)
NOT_EMPTY = Check("not be empty", lambda v: len(v) > 0)


def dims(*ranks: int) -> Check:
    """The number of dimensions, which is what comes as the value."""
    return Check(f"have {_or([str(n) for n in ranks])} {'dimension' if ranks == (1,) else 'dimensions'}",
                 lambda v: v in ranks)


def least_dims(least: int) -> Check:
    """The least number of dimensions."""
    return Check(f"have at least {least} {'dimension' if least == 1 else 'dimensions'}", lambda v: not v < least)


def dtypes(*names: str) -> Check:
    """Names of dtypes, or of kinds of them ("floating-point"); what comes is the dtype."""
    return Check(f"be {_or(list(names))}", None, TypeError)


FLOATING = Check("be of a floating dtype", lambda v: v.is_floating_point, TypeError)


def shape(wanted: Any) -> Check:
    """A shape, which is what comes as the value."""
    return Check(f"have the shape {wanted}", lambda v: tuple(v) == tuple(wanted))


def length(count: int, of: str = "elements") -> Check:
    """A number of elements."""
    return Check(f"hold {count} {of}", lambda v: len(v) == count)


def multiple(factor: Any) -> Check:
    return Check(f"be a multiple of {factor}", lambda v: v % factor == 0)


def optional(check: Check) -> Check:
    """None, or what the check says."""
    fits = check.fits
    return Check(f"{check.words} or None", None if fits is None else lambda v: v is None or fits(v), check.error,
                 check.shown)


def differ(op: str, names: tuple[str, ...], what: str, *values: Any, error: type[Exception] | None = None) -> Exception:
    """The error of arguments that must agree in something: their dtype, shape, length."""
    subject = _and([n if " " in n else f"'{n}'" for n in names])
    return (error or (TypeError if what == "dtype" else ValueError))(
        f"For '{op}', {subject} must have the same {what}, but got {_and([by_value(v) for v in values])}.")


def expected(op: str, what: str, value: Any, error: type[Exception] = ValueError) -> Exception:
    """The error of a call that lacks something that has no name of its own."""
    return error(f"For '{op}', expected {what}, but got {by_value(value)}.")


def empty(op: str, name: str) -> Exception:
    """The error of an argument that holds nothing."""
    return ValueError(f"For '{op}', '{name}' must not be empty.")


def exactly_one(op: str, *names: str) -> Exception:
    """The error of arguments of which exactly one must be given."""
    return ValueError(f"For '{op}', exactly one of {_and([repr(n) for n in names])} must be given.")


def at_least_one(op: str, *names: str) -> Exception:
    """The error of arguments of which none is given, and one must be."""
    return ValueError(f"For '{op}', at least one of {_and([repr(n) for n in names])} must be given.")


def at_most_one(op: str, *names: str) -> Exception:
    """The error of arguments that exclude each other."""
    return ValueError(f"For '{op}', at most one of {_and([repr(n) for n in names])} may be set.")


def together(op: str, *names: str, error: type[Exception] = ValueError) -> Exception:
    """The error of arguments of which some are missing."""
    return error(f"For '{op}', {_and([repr(n) for n in names])} must be given together.")


def needs(op: str, what: str, needed: str) -> Exception:
    """The error of an argument that goes with another one only."""
    return ValueError(f"For '{op}', {what} needs {needed}.")


def unfit(op: str, what: str, place: str) -> Exception:
    """The error of a shape that does not go with another."""
    return ValueError(f"For '{op}', {what} does not fit {place}.")


def too_large(op: str, what: str, bound: str) -> Exception:
    return ValueError(f"For '{op}', {what} is larger than {bound}.")


def out_of_range(op: str, what: str, rank: int, error: type[Exception] = ValueError) -> Exception:
    """The error of axes that a tensor of this rank does not have; `what` ends in "is" or "are"."""
    return error(f"For '{op}', {what} out of range for {rank} {'dimension' if rank == 1 else 'dimensions'}.")


def missing(op: str, what: str, path: Any, error: type[Exception] = ValueError) -> Exception:
    """The error of a file or folder that is not there."""
    return error(f"For '{op}', the {what} {path!r} does not exist.")


def none_such(op: str, what: str, name: Any, error: type[Exception] = ValueError) -> Exception:
    """The error of a name under which there is nothing."""
    return error(f"For '{op}', there is no {what} {name!r}.")


def call_first(op: str, what: str) -> Exception:
    """The error of a call that comes before the one it needs."""
    return RuntimeError(f"For '{op}', call {what} first.")


def unknown(op: str, what: str, name: Any, known: Any = (), error: type[Exception] = ValueError) -> Exception:
    """The error of a name that stands for nothing; `known` are those that there are."""
    rest = f": it is not one of {list(known)}" if known else ""
    return error(f"For '{op}', the {what} {name!r} is not recognized{rest}.")


def unsupported(op: str, what: str, instead: str = "", error: type[Exception] = ValueError) -> Exception:
    """The error of what is not there, in words that end in "is" or "are"; `instead` says what there is."""
    return error(f"For '{op}', {what} not supported{': ' + instead if instead else ''}.")


def _or(words):
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _and(words):
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
