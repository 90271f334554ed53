"""Operators: functions (`ops.add`) and primitives (`ops.Add()`)."""

from pijit.ops.function import *  # noqa: F401,F403
from pijit.ops.primitives import *  # noqa: F401,F403
from pijit.ops.composite import *  # noqa: F401,F403
from pijit.ops.communication import *  # noqa: F401,F403
from pijit.ops.summary import *  # noqa: F401,F403
from pijit.ops import composite, function, functional, primitives, primitives as operations  # noqa: F401
from pijit.grad import GradOperation, derivative, get_grad, grad, jet, jvp, linearize, value_and_grad, vjp  # noqa: F401
from pijit.vmap import vmap  # noqa: F401
from pijit.jacobian import jacfwd, jacrev  # noqa: F401
