"""Functions that take the signatures of PyTorch's kind beside MindSpore's: those of the Tensor methods of their names,
with the Tensor first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import compat
from pijit._C import Tensor
from pijit.ops import function as F

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _by_method(name):
    method = getattr(Tensor, name)

    def function(input, *args, **kwargs):
        return method(input if isinstance(input, Tensor) else Tensor(input), *args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{method.__doc__}\n\n    The first argument is the Tensor whose method it is."
    function.__module__ = __name__
    return function


def _extremum(name, of_two):
    method = getattr(Tensor, name)

    def function(input: Any, *args: Any, **kwargs: Any) -> Any:
        if "other" in kwargs or args and isinstance(args[0], Tensor):
            return of_two(input, *args, **kwargs)
        return method(input, *args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{method.__doc__} Of two Tensors, the {name}imum of each pair of elements."
    function.__module__ = __name__
    return function


_NAMES = "add any clamp clip div divide floor_divide index_add nansum remainder repeat_interleave sub".split()
max: Callable[..., Any] = _extremum("max", F.maximum)
min: Callable[..., Any] = _extremum("min", F.minimum)
globals().update({_name: _by_method(_name) for _name in _NAMES})
__add__, __sub__, __mul__, __truediv__ = F.add, F.sub, F.mul, F.div

__getattr__, __dir__ = compat.names(__name__, load=F.__dict__.get,
                                    known=lambda: sorted({*_NAMES, "max", "min", *F.__all__}))
