"""Programs with `except*`, which CPython reads from 3.11 on: for the tests of what they are about."""

import contextlib

from tests.python.swallows import Swallows


def star_of_no_class(x):
    with Swallows(TypeError) as s:
        try:
            raise ValueError
        except* 42:
            pass
    return x + 1, s.seen


def star_of_several(x):
    s = Swallows()
    for bad in (42, (ValueError, 42), ExceptionGroup, (TypeError, ExceptionGroup), "s"):
        with s:
            try:
                raise ValueError
            except* bad:
                pass
    return x + 1, s.seen


def star_suppressed(x):
    with contextlib.suppress(TypeError):
        try:
            raise ExceptionGroup("e", [ValueError(1), KeyError(2)])
        except* None:
            x = x + 5
    return x + 1


def star_in_loops(x):
    got = []
    for k in range(2):
        for m in [k]:
            try:
                try:
                    raise KeyError(m)
                except* (1,):
                    got.append("no")
            except TypeError as e:
                got.append(str(e))
    return x + len(got), got


def star_that_raises(x):
    with Swallows() as s:
        try:
            raise ValueError(1)
        except* ValueError as e:
            raise KeyError(len(e.exceptions))
    return x + 1, [k for k, _ in s.seen]


def star_partly(x):
    with Swallows() as s:
        try:
            raise ExceptionGroup("e", [ValueError(1), KeyError(2)])
        except* ValueError:
            x = x * 2
    return x + 1, s.seen


def group(x):
    try:
        raise ExceptionGroup("g", [ValueError("a")])
    except* ValueError:
        x = x + 1
    return x


def group_split(x):
    y = x * 2
    try:
        raise ExceptionGroup("group", [ValueError(1), TypeError(2), KeyError(3)])
    except* ValueError as e:
        y = y + len(e.exceptions)
    except* (TypeError, KeyError) as e:
        y = y + 10 * len(e.exceptions)
    return y * 2
