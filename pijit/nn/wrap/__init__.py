"""Cells around networks: loss, gradients, training steps."""

from pijit.nn.wrap.cell_wrapper import (ForwardValueAndGrad, GradAccumulationCell, Jvp, MicroBatchInterleaved,
                                        ParameterUpdate, PipelineCell,
                                        TrainOneStepCell, Vjp, WithEvalCell, WithGradCell, WithLossCell)
from pijit.nn.wrap.grad_reducer import DistributedGradReducer, PipelineGradReducer
from pijit.nn.wrap.loss_scale import DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell, TrainOneStepWithLossScaleCell

__all__ = ["DistributedGradReducer", "DynamicLossScaleUpdateCell", "FixedLossScaleUpdateCell", "ForwardValueAndGrad",
           "GradAccumulationCell", "Jvp",
           "MicroBatchInterleaved", "ParameterUpdate", "PipelineCell", "PipelineGradReducer", "TrainOneStepCell",
           "TrainOneStepWithLossScaleCell", "Vjp", "WithEvalCell",
           "WithGradCell", "WithLossCell"]
