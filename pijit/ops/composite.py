"""Functions of functions: mapping over nested containers, dispatch by type, bound arguments, loops, hooks on
gradients."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from pijit import _check
from pijit._C import Tensor
from pijit.grad import with_own_gradient
from pijit.ops import function as F
from pijit.ops.primitives import Primitive
from pijit.sparse_tensor import COOTensor, CSRTensor, RowTensor

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_KINDS = {"Tensor": Tensor, "Number": (bool, int, float), "Int": int, "Float": float, "Bool": bool, "String": str,
          "Tuple": tuple, "List": list, "Dictionary": dict, "None": type(None),
          "RowTensor": RowTensor, "COOTensor": COOTensor, "CSRTensor": CSRTensor,
          "Slice": slice, "Ellipsis": type(...), "Complex": complex, "Int64": int, "Float32": float,
          **{n: () for n in "Int8 Int16 Int32 UInt UInt8 UInt16 UInt32 UInt64 Float16 Float64 MapTensor Keyword "
                            "UMonad EnvType SymType".split()}}


def _is_kind(value, kind):
    if kind == "Function":
        return callable(value) and not isinstance(value, Tensor)
    return isinstance(value, _KINDS[kind]) and not (kind in ("Int", "Float", "Int64") and isinstance(value, bool))


class MultitypeFuncGraph:
    """A function chosen by the types of its arguments: the first registered one that takes them all.

    `@f.register("Tensor", "Number")` adds one. Types are named as MindSpore names them: Tensor, Number, Int, Float,
    Bool, String, Tuple, List, Dictionary, None, Function, RowTensor, COOTensor, CSRTensor … A single one is called with
    whatever comes, as in MindSpore's eager mode. Raises ValueError where none of several fits."""

    name: str
    entries: list[Any]

    def __init__(self, name: str, read_value: bool = False) -> None:
        self.name, self.entries = name, []

    def register(self, *type_names: Any) -> Any:
        """Decorator that adds a function for arguments of these types."""
        kinds = []
        for n in type_names:
            n = {"float": "Float", "int": "Int", "bool": "Bool"}.get(n, n) if isinstance(n, str) else n
            if n is Tensor:
                n = "Tensor"
            if n not in _KINDS and n != "Function":
                raise _check.expected("MultitypeFuncGraph.register",
                                      f'a type name among {", ".join([*_KINDS, "Function"])}', n)
            kinds.append(n)

        def add(fn):
            if not callable(fn):
                raise _check.expected("MultitypeFuncGraph.register", "a function", _check.type_name(fn), TypeError)
            self.entries.append((tuple(kinds), fn))
            return fn
        return add

    def __call__(self, *args: Any) -> Any:
        for kinds, fn in self.entries:
            if len(self.entries) == 1 or len(kinds) == len(args) and all([_is_kind(a, k) for a, k in zip(args, kinds)]):
                return fn(*args)
        known = ", ".join(["(" + ", ".join(kinds) + ")" for kinds, _ in self.entries])
        raise ValueError(
            f"For 'MultitypeFuncGraph', {self.name!r} has no function for "
            f"({', '.join([type(a).__name__ for a in args])}); it takes {known or 'nothing'}.")


class HyperMap:
    """hyper_map(op, *containers) applies op to the elements of nested tuples and lists, which become tuples.

    HyperMap(op) has the function bound. reverse: the last elements first. Containers of different lengths are cut to
    the shortest."""

    ops: Callable[..., Any]
    reverse: bool
    deep = True

    def __init__(self, ops: Any = None, reverse: bool = False) -> None:
        if ops is not None and not callable(ops):
            raise _check.refused(type(self).__name__, "ops", _check.FUNCTION, ops)
        self.ops, self.reverse = ops, reverse

    def __call__(self, *args: Any) -> Any:
        op = self.ops
        if op is None:
            if not args or not callable(args[0]):
                raise _check.refused(type(self).__name__, "the first argument", _check.FUNCTION,
                                     args[0] if args else None)
            op, args = args[0], args[1:]
        if not args:
            raise TypeError(f"For '{type(self).__name__}', expected something to map over.")
        return self._map(op, args, True)

    def _map(self, op, args, top):
        if not isinstance(args[0], (tuple, list)) or not (top or self.deep):
            return op(*args)
        columns = list(zip(*args))
        if self.reverse:
            columns.reverse()
        results = [self._map(op, c, False) for c in columns]
        if self.reverse:
            results.reverse()
        return tuple(results)


class Map(HyperMap):
    """The same for the elements of the outermost containers alone."""

    deep = False


