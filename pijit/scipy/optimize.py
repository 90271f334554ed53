"""Minima of functions, searches along a line, assignments. The search runs in Python; func may be jitted."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit import dtype as mstype
from pijit._C import Tensor
from pijit.grad import grad
from pijit.ops import function as F

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class OptimizeResults(NamedTuple):
    """x, whether the search ended well, its status, the value, the gradient, an estimate of the inverse Hessian,
    counts."""

    x: Tensor
    success: bool
    status: int
    fun: Tensor
    jac: Tensor
    hess_inv: Tensor | None
    nfev: int
    njev: int
    nit: int


class LineSearchResults(NamedTuple):
    """What line_search found: whether it failed, how many steps and evaluations it took, the step a_k, value and
    gradient there."""

    failed: bool
    nit: int
    nfev: int
    ngev: int
    k: int
    a_k: Tensor
    f_k: Tensor
    g_k: Tensor
    status: int


def _between(low, f_low, d_low, high, f_high, last):
    """Where a cubic through both ends and the end before, else a parabola, is least, if that is well inside; else the
    middle."""
    width = high - low
    near, far = min(low, high), max(low, high)
    with np.errstate(all="ignore"):
        if last is not None:
            b, c = width, last[0] - low
            rest = np.array([f_high - f_low - d_low * b, last[1] - f_low - d_low * c])
            third, second = np.array([[c * c, -b * b], [-c ** 3, b ** 3]]) @ rest / np.float64((b * c) ** 2 * (b - c))
            a = low + (-second + np.sqrt(second * second - 3 * third * d_low)) / (3 * third)
            if near + 0.2 * abs(width) < a < far - 0.2 * abs(width):
                return float(a)
        a = low - d_low * width * width / np.float64(2.0 * (f_high - f_low - d_low * width))
        if near + 0.1 * abs(width) < a < far - 0.1 * abs(width):
            return float(a)
    return low + 0.5 * width


class _Inverse:
    """The estimate of the inverse Hessian of BFGS: a matrix, or by the last steps alone (L-BFGS)."""

    def __init__(self, x: Tensor, history: int | None) -> None:
        self.matrix = None if history else F.eye(x.size, x.size, x.dtype)
        self.steps: Any = []
        self.history = history

    def times(self, g: Tensor) -> Any:
        """Its product with a gradient."""
        if self.matrix is not None:
            return F.matmul(self.matrix, g)
        shares = []
        for s, y, rho in reversed(self.steps):
            share = rho * F.sum(s * g)
            shares.append(share)
            g = g - share * y
        if self.steps:
            s, y, _ = self.steps[-1]
            g = g * (F.sum(s * y) / F.sum(y * y))
        for (s, y, rho), share in zip(self.steps, reversed(shares)):
            g = g + (share - rho * F.sum(y * g)) * s
        return g

    def learn(self, s: Tensor, y: Tensor) -> None:
        """Takes a step and how the gradient changed by it."""
        ys = F.sum(y * s)
        if ys.item() <= 0:
            return
        rho = 1.0 / ys
        if self.matrix is None:
            self.steps = [*self.steps, (s, y, rho)][-self.history:]
            return
        left = F.eye(s.size, s.size, s.dtype) - rho * F.outer(s, y)
        self.matrix = F.matmul(F.matmul(left, self.matrix), left.T) + rho * F.outer(s, s)


def line_search(f: Callable[..., Any], xk: Any, pk: Any, jac: Any = None, gfk: Any = None, old_fval: Any = None,
                old_old_fval: Any = None, c1: float = 1e-4, c2: float = 0.9, maxiter: int = 20) -> LineSearchResults:
    """A step along pk from xk that satisfies the strong Wolfe conditions.

    By algorithms 3.5 and 3.6 of Nocedal & Wright 2006.

    f: a function of a vector that gives a scalar Tensor; jac: its gradient, derived by default."""
    slope = jac or grad(f)
    direction = pk.asnumpy().astype(np.float64)
    counts = [0, 0]
    seen = {}

    def value(a):
        counts[0] += 1
        return float(f(xk + pk * a).item())

    def derivative(a):
        counts[1] += 1
        seen[a] = slope(xk + pk * a)
        return float(seen[a].asnumpy().astype(np.float64) @ direction)
    f0 = value(0.0) if old_fval is None else float(old_fval.item() if isinstance(old_fval, Tensor) else old_fval)
    d0 = derivative(0.0) if gfk is None else float(gfk.asnumpy().astype(np.float64) @ direction)

    def zoom(low, f_low, d_low, high, f_high, steps):
        last = None  # the end that was given up before
        for k in range(steps):
            a = _between(low, f_low, d_low, high, f_high, last)
            fa = value(a)
            if fa > f0 + c1 * a * d0 or fa >= f_low:
                last, high, f_high = (high, f_high), a, fa
            else:
                d = derivative(a)
                if abs(d) <= -c2 * d0:
                    return a, fa, k + 1
                last = low, f_low
                if d * (high - low) >= 0:
                    last, high, f_high = (high, f_high), low, f_low
                low, f_low, d_low = a, fa, d
        return None, f_low, steps
    before, f_before, d_before, a, found, k = 0.0, f0, d0, 1.0, None, 0
    for k in range(1, maxiter + 1):
        fa = value(a)
        if fa > f0 + c1 * a * d0 or k > 1 and fa >= f_before:
            found = zoom(before, f_before, d_before, a, fa, maxiter)
            break
        d = derivative(a)
        if abs(d) <= -c2 * d0:
            found = (a, fa, 0)
            break
        if d >= 0:
            found = zoom(a, fa, d, before, f_before, maxiter)
            break
        before, f_before, d_before, a = a, fa, d, a * 2.0
    step = found[0] if found else None
    if step is None:
        return LineSearchResults(True, k, *counts, k, Tensor(1.0, xk.dtype), Tensor(f0, xk.dtype), slope(xk), 1)
    return LineSearchResults(False, k, *counts, k, Tensor(step, xk.dtype), Tensor(found[1], xk.dtype),
                             seen.get(step, None) if step in seen else slope(xk + pk * step), 0)


def minimize(func: Callable[..., Any], x0: Any, args: tuple[Any, ...] = (), method: Any = None, jac: Any = None,
             hess: Any = None, hessp: Any = None, bounds: Any = None, constraints: tuple[Any, ...] = (),
             tol: Any = None, callback: Callable[..., Any] | None = None, options: Any = None) -> OptimizeResults:
    """The place where func (of a vector, and args) is least, from x0, by BFGS or L-BFGS.

    By algorithms 6.1 and 7.5 of Nocedal & Wright 2006.

    method: 'BFGS' (or None) or 'LBFGS'; options: 'maxiter', 'norm', 'gtol', 'line_search_maxiter', and of L-BFGS
        'history_size'. Returns OptimizeResults. Raises TypeError or ValueError for other kinds of arguments and
        methods."""
    if not isinstance(x0, Tensor):
        raise _check.refused("minimize", "x0", _check.TENSOR, x0)
    if not isinstance(args, tuple):
        raise _check.refused("minimize", "args", _check.TUPLE, args)
    if method is not None and str(method).lower() not in ("bfgs", "lbfgs"):
        raise _check.refused("minimize", "method", _check.one_of("BFGS", "LBFGS"), method)
    given = {name: v for name, v in (options or {}).items() if v is not None}
    options = {"maxiter": x0.size * 200, "norm": np.inf, "gtol": 1e-5 if tol is None else tol,
               "line_search_maxiter": 10, "history_size": 20, **given}

    def f(x):
        return func(x, *args)
    slope = grad(f) if jac is None else lambda x: jac(x, *args)
    x, g = x0, slope(x0)
    value = f(x)
    inverse = _Inverse(x0, options["history_size"] if str(method).lower() == "lbfgs" else None)
    counts, k, status = [1, 1], 0, 0
    while k < options["maxiter"] and np.linalg.norm(g.asnumpy(), options["norm"]) > options["gtol"]:
        p = -inverse.times(g)
        step = line_search(f, x, p, slope, g, value, None, maxiter=options["line_search_maxiter"])
        counts[0] += step.nfev
        counts[1] += step.ngev
        if step.failed:
            status = 5
            break
        s = p * step.a_k
        new = x + s
        new_g = step.g_k
        inverse.learn(s, new_g - g)
        x, g, value, k = new, new_g, step.f_k, k + 1
        if callback is not None:
            callback(x)
    good = bool(np.linalg.norm(g.asnumpy(), options["norm"]) <= options["gtol"])
    return OptimizeResults(x, good, 0 if good else status or 1, f(x), g, inverse.matrix, *counts, k)


def linear_sum_assignment(cost_matrix: Any, maximize: bool, dimension_limit: Any = None) -> tuple[Tensor, Tensor]:
    """(rows, columns) whose costs have the least sum, the greatest with maximize.

    They are int64, of min(rows, columns) elements; -1 behind what dimension_limit (a Tensor: how many columns count)
    cuts off. By the shortest augmenting paths of Jonker & Volgenant 1987."""
    a = cost_matrix.asnumpy().astype(np.float64)
    if a.ndim != 2:
        raise _check.refused("linear_sum_assignment", "cost_matrix", _check.dims(2), a.ndim)
    most = min(a.shape)
    if dimension_limit is not None:
        a = a[:, :int(dimension_limit.asnumpy().ravel()[0])]
    cost = -a if maximize else a
    flip = cost.shape[0] > cost.shape[1]
    if flip:
        cost = cost.T
    n, m = cost.shape
    u, v = np.zeros(n + 1), np.zeros(m + 1)
    owner, way = np.zeros(m + 1, np.int64), np.zeros(m + 1, np.int64)
    for i in range(1, n + 1):
        owner[0], j = i, 0
        least, used = np.full(m + 1, np.inf), np.zeros(m + 1, bool)
        while True:
            used[j] = True
            row = cost[owner[j] - 1] - u[owner[j]] - v[1:]
            better = ~used[1:] & (row < least[1:])
            least[1:][better], way[1:][better] = row[better], j
            free = np.where(used[1:], np.inf, least[1:])
            nxt = int(free.argmin()) + 1
            delta = free[nxt - 1]
            u[owner[used]] += delta
            v[used] -= delta
            least[~used] -= delta
            j = nxt
            if owner[j] == 0:
                break
        while j:
            owner[j], j = owner[way[j]], way[j]
    pairs = [(owner[j] - 1, j - 1) for j in range(1, m + 1) if owner[j]]
    pairs = sorted((c, r) for r, c in pairs) if flip else sorted(pairs)
    rows, columns = np.full(most, -1, np.int64), np.full(most, -1, np.int64)
    for k, (r, c) in enumerate(pairs[:most]):
        rows[k], columns[k] = r, c
    return Tensor(rows, mstype.int64), Tensor(columns, mstype.int64)


__all__ = ["line_search", "linear_sum_assignment", "minimize"]
