"""Precision."""

import sys

from pijit.train.metrics._classes import ClassCounts, averaged


class Precision(ClassCounts):
    """True positives over predicted positives, for each class ("multilabel": for each sample). Inputs as Accuracy has them."""

    def __init__(self, eval_type="classification"):
        super().__init__(eval_type)

    def eval(self, average=False):
        """One value per class or sample (float64), or their mean with `average`. RuntimeError before any batch."""
        true, positives, _ = self._check_average(average)
        return averaged(true / (positives + sys.float_info.min), average)
