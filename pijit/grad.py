"""Reverse-mode differentiation of plain functions and Cells.

Eager calls record ops on a tape and run the recorded ops' gradients. Under `jit` this very code is captured: a tape
is then a part of the graph, and its questions are graph transforms (csrc/capture/gradients.cc); both give the same
bits."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from pijit import _check
from pijit import _C, hooks
from pijit._C import Tensor, ops as _ops
from pijit._numpy import is_loaded, np
from pijit.context import GRAPH_MODE, _context
from pijit.mutables import plain_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any
    from pijit.parameter import Parameter, ParameterTuple


class Stand:
    """Base of what stands for an ndarray in a function that is differentiated or mapped (pijit/ndarrays)."""

    __slots__ = ()


def arrays_among(x: Any) -> bool:
    """Whether an ndarray, a number of NumPy's or what stands for one is x, or is in it at any depth."""
    if isinstance(x, (tuple, list)):
        for v in x:
            if arrays_among(v):
                return True
        return False
    if isinstance(x, dict):
        return arrays_among(list(x.values()))
    return isinstance(x, Stand) or is_loaded() and isinstance(x, (np.ndarray, np.generic))


def for_numpy(wrt: Any, args: Any) -> bool:
    """Whether a function of NumPy's arrays is meant, by what it is differentiated by: arrays, or floats alone of a
    function without Tensors."""
    if arrays_among(wrt):
        return True
    for x in wrt:
        if type(x) is not float:
            return False
    return len(wrt) > 0 and not _flatten(args, [])


def _flatten(x, out):
    if isinstance(x, Tensor):
        out.append(x)
    elif isinstance(x, (tuple, list)):
        for v in x:
            _flatten(v, out)
    elif isinstance(x, dict):
        for v in x.values():
            _flatten(v, out)
    return out


def _alias(x):
    """x with tensors replaced by aliases, so that each has an identity of its own on the tape."""
    if isinstance(x, Tensor):
        return x._alias()
    plain = plain_type(x)
    if plain is dict:
        return {k: _alias(v) for k, v in x.items()}
    return x if plain is None else plain([_alias(v) for v in x])


def _like(x, grads):
    if isinstance(x, Tensor):
        return next(grads)
    if isinstance(x, (tuple, list)):
        found = [_like(v, grads) for v in x]
        return found if isinstance(x, list) else tuple(found)
    if isinstance(x, dict):
        return {k: _like(v, grads) for k, v in x.items()}
    return None


