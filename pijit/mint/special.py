"""Special functions."""

from pijit.ops.function import erfc, exp2, expm1, log1p, round, sinc  # noqa: F401
from pijit.mint.nn.functional import log_softmax as log_softmax