def partial(func: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """func with its first arguments bound.

    Args:
        func (function): the function.
        *args (object): the arguments.

    Returns:
        A function.

    Example:
        >>> print(ops.partial(ops.sub, Tensor([5.0]))(Tensor([2.0])))
        [3.]
    """
    if not callable(func):
        raise _check.expected("partial", "a function", _check.type_name(func), TypeError)

    def bound(*more):
        return func(*args, *more)
    return bound


class Partial(Primitive):
    """ops.partial as a primitive."""

    def __call__(self, func: Callable[..., Any], *args: Any) -> Any:
        return partial(func, *args)


def constexpr(fn: Callable[..., Any] | None = None, get_instance: bool = True, name: str | None = None,
              reuse_result: bool = True, check: bool = True) -> Callable[..., Any]:
    """Marks a function that computes constants from constants; jit evaluates such functions at capture anyway.

    Args:
        fn (function, optional): the function. Default: None.
        get_instance (bool, optional): kept for its name. Default: True.
        name (str, optional): a name. Default: None.
        reuse_result (bool, optional): kept for its name. Default: True.
        check (bool, optional): kept for its name. Default: True.

    Returns:
        A function.

    Example:
        >>> ops.constexpr(lambda: 3)()
        3
    """
    def mark(f):
        return f if get_instance else lambda: f
    return mark if fn is None else mark(fn)


def add_flags(fn: Callable[..., Any] | None = None, **flags: Any) -> Any:
    """Keeps flags with a function or Cell, as the attribute _func_graph_flags; without fn a decorator.

    Args:
        fn (function, optional): what to work on. Default: None.
        **flags (object): the flags.

    Returns:
        What was given, or a decorator.

    Example:
        >>> ops.add_flags(lambda x: x, key=True)(1)
        1
    """
    def mark(f):
        f._func_graph_flags = {**getattr(f, "_func_graph_flags", {}), **flags}
        return f
    return mark if fn is None else mark(fn)


class HookBackward(Primitive):
    """Hands its inputs through; on the way back hook_fn gets the tuple of their gradients, and may replace them.

    hook_fn returns None (nothing changes), a gradient, or a tuple of them."""

    hook_fn: Callable[..., Any]
    cell_id: str

    def __init__(self, hook_fn: Callable[..., Any], cell_id: str = "") -> None:
        super().__init__()
        if not callable(hook_fn):
            raise _check.refused("HookBackward", "hook_fn", _check.FUNCTION, hook_fn)
        self.hook_fn, self.cell_id = hook_fn, cell_id

    def __call__(self, *inputs: Any) -> Any:
        def forward(*xs):
            return xs[0] if len(xs) == 1 else xs

        def bprop(*args):
            given = args[-1] if isinstance(args[-1], tuple) else (args[-1],)
            changed = self.hook_fn(given)
            return given if changed is None else changed
        return with_own_gradient(forward, bprop, "HookBackward", inputs, {})


class WhileLoop(Primitive):
    """init_val = loop_func(init_val) as long as cond_func(init_val) is true."""

    def __call__(self, cond_func: Callable[..., Any], loop_func: Callable[..., Any], init_val: Any) -> Any:
        value = init_val
        while cond_func(value):
            value = loop_func(value)
        return value


class ForiLoop(Primitive):
    """init_val = loop_func(i, init_val) for i in range(lower, upper)."""

    def __call__(self, lower: Any, upper: Any, loop_func: Callable[..., Any], init_val: Any,
                 unroll: bool = True) -> Any:
        return F.fori_loop(lower, upper, loop_func, init_val)


class Scan(Primitive):
    """(carry, outputs) of carry, output = loop_func(carry, x) for each x of xs, or `length` times with None."""

    def __call__(self, loop_func: Callable[..., Any], init: Any, xs: Any, length: Any = None,
                 unroll: bool = True) -> tuple[Any, list[Any]]:
        if xs is None and length is None:
            raise ValueError("For 'Scan', 'length' must be given where 'xs' is None.")
        if xs is not None and length is not None and length != len(xs):
            raise ValueError(f"For 'Scan', 'length' {length} differs from the {len(xs)} elements of 'xs'.")
        carry, outputs = init, []
        for x in [None] * length if xs is None else xs:
            carry, y = loop_func(carry, x)
            outputs.append(y)
        return carry, outputs


def make_tuple(*args: Any) -> tuple[Any, ...]:
    """The arguments as a tuple.

    Args:
        *args (object): the arguments.

    Returns:
        tuple.

    Example:
        >>> ops.make_tuple(1, 2)
        (1, 2)
    """
    return args


def make_range(*args: Any) -> tuple[int, ...]:
    """range(...) as a tuple.

    Args:
        *args (object): the arguments.

    Returns:
        tuple of ints.

    Example:
        >>> ops.make_range(1, 4)
        (1, 2, 3)
    """
    return tuple([*range(*args)])  # from 3.14 on, tuple() of a range of 2**70 numbers takes all memory


def tuple_len(x: tuple[Any, ...] | list[Any]) -> int:
    """The number of elements.

    Args:
        x (tuple): the tuple.

    Returns:
        int.

    Example:
        >>> ops.tuple_len((1, 2))
        2
    """
    return len(x)


def tuple_getitem(x: tuple[Any, ...] | list[Any], index: int) -> Any:
    """One element.

    Args:
        x (tuple): the tuple.
        index (int): the place.

    Returns:
        The element.

    Example:
        >>> ops.tuple_getitem((1, 2), 1)
        2
    """
    return x[index]


def tuple_div(x: tuple[Any, ...] | list[Any], y: tuple[Any, ...] | list[Any]) -> tuple[Any, ...]:
    """Quotients of the elements, which must be whole. Raises RuntimeError where they are not.

    Args:
        x (tuple): the dividends.
        y (tuple): the divisors.

    Returns:
        tuple.

    Example:
        >>> ops.tuple_div((6, 4), (2, 2))
        (3, 2)
    """
    for a, b in zip(x, y):
        if a % b:
            raise RuntimeError(f"For 'tuple_div', {a} is not divisible by {b}.")
    return tuple([a // b for a, b in zip(x, y)])


__all__ = [n for n, v in globals().items() if not n.startswith("_") and (inspect.isclass(v) or inspect.isfunction(v))
           and v.__module__ == __name__]
