"""Programs with `match`, which CPython 3.9 can't read: for the tests of what they are about."""

import dataclasses


@dataclasses.dataclass
class Point:
    a: int
    b: float


class Bad:
    __match_args__ = ["a"]


def matched(x, what):
    match what:
        case Point(1, b=b):
            return x * b
        case Point(a, b):
            return x + a * b
        case {"scale": s, **rest}:
            return x * s + len(rest)
        case int(n) | float(n):
            return x - n
        case str() as text:
            return x * len(text)
        case [first, *others]:
            return x * first + sum(others)
        case None:
            return x
    return x * 0


def matched_badly(x, o):
    match o:
        case Bad(a):
            return x * a
    return x


def matched_by_too_many(x, o):
    match o:
        case Point(a, b, c):
            return x * a * b * c
    return x


def matched_and_more(x, p):
    y = x * 2
    match p:
        case Point(0, b):
            r = y + b
        case Point(a, b):
            r = y * a + b
        case {"k": v, **rest}:
            r = y - v, rest
        case _:
            r = y
    return r, x * 3


def matched_arguments(x):
    try:
        raise RuntimeError("a", 2)
    except RuntimeError as e:
        match e.args:
            case (str(), int(n)):
                return x * n
    return x


def matched_shape(x):
    match x.shape:
        case (3, n):
            y = n
        case _:
            y = 0
    match [1, y, 3]:
        case [1, *rest]:
            z = rest
    return x * y, z
