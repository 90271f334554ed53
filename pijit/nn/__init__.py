"""Networks: cells, layers, losses, optimizers, learning-rate schedules."""

import typing as _typing

from pijit import compat
from pijit.nn.cell import Cell as Cell, GraphCell as GraphCell
from pijit.nn.container import CellDict as CellDict, CellList as CellList, SequentialCell as SequentialCell
from pijit.nn.layer import *  # noqa: F403
from pijit.nn.loss import *  # noqa: F403
from pijit.nn.optim import *  # noqa: F403
from pijit.nn.schedule import *  # noqa: F403
from pijit.nn.wrap import *  # noqa: F403
from pijit.nn import cell as cell, layer as layer, loss as loss, optim as optim, wrap as wrap

__getattr__, __dir__ = compat.names(__name__, {  # loaded when one is asked for
    "nn.ext": "AvgPool1dExt AvgPool2dExt AvgPool3dExt Dropout2dExt DropoutExt EmbeddingExt L1LossExt LayerNormExt "
              "LogSoftmaxExt MaxPool2dExt PReLUExt",
    "nn.utils": "no_init_parameters",
    "train.metrics": "Accuracy BleuScore ConfusionMatrix ConfusionMatrixMetric CosineSimilarity Dice F1 Fbeta "
                     "HausdorffDistance Loss MAE MSE "
                     "MeanSurfaceDistance Metric OcclusionSensitivity Perplexity Precision ROC Recall "
                     "RootMeanSquareDistance "
                     "Top1CategoricalAccuracy Top5CategoricalAccuracy TopKCategoricalAccuracy auc get_metric_fn "
                     "get_metrics names rearrange_inputs",
})
if _typing.TYPE_CHECKING:  # what is loaded when it is asked for (tools/stubs.py)
    from pijit.nn.ext import (AvgPool1dExt as AvgPool1dExt, AvgPool2dExt as AvgPool2dExt, AvgPool3dExt as AvgPool3dExt,
                              Dropout2dExt as Dropout2dExt, DropoutExt as DropoutExt, EmbeddingExt as EmbeddingExt,
                              L1LossExt as L1LossExt, LayerNormExt as LayerNormExt, LogSoftmaxExt as LogSoftmaxExt,
                              MaxPool2dExt as MaxPool2dExt, PReLUExt as PReLUExt)
    from pijit.nn.utils import no_init_parameters as no_init_parameters
    from pijit.train.metrics import (Accuracy as Accuracy, BleuScore as BleuScore, ConfusionMatrix as ConfusionMatrix,
                                     ConfusionMatrixMetric as ConfusionMatrixMetric,
                                     CosineSimilarity as CosineSimilarity, Dice as Dice, F1 as F1, Fbeta as Fbeta,
                                     HausdorffDistance as HausdorffDistance, Loss as Loss, MAE as MAE, MSE as MSE,
                                     MeanSurfaceDistance as MeanSurfaceDistance, Metric as Metric,
                                     OcclusionSensitivity as OcclusionSensitivity, Perplexity as Perplexity,
                                     Precision as Precision, ROC as ROC, Recall as Recall,
                                     RootMeanSquareDistance as RootMeanSquareDistance,
                                     Top1CategoricalAccuracy as Top1CategoricalAccuracy,
                                     Top5CategoricalAccuracy as Top5CategoricalAccuracy,
                                     TopKCategoricalAccuracy as TopKCategoricalAccuracy, auc as auc,
                                     get_metric_fn as get_metric_fn, get_metrics as get_metrics, names as names,
                                     rearrange_inputs as rearrange_inputs)
    from pijit.nn import (cell_state as cell_state, container as container, ext as ext, optimizer as optimizer,
                          parameter_hooks as parameter_hooks, probability as probability, schedule as schedule,
                          utils as utils)
# -- to here --
