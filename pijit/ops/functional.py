"""Operators as functions, and what MindSpore keeps beside them in `ops.functional`."""

import typing as _typing

from pijit.grad import (derivative as derivative, get_grad as get_grad, grad as grad, jet as jet, jvp as jvp,
                        linearize as linearize, value_and_grad as value_and_grad, vjp as vjp)
from pijit.jacobian import jacfwd as jacfwd, jacrev as jacrev
from pijit.ops.composite import *  # noqa: F403
from pijit.ops.function import *  # noqa: F403
from pijit.vmap import vmap as vmap

if _typing.TYPE_CHECKING:  # operations are made from tables
    def __getattr__(name: str) -> _typing.Any: ...
