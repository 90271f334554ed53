"""`jit`: what captures functions."""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, overload

from pijit import _check
from pijit import _C
from pijit.grad import Transformed
from pijit.hints import ms_memory_recycle  # noqa: F401  (MindSpore has it in common.api)
from pijit.symbol import ANY_RANK

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    _F = TypeVar("_F", bound=Callable[..., Any])


class JitConfig:
    """Options of compilation: jit_level "O0", "O1" or "O2"; other keywords are kept.

    numerics: "exact" gives the bits of eager mode. "fast" lets results differ in their last digits: scales
    and shifts of inference-mode batch normalisation become part of a convolution's weights, and ReLU, ReLU6,
    hard-swish, Sigmoid, Tanh, SiLU and residuals are computed with the product or convolution before them (some
    by oneDNN, whose ReLU turns NaN into 0). 3 x 3 convolutions of some hundred pixels take
    Winograd's products, whose errors are about three times as large. Of NumPy's arrays, functions such as exp
    are computed within 4 ULP in the loop of what is around them, sums and dot products are added up in any
    order, loops over numbers among them, and threads share products of matrices."""

    jit_config_dict: dict[str, str | Any]

    def __init__(self, jit_level: str = "O1", exc_mode: str = "auto", jit_syntax_level: str = "", *,
                 numerics: str = "exact", **kwargs: Any) -> None:
        if jit_level not in ("", "O0", "O1", "O2"):
            raise _check.refused("JitConfig", "jit_level", _check.one_of("O0", "O1", "O2"), jit_level)
        _check.need("JitConfig", "numerics", numerics, _check.one_of("exact", "fast"))
        self.jit_config_dict = {"jit_level": jit_level, "exc_mode": exc_mode, "jit_syntax_level": jit_syntax_level,
                                "numerics": numerics, **kwargs}


