"""What programs take from MindSpore's extension module: the kinds of dtypes, for `isinstance(ms.float32,
typing.Number)`."""

from pijit._C import Tensor
from pijit.compat.old import typing  # noqa: F401
from pijit.parameter import Parameter  # noqa: F401

TensorPy = Tensor
