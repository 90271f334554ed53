"""Operations on strings: tokenizers, vocabularies, n-grams."""

from pijit.dataset.text import transforms, utils  # noqa: F401
from pijit.dataset.text.transforms import *  # noqa: F403
from pijit.dataset.text.transforms import __all__ as _operations
from pijit.dataset.text.utils import NormalizeForm, Vocab, to_bytes, to_str
from pijit.dataset.text.vectors import CharNGram, FastText, GloVe, ToVectors, Vectors

__all__ = _operations + ["CharNGram", "FastText", "GloVe", "NormalizeForm", "ToVectors", "Vectors", "Vocab", "to_bytes",
                         "to_str"]
