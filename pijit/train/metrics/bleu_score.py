"""BLEU."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from pijit import _check
from pijit.train.metrics.metric import Metric, rearrange_inputs

if TYPE_CHECKING:
    from typing import Any


def _ngrams(words, n_gram):
    """How often each sequence of up to n_gram words occurs."""
    return Counter(tuple(words[i:i + n]) for n in range(1, n_gram + 1) for i in range(len(words) - n + 1))


class BleuScore(Metric):
    """BLEU of a corpus: how well sequences of words agree with references (Papineni et al. 2002).

    n_gram: the length of the longest sequences, 1 to 4. smooth: counts are increased by 1 (Lin & Och 2004).
    update(candidates, references): a list of word lists, and for each of them a list of references."""

    def __init__(self, n_gram: int = 4, smooth: bool = False) -> None:
        super().__init__()
        self.n_gram: int = _check.need("BleuScore", "n_gram", n_gram, _check.INT, _check.at_least(1))
        if n_gram > 4:
            raise _check.refused("BleuScore", "n_gram", _check.value("be from 1 to 4"), n_gram)
        self.smooth: Any = _check.need("BleuScore", "smooth", smooth, _check.BOOL)
        self.clear()

    def clear(self) -> None:
        """Forgets all batches."""
        self._numerator, self._denominator = [0] * self.n_gram, [0] * self.n_gram
        self._trans_len = self._ref_len = 0
        self._is_update = False

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        """Takes candidates and references."""
        if len(inputs) != 2:
            raise _check.expected("BleuScore.update", "2 inputs (candidate corpus, reference corpus)", len(inputs))
        candidates, references = inputs
        if len(candidates) != len(references):
            raise _check.refused("BleuScore.update", "the there",
                                 _check.value("be as many candidates as lists of references"),
                                 _check.several(len(candidates), len(references)))
        self._is_update = True
        for words, options in zip(candidates, references):
            self._trans_len += len(words)
            lengths = [len(r) for r in options]
            self._ref_len += min(lengths, key=lambda n: abs(len(words) - n))
            counts = _ngrams(words, self.n_gram)
            allowed = Counter()
            for r in options:
                allowed |= _ngrams(r, self.n_gram)
            for gram, n in (counts & allowed).items():
                self._numerator[len(gram) - 1] += n
            for gram, n in counts.items():
                self._denominator[len(gram) - 1] += n

    def eval(self) -> float:
        """The score, a float. RuntimeError before any batch."""
        if not self._is_update:
            raise self._no_samples()
        if min(self._numerator) == 0:
            return 0.0
        extra = 1 if self.smooth else 0
        logs = (sum(math.log((n + extra) / (d + extra))
                    for n, d in zip(self._numerator, self._denominator)) / self.n_gram)
        brevity = 1.0 if self._trans_len > self._ref_len else math.exp(1 - self._ref_len / self._trans_len)
        return brevity * math.exp(logs)
