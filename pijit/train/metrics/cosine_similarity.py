"""Cosine similarity."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pijit import _check
from pijit.train.metrics.metric import Metric, rearrange_inputs

if TYPE_CHECKING:
    from typing import Any


class CosineSimilarity(Metric):
    """The similarity of each row with each, as an (N, N) matrix.

    similarity: "cosine" or "dot". reduction: "none", "sum" or "mean" over rows. zero_diagonal: 0 in place of a row's
        similarity with itself. update(x): an (N, F) matrix.

    Args:
        similarity (str, optional): 'cosine' or 'dot'. Default: 'cosine'.
        reduction (str, optional): 'none', 'sum' or 'mean': over the columns. Default: 'none'.
        zero_diagonal (bool, optional): whether the diagonal is 0. Default: True.

    Example:
        >>> m = nn.CosineSimilarity()
        >>> m.update(np.array([[1.0, 0.0], [1.0, 0.0]]))
        >>> m.eval().round(3).tolist()
        [[0.0, 1.0], [1.0, 0.0]]
    """

    sqr_mtx_res: Any

    def __init__(self, similarity: str = "cosine", reduction: str = "none", zero_diagonal: bool = True) -> None:
        super().__init__()
        self.similarity: Any = _check.need("CosineSimilarity", "similarity", similarity, _check.one_of("dot", "cosine"))
        self.reduction: Any = _check.need("CosineSimilarity", "reduction", reduction, _check.one_of("none", "sum",
                                          "mean"))
        self.zero_diagonal: Any = _check.need("CosineSimilarity", "zero_diagonal", zero_diagonal, _check.BOOL)
        self.clear()

    def clear(self) -> None:
        """Forgets the matrix."""
        self.sqr_mtx_res = None

    @rearrange_inputs
    def update(self, inputs: Any) -> None:
        """Takes a matrix."""
        x = self._convert_data(inputs)
        if x.ndim != 2:
            raise _check.refused("CosineSimilarity.update", "the input", _check.value("be a matrix (N, F)"), x.shape)
        if self.similarity == "cosine":
            x = x / np.linalg.norm(x, ord=2, axis=1)[:, None]
        self.sqr_mtx_res = x @ x.T

    def eval(self) -> Any:
        """The matrix, or its sum or mean over rows. RuntimeError before any update."""
        if self.sqr_mtx_res is None:
            raise self._no_samples()
        out = self.sqr_mtx_res
        if self.zero_diagonal:
            np.fill_diagonal(out, 0)
        return out if self.reduction == "none" else getattr(np, self.reduction)(out, axis=-1)
