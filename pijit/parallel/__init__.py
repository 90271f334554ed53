"""Training on several devices, of which there is one."""

from pijit.parallel import algo_parameter_config, checkpoint_transform
from pijit.parallel.algo_parameter_config import *  # noqa: F403
from pijit.parallel.checkpoint_transform import *  # noqa: F403
from pijit.parallel.shard import Layout, shard

__all__ = ["Layout", "shard", *algo_parameter_config.__all__, *checkpoint_transform.__all__]
