"""Cells that divide a batch, under the names that MindSpore gives them in `parallel.nn`."""

from pijit.nn.wrap.cell_wrapper import GradAccumulationCell as GradAccumulation
from pijit.nn.wrap.cell_wrapper import MicroBatchInterleaved, PipelineCell
from pijit.nn.wrap.grad_reducer import PipelineGradReducer

Pipeline = PipelineCell

__all__ = ["GradAccumulation", "MicroBatchInterleaved", "Pipeline", "PipelineCell", "PipelineGradReducer"]
