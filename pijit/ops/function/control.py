"""Control flow on the value of a tensor. Jitted, they are regions of the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit._C import Tensor
from pijit.ops.function.decomposition import _condition_number

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def cond(pred: Any, true_fn: Any = None, false_fn: Any = None, *operands: Any) -> Any:
    """true_fn(*operands) where `pred` (a bool, or a tensor of one element) is true, else false_fn(*operands).

    cond(A, p=None) of a matrix is its condition number norm(A) * norm(inverse of A), as MindSpore has it.

    Returns:
        What the branch returns.

    Example:
        >>> print(ops.cond(Tensor(True), lambda x: x + 1, lambda x: x - 1, Tensor([1.0])))
        [2.]
    """
    if callable(true_fn):
        if not callable(false_fn):
            raise _check.refused("cond", "false_fn", _check.FUNCTION, false_fn)
        return true_fn(*operands) if pred else false_fn(*operands)
    if not isinstance(pred, Tensor):
        raise _check.refused("cond", "A", _check.TENSOR, pred)
    return _condition_number(pred, true_fn)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], loop_vars: Any) -> Any:
    """loop_vars = body_fn(*loop_vars) as long as cond_fn(*loop_vars) is true.

    Args:
        cond_fn (function): says whether to go on.
        body_fn (function): one step.
        loop_vars (object): what the functions take and body_fn gives.

    Returns:
        What body_fn gave last, or loop_vars.

    Raises:
        ValueError: if the shape of `loop_vars` does not fit.

    Example:
        >>> print(ops.while_loop(lambda k: k < 10, lambda k: k * 2, Tensor(1)))
        16
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise _check.refused("while_loop", "'cond_fn' and 'body_fn'", _check.FUNCTION,
                             body_fn if callable(cond_fn) else cond_fn)
    single = not isinstance(loop_vars, (tuple, list))
    values = (loop_vars,) if single else tuple(loop_vars)
    while cond_fn(*values):
        result = body_fn(*values)
        values = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    return values[0] if single else values


def fori_loop(lower: int, upper: int, loop_func: Callable[..., Any], init_val: Any) -> Any:
    """init_val = loop_func(i, init_val) for i in range(lower, upper).

    Args:
        lower (int): the first number.
        upper (int): the end, which isn't reached.
        loop_func (function): one step, of the number and the value.
        init_val (object): the first value.

    Returns:
        What loop_func gave last, or init_val.

    Example:
        >>> print(ops.fori_loop(0, 4, lambda i, total: total + i, Tensor(0)))
        6
    """
    value = init_val
    for i in range(lower, upper):
        value = loop_func(i, value)
    return value