def record(tape: Any, watched: Any, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """fn(*args, **kwargs), with what depends on the watched tensors on the tape."""
    for x in watched:
        tape.watch(x)
    try:
        tape.start()  # inside: from when it is active on, an interrupt finds the tape's end
        return fn(*args, **kwargs)
    finally:
        tape.stop()


class Transformed:
    """A function made of another one, by which jit compiles both together."""

    _dynamic_shape_inputs = None  # what programs that declare shapes ask functions for

    @property
    def __code__(self) -> Any:
        """The other function's code, a cell's construct's."""
        fn = self.fn if hasattr(self.fn, "__code__") else getattr(self.fn, "construct", self.fn)
        return fn.__code__

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """What jit compiles: the transform is captured where it is called, not from its own code alone."""
        return self(*args, **kwargs)


class GradFunction(Transformed):
    """What grad, value_and_grad and GradOperation return: calling it gives gradients of `fn`.

    positions   indices of arguments to differentiate by (None: none)
    weights     Parameters to differentiate by (None: none)
    has_aux     fn returns (loss, *aux); only loss is differentiated
    with_value  return (value, gradients)
    sens        the last argument (or keyword `sens`) scales the outputs' cotangents
    tuple_out   give a tuple of gradients even for one position

    Positions that are no Tensors are left out; in GRAPH_MODE, of containers, those without Tensors. Of ndarrays at
    the positions, gradients are ndarrays (pijit/ndarrays)."""

    fn: Callable[..., Any]
    positions: Any
    weights: Any
    has_aux: Any
    with_value: Any
    sens: Any
    tuple_out: Any
    single_weight: bool

    def __init__(self, fn: Callable[..., Any], positions: Any, weights: Any, has_aux: Any, with_value: Any, sens: Any,
                 tuple_out: Any, single_weight: bool = False) -> None:
        self.fn, self.positions, self.weights = fn, positions, weights
        self.has_aux, self.with_value, self.sens = has_aux, with_value, sens
        self.tuple_out, self.single_weight = tuple_out, single_weight
        self._cell = fn if hasattr(type(fn), "_last_call_with") else None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        sens = None
        if self.sens:
            if "sens" in kwargs:
                sens = kwargs.pop("sens")
            else:
                sens, args = args[-1], args[:-1]
        positions = _differentiable(self.positions, args)
        if self._left_out_arrays(positions, args):
            from pijit.ndarrays.transforms import gradients
            return gradients(self, args, kwargs, sens)
        call = None if self._cell is None else self._cell._last_call_with(args, kwargs)
        args, originals = list(args), []
        for p in positions or ():
            _flatten(args[p], originals)
            args[p] = _alias(args[p])
        weights = tuple(self.weights or ())
        for w in weights:  # parameters that share a value get identities of their own
            w._renew_identity()
        tape = _C.Tape()
        wrt = []
        for p in positions or ():
            wrt += _flatten(args[p], [])
        arg_leaves = len(wrt)
        wrt = [x._held() for x in wrt + list(weights)]  # the values as they are now, whatever fn assigns
        for w, held in zip(weights, wrt[arg_leaves:]):
            if not tape.watch(held):
                raise ValueError(f"the parameter {w.name!r} is listed twice in 'weights'.")
        if hooks.kept:
            hooks.attach(tape, originals + list(weights), wrt)
        if call is None:
            value = record(tape, wrt, self.fn, args, kwargs)
        else:
            value = self._cell._as_in_a_call(call, record, tape, wrt, self.fn, args, kwargs)
        if self.has_aux:
            if not isinstance(value, (tuple, list)) or not value:
                raise ValueError("When 'has_aux' is True, the function must return a tuple whose first element is the "
                                 "loss.")
            outputs = _flatten(value[0], [])
        else:
            outputs = _flatten(value, [])
        if args and self.positions not in (None, "all") and max(self.positions) >= len(args):
            raise RuntimeError(f"grad_position {max(self.positions)} is out of range for {len(args)} positional "
                               "arguments.")
        if not outputs:  # nothing depends on anything
            grads = [_ops["broadcast_to"](_ops["cast"](0.0, x.dtype), x.shape) for x in wrt]
            return self._pack(value, args, grads, arg_leaves, positions)
        cts = [_ops["broadcast_to"](_ops["cast"](1.0, o.dtype), o.shape)
               for o in outputs] if sens is None else _sens(sens, outputs)
        grads = tape.gradient(outputs, cts, wrt)
        return self._pack(value, args, grads, arg_leaves, positions)

    def _left_out_arrays(self, positions, args):
        """Whether a function of ndarrays is meant: there are some among the arguments to differentiate by.

        Raises:
            TypeError: if an ndarray at a position that is named stands beside Tensors at others."""
        if positions is None or len(positions) == (len(args) if self.positions == "all" else len(self.positions)):
            return False
        wrt = [args[p] for p in (range(len(args)) if self.positions == "all" else self.positions) if p < len(args)]
        if not positions:
            return for_numpy(wrt, args) and (self.positions != "all" or arrays_among(wrt))
        if self.positions != "all" and arrays_among(wrt):
            raise _check.refused("grad", "what is differentiated by", _check.value(
                "be ndarrays alone or Tensors alone"), _check.several("both"), TypeError)
        return False

    def positions_among(self, args: Any) -> Any:
        """Indices of the arguments to differentiate by, which the gradients are of."""
        positions = _differentiable(self.positions, args)
        if not self._left_out_arrays(positions, args):
            return positions
        if self.positions == "all":
            return tuple([p for p in range(len(args)) if arrays_among(args[p])])
        return tuple([p for p in self.positions if p < len(args)])

    def _pack(self, value, args, grads, arg_leaves, positions):
        it = iter(grads[:arg_leaves])
        by_arg = tuple([_like(args[p], it) for p in positions or ()])
        if positions is not None and not self.tuple_out and len(by_arg) == 1:
            by_arg = by_arg[0]
        by_weight = tuple(grads[arg_leaves:])
        if self.single_weight:
            by_weight = by_weight[0]
        if self.weights is None:
            g = by_arg
        elif positions is None:
            g = by_weight
        else:
            g = (by_arg, by_weight)
        if self.with_value:
            return value, g
        if self.has_aux:
            return g, tuple(value[1:])
        return g


def _differentiable(positions, args):
    """Those of the positions (None: none, "all": of all arguments) that are Tensors; in GRAPH_MODE also containers of
    some."""
    if positions is None:
        return None
    containers = _context["mode"] == GRAPH_MODE
    return tuple([p for p in (range(len(args)) if positions == "all" else positions)
                  if p < len(args) and (isinstance(args[p], Tensor) or containers and _flatten(args[p], []))])


def _sens(sens, outputs):
    given = _flatten(sens, []) if not isinstance(sens, (int, float)) else [sens] * len(outputs)
    if len(given) != len(outputs):
        raise ValueError(f"'sens' must hold one value per output: expected {len(outputs)}, but got {len(given)}.")
    return [_ops["broadcast_to"](_ops["cast"](s, o.dtype), o.shape) for s, o in zip(given, outputs)]


def _positions(grad_position):
    if grad_position is None:
        return None
    if isinstance(grad_position, int) and not isinstance(grad_position, bool):
        pos = (grad_position,)
    elif isinstance(grad_position, tuple) and all(isinstance(p, int) for p in grad_position):
        pos = grad_position
    else:
        raise _check.refused("grad", "grad_position", _check.value("be int, tuple of int or None"), grad_position,
                             TypeError)
    if not pos:
        raise _check.refused("grad", "grad_position", _check.value("name at least one argument"), (), RuntimeError)
    for p in pos:
        if p < 0:
            raise _check.refused("grad", "grad_position", _check.at_least(0), p)
    return pos


def _weights(weights):
    """(tuple of parameters or None, whether a single one was given)"""
    from pijit.parameter import Parameter
    if weights is None:
        return None, False
    if isinstance(weights, Parameter):
        return (weights,), True
    w = tuple(weights)
    for p in w:
        if not isinstance(p, Parameter):
            raise _check.refused("grad", "weights", _check.type_("Parameters"), p)
    return w, False


def grad(fn: Callable[..., Any], grad_position: int | tuple[int, ...] | None = 0,
         weights: Parameter | Sequence[Parameter] = None, has_aux: bool = False, return_ids: bool = False,
         sens_param: bool = False) -> Any:
    """A function giving gradients of `fn` by the arguments at grad_position and by `weights`.

    fn maps tensors to a tensor (or a tuple, whose elements are summed); with has_aux, to (loss, *aux).
    Returns gradients shaped like the arguments: one for one position, a tuple for several, then
    (by position, by weights) where both are asked for; positions that are no Tensors (numbers, None, and but in
    GRAPH_MODE containers of Tensors) are left out. With return_ids, (position or parameter name, gradient) stands in
    place of each gradient, where `get_grad` finds it; with sens_param, the last argument of a call (or the keyword
    `sens`) scales the outputs' gradients. Raises TypeError, ValueError and RuntimeError on bad positions.

    fn may be written in NumPy: of ndarrays, NumPy's numbers, floats, or tuples, lists and dicts of them at the
    positions, gradients are ndarrays of the arguments' dtypes and shapes, and values are NumPy's. TypeError for arrays
    of integers, for ndarrays beside Tensors or weights, and for functions of NumPy's that have no rule.

    Example:
        >>> print(ops.grad(lambda x: x * x)(Tensor([3.0])))
        [6.]
    """
    if not callable(fn):
        raise _check.refused("grad", "fn", _check.FUNCTION, fn)
    if grad_position is None and weights is None:
        raise _check.at_least_one("grad", "grad_position", "weights")
    w, single = _weights(weights)
    g = GradFunction(fn, _positions(grad_position), w, has_aux, False, sens_param, False, single)
    return _with_ids(g) if return_ids else g


def value_and_grad(fn: Callable[..., Any], grad_position: int | tuple[int, ...] | None = 0,
                   weights: Parameter | Sequence[Parameter] | None = None, has_aux: bool = False,
                   return_ids: bool = False, sens_param: bool = False) -> Callable[..., Any]:
    """As `grad`, giving (fn's value, gradients), of Tensors or ndarrays.

    Args:
        fn (function): what to work on.
        grad_position (int or tuple of int, optional): by which arguments to differentiate. Default: 0.
        weights (Parameter, or a tuple of them, optional): the parameters to differentiate by. Default: None.
        has_aux (bool, optional): whether fn returns further values, which are handed on. Default: False.
        return_ids (bool, optional): whether each gradient comes with its position or name. Default: False.
        sens_param (bool, optional): whether the last argument of a call (or the keyword `sens`) scales the outputs'
            gradients. Default: False.

    Returns:
        A function.

    Example:
        >>> for part in ops.value_and_grad(lambda x: (x * x).sum())(Tensor([3.0])):
        ...     print(part)
        9.0
        [6.]
    """
    if not callable(fn):
        raise _check.refused("value_and_grad", "fn", _check.FUNCTION, fn)
    if grad_position is None and weights is None:
        raise _check.at_least_one("value_and_grad", "grad_position", "weights")
    w, single = _weights(weights)
    g = GradFunction(fn, _positions(grad_position), w, has_aux, True, sens_param, False, single)
    return _with_ids(g) if return_ids else g


def _with_ids(g):
    """The gradient function, each gradient beside what it is by."""
    def named(grads, args):
        by_arg, by_weight = (None, grads) if g.positions is None else (grads, None) if g.weights is None else grads
        if by_arg is not None:
            positions = g.positions_among(args)
            if len(positions) == 1:
                by_arg = (positions[0], by_arg) if by_weight is None else ((positions[0], by_arg),)
            else:
                by_arg = tuple(zip(positions, by_arg))
        if by_weight is not None:
            by_weight = (g.weights[0].name,
                         by_weight) if g.single_weight else tuple([(w.name, x) for w, x in zip(g.weights, by_weight)])
        return by_weight if by_arg is None else by_arg if by_weight is None else (by_arg, by_weight)

    def gradient(*args, **kwargs):
        out = g(*args, **kwargs)
        if g.with_value:
            return out[0], named(out[1], args)
        return (named(out[0], args), out[1]) if g.has_aux else named(out, args)
    return gradient


def get_grad(gradients: tuple[Any, ...] | list[Any], identifier: Any) -> Tensor:
    """The gradient by a position (int) or a Parameter, from what `grad` gave with return_ids=True.

    Raises TypeError for another kind of identifier and RuntimeError where there is no such gradient.

    Args:
        gradients (tuple): what `grad` gave.

    Returns:
        Tensor.

    Example:
        >>> print(ops.get_grad(ops.grad(lambda x: x * x, return_ids=True)(Tensor([3.0])), 0))
        [6.]
    """
    from pijit.parameter import Parameter
    if isinstance(identifier, bool) or not isinstance(identifier, (int, Parameter)):
        raise _check.refused("get_grad", "identifier", _check.a(int, Parameter), identifier)
    wanted = identifier if isinstance(identifier, int) else identifier.name

    def find(x):
        if not isinstance(x, tuple):
            return None
        if len(x) == 2 and isinstance(x[0], (int, str)):
            return x[1] if type(x[0]) is type(wanted) and x[0] == wanted else None
        for part in x:
            found = find(part)
            if found is not None:
                return found
        return None
    found = find(gradients)
    if found is None:
        raise RuntimeError(f"For 'get_grad', there is no gradient by {wanted!r}; was it made with return_ids=True?")
    return found


def own_gradients(bprop: Any, name: str, args: Any, out: Any, cts: Any) -> list[Any]:
    """What `bprop` gives for the tensors among args, from their op's results and the cotangents of those."""
    grads = bprop(*args, out, cts[0] if isinstance(out, Tensor) else tuple(cts))
    if not isinstance(grads, (tuple, list)):
        grads = (grads,)
    if len(grads) != len(args):
        raise TypeError(f"For 'bprop' of {name}, the number of gradients must equal the {len(args)} inputs, but got "
                        f"{len(grads)}.")
    return [g for a, g in zip(args, grads) if isinstance(a, Tensor)]


def with_own_gradient(fn: Callable[..., Any], bprop: Any, name: str, args: Any, kwargs: Any) -> Any:
    """fn(*args, **kwargs), whose gradient is bprop(*args, out, dout) in place of the derived one."""
    tapes = [t for t in _C.active_tapes() if any([t.watches(a) for a in args])]
    out = fn(*args, **kwargs)
    if not tapes:
        return out
    outs = [o._detached() for o in ((out,) if isinstance(out, Tensor) else out)]
    result = outs[0] if isinstance(out, Tensor) else tuple(outs)
    for t in tapes:
        t.record_custom([a for a in args if isinstance(a, Tensor)], outs,
                        lambda cts: own_gradients(bprop, name, args, result, cts))
    return result


class GradOperation:
    """GradOperation(get_all, get_by_list, sens_param)(fn[, weights]) gives gradients of fn.

    By default by the first argument; get_all: by all tensor arguments; get_by_list: by the listed
    Parameters (with get_all: both); sens_param: the last call argument scales the outputs' cotangents."""

    get_all: bool
    get_by_list: bool
    sens_param: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and isinstance(args[0], str) and len(args) + len(kwargs) > 1:
            args = args[1:]  # the operation's name, which came first in MindSpore 0.x
        self._choose(*args, **kwargs)

    def _choose(self, get_all=False, get_by_list=False, sens_param=False):
        for name, v in (("get_all", get_all), ("get_by_list", get_by_list), ("sens_param", sens_param)):
            if not isinstance(v, bool):
                raise _check.refused("GradOperation", name, _check.BOOL, v)
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param

    __init__.__signature__ = inspect.signature(_choose)

    def __call__(self, fn: Callable[..., Any], weights: Parameter | Sequence[Parameter] = None) -> GradFunction:
        if not callable(fn):
            raise _check.refused("GradOperation", "fn", _check.FUNCTION, fn)
        w, single = None, False
        if self.get_by_list:
            if weights is None:
                weights = fn.trainable_params()
            w, single = _weights(weights)
        positions = "all" if self.get_all else None if self.get_by_list else (0,)
        return GradFunction(fn, positions, w, False, False, self.sens_param, self.get_all, single)


def vjp(fn: Callable[..., Any], *inputs: Any, weights: ParameterTuple | None = None, has_aux: bool = False) -> Any:
    """(fn(*inputs), pullback): pullback(cotangents) gives the tuple of the gradients of all inputs (and weights).

    Args:
        fn (function): what to work on.
        *inputs (Tensor or ndarray): the arguments; of ndarrays, gradients are ndarrays.
        weights (ParameterTuple, optional): the parameters to differentiate by. Default: None.
        has_aux (bool, optional): whether fn returns further values, which are handed on. Default: False.

    Returns:
        (What fn returns, a function).

    Example:
        >>> value, pull = ops.vjp(lambda x: x * x, Tensor([3.0]))
        >>> print(pull(Tensor([1.0]))[0])
        [6.]
    """
    positions = tuple(range(len(inputs)))
    w, single = _weights(weights)
    if w is None and for_numpy(inputs, inputs):
        from pijit.ndarrays.transforms import check
        check("vjp", inputs)
    with_sens = GradFunction(fn, positions, w, has_aux, False, True, True, single)
    value = fn(*inputs)

    def pullback(*cotangents):
        sens = cotangents[0] if len(cotangents) == 1 else cotangents
        g = with_sens(*inputs, sens)
        return g[0] if has_aux else g

    if has_aux:
        return value[0], pullback, _aux(value)
    return value, pullback


def jvp(fn: Callable[..., Any], inputs: Any, v: Any, has_aux: bool = False) -> Any:
    """(fn(inputs), its derivative along v) in forward mode: tangents are pushed through the recorded ops.

    inputs and v are tensors or tuples of tensors of shapes that are equal, or to which v's broadcast. Nests with itself
    and with reverse mode. Of ndarrays or floats, fn is one of NumPy's, and both results are ndarrays; TypeError for
    arrays of integers.

    Args:
        has_aux (bool, optional): whether fn returns further values, which are handed on. Default: False.

    Returns:
        (What fn returns, its tangents).

    Raises:
        ValueError: if the shape of `inputs` does not fit, or the shape of `v` does not fit.

    Example:
        >>> print(ops.jvp(lambda x: x * x, Tensor([3.0]), Tensor([1.0]))[1])
        [6.]
    """
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    v = tuple(v) if isinstance(v, (tuple, list)) else (v,)
    if len(inputs) != len(v):
        raise _check.refused("jvp", "'inputs' and 'v'", _check.value("agree in number"),
                             _check.several(len(inputs), len(v)))
    if for_numpy(inputs, inputs):
        from pijit.ndarrays.transforms import pushed
        return pushed("jvp", jvp, fn, inputs, v, has_aux)
    v = tuple([_fitted(t, x.shape) for x, t in zip(inputs, v)])
    value, push = _recorded(fn, inputs, has_aux)
    tangent = push(v)
    if has_aux:
        return value[0], tangent, _aux(value)
    return value, tangent


def _aux(value):
    """What a function returns besides its first value."""
    return value[1] if len(value) == 2 else tuple(value[1:])


def _fitted(t, shape):
    """A tangent in the shape of its input, to which it may broadcast."""
    if t.shape == shape:
        return t
    if t.ndim > len(shape) or any([n not in (1, m) for n, m in zip(t.shape[::-1], shape[::-1])]):
        raise _check.unfit("jvp", f"a tangent of shape {t.shape}", f"an input of shape {shape}")
    return _ops["broadcast_to"](t, shape)


def _recorded(fn, inputs, has_aux=False):
    """(fn(*inputs), the function from tangents of the inputs to that of the result)."""
    inputs = _alias(inputs)
    held = [x._held() for x in inputs]
    tape = _C.Tape("forward")
    value = record(tape, held, fn, inputs, {})
    head = value[0] if has_aux else value
    outputs = _flatten(head, [])
    if not outputs:
        raise TypeError(f"For 'jvp', the function must return a Tensor, but returned {type(head).__name__}.")
    return value, lambda v: _like(head, iter(tape.pushforward(held, v, outputs)))


def linearize(fn: Callable[..., Any], inputs: Any) -> Any:
    """(fn(inputs), its derivative as a function of tangents): the ops of fn are recorded once for all tangents.

    inputs: a tensor or a tuple of tensors; tangents likewise. Raises ValueError for tangents that do not fit.

    Returns:
        (What fn returns, a function).

    Example:
        >>> value, push = ops.linearize(lambda x: x * x, Tensor([3.0]))
        >>> print(push(Tensor([1.0])))
        [6.]
    """
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    if for_numpy(inputs, inputs):
        from pijit.ndarrays.transforms import pushed
        return pushed("linearize", linearize, fn, inputs, None, False)
    value, push = _recorded(fn, inputs)

    def tangent(*v):
        v = tuple(v[0]) if len(v) == 1 and isinstance(v[0], (tuple, list)) else v
        if [t.shape for t in v] != [x.shape for x in inputs]:
            raise _check.unfit("linearize", f"tangents of shapes {[t.shape for t in v]}",
                               f"inputs of shapes {[x.shape for x in inputs]}")
        return push(v)
    return value, tangent


def jet(fn: Callable[..., Any], primals: Any, series: Any) -> tuple[Any, Any]:
    """(fn(primals), derivatives of fn along a path whose derivatives are `series`): a Taylor series in derivatives.

    primals: a tensor or a tuple of tensors. series: for each, a tensor of shape (order, *shape) whose k-th entry is the
    path's derivative of order k + 1. The derivatives of the result are stacked in the same way.

    Returns:
        (What fn returns, its derivatives).

    Raises:
        ValueError: if the shape of `primals` does not fit, or the shape of `series` does not fit.

    Example:
        >>> print(ops.jet(ops.sin, Tensor([0.0]), Tensor([[1.0]]))[1])
        [[1.]]
    """
    if for_numpy(*[primals if isinstance(primals, (tuple, list)) else (primals,)] * 2):
        from pijit.ndarrays.transforms import series as series_of
        return series_of("jet", jet, fn, primals, series)
    single = isinstance(primals, Tensor)
    primals, series = ((primals,), (series,)) if single else (tuple(primals), tuple(series))
    if len(primals) != len(series):
        raise _check.refused("jet", "'primals' and 'series'", _check.value("agree in number"),
                             _check.several(len(primals), len(series)))
    order = series[0].shape[0]
    for x, s in zip(primals, series):
        if s.shape != (order, *x.shape):
            raise _check.unfit("jet", f"a series of shape {s.shape}", f"a primal of shape {x.shape} and order {order}")

    def along(t):
        args = []
        for x, s in zip(primals, series):
            term = 1.0
            for k in range(order):
                term = t * term * (1.0 / (k + 1))  # t^k / k!; a power would have no derivatives at 0
                x = x + s[k] * term
            args.append(x)
        return fn(*args)

    def derived(f):
        return lambda t: jvp(f, t, _ops["cast"](1.0, t.dtype))[1]
    t = _ops["cast"](0.0, primals[0].dtype)
    out, f, derivatives = along(t), along, []
    for _ in range(order):
        f = derived(f)
        derivatives.append(f(t))

    def stacked(parts):
        if isinstance(parts[0], (tuple, list)):
            return tuple([stacked([p[k] for p in parts]) for k in range(len(parts[0]))])
        return _ops["concat"]([_ops["reshape"](p, (1, *p.shape)) for p in parts], axis=0)
    return out, stacked(derivatives)


def derivative(fn: Callable[..., Any], primals: Tensor | tuple[Any, ...], order: int) -> tuple[Any, ...]:
    """(fn(primals), its derivative of that order along all primals): jet along a straight path.

    Args:
        fn (function): what to work on.
        primals (Tensor or tuple): the place.
        order (int): which derivative.

    Returns:
        (What fn returns, its derivative).

    Example:
        >>> print(ops.derivative(lambda x: x * x * x, Tensor([2.0]), 2)[1])
        [12.]
    """
    if isinstance(order, bool) or not isinstance(order, int):
        raise _check.refused("derivative", "order", _check.INT, order)
    if order < 1:
        raise _check.refused("derivative", "order", _check.above(0), order)
    if for_numpy(*[primals if isinstance(primals, (tuple, list)) else (primals,)] * 2):
        from pijit.ndarrays.transforms import series as series_of
        return series_of("derivative", derivative, fn, primals, order)

    def straight(x):
        first = _ops["cast"](_ops["equal"](_ops["arange"](start=0, step=1, size=order, dtype="int64"), 0), x.dtype)
        return _ops["broadcast_to"](_ops["reshape"](first, (order,) + (1,) * len(x.shape)), (order, *x.shape))

    def last(d):
        return tuple([last(v) for v in d]) if isinstance(d, tuple) else d[order - 1]
    out, d = jet(fn, primals, straight(primals) if isinstance(primals, Tensor)
                 else tuple([straight(x) for x in primals]))
    return out, last(d)
