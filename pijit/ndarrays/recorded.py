"""The array that a function of NumPy sees while it is differentiated or mapped.

A Recorded stands for an ndarray. It holds a Tensor, whose ops the tapes record. Operators, methods and NumPy's
functions go to rules; numbers are read as they are (`if x > 0`, `float(x)`). What is stored into it (`x[i] = v`,
`x += v`) makes a new Tensor: views, such as `x[1:]` or `x.T`, know the array that they are views of, store into that
one, and read it again after it has changed.

Of rank 0 it stands for a NumPy scalar: `x += 1` makes a new one.
"""

from __future__ import annotations

import dis
import math
import operator
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from pijit._C import Tensor
from pijit.grad import Stand
from pijit.ndarrays.numbers import Unrecorded, is_mapped, local, no_rule, numpy_dtype, tensor_of, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType
    from typing import Any

# What may read a number: it says nothing of how the number goes on, or gives a constant in any case.
_READERS = frozenset((float, int, bool, complex, round, math.isnan, math.isfinite, math.isinf, math.isclose,
                      math.floor, math.ceil, math.trunc))


@lru_cache(maxsize=1024)
def _called_at(code: CodeType, at: int) -> tuple[str, ...] | None:
    """What the call at an instruction calls, as names: ("math", "isnan"). () for a text that is formatted, None where
    the code does not say."""
    steps = [i for i in dis.get_instructions(code) if i.offset <= at]
    call = steps[-1]
    if call.opname == "BINARY_OP" and call.argrepr == "%":
        return ()
    if "CALL" not in call.opname:
        return None
    place = call.positions
    if place is None or place.lineno is None or place.col_offset is None:
        return None
    names: list[str] = []
    for i in reversed(steps[:-1]):  # the callee's expression begins where the call does
        p = i.positions
        if p is None or (p.lineno, p.col_offset) != (place.lineno, place.col_offset) or "CALL" in i.opname:
            continue
        if i.opname.startswith(("LOAD_GLOBAL", "LOAD_NAME")):
            return (i.argval, *reversed(names))
        if i.opname.startswith(("LOAD_ATTR", "LOAD_METHOD")):
            names.append(i.argval)
        elif i.opname.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_CLOSURE")):
            return None
    return None


def _read_by(frame: Any) -> bool:
    """Whether the frame reads a number itself: it calls `float`, or formats a text."""
    names = _called_at(frame.f_code, frame.f_lasti)
    if names is None:
        return False
    if not names:
        return True
    found = frame.f_globals.get(names[0], getattr(frame.f_builtins, "get", {}.get)(names[0]))
    for name in names[1:]:
        found = getattr(found, name, None)
    try:
        return found in _READERS
    except TypeError:
        return False


def _identity(t: Tensor) -> Tensor:
    return t