class JittedObject:
    """A callable object whose `__call__` is jitted; its attributes, class and items of `dir` are the object's own, and
    what is set goes to it. __wrapped__ is the object."""

    __slots__ = ("__weakref__", "__wrapped__", "_jitted", "_options")

    def __init__(self, wrapped: Any, jitted: Any, options: tuple[bool, bool, bool]) -> None:
        object.__setattr__(self, "__wrapped__", wrapped)
        object.__setattr__(self, "_jitted", jitted)
        object.__setattr__(self, "_options", options)

    @property
    def __class__(self) -> type[Any]:
        return type(self.__wrapped__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._jitted(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__wrapped__, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__wrapped__, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__wrapped__, name)

    def __dir__(self) -> list[str]:
        return dir(self.__wrapped__)

    def __repr__(self) -> str:
        return f"<pijit.jit {self.__wrapped__!r}>"

    def __reduce__(self) -> Any:
        return jit, (self.__wrapped__,)


def as_construct(cell: Any, value: Any) -> Any:
    """What `cell.construct = jit(cell)` means: the construct that the cell has, jitted by the same options; of any
    other value None."""
    if type(value) is not JittedObject or value.__wrapped__ is not cell:
        return None
    return _C.jit(cell.construct, *object.__getattribute__(value, "_options"))


def jitted_call(fn: Callable[..., Any]) -> Any:
    """What is called for a jitted callable: of a JittedObject its method, else itself."""
    return object.__getattribute__(fn, "_jitted") if type(fn) is JittedObject else fn


# What a type checker sees: parameters, result and attributes of the function stay as they are.
@overload
def jit(fn: _F, input_signature: Any = None, hash_args: Any = None, jit_config: Any = None, mode: str | None = None, *,
        capture_mode: Any = None, jit_level: Any = None, dynamic: int = 0, fullgraph: bool = False, backend: str = "",
        **options: Any) -> _F: ...
@overload
def jit(fn: None = None, input_signature: Any = None, hash_args: Any = None, jit_config: Any = None,
        mode: str | None = None, *, capture_mode: Any = None, jit_level: Any = None, dynamic: int = 0,
        fullgraph: bool = False, backend: str = "", **options: Any) -> Callable[[_F], _F]: ...
@overload
def jit(fn: None = None, input_signature: Any = None, hash_args: Any = None, jit_config: Any = None,
        mode: str | None = None, *, function: _F, capture_mode: Any = None, jit_level: Any = None, dynamic: int = 0,
        fullgraph: bool = False, backend: str = "", **options: Any) -> _F: ...
def jit(fn: Callable[..., Any] | None = None, input_signature: Any = None, hash_args: Any = None,
        jit_config: Any = None, mode: str | None = None, *, function: Callable[..., Any] | None = None,
        capture_mode: Any = None, jit_level: Any = None, dynamic: int = 0, fullgraph: bool = False, backend: str = "",
        **options: Any) -> Any:
    """Compiles a function, method or `construct` from its bytecode when it is called.

    Usable bare, with arguments, or as `jit(f)`. The result is called, inspected and pickled like `fn`, returns what
    `fn` returns, raises what `fn` raises and leaves the same side effects. Where it can't be captured the function is
    split, and CPython runs that piece, in GRAPH_MODE as well.

    Args:
        fn (callable): what is compiled. Default: None, which gives a decorator.
        input_signature (Tensor or tuple, optional): describes the arguments: other dtypes raise TypeError, other
            shapes ValueError. Any object with dtype and shape serves; where its shape has None or -1, the size may
            vary, and the first call already compiles for all sizes. None stands for an argument of which nothing is
            said. Default: None.
        hash_args: is accepted: what a function uses is guarded anyway.
        jit_config (JitConfig, optional): of which numerics counts; all levels compile alike. Default: None.
        mode (str, optional): "PSJit" is what GRAPH_MODE does for Cells: captured always, without a comparison that
            may give the function back to CPython. "PIJit" has no effect in GRAPH_MODE, where the function is as if
            undecorated. Default: None.
        capture_mode (str, optional): "ast" is as mode="PSJit"; "bytecode" and "trace" change nothing. Default: None.
        fullgraph (bool, optional): RuntimeError with the line instead of splitting. Default: False.
        options: of which `numerics` counts, as JitConfig has it: jit(f, numerics="fast").

    Returns:
        What is called in place of fn; with no fn, a decorator that gives it.

    Raises:
        TypeError: if `fn` cannot be called, or `fn` is not callable, or `jit_config` is neither None nor a JitConfig.
        ValueError: if `mode` or `capture_mode` is not one of those named, or `capture_mode` is not 'ast', 'bytecode' or
            'trace', or `mode` is not 'PIJit' or 'PSJit'.

    Example:
        >>> pijit.jit(lambda x: x * 2 + 1)(ops.ones((3,)))
        Tensor(shape=[3], dtype=Float32, value= [ 3.00000000e+00,  3.00000000e+00,  3.00000000e+00])
    """
    if fn is None:
        fn = function
    if mode not in (None, "PIJit", "PSJit"):
        raise _check.refused("jit", "mode", _check.one_of("PIJit", "PSJit"), mode)
    if capture_mode not in (None, "ast", "bytecode", "trace"):
        raise _check.refused("jit", "capture_mode", _check.one_of("ast", "bytecode", "trace"), capture_mode)
    _check.need("jit", "jit_config", jit_config, _check.optional(_check.a(JitConfig)))
    numerics = options.get("numerics", "exact" if jit_config is None else jit_config.jit_config_dict["numerics"])
    _check.need("jit", "numerics", numerics, _check.one_of("exact", "fast"))
    fast = numerics == "fast"
    graph = fullgraph or mode == "PSJit" or capture_mode == "ast"

    def wrap(f):
        _check.need("jit", "fn", f, _check.FUNCTION)
        if type(f) is JittedObject:
            return f
        jitted = _C.jit(f.call if isinstance(f, Transformed) else f, graph, fullgraph, fast)
        if mode == "PIJit":
            _C.set_eager_only(getattr(jitted, "__func__", jitted))
        described = getattr(f, "_dynamic_inputs", None) if input_signature is None else input_signature
        if described is not None:
            _C.set_signature(jitted, signature(described))
        made_of_object = type(jitted) is types.MethodType and not isinstance(f, (types.MethodType, Transformed))
        return JittedObject(f, jitted, (graph, fullgraph, fast)) if made_of_object else jitted

    return wrap if fn is None else wrap(fn)


def signature(described: Any) -> list[Any]:
    """Descriptions of arguments as `_C.set_signature` takes them."""
    described = described if isinstance(described, (tuple, list)) else (described,)
    out = []
    for t in described:
        if t is None:
            out.append(None)
            continue
        if not hasattr(t, "dtype") or not hasattr(t, "shape"):
            raise _check.refused("jit", "input_signature", _check.value("hold Tensors", shown=_check.type_name), t,
                                 TypeError)
        shape = None if t.shape is None else tuple([-1 if d is None else d for d in t.shape])
        out.append((t.dtype, None if shape == (ANY_RANK,) else shape))
    return out


ms_function: Any = functools.partial(jit)


def jit_class(cls: Any) -> type:
    """Marks a class as usable inside jit functions; plain classes are too."""
    if not isinstance(cls, type):
        raise _check.expected("jit_class", "a class", _check.type_name(cls), TypeError)
    return cls
