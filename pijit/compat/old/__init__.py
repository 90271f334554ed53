"""Names that earlier versions of MindSpore have, or that programs take from its inner modules: with the behaviour of
their time.

`NAMES` says where a name is; whole modules of earlier versions stand in `_ELSEWHERE` of pijit.compat. What pijit leaves
out raises when it is used, as names of today's do."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_GRADIENTS = (
    "AbsGrad ACosGrad AcoshGrad AsinGrad AsinhGrad AtanGrad AvgPoolGrad BiasAddGrad BinaryCrossEntropyGrad DropoutGrad "
    "EluGrad FastGeLUGrad FlattenGrad GeLUGrad GluGrad HShrinkGrad HSigmoidGrad HSwishGrad InvGrad L2NormalizeGrad "
    "LayerNormGrad LogSoftmaxGrad MaxPoolGrad MaximumGrad MinimumGrad PReLUGrad ReLU6Grad ReciprocalGrad ReluGrad "
    "ResizeBilinearGrad RsqrtGrad SiLUGrad SigmoidCrossEntropyWithLogitsGrad SigmoidGrad SmoothL1LossGrad "
    "SoftShrinkGrad "
    "SoftmaxGrad SoftplusGrad SqrtGrad StridedSliceGrad TanhGrad "
    "BatchNormGrad Conv2DBackpropFilter GatherDGradV2 GridSampler2DGrad KLDivLossGrad LRNGrad MaxPoolGradWithArgmax "
    "MirrorPadGrad NLLLossGrad ROIAlignGrad ResizeNearestNeighborGrad SliceGrad "
)

# MindSpore's path: {module here: names}
NAMES = {
    "": {"values": "bool frombuffer", "decorators": "ms_class"},
    "amp": {"training": "_grad_scale_map"},
    "_extends": {"decorators": "cell_attr_register"},
    "_extends.utils": {"decorators": "cell_attr_register"},
    "common": {"decorators": "deprecated ms_class", "values": "MetaTensor"},
    "common._decorator": {"decorators": "deprecated"},
    "common._stub_tensor": {"values": "StubTensor _convert_stub stub_tensor _init_stub_tensor_api"},
    "common.tensor": {"values": "MetaTensor _convert_stub"},
    "common.api": {
        "executors": "_executor _pynative_exec _pynative_executor _cell_graph_executor ms_compile_cache _no_grad "
                     "_CellGraphExecutor "
        "_PyNativeExecutor _PynativeExecutor _convert_python_data",
        "decorators": "ms_class",
    },
    "common.dtype": {"values": "issubclass_ tensor type_size_in_bytes"},
    "common.parameter": {"values": "PARAMETER_NAME_DEFAULT _is_in_parallel_mode"},
    "common.seed": {"values": "_get_graph_seed _get_op_seed"},
    "common.sparse_tensor": {"values": "RowTensorInner"},
    "common._register_for_tensor": {"values": "Registry tensor_operator_registry"},
    "ops._register_for_op": {"values": "Registry"},
    "communication._comm_helper": {"values": "Backend"},
    "log": {"decorators": "_LogActionOnce"},
    "nn": {"cells": "ResizeBilinear TensorArray"},
    "nn.layer.basic": {"cells": "ResizeBilinear"},
    "nn.layer.rnn_cells": {"cells": "_gru_cell _lstm_cell _rnn_relu_cell _rnn_tanh_cell"},
    "nn.layer.rnns": {"cells": "_DynamicLSTMCPUGPU _DynamicLSTMAscend"},
    "nn.loss.loss": {"training": "_Loss"},
    "nn.optim.optimizer": {
        "decorators": "opt_init_args_register",
        "optimizer": "_apply_decay _grad_scale apply_decay grad_scale tensor_apply_decay tensor_grad_scale "
        "tensor_grad_scale_with_sparse tensor_grad_scale_with_tensor",
    },
    "nn.wrap.cell_wrapper": {"training": "_VirtualDatasetCell"},
    "nn.wrap.loss_scale": {"training": "_grad_scale grad_scale tensor_grad_scale"},
    "mint.distributed": {"training": "recv_object_list send_object_list"},
    "mint.optim": {"training": "FusedAdamW"},
    "ops": {"operators": "InplaceAddExt Morph select_ext_view_op slice_ext_view_op split_tensor_view_op"},
    "ops.auto_generate": {
        "operators": "InplaceAddExt select_ext_view_op slice_ext_view_op split_tensor_view_op",
        "grad_ops": _GRADIENTS,
    },
    "ops.operations._grad_ops": {"grad_ops": _GRADIENTS},
    "ops._primitive_cache": {"operators": "_get_cache_prim"},
    "ops.composite.multitype_ops._constexpr_utils": {"checkparam": "infer_out_shape"},
    "ops.op_info_register": {"operators": "AkgCpuRegOp"},
    "ops.primitive": {"operators": "_primexpr _run_op"},
    "ops.functional": {"operators": "is_sequence_value_unknown"},
    "ops._grad": {"operators": "bprop_getters"},
    "ops._grad_experimental": {"operators": "bprop_getters"},
    "ops._utils": {"operators": "get_broadcast_shape get_concat_offset is_shape_unknown is_dim_unknown"},
    "ops._utils.utils": {
        "operators": "dim_not_equal generate_shape_index get_1d_shape get_broadcast_shape get_concat_offset "
        "is_dim_unknown is_shape_known is_shape_unknown ms_arrange range_op"
    },
    "ops.operations._inner_ops": {
        "operators": "TopTypeof",
        "inner_ops": "Centralization CheckBprop ClipByNorm ConvertToDynamic DynamicBroadcastTo DynamicStitch Format "
        "IsInstance IsSubClass MatrixDiag MatrixDiagPart MatrixSetDiag MixedPrecisionCast SameTypeShape SequenceMask "
        "bit_and bit_left_shift bit_or bit_right_shift bit_xor check_bprop issubclass_ same_type_shape_ string_ge "
        "string_getitem string_gt string_in string_le string_lt string_mul string_not",
    },
    "ops.operations._sequence_ops": {"operators": "ListToTensor TensorToList TensorToScalar TupleToTensor"},
    "ops.function.grad.grad_func": {"operators": "custom_vjp"},
    "parallel._auto_parallel_context": {"training": "auto_parallel_context"},
    "parallel._utils": {
        "training": "_get_stage_device_num _is_in_auto_parallel_mode _is_in_data_parallel_mode "
                    "_is_in_hybrid_parallel_mode "
        "_is_sharding_propagation _is_parallel_mode"
    },
    "parallel.auto_parallel": {"training": "AutoParallel"},
    "train.parallel_utils": {"training": "ParallelMode"},
    "train._utils": {"training": "_make_directory _to_full_shapes _to_full_tensor check_value_type"},
    "train.callback._callback": {"training": "_handle_loss"},
}

# Modules of earlier versions, and what they hold that pijit leaves out: {what it is: names}
LEFT_OUT = {
    "communication._hccl_management": {
        "function": "create_group destroy_group get_local_rank_id get_local_rank_size get_rank_id get_rank_size "
                    "load_lib"
    },
    "explainer": {"class": "ImageClassificationRunner"},
    "explainer.benchmark": {"class": "ClassSensitivity Faithfulness Localization Robustness"},
    "explainer.explanation": {"class": "Deconvolution GradCAM Gradient GuidedBackprop Occlusion RISE"},
    "nn.probability.dpn": {"cell": "ConditionalVAE VAE"},
    "nn.probability.infer": {"class": "ELBO SVI"},
    "nn.probability.toolbox": {"class": "UncertaintyEvaluation VAEAnomalyDetection"},
    "nn.probability.toolbox.uncertainty_evaluation": {"class": "UncertaintyEvaluation"},
    "nn.probability.toolbox.vae_anomaly_detection": {"class": "VAEAnomalyDetection"},
    "nn.probability.transforms": {"class": "TransformToBNN"},
    "nn.probability.zhusuan": {},
    "ops.op_selector": {"function": "new_ops_selector"},
    "nn.wrap.cell_wrapper": {"cell": "_TrainPipelineAccuStepCell"},
    "": {"function": "parse_print"},
    "train.serialization": {"function": "parse_print"},
    "scipy.sparse": {},
    "scipy.sparse.linalg": {"function": "bicgstab cg gmres"},
    "train.parallel_utils": {},
}


def value(path: str, name: str) -> Any:
    """What the module `path` of an earlier MindSpore has under the name, or None."""
    for where, names in NAMES.get(path, {}).items():
        if name in names.split():
            return getattr(importlib.import_module(f"pijit.compat.old.{where}"), name)
    if name.endswith("_ext") and path.startswith("ops.") or path == "ops":
        return _extended(name)
    return None


def _extended(name):
    """`ops.function.<...>.x_ext` is `mint.nn.functional.x`, or `mint.x`."""
    from pijit import mint

    base = name.removesuffix("_ext")
    found = mint.nn.functional.__dict__.get(base) or mint.__dict__.get(base) if base != name else None
    return found if callable(found) else None
