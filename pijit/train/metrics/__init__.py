"""Metrics of trained networks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pijit import _check
from pijit.train.metrics.accuracy import Accuracy
from pijit.train.metrics.auc import auc
from pijit.train.metrics.bleu_score import BleuScore
from pijit.train.metrics.confusion_matrix import ConfusionMatrix, ConfusionMatrixMetric
from pijit.train.metrics.cosine_similarity import CosineSimilarity
from pijit.train.metrics.dice import Dice
from pijit.train.metrics.error import MAE, MSE
from pijit.train.metrics.fbeta import F1, Fbeta
from pijit.train.metrics.hausdorff_distance import HausdorffDistance
from pijit.train.metrics.loss import Loss
from pijit.train.metrics.mean_surface_distance import MeanSurfaceDistance
from pijit.train.metrics.metric import EvaluationBase, Metric, rearrange_inputs  # noqa: F401
from pijit.train.metrics.occlusion_sensitivity import OcclusionSensitivity
from pijit.train.metrics.perplexity import Perplexity
from pijit.train.metrics.precision import Precision
from pijit.train.metrics.recall import Recall
from pijit.train.metrics.roc import ROC
from pijit.train.metrics.root_mean_square_surface_distance import RootMeanSquareDistance
from pijit.train.metrics.topk import Top1CategoricalAccuracy, Top5CategoricalAccuracy, TopKCategoricalAccuracy

if TYPE_CHECKING:
    from typing import Any

_FACTORIES = {
    "F1": F1, "acc": Accuracy, "accuracy": Accuracy, "auc": auc, "bleu_score": BleuScore,
    "confusion_matrix": ConfusionMatrix,
    "confusion_matrix_metric": ConfusionMatrixMetric, "cosine_similarity": CosineSimilarity, "dice": Dice,
    "hausdorff_distance": HausdorffDistance,
    "loss": Loss, "mae": MAE, "mean_surface_distance": MeanSurfaceDistance, "mse": MSE,
    "occlusion_sensitivity": OcclusionSensitivity,
    "perplexity": Perplexity, "precision": Precision, "recall": Recall, "roc": ROC,
    "root_mean_square_distance": RootMeanSquareDistance,
    "top_1_accuracy": Top1CategoricalAccuracy, "top_5_accuracy": Top5CategoricalAccuracy,
    "topk": TopKCategoricalAccuracy,
}


def names() -> list[str]:
    """The names that get_metric_fn and Model's `metrics` know."""
    return sorted(_FACTORIES)


def get_metric_fn(name: str, *args: Any, **kwargs: Any) -> Any:
    """A metric by name, made with the arguments. KeyError for a name that is not in names()."""
    if name not in _FACTORIES:
        raise _check.refused("get_metric_fn", "name", _check.one_of(*names()), name, KeyError)
    return _FACTORIES[name](*args, **kwargs)


def get_metrics(metrics: Any) -> dict[Any, Any] | None:
    """The metrics that an argument of Model names, as a dict of name → Metric; None for None.

    metrics: None, a dict of name → Metric, or a set of names. TypeError for anything else."""
    if metrics is None:
        return None
    if isinstance(metrics, dict):
        for name, metric in metrics.items():
            if not isinstance(name, str) or not isinstance(metric, Metric):
                raise _check.refused("get_metrics", "the dict 'metrics'", _check.value("map strings to Metrics"),
                                     _check.entry(name, metric), TypeError)
        return dict(metrics)
    if isinstance(metrics, (set, frozenset)):
        return {name: get_metric_fn(name) for name in sorted(metrics, key=str)}
    raise _check.refused("get_metrics", "metrics", _check.value("be None, a dict or a set"), metrics, TypeError)


__all__ = ["names", "get_metric_fn", "get_metrics", "Accuracy", "MAE", "MSE", "Metric", "rearrange_inputs", "Precision",
           "HausdorffDistance", "Recall", "Fbeta",
           "BleuScore", "CosineSimilarity", "OcclusionSensitivity", "F1", "Dice", "ROC", "auc",
           "TopKCategoricalAccuracy", "Top1CategoricalAccuracy",
           "Top5CategoricalAccuracy", "Loss", "MeanSurfaceDistance", "RootMeanSquareDistance", "Perplexity",
           "ConfusionMatrix", "ConfusionMatrixMetric"]
