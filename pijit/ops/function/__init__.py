"""Operators as functions, by family."""

from types import ModuleType as _Module

from pijit.ops.function.elementwise import *  # noqa: F403
from pijit.ops.function.shapes import *  # noqa: F403
from pijit.ops.function.joining import *  # noqa: F403
from pijit.ops.function.creation import *  # noqa: F403
from pijit.ops.function.random import *  # noqa: F403
from pijit.ops.function.reduction import *  # noqa: F403
from pijit.ops.function.indexing import *  # noqa: F403
from pijit.ops.function.arithmetic import *  # noqa: F403
from pijit.ops.function.linalg import *  # noqa: F403
from pijit.ops.function.activation import *  # noqa: F403
from pijit.ops.function.convolution import *  # noqa: F403
from pijit.ops.function.pooling import *  # noqa: F403
from pijit.ops.function.normalization import *  # noqa: F403
from pijit.ops.function.complex_numbers import *  # noqa: F403
from pijit.ops.function.spectral import *  # noqa: F403
from pijit.ops.function.elementary import *  # noqa: F403
from pijit.ops.function.special import *  # noqa: F403
from pijit.ops.function.sampling import *  # noqa: F403
from pijit.ops.function.loss import *  # noqa: F403
from pijit.ops.function.parameter import *  # noqa: F403
from pijit.ops.function.decomposition import *  # noqa: F403
from pijit.ops.function.control import *  # noqa: F403
from pijit.ops.function.sorting import *  # noqa: F403
from pijit.ops.function.python_names import *  # noqa: F403
from pijit.ops.function.norms import *  # noqa: F403
from pijit.ops.function.rearranging import *  # noqa: F403
from pijit.ops.function.diagonals import *  # noqa: F403
from pijit.ops.function.segments import *  # noqa: F403
from pijit.ops.function.distributions import *  # noqa: F403
from pijit.ops.function.boxes import *  # noqa: F403
from pijit.ops.function.image import *  # noqa: F403
from pijit.ops.function.fractional import *  # noqa: F403
from pijit.ops.function.layers import *  # noqa: F403
from pijit.ops.function.sparse import *  # noqa: F403
from pijit.ops.function.borders import *  # noqa: F403
from pijit.ops.function.scattering import *  # noqa: F403
from pijit.ops.function.clipping import *  # noqa: F403
from pijit.ops.function.comparison import *  # noqa: F403
from pijit.ops.function.cumulative import *  # noqa: F403
from pijit.ops.function.statistics import *  # noqa: F403
from pijit.ops.function.debug import *  # noqa: F403
from pijit.ops.function.dropouts import *  # noqa: F403
from pijit.ops.function.patches import *  # noqa: F403

__all__ = [n for n, v in globals().items() if not n.startswith("_") and not isinstance(v, _Module)
           and n not in ("Tensor", "annotations", "TYPE_CHECKING")]
