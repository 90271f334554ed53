"""pijit: eager tensors with MindSpore's names, and a bytecode JIT for unmodified Python."""

import sys as _sys

from pijit import _launch
_launch.main_of_package()  # `python -m pijit`
import typing as _typing
from pijit import _libs
from pijit import _check
from pijit._C import Tensor as Tensor
from pijit import context as context, dtype as dtype, ops as ops
from pijit import tensor as _tensor_methods
from pijit import _polyfills
from pijit.context import (COMPATIBLE as COMPATIBLE, GRAPH_MODE as GRAPH_MODE, LAX as LAX,
                           PYNATIVE_MODE as PYNATIVE_MODE, STRICT as STRICT, get_context as get_context,
                           set_context as set_context, set_device as set_device)
from pijit.dtype import (Type as Type, bfloat16 as bfloat16, bool_ as bool_, byte as byte, cdouble as cdouble,
                         cfloat as cfloat, complex64 as complex64, complex128 as complex128, double as double,
                         dtype_to_nptype as dtype_to_nptype, dtype_to_pytype as dtype_to_pytype, float16 as float16,
                         float32 as float32, float64 as float64, get_py_obj_dtype as get_py_obj_dtype, half as half,
                         int8 as int8, int16 as int16, int32 as int32, int64 as int64, intc as intc, intp as intp,
                         long as long, pytype_to_dtype as pytype_to_dtype, short as short, single as single,
                         ubyte as ubyte, uint8 as uint8, uint16 as uint16, uint32 as uint32, uint64 as uint64,
                         uintc as uintc, uintp as uintp, ushort as ushort)
from pijit.kinds import (Int as Int, QuantDtype as QuantDtype, TensorType as TensorType, float_ as float_, int_ as int_,
                         list_ as list_, number as number, string as string, tensor_type as tensor_type,
                         tuple_ as tuple_, type_none as type_none, uint as uint)
from pijit.parameter import Parameter as Parameter, ParameterTuple as ParameterTuple
from pijit import own_attributes as _own_attributes
from pijit import printing as _printed_forms, tensor_more as _more_tensor_methods
from pijit.random import (Generator as Generator, default_generator as default_generator,
                          get_rng_state as get_rng_state, get_seed as get_seed, initial_seed as initial_seed,
                          manual_seed as manual_seed, seed as seed, set_rng_state as set_rng_state,
                          set_seed as set_seed)
from pijit.grad import (GradOperation as GradOperation, get_grad as get_grad, grad as grad, jvp as jvp,
                        value_and_grad as value_and_grad, vjp as vjp)
from pijit.vmap import vmap as vmap
from pijit.jacobian import hessian as hessian, jacfwd as jacfwd, jacrev as jacrev
from pijit.automatic import disable as disable, enable as enable, enabled as enabled
from pijit.jit import JitConfig as JitConfig, jit as jit, jit_class as jit_class, ms_function as ms_function
from pijit import initializer as common_initializer
from pijit.ops import is_tensor as is_tensor, mutable as mutable
from pijit.symbol import Symbol as Symbol
from pijit.sparse_tensor import (COOTensor as COOTensor, CSRTensor as CSRTensor, RowTensor as RowTensor,
                                 SparseTensor as SparseTensor)
