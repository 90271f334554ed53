"""Stencils of stencils: loops that read what others of a graph make at other rows than their own, tile by tile."""

import random
import warnings

import numpy as np
import pytest

import pijit
from tests.python.pairs import pairs

pytestmark = pytest.mark.kernels


def laplacian(a):
    return a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] - 4 * a[1:-1, 1:-1]


def twice(a):
    return laplacian(laplacian(a))


def blurred(a):
    h = 0.25 * a[:, :-2] + 0.5 * a[:, 1:-1] + 0.25 * a[:, 2:]
    return 0.25 * h[:-2] + 0.5 * h[1:-1] + 0.25 * h[2:]


def corners(a):
    x, y = a[1:-1, 2:] - a[1:-1, :-2], a[2:, 1:-1] - a[:-2, 1:-1]

    def box(z):
        h = z[:, :-2] + z[:, 1:-1] + z[:, 2:]
        return (h[:-2] + h[1:-1] + h[2:]) / 9
    xx, yy, xy = box(x * x), box(y * y), box(x * y)
    return xx * yy - xy * xy - 0.04 * (xx + yy) ** 2


def limited(a):
    """Steps between neighbours of a Laplacian, but for those against the slope."""
    d = laplacian(a)
    along = d[1:, :] - d[:-1, :]
    fx = np.where(along * (a[2:-1, 1:-1] - a[1:-2, 1:-1]) > 0, 0, along)
    across = d[:, 1:] - d[:, :-1]
    fy = np.where(across * (a[1:-1, 2:-1] - a[1:-1, 1:-2]) > 0, 0, across)
    return a[2:-2, 2:-2] - 0.1 * (fx[1:, 1:-1] - fx[:-1, 1:-1] + fy[1:-1, 1:] - fy[1:-1, :-1])


def with_parts(a):
    """Values between the loops leave, too."""
    d = a[1:] - a[:-1]
    s = d[1:] * d[:-1]
    return d, s[1:] + s[:-1]


def unused_rows(a):
    d = np.sqrt(a)
    return d[2:-2, 1:] - d[1:-3, 1:]


def upside_down(a):
    d = (a * 2)[::-1]
    return d[1:] - d[:-1], (a + 1)[:, ::-1][1:] * 2


def transposed(a):
    d = (a * a).T
    return d[1:] - d[:-1]


def by_thirds(a):
    d = a * 3
    return d[::3][1:] - d[::3][:-1] if len(a) > 6 else d


@pytest.mark.parametrize("shape", [(9, 7), (40, 33), (300, 700), (700, 20)], ids=str)
@pytest.mark.parametrize("f", [twice, blurred, corners, limited, with_parts, unused_rows, upside_down, transposed,
                               by_thirds], ids=lambda f: f.__name__)
def test_two_axes(f, shape):
    jitted = pijit.jit(f)
    rng = np.random.default_rng(3)
    for a in (rng.random(shape), rng.random(shape).astype(np.float32), np.asfortranarray(rng.random(shape)),
              rng.random((shape[0] * 2, shape[1] + 3))[::2, 2:-1]):
        for _ in range(3):
            same(jitted(a), f(a))


def same(got, wanted):
    if isinstance(wanted, tuple):
        return [same(g, w) for g, w in pairs(got, wanted)]
    assert got.dtype == wanted.dtype and got.strides == wanted.strides and got.tobytes() == wanted.tobytes()


def test_warnings_of_rows_that_nobody_reads():
    def f(a):
        d = 1 / a
        return d[2:] + d[1:-1]
    jitted = pijit.jit(f)
    for at in (0, 1, 70_000, 199_999, None):
        a = np.ones(200_000)
        if at is not None:
            a[at] = 0
        for _ in range(3):
            told = []
            for g in (f, jitted):
                with warnings.catch_warnings(record=True) as seen:
                    warnings.simplefilter("always")
                    r = g(a)
                told.append((r.tobytes(), [(str(w.message), w.lineno) for w in seen]))
            assert told[0] == told[1]


class Generated:
    """A chain of differences, products and choices of shifted views, some of which leave."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.rank = self.rng.choice([1, 2, 2, 3])
        self.lines, self.values, self.kept = [], [("a", (0,) * self.rank)], []
        for k in range(self.rng.randint(2, 9)):
            self.statement(f"v{k}")
        self.kept.append(self.values[-1][0])
        self.text = "def f(a):\n    " + "\n    ".join(self.lines) + f"\n    return {', '.join(self.kept)}\n"

    def statement(self, name):
        """The views of a statement are as large as the smallest can be, which shrinks along some axes."""
        rng = self.rng
        parts = [rng.choice(self.values[-4:]) for _ in range(rng.randint(2, 4))]
        lost = tuple(max(p[1][d] for p in parts) + rng.choice([0, 0, 1, 2]) * (d < 2) for d in range(self.rank))
        views = [self.view(of, [n - m for n, m in pairs(lost, less)]) for of, less in parts]
        text = views[0]
        for v in views[1:]:
            text = rng.choice([f"{text} + {v}", f"{text} - {v}", f"({text}) * {v}", f"np.maximum({text}, {v})",
                               f"np.where({v} > 0.25, {text}, {v})"])
        self.lines.append(f"{name} = {text}")
        self.values.append((name, lost))
        if rng.random() < 0.12:
            self.kept.append(name)

    def view(self, name, spare):
        if self.rng.random() < 0.1:
            self.lines.append(f"{name}_ = {name} * 0.5")
            name += "_"
        slices = []
        for n in spare:
            before = self.rng.randint(0, n)
            slices.append(f"{before}:{name}.shape[{len(slices)}]-{n - before}")
        return f"{name}[{', '.join(slices)}]"

    def function(self):
        space = {"np": np}
        exec(compile(self.text, "<stencil>", "exec"), space)
        return space["f"]


@pytest.mark.parametrize("block", range(8))
def test_generated(block):
    for seed in range(block * 12, block * 12 + 12):
        program = Generated(seed)
        f = program.function()
        jitted = pijit.jit(f)
        rng = np.random.default_rng(seed)
        sizes = {1: [(40,), (90_001,)], 2: [(30, 28), (260, 333)], 3: [(24, 22, 3), (40, 38, 70)]}[program.rank]
        for shape in sizes:
            a = rng.random(shape)
            for _ in range(2):
                try:
                    same(jitted(a), f(a))
                except AssertionError as e:
                    raise AssertionError(f"seed {seed}, {shape}:\n{program.text}") from e
