"""Networks: cells, layers, losses, optimizers, learning-rate schedules."""

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
