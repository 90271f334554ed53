"""Jacobians and Hessians: gradients or tangents along a whole basis at once, by vectorisation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit import _C, dtype as mstype
from pijit._C import Tensor
from pijit.grad import Transformed, _flatten, arrays_among, record
from pijit.ops import function as F
from pijit.vmap import vectorize

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any
    from pijit._types import Size


class JacobianFunction(Transformed):
    """What jacrev and jacfwd return: calling it gives the Jacobians of `fn` by the arguments at `positions`."""

    fn: Callable[..., Any]
    positions: Any
    has_aux: Any
    forward: Any

    def __init__(self, fn: Callable[..., Any], positions: Any, has_aux: Any, forward: Any) -> None:
        self.fn, self.positions, self.has_aux, self.forward = fn, positions, has_aux, forward

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        for p in self.positions:
            if p >= len(args):
                raise ValueError(f"grad_position {p} is out of range for {len(args)} positional arguments.")
        if arrays_among([args[p] for p in self.positions]):
            from pijit.ndarrays.transforms import jacobians
            return jacobians(self, args, kwargs)
        for p in self.positions:
            if not isinstance(args[p], Tensor) or not (args[p].dtype.is_floating_point or not self.forward
                                                       and args[p].dtype in mstype.int_type + mstype.uint_type):
                raise TypeError(
                    f"grad_position {p} must be a Tensor of a floating "
                    f"dtype{'' if self.forward else ' or of integers'}, but got {args[p]!r}.")
        value, columns = (push if self.forward else pull)(self.fn, args, kwargs, self.positions, self.has_aux)
        it = iter(columns)
        jacobians = _pack(value[0] if self.has_aux else value, it, len(self.positions))
        if not self.has_aux:
            return jacobians
        return jacobians, value[1] if len(value) == 2 else tuple(value[1:])


def _pack(x, columns, n):
    """x with each tensor replaced by its Jacobian by the one position, or by a tuple of those by n positions."""
    if isinstance(x, (tuple, list)):
        return tuple([_pack(v, columns, n) for v in x])
    if isinstance(x, dict):
        return {k: _pack(v, columns, n) for k, v in x.items()}
    if not isinstance(x, Tensor):
        return None
    return next(columns) if n == 1 else tuple([next(columns) for _ in range(n)])


def _run(tape, fn, args, kwargs, positions, has_aux):
    """(value, differentiable outputs, arguments at the positions), recorded."""
    args = list(args)
    for p in positions:
        args[p] = args[p]._alias()
    held = [args[p]._held() for p in positions]
    value = record(tape, held, fn, args, kwargs)
    if has_aux and (not isinstance(value, (tuple, list)) or len(value) < 2):
        raise ValueError("When 'has_aux' is True, the function must return a tuple of a result and what goes with it.")
    outputs = _flatten(value[0] if has_aux else value, [])
    if not outputs:
        raise TypeError(f"the function to differentiate must return a Tensor, but returned {type(value).__name__}.")
    for o in outputs:
        if not o.dtype.is_floating_point:
            raise TypeError(
                f"the function to differentiate must return Tensors of a floating dtype, but returned {o.dtype}.")
    return value, outputs, held


def _along_basis(f, x):
    """f of each unit tensor of x's shape; results have the number of the unit in front."""
    n = x.size
    basis = F.reshape(F.eye(n, n, x.dtype), (n, *x.shape))
    example = (basis[0] if n else F.zeros(x.shape, x.dtype))._alias()
    examples, results = vectorize(f, (example,), {}, [example], [basis], n)
    return [F.broadcast_to(e, (n, *e.shape)) if r is None else r for e, r in zip(examples, results)]


def pull(fn: Callable[..., Any], args: Any, kwargs: Any, positions: Any, has_aux: Any) -> Any:
    """(fn's value, Jacobians): one for each output and position, computed row by row in reverse mode."""
    tape, single = _C.Tape(), _C.Tape("forward")
    single.start()  # captured functions run op by op: the gradient of one as a whole is no op that all rows can share
    try:
        value, outputs, held = _run(tape, fn, args, kwargs, positions, has_aux)
    finally:
        single.stop()
    columns = []
    for o in outputs:
        rows = _along_basis(lambda ct, o=o: tape.gradient([o], [ct], held), o)
        columns += [F.reshape(r, (*o.shape, *x.shape)) for r, x in zip(rows, held)]
    return value, columns


