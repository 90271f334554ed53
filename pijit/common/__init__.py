"""What MindSpore keeps in `mindspore.common`."""

from pijit.dtype import *  # noqa: F403
from pijit import dtype, initializer, parameter  # noqa: F401
from pijit._C import Tensor  # noqa: F401
from pijit.hints import lazy_inline, no_inline, recompute  # noqa: F401
from pijit.jit import JitConfig, jit, jit_class, ms_function  # noqa: F401
from pijit.ops import mutable  # noqa: F401
from pijit.parameter import Parameter, ParameterTuple  # noqa: F401
from pijit.random import get_seed, set_seed  # noqa: F401
from pijit.kinds import *  # noqa: F403
from pijit.symbol import Symbol  # noqa: F401
from pijit.sparse_tensor import COOTensor, CSRTensor, RowTensor, SparseTensor  # noqa: F401