class Recorded(Stand):
    """Stands for an ndarray in a function that is differentiated or mapped."""

    __slots__ = ("__weakref__", "_base", "_changes", "_held", "_place", "_seen", "_take")

    _changes: list[int]  # how often what it is a view of was stored into; one list for all views of an array

    __array_priority__ = 1e6

    def __init__(self, tensor: Tensor, base: Recorded | None = None, take: Callable[[Tensor], Tensor] = _identity,
                 place: Callable[[Tensor, Tensor], Tensor] | None = None) -> None:
        """Of a view, `take` makes it of what `base` holds, and `place` gives what base holds with it stored."""
        self._held, self._base, self._take, self._place = tensor, base, take, place
        self._changes = [0] if base is None else base._changes
        self._seen = self._changes[0]

    @property
    def tensor(self) -> Tensor:
        """The value now."""
        now = self._changes[0]
        if self._seen != now:
            old, x = [], self  # views of views may be many
            while x._seen != now:
                old.append(x)
                if x._base is None:
                    raise RuntimeError("an array that is no view is always up to date")
                x = x._base
            for x in reversed(old):
                x._held, x._seen = x._take(x._base._held), now
        return self._held

    @property
    def value(self) -> Any:
        """The elements, to be read only. Raises TypeError where they differ in a mapped function."""
        return value_of(self.tensor)

    @property
    def is_mapped(self) -> bool:
        """Whether the value differs from element to element of a mapped function."""
        return is_mapped(self.tensor)

    def store(self, tensor: Tensor) -> None:
        """Takes another value of the same shape and dtype, in what it is a view of, too."""
        x, changed = self, [(self, tensor)]
        while x._base is not None:
            if x._place is None:
                raise ValueError("assignment destination is read-only")
            tensor = x._place(x._base.tensor, tensor)
            x = x._base
            changed.append((x, tensor))
        self._changes[0] += 1
        for x, x._held in changed:
            x._seen = self._changes[0]

    # -- what it looks like --

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype."""
        return numpy_dtype(self._held.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis."""
        return self._held.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        raise TypeError("The shape of an array that is differentiated or mapped must not be set. Use "
                        "x = x.reshape(shape).")

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._held.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self._held.shape)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.itemsize

    @property
    def T(self) -> Any:
        """Axes in reverse order, a view."""
        return np.transpose(self)

    @property
    def mT(self) -> Any:
        """The last two axes exchanged, a view."""
        if self.ndim < 2:
            raise ValueError("matrix transpose with ndim < 2 is undefined")
        return np.swapaxes(self, -1, -2)

    @property
    def real(self) -> Any:
        """The real part."""
        return np.real(self)

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return np.imag(self)

    @property
    def flat(self) -> Iterator[Any]:
        """Its elements."""
        return iter(self.reshape(-1))

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return iter([self[i] for i in range(self.shape[0])])

    def _shown(self, form):
        t = self.tensor
        if is_mapped(t):
            return f"<mapped array of shape {self.shape}, {self.dtype}>"
        return form(t.asnumpy()[()])

    def __repr__(self) -> str:
        return self._shown(repr)

    def __str__(self) -> str:
        return self._shown(str)

    def __format__(self, spec: str) -> str:
        return self._shown(lambda v: format(v, spec))

    # -- numbers that are read --

    def _number(self):
        v = self.value
        if self.size != 1:
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        local.reads += 1
        return v if self.ndim == 0 else v.item()

    def _of_reader(self, convert):
        if not _read_by(sys._getframe(2)):
            raise Unrecorded(f"A number of an array that is differentiated or mapped ({self.dtype} of shape "
                             f"{self.shape}) must not go to a function written in C or into a plain ndarray, as it "
                             f"would become a constant. Use a function of NumPy's (numpy.sin in place of math.sin), "
                             f"store into numpy.zeros_like(x), or give float(x) where a constant is meant.")
        return convert(self._number())

    def __bool__(self) -> bool:
        return bool(self.value)

    def __float__(self) -> float:
        return self._of_reader(float)

    def __complex__(self) -> complex:
        return self._of_reader(complex)

    def __int__(self) -> int:
        return int(self._number())

    def __index__(self) -> int:
        if self.dtype.kind not in "iu":
            raise TypeError("only integer scalar arrays can be converted to a scalar index")
        return operator.index(self._number())

    def __round__(self, ndigits: int | None = None) -> Any:
        return round(self.value) if ndigits is None else round(self.value, ndigits)

    def __floor__(self) -> int:
        return math.floor(self.value)

    def __ceil__(self) -> int:
        return math.ceil(self.value)

    def __trunc__(self) -> int:
        return math.trunc(self.value)

    def item(self, *index: Any) -> Any:
        """The number, or that of an element, as Python's."""
        x = self if not index else self.reshape(-1)[index[0]] if len(index) == 1 and not isinstance(
            index[0], tuple) else self[index[0] if len(index) == 1 else index]
        if x.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        v = x.value
        local.reads += 1
        return v.item()

    def tolist(self) -> Any:
        """Its elements in nested lists, each one recorded."""
        return self if not self.ndim else [x.tolist() for x in self]

    def __contains__(self, x: Any) -> bool:
        return bool((self == x).any())

    # -- what NumPy asks --

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError(f"An array that is differentiated or mapped ({self.dtype} of shape {self.shape}) must not be "
                        f"made an ndarray, as what is computed of it would be a constant. Leave numpy.asarray and "
                        f"numpy.array away; join elements with numpy.stack or numpy.concatenate, store into "
                        f"numpy.zeros_like(x), and give functions outside of NumPy float(x) where a constant is "
                        f"meant.")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        from pijit.ndarrays.ufuncs import call
        return call(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from pijit.ndarrays.functions import rule_of
        rule = rule_of(function)
        if rule is None:
            name = f"{getattr(function, '__module__', 'numpy')}.{function.__name__}"
            raise no_rule(name.removeprefix("numpy."))
        return rule(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if hasattr(np.ndarray, name):
            raise no_rule(f"ndarray.{name}")
        raise AttributeError(f"'numpy.ndarray' object has no attribute '{name}'")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("An array that is differentiated or mapped can't be pickled. Return what is wanted of it.")

    def __copy__(self) -> Recorded:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Recorded:
        return self.copy()

    # -- elements --

    def __getitem__(self, index: Any) -> Any:
        from pijit.ndarrays.indexing import get
        return get(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        from pijit.ndarrays.indexing import put
        put(self, index, value)

    def view_of(self, take: Callable[[Tensor], Tensor], place: Callable[[Tensor, Tensor], Tensor] | None) -> Recorded:
        """A view: see __init__."""
        return Recorded(take(self.tensor), self, take, place)

    def reshape(self, *shape: Any, order: Any = "C", copy: Any = None) -> Any:
        """In another shape, a view."""
        return np.reshape(self, shape[0] if len(shape) == 1 else shape, order=order)

    def transpose(self, *axes: Any) -> Any:
        """With axes in another order, a view."""
        if not axes or axes[0] is None:
            return np.transpose(self)
        return np.transpose(self, axes[0] if isinstance(axes[0], (tuple, list)) else axes)

    def astype(self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True,
               copy: bool = True) -> Any:
        """Converted; what becomes integers or bools is a constant, as it has no derivative."""
        dtype = np.dtype(dtype)
        if not np.can_cast(self.dtype, dtype, casting):
            raise TypeError(f"Cannot cast array data from {self.dtype!r} to {dtype!r} according to the rule "
                            f"{casting!r}")
        if dtype.kind not in "fc" and not self.is_mapped:
            return np.asarray(self.value).astype(dtype)[()]
        return Recorded(tensor_of(self, dtype)) if dtype != self.dtype or copy else self

    def copy(self, order: Any = "C") -> Recorded:
        """A copy."""
        return Recorded(self.tensor)

    def fill(self, value: Any) -> None:
        """Stores a value into all elements."""
        self[...] = value

    def dot(self, b: Any, out: Any = None) -> Any:
        """As numpy.dot."""
        return np.dot(self, b) if out is None else np.dot(self, b, out=out)

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None) -> None:
        """Sorts in place."""
        self[...] = np.sort(self, axis=axis, kind=kind, order=order)

    def flatten(self, order: Any = "C") -> Recorded:
        """In one axis, a copy."""
        return Recorded(np.ravel(self, order=order).tensor)

    def std(self, *args: Any, **kwargs: Any) -> Any:
        """As numpy.std."""
        return np.std(self, *args, **kwargs)

    def conj(self) -> Any:
        """As numpy.conjugate."""
        return np.conjugate(self)

    conjugate = conj


def _operator(name, ufunc):
    def plain(self, other):
        return _call(ufunc, self, other)

    def reflected(self, other):
        return _call(ufunc, other, self)

    def in_place(self, other):
        found = _call(ufunc, self, other)
        if found is NotImplemented:
            return found
        if not self.ndim:  # a scalar
            return found
        if found.shape != self.shape:
            raise ValueError(f"non-broadcastable output operand with shape {self.shape} doesn't match the broadcast "
                             f"shape {found.shape}")
        if not np.can_cast(found.dtype, self.dtype, "same_kind"):
            raise TypeError(f"Cannot cast ufunc '{ufunc.__name__}' output from {found.dtype!r} to {self.dtype!r} with "
                            f"casting rule 'same_kind'")
        self.store(tensor_of(found, self.dtype))
        return self

    for form, method in (("", plain), ("r", reflected), ("i", in_place)):
        method.__name__ = method.__qualname__ = f"__{form}{name}__"
        setattr(Recorded, method.__name__, method)


def _call(ufunc, *operands):
    from pijit.ndarrays.ufuncs import call
    for x in operands:
        if isinstance(x, (str, bytes)) or x is None:
            return NotImplemented
    return call(ufunc, "__call__", operands, {})


def _comparison(name, ufunc):
    def method(self, other):
        if isinstance(other, str) or other is None:
            return NotImplemented
        return _call(ufunc, self, other)
    method.__name__ = method.__qualname__ = f"__{name}__"
    setattr(Recorded, method.__name__, method)


def _unary(name, ufunc):
    def method(self):
        return _call(ufunc, self)
    method.__name__ = method.__qualname__ = f"__{name}__"
    setattr(Recorded, method.__name__, method)


def _method(name):
    function = getattr(np, name)

    def method(self, *args, **kwargs):
        return function(self, *args, **kwargs)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"As numpy.{name}."
    setattr(Recorded, name, method)


for _name, _ufunc in {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
                      "floordiv": np.floor_divide, "mod": np.remainder, "pow": np.power, "matmul": np.matmul,
                      "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift,
                      "rshift": np.right_shift, "divmod": np.divmod}.items():
    _operator(_name, _ufunc)
del Recorded.__idivmod__
for _name, _ufunc in {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal,
                      "ne": np.not_equal}.items():
    _comparison(_name, _ufunc)
Recorded.__hash__ = None
for _name, _ufunc in {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}.items():
    _unary(_name, _ufunc)
for _name in ("sum mean var prod max min any all argmax argmin argsort ptp cumsum cumprod clip round squeeze ravel "
              "swapaxes take repeat diagonal trace nonzero searchsorted compress argpartition").split():
    _method(_name)
