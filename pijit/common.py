"""What MindSpore keeps in `mindspore.common`."""

from pijit import dtype, initializer, parameter  # noqa: F401
from pijit._C import Tensor  # noqa: F401
from pijit.dtype import *  # noqa: F401,F403
from pijit.jit import jit, jit_class, ms_function  # noqa: F401
from pijit.parameter import Parameter, ParameterTuple  # noqa: F401
from pijit.random import get_seed, set_seed  # noqa: F401
