"""Training: Model, callbacks, metrics, checkpoints, mixed precision."""

import typing as _typing

from pijit import amp, compat, serialization  # noqa: F401
from pijit.amp import (DynamicLossScaleManager, DynamicLossScaler, FixedLossScaleManager,  # noqa: F401
                       LossScaleManager,
                       StaticLossScaler, build_train_network)
from pijit.serialization import (async_ckpt_thread_status, ckpt_to_safetensors, export, get_ckpt_path_with_strategy,
                                 load,
                                 load_checkpoint, load_checkpoint_async, load_param_into_net,
                                 load_segmented_checkpoints,
                                 safetensors_to_ckpt, save_checkpoint)
from pijit.train import callback, metrics
from pijit.train.callback import *  # noqa: F403
from pijit.train.data_sink import data_sink
from pijit.train.dataset_helper import DatasetHelper, connect_network_with_dataset
from pijit.train.metrics import *  # noqa: F403
from pijit.train.model import Model
from pijit.train.summary import SummaryRecord

__all__ = ["Model", "DatasetHelper", "connect_network_with_dataset", "build_train_network", "LossScaleManager",
           "FixedLossScaleManager", "DynamicLossScaleManager", "data_sink", "SummaryRecord", "save_checkpoint",
           "load_checkpoint", "load_param_into_net", "async_ckpt_thread_status", "load_checkpoint_async",
           "ckpt_to_safetensors", "safetensors_to_ckpt", "export", "load", "get_ckpt_path_with_strategy",
           "load_segmented_checkpoints", *callback.__all__, *[n for n in metrics.__all__ if n != "get_metrics"]]

__getattr__, __dir__ = compat.names(__name__, {  # loaded when one is asked for
    "parallel": "build_searched_strategy load_distributed_checkpoint merge_sliced_parameter restore_group_info_list",
})
if _typing.TYPE_CHECKING:  # what is loaded when it is asked for (tools/stubs.py)
    from pijit.parallel import (build_searched_strategy as build_searched_strategy,
                                load_distributed_checkpoint as load_distributed_checkpoint,
                                merge_sliced_parameter as merge_sliced_parameter,
                                restore_group_info_list as restore_group_info_list)
    from pijit.train import dataset_helper as dataset_helper, model as model, summary as summary
# -- to here --
