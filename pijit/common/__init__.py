"""What MindSpore keeps in `mindspore.common`."""

from pijit.dtype import *  # noqa: F403
from pijit import dtype as dtype, initializer as initializer, parameter as parameter
from pijit._C import Tensor as Tensor
from pijit.hints import lazy_inline as lazy_inline, no_inline as no_inline, recompute as recompute
from pijit.jit import JitConfig as JitConfig, jit as jit, jit_class as jit_class, ms_function as ms_function
from pijit.ops import mutable as mutable
from pijit.parameter import Parameter as Parameter, ParameterTuple as ParameterTuple
from pijit.random import get_seed as get_seed, set_seed as set_seed
from pijit.kinds import *  # noqa: F403
from pijit.symbol import Symbol as Symbol
from pijit.sparse_tensor import (COOTensor as COOTensor, CSRTensor as CSRTensor, RowTensor as RowTensor,
                                 SparseTensor as SparseTensor)