from pijit.tensor import from_numpy as from_numpy
from pijit import automatic as automatic, common as common, compat as compat
from pijit.hints import (enable_dynamic as enable_dynamic, lazy_inline as lazy_inline,
                         ms_memory_recycle as ms_memory_recycle, no_inline as no_inline, recompute as recompute,
                         set_recursion_limit as set_recursion_limit)

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
    _check.need("set_deterministic", "deterministic", deterministic, _check.BOOL)
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
    "profiling.profile": "profile",
    "notebook": "load_ipython_extension unload_ipython_extension",
})
if _typing.TYPE_CHECKING:  # what is loaded when it is asked for (tools/stubs.py)
    from pijit.log import get_level as get_level, get_log_config as get_log_config
    from pijit.serialization import (async_ckpt_thread_status as async_ckpt_thread_status,
                                     ckpt_to_safetensors as ckpt_to_safetensors, export as export,
                                     get_ckpt_path_with_strategy as get_ckpt_path_with_strategy, load as load,
                                     load_checkpoint as load_checkpoint, load_checkpoint_async as load_checkpoint_async,
                                     load_param_into_net as load_param_into_net,
                                     load_segmented_checkpoints as load_segmented_checkpoints,
                                     safetensors_to_ckpt as safetensors_to_ckpt, save_checkpoint as save_checkpoint)
    from pijit.amp import (DynamicLossScaleManager as DynamicLossScaleManager,
                           FixedLossScaleManager as FixedLossScaleManager, LossScaleManager as LossScaleManager,
                           build_train_network as build_train_network)
    from pijit.train import (Accuracy as Accuracy, BackupAndRestore as BackupAndRestore, BleuScore as BleuScore,
                             Callback as Callback, CheckpointConfig as CheckpointConfig,
                             ConfusionMatrix as ConfusionMatrix, ConfusionMatrixMetric as ConfusionMatrixMetric,
                             CosineSimilarity as CosineSimilarity, DatasetHelper as DatasetHelper, Dice as Dice,
                             EarlyStopping as EarlyStopping, F1 as F1, Fbeta as Fbeta,
                             HausdorffDistance as HausdorffDistance, History as History,
                             LambdaCallback as LambdaCallback, LearningRateScheduler as LearningRateScheduler,
                             Loss as Loss, LossMonitor as LossMonitor, MAE as MAE, MSE as MSE,
                             MeanSurfaceDistance as MeanSurfaceDistance, Metric as Metric, Model as Model,
                             ModelCheckpoint as ModelCheckpoint, OcclusionSensitivity as OcclusionSensitivity,
                             OnRequestExit as OnRequestExit, Perplexity as Perplexity, Precision as Precision,
                             ROC as ROC, Recall as Recall, ReduceLROnPlateau as ReduceLROnPlateau,
                             RootMeanSquareDistance as RootMeanSquareDistance, RunContext as RunContext,
                             SummaryCollector as SummaryCollector, SummaryRecord as SummaryRecord,
                             TimeMonitor as TimeMonitor, Top1CategoricalAccuracy as Top1CategoricalAccuracy,
                             Top5CategoricalAccuracy as Top5CategoricalAccuracy,
                             TopKCategoricalAccuracy as TopKCategoricalAccuracy, auc as auc,
                             connect_network_with_dataset as connect_network_with_dataset, data_sink as data_sink,
                             get_metric_fn as get_metric_fn, names as names, rearrange_inputs as rearrange_inputs)
    from pijit.context import (ParallelMode as ParallelMode, get_current_device as get_current_device,
                               get_auto_parallel_context as get_auto_parallel_context, get_ps_context as get_ps_context,
                               reset_auto_parallel_context as reset_auto_parallel_context,
                               reset_ps_context as reset_ps_context,
                               set_auto_parallel_context as set_auto_parallel_context, set_ps_context as set_ps_context)
    from pijit.parallel import (Layout as Layout, build_searched_strategy as build_searched_strategy,
                                get_algo_parameters as get_algo_parameters,
                                load_distributed_checkpoint as load_distributed_checkpoint,
                                merge_pipeline_strategys as merge_pipeline_strategys,
                                merge_sliced_parameter as merge_sliced_parameter,
                                parameter_broadcast as parameter_broadcast,
                                rank_list_for_transform as rank_list_for_transform,
                                reset_algo_parameters as reset_algo_parameters,
                                restore_group_info_list as restore_group_info_list,
                                set_algo_parameters as set_algo_parameters, shard as shard,
                                sync_pipeline_shared_parameters as sync_pipeline_shared_parameters,
                                transform_checkpoint_by_rank as transform_checkpoint_by_rank,
                                transform_checkpoints as transform_checkpoints,
                                unified_safetensors as unified_safetensors)
    from pijit.runtime import (Event as Event, Stream as Stream, StreamCtx as StreamCtx,
                               communication_stream as communication_stream, current_stream as current_stream,
                               default_stream as default_stream, dispatch_threads_num as dispatch_threads_num,
                               empty_cache as empty_cache, launch_blocking as launch_blocking,
                               max_memory_allocated as max_memory_allocated, max_memory_reserved as max_memory_reserved,
                               memory_allocated as memory_allocated, memory_reserved as memory_reserved,
                               memory_stats as memory_stats, memory_summary as memory_summary,
                               reset_max_memory_allocated as reset_max_memory_allocated,
                               reset_max_memory_reserved as reset_max_memory_reserved,
                               reset_peak_memory_stats as reset_peak_memory_stats, set_cpu_affinity as set_cpu_affinity,
                               set_cur_stream as set_cur_stream, set_kernel_launch_capture as set_kernel_launch_capture,
                               set_kernel_launch_group as set_kernel_launch_group, set_memory as set_memory,
                               synchronize as synchronize)
    from pijit.profiler import Profiler as Profiler
    from pijit.explanation import explain as explain
    from pijit.profiling.profile import profile as profile
    from pijit.notebook import (load_ipython_extension as load_ipython_extension,
                                unload_ipython_extension as unload_ipython_extension)
    from pijit import (amp as amp, auto as auto, communication as communication, compute_dtype as compute_dtype,
                       dataset as dataset, device_context as device_context, doctor as doctor,
                       experimental as experimental, explanation as explanation, hal as hal, hints as hints,
                       hooks as hooks, initializer as initializer, interchange as interchange, jacobian as jacobian,
                       kinds as kinds, log as log, mindrecord as mindrecord, mint as mint, msrun as msrun,
                       multiprocessing as multiprocessing, mutables as mutables, ndarrays as ndarrays, nn as nn,
                       notebook as notebook, numpy as numpy, onnx as onnx, overloads as overloads,
                       own_attributes as own_attributes, parallel as parallel, parameter as parameter,
                       printing as printing, profiler as profiler, profiling as profiling, pytest as pytest,
                       random as random, report as report, runtime as runtime, scipy as scipy,
                       serialization as serialization, sparse_tensor as sparse_tensor, suggestions as suggestions,
                       symbol as symbol, tensor_more as tensor_more, trace as trace, train as train, utils as utils)
# -- to here --
compat.register()
automatic.begin()
if "logging" in _sys.modules:
    from pijit import log as log  # levels of its loggers count from now on