def push(fn: Callable[..., Any], args: Any, kwargs: Any, positions: Any, has_aux: Any) -> Any:
    """The same, computed column by column in forward mode."""
    tape = _C.Tape("forward")
    value, outputs, held = _run(tape, fn, args, kwargs, positions, has_aux)
    by_position = []
    for x in held:
        rows = _along_basis(lambda t, x=x: tape.pushforward([x], [t], outputs), x)
        by_position.append([F.reshape(F.moveaxis(r, 0, -1), (*o.shape, *x.shape)) for r, o in zip(rows, outputs)])
    return value, [columns[k] for k in range(len(outputs)) for columns in by_position]


def _jacobian(name, fn, grad_position, has_aux, forward):
    if not callable(fn):
        raise _check.refused(name, "fn", _check.FUNCTION, fn)
    positions = grad_position if isinstance(grad_position, tuple) else (grad_position,)
    for p in positions:
        if isinstance(p, bool) or not isinstance(p, int):
            raise _check.refused(name, "grad_position", _check.value("be an int or a tuple of ints"), grad_position,
                                 TypeError)
        if p < 0:
            raise _check.refused(name, "grad_position", _check.at_least(0), p)
    if not positions:
        raise _check.empty(name, "grad_position")
    return JacobianFunction(fn, positions, has_aux, forward)


def jacrev(fn: Callable[..., Any], grad_position: Size = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function giving the Jacobian of `fn`, in reverse mode: the better way where outputs are fewer than inputs.

    For an output of shape `out` and an argument of shape `in`, the Jacobian has shape out + in. Several positions give
    a tuple for each output, several outputs a tuple of those; with has_aux, fn returns (output, *aux), and the
    result is (Jacobian, aux). Of ndarrays, fn is one of NumPy's, and Jacobians are ndarrays. Raises TypeError for
    arguments or outputs that are not floating Tensors or ndarrays and ValueError for positions out of range.

    Args:
        grad_position (int or tuple of int, optional): by which arguments to differentiate. Default: 0.

    Returns:
        A function.

    Example:
        >>> print(ops.jacrev(lambda x: x * x)(Tensor([1.0, 2.0])))
        [[2. 0.]
         [0. 4.]]
    """
    return _jacobian("jacrev", fn, grad_position, has_aux, False)


def jacfwd(fn: Callable[..., Any], grad_position: Size = 0, has_aux: bool = False) -> Callable[..., Any]:
    """As `jacrev`, in forward mode: the better way where inputs are fewer than outputs.

    Args:
        fn (function): what to work on.
        grad_position (int or tuple of int, optional): by which arguments to differentiate. Default: 0.
        has_aux (bool, optional): whether fn returns further values, which are handed on. Default: False.

    Returns:
        A function.

    Example:
        >>> print(ops.jacfwd(lambda x: x * x)(Tensor([1.0, 2.0])))
        [[2. 0.]
         [0. 4.]]
    """
    return _jacobian("jacfwd", fn, grad_position, has_aux, True)


def hessian(fn: Callable[..., Any], grad_position: Size = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function giving the second derivatives of `fn`, by forward over reverse mode; shapes as of jacfwd(jacrev(fn)).

    Args:
        fn (function): what to work on.
        grad_position (int or tuple of int, optional): by which arguments to differentiate. Default: 0.
        has_aux (bool, optional): whether fn returns further values, which are handed on. Default: False.

    Returns:
        A function.

    Example:
        >>> print(ms.hessian(lambda x: (x * x).sum())(Tensor([1.0, 2.0])))
        [[2. 0.]
         [0. 2.]]
    """
    return _jacobian("hessian", _jacobian("hessian", fn, grad_position, has_aux, False), grad_position, has_aux, True)
