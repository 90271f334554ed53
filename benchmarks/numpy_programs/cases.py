"""What a program of the collection is: a plain function, and what makes its arguments at two sizes."""

import numpy as np

PROGRAMS = {}


class Program:
    """A program: `run` as people write it, and arguments by a random generator and numbers that say how large."""

    def __init__(self, run, sizes):
        self.run, self.name, self.sizes, self.make = run, run.__name__, sizes, None

    def arguments(self, make):
        """Decorator: make(generator, *sizes) gives the list of arguments."""
        self.make = make
        PROGRAMS[self.name] = self
        return self

    def inputs(self, size):
        return self.make(np.random.default_rng(42), *self.sizes[size])


def program(small, medium):
    """Decorator: a function with the sizes of its tests and those that are measured."""
    return lambda run: Program(run, {"small": small, "medium": medium})


def copied(args):
    """Fresh arguments, with the same strides."""
    return [a.copy(order="K") if isinstance(a, np.ndarray) else a for a in args]


def bits(x):
    """All of a result or an argument that may not differ."""
    if isinstance(x, np.ndarray):
        return x.dtype.str, x.shape, x.strides, x.tobytes()
    if isinstance(x, (tuple, list)):
        return type(x).__name__, [bits(v) for v in x]
    if isinstance(x, (float, complex, np.generic)):
        return type(x).__name__, np.asarray(x).tobytes()
    return type(x).__name__, x


def outcome(run, args):
    """Bits of what a call returns and of all that it was given, behind it."""
    args = copied(args)
    return bits(run(*args)), bits(args)
