"""Training: checkpoints and mixed precision."""

from pijit import amp, serialization  # noqa: F401
from pijit.amp import DynamicLossScaler, StaticLossScaler  # noqa: F401
from pijit.serialization import load_checkpoint, load_param_into_net, save_checkpoint  # noqa: F401
