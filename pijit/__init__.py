"""pijit: eager tensors with MindSpore's names, and a bytecode JIT for unmodified Python."""

from pijit import _launch
_launch.main_of_package()  # `python -m pijit`
from pijit import _libs
from pijit._C import Tensor
from pijit import context, dtype, ops
from pijit import tensor as _tensor_methods
from pijit import _polyfills
from pijit.context import COMPATIBLE, GRAPH_MODE, LAX, PYNATIVE_MODE, STRICT, get_context, set_context, set_device
from pijit.dtype import (Type, bfloat16, bool_, byte, cdouble, cfloat, complex64, complex128, double, dtype_to_nptype,
                         dtype_to_pytype, float16, float32, float64, get_py_obj_dtype, half, int8, int16, int32, int64,
                         intc,
                         intp, long, pytype_to_dtype, short, single, ubyte, uint8, uint16, uint32, uint64, uintc, uintp,
                         ushort)
from pijit.kinds import (Int, QuantDtype, TensorType, float_, int_, list_, number, string, tensor_type, tuple_,
                         type_none,
                         uint)
from pijit.parameter import Parameter, ParameterTuple
from pijit import own_attributes as _own_attributes
from pijit import printing as _printed_forms, tensor_more as _more_tensor_methods
from pijit.random import (Generator, default_generator, get_rng_state, get_seed, initial_seed, manual_seed, seed,
                          set_rng_state, set_seed)
from pijit.grad import GradOperation, get_grad, grad, jvp, value_and_grad, vjp
from pijit.vmap import vmap
from pijit.jacobian import hessian, jacfwd, jacrev
from pijit.automatic import disable, enable, enabled
from pijit.jit import JitConfig, jit, jit_class, ms_function
from pijit import initializer as common_initializer
from pijit.ops import is_tensor, mutable
from pijit.symbol import Symbol
from pijit.sparse_tensor import COOTensor, CSRTensor, RowTensor, SparseTensor
from pijit.tensor import from_numpy
from pijit import automatic, common, compat
from pijit.hints import enable_dynamic, lazy_inline, ms_memory_recycle, no_inline, recompute, set_recursion_limit

tensor = Tensor


def run_check() -> None:
    """Multiplies two tensors and says whether the result is right."""
    x = Tensor([1.0, 2.0, 3.0], float32)
    right = (x * x).asnumpy().tolist() == [1, 4, 9]
    print(f"pijit version: {__version__}\nThe result of multiplication calculation is "
          f"{'correct' if right else 'wrong'}, pijit runs on platform "
          f"[{get_context('device_target')}].")


def set_deterministic(deterministic: bool) -> None:
    """Results are the same in every run in any case; TypeError for anything but a bool."""
    if not isinstance(deterministic, bool):
        raise TypeError("For 'set_deterministic', 'deterministic' must be bool, but got "
                        f"{type(deterministic).__name__}.")
    set_context(deterministic="ON" if deterministic else "OFF")


__version__ = "0.1.0"

# Loaded when a name is asked for; so is every other submodule (`ms.numpy`, `ms.amp`).
__getattr__, __dir__ = compat.names(__name__, {
    "log": "get_level get_log_config",
    "serialization": "async_ckpt_thread_status ckpt_to_safetensors export get_ckpt_path_with_strategy load "
                     "load_checkpoint "
                     "load_checkpoint_async load_param_into_net load_segmented_checkpoints safetensors_to_ckpt "
                     "save_checkpoint",
    "amp": "DynamicLossScaleManager FixedLossScaleManager LossScaleManager build_train_network",
    "train": "Accuracy BackupAndRestore BleuScore Callback CheckpointConfig ConfusionMatrix ConfusionMatrixMetric "
             "CosineSimilarity DatasetHelper Dice EarlyStopping F1 Fbeta HausdorffDistance History LambdaCallback "
             "LearningRateScheduler Loss LossMonitor MAE MSE MeanSurfaceDistance Metric Model ModelCheckpoint "
             "OcclusionSensitivity OnRequestExit Perplexity Precision ROC Recall ReduceLROnPlateau "
             "RootMeanSquareDistance RunContext SummaryCollector SummaryRecord TimeMonitor Top1CategoricalAccuracy "
             "Top5CategoricalAccuracy TopKCategoricalAccuracy auc connect_network_with_dataset data_sink "
             "get_metric_fn names rearrange_inputs",
    "context": "ParallelMode get_current_device get_auto_parallel_context get_ps_context reset_auto_parallel_context "
               "reset_ps_context set_auto_parallel_context set_ps_context",
    "parallel": "Layout build_searched_strategy get_algo_parameters load_distributed_checkpoint "
                "merge_pipeline_strategys merge_sliced_parameter parameter_broadcast rank_list_for_transform "
                "reset_algo_parameters restore_group_info_list set_algo_parameters shard "
                "sync_pipeline_shared_parameters transform_checkpoint_by_rank transform_checkpoints "
                "unified_safetensors",
    "runtime": "Event Stream StreamCtx communication_stream current_stream default_stream dispatch_threads_num "
               "empty_cache launch_blocking max_memory_allocated max_memory_reserved memory_allocated "
               "memory_reserved memory_stats memory_summary reset_max_memory_allocated reset_max_memory_reserved "
               "reset_peak_memory_stats set_cpu_affinity set_cur_stream set_kernel_launch_capture "
               "set_kernel_launch_group set_memory synchronize",
    "profiler": "Profiler",
    "explanation": "explain",
    "profiling": "profile",
    "notebook": "load_ipython_extension unload_ipython_extension",
})
compat.register()
automatic.begin()
