"""Operators as functions, and what MindSpore keeps beside them in `ops.functional`."""

from pijit.grad import derivative, get_grad, grad, jet, jvp, linearize, value_and_grad, vjp  # noqa: F401
from pijit.jacobian import jacfwd, jacrev  # noqa: F401
from pijit.ops.composite import *  # noqa: F403
from pijit.ops.function import *  # noqa: F403
from pijit.vmap import vmap  # noqa: F401
